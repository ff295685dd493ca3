"""cresset.script on nn.Modules: methods, attributes, containers, hooks, properties, interfaces. torch.jit is the oracle."""

import copy
import inspect
import io
import os
import re
import subprocess
import warnings
from collections import OrderedDict
from typing import Dict, List, NamedTuple, Optional, Tuple

import numpy
import pytest
import torch
import torch.nn.functional as F
from script_helpers import check
from torch import Tensor, nn

import cresset

warnings.filterwarnings("ignore", category=DeprecationWarning)


def x23():
    return torch.arange(6.0).reshape(2, 3)


# ---- methods


class Calls(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.scale = 2.0

    def helper(self, x):
        return self.lin(x) * self.scale

    def forward(self, x, y: Optional[Tensor] = None, *, times: int = 1):
        for _ in range(times):
            x = self.helper(x)
        if y is not None:
            x = x + y
        return x

    @torch.jit.export
    def exported(self, n: int) -> int:
        return n + self.count()

    def count(self) -> int:
        return 3

    @staticmethod
    def twice(x):
        return x * 2

    @torch.jit.export
    def uses_static(self, x):
        return self.twice(x)


def test_calls():
    scripted = check(Calls(), x23(), oracle=False)  # torch.jit takes no keyword-only parameter with a default
    assert scripted.exported(4) == 7
    assert torch.equal(scripted.uses_static(torch.ones(2)), torch.full((2,), 2.0))
    check(Calls(), x23(), x23(), oracle=False)
    check(Calls(), x23(), oracle=False, kwargs={"times": 3})
    assert not hasattr(scripted, "twice")


def test_signatures_and_schema():
    module = Calls()
    scripted = cresset.script(module)
    assert "times" in str(scripted.forward.schema)
    assert inspect.signature(scripted.forward) == inspect.signature(module.forward)
    linear = nn.Linear(2, 2)
    ours, theirs = cresset.script(linear), torch.jit.script(linear)
    assert inspect.signature(ours.forward) == inspect.signature(theirs.forward)
    assert scripted.forward.__name__ == "forward"


class Inherited(Calls):
    def helper(self, x):
        return x - 1


def test_inherited_methods():
    check(Inherited(), x23(), oracle=False)


class ViaSuper(Calls):
    def forward(self, x):
        y = super(ViaSuper, self).helper(x)  # noqa: UP008
        return super().forward(x, times=2) + y + Calls.helper(self, x)


def test_super():
    check(ViaSuper(), x23(), oracle=False)  # torch.jit has no super


class Point(NamedTuple):
    x: Tensor
    n: int


class NamedResult(nn.Module):
    def forward(self, x):
        return Point(x + 1, 3)


def test_named_tuple_result():
    result = cresset.script(NamedResult())(x23())
    assert result.n == 3
    assert torch.equal(result.x, x23() + 1)


class Recursive(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 3

    def forward(self, n: int) -> int:
        return self.down(n) + self.k

    def down(self, n: int) -> int:
        if n == 0:
            return 0
        return self.down(n - 1) + 1


def test_annotated_recursion():
    assert cresset.script(Recursive())(5) == 8


def test_training_flag():
    class M(nn.Module):
        def forward(self, x):
            if self.training:
                return x + 1
            return x

    scripted = check(M(), x23())
    scripted.eval()
    assert torch.equal(scripted(x23()), x23())
    scripted.train()
    assert torch.equal(scripted(x23()), x23() + 1)


def test_attributes_are_written():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0
            self.items: List[int] = []
            self.total = torch.zeros(1)
            self.register_buffer("seen", torch.zeros(1))

        def forward(self, x):
            self.n += 1
            self.total = self.total + x.sum()
            self.seen += 1
            return self.total

    Counter.__annotations__ = {"items": List[int]}
    scripted = check(Counter(), x23())
    scripted(x23())
    assert scripted.n == 2
    assert scripted.seen.item() == 2


def test_function_attributes():
    class M(nn.Module):
        def __init__(self, activation):
            super().__init__()
            self.activation = activation

        def forward(self, x):
            return self.activation(x)

    check(M(F.relu), x23())
    check(M(torch.tanh), x23())

    def own(x):
        return x * 3

    check(M(own), x23())
    check(M(cresset.script(own)), x23(), oracle=False)


def test_overridden_forward_of_one_object():
    import types

    class M(nn.Module):
        def forward(self, x):
            return x

    def other(self, x):
        return x + 10

    plain, changed = M(), M()
    changed.forward = types.MethodType(other, changed)
    assert torch.equal(cresset.script(plain)(x23()), x23())
    assert torch.equal(cresset.script(changed)(x23()), x23() + 10)


# ---- containers


class Containers(nn.Module):
    def __init__(self):
        super().__init__()
        self.list = nn.ModuleList([nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3)])
        self.seq = nn.Sequential(OrderedDict(a=nn.Linear(3, 3), b=nn.Tanh()))
        self.dict = nn.ModuleDict({"x": nn.Linear(3, 3), "y": nn.Linear(3, 3)})
        self.params = nn.ParameterList([nn.Parameter(torch.ones(3)), nn.Parameter(torch.full((3,), 2.0))])
        self.table = nn.ParameterDict({"u": nn.Parameter(torch.ones(3)), "v": nn.Parameter(torch.full((3,), 3.0))})
        self.empty = nn.ModuleList()


class Iterated(Containers):
    def forward(self, x):
        for layer in self.list:
            x = layer(x)
        for i, layer in enumerate(self.list):
            x = layer(x) + i
        for a, b in zip(self.list, self.seq):
            x = a(x) + b(x)
        for layer in self.seq:
            x = layer(x)
        for name, layer in self.dict.items():
            x = layer(x) + len(name)
        for layer in self.dict.values():
            x = layer(x)
        for key in self.dict:
            x = x + len(key)
        for key in self.dict.keys():
            x = x + len(key)
        for p in self.params:
            x = x * p
        for layer in self.empty:
            x = layer(x)
        return x


class Indexed(Containers):
    def forward(self, x):
        x = self.list[0](x) + self.list[-1](x)
        for layer in self.list[1:]:
            x = layer(x)
        for layer in self.list[::-1]:
            x = layer(x)
        x = self.seq[0](x) + self.seq.a(x)
        x = self.dict["x"](x) + self.dict["y"](x)
        x = x * self.params[0] + self.params[1]
        x = x + len(self.list) + len(self.seq) + len(self.dict) + len(self.params) + len(self.empty)
        if "x" in self.dict:
            x = x + 1
        if "z" in self.dict:
            x = x + 100
        return x + self.table["u"] * self.table["v"]


class Collected(Containers):
    def forward(self, x):
        ys = [layer(x) for layer in self.list]
        return torch.stack(ys), self.seq(x)


class Walked(Containers):
    def forward(self, x):
        n = 0
        for _m in self.children():
            n += 1
        for name, _m in self.named_children():
            n += len(name)
        for _m in self.modules():
            n += 1
        for name, _m in self.named_modules():
            n += len(name)
        for layer in reversed(self.list):
            x = layer(x)
        return x + n


@pytest.mark.parametrize("cls", [Iterated, Collected])
def test_containers(cls):
    check(cls(), x23())


@pytest.mark.parametrize("cls", [Indexed, Walked])
def test_containers_beyond_torch_jit(cls):
    check(cls(), x23(), oracle=False)


def test_all_tensors_of_a_module():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))

        def forward(self, x):
            total = torch.zeros(1)
            for p in self.parameters():
                total = total + p.sum()
            n = 0
            for name, _p in self.named_parameters():
                n += len(name)
            for name, _b in self.named_buffers():
                n += len(name)
            return total + n

    check(M(), x23(), oracle=False)


def test_container_subclasses():
    class Stack(nn.ModuleList):
        def forward(self, x):
            for layer in self:
                x = layer(x)
            return x

    class Block(nn.Sequential):
        def __init__(self, n):
            super().__init__(nn.Linear(n, n), nn.ReLU())

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.stack = Stack([Block(3), Block(3)])

        def forward(self, x):
            return self.stack(x)

    check(M(), x23())


def test_index_that_is_no_constant():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.ReLU()])

        def forward(self, x, i: int):
            return self.layers[i](x)

    with pytest.raises(RuntimeError, match="Expected integer literal for index"):
        cresset.script(M())


# ---- interfaces


@cresset.interface
class Activation(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Double(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


class Triple(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 3

    def forward(self, x: Tensor) -> Tensor:
        return x * self.k


class NotOne(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class WithInterface(nn.Module):
    impl: Activation

    def __init__(self, impl):
        super().__init__()
        self.impl = impl

    def forward(self, x):
        return self.impl.forward(x) + self.impl(x)


def test_interface_and_swapping():
    scripted = cresset.script(WithInterface(Double()))
    assert torch.equal(scripted(x23()), x23() * 4)
    scripted.impl = cresset.script(Triple())
    assert torch.equal(scripted(x23()), x23() * 6)
    with pytest.raises(RuntimeError):
        scripted.impl = cresset.script(NotOne())
    with pytest.raises(RuntimeError, match="Cannot re-assign modules in a ScriptModule with non-scripted module"):
        scripted.impl = Double()


def test_not_the_interface():
    with pytest.raises(RuntimeError, match="(?i)not compatible|is not a"):
        cresset.script(WithInterface(NotOne()))


def test_indexed_by_interface():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.list = nn.ModuleList([Double(), Triple()])
            self.dict = nn.ModuleDict({"a": Double(), "b": Triple()})

        def forward(self, x, i: int, k: str):
            layer: Activation = self.list[i]
            other: Activation = self.dict[k]
            return layer.forward(x), other.forward(x)

    scripted = cresset.script(M())
    a, b = scripted(torch.ones(1), 1, "a")
    assert (a.item(), b.item()) == (3, 2)
    assert scripted(torch.ones(1), -2, "b")[0].item() == 2
    with pytest.raises(IndexError):
        scripted(torch.ones(1), 2, "a")
    with pytest.raises(KeyError):
        scripted(torch.ones(1), 0, "c")


# ---- properties


class WithProperty(nn.Module):
    __jit_unused_properties__ = ["unusable"]

    def __init__(self):
        super().__init__()
        self.k = 3

    @property
    def next(self) -> int:
        return self.k + 1

    @next.setter
    def next(self, value: int):
        self.k = value - 1

    @property
    def unusable(self):
        return object()

    @torch.jit.unused
    @property
    def unusable_too(self):
        return object()

    def forward(self, x):
        self.next = 10
        return x + self.next


def test_properties():
    scripted = check(WithProperty(), x23())
    assert scripted.next == 10
    scripted.next = 4
    assert scripted.k == 3


# ---- ignored


class Ignoring(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 3
        self.calls = 0

    @torch.jit.ignore
    def python(self, x: Tensor, n: int = 1) -> Tensor:
        values = {"a": x}
        return values["a"] + self.k + n

    @cresset.ignore
    def plain(self, x):
        return x - 1

    @torch.jit.unused
    def dropped(self, x):
        yield x

    def forward(self, x, bad: bool = False):
        if bad:
            x = self.dropped(x)
        return self.python(self.plain(x), n=2) + self.python(x)


def test_ignored_methods():
    scripted = check(Ignoring(), x23(), oracle=False)  # torch.jit does not see defaults of ignored methods
    assert torch.equal(scripted.python(torch.ones(1)), torch.tensor([5.0]))
    with pytest.raises(RuntimeError, match="Cannot call @unused methods"):
        scripted(x23(), True)


def test_ignored_forward():
    class Inner(nn.Module):
        @torch.jit.ignore
        def forward(self, x):
            return x + len([1, "a"])

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(x)

    check(Outer(), x23())


# ---- overloads


class Overloaded(nn.Module):
    @torch.jit._overload_method  # noqa: F811
    def pick(self, x: int) -> int:
        pass

    @torch.jit._overload_method  # noqa: F811
    def pick(self, x: Tensor) -> Tensor:  # noqa: F811
        pass

    def pick(self, x):  # noqa: F811
        if isinstance(x, int):
            return x + 1
        return x + 2

    def forward(self, x):
        return self.pick(x), self.pick(3)


def test_overloaded_methods():
    check(Overloaded(), x23())


def test_lstm_is_callable():
    module = nn.LSTM(2, 3)
    torch.manual_seed(0)
    x = torch.randn(4, 2)
    scripted = cresset.script(module)
    out, (h, c) = scripted(x)
    expected, (h2, c2) = module(x)
    torch.testing.assert_close((out, h, c), (expected, h2, c2), rtol=0, atol=0)


# ---- hooks


class Inner(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x) * 2


def pre_hook(self, input: Tuple[Tensor]) -> Tuple[Tensor]:
    return (input[0] * 10,)


def hook(self, input: Tuple[Tensor], output: Tensor) -> Tensor:
    return output + input[0]


def silent_hook(self, input: Tuple[Tensor], output: Tensor) -> None:
    assert len(input) == 1


def test_hooks():
    module = Outer()
    module.inner.register_forward_pre_hook(pre_hook)
    module.inner.register_forward_hook(hook)
    module.inner.register_forward_hook(silent_hook)
    module.register_forward_hook(hook)
    module.register_forward_pre_hook(pre_hook)
    check(module, x23())


def bad_hook(self, input: Tuple[int], output: Tensor) -> Tensor:
    return output


def untyped_hook(self, input, output):
    return output


def short_pre_hook(self) -> None:
    return None


@pytest.mark.parametrize("which", ["bad", "untyped", "short"])
def test_wrong_hooks(which):
    def make():
        module = Inner()
        if which == "bad":
            module.register_forward_hook(bad_hook)
        elif which == "untyped":
            module.register_forward_hook(untyped_hook)
        else:
            module.register_forward_pre_hook(short_pre_hook)
        return module

    with pytest.raises(RuntimeError) as theirs:
        torch.jit.script(make())
    with pytest.raises(RuntimeError) as ours:
        cresset.script(make())
    first = str(theirs.value).split("\n")[0]
    assert first.split("'")[0] in str(ours.value)


def test_python_hooks_on_the_wrapper():
    scripted = cresset.script(Outer())
    seen = []
    scripted.register_forward_hook(lambda module, args, result: seen.append(result))
    scripted(x23())
    assert len(seen) == 1


@pytest.mark.parametrize("engine", [cresset, torch.jit])
@pytest.mark.parametrize("nested", [False, True])
def test_hooks_in_archives(engine, nested, tmp_path):
    inner = Outer()
    inner.inner.register_forward_hook(hook)
    inner.register_forward_pre_hook(pre_hook)
    inner.register_forward_hook(hook)
    module = nn.Sequential(inner, nn.Tanh()) if nested else inner
    expected = module(x23())
    path, again = str(tmp_path / "hooks.pt"), str(tmp_path / "again.pt")
    engine.script(module).save(path)
    loaded = cresset.load(path)
    loaded.save(again)
    for one in (loaded, copy.deepcopy(loaded), torch.jit.load(path), cresset.load(again), torch.jit.load(again)):
        torch.testing.assert_close(one(x23()), expected, rtol=0, atol=0)
    out = str(tmp_path / "out.npy")
    numbers = tmp_path / "x.pt"
    torch.save(x23(), numbers)
    subprocess.run(
        [os.environ.get("CRESSET_COMMAND", "cresset"), "run", path, f"@{numbers}", "--save", out], check=True
    )
    torch.testing.assert_close(torch.from_numpy(numpy.load(out)), expected)
    loaded.register_forward_hook(lambda module, args, result: result + 1)  # besides those that it has
    torch.testing.assert_close(loaded(x23()), expected + 1, rtol=0, atol=0)


# ---- errors


class Unconvertible(nn.Module):
    def __init__(self):
        super().__init__()
        self.thing = object()
        self.nothing_known = []

    def forward(self, x):
        return self.use(x)

    def use(self, x):
        return x


class UsesThing(Unconvertible):
    def use(self, x):
        return self.thing


class UsesList(Unconvertible):
    def use(self, x):
        return len(self.nothing_known)


class UsesMissing(Unconvertible):
    def use(self, x):
        return self.missing


def test_unconvertible_attributes_matter_only_when_used():
    check(Unconvertible(), x23())


@pytest.mark.parametrize("cls", [UsesThing, UsesList, UsesMissing])
def test_errors_name_the_reason(cls):
    with pytest.raises(RuntimeError) as theirs:
        torch.jit.script(cls())
    with pytest.raises(cresset.CompileError) as ours:
        cresset.script(cls())
    first = str(theirs.value).split("\n")[0].split(" Its type was")[0]
    assert str(ours.value).startswith(first.removesuffix(".:").rstrip(" :."))
    assert ours.value.line == inspect.getsourcelines(cls.use)[1] + 1


def test_errors_show_who_called():
    with pytest.raises(cresset.CompileError) as error:
        cresset.script(UsesThing())
    assert "forward" in str(error.value)
    assert "return self.use(x)" in str(error.value)


def test_nothing_stays_of_a_failed_attempt():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.bad = UsesThing()
            self.good = nn.Linear(3, 3)

        def forward(self, x):
            return self.good(x)

    for _ in range(2):
        with pytest.raises(cresset.CompileError):
            cresset.script(M())
    check(nn.Linear(3, 3), x23())


# ---- scripted modules are nn.Modules


def test_shares_parameters():
    module = nn.Linear(3, 3)
    scripted = cresset.script(module)
    assert scripted.weight is module.weight
    optimizer = torch.optim.SGD(scripted.parameters(), lr=0.1)
    before = module.weight.clone()
    scripted(x23()).sum().backward()
    optimizer.step()
    assert not torch.equal(module.weight, before)
    assert torch.equal(scripted(x23()), module(x23()))


def test_state_dict_goes_both_ways():
    module = Containers()
    scripted = cresset.script(module)
    assert list(scripted.state_dict()) == list(module.state_dict())
    other = cresset.script(Containers())
    other.load_state_dict(module.state_dict())
    Containers().load_state_dict(scripted.state_dict())
    buffer = io.BytesIO()
    torch.save(scripted.state_dict(), buffer)


def test_names_and_printing():
    module = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    scripted = cresset.script(module)
    theirs = torch.jit.script(module)
    assert repr(scripted) == repr(theirs)
    assert scripted.original_name == "Sequential"
    assert isinstance(scripted, nn.Module)
    assert isinstance(scripted, cresset.ScriptModule)


def test_a_deep_copy_shares_with_what_is_copied_beside_it():
    scripted = cresset.script(nn.Linear(2, 2))
    module, weight = copy.deepcopy([scripted, scripted.weight])
    assert module.weight is weight and weight is not scripted.weight
    weight, module = copy.deepcopy([scripted.weight, scripted])
    assert module.weight is weight and weight is not scripted.weight


def test_copies():
    scripted = cresset.script(Outer())
    twin = copy.deepcopy(scripted)
    assert torch.equal(twin(x23()), scripted(x23()))
    lin = cresset.script(nn.Linear(3, 3))
    deep, shallow = copy.deepcopy(lin), copy.copy(lin)
    assert deep.weight is not lin.weight
    assert shallow.weight is lin.weight
    with torch.no_grad():
        deep.weight.zero_()
    assert lin.weight.abs().sum() > 0


def test_moves():
    scripted = cresset.script(nn.Linear(3, 3))
    scripted.double()
    assert scripted.weight.dtype == torch.float64
    assert scripted(x23().double()).dtype == torch.float64
    scripted.half().float().to("cpu").to(torch.bfloat16)
    assert scripted.weight.dtype == torch.bfloat16
    scripted.requires_grad_(False)
    assert not scripted.weight.requires_grad
    scripted.zero_grad()
    scripted.apply(lambda m: None)


def test_data_parallel():
    import torch.distributed as dist

    if not dist.is_available():
        pytest.skip("no torch.distributed")
    store = dist.HashStore()
    dist.init_process_group("gloo", rank=0, world_size=1, store=store)
    try:
        module = nn.Linear(3, 3)
        scripted = cresset.script(module)
        parallel = nn.parallel.DistributedDataParallel(scripted)
        optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1)
        parallel(x23()).sum().backward()
        gradient = scripted.weight.grad.clone()
        optimizer.step()
        module.zero_grad()
        expected = torch.autograd.grad(module(x23()).sum(), module.weight)[0]
        torch.testing.assert_close(gradient, expected)
    finally:
        parallel = None  # if it goes after the group, torch may wait for a thread that waits for Python's lock
        dist.destroy_process_group()


def test_attributes_set_afterwards():
    scripted = cresset.script(Calls())
    scripted.note = "mine"
    assert scripted.note == "mine"
    scripted.scale = 3.0
    assert torch.equal(scripted(x23()), scripted.lin(x23()) * 3.0)
    with pytest.raises(RuntimeError):
        scripted.scale = "text"
    with pytest.raises(RuntimeError, match="constant"):
        scripted.lin.in_features = 4


def factor(x):
    return 2


def test_define():
    scripted = cresset.script(nn.Linear(3, 3))
    scripted.define("def twice(self, x):\n    return self.forward(x) * factor(x)")
    assert torch.equal(scripted.twice(x23()), scripted(x23()) * 2)


def test_scripting_twice_is_the_same_class():
    a, b = cresset.script(nn.Linear(2, 2)), cresset.script(nn.Linear(2, 2))
    assert a._c.class_id() == b._c.class_id()
    assert cresset.script(a) is a


def test_scripted_submodules():
    inner = cresset.script(nn.Linear(3, 3))

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner
            self.list = nn.ModuleList([inner, inner])

        def forward(self, x):
            for layer in self.list:
                x = layer(x)
            return self.inner(x)

    scripted = cresset.script(M())
    assert scripted.inner is inner
    assert torch.equal(scripted(x23()), inner(inner(inner(x23()))))


def test_prepare_scriptable():
    class Replaced(nn.Module):
        def forward(self, x):
            return {1: x}["a"]

        def __prepare_scriptable__(self):
            return nn.ReLU()

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = Replaced()

        def forward(self, x):
            return self.layer(x)

    assert torch.equal(cresset.script(M())(-x23()), torch.relu(-x23()))


# ---- the older style


class OlderStyle(cresset.ScriptModule):
    __constants__ = ["k"]

    def __init__(self, k):
        super().__init__()
        self.k = k
        self.lin = nn.Linear(3, 3)
        self.weight = nn.Parameter(torch.ones(3))
        self.register_buffer("seen", torch.zeros(1))
        self.names = cresset.Attribute({}, Dict[str, int])
        assert self.names == {}

    @cresset.script_method
    def forward(self, x):
        self.seen += 1
        return self.lin(x) * self.weight + self.k + self.helper(x) + len(self.names)

    @cresset.script_method
    def helper(self, x):
        return x * 2

    def python_only(self):
        return [type(self).__name__, self.k]


def test_older_style():
    module = OlderStyle(4)
    result = module(x23())
    assert torch.equal(result, module.lin(x23()) * module.weight + 4 + x23() * 2)
    assert module.seen.item() == 1
    assert isinstance(module.weight, nn.Parameter)
    assert isinstance(module.lin, cresset.RecursiveScriptModule)
    assert module.python_only() == ["OlderStyle", 4]
    assert list(module.state_dict()) == ["weight", "seen", "lin.weight", "lin.bias"]
    assert repr(module).startswith("OlderStyle(")
    assert module.names == {}
    with pytest.raises(RuntimeError):
        module.register_parameter("new", nn.Parameter(torch.ones(1)))


def shape_of_graph(text):
    """A graph's lines without places in files and with values numbered as they come; without the object's type."""
    names = {}
    text = re.sub(r" *# .*", "", text).replace(",\n      ", ", ")
    text = re.sub(r"%self : [^,]*", "%self", text)
    return re.sub(r"%[\w.]+", lambda found: names.setdefault(found[0], f"%{len(names)}"), text).strip()


def test_seed_example_code():
    class M(cresset.ScriptModule):
        @cresset.script_method
        def forward(self, x, y, z):
            # type: (Tensor, int, float) -> Tensor
            if y > 2:
                x = x + z
            else:
                x = x + y
            return x

    class T(torch.jit.ScriptModule):
        @torch.jit.script_method
        def forward(self, x, y, z):
            # type: (Tensor, int, float) -> Tensor
            if y > 2:
                x = x + z
            else:
                x = x + y
            return x

    m, t = M(), T()
    assert m.code.strip() == t.code.strip()
    kinds = [node.kind() for node in m.graph.nodes()]
    assert sorted(kinds) == sorted(node.kind() for node in t.graph.nodes())
    seed = """graph(%self, %x.1 : Tensor, %y : int, %z : float):
  %5 : int = prim::Constant[value=1]()
  %3 : int = prim::Constant[value=2]()
  %4 : bool = aten::gt(%y, %3)
  %x : Tensor = prim::If(%4)
    block0():
      %x.2 : Tensor = aten::add(%x.1, %z, %5)
      -> (%x.2)
    block1():
      %x.3 : Tensor = aten::add(%x.1, %y, %5)
      -> (%x.3)
  return (%x)
"""
    assert shape_of_graph(str(m.graph)) == shape_of_graph(seed)
    assert torch.equal(m(torch.ones(2), 3, 0.5), torch.full((2,), 1.5))
    assert torch.equal(m(torch.ones(2), 1, 0.5), torch.full((2,), 2.0))


def test_seed_example_attributes():
    class M(cresset.ScriptModule):
        def __init__(self):
            super(M, self).__init__()  # noqa: UP008
            self.float = cresset.Attribute(2.3, float)
            self.tuple = cresset.Attribute((1, 2, 3, 4), Tuple[int, int, int, int])
            self.tensor = cresset.Attribute(torch.randn(2, 2), torch.Tensor)
            self.int_list = cresset.Attribute([1, 2, 3, 4], List[int])

        @cresset.script_method
        def forward(self):
            return (self.float, self.tuple, self.tensor, self.int_list)

    m = M()
    assert m.code == "def forward(self) -> Tuple[float, Tuple[int, int, int, int], Tensor, List[int]]:\n" + (
        "  return (self.float, self.tuple, self.tensor, self.int_list)\n"
    )
    number, numbers, tensor, ints = m()
    assert (number, numbers, ints) == (2.3, (1, 2, 3, 4), [1, 2, 3, 4])
    assert tensor is m.tensor


def test_older_style_inherits():
    class Child(OlderStyle):
        @cresset.script_method
        def helper(self, x):
            return x * 3

    module = Child(1)
    assert torch.equal(module(x23()), module.lin(x23()) * module.weight + 1 + x23() * 3)


def test_methods_as_text_at_the_top_of_a_file():
    namespace = {"__name__": "made_up", "cresset": cresset, "torch": torch}
    exec(  # where locals are globals
        "factor = 3\nclass Text(cresset.ScriptModule):\n    pass\nmodule = Text()\n"
        "module.define('def forward(self, x: Tensor):\\n    return x * factor\\n')",
        namespace,
    )
    assert torch.equal(namespace["module"](torch.ones(2)), torch.full((2,), 3.0))
