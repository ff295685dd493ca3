"""Captured functions that libraries wrap: variables of contexts, exceptions that are raised and caught, `with` statements of
the program's classes, keyword arguments that change, objects that are dicts, attributes that a class's own code looks up."""

import abc
import collections
import collections.abc
import contextvars
import dataclasses
import dis
import sys
import types

import pytest
import torch
from test_capture_graphs import same
from torch import nn

import cresset
from cresset import _recording

X = torch.randn(3, 4)
VARIABLE = contextvars.ContextVar("variable", default=None)
OTHER = contextvars.ContextVar("other")


def agree(program, *calls, rounds=4, plans=1, change=None):
    """Calls give what plain Python gives, by so many plans (None: any). `change(i)` is called before round i."""
    cresset.reset()
    compiled = cresset.compile(program)
    for i in range(rounds):
        if change is not None:
            change(i)
        for args, keywords in calls or (((X,), {}),):
            results = []
            for function in (program, compiled):
                try:
                    results.append(state_of(function(*args, **keywords)))
                except Exception as error:
                    results.append((type(error), str(error)))
            assert same(*results), (i, results)
    report = cresset.explain(compiled)
    ran = [plan for plan in report.plans if plan.applied]
    assert plans is None or len(ran) == plans, report
    return report


def state_of(value):
    if isinstance(value, dict):
        return [
            type(value).__name__,
            [(k, state_of(v)) for k, v in value.items()],
            state_of(getattr(value, "__dict__", 0)),
        ]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(state_of, value)]
    return value


# ---- Variables of contexts


def scaled(x):
    factor = VARIABLE.get()
    return x.tanh() if factor is None else x * factor["k"]


def in_context(x):
    token = VARIABLE.set({"k": 3})
    try:
        inner = scaled(x)
        again = VARIABLE.set({"k": 5})
        inner = inner + scaled(x)
        VARIABLE.reset(again)
        inner = inner + scaled(x)
    finally:
        VARIABLE.reset(token)
    return inner + scaled(x), VARIABLE.get()


def test_variables_of_contexts():
    agree(in_context)

    def change(i):
        VARIABLE.set(None if i < 3 else {"k": i})

    contextvars.copy_context().run(lambda: agree(in_context, rounds=7, plans=2, change=change))


def test_variables_of_contexts_are_put_back_when_a_call_raises():
    def program(x, y):
        token = VARIABLE.set({"k": 2})
        try:
            return scaled(x) @ y
        finally:
            VARIABLE.reset(token)

    square = torch.randn(4, 4)
    agree(program, ((X, square), {}), ((X, torch.randn(3, 3)), {}), ((X, square), {}))
    assert VARIABLE.get() is None


def test_a_variable_that_stays_set_is_set():
    def program(x):
        y = (x + 1) * 2
        OTHER.set(y)
        return OTHER.get().sin() * 2

    def run():
        agree(program, plans=None)
        assert torch.equal(OTHER.get(), (X + 1) * 2)

    contextvars.copy_context().run(run)


def test_a_token_of_another_variable_raises():
    def program(x):
        token = VARIABLE.set(1)
        try:
            OTHER.reset(token)
        except ValueError:
            x = x + 1
        VARIABLE.reset(token)
        return (x * 2).sin()

    agree(program, plans=None)


# ---- Exceptions


class Refusing:
    def __new__(cls, *args):
        raise RuntimeError(f"no {cls.__name__}")


def refuses(kind):
    try:
        return kind() is not None
    except Exception:
        return False


def chosen(k):
    try:
        if k > 2:
            raise KeyError("k")
        if k > 1:
            raise ValueError("k", k)
        return 1
    except (TypeError, IndexError):
        return 5
    except ValueError:
        return 2
    finally:
        k += 1


def test_exceptions_that_a_callee_catches():
    agree(lambda x: x + 1 if refuses(Refusing) else (x * 2).sin())
    agree(lambda x, k: (x * chosen(k)).sin() * chosen(0), ((X, 2), {}), ((X, 2), {}))
    agree(
        lambda x, k: (x * chosen(k)).sin() * chosen(0), ((X, 2), {}), ((X, 3), {}), ((X, 0), {}), rounds=6, plans=None
    )


def test_exceptions_pass_through_callees():
    def fails(x, flag):
        if flag:
            raise IndexError
        return x * 2

    def middle(x, flag):
        return fails(x + 1, flag)

    def outer(x, flag):
        try:
            return middle(x, flag)
        except IndexError:
            return x.tanh() * 3

    agree(lambda x, flag: outer(x, flag).sin() + 1, ((X, True), {}), rounds=5)
    agree(lambda x, flag: outer(x, flag).sin() + 1, ((X, True), {}), ((X, False), {}), rounds=5, plans=2)


def test_handlers_see_exceptions_with_tracebacks_and_contexts():
    def inner(x):
        try:
            raise ValueError("first")
        except ValueError as error:
            try:
                raise KeyError("second") from error
            except KeyError as other:
                return x * 2, type(other.__context__).__name__, other.__traceback__.tb_lineno > 0

    agree(lambda x: inner((x + 1).sin()), plans=None)


def test_a_class_raised_by_what_it_makes():
    class Odd(ValueError):
        def __new__(cls, *args):
            return 3 if args == () else super().__new__(cls)

    def inner(x):
        try:
            raise Odd
        except TypeError as error:
            return x * 2, str(error)

    agree(lambda x: inner((x + 1).sin()), plans=None)


# ---- Iteration by a class's own code


class Numbers:
    def __init__(self, count):
        self.count = count

    def __getitem__(self, place):
        if place >= self.count:
            raise IndexError("no such number")
        return place * 2

    def __iter__(self):
        place = 0
        while place < self.count:
            yield self[place]
            place += 1


def test_iteration_over_objects():
    numbers = Numbers(3)

    def program(x):
        for number in numbers:
            x = x + number
        return x.sin() * len([number for number in numbers])

    def change(i):
        numbers.count = 2 + (i > 3)

    agree(program, rounds=8, plans=None, change=change)


class Sequence(collections.abc.Sequence):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, place):
        if place < 0:
            place += len(self)
        if place < 0 or place >= len(self):
            raise IndexError("no such number")
        return place * 3


def test_iteration_that_ends_by_an_exception():
    sequence = Sequence(3)

    def program(x):
        made = [a + b for a, b in zip([1, 2, 3], sequence)]
        for i, a in enumerate(sequence):
            x = x * a + i
        return x.sin() + sum(made) + len(sequence), [a for a in sequence]

    def change(i):
        sequence.count = 3 - (i > 4)

    agree(program, rounds=4)
    agree(program, rounds=10, plans=2, change=change)


def test_rows_of_generators():
    def program(x, n):
        parts = (a * 2 for a in [x, x + 1, x.cos()][:n])
        rows = [a + b for a, b in zip(parts, (i + 1 for i in range(5)))]
        for i, (a, b) in enumerate(zip([1, 2], (c.sin() for c in rows))):
            x = x + a * b + i
        return x, len(rows)

    # From CPython 3.12 on the comprehension is a loop of the frame, which has a plan of its own.
    is_inlined = sys.version_info >= (3, 12)
    agree(program, ((X, 3), {}), ((X, 3), {}), plans=1 + is_inlined)
    agree(program, ((X, 3), {}), ((X, 1), {}), rounds=6, plans=None if is_inlined else 2)


def test_generators_that_end_early_run_their_handlers():
    log = []

    def numbers(x):
        try:
            yield x + 1
            yield x + 2
        except GeneratorExit:
            log.append("left")
            raise
        finally:
            log.append("end")

    def program(x):
        return sum(a * b for a, b in zip([2], numbers(x.sin())))

    agree(program, plans=None)
    assert log == ["left", "end"] * 8


# ---- With statements


class Plain:
    def __init__(self, k):
        self.k = k

    def __enter__(self):
        return self.k

    def __exit__(self, kind, value, traceback):
        self.k = None
        return True


def test_with_statements_of_own_classes():
    def program(x):
        with Plain(3) as k:
            x = x.sin() * k
        return x + 1

    def returns_within(x):
        with Plain(2) as k:
            return x.sin() * k + 1

    agree(program)
    agree(lambda x: returns_within(x + 1))


def test_with_statements_hide_exceptions():
    def program(x, y):
        with Plain(2) as k:
            x = (x * k).sin() @ y
        return x + 1

    agree(program, ((X, torch.randn(4, 4)), {}), ((X, X), {}), plans=None)


def test_a_with_statement_whose_class_changes():
    class Mine:
        def __enter__(self):
            return 2

        def __exit__(self, *args):
            return None

    mine = Mine()

    def program(x):
        with mine as k:
            x = (x * k).sin() + 1
        return x

    def change(i):
        Mine.__enter__ = lambda self: i // 3

    agree(program, rounds=7, plans=None, change=change)


# ---- Keyword arguments that change


def test_keyword_arguments_that_a_function_changes():
    def program(x, **keywords):
        flag = keywords.pop("flag", True)
        keywords["k"] = 2 if flag else x.shape[0]
        return scaled_by((x + 1).sin(), **keywords), keywords, flag

    def scaled_by(x, k, shift=0):
        return x * k + shift

    agree(program, ((X,), {"flag": False}), ((X,), {"flag": False}))
    agree(program, ((X,), {"flag": False}), ((X,), {}), ((X,), {"shift": 2}), rounds=5, plans=3)


def test_changed_keyword_arguments_are_the_same_dict():
    kept = []

    def program(x, **keywords):
        before = id(keywords)
        y = (x + 1).sin() * 2
        keywords["y"] = y
        keywords.pop("z", None)
        print(end="")
        kept.append(keywords)
        keywords["w"] = (y * 2).cos()
        return id(keywords) == before, keywords, kept[-1] is keywords

    agree(program, ((X,), {"z": 1}), ((X,), {}), rounds=5, plans=None)
    assert all(list(names) == ["y", "w"] for names in kept)


def test_keyword_arguments_that_something_else_has():
    def shared(x, **keywords):
        held = keywords
        keywords["k"] = (x + 1).sin()
        return held, held is keywords

    agree(shared, ((X,), {"z": 1}), rounds=5, plans=None)


# ---- Objects that are dicts


class Names(collections.OrderedDict):
    def __setattr__(self, name, value):
        if value is not None and name in {field for field in ("a", "b")}:
            super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __setitem__(self, name, value):
        super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __getitem__(self, place):
        return super().__getitem__(place) if isinstance(place, str) else self.parts()[place]

    def parts(self):
        return tuple(self[name] for name in self.keys())


@dataclasses.dataclass
class Record(Names):
    a: torch.Tensor
    b: torch.Tensor | None = None

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = self.__dict__.get(field.name)
            if value is not None:
                self[field.name] = value


class Table(dict):
    def __init__(self, x):
        self["x"] = x
        self.count = 1


def test_objects_that_are_dicts():
    def program(x, with_b):
        inner = Record(x.sin() * 2)
        made = Record(inner.a + 1, inner[0] if with_b else None)
        return made, type(made).__name__, isinstance(made, dict), made["a"] * 2, made.b

    agree(program, ((X, True), {}), ((X, True), {}))
    agree(program, ((X, True), {}), ((X, False), {}), rounds=5, plans=2)


def test_objects_derived_from_dict():
    def program(x):
        made = Table((x + 1) * 2)
        return made, list(made.items()), len(made)

    agree(program, plans=None)


class Registry(dict):
    def get(self, owner):
        return super().get(str(owner.__class__)) or {}


def test_registries_by_class():
    registry = Registry()
    dict.__setitem__(registry, str(Plain), {"a": 1, "b": 2})
    owner = Plain(1)

    def program(x):
        flags = registry.get(owner)
        names = {f"output_{name}": value for name, value in flags.items() if value}
        return (x * len(names)).sin() + sum(names.values()), list(names)

    def change(i):
        if i == 4:
            dict.__setitem__(registry, str(Plain), {"c": 5})
        if i == 8:
            dict.__delitem__(registry, str(Plain))

    agree(program, rounds=12, plans=None, change=change)


def test_sets_that_are_there():
    seen = {Plain, 3, "a"}

    def program(x, what):
        return (x * (what in seen)).sin() + (Plain in seen)

    def change(i):
        if i == 4:
            seen.discard(Plain)

    agree(program, ((X, 3), {}), ((X, "b"), {}), rounds=8, plans=None, change=change)


# ---- Attributes that a class's own code looks up


class Config:
    names = {"z": "k"}

    def __init__(self):
        self.k = 3

    def __setattr__(self, name, value):
        if name in super().__getattribute__("names"):
            name = super().__getattribute__("names")[name]
        super().__setattr__(name, value)

    def __getattribute__(self, name):
        if name != "names" and name in super().__getattribute__("names"):
            name = super().__getattribute__("names")[name]
        return super().__getattribute__(name)

    def scaled(self, x):
        return x * self.z


def test_attributes_that_own_code_looks_up():
    config = Config()

    def program(x):
        if hasattr(config, "missing"):
            return (x * config.missing).sin()
        return config.scaled(x.sin()) * (getattr(config, "other", None) or 2) + getattr(config, "z", 1)

    agree(program)

    def change(i):
        if i == 3:
            config.z = 4
        if i == 5:
            config.other = 5
        if i == 8:
            Config.missing = 6

    try:
        agree(program, rounds=12, plans=None, change=change)
    finally:
        del Config.missing


# ---- Abstract classes


class Abstract(abc.ABC):
    @abc.abstractmethod
    def made(self): ...


class Concrete(Abstract):
    def made(self):
        return self


class Stranger:
    pass


def test_instances_of_abstract_classes():
    concrete, stranger = Concrete(), Stranger()

    def program(x):
        return (x * isinstance(concrete, Abstract)).sin() + isinstance(stranger, Abstract)

    agree(program)

    def change(i):
        if i == 4:
            Abstract.register(Stranger)

    agree(program, rounds=8, plans=2, change=change)


# ---- The truth of tensors


def test_branches_on_tensors_that_go_one_way():
    def program(x, limit):
        y = (x + 1).sin()
        if (y > limit).all():
            return y * 2
        return y.cos() - 1

    agree(program, ((X, -2), {}), ((X, -3), {}))
    report = agree(program, ((X, -2), {}), ((X, 5), {}), rounds=12, plans=None)
    before = [plan.failed for plan in report.plans]
    assert sum(before) <= 12, report  # a branch that goes both ways is in no plan


def test_branches_on_tensors_of_many_elements_raise():
    agree(lambda x: x + 1 if (x * 2).sin() > 0 else x, plans=None)


# ---- Others


def test_methods_of_lists_that_are_made():
    def program(x):
        names = ["a"]
        names.extend(["b", "c"])
        names.insert(1, "d")
        last = names.pop()
        flags = [name == "d" for name in names]
        names.reverse()
        return (x * flags.index(True)).sin() + names.count("a"), names, last, names.copy()

    agree(program)


def test_parts_of_lists_that_are_made():
    def program(x, given):
        parts = [x, x + 1, x * 2, x * 3]
        del parts[0]
        parts[1:] = [x.sin(), *given]
        del parts[-1:]
        order = [3, 1, 2]
        order.sort()
        order.remove(2)
        return parts[0] * order[1] + parts[1].cos(), parts, order, sorted(["b", "a"])

    agree(program, ((X, [X * 4]), {}))

    def at(x, place):
        parts = [x, x + 1, x * 2]
        del parts[place]
        return parts[0].sin() * parts[1] + 1

    agree(at, ((X, 0), {}), ((X, -1), {}), plans=None)

    def fails(x, place):
        y = (x + 1).sin()
        parts = [y, x]
        try:
            del parts[place]
        except IndexError:
            return y.cos() * 2
        return parts[0].cos() + 1

    agree(fails, ((X, 0), {}), ((X, 5), {}), plans=None)


def test_names_of_code():
    def reads(a, b):
        return a

    def program(x, function):
        if "b" in function.__code__.co_varnames:
            return (x * function.__code__.co_varnames.index("b")).sin() + 1
        return (x + function.__code__.co_argcount).sin()

    def change(i):
        if i == 4:
            reads.__code__ = (lambda a, c: a).__code__

    agree(program, ((X, reads), {}), rounds=8, plans=2, change=change)


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.count = 2

    def forward(self, x):
        for layer in self.layers[: self.count]:
            x = layer(x).tanh()
        return x * 2


def test_parts_of_lists_of_modules():
    layers = Layers()

    def change(i):
        if i == 4:
            layers.count = 3
        if i == 8:
            layers.layers.append(nn.ReLU())
            layers.count = 4

    agree(lambda x: layers(x), rounds=12, plans=3, change=change)


def test_tensors_of_numbers():
    def program(x, n):
        empty = torch.tensor([], dtype=x.dtype, device=x.device)
        return torch.cat([empty, (x * torch.tensor([1.0, 2, n, 4])).flatten()]) + torch.tensor(n)

    agree(program, ((X, 3), {}), ((X, 2.5), {}), plans=None)


@pytest.mark.parametrize("name", ["missing", "shape", "sin", "is_cuda"])
def test_names_that_tensors_have(name):
    agree(lambda x: (x + 1).sin() * (2 if hasattr(x, name) else 3), plans=None)


def test_names_that_modules_have():
    module = types.ModuleType("module")

    def change(i):
        module.__dict__.pop("name", None)
        if i % 6 < 4:
            module.name = i

    agree(lambda x: (x + 1).sin() * (2 if hasattr(module, "name") else 3), rounds=20, plans=None, change=change)
    agree(lambda x: (x + 1).sin() * (2 if hasattr(torch, "relu") else 3))


def test_what_follows_handlers_begins_no_loop():
    """From CPython 3.12 on handlers stand at the code's end and jump back."""

    def program(x, keys):
        with torch.no_grad():
            x = x * 2
        for key in keys:
            try:
                x = x + {"a": 1}[key]
            except KeyError:
                continue
            with torch.no_grad():
                x = x.sin()
        return x + 1

    code, first = program.__code__, program.__code__.co_firstlineno
    lines = {each.offset // 2: each.positions.lineno for each in dis.get_instructions(code)}
    assert {lines[place] - first for place in _recording.loops_of(code).values()} == {3}
    agree(lambda x: program(x, ()), plans=1)


def test_methods_of_dict_of_an_ordered_dict():
    class Mixed(collections.OrderedDict):
        def __init__(self, x):
            dict.__setitem__(self, "hidden", x)
            self["seen"] = x

    def program(x):
        made = Mixed((x + 1) * 2)
        return [name for name in made], len(made), dict.__len__(made)

    agree(program, plans=None)


def test_an_exception_after_a_missing_attribute():
    config = Config()

    def fails(x, flag):
        try:
            if flag:
                raise AttributeError("other")
            return x * 2
        except AttributeError:
            return x * 3

    def program(x, flag):
        x = x * (getattr(config, "nothing", None) or 2)
        return fails(x.sin(), flag) + 1

    agree(program, ((X, False), {}), ((X, True), {}), rounds=6, plans=2)


def test_functions_as_arguments_among_others():
    def both(*functions):
        if not all(callable(function) for function in functions):
            raise TypeError("no functions")

        def made(a, b):
            result = a.new_ones(())
            for function in functions:
                result = result * function(a, b)
            return result

        return made

    def scaled_by(k):
        return lambda a, b: (a * k).sin() + b

    def added(a, b):
        return a + b

    def program(x, k):
        return both(added, scaled_by(k))(x, 2) * 3

    def kept(x, *functions):
        return functions

    agree(program, ((X, 2), {}), ((X, 3), {}))
    agree(lambda x: len(kept((x + 1).sin() * 2, lambda: 1, added)), plans=None)
    agree(lambda x: [f(x.sin()) for f in kept(x, lambda a: a * 2, lambda a: a + 1)], plans=None)
