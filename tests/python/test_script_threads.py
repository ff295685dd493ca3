"""Several threads script at once: who waits for the definition lock does so without the GIL, so that nobody waits for both."""

import copy
import subprocess
import sys
import threading
import types
from pathlib import Path

import torch

import cresset

SOURCE = """
from torch import Tensor
class Point:
    def __init__(self, x: int):
        self.x = x
    def moved(self, n: int) -> "Point":
        return Point(self.x + n)

def leaf(x: Tensor, n: int) -> Tensor:
    return x + Point(n).moved(1).x

def inferred(x, y):
    return leaf(x, 1) + y

def root(x: Tensor) -> Tensor:
    for i in range(3):
        x = inferred(x, leaf(x, i))
    return x

def broken(x: Tensor) -> Tensor:
    return leaf(x, 1) + nowhere
"""


def make_module(number, folder):
    path = folder / f"generated_{number}.py"
    path.write_text(SOURCE)
    module = types.ModuleType(f"generated_{number}")
    module.__file__ = str(path)
    exec(compile(SOURCE, str(path), "exec"), module.__dict__)
    return module


def run_in_threads(works, seconds=120):
    errors = []

    def guarded(work):
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds)
        assert not thread.is_alive(), "a deadlock"
    if errors:
        raise errors[0]


def test_scripting_from_many_threads(tmp_path):
    modules = [make_module(i, tmp_path) for i in range(4)]
    x = torch.ones(2)
    wanted = modules[0].root(x)

    def work():
        for module in modules:
            for _ in range(3):
                assert torch.equal(cresset.script(module.root)(x), wanted)
                try:
                    cresset.script(module.broken)
                except cresset.CompileError as error:
                    assert "nowhere" in str(error)
                else:
                    raise AssertionError("broken compiled")

    run_in_threads([work] * 6)


def test_lazy_compilation_by_calls_while_others_script(tmp_path):
    """A first call compiles without the GIL and takes it for look-ups, while others hold it and want the lock."""
    modules = [make_module(i, tmp_path) for i in range(8)]
    x = torch.ones(2)
    compiled = [cresset.script(module.leaf) for module in modules]

    def call():
        for function in compiled:
            function(x, 1)
            str(function.schema), str(function.graph)

    def script():
        for module in modules:
            cresset.script(module.root)(x)

    run_in_threads([call, script] * 4)


def test_python_that_runs_while_compiling(tmp_path):
    """Looking up a name may run Python code, which may script something itself."""
    module = make_module(100, tmp_path)

    class Lazy(types.ModuleType):
        def __getattr__(self, name):
            if name != "leaf":
                raise AttributeError(name)
            return cresset.script(module.leaf)

    lazy = Lazy("lazy")

    def f(x: torch.Tensor) -> torch.Tensor:
        return lazy.leaf(x, 1)

    assert torch.equal(cresset.script(f)(torch.ones(1)), torch.tensor([3.0]))


def test_scripts_and_traces_at_once():
    """Both declare in the one program of Python code: its lock and the GIL have one order."""
    x = torch.ones(1, 4)

    class Module(torch.nn.Module):
        def forward(self, x):
            return torch.relu(x)

    failures = []

    def repeat(work):
        try:
            for _ in range(150):
                work()
        except Exception as error:
            failures.append(error)

    works = [
        lambda: cresset.script(Module()),
        lambda: cresset.trace(Module(), (x,), check_trace=False),
        lambda: cresset.trace(lambda x: x + 1, (x,), check_trace=False),
    ]
    threads = [threading.Thread(target=repeat, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads), "a deadlock"
    assert not failures


def test_saving_while_methods_are_defined():
    """Copies share their class: what one defines is a method of all."""
    module = cresset.script(torch.nn.Linear(2, 2))
    stop, errors = threading.Event(), []

    def save():
        while not stop.is_set():
            try:
                cresset._serialization.save_to_buffer(module)
                cresset.freeze(copy.deepcopy(module).eval())
            except Exception as error:  # noqa: BLE001
                errors.append(error)

    threads = [threading.Thread(target=save) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(300):
        module.define(f"def f{i}(self, x: Tensor):\n    return self.forward(x) + {i}\n")
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors
    loaded = cresset.load(cresset._serialization.save_to_buffer(module))
    x = torch.ones(1, 2)
    assert torch.equal(loaded.f299(x), module(x) + 299)


def test_who_waits_for_a_definition_lets_python_run():
    program = Path(__file__).parent / "waits_for_definitions.py"
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-300:] + done.stderr[-3000:]
    passed = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    assert {"passes.inline", "module: lower_graph", "graph: functionalize", "module: freeze"} <= passed.keys()
    assert "refused" not in passed.values(), done.stdout
