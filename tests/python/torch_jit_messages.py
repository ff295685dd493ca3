"""More rows of torch_jit_behaviours.py: phrases that people look for in messages, and the text that is underlined."""

import io
import linecache
import re
import types
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union  # noqa: F401  (texts use them)

import torch
from torch import Tensor, nn
from torch_jit_behaviours import X, row, tries

import cresset

# ruff: noqa: UP006, UP007, UP035, E265, B006


def says(make, *phrases):
    """Which of the phrases, as regular expressions, the exception has."""
    try:
        make()
    except Exception as error:
        return [re.search(phrase, str(error)) is not None for phrase in phrases]
    return "nothing raised"


def underlined(make):
    """The texts that the exception underlines."""
    found = []
    try:
        make()
    except Exception as error:
        lines = str(error).split("\n")
        for above, line in zip(lines, lines[1:]):
            if "~ <--- HERE" in line:
                begin, end = line.index("~"), line.rindex("~") + 1
                found.append(above[begin:end])
    return found


#: Texts of functions `f`, and arguments if the error is one of the call.
UNDERLINED = [
    ("def f(x: List[int]):\n  del x[100]\n", [1]),
    ("def f(x: List[int]):\n  return x[100]\n", [1]),
    ("def f(x: Dict[str, int]):\n  return x['a']\n", {}),
    ("def f(x: Dict[str, int]):\n  x[3] = 2\n", None),
    ("def f(x: Tensor):\n  y = x.tolist()\n  return y\n", None),
    ("def f(x: Tuple[int, int]):\n  return x[3]\n", None),
    ("def f(x: Tensor):\n  return x[[4], :, :]\n", X),
]


@row("script")
def underlined_in_texts(J):
    def run(text, argument):
        f = J.CompilationUnit(text).f
        return f(argument)

    return [underlined(lambda text=text, x=x: run(text, x)) for text, x in UNDERLINED]


@row("script")
def underlined_in_functions(J):
    def deletes(x: List[int]):
        del x[100]

    def gets(x: List[int]):
        return x[100]

    def gets_entry(x: Dict[str, int]):
        return x["dne"]

    def sets_entry(x: Dict[str, int]):
        x[3] = 2

    arguments = [1], [1], {}, {}
    functions = deletes, gets, gets_entry, sets_entry
    return [underlined(lambda f=f, x=x: J.script(f)(x)) for f, x in zip(functions, arguments)]


@row("script")
def augmented_assignment_of_a_class_without_it(J):
    @J.script
    class Plain:
        def __init__(self):
            self.x = 1

    def f():
        a = Plain()
        a += Plain()
        return a

    return says(lambda: J.script(f), "Cannot emit inplace op")


@row("script")
def starred_number(J):
    text = "def f(x):\n  a, *1 = (3, 4, 5)\n  return x\n"
    return says(lambda: J.CompilationUnit(text), "Cannot pack a tuple into a non-variable")


@row("script")
def type_comments_with_wrong_prefixes(J):
    def function(comment):
        text = f"def f(a):\n    {comment}\n    return a\n"  # as text, whose comments no formatter touches
        file = f"<type comment {comment}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        scope = {"__name__": __name__}
        exec(compile(text, file, "exec"), scope)
        return scope["f"]

    def compiled(comment):
        f = J.script(function(comment))
        return f(3), str(f.schema)

    wrong = "#type: (int) -> int", "# type   : (int) -> int", "#     type: (int) -> int"
    phrases = "annotation prefix in line", "It must be '# type:'"
    return [says(lambda c=c: compiled(c), *phrases) for c in wrong], compiled("# type: (int) -> int")


@row("script")
def type_comments_of_some_parameters(J):
    def f(
        a,  # type: Tensor
        b,
        c,  # type: int
    ):
        # type: (...) -> Tensor
        return a + b + c

    return str(J.script(f).schema)


@row("script")
def comments_of_texts_that_are_no_types(J):
    unit = J.CompilationUnit(
        "# type : of numbers\ndef f(x: int):\n  # type : whatever here\n  y = x + 1  # type : words\n  return y  #  type\n"
    )
    return unit.f(3), str(unit.f.schema)


@row("script")
def type_comment_with_too_many_types(J):
    def f(a):
        # type: (int, int) -> int
        return a

    return says(lambda: J.script(f), r"def f\(a\):\n\s*~+\.*\s+<--- HERE\n")


@row("script")
def broadcasting_list_of_a_wrong_size(J):
    return says(
        lambda: J.CompilationUnit("def f(x):\n  # type: (BroadcastingListx[int]) -> List[int]\n  return x\n"),
        "must be a positive integer:",
    )


@row("script")
def default_that_holds_a_list(J):
    def f(x: Tuple[int, List[int]] = (1, [])):
        return x

    return says(lambda: J.script(f), "Mutable default parameters")


@row("script")
def python_function_returns_another_type(J):
    @torch.jit.ignore
    def python() -> Tensor:
        return ((3, 4),)

    def f():
        return python()

    return says(J.script(f), "but instead got value of type tuple")


@row("script")
def dict_of_other_keys(J):
    def f(keys: List[Union[int, str]], values: List[str]):
        d: Dict[int, str] = dict(zip(keys, values))
        return d

    return says(lambda: J.script(f), "Dicts may only contain homogeneous keys")


@row("script")
def sorts_what_has_no_order(J):
    def of_dicts():
        pairs = [({1: 2}, {2: 3})]
        pairs.sort()
        return pairs

    def of_any(x: List[Any]):
        x.sort()
        return x

    f, g = J.script(of_dicts), J.script(of_any)
    one = "Only values of same type can be compared"
    return (
        says(f, "are not sortable"),
        says(lambda: g([(1, 2), ("a", "b")]), one),
        says(lambda: g([(1, (2, 3)), (2, ("a", "b"))]), one),
        tries(g, ([(2, 1), (1, 2)],), ([(1, (2, 3)), (1, (2, 2))],)),
    )


@row("script")
def keyword_that_may_be_meant_for_another(J):
    def f(x, y):
        return x + y

    s = J.script(f)
    return says(lambda: s(z=X, y=X), r"f\(\) is missing value for argument 'x'\.")


@torch.jit.ignore
class Unscriptable:
    def method(self):
        return "a" + 200


@row("module")
def module_makes_an_object_of_an_ignored_class(J):
    class M(nn.Module):
        def forward(self, x):
            return Unscriptable()

    return says(lambda: J.script(M()), "Cannot instantiate class", "def forward")


@row("module")
def ignored_method_without_self(J):
    class M(nn.Module):
        @torch.jit.ignore
        def call():
            # type: () -> int
            return 1

        def forward(self):
            return self.call()

    return says(lambda: J.script(M()), "does not have a self argument")


@row("module")
def ignored_method_of_one_object(J):
    class M(nn.Module):
        @torch.jit.ignore
        def python(self):
            return "old"

        def forward(self, x):
            return x

    @torch.jit.ignore
    def python(self):
        return "new"

    m = M()
    m.python = types.MethodType(python, m)
    return m.python(), J.script(m).python()


def _with_hook(*hooks, pre=True):
    class Inner(nn.Module):
        def forward(self, x: str):
            return self.foo(x)

        def foo(self, x: str):
            return x

    m = Inner()
    for hook in hooks:
        m.register_forward_pre_hook(hook) if pre else m.register_forward_hook(hook)
    return m


@row("module")
def hooks_with_names_of_others(J):
    def foo(self, input: Tuple[str]) -> Tuple[str]:
        return input

    def hook(self, input: Tuple[str]) -> Tuple[str]:
        return input

    first = hook

    def hook(self, input: Tuple[str]) -> Tuple[str]:  # noqa: F811
        return ("b",)

    def unannotated(self, input: Tuple[str]):
        return input

    return (
        says(lambda: J.script(_with_hook(foo)), "Can't define hook: foo on class: .+ because a method or hook with"),
        says(lambda: J.script(_with_hook(first, hook)), "Pre-hook 'hook' on .+ has at least two different python"),
        says(lambda: J.script(_with_hook(first, hook, pre=False)), "Hook 'hook' on .+ has at least two different"),
        says(lambda: J.script(_with_hook(unannotated)), "is missing a return annotation"),
    )


@row("module")
def names_of_objects(J):
    class M(nn.Module):
        def forward(self, x):
            return x

    m = J.script(M())
    text = str(m._c)
    return (
        text.startswith("ScriptObject"),
        "__torch__." in text,
        says(lambda: m._c.getattr("nothing"), "M (.*) does not have a field with name 'nothing'"),
        m._c.qualified_name.split(".")[-1],
    )


@row("script")
def escape_hatch_of_an_object(J):
    def plain(a: int, b: int) -> int:
        return a + b

    class Callable:
        def __call__(self, a, b, *rest):
            return a + b + sum(rest)

        def __prepare_scriptable__(self):
            return plain

    return says(lambda: J.script(Callable())(1, 2, 3, 4), r"expected at most 2 argument\(s\) but received 4"), J.script(
        Callable()
    )(1, 2)


@row("script")
def containers_asked_for_other_types(J):
    def raised(call):
        try:
            return call()
        except Exception as error:
            return type(error).__name__

    xs, entries = J.script([1, 2, 2]), J.script({1: 2})

    def delete():
        del entries["a"]

    return [
        raised(call)
        for call in (
            lambda: "a" in xs,
            lambda: xs.count("a"),
            lambda: xs.remove("a"),
            lambda: (2 in xs, 5 in xs, xs.count(2), 1 in entries, 3 in entries),
            lambda: (1 in entries.keys(), 3 in entries.keys(), "a" in entries.keys(), None in entries.keys()),
            lambda: "a" in entries,
            delete,
        )
    ]


@row("trace")
def traces_of_other_types(J):
    class Bad(nn.Module):
        def forward(self, x):
            return {"a": (x, 1)}

    return (
        says(lambda: J.trace(lambda x: x + 1, (1,)), r"Type 'Tuple\[int\]' cannot be traced"),
        says(lambda: J.trace(Bad(), (X,), strict=False), "cannot be understood by the tracer, only outputs matching"),
    )


@row("trace")
def trace_of_exported_methods(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = 3

        @torch.jit.export
        def scaled(self, x):
            return x * self.a

        def forward(self, x):
            return x + self.a

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = M()

        def forward(self, x):
            return self.inner(x)

    m, outer = J.trace(M(), (X,)), J.trace(Outer(), (X,))
    return m.scaled(X), outer.inner.scaled(X), m(X)


def _trace_graph(J, *args, **kwargs):
    return (torch.jit if J is torch.jit else cresset._trace)._get_trace_graph(*args, **kwargs)


@row("trace")
def graph_of_a_trace(J):
    m = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).eval()
    graph, outputs, inputs = _trace_graph(J, m, (X,), return_inputs=True)
    shared = nn.Linear(2, 2, bias=False)
    shared.other = shared.weight
    kinds = [node.kind() for node in graph.nodes() if node.kind() in ("aten::linear", "aten::batch_norm")]
    return (
        kinds,
        len(list(graph.inputs())),
        [tuple(x.shape) for x in inputs],
        torch.equal(outputs, m(X)),
        len(list(_trace_graph(J, shared, (torch.ones(2, 2),))[0].inputs())),
    )


@row("trace")
def graph_of_a_trace_whose_names_meet(J):
    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.b = nn.Parameter(torch.full((3,), 2.0))

        def forward(self, x):
            return x + self.b

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = Inner()
            self.a_b = nn.Parameter(torch.full((3,), 5.0))
            self.input_1 = nn.Parameter(torch.full((3,), 7.0))

        def forward(self, x):
            return self.a(x) * self.a_b - self.input_1

    graph, outputs, inputs = _trace_graph(J, M(), (X,), return_inputs=True)
    given = list(graph.inputs())
    operands = [
        [given.index(value) for value in node.inputs() if value in given]
        for node in graph.nodes()
        if node.kind() != "prim::Constant"
    ]
    return outputs, inputs, len(given), operands


@row("trace")
def graph_of_a_trace_with_none(J):
    def shown(f, *args):
        graph, outputs = _trace_graph(J, f, args)
        return outputs, [str(value.type()) for value in graph.outputs()], len(list(graph.inputs()))

    return (
        shown(lambda x: (x, None, x + 1), X),
        shown(lambda x: {"a": x + 1, "b": None}, X),
        shown(lambda x: None, X),
        shown(lambda x, y, z: (x * z, y), X, None, X),
    )


@row("trace")
def trace_of_modules_that_are_none(J):
    class Plain(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_module("n", None)

        def forward(self, x):
            return x * 2

    class Exporting(Plain):
        def __init__(self):
            super().__init__()
            self.inner = Plain()

        def forward(self, x):
            return self.inner(x) + 1

        @torch.jit.export
        def other(self, x):
            return x + 1 if self.n is None else x

    class Outer(Plain):
        def __init__(self):
            super().__init__()
            self.plain = Plain()
            self.exporting = Exporting()

        def forward(self, x):
            return self.plain(x) + self.exporting(x)

    found = []
    for module in (Plain(), Exporting(), Outer()):
        traced = J.trace(module, (X,))
        buffer = io.BytesIO()
        J.save(traced, buffer)
        buffer.seek(0)
        loaded = J.load(buffer)
        for each in (traced, loaded):
            found.append([(name, hasattr(part, "n")) for name, part in each.named_modules()])
            found.append(each(X))
    m = J.trace(Exporting(), (X,))
    return found, m.other(X), J.trace(Outer(), (X,)).exporting.other(X), loaded.exporting.other(X)


@row("module")
def modules_by_stubs(J):
    recursive = torch.jit._recursive
    create = recursive.create_script_module if J is torch.jit else cresset._patch._create_script_module

    class Inner(nn.Module):
        def forward(self, x):
            return x * 3

        def other(self, x):
            return x * 5

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()
            self.k = 2

        def forward(self, x):
            return eval("x")

        @torch.jit.export
        def exported(self, x):
            return eval("x")

        def helper(self, x):
            return x * self.k

        def other(self, x):
            return self.helper(x) + self.inner.other(x)

    class Calls(M):
        def other(self, x):
            return self.inner(x) - self.inner.other(x)

    def renamed(self, x):
        return x - 1

    def others(module):
        return [recursive.make_stub(module.other, "other")]

    def methods(module):
        return [sorted(part._c._method_names()) for part in module.modules()]

    made = [create(M(), others, share_types=share) for share in (True, False)]
    made.append(create(Calls(), others, is_tracing=True))
    named = create(Inner(), lambda module: [recursive.make_stub(renamed, "forward")], share_types=False)
    return (
        [(m.other(X), methods(m), hasattr(m, "exported")) for m in made],
        (named(X), methods(named)),
        [known(X) for known in (create(Inner(), recursive.infer_methods_to_compile), J.script(Calls().inner))],
        methods(create(Inner(), lambda module: [], share_types=False)),
        says(lambda: create(M(), lambda module: [recursive.make_stub(module.forward, "forward")], False), "eval"),
    )


@row("script")
def graph_without_source_ranges(J):
    graph = J.CompilationUnit("def f(x):\n  return x + 1\n").f.graph
    kind = type(graph)
    before = "# <string>" in str(graph)
    kind.set_global_print_source_ranges(False)
    try:
        hidden = "# <string>" in str(graph), kind.global_print_source_ranges
    finally:
        kind.set_global_print_source_ranges(True)
    return before, hidden, "# <string>" in repr(graph)


@row("trace")
def trace_of_a_function_that_scripts(J):
    class M(nn.Module):
        def forward(self, x, flag):
            def decide(flag, x):
                if flag:
                    return x
                return torch.zeros_like(x)

            return J.script(decide)(flag, torch.neg(x))

    m = J.trace(M(), (X, torch.tensor([True])))
    return m(X, torch.tensor([False])), m(X, torch.tensor([True]))


@row("module")
def module_list_indexed_by_interface_is_saved(J):
    @J.interface
    class Interface(nn.Module):
        def forward(self, x: Any) -> Any:
            pass

    class Part(nn.Module):
        def forward(self, x: Any) -> Any:
            return x

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleList([Part()])
            self.named = nn.ModuleDict({"a": Part()})

        def forward(self, x: Tensor, i: int, key: str) -> Any:
            part: Interface = self.parts[i]
            other: Interface = self.named[key]
            return part.forward(x), other.forward(x)

    buffer = io.BytesIO()
    J.save(J.script(M()), buffer)
    buffer.seek(0)
    return J.load(buffer)(X, 0, "a")


@row("script")
def overloads_without_implementation(J):
    @torch.jit._overload
    def unfinished(x: int) -> int: ...

    @torch.jit._overload  # noqa: F811
    def unfinished(x: str) -> str:  # noqa: F811
        pass

    def f():
        return unfinished(0)

    return says(lambda: J.script(f), 'Implementation for the function ".+" is missing')


@row("module")
def modules_in_a_list(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = [nn.ReLU()]

        def forward(self):
            return len(self.a)

    text = "Could not infer type of list element: Cannot infer concrete type of torch.nn.Module"
    return says(lambda: J.script(M()), text)


@row("script")
def tokens_that_are_expected(J):
    expressions = "[x x]", "(x x)", "x[x x]", "f(x x)"
    found = [
        says(lambda e=e: J.CompilationUnit(f"def f(x):\n  return {e}\n"), r"expected [\])] but found")
        for e in expressions
    ]
    return found, says(lambda: J.CompilationUnit("def f(x) return x\n"), "expected : but found")


def _fails(x):
    return is_nowhere  # noqa: F821


def _fails_behind(x) -> Tensor:
    return _fails(x)


def _compiles(x):
    return x + 1


@row("module")
def function_that_a_module_holds_fails_to_compile(J):
    class M(nn.Module):
        def __init__(self, function):
            super().__init__()
            self.function = function

        def forward(self, x):
            return self.function(x)

    class WithAnother(M):
        def forward(self, x):
            return _compiles(_fails(self.function(x)))

    phrases = "undefined value is_nowhere", "failed to compile"
    return says(lambda: J.script(M(_fails)), *phrases), says(lambda: J.script(WithAnother(_compiles)), *phrases)


@row("module")
def function_behind_one_that_a_module_holds_fails_to_compile(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.function = _fails_behind

        def forward(self, x):
            return self.function(x)

    return says(lambda: J.script(M()), "undefined value is_nowhere", "failed to compile")


class WithUnknownField(NamedTuple):
    x: Tensor
    y: "NowhereDefined"  # noqa: F821


@row("script")
def named_tuple_with_an_unknown_field(J):
    def f(p: WithUnknownField) -> Tensor:
        return p.x

    return says(
        lambda: J.script(f), r"Unknown type annotation: 'ForwardRef\('NowhereDefined'\)' in NamedTuple WithUnknownField"
    )


@row("script")
def operator_of_torch_ops_that_scripts_lack(J):
    add_stat = torch.ops.prim.AddStatValue

    def f(x: Tensor):
        add_stat("a", 1)
        return x

    return J.script(f)
