"""Long runs over PyTorch's own tables: every sample of op_db and module_db as programs, in eager PyTorch, torch.jit and Cresset.

An operator becomes text (a function of the tensors of the sample, by torch's function, the method, and the method that
writes) and a trace; a module is scripted and traced. Each program must have eager's results, inputs afterwards and
gradients in Cresset, again after torch.jit has loaded what Cresset saved, after Cresset has, and after Cresset has loaded
what torch.jit saved. A program counts if torch.jit can make and run it.

    python tests/python/sweep.py [--kinds scripted,traced,modules] [--dtypes float32,…] [--first] [NAME…]

prints what fails and how much counts. sweep_failures.txt lists what may fail and why; what is listed and passes, or fails
and is not listed, fails the run. `./dev sweep` runs all.
"""

import argparse
import collections
import contextlib
import copy
import functools
import io
import itertools
import math
import os
import sys
import time
import warnings
from pathlib import Path

import seeding  # noqa: F401
import torch
from op_database import op_db
from script_helpers import run as run_module
from torch.testing._internal.common_modules import module_db
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map
from trace_sweep import Difference, as_function, op_name, outcome, samples_of, tensors_in, without_contents

import cresset

LISTED = Path(__file__).with_name("sweep_failures.txt")
MOST_OF_A_MODULE = 64  # of each dtype and mode; only LinearCrossEntropyLoss has more (600)
DTYPES = ("float32", "float64", "int64", "bool", "complex64")


# ---- An operator as text


class Unwritable(Exception):
    """A sample has an argument that no program's text can say."""


class Call:
    """The text of a sample's call, and the tensors in it."""

    def __init__(self):
        self.tensors = []

    def write(self, value):
        if isinstance(value, torch.Tensor):
            self.tensors.append(value)
            return f"i{len(self.tensors) - 1}"
        if isinstance(value, (list, tuple)):
            return self.sequence(value)
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        if isinstance(value, complex):
            return f"complex({self.write(value.real)}, {self.write(value.imag)})"
        if isinstance(value, torch.device):
            return f'torch.device("{value}")'
        if (
            value is None
            or type(value) in (bool, int, float, str)
            or isinstance(value, (torch.dtype, torch.layout, torch.memory_format))
        ):
            return repr(value)
        if isinstance(value, slice):
            parts = ("" if part is None else self.write(part) for part in (value.start, value.stop))
            return ":".join(parts) + ("" if value.step is None else ":" + self.write(value.step))
        if value is ...:
            return "..."
        raise Unwritable(type(value).__name__)

    def sequence(self, values):
        # A tuple of like values is a list to most operators, and the only way to say a tuple of no or of one element.
        items = ", ".join(map(self.write, values))
        alike = len({type(value) for value in values}) <= 1
        return f"[{items}]" if alike or isinstance(values, list) else f"({items})"


def resolves(name):
    with contextlib.suppress(AttributeError):
        return callable(functools.reduce(getattr, name.split("."), torch))
    return False


def texts_of(op, sample):
    """(variant, text, tensors) of each way to write the call."""
    if not isinstance(sample.input, torch.Tensor) and not isinstance(sample.input, (list, tuple)):
        variants = [("function", op.name)] if resolves(op.name) else []
    else:
        variants = [("function", op.name)] if resolves(op.name) else []
        if isinstance(sample.input, torch.Tensor):
            if op.name == "__getitem__":
                variants = [("index", "")]
            elif "." not in op.name and hasattr(torch.Tensor, op.name):
                variants.append(("method", op.name))
            if "." not in op.name and not op.name.startswith("_") and hasattr(torch.Tensor, op.name + "_"):
                variants.append(("writing", op.name + "_"))
    for variant, name in variants:
        call = Call()
        try:
            given = call.write(sample.input)
            arguments = [call.write(value) for value in sample.args]
            arguments += [f"{key}={call.write(value)}" for key, value in sample.kwargs.items()]
        except Unwritable:
            return
        if variant == "function":
            # What makes tensors has a first argument that is no tensor.
            body = f"torch.{name}({', '.join([given, *arguments])})"
        elif variant == "index":
            indices = sample.args[0]
            call = Call()
            call.write(sample.input)
            try:
                parts = map(call.write, indices if isinstance(indices, tuple) else [indices])
                body = f"i0[{', '.join(parts)}]"
            except Unwritable:
                return
        else:
            receiver = given if variant == "method" else f"{given}.clone()"
            body = f"{receiver}.{name}({', '.join(arguments)})"
        parameters = ", ".join(f"i{i}" for i in range(len(call.tensors)))
        yield variant, f"def f({parameters}):\n    return {body}\n", call.tensors


def python_function(text):
    scope = {"torch": torch}
    exec(text, scope)
    return scope["f"]


def scripted(tool, text):
    return tool.CompilationUnit(text).f


# ---- Programs and what they do


def everything(value):
    """The leaves of a result, tensors detached."""
    return [leaf.detach() if isinstance(leaf, torch.Tensor) else leaf for leaf in tree_leaves(value)]


def effects(function, inputs):
    """`outcome`, and the results that are no tensors."""
    others = []

    def recording(*tensors):
        result = function(*tensors)
        others.append([leaf for leaf in tree_leaves(result) if not isinstance(leaf, torch.Tensor)])
        return result

    return (*outcome(recording, inputs), others[0])


def same(ours, theirs, tolerance, what):
    for name, a, b in zip(("results", "inputs afterwards", "gradients", "numbers"), ours, theirs):
        if name == "gradients":
            # torch.jit returns zeros for no gradient.
            a = [torch.zeros_like(y) if x is None and y is not None else x for x, y in zip(a, b)] if a else a
            b = [torch.zeros_like(x) if y is None and x is not None else y for x, y in zip(a, b)] if b else b
        try:
            if len(a) != len(b):
                raise Difference(f"{len(a)} and not {len(b)}")
            for x, y in zip(a, b):
                if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor):
                    close(x, y, tolerance)
                elif not (x == y or (x != x and y != y)):
                    torch.testing.assert_close(x, y, rtol=tolerance, atol=tolerance, equal_nan=True)
        except Exception as error:  # noqa: BLE001  (layouts that it can't compare)
            raise Difference(f"{what}: {name}: {error}") from None


def close(a, b, tolerance):
    if a.is_quantized and b.is_quantized:
        a, b = a.dequantize(), b.dequantize()
    if a.layout == b.layout == torch.jagged:
        a, b = a.values(), b.values()
    torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


def reloaded(writer, reader, program):
    buffer = io.BytesIO()
    writer.save(program, buffer)
    buffer.seek(0)
    return reader.load(buffer) if reader is torch.jit else reader.load(buffer, trusted=True)


ROUTES = (
    ("saved, torch.jit.load", cresset, torch.jit),
    ("saved, cresset.load", cresset, cresset),
    ("torch.jit.save, cresset.load", torch.jit, cresset),
)


class Made:
    """One program in all its forms, made when asked for. What went wrong is kept, and raised again."""

    def __init__(self, make):
        self.make = make
        self.forms = {}
        self.to_exchange = True  # a program that several dtypes share is saved and loaded for the first that it fits

    def get(self, form):
        if form not in self.forms:
            try:
                if form in (cresset, torch.jit):
                    self.forms[form] = self.make(form)
                else:
                    writer, reader = form
                    self.forms[form] = reloaded(writer, reader, self.get(writer))
            except Exception as error:
                self.forms[form] = error
        if isinstance(self.forms[form], Exception):
            raise self.forms[form]
        return self.forms[form]


def judge(made, eager, run, optimized):
    """(whether torch.jit can do it, what is wrong with Cresset or None). `optimized`: by torch.jit, which takes its time."""
    with torch.jit.optimized_execution(optimized):
        return judge_all(made, eager, run)


def judge_all(made, eager, run):
    counts = True
    try:
        same(run(made.get(torch.jit)), eager, 1e-3, "torch.jit")
    except Exception:
        counts = False
    try:
        same(run(made.get(cresset)), eager, 1e-5, "made")
        for what, writer, reader in ROUTES if made.to_exchange else ():
            if writer is torch.jit and not counts:
                continue
            # Where torch.jit runs it, it differentiates by itself.
            try:
                form = made.get((writer, reader))
            except Exception as error:
                raise Difference(f"{what}: {error}") from error
            same(run(form), eager, 1e-3 if reader is torch.jit else 1e-5, what)
        made.to_exchange = made.to_exchange and not counts
    except Exception as error:
        return counts, f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"
    return counts, None


# ---- The tables


def op_programs(op, kinds, dtypes, first):
    """(name, program, function, tensors, whether to let torch.jit optimize) of each program of an entry of op_db."""
    compiled = {}  # by text: dtypes share programs
    seen = set()
    for dtype in dtypes:
        if dtype not in op.supported_dtypes("cpu"):
            continue
        samples = samples_of(op, dtype)
        for number, sample in enumerate(itertools.islice(samples, 1) if first else samples):
            where = f"{op_name(op)} {str(dtype)[6:]} {number}"
            if "scripted" in kinds:
                for variant, text, tensors in texts_of(op, sample):
                    if first and variant in seen:
                        continue
                    seen.add(variant)
                    if text not in compiled:
                        compiled[text] = Made(functools.partial(scripted, text=text))
                    yield f"scripted {where} {variant}", compiled[text], python_function(text), tensors, number == 0
            if "traced" in kinds and tensors_in((sample.input, sample.args, sample.kwargs)):
                function, tensors = as_function(op, sample)
                made = Made(functools.partial(traced, function, tensors))
                yield f"traced {where}", made, function, tensors, number == 0


def traced(function, tensors, tool):
    torch.manual_seed(0)
    inputs = tuple(t.detach().clone().requires_grad_(t.requires_grad) for t in tensors)
    return tool.trace(function, inputs, check_trace=False, strict=False)


def check_op(op, kinds, dtypes, first):
    for name, made, function, tensors, optimized in op_programs(op, kinds, dtypes, first):
        try:
            eager = effects(function, tensors)
        except Exception:
            yield name, None, None
            continue

        def run(program, tensors=tensors):
            got = effects(program, tensors)
            return (*without_contents(got[:3]), got[3]) if "empty" in op.name else got

        if "empty" in op.name:
            eager = (*without_contents(eager[:3]), eager[3])
        yield name, *judge(made, eager, run, optimized)


def check_module(info, kinds, dtypes, first):
    for dtype in dtypes:
        if dtype not in info.dtypes:
            continue
        for training in (False, True):
            torch.manual_seed(1)
            samples = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training)
            for number, sample in enumerate(samples[: 1 if first else MOST_OF_A_MODULE]):
                call = sample.forward_input
                if call is None:
                    continue
                torch.manual_seed(2)
                built = sample.constructor_input
                module = info.module_cls(*built.args, **built.kwargs).to(dtype).train(training)
                where = f"{info.formatted_name} {str(dtype)[6:]} {'train' if training else 'eval'} {number}"
                yield from check_module_call(where, module, call, kinds)


def check_module_call(where, module, call, kinds):
    torch.manual_seed(2)
    try:
        if any(torch.nn.parameter.is_lazy(tensor) for tensor in module.parameters()):
            module(*copy.deepcopy(call.args), **copy.deepcopy(call.kwargs))  # now it has its parameters
        eager = module_effects(copy.deepcopy(module), call)
    except Exception:
        yield f"module {where}", None, None
        return
    run = functools.partial(module_effects, call=call)
    made = Made(lambda tool: tool.script(copy.deepcopy(module)))
    yield f"module scripted {where}", *judge(FreshModules(made), eager, run, True)
    tensors_only = all(isinstance(leaf, torch.Tensor) for leaf in tree_flatten(call.args)[0]) and not call.kwargs
    if tensors_only:
        made = Made(lambda tool: traced_module(tool, module, call))
        yield f"module traced {where}", *judge(FreshModules(made), eager, run, True)


def traced_module(tool, module, call):
    inputs = tree_map(lambda t: t.detach().clone(), tuple(call.args))
    torch.manual_seed(0)
    own = copy.deepcopy(module)
    made = tool.trace(own, inputs, check_trace=False, strict=False)
    made.load_state_dict(module.state_dict())  # tracing runs the module, which may count batches
    return made


class FreshModules:
    """Programs whose calls change their buffers: each run has a copy."""

    def __init__(self, made):
        self.made = made
        self.to_exchange = True

    def get(self, form):
        return copy.deepcopy(self.made.get(form))


def module_effects(module, call):
    result, gradients, state = run_module(module, call.args, call.kwargs)
    leaves = everything(result)
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    others = [leaf for leaf in leaves if not isinstance(leaf, torch.Tensor)]
    return tensors, list(state.values()), list(gradients), others


# ---- The run


def entries(kinds, names):
    if "scripted" in kinds or "traced" in kinds:
        for op in op_db:
            yield op_name(op), functools.partial(check_op, op)
    if "modules" in kinds:
        for info in module_db:
            yield "module " + info.formatted_name, functools.partial(check_module, info)


def listed():
    """{name or the beginning of names: reason} of sweep_failures.txt."""
    lines = LISTED.read_text().splitlines() if LISTED.exists() else []
    rows = (line.partition(": ") for line in lines if line and not line.startswith("#"))
    return {name: reason for name, _, reason in rows}


def is_listed(name, row):
    """Rows are names, or the beginning of names up to a space."""
    return (name + " ").startswith(row + " ")


def kind_of(name):
    return " ".join(name.split()[: 2 if name.startswith("module") else 1])


def sweep(kinds, dtypes, first, names, output=sys.stdout):
    """Runs and prints; returns what fails that torch.jit can do and that is not listed, and what is listed and passes."""
    known = listed()
    counted, failed, beyond, neither, invalid = (collections.Counter() for _ in range(5))
    unlisted, excused, tried = [], set(), set()
    start = time.monotonic()
    for entry, check in entries(kinds, names):
        if names and not any(part == entry or part in entry.split() for part in names):
            continue
        for name, counts, wrong in check(kinds, dtypes, first):
            kind = kind_of(name)
            if counts is None:
                invalid[kind] += 1
            elif counts:
                counted[kind] += 1
                excuse = next((row for row in known if is_listed(name, row)), None)
                if excuse:
                    tried.add(excuse)
                if wrong:
                    failed[kind] += 1
                    print(f"{'listed ' if excuse else ''}{name}\n    {wrong}", file=output, flush=True)
                    if excuse:
                        excused.add(excuse)
                    else:
                        unlisted.append(name)
            else:
                (neither if wrong else beyond)[kind] += 1
                if wrong and os.environ.get("CRESSET_SWEEP_NEITHER"):
                    print(f"neither {name}\n    {wrong}", file=output, flush=True)
    for kind in sorted({*counted, *neither, *beyond, *invalid}):
        share = 100 * (1 - failed[kind] / max(1, counted[kind]))
        print(
            f"{kind}: torch.jit does {counted[kind]}, of which Cresset {counted[kind] - failed[kind]} ({share:.3f} %); "
            f"only Cresset {beyond[kind]}; neither {neither[kind]}; not valid in eager {invalid[kind]}",
            file=output,
        )
    print(f"{time.monotonic() - start:.0f} s", file=output, flush=True)
    return unlisted, sorted(tried - excused)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kinds", default="scripted,traced,modules")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--first", action="store_true", help="one sample of each entry")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dtypes = [getattr(torch, name) for name in arguments.dtypes.split(",")]
    unlisted, fixed = sweep(arguments.kinds.split(","), dtypes, arguments.first, arguments.names)
    for name in fixed:
        print(f"listed in {LISTED.name}, and passes: {name}")
    sys.exit(bool(unlisted or fixed))


if __name__ == "__main__":
    main()
