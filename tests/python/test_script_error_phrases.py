"""What PyTorch's own tests (test/test_jit.py, test/jit) match in the errors of scripted functions, classes and modules.

As in test_error_phrases.py, each phrase is in torch.jit's message and in ours. A case is a function that scripts, and
perhaps calls, with the `script` of one engine; phrases that torch.jit itself no longer says are not here.
"""

# ruff: noqa: F841, UP031  (programs that are wrong on purpose)
import io
import re
from enum import Enum
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

import pytest
import torch
from torch import Tensor, nn

import cresset

CASES = []


def case(*phrases):
    def register(function):
        CASES.append((function, phrases))
        return function

    return register


# ---- classes


class Plain:
    def __init__(self):
        self.count = 1


class BadEnter:
    def __init__(self):
        self.count = 1

    def __enter__(self, incr: int):
        self.count += incr

    def __exit__(self, type: Any, value: Any, tb: Any):
        pass


class BadExit:
    def __init__(self):
        self.count = 1

    def __enter__(self):
        self.count += 1

    def __exit__(self, type: Any, value: Any):
        pass


class ExitOfInts:
    def __init__(self):
        self.count = 1

    def __enter__(self):
        self.count += 1

    def __exit__(self, type: Any, value: int, tb: int):
        pass


class OfWrongType:
    def __init__(self, x):
        self.foo = x
        self.foo = 10


class Uninitialized:
    def __init__(self, x):
        self.foo = x

    def get(self):
        return self.asdf


class SetsMissing:
    def __init__(self, x):
        self.foo = x

    def set(self, y):
        self.bar = y


class InControlFlow:
    def __init__(self, x: bool):
        if x:
            self.attr = x


class OfBool:
    def __init__(self, x: bool):
        self.foo = x


class WithoutLess:
    def __init__(self):
        pass


class WrongLess:
    def __init__(self):
        pass

    def __lt__(self, other: int) -> bool:
        return True


class WrongBool:
    def __init__(self):
        pass

    def __bool__(self):
        return (1, 2)


class Negative:
    def __init__(self, x):
        self.x = x

    def __neg__(self):
        return Negative(-self.x)


@case("does not define __enter__ and __exit__ methods")
def with_neither(script):
    def f(x):
        with Plain() as _:
            pass
        return x

    script(f)


@case("__enter__ must have only one argument and one return value")
def with_bad_enter(script):
    def f(x):
        with BadEnter() as _:
            pass
        return x

    script(f)


@case("__exit__ must have four arguments")
def with_bad_exit(script):
    def f(x):
        with BadExit() as _:
            pass
        return x

    script(f)


@case("argument 2 of __exit__ must have Any type")
def with_exit_of_ints(script):
    def f(x):
        with ExitOfInts() as _:
            pass
        return x

    script(f)


@case("Wrong type for attribute assignment")
def attribute_of_another_type(script):
    script(OfWrongType)


@case("object has no attribute or method")
def attribute_that_nothing_set(script):
    script(Uninitialized)


@case("Tried to set nonexistent attribute")
def attribute_first_set_in_a_method(script):
    script(SetsMissing)


@case("assignment cannot be in a control-flow block")
def attribute_set_in_a_branch(script):
    script(InControlFlow)


@case("Expected a value of type 'bool")
def argument_of_a_constructor(script):
    def f(x):
        OfBool(x)

    script(f)(torch.ones(1))


@case("bool' for argument 'reverse")
def sort_by_a_list(script):
    def f():
        li = [OfBool(True)]
        li.sort(li)
        return li

    script(f)


@case("must define a __lt__")
def sort_without_less(script):
    def f():
        li = [WithoutLess(), WithoutLess()]
        li.sort()
        return li

    script(f)()


@case("must define a __lt__")
def sorted_without_less(script):
    def f():
        return len(sorted([WithoutLess(), WithoutLess()]))

    script(f)()


@case("must define a __lt__")
def sort_with_another_less(script):
    def f():
        li = [WrongLess(), WrongLess()]
        li.sort()
        return li

    script(f)()


@case("Could not cast value of type", "to bool")
def condition_of_a_wrong_bool(script):
    def f():
        if Plain():
            print(1)

    script(f)


@case("__add__")
def operator_that_a_class_lacks(script):
    def f():
        return Negative(torch.ones(1)) + Negative(torch.ones(1))

    script(f)


@case("nearest")
def schema_with_a_text_default(script):
    def f(x):
        return torch.nn.functional.interpolate(x, "bad")

    script(f)


# ---- unions


class Color(Enum):
    RED = 1
    GREEN = 2


class Mixed(Enum):
    RED = 1
    GREEN = "green"


class OfTensors(Enum):
    FOO = torch.tensor(0)
    BAR = torch.tensor(1)


@case("Color, str] but instead found type int")
def union_with_an_enum(script):
    def f(x: Union[str, Color]) -> str:
        return "foo"

    script(f)(1)


@case("Could not match type str")
def append_of_another_type(script):
    def f():
        x: List[int] = [1, 2, 3]
        x.append("foo")
        return x

    script(f)()


@case("only int, float, complex, Tensor, device and string keys are supported")
def union_as_key(script):
    def f():
        x: Dict[Union[int, str], str] = {}
        x["foo"] = "bar"
        return x["foo"]

    script(f)


# ---- enums


@case("Cannot create Enum with value type 'Tensor'")
def enum_of_tensors(script):
    def f(a: OfTensors):
        return a.name

    script(f)


@case("Could not unify type list")
def enum_of_mixed_types(script):
    def f(x: Mixed, y: Mixed) -> bool:
        return x == y

    script(f)


@case("has no attribute 'PURPLE'")
def missing_member(script):
    def f(x: Color) -> bool:
        return x == Color.PURPLE

    script(f)


# ---- exceptions


@case("Arguments for call are not valid")
def close_match(script):
    def f(x):
        return x.masked_fill(True)

    script(f)


@case("This op may not exist or may not be currently supported in TorchScript")
def unknown_operator(script):
    def f(x):
        torch.set_anomaly_enabled(True)
        return x

    script(f)


@case("undefined value ArbitraryError")
def unknown_exception(script):
    def f(cond):
        a = 3
        if bool(cond):
            raise ArbitraryError(a, "hi")  # noqa: F821
        return a

    script(f)


@case("cannot be used as a value")
def exception_as_value(script):
    def f():
        a = Exception()
        print(a)

    script(f)


@case("must derive from BaseException")
def raise_of_a_number(script):
    def f():
        raise 3 + 4

    script(f)


@case("hello, goodbye")
def raise_of_two_texts(script):
    def f():
        raise RuntimeError("hello", "goodbye")

    script(f)()


@case("RuntimeError")
def raise_without_a_message(script):
    def f():
        raise RuntimeError

    script(f)()


@case("AssertionError: hi")
def assertion(script):
    def f(cond):
        assert bool(cond), "hi"

    script(f)(torch.tensor(0))


@case("Dict expansion ")
def dict_expansion(script):
    def f():
        d = {"foo": 1}
        return {**d}

    script(f)


class MyValueError(ValueError):
    pass


@case("MyValueError: test custom exception")
def exception_of_the_user(script):
    def f():
        raise MyValueError("test custom exception")

    script(f)()


@case(r"Expected 3D (unbatched) or 4D (batched) input to conv2d")
def message_of_an_operator(script):
    script(nn.Conv2d(1, 10, kernel_size=5))(torch.ones([123]))


# ---- torch._check


@case("torch._check() expects 1 or 2 arguments")
def check_of_three(script):
    def f(x):
        torch._check(True, "msg", "extra")
        return x

    script(f)


@case("unexpected keyword argument")
def check_of_an_unknown_keyword(script):
    def f(x):
        torch._check(True, invalid_arg="msg")
        return x

    script(f)


@case("multiple values for argument 'cond'")
def check_of_two_conditions(script):
    def f(x):
        torch._check(True, cond=False)
        return x

    script(f)


@case("missing required argument 'cond'")
def check_without_a_condition(script):
    def f(x):
        torch._check(message="msg only")
        return x

    script(f)


@case("torch._check() expects 1 or 2 arguments")
def check_of_nothing(script):
    def f(x):
        torch._check()
        return x

    script(f)


@case("AssertionError: too small")
def check_that_fails(script):
    def f(x: int):
        torch._check(x > 1, "too small")
        return x

    script(f)(0)


@case("AssertionError")
def check_that_fails_without_a_message(script):
    def f(x: int):
        torch._check(x > 1)
        return x

    script(f)(0)


# ---- builtins


class HasattrOfAName(nn.Module):
    def __init__(self):
        super().__init__()
        self.mod = nn.Linear(1, 1)

    def forward(self, name):
        return hasattr(self.mod, name)


@case("hasattr")
def hasattr_of_a_name(script):
    script(HasattrOfAName())


@case("undefined value a")
def use_of_a_deleted_name(script):
    def f(x):
        a = x**2
        del a
        return a  # noqa: F821

    script(f)


@case("undefined value a")
def use_of_a_name_that_a_branch_deletes(script):
    def f(x):
        a = x**2
        if a:
            del a
        return a

    script(f)


@case("undefined value b")
def deletion_of_no_name(script):
    def f(x):
        a = x**2
        del b  # noqa: F821
        return a

    script(f)


@case("object has no attribute or method")
def method_of_a_number(script):
    def f():
        c = 1
        return c.add(1)

    script(f)


@case("x.unsqueeze")
def place_of_a_conversion(script):
    def f(x, tensor):
        return x.unsqueeze(tensor)

    script(f)(torch.tensor([2]), torch.tensor([2, 2]))


@case("Incomplete format specifier")
def percent_at_the_end(script):
    def f(a: str) -> str:
        return "%s in template %" % a  # noqa: F501

    script(f)("foo")


@case("%d requires a number for formatting, but got String")
def percent_d_of_a_text(script):
    def f(a: str) -> str:
        return "%d in template" % a

    script(f)("1")


@case("Too few arguments for format string")
def too_few_for_percent(script):
    def f(a: str) -> str:
        return "%s %s in template" % (a,)  # noqa: F507

    script(f)("foo")


@case("Too many arguments for format string")
def too_many_for_percent(script):
    def f(a: str, b: str) -> str:
        return "%s in template" % (a, b)  # noqa: F507

    script(f)("foo", "bar")


# ---- calls


class KeywordOnly(nn.Module):
    def forward(self, *, n_tokens: int, device_name: str):
        return n_tokens, device_name


@case("missing value for argument 'n_tokens'")
def keyword_that_is_missing(script):
    script(KeywordOnly())()


@case("positional arg")
def keyword_given_by_place(script):
    script(KeywordOnly())(3, "hello")


@case("subscripted assignment")
def assignment_into_a_tuple(script):
    def f(a: Tuple[int, int]) -> None:
        a[0] = a[1]

    script(f)


@case("augmented assignment")
def augmented_assignment_into_a_tuple(script):
    def f(a: Tuple[int, int]) -> None:
        a[0] += a[1]

    script(f)


@case("multiple positional arguments that were not all integers")
def legacy_constructor_of_mixed(script):
    def f():
        return torch.LongTensor(1, [2])

    script(f)


@case("hello")
def legacy_constructor_of_a_keyword(script):
    def f():
        return torch.LongTensor(hello="1")

    script(f)


class TwoValues(nn.Module):
    def foo(self, x, y):
        return x

    def forward(self, x, y):
        return self.foo(x)


@case("not provided")
def method_without_an_argument(script):
    script(TwoValues())


class Recursive(nn.Module):
    def call_foo(self, input):
        return self.foo(input)

    def foo(self, input):
        return self.call_foo(input)

    def forward(self, input):
        return self.foo(input)


@case("called recursively")
def methods_in_a_circle(script):
    script(Recursive())


@case("range")
def range_of_nothing(script):
    def f(x):
        for _ in range():
            x += 1
        return x

    script(f)


@case("cannot be used as a value")
def builtin_as_value(script):
    def f(x):
        return x.unsqueeze

    script(f)


@case("attribute lookup is not defined on builtin")
def attribute_of_a_builtin(script):
    def f(self, x):
        a = x.unsqueeze.myattr
        return a

    script(f)


@case("cannot be used as a tuple")
def function_as_tuple(script):
    def f(self):
        a, b = Plain
        return a

    script(f)


@case("cannot call a value")
def call_of_a_tensor(script):
    def f(x):
        return x(3, 4, 5)

    script(f)


@case("object has no attribute abcd")
def attribute_of_a_module(script):
    def f():
        return io.abcd

    script(f)


@case("cannot be used as a value")
def class_as_value(script):
    def f():
        return io.BytesIO

    script(f)


class Sorted(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        return self.linear(x)


@case("Cannot call a ScriptModule that is not a submodule of the caller")
def module_from_outside(script):
    module = script(Sorted())

    def f(x):
        return module(x)

    script(f)


@case("'Tuple[Tensor, Tensor, Tensor]' object has no attribute or method '__doc__'")
def attribute_of_a_tuple(script):
    def f(x):
        print((x, x, x).__doc__)
        return x

    script(f)


@case("has no attribute or method 'unknown_symbol'")
def attribute_of_a_result(script):
    def f(x):
        return x.max(dim=1).unknown_symbol

    script(f)


@case("Unwrapping null optional")
def unwrapping_none(script):
    def f(x: Optional[int]) -> int:
        return torch.jit._unwrap_optional(x)

    script(f)(None)


@case("'int' object is not subscriptable")
def subscript_of_a_number(script):
    def f():
        a = 8
        return a[0]

    script(f)


@case("Return value was annotated as having type", "but is actually of type")
def result_of_another_type(script):
    def f(x: Tensor) -> Tuple[Tuple[Tensor, Tensor], Tensor]:
        return x, x

    script(f)


@case("need 4 values to unpack", "found only 3")
def too_few_values(script):
    def f(x):
        x, y, z, w = (x, x, x)
        return x

    script(f)


@case("too many values to unpack", "need 2 but found 3")
def too_many_values(script):
    def f(x):
        x, y = (x, x, x)
        return x

    script(f)


# ---- types


@case("Keyword argument requires_grad unknown")
def factory_that_requires_grad(script):
    def f():
        return torch.ones([2], requires_grad=True)

    script(f)


@case("Expected type hint for result of tolist()")
def tolist_without_a_type(script):
    def f(x: Tensor) -> List[float]:
        li = x.tolist()
        return li

    script(f)


@case("Output annotation list dimension and runtime tensor dimension must match")
def tolist_of_other_dimensions(script):
    def f(x: Tensor) -> List[List[float]]:
        li: List[List[float]] = x.tolist()
        return li

    script(f)(torch.ones(2))


@case("Output annotation element type and runtime tensor element type must match for tolist(): Float vs Long")
def tolist_of_another_dtype(script):
    def f(x: Tensor) -> List[float]:
        li: List[float] = x.tolist()
        return li

    script(f)(torch.ones(5, dtype=torch.long))


@case("Attempted to use List without a contained type. Please add a contained type, e.g. List[int]")
def list_of_nothing(script):
    def f(x: Any):
        assert torch.jit.isinstance(x, List)

    script(f)


@case("Attempted to use Tuple without a contained type. Please add a contained type, e.g. Tuple[int]")
def tuple_of_nothing(script):
    def f(x: Any):
        assert torch.jit.isinstance(x, Tuple)

    script(f)


@case("Attempted to use Optional without a contained type. Please add a contained type, e.g. Optional[int]")
def optional_of_nothing(script):
    def f(x: Any):
        assert torch.jit.isinstance(x, Optional)

    script(f)


@case("Attempted to use List without a contained type")
def annotation_of_a_list_of_nothing(script):
    def f(x: Tensor) -> List:
        a: List = x.tolist()
        return a

    script(f)


@case("Expected an annotation of type List")
def list_annotated_as_int(script):
    def f():
        b: int = [2, 3]
        return b

    script(f)


@case("empty")
def largest_of_no_numbers(script):
    def f(li: List[float]) -> float:
        return max(li)

    script(f)([])


# ---- interfaces


class NotMember:
    def __init__(self):
        pass

    def one(self, x, y):
        return x + y


class NotMember2:
    def __init__(self):
        pass

    def one(self, x, y):
        return x + y

    def two(self, x: int) -> int:
        return 3


@cresset.interface
class OurTwo:
    def two(self, x: Tensor) -> Tensor:
        pass


@torch.jit.interface
class TheirTwo:
    def two(self, x: Tensor) -> Tensor:
        pass


def use_ours(x: OurTwo):
    return x.two(torch.ones(1))


def use_theirs(x: TheirTwo):
    return x.two(torch.ones(1))


@case("does not have method")
def class_without_a_method_of_the_interface(script):
    if script is cresset.script:

        def f():
            return use_ours(NotMember())

    else:

        def f():
            return use_theirs(NotMember())

    script(f)


@case("is not compatible with interface")
def class_with_another_method(script):
    if script is cresset.script:

        def f():
            return use_ours(NotMember2())

    else:

        def f():
            return use_theirs(NotMember2())

    script(f)


# ---- what the language lacks


@case("Lambda aren't supported")
def lambda_in_a_function(script):
    def f(x):
        g = lambda y: y
        return g(x)

    script(f)


@case("Set aren't supported")
def set_literal(script):
    def f():
        return {1, 2}

    script(f)


@case("Yield aren't supported")
def generator(script):
    def f(x):
        yield x

    script(f)


@case("NamedExpr aren't supported")
def assignment_expression(script):
    def f(x: int):
        if (y := x) > 1:
            return y
        return 2

    script(f)


@case("keyword-arg expansion is not supported")
def keywords_from_a_dict(script):
    def f(x: Dict[str, int]):
        return max(**x)

    script(f)


@case("else branches of for loops aren't supported")
def else_of_a_loop(script):
    def f(x: int):
        for _ in range(x):
            pass
        else:
            x = 3
        return x

    script(f)


@case("Python builtin <built-in function open> is currently not supported in Torchscript")
def builtin_of_python(script):
    def f(x: str):
        return open(x)

    script(f)


class TwoLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(1, 1), nn.ReLU()])

    def forward(self, x):
        return self.layers[5](x)


@case("Index 5 out of range of length 2")
def index_beyond_a_module_list(script):
    script(TwoLayers())


@case("tuple slice indices must be integer constants")
def slice_of_a_tuple(script):
    def f(x: Tuple[int, str], i: int):
        return x[:i]

    script(f)


@case("Unknown type name 'Callable'")
def callable_as_type(script):
    def f(x: Callable):
        return x

    script(f)


@case("Attempted to use Dict without contained types. Please add contained type, e.g. Dict[int, int]")
def dict_of_nothing(script):
    def f(x: Dict):
        return x

    script(f)


class ReadOnly(nn.Module):
    @property
    def p(self) -> int:
        return 1

    def forward(self, x):
        self.p = 3
        return x


@case("Tried to set read-only attribute: p")
def property_without_a_setter(script):
    script(ReadOnly())


class WithoutSelf:
    def __init__(self):
        self.x = 1

    def f():
        return 1


@case("methods must have a self argument")
def method_without_self(script):
    script(WithoutSelf)


class Deletes(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = 1

    def forward(self, x):
        del self.x
        return x


@case("del statements are only supported for deleting list and dict items and variables")
def deletion_of_an_attribute(script):
    script(Deletes())


@case("enumerate expected at most 2 arguments, got 3")
def enumerate_of_three(script):
    def f(x: List[int]):
        for _ in enumerate(x, 1, 2):
            pass

    script(f)


@case("all inputs of range must be ints, found float in argument 0")
def range_of_a_float(script):
    def f(x: float):
        for _ in range(x):
            pass

    script(f)


@case("range expected at most 3 arguments, got 4")
def range_of_four(script):
    def f(x: int):
        for _ in range(0, 3, x, 4):
            pass

    script(f)


@case("Number of type annotations (1) did not match the number of function parameters (2)")
def type_comment_of_fewer(script):
    def f(x, y):
        # type: (int) -> int
        return x

    script(f)


@case("With item expression must return an object")
def with_of_a_tensor(script):
    def f(x):
        with x:
            return 1

    script(f)


def message(test, script):
    with pytest.raises(Exception) as caught:
        test(script)
    return re.sub(r"\s+", " ", str(caught.value))


@pytest.mark.parametrize("test, phrases", CASES, ids=[test.__name__ for test, _ in CASES])
def test_phrases(test, phrases):
    theirs, ours = message(test, torch.jit.script), message(test, cresset.script)
    for phrase in phrases:
        assert phrase in theirs, "torch.jit itself does not say so"
        assert phrase in ours
