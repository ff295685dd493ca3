"""The graphs of a tensor program, handled as passes handle them.

Observed: graphs run so that every value and every write is seen (cresset._C._Observer), as they are and optimized; what
happened and was not reported by the alias analysis is a difference. How much was reported and never happened is counted.

Moved: nodes go where the alias analysis allows it, many in one graph. Rewritten: passes, each alone and in random
orders, on graphs as they are and with the types of one call's arguments. What such graphs do is compared with what the
graph did before: values, layouts, aliasing, effects, printed text, exceptions, gradients.
"""

import contextlib
import functools
import io
import random
import zlib
from collections import Counter

import torch

import cresset

from .tensor_comparison import ROUNDINGS, difference, is_near
from .tensor_execution import Interpreted, arguments_of, call

#: Passes that keep bits and derivatives: those that may run on any program.
KEEPING = [name.replace("_", "-") for name, keeps in cresset.passes.preserves.items() if keeps == "All"]
ROUNDS = 4  # graphs whose nodes are moved
MOVES = 120  # tries in each
CALLS = 3  # of those that a program has, per changed graph

#: Two nodes that may raise may pass each other; these are no operators, and keep their places.
RAISED = ("stop", "AssertionError")

EFFECTS = ("prim::SetAttr", "prim::Print", "aten::append", "aten::extend", "aten::insert", "aten::pop", "aten::reverse",
           "aten::_set_item", "aten::backward", "aten::grad")  # fmt: skip


class Graphs:
    """A program's functions that are called, as graphs in which their own calls are inlined."""

    def __init__(self, program):
        self.program = program
        self.unit = Interpreted(program)
        self.graphs = {}
        for name in sorted({one.function for one in program.calls}):
            function = self.unit.module.forward if name == "forward" else self.unit.function(name)
            self.graphs[name] = function.graph
            cresset.passes.inline(self.graphs[name])
        # The order of an inner gradient's sums depends on the order in which the forward pass ran.
        self.inner_gradients = any(mark in str(program) for mark in ("autograd.grad(", "backward("))

    def running(self, functions):
        """A unit that has these functions, by name, and a module of its own."""
        return _Unit(cresset.script(self.unit.names["M"]()), functions)

    def outcomes(self, graphs, calls, by_bound=False, rounding=None):
        unit = self.running({name: cresset.function_from_graph(name, graph) for name, graph in graphs.items()})
        return [call(unit, one, by_bound, False, rounding, rounding is not None) for one in calls]


class _Unit:
    def __init__(self, module, functions):
        self.module = module
        self.functions = functions

    def function(self, name):
        function = self.functions[name]
        return (lambda *arguments: function(self.module._c, *arguments)) if name == "forward" else function


# ---- what happens


def observe(graphs, passes, figures):
    """What happens in any call that the analysis did not report; None if it did."""
    observers = {}
    for name, graph in graphs.graphs.items():
        graph = graph.copy()
        run_passes(graph, passes)
        observers[name] = cresset._C._Observer(graph)
    unit = graphs.running({name: observer.function for name, observer in observers.items()})
    for index, one in enumerate(graphs.program.calls):
        _, arguments, state = arguments_of(one)
        with contextlib.redirect_stdout(io.StringIO()), state, contextlib.suppress(Exception):
            unit.function(one.function)(*arguments)
        if faults := observers[one.function].finish():
            return f"call {index}: {faults[0]}"
    for observer in observers.values():
        figures.update(observer.figures())
    return None


# ---- moves


def blocks_of(graph):
    """Lists of nodes that stand in one block."""
    waiting = [list(graph.nodes())]
    while waiting:
        nodes = waiting.pop()
        if len(nodes) > 1:
            yield nodes
        waiting += [list(block.nodes()) for node in nodes for block in node.blocks()]


def aliases_of(graph):
    return graph.alias_db()


def _has_effect(node):
    """Whether it is one of those that most depends on where they stand."""
    return node.kind().endswith("_") or node.kind() in EFFECTS or bool(list(node.blocks()))


def move(graph, rng, limit=MOVES):
    """Tries moves, most of them of or past nodes that have effects; returns those that were valid, in words."""
    aliases = aliases_of(graph)
    blocks = [[node for node in block if node.kind() != "prim::Constant"] for block in blocks_of(graph)]
    blocks = [block for block in blocks if len(block) > 1]
    marked = [[i for i, node in enumerate(block) if _has_effect(node)] for block in blocks]
    done = []
    for _ in range(MOVES if blocks else 0):
        which = rng.choices(range(len(blocks)), [len(block) for block in blocks])[0]
        block = blocks[which]
        first = rng.choice(marked[which] if marked[which] and rng.random() < 0.7 else range(len(block)))
        distance = rng.choice([1, 2, 3, 5, 8, 13, len(block)])
        second = rng.randrange(max(0, first - distance), min(len(block), first + distance + 1))
        first, second = rng.sample([first, second], 2)
        node, place, after = block[first], block[second], first < second or rng.random() < 0.2
        if node == place or len(done) == limit:
            continue
        valid = aliases.move_after_topologically_valid if after else aliases.move_before_topologically_valid
        said = f"{node} {'after' if after else 'before'} {place}"
        if valid(node, place):
            done.append(said)
    graph.lint()
    return done


def moved_difference(graphs, calls, plain, seed, limit=MOVES):
    """How the program differs after moves; None if it doesn't, and the moves."""
    rng = random.Random(seed)
    moved, done = {}, []
    for name, graph in graphs.graphs.items():
        moved[name] = graph.copy()
        done += move(moved[name], rng, limit)
    outcomes = graphs.outcomes(moved, calls, by_bound=True)
    otherwise = functools.cache(
        lambda: [graphs.outcomes(graphs.graphs, calls, by_bound=True, rounding=seed) for seed in range(ROUNDINGS)]
    )
    for index, (before, after) in enumerate(zip(plain, outcomes)):
        if before.kind == after.kind == "error" and not any(
            mark in outcome.message or mark in outcome.value for outcome in (before, after) for mark in RAISED
        ):
            after.value, after.message = before.value, before.message
        if graphs.inner_gradients:
            for part in ("value", "effects", "leaves", "gradients"):
                before_part, after_part = getattr(before, part), getattr(after, part)
                if before_part != after_part and _near(
                    before_part, after_part, [getattr(run[index], part) for run in otherwise()]
                ):
                    setattr(after, part, before_part)
        others = lambda index=index: [run[index].higher for run in otherwise()]  # noqa: E731
        if found := difference(graphs.program, before, after, True, others):
            return f"call {index}: {found}", done
    return None, done


def _near(one, other, others):
    """Whether the two, as seen, are the same but for numbers that are as near as other roundings take them."""
    if one == other or type(one) is not type(other) or not isinstance(one, (list, tuple)) or len(one) != len(other):
        return one == other
    if one[:1] == other[:1] == ("float",):
        numbers = [float(seen[2]) for seen in (one, other, *others) if seen[:1] == ("float",)]
        return is_near(*_as_tensors(numbers))
    if one[:1] == other[:1] == ("Tensor",):
        bits = [seen[7] for seen in (one, other, *others) if seen[:3] == one[:3]]
        return one[1:7] == other[1:7] and isinstance(one[7], str) and is_near(*_decoded(bits, one[1]))
    others = [seen for seen in others if type(seen) is type(one) and len(seen) == len(one)]
    return all(_near(a, b, [seen[index] for seen in others]) for index, (a, b) in enumerate(zip(one, other)))


def _as_tensors(numbers):
    tensors = [torch.tensor(number, dtype=torch.float64) for number in numbers]
    return tensors[0], tensors[1], tensors[2:]


def _decoded(bits, dtype):
    # As tensor_seen writes them.
    dtype = torch.float32 if dtype == "torch.bfloat16" else getattr(torch, dtype.removeprefix("torch."))
    tensors = [torch.frombuffer(bytearray.fromhex(one), dtype=dtype) for one in bits]
    return tensors[0], tensors[1], tensors[2:]


def moves(graphs, calls, rng, figures):
    plain = graphs.outcomes(graphs.graphs, calls, by_bound=True)
    for _ in range(ROUNDS):
        seed = rng.randrange(1 << 30)
        found, done = moved_difference(graphs, calls, plain, seed)
        figures["moves"] += len(done)
        if found:
            least, most = 0, len(done)  # of the moves that make a difference, hardly ever more than one does
            while most - least > 1:
                middle = (least + most) // 2
                if moved_difference(graphs, calls, plain, seed, middle)[0]:
                    most = middle
                else:
                    least = middle
            return f"{found}\nby the last of these moves:\n" + "".join(
                moved_difference(graphs, calls, plain, seed, most)[1]
            )
    return None


# ---- passes


def run_passes(graph, passes):
    """Whether the passes changed the graph."""
    changed = False
    for name in passes:
        changed |= getattr(cresset.passes, name.replace("-", "_"))(graph)
        graph.lint()
    return changed


def orders(rng):
    """Lists of passes: each alone, and random ones."""
    yield from ([name] for name in KEEPING)
    yield [rng.choice(KEEPING) for _ in range(12)]
    yield rng.sample(KEEPING, len(KEEPING)) * 2
    yield KEEPING * 2


def with_types(graph, arguments, is_method):
    """The graph for arguments like these: what passes know of tensors when a plan is made."""
    graph = graph.copy()
    aliases = graph.alias_db()
    for value, argument in zip(list(graph.inputs())[is_method:], arguments):
        if str(value.type()) == "Tensor" and torch.is_tensor(argument) and not aliases.has_writers(value):
            names = {torch.float64: "Double", torch.float32: "Float", torch.int64: "Long", torch.bfloat16: "BFloat16"}
            dtype = names[argument.dtype]
            known = ["*"] * argument.dim() + [f"requires_grad={int(argument.requires_grad)}"]
            value.setType(cresset.parse_type(f"{dtype}({', '.join(known)}, device=cpu)"))
    return graph


def rewrites(graphs, calls, rng, figures):
    """How the program differs after passes; None if it doesn't."""
    found = _rewrites(graphs, graphs.graphs, calls, rng, figures)
    plain = [one for one in calls if not one.state]
    if found or not plain:
        return found
    one = rng.choice(plain)
    _, arguments, _ = arguments_of(one)
    typed = {one.function: with_types(graphs.graphs[one.function], arguments, one.function == "forward")}
    found = _rewrites(graphs, typed, [one], rng, figures)
    return found and f"with types: {found}"


def _rewrites(graphs, starts, calls, rng, figures):
    plain = graphs.outcomes(starts, calls)
    for passes in orders(rng):
        better = {name: graph.copy() for name, graph in starts.items()}
        if not any([run_passes(graph, passes) for graph in better.values()]):
            continue
        figures["rewrites"] += 1
        for index, (before, after) in enumerate(zip(plain, graphs.outcomes(better, calls))):
            if found := difference(graphs.program, before, after, True):
                return f"after {', '.join(passes)}, call {index}: {found}"
    return None


def check(program, send=lambda message: None):
    """The first difference in words, or None, and what was counted."""
    send(("stage", "cresset"))
    figures = Counter()
    mode = cresset.get_execution_mode()
    cresset.set_execution_mode("interpret")
    try:
        try:
            graphs = Graphs(program)
        except cresset.Error:
            return None, ["rejected"]
        rng = random.Random(zlib.crc32(str(program).encode()))
        calls = sorted(rng.sample(range(len(program.calls)), min(CALLS, len(program.calls))))
        calls = [program.calls[index] for index in calls]
        found = observe(graphs, [], figures)
        if found:
            return f"observed: {found}", figures
        if found := observe(graphs, KEEPING * 2, Counter()):
            return f"optimized and observed: {found}", figures
        if found := moves(graphs, calls, rng, figures):
            return f"moved: {found}", figures
        found = rewrites(graphs, calls, rng, figures)
        return found and f"rewritten: {found}", figures
    finally:
        cresset.set_execution_mode(mode)
