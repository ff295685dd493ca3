"""Cresset's own backend: what of a plan's graph is compiled as a script's function is, and runs fused.

The calls of a graph are written down as a function of the language that `cresset.script` takes, so that nothing of the
run that was recorded (sizes, dtypes, layouts) is part of it; it keeps eager PyTorch's bits whatever the option `numerics`
says. Calls that the language has not, or has otherwise, stay calls of the plan, and so does a graph that would gain
nothing. Gradients stay on PyTorch's tape: a compiled graph runs where none is recorded.
"""

import functools
import operator

import torch
import torch.nn.functional as F

from . import _C
from ._segments import COMPARE, Ref, is_tensor, reads_of

MIN_CALLS = 4  # of tensors; fewer take longer to call as a graph than to run

_INFIX = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.matmul: "@",
    operator.floordiv: "//", operator.mod: "%", operator.pow: "**", operator.and_: "&", operator.or_: "|",
    operator.xor: "^", operator.lt: "<", operator.le: "<=", operator.eq: "==", operator.ne: "!=", operator.gt: ">",
    operator.ge: ">=",
}  # fmt: skip
_OF_NUMBERS = (operator.add, operator.sub, operator.mul, operator.floordiv, *COMPARE)
_NUMBER_FIRST = (operator.add, operator.sub, operator.mul, operator.truediv, *COMPARE)
_NUMBER_SECOND = (*_NUMBER_FIRST, operator.floordiv, operator.mod, operator.pow)
_ATTRIBUTES = ("shape", "T", "mT", "H", "mH")
_MAX = 1 << 31
# Whose results or errors the language has otherwise.
_LEFT_OUT = {"max", "min", "median", "bool", "float", "double", "half", "long", "bfloat16", "cpu", "ndimension", "numel",
             "is_tensor", "isfinite", "isinf", "isnan", "split", "chunk", "unbind", "where", "normalize", "one_hot", "norm",
             "to", "type_as", "detach", "pad", "embedding", "contiguous"}  # fmt: skip


class _NoText(Exception):
    pass


def is_wanted(node, values):
    """Whether a call may be part of a compiled graph: it has a text, and a result that is a tensor or a number."""
    result = values.get(node.register)
    if result is None or type(result.object) not in (torch.Tensor, int, bool, torch.Size):
        return False
    try:
        _text_of(node, values, lambda register: "x")
    except _NoText:
        return False
    return True


def pays(nodes, values):
    return sum(type(values[node.register].object) is torch.Tensor for node in nodes) >= MIN_CALLS


def compile_nodes(nodes, inputs, outputs, values):
    """The function `inputs -> outputs` (registers; several outputs are a tuple); None if it can't be compiled."""
    names = {register: f"v{i}" for i, register in enumerate([*inputs, *(node.register for node in nodes)])}
    kinds = {torch.Tensor: "Tensor", torch.nn.Parameter: "Tensor", int: "int", float: "float"}
    parameters = ", ".join(f"{names[r]}: {kinds[type(values[r].object)]}" for r in inputs)
    lines = [f"def graph({parameters}):"]
    try:
        for node in nodes:
            lines.append(f"    {names[node.register]} = {_text_of(node, values, names.__getitem__)}")
    except _NoText:
        return None
    lines.append(f"    return {', '.join(names[register] for register in outputs)}\n")
    return _compiled("\n".join(lines))


@functools.lru_cache(256)
def _compiled(text):
    unit = _C._CompilationUnit()
    try:
        unit.define(text, "", {"torch": torch, "F": F})
        function = unit.find_function("graph")
        _ = function.graph  # errors of the body come now
    except RuntimeError:
        return None
    function._keep_exact()
    return function


class Phases:
    """The calls of a segment in an order in which as many as possible are in compiled graphs: odd phases are graphs, even
    ones are calls of the plan, and each call is in the first phase of its kind after what it takes."""

    def __init__(self, segment):
        self.segment = segment
        self.values = segment.recorder.values
        self.of = {}  # register -> phase
        wanted = {node.register for node in segment.nodes if is_wanted(node, self.values)}
        while True:
            self.assign(wanted)
            refused = self.refused(wanted)
            if not refused:
                break
            wanted -= refused
        self.wanted = wanted

    def assign(self, wanted):
        self.of = {}
        for node in self.segment.nodes:
            in_graph = node.register in wanted
            phase = int(in_graph)
            for register in self.taken(node):
                before = self.of.get(register)
                if before is not None:
                    phase = max(phase, before + (before % 2 != in_graph))
            self.of[node.register] = phase

    def taken(self, node):
        """The calls whose results it takes, also in containers."""
        return self.segment.results_in(reads_of(node.step)) if node.step is not None else ()

    def refused(self, wanted):
        """Calls that may be in no graph: their results are used elsewhere and are no plain tensor or number, or a graph has
        too few."""
        used_by = {register: set() for register in self.of}
        for node in self.segment.nodes:
            for register in self.taken(node):
                used_by[register].add(self.of[node.register])
        needed = set(self.segment.results_in(self.segment.needed))
        found, members = set(), {}
        for node in self.segment.nodes:
            register = node.register
            if register not in wanted:
                continue
            members.setdefault(self.of[register], []).append(node)
            leaves = register in needed or any(phase != self.of[register] for phase in used_by[register])
            is_plain = type(self.values[register].object) in (torch.Tensor, int, bool)
            if (leaves and not is_plain) or not (leaves or used_by[register]):
                found.add(register)
        for nodes in members.values():
            if not pays(nodes, self.values):
                found.update(node.register for node in nodes)
        return found

    def graphs(self):
        """(phase, calls) in order."""
        for phase in range(max(self.of.values(), default=-1) + 1):
            nodes = [node for node in self.segment.nodes if self.of[node.register] == phase]
            if nodes:
                yield phase % 2 == 1, nodes


def steps_with_graphs(segment, recorded):
    """The plan's steps with calls of compiled graphs; None if none is worth it. And the number of their calls. Where
    gradients are recorded, or operators do more, they are the recorded ones, for just such calls."""
    phases = Phases(segment)
    if not phases.wanted:
        return None, 0
    if not _C._only_computes(*segment.examples):
        return recorded + (segment.pins if segment.dynamic is False else []) + guard(segment, False), 0
    steps, values = Steps(segment), phases.values
    for is_graph, nodes in phases.graphs():
        if is_graph and not steps.add_graph(nodes, phases, values):
            return None, 0
        if not is_graph:
            for node in nodes:
                steps.add(node.step)
    steps.finish()
    return segment.without_unused(steps.steps), len(phases.wanted)


def guard(segment, expected):
    """Steps that check whether operators on the segment's tensors only compute."""
    function, answer = segment.recorder.new_register(), segment.recorder.new_register()
    tensors = tuple(r for r, value in zip(segment.inputs, segment.examples, strict=True) if is_tensor(value))
    return [
        ("LoadConst", function, -1, -1, _C._only_computes, ()),
        ("Call", answer, function, -1, None, tensors),
        ("CheckIs", -1, answer, -1, expected, ()),
    ]


class Steps:
    """A plan's steps while they are put in order: what a step reads that is made of intermediate results comes before it."""

    def __init__(self, segment):
        self.segment = segment
        self.steps = [*segment.outside, *segment.pins, *guard(segment, True)]
        self.made = set()

    def need(self, register):
        step = self.segment.structures.get(register) or self.segment.methods.get(register)
        if step is not None and register in self.segment.inside and register not in self.made:
            self.made.add(register)
            self.add(step)

    def add(self, step):
        for register in reads_of(step):
            self.need(register)
        self.steps.append(step)

    def add_graph(self, nodes, phases, values):
        inside = {node.register for node in nodes}
        inputs, outputs = {}, []
        for node in nodes:
            for register in refs_of(node.arguments):
                if register not in inside:
                    inputs[register] = True
        elsewhere = set(self.segment.results_in(self.segment.needed))
        for node in self.segment.nodes:
            if node.register not in inside:
                elsewhere.update(phases.taken(node))
        outputs = [node.register for node in nodes if node.register in elsewhere]
        function = compile_nodes(nodes, list(inputs), outputs, values)
        if function is None:
            return False
        recorder = self.segment.recorder
        callee = recorder.new_register()
        self.steps.append(("LoadConst", callee, -1, -1, function, ()))
        result = outputs[0] if len(outputs) == 1 else recorder.new_register()
        self.steps.append(("Call", result, callee, -1, None, tuple(inputs)))
        if len(outputs) > 1:
            self.steps += [("Item", register, result, i, None, ()) for i, register in enumerate(outputs)]
        return True

    def finish(self):
        for register in self.segment.plan_outputs:
            self.need(register)
        for step in self.segment.delayed:
            self.add(step)


def refs_of(argument):
    if isinstance(argument, Ref):
        yield argument.register
    elif isinstance(argument, slice):
        yield from refs_of((argument.start, argument.stop, argument.step))
    elif isinstance(argument, (tuple, list)):
        for item in argument:
            yield from refs_of(item)


# ---- Text


def _text_of(node, values, name):
    """An expression. Raises _NoText."""
    if node.function is operator.getitem:
        return _item(node, [_argument(node.arguments[0], name)], values, name)
    arguments = [_argument(argument, name) for argument in node.arguments]
    if node.function in _INFIX:
        return _operator(node, arguments, values)
    if node.function is operator.neg:
        return f"-{arguments[0]}"
    if node.function is getattr:
        if node.arguments[1] not in _ATTRIBUTES:
            raise _NoText
        return f"{arguments[0]}.{node.arguments[1]}"
    count = len(arguments) - len(node.names)
    named = [f"{key}={text}" for key, text in zip(node.names, arguments[count:], strict=True)]
    if node.method is not None:
        if node.method in _LEFT_OUT or not isinstance(node.arguments[0], Ref):
            raise _NoText
        return f"{arguments[0]}.{node.method}({', '.join(arguments[1:count] + named)})"
    function = getattr(node.function, "__name__", "")
    for prefix, owner in (("torch", torch), ("F", F)):
        if getattr(owner, function, None) is node.function and function not in _LEFT_OUT:
            return f"{prefix}.{function}({', '.join(arguments[:count] + named)})"
    raise _NoText


def _operator(node, arguments, values):
    left, right = (_kind(argument, values) for argument in node.arguments)
    if left is torch.Tensor and right is torch.Tensor:
        allowed = _INFIX
    elif left is torch.Tensor and right in (int, float):
        allowed = _NUMBER_SECOND
    elif left in (int, float) and right is torch.Tensor:
        allowed = _NUMBER_FIRST
    elif left is int and right is int and all(map(_is_small, node.arguments)):
        allowed = _OF_NUMBERS
    else:
        raise _NoText
    if node.function not in allowed:
        raise _NoText
    return f"({arguments[0]} {_INFIX[node.function]} {arguments[1]})"


def _is_small(argument):
    """Numbers of the language have 64 bits: only small constants and sizes, and what is computed of them."""
    return isinstance(argument, Ref) or abs(argument) < _MAX


def _item(node, arguments, values, name):
    kind = _kind(node.arguments[0], values)
    index = node.arguments[1]
    if kind is torch.Size and type(index) is int:
        return f"{arguments[0]}[{index}]"
    parts = index if type(index) is tuple else (index,)
    if kind is not torch.Tensor or not parts or not all(_is_index(part, values) for part in parts):
        raise _NoText
    return f"{arguments[0]}[{', '.join(_argument(part, name) for part in parts)}]"


def _is_index(part, values):
    """Not tensors: eager PyTorch takes one without dimensions for a number, so that the result is a view."""
    return part is None or part is Ellipsis or isinstance(part, slice) or _kind(part, values) is int


def _kind(argument, values):
    kind = type(values[argument.register].object) if isinstance(argument, Ref) else type(argument)
    return torch.Tensor if kind is torch.nn.Parameter else kind


def _argument(argument, name):
    kind = type(argument)
    if kind is Ref:
        return name(argument.register)
    if kind is int and abs(argument) < 1 << 62:
        return f"({argument})" if argument < 0 else str(argument)
    if kind is float:
        return repr(argument) if abs(argument) < float("inf") and str(argument)[0] != "-" else f"float('{argument!r}')"
    if argument is None or kind is bool or kind is str:
        return repr(argument)
    if kind is torch.dtype:
        return str(argument)
    if kind in (tuple, list) and argument:
        return f"[{', '.join(_argument(item, name) for item in argument)}]"
    if kind is slice:
        bounds = [("" if bound is None else _argument(bound, name)) for bound in (argument.start, argument.stop)]
        step = "" if argument.step is None else f":{_argument(argument.step, name)}"
        return f"{':'.join(bounds)}{step}"
    if argument is Ellipsis:
        return "..."
    raise _NoText
