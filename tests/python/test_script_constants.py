"""Lists and dicts of Python that scripts reach by name: they may be read, and a change is an error on its line."""

import types
from typing import Dict, List, Tuple

import pytest
import torch
from torch import nn

import cresset

NUMBERS = [1, 2, 3]
TABLE = {"a": 1}
NESTED = {"a": [1], "b": [2]}
PAIR = ([1], 2)
COUNT = 3
config = types.ModuleType("config")
config.numbers = [1, 2]


def appends(n: int):
    NUMBERS.append(n)  # error: NUMBERS


def sets(n: int):
    NUMBERS[0] = n  # error: NUMBERS


def extends(n: int):
    xs = NUMBERS
    xs += [n]  # error: NUMBERS


def pops() -> int:
    return NUMBERS.pop()  # error: NUMBERS


def updates():
    TABLE.update({"b": 2})  # error: TABLE


def sets_key(n: int):
    for i in range(n):
        if i > 1:
            TABLE["c"] = i  # error: TABLE


def deletes():
    del TABLE["a"]  # error: TABLE


def under_a_name(n: int, own: List[int]) -> List[int]:
    xs = own
    if n > 1:
        xs = NUMBERS
    xs.append(n)  # error: NUMBERS
    return xs


def changes_an_inner_list(n: int):
    NESTED["a"].append(n)  # error: NESTED


def changes_what_a_loop_finds():
    for _, xs in NESTED.items():
        xs.append(1)  # error: NESTED


def changes_what_a_tuple_holds():
    PAIR[0].append(1)  # error: PAIR


def of_a_module(n: int):
    config.numbers.append(n)  # error: config.numbers


def appender(xs: List[int], n: int):
    xs.append(n)


def passes_on(n: int):
    appender([n], n)
    appender(NUMBERS, n)  # error: NUMBERS


def passes_on_twice(n: int):
    passes_on_once(NUMBERS, n)  # error: NUMBERS


def passes_on_once(xs: List[int], n: int):
    appender(xs, n)


def gives() -> List[int]:
    return NUMBERS


def gives_on(n: int) -> List[int]:
    if n > 0:
        return gives()
    return [n]


def changes_what_it_is_given(n: int):
    gives_on(n).append(n)  # error: NUMBERS


def gives_and_changes(n: int) -> List[int]:
    NUMBERS.append(n)  # error: NUMBERS
    return NUMBERS


def calls_what_changes(n: int):
    return gives_and_changes(n)


WRONG = [
    changes_what_it_is_given,
    appends,
    sets,
    extends,
    pops,
    updates,
    sets_key,
    deletes,
    under_a_name,
    changes_an_inner_list,
    changes_what_a_loop_finds,
    changes_what_a_tuple_holds,
    of_a_module,
    passes_on,
    passes_on_twice,
]


def assert_refused(script, name):
    with pytest.raises(cresset.CompileError) as caught:
        script()
    message = caught.value.message
    assert f"'{name}' is a Python object outside of the script" in message
    assert "as an argument" in message
    with open(__file__) as file:
        line = file.read().splitlines()[caught.value.line - 1]
    assert line.endswith(f"# error: {name}"), line


@pytest.mark.parametrize("function", WRONG, ids=lambda f: f.__name__)
def test_changes_are_refused(function):
    code = function.__code__
    with open(__file__) as file:
        lines = file.read().splitlines()[code.co_firstlineno - 1 :]
    name = next(line for line in lines if "# error: " in line).split("# error: ")[1]
    assert_refused(lambda: cresset.script(function), name)


def test_the_line_is_that_of_the_change():
    assert_refused(lambda: cresset.script(calls_what_changes), "NUMBERS")


def test_changes_of_captured_lists_are_refused():
    captured = [1]

    def remembers(n: int) -> int:
        captured.append(n)  # error: captured
        return len(captured)

    assert_refused(lambda: cresset.script(remembers), "captured")


class Remembers(nn.Module):
    SEEN = [1]

    def forward(self, x):
        self.SEEN.append(1)  # error: self.SEEN
        return x


class RemembersInAMethod(nn.Module):
    def forward(self, x):
        return self.remember(x)

    def remember(self, x):
        TABLE["n"] = x.dim()  # error: TABLE
        return x


class PassesToAMethod(nn.Module):
    def forward(self, x):
        self.remember(NUMBERS)  # error: NUMBERS
        return x

    def remember(self, xs: List[int]):
        xs.append(1)


@pytest.mark.parametrize(
    "cls, name", [(Remembers, "self.SEEN"), (RemembersInAMethod, "TABLE"), (PassesToAMethod, "NUMBERS")]
)
def test_changes_in_modules_are_refused(cls, name):
    assert_refused(lambda: cresset.script(cls()), name)


def test_what_was_refused_leaves_nothing_behind():
    for _ in range(2):
        with pytest.raises(cresset.CompileError):
            cresset.script(passes_on)
    assert cresset.script(appender) is not None


# ---- reading, copying, and changing other things


def reads(n: int, own: List[int]) -> Tuple[int, List[int], Dict[str, int], List[List[int]]]:
    total = NUMBERS[n] + len(NUMBERS) + max(NUMBERS) + TABLE["a"]
    for x in NUMBERS:
        total += x
    own.append(total)
    copied = list(NUMBERS)
    copied.append(n)
    table = TABLE.copy()
    table["b"] = n
    rows = [NUMBERS, own]
    rows.append([n])
    for name in NESTED:
        total += len(NESTED[name])
    return total, NUMBERS + copied, table, rows


class Reads(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = [0]
        self.default = [0]

    def forward(self, x):
        self.seen.append(1)
        self.default = NUMBERS
        return torch.permute(x, [1, 0]) * len(self.seen)


def test_reading_is_allowed():
    assert cresset.script(reads)(1, [5]) == reads(1, [5])
    x = torch.rand(2, 3)
    module = Reads()
    expected = module(x)
    scripted = cresset.script(Reads())
    assert torch.equal(scripted(x), expected)
    assert scripted.seen == [0, 1]
    assert scripted.default == [1, 2, 3]
    assert NUMBERS == [1, 2, 3]


def counts(n: int) -> int:
    COUNT += n  # noqa: F821, F823
    return COUNT


def test_a_global_name_is_not_a_variable():
    with pytest.raises(UnboundLocalError):
        counts(1)
    with pytest.raises(cresset.CompileError, match="'COUNT' is assigned to, but has no value in this function"):
        cresset.script(counts)
