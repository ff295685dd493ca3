"""Many programs, in a worker process that may crash, hang or run out of memory without harm.

The parent reads one message per stage, so it knows which engine had which program when a worker died. A crash of
torch.jit is its own affair and only counted; one of Cresset is a difference.
"""

import argparse
import concurrent.futures
import contextlib
import faulthandler
import functools
import gc
import multiprocessing
import os
import pickle
import re
import resource
import select
import signal
import struct
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import seeding  # noqa: F401
import torch

import cresset

from . import graph_execution, programs, tensor_comparison, tensor_execution, tensor_programs
from .comparison import core, difference
from .execution import ENGINES, Cresset, TorchJit, execute
from .shrink import shrink

TIMEOUT = 8  # seconds that one engine may take for one program
MEMORY = 12 << 30


def _send(fd, message):
    data = pickle.dumps(message)
    os.write(fd, struct.pack("<I", len(data)))
    while data:
        data = data[os.write(fd, data) :]


class Messages:
    """Length-prefixed pickles from a pipe; None at its end, TimeoutError if nothing comes."""

    def __init__(self, fd):
        self.fd = fd

    def _read(self, size, seconds):
        data = b""
        while len(data) < size:
            if not select.select([self.fd], [], [], seconds)[0]:
                raise TimeoutError
            piece = os.read(self.fd, size - len(data))
            if not piece:
                return None
            data += piece
        return data

    def next(self, seconds):
        head = self._read(4, seconds)
        body = head and self._read(struct.unpack("<I", head)[0], seconds)
        return pickle.loads(body) if body else None


def _limit_resources():
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _in_child(work):
    """Runs work(send) in a forked process; returns its messages and its pid."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(reading)
            faulthandler.disable()
            _limit_resources()
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # warnings of both engines
            work(lambda message: _send(writing, message))
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    return Messages(reading), pid


def _end(messages, pid):
    os.close(messages.fd)
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return os.waitpid(pid, 0)[1]


def check(program, send=lambda message: None):
    """Runs a program by both engines; the difference in words, or None, and how its calls ended."""
    send(("stage", TorchJit.name))
    theirs = execute(TorchJit, program)
    send(("stage", Cresset.name))
    mine = execute(Cresset, program)
    return difference(program, theirs, mine), [o.kind for o in theirs]


@dataclass
class Profile:
    """A kind of programs, and what is compared."""

    generate: Callable  # the program of a seed
    #: Of (program, send): the difference in words, or None, and what to count: how its calls ended, or figures.
    check: Callable
    family: Callable  # what must stay the same while a failure shrinks: how it differs, not the values
    timeout: float = TIMEOUT  # that one engine may take; programs that always end may wait for a busy machine
    per_worker: int = 400  # programs until a fresh worker: torch.jit keeps every class for the life of the process
    prepare: Callable = lambda: None  # before workers are forked


def check_safely(program, profile=None):
    """check() in a process of its own; a crash or hang of Cresset is a difference too."""
    profile = profile or PROGRAMS

    def work(send):
        send(("done", *profile.check(program, send)))

    messages, pid = _in_child(work)
    stage = None
    try:
        while True:
            message = messages.next(profile.timeout)
            if message is None:
                return f"{stage} crashed" if stage == Cresset.name else None
            if message[0] == "done":
                return message[1]
            stage = message[1]
    except TimeoutError:
        return f"{stage} did not end" if stage == Cresset.name else None
    finally:
        _end(messages, pid)


def report(seed, what, program):
    """A failure as text: what differs, the small program, its calls, and both results."""
    lines = [f"seed {seed}: {what}", "", str(program).rstrip(), ""]
    lines += [f"# call: {call}" for call in program.calls]
    return "\n".join(lines) + "\n"


def run(first, count, on_failure, on_progress=lambda done, kinds: None, shrinking=True, profile=None):
    """Checks the programs of the seeds first … first + count - 1."""
    kinds = Counter()
    profile = profile or PROGRAMS
    profile.prepare()
    gc.freeze()  # what is there already is none of the workers' garbage
    for start in range(first, first + count, profile.per_worker):
        end = min(first + count, start + profile.per_worker)
        failure = functools.partial(_fail, profile=profile, on_failure=on_failure, shrinking=shrinking)
        _run_some(start, end, profile, kinds, failure, lambda seed: on_progress(seed - first, kinds))
    return kinds


def _run_part(first, count, what):
    reports = {}

    def failed(seed, *rest):
        reports[seed] = report(seed, *rest)

    return run(first, count, failed, profile=PROFILES[what]), reports


@contextlib.contextmanager
def parts(what, count, number):
    """Futures of so many parts of a campaign from seed 0: how calls ended, or figures, and a report for each seed that
    failed. Workers are forked by fresh processes: neither torch.jit's threads nor autograd's survive os.fork()."""
    size = count // number
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        yield [pool.submit(_run_part, part * size, size, what) for part in range(number)]


def _run_some(seed, end, profile, kinds, failure, on_progress):
    while seed < end:

        def work(send, seeds=range(seed, end)):
            for number in seeds:
                send(("begin", number))
                try:
                    send(("done", *profile.check(profile.generate(number), send)))
                except Exception:  # noqa: BLE001  (else the program would only be missing)
                    send(("done", f"the check itself failed: {traceback.format_exc()}", []))

        messages, pid = _in_child(work)
        stage = "begin"
        problem = None
        try:
            while seed < end:
                message = messages.next(profile.timeout)
                if message is None:
                    problem = f"{stage} crashed"
                    break
                if message[0] == "stage":
                    stage = message[1]
                elif message[0] == "done":
                    _, found, ended = message
                    kinds.update(ended)
                    if found:
                        failure(seed, found)
                    seed += 1
                    on_progress(seed)
        except TimeoutError:
            problem = f"{stage} did not end"
        status = _end(messages, pid)
        if problem:
            if stage == Cresset.name:
                if os.WIFSIGNALED(status):
                    problem += f" (signal {os.WTERMSIG(status)})"
                failure(seed, problem)
            else:
                kinds[f"{stage} crashed or hung"] += 1
            seed += 1


def _family(what):
    for mark in ("only torch.jit refuses", "only Cresset refuses"):
        if mark in what:
            first = next((line for line in what.split("program: ", 1)[-1].split("\n") if line.strip()), "")
            return mark + re.sub(r"\w*\d\w*|'[^']*'", "", first)
    for mark in ("crashed", "did not end", ": gives ", ": printed ", ": leaves "):
        if mark in what:
            return mark
    for mark in ("; Cresset: ", " instead of "):
        if mark in what:
            return mark + re.sub(r"[\d.]+|'[^']*'|value .*", "", what.split(mark)[-1])
    return what


def _tensor_family(what):
    """Which comparison failed, in what, and the words of an error without its place."""
    for mark in ("crashed", "did not end"):
        if mark in what:
            return mark
    found = re.match(r"(unoptimized|by plans at once|by plans)[^:]*: (\w+)", what)
    if not found:
        return re.sub(r"'[^']*'|\d+", "", what.split("\n")[0])[:60]
    message = re.sub(r"[\d\[\]., ]+", " ", what.split(" instead of ")[0].split("\\n")[-1])
    return (*found.groups(), message[:50] if "Error" in what else "")


def _graph_family(what):
    """What was done to the graph, and what kind of difference that made."""
    done = what.split(":")[0]
    if done not in ("moved", "rewritten"):
        return done, re.sub(r"%\S+|^.*? call \d+|#.*", "", what.split("\n")[0])
    return done, re.split(r"call \d+: ", what, maxsplit=1)[-1].split(" ")[0]


def _check_facts(program, send=lambda message: None):
    """A program by plans from its first calls on, which assert all that they assume of their tensors; once more without what
    the optimizer does with it."""
    send(("stage", Cresset.name))
    kinds = []
    for checks in ("plans", "unoptimized"):
        cresset._C._set_fact_checks(checks)
        try:
            outcomes = tensor_execution.execute(tensor_execution.PlannedAtOnce, program)
        finally:
            cresset._C._set_fact_checks("off")
        for one, outcome in zip(program.calls, outcomes):
            kinds.append(outcome.kind)
            for text in (outcome.message, str(outcome.gradients), str(outcome.leaves)):
                if found := re.search(r"a plan assumed[^\n]*?(?=\\n|\n|$)", text):
                    return f"{checks}: {one.function}: {found[0]}", kinds
    return None, kinds


def _check_plans(program, send=lambda message: None):
    """A program of the whole language, unoptimized and by plans from its first calls on, each call twice."""
    send(("stage", Cresset.name))
    twice = replace(program, calls=[call for call in program.calls for _ in range(2)])
    with cresset.options.override(execution_mode="interpret"):
        expected = execute(Cresset, twice)
    with cresset.options.override(plans="always"):
        found = execute(Cresset, twice)
    for call, a, b in zip(twice.calls, expected, found):
        for part in ("kind", "value", "printed", "arguments"):
            if getattr(a, part) != getattr(b, part):
                return f"{call}: {part} {getattr(b, part)!r} instead of {getattr(a, part)!r}", []
        if core(a.message) != core(b.message):
            return f"{call}: message {core(b.message)!r} instead of {core(a.message)!r}", []
    return None, [outcome.kind for outcome in expected]


PROGRAMS = Profile(programs.generate, check, _family)
PLANS = Profile(programs.generate, _check_plans, lambda what: re.sub(r"'[^']*'|[\d.]+", "", what.split(": ", 1)[-1]))
GRADIENTS = Profile(
    tensor_programs.generate, tensor_comparison.check, _tensor_family, 60, 1000, tensor_execution.prepare
)
#: Graphs observed, with nodes moved, and rewritten by single passes.
GRAPHS = Profile(tensor_programs.generate, graph_execution.check, _graph_family, 60, 1000, tensor_execution.prepare)
FACTS = Profile(
    tensor_programs.generate,
    _check_facts,
    lambda what: re.sub(r"%\S+|\d+", "", what),
    60,
    1000,
    tensor_execution.prepare,
)
PROFILES = {"programs": PROGRAMS, "plans": PLANS, "gradients": GRADIENTS, "graphs": GRAPHS, "facts": FACTS}


def _fail(seed, what, profile, on_failure, shrinking):
    program = profile.generate(seed)
    if shrinking:
        program, what = _shrunk(program, what, profile)
    on_failure(seed, what, program)


def _shrunk(program, what, profile):
    """A small program with the same kind of difference. Candidates share one process as long as it lives."""
    family = profile.family(what)

    def work(send, check_one=lambda program: profile.check(program, lambda message: None)[0]):
        def holds(candidate):
            send(("trying",))  # a sign of life
            found = check_one(candidate)
            if bool(found) and profile.family(found) == family:
                send(("smaller", candidate, found))
                return True
            return False

        shrink(program, holds)

    if family in ("crashed", "did not end"):  # then each candidate needs a process of its own
        best = [(program, what)]
        safely = functools.partial(check_safely, profile=profile)
        work(lambda message: best.append(message[1:]) if message[0] == "smaller" else None, safely)
        return best[-1]
    messages, pid = _in_child(work)
    try:
        while message := messages.next(profile.timeout):
            if message[0] == "smaller":
                _, program, what = message
    except TimeoutError:
        pass  # a candidate that never ends: what was found until then is the result
    _end(messages, pid)
    return program, what


def main():
    parser = argparse.ArgumentParser(description="Random programs by Cresset and by others, compared.")
    parser.add_argument(
        "what", nargs="?", default="programs", choices=PROFILES,
        help="programs: by torch.jit; plans: of these, unoptimized and by plans; gradients: over tensors, by eager PyTorch and by plans; graphs: of these, as passes "
        "handle them; facts: of these, what plans assume",
    )  # fmt: skip
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--most-failures", type=int, default=20)
    parser.add_argument("--show", type=int, metavar="SEED", help="print the program of a seed and what both make of it")
    args = parser.parse_args()
    profile = PROFILES[args.what]
    if args.show is not None:
        show(args.show, profile)
        return
    failures = 0
    start = time.time()
    shown = [0.0]

    def progress(done, kinds):
        if time.time() - shown[0] > 5 or done == args.count:
            shown[0] = time.time()
            rate = done / (time.time() - start)
            ends = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
            print(f"{done} of {args.count} programs, {rate:.0f}/s, {failures} differ; calls: {ends}", flush=True)

    def failed(seed, what, program):
        nonlocal failures
        failures += 1
        print(f"\n---- {report(seed, what, program)}", flush=True)
        if failures >= args.most_failures:
            print(f"stopped after {failures} differences")
            sys.exit(1)

    run(args.first, args.count, failed, progress, not args.no_shrink, profile)
    print(f"{args.count} programs from seed {args.first} in {time.time() - start:.0f} s: {failures} differ")
    sys.exit(1 if failures else 0)


def show(seed, profile):
    program = profile.generate(seed)
    print(report(seed, check_safely(program, profile) or "no difference", program))
    for name, engine in ENGINES.items() if profile is PROGRAMS else []:
        for outcome in execute(engine, program):
            print(f"{name}: {outcome.kind} {outcome.value} {outcome.message} {outcome.printed!r}")


if __name__ == "__main__":
    main()
