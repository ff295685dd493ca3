"""Rows of frame capture for `torch.utils.checkpoint.checkpoint(..., use_reentrant=False)`. Part of `_recording.py`.

The recorder follows the function that is checkpointed, as any callee. What it computes becomes one compiled graph of its own, and
the plan has one call of that, which keeps nothing for the backward pass but what the graph is given (`_checkpoints.py`). A function
of which not all is in the graph, or which does more than compute, runs as Python, and so does the call.
"""

import inspect
import operator

import torch
import torch.nn.functional as F

from . import _C, options
from ._checkpoints import Checkpointed, Reentrant, share_memory
from ._own_graphs import compile_nodes, is_wanted, refs_of
from ._recording_gradients import GRAD, REQUIRES_GRAD, begin_tape
from ._recording_traces import ambient
from ._recording_values import PLAIN, TEXT, Fresh, Keywords, NoRow, Value
from ._rows import makes_memory
from ._segments import (
    BINARY,
    COMPARE,
    NUM_BINARY,
    OF_SIZES,
    NotAGraph,
    Ref,
    Segment,
    is_of_tensors,
    is_tensor,
    reads_of,
)

CHECKPOINT = torch.utils.checkpoint.checkpoint
CODES = {CHECKPOINT: CHECKPOINT.__code__, inspect.unwrap(CHECKPOINT): inspect.unwrap(CHECKPOINT).__code__}
REENTRANT = torch.utils.checkpoint.CheckpointFunction
CODES_OF_REENTRANT = {f: f.__code__ for f in (REENTRANT.forward, REENTRANT.backward)}
NO_CONTEXT = torch.utils.checkpoint.noop_context_fn
NAME = "a call of torch.utils.checkpoint.checkpoint"
#: Arguments that are not the function's.
OPTIONS = ("use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop")
#: How many instructions of CPython take as long as what PyTorch does for a checkpoint.
INSTRUCTIONS_OF_CHECKPOINT = 2000
INSTRUCTIONS_OF_CALL = 100  # of an operator in a graph


#: What a tensor may be asked for within a checkpoint, as its kind follows from the kinds of what that takes.
KINDS = ("device", "dtype", "is_nested")
OF_DTYPES = (torch.is_complex, torch.is_floating_point, torch.Tensor.is_complex, torch.Tensor.is_floating_point)
NORMS = (F.batch_norm, F.instance_norm)  # which write statistics
DROPOUTS = (F.dropout, F.dropout1d, F.dropout2d, F.dropout3d, F.alpha_dropout)
#: What autocast changes nothing of.
SAME_IN_AUTOCAST = (
    operator.getitem,
    *(
        getattr(torch.Tensor, name)
        for name in "chunk detach flatten float permute reshape split squeeze to transpose unsqueeze view".split()
    ),
)
_MAKING = (*BINARY[:NUM_BINARY], *COMPARE, operator.neg, operator.invert)  # of new tensors


def with_constants(argument, known):
    """An argument with what some registers hold in their place."""
    if isinstance(argument, Ref):
        return known.get(argument.register, argument)
    if isinstance(argument, slice):
        return slice(*[with_constants(each, known) for each in (argument.start, argument.stop, argument.step)])
    if type(argument) in (tuple, list):
        return type(argument)([with_constants(each, known) for each in argument])
    return argument


class Checkpoint:
    """A checkpoint whose function runs. `saved`: the registers of tensors that are its positional arguments. `keeps_state`: it
    keeps the state of random numbers; `is_reentrant`: its function runs without gradients."""

    def __init__(self, recorder, arguments, keeps_state, is_reentrant):
        self.saved = [recorder.register(value) for value in arguments if recorder.is_tensor(value)]
        self.first_step, self.keeps_state, self.is_reentrant = len(recorder.steps), keeps_state, is_reentrant
        self.changes = self.changes_of(recorder)

    @staticmethod
    def changes_of(recorder):
        lists = recorder.stores, recorder.undo, recorder.context, recorder.modes
        return (*map(len, lists), recorder.last_save)


class SecondRun:
    """A checkpoint whose second run does more than compute, which PyTorch does once in each pass along the tape: `register` of
    its call, `nodes` of the tape that its results are of, `freed_by`: the register of the pass that frees these."""

    def __init__(self, register, nodes):
        self.register, self.nodes, self.freed_by = register, nodes, None


class Checkpoints:
    """What a recorder does for checkpoints."""

    def init_checkpoints(self):
        self.region = None  # Checkpoint, while its function runs
        self.second_runs = []  # SecondRun
        self.freed = []  # those that the pass frees which is next

    def frees_tape(self, outputs):
        """Before a pass from these tensors that keeps nothing of the tape for another one."""
        seen, todo = set(), [output.object.grad_fn for output in outputs]
        while todo:
            node = todo.pop()
            if node is not None and node not in seen:
                seen.add(node)
                todo += [each for each, _ in node.next_functions]
        self.freed = [run for run in self.second_runs if run.freed_by is None and seen.issuperset(run.nodes)]

    def check_second_runs(self):
        """Requires that the plan itself frees the tape of checkpoints whose second run does more than compute: others could go
        back along it as often as they want, and further, as PyTorch does in other ways."""
        made = {step[1] for step in self.steps}
        for run in self.second_runs:
            if run.register in made and run.freed_by not in made:
                self.options.without_second_runs.add(self.code)
                raise NoRow(f"{NAME} with random numbers that are not kept, or statistics, without a backward pass")

    def call_checkpoint(self, view, frame, callee, arguments, names):
        if self.options.backend is not None or self.transform is not None or self.traced or _C._is_transformed():
            raise NoRow(f"{NAME} in a graph of a backend, or in a transform")
        if len(self.modes) > 1 and self.is_in_autocast():
            raise NoRow(f"{NAME} in several modes")
        if any(mode[0] not in ("autocast", "grad") for mode in self.modes):
            raise NoRow(f"{NAME} in a mode")
        count = len(arguments) - len(names)
        given = dict(zip(names, arguments[count:], strict=True))
        flags = {name: given.pop(name) for name in OPTIONS if name in given}
        if not count or "use_reentrant" not in flags:
            raise NoRow(f"{NAME} with other arguments")
        self.identical(callee)
        self.require_options(flags)
        for function, code in CODES.items():
            self.has_code(function, code)
        self.check_untransformed()
        is_reentrant = self.flag_of(flags["use_reentrant"])
        keeps_state = "preserve_rng_state" not in flags or self.flag_of(flags["preserve_rng_state"])
        if self.region is not None:
            self.call_inner_checkpoint(view, frame, arguments, count, given, is_reentrant, keeps_state)
            return
        if is_reentrant:
            self.require_reentrant(flags, given, arguments[1:count])
        # Within an autocast of the plan's own there may be none around the plan, where the question is asked.
        around = (not self.is_in_autocast() and ambient()[0], *ambient()[1:])
        register = self.emit("Call", self.register(self.constant(ambient)))
        self.see(register, around)
        self.check("CheckConst", register, object=around)
        if around[0] or around[2]:
            raise NoRow(f"{NAME} in autocast or inference mode that was set before")
        region = Checkpoint(self, arguments[1:count], keeps_state, is_reentrant)
        self.call_of(view, frame, arguments[0], [*arguments[1:count], *given.values()], tuple(given))
        if self.entering is None or self.entering.finish is not None or self.entering.generator is not None:
            raise NoRow(f"{NAME} of a module with hooks, or of no function in Python")
        self.region = region
        self.entering.swaps = True
        self.entering.finish = self.end_of_checkpoint

    def call_inner_checkpoint(self, view, frame, arguments, count, given, is_reentrant, keeps_state):
        """A checkpoint in another one: when that runs again, this one's function does."""
        if is_reentrant or self.region.is_reentrant or keeps_state != self.region.keeps_state:
            raise NoRow(f"{NAME} in another one of another kind")
        self.call_of(view, frame, arguments[0], [*arguments[1:count], *given.values()], tuple(given))
        if self.entering is None or self.entering.generator is not None:
            raise NoRow(f"{NAME} of no function in Python")
        self.entering.swaps = True

    def require_reentrant(self, flags, given, arguments):
        """Requires what a checkpoint with `use_reentrant=True` is known for: its function is given tensors and constants by
        position, and PyTorch's autograd.Function runs it."""
        if given or flags.keys() - {"use_reentrant", "preserve_rng_state"} or self.is_in_autocast() or self.modes:
            raise NoRow(f"{NAME} with use_reentrant=True and other arguments, or in a mode")
        if not any(map(self.is_tensor, arguments)):
            raise NoRow(f"{NAME} with use_reentrant=True, of no tensor")
        for function, code in CODES_OF_REENTRANT.items():
            self.has_code(function, code)

    def require_options(self, flags):
        """Requires options that make no difference to what only computes."""
        for name, value in flags.items():
            if name in ("early_stop", "debug"):
                if self.flag_of(value) and name == "debug":
                    raise NoRow(f"{NAME} with debug=True")
            elif name == "determinism_check":
                if type(value) is not Value or value.object not in ("default", "none"):
                    raise NoRow(f"{NAME} with determinism_check=")
                self.pin(value)
            elif name == "context_fn":
                if type(value) is not Value or value.object is not NO_CONTEXT:
                    raise NoRow(f"{NAME} with context_fn=")
                self.identical(value)

    def end_of_checkpoint(self, result):
        """Puts one call of a graph in the place of what was recorded since the checkpoint began."""
        region, self.region = self.region, None
        if Checkpoint.changes_of(self) != region.changes:
            raise NoRow(f"{NAME} of a function that changes something")
        results = [self.register(value) for value in self.parts_of_result(result)]
        before = self.steps[: region.first_step]
        try:
            segment = Segment(self, self.steps, [(None, register) for register in results], None, False)
        except NotAGraph as reason:
            raise NoRow(f"{NAME} with {reason}") from None
        known = set(map(id, before))
        made = {step[1] for step in self.steps[region.first_step :]}
        nodes = [node for node in segment.nodes if node.register in made or not made.isdisjoint(refs_in(node))]
        kept = [step for step in segment.outside if id(step) not in known]
        nodes, counts = self.without_counts(nodes)
        nodes, autocast = self.without_autocast(nodes)
        nodes = self.without_parts(nodes, kept, results)
        inside = {node.register for node in nodes}
        checks, delayed = self.checks_of_checkpoint(segment, known, made)
        asks = self.questions_in(nodes, results)
        nodes = [node for node in nodes if node.register not in asks]
        delayed = [step for step in delayed if asks.isdisjoint(reads_of(step))]
        outputs, structures = self.needed_of(segment, inside, results, delayed)
        inputs = dict.fromkeys(register for node in nodes for register in refs_in(node) if register not in inside)
        if not any(self.is_tensor(self.values[register]) for register in outputs):
            raise NoRow(f"{NAME} that computes nothing")
        self.require_pure(nodes, inputs, outputs)
        effects = self.effects_of(nodes, counts, region)
        if self.require_own_writes(nodes) or asks:
            checks += self.checks_of_kinds(inputs)
        steps = self.steps_of_checkpoint(nodes, list(inputs), outputs, region, effects, autocast)
        self.steps[:] = [*before, *kept, *checks, *segment.pins, *steps, *structures, *delayed]
        gone = made - {step[1] for step in self.steps}
        for key, value in list(self.checked.items()):
            if getattr(value, "register", None) in gone:
                del self.checked[key]
        self.num_traced = min(self.num_traced, region.first_step)
        self.num_saved += INSTRUCTIONS_OF_CHECKPOINT + INSTRUCTIONS_OF_CALL * len(nodes)
        return result

    def without_counts(self, nodes):
        """The calls without those that count calls of modules, and of these the registers and numbers."""
        counts = [node for node in nodes if node.function is torch.Tensor.add_ and node.effect]
        rest = [node for node in nodes if node not in counts]
        taken = {register for node in rest for register in refs_in(node)}
        if any(node.register in taken for node in counts):
            raise NoRow(f"{NAME} that reads a count of calls")
        return rest, [(node.arguments[0].register, node.arguments[1]) for node in counts]

    def without_autocast(self, nodes):
        """The calls, and the mode of autocast that the function sets for all of them, but for those that are the same in it."""
        modes = {node.modes for node in nodes if node.modes is not None and node.modes != tuple(self.modes)}
        if not modes or self.modes:
            return nodes, None
        found, rest = modes.pop(), [node for node in nodes if not node.ends_casts]
        for node in rest:
            is_same = any(node.function is each for each in SAME_IN_AUTOCAST) or not self.is_of_tensors_at(
                node.register
            )
            if node.modes is None and node.grad_mode is None and not is_same:
                raise NoRow(f"{NAME} with autocast for a part of the function")
        if modes or len(found) != 1 or found[0][0] != "autocast":
            raise NoRow(f"{NAME} with several modes")
        for node in rest:
            node.modes = None
        return rest, found[0]

    def without_parts(self, nodes, kept, results):
        """The calls without those that only take what was computed before out of its container, or ask for its kind, which are
        added to the steps before the graph: the tape sees the tensors that a graph is given, not those in containers."""
        inside, rest = {node.register for node in nodes}, []
        used = {*results, *(register for node in nodes for register in refs_in(node))}
        for node in nodes:
            is_text = any(node.function is each for each in TEXT)
            if node.register not in used and (is_text or node.register not in self.values):
                continue  # a text, or a part of a size, that nothing asks for
            is_item = node.step is not None and node.step[0] == "Item" and node.step[2] not in inside
            is_question = node.step is not None and any(node.function is each for each in OF_SIZES)
            if is_item or (is_question and inside.isdisjoint(refs_in(node))):
                inside.discard(node.register)
                kept.append(node.step)
            else:
                rest.append(node)
        return rest

    def questions_in(self, nodes, results):
        """The registers of what asks for the kinds of tensors that the checkpoint computes, which follow from those of what it
        takes. In the calls stands what the answer is."""
        asks = {}
        for node in nodes:
            is_of_kind = node.step is not None and node.step[0] == "GetAttr" and node.step[4] in KINDS
            is_of_kind = is_of_kind or any(node.function is each for each in OF_DTYPES)
            taken = refs_in(node)
            follows = taken and asks.keys() >= set(taken) and any(node.function is each for each in COMPARE)
            if (is_of_kind or follows) and node.register not in results:
                asks[node.register] = self.values[node.register].object
        for node in nodes:
            if node.register not in asks and not asks.keys().isdisjoint(refs_in(node)):
                node.arguments = with_constants(node.arguments, asks)
        return asks.keys()

    def checks_of_kinds(self, inputs):
        """Checks what kinds the tensors of these registers are of."""
        steps = []
        for register in inputs:
            if self.is_tensor(self.values[register]):
                for name in KINDS:
                    answer, found = self.new_register(), getattr(self.values[register].object, name)
                    self.see(answer, found)
                    steps.append(("GetAttr", answer, register, -1, name, ()))
                    steps.append(("CheckIs" if found is False else "CheckConst", -1, answer, -1, found, ()))
        return steps

    @staticmethod
    def checks_of_checkpoint(segment, known, made):
        """The checks of tensor calls' results that steps of the checkpoint (not `known`) make: those of results that were there
        before it, and those of what it has made itself (the registers `made`), which come after its graph."""
        before, after = [], []
        for step in segment.delayed:
            original = segment.measured.get(step[2], step)
            if id(original) in known:
                continue
            if made.isdisjoint(reads_of(original)):
                before.append(original)
            else:
                after.append(step)
        return before, after

    def parts_of_result(self, value):
        """The Values in a result: tensors, also in tuples, lists and dicts."""
        if type(value) is Fresh:
            return [each for item in value.items for each in self.parts_of_result(item)]
        if type(value) is Keywords and value.source is None:
            return [each for item in value.items.values() for each in self.parts_of_result(item)]
        is_known = type(value) is Value and (value.register is None or type(value.object) in PLAIN)
        if not self.is_tensor(value) and not is_known:
            raise NoRow(f"{NAME} of a function that returns other than tensors")
        return [value]

    def needed_of(self, segment, inside, results, delayed):
        """The registers that the graph is to return, and steps that make of them what checks and results take."""
        found, structures = {}, []

        def need(register):
            step = segment.structures.get(register) or segment.methods.get(register)
            if step is not None and register in segment.inside:
                for each in reads_of(step):
                    need(each)
                if step not in structures:
                    structures.append(step)
            elif register in inside:
                found[register] = True

        for register in (*results, *(each for step in delayed for each in reads_of(step))):
            need(register)
        return list(found), structures

    def require_pure(self, nodes, inputs, outputs):
        """Requires that all calls may be in one graph, which only computes."""
        if self.calls_added():
            raise NoRow(f"{NAME} of what other functions compute")
        for node in nodes:
            name = getattr(node.function, "__name__", type(node.function).__name__)
            is_of_tape = any(node.function is each for each in (GRAD, REQUIRES_GRAD, begin_tape))
            if (
                (node.modes is not None and node.modes != tuple(self.modes))
                or (node.effect and not any(node.function is each for each in NORMS))
                or node.ends_casts
                or is_of_tape
            ):
                raise NoRow(f"{NAME} with a call of {name}")
            if not is_wanted(node, self.values):
                raise NoRow(f"{NAME} with a call of {name}, which compiled graphs have not")
        if any(is_of_tensors(each) and not is_tensor(each) for each in self.objects_in(inputs)):
            raise NoRow(f"{NAME} that takes containers of tensors")
        if share_memory(self.objects_in(inputs), self.objects_in(outputs)):
            raise NoRow(f"{NAME} that returns what shares memory")

    def effects_of(self, nodes, counts, region):
        """What both runs do besides computing: (registers of statistics, registers and numbers of counts, whether random
        numbers are drawn anew). PyTorch's second run stops where all is computed that the tape keeps, so the last call with
        an effect is to be one of which it keeps something."""
        statistics = list(dict.fromkeys(register for node in nodes for register in node.effect or ()))
        draws_anew = not region.keeps_state and any(node.is_random for node in nodes)
        last = next((node for node in reversed(nodes) if node.effect or (draws_anew and node.is_random)), None)
        if counts and last is None:
            raise NoRow(f"{NAME} of a function that changes something")
        if last is not None:
            if self.code in self.options.without_second_runs:
                raise NoRow(f"{NAME} with random numbers that are not kept, or statistics, without a backward pass")
            is_known = any(last.function is each for each in (*NORMS, *DROPOUTS))
            if region.is_reentrant or not is_known or not self.values[last.register].object.requires_grad:
                raise NoRow(f"{NAME} with random numbers that are not kept, or statistics")
        return statistics, counts, draws_anew

    def require_own_writes(self, nodes):
        """Requires that what calls write to is memory that the checkpoint itself has made, and that nothing on the tape was
        computed of it before: of what it takes, and of what the tape keeps, PyTorch has the latest when it computes again.
        Whether there are writes."""
        fresh = {}  # register -> the registers of what made its memory
        off_tape, kept, writes = set(), set(), False
        for node in nodes:
            tensors = [register for register in refs_in(node) if self.is_of_tensors_at(register)]
            is_off = all(each in off_tape or self.has_no_gradient(each) for each in tensors)
            written = node.arguments[0].register if node.function is operator.setitem else node.written
            if written is not None:
                writes, root = True, self.written_first(written)
                if root not in fresh or root not in off_tape or not kept.isdisjoint(fresh[root]):
                    name = getattr(node.function, "__name__", type(node.function).__name__)
                    raise NoRow(f"{NAME} with a call of {name} in place")
                fresh[node.register] = fresh[root]
            elif makes_memory(node.function) or any(node.function is each for each in _MAKING):
                fresh[node.register] = {node.register}
            elif tensors and all(each in fresh for each in tensors):
                fresh[node.register] = set().union(*(fresh[each] for each in tensors))
            if is_off:
                off_tape.add(node.register)
            else:
                kept.update(*(fresh.get(each, ()) for each in tensors))
        return writes

    def has_no_gradient(self, register):
        tensors = self.values[register].object
        tensors = [tensors] if is_tensor(tensors) else tensors
        return not any(tensor.is_floating_point() or tensor.is_complex() for tensor in tensors)

    def is_of_tensors_at(self, register):
        return is_of_tensors(self.values[register].object)

    def objects_in(self, registers):
        return [self.values[register].object for register in registers]

    def steps_of_checkpoint(self, nodes, inputs, outputs, region, effects, autocast):
        is_exact = "exact" in (self.options.numerics, options.numerics)
        function = compile_nodes(nodes, inputs, outputs, self.values, is_exact)
        if function is None:
            raise NoRow(f"{NAME} of what compiled graphs have not")
        draws = any(node.is_random for node in nodes)
        callee = self.new_register()
        result = outputs[0] if len(outputs) == 1 else self.new_register()
        if len(outputs) > 1:
            self.see(result, tuple(self.objects_in(outputs)))
            self.places[result] = self.here
        autocast = self.modes[0] if self.is_in_autocast() else autocast
        statistics, counts, draws_anew = effects
        if region.is_reentrant:
            taken = list(dict.fromkeys([*inputs, *region.saved]))
            given = [taken.index(register) for register in region.saved]
            checkpointed = Reentrant(function, given, len(inputs), region.keeps_state)
            inputs = taken
        else:
            saved = [place for place, register in enumerate(inputs) if register in region.saved]
            checkpointed = Checkpointed(function, draws, saved, autocast, len(inputs))
            checkpointed.statistics = [place for place, register in enumerate(inputs) if register in statistics]
            checkpointed.draws_anew = draws_anew
            checkpointed.counts = [(len(inputs) + place, number) for place, (_, number) in enumerate(counts)]
            inputs = [*inputs, *(register for register, _ in counts)]
            if statistics or draws_anew:
                nodes = [each.grad_fn for each in self.objects_in(outputs) if is_tensor(each) and each.requires_grad]
                self.second_runs.append(SecondRun(result, nodes))
                taken = [self.values[register].object for register in inputs]
                checkpointed.known_for = tuple([is_tensor(each) and each.requires_grad for each in taken])
        self.values[callee] = Value(callee, checkpointed, fixed=True, typed=True)
        written = [*statistics, *(register for register, _ in counts)]
        if draws or written:
            self.effects[result] = written
        steps = [
            ("LoadConst", callee, -1, -1, checkpointed, ()),
            ("Call", result, callee, -1, None, tuple(inputs)),
        ]
        if len(outputs) > 1:
            steps += [("Item", register, result, place, None, ()) for place, register in enumerate(outputs)]
        return steps


def refs_in(node):
    return list(refs_of(node.arguments))
