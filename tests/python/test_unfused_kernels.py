"""The same bits wherever an operator runs, with numerics=default: fused, alone in a plan, unoptimized, in place, into `out`, recorded by autograd.

The operators are those whose kernels have other bits than eager PyTorch's. NaNs count as equal.
"""

import ctypes
import itertools
import os
import pathlib
import re
import subprocess

import fact_calls
import pytest
import torch
from torch import Tensor

import cresset
from cresset import _C

FLOATS = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, 1e-40, -1e-40, float("inf"), float("-inf"), float("nan"), 65504.0, 1e38, -1e38]
#: Each is a number that bodies ask for, or one that they compute with, rounded or not.
NUMBERS = [0.3, 2, 0.5, -2, 1, -0.1, 1 / 3, 16777217]
KINDS = {"number": "Scalar", "Optional[number]": "Scalar", "float": "float", "Optional[float]": "float"}

pytestmark = pytest.mark.skipif(
    bool(_C._why_no_kernels_ahead_of_time()), reason=f"no kernels ahead of time: {_C._why_no_kernels_ahead_of_time()}"
)


@pytest.fixture(autouse=True)
def own_numerics():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with cresset.options.override(kernels="now", numerics="default", plans="always"):
        yield
    torch.set_num_threads(threads)


def aot_calls():
    return _C._kernel_counts()[3]


def bits(tensor):
    if not tensor.dtype.is_floating_point:
        return tensor
    ints = tensor.contiguous().view({2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()])
    return torch.where(tensor.isnan(), 0, ints)


def assert_same(found, expected, what):
    assert found.dtype == expected.dtype and found.shape == expected.shape, what
    differing = bits(found) != bits(expected)
    if differing.any():
        i = tuple(torch.nonzero(differing)[0].tolist())
        pytest.fail(
            f"{what}: {differing.sum()} of {differing.numel()}, at {i} {found[i].item()!r}, not {expected[i].item()!r}"
        )


def is_tensor(argument):
    return "Tensor" in str(argument.type)


def program(name, arguments, fused=False, numbers_known=True):
    """A function that calls the operator, and its inputs; `fused`: with a comparison that joins it in a kernel."""
    heads, lines, operands, inputs = [], [], [], []
    kinds = {type(None): "NoneType", bool: "bool", int: "int", float: "float", str: "str"}
    for i, value in enumerate(arguments):
        kind = "Tensor" if isinstance(value, Tensor) else kinds[type(value)]
        operands.append(f"%a{i}")
        if kind == "Tensor" or (not numbers_known and kind in ("int", "float")):
            heads.append(f"%a{i} : {kind}")
            inputs.append(value)
        else:
            number = int(value) if kind == "bool" else value
            shown = "" if value is None else f'[value="{value}"]' if kind == "str" else f"[value={number!r}]"
            lines.append(f"  %a{i} : {kind} = prim::Constant{shown}()")
    head = name.partition(".")[0]
    lines.append(f"  %r : Tensor = {head}({', '.join(operands)})")
    if fused:
        lines += ["  %e : Tensor = aten::eq(%r, %r)", "  %t : (Tensor, Tensor) = prim::TupleConstruct(%r, %e)"]
    text = f"graph({', '.join(heads)}):\n" + "\n".join(lines) + f"\n  return ({'%t' if fused else '%r'})"
    function = _C.function_from_graph("f", _C.parse_ir(text))
    return (lambda *values: function(*values)[0]) if fused else function, inputs


def number_rows(schema):
    """Values for all arguments but the tensors, which stay None."""
    choices = []
    for argument in schema.arguments:
        kind = str(argument.type)
        if is_tensor(argument):
            choices.append([None])
        elif kind in KINDS:
            values = [float(n) for n in NUMBERS] if KINDS[kind] == "float" else NUMBERS
            choices.append([*([None] if "Optional" in kind else []), *values])
        elif kind == "bool":
            choices.append([False, True])
        elif argument.name == "approximate":
            choices.append(["none", "tanh"])
        elif argument.name == "rounding_mode":
            choices.append([None, "trunc", "floor"])
        else:
            choices.append([argument.default_value])
    width = max(map(len, choices))
    return [[column[k % len(column)] for column in choices] for k in range(width)]


def values(dtype, count, seed):
    generator = torch.Generator().manual_seed(seed)
    some = torch.randn(count, generator=generator, dtype=torch.float64) * 2
    some[: count // 4] *= 10
    for k, value in enumerate(SPECIAL):
        some[(7 * k + 3 * seed) % count] = value
    return some.to(dtype)


def with_tensors(schema, row, tensors):
    tensors = iter(tensors)
    return [next(tensors) if is_tensor(argument) else value for argument, value in zip(schema.arguments, row)]


def raises(name, arguments):
    try:
        fact_calls.call(fact_calls.overload(name), [a.clone() if isinstance(a, Tensor) else a for a in arguments])
    except (RuntimeError, NotImplementedError):
        return True
    return False


def unoptimized(name, arguments):
    with cresset.options.override(execution_mode="interpret", plans="useful"):
        function, inputs = program(name, arguments)
        return function(*inputs)


def fused(name, arguments, numbers_known=True):
    function, inputs = program(name, arguments, fused=True, numbers_known=numbers_known)
    before = _C._kernel_counts()[1]
    result = function(*inputs)
    assert _C._kernel_counts()[1] > before, "no kernel ran"
    return result


def calls(name, dtypes, count=91):
    """Arguments of calls that eager PyTorch takes."""
    schema = fact_calls.overload(name)._schema
    num_tensors = sum(map(is_tensor, schema.arguments))
    for row in number_rows(schema):
        arguments = with_tensors(schema, row, [values(dtypes[k % len(dtypes)], count, k) for k in range(num_tensors)])
        if not raises(name, arguments):
            yield arguments


def in_other_places(name, arguments):
    """The operator in other forms of call, with what they return."""
    op = fact_calls.overload(name)
    namespace, packet = name.partition(".")[0].split("::")
    first = next(i for i, a in enumerate(arguments) if isinstance(a, Tensor))
    functions = getattr(getattr(torch.ops, namespace), packet + "_", None)
    names = [(a.name, str(a.type)) for a in op._schema.arguments]
    for overload_name in functions.overloads() if functions and first == 0 else ():
        schema = getattr(functions, overload_name)._schema
        if [(a.name, str(a.type)) for a in schema.arguments] == names:
            own = [a.clone() if i == first else a for i, a in enumerate(arguments)]
            yield f"{packet}_", unoptimized(f"{namespace}::{packet}_", own)
    functions = getattr(getattr(torch.ops, namespace), packet)
    for overload_name in functions.overloads():
        schema = getattr(functions, overload_name)._schema
        given = [(a.name, str(a.type)) for a in schema.arguments]
        if given == [*names, ("out", "Tensor")]:
            for out in (torch.empty_like(arguments[first]), torch.empty(0, dtype=arguments[first].dtype)):
                yield f"{packet}.{overload_name}", unoptimized(f"{namespace}::{packet}", [*arguments, out])


#: They raise for some numbers, so that no kernel takes numbers that are not known.
MAY_RAISE = {"aten::celu", "aten::elu_backward"}


@pytest.mark.parametrize("name", _C._rows_with_own_bits())
def test_forms_of_calls(name):
    ran = compared = 0
    for dtype in FLOATS:
        for arguments in calls(name, [dtype]):
            before = aot_calls()
            first = unoptimized(name, arguments)
            ran += aot_calls() - before
            what = (name, dtype, [a for a in arguments if not isinstance(a, Tensor)])
            try:
                expected = fused(name, arguments)
            except AssertionError as error:
                assert aot_calls() == before, f"{what}: {error}"
                continue
            compared += 1
            assert_same(first, expected, what)
            if name not in MAY_RAISE:
                assert_same(fused(name, arguments, numbers_known=False), expected, (*what, "numbers at run time"))
            function, inputs = program(name, arguments)
            assert_same(function(*inputs), expected, (*what, "alone in a plan"))
            for form, result in in_other_places(name, arguments):
                assert_same(result, expected, (*what, form))
    assert ran and compared


def layouts(tensors):
    """Tensors of sizes (7, 13) with the same elements as these of 91."""
    plain = [t.view(7, 13) for t in tensors]

    def strided(t):
        other = torch.zeros(14, 39, dtype=t.dtype)[::2, ::3]
        other.copy_(t)
        return other

    yield "contiguous", plain
    yield "transposed", [t.t().contiguous().t() for t in plain]
    yield "strided", [strided(t) for t in plain]
    yield "mixed", [t if k % 2 else strided(t) for k, t in enumerate(plain)]
    yield "turned", [t.flip(0).t().contiguous().t() if k % 2 else t.flip(0) for k, t in enumerate(plain)]


@pytest.mark.parametrize("name", _C._rows_with_own_bits())
def test_layouts_and_lengths(name):
    """Elements don't depend on where they stand."""
    dtype = FLOATS[len(name) % 4]
    schema = fact_calls.overload(name)._schema

    def has_kernel(arguments):
        before = aot_calls()
        unoptimized(name, arguments)
        return aot_calls() > before

    # Where no kernel runs, eager PyTorch's bits do not depend on places, but for those of elu_backward's results.
    checked = list(itertools.islice(calls(name, [dtype]), 8))
    for arguments in sorted(checked, key=has_kernel, reverse=True)[:2]:
        expected = unoptimized(name, arguments)
        tensors = [a for a in arguments if isinstance(a, Tensor)]
        row = [None if isinstance(a, Tensor) else a for a in arguments]
        function, inputs = program(name, arguments)
        for n in range(92):
            with cresset.options.override(execution_mode="interpret", plans="useful"):
                assert_same(function(*[i[:n] if isinstance(i, Tensor) else i for i in inputs]), expected[:n], (name, n))
        for layout, laid_out in layouts(tensors):
            given = with_tensors(schema, row, laid_out)
            result = unoptimized(name, given)
            assert result.stride() == fact_calls.call(fact_calls.overload(name), given)[0].stride(), (name, layout)
            wanted = expected.view(7, 13)
            assert_same(result, wanted.flip(0) if layout == "turned" else wanted, (name, layout))
        expanded = [t[:1].expand(3, 5) for t in tensors]
        assert_same(
            unoptimized(name, with_tensors(schema, row, expanded)), expected[:1].expand(3, 5), (name, "expanded")
        )


@pytest.mark.parametrize(
    "name", [n for n in _C._rows_with_own_bits() if sum(map(is_tensor, fact_calls.overload(n)._schema.arguments)) == 2]
)
@pytest.mark.parametrize(
    "dtypes",
    [
        (torch.float32, torch.float64),
        (torch.float32, torch.bfloat16),
        (torch.float32, torch.int64),
        (torch.int32, torch.float16),
    ],
    ids=str,
)
def test_mixed_dtypes(name, dtypes):
    """What is computed in, and broadcasting, with a tensor of one element too."""
    schema = fact_calls.overload(name)._schema
    for order in (dtypes, dtypes[::-1]):
        for arguments in itertools.islice(calls(name, order, count=18), 2):
            tensors = [a.clamp(-3, 3).nan_to_num(0) for a in arguments if isinstance(a, Tensor)]
            row = [None if isinstance(a, Tensor) else a for a in arguments]
            for shapes in ((tensors[0].view(6, 3), tensors[1][:3]), (tensors[0], tensors[1][0])):
                given = with_tensors(schema, row, shapes)
                if raises(name, given):
                    continue
                (eager,) = fact_calls.call(fact_calls.overload(name), given)
                result = unoptimized(name, given)
                assert (result.dtype, result.shape, result.stride()) == (eager.dtype, eager.shape, eager.stride())
                function, inputs = program(name, given, fused=True)
                assert_same(result, function(*inputs), (name, order, row))


def chain(x):
    y = torch.sigmoid(x * 1.5)
    return torch.tanh(y).exp_() + y


def test_first_and_later_calls():
    """Before there are plans, with plans whose kernels are compiled beside them, and after."""
    with cresset.options.override(plans="useful", kernels="background"):
        f = cresset.script(chain)
        x = torch.randn(1000)
        results = [f(x) for _ in range(6)]
        _C._wait_for_compilation()
        results += [f(x) for _ in range(3)]
    for result in results[1:]:
        assert torch.equal(result, results[0])
    assert not torch.equal(results[0], chain(x))


@pytest.mark.parametrize("size", [40_000, (3, 200_000), (200, 1000)], ids=str)
def test_threads(size):
    x = torch.randn(size)
    y = torch.randn(size).t().contiguous().t() if not isinstance(size, int) else torch.randn(2 * size)[::2]
    f = cresset.script(hypot_and_exp)
    with cresset.options.override(execution_mode="interpret", plans="useful"):
        one = f(x, y)
        torch.set_num_threads(2)
        assert torch.equal(f(x, y), one)
    torch.testing.assert_close(one, hypot_and_exp(x, y))


def hypot_and_exp(x, y):
    return torch.exp(torch.hypot(x, y))


def exp_tanh(x):
    return torch.tanh(torch.exp(x) * 0.1)


def exp_in_place(x):
    return ((x * 1.0).exp_() * 0.1).tanh_()


@pytest.mark.parametrize("function", [exp_tanh, exp_in_place])
def test_recorded(function):
    """The values of operators that autograd records are the kernel's, also those that it keeps."""
    x = torch.randn(50)
    with cresset.options.override(execution_mode="interpret", plans="useful"):
        f = cresset.script(function)
        expected = f(x)
        leaf = x.clone().requires_grad_()
        result = f(leaf)
    assert result.requires_grad and torch.equal(result.detach(), expected)
    (grad,) = torch.autograd.grad(result.sum(), leaf)
    reference = x.clone().requires_grad_()
    (wanted,) = torch.autograd.grad(function(reference).sum(), reference)
    torch.testing.assert_close(grad, wanted)


def hypot_in_place(x, y):
    return x.hypot_(y)


def test_in_place_bumps_versions():
    def update(x):
        return x.exp_()

    f = cresset.script(update)
    with cresset.options.override(execution_mode="interpret", plans="useful"):
        x = torch.randn(10)
        before = x._version
        assert f(x) is x
        assert x._version == before + 1
        # What was saved for a gradient is found to be changed.
        w = torch.randn(10, requires_grad=True)
        y = torch.randn(10)
        product = (w * y).sum()
        f(y)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.backward()
        with pytest.raises(RuntimeError, match="leaf Variable"):
            f(w)
        with pytest.raises(RuntimeError, match="more than one element"):
            f(torch.zeros(1).expand(3))
        with pytest.raises(RuntimeError, match="can't be cast"):
            f(torch.ones(3, dtype=torch.int64))
        # An operand that overlaps.
        base = torch.rand(11)
        g = cresset.script(hypot_in_place)
        with pytest.raises(RuntimeError, match="unsupported operation"):
            g(base[1:], base[:-1])
        same = base.clone()
        assert torch.equal(g(same, same), cresset.script(hypot_in_place)(base.clone(), base.clone()))


def test_explained():
    def f(x, n: int):
        for _ in range(n):
            x = x[0]
        return torch.exp(x)  # of no known rank

    g = cresset.script(f)
    g(torch.randn(2, 5), 1)
    assert "kernel: 1 operator, built ahead of time: aten::exp" in str(cresset.explain(g))


def test_not_plain():
    """Other tensors are ATen's."""

    def f(x):
        return torch.exp(x)

    g = cresset.script(f)
    x = torch.randn(5)
    with cresset.options.override(execution_mode="interpret", plans="useful"):
        assert g(torch.empty(3, device="meta")).device.type == "meta"
        assert torch.equal(g(torch.zeros(2, dtype=torch.complex64)), torch.ones(2, dtype=torch.complex64))
        assert g(torch.empty(2, 0, 3)).shape == (2, 0, 3)
        result = torch.func.vmap(g)(x.view(5, 1))
        torch.testing.assert_close(result, x.exp().view(5, 1))
        value, tangent = torch.func.jvp(g, (x,), (torch.ones(5),))
        torch.testing.assert_close(tangent, x.exp())


def test_exact_is_eagers():
    x = torch.randn(100)
    f = cresset.script(exp_tanh)
    for other in ({"numerics": "exact"}, {"kernels": "off"}):
        with cresset.options.override(execution_mode="interpret", plans="useful", **other):
            assert torch.equal(f(x), exp_tanh(x))
    with cresset.options.override(execution_mode="interpret", plans="useful"):
        assert not torch.equal(f(x), exp_tanh(x))


def test_error_is_eagers():
    f = cresset.script(hypot_and_exp)
    with cresset.options.override(execution_mode="interpret", plans="useful"):
        with pytest.raises(RuntimeError, match="must match the size"):
            f(torch.zeros(3), torch.zeros(4))


class Kernel(ctypes.Structure):
    """AheadOfTimeKernel."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("high", "low", "v3", "v4")]


class Kernels(ctypes.Structure):
    _fields_ = [("kernels", ctypes.POINTER(Kernel)), ("count", ctypes.c_size_t)]


def processor_has(*flags):
    return set(flags) <= set(re.search(r"^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)[1].split())


@pytest.mark.skipif(
    not processor_has("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"), reason="the processor has no AVX-512"
)
def test_levels():
    """Kernels for both x86 levels have the same bits, for each length; by their functions in the library."""
    commands = pathlib.Path(os.environ["CRESSET_COMMAND"]).parent
    library = ctypes.CDLL(str(commands.parent / "lib" / "libcresset_kernels.so"))
    library.cresset_ahead_of_time_kernels.restype = Kernels
    table = library.cresset_ahead_of_time_kernels()
    functions = {f"{k.high:016x}{k.low:016x}": (k.v3, k.v4) for k in table.kernels[: table.count]}
    listed = subprocess.run([commands / "cresset-kernels", "list"], capture_output=True, text=True, check=True).stdout
    dtypes = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16}
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64, ctypes.c_int64)
    lines = listed.splitlines()
    assert len(lines) == len(functions) > 100
    for line in lines:
        head, _, text = line.partition(" ")
        buffers = re.findall(r"b\d+: (\w+)\[(next|any)\]", text)
        dtype = dtypes[buffers[0][0]]
        inputs = [values(dtype, 101, k) for k in range(len(buffers) - 1)]
        numbers = torch.tensor(
            [0.3, -1.75, 2.0][: text.count("n0:") + text.count("n1:") + text.count("n2:")], dtype=torch.float64
        )
        strides = (ctypes.c_int64 * len(buffers))(*[dtype.itemsize] * len(buffers))
        for n in (0, 1, 7, 16, 33, 101):
            results = []
            for function in functions[head]:
                result = torch.zeros(101, dtype=dtype)
                pointers = (ctypes.c_void_p * len(buffers))(*[t.data_ptr() for t in (*inputs, result)])
                run(function)(pointers, (ctypes.c_int64 * 1)(n), strides, numbers.data_ptr(), 0, n)
                results.append(result)
            assert_same(results[0], results[1], (text, n))
            assert not results[0][n:].any()


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("function", [torch.xlogy, lambda x, y: torch.nn.functional.mse_loss(x, y, reduction="none")])
def test_half_precision_is_rounded_once(half, function):
    """Where ATen's own function rounds each of its steps, the kernel rounds its result (docs/decisions/0010-kernels.md)."""
    x, y = (torch.rand(2, 20000) * 4 + 0.01).to(half)
    once = function(x.double(), y.double()).to(half)
    assert (function(x, y) != once).sum() > 1000
    traced = cresset.trace(function, (x, y), check_trace=False)
    for _ in range(3):
        assert (traced(x, y) != once).sum() < 20  # float32 lies just beside the middle between two numbers
    with cresset.options.override(numerics="exact"):
        exact = cresset.trace(function, (x, y), check_trace=False)
        for _ in range(3):
            assert exact(x, y).equal(function(x, y))


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_divergence_with_half_precision(half):
    """Its loss and gradients are not further from the true ones than eager's, of which they differ."""
    x, target = torch.randn(64, 64), (torch.rand(64, 64) + 0.01).to(half)

    def run(function, *dtypes):
        inputs = [t.to(dtype).requires_grad_() for t, dtype in zip((x, target), dtypes, strict=True)]
        loss = function(*inputs)
        return [loss.detach(), *torch.autograd.grad(loss.sum(), inputs)]

    def divergence(x, target):
        return torch.nn.functional.kl_div(x, target, reduction="none")

    eager, true = run(divergence, torch.float32, half), run(divergence, torch.float64, torch.float64)
    traced = cresset.trace(divergence, (x.clone().requires_grad_(), target.clone().requires_grad_()), check_trace=False)
    for _ in range(3):
        ours = run(traced, torch.float32, half)
    for found, theirs, exact in zip(ours, eager, true, strict=True):
        assert found.dtype == theirs.dtype
        assert (found.double() - exact).square().mean() <= (theirs.double() - exact).square().mean()
    with cresset.options.override(numerics="exact"):
        traced = cresset.trace(
            divergence, (x.clone().requires_grad_(), target.clone().requires_grad_()), check_trace=False
        )
        for _ in range(3):
            ours = run(traced, torch.float32, half)
    assert all(found.equal(theirs) for found, theirs in zip(ours, eager, strict=True))


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("half_first", [False, True])
def test_gradients_of_powers_of_mixed_dtypes(half, half_first):
    """The logarithm is of the base in the dtype of the result, as eager's."""
    dtypes = (half, torch.float32) if half_first else (torch.float32, half)
    inputs = [(torch.rand(64) + 0.1).to(dtype).requires_grad_() for dtype in dtypes]
    expected = torch.autograd.grad(torch.pow(*inputs).sum(), inputs)
    with cresset.options.override(numerics="exact"):
        traced = cresset.trace(torch.pow, tuple(inputs), check_trace=False)
        for _ in range(3):
            found = torch.autograd.grad(traced(*inputs).sum(), inputs)
    assert all(ours.equal(theirs) for ours, theirs in zip(found, expected, strict=True))
