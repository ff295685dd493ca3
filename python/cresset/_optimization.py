"""How functions run: modes, and what the executor made of a function."""

import contextlib
from collections import Counter
from dataclasses import dataclass, field

from . import _C, options
from ._capture import explain_capture
from ._errors import UserError


def set_execution_mode(mode):
    """Chooses how calls run, for the whole process: `"interpret"` or `"optimize"`.

    `"interpret"` runs the unoptimized programs. `"optimize"`, the default, runs plans from a function's second call
    on: graphs that passes have rewritten for the kinds of arguments that calls bring. Results are the same, to the last
    bit. Calls that run already are not affected.
    """
    options.set(execution_mode=mode)


def get_execution_mode():
    """The mode that `set_execution_mode` chose."""
    return options.get("execution_mode")


@contextlib.contextmanager
def optimized_execution(should_optimize):
    """Within this context, calls of this thread use plans (True) or run the unoptimized program (False).

    With `set_execution_mode("interpret")` no call uses plans. torch.jit's name.
    """
    before = _C._get_thread_optimizes()
    _C._set_thread_optimizes(bool(should_optimize))
    try:
        yield
    finally:
        _C._set_thread_optimizes(before)


def last_executed_optimized_graph():
    """The graph of the plan that ran last on this thread, as a copy; None if no plan has run."""
    return _C._last_executed_optimized_graph()


def wait_for_compilation():
    """Returns when the kernels that calls have asked for so far are compiled (option `kernels`, `"background"`)."""
    _C._wait_for_compilation()


@dataclass(frozen=True)
class Plan:
    """One specialization of a function."""

    #: The state of the thread that the plan is for: grad mode and inference mode.
    ambient: str
    #: What calls must bring to run it, one text per tensor, optional value or bool: `"x: Float(*, *)"`.
    inputs: list
    #: The same of what the plan reads when it is entered: attributes of modules, entries of dicts and lists.
    attributes: list
    #: What the plan looks at on its way, tensors from lists, dicts, attributes and calls: `"h: Float(*, *)"`. A tensor of
    #: another kind sends the call back to the unoptimized program, at that point.
    guards: list
    #: How gradients of its results are computed: how many nodes have compiled gradients; which operators are left to
    #: autograd's tape, and why.
    gradients: list
    #: Which operators one kernel computes (option `kernels`); below each, per layout of its inputs, how many calls there
    #: were, bytes, operations on floats, the least time of those calls that were timed (one in 32), and the time that the
    #: processor takes at least, with one thread; and why operators before and after it are not in it. Then those
    #: operators that kernels know and that are in none, and why.
    kernels: list
    #: Calls of `torch.autograd.grad` and `backward` that run autograd's engine instead of nodes of the graph, and why.
    notes: list
    #: How many nodes its graph has.
    nodes: int
    #: The optimized graph.
    graph: object = field(repr=False)
    #: "from the loop at model.py:7 on", of the rest of a function; empty for the whole function.
    where: str = ""


@dataclass(frozen=True)
class Explanation:
    """What the executor made of a function; printed, it is a text for people.

    The text says what tells plans apart and folds what they have in common; the fields have all of it.
    """

    function: str
    #: Why calls don't use plans; empty if they do.
    state: str
    #: Nodes of the function's own graph with calls inlined; 0 before the first plan.
    nodes: int
    plans: list
    #: How many calls from outside ran the unoptimized program, by reason.
    without_plan: dict = field(default_factory=dict)
    #: Errors of the optimizer: calls of the kinds of arguments that they belong to run the unoptimized program.
    errors: list = field(default_factory=list)
    #: How often a call that began unoptimized went on in a plan, from a hot loop on.
    entered_from_loops: int = 0

    def __str__(self):
        head = [_count(len(self.plans), "plan")] if self.plans else []
        if self.nodes:
            head.append(f"{self.nodes} nodes unoptimized, calls inlined")
        lines = [f"{self.function}: " + "; ".join(filter(None, [self.state, *head]))]
        lines += [f"  {text}" for text in self._in_common()]
        common = self._common()
        for number, plan in enumerate(self.plans):
            own = [text for text in [plan.ambient, *plan.inputs, *plan.attributes] if text not in common]
            where = f" {plan.where}" if plan.where else ""
            lines.append(f"  plan {number}{where}: {plan.nodes} nodes" + (", for " + "; ".join(own) if own else ""))
            lines += [f"    {text}" for text in plan.gradients + plan.kernels + plan.notes]
            lines += [f"    guard {text}" for text in plan.guards]
        lines += [f"  {_count(count, 'call')} without a plan: {reason}" for reason, count in self.without_plan.items()]
        if self.entered_from_loops:
            lines.append(f"  {_count(self.entered_from_loops, 'call')} went on in a plan, from a hot loop on")
        lines += [f"  an error of the optimizer: {error}" for error in self.errors]
        return "\n".join(lines)

    def _common(self):
        """What all plans ask for."""
        texts = [{plan.ambient, *plan.inputs, *plan.attributes} for plan in self.plans]
        return set.intersection(*texts) if texts else set()

    def _in_common(self):
        if not self.plans:
            return []
        common = self._common()
        first = self.plans[0]
        lines = []
        inputs = [text for text in [first.ambient, *first.inputs] if text in common]
        if inputs:
            lines.append(("all: " if len(self.plans) > 1 else "for ") + "; ".join(inputs))
        folded = Counter(text.partition(": ")[2] for text in first.attributes if text in common)
        if folded:
            kinds = ", ".join(f"{count} {kind}" for kind, count in folded.most_common())
            lines.append(f"and {_count(sum(folded.values()), 'attribute')}: {kinds}")
        return lines


def _count(number, noun):
    return f"{number} {noun}" + ("" if number == 1 else "s")


def explain(function):
    """Which plans a script function, method or module (its `forward`) has, and what each was made for.

    Returns an `Explanation`; `print(cresset.explain(f))` shows it. For what `cresset.compile` returned it is a
    `CaptureExplanation`: the plans by line, and which lines run as Python, and why.
    """
    captured = explain_capture(function)
    if captured is not None:
        return captured
    if not isinstance(function, (_C.ScriptFunction, _C.ScriptMethod)):
        function = getattr(function, "forward", None)
    if not isinstance(function, (_C.ScriptFunction, _C.ScriptMethod)):
        raise UserError(
            "cresset.explain takes a script function, a script method, a module whose forward is one, or what cresset.compile returned"
        )
    report = _C._explain(function)
    report["plans"] = [Plan(**plan) for plan in report["plans"]]
    return Explanation(**report)


@dataclass(frozen=True)
class ExecutionPlan:
    """What a call runs, as torch.jit shows it."""

    graph: object = field(repr=False)


@dataclass(frozen=True)
class GraphExecutorState:
    """What `get_debug_state()` of a function returns, under torch.jit's names."""

    #: The unoptimized graph.
    graph: object = field(repr=False)
    #: What runs where no plan holds: the same graph.
    fallback: ExecutionPlan
    #: Plans by what they were made for: `"gradients on; x: Float(*, *)"`.
    execution_plans: dict


def get_debug_state(function):
    """The plans of a script function, method or module (its `forward`) under torch.jit's names; `explain` tells more."""
    explanation = explain(function)
    written = function.graph
    plans = {
        "; ".join([plan.ambient, *plan.inputs, *plan.attributes]): ExecutionPlan(plan.graph)
        for plan in explanation.plans
    }
    return GraphExecutorState(written, ExecutionPlan(written), plans)


_fusion_strategy = [("STATIC", 2), ("DYNAMIC", 10)]


def set_fusion_strategy(strategy):
    """Accepts torch.jit's list of `("STATIC" | "DYNAMIC", depth)` and returns the one before.

    It says how often torch.jit may compile anew for new sizes. Cresset's plans hold for all sizes, so that it changes
    nothing here.
    """
    global _fusion_strategy
    strategy = [(str(kind), int(depth)) for kind, depth in strategy]
    for kind, _ in strategy:
        if kind not in ("STATIC", "DYNAMIC"):
            raise UserError(f'A fusion strategy is a list of ("STATIC", depth) and ("DYNAMIC", depth), not "{kind}"')
    before, _fusion_strategy = _fusion_strategy, strategy
    return before
