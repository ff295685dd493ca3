"""Rows of torch_jit_behaviours.py: blocks that scripts leave to Python."""

import torch
from torch import nn
from torch_jit_behaviours import X, row

# ruff: noqa: F841


@row("module")
def block_that_python_runs(J):
    class M(nn.Module):
        def forward(self, x: torch.Tensor):
            a: int = 4
            b: int = 5
            c: int = 0
            d: int = 6
            with torch.jit._IgnoreContextManager(a="inp:int", b="inp:int", c="out:int", d="out:int"):
                values = [2 for i in range(a) if i > 2]
                try:
                    c = values[0] + a + b
                    # A comment.
                    d = {"nine": (lambda: 9)()}["nine"]
                finally:
                    pass
            names = ["x"]
            with torch.jit._IgnoreContextManager(names="inp:List[str]", joined="out:str", x="inp:torch.Tensor"):
                joined = "-".join(names + [str(tuple(x.shape))])
            for i in range(3):
                with torch.jit._IgnoreContextManager(c="inp:int", i="inp:int", d="out:int"):
                    d = c * i
            with torch.jit._IgnoreContextManager(joined="inp:str"):
                print("seen", joined)
            return c, d, joined

    m = M()
    return m(X), J.script(m)(X)


@row("module")
def block_that_python_runs_with_wrong_kinds(J):
    class M(nn.Module):
        def forward(self, x: torch.Tensor):
            a: int = 4
            with torch.jit._IgnoreContextManager(a="inp:int", b="out:int"):
                b = "text"
            return b

    return last_line_or_value(lambda: J.script(M())(X))


def last_line_or_value(f):
    try:
        return f()
    except RuntimeError as error:
        return "expected value of type int" in str(error)


@row("module")
def block_that_python_runs_raises(J):
    class M(nn.Module):
        def forward(self, x: torch.Tensor):
            a: int = 4
            with torch.jit._IgnoreContextManager(a="inp:int"):
                raise ZeroDivisionError("gone")
            return a

    try:
        J.script(M())(X)
    except Exception as error:
        return type(error).__name__, "gone" in str(error)
