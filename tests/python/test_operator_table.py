"""The operator table (src/cresset/ops/table): rows that name operators, and what is generated from them."""

import os
import subprocess
import sys
from pathlib import Path

import torch

from cresset import _C

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("CRESSET_COMMAND", ROOT / "build" / "release" / "bin" / "cresset")).parent


def test_rows_name_operators_once():
    errors = _C._table_errors()
    # Rows may be for operators that other versions of PyTorch have.
    if not torch.__version__.startswith("2.13"):
        errors = [error for error in errors if not error.endswith("no such operator")]
    assert errors == []


def test_document():
    result = subprocess.run(
        [sys.executable, ROOT / "tools" / "tables.py", "--check"], capture_output=True, text=True, env=os.environ
    )
    assert result.returncode == 0, result.stderr


def opt(*arguments):
    command = BIN / "cresset-opt"
    return subprocess.run([command, *arguments], capture_output=True, text=True)


def test_operator():
    text = opt("--operator", "aten::split").stdout
    assert "facts: each(view(self, sliced(self, dim, 1)))" in text
    assert text.endswith("aten::split, all overloads\n  overload order: Tensor sizes\n  traced sizes: SizeParts\n")
    assert "untrusted programs: it ends the process for some arguments" in opt("--operator", "aten::lcm").stdout
    assert "gradient: self: grad * self.cos()" in opt("--operator", "aten::sin").stdout


def test_unknown_operator():
    result = opt("--operator", "aten::no_such")
    assert result.returncode == 1
    assert "there is no operator 'aten::no_such'" in result.stderr
