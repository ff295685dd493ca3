#!/usr/bin/env python3
"""Writes the documents that are tables of the source: docs/operators.md (src/cresset/ops/table) and docs/options.md
(src/cresset/support/options.def); needs a built cresset.

`--check` only says whether they are up to date.
"""

import argparse
import sys
from pathlib import Path

from cresset import _C

DOCS = Path(__file__).resolve().parent.parent / "docs"
OPERATORS = """# The operator table

What Cresset knows of operators beyond the schemas and tags of PyTorch: every row of `src/cresset/ops/table`, where the
columns are explained (`table.def`). Operators without a row have what schema and tags say; `cresset-opt --operator NAME`
prints all that is known of one. Written by tools/tables.py.
"""
OPTIONS = """# Options of the process

All that can be set for a whole process, one row each in `src/cresset/support/options.def`; this page is written by
tools/tables.py. Each way to set one takes the same values, and refuses others with an error that names those it takes:

- **The environment**, read when the library is loaded: `CRESSET_PLANS=always`. An empty variable is as none. A wrong value is an error of
  `import cresset`, of the commands, and in C++ of the first program that is made.
- **Python**: `cresset.options.get("plans")`, `cresset.options.set(plans="always", hot_loop=8)`, and for a while
  `with cresset.options.override(plans="always"):`, which restores the former values, also after an exception.
- **C++** (`cresset/support/options.h`): `setOption(Option::plans, "always")`, `setOptions`, `OptionScope`, `options::plans()`.
- **Commands**: `cresset --option plans=always run …`, `cresset-opt --option plans=always …`; `--help` lists them.

Several that are set together are set all or not at all. Any thread may set options at any time, for all threads. Calls that run already are
not affected; where a row says what it is for, neither is what exists.

"""


def documents():
    return {"operators.md": OPERATORS + _C._operators_as_markdown(), "options.md": OPTIONS + _C._options_as_markdown()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    for name, text in documents().items():
        if not check:
            (DOCS / name).write_text(text)
        elif not (DOCS / name).exists() or (DOCS / name).read_text() != text:
            sys.exit(f"docs/{name} is out of date: run tools/tables.py")


if __name__ == "__main__":
    main()
