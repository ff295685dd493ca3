"""Graphs of what transforms of torch.func compute, made by tracing a call (decision 5), for `_recording_traces.py`.

A trace has all sizes as they were. Made plainer are writes that only change how a tensor is seen (`squeeze_`), and tensors without
memory that stand for zeros: torch.func makes these for derivatives that are none, operators of its own choice skip them, and compiled
kernels could not read them.
"""

import warnings

import torch

from . import _C, passes

#: What returns such a tensor for such a one, beside views.
_LIKE_VIEWS = ("aten::alias", "aten::contiguous", "aten::reshape", "aten::detach", "aten::expand_as", "aten::view_as")


def leaves_of(result):
    """The tensors in a result, in order."""
    if isinstance(result, torch.Tensor):
        return [result]
    parts = result.values() if type(result) is dict else result if type(result) in (tuple, list) else ()
    return [leaf for part in parts for leaf in leaves_of(part)]


def trace(call, tensors):
    """A trace of what a call computes of tensors, and its results."""
    recording = _C._Trace(trace.__code__, False)
    for i, tensor in enumerate(tensors):
        recording.add_input(f"v{i}", tensor)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = recording.run(lambda: tuple(leaves_of(call())))
    recording.finish(results[0] if len(results) == 1 else results, False)
    _without_writes_to_sizes(recording.graph())
    _without_zero_tensors(recording.graph())
    return recording, results


def _is_view(kind):
    return kind in _LIKE_VIEWS or _C._memory_of_calls(kind) == "view"


def _replace(graph, node, kind, arguments):
    with graph.insert_point_guard(node):
        made = graph.insert(kind, arguments)
    made.setTypeAs(node.output())
    node.output().replaceAllUsesWith(made)
    node.destroy()
    return made


def _without_writes_to_sizes(graph):
    """What a trace knows a tensor by is its latest value, so that nothing reads the one from before such a write."""
    for node in list(graph.nodes()):
        kind = node.kind()
        if kind.endswith("_") and kind != "aten::detach_" and _is_view(kind[:-1]):
            _replace(graph, node, kind[:-1], list(node.inputs()))


def _without_zero_tensors(graph):
    zeros = {}  # by name: values that are such tensors
    for node in list(graph.nodes()):
        kind, inputs = node.kind(), list(node.inputs())
        if kind == "aten::_efficientzerotensor":
            zeros[node.output().debugName()] = node.output()
            continue
        are_zeros = [value.debugName() in zeros for value in inputs]
        if not any(are_zeros):
            continue
        both = are_zeros[0] and len(inputs) > 1 and are_zeros[1]
        is_sum = kind in ("aten::add", "aten::sub")
        is_zero = (
            kind == "aten::mul"
            or (kind == "aten::div" and not both and are_zeros[0])
            or (is_sum and both)
            or _is_view(kind)
        )
        if is_zero:
            zeros[node.output().debugName()] = node.output()
        elif is_sum and (kind == "aten::add" or are_zeros[1]) and _is_one_of_one_type(node, inputs[are_zeros[0]]):
            _replace(graph, node, "aten::clone", [inputs[are_zeros[0]]])
        else:
            for place, is_zero in enumerate(are_zeros):
                if is_zero:
                    node.replaceInput(place, _as_memory(graph, node, inputs[place]))
    for value in graph.outputs():
        if value.debugName() in zeros:
            raise ValueError("zeros without memory")
    for value in reversed(zeros.values()):
        value.node().destroy()
    passes.dce(graph)


def _is_one_of_one_type(node, operand):
    """Whether a sum with zeros is a copy of its other operand."""
    result, operand = node.output().type(), operand.type()
    is_plain = node.inputsSize() < 3 or node.inputsAt(2).toIValue() == 1
    return is_plain and result.sizes() == operand.sizes() and result.dtype() == operand.dtype()


def _as_memory(graph, node, value):
    kind = value.type()
    if kind.sizes() is None or kind.dtype() is None:
        raise ValueError("zeros of an unknown kind")
    with graph.insert_point_guard(node):
        made = graph.insert("aten::zeros", [kind.sizes()], {"dtype": kind.dtype()})
    return made.setTypeAs(value)
