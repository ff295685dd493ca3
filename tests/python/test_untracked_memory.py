"""What backward passes believe of indices that they have saved, autograd's counters of versions guard: a write to their memory that the counters
don't see would let an untrusted program read and write beyond its tensors. So operators whose results lie in the memory of an argument, but count
versions of their own, are refused to untrusted programs."""

import io
import warnings

import pytest
import recorded_calls
import torch
from test_dispatcher_operators import ALL_CALLS, SCHEMAS

import cresset
from cresset import _C

#: Programs get Cresset's own operator of the name, whose results count together with the argument.
OWN = {"aten::data"}


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        is_plain = value.layout == torch.strided and not value.is_nested and not value.is_inference()
        return [value] if is_plain and value.numel() else []
    return [tensor for item in value for tensor in tensors_of(item)] if isinstance(value, (list, tuple)) else []


def memory_of(tensor):
    try:
        return tensor.untyped_storage()._cdata
    except NotImplementedError:  # of functorch and other wrappers
        return id(tensor)


def is_untracked(name, text):
    """Whether a result of the call has the memory, but not the versions of an argument."""
    try:
        result, arguments = recorded_calls.run(recorded_calls.eager(SCHEMAS[name]), text)
    except Exception:
        return False
    found = False
    for given in tensors_of(arguments):
        for returned in tensors_of(result):
            if returned is not given and memory_of(returned) == memory_of(given):
                before = given._version
                torch.autograd.graph.increment_version(returned)
                found |= given._version == before
    return found


def is_called(name):
    return name in SCHEMAS and "c10d" not in name  # collectives want other processes


def test_memory_whose_writes_are_not_seen():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name for name, _, text in ALL_CALLS if is_called(name) and is_untracked(name, text)}
    assert {"aten::unsafe_chunk", "aten::_unsafe_view", *OWN} <= found
    assert {name for name in found - OWN if not _C._is_restricted(name)} == set()


@pytest.mark.parametrize(
    "write",
    [
        "torch.unsafe_chunk(i, 1)[0]",
        "torch.unsafe_split(i, 8)[0]",
        "torch.unsafe_split_with_sizes(i, [1])[0]",
        "torch._unsafe_view(i, [16])",
    ],
)
def test_unseen_writes_are_refused(write):
    module = cresset.ScriptModule()
    module.define(f"def forward(self, i: Tensor):\n  {write}.fill_(1 << 40)\n  return i\n")
    file = io.BytesIO()
    cresset.save(module, file)
    with pytest.raises(cresset.UserError, match="untrusted"):
        cresset.load(io.BytesIO(file.getvalue()))(torch.zeros(1, 16, dtype=torch.int64))
    cresset.load(io.BytesIO(file.getvalue()), trusted=True)(torch.zeros(1, 16, dtype=torch.int64))


@pytest.mark.parametrize("write", ["i.data", "i.detach()", "i.view(-1)", "torch.alias(i)", "i"])
def test_seen_writes_raise(write):
    module = cresset.ScriptModule()
    module.define(f"""
def forward(self, x: Tensor):
  z = x.detach().requires_grad_()
  y, i = torch.max_pool2d_with_indices(z, [2, 2])
  {write}.fill_(1 << 40)
  (y * 2 + 1).sum().backward()
  return z
""")
    file = io.BytesIO()
    cresset.save(module, file)
    loaded = cresset.load(io.BytesIO(file.getvalue()))
    for _ in range(4):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loaded(torch.randn(1, 1, 8, 8))
