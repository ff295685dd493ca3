"""Scripts in their surroundings: what they print and warn, what a profiler sees, operators that go away."""

import io
import sys
import warnings
from contextlib import redirect_stdout

import pytest
import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import checkpoint

import cresset

X = torch.ones(2, 2)


def unit(source, file=""):
    cu = cresset.CompilationUnit()
    cu.define(source, file)
    return cu


# ---- print ----


def test_print_follows_sys_stdout_from_any_thread():
    cu = unit("def f(x: int):\n  print('hello', x)\ndef g(x: int):\n  torch.jit.wait(torch.jit.fork(f, x))\n")
    out = io.StringIO()
    with redirect_stdout(out):
        cu.f(1)
        cu.g(2)
        cresset.fork(cu.f, 3).wait()
    assert out.getvalue() == "hello 1\nhello 2\nhello 3\n"


def test_print_without_a_stdout(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    unit("def f(x: int):\n  print(x)\n").f(1)


# ---- warnings ----

WARNS = "def f(n: int) -> int:\n    for i in range(n):\n        torch.warn('careful')\n    return n\n"


def caught(filter_, call):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter(filter_)
        call()
    return [(str(w.message), w.category, w.filename, w.lineno) for w in seen]


def test_a_warning_has_the_scripts_file_and_line():
    cu = unit("\n\n" + WARNS, "model.py")
    assert caught("always", lambda: cu.f(1)) == [("careful", UserWarning, "model.py", 5)]


def test_filters_decide():
    cu = unit(WARNS, "filters.py")
    assert caught("ignore", lambda: cu.f(3)) == []
    assert len(caught("always", lambda: cu.f(3))) == 3
    # Once per place, as for a line of Python.
    assert len(caught("default", lambda: cu.f(3))) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="careful") as error:
            cu.f(1)
        assert isinstance(error.value, cresset.Error)
        assert error.value.frames == (("f", "filters.py", 3),)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="filters")
        assert caught("ignore", lambda: cu.f(1)) == []


def test_warnings_that_were_given_are_forgotten_in_time():
    """Python remembers each text; a script can make ever new ones."""
    f = cresset.CompilationUnit("def f(text: str):\n    torch.warn(text)\n").f
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        f("first")
        f("first")
        assert [str(w.message) for w in caught] == ["first"]
        for i in range(400):
            f(str(i) * 5000)
        f("first")
    assert str(caught[-1].message) == "first" and len(caught) == 402


def test_warnings_of_forks():
    cu = unit(WARNS + "def g(n: int) -> int:\n    return torch.jit.wait(torch.jit.fork(f, n))\n", "forks.py")
    assert caught("always", lambda: cu.g(1)) == [("careful", UserWarning, "forks.py", 3)]


def test_a_warning_in_an_archive_names_the_authors_file():
    class M(torch.nn.Module):
        def forward(self, x):
            warnings.warn("from the archive")  # noqa: B028
            return x

    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(M()), buffer)
    buffer.seek(0)
    module = cresset.load(buffer)
    [(message, _, file, line)] = caught("always", lambda: module(X))
    assert message == "from the archive" and file.endswith("test_host.py")
    assert "from the archive" in open(__file__).read().splitlines()[line - 1]


def test_operators_warnings_reach_python_too():
    # A deprecation that ATen itself tells of, once per process; so look for a kind that repeats.
    torch.set_warn_always(True)
    try:
        cu = unit("def f(x: Tensor, out: Tensor) -> Tensor:\n  return torch.add(x, x, out=out)\n")
        wrong_size = torch.ones(3)
        [(message, category, file, _)] = caught("always", lambda: cu.f(X, wrong_size))
        assert "was resized" in message and category is UserWarning and file == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UserWarning, match="was resized"):
                cu.f(X, torch.ones(3))
    finally:
        torch.set_warn_always(False)


# ---- torch.profiler ----

PROFILED = """def g(x: Tensor) -> Tensor:
    return torch.relu(x) + 1
def f(x: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = g(x)
    y = [1, 2].copy()
    return x
"""


def events(call, **options):
    call()  # compiled before
    with profile(activities=[ProfilerActivity.CPU], **options) as p:
        call()
    return p.events()


def test_functions_and_operators_are_events_of_the_profiler():
    cu = unit(PROFILED, "model.py")
    found = events(lambda: cu.f(X, 2))
    count = {}
    for event in found:
        count[event.name] = count.get(event.name, 0) + 1
    assert count["f"] == 1 and count["g"] == 2 and count["aten::relu"] == 2 and count["aten::add"] == 2
    assert count["aten::copy"] == 1  # a row of Cresset's own
    assert not any("model.py" in name for name in count)
    theirs = torch.jit.CompilationUnit(PROFILED)
    torch_events = events(lambda: theirs.f(X, 2))
    ours = {e.name: e.scope for e in found if e.name in "fg"}
    assert set(ours.values()) == {2}  # TORCHSCRIPT_FUNCTION
    for event in torch_events:
        if event.name in ours:
            assert event.scope == ours[event.name]
    relu = next(e for e in found if e.name == "aten::relu")
    assert relu.cpu_parent.name == "g" and relu.cpu_parent.cpu_parent.name == "f"


def test_lines_are_events_where_stacks_are_recorded():
    cu = unit(PROFILED, "model.py")
    found = events(lambda: cu.f(X, 1), with_stack=True)
    relu = next(e for e in found if e.name == "aten::relu")
    chain = []
    while relu:
        chain.append(relu.name)
        relu = relu.cpu_parent
    assert chain[:4] == ["aten::relu", "model.py(2): g", "g", "f"]


def test_the_profiler_sees_forks_and_errors():
    cu = unit(
        PROFILED + "def h(x: Tensor) -> Tensor:\n    return torch.jit.wait(torch.jit.fork(g, x))\n"
        "def bad(x: Tensor) -> Tensor:\n    return torch.mm(x, torch.ones([3, 3]))\n",
        "model.py",
    )
    names = [e.name for e in events(lambda: cu.h(X))]
    assert "h" in names and "g" in names

    def call_bad():
        with pytest.raises(RuntimeError):
            cu.bad(X)

    names = [e.name for e in events(call_bad)]
    assert names.count("bad") == 1


def test_shapes_of_own_rows():
    cu = unit("def f(x: Tensor) -> int:\n    return x.size(0) + len(x.size())\n")
    assert any(e.name == "aten::size" for e in events(lambda: cu.f(X), record_shapes=True))


# ---- operators that go away ----


def test_a_deregistered_operator_is_an_error_at_the_next_call():
    def register(schema="twice(Tensor x) -> Tensor", factor=2):
        lib = torch.library.Library("cresset_test", "DEF")
        lib.define(schema)
        lib.impl(schema.split("(")[0], lambda x, *args: x * factor, "CompositeExplicitAutograd")
        return lib

    lib = register()
    cu = unit("def f(x):\n  return torch.ops.cresset_test.twice(x)\n")
    assert torch.equal(cu.f(X), X * 2)
    lib._destroy()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="cresset_test::twice was registered when this code was compiled"):
            cu.f(X)
    with pytest.raises(RuntimeError, match="twice"):
        unit("def f(x):\n  return torch.ops.cresset_test.twice(x)\n").f(X)
    lib = register(factor=3)  # the same operator comes back
    assert torch.equal(cu.f(X), X * 3)
    lib._destroy()
    lib = register("twice(Tensor x, int n=1) -> Tensor", factor=4)  # another one under its name
    with pytest.raises(RuntimeError, match="compile the program again"):
        cu.f(X)
    assert torch.equal(unit("def f(x):\n  return torch.ops.cresset_test.twice(x)\n").f(X), X * 4)
    lib._destroy()


# ---- exceptions of Python's hooks ----


def chain():
    torch.manual_seed(0)
    layers = torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 4), torch.nn.Sigmoid()
    return torch.nn.Sequential(*layers)


@pytest.mark.parametrize(
    "make", [cresset.script, lambda m: cresset.trace(m, X.new_ones(2, 4))], ids=["script", "trace"]
)
def test_checkpoints_without_reentrance(make):
    """They stop the recomputation by an exception of a hook, and count what is saved, whichever call it is."""
    eager = chain()
    module = make(eager)
    for _ in range(4):
        x = torch.randn(2, 4, requires_grad=True)
        checkpoint(module, x, use_reentrant=False).square().sum().backward()
        mine, x.grad = x.grad, None
        eager(x).square().sum().backward()
        assert torch.equal(mine, x.grad)


class Subclass(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        raise IndexError("in dispatch")


def test_an_exception_of_a_hook_is_itself():
    module = cresset.script(chain())

    class Own(Exception):
        pass

    raised = Own("mine")

    def pack(tensor):
        raise raised

    for _ in range(3):
        x = torch.ones(2, 4, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t), pytest.raises(Own) as caught:
            module(x)
        assert caught.value is raised
        module(x).sum().backward()
    with pytest.raises(IndexError, match="in dispatch"):
        module(torch.Tensor._make_subclass(Subclass, torch.ones(2, 4)))


def test_an_exception_of_a_hook_goes_through_with_statements():
    cu = unit("""
def inner(x):
    return torch.tanh(x)
def f(x):
    with torch.no_grad():
        y = x + 1
    return inner(x) + y
def g(x):
    with torch.enable_grad():
        return torch.tanh(x)
""")
    x = torch.Tensor._make_subclass(Subclass, torch.ones(2))
    for function in (cu.inner, cu.f, cu.g):
        for _ in range(2):
            with pytest.raises(IndexError, match="in dispatch"):
                function(x)
    assert torch.is_grad_enabled()
    # A fork's thread is not Python's: there it is lost, and an error all the same.
    future = cresset.fork(cu.inner, x)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="a Python exception, which was lost"):
            future.wait()
