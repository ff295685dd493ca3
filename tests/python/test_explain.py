"""What `explain` tells: what tells plans apart, what autograd got and why, and which calls had no plan."""

import inspect

import pytest
import torch
from torch import Tensor, nn

import cresset


@pytest.fixture(autouse=True)
def without_kernels():
    """Which kernels a plan has is for test_kernels.py."""
    with cresset.options.override(kernels="off"):
        yield


def work(x: Tensor, w: Tensor):
    y = torch.tanh(x @ w) * 2
    return y.sum() + y.mean()


def script_of(function):
    """Compiled by itself: what other tests did with it shall not count."""
    return getattr(cresset.CompilationUnit(inspect.getsource(function)), function.__name__)


ARGUMENTS = torch.ones(2, 2), torch.ones(2, 2)


def called(times=2):
    script = script_of(work)
    for _ in range(times):
        script(*ARGUMENTS)
    return script


def reasons(script):
    return {reason.split(":")[0]: count for reason, count in cresset.explain(script).without_plan.items()}


def test_text_of_one_plan():
    assert (
        str(cresset.explain(called()))
        == """\
work: 1 plan; 10 nodes unoptimized, calls inlined
  for gradients on; x: Float(*, *); w: Float(*, *)
  plan 0: 9 nodes
  1 call without a plan: the first call: plans are made from the second call on"""
    )


def test_text_tells_plans_apart():
    script = called()
    script(torch.ones(2, 2, dtype=torch.float64), torch.ones(2, 2, dtype=torch.float64))
    with torch.no_grad():
        script(torch.ones(3, 2, 2), torch.ones(2, 2))
    lines = str(cresset.explain(script)).split("\n")
    assert lines[0].startswith("work: 3 plans; ")
    assert "  plan 2: 9 nodes, for gradients off; x: Float(*, *, *); w: Float(*, *)" in lines
    assert "  plan 1: 9 nodes, for gradients on; x: Double(*, *); w: Double(*, *)" in lines


def test_parameters_are_folded():
    script = cresset.script(nn.Sequential(*[nn.Linear(2, 2) for _ in range(10)]))
    for _ in range(2):
        script(ARGUMENTS[0])
    text = str(cresset.explain(script))
    assert "  and 20 attributes: 10 Float(*, *, requires_grad=1), 10 Float(*, requires_grad=1)" in text.split("\n")
    assert "weight" not in text
    assert len(cresset.explain(script).plans[0].attributes) == 20
    with torch.no_grad():
        script[3].weight.requires_grad_(False)
        script(ARGUMENTS[0])
    text = str(cresset.explain(script))  # what differs is named
    assert "3.weight: Float(*, *)" in text and "5.weight" not in text


def test_what_autograd_gets():
    def f(x: Tensor, i: Tensor):
        y = torch.tanh(x) * 2 + 1
        z = torch.renorm(y, 2.0, 0, 1.0)
        z = torch.sigmoid(z) * 3 - 1
        return torch.ctc_loss(torch.log_softmax(z, 1).unsqueeze(1), i, [3], [2])

    script = cresset.script(f)
    x = torch.randn(3, 4, requires_grad=True)
    for _ in range(2):
        script(x, torch.tensor([[1, 2]]))
    (plan,) = cresset.explain(script).plans
    assert plan.gradients[0].startswith("compiled gradients: ")
    assert any(
        line.startswith("autograd's tape: aten::ctc_loss: it has no derivative rule") for line in plan.gradients
    ), plan
    with torch.no_grad():
        script(x, torch.tensor([[1, 2]]))
    assert not cresset.explain(script).plans[-1].gradients


def test_calls_without_a_plan_by_reason():
    script = called(3)
    assert reasons(script) == {"the first call": 1}
    with cresset.optimized_execution(False):
        script(*ARGUMENTS)
        script(*ARGUMENTS)
    assert reasons(script) == {"the first call": 1, "the execution mode of the process or of the thread": 2}


def sparse(script):
    script(ARGUMENTS[0].to_sparse(), ARGUMENTS[1])


def functorch(script):
    torch.func.vmap(script, in_dims=(0, None))(torch.ones(3, 2, 2), ARGUMENTS[1])


def dispatch_mode(script):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with Mode():
        script(*ARGUMENTS)


def saved_tensors(script):
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        script(*ARGUMENTS)


def anomaly(script):
    with torch.autograd.detect_anomaly(check_nan=False):
        script(*ARGUMENTS)


def limited(script):
    with cresset.Limits(seconds=100):
        script(*ARGUMENTS)


def profiled(script):
    with torch.autograd.profiler.profile():
        script(*ARGUMENTS)


REASONS = [
    (limited, "limits of time or memory"),
    (profiled, "a profiler"),
    (sparse, "a tensor that is a subclass, sparse, quantized, nested, conjugated or undefined"),
    (functorch, "a trace, a dispatch mode or functorch"),
    (dispatch_mode, "a trace, a dispatch mode or functorch"),
    (saved_tensors, "hooks for saved tensors, or autograd's anomaly mode"),
    (anomaly, "hooks for saved tensors, or autograd's anomaly mode"),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("call", "reason"), REASONS, ids=[call.__name__ for call, _ in REASONS])
def test_reason(call, reason):
    script = called()
    for _ in range(2):
        call(script)
    assert reasons(script) == {"the first call": 1, reason: 2}
    script(*ARGUMENTS)
    assert reasons(script) == {"the first call": 1, reason: 2}  # plans are back


def test_more_kinds_than_plans():
    script = called(1)
    for rank in range(2, 20):
        script(torch.ones([1] * rank + [2, 2]), ARGUMENTS[1])
    explanation = cresset.explain(script)
    assert len(explanation.plans) == 16
    assert reasons(script)["more kinds of arguments than there may be plans"] == 2


def test_an_error_of_the_optimizer_belongs_to_one_kind_of_call():
    script = called()
    doubles = torch.ones(2, 2, dtype=torch.float64), torch.ones(2, 2, dtype=torch.float64)
    with cresset.passes.options(fail="cse"), cresset.options.override(optimizer_errors="report"):
        assert script(*doubles) == work(*doubles)
    assert script(*doubles) == work(*doubles)
    assert script(*ARGUMENTS) == work(*ARGUMENTS)
    script(torch.ones(3, 2, 2), ARGUMENTS[1])
    explanation = cresset.explain(script)
    assert len(explanation.plans) == 2
    assert explanation.errors == ["the pass 'cse' fails: the options of passes say so"]
    assert reasons(script) == {"the first call": 1, "an error of the optimizer": 2}
    assert "  an error of the optimizer: the pass 'cse' fails" in str(explanation)


def test_an_error_before_signatures_belongs_to_the_function():
    script = called(1)
    with cresset.passes.options(fail="inline"), cresset.options.override(optimizer_errors="report"):
        assert script(*ARGUMENTS) == work(*ARGUMENTS)
    assert script(*ARGUMENTS) == work(*ARGUMENTS)
    assert cresset.explain(script).state == "plans are off: the pass 'inline' fails: the options of passes say so"
    other = called()
    assert len(cresset.explain(other).plans) == 1


def test_plans_that_are_forgotten_are_made_anew():
    script = called()
    script(*(x.double() for x in ARGUMENTS))
    assert len(cresset.explain(script).plans) == 2
    script._debug_flush_compilation_cache()
    assert not cresset.explain(script).plans
    assert script(*ARGUMENTS) == work(*ARGUMENTS)
    assert len(cresset.explain(script).plans) == 1
