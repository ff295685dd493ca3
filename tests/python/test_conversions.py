"""Every kind of Python value for every declared type, beside torch.jit: the same result, or an error in both.

docs/python-values.md says what a script gets; its rows are the types here, and its exceptions the list KNOWN."""

import collections
import decimal
import enum
import fractions
import types

import numpy
import pytest
import torch

import cresset

DECLARED = {
    "Tensor": "Tensor",
    "int": "int",
    "float": "float",
    "bool": "bool",
    "complex": "complex",
    "number": "number",
    "str": "str",
    "Device": "Device",
    "list of int": "List[int]",
    "list of float": "List[float]",
    "list of bool": "List[bool]",
    "list of complex": "List[complex]",
    "list of str": "List[str]",
    "list of Tensor": "List[Tensor]",
    "list of lists": "List[List[int]]",
    "list of optional": "List[Optional[int]]",
    "list of optional tensors": "List[Optional[Tensor]]",
    "list of tuples": "List[Tuple[int, str]]",
    "dict of int": "Dict[str, int]",
    "dict of Tensor": "Dict[str, Tensor]",
    "dict by int": "Dict[int, float]",
    "dict of lists": "Dict[str, List[int]]",
    "tuple": "Tuple[int, float]",
    "tuple of tuple": "Tuple[int, Tuple[str, bool]]",
    "empty tuple": "Tuple[()]",
    "optional int": "Optional[int]",
    "optional float": "Optional[float]",
    "optional Tensor": "Optional[Tensor]",
    "optional list": "Optional[List[int]]",
    "optional str": "Optional[str]",
    "int or str": "Union[int, str]",
    "float or list": "Union[float, List[int]]",
    "int or float or None": "Union[int, float, None]",
    "Tensor or int": "Union[Tensor, int]",
    "lists of two": "Union[List[int], List[str]]",
    "Any": "Any",
}


class Text(str):
    pass


class Whole(int):
    pass


class Real(float):
    pass


class Row(list):
    pass


class Table(dict):
    pass


class Indexed:
    def __index__(self):
        return 7

    def __repr__(self):
        return "Indexed"


class Floating:
    def __float__(self):
        return 7.5

    def __repr__(self):
        return "Floating"


class Truth:
    def __bool__(self):
        return True

    def __repr__(self):
        return "Truth"


class Sized:
    def __len__(self):
        return 2

    def __repr__(self):
        return "Sized"


class Sequence:
    def __len__(self):
        return 2

    def __getitem__(self, i):
        if i > 1:
            raise IndexError
        return i

    def __repr__(self):
        return "Sequence"


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


Pair = collections.namedtuple("Pair", "p q")
X = torch.arange(2.0)

VALUES = [
    None, True, False, 0, 3, -(2**63), 2**63 - 1, 2**63, 2**70, 2.5, -0.0, float("inf"), 1e300, 2j, 1 + 0j,
    "", "a", "cpu", "cuda:1", "12", "\u00e9\0x", b"a", b"\xff", Text("t"), Whole(5), Real(1.5), Level.LOW, Color.RED,
    fractions.Fraction(1, 2), decimal.Decimal("1.5"), Indexed(), Floating(), Truth(), Sized(), Sequence(), object,
    [], [1], [1, 2], [1.5], [True], ["a"], [None], [1, None], [1, 2.5], [X], [X, None], [[1], [2]], [[]], [(1, "a")],
    [2j], [Whole(1)], Row([1]), (), (1,), (1, 2), (1, 2.5), (1, ("a", True)), (1, ["a", True]), Pair(1, 2.5), [1, 2.5],
    {}, {"a": 1}, {"a": 1.5}, {"a": X}, {1: 2}, {1: 2.5}, {"a": [1]}, {"a": None}, {"a": 1, 2: 3}, {None: 1},
    Table(a=1), collections.OrderedDict(a=1), collections.defaultdict(int, a=1), types.MappingProxyType({"a": 1}),
    {1, 2}, frozenset([1]), range(3), collections.deque([1, 2]), iter([1]), bytearray(b"a"), memoryview(b"ab"),
    X, torch.tensor(3), torch.tensor(3.5), torch.tensor(True), torch.tensor(2j), torch.tensor([3]), torch.tensor([]),
    torch.tensor([[1.0]]), torch.nn.Parameter(X), torch.nn.Buffer(X), torch.Size([1, 2]), torch.Size([]),
    torch.float32, torch.int64, torch.strided, torch.channels_last, torch.per_tensor_affine, torch.device("cpu"),
    torch.device("cuda", 1), torch.Generator(), torch.finfo, torch.nn.Linear(1, 1),
    numpy.int64(3), numpy.int8(3), numpy.uint64(2**63), numpy.float32(2.5), numpy.float64(2.5), numpy.float16(2.5),
    numpy.bool_(True), numpy.complex64(2j), numpy.complex128(2j), numpy.str_("q"), numpy.array(3), numpy.array([3]),
    numpy.array([1, 2]), numpy.array([1.5]), numpy.array([[1, 2]]), numpy.array(["a"]), numpy.array([]),
    [numpy.int64(1)], [numpy.float32(1)], [torch.tensor(1)], [torch.tensor(1.5)], [torch.float32], Ellipsis, slice(1),
    NotImplemented, int, Exception("x"), lambda: 1, torch.relu, torch.nn.functional, float("nan"),
]  # fmt: skip


def is_container(name):
    return name.startswith(("list", "dict", "tuple", "empty tuple", "optional list", "tuple of"))


# Where torch.jit does something else, and why. Each must be needed: what no longer differs leaves this list.
DIFFERENCES = {
    "only sequences become lists and tuples, only mappings become dicts": lambda name, value: (
        is_container(name)
        and (
            isinstance(value, (str, bytes, dict, types.MappingProxyType, set, frozenset, torch.Tensor, type(iter([]))))
            or (name.startswith("dict") and not isinstance(value, dict))
        )
    ),
    "what is no integer becomes no int": lambda name, value: (
        name in ("int", "optional int", "list of int", "list of optional", "optional list")
        and isinstance(
            value[0] if isinstance(value, list) else value,
            (fractions.Fraction, decimal.Decimal, numpy.floating, numpy.complexfloating),
        )
    ),
    "bytes that are no UTF-8 are text with surrogates": lambda name, value: (
        isinstance(value, bytes) and value == b"\xff"
    ),
    "a bytearray is no text": lambda name, value: isinstance(value, bytearray) and name in ("str", "optional str"),
    "an int beyond 64 bits is no Scalar": lambda name, value: (
        name == "number" and isinstance(value, int) and value >= 2**63
    ),
    "a dtype is an int in a list too": lambda name, value: (
        isinstance(value, list) and any(item is torch.float32 for item in value)
    ),
    "a memory format is an int for Any too": lambda name, value: value is torch.channels_last,
    "numpy.complex128 is a complex": lambda name, value: (
        isinstance(value, numpy.complex128) and name in ("number", "Any")
    ),
    "a Union takes what a member that is a container takes": lambda name, value: (
        name in ("float or list", "lists of two") and (hasattr(value, "__len__") and hasattr(value, "__getitem__"))
    ),
    "Any takes no objects that scripts know nothing of": lambda name, value: (
        name == "Any" and isinstance(value, (Color, Indexed, Floating, Truth, Sized, Sequence))
    ),
    "a dict of a subclass is a dict": lambda name, value: name == "Any" and isinstance(value, Table),
}
if tuple(map(int, numpy.__version__.split(".")[:2])) < (2, 4):  # int() of such an array is an error since then
    DIFFERENCES["an array with one element is no int"] = lambda name, value: (
        isinstance(value, numpy.ndarray) and value.shape == (1,) and name in ("int", "optional int")
    )
needed = set()


def outcome(function, value):
    """The result with its type, or None and the error."""
    try:
        return show(function(value)), None
    except Exception as error:
        return None, error


def show(result):
    if isinstance(result, torch.Tensor):
        return f"{type(result).__name__} {result.dtype} {result.tolist()}"
    if isinstance(result, (list, tuple)):
        return f"{type(result).__name__}({', '.join(show(r) for r in result)})"
    if isinstance(result, dict):
        return "{" + ", ".join(f"{show(k)}: {show(v)}" for k, v in result.items()) + "}"
    return f"{type(result).__name__} {result!r}"


def names_the_argument(error):
    """Whether an error says function, argument, expected and found type."""
    text = str(error)
    return isinstance(error, cresset.UserError) and all(part in text for part in ("f()", "'a'", "type"))


@pytest.mark.parametrize("name", DECLARED)
def test_as_in_torch_jit(name):
    source = f"def f(a: {DECLARED[name]}): return a\n"
    ours, theirs = cresset.CompilationUnit(source), torch.jit.CompilationUnit(source)
    differences = []
    for value in VALUES:
        (a, error), (b, their_error) = outcome(ours.f, value), outcome(theirs.f, value)
        if error is not None and not names_the_argument(error):
            differences.append(f"{value!r}: BAD ERROR {error!r}")
        if a == b:
            continue
        reasons = {reason for reason, applies in DIFFERENCES.items() if applies(name, value)}
        needed.update(reasons)
        if not reasons:
            differences.append(f"{value!r}: {a or 'error'} / {b or their_error!r}")
    assert not differences, "\n" + "\n".join(differences)


def test_every_difference_is_one():
    if len(needed) == 0:
        pytest.skip("needs the other tests of this file")
    assert needed == set(DIFFERENCES)
