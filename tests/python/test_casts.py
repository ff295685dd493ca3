"""Casts that programs write themselves: compiled code believes types, so a cast that lies must raise.

Archives have `unchecked_cast(T, x)` where their compiler has shown that x is a T; anyone can write an archive.
"""

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from test_archives import rewritten

import cresset

#: Types, and for each what a program may do with a value of it.
USES = {
    "int": ["y + 1", "[1, 2, 3][y]", "torch.ones([y])"],
    "float": ["y * 2.0"],
    "bool": ["not y"],
    "str": ["y + 'a'", "len(y)", "y.upper()"],
    "Tensor": ["y + 1", "y.dim()", "len(y)"],
    "Device": ["y.type"],
    "List[int]": ["len(y)", "y[0]", "y.append(1)", "y + y", "y.pop()", "y.sort()", "y.clear()", "sum(y)", "1 in y", "y[0:1]"],
    "List[Tensor]": ["len(y)", "y[0]", "y.append(torch.ones(1))", "torch.cat(y)", "torch.stack(y)"],
    "Dict[int, int]": ["len(y)", "y[1]", "list(y.keys())", "list(y.items())", "y.get(1)", "y.setdefault(1, 1)", "y.clear()", "y.update(y)", "y.copy()", "1 in y"],
    "Dict[str, Tensor]": ["y['a']", "list(y.values())", "y.pop('a')"],
    "Tuple[Tensor, Tensor, Tensor]": ["y[2]", "y[0]", "y", "len(y)"],
    "Tuple[int, int]": ["y[1]", "y[0] + y[1]"],
    "Named": ["y.c", "y.a"],
    "Holder": ["y.third", "y.first", "y.method()"],
    "Other": ["y.only"],
    "Optional[int]": ["y is None"],
    "Optional[List[int]]": ["y is None"],
    "Future[Tensor]": ["torch.jit.wait(y)"],
}  # fmt: skip
#: Expressions, and the types that their values are of.
VALUES = {
    "4919": {"int", "Optional[int]"},
    "1.5": {"float"},
    "True": {"bool"},
    "'abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz'": {"str"},
    "x": {"Tensor"},
    "x.device": {"Device"},
    "[1, 2]": {"List[int]", "Optional[List[int]]"},
    "[x, x]": {"List[Tensor]"},
    "{1: 2}": {"Dict[int, int]"},
    "{'a': x}": {"Dict[str, Tensor]"},
    "(x,)": set(),
    "(x, x, x)": {"Tuple[Tensor, Tensor, Tensor]"},
    "(1, 2)": {"Tuple[int, int]"},
    "Named(x, x, x)": {"Named", "Tuple[Tensor, Tensor, Tensor]"},
    "Holder(x)": {"Holder"},
    "Other(x)": {"Other"},
    "None": {"Optional[int]", "Optional[List[int]]"},
    "torch.jit.fork(double, x)": {"Future[Tensor]"},
}
CLASSES = """
class Named(NamedTuple):
    a: Tensor
    b: Tensor
    c: Tensor

class Holder:
    first: Tensor
    second: List[Tensor]
    third: Tensor
    def __init__(self, x: Tensor):
        self.first = x
        self.second = [x]
        self.third = x + 1
    def method(self):
        return self.third + self.first

class Other:
    only: Tensor
    def __init__(self, x: Tensor):
        self.only = x

def double(x: Tensor):
    return x * 2
"""
REFUSED = "a cast to"


def outcome(source):
    """What three calls give: later ones run plans."""
    f = cresset.CompilationUnit(CLASSES + source).f
    found = []
    for _ in range(3):
        try:
            found.append(str(f(torch.ones(2))))
        except RuntimeError as error:
            found.append(str(error))
    return "\n".join(found)


def casts(wide):
    """Every cast of a value of type `wide` whose type says nothing of it."""
    wrong = []
    for wanted, uses in USES.items():
        for value, types in VALUES.items():
            for use in uses:
                text = f"def f(x: Tensor):\n    y = unchecked_cast({wanted}, annotate({wide}, {value}))\n    return {use}\n"
                found = outcome(text)
                # A tuple of three tensors may be taken for a named one by its structure.
                if (wanted in types) == (REFUSED in found) and (wanted, value) != ("Named", "(x, x, x)"):
                    wrong.append(f"{text}{found[-300:]}")
    return wrong


#: For a child process: a fault in one of them ends it.
CHILD = "import test_casts\nprint('\\n'.join({call}), flush=True)"


def in_child(call):
    done = subprocess.run(
        [sys.executable, "-c", CHILD.format(call=call)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def test_casts_of_values_of_any_type():
    assert in_child('test_casts.casts("Any")') == ""


def union_casts():
    wrong = []
    for value, other in (("[1]", "Dict[int, int]"), ("{1: 2}", "List[int]")):
        text = (
            f"def f(x: Tensor):\n    y = unchecked_cast({other}, annotate(Union[List[int], Dict[int, int]], {value}))\n"
            "    y[1] = 2\n    return len(y)\n"
        )
        if REFUSED not in outcome(text):
            wrong.append(text)
    for use in ("len(y)", "y.append(1)", "y[0]"):
        text = f"def f(x: Tensor):\n    z: Optional[List[int]] = None\n    y = unchecked_cast(List[int], z)\n    return {use}\n"
        if "None" not in outcome(text):
            wrong.append(text)
        text = text.replace("unchecked_cast(List[int], z)", "torch.ops.prim.unchecked_unwrap_optional(z)")
        if "None" not in outcome(text):
            wrong.append(text)
    return wrong


def test_casts_of_unions_and_optionals():
    assert in_child("test_casts.union_casts()") == ""


class Identity(torch.nn.Module):
    def forward(self, x):
        return x


def with_body(lines):
    """An archive whose forward has these lines."""

    def change(name, record):
        if name.endswith(".debug_pkl"):
            return None
        if name != "code/__torch__/test_casts.py":
            return record
        head = record[: record.index(b"    return x")].replace(b" -> Tensor", b"")
        return head + "".join(f"    {line}\n" for line in lines).encode()

    return rewritten(cresset.script(Identity()).save_to_buffer(), change)


def uninitialized():
    for wanted, uses in USES.items():
        for use in uses:
            module = cresset.load(with_body([f"y = uninitialized({wanted})", f"return {use}"]))
            for _ in range(3):
                with contextlib.suppress(RuntimeError):
                    module(torch.ones(2))
    return []


def test_values_that_were_never_set_end_no_process():
    assert in_child("test_casts.uninitialized()") == ""


def test_casts_that_a_test_has_shown_cost_nothing():
    """As archives write them."""
    unit = cresset.CompilationUnit(
        """
def f(x: Optional[Tensor], y: Any, z: Optional[int]):
    _0 = torch.__isnot__(x, None)
    if _0:
        x0 = unchecked_cast(Tensor, x)
    else:
        x0 = torch.ones([1])
    if torch.__not__(torch.__is__(z, None)):
        z0 = unchecked_cast(int, z)
    else:
        z0 = 0
    _1 = isinstance(y, List[int])
    if _1:
        y0 = unchecked_cast(List[int], y)
        n = len(y0)
    else:
        n = 0
    return x0, n, z0
"""
    )
    text = str(unit.f.graph)
    assert text.count("prim::isinstance") == 1 and "_unwrap_optional" not in text and "RaiseException" not in text
    assert unit.f(torch.ones(2), [1, 2], 3)[1:] == (2, 3) and unit.f(None, "a", None)[1:] == (0, 0)


@pytest.mark.parametrize("test", ["a is not None", "not (a is None)"])
def test_a_test_of_another_value_shows_nothing(test):
    f = cresset.CompilationUnit(
        f"""
def f(a: Optional[List[int]], b: Optional[List[int]]):
    if {test}:
        y = unchecked_cast(List[int], b)
    else:
        y = unchecked_cast(List[int], a)
    return len(y)
"""
    ).f
    for arguments in (([1], None), (None, [1])) * 2:
        with pytest.raises(RuntimeError, match="[Uu]nwrap"):
            f(*arguments)
    assert f([1], [1, 2]) == 2
