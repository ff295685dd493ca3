"""Captured: torch.nn's recurrent networks, modules with a call of their own, sizes, dicts and texts of programs."""

import pytest
import torch
from test_capture_graphs import same
from torch import nn

import cresset


def make(kind, **options):
    cresset.reset()  # networks of one class share plans
    torch.manual_seed(0)
    return kind(4, 5, **options)


KINDS = [
    (nn.LSTM, {}),
    (nn.LSTM, {"num_layers": 2, "bidirectional": True, "batch_first": True}),
    (nn.LSTM, {"proj_size": 3}),
    (nn.GRU, {"bias": False}),
    (nn.RNN, {"nonlinearity": "relu", "num_layers": 2}),
]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("kind, options", KINDS)
def test_networks(kind, options, training):
    module = make(kind, **options).train(training)
    compiled = cresset.compile(module)
    for steps, batch in ((3, 2), (3, 2), (5, 2), (3, 1), (7, 3)):
        x = torch.randn(steps, batch, 4)
        for grad in (False, True):
            with torch.set_grad_enabled(grad):
                assert same(module(x), compiled(x))
    report = cresset.explain(compiled)
    assert len([plan for plan in report.plans if plan.applied]) == 1 and report.plans[-1].raised == 0, report


def test_state_and_single_sequences():
    module = make(nn.LSTM)
    compiled = cresset.compile(module)
    for _ in range(4):
        x, state = torch.randn(3, 2, 4), tuple(torch.randn(1, 2, 5) for _ in range(2))
        assert same(module(x, state), compiled(x, state))
        assert same(module(x[:, 0]), compiled(x[:, 0]))
    with pytest.raises(RuntimeError, match="Expected hidden"):
        compiled(torch.randn(3, 2, 4), (state[0][:, :1], state[1]))


def test_gradients():
    module = make(nn.LSTM, num_layers=2)
    compiled = cresset.compile(module)
    for _ in range(4):
        x = torch.randn(3, 2, 4)
        gradients = []
        for call in (module, compiled):
            module.zero_grad()
            call(x)[0].square().sum().backward()
            gradients.append([parameter.grad.clone() for parameter in module.parameters()])
        torch.testing.assert_close(*gradients)


def test_dropout_draws_the_same_numbers():
    module = make(nn.GRU, num_layers=2, dropout=0.5)
    compiled = cresset.compile(module)
    for i in range(6):
        module.train(i % 3 != 2)
        x, results = torch.randn(3, 2, 4), []
        for call in (module, compiled):
            torch.manual_seed(3)
            results.append((call(x), torch.rand(1)))
        assert same(*results)


def test_weights_that_change():
    module = make(nn.LSTM)
    compiled = cresset.compile(module)
    x = torch.randn(3, 2, 4)
    for i in range(8):
        if i == 3:
            module.weight_hh_l0 = nn.Parameter(module.weight_hh_l0.detach() * 2)
        if i == 5:
            module.double().float()
        if i == 6:
            assert same(
                torch.func.functional_call(module, {"bias_ih_l0": torch.ones(20)}, (x,)),
                torch.func.functional_call(compiled, {"bias_ih_l0": torch.ones(20)}, (x,)),
            )
        assert same(module(x), compiled(x))


def test_packed_sequences():
    module = make(nn.LSTM)
    compiled = cresset.compile(module)
    for lengths in ([3, 2], [3, 2], [4, 1], [2, 4]):
        x = nn.utils.rnn.pack_padded_sequence(torch.randn(4, 2, 4), lengths, enforce_sorted=False)
        a, b = module(x), compiled(x)
        assert same(tuple(a[0]), tuple(b[0])) and same(a[1], b[1])


def test_slices_of_containers():
    def f(x, given, n):
        parts = (torch.relu(x), x + 1, x * 2)
        same_parts = parts[:] is parts, given[0:] is given, parts[1:] is parts, list(parts)[:] == 3
        return parts[1:][0].tanh() + sum(given[::-1][:2]), parts[-2:], same_parts, x[1:n], given[:n]

    compiled = cresset.compile(f)
    for n in (1, 2, 2, 1, 2, 0):
        x = torch.randn(3, 4)
        assert same(f(x, (1, 2, 3), n), compiled(x, (1, 2, 3), n)) and same(
            f(x, [1, 2, 3], n), compiled(x, [1, 2, 3], n)
        )


class Helpers:
    scale = 2

    @staticmethod
    def doubled(x):
        return torch.relu(x) * 2

    def run(self, x):
        return self.doubled(x).tanh() + Helpers.doubled(x) * self.scale


def test_static_methods():
    helpers = Helpers()
    compiled = cresset.compile(helpers.run)
    for i in range(6):
        if i == 4:
            Helpers.doubled = staticmethod(lambda x: x - 1)
        if i == 5:
            helpers.doubled = lambda x: x * 5
        x = torch.randn(3)
        assert same(helpers.run(x), compiled(x))


class Aggregation(nn.Module):
    """Calls of its own, as torch_geometric's aggregations have them."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.hooks = {}
        self.act = self.activate

    def activate(self, x):
        return torch.relu(x) + 1

    def __call__(self, x, scale=1):
        if scale < 0:
            raise ValueError("negative")
        return super().__call__(x, scale=scale) * 2

    def forward(self, x, scale):
        for hook in self.hooks.values():
            x = hook(x)
        return self.act(self.linear(x)) * scale


def test_modules_with_a_call_of_their_own():
    torch.manual_seed(0)
    inner = Aggregation()
    module = nn.Sequential(inner, nn.Tanh())
    compiled = cresset.compile(module)
    for i in range(9):
        if i == 3:
            inner.hooks["a"] = torch.sin
        if i == 5:
            handle = inner.register_forward_hook(lambda module, args, kwargs, result: result + 1, with_kwargs=True)
        if i == 6:
            handle.remove()
        if i == 7:
            inner.act = torch.tanh
        x = torch.randn(3, 4)
        assert same(module(x), compiled(x))


def sizes(x, n):
    shape = x.size()[:-1] + (n, -1)
    ones = (1,) * x.dim() + (-1,)
    y = torch.relu(x).view(shape).tanh() + 1
    return y * 2, shape, ones, x.shape + x.shape, (2,) + x.shape[1:], [0] * n + [n], () + shape, torch.ones(ones[:-1])


def dicts(x, given):
    made = {"a": x, "b": x + 1}
    total = torch.relu(x)
    for name, value in made.items():
        if name == "a":
            made["b"] = value * 3
        total = total + value
    for name, value in given.items():
        given[name] = value + 1
        total = total * value
    for i, name in enumerate(given):
        total = total + i if name == "n" else total.tanh()
    return total, list(made), list(given.values()), sum(given.values()), dict(given) == given


TEMPLATE = "{}-{:>4}"


def texts(x, kind):
    name, *rest = f"{kind}_mean".split("_")
    scale = 2 if name.upper()[-3:] == "SUM" and not kind.startswith("x") else 3
    if x.dtype in (torch.float32, torch.float64) and kind in ("sum", "mean"):
        scale = scale + 1
    return torch.relu(x * scale).tanh() + len(rest), TEMPLATE.format(name, scale), " ".join(["a", kind]), kind[0]


def lists(x, given):
    made = [x, x * 2, 3]
    made[1] = torch.relu(made[0])
    made[-1] = made[1] + 1
    for item in given:
        made.append(item)
    given.append(4)
    return made[1].tanh() + made[2], made, len(made), given + made[2:]


def grows_while_iterating(x, given):
    total = torch.relu(x)
    for item in given:
        if len(given) < 5:
            given.append(item + 1)
        total = total.tanh() + item
    return total


@pytest.mark.parametrize(
    "f, make_arguments",
    [
        (sizes, lambda i: (torch.randn(3 + i % 2, 4), 2 if i % 3 else 4)),
        (dicts, lambda i: (torch.randn(3, 4), {"k": 1, "n": i})),
        (
            texts,
            lambda i: (torch.randn(3, dtype=[torch.float32, torch.float16][i == 5]), ["sum", "mean", "xsum"][i % 3]),
        ),
        (lists, lambda i: (torch.randn(3), [i, 2])),
        (grows_while_iterating, lambda i: (torch.randn(3), [i, 2])),
    ],
)
def test_numbers_texts_and_containers(f, make_arguments):
    cresset.reset()
    compiled = cresset.compile(f)
    for i in range(9):
        torch.manual_seed(i)
        plain = make_arguments(i)
        torch.manual_seed(i)
        captured = make_arguments(i)
        assert same(list(f(*plain)), list(compiled(*captured))) and same(str(plain), str(captured))
