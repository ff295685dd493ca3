"""Runs the programs of PyTorch's own tests of its static runtime in Cresset's:
`python tools/static_runtime_tests.py PYTORCH/benchmarks/static_runtime/test_static_runtime.cc`.

PYTORCH is a source tree of PyTorch that still has them (2.6 does). The tests are C++: the program of each
`testStaticRuntime(program, arguments, other arguments)` is taken with its arguments, as far as the declarations before it
can be read as Python. Each runs on torch.jit and in static modules with three sets of options, with the arguments, the
other arguments and the first again; values, dtypes and strides have to be equal. Numerics are exact.
"""

import argparse
import collections
import itertools
import os
import re
import sys
from pathlib import Path

os.environ.setdefault("CRESSET_NUMERICS", "exact")

import torch

import cresset

OPTIONS = [{}, {"manage_output_tensors": True}, {"enable_out_variant": False, "optimize_memory": False}]
DTYPES = {
    "Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Bool": "bool", "Byte": "uint8",
    "Char": "int8", "Short": "int16", "Int": "int32", "Int32": "int32", "Long": "int64", "Int64": "int64",
    "ComplexFloat": "complex64", "ComplexDouble": "complex128",
}  # fmt: skip
FORMATS = {"Contiguous": "contiguous_format", "Preserve": "preserve_format", "ChannelsLast": "channels_last"}
RANDOM = re.compile("rand|bernoulli|multinomial|dropout|empty")
DECLARATION = re.compile(
    r"(?:(?:const|static)\s+)*(?:auto|std::string|(?:at::|torch::)?Tensor|std::vector<[^=]*?>|c10::List<[^=]*?>|int|int64_t|"
    r"float|double|bool|(?:c10::)?IValue|char\*?|std::tuple<.*?>)\s*[&*]?\s*(\w+(?:\s*,\s*\w+\{.*\})?)\s*([={(])(.*)$",
    re.S,
)
#: C++ as Python, in this order.
REWRITES = [
    (r"(?:c10|at)::MemoryFormat::(\w+)", lambda m: "at." + FORMATS[m[1]]),
    (r"(?:at|torch|c10)::(?:ScalarType::|k)(\w+)\b", lambda m: "at." + DTYPES.get(m[1], m[1])),
    (r"(?:c10|at|torch)::List<[^{}()]*?>(?=[({])", ""),
    (r"std::(?:vector|initializer_list)<[^{}()]*>(?=[({])", ""),
    (r"std::make_tuple|(?:c10::)?ivalue::Tuple::create", "as_tuple"),
    (r"(?:c10::|at::)?IValue\(\)|(?:c10|std)::nullopt|\bnullptr\b", "None"),
    (r"(?:c10::|at::|torch::)?IValue\(", "("),
    (r"(?:c10|at)::(?:Scalar|ArrayRef<\w+>|IntArrayRef)\(", "("),
    (r"static_cast<\w+>|\(int64_t\)|\(float\)|int64_t(?=[({])|\bint(?=\()", ""),
    (r"\b(?:at|torch|c10)::(?:native::)?", "at."),
    (r"(\d+\.?\d*)[fL]\b", r"\1"),
    (r"(\d\.)(?=[,}) ]|$)", r"\g<1>0"),
    (r"\btrue\b", "True"),
    (r"\bfalse\b", "False"),
    (r"->", "."),
    (r"std::string", "str"),
    (r"!", "not "),
]


class Functions:
    """torch's functions, called as C++ does: dtype and device are positional there."""

    CPU, Strided = torch.device("cpu"), torch.strided

    def __getattr__(self, name):
        value = getattr(torch, name)
        return value if isinstance(value, type) or not callable(value) else lambda *args, **kw: call(value, args, kw)


def call(function, arguments, keywords):
    dtypes = [a for a in arguments if isinstance(a, torch.dtype)]
    if dtypes:
        keywords["dtype"] = dtypes[0]
    return function(*[a for a in arguments if not isinstance(a, (torch.dtype, torch.device, torch.layout))], **keywords)


def to_python(text):
    for pattern, replacement in REWRITES:
        text = re.sub(pattern, replacement, text)
    return text.strip().replace("{", "[").replace("}", "]")


def split(text, separator):
    """The parts between separators that stand in no bracket and no string."""
    parts, depth, quote = [""], 0, ""
    for c in text:
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        else:
            depth += (c in "({[") - (c in ")]}")
            if c == separator and depth <= 0:
                parts.append("")
                continue
        parts[-1] += c
    return [part.strip() for part in parts if part.strip()]


def tests_of(source):
    """(name, statements, the raw strings by number) for every TEST."""
    strings = []

    def keep(match):
        strings.append(match[2])
        return f"strings[{len(strings) - 1}]"

    source = re.sub(r'R"(\w*)\((.*?)\)\1"', keep, source, flags=re.S)
    source = re.sub(r"/\*.*?\*/|//[^\n]*", "", source, flags=re.S)
    for match in re.finditer(r"TEST\(\w+,\s*(\w+)\)\s*\{", source):
        depth, end = 1, match.end()
        while depth:
            depth += (source[end] == "{") - (source[end] == "}")
            end += 1
        yield match[1], split(source[match.end() : end - 1], ";"), strings


def programs_of(statements, strings):
    """(program, arguments, other arguments) as far as the statements can be read; counts what can't."""
    names = {"at": Functions(), "strings": strings, "as_tuple": lambda *items: items}
    for statement in statements:
        try:
            if found := re.fullmatch(r"testStaticRuntime\((.*)\)", statement, re.S):
                values = [eval(to_python(part), names) for part in split(found[1], ",")[:3]]
                program, first, second = (*values, [])[:3]
                if len(second) == 1 and len(first) != 1 and isinstance(second[0], list):
                    second = second[0]
                yield program, list(first), list(second)
            elif found := DECLARATION.match(statement):
                if found[2] == "=":
                    names[found[1]] = eval(to_python(found[3]), names)
                    continue
                for declared in split(found[1] + found[2] + found[3], ","):
                    name, value = re.fullmatch(r"(\w+)\s*[{(](.*)[})]", declared, re.S).groups()
                    names[name] = eval(f"[{to_python(value)}]", names)
        except Exception:
            if statement.startswith("testStaticRuntime"):
                yield None


def copied(value):
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, (list, tuple)):
        return type(value)(copied(item) for item in value)
    return value


def same(a, b):
    if isinstance(a, torch.Tensor):
        if not isinstance(b, torch.Tensor) or (a.dtype, a.shape, a.is_quantized) != (b.dtype, b.shape, b.is_quantized):
            return False
        if a.is_quantized:
            a, b = a.dequantize(), b.dequantize()
        return a.stride() == b.stride() and torch.allclose(a, b, 0, 0, equal_nan=True)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return a == b or (a != a and b != b)


_numbers = itertools.count()


def made(program, is_graph, ir, module):
    """The program by one engine: a function of its graph, or a module with its methods."""
    if is_graph:
        return ir(program)
    result = type(f"M{next(_numbers)}", (module,), {})()
    result.define(program)
    return result


def try_program(program, first, second):
    """(result, what is to be said)."""
    is_graph = program.strip().startswith("graph")
    try:
        reference = made(
            program,
            is_graph,
            lambda text: torch._C._create_function_from_graph("forward", torch._C.parse_ir(text, True)),
            torch.jit.ScriptModule,
        )
        run = reference if is_graph else reference.forward
        run(*copied(first))
    except Exception:
        return "refused by torch.jit", ""
    for options in OPTIONS:
        try:
            module = made(program, is_graph, cresset.parse_ir, cresset.ScriptModule)
            static = cresset.static_module(module if is_graph else module.eval(), **options)
        except Exception as error:
            return "refused by Cresset", error
        for arguments in (first, second or first, first):
            try:
                expected = run(*copied(arguments))
            except Exception:
                continue
            try:
                seen = static(*copied(arguments))
            except Exception as error:
                return "raised by Cresset", error
            if not RANDOM.search(program) and not same(expected, seen):
                return "different", f"{options}: {expected} expected, {seen} found"
    return "equal", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="+", help="C++ files of PyTorch's benchmarks/static_runtime")
    parser.add_argument("--only", help="the name of one test")
    args = parser.parse_args()
    torch.manual_seed(0)
    counts = collections.Counter()
    for file in args.file:
        for name, statements, strings in tests_of(file.read_text()):
            if args.only not in (None, name):
                continue
            for program in programs_of(statements, strings):
                if program is None:
                    counts["not read"] += 1
                    continue
                result, why = try_program(*program)
                counts[result] += 1
                if result in ("refused by Cresset", "raised by Cresset", "different"):
                    print(f"{name}: {result}: {why}\n{program[0]}")
    print(", ".join(f"{count} {result}" for result, count in counts.items()))
    return 1 if counts["different"] or counts["raised by Cresset"] or counts["refused by Cresset"] else 0


if __name__ == "__main__":
    sys.exit(main())
