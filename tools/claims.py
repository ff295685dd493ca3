#!/usr/bin/env python3
"""Measures what README.md, docs/STATUS.md and bench/RESULTS.md claim: `./dev claims`.

Each claim is a command of this repository, and the lines of its output that hold the figures. Each that was measured is a row of docs/CLAIMS.md:
figure, command and commit; other documents cite that file. A run measures what has no row yet, with `--again` all anew.
`--quick` gives each command little to do, within minutes, and writes build/claims/quick.md instead: it shows that all of them run, no figures.

Numbers that the sources hold (bounds, counts of rows) need no measuring: NUMBERS has a row for each place of a document that says one, and tools/checks.py
compares them. Any other number of a document stands in a section that names the command and the commit that it was measured with.
"""

import argparse
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QUICK = ROOT / "build" / "claims" / "quick.md"
RESULT = ROOT / "docs" / "CLAIMS.md"
HEADER = """# What was measured

Written by `./dev claims` (tools/claims.py), which ran each command at the commit of its row; nothing here is written by hand.

| claim | figures | command | minutes | commit |
|---|---|---|---|---|
"""


@dataclass
class Claim:
    name: str
    command: str  # of a shell in the repository's root, after `./dev build`
    figures: str  # a regular expression of lines of the output; its groups are the figures
    quick: str  # the same with little to do, or NOTHING


#: Of builds with sanitizers and of benchmarks.
NOTHING = ""
#: What the programs of tests/fuzz say at their end.
FUZZED = r"^(\d+ (?:archives|texts|chains|of \d+ operators)\b.*?)(?:; \d+ s.*)?$"


DOCTEST = r"\[doctest\] (test cases: .*?) *\|? *$"
PYTEST = r"^(\d+ passed(?:, .*?)?)(?: in .*)?$"  # and the text tests
PYTHON = "PYTHONPATH=build/release/python CRESSET_COMMAND=build/release/bin/cresset .venv/bin/python"
TABLE = r"^\| (.*) \|$"


def campaign(name, what, count, quick, setting=""):
    """Random programs; setting: of the environment, for what holds only with it."""
    command = f"{setting}./dev fuzz {what} --seed 1 --count "
    return Claim(name, f"{command}{count}", r"(\d+ programs from seed \d+) in \d+ s(: \d+ differ)", f"{command}{quick}")


def tests(name, path, quick):
    """A file of Python tests; quick: some of them, as pytest's -k has it."""
    return Claim(name, f"./dev test {path}", PYTEST, f"{PYTHON} -m pytest -q {path} -k '{quick}'")


CLAIMS = [
    Claim("tests", "./dev test", f"{DOCTEST}|{PYTEST}", "./dev test tests/cpp"),
    Claim("tests under the address and undefined-behaviour sanitizers", "./dev test --preset asan", DOCTEST, NOTHING),
    Claim("tests under the thread sanitizer", "./dev test --preset tsan", DOCTEST, NOTHING),
    campaign("random programs beside torch.jit", "programs", 20_000, 100),
    campaign(
        "random tensor programs and their gradients beside eager PyTorch, with exact numerics",
        "gradients",
        3_000,
        40,
        "CRESSET_NUMERICS=exact ",  # they compare bits
    ),
    campaign("graphs of random tensor programs, moved and rewritten", "graphs", 5_000, 10),
    Claim("damaged archives, wild arguments", "./dev fuzz hostile --count 10000", FUZZED, NOTHING),
    Claim(
        "damaged archives under the sanitizers",
        "./dev fuzz hostile --preset asan --count 3000",
        FUZZED,
        NOTHING,
    ),
    Claim(
        "samples of op_db and module_db, scripted, traced, saved and loaded",
        "./dev sweep",
        r"^(\w+: torch\.jit does .*)$",
        "./dev sweep -- --first --dtypes float32 --kinds scripted sin add",
    ),
    Claim(
        "calls of the dispatcher's operators",
        f"{PYTHON} -m pytest -q -s tests/python/test_dispatcher_operators.py",
        rf"^(\d+ calls; .*)$|{PYTEST}",
        f"{PYTHON} -m pytest -q -s tests/python/test_dispatcher_operators.py -k every_operator",
    ),
    Claim(
        "rules of facts, over op_db in all dtypes",
        f"{PYTHON} tests/python/test_facts.py 36000",
        rf"^part 64 of 64: (.*), \d+ s$|^(\d+ operators have rules; .*? have none)|{PYTEST}",
        f"{PYTHON} -m pytest -q tests/python/test_facts.py -k false_facts",
    ),
    tests("rules of derivatives", "tests/python/test_derivatives.py", "attention"),
    tests("programs as users write them, in all modes", "tests/python/test_user_programs.py", "rnn or attention"),
    Claim("growth of cost with the size of programs", "./dev bench bench_growth", TABLE, NOTHING),
    Claim("speed", "./dev bench", TABLE, NOTHING),
]


def figures_of(claim, output):
    found = ["".join(filter(None, match.groups())) for match in re.finditer(claim.figures, output, re.MULTILINE)]
    return list(dict.fromkeys(found))


# ---- Numbers that the sources hold


def option(name):
    """The default of an option of the process."""
    return int(
        re.search(rf"INTEGER\({name}, (\d+)", (ROOT / "src" / "cresset" / "support" / "options.def").read_text())[1]
    )


def constant(path, name):
    """The value of `constexpr … kName = …;` of a file below src/cresset: a number, or one shifted. If there is no such file any more, of
    its folder, where the name must mean one number."""
    file = ROOT / "src/cresset" / path
    pattern = rf"\b{name} = (?:size_t\()?([\d']+)\)?(?: << (\d+))?[;,]"
    files = [file] if file.exists() else sorted(file.parent.glob("*.*"))
    found = {match for path in files for match in re.findall(pattern, path.read_text())}
    return int(next(iter(found))[0].replace("'", "")) << int(next(iter(found))[1] or 0) if len(found) == 1 else None


def operator_rows():
    """Of each OPERATOR of the table its name and the names of its columns."""
    text = "".join(
        path.read_text() for path in sorted((ROOT / "src/cresset/ops/table").glob("*.def")) if path.name != "table.def"
    )
    for row in re.split(r"^OPERATOR\(", text, flags=re.MULTILINE)[1:]:
        yield row.split('"')[1], set(re.findall(r"\b([A-Z][A-Z_]+)\(", row.partition(")")[2]))


def operators_with(column, name=""):
    """How many have a column that begins so."""
    return sum(
        any(other.startswith(column) for other in columns) and bool(re.search(name, operator))
        for operator, columns in operator_rows()
    )


def lines_of(path):
    return len((ROOT / path).read_text().splitlines())


def first_number(path, pattern):
    found = re.search(pattern, (ROOT / path).read_text())
    return int(found[1]) if found else None


PLANS = lambda: option("plans_per_function")
ONE_IN = lambda: constant("support/recent_map.h", "kOneIn")  # noqa: E731
NESTING = lambda: constant("ops/nesting.h", "kMaxValueNesting")  # noqa: E731
PARTS = lambda: constant("ops/type_parts.h", "kMaxTypeParts")  # noqa: E731
LOADING = lambda: constant("archive/budget.h", "kSlack") >> 20  # noqa: E731
POLLS = lambda: constant("interpreter/hot_loops.h", "num_polls")  # noqa: E731

#: (document, how it says the number, what the sources say). The groups of the pattern are the numbers.
NUMBERS = [
    (
        "README.md",
        r"a whole program in under (\d+) lines",
        lambda: (lines_of("examples/silero_vad/main.cpp") // 10 + 1) * 10,
    ),
    ("README.md", r"python3 \(3\.(\d+) to", lambda: first_number("pyproject.toml", r"requires-python = \">=3\.(\d+)")),
    ("README.md", r"python3 \(3\.\d+ to 3\.(\d+)\)", lambda: first_number("dev", r"<= \(3, (\d+)\)")),
    ("README.md", r"holds \(2\.(\d+) to", lambda: first_number("pyproject.toml", r"torch>=2\.(\d+)")),
    ("README.md", r"holds \(2\.\d+ to 2\.(\d+)\)", lambda: first_number("pyproject.toml", r"torch>=.*<2\.(\d+)") - 1),
    ("docs/archives.md", r"start at multiples of (\d+)", lambda: constant("archive/zip_writer.h", "kAlignment")),
    ("docs/archives.md", r"Values nest at most (\d+) levels", lambda: constant("ir/parser.h", "kMaxNesting")),
    ("docs/caches.md", r"\| function \| (\d+) signatures, one version", PLANS),
    ("docs/caches.md", r"unoptimized; one in (\d+) such calls", ONE_IN),
    ("docs/caches.md", r"\| function \| (\d+) loops", lambda: constant("executor/loop_plans.h", "kMaxLoops")),
    ("docs/caches.md", r"loops, (\d+) signatures each", lambda: option("plans_per_loop")),
    (
        "docs/caches.md",
        r"versions of a plan \| signature \| (\d+)",
        lambda: constant("executor/plan.cpp", "kMaxVersions") + 1,
    ),
    ("docs/caches.md", r"\| function \| (\d+), and \d+ times", lambda: constant("executor/guards.h", "kMaxGuards")),
    (
        "docs/caches.md",
        r"and (\d+) times the nodes",
        lambda: constant("executor/guards.cpp", "kMaxDeoptimizationTargets"),
    ),
    (
        "docs/caches.md",
        r"(\d+) pairs of masks",
        lambda: constant("executor/differentiable.cpp", "kMaxGradientFunctions"),
    ),
    ("docs/caches.md", r"(\d+) sets of inputs", lambda: constant("executor/differentiable.cpp", "kMaxVariants")),
    ("docs/caches.md", r"keeps more; one in (\d+) such calls", ONE_IN),
    ("docs/caches.md", r"place in the code \| (\d+) classes", lambda: constant("interpreter/code.h", "kMaxTargets")),
    ("docs/caches.md", r"\| (\d+) MB, then emptied", lambda: constant("python/host.cpp", "kMostRemembered") >> 20),
    ("docs/caches.md", r"([\d,]+) of up to \d+ bytes", lambda: constant("interpreter/value_kind.cpp", "kMost")),
    ("docs/caches.md", r"of up to (\d+) bytes", lambda: constant("interpreter/value_kind.cpp", "kMaxTextLength")),
    ("docs/caches.md", r"([\d,]+) of up to \d+ elements", lambda: constant("interpreter/value_kind.cpp", "kMost")),
    ("docs/caches.md", r"of up to (\d+) elements", lambda: constant("interpreter/value_kind.cpp", "kMaxElements")),
    (
        "docs/caches.md",
        r"([\d,]+), then emptied",
        lambda: constant("autodiff/specialized_rules.cpp", "kMaxSpecializedRules"),
    ),
    (
        "docs/caches.md",
        r"(\d+) that are found without a lock",
        lambda: constant("executor/kernels.cpp", "kMaxLaunches"),
    ),
    ("docs/caches.md", r"(\d+) others, last used first", lambda: constant("executor/kernels.cpp", "kMaxRecent")),
    (
        "docs/caches.md",
        r"(\d+) combinations of input sizes",
        lambda: constant("executor/size_classes.h", "kMaxClasses"),
    ),
    ("docs/caches.md", r"static module \| (\d+) \|", lambda: constant("static_runtime/static_program.h", "kMaxIdle")),
    ("docs/caches.md", r"the (\d+) last used", lambda: constant("python/convert_out.cpp", "kMaxClasses")),
    ("docs/differences.md", r"more than ([\d,]+) parts", PARTS),
    ("docs/differences.md", r"nests deeper than (\d+) levels", NESTING),
    (
        "docs/passes.md",
        r"`inline` adds at most ([\d,]+) nodes",
        lambda: constant("passes/pipelines.h", "kMaxInlinedNodes"),
    ),
    (
        "docs/functionalization.md",
        r"with more than (\d+) views between",
        lambda: constant("functionalization/places.h", "kMaxViewDepth"),
    ),
    ("docs/passes.md", r"follows calls (\d+) deep", lambda: constant("passes/inline.cpp", "kMaxDepth")),
    (
        "docs/passes.md",
        r"loops of up to (\d+) iterations",
        lambda: constant("passes/unroll.cpp", "kMaxIterations"),
    ),
    ("docs/passes.md", r"that become up to (\d+) nodes", lambda: constant("passes/unroll.cpp", "kMaxNodes")),
    ("docs/python-values.md", r"nest deeper than (\d+) levels", NESTING),
    ("docs/decisions/0001-zip-container.md", r"file's size and (\d+) MiB", LOADING),
    ("docs/decisions/0003-untrusted-programs.md", r"type has at most ([\d,]+) parts", PARTS),
    (
        "docs/decisions/0003-untrusted-programs.md",
        r"trusted has at most ([\d,]+) attributes",
        lambda: constant("frontend/class_members.h", "kMaxMembers"),
    ),
    (
        "docs/decisions/0003-untrusted-programs.md",
        r"of any graph has at most ([\d,]+)",
        lambda: constant("ir/node.cpp", "kMaxAttributes"),
    ),
    (
        "docs/decisions/0006-alias-analysis.md",
        r"bounded \((\d+) locations\)",
        lambda: constant("analysis/points_to.h", "kMaxLocations"),
    ),
    (
        "docs/decisions/0006-alias-analysis.md",
        r"beyond the (\d+) locations",
        lambda: constant("analysis/points_to.h", "kMaxLocations"),
    ),
    ("docs/decisions/0007-plans.md", r"there are at most (\d+) plans at a time", PLANS),
    ("docs/decisions/0007-plans.md", r"one in (\d+) of them", ONE_IN),
    (
        "docs/decisions/0007-plans.md",
        r"at most (\d+) guards per function",
        lambda: constant("executor/guards.h", "kMaxGuards"),
    ),
    ("docs/decisions/0007-plans.md", r"some\s+(\d+)\s+operators", lambda: round(POLLS() * 8, -2)),
    ("docs/decisions/0007-plans.md", r"or ([\d,]+) scalar instructions", lambda: round(POLLS() * 256, -3)),
    (
        "docs/decisions/0010-kernels.md",
        r"blocks of ([\d,]+)",
        lambda: constant("codegen/llvm/emit_reduction.cpp", "kBlock"),
    ),
    (
        "docs/decisions/0010-kernels.md",
        r"in each (\d+) lanes",
        lambda: constant("codegen/llvm/emit_reduction.cpp", "kLanes"),
    ),
    ("docs/decisions/0007-plans.md", r"Up to (\d+) loops", lambda: constant("executor/loop_plans.h", "kMaxLoops")),
    ("docs/decisions/0007-plans.md", r"have plans, (\d+) each", lambda: option("plans_per_loop")),
    ("docs/decisions/0008-gradients.md", r"(\d+) operators have rules", lambda: operators_with("GRADIENT")),
    (
        "docs/decisions/0008-gradients.md",
        r"(\d+) of them those of backward kernels",
        lambda: operators_with("GRADIENT", "_backward"),
    ),
    (
        "docs/decisions/0008-gradients.md",
        r"(\d+) are decomposed",
        lambda: operators_with("DECOMPOS"),
    ),
    (
        "docs/decisions/0008-gradients.md",
        r"keeps the (\d+) functions",
        lambda: constant("executor/differentiable.cpp", "kMaxGradientFunctions"),
    ),
]


def wrong_numbers():
    """Where a document and the sources disagree, or one of them has gone without the other."""
    found = []
    for document, pattern, value in NUMBERS:
        said = re.search(pattern, (ROOT / document).read_text())
        held = value()
        if held is None:
            found.append(f"tools/claims.py: the sources have no number any more for {pattern!r} of {document}")
        elif not said:
            found.append(f"{document} has nothing like {pattern!r}, which tools/claims.py lists; the number is {held}")
        elif int(said[1].replace(",", "")) != held:
            found.append(f"{document}: {said[0]!r}, but the sources say {held}")
    return found


# ---- Figures that are measured


def measure(claim, command):
    """What a command's output says, its status and how long it took."""
    start = time.monotonic()
    done = subprocess.run(command, shell=True, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    figures = figures_of(claim, re.sub(r"\x1b\[[\d;]*m", "", done.stdout))
    result = {"command": command, "status": done.returncode, "figures": figures, "seconds": time.monotonic() - start}
    if done.returncode or not figures:
        result["output"] = done.stdout[-4000:]
    return result


def row(claim, result, commit):
    figures = "; ".join(result["figures"]).replace("|", "/") or "none"
    failed = f"**status {result['status']}**; " if result["status"] else ""
    command = result["command"].replace("|", "\\|")
    return f"| {claim.name} | {failed}{figures} | `{command}` | {result['seconds'] / 60:.1f} | `{commit}` |"


def rows_of(document):
    """The rows that were measured, by the names of their claims."""
    lines = document.read_text().splitlines() if document.exists() else []
    return {claim.name: line for claim in CLAIMS for line in lines if line.startswith(f"| {claim.name} |")}


def write(document, rows):
    lacking = [claim.name for claim in CLAIMS if claim.name not in rows]
    text = HEADER + "".join(f"{rows[claim.name]}\n" for claim in CLAIMS if claim.name in rows)
    document.write_text(
        text + "".join(["\n## Not measured\n\n", *(f"- {name}\n" for name in lacking)] if lacking else [])
    )


def commit():
    git = lambda *words: subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.strip()  # noqa: E731
    changed = git("status", "--porcelain", "--untracked-files=no").splitlines()
    return git("rev-parse", "--short=12", "HEAD"), [line for line in changed if not line.endswith(" docs/CLAIMS.md")]


def main():
    parser = argparse.ArgumentParser(prog="./dev claims", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="little of each command, to see that it runs")
    parser.add_argument("--only", default="", help="a regular expression of the claims' names")
    parser.add_argument("--again", action="store_true", help="also what was measured before")
    args = parser.parse_args()
    name, changed = commit()
    if changed and not args.quick:
        sys.exit("\n".join(["claims are measured at a commit; these files are changed:", *changed]))
    target = QUICK if args.quick else RESULT
    target.parent.mkdir(parents=True, exist_ok=True)
    rows = {} if args.quick else rows_of(RESULT)
    wrong = []
    for claim in CLAIMS:
        command = claim.quick if args.quick else claim.command
        measured = claim.name in rows and not args.again
        if not command or measured or not re.search(args.only, claim.name):
            continue
        print(f"==> {claim.name}: {command}", flush=True)
        result = measure(claim, command)
        rows[claim.name] = row(claim, result, name)
        write(target, rows)
        figures = "".join(f"    {line}\n" for line in result["figures"])
        print(figures or f"    no figures\n{result['output']}", flush=True)
        if result["status"] or not result["figures"]:
            wrong.append(claim.name)
    print(f"{target.relative_to(ROOT)}: {len(rows)} of {len(CLAIMS)} claims")
    if wrong:
        sys.exit(f"failed, or without figures: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
