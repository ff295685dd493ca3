"""What Python may ask of programs while another thread defines one whose names Python has to look up: a child of
test_script_threads.py, because who waits with Python's lock stops the process. Prints each door as it is passed.
"""

import copy
import faulthandler
import io
import sys
import threading
import types

import torch

import cresset


class Slow(types.ModuleType):
    """A module that scripts name: looking its attribute up, under the lock of definitions, waits until others had time to come."""

    def __init__(self):
        super().__init__("slow")
        self.inside, self.go_on = threading.Event(), threading.Event()

    @property
    def value(self):
        self.inside.set()
        self.go_on.wait()
        return 2


def make_waiting(slow):
    def waits(x):
        return x * slow.value

    return waits


def make():
    """A function, and what it calls: a function whose graph was looked at, so that compiling it takes the lock."""

    def inner(x, n: int):
        return torch.relu(x + n) * 2

    def outer(x, n: int):
        y = x + 1
        for i in range(n):
            y = y + inner(x, i)
        return inner(y, n)

    called = cresset.script(inner)
    callable_ = cresset.script(outer)
    called.graph  # noqa: B018
    return callable_, called


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.helper(x) + 1

    def helper(self, x):
        return self.linear(x)


def make_module():
    module = cresset.script(Net())
    module.helper.graph  # noqa: B018
    return module


def doors():
    """(name, what is prepared, what is then asked while another thread defines)."""
    for name in cresset.passes.preserves:
        run = getattr(cresset.passes, name)
        yield f"passes.{name}", lambda: make()[0].graph, run
    graphs = {
        "functionalize": cresset.passes.functionalize,
        "reinplace": cresset.passes.reinplace,
        "remove_views": cresset.passes.remove_views,
        "decompose": cresset.passes.decompose,
        "create_autodiff_subgraphs": cresset.passes.create_autodiff_subgraphs,
        "alias_db": lambda graph: str(graph.alias_db()),
        "lint": lambda graph: graph.lint(),
        "text": str,
        "copy": lambda graph: graph.copy(),
        "function_from_graph": lambda graph: cresset._C.function_from_graph("f", graph),
    }
    for name, ask in graphs.items():
        yield f"graph: {name}", lambda: make()[0].graph, ask
    functions = {
        "call": lambda f, g: f(torch.ones(2), 1),
        "graph": lambda f, g: (g.graph, f.graph),
        "inlined graph": lambda f, g: f.inlined_graph,
        "code": lambda f, g: (f.code, f.code_with_constants),
        "schema": lambda f, g: (f.schema, g.schema),
        "save": lambda f, g: f.save_to_buffer() if hasattr(f, "save_to_buffer") else cresset.save(f, io.BytesIO()),
        "explain": lambda f, g: str(cresset.explain(f)),
        "trace": lambda f, g: cresset.trace(lambda x: g(x, 1), (torch.ones(2),)),
    }
    for name, ask in functions.items():
        yield f"function: {name}", make, lambda pair, ask=ask: ask(*pair)
    modules = {
        "call": lambda m: m(torch.ones(1, 2)),
        "lower_graph": lambda m: cresset.passes.lower_graph(m.graph),
        "graph": lambda m: (m.graph, m.helper.graph, m.inlined_graph),
        "code": lambda m: m.code,
        "attributes": lambda m: [getattr(m, name, None) for name in dir(m) if not name.startswith("__")],
        "copy": lambda m: (copy.copy(m), copy.deepcopy(m)),
        "save": lambda m: cresset.save(m, io.BytesIO()),
        "freeze": lambda m: cresset.freeze(m.eval()),
        "define": lambda m: m.define("def twice(self, x):\n    return self.helper(self.helper(x))"),
        "optimize_for_inference": lambda m: cresset.optimize_for_inference(m.eval()),
    }
    for name, ask in modules.items():
        yield f"module: {name}", make_module, ask


def pass_through(name, prepare, ask):
    prepared = prepare()
    slow, errors = Slow(), []

    def guarded(work):
        try:
            work()
        except Exception as error:
            errors.append(error)

    defining = threading.Thread(target=guarded, args=(lambda: cresset.script(make_waiting(slow)),))
    defining.start()
    assert slow.inside.wait(60)
    asking = threading.Thread(target=guarded, args=(lambda: ask(prepared),))
    asking.start()
    asking.join(0.05)
    slow.go_on.set()
    asking.join()
    defining.join()
    refusals = [error for error in errors if not isinstance(error, (cresset.UserError, RuntimeError))]
    if refusals:
        raise refusals[0]
    print(name, "refused" if errors else "done", flush=True)


def main():
    only = sys.argv[1:]
    for name, prepare, ask in doors():
        if only and not any(each in name for each in only):
            continue
        faulthandler.dump_traceback_later(60, exit=True)
        pass_through(name, prepare, ask)
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main()
