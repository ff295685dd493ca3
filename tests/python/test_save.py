"""What Cresset saves, torch.jit and Cresset load, with equal results."""

import enum
import io
import os
import pickle
import stat
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

import pytest
import torch
from test_archives_vs_torchjit import ENTRIES, outcome, said, same, state
from torch import Tensor, nn

import cresset

#: Programs that torch.jit itself can't read back, or that its loader treats in another way.
NOT_FOR_TORCH = {}


def through_torch(module):
    """The Cresset module of a torch.jit module."""
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    return cresset.load(io.BytesIO(buffer.getvalue()), trusted=True)


def records(saved):
    """What an archive holds, but for the places in original files: a second time some are told less exactly."""
    archive = zipfile.ZipFile(io.BytesIO(saved))
    return {n: archive.read(n) for n in archive.namelist() if not n.endswith((".debug_pkl", "serialization_id"))}


def split(call):
    return call if call and isinstance(call[0], str) and isinstance(call[-1], tuple) else ("forward", call)


def compare(mine, expected, calls, where):
    same(state(mine), state(expected), f"{where}: state")
    for i, call in enumerate(calls):
        method, arguments = split(call)
        kind, value = outcome(mine, method, arguments)
        expected_kind, wanted = outcome(expected, method, arguments)
        assert kind == expected_kind, f"{where}, call {i}: {value!r} instead of {wanted!r}"
        if kind == "value":
            same(value, wanted, f"{where}, call {i}")
        else:
            assert said(wanted) in str(value), f"{where}, call {i}: {value} instead of {wanted}"
        same(state(mine), state(expected), f"{where}: state after call {i}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ENTRIES)
def test_archive(name):
    torch.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module, calls = ENTRIES[name]()
    saved = through_torch(module).save_to_buffer()
    again = cresset.load(io.BytesIO(saved), trusted=True).save_to_buffer()
    assert records(again) == records(saved), "saving what was saved changes it"
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)

    def original():
        return torch.jit.load(io.BytesIO(buffer.getvalue()))

    compare(cresset.load(io.BytesIO(saved), trusted=True), original(), calls, "Cresset")
    if name not in NOT_FOR_TORCH:
        compare(torch.jit.load(io.BytesIO(saved)), original(), calls, "torch.jit")


def scripted(cls, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return through_torch(torch.jit.script(cls(*args)))


def both(saved, **kwargs):
    yield cresset.load(io.BytesIO(saved), **kwargs)
    yield torch.jit.load(io.BytesIO(saved))


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x):
        return self.fc(x) * self.scale


# ---- where to ----


def test_to_paths_streams_and_buffers(tmp_path):
    m = scripted(Small)
    bytes_ = m.save_to_buffer()
    m.save(str(tmp_path / "archive.pt"))  # the name of the folder in what has no file
    cresset.save(m, tmp_path / "archive.jit")
    stream = io.BytesIO()
    cresset.save(m, stream)
    assert (tmp_path / "archive.pt").read_bytes() == bytes_
    assert (tmp_path / "archive.jit").read_bytes() == bytes_
    assert stream.getvalue() == bytes_
    assert sorted(os.listdir(tmp_path)) == ["archive.jit", "archive.pt"]


def test_in_another_process_the_bytes_are_the_same(tmp_path):
    torch.manual_seed(0)
    m = scripted(Small)
    m.save(tmp_path / "m.pt")
    program = "import cresset, sys\ncresset.load(sys.argv[1]).save(sys.argv[2])"
    again = tmp_path / "again" / "m.pt"
    again.parent.mkdir()
    subprocess.run([sys.executable, "-c", program, tmp_path / "m.pt", again], check=True, env=dict(os.environ))
    assert (tmp_path / "m.pt").read_bytes() == again.read_bytes()


def test_over_the_file_that_is_mapped(tmp_path):
    path = tmp_path / "m.pt"
    scripted(Small).save(path)
    m = cresset.load(str(path))
    x = torch.ones(2, 3)
    before = m(x)
    m.scale.fill_(4.0)
    m.save(path)
    assert torch.equal(m(x), before * 2)
    assert torch.equal(cresset.load(str(path))(x), before * 2)


def test_permissions_and_links_stay(tmp_path):
    target, link = tmp_path / "real" / "m.pt", tmp_path / "link.pt"
    target.parent.mkdir()
    m = scripted(Small)
    m.save(target)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~umask
    target.chmod(0o640)
    link.symlink_to(target)
    m.scale.fill_(3.0)
    m.save(link)
    assert link.is_symlink() and stat.S_IMODE(target.stat().st_mode) == 0o640
    assert cresset.load(str(target)).scale == 3


def test_a_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "m.pt"
    scripted(Small).save(path)
    before = path.read_bytes()
    holder = scripted(HoldsTensors, {"a": torch.ones(1)})
    holder.tensors = {"x": torch.eye(3).to_sparse_csc()}
    with pytest.raises(cresset.UserError, match="attribute 'tensors' can't be saved"):
        holder.save(path)
    with pytest.raises(cresset.UserError, match="folder"):
        cresset.save(holder, tmp_path)
    with pytest.raises(cresset.UserError, match="Parent directory .*missing does not exist"):
        cresset.save(holder, tmp_path / "missing" / "m.pt")
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["m.pt"]


def test_to_a_device_file():
    scripted(Small).save("/dev/null")


def test_extra_files():
    saved = scripted(Small).save_to_buffer(_extra_files={"notes.txt": "hällo", "b/data.bin": b"\x00\xff"})
    files = {"notes.txt": "", "b/data.bin": b""}
    cresset.load(saved, _extra_files=files)
    assert files == {"notes.txt": "hällo".encode(), "b/data.bin": b"\x00\xff"}
    theirs = {"notes.txt": ""}
    torch.jit.load(io.BytesIO(saved), _extra_files=theirs)
    assert theirs == {"notes.txt": "hällo"} or theirs == {"notes.txt": "hällo".encode()}


def test_only_scripts_can_be_saved():
    with pytest.raises(TypeError, match="Only script modules and script functions"):
        cresset.save(nn.Linear(2, 2), io.BytesIO())
    with pytest.raises(ValueError, match="layout"):
        cresset.save(scripted(Small), io.BytesIO(), layout="old")


def test_functions_become_modules(tmp_path):
    unit = cresset.CompilationUnit(
        "def helper(x: Tensor, n: int) -> Tensor: return x * n\ndef f(x: Tensor, n: int = 2): return helper(x, n) + 1"
    )
    unit.f.save(tmp_path / "archive.pt")
    assert unit.f.save_to_buffer() == (tmp_path / "archive.pt").read_bytes()
    for loaded in both((tmp_path / "archive.pt").read_bytes()):
        assert torch.equal(loaded(torch.ones(2)), torch.full((2,), 3.0))
        assert torch.equal(loaded(torch.ones(2), n=3), torch.full((2,), 4.0))


# ---- the container ----


def test_records_are_stored_and_aligned():
    saved = scripted(Small).save_to_buffer()
    archive = zipfile.ZipFile(io.BytesIO(saved))
    assert archive.testzip() is None
    names = archive.namelist()
    assert names[-3:] == ["archive/version", "archive/byteorder", "archive/.data/serialization_id"]
    for info in archive.infolist():
        assert info.compress_type == zipfile.ZIP_STORED
        with archive.open(info) as record:
            offset = record._orig_compress_start if hasattr(record, "_orig_compress_start") else None
        assert offset is None or offset % 64 == 0
    assert archive.read("archive/version") == b"3\n"
    assert len(archive.read("archive/.data/serialization_id")) == 40


@pytest.mark.parametrize(
    "body, version",
    [("x + 1", 3), ("torch.div(x, 2)", 4), ("torch.full([2], 1) + x", 5), ("torch.nn.functional.gelu(x)", 10)],
)
def test_versions_are_those_of_torch(body, version, tmp_path):
    unit = cresset.CompilationUnit(f"def f(x: Tensor): return {body}")
    saved = unit.f.save_to_buffer()
    assert zipfile.ZipFile(io.BytesIO(saved)).read("archive/version") == f"{version}\n".encode()
    theirs = io.BytesIO()
    torch.jit.save(torch.jit.load(io.BytesIO(saved)), theirs)
    (name,) = [n for n in zipfile.ZipFile(theirs).namelist() if n.endswith("/version")]
    assert zipfile.ZipFile(theirs).read(name) == f"{version}\n".encode()


def test_their_loader_maps_and_reads_ours_from_a_file(tmp_path):
    m = scripted(Small)
    m.save(tmp_path / "m.pt")
    x = torch.ones(1, 3)
    assert torch.equal(torch.jit.load(tmp_path / "m.pt")(x), m(x))
    assert torch.equal(torch.load(tmp_path / "m.pt", weights_only=False)(x), m(x))


# ---- values ----


class HoldsTensors(nn.Module):
    def __init__(self, tensors: Dict[str, Tensor]):
        super().__init__()
        self.tensors = tensors

    def forward(self) -> Dict[str, Tensor]:
        return self.tensors


def tensors_through(tensors):
    saved = scripted(HoldsTensors, tensors).save_to_buffer()
    for loaded in both(saved):
        yield loaded()


def test_shared_storage_stays_shared_and_views_keep_strides():
    base = torch.arange(24.0)
    tensors = {
        "base": base,
        "view": base[3:15].view(3, 4).t(),
        "every third": base[::3],
        "expanded": torch.ones(2, 1).expand(2, 5),
        "empty": torch.empty(0, 3),
        "channels last": torch.ones(1, 2, 3, 4).to(memory_format=torch.channels_last),
    }
    for loaded in tensors_through(tensors):
        for name, tensor in tensors.items():
            assert torch.equal(loaded[name], tensor), name
            assert loaded[name].stride() == tensor.stride() and loaded[name].storage_offset() == tensor.storage_offset()
        storages = [loaded[n].untyped_storage().data_ptr() for n in ("base", "view", "every third")]
        assert len(set(storages)) == 1
        loaded["base"].zero_()
        assert loaded["view"].sum() == 0


def test_a_storage_seen_as_two_dtypes():
    bits = torch.arange(4, dtype=torch.int32)
    tensors = {"bits": bits, "floats": bits.view(torch.float32), "bytes": bits.view(torch.uint8)}
    m = scripted(HoldsTensors, {"bits": bits})
    m.tensors = tensors
    saved = m.save_to_buffer()
    assert len([n for n in zipfile.ZipFile(io.BytesIO(saved)).namelist() if "/data/" in n]) == 1
    for loaded in (cresset.load(io.BytesIO(saved), trusted=True), torch.jit.load(io.BytesIO(saved))):
        for name, tensor in tensors.items():
            assert loaded()[name].dtype == tensor.dtype and torch.equal(loaded()[name], tensor)
    assert len({t.untyped_storage().data_ptr() for t in cresset.load(saved, trusted=True)().values()}) == 1
    with pytest.raises(cresset.ArchiveError, match="only a trusted archive may do that"):
        cresset.load(saved)


@pytest.mark.parametrize(
    "dtype",
    ["bfloat16", "float16", "float8_e5m2", "float8_e4m3fn", "complex64", "complex128", "bool", "int8", "uint8", "int16"]
    + ["int32", "int64", "float64"],
)
def test_dtypes(dtype):
    tensor = torch.arange(6).to(getattr(torch, dtype)).reshape(2, 3)
    for loaded in tensors_through({"x": tensor}):
        assert loaded["x"].dtype == tensor.dtype
        assert torch.equal(loaded["x"].to(torch.complex128), tensor.to(torch.complex128))


@pytest.mark.filterwarnings("ignore")
def test_layouts_and_kinds():
    sparse = torch.sparse_coo_tensor(torch.tensor([[0, 1], [2, 0]]), torch.tensor([3.0, 4.0]), (2, 3))
    tensors = {
        "coo": sparse,
        "csr": sparse.to_sparse_csr(),
        "quantized": torch.quantize_per_tensor(torch.tensor([1.0, 2.0]), 0.5, 3, torch.quint8),
        "per channel": torch.quantize_per_channel(
            torch.ones(2, 3), torch.tensor([0.5, 0.25]), torch.tensor([1, 2]), 0, torch.qint8
        ),
        "conjugate": torch.tensor([1 + 2j]).conj(),
        "negative": torch.tensor([1 + 2j]).conj().imag,
        "meta": torch.empty(3, 4, device="meta"),
        "leaf": torch.ones(2, requires_grad=True),
    }
    for loaded in tensors_through(tensors):
        assert loaded["meta"].is_meta and loaded["meta"].shape == (3, 4)
        assert loaded["leaf"].requires_grad and loaded["leaf"].is_leaf
        assert torch.equal(loaded["coo"].to_dense(), sparse.to_dense()) and loaded["coo"].layout == torch.sparse_coo
        assert torch.equal(loaded["csr"].to_dense(), sparse.to_dense()) and loaded["csr"].layout == torch.sparse_csr
        assert loaded["conjugate"].is_conj() and loaded["negative"].is_neg()
        for name in ("conjugate", "negative"):
            assert torch.equal(loaded[name], tensors[name])
        assert torch.equal(loaded["quantized"].int_repr(), tensors["quantized"].int_repr())
        assert loaded["quantized"].q_scale() == 0.5 and loaded["quantized"].q_zero_point() == 3
        assert torch.equal(loaded["per channel"].dequantize(), tensors["per channel"].dequantize())
        assert loaded["per channel"].q_per_channel_axis() == 0


def test_what_has_no_form_is_named():
    csc = torch.eye(3).to_sparse_csc()
    m = scripted(HoldsTensors, {"a": torch.ones(1)})
    m.tensors = {"x": csc}
    with pytest.raises(cresset.UserError, match="attribute 'tensors' can't be saved: archives hold tensors of the lay"):
        m.save_to_buffer()


class Point(NamedTuple):
    x: int
    y: Optional[Tensor]


class Color(enum.Enum):
    RED = "r"
    GREEN = "g"


class HoldsMuch(nn.Module):
    d: Dict[str, Tuple[int, List[float]]]
    by_int: Dict[int, Tensor]
    optional: Optional[List[str]]
    none: Optional[Tensor]
    points: List[Point]
    colors: List[Color]
    nested: List[List[List[int]]]

    def __init__(self):
        super().__init__()
        self.d = {"a": (1, [1.5, float("inf")]), "b": (-(2**62), [])}
        self.by_int = {3: torch.ones(2), -1: torch.zeros(1)}
        self.optional = ["x", "ÿ", ""]
        self.none = None
        self.point = Point(3, None)
        self.points = [Point(1, torch.ones(1))]
        self.color = Color.GREEN
        self.colors = [Color.RED]
        self.nested = [[[1, 2], []], []]
        self.device = torch.device("cpu")
        self.z = 1 + 2j
        self.empty = ()
        self.one = (7,)
        self.bools = [True, False]

    def forward(self):
        return (
            self.d, self.by_int, self.optional, self.none, self.point, self.points, self.color, self.colors,
            self.nested, self.device, self.z, self.empty, self.one, self.bools,
        )  # fmt: skip


def test_attributes_of_every_type():
    module = torch.jit.script(HoldsMuch())
    mine, theirs = both(through_torch(module).save_to_buffer())
    same(mine(), module(), "values")
    own = io.BytesIO()
    torch.jit.save(module, own)
    # torch.jit forgets the names of named tuples in lists when it loads, from its own archives too.
    same(theirs(), torch.jit.load(io.BytesIO(own.getvalue()))(), "values in torch.jit")


def test_shared_values_stay_shared():
    class Shares(nn.Module):
        def __init__(self):
            super().__init__()
            inner = nn.Linear(2, 2)
            self.a, self.b = inner, nn.Sequential(inner)
            self.xs = [1, 2]
            self.ys = self.xs

        def forward(self, x):
            self.xs.append(3)
            return self.a(x) + self.b(x), self.ys

        @torch.jit.export
        def tie(self):
            self.xs = self.ys

    m = scripted(Shares)
    m.tie()  # torch.jit made two lists of one
    for loaded in both(m.save_to_buffer()):
        assert loaded.a.weight.data_ptr() == getattr(loaded.b, "0").weight.data_ptr()
        assert loaded(torch.ones(1, 2))[1] == [1, 2, 3]


def test_states():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.k = torch.ones(2), 3

        @torch.jit.export
        def __getstate__(self):
            return self.w * 2, self.k, self.training

        @torch.jit.export
        def __setstate__(self, state: Tuple[Tensor, int, bool]):
            self.w, self.k = state[0] + 1, state[1]
            self.training = state[2]

        def forward(self, x):
            return x * self.w + self.k

    saved = scripted(M).save_to_buffer()  # w is 3 after torch.jit's round
    for loaded in both(saved, trusted=True):
        assert torch.equal(loaded.w, torch.full((2,), 7.0)) and loaded.k == 3
    with pytest.raises(cresset.ArchiveError, match="__setstate__"):
        cresset.load(saved)


# ---- code ----


def test_errors_after_loading_point_into_the_original_file():
    class Raises(nn.Module):
        def forward(self, x: int):
            if x > 2:
                raise ValueError("too large")  # THE LINE
            return x

    saved = scripted(Raises).save_to_buffer()
    again = cresset.load(cresset.load(saved).save_to_buffer())
    for loaded in (again, torch.jit.load(io.BytesIO(saved))):
        with pytest.raises(Exception, match="test_save.py.*line [0-9]+(.|\n)*raise ValueError.*# THE LINE"):
            loaded(3)


def test_a_program_of_text():
    unit = cresset.CompilationUnit("""
class Pair:
    def __init__(self, a: int): self.a = a
    def twice(self) -> int: return self.a * 2
    @staticmethod
    def three() -> int: return 3
class Color(Enum):
    RED = 1
class Row(NamedTuple):
    a: int
    b: str
def helper(c: Color, r: Row) -> int: return c.value + r.a
def f(x: Tensor, flag: bool):
    p = Pair(4)
    xs: List[Row] = []
    xs.append(Row(1, "é"))
    futures = [torch.jit.fork(helper, Color.RED, xs[0])]
    n = 0
    for i in range(10):
        if i == 3 and flag:
            break
        n += i
    return x * p.twice() + Pair.three(), xs, torch.jit.wait(futures[0]), n
""")
    for loaded in both(unit.f.save_to_buffer()):
        for flag in (True, False):
            same(loaded(torch.ones(2), flag), unit.f(torch.ones(2), flag), "result")


class WithDefaults(NamedTuple):
    a: int
    b: int = 2
    c: Optional[str] = None
    d: float = 2.5
    e: str = "é"


class MakesDefaults(nn.Module):
    def forward(self, n: int):
        return WithDefaults(n), WithDefaults(n, c="x", d=1.0)


def test_defaults_of_named_tuples():
    m = cresset.script(MakesDefaults())
    for loaded in both(m.save_to_buffer()):
        same(loaded(3), m(3), "result")


def test_constants():
    class M(nn.Module):
        K: torch.jit.Final[List[int]]

        def __init__(self):
            super().__init__()
            self.K = [1, 2]

        def forward(self, x):
            return x + self.K[0], self.K, torch.tensor([1.0, 2.0]), 2j, 1e-300, "\x00\xe9"

    m = scripted(M)
    for loaded in both(m.save_to_buffer()):
        same(loaded(torch.ones(1)), m(torch.ones(1)), "result")


def test_long_code_saves_in_linear_time(tmp_path):
    text = "def f(x):\n" + "".join(f"  x = x + {i}\n" for i in range(20_000)) + "  return x\n"
    unit = cresset.CompilationUnit(text)
    unit.f.save(tmp_path / "m.pt")
    assert cresset.load(str(tmp_path / "m.pt"))(torch.zeros(1, dtype=torch.float64)) == sum(range(20_000))


# ---- the older layout ----


def legacy(module):
    return module.save_to_buffer(layout="model.json")


def test_older_layout_has_the_records_that_the_format_documents():
    archive = zipfile.ZipFile(io.BytesIO(legacy(scripted(Small))))
    names = {n.removeprefix("archive/") for n in archive.namelist()}
    assert {"model.json", "attributes.pkl", "tensors/0", "tensors/1", "tensors/2", "code/Small.py"} <= names
    import json

    model = json.loads(archive.read("archive/model.json"))
    (fc,) = model["mainModule"]["submodules"]
    assert fc["name"] == "fc" and [p["name"] for p in fc["parameters"]] == ["weight", "bias"]
    tensor = model["tensors"][int(fc["parameters"][0]["tensorId"])]
    assert tensor["dims"] == ["2", "3"] and tensor["strides"] == ["3", "1"] and tensor["dataType"] == "FLOAT"
    assert tensor["requiresGrad"] is True and tensor["device"] == "cpu" and tensor["data"]["key"].startswith("tensors/")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ENTRIES)
def test_older_layout_of_every_program(name):
    torch.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module, calls = ENTRIES[name]()
    mine = through_torch(module)
    try:
        saved = legacy(mine)
    except cresset.UserError as error:
        assert "can't be saved in the layout of PyTorch 1.2" in str(error)
        pytest.skip(str(error))
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    original = torch.jit.load(io.BytesIO(buffer.getvalue()))
    compare_values(cresset.load(saved, trusted=True), original, calls, "Cresset")
    keep_for_judge(name, saved, calls, original)


def keep_for_judge(name, saved, calls, module):
    """For a loader of PyTorch up to 1.10 (docs/archives.md): the file, arguments and what the call returns."""
    folder = os.environ.get("CRESSET_KEEP_OLDER_LAYOUT")
    if folder is None:
        return
    (Path(folder) / f"{name}.pt").write_bytes(saved)
    method, arguments = split(calls[0])
    kind, value = outcome(module, method, arguments)
    plain = all(isinstance(a, (Tensor, int, float)) for a in arguments)
    if method == "forward" and kind == "value" and plain and isinstance(value, Tensor):
        torch.save(tuple(arguments), Path(folder) / f"{name}.pt.in")
        torch.save(value, Path(folder) / f"{name}.pt.expected")


def compare_values(mine, expected, calls, where):
    for i, call in enumerate(calls):
        method, arguments = split(call)
        kind, value = outcome(mine, method, arguments)
        expected_kind, wanted = outcome(expected, method, arguments)
        assert kind == expected_kind, f"{where}, call {i}: {value!r} instead of {wanted!r}"
        if kind == "value":
            same(value, wanted, f"{where}, call {i}")


class SeedExample(nn.Module):
    """The module whose attributes.pkl the format's documentation explains."""

    def __init__(self):
        super().__init__()
        self.float = 2.3
        self.tuple = (1, 2, 3, 4)
        self.tensor = torch.jit.Attribute(torch.ones(2, 2), Tensor)
        self.int_list = torch.jit.Attribute([1, 2, 3, 4], List[int])

    def forward(self):
        return self.float, self.tuple, self.tensor, self.int_list


def test_documented_ways_to_read_attributes_pkl(tmp_path):
    zipfile.ZipFile(io.BytesIO(legacy(scripted(SeedExample)))).extractall(tmp_path)
    path = tmp_path / "archive" / "attributes.pkl"
    with open(path, "rb") as f:
        values = pickle.load(f)
    assert 2.3 in values and (1, 2, 3, 4) in values and [1, 2, 3, 4] in values and isinstance(values, tuple)

    class JitUnpickler(pickle.Unpickler):
        def find_class(self, module, name):
            if module != "torch.jit._pickle":
                raise RuntimeError("Unknown module")

            def identity(x):
                return x

            if name == "build_tensor_from_id":
                return identity
            elif name == "build_intlist":
                return identity

    with open(path, "rb") as f:
        assert JitUnpickler(f).load() == values
    result = cresset.load(legacy(scripted(SeedExample)))()
    assert result[0] == 2.3 and result[1] == (1, 2, 3, 4) and result[3] == [1, 2, 3, 4]
    assert torch.equal(result[2], torch.ones(2, 2))


def test_older_layout_refuses_what_it_can_not_hold():
    with pytest.raises(cresset.UserError, match=r"layout of PyTorch 1.2 .* tensor of type BFloat16"):
        legacy(scripted(HoldsTensors, {"a": torch.ones(1, dtype=torch.bfloat16)}))


OLD_ARCHIVES = os.environ.get("CRESSET_OLD_ARCHIVES")


@pytest.mark.skipif(OLD_ARCHIVES is None, reason="CRESSET_OLD_ARCHIVES names no folder")
def test_genuine_archives_of_the_older_layout():
    """Files of 2019 that others made (docs/archives.md names them): they load, run, and save in both layouts."""
    paths = sorted(Path(OLD_ARCHIVES).glob("*.pt"))
    assert len(paths) >= 3
    for path in paths:
        m = cresset.load(str(path))
        inputs = [torch.full((4,), 3.0) for _ in m.forward.schema.arguments[1:]]
        expected = m(*inputs)
        for layout in ("current", "model.json"):
            same(cresset.load(m.save_to_buffer(layout=layout))(*inputs), expected, f"{path.name} as {layout}")
        same(torch.jit.load(io.BytesIO(m.save_to_buffer()))(*inputs), expected, f"{path.name} by torch.jit")


#: A file as PyTorch 1.1 laid it out, written by hand.
OLD_FILE = {
    "version": "1\n",
    "model.json": """{"protoVersion":"3","mainModule":{"submodules":[{"torchscriptArena":{"key":"code/net_0.py"},
      "parameters":[{"isBuffer":false,"tensorId":"0","name":"weight"},{"isBuffer":true,"tensorId":"1","name":"seen"}],
      "name":"0","optimize":true,"attributes":[{"type":"List[int]","name":"sizes","id":"0"},
      {"type":"Dict[str, Tuple[int, float]]","name":"table","id":"1"}]}],
      "torchscriptArena":{"key":"code/net.py"},"name":"net","optimize":true},"producerName":"pytorch",
      "producerVersion":"1.0","tensors":[
      {"dims":["2","2"],"offset":"1","strides":["1","2"],"requiresGrad":true,"dataType":"FLOAT",
       "data":{"key":"tensors/0"},"device":"cpu"},
      {"offset":"0","requiresGrad":false,"dataType":"INT64","data":{"key":"tensors/1"},"device":"cpu"}]}""",
    "code/net.py": "op_version_set = 0\ndef forward(self,\n    x: Tensor) -> Tensor:\n"
    '  return torch.div(getattr(self, "0").forward(x), 2)\n',
    "code/net_0.py": "op_version_set = 0\ndef forward(self,\n    x: Tensor) -> Tensor:\n"
    "  _0 = torch.add_(self.seen, 1, 1)\n  return torch.add(torch.matmul(self.weight, x), CONSTANTS.c1, alpha=1)\n",
    "attributes.pkl": pickle.dumps(([1, 2], {"a": (1, 2.5)}), protocol=2),
    "tensors/0": torch.arange(5.0).numpy().tobytes(),
    "tensors/1": torch.tensor(7).numpy().tobytes(),
}


def old_file(**changes):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, contents in (OLD_FILE | changes).items():
            if contents is not None:
                archive.writestr("net/" + name, contents)
    return out.getvalue()


def test_an_archive_of_pytorch_1_1():
    m = cresset.load(old_file())
    inner = getattr(m, "0")
    assert torch.equal(inner.weight, torch.tensor([[1.0, 3.0], [2.0, 4.0]])) and inner.weight.requires_grad
    assert isinstance(inner.weight, nn.Parameter) and [n for n, _ in m.named_buffers()] == ["0.seen"]
    assert inner.sizes == [1, 2] and inner.table == {"a": (1, 2.5)}
    # torch.div of that time divided integers down, and the constant is the buffer's tensor.
    assert torch.equal(m(torch.ones(2)), torch.tensor([12.0, 14.0]) / 2)
    assert inner.seen == 8
    again = cresset.load(m.save_to_buffer())
    # In today's layout constants have storages of their own.
    assert torch.equal(again(torch.ones(2)), torch.tensor([12.0, 14.0]) / 2)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"model.json": "{"}, "model.json at byte 1: this JSON is wrong: parse error"),
        ({"model.json": '{"a": ' + "9" * 400 + "}"}, "number overflow"),
        ({"model.json": '{"a": "\\xff"}'}, "JSON is wrong"),
        ({"model.json": '{"tensors": 3}'}, "model.json at byte 12: 'tensors' is no list"),
        ({"model.json": "[" * 5000}, "nests deeper"),
        ({"model.json": "{}"}, "no mainModule"),
        ({"model.json": OLD_FILE["model.json"].replace('"protoVersion":"3"', '"protoVersion":"6"')}, "is unknown"),
        ({"model.json": OLD_FILE["model.json"].replace('"tensorId":"1"', '"tensorId":"2"')}, "has no tensor"),
        ({"model.json": OLD_FILE["model.json"].replace('"id":"1"', '"id":"2"')}, "2 values for 3 attributes"),
        ({"model.json": OLD_FILE["model.json"].replace('"id":"1"', '"id":"-1"')}, "'table' has no value"),
        ({"model.json": OLD_FILE["model.json"].replace('"id":"1"', '"id":"0"')}, "different types share a value"),
        ({"model.json": OLD_FILE["model.json"].replace('"id":"1"', '"id":"99999999999"')}, "has no value"),
        ({"model.json": OLD_FILE["model.json"].replace('["2","2"]', '["2","3"]')}, "reaches to byte"),
        ({"model.json": OLD_FILE["model.json"].replace('"offset":"1"', '"offset":"x"')}, "is no int"),
        ({"model.json": OLD_FILE["model.json"].replace("List[int]", "List[str]")}, "expected here"),
        ({"model.json": OLD_FILE["model.json"].replace("List[int]", "Evil")}, "Unknown type name"),
        ({"model.json": OLD_FILE["model.json"].replace("FLOAT", "FLOUT")}, "unknown type 'FLOUT'"),
        ({"model.json": OLD_FILE["model.json"].replace('"name":"seen"', '"name":"weight"')}, "is there twice"),
        ({"model.json": OLD_FILE["model.json"].replace('"name":"net"', '"name":"a..b"')}, "no proper name"),
        ({"code/net.py": None}, "no such record"),
        ({"code/net.py": "class A:\n  pass\n"}, "only methods are expected"),
        ({"tensors/0": None}, "no record 'tensors/0'"),
        ({"attributes.pkl": None}, "no such record"),
        ({"attributes.pkl": b"\x80\x02cos\nsystem\nq\x00."}, "not allowed"),
        ({"attributes.pkl": pickle.dumps(3, protocol=2)}, "no tuple or list"),
    ],
)
def test_damaged_archives_of_the_older_layout(changes, message):
    with pytest.raises(cresset.ArchiveError, match=message):
        cresset.load(old_file(**changes))


def in_autocast(x: Tensor):
    with torch.autocast("cpu", torch.bfloat16):
        y = x @ x
    return y, x @ x


def in_autocast_of_the_default(x: Tensor):
    with torch.autocast("cpu"):
        y = x @ x
    return y, x @ x


def in_cpu_autocast(x: Tensor, on: bool = True):
    with torch.cpu.amp.autocast():
        y = x @ x
        with torch.cpu.amp.autocast(False):
            z = x @ x
    return y, z, x @ x


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", [in_autocast, in_autocast_of_the_default, in_cpu_autocast])
def test_autocast_is_exchanged(function):
    """Both engines know autocast by its class: what either saves, either runs in the dtypes of eager."""
    x = torch.randn(2, 2)
    expected = [t.dtype for t in function(x)]
    assert expected[0] == torch.bfloat16
    buffer = io.BytesIO()
    cresset.save(cresset.script(function), buffer)
    saved = [buffer.getvalue()]
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(function), buffer)
    saved.append(buffer.getvalue())
    arguments = (x, True) if function is in_cpu_autocast else (x,)
    for archive in saved:
        assert [t.dtype for t in torch.jit.load(io.BytesIO(archive))(*arguments)] == expected
        mine = cresset.load(io.BytesIO(archive))
        assert [t.dtype for t in mine(*arguments)] == expected
        again = io.BytesIO()
        mine.save(again)
        assert [t.dtype for t in torch.jit.load(io.BytesIO(again.getvalue()))(*arguments)] == expected


def in_inference_mode(x: Tensor):
    with torch.inference_mode():
        y = x * 2
    return y


def test_inference_mode_is_no_grad_for_torch():
    x = torch.ones(2, requires_grad=True)
    buffer = io.BytesIO()
    cresset.save(cresset.script(in_inference_mode), buffer)
    assert cresset.load(io.BytesIO(buffer.getvalue()))(x).is_inference()
    theirs = torch.jit.load(io.BytesIO(buffer.getvalue()))(x)
    assert not theirs.requires_grad and torch.equal(theirs, x.detach() * 2)
    assert torch.is_grad_enabled()


class Chain(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x) + 1


def test_nesting_is_limited(tmp_path):
    def chain(depth):
        module = torch.nn.ReLU()
        for _ in range(depth):
            module = Chain(module)
        return cresset.script(module)

    path = tmp_path / "deep.pt"
    chain(150).save(path)
    x = torch.zeros(1)
    assert cresset.load(path)(x) == torch.jit.load(path)(x) == 150
    deeper = chain(210)
    assert deeper(x) == 210
    with pytest.raises(cresset.UserError, match="nest more than 200 levels deep in it, which archives can't hold"):
        deeper.save(path)


@pytest.mark.parametrize("name", ["net.pt", "net", "a.b.pt", ".pt", "ä b.pt"])
def test_the_folder_is_the_files_name(tmp_path, name):
    """As in torch.jit's archives."""
    module = torch.nn.Linear(2, 2)
    folders = []
    for jit in (torch.jit, cresset):
        path = tmp_path / (type(jit).__name__ + jit.__name__) / name
        path.parent.mkdir()
        if jit is torch.jit and name == ".pt":
            folders.append({"archive"})  # torch.jit refuses a file without a name
            continue
        jit.script(module).save(str(path))
        with zipfile.ZipFile(path) as file:
            folders.append({entry.split("/")[0] for entry in file.namelist()})
        for loads in (torch.jit.load, cresset.load):
            assert torch.equal(loads(str(path)).weight, module.weight)
    assert folders[0] == folders[1] and len(folders[0]) == 1


def test_the_folder_of_what_has_no_file():
    buffer = io.BytesIO()
    cresset.save(cresset.script(torch.nn.ReLU()), buffer)
    with zipfile.ZipFile(buffer) as file:
        assert {entry.split("/")[0] for entry in file.namelist()} == {"archive"}


def test_places_are_recorded_once_where_they_begin():
    def function(x, n: int):
        total = x
        for i in range(n):
            j = 0
            while j < 3:
                total = total + x * j
                j = j + 1
            total = total + i + j
        return total, total + n, [total, total * n]

    archive = zipfile.ZipFile(io.BytesIO(cresset.script(function).save_to_buffer()))
    names = [name for name in archive.namelist() if name.endswith(".debug_pkl")]
    assert names
    for name in names:
        _, _, records = pickle.loads(archive.read(name))
        places = [place for _, place, _ in records]
        assert len(places) > 20
        assert all(place != following for place, following in zip(places, places[1:]))


def test_only_lines_near_the_code_are_kept():
    model = cresset.script(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Softmax(1)).eval())
    saved = model.save_to_buffer()
    archive = zipfile.ZipFile(io.BytesIO(saved))
    sizes = {name: archive.getinfo(name).file_size for name in archive.namelist() if name.endswith(".debug_pkl")}
    assert max(sizes.values()) < 12000, sizes
    with pytest.raises(RuntimeError) as ours:
        cresset.load(io.BytesIO(saved))(torch.ones(4, 3, 2))
    with pytest.raises(RuntimeError) as theirs:
        torch.jit.load(io.BytesIO(saved))(torch.ones(4, 3, 2))
    for error in (ours, theirs):
        assert "torch/nn/functional.py" in str(error.value) or "torch/nn/modules/conv.py" in str(error.value)
        assert "<--- HERE" in str(error.value)


@pytest.mark.parametrize(
    "traced",
    [
        lambda x: x[torch.full((x.size(0),), True)],
        lambda x: torch.where(x > 0, True, False),
        lambda x: torch.where(x > 0, x > 1, False),
        lambda x: x[(x > 0) ^ True] * 2,
        lambda x: (x > 0) & True | False,
        lambda x: (~torch.full((3,), True)).sum(),
        lambda x: x[torch.cat([x > 0, torch.full((1,), True)])[1:]],
        lambda x: x.unsqueeze(0).masked_fill(torch.full((3, 3), True).triu(1), -9.0),
        lambda x: ((x > 0).clone().fill_(True), (x > 0).masked_fill(x > 1, True), x.new_full((2,), True, dtype=bool)),
        lambda x: (x * True, x + False, x.is_contiguous() * x, x * (x.shape[0] > 1), (x > 0) * True, (x > 0).sum() + True),
        lambda x: (torch.full_like(x > 0, True), (x > 0) == True, x / True, x**True),  # noqa: E712
    ],
)  # fmt: skip
def test_bools_of_traces_in_archives(traced):
    """A bool that an operator took for a number is one again."""
    function = cresset.trace(traced, (torch.randn(3),))
    buffer = io.BytesIO()
    cresset.save(function, buffer)
    loaded = cresset.load(io.BytesIO(buffer.getvalue()))
    again = io.BytesIO()
    cresset.save(loaded, again)
    for x in (torch.tensor([1.0, 2.0, 3.0]), torch.tensor([-1.0, 0.5, 0.0])) * 2:
        expected = traced(x)
        for found in (function(x), loaded(x), cresset.load(io.BytesIO(again.getvalue()))(x)):
            torch.testing.assert_close(found, expected, rtol=0, atol=0)
