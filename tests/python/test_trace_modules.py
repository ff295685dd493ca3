"""Traces of modules compared with eager and torch.jit.trace: structure, parameters, buffers, gradients, methods."""

import copy
import inspect
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import cresset


def jit_trace(module, inputs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.trace(module, inputs)


def quietly(module, inputs, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error", cresset.TracerWarning)
        return cresset.trace(module, inputs, **options)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x, scale=None):
        self.count.add_(1)
        return self.fc(x) + self.count, x.view(x.shape[0], -1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()
        self.weight = nn.Parameter(torch.rand(3))
        self.seq = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
        self.items = nn.ModuleList([nn.Linear(3, 3)])
        self.unused = nn.Linear(2, 2)

    def forward(self, x):
        y, z = self.block(x)
        y, _ = self.block(y)
        for item in self.items:
            y = item(y)
        return self.seq(y * self.weight) + z

    def scaled(self, x, by):
        return self.items[0](x) * by


def test_a_module_with_submodules():
    net, eager = Net(), Net()
    eager.load_state_dict(net.state_dict())
    traced = quietly(net, torch.rand(2, 3), check_trace=False)
    net.load_state_dict(eager.state_dict())
    for rows in (2, 5):
        x = torch.rand(rows, 3)
        torch.testing.assert_close(traced(x), eager(x), rtol=0, atol=0)
        assert torch.equal(traced.block.count, eager.block.count)
    x = torch.rand(4, 3)
    for module in (traced, eager):
        module.zero_grad()
        module(x).sum().backward()
    for (name, a), (other, b) in zip(traced.named_parameters(), eager.named_parameters()):
        assert name == other
        assert (a.grad is None) == (b.grad is None)
        if a.grad is not None:
            assert torch.equal(a.grad, b.grad)


def test_the_structure_is_that_of_torch_jit():
    net = Net()
    ours = quietly(net, torch.rand(2, 3), check_trace=False)
    theirs = jit_trace(net, torch.rand(2, 3))
    for path in ("", "block", "block.fc", "seq", "seq.0", "seq.1", "items", "items.0", "unused"):
        mine, other = ours.get_submodule(path), theirs.get_submodule(path)
        assert mine._c.method_names() == other._c._method_names(), path
        for method in mine._c.method_names():
            schema, wanted = mine._c.method(method).schema, other._c._get_method(method).schema
            assert len(schema.arguments) == len(wanted.arguments), (path, method)
            assert schema.returns[0].type.annotation_str == wanted.returns[0].type.annotation_str, (path, method)
    assert "(block).forward(" in ours.code and "(block).forward1(" in ours.code
    assert "self.weight" in ours.code


def test_parameters_are_shared():
    net = Net()
    traced = quietly(net, torch.rand(2, 3), check_trace=False)
    assert traced.block.fc.weight is net.block.fc.weight
    assert [name for name, _ in traced.named_parameters()] == [name for name, _ in net.named_parameters()]
    assert list(traced.state_dict()) == list(net.state_dict())


def test_trace_module_with_several_methods():
    net = Net()
    inputs = {"forward": torch.rand(2, 3), "scaled": (torch.rand(2, 3), torch.rand(3))}
    traced = cresset.trace_module(net, inputs, check_trace=False)
    x, by = torch.rand(4, 3), torch.rand(3)
    torch.testing.assert_close(traced.scaled(x, by), net.scaled(x, by))
    assert [a.name for a in traced.scaled.schema.arguments] == ["self", "x", "by"]


def test_errors_of_trace_module():
    net = Net()
    with pytest.raises(AttributeError, match="expected torch.nn.Module as the first argument"):
        cresset.trace_module(lambda x: x, {"forward": torch.rand(2)})
    with pytest.raises(AttributeError, match="expected a dictionary of"):
        cresset.trace_module(net, torch.rand(2))
    with pytest.raises(AttributeError, match="trace doesn't support compiling individual module's functions"):
        cresset.trace(net.scaled, (torch.rand(2, 3), torch.rand(3)))
    with pytest.raises(NameError, match=r"'y' is not in forward\(\) method's arguments"):
        cresset.trace(net, example_kwarg_inputs={"y": torch.rand(2, 3)})


def test_keyword_inputs():
    net = Net()
    traced = cresset.trace(net, example_kwarg_inputs={"x": torch.rand(2, 3)}, check_trace=False)
    assert traced(x=torch.rand(5, 3)).shape == (5, 3)


def test_the_forward_of_a_module():
    net = nn.Linear(3, 2)
    traced = quietly(net.forward, torch.rand(1, 3))
    x = torch.rand(4, 3)
    assert torch.equal(traced(x), net(x))


class Tied(nn.Module):
    """A weight of one submodule that another one uses; a value that crosses scopes."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(7, 3)
        self.head = Head(self.embedding)

    def forward(self, x):
        y = self.embedding(x)
        kept = []
        z = self.head(y, kept)
        return z + kept[0].sum()


class Head(nn.Module):
    def __init__(self, embedding):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.hidden = [embedding]

    def forward(self, x, kept):
        kept.append(x * 2)
        return F.linear(self.fc(x), self.hidden[0].weight)


def test_values_that_cross_scopes():
    net = Tied()
    traced = quietly(net, torch.arange(4))
    x = torch.arange(6)
    assert torch.equal(traced(x), net(x))
    assert "self.embedding" in traced.code


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = self.a

    def forward(self, x):
        return self.a(self.b(x))


def test_a_module_with_two_names():
    net = Twice()
    traced = quietly(net, torch.rand(2, 3))
    x = torch.rand(4, 3)
    assert torch.equal(traced(x), net(x))
    assert traced.a is traced.b


def test_batch_norm_updates_its_buffers():
    net, eager = nn.BatchNorm1d(3), nn.BatchNorm1d(3)
    traced = quietly(net, torch.rand(4, 3), check_trace=False)
    net.load_state_dict(eager.state_dict())
    x = torch.rand(8, 3)
    assert torch.equal(traced(x), eager(x))
    assert torch.equal(traced.running_mean, eager.running_mean)
    assert traced.num_batches_tracked == eager.num_batches_tracked == 1


class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.fc.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
        self.fc.register_forward_hook(lambda module, args, result: result + 1)

    def forward(self, x):
        return self.fc(x)


def test_hooks_are_traced():
    net = Hooked()
    traced = quietly(net, torch.rand(2, 3))
    x = torch.rand(4, 3)
    assert torch.equal(traced(x), net(x))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
        self.lstm = nn.LSTM(8, 8, batch_first=True)

    def forward(self, x):
        y, weights = self.attention(x, x, x)
        z = self.layer(y)
        out, (h, c) = self.lstm(z)
        mask = torch.ones(x.size(1), x.size(1)).tril()
        scores = (out @ out.transpose(1, 2)).masked_fill(mask == 0, float("-inf")).softmax(-1)
        return scores @ out + h[-1].unsqueeze(1), weights


@pytest.mark.parametrize("training", [True, False])
def test_transformers_run_at_other_lengths(training):
    net = Attention().train(training)
    traced = quietly(net, torch.rand(2, 4, 8))
    for shape in ((2, 4, 8), (3, 7, 8), (1, 1, 8)):
        x = torch.rand(shape)
        torch.testing.assert_close(traced(x), net(x), rtol=1e-5, atol=1e-6)


class WithScript(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x * 2) + 1


def test_script_modules_stay_calls():
    inner = quietly(nn.Linear(3, 3), torch.rand(1, 3))
    inner.define("def twice(self, x: Tensor) -> Tensor:\n  return self.forward(self.forward(x))\n")
    traced = quietly(WithScript(inner), torch.rand(2, 3))
    x = torch.rand(4, 3)
    torch.testing.assert_close(traced(x), inner(x * 2) + 1)
    assert "(inner).forward(" in traced.code


def test_an_exception_in_a_submodule_leaves_nothing_behind():
    class Bad(nn.Module):
        def forward(self, x):
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        cresset.trace(WithScript(Bad()), torch.rand(2))
    assert not cresset.is_tracing()
    traced = quietly(WithScript(nn.ReLU()), torch.rand(2))
    assert traced(-torch.ones(3)).tolist() == [1, 1, 1]


def test_a_parameter_of_no_module():
    other = nn.Linear(3, 3)

    class Outside(nn.Module):
        def forward(self, x):
            return other(x)

    with pytest.raises(RuntimeError, match="Cannot insert a Tensor that requires grad as a constant"):
        cresset.trace(Outside(), torch.rand(2, 3))


def test_the_check_of_modules():
    class Random(nn.Module):
        def forward(self, x):
            return F.dropout(x, 0.5, True)

    with pytest.warns(cresset.TracerWarning, match="Trace had nondeterministic nodes"):
        cresset.trace(Random(), torch.ones(100))
    quietly(nn.Dropout().eval(), torch.ones(100))


def test_a_script_module_within_keeps_its_forward():
    class Part(torch.nn.Module):
        def forward(self, x: torch.Tensor, k: int = 2) -> torch.Tensor:
            return x * k

    part = cresset.script(Part())
    before = part.forward
    cresset.trace(torch.nn.Sequential(part), torch.ones(2))
    assert part.forward is before
    for module in (part, copy.deepcopy(part), copy.copy(part)):
        assert inspect.signature(module.forward) == inspect.signature(Part().forward)
