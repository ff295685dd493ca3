"""Captured functions that go over the parameters of a module, or call it with others: one plan, and what it checks."""

import pytest
import torch
from torch.func import functional_call

import cresset


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(3)])
        self.norm = torch.nn.BatchNorm1d(4)
        self.out = torch.nn.Linear(4, 2)

    def forward(self, x, scale=1.0):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.out(self.norm(x)) * scale


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(torch.relu(self.first(x) * 2 + 1)) - 1


class Keeps(torch.nn.Module):
    """Sets a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(4))
        self.inner = torch.nn.Linear(4, 4)

    def forward(self, x):
        x = torch.relu(self.inner(x) * 2 + 1)
        self.last = x.detach().mean(0)
        return x + self.last


def parameters_of(module, seed):
    generator = torch.Generator().manual_seed(seed)
    return {
        name: torch.randn(value.shape, generator=generator, requires_grad=True)
        for name, value in module.named_parameters()
    }


def check(function, calls, plans=1, **options):
    """Each call of the captured function is the function's own, gradients included; there are so many plans that ran."""
    cresset.reset()
    compiled = cresset.compile(function, **options)
    for i, make in enumerate(calls):
        found = []
        for each in (function, compiled):
            torch.manual_seed(i)
            arguments = make()
            result = each(*arguments)
            leaves = [leaf for leaf in arguments_in(arguments) if leaf.requires_grad]
            gradients = torch.autograd.grad(result.sum(), leaves, allow_unused=True) if leaves else ()
            found.append((result, *gradients))
        for ours, expected in zip(found[1], found[0], strict=True):
            assert (ours is None) == (expected is None)
            assert ours is None or torch.allclose(ours, expected, rtol=1e-5, atol=1e-6)
        assert torch.equal(found[0][0], found[1][0])
    ran = [plan for plan in cresset.explain(compiled).plans if plan.applied]
    assert len(ran) == plans, cresset.explain(compiled)
    return ran


def arguments_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from arguments_in(item)


@pytest.mark.parametrize("fullgraph", [False, True])
def test_functional_call_is_one_graph(fullgraph):
    net = Net().eval()

    def f(parameters, x):
        return functional_call(net, parameters, (x * 2,), {"scale": 2.0}) + 1

    (plan,) = check(
        f, [lambda i=i: (parameters_of(net, i), torch.randn(3 + i % 2, 4)) for i in range(5)], fullgraph=fullgraph
    )
    assert plan.graph_calls > 10


def test_functional_call_with_one_argument_and_some_parameters():
    net = Net().eval()

    def f(weight, x):
        return functional_call(net, {"out.weight": weight * 2}, x).relu() + net.out.weight.sum()

    check(f, [lambda: (torch.randn(2, 4, requires_grad=True), torch.randn(3, 4))] * 4, fullgraph=True)


def test_functional_call_with_dicts_of_parameters_and_buffers():
    net = Net().eval()

    def f(x):
        parameters = {name: value * 2 for name, value in net.named_parameters()}
        return functional_call(net, (parameters, dict(net.named_buffers())), x, strict=True).relu() * 2

    check(f, [lambda: (torch.randn(3, 4),)] * 4, fullgraph=True)


def test_functional_call_in_training_counts_in_the_buffers_that_it_is_given():
    net = Net()

    def f(buffers, x):
        return functional_call(net, buffers, x).relu() * 2

    def buffers():
        return {name: value.clone() for name, value in net.named_buffers()}

    compiled = cresset.compile(f)
    ours, expected = buffers(), buffers()
    for i in range(6):
        x = torch.randn(3 + i % 2, 4)
        assert torch.equal(f(expected, x), compiled(ours, x))
        assert all(torch.equal(value, expected[name]) for name, value in ours.items())
    assert net.norm.num_batches_tracked == 0
    assert int(ours["norm.num_batches_tracked"]) == 6


def test_tied_parameters_are_replaced_together():
    net = Tied()

    def f(weight, x):
        return functional_call(net, {"first.weight": weight}, x) * 2

    def apart(weight, x):
        return functional_call(net, {"first.weight": weight}, x, tie_weights=False) * 2

    calls = [lambda: (torch.randn(4, 4, requires_grad=True), torch.randn(3, 4))] * 4
    check(f, calls, fullgraph=True)
    check(apart, calls, fullgraph=True)


def test_plans_see_that_parameters_are_no_longer_tied():
    net = Tied()

    def f(weight, x):
        return functional_call(net, {"first.weight": weight}, x) * 2

    compiled = cresset.compile(f)
    for i in range(8):
        if i == 4:
            net.second.weight = torch.nn.Parameter(torch.randn(4, 4))
        weight, x = torch.randn(4, 4), torch.randn(3, 4)
        assert torch.equal(compiled(weight, x), f(weight, x)), i


def test_plans_see_names_that_come_and_go():
    net = Net().eval()

    def f(x):
        return functional_call(net, dict(net.named_parameters()), x) + sum(p.sum() for p in net.parameters())

    compiled = cresset.compile(f)
    for i in range(10):
        if i == 4:
            net.more = torch.nn.Linear(2, 2)
        if i == 7:
            net.out.bias = None
        x = torch.randn(3, 4)
        assert torch.equal(compiled(x), f(x)), i


def test_a_buffer_that_the_forward_sets_is_set_in_the_dict():
    net = Keeps()

    def f(buffers, x):
        return functional_call(net, buffers, x) * 2

    compiled = cresset.compile(f)
    ours, expected = {"last": torch.zeros(4)}, {"last": torch.zeros(4)}
    for _ in range(5):
        x = torch.randn(3, 4)
        assert torch.equal(f(expected, x), compiled(ours, x))
        assert torch.equal(ours["last"], expected["last"])
    assert torch.equal(net.last, torch.zeros(4))


def test_errors_of_functional_call_are_its_own():
    net = Net().eval()

    def f(parameters, x):
        return functional_call(net, parameters, (x,), strict=True) + 1

    compiled = cresset.compile(f)
    for i in range(6):
        given = parameters_of(net, i)
        given |= {name: value.clone() for name, value in net.named_buffers()}
        if i % 2:
            del given["out.bias"]
            with pytest.raises(RuntimeError, match="Missing key"):
                compiled(given, torch.randn(3, 4))
        else:
            x = torch.randn(3, 4)
            assert torch.equal(compiled(given, x), f(given, x))
    for group in net.named_parameters():
        assert isinstance(group[1], torch.nn.Parameter)


def test_the_forward_raises():
    class Raises(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(4, 4)

        def forward(self, x, n):
            y = torch.relu(self.inner(x) * 2 + 1)
            if n > 2:
                raise KeyError(n)
            return y

    net = Raises()

    def f(parameters, x, n):
        try:
            y = functional_call(net, parameters, (x, n))
        except KeyError:
            y = x * 3
        return y + net.inner.weight.sum()

    compiled = cresset.compile(f)
    for n in (1, 1, 3, 3, 1, 3, 3, 1):
        parameters, x = parameters_of(net, n), torch.randn(3, 4)
        assert torch.equal(compiled(parameters, x, n), f(parameters, x, n)), n


def test_iterations_over_parameters():
    net = Net().eval()

    def f(x):
        penalty = sum(p.pow(2).sum() for p in net.parameters() if p.dim() > 1)
        for name, buffer in net.named_buffers():
            if name.endswith("mean"):
                penalty = penalty + buffer.sum()
        return net(x).sum() + penalty

    check(f, [lambda i=i: (torch.randn(2 + i, 4),) for i in range(4)], fullgraph=True)


def test_buffers_that_are_set_while_they_are_gone_over():
    class Buffers(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name in "abc":
                self.register_buffer(name, torch.ones(2))

        def forward(self, x):
            found = []
            for buffer in self.buffers():
                self.c = buffer + 1
                found.append(torch.sin(buffer * 2) + x)
            return torch.stack(found)

    ours, expected = Buffers(), Buffers()
    compiled = cresset.compile(ours)
    for _ in range(5):
        x = torch.randn(2)
        assert torch.equal(compiled(x), expected(x))


def test_a_module_that_finds_its_parameters_itself():
    class Own(Net):
        def named_parameters(self, *args, **kwargs):
            return iter([("out.bias", self.out.bias)])

    net = Own().eval()

    def f(bias, x):
        penalty = sum(p.pow(2).sum() for p in net.parameters())
        return functional_call(net, {"out.bias": bias}, x) + penalty

    compiled = cresset.compile(f)
    for _ in range(4):
        bias, x = torch.randn(2), torch.randn(3, 4)
        assert torch.equal(compiled(bias, x), f(bias, x))


def hooked(m, x):
    return x * 2 + sum(len(each._forward_hooks) + len(name) for name, each in m.named_modules())


def test_modules_in_a_module():
    """`modules()` and `named_modules()` are part of a plan, with checks of which there are."""
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Dropout()))
    compiled = cresset.compile(hooked)
    for i in range(18):
        if i == 5:
            net[1][0].register_forward_hook(lambda *_: None)
        if i == 8:
            net[1].append(torch.nn.Tanh())
        if i == 11:
            net[1][0] = torch.nn.GELU()
        if i == 14:
            net.more = net[0]  # one module under two names
        x = torch.randn(3, 4)
        assert torch.equal(compiled(net, x), hooked(net, x)), i
    assert cresset.explain(compiled).plans[0].applied >= 3


def test_modules_that_list_their_own():
    class Own(torch.nn.Linear):
        def named_modules(self, memo=None, prefix="", remove_duplicate=True):
            yield "own", self

    def f(m, x):
        return [name for name, _ in m.named_modules()], x * 2

    compiled = cresset.compile(f)
    for i in range(8):
        m = torch.nn.Sequential(Own(2, 2) if i > 4 else torch.nn.Linear(2, 2))
        ours, expected = compiled(m, torch.ones(2)), f(m, torch.ones(2))
        assert ours[0] == expected[0] and torch.equal(ours[1], expected[1])


@pytest.mark.parametrize("layers", [0, 2])
def test_transformer_encoders_in_evaluation(layers):
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    net = torch.nn.TransformerEncoder(layer, layers).eval() if layers else layer
    inner = net.layers[1] if layers else net
    compiled, seen = cresset.compile(net), []
    with torch.no_grad():
        for i in range(16):
            x = torch.randn(2, 3 + i % 2, 16)
            if i == 8:
                assert [plan.applied for plan in cresset.explain(compiled).plans] == [7]
            if i == 10:
                handle = inner.norm1.register_forward_hook(lambda *_: seen.append(1))
            if i == 13:
                handle.remove()
            assert torch.equal(compiled(x), net(x)), i
    assert len(seen) == 6


def test_tolist_after_a_functionalized_call():
    """Which sets another method of tensors for it."""
    cresset.functionalize(lambda x: x + 1)(torch.ones(2))

    def f(x):
        y = x * 2
        return y + sum(y[0].tolist())

    g = cresset.compile(f)
    for i in range(8):
        x = torch.full((2, 3), float(i))
        assert torch.equal(g(x), f(x))
    assert not cresset.explain(g).python
