"""What `cresset.explain` says of captured functions, for who wants to know why one is slow: checks that did not hold, in
words of the program, where Python ran and how often, and in which order plans are asked."""

import html.parser
import linecache

import pytest
import torch

import cresset
from cresset import _frames


def line_of(function, text):
    """The line of a function's file that has a text, from its first line on."""
    line = function.__code__.co_firstlineno
    while text not in linecache.getline(__file__, line):
        line += 1
    return line


def failures(compiled):
    return [failure for plan in cresset.explain(compiled).plans for failure in plan.failures]


def test_a_branch_on_a_size():
    def f(x):
        y = torch.relu(x) * 2
        if y.shape[0] == 8:
            return torch.sin(y) + 1
        return torch.cos(y) - 1

    compiled = cresset.compile(f)
    for n in (8, 8, 8, 8, 7, 7, 7, 7, 7, 7):
        x = torch.randn(n, 3)
        assert torch.equal(compiled(x), f(x))
    found = failures(compiled)
    (eight,) = [each for each in found if each.needs == "y.shape[0] == 8"]
    line = line_of(f, "y.shape[0]")
    assert (eight.file, eight.line, eight.raised) == (__file__, line, False) and eight.count >= 1
    report = str(cresset.explain(compiled))
    assert f"not: y.shape[0] == 8 (line {line})" in report, report
    assert "if y.shape[0] == 8:" in report and __file__ in report.splitlines()[0]


class Holder:
    def __init__(self):
        self.scale, self.items, self.mode = 2, [1.0, 2.0], "a"


def read(o, x):
    y = torch.relu(x) * o.scale
    for item in o.items:
        y = y + item
    if o.mode == "a":
        y = torch.sin(y)
    return y.sum()


def test_what_changed_is_named_as_the_program_names_it():
    compiled, o, x = cresset.compile(read), Holder(), torch.randn(4)
    for _ in range(6):
        assert torch.equal(compiled(o, x), read(o, x))
    changes = {
        "type(o.scale) is int": ("scale", 2.5, "2.5"),
        "len(o.items) == 2": ("items", [1.0], "a list of 1"),
        "o.mode == 'a'": ("mode", "b", None),
    }
    for needs, (name, value, found) in changes.items():
        before = getattr(o, name)
        setattr(o, name, value)
        assert torch.equal(compiled(o, x), read(o, x))
        (failure,) = [each for each in failures(compiled) if each.needs == needs]
        assert failure.found == found and failure.count >= 1 and failure.advice
        assert found is None or f"but the last time {found}" in str(cresset.explain(compiled))
        setattr(o, name, before)


def test_a_call_that_raises():
    def f(x, y):
        z = torch.relu(x) + 1
        return (z @ y).sum()

    compiled = cresset.compile(f)
    x, y = torch.randn(2, 3), torch.randn(3, 2)
    for _ in range(6):
        assert torch.equal(compiled(x, y), f(x, y))
    with pytest.raises(RuntimeError):
        compiled(x, x)
    (failure,) = [each for each in failures(compiled) if each.raised]
    assert failure.count == 1 and failure.found == "RuntimeError"
    assert "1 time raised RuntimeError" in str(cresset.explain(compiled))


def test_python_is_counted_by_line(capsys):
    def f(x):
        y = torch.relu(x) + 1
        y = torch.sin(y) * 2
        print("here")
        y = torch.cos(y) * 2
        return y.sum()

    compiled = cresset.compile(f)
    for _ in range(60):
        compiled(torch.ones(3))
    (runs,) = [each for each in cresset.explain(compiled).runs if each.count]
    assert runs.line == line_of(f, "print(") and runs.reason == "a call of print"
    assert 50 <= runs.count < 60 and runs.time > 0 and runs.advice == "Print outside of the function."
    report = str(cresset.explain(compiled))
    assert f"Python at line {runs.line}, ran {runs.count} times, " in report and 'print("here")' in report
    explanation = cresset.explain(compiled)
    assert explanation.calls == 60 and explanation.recordings >= 2 and explanation.recording_time > 0
    assert all(plan.time > 0 for plan in explanation.plans if plan.applied > 32)
    cresset.reset()
    assert cresset.explain(compiled).calls == 0 and not cresset.explain(compiled).runs


def test_plans_that_hold_are_asked_first():
    def f(x, first):
        y = torch.relu(x) + 1
        if first is not None:
            y = y * first
        return torch.sin(y).sum()

    compiled, x = cresset.compile(f), torch.randn(3)
    for _ in range(2):
        assert torch.equal(compiled(x, 2.0), f(x, 2.0))
    for _ in range(300):
        compiled(x, None)
    assert torch.equal(compiled(x, None), f(x, None))
    plans = cresset.explain(compiled).plans
    assert plans[0].applied > 290 and plans[0].failed == 0
    assert sum(plan.failed for plan in plans) < 8, cresset.explain(compiled)
    for _ in range(300):
        compiled(x, 3.0)
    assert torch.equal(compiled(x, 3.0), f(x, 3.0))
    plans = cresset.explain(compiled).plans
    assert plans[0].applied > 290 and sum(plan.failed for plan in plans) < 100, cresset.explain(compiled)


def plans_of_branches(count, period):
    """The plans of a function after so many calls, of which one in `period` goes the other way."""

    def f(x, flag):
        y = torch.relu(x) + 1
        return torch.sin(y).sum() if flag else torch.cos(y).sum()

    cresset.reset()
    compiled, x = cresset.compile(f), torch.randn(3)
    for i in range(count):
        assert torch.equal(compiled(x, i % period == 0), f(x, i % period == 0))
    return cresset.explain(compiled).plans


def test_plans_that_take_turns():
    """Neither overtakes the other again and again."""
    plans = plans_of_branches(300, 2)
    assert sum(plan.failed for plan in plans) < 180, plans


def test_a_plan_that_fits_now_and_then_stays():
    plans = plans_of_branches(200, 5)
    assert sum(plan.applied for plan in plans) >= 196
    assert sum(plan.failed for plan in plans) <= 110  # half of the calls ask a second plan at worst


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.texts = [], []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_the_page(capsys):
    def f(x, n):
        y = torch.relu(x) < n  # <b>
        y = torch.sin(x) * y
        print(1)
        return torch.cos(y).sum()

    compiled = cresset.compile(f)
    for n in (1, 1, 1, 1, 1, 1, 2.5, 2.5):
        compiled(torch.randn(4), n)
    page = cresset.explain(compiled).to_html()
    tags = Tags()
    tags.feed(page)
    assert not tags.open and "".join(tags.texts).count("y = torch.relu(x) < n  # <b>") == 1
    assert "type(n) is int, but the last time 2.5" in page and "a call of print" in page
    plain = cresset.compile(torch.relu)
    assert "Runs as it is" in cresset.explain(plain).to_html()


def test_reports_keep_no_code_alive():
    def make():
        def f(x):
            return torch.relu(x).sin().cos().sum()

        return f

    code = make().__code__
    f = make()
    compiled = cresset.compile(f)
    for _ in range(4):
        compiled(torch.ones(2))
    assert all(plan.info.places for _, plan in _frames.plans_of(code, None))
    text = "def g(x):\n    y = x.sin().cos() + 1\n    return (y * 2).sum()\n"
    names = {}
    exec(text, names)
    import gc
    import weakref

    reference = weakref.ref(names["g"].__code__)
    made = cresset.compile(names["g"])
    for _ in range(4):
        made(torch.ones(2))
    assert cresset.explain(made).plans
    del made
    names.clear()
    gc.collect()
    assert reference() is None


def test_python_before_a_plan_has_its_reason():
    def f(x):
        scale = 2
        print(end="")
        y = torch.relu(x) * scale
        return torch.sin(y).exp() + 1

    compiled = cresset.compile(f)
    for _ in range(40):
        compiled(torch.ones(3))
    (runs,) = [each for each in cresset.explain(compiled).runs if each.count]
    assert runs.reason == "a call of print" and runs.line == line_of(f, "print(")
