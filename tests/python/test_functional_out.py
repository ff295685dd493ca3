"""Each `out=` variant of PyTorch's op_db in the live form of functionalization, into tensors that the program makes: values,
strides, random numbers and errors are eager's."""

import itertools
import re
import warnings

import pytest
import torch
from functional_programs import bits, flat
from op_database import op_db
from sampling import share

import cresset

#: What the results are written to: tensors of their sizes, every other element of larger ones, tensors without elements, and of
#: another dtype.
LAYOUTS = ("same", "strided", "empty", "dtype")
#: The result is whatever was in memory.
UNINITIALIZED = {"empty", "empty_permuted", "empty_strided"}
#: Eager PyTorch takes tensors that are not contiguous for such as are and writes to other elements, or changes their strides.
WRITES_ELSEWHERE = {
    "narrow_copy",
    "nn.functional.avg_pool3d",
    "nn.functional.gelu",
    "nn.functional.linear",
    "torch._scaled_mm",
}
#: Refused: results that are sparse.
REFUSED = {"sparse.sampled_addmm": LAYOUTS}
OUT = [op for op in op_db if op.supports_out]


def prepared(result, layout):
    if layout == "empty":
        return result.new_empty(0)
    if layout == "dtype":
        other = torch.float32 if result.dtype == torch.float64 else torch.float64
        return torch.zeros(result.shape, dtype=other)
    if layout == "strided":
        return torch.zeros(*result.shape, 2, dtype=result.dtype)[..., 0]
    return torch.zeros(result.shape, dtype=result.dtype)


def outcome(function):
    """Results, the exception, and a random number that is drawn afterwards."""
    torch.manual_seed(0)
    try:
        return function(), None, torch.rand(())
    except Exception as error:
        return None, error, torch.rand(())


def close(a, b):
    wide = torch.complex128 if a.is_complex() else torch.float64
    return torch.allclose(a.to(wide), b.to(wide), rtol=1e-3, atol=1e-3, equal_nan=True)


def same(a, b, is_exact, keeps_views):
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return False
    if a.numel() == 0:  # kernels of LAPACK change the strides of what has no elements
        return True
    if is_exact:
        return bits(a) == bits(b)
    return (a.stride() == b.stride() or not keeps_views) and close(a, b)


def differing(op, remove):
    """The calls that differ from eager PyTorch's."""
    dtypes = op.supported_dtypes("cpu")
    dtype = torch.float32 if torch.float32 in dtypes else sorted(dtypes, key=str)[0]
    samples = list(itertools.islice(op.sample_inputs("cpu", dtype), 40))
    for number, sample in enumerate(samples[:: max(1, len(samples) // 3)][:3]):
        arguments = (sample.input, *sample.args)
        result, error, _ = outcome(lambda: op.op(*arguments, **sample.kwargs))
        results = flat(result)
        if error is not None or not results:
            continue
        for layout in LAYOUTS:
            if layout in REFUSED.get(op.name, ()) or (layout == "strided" and op.name in WRITES_ELSEWHERE):
                continue

            def call():
                targets = [prepared(tensor, layout) for tensor in results]
                out = targets[0] if isinstance(result, torch.Tensor) else type(targets)(targets)
                returned = op.op(
                    *arguments, **sample.kwargs, out=out if isinstance(result, (torch.Tensor, list)) else tuple(out)
                )
                return [*flat(returned), *targets]

            expected, error, drawn = outcome(call)
            found, refusal, drawn_by_ours = outcome(cresset.functionalize(call, remove=remove))
            if (error is None) != (refusal is None):
                yield number, layout, error or refusal
            elif error is None and op.name not in UNINITIALIZED:
                # Kernels take other ways for tensors of other strides: for vectors, in another order.
                is_exact = all(
                    prepared(tensor, layout).stride() == tensor.stride() or layout == "empty" for tensor in results
                )
                keeps_views = remove == "mutations"
                told = [same(a, b, is_exact, keeps_views) for a, b in zip(expected, found, strict=True)]
                if not all(told) or drawn != drawn_by_ours:
                    yield number, layout, told


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("part", range(4))
def test_out_variants(part, remove):
    ops = OUT[part::4] if remove == "mutations" else share(OUT[part::4], 4, str(part))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = [(op.formatted_name, *call) for op in ops for call in differing(op, remove)]
    assert not told, "\n".join(map(str, told[:10]))


def test_results_that_are_conjugates():
    """The form that returns a new tensor may return a conjugate view, where `out=` gets its elements."""
    x = torch.randn(5, 5)

    def f():
        out = torch.zeros(5, 5, dtype=torch.complex64)
        torch.fft.ifft(x, out=out)
        return out

    assert torch.equal(f(), cresset.functionalize(f)())
    assert torch.equal(torch.fft.ifft(x), cresset.functionalize(f)())


def test_random_numbers_are_drawn_once():
    """Also where the result does not fit what it is written to."""
    probabilities = torch.full((3, 4), 0.5)
    for target in (torch.zeros(3, 4), torch.zeros(0), torch.zeros(3, 4, dtype=torch.float64)):

        def f():
            out = target.clone()
            torch.bernoulli(probabilities, out=out)
            return out, torch.rand(2)

        torch.manual_seed(3)
        expected = f()
        torch.manual_seed(3)
        found = cresset.functionalize(f)()
        assert all(map(torch.equal, expected, found))


def test_sizes_like_those_of_another():
    def f(x):
        y = torch.zeros(6)
        y.resize_as_(x).copy_(x)
        return y

    x = torch.randn(2, 3)
    assert torch.equal(cresset.functionalize(f)(x), x)


@pytest.mark.parametrize(
    "call", ["add(a, b, out=a)", "sub(b, a, out=a)", "maximum(a, b, out=a)", "addcmul(a, b, b, out=a)"]
)
def test_an_operand_of_another_size_is_not_resized(call):
    scope = {"torch": torch}
    exec(f"def f(b):\n  a = torch.ones(4)\n  torch.{call}\n  return a", scope)
    script = cresset.CompilationUnit(f"def f(b):\n  a = torch.ones([4])\n  torch.{call}\n  return a\n").f
    messages = []
    for form in (scope["f"], cresset.functionalize(scope["f"]), cresset.functionalize(script)):
        with pytest.raises(RuntimeError, match="doesn't match the broadcast shape") as error:
            form(torch.ones(2, 4))
        messages.append(re.search("output with shape.*", str(error.value))[0])
        assert form(torch.ones(1)).shape == (4,)
    assert len(set(messages)) == 1
