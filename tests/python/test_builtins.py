"""Builtins one by one against torch.jit: the same small program by both, on many values."""

import io
import math
import re

import pytest
import torch

import cresset

FLOATS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.5, -7.25, 1e-9, 1e15, float("inf"), float("-inf"), float("nan")]
INTS = [0, 1, -1, 2, 7, 20]
TENSORS = [
    torch.arange(6.0).reshape(2, 3),
    torch.tensor([1, -2, 300]),
    torch.tensor([True, False]),
    torch.tensor([[1 + 2j, 0.5j], [3.0, -1j]]),
    torch.ones(2, 2, dtype=torch.float64, requires_grad=True),
]
# Programs of one parameter: a line is "type: expression in x".
PROGRAMS = """
float: math.acos(x)
float: math.acosh(x)
float: math.asin(x)
float: math.asinh(x)
float: math.atan(x)
float: math.atanh(x)
float: math.cos(x)
float: math.cosh(x)
float: math.erf(x)
float: math.erfc(x)
float: math.expm1(x)
float: math.frexp(x)
float: math.gamma(x)
float: math.isfinite(x)
float: math.lgamma(x)
float: math.log10(x)
float: math.log1p(x)
float: math.log2(x)
float: math.radians(x)
float: math.sinh(x)
float: math.tan(x)
float: math.e + math.nan
float: math.tau * x
float: math.ceil(x) + math.floor(x)
float: pow(x, 2.0)
float: round(x)
float: [math.copysign(1.0, x), math.fabs(x), math.degrees(x)]
int: math.factorial(x)
int: math.gcd(x, 12)
int: hex(x) + oct(x) + bin(x)
int: chr(x)
int: divmod(x, 3)
int: float(x), complex(x), bool(x), str(x)
int: torch.FloatTensor([x, 2]).dtype
int: "a{}".format(x)
str: x.rjust(5), x.rjust(4, "*")
str: x.rpartition("b")
str: x.ljust(5), x.center(7, "-"), x.zfill(4)
str: x.isalnum(), x.isdecimal(), x.isnumeric(), x.isspace(), x.islower(), x.isprintable()
str: x.casefold()
str: len(x), x * 2, ord(x[0])
str: x.splitlines(True)
int: torch.DoubleTensor([x])
int: torch.HalfTensor([x])
int: torch.ByteTensor([1])
int: torch.CharTensor([x])
int: torch.ShortTensor([x])
int: torch.IntTensor([x])
int: torch.LongTensor([x])
int: torch.BoolTensor([x])
Tensor: x.byte()
Tensor: x.char()
Tensor: x.short()
Tensor: x.int()
Tensor: x.long()
Tensor: x.half()
Tensor: x.cfloat()
Tensor: x.cdouble()
Tensor: x.double()
Tensor: x.H
Tensor: x.mT
Tensor: x.mH
Tensor: x.T
Tensor: x.real
Tensor: x.imag
Tensor: x.itemsize
Tensor: x.nbytes
Tensor: x.ndim, x.shape, x.dtype, x.layout, x.device
Tensor: x.is_cpu, x.is_cuda, x.is_meta
Tensor: x.is_xpu, x.is_xla, x.is_ipu, x.is_mps, x.is_mtia, x.is_maia, x.is_vulkan
Tensor: x.is_mkldnn, x.is_nested, x.is_sparse, x.is_sparse_csr, x.is_quantized
Tensor: x.retains_grad
Tensor: x.is_leaf, x.requires_grad
Tensor: x.grad
Tensor: x.element_size()
Tensor: x.data
Tensor: torch.as_tensor(x.numel())
Tensor: [torch.pi, torch.inf]
Tensor: torch.is_tensor(x)
Tensor: torch.angle(x.sum())
Tensor: torch.broadcast_shapes([1, 2], [3, 1])
Tensor: torch.initial_seed()
Tensor: torch.is_autocast_enabled()
Tensor: x.is_non_overlapping_and_dense()
Tensor: x.cpu()
List[int]: min(x), max(x), sum(x), sorted(x), len(x)
List[int]: x + x, x * 2, x[::-1], x.count(1)
List[float]: min(x), max(x), sum(x)
List[bool]: all(x), any(x)
Dict[str, int]: x.keys(), x.values(), x.items(), len(x), "a" in x, x.get("zz"), x.get("zz", 3)
"""
VALUES = {
    "float": FLOATS,
    "int": INTS,
    "str": ["abc", "a\nb\r\nc", "12", "Ab ", "x"],
    "Tensor": TENSORS,
    "List[int]": [[1, 3, 2], [1]],
    "List[float]": [[1.0, -0.5], [float("inf")]],
    "List[bool]": [[True, False], [], [True]],
    "Dict[str, int]": [{"a": 1, "b": 2}, {}],
}


def outcome(engine, program, x):
    try:
        function = engine.CompilationUnit(program).f
    except Exception as e:  # noqa: BLE001
        return "refused", str(e)
    try:
        with torch.jit.optimized_execution(False):
            return "value", function(x)
    except Exception as e:  # noqa: BLE001
        return "error", str(e).strip().split("\n")[-1].split("Error: ")[-1]


def same(a, b):
    if isinstance(a, torch.Tensor):
        return (
            isinstance(b, torch.Tensor)
            and (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())
            and torch.allclose(a.resolve_conj(), b.resolve_conj(), rtol=0, atol=0, equal_nan=True)
        )
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a == b or (a != a and b != b)) and repr(a) == repr(b)


@pytest.mark.parametrize("line", PROGRAMS.strip().splitlines())
def test_builtin(line):
    kind, _, expression = line.partition(": ")
    program = f"def f(x: {kind}):\n  return {expression}\n"
    for x in VALUES[kind]:
        theirs, mine = outcome(torch.jit, program, x), outcome(cresset, program, x)
        if "Unknown builtin op" in str(theirs[1]) and not torch.__version__.startswith("2.13"):
            pytest.skip("torch.jit of this torch lacks it")
        assert theirs[0] == mine[0], f"{x}: {mine} instead of {theirs}"
        if theirs[0] == "value":
            assert same(theirs[1], mine[1]), f"{x}: {mine[1]!r} instead of {theirs[1]!r}"
        elif theirs[0] == "error":
            assert theirs[1] in mine[1], f"{x}: {mine[1]!r} instead of {theirs[1]!r}"


def test_the_lines_compile():
    """A line that torch.jit refuses tests little; there are few."""
    refused = []
    for line in PROGRAMS.strip().splitlines():
        kind, _, expression = line.partition(": ")
        if outcome(torch.jit, f"def f(x: {kind}):\n  return {expression}\n", VALUES[kind][0])[0] == "refused":
            refused.append(expression)
    assert len(refused) <= 10, refused


def test_constants():
    unit = cresset.CompilationUnit(
        "def f(): return math.e, math.tau, torch.e, torch.inf, torch.nan, math.inf, torch.pi"
    )
    values = unit.f()
    assert values[:4] == (math.e, math.tau, math.e, math.inf) and math.isnan(values[4])
    assert values[5:] == (math.inf, math.pi)


def test_conversions_that_torch_jit_lacks():
    unit = cresset.CompilationUnit("def f(x): return x.bool(), x.bfloat16()")
    assert [t.dtype for t in unit.f(torch.ones(2))] == [torch.bool, torch.bfloat16]


def test_is_tracing_is_false():
    assert cresset.CompilationUnit("def f(): return torch.jit.is_tracing()").f() is False


# Of four bits PyTorch knows no limits itself.
DTYPES = [dtype for dtype in vars(torch).values() if isinstance(dtype, torch.dtype) and "float4" not in str(dtype)]


@pytest.mark.parametrize("kind", [torch.finfo, torch.iinfo], ids=["finfo", "iinfo"])
def test_limits_of_dtypes(kind):
    """Of a dtype that is written out, and of one that only the call knows; also after torch.jit has read the archive."""
    name = kind.__name__
    fields = ["bits", "max", "min"] + (["eps", "tiny", "smallest_normal", "resolution"] if name == "finfo" else [])
    checked = 0
    for field in fields:
        unit = cresset.CompilationUnit(f"def f(dtype: int): return torch.{name}(dtype).{field}")
        buffer = io.BytesIO()
        cresset.save(unit.f, buffer)
        loaded = torch.jit.load(io.BytesIO(buffer.getvalue()))
        for dtype in dict.fromkeys(DTYPES):
            constant = f"def f(): return torch.{name}({dtype}).{field}"
            try:
                expected = getattr(kind(dtype), field)
            except TypeError as error:
                said = "torch.iinfo" if dtype is torch.bool else re.escape(str(error))
                with pytest.raises(TypeError, match=said):
                    unit.f(dtype)
                if dtype in (torch.int32, torch.float32):
                    with pytest.raises(cresset.CompileError, match=re.escape(str(error))):
                        cresset.CompilationUnit(constant).f.graph  # noqa: B018
                continue
            if expected > 2**63 and name == "iinfo":
                with pytest.raises(ValueError, match="does not fit into an int"):
                    unit.f(dtype)
                continue
            got = (unit.f(dtype), cresset.CompilationUnit(constant).f(), loaded(dtype))
            assert got == (expected,) * 3 and type(got[0]) is type(expected), dtype
            checked += 1
    assert checked >= 20


def test_limits_are_kept_in_variables():
    @cresset.script
    def f(x: torch.Tensor, mask: torch.Tensor):
        info = torch.finfo(x.dtype)
        if bool(mask.any()):
            x = x.masked_fill(mask, info.min)
        return x.clamp(max=info.max / 2), torch.finfo(type=x.dtype).eps

    x, mask = torch.ones(3, dtype=torch.bfloat16), torch.tensor([True, False, False])
    filled, eps = f(x, mask)
    assert filled[0] == torch.finfo(torch.bfloat16).min and eps == torch.finfo(torch.bfloat16).eps


@pytest.mark.parametrize(
    "arguments",
    ["", "2", "dim=-1", "dim=(0, 1)", "dim=[1]", '"fro"', '"fro", dim=0', '"nuc"', '"nuc", (0, 1)', "2, -1, True"]
    + ["p=1, dim=0", "dim=0, keepdim=True", "dim=0, dtype=torch.float64", "dtype=torch.float64", 'float("inf"), 0']
    + ["p=0.5, dim=1, keepdim=True, dtype=torch.float64", "keepdim=True", "p=None, dim=0"],
)
def test_norm_as_in_eager(arguments):
    x = torch.arange(6.0).reshape(2, 3) - 2
    expected = eval(f"x.norm({arguments})")
    got = cresset.CompilationUnit(f"def f(x): return x.norm({arguments})").f(x)
    assert got.dtype == expected.dtype
    torch.testing.assert_close(got, expected)


def test_wrong_norms():
    for arguments, said in (('"max"', 'must be a number, "fro" or "nuc"'), ("dims=1", "Keyword argument dims unknown")):
        with pytest.raises(cresset.CompileError, match=said):
            cresset.CompilationUnit(f"def f(x): return x.norm({arguments})").f.graph  # noqa: B018


@pytest.mark.parametrize(
    "x", [torch.tensor([0.0, 1.0, 2.0]), torch.tensor([True, False]), torch.tensor([3, 1]), torch.tensor(1.0)]
)
@pytest.mark.parametrize("operator", ["+", "*", "-", "/", "==", "!=", "<", "<=", ">", ">=", "&", "|", "^", "**"])
@pytest.mark.parametrize("number", [True, False])
def test_bools_beside_tensors(x, operator, number):
    """As in eager; torch.jit takes a tensor to the right of a bool for its truth."""
    results = []
    for left in (str(number), "b"):
        function = cresset.CompilationUnit(f"def f(b: bool, x: Tensor):\n  return {left} {operator} x\n").f
        try:
            results.append(function(number, x))
        except RuntimeError as error:
            results.append(error)
    try:
        expected = eval(f"{number} {operator} x")
    except RuntimeError:
        assert all(isinstance(result, RuntimeError) for result in results)
        return
    for result in results:
        torch.testing.assert_close(result, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("x", [0, 5, -7, 2**62])
def test_inverted_ints(x):
    unit = cresset.CompilationUnit("def f(x: int):\n  return ~x, ~5, ~~x, ~(x > 1)\n")
    assert unit.f(x) == (~x, ~5, x, -2 if x > 1 else -1)


@pytest.mark.parametrize("number", [0, 65, 127, 128, 129, 233, 300, 0x4E2D, 0x1F600, 0x10FFFF])
def test_characters(number):
    unit = cresset.CompilationUnit("def f(i: int):\n  return chr(i), ord(chr(i)), 'a' + chr(i)\n")
    assert unit.f(number) == (chr(number), number, "a" + chr(number))


@pytest.mark.parametrize(
    "expression",
    [
        "z / 2 + 1.0",
        "2 / z * 2.5",
        "z / 0.5 - 1",
        "0.5 / z + 1.0",
        "2 ** z + 1.0",
        "z ** True + 1.0",
        "z / z * 1.5",
    ],
)
def test_quotients_and_powers_of_complex_numbers_are_complex(expression):
    """The overloads for any numbers say that they return a float."""
    z = complex(1.5, -2.25)
    function = cresset.CompilationUnit(f"def f(z: complex):\n  y = {expression}\n  return y, [y, z]\n").f
    expected = eval(expression)
    for _ in range(3):
        y, both = function(z)
        assert isinstance(y, complex) and abs(y - expected) <= 1e-15 * abs(expected) and both == [y, z]


def test_complex_numbers_are_divided_in_place():
    unit = cresset.CompilationUnit("def f(z: complex, n: int):\n  z /= n\n  z **= 2\n  return z + 1.0\n")
    assert abs(unit.f(complex(3, 4), 2) - (complex(1.5, 2) ** 2 + 1)) < 1e-14
