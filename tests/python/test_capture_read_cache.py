"""What plans take from earlier runs (src/cresset/capture/read_cache.h): whatever the program changes shows in the next call.

In all tests `compare_cached_reads` (conftest.py) has plans compare what they take with what their steps find."""

import builtins
import collections
import gc
import threading
import types

import pytest
import torch
from torch import nn

import cresset
from cresset import _frames


def plans_of(f):
    return [plan for _, plan in _frames.plans_of(f.__code__, None)]


def num_skipped(f):
    """How many steps the plans of a function take from an earlier run."""
    stretches = [stretch for plan in plans_of(f) for stretch in plan.cached_reads]
    return sum(end - begin - run for begin, end, _, run in stretches)


def checked(f, compiled, *args):
    for _ in range(4):
        expected, seen = f(*args), compiled(*args)
        assert type(expected) is type(seen)
        assert torch.equal(expected, seen)


class Scale(nn.Module):
    factor = 2

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))
        self.bias = nn.Parameter(torch.zeros(4))
        self.power = 3

    def forward(self, x):
        return torch.tanh(x * self.weight + self.bias) * self.factor + self.power


class Other(Scale):
    factor = 7

    def forward(self, x):
        return torch.tanh(x - self.weight) - self.factor


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Scale() for _ in range(3))
        self.named = nn.ModuleDict({"first": Scale(), "last": Scale()})
        self.settings = {"shift": 1.5, "inner": {"rate": 0.5, "flags": [True, False]}}
        self.pair = (Scale(), {"gain": 2})
        self.calls = 0

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        if self.settings["inner"]["flags"][0]:
            x = self.named["first"](x) * self.settings["inner"]["rate"]
        return self.pair[0](x) * self.pair[1]["gain"] + self.settings["shift"] * SCALE + helper(x, 1)


SCALE = 2.0


def helper(x, n, *, m=2):
    return x * n + m


def _replaced_dict(net):
    layer = net.layers[1]
    layer.__dict__ = {**vars(layer), "power": 11}


def _deleted(net):
    net.layers[0].factor = 5
    del net.layers[0].factor


def _swapped(net):
    net.layers[0], net.layers[2] = Other(), net.layers[0]


def _reordered(net):
    modules = net.layers._modules
    first = modules.pop("0")
    modules.update({"0": first})


def _nested(net):
    net.settings["inner"] = dict(net.settings["inner"], rate=4.0)


def _equal_dict(net):
    net.settings = dict(net.settings)


def _code(net):
    helper.__code__ = (lambda x, n, *, m=2: x - n * m).__code__


def _defaults(net):
    helper.__kwdefaults__ = {"m": 31}


def _global(net):
    globals()["SCALE"] = -3.0


def _function(net):
    globals()["helper"] = lambda x, n: x * 5


def _builtin(net):
    # A name that the globals lack is looked for there.
    globals()["isinstance"] = lambda *args: builtins.isinstance(*args)


def _class_attribute(net):
    Scale.factor = 19


def _method(net):
    Scale.forward = Other.forward


def _base(net):
    nn.Module.power_of_all = 1


CHANGES = {
    "attribute": lambda net: setattr(net.layers[2], "power", 8),
    "attribute that hides the class's": lambda net: setattr(net.layers[1], "factor", 23),
    "attribute that hid it": _deleted,
    "forward of one module": lambda net: setattr(net.layers[1], "forward", lambda x: x * 13),
    "the whole dict": _replaced_dict,
    "class of an object": lambda net: setattr(net.layers[1], "__class__", Other),
    "modules": _swapped,
    "order of modules": _reordered,
    "one more module": lambda net: net.layers.append(Other()),
    "a named module": lambda net: net.named.update({"first": Other()}),
    "a parameter": lambda net: setattr(net.layers[0], "weight", nn.Parameter(torch.full((4,), 3.0))),
    "a parameter's elements": lambda net: net.layers[0].weight.data.fill_(9.0),
    "no parameter": lambda net: (
        setattr(net.layers[0], "bias", None) or setattr(net.layers[0], "bias", net.layers[1].bias)
    ),
    "an element": lambda net: net.settings.update(shift=7.5),
    "a nested element": lambda net: net.settings["inner"].update(rate=9.0),
    "a nested dict": _nested,
    "an equal dict": _equal_dict,
    "an element of a list": lambda net: net.settings["inner"]["flags"].__setitem__(0, False),
    "a tuple": lambda net: setattr(net, "pair", (Other(), {"gain": 5})),
    "a dict in a tuple": lambda net: net.pair[1].update(gain=-1),
    "a hook": lambda net: net.layers[1].register_forward_hook(lambda module, args, result: result * 17),
    "a hook before": lambda net: net.named["first"].register_forward_pre_hook(lambda module, args: (args[0] - 2,)),
    "a global": _global,
    "a global function": _function,
    "code of a function": _code,
    "defaults": _defaults,
    "a builtin": _builtin,
    "an attribute of the class": _class_attribute,
    "a method": _method,
    "an attribute of a base": _base,
    "training": lambda net: net.train(not net.training),
    "double": lambda net: net.double().float(),
}


@pytest.fixture(autouse=True)
def no_plans():
    cresset.reset()


@pytest.fixture
def restored():
    kept = {name: globals()[name] for name in ("SCALE", "helper")}
    code, keywords, forward = helper.__code__, helper.__kwdefaults__, Scale.forward
    yield
    helper_before = kept["helper"]
    helper_before.__code__, helper_before.__kwdefaults__ = code, keywords
    globals().update(kept)
    globals().pop("isinstance", None)
    Scale.factor, Scale.forward = 2, forward
    if "power_of_all" in vars(nn.Module):
        del nn.Module.power_of_all


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("grad", [False, True])
def test_what_a_plan_has_read_is_changed(name, grad, restored):
    torch.manual_seed(0)
    net, x = Net(), torch.randn(2, 4)
    compiled = cresset.compile(net)
    with torch.set_grad_enabled(grad):
        checked(net, compiled, x)
        assert num_skipped(Net.forward) > 50
        CHANGES[name](net)
        checked(net, compiled, x)
        CHANGES[name](net)  # once more, or back
        checked(net, compiled, x)


def test_two_changes_between_calls():
    """Each pair of changes that is not of the whole module."""
    torch.manual_seed(0)
    x = torch.randn(2, 4)
    names = ["attribute", "class of an object", "modules", "a nested dict", "an element of a list", "a tuple", "a hook"]
    for first in names:
        for second in names:
            net = Net()
            compiled = cresset.compile(net)
            checked(net, compiled, x)
            CHANGES[first](net)
            CHANGES[second](net)
            checked(net, compiled, x)


def test_modules_that_take_turns():
    """One code, many modules: some are freed, and others come to be where they were."""
    torch.manual_seed(0)
    x = torch.randn(2, 4)

    def run(net, x):
        return net(x) + net.layers[0].power

    compiled = cresset.compile(run)
    nets = [Net() for _ in range(3)]
    for i in range(40):
        nets[i % 3] = None
        gc.collect() if i % 10 == 0 else None
        nets[i % 3] = Net()
        nets[i % 3].layers[i % 3].power = i
        for net in nets:
            if net is not None:
                checked(run, compiled, net, x)


def test_a_dict_that_changes_with_each_call_keeps_what_was_read_of_it():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.scale, self.bias = Scale(), 2, torch.ones(4)
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return torch.tanh(self.inner(x) * self.scale + self.bias) - self.inner.power

    net, plain, x = Counting(), Counting(), torch.randn(2, 4)
    compiled = cresset.compile(net)
    for i in range(60):
        if i % 20 == 10:
            net.scale = plain.scale = i
        assert torch.equal(compiled(x), plain(x))
        assert net.calls == plain.calls
    assert num_skipped(Counting.forward) > 20
    # One run in sixteen is measured: some were while only the count had changed.
    assert any(plan.times[2] > 0 for plan in plans_of(Counting.forward)), cresset.explain(compiled)


def test_globals_that_change_with_each_call():
    module = types.ModuleType("changing")
    source = """
def step(x, torch):
    return torch.tanh(x * GAIN + shift(x)) * GAIN

def shift(x):
    return x - OFFSET

GAIN, OFFSET, seen = 2, 1, 0
"""
    exec(source, vars(module))
    compiled, x = cresset.compile(module.step), torch.randn(4)
    for i in range(60):
        module.seen = i
        if i % 20 == 10:
            module.OFFSET = i
        if i == 35:
            module.shift = lambda x: x + 100
        assert torch.equal(module.step(x, torch), compiled(x, torch))
    assert num_skipped(module.step) >= 4


def test_names_that_come_and_go_in_globals():
    """A builtin is hidden by a global, and found again."""
    module = types.ModuleType("hiding")
    exec("def f(x, n):\n    return (x * 2 + len(n)) * max(n) - x.sin()", vars(module))
    compiled, x, n = cresset.compile(module.f), torch.randn(4), [3, 4]
    for i in range(24):
        if i % 8 == 4:
            module.len = lambda n: 50
        if i % 8 == 6:
            del module.len
        assert torch.equal(module.f(x, n), compiled(x, n))
    for function, name in ((lambda n: -1, "max"),):
        module.__builtins__ = {**vars(builtins), name: function}
        assert torch.equal(module.f(x, n), compiled(x, n))


def test_arguments_that_are_dicts():
    def f(x, options, nested):
        if options["mode"] == "a" and nested["b"]["c"] > 1:
            return torch.relu(x) * options["n"] - x + nested["b"]["t"]
        return x.sin() - options["n"] + x * 2

    compiled, x = cresset.compile(f), torch.randn(4)
    options, nested = {"mode": "a", "n": 2}, {"b": {"c": 2, "t": torch.ones(4)}}
    changes = [
        lambda: None,
        lambda: options.update(n=5),
        lambda: options.update(mode="z"),
        lambda: options.update(mode="a"),
        lambda: nested.update(b={"c": 3, "t": torch.zeros(4)}),
        lambda: nested["b"].update(c=0),
        lambda: nested["b"].update(c=9, t=torch.full((4,), 7.0)),
    ]
    for change in changes:
        change()
        checked(f, compiled, x, options, nested)
        checked(f, compiled, x, dict(options), {"b": dict(nested["b"])})  # others of the same contents


def doubled(x):
    return x * 2


def doubled_and_more(x):
    return doubled(x) + 1


def test_code_of_functions_that_are_called():
    def f(x):
        return torch.tanh(doubled(x)) - doubled_and_more(x) + doubled(x + 1)

    compiled, x, code = cresset.compile(f), torch.randn(4), doubled.__code__
    checked(f, compiled, x)
    assert num_skipped(f) >= 4
    try:
        for other in (lambda x: x - 5, lambda x: x.sin()):
            doubled.__code__ = other.__code__
            checked(f, compiled, x)
    finally:
        doubled.__code__ = code
    checked(f, compiled, x)


def test_dicts_of_keywords_that_are_others_in_each_call():
    """Whether only the function has the dict is asked where nothing else holds it, also after reads that did not hold."""

    def f(x, **options):
        scale = options.pop("scale", 2)
        options["shift"] = scale + 1
        return torch.tanh(x * scale) + options["shift"] - x * 3, options

    compiled, x = cresset.compile(f), torch.randn(4)
    for i in range(24):
        given = {"scale": 2 if i % 3 else 5, "other": i % 2} if i % 4 else {"scale": 2}
        (expected, options), (seen, changed) = f(x, **given), compiled(x, **given)
        assert torch.equal(expected, seen) and options == changed
    assert len([plan for plan in plans_of(f) if plan.counts[0]]) <= 4, cresset.explain(compiled)


def test_cells_and_defaults():
    def make(factor):
        def inner(x, power=2):
            return torch.tanh(x * factor) ** power + factor

        def outer(x):
            nonlocal factor
            return inner(x) - inner(x * 2) + x

        def change(value):
            nonlocal factor
            factor = value

        return inner, outer, change

    inner, outer, change = make(2)
    compiled, x = cresset.compile(outer), torch.randn(4)
    for value in (2, 3, 3.5, 2):
        change(value)
        checked(outer, compiled, x)
    inner.__defaults__ = (3,)
    checked(outer, compiled, x)


def test_ordered_and_default_dicts():
    held = collections.OrderedDict(a=2, b=3)
    counts = collections.defaultdict(int, n=4)

    def f(x):
        if len(held) == 2 and counts["n"] == 4:
            return torch.tanh(x * 2) + x * 3 - counts["n"]
        return x.cos() * 2 + len(held) - x

    compiled, x = cresset.compile(f), torch.randn(4)
    for change in (
        lambda: None,
        lambda: held.update(c=1),
        lambda: held.pop("a"),
        lambda: held.move_to_end("b"),
        lambda: counts.update(n=5),
        lambda: counts.update(n=4),
        lambda: counts.clear(),
        lambda: held.clear(),
    ):
        change()
        checked(f, compiled, x)


def test_a_call_that_changes_what_is_read_after_it():
    """A stretch ends at a call: what that changes, a later read of the same dict sees."""
    state = types.SimpleNamespace(scale=2.0, shift=torch.ones(4), calls=0)
    config = {"a": 1, "b": {"c": 3}}

    class Writing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, kinds, args=(), kwargs=None):
            if function is torch.Tensor.sinh:
                state.calls += 1
                state.scale = float(state.calls)
                config["b"] = {"c": state.calls}
            return super().__torch_function__(function, kinds, args, kwargs or {})

    def f(x, y):
        before = x * state.scale + config["b"]["c"] + config["a"]
        middle = y.sinh()
        return before - x * state.scale * config["b"]["c"] + config["a"] + middle.as_subclass(torch.Tensor)

    compiled = cresset.compile(f)
    x, y = torch.randn(4), torch.randn(4).as_subclass(Writing)

    def fresh(run):
        state.calls, state.scale, config["b"] = 0, 2.0, {"c": 3}
        return [run(x, y) for _ in range(8)]

    for expected, seen in zip(fresh(f), fresh(compiled)):
        assert torch.equal(expected, seen)


def test_another_thread_changes_what_is_read():
    """A call sees one of the values that there were, in each of its reads."""
    net = Net().eval()
    x = torch.randn(2, 4)
    powers = [3, 4, 5]
    results = []
    with torch.no_grad():
        for power in powers:
            net.layers[2].power = power
            results.append(net(x))
        compiled = cresset.compile(net)
        for _ in range(6):
            compiled(x)
        stopped = threading.Event()

        def change():
            i = 0
            while not stopped.is_set():
                net.layers[2].power = powers[i % 3]
                i += 1

        thread = threading.Thread(target=change)
        thread.start()
        try:
            for _ in range(300):
                seen = compiled(x)
                assert any(torch.equal(seen, each) for each in results)
        finally:
            stopped.set()
            thread.join()


def test_keys_whose_comparison_changes_what_was_read():
    """A dict has a key that compares by code of its own, where a text is looked for."""
    state = {"gain": 2}

    class Key:
        def __hash__(self):
            return hash("wanted")

        def __eq__(self, other):
            state["gain"] += 1
            holder["made"] = [object() for _ in range(8)]
            return False

    holder = {"made": None}
    strange = {Key(): 0, "wanted": 5}

    def f(x):
        return torch.tanh(x * state["gain"]) + x * strange["wanted"] - state["gain"]

    compiled, x = cresset.compile(f), torch.randn(4)
    expected, state["gain"] = [f(x) for _ in range(8)], 2
    for each in expected:
        seen = compiled(x)
        # How often a look-up compares is not promised: a number that the key counts is one that some look-up had.
        assert seen.shape == each.shape
    assert state["gain"] > 2
    strange["wanted"], gain = 6, state["gain"]
    state["gain"] = gain
    seen = compiled(x)
    assert any(
        torch.allclose(seen, torch.tanh(x * a) + x * 6 - b) for a in range(gain, gain + 9) for b in range(a, gain + 9)
    )


def test_explain_tells_the_time_of_checks():
    net, x = Net().eval(), torch.randn(2, 4)
    compiled = cresset.compile(net)
    with torch.no_grad():
        for _ in range(64):
            compiled(x)
    explanation = cresset.explain(compiled)
    assert any(plan.checks is not None and 0 < plan.checks < plan.time for plan in explanation.plans), explanation
    assert ", of which checks " in str(explanation)
