"""Loaded modules in Python: a torch.nn.Module in every way, with one truth in C++, beside torch.jit's."""

import copy
import gc
import io
import pathlib
import pickle
import threading
from typing import Optional

import pytest
import torch
from script_helpers import without_self

import cresset


class Sub(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        self.register_buffer("buf", torch.zeros(2))

    def forward(self, x):
        return x * self.w + self.buf


class Model(torch.nn.Module):
    o: Optional[int]

    def __init__(self):
        super().__init__()
        self.sub = Sub()
        self.l = torch.nn.ModuleList([Sub(), Sub()])
        self.q = torch.nn.Sequential(Sub(), torch.nn.ReLU())
        self.d = torch.nn.ModuleDict({"k": Sub()})
        self.bn = torch.nn.BatchNorm1d(2)
        self.n = 3
        self.names = ["a", "b"]
        self.t = (1, 2.5)
        self.o = None
        self.register_parameter("nothing", None)

    @torch.jit.export
    def bump(self, k: int):
        self.n += k
        return self.n

    @torch.jit.export
    def set_buffer(self, x):
        self.sub.buf = x

    def forward(self, x, y: int = 1):
        if y > 5:
            raise IndexError("too big")
        return self.q(self.sub(x)) + self.n


def archive(module, **extra):
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(module), buffer, **extra)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def saved():
    return archive(Model(), _extra_files={"note.txt": "hello"})


@pytest.fixture
def m(saved):
    return cresset.load(io.BytesIO(saved))


@pytest.fixture
def theirs(saved):
    return torch.jit.load(io.BytesIO(saved))


X = torch.tensor([[1.0, -3.0]])


def test_it_is_an_nn_module(m, theirs):
    assert isinstance(m, torch.nn.Module) and isinstance(m, cresset.ScriptModule)
    assert torch.equal(m(X), theirs(X))
    assert torch.equal(m.forward(X, y=2), theirs.forward(X, y=2))
    assert repr(m) == repr(theirs)
    assert m.original_name == "Model" and m.sub.original_name == "Sub"


def test_names_as_in_torch_jit(m, theirs):
    for ask in ("named_parameters", "named_buffers", "named_modules", "named_children"):
        assert [n for n, _ in getattr(m, ask)()] == [n for n, _ in getattr(theirs, ask)()], ask
    assert list(m.state_dict()) == list(theirs.state_dict())
    for a, b in zip(m.parameters(), theirs.parameters()):
        assert torch.equal(a, b) and a.requires_grad == b.requires_grad


@pytest.mark.parametrize("kind", ["path", "str", "stream", "bytes", "memoryview"])
def test_loads_from(saved, tmp_path, kind):
    file = pathlib.Path(tmp_path) / "m.pt"
    file.write_bytes(saved)
    source = {
        "path": file,
        "str": str(file),
        "stream": io.BytesIO(saved),
        "bytes": saved,
        "memoryview": memoryview(saved),
    }[kind]
    m = cresset.load(source)
    file.unlink()  # a mapped file may go
    del source
    gc.collect()
    assert torch.equal(m.sub.w, torch.tensor([1.0, 2.0]))


def test_extra_files_and_map_location(saved):
    ours, theirs = {"note.txt": "", "none.txt": ""}, {"note.txt": "", "none.txt": ""}
    m = cresset.load(io.BytesIO(saved), "cpu", ours)
    torch.jit.load(io.BytesIO(saved), "cpu", theirs)
    assert ours["note.txt"] == theirs["note.txt"] == b"hello"
    assert m.sub.w.device.type == "cpu"
    assert cresset.load(io.BytesIO(saved), torch.device("meta")).sub.w.is_meta
    with pytest.raises(ValueError, match="map_location should be either None, string or torch.device"):
        cresset.load(io.BytesIO(saved), 3)
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="CUDA|NVIDIA"):
            cresset.load(io.BytesIO(saved), "cuda")


def test_files_that_are_no_archives(tmp_path, saved):
    for kind in (ValueError, FileNotFoundError, cresset.ArchiveError):
        with pytest.raises(kind, match="does not exist"):
            cresset.load(tmp_path / "nope.pt")
    for kind in (ValueError, IsADirectoryError, cresset.ArchiveError):
        with pytest.raises(kind, match="is a directory"):
            cresset.load(tmp_path)
    with pytest.raises(cresset.ArchiveError):
        cresset.load(b"nothing of the kind")
    with pytest.raises(cresset.ArchiveError) as caught:
        cresset.load(saved[: len(saved) // 2])
    assert caught.value.reason
    with pytest.raises(TypeError):
        cresset.load(3)


def test_attributes(m, theirs):
    for name in ("n", "names", "t", "o", "nothing"):
        assert getattr(m, name) == getattr(theirs, name), name
    m.n = 5
    assert m.n == 5 and m.bump(2) == 7 and m.n == 7
    m.names = ("x",)
    assert m.names == ["x"]
    with pytest.raises(RuntimeError, match="Could not cast attribute 'n' to type int: "):
        m.n = "a"
    with pytest.raises(AttributeError, match="'RecursiveScriptModule' object has no attribute 'nope'"):
        m.nope
    m.mine = [1]  # Python's own
    assert m.mine == [1] and "mine" in dir(m)
    del m.mine
    assert not hasattr(m, "mine")
    with pytest.raises(AttributeError):
        del m.n
    assert {"bump", "n", "sub", "forward"} <= set(dir(m))


def test_identity(m):
    assert m.sub is m.sub and m.sub.w is m.sub.w
    assert m.sub.w is dict(m.named_parameters())["sub.w"]
    assert type(m.sub.w) is torch.nn.Parameter and m.sub.w.is_leaf
    assert m.bump.owner is m


def test_one_truth(m):
    buffer = torch.ones(2)
    m.set_buffer(buffer)
    assert m.sub.buf is buffer
    new = torch.nn.Parameter(torch.tensor([5.0, 6.0]))
    m.sub.w = new
    assert m.sub.w is new and dict(m.named_parameters())["sub.w"] is new
    assert torch.equal(m.sub(X), X * new + buffer)
    m.sub._buffers["buf"] = torch.zeros(2)
    assert torch.equal(m.sub(X), X * new)


def test_what_cannot_be_added(m):
    with pytest.raises(
        RuntimeError, match="Can't add a new parameter after ScriptModule construction. Tried to add 'zz"
    ):
        m.register_buffer("zz", X)
    with pytest.raises(RuntimeError, match="Can't add a new parameter after ScriptModule construction"):
        m.zz = torch.nn.Parameter(X)
    for assign in (lambda: m.add_module("zm", torch.nn.Linear(1, 1)), lambda: setattr(m, "zm", torch.nn.Linear(1, 1))):
        with pytest.raises(RuntimeError, match="Cannot re-assign modules in a ScriptModule with non-scripted module"):
            assign()
    with pytest.raises(RuntimeError, match="tried to replace existing module 'sub': 3"):
        m.sub = 3
    m.sub = m.l[0]
    assert m.sub is m.l[0]
    with pytest.raises(RuntimeError):
        m.sub = m.bn  # another class


def test_containers(m):
    assert len(m.l) == 2 and m.l[0] is list(m.l)[0] and m.l[-1] is m.l[1] and m.l[0] in m.l
    assert [layer.original_name for layer in m.q] == ["Sub", "ReLU"]
    assert m.d["k"] is m.d.k and list(m.d) == ["k"] and "k" in m.d and len(m.d) == 1
    with pytest.raises(IndexError):
        m.l[2]
    with pytest.raises(NotImplementedError):
        len(m)
    assert bool(m)


def test_state_dict(m):
    state = m.state_dict()
    m.load_state_dict({k: v + 1 for k, v in state.items()})
    assert torch.equal(m.sub.w, torch.tensor([2.0, 3.0]))
    missing, unexpected = m.load_state_dict({"sub.w": torch.zeros(2), "more": torch.zeros(1)}, strict=False)
    assert "bn.weight" in missing and unexpected == ["more"]
    fresh = Model()
    fresh.load_state_dict(m.state_dict())
    m.load_state_dict(fresh.state_dict(), assign=True)
    assert m.sub.w.requires_grad


def test_train_and_eval(m):
    assert m.training and m.sub.training
    assert m.eval() is m
    assert not m.training and not m.sub.training and not m.bn.training
    assert m.train().bn.training


def test_conversions(m):
    w = m.sub.w
    m.double()
    assert m.sub.w is w and w.dtype == torch.float64 and m.bn.running_mean.dtype == torch.float64
    assert m.bn.num_batches_tracked.dtype == torch.int64
    assert m(X.double()).dtype == torch.float64
    m.half()
    assert m.sub.w.dtype == torch.float16
    m.to(torch.float32)
    assert m(X).dtype == torch.float32
    assert m.to("meta").sub.w.is_meta
    if not torch.cuda.is_available():
        with pytest.raises((AssertionError, RuntimeError), match="CUDA|NVIDIA"):
            m.cuda()


def test_apply_and_grad(m):
    seen = []
    m.apply(lambda each: seen.append(each.original_name))
    assert seen[-1] == "Model" and len(seen) == len(list(m.modules()))
    m.requires_grad_(False)
    assert not any(p.requires_grad for p in m.parameters())
    m.requires_grad_()
    m(X).sum().backward()
    assert m.sub.w.grad is not None
    m.zero_grad()
    assert m.sub.w.grad is None


def test_optimizers_train_it(saved):
    m, e = cresset.load(saved), torch.jit.load(io.BytesIO(saved))
    for each in (m, e):
        optimizer = torch.optim.Adam([p for n, p in each.named_parameters() if n.startswith(("sub", "q"))], lr=0.1)
        for _ in range(5):
            optimizer.zero_grad()
            ((each(X) - 1) ** 2).sum().backward()
            optimizer.step()
    assert torch.equal(m.sub.w, e.sub.w) and not torch.equal(m.sub.w, torch.tensor([1.0, 2.0]))


def test_hooks(m):
    seen = []
    handles = [
        m.register_forward_pre_hook(lambda module, args: seen.append("pre")),
        m.register_forward_hook(lambda module, args, out: seen.append("post")),
        m.register_full_backward_hook(lambda module, grad_in, grad_out: seen.append("back")),
        m.sub.register_forward_hook(lambda module, args, out: out * 0),
    ]
    m(X.clone().requires_grad_()).sum().backward()
    assert seen == ["pre", "post", "back"]
    gc.collect()
    assert m.sub(X).abs().sum() == 0  # the hook lives as long as the module
    for handle in handles:
        handle.remove()
    m(X)
    assert len(seen) == 3
    m._register_state_dict_hook(lambda module, state, prefix, metadata: seen.append("state"))
    m.state_dict()
    assert seen[-1] == "state"


def test_nests_in_eager_modules(saved):
    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = cresset.load(saved)
            self.linear = torch.nn.Linear(2, 2)

        def forward(self, x):
            return self.linear(self.inner(x))

    outer = Outer()
    assert "inner.sub.w" in dict(outer.named_parameters()) and "inner.bn.running_mean" in outer.state_dict()
    outer.double().eval()
    assert outer.inner.sub.w.dtype == torch.float64 and not outer.inner.training
    outer(X.double()).sum().backward()
    assert outer.inner.sub.w.grad is not None
    again = copy.deepcopy(outer)
    assert again.inner.sub.w is not outer.inner.sub.w and torch.equal(again(X.double()), outer(X.double()))


def test_copies(m):
    m.mine = {"a": [1]}
    m.sub.register_forward_hook(lambda module, args, out: out + 100)
    shallow, deep = copy.copy(m), copy.deepcopy(m)
    assert shallow.sub is m.sub and shallow is not m
    assert deep.sub is not m.sub and deep.sub.w is not m.sub.w and torch.equal(deep.sub.w, m.sub.w)
    assert type(deep.sub.w) is torch.nn.Parameter and deep.sub.w.is_leaf and deep.sub.w.requires_grad
    assert deep.mine == m.mine and deep.mine is not m.mine
    assert torch.equal(deep.sub(X), m.sub(X))  # hooks go along
    deep.n = 50
    assert m.n == 3 and torch.equal(deep(X), m(X) + 47)
    shallow.n = 9
    assert m.n == 3


def test_deepcopy_keeps_sharing():
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(2, 2, bias=False)
            self.b = torch.nn.Linear(2, 2, bias=False)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.a(x) + self.b(x)

    m = cresset.load(archive(Tied()))
    assert m.a.weight is m.b.weight and len(list(m.parameters())) == 1
    deep = copy.deepcopy(m)
    assert deep.a.weight is deep.b.weight


def test_deepcopy_keeps_sharing_memory():
    """As copy.deepcopy of the original, where views of one memory stay views of one memory."""

    class Views(torch.nn.Module):
        def __init__(self):
            super().__init__()
            memory = torch.zeros(6)
            self.register_buffer("a", memory[:4])
            self.register_buffer("b", memory[2:].view(2, 2).t())
            self.register_buffer("alone", torch.arange(6.0).view(2, 3).t()[1:])
            self.p = torch.nn.Parameter(torch.ones(4))
            self.q = torch.nn.Parameter(self.p.detach()[1:3])
            self.wide = memory.view(6).expand(2, 6)
            self.parts = [memory[3:], self.alone]
            self.by_name = {"p": self.p.detach()}

        def forward(self, x):
            self.a += x
            return self.b * 1, self.q * 2, self.parts[0] * 1, self.wide * 1, self.by_name["p"] * 1

    def seen(m):
        results = m(torch.ones(4))
        with torch.no_grad():
            m.p.mul_(3)
        return [t.tolist() for t in (*results, *m(torch.ones(4)), m.q, m.alone)]

    original = Views()
    scripted = cresset.script(Views())
    expected = seen(copy.deepcopy(original))
    deep = copy.deepcopy(scripted)
    assert [t.stride() for t in (deep.a, deep.b, deep.alone, deep.wide)] == [(1,), (1, 2), (1, 3), (0, 1)]
    assert seen(deep) == expected
    assert deep.p.is_leaf and deep.q.is_leaf and type(deep.q) is torch.nn.Parameter
    assert not scripted.a.any() and scripted.p.tolist() == [1] * 4  # the original has memory of its own
    assert seen(copy.deepcopy(copy.deepcopy(scripted))) == expected


def test_deepcopy_of_tensors_that_are_more_than_memory():
    class Kinds(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.sparse = torch.eye(2).to_sparse()
            self.quantized = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)
            self.conjugate = torch.tensor([1 + 2j]).conj()
            self.empty = torch.empty(0, 3)
            self.meta = torch.empty(2, device="meta")

        def forward(self, x):
            return x

    deep = copy.deepcopy(cresset.script(Kinds()))
    assert deep.sparse.to_dense().tolist() == [[1, 0], [0, 1]] and deep.quantized.dequantize().tolist() == [1, 1]
    assert deep.conjugate.tolist() == [1 - 2j] and deep.empty.shape == (0, 3) and deep.meta.is_meta


def test_pickling_says_what_to_do(m):
    with pytest.raises(RuntimeError, match="Tried to serialize object .* which does not have a __getstate__ method"):
        pickle.dumps(m)
    with pytest.raises(RuntimeError, match="save it with cresset.save"):
        pickle.dumps(m)


def test_calls_are_checked_as_in_torch_jit(m, theirs):
    for args, kwargs in (((), {}), ((X, 1, 2), {}), ((X,), {"z": 1}), (("a",), {})):
        messages = []
        for each in (m, theirs):
            with pytest.raises(RuntimeError) as caught:
                each(*args, **kwargs)
            messages.append(str(caught.value).split("\n")[0])
        assert messages[0] == without_self(messages[1])


def test_script_errors_show_the_authors_source(m):
    with pytest.raises(cresset.Error, match="too big") as caught:
        m(X, 9)
    assert isinstance(caught.value, IndexError)
    text = str(caught.value)
    assert "test_modules.py" in text and 'raise IndexError("too big")' in text and "<--- HERE" in text


def test_code_graph_and_methods(m, theirs):
    assert m.code == theirs.code
    assert m.forward.name == "forward" and "Tensor x, int y=1) -> Tensor" in str(m.forward.schema)
    assert "prim::CallMethod" in str(m.graph) and "prim::CallMethod" not in str(m.inlined_graph)
    assert str(m.bump.schema) == str(theirs.bump.schema)
    assert m.bump(k=1) == 4
    assert "n" in m.dump_to_str()


def test_define_adds_methods(m):
    m.define("def twice(self, x: Tensor) -> Tensor:\n  return self.forward(x) + self.forward(x)\n")
    assert torch.equal(m.twice(X), 2 * m(X))
    with pytest.raises(cresset.CompileError):
        m.define("def bad(self): return self.nowhere\n")
    assert not hasattr(m, "bad")


def test_two_archives_never_meet(saved):
    a, b = cresset.load(saved), cresset.load(saved)
    a.n = 100
    assert b.n == 3 and a.sub.w is not b.sub.w
    with pytest.raises(RuntimeError):
        a.sub = b.sub  # same name, another program's class


def test_threads_call_one_module(m):
    m.eval()
    expected, wrong = m(X), []

    def run():
        for _ in range(100):
            if not torch.equal(m(X), expected):
                wrong.append(1)

    threads = [threading.Thread(target=run) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_memory_goes_with_the_module(saved):
    import weakref

    m = cresset.load(saved)
    m(X)
    alive = weakref.ref(m), weakref.ref(m.sub)
    del m
    gc.collect()
    assert alive[0]() is None and alive[1]() is None


def test_an_empty_script_module():
    module = cresset.ScriptModule()
    assert isinstance(module, torch.nn.Module) and list(module.parameters()) == []
