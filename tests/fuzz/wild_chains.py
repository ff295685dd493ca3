"""Chains of operators that untrusted programs may call: what one made of wild arguments is an argument of the next.

wild_arguments.py calls each operator with values that the test makes; some values only operators make (views of views, resized and
written results, quantized, sparse and nested tensors with parts of their own, lists that were split off). Here each chain starts from the
arguments of one wild call and adds every result to a pool of values; the calls after it take half of their arguments from there, whose
types fit. Gradients of what the chain has made are asked for at its end. In child processes, under the allocator with guard pages; a
chain that ends its process, or has a result outside of its memory, is a fault, by itself or after others. It is told with as few calls of
them as still end a process.

    python wild_chains.py [--count N] [--length N] [--seed S] [--only NAME]
"""

import argparse
import collections
import contextlib
import itertools
import os
import random
import re
import signal
import sys
import tempfile
import time
import warnings

import torch
import wild_arguments as single

from cresset import _C

CHAINS_OF_A_CHILD = 40
SHRINKING_SECONDS = 200  # of a fault
MOST_TOLD = 40  # calls of it
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

    def run(self, number, steps=None, describe=None):
        """Only these steps of the chain, if they are given; the last asks for gradients. Returns the number of calls that had a result."""
        pool, answered = Pool(), 0
        by_plans = number % 4 == 3
        _C._set_plans_always(by_plans)
        for step in range(self.length + 1) if steps is None else steps:
            # What a step draws does not depend on the steps before it: some of those may be left out.
            rng = random.Random(f"{self.seed} chain {number} step {step}")
            if step < self.length:
                subject = rng.choice(self.takes_pool if step else self.table)
                answered += self.call(subject, rng, pool, by_plans, describe)
            else:
                if describe:
                    describe("gradients\n")
                with contextlib.suppress(Exception), self.guarded(single.AT_END):
                    self.gradients(pool, rng)
        return answered

    @contextlib.contextmanager
    def guarded(self, placement):
        self.guard(placement, single.BYTES)
        try:
            yield
        finally:
            self.guard(0, 0)

    def call(self, subject, rng, pool, by_plans, describe):
        placement = single.AT_END if rng.random() < 0.5 else single.AT_START
        number = 0 if rng.random() < 0.5 else rng.randrange(1000)
        try:
            with self.guarded(placement):
                arguments, kinds, undefined, _ = single.variant(subject, self.seed, number)
                self.replace_some(subject, arguments, kinds, rng, pool)
            if describe:
                describe(f"{subject.name}{single.shown(arguments, undefined)[:600]}\n")
            # The blocks of functions would have pages of their own for as long as those are kept, and plans are kept by theirs.
            function = (subject.compiled if by_plans else subject.function)(kinds, undefined)
            with self.guarded(placement):
                result = function(*arguments)
                single.look_at([result, arguments])
            pool.add(result)
            for one in arguments:
                pool.add(one)
            return 1
        except single.OutsideOfMemory:
            os._exit(single.OUTSIDE)
        except Exception:  # noqa: BLE001
            return 0

    def replace_some(self, subject, arguments, kinds, rng, pool):
        """By values of the pool."""
        schema = subject.schema.arguments
        for i in rng.sample(range(len(kinds)), min(len(kinds), rng.choice([1, 1, 1, 2, 3]))):
            if (value := pool.choose(kinds[i], rng, arguments[i])) is not None:
                written = single.is_written(schema[i]) if i < len(schema) else True
                if not written or all(map(single.can_be_written, single.tensors_of(value))):
                    arguments[i] = value

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
    """How many chains had a fault, calls with a result, and blocks that no guard pages were left for."""
    shared = single.Shared()
    faults = answered = unguarded = 0
    number, end_of_all = first, first + count
    while number < end_of_all:

        def body(number=number):
            done = 0
            for k in range(number, min(end_of_all, number + CHAINS_OF_A_CHILD)):
                shared.tell(k, done, *single.blocks())
                if k > number and single.blocks()[0] > single.MOST_BLOCKS:
                    return
                limit_time()
                done += chains.run(k)
            shared.tell(k + 1, done, *single.blocks())

        shared.tell(number, 0, 0, 0)
        how = single.child(body)
        at, done, _, without = shared.told()
        answered += done
        unguarded += without
        if how:
            faults += confirm(chains, range(number, at + 1), how, say)
            at += 1
        number = at
    return faults, answered, unguarded


def limit_time(factor=1):
    """Of a chain: then a signal ends the process."""
    signal.setitimer(signal.ITIMER_PROF, single.CPU_SECONDS * factor)
    signal.setitimer(signal.ITIMER_REAL, single.SECONDS * factor)


def ends(chains, steps, describe=None):
    """How a process ends that runs these, each of them (chain, step)."""

    def body():
        for number, group in itertools.groupby(steps, key=lambda one: one[0]):
            limit_time(4)
            chains.run(number, [step for _, step in group], describe)

    return single.child(body)


def confirm(chains, numbers, how, say):
    """Tells what ended the process that ran these chains, by as few calls as still do; 1 if it is a fault: all but what takes long."""
    all_of = lambda numbers: [(k, step) for k in numbers for step in range(chains.length + 1)]  # noqa: E731
    last = numbers[-1]
    if how == single.SLOW:
        steps = all_of([last])
    else:
        faulty = lambda steps: ends(chains, steps) not in ("", single.SLOW)  # noqa: E731
        steps = next((s for s in (all_of([last]), all_of(numbers)) if faulty(s)), None)
        if not steps:
            say(f"chain {last}: {how} after chain {numbers[0]} and those between; not again")
            return 1
        left = Budget(SHRINKING_SECONDS)
        by_chain = [all_of([k]) for k in sorted({k for k, _ in steps})]
        by_chain = shrunk(by_chain, lambda some: faulty(sum(some, [])), left)
        steps = shrunk(sum(by_chain, []), faulty, left)
    calls = [f"  {line}" for line in described(chains, steps)]
    say("\n".join([f"chain {last}: {how}", *calls[-MOST_TOLD:]]))
    return int(how != single.SLOW)


def described(chains, steps):
    """The calls that these steps make."""
    with tempfile.TemporaryFile() as file:
        ends(chains, steps, lambda text: os.write(file.fileno(), text.encode()))
        file.seek(0)
        return file.read().decode(errors="replace").splitlines()


class Budget:
    """Is there time left?"""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def __bool__(self):
        return time.monotonic() < self.end


def shrunk(items, faulty, left):
    """As few of them as are still faulty: halves are left out, quarters, and so on."""
    size = (len(items) + 1) // 2
    while size:
        at = 0
        while at < len(items) and left:
            rest = items[:at] + items[at + size :]
            if rest and faulty(rest):
                items = rest
            else:
                at += size
        size = size // 2
    return items


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
    faults, answered, unguarded = hunt(chains, args.count, args.first, say)
    say(
        f"{args.count} chains of operators ({args.count * args.length} calls, {answered} with a result), {faults} with faults; "
        f"{unguarded} blocks without guard pages; {time.monotonic() - start:.0f} s"
    )
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
