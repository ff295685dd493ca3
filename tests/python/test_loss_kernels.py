"""Losses without gradients within kernels, and what they are composed of, against eager PyTorch."""

import pytest
import torch
import torch.nn.functional as F
from kernel_checks import checked, launches

import cresset

pytestmark = pytest.mark.usefixtures(checked.__name__)

#: Of a loss of classes: after `F.`, for values `x`, a target `t` and weights `w` of the classes.
CLASSES = [
    f"{name}, t{weight}, reduction='{reduction}'{rest})"
    for name, rest in (
        ("cross_entropy(x", ""),
        ("cross_entropy(x", ", ignore_index=2"),
        ("cross_entropy(x", ", label_smoothing=0.1"),
        ("cross_entropy(x", ", label_smoothing=0.2, ignore_index=1"),
        ("nll_loss(F.log_softmax(x, 1)", ""),
        ("nll_loss(F.log_softmax(x, 1)", ", ignore_index=1"),
    )
    for weight in ("", ", w")
    for reduction in ("none", "mean", "sum")
]
#: Of losses of two tensors `x` and `y` of the same sizes, `p` and `q` between 0 and 1, and `s`, which is -1 or 1.
ELEMENTS = [
    f"{call}, reduction='{reduction}')"
    for call in (
        "kl_div(x, p",
        "kl_div(x, y, log_target=True",
        "binary_cross_entropy(p, q",
        "binary_cross_entropy(p, q, q[0]",
        "binary_cross_entropy_with_logits(x, q",
        "binary_cross_entropy_with_logits(x, q, p[0], pos_weight=q[0]",
        "soft_margin_loss(x, s",
        "hinge_embedding_loss(x, s, 0.7",
        "margin_ranking_loss(x[:, 0], y[:, 0], s[:, 0], 0.3",
        "poisson_nll_loss(x, p",
        "poisson_nll_loss(q, p * 3, log_input=False, full=True",
        "triplet_margin_loss(x, y, p, swap=True",
        "cosine_embedding_loss(x, y, s[:, 0], 0.1",
        "cross_entropy(x, p",
        "cross_entropy(x, p, q[0], label_smoothing=0.1",
    )
    for reduction in ("none", "mean", "sum")
] + ["cosine_similarity(x, y)", "cosine_similarity(x, y, dim=0)", "pairwise_distance(x, y)"]
ARGUMENTS = "x: Tensor, y: Tensor, p: Tensor, q: Tensor, s: Tensor, t: Tensor, w: Tensor"


def compiled(call):
    body = f"def f({ARGUMENTS}):\n  return F.{call}"
    scope = {"F": F, "Tensor": torch.Tensor, "torch": torch}
    exec(body, scope)
    return cresset.CompilationUnit("import torch\nimport torch.nn.functional as F\n" + body).f, scope["f"]


def arguments(size, dtype=torch.float32):
    generator = torch.Generator().manual_seed(sum(size))
    x, y = torch.randn(2, *size, generator=generator, dtype=torch.float64).to(dtype)
    p, q = torch.rand(2, *size, generator=generator, dtype=torch.float64).to(dtype)
    t = torch.randint(size[1], (size[0], *size[2:]), generator=generator)
    return [x, y, p, q, torch.where(y < 0, -1.0, 1.0).to(dtype), t, p.flatten()[: size[1]] + 0.5]


def agree(call, size, dtype=torch.float32, laid_out=lambda x: x):
    """At most twice as far from float64 as eager PyTorch is, and a few roundings. Returns how many kernels were launched."""
    script, eager = compiled(call)
    given = [laid_out(a) if a.dim() == len(size) else a for a in arguments(size, dtype)]
    expected, truth = eager(*given), eager(*(a.double() if a.is_floating_point() else a for a in given))
    script(*given)
    before = launches()
    found = script(*given)
    assert found.dtype == expected.dtype and found.shape == expected.shape and found.stride() == expected.stride()
    error, allowed = (found.double() - truth).abs(), (expected.double() - truth).abs()
    eps = torch.finfo(dtype).eps
    assert (error <= 2 * allowed + 32 * eps * (1 + truth.abs())).all(), call
    return launches() - before


@pytest.mark.parametrize("size", [(5, 3), (33, 70), (4, 3, 5), (2, 5, 6, 7)], ids=str)
@pytest.mark.parametrize("call", CLASSES)
def test_losses_of_classes(call, size):
    assert agree(call, size) > 0
    agree(call, size, torch.float64)
    agree(call, size, torch.bfloat16)
    agree(call, size, laid_out=lambda x: x.transpose(0, -1).contiguous().transpose(0, -1))


@pytest.mark.parametrize("call", ELEMENTS)
def test_losses_of_elements(call):
    for size in ((5, 3), (33, 70)):
        # No single loop goes over all elements where a row is broadcast; and the rank of what F expands is not known.
        assert agree(call, size) > 0 or "[0]" in call
        agree(call, size, torch.float64)
        agree(call, size, laid_out=lambda x: x.t().contiguous().t())


@pytest.mark.parametrize("numerics", ["exact", "default"])
@pytest.mark.parametrize(
    "call",
    [
        "cross_entropy(x, t + x.size(1))",
        "cross_entropy(x, t - 1, reduction='sum')",
        "cross_entropy(x, t, w[:2])",
        "cross_entropy(x, t, w[:1], label_smoothing=0.1)",
        "cross_entropy(x, t[:1])",
        "cross_entropy(x, t, label_smoothing=1.5)",
        "cross_entropy(x, x[:, :2])",
        "nll_loss(x, t + x.size(1), w)",
        "nll_loss(x, t[:2], reduction='none')",
        "binary_cross_entropy(p + 1, q)",
        "binary_cross_entropy(p, q, x)",
        "binary_cross_entropy(p, q - 1)",
        "binary_cross_entropy(p, q * float('nan'), reduction='sum')",
        "binary_cross_entropy(x - float('nan'), q, reduction='none')",
        "binary_cross_entropy(p, q[0])",
        "binary_cross_entropy_with_logits(x, q, torch.stack([p, p]))",
        "binary_cross_entropy_with_logits(x[:, :1], q[:, :1], p)",
        "binary_cross_entropy_with_logits(x, q[:, :1])",
        "soft_margin_loss(x, s[0, :2])",
        "cosine_similarity(x, y[:, :2])",
        "kl_div(x, p[:, :2], reduction='sum')",
    ],
)
def test_errors_are_eagers(call, numerics):
    given = arguments((4, 3))
    with cresset.options.override(numerics=numerics):
        script, eager = compiled(call)
        try:
            expected = eager(*given)
        except (RuntimeError, ValueError, IndexError) as error:
            said = (
                str(error).splitlines()[0].replace("torch.Size(", "").replace("])", "]")
            )  # scripts have no torch.Size
            for _ in range(2):
                with pytest.raises(RuntimeError) as raised:
                    script(*given)
                assert said in str(raised.value)
        else:
            assert torch.equal(script(*given), expected) or torch.allclose(script(*given), expected, equal_nan=True)


def test_classes_that_are_ignored():
    """All of them: the mean is NaN. A class that is ignored need not be one."""
    x, t = torch.randn(4, 3), torch.tensor([-100, 1, -100, 2])
    script, eager = compiled("cross_entropy(x, t)")
    rest = [x] * 4
    torch.testing.assert_close(script(x, *rest, t, x[0]), eager(x, *rest, t, x[0]))
    assert script(x, *rest, torch.full_like(t, -100), x[0]).isnan()


@pytest.mark.parametrize(
    "call",
    [
        "cross_entropy(x * 2, t) * 2",
        "cross_entropy(x * 2, t, w, label_smoothing=0.1)",
        "nll_loss(F.log_softmax(x, 1), t)",
    ],
)
def test_neighbours_share_kernels(call):
    """One kernel goes over rows, one over what they gave; there may be one for the weights."""
    with cresset.options.override(kernels="now"):
        assert agree(call, (33, 70)) <= 3


def test_what_lies_in_memory_is_left_to_the_operator():
    """It reads one element of each row."""
    with cresset.options.override(kernels="now"):
        for call in ("nll_loss(x, t)", "nll_loss(x, t, reduction='none')"):
            assert agree(call, (33, 70)) == 0


def test_infinite_values():
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([[inf, 1.0, 2.0], [-inf, 1.0, 2.0], [nan, 0.0, 1.0], [-inf, -inf, -inf], [1e30, -1e30, 0.0]])
    t = torch.tensor([0, 0, 1, 2, 1])
    for call in ("cross_entropy(x, t, reduction='none')", "cross_entropy(x, t, w, reduction='none')"):
        script, eager = compiled(call)
        rest = [x] * 4
        torch.testing.assert_close(
            script(x, *rest, t, torch.ones(3)), eager(x, *rest, t, torch.ones(3)), equal_nan=True
        )


def test_exact_numerics_are_eagers():
    with cresset.options.override(numerics="exact"):
        for call in CLASSES[:6] + ELEMENTS[::3]:
            script, eager = compiled(call)
            given = arguments((33, 70))
            assert torch.equal(script(*given), eager(*given))
