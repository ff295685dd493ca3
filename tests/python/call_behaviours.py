"""Rows of torch_jit_behaviours.py: calls that others take part in (subclasses of tensors, torch.fx, profilers), variables
that a jump leaves behind."""

import collections
import io
from typing import Optional

import torch
import torch.fx
from torch import nn
from torch_jit_behaviours import X, row, seen_by_annotations


class Logged(torch.Tensor):
    seen = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(getattr(func, "name", None))
        return super().__torch_function__(func, types, args, kwargs or {})


class Scaled(nn.Module):
    def forward(self, x, k: int = 2):
        return x * k


class Holder(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x, k=3) + 1


@row("module")
def module_called_with_a_subclass_of_tensors(J):
    Logged.seen = []
    result = J.script(Scaled())(X.as_subclass(Logged), k=3)
    return type(result).__name__, result.as_subclass(torch.Tensor), Logged.seen


@row("script")
def function_called_with_a_subclass_of_tensors(J):
    @J.script
    def f(x):
        return x + 1

    return type(f(X.as_subclass(Logged))).__name__


@row("module")
def module_called_with_a_list_of_subclasses(J):
    class M(nn.Module):
        def forward(self, xs: list[torch.Tensor]):
            return xs[0] + xs[1]

    return type(J.script(M())([X, X.as_subclass(Logged)])).__name__


@row("module")
def fx_traces_a_script_module(J):
    traced = torch.fx.symbolic_trace(Holder(J.script(Scaled())))
    return [node.op for node in traced.graph.nodes], traced(X), traced(X + 1)


@row("script")
def continue_leaves_a_type_behind(J):
    def f(n: int):
        x: Optional[int] = None
        i = 0
        while x is None:
            if i < n:
                if i < n - 1:
                    i += 1
                    x = None
                    continue
                x = 1
            else:
                x = 2
            x = x + 1
        return x, i

    compiled = J.script(f)
    return compiled(0), compiled(1), compiled(3)


@row("script")
def break_leaves_a_type_behind(J):
    def f(xs: list[int]):
        best: Optional[int] = None
        for x in xs:
            if x > 2:
                if x > 8:
                    best = None
                    break
                best = x
            else:
                best = -x
            best = best * 2
        return best

    compiled = J.script(f)
    return compiled([1]), compiled([3]), compiled([3, 9, 4]), compiled([])


@row("script")
def namedtuple_without_types_with_defaults(J):
    pair = seen_by_annotations(collections.namedtuple("Pair", ["x", "y"], defaults=(1, 2)))  # noqa: PYI024

    def f(p: pair):
        return pair(p.x + 1, p.y)

    compiled = J.script(f)
    result = compiled(pair(X, X))
    return result.x, result.y, type(result).__name__


@row("trace")
def record_function_in_a_trace(J):
    def f(x):
        with torch.profiler.record_function("outer"):
            return (x + 1).relu()

    def names(g):
        with torch.profiler.profile() as profile:
            g(X)
        return [event.name for event in profile.events() if event.name in ("outer", "aten::add", "aten::relu")]

    buffer = io.BytesIO()
    traced = J.trace(f, X)
    J.save(traced, buffer)
    buffer.seek(0)
    loaded = J.load(buffer)
    return names(traced), names(loaded), str(traced.graph).count("profiler::")


@row("save")
def record_function_saved(J):
    class M(nn.Module):
        def forward(self, x):
            with torch.autograd.profiler.record_function("outer"):
                y = x + 1
            return y

    buffer = io.BytesIO()
    J.save(J.script(M()), buffer)
    buffer.seek(0)
    return J.load(buffer)(X)
