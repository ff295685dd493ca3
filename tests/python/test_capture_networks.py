"""Networks by cresset.compile: results, gradients, buffers and random numbers are eager's, in training and evaluation."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import cresset
from cresset import _frames


class Residual(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(c, c, 3, padding=1), nn.BatchNorm2d(c)
        self.c2, self.b2 = nn.Conv2d(c, c, 3, padding=1), nn.BatchNorm2d(c)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.act(self.b1(self.c1(x)))
        return self.act(self.b2(self.c2(y)) + x)


class Attention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.qkv, self.out = h, nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.norm, self.drop = nn.LayerNorm(d), nn.Dropout(0.1)

    def forward(self, x, mask=None):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4).unbind(0)
        a = (q @ k.transpose(-2, -1)) / (d // self.h) ** 0.5
        if mask is not None:
            a = a.masked_fill(mask == 0, float("-inf"))
        a = self.drop(a.softmax(-1))
        return x + self.out((a @ v).transpose(1, 2).reshape(b, t, d))


class GraphNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x, edges):
        messages = self.linear(x)[edges[0]]
        return F.elu(torch.zeros_like(x).index_add(0, edges[1], messages)) + x


NETWORKS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)), lambda n: (torch.randn(n, 8),)),
    "residual": (lambda: Residual(4), lambda n: (torch.randn(n, 4, 8, 8),)),
    "attention": (lambda: Attention(16, 4), lambda n: (torch.randn(n, 5, 16),)),
    "masked attention": (lambda: Attention(16, 4), lambda n: (torch.randn(n, 5, 16), torch.ones(5, 5).tril())),
    "graph": (GraphNetwork, lambda n: (torch.randn(n + 3, 8), torch.tensor([[0, 1, 2], [1, 2, 0]]))),
    "encoder": (lambda: nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), lambda n: (torch.randn(n, 5, 16),)),
    "multi-head": (lambda: nn.MultiheadAttention(16, 2, batch_first=True), lambda n: (torch.randn(n, 5, 16),) * 3),
    "lstm": (lambda: nn.LSTM(8, 8, 2), lambda n: (torch.randn(3, n, 8),)),
    "gru cell": (lambda: nn.GRUCell(8, 8), lambda n: (torch.randn(n, 8), torch.randn(n, 8))),
    "embedding": (
        lambda: nn.Sequential(nn.Embedding(10, 8), nn.Linear(8, 4), nn.LogSoftmax(-1)),
        lambda n: (torch.randint(0, 10, (n, 4)),),
    ),
    "transformer": (
        lambda: nn.Transformer(16, 2, 1, 1, 32, batch_first=True),
        lambda n: (torch.randn(n, 4, 16), torch.randn(n, 3, 16)),
    ),
    "convolution": (
        lambda: nn.Sequential(nn.Conv1d(4, 4, 3), nn.GELU(), nn.MaxPool1d(2), nn.Flatten(), nn.Linear(20, 3)),
        lambda n: (torch.randn(n, 4, 12),),
    ),
}


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for item in value for t in tensors_in(item)] if isinstance(value, (tuple, list)) else []


def observe(module, inputs):
    """Results and buffers, and gradients."""
    module.zero_grad()
    torch.manual_seed(7)
    inputs = [t.clone().requires_grad_() if t.is_floating_point() else t for t in inputs]
    results = tensors_in(module(*inputs))
    sum(t.pow(2).sum() for t in results if t.requires_grad).backward()
    gradients = [t.grad.clone() for t in [*module.parameters(), *inputs] if t.grad is not None]
    return results + [b.clone() for b in module.buffers()], gradients


@pytest.mark.parametrize("name", NETWORKS)
def test_network(name):
    make, inputs_of = NETWORKS[name]
    cresset.reset()
    torch.manual_seed(0)
    module = make()
    reference, compiled = copy.deepcopy(module), cresset.compile(module)
    for mode in (True, False, True):
        for m in (reference, module, compiled):
            m.train(mode)
        for i in range(5):
            inputs = inputs_of(2 + i % 3)
            (expected, gradients), (seen, seen_gradients) = observe(reference, inputs), observe(compiled, inputs)
            assert len(expected) == len(seen) and all(map(torch.equal, expected, seen))
            # Those of a compiled graph are added in another order.
            torch.testing.assert_close(seen_gradients, gradients, rtol=1e-5, atol=1e-6)
    ran = sum(plan.counts[0] for _, plan in _frames.plans_of(type(module).forward.__code__, None))
    assert ran >= 10, cresset.explain(compiled)
