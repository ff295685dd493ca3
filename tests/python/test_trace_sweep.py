"""One sample of every entry of op_db and module_db, traced. trace_sweep.py takes all of them."""

import pytest

pytest.importorskip("expecttest", reason="PyTorch's own op_db needs it")

from op_database import op_db
from torch.testing._internal.common_modules import module_db
from trace_sweep import check_module, check_op, op_name

# What can't be traced, with the reason. torch.jit.trace fails on all of these too.
NO_TENSOR = "its result is a Python number, which no trace returns"
CUDA_ONLY = "needs a GPU"
FAILURES = {
    "allclose": NO_TENSOR,
    "equal": NO_TENSOR,
    "jiterator_unary": CUDA_ONLY,
    "jiterator_binary": CUDA_ONLY,
    "jiterator_4inputs_with_extra_args": CUDA_ONLY,
    "jiterator_binary_return_by_ref": CUDA_ONLY,
    "jiterator_2inputs_2outputs": CUDA_ONLY,
}


def run(name, check):
    if name not in FAILURES:
        if not check():
            pytest.skip("no sample has tensors only")
        return
    with pytest.raises(Exception):  # noqa: B017, PT011
        check()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", op_db, ids=op_name)
def test_op(op):
    run(op_name(op), lambda: check_op(op))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("info", module_db, ids=lambda info: info.name)
def test_module(info):
    run(info.name, lambda: check_module(info))
