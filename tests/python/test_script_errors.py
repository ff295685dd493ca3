"""Bad programs (tests/frontend/script): each is refused at the line that says so, for the reason that stands there.

`CRESSET_BLESS=1 pytest tests/python/test_script_errors.py` writes what is said now; review the diff like code.
"""

import importlib.util
import inspect
import os
import re
import sys
from pathlib import Path

import pytest

import cresset

FOLDER = Path(__file__).parents[1] / "frontend" / "script"
MARK = re.compile(r"  # error: (.*?)(?=  # noqa|$)")


def load(path):
    name = "bad_programs_" + path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def line_of(value):
    return inspect.getsourcelines(value)[1]


def programs():
    """(name, object, file, line of the mark, expected text). A program's mark is the one in its lines or, for what it
    calls, in those before it."""
    for path in sorted(FOLDER.glob("*.py")):
        module = load(path)
        lines = path.read_text().splitlines()
        bad = [(name, value) for name, value in vars(module).items() if name.startswith("bad_")]
        previous_end = 0
        for name, value in bad:
            source, first = inspect.getsourcelines(value)
            end = first + len(source) - 1
            marks = [i for i in range(previous_end + 1, end + 1) if MARK.search(lines[i - 1])]
            previous_end = end
            assert len(marks) == 1, f"{path.name}: {name} has {len(marks)} marks"
            yield name, value, path, marks[0], MARK.search(lines[marks[0] - 1])[1]


PROGRAMS = list(programs())


def refusal(value):
    with pytest.raises(RuntimeError) as caught:
        cresset.script(value)
    return caught.value


def bless(path, line, text):
    lines = path.read_text().splitlines(True)
    at = lines[line - 1]
    found = MARK.search(at.rstrip("\n"))
    lines[line - 1] = at[: found.start()] + "  # error: " + text + at.rstrip("\n")[found.end() :] + "\n"
    path.write_text("".join(lines))


def reason(message):
    """The line that says why: schemas and pictures stand around it. Without what differs from run to run."""
    lines = [line.strip() for line in message.strip().splitlines()]
    said = [line for line in lines if line.startswith(("Expected ", "Argument ", "Unknown keyword", "argument "))]
    first = lines[0] if lines[0][-1] not in ".:" else (said + lines)[0]
    return re.split(r" at 0x| \(of Python", first)[0]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: f"{p[2].stem}.{p[0]}")
def test_refused(program):
    name, value, path, line, expected = program
    error = refusal(value)
    if os.environ.get("CRESSET_BLESS"):
        text = reason(getattr(error, "message", str(error)))
        if expected == "?":
            bless(path, line, text)
        expected = text
    assert isinstance(error, cresset.CompileError), f"no place: {error}"
    assert Path(error.file) == path and error.line == line, f"at {error.file}:{error.line}\n{error}"
    assert expected in error.message, error.message


def test_there_are_enough():
    assert len(PROGRAMS) >= 150


def test_the_stack_of_compilation():
    module = sys.modules["bad_programs_calls"]
    for name, chain in [
        ("bad_deep_callee", ["inner", "middle", "bad_deep_callee"]),
        ("bad_deep_typed_callee", ["typed_inner", "typed_middle", "bad_deep_typed_callee"]),
    ]:
        text = str(refusal(getattr(module, name)))
        at = 0
        for callee, caller in zip(chain, chain[1:]):
            wanted = f"'{callee}' is being compiled since it was called from '{caller}'"
            assert wanted in text[at:], text
            at = text.index(wanted)
