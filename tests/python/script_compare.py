"""Compares what cresset.script and torch.jit.script make of one Python function: schema, results, exceptions."""

import copy
import inspect

import torch

import cresset


def same(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and a.requires_grad == b.requires_grad and equal_values(a, b)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, float):
        return a == b or (a != a and b != b)
    if type(a).__module__ not in ("builtins", "torch") and hasattr(a, "__dict__") and not hasattr(a, "__members__"):
        return same(vars(a), vars(b)) or a == b
    return a == b


def equal_values(a, b):
    if a.is_sparse or a.layout != torch.strided:
        return torch.equal(a.to_dense(), b.to_dense())
    return (
        torch.equal(a.isnan(), b.isnan()) and torch.equal(a.nan_to_num(), b.nan_to_num())
        if a.is_floating_point()
        else torch.equal(a, b)
    )


def outcome(run, args):
    """("value", result, the arguments afterwards), or ("error", its class, its last line)."""
    args = copy.deepcopy(args)
    torch.manual_seed(0)
    try:
        result = run(*args)
    except Exception as error:
        return "error", type(error), str(error).strip().splitlines()[-1:]
    return "value", result, args


def schema_text(compiled):
    text = str(compiled.schema)
    return text[text.index("(") :].replace(" (inferred)", "")


def check(fn, *inputs, schema=True):
    """`inputs` are tuples of arguments, one per call; a single argument may stand by itself."""
    mine, theirs = cresset.script(fn), torch.jit.script(fn)
    assert isinstance(mine, cresset.ScriptFunction)
    if schema:
        assert schema_text(mine) == schema_text(theirs)
    for args in inputs or [()]:
        args = args if isinstance(args, tuple) else (args,)
        got, wanted = outcome(mine, args), outcome(theirs, args)
        assert got[0] == wanted[0], f"{fn.__name__}{args}: {got} and not {wanted}"
        if got[0] == "value":
            assert same(got[1], wanted[1]), f"{fn.__name__}{args}: {got[1]} and not {wanted[1]}"
            assert same(got[2], wanted[2]), f"{fn.__name__}{args} changed its arguments: {got[2]} and not {wanted[2]}"
        else:
            assert got[2] == wanted[2], f"{fn.__name__}{args}: {got} and not {wanted}"
    return mine


def check_python(fn, *inputs):
    """Where torch.jit can't compile it: the script agrees with Python itself."""
    mine = cresset.script(fn)
    for args in inputs or [()]:
        args = args if isinstance(args, tuple) else (args,)
        got, wanted = outcome(mine, args), outcome(fn, args)
        assert got[0] == wanted[0], f"{fn.__name__}{args}: {got} and not {wanted}"
        if got[0] == "value":
            assert same(got[1], wanted[1]), f"{fn.__name__}{args}: {got[1]} and not {wanted[1]}"
    return mine


def functions_of(namespace, prefix):
    return [value for name, value in namespace.items() if name.startswith(prefix) and inspect.isfunction(value)]
