"""What plans of captured frames change besides their results, statistics and random numbers, is what plain Python changes; a
plan that is given up has changed nothing."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import cresset
from cresset import _frames

pytestmark = pytest.mark.skipif(not hasattr(_frames, "call_captured"), reason="frames are captured on CPython 3.11")


def outcome(function, x, seed, parameters):
    """Results, gradients, or the exception; and the random number that is next."""
    torch.manual_seed(seed)
    for parameter in parameters:
        parameter.grad = None
    try:
        result = function(x)
        if result.requires_grad:
            result.sum().backward()
    except (RuntimeError, ValueError, IndexError) as error:
        result = type(error)
    return result, [p.grad for p in parameters], torch.rand(3)


def agrees(module, inputs, compiled=cresset.compile, before=lambda net, i: None):
    """Runs the module and a compiled copy on each of the inputs, after `before(either, number of the call)`; the compiled
    one."""
    ours = copy.deepcopy(module)
    function = compiled(ours)
    for i, x in enumerate(inputs):
        before(function, i)
        before(module, i)
        found = outcome(function, x, i, list(ours.parameters()))
        expected = outcome(module, x, i, list(module.parameters()))
        torch.testing.assert_close(found[2], expected[2], rtol=0, atol=0)
        if isinstance(expected[0], torch.Tensor):
            torch.testing.assert_close(found[0], expected[0], rtol=0, atol=0)
        else:
            assert found[0] is expected[0]
        torch.testing.assert_close(found[1], expected[1])
        for (name, buffer), (_, other) in zip(ours.named_buffers(), module.named_buffers(), strict=True):
            assert torch.equal(buffer, other), f"call {i}: {name}"
    return function


class Net(nn.Module):
    def __init__(self, norm=None, drop=None):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3), nn.Linear(8, 4)
        self.norm = norm if norm is not None else nn.BatchNorm2d(8)
        self.drop = drop if drop is not None else nn.Dropout(0.3)

    def forward(self, x):
        h = torch.relu(self.norm(self.first(x)))
        return self.second(self.drop(h).mean((2, 3)) * 2).tanh()


def images(*sizes):
    return [torch.randn(2 + i, 3, size, size) for i, size in enumerate(sizes)]


NETS = {
    "batch norm and dropout": lambda: Net(),
    "no statistics": lambda: Net(nn.BatchNorm2d(8, track_running_stats=False)),
    "cumulative average": lambda: Net(nn.BatchNorm2d(8, momentum=None)),
    "not affine": lambda: Net(nn.BatchNorm2d(8, affine=False), nn.Identity()),
    "two norms": lambda: Net(nn.Sequential(nn.BatchNorm2d(8), nn.GELU(), nn.BatchNorm2d(8))),
    "one norm twice": lambda: Net(nn.Sequential(*[nn.BatchNorm2d(8)] * 2)),
    "drops channels": lambda: Net(drop=nn.Dropout2d(0.5)),
    "drops in place": lambda: Net(drop=nn.Dropout(0.5, inplace=True)),
    "alpha dropout": lambda: Net(drop=nn.AlphaDropout(0.2)),
    "several dropouts": lambda: Net(drop=nn.Sequential(nn.Dropout(0.1), nn.Tanh(), nn.Dropout(0.2), nn.Dropout2d(0.1))),
    "drops all": lambda: Net(drop=nn.Dropout(1.0)),
}


@pytest.mark.parametrize("name", NETS)
def test_networks_in_training(name):
    torch.manual_seed(0)
    function = agrees(NETS[name](), images(12, 12, 12, 9, 9, 12, 7))
    if name != "cumulative average":  # which reads the count
        assert any(plan.applied >= 4 for plan in cresset.explain(function).plans), cresset.explain(function)


def test_one_graph_for_a_network_in_training():
    cresset.reset()  # all nn.Sequential share their plans
    torch.manual_seed(0)
    net = nn.Sequential(*[nn.Sequential(nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3), nn.ReLU()) for _ in range(6)])
    function = agrees(net, images(6, 6, 6, 6, 6))
    (plan,) = cresset.explain(function).plans
    assert plan.graph_calls >= 18 and plan.applied == 4 and plan.failed == 0


def test_switching_between_training_and_evaluation():
    torch.manual_seed(0)
    modes = [True, True, False, False, True, False, True, True]
    agrees(Net(), images(*[8] * 8), before=lambda net, i: net.train(modes[i]))


class Branches(nn.Module):
    """What a result's size decides is checked after statistics were written and numbers drawn."""

    def __init__(self):
        super().__init__()
        self.norm, self.pool = nn.BatchNorm1d(4), nn.Linear(4, 6)

    def forward(self, x):
        h = F.dropout(torch.relu(self.norm(x) + 1), 0.4, self.training) * 2
        h = h.transpose(0, 1)
        if h.shape[1] > 4:
            h = h * h.shape[1] - 1
        return torch.sigmoid(self.pool(h.t()) * 3)


def test_a_plan_that_a_check_stops_has_changed_nothing():
    torch.manual_seed(0)
    sizes = [3, 3, 3, 6, 3, 6, 6, 2, 9, 3, 6]
    function = agrees(Branches(), [torch.randn(size, 4) for size in sizes])
    assert sum(plan.failed for plan in cresset.explain(function).plans) > 0


def test_a_call_that_raises_after_effects():
    """Statistics are updated once, and the exception comes from Python."""
    torch.manual_seed(0)

    class Raises(Net):
        def forward(self, x):
            h = self.drop(torch.relu(self.norm(self.first(x))))
            return self.second(h.flatten(1)).tanh() * 2

    module = Raises()
    module.second = nn.Linear(8 * 4, 4)
    inputs = images(4, 4, 4, 6, 4, 6, 6, 4)  # 6: the linear layer raises
    agrees(module, inputs)


def test_statistics_that_were_replaced():
    def replace(net, i):
        if i == 4:
            net.norm.running_mean = torch.full((8,), 2.0)
        if i == 6:
            net.norm.reset_running_stats()

    torch.manual_seed(0)
    agrees(Net(), images(*[6] * 8), before=replace)


def test_statistics_that_another_name_reads():
    class Reads(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(4)

        def forward(self, x):
            before = self.norm.running_mean * 2
            h = torch.relu(self.norm(x) * 2)
            return h + before + self.norm.running_mean.view(1, 4) * 3 - self.norm.running_var

    torch.manual_seed(0)
    agrees(Reads(), [torch.randn(3 + i % 2, 4) for i in range(8)])


def test_a_count_that_is_read():
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.tensor(0))

        def forward(self, x):
            self.calls.add_(1)
            y = torch.sin(x) * self.calls + 1
            self.calls.add_(2)
            return (y * self.calls).exp() - y

    torch.manual_seed(0)
    function = agrees(Counts(), [torch.randn(3) for _ in range(6)])
    assert any(plan.applied >= 3 for plan in cresset.explain(function).plans)


def test_attention_that_drops():
    class Attends(nn.Module):
        def forward(self, x):
            y = F.scaled_dot_product_attention(x, x * 2, x + 1, dropout_p=0.3 if self.training else 0.0)
            return F.dropout(y, 0.2, self.training) * 2 + x

    torch.manual_seed(0)
    agrees(Attends(), [torch.randn(2, 2, 5, 4) for _ in range(6)])


def test_sequence_of_random_numbers_is_the_programs():
    """Two independent draws, of which one is in a graph, the other is not."""

    def f(x):
        a = F.dropout(x, 0.5, True)
        b = torch.sin(torch.cos(torch.tanh(F.dropout(x + 1, 0.5, True) * 2) + 1))
        return a, b

    function = cresset.compile(f)
    for i in range(6):
        x = torch.randn(50)
        torch.manual_seed(i)
        found = function(x)
        torch.manual_seed(i)
        for ours, theirs in zip(found, f(x), strict=True):
            assert torch.equal(ours, theirs)


def test_backends_get_no_effects():
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    torch.manual_seed(0)
    agrees(Net(), images(*[6] * 5), lambda module: cresset.compile(module, backend=backend))
    assert not any("dropout" in str(graph.graph) or "batch_norm" in str(graph.graph) for graph in graphs)


def test_random_numbers_in_one_graph():
    """The operators of the graph draw what eager PyTorch draws, in its order, also what is not used."""

    def f(x):
        a = F.dropout(x, 0.4, True) * 2 + torch.rand_like(x)
        torch.rand_like(x)
        b = torch.bernoulli(torch.sigmoid(a.detach())) + torch.randn(x.shape[0], 1)
        return a, (b - x.detach().bernoulli(0.3)).tanh(), F.alpha_dropout(b, 0.2, True) + torch.normal(x, 1.0)

    compiled = cresset.compile(f, fullgraph=True)
    for i in range(8):
        found = []
        for function in (f, compiled):
            torch.manual_seed(i)
            x = torch.randn(3 + i % 3, 5).requires_grad_(i % 2 == 1)
            result = function(x)
            found.append([*result, torch.get_rng_state()])
            if x.requires_grad:
                found[-1] += torch.autograd.grad(sum(part.sum() for part in result), x)
        assert all(map(torch.equal, *found)), i
    (plan,) = [plan for plan in cresset.explain(compiled).plans if plan.applied]
    assert plan.graph_calls >= 14 and plan.applied == 7


GENERATOR = torch.Generator()


def draws_from_a_generator(x, w):
    y = torch.tanh(x + torch.randn(x.shape, generator=GENERATOR)) * 2 + torch.rand(4)
    y = y @ w[torch.randperm(4, generator=GENERATOR)] + torch.empty(4).normal_(generator=GENERATOR)
    drawn = torch.bernoulli(torch.sigmoid(y).detach(), generator=GENERATOR) + torch.rand(4, generator=None)
    return y * drawn @ torch.ones(x.shape[0] % 2 + 3, 2)


def test_random_numbers_of_a_generator():
    """A plan that raises puts back both generators, and then the Python draws."""
    compiled = cresset.compile(draws_from_a_generator)
    for i in range(8):
        found = []
        for function in (draws_from_a_generator, compiled):
            GENERATOR.manual_seed(i)
            torch.manual_seed(i)
            x = torch.randn(2 + (i % 4 != 3), 4).requires_grad_(i % 2 == 1)
            w = torch.randn(4, 4).requires_grad_()
            try:
                result = function(x, w)
                result = [result.detach(), *torch.autograd.grad(result.sum(), w)]
            except RuntimeError as error:
                result = [torch.tensor(list(str(error).encode()))]
            found.append([*result, GENERATOR.get_state(), torch.get_rng_state()])
        assert all(map(torch.equal, *found)), i
    plans = cresset.explain(compiled).plans
    assert plans[0].applied >= 5 and plans[0].raised >= 1, cresset.explain(compiled)


def test_generators_that_come_and_go():
    def f(x, generator):
        return x + torch.rand(3, generator=generator)

    compiled = cresset.compile(f)
    for i in range(6):
        generator = torch.Generator().manual_seed(i) if i % 3 else None
        torch.manual_seed(i)
        expected = f(torch.ones(3), generator)
        if generator is not None:
            generator.manual_seed(i)
        torch.manual_seed(i)
        assert torch.equal(compiled(torch.ones(3), generator), expected)


def test_versions_of_statistics_after_an_exception():
    """What a plan has written and put back, the program has not written."""

    def f(net, x, w):
        return net(x) @ w

    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Tanh())
    captured = copy.deepcopy(plain)
    compiled = cresset.compile(f)
    raised = 0
    for i in range(10):
        x, w = torch.randn(3, 4), torch.randn(3 if i % 3 == 2 else 4, 2)
        for net, function in ((plain, f), (captured, compiled)):
            try:
                function(net, x, w)
            except RuntimeError:
                raised += 1
        for a, b in zip(plain.buffers(), captured.buffers(), strict=True):
            assert torch.equal(a, b) and a._version == b._version, i
    assert raised == 6 and any(plan.raised for plan in cresset.explain(compiled).plans)


@pytest.mark.parametrize("draw", [
    lambda x: torch.randint_like(x, 10), lambda x: torch.randint_like(x, 2, 10, dtype=torch.float64), torch.rand_like,
    torch.randn_like, lambda x: torch.poisson(x.abs()), lambda x: torch.normal(x, 1.0), lambda x: F.dropout(x, 0.5, True),
    lambda x: torch.multinomial(x.abs() + 0.1, 2), lambda x: torch.bernoulli(x.sigmoid()),
])  # fmt: skip
def test_gradients_through_random_numbers(draw):
    def f(x):
        drawn = draw(x)
        return ((x * 2).tanh() + drawn.sum()) * 2 + 1, drawn

    compiled = cresset.compile(f)
    for i in range(5):
        found = []
        for function in (f, compiled):
            torch.manual_seed(i)
            x = torch.linspace(-1, 1, 5).requires_grad_()
            total, drawn = function(x)
            parts = [total, drawn] if drawn.requires_grad else [total]
            gradient = torch.autograd.grad(sum(part.sum() for part in parts), x)[0]
            found.append([total, drawn, gradient, torch.tensor(drawn.requires_grad), torch.get_rng_state()])
        assert all(map(torch.equal, *found)), i


@cresset.allow_in_graph
def in_no_graph(x):
    return x * 2


@pytest.mark.parametrize("call", [in_no_graph, lambda x: torch.randint_like(x, 5)], ids=["allowed", "random"])
def test_fullgraph_refuses_before_effects(call):
    """Of a call that no compiled graph has the error comes before what the function changes after it."""

    class Counter:
        count, found = 0, []

    def f(counter, x, mean):
        y = torch.tanh(x) + 1
        z = call(y)
        counter.count += 1
        counter.found.append(z)
        with torch.no_grad():
            mean.add_(z.sum(0))
        return z.sin() * 2

    compiled, counter, mean = cresset.compile(f, fullgraph=True), Counter(), torch.zeros(3)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="which compiled graphs have not") as raised:
            compiled(counter, torch.ones(2, 3), mean)
        assert counter.count == 0 and not counter.found and not mean.any()
        assert "Call it outside of the function" in str(raised.value) and str(f.__code__.co_firstlineno + 2) in str(
            raised.value
        )
