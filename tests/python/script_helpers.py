"""What the tests of scripted modules share: one module by three engines, compared."""

import copy
import re

import torch
from torch.utils import _pytree

import cresset


def without_self(message):
    """torch.jit's message, with the counts of arguments that people make: it counts a method's object too."""
    return re.sub(
        r"expected at most (\d+) argument\(s\) but received (\d+)",
        lambda m: f"expected at most {int(m[1]) - 1} argument(s) but received {int(m[2]) - 1}",
        message,
    )


def run(module, args, kwargs=None, method=None):
    """The result, and the gradients of inputs and parameters of the sum of all floating results."""
    args, kwargs = _pytree.tree_map(_own, (args, kwargs or {}))
    leaves = [leaf for leaf in _pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    torch.manual_seed(0)
    result = (module if method is None else getattr(module, method))(*args, **kwargs)
    outputs = [leaf for leaf in _pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
    outputs = [leaf for leaf in outputs if leaf.requires_grad and (leaf.is_floating_point() or leaf.is_complex())]
    wanted = [leaf for leaf in (*leaves, *module.parameters()) if leaf.requires_grad]
    gradients = []
    if outputs and wanted:
        total = sum(leaf.abs().sum() for leaf in outputs)
        gradients = torch.autograd.grad(total, wanted, allow_unused=True)
    state = {name: value.clone() for name, value in module.state_dict().items() if isinstance(value, torch.Tensor)}
    return result, gradients, state


def _own(leaf):
    """A tensor of its own with the same values, which gradients can be asked of; other values as they are."""
    return leaf.detach().clone().requires_grad_(leaf.requires_grad) if isinstance(leaf, torch.Tensor) else leaf


def assert_same(actual, expected, exact=True):
    tolerance = {"rtol": 0, "atol": 0} if exact else {"rtol": 1e-4, "atol": 1e-5}
    torch.testing.assert_close(actual, expected, equal_nan=True, **tolerance)


def check(module, *args, kwargs=None, oracle=True, method=None, exact=True):
    """Scripts `module` and compares with eager and torch.jit: results, gradients, state afterwards. Returns ours.

    `exact` false is for programs that differentiate twice: derivatives of higher order may differ in their last bits.
    """
    eager = run(copy.deepcopy(module), args, kwargs, method)
    scripted = cresset.script(copy.deepcopy(module))
    ours = run(scripted, args, kwargs, method)
    compare(ours, eager, exact)
    if oracle:
        theirs = run(torch.jit.script(copy.deepcopy(module)), args, kwargs, method)
        compare(ours, theirs, exact=False)
    return scripted


def compare(ours, expected, exact=True):
    """`exact` false is for torch.jit, whose own differentiation rounds differently and returns zeros for no gradient."""
    flat, structure = _pytree.tree_flatten(ours[0])
    other, other_structure = _pytree.tree_flatten(expected[0])
    assert len(flat) == len(other), (structure, other_structure)
    for a, b in zip(flat, other, strict=True):
        if isinstance(b, torch.Tensor):
            assert_same(a, b, exact)
        else:
            assert a == b
    assert len(ours[1]) == len(expected[1])
    for a, b in zip(ours[1], expected[1], strict=True):
        if exact:
            assert (a is None) == (b is None)
        if a is not None and b is not None:
            assert_same(a, b, exact)
    if exact:
        assert list(ours[2]) == list(expected[2])
    for name, value in ours[2].items():
        assert_same(value, expected[2][name], exact)
