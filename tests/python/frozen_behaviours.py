"""Rows of torch_jit_behaviours.py: which attributes freezing folds, and which it keeps."""

from typing import Any, Dict, List

import torch
from torch import nn
from torch_jit_behaviours import X, row

# ruff: noqa: UP006, UP035


def _freeze(J, module, **options):
    return J.freeze(J.script(module.eval()), optimize_numerics=False, **options)


def _kinds(m):
    return sorted({node.kind() for node in m.graph.nodes()} - {"prim::Constant"})


@row("freeze")
def frozen_containers_fold(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.numbers = [(1, "a\u0e55"), (2, "b")]
            self.nested = ([1, 2], 3.5, torch.tensor([5.5], requires_grad=True))
            self.table = {"layer": [torch.tensor([7.0], requires_grad=True)], "other": [torch.ones(2)]}
            self.maybe = [[torch.ones(1), None]]

        def forward(self, x):
            return x, self.numbers, self.nested, self.table, self.maybe

    m = _freeze(J, M())
    out = m(X)
    return out, [hasattr(m, name) for name in ("numbers", "nested", "table", "maybe")], out[2][2].requires_grad


@row("freeze")
def frozen_container_that_is_written(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.seen: Dict[str, int] = {"a": 1}
            self.fixed: Dict[str, int] = {"b": 2}

        def forward(self, x):
            self.seen["a"] += self.fixed["b"]
            return x, self.seen

    m = _freeze(J, M())
    return m(X), m(X), hasattr(m, "seen"), hasattr(m, "fixed")


@row("freeze")
def frozen_element_that_is_written(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.ts = [torch.zeros(2), torch.ones(2)]

        def forward(self, x):
            self.ts[0].add_(1)
            return self.ts[0] + x.sum()

    m = _freeze(J, M())
    return m(X), m(X), hasattr(m, "ts")


@row("freeze")
def frozen_beside_what_is_written(J):
    """A write to one attribute does not keep those that share no memory with it."""

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(3))
            self.weight = nn.Parameter(torch.ones(3))
            self.bias = torch.full((3,), 2.0)

        def forward(self, x):
            self.total += x
            return x * self.weight + self.bias + self.total

        def other(self, x):
            return x - self.bias

    m = _freeze(J, M())
    return m(X), m(X), hasattr(m, "total"), hasattr(m, "weight"), hasattr(m, "bias")


@row("freeze")
def frozen_method_that_writes(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.tensor([1.0])
            self.b = torch.tensor([2.0])

        def forward(self, x):
            return self.a + self.b + x

        @J.export
        def change(self, x):
            self.a[0] += 10
            return self.b + x

    m = _freeze(J, M(), preserved_attrs=["change"])
    return m(X), m.change(X), m(X), hasattr(m, "a"), hasattr(m, "b")


@row("freeze")
def frozen_input_that_is_written(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.b = torch.tensor([2.0])

        def forward(self, x):
            x.add_(1)
            return x * self.b

    m = _freeze(J, M())
    return m(X.clone()), hasattr(m, "b")


@row("freeze")
def frozen_fork_arguments(J):
    def double(x):
        return x * 2

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.ones(3)
            self.b = torch.ones(3)

        def forward(self, x):
            future = torch.jit._fork(double, x)
            return double(self.b) + torch.jit._wait(future) + self.a

    m = _freeze(J, M())
    return m(X), hasattr(m, "a"), hasattr(m, "b")


class Sub(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.tensor([1.5])
        self.k = 2.5

    def forward(self, x):
        return self.a * x


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = Sub()
        self.two = Sub()

    def forward(self, x):
        return self.one(x) + self.two(x)


@row("freeze")
def frozen_modules_of_one_class(J):
    """What one object keeps does not keep the other."""
    m = _freeze(J, Pair(), preserved_attrs=["one"])
    return m(X), hasattr(m, "one"), hasattr(m, "two"), m.one.k, m.one.forward(X)


@row("freeze")
def frozen_modules_of_one_class_of_which_one_counts(J):
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 1
            self.by = torch.ones(3)

        def forward(self, x, more: bool):
            if more:
                self.n += 1
            return x * self.n + self.by

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = Counts(), Counts()

        def forward(self, x):
            return self.first(x, True) + self.second(x, False)

    m = _freeze(J, M())
    return m(X), m(X), hasattr(m, "first"), hasattr(m.first, "by")


class Coder:
    def __init__(self, clip: float):
        self.clip = clip

    def decode(self, x: torch.Tensor):
        return x * self.clip


class Meter:
    def __init__(self, n: int):
        self.n = n

    def step(self):
        self.n += 1
        return self.n


@row("freeze")
def frozen_object_of_a_class(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.coder = Coder(50.0)

        def forward(self, x):
            return self.coder.decode(x)

    m = _freeze(J, M())
    return m(X), _kinds(m), hasattr(m, "coder")


@row("freeze")
def frozen_object_that_changes(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.meter = Meter(3)

        def forward(self, x):
            return x * self.meter.step()

    m = _freeze(J, M())
    return m(X), m(X)


@row("freeze")
def frozen_object_in_a_list(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.coder = Coder(2.0)
            self.coders: List[Coder] = [self.coder]

        def forward(self, x):
            self.coders[0].clip += 1.0
            return self.coder.decode(x)

    m = _freeze(J, M())
    return m(X)


@row("freeze")
def frozen_tuple_of_a_submodule(J):
    class Two(nn.Module):
        def forward(self, x):
            return x + 1, x + 2

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.sub = Two()

        def forward(self, x):
            a, b = self.sub(x)
            return a + b

    m = _freeze(J, M())
    return m(X), _kinds(m)


@row("freeze")
def frozen_attribute_that_is_replaced(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.zeros(3)
            self.b = torch.ones(3)

        def forward(self, x):
            self.a += 1
            self.a = self.b * 1
            return self.a + x

    m = _freeze(J, M())
    return m(X), m(X), hasattr(m, "a"), hasattr(m, "b")


@row("freeze")
def frozen_parts_of_one_tensor(J):
    """Attributes that overlap, one of which is written through a tuple."""

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.whole = torch.tensor([1, 2, 3, 4, 5, 6])
            self.parts = (self.whole.view(2, 3), 20)

        def forward(self, x):
            self.parts[0][0] += 10
            return self.whole.sum() + x

    m = _freeze(J, M())
    return m(X), m(X)


@row("freeze")
def frozen_interface_that_is_swapped(J):
    @J.interface
    class Applies(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            pass

    class Relu(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.relu()

    class Sine(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.sin()

    class M(nn.Module):
        impl: Applies

        def __init__(self):
            super().__init__()
            self.first, self.second = Relu(), Sine()
            self.impl = self.first
            self.n = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.n += 1
            if self.n % 2 == 1:
                self.impl = self.first
            else:
                self.impl = self.second
            return self.impl(x)

    m = _freeze(J, M())
    return m(X), m(X)


@row("freeze")
def frozen_container_that_a_variable_indexes(J):
    @J.interface
    class Applies(nn.Module):
        def forward(self, x: Any) -> Any:
            pass

    class Same(nn.Module):
        def forward(self, x: Any) -> Any:
            return x

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.d = nn.ModuleDict({"a": Same()})

        def forward(self, x: torch.Tensor, key: str) -> Any:
            value: Applies = self.d[key]
            return value.forward(x)

    return _freeze(J, M())(X, "a")


@row("freeze")
def frozen_dict_of_a_module_that_changes(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.table: Dict[str, int] = {"a": 1}

        def forward(self, x):
            return self.table

        @J.export
        def change(self, x):
            self.table["a"] += 1
            return x

    s = J.script(M().eval())
    m = J.freeze(s)
    s.change(X)
    return m(X)


@row("freeze")
def frozen_module_that_two_hold(J):
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = 1.5

        def forward(self, x):
            return x + self.a

        @J.export
        def change(self, x):
            self.a = 10.0
            return x

    class Holds(nn.Module):
        def __init__(self, sub):
            super().__init__()
            self.sub = sub

        def forward(self, x):
            return self.sub(x)

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = Counts()
            self.two = Holds(self.one)

        def forward(self, x):
            return self.two(self.one.change(x))

    return _freeze(J, M())(X)


@row("freeze")
def frozen_detach(J):
    class M(nn.Module):
        def forward(self, x):
            return x.detach() * x

    x = torch.ones(2, requires_grad=True)
    J.freeze(J.script(M().eval()))(x).sum().backward()
    return x.grad


@row("freeze")
def frozen_convolution_without_a_batch(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 2, 3)
            self.shift = nn.Parameter(torch.tensor([1.0, 2.0]).reshape(1, 2, 1, 1))

        def forward(self, x):
            return self.conv(x) + self.shift

    m = J.freeze(J.script(M().eval()))
    return m(torch.ones(1, 1, 4, 4)).shape, m(torch.ones(1, 4, 4)).shape
