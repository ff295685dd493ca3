"""Every module of PyTorch (its own table of them, module_db), scripted: what torch.jit.script handles, Cresset must.

One configuration per module by default; CRESSET_MODULE_DB=all runs all of them, in float32 and float64, train and eval.
"""

import copy
import os
import warnings

import pytest
import torch
from script_helpers import compare, run
from torch.testing._internal.common_modules import module_db

import cresset

warnings.filterwarnings("ignore")

ALL = os.environ.get("CRESSET_MODULE_DB") == "all"


def configurations(info, dtype, training):
    torch.manual_seed(1)
    inputs = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training)
    return inputs if ALL else inputs[:1]


def modules(info):
    """(module, args, kwargs) of the entry, those that eager PyTorch itself can't run left out."""
    for dtype in (torch.float32, torch.float64) if ALL else (torch.float32,):
        if dtype not in info.dtypes:
            continue
        for training in (False, True) if ALL or info.train_and_eval_differ else (True,):
            for sample in configurations(info, dtype, training):
                torch.manual_seed(2)
                made = sample.constructor_input
                module = info.module_cls(*made.args, **made.kwargs)
                module.to(dtype).train(training)
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
    if not compared:
        pytest.skip("torch.jit does not script it either")
