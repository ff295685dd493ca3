"""Kernels of views of what they are given, some of which are copies for some layouts, against eager PyTorch: values and strides.

With the option kernels=check, each launch is also compared with the operators one by one, each in a kernel of its own.
"""

import pytest
import torch
from kernel_checks import both, checked, launches, layouts

pytestmark = pytest.mark.usefixtures(checked.__name__)

VIEWS = [
    "x.contiguous()",
    "x.t().contiguous()",
    "x.t().contiguous().t()",
    "x.t().contiguous()[1:, ::2]",
    "x.t().contiguous().view(-1)",
    "x.t().contiguous().view(2, 3, -1)[:, 1]",
    "x.t().reshape(-1)",
    "x.t().reshape(2, -1).t()",
    "x.t().flatten()[1:]",
    "x.t().reshape(3, -1).reshape(-1, 3)",
    "x.t().contiguous().unsqueeze(1).expand(-1, 2, -1)",
    "x.t().contiguous().chunk(2, 0)[1]",
    "x.reshape(-1, 2).t().contiguous()",
    "x[None].permute(2, 0, 1).contiguous().squeeze(1)",
]
AFTER = [
    "v * 2 + 1",
    "v.exp().sum()",
    "(v * 2).softmax(-1)",
    "(v + v.flatten()[0]).relu()",
    "v.cumsum(0) * 2",
    "(v * 3, v == v)",
]


@pytest.mark.parametrize("view", VIEWS)
def test_views(view):
    for after in AFTER:
        script, eager = both(f"def f(x: Tensor):\n  v = {view}\n  return {after}\n")
        before = launches()
        for x in layouts(torch.randn(4, 6, generator=torch.Generator().manual_seed(0))):
            found, expected = script(x), eager(x)
            pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
            for a, b in pairs:
                assert a.stride() == b.stride(), (view, after)
                torch.testing.assert_close(a, b)
        assert launches() > before, (view, after)


@pytest.mark.parametrize(
    "call",
    [
        "v[i] + 1",
        "v.index_add(0, i, v[i] * 2)",
        "torch.conv1d(v[None], v[:, :3][:, None] * 1, groups=6)",
        "v @ v.t() + 1",
    ],
)
def test_what_is_addressed_by_strides(call):
    """Sources, targets and windows that are copies."""
    script, eager = both(f"def f(x: Tensor, i: Tensor):\n  v = x.t().contiguous()\n  return {call}\n")
    for x in layouts(torch.randn(4, 6)):
        i = torch.tensor([0, 5, 2, 2])
        torch.testing.assert_close(script(x, i), eager(x, i), rtol=1e-5, atol=1e-5)


def test_views_by_strides():
    """They reach memory by where it lies in the storage, not in the tensor."""
    for call in (
        "x.as_strided([2, 2], [1, 2], 3)",
        "x.t().contiguous().as_strided([2, 3], [4, 1])",
        "x.as_strided([2], [3])",
    ):
        script, eager = both(f"def f(x: Tensor):\n  return {call} * 2 + 1\n")
        memory = torch.randn(40)
        for begin in (0, 9, 0, 3):
            x = memory[begin : begin + 16].view(4, 4)
            torch.testing.assert_close(script(x), eager(x))


def test_what_is_written_after_a_copy():
    """A view that is a copy has the elements that there were when it was made; any other those that there are."""
    script, eager = both("def f(x: Tensor):\n  v = x.contiguous()\n  x.add_(1)\n  return v * 2 + 1\n")
    for given in (torch.randn(4, 6), torch.randn(6, 4).t(), torch.randn(4, 12)[:, ::2]):
        mine, theirs = (
            given.as_strided(given.size(), given.stride()).clone(memory_format=torch.preserve_format) for _ in range(2)
        )
        if given.stride() != mine.stride():
            mine, theirs = (torch.randn(4, 12)[:, ::2].copy_(given) for _ in range(2))
        torch.testing.assert_close(script(mine), eager(theirs))
        torch.testing.assert_close(mine, theirs)
