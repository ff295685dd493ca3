"""Calls all operators of the dispatcher on small tensors, and prints which return memory of an argument that their schema
calls fresh: a line "operator:argument" for each. Run as a program: some operators end the process for such arguments.
"""

import os
import signal
import sys
import warnings

import torch

#: Operators that write past their arguments, wait for devices or other processes, or ask for what no test can give.
SKIPPED = (
    "c10d",
    "_c10d_functional",
    "rpc",
    "profiler",
    "cuda",
    "mkldnn_rnn",
    "record_stream",
    "streams",
    "debugprims",
)


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from tensors_in(one)


def memory_of(value):
    """The addresses of storages, of the parts of sparse tensors, too."""
    found = set()
    for tensor in tensors_in(value):
        try:
            if tensor.layout == torch.sparse_coo:
                found |= memory_of([tensor._indices(), tensor._values()])
            elif tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
                found |= memory_of([tensor.crow_indices(), tensor.col_indices(), tensor.values()])
            elif tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
                found |= memory_of([tensor.ccol_indices(), tensor.row_indices(), tensor.values()])
            elif tensor.layout == torch.strided and tensor.numel():
                found.add(tensor.untyped_storage().data_ptr())
        except (RuntimeError, NotImplementedError):
            continue
    return found


def share(results, value):
    """Whether a result is the value, or holds memory of it. What sparse tensors share with each other doesn't count: in-place
    operators give them other parts."""
    return any(
        a is b or (memory_of(a) & memory_of(b) and torch.strided in (a.layout, b.layout))
        for a in tensors_in(results)
        for b in tensors_in(value)
    )


def bases():
    matrix = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    yield from (
        matrix,
        matrix.double(),
        matrix.half(),
        matrix.long(),
        matrix.int(),
        matrix.bool(),
        matrix.to(torch.uint8),
    )
    yield torch.complex(matrix, matrix)
    yield from (
        torch.rand(1, 2, 2, 2),
        torch.rand(2, 2, 2),
        torch.rand(4),
        torch.ones(1),
        torch.ones(1, 1),
        torch.ones(()),
    )
    yield from (torch.zeros(1, dtype=torch.long), torch.tensor([0, 1]), torch.tensor([[0, 1]]))
    yield from (matrix.to_sparse(), matrix.to_sparse_csr())
    yield torch.quantize_per_tensor(matrix, 0.1, 0, torch.quint8)


#: Arguments of which a sparse tensor can be made.
PARTS_OF_SPARSE = {
    "indices": [[0, 1], [0, 1]],
    "values": [1.0, 2.0],
    **dict.fromkeys(("crow_indices", "ccol_indices", "compressed_indices"), [0, 1, 2]),
    **dict.fromkeys(("col_indices", "row_indices", "plain_indices"), [0, 1]),
}
SIZES = {
    "size",
    "sizes",
    "shape",
    "output_size",
    "dense_size",
    "sample_shape",
    "kernel_size",
    "input_shape",
    "sym_size",
    "self_size",
}


def value_for(argument, base, variant, is_first):
    """A value of the argument's type; raises LookupError if there is none."""
    kind = str(argument.type)
    if kind == "Tensor":
        if variant == 4 and argument.name in PARTS_OF_SPARSE:
            return torch.tensor(PARTS_OF_SPARSE[argument.name])
        if argument.name in ("index", "indices") and not is_first:
            return torch.zeros(base.shape, dtype=torch.long)
        return base if is_first else base.clone()
    if kind == "List[Tensor]":
        return [base]
    if kind == "Optional[Tensor]":
        return base.clone() if variant == 3 else None
    if kind == "List[Optional[Tensor]]":
        return [torch.zeros(1, dtype=torch.long)]
    if kind.startswith("Optional") and not (kind == "Optional[List[int]]" and argument.name in SIZES):
        if kind == "Optional[int]" and argument.name == "dtype" and variant % 2:
            return base.dtype
        return None
    if kind == "int":
        if argument.name in ("dtype", "input_dtype", "dst_type"):
            return base.dtype
        if argument.name in ("layout",):
            return base.layout
        return (1, 0, 0, 1, 2)[variant] if "dim" not in argument.name else 0
    if kind == "number":
        return (1, 0, 1, 0, 1)[variant]
    if kind == "float":
        return (0.5, 0.0, 1.0, 0.0, 0.5)[variant]
    if kind == "bool":
        return bool(variant % 2)
    if kind in ("List[int]", "Optional[List[int]]"):
        if argument.name in SIZES or "size" in argument.name:
            return [2, 2] if variant == 4 else list(base.shape)
        if argument.name in ("stride", "strides"):
            return list(base.stride()) if variant < 2 else [1] * base.dim()
        if "dim" in argument.name:
            return (list(range(base.dim())), [0], [], [0], [0])[variant]
        return ([1], [0], [1] * base.dim(), [0] * base.dim(), [1])[variant]
    if kind == "List[bool]":
        return [True] * 3
    if kind == "str":
        return ("mean", "ij", "constant", "zeros", "mean")[variant]
    if kind == "Device":
        return torch.device("cpu")
    if kind == "List[float]":
        return [1.0]
    if kind in ("List[number]",):
        return [1]
    raise LookupError(kind)


def shared_by(name, overload):
    """Names of arguments whose memory a call has returned, though the schema says fresh."""
    schema, found = overload._schema, set()
    if schema.is_mutable or not any("Tensor" in str(a.type) for a in schema.arguments):
        return found
    if not any("Tensor" in str(r.type) for r in schema.returns):
        return found
    for base in bases():
        for variant in range(9):
            given, by_name, has_tensor = [], {}, False
            try:
                for argument in schema.arguments:
                    if variant >= 5 and argument.has_default_value():
                        value = argument.default_value
                    else:
                        value = value_for(argument, base, variant % 5, not has_tensor)
                    has_tensor |= "Tensor" in str(argument.type)
                    if argument.kwarg_only:
                        by_name[argument.name] = value
                    else:
                        given.append(value)
            except LookupError:
                continue
            try:
                results = overload(*given, **by_name)
            except Exception:
                continue
            values = dict(zip([a.name for a in schema.arguments if not a.kwarg_only], given)) | by_name
            for argument in schema.arguments:
                if not argument.alias_info and share(results, values[argument.name]):
                    found.add(argument.name)
    return found


def sweep(names, report):
    for number, full in enumerate(names):
        namespace, _, name = full.partition("::")
        packet, _, overload = name.partition(".")
        report(f"{number}")
        signal.alarm(5)
        try:
            op = getattr(getattr(getattr(torch.ops, namespace), packet), overload or "default")
            found = shared_by(full, op)
        except (AttributeError, RuntimeError):
            continue
        for argument in sorted(found):
            report(f"{full}:{argument}")


def main():
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    known = {str(s.name) + (f".{s.overload_name}" if s.overload_name else "") for s in torch._C._jit_get_all_schemas()}
    known |= set(torch._C._dispatch_get_all_op_names())
    names = sorted(n for n in known if not any(s in n for s in SKIPPED))
    if len(sys.argv) > 1:
        names = [n for n in names if n.split(".")[0] in sys.argv[1:] or n in sys.argv[1:]]
    begin = 0
    while begin < len(names):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            sweep(names[begin:], lambda line: os.write(writing, line.encode() + b"\n"))
            os._exit(0)
        os.close(writing)
        number = 0
        with os.fdopen(reading) as lines:
            for line in lines:
                if line.strip().isdigit():
                    number = int(line)
                else:
                    print(line.strip(), flush=True)
        ended = os.waitpid(child, 0)[1] == 0
        if not ended:
            print("# ended by", names[begin + number], file=sys.stderr)
        begin = len(names) if ended else begin + number + 1


if __name__ == "__main__":
    main()
