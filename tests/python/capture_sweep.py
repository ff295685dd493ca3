"""Every function that captured plans may call, with PyTorch's own samples, by a compiled graph of one call and as it is:
values, layouts and flags are to be the same, and gradients close. Minutes.

    python tests/python/capture_sweep.py [part of a name]
"""

import sys
import warnings

import torch
import torch.nn.functional as F
from op_database import op_db
from test_capture_graphs import same

import cresset
from cresset import _own_graphs, _recording, _rows

SAMPLES = 4  # of each operator, about


def text_of(value, parameters):
    """An argument as text; tensors become parameters. Raises ValueError for what has no text."""
    if isinstance(value, torch.Tensor):
        parameters.append(value)
        return f"a{len(parameters) - 1}"
    if type(value) in (list, tuple):
        items = ", ".join(text_of(item, parameters) for item in value)
        return f"[{items}]" if type(value) is list else f"({items},)" if items else "()"
    if type(value) in (int, bool, str, type(None)) or (type(value) is float and abs(value) < float("inf")):
        return repr(value)
    if type(value) in (torch.dtype, torch.memory_format):
        return str(value)
    raise ValueError(value)


def forms_of(name):
    """How programs call an operator of op_db; what makes memory with nothing in it, in no way."""
    if name in ("empty", "empty_like", "new_empty"):
        return []
    if name.startswith("nn.functional."):
        return [f"F.{name[14:]}"] * _rows.is_functional(getattr(F, name[14:], None))
    module, _, function = name.rpartition(".")
    owner = getattr(torch, module, None) if module else torch
    return [
        form
        for form, owner, each in ((f"torch.{name}", owner, function), (f".{name}", torch.Tensor, name))
        if _rows.is_functional(getattr(owner, each, None))
    ]


def programs(op):
    """(text, arguments) of calls."""
    samples = list(op.sample_inputs("cpu", torch.float32))
    for sample in samples[:: max(1, len(samples) // SAMPLES)]:
        for form in forms_of(op.name):
            parameters = []
            try:
                positional = [text_of(value, parameters) for value in (sample.input, *sample.args)]
                named = [f"{name}={text_of(value, parameters)}" for name, value in sample.kwargs.items()]
            except ValueError:
                continue
            first = positional.pop(0) if form[0] == "." else ""
            call = f"{first}{form}({', '.join(positional + named)})"
            yield f"def f({', '.join(f'a{i}' for i in range(len(parameters)))}):\n    return {call}\n", parameters


def gradients_of(f, arguments):
    """Of the sum of all results; the exception's class if the call or the backward pass raises."""
    leaves = [a.detach().clone().requires_grad_() if a.is_floating_point() else a for a in arguments]
    torch.manual_seed(0)
    try:
        result = f(*leaves)
        results = [
            r for r in (result if isinstance(result, (tuple, list)) else [result]) if isinstance(r, torch.Tensor)
        ]
        total = sum(r.sum() for r in results if r.requires_grad)
        wanted = [a for a in leaves if a.requires_grad]
        return torch.autograd.grad(total, wanted, allow_unused=True) if isinstance(total, torch.Tensor) else ()
    except Exception as error:
        return type(error)


def are_close(a, b):
    if isinstance(a, type) or isinstance(b, type) or len(a) != len(b):
        return a is b
    for x, y in zip(a, b, strict=True):
        if (x is None) != (y is None):
            return False
        if x is not None and not (x.shape == y.shape and torch.allclose(x, y, 1e-4, 1e-5, equal_nan=True)):
            return False
    return True


def check(text, arguments):
    """Whether a graph was compiled (not if eager raises); None if it differs from eager."""
    names = {"torch": torch, "F": F}
    exec(text, names)

    def seeded(f):
        torch.manual_seed(0)
        return f(*arguments)

    try:
        expected = seeded(names["f"])
    except Exception:
        return False
    compiled = cresset.compile(names["f"])
    results = [seeded(compiled) for _ in range(4)]
    plans = cresset.explain(compiled).plans
    in_graph = any(plan.graph_calls for plan in plans)
    gradients = [gradients_of(f, arguments) for f in (names["f"], *([compiled] * 3 if in_graph else []))]
    if not all(are_close(gradients[0], seen) for seen in gradients):
        print("gradients differ:", text.splitlines()[1].strip(), [tuple(a.shape) for a in arguments], flush=True)
        return None
    if not all(same(expected, result) for result in results) or (in_graph and any(plan.raised for plan in plans)):
        print("differs:", text.splitlines()[1].strip(), [tuple(a.shape) for a in arguments], flush=True)
        return None
    return in_graph


def main():
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    _own_graphs.MIN_CALLS = _recording.MIN_CALLS = 1
    warnings.simplefilter("ignore")
    results = [
        check(*program)
        for op in op_db
        if part in op.name and not op.variant_test_name and torch.float32 in op.dtypes and forms_of(op.name)
        for program in programs(op)
    ]
    print(f"{len(results)} calls, {results.count(True)} in graphs, {results.count(None)} differ")
    sys.exit(None in results)


if __name__ == "__main__":
    main()
