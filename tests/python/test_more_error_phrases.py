"""More programs that are wrong, as users write, trace, call, change, save and load them: what torch.jit says stands in
our message too.

As in test_script_error_phrases.py; a case is given the engine: torch.jit, or cresset.
"""

# ruff: noqa: F841, F811, E722, PLW0602, PLW0603, N805, E731, B018, B007, UP028, F401  (programs that are wrong on purpose)
import io
import re
from typing import Dict, Final, List, Optional, Tuple, Union

import pytest
import torch
from torch import Tensor, nn

import cresset

CASES = []


def case(phrase):
    def register(function):
        CASES.append((function, phrase))
        return function

    return register


class Lin(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(2, 2)
        self.k = 3
        self.register_buffer("b", torch.ones(1))

    def forward(self, x: Tensor, n: int = 1):
        return self.l(x) * n


class Exp(nn.Module):
    def forward(self, x):
        return x

    @torch.jit.export
    def other(self, x: int) -> int:
        return x + 1


# ---- calls
@case("missing value for argument 'x'")
def call_missing(t):
    t.script(Lin())()


@case("expected at most")
def call_extra(t):
    t.script(Lin())(torch.ones(2), 1, 2)


@case("Unknown keyword argument 'm' for operator 'forward'")
def call_unknown_kw(t):
    t.script(Lin())(torch.ones(2), m=2)


@case("Argument 'x' specified both as positional and keyword argument")
def call_twice(t):
    t.script(Lin())(torch.ones(2), x=torch.ones(2))


@case("forward() Expected a value of type 'int' for argument 'n' but instead found type 'str'")
def call_str_for_int(t):
    t.script(Lin())(torch.ones(2), "a")


@case("forward() Expected a value of type 'int' for argument 'n' but instead found type 'float'")
def call_float_for_int(t):
    t.script(Lin())(torch.ones(2), 1.5)


@case("Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #0 'self'")
def call_none(t):
    t.script(Lin())(None)


@case("forward() Expected a value of type 'Tensor' for argument 'x' but instead found type 'list'")
def call_list_for_tensor(t):
    t.script(Lin())([1.0])


@case("forward() Expected a value of type 'Tensor' for argument 'x' but instead found type 'ndarray'")
def call_numpy(t):
    import numpy as np

    t.script(Lin())(np.ones(2))


@case("forward() Expected a value of type 'Tensor' for argument 'x' but instead found type 'object'")
def call_obj(t):
    t.script(Lin())(object())


def fl(x: List[int]) -> int:
    return x[0]


def fd(x: Dict[str, int]) -> int:
    return x["a"]


def ft(x: Tuple[int, str]) -> int:
    return x[0]


def fo(x: Optional[int]) -> int:
    return 1 if x is None else x


def fll(x: List[List[float]]):
    return x


def fu(x: Union[int, str]):
    return x


def fdev(x: torch.device):
    return x


def fdt(x: torch.dtype):
    return x


def fc(x: complex):
    return x


def fb(x: bool):
    return x


def fs(x: str):
    return x


@case("fl() Expected a value of type 'List[int]' for argument 'x' but instead found type 'list'")
def call_l1(t):
    t.script(fl)([1, "a"])


@case("fl() Expected a value of type 'List[int]' for argument 'x' but instead found type 'tuple'")
def call_l2(t):
    t.script(fl)((1, 2.5))


@case("fl() Expected a value of type 'List[int]' for argument 'x' but instead found type 'int'")
def call_l3(t):
    t.script(fl)(3)


@case("list index out of range")
def call_l4(t):
    t.script(fl)([])


@case("fl() Expected a value of type 'List[int]' for argument 'x' but instead found type 'Tensor'")
def call_l5(t):
    t.script(fl)(torch.ones(2))


@case("fd() Expected a value of type 'Dict[str, int]' for argument 'x' but instead found type 'dict'")
def call_d1(t):
    t.script(fd)({1: 2})


@case("KeyError: a")
def call_d2(t):
    t.script(fd)({"b": 2})


@case("fd() Expected a value of type 'Dict[str, int]' for argument 'x' but instead found type 'dict'")
def call_d4(t):
    t.script(fd)({"a": "x"})


@case("ft() Expected a value of type 'Tuple[int, str]' for argument 'x' but instead found type 'tuple'")
def call_t1(t):
    t.script(ft)((1,))


@case("ft() Expected a value of type 'Tuple[int, str]' for argument 'x' but instead found type 'tuple'")
def call_t2(t):
    t.script(ft)((1, 2))


@case("ft() Expected a value of type 'Tuple[int, str]' for argument 'x' but instead found type 'list'")
def call_t3(t):
    t.script(ft)([1, "a", 3])


@case("fo() Expected a value of type 'Optional[int]' for argument 'x' but instead found type 'str'")
def call_o1(t):
    t.script(fo)("a")


@case("fll() Expected a value of type 'List[List[float]]' for argument 'x' but instead found type 'list'")
def call_ll(t):
    t.script(fll)([[1.0], [2.0, "a"]])


@case("fu() Expected a value of type 'Union[int, str]' for argument 'x' but instead found type 'float'")
def call_u(t):
    t.script(fu)(1.5)


@case("fdev() Expected a value of type 'Device' for argument 'x' but instead found type 'float'")
def call_dev(t):
    t.script(fdev)(3.5)


@case("at start of device string: nowhere")
def call_dev2(t):
    t.script(fdev)("nowhere")


@case("fc() Expected a value of type 'complex' for argument 'x' but instead found type 'str'")
def call_c(t):
    t.script(fc)("a")


@case("fs() Expected a value of type 'str' for argument 'x' but instead found type 'int'")
def call_s(t):
    t.script(fs)(2)


@case("fl() Expected a value of type 'List[int]' for argument 'x' but instead found type 'list'")
def call_big(t):
    t.script(fl)([2**70])


@case("f() Expected a value of type 'int' for argument 'n' but instead found type 'int'")
def call_big2(t):
    def f(n: int):
        return n

    t.script(f)(2**64)


@case("f() Expected a value of type 'int' for argument 'n' but instead found type 'Tensor'")
def call_tensor_for_int(t):
    def f(n: int):
        return n

    t.script(f)(torch.ones(2))


@case("f() Expected a value of type 'Tensor (inferred)' for argument 'n' but instead found type 'int'")
def call_hint(t):
    def f(n):
        return n

    t.script(f)(3)


# ---- setattr/getattr
@case("Could not cast attribute 'k' to type int: Unable to cast")
def set_wrong(t):
    m = t.script(Lin())
    m.k = "a"


@case("'Tensor' object has no attribute 'foo'")
def set_new(t):
    m = t.script(Lin())
    m.z = torch.ones(1)
    m.z.foo


@case("'RecursiveScriptModule' object has no attribute 'zzz'")
def get_missing(t):
    t.script(Lin()).zzz


@case("object has no attribute 'k'")
def del_attr(t):
    m = t.script(Lin())
    del m.k
    m.k


@case("'RecursiveScriptModule' object has no attribute 'zzz'")
def del_missing(t):
    m = t.script(Lin())
    del m.zzz


@case("Could not cast attribute 'weight' to type Tensor: Unable to cast")
def set_param_str(t):
    m = t.script(Lin())
    m.l.weight = "a"


@case("Cannot re-assign modules in a ScriptModule with non-scripted module, tried to replace existing module 'l'")
def set_module(t):
    m = t.script(Lin())
    m.l = nn.Linear(2, 2)


@case("Could not cast attribute 'b' to type Tensor: Unable to cast")
def set_buffer(t):
    m = t.script(Lin())
    m.b = "a"


@case("'int' object is not callable")
def set_method(t):
    m = t.script(Exp())
    m.other = 3
    m.other(2)


@case("'RecursiveScriptModule' object has no attribute 'helper'")
def call_non_exported(t):
    class M(nn.Module):
        def forward(s, x):
            return x

        def helper(s, x):
            return x

    t.script(M()).helper(1)


@case("Cannot re-assign modules in a ScriptModule with non-scripted module, tried to replace existing module 'q'")
def add_module(t):
    m = t.script(Lin())
    m.add_module("q", nn.Linear(2, 2))
    m.q(torch.ones(2))


@case("Can't add a new parameter after ScriptModule construction. Tried to add 'bb")
def reg_buffer(t):
    m = t.script(Lin())
    m.register_buffer("bb", torch.ones(1))
    m.bb + "a"


@case("Error(s) in loading state_dict for RecursiveScriptModule")
def load_sd_missing(t):
    m = t.script(Lin())
    m.load_state_dict({})


@case("Error(s) in loading state_dict for RecursiveScriptModule")
def load_sd_shape(t):
    m = t.script(Lin())
    sd = m.state_dict()
    sd["b"] = torch.ones(3)
    m.load_state_dict(sd)


@case("index 5 is out of range")
def container_index(t):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.ls = nn.ModuleList([nn.ReLU()])

        def forward(s, x):
            return s.ls[0](x)

    t.script(M()).ls[5]


@case("has not been initialized, did you forget to call 'super()'?")
def no_super(t):
    class M(nn.Module):
        def __init__(s):
            s.x = 1

        def forward(s, x):
            return x

    t.script(M())


@case("'object' object in attribute 'M.k' is not a valid constant")
def wrong_final(t):
    class M(nn.Module):
        k: Final[object]

        def __init__(s):
            super().__init__()
            s.k = object()

        def forward(s, x):
            return x

    t.script(M())


@case(
    "Module 'M' has no attribute 'k' (This attribute exists on the Python module, but we failed to convert Python type: 'object' to a TorchScript type."
)
def use_unconvertible(t):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.k = object()

        def forward(s, x):
            return s.k

    t.script(M())


@case("def forward(s, x): return s.k[0]")
def use_mixed_list(t):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.k = [1, "a"]

        def forward(s, x):
            return s.k[0]

    t.script(M())


@case("Can't set constant 'k' which has value:1")
def set_const2(t):
    class M(nn.Module):
        __constants__ = ["k"]

        def __init__(s):
            super().__init__()
            s.k = 1

        def forward(s, x):
            return x

    m = t.script(M())
    m.k = 5


@case("Tried to set nonexistent attribute: z. Did you forget to initialize it in __init__()?")
def new_attr_in_forward(t):
    class M(nn.Module):
        def forward(s, x):
            s.z = x
            return x

    t.script(M())


@case(
    "Expected integer literal for index but got a variable or non-integer. ModuleList/Sequential indexing is only supported with integer literals."
)
def dynamic_modulelist(t):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.ls = nn.ModuleList([nn.ReLU(), nn.Tanh()])

        def forward(s, x, i: int):
            return s.ls[i](x)

    t.script(M())


@case("Key Error, b")
def dict_missing(t):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.ls = nn.ModuleDict({"a": nn.ReLU()})

        def forward(s, x):
            return s.ls["b"](x)

    t.script(M())


@case("cannot call a value of type 'Tensor")
def module_as_arg(t):
    def g(m, x):
        return m(x)

    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.l = nn.ReLU()

        def forward(s, x):
            return g(s.l, x)

    t.script(M())


@case("Unknown type name '")  # torch.jit names 'Self' or 'Module', whichever it meets first
def append_modulelist(t):
    class Own(nn.ReLU):  # not a class that another test may have compiled before: torch.jit's message would differ
        pass

    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.ls = nn.ModuleList([nn.ReLU()])

        def forward(s, x):
            s.ls.append(Own())
            return x

    t.script(M())


@case("Expected a value of type 'int' for argument 'n' but instead found type 'str'")
def submodule_wrong_arg(t):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.l = Lin()

        def forward(s, x):
            return s.l(x, "a")

    t.script(M())


@case("Module 'Lin' has no attribute 'nothing'")
def submodule_missing_method(t):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.l = Lin()

        def forward(s, x):
            return s.l.nothing(x)

    t.script(M())


@case("'int' object has no attribute or method 'relu'")
def int_annotation_tensor(t):
    def f(x: int):
        return x.relu()

    t.script(f)


@case("Tried to set read-only attribute: p")
def prop_no_setter(t):
    class M(nn.Module):
        @property
        def p(s):
            return 1

        def forward(s, x):
            s.p = 2
            return x

    t.script(M())


@case("Could not export Python function call 'g'")
def ignore_save(t):
    class M(nn.Module):
        @torch.jit.ignore
        def g(s, x: Tensor) -> Tensor:
            return x

        def forward(s, x):
            return s.g(x)

    t.script(M()).save(io.BytesIO()) if 0 else t.save(t.script(M()), io.BytesIO())


@case("KeyError: 'inside'")
def ignore_raises(t):
    class M(nn.Module):
        @torch.jit.ignore
        def g(s, x: Tensor) -> Tensor:
            raise KeyError("inside")

        def forward(s, x):
            return s.g(x)

    t.script(M())(torch.ones(1))


def hooked(t, hook, pre=False):
    class M(nn.Module):
        def forward(s, x: Tensor) -> Tensor:
            return x

    m = M()
    (m.register_forward_pre_hook if pre else m.register_forward_hook)(hook)
    return t.script(m)


@case(
    "Hook 'h' on module 'M' was expected to only have exactly 3 inputs but it had 2 inputs. This error occurred while scripting the forward hook 'h' on module M. If you did not want to script this hook remove it from the original NN module before scripting. This hook was expected to have the following signature: h(self, input: Tuple[Tensor], output: Tensor). The type of the output arg is the returned type from either the forward method or the previous hook if it exists. Note that hooks can return anything, but if the hook is on a submodule the outer module is expecting the same return type as the submodule's forward"
)
def hook_args(t):
    def h(self, x: Tuple[Tensor]):
        return None

    hooked(t, h)


@case("Hook 'h' on module 'M' has the wrong inner types for the input tuple argument. Received type: 'Tuple[int]'")
def hook_in_type(t):
    def h(self, x: Tuple[int], out: Tensor):
        return None

    hooked(t, h)


@case(
    "Hook 'h' on module 'M' has the wrong type for the output argument. Received type: 'int'. Expected type: 'Tensor'"
)
def hook_out_type(t):
    def h(self, x: Tuple[Tensor], out: int):
        return None

    hooked(t, h)


@case(
    "Pre-hook 'h' on module 'M' has the wrong number of contained types for the input argument's Tuple. Received type: 'Tuple[Tensor, int]'"
)
def prehook_type(t):
    def h(self, x: Tuple[Tensor, int]) -> None:
        return None

    hooked(t, h, True)


@case(
    "Pre-hook 'h' on module 'M' returned the wrong type of: 'int'.This error occurred while scripting the forward pre-hook 'h' on module 'M'. If you did not want to script this pre-hook remove it from the original NN module before scripting. Pre-hooks for module 'M' are expected to have the following signature: h(self, input: Tuple[Tensor]) with a return type of either 'None', 'Tensor', or 'Tuple[Tensor]'"
)
def prehook_ret(t):
    def h(self, x: Tuple[Tensor]) -> int:
        return 3

    hooked(t, h, True)


@case("Pre-hook 'h' on module 'M' expected the input argument to be typed as a Tuple but found type: 'Tensor' instead")
def prehook_untyped(t):
    def h(self, x):
        return None

    hooked(t, h, True)


@case(
    "Pre-hook 'h' on module 'M' was expected to only have exactly 2 inputs but it had 3 inputs. This error occurred while scripting the forward pre-hook 'h' on module 'M'. If you did not want to script this pre-hook remove it from the original NN module before scripting. Pre-hooks for module 'M' are expected to have the following signature: h(self, input: Tuple[Tensor]) with a return type of either 'None', 'Tensor', or 'Tuple[Tensor]'"
)
def prehook_many(t):
    def h(self, x: Tuple[Tensor], y: int):
        return None

    hooked(t, h, True)


@case("cannot be traced. Only Tensors and (possibly nested) Lists, Dicts, and Tuples of Tensors can be traced")
def trace_int(t):
    t.trace(lambda x, n: x * n, (torch.ones(1), 3))


@case("Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions")
def trace_ret_str(t):
    t.trace(lambda x: "a", (torch.ones(1),))


@case("The traced function didn't return any values! Side-effects are not captured in traces, so it would be a no-op")
def trace_ret_none(t):
    t.trace(lambda x: None, (torch.ones(1),))


@case(
    "Encountering a dict at the output of the tracer might cause the trace to be incorrect, this is only valid if the container structure does not change based on the module's inputs. Consider using a constant container instead (e.g. for `list`, use a `tuple` instead. for `dict`, use a `NamedTuple` instead). If you absolutely need this and know the side effects, pass strict=False to trace() to allow this behavior"
)
def trace_ret_dict(t):
    t.trace(lambda x: {"a": x}, (torch.ones(1),))


@case("Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions")
def trace_ret_int(t):
    t.trace(lambda x: 3, (torch.ones(1),))


@case("trace_wrong_count.<locals>.<lambda>() takes 1 positional argument but 2 were given")
def trace_wrong_count(t):
    t.trace(lambda x: x, (torch.ones(1), torch.ones(1)))


@case("cannot be traced. Only Tensors")
def trace_scripted(t):
    t.trace(t.script(lambda x: x) if 0 else t.script(fs), ("a",))


@case("cannot be traced. Only Tensors")
def trace_str_input(t):
    t.trace(lambda s: torch.ones(len(s)), ("abc",))


@case("'Lin' object has no attribute 'nothing'")
def trace_module_bad(t):
    t.trace_module(Lin(), {"nothing": torch.ones(2)})


@case("expected a dictionary of (method_name, input) pairs")
def trace_module_type(t):
    t.trace_module(Lin(), torch.ones(2))


@case("expected torch.nn.Module as the first argument")
def trace_module_fn(t):
    t.trace_module(fs, {"forward": "a"})


@case("Dictionary inputs to traced functions must have consistent type. Found Tensor and int")
def trace_dict_mixed(t):
    t.trace(lambda d: d["a"], ({"a": torch.ones(1), "b": 2},))


@case("_lambda() is missing value for argument 'y'. Declaration: _lambda(Tensor x, Tensor y) -> Tensor")
def traced_call_missing(t):
    t.trace(lambda x, y: x + y, (torch.ones(1), torch.ones(1)))(torch.ones(1))


@case("_lambda() Expected a value of type 'Tensor' for argument 'x' but instead found type 'int'")
def traced_call_int(t):
    t.trace(lambda x: x + 1, (torch.ones(1),))(3)


@case(
    "Cannot insert a Tensor that requires grad as a constant. Consider making it a parameter or input, or detaching the gradient"
)
def trace_non_leaf_param(t):
    w = torch.ones(1, requires_grad=True) * 2
    t.trace(lambda x: x * w, (torch.ones(1),))


@case("inner problem")
def trace_raises(t):
    def f(x):
        raise ValueError("inner problem")

    t.trace(f, (torch.ones(1),))


# ---- load/save
@case("The provided filename /nonexistent/x.pt does not exist")
def load_missing(t):
    t.load("/nonexistent/x.pt")


@case("The provided filename /tmp is a directory")
def load_dir(t):
    t.load("/tmp")


@case("PytorchStreamReader failed reading zip archive: failed finding central directory")
def load_junk(t):
    t.load(io.BytesIO(b"junk" * 100))


@case("PytorchStreamReader failed locating file constants.pkl")
def load_state(t):
    b = io.BytesIO()
    torch.save({"a": 1}, b)
    b.seek(0)
    t.load(b)


@case("at start of device string: nowhere")
def load_device(t):
    b = io.BytesIO()
    t.save(t.script(Exp()), b)
    b.seek(0)
    t.load(b, map_location="nowhere")


@case("Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False")
def load_cuda(t):
    b = io.BytesIO()
    t.save(t.script(Lin()), b)
    b.seek(0)
    t.load(b, map_location="cuda")


@case("map_location should be either None, string or torch.device, but got type: <class 'float'>")
def load_maploc(t):
    b = io.BytesIO()
    t.save(t.script(Lin()), b)
    b.seek(0)
    t.load(b, map_location=3.5)


@case("does not exist.")
def save_dir(t):
    t.save(t.script(Exp()), "/nonexistent/dir/x.pt")


@case("extra {'nothing': b''}")
def load_extra(t):
    b = io.BytesIO()
    t.save(t.script(Exp()), b)
    b.seek(0)
    e = {"nothing": ""}
    t.load(b, _extra_files=e)
    raise RuntimeError("extra " + repr(e))


# ---- export, freeze, others
@case(
    "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module before freezing"
)
def freeze_train(t):
    t.freeze(t.script(Lin()))


@case("Freezing expects a ScriptModule as input")
def freeze_fn(t):
    t.freeze(t.script(fs))


@case("Freezing expects a ScriptModule as input")
def freeze_plain(t):
    t.freeze(Lin())


@case("Unknown name: nothing")
def freeze_attr(t):
    t.freeze(t.script(Lin()).eval(), preserved_attrs=["nothing"])


@case("cannot be compiled since it inherits from nn.Module")
def script_class_module(t):
    t.script(Lin)


@case("Object of type 'int' is not an instance of 'function'")
def fork_nonfn(t):
    t.fork(3)


@case("annotate() missing 1 required positional argument: 'the_value'")
def annotate_wrong(t):
    t.annotate(int)


@case("must be a bool or a function but got 3")
def ignore_bad(t):
    t.ignore(3)


@case("'CompilationUnit' has no attribute 'g'")
def cu_missing(t):
    t.CompilationUnit("def f(x):\n  return x\n").g


@case("method 'f' already defined")
def cu_redefine(t):
    u = t.CompilationUnit("def f(x):\n  return x\n")
    u.define("def f(x):\n  return x\n")


@case("Can't redefine method: forward on class: __torch__.")
def define_on_module(t):
    m = t.script(Lin())
    m.define("def forward(self, x):\n  return x\n")


@case("'Tensor (inferred)' object has no attribute or method 'nothing'")
def define_wrong(t):
    m = t.script(Lin())
    m.define("def q(self, x):\n  return x.nothing\n")
    m.q(torch.ones(1))


@case("ScriptFunction cannot be pickled")
def deepcopy_pickle(t):
    import pickle

    pickle.dumps(t.script(fs))


@case("Yield aren't supported")
def generator(t):
    def f(n: int):
        for i in range(n):
            yield i

    t.script(f)


@case("f() is missing value for argument 'y'. Declaration: f(int x, *, int y) -> int")
def kwonly_missing(t):
    def f(x: int, *, y: int):
        return x + y

    t.script(f)(1)


@case("Compiled functions can't take variable number of arguments")
def varargs(t):
    def f(*x: int):
        return x

    t.script(f)


@case("Compiled functions can't take variable number of arguments")
def varkw(t):
    def f(**x):
        return x

    t.script(f)


@case("try blocks aren't supported")
def try_stmt(t):
    def f(x):
        try:
            return x
        except:
            return x

    t.script(f)


@case("global variables aren't supported")
def global_stmt(t):
    def f(x):
        global zz
        zz = x
        return x

    t.script(f)


@case("import statements aren't supported")
def import_stmt(t):
    def f(x):
        import math

        return x

    t.script(f)


@case("function definitions aren't supported")
def nested_def(t):
    def f(x):
        def g(y):
            return y

        return g(x)

    t.script(f)


@case("Cannot create dict for key type 'int[]', only int, float, complex, Tensor, device and string keys are supported")
def dict_of_list_key(t):
    def f(x: Dict[List[int], int]):
        return x

    t.script(f)


@case("Set aren't supported")
def set_literal(t):
    def f(x):
        return {1, 2}

    t.script(f)


@case("cannot statically infer the expected size of a list in this context")
def star_in_call(t):
    def f(x: List[int]):
        return torch.zeros(*x)

    t.script(f)


@case('Expected a default value of type int on parameter "x"')
def bad_default(t):
    def f(x: int = "a"):
        return x

    t.script(f)


@case("Type mismatch: x is set to type int in the true branch and type str in the false branch")
def cond_types(t):
    def f(c: bool):
        if c:
            x = 1
        else:
            x = "a"
        return x

    t.script(f)


@case("Variable 'x' previously had type int but is now being assigned to a value of type float")
def loop_type(t):
    def f(n: int):
        x = 1
        for i in range(n):
            x = 2.5
        return x

    t.script(f)


@case("Previous return statement returned a value of type int but this return statement returns a value of type str")
def return_types(t):
    def f(c: bool):
        if c:
            return 1
        return "a"

    t.script(f)


@case("Function was not annotated as having type None, but does not return along all paths")
def return_missing(t):
    def f(c: bool) -> int:
        if c:
            return 1

    t.script(f)


@case("Arguments for call are not valid")
def none_math(t):
    def f(x: Optional[int]):
        return x + 1

    t.script(f)


@case("Dict keys must contain only a single type. Expected: int but found str instead")
def dict_elem(t):
    def f():
        return {1: 1, "a": 2}

    t.script(f)


@case("division by 0")
def zero_div(t):
    def f(x: int):
        return x // 0

    t.script(f)(1)


@case("KeyError: 5")
def key_err(t):
    def f(x: Dict[int, int]):
        return x[5]

    t.script(f)({1: 1})


@case("list index out of range")
def index_err(t):
    def f(x: List[int]):
        return x[5]

    t.script(f)([1])


@case("pop from empty list")
def pop_empty(t):
    def f(x: List[int]):
        return x.pop()

    t.script(f)([])


@case("mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)")
def shape_err(t):
    def f(x, y):
        return x @ y

    t.script(f)(torch.ones(2, 3), torch.ones(2, 3))


@case("AssertionError: too small: 1")
def assert_err(t):
    def f(x: int):
        assert x > 3, f"too small: {x}"

    t.script(f)(1)


@case("a Tensor with 3 elements cannot be converted to Scalar")
def item_err(t):
    def f(x):
        return x.item()

    t.script(f)(torch.ones(3))


@case("Boolean value of Tensor with more than one value is ambiguous")
def bool_err(t):
    def f(x):
        if x:
            return 1
        return 2

    t.script(f)(torch.ones(3))


def message(function, engine):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        function(engine)
    return re.sub(r"\s+", " ", str(caught.value))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("function", "phrase"), CASES, ids=[function.__name__ for function, _ in CASES])
def test_phrase(function, phrase):
    assert phrase in message(function, cresset)
    if torch.__version__.startswith("2.13"):
        assert phrase in message(function, torch.jit)
