"""What Cresset knows of operators' results before a program runs, against what eager PyTorch returns.

Rules first: of each call that PyTorch's own samples reach, and of the same calls with one argument of another dtype, rank, size or kind, the rule must
say nothing that is not so, whatever is unknown of the arguments. Then programs: around each operator, large enough that they have plans, which assert
while they run all that was assumed (CRESSET_CHECK_FACTS). `python tests/python/test_facts.py` runs all dtypes and more samples, and prints what has no rule.
"""

import os
import pickle
import random
import sys
import time
import traceback
import warnings
from collections import Counter

import fact_calls
import pytest
import sampling
import torch
import torch.nn.functional as F
from fact_calls import Call, describe

import cresset
from cresset import _C

RULES = _C._fact_rows()
PARTS = 8
#: Operators that end the process for some of the arguments that are tried here; they are called with the samples' arguments only.
FRAGILE = {
    "aten::as_strided",
    "aten::to.dtype",
    "aten::randint",
    "aten::randint.low",
    "aten::native_batch_norm",
    "aten::cross",
}

#: Of these the calls that tests/data has are tried, too.
WRITTEN = sorted(set(RULES) - FRAGILE)

NAMES = {
    torch.float32: "Float",
    torch.float64: "Double",
    torch.int64: "Long",
    torch.int32: "Int",
    torch.int16: "Short",
    torch.int8: "Char",
    torch.uint8: "Byte",
    torch.bool: "Bool",
    torch.float16: "Half",
    torch.bfloat16: "BFloat16",
    torch.uint16: "UInt16",
    torch.float8_e4m3fn: "Float8_e4m3fn",
    torch.quint8: "QUInt8",
    torch.qint8: "QInt8",
    torch.qint32: "QInt32",
    torch.complex32: "ComplexHalf",
    torch.complex64: "ComplexFloat",
    torch.complex128: "ComplexDouble",
}


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def recorded(part, **options):
    """The calls of a part of PyTorch's own samples, and of a part of the operators with rules those that are written down."""
    return fact_calls.recorded(fact_calls.entries(part, PARTS), **options) + fact_calls.written(WRITTEN[part::PARTS])


def share_of(calls):
    """Half of the calls of each operator."""
    return sampling.share(calls, 2, kind=lambda call: call.name)


def contradiction(fact, result):
    """How a fact is not so of a result; None if it is."""
    kind = result[0]
    if fact is None:
        return None
    if kind == "T":
        return tensor_contradiction(fact, *result[1:])
    if kind == "L":
        if isinstance(fact, tuple):  # of each element
            return next((c for item in result[1:] if (c := contradiction(fact[0], item))), None)
        if len(fact) != len(result) - 1:
            return f"{len(fact)} elements of {len(result) - 1}"
        return next((c for f, item in zip(fact, result[1:]) if (c := contradiction(f, item))), None)
    return None if result[1] is not None or fact == "none" else f"{fact} of None"


def tensor_contradiction(fact, dtype, sizes):
    if not isinstance(fact, dict):
        return f"{fact} of a tensor"
    if fact.get("dtype", NAMES[dtype]) != NAMES[dtype]:
        return f"dtype {fact['dtype']} of {NAMES[dtype]}"
    known = fact.get("sizes", sizes)
    # Of a nested tensor's sizes some are not known even then.
    if len(known) != len(sizes) or any(k is not None and s is not None and k != s for k, s in zip(known, sizes)):
        return f"sizes {known} of {list(sizes)}"
    return None


def false_facts(call):
    arguments = [fact_calls.make(a) for a in call.arguments]
    for hidden in ("nothing", "numbers", "ranks"):
        facts = _C._facts_of_call(call.name, arguments, hidden)
        if len(facts) != len(call.results):
            yield f"{call.text()}: {len(facts)} facts of {len(call.results)} results"
            return
        for fact, result in zip(facts, call.results):
            if wrong := contradiction(fact, result):
                yield f"{call.text()}, {hidden} unknown: {wrong}"


def test_rows():
    assert _C._fact_rule_errors() == []


@pytest.mark.parametrize("part", range(PARTS))
def test_rules_of_samples(part):
    calls = recorded(part, dtypes=fact_calls.DTYPES[:3], samples=6)
    assert len(calls) > 300
    wrong = [fact for call in calls if call.name in RULES for fact in false_facts(call)]
    assert not wrong, "\n".join(wrong[:20])


def called_again(call):
    """The call with the results that eager PyTorch returns for its arguments, and what is wrong of their memory; None if it raises."""
    try:
        arguments = [fact_calls.make(a) for a in call.arguments]
        results = fact_calls.call(fact_calls.overload(call.name), arguments)
        again = Call(call.name, call.arguments, tuple(describe(result, any_kind=True) for result in results))
        return again, list(false_memory(call, arguments, results))
    except Exception:
        return None


def is_dtype(name, place):
    return fact_calls.overload(name)._schema.arguments[place].name == "dtype"


def of_one_dtype(call, dtype):
    """The call with all its tensors of another dtype."""

    def changed(argument):
        if argument[0] == "L":
            return "L", *map(changed, argument[1:])
        return ("T", dtype, argument[2]) if argument[0] == "T" else argument

    return Call(call.name, tuple(map(changed, call.arguments)), ())


def varied(calls, seed, per_operator, two=False):
    """Calls with one argument replaced, or also with two, and all tensors of another dtype; of the same operator at most so many."""
    generator = random.Random(seed)
    by_name, rare = {}, {}  # rare: other words, and None
    for call in calls:
        if call.name not in RULES or call.name in FRAGILE:
            continue
        # Kernels of backward passes believe the sizes of their arguments.
        only_dtypes = "_backward" in call.name
        replaced, schema = [], fact_calls.overload(call.name)._schema
        for i, argument in enumerate(call.arguments):
            for other in fact_calls.variants(argument, schema.arguments[i]):
                if only_dtypes and not (argument[0] == other[0] == "T" and argument[2] == other[2]):
                    continue
                # Numbers that are no dtypes end the process in some of eager PyTorch's kernels; Cresset refuses them before.
                if is_dtype(call.name, i) and other[1] == -1:
                    continue
                replaced.append((i, other))
                if fact_calls.NONE in (argument, other) or other[-1] is str:
                    rare.setdefault(call.name, {})[call.replaced(i, other)] = None
        found = by_name.setdefault(call.name, {})
        found |= {call.replaced(i, other): None for i, other in replaced}
        for (i, one), (j, other) in zip(replaced, generator.sample(replaced, len(replaced)) if two else []):
            if i != j:
                found[call.replaced(i, one).replaced(j, other)] = None
        found |= {of_one_dtype(call, dtype): None for dtype in fact_calls.ALL_DTYPES if two}
    for name in sorted(by_name):
        for found, most in ((list(by_name[name]), per_operator), (list(rare.get(name, {})), per_operator // 2)):
            yield from generator.sample(found, min(most, len(found)))


class Mistake(Exception):
    pass


def ends_eager(item):
    """Whether eager PyTorch alone ends the process for a call."""
    child = os.fork()
    if child == 0:
        torch.set_num_threads(1)
        called_again(item)
        os._exit(0)
    return os.waitpid(child, 0)[1] != 0


def in_child(function, items):
    """The results of function(item) from a forked process; what ends the process is a result "crash" of its item."""
    items = list(items)
    while items:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            torch.set_num_threads(1)  # those of OpenMP's pool were not forked: a kernel would wait for them
            try:
                with os.fdopen(writer, "wb") as out:
                    for item in items:
                        out.write(b"+")
                        out.flush()
                        try:
                            result = function(item)
                        except Exception:  # a mistake of the test, no crash
                            result = Mistake(traceback.format_exc())
                        pickle.dump(result, out)
                status = 0
            finally:
                os._exit(status)
        os.close(writer)
        finished = 0
        with os.fdopen(reader, "rb") as results:
            while results.read(1):
                try:
                    result = pickle.load(results)
                    if isinstance(result, Mistake):
                        raise result
                    yield result
                except EOFError:
                    yield None if ends_eager(items[finished]) else [f"crash: {items[finished].text()}"]
                finished += 1
        os.waitpid(child, 0)
        items = items[finished:]


def facts_of_varied(call):
    # No plan believes that these are as other tensors: their sums with numbers have other dtypes, for one.
    if any(argument[:2] == ("K", "zeros") for argument in call.arguments):
        return None
    if _C._has_argument_check(call.name) and is_refused(call):
        return None
    again = called_again(call)
    return None if again is None else [*false_facts(again[0]), *again[1]]


def is_refused(call):
    """Whether Cresset raises, perhaps by its own check of arguments that eager PyTorch's kernel believes, and crashes. Or
    the arguments can't be made, as sparse tensors of some sizes."""
    try:
        arguments = [fact_calls.make(a) for a in call.arguments]
        text, inputs = program(call.name, arguments, fact_calls.overload(call.name)._schema)
        _C.function_from_graph("f", _C.parse_ir(text))(*(arguments[i] for i in inputs))
    except Exception:
        return True
    return False


def test_calls_that_the_own_check_refuses_have_no_facts():
    call = fact_calls.Call(
        "aten::_adaptive_avg_pool2d", (("K", "quantized", torch.float64, (2, 3, 1, 4)), ("L", ("V", 1, int))), ()
    )
    assert facts_of_varied(call) is None
    assert not is_refused(call.replaced(1, ("L", ("V", 1, int), ("V", 1, int))))


@pytest.mark.parametrize("part", range(PARTS))
def test_rules_of_other_arguments(part):
    calls = recorded(part, dtypes=fact_calls.DTYPES[:2], samples=3)
    others = list(varied(calls, part, per_operator=sampling.amount(20, 60)))
    others += varied(calls, part, per_operator=sampling.amount(8, 60), two=True)
    results = list(in_child(facts_of_varied, others))
    answered = [result for result in results if result is not None]
    assert len(answered) > sampling.amount(400, 1000)
    wrong = [fact for result in answered for fact in result]
    assert not wrong, "\n".join(wrong[:20])


def own(name, *arguments):
    described = (("T", torch.float32, a) if isinstance(a, tuple) else describe(a) for a in arguments)
    return Call(name, tuple(described), ())


#: Calls of Cresset's own operators: PyTorch's samples reach none.
OWN = [
    own("cresset::mm", (2, 3), (3, 4), False),
    own("cresset::mm", (2, 3), (3, 4), True),
    own("cresset::detach_copy", (2, 3)),
    own("cresset::with_elements", (2, 3), (2, 3)),
    own("cresset::apart_from", (2, 3), (2, 3)),
    own("cresset::cached_cast", (2, 3), torch.bfloat16, torch.device("cpu")),
    own("cresset::attention", (2, 4, 3, 8), (2, 4, 5, 8), (2, 4, 5, 8), None, False, None, False),
    own("cresset::attention", (2, 4, 3, 8), (2, 2, 5, 8), (2, 2, 5, 6), (3, 5), False, 0.5, True),
    own("cresset::dropout_noise", (3, 4), 0.5, False),
    own("cresset::dropout_noise", (3, 4, 2), 0.5, True),
    own("cresset::batch_statistics", (4, 3, 5), (3,), (3,), (3,), (3,), 0.1),
    own("cresset::batch_statistics", (0, 3), None, None, None, None, 0.1),
    own("cresset::select_assign", (3, 4), (4,), 0, 1),
    own("cresset::select_assign", (3, 4), (), 1, -1),
    own("cresset::slice_assign", (3, 4), (2, 4), 0, 0, 2, 1),
    own("cresset::slice_assign", (3, 4), (1,), 1, None, None, 2),
]


def test_rules_of_own_operators():
    names = {name for name in RULES if name.startswith("cresset::")}
    assert {call.name for call in OWN} == names
    others = [*OWN, *varied(OWN, 0, per_operator=150), *varied(OWN, 1, per_operator=100, two=True)]
    facts = list(in_child(facts_of_varied, others))
    layouts = [faults for _, faults in in_child(layout_faults, OWN)]
    wrong = [fault for found in facts + layouts for fault in found or ()]
    assert not wrong, "\n".join(wrong[:20])
    assert None not in facts[: len(OWN)]
    assert sum(found is not None for found in facts) > 150


def test_dtypes_without_a_common_one():
    """What eager PyTorch refuses to promote is unknown, and no error; what it takes is right."""
    dtypes = [torch.uint16, torch.int16, torch.int32, torch.float8_e4m3fn, torch.float16, torch.bool, torch.complex64]
    shapes = [(), (3,)]
    values = [torch.ones(shape).to(dtype) for dtype in dtypes for shape in shapes]
    answered = 0
    for a in values:
        for b in values:
            (fact,) = _C._facts_of_call("aten::mul.Tensor", [a, b], "nothing")
            try:
                result = a * b
            except RuntimeError:
                continue
            assert contradiction(fact, describe(result)) is None, (a.dtype, a.shape, b.dtype, b.shape, fact)
            answered += 1
    assert answered > 100


#: What runs over more arguments have found.
FOUND = [
    Call("aten::linalg_qr", (("T", torch.float32, (4, 3)), ("V", "r", str)), ()),
    Call("aten::bilinear", (("T", torch.float32, (3,)), ("T", torch.float32, (4,)), ("T", torch.float32, (5, 3, 4)), ("T", torch.float32, (5, 1))), ()),
    Call("aten::linalg_vector_norm", (("T", torch.complex64, (3, 2)), ("V", 2.0, float), ("L", ("V", 0, int)), ("V", True, bool), ("V", torch.complex64, torch.dtype)), ()),
    Call("aten::sum.dim_IntList", (("K", "sparse", torch.float32, (5, 5)), ("L",), ("V", True, bool), ("V", None, type(None))), ()),
    Call("aten::sum.dim_IntList", (("K", "sparse", torch.float32, (5, 5)), ("L",), ("V", False, bool), ("V", None, type(None))), ()),
    Call("aten::sum.dim_IntList", (("K", "sparse", torch.int64, ()), ("L",), ("V", False, bool), ("V", torch.bool, torch.dtype)), ()),
    Call("aten::conv1d", (("T", torch.bfloat16, (0, 2, 4)), ("T", torch.complex64, (2, 2, 3)), ("V", None, type(None)), *(("L", ("V", n, int)) for n in (1, 0, 1)), ("V", 1, int)), ()),
    Call("aten::poisson_nll_loss", (("T", torch.int64, (3,)), ("T", torch.float16, (3,)), ("V", True, bool), ("V", False, bool), ("V", 1e-8, float), ("V", 0, int)), ()),
    Call("aten::poisson_nll_loss", (("T", torch.int64, (3,)), ("T", torch.float16, (3,)), ("V", False, bool), ("V", False, bool), ("V", 1e-8, float), ("V", 1, int)), ()),
    Call("aten::margin_ranking_loss", (("T", torch.float64, ()), ("T", torch.int64, (3,)), ("T", torch.float32, (3,)), ("V", 0.5, float), ("V", 0, int)), ()),
    Call("aten::l1_loss", (("T", torch.int32, (3,)), ("T", torch.int32, (3,)), ("V", 2, int)), ()),
    Call("aten::einsum", (("V", ",i->i", str), ("L", ("T", torch.float64, ()), ("T", torch.float32, (3,)))), ()),
    Call("aten::einsum", (("V", "i->", str), ("L", ("T", torch.int32, (3,)))), ()),
    Call("aten::gru_cell", (("T", torch.float32, (2, 3)), ("T", torch.float64, (2, 4)), ("T", torch.float32, (12, 3)), ("T", torch.float64, (12, 4))), ()),
    Call("aten::rnn_tanh_cell", (("T", torch.float32, (2, 3)), ("T", torch.bfloat16, (2, 4)), ("T", torch.float32, (4, 3)), ("T", torch.bfloat16, (4, 4))), ()),
    Call("aten::rnn_relu_cell", (("T", torch.float32, (2, 3)), ("T", torch.bfloat16, (2, 4)), ("T", torch.float32, (4, 3)), ("T", torch.bfloat16, (4, 4))), ()),
    Call("aten::gru.input", (("T", torch.float32, (2, 5, 3)), ("T", torch.float64, (1, 5, 4)), ("L", ("T", torch.float32, (12, 3)), ("T", torch.float64, (12, 4))), *(("V", n, type(n)) for n in (False, 1, 0.0, False, False, False))), ()),
    Call("aten::rnn_tanh.input", (("T", torch.float64, (2, 5, 3)), ("T", torch.float32, (1, 5, 4)), ("L", ("T", torch.float64, (4, 3)), ("T", torch.float32, (4, 4))), *(("V", n, type(n)) for n in (False, 1, 0.0, False, False, False))), ()),
    Call("aten::native_dropout", (("T", torch.float32, (3, 0)), ("V", 0.5, float), ("V", True, bool)), ()),
    Call("aten::diff", (("T", torch.float32, (3, 0)), ("V", 1, int), ("V", -1, int)), ()),
    Call("aten::native_channel_shuffle", (("T", torch.float32, (1, 2, 0, 4)), ("V", 1, int)), ()),
    Call("aten::scaled_dot_product_attention", (("T", torch.float32, (1, 3, 4)), ("T", torch.float32, (2, 5, 4)), ("T", torch.float32, (2, 5, 0)), ("V", None, type(None)), ("V", 0.0, float), ("V", False, bool), ("V", None, type(None)), ("V", False, bool)), ()),
    Call("aten::scaled_dot_product_attention", (("T", torch.bfloat16, (4, 1, 3, 8)), ("T", torch.bfloat16, (4, 4, 6, 8)), ("T", torch.bfloat16, (4, 0, 6, 8)), ("V", None, type(None)), ("V", 0.0, float), ("V", False, bool), ("V", None, type(None)), ("V", False, bool)), ()),
    Call("aten::hinge_embedding_loss", (("T", torch.int64, (2,)), ("T", torch.float32, ()), ("V", 1.0, float), ("V", 2, int)), ()),
    Call("aten::hinge_embedding_loss", (("T", torch.int64, (2,)), ("T", torch.float32, (2,)), ("V", 1.0, float), ("V", 0, int)), ())
]  # fmt: skip


@pytest.mark.parametrize("call", FOUND, ids=[f"{i} {call.name}" for i, call in enumerate(FOUND)])
def test_found(call):
    assert facts_of_varied(call) == []


@pytest.mark.parametrize(
    "name", ["aten::channel_shuffle", "aten::native_channel_shuffle", "aten::diff", "aten::native_dropout"]
)
def test_results_that_share_memory_if_they_are_empty(name):
    assert not any(_C._new_results(name))


# ---- Layouts ----


def odd(tensor):
    """Dimensions of size 1 have strides that no kernel gives them."""
    strides = [100 + i if size == 1 else stride for i, (size, stride) in enumerate(zip(tensor.shape, tensor.stride()))]
    return tensor.as_strided(tensor.shape, strides)


#: Tensors of the same elements, sizes and dtype that lie otherwise in memory.
LAYOUTS = {
    "contiguous": lambda t: t,
    "odd": odd,
    "channels last": lambda t: t.contiguous(memory_format=torch.channels_last) if t.dim() == 4 else odd(t),
    "transposed": lambda t: t.mT.contiguous().mT if t.dim() > 1 else t,
    "sliced": lambda t: torch.stack([t, t], -1)[..., 0],
    "expanded": lambda t: t[..., :1].expand(t.shape) if t.dim() else t,
}


def laid_out(value, layout):
    if isinstance(value, torch.Tensor):
        return LAYOUTS[layout](value)
    return [laid_out(v, layout) for v in value] if isinstance(value, list) else value


def false_layouts(fact, result):
    """What a fact says of a result's layout that is not so."""
    if isinstance(result, (list, tuple)) and isinstance(fact, (list, tuple)):
        facts = fact * len(result) if isinstance(fact, tuple) else fact
        for f, r in zip(facts, result):
            yield from false_layouts(f, r)
    if not isinstance(result, torch.Tensor) or not isinstance(fact, dict):
        return
    contiguity, strides = fact.get("contiguity"), fact.get("strides")
    if contiguity is None and not any(s is not None for s in strides or []):
        return
    if result.layout != torch.strided or result.is_nested:
        yield f"{fact} of a tensor without strides"
    elif result.numel():
        format = {2: torch.channels_last_3d}.get(result.dim() - 3, torch.channels_last)
        holds = {
            None: True,
            "strided": True,
            "dense": torch._prims_common.is_non_overlapping_and_dense_or_false(result),
            "contiguous": result.is_contiguous(),
            "channels-last": result.dim() in (4, 5) and result.is_contiguous(memory_format=format),
        }
        dimensions = list(zip(strides or [], result.shape, result.stride()))
        if not holds[contiguity] or any(k not in (None, s) for k, size, s in dimensions if size != 1):
            yield f"{fact} of sizes {list(result.shape)} and strides {list(result.stride())}"


def storages(values):
    if isinstance(values, (list, tuple)):
        return {s for v in values for s in storages(v)}
    strided = isinstance(values, torch.Tensor) and values.layout == torch.strided and not values.is_nested
    return {values.untyped_storage()._cdata} if strided else set()


def false_memory(call, arguments, results):
    """Results that are in memory of arguments, or of other results, though they are said to be new."""
    for i, is_new in enumerate(_C._new_results(call.name)):
        others = [*arguments, *results[:i], *results[i + 1 :]]
        if is_new and isinstance(results[i], torch.Tensor) and storages(results[i]) & storages(others):
            yield f"{call.text()}: result {i} is not new"


def layout_faults(call):
    """Of a call with arguments in several layouts; how many facts were known, and those that are false."""
    op, known, faults = fact_calls.overload(call.name), 0, []
    made = [fact_calls.make(a) for a in call.arguments]
    for first in LAYOUTS:
        for others in ("contiguous", first):
            arguments = [laid_out(v, others if i else first) for i, v in enumerate(made)]
            try:
                results = fact_calls.call(op, arguments)
            except Exception:
                continue
            text = f"{call.text()}, {first} and {others}"
            faults += [f"{text}: {fault}" for fault in false_memory(call, arguments, results)]
            for hidden in ("nothing", "numbers", "ranks") if call.name in RULES else ():
                facts = _C._facts_of_call(call.name, arguments, hidden)
                known += "contiguity" in str(facts)
                faults += [f"{text}, {hidden} unknown: {wrong}" for wrong in false_layouts(facts, results)]
    return known, faults


@pytest.mark.parametrize("part", range(PARTS))
def test_layouts(part):
    calls = recorded(part, dtypes=fact_calls.DTYPES[:1], samples=3)
    calls = share_of(call for call in calls if call.name not in FRAGILE)
    results = [result for result in in_child(layout_faults, calls) if not isinstance(result, list)]
    assert sum(known for known, _ in results) > sampling.amount(50, 100)
    wrong = [fault for _, faults in results for fault in faults]
    assert not wrong, "\n".join(wrong[:20])


def test_a_sum_of_contiguous_tensors_need_not_be_contiguous():
    """Where no operand has the sizes of the sum, strides of dimensions of size 1 may decide."""
    x = torch.empty_strided((3, 1, 1), (1, 1, 100))
    y = torch.ones(1, 4, 1)
    assert x.is_contiguous() and y.is_contiguous() and not (x + y).is_contiguous()
    add = "aten::add.Tensor"
    assert _C._facts_of_call(add, [x, y, 1])[0]["contiguity"] == "dense"
    assert _C._facts_of_call(add, [x, torch.ones(3, 1, 1), 1])[0]["contiguity"] == "contiguous"
    assert _C._facts_of_call(add, [torch.ones(2, 4), torch.ones(4), 1])[0]["contiguity"] == "contiguous"
    x = torch.empty_strided((1, 1, 3), (1, 3, 1))
    y = torch.empty_strided((1, 2, 3), (0, 3, 1))
    assert x.is_contiguous() and y.is_contiguous() and not (x + y).is_contiguous()
    assert _C._facts_of_call(add, [x, y, 1])[0]["contiguity"] == "dense"


# ---- Programs ----


def constant(value):
    """The IR that makes a value; None if there is none for it."""
    if value is None:
        return "NoneType", "prim::Constant()"
    if isinstance(value, bool):
        return "bool", f"prim::Constant[value={int(value)}]()"
    if isinstance(value, int):
        return "int", f"prim::Constant[value={value}]()"
    if isinstance(value, float) and value == value and abs(value) != float("inf"):
        return "float", f"prim::Constant[value={value!r}]()"
    if isinstance(value, str):
        return "str", f'prim::Constant[value="{value}"]()'
    return None


def program(name, arguments, schema):
    """An operator with some dozen others after it that ask what its results are; and the indices of the arguments that are inputs."""
    heads, lines, operands, inputs = [], [], [], []
    for i, (value, argument) in enumerate(zip(arguments, schema.arguments)):
        known = constant(value)
        if known:
            lines.append(f"  %a{i} : {known[0]} = {known[1]}")
        else:
            heads.append(f"%a{i} : {argument.type.str()}")
            inputs.append(i)
        operands.append(f"%a{i}")
    results = [r.type.str() for r in schema.returns]
    left = ", ".join(f"%r{i} : {t}" for i, t in enumerate(results))
    kind = name.partition(".")[0]  # texts name no overloads: the arguments' types tell
    lines.append(f"  {left} = {kind}({', '.join(operands)})")
    outputs, types = [f"%r{i}" for i in range(len(results))], list(results)
    lines += [
        "  %zero : int = prim::Constant[value=0]()",
        "  %no : bool = prim::Constant[value=0]()",
        "  %none : NoneType = prim::Constant()",
    ]
    for i, kind in enumerate(results):
        if kind != "Tensor":
            continue
        lines += [
            f"  %dim{i} : int = aten::dim(%r{i})",
            f"  %dtype{i} : int = prim::dtype(%r{i})",
            f"  %shape{i} : int[] = aten::size(%r{i})",
            f"  %len{i} : int = aten::len(%shape{i})",
            f"  %requires{i} : bool = prim::requires_grad(%r{i})",
            f"  %x{i} : Tensor = aten::unsqueeze(%r{i}, %zero)",
            f"  %both{i} : Tensor[] = prim::ListConstruct(%x{i}, %x{i})",
            f"  %y{i} : Tensor = aten::cat(%both{i}, %zero)",
            f"  %z{i} : Tensor = aten::to(%y{i}, %dtype{i}, %no, %no, %none)",
            f"  %e{i} : Tensor = aten::eq(%z{i}, %y{i})",
            f"  %f{i} : int = prim::dtype(%z{i})",
            f"  %g{i} : int = aten::dim(%e{i})",
        ]
        numbers = [f"%dim{i}", f"%dtype{i}", f"%len{i}", f"%f{i}", f"%g{i}"]
        outputs += [*numbers, f"%requires{i}", f"%shape{i}", f"%z{i}"]
        types += ["int"] * 5 + ["bool", "int[]", "Tensor"]
    lines.append(f"  %out : ({', '.join(types)}) = prim::TupleConstruct({', '.join(outputs)})")
    return f"graph({', '.join(heads)}):\n" + "\n".join(lines) + "\n  return (%out)", inputs


def metadata(value):
    if isinstance(value, torch.Tensor):
        return value.dtype, tuple(value.shape), value.device, value.layout
    return [metadata(v) for v in value] if isinstance(value, (list, tuple)) else value


def plan_faults(call):
    """What the plans of programs around a call assert wrongly; None if eager PyTorch raises."""
    op = fact_calls.overload(call.name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            arguments = [fact_calls.make(a) for a in call.arguments]
        except Exception:  # not every tensor has one of the kind: a sparse one without rows
            return None
        text, inputs = program(call.name, arguments, op._schema)
        graph = _C.parse_ir(text)
        graph.nodes()
        leaves = [a for a in arguments if isinstance(a, torch.Tensor) and (a.is_floating_point() or a.is_complex())]
        faults, answered = [], False
        # Which require a gradient: all, or one.
        for checks, some in (("plans", leaves), ("unoptimized", leaves), ("unoptimized", leaves[-1:])):
            for argument in leaves:
                argument.requires_grad_(any(argument is one for one in some))
            try:
                expected = fact_calls.call(op, arguments)
            except Exception:
                continue
            answered = True
            _C._set_fact_checks(checks)
            try:
                f = _C.function_from_graph("f", graph)
                for _ in range(2):
                    found = f(*(arguments[i] for i in inputs))
                    pairs = zip(metadata(list(found)), metadata([*expected, *seen_of(expected)]))
                    faults += [f"{call.text()}: {a} of {b}" for a, b in pairs if b is not None and a != b]
            except Exception as error:
                if "a plan assumed" in str(error):
                    faults.append(f"{call.text()}: {error}")
            finally:
                _C._set_fact_checks("off")
        return faults if answered else None


def seen_of(results):
    """What the program says of its results; None where it is not compared."""
    for r in results:
        if isinstance(r, torch.Tensor):
            yield from (
                r.dim(),
                None,
                r.dim(),
                None,
                r.dim() + 1,
                r.requires_grad,
                list(r.shape),
                torch.cat([r[None], r[None]]),
            )


@pytest.fixture
def plans_always():
    _C._set_plans_always(True)
    yield
    _C._set_plans_always(False)


@pytest.mark.parametrize("part", range(PARTS))
def test_plans(part, plans_always):
    calls = recorded(part, dtypes=fact_calls.DTYPES[:2], samples=2)
    calls = share_of(call for call in calls if call.name not in FRAGILE)
    others = [call for call in varied(calls, part, per_operator=sampling.amount(2, 4)) if "_backward" not in call.name]
    results = list(in_child(plan_faults, calls + others))
    answered = [result for result in results if result is not None]
    assert len(answered) > sampling.amount(100, 200)
    wrong = [fault for result in answered for fault in result]
    assert not wrong, "\n".join(wrong[:20])


#: What eager PyTorch calls it, what scripts do, and arguments.
RANKS = [
    (torch.masked_scatter, "masked_scatter", (torch.zeros(3), torch.ones(2, 3).bool(), torch.arange(6.0))),
    (
        torch.nn.functional.scaled_dot_product_attention,
        "scaled_dot_product_attention",
        (torch.randn(4, 8), torch.randn(2, 5, 8), torch.randn(2, 5, 8)),
    ),
    (torch.linalg.solve, "linalg_solve", (torch.eye(3).repeat(5, 1, 1).requires_grad_(), torch.randn(3, 4))),
]


@pytest.mark.parametrize("eager, name, arguments", RANKS, ids=[name for _, name, _ in RANKS])
def test_ranks_that_depend_on_several_arguments(eager, name, arguments, plans_always):
    names = ", ".join("abc"[: len(arguments)])
    f = cresset.CompilationUnit(
        f"def f({names}):\n  y = torch.{name}({names})\n  z = y * 2 + 1\n  return z - 1, y.dim(), len(y.shape), y.dtype"
    ).f
    expected = eager(*arguments)
    for _ in range(3):
        found, dim, length, dtype = f(*arguments)
        assert (dim, length) == (expected.dim(), expected.dim())
        torch.testing.assert_close(found, expected * 2)


@pytest.mark.parametrize("target", [torch.float32, torch.float64, torch.bfloat16, None])
@pytest.mark.parametrize("weight", [torch.float32, torch.float64, torch.bfloat16, None])
@pytest.mark.parametrize("x", [torch.float32, torch.float64, torch.bfloat16])
def test_dtypes_of_losses_of_classes(x, weight, target, plans_always):
    """Of probabilities, PyTorch promotes all three; weights of classes have the dtype of the input."""
    if target is None and weight not in (x, None):
        pytest.skip("an error")
    text = "def f(x, target, weight: Optional[Tensor], smoothing: float, n: int):\n  y = torch.nn.functional.cross_entropy(x * 1, target, weight, "
    text += "label_smoothing=smoothing, reduction='none' if n > 0 else 'mean')\n  z = (y + 1).to(torch.float32)\n  return z * 2 - 1, y.dtype, y * 2"
    arguments = torch.randn(3, 5).to(x), torch.rand(3, 5).to(target) if target else torch.tensor([1, 0, 4])
    weights = None if weight is None else torch.rand(5).to(weight)
    for smoothing in (0.0, 0.1):
        for reduction in ("none", "mean"):
            f = cresset.CompilationUnit(text).f
            expected = F.cross_entropy(*arguments, weights, label_smoothing=smoothing, reduction=reduction)
            for _ in range(3):
                z, dtype, y = f(*arguments, weights, smoothing, int(reduction == "none"))
                assert z.dtype == torch.float32 and y.dtype == expected.dtype
                torch.testing.assert_close(y, expected * 2)


def test_losses_without_classes(plans_always):
    f = cresset.CompilationUnit("def f(x, y):\n  return torch.nn.functional.cross_entropy(x * 1, y * 1) * 2").f
    for sizes in ((3, 0), (0, 3), (0, 0)):
        x, y = torch.zeros(sizes, requires_grad=True), torch.zeros(sizes)
        for _ in range(3):
            torch.testing.assert_close(f(x, y), F.cross_entropy(x, y) * 2, equal_nan=True)


@pytest.mark.parametrize("weight", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("x", [torch.float32, torch.float64, torch.bfloat16])
def test_dtype_of_rms_norm_is_that_of_its_input(x, weight, plans_always):
    f = cresset.CompilationUnit(
        "def f(x, w):\n  y = torch.nn.functional.rms_norm(x * 1, [5], w)\n  return y * 2 + 1, y.dtype"
    ).f
    x, weight = torch.randn(3, 5).to(x), torch.rand(5).to(weight).requires_grad_()
    for _ in range(3):
        expected = F.rms_norm(x, (5,), weight) * 2 + 1
        found = f(x, weight)[0]
        assert found.dtype == x.dtype
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(*(torch.autograd.grad(r.sum(), weight)[0] for r in (found, expected)))


def test_conversions_after_views_of_other_dtypes_stay():
    g = cresset.trace(lambda x: ((x.view(torch.int32) + 1) * 2 - 3).to(torch.float32), (torch.randn(4),))
    for _ in range(3):
        assert g(torch.ones(4)).dtype == torch.float32


CHECKED = """
graph(%x : Tensor):
  %dtype : int = prim::Constant[value={}]()
  %rank : int = prim::Constant[value={}]()
  %device : NoneType = prim::Constant()
  %requires_grad : int = prim::Constant[value={}]()
  %what : str = prim::Constant[value="the argument"]()
   = cresset::check_facts(%x, %dtype, %rank, %device, %requires_grad, %what)
  return (%x)
"""


@pytest.mark.parametrize(
    "facts, holds",
    [
        ((6, 1, 0), True),
        ((-1, -1, -1), True),
        ((7, -1, -1), False),
        ((-1, 2, -1), False),
        ((-1, -1, 1), False),
    ],
    ids=["all", "none", "dtype", "rank", "requires_grad"],
)
def test_false_facts_are_found(facts, holds):
    """The oracle itself, asked about a float32 vector that requires no gradient."""
    check = _C.function_from_graph("f", _C.parse_ir(CHECKED.format(*facts)))
    if holds:
        check(torch.ones(3))
    else:
        with pytest.raises(Exception, match="a plan assumed the argument; it is Float of rank 1"):
            check(torch.ones(3))


#: Rules that were wrong once: of the overload that has the bare name, "as the first", what a kernel says of stand-ins of size 8.
FALSE_RULES = [
    ("aten::view.dtype", "view(self, self)", lambda x: x.view(torch.int32), (torch.ones(4),)),
    ("aten::masked_scatter", "like(self)", *RANKS[0][::2]),
    ("aten::scaled_dot_product_attention", "tensor(query, query[:-1] + [value[-1]])", *RANKS[1][::2]),
    ("aten::linalg_solve", "tensor(A, unknowns(rank(B)))", *RANKS[2][::2]),
]


def faults_of_rule(item):
    name, rule, function, arguments, checks = item
    _C._replace_fact_rule(name, rule)
    _C._set_plans_always(True)
    _C._set_fact_checks(checks)

    def program(*arguments):
        y = function(*arguments)
        z = (y + 1) * 2 - 3
        return z.to(torch.float32), z.unsqueeze(0) + z.dim()

    f = cresset.trace(program, arguments, check_trace=False)
    expected = program(*arguments)
    try:
        for _ in range(3):
            found = f(*arguments)
    except Exception as error:
        return str(error)
    return None if all(torch.equal(a, b) and a.dtype == b.dtype for a, b in zip(found, expected)) else "wrong"


@pytest.mark.parametrize("false", FALSE_RULES, ids=[name for name, *_ in FALSE_RULES])
def test_false_rules_are_found(false):
    """The wrong results that plans once had, put back: each is wrong without the oracle, and found by it."""
    without, plans, unoptimized = in_child(
        faults_of_rule, [(*false, checks) for checks in ("off", "plans", "unoptimized")]
    )
    assert without == "wrong"
    assert "a plan assumed" in plans
    assert "a plan assumed" in unoptimized


#: False rules of operators that return ints, and expressions that depend on them.
FALSE_INTS = [
    ("aten::numel", "count(self) + 1", "x.numel()"),
    ("aten::size.int", "self[0]", "x.size(1)"),
    ("aten::size", "[self[0], self[0]]", "x.size()[1]"),
    ("aten::dim", "rank(self) + 1", "x.dim()"),
    ("aten::len.t", "length(a) + 1", "len(x.size())"),
]


def faults_of_int_rule(item):
    """What a program that computes an int returns by a false rule, round by round; None for what is right."""
    name, rule, expression, checks = item
    _C._replace_fact_rule(name, rule)
    _C._set_plans_always(True)
    _C._set_fact_checks(checks)
    f = cresset.CompilationUnit(f"def f(x: Tensor):\n  n = {expression}\n  y = x * n\n  return n, n * 2 + 1, y + n").f
    x = torch.ones(3, 4)
    n = eval(expression, {"x": x})
    try:
        found = [f(x) for _ in range(3)]
    except Exception as error:
        return str(error)
    return None if all(a == n and b == 2 * n + 1 and torch.equal(c, x * n + n) for a, b, c in found) else "wrong"


@pytest.mark.parametrize("false", FALSE_INTS, ids=[name for name, *_ in FALSE_INTS])
def test_false_rules_of_ints_are_found(false):
    """Plans that still compute the int assert it; those that do not have it from what they know of the tensor, and are right."""
    plans, unoptimized = in_child(faults_of_int_rule, [(*false, checks) for checks in ("plans", "unoptimized")])
    assert plans is None or "a plan assumed" in plans
    assert "a plan assumed" in unoptimized


def long_run(seconds, first=0):
    """All dtypes, all samples, varied arguments; prints what is wrong and which operators have no rule."""
    _C._set_plans_always(True)
    torch.set_num_threads(1)
    fact_calls.all_kinds = True
    without, counts, start = Counter(), Counter(), time.time()
    parts = 64
    for part in range(first, parts):
        calls = fact_calls.recorded(fact_calls.entries(part, parts), dtypes=fact_calls.ALL_DTYPES, samples=100)
        for call in calls:
            without[call.name] += call.name not in RULES
        others = list(varied(calls, part, 2000, two=True))
        tried = [call for call in calls if call.name not in FRAGILE]
        jobs = [
            ("rules", facts_of_varied, [call for call in tried if call.name in RULES] + others),
            (
                "programs",
                plan_faults,
                tried + [call for call in others if "_backward" not in call.name][:: max(1, len(others) // 2000)],
            ),
        ]
        for what, function, items in jobs:
            for result in in_child(function, items):
                counts[what] += result is not None
                for fault in result or []:
                    counts["false"] += 1
                    print(fault, flush=True)
        print(f"part {part + 1} of {parts}: {dict(counts)}, {time.time() - start:.0f} s", flush=True)
        if time.time() - start > seconds:
            break
    missing = sorted(name for name, n in without.items() if n)
    print(
        f"{len(RULES)} operators have rules; of those that the samples reach, {len(missing)} have none: {' '.join(missing)}"
    )
    return counts["false"]


if __name__ == "__main__":  # [seconds] [the first of 64 parts]
    arguments = [float(text) for text in sys.argv[1:]] or [1e9]
    sys.exit(1 if long_run(arguments[0], *map(int, arguments[1:])) else 0)
