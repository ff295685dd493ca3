"""Rows of torch_jit_behaviours.py: awaitables."""

import io
from typing import List, Tuple

import torch
from torch import nn
from torch._awaits import _Await as Await
from torch_jit_behaviours import X, row, tries

# ruff: noqa: UP006, UP035, F841


def plus_one(x: torch.Tensor) -> torch.Tensor:
    print("plus_one runs")
    return x + 1


def refuses_positive(x: torch.Tensor) -> torch.Tensor:
    if bool(x.sum() > 0):
        raise ValueError("positive")
    return x


def both(x: torch.Tensor) -> Tuple[torch.Tensor, List[torch.Tensor]]:
    return x * 2, [x * i for i in range(3)]


class Pair:
    def __init__(self, a: torch.Tensor, b: torch.Tensor):
        self.a = a
        self.b = b

    def sum(self) -> torch.Tensor:
        return self.a + self.b


def doubled_pair(x: torch.Tensor) -> Pair:
    print("doubled_pair runs")
    return Pair(x * 2, x * 4)


@row("script")
def awaitable_runs_when_it_is_asked_for(J):
    def f(x: torch.Tensor):
        aw = torch.jit._awaitable(plus_one, x)
        print("before")
        a = torch.jit._awaitable_wait(aw)
        print("between")
        b = torch.jit._awaitable_wait(aw)
        torch.jit._awaitable(plus_one, x)
        return a, b

    script = J.script(f)
    return script(X), script(X)


@row("script")
def awaitable_has_its_inputs_of_then(J):
    def f(x: torch.Tensor, n: int):
        y = x.clone()
        calls = [torch.jit._awaitable(plus_one, y * i) for i in range(n)]
        kept = torch.jit._awaitable(plus_one, y)
        y += 10
        z = x * 0
        for call in calls:
            z = z * 2 + torch.jit._awaitable_wait(call)
        return z, torch.jit._awaitable_wait(kept), len(calls)

    return J.script(f)(X, 3)


@row("script")
def awaitable_of_some_branch(J):
    def f(x: torch.Tensor, c: bool):
        if c:
            aw = torch.jit._awaitable(plus_one, x)
        else:
            aw = torch.jit._awaitable_nowait(x)
        return torch.jit._awaitable_wait(aw)

    script = J.script(f)
    return script(X, True), script(X, False)


@row("script")
def awaitable_in_awaitable(J):
    def later(x: torch.Tensor) -> Await[torch.Tensor]:
        return torch.jit._awaitable_nowait(x * 3)

    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.jit._awaitable_wait(torch.jit._awaitable_wait(torch.jit._awaitable(later, x)))

    return J.script(f)(X)


@row("script")
def awaitable_has_the_attributes_of_its_result(J):
    def f(x: torch.Tensor):
        pair = torch.jit._awaitable(doubled_pair, x)
        tensor = torch.jit._awaitable(plus_one, x)
        return pair.a, pair.sum(), tensor.sum(), tensor.size(0)

    return J.script(f)(X)


@row("script")
def awaitable_raises_each_time(J):
    def wait(aw: Await[torch.Tensor]) -> torch.Tensor:
        return torch.jit._awaitable_wait(aw)

    def make(x: torch.Tensor):
        return torch.jit._awaitable(refuses_positive, x)

    aw = J.script(make)(X)
    found = tries(J.script(wait), (aw,), (aw,))
    return ["positive" in str(text) for text in found]


@row("script")
def awaitable_is_no_tensor(J):
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.jit._awaitable(plus_one, x)

    return J.script(f)


@row("script")
def awaitable_wait_of_a_tensor(J):
    def f(x: torch.Tensor):
        return torch.jit._awaitable_wait(x)

    return J.script(f)


@row("script")
def awaitable_goes_in_and_out(J):
    def make(x: torch.Tensor) -> Await[torch.Tensor]:
        return torch.jit._awaitable(plus_one, x)

    def take(aw: Await[torch.Tensor]) -> torch.Tensor:
        return torch.jit._awaitable_wait(aw) * 2

    make, take = J.script(make), J.script(take)
    out = make(X)
    eager = J._awaitable(torch.add, X, X)
    nowait = J._awaitable_nowait(X)
    return (
        take(out),
        J._awaitable_wait(out),
        out.sum(),
        J._awaitable_wait(eager),
        eager.args(),
        eager.is_nowait(),
        nowait.args(),
        nowait.is_nowait(),
        nowait.shape,
        J._awaitable_wait(nowait),
    )


@row("script")
def awaitable_of_a_script_that_has_its_result(J):
    def make(x: torch.Tensor):
        return torch.jit._awaitable_nowait(x)

    out = J.script(make)(X)
    return out.is_nowait(), J._awaitable_wait(out)


@row("script")
def awaitable_of_a_script_that_is_to_run(J):
    def make(x: torch.Tensor):
        return torch.jit._awaitable(plus_one, x)

    out = J.script(make)(X)
    return out.is_nowait(), J._awaitable_wait(out)


@row("save")
def awaitable_is_saved(J):
    def f(x: torch.Tensor):
        aw = torch.jit._awaitable(both, x)
        first, rest = torch.jit._awaitable_wait(aw)
        ready = torch.jit._awaitable_nowait(x)
        return first + rest[2] + torch.jit._awaitable_wait(ready)

    buffer = io.BytesIO()
    J.save(J.script(f), buffer)
    results = [engine.load(io.BytesIO(buffer.getvalue()))(X) for engine in (torch.jit, J)]
    return results


@row("freeze")
def awaitable_in_a_frozen_module(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3) * 2)

        def later(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.w

        def forward(self, x):
            return torch.jit._awaitable_wait(torch.jit._awaitable(self.later, x)) + 1

    return J.freeze(J.script(M().eval()))(X)


@row("module")
def awaitable_differentiates(J):
    def f(x: torch.Tensor):
        aw = torch.jit._awaitable(plus_one, x * x)
        return torch.jit._awaitable_wait(aw) * 3

    x = X.clone().requires_grad_()
    script = J.script(f)
    return [torch.autograd.grad(script(x).sum(), x)[0] for _ in range(3)]


@row("script")
def awaitable_of_python_given_to_a_script(J):
    def take(aw: Await[torch.Tensor]) -> torch.Tensor:
        return torch.jit._awaitable_wait(aw) * 2

    take = J.script(take)
    return take(J._awaitable(lambda a, b: a + b, X, X)), take(torch.jit._awaitable(lambda a: a, X))


@row("script")
def awaitable_by_isinstance(J):
    def f(x: torch.Tensor):
        aw = torch.jit._awaitable(plus_one, x)
        return isinstance(aw, torch.jit._Await), isinstance(aw, Await), isinstance(x, torch.jit._Await)

    return J.script(f)(X)
