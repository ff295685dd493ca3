"""Live programs in the contexts that PyTorch's users put around or into them: inference mode, autocast, modes that keep what is
saved, torch.compile; and operators of users with gradients. Compared with eager PyTorch: results, kinds, identity, versions."""

import copy
import itertools
import warnings

import pytest
import torch
from torch.autograd.graph import allow_mutation_on_saved_tensors
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import cresset
from cresset import functional

F = torch.nn.functional
FORMS = ("mutations", "mutations_and_views")


def described(tensor):
    if not isinstance(tensor, torch.Tensor):
        return tensor
    layout = tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
    return *layout, tensor.is_inference(), tensor.requires_grad, tensor.tolist()


def outcome(function, *arguments):
    """Results and arguments, which of them are one object or share memory, or the error."""
    torch.manual_seed(0)
    try:
        result = function(*arguments)
    except Exception as error:  # compared with eager's
        return type(error).__name__, str(error)[:80]
    leaves = [*tree_leaves(result), *arguments]
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    same = [[a is b for b in tensors] for a in tensors]
    storages = [t.untyped_storage().data_ptr() for t in tensors]
    return [described(leaf) for leaf in leaves], same, [[a == b for b in storages] for a in storages]


def write(make, *others):
    """What writes to the result of `make`, and returns it with others."""

    def program(x):
        y = make(x)
        y.add_(1)
        return y, *(other(x) for other in others), x

    return program


PROGRAMS = {
    "contiguous": write(lambda x: x.t().contiguous()),
    "contiguous already": write(lambda x: x.contiguous()),
    "reshape": write(lambda x: x.reshape(-1)),
    "reshape, a copy": write(lambda x: x.t().reshape(-1)),
    "flatten": write(lambda x: x.t().flatten()),
    "ravel": write(lambda x: (x * 1).t().ravel()),
    "to": write(lambda x: x.to(x.dtype)),
    "to, a copy": write(lambda x: x.to(x.dtype, copy=True)),
    "half": write(lambda x: x.half()),
    "cpu": write(lambda x: x.cpu()),
    "data": write(lambda x: (x * 1).data),
    "detach": write(lambda x: (x * 1).detach()),
    "copy": lambda x: copy.copy(x * 1),
    "part": write(lambda x: x[0], lambda x: x[1]),
    "part of a result": lambda x: (y := x * 2, y[0].add_(1), y.t()),
    "in place": lambda x: x.add_(5),
    "pieces": lambda x: (y := x * 2, y.split(1)[0].mul_(3), y.chunk(2)),
    "view of itself": lambda x: (x * 1).unsqueeze_(0),
    "out": lambda x: torch.add(x, x, out=torch.empty(2, 2)),
    "composite out": lambda x: torch.matmul(x, x, out=torch.empty(2, 2)),
    "identity": lambda x: (torch.positive(x), x.resolve_conj(), x.resolve_neg(), x.float()),
    "linear": lambda x: F.linear(x, torch.ones(2, 2)).relu_(),
    "einsum": lambda x: torch.einsum("ij,jk->ik", x, x),
    "numbers": lambda x: (x.sum().item(), x.tolist(), (x * 1).requires_grad),
    "list": lambda x: (y := x * 2, torch._foreach_add_([x, y], 1)),
    "batch norm": lambda x: F.batch_norm(x, torch.zeros(2), torch.ones(2), training=True),
    "dropout": lambda x: F.dropout(x, 0.5, True),
    "channels last": lambda x: write(lambda y: y.contiguous(memory_format=torch.channels_last))(x.reshape(1, 2, 2, 1)),
}


@pytest.mark.parametrize("where", ["around", "inside", "arguments"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_inference_mode(name, where):
    """Around the call, within the program, or only where the arguments were made."""

    def inside(x):
        with torch.inference_mode():
            return PROGRAMS[name](x)

    for is_inference in (False, True):

        def run(form, is_inference=is_inference):
            with torch.inference_mode(is_inference):
                x = torch.arange(4.0).view(2, 2) * 1
            if where == "around":
                with torch.inference_mode():
                    return outcome(form(PROGRAMS[name]), x)
            return outcome(form(inside if where == "inside" else PROGRAMS[name]), x)

        assert run(cresset.functionalize) == run(lambda f: f)


def test_gradients_of_what_was_kept_before_inference_mode():
    def run(form):
        x = torch.ones(3, requires_grad=True)
        z = x * 1
        y = z * z
        with torch.inference_mode():
            form(lambda z: z.add_(5))(z)
        return outcome(lambda: torch.autograd.grad(y.sum(), x))

    expected = run(lambda f: f)
    assert expected[1].startswith("one of the variables needed for gradient computation has been modified")
    assert run(cresset.functionalize) == expected


def test_a_network_in_inference_mode():
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(inplace=True), torch.nn.Flatten(),
        torch.nn.ReLU(inplace=True), torch.nn.Linear(144, 5), torch.nn.Hardswish(inplace=True),
    ).eval()  # fmt: skip
    for layout, remove in itertools.product((torch.contiguous_format, torch.channels_last), FORMS):
        x = torch.randn(2, 3, 8, 8).contiguous(memory_format=layout)
        with torch.inference_mode():
            assert torch.equal(net(x), cresset.functionalize(net, remove)(x))


# ---- Autocast


def autocast_attention(q):
    scores = (q @ q.transpose(-1, -2)).mul_(0.5)
    scores[..., 0].masked_fill_(scores[..., 0] > 1, -1.0)
    return scores.softmax(-1) @ q


AUTOCAST = {
    "addmm_": lambda x: (y := x * 1, y.addmm_(x, x)),
    "addbmm_": lambda x: (y := x * 1, y.addbmm_(x[None], x[None])),
    "baddbmm_": lambda x: (y := x[None] * 1, y.baddbmm_(x[None], x[None])),
    "matmul": lambda x: (x @ x).add_(1),
    "out": lambda x: torch.mm(x, x, out=torch.empty(4, 4)),
    "linear": lambda x: F.linear(x, x, x[0]).relu_(),
    "softmax": lambda x: (x @ x).softmax(-1).mul_(2),
    "index_put_": lambda x: (y := x * 1, y.__setitem__(0, (x @ x)[1])),
    "attention": autocast_attention,
}


@pytest.mark.parametrize("remove", FORMS)
@pytest.mark.parametrize("name", AUTOCAST)
def test_autocast(name, remove):
    x = torch.randn(4, 4, generator=torch.Generator().manual_seed(3))

    def run(form):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return [(t.dtype, t.tolist()) for t in tree_leaves(form(AUTOCAST[name])(x.clone())) if t is not None]

    assert run(lambda f: cresset.functionalize(f, remove)) == run(lambda f: f)


# ---- Versions


@pytest.mark.parametrize(
    "call",
    [
        "torch.matmul(a, b, out=c)", "torch.outer(a[0], b[0], out=c)", "torch.tensordot(a, b, 1, out=c)", "torch.inner(a, b, out=c)",
        "torch.hstack([a[:, :1], b[:, :1]], out=c)", "torch.linalg.multi_dot([a, b], out=c)", "torch.mm(a, b, out=c)",
        "torch.fft.ifft2(torch.fft.fft2(a)).real.add_(1); c.add_(1)", "torch._foreach_add_([c], 1)",
    ],
)  # fmt: skip
def test_versions_of_what_operators_with_out_write(call):
    """Autograd refuses to use what was kept before such a write."""
    names = {"torch": torch}
    exec(f"def f(w, a, b):\n  c = torch.ones(2, 2)\n  y = w * c\n  {call}\n  y.sum().backward()\n", names)
    w, a, b = (torch.ones(2, 2, requires_grad=n == 0) for n in range(3))
    for form in (names["f"], cresset.functionalize(names["f"])):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            form(w, a, b)


# ---- Copies


def test_deep_copies_of_many_results():
    """Copies are told apart by what they are copies of, whatever died meanwhile."""

    def f(x):
        made = {
            i: {"a": x * i, "part": (x * i)[0], "number": torch.zeros(()), "parts": (x * i).unbind()} for i in range(12)
        }
        return copy.deepcopy(made)

    x = torch.arange(6.0).view(3, 2)
    expected = tree_leaves(f(x))
    for _ in range(20):
        found = tree_leaves(cresset.functionalize(f)(x))
        assert len({id(t) for t in found}) == len(found)
        assert [t.tolist() for t in found] == [t.tolist() for t in expected]


def test_deep_copies_of_what_was_computed_raise():
    x = torch.ones(2, requires_grad=True)
    for form in (lambda f: f, cresset.functionalize):
        with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
            form(lambda x: copy.deepcopy(x * 2))(x)


# ---- What autograd has saved may be written


KEPT = {
    "an argument": lambda x, w: (x[0].sub_(1), x * w)[1],
    "a whole argument": lambda x, w: (x.add_(1), x @ w)[1],
    "after it was saved": lambda x, w: (y := x @ w, x[0].sub_(y.sum().detach()))[0],
    "a result": lambda x, w: (a := x * 1, a @ w, a[0].sub_(1))[1],
    "a copy": lambda x, w: (a := x.reshape(-1), a.__setitem__(0, 3.0), (a.view(2, 2) @ w))[2],
}


@pytest.mark.parametrize("name", KEPT)
def test_mutation_of_saved_tensors(name):
    def run(form):
        x, w = torch.arange(4.0).view(2, 2), torch.ones(2, 2, requires_grad=True)
        with allow_mutation_on_saved_tensors():
            y = form(KEPT[name])(x, w)
            y.sum().backward()
        return y.tolist(), w.grad.tolist(), x.tolist()

    assert run(cresset.functionalize) == run(lambda f: f)


# ---- Backends' functions where modes see the program


def triple_(x):
    value = functional.unwrap(x)
    with functional.redispatch_to_next():
        value = value * 3
    functional.replace(x, value)
    functional.commit_update(x)


class Recorder(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.calls.append(function._schema.name)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("remove", FORMS)
def test_functions_of_backends_where_modes_see_the_program(remove):
    def f(x):
        y = x * 1
        triple_(x[0])
        triple_(y)
        return y + x

    def expected(x):
        y = x * 3
        x[0] *= 3
        return y + x

    pure = cresset.functionalize(f, remove)
    with Recorder() as recorder:
        x, y = torch.arange(6.0).view(2, 3), torch.arange(6.0).view(2, 3)
        assert torch.equal(pure(x), expected(y)) and torch.equal(x, y)
    assert recorder.calls.count("aten::mul") >= 3
    graph = make_fx(pure)(torch.ones(2, 3))
    x, y = torch.arange(6.0).view(2, 3), torch.arange(6.0).view(2, 3)
    assert torch.equal(graph(x), expected(y)) and torch.equal(x, y)


def test_what_functions_of_backends_take():
    assert not functional.is_functional(3)
    with pytest.raises(cresset.UserError, match=r"made under cresset.functional.redispatch_to_next\(\)"):
        cresset.functionalize(lambda x: functional.wrap(torch.ones(2)))(torch.ones(2))
    with pytest.raises(cresset.UserError, match=r"made under cresset.functional.redispatch_to_next\(\)"):
        cresset.functionalize(lambda x: functional.replace(x, torch.ones(2)))(torch.ones(2))


# ---- Operators of users

library = torch.library.Library("functional_contexts", "DEF")
for definition, kernel, key in (
    ("twice(Tensor x) -> Tensor", lambda x: x * 2, "CPU"),
    ("twice_any(Tensor x) -> Tensor", lambda x: x * 2, "CompositeExplicitAutograd"),
    ("twice_composite(Tensor x) -> Tensor", lambda x: x * 2, "CompositeImplicitAutograd"),
    ("double_(Tensor(a!) x) -> ()", lambda x: (x.mul_(2), None)[1], "CPU"),
    ("add_product_(Tensor(a!) x, Tensor y, Tensor? z=None) -> Tensor(a!)", lambda x, y, z=None: x.add_(y * (1 if z is None else z)), "CPU"),
    ("scale_all_(Tensor(a!)[] xs, float by) -> ()", lambda xs, by: [x.mul_(by) for x in xs] and None, "CPU"),
    ("split_(Tensor(a!) x) -> (Tensor, Tensor)", lambda x: (x.mul_(2) * 1, x.sum()), "CPU"),
    ("in_numpy(Tensor x) -> Tensor", lambda x: torch.from_numpy(x.detach().numpy() * 2), "CPU"),
):  # fmt: skip
    library.define(definition)
    library.impl(definition.split("(")[0], kernel, key)
ops = torch.ops.functional_contexts

USERS = {
    "pure": lambda x: ops.twice(x) * x,
    "any backend": lambda x: ops.twice_any(x * 1),
    "composite": lambda x: ops.twice_composite(x * 1),
    "in place": lambda x: (y := x * x, ops.double_(y))[0],
    "in place, a part": lambda x: (y := x * x, ops.double_(y[0]), y * y)[2],
    "an optional argument": lambda x: (y := x * 1, ops.add_product_(y, x), ops.add_product_(y[1], x[0], x[1]))[0],
    "a list": lambda x: (y := x * 1, z := x * x, ops.scale_all_([y, z[0]], 3.0), y + z)[3],
    "results beside": lambda x: (y := x * x, r := ops.split_(y), r[0] * r[1] + y)[2],
    "without gradients": lambda x: x * 1 + ops.in_numpy(x),
    "no grad": lambda x: (y := x * 1, torch.no_grad()(lambda: ops.double_(y))())[0],
    "detached": lambda x: (y := (x * 1).detach(), ops.double_(y), y * x)[2],
}  # fmt: skip


@pytest.mark.parametrize("remove", FORMS)
@pytest.mark.parametrize("name", USERS)
def test_operators_without_kernels_for_autograd(name, remove):
    """Autograd records what their kernels call, if these are made of operators."""

    def run(form):
        x = torch.arange(1.0, 5.0).view(2, 2).requires_grad_()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it does
            y = form(USERS[name])(x)
            grad = torch.autograd.grad(y.sum(), x)[0] if y.requires_grad else None
        return y.tolist(), y.requires_grad, None if grad is None else grad.tolist()

    assert run(lambda f: cresset.functionalize(f, remove)) == run(lambda f: f)


def test_a_leaf_that_an_operator_of_users_writes():
    def f(x):
        y = (x * 1).detach().requires_grad_()
        ops.double_(y)

    for form in (f, cresset.functionalize(f)):
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            form(torch.ones(2))


def test_views_of_tensors_from_outside_that_are_not_contiguous():
    """Eager PyTorch's gradients of writes to views that are made by strides."""
    for make in (
        lambda z: z.unfold(0, 2, 2),
        lambda z: z.as_strided((2, 2), (1, 2)),
        lambda z: z[:, None].expand(4, 1, 2)[1:],
    ):

        def run(form, make=make):
            w = torch.ones(2, 4, requires_grad=True)
            z = (w * 1).t()
            form(lambda z: make(z).mul_(2))(z)
            return z.tolist(), torch.autograd.grad(z.sum(), w)[0].tolist()

        assert run(cresset.functionalize) == run(lambda f: f)


# ---- torch.compile


def written(x):
    y = x * 2
    y[0].add_(1)
    return y, y[1]


@pytest.mark.parametrize("remove", FORMS)
def test_torch_compile_of_functionalized_functions(remove):
    """It functionalizes by itself, so that it gets the program."""
    x = torch.randn(3, 3)
    for backend in ("eager", "aot_eager"):
        torch._dynamo.reset()
        compiled = torch.compile(cresset.functionalize(written, remove), backend=backend, fullgraph=True)
        for a, b in zip(compiled(x), written(x), strict=True):
            assert torch.equal(a, b)

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.pure = cresset.functionalize(
                torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(inplace=True)), remove
            )

        def forward(self, x):
            return self.pure(x)

    module = Module()
    assert torch.equal(torch.export.export(module, (x,)).module()(x), module(x))


def test_compiled_functions_within_are_refused():
    compiled = torch.compile(written, backend="eager")
    for _ in range(2):
        with pytest.raises(cresset.UserError, match="call torch.compile with what cresset.functionalize returns"):
            cresset.functionalize(compiled)(torch.ones(2, 2))
        assert compiled(torch.ones(2, 2))[1].tolist() == [2.0, 2.0]


@pytest.mark.parametrize("strict", [False, True])
def test_exports_within_are_refused(strict):
    def exports(x):
        return torch.export.export(torch.nn.ReLU(), (torch.ones(2),), strict=strict).module()(x)

    with pytest.raises(cresset.UserError, match="torch.export can't export a module"):
        cresset.functionalize(exports)(torch.ones(2))
    program = torch.export.export(torch.nn.ReLU(inplace=True), (torch.ones(2),), strict=strict).module()
    assert cresset.functionalize(lambda x: program(x * 1))(torch.tensor([-1.0, 1.0])).tolist() == [0.0, 1.0]


# ---- PyTorch's tracer


def test_pytorch_traces_of_functionalized_functions_are_refused():
    """They would hold its results as constants."""
    x = torch.ones(2, 2)
    pure = cresset.functionalize(written)
    with pytest.raises(cresset.UserError, match=r"Trace it with cresset.trace"):
        torch.jit.trace(pure, x)
    for form in (cresset.functionalize(torch.jit.trace(written, x)), cresset.trace(pure, (x,))):
        for a, b in zip(form(x + 1), written(x + 1), strict=True):
            assert torch.equal(a, b)


def test_recording_before_autograd_is_refused():
    """What `pre_dispatch` records, it sees before the program's tensors."""
    pure = cresset.functionalize(written)
    with pytest.raises(cresset.UserError, match="leave pre_dispatch out"):
        make_fx(pure, pre_dispatch=True)(torch.ones(2, 2))
    assert torch.equal(make_fx(pure)(torch.ones(2, 2))(torch.zeros(2, 2))[0], written(torch.zeros(2, 2))[0])


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.view(-1),
        lambda x: x.flatten(),
        lambda x: x.unflatten(1, (-1, 2))[..., 0],
        lambda x: (x * 1).view(x.size(1), -1),
        lambda x: x.view(-1).view(x.size(1), x.size(0)),
    ],
)
def test_symbolic_sizes_of_views_that_are_written(view):
    def program(x):
        v = view(x)
        v.add_(1)
        return x * 2, v * 3

    graph = make_fx(cresset.functionalize(program), tracing_mode="symbolic")(torch.ones(3, 4))
    for sizes in ((3, 4), (6, 8), (5, 2)):
        x, y = (
            torch.arange(float(sizes[0] * sizes[1])).view(sizes),
            torch.arange(float(sizes[0] * sizes[1])).view(sizes),
        )
        for a, b in zip(program(x), graph(y), strict=True):
            assert torch.equal(a, b)
        assert torch.equal(x, y)


# ---- operators without statistics


@pytest.mark.parametrize("remove", FORMS)
@pytest.mark.parametrize(
    "program",
    [
        lambda x: torch.nn.functional.batch_norm(x, None, None, training=True),
        lambda x: torch.nn.functional.instance_norm(x.unsqueeze(0) * 2),
        lambda x: torch.nn.BatchNorm1d(3, track_running_stats=False)(x),
        lambda x: torch.nn.InstanceNorm1d(3, affine=True)(x.t().unsqueeze(0).contiguous()),
        lambda x: torch._native_batch_norm_legit(x, None, None, True, 0.1, 1e-5),
    ],
)
def test_norms_without_statistics(program, remove):
    x = torch.randn(4, 3)
    for requires_grad in (False, True):
        leaves = [x.clone().requires_grad_(requires_grad) for _ in range(2)]
        results = [
            torch.utils._pytree.tree_leaves(form(leaf))
            for form, leaf in zip((program, cresset.functionalize(program, remove)), leaves, strict=True)
        ]
        for a, b in zip(*results, strict=True):
            assert torch.equal(a, b)
        if requires_grad:
            grads = [torch.autograd.grad(r[0].pow(3).sum(), leaf) for r, leaf in zip(results, leaves, strict=True)]
            assert torch.allclose(*[grad[0] for grad in grads])


# ---- scripts and traces where modes see their operators


class WritesNothing(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        is_closing = func is torch.ops.aten.copy_.default
        assert is_closing or not func._schema.is_mutable, func
        return func(*args, **kwargs or {})


def test_functional_scripts_where_modes_see_them():
    source = """
def f(x: Tensor, n: int):
  y = torch.zeros_like(x)
  for i in range(n):
    y[i].add_(x[i])
    y[i].mul_(2)
  z = y.t() * 3
  z.sub_(y.t(), alpha=2).clamp_(max=3)
  g = x * 2
  g.lt_(0)
  x.exp_()
  return y, z, g
"""
    plain = cresset.CompilationUnit(source).f
    pure = cresset.functionalize(plain)
    for _ in range(3):
        x, y = torch.randn(3, 4), None
        y = x.clone()
        with WritesNothing():
            found = pure(x, 3)
        for a, b in zip(found, plain(y, 3), strict=True):
            assert torch.equal(a, b) and a.dtype == b.dtype and a.stride() == b.stride()
        assert torch.equal(x, y)
    graph = make_fx(lambda x: pure(x, 3))(torch.randn(3, 4))
    written = [
        str(node.target) for node in graph.graph.nodes if node.op == "call_function" and "_." in str(node.target)
    ]
    assert written == ["aten.copy_.default"]


def test_traces_of_steps_run_where_gradients_are_recorded():
    class Step(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(3))

        def forward(self, x):
            with torch.no_grad():
                self.w.mul_(2)
            return self.w + x

    module, x = Step(), torch.ones(3)
    trace = cresset.trace(cresset.functionalize(module), (x,), check_trace=False)
    with torch.no_grad():
        trace.w.fill_(1)
    assert trace(x).tolist() == [3.0] * 3 and trace.w.tolist() == [2.0] * 3
    graph = make_fx(cresset.functionalize(module))(x)
    with torch.no_grad():
        module.w.fill_(1)
    assert graph(x).tolist() == [3.0] * 3 and module.w.tolist() == [2.0] * 3
