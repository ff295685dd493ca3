"""The clients in examples/clients print the same bytes with Cresset as with torch::jit."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("CRESSET_COMMAND", ROOT / "build" / "release" / "bin" / "cresset")).parent
CLIENTS = ["forces", "stream", "audio"]


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clients")
    subprocess.run([sys.executable, ROOT / "examples" / "clients" / "archives.py", folder], check=True)
    return folder


def output(client, *arguments):
    # One thread: sums that several threads share out may differ in their last bits.
    env = dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    done = subprocess.run([BIN / f"client-{client}", *arguments], env=env, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.parametrize("client", CLIENTS)
def test_the_same_output(client, archives):
    ours, theirs = output(client, archives / f"{client}.pt"), output(f"{client}-torch", archives / f"{client}.pt")
    assert ours == theirs
    assert len(ours.splitlines()) > 10


def test_values_are_exchanged(archives, tmp_path):
    saved = {name: tmp_path / f"{name}.pkl" for name in ("stream", "stream-torch")}
    for name in saved:
        output(name, archives / "stream.pt", saved[name])
    by_us = output("stream", archives / "stream.pt", tmp_path / "again.pkl", saved["stream-torch"])
    by_torch = output("stream-torch", archives / "stream.pt", tmp_path / "again.pkl", saved["stream"])
    assert by_us == by_torch
    values = [torch.load(path, weights_only=False) for path in saved.values()]
    assert sorted(values[0]) == sorted(values[1]) == ["best", "scores"]
    for name in values[0]:
        assert torch.equal(values[0][name], values[1][name])
