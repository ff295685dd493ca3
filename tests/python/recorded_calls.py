"""tests/data/operator_calls.txt: for every operator of the dispatcher, a call that eager PyTorch answers.

A line is `aten::add.Tensor(f32[2,3], f32[2,3], 1)`: `f32[2,3]` is a tensor of that dtype and shape with fixed contents,
`i64([3,1])` one of these numbers. An operator may have several calls, of other dtypes, ranks and strides.
What the line begins with tells what the answer is:
- nothing: a result, the same each time;
- `~`: a result that differs each time (memory that nobody wrote, clocks), of which only metadata is compared;
- `!`: an error of the operator itself, for operators that nothing here can run (a device, a library that torch was built
  without) or whose conditions on arguments are too special to be found by trying. The error is compared. An error that
  the conversion of Python's arguments returns does not count.

`python tests/python/recorded_calls.py` adds calls of operators that the file lacks, for the installed torch: for each schema
it tries arguments of fitting types, in processes of their own, since some operators crash on arguments that they do
not expect. What an overload of the same operator accepted is tried first, with tensors of the shape of its result for
`out`.
"""

import contextlib
import itertools
import random
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import torch

FILE = Path(__file__).parent.parent / "data" / "operator_calls.txt"


def bound(arguments, args, kwargs):
    """The schema's arguments, each with the value that a call passes."""
    for i, argument in enumerate(arguments):
        if i < len(args) and not argument.kwarg_only:
            yield argument, args[i]
        else:
            yield argument, kwargs.get(argument.name, argument.default_value)


class Filled:
    """`f32[2,3]`: values that are neither all positive nor all equal, and fit small index ranges if they are ints."""

    def __init__(self, name, dtype):
        self.name, self.dtype = name, dtype

    def __getitem__(self, shape):
        shape = shape if isinstance(shape, tuple) else (shape,)
        count = 1
        for size in shape:
            count *= size
        flat = torch.arange(count) * 7 % 11
        if self.dtype == torch.bool:
            flat = flat % 2
        elif not (self.dtype.is_floating_point or self.dtype.is_complex):
            flat = flat % 3
        else:
            flat = (flat - 3) / 4
        return flat.to(self.dtype).reshape(shape)

    def __call__(self, numbers):
        return torch.tensor(numbers, dtype=self.dtype)


def quantized(dtype, *shape, per_channel=False):
    values = Filled("f32", torch.float32)[shape]
    if per_channel:
        count = shape[0]
        return torch.quantize_per_channel(values, torch.full((count,), 0.25), torch.zeros(count), 0, dtype)
    return torch.quantize_per_tensor(values, 0.25, 1 if dtype == torch.quint8 else 0, dtype)


def linear_packed(bias=True):
    return torch.ops.quantized.linear_prepack(quantized(torch.qint8, 3, 4), f32[3] if bias else None)


def conv_packed(dims, transposed=False):
    name = f"conv{'_transpose' if transposed else ''}{dims}d_prepack"
    extra = [[0] * dims] if transposed else []
    weight = quantized(torch.qint8, *[2, 2, *[3] * dims])
    return getattr(torch.ops.quantized, name)(weight, f32[2], [1] * dims, [1] * dims, *extra, [1] * dims, 1)


def embedding_packed():
    return torch.ops.quantized.embedding_bag_prepack(quantized(torch.quint8, 10, 16, per_channel=True))


def cells():
    ih, hh = (torch.ops.quantized.linear_prepack(quantized(torch.qint8, 12, n), f32[12]) for n in (4, 3))
    return [torch.ops.quantized.make_quantized_cell_params_dynamic(ih, hh, f32[12], f32[12], True)]


def fbgemm_weight(*shape):
    """What FBGEMM makes of a weight: its bytes, the offsets of its columns, scale and zero point."""
    return torch.ops.aten.fbgemm_linear_quantize_weight(f32[shape])


def fbgemm_packed(*shape):
    return torch.ops.aten.fbgemm_pack_quantized_matrix(fbgemm_weight(*shape)[0])


def cell_packed(*shape):
    return torch.ops.quantized.linear_prepack(quantized(torch.qint8, *shape), f32[shape[0]])


def conv_context():
    prepack = torch.ops.mkldnn_prepacked.conv2d_prepack
    return prepack(f32[2, 2, 3, 3], f32[2], [1, 1], [1, 1], [1, 1], 1, [1, 2, 4, 4], "none")


def sparse_packed():
    """QNNPACK alone has sparse quantized matrices."""
    engine = torch.backends.quantized.engine
    torch.backends.quantized.engine = "qnnpack"
    try:
        return torch.ops.sparse.qlinear_prepack(quantized(torch.qint8, 8, 4), f32[8], 1, 4)
    finally:
        torch.backends.quantized.engine = engine


def process_group():
    """A group of this process alone, whose collectives do nothing."""
    import torch.distributed
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group("fake", rank=0, world_size=1, store=FakeStore())
    return torch.distributed.group.WORLD.boxed()


def whole_channels(*shape):
    """Quantized by channel, with zero points that are integers."""
    count = shape[0]
    return torch.quantize_per_channel(
        f32[shape], torch.full((count,), 0.25), torch.zeros(count, dtype=torch.int64), 0, torch.qint8
    )


def conv1d_packed():
    return torch.ops.quantized.conv1d_prepack(quantized(torch.qint8, 2, 2, 3), f32[2], [1], [1], [1], 1)


def gru_cells():
    ih, hh = (torch.ops.quantized.linear_prepack(quantized(torch.qint8, 9, n), f32[9]) for n in (4, 3))
    return [torch.ops.quantized.make_quantized_cell_params_dynamic(ih, hh, f32[9], f32[9], True)]


def group_name():
    import torch.distributed

    process_group()
    return torch.distributed.group.WORLD.group_name


f32 = Filled("f32", torch.float32)
NAMES = {
    "f32": f32,
    "f64": Filled("f64", torch.float64),
    "i64": Filled("i64", torch.int64),
    "i32": Filled("i32", torch.int32),
    "i8": Filled("i8", torch.int8),
    "i16": Filled("i16", torch.int16),
    "f16": Filled("f16", torch.float16),
    "bf16": Filled("bf16", torch.bfloat16),
    "u8": Filled("u8", torch.uint8),
    "b8": Filled("b8", torch.bool),
    "c64": Filled("c64", torch.complex64),
    "c128": Filled("c128", torch.complex128),
    "device": torch.device,
    "q8": lambda *shape: quantized(torch.quint8, *shape),
    "qi8": lambda *shape: quantized(torch.qint8, *shape),
    "channels": lambda *shape: quantized(torch.qint8, *shape, per_channel=True),
    "sparse": lambda *shape: f32[shape].to_sparse(),
    "csr": lambda *shape: f32[shape].to_sparse_csr(),
    "mkldnn": lambda *shape: f32[shape].to_mkldnn(),
    "coo": lambda *shape: f32[shape].to_sparse().coalesce(),
    "hybrid": lambda *shape: f32[shape].to_sparse(1),
    "nested": lambda: torch.nested.nested_tensor([f32[2, 4], f32[3, 4]]),
    "needs_grad": lambda tensor: tensor.requires_grad_(),
    "linear_packed": linear_packed,
    "conv_packed": conv_packed,
    "embedding_packed": embedding_packed,
    "embedding_rows": lambda: quantized(torch.quint8, 10, 16, per_channel=True),
    "whole_channels": whole_channels,
    "conv1d_packed": conv1d_packed,
    "gru_cells": gru_cells,
    "cells": cells,
    "cell_packed": cell_packed,
    "fbgemm_weight": fbgemm_weight,
    "fbgemm_packed": fbgemm_packed,
    "conv_context": conv_context,
    "sparse_packed": sparse_packed,
    "record": lambda: torch.ops.profiler._record_function_enter_new("recorded"),
    "group": process_group,
    "group_name": group_name,
    "sum_of_ranks": lambda: torch.classes.c10d.ReduceOp(),
    "storage": lambda: f32[4].untyped_storage(),
    "stream": lambda: torch.Stream(device="cpu"),
    "generator": lambda: torch.Generator().manual_seed(5),
}


def lines():
    """The calls: full name, the mark of the line, the text of the arguments."""
    for line in FILE.read_text().splitlines():
        if line and not line.startswith("#"):
            name, arguments = line.lstrip("~!").split("(", 1)
            yield name, line[0] if line[0] in "~!" else "", "(" + arguments


def read():
    """The first call of each operator: pairs of a full name and (the mark of the line, the text of the arguments)."""
    calls = {}
    for name, mark, text in lines():
        calls.setdefault(name, (mark, text))
    return calls


#: Dispatch keys whose kernels run on CPU tensors of some kind.
CPU_KEYS = [
    "CPU", "QuantizedCPU", "SparseCPU", "SparseCsrCPU", "MkldnnCPU", "NestedTensorCPU", "BackendSelect", "CompositeImplicitAutograd",
    "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional", "CompositeImplicitAutogradNestedTensor",
]  # fmt: skip
NO_KERNEL = "no kernel for CPU"
RAISING = FILE.parent / "operators_that_raise.txt"


def has_kernel(name):
    """Whether a kernel for CPU is registered."""
    return any(torch._C._dispatch_has_kernel_for_dispatch_key(name, key) for key in CPU_KEYS)


def reasons():
    """Why operators only raise, by name."""
    listed = RAISING.read_text().splitlines() if RAISING.exists() else []
    return dict(line.split(": ", 1) for line in listed if line and not line.startswith("#"))


def raising():
    """The operators of which no call is answered."""
    return sorted(name for name, (mark, _) in read().items() if mark == "!")


HEADER = "# Calls of the dispatcher's operators, as eager answers them: written by tests/python/recorded_calls.py, see there.\n"


def write(calls):
    """The file anew, of what lines() yields; the calls of an operator stay in their order."""
    texts = [f"{mark}{name}{text}\n" for name, mark, text in sorted(calls, key=lambda call: call[0])]
    FILE.write_text(HEADER + "".join(texts))


def make(text):
    """The arguments, new at each call."""
    return eval(
        text[:-1] + ("," if len(text) > 2 else "") + ")", {"__builtins__": {}}, NAMES
    )  # text of this repository


SPECS = ["f32[3,3]", "f32[4]", "i64[3]", "f32[1,2,4,4]", "f32[2,3,4]", "i64[3,3]", "b8[3,3]", "c64[3,3]", "f32[()]", "f64[3,3]", "i64[()]",
         "f32[2,2,2,4,4]", "u8[4]", "f32[1]", "i64[1]", "i32[3]", "c64[4]", "b8[3]", "f32[3,3,3]", "q8(3,4)", "q8(1,2,4,4)", "q8(1,2,4,4,4)", "qi8(3,4)",
       "channels(3,4)", "sparse(3,3)", "csr(3,3)", "mkldnn(1,2,4,4)", "nested()", "i32[3,3]", "i8[3,4]", "f32[2,4,4]"]  # fmt: skip
BY_NAME = {
    "dtype": ["6"], "reduction": ["1"], "dim": ["0", "1"], "kernel_size": ["[2,2]", "[2]", "[2,2,2]"], "stride": ["[1,1]", "[1]", "[3,1]", "[1,1,1]"],
    "padding": ["[0,0]", "[0]", "[0,0,0]"], "dilation": ["[1,1]", "[1]", "[1,1,1]"], "output_size": ["[2,2]", "[2]", "[2,2,2]", "[4,4]"],
    "size": ["[3,3]", "[4]", "[2]"], "groups": ["1"], "dims": ["[0,1]", "[0]"], "shape": ["[3,3]", "[4]"], "p": ["2", "0.5"], "layout": ["0"],
    "memory_format": ["0"], "n": ["2"], "k": ["1", "2"], "end": ["3"], "start": ["0"], "steps": ["4"], "step": ["1"], "self_size": ["[3,3]"],
    "input_size": ["[1,2,4,4]"], "input_sizes": ["[3,3]"], "split_size": ["1", "[1,2]"], "chunks": ["2"], "names": [], "equation": ['"ij->ji"'],
    "upscale_factor": ["1", "2"], "downscale_factor": ["2"], "num_classes": ["3", "-1"], "repeats": ["[2,2]", "2"], "num_samples": ["2"],
    "rounding_mode": ['"floor"', "None"], "reduce": ['"sum"', '"amax"'], "mode": ['"linear"', "0", '"reduced"', '"constant"'], "side": ["None", '"left"'],
    "device": ["None", 'device("cpu")'], "pin_memory": ["None"], "generator": ["None"], "window_length": ["4"], "ord": ["2", '"fro"'],
}  # fmt: skip
BY_TYPE = {
    "int": ["1", "0", "2", "-1", "3"], "float": ["0.5", "1.0", "2.0"], "bool": ["False", "True"], "Scalar": ["2", "0.5", "1"],
    "str": ['"none"', '"mean"', '"sum"', '"ij"', '"reflect"', '"cpu"', '"L"'], "Device": ['device("cpu")'], "int[]": ["[1]", "[1,1]", "[0]", "[2,2]", "[3,3]", "[0,1]", "[]", "[1,1,1]"],
    "float[]": ["[0.5]", "[1.0,2.0]", "[0.5,0.5,0.5]"], "bool[]": ["[True]", "[True,True]", "[True,False,True]"], "Scalar[]": ["[1,2]"],
    "Any": ["1"], "str[]": ['["a"]'], "Generator": [],
}  # fmt: skip
OBJECTS = {
    "quantized.Conv2dPackedParamsBase": ["conv_packed(2)", "conv_packed(2, True)"], "quantized.LinearPackedParamsBase": ["linear_packed()"],
    "quantized.Conv3dPackedParamsBase": ["conv_packed(3)"], "quantized.EmbeddingPackedParamsBase": ["embedding_packed()"],
    "rnn.CellParamsBase[]": ["cells()"], "c10d.ProcessGroup": ["group()"], "c10d.ReduceOp": ["sum_of_ranks()"],
}  # fmt: skip


#: What trying does not find, or what crashes unless all of it fits together.
BY_HAND = dict(
    re.fullmatch(r"([\w:.]+)(\(.*\))", line).groups()
    for line in (FILE.parent / "operator_calls_by_hand.txt").read_text().splitlines()
    if not line.startswith("#")
)


def texts_of(argument, spec):
    type_text = argument.type.str()
    optional = type_text.endswith("?")
    kind = type_text[:-1] if optional else type_text
    fixed = {"Tensor": [spec], "Tensor[]": [f"[{spec},{spec}]", f"[{spec}]"], "Tensor?[]": [f"[{spec}]", f"[{spec},{spec}]"],
             "Tensor[][]": [f"[[{spec}]]", f"[[{spec}],[{spec}]]"], "Scalar?[]": ["[1]"], "str[][]": ['[["a"]]'], "Storage": ["storage()"],
             "Stream": ["stream()"], "Generator": ["generator()"]}  # fmt: skip
    if kind in fixed:
        texts = fixed[kind]
    elif kind.startswith("__torch__"):
        texts = OBJECTS.get(kind.removeprefix("__torch__.torch.classes."), [])
    else:
        named = BY_NAME.get(argument.name, [])
        texts = [t for t in named if t.startswith("[") == kind.endswith("[]")] + BY_TYPE.get(kind, [])
    return (["None", *texts] if optional else texts) or ["None"]


def arguments_of(text):
    """The texts of the arguments in `(a, b[1,2], c)`."""
    out, depth, start = [], 0, 1
    for i, c in enumerate(text[1:-1], 1):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            out.append(text[start:i].strip())
            start = i + 1
    last = text[start:-1].strip()
    return [*out, last] if last else out


def relatives(name):
    """Names of operators whose arguments may fit: other overloads, without the underscore, the namespaces of the same."""
    base = name.split(".")[0]
    space, plain = base.split("::")
    stems = {plain, plain.rstrip("_"), plain.removesuffix("_copy"), plain.removesuffix("_backward"), plain.lstrip("_"),
             plain.removesuffix("_relu"), plain.removesuffix("_with_indices")}  # fmt: skip
    return [
        f"{s}::{stem}"
        for s in dict.fromkeys([space, "aten", "quantized"])
        for stem in sorted(stems, key=lambda t: t != plain)
    ]


def shown(value):
    """The text that makes a tensor like `value`; None if it is none, or none of the known kinds."""
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided or value.is_quantized:
        return None
    for name, maker in NAMES.items():
        if isinstance(maker, Filled) and maker.dtype == value.dtype:
            return f"{name}[{','.join(map(str, value.shape)) or '()'}]"


def inherited(name, schema, schemas, calls):
    """Candidates made of what relatives accepted; out tensors are like their results."""
    for stem in relatives(name):
        for other, (mark, text) in list(calls.items()):
            if mark == "!" or other == name or other.split(".")[0] != stem or other not in schemas:
                continue
            types = {a.name: a.type.str() for a in schema.arguments}
            given = {
                a.name: t
                for a, t in zip(schemas[other].arguments, arguments_of(text))
                if types.get(a.name) == a.type.str()
            }
            outs = [a.name for a in schema.arguments if a.kwarg_only and a.is_out]
            if outs:
                try:
                    result = run(eager(schemas[other]), text)[0]
                except Exception:
                    continue
                results = list(result) if isinstance(result, (tuple, list)) else [result]
                lists = [a for a in schema.arguments if a.is_out and a.type.str() == "Tensor[]"]
                if lists:
                    given[lists[0].name] = "[" + ",".join(str(shown(r)) for r in results) + "]"
                else:
                    given |= {out: shown(r) for out, r in zip(outs, results) if shown(r)}
            specs = [t for t in arguments_of(text) if "[" in t or "(" in t][:1] + ["f32[3,3]", "f32[1,2,4,4]"]
            for spec in dict.fromkeys(specs):
                yield [given.get(a.name) or texts_of(a, spec)[0] for a in schema.arguments]
                yield [given.get(a.name) or texts_of(a, spec)[-1] for a in schema.arguments]


def candidates(name, schema, schemas, calls):
    if name in BY_HAND:
        yield arguments_of(BY_HAND[name])
        return
    with contextlib.suppress(Exception):  # what a relative returns may not even print
        yield from itertools.islice(inherited(name, schema, schemas, calls), 24)
    arguments = schema.arguments
    choice = random.Random(str(schema))
    for spec in SPECS:
        pools = [texts_of(a, spec) for a in arguments]
        yield [p[0] for p in pools]
        yield [
            p[1] if p[0] == "None" and len(p) > 1 and not a.has_default_value() else p[0]
            for p, a in zip(pools, arguments)
        ]
        yield [choice.choice(p) for p in pools]
    for _ in range(60):
        yield [choice.choice(texts_of(a, choice.choice(SPECS))) for a in arguments]


def split(schema, arguments):
    """Positional arguments and keywords, as eager wants them."""
    pairs = list(zip(schema.arguments, arguments))
    return [v for a, v in pairs if not a.kwarg_only], {a.name: v for a, v in pairs if a.kwarg_only}


def eager(schema):
    """The operator as a function of the schema's arguments in order."""
    operator = torch._C._get_operation_overload(schema.name, schema.overload_name)[0]

    def call(*arguments):
        positional, keywords = split(schema, arguments)
        return operator(*positional, **keywords)

    return call


def run(operator, text):
    torch.manual_seed(0)
    arguments = make(text)
    return operator(*arguments), arguments


def disturb():
    """Fills what the allocator would return next, so that memory that nobody wrote shows."""
    for size in (4, 16, 36, 64, 256, 1024):
        torch.full((size,), float("nan"))


def of_the_conversion(error):
    """Whether Python's arguments were refused before the operator saw them."""
    return bool(
        re.search(
            r"xpected a value of type|Declaration: |Unknown keyword|is missing value|not implemented for", str(error)
        )
    )


def of_the_operator(error, name):
    return name in BY_HAND or isinstance(error, RuntimeError) and not of_the_conversion(error)


def says_it_again(operator, text, error):
    """Some messages name sizes that are read from memory that nobody wrote."""
    disturb()
    try:
        run(operator, text)
    except Exception as again:
        return str(again) == str(error)
    return False


def recorded(name, schemas, calls, crashed, say):
    """The line of an operator: of the first candidate that eager accepts, else of an error; None if there is neither."""
    from operator_calls import same

    operator = eager(schemas[name])
    error_text, seen = None, set(crashed)
    for texts in itertools.islice(candidates(name, schemas[name], schemas, calls), 160):
        text = "(" + ", ".join(texts) + ")"
        if text in seen:
            continue
        seen.add(text)
        say(text)
        try:
            results = [run(operator, text)]
        except Exception as error:
            if error_text is None and of_the_operator(error, name) and says_it_again(operator, text, error):
                error_text = text
            continue
        try:
            disturb()
            results.append(run(operator, text))
            mark = "" if same(*results) and "empty" not in name else "~"
        except Exception:
            mark = "~"
        return f"{mark}{name}{text}"
    return f"!{name}{error_text}" if error_text else None


def record(schemas, names):
    """What a child process does, until an operator ends it: a line before each try, and one for each operator."""
    resource.setrlimit(resource.RLIMIT_AS, (24 << 30, 24 << 30))

    def say(kind, *rest):
        print(kind, *rest, sep="\t", file=sys.__stdout__, flush=True)

    calls = read()
    crashed = [line.rstrip("\n").split("\t") for line in sys.stdin]
    for name in names:
        if name in calls or [name] in crashed:
            continue
        signal.setitimer(signal.ITIMER_PROF, 4)  # ends the process
        line = recorded(
            name,
            schemas,
            calls,
            [t[1] for t in crashed if t[0] == name and len(t) > 1],
            lambda t, n=name: say("try", n, t),
        )
        if line:
            mark = line[0] if line[0] in "~!" else ""
            calls[name] = (mark, line[len(mark) + len(name) :])
            say("line", line)
        else:
            crashed.append([name])
            say("none", name)


def main():
    from operator_calls import full_name

    torch.set_num_threads(1)
    schemas = {full_name(s): s for s in torch._C._jit_get_all_schemas()}
    dispatcher = set(torch._C._dispatch_get_all_op_names())
    names = sorted(
        (n for n in schemas if n in dispatcher), key=lambda n: (any(a.is_out for a in schemas[n].arguments), n)
    )
    if sys.argv[1:] == ["child"]:
        return record(schemas, names)
    crashed, done = [], False
    while not done:
        child = subprocess.run(
            [sys.executable, __file__, "child"],
            input="".join(line + "\n" for line in crashed),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        said = [line.split("\t", 1) for line in child.stdout.splitlines() if re.match(r"(try|line|none)\t", line)]
        done = child.returncode == 0
        crashed += [text for kind, text in said if kind == "none"]
        if not done and said:
            crashed.append(said[-1][1])
            if sum(c.split("\t")[0] == said[-1][1].split("\t")[0] for c in crashed) > 6:
                crashed.append(said[-1][1].split("\t")[0])
        FILE.write_text(FILE.read_text() + "".join(text + "\n" for kind, text in said if kind == "line"))
        write(lines())
        print(len(read()), "of", len(names), "ended by", crashed[-1:] if not done else "", child.returncode, flush=True)
    print("without a call:", *[n for n in names if n not in read()], sep="\n  ")


if __name__ == "__main__":
    main()
