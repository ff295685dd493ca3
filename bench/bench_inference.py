"""Convolutional networks that were optimized for inference (cresset.optimize_for_inference: folded batch norms, layouts
along chains of convolutions, packed weights), beside eager PyTorch and torch.jit.optimize_for_inference.

    bench_inference.py [threads] [network]    by processor time, which the other work of a shared machine disturbs less,
                                              for one thread; by time of day for several
"""

import os
import statistics
import sys
import time

import torch
from torch import nn

import cresset

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "python"))

import convolutional_networks as networks

ROUNDS = 15

#: Name, network, input.
CASES = [
    ("ResNet-18", networks.ResNet18, (1, 3, 224, 224)),
    ("ResNet-50", networks.ResNet50, (1, 3, 224, 224)),
    ("MobileNet", networks.MobileNet, (1, 3, 224, 224)),
    ("ConvNeXt", networks.ConvNeXt, (1, 3, 224, 224)),
    ("DenseNet", networks.DenseNet, (1, 3, 64, 64)),
    ("UNet", networks.UNet, (1, 3, 128, 128)),
    ("audio, 1-d", networks.AudioNet, (1, 1, 16000)),
    ("video, 3-d", networks.VideoNet, (1, 3, 8, 32, 32)),
    ("one convolution", lambda: nn.Sequential(nn.Conv2d(16, 16, 3, padding=1)), (1, 16, 32, 32)),
]


def measure(name, make, shape, clock):
    torch.manual_seed(0)
    model, x = make().eval(), torch.randn(shape)
    engines = {
        "eager": model,
        "torch.jit": torch.jit.optimize_for_inference(torch.jit.script(model)),
        "cresset": cresset.optimize_for_inference(cresset.script(model)),
    }
    times = {engine: [] for engine in engines}
    expected = model(x)
    for engine, run in engines.items():
        for _ in range(4):
            result = run(x)
        assert result.stride() == expected.stride() or engine == "torch.jit"
        torch.testing.assert_close(result, expected, rtol=1e-3, atol=1e-3)
    for _ in range(ROUNDS):
        for engine, run in engines.items():
            start = clock()
            run(x)
            times[engine].append(clock() - start)
    best = {engine: 1e3 * min(all_times) for engine, all_times in times.items()}
    of_eager, of_jit = (
        statistics.median(mine / peer for mine, peer in zip(times["cresset"], times[other]))
        for other in ("eager", "torch.jit")
    )
    print(
        f"{name:16} eager {best['eager']:8.2f} ms   torch.jit {best['torch.jit']:8.2f} ms   cresset {best['cresset']:8.2f} ms"
        f"   of eager {of_eager:.2f}   of torch.jit {of_jit:.2f}",
        flush=True,
    )


if __name__ == "__main__":
    threads = int(sys.argv[1]) if sys.argv[1:] else 1
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    for name, make, shape in CASES:
        if not sys.argv[2:] or sys.argv[2] == name:
            measure(name, make, shape, time.process_time if threads == 1 else time.perf_counter)
