"""Script modules in packages of torch.package."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.package import PackageExporter, PackageImporter

import cresset


class Scaled(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.factor = factor
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls += 1
        return self.inner(x) * self.factor + torch.tensor([1.0, 2.0, 3.0])

    @torch.jit.export
    def shift(self, x):
        return x + self.factor


def packaged(value, target=None, **options):
    target = target or io.BytesIO()
    with PackageExporter(target) as exporter:
        exporter.save_pickle("models", "model.pkl", value)
    if isinstance(target, io.BytesIO):
        target.seek(0)
    return PackageImporter(target).load_pickle("models", "model.pkl", **options)


X = torch.arange(6.0).reshape(2, 3)


def test_module_in_a_package(tmp_path):
    module = cresset.script(Scaled(2.0))
    expected = module(X)
    for target in (io.BytesIO(), str(tmp_path / "package.pt")):
        loaded = packaged(module, target)
        assert isinstance(loaded, cresset.ScriptModule)
        assert torch.equal(loaded(X), expected) and torch.equal(loaded.shift(X), X + 2)
        assert loaded.calls == 2 and module.calls == 1  # a copy, with the state of the moment of saving


def test_one_module_in_several_places_stays_one():
    module, other = cresset.script(Scaled(2.0)), cresset.script(Scaled(3.0))
    loaded = packaged({"a": module, "b": [module, other], "c": (X, "text")})
    assert loaded["a"] is loaded["b"][0] and loaded["a"] is not loaded["b"][1]
    assert torch.equal(loaded["b"][1](X), other(X))
    assert torch.equal(loaded["c"][0], X) and loaded["c"][1] == "text"


def test_traced_and_function_modules():
    traced = cresset.trace(nn.Sequential(nn.Linear(3, 2), nn.ReLU()), X)
    loaded = packaged(nn.ModuleList([traced]))
    assert torch.equal(loaded[0](X), traced(X))


def test_map_location():
    loaded = packaged(cresset.script(Scaled(2.0)), map_location="cpu")
    assert all(p.device.type == "cpu" for p in loaded.parameters())


def test_patterns_of_the_user_do_not_take_in_cresset():
    buffer = io.BytesIO()
    with PackageExporter(buffer) as exporter:
        exporter.intern("**")
        exporter.save_pickle("models", "model.pkl", cresset.script(Scaled(2.0)))
    buffer.seek(0)
    importer = PackageImporter(buffer)
    assert "cresset" in {name.partition(".")[0] for name in importer.extern_modules}
    assert importer.load_pickle("models", "model.pkl").factor == 2.0


def test_what_cannot_be_saved_is_an_error():
    @torch.jit.ignore
    def python(x):
        return x

    def f(x):
        return python(x)

    class Calls(nn.Module):
        def forward(self, x):
            return f(x)

    with pytest.raises(cresset.UserError, match="Python"):
        packaged(cresset.script(Calls()))


def test_under_torch_jits_names(monkeypatch):
    import torch.package.package_exporter as package_exporter

    with cresset.patch_torch_jit():
        module = torch.jit.script(Scaled(2.0))
        with pytest.raises(Exception, match="beta feature"):
            packaged(module)
        monkeypatch.setattr(package_exporter, "_gate_torchscript_serialization", False)
        loaded = packaged(module)
        assert isinstance(loaded, torch.jit.ScriptModule) and torch.equal(loaded(X), module(X))


def test_static_modules():
    module = cresset.script(Scaled(2.0)).eval()
    static = cresset.static_module(module, optimize_memory=False)
    loaded = packaged({"a": static, "b": [static]})
    assert isinstance(loaded["a"], cresset.StaticModule) and loaded["a"] is loaded["b"][0]
    assert torch.equal(loaded["a"](X), static(X)) and repr(loaded["a"]._options) == repr(static._options)


@cresset.compile
def compiled_by_name(x):
    return x * 2 + 1


def test_captured_modules_and_functions():
    eager = Scaled(2.0)
    compiled, function = cresset.compile(eager), cresset.compile(torch.nn.functional.gelu)
    buffer = io.BytesIO()
    with PackageExporter(buffer) as exporter:
        exporter.intern([__name__])
        exporter.extern(["pytest", "cresset", "io", "sys"])
        exporter.save_pickle(
            "models", "model.pkl", {"module": compiled, "function": function, "named": compiled_by_name}
        )
    buffer.seek(0)
    loaded = PackageImporter(buffer).load_pickle("models", "model.pkl")
    expected = eager(X)
    for _ in range(3):
        assert torch.equal(loaded["module"](X), expected)
        assert torch.equal(loaded["function"](X), torch.nn.functional.gelu(X))
        assert torch.equal(loaded["named"](X), X * 2 + 1)
    assert type(loaded["module"]) is not type(compiled) and loaded["named"] is not compiled_by_name  # the package's own


def test_damaged_records(tmp_path):
    program = Path(__file__).parents[1] / "fuzz" / "hostile_packages.py"
    command = [sys.executable, str(program), "--count", "60", "--seed", "5"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "60 packages:" in done.stdout and "loaded" in done.stdout and "raised" in done.stdout
