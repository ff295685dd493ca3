"""One thing after another done to a module that Cresset loaded, to the one that torch.jit loaded from the same archive
and, where torch.jit can't, to the eager one: the same results, names, shapes, errors."""

import copy
import io
from typing import Dict, List, Optional

import pytest
import torch
from script_helpers import without_self

import cresset


class Inner(torch.nn.Module):
    def __init__(self, n, persistent):
        super().__init__()
        self.linear = torch.nn.Linear(n, n)
        self.norm = torch.nn.BatchNorm1d(n)
        self.register_buffer("scale", torch.full((n,), 2.0))
        self.register_buffer("temporary", torch.zeros(1), persistent=persistent)

    def forward(self, x):
        return self.norm(self.linear(x)) * self.scale


class Outer(torch.nn.Module):
    counts: Dict[str, int]
    steps: List[int]
    maybe: Optional[torch.Tensor]

    def __init__(self, as_eager=False):
        """`as_eager`: without what archives don't keep, that two submodules are one and that buffers aren't persistent."""
        super().__init__()
        torch.manual_seed(0)
        self.first = Inner(3, as_eager)
        self.layers = torch.nn.ModuleList([Inner(3, as_eager), torch.nn.Dropout(0.5)])
        self.named = torch.nn.ModuleDict({"a": torch.nn.ReLU()})
        self.tied = torch.nn.Linear(3, 3) if as_eager else self.first.linear
        self.free = torch.nn.Parameter(torch.ones(3), requires_grad=False)
        self.register_parameter("nothing", None)
        self.counts = {"a": 1}
        self.steps = []
        self.pair = (1, "x")
        self.maybe = None

    @torch.jit.export
    def step(self, k: int = 1):
        self.steps.append(k)
        return len(self.steps)

    def forward(self, x):
        y = self.first(x)
        for layer in self.layers:
            y = layer(y)
        return self.named["a"](y) + self.tied(x) * self.free


X = torch.arange(12.0).reshape(4, 3)


def archive(module):
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(module), buffer)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def saved():
    return archive(Outer())


@pytest.fixture
def both(saved):
    return cresset.load(saved), torch.jit.load(io.BytesIO(saved))


def plain(value):
    """What can be compared of a result: tensors by their bits, modules by class and names."""
    if isinstance(value, torch.Tensor):
        return ("tensor", str(value.dtype), str(value.device), value.requires_grad, value.tolist())
    if isinstance(value, torch.nn.Module):
        name = getattr(value, "original_name", type(value).__name__)
        return ("module", name, [n for n, _ in value.named_modules()])
    if isinstance(value, dict):
        return ("dict", [(k, plain(v)) for k, v in value.items()])
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "__next__"):
        return [plain(v) for v in value]
    return value


def seeded(f):
    def run(m):
        torch.manual_seed(1)
        return f(m)

    return run


def train(m):
    optimizer = torch.optim.AdamW([p for p in m.parameters() if p.requires_grad], lr=0.1)
    torch.manual_seed(2)
    for _ in range(3):
        optimizer.zero_grad()
        m(X).square().sum().backward()
        torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        optimizer.step()
    return m.state_dict()


def hooked(m):
    seen = []
    handles = [
        m.register_forward_pre_hook(lambda mod, a: seen.append("pre") or (a[0] * 2,)),
        m.register_forward_hook(lambda mod, a, out: seen.append("post") or out + 1),
        m.register_forward_hook(lambda mod, a, k, out: seen.append("kw"), with_kwargs=True, prepend=True),
        m.register_forward_hook(lambda mod, a, out: seen.append("always"), always_call=True),
    ]
    m.eval()
    result = m(X)
    for handle in handles:
        handle.remove()
    return seen, result, m(X)


def state_hooks(m):
    seen = []
    m._register_state_dict_hook(lambda mod, state, prefix, meta: seen.append(sorted(state)))
    m.register_state_dict_pre_hook(lambda mod, prefix, keep: seen.append(prefix))
    m._register_load_state_dict_pre_hook(lambda state, prefix, *rest: seen.append(("load", prefix)))
    m.register_load_state_dict_post_hook(lambda mod, keys: seen.append(list(keys.missing_keys)))
    m.load_state_dict(m.state_dict())
    return seen


def ema(m):
    averaged = torch.optim.swa_utils.AveragedModel(m)
    averaged.update_parameters(m)
    return [n for n, _ in averaged.named_parameters()], averaged.eval()(X)


class Wrap(torch.nn.Module):
    def __init__(self, m):
        super().__init__()
        self.inside = m
        self.head = torch.nn.Linear(3, 1)
        torch.nn.init.ones_(self.head.weight)
        torch.nn.init.zeros_(self.head.bias)

    def forward(self, x):
        return self.head(self.inside(x))


def nested(m):
    wrap = Wrap(m).eval()
    wrap.requires_grad_(True)
    out = wrap(X)
    out.sum().backward()
    again = Wrap(copy.deepcopy(m)).eval()
    again.load_state_dict(wrap.state_dict())
    return [n for n, _ in wrap.named_parameters()], list(wrap.state_dict()), out, again(X), m.first.linear.weight.grad


def replace_buffer(m):
    m.first.scale = torch.ones(3)
    return m.first.scale, m.eval()(X), m.state_dict()["first.scale"]


def bad(f):
    """The class of the error and its first line."""

    def run(m):
        try:
            f(m)
        except Exception as error:
            kind = "RuntimeError" if isinstance(error, RuntimeError) else type(error).__name__
            return kind, str(error).split("\n")[0]
        return "no error"

    return run


def assign(name, value):
    return bad(lambda m: setattr(m, name, value))


ACTIONS = {
    "parameters": lambda m: m.parameters(),
    "parameters of its own": lambda m: m.parameters(recurse=False),
    "named parameters": lambda m: m.named_parameters(prefix="p"),
    "named parameters with duplicates": lambda m: [n for n, _ in m.named_parameters(remove_duplicate=False)],
    "buffers": lambda m: m.buffers(),
    "named buffers": lambda m: m.named_buffers(),
    "children": lambda m: m.children(),
    "named children": lambda m: m.named_children(),
    "named modules": lambda m: [(n, plain(c)) for n, c in m.named_modules(prefix="x")],
    "named modules with duplicates": lambda m: [n for n, _ in m.named_modules(remove_duplicate=False)],
    "get parameter": lambda m: m.get_parameter("first.linear.weight"),
    "get buffer": lambda m: m.get_buffer("first.scale"),
    "get submodule": lambda m: m.get_submodule("layers.0.norm"),
    "get what is not there": lambda m: bad(lambda m: m.get_submodule("layers.7"))(m)[0],
    "state dict": lambda m: m.state_dict(),
    "state dict with prefix": lambda m: m.state_dict(prefix="a.", keep_vars=True),
    "state dict into": lambda m: m.state_dict(destination={}),
    "load state dict": lambda m: (m.load_state_dict({k: v * 0 for k, v in m.state_dict().items()}), m.state_dict())[1],
    "load too little": bad(lambda m: m.load_state_dict({})),
    "load too much": lambda m: tuple(m.load_state_dict({"more": X, **m.state_dict()}, strict=False)),
    "load other shapes": bad(lambda m: m.load_state_dict({k: torch.zeros(5, 5) for k in m.state_dict()})),
    "load and assign": lambda m: (m.load_state_dict({k: v + 1 for k, v in m.state_dict().items()}, assign=True), plain(m.state_dict()))[1],
    "double": lambda m: m.double().state_dict(),
    "half": lambda m: m.half().state_dict(),
    "bfloat16": lambda m: m.bfloat16().state_dict(),
    "float": lambda m: m.double().float().state_dict(),
    "to dtype": lambda m: m.to(torch.float64).eval()(X.double()),
    "to dtype and device": lambda m: m.to("cpu", torch.float64, non_blocking=True).state_dict(),
    "to like": lambda m: m.to(torch.zeros(1, dtype=torch.float64)).state_dict(),
    "to integers": bad(lambda m: m.to(torch.int64)),
    "to meta and back": lambda m: [(n, p.shape, str(p.device)) for n, p in m.to("meta").to_empty(device="cpu").named_parameters()],
    "type": lambda m: m.type(torch.float64).state_dict(),
    "cpu": lambda m: m.cpu().state_dict(),
    "requires grad": lambda m: m.requires_grad_(False).parameters(),
    "eval": lambda m: [c.training for c in m.eval().modules()],
    "train": lambda m: [c.training for c in m.eval().train().modules()],
    "train something": lambda m: (m.eval(), m.layers[1].train(), [c.training for c in m.modules()])[2] if hasattr(m.layers, "__getitem__") else None,
    "call": seeded(lambda m: m(X)),
    "call eval": lambda m: m.eval()(X),
    "forward": seeded(lambda m: m.forward(X)),
    "running statistics": seeded(lambda m: (m(X), m.first.norm.running_mean, m.first.norm.num_batches_tracked)),
    "train it": train,
    "hooks": hooked,
    "state dict hooks": state_hooks,
    "averaged model": ema,
    "inside an eager module": nested,
    "apply": lambda m: (m.apply(lambda c: [p.data.fill_(0.5) for p in c.parameters(recurse=False)]), plain(m.state_dict()))[1],
    "zero grad": seeded(lambda m: (m(X).sum().backward(), m.zero_grad(), [p.grad for p in m.parameters()])[2]),
    "gradients": seeded(lambda m: (m(X).sum().backward(), [p.grad for p in m.parameters()])[1]),
    "vector of parameters": lambda m: torch.nn.utils.parameters_to_vector(m.parameters()),
    "deep copy": lambda m: (lambda c: (c.step(), c.steps, m.steps, c.eval()(X)))(copy.deepcopy(m)),
    "deep copy keeps ties": lambda m: (lambda c: [n for n, _ in c.named_parameters()])(copy.deepcopy(m)),
    "method": lambda m: (m.step(), m.step(k=4), m.steps),
    "attributes": lambda m: (m.counts, m.steps, m.pair, m.maybe, m.nothing, m.training),
    "set attributes": lambda m: (setattr(m, "counts", {"b": 2}), setattr(m, "pair", (2, "y")), setattr(m, "maybe", X), m.counts, m.pair, m.maybe),
    "replace a buffer": replace_buffer,
    "a parameter becomes a number": lambda m: assign("free", 3)(m)[1].split(": Unable")[0],
    "an attribute of another type": lambda m: assign("pair", "no")(m)[1].split(": Unable")[0],
    "an attribute that is not there": bad(lambda m: m.nowhere),
    "a new buffer": bad(lambda m: m.register_buffer("b", X)),
    "a new parameter": bad(lambda m: m.register_parameter("p", torch.nn.Parameter(X))),
    "a new submodule": bad(lambda m: m.add_module("c", torch.nn.ReLU())),
    "a submodule by an eager one": assign("first", torch.nn.Linear(1, 1)),
    "a submodule by a number": assign("first", 3),
    "too few arguments": bad(lambda m: m()),
    "too many arguments": bad(lambda m: m(X, X)),
    "an unknown argument": bad(lambda m: m(X, y=1)),
    "an argument of another type": bad(lambda m: m("x")),
    "shapes that do not fit": bad(lambda m: m(torch.ones(2, 5))),
    "share memory": lambda m: m.share_memory().free.is_shared(),
    "extra repr": lambda m: repr(m),
    "names in dir": lambda m: [n in dir(m) for n in ("first", "forward", "free", "state_dict")],
    "code": lambda m: m.code,
    "schema": lambda m: str(m.step.schema) if hasattr(m.step, "schema") else None,
    "original name": lambda m: m.original_name,
    "hash and equality": lambda m: (m.first == m.first, m.first != m, len({m.first, m.first})),
    "set submodule's training": lambda m: (m.first.eval(), [c.training for c in m.modules()])[1],
}  # fmt: skip


# What torch.jit refuses to do to a loaded module: compared with the eager module.
AS_EAGER = {
    "get parameter",
    "get buffer",
    "get submodule",
    "get what is not there",
    "bfloat16",
    "to meta and back",
    "requires grad",
    "train something",
    "hooks",
    "state dict hooks",
}


@pytest.mark.parametrize("name", [n for n in ACTIONS if n not in AS_EAGER])
def test_as_in_torch_jit(both, name):
    ours, theirs = (plain(ACTIONS[name](m)) for m in both)
    if name in ("too many arguments", "an unknown argument"):
        theirs = type(theirs)(without_self(part) if isinstance(part, str) else part for part in theirs)
    assert ours == theirs


@pytest.mark.parametrize("name", sorted(AS_EAGER))
def test_as_in_eager_modules(name):
    eager = Outer(as_eager=True)
    results = [plain(ACTIONS[name](m)) for m in (cresset.load(archive(eager)), eager)]
    assert results[0] == results[1]
