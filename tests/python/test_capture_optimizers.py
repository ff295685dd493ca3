"""Captured functions that step torch.optim's optimizers, and what these are made of: functions of lists of tensors, gradients of
leaves, states by parameter."""

import copy
import typing

import pytest
import torch

import cresset

KINDS = {
    "SGD": {"lr": 0.1},
    "momentum": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01},
    "nesterov": {"lr": 0.1, "momentum": 0.9, "nesterov": True},
    "Adam": {"lr": 0.1},
    "amsgrad": {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1},
    "AdamW": {"lr": 0.1},
    "RMSprop": {"lr": 0.1},
    "Adagrad": {"lr": 0.1},
}
CLASSES = {"momentum": "SGD", "nesterov": "SGD", "amsgrad": "Adam"}


def made(kind, foreach, **more):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)).requires_grad_()
    optimizer = getattr(torch.optim, CLASSES.get(kind, kind))(net.parameters(), foreach=foreach, **KINDS[kind], **more)
    return net, optimizer


def change(net, optimizer, i):
    """What happens between two steps."""
    torch.manual_seed(i)
    for p in net.parameters():
        p.grad = torch.randn_like(p)
    if i == 6:
        optimizer.param_groups[0]["lr"] = 0.05
    if i == 8:
        net[0].bias.grad = None
    if i == 10:
        net[2].weight.grad.fill_(float("inf"))


def state_of(net, optimizer):
    found = [p.detach() for p in net.parameters()]
    for p in net.parameters():
        found += [value for _, value in sorted(optimizer.state[p].items()) if isinstance(value, torch.Tensor)]
    return found


def same(ours, expected):
    assert len(ours) == len(expected)
    for a, b in zip(ours, expected, strict=True):
        assert torch.equal(a.nan_to_num(), b.nan_to_num()) and torch.equal(a.isnan(), b.isnan())


@pytest.mark.parametrize("foreach", [None, False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_steps(kind, foreach):
    cresset.reset()
    (net, optimizer), (other, theirs) = made(kind, foreach), made(kind, foreach)

    def step(optimizer):
        optimizer.step()

    compiled = cresset.compile(step)
    for i in range(14):
        change(net, optimizer, i)
        change(other, theirs, i)
        compiled(optimizer)
        theirs.step()
        same(state_of(net, optimizer), state_of(other, theirs))
    if kind in ("SGD", "Adam", "AdamW"):
        (plan, *_) = cresset.explain(compiled).plans
        assert plan.applied >= 3 and plan.graph_calls, cresset.explain(compiled)


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_training_loops(kind):
    """One function clears gradients, computes, goes back and steps; the step is part of a plan although other code may have asked
    torch.compile to leave it alone."""
    cresset.reset()
    pairs = [made(kind, None), made(kind, None)]
    pairs[0][1].step = torch._dynamo.disable(pairs[0][1].step)

    def train(net, optimizer, x, y):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    compiled = cresset.compile(train)
    for i in range(10):
        torch.manual_seed(i)
        x, y = torch.randn(5 + i % 2, 4), torch.randint(0, 2, (5 + i % 2,))
        losses = [f(*pair, x, y) for f, pair in zip((compiled, train), pairs, strict=True)]
        assert torch.equal(*losses)
        for a, b in zip(*(state_of(*pair) for pair in pairs), strict=True):
            assert torch.allclose(a, b, rtol=1e-5, atol=1e-6)
    plans = [plan for plan in cresset.explain(compiled).plans if plan.applied > 3 and plan.graph_calls > 3]
    assert len(plans) == 1, cresset.explain(compiled)


def test_functions_that_torch_compile_leaves_alone():
    cresset.reset()
    scale = 2

    def inner(x):
        return torch.tanh(x) * scale + 1

    disabled = [torch._dynamo.disable(inner), torch._disable_dynamo(inner)]

    def f(x, function):
        return (function(x * 2).sin() * 3).exp()

    for function in disabled:
        compiled = cresset.compile(f, fullgraph=True)
        for i in range(6):
            scale = 2 if i < 4 else torch.tensor(3.0)
            assert torch.equal(compiled(torch.ones(3), function), f(torch.ones(3), function))


def test_another_torch_disables_in_another_way():
    from cresset import _rows

    assert _rows.code_of_disabled(torch._disable_dynamo) is not None
    assert _rows.code_of_disabled(lambda function: function) is None
    assert _rows.code_of_disabled(None) is None


def test_searches_for_classes():
    cresset.reset()
    kinds = [torch.Tensor, torch.nn.Parameter]

    def f(x):
        return torch.tanh(x * 2).sin() * 3 + (1 if type(x) in kinds else 2)

    compiled = cresset.compile(f)
    for i in range(10):
        if i == 6:
            kinds.pop()
        for x in (torch.ones(3), torch.nn.Parameter(torch.ones(3))):
            assert torch.equal(compiled(x), f(x))


def test_hooks_of_optimizers_are_called():
    cresset.reset()
    net, optimizer = made("SGD", True)
    compiled, called = cresset.compile(lambda: optimizer.step()), []
    for i in range(10):
        change(net, optimizer, i)
        if i == 5:
            handle = optimizer.register_step_pre_hook(lambda *_: called.append("before"))
            optimizer.register_step_post_hook(lambda *_: called.append("after"))
        if i == 8:
            handle.remove()
        compiled()
    assert called == ["before", "after"] * 3 + ["after"] * 2


def test_profilers_see_steps():
    cresset.reset()
    net, optimizer = made("SGD", True)
    compiled = cresset.compile(lambda: optimizer.step())
    for i in range(6):
        change(net, optimizer, i)
        if i < 5:
            compiled()
            continue
        with torch.profiler.profile() as profile:
            compiled()
    assert any(event.key == "Optimizer.step#SGD.step" for event in profile.key_averages())


def test_parameters_come_and_states_are_loaded():
    cresset.reset()
    (net, optimizer), (other, theirs) = made("Adam", True), made("Adam", True)
    compiled = cresset.compile(lambda: optimizer.step())
    for i in range(16):
        for one, each in ((net, optimizer), (other, theirs)):
            change(one, each, i)
            if i == 5:
                each.load_state_dict(copy.deepcopy(each.state_dict()))
            if i == 9:
                each.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))], "lr": 0.5})
            if i > 9:
                each.param_groups[1]["params"][0].grad = torch.full((2,), float(i))
        compiled()
        theirs.step()
        same(state_of(net, optimizer), state_of(other, theirs))
        if i > 9:
            same(*([each.param_groups[1]["params"][0].detach()] for each in (optimizer, theirs)))


def lists(xs, ys):
    sums = torch._foreach_add(xs, ys, alpha=2)
    torch._foreach_mul_(sums, [2, 3.5, 4])
    torch._foreach_addcdiv_(sums, xs, ys, 0.5)
    torch._foreach_addcmul_(sums, xs, ys, value=0.25)
    torch._foreach_lerp_(sums, ys, 0.3)
    torch._foreach_add_(sums, 1)
    torch._foreach_div_(sums, torch.tensor(3.0))
    roots = torch._foreach_sqrt(torch._foreach_abs(sums))
    return [*sums, *roots, *torch._foreach_neg(roots)]


def test_functions_of_lists():
    cresset.reset()
    compiled = cresset.compile(lists)
    for i in range(8):
        torch.manual_seed(i)
        xs, ys = ([torch.randn(2 + k, 3) for k in range(3)] for _ in range(2))
        for a, b in zip(compiled(xs, ys), lists(xs, ys), strict=True):
            assert torch.equal(a, b)
    assert cresset.explain(compiled).plans[0].applied >= 6


def test_functions_of_lists_that_raise():
    def f(xs, ys):
        torch._foreach_add_(xs, ys)
        return torch._foreach_mul(xs, 2)

    compiled = cresset.compile(f)
    for i in range(8):
        xs, ys = ([torch.ones(2), torch.ones(3)] for _ in range(2))
        if i in (4, 6):
            ys = ys[:1] if i == 4 else [torch.ones(2), torch.ones(4)]
            with pytest.raises(RuntimeError):
                compiled(xs, ys)
        else:
            assert [each.tolist() for each in compiled(xs, ys)] == [[4.0] * 2, [4.0] * 3]


def test_one_tensor_twice_in_a_list():
    def f(xs):
        torch._foreach_add_(xs, 1)
        torch._foreach_mul_(xs, 2)
        return xs[0] + xs[-1]

    compiled = cresset.compile(f)
    for i in range(8):
        x, y = torch.zeros(3), torch.ones(3)
        xs, theirs = ([x, y], [x.clone(), y.clone()]) if i % 4 < 2 else ([x, x], [x.clone()] * 2)
        assert torch.equal(compiled(xs), f(theirs))
        assert torch.equal(xs[0], theirs[0])


def test_gradients_of_tensors():
    def f(p, q):
        with torch.no_grad():
            if p.grad is None:
                return q * 2
            q.add_(p.grad)
            return q - p.grad * p.grad

    compiled = cresset.compile(f)
    for i in range(12):
        p, q = torch.nn.Parameter(torch.ones(3)), torch.zeros(3)
        if i % 3:
            p.grad = torch.full((3,), float(i))
        assert compiled(p, q).tolist() == ([float(i - i * i)] * 3 if i % 3 else [0.0] * 3)
    with pytest.warns(UserWarning, match="not a leaf"):
        compiled(torch.nn.Parameter(torch.ones(3)) * 2, torch.zeros(3))


def test_gradients_that_have_a_tape():
    """A gradient is not what the plan computes: its tape is another's."""

    def f(p):
        return torch.autograd.grad((p.grad * p).sum(), p, create_graph=True)[0] * 2

    compiled = cresset.compile(f)
    for i in range(8):
        found = []
        for function in (f, compiled):
            p = torch.nn.Parameter(torch.full((3,), 2.0 + i))
            (p**3).sum().backward(create_graph=True)
            found.append(function(p).detach())
            p.grad = None
        assert torch.equal(*found)


def test_forms_of_typing():
    def f(x, items):
        kept = typing.cast(list[torch.Tensor], items)
        y = typing.cast(typing.Optional[torch.Tensor], x)
        return y * 2 + kept[0]

    compiled = cresset.compile(f)
    for _ in range(6):
        x = torch.randn(3)
        assert torch.equal(compiled(x, [x]), f(x, [x]))


def test_chains_and_records():
    import itertools

    def f(x, a, b):
        with torch.profiler.record_function("within"):
            for value in itertools.chain(a.values(), b):
                x = x * 2 + value
        return x.relu()

    compiled = cresset.compile(f)
    for i in range(10):
        x, a, b = torch.randn(3), {"k": 1.5, "l": 2.0}, [torch.ones(3)] * (1 + i // 5)
        assert torch.equal(compiled(x, a, b), f(x, a, b))
    assert any(plan.applied for plan in cresset.explain(compiled).plans)
