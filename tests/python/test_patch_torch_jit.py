"""patch_torch_jit: programs that call torch.jit run on Cresset, and torch.jit is itself again afterwards."""

import importlib
import io
import sys
import threading

import pytest
import torch

import cresset

PACKAGE = """
import torch
from torch.jit import Final, fork, script, ScriptModule, trace


@torch.jit.script
def helper(x: torch.Tensor) -> torch.Tensor:
    return x * 2


class Net(torch.nn.Module):
    n: Final[int]

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)
        self.n = 3

    def forward(self, x):
        future = torch.jit.fork(helper, x)
        y = torch.jit.annotate(torch.Tensor, self.linear(x))
        return torch.jit.wait(future) + y * self.n

    @torch.jit.export
    def other(self, x: torch.Tensor) -> torch.Tensor:
        return x

    @torch.jit.unused
    def unused(self, x):
        return eval("x")


class Old(torch.jit.ScriptModule):
    @torch.jit.script_method
    def forward(self, x):
        return x + 1


def is_script(m):
    return isinstance(m, (torch.jit.ScriptModule, ScriptModule))
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Imports the package anew, under a name of the test's own."""
    monkeypatch.syspath_prepend(tmp_path)
    names = []

    def make(name):
        (tmp_path / f"{name}.py").write_text(PACKAGE)
        importlib.invalidate_caches()
        names.append(name)
        return importlib.import_module(name)

    yield make
    for name in names:
        sys.modules.pop(name, None)


def state():
    return {
        name: dict(vars(sys.modules[name])) for name in sys.modules if name == "torch" or name.startswith("torch.jit")
    }, dict(vars(torch._C))


def test_a_package_runs_on_cresset(package):
    x = torch.ones(1, 2)
    with cresset.patch_torch_jit():
        module = package("patched_package")
        net = torch.jit.script(module.Net().eval())
        assert isinstance(net, cresset.ScriptModule) and module.is_script(net)
        assert not module.is_script(torch.nn.ReLU())
        assert isinstance(module.helper, torch.jit.ScriptFunction) and isinstance(module.helper, cresset.ScriptFunction)
        assert isinstance(module.trace(module.Net(), x), torch.jit.ScriptModule)
        assert isinstance(module.Old(), cresset.ScriptModule)
        assert torch.equal(module.Old()(x), x + 1)
        assert isinstance(module.fork(module.helper, x), cresset.Future)
        frozen = torch.jit.freeze(net, ["other"])
        assert torch.equal(frozen(x), net(x)) and torch.equal(frozen.other(x), x)
        buffer = io.BytesIO()
        torch.jit.save(net, buffer)
        loaded = torch.jit.load(io.BytesIO(buffer.getvalue()))
        assert isinstance(loaded, cresset.ScriptModule)
        assert torch.equal(loaded(x), net(x))
        assert torch.jit.export_opnames(net) == cresset.export_opnames(net)
    theirs = torch.jit.load(io.BytesIO(buffer.getvalue()))
    assert not isinstance(theirs, cresset.ScriptModule)
    assert torch.equal(theirs(x), net(x))


def test_it_is_undone_without_trace(package):
    early = package("early_package")
    before = state(), dict(vars(early))
    patch = cresset.patch_torch_jit()
    assert early.script is torch.jit.script is not before[1]["script"]
    assert early.ScriptModule is cresset.ScriptModule
    late = package("late_package")
    patch.undo()
    patch.undo()
    after = state()
    for old, new in zip(before[0], after):
        for key, value in old.items():
            if isinstance(value, dict):
                changed = {name for name in {*value, *new[key]} if value.get(name) is not new[key].get(name)}
                assert not changed, key
            else:
                assert new[key] is value, key
    assert vars(early) == before[1]
    assert late.script is torch.jit.script and late.trace is torch.jit.trace and late.fork is torch.jit.fork


def test_functions_that_torch_compile_has_decorated(package):
    """The first use of torch.compile puts functions of its own around torch.jit.trace and others."""
    cresset.patch_torch_jit().undo()
    torch._dynamo.eval_frame.TorchPatcher.patch()
    theirs = torch.jit.trace
    early = package("early_package")
    plain = package("plain_package")
    plain.trace = theirs._torchdynamo_orig_callable
    with cresset.patch_torch_jit():
        assert early.trace is plain.trace is torch.jit.trace is not theirs
        late = package("late_package")
        decorated = package("decorated_package")
        decorated.trace = torch._dynamo.disable(torch.jit.trace)
    assert early.trace is late.trace is decorated.trace is torch.jit.trace is theirs
    assert plain.trace is theirs._torchdynamo_orig_callable


def test_patches_nest():
    theirs = torch.jit.script
    with cresset.patch_torch_jit() as outer:
        patched = torch.jit.script
        with cresset.patch_torch_jit(trusted=True):
            outer.undo()
            assert torch.jit.script is patched
        assert torch.jit.script is theirs


def test_what_torch_jit_made_stays_its_own(package):
    early = package("early_package")
    net = torch.jit.script(early.Net().eval())
    x = torch.ones(1, 2)
    with cresset.patch_torch_jit():
        assert torch.jit.script(net) is net and torch.jit.script(early.helper) is early.helper
        buffer = io.BytesIO()
        torch.jit.save(net, buffer)
        assert type(torch.jit.freeze(net)) is type(net)
        assert torch.equal(torch.jit.load(io.BytesIO(buffer.getvalue()))(x), net(x))
        # A script calls the Python function that theirs was made from.
        again = torch.jit.script(early.Net().eval())
        assert isinstance(again, cresset.ScriptModule)
        again.load_state_dict(net.state_dict())
        assert torch.equal(again(x), net(x))


def test_trust():
    class Files(torch.nn.Module):
        def forward(self):
            return torch.from_file("nowhere", size=4)

    buffer = io.BytesIO()
    cresset.save(cresset.script(Files()), buffer)
    for trusted, message in ((False, "aten::from_file"), (True, "nowhere")):
        with cresset.patch_torch_jit(trusted=trusted):
            module = torch.jit.load(io.BytesIO(buffer.getvalue()))
        with pytest.raises(RuntimeError, match=message):
            module()


def test_errors_are_caught_by_torch_jits_names():
    def wrong(x: torch.Tensor):
        return x.nothing_of_that_name()

    def unsupported(x: torch.Tensor):
        async def inner():
            pass

        return x

    def raises(x: torch.Tensor):
        raise ValueError("no")

    with cresset.patch_torch_jit():
        with pytest.raises(torch.jit.frontend.NotSupportedError):
            torch.jit.script(unsupported)
        with pytest.raises(RuntimeError):
            torch.jit.script(wrong)
        with pytest.raises(torch.jit.Error):
            torch.jit.script(raises)(torch.ones(1))


def test_passes_take_graphs_of_both():
    text = "def f(x):\n    a = 1 + 2\n    b = (x, a)\n    return b[0] + b[1]\n"
    theirs = torch.jit.CompilationUnit(text).f.graph
    with cresset.patch_torch_jit():
        ours = torch.jit.CompilationUnit(text).f.graph
        for graph in (theirs, ours):
            torch._C._jit_pass_constant_propagation(graph)
            torch._C._jit_pass_lower_all_tuples(graph)
            torch._C._jit_pass_dce(graph)
            assert [node.kind() for node in graph.nodes()].count("aten::add") == 1
            assert "prim::Tuple" not in str(graph)
    assert isinstance(ours, cresset.Graph)


def test_tuples_of_inputs_and_results_are_lowered_too():
    text = """
def f(x: Tuple[Tensor, Tuple[int, Tensor]], n: int, y: Tensor):
    r = (x[0], (y, x[1][1]))
    for i in range(n):
        r = (r[0] + i, (r[1][1], r[1][0]))
    return r, x[1][0]
"""
    with cresset.patch_torch_jit():
        f = torch.jit.CompilationUnit(text).f
        graph = f.graph.copy()
        torch._C._jit_pass_lower_all_tuples(graph)
        assert [str(value.type()) for value in graph.inputs()] == ["Tensor", "int", "Tensor", "int", "Tensor"]
        assert [value.debugName() for value in graph.inputs()] == ["x_0", "x_1_0", "x_1_1", "n", "y"]
        assert "Tuple" not in str(graph)
        graph.makeMultiOutputIntoTuple()
        flat = torch._C._create_function_from_graph("flat", graph)
        x, y, z = torch.randn(3, 2)
        assert str(flat(x, 7, y, 3, z)) == str((x + 3, y, z, 7))
        (a, (b, c)), d = f((x, (7, y)), 3, z)
        assert str((a, b, c, d)) == str(flat(x, 7, y, 3, z))


def test_threads_patch_and_undo():
    theirs = torch.jit.script
    errors = []

    def work():
        try:
            for _ in range(20):
                with cresset.patch_torch_jit():
                    assert torch.jit.script is not theirs
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and torch.jit.script is theirs


def test_futures():
    theirs, ours = torch.futures.Future(), cresset.Future()
    with cresset.patch_torch_jit():
        for future in (theirs, ours):
            collected = torch.futures.collect_all([future])
            assert not collected.done()
            future.set_result(3)
            assert [each.wait() for each in collected.wait()] == [3] == torch.futures.wait_all([future])


def test_internals_that_packages_call():
    class Inner(torch.nn.Module):
        def forward(self, x):
            return x + 1

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(x) * 2

    x = torch.ones(2)
    with cresset.patch_torch_jit():
        recursive = torch.jit._recursive
        infer = recursive.infer_methods_to_compile
        m, n = (recursive.create_script_module(Outer(), infer, share_types=share) for share in (True, False))
        assert isinstance(m, cresset.ScriptModule) and torch.equal(m(x), n(x))
        assert m._c.type() != n._c.type()
        frozen = recursive.wrap_cpp_module(torch._C._freeze_module(m.eval()._c))
        assert torch.equal(frozen(x), m(x)) and not frozen._c.hasattr("inner")
        graph, result = torch.jit._get_trace_graph(Outer(), (x,))
        assert isinstance(graph, cresset._C.Graph) and torch.equal(result, m(x))
        assert [node.output().type().sizes() for node in graph.nodes() if node.kind() == "aten::add"] == [[2]]


def test_classes_of_modules_that_are_made_by_stubs():
    class M(torch.nn.Module):
        def forward(self, x):
            return x + 1

        @torch.jit.export
        def other(self, x):
            return x + 2

        def third(self, x):
            return x + 3

    def thirds(module):
        return [torch.jit._recursive.make_stub_from_method(module, "third")]

    x = torch.ones(2)
    with cresset.patch_torch_jit():
        recursive = torch.jit._recursive
        made = [recursive.create_script_module(M(), thirds) for _ in range(2)]
        exported = [
            recursive.create_script_module(M(), recursive.make_stubs_from_exported_methods, is_tracing=True)
            for _ in range(2)
        ]
        scripted = torch.jit.script(M())
        assert made[0]._c.type() == made[1]._c.type() and exported[0]._c.type() == exported[1]._c.type()
        for m in made:
            assert m._c._method_names() == ["third"] and torch.equal(m.third(x), x + 3)
        for m in exported:
            assert m._c._method_names() == ["other"] and torch.equal(m.other(x), x + 2)
        # What is scripted has its own methods, whoever made modules like it before.
        assert torch.equal(scripted(x), x + 1) and torch.equal(scripted.other(x), x + 2)


def test_names_are_free_after_the_registry_is_cleared():
    def named(result):
        class OfThisName(torch.nn.Module):
            def forward(self, x):
                return x + result

        return OfThisName()

    class Both(torch.nn.Module):
        def __init__(self, *parts):
            super().__init__()
            self.a, self.b = parts

        def forward(self, x):
            return self.a(x), self.b(x)

    x = torch.ones(2)
    with cresset.patch_torch_jit():
        first = torch.jit.script(named(1))
        second = torch.jit.script(named(2.5))
        assert first._c.qualified_name != second._c.qualified_name
        torch._C._jit_clear_class_registry()
        third = torch.jit.script(named(3))
        fourth = torch.jit.script(named(4.5))
        assert third._c.qualified_name == first._c.qualified_name != fourth._c.qualified_name
        # What has the same name stays apart, in one module and in its archive.
        both = torch.jit.script(Both(first, third))
        buffer = io.BytesIO()
        torch.jit.save(both, buffer)
        buffer.seek(0)
        for m in (both, torch.jit.load(buffer)):
            assert [y[0].item() for y in m(x)] == [2, 4]


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(3) * 2)

    def forward(self, x: torch.Tensor, n: int) -> torch.Tensor:
        return x * self.scale + n

    @torch.jit.export
    def left_out(self, x: torch.Tensor) -> torch.Tensor:
        return x


def test_bundled_inputs():
    """torch.utils.bundled_inputs makes types of types, adds attributes and methods, and clones modules."""
    import torch.utils.bundled_inputs as bundled

    inputs = [(torch.arange(3.0), 1), (torch.zeros(4000, 3), 2)]
    with cresset.patch_torch_jit(trusted=True):
        scripted = torch.jit.script(Scaled())
        copy = bundled.bundle_inputs(scripted, inputs)
        assert isinstance(copy, cresset.ScriptModule) and not hasattr(scripted, "get_all_bundled_inputs")
        bundled.augment_model_with_bundled_inputs(scripted, inputs)
        file = io.BytesIO()
        scripted.save(file)
        file.seek(0)
        for module in (scripted, copy, torch.jit.load(file)):
            found = module.get_all_bundled_inputs()
            assert module.get_num_bundled_inputs() == 2
            for (x, n), (y, m) in zip(inputs, found, strict=True):
                assert torch.equal(x, y) and n == m
                assert torch.equal(module(y, m), x * 2 + n)


def test_clones_without_methods():
    with cresset.patch_torch_jit():
        scripted = torch.jit.script(Scaled())
        clone = torch._C._hack_do_not_use_clone_module_with_class(scripted._c, ["left_out"], [])
        copy = torch.jit._recursive.wrap_cpp_module(clone)
        assert hasattr(scripted, "left_out") and not hasattr(copy, "left_out")
        with torch.no_grad():
            copy.scale.zero_()
        assert torch.equal(scripted(torch.ones(3), 1), torch.full((3,), 3.0))
        assert torch.equal(copy(torch.ones(3), 1), torch.ones(3))


def test_types_of_types():
    with cresset.patch_torch_jit():
        ours = torch.jit.script(Scaled()).forward.schema.arguments[1].type
        made = torch._C.ListType(torch._C.TupleType([ours, torch._C.IntType.get()]))
        assert isinstance(made, torch._C.ListType) and not isinstance(made, torch._C.TupleType)
        assert made == cresset.parse_type("List[Tuple[Tensor, int]]")
        assert (
            str(torch._C.DictType(torch._C.StringType.get(), torch._C.OptionalType(ours)))
            == "Dict[str, Optional[Tensor]]"
        )
        with pytest.raises(TypeError, match="can't be made of 2 types"):
            torch._C.OptionalType(ours, ours)
        theirs = torch._C.ListType(torch._C.IntType.get())
        assert isinstance(theirs, torch._C.ListType) and isinstance(theirs, torch._C.Type)
    assert isinstance(theirs, torch._C.ListType) and theirs.annotation_str == "List[int]"


def test_throughput_benchmark():
    from torch.utils import ThroughputBenchmark

    with cresset.patch_torch_jit():
        bench = ThroughputBenchmark(torch.jit.script(Scaled()))
        bench.add_input(torch.ones(3), 1)
        assert torch.equal(bench.run_once(torch.ones(3), n=2), torch.full((3,), 4.0))
        assert bench.benchmark(num_calling_threads=2, num_warmup_iters=2, num_iters=8).num_iters == 8


class Nested(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
        self.b = torch.nn.Linear(4, 2)

    def forward(self, x):
        return self.b(self.a(x)).softmax(-1)


def scopes(graph):
    return [(node.kind(), node.scopeName()) for node in graph.nodes() if node.kind().startswith("aten::")]


def test_scopes_of_a_trace():
    """What torch.utils.tensorboard shows of a traced module is by these names."""
    found = []
    for _ in range(2):
        traced = torch.jit.trace(Nested(), torch.ones(2, 3))
        graph = traced.graph
        torch._C._jit_pass_inline(graph)
        found.append((scopes(traced.inlined_graph), scopes(graph), traced._name, traced.a._name))
        if len(found) == 1:
            patch = cresset.patch_torch_jit()
    patch.undo()
    assert found[0] == found[1]


def test_scopes_that_hooks_push():
    """fvcore names the modules that operators stand in so."""

    def graph_with_scopes():
        model = Nested()
        for name, module in model.named_modules():

            def push(module, inputs, name=name):
                state = torch._C._get_tracing_state()
                if state:
                    state.push_scope(name)

            def pop(module, inputs, outputs):
                state = torch._C._get_tracing_state()
                if state:
                    state.pop_scope()

            module.register_forward_pre_hook(push)
            module.register_forward_hook(pop)
        graph, _ = torch.jit._get_trace_graph(model, torch.ones(2, 3))
        model(torch.ones(2, 3))
        return [(kind, name.rpartition("/")[2]) for kind, name in scopes(graph)]

    expected = graph_with_scopes()
    with cresset.patch_torch_jit():
        assert (
            graph_with_scopes()
            == expected
            == [
                ("aten::linear", "a.0"),
                ("aten::relu", "a.1"),
                ("aten::linear", "b"),
                ("aten::softmax", ""),
            ]
        )


def test_names_that_were_forgotten_stay_the_new_program_s():
    with cresset.patch_torch_jit():
        for _ in range(3):
            scripted = torch.jit.script(Nested().eval())
            torch._C._jit_clear_class_registry()
            again = torch.jit.script(Nested().eval())
            del scripted  # its program's names are another's by now
            for module in (
                again,
                torch.jit.freeze(again),
                torch.jit.script(Nested()),
                torch.jit.trace(Nested(), torch.ones(2, 3)),
            ):
                assert module(torch.ones(2, 3)).shape == (2, 2)


def test_single_operators_are_differentiable_subgraphs_when_asked_for():
    def kinds():
        @torch.jit.script
        def function(x):
            return torch.tanh(x)

        x = torch.randn(4, requires_grad=True)
        for _ in range(3):
            result = function(x)
        (gradient,) = torch.autograd.grad(result.sum(), x)
        (expected,) = torch.autograd.grad(torch.tanh(x).sum(), x)
        assert torch.equal(gradient, expected)
        nodes = function.graph_for(x).findAllNodes("prim::DifferentiableGraph")
        return [[inner.kind() for inner in node.g("Subgraph").nodes()] for node in nodes]

    with cresset.patch_torch_jit(), cresset.options.override(plans="always", differentiable_nodes=2):
        assert kinds() == []
        torch._C._debug_set_autodiff_subgraph_inlining(False)
        try:
            assert kinds() == [["aten::tanh"]]
        finally:
            torch._C._debug_set_autodiff_subgraph_inlining(True)
        assert kinds() == []


def test_everything_is_inlined_when_asked_for():
    def part(x):
        return torch.relu(x)

    def whole(x):
        return part(x) + part(x)

    class M(torch.nn.Module):
        def forward(self, x):
            return part(x)

    before = torch._C._jit_get_inline_everything_mode()
    with cresset.patch_torch_jit():
        torch._C._jit_set_inline_everything_mode(True)
        try:
            f, m = torch.jit.script(whole), torch.jit.script(M())
        finally:
            torch._C._jit_set_inline_everything_mode(before)
    for graph in f.graph, m.graph:
        assert "aten::relu" in str(graph) and "prim::Call" not in str(graph)
    assert torch.equal(f(-torch.ones(2)), torch.zeros(2)) and torch.equal(m(torch.ones(2)), torch.ones(2))


def test_classes_of_graphs():
    with cresset.patch_torch_jit():
        graph = torch.jit.script(one_more).graph
        node = next(iter(graph.nodes()))
        assert isinstance(graph, torch._C.Graph) and isinstance(node, torch._C.Node)
        assert isinstance(node.output(), torch._C.Value) and isinstance(graph.block(), torch._C.Block)


def one_more(x):
    return x + 1


class _Exported(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = torch.nn.Linear(3, 3)
        self.part = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
        self.register_buffer("steps", torch.zeros(1))
        self.scale = 2.5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.steps = self.steps + 1
        if x.sum() > 0:
            y = self.part(x) * self.scale
        else:
            y = self.linear(x)
        for i in range(1, 6, 2):
            y = y + self.linear(y) * i
        return y + self.steps + torch.full([3], float("inf")).isinf()


@pytest.mark.filterwarnings("ignore")
def test_scripts_become_exported_programs():
    """torch.export's converter reads graphs, by torch._C's functions over them."""
    from torch._export.converter import TS2EPConverter

    def grow(x: torch.Tensor, factor: int):
        return x * factor + 1

    inputs = torch.ones(2, 3), -torch.ones(2, 3)
    with cresset.patch_torch_jit():
        converted = TS2EPConverter(torch.jit.script(_Exported()), (inputs[0],)).convert()
        traced = TS2EPConverter(torch.jit.trace(torch.nn.Linear(3, 2), inputs[0]), (inputs[0],)).convert()
        function = TS2EPConverter(torch.jit.script(grow), (inputs[0], 3)).convert()
    assert sorted(converted.state_dict) == sorted(_Exported().state_dict())
    module, eager = converted.module(), _Exported()
    for x in inputs:
        torch.testing.assert_close(module(x), eager(x))
    assert module(inputs[0]).requires_grad
    assert sorted(traced.state_dict) == ["bias", "weight"]
    assert torch.equal(function.module()(inputs[0], 3), inputs[0] * 3 + 1)


def test_static_modules_by_torchs_names():
    def f(x: torch.Tensor, *, y: torch.Tensor):
        return torch.relu(x) + y

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 3)

        def forward(self, x: torch.Tensor):
            return self.linear(x).relu()

    x = torch.arange(3.0)
    with cresset.patch_torch_jit():
        function = torch._C._jit_to_static_module(torch.jit.script(f).graph)
        layer = Layer()
        module = torch._C._jit_to_static_module(torch.jit.script(layer)._c)
        with torch.no_grad():
            assert torch.equal(function(x, x), f(x, y=x))
            assert torch.allclose(module(x), layer(x))
            assert torch.allclose(module.runAsync([x], {}).wait(), layer(x))
            assert module.benchmark([x], {}, 1, 2) > 0
            ops = module.benchmark_individual_ops([], {"x": x}, 1, 2)
    assert ops.time_per_node_type


@pytest.mark.filterwarnings("ignore")
def test_torch_compile_looks_through():
    """Dynamo inlines scripted functions, and goes through nn.Module's call inside of torch.cond."""

    def helper(x: torch.Tensor):
        return x * 2 + 1

    layer = torch.nn.Linear(3, 3)
    x = torch.ones(2, 3)
    torch.compile(lambda x: layer(x) + 1, backend="eager")(x)  # also after its first use
    with cresset.patch_torch_jit():
        scripted, traced = torch.jit.script(helper), torch.jit.trace(helper, x)
        compiled = torch.compile(lambda x: scripted(x) - traced(x + 1), backend="eager", fullgraph=True)
        assert torch.equal(compiled(x), helper(x) - helper(x + 1))

        def branches(x):
            with torch.no_grad():
                chosen = torch.cond(
                    x.sum() > 0, lambda x: torch.nn.Module.__call__(layer, x), lambda x: x.clone(), (x,)
                )
            return chosen if torch._C._get_tracing_state() is None else x

        branching = torch.compile(branches, backend="eager", fullgraph=True)
        assert torch.equal(branching(-x), -x)
        assert torch.allclose(branching(x), layer(x))
    torch._dynamo.reset()
