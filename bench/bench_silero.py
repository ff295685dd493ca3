"""Silero VAD beside torch.jit: load, first call, second call, later calls, each in fresh alternating processes.

Needs CRESSET_SILERO, the path of the archive (`./dev bench` sets it).
"""

import json
import os
import statistics
import subprocess
import sys
import time

ROUNDS = 9
LATER_CALLS = 400


def measure(engine, model):
    import torch

    torch.set_num_threads(1)
    if engine == "cresset":
        import cresset

        load = cresset.load
    else:
        load = torch.jit.load
    torch.manual_seed(0)
    chunk = torch.randn(512) * 0.1
    times = {}
    with torch.no_grad():
        torch.ones(8).sum()  # libtorch's own first-use costs count for neither
        start = time.perf_counter()
        vad = load(model)
        times["load"] = time.perf_counter() - start
        start = time.perf_counter()
        vad(chunk, 16000)
        times["first call"] = time.perf_counter() - start
        start = time.perf_counter()
        vad(chunk, 16000)
        times["second call"] = time.perf_counter() - start
        for _ in range(50):
            vad(chunk, 16000)
        later = []
        for _ in range(LATER_CALLS):
            start = time.perf_counter()
            vad(chunk, 16000)
            later.append(time.perf_counter() - start)
        times["later calls"] = statistics.median(later)
    print(json.dumps(times))


def main():
    model = os.environ.get("CRESSET_SILERO")
    if not model:
        raise SystemExit(__doc__)
    if len(sys.argv) > 1:
        return measure(sys.argv[1], model)
    rounds = {"cresset": [], "torch.jit": []}
    for i in range(ROUNDS):
        print(f"\rround {i + 1} of {ROUNDS}", end="", file=sys.stderr, flush=True)
        for engine in rounds if i % 2 else reversed(rounds):
            out = subprocess.run([sys.executable, __file__, engine], capture_output=True, text=True, check=True)
            rounds[engine].append(json.loads(out.stdout.splitlines()[-1]))
    print(file=sys.stderr)
    print("| Silero VAD, 16 kHz | Cresset ms | torch.jit ms | ratio |\n|---|---|---|---|")
    for phase in rounds["cresset"][0]:
        ours, theirs = ([1000 * r[phase] for r in rounds[e]] for e in ("cresset", "torch.jit"))
        ratio = statistics.median(a / b for a, b in zip(ours, theirs))
        print(f"| {phase} | {statistics.median(ours):.3f} | {statistics.median(theirs):.3f} | {ratio:.3f} |")


if __name__ == "__main__":
    main()
