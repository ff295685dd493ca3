"""The alias analysis believes schemas, so it must know which operators return memory of an argument that their schema calls fresh.

Every operator that op_db has samples for is called, and what its results share with its arguments is compared with the
annotations of its schema. So is every operator of the dispatcher, and of TorchScript's, on small tensors
(operators_that_share.py). Operators that share without saying so carry the trait MayShareArguments (src/cresset/ops/table).
"""

import pathlib
import subprocess
import sys
import warnings

import pytest
import torch
from operators_that_share import memory_of

import cresset
from cresset import _C

#: As many as show what an operator does; some have hundreds.
SAMPLES = 12


def overloads(name):
    packet = getattr(torch.ops.aten, name, None)
    return [getattr(packet, one) for one in packet.overloads()] if packet else []


def hidden_sharing(overload, args, kwargs):
    """Whether results share memory with an argument without an annotation; None if the overload takes other arguments."""
    schema = overload._schema
    if schema.is_mutable or any(a.alias_info and a.alias_info.is_write for a in schema.arguments):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = overload(*args, **kwargs)
    except (RuntimeError, TypeError, NotImplementedError, IndexError, ValueError):
        return None
    given = memory_of(result)
    values = [*args, *[None] * len(schema.arguments)]
    for i, argument in enumerate(schema.arguments):
        value = kwargs.get(argument.name, values[i])
        if not argument.alias_info and given & memory_of(value):
            return True
    return False


@pytest.mark.parametrize("part", range(4))
def test_what_operators_share(part):
    # Not before tests run: it registers operators, and other files look at the registry when they are imported.
    from op_database import op_db

    wrong, called = [], 0
    for op in op_db[part::4]:
        dtype = torch.float32 if torch.float32 in op.dtypes else next(iter(op.dtypes), None)
        names = {op.aten_name, op.name.split(".")[-1], op.name.replace(".", "_")}
        candidates = [one for name in names for one in overloads(name)]
        if dtype is None or not candidates:
            continue
        shares = {}
        for number, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=False)):
            if number >= SAMPLES:
                break
            for overload in candidates:
                found = hidden_sharing(overload, (sample.input, *sample.args), sample.kwargs)
                if found is not None:
                    shares[overload] = shares.get(overload, False) or found
        called += len(shares)
        for overload, found in shares.items():
            if found and not _C._may_share_arguments(
                overload._schema.name + ("." + overload._schema.overload_name).rstrip(".")
            ):
                wrong.append(str(overload))
    assert not wrong
    assert called > 80


#: Some of each kind that the walk must find: those that return an argument, a view, a list, and what a sparse tensor holds.
FOUND = {
    "aten::to_dense:self",
    "aten::_cast_Float:self",
    "aten::data:self",
    "aten::dequantize.self:self",
    "aten::dequantize.tensor:qtensor",
    "aten::_to_cpu:tensors",
    "aten::_unsafe_view:self",
    "aten::unsafe_split.Tensor:self",
    "aten::unflatten_dense_tensors:flat",
    "aten::flatten_dense_tensors:tensors",
    "aten::cumprod_backward:grad",
    "aten::set.source_Tensor:source",
    "aten::sparse_coo_tensor.indices:values",
    "aten::sparse_csr_tensor.crow_col_value:crow_indices",
    "aten::to_sparse:self",
    "prims::device_put:a",
}


def test_what_all_operators_share():
    program = pathlib.Path(__file__).with_name("operators_that_share.py")
    walk = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=600)
    assert walk.returncode == 0, walk.stderr
    found = set(walk.stdout.split())
    assert found >= FOUND
    registered = {name for name in (one.rpartition(":")[0] for one in found) if is_known(name)}
    assert [name for name in sorted(registered) if not _C._may_share_arguments(name)] == []
    assert len(registered) > 60


def is_known(name):
    """Whether Cresset has the operator: not all of TorchScript's, and of those alone it has some under other names."""
    try:
        _C._may_share_arguments(name)
    except cresset.UserError:
        return False
    return True
