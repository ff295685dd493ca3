"""Calls that don't fit what they call."""

from typing import List, Optional

import torch
import torch.nn.functional as F
from torch import Tensor


def helper(x: Tensor, n: int = 1, *, flag: bool = False) -> Tensor:
    return x * n if flag else x


def bad_missing(x: Tensor):
    return helper()  # error: Argument x not provided.


def bad_too_many(x: Tensor):
    return helper(x, 1, True)  # error: Expected at most 2 arguments but found 3 positional arguments.


def bad_unknown_keyword(x: Tensor):
    return helper(x, m=1)  # error: helper(Tensor x, int n=1, *, bool flag=False) -> Tensor:


def bad_twice(x: Tensor):
    return helper(x, x=x)  # error: helper(Tensor x, int n=1, *, bool flag=False) -> Tensor:


def bad_type(x: Tensor):
    return helper(x, "1")  # error: Expected a value of type 'int' for argument 'n' but instead found type 'str'.


def bad_optional(x: Optional[Tensor]):
    return helper(x)  # error: Expected a value of type 'Tensor' for argument 'x' but instead found type 'Optional[Tensor]'.


def bad_unannotated_is_tensor(x):
    return helper(x, x.size(0)) + inferred(1)  # error: Expected a value of type 'Tensor (inferred)' for argument 'x' but instead found type 'int'.


def inferred(x):
    return x + 1


def bad_operator_arguments(x: Tensor):
    return torch.add(x)  # error: Argument other not provided.


def bad_operator_keyword(x: Tensor):
    return torch.add(x, x, beta=2)  # error: Argument out not provided.


def bad_operator_type(x: Tensor):
    return torch.relu("a")  # error: Expected a value of type 'Tensor' for argument 'self' but instead found type 'str'.


def bad_operator_too_many(x: Tensor):
    return torch.relu(x, x)  # error: Expected at most 1 arguments but found 2 positional arguments.


def bad_method_argument(x: Tensor):
    return x.view("a")  # error: Expected a value of type 'int' for argument '<varargs>' but instead found type 'str'.


def bad_str_method(x: str):
    return x.join(1)  # error: Expected a value of type 'str' for argument '<varargs>' but instead found type 'int'.


def bad_list_method(xs: List[int]):
    return xs.push(1)  # error: 'List[int]' object has no attribute or method 'push'.


def bad_functional(x: Tensor):
    return F.dropout(x, "a")  # error: Expected a value of type 'float' for argument 'p' but instead found type 'str'.


def bad_dispatch_flag(x: Tensor, flag: bool):
    return F.max_pool2d(x, 2, return_indices=flag)  # error: the argument 'return_indices' of F.max_pool2d decides how many results there are: it must be True or False, written out or a constant (value for boolean dispatch was not constant)


def bad_recursion(n: int):
    if n == 0:
        return 0
    return bad_recursion(n - 1) + 1  # error: function 'bad_recursion' is called recursively. Annotate its result (`-> T`) so that its type is known before its body is compiled


def even(n: int):
    return n == 0 or odd(n - 1)


def odd(n: int):
    return n != 0 and even(n - 1)  # error: function 'even' is called recursively. Annotate its result (`-> T`) so that its type is known before its body is compiled


def bad_mutual_recursion(n: int):
    return even(n)


def inner(x: Tensor):
    return x.nonexistent()  # error: 'Tensor' object has no attribute or method 'nonexistent'.


def middle(x: Tensor):
    return inner(x)


def bad_deep_callee(x: Tensor):
    return middle(x)


def typed_inner(x: Tensor) -> Tensor:
    return x.nonexistent()  # error: 'Tensor' object has no attribute or method 'nonexistent'.


def typed_middle(x: Tensor) -> Tensor:
    return typed_inner(x)


def bad_deep_typed_callee(x: Tensor) -> Tensor:
    return typed_middle(x)


def bad_default_type(x: Tensor, n: int = "one"):  # error: Expected a default value of type int on parameter "n", but it is 'one'
    return x + n


def bad_default_object(x: Tensor, n: int = object()):  # error: Expected a default value of type int on parameter "n", but it is <object object
    return x + n


def bad_torch_jit_script(x: Tensor):
    return torch.jit.script(helper)(x)  # error: 'script' can't be compiled: try blocks aren't supported; test for the error's cause with 'if' before the call


def bad_torch_compile(x: Tensor):
    return torch.compile(helper)(x)  # error: 'compile' can't be compiled: import statements aren't supported inside a program; import outside of it


def bad_raise_not_exception(x: int):
    raise x  # error: exceptions must derive from BaseException


def bad_raise_string(x: int):
    raise "message"  # error: exceptions must derive from BaseException


def bad_assert_tuple(x: Tensor):
    assert (x, "message")  # error: Could not cast value of type Tuple[Tensor, str] to bool  # noqa: F631
    return x


def bad_with_tensor(x: Tensor):
    with x:  # error: With item expression must return an object, got Tensor instead
        return x


def bad_sum_of_str(xs: List[str]):
    return sum(xs)  # error: Expected a value of type 'Tensor' for argument 'self' but instead found type 'List[str]'.


def bad_min_nothing():
    return min()  # error: Argument a not provided.


def bad_zeros_dtype(n: int):
    return torch.zeros(n, dtype="float32")  # error: Expected a value of type 'Optional[int]' for argument 'dtype' but instead found type 'str'.


def bad_device(n: int):
    return torch.device("no-such-device")  # error: Invalid device string: 'no-such-device'


def bad_tensor_of_object(x: Tensor):
    return torch.tensor({"a": 1})  # error: Expected a value of type 'bool' for argument 't' but instead found type 'Dict[str, int]'.
