#!/usr/bin/env python3
"""Writes the tables of builtins in docs/language.md, from the tables of the front end and the rows of the operators.

Each name has a row, with a link to the first test that uses it. `--check` only says whether the document is up to date.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "language.md"
BEGIN, END = "<!-- builtins: written by tools/language.py -->\n", "<!-- end of builtins -->\n"
FRONTEND = ROOT / "src" / "cresset" / "frontend"

#: Where a use is looked for, the most telling first.
TESTS = [
    "tests/python/test_language_vs_torchjit.py",
    "tests/frontend/*.py",
    "tests/frontend/sugar/*.py",
    "tests/python/generator/rules.py",
    "tests/python/test_*.py",
    "tests/frontend/errors/**/*.py",
    "tests/ir/**/*.ir",
    "tests/cpp/*.cpp",
]


def table(file, name):
    """The text of `kName[] = {…};` of a source."""
    text = (FRONTEND / file).read_text()
    return re.search(rf"\b{name}\[\] = \{{(.*?)\}};", text, re.S)[1]


def first_strings(text):
    return re.findall(r'\{"([\w.]+)"', text)


#: The rows of a file are the methods (and operators) of a type.
FILES = {"rows_string.cpp": "str", "rows_list.cpp": "list", "rows_dict.cpp": "dict"}


def rows():
    """(name, type whose method it is or "other") of every row of the operator table."""
    for path in sorted((ROOT / "src" / "cresset" / "ops").glob("rows_*.cpp")):
        for name in re.findall(r'"((?:aten|prim)::\w+)', path.read_text()):
            yield name, FILES.get(path.name, "other")


def groups():
    """Heading → (names, pattern of a use with {} for the name)."""
    casts = re.findall(
        r'name == "(\w+)"\) return std::make_shared<CastFunction>', (FRONTEND / "builtin_functions.cpp").read_text()
    )
    builtin_names = (FRONTEND / "builtin_names.cpp").read_text()
    iterables = re.findall(r'\{"(\w+)", Kind::', builtin_names)
    forms = first_strings(table("builtin_names.cpp", "kForms"))
    functions = first_strings(table("builtin_names.cpp", "kFunctions"))
    math = re.findall(r'"(\w+)"', table("builtin_names.cpp", "kMathFunctions"))
    by_type = {}
    for name, kind in rows():
        by_type.setdefault(name, set()).add(kind)
    operators = set(by_type)
    methods = {
        kind: sorted(n.split("::")[1] for n in operators if kind in by_type[n] and re.match(r"aten::[a-z]", n))
        for kind in ("str", "list", "dict")
    }
    constants = first_strings(table("builtin_names.cpp", "kFloats"))
    fields = first_strings(table("value_attributes.cpp", "kTensorFields"))
    tensor_casts = first_strings(table("value_attributes.cpp", "kCasts"))
    listed = {*math, *(n for names in methods.values() for n in names)}
    rest = sorted(n for n in operators if n.split("::")[1] not in listed)
    return {
        "Functions": (sorted({*casts, *iterables, "print", *(n for n in functions)}), r"\b{}\("),
        "Special forms": (sorted(forms), r"\b{}\b"),
        "`math`": ([f"math.{n}" for n in math], r"\b{}\("),
        "Constants": (constants, r"\b{}\b"),
        "Of a str": (methods["str"], r"\.{0}\(|aten::{0}\b|\b{0}\("),
        "Of a list": (methods["list"], r"\.{0}\(|aten::{0}\b|\b{0}\("),
        "Of a dict": (methods["dict"], r"\.{0}\(|aten::{0}\b|\b{0}\("),
        "Attributes of a Tensor": (fields, r"\.{}\b"),
        "Conversions of a Tensor": (tensor_casts, r"\.{}\(\)"),
        "Other operators that PyTorch's dispatcher lacks": (rest, None),
    }


class Uses:
    """Finds the test that uses a name."""

    def __init__(self):
        files = []
        for pattern in TESTS:
            files += [f for f in sorted(ROOT.glob(pattern)) if f not in files]
        self.texts = [(f.relative_to(ROOT), f.read_text()) for f in files]

    def find(self, pattern):
        regex = re.compile(pattern)
        return next((path for path, text in self.texts if regex.search(text)), None)


def row(name, path):
    return f"| `{name}` | {f'[{path.name}](../{path})' if path else ''} |"


def section():
    uses = Uses()
    lines = []
    for heading, (names, pattern) in groups().items():
        lines += [f"### {heading}", "", "| name | test |", "|---|---|"]
        for name in names:
            plain = re.escape(name.split("::")[-1])
            use = pattern.format(re.escape(name)) if pattern else rf"{re.escape(name)}\b|[.\s]{plain}\(|\.{plain}\b"
            lines.append(row(name, uses.find(use)))
        lines.append("")
    return "\n".join(lines) + "\n"


def wanted(text):
    head, _, rest = text.partition(BEGIN)
    return head + BEGIN + "\n" + section() + END + rest.partition(END)[2]


def complaints():
    """What is wrong with the document: it is out of date, or a link of it leads nowhere."""
    text = DOCUMENT.read_text()
    found = []
    if wanted(text) != text:
        found.append("docs/language.md is out of date: run tools/language.py")
    for target in sorted(set(re.findall(r"\]\(\.\./([^)#]+)", text))):
        if not (ROOT / target).exists():
            found.append(f"docs/language.md links to {target}, which does not exist")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if args.check:
        found = complaints()
        print("\n".join(found) or "docs/language.md is up to date")
        sys.exit(bool(found))
    DOCUMENT.write_text(wanted(DOCUMENT.read_text()))


if __name__ == "__main__":
    main()
