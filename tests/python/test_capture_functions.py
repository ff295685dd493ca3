"""Captured: calls of users' `torch.autograd.Function`s, which are part of a plan, with nodes and backward passes of their own."""

import functools
import gc
import threading
import traceback
import weakref

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

import cresset

NET = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 4))


class Swish(Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, g):
        x, s = ctx.saved_tensors
        return g * (s + x * s * (1 - s))


class SavesItsResult(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


class Rounded(Function):
    @staticmethod
    def forward(ctx, x, levels, bias=None):
        ctx.levels, ctx.had_bias = levels, bias is not None
        ctx.shape = x.shape
        y = torch.round(x * levels) / levels
        return y if bias is None else y + bias

    @staticmethod
    def backward(ctx, g):
        assert g.shape == ctx.shape
        return g / ctx.levels, None, g.sum(0) if ctx.had_bias else None


class Apart(Function):
    """With a setup_context, and a default."""

    @staticmethod
    def forward(x, y, scale=2.0):
        return (x * y).tanh() * scale

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y, scale = inputs
        ctx.save_for_backward(x, y, output)
        ctx.scale = scale

    @staticmethod
    def backward(ctx, g):
        x, y, out = ctx.saved_tensors
        g = g * ctx.scale * (1 - (out / ctx.scale) ** 2)
        return g * y, g * x, None


class Several(Function):
    @staticmethod
    def forward(ctx, x, w):
        y = x @ w
        index = y.argmax(-1)
        values, order = torch.sort(y, -1)
        ctx.mark_non_differentiable(index, order)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x, w, order)
        ctx.parts = [y.shape[0], {"n": 3}]
        return y, index, values * 2, order, 5, None

    @staticmethod
    def backward(ctx, gy, gi, gv, go, *rest):
        x, w, order = ctx.saved_tensors
        assert gi is None and go is None and rest == (None, None)
        g = 0 if gy is None else gy
        if gv is not None:
            g = g + torch.zeros_like(gv).scatter(-1, order, gv * 2)
        return g @ w.t() * ctx.parts[0], x.t() @ g * ctx.parts[1]["n"]


class ByNeed(Function):
    @staticmethod
    def forward(ctx, x, w, flag):
        ctx.save_for_backward(x if ctx.needs_input_grad[1] else None, w if ctx.needs_input_grad[0] else None)
        return (x * w).sin() if flag else (x * w).cos()

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g * w if w is not None else None, g * x if x is not None else None, None


class Dropping(Function):
    @staticmethod
    def forward(ctx, x, p):
        mask = torch.rand_like(x) > p
        ctx.mask = mask
        return x * mask / (1 - p)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.mask, None


class InPlaceInside(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.empty_like(x).copy_(x)
        y.mul_(2).clamp_(min=0)
        y[0] += 1
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (y > 0) * 2


class Twice(Swish):
    """Derived, with a forward that calls the other's."""

    @staticmethod
    def forward(ctx, x):
        y = Swish.forward(ctx, x * 2)
        ctx.count = 2
        return y

    @staticmethod
    def backward(ctx, g):
        return Swish.backward(ctx, g) * ctx.count


class Views(Function):
    """Of memory that it has made."""

    @staticmethod
    def forward(ctx, x):
        return (x * 2).t()

    @staticmethod
    def backward(ctx, g):
        return g.t() * 2


class Reversed(Function):
    """The result is a view of what is given."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -g


class Same(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 3


class Dirty(Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Cast(Function):
    @staticmethod
    @functools.partial(torch.amp.custom_fwd, device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x @ w).tanh()

    @staticmethod
    @functools.partial(torch.amp.custom_bwd, device_type="cpu")
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g @ w.t(), x.t() @ g


class Uncast(Function):
    @staticmethod
    @functools.partial(torch.amp.custom_fwd, device_type="cpu")
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x @ w).tanh()

    @staticmethod
    @functools.partial(torch.amp.custom_bwd, device_type="cpu")
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g @ w.t().to(g.dtype), x.t().to(g.dtype) @ g


swish = Swish.apply


def alone(w, x):
    return Swish.apply(x @ w * 2 + 1).sin() * 3 + 1


def by_another_name(w, x):
    return swish(x @ w * 2).sin() * swish(w.sum() * 2)


def of_numbers(w, x):
    y = Rounded.apply(x @ w, 8.0)
    return Rounded.apply(y * 2 + 1, 4, w[0] * 2).tanh() * 2


def in_two_parts(w, x):
    return Apart.apply(x @ w, x * 2) + Apart.apply(x, x @ w, 3.0).sin()


def of_several_results(w, x):
    y, index, values, order, five, none = Several.apply(x * 2, w)
    return y * five, index + 1, values.sin() * 2, order * 2, none


def of_one_of_several(w, x):
    return Several.apply(x * 2, w)[2].sum() * 2 + 1


def by_need(w, x):
    return ByNeed.apply(x * 2, w[:1] * 2, True) + ByNeed.apply(x.detach() * 2, w[:1], x.shape[0] > 2)


def with_random_numbers(w, x):
    return F.dropout(Dropping.apply(x @ w, 0.3) * 2, 0.5) + torch.rand(4)


def that_writes(w, x):
    return InPlaceInside.apply(x @ w * 2).sin() + InPlaceInside.apply(x)


def derived(w, x):
    return Twice.apply(x @ w).sin() + Swish.apply(x)


def views_of_its_own(w, x):
    y = Views.apply(x @ w) * 2
    return Views.apply(y + 1)


def views(w, x):
    return Reversed.apply(x @ w).sin() * 2 + Same.apply(x * 2) + Same.apply(w).sum()


class Parts(Function):
    """Views of what is given, it itself, and new tensors."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(w)
        return x[:, 1:], x.t(), w, x * w[0]

    @staticmethod
    def backward(ctx, a, b, c, d):
        return F.pad(a, (1, 0)) + b.t() * 2 + d * ctx.saved_tensors[0][0], c * 3


def views_as_results(w, x):
    y = x @ w
    a, b, c, d = Parts.apply(y, w)
    return a, b, c, d, Same.apply(y), Reversed.apply(x * 2), Same.apply(w)


def views_of_results(w, x):
    a, b, c, d = Parts.apply(x @ w, w)
    return (a * 2).sum() + b.sin().sum() + (c * d[0]).sum(), Same.apply(NET[0].weight) * 2


def writes_to_views(w, x):
    y = x @ w
    z = Reversed.apply(y)
    z += 1
    return z * 2


def in_place(w, x):
    return Dirty.apply(x @ w * 2).sin() * 2 + 1


def saving_results(w, x):
    return SavesItsResult.apply(x @ w * 0.1) + SavesItsResult.apply(w * 0.1).sum()


def without_gradients(w, x):
    with torch.no_grad():
        y = Swish.apply(x @ w) * 2
        with torch.enable_grad():
            z = Swish.apply(x @ w * 2)
    return y + z + Swish.apply(x.detach() * 2)


def in_loops(w, x):
    for i in range(3):
        x = Swish.apply(x @ w + i) + Rounded.apply(x, 4.0 + i)
    return x


def in_a_checkpoint(w, x):
    return checkpoint(lambda v: Swish.apply(v @ w).sin() * 2, x * 2, use_reentrant=False) + Swish.apply(x)


def around_modules(w, x):
    return Swish.apply(NET(Swish.apply(x @ w))) * 2


def in_autocast(w, x):
    with torch.autocast("cpu", torch.bfloat16):
        y = Cast.apply(x @ w, w * 2) + Uncast.apply(x @ w, w * 2)
        return y, Swish.apply(x @ w).float() * 2


def used_autocast(w, x):
    with torch.autocast("cpu", torch.bfloat16):
        y = Uncast.apply(x @ w, w * 2).float().sin() * 2
    return y + Uncast.apply(x, w)


class Outer(Function):
    """Of which both directions call another one."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.kept = [x.shape[0]]
        ctx.kept.append({"half": 0.5})
        ctx.kept[1]["twice"] = 2
        return Swish.apply(x) * Views.apply(x).t()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        assert ctx.kept == [x.shape[0], {"half": 0.5, "twice": 2}]
        return g * Swish.apply(x) * 2


def nested(w, x):
    return Outer.apply(x @ w).sin() * 2 + Same.apply(Outer.apply(x))


def backward_inside(w, x):
    y = Swish.apply(x @ w * 2).sin()
    if not y.requires_grad:
        return y
    (g,) = torch.autograd.grad(y.sum() * 2, w, create_graph=True)
    return y + g.sum()


PROGRAMS = [
    alone, by_another_name, of_numbers, in_two_parts, of_several_results, of_one_of_several, by_need, with_random_numbers, that_writes,
    derived, views_of_its_own, views, views_as_results, views_of_results, in_place, saving_results, without_gradients, in_loops, in_a_checkpoint, around_modules,
    in_autocast, used_autocast, nested, backward_inside,
]  # fmt: skip


def is_tensor(value):
    return isinstance(value, torch.Tensor)


def tape(tensor):
    """The names of the nodes that a result is of, as far as the Functions' own."""
    found, todo, seen = [], [tensor.grad_fn], set()
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            found.append((type(node), node.name(), len(node.next_functions), node.needs_input_grad))
        todo += [each for each, _ in node.next_functions]
    return sorted(found, key=str)


def run(f, w, x, with_grad, seed):
    torch.manual_seed(seed)
    w, x = w.clone(), x.clone()
    if with_grad:
        w.requires_grad_()
        x.requires_grad_()
    for p in NET.parameters():
        p.grad = None
    out = f(w, x)
    results = out if isinstance(out, tuple) else (out,)
    kinds = [(r.requires_grad, r.dtype, r._is_view(), tape(r)) if is_tensor(r) else r for r in results]
    tensors = [r.detach().clone() for r in results if is_tensor(r)]
    on_tape = [r for r in results if is_tensor(r) and r.requires_grad]
    gradients = []
    if on_tape:
        sum(r.float().square().sum() for r in on_tape).backward()
        gradients = [w.grad, x.grad, *[p.grad for p in NET.parameters()]]
    return tensors, gradients, kinds, torch.get_rng_state()


def assert_same(ours, theirs):
    for a, b in zip([*ours[0], ours[3]], [*theirs[0], theirs[3]], strict=True):
        assert torch.equal(a, b)
    for a, b in zip(ours[1], theirs[1], strict=True):
        assert (a is None) == (b is None) and (a is None or torch.allclose(a, b, rtol=1e-4, atol=1e-5))
    assert ours[2] == theirs[2]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_same_as_eager(f):
    cresset.reset()
    compiled = cresset.compile(f)
    w = torch.randn(4, 4)
    for number in range(24):
        x = torch.randn(2 + number % 3, 4)
        if f is views_of_its_own:
            x = torch.randn(4, 4)
        with_grad = number % 4 != 3
        with torch.set_grad_enabled(number % 6 != 5):
            assert_same(run(compiled, w, x, with_grad, number), run(f, w, x, with_grad, number))


@pytest.mark.parametrize(
    "f",
    [alone, by_another_name, of_numbers, in_two_parts, of_several_results, by_need, with_random_numbers, that_writes, derived,
     views, views_as_results, used_autocast, nested, views_of_results, views_of_its_own, saving_results, without_gradients, in_loops, around_modules],
    ids=lambda f: f.__name__,
)  # fmt: skip
@pytest.mark.parametrize("with_grad", [True, False])
def test_one_plan(f, with_grad):
    cresset.reset()
    compiled = cresset.compile(f)
    w, x = torch.randn(4, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)
    with torch.set_grad_enabled(with_grad):
        for _ in range(6):
            compiled(w, x)
    plans = [plan for plan in cresset.explain(compiled).plans if plan.applied]
    assert len(plans) == 1 and not cresset.explain(compiled).python, str(cresset.explain(compiled))


def compiled_after(f, *args, calls=5):
    cresset.reset()
    compiled = cresset.compile(f)
    for _ in range(calls):
        compiled(*args)
    return compiled


def num_applied(compiled):
    return sum(plan.applied for plan in cresset.explain(compiled).plans)


def test_nodes_of_the_tape():
    def f(x):
        y = x * 2 + 1
        return Swish.apply(y), y

    x = torch.randn(4, requires_grad=True)
    compiled = compiled_after(f, x)
    before = num_applied(compiled)
    y, h = compiled(x)
    assert num_applied(compiled) == before + 1
    node = y.grad_fn
    assert type(node) is Swish._backward_cls and node.name() == "SwishBackward" and node._forward_cls is Swish
    assert node.next_functions == ((h.grad_fn, h.output_nr),) and node.needs_input_grad == (True,)
    assert node.saved_tensors[0] is h and set(vars(node)) == set(vars(f(x)[0].grad_fn))
    seen = []
    node.register_prehook(lambda gradients: seen.append("before"))
    node.register_hook(lambda inputs, outputs: seen.append("after"))
    h.register_hook(lambda g: seen.append("gradient"))
    y.retain_grad()
    y.sum().backward()
    assert seen == ["before", "after", "gradient"] and torch.equal(y.grad, torch.ones(4))


def test_results_that_are_saved_are_no_cycle():
    def f(x):
        return SavesItsResult.apply(x * 2 + 1) * 2

    x = torch.randn(4, requires_grad=True)
    compiled = compiled_after(f, x)
    freed = []

    class Noticed:
        def __del__(self):
            freed.append(True)

    y = compiled(x)
    y.grad_fn.metadata["noticed"] = Noticed()
    del y
    assert freed == [True]


def test_double_backward():
    def f(w, x):
        return (Swish.apply(x @ w) + Apart.apply(x @ w, x * 2)).sum() * 2

    def outcome(g, w, x):
        first = torch.autograd.grad(g(w, x), (w, x), create_graph=True)
        second = torch.autograd.grad(sum(each.square().sum() for each in first), (w, x))
        return [*first, *second]

    w, x = torch.randn(4, 4, requires_grad=True), torch.randn(3, 4, requires_grad=True)
    compiled = compiled_after(f, w, x)
    for ours, theirs in zip(outcome(compiled, w, x), outcome(f, w, x), strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_once_differentiable():
    def f(w, x):
        return ByNeed.apply(x * 2, w[:1], True).square().sum() * 2

    w, x = torch.randn(4, 4, requires_grad=True), torch.randn(3, 4, requires_grad=True)
    compiled = compiled_after(f, w, x)
    for g in (compiled, f):
        first = torch.autograd.grad(g(w, x), (w, x), create_graph=True)
        with pytest.raises(RuntimeError, match="trying to differentiate twice"):
            first[0].sum().backward()


def test_errors_of_forward():
    class Positive(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.reshape(3, -1)  # line of the error
            return y * 2

        @staticmethod
        def backward(ctx, g):
            return (g * 2).reshape(-1)

    def f(x):
        return Positive.apply(x * 2 + 1) * 3 + 1

    compiled = compiled_after(f, torch.randn(6, requires_grad=True))
    texts = []
    for g in (compiled, f):
        with pytest.raises(RuntimeError, match="shape") as raised:
            g(torch.randn(7, requires_grad=True))
        texts.append(
            [entry.line for entry in traceback.extract_tb(raised.value.__traceback__) if entry.filename == __file__][
                -2:
            ]
        )
    assert texts[0] == texts[1] and "line of the error" in texts[0][-1]


def test_errors_of_backward():
    class Failing(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise KeyError("in backward")

    def f(x):
        return Failing.apply(x * 2 + 1).sin() * 3 + 1

    x = torch.randn(6, requires_grad=True)
    compiled = compiled_after(f, x)
    with pytest.raises(KeyError, match="in backward") as raised:
        compiled(x).sum().backward()
    last = traceback.extract_tb(raised.value.__traceback__)[-1]
    assert last.name == "backward" and last.line == 'raise KeyError("in backward")'


def test_too_few_gradients():
    class Short(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return g

    def f(x):
        return Short.apply(x * 2 + 1, x).sin() * 3 + 1

    x = torch.randn(6, requires_grad=True)
    compiled = compiled_after(f, x)
    with pytest.raises(RuntimeError, match="function ShortBackward returned an incorrect number of gradients"):
        compiled(x).sum().backward()


SCALE = 2.0


def test_functions_that_change():
    global SCALE

    class Scaled(Function):
        @staticmethod
        def forward(ctx, x):
            return x * SCALE

        @staticmethod
        def backward(ctx, g):
            return g * SCALE

    def f(x):
        return Scaled.apply(x * 2 + 1).sin() * 3 + 1

    x = torch.randn(4, requires_grad=True)
    compiled = compiled_after(f, x)

    def check():
        for _ in range(3):
            gradients = [torch.autograd.grad(g(x).sum(), x)[0] for g in (compiled, f)]
            assert torch.equal(compiled(x), f(x)) and torch.allclose(*gradients)

    try:
        SCALE = 5.0
        check()
        Scaled.forward = staticmethod(lambda ctx, x: x.square() * SCALE)
        check()
        Scaled.backward = staticmethod(lambda ctx, g: g * 100)
        check()
        Scaled.setup_context = staticmethod(lambda ctx, inputs, output: setattr(ctx, "n", 2))
        Scaled.forward = staticmethod(lambda x: x.exp())
        check()
        Scaled.apply = classmethod(lambda cls, x: x * 7)
        check()
    finally:
        SCALE = 2.0


def test_methods_of_contexts_that_change(monkeypatch):
    def f(x):
        return Swish.apply(x * 2 + 1).sin() * 3

    x = torch.randn(4, requires_grad=True)
    compiled = compiled_after(f, x)
    seen = []

    def save(self, *tensors):
        seen.append(len(tensors))
        self.to_save = tensors

    monkeypatch.setattr(torch.autograd.function.FunctionCtx, "save_for_backward", save)
    for _ in range(3):
        compiled(x).sum().backward()
    assert seen == [2, 2, 2]


def test_hooks_of_saved_tensors():
    def f(x):
        return Swish.apply(x * 2 + 1).sin() * 3

    x = torch.randn(4, requires_grad=True)
    compiled = compiled_after(f, x)

    def outcome(g):
        packed, unpacked = [], []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda t: packed.append(t.clone()) or t, lambda t: unpacked.append(t.clone()) or t
        ):
            y = g(x)
        y.sum().backward()
        return packed, unpacked

    for ours, theirs in zip(outcome(compiled), outcome(f), strict=True):
        assert len(ours) == len(theirs) and all(map(torch.equal, ours, theirs))


class Mapped(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, n):
        return (x * n).sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])
        ctx.n = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return g * (ctx.saved_tensors[0] * ctx.n).cos() * ctx.n, None

    @staticmethod
    def jvp(ctx, t, _):
        return t * (ctx.saved_tensors[0] * ctx.n).cos() * ctx.n * 5  # a rule of its own


def test_transforms_around():
    def f(x):
        return (Mapped.apply(x * 2 + 1, 3).sin() * 3).sum()

    x = torch.randn(3, 4)
    compiled = compiled_after(f, x[0])
    compiled(x[0].clone().requires_grad_())
    for transform in (torch.func.grad, lambda g: torch.func.vmap(torch.func.grad(g)), torch.func.vmap):
        for given in (x[0], x) if transform is torch.func.grad else (x,):
            for _ in range(3):
                assert torch.allclose(transform(compiled)(given), transform(f)(given), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("with_grad", [True, False])
def test_forward_mode(with_grad):
    def f(x):
        return Mapped.apply(x * 2 + 1, 3).sin() * 3

    x, t = torch.randn(4), torch.randn(4)
    with torch.set_grad_enabled(with_grad):
        compiled = compiled_after(f, x)
        outcomes = []
        for g in (compiled, f):
            with torch.autograd.forward_ad.dual_level():
                found = torch.autograd.forward_ad.unpack_dual(g(torch.autograd.forward_ad.make_dual(x, t)))
                outcomes.append((found.primal.clone(), found.tangent.clone()))
    assert torch.equal(outcomes[0][0], outcomes[1][0]) and torch.allclose(outcomes[0][1], outcomes[1][1])


def test_what_is_written_after_it_was_saved():
    def f(x):
        h = x * 2 + 1
        y = Swish.apply(h)
        with torch.no_grad():
            h.detach().mul_(2)
        return y * 2

    x = torch.randn(4, requires_grad=True)
    compiled = compiled_after(f, x)
    for g in (compiled, f):
        y = g(x)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


def test_contexts_that_leave():
    kept = []

    class Kept(Function):
        @staticmethod
        def forward(ctx, x):
            kept.append(ctx)
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            assert ctx is kept[-1]
            return g * 2

    def f(x):
        return Kept.apply(x * 2 + 1).sin() * 3

    x = torch.randn(4, requires_grad=True)
    compiled = compiled_after(f, x)
    for _ in range(3):
        compiled(x).sum().backward()
    assert len(kept) == 8


def test_side_effects_of_forward():
    class Counting(Function):
        count = 0

        @staticmethod
        def forward(ctx, x, log):
            log["count"] = log.get("count", 0) + 1
            ctx.log = log
            return x * 2

        @staticmethod
        def backward(ctx, g):
            ctx.log["back"] = ctx.log.get("back", 0) + 1
            return g * 2, None

    def f(x, log):
        return Counting.apply(x * 2 + 1, log).sin() * 3

    x, log = torch.randn(4, requires_grad=True), {}
    compiled = compiled_after(f, x, log)
    for _ in range(3):
        compiled(x, log).sum().backward()
    assert log == {"count": 8, "back": 3}


def test_whole_graphs():
    def f(w, x):
        y = Swish.apply(x @ w) + Rounded.apply(x * 2, 4.0)
        return y.sin() * 2

    cresset.reset()
    compiled = cresset.compile(f, fullgraph=True)
    w, x = torch.randn(4, 4, requires_grad=True), torch.randn(3, 4)
    for _ in range(4):
        assert torch.equal(compiled(w, x), f(w, x))
    assert num_applied(compiled) == 3


def test_constant_sizes():
    def f(w, x):
        return Swish.apply(x @ w) + Rounded.apply(x * 2, 4.0).sin()

    cresset.reset()
    compiled = cresset.compile(f, dynamic=False)
    w = torch.randn(4, 4, requires_grad=True)
    for i in range(8):
        x = torch.randn(2 + i % 2, 4)
        ours, theirs = compiled(w, x), f(w, x)
        assert torch.equal(ours, theirs)
        assert torch.allclose(*(torch.autograd.grad(y.sum(), w)[0] for y in (ours, theirs)), rtol=1e-4, atol=1e-5)
    assert num_applied(compiled) >= 4


def test_backends():
    def f(w, x):
        return (Swish.apply(x @ w * 2) * 2 + 1).sin() * 2

    cresset.reset()
    compiled = cresset.compile(f, backend=lambda graph, inputs: graph)
    w, x = torch.randn(4, 4, requires_grad=True), torch.randn(3, 4)
    for _ in range(4):
        ours, theirs = compiled(w, x), f(w, x)
        assert torch.equal(ours, theirs) and [n[1] for n in tape(ours)] == ["SwishBackward"]


def test_threads():
    def f(x, k):
        return Rounded.apply(x * 2 + 1, k).sin() + Swish.apply(x * k)

    x = torch.randn(4, 4, requires_grad=True)
    compiled = compiled_after(f, x, 2.0)
    found = {}

    def work(number):
        y = x.detach().clone().requires_grad_()
        found[number] = all(
            torch.equal(compiled(y, k), f(y, k))
            and torch.allclose(*(torch.autograd.grad(g(y, k).sum(), y)[0] for g in (compiled, f)), rtol=1e-4, atol=1e-5)
            for k in (float(number % 3 + 1 + i % 2) for i in range(30))
        )

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(range(6), True)


def test_functions_are_freed():
    cresset.reset()

    def make():
        class Own(Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * 2

        def f(x):
            return Own.apply(x * 2 + 1).sin() * 3

        compiled = cresset.compile(f)
        for _ in range(4):
            compiled(torch.randn(3, requires_grad=True)).sum().backward()
        return weakref.ref(Own)

    found = make()
    gc.collect()
    assert found() is None


def test_arguments_of_other_classes():
    def f(x, n):
        return Rounded.apply(x * 2 + 1, 4.0, n).sin() * 3 + Same.apply(x)

    class Kept(Function):
        @staticmethod
        def forward(ctx, x, n):
            ctx.n = n
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g, g * 3 if is_tensor(ctx.n) else None

    def g(x, n):
        return Kept.apply(x + 1, n).sin() * 2 + 1

    x = torch.randn(4, 4, requires_grad=True)
    for function, others in (
        (f, (None, torch.ones(4, requires_grad=True))),
        (g, (2, torch.ones(4, requires_grad=True), 3.0)),
    ):
        compiled = compiled_after(function, x, others[0])
        for other in (*others, *others):
            leaves = [x, other] if is_tensor(other) else [x]
            ours, theirs = (h(x, other) for h in (compiled, function))
            assert torch.equal(ours, theirs)
            for a, b in zip(*(torch.autograd.grad(y.sum(), leaves) for y in (ours, theirs)), strict=True):
                assert torch.allclose(a, b)


def test_defaults_of_other_classes():
    class Shifted(Function):
        @staticmethod
        def forward(x, y=1):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.y = inputs[1]

        @staticmethod
        def backward(ctx, g):
            return g * 2, g * 3 if is_tensor(ctx.y) else None

    def f(x):
        return Shifted.apply(x * 2 + 1).sin() * 3

    x, y = (torch.randn(4, requires_grad=True) for _ in range(2))
    compiled = compiled_after(f, x)
    Shifted.forward.__defaults__ = (y,)
    for _ in range(3):
        ours, theirs = (torch.autograd.grad(g(x).sum(), (x, y)) for g in (compiled, f))
        assert all(torch.allclose(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("with_grad", [True, False])
def test_views_of_arguments(with_grad):
    def f(x, w):
        y = (x * 2 + 1).sin() * 3 + 1
        return *Parts.apply(x, w)[:3], Same.apply(x), Reversed.apply(y), y

    x, w = torch.randn(4, 4, requires_grad=True), torch.randn(4, 4)
    with torch.set_grad_enabled(with_grad):
        compiled = compiled_after(f, x, w)
        found = []
        for g in (compiled, f):
            *views, same, of_computed, y = g(x, w)
            bases = [(each._base is x, each._base is w, each._is_view()) for each in (*views, same)]
            found.append((bases, of_computed._base is y, [each.requires_grad for each in (*views, same, y)]))
        assert found[0] == found[1] and found[0][0][0] == (True, False, True)
        assert not cresset.explain(compiled).python


def test_views_that_are_written_to():
    def f(x):
        y = (x * 2 + 1).sin() * 3 + 1
        return Reversed.apply(y), Same.apply(y), Views.apply(y), y

    x = torch.randn(4, 4, requires_grad=True)
    compiled = compiled_after(f, x)
    assert len(cresset.explain(compiled).plans) == 1 and not cresset.explain(compiled).python
    for place in range(3):
        texts = []
        for g in (compiled, f):
            results = g(x)
            base = results[place]._base
            assert base is (results[3] if place < 2 else results[2]._base)
            try:
                results[place].add_(1)
                texts.append(type(results[place].grad_fn).__name__)
            except RuntimeError as error:
                texts.append(str(error))
            texts.append([r.grad_fn.name() for r in results[:3]] if place == 2 else None)
        assert texts[:2] == texts[2:]
