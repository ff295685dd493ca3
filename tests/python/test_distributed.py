"""Scripted modules on several processes: gradients averaged by DistributedDataParallel, collectives inside of scripts."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="this torch has no torch.distributed")

# Each function that follows runs in two processes of a group.
PROGRAM = '''
import os
import sys
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
import cresset

cresset.options.set(numerics="exact")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x):
        return self.second(self.first(x).relu())


def gradients(make):
    torch.manual_seed(0)
    module = DistributedDataParallel(make(Net()))
    results = []
    for step in range(4):
        x = torch.full((3, 4), float(dist.get_rank() + step))
        module.zero_grad()
        module(x).square().sum().backward()
        results.append([p.grad.clone() for p in module.parameters()])
    return results


def data_parallel():
    expected, found = gradients(lambda m: m), gradients(cresset.script)
    traced = gradients(lambda m: cresset.trace(m, torch.ones(3, 4)))
    for step in range(4):
        for a, b, c in zip(expected[step], found[step], traced[step]):
            assert torch.equal(a, b) and torch.equal(a, c)


def communication_hook():
    """A hook of the user's."""

    def hook(state, bucket):
        sent = dist.all_reduce(bucket.buffer() / 4, async_op=True).get_future()
        return sent.then(lambda future: future.value()[0] * 3)

    results = []
    for make in (lambda m: m, cresset.script):
        torch.manual_seed(0)
        module = DistributedDataParallel(make(Net()))
        module.register_comm_hook(None, hook)
        for step in range(3):
            module.zero_grad()
            module(torch.full((3, 4), float(dist.get_rank() + step) / 3)).sum().backward()
        results.append([p.grad for p in module.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*results))


class Collectives(nn.Module):
    """Each operator changes what the next one sends: their order can't be another one."""

    def __init__(self, group: str):
        super().__init__()
        self.group = group

    def forward(self, x: torch.Tensor, n: int) -> torch.Tensor:
        ops = torch.ops._c10d_functional
        for i in range(n):
            total = ops.wait_tensor(ops.all_reduce(x, "sum", self.group))
            unused = ops.wait_tensor(ops.all_gather_into_tensor(x, 2, self.group))
            parts = ops.wait_tensor(ops.all_gather_into_tensor(total + i, 2, self.group))
            x = parts.reshape(2, -1)[0] * (i + 1) + x
        return x


def collectives_in_scripts():
    module = Collectives(dist.group.WORLD.group_name)
    scripted = cresset.script(module)
    for n in (0, 1, 3, 3, 3, 5):
        x = torch.arange(3.0) + dist.get_rank()
        assert torch.equal(scripted(x, n), module(x, n)), n


dist.init_process_group("gloo")
globals()[sys.argv[1]]()
os.write(1, f"done {dist.get_rank()}\\n".encode())  # in one piece: both processes write to one pipe
dist.destroy_process_group()
os._exit(0)  # one run in ten aborts as Python ends ("terminate called"), without Cresset too
'''

# A program as it stands; what it raises ends the process as always.
RUNS = "import os, runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__'); sys.stdout.flush(); os._exit(0)"


def torchrun(*program):
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        *map(str, program),
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=540)


@pytest.mark.parametrize("name", ["data_parallel", "communication_hook", "collectives_in_scripts"])
def test_two_processes(tmp_path, name):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    ran = torchrun(file, name)
    assert ran.returncode == 0, ran.stderr
    assert "done 0" in ran.stdout and "done 1" in ran.stdout


def test_the_example(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(RUNS)
    ran = torchrun(file, ROOT / "examples" / "distributed" / "train.py")
    assert ran.returncode == 0, ran.stderr
    assert "processes: 2, the same parameters in each: True" in ran.stdout
    assert "parameters equal: True" in ran.stdout
