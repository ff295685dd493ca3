"""Plans under torch.autocast: values, dtypes and gradients are those of eager PyTorch under it, to the last bit, and what plans assume holds.

The column of the operator table is compared with what PyTorch has registered; then operators are called under autocast with PyTorch's own samples, alone
and in modules; then the state is changed between calls.
"""

import copy
import re
import warnings
from pathlib import Path

import fact_calls
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import cresset
from cresset import _C

PARTS = 4
DTYPES = [torch.bfloat16, torch.float16]


@pytest.fixture(autouse=True)
def checked_plans():
    """Plans from the first call on, which assert what they assume."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    _C._set_plans_always(True)
    _C._set_fact_checks("plans")
    yield
    _C._set_fact_checks("off")
    _C._set_plans_always(False)
    torch.set_num_threads(threads)


def registered(device):
    names = torch._C._dispatch_get_registrations_for_dispatch_key(f"Autocast{device}")
    return {name for name in names if name.startswith("aten::")}


def listed(macro):
    """The operators of a list of ATen/autocast_mode.h."""
    text = (Path(torch.__file__).parent / "include/ATen/autocast_mode.h").read_text()
    body = re.search(rf"#define {macro}\(_\)(.*?)\n\n", text, re.DOTALL).group(1)
    return {"aten::" + ".".join(map(str.strip, row.split(","))) for row in re.findall(r"_\(([^()]*)\)", body)}


def test_table_has_what_pytorch_registers():
    rows = _C._autocast_rows()
    for i, device in enumerate(["CPU", "CUDA"]):
        ours = {name for name, row in rows.items() if row[i] not in ("Unknown", "None", "Inside")}
        assert ours == registered(device)
    policies = {
        "Lower": listed("AT_FORALL_LOWER_PRECISION_FP")
        | {"aten::cudnn_convolution", "aten::cudnn_convolution_transpose"},
        "Float": listed("AT_FORALL_FP32"),
        "FloatDtype": listed("AT_FORALL_FP32_SET_OPT_DTYPE"),
        "AppendFloat": {"aten::norm.Scalar", "aten::norm.ScalarOpt_dim"},
        "Promote": listed("AT_FORALL_PROMOTE"),
        "Refused": {"aten::binary_cross_entropy"},
    }
    for policy, names in policies.items():
        assert {name for name, row in rows.items() if row[1] == policy} == names


def one_call(call, schema):
    """A program of one operator, and which of its arguments are inputs."""
    heads, operands, inputs = [], [], []
    lines = ["  %none : NoneType = prim::Constant()"]
    for i, (value, argument) in enumerate(zip(call, schema.arguments)):
        if value is None:
            operands.append("%none")
            continue
        if isinstance(value, list) and value and all(isinstance(v, torch.Tensor) for v in value):
            parts = [f"%a{i}.{k}" for k in range(len(value))]
            heads += [f"{part} : Tensor" for part in parts]
            lines.append(f"  %a{i} : {argument.type.str()} = prim::ListConstruct({', '.join(parts)})")
            inputs += value
        else:
            heads.append(f"%a{i} : {argument.type.str()}")
            inputs.append(value)
        operands.append(f"%a{i}")
    types = [r.type.str() for r in schema.returns]
    results = [f"%r{i}" for i in range(len(types))]
    left = ", ".join(f"{r} : {t}" for r, t in zip(results, types))
    lines.append(f"  {left} = {schema.name}({', '.join(operands)})")
    lines.append(f"  %out : ({', '.join(types)}) = prim::TupleConstruct({', '.join(results)})")
    return f"graph({', '.join(heads)}):\n" + "\n".join(lines) + "\n  return (%out)", inputs


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for v in value for t in tensors_of(v)] if isinstance(value, (list, tuple)) else []


def differences(found, expected):
    found, expected = tensors_of(found), tensors_of(expected)
    if len(found) != len(expected):
        return f"{len(found)} tensors, {len(expected)} expected"
    for a, b in zip(found, expected):
        if a.dtype != b.dtype or a.shape != b.shape or a.stride() != b.stride() or a.requires_grad != b.requires_grad:
            return f"{a.dtype} {a.shape} {a.requires_grad}, expected {b.dtype} {b.shape} {b.requires_grad}"
        if a.layout == torch.strided and not torch.equal(
            *(torch.nan_to_num(t.detach().to(torch.complex128) if t.is_complex() else t.detach()) for t in (a, b))
        ):
            return "other values"
    return None


def gradients(results, leaves):
    roots = [t for t in tensors_of(results) if t.requires_grad]
    if not roots:
        return []
    return [
        g
        for g in torch.autograd.grad(roots, leaves, [torch.ones_like(r) for r in roots], allow_unused=True)
        if g is not None
    ]


def spread(description, seed):
    """As `make`, but elements differ: what is lost by a cast shows."""
    made = fact_calls.make(description)
    for number, t in enumerate(tensors_of(made)):
        if t.is_floating_point():
            t.copy_(
                torch.linspace(0.11, 0.83, t.numel(), dtype=torch.float64).reshape(t.shape) + seed / 7 + number / 13
            )
    return made


def fault_of(call, dtype):
    """What differs between a plan of the call and eager PyTorch; None if nothing does; True if there is nothing to compare."""
    op = fact_calls.overload(call.name)
    schema = op._schema
    arguments = [spread(a, i) for i, a in enumerate(call.arguments)]
    text, inputs = one_call(arguments, schema)
    function = _C.function_from_graph("f", _C.parse_ir(text))
    leaves = [t for t in tensors_of(arguments) if t.is_floating_point()]
    for leaf in leaves:
        leaf.requires_grad_()
    with torch.autocast("cpu", dtype=dtype):
        torch.manual_seed(0)
        try:
            expected = fact_calls.call(op, arguments)
        except Exception:
            return True
        torch.manual_seed(0)
        found = function(*inputs)
        fault = differences(list(found), list(expected))
    if fault is None and leaves:
        try:
            wanted = gradients(expected, leaves)
        except Exception:
            return None
        fault = differences(gradients(list(found), leaves), wanted)
        fault = fault and "gradients: " + fault
    return fault and f"{call.text()}: {fault}"


#: Results that are memory as it was found.
WITHOUT_VALUES = re.compile(r"empty|_ctc_loss|linalg_lstsq")


def calls_of(part):
    """Calls of operators that the table knows."""
    known = {*_C._autocast_rows(), *_C._fact_rows()}
    calls = fact_calls.recorded(fact_calls.entries(part, PARTS), dtypes=[torch.float32, torch.bfloat16], samples=2)
    return [c for c in calls if c.name in known and not WITHOUT_VALUES.search(c.name) and "_backward" not in c.name]


@pytest.mark.parametrize("part", range(PARTS))
def test_operators(part):
    count, faults = 0, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in calls_of(part):
            for dtype in DTYPES[: 1 + (call.name in registered("CPU"))]:
                fault = fault_of(call, dtype)
                count += fault is not True
                if fault not in (None, True):
                    faults.append(f"{dtype}: {fault}")
    assert count > 100
    assert not faults, f"{len(faults)} of {count}\n" + "\n".join(faults[:30])


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.layer_norm = nn.LayerNorm(8)
        self.first = nn.Linear(8, 16)
        self.second = nn.Linear(16, 5)

    def forward(self, x: Tensor, target: Tensor):
        h = F.relu(self.norm(self.conv(x)))
        h = self.layer_norm(h.mean([2, 3]))
        h = self.second(F.gelu(self.first(h)))
        p = torch.softmax(h, 1)
        return F.cross_entropy(h, target) + F.mse_loss(p, torch.zeros_like(p))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(8, 24)
        self.out = nn.Linear(8, 8)

    def forward(self, x: Tensor, target: Tensor):
        q, k, v = self.project(x.flatten(2)[:, :, :8]).chunk(3, -1)
        h = F.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None])[:, 0]
        scores = torch.matmul(q, k.transpose(-2, -1)) / 2.5
        h = h + torch.bmm(torch.softmax(scores, -1), v)
        h = torch.cat([self.out(h), x.flatten(2)[:, :, :8]], 1)
        return (h * h).sum() + h.exp().mean() + torch.prod(h[0, 0])


class Shared(nn.Module):
    """One weight in several products: autocast casts it once, and gradients meet at the cast."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 8) / 3)

    def forward(self, x: Tensor, target: Tensor):
        h = x.flatten(2)[:, :, :8]
        for _ in range(3):
            h = torch.tanh(F.linear(h, self.weight))
        return (h @ self.weight).float().pow(2).sum()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", [Classifier, Attention, Shared])
@pytest.mark.parametrize("caches", [True, False])
def test_modules(kind, dtype, caches):
    torch.manual_seed(1)
    eager = kind()
    ours = cresset.script(copy.deepcopy(eager))
    x, target = torch.randn(4, 3, 6, 6), torch.tensor([0, 1, 4, 2])

    def step(module):
        a = x.clone().requires_grad_()
        with torch.autocast("cpu", dtype=dtype, cache_enabled=caches):
            loss = module(a, target)
            both = loss + module(a.flip(0), target)  # the second call finds the first one's casts
        module.zero_grad()
        both.backward()
        return [loss, both, a.grad, *(p.grad for p in module.parameters())]

    for _ in range(3):
        assert differences(step(ours), step(eager)) is None
    with torch.no_grad(), torch.autocast("cpu", dtype=dtype):
        assert differences(ours(x, target), eager(x, target)) is None


def test_gradients_inside_and_outside_of_autocast():
    def f(x: Tensor, w: Tensor):
        y = torch.mm(x, w)
        y = torch.tanh(y) * 2
        return torch.mm(y, w) + y

    script = cresset.script(f)
    x, w = torch.randn(4, 4), torch.randn(4, 4)

    def run(function, forward, backward):
        a, b = x.clone().requires_grad_(), w.clone().requires_grad_()
        with torch.autocast("cpu", enabled=forward, dtype=torch.bfloat16):
            y = function(a, b)
        with torch.autocast("cpu", enabled=backward, dtype=torch.bfloat16):
            y.float().sum().backward()
        return [y, a.grad, b.grad]

    for _ in range(2):
        for forward, backward in ((False, False), (True, False), (True, True)):
            assert differences(run(script, forward, backward), run(f, forward, backward)) is None


@pytest.mark.parametrize("sizes", [(5,), (4, 5), (4, 5, 2), (4, 5, 2, 2)])
def test_operators_that_are_cast_inside_of_others(sizes):
    """nll_loss_nd is not cast, but what it calls is: where it is decomposed for its gradient, too."""

    def f(x: Tensor, target: Tensor):
        return torch.nn.functional.nll_loss(x * 2, target)

    script = cresset.script(f)
    x = torch.randn(sizes).to(torch.bfloat16).requires_grad_()
    target = torch.zeros(sizes[:1] + sizes[2:] if len(sizes) > 1 else (), dtype=torch.int64)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for _ in range(3):
            found, expected = script(x, target), f(x, target)
            assert found.dtype == expected.dtype == torch.float32
            gradients = torch.autograd.grad(found, x), torch.autograd.grad(expected, x)
            assert differences(*gradients) is None


@pytest.mark.parametrize("sizes", [[1, 1, 2, 2], [1, 1, 2, 2, 2]])
def test_a_kernel_that_multiplies_matrices(sizes):
    def f(x: Tensor, sizes: list[int]):
        return F.affine_grid(x * 1, sizes).to(torch.float32) * 2 + 1

    script = cresset.script(f)
    x = torch.randn(1, len(sizes) - 2, len(sizes) - 1)
    for enabled in (True, False):
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            for _ in range(3):
                found, expected = script(x, sizes), f(x, sizes)
                assert found.dtype == expected.dtype == torch.float32 and torch.equal(found, expected)


def test_a_cast_that_is_kept_is_used():
    """As in eager PyTorch: who writes to a parameter while autocast is on goes on with the cast from before."""

    def f(x: Tensor, w: Tensor):
        y = torch.mm(x, w)
        return y + 1

    script = cresset.script(f)
    x, w = torch.randn(4, 4), torch.randn(4, 4, requires_grad=True)
    for function in (f, script):
        found = []
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found.append(function(x, w))
            with torch.no_grad():
                w.mul_(2)
            found.append(function(x, w))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found.append(function(x, w))
        assert torch.equal(found[0], found[1]) and not torch.equal(found[1], found[2])


def ambient_states():
    deterministic = torch.use_deterministic_algorithms
    yield "plain", lambda: None, lambda: None
    for dtype in DTYPES:
        context = torch.autocast("cpu", dtype=dtype)
        yield f"autocast to {dtype}", context.__enter__, lambda c=context: c.__exit__(None, None, None)
    context = torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False)
    yield "without cache", context.__enter__, lambda c=context: c.__exit__(None, None, None)
    yield "deterministic", lambda: deterministic(True), lambda: deterministic(False)
    yield "warnings", lambda: deterministic(True, warn_only=True), lambda: deterministic(False)
    yield "double", lambda: torch.set_default_dtype(torch.float64), lambda: torch.set_default_dtype(torch.float32)
    yield "denormal", lambda: torch.set_flush_denormal(True), lambda: torch.set_flush_denormal(False)
    context = torch.no_grad()
    yield "no gradients", context.__enter__, lambda: context.__exit__(None, None, None)


def test_plans_follow_the_state():
    def f(x: Tensor, w: Tensor):
        y = torch.mm(x, w) + 1
        z = torch.softmax(y, 0)
        return torch.mm(z, w), torch.ones([2]) * 1e-42, z, torch.zeros([1])

    script = cresset.script(f)
    x, w = torch.randn(4, 4), torch.randn(4, 4, requires_grad=True)
    for _ in range(3):
        for name, enter, leave in ambient_states():
            enter()
            try:
                found, expected = script(x, w), f(x, w)
            finally:
                leave()
            assert differences(list(found), list(expected)) is None, name
    states = [plan.ambient for plan in cresset.explain(script).plans]
    assert states == [
        "gradients on",
        "gradients on, autocast of cpu to BFloat16",
        "gradients on, autocast of cpu to Half",
        "gradients on, autocast of cpu to BFloat16",
        "gradients on, deterministic algorithms",
        "gradients on, deterministic algorithms, with warnings only",
        "gradients on, default dtype Double",
        "gradients on, denormal numbers flushed to zero",
        "gradients off",
    ]
    casts = [plan.graph for plan in cresset.explain(script).plans if "autocast" in plan.ambient]
    assert all("without_autocast" in str(graph) for graph in casts)


def test_the_default_device_is_pythons_own():
    """torch.set_default_device is a mode of torch's Python functions: scripts don't see it, as torch.jit's, so no plan depends on it."""

    def f(x: Tensor):
        return torch.zeros([2]) + x.sum()

    script, theirs = cresset.script(f), torch.jit.script(f)
    x = torch.ones(2)
    plain = script(x)
    torch.set_default_device("meta")
    try:
        assert script(x).device == theirs(x).device == plain.device
    finally:
        torch.set_default_device(None)
    assert len(cresset.explain(script).plans) == 1


def test_deterministic_algorithms_raise_as_in_eager():
    def f(x: Tensor, i: Tensor):
        y = x * 2
        return torch.kthvalue(y, 1)[0] + torch.cumsum(y, 0)[0], y.put(i, y[:2])

    script = cresset.script(f)
    x, i = torch.randn(4), torch.tensor([0, 1])
    script(x, i)
    torch.use_deterministic_algorithms(True)
    try:
        with pytest.raises(RuntimeError) as wanted:
            f(x, i)
        for _ in range(2):
            with pytest.raises(RuntimeError) as got:
                script(x, i)
            assert str(wanted.value).split("\n")[0] in str(got.value)
    finally:
        torch.use_deterministic_algorithms(False)


def test_guards_that_fail_go_on_under_autocast():
    class Holder(nn.Module):
        def __init__(self):
            super().__init__()
            self.state = torch.zeros(4, 4)
            self.linear = nn.Linear(4, 4)

        def forward(self, x: Tensor):
            h = torch.mm(x, self.state) + self.linear(x)
            self.state = h
            return torch.mm(h, self.state) + self.linear(h)

    eager = Holder()
    ours = cresset.script(copy.deepcopy(eager))
    for dtype in (torch.bfloat16, torch.float16, torch.bfloat16):
        for _ in range(3):
            x = torch.randn(4, 4)
            with torch.autocast("cpu", dtype=dtype):
                assert differences(ours(x), eager(x)) is None
    assert differences(ours.state, eager.state) is None


def test_contexts_of_the_program():
    def f(x: Tensor, w: Tensor):
        a = torch.mm(x, w)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            b = torch.mm(a, w)
            with torch.autocast("cpu", enabled=False):
                c = torch.mm(a.float(), w)
            d = torch.mm(c, w).exp()
        return a, b, c, d, torch.mm(d.float(), w)

    script = cresset.script(f)
    x, w = torch.randn(4, 4), torch.randn(4, 4, requires_grad=True)
    for _ in range(3):
        found, expected = script(x, w), f(x, w)
        assert differences(list(found), list(expected)) is None
        assert differences(gradients(list(found), [w]), gradients(list(expected), [w])) is None
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert differences(list(script(x, w)), list(f(x, w))) is None


#: One of each: to autocast's dtype, to float32, to the widest; nothing for doubles and ints; parameters by autocast's cache.
POLICIES = """
graph(%x : Float(*, *, requires_grad=0, device=cpu), %w : Float(*, *, device=cpu), %b : BFloat16(*, requires_grad=0, device=cpu), %d : Double(*, *, requires_grad=0, device=cpu), %i : Long(*, requires_grad=0, device=cpu)):
  %none : NoneType = prim::Constant()
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %lower : Tensor = aten::linear(%x, %w, %b)
  %again : Tensor = aten::mm(%x, %x)
  %float : Tensor = aten::mse_loss(%b, %b, %one)
  %double : Tensor = aten::mm(%d, %d)
  %both : Tensor[] = prim::ListConstruct(%b, %x)
  %widest : Tensor = aten::cat(%both, %zero)
  %ints : Tensor[] = prim::ListConstruct(%i, %i)
  %joined : Tensor = aten::cat(%ints, %zero)
  %plain : Tensor = aten::add(%x, %w, %one)
  return (%lower, %again, %float, %double, %widest, %joined, %plain)
"""

#: Autocast itself casts where a dtype or a device is not known, for operators that call others, and for lists that come from elsewhere.
LEFT = """
graph(%x : Float(*, *, requires_grad=0, device=cpu), %u : Tensor, %f : Float(*, *, requires_grad=0), %l : Tensor[]):
  %none : NoneType = prim::Constant()
  %zero : int = prim::Constant[value=0]()
  %a : Tensor = aten::mm(%x, %u)
  %b : Tensor = aten::mm(%x, %f)
  %c : Tensor = aten::linalg_matmul(%x, %x)
  %d : Tensor = aten::cat(%l, %zero)
  return (%a, %b, %c, %d)
"""


EXPECTED_CASTS = """\
% : BFloat16(*, *, requires_grad=0, device=cpu) = aten::to(%x, %, %, %, %)
% : BFloat16(*, *, device=cpu) = cresset::cached_cast(%w, %, %)
%lower : Tensor = aten::linear[without_autocast=1](%, %, %b)
% : BFloat16(*, *, requires_grad=0, device=cpu) = aten::to(%x, %, %, %, %)
% : BFloat16(*, *, requires_grad=0, device=cpu) = aten::to(%x, %, %, %, %)
%again : Tensor = aten::mm[without_autocast=1](%, %)
% : Float(*, requires_grad=0, device=cpu) = aten::to(%b, %, %, %, %)
% : Float(*, requires_grad=0, device=cpu) = aten::to(%b, %, %, %, %)
%float : Tensor = aten::mse_loss[without_autocast=1](%, %, %one)
%double : Tensor = aten::mm[without_autocast=1](%d, %d)
% : Float(*, requires_grad=0, device=cpu) = aten::to(%b, %, %, %, %)
%widest : Tensor = aten::cat[without_autocast=1](%, %zero)
%joined : Tensor = aten::cat[without_autocast=1](%ints, %zero)"""


def cast_nodes(text):
    graph = cresset.parse_ir(text)
    assert cresset.passes.insert_autocast_casts(graph) is False
    with torch.autocast("cpu", dtype=torch.bfloat16):
        changed = cresset.passes.insert_autocast_casts(graph)
        assert cresset.passes.insert_autocast_casts(graph) is False
    kinds = ("aten::to", "cached_cast", "without_autocast")
    return changed, [line.strip() for line in str(graph).splitlines() if any(kind in line for kind in kinds)]


def test_casts_of_each_kind():
    changed, lines = cast_nodes(POLICIES)
    assert changed
    text = "\n".join(re.sub(r"%[0-9]+", "%", line) for line in lines)
    assert text == EXPECTED_CASTS, text


def test_what_is_left_to_autocast():
    assert cast_nodes(LEFT) == (False, [])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
def test_casts_within_no_grad_require_no_gradient(dtype):
    source = "def f(x: Tensor, w: Tensor):\n  y = torch.matmul(x, w)\n  z = torch.logsumexp(x, 1) + y.sum()\n"
    source += "  return y.requires_grad, z.requires_grad, x.requires_grad, y, z\n"
    script = cresset.CompilationUnit(source).f
    namespace = {"torch": torch, "Tensor": Tensor}
    exec(source, namespace)
    modes = [torch.no_grad, torch.enable_grad, torch.inference_mode]
    for mode, leaves, _ in [(mode, leaves, again) for mode in modes for leaves in (1, 2, 3) for again in range(3)]:
        x = torch.ones(2, 2, dtype=dtype, requires_grad=leaves % 2 == 1)
        w = torch.ones(2, 2, dtype=dtype, requires_grad=leaves > 1)
        with mode(), torch.autocast("cpu", torch.bfloat16):
            ours, theirs = script(x, w), namespace["f"](x, w)
        assert ours[:3] == theirs[:3]
        for our, their in zip(ours[3:], theirs[3:], strict=True):
            assert our.dtype == their.dtype and our.requires_grad == their.requires_grad and torch.equal(our, their)
