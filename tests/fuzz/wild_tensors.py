"""Operators that programs nobody vouches for may call, with integer tensors that nobody should have made.

Kernels take indices, offsets and lengths as tensors; those that don't check them read and write anywhere. So valid calls are
recorded (from the samples that PyTorch tests itself with, forward and backward), and repeated with one integer tensor replaced:
negative, huge or random numbers, or another shape. Calls happen in child processes. One that a signal ends is a failure, unless
the policy refuses the operator: then it belongs in the table of `ops/policy.cpp`, with its reason.

    python wild_tensors.py [--calls N] [--seed S] [--only NAME] [--all]

`--calls` bounds how many recorded calls of each operator are tried; `--all` tries operators that the policy refuses too.
"""

import argparse
import collections
import os
import random
import resource
import signal
import sys
import time
import types
import unittest
import warnings

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

INTEGERS = (torch.int64, torch.int32)
SECONDS_PER_CALL = 20
#: Packed sequences without batch sizes: these read address 0, which ends the process and harms nothing else. Too many
#: programs need them.
ALLOWED = ("aten::lstm.data", "aten::gru.data", "aten::rnn_tanh.data", "aten::rnn_relu.data")
BYTES_PER_CHILD = 4 << 30  # addresses; what asks for more gets an exception


# ---- valid calls ----


def is_index(value):
    return isinstance(value, torch.Tensor) and value.dtype in INTEGERS


def snapshot(value):
    """A copy that no later call changes, small, without a history."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    return value


class Recorder(TorchDispatchMode):
    """Keeps calls of each overload with an integer tensor among the arguments, one for each combination of shapes."""

    def __init__(self):
        super().__init__()
        self.calls = collections.defaultdict(dict)

    def __torch_dispatch__(self, func, _types, args=(), kwargs=None):
        kwargs = kwargs or {}
        leaves, _ = tree_flatten((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        if func.namespace == "aten" and any(map(is_index, tensors)) and sum(t.numel() for t in tensors) < 20_000:
            known = self.calls[func]
            key = tuple((tuple(t.shape), t.dtype, t.layout) for t in tensors)
            if key not in known and len(known) < 64:
                try:
                    known[key] = tree_map(snapshot, (args, kwargs))
                except Exception:  # noqa: BLE001, S110
                    pass
        return func(*args, **kwargs)


def backward(result):
    grads = [t for t in tree_flatten(result)[0] if isinstance(t, torch.Tensor) and t.requires_grad]
    if grads:
        torch.autograd.backward(grads, [torch.ones_like(t) for t in grads])


def record_samples(recorder, samples_per_operator):
    """Records what the samples call; gives the samples with integer tensors themselves, as (operator, arguments)."""
    # PyTorch's samples stand beside its test classes, whose base is a package that is not needed here.
    sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=unittest.TestCase))
    from torch.testing._internal.common_methods_invocations import op_db

    public = []
    for op in op_db:
        for dtype in (torch.float32, torch.int64):
            if dtype not in op.dtypes:
                continue
            differentiable = dtype == torch.float32 and op.supports_autograd
            samples = op.sample_inputs("cpu", dtype, requires_grad=differentiable)
            for count, sample in enumerate(samples):
                if count == samples_per_operator:
                    break
                arguments = ((sample.input, *sample.args), sample.kwargs)
                if any(map(is_index, tree_flatten(arguments)[0])):
                    public.append((op, tree_map(snapshot, arguments)))
                try:
                    with recorder:
                        result = op(sample.input, *sample.args, **sample.kwargs)
                        if differentiable:
                            backward(result)
                except Exception:  # noqa: BLE001
                    continue
    return public


def other_calls():
    """Of operators that no sample reaches, and of those that are made of others, which the recorder does not see."""
    aten = torch.ops.aten

    def call(func, *args, **kwargs):
        return func, (args, kwargs)

    i = torch.tensor([0, 1, 2])
    x = torch.randn(3, 3)
    csr = x.to_sparse_csr()
    coo = x.to_sparse()
    rows = torch.ops.quantized.embedding_bag_byte_prepack(torch.randn(5, 4))
    half_rows = torch.ops.quantized.embedding_bag_4bit_prepack(torch.randn(5, 4))
    return [
        call(torch.ops.quantized.embedding_bag_byte_rowwise_offsets, rows, i, torch.tensor([0, 2])),
        call(torch.ops.quantized.embedding_bag_4bit_rowwise_offsets, half_rows, i, torch.tensor([0, 2])),
        call(aten._convert_indices_from_csr_to_coo, csr.crow_indices(), csr.col_indices()),
        call(aten._convert_indices_from_coo_to_csr, i, 3),
        call(
            aten.max_pool2d_with_indices_backward,
            torch.ones(1, 1, 2, 2),
            torch.ones(1, 1, 4, 4),
            [2, 2],
            [2, 2],
            [0, 0],
            [1, 1],
            False,
            torch.zeros(1, 1, 2, 2, dtype=torch.int64),
        ),
        call(
            aten.max_pool3d_with_indices_backward,
            torch.ones(1, 1, 2, 2, 2),
            torch.ones(1, 1, 4, 4, 4),
            [2] * 3,
            [2] * 3,
            [0] * 3,
            [1] * 3,
            False,
            torch.zeros(1, 1, 2, 2, 2, dtype=torch.int64),
        ),
        call(aten._ctc_loss, torch.randn(5, 2, 4), torch.ones(2, 3, dtype=torch.int64), [5, 5], [3, 3]),
        call(
            aten._ctc_loss,
            torch.randn(5, 2, 4),
            torch.ones(2, 3, dtype=torch.int64),
            torch.tensor([5, 5]),
            torch.tensor([3, 3]),
        ),
        call(
            aten._embedding_bag_dense_backward,
            torch.ones(1, 4),
            i,
            torch.zeros(3, dtype=torch.int64),
            torch.tensor([3]),
            torch.zeros(1, 4, dtype=torch.int64),
            5,
            False,
            0,
            None,
        ),
        call(
            aten._embedding_bag_per_sample_weights_backward,
            torch.ones(1, 4),
            torch.ones(5, 4),
            i,
            torch.tensor([0]),
            torch.zeros(3, dtype=torch.int64),
            0,
        ),
        call(
            aten._embedding_bag_sparse_backward,
            torch.ones(1, 4),
            i,
            torch.tensor([0]),
            torch.zeros(3, dtype=torch.int64),
            torch.tensor([3]),
            5,
            False,
            0,
            None,
        ),
        call(aten._sparse_mm_reduce_impl, csr, x, "sum"),
        call(aten.sparse_coo_tensor, torch.stack([i, i]), torch.ones(3), [3, 3]),
        call(
            aten.sparse_compressed_tensor,
            csr.crow_indices(),
            csr.col_indices(),
            csr.values(),
            [3, 3],
            dtype=torch.float32,
            layout=torch.sparse_csr,
        ),
        call(aten.sparse_mask, x, coo),
        call(aten.embedding_renorm_, torch.randn(5, 4), i, 1.0, 2.0),
        call(aten._pack_padded_sequence, torch.randn(5, 3, 2), torch.tensor([5, 3, 1]), False),
        call(aten._pad_packed_sequence, torch.randn(9, 2), torch.tensor([3, 2, 2, 1, 1]), False, 0.0, 5),
        call(aten._pack_padded_sequence_backward, torch.randn(9, 2), [5, 3, 2], torch.tensor([3, 2, 2, 1, 1]), False),
        call(
            aten.lstm.data,
            torch.randn(9, 2),
            torch.tensor([3, 2, 2, 1, 1]),
            [torch.zeros(1, 3, 2)] * 2,
            [torch.randn(8, 2)] * 2 + [torch.randn(8)] * 2,
            True,
            1,
            0.0,
            False,
            False,
        ),
        call(
            aten.gru.data,
            torch.randn(9, 2),
            torch.tensor([3, 2, 2, 1, 1]),
            torch.zeros(1, 3, 2),
            [torch.randn(6, 2)] * 2 + [torch.randn(6)] * 2,
            True,
            1,
            0.0,
            False,
            False,
        ),
        call(
            aten.rnn_tanh.data,
            torch.randn(9, 2),
            torch.tensor([3, 2, 2, 1, 1]),
            torch.zeros(1, 3, 2),
            [torch.randn(2, 2)] * 2 + [torch.randn(2)] * 2,
            True,
            1,
            0.0,
            False,
            False,
        ),
        call(
            aten.fractional_max_pool2d_backward,
            torch.ones(1, 1, 2, 2),
            torch.ones(1, 1, 4, 4),
            [2, 2],
            [2, 2],
            torch.zeros(1, 1, 2, 2, dtype=torch.int64),
        ),
        call(
            aten.fractional_max_pool3d_backward,
            torch.ones(1, 1, 2, 2, 2),
            torch.ones(1, 1, 4, 4, 4),
            [2] * 3,
            [2] * 3,
            torch.zeros(1, 1, 2, 2, 2, dtype=torch.int64),
        ),
        call(aten.linalg_lu_solve, torch.eye(3), torch.tensor([1, 2, 3], dtype=torch.int32), x),
        call(aten.linalg_ldl_solve, torch.eye(3), torch.tensor([1, 2, 3], dtype=torch.int32), x),
        call(aten.lu_unpack, torch.eye(3), torch.tensor([1, 2, 3], dtype=torch.int32)),
        call(aten._lu_with_info, x),
        call(aten.fake_quantize_per_channel_affine, x, torch.ones(3), torch.zeros(3, dtype=torch.int32), 0, 0, 255),
        call(aten.quantize_per_channel, x, torch.ones(3), torch.zeros(3, dtype=torch.int64), 0, torch.quint8),
        call(
            aten._make_per_channel_quantized_tensor,
            x.to(torch.uint8),
            torch.ones(3),
            torch.zeros(3, dtype=torch.int64),
            0,
        ),
        call(aten._histogramdd_from_bin_cts, x, [2, 2, 2]),
        call(aten._jagged_to_padded_dense_forward, torch.randn(6, 2), [torch.tensor([0, 2, 6])], [4], 0.0),
        call(aten._padded_dense_to_jagged_forward, torch.randn(2, 4, 2), [torch.tensor([0, 2, 6])], 6),
        call(
            aten._weight_int4pack_mm_for_cpu,
            torch.randn(2, 32),
            torch.zeros(16, 16, dtype=torch.uint8),
            32,
            torch.randn(1, 16, 2),
        ),
        call(aten._nested_tensor_from_mask, torch.randn(2, 3, 4), torch.ones(2, 3, dtype=torch.bool)),
        call(aten.multi_margin_loss, x, i),
        call(aten.multilabel_margin_loss, x, torch.tensor([[0, 1, -1]] * 3)),
        call(aten.multilabel_margin_loss_forward, x, torch.tensor([[0, 1, -1]] * 3), 1),
        call(
            aten.multilabel_margin_loss_backward, torch.ones(3), x, torch.tensor([[0, 1, -1]] * 3), 0, torch.zeros(3, 3)
        ),
        call(aten.multi_margin_loss_backward, torch.ones(3), x, i, 1, 1, None, 0),
        call(aten.nll_loss_backward, torch.ones(3), x, i, None, 0, -100, torch.tensor(1.0)),
        call(
            aten.nll_loss2d_backward,
            torch.ones(1, 2, 2),
            torch.randn(1, 3, 2, 2),
            torch.zeros(1, 2, 2, dtype=torch.int64),
            None,
            0,
            -100,
            torch.tensor(1.0),
        ),
        call(aten.value_selecting_reduction_backward, torch.ones(3), 0, i, [3, 3], False),
        call(aten._sparse_sum_backward, torch.ones(()), coo, [0, 1]),
        call(aten._coalesce, coo),
        call(aten.bincount, i),
        call(aten._unique2, i),
        call(aten.searchsorted, torch.tensor([1.0, 2.0, 3.0]), x, sorter=i),
        call(aten.repeat_interleave, i),
        call(aten.put_, x, i, torch.ones(3)),
        call(aten.index_put_, x, [i], torch.ones(3)),
        call(aten._index_put_impl_, x, [i], torch.ones(3)),
        call(aten._unsafe_index, x, [i]),
        call(
            aten.ctc_loss,
            torch.randn(5, 2, 4),
            torch.ones(2, 3, dtype=torch.int64),
            torch.tensor([5, 5]),
            torch.tensor([3, 3]),
        ),
        call(
            aten.slow_conv3d_forward,
            torch.randn(1, 1, 4, 4, 4),
            torch.randn(1, 1, 2, 2, 2),
            [2] * 3,
            None,
            [1] * 3,
            [0] * 3,
        ),
        call(aten._cslt_compress, x),
        call(aten.histc, i.float()),
        call(aten.segment_reduce, torch.randn(6), "sum", lengths=torch.tensor([2, 4])),
        call(
            aten._segment_reduce_backward,
            torch.ones(2),
            torch.ones(2),
            torch.randn(6),
            "sum",
            lengths=torch.tensor([2, 4]),
        ),
    ]


# ---- their variants ----


def wild_tensors(original, generator):
    """Integer tensors in the place of `original`, each with what it is."""
    shape, dtype = original.shape, original.dtype
    largest = torch.iinfo(dtype).max
    numbers = {
        "-1": -1,
        "its size": max(1, original.numel()),
        "2^30": 1 << 30,
        "largest": largest,
        "smallest": -largest - 1,
    }
    if dtype == torch.int64:
        numbers |= {"2^40": 1 << 40, "-2^40": -(1 << 40)}
    for name, number in numbers.items():
        yield f"all {name}", torch.full(shape, number, dtype=dtype)
    if original.numel() > 1:
        for name, number in numbers.items():
            one = original.clone(memory_format=torch.contiguous_format)
            one.view(-1)[generator.randrange(original.numel())] = number
            yield f"one {name}", one
        yield "reversed", original.flatten().flip(0).reshape(shape)
    yield "empty", torch.empty([0], dtype=dtype)
    yield "a scalar", torch.tensor(0, dtype=dtype)
    yield "half as long", original.flatten()[: original.numel() // 2].clone()
    yield "longer", original.flatten().repeat(50)
    yield "a dimension more", original.unsqueeze(-1).expand(*shape, 3).contiguous()


def variants(call, generator):
    leaves, spec = tree_flatten(call)
    for place, leaf in enumerate(leaves):
        if not is_index(leaf) or leaf.layout != torch.strided:
            continue
        for name, wild in wild_tensors(leaf, generator):
            changed = [tree_map(snapshot, other) for other in leaves]
            changed[place] = wild
            yield f"argument tensor {place}: {name}", tree_unflatten(changed, spec)


# ---- running them ----


def run_child(cases, report):
    """Calls one case after another; says which is next before each."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (BYTES_PER_CHILD, BYTES_PER_CHILD))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    for index, (func, arguments) in cases:
        os.write(report, index.to_bytes(4, "little"))
        signal.alarm(SECONDS_PER_CALL)
        try:
            args, kwargs = arguments
            result = func(*args, **kwargs)
            for leaf in tree_flatten(result)[0]:
                if isinstance(leaf, torch.Tensor) and leaf.layout == torch.strided and leaf.numel() < 100_000:
                    leaf.clone()
        except Exception:  # noqa: BLE001, S110
            pass
        except BaseException:  # noqa: BLE001, S110
            pass
    os._exit(0)


def crashes(cases, found_one):
    """Tells of the first case of each operator that ends its process, and how."""
    at = 0
    while at < len(cases):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            run_child([(i, cases[i]) for i in range(at, len(cases))], write)
        os.close(write)
        last = at
        with os.fdopen(read, "rb") as said:
            while word := said.read(4):
                last = int.from_bytes(word, "little")
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
            break
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        found_one(
            last, "does not end" if number == signal.SIGALRM else signal.Signals(number).name if number else "exits"
        )
        # One is enough to condemn an operator.
        at = next((i for i in range(last + 1, len(cases)) if cases[i][0] is not cases[last][0]), len(cases))


def full_name(func):
    """Of an overload, of all overloads of a name, or of what the samples say of an operator's name in ATen."""
    if isinstance(func, torch._ops.OpOverload):
        name = func._schema.name
        return f"{name}.{func._schema.overload_name}" if func._schema.overload_name else name
    if isinstance(func, torch._ops.OpOverloadPacket):
        return func._qualified_op_name
    return "aten::" + (getattr(func, "aten_name", None) or func.name).rsplit(".", 1)[-1]


def overloads(name):
    """The full names that `name` may stand for."""
    space, _, short = name.partition("::")
    packet = getattr(getattr(torch.ops, space), short, None) if "." not in name else None
    return [full_name(getattr(packet, o)) for o in packet.overloads()] if packet else [name]


def fuzz(calls_per_operator, seed, is_refused, only="", samples=4, say=lambda text: print(text, flush=True)):
    """Operator → what crashed, for those that are not refused; and how many calls were made."""
    torch.manual_seed(seed)
    generator = random.Random(seed)
    recorder = Recorder()
    calls = {}  # by name and identity: what PyTorch says of an operator can not be hashed
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for func, arguments in record_samples(recorder, samples) + other_calls():
            calls.setdefault((full_name(func), id(func)), (func, []))[1].append(arguments)
            try:
                with recorder:
                    func(*arguments[0], **arguments[1])
            except Exception:  # noqa: BLE001, S110
                pass
    for func, recorded in recorder.calls.items():
        calls.setdefault((full_name(func), id(func)), (func, []))[1].extend(recorded.values())
    found = {}
    cases, names = [], []
    for (name, _), (func, recorded) in sorted(calls.items(), key=lambda item: item[0]):
        if only not in name or name in ALLOWED or any(map(is_refused, overloads(name))):
            continue
        for call in generator.sample(recorded, min(calls_per_operator, len(recorded))):
            for what, arguments in variants(call, generator):
                cases.append((func, arguments))
                names.append((name, what))
    say(f"{len(set(n for n, _ in names))} operators, {len(cases)} calls")

    def found_one(index, how):
        name, what = names[index]
        say(f"{index} {name}, {what}: {how}")
        if how != "does not end":  # one operation may take long; limits of time say so
            found.setdefault(name, []).append(f"{what}: {how}")

    crashes(cases, found_one)
    return found, len(cases)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=8)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--all", action="store_true")
    args = parser.parse_args()
    if args.all:
        is_refused = lambda name: False  # noqa: E731
    else:
        from cresset import _C

        is_refused = _C._is_restricted
    start = time.monotonic()
    found, made = fuzz(args.calls, args.seed, is_refused, args.only, args.samples)
    print(f"{made} calls, {len(found)} operators that crash: {' '.join(found)}; {time.monotonic() - start:.0f} s")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
