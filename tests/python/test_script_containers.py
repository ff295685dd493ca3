"""ScriptList and ScriptDict: Python's interface, references that scripts change, and torch.jit's types and errors."""

import builtins
import copy
import pickle
import traceback
from typing import Dict, List, Optional

import pytest
import torch

import cresset

# What a Python list of [3, 1, 2] does; each on a fresh list.
OF_LISTS = """
xs[0]
xs[-1]
xs[3]
xs[0:2]
xs[::2]
xs[::-1]
xs['a']
xs[True]
len(xs)
list(xs)
[x for x in xs]
list(reversed(xs))
sorted(xs)
1 in xs
9 in xs
xs == [3, 1, 2]
xs == [3, 1]
xs != [3, 1, 2]
[3, 1, 2] == xs
xs == 3
xs < [4]
xs >= [3, 1, 2]
repr(xs)
str(xs)
bool(xs)
hash(xs)
xs + [4]
[4] + xs
xs + (4,)
xs * 2
2 * xs
xs * 0
xs.count(1)
xs.index(2)
xs.index(9)
xs.index(2, 0, 1)
xs.copy()
copy.copy(xs)
copy.deepcopy(xs)
xs.append(4)
xs.extend([4, 5])
xs.extend(xs)
xs.extend(x + 1 for x in [1, 2])
xs.insert(0, 9)
xs.insert(-1, 9)
xs.insert(100, 9)
xs.insert(-100, 9)
xs.pop()
xs.pop(0)
xs.pop(8)
xs.remove(1)
xs.remove(9)
xs.reverse()
xs.sort()
xs.sort(reverse=True)
xs.sort(key=lambda x: -x)
xs.clear()
xs.__setitem__(0, 7)
xs.__setitem__(5, 7)
xs.__setitem__(slice(0, 2), [7, 8])
xs.__setitem__(slice(0, 2), [7, 8, 9])
xs.__setitem__(slice(1, 1), xs)
xs.__setitem__(slice(None, None, 2), [7, 8])
xs.__setitem__(slice(None, None, 2), [7])
xs.__delitem__(0)
xs.__delitem__(7)
xs.__delitem__(slice(0, 2))
xs.__delitem__(slice(None, None, 2))
xs.__iadd__([4])
xs.__imul__(2)
[xs.pop(), xs.pop(), xs.pop(), xs.pop()]
max(xs), min(xs), sum(xs)
(lambda a, *b: (a, b))(*xs)
'a' in xs
None in xs
1.0 in xs
xs.count('a')
xs.index('a')
xs.remove('a')
xs.extend(x for x in [len(xs), xs.pop(), len(xs)])
xs.extend(xs.pop() for _ in [0, 1])
xs.extend(len(xs) for _ in [0, 1])
xs.sort(key=lambda x: xs.append(x) or x)
xs.sort(key=lambda x: len(xs))
xs.sort(key=lambda x: x.nothing)
[(x, xs.pop()) for x in reversed(xs)]
[(x, xs.clear()) for x in reversed(xs)]
[(x, xs.append(7) if len(xs) < 6 else 0) for x in reversed(xs)]
"""

OF_DICTS = """
d['a']
d['z']
d[1]
len(d)
list(d)
list(reversed(d))
'a' in d
'z' in d
d.get('a')
d.get('z')
d.get('z', 5)
list(d.keys())
list(d.values())
list(d.items())
'a' in d.keys()
1 in d.values()
('a', 3) in d.items()
d.keys() & {'a'}
len(d.items())
d == {'a': 3, 'b': 1}
{'b': 1, 'a': 3} == d
d == {'a': 3}
d != {'a': 3}
d == 3
repr(d)
bool(d)
hash(d)
d | {'c': 2}
{'c': 2} | d
d | 3
d.copy()
copy.copy(d)
copy.deepcopy(d)
d.__setitem__('c', 4)
d.__setitem__('a', 4)
d.__delitem__('a')
d.__delitem__('z')
d.pop('a')
d.pop('z')
d.pop('z', 1)
d.popitem()
[d.popitem(), d.popitem(), d.popitem()]
d.setdefault('a', 9)
d.setdefault('z', 9)
d.update({'a': 5, 'c': 6})
d.update([('a', 5)])
d.update(a=5)
d.update(d)
d.clear()
d.__ior__({'q': 1})
dict(**d)
1 in d
1.5 in d
[] in d
d.get(1)
d.__delitem__(1)
d.pop(1, 2)
list(reversed(d.keys()))
list(reversed(d.values()))
list(reversed(d.items()))
d.keys().mapping == d
d.values().mapping['a']
('a',) in d.items()
('z', 3) in d.items()
'q' in d.values()
"""


def lines(text):
    return [line for line in text.splitlines() if line]


def outcome(expression, **names):
    try:
        value = eval(expression, {"copy": copy, **names})
    except Exception as error:
        value = next(each for each in type(error).__mro__ if each in vars(builtins).values())
    return plain(value), [plain(name) for name in names.values()]


def plain(value):
    if isinstance(value, cresset.ScriptList):
        return list(value)
    return dict(value) if isinstance(value, cresset.ScriptDict) else value


@pytest.mark.parametrize("expression", lines(OF_LISTS))
def test_list(expression):
    assert outcome(expression, xs=cresset.script([3, 1, 2])) == outcome(expression, xs=[3, 1, 2])


@pytest.mark.parametrize("expression", lines(OF_DICTS))
def test_dict(expression):
    start = {"a": 3, "b": 1}
    assert outcome(expression, d=cresset.script(dict(start))) == outcome(expression, d=dict(start))


# What keys and elements of other types are equal to.
@pytest.mark.parametrize("key", [True, False, 1, 1.0, 0, 2, 2.5, float("nan"), float("inf"), None, "a", 1j], ids=repr)
@pytest.mark.parametrize("start", [{True: 1}, {1: 1, 0: 2}, {1.0: 1, 2.5: 2}, {"a": 1}, {False: True}], ids=repr)
@pytest.mark.parametrize(
    "expression", ["d[key]", "key in d", "d.get(key, 7)", "d.pop(key)", "key in d.keys()", "(key, 1) in d.items()"]
)
def test_keys_of_other_types(expression, start, key):
    if isinstance(key, complex) and "a" not in start:
        return  # no key that a script's dict may have
    assert (
        outcome(expression, d=cresset.script(dict(start)), key=key)[:1]
        == outcome(expression, d=dict(start), key=key)[:1]
    )


@pytest.mark.parametrize("value", [2.5, None, 1, 0, "a"], ids=repr)
def test_bools_are_bools(value):
    for action in (
        lambda xs, d: xs.append(value),
        lambda xs, d: xs.extend([True, value]),
        lambda xs, d: xs.__setitem__(0, value),
        lambda xs, d: d.__setitem__("a", value),
        lambda xs, d: d.update(b=value),
        lambda xs, d: cresset.script([[True]]).append([value]),
    ):
        xs, d = cresset.script([True]), cresset.script({"a": True})
        with pytest.raises(TypeError):
            action(xs, d)
        assert xs == [True] and d == {"a": True}


def test_nan_keys():
    nan = float("nan")
    d = cresset.script({nan: 1, 2.0: 3})
    assert list(d.values()) == [1, 3] and list(reversed(d.values())) == [3, 1]
    assert [repr(key) for key, _ in d.items()] == ["nan", "2.0"] and repr(d) == "{nan: 1, 2.0: 3}"
    assert nan not in d and len(copy.copy(d)) == 2
    with pytest.raises(KeyError):
        d[nan]


# Wrong elements, as torch.jit has it: what raises there raises the same here, and changes nothing.
@pytest.mark.parametrize(
    "expression",
    """
xs.append('a')
xs.append(1.5)
xs.append(True)
xs.append(None)
xs.extend([4, 'a'])
xs.insert(0, 'a')
xs.__setitem__(0, 'a')
xs.__setitem__(slice(0, 1), ['a'])
d.__setitem__('c', 'x')
d.__setitem__(1, 3)
d.__setitem__('c', None)
""".split("\n")[1:-1],
)
def test_wrong_element(expression):
    ours = outcome(expression, xs=cresset.script([1, 2]), d=cresset.script({"a": 1}))
    xs, d = torch.jit.script([1, 2]), torch.jit.script({"a": 1})
    result, _ = outcome(expression, xs=xs, d=d)
    assert ours[0] == result
    if isinstance(result, type):
        assert ours[1] == [[1, 2], {"a": 1}]
    else:
        assert ours[1] == [list(xs), dict(d.items())]


@pytest.mark.parametrize(
    "value",
    [
        [1, 2],
        [1.5],
        ["a"],
        [True, False],
        [(1, "a")],
        [[1], [2, 3]],
        [{"a": 1}],
        [1, None],
        {"a": 1},
        {1: [1, 2]},
        {"a": {"b": 2.5}},
        {1.5: "a"},
        [],
        {},
        [1j],
        [torch.device("cpu")],
    ],
    ids=repr,
)
def test_values(value):
    shared = cresset.script(value)
    assert shared == value and repr(shared) == repr(value)
    assert cresset.script(shared) is shared
    for other in (copy.copy(shared), copy.deepcopy(shared), pickle.loads(pickle.dumps(shared))):
        assert other == value and type(other) is type(shared) and other is not shared


@pytest.mark.parametrize(
    "value",
    [[1, "a"], [1, 2.0], {"a": 1, 2: 3}, [object()], {"a": object()}],
    ids=["int and str", "int and float", "keys of two types", "object", "object in a dict"],
)
def test_what_has_no_type(value):
    with pytest.raises(Exception, match="Unable to infer type"):
        torch.jit.script(value)
    kind = "list" if isinstance(value, list) else "dictionary"
    with pytest.raises(cresset.UserError, match=f"Unable to infer type of {kind}: "):
        cresset.script(value)


def test_keys_that_no_dict_has():
    with pytest.raises(RuntimeError, match="Cannot create dict for key type"):
        torch.jit.script({(1, 2): 3})
    with pytest.raises(cresset.UserError, match="key"):
        cresset.script({(1, 2): 3})


def append(xs: List[int], x: int):
    xs.append(x)
    return xs


def put(d: Dict[str, List[int]], key: str):
    d[key] = [len(d)]
    return d["a"]


def test_a_script_changes_what_it_is_given():
    for engine in (torch.jit, cresset):
        xs = engine.script([1, 2])
        returned = engine.script(append)(xs, 3)
        assert list(xs) == [1, 2, 3] and returned == [1, 2, 3] and type(returned) is list
        plain_list = [1, 2]
        engine.script(append)(plain_list, 3)
        assert plain_list == [1, 2]


def test_containers_within_containers_are_references():
    d = cresset.script({"a": [1]})
    inner = d["a"]
    inner.append(2)
    assert d == {"a": [1, 2]} and cresset.script(put)(d, "b") == [1, 2]
    assert d == {"a": [1, 2], "b": [1]}
    cresset.script(append)(d["b"], 5)
    assert d["b"] == [1, 5] and list(d.values()) == [[1, 2], [1, 5]]
    rows = cresset.script([[1], [2]])
    rows[0].append(7)
    rows.append(rows[0])
    rows[2].append(8)
    assert rows == [[1, 7, 8], [2], [1, 7, 8]]
    deep = copy.deepcopy(rows)
    deep[1].append(1)
    assert rows[1] == [2]


def test_another_type_is_refused():
    def take(xs: List[float], maybe: Optional[List[int]]):
        return xs

    with pytest.raises(cresset.UserError, match=r"of type List\[int\] is no List\[float\]"):
        cresset.script(take)(cresset.script([1]), None)
    assert cresset.script(take)([1.0], cresset.script([1])) == [1.0]


class Holder(torch.nn.Module):
    xs: List[int]
    d: Dict[str, int]

    def __init__(self, xs, d):
        super().__init__()
        self.xs = xs
        self.d = d

    def forward(self, x: int):
        self.xs.append(x)
        self.d["last"] = x
        return self.xs, len(self.d)


def test_attributes_of_modules():
    for engine in (torch.jit, cresset):  # torch.jit wants them annotated
        xs, d = engine.script([1]), engine.script({"first": 1})
        scripted = engine.script(Holder(xs, d))
        assert scripted(5) == ([1, 5], 2)
        assert list(xs) == [1, 5] and dict(d.items()) == {"first": 1, "last": 5}
        xs.append(6)
        assert scripted.xs == [1, 5, 6]
    other = cresset.script([9])
    scripted.xs = other
    scripted(1)
    assert other == [9, 1] and xs == [1, 5, 6]


def test_tensors_are_shared():
    xs = cresset.script([torch.zeros(2)])
    xs[0].add_(1)
    assert xs[0].tolist() == [1, 1]

    def change(xs: List[torch.Tensor]):
        xs[0] += 1
        xs.append(xs[0] * 2)

    cresset.script(change)(xs)
    assert [x.tolist() for x in xs] == [[2, 2], [4, 4]]


# As of values that could be there, and errors of torch.jit's class: TypeError.
@pytest.mark.parametrize(
    "action, error",
    [
        (lambda xs, d: xs.remove("a"), ValueError),
        (lambda xs, d: xs.index("a"), ValueError),
        (lambda xs, d: d.__delitem__("a"), KeyError),
    ],
)
def test_errors_of_other_types(action, error):
    for wanted in (error, TypeError):
        with pytest.raises(wanted, match="a") as raised:
            action(cresset.script([1, 2]), cresset.script({1: 2}))
        assert traceback.format_exception_only(raised.value)[0].startswith(f"{error.__name__}: ")
        again = pickle.loads(pickle.dumps(raised.value))
        assert type(again) is type(raised.value) and again.args == raised.value.args


@pytest.mark.parametrize("action", [lambda xs, d: xs.remove(3), lambda xs, d: d.__delitem__(3)])
def test_errors_of_what_is_missing(action):
    with pytest.raises((ValueError, KeyError)) as raised:
        action(cresset.script([1, 2]), cresset.script({1: 2}))
    assert not isinstance(raised.value, TypeError)


@pytest.mark.parametrize(
    "read", [iter, lambda d: iter(d.keys()), lambda d: iter(d.values()), lambda d: iter(d.items()), reversed]
)
@pytest.mark.parametrize(
    "change", [lambda d: d.update(z=3), lambda d: d.pop("a"), lambda d: d.clear(), lambda d: d.update(a=5)]
)
@pytest.mark.parametrize("steps", [0, 1, 2])
def test_dicts_that_change_while_they_are_read(read, change, steps):
    def outcome(d):
        seen, items = [], read(d)
        for _ in range(steps):
            seen.append(next(items))
        change(d)
        try:
            return seen + list(items)
        except RuntimeError as error:
            return seen, str(error)

    values = {"a": 1, "b": 2}
    expected, found = outcome(dict(values)), outcome(cresset.script(dict(values)))
    if isinstance(expected, list) and isinstance(found, list):
        return  # Python's iterators read values late
    assert found == expected


def test_fromkeys():
    made = cresset.script({"a": 1}).fromkeys(["x", "y"], 3)
    assert isinstance(made, cresset.ScriptDict) and made == {"x": 3, "y": 3}
