"""Every module of PyTorch (its own table of them, module_db), scripted: what torch.jit.script handles, Cresset must.

The first configuration of each; sweep.py runs and counts all of them.
"""

import copy
import warnings

import pytest
import torch
from script_helpers import compare, run
from torch.testing._internal.common_modules import module_db

import cresset

warnings.filterwarnings("ignore")

# What neither torch.jit nor Cresset scripts of them, with the reason. The list only shrinks.
LAZY = "lazy modules have no parameters before their first call"
PADDING = "its value is an int, and torch.nn.functional.pad takes a float"
NOT_SCRIPTED = {
    **{f"nn_LazyConv{kind}{n}d": LAZY for kind in ("", "Transpose") for n in (1, 2, 3)},
    **{f"nn_ConstantPad{n}d": PADDING for n in (1, 2, 3)},
    "nn_LinearCrossEntropyLoss": "its function imports",
    "nn_CTCLoss": "the table has lengths as tuples, and the annotations say tensors",
}


def modules(info):
    """(module, args, kwargs) of the entry."""
    for training in (False, True) if info.train_and_eval_differ else (True,):
        torch.manual_seed(1)
        inputs = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=True, training=training)
        for sample in inputs[:1]:
            torch.manual_seed(2)
            made = sample.constructor_input
            module = info.module_cls(*made.args, **made.kwargs)
            module.to(torch.float32).train(training)
            call = sample.forward_input
            if call is not None:
                yield module, call.args, call.kwargs


@pytest.mark.parametrize("info", module_db, ids=lambda info: info.formatted_name)
def test_module(info):
    compared = 0
    for module, args, kwargs in modules(info):
        eager = run(copy.deepcopy(module), args, kwargs)
        try:
            reference = torch.jit.script(copy.deepcopy(module))
            theirs = run(reference, args, kwargs)
        except Exception:
            theirs = None
        try:
            scripted = cresset.script(copy.deepcopy(module))
            ours = run(scripted, args, kwargs)
        except Exception:
            if theirs is None:
                continue  # outside the language
            raise
        compare(ours, eager)
        compared += 1
    assert bool(compared) == (info.formatted_name not in NOT_SCRIPTED)
