"""tests/data/operator_calls.txt: for operators of the dispatcher, a call that eager PyTorch accepts.

A line is `aten::add.Tensor(f32[2,3], f32[2,3], 1)`: `f32[2,3]` is a tensor of that dtype and shape with fixed contents.
A line that begins with `~` gives other results each time (memory that nobody wrote, clocks): only metadata is compared.

`python tests/python/recorded_calls.py` writes the file anew, for the installed torch: for each schema it tries arguments
of fitting types, in processes of their own, since some operators crash on arguments that they do not expect.
"""

import itertools
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import torch

FILE = Path(__file__).parent.parent / "data" / "operator_calls.txt"


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


NAMES = {
    "f32": Filled("f32", torch.float32),
    "f64": Filled("f64", torch.float64),
    "i64": Filled("i64", torch.int64),
    "i32": Filled("i32", torch.int32),
    "u8": Filled("u8", torch.uint8),
    "b8": Filled("b8", torch.bool),
    "c64": Filled("c64", torch.complex64),
    "device": torch.device,
}


def read():
    """Pairs of a full name and (whether only metadata counts, the text of the arguments)."""
    calls = {}
    for line in FILE.read_text().splitlines():
        if line and not line.startswith("#"):
            name, arguments = line.lstrip("~").split("(", 1)
            calls[name] = (line.startswith("~"), "(" + arguments)
    return calls


def make(text):
    """The arguments, new at each call."""
    return eval(
        text[:-1] + ("," if len(text) > 2 else "") + ")", {"__builtins__": {}}, NAMES
    )  # text of this repository


SPECS = ["f32[3,3]", "f32[4]", "i64[3]", "f32[1,2,4,4]", "f32[2,3,4]", "i64[3,3]", "b8[3,3]", "c64[3,3]", "f32[()]", "f64[3,3]", "i64[()]",
         "f32[2,2,2,4,4]", "u8[4]", "f32[1]", "i64[1]", "i32[3]", "c64[4]", "b8[3]", "f32[3,3,3]"]  # fmt: skip
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
# What touches files, processes or devices, or what nothing here could call.
SKIPPED = ("c10d::", "_c10d_functional", "rpc::", "cuda", "cudnn", "miopen", "mps", "from_file", "symm_mem", "profiler::", "record_function", "inductor::",
           "aten::set_data", "_debug", "mtia", "_nnapi", "::_test", "static_runtime", "fbgemm")  # fmt: skip


def texts_of(argument, spec):
    type_text = argument.type.str()
    optional = type_text.endswith("?")
    kind = type_text[:-1] if optional else type_text
    if kind == "Tensor":
        texts = [spec]
    elif kind == "Tensor[]" or kind == "Tensor?[]":
        texts = [f"[{spec},{spec}]", f"[{spec}]"]
    elif kind == "Scalar?[]":
        texts = ["[1]"]
    else:
        named = BY_NAME.get(argument.name, [])
        texts = [t for t in named if t.startswith("[") == kind.endswith("[]")] + BY_TYPE.get(kind, [])
    return (["None", *texts] if optional else texts) or ["None"]


def candidates(schema):
    arguments = schema.arguments
    choice = random.Random(str(schema))
    for spec in SPECS:
        pools = [texts_of(a, spec) for a in arguments]
        yield [p[0] for p in pools]
        yield [
            p[1] if p[0] == "None" and len(p) > 1 and not a.has_default_value() else p[0]
            for p, a in zip(pools, arguments)
        ]
        for _ in range(2):
            yield [choice.choice(p) for p in pools]
    for _ in range(40):
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


def accepted(name, schema):
    """The first candidate that eager accepts, as a line; None if there is none."""
    from operator_calls import same

    operator = eager(schema)
    seen = set()
    for texts in itertools.islice(candidates(schema), 90):
        text = "(" + ", ".join(texts) + ")"
        if text in seen:
            continue
        seen.add(text)
        try:
            results = [run(operator, text)]
        except Exception:
            continue
        try:
            results.append(run(operator, text))
            return f"{'' if same(*results) else '~'}{name}{text}"
        except Exception:
            return None  # a result that nothing can look into
    return None


def record(schemas, names):
    """What a child process does: a line per schema from its place in the list on, until one of them ends it."""
    for i, name in enumerate(names):
        signal.setitimer(signal.ITIMER_PROF, 3)  # ends the process
        print(f"{i}\t{accepted(name, schemas[name]) or ''}", file=sys.__stdout__, flush=True)


def main():
    from operator_calls import full_name

    torch.set_num_threads(1)
    schemas = {full_name(s): s for s in torch._C._jit_get_all_schemas()}
    dispatcher = set(torch._C._dispatch_get_all_op_names())
    names = sorted(n for n in schemas if n in dispatcher and not any(s in n for s in SKIPPED))
    if len(sys.argv) > 1:
        return record(schemas, names[int(sys.argv[1]) :])
    out, position = [], 0
    while position < len(names):
        child = subprocess.run(
            [sys.executable, __file__, str(position)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        lines = [line.split("\t", 1) for line in child.stdout.splitlines() if re.match(r"\d+\t", line)]
        out += [text for _, text in lines if text]
        position += len(lines) + 1
        print(position, len(out), "ended by", names[min(position, len(names)) - 1], child.returncode, flush=True)
        header = "# Calls of the dispatcher's operators that eager accepts: written by tests/python/recorded_calls.py, see there.\n"
        FILE.write_text(header + "\n".join(sorted(out, key=lambda line: line.lstrip("~"))) + "\n")


if __name__ == "__main__":
    main()
