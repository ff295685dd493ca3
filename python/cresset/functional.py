"""Programs without mutation: ``functionalize`` makes one of a script function or trace, ``writes_left`` tells what stands
against it (docs/functionalization.md)."""

from . import _C, passes
from ._errors import UserError

__all__ = ["functionalize", "writes_left"]


def writes_left(graph, *, distinct_inputs=False):
    """The writes to tensors that ``passes.functionalize`` would leave in the graph, a text each: operator, line, reason.

    The graph is left as it is. Calls are looked into. ``distinct_inputs=True``: tensors that come in as different inputs
    share no memory with each other.
    """
    copy = graph.copy()
    passes.inline(copy)
    return passes.functionalize(copy, distinct_inputs=distinct_inputs)


def functionalize(function, remove="mutations", *, distinct_inputs=False):
    """The same program without in-place operators, as a script function. What it was made of stays as it is.

    function: a script function or a traced function of tensors and other values. Not a method: its module's attributes
        are no arguments. ``graph, _ = cresset.passes.lower_graph(method.inlined_graph)`` makes them inputs, and
        ``cresset.function_from_graph(name, graph)`` a function of that.
    remove: "mutations".
    distinct_inputs: True promises that tensors which are different arguments share no memory with each other. Without
        it, an argument can't be read after another one was written, as both may be the same tensor.

    Results, their strides and what shares memory are those of ``function``, bit for bit; arguments that it writes to get
    one ``aten::copy_`` each. If the program raises, its arguments keep what they held. The new function has no default
    arguments.

    Raises UserError, with a reason for each write that would stay; ``cresset.passes.functionalize(graph)`` removes the
    others. Thread-safe.
    """
    if remove != "mutations":
        what = (
            "views stay where a value is read through them" if remove == "mutations_and_views" else "there is no other"
        )
        raise UserError(f"cresset.functionalize removes mutations only ({what}), so remove={remove!r} can't be had.")
    if not isinstance(function, _C.ScriptFunction) or isinstance(function, _C.ScriptMethod):
        raise UserError(
            f"cresset.functionalize takes a script function or a traced function, not {type(function).__name__}. Pass "
            "cresset.script(f) or cresset.trace(f, example_inputs); of a module's method, "
            "cresset.function_from_graph(name, cresset.passes.lower_graph(method.inlined_graph)[0])."
        )
    graph = function.inlined_graph.copy()
    left = passes.functionalize(graph, distinct_inputs=distinct_inputs)
    if left:
        raise UserError(
            f"Not all mutation can be removed from {function.name}:\n" + "\n".join(f"  {text}" for text in left)
        )
    _C._tidy_functional(graph)
    return _C.function_from_graph(function.name + "_functional", graph)
