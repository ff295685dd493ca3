"""Methods of modules lowered to user code that compiles and runs them; profiles of lines."""

import io
import re
from typing import Dict, List, Optional, Tuple

import pytest
import torch
from torch import Tensor, nn

import cresset


class Recorder:
    """Runs methods as they are, and remembers what it was asked to do."""

    def __init__(self):
        self.log = []
        self.available = True

    def is_available(self):
        return self.available

    def compile(self, processed, spec):
        self.log.append(("compile", sorted(spec), type(processed).__name__))
        return {method: getattr(processed, method) for method in spec}

    def execute(self, handle, inputs):
        self.log.append(("execute", handle.name, len(inputs)))
        result = handle(*inputs)
        return list(result) if isinstance(result, tuple) else [] if result is None else [result]


class Net(nn.Module):
    seen: List[int]

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.seen = []

    def forward(self, x: Tensor, scale: float = 2.0):
        return self.linear(x) * scale

    @cresset.export
    def both(self, x: Tensor, names: Dict[str, int], n: Optional[int] = None) -> Tuple[Tensor, int]:
        return x + 1, len(names) + (n if n is not None else 100)

    @cresset.export
    def note(self, n: int) -> None:
        self.seen.append(n)


@pytest.fixture
def recorder():
    backend = Recorder()
    cresset.register_backend("recorder", backend)
    return backend


def test_methods_run_on_the_backend(recorder):
    module = cresset.script(Net())
    lowered = cresset.to_backend("recorder", module, {"forward": {"level": 3}, "both": None, "note": None})
    x = torch.randn(2, 3)
    assert torch.equal(lowered(x), module(x)) and torch.equal(lowered(x, scale=3.0), module(x, 3.0))
    result = lowered.both(x, {"a": 1})
    assert torch.equal(result[0], x + 1) and result[1] == 101 and lowered.both(x, {}, 5)[1] == 5
    assert lowered.note(7) is None and module.seen == [7]
    assert recorder.log[0] == ("compile", ["both", "forward", "note"], "RecursiveScriptModule")
    assert [entry[1:] for entry in recorder.log[1:]] == [("forward", 2)] * 2 + [("both", 3)] * 2 + [("note", 1)]


def test_gradients_pass_through(recorder):
    module = cresset.script(Net())
    lowered = cresset.to_backend("recorder", module, {"forward": None})
    x = torch.randn(2, 3, requires_grad=True)
    (mine,) = torch.autograd.grad(lowered(x).sum(), x)
    (theirs,) = torch.autograd.grad(module(x).sum(), x)
    assert torch.equal(mine, theirs)


def test_a_lowered_module_inside_of_another(recorder):
    class Outer(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x: Tensor):
            if x.sum() > 0:
                x = self.inner(x, 3.0)
            return x + 1

    module = cresset.script(Net())
    outer = cresset.script(Outer(cresset.to_backend("recorder", module, {"forward": None})))
    x = torch.rand(2, 3)
    assert torch.equal(outer(x), module(x, 3.0) + 1) and torch.equal(outer(-x), -x + 1)
    assert recorder.log[-1] == ("execute", "forward", 2) and len(recorder.log) == 2


def test_submodules_by_path(recorder):
    model = nn.Sequential(Net(), nn.ReLU(), nn.Sequential(nn.Linear(3, 2), nn.Sigmoid()))
    lowered = cresset.to_backend_selective("recorder", model, {"forward": None}, ["0", "2.0"])
    x = torch.randn(4, 3)
    assert torch.equal(lowered(x), model(x))
    assert [entry[0] for entry in recorder.log] == ["compile"] * 2 + ["execute"] * 2
    assert isinstance(model[0], Net)
    with pytest.raises(cresset.UserError, match="eager module"):
        cresset.to_backend_selective("recorder", lowered, {"forward": None}, ["1"])


def test_preprocess_says_what_is_compiled():
    class Doubles:
        def preprocess(self, module, spec):
            return [node.kind() for node in module.forward.inlined_graph.nodes()]

        def compile(self, processed, spec):
            assert any(kind.startswith("aten::") for kind in processed)
            return {"forward": "handle"}

        def execute(self, handle, inputs):
            assert handle == "handle"
            return [inputs[0] * 2]

    cresset.register_backend("doubles", Doubles())
    x = torch.ones(2, 3)
    assert torch.equal(cresset.to_backend("doubles", Net(), {"forward": ""})(x), x * 2)


def test_what_is_refused(recorder):
    module = cresset.script(Net())
    with pytest.raises(cresset.UserError, match="no backend called 'nothing'; registered are: .*recorder"):
        cresset.to_backend("nothing", module, {"forward": None})
    with pytest.raises(cresset.UserError, match="no method 'g' to lower"):
        cresset.to_backend("recorder", module, {"g": None})
    with pytest.raises(ValueError, match="names no method"):
        cresset.to_backend("recorder", module, {})
    with pytest.raises(TypeError, match="execute"):
        cresset.register_backend("broken", object.__new__(type("B", (), {"compile": lambda *_: {}})))
    with pytest.raises(ValueError, match="identifier"):
        cresset.register_backend("a b", recorder)
    lowered = cresset.to_backend("recorder", module, {"forward": None})
    recorder.available = False
    with pytest.raises(RuntimeError, match="'recorder' is not available"):
        lowered(torch.ones(1, 3))
    with pytest.raises(RuntimeError, match="Could not export Python function"):
        cresset.save(lowered, io.BytesIO())


def test_wrong_results():
    class Wrong:
        def compile(self, processed, spec):
            return dict.fromkeys(spec)

        def execute(self, handle, inputs):
            return [1, 2]

    class Lost(Wrong):
        def compile(self, processed, spec):
            return {}

    cresset.register_backend("wrong", Wrong())
    cresset.register_backend("lost", Lost())
    with pytest.raises(RuntimeError, match=r"must return a list of 1 value\(s\) for 'forward', not list of 2"):
        cresset.to_backend("wrong", Net(), {"forward": None})(torch.ones(1, 3))
    with pytest.raises(cresset.UserError, match="no handle for the method 'forward'"):
        cresset.to_backend("lost", Net(), {"forward": None})


def test_by_torchs_name(recorder):
    with cresset.patch_torch_jit():
        lowered = torch._C._jit_to_backend("recorder", torch.jit.script(Net()), {"forward": None})
        assert isinstance(lowered, torch.jit.ScriptModule) and lowered(torch.ones(2, 3)).shape == (2, 3)


def slow(x: Tensor, n: int):
    for _ in range(n):
        x = x * 2
    return x + 1


def test_profile_of_lines():
    f = cresset.script(slow)
    profile = cresset.ScriptProfile()
    with profile:
        f(torch.ones(3), 3)
        f(torch.ones(3), 2)
    (lines,) = profile.lines.values()
    first = slow.__code__.co_firstlineno
    assert lines[first + 2][0] == 5 and lines[first + 3][0] == 2 and all(time >= 0 for _, time in lines.values())
    text = profile.dump_string()
    assert re.search(r"Line #\s+Hits\s+Time \(ns\)\s+Line Contents", text) and re.search(
        r"\d+ +5 +\d+ +x = x \* 2", text
    )
    profile.disable()  # once more is nothing, as torch.jit has it
    assert profile.dump_string() == text


def test_several_profiles_at_once():
    """Each counts what runs while it is enabled, whatever the others do."""
    f = cresset.script(slow)
    line = slow.__code__.co_firstlineno + 2

    def hits(profile):
        return sum(lines[line][0] for lines in profile.lines.values())

    first, second, third = (cresset.ScriptProfile() for _ in range(3))
    with first:
        f(torch.ones(3), 3)
        with second:
            f(torch.ones(3), 2)
            third.enable()
            f(torch.ones(3), 1)
        with pytest.raises(RuntimeError, match="enabled already"):
            third.enable()
        f(torch.ones(3), 4)
    f(torch.ones(3), 5)
    third.disable()
    f(torch.ones(3), 6)
    assert (hits(first), hits(second), hits(third)) == (10, 3, 10)
