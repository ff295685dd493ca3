"""Passes over graphs: ``cresset.passes.inline(graph)`` rewrites the graph in place and returns whether it changed.

``dir(cresset.passes)`` lists them; their names are those that ``cresset-opt --passes`` takes, with underscores.
"""

from . import _C


def _make(name, description):
    def run(graph):
        return _C._run_pass(name, graph)

    run.__name__ = run.__qualname__ = name.replace("-", "_")
    run.__module__ = __name__
    run.__doc__ = (
        f"{description}.\n\nChanges the graph in place; returns whether it did. Raises if the graph is malformed."
    )
    return run


__all__ = []
for _name, _description in _C._passes.items():
    _function = _make(_name, _description)
    globals()[_function.__name__] = _function
    __all__.append(_function.__name__)
del _name, _description, _function
