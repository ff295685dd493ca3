"""The operators of functional graphs that are Cresset's own, called where tensors have no memory to look at: within live programs, and
under transforms. They do what they do with plain tensors."""

import pytest
import torch
from functional_programs import FUNCTIONAL, IMPORTS, REINPLACED, compile_text, flat, graph_forms

import cresset

#: A program whose graph has the operator once it is functionalized; of reinplaced ones, then.
PROGRAMS = {
    "cresset::add": "a = x * 2\n  a.add_(y)\n  return a",
    "cresset::copy": "a = x * 2\n  a[1].copy_(y[0])\n  return a",
    "cresset::functional_aten_pow_": "a = x * 2\n  a[0].pow_(2)\n  return a",
    "cresset::functional_aten__foreach_add_": "a = x * 2\n  torch._foreach_add_([a[0], a[1]], 1)\n  return a",
    "cresset::with_elements": "a = x * y\n  with torch.no_grad():\n    a[0].mul_(3)\n  return a * a",
    "cresset::apart_from": "if n > 1:\n    x.add_(y)\n  x.mul_(y)\n  return x * 2",
    "aten::clone": "x.mul_(y)\n  return x * 2",
    "cresset::check_overlap": "x[1:].sub_(x[0])\n  return x * y",
    "cresset::check_overlap of parts": "x[1:].sub_(x[:1])\n  x[0].mul_(x[2])\n  return x * y",
    "cresset::check_overlap that raises": "x[1:].sub_(x[:-1])\n  return x * y",
    "cresset::check_overlap of views of one dimension": "v = x.view(-1)\n  v[6:].add_(v[:6])\n  v[2:8].add_(v[4:10])\n  return v",
    "cresset::check_overlap of one tensor": "x.add_(x)\n  x.t().mul_(x.t())\n  return x * y",
    "cresset::no_grad_copy_": "with torch.no_grad():\n    x.mul_(3)\n  return y * 2",
    "cresset::copy_if_written_": "if n > 1:\n    x.add_(1)\n  return y * 2",
    "cresset::copy_if_written_ of what is not": "if n > 5:\n    x.add_(1)\n  return y * 2",
    "reinplaced cresset::slice_assign": "a = x * 2\n  a[1:].add_(y[1:])\n  b = a * 1\n  a[1:].mul_(y[1:])\n  return a, b",
    "reinplaced cresset::select_assign": "a = x * 2\n  a[1].add_(y[1])\n  b = a * 1\n  a[1].mul_(y[1])\n  return a, b",
}


def forms_of(name):
    """Eager, and the graph that has the operator."""
    text = f"def f(x: Tensor, y: Tensor, n: int):\n  {PROGRAMS[name]}\n"
    is_reinplaced = name.startswith("reinplaced ")
    form = graph_forms(text, distinct_inputs=True)[REINPLACED if is_reinplaced else FUNCTIONAL]
    operator = name.removeprefix("reinplaced ").split(" ")[0]
    return compile_text(IMPORTS + text), form, operator


def outcome(function, make):
    given = make()
    try:
        results = flat(function(*given))
    except Exception as error:
        return str(error).splitlines()[-1].removeprefix("RuntimeError: ")
    return [(t.tolist(), t.stride()) for t in (*results, *given)]


def make():
    return torch.arange(12.0).view(4, 3), torch.arange(12.0, 24.0).view(4, 3)


@pytest.mark.parametrize("name", PROGRAMS)
def test_within_live_programs(name):
    eager, form, operator = forms_of(name)
    assert operator in str(form.graph), form.graph
    expected = outcome(lambda x, y: eager(x, y, 2), make)
    assert isinstance(expected, str) == ("raises" in name)
    for _ in range(3):
        assert outcome(lambda x, y: form(x, y, 2), make) == expected
        found = outcome(cresset.functionalize(lambda x, y: form(x, y, 2)), make)
        assert found == expected
        # What the program made and wrote before.
        found = outcome(cresset.functionalize(lambda x, y: form(x.mul_(1), y.add_(0), 2)), make)
        assert found == expected
        nested = cresset.functionalize(cresset.functionalize(lambda x, y: form(x, y, 2)))
        assert outcome(nested, make) == expected


@pytest.mark.parametrize("name", PROGRAMS)
def test_under_transforms(name):
    eager, form, _ = forms_of(name)

    def batch():
        return tuple(torch.stack([t, t + 1]) for t in make())

    def mapped(function):
        return outcome(torch.vmap(lambda x, y: function(x, y, 2)), batch)

    def derived(function):
        def total(x, y):
            return sum(t.sum() for t in flat(function(x * 1, y * 1, 2)))

        return outcome(torch.func.grad(total, argnums=(0, 1)), make)

    for transformed in (mapped, derived):
        expected = transformed(eager)
        assert isinstance(expected, str) == ("raises" in name), expected
        for _ in range(3):
            assert transformed(form) == expected
            assert transformed(lambda *given: cresset.functionalize(form)(*given)) == expected
