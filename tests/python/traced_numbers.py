"""Arguments that stand for numbers, given as tensors: every one of every entry of PyTorch's op_db.

Eager PyTorch takes a tensor of one element for an int, a float, a Scalar and an element of a list of ints. In a trace such an
argument is an input like any other: a trace made with one value must follow another. Where it can't, it warns.
"""

import math
import warnings

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten
from trace_sweep import dtypes_of, samples_of, tensors_in

import cresset
from cresset import _tracing_hooks

SAMPLES = 12  # per dtype, in which arguments are looked for
UNCHECKED = {
    "grid_sampler_2d",
    "grid_sampler_3d",
}  # their modes are ints; for one that doesn't exist they compute anything


def leaves_of(sample):
    return tree_flatten((sample.input, sample.args, sample.kwargs))


def places_of(sample):
    """Where plain numbers stand among the arguments, as (index among the leaves, a name for it)."""
    index = 0

    def visit(value, name):
        nonlocal index
        leaves, _ = tree_flatten(value)
        for number, leaf in enumerate(leaves):
            if type(leaf) in (int, float, bool, complex):
                yield index, name + ("" if leaf is value else "[]" if number == 0 else "[…]")
            index += 1

    yield from visit(sample.input, "input")
    for position, value in enumerate(sample.args):
        yield from visit(value, str(position + 1))
    for name in sample.kwargs:
        yield from visit(sample.kwargs[name], name)


def other_values(value):
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1, value + 2, 0, 1, 2]
    return [value + 1, value * 0.5, value + 0.25, value * 2, 1.0]


def function_of(sample, place, op):
    """The op as a function of its tensors and of the number at `place`; and the tensors."""
    leaves, spec = leaves_of(sample)
    tensors = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def function(*given):
        filled = list(leaves)
        for i, tensor in zip([*tensors, place], given):
            filled[i] = tensor
        args = tree_unflatten(filled, spec)
        return op(args[0], *args[1], **args[2])

    return function, [leaves[i].detach() for i in tensors]


def run(function, tensors, number):
    torch.manual_seed(42)
    results = tensors_in(function(*[t.clone() for t in tensors], number))
    return [t.detach().clone() for t in results]


def equal(a, b):
    try:
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6, equal_nan=True)
    except Exception:  # noqa: BLE001  (layouts that it can't compare)
        return False
    return True


def filled(call):
    return lambda *args, **kwargs: call(*args, **kwargs).zero_()


def attempt(call, *args):
    try:
        return call(*args)
    except Exception:  # noqa: BLE001  (whatever the op has against the value)
        return None


def example(sample, place, op):
    """A function, its tensors, and two numbers for which eager PyTorch returns different results when they are tensors."""
    leaves, _ = leaves_of(sample)
    function, tensors = function_of(sample, place, op)
    value = leaves[place]
    first = attempt(run, function, tensors, torch.tensor(value))
    if not first or not equal(first, attempt(run, function, tensors, torch.tensor(value))):
        return None
    for other in other_values(value):
        if isinstance(other, float) and not math.isfinite(other):
            continue
        second = attempt(run, function, tensors, torch.tensor(other))
        if second and not equal(first, second):
            return function, tensors, torch.tensor(value), torch.tensor(other), second
    return None


def outcome(tracer, case):
    """`carried`, `frozen`, `refused` (the trace raises on the other number) or `failed`; and whether there was a warning."""
    function, tensors, number, other, expected = case
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.manual_seed(42)
        try:
            traced = tracer(function, (*[t.clone() for t in tensors], number), check_trace=False, strict=False)
        except Exception as error:  # noqa: BLE001
            return f"failed: {error}", True
    warned = any(w.category.__name__ == "TracerWarning" for w in caught)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = attempt(run, traced, tensors, other)
    if result is None:
        return "refused", warned
    return "carried" if equal(result, expected) else "frozen", warned


def cases_of(op, variants=("op", "method_variant")):
    """One example for each argument of each variant, by a name."""
    found = {}
    if op.name in UNCHECKED:
        return found
    for dtype in dtypes_of(op):
        for sample, _ in zip(attempt(lambda: list(samples_of(op, dtype))) or [], range(SAMPLES)):
            for place, name in places_of(sample):
                for variant in variants:
                    call = getattr(op, variant)
                    if call is None or (variant, name) in found:
                        continue
                    case = example(sample, place, filled(call) if "empty" in op.name else call)
                    if case:
                        found[variant, name] = case
    return found


def check(op):
    """Arguments that a trace freezes in silence, or that torch.jit.trace carries and ours doesn't; and how many it carries."""
    faults, carried = {}, 0
    library = _tracing_hooks._TORCH
    _tracing_hooks._TORCH = "\0"  # op_db's own functions may warn too
    try:
        for name, case in cases_of(op).items():
            what, warned = outcome(cresset.trace, case)
            if what == "carried":
                carried += 1
            elif (what == "frozen" and not warned) or outcome(torch.jit.trace, case)[0] == "carried":
                faults[name] = what + ("" if warned else " in silence")
    finally:
        _tracing_hooks._TORCH = library
    return faults, carried
