"""Calls of functions that cresset.compile captured, beside eager PyTorch and torch.compile(backend="eager").

With `--networks [part of a name]`: the networks of tests/python/capture_networks.py in evaluation, those of packages if they are
installed. With `--programs [part of a name]`: the programs of tests/python/capture_user_programs.py.

One thread; rounds of all engines alternate. Printed: the median processor time of an eager call in microseconds, and what
the others take of it (median over rounds).
"""

import argparse
import collections
import functools
import itertools
import statistics
import sys
import time
import warnings
from pathlib import Path

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import cresset

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "python"))

WARM_UP = 200  # calls; networks of many levels record for up to 120


def identity(x):
    return x


def nested(x, more):
    return x + 1, more["a"][0], more["b"]


def add(x):
    return x + 1


def total(tensors):
    result = 0.0
    for values in tensors.values():
        for value in values:
            result = result + value
    return result


def chain(x, y):
    a = torch.sigmoid(x * y) + 0.5
    return torch.relu(torch.tanh(a - y) * x) / (a.abs() + 1)


def differentiated(x, y):
    loss = chain(x, y).sum()
    loss.backward()
    return loss


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        for i in range(16):
            setattr(self, f"layer{i}", nn.Linear(32, 32))

    def forward(self, x):
        x = self.layer3(self.layer2(self.layer1(self.layer0(x))))
        x = self.layer7(self.layer6(self.layer5(self.layer4(x))))
        x = self.layer11(self.layer10(self.layer9(self.layer8(x))))
        return self.layer15(self.layer14(self.layer13(self.layer12(x))))


def programs():
    x = torch.randn(1, 32)
    yield "identity", identity, (x,)
    yield "x + 1", add, (x,)
    yield "nested arguments", nested, (x, {"a": [x, x], "b": (x, 3)})
    yield "dict of lists of 16 tensors", total, ({k: [torch.randn(32) for _ in range(4)] for k in "abcd"},)
    yield "10 operators on elements", chain, (torch.randn(1024), torch.randn(1024))
    x, y = (torch.randn(1024, requires_grad=True) for _ in range(2))
    yield "10 operators with their gradients, training", differentiated, (x, y)
    x = torch.randn(1, 32)
    yield "16 layers", Mlp(), (x,)
    yield "16 layers in nn.Sequential", nn.Sequential(*[nn.Linear(32, 32) for _ in range(16)]), (x,)
    layer = nn.TransformerEncoderLayer(32, 4, 64, norm_first=True, batch_first=True)
    yield "transformer layer, training", layer, (torch.randn(2, 5, 32),)

    def under_autocast(x):
        with torch.autocast("cpu", torch.bfloat16):
            return layer(x)

    yield "transformer layer, training, in autocast", under_autocast, (torch.randn(2, 5, 32),)
    yield from derivatives()
    yield from writes()
    yield from loops()


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, g):
        x, s = ctx.saved_tensors
        return g * (s + x * s * (1 - s))


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, levels):
        ctx.levels = levels
        return torch.round(x * levels) / levels

    @staticmethod
    def backward(ctx, g):
        return g, None


class WithFunctions(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(16, 16) for _ in range(4)])

    def forward(self, x):
        for layer in self.layers:
            x = Swish.apply(layer(x) * 1.5 + 0.1)
            x = Rounded.apply(x, 16.0) + x.tanh() * 0.1 + x.sin()
        return x


def derivatives():
    """Functions that differentiate."""
    net = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 1))
    parameters = {name: p.detach() for name, p in net.named_parameters()}
    weight = torch.randn(16, 16)

    def energy(x):
        x = x.detach().requires_grad_(True)
        found = net(x).sum()
        return found, -torch.autograd.grad(found, x)[0]

    def loss_on_forces(x):
        x = x.detach().requires_grad_(True)
        found = net(x).sum()
        forces = torch.autograd.grad(found, x, create_graph=True)[0]
        (found + (forces * forces).sum()).backward()

    def call(x):
        return torch.func.functional_call(net, parameters, x)

    def step(x):
        gradients = torch.func.grad(lambda p: torch.func.functional_call(net, p, x).pow(2).mean())(parameters)
        return {name: p - 0.1 * gradients[name] for name, p in parameters.items()}

    x = torch.randn(32, 16)

    def of_each_sample(x):
        one = torch.func.grad(lambda p, row: torch.func.functional_call(net, p, row.unsqueeze(0)).pow(2).mean())
        return torch.vmap(one, in_dims=(None, 0))(parameters, x)

    def jacobian(x):
        return torch.vmap(torch.func.jacrev(lambda row: torch.func.functional_call(net, parameters, row)))(x)

    def curvature(x):
        return torch.func.hessian(lambda row: torch.tanh(row @ weight).pow(2).sum())(x[0])

    def tangents(x):
        return torch.func.jvp(lambda v: torch.func.functional_call(net, parameters, v), (x,), (torch.ones_like(x),))

    def pullback(x):
        found, back = torch.func.vjp(lambda v: torch.func.functional_call(net, parameters, v), x)
        return back(found)[0]

    def mapped(x, y):
        return torch.vmap(lambda a, b: torch.tanh(a @ b) * a.sum() + b)(x, y)

    def checkpointed(x):
        for _ in range(2):
            x = checkpoint(net[:3], x * 2 + 1, use_reentrant=False)[:, :16]
        (x * 3).relu().sum().backward()

    first, second = net[:3], nn.Sequential(nn.Linear(32, 16), nn.Dropout(0.1), nn.Tanh())

    def checkpointed_modules(x):
        for _ in range(2):
            x = checkpoint(second, checkpoint(first, x * 2 + 1, use_reentrant=False), use_reentrant=False)
        (x * 3).relu().sum().backward()

    yield "an energy and its forces, training", energy, (x,)
    yield "a loss on forces, training", loss_on_forces, (x,)
    yield "functional_call", call, (x,)
    yield "torch.func.grad of a functional_call", step, (x,)
    yield "gradients of each of 32 samples", of_each_sample, (x,)
    yield "jacobians of each of 32 samples", jacobian, (x,)
    yield "a hessian", curvature, (x,)
    yield "jvp", tangents, (x,)
    yield "vjp", pullback, (x,)
    yield "checkpoints, training", checkpointed, (x,)
    yield "checkpoints of modules, training", checkpointed_modules, (x,)
    functions = WithFunctions()
    yield "8 calls of autograd.Functions", functions, (x,)
    yield "8 calls of autograd.Functions, forward of training", functions, (x,)
    yield "8 calls of autograd.Functions, training", lambda x: functions(x).sum().backward(), (x,)
    yield "vmap of 5 operators", mapped, (x, torch.randn(32, 16))


def writes():
    """Functions that write to tensors that they were given."""
    parameters = [nn.Parameter(torch.randn(16, 16)) for _ in range(12)]
    gradients = [torch.randn(16, 16) for _ in range(12)]

    def step(parameters, gradients, rate):
        with torch.no_grad():
            for p, g in zip(parameters, gradients):
                p.add_(g, alpha=-rate)

    def average(slow, fast):
        with torch.no_grad():
            for p, q in zip(slow, fast):
                p.mul_(0.99).add_(q, alpha=0.01)

    def decode(k, v, keys, values, place):
        keys[:, place] = k
        values[:, place] = v
        weights = torch.softmax((keys * k.unsqueeze(1)).sum(-1), -1)
        return (weights.unsqueeze(-1) * values).sum(1)

    def copied(k, v, keys, values, place):
        keys.index_copy_(1, place, k.unsqueeze(1))
        values.index_copy_(1, place, v.unsqueeze(1))
        weights = torch.softmax((keys * k.unsqueeze(1)).sum(-1), -1)
        return (weights.unsqueeze(-1) * values).sum(1)

    def normalized(x, mean, var, weight, bias):
        found, spread = x.mean(0), x.var(0)
        with torch.no_grad():
            mean.mul_(0.9).add_(found, alpha=0.1)
            var.mul_(0.9).add_(spread, alpha=0.1)
        return (x - found) / torch.sqrt(spread + 1e-5) * weight + bias

    yield "a step of 12 parameters", step, (parameters, gradients, 1e-6)
    yield "an average of 12 parameters", average, (parameters, gradients)
    k, v = torch.randn(2, 64), torch.randn(2, 64)
    for size in (32, 512):
        caches = torch.randn(2, size, 64), torch.randn(2, size, 64)
        yield f"caches of {size} keys, elements", decode, (k, v, *caches, 3)
        yield f"caches of {size} keys, index_copy_", copied, (k, v, *caches, torch.tensor([3]))
    weight, bias = torch.randn(16, requires_grad=True), torch.randn(16, requires_grad=True)
    statistics = torch.zeros(16), torch.ones(16)
    yield "batch norm by hand, training", normalized, (torch.randn(8, 16), *statistics, weight, bias)
    for kind in (torch.optim.SGD, torch.optim.Adam):
        for p, g in zip(parameters, gradients, strict=True):
            p.grad = g
        for foreach in (False, True):
            optimizer = kind(parameters, lr=1e-6, foreach=foreach)
            yield f"torch.optim.{kind.__name__}, foreach={foreach}", lambda step=optimizer.step: step(), ()


@functools.lru_cache(64)
def kept(n):
    return torch.arange(float(n)), n * 0.5


class Held:
    """An object with containers that programs change."""

    def __init__(self):
        self.history = [torch.randn(16) for _ in range(8)]
        self.queue = collections.deque([torch.randn(16) for _ in range(8)], maxlen=8)
        self.cache = {"a": torch.randn(16), "b": torch.randn(16)}


def changes():
    """Functions that change lists, deques and dicts that are there, call functions that keep results, or have backward hooks."""

    def history(held, x):
        held.history.append(torch.tanh(x * 2) + 1)
        if len(held.history) > 8:
            held.history.pop(0)
        return torch.stack(held.history).mean(0) * x

    def recent(held, x):
        held.queue.append(torch.tanh(x * 2) + 1)
        total = x
        for each in held.queue:
            total = total * 0.5 + each
        return total

    def elements(held, x):
        held.history[0] = torch.tanh(x * held.history[1])
        held.history[1:3] = [x + held.history[0], torch.sin(x)]
        held.history[-1] = held.history[1] * held.history[2]
        return held.history[-1] + held.history[0]

    def cached(held, x):
        held.cache["c"] = torch.tanh(x * held.cache["a"])
        y = held.cache.pop("c") + x
        held.cache["a"] = torch.sin(y)
        return y * held.cache["a"] + held.cache["b"]

    def of_results(held, x):
        return torch.tanh(x * kept(16)[0] + kept(4)[1]) * kept(2)[1] + 1

    net = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 16))
    for layer in (net[0], net[2]):
        layer.register_full_backward_hook(lambda module, inputs, outputs: None)

    def with_hooks(held, x):
        return (torch.sin(net(x)) * x + 1).square().mean()

    def of_tensors(held, x):
        h = net[4].weight * x
        h.register_hook(lambda gradient: gradient * 2)
        return (torch.tanh(h) * x + 1).square().mean()

    x = torch.randn(16)
    for function in (history, recent, elements, cached, of_results):
        yield function.__name__.replace("_", " "), function, (Held(), x)
    yield "training, modules with hooks", with_hooks, (Held(), torch.randn(4, 16, requires_grad=True))
    yield "training, tensors with hooks", of_tensors, (Held(), x)


def lbfgs(count=110):
    """What the calls of a step of LBFGS take of eager's, by how many were before."""
    for search, history, steps in ((None, 10, 4), (None, 100, 20), ("strong_wolfe", 10, 4)):
        cresset.reset()
        found = []
        for is_compiled in (False, True, False):
            torch.manual_seed(0)
            net = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
            options = {
                "max_iter": steps,
                "history_size": history,
                "line_search_fn": search,
                "lr": 1 if search else 0.05,
            }
            optimizer = torch.optim.LBFGS(net.parameters(), tolerance_change=0, tolerance_grad=0, **options)
            x, y = torch.randn(256, 16), torch.randn(256, 1)

            def step(net, optimizer, x, y):
                def closure():
                    optimizer.zero_grad()
                    loss = nn.functional.mse_loss(net(x), y)
                    loss.backward()
                    return loss

                return optimizer.step(closure)

            run = cresset.compile(step) if is_compiled else step
            found.append([time_of(run, (net, optimizer, x, y), 1) for _ in range(count)])
        eager, own, again = found
        parts = []
        for first, last in ((0, 30), (30, 50), (50, 80), (80, count)):
            of = (sum(eager[first:last]) + sum(again[first:last])) / 2
            parts.append(f"calls {first} to {last} {sum(own[first:last]) / of:.2f}")
        each = (sum(eager) + sum(again)) / 2 / count
        print(
            f"LBFGS, {search}, {history} of history, {steps} steps: eager {each * 1e3:.1f} ms; of it: {', '.join(parts)}",
            flush=True,
        )


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, norm_first=True, batch_first=True)
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        return self.head(self.layer(x).mean(1))


def loops():
    """Bodies of training loops, each one function."""
    from capture_user_programs import training  # noqa: PLC0415

    mlp = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    first = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU())
    convolutions = nn.Sequential(*first, nn.Flatten(), nn.Linear(8 * 144, 10))
    for title, net, x in (
        ("an MLP", mlp, torch.randn(32, 32)),
        ("a small convolutional net", convolutions, torch.randn(4, 3, 16, 16)),
        ("a transformer layer", Encoder(), torch.randn(4, 8, 32)),
    ):
        for kind in (torch.optim.SGD, torch.optim.Adam):
            optimizer = kind(net.parameters(), lr=1e-4)
            train = training(net, optimizer, lambda x, y, net=net: nn.functional.cross_entropy(net(x), y))
            yield f"training of {title}, {kind.__name__}", train, (x, torch.randint(0, 10, (len(x),)))
    yield from programs_of_users(USERS_LOOPS)


#: Of tests/python/capture_user_programs.py those with what real loops have besides.
USERS_LOOPS = (
    "clip_grad_norm", "scheduled", "averaged", "accumulating", "accumulating_large_gradients", "gan", "evaluation_loop", "scaled",
    "scaler_with_clipping", "wgan_with_penalty", "physics_informed", "maml_along_the_tape",
)  # fmt: skip


def programs_of_users(names=None, part=""):
    """The programs of tests/python/capture_user_programs.py, which are called with the arguments of their first call."""
    from capture_user_programs import PROGRAMS  # noqa: PLC0415

    for name in names or PROGRAMS:
        if part in name:
            function, _, arguments = PROGRAMS[name]()
            yield f"training, {name}", function, arguments(0)


def networks(part):
    from capture_networks import NETWORKS  # noqa: PLC0415

    for name, make in NETWORKS.items():
        if part not in name:
            continue
        try:
            module, inputs_of = make()
        except ImportError as error:
            print(f"{name}: {error}")
            continue
        yield name, module.eval(), inputs_of(3)


def time_of(function, arguments, calls):
    start = time.thread_time()  # what other programs of a busy machine take is no part of it
    for _ in range(calls):
        function(*arguments)
    return (time.thread_time() - start) / calls


def first_steps(chosen, count=40):
    """What the first calls cost until they return, and then in the background, where kernels are compiled."""
    for name, function, arguments in chosen:
        for _ in range(3):
            function(*arguments)
        eager = time_of(function, arguments, count) * count
        cresset.reset()
        compiled = cresset.compile(function)
        start = time.perf_counter()
        for _ in range(count):
            compiled(*arguments)
        first = time.perf_counter()
        cresset.wait_for_compilation()
        waited, first = time.perf_counter() - first, first - start
        codes = cresset._capture._known_codes()
        recorded = sum(cresset._frames.history_of(code, compiled.options)[2] for code in codes) / 1e9
        later = time_of(compiled, arguments, count) * count
        print(
            f"{name}: the first {count} calls {first:.2f} s, of which recording and plans {recorded:.2f} s, waiting for kernels "
            f"{waited:.2f} s; the next {count} calls {later:.3f} s; eager {eager:.3f} s",
            flush=True,
        )


FIRST = 8  # calls, after which plans and graphs are made


def first_calls():
    """What the first calls cost the thread that calls, what plans cost by call in their graphs, and whether a new size makes one."""
    torch.manual_seed(0)
    sizes = (3, 5)
    layers = nn.Sequential(*[nn.Linear(32, 32) for _ in range(16)])
    encoder = nn.TransformerEncoderLayer(32, 4, 64, norm_first=True, batch_first=True, dropout=0.0)
    chosen = [
        ("10 operators", chain, [(torch.randn(n, 256), torch.randn(n, 256)) for n in sizes]),
        ("16 layers", Mlp(), [(torch.randn(n, 32),) for n in sizes]),
        ("16 layers in nn.Sequential", layers, [(torch.randn(n, 32),) for n in sizes]),
        ("a transformer layer", encoder, [(torch.randn(2, n, 32),) for n in sizes]),
    ]

    def run(function, arguments, grad):
        result = function(*arguments)
        if grad:
            result.sum().backward()

    def other(x):
        return (torch.relu(x.sin() * 2 + 1) @ x).tanh()

    warm = cresset.compile(other)  # what a process does once
    for grad in (True, False) * FIRST:
        with torch.set_grad_enabled(grad):
            run(warm, (torch.ones(3, 3, requires_grad=grad),), grad)
    for grad, (name, function, arguments) in itertools.product((False, True), chosen):
        cresset.reset()
        first, second = arguments
        if grad and not isinstance(function, nn.Module):
            first, second = ([x.requires_grad_() for x in given] for given in arguments)
        with torch.set_grad_enabled(grad):
            eager = statistics.median(time_of(run, (function, first, grad), 1) for _ in range(30))
            compiled = cresset.compile(function)
            times = [time_of(run, (compiled, first, grad), 1) for _ in range(FIRST)]
            plans = cresset.explain(compiled).plans
            nodes = sum(plan.graph_calls for plan in plans)
            for _ in range(FIRST):
                run(compiled, second, grad)
        made = len(cresset.explain(compiled).plans) - len(plans)
        shown = ", ".join(f"{each * 1e3:.2f}" for each in times[:4])
        each = (sum(times[1:]) - (FIRST - 1) * eager) / nodes if nodes else float("nan")
        print(
            f"{name}, {'with' if grad else 'without'} gradients: eager {eager * 1e3:.2f} ms; calls {shown}; goal of the first "
            f"{eager * 1.5e3 + 2:.2f}; {nodes} nodes, {each * 1e3:.2f} ms each after it; plans of a new size {made}",
            flush=True,
        )


SETTINGS = {"mode": "relu", "scale": 2.0}


def configured(x, options):
    if options["on"] and SETTINGS["mode"] == "relu" and options["n"] == 3:
        return torch.relu(x)
    return x


def without_work(gm, _):
    """A backend whose graphs return what they once returned: what is left of a call is the engine's own."""
    kept = []

    def run(*inputs):
        if not kept:
            with torch.no_grad():
                kept.append(tuple(gm(*inputs)))
        return kept[0]

    return run


def checks(rounds, calls=1000):
    """What calls cost besides their graphs, and the checks of plans alone."""
    x = torch.randn(1, 32)
    layer = nn.TransformerEncoderLayer(32, 4, 64, norm_first=True, batch_first=True).eval()
    chosen = [
        ("a function of settings", configured, (x, {"on": True, "n": 3})),
        ("16 layers", Mlp(), (x,)),
        ("16 layers in nn.Sequential", nn.Sequential(*[nn.Linear(32, 32) for _ in range(16)]), (x,)),
        ("a transformer layer", layer, (torch.randn(2, 5, 32),)),
    ]
    for name, function, arguments in chosen:
        cresset.reset()  # plans of functions of one code
        engines = {
            "cresset": cresset.compile(function, backend=without_work),
            "torch.compile": torch.compile(function, backend=without_work),
        }
        with torch.no_grad():
            for run in engines.values():
                for _ in range(WARM_UP):
                    run(*arguments)
            times = {engine: [] for engine in engines}
            for _ in range(rounds):
                for engine, run in engines.items():
                    times[engine].append(time_of(run, arguments, calls))
        own, peer = (min(each) * 1e6 for each in times.values())
        found = [plan.checks for plan in cresset.explain(engines["cresset"]).plans if plan.applied > WARM_UP]
        shown = " and ".join("unknown" if each is None else f"{each:.0f} ns" for each in found)
        print(
            f"{name}: {own:.2f} us, {own / peer:.2f} of torch.compile's {peer:.2f}; checks of plans: {shown}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--no-peer", action="store_true", help="leave out torch.compile")
    parser.add_argument("--derivatives", action="store_true", help="only functions that differentiate")
    parser.add_argument("--writes", action="store_true", help="only functions that write to what they were given")
    parser.add_argument("--changes", action="store_true", help="only functions that change containers, or have hooks")
    parser.add_argument("--lbfgs", action="store_true", help="calls of a step of LBFGS, from the first ones on")
    parser.add_argument("--loops", action="store_true", help="only bodies of training loops")
    parser.add_argument("--only", default="", metavar="PART", help="only programs with this in their names")
    parser.add_argument("--networks", nargs="?", const="", metavar="PART", help="networks instead of small programs")
    parser.add_argument("--programs", nargs="?", const="", metavar="PART", help="programs of users instead")
    parser.add_argument("--first-steps", action="store_true", help="what the first 40 calls cost")
    parser.add_argument("--first-calls", action="store_true", help="what each of the first calls costs")
    parser.add_argument("--checks", action="store_true", help="what calls cost besides their graphs")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    chosen = programs() if options.networks is None else networks(options.networks)
    chosen = derivatives() if options.derivatives else writes() if options.writes else chosen
    chosen = loops() if options.loops else changes() if options.changes else chosen
    if options.lbfgs:
        lbfgs()
        return
    if options.first_calls:
        first_calls()
        return
    if options.checks:
        checks(options.rounds)
        return
    chosen = chosen if options.programs is None else programs_of_users(part=options.programs)
    chosen = (each for each in chosen if options.only in each[0])
    if options.first_steps:
        first_steps(chosen)
        return
    for name, function, arguments in chosen:
        cresset.reset()  # plans of functions of one code
        engines = {"eager": function, "cresset": cresset.compile(function)}
        if not options.no_peer:
            engines["torch.compile"] = torch.compile(function, backend="eager")
        grad = "training" in name
        with torch.set_grad_enabled(grad):
            for engine in engines.values():
                for _ in range(WARM_UP):
                    engine(*arguments)
            cresset.wait_for_compilation()
            calls = max(1, int(0.005 / time_of(function, arguments, 10)))
            times = {engine: [] for engine in engines}
            for _ in range(options.rounds):
                for engine, run in engines.items():
                    times[engine].append(time_of(run, arguments, calls))
        eager = times.pop("eager")
        ratios = [
            f"{engine} {statistics.median(t / e for t, e in zip(of, eager, strict=True)):.2f}"
            for engine, of in times.items()
        ]
        print(f"{name}: eager {statistics.median(eager) * 1e6:.1f} us; of it: {', '.join(ratios)}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
