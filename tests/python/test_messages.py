"""What a new user's mistakes are answered with: the way out, in words of the program that they wrote."""

from typing import Any, Dict, List, Tuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import cresset

CACHE: Dict[str, int] = {}
NAMES: List[str] = []
RATES: "Dict[str, float]" = {"a": 1}


def appends_an_int(x: Tensor):
    found = []
    found.append(1)
    return found


def appends_a_tuple(x: Tensor):
    found = []
    for i in range(3):
        found.append((x, i))
    return found


def sets_an_int(x: Tensor):
    table = {}
    table[1] = x
    return table


def numpy_function(x: Tensor):
    return np.mean(x)


def numpy_builtin(x: Tensor):
    return np.array([1.0])


def numpy_method(x: Tensor):
    return x.numpy()


def opens(path: str):
    with open(path) as f:
        return f.read()


def misspelled_name(value: Tensor):
    return valeu + 1  # noqa: F821


def misspelled_builtin(value: List[int]):
    return lenn(value)  # noqa: F821


def misspelled_method(x: Tensor):
    return x.rehsape(2)


def misspelled_list_method(xs: List[int]):
    xs.apend(1)


def misspelled_keyword(x: Tensor):
    return torch.cumsum(x, dmi=1)


def helper(first: int, second: int = 2) -> int:
    return first + second


def misspelled_own_keyword(x: int):
    return helper(x, secnd=3)


class Misspelled(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return self.weihgt * x


class TooMany(nn.Module):
    def forward(self, x):
        return self.helper(x, 1, 2)

    def helper(self, x, n: int):
        return x


class Point:
    def __init__(self, x: int):
        self.x = x


def too_many_for_a_class(n: int):
    return Point(n, 2).x


def bare_dict(x: Dict):
    return x


SCRIPTS = [
    (appends_an_int, "An empty list is a List[Tensor] unless it is annotated where it is made: found: List[int] = []"),
    (appends_a_tuple, "found: List[Tuple[Tensor, int]] = []"),
    (
        sets_an_int,
        "An empty dict is a Dict[str, Tensor] unless it is annotated where it is made: table: Dict[int, Tensor] = {}",
    ),
    (numpy_function, "Scripts have no NumPy"),
    (numpy_builtin, "Scripts have no NumPy"),
    (numpy_method, "Scripts have no NumPy"),
    (opens, "Scripts can't open files: read the file outside of the script"),
    (misspelled_name, "undefined value valeu; did you mean 'value'?"),
    (misspelled_builtin, "undefined value lenn; did you mean 'len'?"),
    (misspelled_method, "object has no attribute or method 'rehsape'. Did you mean 'reshape'?"),
    (misspelled_list_method, "object has no attribute or method 'apend'. Did you mean 'append'?"),
    (misspelled_keyword, "Keyword argument dmi unknown; did you mean 'dim'?"),
    (misspelled_own_keyword, "Keyword argument secnd unknown; did you mean 'second'?"),
    (Misspelled(), "Module 'Misspelled' has no attribute 'weihgt' (did you mean 'weight'?)"),
    (TooMany(), "Expected at most 3 arguments but found 4 positional arguments"),
    (too_many_for_a_class, "Expected at most 2 arguments but found 3 positional arguments"),
    (bare_dict, "Attempted to use Dict without contained types. Please add contained type, e.g. Dict[int, int]"),
]


@pytest.mark.parametrize("program, said", SCRIPTS, ids=lambda p: getattr(p, "__name__", type(p).__name__))
def test_scripts(program, said):
    with pytest.raises(cresset.CompileError) as caught:
        cresset.script(program)
    assert said in caught.value.message


def test_unlike_names_are_not_suggested():
    with pytest.raises(cresset.CompileError) as caught:
        cresset.CompilationUnit("def f(x: Tensor):\n  return x.quux(y)")
    assert "mean" not in caught.value.message


def test_calls():
    function = cresset.script(helper)
    with pytest.raises(
        cresset.UserError, match="keyword argument 'secnd' for operator 'helper'; did you mean 'second'?"
    ):
        function(1, secnd=3)
    module = cresset.script(nn.ReLU())
    with pytest.raises(cresset.UserError, match=r"expected at most 1 argument\(s\) but received 2 argument\(s\)"):
        module(torch.ones(1), 2)


@pytest.mark.parametrize("program", [helper, nn.ReLU()], ids=["function", "module"])
def test_traces_need_inputs(program):
    with pytest.raises(RuntimeError, match="needs inputs to run the function with"):
        cresset.trace(program)


# ---- globals say their types


def looks_up(key: str) -> int:
    if key in CACHE:
        return CACHE[key]
    return len(NAMES)


def rate(key: str) -> float:
    return RATES[key]


def test_annotations_of_globals_are_read():
    looked_up = cresset.script(looks_up)
    assert "Dict(str, int)" in str(looked_up.graph) and "str[]" in str(looked_up.graph)
    assert looked_up("a") == 0
    assert cresset.script(rate)("a") == 1.0
    assert isinstance(cresset.script(rate)("a"), float)


# ---- what Python spells with special methods


def items(
    x: Tensor, xs: List[int], d: Dict[str, int], s: str, t: Tuple[int, str]
) -> Tuple[Tensor, int, int, str, str, int, int]:
    return (
        x.__getitem__(1),
        xs.__getitem__(-1),
        d.__getitem__("a"),
        s.__getitem__(0),
        t.__getitem__(1),
        xs.__len__(),
        x.__len__(),
    )


def test_special_methods():
    args = (torch.arange(3), [1, 2], {"a": 3}, "text", (1, "b"))
    assert cresset.script(items)(*args) == items(*args)
    with pytest.raises(cresset.CompileError, match=r"write x\[…\] for other indices"):
        cresset.CompilationUnit("def f(x: Tensor):\n  return x.__getitem__((0, 1))")


def new_holder(value):
    """Of a class of its own: torch.jit can't compile one again that it refused."""

    class Holds(nn.Module):
        def __init__(self):
            super().__init__()
            self.held = value

        def forward(self, x):
            return x + len(self.held)

    return Holds()


class CallsHeld(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.held = value

    def forward(self, x):
        for layer in self.held:
            x = layer(x)
        return x


class SetsHeld(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.held = value

    def forward(self, x):
        self.held = x
        return x


def takes_any(x: Any) -> int:
    return 1


LIST = "List inputs to traced functions must have consistent element type. Found int and str"
DICT = "Dictionary inputs to traced functions must have consistent type. Found int and str"


@pytest.mark.parametrize(
    "value, theirs, ours",
    [
        ([1, "a"], LIST, "the elements of a list are of one type in scripts"),
        ({"a": 1, "b": "c"}, DICT, "the values of a dict are of one type in scripts"),
        ({"a": 1, 2: 2}, DICT.replace("int and str", "str and int"), "the keys of a dict are of one type in scripts"),
        ([], "List trace inputs must have elements", "an empty list does not show what type its elements have"),
        ({}, "Dictionary inputs must have entries", "an empty dict does not show the types of keys and values"),
        ({1, 2}, "but instead got value of type set", "scripts have no type for an object of class 'set'"),
    ],
    ids=repr,
)
def test_values_that_show_no_type(value, theirs, ours):
    """torch.jit's phrases speak of traces where nothing is traced; what is meant comes after them."""
    for jit in (torch.jit, cresset):
        said = [message_of(lambda: jit.script(new_holder(value))), message_of(lambda: jit.script(takes_any)(value))]
        for message in said:
            assert theirs in message, message
            assert (ours in message) == (jit is cresset), message


def message_of(action):
    with pytest.raises(RuntimeError) as caught:
        action()
    return str(caught.value)


@pytest.mark.parametrize(
    "value, container",
    [
        ([nn.Linear(1, 1)], "ModuleList"),
        ((nn.Linear(1, 1), nn.ReLU()), "ModuleList"),
        ({"a": nn.Linear(1, 1)}, "ModuleDict"),
    ],
)
def test_modules_in_python_containers(value, container):
    message = message_of(lambda: cresset.script(CallsHeld(value)))
    assert f"put them into an nn.{container}." in message and "failed to convert Python type" in message


def test_attributes_that_were_none():
    for jit in (torch.jit, cresset):
        message = message_of(lambda: jit.script(SetsHeld(None)))
        assert "Wrong type for attribute assignment. Expected NoneType but got Tensor" in message
    assert "annotate it in the class's body, `held: Optional[Tensor]`" in message

    source = "class Box:\n  def __init__(self):\n    self.held = None\n  def put(self, x: Tensor):\n    self.held = x\n"
    message = message_of(lambda: cresset.CompilationUnit(source))
    assert "annotate it there, `self.held: Optional[Tensor] = None`" in message


def test_what_torch_compile_made():
    compiled = torch.compile(nn.Linear(1, 1))
    with pytest.raises((RuntimeError, ValueError)):
        torch.jit.script(compiled)
    for module in (compiled, nn.Sequential(nn.ReLU(), compiled)):
        message = message_of(lambda: cresset.script(module))
        assert "torch.compile made of a 'Linear'" in message and "script the original module" in message


def unlike(f):
    return f


@unlike
def wrong_at_its_end(x: int):
    y = x
    return y + "a"


@unlike
def next_one():
    pass


def test_pictures_end_where_functions_do():
    """As torch.jit's, which is given the function's text alone."""
    for jit in (torch.jit, cresset):
        message = message_of(lambda: jit.script(wrong_at_its_end))
        assert "y + " in message and "unlike" not in message and "next_one" not in message, message
    source = "def f(x: int):\n  y = (\n    x)\n\n  return y + 'a'\n\ndef g(x: int):\n  return x\n"
    message = message_of(lambda: cresset.CompilationUnit(source))
    assert "    x)" in message and "def g" not in message
    source = "def g(x: int):\n  return x\ndef f(\n  x: Nothing,\n) -> int:\n  return x\ndef h():\n  pass\n"
    message = message_of(lambda: cresset.CompilationUnit(source))
    assert "def g" not in message and ") -> int:" in message and "return x" in message and "def h" not in message


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        cresset.load(tmp_path / "none.pt")
    assert type(caught.value) is cresset.ArchiveNotFoundError and isinstance(caught.value, cresset.ArchiveError)
    with pytest.raises(IsADirectoryError) as caught:
        cresset.load(tmp_path)
    assert type(caught.value) is cresset.ArchiveIsADirectoryError and isinstance(caught.value, cresset.ArchiveError)
