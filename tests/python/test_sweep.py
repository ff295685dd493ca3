"""One sample of every entry of op_db, as text; sweep.py takes all of them, and traces and modules too."""

import io

import pytest

pytest.importorskip("expecttest", reason="PyTorch's own op_db needs it")

import sweep
import torch
from op_database import op_db


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", op_db, ids=sweep.op_name)
def test_op(op):
    dtypes = [dtype for dtype in (torch.float32, torch.int64, torch.bool) if dtype in op.supported_dtypes("cpu")][:1]
    listed = sweep.listed()
    counted = 0
    for name, counts, wrong in sweep.check_op(op, ["scripted"], dtypes, first=True):
        if counts and not any(sweep.is_listed(name, row) for row in listed):
            counted += 1
            assert wrong is None, f"{name}: {wrong}"
    if not counted:
        pytest.skip("torch.jit does none of it")


def test_the_sweep_sees_what_is_wrong(monkeypatch):
    """A program that returns something else is reported, and fails the run unless it is listed."""
    wrong = {"made": "def f(i0): return i0 + 1\n", torch.jit: "def f(i0): return i0 - 1\n"}

    def scripted(tool, text):
        return tool.CompilationUnit(wrong["made"] if tool is sweep.cresset else text).f

    monkeypatch.setattr(sweep, "scripted", scripted)
    for listed, unlisted in (({}, 1), ({"scripted neg float32 0 function": "a reason"}, 0)):
        monkeypatch.setattr(sweep, "listed", lambda listed=listed: listed)
        monkeypatch.setattr(
            sweep, "texts_of", lambda op, sample: [("function", "def f(i0):\n    return -i0\n", [torch.ones(2)])]
        )
        output = io.StringIO()
        failed, fixed = sweep.sweep(["scripted"], [torch.float32], True, ["neg"], output)
        assert len(failed) == unlisted and not fixed
        assert "scripted neg float32 0 function" in output.getvalue() and "results" in output.getvalue()
        assert "torch.jit does 1, of which Cresset 0" in output.getvalue()
