"""Methods that `__overloads__` of a class lists in place of another one: quantized LSTMs and GRUs are written so. A call takes the
one that its arguments fit, as under torch.jit.
"""

import io
from typing import Optional

import pytest
import torch
from torch import Tensor, nn

import cresset

pytestmark = pytest.mark.filterwarnings("ignore")


class Small(nn.Module):
    __overloads__ = {"forward": ["of_int", "of_tensor"]}

    @torch.jit.export
    def of_int(self, x: int) -> int:
        return x + 1

    @torch.jit.export
    def of_tensor(self, x: Tensor) -> Tensor:
        return x * 2

    @torch.jit.ignore
    def forward(self, x):
        return self.of_tensor(x) if isinstance(x, Tensor) else self.of_int(x)


class Defaults(nn.Module):
    __overloads__ = {"forward": ["of_int", "of_tensor"]}

    @torch.jit.export
    def of_int(self, x: int, h: Optional[int] = 7, k: int = 3) -> int:
        return x + (100 if h is None else h) + k

    @torch.jit.export
    def of_tensor(self, x: Tensor, h: Optional[float] = 2.5, k: float = 0.5) -> Tensor:
        return x + (100.0 if h is None else h) + k

    @torch.jit.ignore
    def forward(self, x, h=None, k=None):
        raise RuntimeError("Python's")


class NotForward(nn.Module):
    __overloads__ = {"pick": ["of_int", "of_tensor"]}

    def of_int(self, x: int) -> int:
        return x + 1

    def of_tensor(self, x: Tensor) -> Tensor:
        return x * 2

    @torch.jit.ignore
    def pick(self, x):
        raise RuntimeError("Python's")

    def forward(self, x):
        return self.of_tensor(x), self.of_int(2), self.pick(x), self.pick(3), self.pick(x=x)


class Calls(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x), self.inner(3), self.inner(torch.ones(1))


class CallsWithDefaults(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Defaults()

    def forward(self, x):
        return self.inner(x), self.inner(1, None), self.inner(x, k=2.0), self.inner(x, None, 1.0)


class CallsState(nn.Module):
    def __init__(self, rnn):
        super().__init__()
        self.rnn = rnn

    def forward(self, x: Tensor, h: Tensor):
        y, state = self.rnn(x, h)
        return y * 2, state, self.rnn(x)


def quantized(layer):
    return torch.ao.quantization.quantize_dynamic(nn.Sequential(layer).eval(), {type(layer)}, dtype=torch.qint8)


def flat(value):
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in flat(v)]
    return [] if value is None else [torch.as_tensor(value)]


def same(found, expected):
    return all(torch.equal(a, b) for a, b in zip(flat(found), flat(expected), strict=True))


MODULES = {
    "small": lambda: (Calls(Small()), (torch.ones(2),)),
    "defaults": lambda: (CallsWithDefaults(), (torch.ones(2),)),
    "no forward": lambda: (NotForward(), (torch.ones(2),)),
    "GRU": lambda: (quantized(nn.GRU(8, 6)), (torch.randn(3, 2, 8),)),
    "LSTM": lambda: (quantized(nn.LSTM(8, 6, num_layers=2, bidirectional=True)), (torch.randn(3, 2, 8),)),
    "GRU with a state": lambda: (
        CallsState(quantized(nn.GRU(8, 6))[0]),
        (torch.randn(3, 2, 8), torch.randn(1, 2, 6)),
    ),
    "GRU itself": lambda: (quantized(nn.GRU(8, 6))[0], (torch.randn(3, 2, 8),)),
    "LSTM itself": lambda: (quantized(nn.LSTM(8, 6))[0], (torch.randn(3, 2, 8),)),
    "GRU of packed sequences": lambda: (
        quantized(nn.GRU(8, 6))[0],
        (nn.utils.rnn.pack_padded_sequence(torch.randn(3, 2, 8), [3, 2]),),
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_overloads(name):
    torch.manual_seed(0)
    module, args = MODULES[name]()
    theirs, ours = torch.jit.script(module), cresset.script(module)
    for _ in range(3):
        assert same(ours(*args), theirs(*args))
    if isinstance(args[0], tuple) or name.endswith("itself"):
        return  # the ignored forward, which Python calls, is in no archive
    for engine, scripted in ((torch.jit, theirs), (cresset, ours)):
        archive = io.BytesIO()
        engine.save(scripted, archive)
        for load in (torch.jit.load, cresset.load):
            archive.seek(0)
            options = {"trusted": True} if load is cresset.load else {}
            assert same(load(archive, **options)(*args), theirs(*args))


def test_the_same_module_after_torch_jit():
    """torch.jit writes what it found to the object's __overloads__."""
    module = Calls(nn.LSTM(2, 3))
    inner = module.inner
    torch.jit.script(inner)
    x = torch.randn(4, 2)
    assert same(cresset.script(inner)(x), inner(x))


def test_traces_have_the_overloads():
    module, args = MODULES["GRU"]()
    traced = cresset.trace(module, args)
    assert same(traced(*args), module(*args))


def unchanged(x):
    return x


def test_what_the_object_has_comes_first():
    module = nn.Sequential(Small())
    module[0].forward = unchanged
    assert same(cresset.script(module)(torch.ones(2)), module(torch.ones(2)))
    module = nn.Sequential(Small())
    module[0].of_int = unchanged
    with pytest.raises(cresset.UserError, match="'of_int' for 'forward', which is no method of the class"):
        cresset.script(module)


class Missing(nn.Module):
    __overloads__ = {"forward": ["nowhere"]}

    @torch.jit.ignore
    def forward(self, x):
        return x


def test_overloads_that_are_missing():
    with pytest.raises(cresset.UserError, match="__overloads__ of .*Missing' has 'nowhere' for 'forward'"):
        cresset.script(Missing())


def test_none_of_the_overloads():
    class Wrong(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Small()

        def forward(self, x: str):
            return self.inner(x)

    with pytest.raises(cresset.CompileError, match="None of the overloads of method 'forward' takes these arguments"):
        cresset.script(Wrong())


class ByDecorator(nn.Module):
    @torch.jit._overload_method  # noqa: F811
    def forward(self, x: int) -> int:
        pass

    @torch.jit._overload_method  # noqa: F811
    def forward(self, x: Tensor) -> Tensor:  # noqa: F811
        pass

    def forward(self, x):  # noqa: F811
        return x + 1


def test_python_calls_what_the_arguments_fit_as_they_are():
    """A tensor of one element would be an int, too."""
    scripted = cresset.script(ByDecorator())
    found = scripted(torch.ones(1))
    assert isinstance(found, Tensor) and found.tolist() == [2]
    assert scripted(x=torch.ones(1)).tolist() == [2] and scripted(2) == 3


# ---- defaults of None where a Tensor is declared


class IgnoredDefault(nn.Module):
    @torch.jit.ignore
    def called(self, x, h=None):
        return x if h is None else x + h

    def forward(self, x):
        return self.called(x)


class IgnoredDefaultGiven(IgnoredDefault):
    def forward(self, x):
        return self.called(x, x)


def declared(x, h: Tensor = None):
    return x if h is None else x + h


def pairs(x, h: "tuple[Tensor, Tensor]" = (None, None)):
    return x


def calls_declared(x):
    return declared(x)


def calls_pairs(x):
    return pairs(x)


def calls_declared_with_it(x):
    return declared(x, x)


@pytest.mark.parametrize("program", [IgnoredDefault, calls_declared, calls_pairs])
def test_no_tensor_by_default(program):
    program = program() if isinstance(program, type) else program
    with pytest.raises(cresset.CompileError, match="Argument h not provided. Its default is None(.|\n)*<--- HERE"):
        cresset.script(program)


def test_given_the_argument():
    x = torch.ones(2)
    assert cresset.script(IgnoredDefaultGiven())(x).tolist() == [2, 2]
    assert cresset.script(calls_declared_with_it)(x).tolist() == [2, 2]
