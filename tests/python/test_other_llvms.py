"""Kernels beside other compilers in the process that bring an LLVM of their own: the symbols of each stay its own, whichever is loaded first."""

import importlib.util
import subprocess
import sys

import pytest

#: What each compiles and runs or, without a GPU, translates to PTX.
OTHERS = {
    "numba": """
import numba, numpy

def other():
    @numba.njit
    def f(x):
        total = 0.0
        for k in range(x.shape[0]):
            total += numpy.exp(x[k])
        return total
    assert abs(f(numpy.zeros(1000)) - 1000) < 1e-9
""",
    "triton": """
import tempfile, os, sys
import triton, triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

def other():
    signature = {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    source = ASTSource(double, signature=signature, constexprs={"BLOCK": 128})
    compiled = triton.compile(source, target=GPUTarget("cuda", 80, 32))
    assert ".visible .entry double" in compiled.asm["ptx"]
""",
}

PROGRAM = """
import torch
import cresset

def f(x, y):
    return torch.tanh(x * y) + torch.exp(-x) * y

def ours():
    script = cresset.script(f)
    before = cresset._C._kernel_counts()[1]
    with cresset.options.override(kernels="now", plans="always", numerics="default"):
        for size in (5, 100):
            x, y = torch.rand(size), torch.rand(size)
            for _ in range(2):
                assert torch.allclose(script(x, y), f(x, y), rtol=1e-5)
    assert cresset._C._kernel_counts()[1] > before
"""


@pytest.mark.parametrize("first", ["ours", "other"])
@pytest.mark.parametrize("name", OTHERS)
def test_both_compile(name, first, tmp_path):
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    file = tmp_path / "program.py"
    calls = "ours(); other(); ours(); other()" if first == "ours" else "other(); ours(); other(); ours()"
    # What is imported first loads its library first.
    parts = [PROGRAM, OTHERS[name]] if first == "ours" else [OTHERS[name], PROGRAM]
    file.write_text("\n".join([*parts, calls.replace("; ", "\n")]))
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, env=None)
    assert done.returncode == 0, done.stderr[-4000:]
