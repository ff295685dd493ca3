"""Writes what the programs in this folder start from, a folder for each kind of input:

- archives: what torch.jit saves of every program in tests/python/test_archives_vs_torchjit.py, one file each, so that
  each part of the format and of the language is in one;
- pickles: that of an archive whose attributes have most types (fuzz_pickles.cpp has its code), and of torch.save's files;
- sources, ir: the text tests' inputs, and what those of graphs expect;
- schemas: some of the schemas that torch registers, and the types in them.

    python corpus.py FOLDER
"""

import enum
import io
import re
import shutil
import sys
import types
import warnings
import zipfile
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple, Union

import torch

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "python"))
# The programs need torch alone; a build with a sanitizer has no Python package.
sys.modules.setdefault("cresset", types.ModuleType("cresset"))
from test_archives_vs_torchjit import ENTRIES  # noqa: E402


class Packed(torch.nn.Module):
    """Weights in classes that libtorch registers; they restore themselves from what the pickle says."""

    def __init__(self):
        super().__init__()
        rows = torch.quantize_per_tensor(torch.randn(4, 3), 0.1, 0, torch.qint8)
        self.linear = torch.ops.quantized.linear_prepack(rows, torch.zeros(4))
        self.conv = torch.ops.quantized.conv2d_prepack(
            rows.reshape(4, 3, 1, 1), torch.zeros(4), [1, 1], [0, 0], [1, 1], 1
        )

    def forward(self, x):
        q = torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)
        return torch.dequantize(torch.ops.quantized.linear(q, self.linear, 0.1, 0))


class Point(NamedTuple):
    x: int
    y: torch.Tensor


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Part(torch.nn.Module):
    scale: float

    def __init__(self):
        super().__init__()
        self.scale = 0.5

    def forward(self, x):
        return x * self.scale


class Attributes(torch.nn.Module):
    i: int
    f: float
    c: complex
    s: str
    device: torch.device
    ints: List[int]
    floats: List[float]
    bools: List[bool]
    tensors: List[torch.Tensor]
    lists: List[List[str]]
    by_name: Dict[str, torch.Tensor]
    by_number: Dict[int, List[int]]
    maybe: Optional[torch.Tensor]
    either: Union[int, str]
    pair: Tuple[int, Tuple[str, float]]
    point: Point
    color: Color

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(2, 2).t())
        self.register_buffer("sparse", torch.eye(2).to_sparse())
        self.register_buffer("quantized", torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8))
        self.i, self.f, self.c, self.s, self.device = 300, -1.5, 1 + 2j, "é\n", torch.device("cpu")
        self.ints, self.floats, self.bools = [1, 2**40, -1], [0.5, float("inf")], [True, False]
        self.tensors, self.lists = [torch.ones(2), torch.zeros(0)], [["a"], []]
        self.by_name, self.by_number = {"a": torch.ones(1)}, {1: [2], -3: []}
        self.maybe, self.either, self.pair = None, "x", (1, ("y", 2.0))
        self.point, self.color = Point(1, torch.ones(3)[1:]), Color.GREEN
        self.part = self.again = Part()

    def forward(self, x):
        return self.part(x) + self.again(x)


def pickle_of(archive):
    with zipfile.ZipFile(archive) as opened:
        return opened.read(next(n for n in opened.namelist() if n.endswith("/data.pkl")))


def saved(value):
    archive = io.BytesIO()
    torch.save(value, archive)
    return pickle_of(archive)


def pickles():
    archive = io.BytesIO()
    torch.jit.save(torch.jit.script(Attributes()), archive)
    yield pickle_of(archive)
    yield saved({"a": torch.ones(2, 3)[:, 1], "b": [torch.nn.Parameter(torch.zeros(2)), None], 3: (1.5, True, "x")})
    yield saved([torch.ones(2, dtype=torch.complex64).conj(), torch.ones(3).neg(), torch.zeros(0, 2).half()])
    yield saved(torch.quantize_per_channel(torch.ones(2, 2), torch.ones(2), torch.zeros(2), 0, torch.qint8))


def texts(folder, suffixes):
    """What text tests are given, without the lines that say what is to be done, and what they expect."""
    for path in sorted(p for p in (TESTS / folder).rglob("*") if p.suffix in suffixes):
        text = re.sub(r"\A(# run:.*\n)+", "", path.read_text(errors="replace"))
        yield from text.split("# ---- expect\n")


def seeds():
    yield from (("sources", text.split("# ---- expect")[0]) for text in texts("frontend", [".py"]))
    for folder in ("ir", "frontend", "passes"):
        yield from (("ir", text) for text in texts(folder, [".ir", ".py"]) if text.startswith("graph("))
    schemas = torch._C._jit_get_all_schemas()
    arguments = [argument for schema in schemas for argument in schema.arguments + schema.returns]
    yield from (("schemas", text) for text in sorted({str(a.type) for a in arguments}))
    yield from (("schemas", str(schema)) for schema in schemas[::10])


def main(folder):
    shutil.rmtree(folder, ignore_errors=True)
    for kind in ("archives", "pickles", "sources", "ir", "schemas"):
        (folder / kind).mkdir(parents=True)
    warnings.simplefilter("ignore")
    torch.manual_seed(1)
    for name, make in ENTRIES.items():
        torch.jit.save(make()[0], folder / "archives" / f"{name}.pt")
    if "fbgemm" in torch.backends.quantized.supported_engines:
        torch.jit.save(torch.jit.script(Packed()), folder / "archives" / "packed.pt")
    for number, pickle in enumerate(pickles()):
        (folder / "pickles" / f"{number}.pkl").write_bytes(pickle)
    for number, (kind, text) in enumerate(dict.fromkeys(seeds())):
        (folder / kind / f"{number}.txt").write_text(text)
    for kind in sorted(folder.iterdir()):
        print(f"{len(list(kind.iterdir()))} {kind.name}", end=", " if kind.name != "sources" else f" in {folder}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
