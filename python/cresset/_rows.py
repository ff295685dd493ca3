"""Which functions frame capture may call in a plan: those whose one effect is their result, and which give the same for
the same arguments and ambient state. A plan that a check stops has no effect, so it may have called them in vain.

Not among them: what asks for a tensor's contents, what keeps state. Functions in place are called on memory that the plan
itself has made, or whose contents it saves before (`Recorder.writes`). Effects that a plan can undo: the statistics of batch
norms in training and the counts of their calls, and random numbers that were drawn (`effect_of`).
"""

import functools
import inspect
import math
import os
import sys
import types

import torch
import torch.nn.functional as F
import torch.utils.checkpoint

from . import _C

# Of functions that C++ defines under the name of an operator, the operator table says it. These are the others: functions
# of Python's, those that choose among operators, and questions for the kind of a tensor or the state.
FUNCTIONS = """_is_all_true _is_any_true as_tensor atleast_1d atleast_2d get_autocast_dtype is_autocast_enabled is_complex is_floating_point is_grad_enabled is_inference_mode_enabled
 is_tensor tensor _transformer_encoder_layer_fwd _unique2 _weight_norm""".split()
METHODS = """bfloat16 bool byte cdouble cfloat char cpu dim double float half int is_complex is_floating_point item long ndimension numel short split unflatten""".split()
# Methods of tensors in Python, which call functions of the table: plans have what they do.
WRITTEN_IN_PYTHON = "istft lu norm stft unique unique_consecutive".split()
F_FUNCTIONS = """adaptive_avg_pool2d binary_cross_entropy binary_cross_entropy_with_logits celu cross_entropy elu glu group_norm
 hardsigmoid hardswish hardtanh huber_loss kl_div l1_loss layer_norm leaky_relu log_softmax logsigmoid max_pool1d max_pool2d mish
 mse_loss nll_loss normalize pad relu relu6 rms_norm selu sigmoid silu smooth_l1_loss softmax softmin softsign tanh
 unfold""".split()
# Functions of numbers, of ints and floats. They are in the graphs of backends, never in Cresset's own.
OF_NUMBERS = (
    min, max, abs, int, float, round, math.sqrt, math.floor, math.ceil, math.trunc, math.fabs, math.exp, math.expm1, math.log,
    math.log2, math.log10, math.log1p, math.sin, math.cos, math.tan, math.asin, math.acos, math.atan, math.sinh, math.cosh,
    math.tanh, math.erf, math.isnan, math.isinf, math.isfinite, math.radians, math.degrees,
)  # fmt: skip
ATTRIBUTES = {"data", "shape", "dtype", "device", "ndim", "layout", "T", "mT", "H", "mH", "is_cpu", "is_cuda", "is_meta",
              "is_mps", "is_nested", "is_xpu",
              "is_quantized", "is_sparse", "requires_grad", "is_leaf"}  # fmt: skip
#: What asks a tensor for its contents: a number, or the answer to a question.
OF_CONTENTS = tuple(
    getattr(owner, name)
    for owner in (torch, torch.Tensor)
    for name in ("allclose", "equal", "is_nonzero", "item")
    if hasattr(owner, name)
)
TORCH = os.path.join(os.path.dirname(torch.__file__), "")
NEW_MEMORY = {
    "batch_norm",
    "empty",
    "empty_like",
    "new_empty",
}  # that the operator table does not say it of, since they may write to other arguments
_EVALUATES = (("training", False), ("p", 0.0))
# Functions that only compute if one of these arguments has the value; else they draw random numbers, or write statistics.
ONLY_WITH = {
    F.batch_norm: (("training", False),), F.dropout: _EVALUATES, F.dropout1d: _EVALUATES, F.dropout2d: _EVALUATES,
    F.dropout3d: _EVALUATES, F.alpha_dropout: _EVALUATES, F.rrelu: (("training", False),), F.scaled_dot_product_attention: (("dropout_p", 0.0),),
}  # fmt: skip
ONLY_WITH[F.instance_norm] = (("use_input_stats", False), ("running_mean", None))
# Recurrent networks that get no packed sequence: the arguments after the weights.
RECURRENT = (torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu)
ONLY_WITH.update((function, (("train", False), ("dropout", 0.0))) for function in RECURRENT)
_STATISTICS = dict.fromkeys((F.batch_norm, F.instance_norm), ("running_mean", "running_var"))  # arguments
CONSTANT = ("inplace", "p")  # arguments that are to be constants of a plan
_POSITIONS = {F.scaled_dot_product_attention: {"dropout_p": (4, 0.0)}}  # of what has no signature: (place, default)
_POSITIONS.update((function, {"dropout": (5, None), "train": (6, None)}) for function in RECURRENT)
# Whether an argument is of a class that takes part in calls: not if all are plain tensors, numbers and None.
HAS_TORCH_FUNCTION = (
    torch._C._has_torch_function,
    torch._C._has_torch_function_unary,
    torch._C._has_torch_function_variadic,
)


def _random(owner, in_place):
    """Built-in functions of torch, or methods of tensors, that draw random numbers in each call, by the operator table."""
    built_in = (types.BuiltinFunctionType, types.MethodDescriptorType)
    return [
        function
        for name in dir(owner)
        if not name.startswith("_")
        and name.endswith("_") == in_place
        and type(function := getattr(owner, name)) in built_in
        and _C._draws_random_numbers(f"aten::{name}")
    ]


RANDOM = [*_random(torch, False), *_random(torch.Tensor, False)]
# The same, into the memory of their first argument; and what makes such memory, with nothing in it yet.
RANDOM_IN_PLACE = _random(torch.Tensor, True)
EMPTY = [torch.empty, torch.empty_like, torch.Tensor.new_empty]
# What calls are made in, which is read anew; a plan gains nothing from such a call.
OF_STATE = tuple(
    getattr(torch._C, name)
    for name in (
        "_accelerator_getAccelerator",
        "_cuda_getDeviceCount",
        "_get_tracing_state",
        "_is_tracing",
        "_cuda_isCurrentStreamCapturing",
        "_get_privateuse1_backend_name",
        "_xpu_isCurrentStreamCapturing",
    )
    if hasattr(torch._C, name)
)


# Modules with functions of operators: how a program writes them, and how the operators' names begin.
OWNERS = (
    ("torch", torch, ""),
    ("F", F, ""),
    ("torch.fft", torch.fft, "fft_"),
    ("torch.linalg", torch.linalg, "linalg_"),
    ("torch.special", torch.special, "special_"),
    ("torch._C._nn", torch._C._nn, ""),
    ("torch._VF", torch._C._VariableFunctions, ""),
)


def _collect_transforms():
    """Names by code: of transforms of torch.func, of the functions that they return, and of checkpoint."""
    found = {}
    names = "functionalize grad grad_and_value hessian jacfwd jacrev jvp linearize vjp vmap".split()
    for owner, title, each in (
        *((torch.func, "torch.func", name) for name in names),
        (torch.utils.checkpoint, "torch.utils.checkpoint", "checkpoint"),
    ):
        function = getattr(owner, each, None)
        code = getattr(function, "__code__", None)
        wraps = code is not None and hasattr(function, "__wrapped__")  # by what wraps others, too
        for known in (code, *(() if code is None or wraps else code.co_consts)):
            if type(known) is types.CodeType and known.co_name in (each, "wrapper", "wrapped", "wrapper_fn"):
                found[known] = f"{title}.{each}"
        if wraps:
            found[function] = f"{title}.{each}"
    return found


_transforms = _collect_transforms()


def name_of_transform(function):
    """The name of a transform of torch.func or a checkpoint, or of the transform that has made the function; None of others."""
    return _transforms.get(function.__code__) or _transforms.get(function)


def code_of_disabled(disable):
    """The code of what torch._disable_dynamo makes of a function; None if it is written in another way than is known."""
    constants = getattr(getattr(disable, "__code__", None), "co_consts", ())
    return next((code for code in constants if getattr(code, "co_name", "") == "inner"), None)


_disables = code_of_disabled(getattr(torch, "_disable_dynamo", None))


def is_disabled(function):
    """Whether it is what torch._disable_dynamo or torch._dynamo.disable make of a function, of which a variable is `fn`."""
    code = function.__code__
    if code is _disables:
        return True
    if code.co_name != "_fn" or "fn" not in code.co_freevars:
        return False
    module = sys.modules.get("torch._dynamo.eval_frame")
    return module is not None and any(code is each for each in module.DisableContext.__call__.__code__.co_consts)


def _is_of_table(name, function):
    """Whether it is the function of an operator that only computes, by the operator table."""
    is_built_in = type(function) in (types.BuiltinFunctionType, types.MethodDescriptorType)
    return is_built_in and not name.startswith("_") and _C._only_computes(f"aten::{name}")


def _collect():
    found = {}
    for owner, others in ((torch, FUNCTIONS), (torch.Tensor, METHODS), (F, F_FUNCTIONS)):
        for name in dir(owner):
            function = getattr(owner, name, None)
            if name in others or _is_of_table(name, function):
                found[id(function)] = function
    for _, owner, start in OWNERS[2:]:
        for name in dir(owner):
            function = getattr(owner, name)
            if getattr(function, "__name__", "") == start + name and _is_of_table(start + name, function):
                found[id(function)] = function
    for function in (*HAS_TORCH_FUNCTION, *OF_CONTENTS, *OF_STATE, *ONLY_WITH, *RANDOM, *EMPTY):
        found[id(function)] = function
    return found


def _collect_in_place():
    """Methods and functions that write to their first argument, whose sizes stay, and do nothing else."""
    found = {}
    for name in dir(torch.Tensor):
        if name.endswith("_") and not name.startswith("_") and _C._memory_of_calls(f"aten::{name}") == "first":
            for owner in (torch.Tensor, torch):
                function = getattr(owner, name, None)
                if type(function) in (types.BuiltinFunctionType, types.MethodDescriptorType):
                    found[id(function)] = function
    found.update((id(function), function) for function in RANDOM_IN_PLACE)
    return found


def _is_of_torch(function):
    """Not what replaced a function of torch before the import."""
    if type(function) is not types.FunctionType:
        return type(function) in (types.BuiltinFunctionType, types.MethodDescriptorType)
    return function.__code__.co_filename.startswith(TORCH)


_functional = {key: function for key, function in _collect().items() if _is_of_torch(function)}
_functional.update((id(function), function) for function in OF_NUMBERS)
_in_place = _collect_in_place()
_added = set()  # identities of functions that their authors say to be such
_codes = {key: f.__code__ for key, f in _functional.items() if type(f) is types.FunctionType}


def add_functional(function):
    """Adds a Python function that its author says to be such. It is kept for ever."""
    _functional[id(function)] = function
    _added.add(id(function))
    _codes[id(function)] = function.__code__


def identities(objects):
    """Of objects that live for ever: whether something is one of them is whether its identity is one of these."""
    return frozenset(map(id, objects))


_random_calls = identities((*RANDOM, *RANDOM_IN_PLACE))
_of_state = identities(OF_STATE)


def was_added(function):
    """Whether only its author says that it is such."""
    return id(function) in _added


def code_of(function):
    """The code that a Python function of the table is known with; None if it has another."""
    code = _codes.get(id(function))
    return code if function.__code__ is code else None


def is_functional(object):
    return _functional.get(id(object)) is object and object is not None


_of_numbers = set(map(id, OF_NUMBERS))


def is_of_numbers(function):
    return id(function) in _of_numbers


def computes(function):
    """Whether a call does work that a plan saves something of."""
    return not is_of_numbers(function) and id(function) not in _of_state


def is_functional_attribute(name, descriptor):
    return name in ATTRIBUTES and type(descriptor) in (types.GetSetDescriptorType, property)


def is_in_place(object):
    """Whether it is a function that writes to its first argument, returns it, and does nothing else."""
    return _in_place.get(id(object)) is object and object is not None


@functools.cache
def memory_of_calls(function):
    """What calls do to memory, by the operator table: "new", "first", "view" or None."""
    name = str(getattr(function, "__name__", None))
    owners = ((torch.Tensor, ""), *((owner, start) for _, owner, start in OWNERS))
    if not any(getattr(owner, name.removeprefix(start), None) is function for owner, start in owners):
        return None
    return "new" if name in NEW_MEMORY else _C._memory_of_calls(f"aten::{name}")


def makes_memory(function):
    """Whether the results of all calls are in memory that nothing else has."""
    return memory_of_calls(function) == "new"


def makes_object(function):
    """Whether what a call returns is a tensor that nothing else has."""
    return memory_of_calls(function) in ("new", "view")


@functools.cache
def _parameters_of(function):
    """{name: (place, default)} of what has a signature in Python."""
    if function in _POSITIONS:
        return _POSITIONS[function]
    if type(function) is not types.FunctionType:
        return {}
    parameters = inspect.signature(function).parameters.values()
    return {p.name: (place, p.default) for place, p in enumerate(parameters)}


def decisive_arguments(function):
    """The arguments, by name and place, that decide what a call does."""
    if type(function) is not types.FunctionType and function not in ONLY_WITH:
        return ()
    parameters = _parameters_of(function)
    names = dict.fromkeys((*CONSTANT, *(name for name, _ in ONLY_WITH.get(function, ()))))
    return [(name, parameters[name][0]) for name in names if name in parameters]


def argument_of(arguments, names, name, place):
    """What a call has for an argument; None if nothing."""
    count = len(arguments) - len(names)
    if name in names:
        return arguments[count + names.index(name)]
    return arguments[place] if place < count else None


def refused_arguments(function, arguments, names):
    """Why a call with such arguments is not functional; "" if it is, but for writing to its first one."""
    if is_of_numbers(function):
        right = (len(arguments) > 1) == (function in (min, max)) and not names
        right = right or (function is round and len(arguments) == 2 and type(arguments[1].object) is int and not names)
        right = right and all(type(getattr(value, "object", None)) in (int, float, bool) for value in arguments)
        return "" if right else f"a call of {function.__name__} of other than numbers"
    count = len(arguments) - len(names)
    if function in RECURRENT and (count != 9 or names or type(getattr(arguments[3], "object", None)) is not bool):
        return f"a call of {function.__name__} with a packed sequence"
    for name in ("out", "generator"):
        is_known = name == "generator" and has_known_generator(function, arguments, names)
        if (name in names and not is_known) or _parameters_of(function).get(name, (count,))[0] < count:
            return f"an argument {name}"
    if function is torch.Tensor.item and (count != 1 or arguments[0].object.numel() != 1):
        return "a tensor's item that is not its one"
    for name, place in decisive_arguments(function):
        value = argument_of(arguments, names, name, place)
        if value is not None and not getattr(value, "fixed", False):
            return f"an argument {name}"
    if function in (torch.tensor, torch.as_tensor) and (
        count != 1 or "requires_grad" in names or not _is_of_numbers(arguments[0])
    ):
        return "a tensor of other than numbers"
    value = argument_of(arguments, names, "fill_value", 1) if function is torch.full else None
    if value is not None and type(value.object) is bool:
        return "a tensor full of a bool"  # the language, as torch.jit, makes it of numbers
    return ""


def has_known_generator(function, arguments, names):
    """Whether a call draws random numbers from a generator of the CPU that it names, or from the default one."""
    if id(function) not in _random_calls:
        return False
    generator = getattr(argument_of(arguments, names, "generator", len(arguments)), "object", NotImplemented)
    return generator is None or (type(generator) is torch.Generator and generator.device.type == "cpu")


def _is_of_numbers(value):
    """Whether it is a number, or a list or tuple of such that the plan makes."""
    items = getattr(value, "items", None)
    if items is not None:
        return getattr(value, "kind", None) in (list, tuple) and all(map(_is_of_numbers, items))
    return type(getattr(value, "object", None)) in (int, float, bool)


def effect_of(function, arguments, names):
    """What a call that is not refused does besides: "" nothing, "random" draws random numbers, "statistics" writes to some
    arguments, which come with it, as does the generator that random numbers are drawn from, if it is not the default one."""
    if id(function) in _random_calls:
        generator = argument_of(arguments, names, "generator", len(arguments))
        return "random", [] if generator is None or generator.object is None else [generator]
    wanted = ONLY_WITH.get(function, ())
    given = dict(decisive_arguments(function))
    for name, place in given.items():
        value = argument_of(arguments, names, name, place)
        given[name] = _parameters_of(function)[name][1] if value is None else value.object
    if not wanted or any(type(given[name]) is type(value) and given[name] == value for name, value in wanted):
        return "", []
    if function not in _STATISTICS:
        return "random", []
    places = _parameters_of(function)
    written = [argument_of(arguments, names, name, places[name][0]) for name in _STATISTICS[function]]
    written = [value for value in written if value is not None and value.object is not None]
    return "statistics" if written else "", written


def counts_calls(function, arguments, names):
    """Whether it adds a number to a tensor of one element in place, as modules do that count their calls."""
    if function is not torch.Tensor.add_ or names or len(arguments) != 2:
        return False
    count, number = arguments
    return type(number.object) is int and number.fixed and count.object.numel() == 1


def is_given_in_place(function, arguments, names):
    """Whether an argument `inplace` says that it writes to its first argument."""
    for name, place in decisive_arguments(function):
        value = argument_of(arguments, names, name, place) if name == "inplace" else None
        if value is not None and value.object:
            return True
    return False
