"""Modules that torch.jit made, inside of modules that Cresset scripts and traces."""

import io

import pytest
import torch
from torch import nn

import cresset


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.register_buffer("shift", torch.ones(2))
        self.scale = 2.0
        self.table = torch.arange(2.0)

    def forward(self, x):
        return self.linear(x) * self.scale + self.shift + self.table

    @torch.jit.export
    def other(self, x):
        return x * self.scale


class Around(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.again = inner

    def forward(self, x):
        return self.inner(x) + self.again(x)


MAKERS = {
    "scripted": lambda: torch.jit.script(Scaled()),
    "traced": lambda: torch.jit.trace(Scaled(), torch.ones(2)),
    "frozen": lambda: torch.jit.freeze(torch.jit.script(Scaled().eval())),
    "loaded": lambda: reloaded(torch.jit.script(Scaled())),
}


def reloaded(module):
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    return torch.jit.load(io.BytesIO(buffer.getvalue()))


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("how", ["script", "trace"])
def test_their_code_is_taken_over(kind, how):
    module = Around(MAKERS[kind]())
    x = torch.rand(2)
    expected = module(x)
    ours = cresset.script(module) if how == "script" else cresset.trace(module, x)
    assert torch.equal(ours(x), expected) and isinstance(ours.inner, cresset.ScriptModule)
    theirs, found = list(module.named_parameters()), list(ours.named_parameters())
    assert [name for name, _ in found] == [name for name, _ in theirs]
    assert all(a is b for (_, a), (_, b) in zip(found, theirs))
    buffer = io.BytesIO()
    ours.save(buffer)
    for jit in (torch.jit, cresset):
        assert torch.equal(jit.load(io.BytesIO(buffer.getvalue()))(x), expected)


def test_training_reaches_both():
    module = Around(torch.jit.script(Scaled()))
    ours = cresset.script(module)
    ours(torch.ones(2)).sum().backward()
    assert module.inner.linear.weight.grad is not None
    with torch.no_grad():
        module.inner.linear.weight.zero_()
        module.inner.shift.fill_(5)
    assert torch.equal(ours(torch.ones(2)), module(torch.ones(2)))


def test_exported_methods_are_there():
    class Calls(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.jit.script(Scaled())

        def forward(self, x):
            return self.inner.other(x)

    assert torch.equal(cresset.script(Calls())(torch.ones(1)), torch.tensor([2.0]))


def test_what_has_no_saved_form_is_refused():
    class Python(nn.Module):
        @torch.jit.ignore
        def outside(self, x):
            return x

        def forward(self, x):
            return self.outside(x)

    with pytest.raises(RuntimeError, match="was made by torch.jit and can't be taken over(.|\n)*Convert the original"):
        cresset.script(Around(torch.jit.script(Python())))


class Ignored(nn.Module):
    __jit_ignored_attributes__ = ["thing", "raising"]

    def __init__(self):
        super().__init__()
        self.thing = object()

    @property
    def raising(self):
        raise RuntimeError("nobody may ask")

    def forward(self, x):
        return x


def test_ignored_properties_are_not_asked():
    module = Ignored()
    for jit in (torch.jit, cresset):
        scripted = jit.script(module)
        assert torch.equal(scripted(torch.ones(1)), torch.ones(1)) and scripted.thing is module.thing
