"""Writes the archives that `archive-mutations` damages: what torch.jit saves of every program in
tests/python/test_archives_vs_torchjit.py, one file each, so that each part of the format and the language is in one.

    python archive_corpus.py FOLDER
"""

import sys
import warnings
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
from test_archives_vs_torchjit import ENTRIES  # noqa: E402


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    torch.manual_seed(1)
    for name, make in ENTRIES.items():
        torch.jit.save(make()[0], folder / f"{name}.pt")
    print(f"{len(ENTRIES)} archives in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
