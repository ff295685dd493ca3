"""Where an operator deliberately differs from torch.jit: each entry has a row in docs/differences.md.

An entry tells which operators, and by a predicate over (arguments, Cresset's outcome, torch.jit's) which calls. One that
explains no call any more has to go: test_operator_rows checks that.
"""

import re

import torch


def numbers(value):
    """All numbers in nested arguments."""
    if isinstance(value, (list, tuple)):
        for v in value:
            yield from numbers(v)
    elif isinstance(value, (int, float)):
        yield value


def beyond(limit):
    return lambda args, ours, theirs: any(v != v or abs(v) >= limit for v in numbers(args))


def theirs_says(phrase):
    return lambda args, ours, theirs: phrase in getattr(theirs, "phrase", "")


def result(outcome):
    """What the operator gave: the outcome of a call holds more."""
    return outcome[0] if isinstance(outcome, tuple) else outcome


def as_python(compute):
    """What Python computes, its errors being errors too."""

    def holds(args, ours, theirs):
        try:
            expected = compute(*args)
        except Exception:  # noqa: BLE001
            return hasattr(ours, "phrase")
        found = result(ours)
        return type(found) is type(expected) and (found == expected or found != found and expected != expected)

    return holds


def shown(value):
    """As both engines print it where no format is given."""
    return f"{value:.17g}" if isinstance(value, float) else value


def equal(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all())


def converted_once(args, ours, theirs):
    """Ours is the number itself as a tensor; theirs went through the default type."""
    if args[1] is None:
        return False
    if hasattr(ours, "phrase"):
        return "without overflow" in ours.phrase
    ours, theirs = result(ours), result(theirs)
    if not equal(ours.detach(), torch.tensor(args[0], dtype=ours.dtype)):
        return False
    if hasattr(theirs, "phrase"):
        return "without overflow" in theirs.phrase
    return equal(theirs.detach(), torch.tensor(args[0]).to(ours.dtype))


DIFFERENCES = {
    "unchecked-unwrap": (r"prim::unchecked_unwrap_optional", lambda args, ours, theirs: args[0] is None),
    "32-bit-numbers": (
        r"aten::Complex\..*int.*|aten::(ceil|floor|neg)\.Scalar|prim::abs\.Scalar|aten::sum\.int",
        beyond(2**31),
    ),
    "int-rounding": (r"aten::(ceil|floor)\.int", beyond(2**53)),
    "range-length": (r"aten::__range_length", beyond(2**31)),
    "mixed-divmod": (
        r"aten::divmod\.(int_float|float_int)",
        lambda args, ours, theirs: beyond(2**31)(args, ours, theirs) or 5e-324 in args,
    ),
    "string-index": (r"aten::__getitem__\.str|prim::StringIndex", theirs_says("basic_string::at")),
    "search-past-end": (
        r"aten::(endswith|startswith|r?find|rindex|index\.str|count)",
        lambda args, ours, theirs: args[2] > len(args[0]) or theirs_says("basic_string::substr")(args, ours, theirs),
    ),
    "negative-repeat": (r"aten::mul\.(left_t|right_)|prim::rangelist", theirs_says("vector::reserve")),
    "text-to-number": (
        r"aten::(Int|Float)\.str",
        lambda args, ours, theirs: getattr(theirs, "phrase", "") in ("stoll", "stod"),
    ),
    "number-comparison": (r"aten::(eq|ne)", theirs_says("pop() called on empty stack")),
    "bool-as-number": (r".*", theirs_says("expected int")),
    "device-with-index": (r"aten::device\.with_index", theirs_says("Expected String but got Int")),
    "bytes": (r".*", lambda args, ours, theirs: getattr(theirs, "type", None) is UnicodeDecodeError),
    "nan-order": (r"aten::(sort|sorted)\.float", lambda args, ours, theirs: any(v != v for v in args[0])),
    "sum-empties": (r"aten::sum\.complex", lambda args, ours, theirs: True),
    "to-copy": (r"aten::to\.prim_other", lambda args, ours, theirs: args[-1]),
    "split-limit": (r"aten::split\.str", lambda args, ours, theirs: args[1] is None and args[2] >= 0),
    "antialias": (r"aten::__interpolate.*", theirs_says("Antialias is not yet supported")),
    "scale-count": (
        r"aten::__interpolate.*scale_list|aten::__upsample.*scale_list",
        lambda args, ours, theirs: "scale_factor shape must match" in getattr(ours, "phrase", ""),
    ),
    "format-fields": (r"aten::format", as_python(lambda text, *values: text.format(*map(shown, values)))),
    "percent-format": (r"aten::percentFormat", as_python(lambda text, *values: text % values)),
    "remainder-overflow": (r"aten::remainder(\.int)?", as_python(lambda a, b: a % b)),
    "no-size": (r"aten::__(interpolate|upsample).*", theirs_says("Expected DoubleList but got None")),
    "as-tensor-number": (r"aten::(as_)?tensor\.(float|complex)", converted_once),
    "complex-angle": (
        r"aten::angle\.Scalar|prim::abs\.Scalar",
        lambda args, ours, theirs: isinstance(args[0], complex),
    ),
    "undefined-result": (r"prim::grad", theirs_says("strides() called on an undefined Tensor")),
    "factorial": (r"aten::factorial\.int", lambda args, ours, theirs: args[0] > 60),
}


def explanation(name, arguments, ours, theirs):
    """The key of the entry that allows the difference, or None."""
    for key, (pattern, holds) in DIFFERENCES.items():
        if re.fullmatch(pattern, name) and holds(arguments, ours, theirs):
            return key
    return None
