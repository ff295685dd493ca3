"""cresset.compile: calls are as without it, whatever changes in between."""

import copy
import gc
import pickle
import re
import threading
import weakref

import frame_corpus
import frame_cuts
import pytest
import torch
from torch import nn

import cresset
from cresset import _capture, _frames


def plans(f):
    function = getattr(f, "target", f)
    function = getattr(function, "__func__", function)
    return [plan for _, plan in _frames.plans_of(function.__code__, None)]


def same(a, b):
    if isinstance(a, torch.Tensor):
        return type(a) is type(b) and a.dtype == b.dtype and a.stride() == b.stride() and torch.equal(a, b)
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def agree(f, *calls, rounds=4):
    """Calls agree with the function's own, and later ones come from plans."""
    compiled = cresset.compile(f)
    for _ in range(rounds):
        for args in calls:
            assert same(f(*args), compiled(*args))
    return compiled


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 4)
        self.scale = 2.0

    def forward(self, x):
        return self.second(torch.relu(self.first(x))) * self.scale


class Captured:
    def __init__(self, function):
        self.function = function
        self.__globals__ = function.__globals__

    def __call__(self, log):
        code = self.function.__code__
        return _frames.call_captured(
            self.function, (log,), {}, code, _capture.options_of(None, False, None, 8), 8, False
        )


@pytest.mark.parametrize("name", frame_corpus.FUNCTIONS)
def test_corpus(name, monkeypatch):
    """Plain Python programs: results, effects, tracebacks, lifetimes, over several calls."""
    monkeypatch.setattr(frame_cuts, "__file__", __file__)
    function = frame_corpus.FUNCTIONS[name]
    gc.freeze()
    gc.disable()
    try:
        expected = frame_cuts.is_settled(function)
        for _ in range(4):
            function.__globals__["Tracked"].live = 0
            assert frame_cuts.observe(Captured(function)) == expected
    finally:
        gc.enable()
        gc.unfreeze()


def test_pointwise():
    compiled = agree(lambda x: x + 1, (torch.randn(3),), (torch.randn(2, 2),), (torch.ones(3, dtype=torch.int),))
    assert plans(compiled)[0].counts[0] > 0


def test_slice_of_a_size_and_print(capsys):
    def f(x, n):
        y = x[:, :n] * 2
        print("columns", y.shape[1])
        return y, y.sum(0)

    x = torch.randn(3, 4)
    compiled = agree(f, (x, 4), (x, 2), (x, 3))
    assert len([p for p in plans(compiled) if p.counts[0]]) == 2  # before and after the print; no plan per size
    assert capsys.readouterr().out == "".join(f"columns {n}\n" * 2 for n in (4, 2, 3)) * 4


def test_modules_and_gradients():
    module = Mlp()
    compiled = cresset.compile(module)
    assert (
        isinstance(compiled, Mlp)
        and type(compiled).__name__ == "Mlp"
        and list(compiled.state_dict()) == list(module.state_dict())
    )
    x = torch.randn(5, 8, requires_grad=True)
    results = []
    for call in (module, *[compiled] * 4):
        module.zero_grad()
        x.grad = None
        call(x).pow(2).sum().backward()
        results.append([x.grad, *[p.grad.clone() for p in module.parameters()]])
    assert all(same(r, results[0]) for r in results)
    assert plans(Mlp.forward)[0].counts[0] >= 3


def test_a_returned_intermediate_is_on_the_tape():
    def f(x):
        a = x.exp()
        return a, (a * a).sum()

    compiled = cresset.compile(f)
    x = torch.randn(3, requires_grad=True)
    for _ in range(4):
        a, b = compiled(x)
        (gradient,) = torch.autograd.grad(b, a)
        assert torch.equal(gradient, 2 * a)


def test_training_step():
    torch.manual_seed(0)
    modules = [Mlp()]
    modules.append(copy.deepcopy(modules[0]))
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9) for m in modules]

    def step(module, optimizer, x):
        optimizer.zero_grad()
        loss = (module(x) - 1).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    compiled = cresset.compile(step)
    for _ in range(6):
        x = torch.randn(4, 8)
        assert same(step(modules[0], optimizers[0], x), compiled(modules[1], optimizers[1], x))
    assert all(map(same, modules[0].parameters(), modules[1].parameters()))


def test_an_operator_that_raises():
    def f(x, y):
        z = x * 2
        return z @ y

    compiled = cresset.compile(f)
    x, good, bad = torch.randn(2, 3), torch.randn(3, 2), torch.randn(2, 2)
    for _ in range(4):
        assert same(f(x, good), compiled(x, good))
        with pytest.raises(RuntimeError) as error:
            compiled(x, bad)
        assert error.traceback[-1].name == "f" and error.traceback[-1].lineno == f.__code__.co_firstlineno + 1
        assert same(error.traceback[-1].frame.f_locals["z"], x * 2)


CONSTANT = 2


def test_globals_that_change():
    global CONSTANT

    def f(x):
        return x * CONSTANT

    compiled = cresset.compile(f)
    x = torch.randn(3)
    try:
        for value in (2, 3, 2.5, True, 2, torch.ones(3), 3, "no"):
            CONSTANT = value
            for _ in range(3):
                if value == "no" if isinstance(value, str) else False:
                    with pytest.raises(TypeError):
                        compiled(x)
                else:
                    assert same(f(x), compiled(x))
    finally:
        CONSTANT = 2


def helper(x):
    return x + 1


def test_functions_that_change():
    def f(x):
        return helper(x) * 2

    compiled = cresset.compile(f)
    x = torch.randn(3)
    code, other = helper.__code__, (lambda x: x - 1).__code__
    for _ in range(3):
        assert same(compiled(x), (x + 1) * 2)
    helper.__code__ = other
    try:
        assert same(compiled(x), (x - 1) * 2)
    finally:
        helper.__code__ = code
    assert same(compiled(x), (x + 1) * 2)
    f.__code__ = (lambda x: x * 7).__code__
    assert same(compiled(x), x * 7)


def test_closures_and_defaults_that_change():
    n = 1

    def f(x, k=3):
        return x * n + k

    compiled = cresset.compile(f)
    x = torch.randn(3)
    for value in (1, 2, 2.0, 1):
        n = value
        f.__defaults__ = (value + 1,)
        for _ in range(3):
            assert same(f(x), compiled(x))


def test_attributes_classes_and_hooks_that_change():
    module = Mlp()
    compiled = cresset.compile(lambda m, x: m(x) + 1)
    x = torch.randn(2, 8)

    def check():
        for _ in range(3):
            assert same(module(x) + 1, compiled(module, x))

    check()
    module.scale = 3.0
    check()
    module.second = nn.Sequential(nn.Linear(16, 4), nn.ReLU())
    check()
    with torch.no_grad():
        module.first.weight.add_(1)
    module.first.bias = None
    check()
    seen = []
    handle = module.first.register_forward_hook(lambda *a: seen.append(1))
    check()
    assert len(seen) == 6
    handle.remove()
    check()
    old = Mlp.forward
    Mlp.forward = lambda self, x: self.first(x)
    check()
    Mlp.forward = old
    check()
    module.forward = lambda x: x
    check()
    del module.forward
    handle = nn.modules.module.register_module_forward_hook(lambda *a: seen.append(2))
    check()
    handle.remove()
    module.first.forward = lambda x: torch.zeros(2, 16)
    check()
    old = nn.Linear.forward
    nn.Linear.forward = lambda self, x: old(self, x) * 2
    check()
    nn.Linear.forward = old
    check()


def test_containers_that_change():
    def f(d, layers):
        x = d["x"]
        for weight in layers:
            x = x * weight
        return x if d["flag"] else -x

    compiled = cresset.compile(f)
    d, layers = {"x": torch.randn(3), "flag": True}, [torch.ones(3), 2]
    changes = [
        lambda: None,
        lambda: layers.append(torch.full((3,), 3.0)),
        lambda: d.update(flag=False),
        lambda: d.update(flag=None),
        lambda: layers.clear(),
        lambda: d.update(x=torch.randn(2, 2)),
        lambda: d.update(flag=1),
    ]
    for change in changes:
        change()
        for _ in range(3):
            assert same(f(d, layers), compiled(d, layers))


def test_branches_on_sizes_and_values():
    def f(x, k):
        if x.shape[0] > 3:
            x = x.view(-1)
        if x.sum() > 0:
            x = -x
        return x * k if k is not None else x

    calls = [(torch.ones(n, 2) * s, k) for n in (2, 3, 4, 5) for s in (-1, 1) for k in (None, 2, 0.5, -0.0, 0.0)]
    agree(f, *calls)


def test_modes_and_subclasses():
    class Sub(torch.Tensor):
        pass

    def f(x):
        return (x + 1).relu()

    x = torch.randn(3)
    compiled = agree(f, (x,), (x.as_subclass(Sub),), (nn.Parameter(x),), (x.requires_grad_(),))
    with torch.no_grad():
        assert not compiled(x).requires_grad
    with torch.autocast("cpu"):
        assert same(f(x), compiled(x))
    y = torch.func.vmap(compiled)(torch.randn(2, 3))
    assert y.shape == (2, 3)
    x.relu = lambda: "shadowed"
    assert (x + 1).relu() is not None and same(cresset.compile(lambda x: x.relu())(x), "shadowed")


def test_effects_happen_once_and_in_order():
    log = []

    def f(x, flag):
        log.append("begin")
        y = x * 2
        log.append(tuple(y.shape))
        z = y + 1
        if flag:
            raise ValueError("stop")
        log.append("end")
        return z

    compiled = cresset.compile(f)
    for n in (2, 3, 2, 2):
        for flag in (False, True):
            logs = []
            for call in (f, compiled):
                log.clear()
                try:
                    call(torch.ones(n), flag)
                except ValueError:
                    log.append("raised")
                logs.append(list(log))
            assert logs[0] == logs[1]


def test_threads_that_call_and_reset():
    module = Mlp()
    compiled = cresset.compile(lambda m, x: m(x).sum() + m.scale)
    x = torch.randn(2, 8)
    expected, errors = module(x).sum() + 2.0, []

    def work(i):
        for k in range(60):
            if i == 0 and k % 7 == 0:
                cresset.reset()
            if not same(compiled(module, x), expected):
                errors.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_what_a_plan_refers_to_may_die():
    def make():
        module = Mlp()
        compiled = cresset.compile(lambda x: module(x) + 1)
        for _ in range(3):
            compiled(torch.randn(2, 8))
        return weakref.ref(module), weakref.ref(compiled)

    references = [r for _ in range(20) for r in make()]
    gc.collect()
    assert all(r() is None for r in references)


def test_interface():
    @cresset.compile(cache_limit=2)
    def f(x):
        "text"
        y = x * 2
        cresset.graph_break()
        return y + 1

    x = torch.randn(2)
    for _ in range(4):
        assert same(f(x), x * 2 + 1)
    assert f.__name__ == "f" and f.__doc__ == "text" and len([p for p in plans(f) if p.counts[0]]) == 2
    cresset.reset()
    assert not plans(f) and same(f(x), x * 2 + 1)
    calls = []
    plain = cresset.disable(lambda x: calls.append(1) or x * 2)
    g = cresset.compile(lambda x: plain(x) + 1)
    for _ in range(4):
        assert same(g(x), x * 2 + 1)
    assert len(calls) == 4
    with pytest.raises(TypeError, match="takes a function, a method or a module"):
        cresset.compile(3)
    with pytest.raises(ValueError, match="cache_limit"):
        cresset.compile(f, cache_limit=0)
    assert cresset.compile(f) is f
    m = cresset.compile(Mlp())
    again = pickle.loads(pickle.dumps(m))
    assert same(m(torch.ones(1, 8)), again(torch.ones(1, 8)))
    assert same(m(torch.ones(1, 8)), copy.deepcopy(m)(torch.ones(1, 8)))


class Registered(torch.nn.Module):
    """Keeps a list of its subclasses, which need an argument."""

    known = []

    def __init_subclass__(cls, *, name):
        Registered.known.append(name)

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.drop = torch.nn.Dropout(0.5)
        self.scale = 2.0

    def forward(self, x):
        return self.drop(self.layer(x)) * self.scale


def test_a_compiled_module_has_the_attributes_of_the_module():
    module = Registered()
    compiled = cresset.compile(module)
    assert Registered.known == [] and cresset.compile(compiled) is compiled
    x = torch.randn(5, 3)
    for step in range(8):
        module.train(step % 3 == 0)
        assert compiled.training == module.training == compiled.drop.training
        compiled.scale = float(step)
        if step == 4:
            compiled.to(torch.float64)
            x = x.double()
        if step == 5:
            compiled.layer = torch.nn.Linear(3, 4).double()
        torch.manual_seed(step)
        expected = module(x)
        torch.manual_seed(step)
        assert torch.equal(compiled(x), expected)
    calls = []
    handle = module.register_forward_hook(lambda *_: calls.append(1))
    compiled(x)
    assert calls == [1]
    handle.remove()


def test_compiled_modules_are_copied():
    compiled = cresset.compile(Mlp())
    x = torch.randn(5, 8)
    expected = compiled(x)
    for other in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        assert torch.equal(other(x), expected) and cresset.explain(other) is not None
        assert cresset.compile(other) is other
        next(iter(other.parameters())).data.zero_()
        assert torch.equal(compiled(x), expected)
    other = copy.copy(compiled)
    other.added = 1
    assert not hasattr(compiled, "added") and next(other.parameters()) is next(compiled.parameters())
    for _ in range(4):
        assert torch.equal(other(x), expected) and torch.equal(compiled(x), expected)


def attends(x, w):
    """What attention in libraries does with sizes."""
    *batch, width = x.shape
    shape = x.shape[:-1]
    if x.dtype != w.dtype or x.shape[1:] == w.shape:
        return x * 2 - 1
    heads = x.view(*shape, -1, 2).transpose(1, 2)
    if isinstance(width, torch.Tensor) or isinstance(shape, str) or heads.shape == x.shape:
        width = 1
    return torch.relu(heads.reshape(*batch, -1) @ w + width).view((*shape, 2, -1)) * len(shape)


def test_sizes_that_are_sliced_compared_and_unpacked():
    function = cresset.compile(attends)
    sizes = [(2, 3, 4), (2, 3, 4), (5, 4, 6), (2, 3, 4), (1, 1, 2), (3, 2, 2), (7, 6), (4, 4), (3, 3, 3, 2)]
    for i, size in enumerate(sizes * 3):
        x, w = torch.randn(size), torch.randn(size[-1], size[-1])
        w = w.double() if i % 4 == 3 else w
        try:
            expected = attends(x, w)
        except RuntimeError as error:
            with pytest.raises(RuntimeError, match=re.escape(str(error).splitlines()[0])):
                function(x, w)
            continue
        found = function(x, w)
        assert torch.equal(found, expected) and found.stride() == expected.stride()
    assert not cresset.explain(function).python
    assert sum(plan.applied for plan in cresset.explain(function).plans) > 8


def test_options_of_torch_compile():
    with pytest.raises(TypeError, match="no option 'mode'; it has backend, .*leave them out"):
        cresset.compile(lambda x: x, mode="max-autotune")


@pytest.mark.parametrize("script", [cresset.script, torch.jit.script])
def test_what_is_compiled_can_be_scripted(script):
    def f(x):
        return (x * 2 + 1).relu()

    module = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    x = torch.randn(2, 3)
    for original in (f, module):
        compiled = cresset.compile(original)
        scripted = script(compiled)
        for _ in range(3):
            assert torch.equal(scripted(x), original(x)) and torch.equal(compiled(x), original(x))
