"""Captured functions that change lists, deques and dicts which are there: queues, histories, caches."""

import collections
import copy
import gc
import weakref

import pytest
import torch
from test_capture_graphs import in_another_thread, same

import cresset

X = torch.arange(4.0)


class Held:
    """An object that programs change containers of."""

    def __init__(self):
        self.list = [torch.full((4,), float(i)) for i in range(4)]
        self.marks = [3, 1, 2]
        self.dict = {"a": torch.ones(4), "b": torch.zeros(4)}
        self.recent = collections.deque([torch.ones(4)], maxlen=3)
        self.waiting = collections.deque([torch.ones(4) * i for i in range(3)])


def parts_of(value):
    if isinstance(value, Held):
        return parts_of(vars(value))
    if isinstance(value, dict):
        return [(key, parts_of(each)) for key, each in value.items()]
    return [type(value), *map(parts_of, value)] if isinstance(value, (list, tuple, collections.deque)) else value


def agree(program, plans=1, calls=12, make=Held):
    """Calls change an object as calls of plain Python change theirs, exceptions and what is done before them included."""
    cresset.reset()
    compiled = cresset.compile(program)
    found = []
    for function in (program, compiled):
        held, results = make(), []
        for i in range(calls):
            try:
                results.append(parts_of(function(held, X + i)))
            except (IndexError, RuntimeError, KeyError, ValueError, TypeError) as error:
                results.append((type(error), str(error)))
            results.append(parts_of(copy.deepcopy(held)))
        found.append(results)
    for plain, captured in zip(*found, strict=True):
        assert same(plain, captured)
    report = cresset.explain(compiled)
    assert sum(plan.raised for plan in report.plans) == 0, report
    if plans is not None:
        assert len([plan for plan in report.plans if plan.applied > calls // 3]) == plans and not report.python, report
    return report


def reads_after_it_grew(held, x):
    held.list.append(torch.tanh(x) * 2)
    return held.list[-1] + held.list[0] + len(held.list)


def keeps_the_last(held, x):
    held.list.append(torch.tanh(x) * 2)
    if len(held.list) > 5:
        held.list.pop(0)
    return held.list[0] * held.list[-1] + len(held.list)


def stacks_what_it_keeps(held, x):
    held.list.append(torch.tanh(x) * 2)
    if len(held.list) > 5:
        held.list.pop(0)
    return torch.stack(held.list).mean(0) + x


def takes_from_both_ends(held, x):
    held.list.append(x + 1)
    a = held.list.pop() * 2
    held.list.insert(0, a.tanh())
    held.list.insert(0, a.sin())
    b = held.list.pop() + held.list.pop(0)
    return a * b


def sets_elements(held, x):
    held.list[0] = x.tanh() * 2
    held.list[1:3] = [x + 1, x.sin()]
    held.list[-1] = held.list[0] + 1
    held.list[0], held.list[1] = held.list[1], held.list[0]
    return held.list[0] + held.list[2] * held.list[3]


def sorts_and_searches(held, x):
    marks = held.marks
    marks.append(7)
    marks.remove(1)
    marks.sort()
    k = marks[0] + marks.index(7) * marks.count(2) + (3 in marks)
    marks.insert(1, 1)
    marks.reverse()
    marks.remove(7)
    marks += [5]
    marks.pop()
    marks[:] = [3, 1, 2]
    return x.tanh() * k + len(marks)


def joins(held, x):
    held.list.extend([x.tanh(), x.sin()])
    held.list += (x * i for i in range(2))
    held.list.extend(held.list[:1])
    del held.list[:4]
    del held.list[0]
    total = x
    for h in held.list:
        total = total + h
    return total.tanh(), held.list.copy()


def clears(held, x):
    last = held.list[-1]
    held.list.clear()
    if not held.list:
        held.list.append(x * 2)
    held.list.extend(last * i for i in range(3))
    return torch.cat(held.list).tanh().sum()


def changes_while_it_iterates(held, x):
    total = x
    for h in held.list:
        total = total * 0.5 + h
        if len(held.list) > 3:
            held.list.pop()
    held.list.append(total.tanh())
    return total.sin()


def stops_and_changes(held, x):
    for i, mark in enumerate(held.marks):  # noqa: B007
        if mark == 1:
            break
    held.marks.append(i)
    del held.marks[-1]
    for mark in held.marks:
        if mark == 2:
            held.marks.remove(mark)
            break
    held.marks.append(2)
    return x.tanh() * i + 1


def keeps_the_recent(held, x):
    held.recent.append(x.tanh())
    total = x
    for h in held.recent:
        total = total + h
    return total * len(held.recent) + held.recent[0] + held.recent.maxlen


def takes_turns(held, x):
    held.waiting.append(x.tanh())
    y = held.waiting.popleft()
    held.waiting.appendleft(y + 1)
    held.waiting.pop()
    held.waiting.rotate(1)
    held.waiting.reverse()
    held.waiting.extend([x, y])
    held.waiting.extendleft([x, y])
    for _ in range(4):
        held.waiting.pop()
    return torch.stack(list(held.waiting)).sum(0) + y


def takes_items(held, x):
    held.dict["c"] = x * 2
    key, value = held.dict.popitem()
    held.dict.update(d=value.tanh(), a=x + 1)
    del held.dict["a"]
    held.dict["a"] = held.dict.pop("d") + len(held.dict)
    missing = held.dict.get("d"), "d" in held.dict, list(held.dict)
    held.dict["b"] = held.dict.pop("b")
    return held.dict["a"] * 2, key, missing


def clears_a_dict(held, x):
    total = sum(held.dict.values())
    held.dict.clear()
    held.dict["b"] = x.tanh()
    held.dict["a"] = held.dict["b"] + 1
    return total * 2, len(held.dict)


ONE_PLAN = [
    reads_after_it_grew,
    keeps_the_last,
    stacks_what_it_keeps,
    takes_from_both_ends,
    sets_elements,
    sorts_and_searches,
    joins,
    clears,
    changes_while_it_iterates,
    stops_and_changes,
    keeps_the_recent,
    takes_turns,
    takes_items,
    clears_a_dict,
]


@pytest.mark.parametrize("program", ONE_PLAN, ids=lambda program: program.__name__)
def test_one_plan(program):
    agree(program)


def test_queues_of_any_length():
    """What is done at the ends does not depend on how many elements there are."""

    def program(held, x):
        for _ in range(int(held.marks[0])):
            pass
        held.list.append(torch.tanh(x) * 2)
        first = held.list.pop(0)
        held.waiting.append(first + 1)
        return held.waiting.popleft() * first

    compiled = cresset.compile(program)
    plain, captured = Held(), Held()
    for i in range(30):
        for held in (plain, captured):
            held.list += [torch.ones(4) * i] * (i % 3)
            held.waiting.extend([torch.ones(4) * i] * (i % 4))
        assert same(program(plain, X + i), compiled(captured, X + i))
        assert same(parts_of(plain), parts_of(captured))
    report = cresset.explain(compiled)
    assert [plan.applied for plan in report.plans] == [29], report


def raises_when_empty(held, x):
    y = torch.tanh(x) * 2
    held.list.pop()
    held.list.insert(0, y + 1) if len(held.marks) > 3 else None
    held.marks.append(1)
    held.list.pop(0)
    return y * 2


def raises_after_it_changed(held, x):
    held.list.append(torch.tanh(x) * 2)
    held.marks.pop()
    held.dict.popitem()
    held.recent.append(x)
    return torch.cat(held.list) @ x


def changes_a_deque_while_it_iterates(held, x):
    y = torch.tanh(x) * 2
    for h in held.recent:
        y = y + h
        held.recent.append(y)
    return y


def extends_by_what_reads_it(held, x):
    y = torch.tanh(x) * 2
    held.list.extend(held.list[-1] * i + y for i in range(3))
    made = [y]
    made.extend(made[-1] * i + len(made) for i in range(3))
    return made


def sorts_tensors(held, x):
    held.list.append(torch.tanh(x).sum())
    held.list.sort(key=lambda h: float(h.sum()))
    return held.list[0] + 1


@pytest.mark.parametrize(
    "program",
    [
        raises_when_empty,
        raises_after_it_changed,
        changes_a_deque_while_it_iterates,
        extends_by_what_reads_it,
        sorts_tensors,
    ],
    ids=lambda program: program.__name__,
)
def test_as_plain_python(program):
    agree(program, plans=None)


def test_two_names_of_one_list():
    def program(a, b, x):
        a.append(torch.tanh(x) * 2)
        first = b.pop(0)
        b.insert(0, first + a[-1])
        b.insert(0, x * a[0])
        b.pop(0)
        return a[0] * len(a) + b[-1]

    compiled = cresset.compile(program)
    one, two = [X] * 3, [X * 2] * 3
    plain = copy.deepcopy((one, two))
    for i in range(24):
        first = i % 3 == 0
        second = i % 2 == 0
        expected = program(plain[first], plain[second], X + i)
        assert same(expected, compiled((one, two)[first], (one, two)[second], X + i))
        assert same(list(plain), [one, two])
    assert sum(plan.applied for plan in cresset.explain(compiled).plans) > 12


def test_the_list_stays_the_same_object():
    def program(held, x):
        queue = held.list
        queue.pop(0)
        queue.append(x.tanh() * 2 + 1)
        held.kept = queue
        return queue, queue is held.list, queue[1:]

    compiled = cresset.compile(program)
    held = Held()
    queue = held.list
    for i in range(6):
        found, is_same, part = compiled(held, X + i)
        assert found is queue is held.list is held.kept and is_same and len(queue) == 4
        assert same(part, queue[1:]) and same(queue[-1], (X + i).tanh() * 2 + 1)
    assert [plan.applied for plan in cresset.explain(compiled).plans] == [5]


class Noticed:
    """An object whose end shows."""

    log = []  # noqa: RUF012

    def __init__(self, number):
        self.number = number

    def __del__(self):
        self.log.append(self.number)


@pytest.mark.parametrize("how", ["pop", "set", "clear", "deque", "weak"])
def test_ends_of_elements(how):
    """What a list lets go of is freed where Python frees it."""

    def program(queue, recent, x):
        y = torch.tanh(x) * 2
        if how == "pop":
            queue.pop(0)
        elif how == "set":
            queue[0] = None
        elif how == "clear":
            queue.clear()
        elif how == "deque":
            recent.append(None)
        elif how == "weak":
            reference = weakref.ref(queue[0])
            queue.pop(0)
            y = y * (1 if reference() is None else 2)
        y = y * (1 + len(Noticed.log))
        return y + 1

    found = []
    for function in (program, cresset.compile(program)):
        Noticed.log.clear()
        results = []
        for i in range(6):
            kind = Noticed if i % 2 else collections.OrderedDict
            make = (lambda i: kind(i)) if kind is Noticed else (lambda i: kind(n=i))  # noqa: B023
            queue, recent = [make(i), make(10 + i)], collections.deque([make(20 + i)], maxlen=1)
            results.append(function(queue, recent, X + i))
            gc.collect()
            results.append(list(Noticed.log))
            del queue, recent
        found.append(results)
    assert same(*found)


def test_other_threads():
    """What another thread changes while a plan runs is not lost."""
    queue, waiting = [X, X * 2, X * 3], collections.deque([X, X * 2])

    def adds():
        queue.insert(0, X * 5)
        waiting.appendleft(X * 6)

    def program(x):
        y = torch.relu(x).tanh() * 2
        queue.append(y)
        waiting.append(y)
        return y + queue.pop(0) + waiting.popleft()

    compiled = cresset.compile(program, backend=in_another_thread(adds))
    sizes = []
    for i in range(6):
        compiled(X + i)
        sizes.append((len(queue), len(waiting)))
        assert same(queue[-1], waiting[-1])
    assert sizes == sorted(sizes) and sizes[-1] > sizes[0], sizes


def test_long_lists():
    """A list of which nothing but the ends is looked at may be long; of others Python is what runs."""

    def program(queue, x, place):
        queue.append(torch.tanh(x) * 2)
        y = queue.pop(0) + queue[-1]
        if place:
            del queue[place]
        return y + 1

    compiled = cresset.compile(program)
    plain, captured = [X] * 1000, [X] * 1000
    for i in range(12):
        assert same(program(plain, X + i, i // 8), compiled(captured, X + i, i // 8))
        assert same(plain, captured)
    report = cresset.explain(compiled)
    assert report.plans[0].applied >= 6 and any("long list" in reason for _, reason in report.python), report


def test_elements_that_come_and_go():
    """An element that a plan sets and deletes goes also where it was there before."""

    def program(table, held, x):
        y = torch.tanh(x) * 2
        table["a"] = y + 1
        del table["a"]
        table["c"] = y.sin()
        held.kept = y
        y = y * held.kept
        del held.kept
        return y + len(table)

    compiled = cresset.compile(program)
    tables, both = [{"b": 1}, {"a": 2, "b": 1}, {"c": 3, "a": 2}], (Held(), Held())
    for i in range(16):
        expected, found = dict(tables[i * 7 % 3]), dict(tables[i * 7 % 3])
        if i % 4 == 3:
            both[0].kept = both[1].kept = X
        assert same(program(expected, both[0], X + i), compiled(found, both[1], X + i))
        assert list(expected) == list(found) and same(list(expected.values()), list(found.values()))
        assert list(vars(both[0])) == list(vars(both[1]))
    assert sum(plan.applied for plan in cresset.explain(compiled).plans) >= 8


# ---- Elements by numbers that no check pins, and loops that grow


def test_elements_by_numbers():
    """Which element of a list is read or set need not be known."""

    def program(held, x, place):
        y = torch.tanh(x * held.list[place]) * 2
        held.list[place] = y + held.marks[place]
        return held.list[place] * 2 + y

    compiled = cresset.compile(program)
    plain, captured = Held(), Held()
    for i in range(24):
        place = i * 7 % 3 - (i % 2)
        assert same(program(plain, X + i, place), compiled(captured, X + i, place))
        assert same(parts_of(plain), parts_of(captured))
    with pytest.raises(IndexError):
        compiled(captured, X, 7)
    report = cresset.explain(compiled)
    assert [plan.applied >= 20 for plan in report.plans] == [True], report


def test_elements_by_numbers_are_looked_at_only_as_they_were_set():
    def program(held, x, i, j):
        held.list[i] = torch.tanh(x) * 2
        y = held.list[j] + held.list[i]
        held.list[j] = y * 2
        return y + sum(each.sum() for each in held.list)

    compiled = cresset.compile(program)
    plain, captured = Held(), Held()
    for n in range(24):
        i, j = n * 5 % 4, n * 7 % 3
        assert same(program(plain, X + n, i, j), compiled(captured, X + n, i, j))
        assert same(parts_of(plain), parts_of(captured))


def test_loops_that_grow_are_not_unrolled_again_and_again():
    def program(held, x, count):
        y = torch.tanh(x) * 2 + 1
        for i in range(count):
            y = y * 0.5 + i
        for mark in held.marks:
            y = y + mark
        return (y.sin() * 2 + 1).cos()

    compiled = cresset.compile(program)
    plain, captured = Held(), Held()
    for i in range(30):
        for held in (plain, captured):
            held.marks.append(i)
        assert same(program(plain, X + i, i), compiled(captured, X + i, i))
    report = cresset.explain(compiled)
    assert report.plans[0].applied >= 25 and len(report.plans) < 12, report


def test_loops_of_a_few_lengths_have_plans():
    def program(x, count):
        y = torch.tanh(x) * 2 + 1
        for i in range(count):
            y = y * 0.5 + i
        return (y.sin() * 2 + 1).cos()

    compiled = cresset.compile(program)
    for i in range(24):
        assert same(program(X + i, i % 3), compiled(X + i, i % 3))
    report = cresset.explain(compiled)
    assert sum(plan.applied for plan in report.plans) >= 20 and not report.python, report


def test_recordings_are_made_for_a_part_of_the_time():
    """A function that goes another way each time is not recorded for ever."""
    names = {"torch": torch}
    branches = "".join(f"    if kind == {i}:\n        y = (y * {i} + 1).sin().tanh()\n" for i in range(400))
    exec(f"def program(x, kind):\n    y = torch.tanh(x) * 2\n{branches}    return y + 1\n", names)
    program = names["program"]
    compiled = cresset.compile(program, cache_limit=1000)
    for i in range(400):
        assert same(program(X, i), compiled(X, i))
    report = cresset.explain(compiled)
    assert report.recordings < 200, report
