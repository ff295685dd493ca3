"""Archives that torch.jit saves load in Cresset with the values, types and sharing that torch.jit.load gives them."""

import enum
import io
import os
import subprocess
import sys
import warnings
import zipfile
from typing import Dict, List, NamedTuple, Optional

import pytest
import torch

import cresset

COMMAND = os.environ.get("CRESSET_COMMAND", "cresset")

warnings.filterwarnings("ignore")


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Pair(NamedTuple):
    a: int
    b: torch.Tensor


class Inner(torch.nn.Module):
    def forward(self, x):
        # type: (Tensor) -> Tensor
        return x + 1


class Everything(torch.nn.Module):
    pair: Pair
    empty: Dict[str, List[int]]
    maybe: Optional[int]

    def __init__(self):
        super().__init__()
        self.color = Color.GREEN
        self.pair = Pair(1, torch.ones(2))
        self.table = {"a": 1, "b": 2}
        self.words = ["x", "y"]
        self.tensors = [torch.ones(2), torch.zeros(3)]
        self.floats = [1.5, float("inf")]
        self.flags = [True, False]
        self.z = 1 + 2j
        self.device = torch.device("cpu")
        self.mixed = (1, "a", 2.5)
        self.empty = {}
        self.maybe = None
        self.big = 1 << 40
        self.weight = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3))
        self.register_buffer("view", self.weight.detach()[:, 1])
        self.inner = Inner()

    def forward(self, x):
        # type: (Tensor) -> Tensor
        y = self.inner(x) + self.pair.a + self.table["a"] + self.tensors[0].sum() + self.floats[0] + self.mixed[0]
        if self.color == Color.RED or self.flags[1] or self.maybe is not None:
            y = y + self.big
        return y + self.weight.sum() + self.view.sum() + len(self.words) + len(self.empty) + self.pair.b.sum()


DTYPES = [
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.float32,
    torch.float64,
    torch.complex64,
    torch.complex128,
    torch.bool,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.uint16,
]


class Tensors(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for dtype in DTYPES:
            self.register_buffer(str(dtype).replace("torch.", "t_"), torch.arange(6).reshape(2, 3).to(dtype))
        self.register_buffer("empty", torch.empty(0, 3))
        self.register_buffer("scalar", torch.tensor(3.5))
        self.register_buffer("strided", torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1))
        self.register_buffer("expanded", torch.ones(1).expand(5, 5))
        self.register_buffer("conj", torch.tensor([1 + 2j]).conj())
        self.register_buffer("quantized", torch.quantize_per_tensor(torch.ones(2, 2), 0.1, 3, torch.quint8))
        self.register_buffer(
            "channels",
            torch.quantize_per_channel(
                torch.ones(2, 2), torch.tensor([0.1, 0.2]), torch.tensor([0, 1]), 0, torch.qint8
            ),
        )
        self.register_buffer("sparse", torch.eye(3).to_sparse())
        self.register_buffer("csr", torch.eye(3).to_sparse_csr())
        self.register_buffer("meta", torch.empty(7, device="meta"))

    def forward(self):
        return self.scalar


def archive(module):
    out = io.BytesIO()
    torch.jit.save(torch.jit.script(module), out)
    return out.getvalue()


def rewritten(data, change):
    """The archive with each record's bytes (or None, to drop it) as `change(name, bytes)` returns them."""
    source, out = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    with zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            record = change(name.split("/", 1)[1], source.read(name))
            if record is not None:
                target.writestr(name, record)
    return out.getvalue()


def test_values_and_results_are_torch_jits(tmp_path):
    data = archive(Everything())
    path = tmp_path / "m.pt"
    path.write_bytes(data)
    x = torch.randn(3)
    want = torch.jit.load(io.BytesIO(data))
    for loaded in (cresset.load(str(path)), cresset.load(io.BytesIO(data))):
        assert torch.equal(loaded(x), want(x))
        for name in ("table", "words", "floats", "flags", "z", "mixed", "empty", "maybe", "big"):
            assert getattr(loaded, name) == getattr(want, name), name
        assert [n for n, _ in loaded.named_parameters()] == [n for n, _ in want.named_parameters()]
        assert loaded.weight.requires_grad and not loaded.view.requires_grad
        assert loaded.view.data_ptr() == loaded.weight.data_ptr() + 4  # one storage


def test_every_kind_of_tensor(tmp_path):
    data = archive(Tensors())
    want, got = torch.jit.load(io.BytesIO(data)), cresset.load(io.BytesIO(data))
    expected = dict(want.named_buffers())
    found = dict(got.named_buffers())
    assert list(found) == list(expected)
    for name, a in expected.items():
        b = found[name]
        assert (b.dtype, b.shape, b.layout, b.device, b.is_conj()) == (
            a.dtype,
            a.shape,
            a.layout,
            a.device,
            a.is_conj(),
        ), name
        if a.layout == torch.strided:
            assert b.stride() == a.stride(), name
        if a.is_quantized:
            assert b.qscheme() == a.qscheme() and torch.equal(a.dequantize(), b.dequantize()), name
        elif not a.is_meta:
            assert torch.equal(a.to_dense().to(torch.complex128), b.to_dense().to(torch.complex128)), name


def test_map_location():
    loaded = cresset.load(io.BytesIO(archive(Everything())), map_location="meta")
    assert loaded.weight.is_meta and loaded.weight.shape == (2, 3)


def test_other_byte_order():
    data = archive(Everything())

    def swap(name, record):
        if name == "byteorder":
            return b"big"
        if name.startswith("data/"):
            return b"".join(record[i : i + 4][::-1] for i in range(0, len(record), 4))
        return record

    x = torch.randn(3)
    assert torch.equal(cresset.load(io.BytesIO(rewritten(data, swap)))(x), torch.jit.load(io.BytesIO(data))(x))


def test_extra_files(tmp_path):
    path = str(tmp_path / "m.pt")
    torch.jit.save(torch.jit.script(Inner()), path, _extra_files={"notes.txt": "hello", "bytes": b"\x00\xff"})
    files = {"notes.txt": "", "bytes": ""}
    cresset.load(path, _extra_files=files)
    assert files == {"notes.txt": b"hello", "bytes": b"\x00\xff"}


@pytest.mark.parametrize(
    "change, message",
    [
        (
            lambda n, b: b"11\n" if n in ("version", ".data/version") else b,
            "version 11, but the maximum supported version",
        ),
        (lambda n, b: None if n == "constants.pkl" else b, "use torch.load"),
        (lambda n, b: b.replace(b"c__torch__", b"cos\nsystem\nc__torch__", 1) if n == "data.pkl" else b, "not allowed"),
        (lambda n, b: b[: len(b) // 2] if n == "data.pkl" else b, r"data\.pkl at byte \d+"),
        (lambda n, b: b[:-1] if n == "data/0" else b, "has 23"),
        (lambda n, b: None if n.endswith(".py") else b, "code does not define"),
    ],
)
def test_bad_archives(change, message):
    with pytest.raises(RuntimeError, match=message):
        cresset.load(io.BytesIO(rewritten(archive(Everything()), change)))


def test_wrong_files(tmp_path):
    with pytest.raises(Exception, match="does not exist"):
        cresset.load(str(tmp_path / "missing.pt"))
    with pytest.raises(Exception, match="is a directory"):
        cresset.load(str(tmp_path))
    state = tmp_path / "state.pt"
    torch.save({"w": torch.ones(2)}, state)
    with pytest.raises(Exception, match="use torch.load"):
        cresset.load(str(state))
    exported = tmp_path / "exported.pt2"
    torch.export.save(torch.export.export(Inner(), (torch.ones(2),)), exported)
    with pytest.raises(Exception, match="torch.export.load"):
        cresset.load(str(exported))


class Raises(torch.nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            raise ValueError("too much")
        return x.view(3, 5)


class CallsRaises(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.raises = Raises()

    def helper(self, x):
        return self.raises(x) + 1

    def forward(self, x):
        y = x + 1
        return self.helper(y - 2)


@pytest.mark.parametrize("x", [torch.zeros(2), torch.full((4,), 5.0)])
def test_tracebacks_show_serialized_and_original_code(x):
    """Errors in an archive's code show both texts of each frame, as torch.jit's do."""
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(CallsRaises()), buffer)

    def message(load):
        with pytest.raises((RuntimeError, torch.jit.Error)) as caught:
            load(io.BytesIO(buffer.getvalue()))(x)
        # Marks differ: Cresset's show a whole call, torch.jit's only what is called.
        return [line for line in str(caught.value).rstrip("\n").split("\n") if not line.endswith("~ <--- HERE")]

    lines = message(cresset.load)
    # What a script raises itself has only the innermost frames in torch.jit's text; Cresset's has all.
    rest = iter(lines)
    assert [line for line in message(torch.jit.load) if line not in rest] == []
    assert sum(line.endswith(("in forward", "in helper")) for line in lines) == 6
    text = "\n".join(lines)
    assert 'Traceback of TorchScript, serialized code (most recent call last):\n  File "code/__torch__' in text
    assert '\nTraceback of TorchScript, original code (most recent call last):\n  File "' in text


def test_large_archive_costs_memory_only_when_touched(tmp_path):
    """200 MB of tensors (each in a storage of its own) are mapped, not read."""
    path = str(tmp_path / "large.pt")
    # torch.jit reads the source of what it scripts, so this can't be `python -c`.
    script = tmp_path / "make_large.py"
    script.write_text(
        "import sys, torch\n"
        "class Large(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        for i in range(20): self.register_buffer(f'b{i}', torch.full((2_500_000,), float(i)))\n"
        "    def forward(self): return self.b0\n"
        "torch.jit.save(torch.jit.script(Large()), sys.argv[1])\n"
    )
    subprocess.run([sys.executable, str(script), path], check=True, cwd=tmp_path)
    measure = (
        "import sys, torch, cresset\n"
        "def rss(): return int(open('/proc/self/statm').read().split()[1]) * 4096\n"
        "torch.ones(1000).sum(); before = rss()\n"
        "m = cresset.load(sys.argv[1]); loaded = rss()\n"
        "total = sum(float(b.sum()) for b in m.buffers()); touched = rss()\n"
        "print(loaded - before, touched - before)\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", measure, path], check=True, capture_output=True, text=True
    ).stdout.split()
    size = os.path.getsize(path)
    assert int(out[0]) < 0.1 * size
    assert int(out[1]) < 1.05 * size + (16 << 20)


def test_verify_compares_the_checksums_of_tensors(tmp_path):
    """Tensors are mapped: without `verify`, a flipped bit in one is another value."""
    module = torch.nn.Linear(64, 64)
    path = tmp_path / "m.pt"
    torch.jit.script(module).save(path)
    cresset.load(path, verify=True)
    data = bytearray(path.read_bytes())
    weight = module.weight.detach().numpy().tobytes()
    data[data.index(weight) + 3] ^= 1
    path.write_bytes(data)
    assert not torch.equal(cresset.load(path).weight, module.weight)
    for source in (path, bytes(data)):
        with pytest.raises(cresset.ArchiveError, match="data/.*checksum"):
            cresset.load(source, verify=True)
    done = subprocess.run([COMMAND, "show", path, "--verify"], capture_output=True, text=True)
    assert done.returncode == 1 and "checksum" in done.stderr
