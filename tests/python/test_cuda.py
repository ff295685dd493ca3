"""Programs on CUDA, where there is one: operators with plans and all facts asserted, networks, autocast, streams and graphs, against eager."""

import copy
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_unflatten

import cresset

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")

#: They draw random numbers, or return what memory held.
RANDOM = (
    "bernoulli", "cauchy", "dropout", "efficient_attention", "empty", "exponential", "fractional", "geometric", "jiterator", "log_normal",
    "multi_head_attention", "multinomial", "normal", "pca_lowrank", "poisson", "rand", "resize", "rrelu", "scaled_dot_product_attention",
    "svd_lowrank", "uniform",
)  # fmt: skip
#: Of which PyTorch refuses gradients of these sums.
ILL_DEFINED = {"linalg.eig"}
OPERATORS = [
    op
    for op in op_db
    if not any(name in op.name for name in RANDOM)
    and op.name not in ILL_DEFINED
    and torch.float32 in op.supported_dtypes("cuda")
]


@pytest.fixture
def facts_asserted():
    with cresset.options.override(plans="always", check_facts="plans"):
        yield


def fresh(tensors):
    return [tensor.detach().clone().requires_grad_(tensor.requires_grad) for tensor in tensors]


def programs(op):
    """Functions of the tensors of each sample, with operators before and after the call, and those tensors."""
    for sample in list(op.sample_inputs("cuda", torch.float32, requires_grad=op.supports_autograd))[:6]:
        parts, spec = tree_flatten((sample.input, list(sample.args), dict(sample.kwargs)))
        places = [i for i, part in enumerate(parts) if isinstance(part, torch.Tensor)]

        def function(*tensors, parts=parts, spec=spec, places=places):
            given = list(parts)
            for place, tensor in zip(places, tensors, strict=True):
                given[place] = tensor * 1 if tensor.is_floating_point() else tensor
            first, args, kwargs = tree_unflatten(given, spec)
            results = [r for r in tree_flatten(op.op(first, *args, **kwargs))[0] if isinstance(r, torch.Tensor)]
            return tuple(r * 2 + 1 if r.is_floating_point() or r.is_complex() else r for r in results)

        inputs = [parts[place] for place in places]
        try:
            results = function(*fresh(inputs)) if inputs else ()
        except (RuntimeError, NotImplementedError):
            continue  # eager refuses it around other operators
        if results:
            yield function, inputs


def gradients(results, inputs):
    sums = [result.sum().abs() for result in results if result.requires_grad]
    return torch.autograd.grad(sums, [x for x in inputs if x.requires_grad], allow_unused=True) if sums else ()


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name + op.variant_test_name)
def test_operator(op, facts_asserted):
    for function, inputs in programs(op):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            traced = cresset.trace(function, tuple(fresh(inputs)), check_trace=False)
        for _ in range(3):
            xs, ys = fresh(inputs), fresh(inputs)
            expected, found = function(*xs), traced(*ys)
            for a, b in zip(expected, found if isinstance(found, tuple) else (found,), strict=True):
                assert (a.dtype, a.device, a.stride(), a.requires_grad) == (
                    b.dtype,
                    b.device,
                    b.stride(),
                    b.requires_grad,
                )
                torch.testing.assert_close(b, a, equal_nan=True)
            for a, b in zip(gradients(expected, xs), gradients(found, ys), strict=True):
                assert (a is None) == (b is None)
                if a is not None:
                    torch.testing.assert_close(b, a, equal_nan=True, rtol=1e-3, atol=1e-4)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(64), nn.LayerNorm(64)
        self.all, self.out = nn.Linear(64, 192), nn.Linear(64, 64)
        self.mlp = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.all(self.first(x)).view(b, t, 3, 4, d // 4).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d)
        x = x + self.out(y)
        return x + self.mlp(self.second(x))


class Convolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.out = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Linear(512, 10)

    def forward(self, x):
        return F.log_softmax(self.out(F.max_pool2d(F.relu(self.norm(self.conv(x))), 2).flatten(1)), -1)


class Loop(nn.Module):
    """Goes to the CPU and back."""

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(16, 32)

    def forward(self, x):
        h = torch.zeros(x.size(1), 32, device=x.device)
        c = h.clone()
        for i in range(x.size(0)):
            h, c = self.cell(x[i], (h, c))
        return h.cpu().to(x.device) + torch.arange(32, device=x.device).to(x.dtype)


NETWORKS = {"block": (Block, (2, 8, 64)), "convolution": (Convolution, (4, 3, 16, 16)), "loop": (Loop, (5, 3, 16))}
MAKERS = {
    "script": lambda module, x: cresset.script(module),
    "trace": lambda module, x: cresset.trace(module, x, check_trace=False),
    "compile": lambda module, x: cresset.compile(module),
}


@pytest.fixture(params=list(NETWORKS))
def network(request):
    make, sizes = NETWORKS[request.param]
    torch.manual_seed(0)
    return make().cuda(), torch.randn(sizes, device="cuda")


@pytest.mark.parametrize("dtype", [None, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("maker", list(MAKERS))
def test_gradients(network, maker, dtype):
    module, x = network
    eager, copied = copy.deepcopy(module), copy.deepcopy(module)
    made = MAKERS[maker](copied, x)
    for _ in range(4):
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        with torch.autocast("cuda", dtype or torch.float16, enabled=dtype is not None):
            expected, found = eager(a), made(b)
        assert (found.dtype, found.device) == (expected.dtype, expected.device)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
        for result in (expected, found):
            result.float().square().mean().backward()
        torch.testing.assert_close(b.grad, a.grad, rtol=1e-3, atol=1e-5)
        for p, q in zip(eager.parameters(), copied.parameters(), strict=True):
            torch.testing.assert_close(q.grad, p.grad, rtol=2e-3, atol=1e-4)


@torch.no_grad()
def test_frozen_and_saved(network, tmp_path):
    module, x = network
    expected = module.eval()(x)
    frozen = cresset.freeze(cresset.script(module))
    path = str(tmp_path / "frozen.pt")
    cresset.save(frozen, path)
    for made in (
        frozen,
        cresset.optimize_for_inference(cresset.script(module)),
        cresset.load(path),
        torch.jit.load(path),
    ):
        for _ in range(4):
            torch.testing.assert_close(made(x), expected, rtol=1e-4, atol=1e-5)
    there = cresset.load(path, map_location="cpu")(x.cpu())
    torch.testing.assert_close(there, expected.cpu(), rtol=1e-3, atol=1e-4)


@torch.no_grad()
def test_streams_and_graphs():
    module, x = Block().cuda().eval(), torch.randn(2, 8, 64, device="cuda")
    scripted, stream, graph = cresset.script(module), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            found = scripted(x)
    torch.cuda.current_stream().wait_stream(stream)
    torch.testing.assert_close(found, module(x), rtol=1e-4, atol=1e-5)
    with torch.cuda.graph(graph):
        found = scripted(x)
    x.normal_()
    graph.replay()
    torch.testing.assert_close(found, module(x), rtol=1e-4, atol=1e-5)
