"""The commands, given files and texts that were made to harm.

`cresset show` and `cresset run` get the archives of hostile_packages.py and hostile_layouts.py, and files that are none; `cresset-opt` gets sources and
graphs that are damaged, nested, cut or joined, in each of its modes. Each runs in a process of its own with a bounded time and memory, and may answer
or say what is wrong; it is a fault if a signal ends it, if it hangs, or if it says nothing.

    python hostile_commands.py [--count N] [--seed S] [--only I] [--commands FOLDER]
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import hostile_layouts as layouts
import hostile_packages as packages

ROOT = Path(__file__).resolve().parents[2]
SECONDS, MEMORY = 30, 8 << 30
SHOWN = [
    ["show"],
    ["show", "--verify"],
    ["show", "--html", "out.html"],
    ["show", "-f", "forward", "source", "ir", "bytecode"],
]
SHOWN += [["show", "-f", "layers.0.forward", "source", "ir", "bytecode"], ["show", "-f", "__setstate__", "ir"]]
RUN = [["run"], ["run", "--trusted"], ["run", "--static"], ["run", "--method", "get_all_bundled_inputs"]]
MODES = [
    [],
    ["--print-tokens"],
    ["--print-tree"],
    ["--print-tree=flat"],
    ["--compile"],
    ["--compile", "--print-code"],
    ["--verify"],
]
MODES += [
    ["--compile", "--print-alias"],
    ["--compile", "--passes", "inline,cse,dce"],
    ["--passes", "cse,dce,constant-propagation"],
]


def bounded():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28, 1 << 28))


def other_file(path, rng):
    """What is no archive."""
    what = rng.randrange(9)
    if what == 0:
        path.mkdir()
    elif what == 1:
        path.symlink_to("/nowhere")
    elif what == 2:
        path.symlink_to(path.name)
    elif what == 3:
        path.write_bytes(b"")
    elif what == 4:
        path.write_bytes(rng.randbytes(rng.randrange(2000)))
    elif what == 5:
        path.write_bytes(b"PK\3\4" + rng.randbytes(100))
    elif what == 6:
        path.write_bytes(b"PK\5\6" + b"\xff" * 18)
    elif what == 7:
        with path.open("wb") as file:
            file.truncate(1 << 36)  # sparse
    else:
        path.symlink_to("/dev/null")


def texts():
    """Sources, graphs."""
    graphs = [path.read_text() for path in sorted((ROOT / "tests/passes").glob("*.ir"))[:200]]
    sources = [path.read_text() for path in sorted((ROOT / "tests/frontend").glob("*.py"))[:200]]
    graphs += [path.read_text() for path in sorted((ROOT / "tests").rglob("*.ir"))[:200]]
    sources += [path.read_text() for path in sorted((ROOT / "tests/fuzz/corpus").rglob("*.py"))[:50]]
    return [text for text in graphs if len(text) < 20000], [text for text in sources if len(text) < 20000]


OPENING = [
    "(",
    "[",
    "{",
    "x[",
    "f(",
    "-",
    "not ",
    "lambda: ",
    "def f():\n ",
    "if x:\n ",
    "graph(",
    "block0():\n",
    "a.",
    "List[",
    '"',
    "'''",
    "1+",
    "a if b else ",
    "%1 : int = prim::Loop(%x)\n block0():\n",
]


def damaged_text(text, other, rng):
    what = rng.randrange(9)
    at = rng.randrange(len(text) + 1)
    if what == 0:
        return packages.flip(text.encode(), rng)
    if what == 1:
        return text[:at].encode()
    if what == 2:
        return (text[:at] + rng.choice(OPENING) * rng.choice([10, 1000, 100_000]) + text[at:]).encode()
    if what == 3:
        return (text * rng.choice([2, 50])).encode()
    lines, others = text.splitlines(), other.splitlines() or [""]
    for _ in range(rng.choice([1, 2, 5])):
        i, j = rng.randrange(len(lines) + 1), rng.randrange(len(others))
        if what == 4:
            lines.insert(i, others[j])
        elif what == 5:
            lines.insert(i, rng.choice(lines or [""]))
        elif what == 6 and lines:
            lines.pop(min(i, len(lines) - 1))
        elif what == 7 and lines:
            i = min(i, len(lines) - 1)
            words = lines[i].split(" ")
            words[rng.randrange(len(words))] = rng.choice(others[j].split(" "))
            lines[i] = " ".join(words)
        elif lines:
            i = min(i, len(lines) - 1)
            numbers = [
                "-1",
                "9" * 400,
                "1e999",
                "0x",
                "2**63",
                "9223372036854775808",
                "%",
                "^x",
                "::",
                "->",
                "...",
                "\0",
                "\ufeff",
                "1" * 100_000,
            ]
            lines[i] = lines[i].replace(rng.choice("0123456789%:("), rng.choice(numbers))
    return "\n".join(lines).encode()


def words_of(known, seed, index, folder, commands):
    """What to run, on a file in the folder."""
    rng = random.Random(f"{seed} {index}")
    path = Path(folder) / f"{index}.pt"
    if index % 3 == 2:
        graphs, sources = known[2]
        mode = rng.choice(MODES)
        of_sources = any(word.startswith(("--print-t", "--compile")) for word in mode)
        pool = sources if of_sources != (rng.random() < 0.1) else graphs
        path.write_bytes(damaged_text(rng.choice(pool), rng.choice(pool), rng))
        return [commands / "cresset-opt", *mode, path]
    if rng.random() < 0.1:
        other_file(path, rng)
    elif rng.random() < 0.5:
        path.write_bytes(packages.hostile(known[0], seed, index))
    else:
        path.write_bytes(layouts.hostile(known[1], seed, index))
    if rng.random() < 0.6:
        words = rng.choice(SHOWN)
        return [commands / "cresset", words[0], path, *words[1:]]
    words = rng.choice(RUN)
    return [
        commands / "cresset",
        words[0],
        path,
        *words[1:],
        *(["3"] if rng.random() < 0.2 else []),
        "--limit-seconds",
        "2",
        "--limit-memory",
        "64MB",
    ]


def try_one(words, folder):
    """What came of it, and what is wrong with it."""
    try:
        done = subprocess.run(
            words,
            capture_output=True,
            cwd=folder,
            timeout=SECONDS,
            check=False,
            preexec_fn=bounded,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return "hangs", f"takes longer than {SECONDS} s"
    if done.returncode < 0 or done.returncode > 128:
        return "ends", f"exit status {done.returncode}: {done.stderr[-300:]}"
    if done.returncode and not done.stderr.strip():
        return "silent", f"exit status {done.returncode} without a word"
    if b"INTERNAL" in done.stderr or b"internal error" in done.stderr.lower():
        return "internal", done.stderr[-600:].decode("latin1")
    return f"exit status {done.returncode}", None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="this one, whose file is kept")
    parser.add_argument(
        "--commands", type=Path, default=Path(os.environ.get("CRESSET_COMMAND", "build/release/bin/cresset")).parent
    )
    args = parser.parse_args()
    known = packages.records(), layouts.records(), texts()
    outcomes, faults = {}, []
    with tempfile.TemporaryDirectory() as folder:
        place = tempfile.mkdtemp() if args.only is not None else folder
        for index in range(args.count) if args.only is None else [args.only]:
            words = words_of(known, args.seed, index, place, args.commands.resolve())
            outcome, fault = try_one(words, place)
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
            if fault:
                faults.append(index)
                print(f"FAULT at {index}: {' '.join(map(str, words))}: {fault}", flush=True)
            elif args.only is not None:
                print(*words, outcome)
            else:
                for left in Path(folder).iterdir():
                    left.rmdir() if left.is_dir() and not left.is_symlink() else left.unlink()
    print(
        f"{args.count} commands:", ", ".join(f"{n} {what}" for what, n in sorted(outcomes.items(), key=lambda p: -p[1]))
    )
    if faults:
        sys.exit(f"{len(faults)} faults; --seed {args.seed} --only {faults[0]} repeats the first")


if __name__ == "__main__":
    main()
