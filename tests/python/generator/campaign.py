"""Many programs, in a worker process that may crash, hang or run out of memory without harm.

The parent reads one message per stage, so it knows which engine had which program when a worker died. A crash of
torch.jit is its own affair and only counted; one of Cresset is a difference.
"""

import argparse
import faulthandler
import os
import pickle
import re
import resource
import select
import signal
import struct
import sys
import time

import torch

from .comparison import difference
from .execution import ENGINES, Cresset, TorchJit, execute
from .programs import generate
from .shrink import shrink

TIMEOUT = 8  # seconds that one engine may take for one program
PER_WORKER = 400  # programs until a fresh worker: torch.jit keeps every class for the life of the process
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
    """Runs work(send) in a forked process; gives its messages and its pid."""
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


def check_safely(program):
    """check() in a process of its own; a crash or hang of Cresset is a difference too."""

    def work(send):
        send(("done", *check(program, send)))

    messages, pid = _in_child(work)
    stage = None
    try:
        while True:
            message = messages.next(TIMEOUT)
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


def run(first, count, on_failure, on_progress=lambda done, kinds: None, shrinking=True):
    """Checks the programs of the seeds first … first + count - 1."""
    kinds = {}
    seed, end = first, first + count
    while seed < end:
        last = min(end, seed + PER_WORKER)

        def work(send, seeds=range(seed, last)):
            for number in seeds:
                send(("begin", number))
                send(("done", *check(generate(number), send)))

        messages, pid = _in_child(work)
        stage = "begin"
        problem = None
        try:
            while seed < last:
                message = messages.next(TIMEOUT)
                if message is None:
                    problem = f"{stage} crashed"
                    break
                if message[0] == "stage":
                    stage = message[1]
                elif message[0] == "done":
                    _, found, ended = message
                    for kind in ended:
                        kinds[kind] = kinds.get(kind, 0) + 1
                    if found:
                        _fail(seed, found, on_failure, shrinking)
                    seed += 1
                    on_progress(seed - first, kinds)
        except TimeoutError:
            problem = f"{stage} did not end"
        status = _end(messages, pid)
        if problem:
            if stage == Cresset.name:
                if os.WIFSIGNALED(status):
                    problem += f" (signal {os.WTERMSIG(status)})"
                _fail(seed, problem, on_failure, shrinking)
            else:
                kinds[f"{stage} crashed or hung"] = kinds.get(f"{stage} crashed or hung", 0) + 1
            seed += 1
    return kinds


def _family(what):
    """What must stay the same while a failure shrinks: how it differs, not the values."""
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


def _fail(seed, what, on_failure, shrinking):
    program = generate(seed)
    if shrinking:
        program, what = _shrunk(program, what)
    on_failure(seed, what, program)


def _shrunk(program, what):
    """A small program with the same kind of difference. Candidates share one process as long as it lives."""
    family = _family(what)

    def work(send, check_one=lambda program: check(program)[0]):
        def holds(candidate):
            send(("trying",))  # a sign of life
            found = check_one(candidate)
            if bool(found) and _family(found) == family:
                send(("smaller", candidate, found))
                return True
            return False

        shrink(program, holds)

    if family in ("crashed", "did not end"):  # then each candidate needs a process of its own
        best = [(program, what)]
        work(lambda message: best.append(message[1:]) if message[0] == "smaller" else None, check_safely)
        return best[-1]
    messages, pid = _in_child(work)
    try:
        while message := messages.next(TIMEOUT):
            if message[0] == "smaller":
                _, program, what = message
    except TimeoutError:
        pass  # a candidate that never ends: what was found until then is the result
    _end(messages, pid)
    return program, what


def main():
    parser = argparse.ArgumentParser(description="Random programs by Cresset and torch.jit, compared.")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--most-failures", type=int, default=20)
    parser.add_argument("--show", type=int, metavar="SEED", help="print the program of a seed and what both make of it")
    args = parser.parse_args()
    if args.show is not None:
        show(args.show)
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

    run(args.first, args.count, failed, progress, not args.no_shrink)
    print(f"{args.count} programs from seed {args.first} in {time.time() - start:.0f} s: {failures} differ")
    sys.exit(1 if failures else 0)


def show(seed):
    program = generate(seed)
    print(report(seed, check_safely(program) or "no difference", program))
    for name, engine in ENGINES.items():
        for outcome in execute(engine, program):
            print(f"{name}: {outcome.kind} {outcome.value} {outcome.message} {outcome.printed!r}")


if __name__ == "__main__":
    main()
