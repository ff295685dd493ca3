"""Gradients and training steps that a functionalized program computes itself, and tensors that it keeps: what they are after
the call is what they are in eager PyTorch."""

import copy
import pickle

import pytest
import torch
from functional_programs import Outcome, bits, differences
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.checkpoint import checkpoint

import cresset

REMOVES = ("mutations", "mutations_and_views")


def agree(function, make, remove):
    def arguments():
        torch.manual_seed(1)
        return make()

    expected = Outcome(function, arguments())
    found = Outcome(cresset.functionalize(function, remove=remove), arguments())
    if remove == "mutations":
        assert not differences(expected, found), f"{expected.error!r} {found.error!r}"
    else:
        assert expected.error is None and found.error is None, f"{expected.error!r} {found.error!r}"
        assert [b[:3] for b in expected.bits] == [b[:3] for b in found.bits]
    return found


GRADIENTS = {
    "two uses": lambda x: torch.autograd.grad((x * x).sum(), x),
    "many uses": lambda x: torch.autograd.grad((x * x + x.sin() * x + x).sum(), x),
    "of a result": lambda x: torch.autograd.grad((lambda y: (y * y * y).sum())(x * 2), x),
    "two outputs": lambda x: torch.autograd.grad([(x * x).sum(), (x.exp() * x).sum()], x),
    "views": lambda x: torch.autograd.grad((x[0] * x[1] + x.t()[:, 0] + x.view(-1)[:4]).sum(), x),
    "kept graph": lambda x: [torch.autograd.grad(y, x, retain_graph=True) for y in [(x * x).prod()] for _ in range(2)],
    "created graph": lambda x: torch.autograd.grad(
        torch.autograd.grad((x * x * x).sum(), x, create_graph=True)[0].pow(2).sum(), x
    ),
    "written between": lambda x: torch.autograd.grad((lambda y: (y.add_(x), (y * y).sum())[1])(x * 2), x),
}


@pytest.mark.parametrize("remove", REMOVES)
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name, remove):
    agree(GRADIENTS[name], lambda: (torch.randn(2, 4, requires_grad=True),), remove)


@pytest.mark.parametrize("remove", REMOVES)
def test_backward_accumulates(remove):
    def f(x):
        for _ in range(3):
            (x * x + x).sum().backward()
            x.grad.mul_(0.5)
        (x[0] * x[1]).sum().backward()
        before = x.grad.clone()
        x.grad = None
        (x * 3).sum().backward()
        return before, x.grad

    agree(f, lambda: (torch.randn(2, 4, requires_grad=True),), remove)


OPTIMIZERS = {
    "SGD": lambda p, foreach: torch.optim.SGD(p, lr=0.1, foreach=foreach),
    "momentum": lambda p, foreach: torch.optim.SGD(
        p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01, foreach=foreach
    ),
    "Adam": lambda p, foreach: torch.optim.Adam(p, lr=0.01, foreach=foreach),
    "AdamW": lambda p, foreach: torch.optim.AdamW(p, lr=0.01, amsgrad=True, foreach=foreach),
    "RMSprop": lambda p, foreach: torch.optim.RMSprop(p, lr=0.01, momentum=0.9, centered=True, foreach=foreach),
}


def scaled(model, loss):
    """What torch.amp.GradScaler does, which asks for a GPU."""
    (loss * 1024).backward()
    found = torch.zeros(1)
    gradients = [parameter.grad for parameter in model.parameters()]
    torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, torch.tensor(1 / 1024))
    if found.item():
        raise ValueError("the gradients are not finite")


def clipped(model, loss):
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    nn.utils.clip_grad_value_(model.parameters(), 0.1)


BACKWARDS = {
    "plain": lambda model, loss: loss.backward(),
    "shared": lambda model, loss: (loss + (model[0].weight * model[0].weight).sum()).backward(),
    "scaled": scaled,
    "clipped": clipped,
}
FORWARDS = {
    "plain": lambda model, x: model(x),
    "checkpoint": lambda model, x: model[3:](checkpoint(model[:3], x, use_reentrant=False)),
    "reentrant": lambda model, x: model[3:](checkpoint(model[:3], x.clone().requires_grad_(), use_reentrant=True)),
}


class Training:
    def __init__(self, optimizer, foreach, forward, backward):
        torch.manual_seed(0)
        layers = [nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2)]
        self.model = nn.Sequential(*layers)
        self.optimizer = OPTIMIZERS[optimizer](list(self.model.parameters()), foreach)
        self.forward, self.backward = FORWARDS[forward], BACKWARDS[backward]
        self.x, self.y = torch.randn(6, 4), torch.randn(6, 2)

    def steps(self):
        losses = []
        for step in range(3):
            self.optimizer.zero_grad(set_to_none=step % 2 == 0)
            loss = ((self.forward(self.model, self.x) - self.y) ** 2).mean()
            self.backward(self.model, loss)
            self.optimizer.step()
            losses.append(loss.detach())
        return losses

    def tensors(self):
        state = [v for s in self.optimizer.state_dict()["state"].values() for v in s.values() if torch.is_tensor(v)]
        parameters = list(self.model.parameters())
        return parameters + list(self.model.buffers()) + state + [parameter.grad for parameter in parameters]


def train(remove, *what):
    training = Training(*what)
    steps = cresset.functionalize(training.steps, remove=remove) if remove else training.steps
    told = [bits(tensor) for tensor in steps() + training.tensors()]
    assert not any(cresset.functional.is_functional(tensor) for tensor in training.tensors())
    training.steps()  # and goes on as it is
    pickle.dumps(training.optimizer.state_dict())
    return told + [bits(tensor) for tensor in training.tensors()]


@pytest.mark.parametrize("remove", REMOVES)
@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_training_steps(optimizer, foreach, remove):
    what = optimizer, foreach, "plain", "plain"
    assert train(remove, *what) == train(None, *what)


@pytest.mark.parametrize("remove", REMOVES)
@pytest.mark.parametrize("forward, backward", [(f, b) for f in FORWARDS for b in BACKWARDS][1:])
def test_forward_and_backward_in_other_ways(forward, backward, remove):
    what = "Adam", True, forward, backward
    assert train(remove, *what) == train(None, *what)


def test_an_error_in_the_middle_of_a_step():
    training = Training("Adam", True, "plain", "plain")

    def f():
        training.steps()
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        cresset.functionalize(f)()
    assert not any(cresset.functional.is_functional(tensor) for tensor in training.tensors())
    assert all(tensor.isfinite().all() for tensor in training.tensors())


# ---- Tensors that are kept


@pytest.mark.parametrize("remove", REMOVES)
def test_tensors_that_are_kept_are_tensors(remove):
    kept = {}

    def f(x):
        y = x * 2
        kept.update(made=y, view=y[1], transposed=y.t(), given=x[0], detached=y.detach(), data=y.data)
        y.add_(1)
        x.mul_(3)
        return y

    def run(function):
        kept.clear()
        x = torch.arange(6.0).reshape(2, 3)
        y = function(x)
        assert not any(cresset.functional.is_functional(tensor) for tensor in kept.values())
        kept["view"].sub_(5)
        kept["given"].fill_(7)
        copied = copy.deepcopy(kept["transposed"])
        lists = {name: tensor.tolist() for name, tensor in kept.items()}
        return lists, copied.tolist(), kept["made"].numpy().tolist(), x.tolist(), repr(kept), y.tolist()

    assert run(f) == run(cresset.functionalize(f, remove=remove))


def test_what_autograd_keeps_is_memory():
    def f(x, w):
        y = (x * w).exp()
        return (y * y).sum(), y

    def run(function):
        torch.manual_seed(0)
        x, w = torch.randn(3, 4, requires_grad=True), torch.randn(4, requires_grad=True)
        loss, y = function(x, w)
        loss.backward(retain_graph=True)
        first = [x.grad.clone(), w.grad.clone()]
        with torch.no_grad():
            y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()
        return [bits(tensor) for tensor in (*first, x.grad, w.grad)]

    assert run(f) == run(cresset.functionalize(f))


def test_kept_under_vmap_and_grad():
    kept = []

    def f(x):
        kept.append(torch.ones(3).mul_(2))
        return (x * kept[-1]).sum()

    torch.vmap(cresset.functionalize(f))(torch.randn(2, 3))
    torch.func.grad(cresset.functionalize(f))(torch.randn(3))
    assert [tensor.tolist() for tensor in kept] == [[2, 2, 2]] * 2


def test_tensors_that_are_kept_while_a_graph_is_made():
    kept = []

    def f(x):
        kept.extend([x.view(2, 2), x * 2])
        x.add_(1)
        return kept[1] + 1

    x = torch.arange(16.0)[3:7]
    make_fx(cresset.functionalize(f))(x)
    assert not any(map(cresset.functional.is_functional, kept))
    assert [t.tolist() for t in kept] == [[[4, 5], [6, 7]], [6, 8, 10, 12]]
    assert kept[0].data_ptr() == x.data_ptr()
