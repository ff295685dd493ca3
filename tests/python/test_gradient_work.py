"""No derivative rule does more work than autograd: operators that backward passes run, counted beside eager PyTorch's.

An operator counts if its kernel looks at the elements of tensors: not what PyTorch composes of others (those count), views,
and memory that nobody has written to. What a counted operator calls itself does not count again. All is run often enough
for compiled gradients to have plans, once per subset of the gradients that are wanted.
"""

import itertools
from collections import Counter

import pytest
import torch
from derivative_calls import CALLS, COMPOSITES, INDEX, MASK
from test_derivatives import arguments_of, both

#: Rules that run more operators than autograd, and why. The list may only shrink.
MORE = {}

CASES = [(name, *call) for name, calls in CALLS.items() for call in calls]
CASES += [(f"composite: {call[0]}", *call) for call in COMPOSITES]


def is_computing(name, known={}):  # noqa: B006: a cache
    """Whether the kernels of an operator ("aten::mul") look at elements of tensors."""
    if name not in known:
        packet = getattr(torch.ops.aten, name.removeprefix("aten::"), None)
        overloads = [getattr(packet, overload) for overload in packet.overloads()] if packet else []
        overloads = [o for o in overloads if torch._C._dispatch_has_kernel(o.name())]  # the others are TorchScript's
        views = any(r.alias_info is not None and not r.alias_info.is_write for o in overloads for r in o._schema.returns)
        composed = any(
            torch._C._dispatch_has_kernel_for_dispatch_key(o.name(), "CompositeImplicitAutograd") for o in overloads
        )
        unwritten = "empty" in name or name == "aten::_unsafe_view" or name in {"aten::resize_", "aten::set_", "aten::size", "aten::detach_"}
        known[name] = bool(overloads) and not (views or composed or unwritten)
    return known[name]


def takes_no_tensors(name):
    return name.removeprefix("aten::") in {"zeros", "ones", "full", "eye", "arange", "scalar_tensor"}


#: How the profiler calls arguments that are tensors.
NUMBERS = {"float", "double", "bool", "long int", "int", "c10::BFloat16", "c10::Half"}


def counted(event):
    """Builtins for lists and numbers have the names of operators, too."""
    if not event.name.startswith("aten::") or not is_computing(event.name):
        return False
    return takes_no_tensors(event.name) or any(dtype in NUMBERS for dtype in event.input_dtypes)


def operators_of(runs):
    """What each of the functions runs."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profile:
        for i, run in enumerate(runs):
            with torch.profiler.record_function(f"run {i}"):
                run()
    found = [Counter() for _ in runs]
    for event in profile.events():
        if not counted(event):
            continue
        ancestor = event.cpu_parent
        while ancestor is not None and not ancestor.name.startswith("run ") and not counted(ancestor):
            ancestor = ancestor.cpu_parent
        if ancestor is not None and ancestor.name.startswith("run "):
            found[int(ancestor.name.removeprefix("run "))][event.name] += 1
    return found


def subsets(count):
    """Of places: each, each pair, and all."""
    sizes = sorted({1, 2, count} & set(range(1, count + 1)))
    return [subset for size in sizes for subset in itertools.combinations(range(count), size)]


def backward_of(function, tensors, dtype, subset):
    """A backward pass that is ready to run."""
    arguments, wanted = arguments_of(tensors, dtype)
    torch.manual_seed(0)
    result = function(*arguments, MASK, INDEX)
    incoming = result.detach() + 1
    leaves = [wanted[i] for i in subset]
    return lambda: torch.autograd.grad(result, leaves, incoming, allow_unused=True)


def excess(expression, tensors, dtype=torch.float32):
    """Per subset of gradients that are wanted, what Cresset runs more than eager PyTorch, and what less."""
    script, eager = both(expression, tensors)
    choices = subsets(len(arguments_of(tensors, dtype)[1]))
    for subset in choices:
        for _ in range(4):
            backward_of(script, tensors, dtype, subset)()
        backward_of(eager, tensors, dtype, subset)()
    runs = [backward_of(f, tensors, dtype, subset) for subset in choices for f in (script, eager)]
    counts = operators_of(runs)
    found = {}
    for i, subset in enumerate(choices):
        ours, theirs = counts[2 * i], counts[2 * i + 1]
        if ours.total() > theirs.total():
            found[subset] = (dict(ours - theirs), dict(theirs - ours))
    return found


@pytest.mark.parametrize("case", range(len(CASES)), ids=[f"{c[0]}-{c[1]}" for c in CASES])
def test_backward_runs_no_more_operators_than_eager(case):
    name, expression, *tensors = CASES[case]
    found = excess(expression, tensors)
    if name in MORE:
        pytest.skip(MORE[name])
    assert not found, found
