"""Names that lead nowhere, or to Python objects that mean nothing in a program."""

import collections
import contextlib
import os
import random
from typing import Optional

import numpy
import torch
import torch.nn.functional as F
from torch import Tensor, nn

SCALE = torch.ones(3)
LAYER = nn.Linear(2, 2)
LAYERS = [nn.Linear(2, 2)]
FUNCTIONS = {"relu": torch.relu}


def bad_undefined(x: Tensor):
    return x + yy  # error: undefined value yy  # noqa: F821


def bad_undefined_function(x: Tensor):
    return undefined_function(x)  # error: undefined value undefined_function  # noqa: F821


def bad_member_of_torch(x: Tensor):
    return torch.no_such_function(x)  # error: module 'torch': object has no attribute no_such_function; did you mean 'functional'?


def bad_misspelled(x: Tensor):
    return torch.sigmiod(x)  # error: module 'torch': object has no attribute sigmiod; did you mean 'sigmoid'?


def bad_member_of_functional(x: Tensor):
    return F.reluu(x)  # error: module 'F': object has no attribute reluu; did you mean 'relu'?


def bad_tensor_method(x: Tensor):
    return x.no_such_method()  # error: 'Tensor' object has no attribute or method 'no_such_method'.


def bad_tensor_method_misspelled(x: Tensor):
    return x.unsqueeeze(0)  # error: 'Tensor' object has no attribute or method 'unsqueeeze'.


def bad_global_tensor(x: Tensor):
    return x * SCALE  # error: 'SCALE': python value of type 'Tensor' cannot be used as a value. Perhaps it is a closed over global variable? If so, please consider passing it in as an argument or use a local variable instead. A tensor can be passed as an argument, or be a buffer of the module.


def bad_method_of_global_module(x: Tensor):
    return LAYER.forward(x)  # error: attribute lookup is not defined on python value of type 'Linear'


def bad_global_module_list(x: Tensor):
    return LAYERS[0](x)  # error: 'LAYERS': python value of type 'list' cannot be used as a value. Perhaps it is a closed over global variable? If so, please consider passing it in as an argument or use a local variable instead.


def bad_global_dict_of_functions(x: Tensor):
    return FUNCTIONS["relu"](x)  # error: 'FUNCTIONS': python value of type 'dict' cannot be used as a value. Perhaps it is a closed over global variable? If so, please consider passing it in as an argument or use a local variable instead.


def bad_make_module(x: Tensor):
    return nn.Linear(2, 2)(x)  # error: Cannot instantiate class 'Linear' in a script function: modules are made outside of scripts. Make it in __init__ and keep it as an attribute


def bad_numpy(x: Tensor):
    return numpy.zeros(3)  # error: Python builtin <built-in function zeros> is currently not supported in Torchscript: 'numpy.zeros' is a function of C that is no operator


def bad_tensor_numpy(x: Tensor):
    return x.numpy()  # error: 'Tensor' object has no attribute or method 'numpy'.


def bad_os(x: Tensor):
    return os.getcwd()  # error: Python builtin <built-in function getcwd> is currently not supported in Torchscript: 'os.getcwd' is a function of C that is no operator


def bad_open(path: str):
    return open(path)  # error: Python builtin <built-in function open> is currently not supported in Torchscript: 'open' is a function of C that is no operator


def bad_random(x: Tensor):
    return x * random.random()  # error: Python builtin <built-in function random> is currently not supported in Torchscript: 'random.random' is a function of C that is no operator


def bad_counter(xs: list[int]):
    return collections.Counter(xs)  # error: 'Counter' can't be compiled: class 'Counter' inherits from 'dict', which is no class of Python code: a script class can't be one (TorchScript classes does not support inheritance yet from builtin classes)


def bad_deque(xs: list[int]):
    return collections.deque(xs)  # error: 'collections.deque': python value of type 'type' cannot be used as a value. Perhaps it is a closed over global variable? If so, please consider passing it in as an argument or use a local variable instead. It is a builtin class of Python that scripts don't have; they have lists, dicts and tuples.


def bad_suppress(x: Tensor):
    with contextlib.suppress(RuntimeError):  # error: 'suppress' can't be compiled: Compiled functions can't take variable number of arguments: '*' parameters are not supported; pass a list
        return x
    return x


def bad_builtin(x: Tensor):
    return vars(x)  # error: Python builtin <built-in function vars> is currently not supported in Torchscript: 'vars' is a function of C that is no operator


def bad_eval(x: Tensor):
    return eval("x")  # error: Python builtin <built-in function eval> is currently not supported in Torchscript: 'eval' is a function of C that is no operator


def bad_map(xs: list[int]):
    return map(str, xs)  # error: 'map': python value of type 'type' cannot be used as a value. Perhaps it is a closed over global variable? If so, please consider passing it in as an argument or use a local variable instead. It is a builtin class of Python that scripts don't have; they have lists, dicts and tuples.


def bad_filter(xs: list[int]):
    return filter(None, xs)  # error: 'filter': python value of type 'type' cannot be used as a value. Perhaps it is a closed over global variable? If so, please consider passing it in as an argument or use a local variable instead. It is a builtin class of Python that scripts don't have; they have lists, dicts and tuples.


def bad_frozenset(xs: list[int]):
    return frozenset(xs)  # error: 'frozenset': python value of type 'type' cannot be used as a value. Perhaps it is a closed over global variable? If so, please consider passing it in as an argument or use a local variable instead. Scripts have no sets: a dict's keys can stand for one, as in {x: True for x in xs}.


def bad_set_call(xs: list[int]):
    return set(xs)  # error: 'set': python value of type 'type' cannot be used as a value. Perhaps it is a closed over global variable? If so, please consider passing it in as an argument or use a local variable instead. Scripts have no sets: a dict's keys can stand for one, as in {x: True for x in xs}.


def bad_callable(x: Tensor):
    return callable(x)  # error: Python builtin <built-in function callable> is currently not supported in Torchscript: 'callable' is a function of C that is no operator


def bad_setattr(x: Tensor):
    setattr(x, "y", 1)  # error: Python builtin <built-in function setattr> is currently not supported in Torchscript: 'setattr' is a function of C that is no operator
    return x


def bad_type_call(x: Tensor):
    return type(x)  # error: type() is not supported in TorchScript; use isinstance to test what a value is


def bad_type_of_optional(x: Optional[Tensor]):
    return f"{type(x)}"  # error: type() of a value of type 'Optional[Tensor]' is not supported in TorchScript: its class isn't known before it runs; use isinstance


def bad_super(x: Tensor):
    return super().forward(x)  # error: super() is not supported in TorchScript; call the method of the base class by another name


def bad_getattr_dynamic(x: Tensor, name: str):
    return getattr(x, name)  # error: getattr's second argument must be a string literal


def bad_op_namespace(x: Tensor):
    return torch.ops.no_such_library.no_such_op(x)  # error: module 'torch.ops.no_such_library': object has no attribute no_such_op


def bad_op_name(x: Tensor):
    return torch.ops.aten.no_such_op(x)  # error: module 'torch.ops.aten': object has no attribute no_such_op


def bad_custom_class(x: Tensor):
    return torch.classes.no_such_library.NoSuchClass()  # error: module 'torch.classes.no_such_library': object has no attribute NoSuchClass


def bad_function_as_value(x: Tensor):
    f = torch.relu
    g = [f, f]  # error: builtin cannot be used as a value
    return x


def bad_module_as_value(x: Tensor):
    return torch  # error: module 'torch' cannot be used as a value


def bad_class_as_value(x: Tensor):
    return [int]  # error: type 'int' cannot be used as a value


def bad_used_after_delete(x: Tensor):
    y = x + 1
    del y
    return y  # error: undefined value y: it was deleted:


def bad_defined_in_one_branch(x: Tensor, flag: bool):
    if flag:
        y = x
    return y  # error: y is not defined in the false branch:


def bad_defined_in_loop(x: Tensor, n: int):
    for _i in range(n):
        y = x
    return y  # error: undefined value y


def bad_loop_variable_after(n: int):
    for i in range(n):
        pass
    return i  # error: undefined value i


def bad_comprehension_variable_after(xs: list[int]):
    ys = [v for v in xs]
    return v  # error: undefined value v  # noqa: F821


def callee_of_undefined(x: Tensor):
    return x + missing  # error: undefined value missing  # noqa: F821


def bad_callee(x: Tensor):
    return callee_of_undefined(x)


