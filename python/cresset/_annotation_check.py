"""Annotations in a module's ``__init__`` that no engine reads, where they would matter: a warning says so."""

import ast
import inspect
import textwrap
import warnings

_EMPTY = {
    "List": lambda node: isinstance(node, ast.List) and not node.elts,
    "Dict": lambda node: isinstance(node, ast.Dict) and not node.keys,
    "Optional": lambda node: isinstance(node, ast.Constant) and node.value is None,
}
_EMPTY["list"], _EMPTY["dict"] = _EMPTY["List"], _EMPTY["Dict"]


def warn_of_annotations(module):
    """Warns if the class's ``__init__`` annotates an attribute whose empty value does not show its type.

    ``self.names: List[str] = []`` says something to people only: Python evaluates and drops it. What the class body
    annotates is read.
    """
    cls = type(module)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls.__init__)))
    except (OSError, TypeError, SyntaxError):  # no source, or none that stands by itself
        return
    read = {name for base in cls.__mro__ for name in vars(base).get("__annotations__", ())}
    if any(_is_lost(node, read) for node in ast.walk(tree)):
        warnings.warn(
            "The TorchScript type system doesn't support instance-level annotations on empty non-base types in "
            "`__init__`. Instead, either 1) use a type annotation in the class body, or 2) wrap the type in "
            "`cresset.Attribute`.",
            stacklevel=4,
        )


def _is_lost(node, read):
    if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Attribute):
        return False
    owner, annotation = node.target.value, node.annotation
    if not isinstance(owner, ast.Name) or owner.id != "self" or node.target.attr in read:
        return False
    if not isinstance(annotation, ast.Subscript) or not isinstance(annotation.value, ast.Name):
        return False
    is_empty = _EMPTY.get(annotation.value.id)
    return is_empty is not None and node.value is not None and is_empty(node.value)
