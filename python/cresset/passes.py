"""Passes over graphs: ``cresset.passes.inline(graph)`` rewrites the graph in place and returns whether it changed.

``dir(cresset.passes)`` lists them; their names are those that ``cresset-opt --passes`` takes, with underscores.
``preserves`` tells what each keeps. ``options`` watches all passes of the process: dumps, figures, bisection
(docs/passes.md).
"""

import torch

from . import _C
from ._graphs import checked
from ._rewriting import rewrite


def _make(name, description):
    def run(graph):
        return _C._run_pass(name, checked(graph))

    run.__name__ = run.__qualname__ = name.replace("-", "_")
    run.__module__ = __name__
    run.__doc__ = (
        f"{description}.\n\nChanges the graph in place; returns whether it did. Raises if the graph is malformed."
    )
    return run


class options:  # noqa: N801  (used as a function and in `with`, as torch.set_grad_enabled)
    """Sets how passes are watched, for the whole process; ``with options(...):`` sets it back at the end.

    dump: names of passes, or "all", whose graphs are written to stderr before and after they change them.
    disable: names of passes that do nothing.
    fail: names of passes that raise an error: calls run the unoptimized program then, and explain says so.
    limit: after so many runs of passes, none runs any more; the last one that does is named on stderr.
    verify: check the graph after each pass.
    time: keep figures of every run; figures() returns them.

    What is not given is off. The option ``passes`` of cresset.options says the same as text, "dump=cse,time,limit=120".
    """

    def __init__(self, *, dump=(), disable=(), fail=(), limit=None, verify=False, time=False):
        self._before = _C._pass_options()
        names = [[one] if isinstance(one, str) else list(one) for one in (dump, disable, fail)]
        dashed = [[name.replace("_", "-") for name in one] for one in names]
        _C._set_pass_options(*dashed, limit, verify, time)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        _C._set_pass_options(**self._before)


def figures():
    """By pass: runs, changes (runs that changed their graph), nodes_removed, nodes_visited, seconds; since options(time=True)."""
    return _C._pass_figures()


def lower_graph(graph, module=None):
    """A method's graph as a function of tensors: the attributes that it reads become inputs after its own.

    Returns the new graph and the attributes: their paths, or their values in ``module`` if it is given. Raises if the
    method sets an attribute, or uses a module for more than its attributes.
    """
    lowered, paths = _C._lower_graph(checked(graph))
    if module is None:
        return lowered, paths
    values = []
    for path in paths:
        value = module
        for name in path.split("."):
            value = getattr(value, name)
        values.append(value)
    return lowered, values


def erase_shapes(graph, *, keep_inputs=False):
    """Forgets what is known of tensors beyond that they are tensors: their dtypes, sizes, devices, requires_grad.

    ``keep_inputs=True`` leaves what is known of the graph's inputs.
    """
    tensor = _C.parse_type("Tensor")

    def erase(block):
        for value in () if keep_inputs and block == graph.block() else block.inputs():
            _erase(value)
        for node in block.nodes():
            for value in node.outputs():
                _erase(value)
            for inner in node.blocks():
                erase(inner)
            if node.hasAttribute("Subgraph"):
                erase(node.g("Subgraph").block())

    def _erase(value):
        if value.type().kind() == "TensorType":
            value.setType(tensor)

    erase(checked(graph).block())


def decompose(graph):
    """Replaces operators that have no derivative rules by those that they are composed of, which have (docs/operators.md).

    What is known of dtypes and ranks decides: :func:`propagate_types` first. Bits may change. Changes the graph in
    place; returns whether it did.
    """
    return _C._decompose(checked(graph))


def create_autodiff_subgraphs(graph, threshold=2):
    """Puts the parts of the graph through which gradients flow by rules into subgraphs, and returns their nodes,
    ``prim::DifferentiableGraph``.

    Types of tensors must be known: set those of inputs, then :func:`propagate_types`. Parts with fewer than ``threshold``
    operators that have gradients stay as they are. Changes the graph in place.
    """
    _C._create_regions(checked(graph), threshold)
    return graph.findAllNodes("prim::DifferentiableGraph")


def compute_shapes(graph):
    """:func:`propagate_shapes`, and a graph that computes what is not known before a call.

    Returns a graph that takes the sizes of each tensor that comes in, as a list of ints, and the symbols
    (``Type.symbolic_sizes()``) of which its outputs are the numbers. Sizes that depend on more, such as those of ``nonzero``
    or of an int that comes in, are not among them.

    >>> shapes, symbols = cresset.passes.compute_shapes(f.graph)
    >>> shapes.makeMultiOutputIntoTuple()
    >>> sizes = cresset.function_from_graph("sizes", shapes)([4, 3])     # in the order of symbols
    """
    return _C._compute_shapes(checked(graph))


def transpose_linear(graph):
    """Replaces ``linear`` with constant weights by a product with the transposed weights, which bits may depend on.

    Where the bias may be None or a tensor, ``linear`` stays. Changes the graph in place; returns whether it did.
    """
    changed = False
    for node in checked(graph).findAllNodes("aten::linear"):
        x, weight, bias = node.inputs()
        weights = weight.toIValue()
        has_bias = bias.type().kind() == "TensorType"
        if not isinstance(weights, torch.Tensor) or weights.dim() != 2:
            continue
        if not has_bias and bias.type().kind() != "NoneType":
            continue
        with graph.insert_point_guard(node):
            transposed = graph.insertConstant(weights.detach().t().contiguous())
            result = graph.insert("aten::matmul", [x, transposed])
            result.node().copyMetadata(node)
            if has_bias:
                result = graph.insert("aten::add", [result, bias])
                result.node().copyMetadata(node)
        node.output().replaceAllUsesWith(result)
        node.destroy()
        changed = True
    return changed


def lint(graph):
    """Raises if the graph is malformed."""
    checked(graph).lint()


def _texts(left):
    return [f"{operator}{f' ({place})' if place else ''} stays: {reason}" for operator, place, reason in left]


def functionalize(graph, *, distinct_inputs=False):
    """Replaces in-place operators, also on views and in branches and loops, by those that return new tensors.

    Tensors that come in and are written get one copy at the end. Changes the graph in place; returns the writes that stay,
    a text each with the reason (docs/functionalization.md). ``distinct_inputs=True`` promises that tensors which come in
    as different inputs share no memory with each other.
    """
    return _texts(_C._functionalize(checked(graph), distinct_inputs))


def remove_views(graph):
    """Replaces views, and operators that may return a view (``reshape``, ``to``, …), by operators that return new tensors.

    For graphs without mutation, after ``functionalize``: what a program that writes could tell apart stays. Results are no
    views of arguments or of each other then. Changes the graph in place; returns the views that stay, a text each with the
    reason.
    """
    return _texts(_C._remove_views(checked(graph)))


def reinplace(graph, *, distinct_inputs=False):
    """The opposite of functionalize: computes in memory that is not read any more.

    Changes the graph in place; returns whether it did. ``distinct_inputs`` as for functionalize.
    """
    return _C._reinplace(checked(graph), distinct_inputs)


#: What each pass keeps of every execution, beside its meaning: All; Bits (not derivatives); Derivatives (not bits).
preserves = {name.replace("-", "_"): keeps for name, (_, keeps) in _C._passes.items()}

__all__ = [
    "compute_shapes",
    "create_autodiff_subgraphs",
    "decompose",
    "erase_shapes",
    "figures",
    "functionalize",
    "lint",
    "lower_graph",
    "options",
    "preserves",
    "reinplace",
    "remove_views",
    "rewrite",
    "transpose_linear",
]
for _name, (_description, _keeps) in _C._passes.items():
    _function = _make(_name, _description)
    globals()[_function.__name__] = _function
    __all__.append(_function.__name__)
del _name, _description, _keeps, _function
