"""In-place operators in kernels, and kernels that write over what they read, against eager PyTorch.

With the option kernels=check, each launch is also compared with the operators one by one, each in a kernel of its own.
"""

import fact_calls
import pytest
import torch
from kernel_checks import both, checked, launches, layouts
from test_kernels import CANCELLING, DTYPES, FLOATS, ROWS, argument_lists, share_of

import cresset
from cresset import _C

pytestmark = pytest.mark.usefixtures(checked.__name__)


def is_of_tensor(name):
    return str(fact_calls.overload(name)._schema.arguments[0].type) == "Tensor"


def in_place_form(name):
    """ "aten::add_.Tensor" of "aten::add.Tensor"; None if there is no such operator, or it can't take its operands."""
    base, dot, overload = name.removeprefix("aten::").partition(".")
    packet = getattr(torch.ops.aten, base + "_", None)
    if packet is None or (overload or "default") not in packet.overloads():
        return None
    return f"aten::{base}_{dot}{overload}" if is_of_tensor(name) else None


IN_PLACE = {name: in_place_form(name) for name in ROWS if in_place_form(name)}


def in_place_graph(name, arguments):
    """A program that copies the first argument, calls the operator in place on the copy, and goes on with that."""
    heads, lines, operands, inputs = [], [], [], []
    for i, value in enumerate(arguments):
        operands.append(f"%a{i}")
        if isinstance(value, torch.Tensor):
            heads.append(f"%a{i} : Tensor")
            inputs.append(value)
        else:
            kind = {type(None): "NoneType", bool: "bool", int: "int", float: "float", str: "str"}[type(value)]
            shown = {"NoneType": "", "bool": f"[value={int(bool(value))}]", "str": f'[value="{value}"]'}
            lines.append(f"  %a{i} : {kind} = prim::Constant{shown.get(kind, f'[value={value!r}]')}()")
    lines.append("  %none : NoneType = prim::Constant()")
    lines.append("  %own : Tensor = aten::clone(%a0, %none)")
    lines.append(f"  %r : Tensor = {in_place_form(name).partition('.')[0]}(%own, {', '.join(operands[1:])})")
    lines.append("  %e : Tensor = aten::eq(%r, %r)")
    lines.append("  %t : (Tensor, Tensor) = prim::TupleConstruct(%r, %e)")
    text = f"graph({', '.join(heads)}):\n" + "\n".join(lines) + "\n  return (%t)"
    return _C.function_from_graph("f", _C.parse_ir(text.replace("(%own, )", "(%own)"))), inputs


def check(name, arguments):
    """Whether a kernel ran; None if eager PyTorch raises, as the program then must."""
    function, inputs = in_place_graph(name, arguments)
    try:
        own = arguments[0].clone()
        fact_calls.call(fact_calls.overload(in_place_form(name)), [own, *arguments[1:]])
    except (RuntimeError, NotImplementedError):
        with pytest.raises((RuntimeError, NotImplementedError)):
            function(*inputs)
        return None
    before = launches()
    found, _ = function(*inputs)
    assert found.dtype == own.dtype and found.shape == own.shape and found.stride() == own.stride()
    if name not in CANCELLING and cresset.options.numerics == "exact":
        torch.testing.assert_close(found, own, rtol=0, atol=0, equal_nan=True)
    return launches() > before


def whole(arguments):
    """The same with a first argument of all the sizes that operands are broadcast to, which in-place operators want."""
    tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
    sizes = torch.broadcast_shapes(*(t.shape for t in tensors))
    return [arguments[0].expand(sizes).contiguous(), *arguments[1:]]


@pytest.mark.parametrize("name", IN_PLACE)
def test_operator(name):
    ran = 0
    for numerics, dtypes in (("exact", DTYPES), ("default", FLOATS)):
        if numerics == "default" and name in CANCELLING:
            break
        with cresset.options.override(numerics=numerics):
            for arguments in share_of(name, argument_lists(name, dtypes)):
                ran += bool(check(name, whole(arguments)))
    # Comparisons have another dtype than their operands; those of bools have none.
    assert ran >= 1 or name in CANCELLING or not computes_in_place(name), "no kernel ran"


COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge", "not_equal", "less", "less_equal", "greater", "greater_equal"}


def computes_in_place(name):
    """Whether the operator returns the dtype of floats that it takes."""
    base = name.removeprefix("aten::").partition(".")[0]
    return base not in COMPARISONS and not base.startswith("logical_")


CALLS = {
    "a.mul_(w)": True,
    "a.add_(w, alpha=2).sigmoid_()": True,
    "a.clamp_(-0.5, 0.5).neg_()": True,
    "a.masked_fill_(w > 0, 2.5)": True,
    "a.add_(1).mul_(a).sub_(w)": True,
    "a.relu_() + a": True,
    "a.gt_(w)": False,
    "a.add_(w.double())": False,
}


@pytest.mark.parametrize("call", CALLS)
def test_chains(call):
    """Of layouts: the result is laid out as what is written to."""
    script, eager = both(f"def f(x: Tensor, w: Tensor):\n  a = x.clone()\n  b = {call}\n  return a, b * 2, a == b\n")
    x, w = torch.randn(6, 7), torch.randn(1, 7)
    for a in layouts(x):
        before = launches()
        for found, expected in zip(script(a, w), eager(a, w), strict=True):
            assert found.dtype == expected.dtype and found.stride() == expected.stride()
            torch.testing.assert_close(found, expected)
        assert launches() > before or not CALLS[call]


@pytest.mark.parametrize(
    "call, x, w",
    [
        ("a.add_(w)", torch.ones(3), torch.ones(2, 3)),
        ("a.add_(w)", torch.ones(3), torch.ones(4)),
        ("a.add_(w)", torch.ones(3, dtype=torch.int64), torch.ones(3)),
        ("a.div_(w)", torch.ones(3, dtype=torch.int64), torch.ones(3, dtype=torch.int64)),
        ("a.mul_(1.5)", torch.ones(3, dtype=torch.int64), torch.ones(3)),
        ("a.sigmoid_()", torch.ones(3, dtype=torch.int64), torch.ones(3)),
        ("a.expand(2, 3).add_(w)", torch.ones(3), torch.ones(3)),
    ],
)
def test_errors(call, x, w):
    """Eager's, in the order in which they come."""
    script, eager = both(f"def f(x: Tensor, w: Tensor):\n  a = x.clone()\n  b = {call}\n  return b * 2 + 1\n")
    with pytest.raises(RuntimeError) as expected:
        eager(x, w)
    for _ in range(3):
        with pytest.raises(RuntimeError) as found:
            script(x, w)
        assert str(found.value).endswith(str(expected.value))


KEPT = {
    "a result": "  y = x @ w\n  z = (y + 1).relu()\n  return y, z\n",
    "an element of a list": "  y = x @ w\n  kept = [y]\n  z = (y + 1).relu()\n  return kept[0], z\n",
    "a view": "  y = x @ w\n  v = y[0]\n  z = (y + 1).relu()\n  return v, z\n",
    "what a view is of": "  y = x @ w\n  z = (y[0] + 1).relu()\n  return y, z\n",
    "an input": "  z = (x + 1).relu()\n  return x, z\n",
    "an operand twice": "  y = x @ w\n  z = (y + 1).relu() * y.t()\n  return z, z\n",
    "another layout": "  y = (x @ w).t()\n  z = (y + 1).relu() * x\n  return z, z\n",
    "carried by a loop": (
        "  y = x @ w\n  z = y\n  for i in range(3):\n    before = y\n    y = (y + 1).relu() @ w\n    z = before\n  return y, z\n"
    ),
    "an operand of a later one": "  y = x @ w\n  z = (y + 1).relu() @ y\n  return z, y * 2\n",
    "a reshaped one": "  y = (x @ w).view(-1)\n  z = (y + 1).relu()\n  return z, y\n",
    "zeros": "  y = torch.zeros(4, 4)\n  z = (y + x).relu() @ w\n  return z, z + 1\n",
    "two results": "  y = x @ w\n  z = y + 1\n  return z, z * y\n",
}


@pytest.mark.parametrize("kind", KEPT)
def test_what_is_used_afterwards_stays(kind):
    script, eager = both(f"def f(x: Tensor, w: Tensor):\n{KEPT[kind]}")
    x, w = torch.randn(4, 4), torch.randn(4, 4)
    given = x.clone(), w.clone()
    for kernels in ("check", "now"):
        with cresset.options.override(kernels=kernels):
            for _ in range(4):
                for found, expected in zip(script(x, w), eager(x, w), strict=True):
                    torch.testing.assert_close(found, expected)
                assert torch.equal(x, given[0]) and torch.equal(w, given[1])


KEPT_BY_PYTHON = []


@torch.jit.ignore
def keep(x: torch.Tensor) -> int:
    KEPT_BY_PYTHON.append(x)
    return 1


def test_what_python_keeps_stays():
    def f(x: torch.Tensor, w: torch.Tensor):
        y = x @ w
        n = keep(y)
        return (y + n).relu() * 2

    script = cresset.script(f)
    x, w = torch.randn(4, 4), torch.randn(4, 4)
    with cresset.options.override(kernels="now"):
        for _ in range(3):
            torch.testing.assert_close(script(x, w), (x @ w + 1).relu() * 2)
    assert all(torch.equal(kept, x @ w) for kept in KEPT_BY_PYTHON)
    KEPT_BY_PYTHON.clear()


def test_what_gradients_need_stays():
    script, eager = both(
        "def f(x: Tensor, w: Tensor):\n  y = x @ w\n  z = y.sigmoid() * 2\n  return (z @ w).tanh().sum()\n"
    )
    with cresset.options.override(kernels="now"), torch.enable_grad():
        for _ in range(4):
            found = [torch.randn(4, 4, generator=torch.Generator().manual_seed(i)).requires_grad_() for i in range(2)]
            expected = [v.detach().clone().requires_grad_() for v in found]
            script(*found).backward()
            eager(*expected).backward()
            for a, b in zip(found, expected, strict=True):
                torch.testing.assert_close(a.grad, b.grad)
