"""Derivative rules whose numbers (dimensions, sizes, flags) are parameters of the program, so that no rule sees a constant."""

import ast

import pytest
import torch
from derivative_calls import CALLS, INDEX, MASK
from test_derivatives import LETTERS, NOT_TWICE, arguments_of

import cresset
from cresset import _C


class _Numbers(ast.NodeTransformer):
    """Replaces numbers by names; `types` and `values` are theirs."""

    def __init__(self):
        self.types, self.values = {}, []

    def visit_Constant(self, node):
        kind = type(node.value)
        if kind not in (int, float, bool):
            return node
        name = f"n{len(self.values)}"
        self.types[name] = kind.__name__
        self.values.append(node.value)
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            return self.visit_Constant(ast.copy_location(ast.Constant(-node.operand.value), node))
        return self.generic_visit(node)

    def visit_Subscript(self, node):
        return node  # which element of a tuple, or a size, is known by its place


def cases():
    seen = {}
    for name, calls in CALLS.items():
        for expression, *tensors in calls:
            numbers = _Numbers()
            *statements, last = expression.split("; ")
            text = ast.unparse(numbers.visit(ast.parse(last)))
            if numbers.values and not statements:
                seen.setdefault((name, text), (numbers, tensors))
    return [(name, text, numbers, tensors) for (name, text), (numbers, tensors) in seen.items()]


CASES = cases()


def both(text, numbers, tensors):
    parameters = [f"{letter}: Tensor" for letter, tensor in zip(LETTERS, tensors, strict=False) if tensor is not None]
    parameters += [f"{name}: {kind}" for name, kind in numbers.types.items()]
    source = f"def f({', '.join(parameters)}, m: Tensor, i: Tensor):\n    a = a * 0.5\n    r = {text}\n    return r * 2.0 + 1.0\n"
    namespace = {"torch": torch, "Tensor": torch.Tensor}
    exec(source.replace("torch._grad_sum_to_size", "torch.Tensor.sum_to_size"), namespace)
    return cresset.CompilationUnit(source).f, namespace["f"]


def gradients(function, numbers, tensors, order):
    arguments, wanted = arguments_of(tensors, torch.float64)
    torch.manual_seed(0)
    results = [function(*arguments, *numbers.values, MASK, INDEX)]
    kept = list(results)
    for _ in range(order):
        total = sum((r * (r.detach() + 1)).sum() for r in results if r.requires_grad)
        if not isinstance(total, torch.Tensor):
            break
        results = torch.autograd.grad(total, wanted, create_graph=True, allow_unused=True)
        results = [torch.zeros_like(a) if r is None else r for r, a in zip(results, wanted, strict=True)]
        kept += results
    return kept


@pytest.mark.parametrize("case", range(len(CASES)), ids=[f"{name}-{text}" for name, text, *_ in CASES])
def test_rule(case):
    name, text, numbers, tensors = CASES[case]
    try:
        script, eager = both(text, numbers, tensors)
    except cresset.CompileError:
        pytest.skip("an argument that scripts take as a constant only")
    order = 1 if name in NOT_TWICE else 2
    expected = gradients(eager, numbers, tensors, order)
    _C._set_plans_always(True)  # and errors of the optimizer are raised
    try:
        for _ in range(2):
            for found, wanted in zip(gradients(script, numbers, tensors, order), expected, strict=True):
                torch.testing.assert_close(found, wanted, equal_nan=True, rtol=1e-6, atol=1e-8)
    finally:
        _C._set_plans_always(False)
    assert not cresset.explain(script).errors
