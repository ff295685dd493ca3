"""Losses without gradients and group norms: scripts with kernels, the same without, and eager PyTorch, one thread.

    python bench/bench_losses.py [PATTERN]

In alternating rounds of one process, the fastest round of each, in microseconds; at the end of a line the ratio of the first to the second.
"""

import argparse
import fnmatch
import time

import torch
import torch.nn.functional as F

import cresset

FUSED = {"kernels": "now", "plans": "always", "numerics": "default"}
UNFUSED = {"kernels": "off", "plans": "always", "numerics": "exact"}
CLASSES = ((32, 10), (128, 1000), (1024, 50257), (8, 21, 128, 128), (16, 10, 100))
OF_CLASSES = (
    "F.cross_entropy(x, t)",
    "F.cross_entropy(x, t, w)",
    "F.cross_entropy(x, t, label_smoothing=0.1)",
    "F.nll_loss(x, t)",
    "F.nll_loss(F.log_softmax(x, 1), t, reduction='none')",
)
ELEMENTS = ((32, 10), (128, 1000), (1000, 1000))
OF_ELEMENTS = (
    "F.cross_entropy(x, p)",
    "F.kl_div(x, p, reduction='sum')",
    "F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1), reduction='batchmean')",
    "F.binary_cross_entropy(p, p)",
    "F.binary_cross_entropy_with_logits(x, p)",
    "F.soft_margin_loss(x, s)",
    "F.hinge_embedding_loss(x, s)",
    "F.poisson_nll_loss(x, p)",
    "F.cosine_similarity(x, y)",
    "F.pairwise_distance(x, y)",
    "F.triplet_margin_loss(x, y, p)",
    "F.cosine_embedding_loss(x, y, c)",
    "F.margin_ranking_loss(x, y, s)",
)
IMAGES = (((64, 128), 8), ((16, 256), 32), ((8, 64, 32, 32), 8), ((4, 128, 8, 8), 32), ((2, 32, 224, 224), 8))
OF_IMAGES = ("F.group_norm(x, G, w, w)", "F.relu(F.group_norm(x, G, w, w))")


def cases():
    torch.manual_seed(0)
    for size in CLASSES:
        named = {"x": torch.randn(size), "t": torch.randint(0, size[1], (size[0], *size[2:])), "w": torch.rand(size[1])}
        yield from ((call, size, named) for call in OF_CLASSES)
    for size in ELEMENTS:
        named = {"x": torch.randn(size), "y": torch.randn(size), "p": torch.rand(size)}
        named["s"] = torch.where(named["y"] < 0, -1.0, 1.0)
        named["c"] = named["s"][:, 0].clone()
        yield from ((call, size, named) for call in OF_ELEMENTS)
    for size, groups in IMAGES:
        named = {"x": torch.randn(size), "w": torch.randn(size[1])}
        yield from ((call.replace("G", str(groups)), size, named) for call in OF_IMAGES)


def measure(call, named):
    text = "def f({}):\n    return " + call + "\n"
    script = "import torch.nn.functional as F\n" + text.format(", ".join(f"{name}: Tensor" for name in named))
    scope = {"F": F}
    exec(text.format(", ".join(named)), scope)
    runs = []
    for options in (FUSED, UNFUSED):
        with cresset.options.override(**options):
            runs.append((cresset.CompilationUnit(script).f, options))
            for _ in range(3):
                runs[-1][0](*named.values())
    runs.append((scope["f"], UNFUSED))
    times, repeats = [float("inf")] * 3, 1
    for round_number in range(16):
        for i, (function, options) in enumerate(runs):
            with cresset.options.override(**options):
                start = time.perf_counter()
                for _ in range(repeats):
                    function(*named.values())
                times[i] = min(times[i], (time.perf_counter() - start) / repeats)
        if round_number == 0:
            repeats = max(1, int(0.003 / times[0]))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="?", default="*", help="a pattern of calls")
    pattern = parser.parse_args().only
    torch.set_num_threads(1)
    with torch.no_grad():
        for call, size, named in cases():
            if not fnmatch.fnmatch(call, pattern):
                continue
            times = measure(call, named)
            shown = " ".join(f"{t * 1e6:10.1f}" for t in times)
            print(f"{call:70} {size!s:20} {shown}  {times[0] / times[1]:.2f}", flush=True)


if __name__ == "__main__":
    main()
