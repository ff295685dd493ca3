"""Programs of 1k, 10k and 100k statements: microseconds per statement to compile, print, parse back and run.

The figure that matters is the ratio of the cost per statement at 100k to that at 1k. torch.jit, in a process of its
own because it overflows its stack, stands beside it where it survives.
"""

import subprocess
import sys
import time

SIZES = (1_000, 10_000, 100_000)


def program(statements):
    """Straight-line ints and floats, a branch every 20 statements, a loop every 50."""
    lines = ["def f(a: int, x: float) -> float:"]
    count = 0
    while count < statements:
        if count % 50 == 49:
            lines += ["    for i in range(2):", "        a = a + i"]
            count += 2
        elif count % 20 == 19:
            lines += ["    if a > 3:", "        x = x * 0.5", "    else:", "        x = x + 1.0"]
            count += 3
        elif count % 2:
            lines.append(f"    a = a * {count % 7} + 1")
            count += 1
        else:
            lines.append("    x = x + 0.25")
            count += 1
    return "\n".join([*lines, "    return x + a", ""])


def timed(function):
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


def measure(engine, statements, repeat):
    source = program(statements)
    best = {}

    def note(phase, seconds):
        best[phase] = min(best.get(phase, 1e9), seconds)

    for _ in range(repeat):
        if engine == "cresset":
            import cresset

            unit, seconds = timed(lambda: cresset.CompilationUnit(source))
            note("compile", seconds)
            text, seconds = timed(lambda: str(unit.f.graph))
            note("print", seconds)
            _, seconds = timed(lambda: cresset.parse_ir(text))
            note("parse back", seconds)
        else:
            import torch

            unit, seconds = timed(lambda: torch.jit.CompilationUnit(source))
            note("compile", seconds)
            text, seconds = timed(lambda: str(unit.f.graph))
            note("print", seconds)
            _, seconds = timed(lambda: torch._C.parse_ir(text))
            note("parse back", seconds)
        _, seconds = timed(lambda: unit.f(3, 0.5))
        note("first run", seconds)
        for _ in range(3):
            _, seconds = timed(lambda: unit.f(3, 0.5))
            note("run", seconds)
    for phase, seconds in best.items():
        print(f"{phase}\t{1e6 * seconds / statements}")


def main():
    if len(sys.argv) > 1:
        return measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    table = {}
    for engine in ("cresset", "torch.jit"):
        for size in SIZES:
            print(f"\r{engine} {size}        ", end="", file=sys.stderr, flush=True)
            repeat = 5 if size <= 10_000 else 2
            command = [sys.executable, __file__, engine, str(size), str(repeat)]
            done = subprocess.run(command, capture_output=True, text=True)
            for line in done.stdout.splitlines():
                phase, micros = line.split("\t")
                table.setdefault((engine, phase), {})[size] = float(micros)
            if done.returncode:
                reason = f"died with status {done.returncode}" if done.returncode < 0 else done.stderr.splitlines()[-1]
                print(f"\n{engine} at {size} statements: {reason}", file=sys.stderr)
    print(file=sys.stderr)
    print(
        "| us per statement | " + " | ".join(f"{s // 1000}k" for s in SIZES) + " | 100k / 1k |\n|---|---|---|---|---|"
    )
    for (engine, phase), row in table.items():
        cells = " | ".join(f"{row[s]:.3f}" if s in row else "dies" for s in SIZES)
        growth = f"{row[SIZES[-1]] / row[SIZES[0]]:.2f}" if SIZES[-1] in row else "-"
        print(f"| {engine}: {phase} | {cells} | {growth} |")


if __name__ == "__main__":
    main()
