"""Caches that callers' data can grow stay bounded (docs/caches.md), and what they forget is made again."""

import gc
import random
import subprocess
import sys
import threading

import torch

import cresset
from cresset import _C

NAMES = [f"x{i}" for i in range(16)]


def products():
    """A function of 16 tensors, whose gradients differ."""
    lines = [f"    {name} = torch.tanh({name}) * {i + 1}.0" for i, name in enumerate(NAMES)]
    text = (
        f"def f({', '.join(NAMES)}):\n" + "\n".join(lines) + f"\n    return {' + '.join(f'{n} * {n}' for n in NAMES)}\n"
    )
    return cresset.CompilationUnit(text).f


def masks(count, seed=0):
    generator = random.Random(seed)
    return [sorted(generator.sample(range(16), generator.randint(1, 15))) for _ in range(count)]


def check(function, leaves, wanted):
    found = torch.autograd.grad(function(*leaves).sum(), [leaves[i] for i in wanted])
    for i, gradient in zip(wanted, found, strict=True):
        t = torch.tanh(leaves[i])
        torch.testing.assert_close(gradient, 2 * (i + 1) ** 2 * t * (1 - t * t))


def test_gradient_functions_per_mask():
    gc.collect()
    before = _C._num_gradient_functions()
    function = products()
    leaves = [torch.randn(3, requires_grad=True) for _ in NAMES]
    for wanted in masks(150):
        check(function, leaves, wanted)
    assert 16 <= _C._num_gradient_functions() - before <= 32
    del function
    gc.collect()
    assert _C._num_gradient_functions() == before


def test_regions_per_inputs_that_require_gradients():
    function = products()
    for n, requiring in enumerate(masks(80, seed=1)):
        leaves = [torch.randn(3, requires_grad=i in requiring) for i in range(16)]
        wanted = [i for i in requiring if n % 2 or i % 2] or requiring
        check(function, leaves, wanted)


def test_rules_are_specialized_once_per_kind_of_call():
    """Each layer calls einsum and layer_norm in the same way, forwards and backwards: that costs planning no more than one."""

    def layers(count):
        body = "".join(
            "    x = x + torch.layer_norm(torch.einsum('eci,ij->ecj', x, w), [3], None, None, 1e-3).exp()\n"
            for _ in range(count)
        )
        return cresset.CompilationUnit(f"def f(x, w):\n{body}    return x.sum()\n").f

    def specialized(count):
        function = layers(count)
        before = _C._num_specialized_rules()
        for _ in range(3):
            x, w = torch.randn(4, 2, 3, requires_grad=True), torch.randn(3, 3, requires_grad=True)
            function(x, w).backward()
            grads = x.grad, w.grad
            x.grad = w.grad = None
        assert all(grad is not None for grad in grads)
        return _C._num_specialized_rules() - before

    first = specialized(2)
    assert first >= 3
    assert specialized(20) <= 2  # what sums over more layers than two have, if anything
    assert specialized(2) == 0


def test_gradient_functions_are_forgotten_while_others_run_them():
    function = products()
    failures = []

    def work(seed):
        try:
            leaves = [torch.randn(3, requires_grad=True) for _ in NAMES]
            for wanted in masks(40, seed):
                check(function, leaves, wanted)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def ranks(function):
    """The ranks of the first arguments that there are plans for."""
    return {plan.inputs[0].count("*") for plan in cresset.explain(function).plans}


def test_plans_make_room_for_kinds_that_come_often():
    text = "def f(x: Tensor):\n    y = torch.tanh(x) * 2\n    z = torch.sigmoid(y) + x\n    return z * y - x\n"
    function = cresset.CompilationUnit(text).f

    def call(rank):
        x = torch.randn([1] * rank)
        y = torch.tanh(x) * 2
        torch.testing.assert_close(function(x), (torch.sigmoid(y) + x) * y - x)

    for rank in (0, *range(16)):
        call(rank)
    assert ranks(function) == set(range(16))
    for rank in range(16, 20):
        call(0)
        for _ in range(32):
            call(rank)
        assert rank in ranks(function)
    assert ranks(function) == {0, *range(5, 20)}
    assert len(cresset.explain(function).plans) == 16


def test_plans_are_forgotten_while_others_run_them():
    text = "def f(x: Tensor, n: int):\n    for i in range(n):\n        x = torch.tanh(x) * 2 + i\n    return x\n"
    function = cresset.CompilationUnit(text).f
    failures = []

    def work(seed):
        try:
            for i in range(600):
                x = torch.ones([1] * ((i * 7 + seed * 5) % 23))
                assert function(x, 20).dim() == x.dim()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    plans = cresset.explain(function).plans
    assert len([plan for plan in plans if not plan.where]) == 16
    assert len([plan for plan in plans if plan.where]) <= 4  # of its loop


TEXTS = """
import torch, cresset

class Module(torch.nn.Module):
    def __init__(self, mode: str):
        super().__init__()
        self.mode = mode
    def forward(self, x):
        y = torch.tanh(x) * 2
        if self.mode == "m0" or self.mode == "m4999":
            y = y + 1
        return y * x - torch.sigmoid(y)

module = cresset.script(Module("m0"))
x = torch.ones(2)
expected = {}
for plus in (0, 1):
    y = torch.tanh(x) * 2 + plus
    expected[plus] = y * x - torch.sigmoid(y)
for i in range(5000):
    module.mode = f"m{i}"
    assert torch.equal(module(x), expected[i in (0, 4999)]), i
module.mode = "m0"
assert torch.equal(module(x), expected[1])
"""


def test_texts_of_attributes(tmp_path):
    """In a process of its own: it uses up the table."""
    file = tmp_path / "texts.py"
    file.write_text(TEXTS)
    subprocess.run([sys.executable, file], check=True)


def test_layouts_that_kernels_take():
    function = cresset.CompilationUnit("def f(x, y):\n    z = torch.relu(x * y) + 1\n    return z * x - y\n").f

    def call(count):
        x, y = torch.randn(count, 3), torch.randn(count, 3)
        torch.testing.assert_close(function(x, y), (torch.relu(x * y) + 1) * x - y)

    with cresset.options.override(kernels="now", plans="always"):
        for _ in range(2):
            for count in range(2, 200):
                call(count)
            call(2)
        (plan,) = cresset.explain(function).plans
    layouts = [line for line in plan.kernels if " of " in line and "x3" in line]
    assert 64 <= len(layouts) <= 80
    assert any(" 2x3" in line for line in layouts) and not any(" 100x3" in line for line in layouts)


def test_sizes_of_temporaries():
    class Module(torch.nn.Module):
        def forward(self, x, y):
            z = torch.tanh(x @ y)
            return torch.sigmoid(z @ z).sum(0)

    module = Module().eval()
    static = cresset.static_module(cresset.freeze(cresset.script(module)), memory_policy="precomputed")
    generator = random.Random(0)
    for _ in range(300):
        n, k = generator.randint(1, 40), generator.randint(1, 40)
        x, y = torch.randn(n, k), torch.randn(k, n)
        torch.testing.assert_close(static(x, y), module(x, y))
