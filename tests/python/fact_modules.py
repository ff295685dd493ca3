"""Programs around the modules of PyTorch's own table (module_db), and calls of them with other shapes, dtypes and states of autograd.

A program works on the module's tensors before the call and on its results after it, so that it has a plan, with the module's operators between others
of its own; and it returns what a plan may have taken for known of each result: its rank, dtype and whether it requires a gradient.
"""

import contextlib
import copy
import linecache
import math
import sys
import types
import unittest.mock
import warnings

import torch
from torch.utils import _pytree

import cresset
from cresset import _C

PRELUDE = "import torch\nfrom torch import Tensor\nfrom typing import *\n"


def annotation(value):
    """The type of an argument as scripts write it; None if it is to stand in the program as a literal."""
    if isinstance(value, torch.Tensor):
        return "Tensor"
    if isinstance(value, tuple) and value and all(map(annotation, value)):
        return f"Tuple[{', '.join(map(annotation, value))}]"
    if isinstance(value, list) and value and all(isinstance(item, torch.Tensor) for item in value):
        return "List[Tensor]"
    return None


def is_number(value):
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())


def source(arguments, named, result):
    """The program for one call that returns such a result."""
    heads, lines, operands = [], [], []
    for i, (name, value) in enumerate([*((None, a) for a in arguments), *named.items()]):
        text = repr(value)
        if kind := annotation(value):
            text = f"a{i}"
            heads.append(f"a{i}: {kind}")
            if is_number(value):
                lines += [
                    f"b{i} = torch.cat([a{i}.unsqueeze(0), a{i}.unsqueeze(0) * 2.0])",
                    f"c{i} = b{i}[1] - b{i}[0]",
                ]
                text = f"c{i}"
        operands.append(f"{name}={text}" if name else text)
    lines.append(f"r = self.inner({', '.join(operands)})")
    outputs = ["r"]
    for i, path in enumerate(paths(result, "r")):
        lines += [
            f"x{i} = {path}",
            f"assert x{i} is not None",
            f"y{i} = torch.cat([x{i}.unsqueeze(0), x{i}.unsqueeze(0)])",
            f"z{i} = (y{i} == y{i}).sum(0)",
        ]
        outputs += [f"x{i}.dim()", f"x{i}.requires_grad", f"len(y{i}.shape)"]
        outputs += [
            f"torch.empty([0], dtype={of}.dtype)" for of in (f"x{i}", f"y{i}", f"z{i}")
        ]  # a dtype is an int to a script
        outputs += [f"y{i}[1]", f"z{i}.dim()"]
    body = "\n".join(f"    {line}" for line in [*lines, f"return ({', '.join(outputs)})"])
    return f"class Program(torch.nn.Module):\n  def forward(self, {', '.join(heads)}):\n{body}\n"


def paths(value, name):
    """The expressions that name the tensors of a result."""
    if isinstance(value, torch.Tensor):
        yield name
    elif isinstance(value, (tuple, list)):
        for i, item in enumerate(value):
            yield from paths(item, f"{name}[{i}]")


_count = 0


def program(module, text):
    """A Python module of class `Program` around `module`."""
    global _count
    _count += 1
    name = f"fact_program_{_count}"
    text = PRELUDE + text
    made = types.ModuleType(name)
    made.__file__ = f"<{name}>"
    linecache.cache[made.__file__] = (len(text), None, text.splitlines(True), made.__file__)
    sys.modules[name] = made
    exec(compile(text, made.__file__, "exec"), made.__dict__)
    outer = made.Program()
    outer.inner = module
    return outer.train(module.training)


def samples(info, dtype, limit):
    """(module, args, kwargs) of an entry of module_db."""
    for training in (False, True) if info.train_and_eval_differ else (True,):
        torch.manual_seed(1)
        inputs = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training)
        for sample in inputs[:limit]:
            torch.manual_seed(2)
            made, call = sample.constructor_input, sample.forward_input
            if call is not None:
                yield info.module_cls(*made.args, **made.kwargs).to(dtype).train(training), call.args, call.kwargs


def changed(value, change):
    return _pytree.tree_map(lambda leaf: change(leaf) if isinstance(leaf, torch.Tensor) else leaf, value)


def own(tensor):
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def resized(tensor, dim, size):
    """The tensor with one dimension of another size."""
    if tensor.dim() <= dim:
        return own(tensor)
    old = tensor.size(dim)
    pieces = [tensor.detach()] * (max(1, math.ceil(size / old)) if old else 1)
    return torch.cat(pieces, dim).narrow(dim, 0, size if old else 0).clone().requires_grad_(tensor.requires_grad)


def as_leaf(tensor, dtype):
    """A floating tensor of this dtype; others as they are."""
    return tensor.detach().to(dtype).requires_grad_(tensor.requires_grad) if is_number(tensor) else own(tensor)


def detached(tensor):
    return tensor.detach().clone()


#: (what, the change of each tensor, the state of the thread)
VARIANTS = [
    ("as they are", own, contextlib.nullcontext),
    ("again", own, contextlib.nullcontext),
    ("without gradients", detached, contextlib.nullcontext),
    ("below no_grad", own, torch.no_grad),
    ("in inference", detached, torch.inference_mode),
    *((f"dim {d} of size {n}", lambda t, d=d, n=n: resized(t, d, n), contextlib.nullcontext) for d in (0, 1, 2) for n in (1, 0, 5)),
    ("one dimension less", lambda t: own(t[0]) if t.dim() and t.size(0) else own(t), contextlib.nullcontext),
    ("one dimension more", lambda t: own(t[None]), contextlib.nullcontext),
    ("a number each", lambda t: own(t.flatten()[0]) if t.numel() else own(t), contextlib.nullcontext),
    ("transposed", lambda t: t.detach().transpose(0, -1).contiguous().transpose(0, -1).requires_grad_(t.requires_grad) if t.dim() else own(t), contextlib.nullcontext),
    ("float64", lambda t: as_leaf(t, torch.float64), contextlib.nullcontext),
    ("bfloat16", lambda t: as_leaf(t, torch.bfloat16), contextlib.nullcontext),
    ("complex", lambda t: as_leaf(t, torch.complex64), contextlib.nullcontext),
    ("integers", lambda t: t.detach().to(torch.int64), contextlib.nullcontext),
    ("below autocast", own, lambda: torch.autocast("cpu", dtype=torch.bfloat16)),
    ("as they are, at last", own, contextlib.nullcontext),
]  # fmt: skip


#: Eager PyTorch reads and writes beyond their tensors if those have other sizes.
FRAGILE = {"nn_CTCLoss": lambda what: "dim" not in what and what != "a number each"}


def outcome(program, args, state):
    """The result and the gradients of the program, or the exception."""
    leaves = [t for t in _pytree.tree_leaves(args) if isinstance(t, torch.Tensor) and t.requires_grad]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        try:
            with state():
                result = program(*args)
            roots = [t for t in _pytree.tree_leaves(result) if is_number(t) and t.requires_grad]
            wanted = [*leaves, *(p for p in program.parameters() if p.requires_grad)]
            if roots and wanted:
                torch.autograd.grad([r.abs().sum() for r in roots], wanted, allow_unused=True)
            return result
        except Exception as error:  # noqa: BLE001
            return error


def unchecked(module, args, state):
    """The outcome in Python without the check that PyTorch's source leaves out of scripts (`if not torch.jit.is_scripting()`)."""
    with unittest.mock.patch.object(torch.nn.functional, "_check_key_padding_mask", lambda *_: None):
        return outcome(module, args, state)


def metadata(value):
    if isinstance(value, torch.Tensor):
        return value.dtype, tuple(value.shape), value.layout, value.requires_grad
    return [metadata(v) for v in value] if isinstance(value, (list, tuple)) else value


def given(args, kwargs):
    """The arguments that are no literals of the program, in order."""
    return [value for value in [*args, *kwargs.values()] if annotation(value)]


def programs_of(info, limit=1, dtype=torch.float32):
    """(program in Python, its arguments): those that eager PyTorch can run."""
    for module, args, kwargs in samples(info, dtype, limit):
        try:
            torch.manual_seed(0)
            result = copy.deepcopy(module)(*changed(args, own), **changed(kwargs, own))
        except Exception:  # noqa: BLE001
            continue
        yield program(module, source(args, kwargs, result)), given(args, kwargs)


def faults(info, limit=1, dtypes=(torch.float32,), checks=("plans", "unoptimized")):
    """(what is not so, how many calls had a result) of the programs of an entry, whose plans assert all that they assume."""
    wrong, answered = [], 0
    for dtype in dtypes:
        for original, args in programs_of(info, limit, dtype):
            for mode in checks:
                _C._set_fact_checks(mode)
                try:
                    scripted = cresset.script(copy.deepcopy(original))
                except Exception:  # noqa: BLE001
                    continue  # outside the language: test_script_modules_db.py has the reasons
                try:
                    for what, change, state in VARIANTS:
                        if not FRAGILE.get(info.formatted_name, bool)(what):
                            continue
                        name = f"{info.formatted_name} of {dtype}, {mode}, {what}"
                        expected = unchecked(copy.deepcopy(original), changed(args, change), state)
                        found = outcome(scripted, changed(args, change), state)
                        answered += not isinstance(found, Exception)
                        wrong += [f"{name}: {text}" for text in difference(found, expected)]
                finally:
                    _C._set_fact_checks("off")
    return wrong, answered


def difference(found, expected):
    if isinstance(found, Exception) and "a plan assumed" in str(found):
        yield str(found).strip().splitlines()[-1]
    elif isinstance(found, Exception) != isinstance(expected, Exception):
        yield f"{found!r:.300} instead of {expected!r:.300}"
    elif not isinstance(found, Exception) and metadata(found) != metadata(expected):
        yield f"{metadata(found)} instead of {metadata(expected)}"
