"""PYTORCH_JIT=0: programs run as the Python code that they are, as under torch.jit."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import torch
import cresset

jit = torch.jit if sys.argv[1] == "torch.jit" else cresset


def f(x):
    return x + eval("1")          # which no script could do


class Old(jit.ScriptModule):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))

    @jit.script_method
    def forward(self, x):
        return eval("x") * self.weight


module = torch.nn.Linear(2, 2)
print(jit.script(f) is f, jit.trace(f, (torch.ones(2),)) is f, jit.script(module) is module)
print(jit.trace(module, torch.ones(2)) is module, jit.trace_module(module, {"forward": torch.ones(2)}) is module)
print(jit.script(f)(torch.ones(2)), Old()(torch.ones(2)).tolist(), isinstance(Old(), torch.nn.Module))
print(jit.CompilationUnit("def g(x: int):\\n    return x + 1\\n").g(1))
"""


@pytest.mark.parametrize("value, off", [("0", True), ("false", True), ("no", True), ("1", False)])
def test_the_variable(tmp_path, value, off):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    results = [
        subprocess.run(
            [sys.executable, file, engine], env=os.environ | {"PYTORCH_JIT": value}, capture_output=True, text=True
        )
        for engine in ("torch.jit", "cresset")
    ]
    theirs, ours = results
    assert theirs.stdout == ours.stdout and (theirs.returncode == 0) == (ours.returncode == 0) == off
