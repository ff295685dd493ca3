"""Random programs whose functions call functions of their own, each of which may be functionalized, under transforms of
torch.func: tensors that several levels write, views of them and free variables, with autograd recording.

``python tests/python/functional_nestings.py [COUNT] [FIRST]`` compares COUNT programs (1,000) with eager PyTorch,
beginning with seed FIRST. Levels that remove views return copies of what would be views: they are compared with eager
PyTorch whose functions do so. ``[COUNT] [FIRST] graphs``: graphs that make_fx makes of them and of a backward pass, with
real, fake and symbolic tensors, called with other elements.
"""

import collections
import functools
import math
import random
import sys

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_leaves, tree_map

import cresset

F = cresset.functionalize
V = functools.partial(cresset.functionalize, remove="mutations_and_views")

SHAPES = [(3,), (3,), (2, 2), (4,), (1, 3), (2, 1)]
VIEWS = [
    "{0}[1:]",
    "{0}[:2]",
    "{0}[:]",
    "{0}[0:1]",
    "{0}[1]",
    "{0}[..., 0]",
    "{0}.view(-1)",
    "{0}.view(-1, 1)[:, 0]",
    "{0}.view_as({0})",
    "{0}.reshape(-1)",
    "{0}.flatten()",
    "{0}.squeeze()",
    "{0}.unsqueeze(0)",
    "{0}.unsqueeze(0)[0]",
    "{0}.transpose(0, -1)",
    "{0}.narrow(0, 0, 1)",
    "{0}.diagonal()",
    "{0}.expand_as({0})",
    "{0}.chunk(2)[0]",
    "{0}.split(1)[-1]",
    "{0}.unbind(0)[0]",
]
VALUES = ["{0}.flip(0)", "{0} * 2", "{0}.sin()", "{0}.clone()", "{0} * {1}", "{0} + w[0]"]
#: Operands that share memory with what is written are read as they were before, which eager PyTorch doesn't promise.
WRITES = [
    "{0}.mul_(2)",
    "{0}.add_(w[0])",
    "{0}.zero_()",
    "{0}.sin_()",
    "{0}.copy_(w[1])",
    "{0}.copy_({1}.clone())",
    "{0}.add_({1}.sum())",
    "{0}.mul_({1}.clone())",
    "{0}.relu_()",
    "{0}[0] = 3.5",
    "{0}[..., -1] = w[2]",
    "{0}.fill_(0.5)",
    "{0}.mul_(w[2])",
    "{0}.neg_()",
    "torch.exp({0}, out={0})",
    "torch._foreach_mul_([{0}], 2)",
]
DEPTH = 2


class Writer:
    """The text of one program. `detaches`: it has views that autograd does not know as such."""

    def __init__(self, seed, detaches):
        self.random = random.Random(seed)
        self.views = [*VIEWS, "{0}.detach()"] if detaches else VIEWS
        self.detaches = detaches
        self.count = 0

    def new(self, letter="t"):
        self.count += 1
        return f"{letter}{self.count}"

    def program(self):
        lines = []
        kind = self.random.random()
        if kind < 0.5:
            lines = ["u = torch.ones_like(x).requires_grad_()", "x = x * u"]
        elif kind < 0.85:
            lines = ["x = x * 1"]
        body, names = self.body(["x"], 0)
        returned = sorted({*self.random.sample(names, min(len(names), 2)), "x"})
        return "\n    ".join(["def f(x, w, level):", *lines, *body, f"return {', '.join(returned)},"]) + "\n"

    def body(self, names, depth):
        lines, names = [], list(names)
        for _ in range(self.random.randint(2, 5)):
            kind, name = self.random.random(), self.random.choice(names)
            if kind < 0.35:
                made = self.new()
                lines.append(
                    f"{made} = " + self.random.choice(self.views + VALUES).format(name, self.random.choice(names))
                )
                names.append(made)
            elif kind < 0.7:
                lines.append(self.random.choice(WRITES).format(name, self.random.choice(names)))
            elif kind < 0.78:
                lines.append("with torch.no_grad():")
                if not self.detaches or self.random.random() < 0.5:
                    lines.append("    " + self.random.choice(WRITES).format(name, self.random.choice(names)))
                else:
                    made = self.new()
                    lines.append(f"    {made} = " + self.random.choice(self.views).format(name))
                    names.append(made)
            elif depth < DEPTH:
                self.call(lines, names, name, depth)
        return lines, names

    def call(self, lines, names, argument, depth):
        """A function within, called once or twice."""
        function, parameter = self.new("f"), self.new("q")
        free = [self.random.choice(names)] if self.random.random() < 0.5 else []
        inner, known = self.body([parameter, *free], depth + 1)
        returned = self.random.sample(known, min(len(known), self.random.randint(1, 3)))
        lines.append(f"def {function}({parameter}):")
        lines.extend("    " + line for line in inner)
        lines.append(f"    return [{', '.join(returned)}]")
        for _ in range(self.random.choice([1, 1, 2])):
            made = [self.new() for _ in returned]
            lines.append(f"{', '.join(made)}, = level({function})({argument})")
            names.extend(made)


def stacked(x):
    return torch.stack([x, x + 3])


def tangents_of(f):
    return lambda x: torch.func.jvp(f, (x,), (torch.full_like(x, 0.5),))


def sum_of_all(f):
    return torch.func.grad(lambda x: sum(t.sum() for t in tree_leaves(f(x * 1))))


TRANSFORMS = {
    "none": lambda f: f,
    "vmap": lambda f: lambda x: torch.vmap(f)(stacked(x)),
    "jvp": tangents_of,
    "grad": sum_of_all,
    "vmap of jvp": lambda f: lambda x: torch.vmap(tangents_of(f))(stacked(x)),
    "vmap of grad": lambda f: lambda x: torch.vmap(sum_of_all(f))(stacked(x)),
}


def copies_views(function):
    """What a level does that removes views: results are copies where eager PyTorch has views made within."""

    def call(x):
        outside, frame = {id(x): x}, sys._getframe(1)
        while frame:
            if frame.f_code.co_filename == "<program>":
                outside.update((id(t), t) for t in tree_leaves(dict(frame.f_locals)) if isinstance(t, torch.Tensor))
            frame = frame.f_back
        copies = {}

        def copied(tensor):
            if id(tensor) in outside or not tensor._is_view():
                return tensor
            return copies.setdefault(id(tensor), (tensor, tensor.clone()))[1]

        return tree_map(copied, function(x))

    return call


#: The levels of functions within, that around the transform, and what takes their place in eager PyTorch.
FORMS = {
    "F": (F, lambda f: f, lambda f: f),
    "F, F": (F, F, lambda f: f),
    "FF, F": (lambda f: F(F(f)), F, lambda f: f),
    "only around": (lambda f: f, F, lambda f: f),
}
FORMS_WITHOUT_VIEWS = {
    "V": (V, lambda f: f, copies_views),
    "V, V": (V, V, copies_views),
    "V, F": (V, F, copies_views),
    "VF": (lambda f: V(F(f)), lambda f: f, copies_views),
}


def outcome(text, shape, level, around, transform, source, written_after):
    """Results, whether they require gradients, the argument afterwards and gradients; or the error's text."""
    weights = torch.tensor([0.5, 1.5, -1.0], requires_grad="w" in source)
    given = torch.tensor([3.0, 1.0, 2.0, 0.5])[: math.prod(shape)].view(shape).clone().requires_grad_("x" in source)
    x = given if "leaf" in source else given * 1
    scope = {"torch": torch}
    exec(compile(text, "<program>", "exec"), scope)
    parts = [weights[i] for i in range(3)]
    try:
        results = tree_leaves(around(transform(lambda x: scope["f"](x, parts, level)))(x))
        found = [t.detach().clone() for t in results]
        requires = [t.requires_grad for t in results]
        leaves = [t for t in (given, weights) if t.requires_grad]
        loss = sum((i + 1) * (t * t.detach()).sum() for i, t in enumerate(results) if t.requires_grad)
        gradients = torch.autograd.grad(loss, leaves, allow_unused=True) if leaves and any(requires) else []
        found.extend(torch.zeros(()) if gradient is None else gradient for gradient in gradients)
        if written_after:  # which of them share memory
            with torch.no_grad():
                for i, result in enumerate(results):
                    if 0 not in result.stride():
                        result.add_(i + 1)
            found.extend(t.detach().clone() for t in results)
        return [*found, x.detach().clone()], requires
    except (RuntimeError, IndexError) as error:
        return str(error).split("\n", maxsplit=1)[0]


#: Errors that only Cresset raises, as docs/functionalization.md says, and errors of eager PyTorch about memory that a
#: functionalized program does not share.
REFUSED = ("a tensor from outside shares memory with", "a tensor from outside was given another place in autograd")
NOT_RAISED = ("modified by an inplace operation", "has been modified inplace", "functions with out=... arguments")


#: It takes views whose place on the tape nobody has looked at for leaves, and some tensors of jvp. No program here
#: writes to a leaf unless its argument is one.
FALSELY_RAISED = "a leaf Variable that requires grad"


def difference(expected, found, has_views, source=""):
    """What differs; None if nothing does."""
    if isinstance(found, str):
        if isinstance(expected, str) or any(text in found for text in REFUSED):
            return None
        return f"raises: {found[:90]}"
    if isinstance(expected, str):
        is_false = "leaf" not in source and FALSELY_RAISED in expected
        is_false |= expected.startswith("Output ")  # of views of views, which may not come, as the document says
        is_false |= not has_views and any(t in expected for t in NOT_RAISED)
        return None if is_false else f"does not raise: {expected[:90]}"
    if len(expected[0]) != len(found[0]):
        return "other gradients or results"
    for a, b in zip(expected[0], found[0], strict=True):
        if a.shape != b.shape or not torch.allclose(a, b, rtol=1e-5, atol=1e-6, equal_nan=True):
            return "other values"
    return None if expected[1] == found[1] else "other requires_grad"


def compare(seed, transforms, has_views):
    """The differences of one program: pairs of what differs and where."""
    text = Writer(seed, detaches=has_views).program()
    chosen = random.Random(seed)
    shape = chosen.choice(SHAPES)
    forms = FORMS if has_views else FORMS_WITHOUT_VIEWS
    for transform in transforms:
        source = chosen.choice(["", "x", "xw", "w", "x leaf", "xw leaf"])
        for form, (level, around, plain) in forms.items():
            written_after = has_views
            wrapped = TRANSFORMS[transform]
            expected = outcome(text, shape, plain, lambda f: f, wrapped, source, written_after)
            found = outcome(text, shape, level, around, wrapped, source, written_after)
            where = f"{text}# {form}; {transform}; gradients of {source!r}; {shape}"
            yield difference(expected, found, has_views, source), where


def with_gradients(text, level, around, transform, source):
    """The program as a function of its tensors, that goes back along the tape: its results and gradients."""
    scope = {"torch": torch}
    exec(compile(text, "<program>", "exec"), scope)

    def call(given, weights):
        given = given.detach().requires_grad_("x" in source)
        weights = weights.detach().requires_grad_("w" in source)
        parts = [weights[i] for i in range(3)]
        results = tree_leaves(around(transform(lambda x: scope["f"](x, parts, level)))(given * 1))
        leaves = [t for t in (given, weights) if t.requires_grad]
        loss = sum((i + 1) * (t * t.detach()).sum() for i, t in enumerate(results) if t.requires_grad)
        found = [t.detach().clone() for t in results]
        if leaves and any(t.requires_grad for t in results):
            gradients = torch.autograd.grad(loss, leaves, allow_unused=True)
            found.extend(torch.zeros(()) if gradient is None else gradient for gradient in gradients)
        return found

    return call


def outcome_of_graph(function, mode, example, other):
    """What the graph that make_fx makes of the function with one example returns for the other; or the error's text."""
    try:
        graph = make_fx(function, tracing_mode=mode)(*example)
    except Exception as error:
        return f"{type(error).__name__}: " + str(error).split("\n", maxsplit=1)[0]
    return graph(*other), []


#: Errors of graphs with symbolic sizes, which docs/functionalization.md says.
REFUSED_GRAPHS = ("where sizes are symbolic", "can't run with fake tensors", "share memory have symbolic sizes")


def compare_graphs(seed, transforms, has_views):
    """As ``compare``, of graphs: where make_fx makes one of the program itself that is right."""
    text = Writer(seed, detaches=has_views).program()
    chosen = random.Random(seed)
    shape = chosen.choice(SHAPES)
    elements = torch.tensor([3.0, 1.0, 2.0, 0.5])[: math.prod(shape)].view(shape)
    example = elements.clone(), torch.tensor([0.5, 1.5, -1.0])
    other = elements.flip(0) + 0.25, torch.tensor([2.5, -0.5, 1.25])
    for transform in transforms:
        source = chosen.choice(["", "x", "xw", "w"])
        for mode in ("real", "fake", "symbolic"):
            for form, (level, around, plain) in (FORMS if has_views else FORMS_WITHOUT_VIEWS).items():
                if mode == "symbolic" and not has_views:
                    continue
                wrapped = TRANSFORMS[transform]
                expected = with_gradients(text, plain, lambda f: f, wrapped, source)
                try:
                    values = expected(*other), []
                except (RuntimeError, IndexError):
                    continue
                found = outcome_of_graph(with_gradients(text, level, around, wrapped, source), mode, example, other)
                differs = difference(values, found, has_views)
                if isinstance(found, str) and any(text in found for text in REFUSED_GRAPHS):
                    differs = None
                if differs:  # so may make_fx by itself
                    itself = outcome_of_graph(expected, mode, example, other)
                    if difference(values, itself, has_views):
                        differs = None
                yield differs, f"{text}# {form}; {transform}; gradients of {source!r}; {shape}; {mode}"


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    compares = compare_graphs if "graphs" in sys.argv else compare
    differing, compared = collections.defaultdict(list), 0
    for seed in range(first, first + count):
        has_views = seed % 2 == 0
        transforms = TRANSFORMS if has_views else ["none"]
        for what, where in compares(seed, transforms, has_views):
            compared += 1
            if what:
                differing[what].append((len(where), seed, where))
    print(f"{compared} comparisons of {count} programs, {sum(map(len, differing.values()))} differ")
    for what, cases in sorted(differing.items(), key=lambda item: -len(item[1])):
        _, seed, where = min(cases)
        print(f"==== {what}: {len(cases)}; seed {seed}\n{where}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
