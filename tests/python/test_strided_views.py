"""Views that compiled code makes by sizes and strides (column STRIDED of the operator table), beside eager PyTorch's: sizes,
strides, place in memory, elements, exceptions; and that what leaves a program is a view to autograd."""

import itertools

import pytest
import torch

import cresset

# An expression over x and the other arguments, their types, and the values that they get.
DIMS = (-4, -3, -1, 0, 1, 2, 3)
CASES = {
    "x.permute(d)": (
        "d: List[int]",
        [([1, 0],), ([0, 1],), ([2, 0, 1],), ([0, -1, 1],), ([0, 0],), ([3, 1, 2, 0],), ([],)],
    ),
    "x.transpose(a, b)": ("a: int, b: int", list(itertools.product(DIMS, (-2, 0, 1)))),
    "x.swapaxes(a, b)": ("a: int, b: int", [(0, 1), (0, 5)]),
    "x.swapdims(a, b)": ("a: int, b: int", [(0, 1), (-1, 0)]),
    "x.t()": ("", [()]),
    "x.mT": ("", [()]),
    "x.unsqueeze(a)": ("a: int", [(d,) for d in (*DIMS, -5, 4, 5)]),
    "x.squeeze(a)": ("a: int", [(d,) for d in DIMS]),
    "x.select(a, b)": ("a: int, b: int", list(itertools.product(DIMS, (0, 1, -1, 4, -5)))),
    "x[a:b:c]": (
        "a: Optional[int], b: Optional[int], c: int",
        [(0, 2, 1), (1, None, 2), (None, -1, 1), (-2, None, 1), (3, 1, 1), (-9, 9, 3), (0, 2, 0), (1, 2**62, 2**62)],
    ),
    "x[:, a:b]": ("a: Optional[int], b: Optional[int]", [(0, 1), (1, None), (None, -1)]),
    "x.narrow(a, b, c)": (
        "a: int, b: int, c: int",
        list(itertools.product((0, -1, 2), (0, 1, -1, 5, -9), (0, 1, 2, -1))),
    ),
    "x.view(d)": (
        "d: List[int]",
        [([-1],), ([6],), ([2, -1],), ([-1, 1, 2],), ([0],), ([-1, -1],), ([-2],), ([3, 2],), ([],)],
    ),
    "x.reshape(d)": ("d: List[int]", [([-1],), ([6],), ([2, -1],), ([0],), ([3, 2],), ([24],)]),
    "x.expand(d)": (
        "d: List[int]",
        [
            ([2, 3],),
            ([-1, -1],),
            ([5, 2, 3],),
            ([-1, 2, 3],),
            ([4, -1, -1, -1],),
            ([3],),
            ([0, -1, -1],),
            ([],),
            ([-2, 3],),
        ],
    ),
    "x.expand_as(torch.zeros(d))": ("d: List[int]", [([2, 3],), ([5, 2, 3],), ([2, 3, 4],), ([1],)]),
    "x.view_as(torch.zeros(d))": ("d: List[int]", [([6],), ([3, 2],), ([24],), ([0],)]),
    "x.reshape_as(torch.zeros(d))": ("d: List[int]", [([6],), ([3, 2],), ([24],), ([0],)]),
    "x.flatten(a, b)": ("a: int, b: int", list(itertools.product((0, 1, -2, 3), (-1, 0, 1, 2)))),
    "x.contiguous()": ("", [()]),
    "x.detach()": ("", [()]),
}
LISTS = {
    "x.chunk(a, b)": ("a: int, b: int", list(itertools.product((1, 2, 3, 7, 0, -1), (0, 1, -1, 4)))),
    "x.split(a, b)": ("a: int, b: int", list(itertools.product((1, 2, 5, 0, -1), (0, 1, -1, 4)))),
    "x.split(d, b)": ("d: List[int], b: int", list(itertools.product(([1, 1], [2], [0, 2], [1, 2], [3, -1], [1, 1, 1]), (0, 1, -2)))),
    "x.split_with_sizes(d, b)": ("d: List[int], b: int", [([1, 1], 0), ([1, 2], 1), ([2], 5)]),
    "x.unbind(a)": ("a: int", [(d,) for d in DIMS]),
}  # fmt: skip


def tensors():
    base = torch.arange(24.0).reshape(2, 3, 4)
    yield from (torch.tensor(3.0), torch.arange(6.0), torch.arange(6.0).view(2, 3), torch.arange(6.0).view(3, 2).t())
    yield from (base, base.permute(2, 0, 1), base[1:, ::2, 1:3], base[:, 1], torch.arange(3.0).expand(2, 3))
    yield from (torch.zeros(0), torch.zeros(2, 0, 3), torch.zeros(1, 1, 1), torch.arange(12).view(2, 1, 3, 2)[:, :, 1:])
    yield from (base.to_sparse(), torch.arange(6.0).view(2, 3).to(torch.complex64).conj())


BODY = """
def f(x: Tensor, {parameters}) -> List[Tuple[List[int], List[int], int, Tensor]]:
    y = {expression}
    result: List[Tuple[List[int], List[int], int, Tensor]] = []
    {loop}
        k = i.size()
        result.append((k, i.stride(), i.storage_offset(), torch.exp(i * 2) - i))
    return result
"""


def outcome(call, *args):
    try:
        return call(*args)
    except Exception as error:
        return type(error)


def eager(expression, names):
    code = compile(expression, expression, "eval")

    def call(x, *args):
        y = eval(code, {"torch": torch}, {"x": x, **dict(zip(names, args, strict=True))})
        found = y if isinstance(y, (tuple, list)) else [y]
        return [(list(i.shape), list(i.stride()), i.storage_offset(), torch.exp(i * 2) - i) for i in found]

    return call


def same(found, expected):
    if isinstance(found, type) or isinstance(expected, type):
        return isinstance(found, type) and isinstance(expected, type)
    if len(found) != len(expected):
        return False
    for a, b in zip(found, expected, strict=True):
        if a[:3] != b[:3] or a[3].dtype != b[3].dtype or not torch.equal(a[3].to_dense(), b[3].to_dense()):
            return False
    return True


@pytest.mark.parametrize("expression", [*CASES, *LISTS])
def test_views_are_those_of_eager(expression):
    is_list = expression in LISTS
    parameters, values = (LISTS if is_list else CASES)[expression]
    loop = "for i in y:" if is_list else "for i in [y]:"
    script = cresset.CompilationUnit(BODY.format(parameters=parameters, expression=expression, loop=loop)).f
    names = [part.split(":")[0].strip() for part in parameters.split(",") if ":" in part]
    reference = eager(expression, names)
    taken = 0
    for args in values:
        for x in tensors():
            expected = outcome(reference, x, *args)
            found = [outcome(script, x, *args) for _ in range(3)]
            assert all(same(each, expected) for each in found), (expression, x.shape, x.stride(), args, found, expected)
            taken += not isinstance(expected, type)
    assert taken  # not only refusals


def test_views_inside_are_no_calls():
    def program(x, w):
        a, b = x.t().chunk(2, 0)
        return torch.mm(a.t(), w.unsqueeze(0)[0]) + b.reshape(-1).view(2, 2).transpose(0, 1), x.t()

    x, w = torch.randn(2, 4), torch.randn(2, 2)
    static = cresset.static_module(cresset.script(program))
    for _ in range(3):
        found = static(x, w)
    torch.testing.assert_close(found, program(x, w))
    kinds = [(node.what.partition(".")[0], node.kind) for node in static.report().plans[0].nodes]
    views = ("aten::chunk", "aten::unsqueeze", "aten::select", "aten::reshape", "aten::view", "aten::transpose")
    assert {kind for what, kind in kinds if what in views} == {"native"}
    assert sorted(kind for what, kind in kinds if what == "aten::t") == ["fallback", "native", "native"]
    run = static.runtime().benchmark_individual_ops(x, w, main_runs=1)  # what the instructions are
    assert sorted(op.kind for op in run.ops if op.what == "aten::t") == ["fallback", "native", "native"]


def test_views_that_leave_are_views_to_autograd():
    @cresset.script
    def program(x, w):
        y = x.t() * 2
        z = x.t()[0]
        return z, (z.unsqueeze(0) + y).sum() + w.sum()

    x, w = torch.randn(3, 3), torch.randn(3, requires_grad=True)
    for _ in range(3):
        z, _ = program(x, w)
        assert z._is_view() and z._base is x
    z.add_(w)
    assert x.requires_grad
    x.sum().backward()
    assert torch.equal(w.grad, torch.ones(3))


def test_writes_in_the_program_reach_views():
    def program(x, w):
        y = x.t()
        v = y.unsqueeze(0)
        x.add_(w)  # makes x, and with it its views, depend on w
        return (v * 2).sum() + (y * 3).sum()

    script = cresset.script(program)
    for _ in range(3):
        w, other = torch.randn(3, requires_grad=True), None
        script(torch.ones(3, 3), w).backward()
        other = w.detach().clone().requires_grad_()
        program(torch.ones(3, 3), other).backward()
        assert torch.equal(w.grad, other.grad)


def test_gradients_through_inner_views():
    def program(x, w):
        a, b = (x.t() @ w.reshape(4, -1).t()).split(2, 1)
        return (a.expand(3, -1, -1).flatten(0, 1) * b.unsqueeze(0).squeeze(0).repeat(3, 1)).sum()

    script = cresset.script(program)
    for requiring in itertools.product((True, False), repeat=2):
        for _ in range(3):
            x, w = (torch.randn(4, 4, requires_grad=r) for r in requiring)
            found = script(x, w)
            assert torch.equal(found, program(x, w))
            if any(requiring):
                inputs = [v for v in (x, w) if v.requires_grad]
                for a, b in zip(
                    torch.autograd.grad(found, inputs), torch.autograd.grad(program(x, w), inputs), strict=True
                ):
                    torch.testing.assert_close(a, b)


def test_forward_mode_goes_through():
    script = cresset.script(views_and_numbers)
    for _ in range(3):
        x, t = torch.randn(3, 2), torch.randn(3, 2)
        found = torch.func.jvp(script, (x,), (t,))
        expected = torch.func.jvp(views_and_numbers, (x,), (t,))
        torch.testing.assert_close(found, expected)
        found = torch.func.vmap(script)(x)
        torch.testing.assert_close(found, torch.func.vmap(views_and_numbers)(x))


def views_and_numbers(x):
    y = x.unsqueeze(-1).transpose(0, -1)
    return (y * 2 + y.reshape(-1).sum()).exp()
