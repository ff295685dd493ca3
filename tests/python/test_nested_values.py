"""Values that hold each other more deeply than a stack goes, or hold themselves: torch.jit crashes on most of these."""

import concurrent.futures
import copy
import subprocess
import sys
import textwrap
from typing import List

import pytest
import torch
from torch._awaits import _Await as Await

import cresset

# ruff: noqa: UP006, UP035

SOURCE = """
class Node:
    def __init__(self, next: Optional["Node"]):
        self.next = next
        self.same = next

def chain(n: int) -> Node:
    head = Node(None)
    for i in range(n):
        head = Node(head)
    return head

def drop(n: int) -> int:
    head = chain(n)
    return n

def drop_unused(n: int) -> int:
    chain(n)
    return n

def replace_attribute(n: int) -> int:
    holder = Node(chain(n))
    holder.next = None
    holder.same = None
    return n

def lists(n: int) -> Any:
    a: Any = 1
    for i in range(n):
        l: List[Any] = [a]
        a = l
    return a

def tuples(n: int) -> Any:
    a: Any = 1
    for i in range(n):
        a = (a, 1)
    return a

def pairs(n: int) -> Any:
    a: Any = 1
    for i in range(n):
        a = (a, a)
    return a

def dicts(n: int) -> Any:
    a: Any = 1
    for i in range(n):
        d: Dict[str, Any] = {}
        d["a"] = a
        a = d
    return a

def drop_lists(n: int) -> int:
    a = lists(n)
    return n

def drop_tuples(n: int) -> int:
    a = pairs(n)
    b = tuples(n)
    return n

def drop_dicts(n: int) -> int:
    a = dicts(n)
    return n

def list_methods(n: int) -> int:
    l: List[Any] = [lists(n), lists(n), lists(n), lists(n), lists(n)]
    l[0] = 1
    del l[1]
    l.pop()
    l.pop(1)
    m = l.copy()
    l.clear()
    m *= 0
    return len(m)

def dict_methods(n: int) -> int:
    d: Dict[str, Any] = {}
    for key in ["a", "b", "c", "d", "e", "f"]:
        d[key] = dicts(n)
    d["a"] = 1
    del d["b"]
    d.pop("c")
    d.popitem()
    e: Dict[str, Any] = {}
    e["d"] = 1
    d.update(e)
    d.clear()
    return len(d)

def unpack(n: int) -> int:
    a, b, c = (lists(n), 1, dicts(n))
    d, e = [lists(n), tuples(n)]
    return b

def raise_with(n: int) -> int:
    a = lists(n)
    l: List[int] = []
    return l[n]

def forked(n: int) -> int:
    f = torch.jit.fork(lists, n)
    g = torch.jit.fork(chain, n)
    torch.jit.wait(g)
    return n

def holds_itself() -> Any:
    l: List[Any] = []
    l.append(l)
    return l

def dict_holds_itself() -> Any:
    d: Dict[str, Any] = {}
    d["d"] = d
    return d

def tuple_holds_itself() -> Any:
    l: List[Any] = []
    t = (1, l)
    l.append(t)
    return t

def show(which: int, n: int) -> str:
    a = holds_itself() if which == 0 else dict_holds_itself() if which == 1 else tuple_holds_itself()
    if which == 3:
        a = lists(n)
    elif which == 4:
        a = dicts(n)
    elif which == 5:
        a = tuples(n)
    return "{} {}".format(str(a), a)

def digest(n: int) -> int:
    return hash(tuples(n))

def is_pair(n: int) -> bool:
    return isinstance(tuples(n), Tuple[int, int])
"""
DEPTH = 300_000


@pytest.fixture(scope="module")
def unit():
    return cresset.CompilationUnit(SOURCE)


@pytest.mark.parametrize(
    "name",
    [
        "drop",
        "drop_unused",
        "replace_attribute",
        "drop_lists",
        "drop_tuples",
        "drop_dicts",
        "list_methods",
        "dict_methods",
        "unpack",
        "forked",
    ],
)
def test_long_chains_are_let_go_of(unit, name):
    assert getattr(unit, name)(DEPTH) in (0, 1, DEPTH)


def test_a_chain_that_an_exception_drops(unit):
    with pytest.raises(IndexError):
        unit.raise_with(DEPTH)


def test_a_chain_that_python_held(unit):
    head = unit.chain(DEPTH)
    next = head.next
    del head
    assert next.next is not None
    del next
    cresset.fork(unit.chain, DEPTH).wait()


@pytest.mark.parametrize("name", ["holds_itself", "dict_holds_itself", "tuple_holds_itself"])
def test_what_holds_itself_can_not_be_converted(unit, name):
    with pytest.raises(RecursionError, match="maximum recursion depth exceeded while converting"):
        getattr(unit, name)()


@pytest.mark.parametrize("name", ["lists", "dicts", "tuples"])
def test_how_deep_a_result_may_be(unit, name):
    value, depth = getattr(unit, name)(200), 0
    while value != 1:
        value, depth = (value["a"] if name == "dicts" else value[0]), depth + 1
    assert depth == 200
    with pytest.raises(RecursionError):
        getattr(unit, name)(DEPTH)


@pytest.mark.parametrize("which", range(6))
def test_printing(unit, which):
    with pytest.raises(RecursionError, match="maximum recursion depth exceeded while printing a value"):
        unit.show(which, DEPTH)
    if which > 2:
        assert unit.show(which, 5).count("1") in (2, 12)


def test_hashes_and_types(unit):
    assert unit.digest(5) == unit.digest(5)
    assert unit.is_pair(1) and not unit.is_pair(2)
    for function in (unit.digest, unit.is_pair):
        with pytest.raises(RecursionError):
            function(DEPTH)


def test_deep_copies(unit):
    assert copy.deepcopy(unit.chain(100)).next is not None
    with pytest.raises(RecursionError):
        copy.deepcopy(unit.chain(DEPTH))


def test_arguments_that_hold_themselves(unit):
    cu = cresset.CompilationUnit("def f(x: Any) -> int:\n  return 1\n")
    own, deep = [], 1
    own.append(own)
    for _ in range(100_000):
        deep = [deep]
    for argument in (own, deep):
        with pytest.raises(RuntimeError):
            cu.f(argument)


def test_at_the_end_of_the_process():
    code = """
        import cresset
        cu = cresset.CompilationUnit('''%s''')
        keep = cu.chain(300_000)
        future = cresset.fork(cu.lists, 300_000)
        cu.drop(300_000)
        print("done")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code) % SOURCE], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_chains_of_awaitables():
    def step(aw: Await[torch.Tensor]) -> torch.Tensor:
        return torch.jit._awaitable_wait(aw) + 1

    def f(x: torch.Tensor, n: int, wait: bool):
        aw = torch.jit._awaitable_nowait(x)
        for _ in range(n):
            aw = torch.jit._awaitable(step, aw)
        if wait:
            return torch.jit._awaitable_wait(aw)
        return x

    script = cresset.script(f)
    x = torch.zeros(2)
    assert torch.equal(script(x, 200, True), x + 200)
    assert torch.equal(script(x, 200_000, False), x)
    with pytest.raises(RecursionError):
        script(x, 200_000, True)


def test_an_awaitable_that_waits_for_itself():
    def step(aws: List[Await[int]], n: int) -> int:
        return torch.jit._awaitable_wait(aws[0])

    def f() -> int:
        aws = torch.jit.annotate(List[Await[int]], [])
        aws.append(torch.jit._awaitable(step, aws, 1))
        result = torch.jit._awaitable_wait(aws[0])
        return result

    with pytest.raises(RecursionError):
        cresset.script(f)()


def test_threads_that_wait_for_one_awaitable():
    def slow(x: torch.Tensor, n: int) -> torch.Tensor:
        for _ in range(n):
            x = torch.tanh(x) + 1
        return x

    def f(x: torch.Tensor, n: int) -> Await[torch.Tensor]:
        return torch.jit._awaitable(slow, x, n)

    script = cresset.script(f)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            awaitable = script(torch.zeros(2), 50)
            results = list(pool.map(cresset._awaitable_wait, [awaitable] * 8))
            assert all(result is results[0] or torch.equal(result, results[0]) for result in results)
            again = cresset._awaitable_wait(awaitable)
            assert {r.data_ptr() for r in results} == {again.data_ptr()}
