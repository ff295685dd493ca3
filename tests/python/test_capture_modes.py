"""Captured functions that set modes of torch for a part of what they do: gradients, inference mode, autocast."""

import itertools

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

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def gradients_agree(program, parameters, *arguments, contexts=(), rounds=4, plans=1):
    """Results and gradients are eager PyTorch's, bit for bit, in each of the contexts."""
    compiled = cresset.compile(program)
    cresset.reset()
    for i in range(rounds):
        for context in contexts or (torch.enable_grad,):
            results = []
            for function in (program, compiled):
                x = torch.arange(12.0).reshape(3, 4).div(5 + i).requires_grad_()
                with context():
                    y = function(x, *arguments)
                before = torch.is_grad_enabled(), torch.is_autocast_enabled("cpu"), torch.is_autocast_cache_enabled()
                grads = [None]
                if y.requires_grad:
                    grads = torch.autograd.grad(y.float().square().sum(), [x, *parameters], allow_unused=True)
                results.append([y.detach(), y.dtype, y.requires_grad, y.is_inference(), *grads, *before])
            assert same(*results), (i, context, results)
    report = cresset.explain(compiled)
    assert plans is None or len([plan for plan in report.plans if plan.applied]) == plans, report
    return report


# ---- Gradients and inference mode


def test_gradients_that_are_set():
    def f(x, flag):
        with torch.set_grad_enabled(flag):
            y = x * 2 + 1
        with torch.set_grad_enabled(mode=not flag):
            z = y.tanh() * 3
        return y + z

    gradients_agree(f, [], True, contexts=[torch.enable_grad, torch.no_grad], plans=None)
    for flag in (True, False):
        assert len([p for p in gradients_agree(f, [], flag).plans if p.applied]) == 1


def test_gradients_that_are_set_by_a_statement():
    def f(x):
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        y = x * 2
        torch.set_grad_enabled(before)
        return y + x.tanh()

    gradients_agree(f, [], plans=None)


def test_gradients_that_an_argument_sets():
    def pair(context, y):
        with context:
            return y + y

    def f(x):
        return pair(torch.set_grad_enabled(False), x * 2) * x

    gradients_agree(f, [], plans=None)


@pytest.mark.parametrize("wrap", [
    torch.no_grad(), torch.no_grad, torch.enable_grad(), torch.inference_mode(), torch.inference_mode(False),
    lambda f: torch.set_grad_enabled(False)(f),
])  # fmt: skip
def test_functions_that_set_a_mode(wrap):

    @wrap
    def inner(x):
        return (x * 2).tanh() + x.shape[0]

    def f(x):
        return inner(x).clone() + 1

    gradients_agree(f, [], contexts=[torch.no_grad], plans=1)
    gradients_agree(inner, [], contexts=[torch.enable_grad, torch.no_grad], plans=None)


@pytest.mark.parametrize("calls", [2, 6])
def test_inference_mode(calls):
    net = Net()

    def f(x):
        with torch.inference_mode():
            y = net(x)
            for _ in range(calls):
                y = (y * 2).tanh()
        return y

    report = gradients_agree(f, [], contexts=[torch.enable_grad, torch.no_grad])
    assert report.plans[0].graph_calls > 0


def test_inference_mode_of_a_part():
    def f(x):
        y = (x * 2).tanh().exp() + 1
        with torch.inference_mode():
            z = (y.detach() * 2).tanh().exp() + torch.is_inference_mode_enabled()
            with torch.inference_mode(mode=False):
                w = torch.ones(3) + z.shape[0]
        return y * w.sum() + z.shape[1]

    gradients_agree(f, [])


def test_an_object_that_sets_a_mode():
    kept = torch.no_grad()

    def f(x):
        with kept:
            y = x * 2
        return y + x, kept.prev

    agree(f, ((X,), {}))
    with torch.no_grad():
        agree(f, ((X,), {}))


def test_modes_that_change_between_calls():
    contexts = itertools.cycle([torch.no_grad, torch.enable_grad, torch.inference_mode])
    kind = torch.no_grad

    def f(x):
        with kind():
            y = (x * 2).tanh()
        return y.requires_grad, y.is_inference(), y.clone()

    def change(i):
        nonlocal kind
        kind = next(contexts)

    agree(f, ((X.clone().requires_grad_(),), {}), rounds=9, plans=None, change=change)


# ---- Autocast


def test_autocast():
    net = Net()

    def f(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return net(x)

    gradients_agree(f, list(net.parameters()))
    gradients_agree(
        f,
        list(net.parameters()),
        contexts=[torch.no_grad, torch.enable_grad, lambda: torch.autocast("cpu", torch.float16)],
    )


@pytest.mark.parametrize("cache", [True, False, None])
def test_parameters_that_autocast_casts_once(cache):
    """The gradients of the uses of a cast are added before they are cast back, or after that."""
    net = Net()

    def f(x):
        with torch.autocast("cpu", torch.bfloat16, cache_enabled=cache):
            y = net(x)
            with torch.autocast("cpu", enabled=False):
                y = y.float() @ y.float().T
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = y @ net(x)
            return net(y)

    contexts = [torch.enable_grad, lambda: torch.autocast("cpu", torch.bfloat16, cache_enabled=not cache)]
    gradients_agree(f, list(net.parameters()), contexts=contexts, plans=None)


class Deep(nn.Module):
    """More calls than a graph needs to be worth it; the layers' norm, and with it its casts, is shared."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.norm = nn.LayerNorm(4)

    def forward(self, x):
        for layer in self.layers:
            x = x + self.norm(torch.relu(layer(x)) @ layer.weight)
        return x.softmax(-1)


def in_graphs(report):
    return [plan.graph_calls for plan in report.plans if plan.applied]


def to_half():
    return torch.autocast("cpu", torch.float16)


AUTOCASTS = [
    torch.enable_grad,
    lambda: torch.autocast("cpu", torch.bfloat16),
    to_half,
    lambda: torch.autocast("cpu", torch.bfloat16, cache_enabled=False),
    lambda: torch.autocast("cpu", torch.bfloat16, enabled=False),
]


def test_graphs_that_are_called_under_autocast():
    net = Deep()
    report = gradients_agree(lambda x: net(x), list(net.parameters()), contexts=AUTOCASTS)
    assert min(in_graphs(report)) >= 12


@pytest.mark.parametrize("cache", [True, False])
def test_graphs_in_autocast(cache):
    """Each with its own modes: calls in one autocast are a graph, those in the next and those outside are others."""
    net, other = Deep(), Deep()

    def f(x):
        y = (x * 2).tanh().exp() + 1
        with torch.autocast("cpu", torch.bfloat16, cache_enabled=cache):
            y = net(y)
            y = y @ other(y).T @ net(y * 2)
        z = (y.float() * y).sin().cos() - y
        with torch.autocast("cpu", torch.bfloat16):
            z = net(z)
            with torch.autocast("cpu", enabled=False):
                z = (z.float() @ x.T).relu().exp() @ x
        return (z + y).sigmoid() * x.size(1)

    parameters = [*net.parameters(), *other.parameters()]
    # A cast is kept until the outermost autocast ends, whatever its dtype.
    contexts = [context for context in AUTOCASTS if context is not to_half]
    report = gradients_agree(f, parameters, contexts=contexts, plans=None)
    assert min(in_graphs(report)) >= 50


def test_casts_end_with_autocast():
    """A parameter that changes between two contexts is cast anew, also in the next call."""
    net = Net()

    def f(x):
        with torch.autocast("cpu", torch.bfloat16):
            return net(x)

    def program(x):
        y = f(x)
        with torch.no_grad():
            net.first.weight.mul_(-1)
        z = f(x)
        with torch.no_grad():
            net.first.weight.mul_(-1)
        return y * z

    gradients_agree(program, list(net.parameters()), plans=None)
    with torch.autocast("cpu", torch.bfloat16):
        gradients_agree(program, [], plans=None)


def test_casts_of_a_plan_that_is_given_up():
    net = Net()

    def f(x, limit):
        with torch.autocast("cpu", torch.bfloat16):
            y = net(x)
        if y.float().sum() > limit:
            return y
        return y * 2

    compiled = cresset.compile(f)
    for limit in (-1e9, -1e9, -1e9, 1e9, -1e9, 1e9):
        with torch.no_grad():
            net.first.weight.add_(0.1)
        assert same(compiled(X, limit), f(X, limit))


def test_autocast_of_defaults():
    def f(x):
        with torch.autocast("cpu"):
            return x @ x.T, torch.get_autocast_dtype("cpu"), torch.is_autocast_enabled("cpu")

    agree(f, ((X,), {}))
    before = torch.get_autocast_dtype("cpu")
    try:
        compiled = cresset.compile(f)
        for dtype in (torch.bfloat16, torch.float16, torch.bfloat16):
            torch.set_autocast_dtype("cpu", dtype)
            for _ in range(3):
                assert same(compiled(X), f(X)) and compiled(X)[0].dtype is dtype
    finally:
        torch.set_autocast_dtype("cpu", before)


def test_functions_that_autocast():
    net = Net()

    @torch.autocast("cpu", dtype=torch.bfloat16)
    def inner(x):
        return net(x)

    def f(x):
        return inner(x) * 2

    gradients_agree(
        f, list(net.parameters()), contexts=[torch.enable_grad, lambda: torch.autocast("cpu", enabled=False)]
    )
    gradients_agree(inner, list(net.parameters()))


def test_autocast_whose_parts_change():
    context = torch.autocast("cpu", torch.bfloat16)

    def f(x):
        with context:
            return x @ x.T

    def change(i):
        context._enabled = i % 4 != 3
        context.fast_dtype = (torch.bfloat16, torch.float16)[i // 2 % 2]

    agree(f, ((X,), {}), rounds=12, plans=None, change=change)


@pytest.mark.filterwarnings("ignore")
def test_autocast_that_is_not_taken():
    def f(x, dtype, device):
        with torch.autocast(device, dtype=dtype):
            return x @ x.T

    agree(f, ((X, torch.float64, "cpu"), {}), ((X, torch.bfloat16, "cpu"), {}), ((X, None, "nowhere"), {}), plans=None)


def test_autocast_around_an_error():
    def f(x, n):
        with torch.autocast("cpu", torch.bfloat16):
            return x @ x.T[:n].reshape(4, 3)

    agree(f, ((X, 3), {}), ((X, 2), {}), plans=None)
    assert not torch.is_autocast_enabled("cpu")


def test_autocast_of_a_torch_that_changed(monkeypatch):
    def f(x):
        with torch.autocast("cpu", torch.bfloat16):
            return x @ x.T

    agree(f, ((X,), {}))
    compiled = cresset.compile(f)
    compiled(X)
    monkeypatch.setattr(torch.autocast, "__enter__", lambda self: self)
    monkeypatch.setattr(torch.autocast, "__exit__", lambda self, *_: False)
    for _ in range(4):
        assert compiled(X).dtype is torch.float32


@pytest.mark.parametrize("options", [{"backend": lambda gm, _: gm.forward}, {"dynamic": False}])
def test_modes_with_options(options):
    def f(x):
        with torch.autocast("cpu", torch.bfloat16):
            y = x @ x.T
        with torch.inference_mode():
            z = (x * 2).tanh().exp() + 1
        return y, z

    compiled = cresset.compile(f, **options)
    for _ in range(4):
        assert same(compiled(X), f(X))


# ---- Gradients that are set on or off by a statement


def sets_and_restores(x, w):
    y = torch.tanh(x @ w) * 2 + 1
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    z = torch.sigmoid(y @ w) * 3 + torch.is_grad_enabled()
    torch.set_grad_enabled(before)
    return y, z, torch.relu(y * z) @ w + torch.is_grad_enabled()


def leaves_off(x, w):
    torch.set_grad_enabled(mode=False)
    return torch.sigmoid(x @ w) * 3 - 1


def sets_in_a_callee(x, w):
    y = leaves_off(x, w)
    return y, (x @ w).tanh()


def sets_within_with(x, w):
    with torch.no_grad():
        y = x @ w
        torch.set_grad_enabled(True)
        y = y + x * 2
    torch.set_grad_enabled(False)
    with torch.enable_grad():
        z = (x * w).tanh() + 1
    return y, z, x * 3


def sets_within_autocast(x, w):
    with torch.autocast("cpu", torch.bfloat16):
        y = x @ w
        torch.set_grad_enabled(False)
        y = (y @ w).tanh()
    return y, x @ w


def sets_and_raises(x, w):
    torch.set_grad_enabled(False)
    y = torch.sigmoid(x @ w) * 3 - 1
    return y @ w[: 3 + (x.shape[0] % 2)]


def sets_and_branches(x, w):
    torch.set_grad_enabled(x.shape[0] > 4)
    y = torch.relu(x @ w) * 2
    if y.shape[0] == 5:
        torch.set_grad_enabled(True)
    return y, y + x


@pytest.mark.parametrize("around", [True, False])
@pytest.mark.parametrize("f", [
    sets_and_restores, leaves_off, sets_in_a_callee, sets_within_with, sets_within_autocast, sets_and_raises, sets_and_branches,
], ids=lambda f: f.__name__)  # fmt: skip
def test_statements_that_set_whether_gradients_are_on(f, around):
    cresset.reset()
    compiled = cresset.compile(f)
    w = torch.randn(4, 4, requires_grad=True)
    for i in range(10):
        x = torch.randn(4 + i % 2, 4, requires_grad=True)
        x = x if f is not sets_within_with else torch.randn(4, 4, requires_grad=True)
        found = []
        for function in (f, compiled):
            try:
                torch.set_grad_enabled(around)
                result = function(x, w)
            except RuntimeError as error:
                result = str(error)
            after = torch.is_grad_enabled()
            torch.set_grad_enabled(True)
            gradients = ()
            if not isinstance(result, str):
                parts = [part for part in (result if isinstance(result, tuple) else (result,)) if part.requires_grad]
                if parts:
                    total = sum(part.float().sum() for part in parts)
                    gradients = torch.autograd.grad(total, (x, w), allow_unused=True)
            found.append((result, after, gradients))
        assert same(*found), (i, found)


def test_a_statement_that_sets_a_mode_is_part_of_the_plan():
    compiled = cresset.compile(sets_and_restores)
    for _ in range(4):
        compiled(X[:, :3], torch.randn(3, 3))
    (plan,) = [plan for plan in cresset.explain(compiled).plans if plan.applied]
    assert plan.graph_calls >= 4 and plan.applied == 3
    assert torch.is_grad_enabled()
