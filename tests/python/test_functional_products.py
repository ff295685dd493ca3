"""All in-place operators that PyTorch's op_db knows, on views of all kinds: values, strides, aliasing, and gradients, in both forms.

``python tests/python/test_functional_products.py`` runs the whole product: all arguments that fit, arguments and what is computed, with
and without gradients.
"""

import sys

import pytest
import torch
from functional_programs import ERASED, IMPORTS, Outcome, compile_text, differences, graph_forms, says
from op_database import op_db

import cresset

VIEWS = {
    "whole": "a",
    "t": "a.t()",
    "slice": "a[:, 1:5]",
    "steps": "a[::2]",
    "row": "a[1]",
    "column": "a[:, 2]",
    "diagonal": "a.diagonal()",
    "unsqueeze": "a.unsqueeze(0)",
    "view": "a.view(4, 9)",
    "unbind": "a.unbind(0)[2]",
    "chunk": "a.chunk(2, 1)[1]",
    "movedim": "a.view(2, 3, 6).movedim(0, 2)",
    "parts of pairs": "torch.view_as_real(torch.view_as_complex(a.view(6, 3, 2)))",
    "of a view": "a[1:5].t()[1:3]",
    "element": "a[2, 3]",
}
#: In which order they are tried: the first that eager takes is what an operator is called with.
ARGUMENTS = (
    "", "w", "0.5", "w, w", "2", "0", "0, 0", "0, 1", "1, 0", "w > 0.3, 0.5", "w > 0.3, w", "0, i, 1.0", "0, i, v[:1]", "0.1, 0.6", "i", "True",
    "0, 1, 0.5",
)  # fmt: skip
#: Operators with names that op_db lacks.
MORE = {"normal_", "uniform_", "exponential_", "random_", "bernoulli_", "geometric_", "cauchy_", "log_normal_", "clamp_max_", "clamp_min_",
        "sgn_", "index_fill_", "index_add_", "index_copy_", "masked_fill_", "masked_scatter_", "fill_diagonal_", "tril_", "triu_", "copy_"}  # fmt: skip
#: They change sizes, strides or what is written to; test_functionalize.py has them.
CHANGE_SIZES = {
    "as_strided_",
    "resize_",
    "resize_as_",
    "squeeze_",
    "unsqueeze_",
    "transpose_",
    "swapaxes_",
    "swapdims_",
    "t_",
    "detach_",
}


def operators():
    names = {getattr(op.inplace_variant, "__name__", "") for op in op_db if torch.float32 in op.dtypes}
    return sorted(name for name in names | MORE if name and hasattr(torch.Tensor, name) and name not in CHANGE_SIZES)


def program(view, name, given, start):
    return (
        f"def f(x: Tensor, y: Tensor, i: Tensor):\n  a = {start}\n  sibling = a[0]\n  v = {VIEWS[view]}\n"
        f"  w = v.detach() * 0.5 + 0.1\n  r = v.{name}({given})\n  return a, v, r, sibling, v * 2, {VIEWS[view]}\n"
    )


def arguments(requires_grad):
    x = torch.linspace(0.05, 0.95, 36).view(6, 6)
    x.requires_grad_(requires_grad)
    return x, ((x * 1 if requires_grad else x), torch.ones(()), torch.tensor([0]))


def gradients(outcome, leaf):
    """Of each result by what the argument was computed of, or the error."""
    found = []
    for tensor in outcome.tensors:
        if not tensor.requires_grad or not tensor.is_floating_point():
            continue
        try:
            weights = torch.arange(1.0, tensor.numel() + 1).view(tensor.shape).mul(0.1)
            found.append(torch.autograd.grad((tensor * weights).sum(), leaf, retain_graph=True, allow_unused=True)[0])
        except RuntimeError as error:
            found.append(error)
    return found


def told(text, with_gradients):
    """Differences of all forms from eager; None if eager raises or the program can't be scripted."""
    eager = compile_text(IMPORTS + text)
    leaf, given = arguments(with_gradients)
    expected = Outcome(eager, given)
    if expected.error is not None:
        return None
    grads = gradients(expected, leaf)
    try:
        _, functional, reinplaced = graph_forms(text)
    except cresset.CompileError:
        functional = reinplaced = None
    lines = []
    for name, form in (("graph", functional), ("reinplaced", reinplaced), ("live", cresset.functionalize(eager))):
        if form is None:
            continue
        leaf, given = arguments(with_gradients)
        found = Outcome(form, given)
        if name == "reinplaced" and says(found.error, ERASED):
            continue
        lines += [f"{name}: {line}" for line in differences(expected, found, ("bits", "memory"))]
        for a, b in zip(grads, gradients(found, leaf) if not lines else grads, strict=True):
            if isinstance(a, RuntimeError) and says(a, ERASED) or name == "reinplaced" and says(b, ERASED):
                continue
            if isinstance(a, RuntimeError) or isinstance(b, RuntimeError):
                same = str(a) == str(b)
            else:
                zero = torch.zeros(())
                same = torch.allclose(zero if a is None else a, zero if b is None else b, 1e-4, 1e-5, equal_nan=True)
            if not same:
                lines.append(f"{name}: gradients {a} and {b}")
    return lines


def compared(view, name, start, with_gradients, every=False):
    """How many programs ran, and differences."""
    count, lines = 0, []
    for given in ARGUMENTS:
        text = program(view, name, given, start)
        found = told(text, with_gradients)
        if found is None:
            continue
        count += 1
        lines += [text + "\n" + line for line in found]
        if not every:
            break
    return count, lines


@pytest.mark.parametrize("view", VIEWS)
def test_in_place_operators_of_views(view):
    """Each with the first arguments that fit; in turn of arguments and what is computed, with gradients and without."""
    counts, lines = 0, []
    for number, name in enumerate(operators()):
        turn = number + list(VIEWS).index(view)
        count, found = compared(view, name, "x" if turn % 2 else "x * y", turn % 4 > 1)
        counts += count
        lines += found
    assert not lines, "\n".join(lines[:3])
    assert counts > 45, counts


def main():
    count, failed = 0, 0
    for view in VIEWS:
        for name in operators():
            for start in ("x", "x * y"):
                for with_gradients in (False, True):
                    ran, lines = compared(view, name, start, with_gradients, every=True)
                    count, failed = count + ran, failed + len(lines)
                    print("\n".join(lines), end="\n" if lines else "", flush=True)
    print(f"{count} programs, {failed} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    cresset.options.numerics = "exact"  # as conftest.py
    sys.exit(main())
