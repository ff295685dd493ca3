"""Memory that comes back: what is scripted, traced or loaded is freed when nothing uses it (docs/decisions/0009-ownership.md).

``.venv/bin/python tests/python/test_memory.py [COUNT [KIND...]]`` makes and drops COUNT programs of each kind (default:
10,000) and prints how resident memory grows after the first 500. As a test, fewer are made: a program that stays is 10 kB at
least, so that a few hundred show it.
"""

import ctypes
import enum
import functools
import gc
import io
import linecache
import os
import subprocess
import sys
import threading
import typing
import weakref
from pathlib import Path

import pytest
import torch

import cresset
from cresset import _C


def live():
    for _ in range(2):
        gc.collect()
    return _C._live_programs()


# ---- what is made and dropped


def call(function):
    """With plans and compiled gradients, for two kinds of arguments."""
    for size in ((3,), (2, 3)):
        for _ in range(3):
            x = torch.randn(size, requires_grad=True)
            function(x).sum().backward()


def make_function(k):
    def helper(x, y: float):
        return torch.tanh(x) * y + x.sigmoid()

    def f(x):
        y = helper(x, 2.0)
        for i in range(3):
            y = y + helper(y, float(i))
        return y

    return f


def function(k):
    call(cresset.script(make_function(k)))


def recursive_functions(k):
    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    def odd(n: int) -> bool:
        return n != 0 and even(n - 1)

    assert cresset.script(even)(10)


def run_text(text, name, **names):
    """Runs a text as a file of its own would be, and forgets the file."""
    file = f"<made {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names.update(torch=torch, List=list, __name__="made")
    exec(compile(text, file, "exec"), names)
    return names


def text_function(k):
    text = f"def f_{k}(x, n: int = {k}):\n    return x * n + n\n"
    names = run_text(text, f"function {k}")
    assert cresset.script(names[f"f_{k}"])(torch.ones(1)).item() == 2 * k
    del linecache.cache[f"<made function {k}>"]


def script_class(k):
    class Point:
        def __init__(self, x: int):
            self.x = x

        def moved(self, by: int):
            return Point(self.x + by)

    cresset.script(Point)

    def f(p: Point):
        return p.moved(k)

    assert cresset.script(f)(Point(1)).x == k + 1


def class_on_the_way(k):
    class Color(enum.Enum):
        RED = 1
        GREEN = 2

    class Pair(typing.NamedTuple):
        color: Color
        n: int

    class Counter:
        def __init__(self):
            self.pairs: typing.List[Pair] = []

        def add(self, pair: Pair):
            self.pairs.append(pair)
            return len(self.pairs)

    def f(n: int):
        counter = Counter()
        counter.add(Pair(Color.RED, n))
        return counter.add(Pair(Color.GREEN, n)), counter.pairs[0]

    assert cresset.script(f)(k) == (2, Pair(Color.RED, k))


def recursive_class(k):
    text = (
        "class Node:\n"
        "  next: Optional[Node]\n"
        "  def __init__(self, n: int):\n"
        "    self.next = None\n"
        "    self.n = n\n"
        "def f(n: int):\n"
        "  first, second = Node(n), Node(n + 1)\n"
        "  first.next = second\n"
        "  return second.n\n"
    )
    assert cresset.CompilationUnit(text).f(k) == k + 1


def interface(k):
    @cresset.interface
    class Step:
        def step(self, x: int) -> int:
            pass

    class Add:
        def __init__(self, n: int):
            self.n = n

        def step(self, x: int) -> int:
            return x + self.n

    def f(x: int):
        steps: typing.List[Step] = [Add(1), Add(2)]
        for s in steps:
            x = s.step(x)
        return x

    assert cresset.script(f)(k) == k + 3


class Block(torch.nn.Module):
    def __init__(self, size, slope):
        super().__init__()
        self.linear = torch.nn.Linear(size, size)
        self.slope = slope

    __constants__ = ("slope",)

    def forward(self, x):
        return torch.nn.functional.leaky_relu(self.linear(x), self.slope)


def module(k):
    # The constant makes it a class of its own.
    net = torch.nn.Sequential(Block(3, k / 1e6), Block(3, k / 1e6))
    call(cresset.script(net))


def module_of_new_class(k):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.block = Block(3, 0.5)

        def forward(self, x):
            return self.helper(self.block(x))

        def helper(self, x):
            return x * 2

    call(cresset.script(Net()))


def frozen(k):
    net = cresset.freeze(cresset.script(Block(3, k / 1e6).eval()))
    net(torch.ones(3))


@functools.cache
def original():
    return cresset.script(Block(3, 0.75).eval())


def frozen_again(k):
    cresset.freeze(original())(torch.ones(3))


def trace(k):
    call(cresset.trace(lambda x: torch.tanh(x) * k + x, (torch.ones(3),), check_trace=False))


def traced_module(k):
    call(cresset.trace(Block(3, k / 1e6), (torch.ones(3),), check_trace=False))


def unit(k):
    text = f"def f(x):\n  y = x * {k} + x\n  return torch.tanh(y) * y\n"
    call(cresset.CompilationUnit(text).f)


@functools.cache
def archive():
    buffer = io.BytesIO()
    cresset.save(cresset.script(Block(3, 0.25)), buffer)
    return buffer.getvalue()


def loaded(k):
    call(cresset.load(io.BytesIO(archive())))


def kernel(k):
    """Its constants make it a kernel of its own."""
    text = f"def f(x: Tensor):\n  return torch.relu(x * {k}.5 + 1.0)\n"
    compiled, launches = _C._kernel_counts()[:2]
    with cresset.options.override(kernels="now", plans="always"), torch.no_grad():
        cresset.CompilationUnit(text).f(torch.ones(40))
    now = _C._kernel_counts()
    assert now[0] > compiled and now[1] > launches


def error(k):
    class Wrong:
        def __init__(self, x: int):
            self.x = x

        def f(self):
            return self.y

    def f(x: int):
        return Wrong(x).f()

    with pytest.raises(RuntimeError, match="y"):
        cresset.script(f)


KINDS = {
    make.__name__: make
    for make in (
        function,
        recursive_functions,
        text_function,
        script_class,
        class_on_the_way,
        recursive_class,
        interface,
        module,
        module_of_new_class,
        frozen,
        frozen_again,
        trace,
        traced_module,
        unit,
        loaded,
        kernel,
        error,
    )
}


# ---- resident memory

_libc = ctypes.CDLL(None)


def resident():
    """In bytes, after everything that can be freed is."""
    for _ in range(3):
        gc.collect()
    _libc.malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(make, count, first):
    for k in range(first):
        make(k)
    before = resident()
    for k in range(first, count):
        make(k)
        if k % 100 == 0:
            gc.collect()  # classes of Python's are circles
    return resident() - before


def measure(counts):
    torch.set_num_threads(1)
    for name, count, first in counts:
        programs = live()
        grown = growth(KINDS[name], count, first)
        print(f"{name} {grown} {live() - programs}", flush=True)


def run_apart(counts):
    """In a process of its own: growth in bytes and in programs, by kind."""
    text = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_memory; test_memory.measure({counts!r})"
    done = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        env={**os.environ, "MALLOC_ARENA_MAX": "1", "OMP_NUM_THREADS": "1"},
        timeout=3600,
    )
    assert done.returncode == 0, done.stderr
    return {name: (int(grown), int(programs)) for name, grown, programs in map(str.split, done.stdout.splitlines())}


# Those with plans and gradients take a while, but are large.
WITH_PLANS = {"function", "module", "module_of_new_class", "trace", "traced_module", "unit", "loaded"}


def test_what_is_dropped_leaves_resident_memory_flat():
    found = run_apart([(name, 50, 20) if name in WITH_PLANS else (name, 350, 100) for name in KINDS])
    assert set(found) == set(KINDS)
    # 250 programs of 10 kB would be 2.5 MB, and 30 of 150 kB 4.5 MB.
    assert {name: f for name, f in found.items() if f[0] > 2_000_000 or f[1] > 3} == {}


# ---- what keeps what alive
#
# cresset.script takes a copy of its caller's local variables, which before Python 3.13 lives as long as the caller's frame:
# what is to be dropped is made in functions of its own.


@pytest.fixture(autouse=True, scope="module")
def what_stays():
    """Rules of derivatives, …, which are there once for all."""
    for make in KINDS.values():
        make(10**6)


@pytest.mark.parametrize("name", KINDS)
def test_nothing_is_left(name):
    before = live()
    for k in range(3):
        KINDS[name](k)
    assert live() == before


def script(what):
    return cresset.script(what)


def test_a_function_lives_as_long_as_its_handle_or_the_python_function():
    before = live()
    f = make_function(0)
    script(f)
    assert live() == before + 1
    again = script(f)
    assert live() == before + 1  # found, not compiled again
    weak = weakref.ref(f)
    del f
    assert live() == before + 1
    again(torch.ones(2))
    del again
    assert live() == before
    assert weak() is None  # nor does what was compiled keep the function


def test_code_that_another_program_calls():
    before = live()

    def outer():
        inner = cresset.script(make_function(1))

        def f(x):
            return inner(x) + 1

        return cresset.script(f)

    f = outer()
    x = torch.randn(3)
    expected = make_function(1)(x) + 1
    for _ in range(4):
        torch.testing.assert_close(f(x), expected)
    del f
    assert live() == before


def test_backward_after_the_function_is_gone():
    before = live()
    x = torch.randn(4, requires_grad=True)

    def results():
        scripted = cresset.script(make_function(2))
        return [scripted(x) for _ in range(5)]

    ys = results()
    assert live() <= before + 3
    make_function(2)(x).sum().backward()
    expected, x.grad = x.grad, None
    for y in ys:
        (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        torch.testing.assert_close(gradient, expected)
        torch.autograd.grad(gradient.sum(), x)
    del ys, y, gradient
    assert live() == before


def test_objects_outlive_the_script_that_made_them():
    before = live()

    def make():
        unit = cresset.CompilationUnit(
            "class Counter:\n"
            "  def __init__(self):\n"
            "    self.n = 0\n"
            "  def add(self, k: int) -> int:\n"
            "    self.n += k\n"
            "    return self.n\n"
            "def f():\n"
            "  return Counter()\n"
        )
        return unit.f()

    counter = make()
    live()
    assert [counter.add(2), counter.add(3)] == [2, 5]
    del counter
    assert live() == before


def test_modules_share_classes_with_those_that_live():
    before = live()
    first = script(Block(3, 0.125))
    one = live()
    second = script(Block(3, 0.125))
    assert live() == one
    assert first._c.type() == second._c.type()
    del first
    gc.collect()
    third = script(torch.nn.Sequential(Block(3, 0.125), torch.nn.ReLU()))
    x = torch.randn(2, 3)
    del second
    gc.collect()
    expected = torch.nn.functional.leaky_relu(
        torch.nn.functional.linear(x, third[0].linear.weight, third[0].linear.bias), 0.125
    )
    torch.testing.assert_close(third(x), expected.relu())
    del third
    assert live() == before


def test_saved_after_the_original_is_gone():
    before = live()

    def make():
        class Point:
            def __init__(self, x: int):
                self.x = x

        cresset.script(Point)

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.block = cresset.script(Block(3, 0.0625))

            def forward(self, x):
                return self.block(x) * Point(3).x

        return cresset.script(Net())

    # Two classes of each name, in one archive.
    class Both(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = make(), make()

        def forward(self, x):
            return self.a(x) + self.b(x)

    net = script(Both())
    gc.collect()
    x = torch.randn(2, 3)
    buffer = io.BytesIO()
    cresset.save(net, buffer)
    torch.testing.assert_close(torch.jit.load(io.BytesIO(buffer.getvalue()))(x), net(x))
    torch.testing.assert_close(cresset.load(io.BytesIO(buffer.getvalue()))(x), net(x))
    del net, Both
    assert live() == before


def test_names_come_back():
    f = script(make_function(3))
    name = f.qualified_name
    g = script(make_function(3))
    assert g.qualified_name != name
    del f
    gc.collect()
    h = script(make_function(3))
    assert h.qualified_name == name


def test_classes_that_refer_to_each_other():
    before = live()

    def make():
        class Leaf:
            def __init__(self, n: int):
                self.n = n

            def grown(self) -> "Tree":
                return Tree(self, self)

        class Tree:
            def __init__(self, a: Leaf, b: Leaf):
                self.a = a
                self.b = b

            def total(self) -> int:
                return self.a.n + self.b.n

        def f(n: int):
            return Leaf(n).grown().total()

        return cresset.script(f)

    f = make()
    assert f(2) == 4
    del f
    assert live() == before


def test_the_last_object_of_an_interface_is_kept_while_its_method_runs():
    @cresset.interface
    class Step:
        def step(self, x: int) -> int:
            pass

    def run(steps: typing.List[Step]) -> int:
        # The list has the last reference to the object, and so to its class.
        return steps.pop().step(1) + 1

    def make():
        class Slow:
            def __init__(self, n: int):
                self.n = n

            def step(self, x: int) -> int:
                x += self.n  # the last use of self
                for i in range(100):
                    x += i
                return x

        return cresset.ScriptList._of(_C._Container([cresset.script(Slow(5))], run.schema.arguments[0].type))

    run = cresset.script(run)
    before = live()
    for _ in range(3):
        steps = make()
        gc.collect()
        assert live() == before + 1
        assert run(steps) == 1 + 5 + 4950 + 1
        assert len(steps) == 0
        del steps
        assert live() == before


def test_dropped_while_other_threads_run():
    def work(errors):
        try:
            for k in range(20):
                f = make_function(k)
                scripted = cresset.script(f)
                del f
                x = torch.randn(3, requires_grad=True)
                scripted(x).sum().backward()
        except Exception as problem:
            errors.append(problem)

    work([])
    before = live()
    errors = []
    threads = [threading.Thread(target=work, args=(errors,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert live() == before


def test_dropped_while_a_future_runs():
    before = live()

    def start():
        def slow(n: int) -> int:
            total = 0
            for i in range(n):
                total += i % 7
            return total

        def f(n: int):
            return torch.jit.fork(slow, n)

        return cresset.script(f)(300_000)

    futures = [start() for _ in range(4)]
    gc.collect()
    expected = sum(i % 7 for i in range(300_000))
    assert [future.wait() for future in futures] == [expected] * 4
    del futures
    assert live() == before


def scripted_call_of(inner):
    def g(x):
        return inner(x)

    return cresset.script(g)


def test_long_chains_of_programs_end_without_the_stack():
    before = live()
    f = cresset.script(make_function(0))
    for _ in range(3000):
        f = scripted_call_of(f)
    del f
    assert live() == before


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    for kind in sys.argv[2:] or KINDS:
        print(run_apart([(kind, wanted, min(500, wanted // 4))]), flush=True)
