"""Chains of operators that untrusted programs may call: what one made of wild arguments is an argument of the next.

wild_arguments.py calls each operator with values that the test makes; some values only operators make (views of views, resized and
written results, quantized, sparse and nested tensors with parts of their own, lists that were split off). Here each chain starts from the
arguments of one wild call and adds every result to a pool of values; the calls after it take half of their arguments from there, whose
types fit. Gradients of what the chain has made are asked for at its end. In child processes, under the allocator with guard pages; a
chain that ends its process, or has a result outside of its memory, is a fault, and is told with all of its calls.

    python wild_chains.py [--count N] [--length N] [--seed S] [--only NAME]
"""

import argparse
import collections
import contextlib
import os
import random
import re
import signal
import sys
import time
import warnings

import torch
import wild_arguments as single

from cresset import _C

CHAINS_OF_A_CHILD = (
    40  # each small block of a kept table has pages of its own, of which a process can have only so many
)
MOST_KEPT = 40  # values of a chain
MOST_ELEMENTS = 200_000  # of a tensor that goes on


def kind_of(value):
    """The type, as schemas say it, that a value of the pool may be used as."""
    if isinstance(value, torch.Tensor):
        return "Tensor"
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind.__name__
    if isinstance(value, (list, tuple)) and value and len({kind_of(one) for one in value}) == 1:
        return f"{kind_of(value[0])}[]"
    return None


class Pool:
    """What a chain has made, by type."""

    def __init__(self):
        self.values = collections.defaultdict(list)

    def add(self, value):
        if isinstance(value, torch.Tensor) and value.numel() > MOST_ELEMENTS:
            return
        if isinstance(value, (list, tuple)):
            for one in value[:8]:
                self.add(one)
        kind = kind_of(value)
        if kind is None:
            return
        kept = self.values[kind]
        kept.append(value)
        del kept[:-MOST_KEPT]

    def choose(self, type_text, rng, like):
        """A value of this type, mostly one that is much like another; or None."""
        kind = re.sub(r"\(.*?\)|\?", "", type_text)
        kind = {"Scalar": "int", "int[1]": "int[]", "int[2]": "int[]", "int[3]": "int[]"}.get(kind, kind)
        kept = self.values.get(kind)
        if isinstance(like, torch.Tensor) and rng.random() < 0.8:
            kept = [t for t in kept or () if t.dtype == like.dtype and t.dim() == like.dim()] or kept
        return rng.choice(kept) if kept else None

    def tensors(self):
        return self.values["Tensor"]


class Chains:
    """Runs chains, numbered from a seed."""

    def __init__(self, table, guard, seed, length, tools):
        self.table = [s for s in table.values() if s.calls]
        self.takes_pool = [s for s in self.table if any("Tensor" in a.type.str() for a in s.schema.arguments)]
        self.guard, self.seed, self.length, self.tools = guard, seed, length, tools

    def run(self, number, describe=None):
        """Returns the number of calls that had a result."""
        rng = random.Random(f"{self.seed} chain {number}")
        pool, answered = Pool(), 0
        _C._set_plans_always(number % 4 == 3)
        for step in range(self.length):
            subject = rng.choice(self.takes_pool if step else self.table)
            self.guard(single.AT_END if rng.random() < 0.5 else single.AT_START, single.BYTES)
            answered += self.call(subject, rng, pool, describe, plain=rng.random() < 0.5)
            self.guard(0, 0)
        with contextlib.suppress(Exception):
            self.gradients(pool, rng)
        return answered

    def call(self, subject, rng, pool, describe, plain):
        try:
            arguments, kinds, undefined, _ = single.variant(subject, self.seed, 0 if plain else rng.randrange(1000))
            for i in rng.sample(range(len(kinds)), min(len(kinds), rng.choice([1, 1, 1, 2, 3]))):
                if (value := pool.choose(kinds[i], rng, arguments[i])) is not None:
                    written = (
                        single.is_written(subject.schema.arguments[i]) if i < len(subject.schema.arguments) else True
                    )
                    if not written or all(map(single.can_be_written, single.tensors_of(value))):
                        arguments[i] = value
            if describe:
                self.guard(0, 0)
                describe(f"{subject.name}{single.shown(arguments, undefined)[:600]}\n")
                self.guard(single.AT_END, single.BYTES)
            result = subject.function(kinds, undefined)(*arguments)
            single.look_at([result, arguments])
            pool.add(result)
            for one in arguments:
                pool.add(one)
            return 1
        except single.OutsideOfMemory:
            os._exit(single.OUTSIDE)
        except Exception:  # noqa: BLE001
            return 0

    def gradients(self, pool, rng):
        roots = [t for t in pool.tensors() if t.requires_grad]
        leaves = [t for t in pool.tensors() if t.requires_grad and t.is_leaf]
        if roots and leaves:
            single.differentiated(leaves, rng.sample(roots, min(3, len(roots))), rng, self.tools)


def with_gradients(make):
    """Arguments of which floating-point tensors require gradients."""

    def made():
        arguments = make()
        for t in single.tensors_of(arguments):
            if t.is_leaf and t.dtype.is_floating_point:
                t.requires_grad_()
        return arguments

    return made


def hunt(chains, count, first, say):
    """How many chains had a fault, calls with a result."""
    shared = single.Shared()
    faults = answered = 0
    number = first
    while number < first + count:

        def body(number=number):
            done = 0
            for k in range(number, min(first + count, number + CHAINS_OF_A_CHILD)):
                shared.tell(k, done, 0, 0)
                signal.setitimer(signal.ITIMER_PROF, single.CPU_SECONDS)
                signal.setitimer(signal.ITIMER_REAL, single.SECONDS)
                done += chains.run(k)
            shared.tell(k + 1, done, 0, 0)

        shared.tell(number, 0, 0, 0)
        end = single.child(body)
        at, done, _, _ = shared.told()
        answered += done
        if end:
            faults += confirm(chains, at, end, say)
            at += 1
        number = at
    return faults, answered


def confirm(chains, number, how, say):
    """Tells the chain, run again in a process of its own; 1 if it is a fault there, too."""
    read, write = os.pipe()

    def again():
        signal.setitimer(signal.ITIMER_PROF, single.CPU_SECONDS * 4)
        chains.run(number, lambda text: os.write(write, text.encode()))

    end = single.child(again)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        calls = stream.read().decode(errors="replace").splitlines()
    say(f"chain {number}: {end or how + ', after other chains only'}\n  " + "\n  ".join(calls[-12:]))
    return int(bool(end) and end != single.SLOW)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000, help="of chains")
    parser.add_argument("--first", type=int, default=0, help="the number of the first chain")
    parser.add_argument("--length", type=int, default=12, help="calls of a chain")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="operators whose names match")
    args = parser.parse_args()
    single.restart_with(str(single.guard_library()))
    start = time.monotonic()
    torch.set_num_threads(1)
    single.make_tables()
    warnings.simplefilter("ignore")
    table = single.subjects()
    single.add_written_calls(table)
    single.add_rows(table)
    chosen = {n: s for n, s in table.items() if re.search(args.only, n) and single.may_be_tried(n, False)}
    for subject in chosen.values():
        subject.calls += [(types, with_gradients(make)) for types, make in subject.calls]
    chains = Chains(chosen, single.load_guard(), args.seed, args.length, single.tampering(table))
    say = lambda text: print(text, flush=True)  # noqa: E731
    faults, answered = hunt(chains, args.count, args.first, say)
    say(
        f"{args.count} chains of operators ({args.count * args.length} calls, {answered} with a result), {faults} with faults; "
        f"{time.monotonic() - start:.0f} s"
    )
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
