"""Captured modules with forward hooks and pre-hooks, and what libraries do besides: properties that `hasattr` looks at,
variables of the environment, slices, functools.partial, objects with a `__call__`."""

import functools
import math
import os

import pytest
import torch
from test_capture_control import agree
from test_capture_graphs import same
from torch import nn

import cresset

X = torch.randn(3, 4)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x, scale=1):
        return self.second(torch.relu(self.first(x))) * scale


def fresh(seed=0):
    torch.manual_seed(seed)
    return Net()


def plans_of(compiled):
    return [plan for plan in cresset.explain(compiled).plans if plan.applied]


def both(plain, compiled, *args, **keywords):
    expected, found = plain(*args, **keywords), compiled(*args, **keywords)
    assert same(expected, found), (expected, found)
    return found


# ---- Hooks

HOOKS = {
    "nothing": lambda seen: lambda module, args, output: None,
    "another result": lambda seen: lambda module, args, output: output * 2 + args[0].sum(),
    "what it keeps": lambda seen: lambda module, args, output: seen.append(output),
    "a pair": lambda seen: lambda module, args, output: (output, args[0]),
}


@pytest.mark.parametrize("name", HOOKS)
def test_forward_hooks(name):
    kept = []
    net = fresh()
    net.second.register_forward_hook(HOOKS[name](kept))

    def f(x):
        y = net.second(torch.relu(net.first(x)))
        return y if isinstance(y, torch.Tensor) else y[0] + y[1].sum()

    compiled = cresset.compile(f)
    cresset.reset()
    for i in range(6):
        both(f, compiled, X + i)
    assert len(kept) in (0, 12) and all(same(a, b) for a, b in zip(kept[::2], kept[1::2], strict=True))
    assert len(plans_of(compiled)) == 1, cresset.explain(compiled)


def test_pre_hooks_and_keywords():
    net = fresh()
    order = []

    def before(module, args):
        order.append("before")
        return args[0] + 1

    def before_with_keywords(module, args, kwargs):
        order.append("keywords")
        return (args[0] * 2,), {**kwargs, "scale": kwargs.get("scale", 1) + 1}

    def after_with_keywords(module, args, kwargs, output):
        order.append("after")
        return output + kwargs["scale"] + len(args)

    net.register_forward_pre_hook(before)
    net.register_forward_pre_hook(before_with_keywords, with_kwargs=True)
    net.register_forward_pre_hook(lambda module, args: (args[0] - 3,))
    net.register_forward_hook(after_with_keywords, with_kwargs=True)
    net.register_forward_hook(lambda module, args, output: None)

    def f(x, **keywords):
        return net(x, **keywords) + 1

    agree(f, ((X,), {}), ((X,), {"scale": 3}), plans=None)
    compiled = cresset.compile(f)
    cresset.reset()
    order.clear()
    for _ in range(4):
        both(f, compiled, X, scale=5)
    assert order == ["before", "keywords", "after"] * 8
    assert len(plans_of(compiled)) == 1, cresset.explain(compiled)


def test_hooks_that_change_keywords_in_place():
    net = fresh()

    def before(module, args, kwargs):
        kwargs["scale"] = kwargs.pop("factor", 2)

    def f(x, **keywords):
        return net(x, **keywords)

    net.register_forward_pre_hook(before, with_kwargs=True)
    agree(f, ((X,), {}), ((X,), {"factor": 3}), plans=None)


def test_hooks_that_come_and_go():
    net = fresh()
    handles = []
    compiled = cresset.compile(lambda x: net(x) + 1)
    cresset.reset()
    changes = [
        lambda: handles.append(net.first.register_forward_hook(lambda m, a, o: o * 2)),
        lambda: handles.append(net.register_forward_pre_hook(lambda m, a: a[0] + 1)),
        lambda: handles.pop(0).remove(),
        lambda: handles.append(net.first.register_forward_hook(lambda m, a, o: o * 3)),
        lambda: handles.append(net.first.register_forward_hook(lambda m, a, o: o - 1, prepend=True)),
        lambda: net.first._forward_hooks.move_to_end(next(iter(net.first._forward_hooks))),
        lambda: net.register_full_backward_hook(lambda m, i, o: None),
        lambda: net._backward_hooks.clear(),
        lambda: handles.append(nn.modules.module.register_module_forward_hook(lambda m, a, o: o + 1)),
        lambda: handles.pop().remove(),
        lambda: handles.pop().remove(),
    ]
    try:
        for change in changes:
            for i in range(4):
                both(lambda x: net(x) + 1, compiled, X + i)
            change()
    finally:
        for handle in handles:
            handle.remove()


def test_hooks_that_are_registered_anew_for_each_call():
    """The hook is another function with the same code, under another number."""
    net = fresh()

    def f(x):
        return net(x) + 1

    compiled = cresset.compile(f)
    cresset.reset()
    for i in range(8):
        kept = []
        handle = net.first.register_forward_hook(lambda m, a, o, kept=kept: kept.append(o.sum() + i))
        both(f, compiled, X)
        handle.remove()
        assert len(kept) == 2 and same(*kept)
    assert len(plans_of(compiled)) == 1, cresset.explain(compiled)


class Scaled:
    def __init__(self):
        self.factor = 2

    def __call__(self, module, args, output):
        return output * self.factor

    def method(self, module, args, output):
        return output + self.factor


@pytest.mark.parametrize("kind", ["object", "method", "partial"])
def test_hooks_of_other_kinds(kind):
    net, scaled = fresh(), Scaled()
    hook = {
        "object": scaled,
        "method": scaled.method,
        "partial": functools.partial(lambda n, module, args, output: output - n, 3),
    }
    net.first.register_forward_hook(hook[kind])

    def change(i):
        scaled.factor = 2 + i // 2

    # A number that an object has is a constant of the first plan, until it changes.
    agree(lambda x: net(x) + 1, plans=1 if kind == "partial" else 2, change=change)


def test_hooks_that_raise():
    net = fresh()

    def hook(module, args, output):
        if args[0].shape[0] > 3:
            raise ValueError("too many")
        return output

    net.register_forward_hook(hook)

    def f(x):
        try:
            return net(x)
        except ValueError as error:
            return str(error)

    agree(f, ((X,), {}), ((torch.randn(5, 4),), {}), rounds=6, plans=None)


def test_hooks_that_are_always_called():
    net, seen = fresh(), []
    net.register_forward_hook(lambda module, args, output: seen.append(output is None), always_call=True)

    def f(x):
        try:
            return net(x)
        except RuntimeError:
            return None

    agree(f, ((X,), {}), ((torch.randn(3, 5),), {}), plans=None)
    assert seen == [False, False, True, True] * 4


def test_gradients_with_hooks():
    net = fresh()
    net.first.register_forward_hook(lambda module, args, output: output.tanh() * 2)
    net.register_forward_pre_hook(lambda module, args: (args[0] * 3,))
    compiled = cresset.compile(net)
    cresset.reset()
    for i in range(5):
        grads = []
        for function in (net.forward, compiled):
            y = net(X + i) if function is not compiled else compiled(X + i)
            grads.append([y.detach(), *torch.autograd.grad(y.square().sum(), list(net.parameters()))])
        assert same(*grads)


# ---- What libraries do besides


class WithProperty:
    def __init__(self, n):
        self.n = n

    @property
    def positive(self):
        if self.n < 0:
            raise AttributeError("not positive")
        return self.n


def test_hasattr_of_properties():
    objects = [WithProperty(1), WithProperty(-1)]

    def f(x, o):
        return x * 2 + (1 if hasattr(o, "positive") else 0)

    agree(f, ((X, objects[0]), {}), ((X, objects[1]), {}), rounds=6, plans=None)
    compiled = cresset.compile(f)
    for n in (1, 2, -1, -3, 4):
        for _ in range(3):
            objects[0].n = n
            both(f, compiled, X, objects[0])


@pytest.mark.parametrize(("ask", "plans"), [("get", 2), ("getenv", 3), ("default", 4)])
def test_the_environment(ask, plans, monkeypatch):
    def f(x):
        if ask == "get":
            found = os.environ.get("CRESSET_TEST_OF_PLANS", "0")
        elif ask == "getenv":
            found = os.getenv("CRESSET_TEST_OF_PLANS")
        else:
            found = os.getenv("CRESSET_TEST_OF_PLANS", None) or "none"
        return (x + 1, found) if found == "1" else (x * 2, found)

    values = [None, "1", "2", "1", None, "0"]

    def change(i):
        if values[i // 2] is None:
            monkeypatch.delenv("CRESSET_TEST_OF_PLANS", raising=False)
        else:
            monkeypatch.setenv("CRESSET_TEST_OF_PLANS", values[i // 2])

    agree(f, rounds=12, plans=plans, change=change)
    monkeypatch.setattr(os, "environ", {"CRESSET_TEST_OF_PLANS": "1"})
    agree(f, rounds=4, plans=None)


def test_slices():
    def f(x, n):
        keep = slice(-n, None)
        return x[:, keep], x[slice(n)], x[slice(0, n, 2)]

    agree(f, *[((X, n), {}) for n in (0, 1, 2)])


def test_partial():
    def scaled(x, n, *, factor=1, more=0):
        return x * n * factor + more

    kept = functools.partial(scaled, factor=2)

    def f(x, function):
        return kept(x, 3) + function(3, more=x)

    calls = [((X, functools.partial(scaled, X, factor=k)), {}) for k in (1, 2)]
    agree(f, *calls, plans=1)

    def change(i):
        nonlocal kept
        kept = functools.partial(scaled, factor=i, more=i // 2)

    agree(f, *calls, plans=None, change=change)


def test_objects_that_are_called():
    class Scale:
        def __init__(self, n):
            self.n = n

        def __call__(self, x, *, more=0):
            return x * self.n + more

    scale = Scale(2)

    def f(x):
        return scale(x, more=1) + 1

    def change(i):
        scale.n = i // 2
        if i == 6:
            Scale.__call__ = lambda self, x, more: x - more

    agree(f, rounds=10, plans=None, change=change)


def test_iterations_over_tensors():
    def first(a, b):
        return a * 2 + b

    def f(x, y):
        a, b, *rest = x
        kept = []
        for row in y:
            kept.append(first(row, a))
        for i, row in enumerate(x):
            b = b + row * i
        return torch.stack(kept), b, len(rest), [r + 1 for r in list(y)]

    agree(
        f, ((X, torch.ones(2, 4)), {}), ((X, torch.ones(4, 4)), {}), ((X, torch.tensor(2.0)), {}), rounds=6, plans=None
    )

    def g(x):
        total = 0
        for row in x:
            total = total + first(row.tanh(), row.exp()) * row
        return total

    compiled = cresset.compile(g)
    cresset.reset()
    for i in range(6):
        grads = []
        for function in (g, compiled):
            x = (X + i).requires_grad_()
            grads.append(torch.autograd.grad(function(x).sum(), x))
        assert same(list(grads[0]), list(grads[1]))
    assert len(plans_of(compiled)) == 1, cresset.explain(compiled)


@pytest.mark.parametrize("draw", [
    lambda x: torch.randn(3, 4), lambda x: torch.rand_like(x), lambda x: torch.randint(0, 5, (4,)), lambda x: torch.randperm(4),
    lambda x: torch.bernoulli(torch.full_like(x, 0.5)), lambda x: torch.multinomial(x.softmax(1), 4), lambda x: torch.normal(x, 1.0),
    lambda x: x.sigmoid().bernoulli(),
])  # fmt: skip
def test_random_numbers(draw):
    def f(x, limit):
        y = (x * 2).tanh().exp() + 1
        z = draw(x) * y + draw(x)
        if z.shape[0] > limit:
            z = z * 2 + draw(x)
        return (z.abs() + 1).log() * y

    compiled = cresset.compile(f)
    cresset.reset()
    for limit in (2, 2, 2, 5, 2, 5, 5):
        results = []
        for function in (f, compiled):
            torch.manual_seed(limit)
            results.append([function(X, limit), torch.rand(2)])
        assert same(*results)
    assert len(plans_of(compiled)) >= 1, cresset.explain(compiled)


def drop_path(x, p):
    """As timm has it."""
    kept = 1 - p
    drawn = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(kept)
    if kept > 0.0:
        drawn.div_(kept)
    return x * drawn


@pytest.mark.parametrize("draw", [
    lambda x: drop_path(x, 0.5), lambda x: torch.empty(3, 4).normal_(), lambda x: torch.empty_like(x).uniform_(-1, 1),
    lambda x: (x * 2).random_(5), lambda x: x.clone().exponential_() + x, lambda x: torch.empty_like(x).cauchy_(1, 2).clamp(-9, 9),
    lambda x: (x * 2).geometric_(0.3), lambda x: torch.empty_like(x).log_normal_(0, 0.1),
    lambda x: torch.binomial(x.detach().abs().ceil(), torch.full_like(x, 0.4)) + x,
])  # fmt: skip
def test_random_numbers_in_place(draw):
    def f(x, limit):
        y = (x * 2).tanh().exp() + 1
        z = draw(y) * y + draw(x)
        if z.shape[0] > limit:
            z = z * 2 + draw(x)
        return (z.abs() + 1).log() * y

    compiled = cresset.compile(f)
    cresset.reset()
    for limit in (2, 2, 2, 5, 2, 5, 5):
        results = []
        for function in (f, compiled):
            torch.manual_seed(limit)
            x = X.clone().requires_grad_()
            y = function(x, limit)
            results.append([y.detach(), torch.rand(2), *torch.autograd.grad(y.sum(), x)])
        assert same(*results)
    assert len(plans_of(compiled)) >= 1, cresset.explain(compiled)


def test_random_numbers_in_what_is_given():
    def f(x):
        return x.uniform_() * 2, x

    results = []
    for function in (f, cresset.compile(f)):
        torch.manual_seed(3)
        x = torch.zeros(3)
        results.append([[part.clone() for part in function(x)] for _ in range(4)])
    assert same(*results)


def test_random_numbers_of_a_generator():
    def f(x, generator):
        return x * 2 + torch.randn(3, 4, generator=generator)

    compiled = cresset.compile(f)
    generators = [torch.Generator().manual_seed(1) for _ in range(2)]
    for _ in range(4):
        assert same(f(X, generators[0]), compiled(X, generators[1]))


def test_functions_of_numbers_and_orders():
    import math

    def f(x, n, names):
        y = x * math.sin(n) + math.tanh(n) + round(n * 1.5)
        for name in sorted(names):
            y = y * len(name) + sorted([3, 1, 2])[0]
        for a in reversed([1, 2, n]):
            y = y + a
        return y.data * 2, math.isnan(n), callable(f), callable(n), callable(F), reversed

    F = nn.Linear(2, 2)
    calls = [((X, n, names), {}) for n in (1, 0.5, 2) for names in (["b", "aa"], ("c",))]
    agree(f, *calls, plans=None)


def test_data_of_tensors():
    def f(x):
        y = x * 2
        y.data.add_(1)
        z = y.tanh()
        z.data.mul_(3)
        return z, x.data.sum()

    compiled = cresset.compile(f)
    for i in range(5):
        grads = []
        for function in (f, compiled):
            x = (X + i).requires_grad_()
            z, total = function(x)
            grads.append([z.detach(), total, *torch.autograd.grad(z.sum(), x)])
        assert same(*grads)


def test_numbers_of_tensors():
    def f(x, y):
        n = y.sum().item()
        k = y.long().max().item() + 1
        z = (x * n + k).tanh() * x
        if n > 3:
            z = z.exp() * n
        return z * 2 + n, f"{k}", [n, k], z[:k]

    def g(x, y):
        return (
            sum(x * i for i in range(y.long().sum().item())),
            str(y.sum().item()) == "3.0",
            int(y[0].item()) in (1, 2),
        )

    calls = [((X, torch.tensor(y)), {}) for y in ([1.0, 2.0], [0.5, 0.25], [3.0, 4.0], [1, 2], [True, False])]
    for program in (f, g):
        agree(program, *calls, plans=None)
        agree(program, *calls[:2], plans=None)
    agree(lambda x, y: x.item() + y.item(), ((torch.tensor(2), torch.tensor([[1.5]])), {}), ((X, X), {}), plans=None)

    def loss(x, y):
        n = (x * y).sum().item()
        return (x * n).tanh().exp() * y + n

    compiled = cresset.compile(loss)
    cresset.reset()
    for i in range(5):
        grads = []
        for function in (loss, compiled):
            x = (X + i).requires_grad_()
            grads.append([function(x, X).detach(), *torch.autograd.grad(function(x, X).sum(), x)])
        assert same(*grads)
    assert len(plans_of(compiled)) == 1, cresset.explain(compiled)


# ---- What fullgraph says


def draws(x):
    return torch.relu(x) + helper(x)


def helper(x):
    return x.sum().tolist()


@pytest.mark.parametrize(("text", "options", "line", "says"), [
    ("y = x * 2\n    print(y)\n    return y", {}, 3, "Print outside"),
    ("y = x * 2\n    n = y.sum().item()\n    return y * n", {"backend": lambda gm, _: gm.forward}, 3, "Compute with the tensor itself"),
    ("y = x * 2\n    for i in range(int(y.sum().item())):\n        y = y + i\n    return y", {}, 3, "Compute with the tensor itself"),
    ("y = x * 2\n    return y.numpy()", {}, 3, "allow_in_graph"),
    ("y = x * 2\n    with torch.no_grad():\n        y = y + 1\n    return y", {"backend": lambda gm, _: gm.forward}, 3, "around the call"),
    ("y = x * 2\n    y.add_(1)\n    return y", {"backend": lambda gm, _: gm.forward}, 3, "add instead of add_"),
    ("if x.sum() > 0:\n        return x\n    return x * 2", {}, 2, "torch.where"),
    ("if x.shape[0] > 1:\n        raise ValueError('three')\n    return x * 2", {}, 3, "raises is no graph"),
    ("y = x * 2\n    y.sum().backward()\n    return y", {}, 3, "Call it outside"),
])  # fmt: skip
def test_what_to_write_instead(text, options, line, says):
    names = {"torch": torch}
    exec(compile(f"def f(x):\n    {text}\n", "<program>", "exec"), names)
    compiled = cresset.compile(names["f"], fullgraph=True, **options)
    with pytest.raises(RuntimeError, match=f"line {line} can't be in one graph") as error:
        compiled(X)
    assert says in str(error.value), str(error.value)


def test_with_statements_that_a_refusal_leaves_end():
    ended = []

    class Manager:
        def __enter__(self):
            pass

        def __exit__(self, *error):
            ended.append(str(self))

    manager = Manager()

    def f(x):
        with manager, torch.autocast("cpu", torch.bfloat16):
            return (x @ x.T).numpy()

    for _ in range(2):
        with pytest.raises(RuntimeError, match="can't be in one graph with the rest: a tensor's numpy"):
            cresset.compile(f, fullgraph=True)(X)
        assert not torch.is_autocast_enabled("cpu")
    assert len(ended) == 2


def test_calls_that_lead_to_what_is_in_no_graph():
    with pytest.raises(RuntimeError, match="can't be in one graph") as error:
        cresset.compile(draws, fullgraph=True)(X)
    lines = [line.strip() for line in str(error.value).splitlines()]
    assert lines.index("return torch.relu(x) + helper(x)") < lines.index("return x.sum().tolist()")
    assert " in draws" in str(error.value) and " in helper" in str(error.value)


def test_functions_that_are_one_graph():
    """What plans do is no reason to refuse a function."""
    net = fresh()
    net.first.register_forward_hook(lambda module, args, output: output * 2)
    seen = {"n": 0}

    def f(x):
        seen["n"] += 1
        with torch.no_grad():
            y = net(x)
        try:
            k = seen["none"]
        except KeyError:
            k = 2
        return y * k, x @ x.T, torch.randn(2), [row + seen["n"] for row in x]

    compiled = cresset.compile(f, fullgraph=True)
    for i in range(4):
        torch.manual_seed(i)
        result = compiled(X)
        seen["n"] -= 1
        torch.manual_seed(i)
        assert same(f(X), result)
    assert [plan.graph_calls > 10 for plan in plans_of(compiled)] == [True]


def attends(q, k):
    q, k = q * 2, k + 1
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), -1) * q.shape[-1] ** 0.5


def takes_parts(x):
    first, second = (x * 2).chunk(2)
    values, indices = x.sort(-1)
    return [first, second.exp()], indices, values + 1, x.max(-1).values, x.shape, x.sum().item()


def counts(x):
    return net_in_training(x).relu()


def in_modes(x):
    y = torch.tanh(x @ x.T) * 2
    with torch.autocast("cpu", torch.bfloat16):
        z = (y @ x).relu() @ x.T
    with torch.inference_mode():
        shape = (x.detach() * 2 + 1).exp().sum()
    return (z.float() + y).sigmoid() * 2, shape + 1


def whole_tuples(x):
    y = torch.relu(x * 2 + 1)
    parts = y.split(2, -1)
    return parts, [y.unbind(-1), y + 1, parts]


def with_numbers(x):
    y = torch.relu(x @ x.T * 2 + 1)
    scale = 1 / math.sqrt(y.sum(0).numel() + x.shape[0])
    z = torch.sin(y * scale) + torch.tensor([y.shape[0]])
    largest = z.detach().abs().max().item()
    return z / max(largest, 1e-6) + min(scale, largest)


net_in_training = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5))


@pytest.mark.parametrize(("f", "arguments", "calls"), [
    (lambda x: x + 1, (X,), 1),
    (attends, (X, X), 10),
    (takes_parts, (X,), 9),
    (counts, (X,), 5),
    (lambda x: x * torch.tensor([2.0]) + torch.ones(4), (X,), 2),
    (lambda x: x.shape[0] + 1, (X,), 0),
    (in_modes, (X,), 14),
    (with_numbers, (X,), 10),
    (whole_tuples, (X,), 5),
])  # fmt: skip
def test_one_compiled_graph(f, arguments, calls):
    compiled = cresset.compile(f, fullgraph=True)
    for i in range(4):
        given = [(argument + i).requires_grad_(i > 1) for argument in arguments]
        results, gradients = [], []
        for function in (f, compiled):
            torch.manual_seed(i)
            results.append(function(*given))
            first = results[-1][0][0] if type(results[-1]) is tuple else results[-1]
            if i > 1 and calls:
                gradients.append(torch.autograd.grad(first.sum(), given[0])[0])
        assert same(*results), i
        if f is whole_tuples:
            assert all(result[0] is result[1][2] for result in results)
        assert not gradients or torch.allclose(*gradients, atol=1e-6)
    plans = plans_of(compiled)
    assert len(plans) == (calls > 0) and all(plan.graph_calls >= calls and plan.applied == 3 for plan in plans), plans


@pytest.mark.parametrize(("text", "line", "reason", "says"), [
    ("y = x * 2\n    return y.max(-1)", 3, "the whole max that max returns", "Return its parts"),
    ("y = x * 2\n    z = y.contiguous()\n    return y is z", 4, "the identity", "before the call"),
    ("y = x * 2\n    return lambda: y", 3, "a result that a graph can't", "Return tensors"),
])  # fmt: skip
def test_what_is_not_in_the_compiled_graph(text, line, reason, says):
    names = {"torch": torch, "math": math}
    exec(compile(f"def f(x):\n    {text}\n", "<program>", "exec"), names)
    compiled = cresset.compile(names["f"], fullgraph=True)
    for _ in range(3):
        with pytest.raises(RuntimeError, match=f"line {line} can't be in one graph with the rest: {reason}") as error:
            compiled(X)
        assert says in str(error.value), str(error.value)
    assert same(cresset.compile(names["f"])(X), names["f"](X)) or "lambda" in text


def test_calls_that_lead_to_what_is_not_in_the_compiled_graph():
    def inner(x):
        return torch.randint_like(x, 3)

    def outer(x):
        return inner(torch.sigmoid(x)) + 1

    with pytest.raises(RuntimeError, match="a call of randint_like, which") as error:
        cresset.compile(outer, fullgraph=True)(X)
    lines = [line.strip() for line in str(error.value).splitlines()]
    assert lines.index("return inner(torch.sigmoid(x)) + 1") < lines.index("return torch.randint_like(x, 3)")
