"""Numbers that graphs of captured plans are compiled with, and the bits that they have: `numerics`, settings, indices."""

import copy
import pickle

import pytest
import torch
import torch.nn.functional as F
from test_capture_graphs import agree, calls_in_graphs, same
from torch import nn

import cresset


def network():
    torch.manual_seed(0)
    return nn.Sequential(*[layer for _ in range(3) for layer in (nn.Linear(24, 24), nn.LayerNorm(24), nn.GELU())])


def with_kernels(compiled, *arguments):
    """The results of calls, the last of which run kernels."""
    results = [compiled(*arguments) for _ in range(4)]
    cresset.wait_for_compilation()
    return results + [compiled(*arguments) for _ in range(3)]


def test_exact_results_have_eagers_bits_and_default_ones_those_of_kernels():
    module, x = network(), torch.randn(8, 24)
    with cresset.options.override(numerics="default"), torch.no_grad():
        expected = module(x)
        for result in with_kernels(cresset.compile(module), x):
            assert torch.equal(result, expected)
        compiled = cresset.compile(module, numerics="default")
        results = with_kernels(compiled, x)
        assert calls_in_graphs(compiled) >= 9
        assert torch.equal(results[0], expected)  # the call that was recorded
        for result in results:
            torch.testing.assert_close(result, expected)
        assert all(torch.equal(result, results[-1]) for result in results[-3:])
        # Kernels are chosen by sizes, not by whether a plan was captured: a script has the same bits.
        scripted = cresset.script(module)
        assert torch.equal(with_kernels(scripted, x)[-1], results[-1])


def test_default_numerics_follow_the_option():
    cresset.reset()
    module, x = network(), torch.randn(8, 24)
    with cresset.options.override(numerics="exact"), torch.no_grad():
        for result in with_kernels(cresset.compile(module, numerics="default"), x):
            assert torch.equal(result, module(x))


def test_gradients_of_default_numerics():
    module, x = network(), torch.randn(8, 24)
    other = copy.deepcopy(module)
    compiled = cresset.compile(other, numerics="default")
    with cresset.options.override(numerics="default"):
        for _ in range(6):
            for each in (module, other):
                each.zero_grad()
            module(x).square().sum().backward()
            compiled(x).square().sum().backward()
            for a, b in zip(module.parameters(), other.parameters(), strict=True):
                torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-4)


def test_numerics_that_can_not_be():
    with pytest.raises(ValueError, match="numerics is 'exact' or 'default'; got 'fast'"):
        cresset.compile(network(), numerics="fast")
    with pytest.raises(ValueError, match="leave it out, or leave out the backend"):
        cresset.compile(network(), numerics="default", backend=lambda gm, inputs: gm)


def test_numerics_are_pickled():
    options = cresset._capture.options_of(None, False, None, 8, "default")
    assert pickle.loads(pickle.dumps(options)) is options


# ---- Tensors as indices


def test_indices():
    def f(x, i, j, mask):
        a = x[i] * 2
        b = torch.relu(x[:, j] - 1) + 1
        c = x[i, j[: i.shape[0]]].exp()
        d = x[mask].sin() + x[None, i, ..., 0].sum()
        return a, b, c, d

    x = torch.randn(5, 6)
    calls = [
        (x, torch.tensor([0, -1, 4]), torch.tensor([1, 2, 3, -6]), x > 0),
        (x.T, torch.tensor([0, 2]), torch.tensor([1, 2]), x.T > 9),
        (x, torch.tensor([], dtype=torch.long), torch.tensor([0]), x[:, 0] > 0),
        (x, torch.tensor([0, 1], dtype=torch.int32), torch.tensor([[0, 1], [2, 3]]), x > 0),
    ]
    assert calls_in_graphs(agree(f, *calls[:2])) >= 8
    compiled = cresset.compile(f)
    for _ in range(4):
        for call in calls:
            try:
                expected = f(*call)
            except (IndexError, RuntimeError) as error:
                with pytest.raises(type(error)):
                    compiled(*call)
            else:
                assert same(expected, compiled(*call))


def test_an_index_without_dimensions_makes_a_view():
    def f(x, i):
        y = x.relu() + 1
        z = (y * 2).exp()
        return x[i], z * 2 - 1

    compiled, x = cresset.compile(f), torch.randn(4, 3)
    for _ in range(3):
        compiled(x, torch.tensor([1, 2]))
    assert calls_in_graphs(compiled) >= 5
    for index in (torch.tensor(1), torch.tensor(True), torch.tensor(2, dtype=torch.uint8), torch.tensor([1])) * 3:
        part, expected = compiled(x, index)[0], f(x, index)[0]
        assert same(part, expected) and part._is_view() == expected._is_view()
        assert (part.data_ptr() == x[1].data_ptr()) == (expected.data_ptr() == x[1].data_ptr())


def test_indices_out_of_range_and_gradients():
    def f(x, i):
        y = torch.zeros_like(x)
        y[i] = x[i] * 2
        z = y.tanh() + y[:, i]
        return z.sum(1)

    compiled, x = cresset.compile(f), torch.randn(4, 4, dtype=torch.float64, requires_grad=True)
    for i in (torch.tensor([0, 1, 1, 3]), torch.tensor([3, -4, 2, 0])) * 4:
        gradients = [torch.autograd.grad(g(x, i).sin().sum(), x)[0] for g in (f, compiled)]
        torch.testing.assert_close(*gradients, rtol=1e-12, atol=1e-12)
    assert calls_in_graphs(compiled) >= 5
    with pytest.raises(IndexError, match="out of bounds|out of range"):
        compiled(x, torch.tensor([0, 1, 2, 4]))


# ---- Functions of other modules than torch and torch.nn.functional


def test_functions_of_other_modules():
    def f(x, w):
        y = torch.fft.irfft(torch.fft.rfft(x, dim=-1) * 2, n=x.shape[-1], dim=-1)
        z = torch.special.expit(y) + torch.special.xlogy(y.abs(), w)
        n = torch.linalg.vector_norm(z, dim=-1, keepdim=True) + torch.linalg.det(z[:3, :3])
        e = torch.einsum("ij,kj->ik", z, w) + torch.cdist(z, w).norm(2)
        u = F.interpolate(e[None, None], scale_factor=2.0, mode="bilinear", align_corners=False)
        return F.instance_norm(u * n.mean() + torch.norm(y, 2)), F.grid_sample(
            u, u[:, 0, :6, :2][:, None].tanh(), align_corners=True
        )

    calls = [(torch.randn(n, 8), torch.rand(n, 8) + 0.5) for n in (4, 7)]
    compiled = agree(f, *calls)
    assert calls_in_graphs(compiled) >= 25


def test_instance_norm_with_statistics():
    module = nn.InstanceNorm1d(3, affine=True, track_running_stats=True)
    other = copy.deepcopy(module)

    def call(norm, x):
        y = torch.relu(norm(x * 2 + 1)) - x
        return y.exp() * y

    compiled = cresset.compile(call)
    for training in (True, False, True):
        module.train(training), other.train(training)
        for _ in range(4):
            x = torch.randn(2, 3, 5)
            assert torch.equal(compiled(module, x), call(other, x))
            assert torch.equal(module.running_mean, other.running_mean)
            assert module.num_batches_tracked == other.num_batches_tracked


def test_parts_of_devices_and_dtypes():
    def f(x):
        y = x * 2 + 1
        if x.device.type == "cpu" and x.dtype.is_floating_point and x.device.index is None:
            y = y.exp() - y
        return y.sin() * x.dtype.itemsize

    compiled = agree(f, (torch.randn(3),), (torch.arange(3),), (torch.randn(3, dtype=torch.float64),))
    assert calls_in_graphs(compiled) >= 4


# ---- Numbers that objects have


class Block(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.conv = nn.Conv1d(4, 4, 3, padding=1, groups=groups)
        self.gain = 2.0

    def forward(self, x):
        y = self.conv(x).tanh() * self.gain
        return (y + x).sigmoid() - x.mean()


def test_settings_are_constants_until_they_change():
    block, x = Block(2), torch.randn(2, 4, 9)
    compiled = cresset.compile(block)
    for gain in (2.0, 2.0, 2.0, 3.0, 3.0, 4.0, 5.0, 6.0, 7.0, 2.0, 2.0, 2):
        block.gain = gain
        for _ in range(3):
            assert same(block.forward(x), compiled(x))
    assert len(cresset.explain(compiled).plans) <= 4  # with 2.0, with any float, with an int


def test_settings_of_several_objects():
    compiled, x = cresset.compile(Block.forward), torch.randn(2, 4, 9)
    blocks = [Block(1), Block(2), Block(4), Block(2), Block(1)]
    for i, block in enumerate(blocks):
        block.gain = float(i)
    for block in blocks * 3:
        assert same(block(x), compiled(block, x))
    assert len(cresset.explain(compiled).plans) <= 4


def test_settings_of_a_graph_are_forgotten_with_the_function():
    options = cresset._capture.options_of(None, False, None, 8)
    before = len(options.settings)
    block = Block(1)
    block.k = 3
    for _ in range(20):
        namespace = {"torch": torch}
        exec("def f(x, o):\n    return torch.relu(x * o.k + 1).exp() - o.k * x\n", namespace)
        compiled = cresset.compile(namespace["f"])
        for _ in range(3):
            compiled(torch.ones(2), block)
    del compiled, namespace
    cresset.reset()
    assert len(options.settings) <= before + 2


@pytest.mark.parametrize(
    "of_mask",
    [
        lambda m, x: torch.where(m, True, False),
        lambda m, x: torch.where(m, True, m),
        lambda m, x: torch.where(m, m, False),
        lambda m, x: m ^ True,
        lambda m, x: m | (x.dim() == 1),
        lambda m, x: m & x.is_floating_point(),
        lambda m, x: m.masked_fill(m, False),
        lambda m, x: torch.full_like(m, True),
        lambda m, x: torch.full((x.size(0),), True),
        lambda m, x: x.new_full((x.size(0),), True, dtype=None).to(bool),
        lambda m, x: F.pad(m, (0, 1), value=True)[:-1],
        lambda m, x: torch.logical_and(m, torch.tensor(True)),
        lambda m, x: m.eq(True),
        lambda m, x: m.clone().fill_(True),
        lambda m, x: torch.clamp(m.int(), min=True).bool(),
        lambda m, x: m * True,
        lambda m, x: m + False,
    ],
)
def test_bools_stay_bools(of_mask):
    """In scripts a bool is an int where an operator takes any number; not in graphs."""

    def function(x):
        y = (x * 2).tanh() + x
        keep = of_mask(y.abs() > 0.5, x)
        return y[keep].sin() * 2, keep.dtype, keep

    compiled = cresset.compile(function)
    for x in (torch.tensor([0.1, 1.0, 2.0, 0.05]), torch.tensor([0.6, 0.01, 0.2])) * 3:
        assert same(compiled(x), function(x))
