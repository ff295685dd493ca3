"""Programs as users write them, beside eager PyTorch and torch.jit: processor time of one thread, as parts of eager's.

    python bench/bench_programs.py [NAME ...]

Medians of rounds in which all engines take turns; scripts, and in the last columns frame capture with eager PyTorch's bits and with those of scripts. Calls without gradients, then forward and backward passes.
"""

import argparse
import statistics
import time
import warnings

import torch
from user_programs import PROGRAMS

import cresset

ROUNDS, SECONDS = 9, 0.02  # of one engine in one round


def seconds(call, count):
    start = time.thread_time()
    for _ in range(count):
        call()
    return (time.thread_time() - start) / count


def without_gradients(function, arguments):
    def call():
        with torch.no_grad():
            function(*arguments)

    return call


def with_gradients(function, arguments):
    leaves = [
        a.clone().requires_grad_() if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in arguments
    ]

    def call():
        result = function(*leaves)
        (result[0] if isinstance(result, tuple) else result).sum().backward()

    return call


def measure(calls):
    for call in calls.values():
        for _ in range(8):
            call()
    cresset.wait_for_compilation()
    for call in calls.values():
        for _ in range(3):
            call()
    count = max(1, int(SECONDS / seconds(calls["eager"], 3)))
    rounds = [{engine: seconds(call, count) for engine, call in calls.items()} for _ in range(ROUNDS)]
    return {engine: statistics.median(each[engine] for each in rounds) for engine in calls}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PROGRAMS))
    names = parser.parse_args().names or list(PROGRAMS)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    print(
        "| program | gradients | eager, us | torch.jit | Cresset | captured | captured, default |\n|---|---|---|---|---|---|---|"
    )
    for name in names:
        torch.manual_seed(0)
        module, arguments, trains = PROGRAMS[name]()
        for gradients in (False, True)[: 1 + trains]:
            module.train(gradients)
            engines = {
                "eager": module,
                "torch.jit": torch.jit.script(module),
                "Cresset": cresset.script(module),
                "captured": cresset.compile(module),
                "captured, default": cresset.compile(module, numerics="default"),
            }
            make = with_gradients if gradients else without_gradients
            found = measure({engine: make(function, arguments) for engine, function in engines.items()})
            eager = found.pop("eager")
            ratios = " | ".join(f"{each / eager:.2f}" for each in found.values())
            print(f"| {name} | {'yes' if gradients else 'no'} | {eager * 1e6:.0f} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
