"""Static runtime: frozen modules, functions and graphs for inference. The work is done in C++ (static_runtime/)."""

import json
import time
from dataclasses import dataclass, field

from . import _C, _serialization
from ._errors import UserError
from ._script import refuse_other_compilers

#: The file of an archive that has the options of the static module that was saved.
_OPTIONS = "static_module.json"


@dataclass(frozen=True)
class StaticNode:
    """How a node of a plan runs."""

    #: "out variant", "kernel" (of Cresset's own), "native" (an instruction or builtin of Cresset's), "fallback" (PyTorch's dispatcher)
    kind: str
    #: The operators: "aten::mm".
    what: str
    #: "model.py:7"; empty if unknown.
    where: str
    #: Whether some result lies in memory that was laid out.
    is_planned: bool
    #: Its place in program order, in which `StaticValue` counts; None if no memory was laid out for the plan.
    step: "int | None"


@dataclass(frozen=True)
class StaticValue:
    """A result in memory that was laid out for a plan."""

    name: str
    #: Steps of the plan (`StaticNode.step`) at which it is needed.
    first: int
    last: int
    #: Whether it leaves the module, and lies in memory of its own.
    is_output: bool
    #: Whether a loop computes it for later iterations: it lies in one of some pieces of memory to which nothing else refers.
    turns: bool
    #: In bytes, over the sizes of arguments: "4 * x.size(0)"; "?" if it depends on more.
    size: str
    #: Where it lies in an instance's arena, in the report of one that has run the plan; else None.
    offset: "int | None"
    bytes: int


@dataclass(frozen=True)
class StaticPlan:
    """A plan of a static module: what runs for arguments of some kinds."""

    #: "x: Float(*, *)"
    inputs: list
    nodes: list
    values: list
    #: Bytes and allocations of the instance, by name; zeros in the report of a module.
    memory: dict
    #: Optimized.
    graph: object = field(repr=False)


@dataclass(frozen=True)
class StaticReport:
    """What a static module runs; prints as a list of nodes."""

    name: str
    plans: list
    #: Of the optimizer; such calls run the unoptimized program.
    errors: list
    #: Operators of which a library in C++ has registered an out variant, and that there are not.
    unbound_variants: list
    text: str = field(repr=False)

    def __str__(self):
        return self.text


@dataclass(frozen=True)
class StaticOp:
    """How long an operator takes; see :class:`StaticNode` for ``kind``, ``what`` and ``where``."""

    kind: str
    what: str
    where: str
    #: Milliseconds in a run.
    time: float
    #: In a run: a loop calls it several times, a branch that is not always taken fewer.
    calls: float
    #: How often its calls ask PyTorch's CPU allocator for memory in a run: for results that have no place, and for scratch.
    allocations: float
    allocated_bytes: float


@dataclass(frozen=True)
class IndividualOps:
    """What :meth:`StaticRuntime.benchmark_individual_ops` measures, in milliseconds; prints as a list of operators."""

    #: In program order, those that ran; see :class:`StaticOp`.
    ops: list
    #: The first run, in which a plan may have been made.
    first_iter_time: float
    #: A run, with what is no operator: memory, scalars, control flow.
    total_time: float
    #: How often a run asks PyTorch's CPU allocator for memory, once the instance's has its sizes.
    allocations: float
    allocated_bytes: float
    #: Of these, not by PyTorch's operators ("out variant" and "fallback"): by kernels, builtins, the run itself.
    own_allocations: float
    #: By name of the operator.
    time_per_node_type: dict
    #: Of the time in operators.
    percent_per_node_type: dict
    instances_per_node_type: dict
    total_nodes_count: int
    #: With out variants.
    total_out_nodes_count: int
    text: str = field(repr=False)

    def __str__(self):
        return self.text


def _report(report):
    for plan in report["plans"]:
        plan["nodes"] = [StaticNode(*node) for node in plan["nodes"]]
        plan["values"] = [StaticValue(*value) for value in plan["values"]]
    report["plans"] = [StaticPlan(**plan) for plan in report["plans"]]
    return StaticReport(**report)


class StaticModule:
    """A frozen module, function or graph, called like what it was made of, by any number of threads at once.

    Made by :func:`static_module`.
    """

    def __init__(self, source, **options):
        refuse_other_compilers(source)
        self._c = _C._StaticModule(source, options)
        self._options = options
        #: The call itself, without this class's method around it.
        self.forward = self._c.callable()

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def run_async(self, *args, **kwargs):
        """A :class:`Future` of the call's result.

        It runs on this thread until it ends, or waits for a fork; then it goes on where that was run.
        """
        return self._c.run_async(self.forward, args, kwargs)

    #: torch's name of it.
    runAsync = run_async

    def report(self):
        """The plans that there are, and how each of their nodes runs."""
        return _report(self._c.report())

    def benchmark(self, *args, warmup_runs=3, main_runs=10, **kwargs):
        """Milliseconds of a call in an instance of its own, the mean of ``main_runs`` after ``warmup_runs``."""
        return self.runtime().benchmark(*args, warmup_runs=warmup_runs, main_runs=main_runs, **kwargs)

    def benchmark_individual_ops(self, *args, warmup_runs=3, main_runs=10, **kwargs):
        """That of an instance of its own: see :meth:`StaticRuntime.benchmark_individual_ops`."""
        return self.runtime().benchmark_individual_ops(*args, warmup_runs=warmup_runs, main_runs=main_runs, **kwargs)

    def runtime(self):
        """A new instance, for one thread at a time."""
        return StaticRuntime(self)

    def save(self, f, _extra_files=None):
        """Saves the frozen module, or the function, with the options: :func:`load_static_module` makes a static module of
        it again, :func:`load` and ``torch.jit.load`` a module. Plans are made anew. ``f`` as in :func:`save`.
        """
        _serialization.save(self._c.source(), f, {**(_extra_files or {}), _OPTIONS: json.dumps(self._options)})

    def __reduce__(self):
        files = {_OPTIONS: json.dumps(self._options)}
        return _from_bytes, (_serialization.save_to_buffer(self._c.source(), files),)

    def __reduce_package__(self, exporter):
        return _serialization.reduced_to_package(self.__reduce__(), exporter)

    def __repr__(self):
        return f"StaticModule({self.forward!r})"


class StaticRuntime:
    """An instance of a :class:`StaticModule`: memory for one thread at a time, called like the module."""

    def __init__(self, module):
        self._c = _C._StaticRuntime(module._c)
        self.forward = self._c.callable()

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def prepare(self, *args, **kwargs):
        """Makes the plan that a call with these arguments has, and memory for it, without running anything.

        With ``memory_policy="precomputed"`` that is all memory whose size follows from those of the arguments; otherwise
        sizes are learned from the first run. Raises if the arguments have no plan.
        """
        self._c.prepare(self.forward, args, kwargs)

    def benchmark(self, *args, warmup_runs=3, main_runs=10, **kwargs):
        """Milliseconds of a call, the mean of ``main_runs`` after ``warmup_runs``."""
        if warmup_runs < 0 or main_runs < 1:
            raise UserError("A benchmark wants 0 or more warm-up runs, and 1 or more others")
        for _ in range(warmup_runs):
            self.forward(*args, **kwargs)
        start = time.perf_counter()
        for _ in range(main_runs):
            self.forward(*args, **kwargs)
        return (time.perf_counter() - start) * 1e3 / main_runs

    def benchmark_individual_ops(self, *args, warmup_runs=3, main_runs=10, **kwargs):
        """Times and allocations of single operators: :class:`IndividualOps`.

        Each is measured with the cost of measuring it, some 40 ns; allocations are counted in two more runs. Raises if the
        arguments have no plan.
        """
        measured = self._c.benchmark_ops(self.forward, args, kwargs, warmup_runs, main_runs)
        measured["ops"] = [StaticOp(*op) for op in measured["ops"]]
        return IndividualOps(**measured)

    def report(self):
        """That of the module, with where results lie in the memory of this instance."""
        return _report(self._c.report())

    def memory(self):
        """Bytes and allocations of the plan that ran last, by name.

        ``slots`` results lie in an arena of ``arena_bytes``, where no placement needs less than ``least_bytes``, or
        than ``least_apart`` if no result took an operand's place;
        ``sum_bytes`` are those of the results together. ``output_slots`` results of ``output_bytes`` leave the module.
        The arena that is there has ``held_bytes``: as many as the largest run needed. ``turning_slots`` results that loops
        compute for later iterations have ``turning_bytes`` beside it.
        ``slot_allocations`` are those of the last run for all these: arenas, results that outgrew theirs, results that leave.
        What operators allocate for other results, and for themselves, :meth:`benchmark_individual_ops` counts.
        """
        return self._c.memory()

    def deallocate_output_tensors(self):
        """With ``manage_output_tensors``: forgets the memory of results; it is freed with the last reference to them."""
        self._c.deallocate_output_tensors()

    def deallocate_memory(self):
        """Frees the memory of intermediate results; the next run allocates it anew."""
        self._c.deallocate_memory()

    def check_for_memory_leak(self):
        """Raises if an intermediate result of a run that has ended is still referenced: an error of Cresset's own."""
        self._c.check_for_memory_leak()


def static_module(source, **options):
    """A static module of a script module, script function or graph: for inference at the lowest cost per operator.

    Results, aliasing, exceptions and what becomes of arguments are those of ``source``. A module is frozen in evaluation
    mode (bits stay; :func:`freeze` it before to fold batch norms, too); it does not change itself, and later changes of
    it don't reach the static module. Nothing is recorded for gradients: arguments that require one are an error.

    Args:
        source: a script module, a script function, or a :class:`Graph`.
        enable_out_variant: whether operators compute their results into memory that an instance has for them (True).
        optimize_memory: whether results that are not needed at the same time may lie in the same place (True).
        manage_output_tensors: whether results that leave the module lie in memory of the instance, too (False). Whoever
            holds one keeps its memory; it is used again after the last reference.
        cleanup_activations: whether the memory of intermediate results is given back after each run (False).
        memory_policy: "standard": sizes of memory are learned at the first run, and grow after a larger one;
            "precomputed": they are computed from the sizes of arguments, and kept for each.
        fill_freed_memory: for tests: memory is filled with NaN when it is not needed any more (False).
        enable_fusion: whether operators become kernels of Cresset's own (True).
        strict: an error for arguments of other kinds (dtypes, ranks, None or not) than those of the first call; by
            default each kind has a plan of its own.
    """
    return StaticModule(source, **options)


def load_static_module(f, map_location=None, *, trusted=False, allow_ops=(), limits=None, **options):
    """The static module of an archive: one that :meth:`StaticModule.save` wrote, with the options of that one, or any that
    :func:`load` reads.

    Args:
        options: as those of :func:`static_module`; they replace those that the archive has.

    The others are those of :func:`load`.
    """
    files = {_OPTIONS: ""}
    module = _serialization.load(f, map_location, files, trusted=trusted, allow_ops=allow_ops, limits=limits)
    try:
        saved = json.loads(files[_OPTIONS] or "{}")
    except ValueError as error:
        raise UserError(f"The archive's extra file {_OPTIONS} is no JSON: {error}") from None
    if not isinstance(saved, dict):
        raise UserError(f"The archive's extra file {_OPTIONS} has no options of a static module")
    return StaticModule(module, **{**saved, **options})


def _from_bytes(archive):
    return load_static_module(archive, trusted=True)


def out_variant(operator, matches=None):
    """A decorator for a function that computes an operator's result into a tensor that is there.

    Static modules that are made afterwards call it where they would call the operator, so that the result lies in memory
    that was laid out for it::

        @cresset.out_variant("mylib::scale")
        def scale_out(out, x, factor):
            torch.mul(x, factor, out=out)

    ``out`` has the result's dtype and no elements; it must be resized to the result's sizes, as ``out=`` arguments are
    (a call that has not is an error; where it has one dimension of no elements, the operator itself is asked), and must not
    be kept. For several results it is a tuple. The operator must return new tensors. Arguments are dense
    tensors of the CPU; calls with others go to the operator itself.

    Args:
        operator: ``"namespace::name"`` for all overloads, or ``"namespace::name.overload"``; there must be such an operator.
        matches: a function of the overload's schema that says whether this is for it; by default it is for all.
    """

    def register(function):
        _C._register_out_variant(operator, function, matches)
        return function

    return register
