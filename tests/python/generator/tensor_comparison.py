"""What counts as a difference between the outcomes of a tensor program by eager PyTorch, by unoptimized Cresset, and
by Cresset's plans.

Values, strides, aliasing, effects on arguments and on the module, printed text and gradients have equal bits; all nans are
one. Of plans, second derivatives go through kept values in another order (docs/decisions/0008-gradients.md): each number
differs by at most LIMIT times as much as those that eager PyTorch computes with other roundings differ from eager's.
Cresset's two modes have the same exceptions to the last letter; eager's have another class at times, and the same last
line.
"""

import functools
import re
from dataclasses import replace

import numpy
import torch

from .tensor_execution import Eager, Interpreted, Planned, PlannedAtOnce, Retained, execute

#: Computations with other roundings that show how far numbers may be apart, and how much farther than they.
ROUNDINGS = 8
LIMIT = 8


def difference(program, theirs, mine, exact, otherwise=None):
    """How the outcomes of a program's call differ, in words; None if they don't. `otherwise()` is what their derivatives of
    higher order are with other roundings."""
    if not exact:
        theirs, mine = _without_strides_of_gradients(theirs), _without_strides_of_gradients(mine)
    if theirs.kind != mine.kind:
        return f"{_shown(mine)} instead of {_shown(theirs)}"
    if theirs.printed != mine.printed:
        return f"printed {mine.printed!r} instead of {theirs.printed!r}"
    if theirs.kind == "error":
        if (
            exact
            and (theirs.value, theirs.message) != (mine.value, mine.message)
            and not _of_other_places(theirs, mine)
        ):
            return f"says {mine.value[0]} {mine.message!r} instead of {theirs.value[0]} {theirs.message!r}"
        if not exact and not _says_as_eager(theirs.message, mine.message):
            return f"says {mine.message!r} instead of {theirs.message!r}"
    if theirs.value != mine.value and theirs.kind == "value":
        return f"gives {_apart(theirs.value, mine.value)}"
    if theirs.effects != mine.effects:
        return f"leaves {_apart(theirs.effects, mine.effects)}"
    if exact and _WRITES.search(str(program)):
        theirs, mine = _without_signs_of_zeros(theirs), _without_signs_of_zeros(mine)
    if theirs.leaves != mine.leaves and not (exact and _failed_backward(theirs, mine)):
        return f"leaves gradients {_apart(theirs.leaves, mine.leaves)}"
    if exact and _detached_in_place(theirs, mine):
        return None
    if theirs.gradients != mine.gradients:
        return f"has gradients {_apart(theirs.gradients, mine.gradients)}"
    return _higher_difference(theirs.higher, mine.higher, otherwise)


def _without_strides_of_gradients(outcome):
    """Python's indexing leaves out slices that take everything, through which a script's gradient goes, and so has other
    strides. The gradients that the program itself takes are among its results."""

    def plain(data):
        if isinstance(data, tuple) and data[:1] == ("Tensor",):
            return (*data[:3], *data[4:])
        return type(data)(map(plain, data)) if isinstance(data, (list, tuple)) else data

    gradients = outcome.gradients
    if isinstance(gradients, list):
        gradients = [
            [g if g is None else (*g[:2], *g[3:]) for g in one] if isinstance(one, list) and not _is_text(one) else one
            for one in gradients
        ]
    value = plain(outcome.value) if outcome.by_bound and outcome.kind == "value" else outcome.value
    return replace(outcome, value=value, gradients=gradients, leaves=plain(outcome.leaves))


#: In-place operators and assignments to parts.
_WRITES = re.compile(r"\w_\(|\] [-+*/]?= |[-+*/]= ")


def _without_signs_of_zeros(outcome):
    """Where a part of a tensor was computed in place, autograd puts the gradient of the part where the whole one's was, and
    a plan adds it to the whole one, which is zero there: 0.0 + -0.0 is 0.0."""
    return replace(outcome, gradients=_positive_zeros(outcome.gradients), leaves=_positive_zeros(outcome.leaves))


def _positive_zeros(data):
    if not isinstance(data, (list, tuple)):
        return data
    # As tensor_seen and _gradient_seen write tensors: type, then numbers as text and for people.
    place = 7 if data[:1] == ("Tensor",) else 3 if len(data) == 5 and str(data[0]).startswith("torch.") else None
    dtype = {"torch.float64": "f8", "torch.float32": "f4", "torch.bfloat16": "f4"}.get(place and data[place == 7])
    if dtype is None:
        return type(data)(map(_positive_zeros, data))
    numbers = numpy.frombuffer(bytes.fromhex(data[place]), dtype) + 0.0
    return (*data[:place], numbers.tobytes().hex(), str(numbers))


def _detached_in_place(theirs, mine):
    """Whether only autograd says that what it had kept was detached in place: a region keeps tensors of its own."""
    words = "saved tensor that has been detached in-place"
    return words in str(theirs.gradients) and words not in str(mine.gradients)


def _is_text(said):
    return bool(said) and isinstance(said[0], str)


def _failed_backward(theirs, mine):
    """Whether a backward pass in the call failed by what was freed or written to. How far it got before is not kept: a
    region looks at all that it has kept before it computes anything (docs/decisions/0008-gradients.md, "One node")."""
    words = ("backward through the graph a second time", "modified by an inplace operation")
    return theirs.kind == mine.kind == "error" and any(w in theirs.message and w in mine.message for w in words)


def _of_other_places(theirs, mine):
    """Whether two operators raise; which of them is first is not kept (docs/decisions/0006-alias-analysis.md)."""
    return all("RuntimeError" in o.value and "stop" not in o.message for o in (theirs, mine)) and (
        _marked_lines(theirs.message) != _marked_lines(mine.message)
    )


def _marked_lines(message):
    lines = message.split("\n")
    return [line for i, line in enumerate(lines) if i and "<--- HERE" in line]


def _apart(theirs, mine, path=""):
    """The first place where plain data differs."""
    both = (list, tuple)
    if isinstance(theirs, both) and isinstance(mine, both) and len(theirs) == len(mine):
        for index, (a, b) in enumerate(zip(theirs, mine)):
            if a != b:
                return _apart(a, b, f"{path}[{index}]")
    return f"{mine} instead of {theirs}, at {path or 'the top'}"


def _says_as_eager(theirs, mine):
    # Python's own indexing of tensors has words of its own.
    if "is out of bounds for dimension" in theirs or "invalid index of a 0-dim tensor" in theirs:
        return "out of range" in mine or "cannot be applied to a 0-dim tensor" in mine
    # An assignment to an index expands the value first; a script's copies it into the view.
    if "doesn't match the broadcast shape" in mine and re.search("expanded size of the tensor|number of sizes", theirs):
        return True
    if "appears to not have been used in the graph" in theirs:
        return "appears to not have been used in the graph" in mine
    theirs = theirs.replace("list assignment index out of range", "list index out of range")
    if "only Tensors of floating point dtype can require gradients" in theirs:
        theirs = "Only Tensors of floating point and complex dtype can require gradients"
    if "leaf Variable that requires grad is being used in an in-place operation" in theirs:
        theirs = theirs.replace("a view of ", "")
    return theirs.strip().split("\n")[-1].strip().strip("'").rstrip(".") in mine


def _shown(outcome):
    if outcome.kind == "value":
        return f"value {outcome.value}"
    return f"{outcome.value if outcome.kind == 'rejected' else outcome.value[0]} {outcome.message!r}"


def _higher_difference(theirs, mine, otherwise):
    if len(theirs) != len(mine):
        return f"has {len(mine)} derivatives of higher order instead of {len(theirs)}"
    for index, (a, b) in enumerate(zip(theirs, mine)):
        if (a is None) != (b is None) or a is not None and (a.dtype, a.shape) != (b.dtype, b.shape):
            return f"has a derivative of higher order {b} instead of {a}"
        if a is None or torch.equal(_bits(a), _bits(b)):
            continue
        others = [run[index] if len(run) == len(theirs) else None for run in otherwise()] if otherwise else []
        if not is_near(a, b, [other for other in others if other is not None and other.shape == a.shape]):
            return f"has a derivative of higher order {b} instead of {a}"
    return None


def _bits(tensor):
    """The numbers as integers; all nans are one."""
    kinds = {8: torch.int64, 4: torch.int32, 2: torch.int16}
    plain = tensor.detach().contiguous()
    return plain.masked_fill(plain.isnan(), float("nan")).view(kinds[plain.element_size()])


def is_near(theirs, mine, others):
    """Whether each number is as near as other roundings take it; what is not finite is the same."""
    theirs, mine, *others = (t.detach().double() for t in (theirs, mine, *others))
    finite = theirs.isfinite()
    if not others or not torch.equal(_bits(theirs.masked_fill(finite, 0)), _bits(mine.masked_fill(mine.isfinite(), 0))):
        return False
    spread = torch.stack([(other - theirs).abs() for other in others]).amax(0)
    return bool(((mine - theirs).abs() <= LIMIT * spread)[finite].all())


def check(program, send=lambda message: None):
    """Runs a program by all engines; the first difference in words, or None, and how its calls ended.

    A pass through what was freed before raises in one engine and not in the other for two reasons that are real (`_freed`).
    Then the program runs once more and frees nothing, and nothing may differ."""
    found, kinds, freed = _check(program, send)
    if not found and freed:
        found, _, freed = _check(Retained(program), send)
        if found or freed:
            return f"with graphs retained: {found or freed}", kinds
    return found, kinds


def _check(program, send):
    send(("stage", Eager.name))
    eager = execute(Eager, program)
    if eager[0].kind == "rejected":
        return f"is no Python: {eager[0].message}", ["rejected"], None
    send(("stage", "cresset"))
    kinds = [o.kind for o in eager]
    plain = execute(Interpreted, program)
    if plain[0].kind == "rejected":
        return f"only Cresset refuses the program: {plain[0].message}", ["rejected"], None
    otherwise = functools.cache(lambda: [execute(Eager, program, seed) for seed in range(ROUNDINGS)])
    found, first = _first(program, eager, plain, False, "unoptimized", None)
    freed = first
    for engine, how in ((Planned, "by plans"), (PlannedAtOnce, "by plans at once")):
        if not found:
            found, first = _first(program, plain, execute(engine, program), True, how, otherwise)
            freed = freed or first
    return found, kinds, freed


SECOND_TIME = "backward through the graph a second time"


def _freed(theirs, mine, exact):
    """Whether only one engine went through what was freed, for a reason that is real.

    Plans raise where autograd would have left out a part of a region, and freed less (docs/decisions/0008-gradients.md, "One
    node"). Eager PyTorch raises where `x * 2.0` keeps the number as a tensor, which is freed; the script's operator has it
    as a number (as torch.jit's)."""
    raising, other = (mine, theirs) if exact else (theirs, mine)
    return any(
        SECOND_TIME in str(getattr(raising, part)) and SECOND_TIME not in str(getattr(other, part))
        for part in ("message", "gradients")
    )


def _first(program, theirs, mine, exact, how, otherwise):
    """The first difference in words, or None, and the first call where only one engine went through what was freed."""
    if mine[0].kind == "rejected":
        return f"{how}: {mine[0].value}: {mine[0].message}", None
    for index, (a, b) in enumerate(zip(theirs, mine)):
        if not exact and "dictionary changed size during iteration" in a.message:
            continue  # scripts go through the keys that were there
        others = otherwise and (lambda index=index: [outcomes[index].higher for outcomes in otherwise()])
        found = difference(program, a, b, exact, others)
        if found and _freed(a, b, exact):
            return None, f"{how}, call {index}: {found}"  # the module may be another one from here on
        if found:
            return f"{how}, call {index}: {found}", None
    return None, None
