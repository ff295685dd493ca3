"""Which functions frame capture may call in a plan: those whose one effect is their result, and which give the same for
the same arguments and ambient state. A plan that a check stops has no effect, so it may have called them in vain.

Not among them: what draws random numbers, what writes into an argument, what asks for a tensor's contents, what keeps
state.
"""

import os
import types

import torch
import torch.nn.functional as F

FUNCTIONS = """abs absolute add addbmm addcdiv addcmul addmm addmv all amax amin angle any argmax argmin argsort asin atan atan2
 atleast_1d atleast_2d baddbmm bmm broadcast_to cat ceil chunk clamp clamp_max clamp_min clone concat conj cos cosh cross
 cummax cumprod cumsum deg2rad diag diagonal diff div divide dot embedding eq erf erfc exp exp2 expm1 flatten flip floor floor_divide fmod
 frac gather ge gt hstack index_select inner isfinite isinf isnan kron le lerp log log10 log1p log2 logaddexp logical_and
 logical_not logical_or logical_xor logsumexp lt masked_fill matmul maximum mean median minimum mm movedim mul multiply mv
 narrow ne neg negative norm ones_like outer permute pow prod reciprocal relu remainder reshape roll round rsqrt rsub scatter
 scatter_add select sigmoid sign sin sinh softmax log_softmax sort sqrt square squeeze stack std sub subtract sum swapaxes
 t take_along_dim tan tanh tile topk transpose tril triu true_divide trunc unbind unflatten unsqueeze var vstack where xor
 zeros_like max min
 is_autocast_enabled is_complex is_floating_point is_grad_enabled is_inference_mode_enabled is_tensor""".split()
METHODS = """bfloat16 bool contiguous cpu detach dim double expand expand_as float half int long movedim ndimension numel repeat reshape_as
 size split to type_as view view_as""".split()
F_FUNCTIONS = """adaptive_avg_pool1d adaptive_avg_pool2d avg_pool1d avg_pool2d binary_cross_entropy
 binary_cross_entropy_with_logits celu conv1d conv2d conv3d cosine_similarity cross_entropy elu gelu glu group_norm hardsigmoid
 hardswish hardtanh huber_loss kl_div l1_loss layer_norm leaky_relu linear log_softmax logsigmoid max_pool1d max_pool2d mish
 mse_loss nll_loss normalize one_hot pad prelu relu relu6 rms_norm selu sigmoid silu smooth_l1_loss softmax softmin softplus
 softsign tanh unfold""".split()
ATTRIBUTES = {"shape", "dtype", "device", "ndim", "layout", "T", "mT", "H", "mH", "is_cuda", "is_nested",
              "is_quantized", "is_sparse", "requires_grad", "is_leaf"}  # fmt: skip
TORCH = os.path.join(os.path.dirname(torch.__file__), "")
# Whether an argument is of a class that takes part in calls: not if all are plain tensors, numbers and None.
HAS_TORCH_FUNCTION = (
    torch._C._has_torch_function,
    torch._C._has_torch_function_unary,
    torch._C._has_torch_function_variadic,
)


def _collect():
    found = {}
    for name in FUNCTIONS:
        for owner in (torch, torch.Tensor):
            if name in ("norm", "split"):
                continue
            function = getattr(owner, name, None)
            if function is not None:
                found[id(function)] = function
    for name in METHODS:
        function = getattr(torch.Tensor, name, None)
        if function is not None:
            found[id(function)] = function
    for name in F_FUNCTIONS:
        function = getattr(F, name, None)
        if function is not None:
            found[id(function)] = function
    for function in HAS_TORCH_FUNCTION:
        found[id(function)] = function
    return found


def _is_of_torch(function):
    """Not what replaced a function of torch before the import."""
    if type(function) is not types.FunctionType:
        return type(function) in (types.BuiltinFunctionType, types.MethodDescriptorType)
    return function.__code__.co_filename.startswith(TORCH)


_functional = {key: function for key, function in _collect().items() if _is_of_torch(function)}
_codes = {key: f.__code__ for key, f in _functional.items() if type(f) is types.FunctionType}


def add_functional(function):
    """Adds a Python function that its author says to be such. It is kept for ever."""
    _functional[id(function)] = function
    _codes[id(function)] = function.__code__


def code_of(function):
    """The code that a Python function of the table is known with; None if it has another."""
    code = _codes.get(id(function))
    return code if function.__code__ is code else None


def is_functional(object):
    return _functional.get(id(object)) is object and object is not None


def is_functional_attribute(name, descriptor):
    return name in ATTRIBUTES and type(descriptor) in (types.GetSetDescriptorType, property)


def refused_arguments(function, arguments, names):
    """Why a call with such arguments is not functional; "" if it is."""
    count = len(arguments) - len(names)
    for name, value in zip(names, arguments[count:]):
        if name in ("out", "generator") or (name == "inplace" and not _is_false(value)):
            return f"an argument {name}"
    code = getattr(function, "__code__", None)
    wrapped = getattr(function, "__wrapped__", None)
    code = getattr(wrapped, "__code__", code)
    parameters = () if code is None else code.co_varnames[: code.co_argcount]
    for name in ("inplace", "out"):
        if name in parameters and parameters.index(name) < count:
            return f"an argument {name}"
    return ""


def _is_false(value):
    return value.object is False and value.fixed
