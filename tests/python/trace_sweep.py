"""Every entry of PyTorch's op_db and module_db, traced and compared with eager and with torch.jit.trace.

An op is traced as a function of the tensors among its arguments; everything else is a constant of the function. The
first sample is traced; if the op has a later sample that differs in sizes only, the same trace must fit that too. sweep.py
takes every sample of every dtype.
"""

import copy
import itertools
import warnings

import torch
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

import cresset

DTYPES = (torch.float32, torch.int64, torch.bool, torch.complex64)


class Difference(AssertionError):
    pass


def op_name(op):
    return op.name + ("." + op.variant_test_name if op.variant_test_name else "")


def dtypes_of(op):
    return [dtype for dtype in DTYPES if dtype in op.supported_dtypes("cpu")]


def as_function(op, sample):
    """A function of tensors only, and the tensors. torch.jit takes no other arguments."""
    leaves, spec = tree_flatten((sample.input, sample.args, sample.kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def function(*tensors):
        filled = list(leaves)
        for place, tensor in zip(places, tensors):
            filled[place] = tensor
        given, args, kwargs = tree_unflatten(filled, spec)
        return op(given, *args, **kwargs)

    return function, [leaves[i] for i in places]


def copies(tensors):
    return [t.detach().clone().requires_grad_(t.requires_grad) for t in tensors]


def tensors_in(value):
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


def outcome(function, inputs):
    """What a call returns and does: results, inputs afterwards, gradients."""
    inputs = copies(inputs)
    torch.manual_seed(42)  # as op_db's own functions do, which no trace sees
    result = function(*inputs)
    outputs = tensors_in(result)
    differentiable = [t for t in outputs if t.requires_grad and t.layout == torch.strided]
    leaves = [t for t in inputs if t.requires_grad]
    gradients = []
    if differentiable and leaves:
        total = sum((t.abs() if t.is_complex() else t).sum() for t in differentiable)
        if total.requires_grad:
            gradients = torch.autograd.grad(total, leaves, allow_unused=True)
    return [t.detach() for t in outputs], [t.detach() for t in inputs], list(gradients)


def without_contents(outcome_):
    """Of operators that leave memory as it is, only the form counts."""
    return tuple([None if t is None else torch.zeros_like(t) for t in tensors] for tensors in outcome_)


def same(ours, theirs, what):
    for name, a, b in zip(("results", "inputs afterwards", "gradients"), ours, theirs):
        try:
            torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6, equal_nan=True)
        except Exception as error:  # noqa: BLE001  (layouts that it can't compare)
            raise Difference(f"{what}: {name}: {error}") from None


def trace_op(tracer, op, sample, others=()):
    """Traces the op on `sample`; the trace must do what eager does on `sample` and on the first of `others` that differs
    from it in sizes only."""
    function, tensors = as_function(op, sample)
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = tracer(function, tuple(copies(tensors)), check_trace=False, strict=False)
        compare(op, traced, function, tensors, "traced")
        for other in others:
            function, inputs = as_function(op, other)
            if form(other) == form(sample) and [t.shape for t in inputs] != [t.shape for t in tensors]:
                compare(op, traced, function, inputs, "at other sizes")
                return


def compare(op, traced, function, tensors, what):
    results = outcome(traced, tensors), outcome(function, tensors)
    if "empty" in op.name:
        results = tuple(map(without_contents, results))
    same(*results, what)


def form(sample):
    """Everything but the sizes and contents of tensors."""
    leaves, spec = tree_flatten((sample.input, sample.args, sample.kwargs))
    parts = []
    for leaf in leaves:
        tensor = isinstance(leaf, torch.Tensor)
        parts.append((leaf.dtype, leaf.dim(), leaf.layout, leaf.requires_grad) if tensor else repr(leaf))
    return spec, parts


def samples_of(op, dtype):
    requires_grad = op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
    return op.sample_inputs("cpu", dtype, requires_grad=requires_grad)


def check_op(op, tracer=cresset.trace):
    """The first sample that has tensors, in the first dtype."""
    for dtype in dtypes_of(op):
        samples = iter(samples_of(op, dtype))
        for sample in samples:
            if tensors_in((sample.input, sample.args, sample.kwargs)):
                trace_op(tracer, op, sample, itertools.islice(samples, 30))
                return True
    return False


# ---- Modules


def modules_of(info, dtype=torch.float32):
    for sample in info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=False, training=False):
        constructor, forward = sample.constructor_input, sample.forward_input
        if forward is None:
            continue
        module = info.module_cls(*constructor.args, **constructor.kwargs).to(dtype).eval()
        if any(torch.nn.parameter.is_lazy(tensor) for tensor in module.parameters()):
            module(*copy.deepcopy(forward.args), **copy.deepcopy(forward.kwargs))  # now it has its parameters
        yield module, forward


def check_module(info, tracer=cresset.trace, limit=1):
    """The first sample whose inputs are tensors."""
    checked = 0
    for module, forward in modules_of(info):
        leaves, spec = tree_flatten((forward.args, forward.kwargs))
        if not all(isinstance(leaf, torch.Tensor) for leaf in tree_flatten(forward.args)[0]) or forward.kwargs:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            original = copy.deepcopy(module)
            inputs = tree_map(lambda t: t.detach().clone(), forward.args)
            traced = tracer(module, inputs, check_trace=False, strict=False)
            torch.manual_seed(0)
            expected = tensors_in(original(*forward.args))
            torch.manual_seed(0)
            result = tensors_in(traced(*forward.args))
        try:
            torch.testing.assert_close(result, expected, rtol=1e-6, atol=1e-6, equal_nan=True)
        except Exception as error:  # noqa: BLE001
            raise Difference(str(error)) from None
        checked += 1
        if checked == limit:
            return True
    return checked > 0
