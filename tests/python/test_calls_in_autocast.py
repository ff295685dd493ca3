"""Every operator that has derivative rules or decompositions, called within `with torch.autocast` of the program itself, and with
operands that are laid out in other ways: what plans make of it is what eager PyTorch does, errors included."""

import pytest
import torch
from derivative_calls import CALLS, COMPOSITES, INDEX, MASK, NotDifferentiated

import cresset
from cresset import _C

CASES = [
    case
    for case in (*COMPOSITES, *(call for calls in CALLS.values() for call in calls))
    if "_grad_sum_to_size" not in case[0]  # which only scripts have
]
LETTERS = "abcde"
PARTS = 4
#: Kernels with other bits than eager's; whether they are as accurate, other tests ask.
TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-9, torch.bfloat16: 2e-2, torch.float16: 4e-3}


def program(expression, tensors, autocast):
    *statements, last = expression.split("; ")
    names = [letter for letter, tensor in zip(LETTERS, tensors, strict=False) if tensor is not None]
    lines = [*statements, f"r = {last}"]
    if autocast:
        lines = [f"with torch.autocast('cpu', dtype=torch.{autocast}):", *(f"  {line}" for line in lines)]
    parameters = ", ".join(f"{name}: torch.Tensor" for name in names)
    body = "".join(f"  {line}\n" for line in [*lines, "return r, r * 2 + 1, r.sum()"])
    return f"def f({parameters}, m: torch.Tensor, i: torch.Tensor):\n{body}"


def laid_out(tensor, layout):
    """The same elements, elsewhere in memory."""
    if tensor.dim() < 2 or layout == "contiguous":
        return tensor.clone()
    if layout == "transposed":
        return tensor.transpose(0, -1).contiguous().transpose(0, -1)
    return torch.repeat_interleave(tensor, 2, -1)[..., ::2]


def arguments_of(tensors, dtype, layout, requires_grad):
    arguments = []
    for tensor in tensors:
        if tensor is None:
            continue
        differentiated = not isinstance(tensor, NotDifferentiated)
        value = laid_out((tensor if differentiated else tensor.tensor).detach(), layout)
        if value.is_floating_point():
            value = value.to(dtype)
        arguments.append(value.requires_grad_(requires_grad and differentiated and value.is_floating_point()))
    return arguments


def outcome(function, arguments):
    """Results and gradients, or the name of the error."""
    torch.manual_seed(0)
    try:
        results = function(*arguments, MASK, INDEX)
    except Exception as error:
        return type(error).__name__, str(error)
    leaves = [a for a in arguments if a.requires_grad]
    total = results[1].double().sum() if results[1].requires_grad else None
    try:
        grads = torch.autograd.grad(total, leaves, allow_unused=True) if total is not None and leaves else []
    except Exception as error:
        return "backward", str(error)
    return results, grads


def difference(expected, found):
    if isinstance(expected[0], str) or isinstance(found[0], str):
        same = isinstance(expected[0], str) and isinstance(found[0], str)
        return "" if same else f"{str(expected)[:200]} and {str(found)[:300]}"
    for a, b in zip([*expected[0], *expected[1]], [*found[0], *found[1]], strict=True):
        if a is None or b is None:
            if a is not b and (a if b is None else b).abs().sum() != 0:
                return "a gradient is missing"
            continue
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"{a.dtype} {tuple(a.shape)} and {b.dtype} {tuple(b.shape)}"
        if not torch.allclose(
            a, b, TOLERANCE[a.dtype], TOLERANCE[a.dtype] * max(1.0, a.abs().max().item() if a.numel() else 0.0), True
        ):
            return f"{a} and {b}"
    for a, b in zip(expected[0], found[0], strict=True):
        if a.stride() != b.stride():
            return f"strides {a.stride()} and {b.stride()} of sizes {tuple(a.shape)}"
    return ""


def disagreements(case, autocast, dtype, layout):
    expression, *tensors = case
    text = program(expression, tensors, autocast)
    scope = {"torch": torch}
    exec(text, scope)
    try:
        script = cresset.CompilationUnit(text).f
    except cresset.UserError as error:
        return f"{expression}: {error}"
    for requires_grad in (True, True, False):
        expected = outcome(scope["f"], arguments_of(tensors, dtype, layout, requires_grad))
        found = outcome(script, arguments_of(tensors, dtype, layout, requires_grad))
        told = difference(expected, found)
        if told:
            return f"{expression} with {dtype}, {layout}, gradients {requires_grad}: {told}"
    return ""


@pytest.fixture(autouse=True)
def plans_always():
    _C._set_plans_always(True)
    yield
    _C._set_plans_always(False)


@pytest.mark.parametrize("part", range(PARTS))
def test_autocast_within(part):
    told = [
        disagreements(case, "bfloat16", (torch.float32, torch.float16)[number % 2], "contiguous")
        for number, case in enumerate(CASES[part::PARTS])
    ]
    assert not any(told), "\n".join(filter(None, told))


@pytest.mark.parametrize("part", range(PARTS))
def test_layouts(part):
    told = [
        disagreements(case, None, torch.float32, ("transposed", "steps")[number % 2])
        for number, case in enumerate(CASES[part::PARTS])
    ]
    assert not any(told), "\n".join(filter(None, told))


REFUSING = ["x // 2", "torch.heaviside(x, x)", "torch.igamma(x.abs() + 2, x.abs() + 1)"]


@pytest.mark.parametrize("refusing", REFUSING)
@pytest.mark.parametrize(
    "rest", ["({}) * 3 + x", "({}) * 3 + x.sin()", "a = x * 2; ({}) * 3 + a", "({}) * x + x * 3", "({}) * 3"]
)
def test_gradients_that_are_refused(refusing, rest):
    *statements, last = rest.format(refusing).split("; ")
    text = "def f(x: torch.Tensor):\n" + "".join(f"  {line}\n" for line in [*statements, f"return {last}"])
    scope = {"torch": torch}
    exec(text, scope)
    script = cresset.CompilationUnit(text).f
    traced = cresset.trace(scope["f"], (torch.rand(3, requires_grad=True),), check_trace=False)
    for function in (scope["f"], script, script, traced, traced):
        x = torch.rand(3, requires_grad=True)
        with pytest.raises(RuntimeError, match="is not implemented"):
            torch.autograd.grad(function(x).sum(), x)
        x = torch.rand(3, requires_grad=True)
        with pytest.raises(RuntimeError, match="is not implemented"):
            function(x).sum().backward()


def test_calls_that_eager_refuses():
    def vecdot(x: torch.Tensor, y: torch.Tensor):
        return torch.linalg.vecdot(x, y) * 2 + 1

    def cosine(x: torch.Tensor, y: torch.Tensor):
        return torch.cosine_embedding_loss(x, y, torch.ones(3)) * 2 + 1

    for function, arguments in (
        (vecdot, (torch.rand(3, 4).half(), torch.rand(3, 4))),
        (vecdot, (torch.rand(4).double(), torch.rand(4))),
        (cosine, (torch.rand(3, 3), torch.rand(2, 3, 3))),
    ):
        script = cresset.script(function)
        for _ in range(3):
            messages = []
            for each in (function, script):
                with pytest.raises(RuntimeError) as error:
                    each(*(a.clone().requires_grad_() for a in arguments))
                messages.append(str(error.value).strip().splitlines()[-1])
            assert messages[0] in messages[1]
