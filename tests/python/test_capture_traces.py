"""Captured functions that call transforms of torch.func which plans have as traced functions: in one plan, with eager PyTorch's bits,
and as the Python that it is where what the trace rests on is another."""

import pytest
import torch
import torch.nn.functional as F
from torch.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

import cresset

NET = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4))


class Settings:
    scale = 2
    mode = "sum"


def body(row, w, scale=3):
    return torch.tanh(row @ w) * scale + row.sum() / len(row)


ROWS = vmap(body, in_dims=(0, None))
SLOPES = vmap(grad(lambda row, w: body(row, w).sum()), in_dims=(0, None))


def mapped(w, x):
    return vmap(lambda row: torch.tanh(row @ w).sum() * 3)(x * 2).relu() + 1


def mapped_with_options(w, x):
    y = vmap(body, in_dims=(1, None), out_dims=1)(x.t() * 2, w)
    return vmap(
        lambda row, pair, scale: row * pair["a"] + pair["b"][0] * scale, in_dims=(0, {"a": 0, "b": None}, None)
    )(y.t(), {"a": x, "b": (w[0], 1)}, 2.5)


def made_before(w, x):
    return ROWS(x, w) + SLOPES(x * 2, w)


def mapped_twice(w, x):
    return vmap(lambda row: vmap(lambda c: (c * row).sum() + row[0])(w))(x) * 2


def of_an_operator(w, x):
    return vmap(torch.dot)(x, x * 2).sin() + torch.vmap(torch.nn.Linear(4, 4).requires_grad_(False))(x).sum() * 0


def of_a_module(w, x):
    return vmap(NET)(x * 2) + w.sum()


def of_each_sample(w, x):
    parameters = {name: p.detach() for name, p in NET.named_parameters()}

    def of_one(parameters, sample, target):
        return F.mse_loss(functional_call(NET, parameters, (sample,)), target)

    gradients, values = vmap(grad_and_value(of_one), in_dims=(None, 0, 0))(parameters, x, x * 2)
    return [values, *gradients.values()]


def forward_mode(w, x):
    value, tangent = jvp(lambda v, u: torch.sin(v @ u).sum(0), (x, w), (torch.ones_like(x), w * 2))
    return value * 2 + tangent


def backward_mode(w, x):
    value, back = vjp(lambda v, u: torch.sin(v @ u), x, w)
    of_x, of_w = back(value * 2)
    return value * 2, of_x + 1, of_w * 2


def backward_of_a_dict(w, x):
    value, back, more = vjp(lambda p: (p["a"] @ p["b"][0], p["a"] * 2), {"a": x, "b": (w,)}, has_aux=True)
    (found,) = back(torch.ones_like(value))
    return found["a"] + found["b"][0].sum() + more


def jacobians(w, x):
    return (jacrev(lambda v: torch.sin(v @ w))(x[0]) + jacfwd(lambda v: torch.sin(v @ w))(x[0])) * 2


def jacobians_of_several(w, x):
    of_v, of_u = jacrev(lambda v, u: torch.sin(v @ u), argnums=(0, 1))(x[0], w)
    found, more = jacfwd(lambda v: (v.exp(), v * 2), has_aux=True)(x[0])
    return of_v.sum() + of_u * 2 + found + more


def second_derivatives(w, x):
    return hessian(lambda v: torch.sin(v @ w).sum())(x[0]) * 2 + vmap(hessian(lambda v: (v @ w).pow(3).sum()))(x).sum()


def with_aux(w, x):
    g, y = grad(lambda v: ((v * 2).sin().sum(), v * 2), has_aux=True)(w)
    return g * y + x.sum()


def of_several(w, x):
    return sum(g.sum() for g in grad(lambda v, u: (u @ v).tanh().sum(), argnums=(0, 1))(w, x)) * w


def of_a_gradient(w, x):
    return grad(lambda v: grad(lambda u: (x @ u).tanh().sum())(v).pow(2).sum())(w) * 2


def detaches(w, x):
    return grad(lambda v: (v.detach() * v + w.detach() * v).sin().sum())(w) * 2


def asks_for_requires_grad(w, x):
    return grad(lambda v: (v * 2).sin().sum() if v.requires_grad else v.sum())(w) * 2


def of_sizes(w, x):
    return vmap(lambda row: row * x.shape[0] + torch.arange(row.shape[0]) * len(x))(x) + x.mean()


def of_settings(w, x):
    y = vmap(lambda row: (row * Settings.scale).sum() if Settings.mode == "sum" else row.prod())(x)
    return y * 2


def without_gradients_around(w, x):
    with torch.no_grad():
        y = vmap(grad(lambda row: (row @ w).sin().sum()))(x) * 2
    return y + w.sum()


IN_ONE_PLAN = [
    mapped, mapped_with_options, made_before, mapped_twice, of_a_module, of_each_sample, forward_mode, backward_mode,
    backward_of_a_dict, jacobians, jacobians_of_several, second_derivatives, with_aux, of_several, of_a_gradient, detaches,
    asks_for_requires_grad, of_sizes, without_gradients_around,
]  # fmt: skip
log = []


def logs(w, x):
    return vmap(lambda row: (log.append(1), row * 2)[1])(x) + 1


def prints(w, x):
    def of(row):
        print("within")
        return row * 2

    return vmap(of)(x) + 1


def writes(w, x):
    def of(row):
        y = row * 2
        y.add_(1)
        return y

    return vmap(of)(x) * 2


def counts(w, x):
    calls = 0

    def of(row):
        nonlocal calls
        calls += 1
        return row * 2

    return vmap(of)(x) + calls


def draws(w, x):
    return vmap(lambda row: row + torch.rand(4), randomness="different")(x) * 2


def in_chunks(w, x):
    return vmap(lambda row: (row @ w).sin(), chunk_size=2)(x) + 1


def branches_on_contents(w, x):
    return vmap(lambda row: row * 2 if w.sum() > 0 else row * 3)(x) + 1


def keeps_the_pullback(w, x):
    value, log_of[0] = vjp(lambda v: torch.sin(v @ w), x)
    return value * 2


log_of = [None]
AS_PYTHON = [logs, prints, writes, counts, draws, in_chunks, branches_on_contents, keeps_the_pullback, of_an_operator]


def outcome(f, i, of_w, of_x):
    torch.manual_seed(i)
    log.clear()
    w, x = torch.randn(4, 4, requires_grad=of_w), torch.randn(3 + i % 2, 4, requires_grad=of_x)
    result = f(w, x)
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    roots = [each.sum() for each in results if each.requires_grad]
    leaves = [t for t in (w, x, *NET.parameters()) if t.requires_grad]
    gradients = torch.autograd.grad(roots, leaves, allow_unused=True) if roots else []
    return results, gradients, torch.get_rng_state(), list(log)


def compare(f, **options):
    cresset.reset()
    compiled = cresset.compile(f, **options)
    for i, flags in enumerate([(True, False)] * 3 + [(False, False)] * 3 + [(True, True)] * 3):
        for j in (i, i + 1):
            ours, expected = outcome(compiled, j, *flags), outcome(f, j, *flags)
            for a, b in zip(ours[0], expected[0], strict=True):
                assert torch.equal(a, b) and a.requires_grad == b.requires_grad and a.stride() == b.stride(), (j, flags)
                assert not torch._C._functorch.is_functorch_wrapped_tensor(a)
            for a, b in zip(ours[1], expected[1], strict=True):
                assert (a is None) == (b is None), (j, flags)
                assert a is None or torch.allclose(a, b, rtol=1e-4, atol=1e-5), (j, flags)
            assert torch.equal(ours[2], expected[2]) and ours[3] == expected[3]
    return cresset.explain(compiled)


@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("f", IN_ONE_PLAN, ids=lambda f: f.__name__)
def test_in_one_plan(f, fullgraph):
    found = compare(f, fullgraph=fullgraph)
    assert sum(plan.applied for plan in found.plans) >= 10, found
    code = f.__code__
    assert all(plan.first_line <= code.co_firstlineno + 1 for plan in found.plans), found


@pytest.mark.parametrize("f", AS_PYTHON, ids=lambda f: f.__name__)
def test_as_python(f):
    compare(f)


def agree(compiled, f, *arguments):
    assert torch.equal(compiled(*arguments), f(*arguments))


def test_what_is_read_within_is_checked(monkeypatch):
    cresset.reset()
    compiled = cresset.compile(of_settings)
    w, x = torch.randn(4, 4), torch.randn(3, 4)
    for i in range(12):
        monkeypatch.setattr(Settings, "scale", 2 + i // 4)
        agree(compiled, of_settings, w, x)
    monkeypatch.setattr(Settings, "mode", "prod")
    for _ in range(3):
        agree(compiled, of_settings, w, x)


def test_kinds_of_tensors_are_checked():
    compiled = cresset.compile(mapped)
    for dtype in (torch.float32, torch.float64):
        for x in (torch.randn(3, 4, dtype=dtype), torch.randn(4, 3, dtype=dtype).t(), torch.randn(5, 4, dtype=dtype)):
            for _ in range(3):
                agree(compiled, mapped, torch.randn(4, 4, dtype=dtype), x)


def test_many_sizes():
    compiled = cresset.compile(mapped)
    for i in range(40):
        agree(compiled, mapped, torch.randn(4, 4), torch.randn(1 + i % 13, 4))


def test_sizes_that_contents_decide():
    def f(x):
        kept = x[x > 0] * 2
        return vmap(lambda v: (v * kept.shape[0]).sin() + kept.sum())(kept) * 2

    compiled = cresset.compile(f)
    for i in range(12):
        agree(compiled, f, torch.cat([torch.ones(1), torch.randn(2 + i % 3)]))  # vmap refuses none


def test_one_tensor_under_two_names():
    def f(a, b):
        return vmap(lambda v: (v * a).sin().sum())(b) * 2

    compiled = cresset.compile(f)
    for i in range(12):
        a, b = torch.randn(4, 4), torch.randn(4, 4)
        agree(compiled, f, *((a, a), (a, b), (a, a.t()), (a[:2], a[:2]))[i // 2 % 4][:2])


def test_numbers_that_are_not_finite():
    """Derivatives that are none are no zeros of torch.func's."""
    compiled = cresset.compile(second_derivatives)
    for i in range(8):
        w, x = torch.randn(4, 4), torch.randn(3, 4)
        if i > 4:
            w[0, 1], x[0, 2] = float("inf"), float("nan")
        ours, expected = compiled(w, x), second_derivatives(w, x)
        assert torch.equal(ours.isnan(), expected.isnan()) and torch.equal(ours.nan_to_num(), expected.nan_to_num())


def test_exceptions_within():
    def f(w, x):
        return vmap(lambda row: (row @ w).sin().sum())(x) * 2 + 1

    compiled = cresset.compile(f)
    for columns in (4, 4, 4, 3, 4, 3):
        w, x = torch.randn(4, 4), torch.randn(3, columns)
        if columns == 3:
            with pytest.raises(RuntimeError, match="size mismatch|shape"):
                compiled(w, x)
        else:
            agree(compiled, f, w, x)
        assert not torch._C._functorch.peek_interpreter_stack()


def test_modules_within_change():
    def f(net, x):
        return vmap(grad(lambda row: net(row).pow(2).sum()))(x) * 2

    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())
    compiled, x, seen = cresset.compile(f), torch.randn(3, 4), []
    for i in range(12):
        if i == 4:
            net[0].weight = torch.nn.Parameter(torch.randn(4, 4))
        if i == 6:
            net[0] = torch.nn.Linear(4, 4, bias=False)
        if i == 8:
            net[1].register_forward_hook(lambda *_: seen.append(1))
        agree(compiled, f, net, x)
    assert len(seen) == 8


def test_autocast_around():
    def f(w, x):
        return vmap(lambda row: (row @ w).sin())(x) * 2

    compiled = cresset.compile(f)
    for i in range(8):
        with torch.autocast("cpu", torch.bfloat16, enabled=i > 3):
            agree(compiled, f, torch.randn(4, 4), torch.randn(3, 4))


def test_default_dtype():
    def f(x):
        return vmap(lambda row: row + torch.ones(4) / 3)(x) * 2

    compiled = cresset.compile(f)
    try:
        for i in range(8):
            torch.set_default_dtype(torch.float64 if i > 3 else torch.float32)
            agree(compiled, f, torch.randn(3, 4, dtype=torch.float32))
    finally:
        torch.set_default_dtype(torch.float32)
