"""Captured functions that differentiate what they have differentiated: gradient penalties, meta-learning, products with
hessians, losses on derivatives. Compared with eager PyTorch."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import cresset


def network(*sizes, activation=nn.Tanh):
    layers = [[nn.Linear(a, b), activation()] for a, b in zip(sizes, sizes[1:])]
    return nn.Sequential(*[layer for pair in layers for layer in pair][:-1])


def layout(tensor):
    return [step for step, size in zip(tensor.stride(), tensor.shape, strict=True) if size > 1]


def state_of(objects):
    found = []
    for each in objects:
        if isinstance(each, nn.Module):
            for p in each.parameters():
                found += [p.detach(), p.grad]
    return found


def compare(f, make, arguments, plans=1, exact=True, calls=10, python=0):
    """Calls `f` plain and captured, on objects of its own; `plans`: how many run in the last calls."""
    cresset.reset()
    torch.manual_seed(0)
    plain = make()
    torch.manual_seed(0)
    captured = make()
    compiled = cresset.compile(f)
    for i in range(calls):
        results = []
        for function, objects in ((f, plain), (compiled, captured)):
            torch.manual_seed(i)
            result = function(*objects, *arguments())
            results.append([*(result if isinstance(result, (tuple, list)) else [result]), *state_of(objects)])
        for a, b in zip(*results, strict=True):
            if isinstance(a, torch.Tensor) and not exact:
                torch.testing.assert_close(b, a)
            elif isinstance(a, torch.Tensor):
                assert torch.equal(a, b) and layout(a) == layout(b) and a.requires_grad == b.requires_grad, i
            else:
                assert a == b, i
    report = cresset.explain(compiled)
    assert sum(plan.applied >= calls - 5 for plan in report.plans) == plans, report
    assert sum(runs.count > 0 for runs in report.runs) == python, report


def critic():
    model = network(4, 16, 1, activation=nn.LeakyReLU)
    return model, network(3, 8, 4), torch.optim.Adam(model.parameters(), lr=1e-3)


def test_gradient_penalty_of_a_critic():
    def f(critic, generator, optimizer, real):
        fake = generator(torch.randn(real.size(0), 3)).detach()
        alpha = torch.rand(real.size(0), 1)
        between = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
        out = critic(between)
        gradients = torch.autograd.grad(
            outputs=out,
            inputs=between,
            grad_outputs=torch.ones_like(out),
            create_graph=True,
            retain_graph=True,
            only_inputs=True,
        )[0]
        penalty = ((gradients.view(real.size(0), -1).norm(2, dim=1) - 1) ** 2).mean()
        loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item(), penalty.detach()

    compare(f, critic, lambda: (torch.randn(6, 4),))


def test_only_inputs_that_is_false():
    def f(x):
        y = torch.sin(x).sum() * 2
        return torch.autograd.grad(y, x, only_inputs=False)[0]

    compiled, x = cresset.compile(f), torch.ones(2, requires_grad=True)
    for _ in range(4):
        with pytest.warns(FutureWarning, match="only_inputs"):
            assert torch.equal(compiled(x), 2 * torch.cos(x))


def test_inner_loops_of_meta_learning():
    def f(model, optimizer, x, y):
        parameters = dict(model.named_parameters())
        for _ in range(2):
            loss = F.mse_loss(torch.func.functional_call(model, parameters, (x[:3],)), y[:3])
            gradients = torch.autograd.grad(loss, tuple(parameters.values()), create_graph=True)
            parameters = {key: p - 0.1 * g for (key, p), g in zip(parameters.items(), gradients)}
        loss = F.mse_loss(torch.func.functional_call(model, parameters, (x[3:],)), y[3:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    def make():
        model = network(1, 8, 1)
        return model, torch.optim.SGD(model.parameters(), lr=0.01)

    compare(f, make, lambda: (torch.randn(6, 1), torch.randn(6, 1)), exact=False)


def test_products_with_hessians():
    def f(model, x, y, v):
        parameters = list(model.parameters())
        loss = F.cross_entropy(torch.tanh(model(x)), y)
        flat = torch.cat([g.reshape(-1) for g in torch.autograd.grad(loss, parameters, create_graph=True)])
        return torch.cat([g.reshape(-1) for g in torch.autograd.grad(flat @ v, parameters)])

    compare(f, lambda: (nn.Linear(4, 3),), lambda: (torch.randn(5, 4), torch.randint(0, 3, (5,)), torch.randn(15)))


def test_losses_on_second_derivatives():
    def f(model, optimizer, x, t):
        x, t = x.clone().requires_grad_(True), t.clone().requires_grad_(True)
        u = model(torch.cat([x, t], dim=1))
        ones = torch.ones_like(u)
        u_t = torch.autograd.grad(u, t, grad_outputs=ones, create_graph=True)[0]
        u_x = torch.autograd.grad(u, x, grad_outputs=ones, create_graph=True)[0]
        u_xx = torch.autograd.grad(u_x, x, grad_outputs=ones, create_graph=True)[0]
        loss = ((u_t + u * u_x - 0.01 * u_xx) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    def make():
        model = network(2, 16, 16, 1)
        return model, torch.optim.Adam(model.parameters(), lr=1e-3)

    compare(f, make, lambda: (torch.rand(7, 1), torch.rand(7, 1)))


def taped():
    model = network(2, 8, 1)
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("clears", [True, False])
def test_backward_with_a_tape(clears):
    def f(model, optimizer, x, clears):
        loss = (model(x) ** 2).mean()
        if clears:
            optimizer.zero_grad()
        loss.backward(create_graph=True)
        penalty = sum(p.grad.norm() for p in model.parameters())
        (loss + 0.1 * penalty).backward()
        optimizer.step()
        result = [p.grad.clone() for p in model.parameters()]
        optimizer.zero_grad()
        return penalty.detach(), *result

    compare(f, taped, lambda: (torch.rand(7, 2), clears))


@pytest.mark.filterwarnings("ignore:Using backward")
def test_gradients_with_a_tape_that_leave_the_plan():
    def f(model, optimizer, x, scale):
        model.zero_grad()
        loss = (model(x) ** 2).mean() * scale
        loss.backward(create_graph=True)
        loss.backward(create_graph=True)
        return [p.grad for p in model.parameters()]

    plain, captured = taped(), taped()
    captured[0].load_state_dict(plain[0].state_dict())
    compiled, x = cresset.compile(f), torch.rand(5, 2)
    for i in range(8):
        seconds = []
        for function, objects in ((f, plain), (compiled, captured)):
            gradients = function(*objects, x, float(i + 1))
            parameters = list(objects[0].parameters())
            assert all(g is p.grad and g.requires_grad for g, p in zip(gradients, parameters, strict=True))
            total = sum((g**2).sum() for g in gradients)
            seconds.append([*gradients, *torch.autograd.grad(total, parameters)])
        for a, b in zip(*seconds, strict=True):
            torch.testing.assert_close(b, a)
    assert any(plan.applied > 3 for plan in cresset.explain(compiled).plans)
    for objects in (plain, captured):
        objects[0].zero_grad()  # the tapes refer to the parameters


@pytest.mark.filterwarnings("ignore:Using backward")
def test_a_leaf_of_another_layout():
    def f(holder, x):
        w = holder[0]
        w.grad = None
        ((x @ w) ** 3).mean().backward(create_graph=True)
        strides, result = w.grad.stride(), w.grad.detach().clone()
        w.grad = None
        return strides, result

    def make():
        return ([torch.nn.Parameter(torch.randn(4, 3).t())],)

    compare(f, make, lambda: (torch.randn(2, 3),), plans=2, python=1)


def test_estimates_of_traces_of_hessians():
    def f(model, optimizer, x):
        parameters = list(model.parameters())
        gradients = torch.autograd.grad((model(x) ** 2).mean(), parameters, create_graph=True)
        vs = [torch.randint_like(p, high=2) * 2 - 1.0 for p in parameters]
        products = torch.autograd.grad(gradients, parameters, grad_outputs=vs, retain_graph=False)
        return sum((a * b).sum() for a, b in zip(products, vs)).item()

    compare(f, taped, lambda: (torch.rand(7, 2),))
