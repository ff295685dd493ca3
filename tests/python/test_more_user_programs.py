"""Each of more_user_programs.py, run by torch.jit and by Cresset: values, arguments afterwards, exceptions and what is
printed agree; interpreted and by plans, and after saving by either and loading by either."""

import contextlib
import copy
import io
from enum import Enum

import pytest
import torch
from more_user_programs import BEYOND_EAGER, BEYOND_TORCH_JIT, PROGRAMS
from torch import nn

import cresset


def plain(value):
    """What can be compared: enum members of different programs are different classes."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(each) for each in value]
    if isinstance(value, dict):
        return [(plain(key), plain(each)) for key, each in value.items()]
    return value


def last_line(error):
    """The exception's own words: torch.jit and Cresset put the program's stack around them."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].removeprefix("RuntimeError: ").removeprefix("builtins.").strip() if lines else ""


def observe(program, calls):
    """(kind, result, arguments afterwards, printed) of each call."""
    seen = []
    for make in calls:
        arguments = make()
        printed = io.StringIO()
        torch.manual_seed(0)
        with contextlib.redirect_stdout(printed):
            try:
                outcome = ("value", plain(program(*arguments)))
            except Exception as error:
                outcome = ("error", last_line(error))
        seen.append((*outcome, plain(arguments), printed.getvalue()))
    return seen


def same(a, b):
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and torch.allclose(a, b, 1e-5, 1e-6, equal_nan=True)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (float, complex)) and type(a) is type(b):
        return a == b or abs(a - b) <= 1e-6 * abs(b)
    return type(a) is type(b) and a == b


def agree(ours, theirs, where):
    assert len(ours) == len(theirs)
    for number, (mine, other) in enumerate(zip(ours, theirs)):
        assert mine[0] == other[0], f"{where}, call {number}: {mine} and not {other}"
        if mine[0] == "error":
            # torch.jit names the class of an exception, or says what the dispatcher says.
            words = other[1].partition(": ")[2] or other[1]
            assert words in mine[1] or mine[1] in other[1], f"{where}, call {number}: {mine[1]!r} and not {other[1]!r}"
        else:
            assert same(mine[1], other[1]), f"{where}, call {number}: {mine[1]} and not {other[1]}"
        assert same(mine[2], other[2]), f"{where}, call {number}: the arguments afterwards are {mine[2]}"
        assert mine[3] == other[3], f"{where}, call {number}: what is printed"


def exchanged(writer, reader, program):
    buffer = io.BytesIO()
    writer.save(program, buffer)
    buffer.seek(0)
    return reader.load(buffer, trusted=True) if reader is cresset else reader.load(buffer)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", ["interpret", "optimize"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, mode):
    build, calls = PROGRAMS[name]
    fresh = build if isinstance(build(), nn.Module) else lambda: build()
    cresset.set_execution_mode(mode)
    try:
        ours = cresset.script(fresh())
        is_module = isinstance(ours, nn.Module)
        own = copy.deepcopy if is_module else lambda program: program
        expected = eager = observe(fresh(), calls)
        programs = [(cresset, ours)]
        if name in BEYOND_TORCH_JIT:
            with pytest.raises(Exception):  # noqa: B017, PT011
                agree(observe(torch.jit.script(fresh()), calls), expected, "torch.jit")
        else:
            theirs = torch.jit.script(fresh())
            expected = observe(own(theirs), calls)
            if name not in BEYOND_EAGER:
                for number, (mine, other) in enumerate(zip(eager, expected)):
                    assert mine[0] == other[0] and (mine[0] == "error" or same(mine[1], other[1])), (
                        number,
                        mine,
                        other,
                    )
            if is_module:  # torch.jit saves functions without their defaults
                programs.append((torch.jit, theirs))
        agree(observe(own(ours), calls), expected, "made")
        if not is_module:
            for _ in range(2):  # by plans
                agree(observe(ours, calls), expected, "called again")
        if any(isinstance(leaf, Enum) for make in calls for leaf in flat(make())):
            return  # an enum of an archive is another class than the one in Python
        for writer, program in programs:
            for reader in (cresset, torch.jit):
                if (writer, reader) != (torch.jit, torch.jit):
                    loaded = exchanged(writer, reader, program)
                    agree(observe(loaded, calls), expected, f"{writer.__name__}.save, {reader.__name__}.load")
    finally:
        cresset.set_execution_mode("optimize")


def flat(value):
    if isinstance(value, (list, tuple)):
        return [leaf for each in value for leaf in flat(each)]
    return [value]
