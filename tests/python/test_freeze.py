"""cresset.freeze: constants for attributes, what stays, errors, numerics; compared with torch.jit.freeze."""

import copy
import io
from typing import List, Optional, Tuple

import model_programs
import pytest
import torch

import cresset


class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.count = 4
        self.sizes = [1, 2]
        self.pair = (1, 2.5)

    def forward(self, x):
        return self.linear(x) + self.count + len(self.sizes) + self.sizes[1] + self.pair[1]


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.weight = torch.nn.Parameter(torch.ones(3))
        self.register_buffer("shift", torch.arange(3.0))
        self.scale = 2.0
        self.name = "outer"
        self.unused = torch.ones(2)

    def forward(self, x):
        if self.training:
            self.shift.add_(1)
        return self.inner(x) * self.weight + self.shift * self.scale

    @torch.jit.export
    def other(self, x):
        return x * self.scale


class Counting(torch.nn.Module):
    """State that a method changes, in its own attribute and in a list."""

    def __init__(self):
        super().__init__()
        self.count = 0
        self.seen = torch.jit.Attribute([], List[int])
        self.total = torch.zeros(2)
        self.fixed = torch.ones(2)

    def forward(self, x):
        self.count += 1
        self.seen.append(self.count)
        self.total += x.sum()
        return x * self.fixed + self.count + len(self.seen) + self.total


def compile_both(make):
    torch.manual_seed(0)
    module = make().eval()
    return cresset.script(module), torch.jit.script(copy.deepcopy(module))


def saved_and_loaded(module):
    """The module as both engines load it."""
    buffer = io.BytesIO()
    cresset.save(module, buffer)
    return cresset.load(io.BytesIO(buffer.getvalue()), trusted=True), torch.jit.load(io.BytesIO(buffer.getvalue()))


def test_everything_folds():
    mine, theirs = compile_both(Outer)
    frozen = cresset.freeze(mine, optimize_numerics=False)
    oracle = torch.jit.freeze(theirs, optimize_numerics=False)
    x = torch.randn(2, 3)
    assert torch.equal(frozen(x), mine(x))
    assert torch.equal(frozen(x), oracle(x))
    graph = str(frozen.graph)
    assert "GetAttr" not in graph and "CallMethod" not in graph and "prim::If" not in graph
    assert not list(frozen.parameters()) and not list(frozen.buffers()) and not list(frozen.children())
    for name in ("inner", "weight", "scale", "name", "unused", "other"):
        assert not hasattr(frozen, name) and not hasattr(oracle, name), name
    # torch.jit looks for writes before it has dropped what runs in training only.
    assert not hasattr(frozen, "shift") and hasattr(oracle, "shift")
    assert not frozen(x).requires_grad
    for again in saved_and_loaded(frozen):
        assert torch.equal(again(x), frozen(x))


def test_the_module_itself_does_not_change():
    mine, _ = compile_both(Outer)
    before = str(mine.graph)
    frozen = cresset.freeze(mine, optimize_numerics=False)
    assert str(mine.graph) == before
    assert len(list(mine.parameters())) == 3 and mine.weight.requires_grad
    x = torch.randn(2, 3)
    with torch.no_grad():
        mine.weight.add_(1)  # the constants are the module's tensors
    assert torch.equal(frozen(x), mine(x))


def test_preserved_attributes_stay_attributes():
    mine, theirs = compile_both(Outer)
    keep = ["scale", "weight", "other", "inner.count"]
    frozen = cresset.freeze(mine, preserved_attrs=keep, optimize_numerics=False)
    oracle = torch.jit.freeze(theirs, preserved_attrs=keep, optimize_numerics=False)
    x = torch.randn(2, 3)
    for module in (frozen, oracle):
        assert module.scale == 2.0 and torch.equal(module.weight, torch.ones(3)) and module.inner.count == 4
        for name in ("name", "unused"):
            assert not hasattr(module, name)
        assert not hasattr(module.inner, "linear")
        module.scale, module.inner.count = 3.0, 5
    assert torch.equal(frozen(x), oracle(x))
    assert torch.equal(frozen.other(x), x * 3.0)
    for again in saved_and_loaded(frozen):
        assert torch.equal(again(x), frozen(x)) and again.scale == 3.0
        assert torch.equal(again.other(x), x * 3.0)


def test_a_preserved_submodule_stays_whole():
    mine, _ = compile_both(Outer)
    frozen = cresset.freeze(mine, preserved_attrs=["inner"], optimize_numerics=False)
    x = torch.randn(2, 3)
    assert torch.equal(frozen(x), mine(x))
    assert torch.equal(frozen.inner(x), mine.inner(x))
    assert frozen.inner.count == 4 and frozen.inner.linear.weight.shape == (3, 3)


def test_what_methods_write_to_stays():
    mine, theirs = compile_both(Counting)
    frozen = cresset.freeze(mine)
    x = torch.randn(2)
    for _ in range(3):
        assert torch.equal(frozen(x), theirs(x))
    assert frozen.count == 3 and frozen.seen == [1, 2, 3] and torch.equal(frozen.total, theirs.total)
    for again in saved_and_loaded(frozen):
        theirs_now = again(x)
        assert again.count == 4 and theirs_now is not None


def test_what_shares_memory_with_what_stays_stays():
    class Shared(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.whole = torch.arange(4.0)
            self.part = self.whole[1:3]
            self.alone = torch.ones(2)

        def forward(self, x):
            self.whole.add_(1)
            return self.part + self.alone + x

    mine, _ = compile_both(Shared)
    frozen = cresset.freeze(mine)
    assert torch.equal(frozen(torch.zeros(2)), torch.tensor([3.0, 4.0]))
    for again in saved_and_loaded(frozen):
        assert torch.equal(again(torch.zeros(2)), torch.tensor([4.0, 5.0]))
        assert hasattr(again, "part") and hasattr(again, "whole")


def test_classes_are_shared():
    """Two modules of one class: what one writes keeps no value of the other, and none is mixed up."""

    class Two(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = Inner(), Inner()
            self.b.count = 7

        def forward(self, x):
            self.a.count += 1
            return self.a(x) - self.b(x)

    mine, theirs = compile_both(Two)
    frozen = cresset.freeze(mine, optimize_numerics=False)
    x = torch.randn(2, 3)
    for _ in range(2):
        assert torch.equal(frozen(x), theirs(x))
    assert frozen.a.count == 6 and not hasattr(frozen, "b") and not hasattr(frozen.a, "linear")


@torch.jit.interface
class Applies(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass


@cresset.interface
class AppliesHere(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass


class Doubles(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.by = 2

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.by


class ThroughInterface(torch.nn.Module):
    inner: AppliesHere

    def __init__(self):
        super().__init__()
        self.inner = Doubles()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner.forward(x)


def test_calls_through_interfaces_are_inlined():
    mine = cresset.script(ThroughInterface().eval())
    frozen = cresset.freeze(mine)
    assert "CallMethod" not in str(frozen.graph) and "GetAttr" not in str(frozen.graph)
    assert torch.equal(frozen(torch.ones(2)), torch.full((2,), 2.0))


class Counts(torch.nn.Module):
    count: int

    def __init__(self, count):
        super().__init__()
        self.count = count

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count += 1
        return x * self.count


class Collects(torch.nn.Module):
    found: List[torch.Tensor]

    def __init__(self):
        super().__init__()
        self.found = [torch.ones(2)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.found[0] = self.found[0] + x
        return self.found[0] * 2


class ThroughStates(torch.nn.Module):
    inner: AppliesHere

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner.forward(x) + 1


class ThroughAssigned(torch.nn.Module):
    inner: AppliesHere

    def __init__(self):
        super().__init__()
        self.inner, self.other = Counts(3), Collects()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.inner.forward(x)
        self.inner = self.other
        return self.inner.forward(y)


@cresset.interface
class Multiplies:
    def times(self, x: torch.Tensor) -> torch.Tensor:
        pass


class Multiplier:
    def __init__(self, by: int):
        self.by = by

    def times(self, x: torch.Tensor) -> torch.Tensor:
        self.by += 1
        return x * self.by


class ThroughClass(torch.nn.Module):
    inner: Multiplies

    def __init__(self):
        super().__init__()
        self.inner = Multiplier(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner.times(x)


INTERFACES = {
    "class": ThroughClass,
    "one": lambda: ThroughStates(Counts(2)),
    "two_classes": lambda: torch.nn.Sequential(ThroughStates(Counts(3)), ThroughStates(Collects())),
    "two_objects": lambda: torch.nn.Sequential(ThroughStates(Counts(3)), ThroughStates(Counts(5))),
    "assigned": ThroughAssigned,
}


@pytest.mark.parametrize("name", INTERFACES)
def test_modules_behind_interfaces_that_stay(name, tmp_path):
    """Their attributes have the type that the code believes them to have: in archives and for the verifier, too."""
    module, x = INTERFACES[name]().eval(), torch.ones(2)
    expected = [module(x) for _ in range(3)]

    def frozen():
        return cresset.freeze(cresset.script(INTERFACES[name]().eval()))

    def saved(load):
        frozen().save(str(tmp_path / "frozen.pt"))
        return load(str(tmp_path / "frozen.pt"))

    assert ("CallMethod" in str(frozen().graph)) == (name in ("two_classes", "assigned"))
    static = cresset.static_module(cresset.script(INTERFACES[name]().eval()))
    for run in (frozen(), static, saved(cresset.load), saved(torch.jit.load)):
        assert all(torch.equal(run(x), result) for result in expected)


def test_lists_that_are_handed_out_are_new():
    class Lists(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.given = [1, 2]
            self.read = [3, 4]
            self.maybe: Optional[int] = None

        def forward(self, i: int):
            if self.maybe is not None:
                return self.given, 0
            return self.given, self.read[i]

    mine, _ = compile_both(Lists)
    frozen = cresset.freeze(mine)
    given, element = frozen(1)
    assert element == 4 and given == [1, 2]
    given.append(3)
    assert frozen(1)[0] == [1, 2] and mine(1)[0] == [1, 2]
    assert not hasattr(frozen, "read") and not hasattr(frozen, "given") and "prim::If" not in str(frozen.graph)


def test_a_long_list_stays():
    """Each call would put it together anew."""

    class Words(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = [str(i) for i in range(1000)]
            self.few = [str(i) for i in range(10)]

        def forward(self, i: int):
            return self.words[i] + self.few[i]

    mine, _ = compile_both(Words)
    frozen = cresset.freeze(mine)
    assert frozen(3) == "33" and hasattr(frozen, "words") and not hasattr(frozen, "few")


def test_a_module_in_training_mode():
    """Its parameters stay parameters, and what they are not is folded."""

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 3)
            self.dropout = torch.nn.Dropout(0.5)
            self.by = 2.0

        def forward(self, x):
            return self.dropout(self.linear(x)) * self.by

    x = torch.randn(2, 3)
    mine, theirs = cresset.script(Net()), torch.jit.script(Net())
    frozen, expected = cresset._C._freeze_module(mine, [], False), torch._C._freeze_module(theirs._c)
    for name in ("linear", "dropout", "by", "training"):
        assert frozen._c.hasattr(name) == expected.hasattr(name), name
    assert frozen.dropout.training and not frozen.linear._c.hasattr("training")
    frozen(x).sum().backward()
    assert mine.linear.weight.grad is not None
    mine.eval()
    frozen, expected = (
        cresset._C._freeze_module(mine, [], True),
        torch._C._freeze_module(theirs.eval()._c, [], True, True),
    )
    for name in ("linear", "dropout", "by", "training"):
        assert frozen._c.hasattr(name) == expected.hasattr(name), name
    assert torch.equal(frozen(x), mine(x))


def test_errors():
    with pytest.raises(RuntimeError, match="Freezing expects a ScriptModule as input"):
        cresset.freeze(torch.nn.Linear(2, 2).eval())
    training = cresset.script(torch.nn.Linear(2, 2))
    with pytest.raises(RuntimeError, match="Freezing is currently only implemented for modules in eval mode"):
        cresset.freeze(training)
    with pytest.raises(RuntimeError, match="Unknown name: nope"):
        cresset.freeze(training.eval(), preserved_attrs=["nope"])

    class ReturnsItself(torch.nn.Module):
        def forward(self, x):
            return x, self

    with pytest.raises(RuntimeError, match="attempted to freeze a module that return"):
        cresset.freeze(cresset.script(ReturnsItself().eval()))


def ten_times(self, inputs: Tuple[torch.Tensor], output: torch.Tensor):
    return output * 10


def test_hooks():
    """Those of submodules are inlined; those of what is called from outside would be lost, as by torch.jit."""

    class Calls(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Doubles()
            self.inner.register_forward_hook(ten_times)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x)

    module, x = Calls().eval(), torch.ones(2)
    assert torch.equal(cresset.freeze(cresset.script(module))(x), x * 20)
    with pytest.raises(RuntimeError, match="has forward hooks, which freezing would lose"):
        cresset.freeze(cresset.script(module), preserved_attrs=["inner"])
    module.register_forward_hook(ten_times)
    with pytest.raises(RuntimeError, match="has forward hooks, which freezing would lose"):
        cresset.freeze(cresset.script(module))
    assert torch.equal(torch.jit.freeze(torch.jit.script(module))(x), x * 20)  # and not 200


@pytest.mark.parametrize("between", [torch.nn.ReLU(), torch.nn.Identity()])
def test_gradients_through_constants(between):
    """Constant weights stand between the nodes that become a region."""
    module = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), between, torch.nn.Conv2d(3, 2, 1)).eval()
    frozen = cresset.freeze(cresset.script(module))
    gradients = []
    for run in (module, frozen, frozen):
        x = torch.ones(1, 2, 6, 6, requires_grad=True)
        gradients.append(torch.autograd.grad(run(x).square().sum(), x)[0])
    assert all(torch.equal(gradient, gradients[0]) for gradient in gradients)
    assert "error of the optimizer" not in str(cresset.explain(frozen.forward))
    assert "prim::DifferentiableGraph" in str(frozen.forward.graph_for(x))


def test_optimize_for_inference():
    mine = cresset.script(torch.nn.Linear(3, 2))
    better = cresset.optimize_for_inference(mine)
    assert not mine.training and not list(better.parameters())
    x = torch.randn(4, 3)
    assert torch.equal(better(x), mine(x))
    assert cresset.optimize_for_inference(better) is better
    outer = cresset.script(Outer())
    assert torch.equal(cresset.optimize_for_inference(outer, other_methods=["other"]).other(x), outer.other(x))


def test_run_frozen_optimizations():
    module = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 1), torch.nn.BatchNorm2d(3)).eval()
    frozen = cresset.freeze(cresset.script(module), optimize_numerics=False)
    assert "batch_norm" in str(frozen.graph)
    cresset.run_frozen_optimizations(frozen)
    assert "batch_norm" not in str(frozen.graph)
    x = torch.randn(1, 2, 4, 4)
    torch.testing.assert_close(frozen(x), module(x))
    with pytest.raises(RuntimeError, match="has been compiled"):
        cresset.run_frozen_optimizations(frozen)


def trained(module):
    """With statistics and weights that change something."""
    torch.manual_seed(1)
    for part in module.modules():
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm):
            part.running_mean.normal_()
            part.running_var.uniform_(0.5, 2)
            if part.affine:
                torch.nn.init.normal_(part.weight)
                torch.nn.init.normal_(part.bias)
    return module.eval()


FOLDED = [
    (torch.nn.Sequential(torch.nn.Conv1d(3, 5, 2), torch.nn.BatchNorm1d(5)), [(2, 3, 7)]),
    (torch.nn.Sequential(torch.nn.Conv2d(4, 6, 3, groups=2, bias=False), torch.nn.BatchNorm2d(6)), [(2, 4, 7, 7)]),
    (
        torch.nn.Sequential(torch.nn.Conv2d(4, 6, 3, padding="same"), torch.nn.BatchNorm2d(6, affine=False)),
        [(1, 4, 5, 5)],
    ),
    (torch.nn.Sequential(torch.nn.Conv3d(2, 3, 2, stride=2), torch.nn.BatchNorm3d(3)), [(1, 2, 4, 4, 4)]),
    # Of three dimensions, the second are the channels, of which there happen to be as many.
    (torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)), [(5, 3), (2, 4, 3)]),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("index", range(len(FOLDED)))
def test_batch_norms_fold(index, dtype):
    module, sizes = FOLDED[index]
    module = trained(module).to(dtype)
    mine = cresset.script(module)
    exact, folded = cresset.freeze(mine, optimize_numerics=False), cresset.freeze(mine)
    for size in sizes:
        x = torch.randn(size, dtype=dtype)
        assert torch.equal(exact(x), module(x))
        torch.testing.assert_close(folded(x), module(x), atol=1e-5 if dtype == torch.float32 else 1e-12, rtol=1e-5)
    if index != 0 and index != 4:  # there the rank decides
        assert "batch_norm" not in str(folded.graph)
    with pytest.raises(RuntimeError) as wanted:
        exact(torch.randn(1, dtype=dtype))
    with pytest.raises(RuntimeError) as got:
        folded(torch.randn(1, dtype=dtype))
    assert str(got.value).splitlines()[-1] == str(wanted.value).splitlines()[-1]
    for again in saved_and_loaded(folded):
        assert torch.equal(again(x), folded(x))


@pytest.mark.parametrize("index", range(len(FOLDED)))
def test_batch_norms_of_traces_fold(index):
    """Traces check no rank, so both ways are there, and the rank chooses."""
    module, sizes = FOLDED[index]
    module = trained(module).to(torch.float32)
    folded = cresset.freeze(cresset.trace(module, torch.randn(sizes[0])))
    layers = [line for line in str(folded.graph).splitlines() if "aten::conv" in line or "aten::linear" in line]
    assert len(layers) == 2, folded.graph
    for size in sizes * 3:
        x = torch.randn(size)
        torch.testing.assert_close(folded(x), module(x), atol=1e-5, rtol=1e-5)


def test_batch_norm_of_another_rank():
    """torch.jit folds along the last dimension, whatever the rank."""
    module = trained(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)))
    x = torch.randn(2, 4, 3)
    torch.testing.assert_close(cresset.freeze(cresset.script(module))(x), module(x))
    assert not torch.allclose(torch.jit.freeze(torch.jit.script(module))(x), module(x))


class Arithmetic(torch.nn.Module):
    def __init__(self, layer, shape):
        super().__init__()
        self.layer = layer
        self.register_buffer("a", torch.rand(shape) + 0.5)
        self.register_buffer("b", torch.rand(shape) + 0.5)

    def forward(self, x):
        y = self.layer(x) * self.a + self.b
        y = torch.sub(y, self.b, alpha=3) / self.a
        return y * 2 + 1.5


@pytest.mark.parametrize(
    "layer, shape, size, folds",
    [
        (torch.nn.Conv2d(2, 3, 1), (3, 1, 1), (1, 2, 4, 4), True),
        (torch.nn.Conv2d(2, 3, 1, bias=False), (1,), (1, 2, 4, 4), True),
        (torch.nn.Linear(3, 4), (4,), (5, 3), True),
        (torch.nn.Linear(3, 4, bias=False), (1, 4), (3,), False),  # would have one dimension more
        (torch.nn.Conv2d(2, 4, 1), (4,), (1, 2, 4, 4), False),  # along the width
    ],
)
def test_arithmetic_folds(layer, shape, size, folds):
    module = Arithmetic(layer, shape).eval()
    frozen = cresset.freeze(cresset.script(module))
    x = torch.randn(size)
    torch.testing.assert_close(frozen(x), module(x))
    assert frozen(x).shape == module(x).shape
    assert ("aten::mul" not in str(frozen.graph)) == folds


@pytest.mark.parametrize(
    "layer, shape, sizes",
    [
        (torch.nn.Conv1d(2, 3, 1), (1, 3, 1), [(4, 2, 5), (2, 5)]),
        (torch.nn.Conv2d(2, 3, 1, bias=False), (1, 3, 1, 1), [(1, 2, 4, 4), (2, 4, 4)]),
        (torch.nn.Conv2d(2, 3, 1), (1, 1, 1, 1), [(1, 2, 4, 4), (2, 4, 4)]),
        (torch.nn.Linear(3, 4), (1, 4), [(5, 3), (3,), (2, 5, 3)]),
    ],
)
def test_arithmetic_with_a_batch_folds_where_there_is_one(layer, shape, sizes):
    """Elsewhere it adds a dimension: both ways are there, and the rank chooses."""
    module = Arithmetic(layer, shape).eval()
    frozen = cresset.freeze(cresset.script(module))
    folded = [block for node in frozen.graph.nodes() if node.kind() == "prim::If" for block in node.blocks()]
    assert len(folded) >= 4 and "aten::mul" not in str(folded[0]), frozen.graph
    for size in sizes * 3:
        x = torch.randn(size)
        torch.testing.assert_close(frozen(x), module(x))
        assert frozen(x).shape == module(x).shape


def test_a_result_that_is_used_twice_does_not_fold():
    class Twice(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 2)

        def forward(self, x):
            y = self.layer(x)
            return y * 2 + y

    module = Twice().eval()
    frozen = cresset.freeze(cresset.script(module))
    x = torch.randn(3, 2)
    assert torch.equal(frozen(x), module(x))


def test_traced_modules_freeze():
    module = trained(torch.nn.Sequential(torch.nn.Conv2d(2, 3, 1), torch.nn.BatchNorm2d(3), torch.nn.ReLU()))
    x = torch.randn(1, 2, 4, 4)
    frozen = cresset.freeze(cresset.trace(module, x))
    torch.testing.assert_close(frozen(x), module(x))
    assert not list(frozen.parameters())


@pytest.mark.parametrize("name", model_programs.PROGRAMS)
def test_models(name):
    torch.manual_seed(0)
    module, inputs = model_programs.PROGRAMS[name]()
    scripted = cresset.script(trained(module))
    with torch.no_grad():  # torch's transformer layers compute in another way where a gradient may be wanted
        wanted = scripted(*inputs)
    exact, folded = cresset.freeze(scripted, optimize_numerics=False), cresset.freeze(scripted)
    for frozen in (exact, folded):
        assert "GetAttr" not in str(frozen.graph) and "CallMethod" not in str(frozen.graph)
        assert not list(frozen.named_parameters()) and not list(frozen.named_buffers())
    assert torch.equal(exact(*inputs), wanted)
    torch.testing.assert_close(folded(*inputs), wanted, rtol=1e-4, atol=1e-4)
    if name == "ResNet-18":
        assert "batch_norm" not in str(folded.graph)
    for again in saved_and_loaded(folded):
        assert torch.equal(again(*inputs), folded(*inputs))


@pytest.mark.skipif(not model_programs.silero(), reason="the archive is not there")
def test_silero():
    mine, theirs = (load(model_programs.silero()) for load in (cresset.load, torch.jit.load))
    mine.eval()
    frozen = cresset.freeze(mine, preserved_attrs=["reset_states"])
    torch.manual_seed(0)
    for _ in range(4):
        x = torch.randn(1, 512)
        torch.testing.assert_close(frozen(x, 16000), theirs(x, 16000))
    frozen.reset_states()
    theirs.reset_states()
    torch.testing.assert_close(frozen(x, 16000), theirs(x, 16000))


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((2,), 3.0))
        self.offset = torch.ones(2)
        self.calls = 0

    @torch.jit.export
    def encode(self, x):
        return x * self.weight + self.offset

    @torch.jit.export
    def count(self, x):
        self.calls += 1
        return x * self.weight + self.calls

    def forward(self, x):
        return self.encode(x) + self.calls


class OfEncoders(torch.nn.Module):
    def __init__(self, second=False):
        super().__init__()
        self.encoder = Encoder()
        self.more = Encoder() if second else torch.nn.Identity()

    def forward(self, x):
        return self.more(self.encoder(x))


@pytest.mark.parametrize("method", ["encoder.encode", "encoder.count", "encoder.forward"])
@pytest.mark.parametrize("second", [False, True])
def test_methods_of_submodules_stay(method, second):
    """torch.jit refuses those that read an attribute which it takes away, and lets the objects of a class share the
    constants of one."""
    x = torch.ones(2)
    name = method.partition(".")[2]

    def results(frozen):
        return [getattr(frozen.encoder, name)(x), frozen(x), getattr(frozen.encoder, name)(x), frozen(x)]

    module = OfEncoders(second).eval()
    if second:
        torch.nn.init.constant_(module.more.weight, 7.0)
    frozen = cresset.freeze(cresset.script(module), preserved_attrs=[method])
    assert all(torch.equal(a, b) for a, b in zip(results(module), results(frozen)))


class Doubling(torch.nn.Module):
    @torch.jit.export
    def twice(self, x):
        return x * 2

    def forward(self, x):
        return x


class WithDoubling(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.sub = Doubling()

    def forward(self, x):
        return self.sub(x) + self.sub.twice(x)


def test_methods_of_submodules_stay_as_in_torchjit():
    for jit in (torch.jit, cresset):
        frozen = jit.freeze(jit.script(WithDoubling().eval()), ["sub.twice"])
        assert torch.equal(frozen.sub.twice(torch.ones(1)), torch.tensor([2.0]))
        assert torch.equal(frozen(torch.ones(1)), torch.tensor([3.0]))


def test_what_only_a_method_of_a_submodule_needs_is_constant():
    frozen = cresset.freeze(cresset.script(OfEncoders().eval()), preserved_attrs=["encoder.encode"])
    assert not hasattr(frozen.encoder, "weight") and hasattr(frozen, "encoder") and not hasattr(frozen, "more")
    buffer = io.BytesIO()
    frozen.save(buffer)
    for jit in (torch.jit, cresset):
        loaded = jit.load(io.BytesIO(buffer.getvalue()))
        assert torch.equal(loaded.encoder.encode(torch.ones(2)), torch.full((2,), 4.0))


class NoForward(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 2.0

    @torch.jit.export
    def twice(self, x):
        return x * self.scale

    @torch.jit.export
    def other(self, x):
        return x


def test_modules_without_forward():
    for jit in (torch.jit, cresset):
        frozen = jit.freeze(jit.script(NoForward().eval()), preserved_attrs=["twice"])
        assert torch.equal(frozen.twice(torch.ones(1)), torch.tensor([2.0]))
        assert not hasattr(frozen, "other") and not hasattr(frozen, "scale")
        inferred = jit.optimize_for_inference(jit.script(NoForward().eval()), other_methods=["twice"])
        assert torch.equal(inferred.twice(torch.ones(1)), torch.tensor([2.0]))


class Forks(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.weight = torch.full((2,), 2.0)
        self.total = torch.zeros(2)

    @torch.jit.export
    def scaled(self, x):
        return x * self.weight

    @torch.jit.export
    def inner_fork(self, x):
        future = torch.jit.fork(self.encoder, x)
        self.total += 1
        return torch.jit.wait(future) + self.total

    def forward(self, x):
        first = torch.jit.fork(self.scaled, x)
        second = torch.jit.fork(self.inner_fork, x)
        return torch.jit.wait(first) + torch.jit.wait(second)


def test_what_is_forked_is_frozen_too():
    """torch.jit loses an attribute that a forked method writes to."""
    x = torch.ones(2)
    expected = Forks().eval()
    frozen = cresset.freeze(cresset.script(Forks().eval()))
    for _ in range(3):
        assert torch.equal(frozen(x), expected(x))
    assert not hasattr(frozen, "weight") and not hasattr(frozen, "encoder") and hasattr(frozen, "total")
    assert "prim::fork" in str(frozen.graph)
    buffer = io.BytesIO()
    frozen.save(buffer)
    loaded = torch.jit.load(io.BytesIO(buffer.getvalue()))
    assert torch.equal(loaded(x), expected(x))
