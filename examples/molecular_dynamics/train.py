"""Trains a potential on forces, in a script, beside eager PyTorch: every step has other numbers of atoms and pairs.

python train.py [--steps N] [--save FILE] [--compile]
"""

import argparse
import copy
import statistics
import time

import torch
from potential import Potential, cluster, lennard_jones

import cresset


def train(module, steps, seed=0):
    """Returns the parameters after each step, the losses and the times in ms."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(module.parameters(), 1e-3)
    history, losses, times = [], [], []
    for _ in range(steps):
        positions, species, edges = cluster(generator)
        wanted = lennard_jones(positions, edges)[1]
        start = time.perf_counter()
        optimizer.zero_grad()
        _, forces = module(positions.requires_grad_(), species, edges)
        loss = (forces - wanted).pow(2).mean()
        loss.backward()
        optimizer.step()
        times.append(1000 * (time.perf_counter() - start))
        losses.append(loss.item())
        history.append(torch.cat([p.detach().flatten() for p in module.parameters()]))
    return history, losses, times


def difference(a, b):
    return ((a - b).norm() / b.norm()).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--save", help="write the trained script here, for the C++ program")
    parser.add_argument("--compile", action="store_true", help="show what torch.compile makes of the same step")
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    eager = Potential().double()
    script = cresset.script(copy.deepcopy(eager))
    untrained = copy.deepcopy(eager)

    expected, _, eager_ms = train(eager, args.steps)
    found, losses, ms = train(script, args.steps)
    print(f"loss {losses[0]:.4f} at step 1, {statistics.mean(losses[-10:]):.4f} over the last ten of {args.steps}")
    print(f"parameters, relative difference to eager: {difference(found[0], expected[0]):.1e} after step 1,")
    print(f"  {difference(found[-1], expected[-1]):.1e} after step {args.steps}")
    print(f"plans made for all sizes: {len(cresset.explain(script).plans)}")
    later = slice(min(10, args.steps // 2), None)
    mine, theirs = statistics.median(ms[later]), statistics.median(eager_ms[later])
    print(
        f"step {mine:.2f} ms, eager {theirs:.2f} ms, ratio {mine / theirs:.2f}; first step {ms[0]:.0f} ms, eager {eager_ms[0]:.0f} ms"
    )

    if args.save:
        script.save(args.save)
    if args.compile:
        torch._functorch.config.donated_buffer = False  # else its first words are about that
        compiled = torch.compile(untrained, dynamic=True)
        try:
            history, _, times = train(compiled, 5)
            print(f"torch.compile: first step {times[0]:.0f} ms, difference {difference(history[0], expected[0]):.1e}")
        except Exception as error:  # whatever it says is what there is to show
            print(f"torch.compile: {type(error).__name__}: {str(error).strip().splitlines()[0]}")


if __name__ == "__main__":
    main()
