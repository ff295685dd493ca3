"""Rewriting of graphs by example: where a graph has what a pattern shows, a replacement takes its place."""

import torch

from . import _C
from ._errors import UserError

_MODULE = "match::module"


def rewrite(graph, pattern, replacement, locations=()):
    """Replaces each part of ``graph`` that looks like ``pattern`` by ``replacement``. Returns how many there were.

    Both are graphs, or their text; inputs and outputs correspond by position. Nodes match that are of the same kind and
    have the same attributes and constants, and the pattern's inputs match any value. What a pattern computes on the way
    must have no use outside of it, and nothing between the pattern's nodes may write to memory that one of them reads or
    writes. Parts that share nodes are replaced once, the first of them. In a pattern,
    ``%conv = match::module[name="Conv2d"](%self)`` is a submodule whose class is called so; what is found stays where it is
    used elsewhere, too.

    What is put in stands where the last node of the part stood in its source, unless ``locations`` says otherwise: pairs of
    a name in ``replacement`` and the name in ``pattern`` of the value whose place it gets.

    >>> cresset.passes.rewrite(f.graph, '''
    ... graph(%x, %y, %one):
    ...   %a = aten::mul(%x, %y)
    ...   %b = aten::add(%a, %y, %one)
    ...   return (%b)''', '''
    ... graph(%x, %y, %one):
    ...   %b = my::mul_add(%x, %y, %one)
    ...   return (%b)''')
    """
    return rewrite_where(None, graph, pattern, replacement, locations)


def rewrite_where(accepts, graph, pattern, replacement, locations=()):
    """:func:`rewrite`, of those parts of which ``accepts`` holds: a function of the graph's values by the pattern's names."""
    pattern, replacement = _graph(pattern), _graph(replacement)
    outputs = list(pattern.outputs())
    nodes = list(pattern.nodes())
    if len(list(pattern.inputs())) != len(list(replacement.inputs())) or len(outputs) != len(
        list(replacement.outputs())
    ):
        raise ValueError("the pattern and its replacement must have the same numbers of inputs and outputs")
    if not nodes or not outputs or outputs[0].node().kind() in ("prim::Param", "prim::Constant"):
        raise ValueError("the first output of a pattern must be what one of its nodes computes")
    if any(list(node.blocks()) for node in nodes):
        raise ValueError("patterns have no branches and loops")
    used = {value.debugName() for node in nodes for value in node.inputs()}
    unbound = [value.debugName() for value in pattern.inputs() if value.debugName() not in used]
    if unbound:
        raise ValueError(f"the pattern does not use its input %{unbound[0]}, so that nothing says what it is")
    locations = [(str(ours), str(theirs)) for ours, theirs in locations]
    made = {value.debugName() for node in replacement.nodes() for value in node.outputs()}
    known = {value.debugName() for node in nodes for value in (*node.inputs(), *node.outputs())}
    for ours, theirs in locations:
        if ours not in made:
            raise ValueError(f"locations: no node of the replacement computes %{ours}")
        if theirs not in known:
            raise ValueError(f"locations: the pattern has no value %{theirs}")
    count = 0
    for block in _blocks(graph.block()):
        for node in list(block.nodes()):
            if node.isErased():
                continue
            match = _Match(graph, pattern, nodes)
            if match.match(outputs[0], node) and (accepts is None or accepts(match.values)):
                match.replace(replacement, locations)
                count += 1
    return count


def _graph(graph):
    return _C.parse_ir(graph) if isinstance(graph, str) else graph


def _blocks(block):
    yield block
    for node in block.nodes():
        for inner in node.blocks():
            yield from _blocks(inner)


class _Match:
    """One place of the graph, and what it is in the pattern."""

    def __init__(self, graph, pattern, nodes):
        self._graph = graph
        self._pattern = pattern
        self._pattern_nodes = nodes
        self._memory = None
        self.values = {}  # name of a value of the pattern: value of the graph
        self._nodes = {}  # position of a node of the pattern: node of the graph
        self._position = {node: i for i, node in enumerate(nodes)}

    def match(self, output, node):
        """Whether the node computes what `output` is in the pattern, and the rest is there too."""
        self._block = node.owningBlock()
        return (
            self._match_node(output.node(), node) and len(self._nodes) == len(self._pattern_nodes) and self._is_closed()
        )

    def _match_value(self, expected, value):
        known = self.values.get(expected.debugName())
        if known is not None:
            return known == value
        producer = expected.node()
        if producer.kind() != "prim::Param":
            node = value.node()
            if node.kind() == "prim::Param" or not self._match_node(producer, node):
                return False
            known = self.values.get(expected.debugName())
            return known is not None and known == value
        self.values[expected.debugName()] = value
        return True

    def _match_node(self, expected, node):
        position = self._position[expected]
        if position in self._nodes:
            return self._nodes[position] == node
        is_constant = node.kind() == "prim::Constant"  # stands at the start of the graph, and for all blocks
        is_module = expected.kind() == _MODULE
        if (
            not (_is_module(node, expected["name"]) if is_module else expected.kind() == node.kind())
            or (not is_constant and node.owningBlock() != self._block)
            or expected.inputsSize() != node.inputsSize()
            or expected.outputsSize() != node.outputsSize()
            or list(node.blocks())
            or not (is_module or _same_attributes(expected, node))
        ):
            return False
        self._nodes[position] = node
        for theirs, ours in zip(expected.outputs(), node.outputs()):
            self.values[theirs.debugName()] = ours
        return all(self._match_value(theirs, ours) for theirs, ours in zip(expected.inputs(), node.inputs()))

    def _is_closed(self):
        """Whether nothing else needs what is computed on the way, and the nodes could as well stand together."""
        kept = {output.debugName() for output in self._pattern.outputs()}
        inside = set(self._nodes.values())
        for position, node in self._nodes.items():
            if node.kind() == "prim::Constant" or self._pattern_nodes[position].kind() == _MODULE:
                continue
            for theirs, ours in zip(self._pattern_nodes[position].outputs(), node.outputs()):
                if theirs.debugName() in kept:
                    continue
                if any(use.user not in inside for use in ours.uses()):
                    return False
        return self._can_move_to_last(inside)

    def _can_move_to_last(self, inside):
        computed = [node for node in self._nodes.values() if node.kind() != "prim::Constant"]
        self._last = computed[0]
        for node in computed[1:]:
            if node.isAfter(self._last):
                self._last = node
        if len(computed) == 1:
            return True
        # What uses a result must come after the replacement, and what it reads must not change on the way there.
        for node in computed:
            for output in node.outputs():
                if any(use.user not in inside and use.user.isBefore(self._last) for use in output.uses()):
                    return False
        if not any(_is_nondeterministic(node) for node in computed) and not any(
            self._has_writers(value) for node in computed for value in (*node.inputs(), *node.outputs())
        ):
            return True
        first = next(node for node in computed if not any(other.isBefore(node) for other in computed))
        node = first
        while node != self._last:
            if node not in inside and node.kind() not in ("prim::Constant", "prim::GetAttr"):
                return False
            node = node.next()
        return True

    def _has_writers(self, value):
        if self._memory is None:
            try:
                self._memory = self._graph.alias_db()
            except UserError:  # a graph with operators that only its reader knows, which may write to anything
                return True
        return self._memory.has_writers(value)

    def replace(self, replacement, locations):
        inputs = [self.values[value.debugName()] for value in self._pattern.inputs()]
        outputs = [self.values[value.debugName()] for value in self._pattern.outputs()]
        place = self._last.next()
        before = place.prev()
        with self._graph.insert_point_guard(place):
            made = self._graph.insertGraph(replacement, inputs)
        taken = {ours: self.values[theirs].node() for ours, theirs in locations}
        node = before.next()
        for shown in replacement.nodes():
            names = [output.debugName() for output in shown.outputs()]
            node.copyMetadata(next((taken[name] for name in names if name in taken), self._last))
            node = node.next()
        for old, new in zip(outputs, made):
            old.replaceAllUsesWith(new)
        for position in sorted(self._nodes, reverse=True):  # a pattern's nodes stand before those that use them
            node = self._nodes[position]
            if not node.isErased() and not node.hasUses():  # one constant may stand for several of the pattern's
                node.destroy()


def _is_module(node, name):
    """Whether the node reads a submodule whose class has that name, or one that ends so: `conv.Conv2d`."""
    if node.kind() != "prim::GetAttr" or node.output().type().kind() != "ClassType":
        return False
    return ("." + str(node.output().type())).endswith("." + name)


def _is_nondeterministic(node):
    try:
        return node.isNondeterministic()
    except UserError:  # an operator that only the graph's reader knows
        return True


def _same_attributes(expected, node):
    names = expected.attributeNames()
    if sorted(names) != sorted(node.attributeNames()):
        return False
    for name in names:
        if expected.kindOf(name) != node.kindOf(name):
            return False
        a, b = expected[name], node[name]
        if isinstance(a, torch.Tensor):
            if not isinstance(b, torch.Tensor) or a.dtype != b.dtype or not torch.equal(a, b):
                return False
        elif type(a) is not type(b) or a != b:
            return False
    return True
