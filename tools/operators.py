#!/usr/bin/env python3
"""Writes docs/operators.md from the operator table (src/cresset/ops/table); needs a built cresset.

`--check` only says whether it is up to date.
"""

import argparse
import sys
from pathlib import Path

from cresset import _C

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "operators.md"
HEAD = """# The operator table

What Cresset knows of operators beyond the schemas and tags of PyTorch: every row of `src/cresset/ops/table`, where the
columns are explained (`table.def`). Operators without a row have what schema and tags say; `cresset-opt --operator NAME`
prints all that is known of one. Written by tools/operators.py.
"""


def text():
    return HEAD + _C._operators_as_markdown()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        DOCUMENT.write_text(text())
    elif DOCUMENT.read_text() != text():
        sys.exit("docs/operators.md is out of date: run tools/operators.py")


if __name__ == "__main__":
    main()
