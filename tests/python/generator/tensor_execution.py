"""A tensor program run by eager PyTorch, by unoptimized Cresset, and by Cresset's plans: outcomes with gradients.

`tensor_comparison` says what counts as a difference between them.
"""

import ast
import contextlib
import functools
import importlib
import io
import linecache
import os
import re
import sys
import types
import zlib
from dataclasses import dataclass, field

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

import cresset

from .execution import NAMES, seen
from .tree import TensorCall

#: Whether all functions of this process have plans from their first call on (docs/decisions/0007-plans.md).
PLANS_ALWAYS = os.environ.get("CRESSET_PLANS") == "always"


def values(seed, shape, dtype="float64", requires_grad=False):
    """A tensor made of its seed."""
    with _disable_current_modes():
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


class RoundedOtherwise(TorchDispatchMode):
    """Backward passes whose every operator is off by up to one unit in the last place, at random. How far results are then
    apart shows how far another order of the same computation may take them (Monte Carlo arithmetic)."""

    def __init__(self, seed):
        super().__init__()
        self.generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, operator, types, arguments=(), options=None):
        result = operator(*arguments, **(options or {}))
        if torch._C._current_graph_task_id() == -1:  # not in a backward pass
            return result
        returns = operator._schema.returns
        for declared, value in zip(returns, result if len(returns) > 1 else [result], strict=True):
            if declared.alias_info is None or declared.alias_info.is_write:
                for tensor in _tensors(value):
                    self.disturb(tensor)
        return result

    def disturb(self, tensor):
        if tensor.is_floating_point() and tensor.device.type == "cpu" and not tensor._is_zerotensor():
            noise = torch.rand(tensor.shape, generator=self.generator, dtype=torch.float64) * 2 - 1
            tensor.copy_(tensor.double() * (1 + torch.finfo(tensor.dtype).eps * noise))


class Retained:
    """A program whose backward passes all retain what they go through, also the test's own."""

    retained = True

    def __init__(self, program):
        self.calls = program.calls
        self.text = str(program)
        starts = [0]
        for line in self.text.splitlines(True):
            starts.append(starts[-1] + len(line))
        ends = []
        for node in ast.walk(ast.parse(self.text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PASSES:
                if not {"retain_graph", "create_graph"} & {keyword.arg for keyword in node.keywords}:
                    has_arguments = bool(node.args or node.keywords)
                    ends.append((starts[node.end_lineno - 1] + node.end_col_offset - 1, has_arguments))
        for end, has_arguments in sorted(ends, reverse=True):
            self.text = f"{self.text[:end]}{', ' * has_arguments}retain_graph=True{self.text[end:]}"

    def __str__(self):
        return self.text


_PASSES = ("backward", "grad")


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
    name = "cresset unoptimized"
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


def execute(engine, program, rounding=None):
    """The outcomes of all calls; one "rejected" outcome if the engine does not compile the program. With a seed of other
    roundings, derivatives of higher order are computed with these."""
    try:
        unit = engine(program)
    except Exception as error:  # noqa: BLE001
        return [TensorOutcome("rejected", type(error).__name__, str(error))]
    mode = cresset.get_execution_mode()
    cresset.set_execution_mode(getattr(engine, "mode", mode))
    cresset._C._set_plans_always(PLANS_ALWAYS or getattr(engine, "plans_always", False))
    by_bound = "torch.autograd.grad(" in str(program)  # then gradients of results are of higher order
    try:
        outcomes = [call(unit, one, by_bound, getattr(program, "retained", False), rounding) for one in program.calls]
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


def call(unit, one: TensorCall, by_bound=False, retained=False, rounding=None, within=False):
    """The outcome of a call. Other roundings are of derivatives of higher order, or also of the program's own backward
    passes (`within`)."""
    bases, arguments, state = arguments_of(one)
    otherwise = RoundedOtherwise(rounding) if within else contextlib.nullcontext()
    output = io.StringIO()
    result = None
    with contextlib.redirect_stdout(output), state, otherwise:
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
            _watch(outcome, results, [t for t in wanted if t.is_leaf], retained)
        else:
            _differentiate(outcome, results, wanted, one.order, by_bound, retained, rounding)
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
    """Dropout returns a tensor without elements as it is; in a region, a new one."""
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


def _differentiate(outcome, results, wanted, order, by_bound, retained, rounding):
    outcome.gradients = list(outcome.gradients or [])
    options = {"create_graph": order > 1, "retain_graph": retained or order > 1, "allow_unused": True}
    for _ in range(order):
        results = [t for t in results if t.requires_grad]
        if not results:
            return
        otherwise = RoundedOtherwise(rounding) if by_bound and rounding is not None else contextlib.nullcontext()
        try:
            with otherwise:
                results = torch.autograd.grad(_weighted_sum(results), wanted, **options)
        except Exception as error:  # noqa: BLE001
            outcome.gradients.append(_without_numbers(str(error)))
            return
        if by_bound:
            outcome.higher += results
        else:
            outcome.gradients.append([None if g is None else _gradient_seen(g) for g in results])
        results = [g for g in results if g is not None]
        by_bound = True


def _watch(outcome, results, leaves, retained):
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
        _weighted_sum([r for r in results if r.requires_grad]).backward(retain_graph=retained)
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
