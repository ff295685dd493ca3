"""Classes that can't be types, and wrong uses of those that can."""

import dataclasses
import enum
from typing import Any, List, NamedTuple, Optional

import torch
from torch import Tensor, nn

import cresset


class Counter:
    def __init__(self, start: int):
        self.count = start

    def add(self, n: int) -> int:
        self.count += n
        return self.count


def bad_missing_attribute(c: Counter):
    return c.total  # error: '__torch__.bad_programs_classes.Counter' object has no attribute or method 'total'. Did you forget to initialize an attribute in __init__()?


def bad_missing_method(c: Counter):
    return c.reset()  # error: '__torch__.bad_programs_classes.Counter' object has no attribute or method 'reset'. Did you forget to initialize an attribute in __init__()?


def bad_new_attribute(c: Counter):
    c.total = 1  # error: Tried to set nonexistent attribute: total. Did you forget to initialize it in __init__()?
    return c


def bad_attribute_type(c: Counter):
    c.count = "a"  # error: Wrong type for attribute assignment. Expected int but got str
    return c


def bad_init_arguments(x: int):
    return Counter()  # error: Argument start not provided.


def bad_init_type(x: int):
    return Counter("a")  # error: Expected a value of type 'int' for argument 'start' but instead found type 'str'.


def bad_method_arguments(c: Counter):
    return c.add()  # error: Argument n not provided.


def bad_operator(c: Counter, d: Counter):
    return c + d  # error: '__torch__.bad_programs_classes.Counter' object has no attribute or method '__add__'


def bad_iterate_object(c: Counter):
    for x in c:  # error: '__torch__.bad_programs_classes.Counter' object is not iterable
        print(x)


def bad_len_object(c: Counter):
    return len(c)  # error: '__torch__.bad_programs_classes.Counter' object has no attribute or method '__len__'. Did you forget to initialize an attribute in __init__()?


def bad_index_object(c: Counter):
    return c[0]  # error: '__torch__.bad_programs_classes.Counter' object has no attribute or method '__getitem__'. Did you forget to initialize an attribute in __init__()?


def bad_call_object(c: Counter):
    return c(1)  # error: '__torch__.bad_programs_classes.Counter' object has no attribute or method '__call__'. Did you forget to initialize an attribute in __init__()?


def bad_with_object(c: Counter):
    with c:  # error: Object returned by with item expression does not define __enter__ and __exit__ methods: '__torch__.bad_programs_classes.Counter' lacks __enter__
        return 1


def bad_condition_object(c: Counter):
    if c:  # error: Could not cast value of type __torch__.bad_programs_classes.Counter to bool
        return 1
    return 0


class bad_attribute_in_branch:
    def __init__(self, x: int):
        if x > 0:
            self.y = x  # error: First assignment cannot be in a control-flow block. Initialize the field at the top level first


class bad_attribute_in_method:
    def __init__(self, x: int):
        self.x = x

    def late(self):
        self.y = 1  # error: Tried to set nonexistent attribute: y. Did you forget to initialize it in __init__()?


class bad_method_body:
    def __init__(self, x: int):
        self.x = x

    def f(self) -> int:
        return self.x + "a"  # error: Expected a value of type 'Tensor' for argument 'self' but instead found type 'int'.


class bad_method_without_self:
    def __init__(self, x: int):
        self.x = x

    def f():  # error: methods must have a self argument: 'f' has none
        return 1


class bad_attribute_before_assignment:
    def __init__(self, x: int):
        y = self.x  # error: '__torch__.bad_programs_classes.bad_attribute_before_assignment' object has no attribute or method 'x'. Did you forget to initialize an attribute in __init__()?
        self.x = x


class bad_attribute_changes_type:
    def __init__(self, x: int):
        self.x = x
        self.x = "a"  # error: Wrong type for attribute assignment. Expected int but got str


class bad_property:
    def __init__(self, x: int):
        self.x = x

    @property
    def twice(self) -> int:
        return self.x.twice  # error: 'int' object has no attribute or method 'twice'.


class Stateful:
    def __init__(self):
        self.x = torch.zeros(1)

    @property
    def value(self) -> Tensor:
        return self.x


def bad_set_property(s: Stateful):
    s.value = torch.ones(1)  # error: Tried to set read-only attribute: value, a property that has no setter
    return s


class bad_dict_subclass(dict):  # error: class 'bad_dict_subclass' inherits from 'dict', which is no class of Python code: a script class can't be one (TorchScript classes does not support inheritance yet from builtin classes)
    pass


class bad_tensor_attribute:
    def __init__(self):
        self.items = []
        self.items.append(1)  # error: aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!):


@dataclasses.dataclass
class bad_default_factory:  # error: Default factory initializers are not supported in TorchScript dataclasses: field 'items' of 'bad_default_factory' has one; assign the value in __post_init__
    items: List[int] = dataclasses.field(default_factory=list)


class Color(enum.Enum):
    RED = 1
    GREEN = 2


def bad_enum_member(x: int):
    return Color.BLUE  # error: enum '__torch__.bad_programs_classes.Color' has no attribute 'BLUE'


def bad_enum_call(x: int):
    return Color(x)  # error: cannot call a EnumClass


def bad_enum_compare(c: Color):
    return c < Color.RED  # error: Expected a value of type 'Tensor' for argument 'self' but instead found type 'Enum<__torch__.bad_programs_classes.Color>'.


def bad_enum_attribute(c: Color):
    return c.label  # error: '__torch__.bad_programs_classes.Color' object has no attribute or method 'label'.


class Mixed(enum.Enum):
    A = 1
    B = "b"


def bad_enum_mixed(c: Mixed):  # error: Enum class 'Mixed' must have values of one type. Could not unify type list since element 1 of type str did not match the types before it (int)
    return c


class Objects(enum.Enum):
    A = object()


def bad_enum_objects(c: Objects):  # error: Enum class 'Objects': Tracer cannot infer type of <object object
    return c


class Empty(enum.Enum):
    pass


def bad_enum_empty(c: Empty):  # error: No enum values defined for: 'Empty'
    return c


class Fields(NamedTuple):
    x: "Nowhere"  # noqa: F821


def bad_named_tuple_annotation(f: Fields):  # error: Unknown type name 'Nowhere'
    return f


@cresset.interface
class Shape:
    def area(self) -> float:
        pass


def bad_interface_method(s: Shape):
    return s.perimeter()  # error: '__torch__.bad_programs_classes.Shape' object has no attribute or method 'perimeter'.


def bad_interface_make(x: int):
    return Shape()  # error: cannot call a interface '__torch__.bad_programs_classes.Shape'


class Square:
    def __init__(self, side: float):
        self.side = side

    def area(self) -> int:
        return 1


def bad_interface_assign(x: float):
    s: Shape = Square(x)  # error: Variable 's' is annotated with type __torch__.bad_programs_classes.Shape but is being assigned to a value of type __torch__.bad_programs_classes.Square
    return s.area()


class Layer(nn.Module):
    def forward(self, x):
        return x


def bad_module_class(x: Tensor):
    return Layer()(x)  # error: Cannot instantiate class 'Layer' in a script function: modules are made outside of scripts. Make it in __init__ and keep it as an attribute


class MyError(Exception):
    def __init__(self, code: int):
        self.code = code


def bad_exception_value(x: int):
    e = MyError(x)
    return e.code  # error: exception has no attribute 'code'


def bad_optional_object(c: Optional[Counter]):
    return c.count  # error: 'Optional[__torch__.bad_programs_classes.Counter]' object has no attribute or method 'count'. It may be None: test it with `is not None` first.


def bad_any_object(c: Any):
    return c.count  # error: 'Any' object has no attribute or method 'count'.


def bad_static_attribute(x: int):
    return Counter.total  # error: class '__torch__.bad_programs_classes.Counter' has no attribute 'total'
