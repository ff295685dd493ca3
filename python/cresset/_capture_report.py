"""What `cresset.explain` says of captured functions: their plans, the checks of these that did not hold, in words of the
program, where Python ran, and what can be done about it. As text, and as a page of HTML."""

import html
import linecache
import re
import weakref
from dataclasses import dataclass, field

import torch

from . import _C
from ._graph_modules import line_at
from ._recording_values import END, PROLOGUE
from ._segments import BINARY, COMPUTES, OF_PLACES, SINGLETONS

_SIGNS = {
    "Binary": ("+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^"),
    "Compare": ("<", "<=", "==", "!=", ">", ">="),
    "Unary": ("-", "+", "~"),
    "Is": ("is", "is not"),
}
_GROUPS = ("_parameters", "_buffers", "_modules")
UNSAID = (END, PROLOGUE)  # the return itself, and what is no line of the program
NO_PLAN = "no plan applied"
SLOW = "the graph takes longer than its calls"  # as capture.cpp notes
MAX_TEXT = 70  # characters of an expression


class Origins:
    """Where the steps of a plan come from: what its report needs. Like the plan, it holds only what can't lead back to the
    code. `num_calls`: how many calls its graphs have. `steps`: those that were recorded, by their registers. `places`: for
    each step of the plan the function and position that it was made for, or None. `names`: of variables, by register."""

    __slots__ = ("names", "num_calls", "places", "steps")

    def __init__(self, num_calls, recorded, steps, places, names):
        self.num_calls, self.names = num_calls, dict(names)
        self.steps = {step[1]: step for step in (*steps, *recorded) if step[1] >= 0}
        known = {}  # identity of a place -> the same with a reference to the code
        self.places = []
        for step in steps:
            place = places.get(id(step)) or places.get(step[1]) or places.get(step[2])
            if place is not None and id(place) not in known:
                known[id(place)] = weakref.ref(place[0]), place[1]
            self.places.append(None if place is None else known[id(place)])


@dataclass(frozen=True)
class Failure:
    """A step of a plan at which runs of it ended, so that another plan was tried, or Python ran."""

    #: The file and line of the program that the step was made for.
    file: str
    line: int
    #: What the plan needs, as an expression of the program: `x.shape[0] == 8`; or the call that raised.
    needs: str
    #: How often a run ended there.
    count: int
    #: What was there in place of that the last time, if that is known: `False`, `a Parameter`; or the class of the exception.
    found: str | None
    #: Whether a call raised.
    raised: bool
    #: What can be done about it.
    advice: str


@dataclass(frozen=True)
class Stretch:
    """A plan of a captured function."""

    #: The lines of the function where it begins and ends. A loop may end it above where it begins.
    first_line: int
    last_line: int
    #: How often it ran, how often a check of it failed, how often a call in it raised and the Python ran instead.
    applied: int
    failed: int
    raised: int
    #: How many calls its graphs have, that of a backend or Cresset's own; 0 if there is none.
    graph_calls: int = 0
    #: The steps at which runs ended, the most frequent first.
    failures: tuple = ()
    #: Nanoseconds of a run, and of one that ended early, on average; None if none was measured (one in sixteen is).
    time: float | None = None
    lost: float | None = None
    #: The fewest nanoseconds that its reads and checks took where what they read had not changed; None if none was measured.
    checks: float | None = None


@dataclass(frozen=True)
class PythonRuns:
    """Where the function ran as the Python that it is, from a line on, until a plan ran or the function returned."""

    line: int
    #: Why: what ended the plan there, or the recording; "" if that is not known.
    reason: str
    #: How often, since plans were made; 0 if it did only while they were made.
    count: int
    #: Nanoseconds that it took on average; None if that was not measured (one call in sixteen is).
    time: float | None
    #: What can be done about it; "" if nothing.
    advice: str


@dataclass(frozen=True)
class CaptureExplanation:
    """What became of a function that `cresset.compile` made faster. `print` shows it; `to_html()` is a page with the source."""

    #: The function's name, and the line it begins at.
    name: str
    line: int
    #: Why no frame of it is captured; None if they are.
    off: str | None
    #: Plans by line, and among those of one line in the order in which they are asked.
    plans: list = field(default_factory=list)
    #: What ended plans, and ran as the Python that it is: (line, reason), by line.
    python: list = field(default_factory=list)
    #: The file.
    file: str = ""
    #: `PythonRuns`, by line.
    runs: list = field(default_factory=list)
    #: Calls since the plans were forgotten the last time, recordings, and nanoseconds that recording and making plans took.
    calls: int = 0
    recordings: int = 0
    recording_time: int = 0

    def __str__(self):
        lines = [f"{self.name}, line {self.line}" + (f" of {self.file}" if self.file else "")]
        if self.off is not None:
            return f"{lines[0]}: runs as it is: {self.off}"
        if self.recordings:
            lines.append(
                f"  {_times(self.calls, 'call')}; {_times(self.recordings, 'recording')} took {_shown(self.recording_time)}"
            )
        if not self.plans:
            lines.append("  no plans")
        for plan in self.plans:
            lines += self._lines_of_plan(plan)
        for runs in self.runs:
            lines.append(f"  {_of_runs(runs)}")
            lines += [f"      {text}" for text in (self._source(runs.line), runs.advice) if text]
        return "\n".join(lines)

    def _source(self, line, file=None):
        return linecache.getline(file or self.file, line).strip()

    def _lines_of_plan(self, plan):
        yield f"  {_of_plan(plan)}"
        for failure in plan.failures:
            where = (
                f"line {failure.line}" if failure.file in ("", self.file) else f"{failure.file}, line {failure.line}"
            )
            yield f"    {_of_failure(failure)} ({where})"
            source = self._source(failure.line, failure.file)
            yield from (f"      {text}" for text in (source, failure.advice) if text)

    def to_html(self):
        """A page with the function's source: beside each line, which plans have it, which of their checks did not hold, and
        how often Python ran there."""
        return _page(self)


def _times(count, noun):
    return f"{count} {noun}" + ("" if count == 1 else "s")


def _shown(nanoseconds):
    """A time as text."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.0f} ns"


def _of_plan(plan):
    several = plan.first_line != plan.last_line
    where = f"lines {plan.first_line} to {plan.last_line}" if several else f"line {plan.first_line}"
    graph = f", graph of {plan.graph_calls} calls" if plan.graph_calls else ""
    checks = "" if plan.checks is None else f", of which checks {_shown(plan.checks)}"
    time = "" if plan.time is None else f" ({_shown(plan.time)} each{checks})"
    lost = "" if plan.lost is None else f" ({_shown(plan.lost)} each, for nothing)"
    return f"plan of {where}{graph}: ran {plan.applied}{time}, checks failed {plan.failed}, raised {plan.raised}{lost}"


def _of_failure(failure):
    times = _times(failure.count, "time")
    if failure.raised:
        return f"{times} raised {failure.found or 'an exception'}: {failure.needs}"
    found = f", but the last time {failure.found}" if failure.found else ""
    return f"{times} not: {failure.needs}{found}"


def _of_runs(runs):
    counted = f", ran {_times(runs.count, 'time')}" if runs.count else ""
    time = f", {_shown(runs.time)} each" if runs.time is not None else ""
    return f"Python at line {runs.line}{counted}{time}" + (f": {runs.reason}" if runs.reason else "")


# ---- Expressions


class Words:
    """Texts of what a plan's steps read, compute and check, as the program says it."""

    def __init__(self, code, origins):
        self.variables = (
            *code.co_varnames,
            *(n for n in code.co_cellvars if n not in code.co_varnames),
            *code.co_freevars,
        )
        self.num_arguments = code.co_argcount + code.co_kwonlyargcount
        self.origins = origins

    def of(self, register):
        """What the program calls what is in a register: the variable that has it, or an expression."""
        step = self.origins.steps.get(register)
        name = self.origins.names.get(register)
        if name is not None and (step is None or step[0] in COMPUTES):
            return name
        text = self.expression(register)
        return f"({text})" if step is not None and step[0] in _SIGNS else text

    def expression(self, register):
        """The same, as an expression of variables."""
        step = self.origins.steps.get(register)
        make = None if step is None else getattr(self, step[0], None)
        text = self.origins.names.get(register, "a value") if make is None else make(*step[2:])
        return self.origins.names.get(register) or f"{text[: MAX_TEXT - 3]}..." if len(text) > MAX_TEXT else text

    def LoadSlot(self, a, b, object, inputs):
        return self.variables[a] if a < len(self.variables) else "a value of the expression"

    def LoadConst(self, a, b, object, inputs):
        return named(object)

    def LoadGlobal(self, a, b, object, inputs):
        return object

    def LoadCell(self, a, b, object, inputs):
        return self.of(a)

    def LoadFree(self, a, b, object, inputs):
        return f"a variable of {self.of(a)}"

    FreeCell = LoadFree

    def LoadDefault(self, a, b, object, inputs):
        return f"a default of {self.of(a)}"

    LoadKeywordDefault = LoadDefault

    def Globals(self, a, b, object, inputs):
        return "globals()"

    def InstanceDict(self, a, b, object, inputs):
        return f"{self.of(a)}.__dict__"

    ModuleDict = InstanceDict

    def DictItem(self, a, b, object, inputs):
        group = self.origins.steps.get(a, ("",) * 6)
        if group[0] in ("InstanceDict", "ModuleDict"):
            return f"{self.of(group[2])}.{object}"
        if group[0] == "Globals" and type(object) is str:
            return object
        names = self.origins.steps.get(group[2], ("",)) if group[0] == "DictItem" and group[4] in _GROUPS else ("",)
        if names[0] == "InstanceDict":
            owner = self.of(names[2])
            return f"{owner}[{object}]" if str(object).isdigit() else f"{owner}.{object}"
        return f"{self.of(a)}[{named(object)}]"

    def ClassItem(self, a, b, object, inputs):
        return f"{self.of(a)}.{object}"

    ClassMember = GetAttr = ClassItem

    def SuperItem(self, a, b, object, inputs):
        return f"super().{object}"

    def Referent(self, a, b, object, inputs):
        return f"{self.of(a)}()"

    def Item(self, a, b, object, inputs):
        return f"{self.of(a)}[{b}]"

    def GetItem(self, a, b, object, inputs):
        return f"{self.of(a)}[{self.of(inputs[0])}]"

    ItemAt = GetItem

    def Binary(self, a, b, object, inputs):
        return f"{self.of(a)} {_SIGNS['Binary'][b % (len(BINARY) // 2)]} {self.of(inputs[0])}"

    def Compare(self, a, b, object, inputs):
        return f"{self.of(a)} {_SIGNS['Compare'][b]} {self.of(inputs[0])}"

    def Is(self, a, b, object, inputs):
        return f"{self.of(a)} {_SIGNS['Is'][b]} {self.of(inputs[0])}"

    def Unary(self, a, b, object, inputs):
        return f"{_SIGNS['Unary'][b]}{self.of(a)}"

    def Tuple(self, a, b, object, inputs):
        return f"({', '.join(map(self.of, inputs))})"

    def List(self, a, b, object, inputs):
        return f"[{', '.join(map(self.of, inputs))}]"

    def Dict(self, a, b, object, inputs):
        return f"{{{', '.join(f'{named(k)}: {self.of(v)}' for k, v in zip(object, inputs, strict=True))}}}"

    def Slice(self, a, b, object, inputs):
        return ":".join(map(self.of, inputs))

    def Call(self, a, b, object, inputs):
        step = self.origins.steps.get(a)
        function = step[4] if step is not None and step[0] == "LoadConst" else None
        function = getattr(function, "function", function)  # of _C._CallInModes
        name = getattr(function, "__name__", None)
        names = object or ()
        arguments = [self.of(each) for each in inputs]
        count = len(arguments) - len(names)
        arguments[count:] = [f"{key}={text}" for key, text in zip(names, arguments[count:], strict=True)]
        if arguments and isinstance(name, str) and getattr(torch.Tensor, name, None) is function:
            return f"{arguments[0]}.{name}({', '.join(arguments[1:])})"
        return f"{name or self.of(a)}({', '.join(arguments)})"

    # ---- Checks

    def needs(self, step):
        """What a step needs so that the plan applies, and what can be done where it does not hold."""
        kind, _, a, b, object, _ = step
        check = getattr(self, f"needs_{kind}", None)
        if check is not None:
            return check("" if kind in OF_PLACES or a < 0 else self.expression(a), a, b, object)
        return f"{self.expression(step[1])} is there", ""

    def needs_CheckType(self, text, a, b, object):
        kind = _referent(object)
        if kind is type(None):
            return f"{text} is None", "Where it is None and where it is not, the function has a plan each."
        name = getattr(kind, "__name__", "a class that is no more")
        same = ", as it was when the plan was made" if b > 0 and kind not in (torch.Tensor, torch.nn.Parameter) else ""
        return f"type({text}) is {name}{same}", (
            "Each class has a plan of its own. Pass objects of one class, and change no class between calls."
        )

    def needs_CheckClass(self, text, a, b, object):
        return f"{text} is {named(object)}, as it was when the plan was made", "Change no class between calls."

    def needs_CheckIs(self, text, a, b, object):
        if object is True or object is False:
            return (
                text if object else f"not {text}"
            ), "Each way of a branch has a plan of its own; the other one is asked next."
        if any(object is each for each in SINGLETONS):
            return f"{text} is {object}", "Each way of a branch has a plan of its own; the other one is asked next."
        return f"{text} is {named(object)}", (
            "The plan rests on that very object: keep one, make it outside of the function, and change it rather than replace it."
        )

    def needs_CheckConst(self, text, a, b, object):
        return f"{text} == {object!r}", (
            "The value is part of the plan, as the function branches on it or PyTorch takes it for a constant. Pass few "
            "different ones, or a tensor."
        )

    def needs_CheckCode(self, text, a, b, object):
        return f"{text} is the function {object.co_name} of line {object.co_firstlineno}", (
            "Each function that is called there has a plan of its own."
        )

    def needs_CheckNoKey(self, text, a, b, object):
        return f"{text} has no attribute {object!r} of its own", "Set such attributes before the first call, or never."

    def needs_CheckSize(self, text, a, b, object):
        return (
            f"len({text}) == {b}",
            "Each length has a plan of its own, as loops over it are unrolled. Pass a tensor instead.",
        )

    def needs_CheckKeys(self, text, a, b, object):
        return (
            f"list({text}) == {list(object)!r}",
            "Each set of keys has a plan of its own. Keep the keys and their order.",
        )

    def needs_CheckNull(self, text, a, b, object):
        return "the call is of the kind that it was", ""

    def needs_CheckOwnCell(self, text, a, b, object):
        return f"no function has the variable {self.LoadSlot(a, b, object, ())} yet", ""

    def needs_CheckOwnDict(self, text, a, b, object):
        return f"only the function has the dict {self.LoadSlot(a, b, object, ())}", ""

    def needs_CheckHeld(self, text, a, b, object):
        return f"something else than the function has {self.LoadSlot(a, b, object, ())}", (
            "Weak references to it find nothing once the function has let go of it. Keep it, or take the weak references away."
        )

    def needs_CheckZero(self, text, a, b, object):
        return "no mode of PyTorch, tracer, transform or saved-tensor hook watches operators", (
            "Call the function outside of such a mode."
        )


def _referent(object):
    return object() if isinstance(object, weakref.ref) else object


def named(object):
    """A constant as the program says it."""
    object = _referent(object)
    if object is None and object is not None:
        return "an object that is no more"
    name = getattr(object, "__qualname__", None) or getattr(object, "__name__", None)
    if isinstance(name, str):
        return name
    if type(object) in (int, float, bool, str, type(None), type(Ellipsis), torch.dtype, torch.device):
        return repr(object)
    if type(object) is _C._CallInModes:
        return named(object.function)
    return f"the {type(object).__name__}"


_STORED = (
    "what the plan sets could be set",
    "An object that is set free has a finalizer or weak references, or another thread has changed what is set.",
)


def failures_of(code, plan, steps):
    """The `Failure`s of a plan, the most frequent first. `steps`: as plans have them."""
    by_step, last, found = plan.failures
    words = Words(code, plan.info)
    failures = []
    for at, count in sorted(by_step.items(), key=lambda item: (-item[1], item[0])):
        place = plan.info.places[at] if at < len(steps) else None
        owner = None if place is None else place[0]()
        line = code.co_firstlineno if owner is None else line_at(owner, place[1])
        shown, raised = found if at == last else None, False
        if at == len(steps):
            needs, advice = _STORED
        elif steps[at][0].startswith("Check") or steps[at][0] in _READS:
            needs, advice = words.needs(steps[at])
            is_of_branch = steps[at][4] is True or steps[at][4] is False
            shown = None if is_of_branch else shown  # the other one
        else:
            needs, advice, raised = words.expression(steps[at][1]), "", True
        failures.append(Failure((owner or code).co_filename, line, needs, count, shown, raised, advice))
    return tuple(failures)


_READS = {"LoadSlot", "LoadConst", "LoadGlobal", "LoadCell", "LoadFree", "FreeCell", "Globals", "LoadDefault",
          "LoadKeywordDefault", "InstanceDict", "ModuleDict", "DictItem", "ClassItem", "ClassMember", "SuperItem", "Referent",
          "Item", "ItemAt"}  # fmt: skip


def stretch_of(code, start, plan):
    first, last = line_at(code, start), line_at(code, plan.end - 1 if plan.end > start else plan.end)
    time, lost, checks = (None if each < 0 else each for each in plan.times)
    failures = failures_of(code, plan, plan.steps)
    return Stretch(first, last, *plan.counts, plan.info.num_calls, failures, time, lost, checks)


def runs_of(code, notes, python, starts):
    """`PythonRuns` by line. `notes`: {position: reason}. `python`: {position: (how often, nanoseconds on average)}.
    `starts`: the positions where plans begin."""
    counts = {}
    for position, (count, time) in sorted(python.items()):
        # What runs until a plan begins may first run instructions that plans have elsewhere.
        later = [each for each in notes if each > position and not any(position < start < each for start in starts)]
        if position not in notes and position not in starts and later:
            position = min(later)
        known = counts.get(position, (0, -1.0))
        counts[position] = (known[0] + count, max(known[1], time))
    notes = {**dict.fromkeys(starts & counts.keys(), NO_PLAN), **notes}
    found = {}  # (line, reason) -> [how often, how often measured, nanoseconds]
    for position in sorted({*notes, *counts}):
        reason = notes.get(position, "")
        if reason in UNSAID:
            continue
        count, time = counts.get(position, (0, -1.0))
        entry = found.setdefault((line_at(code, position), reason), [0, 0, 0.0])
        entry[0] += count
        if time >= 0:
            entry[1] += count
            entry[2] += time * count
    ran = {line for (line, _), (count, *_) in found.items() if count}
    for (line, reason), (count, timed, total) in sorted(found.items(), key=lambda each: (each[0][0], -each[1][0])):
        if not count and line in ran:
            continue  # what ended recordings that began within what ran there
        time = total / timed if timed else None
        yield PythonRuns(line, reason, count, time, advice_for_plans(reason) if reason else "")


# ---- Advice

ADVICE = {
    "the truth of a tensor's item": "Compute both branches and choose by torch.where, or leave out fullgraph.",
    "what a tensor's item": "Compute with the tensor itself, or take its number outside of the function, or leave out fullgraph.",
    "a tensor's item": "Compute with the tensor itself, or take its number outside of the function, or leave out fullgraph.",
    "a tensor's tolist": "Compute with the tensor itself, or leave out fullgraph.",
    "a tensor's numpy": "Compute with torch, or mark the function that uses NumPy by cresset.allow_in_graph, or leave out fullgraph.",
    "a tensor's backward": "Call it outside of the function, on what the function returns, or use torch.autograd.grad there.",
    "a tensor's requires_grad_": "Call it outside of the function, on what it is given, or leave out fullgraph.",
    "a result that a graph can't return": "Return tensors, numbers, and containers of such, or leave out fullgraph.",
    "the whole ": "Return its parts, in a tuple or list that the function makes, or leave out fullgraph.",
    "the identity of an intermediate": "Compare what is there before the call, or leave out fullgraph.",
    "an exception": "A call that raises is no graph: leave out fullgraph, or check what raises before the call.",
    "a mode that is set": "Set the mode around the call of the function, or leave out the backend or fullgraph.",
    "autocast in a graph": "Set it around the call of the function, or leave out the backend, dynamic=False or fullgraph.",
    "an assignment to an element": "Choose by torch.where, or join by torch.cat or torch.stack, or leave out the backend or fullgraph.",
    "an iteration over a tensor": "Compute on the whole tensor (torch.vmap and batched operators do), or leave out fullgraph.",
    "random numbers": "Draw them outside of the function and pass them, or leave out fullgraph.",
    "a module that is not there": "Import it outside of the function, before the first call.",
    "a variable of other functions": "Return the value instead, or leave out fullgraph.",
    "a property": "Read what the property reads, or leave out fullgraph.",
    "a call of warn": "Warn outside of the function, or leave out fullgraph.",
    "a call of list.": "Change the list outside of the function, or make a new one there, or leave out fullgraph.",
    "a bound apply": "Call a torch.autograd.Function outside of the function, or write what it computes, or leave out fullgraph.",
    "a module with hooks": "Remove the hooks, or leave out fullgraph.",
    "a generator": "Make a list, or leave out fullgraph.",
    "an object with a finalizer": "Keep a reference to it outside of the function, or leave out fullgraph.",
    "the plan is long enough": "Split the function into several compiled ones, or leave out fullgraph.",
    "the truth of a": "Compute both branches and choose by torch.where, or leave out fullgraph.",
    "a call of torch.func.vmap": "Write the batched operators out, or call vmap on the captured function, or leave out fullgraph.",
    "a call of torch.func": "Use torch.autograd.grad(..., create_graph=True) in the function, or call the transform on the captured function, "
    "or leave out fullgraph.",
    "a call of torch.autograd.grad": "Give it what the function computes from leaves without hooks, or call it outside of the function, or "
    "leave out the backend or fullgraph.",
    "a call of torch.utils.checkpoint": "Call the function itself, or capture the function that is checkpointed, or leave out fullgraph.",
    "a functional_call": "Give functional_call a dict of plain tensors for parameters of a module without hooks, or leave out fullgraph.",
    "a function that is decorated": "Decorate it outside of the function, or leave out fullgraph.",
    "a call of print": "Print outside of the function, or leave out fullgraph.",
    "a call of graph_break": "Take the graph break out, or leave out fullgraph.",
    "an operator in place": "Write the operator and the assignment apart (y = y + x), or leave out fullgraph.",
    "a recursion": "Write it as a loop, or leave out fullgraph.",
}


def advice_for_fullgraph(reason):
    """What to write in place of what ends a graph for `reason`."""
    for start, advice in ADVICE.items():
        if reason.startswith(start):
            return advice
    if reason.endswith(("in place", "that the tape records", "of a large tensor")):
        return (
            "Use the function that returns a new tensor (add instead of add_), or leave out the backend or fullgraph."
        )
    if reason.endswith("which compiled graphs have not"):
        return "Call it outside of the function and pass its result, use another function, or leave out fullgraph."
    if "that is not pure" in reason:
        return "Call eval() on the module, or pass training=False, or leave out the backend or fullgraph."
    return (
        "Take it out of the function, leave out fullgraph, or, if it is a function that only computes tensors, mark it by "
        "cresset.allow_in_graph."
    )


def advice_for_plans(reason):
    """The same where Python may run between graphs."""
    if reason.startswith(("the next iteration of a loop", SLOW)):
        return ""
    advice = re.sub(r",? (or )?leave out [^,.]*fullgraph", "", advice_for_fullgraph(reason))
    return advice if "fullgraph" not in advice and "leave out" not in advice else ""


# ---- The page

_STYLE = """
body { font: 14px/1.5 sans-serif; margin: 2em; color: #222; }
table { border-collapse: collapse; }
td { vertical-align: top; padding: 0 .8em; }
td.number { color: #888; text-align: right; }
td.code { font-family: monospace; white-space: pre; }
td.plan { background: #e6f4e6; }
td.python { background: #fbeed8; }
.note { color: #7a4a00; }
.failure { color: #a02020; }
.advice { color: #666; }
"""


def _page(explanation):
    title = html.escape(f"{explanation.name}, line {explanation.line} of {explanation.file}")
    parts = [
        f"<!DOCTYPE html>\n<meta charset='utf-8'>\n<title>{title}</title>\n<style>{_STYLE}</style>\n<h1>{title}</h1>"
    ]
    if explanation.off is not None:
        return "\n".join([*parts, f"<p>Runs as it is: {html.escape(explanation.off)}</p>"])
    parts.append(
        f"<p>{_times(explanation.calls, 'call')}; {_times(explanation.recordings, 'recording')} took "
        f"{_shown(explanation.recording_time)}. Green lines are in plans, orange ones ran as Python.</p>\n<table>"
    )
    parts += [_row(explanation, line, text) for line, text in _source_lines(explanation)]
    return "\n".join([*parts, "</table>"])


def _source_lines(explanation):
    """(number, text) of the function's lines, as far as the report speaks of them."""
    last = max(
        [
            explanation.line,
            *(plan.last_line for plan in explanation.plans),
            *(plan.first_line for plan in explanation.plans),
        ]
        + [runs.line for runs in explanation.runs]
    )
    for line in range(explanation.line, last + 1):
        yield line, linecache.getline(explanation.file, line).rstrip("\n")


def _row(explanation, line, text):
    notes = [f"<div>{html.escape(_of_plan(plan))}</div>" for plan in explanation.plans if plan.first_line == line]
    for plan in explanation.plans:
        for failure in plan.failures:
            is_here = failure.line == line and failure.file == explanation.file
            elsewhere = failure.file != explanation.file and plan.first_line == line
            if is_here or elsewhere:
                where = f" ({failure.file}, line {failure.line})" if elsewhere else ""
                notes.append(f"<div class='failure'>{html.escape(_of_failure(failure) + where)}</div>")
                notes.append(f"<div class='advice'>{html.escape(failure.advice)}</div>" if failure.advice else "")
    runs = [each for each in explanation.runs if each.line == line]
    for each in runs:
        notes.append(f"<div class='note'>{html.escape(_of_runs(each))}</div>")
        notes.append(f"<div class='advice'>{html.escape(each.advice)}</div>" if each.advice else "")
    in_plan = any(plan.applied and plan.first_line <= line <= plan.last_line for plan in explanation.plans)
    kind = " python" if runs else " plan" if in_plan else ""
    code = f"<td class='code{kind}'>{html.escape(text)}</td>"
    return f"<tr><td class='number'>{line}</td>{code}<td>{''.join(notes)}</td></tr>"
