"""A tensor program run by eager PyTorch, by Cresset as it was written, and by Cresset's plans: outcomes with gradients, and
what counts as a difference between them.

Values, strides, aliasing, effects on arguments and on the module, printed text and first derivatives have equal bits.
Second derivatives go through kept values in another order (docs/decisions/0008-gradients.md): they differ by at most
SECOND_ORDER of the largest number among them. Cresset's two modes have the same exceptions to the last letter; eager's
have another class at times, and the same last line.
"""

import contextlib
import functools
import importlib
import io
import linecache
import math
import os
import re
import sys
import types
import zlib
from dataclasses import dataclass, field, replace

import torch

import cresset

from .execution import NAMES, seen
from .tree import TensorCall

#: Whether all functions of this process have plans from their first call on (docs/decisions/0007-plans.md).
PLANS_ALWAYS = os.environ.get("CRESSET_PLANS") == "always"

#: How far derivatives of higher order may be apart, relative to the largest number of them.
SECOND_ORDER = {torch.float64: 1e-10, torch.float32: 1e-3, torch.bfloat16: 0.1}


def values(seed, shape, dtype="float64", requires_grad=False):
    """A tensor made of its seed."""
    return _values(seed, tuple(shape), dtype).clone().requires_grad_(requires_grad)


@functools.lru_cache(1000)
def _values(seed, shape, dtype):
    made = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (made * 2).round().to(torch.int64) if dtype == "int64" else made.to(getattr(torch, dtype))


_compiled = functools.lru_cache(1000)(compile)


def prepare():
    """Imports what PyTorch else imports in the first calls, in each process: thousands of files."""
    importlib.import_module("torch._dynamo")


@dataclass
class TensorOutcome:
    kind: str  # "value", "error", "rejected"
    value: object = None
    message: str = ""
    printed: str = ""
    effects: object = None  # on arguments and the module
    leaves: object = None  # gradients that the call has added to leaves
    gradients: object = None  # as seen, or the text of an error
    higher: list = field(default_factory=list)  # derivatives of higher order: tensors
    by_bound: bool = False  # whether the program takes gradients, to go on with


class _Engine:
    count = 0

    def __init__(self, program):
        _Engine.count += 1
        name = f"tensors_{_Engine.count}"
        text = str(program)
        module = types.ModuleType(name)
        module.__file__ = f"<tensors_{zlib.crc32(text.encode())}>"  # one for all engines, which compile the text once
        module.__dict__.update(NAMES, values=values)
        linecache.cache[module.__file__] = (len(text), None, text.splitlines(True), module.__file__)
        sys.modules[name] = module
        try:
            exec(_compiled(text, module.__file__, "exec"), module.__dict__)
            self.names = module.__dict__
            self.module = self.names["M"]()
            self.compile()
        finally:
            del sys.modules[name], linecache.cache[module.__file__]

    def compile(self):
        pass

    def function(self, name):
        return self.module if name == "forward" else self.names[name]


class Eager(_Engine):
    name = "eager"


class Interpreted(_Engine):
    name = "cresset as written"
    mode = "interpret"

    def compile(self):
        self.module = cresset.script(self.module)
        for name in [n for n in self.names if re.fullmatch(r"f\d", n)]:
            self.names[name] = cresset.script(self.names[name])


class Planned(Interpreted):
    """Plans are made from the second call on, mostly."""

    name = "cresset"
    mode = "optimize"


class PlannedAtOnce(Planned):
    """Plans are made from the first call on, of the smallest functions too."""

    plans_always = True


def execute(engine, program):
    """The outcomes of all calls; one "rejected" outcome if the engine does not compile the program."""
    try:
        unit = engine(program)
    except Exception as error:  # noqa: BLE001
        return [TensorOutcome("rejected", type(error).__name__, str(error))]
    mode = cresset.get_execution_mode()
    cresset.set_execution_mode(getattr(engine, "mode", mode))
    cresset._C._set_plans_always(PLANS_ALWAYS or getattr(engine, "plans_always", False))
    by_bound = "torch.autograd.grad(" in str(program)  # then gradients of results are of higher order
    try:
        outcomes = [call(unit, one, by_bound) for one in program.calls]
    finally:
        cresset.set_execution_mode(mode)
        cresset._C._set_plans_always(PLANS_ALWAYS)
    if issubclass(engine, Planned) and (failure := _failure_of_plans(unit, program)):
        return [TensorOutcome("rejected", "no plan", failure)]
    return outcomes


def _failure_of_plans(unit, program):
    """Why the optimizer gave up on a function that is called, if it did."""
    for name in {call.function for call in program.calls}:
        with contextlib.suppress(cresset.UserError, KeyError):  # not of a program that lost its methods while it shrank
            if "plans are off" in (text := str(cresset.explain(unit.function(name)))):
                return text
    return None


def arguments_of(one: TensorCall):
    """The tensors that a call is made of, its arguments, and the state to enter around it."""
    torch.default_generator.manual_seed(0)
    names = {"torch": torch, "values": values}
    for name, text in one.needed().items():
        names[name] = _evaluated(text, names)
    bases = [names[name] for name in one.needed()]
    arguments = _evaluated(f"({', '.join(one.arguments)}{',' if one.arguments else ''})", names)
    return bases, arguments, _evaluated(one.state, names) if one.state else contextlib.nullcontext()


def _evaluated(text, names):
    return eval(_compiled(text, "<call>", "eval"), names)


def call(unit, one: TensorCall, by_bound=False):
    bases, arguments, state = arguments_of(one)
    output = io.StringIO()
    result = None
    with contextlib.redirect_stdout(output), state:
        try:
            result = unit.function(one.function)(*_copied(arguments))
            outcome = TensorOutcome("value")
        except Exception as error:  # noqa: BLE001
            outcome = TensorOutcome("error", [c.__name__ for c in type(error).__mro__], _without_numbers(str(error)))
    outcome.printed = output.getvalue()
    outcome.by_bound = by_bound
    results = list(_tensors(result))
    storages = {}
    everything = [*bases, *_tensors(arguments)]
    outcome.effects = [_seen(t, storages) for t in everything]
    leaves = [*(t for t in everything if t.is_leaf and t.requires_grad), *unit.module.parameters()]
    outcome.leaves = [_sum_seen(t.grad, storages) for t in leaves]
    for parameter in unit.module.parameters():
        parameter.grad = None
    outcome.effects += [(name, _seen(t, storages)) for name, t in unit.module.state_dict(keep_vars=True).items()]
    outcome.effects += [_seen(getattr(unit.module, name, None), storages) for name in ("o0", "c0")]
    if outcome.kind == "value":
        outcome.value = _seen(result, storages)
        # Which result is a view of what, for autograd.
        parents = [*everything, *results]
        outcome.value = (outcome.value, [_parent(t, parents) for t in results])
    wanted = _unique(t for t in [*everything, *unit.module.parameters(), *results] if t.requires_grad)
    if wanted and (not one.state or "autocast" in one.state):
        if one.writes:
            outcome.gradients = [_written(results)]
        if one.watched and not by_bound:
            _watch(outcome, results, [t for t in wanted if t.is_leaf])
        else:
            _differentiate(outcome, results, wanted, one.order, by_bound)
    for leaf in unit.module.parameters():
        leaf.grad = None
    return outcome


def _copied(value):
    """Scripts get lists and dicts as copies of their own."""
    if isinstance(value, dict):
        return {k: _copied(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_copied, value))
    return value


def _tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _unique(tensors):
    return list({id(t): t for t in tensors}.values())


def _parent(tensor, parents):
    if not tensor._is_view() or not tensor.numel():
        return None
    return next((i for i, other in enumerate(parents) if other is tensor._base), "other")


def _seen(value, storages):
    data = _without_place_of_nothing(seen(value, storages))
    return (data, [_is_leaf(t) for t in _tensors(value)])


def _without_place_of_nothing(data):
    """Dropout gives a tensor without elements as it is; in a region, a new one."""
    if isinstance(data, tuple) and data[:1] == ("Tensor",):
        return (*data[:3], None, None, data[5], None, *data[7:]) if 0 in data[2] else data
    return type(data)(map(_without_place_of_nothing, data)) if isinstance(data, (list, tuple)) else data


def _is_leaf(tensor):
    try:
        return tensor.is_leaf
    except RuntimeError as error:  # of a view that autograd forbids to use
        return str(error)


def _written(results):
    """Writes to all results, as callers may."""
    said = []
    for result in _unique(results):
        try:
            result.mul_(2)
        except RuntimeError as error:
            said.append(_without_numbers(str(error)))
    return said


def _weighted_sum(tensors):
    total = torch.zeros((), dtype=torch.float64)
    for index, tensor in enumerate(tensors):
        weight = values(1000 + index, tensor.shape).to(tensor.dtype)
        total = total + (tensor * weight).sum().double()
    return total


def _differentiate(outcome, results, wanted, order, by_bound):
    outcome.gradients = list(outcome.gradients or [])
    for _ in range(order):
        results = [t for t in results if t.requires_grad]
        if not results:
            return
        try:
            results = torch.autograd.grad(_weighted_sum(results), wanted, create_graph=order > 1, allow_unused=True)
        except Exception as error:  # noqa: BLE001
            outcome.gradients.append(_without_numbers(str(error)))
            return
        if by_bound:
            outcome.higher += results
        else:
            outcome.gradients.append([None if g is None else _gradient_seen(g) for g in results])
        results = [g for g in results if g is not None]
        by_bound = True


def _watch(outcome, results, leaves):
    """A backward pass to the leaves, with hooks on results, some of which change gradients, and results that keep theirs."""
    seen_by_hooks, hooks = [[] for _ in results], []
    for index, result in enumerate(results):
        if result.requires_grad:

            def hook(gradient, index=index):
                seen_by_hooks[index].append(_gradient_seen(gradient))
                return gradient * 1.5 if index % 2 else None

            hooks.append(result.register_hook(hook))
            result.retain_grad()
    outcome.gradients = list(outcome.gradients or [])
    try:
        _weighted_sum([r for r in results if r.requires_grad]).backward()
    except RuntimeError as error:
        outcome.gradients.append(_without_numbers(str(error)))
        return
    finally:
        for hook in hooks:  # also of the module's parameters
            hook.remove()
    ends = _unique([*leaves, *(r for r in results if r.requires_grad)])
    outcome.gradients.append([None if t.grad is None else _gradient_seen(t.grad) for t in ends])
    outcome.gradients += seen_by_hooks


def _gradient_seen(gradient):
    data = seen(gradient.detach(), {})
    dtype, size, strides = data[1:4]
    # Any stride of a dimension of size 1 means the same; a gradient gets one from whatever operator comes last.
    meant = tuple(stride for stride, length in zip(strides, size, strict=True) if length != 1)
    return (dtype, size, meant, data[7], data[8])


def _sum_seen(gradient, storages):
    """What is accumulated in a leaf, strides of dimensions of size 1 aside."""
    data, *rest = _seen(gradient, storages)
    if gradient is not None and data[3] is not None:  # without elements there are no strides
        meant = tuple(None if length == 1 else stride for stride, length in zip(data[3], data[2], strict=True))
        data = (*data[:3], meant, *data[4:])
    return (data, *rest)


def _without_numbers(text):
    """A message without what differs from run to run, and without names of autograd's nodes. Of several tensors that
    were written to, any may be named: a region looks at all that it has kept before it computes anything."""
    text = re.sub(r"(?<=modified by an inplace operation: )\[[\w.]+ \[[\d, ]*\]\]", "…", text)
    text = re.sub(r", which is output \d+ of [\w:]+,", "", text)
    text = re.sub(r"\b\w+Backward\w*\b|(?<=[Oo]utput )\d+ of [\w:]+|(?<= version )\d+|0x[0-9a-f]+", "…", text)
    return re.sub(r"___torch_mangle_\d+\.|(?<=tensors_)\d+", "", text)


# ---- comparison


def difference(call, theirs, mine, exact):
    """How the outcomes of one call differ, in words; None if they don't."""
    if not exact:
        theirs, mine = _without_strides_of_gradients(theirs), _without_strides_of_gradients(mine)
    if theirs.kind != mine.kind:
        return f"{_shown(mine)} instead of {_shown(theirs)}"
    if theirs.printed != mine.printed:
        return f"printed {mine.printed!r} instead of {theirs.printed!r}"
    if theirs.kind == "error":
        if (
            exact
            and (theirs.value, theirs.message) != (mine.value, mine.message)
            and not _of_other_places(theirs, mine)
        ):
            return f"says {mine.value[0]} {mine.message!r} instead of {theirs.value[0]} {theirs.message!r}"
        if not exact and not _says_as_eager(theirs.message, mine.message):
            return f"says {mine.message!r} instead of {theirs.message!r}"
    if theirs.value != mine.value and theirs.kind == "value":
        return f"gives {_apart(theirs.value, mine.value)}"
    if theirs.effects != mine.effects:
        return f"leaves {_apart(theirs.effects, mine.effects)}"
    if theirs.leaves != mine.leaves and not (exact and _failed_backward(theirs, mine)):
        return f"leaves gradients {_apart(theirs.leaves, mine.leaves)}"
    if theirs.gradients != mine.gradients:
        return f"has gradients {_apart(theirs.gradients, mine.gradients)}"
    return _higher_difference(theirs.higher, mine.higher, repr(theirs.value))


def _without_strides_of_gradients(outcome):
    """Python's indexing leaves out slices that take everything, through which a script's gradient goes, and so has other
    strides. The gradients that the program itself takes are among its results."""

    def plain(data):
        if isinstance(data, tuple) and data[:1] == ("Tensor",):
            return (*data[:3], *data[4:])
        return type(data)(map(plain, data)) if isinstance(data, (list, tuple)) else data

    gradients = outcome.gradients
    if isinstance(gradients, list):
        gradients = [
            [g if g is None else (*g[:2], *g[3:]) for g in one] if isinstance(one, list) and not _is_text(one) else one
            for one in gradients
        ]
    value = plain(outcome.value) if outcome.by_bound and outcome.kind == "value" else outcome.value
    return replace(outcome, value=value, gradients=gradients, leaves=plain(outcome.leaves))


def _is_text(said):
    return bool(said) and isinstance(said[0], str)


def _failed_backward(theirs, mine):
    """Whether a backward pass in the call failed by what was freed or written to. How far it got before is not kept: a
    region looks at all that it has kept before it computes anything (docs/decisions/0008-gradients.md, "One node")."""
    words = ("backward through the graph a second time", "modified by an inplace operation")
    return theirs.kind == mine.kind == "error" and any(w in theirs.message and w in mine.message for w in words)


def _of_other_places(theirs, mine):
    """Whether two operators raise; which of them is first is not kept (docs/decisions/0006-alias-analysis.md)."""
    return all("RuntimeError" in o.value and "stop" not in o.message for o in (theirs, mine)) and (
        _marked_lines(theirs.message) != _marked_lines(mine.message)
    )


def _marked_lines(message):
    lines = message.split("\n")
    return [line for i, line in enumerate(lines) if i and "<--- HERE" in line]


def _apart(theirs, mine, path=""):
    """The first place where plain data differs."""
    both = (list, tuple)
    if isinstance(theirs, both) and isinstance(mine, both) and len(theirs) == len(mine):
        for index, (a, b) in enumerate(zip(theirs, mine)):
            if a != b:
                return _apart(a, b, f"{path}[{index}]")
    return f"{mine} instead of {theirs}, at {path or 'the top'}"


def _says_as_eager(theirs, mine):
    # Python's own indexing of tensors has words of its own.
    if "is out of bounds for dimension" in theirs or "invalid index of a 0-dim tensor" in theirs:
        return "out of range" in mine or "cannot be applied to a 0-dim tensor" in mine
    # An assignment to an index expands the value first; a script's copies it into the view.
    if "doesn't match the broadcast shape" in mine and re.search("expanded size of the tensor|number of sizes", theirs):
        return True
    if "appears to not have been used in the graph" in theirs:
        return "appears to not have been used in the graph" in mine
    theirs = theirs.replace("list assignment index out of range", "list index out of range")
    if "only Tensors of floating point dtype can require gradients" in theirs:
        theirs = "Only Tensors of floating point and complex dtype can require gradients"
    if "leaf Variable that requires grad is being used in an in-place operation" in theirs:
        theirs = theirs.replace("a view of ", "")
    return theirs.strip().split("\n")[-1].strip().strip("'").rstrip(".") in mine


def _shown(outcome):
    if outcome.kind == "value":
        return f"value {outcome.value}"
    return f"{outcome.value if outcome.kind == 'rejected' else outcome.value[0]} {outcome.message!r}"


def _higher_difference(theirs, mine, results):
    if len(theirs) != len(mine):
        return f"has {len(mine)} derivatives of higher order instead of {len(theirs)}"
    for a, b in zip(theirs, mine):
        if (a is None) != (b is None) or a is not None and (a.dtype, a.shape) != (b.dtype, b.shape):
            return f"has a derivative of higher order {b} instead of {a}"
    known = [t.detach().abs().max().item() for t in [*theirs, *mine] if t is not None and t.numel()]
    scale = max([1.0, *[k for k in known if not math.isnan(k)]])
    if scale > 1e30 or any(map(math.isnan, known)):
        return None  # what overflows depends on the order of additions
    # A program may compute with fewer bits than its leaves have.
    computed = [bound for dtype, bound in SECOND_ORDER.items() if str(dtype) in results]
    bound = max([*computed, *(SECOND_ORDER[t.dtype] for t in theirs if t is not None)], default=0.0)
    for a, b in zip(theirs, mine):
        if a is not None and a.numel() and (a.detach() - b.detach()).abs().max().item() > bound * scale:
            return f"has a derivative of higher order {b} instead of {a}"
    return None


def check(program, send=lambda message: None):
    """Runs a program by all engines; the first difference in words, or None, and how its calls ended."""
    send(("stage", Eager.name))
    eager = execute(Eager, program)
    if eager[0].kind == "rejected":
        return f"is no Python: {eager[0].message}", ["rejected"]
    send(("stage", "cresset"))
    kinds = [o.kind for o in eager]
    plain = execute(Interpreted, program)
    if plain[0].kind == "rejected":
        return f"only Cresset refuses the program: {plain[0].message}", ["rejected"]
    found = _first(program, eager, plain, False, "as written")
    found = found or _first(program, plain, execute(Planned, program), True, "by plans")
    return found or _first(program, plain, execute(PlannedAtOnce, program), True, "by plans at once"), kinds


def _frees_more(program, found):
    """Whether a gradient of a gradient went through a region of which autograd would have left out a part, and freed it
    (docs/decisions/0008-gradients.md, "One node"): only where the program itself took gradients to go on with."""
    return "create_graph=True" in str(program) and "backward through the graph a second time" in found


def _keeps_numbers(program, theirs, mine):
    """Whether eager PyTorch could not go through a graph again and a script could: `x * 2.0` keeps the number as a tensor,
    which is freed, and the script's operator has it as a number (as torch.jit's)."""
    words = "backward through the graph a second time"
    return (".backward(" in str(program) or "autograd.grad(" in str(program)) and (
        (words in theirs.message and words not in mine.message)
        or (words in str(theirs.gradients) and words not in str(mine.gradients))
    )


def _first(program, theirs, mine, exact, how):
    if mine[0].kind == "rejected":
        return f"{how}: {mine[0].value}: {mine[0].message}"
    for index, (one, a, b) in enumerate(zip(program.calls, theirs, mine)):
        if not exact and "dictionary changed size during iteration" in a.message:
            continue  # scripts go through the keys that were there
        found = difference(one, a, b, exact)
        if found and not exact and _keeps_numbers(program, a, b):
            return None  # the module may be another one from here on
        if found and not (exact and _frees_more(program, found)):
            return f"{how}, call {index}: {found}"
    return None
