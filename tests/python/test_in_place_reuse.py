"""In-place operators on memory of the program's own (updates): where plans make new values of them, and where they must not."""

import linecache

import pytest
import torch
from derivative_calls import CALLS, INDEX, MASK, NotDifferentiated
from test_derivatives import LETTERS

import cresset

#: Above each program: the operators that its plan has, and, after "not", those that it must not have.
PROGRAMS = """
# cresset::index_add, not index_add_
def messages(x, w, i: Tensor, n: int):
    out = torch.zeros_like(x)
    out.index_add_(0, i, x[i] * w)
    return out * x

# cresset::add cresset::relu, not add_ relu_
def chain(x, w, i: Tensor, n: int):
    y = x @ w.t()
    y += 1
    y.relu_()
    return y.sum() * w

# cresset::select_assign, not copy_
def rows(x, w, i: Tensor, n: int):
    out = torch.zeros(4, x.size(1), dtype=x.dtype)
    out[n] = x[0] * w[0]
    out[0] = x.sum(0)
    out[:, n] = w[0, 0] * 2
    return out.exp()

# cresset::slice_assign cresset::select_assign cresset::add, not add_ copy_
def parts_of_parts(x, w, i: Tensor, n: int):
    out = x.clone()
    out[1:, n] += w[0, :1] * x[0, 0]
    out[0, :2] = w[1, 1:3]
    out[0][:] *= 3
    out[:] = out * 2
    return out

# cresset::index_put, not index_put_
def by_index(x, w, i: Tensor, n: int):
    out = x * 2
    out[i] = x[i] * w
    out[out > 1] = 0.5
    return out

# cresset::masked_fill cresset::scatter_add cresset::index_copy, not masked_fill_
def by_masks(x, w, i: Tensor, n: int):
    out = (x + w[0]).masked_fill_(x > 0.5, 2.0)
    out.scatter_add_(0, torch.zeros(1, 3, dtype=torch.long), w[:1])
    out.index_copy_(0, torch.tensor([1]), w[1:2] * 2)
    return out

# cresset::select_assign, not copy_
def reads_between(x, w, i: Tensor, n: int):
    out = torch.zeros_like(x)
    for k in range(1, 4):
        out[k] = out[k - 1] * 0.5 + x[k]
    return out

# aten::mul_, not cresset::mul
def returned_view(x, w, i: Tensor, n: int):
    y = x + 1
    v = y[0]
    y.mul_(2)
    return y, v

# aten::mul_, not cresset::mul
def kept_by_exp(x, w, i: Tensor, n: int):
    y = x.exp()
    y.mul_(2)
    return y

# aten::mul_, not cresset::mul
def kept_by_a_reader(x, w, i: Tensor, n: int):
    y = x + 1
    z = y * w[0]
    y.mul_(2)
    return y + z

# aten::mul_, not cresset::mul
def view_kept_by_a_reader(x, w, i: Tensor, n: int):
    y = x + 1
    z = y[0] * w[0]
    y.mul_(2)
    return y + z

# cresset::mul, not mul_
def only_sizes_are_kept(x, w, i: Tensor, n: int):
    y = x + 1
    z = y.sum(0) + y[0] + y.t().sum(1)
    y.mul_(2)
    return y + z

# aten::add_, not cresset::add
def in_a_list(x, w, i: Tensor, n: int):
    y = x + 1
    l = [y]
    y.add_(w[0])
    return l, y

# aten::add_, not cresset::add
def in_a_branch(x, w, i: Tensor, n: int):
    y = x + 1
    if n > 0:
        y.add_(w[0])
    return y * 2

# aten::add_, not cresset::add
def part_is_used_again(x, w, i: Tensor, n: int):
    y = x + 1
    v = y[0]
    v.add_(w[0])
    return y * 2, v * 3

# aten::add_, not cresset::add
def part_through_another_change(x, w, i: Tensor, n: int):
    y = x + 1
    v = y[n]
    y.mul_(2)
    v.add_(w[0])
    return y

# aten::add_, not cresset::add
def of_an_argument(x, w, i: Tensor, n: int):
    y = x.detach()
    y.add_(w[0].detach())
    return y * w[0]

# aten::add_, not cresset::add
def of_itself(x, w, i: Tensor, n: int):
    y = x + 1
    y.add_(y)
    return y * 2

# aten::add_ cresset::mul, not cresset::add
def no_gradients_in_between(x, w, i: Tensor, n: int):
    y = x + 1
    with torch.no_grad():
        y.add_(w[0])
        z = x * 2
        z.mul_(3)
    z.add_(w[0])
    return y * z

# aten::add_, not cresset::add
def with_no_grad(x, w, i: Tensor, n: int):
    y = x + 1
    with torch.no_grad():
        y.add_(w[0])
    return y * 2

# aten::index_add_, not cresset::index_add
def written_by_itself(x, w, i: Tensor, n: int):
    y = x + 1
    y.index_add_(0, torch.arange(4), y)
    return y

# cresset::add, not add_
def too_large(x, w, i: Tensor, n: int):
    y = x[:1] + 1
    y += x
    return y

# cresset::select_assign
def no_such_row(x, w, i: Tensor, n: int):
    y = torch.zeros_like(x)
    y[n + 7] = w[0]
    return y

# cresset::add, not add_
def ints(x, w, i: Tensor, n: int):
    y = i + 1
    y += 2
    y[0] = 5
    return y, (x * y.sum()).sum()

# cresset::add
def wrong_dtype(x, w, i: Tensor, n: int):
    y = i + 1
    y.add_(0.5)
    return y

# cresset::div, not div_
def transposed(x, w, i: Tensor, n: int):
    y = (x.t() * 2)
    y.div_(w[0].unsqueeze(1))
    return y

# cresset::slice_assign, not copy_
def halves(x, w, i: Tensor, n: int):
    y = torch.zeros(8, 3, dtype=x.dtype)
    y[:4] = x
    y[4:] = w
    return y

# cresset::slice_assign cresset::select_assign, not copy_
def leaves_assigned_twice(x, w, i: Tensor, n: int):
    y = torch.zeros(8, 3, dtype=x.dtype)
    z = torch.zeros(8, 3, dtype=x.dtype)
    y[:4] = x
    z[:4] = w
    z[7] = w[0]
    return y + z

# cresset::slice_assign, not copy_
def padded(x, w, i: Tensor, n: int):
    y = torch.zeros(6, 5, dtype=x.dtype)
    y[1:-1, 1:-1] = w
    y[:, ::2] = x.sum()
    return y

# aten::elu_ aten::leaky_relu_, not cresset::elu cresset::leaky_relu
def other_derivatives_in_place(x, w, i: Tensor, n: int):
    y = torch.nn.functional.elu(x * w, 1.3, True)
    z = torch.nn.functional.leaky_relu(x + w, 0.2, True)
    return y * 2, z

# aten::asinh_, not cresset::asinh
def no_derivative_in_place(x, w, i: Tensor, n: int):
    y = x * x
    y.asinh_()
    return y * 2 + w

# cresset::mul
def two_dtypes(x, w, i: Tensor, n: int):
    y = x.float().tanh() + 1
    y = y * 2
    y.mul_(w.double())
    y.div_(w.double() + 3)
    return (y * y).sin()

# cresset::mul, not mul_
def needs_the_old_one(x, w, i: Tensor, n: int):
    y = x + 1
    y.mul_(w[0])
    y.pow_(2)
    return y.sum(0)
"""


def compile_programs(text, name):
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    return cresset.CompilationUnit(text)


NAMES = [line.split("(")[0].removeprefix("def ") for line in PROGRAMS.splitlines() if line.startswith("def ")]
HEADS = dict(zip(NAMES, [line[2:] for line in PROGRAMS.splitlines() if line.startswith("# ")], strict=True))


EAGER = {"torch": torch}
exec(PROGRAMS.replace(": Tensor", ""), EAGER)


@pytest.fixture(scope="module")
def unit():
    return compile_programs(PROGRAMS, "<updates>")


def arguments(dtype, requires_grad, sizes):
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(sizes, dtype=dtype, generator=generator)
    w = torch.randn(4, 3, dtype=dtype, generator=generator)
    return [x.requires_grad_("x" in requires_grad), w.requires_grad_("w" in requires_grad), torch.tensor([0, 2]), 1]


def flattened(value):
    return [inner for part in value for inner in flattened(part)] if isinstance(value, (tuple, list)) else [value]


def outcome(function, dtype, requires_grad, sizes):
    """Results and gradients of the first and second order, or the error."""
    given = arguments(dtype, requires_grad, sizes)
    leaves = [value for value in given if isinstance(value, torch.Tensor) and value.requires_grad]
    try:
        results = flattened(function(*given))
        found = [*results, *given[:3]]
        grads = [r for r in results if r.requires_grad]
        for _ in range(2):
            if not grads or not leaves:
                break
            total = sum((g * (g.detach() + 1)).sum() for g in grads)
            grads = torch.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
            found += grads
            grads = [g for g in grads if g is not None and g.requires_grad]
    except Exception as error:
        lines = str(error).splitlines()
        # Which of several tensors autograd names depends on the order in which it looks.
        return "modified by an inplace" if "modified by an inplace" in str(error) else lines[-1]
    return found


def assert_same(found, expected):
    if isinstance(expected, str) or isinstance(found, str):
        assert found == expected
        return
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert (a is None) == (b is None)
        if b is None:
            continue
        assert a.dtype == b.dtype and a.stride() == b.stride() and a.requires_grad == b.requires_grad
        assert_close(a, b)
    assert shared_memory(found) == shared_memory(expected)


def assert_close(a, b):
    if b.dtype.is_floating_point:
        bound = {torch.float64: 1e-12, torch.float32: 1e-5}[b.dtype]
        torch.testing.assert_close(a, b, rtol=bound, atol=bound * (b.abs().max().item() if b.numel() else 0))
    else:
        assert torch.equal(a, b)


def shared_memory(tensors):
    """For each tensor, the first one in the same memory."""
    places = [None if t is None else t.untyped_storage().data_ptr() for t in tensors]
    return [places.index(place) for place in places]


@pytest.mark.parametrize("name", NAMES)
def test_program(unit, name):
    function = getattr(unit, name)
    has, _, has_not = HEADS[name].partition(", not ")
    for dtype in (torch.float64, torch.float32):
        for requires_grad in ("xw", "x", "w", ""):
            for sizes in ((4, 3), (1, 3), (4, 1)):
                cresset.set_execution_mode("interpret")
                expected = outcome(function, dtype, requires_grad, sizes)
                cresset.set_execution_mode("optimize")
                for _ in range(3):
                    assert_same(outcome(function, dtype, requires_grad, sizes), expected)
                eager = outcome(EAGER[name], dtype, requires_grad, sizes)
                assert isinstance(eager, str) == isinstance(expected, str)  # Python's indexing has its own words
                if isinstance(eager, str):
                    continue
                for a, b in zip(expected, eager, strict=True):
                    assert (a is None) == (b is None)
                    if b is not None:
                        assert_close(a, b)
    graph = str(function.graph_for(*arguments(torch.float64, "xw", (4, 3))))
    for operator in has.split():
        assert f"{operator}(" in graph, graph
    for operator in has_not.split():
        assert f"{operator}(" not in graph, graph


#: Operators on whose arguments regions keep something else than autograd does: for the first, a write to an argument is no
#: error though it is one in eager PyTorch, for the others the other way round. All but a few compute derivatives of others.
REGIONS_KEEP_LESS = {
    "aten::lerp.Tensor",
    "aten::pow.Scalar",
    "aten::scatter_reduce.two",
    "aten::put",
    "aten::sgn",
    "aten::xlogy.Scalar_Other",
    "aten::special_xlog1py.other_scalar",
    "aten::cummax",
    "aten::cummin",
    "aten::binary_cross_entropy_with_logits",
    # Where only the mean has a gradient.
    "aten::var_mean",
    "aten::var_mean.dim",
    "aten::var_mean.correction",
    "aten::std_mean",
    "aten::std_mean.dim",
    "aten::std_mean.correction",
    # Where only the values have one.
    "aten::linalg_eigh",
    "aten::_linalg_eigh",
}
REGIONS_KEEP_MORE = {
    "aten::div.Tensor_mode",
    "aten::div.Scalar_mode",
    "aten::matmul",
    "aten::copysign.Tensor",
    "aten::conv1d.padding",
    "aten::conv2d.padding",
    "aten::conv3d.padding",
    "aten::adaptive_avg_pool2d",
}
#: The same, and others, where the caller writes.
KEPT_AFTER_THE_CALL = {
    # Less.
    "aten::addcdiv",
    "aten::ldexp.Tensor",
    # More: rows of an input that is not contiguous, an operand that is summed first, an input of which only sizes matter.
    "aten::linear",
    "aten::einsum",
    "aten::adaptive_avg_pool1d",
}


def subsets(call):
    letters = [letter for letter, t in zip(LETTERS, call[1:], strict=False) if t is not None]
    wanted = [
        x for x, t in zip(LETTERS, call[1:], strict=False) if t is not None and not isinstance(t, NotDifferentiated)
    ]
    return letters, [wanted, *([letter] for letter in wanted if len(wanted) > 1)]


CASES = [
    (name, call[0], call[1:], changed, wanted)
    for name, calls in CALLS.items()
    for call in calls[:2]
    for changed in [*subsets(call)[0], "r"]
    for wanted in subsets(call)[1]
]


@pytest.mark.parametrize("part", range(8))
def test_what_autograd_keeps(part):
    """A write to a result or to an operand after the operator: an error in the backward pass if autograd kept it."""
    differ = [case for case in CASES[part::8] if not has_errors_of_autograd(*case)]
    assert {name for name, *_ in differ} <= REGIONS_KEEP_LESS | REGIONS_KEEP_MORE | {
        name for name in CALLS if "_backward" in name
    }, differ


def has_errors_of_autograd(_, expression, tensors, changed, wanted):
    *statements, last = expression.split("; ")
    letters = [letter for letter, tensor in zip(LETTERS, tensors, strict=False) if tensor is not None]
    before = [] if changed == "r" else [f"{changed} = torch.add({changed}, 0)"]
    lines = [*before, *statements, f"r = {last}", f"{changed}.mul_(2)", f"return r * 2, {changed} + 1"]
    return agree_on_writes(letters, lines, tensors, wanted, lambda results, _: results)


@pytest.mark.parametrize("part", range(8))
def test_what_autograd_keeps_after_the_call(part):
    """The same of a write by the caller, to what the program has returned or was given."""
    differ = [case for case in CASES[part::8] if not has_errors_after_the_call(*case)]
    found = {name for name, *_ in differ if "_backward" not in name}
    assert found <= REGIONS_KEEP_LESS | REGIONS_KEEP_MORE | KEPT_AFTER_THE_CALL, differ


def has_errors_after_the_call(_, expression, tensors, changed, wanted):
    *statements, last = expression.split("; ")
    letters = [letter for letter, tensor in zip(LETTERS, tensors, strict=False) if tensor is not None]

    def write(results, given):
        (results[-1] if changed == "r" else given[letters.index(changed)]).detach().mul_(2)
        return results

    result = "r * 2 + 1, r" if changed == "r" else "[r * 2 + 1]"
    return agree_on_writes(letters, [*statements, f"r = {last}", f"return {result}"], tensors, wanted, write)


def agree_on_writes(letters, lines, tensors, wanted, write):
    text = f"def f({', '.join(letters)}, m: Tensor, i: Tensor):\n" + "".join(f"    {line}\n" for line in lines)
    function = cresset.CompilationUnit(text).f

    def run():
        given = [t.tensor if isinstance(t, NotDifferentiated) else t for t in tensors if t is not None]
        given = [t.double().clone().requires_grad_(x in wanted) for x, t in zip(letters, given, strict=True)]
        leaves = [t for t in given if t.requires_grad]
        torch.manual_seed(0)
        try:
            results = write(function(*given, MASK, INDEX), given)
            results = [r for r in results if r.requires_grad]
            total = sum((r * (r.detach() + 1)).sum() for r in results)
            return [*results, *torch.autograd.grad(total, leaves, allow_unused=True)]
        except Exception as error:
            is_write = "modified by an inplace" in str(error) or "has been modified inplace" in str(error)
            return "written to" if is_write else str(error).splitlines()[-1]

    cresset.set_execution_mode("interpret")
    expected = run()
    cresset.set_execution_mode("optimize")
    for _ in range(2):
        found = run()
    if isinstance(expected, str) or isinstance(found, str):
        return found == expected
    for a, b in zip(found, expected, strict=True):
        if a is not None and b is not None:  # a region returns zeros where no gradient comes
            torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12, equal_nan=True)
    return True


@pytest.mark.parametrize(
    "text", ["torch.cosine_similarity(x, y)", "torch.nn.functional.linear(x, w)", "torch.ops.aten.put(x, i, y[0, 0])"]
)
@pytest.mark.parametrize("changed", ["x", "y"])
def test_what_only_sizes_or_results_matter_of_is_not_kept(text, changed):
    """A write to it after the call is no error of the backward pass, and changes nothing."""
    function = cresset.CompilationUnit(f"def f(x, y, w, i: Tensor):\n    return {text} * 2 + 1\n").f
    w, i = torch.randn(5, 4, generator=torch.Generator().manual_seed(0)), torch.tensor([1, 3, 0, 2])
    for _ in range(3):
        x, y = (torch.linspace(-1, 2, 24).view(2, 3, 4).requires_grad_(letter == "x") for letter in "xy")
        result = function(x, y, w, i)
        if changed == "x" and "cosine" in text:
            changed = "y"  # x is kept
        {"x": x, "y": y}[changed].detach().mul_(3)
        (found,) = torch.autograd.grad(result.sum(), x)
        x = torch.linspace(-1, 2, 24).view(2, 3, 4).requires_grad_()
        y = x.detach().clone()
        (expected,) = torch.autograd.grad((eval(text) * 2 + 1).sum(), x)
        torch.testing.assert_close(found, expected)


VIEWS = ("y[1:]", "y[0]", "y.narrow(0, 1, 2)", "y[1:][0]", "y[:, 0]", "y[:]", "y[:, 1:][0]")
WRITES_TO_VIEWS = ("v.add_(1)", "v[...] = 0", "v.relu_()", "v *= x[0, 0]", "v.copy_(x[0, 0])", "v.zero_()", "v[0] = 1")


@pytest.mark.parametrize("mode", ["torch.no_grad()", "torch.inference_mode()"])
@pytest.mark.parametrize("view", VIEWS)
def test_views_made_without_gradients(mode, view):
    """Autograd refuses writes to them where gradients are on, each time; they change their tensors where they are off."""
    refused = 0
    for write in WRITES_TO_VIEWS:
        for inside in (False, True):
            pad = "    " if inside else "  "
            text = f"def f(x):\n  y = x * 2\n  with {mode}:\n    v = {view}\n{pad}{write}\n  z = y * 3\n  return z * 2 + 1\n"
            scope = {"torch": torch}
            exec(text, scope)
            forms = [scope["f"], cresset.CompilationUnit(text).f]
            for _ in range(3):
                found = []
                for form in forms:
                    x = torch.arange(9.0).view(3, 3).requires_grad_()
                    try:
                        result = form(x)
                        found.append((result.detach(), torch.autograd.grad(result.sum(), x)[0]))
                    except RuntimeError as error:
                        assert "in no_grad mode" in str(error) or "nference" in str(error)
                        found.append(None)
                assert (found[0] is None) == (found[1] is None), text
                refused += found[0] is None
                if found[0]:
                    torch.testing.assert_close(found[1], found[0], rtol=0, atol=0)
    assert refused > 0


@pytest.mark.parametrize("operator", ["sigmoid", "exp", "tanh", "relu", "neg"])
def test_memory_of_what_is_the_programs_own(operator):
    """Reuses write into it, also by kernels; what is not their own they leave, and compute into new memory, once."""
    text = f"def f(x):\n  y = x * 2\n  for i in range(20):\n    y.{operator}_()\n  return y\n"
    text += f"def g(x):\n  x.{operator}_()\n  return x\n"
    unit = cresset.CompilationUnit(text)
    x = torch.randn(1000)
    own, given = cresset.functionalize(unit.f), cresset.functionalize(unit.g)
    with torch.no_grad():
        for _ in range(3):
            own(x), given(x.clone())
        for function, most in ((own, 2), (given, 1)):
            argument = x.clone()
            with torch.profiler.profile(profile_memory=True) as profile:
                result = function(argument)
            sizes = [event.self_cpu_memory_usage for event in profile.key_averages() if event.self_cpu_memory_usage > 0]
            assert sum(sizes) <= most * 4000 + 1000, sizes
            assert (result.data_ptr() == argument.data_ptr()) == (function is given)
