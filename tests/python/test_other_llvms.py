"""Kernels beside other compilers in the process that bring an LLVM of their own: the symbols of each stay its own, whichever is loaded first."""

import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import cresset

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


def test_what_the_compiler_of_kernels_needs_of_the_system():
    """LLVM is linked in whole: a machine has to bring what every Linux has, none of the libraries that LLVM may use."""
    library = next(iter(pathlib.Path(cresset.__file__).parents[2].glob("lib/libcresset_llvm.so")), None)
    if library is None or shutil.which("readelf") is None:
        pytest.skip("not run from a build, or without binutils")
    dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    needed = set(re.findall(r"NEEDED.*\[([a-z_+0-9-]+)\.so", dynamic))
    system = {"libstdc++", "libm", "libgcc_s", "libc", "ld-linux-x86-64", "librt", "libdl", "libpthread", "libz"}
    assert needed <= system | {"libcresset", "libtorch_cpu", "libc10", "libtorch", "libasan", "libubsan", "libtsan"}
    exported = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    names = [line.split()[-1] for line in exported.stdout.splitlines()]
    assert names == ["cresset_create_kernel_compiler"]
