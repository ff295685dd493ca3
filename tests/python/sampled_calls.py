"""More calls for tests/data/operator_calls.txt: what PyTorch's own samples of operators, modules and optimizers pass to the
dispatcher, forward and backward.

`python tests/python/sampled_calls.py` replaces calls that only raise where a sample is answered, derives the calls of `out` overloads from those of
their relatives, and gives each operator up to CALLS calls that differ in dtypes, ranks or strides. Operators are tried in processes of their
own: some crash. Then it writes which operators still only raise to tests/data/operators_that_raise.txt, with the reasons that are known there.
"""

import collections
import itertools
import os
import re
import select
import signal
import sys
import warnings

import torch
from operator_calls import full_name, same
from recorded_calls import (
    NAMES,
    NO_KERNEL,
    RAISING,
    Filled,
    bound,
    disturb,
    eager,
    has_kernel,
    inherited,
    lines,
    raising,
    read,
    reasons,
    run,
    write,
)
from torch.testing._internal import common_methods_invocations as samples
from torch.testing._internal.common_modules import module_db
from torch.utils._python_dispatch import TorchDispatchMode

RAISING_HEADER = """\
# Operators of which tests/data/operator_calls.txt has no call that eager PyTorch answers, each with the reason. The list only shrinks: who finds
# arguments that are accepted adds them to operator_calls_by_hand.txt, and takes the operator off the list. Checked by test_dispatcher_operators.py.
"""
CALLS = 3
#: Operators that return uninitialized memory, or whose last bits depend on where LAPACK's work memory lies.
UNSTEADY = "empty|lstsq"
KEPT = 24  # samples of one operator
ELEMENTS = 200  # of a tensor, at most
SCALARS = {dtype: number for number, dtype in enumerate(
    [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64,
     torch.complex32, torch.complex64, torch.complex128, torch.bool])} | {torch.bfloat16: 15}  # fmt: skip
FORMATS = [torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d]
DTYPES = [torch.float32, torch.float64, torch.int64, torch.complex64, torch.bfloat16, torch.bool]
FILLED = {maker.dtype: name for name, maker in NAMES.items() if isinstance(maker, Filled)}


class NoText(Exception):
    """A value that no text stands for."""


def tensor_text(tensor, literal):
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_nested or tensor.device.type != "cpu":
        raise NoText
    if tensor.dtype not in FILLED or tensor.numel() > ELEMENTS:
        raise NoText
    name = FILLED[tensor.dtype]
    plain = tensor.detach().resolve_conj().resolve_neg()
    numbers = tensor.dtype.is_floating_point or tensor.dtype.is_complex
    if tensor.numel() and tensor.numel() <= 32 and (literal or not numbers):
        values = plain.to(torch.complex128 if tensor.dtype.is_complex else torch.float64 if numbers else tensor.dtype)
        rounded = re.sub(r"(\d\.\d{4})\d+", r"\1", str(values.tolist()).replace(" ", ""))
        if re.search("nan|inf", rounded):
            raise NoText
        return f"{name}({rounded})"
    shape = tuple(tensor.shape)
    if tensor.dim() > 1 and tensor.numel() and tensor.stride()[-1] != 1 and tensor.transpose(0, -1).is_contiguous():
        shape = (shape[-1], *shape[1:-1], shape[0])
        return f"{name}[{','.join(map(str, shape))}].transpose(0,-1)"
    return f"{name}[{','.join(map(str, shape)) or '()'}]"


def text_of(value, literal):
    if isinstance(value, torch.Tensor):
        return tensor_text(value, literal)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(text_of(item, literal) for item in value) + "]"
    if value is None or isinstance(value, (bool, int, float, complex)):
        if value is not None and (value != value or value in (float("inf"), float("-inf"))):
            raise NoText
        return repr(value)
    if isinstance(value, str):
        return '"' + value + '"'
    if isinstance(value, torch.dtype) and value in SCALARS:
        return str(SCALARS[value])
    if isinstance(value, torch.layout) and value == torch.strided:
        return "0"
    if isinstance(value, torch.memory_format):
        return str(FORMATS.index(value))
    if isinstance(value, torch.device) and value.type == "cpu":
        return 'device("cpu")'
    raise NoText


def bound_text(schema, args, kwargs, literal):
    given = []
    for argument, value in bound(schema.arguments, args, kwargs):
        if "[]" in argument.type.str() and isinstance(value, (int, float)):
            value = [value]
        if isinstance(value, torch.Tensor) and "Tensor" not in argument.type.str():
            raise NoText  # Python's bindings take tensors for numbers
        given.append(text_of(value, literal))
    return "(" + ", ".join(given) + ")"


def kind_of(text):
    """What makes two calls differ: dtypes, ranks and strides of the tensors."""
    found = re.findall(r"\b([a-z]+\d+)(\[[^\]]*\]|\(\[+)(\.transpose)?", text)
    return tuple(
        (name, part.count("," if part[0] == "[" else "["), part == "[()]", strides) for name, part, strides in found
    )


class Sampler(TorchDispatchMode):
    """Notes the calls that reach the dispatcher below autograd."""

    def __init__(self, found):
        super().__init__()
        self.found = found

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        note(self.found, op, args, kwargs or {})
        return op(*args, **(kwargs or {}))


def note(found, op, args, kwargs):
    name = full_name(op._schema)
    for literal in (False, True):
        try:
            text = bound_text(op._schema, args, kwargs, literal)
        except NoText:
            continue
        kept = found[name]
        if len(kept) < KEPT and sum(kind_of(text) == kind_of(other) for other in kept) < 3:
            kept[text] = None


def databases():
    found = {id(entry): entry for name in dir(samples) if name.endswith("op_db") for entry in getattr(samples, name)}
    return list(found.values())


def sample_operators(found):
    for entry, dtype in itertools.product(databases(), DTYPES):
        if not entry.supports_dtype(dtype, "cpu"):
            continue
        requires_grad = dtype == torch.float32 and getattr(entry, "supports_autograd", False)
        try:
            inputs = list(itertools.islice(entry.sample_inputs("cpu", dtype, requires_grad=requires_grad), 10))
        except Exception:  # noqa: BLE001, S112  (samples of foreach operators take other options)
            continue
        names = {getattr(entry, "aten_name", ""), entry.name.split(".")[-1], entry.name.replace(".", "_")}
        packets = [getattr(torch.ops.aten, name) for name in names if name and hasattr(torch.ops.aten, name)]
        for sample in inputs:
            args = (sample.input, *sample.args)
            for op in [getattr(packet, name) for packet in packets for name in packet.overloads()]:
                note(found, op, args, sample.kwargs)
            backward(found, lambda entry=entry, args=args, sample=sample: entry(*args, **sample.kwargs))


def backward(found, forward):
    try:
        with Sampler(found):
            results = forward()
            results = results if isinstance(results, (list, tuple)) else [results]
            roots = [r.sum() for r in results if isinstance(r, torch.Tensor) and r.requires_grad]
            if roots:
                torch.autograd.backward(roots)
    except Exception:  # noqa: BLE001, S110  (no gradient, for one)
        pass


def sample_modules(found):
    for info in module_db:
        try:
            inputs = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=True, training=True)
        except Exception:  # noqa: BLE001, S112
            continue
        for one in inputs[:6]:
            made, given = one.constructor_input, one.forward_input
            if given is not None:
                backward(found, lambda: info.module_cls(*made.args, **made.kwargs)(*given.args, **given.kwargs))


def sample_optimizers(found):
    for kind, options in itertools.product(
        (torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD, torch.optim.Adagrad),
        ({"fused": True}, {"foreach": True}, {"fused": True, "lr": torch.tensor(0.01)}),
    ):
        parameters = [torch.randn(n, 2, requires_grad=True) for n in (2, 3)]
        for parameter in parameters:
            parameter.grad = torch.randn_like(parameter)

        def step(kind=kind, options=options, parameters=parameters):
            optimizer = kind(parameters, **options)
            optimizer.step()
            optimizer.step()

        backward(found, step)


# ---- which of them eager answers


def mark_of(name, operator, text):
    """The mark of a call that eager answers; None if it raises."""
    try:
        results = [run(operator, text)]
    except Exception:  # noqa: BLE001
        return None
    try:
        for _ in range(3):
            disturb()
            results.append(run(operator, text))
        steady = not re.search(UNSTEADY, name) and all(same(results[0], other) for other in results)
        return "" if steady else "~"
    except Exception:  # noqa: BLE001
        return "~"


def strided(text):
    """The same call with its first matrix in another layout."""
    return re.sub(r"\b((?:f|bf|i|c|u|b)\d+)\[(\d+),(\d+)\]", r"\1[\3,\2].transpose(0,-1)", text, count=1)


def variants(text):
    """The same call with all numbers of another dtype, or all tensors of another rank; what is refused is none."""
    for dtype in ("f64", "bf16", "i64", "c64"):
        yield re.sub(r"\bf32(?=[\[(])", dtype, text)
    yield re.sub(r"\b((?:f|bf|i|c|u|b)\d+)\[([\d,]+)\]", r"\1[2,\2]", text)
    yield re.sub(r"\b((?:f|bf|i|c|u|b)\d+)\[\d+,([\d,]+)\]", r"\1[\2]", text)


def chosen(name, schema, old, texts, schemas, calls):
    """The lines of an operator: its old calls that are answered, then others of other kinds."""
    operator = eager(schema)
    kept = [
        (mark and next(iter({mark_of(name, operator, text)} - {None}), mark), text) for mark, text in old if mark != "!"
    ]
    if not kept:
        texts = itertools.chain(texts, ("(" + ", ".join(one) + ")" for one in inherited(name, schema, schemas, calls)))
    texts = itertools.chain(texts, [other for _, text in kept for other in (strided(text), *variants(text))])
    for text in itertools.islice(texts, 60):
        if len(kept) == CALLS:
            break
        if kind_of(text) in {kind_of(other) for _, other in kept} or len(text) > 400:
            continue
        mark = mark_of(name, operator, text)
        if mark is not None and not (mark == "~" and kept):
            kept.append((mark, text))
    return sorted(kept, key=lambda call: call[0])  # results that are compared stand first


def in_child(work):
    """What work() returns, a list of pairs of texts; [] if it crashes or takes long."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            signal.setitimer(signal.ITIMER_PROF, 8)
            os.write(writing, "\n".join(f"{mark}\t{text}" for mark, text in work()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    data = b""
    while select.select([reading], [], [], 20)[0] and (piece := os.read(reading, 1 << 16)):
        data += piece
    os.close(reading)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return [tuple(line.split("\t", 1)) for line in data.decode().splitlines()]


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found = collections.defaultdict(dict)
    for sample in (sample_operators, sample_modules, sample_optimizers):
        torch.manual_seed(0)
        sample(found)
        print(sample.__name__, len(found), "operators", flush=True)
    schemas = {full_name(s): s for s in torch._C._jit_get_all_schemas()}
    calls = collections.defaultdict(list)
    for name, mark, text in lines():
        calls[name].append((mark, text))
    first = {name: marked[0] for name, marked in calls.items()}
    # What `out` overloads inherit comes last.
    for name in sorted(calls, key=lambda n: (n in schemas and any(a.is_out for a in schemas[n].arguments), n)):
        if name in schemas and (len(calls[name]) < CALLS or calls[name][0][0]):
            new = in_child(
                lambda name=name: chosen(name, schemas[name], calls[name], list(found[name]), schemas, first)
            )
            calls[name] = new or calls[name]
            first[name] = calls[name][0]
    write((name, mark, text) for name, marked in calls.items() for mark, text in marked)
    numbers = collections.Counter(len(marked) for marked in calls.values())
    print(f"calls per operator: {dict(numbers)}; {len(raising())} operators only raise")
    known = reasons()
    RAISING.write_text(RAISING_HEADER + "".join(f"{n}: {known.get(n) or reason(n, schemas)}\n" for n in raising()))


def reason(name, schemas):
    """Why an operator raises, as far as that can be seen; for people to better."""
    if not has_kernel(name):
        return NO_KERNEL
    try:
        run(eager(schemas[name]), read()[name][1])
    except Exception as error:  # noqa: BLE001
        said = str(error).strip().split("\n")[0]
        if other := re.match(r"Could not run '([\w:.]+)' with arguments from the '(\w+)' backend", said):
            return f"{other[1]} has no kernel for {other[2]}"
        return f"{type(error).__name__}: {said}"[:160]
    return "raises in some states only"


if __name__ == "__main__":
    sys.exit(main())
