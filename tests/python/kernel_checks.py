"""What tests of kernels share (test_*_kernels.py, test_kernel_sequences.py)."""

import contextlib
import warnings

import pytest
import torch

import cresset
from cresset import _C


@contextlib.contextmanager
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@pytest.fixture
def checked():
    """Each launch is also compared with the operators one by one, each in a kernel of its own."""
    with (
        one_thread(),
        cresset.options.override(kernels="check", plans="always", numerics="default"),
        warnings.catch_warnings(),
        torch.no_grad(),
    ):
        warnings.simplefilter("ignore")
        yield


def launches():
    return _C._kernel_counts()[1]


def both(source):
    """The function `f` of the source as a script, and as eager PyTorch runs it."""
    scope = {"torch": torch, "Tensor": torch.Tensor}
    exec(source, scope)
    return cresset.CompilationUnit(source).f, scope["f"]


def layouts(x):
    """Matrices of the same sizes; those that are expanded have other elements."""
    yield x
    yield x.t().contiguous().t()
    yield torch.cat([x, x], 1)[:, ::2].copy_(x)
    yield torch.cat([x, x, x])[1 : len(x) + 1].copy_(x)
    yield x[:1].expand(x.shape)
    yield x[:, :1].expand(x.shape)
