"""Kernels against the operators that they are made of.

Everything runs with the option kernels=check: each call of a fusion group also runs its operators one by one, and other bits, dtypes, sizes or strides are
errors. What is left to these tests is to bring operators, dtypes, values, sizes and layouts, and to see that kernels ran at all.
"""

import itertools
import random
import re
import warnings

import fact_calls
import numpy
import pytest
import sampling
import torch
from torch import Tensor

import cresset
from cresset import _C

FLOATS = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
INTEGERS = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]
DTYPES = [*FLOATS, *INTEGERS, torch.bool]

VALUES = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.0,
    -1.0,
    1.5,
    2.5,
    -2.5,
    3.0,
    -3.0,
    6.5,
    0.1,
    0.3,
    -0.7,
    1.7,
    2.3,
    5.1,
    -7.3,
    1e-40,
    -1e-40,
    65504.0,
    1e38,
    -1e38,
]
SPECIAL = [float("inf"), float("-inf"), float("nan")]
NUMBERS = [2, 0.5, -1.25, 0, 3, 0.1, -1, 1]


@pytest.fixture(autouse=True)
def checked():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with cresset.options.override(kernels="check", plans="always"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    torch.set_num_threads(threads)


def launches():
    return _C._kernel_counts()[1]


def test_results_own_memory_as_others_do():
    def f(x, y):
        return (x * y + y).abs() - x

    script = cresset.script(f)
    with torch.no_grad():
        for count in (1, 3, 100, 239, 240, 241, 256, 300, 5000):
            x, y = torch.randn(count), torch.randn(count)
            results = [script(x, y) for _ in range(3)]
            for result in results:
                assert torch.equal(result, f(x, y))
                assert result.data_ptr() % 64 == 0
                assert result.untyped_storage().nbytes() == 4 * count
                assert result.untyped_storage().resizable()
            assert len({result.data_ptr() for result in results}) == 3
            before = results[0].clone()
            assert torch.equal(results[0].resize_(2 * count)[:count], before)
            assert torch.equal(results[1].share_memory_(), before)
            assert torch.equal(results[2].set_(results[1]), before)
    assert launches() > 0


def test_constant_tensors_are_taken():
    """Frozen weights, and whole tensors that a program has as constants."""

    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.rand(5))

        def forward(self, x):
            return torch.relu(x * self.scale + self.scale) - self.scale

    module, x = Scaled().eval(), torch.randn(3, 5)
    frozen = cresset.freeze(cresset.script(module))
    before = launches()
    with torch.no_grad():
        for _ in range(3):
            assert torch.equal(frozen(x), module(x))
    assert launches() > before, cresset.explain(frozen)


@pytest.mark.parametrize("call", ["to(a, dtype=torch.float64, layout=torch.strided)", "to(a, torch.float64)"])
def test_casts_to_the_dtype_that_is_there_are_views(call):
    text = f"def f(x: Tensor):\n  a = x * 0.5\n  return torch.ops.aten.{call} * 2.0 + 1.0\n"
    function, x = cresset.CompilationUnit(text).f, torch.rand(3, dtype=torch.float64)
    for _ in range(3):
        assert torch.equal(function(x), x * 0.5 * 2.0 + 1.0)


@pytest.mark.parametrize("numerics", ["default", "exact"])
@pytest.mark.parametrize(
    "call, number, says",
    [
        ("torch.clamp(x, None, None)", 0, "At least one of 'min' or 'max'"),
        ("torch.celu(x, n)", 0, "alpha cannot be 0"),
        ("torch.nn.functional.softshrink(x, n)", -1, "lambda must be"),
        ("torch.nn.functional.huber_loss(x, x, 'mean', n)", 0, "positive values for delta"),
        ("torch.nn.functional.smooth_l1_loss(x, x, beta=n)", -1, "negative values for beta"),
        ("torch.relu(x > 0)", 0, "not supported|not implemented"),
        ("torch.trunc(x > 0)", 0, "not implemented"),
        ("torch.add(x.to(torch.int64), x.to(torch.int64), alpha=0.5)", 0, "must not be a floating point"),
    ],
)
def test_errors_are_those_of_the_operators(numerics, call, number, says):
    """Whether numbers are known when the kernel is made or only when it is called, fused or alone."""
    with cresset.options.override(kernels="now", numerics=numerics), torch.no_grad():
        x = torch.rand(3)
        for n, head in ((f"float({number})", "x: Tensor"), ("n", "x: Tensor, n: float")):
            made = call.replace("n)", n + ")")
            for text in (made, f"({made} * 2).neg()"):
                function = cresset.CompilationUnit(f"def f({head}):\n  return {text}\n").f
                arguments = (x,) if head == "x: Tensor" else (x, float(number))
                for _ in range(3):
                    with pytest.raises(RuntimeError, match=says):
                        function(*arguments)


def values(dtype):
    if dtype == torch.bool:
        return torch.tensor([True, False])
    if dtype.is_floating_point:
        return torch.tensor(VALUES + SPECIAL, dtype=torch.float64).to(dtype)
    info = torch.iinfo(dtype)
    return torch.tensor(
        [n for n in (0, 1, -1, 2, 3, 5, -8, 7, 100, info.min, info.max) if info.min <= n <= info.max], dtype=dtype
    )


def operator_graph(name, arguments):
    """A program that calls the operator and compares its result with itself: a group of two."""
    heads, lines, operands, inputs = [], [], [], []
    for i, value in enumerate(arguments):
        operands.append(f"%a{i}")
        if isinstance(value, Tensor):
            heads.append(f"%a{i} : Tensor")
            inputs.append(value)
        else:
            kind = {type(None): "NoneType", bool: "bool", int: "int", float: "float", str: "str"}[type(value)]
            shown = {"NoneType": "", "bool": f"[value={int(bool(value))}]", "str": f'[value="{value}"]'}.get(
                kind, f"[value={value!r}]"
            )
            lines.append(f"  %a{i} : {kind} = prim::Constant{shown}()")
    head, _, overload = name.partition(".")
    lines.append(f"  %r : Tensor = {head}({', '.join(operands)})")
    lines.append("  %e : Tensor = aten::eq(%r, %r)")
    lines.append("  %t : (Tensor, Tensor) = prim::TupleConstruct(%r, %e)")
    text = f"graph({', '.join(heads)}):\n" + "\n".join(lines) + "\n  return (%t)"
    return _C.function_from_graph("f", _C.parse_ir(text)), inputs


def argument_lists(name, dtypes):
    """Arguments for the operator: tensors of these dtypes in turn, each further one along another dimension, and numbers."""
    schema = fact_calls.overload(name)._schema
    tensors = [a for a in schema.arguments if "Tensor" in str(a.type)]
    numbers = [a for a in schema.arguments if str(a.type) in ("number", "float", "Optional[number]")]
    # Equal dtypes, and each with one of the others, on either side.
    others = [dtypes[(3 * i + 1) % len(dtypes)] for i in range(len(dtypes))]
    pairs = [*zip(dtypes, dtypes), *zip(dtypes, others), *zip(others, dtypes)]
    for choice in pairs if len(tensors) == 2 else zip(*([dtypes] * len(tensors))):
        for row in [NUMBERS[k:] + NUMBERS[:k] for k in range(len(NUMBERS))] if numbers else [[]]:
            made, k, n = [], 0, 0
            for argument in schema.arguments:
                kind = str(argument.type)
                if "Tensor" in kind:
                    column = values(torch.bool if argument.name in ("condition", "mask") else choice[k])
                    made.append(column.reshape([-1 if d == k else 1 for d in range(len(tensors))]))
                    k += 1
                elif kind in ("number", "float", "Optional[number]"):
                    made.append(float(row[n]) if kind == "float" else row[n])
                    n += 1
                else:
                    made.append(False if kind == "bool" and argument.default_value is None else argument.default_value)
            yield made


def share_of(name, lists):
    """A third of the lists of each dtype that the first tensor has."""

    def kind(arguments):
        return next(a.dtype for a in arguments if isinstance(a, Tensor))

    return sampling.share(lists, 3, name, kind)


def run(name, arguments):
    """Whether a kernel ran; None if eager PyTorch raises, as the program then must."""
    function, inputs = operator_graph(name, arguments)
    try:
        fact_calls.call(fact_calls.overload(name), arguments)
    except (RuntimeError, NotImplementedError) as error:
        if "primitive" not in str(error):  # oneDNN raises for some layouts that operators then do without
            with pytest.raises((RuntimeError, NotImplementedError)):
                function(*inputs)
        return None
    before = launches()
    function(*inputs)
    return launches() > before


#: test_casts calls them.
CASTS = {"aten::to.dtype", "aten::to.dtype_layout", "aten::to.other", "aten::type_as", "aten::_to_copy"}
ROWS = [name for name in _C._scalar_rows("pointwise") if name not in CASTS]


@pytest.mark.parametrize("name", ROWS)
def test_operator(name):
    """Eager PyTorch's bits; where the functions are Cresset's own, within 4 ulp of them (KernelMode::Check). Where that
    can't be, test_errors measures more closely."""
    ran = 0
    for numerics, dtypes in (("exact", DTYPES), ("default", [*FLOATS, torch.int64])):
        if numerics == "default" and name in CANCELLING:
            break
        with cresset.options.override(numerics=numerics):
            for arguments in share_of(name, argument_lists(name, dtypes)):
                ran += bool(run(name, arguments))
    # log_sigmoid_backward resizes what it has laid out as one operand: no kernel runs where operands are broadcast.
    assert ran >= 1 or name in CANCELLING or name == "aten::log_sigmoid_backward", "no kernel ran"


#: Rows whose terms cancel: their errors are measured by the arguments too. And those where eager PyTorch overflows on the way (softplus_backward, fmod), or its
#: powers of -inf depend on the dtype.
CANCELLING = {
    "aten::add.Tensor",
    "aten::elu_backward",
    "aten::fmod.Tensor",
    "aten::gelu",
    "aten::gelu_backward",
    "aten::log_sigmoid",
    "aten::logaddexp",
    "aten::logaddexp2",
    "aten::logit",
    "aten::mish_backward",
    "aten::pow.Tensor_Scalar",
    "aten::remainder.Tensor",
    "aten::rsub.Tensor",
    "aten::sigmoid_backward",
    "aten::silu_backward",
    "aten::sinc",
    "aten::softplus_backward",
    "aten::special_sinc",
    "aten::sub.Tensor",
}


def eager(name, arguments):
    (result,) = fact_calls.call(fact_calls.overload(name), arguments)
    return result


def check_errors(name, arguments, found, expected):
    """No farther from the function of float64 than eager PyTorch, but for a few units in the last place."""
    assert found.dtype == expected.dtype and found.shape == expected.shape
    if not expected.dtype.is_floating_point:
        return
    wide = [a.to(expected.dtype).double() if isinstance(a, Tensor) and a.dtype != torch.bool else a for a in arguments]
    truth = eager(name, wide)
    info = torch.finfo(expected.dtype)
    size = truth.abs()
    if name in CANCELLING:
        for a in wide:
            if isinstance(a, Tensor) and a.dtype != torch.bool:
                size = size + a.abs()
    ours, theirs = (found.double() - truth).abs(), (expected.double() - truth).abs()
    allowed = 2 * theirs.nan_to_num(0, 0) + 4 * info.eps * size.nan_to_num(0, info.max) + 4 * info.tiny * info.eps
    huge = (truth.abs() >= 0.99 * info.max) & (found.abs() >= 0.99 * info.max) & (found.sign() == truth.sign())
    same = (found == expected) | (found.isnan() & (expected.isnan() | truth.isnan()))
    right = same | huge | (ours <= allowed)
    if not right.all():
        i = tuple(torch.nonzero(~right)[0].tolist())
        values = [a.broadcast_to(right.shape)[i].item() if isinstance(a, Tensor) else a for a in arguments]
        pytest.fail(f"{name}({values}) = {found[i].item()!r}, eager {expected[i].item()!r}, {expected.dtype}")


def dense_arguments(name):
    """Arguments as those of argument_lists, but with many random values for each tensor."""
    schema = fact_calls.overload(name)._schema
    generator = torch.Generator().manual_seed(0)
    for dtype in FLOATS:
        for spread in (0.1, 1, 10):
            made, n = [], 0
            for argument in schema.arguments:
                kind = str(argument.type)
                if "Tensor" in kind:
                    x = (torch.randn(500, generator=generator, dtype=torch.float64) * spread).to(dtype)
                    made.append(x > 0 if argument.name in ("condition", "mask") else x)
                elif kind in ("number", "float", "Optional[number]"):
                    made.append([0.7, 2.5, 1.25][n % 3])
                    n += 1
                else:
                    made.append(False if kind == "bool" and argument.default_value is None else argument.default_value)
            yield made


@pytest.mark.parametrize("name", ROWS)
def test_errors(name):
    ran, calls = 0, 0
    with cresset.options.override(kernels="now", numerics="default"):
        for arguments in itertools.chain(share_of(name, argument_lists(name, FLOATS)), dense_arguments(name)):
            function, inputs = operator_graph(name, arguments)
            try:
                expected = eager(name, arguments)
            except (RuntimeError, NotImplementedError):
                continue
            calls, before = calls + 1, launches()
            found = function(*inputs)[0]
            if launches() > before:
                ran += 1
                check_errors(name, arguments, found, expected)
    assert ran >= 1 or calls == 0, "no kernel ran"


@pytest.mark.parametrize("factor", [0, 1, 2, 3, -1])
def test_bools_with_a_factor(factor):
    x, y = torch.tensor([True, True, False, False]), torch.tensor([True, False, True, False])
    expected = torch.add(x, y, alpha=factor)
    with cresset.options.override(numerics="default"):
        for head, alpha in (("x, y", str(factor)), ("x, y, n: int", "n")):
            text = f"def f({head}):\n    z = torch.add(x, y, alpha={alpha})\n    return z, z.logical_not()\n"
            function = cresset.CompilationUnit(text).f
            arguments = (x, y, factor) if alpha == "n" else (x, y)
            for _ in range(3):
                found, negated = function(*arguments)
                assert torch.equal(found, expected) and torch.equal(negated, expected.logical_not())


@pytest.mark.parametrize("call", ["sin(x)", "cos(x)", "tan(x)", "fmod(x, y)", "remainder(x, y)", "floor_divide(x, y)"])
def test_rare_arguments_among_others(call):
    """Some functions compute what few numbers need only where a vector has such a number: the others' bits don't change."""
    script = cresset.CompilationUnit(f"def f(x: Tensor, y: Tensor):\n  return torch.{call} + 0.0\n").f
    x, y = torch.randn(75) * 10, torch.rand(75) + 0.5
    with cresset.options.override(kernels="now", numerics="default"), torch.no_grad():
        alone = script(x, y)
        for rare in (3e38, -2e9, float("inf"), float("nan"), 0.0):
            for places in ([0], [40], [74], [3, 9, 33, 70], range(75)):
                mixed = x.clone()
                mixed[list(places)] = rare
                found, others = script(mixed, y), [i for i in range(75) if i not in places]
                assert torch.equal(found[others], alone[others])
                for i in places:
                    one = script(mixed[i : i + 1], y[i : i + 1])
                    assert torch.equal(found[i : i + 1], one) or (found[i].isnan() and one.isnan())
                    if "fmod" in call and rare == rare:
                        true = torch.fmod(mixed.double(), y.double())[i].float()
                        assert found[i] == true or (found[i].isnan() and true.isnan())
                    if "(x)" in call:
                        true = getattr(torch, call[:3])(mixed[i].double()).float()
                        torch.testing.assert_close(found[i], true, rtol=2e-7, atol=0, equal_nan=True)


def test_remainders():
    """They are exact, whatever the quotients; eager PyTorch's are not where those are large."""
    generator = torch.Generator().manual_seed(0)
    bits = torch.randint(-(2**31), 2**31, (2, 20000), generator=generator).to(torch.int32)
    x, y = bits.view(torch.float32)
    y = torch.where(torch.arange(20000) % 2 == 0, y, x * torch.randn(20000, generator=generator))
    with cresset.options.override(kernels="now", numerics="default"), numpy.errstate(all="ignore"):
        for name, expected in (("fmod", numpy.fmod), ("remainder", numpy.remainder)):
            function = cresset.CompilationUnit(f"def f(x, y):\n  return torch.{name}(x, y)\n").f
            before = launches()
            found, right = [function(x, y) for _ in range(3)][-1], torch.from_numpy(expected(x.numpy(), y.numpy()))
            assert launches() > before
            assert torch.equal(found.nan_to_num(7), right.nan_to_num(7)) and torch.equal(found.isnan(), right.isnan())


@pytest.mark.parametrize("mode", ["trunc", "floor"])
@pytest.mark.parametrize("divisor", ["y", "2.5", "-3", "7"])
def test_rounded_quotients(mode, divisor):
    head = "def f(x: Tensor, y: Tensor):\n"
    function = cresset.CompilationUnit(f"{head}  return torch.div(x, {divisor}, rounding_mode='{mode}') * 1\n").f
    scope = {"torch": torch, "Tensor": Tensor}
    exec(f"{head}  return torch.div(x, {divisor}, rounding_mode='{mode}') * 1\n", scope)
    before = launches()
    for dtype in DTYPES[:-1]:
        x = values(dtype)
        x = x[x.abs() < 1e6].reshape(-1, 1) if dtype.is_floating_point else x.reshape(-1, 1)
        y = x.t() if dtype.is_floating_point else x.clamp(min=1).t()
        with cresset.options.override(numerics="default"):
            for _ in range(3):
                found, expected = function(x, y), scope["f"](x, y)
            assert found.dtype == expected.dtype
            assert torch.equal(found.nan_to_num(7), expected.nan_to_num(7)), dtype
    assert launches() > before


@pytest.mark.parametrize("call", ["x // {n}", "x % {n}", "torch.fmod(x, {n})", "torch.remainder(x, {n})"])
@pytest.mark.parametrize("n", [1, -1, 3, -7, 100, 64])
def test_whole_quotients(call, n):
    text = f"return {call.format(n=n)} + 1"
    function = cresset.CompilationUnit(f"def f(x: Tensor):\n  {text}\n").f
    for dtype in INTEGERS:
        if dtype == torch.uint8 and n < 0:
            continue
        x = torch.cat([values(dtype), torch.randint(-128, 127, (200,)).to(dtype)])
        if n == -1:
            x = x[x != torch.iinfo(dtype).min]  # eager PyTorch traps
        before = launches()
        for _ in range(3):
            assert torch.equal(function(x), eval(text[7:], {"x": x, "torch": torch})), dtype
        assert launches() > before


def test_whole_quotients_by_zero():
    for head, text in (("x: Tensor", "x // 0"), ("x: Tensor, y: Tensor", "x // y"), ("x: Tensor, y: int", "x % y")):
        function = cresset.CompilationUnit(f"def f({head}):\n  return ({text}) + 1\n").f
        arguments = [
            torch.arange(5),
            *([] if "y" not in head else [0 if "int" in head else torch.zeros(5, dtype=torch.int64)]),
        ]
        for _ in range(3):
            with pytest.raises(RuntimeError, match="ZeroDivisionError"):
                function(*arguments)


@pytest.mark.parametrize("name", ["exp", "log1p", "tanh", "sin", "erf", "gelu", "silu", "atan", "expm1"])
def test_bits_do_not_depend_on_places(name):
    with cresset.options.override(kernels="now", numerics="default"):
        for dtype in [torch.float32, torch.bfloat16, torch.float64][: 2 if name == "sin" else 3]:
            # A function remembers a few sizes only.
            function = [
                operator_graph(f"aten::{name}", [torch.empty(1), *(["none"] if name == "gelu" else [])])[0]
                for _ in range(11)
            ]
            x = torch.randn(140, dtype=torch.float64).mul(3).to(dtype)
            whole, before = function[0](x)[0].nan_to_num(), launches()
            for length in range(1, 101):
                for offset in (0, 1, 7):
                    found = function[length // 10](x[offset : offset + length])[0].nan_to_num()
                    assert torch.equal(found, whole[offset : offset + length])
            assert torch.equal(function[0](x[::2])[0].nan_to_num(), whole[::2])
            assert launches() == before + 301


@pytest.mark.parametrize(
    "call",
    [
        "x.to({dtype})",
        "x.to(y)",
        "x.type_as(y)",
        "torch.ops.aten._to_copy(x, dtype={dtype})",
        "x.to({dtype}, copy=True)",
    ],
)
def test_casts(call):
    """Each dtype to each other, in the layouts that eager PyTorch returns; to its own dtype a tensor stays what it is."""
    ran = 0
    every = 1 if call == "x.to({dtype})" else 4
    pairs = sampling.share(itertools.product(DTYPES, DTYPES), every, call, lambda pair: pair[0])
    for source, target in pairs:
        text = "def f(x: Tensor, y: Tensor):\n  z = " + call.format(dtype=target) + "\n  return z, z == z"
        function = cresset.CompilationUnit(text).f
        x = values(source)
        if source.is_floating_point and not target.is_floating_point:
            x = x[x.abs() < 100]  # others are undefined in C++
        y = torch.zeros((), dtype=target)
        for a in (x, torch.stack([x, x]).t(), torch.stack([x, x], 1)[:, 1], x[:1].expand(3, 4)):
            before = launches()
            found, _ = function(a, y)
            ran += launches() > before
            expected = eval(call.format(dtype=target), {"torch": torch}, {"x": a, "y": y})
            assert found.dtype == target and found.stride() == expected.stride()
            assert torch.equal(found.nan_to_num(), expected.nan_to_num())
            assert (found.data_ptr() == a.data_ptr()) == (source == target and "copy" not in call)
    assert ran > (2.5 if len(pairs) == len(DTYPES) ** 2 else 2) * len(pairs)


def layouts(x):
    """The tensor's elements in other layouts; and views of other sizes."""
    yield x
    yield x.t().contiguous().t()
    yield x[::2]
    yield x[:, ::3]
    yield x[:, :1]
    yield x[:1]
    yield x[1:2, 2:3]
    yield x[0]
    yield x[0, 0]
    yield x.flip(0)[:, :1].expand(x.shape)
    yield torch.empty(x.shape[1], x.shape[0] * 2).t()[::2].copy_(x)


def random_layout(rng, shape, dtype):
    """A tensor whose dimensions lie in any order; some are broadcast, or missing."""
    order = rng.sample(range(len(shape)), len(shape))
    x = torch.rand([shape[d] for d in order]).mul(4).to(dtype).permute([order.index(d) for d in range(len(shape))])
    return rng.choice([x, x, x, x[:1].expand(shape), x[:, :1], x[:, :1].expand(shape), x[0]])


@pytest.mark.parametrize("name", [name for name in ROWS if str(fact_calls.overload(name)._schema).count("Tensor") > 2])
def test_layouts_of_operands(name):
    """TensorIterator's rules depend on the order in which an operator gives it its operands."""
    rng, ran = random.Random(name), 0
    for dtypes in ([torch.float32], [torch.int64]):
        lists = list(itertools.islice(argument_lists(name, dtypes), len(NUMBERS)))
        for i in range(sampling.amount(16, 48) if lists else 0):
            shape = rng.choice([(3, 4), (2, 3, 4), (3, 1, 4), (2, 3, 4, 5), (2, 0, 3)])
            given = [random_layout(rng, shape, a.dtype) if isinstance(a, Tensor) else a for a in lists[i % len(lists)]]
            with cresset.options.override(numerics="exact" if name in CANCELLING else "default"):
                ran += bool(run(name, given))
    assert ran or name in CANCELLING


#: Sizes and strides of tensors with a dimension of size one, whose stride some operators keep and others compute anew.
ONES = [((17, 1), (1, 33)), ((1, 5), (40, 1)), ((3, 1, 4), (4, 99, 1)), ((1, 3, 1, 4), (12, 1, 77, 3))]


@pytest.mark.parametrize("name", [name for name in ROWS if str(fact_calls.overload(name)._schema).count("Tensor") == 2])
def test_strides_of_size_one(name):
    ran, before = 0, launches()
    for dtype, (sizes, strides) in itertools.product([torch.float32, torch.int64, torch.bool], ONES):
        x = torch.rand(200).mul(8).to(dtype).as_strided(sizes, strides)
        given = [x if isinstance(a, Tensor) else a for a in next(argument_lists(name, [dtype]))]
        try:
            (wanted,) = fact_calls.call(fact_calls.overload(name), given)
        except (RuntimeError, NotImplementedError):
            continue
        function, inputs = operator_graph(name, given)
        for _ in range(2):
            assert function(*inputs)[0].stride() == wanted.stride()
        ran += 1
    assert ran and (launches() > before or name in CANCELLING)


def chain(x, y):
    z = x * y + 1.5
    w = torch.relu(z) * 2 - x
    return torch.where(w > 0, w, z), z


def test_layouts():
    script = cresset.script(chain)
    x, before = torch.randn(6, 9), launches()
    for a, b in itertools.product(layouts(x), layouts(torch.randn(6, 9))):
        try:
            expected = chain(a, b)
        except RuntimeError:
            with pytest.raises(RuntimeError):
                script(a, b)
            continue
        for _ in range(2):
            for found, wanted in zip(script(a, b), expected):
                assert torch.equal(found, wanted) and found.stride() == wanted.stride()
    assert launches() > before + 50


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int8, torch.int64], ids=str)
def test_inputs_that_lie_oppositely(dtype):
    """Elements that lie apart in one input and next to each other in another are computed in tiles: whole ones, and what
    is left of them in both directions; results too; what rows have in common is computed once for each."""

    def two(x, y):
        z = x * y + x
        return torch.abs(z), y * 2 - z

    def opposite_results(x, y):
        return x * 2 - 1, y * y

    def with_rows(x, y):
        row = torch.abs(x[:, :1] * 2)
        return torch.where(x > row, y, x) * row

    def mixed(x, y):
        return x * y.to(torch.float64) > 0.5

    scripts = [cresset.script(f) for f in (two, opposite_results, with_rows, mixed)]
    before, calls = launches(), 0
    for rows, columns in [(16, 16), (17, 31), (15, 40), (40, 15), (33, 64), (5, 100), (64, 200)]:
        x, y = (torch.randn(2, rows, columns) * 3).to(dtype)
        wide = torch.empty(columns, 3 * rows, dtype=dtype)
        for transposed in (y.t().contiguous().t(), wide[:, rows : 2 * rows].t().copy_(y)):
            for a, b in [(x, transposed), (transposed, x)]:
                for script, f in zip(scripts, (two, opposite_results, with_rows, mixed)):
                    calls += 1
                    found, expected = (r if isinstance(r, tuple) else (r,) for r in (script(a, b), f(a, b)))
                    for one, wanted in zip(found, expected):
                        assert torch.equal(one, wanted) and one.stride() == wanted.stride(), (f, a.shape, a.stride())
    assert launches() - before >= calls


def test_tiles_in_other_dimensions_than_the_last_two():
    script, before = cresset.script(chain), launches()
    x = torch.randn(20, 3, 35, 18)
    for order in itertools.permutations(range(4)):
        back = [order.index(d) for d in range(4)]
        y = torch.randn([x.shape[d] for d in order]).permute(back)
        for threads in (1, 2):
            torch.set_num_threads(threads)
            for found, wanted in zip(script(x, y), chain(x, y)):
                assert torch.equal(found, wanted) and found.stride() == wanted.stride()
    assert launches() >= before + 48


def test_images():
    script = cresset.script(chain)
    x = torch.randn(2, 3, 4, 5)
    forms = [
        x,
        x.to(memory_format=torch.channels_last),
        x.permute(3, 0, 2, 1).contiguous().permute(1, 3, 2, 0),
        x[:, :1].to(memory_format=torch.channels_last),
        x[:, :, 1:3],
        torch.randn(3, 1, 1),
        torch.randn(5),
        torch.randn(2, 1, 4, 1),
        torch.randn(1, 3, 1, 1).to(memory_format=torch.channels_last),
    ]
    for a, b in itertools.product(forms, forms):
        try:
            expected = chain(a, b)
        except RuntimeError:
            continue
        for found, wanted in zip(script(a, b), expected):
            assert torch.equal(found, wanted) and found.stride() == wanted.stride(), (
                a.shape,
                a.stride(),
                b.shape,
                b.stride(),
            )


def test_lengths():
    script = cresset.script(chain)
    for dtype in DTYPES[:4]:
        x = torch.randn(140).to(dtype)
        for length in [*range(1, 101), 127, 128, 129]:
            for offset in (0, 1):
                a = x[offset : offset + length]
                for found, wanted in zip(script(a, a), chain(a, a)):
                    assert torch.equal(found, wanted)
    assert script(torch.empty(0), torch.empty(0))[0].shape == (0,)
    assert script(torch.empty(3, 0), torch.empty(1, 0))[0].shape == (3, 0)


def test_threads():
    script = cresset.script(chain)
    x, y = torch.randn(300, 1001), torch.randn(1001)
    alone = script(x, y)
    torch.set_num_threads(2)
    for a, b in zip(alone, script(x, y)):
        assert torch.equal(a, b)


def test_numbers_that_callers_pass():
    def f(x: Tensor, n: int, s: float, b: bool):
        y = x * s + n
        return y + b, y / s

    script, before = cresset.script(f), launches()
    for dtype, numbers in itertools.product(DTYPES[:-1], [(2, 0.1, True), (-3, 1e-3, False), (2**40, 2.5, True)]):
        x = values(dtype)
        try:
            expected = f(x, *numbers)
        except RuntimeError:
            continue
        found = script(x, *numbers)
        for a, b in zip(found, expected):
            assert a.dtype == b.dtype and torch.equal(a.nan_to_num(), b.nan_to_num())
    assert launches() > before


def random_program(rng):
    """Statements over earlier values; sizes are those of the arguments."""
    names, lines = ["x", "y", "z"], []
    unary = [
        "torch.relu({})",
        "-{}",
        "{}.abs()",
        "{} * 0.5",
        "{} + 2",
        "torch.clamp({}, -1.0, 2.5)",
        "1.5 - {}",
        "torch.sqrt({}.abs())",
        "{} / 3",
    ]
    binary = [
        "{} + {}",
        "{} * {}",
        "{} - {}",
        "torch.maximum({}, {})",
        "torch.where({} > {}, x, y)",
        "torch.add({}, {}, alpha=0.3)",
        "{} / ({}.abs() + 1)",
    ]
    for i in range(rng.randint(3, 10)):
        pattern = rng.choice(unary + binary)
        lines.append(f"  v{i} = " + pattern.format(*(rng.choice(names) for _ in range(pattern.count("{}")))))
        names.append(f"v{i}")
    results = ", ".join(sorted({names[-1], rng.choice(names[3:])}))
    return "def f(x: Tensor, y: Tensor, z: Tensor):\n" + "\n".join(lines) + f"\n  return [{results}]\n"


def test_random_programs():
    before = launches()
    for seed in range(60):
        rng = random.Random(seed)
        source = random_program(rng)
        script = cresset.CompilationUnit(source).f
        for _ in range(3):
            sizes = rng.choice([(4,), (3, 17), (1, 5), (2, 3, 40), ()])
            dtype = rng.choice(FLOATS[:3])
            inputs = []
            for _ in range(3):
                own = tuple(1 if rng.random() < 0.2 else s for s in sizes)[rng.choice([0, 0, 0, 1]) :]
                inputs.append(torch.randn(own).to(dtype))
            script(*inputs)
    assert launches() > before + 60


def test_gradients_that_operators_record():
    """A tensor with hooks, one of two whose gradients come from different results, makes autograd record the operators."""

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor(1.3, dtype=torch.float64))

        def forward(self):
            return self.weight, torch.log(self.weight.abs() + 1.0) * self.weight

    module = Module()

    def derivatives(forward, order):
        found = [sum(forward())]
        for _ in range(order):
            found += torch.autograd.grad(found[-1], [module.weight], create_graph=True)
        return torch.stack(found).detach()

    script = cresset.script(module)
    before = launches()
    with cresset.options.override(numerics="default"):
        for order, is_watched in [(1, False), (2, False), (1, True), (2, True), (3, True), (2, False)]:
            hook = module.weight.register_hook(lambda gradient: None) if is_watched else None
            torch.testing.assert_close(derivatives(script, order), derivatives(module, order), rtol=1e-14, atol=0)
            if hook:
                hook.remove()
    assert launches() > before


def test_gradients_in_forward_mode():
    def f(x, y):
        return (x * y + 1.5).relu() / y.abs()

    script = cresset.script(f)
    x, y, dx, dy = torch.randn(4, 3, 5)
    for _ in range(3):
        assert torch.equal(script(x, y), f(x, y))
        ours, theirs = (torch.func.jvp(g, (x, y), (dx, dy)) for g in (script, f))
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))
        with torch.autograd.forward_ad.dual_level():
            duals = [torch.autograd.forward_ad.make_dual(t, d) for t, d in ((x, dx), (y, dy))]
            ours, theirs = (torch.autograd.forward_ad.unpack_dual(g(*duals)) for g in (script, f))
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


VIEWS = [
    "a, b = x.chunk(2, 1)",
    "a, b, c = x.split(2, dim=-1)",
    "a, b, c = torch.tensor_split(x, 3, 1)",
    "a, b, c, d = x.unbind(0)",
    "a = x.t()\n  b = a[1:3]",
    "a = x[:, 1]\n  b = x[2, 1:5]",
    "a = x[::2, 1:]\n  b = a[:, :-1].t()",
    "a = x[0].unsqueeze(1)\n  b = x[:, 0]",
    "a = x.unsqueeze(0).expand(3, -1, -1)\n  b = x[1]",
    "a = x.view(-1)\n  b = a[3:7]",
    "a = x.reshape(-1)\n  b = a[3:7]",
    "a = x.flatten().squeeze()\n  b = x.select(0, -1)",
    "a = x.transpose(0, 1).unsqueeze(0)\n  b = x.permute(1, 0)",
    "a = x.narrow(1, 2, 3)\n  b = x.diagonal()",
    "a = x.movedim(0, 1)\n  b = x.T",
    "a = x.detach()[0]\n  b = x.contiguous()[1]",
]


@pytest.mark.parametrize("views", VIEWS)
def test_views(views):
    names = views.split(" = ")[0].split(", ")
    names += ["b"] * ("b" not in names)
    sums = " + ".join(f"torch.exp({name}).mean() * {i + 2}" for i, name in enumerate(names))
    text = f"def f(x: Tensor):\n  {views}\n  r = torch.relu(a * 2) - a\n  return r, torch.abs(r) + 1, {sums}"
    scope = {"torch": torch, "Tensor": Tensor}
    exec(text, scope)
    script, before = cresset.CompilationUnit(text).f, launches()
    with cresset.options.override(numerics="default"):
        for x in (torch.randn(4, 6), torch.randn(6, 4).t(), torch.randn(4, 12)[:, ::2], torch.randn(6).expand(4, 6)):
            try:
                expected = scope["f"](x)
            except RuntimeError as error:  # a view of this layout is not possible
                with pytest.raises(RuntimeError, match=str(error).split(":")[0][:40].replace("(", ".")):
                    script(x)
                continue
            for found, wanted in zip(script(x), expected):
                torch.testing.assert_close(found, wanted)
                assert found.stride() == wanted.stride()
    assert launches() >= before + 4


def test_views_that_raise():
    """As the operators do, also where the group meets the layout first."""

    def f(x):
        a, b = torch.relu(x * 2).split(3)
        return torch.abs(a * 2 - b)

    script = cresset.script(f)
    for n in (6, 6, 7, 9, 2, 6):
        try:
            expected = f(torch.ones(n))
        except (ValueError, RuntimeError):
            with pytest.raises(RuntimeError):
                script(torch.ones(n))
            continue
        assert torch.equal(script(torch.ones(n)), expected)


def test_background():
    with cresset.options.override(kernels="background"):
        script = cresset.script(lambda_free)
        x = torch.randn(1000)
        expected = lambda_free(x)
        unfused = _C._kernel_counts()[2]
        assert torch.equal(script(x), expected)
        assert _C._kernel_counts()[2] >= unfused
        cresset.wait_for_compilation()
        before = launches()
        assert torch.equal(script(x), expected)
        assert launches() == before + 1


def lambda_free(x: Tensor):
    return (x * 3 + 1).relu() - x


def test_constant_tensors():
    """As those of frozen modules: buffers, and numbers that are tensors."""

    class Scale(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("scale", torch.randn(5))
            self.register_buffer("table", torch.randn(2, 7, 5))
            self.offset = torch.tensor(2.5)

        def forward(self, x: Tensor):
            return torch.relu(x * self.scale + self.offset) - self.table[1] * 2

    module = Scale().eval()
    frozen = cresset.freeze(cresset.script(module))
    before = launches()
    for size in (7, 1):
        x = torch.randn(size, 5)
        for _ in range(2):
            assert torch.equal(frozen(x), module(x))
    assert launches() > before
    assert not any("error" in note for plan in cresset.explain(frozen).plans for note in plan.notes)


def kinds_of_lines(lines):
    """Without what was measured."""
    return [
        re.sub(r"(, [0-9.]+ [num]?s)?, at least [0-9.]+ [num]?s by (memory|arithmetic)$", "", line) for line in lines
    ]


def test_explain():
    def f(x: Tensor, y: Tensor):
        z = torch.relu(x * y) + 1
        return torch.mm(z, z) * 2, x.argsort(0)

    script = cresset.script(f)
    for _ in range(2):
        script(torch.randn(3, 3), torch.randn(3, 3))
    other_bits = "it has other bits than eager PyTorch's in a kernel (option numerics)"
    (plan,) = cresset.explain(script).plans
    assert kinds_of_lines(plan.kernels) == [
        "kernel: 3 operators, 1 result: mul, relu, add",
        "  2 calls of 3x3, 3x3: 108 B, 18 flop",
        f"  without aten::mm after it: {other_bits}",
        "kernel: 1 operator, 1 result: mul",
        "  2 calls of 3x3: 72 B, 9 flop",
        f"  without aten::mm before it: {other_bits}",
        f"no kernel: aten::mm: {other_bits}",
    ]
    assert "kernel: 3 operators" in str(cresset.explain(script))


def test_explain_tells_time_and_limits():
    def f(x: Tensor, index: Tensor, w: Tensor):
        a = torch.exp(x) * 2
        b = torch.cat([a, x], 1)
        c = torch.nn.functional.embedding(index, b)
        return c.sum(1) + w

    script = cresset.script(f)
    with cresset.options.override(kernels="now", numerics="default"):
        for _ in range(40):
            script(torch.randn(64, 8), torch.randint(0, 64, (1000,)), torch.randn(1000))
        (plan,) = cresset.explain(script).plans
    assert plan.kernels[0] == "one call of kernels for 2 groups:"
    measured = [line for line in plan.kernels if "calls of 64x8, 1000, 1000: " in line]
    timed = re.compile(r": [0-9.]+ kB, [0-9.]+ k?flop, [0-9.]+ [num]s, at least [0-9.]+ [num]s by (memory|arithmetic)$")
    assert len(measured) == 3 and all(timed.search(line) for line in measured), plan.kernels
    # 1,000 rows of 16 numbers and as many indices are read, 1,000 numbers read and as many written.
    assert ": 80 kB, " in measured[2]
    assert "    without aten::cat before it: aten::cat has no scalar body" in plan.kernels


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(-1, 1, 8))

    def forward(self, x, y):
        z = (x * 2 + 1).relu() * y - 3
        w = z.exp() + x * self.weight
        return w, w.sum(0), z


RESIZED = {
    "script": cresset.script,
    "compile": cresset.compile,
    "static": lambda module: cresset.static_module(cresset.script(module)),
    "frozen": lambda module: cresset.freeze(cresset.script(module)),
}


@pytest.mark.parametrize("how", RESIZED)
def test_storages_that_are_resized_between_calls(how):
    """Neither kernels nor the memory of plans keep addresses: arguments, parameters and results get other memory."""
    module = Scaled().eval()
    function, held = RESIZED[how](module), []
    x, y = torch.randn(512, 8), torch.randn(8)
    with torch.no_grad():
        for call in range(12):
            found = function(x, y)
            for a, b in zip(found, module(x, y), strict=True):
                torch.testing.assert_close(a, b)
            for tensor in found:
                tensor.untyped_storage().resize_((0, 64, tensor.nbytes * 2)[call % 3])
            held += found if call % 2 else ()
            for tensor in (x, y, module.weight):
                values = tensor.clone()
                tensor.untyped_storage().resize_(0)
                tensor.untyped_storage().resize_(values.nbytes * (1 + call % 3))
                tensor.copy_(values)


def test_norm_keeps_one_branch():
    """It asks for a tensor's layout and device."""

    def f(x: Tensor, y: Tensor):
        return torch.norm(x - y) * 2

    script = cresset.script(f)
    x, y = torch.randn(7, 5), torch.randn(5)
    with cresset.options.override(numerics="default"):
        for _ in range(2):
            assert torch.allclose(script(x, y), f(x, y))
        (plan,) = cresset.explain(script).plans
    assert "prim::If" not in str(plan.graph)
    assert plan.kernels[0] == "kernel: 3 operators, 1 result: sub, linalg_vector_norm, mul"
