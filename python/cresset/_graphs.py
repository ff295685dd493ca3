"""Graphs from text, and arguments that have to be graphs."""

import re

import torch

from . import _C
from ._errors import UserError

_LEFT_OUT = re.compile(r"prim::Constant\[value=<Tensor>\]\(\)")


def checked(graph):
    """The graph, if it is one."""
    if isinstance(graph, _C.Graph):
        return graph
    kind = type(graph)
    if isinstance(getattr(graph, "graph", None), _C.Graph):
        advice = f"; pass the .graph of the {kind.__name__}"
    elif isinstance(graph, torch._C.Graph):
        advice = ": this one is torch.jit's; cresset.parse_ir(str(graph)) makes one of it"
    else:
        advice = ", as cresset.script(f).graph is one"
    raise UserError(f"Passes take a cresset.Graph, got {kind.__module__}.{kind.__qualname__}{advice}")


def parse_ir(text, parse_tensor_constants=False):
    """The Graph that the text form of the IR says. Raises, naming the line, if it is malformed.

    Args:
        text: as ``str(graph)`` prints it.
        parse_tensor_constants: texts leave tensors of more than one element out, as ``<Tensor>``, which raises; if True,
            such a constant is a tensor of zeros of the dtype and sizes that its type says.
    """
    if not parse_tensor_constants:
        return _C.parse_ir(text)
    graph = _C.parse_ir(_LEFT_OUT.sub("cresset::left_out()", text))
    for node in list(graph.findAllNodes("cresset::left_out")):
        _fill_in(graph, node)
    return graph


def _fill_in(graph, node):
    output = node.output()
    kind, name = output.type(), output.debugName()
    sizes, dtype = (kind.sizes(), kind.dtype()) if kind.kind() == "TensorType" else (None, None)
    if sizes is None or dtype is None:
        raise UserError(
            f"the constant %{name} was left out of the text: its type must have dtype and sizes, such as Float(2, 3)"
        )
    with graph.insert_point_guard(node):
        constant = graph.insertConstant(torch.zeros(sizes, dtype=dtype))
    constant.setType(kind)
    output.replaceAllUsesWith(constant)
    node.destroy()
    constant.setDebugName(name)
