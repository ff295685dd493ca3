#!/usr/bin/env python3
"""Checks that each source and each header compiles by itself: groups and precompiled headers hide what a file does not include. `./dev alone` calls this.

Nothing is built: the compiler stops after it has read a file. Of libtorch's large headers, those are precompiled that the file includes itself, or
by way of others: that takes a third of the time and hides nothing. A file that compiled is not read again until it, a header of ours that it
includes, or how it is compiled changes; .cache/alone remembers.
"""

import argparse
import collections
import concurrent.futures
import functools
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tidy import ROOT, age, groups, includes, key

LARGE = [
    "ATen/core/Tensor.h",
    "ATen/core/ivalue.h",
    "ATen/core/function_schema.h",
    "ATen/core/class_type.h",
    "ATen/core/dispatch/Dispatcher.h",
    "torch/csrc/utils/pybind.h",
]


def only_read(command):
    """A command that compiles a file, made one that writes nothing, without the file."""
    words = shlex.split(command)
    if Path(words[0]).name == "ccache":
        del words[0]
    at = words.index("-o")
    return [*words[:at], *words[at + 2 : words.index("-c")], "-fsyntax-only"]


@functools.cache
def named_in(file):
    return re.findall(r"^\s*#\s*include\s*<([^>]+)>", file.read_text(errors="replace"), re.M)


@functools.cache
def large_below(folder, header):
    """Those of LARGE that a header of libtorch's includes."""
    todo, seen = [header], {header}
    while todo:
        if (file := folder / todo.pop()).is_file():
            new = set(named_in(file)) - seen
            seen |= new
            todo += new
    return {h for h in LARGE if h in seen}


def large_of(words, files):
    """Those of LARGE that one of our files includes, by way of the others or of libtorch's."""
    folders = [Path(b) for a, b in zip(words, words[1:]) if a == "-isystem" and (Path(b) / LARGE[0]).is_file()]
    headers = {h for file in files for h in named_in(file)}
    return frozenset().union(*(large_below(folder, h) for folder in folders for h in headers))


def precompile(words, large, folder):
    """Returns the header that includes all of `large`, and is precompiled."""
    header = Path(tempfile.mkdtemp(dir=folder)) / "large.h"
    header.write_text("".join(f"#include <{h}>\n" for h in LARGE if h in large))
    command = [w for w in words if w != "-fsyntax-only"]
    subprocess.run([*command, "-x", "c++-header", header, "-o", f"{header}.gch"], check=True)
    return header


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="check only these and what includes them")
    parser.add_argument("--build", type=Path, required=True, help="a build without groups and precompiled headers")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--most", type=int, help="how many files to compile: those that changed last")
    args = parser.parse_args()
    compiled = ROOT / ".cache" / "alone"
    compiled.mkdir(parents=True, exist_ok=True)
    wanted = {(ROOT / f).resolve() for f in args.files}
    todo, known, seen = [], 0, set()
    for file, command in groups(args.build):
        files = includes(file)
        if file in seen or (wanted and wanted.isdisjoint(files)):  # several programs share some files
            continue
        seen.add(file)
        mark = compiled / key("", command, files)
        known += mark.exists()
        if not mark.exists():
            words = only_read(command)
            todo.append((file, words, large_of(words, files), mark))
    if args.most is not None:
        todo = sorted(todo, key=lambda one: age(one[0]))[: args.most]
    print(f"{len(todo)} files to compile, {known} compiled before", flush=True)
    start, failed = time.time(), 0
    sets = collections.defaultdict(list)
    for file, words, large, mark in todo:
        sets[tuple(words), large].append((file, mark))

    def compile_alone(words, header, file):
        return subprocess.run(
            [*words, *(["-include", header] if header else []), file], cwd=args.build, capture_output=True, text=True
        )

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool, tempfile.TemporaryDirectory() as folder:
        for (words, large), files in sets.items():
            header = precompile(words, large, folder) if large and len(files) > 2 else None
            done = pool.map(functools.partial(compile_alone, words, header), [file for file, _ in files])
            for (file, mark), result in zip(files, done):
                if result.returncode == 0:
                    mark.touch()
                else:
                    failed += 1
                    print(f"{file}:\n{result.stderr}".replace(f"{ROOT}/", ""), flush=True)
            if header:
                Path(f"{header}.gch").unlink()
    print(f"{failed} of {len(todo)} do not compile alone, in {time.time() - start:.0f} s")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
