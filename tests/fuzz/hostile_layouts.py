"""Archives of the other layouts, damaged on purpose: model.json of PyTorch 1.0 to 1.2, bundled inputs, lite ones, modules with __setstate__.

model.json is damaged as a tree: values of other kinds, numbers beyond every range, members that come twice or are missing, subtrees that stand
elsewhere or hold copies of themselves, names and types that are other ones, deep nesting; what else is in the archives as hostile_packages.py does it.
In child processes that may take a bounded time and memory, each is loaded, untrusted and, one in four, trusted; what loads is looked at, called,
saved, copied and frozen under limits. Loading may succeed or raise; it is a fault if the process ends or hangs, if it grows beyond its bound, or if
loading an untrusted archive runs what it holds.

    python hostile_layouts.py [--count N] [--seed S] [--only I]
"""

import contextlib
import copy
import io
import json
import random
import sys
import traceback
from pathlib import Path
from typing import Dict, List, Tuple

import hostile_packages as packages
import torch

import cresset

RAN = Path("ran.t")


# ---- modules ----


class Block(torch.nn.Module):
    names: List[str]
    table: Dict[str, torch.Tensor]

    def __init__(self, n):
        super().__init__()
        self.linear = torch.nn.Linear(n, n)
        self.names, self.table = ["a", "b"], {"a": torch.ones(n), "b": torch.arange(float(n))}
        self.pair, self.some = (1, 2.5), torch.ones(n, dtype=torch.half)
        self.register_buffer("calls", torch.zeros(1, dtype=torch.long))

    def forward(self, x):
        self.calls += 1
        for name in self.names:
            x = self.linear(x) * self.table[name] + self.some.to(torch.float)
        return x * self.pair[1]


class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(Block(4), torch.nn.ReLU(), Block(4))
        self.last = Block(4)

    def forward(self, x):
        return self.last(self.layers(x))


class Restored(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.n = torch.ones(4), 3

    @torch.jit.export
    def __getstate__(self) -> Tuple[torch.Tensor, List[int], bool]:
        return self.weight, [self.n], self.training

    @torch.jit.export
    def __setstate__(self, state: Tuple[torch.Tensor, List[int], bool]):
        self.weight = state[0] * 1
        self.n = state[1][0]
        self.training = state[2]

    def forward(self, x):
        return x * self.weight * self.n


class Restoring(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ModuleList([Restored(), Restored()])

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x


def bundled():
    import torch.utils.bundled_inputs as inputs

    module = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(4, 4)))
    out = io.BytesIO()
    torch.jit.save(inputs.bundle_inputs(module, [(torch.ones(2, 4),), (torch.zeros(1, 4),)]), out)
    return out.getvalue()


def lite():
    return torch.jit.script(torch.nn.Sequential(torch.nn.Linear(4, 4)))._save_to_buffer_for_lite_interpreter()


def records():
    """Archives by kind."""
    scripted = cresset.script(Layers())
    older = [cresset._serialization.save_to_buffer(scripted, layout="model.json")]
    older.append(cresset._serialization.save_to_buffer(cresset.script(Restoring()), layout="model.json"))
    others = [bundled(), lite(), cresset._serialization.save_to_buffer(cresset.script(Restoring()))]
    return older, others


# ---- damage of JSON ----

NUMBERS = [
    -1,
    0,
    1,
    2,
    3,
    255,
    2**31,
    -(2**31),
    2**32,
    2**40,
    2**61,
    2**62,
    2**63 - 1,
    -(2**63),
    2**63,
    2**64,
    10**300,
    1.5,
    1e308,
    -0.0,
]
NAMES = [
    "",
    ".",
    "a.b",
    "self",
    "forward",
    "__setstate__",
    "linear",
    "training",
    "0",
    "a b",
    "a\nb",
    "\0",
    "é",
    "\ud800",
    "a" * 5000,
    "a." * 300 + "a",
]
NAMES += [
    "def",
    "None",
    "__torch__",
    "names",
    "last",
    "weight",
    "../x",
    "tensors/0",
    "code/Layers.py",
    "attributes.pkl",
    "model.json",
    "version",
]
TYPES = [
    "int",
    "Tensor",
    "List[int]",
    "Dict[str, Tensor]",
    "Optional[Tensor]",
    "Tuple[int, float]",
    "Tuple[()]",
    "NoneType",
    "Any",
    "number",
]
TYPES += [
    "List[" * 3000 + "int" + "]" * 3000,
    "Tuple[" + "int, " * 30000 + "int]",
    "List[",
    "",
    "__torch__.Layers",
    "__torch__.last",
    "Future[int]",
]
TYPES += [
    "Callable",
    "Dict[Tensor, int]",
    "Dict[List[int], int]",
    "__torch__.torch.classes.quantized.Conv2dPackedParamsBase",
    "Device",
    "Module",
    "E",
    "1",
    "f()",
]
TYPES += [
    "RRef[int]",
    "Generator",
    "Storage",
    "Union[int, str]",
    "Tensor[]",
    "(int)",
    "Await[int]",
    "AnyList",
    "Stream",
    "QScheme",
    "ScalarType",
    "PyObject",
]
KINDS = ["FLOAT", "DOUBLE", "FLOAT16", "INT64", "INT8", "UINT8", "BOOL", "COMPLEX", ""]


def places(value, found=None):
    """Of each value below: what holds it, and where."""
    found = [] if found is None else found
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in pairs:
        found.append((value, key))
        places(part, found)
    return found


def other_value(old, key, rng):
    if rng.random() < 0.15:
        return rng.choice([None, True, False, 0, -1, "", "x", [], {}, [[]], {"key": "tensors/0"}, 1.5])
    if key == "type":
        return rng.choice(TYPES)
    if key == "dataType":
        return rng.choice(KINDS)
    if key == "isQuantized" or isinstance(old, bool):
        return not old
    if isinstance(old, str) and not old.lstrip("-").isdigit():
        return rng.choice(NAMES)
    if isinstance(old, (list, dict)):
        return rng.choice([[], {}, "x", 3])
    number = rng.choice(NUMBERS)
    return str(number) if rng.random() < 0.7 else number


def nested(value, rng):
    """A copy of the whole in a part of it, some levels deep, or lists in lists."""
    for _ in range(rng.choice([1, 3, 250])):
        value = {"name": "x", "submodules": [value]}
    return value


def damaged_tree(tree, rng):
    for _ in range(rng.choice([1, 1, 2, 4])):
        holder, key = rng.choice(places(tree))
        what = rng.randrange(8)
        if what <= 3:
            holder[key] = other_value(holder[key], key, rng)
        elif what == 4:
            del holder[key]
        elif what == 5:
            other, name = rng.choice(places(tree))
            holder[key] = copy.deepcopy(other[name])
        elif what == 6 and isinstance(holder, list):
            holder.extend(copy.deepcopy(holder[key]) for _ in range(rng.choice([1, 2, 50])))
        elif what == 7:
            holder[key] = nested(copy.deepcopy(holder[key]), rng)
        else:
            holder[rng.choice(["name", "id", "tensorId", "getStateAttributeId", "strides", "scale", "zeroPoint", "isQuantized"])
                   if isinstance(holder, dict) else key] = other_value("1", "", rng)  # fmt: skip
    return tree


def damaged_text(text, rng):
    what = rng.randrange(6)
    at = rng.randrange(len(text))
    if what == 0:
        return (
            text[:at]
            + rng.choice(["[" * 100000, '{"a":' * 100000, "9" * 100000, '"', "\\u0000", "\ud800", "-", "1e999", "nul"])
            + text[at:]
        )
    if what == 1:
        return text[:at]
    if what == 2:
        return text.replace('"name"', '"name":"x","name"', rng.choice([1, -1]))
    if what == 3:
        return '{"mainModule":' * rng.choice([1, 150, 100000]) + text
    if what == 4:
        return text.replace('"id"', rng.choice(['"tensorId"', '"name"', '"x"']))
    return text[:at] + rng.choice(list('{}[]:,"0-\\')) + text[at + 1 :]


def damaged_model(archive, rng):
    entries = packages.entries_of(archive)
    for i, (name, data) in enumerate(entries):
        if name.endswith("/model.json"):
            text = (
                json.dumps(damaged_tree(json.loads(data), rng))
                if rng.random() < 0.8
                else damaged_text(data.decode(), rng)
            )
            entries[i] = name, text.encode("utf-8", "surrogatepass")
    return packages.archive_of(entries)


STATEMENTS = [
    "print('ran')",
    "self.weight = torch.ones(4)",
    "raise Exception('x')",
    "while True: pass",
    "torch.save(1, 'ran.t')",
    "x = [self]",
]
STATEMENTS += [
    "self.n = self.n + 1",
    "torch.from_file('ran.t', True, 4)",
    "self.__setstate__(state)",
    "x = torch.jit.fork(self.forward, state)",
]
STATEMENTS += ["x = [0] * 1000000000", "self.training = True", "del self.n", "global x"]


def other_statements(archive, rng):
    """Statements in the methods, those that restore modules and make inputs among them."""
    entries = packages.entries_of(archive)
    found = [i for i, (name, _) in enumerate(entries) if name.endswith(".py")]
    i = rng.choice(found)
    lines = entries[i][1].decode().splitlines()
    at = rng.choice([at for at, line in enumerate(lines) if line.rstrip().endswith(":") or "return" in line])
    indent = " " * (len(lines[at]) - len(lines[at].lstrip()))
    if lines[at].rstrip().endswith(":"):
        lines.insert(at + 1, indent + "  " + rng.choice(STATEMENTS))
    else:
        lines.insert(at, indent + rng.choice(STATEMENTS))
    entries[i] = entries[i][0], "\n".join(lines).encode()
    return packages.archive_of(entries)


def other_bytecode(archive, rng):
    """bytecode.pkl with anything: nothing reads it."""
    entries = packages.entries_of(archive)
    data = rng.choice([b"", b"(" * 100000, b"cos\nsystem\n(S'touch ran.t'\ntR.", b"\x80\x02" + b"]" * 1000 + b"."])
    return packages.archive_of([(name, data if name.endswith("bytecode.pkl") else old) for name, old in entries])


def hostile(known, seed, index):
    rng = random.Random(f"{seed} {index}")
    older, others = known
    if index % 2 == 0:
        archive, kinds = rng.choice(older), [damaged_model] * 6 + [other_statements]
    else:
        archive, kinds = rng.choice(others), [other_statements] * 6 + [other_bytecode]
    kind = rng.choice([*kinds, rng.choice(packages.KINDS)])
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        with contextlib.suppress(Exception):  # what is damaged already may be no zip or tree any more
            archive = kind(archive, rng)
    return archive


# ---- loading ----


def use(module, rng):
    """What hosts do with a module, under limits."""

    def get(name):
        return getattr(module, name)()

    uses = [
        lambda: module(torch.ones(2, 4)),
        lambda: (module.state_dict(), str(module), module.code, [each.dump_to_str(True, True, True) for each in [module] if hasattr(each, "dump_to_str")]),
        lambda: cresset._serialization.save_to_buffer(module),
        lambda: cresset._serialization.save_to_buffer(module, layout="model.json"),
        lambda: copy.deepcopy(module)(torch.ones(2, 4)),
        lambda: cresset.freeze(module.eval())(torch.ones(2, 4)),
        lambda: get("get_all_bundled_inputs"),
        lambda: cresset.static_module(module.eval())(torch.ones(2, 4)),
        lambda: module.to(torch.double)(torch.ones(2, 4).double()),
    ]  # fmt: skip
    for each in rng.sample(uses, 3):
        with contextlib.suppress(Exception), cresset.Limits(seconds=1, memory="64MB"):
            each()


def case(known, seed, index, before):
    archive = hostile(known, seed, index)
    rng = random.Random(index)
    trusted = rng.random() < 0.25
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), cresset.Limits(seconds=3, memory="256MB"):
            module = cresset.load(io.BytesIO(archive), trusted=trusted)
    except Exception as error:  # noqa: BLE001  (any error is an answer)
        outcome = f"raised {type(error).__name__}"
        if isinstance(error, RuntimeError) and "INTERNAL" in str(error):
            sys.exit(f"an internal error: {error}")
    else:
        outcome = "loaded"
        if printed.getvalue() and not trusted:
            sys.exit("loading ran code")
        with contextlib.redirect_stdout(printed):
            use(module, rng)
    if packages.resident() - before > packages.MEMORY:
        sys.exit(f"it grew to {packages.resident() >> 20} MB")
    if RAN.exists() and not trusted:
        sys.exit("what the archive holds was run")
    RAN.unlink(missing_ok=True)
    return outcome


if __name__ == "__main__":
    try:
        packages.main(__file__, __doc__, "archives", records, case)
    except Exception:  # noqa: BLE001
        traceback.print_exc()
        sys.exit(3)
