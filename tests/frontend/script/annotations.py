"""Annotations that are no types."""

import typing
from typing import Any, Callable, Dict, Iterable, List, Literal, Sequence, Tuple, TypeVar

import numpy
import torch
from torch import Tensor, nn

T = TypeVar("T")


def bad_unknown(x: "Unknown"):  # error: Unknown type name 'Unknown'  # noqa: F821
    return x


def bad_unknown_in_body(x: Tensor):
    y: "Unknown" = x  # error: Unknown type name 'Unknown'  # noqa: F821
    return y


def bad_bare_list(xs: List):  # error: Attempted to use List without a contained type. Please add a contained type, e.g. List[int]
    return xs


def bad_bare_dict(xs: Dict):  # error: Attempted to use Dict without contained types. Please add contained type, e.g. Dict[int, int]
    return xs


def bad_bare_tuple(xs: Tuple):  # error: Attempted to use Tuple without a contained type. Please add a contained type, e.g. Tuple[int]
    return xs


def bad_variadic_tuple(xs: Tuple[int, ...]):  # error: Tuple[T, ...] has no fixed length: write List[T], or one type for each element (Tuple[T, T])
    return xs


def bad_two_list_arguments(xs: "List[int, int]"):  # error: List expected exactly one element type but found 2
    return xs


def bad_one_dict_argument(xs: "Dict[str]"):  # error: Dict expected exactly 2 element types but found 1
    return xs


def bad_callable_parameter(f: Callable[[Tensor], Tensor], x: Tensor):  # error: Unknown type constructor Callable: functions can't be passed as values
    return f(x)


def bad_module_parameter(layer: nn.Linear, x: Tensor):  # error: Unknown type name 'nn.Linear': a module is no type of TorchScript. Let a module hold it as a submodule and call it from its methods
    return layer(x)


def bad_type_variable(x: T) -> T:  # error: Unknown type name 'T'
    return x


def bad_sequence(xs: Sequence[int]):  # error: Unknown type constructor Sequence: write List
    return xs


def bad_iterable(xs: Iterable[int]):  # error: Unknown type constructor Iterable: write List
    return xs


def bad_numpy_array(x: numpy.ndarray):  # error: Unknown type name 'numpy.ndarray'
    return x


def bad_set(xs: set[int]):  # error: Unknown type constructor set: write List
    return xs


def bad_bytes(x: bytes):  # error: Unknown type name 'bytes'
    return x


def bad_literal(x: Literal["a", "b"]):  # error: Unknown type constructor Literal: write the type of the values
    return x


def bad_type_of_type(x: type):  # error: Unknown type name 'type'
    return x


def bad_number_as_annotation(x: 3):  # error: Expression of type const cannot be used in a type expression
    return x


def bad_call_as_annotation(x: typing.cast(Any, int)):  # error: Expression of type apply cannot be used in a type expression
    return x


def bad_result(x: Tensor) -> "Missing":  # error: Unknown type name 'Missing'  # noqa: F821
    return x


def bad_type_comment(x, y):  # error: Number of type annotations (1) did not match the number of function parameters (2)
    # type: (Tensor) -> Tensor
    return x


def bad_type_comment_name(x):
    # type: (Unknown) -> Tensor  # error: Unknown type name 'Unknown'
    return x


def bad_union_of_nothing(x: "typing.Union[()]"):  # error: Union expected types of which none holds all the others
    return x


def bad_dict_key(x: Dict[Tensor, List[int]], y: Dict[List[int], int]):  # error: Cannot create dict for key type 'int[]', only int, float, complex, Tensor, device and string keys are supported
    return x


def bad_final_local(x: int):
    y: typing.Generator = x  # error: Unknown type name 'typing.Generator'
    return y


def bad_module_as_annotation(x: torch):  # error: Unknown type name 'torch'
    return x
