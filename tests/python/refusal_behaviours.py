"""More rows of torch_jit_behaviours.py: what both engines refuse, and the classes and phrases of their errors."""

import contextlib
import io
import warnings
from dataclasses import dataclass, field
from typing import Dict, List

import torch
from torch import nn
from torch.nn.utils import parametrize
from torch_jit_behaviours import row, seen_by_annotations
from torch_jit_messages import says

# ruff: noqa: F811, UP006, UP035


def classes(make):
    """Which of Python's classes the exception is of."""
    try:
        make()
    except Exception as error:
        return [cls.__name__ for cls in (ValueError, NotImplementedError, RuntimeError) if isinstance(error, cls)]
    return "nothing raised"


@row("script")
def interface_of_a_derived_class(J):
    class Doubles(nn.ReLU):
        def twice(self, x: torch.Tensor) -> torch.Tensor:
            pass

    class Of(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            pass

    return says(lambda: J.interface(Doubles), "does not support inheritance yet"), J.interface(Of) is Of


@row("script")
def attribute_annotated_outside_of_init(J):
    class Counter:
        def __init__(self, n: int):
            self.n: int = n

        def set(self, n: int):
            for _ in range(3):
                self.n: int = n

    class Counts(nn.Module):
        def forward(self, x: torch.Tensor):
            self.n: int = 3
            return x

    message = "Type annotations on instance attributes must be declared in __init__, not '(set|forward)'"
    return [
        (says(make, message, "self.n: int = "), "ValueError" in classes(make))
        for make in (lambda: J.script(Counter), lambda: J.script(Counts()))
    ]


@row("script")
def overload_with_another_default(J):
    @torch.jit._overload
    def moved_by(x: int, by: int = 2) -> int: ...

    def moved_by(x, by=1):
        return x + by

    def call(x: int):
        return moved_by(x)

    return says(lambda: J.script(call), "must equal to the default parameter", "on parameter by")


@row("script")
def overload_with_the_same_default(J):
    @torch.jit._overload
    def moved(x: int, by: int = 1) -> int: ...

    @torch.jit._overload
    def moved(x: float, by: int = 1) -> float: ...

    def moved(x, by=1):
        return x + by

    def call(x: int):
        return moved(x), moved(0.5), moved(x, 3)

    return J.script(call)(4)


@row("script")
def overload_with_fewer_parameters(J):
    @torch.jit._overload
    def total(x: float) -> float: ...

    @torch.jit._overload
    def total(x: int, y: int) -> int: ...

    def total(x, y: int = 2, z: int = 3):
        return x + y + z

    def call():
        return total(1.0), total(1, 2), total(1), total(1, 2, 3)

    return J.script(call)()


@row("script")
def overload_that_leaves_out_what_it_can_not(J):
    @torch.jit._overload
    def untyped() -> int: ...

    def untyped(x=1):
        return x

    @torch.jit._overload
    def needed(x: int) -> int: ...

    def needed(x, y: int):
        return x + y

    def call():
        return untyped()

    def other():
        return needed(1)

    return (
        says(
            lambda: J.script(call), "Parameters not specified on the overloaded declaration must have a type", "param x"
        ),
        says(lambda: J.script(other), "Expected to find default parameter on argument"),
    )


@row("script")
def overload_without_types(J):
    class M(nn.Module):
        @torch.jit._overload_method
        def hello(self, x):
            pass

        @torch.jit._overload_method
        def hello(self, x: int) -> int:
            pass

        def hello(self, x):
            return x + 3

        def forward(self):
            return self.hello(1)

    return says(lambda: J.script(M()), "Must explicitly add type annotations to overloaded functions")


@row("script")
def types_in_comments_twice(J):
    def f(
        a,  # type: torch.Tensor
        b,  # type: torch.Tensor
    ):
        # type: (int, int) -> torch.Tensor
        return a + b

    return says(lambda: J.script(f), "Return type line")


@row("module")
def list_of_script_modules(J):
    class Part(J.ScriptModule):
        @J.script_method
        def forward(self, x):
            return x + 1

    class Whole(J.ScriptModule):
        def __init__(self):
            super().__init__()
            self.parts = [Part(), Part()]

        @J.script_method
        def forward(self, x):
            for part in self.parts:
                x = part(x)
            return x

    return says(Whole, "has no attribute 'parts'", "failed to convert Python type: 'list'")


@row("script")
def dataclass_with_a_default_factory(J):
    @dataclass
    class Kept:
        x: List[int] = field(default_factory=list)

    make = lambda: J.script(Kept)  # noqa: E731
    return says(make, "Default factory initializers are not supported"), classes(make)


@row("script")
def annotation_of_a_module_class(J):
    def f(parts: Dict[str, torch.jit.ScriptModule]):
        return

    make = lambda: J.script(f)  # noqa: E731
    return says(make, "Unknown type annotation"), "ValueError" in classes(make)


@row("script")
def annotation_of_tensors_of_one_dtype(J):
    def f(x: torch.LongTensor) -> torch.LongTensor:
        return x + 1

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        compiled = J.script(f)
    told = any("dtype constraints are not enforced in compilation either" in str(each.message) for each in found)
    return told, compiled(torch.tensor([1]))


@row("module")
def object_that_does_not_fit_its_class(J):
    class Holds:
        def __init__(self, val):
            self.val = val

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = Holds("1")

        def forward(self):
            return self.kept.val

    J.script(seen_by_annotations(Holds))
    return says(lambda: J.script(M()), "Could not cast attribute 'val' to type Tensor")


@row("trace")
def parametrization_that_is_cached(J):
    class Symmetric(nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).T

    m = nn.Linear(3, 3)
    parametrize.register_parametrization(m, "weight", Symmetric())
    x = torch.ones(2, 3)
    with parametrize.cached():
        refused = says(lambda: J.trace(m, (x,)), "Cannot trace a model while caching")
    with contextlib.redirect_stdout(io.StringIO()):
        traced = J.trace(m, (x,))
    return refused, torch.equal(traced(x), m(x))


@row("script")
def error_in_a_class_of_an_annotation(J):
    class Bad:
        def method(self):
            import pdb  # noqa: F401

    def f(x) -> Bad:
        return Bad()

    globals()["Bad"] = Bad
    phrases = ("import statements", "'(__torch__.)?([a-z_]+.)?Bad' is being compiled since it was called from 'f'")
    return says(lambda: J.script(f), *phrases)


@row("script")
def variable_of_an_unrolled_loop_that_is_left(J):
    def f(x: bool):
        for a in (1, "2", 1.5):
            b = a
            if x:
                break
        return b

    return says(lambda: J.script(f), "do not support break or continue inside")


@row("trace")
def trace_of_nested_lists(J):
    def f(x):
        return [[x + 1], [x * 2, x]]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return J.trace(f, (torch.ones(2),))(torch.zeros(3))


@row("trace")
def trace_of_what_leaves_a_fork(J):
    def f(x):
        kept = []

        def body(x):
            kept.append(x * 2)
            return x + 1

        J.wait(J.fork(body, x))
        return kept[0]

    return J.trace(f, (torch.ones(2),), check_trace=False)(torch.zeros(3))


@row("trace")
def trace_of_data_of_an_input(J):
    def f(x):
        return x + x.data

    return J.trace(f, (torch.ones(3),), check_inputs=[(torch.zeros(3),)])(torch.full((3,), 2.0))
