"""Every out variant against its operator: values, dtypes, strides and exceptions, on PyTorch's own samples of operators and on variants of them.

Calls are those that the samples of op_db reach below and above autograd, then the same calls with tensors in another layout, of another dtype, and
without elements. Each is a function of its own, whose result is managed: it lies in memory that the call before it has used, and that is full of NaN.
"""

import itertools
import math
import os
import sys
import warnings

import pytest

pytest.importorskip("expecttest", reason="PyTorch's own op_db needs it")

import torch
from fact_calls import bind, composites, full_name
from op_database import op_db
from sweep import Call, Unwritable
from torch.utils._python_dispatch import TorchDispatchMode

import cresset

PARTS = 8
DTYPES = [torch.float32, torch.int64, torch.bool, torch.bfloat16]
CALLS_OF_AN_OPERATOR = int(os.environ.get("CRESSET_OUT_VARIANT_CALLS", "2"))  # in one part
SAMPLES = (CALLS_OF_AN_OPERATOR + 1) // 2
ELEMENTS = 4096  # of a tensor, at most


def kind_of(value):
    """What makes two calls differ."""
    if isinstance(value, torch.Tensor):
        return value.dtype, tuple(value.shape), value.stride()
    if isinstance(value, (list, tuple)):
        return tuple(map(kind_of, value))
    return repr(value)


def is_plain(value):
    if isinstance(value, (list, tuple)):
        return all(map(is_plain, value))
    if not isinstance(value, torch.Tensor):
        return True
    strided = value.layout == torch.strided and not value.is_nested and not value.is_quantized
    return strided and value.device.type == "cpu" and value.numel() <= ELEMENTS


class Collector(TorchDispatchMode):
    """Keeps the calls that reach the dispatcher below autograd."""

    def __init__(self, calls):
        super().__init__()
        self.calls = calls

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        self.keep(op, args, kwargs or {})
        return op(*args, **(kwargs or {}))

    def keep(self, op, args, kwargs):
        if op._schema.is_mutable or not op._schema.name.startswith("aten::"):
            return
        try:
            values = bind(op, args, kwargs)
        except Exception:  # noqa: BLE001  (values that Python's bindings convert)
            return
        if is_plain(values):
            values = [detached(value) for value in values]
            self.calls.setdefault(op, {}).setdefault(str(list(map(kind_of, values))), values)


def detached(value):
    if isinstance(value, torch.Tensor):
        return value.detach()
    return [detached(item) for item in value] if isinstance(value, (list, tuple)) else value


def collect(entries):
    calls = {}
    collector = Collector(calls)
    for entry, dtype in itertools.product(entries, DTYPES):
        if not entry.supports_dtype(dtype, "cpu"):
            continue
        for sample in itertools.islice(entry.sample_inputs("cpu", dtype), SAMPLES):
            args = (sample.input, *sample.args)
            for op in composites(entry):
                collector.keep(op, args, sample.kwargs)
            with collector:
                try:
                    entry(*args, **sample.kwargs)
                except Exception:  # noqa: BLE001, S112  (an operator without such a kernel)
                    continue
    return calls


def variants(values):
    """The values, and values like them: in another layout, of another dtype, without elements."""
    yield values
    places = [i for i, value in enumerate(values) if isinstance(value, torch.Tensor)]

    def changed(value, change):
        if isinstance(value, (list, tuple)):
            return [changed(item, change) for item in value]
        return change(value) if isinstance(value, torch.Tensor) else value

    def with_others(change):
        return changed(values, change)

    yield with_others(lambda t: t.transpose(0, -1).contiguous().transpose(0, -1) if t.dim() > 1 else spread(t))
    yield with_others(corner)
    for i, value in enumerate(values):  # one of a list unlike the others
        if isinstance(value, (list, tuple)) and value and all(isinstance(item, torch.Tensor) for item in value):
            for k in {0, len(value) - 1}:
                yield [*values[:i], [*value[:k], beside(value[k]), *value[k + 1 :]], *values[i + 1 :]]
    if any(value.dim() == 4 for value in tensors_in(values)):
        yield with_others(lambda t: t.contiguous(memory_format=torch.channels_last) if t.dim() == 4 else t)
    yield with_others(lambda t: t[:0] if t.dim() else t)
    for i in places[:2]:
        for dtype in (torch.float64, torch.int32, torch.bfloat16):
            yield [*values[:i], values[i].to(dtype), *values[i + 1 :]]
        yield [*values[:i], values[i].sum().to(values[i].dtype), *values[i + 1 :]]


def beside(tensor):
    """Of the same sizes, with another tensor beside it."""
    return torch.cat([tensor, tensor], -1)[..., : tensor.size(-1)] if tensor.dim() else tensor


def corner(tensor):
    """Of sizes 1 with the strides of a larger tensor: contiguous, but not as a new tensor is."""
    if tensor.dim() < 2:
        return tensor
    wide = tensor.repeat(*[2] * tensor.dim())
    return wide[tuple(slice(0, 1) if i < tensor.dim() - 1 else slice(0, tensor.size(i)) for i in range(tensor.dim()))]


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)


def spread(tensor):
    """The same elements with gaps between them."""
    return torch.stack([tensor, tensor], -1)[..., 0]


def texts(op, values):
    """The text of a function that makes the call, and its arguments."""
    call = Call()
    given = []
    for argument, value in zip(op._schema.arguments, values):
        if isinstance(value, float) and math.isnan(value):
            raise Unwritable
        text = call.write(list(value) if isinstance(value, tuple) else value)
        given.append(f"{argument.name}={text}" if argument.kwarg_only else text)
    parameters = ", ".join(f"i{i}" for i in range(len(call.tensors)))
    name = full_name(op).replace("aten::", "")
    name += "" if "." in name else ".default"
    return f"def f({parameters}):\n    return torch.ops.aten.{name}({', '.join(given)})\n", call.tensors


def outcome(run, tensors):
    try:
        result = run(*tensors)
    except Exception as error:  # noqa: BLE001
        return "error", type(error), str(error).strip().splitlines()[-1:]
    return "value", result


def poison(value):
    """Fills the results of a call, whose memory is used again."""
    if isinstance(value, torch.Tensor):
        value.fill_(math.nan if value.is_floating_point() else 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            poison(item)


def difference(expected, found):
    if expected[0] != "value" or found[0] != "value":
        return None if expected == found else f"{expected} and not {found}"
    expected, found = ([x] if isinstance(x, torch.Tensor) else list(x) for x in (expected[1], found[1]))
    for a, b in zip(expected, found):
        if not isinstance(a, torch.Tensor):
            if a != b:
                return f"{a} and not {b}"
        elif (a.dtype, a.shape, a.stride()) != (b.dtype, b.shape, b.stride()):
            return f"{a.dtype} {tuple(a.shape)} {a.stride()} and not {b.dtype} {tuple(b.shape)} {b.stride()}"
        elif bits(a) != bits(b):
            return f"{a} and not {b}"
    return None


def bits(tensor):
    if tensor.is_floating_point():
        tensor = torch.where(tensor.isnan(), torch.full_like(tensor, math.nan), tensor)
    return tensor.contiguous().reshape(-1).view(torch.uint8).tolist()


def check(op, values):
    """Whether the call has an out variant, and what it does otherwise than the operator; None if it is no program."""
    try:
        text, tensors = texts(op, values)
        program = cresset.CompilationUnit(text).f
    except (Unwritable, cresset.Error):
        return None
    with cresset.optimized_execution(False):
        expected = outcome(program, tensors)
    runtime = cresset.static_module(program, manage_output_tensors=True, enable_fusion=False).runtime()
    found = outcome(runtime, tensors)
    kinds = [node.kind for plan in runtime.report().plans for node in plan.nodes]
    if "out variant" not in kinds:
        return False, None
    wrong = difference(expected, found)
    if wrong is None and found[0] == "value":
        poison(found[1])
        del found
        wrong = difference(expected, outcome(runtime, tensors))
    return True, wrong and f"{text}{[kind_of(t) for t in tensors]}: {wrong}"


def sweep(entries):
    """The operators whose out variants were called, and what is wrong."""
    reached, wrong = set(), []
    with torch.no_grad():
        for op, calls in collect(entries).items():
            every = [variant for values in calls.values() for variant in variants(values)]
            for variant in every[:: -(-len(every) // CALLS_OF_AN_OPERATOR)]:
                result = check(op, variant)
                if result and result[0]:
                    reached.add(full_name(op))
                if result and result[1]:
                    wrong.append(f"{full_name(op)}: {result[1]}")
    return reached, wrong


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(PARTS))
def test_out_variants_do_what_operators_do(part):
    torch.manual_seed(0)
    reached, wrong = sweep(op_db[part::PARTS])
    assert not wrong, "\n".join(wrong[:5])
    assert len(reached) > 10, reached


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    reached, wrong = sweep(op_db)
    print("\n".join(wrong))
    print(f"{len(reached)} operators have out variants; {len(wrong)} calls differ")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
