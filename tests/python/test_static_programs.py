"""Random programs over tensors, lists, tuples and dicts, with branches, loops, writes and forks, in static modules.

Each is compared with eager PyTorch: values, strides, which results and arguments share memory, what becomes of arguments, and results that are
held while later calls run. `python test_static_programs.py FIRST LAST [exact | default]` runs more of them.
"""

import copy
import random
import sys
import warnings
from typing import Dict, List, Tuple

import pytest
import torch
from script_compare import same as equal
from test_static import OPTIONS, layouts
from torch import Tensor

import cresset

warnings.filterwarnings("ignore")

HELPERS = """
def early(x, y):
    a = torch.relu(x) * 2
    if bool(a.sum() > y.sum()):
        return a
    b = torch.mm(a, y)
    for i in range(3):
        b = torch.tanh(b) + i
        if bool(b.sum() > 0):
            return b
    return a + b

def two(x, y):
    return torch.mm(x, y), torch.relu(y)

def two_list(x, y) -> List[Tensor]:
    return [torch.mm(x, y), x]

def one_or_two(x, y):
    a = torch.mm(x, y)
    if bool(a.sum() > 0):
        return [a, torch.relu(a)]
    return [x]
"""
HEAD = "def f(x, y, l: List[Tensor], d: Dict[str, Tensor], p: Tuple[Tensor, Tensor]):\n"

# All are square but for what is broadcast.
TENSORS = """torch.relu({}); ({} * 0.5); ({} + 1); ({} / 3); torch.tanh({}); torch.sigmoid({}); torch.softmax({}, 1); torch.exp(-torch.abs({}))
{}.t(); {}.clone(); {}.contiguous(); {}.t().contiguous(); {}.to(torch.float32); {}.double().float(); {}[:]; {}.detach(); {}.expand(x.size())
{}.reshape(-1).reshape(x.size()); {}.unsqueeze(0).squeeze(0); {}.view(x.size(0), -1); torch.flatten({}).view_as(x)
torch.layer_norm({}, [x.size(1)]); torch.cumsum({}, 1); torch.sort({}, 1)[0]; torch.flip({}, [0]); {}.masked_fill(x > 0, 0.5)
torch.zeros_like({}); torch.nn.functional.gelu({}); torch.clamp({}, -1.0, 1.0)
({} + {}); ({} * {}); ({} - {}); torch.maximum({}, {}); torch.where({} > 0, {}, {}); torch.lerp({}, {}, 0.25); torch.add({}, {}, alpha=2)
torch.mm({}, {}) * 0.3; torch.mm({}, {}); torch.matmul({}, {}); torch.addmm({}[0], {}, {}); torch.nn.functional.linear({}, {}, {}[0])
torch.bmm({}.unsqueeze(0), {}.unsqueeze(0))[0]; {} + torch.mm({}[:1], {}); {} * {}.amax(1, keepdim=True); {} + {}[:, :1]; {} - {}[0]
({} * {} + 1).t(); torch.stack([{}, {}]).sum(0); torch.cat([{}, {}], 1)[:, : x.size(1)]; {}.sum() * {}; ({} > {}).float(); early({}, {})
one_or_two({}, {})[-1]"""
TENSORS = [form.strip() for form in TENSORS.replace("\n", ";").split(";")]
PAIRS = """torch.stack([{}, {}]).unbind(0); torch.cat([{}, {}]).split(x.size(0)); torch.mm({}, torch.cat([{}, y], 1)).chunk(2, 1)
list(torch._foreach_mul([{}, {}], 2.0)); [{}, {}]; ({}, {}); torch.broadcast_tensors({}, {}); two({}, {}); two_list({}, {})"""
PAIRS = [form.strip() for form in PAIRS.replace("\n", ";").split(";")]
LISTS = """[{}, {}]; [{}, {}, {}]; one_or_two({}, {}); two_list({}, {}); list(torch.stack([{}, {}]).unbind(0)); [torch.tanh(z) for z in [{}, {}]]
list(torch._foreach_add([{}, {}], 1.0)); torch.jit.annotate(List[Tensor], [{}])"""
LISTS = [form.strip() for form in LISTS.replace("\n", ";").split(";")]
#: What is done with a list {l}; {} is a tensor.
CHANGES = (
    "{l}.append({}); {l}[0] = {}; {l}[-1] = {}; {l}.reverse(); {l}.insert(0, {}); {l}.extend([{}]); {l}.pop()".split(
        "; "
    )
)
WRITES = """{}.add_({}); {}.mul_(0.5); {}.relu_(); {}[:1].copy_({}[:1]); {}[0] = 1.0; {} += {}; {}.t().add_({}); {}.zero_(); {}[:, 0].fill_(2.0)"""
WRITES = WRITES.split("; ")


class Generator:
    """`tame` programs write to nothing, so that most of their results have planned memory; others write, or fork."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.forks, self.writes, self.tame = seed % 4 == 0, seed % 4 == 1, seed % 4 > 1
        self.lines, self.depth, self.count = [], 1, 0
        self.scopes = [{"t": ["x", "y"], "l": ["l"], "d": ["d"], "p": ["p"], "n": [], "f": []}]
        if self.tame:
            self.scopes[0].update(l=[], d=[])

    def names(self, kind):
        return [name for scope in self.scopes for name in scope[kind]]

    def pick(self, kind="t"):
        names = self.names(kind)
        return self.random.choice(names[-5:] if kind == "t" and self.random.random() < 0.75 else names)

    def emit(self, text):
        self.lines.append("    " * self.depth + text)

    def new(self, kind, text):
        self.count += 1
        self.emit(f"{kind}{self.count} = {text}")
        self.scopes[-1][kind].append(f"{kind}{self.count}")

    def new_pair(self, text):
        a, b = f"t{self.count + 1}", f"t{self.count + 2}"
        self.count += 2
        self.emit(f"{a}, {b} = {text}")
        self.scopes[-1]["t"] += [a, b]

    def filled(self, forms, **named):
        form = self.random.choice(forms)
        return form.format(*(self.pick() for _ in range(form.count("{}"))), **named)

    def tensor(self):
        forms = {
            "l": ("{}[0]", "{}[-1]", "{}[1]", "torch.stack({}).sum(0)", "torch.cat({})[: x.size(0)]"),
            "d": ('{}["a"]', '{}["b"]', "torch.cat(list({}.values()))[: x.size(0)]"),
            "p": ("{}[0]", "{}[1]"),
            "n": ("{}[0][0]", "{}[-1][0]"),
        }
        kind = self.random.choice("ttttttttlldpn")
        if kind == "t" or not self.names(kind):
            return self.filled(TENSORS)
        return self.random.choice(forms[kind]).format(self.pick(kind))

    def value(self):
        return self.pick() if self.random.random() < 0.5 else self.tensor()

    def block(self, head, count, element=None):
        self.emit(head)
        self.scopes.append({kind: [] for kind in self.scopes[0]})
        self.scopes[-1]["t"] += [element] if element else []
        self.depth += 1
        self.emit("pass")
        for _ in range(self.random.randint(1, count)):
            self.statement()
        self.depth -= 1
        self.scopes.pop()

    def statement(self):
        weights = {self.assign: 8, self.unpack: 4, self.make: 2, self.use: 3, self.control: 2 if self.depth < 4 else 0}
        weights |= {self.write: 1} if self.writes else {self.fork: 1} if self.forks else {}
        self.random.choices(list(weights), weights.values())[0]()

    def assign(self):
        outer = [name for scope in self.scopes[:-1] for name in scope["t"] if name not in ("x", "y")]
        if outer and self.random.random() < 0.4:
            return self.emit(f"{self.random.choice(outer)} = {self.tensor()}")
        self.new("t", self.tensor())

    def unpack(self):
        holders = self.names("l") + self.names("p")
        if holders and self.random.random() < 0.4:
            return self.new_pair(self.random.choice(holders))
        self.new_pair(self.filled(PAIRS))

    def make(self):
        kind = self.random.choice("llp" if self.tame else "lldpn")
        text = {
            "l": lambda: self.filled(LISTS),
            "d": lambda: f'{{"a": {self.value()}, "b": {self.value()}}}',
            "p": lambda: f"({self.value()}, {self.value()})",
            "n": lambda: f"[{self.pick('l')}, [{self.value()}, {self.value()}]]",
        }[kind]
        self.new(kind, text())

    def use(self):
        kind = self.random.choice("lldn")
        if self.tame or not self.names(kind):
            return self.make()
        holder = self.pick(kind)
        if kind == "d":
            return self.emit(f'{holder}["{self.random.choice("abc")}"] = {self.value()}')
        if kind == "n":
            return self.random.choice(
                (
                    lambda: self.new("l", f"{holder}[{self.random.choice([0, 1])}]"),
                    lambda: self.emit(f"{holder}[0].append({self.value()})"),
                    lambda: self.emit(f"{holder}[0] = [{self.value()}, {self.value()}]"),
                )
            )()
        if self.random.random() < 0.3:
            text = self.random.choice((f"{holder} + [{self.pick()}]", holder, f"list({holder})", f"{holder}[:2]"))
            return self.new("l", text)
        self.emit(self.filled(CHANGES, l=holder))

    def write(self):
        self.new("t", self.filled(("torch.mm({}, {})", "{} + 1", "torch.relu({})")))
        target = self.pick() if self.random.random() < 0.3 else self.names("t")[-1]
        form = self.random.choice(WRITES)
        self.emit(form.format(target, *(self.pick() for _ in range(form.count("{}") - 1))))

    def fork(self):
        if self.names("f") and self.random.random() < 0.6:
            return self.new("t", f"torch.jit.wait({self.pick('f')})")
        self.new("f", f"torch.jit.fork(early, {self.pick()}, {self.value()})")

    def control(self):
        kind = self.random.choice(("if", "if", "range", "list", "raise"))
        if kind == "raise":
            self.emit(f"if bool({self.pick()}.sum() > 30):")
            return self.emit(f'    raise ValueError("large " + str({self.pick()}.size(0)))')
        if kind == "if":
            self.block(f"if bool({self.pick()}.sum() > {self.random.choice(['0', '1', 'x.sum()'])}):", 4)
            return self.block("else:", 3) if self.random.random() < 0.6 else None
        self.count += 1
        name = f"i{self.count}"
        if kind == "list" and self.names("l"):
            source = self.random.choice(("list({})", "{}[:2]", "[torch.relu(z) for z in {}]")).format(self.pick("l"))
            return self.block(f"for {name} in {source}:", 3, element=name)
        self.block(f"for {name} in range({self.random.randint(1, 4)}):", 4)
        if self.random.random() < 0.3:
            self.emit(f"    if bool({self.pick()}.sum() > 2):")
            self.emit(f"        {self.random.choice(['break', 'continue'])}")

    def program(self):
        for _ in range(self.random.randint(5, 30)):
            self.statement()
        leaving = [self.names("t")[-1]]
        for kind in "tldpn":
            names = self.names(kind)
            leaving += self.random.sample(names, min(len(names), self.random.randint(0, 2 if kind == "t" else 1)))
        return HELPERS + HEAD + "\n".join([*self.lines, f"    return {', '.join(leaving)}"]) + "\n"


def arguments(random, n):
    """Some share memory, are views, or are held twice."""
    x, y = torch.randn(n, n), torch.randn(n, n)
    wide = torch.randn(n, 2 * n)
    x, y = random.choice([(x, y)] * 4 + [(x, x), (x, x.t()), (wide[:, :n], wide[:, n:]), tuple(torch.randn(2, n, n))])
    parts = [torch.randn(n, n), random.choice([x, torch.randn(n, n).t()])]
    named = {"a": random.choice([parts[0], torch.randn(n, n)]), "b": torch.randn(n, n)}
    return x, y, parts, named, (torch.randn(n, n), random.choice([y, torch.randn(n, n)]))


def tensors(value):
    if isinstance(value, dict):
        value = list(value.values())
    return [value] if isinstance(value, torch.Tensor) else [t for element in value for t in tensors(element)]


def sharing(values):
    """Which tensors share memory."""
    places = [t.untyped_storage().data_ptr() for t in tensors(values)]
    return [(i, j) for i in range(len(places)) for j in range(i) if places[i] == places[j]]


def outcome(run, args):
    """What can be compared, and the result itself."""
    x, y, parts, named, pair = args = copy.deepcopy(args)
    with torch.no_grad():
        try:
            result = run(x, y, list(parts), dict(named), pair)
        except Exception as error:
            return ("error", str(error).strip().splitlines()[-1:], tensors(args)), None
    return ("value", result, layouts(result), sharing((result, args)), args), result


def eager(source):
    space = {"torch": torch, "Tensor": Tensor, "List": List, "Dict": Dict, "Tuple": Tuple}
    exec(source, space)
    return space["f"]


def check(seed, numerics):
    source = Generator(seed).program()
    script = cresset.CompilationUnit(source).f
    torch.manual_seed(seed)
    calls = [arguments(random.Random(seed + n), n) for n in (3, 17, 2, 40, 3, 1)]
    with cresset.options.override(kernels="now", numerics=numerics):
        # By default kernels have bits of their own: other places in memory don't change them.
        apart = {"optimize_memory": False}
        reference = script if numerics == "exact" else cresset.static_module(script, **apart).runtime()
        expected = [outcome(reference, args)[0] for args in calls]
        if numerics == "exact":
            for args, ours in zip(calls, expected, strict=True):
                theirs = outcome(eager(source), args)[0]
                assert theirs[0] == ours[0] or "fork" in source, source  # eager forks raise at once
                assert theirs[0] == "error" or equal(theirs, ours), source
        for options in OPTIONS:
            if numerics != "exact" and not options.get("enable_fusion", True):
                continue
            runtime, held = cresset.static_module(script, **options).runtime(), []
            for args, wanted in [*zip(calls, expected, strict=True)] * 2:
                found, result = outcome(runtime, args)
                assert equal(wanted, found), f"{options}: {wanted} and not {found}\n{source}"
                held.append((result, copy.deepcopy(result)))
            assert all(equal(result, then) for result, then in held), f"{options}\n{source}"
            runtime.check_for_memory_leak()


@pytest.mark.parametrize("numerics", ["exact", "default"])
@pytest.mark.parametrize("seed", range(16))
def test_random_programs(seed, numerics):
    check(seed, numerics)


if __name__ == "__main__":
    for seed in range(int(sys.argv[1]), int(sys.argv[2])):
        check(seed, *(sys.argv[3:] or ["exact"]))
