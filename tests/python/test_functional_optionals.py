"""Writes of graphs to tensors that may be None: arguments, what one branch has made, attributes. Functionalized, they do what they
did; None stays None. Lists of sizes that come in."""

import pytest
import torch
from functional_programs import flat, memory
from test_functionalize import compare, functionalized, mutations, nodes_of, same

import cresset

#: Of x: Tensor and m: Optional[Tensor].
PROGRAMS = {
    "an argument": "y = x * 2\n  if m is not None:\n    m.add_(1)\n    y.mul_(m)\n  return y, m",
    "a part": "assert m is not None\n  m[0].add_(x[0])\n  v = m.t()\n  v[1].mul_(v[0])\n  return m * 2, v",
    "in a loop": "for i in range(3):\n    if m is not None:\n      m[i].copy_(x[i] + 1)\n      m.mul_(2)\n  return x if m is None else m + x",
    "after a return": "if m is None:\n    return x\n  m.relu_()\n  m.sin_()\n  return m.cos()",
    "made in one branch": "h: Optional[Tensor] = None\n  if bool(x.sum() > 0):\n    h = x * 3\n  if h is not None:\n    h.add_(1)\n"
    "    h[0].mul_(h[1])\n    if m is not None:\n      m.mul_(h)\n    return h\n  return x",
    "twice": "if m is not None:\n    m.add_(x)\n  y = x * 2\n  if m is not None:\n    y = y + m\n    m.mul_(y)\n  return y",
    "both": "if m is not None:\n    x.add_(m)\n    m.copy_(x * 2)\n  x.mul_(3)\n  return x + 1",
    "out": "if m is not None:\n    torch.mul(x, 2, out=m)\n  return x",
    "no_grad": "if m is not None:\n    with torch.no_grad():\n      m.mul_(2)\n    return x * m\n  return x * 1",
    "no_grad, a part": "if m is not None:\n    with torch.no_grad():\n      m[1].mul_(x[0])\n  return x * 1, m",
    "another branch": "y = x * 1\n  if bool(x.sum() > 0):\n    if m is not None:\n      m.neg_()\n      y = m + x\n  elif m is not None:\n    m.exp_()\n  return y, m",
    "one for each": "o: Optional[Tensor] = None\n  if bool(x.sum() > 0):\n    o = x * 2\n  else:\n    o = x - 1\n  if m is not None:\n    o += m\n    m -= 1\n  return o",
    "unchanged in a loop": "k = m\n  s = x * 0\n  for i in range(3):\n    if k is not None:\n      s += k\n      k.add_(i)\n  return s, k",
    "resized": "o: Optional[Tensor] = None\n  if bool(x.sum() > 0):\n    o = torch.empty([0])\n  if o is not None:\n    torch.add(x, 1, out=o)\n  return o",
}  # fmt: skip
#: Whose gradients eager refuses.
WITHOUT_GRADIENTS = {"out", "resized"}
INPUTS = {"positive": torch.arange(9.0).view(3, 3), "negative": -torch.arange(9.0).view(3, 3)}


def arguments(inputs, given):
    return [INPUTS[inputs].clone(), torch.full((3, 3), 0.5) if given else None]


def forms(name, **options):
    return functionalized(
        f"def f(x: Tensor, m: Optional[Tensor]):\n  {PROGRAMS[name]}\n", distinct_inputs=True, **options
    )


def agree(plain, functional, inputs, given):
    first, second = arguments(inputs, given), arguments(inputs, given)
    for _ in range(3):
        try:
            expected = plain(*first)
        except Exception:
            with pytest.raises(Exception, match="AssertionError"):
                functional(*second)
            return
        results = functional(*second)
        assert (expected is first[1]) == (results is second[1])
        all_expected, all_results = flat([expected, first]), flat([results, second])
        assert len(all_expected) == len(all_results)
        assert all(same(a, b) for a, b in zip(all_expected, all_results, strict=True))
        assert memory(all_expected) == memory(all_results)


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, inputs, given):
    plain, functional = forms(name)
    assert cresset.functional.writes_left(functional.graph, distinct_inputs=True) == []
    agree(plain, functional, inputs, given)
    graph = functional.graph.copy()
    cresset.passes.reinplace(graph, distinct_inputs=True)
    agree(plain, cresset.function_from_graph("reinplaced", graph), inputs, given)


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in WITHOUT_GRADIENTS])
def test_gradients(name, given):
    plain, functional = forms(name)

    def gradients(function):
        x, m = arguments("positive", given)
        leaves = [t.requires_grad_() for t in (x, m) if t is not None]
        try:
            results = flat(function(x * 1, m * 1 if given else None))
            return torch.autograd.grad(sum(t.sum() * i for i, t in enumerate(results, 1)), leaves, allow_unused=True)
        except Exception as error:
            return str(error).splitlines()[-1]

    for _ in range(3):
        expected, found = gradients(plain), gradients(functional)
        if isinstance(expected, str):  # of writes to what was kept, which there are none of in the functional program
            assert found == expected or "modified by an inplace operation" in expected
            continue
        for a, b in zip(expected, found, strict=True):
            assert (a is None) == (b is None)
            torch.testing.assert_close(a, b)


@pytest.mark.parametrize("given", [True, False])
def test_leaves_written_without_gradients(given):
    """A parameter that may be None: it keeps its place on the tape."""
    plain, functional = forms("no_grad, a part")
    for _ in range(2):
        outcomes = []
        for function in (plain, functional):
            x, m = arguments("positive", given)
            m = m.requires_grad_() if given else None
            result, same_m = function(x, m)
            assert same_m is m
            if given:
                assert m.is_leaf and m.requires_grad
                outcomes.append(torch.autograd.grad((m * x).sum(), m)[0])
            outcomes.append(m)
            outcomes.append(result)
        half = len(outcomes) // 2
        for a, b in zip(outcomes[:half], outcomes[half:], strict=True):
            assert a is b or torch.equal(a, b)


class Gate(torch.nn.Module):
    scale: torch.Tensor | None

    def __init__(self, scale):
        super().__init__()
        self.register_buffer("scale", scale)
        self.count: torch.Tensor = torch.zeros(1)

    def forward(self, x, m: torch.Tensor | None = None):
        scale = self.scale
        if m is not None:
            self.count.add_(1)
            m.mul_(self.count)
            x = x + m
        if scale is not None:
            scale.add_(1)
            x = x * scale
        return x


@pytest.mark.parametrize("scale", [None, 2.0])
def test_attributes(scale):
    module = lambda: cresset.script(Gate(None if scale is None else torch.full((3,), scale)))  # noqa: E731
    plain, changed = module(), module()
    graph = changed.forward.inlined_graph.copy()
    assert cresset.passes.functionalize(graph, distinct_inputs=True) == []
    assert {kind for kind in mutations(graph)} <= {"cresset::copy_if_written_", "aten::copy_"}
    pure = cresset.function_from_graph("forward", graph)
    for given in (True, True, False):
        x, m = arguments("positive", given)
        y, n = arguments("positive", given)
        assert torch.equal(plain(x, m), pure(changed, y, n))
        assert m is n or torch.equal(m, n)
        assert torch.equal(plain.count, changed.count)
        assert scale is None or torch.equal(plain.scale, changed.scale)


def test_an_argument_that_may_be_another_one():
    """Without the promise, both may be one tensor."""
    unit = cresset.CompilationUnit(
        "def f(x: Tensor, m: Optional[Tensor]):\n  if m is not None:\n    m.add_(1)\n  return x * 2"
    )
    assert any("distinct_inputs" in reason for reason in cresset.functional.writes_left(unit.f.graph))
    assert cresset.functional.writes_left(unit.f.graph, distinct_inputs=True) == []


def test_without_views():
    for name in ("an argument", "in a loop", "twice", "both"):
        plain, functional = forms(name, remove="mutations_and_views")
        views = [node.kind() for node in nodes_of(functional.graph) if node.kind() in ("aten::select", "aten::t")]
        assert views == []
        for given in (True, False):
            x, m = arguments("positive", given)
            y, n = arguments("positive", given)
            for a, b in zip(flat([plain(x, m), x, m]), flat([functional(y, n), y, n]), strict=True):
                assert torch.equal(a, b)


SIZES = {
    "view": "y = x * 2\n  z = y.view(sizes)\n  z[0].add_(1)\n  return y, z",
    "unflatten": "y = x.view(-1) * 2\n  z = y.unflatten(0, sizes)\n  z[1].mul_(3)\n  return y",
    "an argument": "z = x.view(sizes)\n  z.t()[0].add_(1)\n  return x, z",
    "split": "y = x * 2\n  for p in y.view(-1).split(sizes):\n    p.add_(1)\n  return y",
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_that_come_in(name):
    plain, functional = functionalized(f"def f(x: Tensor, sizes: List[int]):\n  {SIZES[name]}\n")
    for sizes in ([4, 6], [12, 12]):
        for _ in range(2):
            fits = sum(sizes) == 24 if name == "split" else sizes == [4, 6]
            raises = None if fits else "split" if name == "split" else "size"
            compare(plain, functional, lambda sizes=sizes: [torch.arange(24.0).view(3, 8), list(sizes)], raises)


def test_sizes_that_the_program_changes():
    unit = cresset.CompilationUnit(
        "def f(x: Tensor, sizes: List[int]):\n  y = x * 2\n  z = y.view(sizes)\n  sizes.append(1)\n  z.add_(1)\n  return y"
    )
    assert cresset.functional.writes_left(unit.f.graph) != []
