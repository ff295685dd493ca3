"""Captured: torch.utils.checkpoint.checkpoint without reentrance, one graph of a plan that is computed again in the backward pass."""

import copy
import resource

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

import cresset

NET = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.4), nn.Linear(8, 4))
NORM = nn.BatchNorm1d(4)
ATTENTION = nn.MultiheadAttention(4, 2, dropout=0.1, batch_first=True)


def block(x, w):
    return torch.tanh(x @ w) * torch.sigmoid(x @ w) + 1


def plain(w, x):
    y = checkpoint(block, x * 2, w, use_reentrant=False)
    return checkpoint(block, y + 1, w, use_reentrant=False).relu() * 2


def dropping(w, x):
    y = checkpoint(lambda v: F.dropout(torch.tanh(v @ w), 0.5) * v, x * 2, use_reentrant=False)
    return F.dropout(y, 0.5) + torch.rand(4)


def of_modules(w, x):
    return checkpoint(NET, x @ w, use_reentrant=False, preserve_rng_state=True) * 2 + w.sum()


def with_keywords(w, x):
    def inner(a, *, scale, shift=None):
        return (a @ w).sin() * scale + (0 if shift is None else shift)

    return checkpoint(inner, x, scale=2, shift=x[0], use_reentrant=False) * 2


def of_several(w, x):
    def inner(a, b):
        y = torch.tanh(a @ b)
        return y, {"sum": y.sum(), "index": y.argmax(-1)}, [y.detach() * 2, 3]

    y, named, (detached, n) = checkpoint(inner, x * 2, w, use_reentrant=False)
    return y * named["sum"] * n + detached + named["index"].sum(), y, named["index"], detached


def by_sizes(w, x):
    def inner(a):
        y = a @ w
        return (y * y.shape[0]).tanh() * 2 if y.shape[0] > 3 else y.sin().cos() - 1

    return checkpoint(inner, x + 1, use_reentrant=False) * 2


def without_gradients_inside(w, x):
    def inner(a):
        with torch.no_grad():
            scale = (a @ w).abs().mean() + 1
        return torch.tanh(a @ w) / scale

    return checkpoint(inner, x * 2, use_reentrant=False) * 2


def of_no_argument(w, x):
    return checkpoint(lambda: torch.tanh(x @ w).exp() * 2 + 1, use_reentrant=False) * 2


def sequential(w, x):
    return checkpoint_sequential(NET, 2, (x @ w).tanh(), use_reentrant=False) * 2 + 1


def nothing_on_tape(w, x):
    with torch.no_grad():
        y = checkpoint(block, x * 2, w, use_reentrant=False) * 2
    return y + checkpoint(block, x.detach() * 2, w.detach(), use_reentrant=False) + w.sum()


def written_after(w, x):
    y = checkpoint(block, x * 2, w, use_reentrant=False)
    y *= 2
    y[0].add_(1)
    return y.tanh()


def around_autocast(w, x):
    with torch.autocast("cpu", torch.bfloat16):
        y = checkpoint(block, x * 2, w, use_reentrant=False)
        return (y @ w).float() * 2


def writing(w, x):
    def inner(a):
        rows = torch.zeros(a.shape[0], 4)
        rows[0] = 2.0
        rows += 1
        return torch.tanh(a @ w) * rows

    return checkpoint(inner, x * 2, use_reentrant=False) * 2


def with_options(w, x):
    options = {"context_fn": torch.utils.checkpoint.noop_context_fn, "early_stop": False, "debug": False}
    return checkpoint(block, x, w, use_reentrant=False, determinism_check="none", **options).relu() * 2


def asking_for_kinds(w, x):
    def inner(a):
        y = a @ w
        if y.dtype != torch.float32 or not y.is_floating_point() or y.is_nested:
            return y
        mask = torch.ones(y.shape[0], 4, dtype=torch.bool).triu()
        bias = torch.zeros_like(mask, dtype=y.dtype).masked_fill_(mask, -1.0)
        if bias.shape != (y.shape[0], 4) or bias.shape != y.shape:
            return y
        return (y + bias).tanh() * 2

    return checkpoint(inner, x * 2, use_reentrant=False) * 2


def of_attention(w, x):
    mask = torch.ones(x.shape[0], x.shape[0], dtype=torch.bool).triu(1)
    y = checkpoint(
        lambda v, m: ATTENTION(v, v, v, attn_mask=m, need_weights=False)[0],
        (x @ w).unsqueeze(0),
        mask,
        use_reentrant=False,
    )
    return y * 2


def returned_as_it_is(w, x):
    y = x * 2
    z, same = checkpoint(lambda v: ((v @ w).sin().cos() * 2, v), y, use_reentrant=False)
    return z + same + (same is y)


def nested(w, x):
    return checkpoint(lambda v: checkpoint(block, v * 2, w, use_reentrant=False).sin(), x, use_reentrant=False) * 2


CAPTURED = [
    nested, plain, dropping, of_modules, with_keywords, of_several, by_sizes, without_gradients_inside, of_no_argument, sequential,
    nothing_on_tape, written_after, returned_as_it_is, around_autocast, writing, with_options, asking_for_kinds, of_attention,
]  # fmt: skip


def views(w, x):
    return checkpoint(lambda v: (v @ w).tanh().chunk(2), x * 2, use_reentrant=False)[1] * 2 + 1


def counted(w, x):
    return checkpoint(lambda v: NORM((v @ w).tanh()), x * 2, use_reentrant=False) * 2


def random_as_it_comes(w, x):
    return checkpoint(lambda v: F.dropout(v @ w, 0.5).tanh(), x, use_reentrant=False, preserve_rng_state=False) * 2


def in_autocast(w, x):
    def inner(v):
        with torch.autocast("cpu", torch.bfloat16):
            return (v @ w).tanh() * 2

    return checkpoint(inner, x * 2, use_reentrant=False).float() * 2


def by_contents(w, x):
    return checkpoint(lambda v: (v @ w).tanh() if v.sum() > 0 else (v @ w).sin(), x * 2, use_reentrant=False) * 2


def writing_on_the_tape(w, x):
    def inner(a):
        y = (a @ w).tanh()
        y *= 2
        y[0] = a.mean()
        return F.relu(y.sin() * 2, inplace=True)

    return checkpoint(inner, x * 2, use_reentrant=False) * 2


def writing_to_what_is_kept(w, x):
    def inner(a):
        rows = torch.ones(a.shape[0], 4)
        y = torch.tanh(a @ w) * rows
        rows *= 2
        return y + rows

    return checkpoint(inner, x * 2, use_reentrant=False) * 2


def writing_to_an_argument(w, x):
    y = x * 2
    with torch.no_grad():
        return checkpoint(lambda v: v.mul_(2).tanh() @ w, y, use_reentrant=False) + y


def with_a_context(w, x):
    def contexts():
        return torch.no_grad(), torch.no_grad()

    return checkpoint(block, x.detach(), w.detach(), use_reentrant=False, context_fn=contexts) + w.sum()


AS_PYTHON = [views, writing_to_an_argument, writing_on_the_tape, writing_to_what_is_kept, with_a_context]
#: Of which plans depend on which tensors require gradients, or on contents.
EITHER = [counted, random_as_it_comes, in_autocast, by_contents]


NAME = "a call of torch.utils.checkpoint.checkpoint"


def is_in_graph(compiled):
    """Whether no checkpoint ran as Python, nor a function that is checkpointed."""
    found = cresset.explain(compiled)
    assert any(plan.applied for plan in found.plans), found
    return not any(NAME in reason or "in <lambda>" in reason or "in inner" in reason for _, reason in found.python)


def outcome(f, i, needs_gradient, higher=False):
    """Results, gradients, and where the random numbers are."""
    torch.manual_seed(i)
    w = torch.randn(4, 4, requires_grad=needs_gradient)
    x = torch.randn(3 + i % 2, 4, requires_grad=needs_gradient and i % 3 > 0)
    leaves = [leaf for leaf in (w, x, *NET.parameters()) if leaf.requires_grad]
    found = f(w, x)
    results = list(found) if isinstance(found, tuple) else [found]
    gradients = []
    if results[0].requires_grad:
        gradients = torch.autograd.grad(results[0].sum(), leaves, create_graph=higher, allow_unused=True)
        known = [gradient for gradient in gradients if gradient is not None]
        if higher:
            squares = sum((gradient * gradient).sum() for gradient in known)
            if squares.requires_grad:
                gradients += torch.autograd.grad(squares, leaves, allow_unused=True)
    return results, gradients, torch.get_rng_state()


def are_equal(ours, theirs, rtol=1e-4, atol=1e-5):
    for a, b in zip(ours[0], theirs[0], strict=True):
        assert torch.equal(a, b) and (a.requires_grad, a.dtype, a.stride()) == (b.requires_grad, b.dtype, b.stride())
    for a, b in zip(ours[1], theirs[1], strict=True):
        assert (a is None) == (b is None) and (a is None or torch.allclose(a, b, rtol=rtol, atol=atol))
    assert torch.equal(ours[2], theirs[2])


@pytest.mark.parametrize("needs_gradient, higher", [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("f", [*CAPTURED, *AS_PYTHON, *EITHER], ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
def test_same_as_eager(f, needs_gradient, higher):
    cresset.reset()
    compiled = cresset.compile(f)
    for i in range(7):
        if f is counted:
            NORM.reset_running_stats()
        expected = outcome(f, i, needs_gradient, higher)
        state = copy.deepcopy(NORM.state_dict())
        if f is counted:
            NORM.reset_running_stats()
        rounding = {"rtol": 2e-2, "atol": 5.0 if higher else 2e-2} if f is around_autocast else {}  # bfloat16's
        are_equal(outcome(compiled, i, needs_gradient, higher), expected, **rounding)
        assert all(torch.equal(value, state[name]) for name, value in NORM.state_dict().items())
    found = cresset.explain(compiled)
    if f in CAPTURED and f is not sequential:
        assert is_in_graph(compiled) and not any(plan.raised for plan in found.plans), found
    elif f in AS_PYTHON:
        assert not is_in_graph(compiled)


@pytest.mark.parametrize("f", [plain, dropping, of_modules, by_sizes], ids=lambda f: f.__name__)
def test_whole_functions(f):
    cresset.reset()
    compiled = cresset.compile(f, fullgraph=True)
    for i in range(5):
        are_equal(outcome(compiled, i, True), outcome(f, i, True))


def after_max(w, x):
    values, indices = (x @ w).max(1)
    return checkpoint(block, values[:, None] * w[:1], w, use_reentrant=False) * 2 + indices[:, None]


def after_split(w, x):
    first, second = (x @ w).split(2, dim=1)
    return checkpoint(block, first, w[:2], use_reentrant=False) * second.sum()


def after_topk(w, x):
    found = torch.topk(x @ w, 2)
    return checkpoint(block, found.values, w[:2], use_reentrant=False) + found[1].sum()


def after_unbind(w, x):
    rows = (x @ w).unbind(1)
    return checkpoint(lambda a, b: torch.tanh(a * b) + w.sum() * a, rows[0], rows[-1], use_reentrant=False) * rows[1]


def after_chunk(w, x):
    a, b = torch.chunk(x @ w, 2, dim=1)
    y = checkpoint(block, a, w[:2], use_reentrant=False)
    c, d = y.chunk(2, 1)
    return checkpoint(block, c * d, w[:2], use_reentrant=False) + b.sum()


def unpacked_within(w, x):
    """What was there before is unpacked in the function, and so is what that computes."""
    found = (x @ w).max(1)

    def inner(v):
        values, indices = found
        low, places = (v @ w * values[:, None]).min(1)
        return (low * 2).tanh() + indices + places

    return checkpoint(inner, x, use_reentrant=False) * 2


SEVERAL = [after_max, after_split, after_topk, after_unbind, after_chunk, unpacked_within]


@pytest.mark.parametrize("f", SEVERAL, ids=lambda f: f.__name__)
@pytest.mark.parametrize("needs_gradient", [False, True])
def test_after_calls_with_several_results(f, needs_gradient):
    cresset.reset()
    compiled = cresset.compile(f)
    for i in range(6):
        are_equal(outcome(compiled, i, needs_gradient), outcome(f, i, needs_gradient))
    found = cresset.explain(compiled)
    assert is_in_graph(compiled) and not any(plan.raised for plan in found.plans), found
    assert not found.python, found


def test_what_is_not_in_a_graph_is_named():
    with pytest.raises(RuntimeError, match="a call of torch.utils.checkpoint.checkpoint with context_fn="):
        cresset.compile(with_a_context, fullgraph=True)(torch.randn(4, 4), torch.randn(3, 4))


def warm(f, needs_gradient=True):
    cresset.reset()
    compiled = cresset.compile(f)
    for i in range(4):
        outcome(compiled, i, needs_gradient)
    assert is_in_graph(compiled)
    return compiled


def test_backward_passes_that_follow():
    for f in (plain, warm(plain)):
        w, x = torch.randn(4, 4, requires_grad=True), torch.randn(3, 4)
        y = f(w, x).sum()
        y.backward(retain_graph=True)
        first = w.grad.clone()
        y.backward()
        assert torch.allclose(w.grad, 2 * first)
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            y.backward()


def test_tensors_are_as_they_are_in_the_backward_pass():
    """What is written to after the call is what the computation finds that runs again."""
    found = []
    for f in (of_no_argument, warm(of_no_argument)):
        torch.manual_seed(0)
        w, x = torch.randn(4, 4, requires_grad=True), torch.randn(3, 4)
        y = f(w, x)
        with torch.no_grad():
            w.mul_(2)
        y.sum().backward()
        found.append(w.grad)
    assert torch.allclose(*found)
    for f in (plain, warm(plain)):
        w, x = torch.randn(4, 4, requires_grad=True), torch.randn(3, 4)
        y = f(w, x)
        with torch.no_grad():
            w.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


def test_hooks_of_leaves_are_called_once():
    found = []
    for f in (plain, warm(plain)):
        torch.manual_seed(0)
        w, x, seen = torch.randn(4, 4, requires_grad=True), torch.randn(3, 4), []
        w.register_hook(seen.append)
        w.register_post_accumulate_grad_hook(lambda p, seen=seen: seen.append(p.grad))
        f(w, x).sum().backward()
        found.append(seen)
    assert len(found[0]) == len(found[1]) == 2
    assert all(torch.allclose(a, b) for a, b in zip(*found, strict=True))


def test_results_that_share_memory_in_a_later_call():
    def f(x, w, n):
        return checkpoint(lambda v: (v @ w).tanh().cos() if n == 0 else v.reshape(3, 4) * 1, x * 2, use_reentrant=False)

    def reshaped(x):
        return checkpoint(lambda v: v.sin().reshape(-1, 4).contiguous(), x, use_reentrant=False).mul_(2) + 1

    for g, calls in ((f, [(0,), (0,), (1,), (1,)]), (reshaped, [()] * 4)):
        compiled = cresset.compile(g)
        for i, call in enumerate(calls):
            for x in (torch.randn(3, 4, requires_grad=True), torch.randn(4, 3, requires_grad=True).t()):
                more = (torch.randn(4, 4, requires_grad=i > 1), *call) if call else ()
                assert torch.equal(g(x, *more), compiled(x, *more))


def kept_after(f, x):
    """How much memory the process has after f's call more than before, in units of x."""

    def used():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    before = used()
    y = f(x)
    kept = (used() - before) / x.untyped_storage().nbytes()
    return kept, y


def test_memory_is_saved():
    def chain(x):
        for _ in range(8):
            x = torch.tanh(x) * 1.5
        return x

    def whole(x):
        return chain(x).sum()

    def part(x):
        return checkpoint(chain, x, use_reentrant=False).sum()

    compiled = [cresset.compile(f) for f in (whole, part)]
    for f in compiled:
        for _ in range(4):
            f(torch.randn(8, requires_grad=True)).backward()
    assert is_in_graph(compiled[1])
    x = torch.rand(9 << 20, requires_grad=True)  # allocators give back what is so large
    (whole_kept, y), (part_kept, z) = (kept_after(f, x) for f in compiled)
    assert torch.equal(y, z)
    assert whole_kept > 5 and part_kept < 2  # the system may have pages of x back
    z.backward()
    assert x.grad is not None


def test_casts_within_a_checkpoint():
    """Gradients of a cast that a checkpoint uses twice are added before they are cast back; casts of it are not kept after it."""

    def f(layer, x):
        with torch.autocast("cpu", torch.bfloat16):
            h = checkpoint(lambda v: layer(torch.tanh(layer(v))), x, use_reentrant=False)
            return layer(h).float().square().mean()

    def gradients(function):
        torch.manual_seed(0)
        layer, x = nn.Linear(8, 8), torch.randn(4, 8)
        y = function(layer, x)
        y.backward()
        return y, layer.weight.grad

    compiled, (y, expected) = cresset.compile(f), gradients(f)
    for _ in range(4):
        found, gradient = gradients(compiled)
        assert torch.equal(found, y) and torch.allclose(gradient, expected, atol=2e-3)  # bfloat16's rounding
    assert is_in_graph(compiled)


def test_backward_passes_within_autocast():
    """What is computed again is computed as it was, without autocast."""
    torch.manual_seed(0)
    weights, x = torch.randn(64, 64), torch.randn(30, 64)

    def f(w, x):
        return checkpoint(lambda v: torch.tanh(v @ w).sin() * 2 + 1, x * 2, use_reentrant=False) * 2

    def gradient(function):
        w = weights.clone().requires_grad_()
        y = function(w, x).sum()
        with torch.autocast("cpu", torch.bfloat16):
            return torch.autograd.grad(y, w)[0]

    compiled, expected = cresset.compile(f), gradient(f)
    for _ in range(4):
        assert torch.equal(gradient(compiled), expected)
    assert is_in_graph(compiled)
