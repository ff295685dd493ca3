#!/usr/bin/env python3
"""Measures what README.md, docs/STATUS.md and bench/RESULTS.md claim, all of it at one commit: `./dev claims`.

Each claim is a command of this repository, and the lines of its output that hold the figures. A whole run writes docs/CLAIMS.md: figure, command
and commit; other documents cite that file. What was measured is kept in build/claims/COMMIT.json, so a run that was stopped goes on where it was.
`--quick` gives each command little to do, within minutes, and writes build/claims/quick.md instead: it shows that all of them run, no figures.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "build" / "claims"
RESULT = ROOT / "docs" / "CLAIMS.md"
HEADER = """# What was measured

Written by `./dev claims` (tools/claims.py), which ran all of these commands at commit `{commit}`; nothing here is written by hand.

| claim | figures | command | minutes |
|---|---|---|---|
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
FUZZED = r"^(\d+ (?:archives|texts|of \d+ operators)\b.*?)(?:; \d+ s.*)?$"


DOCTEST = r"\[doctest\] (test cases: .*?) *\|? *$"
PYTEST = r"^(\d+ passed(?:, .*?)?)(?: in .*)?$"  # and the text tests
PYTHON = "PYTHONPATH=build/release/python CRESSET_COMMAND=build/release/bin/cresset .venv/bin/python"
TABLE = r"^\| (.*) \|$"


def campaign(name, what, count, quick):
    """Random programs."""
    command = f"./dev fuzz {what} --seed 1 --count "
    return Claim(name, f"{command}{count}", r"(\d+ programs from seed \d+) in \d+ s(: \d+ differ)", f"{command}{quick}")


def tests(name, path, quick):
    """A file of Python tests; quick: some of them, as pytest's -k has it."""
    return Claim(name, f"./dev test {path}", PYTEST, f"{PYTHON} -m pytest -q {path} -k '{quick}'")


CLAIMS = [
    Claim("tests", "./dev test", f"{DOCTEST}|{PYTEST}", "./dev test tests/cpp"),
    Claim("tests under the address and undefined-behaviour sanitizers", "./dev test --preset asan", DOCTEST, NOTHING),
    Claim("tests under the thread sanitizer", "./dev test --preset tsan", DOCTEST, NOTHING),
    campaign("random programs beside torch.jit", "programs", 20_000, 100),
    campaign("random tensor programs and their gradients beside eager PyTorch", "gradients", 20_000, 40),
    campaign("graphs of random tensor programs, moved and rewritten", "graphs", 5_000, 10),
    Claim("damaged archives and texts, wild arguments", "./dev fuzz hostile --count 10000", FUZZED, NOTHING),
    Claim(
        "damaged archives and texts under the sanitizers",
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


def measure(claim, command):
    """What a command's output says, its status and how long it took."""
    start = time.monotonic()
    done = subprocess.run(command, shell=True, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    figures = figures_of(claim, re.sub(r"\x1b\[[\d;]*m", "", done.stdout))
    result = {"command": command, "status": done.returncode, "figures": figures, "seconds": time.monotonic() - start}
    if done.returncode or not figures:
        result["output"] = done.stdout[-4000:]
    return result


def row(claim, result):
    figures = "; ".join(result["figures"]).replace("|", "/") or "none"
    failed = f"**status {result['status']}**; " if result["status"] else ""
    command = result["command"].replace("|", "\\|")
    return f"| {claim.name} | {failed}{figures} | `{command}` | {result['seconds'] / 60:.1f} |\n"


def commit():
    git = lambda *words: subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.strip()  # noqa: E731
    return git("rev-parse", "--short=12", "HEAD"), git("status", "--porcelain", "--untracked-files=no")


def main():
    parser = argparse.ArgumentParser(prog="./dev claims", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="little of each command, to see that it runs")
    parser.add_argument("--only", default="", help="a regular expression of the claims' names")
    parser.add_argument("--again", action="store_true", help="also what was measured at this commit")
    args = parser.parse_args()
    name, changed = commit()
    if changed and not args.quick:
        sys.exit("claims are measured at a commit; these files are changed:\n" + changed)
    KEPT.mkdir(parents=True, exist_ok=True)
    kept = KEPT / f"{'quick' if args.quick else name}.json"
    results = json.loads(kept.read_text()) if kept.exists() and not args.quick else {}
    for claim in CLAIMS:
        command = claim.quick if args.quick else claim.command
        if not command or not re.search(args.only, claim.name) or claim.name in results and not args.again:
            continue
        print(f"==> {claim.name}: {command}", flush=True)
        result = results[claim.name] = measure(claim, command)
        kept.write_text(json.dumps(results, indent=1))
        print(
            "".join(f"    {line}\n" for line in result["figures"]) or f"    no figures\n{result['output']}", flush=True
        )
    whole = all(claim.name in results for claim in CLAIMS)
    target = RESULT if whole and not args.quick else KEPT / f"{kept.stem}.md"
    rows = [row(claim, results[claim.name]) for claim in CLAIMS if claim.name in results]
    target.write_text(HEADER.format(commit=name) + "".join(rows))
    print(f"{target.relative_to(ROOT)}: {len(rows)} of {len(CLAIMS)} claims")
    wrong = [n for n, result in results.items() if result["status"] or not result["figures"]]
    if wrong:
        sys.exit(f"failed, or without figures: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
