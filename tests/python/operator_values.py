"""Arguments for calls of TorchScript's operators: values by type, and overrides where an operator wants its own.

`argument_tuples(schema)` returns, for each way to fill the schema's type variables, the types and a list of tuples. All of
it is deterministic. Values are edges first: int64's ends, zeros of both signs, infinities, nan, empty containers, text
that is no ASCII.
"""

import itertools
import math
import random

import torch

INT_MAX, INT_MIN = 2**63 - 1, -(2**63)
INF, NAN = math.inf, math.nan

INTS = [0, 1, -1, 2, -2, 3, 7, -7, 10, 63, -64, 255, 2**31, -(2**31), 2**53 + 1, INT_MAX, INT_MIN]
SMALL = [0, 1, -1, 2, -2, 3, 5, -5, 100, -100]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 2.5, -2.5, 3.5, -7.25, 1e308, -1e308, 5e-324, 9.3e18, INF, -INF, NAN]
COMPLEX = [
    0j, complex(-0.0, 0.0), complex(0.0, -0.0), complex(-0.0, -0.0), 1 + 0j, complex(-1.0, 0.0), complex(-1.0, -0.0),
    1j, -1j, 1 + 2j, -2.5 + 0.5j, complex(2.0, 0.0), complex(2.0, -0.0), 1e200 + 1e200j, complex(INF, 0), complex(-INF, 1),
    complex(0, INF), complex(INF, NAN), complex(NAN, NAN), complex(0, NAN),
]  # fmt: skip
STRINGS = [
    "",
    "a",
    "abc",
    "ABC",
    "Hello World",
    "  x\ty \n",
    "1",
    "-12",
    "a,b,,c",
    "abcabc",
    "z",
    "ß日本",
    "_id1",
    "\x00a",
    "a\nb\r\nc\n",
]
SCALARS = [0, 1, -1, 7, INT_MAX, INT_MIN, 0.0, -0.0, 0.5, -2.5, 3.5, 1e308, INF, NAN, 1 + 2j, -1 + 0j, True, False]
DEVICES = [torch.device("cpu"), torch.device("meta"), torch.device("cpu", 0), torch.device("cuda", 1)]


class Fresh:
    """A value that every run makes anew, because calls may change it."""

    def __init__(self, make):
        self.make = make


def tensor(*args, **kwargs):
    return Fresh(lambda: torch.tensor(*args, **kwargs))


def generator():
    return torch.Generator().manual_seed(5)


TENSORS = [
    tensor(2.5), tensor(-3), tensor(True), tensor(1 + 2j), tensor([1.0, -2.0, 3.5]), tensor([4, 0, -1]), tensor([[1.0, 2.0], [3.0, 4.0]]),
    tensor([True, False]), tensor([]), tensor([[7]]), tensor([0.5, -1.5], dtype=torch.float64), tensor([NAN, INF, -0.0]),
    tensor([3.0, 4.0], requires_grad=True), Fresh(lambda: torch.arange(6).view(2, 3).t()), tensor([1, 2], dtype=torch.uint8), tensor([1 - 1j, 2 + 0.5j]),
]  # fmt: skip
TENSOR_LISTS = [
    [], [tensor(1.0)], [tensor([1.0, 2.0]), tensor([3.0, 4.0])], [tensor([2, 1]), tensor([0, 5])], [tensor([[1.0]]), tensor([2.0, 3.0])],
    [tensor(3), tensor(1), tensor(2)],
]  # fmt: skip

VALUES = {
    "int": INTS,
    "float": FLOATS,
    "complex": COMPLEX,
    "bool": [False, True],
    "str": STRINGS,
    "Scalar": SCALARS,
    "number": SCALARS,
    "Tensor": TENSORS,
    "Device": DEVICES,
    "Generator": [Fresh(generator)],
    "NoneType": [None],
    "int[]": [[], [0], [3, 1, 2], [1, 1, 2], [-5, 7, 0, -5, 2], [INT_MAX, 1], [INT_MIN, INT_MAX, 0], [2, 3]],
    "float[]": [[], [0.0, -0.0], [1.5], [2.5, -1.0, 2.5], [INF, -INF, 1.0], [1.0, NAN, 0.5], [3.0, 2.0, 1.0, 2.0]],
    "bool[]": [[], [True], [False], [True, False, True], [False, False], [True, True]],
    "complex[]": [[], [1j], [1 + 1j, -2.0 + 0j], [complex(0, NAN)]],
    "str[]": [[], ["a"], ["b", "a", "b"], ["", "ß", "日本", "z"], ["abc", "ab", "abcd"]],
    "Tensor[]": TENSOR_LISTS,
    "Tensor?[]": [[], [None], [None, tensor([0, 1])], [tensor([1, 0])], [tensor([True, False])]],
    "Any": [1, 1.5, "s", True, [1, 2], ["a"], (1, "b"), {"k": 1}, tensor([1.0]), None, 2 + 1j],
    "Any[]": [[], [1], ["a", "b"]],
    "int[][]": [[], [[1], []], [[2, 1], [0], [5, 5]]],
    "(int, str)": [(1, "a"), (-5, "")],
    "(int, str)[]": [[], [(2, "b"), (1, "a")]],
}

KEYS = {
    "str": ["a", "b", "", "日本", "zz"],
    "int": [1, -3, 0, INT_MAX, 7],
    "float": [1.5, -2.0, INF, 0.25, 7.0],
    "bool": [True, False],
    "complex": [1j, 2 + 0j, -1.5 - 1j, 0.5j, 3 + 3j],
    "Tensor": [Fresh(lambda: KEY_TENSORS[0]), Fresh(lambda: KEY_TENSORS[1]), Fresh(lambda: KEY_TENSORS[2])],
}
#: Tensors are keys by identity, so the dict and the key have to share them.
KEY_TENSORS = [torch.tensor(1.0), torch.tensor([2.0]), torch.tensor(3)]

#: What a type variable stands for, in order.
VARIABLES = ["int", "str", "Tensor", "float", "int[]"]


def values_of(type_text):
    if type_text in VALUES:
        return VALUES[type_text]
    if type_text.endswith("?"):
        return [None, *values_of(type_text[:-1])[:6]]
    if type_text.startswith("Dict("):
        key, value = split_pair(type_text[5:-1])
        keys, values = KEYS[key], values_of(value)
        made = [{}, {keys[0]: values[0]}]
        made.append({k: values[i % len(values)] for i, k in enumerate(keys)})
        made.append({k: values[i % len(values)] for i, k in enumerate(reversed(keys[:4]))})
        return made
    if type_text.startswith("(") and type_text.endswith(")[]"):
        key, value = split_pair(type_text[1:-3])
        keys, values = KEYS[key], values_of(value)
        pairs = [(k, values[i % len(values)]) for i, k in enumerate(keys)]
        return [[], pairs[:1], pairs, pairs + [(keys[0], values[-1])]]
    raise LookupError(type_text)


def split_pair(text):
    """`int, t` → its two types; the comma of the outermost level separates them."""
    depth = 0
    for i, c in enumerate(text):
        depth += c in "([" or 0
        depth -= c in ")]" or 0
        if c == "," and depth == 0:
            return text[:i].strip(), text[i + 1 :].strip()
    raise ValueError(text)


def fresh(value):
    """The value, with everything in it made anew."""
    if isinstance(value, Fresh):
        return value.make()
    if isinstance(value, list):
        return [fresh(v) for v in value]
    if isinstance(value, tuple):
        return tuple(fresh(v) for v in value)
    if isinstance(value, dict):
        return {fresh(k): fresh(v) for k, v in value.items()}
    return value


def tuples_of(types, pools=None, limit=48):
    """Up to `limit` tuples: all combinations if they are few, else each value of each argument at least once."""
    pools = pools or [values_of(t) for t in types]
    total = math.prod(len(p) for p in pools)
    if total <= limit * 9:
        return list(itertools.product(*pools))
    chosen = random.Random(len(types) * 1000 + total)
    result = []
    for i, pool in enumerate(pools):
        for value in pool:
            result.append(tuple(value if k == i else chosen.choice(p) for k, p in enumerate(pools)))
    while len(result) < limit:
        result.append(tuple(chosen.choice(p) for p in pools))
    return result


def argument_tuples(schema, types):
    """The tuples for one way to fill the schema's type variables."""
    name = f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name
    special = OVERRIDES.get(name, OVERRIDES.get(schema.name))
    if special is not None:
        return special(types) if callable(special) else special
    pools = None
    if types and types[0].startswith("Dict("):
        key, _ = split_pair(types[0][5:-1])
        pools = [KEYS[key] if t == key and i == 1 else values_of(t) for i, t in enumerate(types)]
    return tuples_of(types, pools)


def with_values(**by_type):
    """The usual tuples, but other values for some types."""

    def make(types):
        return tuples_of(types, [by_type.get(t) or values_of(t) for t in types])

    return make


def without_trap(types):
    """torch.jit divides INT_MIN by -1 with the machine's instruction, which ends the process."""
    return [t for t in tuples_of(types) if t[:2] != (INT_MIN, -1)]


def positive_gcd(types):
    return [t for t in tuples_of(types) if INT_MIN not in t]


#: dtypes only: torch.jit indexes tables with other numbers, and may crash. None, uint8, int64, float64, bool, complex64.
DTYPES = [None, 0, 4, 7, 11, 9]


def dtype_calls(types):
    pools = [DTYPES if t == "int?" else [None, torch.device("cpu")] if t == "Device?" else values_of(t) for t in types]
    return tuples_of(types, pools)


#: Numbers whose product with itself is no huge allocation.
def few_repeats(types):
    return tuples_of(types, [SMALL if t == "int" else values_of(t) for t in types])


WORDS = ["", "a", "abcabc", "a,b,,c", "  x\ty \n", "日本"]
IMAGES = [
    Fresh(lambda: torch.arange(16.0).reshape(1, 1, 4, 4)),
    Fresh(lambda: torch.arange(8.0).reshape(1, 2, 4)),
    tensor([1.0]),
]

OVERRIDES = {
    **dict.fromkeys(
        ["aten::center", "aten::ljust", "aten::rjust", "aten::zfill", "aten::expandtabs", "aten::chr", "aten::__lshift__.int",
         "aten::__rshift__.int", "aten::mul.left_t", "aten::mul.right_", "aten::mul_.t", "aten::ldexp", "prim::rangelist"],
        few_repeats,
    ),
    "aten::factorial.int": with_values(int=[0, 1, 2, 5, 20, 21, 25, 60, 66, -1]),
    **dict.fromkeys(
        ["aten::floordiv.int", "aten::remainder.int", "aten::divmod.int", "aten::mathremainder.int", "aten::fmod.int",
         "aten::__round_to_zero_floordiv.int", "aten::floordiv", "aten::remainder"],
        without_trap,
    ),
    "aten::__round_to_zero_floordiv.int": lambda types: [t for t in without_trap(types) if t[1] != 0],
    # As for the division above: an int modulo 0 ends the process.
    **dict.fromkeys(
        ["aten::remainder", "aten::remainder.int"],
        lambda types: [t for t in without_trap(types) if isinstance(t[1], (float, complex)) or t[1] != 0],
    ),
    "aten::gcd.int": positive_gcd,
    **dict.fromkeys(
        ["aten::tensor", "aten::tensor.int", "aten::tensor.float", "aten::tensor.bool", "aten::tensor.complex", "aten::as_tensor",
         "aten::as_tensor.int", "aten::as_tensor.float", "aten::as_tensor.bool", "aten::as_tensor.complex", "aten::as_tensor.list",
         "aten::to.prim_Device", "aten::to.prim_dtype"],
        dtype_calls,
    ),
    # Without a dtype torch.jit reads one that is not there, and may crash.
    "aten::to.prim_dtype": lambda types: [t for t in dtype_calls(types) if t[1] is not None],
    "aten::_ncf_unsqueeze": [(tensor([1.0, 2.0]), 4), (tensor([1.0]), 2), (tensor([1.0, 2.0, 3.0]), 3)],
    "aten::_ncf_view": [(tensor([[1.0, 2.0]]), [1, 2], 1), (tensor([1.0, 2.0]), [2, 3], 1), (Fresh(lambda: torch.arange(12.0).reshape(2, 2, 3)), [2, 2, 3], 2)],
    # An empty needle makes torch.jit loop forever.
    "aten::count": [(a, b, i, j) for a in WORDS for b in ["a", "b", ",", "日", "bc"] for i in [0, 1, -2] for j in [-1, 3, 100]],
    "aten::split.str": [(a, b, n) for a in [*WORDS, "a b  c", " x "] for b in [None, "a", ",", " ", "bc"] for n in [-1, 0, 1, 2]],
    "aten::rsplit": [(a, b, n) for a in WORDS for b in ["a", ",", " ", "bc"] for n in [-1, 0, 1, 2]],
    "aten::replace": [(a, b, c, n) for a in WORDS for b in ["a", ",", "bc"] for c in ["", "a", "xyz"] for n in [-1, 0, 1, 2]],
    "aten::hash.generic": lambda types: [t for t in tuples_of(types) if types[0] not in ("Tensor", "int[]")],
    "aten::Generator": [(None, 5), (torch.device("cpu"), 0), (torch.device("meta"), 1), (None, -1)],
    "aten::_grad_sum_to_size": [(tensor([[1.0, 2.0]]), s) for s in [None, [1, 2], [1, 1], [1], [2], []]],
    "aten::__interpolate": lambda types: interpolations(types),
    "aten::backward.TensorList": [
        ([tensor([3.0, 4.0], requires_grad=True), tensor(2.0, requires_grad=True)], [tensor([1.0, 2.0]), None], None, False),
        ([tensor(1.0, requires_grad=True)], None, True, True), ([tensor(1.0)], None, None, False), ([], None, None, False),
    ],
    "aten::backward": [(tensor([3.0, 4.0], requires_grad=True), tensor([1.0, 2.0]), None, False), (tensor(1.0, requires_grad=True), None, None, True), (tensor(1.0), None, None, False)],
}  # fmt: skip
OVERRIDES.update(
    {
        f"aten::__interpolate.{o}": lambda types: interpolations(types)
        for o in ["scale_list", "size_list", "size_list_scale_list"]
    }
)


OVERRIDES.update(
    {f"aten::__upsample{o}": lambda types: interpolations(types)
     for o in ["", ".size_list", "_bilinear", "_bilinear.scale_list", "_bilinear.size_list",
               "_bilinear.size_list_scale_list", "_nearest", "_nearest.size_list"]}
)  # fmt: skip


#: Of batch norm: images whose three channels follow each other, or don't, and what there is per channel.
BATCHES = [
    Fresh(lambda: torch.arange(24.0).reshape(2, 3, 4)),
    Fresh(lambda: torch.arange(48.0, dtype=torch.float64).reshape(2, 3, 2, 4)),
    Fresh(lambda: torch.arange(24.0).reshape(2, 4, 3).mT),
    Fresh(lambda: torch.zeros(0, 3)),
]
CHANNELS = [
    None, Fresh(lambda: torch.arange(3.0)), Fresh(lambda: torch.arange(3.0, dtype=torch.float64)), tensor([1.0, -2.0]),
]  # fmt: skip


def batch_calls(types):
    values = {"Tensor": BATCHES, "Tensor?": CHANNELS, "float": [0.1, 1.0, NAN], "int": [8, 1, 0]}
    return tuples_of(types, [values[t] for t in types])


OVERRIDES |= {
    "cresset::image_size": batch_calls,
    "cresset::batch_statistics": batch_calls,
    "cresset::update_statistics": lambda types: tuples_of(
        types, [CHANNELS[1:], CHANNELS[1:], CHANNELS, CHANNELS, [0.1, 1.0, NAN], [8, 1, 0]]
    ),
}


def interpolations(types):
    values = {
        "int?": [None, 3],
        "int[]?": [None, [3, 5], [3]],
        "float?": [None, 1.5],
        "float[]?": [None, [2.0, 1.5], [0.5]],
        "Tensor": IMAGES,
    }
    values |= {
        "str": ["nearest", "bilinear", "bicubic", "area", "linear", "nonsense"],
        "bool?": [None, True, False],
        "bool": [False, True],
        "int": [3],
    }
    return tuples_of(types, [values[t] for t in types], limit=24)[:40]
