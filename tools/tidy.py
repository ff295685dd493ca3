#!/usr/bin/env python3
"""Runs clang-tidy over the files of a build, or those groups of them that have the named ones; `./dev tidy` calls this.

Files are checked in the groups that the build compiles them in: most of a file's time is that of libtorch's headers. A
group that had no complaints is not checked again until one of its files, a header of ours that they include, or
.clang-tidy changes; .cache/tidy remembers. With --most, only those that changed last are checked.
"""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDED_FROM = [ROOT / folder for folder in (".", "src", "tests/cpp", "tests/fuzz", "tools")]
COMPLAINT = re.compile(r"^(.+?):(\d+):(\d+): (?:warning|error): (.*)$")


def groups(build):
    """Of each file that is compiled: its path and what it is compiled with. What only a build writes is left out."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = Path(entry["file"])
        if "-DTORCH_JIT" not in entry["command"] and file.is_file():  # the oracle's
            yield file, entry["command"]


@functools.cache
def named(file):
    """Our own files that the lines of a file include."""
    found = []
    for name in re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', file.read_text(), re.M):
        at = next((folder / name for folder in (file.parent, *INCLUDED_FROM) if (folder / name).is_file()), None)
        found += [at.resolve()] if at else []
    return found


def includes(path):
    """Our own files that a file includes, itself first."""
    seen, todo = {path: None}, [path]
    while todo:
        for found in named(todo.pop()):
            if found not in seen:
                seen[found] = None
                todo.append(found)
    return list(seen)


@functools.cache
def content(file):
    return file.read_bytes().replace(str(ROOT).encode(), b"") + b"\0"


def key(version, command, files):
    digest = hashlib.sha256()
    for part in (version, (ROOT / ".clang-tidy").read_text(), command.replace(str(ROOT), "")):
        digest.update(part.encode() + b"\0")
    for file in files:
        digest.update(content(file))
    return digest.hexdigest()


@functools.cache
def changes():
    """When each file was last committed, as the number of commits since: of those in the last 500 commits."""
    command = ["git", "log", "-500", "--format=%x00", "--name-only"]
    log = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    age = {}
    for number, commit in enumerate(log.split("\0")):
        for name in commit.split("\n"):
            age.setdefault(name, number)
    return age


def own(file):
    """The files that are compiled as one group, of the source that includes them; else the file itself."""
    return named(file) if "Unity" in str(file) else [file]


def age(file):
    """How many commits ago a group's own files changed, for sorting: the newest first."""
    return min((changes().get(str(f.relative_to(ROOT)), sys.maxsize) for f in own(file)), default=sys.maxsize)


def check(program, build, file):
    """Complaints about a group, with the text that explains each."""
    done = subprocess.run([program, "-p", build, "--quiet", file], cwd=ROOT, capture_output=True, text=True)
    complaints = []
    for line in done.stdout.splitlines():
        if match := COMPLAINT.match(line):
            complaints.append([line.replace(f"{ROOT}/", ""), match[4]])
        elif complaints:
            complaints[-1].append(line.replace(f"{ROOT}/", ""))
    if done.returncode and not complaints:
        complaints.append([f"{program} failed on {file}:\n{done.stdout}{done.stderr}"])
    return [(lines[0], lines[2:]) for lines in complaints]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="check only the groups that have or include these")
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--program", default="clang-tidy-19")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--most", type=int, help="how many groups to check: those that changed last")
    parser.add_argument("--all", action="store_true", help="also the groups that had no complaints when last checked")
    args = parser.parse_args()
    version = subprocess.run([args.program, "--version"], capture_output=True, text=True, check=True).stdout
    passed = ROOT / ".cache" / "tidy"
    passed.mkdir(parents=True, exist_ok=True)
    wanted = {(ROOT / f).resolve() for f in args.files}
    todo, known = {}, 0
    for file, command in groups(args.build):
        files = includes(file)
        if wanted and wanted.isdisjoint(files):
            continue
        name = key(version, command, files)
        known += (passed / name).exists() and not args.all
        if args.all or not (passed / name).exists():
            todo[file] = name
    if args.most is not None:
        todo = {file: todo[file] for file in sorted(todo, key=age)[: args.most]}
    print(f"{len(todo)} groups of files to check, {known} had no complaints before", flush=True)
    start, shown = time.time(), set()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        running = {pool.submit(check, args.program, args.build, file): name for file, name in todo.items()}
        for future in concurrent.futures.as_completed(running):
            complaints = future.result()
            if not complaints:
                (passed / running[future]).touch()
            for place, lines in complaints:
                if place not in shown:
                    shown.add(place)
                    print("\n".join([place, *lines]), flush=True)
    print(f"{len(shown)} complaints in {time.time() - start:.0f} s")
    sys.exit(1 if shown else 0)


if __name__ == "__main__":
    main()
