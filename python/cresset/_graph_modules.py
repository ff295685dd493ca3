"""Graphs of captured functions as users' backends get them: `compiler(gm: torch.fx.GraphModule, example_inputs)` returns a
callable, which takes the inputs of `gm` and returns its outputs as a tuple or list.

torch.fx is what the graph is handed over in, and nothing else of it is used; no other file of the package does.
"""

import keyword
import linecache
import re
import weakref

import torch.fx

from . import _frames
from ._segments import Ref, function_name


class BackendError(RuntimeError):
    """A backend of `cresset.compile` raised, or returned what can't be called; the text has the lines of the program that
    the graph was made of, ``__cause__`` what the backend raised."""


class _WithAttributes:
    """What a backend returned for a graph that has parameters; forgotten with the first of their modules that goes."""

    __slots__ = ("__weakref__", "owners", "run")

    def __init__(self, run, owners):
        self.run = run
        this = weakref.ref(self)
        self.owners = [weakref.ref(owner, lambda _: _forget(this)) for owner in owners]

    def __call__(self, *inputs):
        return self.run(*inputs)


def _forget(reference):
    held = reference()
    if held is not None:
        held.run = None  # a plan with a call that raises runs as Python


def serve(segment, backend):
    """What computes the graph for a plan: called with the inputs, returns a tuple or list of the outputs."""
    graph_module, lines = graph_module_of(segment)
    name = function_name(backend)
    try:
        run = backend(graph_module, list(segment.examples))
    except Exception as error:
        _frames.raise_of_handler(error)
        raise BackendError(
            f"backend {name} raised {type(error).__name__}: {error}\nfor the graph of\n{lines}"
        ) from error
    if not callable(run):
        raise BackendError(
            f"backend {name} returned {run!r}, which is not callable, for the graph of\n{lines}\nReturn gm.forward, or a "
            "function of the same inputs that returns a tuple of tensors."
        )
    return _WithAttributes(run, segment.owners) if segment.owners else run


def graph_module_of(segment):
    """The graph, and its lines of the program as text."""
    graph = torch.fx.Graph()
    names = _Names()
    made, places = {}, []
    for register in segment.inputs:
        made[register] = graph.placeholder(names.fresh(segment.path(register)))
    root = {}
    for register, (path, tensor) in segment.attributes.items():
        target = ".".join(names.part(part) for part in path.removeprefix("self.").split("."))
        while target in root and root[target] is not tensor:
            target += "_"
        root[target] = tensor
        made[register] = graph.create_node("get_attr", target, name=names.fresh(target))
    for node in segment.nodes:
        arguments = tuple(_argument(argument, made) for argument in node.arguments)
        count = len(arguments) - len(node.names)
        kwargs = dict(zip(node.names, arguments[count:], strict=True))
        kind, target = ("call_method", node.method) if node.method else ("call_function", node.function)
        hint = node.name or node.method or getattr(node.function, "__name__", "value")
        made[node.register] = graph.create_node(kind, target, arguments[:count], kwargs, name=names.fresh(hint))
        if node.place is not None:
            places.append(_line_of(*node.place))
            made[node.register].meta["stack_trace"] = places[-1]
    graph.output(tuple(made[register] for register in segment.outputs))
    graph_module = torch.fx.GraphModule(root, graph)
    return graph_module, "\n".join(dict.fromkeys(places))


def _argument(argument, made):
    if isinstance(argument, Ref):
        return made[argument.register]
    if type(argument) in (tuple, list):
        return type(argument)(_argument(item, made) for item in argument)
    if isinstance(argument, slice):
        return slice(*(_argument(part, made) for part in (argument.start, argument.stop, argument.step)))
    return argument


def line_at(code, position):
    """The number of the line of a code object that the instruction at a position belongs to."""
    found = code.co_firstlineno
    for start, _, line in code.co_lines():
        if start > 2 * position:
            break
        found = line or found
    return found


def _line_of(code, position):
    line = line_at(code, position)
    text = linecache.getline(code.co_filename, line).strip()
    where = f'  File "{code.co_filename}", line {line}, in {code.co_name}'
    return f"{where}\n    {text}" if text else where


class _Names:
    """Names of nodes: those of the program, numbered where they come again."""

    def __init__(self):
        self.used = set()

    @staticmethod
    def part(text):
        """An identifier like the text."""
        text = re.sub(r"\W", "_", text) or "value"
        return f"_{text}" if text[0].isdigit() or keyword.iskeyword(text) else text

    def fresh(self, text):
        base = name = self.part(text)
        number = 0
        while name in self.used:
            number += 1
            name = f"{base}_{number}"
        self.used.add(name)
        return name
