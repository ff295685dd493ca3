"""Packages that call torch.jit, with torch.jit and with Cresset in its place: the same results, gradients, archives; times.

    python bench/bench_packages.py [--packages FOLDER] [NAME…] [--list] [--markdown]

FOLDER holds what `pip install --no-deps --target FOLDER PACKAGE…` has put there; programs whose package is missing are
named at the end. Each program (package_programs.py) runs in a process of its own for each engine, in turn. Of each:
whether results and gradients are equal in bits, or by how much they differ; whether either engine reads the other's
archive, and gives the same; milliseconds that compiling, the first, the second and later calls (from the 28th on, with all
kernels compiled) took with Cresset and torch.jit.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch


def tensors_of(value, found):
    if isinstance(value, torch.Tensor):
        found.append(value)
    elif isinstance(value, dict):
        for each in value.values():
            tensors_of(each, found)
    elif isinstance(value, (list, tuple)):
        for each in value:
            tensors_of(each, found)
    return found


def call(compiled, inputs):
    torch.manual_seed(3)
    return tensors_of(compiled(*inputs), [])


def weighted_sum(tensor):
    """The gradient of a plain sum of what is normalized is zero but for rounding."""
    weights = torch.linspace(0.5, 1.5, max(tensor.numel(), 1), dtype=tensor.dtype)[: tensor.numel()]
    return (tensor * weights.reshape(tensor.shape)).sum()


def gradients(compiled, inputs):
    """Of the results' weighted sum, by inputs and parameters; None where there is no gradient."""
    torch.manual_seed(3)
    leaves = [
        each.detach().clone().requires_grad_() if isinstance(each, torch.Tensor) and each.is_floating_point() else each
        for each in inputs
    ]
    parameters = list(compiled.parameters()) if hasattr(compiled, "parameters") else []
    results = [each for each in tensors_of(compiled(*leaves), []) if each.requires_grad]
    wanted = [each for each in [*leaves, *parameters] if isinstance(each, torch.Tensor) and each.requires_grad]
    if not results or not wanted:
        return []
    total = sum(weighted_sum(each.abs() if each.is_complex() else each) for each in results)
    return torch.autograd.grad(total, wanted, allow_unused=True)


def timed(function, *args):
    start = time.perf_counter()
    result = function(*args)
    return result, (time.perf_counter() - start) * 1000


def archives(compiled, inputs, engine, folder, name):
    """Results of what the other engine saved, as this one loads it; and this engine's archive for the other."""
    mine = os.path.join(folder, f"{name}.{engine}.archive.pt")
    other = os.path.join(folder, f"{name}.{'torch' if engine == 'cresset' else 'cresset'}.archive.pt")
    if not hasattr(compiled, "save"):
        return None
    torch.jit.save(compiled, mine)
    if not os.path.exists(other):
        return None
    return call(torch.jit.load(other), inputs)


def run_program(name, engine, folder, packages):
    if packages:
        sys.path.append(packages)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    outcome = {"times": [], "error": ""}
    if engine == "cresset":
        import cresset  # noqa: PLC0415

        cresset.patch_torch_jit(trusted=True)
    from package_programs import PROGRAMS, without_torchvisions_kernels  # noqa: PLC0415

    library = without_torchvisions_kernels()
    try:
        compile_it, inputs = PROGRAMS[name][1]()
        torch.manual_seed(1)
        compiled, took = timed(compile_it)
        outcome["times"].append(took)
        for _ in range(2):
            outcome["results"], took = timed(call, compiled, inputs)
            outcome["times"].append(took)
        for _ in range(25):  # both engines optimize by what the first calls bring
            call(compiled, inputs)
        if engine == "cresset":
            cresset.wait_for_compilation()
        later = sorted(timed(call, compiled, inputs)[1] for _ in range(25))
        outcome["times"].append(later[len(later) // 2])
        outcome["results"] = call(compiled, inputs)
        outcome["gradients"] = gradients(compiled, inputs)
        outcome["loaded"] = archives(compiled, inputs, engine, folder, name)
    except ImportError as error:
        outcome["missing"] = str(error)
    except Exception as error:  # what a package raises is what is measured
        outcome["error"] = f"{type(error).__name__}: {error}"
    outcome = {key: value for key, value in outcome.items()}
    for key in ("results", "gradients", "loaded"):
        if outcome.get(key) is not None:
            outcome[key] = [None if each is None else each.detach().clone() for each in outcome[key]]
    torch.save(outcome, os.path.join(folder, f"{name}.{engine}.outcome"))
    del library


def run_engines(name, folder, packages):
    """torch.jit, Cresset (which reads torch.jit's archive), then torch.jit again, which reads Cresset's."""
    outcomes = []
    for engine in ("torch", "cresset", "torch"):
        command = [sys.executable, __file__, "--one", name, engine, folder]
        command += ["--packages", packages] if packages else []
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        path = Path(folder) / f"{name}.{engine}.outcome"
        if done.returncode or not path.exists():
            outcomes.append({"error": f"the process ended with {done.returncode}: {done.stderr[-300:]}", "times": []})
            continue
        outcomes.append(torch.load(path, weights_only=False))
        path.unlink()
        if outcomes[0].get("missing"):
            return [outcomes[0]] * 3
    return outcomes


def difference(mine, theirs):
    """ "" if equal in bits, else the largest difference, relative to the largest element; or what is otherwise."""
    if mine is None or theirs is None:
        return "none" if mine is not theirs else ""
    if len(mine) != len(theirs):
        return f"{len(mine)} and {len(theirs)} tensors"
    worst = 0.0
    for a, b in zip(mine, theirs):
        if (a is None) != (b is None):
            return "a gradient is None"
        if a is None:
            continue
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"{a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}"
        if torch.equal(a, b) or a.numel() == 0:
            continue
        a, b = a.double() if not a.is_complex() else a, b.double() if not b.is_complex() else b
        if bool((a.isnan() == b.isnan()).all()) and a.isnan().any():
            a, b = a.nan_to_num(), b.nan_to_num()
        worst = max(worst, float((a - b).abs().max() / b.abs().max().clamp(min=1e-30)))
    return f"{worst:.0e}" if worst else ""


def verdicts(outcomes):
    """(of results, of gradients, of archives) as words."""
    theirs, mine, again = outcomes
    if theirs["error"] or mine["error"]:
        return None
    loaded = [difference(mine["loaded"], mine["results"]), difference(again["loaded"], again["results"])]
    saved = "none is saved" if mine["loaded"] is None and again["loaded"] is None else ", ".join(filter(None, loaded))
    gradient = difference(mine["gradients"], theirs["gradients"])
    return (
        difference(mine["results"], theirs["results"]) or "equal",
        (gradient or "equal") if theirs["gradients"] else "none",
        saved or "equal",
    )


def first_line(text):
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:160]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--packages")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--one", nargs=3)
    options = parser.parse_args()
    if options.one:
        return run_program(*options.one, options.packages)
    from package_programs import PROGRAMS  # noqa: PLC0415

    names = options.names or list(PROGRAMS)
    if options.list:
        print("\n".join(f"{name}  ({PROGRAMS[name][0]})" for name in names))
        return None
    print("| package | program | results | gradients | archives | script | first | second | later |")
    print("|---|---|---|---|---|---|---|---|---|")
    missing = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            outcomes = run_engines(name, folder, options.packages)
            theirs, mine, _ = outcomes
            if theirs.get("missing"):
                missing.append(f"{PROGRAMS[name][0]} ({theirs['missing']})")
                continue
            found = verdicts(outcomes)
            if found is None:
                said = [
                    f"torch.jit: {first_line(theirs['error']) or 'runs'}",
                    f"Cresset: {first_line(mine['error']) or 'runs'}",
                ]
                print(f"| {PROGRAMS[name][0]} | `{name}` | {'; '.join(said)} | | | | | | |", flush=True)
                continue
            times = [f"{a:.3g} / {b:.3g}" for a, b in zip(mine["times"], theirs["times"])]
            print("| " + " | ".join([PROGRAMS[name][0], f"`{name}`", *found, *times]) + " |", flush=True)
    if missing:
        print("\nNot installed: " + ", ".join(missing))
    return None


if __name__ == "__main__":
    main()
