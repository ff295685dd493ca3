"""Allowed failures: tests named in known_failures.txt, each with its reason, may fail. The list only shrinks."""

import faulthandler
import gc
import importlib
import os
import signal
from pathlib import Path

import pytest
import seeding  # noqa: F401
import torch

# Most tests compare bits with eager PyTorch and torch.jit, which is what numerics=exact is for; also in the processes that they start. Tests of the bits
# that Cresset has by default say so (test_kernels.py, test_reduction_kernels.py, test_product_kernels.py, test_unfused_kernels.py).
os.environ.setdefault("CRESSET_NUMERICS", "exact")
# Users only miss a plan where the optimizer fails; tests fail there.
os.environ.setdefault("CRESSET_OPTIMIZER_ERRORS", "raise")

# A shell that starts a job in the background has it ignore Ctrl-C; tests of interrupts need Python's own handler.
signal.signal(signal.SIGINT, signal.default_int_handler)

# torch.jit knows operators by the addresses of their functions and never forgets one. The function of a library that a
# test has dropped would leave its address to any other object, which torch.jit then takes for an operator.
_functions_of_operators = []
_register_builtin = torch.jit._builtins._register_builtin


def register_and_keep(function, operator):
    _functions_of_operators.append(function)
    _register_builtin(function, operator)


torch.jit._builtins._register_builtin = register_and_keep


#: Before any test's import: modules of torch.testing register operators of their own.
operators_of_torch = torch._C._dispatch_get_all_op_names()

# What captured plans take from earlier runs is compared with what they would read.
importlib.import_module("cresset._frames").compare_cached_reads(True)


def known_failures():
    listed = {}
    for line in (Path(__file__).parent / "known_failures.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, reason = line.split("  # ", 1)
            listed[name.strip()] = reason
    return listed


#: Files that take more than a minute of a processor: they come first, so that no process has one left when the other has nothing to do.
LONG = (
    "derivatives kernels gradient_work facts gradient_programs graph_programs fact_programs traced_numbers memory passes "
    "untrusted generated_programs reduction_kernels static_sweep sweep trace_sweep"
).split()
PLACES = {f"test_{name}.py": place for place, name in enumerate(LONG)}


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: PLACES.get(item.path.name, len(PLACES)))
    listed = known_failures()
    for item in items:
        name = item.nodeid.split("tests/python/")[-1]
        if name in listed:
            item.add_marker(pytest.mark.xfail(reason=listed[name], strict=True))


def pytest_collection_finish():
    """What there is before the first test (torch, its tables, the tests) is no test's garbage: collections need not look through it."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def must_end():
    """For tests of what stops endless loops: if nothing does, the process ends."""
    faulthandler.dump_traceback_later(60, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
