"""Each of user_programs.py: eager, torch.jit and Cresset agree call by call, and what either saves the other runs alike."""

import copy
import io

import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_flatten, tree_map
from user_programs import PROGRAMS

import cresset


def own(value):
    return tree_map(lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf, value)


def run(program, calls):
    """What each call returns, and the state at the end. A program without an exported method leaves its calls out."""
    results = []
    for number, (method, inputs) in enumerate(calls):
        torch.manual_seed(number)
        arguments = inputs()
        torch.manual_seed(number)
        results.append(own(getattr(program, method)(*arguments) if method != "forward" else program(*arguments)))
    state = getattr(program, "state_dict", dict)()
    return results, {name: value for name, value in state.items() if isinstance(value, torch.Tensor)}


def gradients(program, calls):
    """Of the sum of all floating results of `forward`, by parameters."""
    parameters = [p for p in program.parameters() if p.requires_grad]
    torch.manual_seed(0)
    leaves, _ = tree_flatten(program(*calls[0][1]()))
    outputs = [t for t in leaves if isinstance(t, torch.Tensor) and t.requires_grad]
    if not outputs or not parameters:
        return []
    return torch.autograd.grad(sum(t.sum() for t in outputs), parameters, allow_unused=True)


def agree(ours, theirs):
    if isinstance(ours, tuple) and len(ours) == 2 and isinstance(ours[1], dict):
        # torch.jit has buffers that are not persistent in its state, too.
        ours = ours[0], {name: ours[1][name] for name in theirs[1]}
    flat, structure = tree_flatten(ours)
    other, other_structure = tree_flatten(theirs)
    assert len(flat) == len(other), (structure, other_structure)
    for a, b in zip(flat, other):
        if isinstance(b, torch.Tensor):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)
        elif isinstance(b, float):
            assert a == pytest.approx(b, rel=1e-6)
        else:
            assert a == b


def saved(tool, program):
    buffer = io.BytesIO()
    tool.save(program, buffer)
    return buffer.getvalue()


def make(tool, how, program, calls):
    if how == "script":
        return tool.script(program)
    torch.manual_seed(0)
    return tool.trace(program, calls[0][1](), check_trace=False)


#: What torch.jit does not do. Cresset does all of it.
BEYOND_TORCH_JIT = {
    "vision/preprocess",  # `d[key] = []` for a dict of lists of ints
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    how, build, calls = PROGRAMS[name]
    torch.manual_seed(0)
    program = build()
    fresh = (lambda: copy.deepcopy(program)) if isinstance(program, nn.Module) else (lambda: program)
    expected = run(fresh(), calls)
    ours = make(cresset, how, fresh(), calls)
    archive = saved(cresset, ours)
    agree(run(ours, calls), expected)
    agree(run(cresset.load(io.BytesIO(archive), trusted=True), calls), expected)
    if isinstance(program, nn.Module):
        agree(gradients(make(cresset, how, fresh(), calls), calls), gradients(fresh(), calls))
    if name in BEYOND_TORCH_JIT:
        with pytest.raises(Exception):  # noqa: B017, PT011
            agree(run(make(torch.jit, how, fresh(), calls), calls), expected)
        return
    theirs = make(torch.jit, how, fresh(), calls)
    their_archive = saved(torch.jit, theirs)
    agree(run(theirs, calls), expected)
    agree(run(torch.jit.load(io.BytesIO(archive)), calls), expected)
    if isinstance(program, nn.Module):  # torch.jit saves functions without their defaults
        agree(run(cresset.load(io.BytesIO(their_archive), trusted=True), calls), expected)
