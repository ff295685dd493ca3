"""Backward passes compute from indices and masks that operators were given or have returned. Where a program writes to one afterwards, on whatever
way, its backward pass raises as eager PyTorch's does: after the call, within it by `autograd.grad`, and by `backward()`."""

import itertools

import pytest
import torch

import cresset

OPERATORS = {
    "max": "y, i = torch.max(x, -1)",
    "sort": "y, i = torch.sort(x, -1)",
    "topk": "y, i = torch.topk(x, 2, -1)",
    "cummax": "y, i = torch.cummax(x, -1)",
    "max_pool1d": "y, i = torch.max_pool1d_with_indices(x, [2])",
    "gather": "i = k.clone()\n  y = x.gather(-1, i)",
    "index": "i = k[0].clone()\n  y = x[i]",
    "masked_fill": "i = k > 0\n  y = x.masked_fill(i, 0.5) * 2",
    "where": "i = k > 0\n  y = torch.where(i, x, x * 3)",
    "mul of ints": "i = k.clone()\n  y = x * i",
    "mul": "i = k.float()\n  y = x * i",
}
WRITES = {
    "at once": "i.fill_(1)",
    "in a branch": "if n > 0:\n    i.fill_(1)",
    "in a loop": "for q in range(n):\n    i.fill_(1)",
    "in a loop of a branch": "if n > 0:\n    for q in range(n):\n      i[0] = 1",
    "to a view": "i.view(-1)[0:2].fill_(1)",
    "detached": "i.detach().fill_(1)",
    "out": "torch.eq(i, i, out=i)",
    "assignment": "i[...] = 1",
    "list": "torch._foreach_zero_([i])",
}
ENDS = {
    "outside": "return y.sum() * 2 + (y * y).sum()",
    "grad": "g = torch.autograd.grad([y.sum() * 2 + (y * y).sum()], [x])[0]\n  assert g is not None\n  return g",
    "backward": "l = y.sum() * 2 + (y * y).sum()\n  l.backward()\n  return l",
}


def gradient(function, end, n):
    torch.manual_seed(0)
    x, k = torch.randn(4, 4, requires_grad=True), torch.tensor([[0, 1, 2, 3]] * 4)
    try:
        result = function(x, k, n)
        return torch.autograd.grad(result, x)[0] if end == "outside" else x.grad if end == "backward" else result
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error)
        return None


@pytest.mark.parametrize("operator", OPERATORS)
def test_writes(operator):
    ran = raised = 0
    for (write, line), (end, last) in itertools.product(WRITES.items(), ENDS.items()):
        text = f"def f(x: Tensor, k: Tensor, n: int):\n  {OPERATORS[operator]}\n  z = y * 3 + 1\n  {line}\n  {last}\n"
        scope = {"torch": torch, "Tensor": torch.Tensor}
        exec(text.replace("torch.max_pool1d_with_indices", "torch.ops.aten.max_pool1d_with_indices"), scope)
        script = cresset.CompilationUnit(text).f
        captured = cresset.compile(scope["f"])
        for n in (1, 0, 1, 1):
            expected = gradient(scope["f"], end, n)
            for form in (script, captured):
                found = gradient(form, end, n)
                assert (expected is None) == (found is None), (write, end, n)
                assert expected is None or torch.equal(expected, found), (write, end, n)
            ran, raised = ran + (expected is not None), raised + (expected is None)
    assert ran >= 9 and raised >= 60
