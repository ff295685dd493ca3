"""Classes derived from ScriptModule: what their __init__ may do before there is a script module, as torch.jit has it."""

import copy
import io

import pytest
import torch

import cresset


def classes(jit):
    """The same classes for either engine."""

    class Plain(jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.define("def forward(self, x):\n    return x + 1\n")

    class OfText(jit.ScriptModule):
        def __init__(self, i):
            super().__init__()
            self.define(f"def f(self, x):\n    return x + {i}\n")
            self.define("def forward(self, x):\n    return self.f(x) * 2\n")

    class Mixed(jit.ScriptModule):
        __constants__ = ["k"]

        def __init__(self, k=2):
            super().__init__()
            self.k = k
            self.n = jit.Attribute(3, int)
            self.weight = torch.nn.Parameter(torch.ones(2))
            self.register_buffer("seen", torch.zeros(1))
            self.layer = torch.nn.Linear(2, 2, bias=False)
            self.define("def forward(self, x):\n    return self.twice(x) * self.weight + self.k + self.n + self.seen\n")

        @jit.script_method
        def twice(self, x):
            return x * 2

    class Attributes(jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.x = 1
            self.y = self.x + 1
            self.layers = torch.nn.ModuleList([torch.nn.ReLU()])
            self.count = len(list(self.parameters())) + len(self.layers)
            self.x = 3
            del self.y
            self.has_y = hasattr(self, "y")

        @jit.script_method
        def forward(self, x):
            return x + self.x + self.count

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = Plain(), OfText(4)

        def forward(self, x):
            return self.a(x) + self.b(x)

    return Plain, OfText, Mixed, Attributes, Outer


PLAIN, OF_TEXT, MIXED, ATTRIBUTES, OUTER = range(5)


@pytest.mark.parametrize(
    "use",
    [
        lambda jit, c, x: c[PLAIN]()(x),
        lambda jit, c, x: c[OF_TEXT](1)(x),
        lambda jit, c, x: (c[MIXED]()(x), c[MIXED](5)(x), c[MIXED](5).twice(x)),
        lambda jit, c, x: {name: torch.tensor(value.shape) for name, value in c[MIXED]().state_dict().items()},
        lambda jit, c, x: (c[ATTRIBUTES]()(x), c[ATTRIBUTES]().has_y, c[ATTRIBUTES]().count),
        lambda jit, c, x: jit.script(c[OUTER]())(x),
        lambda jit, c, x: copy.deepcopy(c[MIXED]())(x),
        lambda jit, c, x: reloaded(jit, c[MIXED](7))(x),
    ],
)
def test_as_torch_jit(use):
    x = torch.arange(2.0)
    torch.testing.assert_close(use(cresset, classes(cresset), x), use(torch.jit, classes(torch.jit), x))


def reloaded(jit, module):
    buffer = io.BytesIO()
    jit.save(module, buffer)
    buffer.seek(0)
    return torch.jit.load(buffer)


def test_objects_of_one_class_with_different_texts():
    """torch.jit gives the second the first one's method."""
    of_text = classes(cresset)[OF_TEXT]
    x = torch.arange(2.0)
    first, second = of_text(1), of_text(2)
    assert first(x).tolist() == [2.0, 4.0] and second(x).tolist() == [4.0, 6.0]
    assert first.f(x).tolist() == [1.0, 2.0] and second.f(x).tolist() == [2.0, 3.0]


def test_definitions_see_what_comes_after_them():
    class C(cresset.ScriptModule):
        def __init__(self, scale: float):
            super().__init__()
            self.define(
                """
                def helper(self, x):
                    return x * self.weight

                def forward(self, x):
                    return torch.relu(self.helper(x)) * self.scale
                """
            )
            self.weight = torch.nn.Parameter(torch.full([2], -2.0))
            self.scale = scale

    module = C(3.0)
    x = torch.tensor([1.0, -1.0])
    assert module(x).tolist() == [0.0, 6.0] and module.helper(x).tolist() == [-2.0, 2.0]
    assert "def forward" in module.code
    module.define("def more(self, x):\n    return self.forward(x) + 1\n")
    assert module.more(x).tolist() == [1.0, 7.0]


def test_an_error_in_a_definition():
    class C(cresset.ScriptModule):
        def __init__(self):
            super().__init__()
            self.define("def forward(self, x):\n    return nothing(x)\n")

    with pytest.raises(cresset.CompileError, match="undefined value nothing"):
        C()


def test_overloads_of_a_class_that_is_defined_again():
    def first():
        class Redefined(torch.nn.Module):
            @torch.jit._overload_method
            def forward(self, x: int) -> int: ...

            @torch.jit._overload_method
            def forward(self, x: torch.Tensor) -> torch.Tensor: ...  # noqa: F811

            def forward(self, x):  # noqa: F811
                return x + 5

        return Redefined()

    def second():
        class Redefined(torch.nn.Module):
            def forward(self, x):
                return x + 15

        return Redefined()

    assert cresset.script(first())(1) == 6
    with pytest.raises(RuntimeError, match="Overloads are not useable when a module is redeclared"):
        cresset.script(second())
