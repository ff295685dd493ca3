"""No derivative rule does more work than autograd: operators that backward passes run, counted beside eager PyTorch's.

An operator counts if its kernel looks at the elements of tensors: not what PyTorch composes of others (those count), views,
and memory that nobody has written to. What a counted operator calls itself does not count again. All is run often enough
for compiled gradients to have plans, once per subset of the gradients that are wanted.
"""

import functools
import itertools
from collections import Counter

import pytest
import sampling
import torch
from derivative_calls import CALLS, COMPOSITES, INDEX, MASK
from test_derivatives import arguments_of, both

import cresset

COMPOSED = "autograd has a fused kernel, or a formula of its own for the second derivative, that is composed here"
AGAIN = "computed again from what is kept; autograd keeps it from the forward pass"
ZEROS = "gradients that do not come in are zeros here, where autograd has none"
CHECKED = "zeros among the numbers are looked for in another way"

#: Rules that run more operators than autograd: how many more at most, and why. The list may only shrink.
MORE = {
    "cresset::slice_assign": (1, "updates are values: what is assigned to is not written to"),
    "aten::linear": (1, AGAIN),  # the rows of an input that is not contiguous
    "aten::matmul": (2, AGAIN),  # operands, expanded to stacks of one size
    "aten::conv1d.padding": (1, AGAIN),  # the padded input
    "aten::conv2d.padding": (1, AGAIN),
    "aten::conv3d.padding": (1, AGAIN),
    "aten::repeat_interleave.self_Tensor": (5, AGAIN),  # the indices
    "aten::linalg_slogdet": (1, AGAIN),  # the factors
    "aten::slogdet": (1, AGAIN),
    "aten::nll_loss_nd": (1, AGAIN),  # the total weight; in one, two and four dimensions it is kept
    "cresset::attention": (3, AGAIN),  # the mask as numbers
    "aten::pow.Scalar": (1, "the logarithm of the base is computed as a tensor"),
    "aten::celu": (1, "the inverse of a number is rounded by a tensor"),
    "aten::pow.Tensor_Tensor": (1, "zeros are a tensor of all elements"),
    "composite: torch.float_power(a, b)": (1, "zeros are a tensor of all elements"),
    "aten::softplus_backward": (1, COMPOSED),
    "aten::log_sigmoid_backward": (1, COMPOSED),
    "aten::glu_backward": (3, COMPOSED),
    "aten::einsum": (1, COMPOSED),
    "aten::mse_loss_backward": (3, COMPOSED),
    "aten::smooth_l1_loss_backward": (3, COMPOSED),
    "aten::huber_loss_backward": (2, COMPOSED),
    "aten::logcumsumexp": (1, COMPOSED),
    "aten::linalg_qr": (4, ZEROS),
    "aten::convolution_backward": (2, ZEROS),
    "aten::sgn": (1, ZEROS),
    "aten::svd": (2, COMPOSED),
    "aten::linalg_svd": (5, ZEROS),
    "aten::linalg_eigh": (5, COMPOSED),
    "aten::prod": (2, CHECKED),
}

CASES = [(name, *call) for name, calls in CALLS.items() for call in calls]
CASES += [(f"composite: {call[0]}", *call) for call in COMPOSITES]


#: They change what tensors look like, or make one of a single number.
UNWRITTEN = {"aten::_unsafe_view", "aten::resize_", "aten::set_", "aten::size", "aten::detach_", "aten::scalar_tensor"}


@functools.cache
def is_computing(name):
    """Whether the kernels of an operator ("aten::mul") look at elements of tensors."""
    packet = getattr(torch.ops.aten, name.removeprefix("aten::"), None)
    overloads = [getattr(packet, overload) for overload in packet.overloads()] if packet else []
    overloads = [o for o in overloads if torch._C._dispatch_has_kernel(o.name())]  # the others are TorchScript's
    views = any(r.alias_info is not None and not r.alias_info.is_write for o in overloads for r in o._schema.returns)
    composed = any(
        torch._C._dispatch_has_kernel_for_dispatch_key(o.name(), "CompositeImplicitAutograd") for o in overloads
    )
    return bool(overloads) and not (views or composed or "empty" in name or name in UNWRITTEN)


def takes_no_tensors(name):
    return name.removeprefix("aten::") in {"zeros", "ones", "full", "eye", "arange"}


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


def excess(expression, tensors, dtype=torch.float32, every=1):
    """Per subset of gradients that are wanted: how many operators more than eager PyTorch, which, and which less. Of the subsets of each size one in `every`."""
    script, eager = both(expression, tensors)
    choices = sampling.share(subsets(len(arguments_of(tensors, dtype)[1])), every, expression, len)
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
            found[subset] = (ours.total() - theirs.total(), dict(ours - theirs), dict(theirs - ours))
    return found


@pytest.mark.parametrize("name", sorted({case[0] for case in CASES}))
def test_backward_runs_no_more_operators_than_eager(name):
    every = 1 if name in MORE else 3  # what is more at most may be so of one subset
    found = [(expression, excess(expression, tensors, every=every)) for of, expression, *tensors in CASES if of == name]
    most = max((more for _, subsets in found for more, *_ in subsets.values()), default=0)
    assert most == MORE.get(name, (0, ""))[0], found


def test_kernels_that_give_several_gradients_run_once():
    """Where the operands come from layers, whose sizes are not known."""
    text = """
def f(x, a, b, c, w):
    q, k, v = torch.nn.functional.linear(x, a), torch.nn.functional.linear(x, b), torch.nn.functional.linear(x, c)
    return torch.nn.functional.layer_norm(torch.nn.functional.scaled_dot_product_attention(q, k, v), [8], w, w)
"""
    script = cresset.CompilationUnit(text).f
    arguments = [
        torch.randn(2, 4, 6, 8, requires_grad=True),
        *(torch.randn(8, 8, requires_grad=True) for _ in range(3)),
    ]
    arguments.append(torch.randn(8, requires_grad=True))
    for wanted in (arguments, arguments[1:2], arguments[1::2]):
        for _ in range(3):
            result = script(*arguments).sum()
            (counts,) = operators_of([functools.partial(torch.autograd.grad, result, wanted)])
            assert counts["aten::_scaled_dot_product_flash_attention_for_cpu_backward"] == 1, counts
            assert counts["aten::native_layer_norm_backward"] == 1, counts


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("size", [(0, 2, 3, 4), (2, 0, 3, 4), (2, 2, 0, 4), (2, 2, 3, 0), (0, 0, 3, 0), (0, 0, 0, 0)])
def test_attention_of_nothing(size, grad):
    """The fused kernel divides by the number of heads, which ends the process where there are none."""
    f = cresset.CompilationUnit(
        "def f(q, k, v):\n  return torch.nn.functional.scaled_dot_product_attention(q * 1, k, v) * 2 + 1"
    ).f
    for _ in range(4):
        q, k, v = (torch.randn(size, requires_grad=grad) for _ in range(3))
        result = f(q, k, v)
        assert result.shape == size
        if grad:
            assert all(g.shape == size for g in torch.autograd.grad(result.sum(), (q, k, v)))
