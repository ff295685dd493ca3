"""Cresset's own backend: what of a plan's graph is compiled as a script's function is, and runs fused.

The calls of a graph are written down as a function of the language that `cresset.script` takes, so that nothing of the
run that was recorded (sizes, dtypes, layouts) is part of it; it keeps eager PyTorch's bits unless `compile` was asked for
others. Gradients are compiled with it, as those of any script: to PyTorch's tape a graph is a node, and what leaves it is on
that tape. Calls that the language has not, has otherwise, or makes of operators that the operator table does not know, stay
calls of the plan, and so does a graph that would gain nothing.
"""

import collections
import functools
import math
import operator
import re

import torch
import torch.nn.functional as F

from . import _C, _frames, options, passes
from ._checkpoints import Checkpointed, Reentrant
from ._functions import Applied
from ._recording_gradients import GRAD, REQUIRES_GRAD, begin_tape, copy_fitting
from ._recording_writes import joined_saves
from ._rows import EMPTY, OF_CONTENTS, OWNERS, is_of_numbers
from ._segments import (
    COMPARE,
    NotAGraph,
    Ref,
    Segment,
    has_names,
    is_of_sizes,
    is_of_tensors,
    is_tensor,
    is_traced,
    reads_of,
    traced_functions,
)

MIN_CALLS = 4  # of tensors; fewer take longer to call as a graph than to run

_INFIX = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.matmul: "@",
    operator.floordiv: "//", operator.mod: "%", operator.pow: "**", operator.and_: "&", operator.or_: "|",
    operator.xor: "^", operator.lt: "<", operator.le: "<=", operator.eq: "==", operator.ne: "!=", operator.gt: ">",
    operator.ge: ">=",
}  # fmt: skip
_IN_PLACE = {operator.iadd: "+=", operator.isub: "-=", operator.imul: "*=", operator.itruediv: "/="}
_OF_NUMBERS = (operator.add, operator.sub, operator.mul, operator.floordiv, *COMPARE)
_NUMBER_FIRST = (operator.add, operator.sub, operator.mul, operator.truediv, *COMPARE)
_NUMBER_SECOND = (*_NUMBER_FIRST, operator.floordiv, operator.mod, operator.pow)
_OF_NUMBERS_ALONE = (torch.tensor, torch.as_tensor)
_TYPES = {torch.Tensor: "Tensor", torch.nn.Parameter: "Tensor", int: "int", float: "float", bool: "bool"}
_PLAIN_RESULTS = (torch.Tensor, int, bool)  # that may leave a graph
_ATTRIBUTES = ("shape", "T", "mT", "H", "mH")
_MAX = 1 << 31
_TRACED = re.compile(r"\btraced_\d+\b")  # names of traced functions


class _NoText(Exception):
    pass


_unwanted = {id(function) for function in (*OF_CONTENTS, *EMPTY)}


def is_wanted(node, values):
    """Whether a call may be part of a compiled graph: it has a text that means the same, of operators that the table knows,
    and a result that is a tensor or a number."""
    result = values.get(node.register)
    if node.function is torch.Tensor.add_ and node.effect:
        return False  # a graph that writes to what it was given knows less of it
    if node.function is REQUIRES_GRAD:
        return False
    if node.function is torch.randint_like:
        return False  # Python's asks no autograd, which has no derivative of it
    if id(node.function) in _unwanted:
        return False  # a number of the language that may be of several types; memory that is yet to be written
    if (
        (is_of_numbers(node.function) and not is_of_sizes(node))
        or node.function in _OF_NUMBERS_ALONE
        or node.ends_casts
    ):
        return False  # the language computes on where Python raises
    if result is None or not (type(result.object) in _kinds_of_results(node) or has_names(result.object)):
        return False
    inputs = list(dict.fromkeys(refs_of(node.arguments)))
    text = _text_of_graph([node], inputs, [] if result.object is None else [node.register], values)
    return text is not None and _knows(text, node.is_random, node.function is GRAD)


def _kinds_of_results(node):
    if node.function is operator.setitem:
        return (type(None),)
    if node.written is not None:
        return (torch.Tensor, torch.nn.Parameter)
    return (*_PLAIN_RESULTS, torch.Size, tuple, list, *((float,) if is_of_sizes(node) else ()))


def _type_of(object):
    """The type of a graph's input; of what is no plain result, as far as a call needs to be understood."""
    if type(object) is torch.Size:
        return "List[int]"
    return "List[Tensor]" if is_of_tensors(object) and not is_tensor(object) else _TYPES.get(type(object))


@functools.lru_cache(4096)
def _knows(text, may_be_random, differentiates):
    """Whether the table knows all operators of a graph, but for those that its constants rule out."""
    function = _compiled.__wrapped__(text, True)
    if function is None:
        return False
    graph = function.inlined_graph
    if any(node.inputsAt(0).type().kind() == "BoolType" for node in graph.findAllNodes("aten::Int")):
        return False  # in the language a bool is an int where an operator takes any number
    known = {"aten::grad"} if differentiates else set()
    if _C._unknown_operators(graph, may_be_random) <= known:
        return True
    passes.constant_propagation(graph)
    passes.peephole(graph)
    return _C._unknown_operators(graph, may_be_random) <= known


def pays(nodes, values):
    return sum(is_tensor(values[node.register].object) for node in nodes) >= MIN_CALLS


def compile_nodes(nodes, inputs, outputs, values, is_exact):
    """The function `inputs -> outputs` (registers; several outputs are a tuple); None if it can't be compiled."""
    text = _text_of_graph(nodes, inputs, outputs, values)
    return None if text is None else _compiled(text, is_exact)


def _text_of_graph(nodes, inputs, outputs, values):
    names = {register: f"v{i}" for i, register in enumerate([*inputs, *(node.register for node in nodes)])}
    types = [_type_of(values[register].object) for register in inputs]
    if None in types:
        return None
    for node in nodes:
        if node.written is not None:
            names[node.register] = names[node.written]  # the same tensor
    parameters = ", ".join(f"{names[r]}: {kind}" for r, kind in zip(inputs, types, strict=True))
    lines, grad_mode = [f"def graph({parameters}):"], None
    gradients = {node.register for node in nodes if node.function is GRAD}
    try:
        for node in nodes:
            if node.grad_mode is not grad_mode and node.grad_mode is not None:
                lines.append(f"    with torch.{'enable' if node.grad_mode else 'no'}_grad():")
            grad_mode = node.grad_mode
            indent = "    " if grad_mode is None else "        "
            lines += [f"{indent}assert {names[register]}.dim() > 0" for register in _index_tensors(node, values)]
            *checks, text = _statements(node, values, names)
            lines += [indent + check for check in checks]
            if node.function is operator.getitem and node.arguments[0].register in gradients:
                target, _, element = text.partition(" = ")
                text = f"{target} = torch.jit._unwrap_optional({element})"
            lines.append(indent + text)
    except _NoText:
        return None
    lines.append(f"    return {', '.join(names[register] for register in outputs)}\n")
    return "\n".join(lines)


def _statements(node, values, names):
    name = names.__getitem__
    if node.function is copy_fitting:
        out, value = (names[argument.register] for argument in node.arguments)
        return [
            f"assert {out}.shape == {value}.shape and {out}.dtype == {value}.dtype",
            f"{names[node.register]} = {out}.copy_({value})",
        ]
    if node.function is operator.setitem:
        container, index, value = node.arguments
        if _kind(value, values) not in (torch.Tensor, int, float):
            raise _NoText
        element = _item(node, [name(container.register)], values, name)
        return [f"{element} = {_argument(value, name)}"]
    if node.function in _IN_PLACE:
        if _kind(node.arguments[1], values) not in (torch.Tensor, int, float):
            raise _NoText
        return [f"{names[node.register]} {_IN_PLACE[node.function]} {_argument(node.arguments[1], name)}"]
    return [f"{names[node.register]} = {_text_of(node, values, name)}"]


@functools.lru_cache(256)
def _compiled(text, is_exact):
    unit = _C._CompilationUnit()
    try:
        traced = {name: traced_functions[name] for name in _TRACED.findall(text)}
        unit.define(text, "", {"torch": torch, "F": F, "math": math, **traced})
        function = unit.find_function("graph")
        _ = function.graph  # errors of the body come now
    except RuntimeError as error:
        _frames.raise_of_handler(error)
        return None
    if is_exact:
        function._keep_exact()
    return function


class Phases:
    """The calls of a segment in an order in which as many as possible are in compiled graphs. A phase is of one kind: calls
    of the plan, or a graph that is called in one of `modes`; the kinds follow each other round and round, and each call is in
    the first phase of its kind after what it takes. `whole`: graphs are to have all calls that compute tensors."""

    def __init__(self, segment, whole=False):
        self.segment, self.whole = segment, whole
        self.values = segment.recorder.values
        self.of = {}  # register -> phase
        self.results_taken = {}  # register of a call -> those of what it takes
        self.apart = self.find_apart()
        modes_of = self.find_modes()
        self.modes = list(dict.fromkeys(modes_of.values()))
        self.kind_of_graph = {register: 1 + self.modes.index(modes) for register, modes in modes_of.items()}
        # What is written to may be seen under many names, casts are kept until their mode ends, and a tape is freed by the
        # last who goes along it: then calls stay in the program's order.
        self.in_order = sum(node.is_random for node in segment.nodes) > 1 or any(
            node.written is not None
            or node.ends_casts
            or node.function is GRAD
            or (node.effect and node not in self.apart)
            for node in segment.nodes
        )
        wanted = {node.register for node in segment.nodes if is_wanted(node, self.values)}
        self.leaves = leaves_of(segment)
        wanted -= self.leaves
        while True:
            self.assign(wanted)
            refused = self.refused(wanted)
            if not refused:
                break
            wanted -= refused
        self.wanted = wanted

    def find_modes(self):
        """The modes of the graph that a call may be in, by register. Calls on tensors have them, what asks for parts and
        sizes is in the modes of the call before it."""
        first = next((node for node in self.segment.nodes if self.is_on_tensors(node)), None)
        modes = None if first is None else first.modes
        found = {}
        for node in self.segment.nodes:
            if self.is_on_tensors(node):
                modes = node.modes
            found[node.register] = modes
        return found

    def is_on_tensors(self, node):
        result = self.values.get(node.register)
        is_part = node.step is None or node.step[0] == "Item"
        return not is_part and is_of_tensors(getattr(result, "object", 0))

    def assign(self, wanted):
        self.of, last = {}, 0
        num_kinds = 1 + len(self.modes)
        for node in self.segment.nodes:
            kind = self.kind_of_graph[node.register] if node.register in wanted else 0
            phase = kind
            if self.in_order and node not in self.apart:
                phase = max(phase, last + (kind - last) % num_kinds)
            for register in self.taken(node):
                before = self.of.get(register)
                if before is not None:
                    phase = max(phase, before + (kind - before) % num_kinds)
            self.of[node.register] = phase
            if node not in self.apart:
                last = phase

    def find_apart(self):
        """Calls with effects that only write to what no other call takes. What the plan is given may be of the same memory in
        another call, which shows if it writes to that."""
        if self.segment.recorder.last_save is not None:
            return set()
        with_effects = [
            node for node in self.segment.nodes if node.effect and type(node.function) is not Checkpointed
        ]  # which may draw random numbers besides
        takers = collections.Counter()  # memory -> calls
        for node in self.segment.nodes if with_effects else ():
            taken = {register for register in refs_of(node.arguments) if is_tensor(self.values[register].object)}
            takers.update({self.memory_of(register) for register in taken})
        return {node for node in with_effects if all(takers[self.memory_of(register)] == 1 for register in node.effect)}

    def memory_of(self, register):
        return self.values[register].object.untyped_storage()._cdata

    def taken(self, node):
        """The calls whose results it takes, also in containers."""
        found = self.results_taken.get(node.register)
        if found is None:
            found = self.segment.results_in(reads_of(node.step)) if node.step is not None else ()
            self.results_taken[node.register] = found
        return found

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
            is_plain = type(self.values[register].object) in _PLAIN_RESULTS
            if (leaves and not is_plain) or not (
                leaves or used_by[register] or node.written is not None or node.effect is not None
            ):
                found.add(register)
            elif any(not self.may_enter(taken, node) for taken in self.taken(node)):
                found.add(register)
        for nodes in members.values():
            if not self.whole and not pays(nodes, self.values):
                found.update(node.register for node in nodes)
        return found

    def require_graphs(self):
        """Raises NotAGraph for the first call that computes tensors and is in no graph."""
        require_wanted(self.segment, self.wanted, self.leaves)

    def may_enter(self, register, node):
        """Whether a call's result can be in the graph of another call: as an input, if it is not made there."""
        return type(self.values[register].object) in _TYPES or self.of[register] == self.of[node.register]

    def in_turn(self):
        """(whether the phase is a graph, the modes of the graph, calls), in order."""
        members = collections.defaultdict(list)
        for node in self.segment.nodes:
            members[self.of[node.register]].append(node)
        for phase, nodes in sorted(members.items()):
            kind = phase % (1 + len(self.modes))
            yield kind > 0, self.modes[kind - 1] if kind else None, nodes


def leaves_of(segment):
    """The registers of tensors that are to be leaves, or that a Function has made of what it was given: each is an object of its
    own, or a view, which a graph might not make."""
    leaves = {node.written for node in segment.nodes if node.function is REQUIRES_GRAD}
    return leaves | segment.recorder.eager


def require_wanted(segment, wanted, leaves):
    """Raises NotAGraph for the first call that computes tensors and is not among those that graphs have (the registers `wanted`).
    Beside graphs are calls that take no tensors, those that count calls of modules, and parts of what graphs return."""
    values = segment.recorder.values

    def is_of_tensors_at(register):
        return is_of_tensors(getattr(values.get(register), "object", 0))

    for node in segment.nodes:
        is_part = node.step is not None and node.step[0] == "Item"
        if (
            is_part
            or type(node.function) in (Applied, Checkpointed, Reentrant)
            or not (node.written is not None or is_of_tensors_at(node.register))
            or (node.function is torch.Tensor.add_ and node.effect)
        ):
            continue
        takes_tensors = node.arguments and any(map(is_of_tensors_at, refs_of(node.arguments)))
        is_leaf = node.function in (REQUIRES_GRAD, begin_tape, _C._as_gradients) or node.register in leaves
        if node.register not in wanted and takes_tensors and not is_leaf:
            raise refusal_of(node, values)


def require_wanted_so_far(recorder):
    """The same of what a recorder has, before its end, where calls may still turn out to be in no graph."""
    segment = Segment(recorder, list(recorder.steps), [], recorder.options.dynamic, False)
    wanted = {node.register for node in segment.nodes if is_wanted(node, recorder.values)}
    require_wanted(segment, wanted, leaves_of(segment))


def refusal_of(node, values):
    name = node.method or getattr(node.function, "__name__", type(node.function).__name__)
    kind = type(values[node.register].object)
    computes = node.written is not None or is_of_tensors(getattr(values.get(node.register), "object", 0))
    if computes and kind not in _PLAIN_RESULTS and is_wanted(node, values):
        return NotAGraph(f"the whole {kind.__name__} that {name} returns", node.register)
    return NotAGraph(f"a call of {name}, which compiled graphs have not", node.register)


def steps_with_graphs(segment, recorded, whole=False):
    """The plan's steps with calls of compiled graphs; None if none is worth it. And the number of their calls. Where
    operators are transformed, they are the recorded ones, for just such calls. `whole`: all that compute tensors are in graphs,
    or NotAGraph."""
    phases = Phases(segment, whole)
    if whole and not _C._is_transformed():
        phases.require_graphs()
    if not phases.wanted:
        return None, 0
    if _C._is_transformed():
        return recorded + (segment.pins if segment.dynamic is False else []) + guard(segment, True), 0
    steps = Steps(segment)
    for is_graph, modes, nodes in phases.in_turn():
        if is_graph and not steps.add_graph(nodes, phases, modes):
            if whole:
                raise refusal_of(nodes[0], phases.values)
            return None, 0
        if not is_graph:
            for node in nodes:
                steps.add(node.step)
    steps.finish()
    return segment.without_unused(steps.steps), len(phases.wanted)


def guard(segment, expected):
    """Steps that check whether operators are transformed."""
    if not expected:
        return [("CheckZero", -1, -1, -1, _C._is_transformed, ())]
    function, answer = segment.recorder.new_register(), segment.recorder.new_register()
    return [
        ("LoadConst", function, -1, -1, _C._is_transformed, ()),
        ("Call", answer, function, -1, None, ()),
        ("CheckIs", -1, answer, -1, True, ()),
    ]


class Steps:
    """A plan's steps while they are put in order: what a step reads that is made of intermediate results comes before it."""

    def __init__(self, segment):
        self.segment = segment
        self.is_exact = "exact" in (segment.recorder.options.numerics, options.numerics)
        outside = (
            segment.outside if segment.recorder.last_save is None else joined_saves(segment.recorder, segment.outside)
        )
        self.steps = [*outside, *segment.pins, *guard(segment, False)]
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

    def add_graph(self, nodes, phases, modes):
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
        outputs = [
            node.register for node in nodes if node.register in elsewhere and node.function is not operator.setitem
        ]
        function = compile_nodes(nodes, list(inputs), outputs, phases.values, self.is_exact)
        if function is None:
            return False
        recorder = self.segment.recorder
        if modes is not None:
            function = _C._CallInModes(function, modes)
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
    if is_of_sizes(node):
        return f"math.sqrt({arguments[0]})" if node.function is math.sqrt else f"({arguments[0]} ** {arguments[1]})"
    if node.function in _INFIX:
        return _operator(node, arguments, values)
    if node.function is len:
        return f"len({arguments[0]})"
    if node.function is operator.neg:
        return f"-{arguments[0]}"
    if node.function is getattr:
        if node.arguments[1] not in _ATTRIBUTES:
            raise _NoText
        return f"{arguments[0]}.{node.arguments[1]}"
    count = len(arguments) - len(node.names)
    if node.function is GRAD:
        arguments = [
            f"torch.jit.annotate(List[Optional[Tensor]], {text})" if key == "grad_outputs" and text != "None" else text
            for key, text in zip(node.names, arguments, strict=True)
        ]
    named = [f"{key}={text}" for key, text in zip(node.names, arguments[count:], strict=True)]
    if node.method is not None:
        if not isinstance(node.arguments[0], Ref):
            raise _NoText
        return f"{arguments[0]}.{node.method}({', '.join(arguments[1:count] + named)})"
    if is_traced(node.function):
        return f"{node.function.name}({', '.join(arguments)})"
    function = getattr(node.function, "__name__", "")
    for prefix, owner, start in (*OWNERS, ("torch.autograd", torch.autograd, "")):
        if getattr(owner, function.removeprefix(start), None) is node.function:
            return f"{prefix}.{function.removeprefix(start)}({', '.join(arguments[:count] + named)})"
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
    elif torch.Size in (left, right) and all(_is_of_ints(argument, values) for argument in node.arguments):
        allowed = (operator.eq, operator.ne)
    else:
        raise _NoText
    if node.function not in allowed:
        raise _NoText
    return f"({arguments[0]} {_INFIX[node.function]} {arguments[1]})"


def _is_of_ints(argument, values):
    """Whether it is a size, or a tuple of ints."""
    if type(argument) is tuple:
        return len(argument) > 0 and all(_kind(each, values) is int for each in argument)
    return _kind(argument, values) is torch.Size


def _is_small(argument):
    """Numbers of the language have 64 bits: only small constants and sizes, and what is computed of them."""
    return isinstance(argument, Ref) or abs(argument) < _MAX


def _item(node, arguments, values, name):
    kind = _kind(node.arguments[0], values)
    index = node.arguments[1]
    is_part = kind is not None and issubclass(kind, (tuple, list))  # also of what an operator returns under a name
    if is_part and type(index) is int:
        return f"{arguments[0]}[{index}]"
    parts = index if type(index) is tuple else (index,)
    if kind is not torch.Tensor or not parts or not all(_is_index(part, values) for part in parts):
        raise _NoText
    return f"{arguments[0]}[{', '.join(_argument(part, name) for part in parts)}]"


def _is_index(part, values):
    if part is None or part is Ellipsis or isinstance(part, slice):
        return True
    return _kind(part, values) is int or _is_index_tensor(part, values)


def _is_index_tensor(part, values):
    """Eager PyTorch takes a tensor without dimensions for a number, so that the result is a view: the graph asserts that it
    is none (`_text_of_graph`)."""
    return _kind(part, values) is torch.Tensor and values[part.register].object.dim() > 0


def _index_tensors(node, values):
    if node.function not in (operator.getitem, operator.setitem):
        return []
    index = node.arguments[1]
    parts = index if type(index) is tuple else (index,)
    return [part.register for part in parts if isinstance(part, Ref) and _is_index_tensor(part, values)]


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
