"""Captured functions that use defaultdicts, keys that are no names, `id`, and torch.amp.GradScaler: compared with plain Python."""

import collections
import copy

import pytest
import torch

import cresset


def compared(f, make, calls, plans=None):
    """Calls a function plain and captured, each on objects of its own that `make` makes, and compares what comes out and
    what becomes of the objects. `calls`: what to call it with, after the objects. The report."""
    cresset.reset()
    compiled, plain, captured = cresset.compile(f), make(), make()
    for call in calls:
        results = []
        for function, objects in ((f, plain), (compiled, captured)):
            torch.manual_seed(0)
            try:
                results.append(function(*objects, *copy.deepcopy(call)))
            except Exception as error:  # compared below
                results.append((type(error), str(error)))
        assert same(*results), (call, results)
        assert same(plain, captured), call
    report = cresset.explain(compiled)
    if plans is not None:
        assert sum(plan.applied > 2 for plan in report.plans) == plans, report
    return report


def same(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b) and (a.grad is None) == (b.grad is None)
    if isinstance(a, dict):
        return list(map(str, a)) == list(map(str, b)) and all(map(same, a.values(), b.values()))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, torch.nn.Module):
        return same(list(a.parameters()), list(b.parameters()))
    return a == b or hasattr(a, "__dict__") or type(a) is object


def test_a_defaultdict_that_the_function_makes():
    def f(x, n):
        groups = collections.defaultdict(lambda: collections.defaultdict(list))
        for i in range(n):
            groups[x.device][x.dtype].append(torch.relu(x) * i)
        counts = collections.defaultdict(int)
        for i in range(n):
            counts[i % 2] += 1
        total = torch.zeros(())
        for by_dtype in groups.values():
            for rows in by_dtype.values():
                for row in rows:
                    total = total + row.sum()
        return total * counts[0] + counts[7], dict(counts)

    report = compared(f, tuple, [(torch.randn(3), n) for n in (3, 3, 3, 3, 3, 3, 4, 3)])
    assert report.plans[0].applied >= 4 and not report.python, report


def test_defaultdicts_of_tuples_and_texts():
    def f(x):
        found, names = collections.defaultdict(tuple), collections.defaultdict(str)
        for i in range(3):
            found["a" if i % 2 else "b"] += (x * i,)
        names["known"] = "x"
        return found["a"], found["b"][1] + 1, found["c"], names["known"], names["all"], len(found)

    report = compared(f, tuple, [(torch.randn(3),) for _ in range(5)])
    assert report.plans[0].applied >= 3 and not report.python, report


def test_a_defaultdict_that_is_returned():
    def f(x):
        found = collections.defaultdict(list)
        found["a"].append(torch.sin(x) + 1)
        found["b"] = torch.cos(x) * 2
        return found

    compiled, x = cresset.compile(f), torch.randn(3)
    for _ in range(6):
        found = compiled(x)
        assert type(found) is collections.defaultdict and found.default_factory is list
        assert list(found) == ["a", "b"] and torch.equal(found["a"][0], torch.sin(x) + 1)
    assert cresset.explain(compiled).plans[0].applied >= 3


class Counter:
    def __init__(self):
        self.counts = collections.defaultdict(int)
        self.rows = collections.defaultdict(list)


def test_a_defaultdict_that_is_there():
    def f(o, x, key):
        o.counts[key] += 1
        y = torch.relu(x) * o.counts[key]
        y = y + o.counts["other"]
        total = sum(o.counts.values())
        return y.sum() + total, list(o.counts), [value for value in o.counts.values()]

    compared(f, lambda: (Counter(),), [(torch.randn(3), "a") for _ in range(8)] + [(torch.randn(3), "b")] * 5)


def test_missing_elements_are_made_once_per_call():
    def f(o, x, clear):
        if clear:
            o.counts.clear()
        o.counts["n"] += 2
        for value in o.counts.values():
            x = torch.sin(x) * value
        return x + 1

    calls = [(torch.randn(3), bool(i % 3 == 0)) for i in range(14)]
    compared(f, lambda: (Counter(),), calls)


def test_a_factory_in_python():
    made = []

    def fresh():
        return {"stage": 0, "found": {}}

    class Holder:
        def __init__(self):
            self.states = collections.defaultdict(fresh)

    def f(o, p, x):
        state = o.states[id(p)]
        if state["stage"] == 1:
            raise RuntimeError("twice")
        state["found"] = {x.device: torch.relu(x).sum() + 1}
        state["stage"] = 1
        again = o.states[id(p)]
        total = sum(v.item() for s in o.states.values() for v in s["found"].values())
        o.states = collections.defaultdict(fresh)
        return again is state, total, made

    report = compared(f, lambda: (Holder(), Holder()), [(torch.randn(3),) for _ in range(8)], plans=1)
    assert report.plans[0].applied >= 5, report


def test_ids_of_other_objects():
    def f(a, b, x):
        known = {id(a): 1.0}
        y = torch.relu(x) + 1
        if id(b) in known:
            y = torch.sin(y)
        return y * 2 + (id(a) == id(b))

    compiled, x = cresset.compile(f), torch.randn(3)
    one, other = Counter(), Counter()
    for a, b in [(one, other)] * 4 + [(one, one)] * 4 + [(other, one), (other, other), (Counter(), Counter())]:
        assert torch.equal(compiled(a, b, x), f(a, b, x))


def test_ids_of_what_the_function_makes_are_the_objects():
    def f(x):
        y = torch.relu(x) + 1
        z = torch.sin(y) * 2
        return y, id(y), z, id(z)

    compiled = cresset.compile(f)
    for _ in range(6):
        y, of_y, z, of_z = compiled(torch.ones(2))
        assert id(y) == of_y and id(z) == of_z


def test_a_key_that_is_missing_where_there_is_no_factory():
    def f(d, x, key):
        try:
            scale = d[key]
        except KeyError:
            scale = 3
        return torch.relu(x) * scale + 1

    def make():
        return (collections.defaultdict(None, a=2),)

    compared(f, make, [(torch.randn(3), key) for key in "aaaabbbbab"])


def make_training(init_scale=256.0, layers=2, optimizer=torch.optim.AdamW):
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(torch.nn.Linear(6, 6) for _ in range(layers)))
    scaler = torch.amp.GradScaler("cpu", init_scale=init_scale, growth_interval=3)
    return model, optimizer(model.parameters(), lr=1e-2), scaler


def train(model, optimizer, scaler, x, clips=True):
    optimizer.zero_grad()
    loss = model(x).square().mean()
    scaler.scale(loss).backward()
    if clips:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    scaler.step(optimizer)
    scaler.update()
    return loss.detach(), scaler.get_scale()


@pytest.mark.parametrize("optimizer", [torch.optim.AdamW, torch.optim.SGD])
@pytest.mark.parametrize("clips", [True, False])
@pytest.mark.parametrize("infinite", [(45, 50), (9, 12)])
def test_grad_scaler(optimizer, clips, infinite):
    data = torch.randn(60, 4, 6)
    plain, captured = make_training(optimizer=optimizer), make_training(optimizer=optimizer)
    cresset.reset()
    compiled = cresset.compile(lambda *a: train(*a))
    for i, x in enumerate(data):
        x = x * float("inf") if i in infinite else x
        a, b = train(*plain, x, clips), compiled(*captured, x, clips)
        assert torch.equal(a[0], b[0]) or i in infinite
        assert a[1] == b[1], i
        assert same(plain[0], captured[0])
        assert plain[2].state_dict() == captured[2].state_dict()
    report = cresset.explain(compiled)
    if infinite[0] > 40:  # seldom: a plan of its own
        assert any(plan.applied >= 50 for plan in report.plans), report


def test_grad_scaler_is_one_plan():
    plain, captured = make_training(), make_training()
    cresset.reset()
    compiled = cresset.compile(train)
    for x in torch.randn(20, 4, 6):
        assert train(*plain, x)[1] == compiled(*captured, x)[1]
        assert same(plain[0], captured[0])
    report = cresset.explain(compiled)
    assert [plan.applied > 10 for plan in report.plans if plan.applied > 2] == [True], report
    assert not any(runs.count for runs in report.runs), report


def test_grad_scaler_that_is_asked_twice():
    def f(model, optimizer, scaler, x, twice):
        optimizer.zero_grad()
        scaler.scale(model(x).square().mean()).backward()
        scaler.unscale_(optimizer)
        if twice:
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()

    plain, captured = make_training(), make_training()
    compiled = cresset.compile(f)
    for i, x in enumerate(torch.randn(12, 4, 6)):
        for function, objects in ((f, plain), (compiled, captured)):
            if i == 8:
                with pytest.raises(RuntimeError, match="already been called on this optimizer"):
                    function(*objects, x, True)
                objects[2].update()
            else:
                function(*objects, x, False)
        assert same(plain[0], captured[0]) and plain[2].state_dict() == captured[2].state_dict()


def test_grad_scaler_of_two_optimizers():
    def make():
        torch.manual_seed(0)
        models = [torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)]
        optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in models]
        return models, optimizers, torch.amp.GradScaler("cpu", init_scale=64.0)

    def f(models, optimizers, scaler, x):
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss = models[1](torch.relu(models[0](x))).square().mean()
        scaler.scale(loss).backward()
        for optimizer in optimizers:
            scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    plain, captured = make(), make()
    compiled = cresset.compile(f)
    for i, x in enumerate(torch.randn(14, 3, 4)):
        x = x * float("nan") if i == 9 else x
        a, b = f(*plain, x), compiled(*captured, x)
        assert torch.equal(a, b) or i == 9
        assert same(plain[0], captured[0]) and plain[2].state_dict() == captured[2].state_dict()


def test_gradients_that_are_added_to_with_a_scaler():
    def f(model, optimizer, scaler, x, steps):
        loss = model(x).square().mean()
        scaler.scale(loss).backward()
        if steps:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        return loss.detach()

    plain, captured = make_training(), make_training()
    compiled = cresset.compile(f)
    for i, x in enumerate(torch.randn(24, 4, 6)):
        assert torch.equal(f(*plain, x, i % 3 == 2), compiled(*captured, x, i % 3 == 2))
        assert same(plain[0], captured[0])
