"""Values of one type where another is wanted."""

from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import torch
from torch import Tensor


def bad_add_str_int(x: str, y: int):
    return x + y  # error: Expected a value of type 'Tensor' for argument 'self' but instead found type 'str'.


def bad_add_list_int(x: List[int]):
    return x + 1  # error: Expected a value of type 'Tensor' for argument 'self' but instead found type 'List[int]'.


def bad_add_none(x: Optional[int]):
    return x + 1  # error: Expected a value of type 'Tensor' for argument 'self' but instead found type 'Optional[int]'.


def bad_optional_tensor(x: Optional[Tensor]):
    return x.relu()  # error: 'Optional[Tensor]' object has no attribute or method 'relu'. It may be None: test it with `is not None` first.


def bad_any(x: Any):
    return x + 1  # error: Expected a value of type 'Tensor' for argument 'self' but instead found type 'Any'.


def bad_union(x: Union[int, str]):
    return x + 1  # error: Expected a value of type 'Tensor' for argument 'self' but instead found type 'Union[int, str]'.


def bad_condition_optional(x: Optional[int]):
    if x:  # error: Could not cast value of type Optional[int] to bool
        return 1
    return 0


def bad_condition_tuple(x: Tuple[int, int]):
    if x:  # error: Could not cast value of type Tuple[int, int] to bool
        return 1
    return 0


def bad_return_str(x: int) -> int:
    return "x"  # error: Return value was annotated as having type int but is actually of type str


def bad_return_nothing(x: int) -> int:  # error: Function was not annotated as having type None, but does not return along all paths
    if x > 0:
        return 1


def bad_returns_differ(x: int):
    if x > 0:
        return 1
    return "a"  # error: Previous return statement returned a value of type int but this return statement returns a value of type str


def bad_variable_changes_type(x: int):
    y = 1
    y = "a"  # fine: a new variable in straight code
    if x > 0:
        y = 2  # error: Variable 'y' previously had type str but is now being assigned to a value of type int
    return y


def bad_branches(x: int):
    if x > 0:
        y = 1
    else:
        y = "a"
    return y  # error: Type mismatch: y is set to type int in the true branch and type str in the false branch:


def bad_loop_changes_type(x: int):
    y = 1
    for _i in range(x):
        y = y + 0.5  # error: Variable 'y' previously had type int but is now being assigned to a value of type float
    return y


def bad_ternary(x: int):
    return 1 if x > 0 else "a"  # error: if-expression's true branch has type int but false branch has type str


def bad_dict_keys(x: int):
    return {x: 1, "a": 2}  # error: Dict keys must contain only a single type. Expected: int but found str instead


def bad_dict_key_type(x: Tensor):
    d: Dict[List[int], int] = {}  # error: Cannot create dict for key type 'int[]', only int, float, complex, Tensor, device and string keys are supported
    return d


def bad_annotated_assignment(x: int):
    y: str = x  # error: Variable 'y' is annotated with type str but is being assigned to a value of type int
    return y


def bad_annotated_list(x: int):
    ys: List[str] = [x]  # error: List type annotation `List[str]` did not match the types of the given list elements, which were unified to int
    return ys


def bad_append(xs: List[int]):
    xs.append("a")  # error: aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!):
    return xs


def bad_empty_list(x: int):
    xs = []
    xs.append(x)  # error: aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!):
    return xs


def bad_empty_dict(x: int):
    d = {}
    d[x] = x  # error: Expected a value of type 'str' for argument 'idx' but instead found type 'int'.
    return d


def bad_index_str(xs: List[int]):
    return xs["a"]  # error: Expected a value of type 'int' for argument 'idx' but instead found type 'str'.


def bad_index_int(x: int):
    return x[0]  # error: 'int' object is not subscriptable


def bad_index_tuple_dynamic(x: Tuple[int, str], i: int):
    return x[i]  # error: Cannot index into a Tuple[int, str] with a non-integer literal because we cannot resolve the output type


def bad_index_tuple_range(x: Tuple[int, str]):
    return x[2]  # error: Tuple index out of range. Tuple is length 2 and index is 2


def bad_dict_index(d: Dict[str, int]):
    return d[1]  # error: Expected a value of type 'str' for argument 's' but instead found type 'Dict[str, int]'.


def bad_dict_value(d: Dict[str, int]):
    d["a"] = "b"  # error: Expected a value of type 'Dict[int, t]' for argument 'l' but instead found type 'Dict[str, int]'.
    return d


def bad_unpack_too_many(x: Tuple[int, int, int]):
    a, b = x  # error: too many values to unpack: need 2 but found 3
    return a


def bad_unpack_too_few(x: Tuple[int, int]):
    a, b, c = x  # error: need 3 values to unpack but found only 2
    return a


def bad_unpack_int(x: int):
    a, b = x  # error: int cannot be used as a tuple
    return a


def bad_iterate_int(x: int):
    for i in x:  # error: 'int' object is not iterable
        print(i)


def bad_iterate_optional(xs: Optional[List[int]]):
    for x in xs:  # error: 'Optional[List[int]]' object is not iterable
        print(x)


def bad_iterate_tuple_of_types(x: Tuple[int, str]):
    total = 0
    for v in x:
        total += v  # error: Expected a value of type 'Tensor' for argument 'self' but instead found type 'int'.
    return total


def bad_call_int(x: int):
    return x(1)  # error: cannot call a value of type 'int'


def bad_call_tensor(x: Tensor):
    return x(1)  # error: cannot call a value of type 'Tensor'


def bad_assign_tuple_element(x: Tuple[int, int]):
    x[0] = 1  # error: Tuple[int, int] does not support subscripted assignment
    return x


def bad_assign_str_element(x: str):
    x[0] = "a"  # error: str does not support subscripted assignment
    return x


class Point(NamedTuple):
    x: int
    y: int


def bad_named_tuple_field(p: Point):
    return p.z  # error: '__torch__.bad_programs_types_of_values.Point' object has no attribute or method 'z'.


def bad_named_tuple_assign(p: Point):
    p.x = 1  # error: Tried to set an attribute: x on a non-class: __torch__.bad_programs_types_of_values.Point
    return p


def bad_named_tuple_missing(x: int):
    return Point(x)  # error: Argument y not provided.


def bad_named_tuple_type(x: int):
    return Point(x, "a")  # error: Expected a value of type 'int' for argument 'y' but instead found type 'str'.


def bad_sort_mixed(xs: List[Tensor], d: Dict[str, int]):
    return sorted(d)[0] + 1  # error: Expected a value of type 'int' for argument '<varargs>' but instead found type 'Dict[str, int]'.


def bad_len_int(x: int):
    return len(x)  # error: 'int' object has no len()


def bad_range_float(x: float):
    for i in range(x):  # error: all inputs of range must be ints, found float in argument 0
        print(i)


def bad_int_of_str_list(xs: List[str]):
    return int(xs)  # error: Expected a value of type 'Tensor' for argument 'a' but instead found type 'List[str]'.


def bad_not_in_int(x: int):
    return 1 in x  # error: Expected a value of type 'List[int]' for argument 'l' but instead found type 'int'.


def bad_tolist(x: Tensor):
    return x.tolist()  # error: Expected type hint for result of tolist(): write `xs: List[float] = x.tolist()`


def bad_tolist_annotation(x: Tensor):
    y: List[str] = x.tolist()  # error: str is not one of the supported element types for tolist: int, float, complex, bool
    return y


def bad_isinstance_generic(x: Any):
    return isinstance(x, List)  # error: Attempted to use List without a contained type. Please add a contained type, e.g. List[int]


def bad_format(x: int):
    return "{}".join(x)  # error: Expected a value of type 'str' for argument '<varargs>' but instead found type 'int'.


def bad_compare(x: int, y: str):
    return x < y  # error: Expected a value of type 'Tensor' for argument 'self' but instead found type 'int'.


def bad_unary(x: str):
    return -x  # error: Expected a value of type 'Tensor' for argument 'self' but instead found type 'str'.


def bad_shift(x: float):
    return x << 1  # error: Expected a value of type 'Tensor' for argument 'self' but instead found type 'float'.


def bad_subscript_assign_type(x: Tensor):
    x[0] = "a"  # error: Expected a value of type 'Tensor' for argument 'src' but instead found type 'str'.
    return x


def bad_annotate(x: int):
    return torch.jit.annotate(List[str], [x])  # error: List type annotation `List[str]` did not match the types of the given list elements, which were unified to int


def bad_fork_not_callable(x: Tensor):
    return torch.jit.fork(x)  # error: cannot call a value of type 'Tensor'


def bad_zip_tuple_list(x: Tuple[int, str], y: List[int]):
    for a, b in zip(x, y):  # error: a value that does not have a statically determinable length
        print(a, b)


def bad_star_list(xs: List[Tensor]):
    return torch.add(*xs)  # error: cannot statically infer the expected size of a list in this context
