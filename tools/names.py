"""Which operators the sources name, outside of the operator table and of the front end, whose business names are.

What an operator *is*, its row says: a trait or a column. So passes, analyses and executors name operators in rewrite
rules only: those that they match, and those that they make; quoted or as symbols of C++ (`aten::size`). Rules that are
lines stand in passes/rewrite_rules.def, and are not counted.
`python3 tools/names.py` lists the names by file.
"""

import collections
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src" / "cresset"
MOST = 81

# Rows: of operators and of instructions; rewrite rules; kernels of Cresset's own; what old archives call. Structural nodes are the IR's.
TABLES = re.compile(
    r"ops/table/|ops/rows_\w+\.cpp$|ops/(composites|packed_convolution|upgraders)\.cpp$|(instructions|rewrite_rules)\.def$|^ir/|foreign\.cpp$"
)
# Where operators are matched and made.
RULES = ("autodiff", "executor", "functionalization", "passes", "tracer")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
NAME = re.compile(r'"((?:aten|prim|cresset|quantized|onnx|mkldnn)::\w[\w.]*)"')
TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"')
SYMBOL = re.compile(r"(?<![\w:])((?:aten|prim|onnx)::\w+)")  # a constant of C++


def structural_kinds():
    """The kinds whose meaning the IR itself defines: no operators."""
    rows = (SRC / "ir" / "structural.def").read_text()
    return set(re.findall(r'^(?:STRUCTURE|MARKER|SUBGRAPH)\(\w+, "([^"]+)"', rows, re.M))


def names_by_file():
    """The names of operators, quoted or as symbols, in each file that is none of tables and front end."""
    structural = structural_kinds()
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "src/cresset"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    found = {}
    for path in sorted(ROOT / name for name in listed):
        name = str(path.relative_to(SRC))
        if not path.is_file() or path.suffix not in (".cpp", ".h", ".def"):
            continue
        if TABLES.search(name) or name.startswith("frontend/"):
            continue
        text = COMMENT.sub("", path.read_text())
        names = NAME.findall(text) + SYMBOL.findall(TEXT.sub('""', text))
        names = [each for each in names if each not in structural]
        if names:
            found[name] = names
    return found


def complaints():
    found = names_by_file()
    total = sum(map(len, found.values()))
    result = [
        f"src/cresset/{name}: names {', '.join(sorted(set(names)))}: a column of the operator table says what it is"
        for name, names in found.items()
        if not name.startswith(tuple(f"{folder}/" for folder in RULES))
    ]
    if total > MOST:
        result.append(f"{total} names of operators outside of the table and the front end; {MOST} are the most")
    return result


if __name__ == "__main__":
    everything = names_by_file()
    for file, names in everything.items():
        counted = collections.Counter(names)
        print(f"{len(names):4} {file}: {', '.join(sorted(counted))}")
    print(f"{sum(map(len, everything.values()))} names in {len(everything)} files; {MOST} are the most")
