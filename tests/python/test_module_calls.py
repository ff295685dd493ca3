"""Calls of script modules: ScriptModule.__call__ against nn.Module's, wherever that does more than call forward."""

import inspect
import sys
import threading

import pytest
import torch

import cresset


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((3,), 2.0))

    def forward(self, x, y: int = 1):
        return x * self.weight + y


@pytest.fixture
def module():
    return cresset.script(Scale())


X = torch.ones(3)
FEATURES = {
    "hook": lambda m: m.register_forward_hook(lambda m, args, out: out + 10),
    "hook_with_kwargs": lambda m: m.register_forward_hook(
        lambda m, args, kwargs, out: out + kwargs["y"], with_kwargs=True
    ),
    "pre_hook": lambda m: m.register_forward_pre_hook(lambda m, args: (args[0] + 5,)),
    "backward_hook": lambda m: m.register_full_backward_hook(lambda m, grads, outs: (grads[0] * 3,)),
    "backward_pre_hook": lambda m: m.register_full_backward_pre_hook(lambda m, outs: (outs[0] * 7,)),
    "all_modules_hook": lambda m: torch.nn.modules.module.register_module_forward_hook(lambda m, args, out: out + 100),
    "all_modules_pre_hook": lambda m: torch.nn.modules.module.register_module_forward_pre_hook(
        lambda m, args: (args[0] - 1,)
    ),
    "all_modules_backward_hook": lambda m: torch.nn.modules.module.register_module_full_backward_hook(
        lambda m, grads, outs: (grads[0] * 11,)
    ),
}


def gradient(module):
    x = X.clone().requires_grad_()
    out = module(x, y=4)
    out.sum().backward()
    return out.detach(), x.grad


@pytest.mark.parametrize("feature", FEATURES)
def test_hooks_run(module, feature):
    eager = Scale()
    without = gradient(module)
    handles = [FEATURES[feature](module)]
    if not feature.startswith("all"):
        handles.append(FEATURES[feature](eager))
    try:
        ours, theirs = gradient(module), gradient(eager)
    finally:
        [handle.remove() for handle in handles]
    assert all(map(torch.equal, ours, theirs))
    assert not all(map(torch.equal, ours, without))
    assert all(map(torch.equal, gradient(module), without))


def test_arguments_and_results(module):
    eager = Scale()
    for args, kwargs in [((X,), {}), ((X, 2), {}), ((X,), {"y": 3}), ((), {"x": X}), ((), {"y": 5, "x": X})]:
        assert torch.equal(module(*args, **kwargs), eager(*args, **kwargs))
        assert torch.equal(module.__call__(*args, **kwargs), eager(*args, **kwargs))
        assert torch.equal(torch.nn.Module.__call__(module, *args, **kwargs), eager(*args, **kwargs))
    for args, kwargs in [((), {}), ((X, 1, 2), {}), ((X,), {"z": 1}), ((X,), {"x": X}), (("text",), {})]:
        messages = []
        for call in (module, module.forward, lambda *args, **kwargs: torch.nn.Module.__call__(module, *args, **kwargs)):
            with pytest.raises(RuntimeError) as error:
                call(*args, **kwargs)
            messages.append(str(error.value))
        assert len(set(messages)) == 1
    assert str(inspect.signature(module.__call__)) == str(inspect.signature(eager.__call__))
    assert callable(module)


def test_who_replaces_a_part_of_the_call_is_asked(module, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(torch.nn.Module, "__call__", lambda self, *args: "replaced")
        assert module(X) == "replaced"
    with monkeypatch.context() as patch:
        patch.setattr(torch.nn.Module, "_call_impl", lambda self, *args: "call_impl")
        assert module(X) == "call_impl"
    module._compiled_call_impl = lambda *args: "compiled"
    assert module(X) == "compiled"
    module._compiled_call_impl = None
    assert torch.equal(module(X), X * 3)
    module.__dict__["_call_impl"] = lambda *args: "own call_impl"
    assert module(X) == "own call_impl"
    del module.__dict__["_call_impl"]
    module.__dict__["forward"] = lambda x: "own forward"
    assert module(X) == "own forward"


def test_subclasses_replace_methods():
    class Calls(cresset.ScriptModule):
        @cresset.script_method
        def forward(self, x):
            return x + 1

        def __call__(self, x):
            return super().__call__(x) * 10

    class CallImpl(cresset.ScriptModule):
        @cresset.script_method
        def forward(self, x):
            return x + 1

        def _call_impl(self, x):
            return "own"

    class Python(cresset.ScriptModule):
        def forward(self, x):
            return x, "python"

    assert torch.equal(Calls()(X), (X + 1) * 10)
    assert CallImpl()(X) == "own"
    assert Python()(X)[1] == "python"


def test_errors_leave_as_they_are():
    class Raises(torch.nn.Module):
        def forward(self, x):
            raise ValueError("wrong " + str(x.size(0)))

    for _ in range(3):
        with pytest.raises(cresset.Error, match="wrong 3") as error:
            cresset.script(Raises())(X)
        assert "raise ValueError" in str(error.value)

    class Nothing(torch.nn.Module):
        pass

    with pytest.raises(NotImplementedError):
        cresset.script(Nothing())(X)


def test_torch_jit_traces_name_modules(module, monkeypatch):
    named = []
    slow_forward = torch.nn.Module._slow_forward

    def watched(self, *args, **kwargs):
        named.append(self)
        return slow_forward(self, *args, **kwargs)

    monkeypatch.setattr(torch.nn.Module, "_slow_forward", watched)
    graph = torch.jit.trace(torch.nn.Sequential(module), X, check_trace=False).inlined_graph
    assert "aten::mul" in str(graph)
    assert any(part is module for part in named)


def test_calls_leave_no_references(module):
    x, name = torch.ones(3), "".join(["a", "text"])
    module(x), module(x, y=2)
    before = sys.getrefcount(x), sys.getrefcount(name), sys.getrefcount(module), sys.getrefcount(module.forward)
    for _ in range(100):
        module(x)
        module(x, y=2)
        with pytest.raises(RuntimeError):
            module(x, name)
        with pytest.raises(RuntimeError):
            module(x, z=name)
    after = sys.getrefcount(x), sys.getrefcount(name), sys.getrefcount(module), sys.getrefcount(module.forward)
    assert after == before


def test_many_threads(module):
    wrong = []

    def run(k):
        x = torch.full((3,), float(k))
        for _ in range(300):
            if not torch.equal(module(x, y=k), x * 2 + k):
                wrong.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong
