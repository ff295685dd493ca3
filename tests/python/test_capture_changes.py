"""Captured functions that set global and shared variables, delete attributes and elements, change dicts and sets, and keep
or raise again the exceptions that they handle."""

import sys

import pytest
import torch
from test_capture_control import agree, state_of
from test_capture_graphs import same

import cresset

X = torch.randn(3, 4)
COUNT = 0
LAST = None


class Box:
    def __init__(self, **names):
        self.__dict__.update(names)


def both(programs, compiled_of, steps, plans=None):
    """Two programs of their own state run the same steps, one compiled; what they return and their states are the same."""
    compiled = [programs[0], compiled_of(programs[1])]
    for step in steps:
        results = []
        for program in compiled:
            try:
                results.append(state_of(step(program)))
            except Exception as error:
                results.append((type(error), str(error)))
        assert same(*results), results
    if plans is not None:
        ran = [plan for plan in cresset.explain(compiled[1]).plans if plan.applied]
        assert len(ran) == plans, cresset.explain(compiled[1])


# ---- Globals


def counted(x):
    global COUNT, LAST
    COUNT += 1
    y = (x * COUNT).tanh()
    LAST = y
    COUNT = COUNT + helper(y)
    return y + COUNT


def helper(y):
    global COUNT
    COUNT += 10
    return COUNT - y.shape[0]


def test_globals_that_are_set():
    global COUNT, LAST
    found = []
    for compiled in (counted, cresset.compile(counted)):
        COUNT, LAST = 0, None
        results = []
        for i in range(8):
            if i == 5:
                COUNT = 2.5
            results += [compiled(X), COUNT, LAST]
            assert LAST is not None and results[-3] is not LAST
        found.append(results)
    assert same(*found)
    assert len([p for p in cresset.explain(compiled).plans if p.applied > 2]) == 1, cresset.explain(compiled)


def test_globals_of_another_module(monkeypatch):
    """Functions of the same code, whose globals are other dicts, or the same."""
    text = "def f(x):\n    global n\n    n = n + 1\n    return g(x) * n\ndef g(x):\n    return x + n\n"
    modules = [{"n": 1}, {"n": 5}, {"n": 100}]
    for names in modules:
        exec(text, names)
    other = type(modules[0]["g"])(modules[0]["g"].__code__, modules[2], "g")

    def run(module, x):
        return module["f"](x), module["n"], modules[2]["n"]

    compiled = cresset.compile(modules[1]["f"])
    plain = modules[0]["f"]
    for i in range(10):
        if i == 4:
            modules[0]["g"] = modules[1]["g"] = other
        modules[0]["n"] = modules[1]["n"] = i
        assert same(plain(X), compiled(X))
        assert modules[0]["n"] == modules[1]["n"] == i + 1 and modules[2]["n"] == 100


def test_a_global_that_is_new_or_goes():
    names = [{}, {}]
    for each in names:
        exec(
            "def f(x):\n    global made\n    made = x.shape[0]\n    return x * made\ndef drop(): globals().pop('made')",
            each,
        )
    compiled = cresset.compile(names[1]["f"])
    for i in range(8):
        assert same(names[0]["f"](X), compiled(X)) and names[0]["made"] == names[1]["made"]
        if i > 4:
            for each in names:
                each["drop"]()


# ---- Shared variables


def counter():
    n, kept = 0, None

    def step(x, by=1):
        nonlocal n, kept
        n += by
        kept = (x * n).tanh()
        return kept + n + (1 if n > 5 else 0)

    def reset(value):
        nonlocal n
        n = value

    return step, reset, lambda: (n, kept)


def test_shared_variables_that_are_set():
    plain, compiled = counter(), counter()
    fast = cresset.compile(compiled[0])
    for i in range(12):
        if i in (4, 9):
            plain[1](i / 2)
            compiled[1](i / 2)
        assert same(plain[0](X, by=i % 3), fast(X, by=i % 3))
        assert same(list(plain[2]()), list(compiled[2]()))


def pair(shared):
    n = 0

    def add(x):
        nonlocal n
        n = n + 1
        return x * n

    m = 0

    def other(x):
        nonlocal m
        m = m + 1
        return x + m

    def f(x, first, second):
        y = first(x)
        return second(y) + first(x)

    return add, add if shared else other, f


def test_shared_variables_under_two_names():
    """Whether two functions set the same variable is checked."""
    cells = [pair(True)[0] for _ in range(2)]
    f = pair(True)[2]
    compiled = cresset.compile(f)
    a, b = cells
    plain = [pair(True)[0] for _ in range(2)]
    for i in range(12):
        chosen = [(0, 0), (0, 1), (1, 0), (1, 1)][i // 2 % 4]
        assert same(compiled(X, *[cells[k] for k in chosen]), f(X, *[plain[k] for k in chosen]))


def test_variables_of_the_function_itself():
    def f(x):
        total = 0

        def add(n):
            nonlocal total
            total += n
            return total

        y = x * add(2) + add(3)
        return y + total, add(1)

    agree(f, plans=None)


# ---- What is deleted


def test_attributes_that_are_deleted():
    def f(x, box, then):
        y = x * box.n
        del box.n
        if then == "look":
            return y + (1 if hasattr(box, "n") else 2)
        if then == "read":
            return y + box.n
        if then == "set":
            box.n = 7
            return y + box.n
        return y

    steps = []
    for then in ("", "look", "set", "read"):
        box = [Box(n=2, m=1) for _ in range(2)]

        def step(program, box=box, then=then):
            mine = box[program is not f]
            mine.__dict__.setdefault("n", 3)
            try:
                return program(X, mine, then), list(mine.__dict__.items())
            finally:
                step.last = list(mine.__dict__.items())

        steps += [step] * 6
    both([f, f], cresset.compile, steps)


def test_deleting_what_is_not_there():
    def f(x, box):
        y = x + 1
        del box.n
        return y

    compiled = cresset.compile(f)
    for i in range(6):
        box = Box(n=1)
        if i == 4:
            del box.n
            with pytest.raises(AttributeError):
                compiled(X, box)
        else:
            assert same(compiled(X, box), X + 1) and not box.__dict__


def test_elements_that_are_deleted():
    def f(x, d):
        y = x * d["a"]
        del d["a"]
        d["b"] = y
        return y + d.pop("c") + d.pop("none", 4)

    def step(program):
        d = {"a": 2, "z": 0, "c": torch.ones(4)}
        return program(X, d), list(d), d["b"]

    both([f, f], cresset.compile, [step] * 6, plans=1)


# ---- Dicts and sets


def test_methods_of_dicts():
    def f(x, d):
        d.update(a=x.shape[0], b=2)
        first = d.setdefault("k", x * 2)
        second = d.setdefault("a", 5)
        d.update({"c": first}, e=second)
        total = sum(value for value in dict(p=1, q=2).values())
        copied = {"z": 1}.copy()
        copied["y"] = total
        return first + second + d["c"] + copied["y"], d.pop("e")

    shared = [{}, {}]
    f_plain, f_fast = f, cresset.compile(f)
    for i in range(10):
        for d in shared:
            if i == 6:
                d["k"] = X * 3
            elif i == 8:
                d.clear()
        assert same(f_plain(X, shared[0]), f_fast(X, shared[1])), i
        assert list(shared[0]) == list(shared[1]) and same(list(shared[0].values()), list(shared[1].values()))


def test_copies_of_dicts():
    def f(x, d):
        mine = d.copy()
        mine["n"] = x * d["n"]
        mine.pop("m", None)
        return mine, dict(d, k=1), len(mine)

    agree(f, ((X, {"n": 2, "m": 3}), {}), ((X, {"n": 3}), {}), plans=None)


def test_sets():
    def f(x, names):
        seen = set()
        total = 0
        for name in names:
            if name in seen:
                continue
            seen.add(name)
            total = total + len(name)
        seen.update(["x", "y"])
        seen.discard("zz")
        seen.remove("x")
        return x * total + ("y" in seen) - ("x" in seen)

    agree(f, ((X, ["a", "bb", "a", "y"]), {}), ((X, ("bb",)), {}), plans=None)


# ---- Exceptions


class Config:
    def __init__(self, **names):
        self.names = names

    def find(self, name):
        try:
            return self.names[name]
        except KeyError as error:
            raise AttributeError(f"no {error}") from error


def test_exceptions_that_handlers_keep():
    def f(x, config):
        try:
            factor = config.find("factor")
        except AttributeError as error:
            factor = len(str(error)) + len(error.args)
        return x * factor

    agree(f, ((X, Config(factor=3)), {}), ((X, Config()), {}), rounds=6, plans=2)


def test_exceptions_that_are_raised_again():
    def inner(n):
        try:
            if n > 2:
                raise ValueError("large", n)
            if n > 1:
                raise KeyError(n)
            return n
        except ValueError:
            raise
        finally:
            n += 1

    def f(x, n):
        try:
            k = inner(n)
        except (KeyError, IndexError):
            k = 10
        except ValueError as error:
            k = error.args[1] + 20
        try:
            try:
                k += [1, 2][n]
            except KeyError:
                k += 100
        except IndexError:
            k += 1000
        return x + k

    agree(f, *[((X, n), {}) for n in range(4)], rounds=6, plans=None)


def test_keys_that_are_missing():
    def f(x, d, key):
        try:
            y = d[key]
        except KeyError:
            y = d[key] = x * 2
        return y + 1

    plain, fast = {}, {}
    compiled = cresset.compile(f)
    for i in range(12):
        key = "abc"[i // 5]
        if i == 9:
            plain.clear()
            fast.clear()
        assert same(f(X + i, plain, key), compiled(X + i, fast, key)) and list(plain) == list(fast)


def test_exceptions_that_leave_the_function():
    def f(x, d):
        try:
            return x * d["a"]
        except KeyError as error:
            raise ValueError("no factor") from error

    agree(f, ((X, {"a": 2}), {}), ((X, {}), {}), rounds=6, plans=None)
    compiled = cresset.compile(f)
    for _ in range(4):
        with pytest.raises(ValueError, match="no factor") as found:
            compiled(X, {})
        assert type(found.value.__cause__) is KeyError and found.value.__cause__.args == ("a",)


def test_an_exception_that_lives_on():
    def f(x, d):
        kept = None
        try:
            y = d["a"]
        except KeyError as error:
            y, kept = x, error
        return y + 1, type(kept).__name__, getattr(kept, "args", None)

    agree(f, ((X, {"a": 2}), {}), ((X, {}), {}), rounds=6, plans=None)


def test_exceptions_of_operators_in_a_handler():
    def f(x, n):
        try:
            return x.reshape(n, 2)
        except RuntimeError:
            return x.reshape(-1) * 2

    agree(f, ((X, 6), {}), ((X, 5), {}), rounds=6, plans=None)


def test_handlers_in_which_plans_begin_and_end():
    """What `sys.exc_info` says is restored at the end of a handler, also where what runs in it is part of a plan."""

    def f(x, d, n):
        try:
            y = d["a"]
        except KeyError:
            y = x * 2 + n
            print(end="")
            y = (y + 1).tanh()
            try:
                y = y + d["b"]
            except KeyError:
                y = y * 3
                print(end="")
                y = y + 1
        z = y * x.shape[0]
        return z, sys.exc_info()

    agree(f, ((X, {}, 1), {}), ((X, {"b": 2}, 1), {}), ((X, {"a": X}, 1), {}), rounds=8, plans=None)
    assert sys.exc_info() == (None, None, None)
    try:
        raise ValueError("outer")
    except ValueError as outer:
        compiled = cresset.compile(f)
        for _ in range(6):
            assert compiled(X, {}, 1)[1][1] is outer
            assert sys.exc_info()[1] is outer
