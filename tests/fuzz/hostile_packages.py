"""Packages of torch.package whose script modules are damaged on purpose.

A package is Python code, and who imports it trusts it; the part that Cresset loads, the record of a script module, must be an
archive all the same. Records of real modules are damaged: entries of their zip (bytes, lengths, names, order), pickles (other
globals, calls, numbers that overflow, containers that hold themselves), storages (too short, missing), code. In child processes
that may take a bounded time and memory, each is loaded through a package, and what loads is called under limits. Loading may
succeed or raise; it is a fault if the process ends or hangs, if it grows beyond its bound, or if what a pickle names is called.

    python hostile_packages.py [--count N] [--seed S] [--only I]
"""

import argparse
import contextlib
import ctypes
import io
import os
import pickletools
import random
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import traceback
import warnings
import zipfile
from pathlib import Path
from typing import Dict, List

import torch
from torch.package import PackageExporter, PackageImporter

import cresset

MEMORY = 1 << 30  # beyond what the process has when it starts
SECONDS = 20  # of one package
PART = 250  # packages of one child process
CALLED = "CRESSET_HOSTILE_PACKAGE_CALLED"

# ---- modules ----


class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        self.register_buffer("calls", torch.zeros(1, dtype=torch.long))

    def forward(self, x):
        self.calls += 1
        return self.layers(x)


class Attributes(torch.nn.Module):
    names: List[str]
    table: Dict[str, torch.Tensor]

    def __init__(self):
        super().__init__()
        self.names, self.table = ["a", "b"], {"a": torch.ones(4), "b": torch.arange(4.0)}
        self.pair, self.half = (1, 2.5), torch.ones(4, dtype=torch.half)
        self.view = torch.arange(12.0).view(3, 4)[1:, ::2]

    def forward(self, x):
        for name in self.names:
            x = x * self.table[name] + self.half.to(torch.float)
        return x[:, : self.pair[0] + 1] + self.view.sum()


class Quantized(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.quantize_per_channel(torch.randn(2, 4), torch.ones(2) / 8, torch.zeros(2), 0, torch.qint8)

    def forward(self, x):
        return x @ self.weight.dequantize().t()


def records():
    modules = [cresset.script(each()) for each in (Layers, Attributes, Quantized)]
    modules.append(cresset.trace(Layers(), torch.ones(2, 4)))
    return [cresset._serialization.save_to_buffer(each) for each in modules]


# ---- damage ----


def entries_of(archive):
    with zipfile.ZipFile(io.BytesIO(archive)) as zipped:
        return [(info.filename, zipped.read(info)) for info in zipped.infolist()]


def archive_of(entries, compression=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", compression) as zipped:
        warnings.simplefilter("ignore")  # names that come twice
        for name, data in entries:
            zipped.writestr(name, data)
    return out.getvalue()


def flip(data, rng, most=8):
    data = bytearray(data)
    for _ in range(rng.randint(1, most) if data else 0):
        data[rng.randrange(len(data))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    return bytes(data)


def damaged_bytes(archive, rng):
    return flip(archive, rng)


def damaged_directory(archive, rng):
    """The end of a zip: its directory of entries, and where that is."""
    at = rng.randrange(max(0, len(archive) - 600), len(archive))
    return archive[:at] + flip(archive[at:], rng)


def wrong_lengths(archive, rng):
    at = rng.choice([i for i in range(len(archive) - 46) if archive[i : i + 4] in (b"PK\1\2", b"PK\3\4")])
    number = struct.pack("<I", rng.choice([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF]))
    at += rng.choice([18, 22, 20, 24, 42])
    return archive[:at] + number + archive[at + 4 :]


def cut(archive, rng):
    return archive[: rng.randrange(len(archive))]


def damaged_entry(archive, rng):
    entries = entries_of(archive)
    i = rng.randrange(len(entries))
    entries[i] = entries[i][0], flip(entries[i][1], rng)
    return archive_of(entries, rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))


def other_entries(archive, rng):
    entries = entries_of(archive)
    i, j = rng.randrange(len(entries)), rng.randrange(len(entries))
    what = rng.randrange(5)
    if what == 0:
        del entries[i]
    elif what == 1:
        entries.append((entries[i][0], entries[j][1]))
    elif what == 2:
        entries[i] = rng.choice(["../../x", "", "/etc/passwd", "a" * 60000, "\0", entries[j][0]]), entries[i][1]
    elif what == 3:
        entries[i] = entries[i][0], entries[i][1] * rng.choice([2, 1000])
    else:
        rng.shuffle(entries)
    return archive_of(entries)


def short_storage(archive, rng):
    entries = entries_of(archive)
    i = rng.choice([i for i, (name, _) in enumerate(entries) if "/data/" in name or "/constants/" in name])
    data = entries[i][1]
    entries[i] = entries[i][0], data[: rng.randrange(len(data) + 1)]
    return archive_of(entries)


def with_pickle(archive, rng, change):
    entries = entries_of(archive)
    i = rng.choice([i for i, (name, _) in enumerate(entries) if name.endswith(".pkl")])
    entries[i] = entries[i][0], change(entries[i][1], rng)
    return archive_of(entries)


def globals_in(data):
    return [(at, op.name, argument) for op, argument, at in pickletools.genops(data) if op.name == "GLOBAL"]


def change_global(data, rng):
    found = globals_in(data)
    if not found:
        return flip(data, rng)
    at, _, argument = rng.choice(found)
    old = ("c" + argument.replace(" ", "\n", 1) + "\n").encode()
    others = [
        ("os", "system"),
        ("builtins", "eval"),
        ("cresset._C", "_run_pass"),
        ("torch._utils", "_rebuild_parameter"),
    ]
    others += [("__torch__", "Nothing"), ("torch._utils", "_rebuild_tensor_v2"), ("collections", "OrderedDict")]
    others += [("__torch__.torch.classes.quantized", "Conv2dPackedParamsBase"), ("posix", "putenv"), ("", "")]
    module, name = rng.choice(others)
    return data[:at] + f"c{module}\n{name}\n".encode() + data[at + len(old) :]


def insert_call(data, rng):
    """Anywhere, a call that would be seen."""
    call = b"cposix\nputenv\n" + b"X" + struct.pack("<I", len(CALLED)) + CALLED.encode() + b"X\1\0\0\x001\x86R0"
    command = b"touch called.t"
    system = b"cos\nsystem\nX" + struct.pack("<I", len(command)) + command + b"\x85R0"
    places = [at for op, _, at in pickletools.genops(data) if op.name != "PROTO"]
    at = rng.choice(places)
    return data[:at] + rng.choice([call, system]) + data[at:]


def change_number(data, rng):
    """A number, such as a size, a stride, an offset or the number of bytes of a storage."""
    found = [(at, op.name) for op, _, at in pickletools.genops(data) if op.name in ("BININT", "BININT1", "BININT2")]
    if not found:
        return flip(data, rng)
    at, name = rng.choice(found)
    length = {"BININT": 5, "BININT1": 2, "BININT2": 3}[name]
    number = rng.choice(
        [-1, 0, 1, 2, 255, 2**31 - 1, -(2**31), 2**32, 2**40, 2**61, 2**62, 2**63 - 1, -(2**63), 2**64, 2**70]
    )
    encoded = number.to_bytes(10, "little", signed=True)
    return data[:at] + b"\x8a" + bytes([len(encoded)]) + encoded + data[at + length :]


def change_memo(data, rng):
    """What stands in the memo under another number: values of other types, values within themselves."""
    found = [(at, argument) for op, argument, at in pickletools.genops(data) if op.name == "BINGET"]
    puts = [argument for op, argument, at in pickletools.genops(data) if op.name == "BINPUT"]
    if not found or not puts:
        return flip(data, rng)
    at, _ = rng.choice(found)
    return data[: at + 1] + bytes([rng.choice(puts)]) + data[at + 2 :]


def insert_cycle(data, rng):
    """A list, dict or tuple that holds itself, before something that is there."""
    cycle = rng.choice(
        [
            b"]q\xf0h\xf0a",
            b"}q\xf0X\1\0\0\0ah\xf0s",
            b"](h\xf1\x85q\xf1h\xf1",
            b"]q\xf0h\xf0\x85a",
            b"]q\xf0" + b"h\xf0a" * 50,
        ]
    )
    places = [at for op, _, at in pickletools.genops(data) if op.name != "PROTO"]
    at = rng.choice(places)
    return data[:at] + cycle + data[at:]


def insert_opcodes(data, rng):
    codes = [
        b"(",
        b"t",
        b"R",
        b"b",
        b"s",
        b"u",
        b"a",
        b"e",
        b"0",
        b"2",
        b"1",
        b".",
        b"}",
        b"]",
        b")",
        b"N",
        b"Q",
        b"\x81",
    ]
    codes += [
        b"\x85",
        b"\x86",
        b"\x87",
        b"(" * 5000,
        b"]" * 5000,
        b"\x85" * 5000,
        b"]\x85" * 5000,
        b"X\xff\xff\xff\x7f",
        b"2" * 20000,
    ]
    places = [at for op, _, at in pickletools.genops(data) if op.name != "PROTO"]
    at = rng.choice(places)
    return data[:at] + b"".join(rng.choices(codes, k=rng.randint(1, 4))) + data[at:]


def damaged_code(archive, rng):
    entries = entries_of(archive)
    i = rng.choice([i for i, (name, _) in enumerate(entries) if name.endswith(".py")])
    lines = entries[i][1].decode().splitlines()
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    what = rng.randrange(5)
    if what == 0:
        del lines[at]
    elif what == 1:
        lines.insert(at, lines[other])
    elif what == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif what == 3:
        lines[at] = "  " + rng.choice(
            ["(" * 3000, "[" * 3000 + "]" * 3000, "x = " + "-" * 3000 + "1", "def f(self) -> int:", "\0"]
        )
    else:
        lines[at] = flip(lines[at].encode(), rng).decode("latin1")
    entries[i] = entries[i][0], "\n".join(lines).encode()
    return archive_of(entries)


OF_PICKLES = (change_global, insert_call, change_number, change_memo, insert_cycle, insert_opcodes, flip)
KINDS = [
    damaged_bytes,
    damaged_directory,
    wrong_lengths,
    cut,
    damaged_entry,
    other_entries,
    short_storage,
    damaged_code,
]
KINDS += [lambda archive, rng, change=change: with_pickle(archive, rng, change) for change in OF_PICKLES]


def hostile(known, seed, index):
    rng = random.Random(f"{seed} {index}")
    archive = rng.choice(known)
    kind = KINDS[index % len(KINDS)]
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        with contextlib.suppress(Exception):  # what is damaged already may be no zip or pickle any more
            archive = kind(archive, rng)
    return archive


# ---- loading ----


def package_of(archive):
    """A package as to_package writes it, with this record."""
    out = io.BytesIO()
    with PackageExporter(out) as exporter:
        exporter.extern(["cresset.**", "torch.**"])
        exporter.save_pickle("models", "model.pkl", Placed(archive))
    return out.getvalue()


class Placed:
    """Pickled as a script module is, with any record."""

    def __init__(self, archive):
        self.archive = archive

    def __reduce_package__(self, exporter):
        record = f".data/ts_code/{exporter.get_unique_id()}/archive.pt"
        exporter.zip_file.write_record(record, self.archive, len(self.archive))
        return cresset._serialization.from_package, (record,)


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def is_in_environment(name):
    """os.environ does not see what C has put there."""
    getenv = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_char_p
    return getenv(name.encode()) is not None


def try_one(archive, before):
    package = package_of(archive)
    try:
        module = PackageImporter(io.BytesIO(package)).load_pickle("models", "model.pkl")
    except Exception as error:  # noqa: BLE001  (any error is an answer)
        outcome = f"raised {type(error).__name__}"
    else:
        outcome = "loaded"
        with contextlib.suppress(Exception), cresset.Limits(seconds=2, memory="64MB"):
            module(torch.ones(2, 4))
    if resident() - before > MEMORY:
        sys.exit(f"it grew to {resident() >> 20} MB")
    if is_in_environment(CALLED) or Path("called.t").exists():
        sys.exit("what a pickle names was called")
    return outcome


def child(case, known, indices):
    """Each index by `case(known, index, before)`, which says what came of it."""
    os.unsetenv(CALLED)
    before = resident()
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + 4 * MEMORY, size + 4 * MEMORY))
    for index in indices:
        print("at", index, flush=True)
        signal.alarm(SECONDS)
        print(case(known, index, before), flush=True)
    print("end", flush=True)


def run_part(program, seed, indices, folder):
    """What each came to, and what is wrong with the one at which the child ended."""
    command = [sys.executable, program, "--seed", str(seed), "--indices", f"{indices[0]}:{indices[-1] + 1}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    lines = done.stdout.splitlines()
    if lines and lines[-1] == "end":
        return [line for line in lines if not line.startswith(("at ", "end"))], None, None
    at = int(lines[-1].split()[1]) if lines and lines[-1].startswith("at ") else indices[0]
    return (
        [line for line in lines if not line.startswith("at ")],
        at,
        f"exit status {done.returncode}: {done.stderr.strip()[-400:]}",
    )


def main(program, description, what, records, case):
    """Runs `case(records(), seed, index, before)` for each index, in child processes of `program`, whose arguments these are."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="this one, in this process")
    parser.add_argument("--indices", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only is not None:
        return print(case(records(), args.seed, args.only, resident()))
    if args.indices:
        first, end = map(int, args.indices.split(":"))
        return child(lambda known, index, before: case(known, args.seed, index, before), records(), range(first, end))
    outcomes, faults = {}, []
    with tempfile.TemporaryDirectory() as folder:
        at = 0
        while at < args.count:
            results, fault, why = run_part(program, args.seed, range(at, min(at + PART, args.count)), folder)
            for result in results:
                outcomes[result] = outcomes.get(result, 0) + 1
            if fault is None:
                at = min(at + PART, args.count)
                continue
            faults.append(fault)
            print(f"FAULT at {fault}: {why}", flush=True)
            at = fault + 1
    print(
        f"{args.count} {what}:", ", ".join(f"{n} {what}" for what, n in sorted(outcomes.items(), key=lambda p: -p[1]))
    )
    if faults:
        sys.exit(f"{len(faults)} faults; --seed {args.seed} --only {faults[0]} repeats the first")


if __name__ == "__main__":
    try:
        main(
            __file__,
            __doc__,
            "packages",
            records,
            lambda known, seed, index, before: try_one(hostile(known, seed, index), before),
        )
    except Exception:  # noqa: BLE001
        traceback.print_exc()
        sys.exit(3)
