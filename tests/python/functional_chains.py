"""Chains of views: programs that make a view of a view of a view, write to it, and read the base, the views between, a sibling,
and the view that is made again. One text is run as Python, as a script, functionalized live and as a graph, and reinplaced.

``python tests/python/functional_chains.py [LENGTH] [COUNT] [FIRST]`` runs COUNT chains of LENGTH views; without a count, all of them.
"""

import copy
import itertools
import random
import sys

import torch
from functional_programs import ERASED, Outcome, compile_text, differences, refused, says

import cresset

#: By what they do; `{}` is the tensor. Those that do not fit a tensor are left out for it.
VIEWS = {
    "permute": "{}.permute([1, 0])",
    "permute 3": "{}.permute([2, 0, 1])",
    "transpose": "{}.transpose(0, -1)",
    "swapdims": "{}.swapdims(-1, 0)",
    "t": "{}.t()",
    "T": "{}.T",
    "mT": "{}.mT",
    "mH": "{}.mH",
    "adjoint": "{}.adjoint()",
    "movedim": "{}.movedim(0, -1)",
    "unsqueeze": "{}.unsqueeze(0)",
    "unsqueeze last": "{}.unsqueeze(-1)",
    "squeeze": "{}.squeeze()",
    "squeeze dim": "{}.squeeze(0)",
    "select": "{}.select(0, -1)",
    "select last": "{}.select(-1, 0)",
    "slice": "{}[1:]",
    "slice last": "{}[..., :-1]",
    "steps": "{}[::2]",
    "narrow": "{}.narrow(-1, 0, 1)",
    "diagonal": "{}.diagonal(0, 0, -1)",
    "diagonal above": "{}.diagonal(1)",
    "linalg.diagonal": "torch.linalg.diagonal({})",
    "view": "{}.view(-1)",
    "view_as": "{0}.view_as({0})",
    "unflatten": "{}.unflatten(0, [-1, 1])",
    "split": "{}.split(2)[-1]",
    "split sizes": "{}.split([1, 4], -1)[1]",
    "chunk": "{}.chunk(3, -1)[0]",
    "tensor_split": "{}.tensor_split(3)[1]",
    "tensor_split indices": "{}.tensor_split([1, 3], -1)[1]",
    "hsplit": "{}.hsplit([1])[1]",
    "vsplit": "{}.vsplit([1])[0]",
    "unbind": "{}.unbind(0)[-1]",
    "alias": "torch.ops.aten.alias({})",
    "detach": "{}.detach()",
    "real": "torch.real({})",
    "conj": "torch.conj({})",
    "imag of conj": "torch.imag(torch.conj({}))",
    "view_as_real": "torch.view_as_real({})",
    "view_as_complex": "torch.view_as_complex({})",
    "int32": "torch.ops.aten.view.dtype({}, torch.int32)",
    "int16": "torch.ops.aten.view.dtype({}, torch.int16)",
    "float64": "torch.ops.aten.view.dtype({}, torch.float64)",
    "reshape": "{}.reshape([-1])",
    "flatten": "{}.flatten()",
    "expand": "{0}.expand_as({0})",
    "broadcast": "{}.expand([2, 5])",
    "unfold": "{}.unfold(0, 1, 1)",
    "as_strided": "{}.as_strided([2], [1])",
}
#: Writes through them stay in graphs, with a reason (docs/functionalization.md).
STAY = {"detach", "reshape", "flatten", "expand", "broadcast", "unfold", "as_strided"}
#: What view.dtype raises for the strides that a reshaped tensor without elements has (docs/functionalization.md).
NO_ELEMENTS = "must be divisible by 2 to view"
WRITES = (
    "{}.add_(1)",
    "{0}.mul_({0})",
    "{}.fill_(3)",
    "{}.zero_()",
    "{0}.copy_(torch.ones_like({0}))",
    "{}.sub_(2)",
    "{0}.masked_fill_({0} == 3, 5)",
)
SHAPES = [(), (0,), (1,), (5,), (0, 5), (5, 0), (1, 5), (5, 1), (1, 1), (5, 5), (4, 2), (2, 1, 5), (5, 1, 2), (0, 1, 5), (2, 4, 6)]  # fmt: skip


def program(views, seed):
    """The text of a function of a tensor that writes to the last of the views, and to another value of the chain."""
    rng = random.Random(seed)
    values = ["a", *(f"v{i}" for i in range(1, len(views) + 1))]
    lines = [f"a = {rng.choice(['x', 'x * 1'])}", "sibling = a.view_as(a)"]
    for name, base, view in zip(values[1:], values, views, strict=False):
        lines.append(f"{name} = {VIEWS[view].format(base)}")
    lines += [
        "before = " + f"{rng.choice(values)} * 1",
        rng.choice(WRITES).format(values[-1]),
        f"between = {rng.choice(values)} + 1",
        rng.choice(WRITES).format(rng.choice(values[:-1])),
        f"later = {VIEWS[views[0]].format('a')}",
        f"return {', '.join(values)}, sibling, before, between, later, {values[-1]} * 2",
    ]
    return "def f(x: Tensor):\n" + "".join(f"  {line}\n" for line in lines)


def arguments():
    """Of each size, contiguous and transposed, of real and complex numbers. Small ones, whose products are exact: kernels for
    complex numbers have other last bits, and other signs of zeros, for other layouts."""
    for shape, dtype in itertools.product(SHAPES, (torch.float32, torch.complex64)):
        values = torch.arange(torch.Size(shape).numel(), dtype=torch.float32).remainder(5).add(1).view(shape)
        values = values if dtype == torch.float32 else torch.complex(values, values.neg() / 2)
        yield lambda values=values: values.clone()
        if len(shape) > 1:
            yield lambda values=values: values.transpose(0, -1).clone().transpose(0, -1)


def without_free_strides(outcome):
    """Graphs may have other strides where no element is reached by them: of dimensions of size 1, and where there is none."""

    def reaching(sizes, strides):
        return [stride for size, stride in zip(sizes, strides, strict=True) if size > 1 and 0 not in sizes]

    outcome.bits = [(*bits[:3], reaching(*bits[2:4]), bits[4]) for bits in outcome.bits]
    return outcome


class Chain:
    """A program in all its forms."""

    def __init__(self, views, seed):
        self.text = program(views, seed)
        eager = compile_text("from torch import Tensor\n" + self.text)
        script = cresset.CompilationUnit(self.text).f
        graph = script.inlined_graph.copy()
        cresset.passes.functionalize(graph)
        self.left = cresset.functional.writes_left(script.inlined_graph)
        functional = cresset.function_from_graph("functional", graph.copy())
        cresset.passes.reinplace(graph)
        self.eager = eager
        self.forms = {
            "script": script,
            "functional": functional,
            "reinplaced": cresset.function_from_graph("reinplaced", graph),
            "live": cresset.functionalize(eager),
        }
        self.agreed = self.raised = self.refused = 0

    def differences(self):
        """What differs from Python, over all arguments that the views fit."""
        told = []
        for make in arguments():
            expected = Outcome(self.eager, (make(),))
            if expected.error is None:
                told += self.differences_from(expected, make)
            elif not says(expected.error, ERASED):
                # What is raised before the argument is written leaves it; a graph does not raise for what is gone.
                for name, form in self.forms.items():
                    if Outcome(form, (make(),)).error is None:
                        told.append(f"{name} of {tuple(make().shape)}: no {expected.error!r}")
            self.agreed += expected.error is None
            self.raised += expected.error is not None
        return told

    def differences_from(self, expected, make):
        told = []
        for name, form in self.forms.items():
            found = Outcome(form, (make(),))
            if name == "live" and refused(found):
                self.refused += 1
                continue
            if name in ("functional", "reinplaced"):
                found = without_free_strides(found)
                known = without_free_strides(copy.copy(expected))
            else:
                known = expected
            if says(found.error, (NO_ELEMENTS,)) and make().numel() == 0 and name in ("functional", "reinplaced"):
                continue
            parts = ("bits", "memory", "same") if name == "live" else ("bits", "memory")
            told += [f"{name} of {tuple(make().shape)}: {line}" for line in differences(known, found, parts)]
        return told


def check(views, seed):
    chain = Chain(views, seed)
    told = chain.differences()
    if chain.left and not STAY & set(views):
        told.append(f"stays: {chain.left}")
    return chain, told


def main(length, count=None, first=0):
    chains = list(itertools.product(VIEWS, repeat=length))
    if count is not None:
        chains = [tuple(random.Random(seed).choices(list(VIEWS), k=length)) for seed in range(first, first + count)]
    agreed = raised = differing = 0
    for seed, views in enumerate(chains, first):
        chain, told = check(views, seed)
        agreed, raised, differing = agreed + chain.agreed, raised + chain.raised, differing + bool(told)
        if told:
            print(f"{' '.join(views)} ({seed}):\n{chain.text}" + "\n".join(told[:4]) + "\n", flush=True)
    print(f"{len(chains)} chains, {agreed} calls agree, {raised} raise, {differing} chains differ")
    return 1 if differing else 0


if __name__ == "__main__":
    cresset.options.numerics = "exact"  # as conftest.py
    sys.exit(main(*(int(argument) for argument in sys.argv[1:] or ["2"])))
