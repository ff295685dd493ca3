"""torch.nn.functional: whatever torch.jit can script of it, cresset can, with the same schema and results."""

import inspect
import warnings

import pytest
import torch
import torch.nn.functional as F
from op_database import op_db
from script_compare import same, schema_text

import cresset


def functions():
    """Every public callable, by name."""
    for name, value in sorted(vars(F).items()):
        if name.startswith("__") or inspect.isclass(value) or inspect.ismodule(value) or not callable(value):
            continue
        if inspect.isbuiltin(value) or not inspect.isfunction(value):
            continue  # operators; the sweep over op_db calls them
        yield name, value


def torchjit(fn):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return torch.jit.script(fn)
        except Exception:
            return None


def parameters(compiled):
    return [(a.name, str(a.type), a.N, a.kwarg_only, a.has_default_value()) for a in compiled.schema.arguments]


FUNCTIONS = dict(functions())
SAMPLES = {op.name.split(".")[-1]: op for op in op_db if op.name.startswith("nn.functional.")}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_scripts(name):
    theirs = torchjit(FUNCTIONS[name])
    if theirs is None:
        pytest.skip("torch.jit can't script it")
    mine = cresset.script(FUNCTIONS[name])
    try:
        wanted = schema_text(theirs)
    except RuntimeError:  # c10 can't print the default that torch.jit gives a BroadcastingList
        assert parameters(mine) == parameters(theirs)
        return
    assert schema_text(mine) == wanted


@pytest.mark.parametrize("name", sorted(set(SAMPLES) & set(FUNCTIONS)))
def test_samples(name):
    theirs = torchjit(FUNCTIONS[name])
    if theirs is None:
        pytest.skip("torch.jit can't script it")
    mine = cresset.script(FUNCTIONS[name])
    compared = 0
    dtypes = SAMPLES[name].supported_dtypes("cpu")
    if not dtypes:
        pytest.skip("not on the CPU")
    dtype = torch.float32 if torch.float32 in dtypes else min(dtypes, key=str)
    for sample in SAMPLES[name].sample_inputs("cpu", dtype):
        args, kwargs = (sample.input, *sample.args), sample.kwargs
        torch.manual_seed(1)
        try:
            wanted = theirs(*args, **kwargs)
        except Exception:
            continue
        torch.manual_seed(1)
        got = mine(*args, **kwargs)
        assert same(got, wanted), f"{args} {kwargs}: {got} and not {wanted}"
        compared += 1
        if compared == 6:
            break
    if not compared:
        pytest.skip("torch.jit takes none of the samples")


def asserting(x, n: int):
    torch._assert(n > 0, f"{n} is not positive")
    torch._assert((x > 0).all(), "not all positive")
    return x + n


def test_assert_of_torch():
    scripted = cresset.script(asserting)
    assert torch.equal(scripted(torch.ones(2), 1), torch.full((2,), 2.0))
    for arguments, message in (((torch.ones(1), 0), "0 is not positive"), ((-torch.ones(1), 1), "not all positive")):
        with pytest.raises(Exception, match=message):
            scripted(*arguments)


def resizing(x):
    a = F.interpolate(x, size=(4, 5))
    b = F.interpolate(x, scale_factor=2.0)
    return a, b, F.interpolate(x, size=3), F.interpolate(x, size=[2, 2]), F.interpolate(x, scale_factor=[2.0, 1.0])


def test_overloads_that_torch_has_compiled():
    """torch.jit forgets the overloads of a function once it has compiled them."""
    x = torch.randn(1, 1, 3, 3)
    expected = torch.jit.script(resizing)(x)
    for mine, theirs in zip(cresset.script(resizing)(x), expected, strict=True):
        assert torch.equal(mine, theirs)
