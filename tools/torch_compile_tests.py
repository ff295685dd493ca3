"""Runs PyTorch's own tests of torch.compile with cresset.compile in its place:
`python tools/torch_compile_tests.py PYTORCH/test/dynamo/test_functions.py`.

PYTORCH is a source tree of PyTorch, of the installed torch's version or a near one. Numbers of graphs and of operators in
them are torch.compile's own and are not compared: what is left is that a compiled function does what the function does.
Each file runs twice, without any compiler and with Cresset; a test that passes without and fails with it is printed.
"""

import argparse
import functools
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

#: Modules whose older tests import names that newer versions of torch lack.
CHANGED = [
    "torch._dynamo",
    "torch._dynamo.exc",
    "torch._dynamo.test_case",
    "torch._dynamo.testing",
    "torch._dynamo.utils",
    "torch._dynamo.variables",
    "torch.testing._internal.common_cuda",
    "torch.testing._internal.common_device_type",
    "torch.testing._internal.common_utils",
    "torch.testing._internal.triton_utils",
]


class Missing:
    """A name that newer versions of torch lack: a decorator without effect, a base class, a false constant."""

    def __call__(self, *args, **kwargs):
        return args[0] if len(args) == 1 and callable(args[0]) else lambda function=None, *_, **__: function

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing()

    def __mro_entries__(self, bases):
        return (object,)

    def __bool__(self):
        return False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


class AnyNumber(int):
    """A number of graphs or operators, which are not compared."""

    def _true(self, other):
        return True

    def _false(self, other):
        return False

    def _self(self, other):
        return self

    __eq__ = __le__ = __lt__ = __ge__ = __gt__ = _true
    __ne__ = _false
    __add__ = __iadd__ = _self
    __hash__ = int.__hash__


class Counter:
    def __init__(self, backend=None):
        self.backend, self.graphs = backend, []

    frame_count = op_count = property(lambda self: AnyNumber(1), lambda self, value: None)

    def __call__(self, graph_module, example_inputs):
        return graph_module.forward

    def clear(self):
        """Nothing is counted."""


def compiler_of(engine):
    if engine == "none":
        return lambda f: f
    import cresset

    if engine == "cresset":
        return cresset.compile
    return lambda f: cresset.compile(f, backend=lambda graph_module, example_inputs: graph_module.forward)


def patch(engine):
    import torch
    from torch._dynamo import testing
    from torch.testing._internal import common_utils

    common_utils.TEST_BAILOUTS = False
    for name in CHANGED:
        module = importlib.import_module(name)
        module.__getattr__ = functools.partial(find, getattr(module, "__getattr__", None))
    testing.CompileCounter = testing.CompileCounterWithBackend = testing.EagerAndRecordGraphs = Counter
    make = compiler_of(engine)

    def compile(function=None, *_, **__):
        return compile if function is None or not callable(function) else make(function)

    def standard_test(self, fn, nargs, *_, **__):
        compiled = compile(fn)
        for _ in range(4):
            args = [torch.randn(10, 10) for _ in range(nargs)]
            first, second = [a.clone() for a in args], [a.clone() for a in args]
            expected, seen = fn(*first), compiled(*second)
            self.assertTrue(testing.same(expected, seen), f"{expected} expected, {seen} found")
            self.assertTrue(testing.same(first, second), "the inputs differ afterwards")

    torch.compile = compile
    testing.standard_test = standard_test
    for name in ("optimize", "optimize_assert"):
        setattr(torch._dynamo, name, lambda *_, **__: compile)
        setattr(torch._dynamo.eval_frame, name, lambda *_, **__: compile)
    torch._dynamo.reset = lambda: None
    if engine == "none":
        return
    import cresset

    def disable(fn=None, *_, **__):
        return cresset.disable if fn is None else cresset.disable(fn)

    torch._dynamo.reset = cresset.reset
    torch._dynamo.graph_break = cresset.graph_break
    torch._dynamo.disable = torch.compiler.disable = disable
    torch.compiler.is_compiling = cresset.is_compiling


def find(old, name):
    if name.startswith("__"):
        raise AttributeError(name)
    if old is not None:
        try:
            return old(name)
        except AttributeError:
            pass
    return Missing()


def run(engine, file, rest):
    """Runs the tests in this process."""
    import pytest

    patch(engine)
    root = next(path for path in file.parents if path.name == "test")
    sys.path[:0] = [str(root), str(file.parent)]
    os.chdir(root)
    return pytest.main(["-p", "no:cacheprovider", "--noconftest", "--rootdir", str(root), str(file), *rest])


def results(engine, file, rest, limit):
    """{test: its result} in a process of its own."""
    command = [
        sys.executable,
        __file__,
        str(file),
        "--engine",
        engine,
        "-q",
        "-rA",
        "--tb=no",
        "-p",
        "no:warnings",
        *rest,
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, errors="replace")
    except subprocess.TimeoutExpired:
        sys.exit(f"{file.name} with engine {engine} takes more than {limit} s: see --limit")
    lines = re.findall(r"^(PASSED|FAILED|ERROR|XFAIL) \S+?::(\S+)", done.stdout, re.M)
    found = {test: result for result, test in lines}
    if done.returncode < 0 or not found:
        print(f"{file.name}, engine {engine}: ended with {done.returncode}\n{done.stderr[-2000:]}{done.stdout[-2000:]}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="+", help="test files of PyTorch's test/dynamo")
    parser.add_argument(
        "--engine",
        choices=["none", "cresset", "backend"],
        help="run once with this one and show pytest's output: no compiler, Cresset, Cresset with a backend",
    )
    parser.add_argument("--limit", type=int, default=600, help="seconds for a file")
    args, rest = parser.parse_known_args()
    for file in args.file:
        if not file.is_file() or "test" not in [path.name for path in file.resolve().parents]:
            parser.error(f"{file}: no such file below a folder 'test' of PyTorch's sources")
    if args.engine:
        return max(run(args.engine, file.resolve(), rest) for file in args.file)
    worse = 0
    for file in args.file:
        file = file.resolve()
        expected = results("none", file, rest, args.limit)
        passed = [test for test, result in expected.items() if result == "PASSED"]
        for engine in ("cresset", "backend"):
            seen = results(engine, file, rest, args.limit)
            failed = [test for test in passed if seen.get(test) != "PASSED"]
            worse += len(failed)
            print(
                f"{file.name}, {engine}: {len(passed) - len(failed)} of {len(passed)} tests that pass without a compiler"
            )
            for test in failed:
                print(f"  {test}: {seen.get(test, 'not run')}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
