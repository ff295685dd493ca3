"""Resident memory of a process that loads a 500 MB archive: before its tensors are touched, and after."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

MEGABYTES = 500


def resident():
    """Bytes of memory that the process holds now, pages mapped from files included."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024


def measure(engine, path):
    import torch

    if engine == "cresset":
        import cresset

        load = cresset.load
    else:
        load = torch.jit.load
    torch.ones(8).sum()
    before = resident()
    module = load(path)
    loaded = resident()
    sum(p.sum() for p in module.parameters())
    touched = resident()
    size = os.path.getsize(path)
    print(f"| {engine} | {(loaded - before) / size:.3f} | {(touched - before) / size:.3f} |")


def main():
    if len(sys.argv) > 1:
        return measure(*sys.argv[1:])
    import torch

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "big.pt")

        class Big(torch.nn.Module):
            def __init__(self):
                super().__init__()
                count = MEGABYTES * 10**6 // (4 * 10 * 10**6 // 10)
                self.layers = torch.nn.ParameterList([torch.nn.Parameter(torch.ones(1000, 1000)) for _ in range(count)])

            def forward(self, x):
                return x

        module = torch.jit.script(Big())
        module.save(path)
        del module
        print(f"archive: {os.path.getsize(path) / 1e6:.0f} MB")
        print("| engine | resident after load / file size | after touching every tensor / file size |\n|---|---|---|")
        for engine in ("cresset", "torch.jit"):
            subprocess.run([sys.executable, __file__, engine, path], check=True)


if __name__ == "__main__":
    main()
