"""The archives that the clients run: what users have on their disks, so torch.jit writes them.

python archives.py FOLDER
"""

import sys
from pathlib import Path
from typing import Dict, List, Tuple

import torch
from torch import Tensor, nn


class Potential(nn.Module):
    """Energies of atoms from their distances: pairs within a cutoff, and a small network for each kind of atom."""

    cutoffs: List[Tensor]

    def __init__(self, kinds: int = 2, width: int = 8):
        super().__init__()
        self.layers = nn.ModuleList(
            [nn.Sequential(nn.Linear(3, width), nn.Tanh(), nn.Linear(width, 1)) for _ in range(kinds)]
        )
        self.shift = nn.Parameter(torch.linspace(0.1, 0.3, kinds))
        self.register_buffer("centers", torch.tensor([0.8, 1.2, 1.9]))
        self.cutoffs = [torch.tensor(1.5), torch.tensor(2.5)]

    def features(self, distances: Tensor, cutoff: Tensor) -> Tensor:
        inside = torch.where(distances < cutoff, torch.cos(distances / cutoff) ** 2, torch.zeros_like(distances))
        gaussians = torch.exp(-4 * (distances.unsqueeze(-1) - self.centers) ** 2)
        return (gaussians * inside.unsqueeze(-1)).sum(1)

    def forward(self, atoms: Dict[str, Tensor], pairs: List[Tuple[int, int]]) -> Dict[str, Tensor]:
        positions, kinds = atoms["positions"], atoms["kinds"]
        distances = torch.full([positions.size(0), len(pairs)], 10.0, dtype=positions.dtype)
        for n, (i, j) in enumerate(pairs):
            d = torch.sqrt(((positions[i] - positions[j]) ** 2).sum() + 1e-9)
            distances[i, n] = d
            distances[j, n] = d
        energies: List[Tensor] = []
        for kind, layer in enumerate(self.layers):
            found = self.features(distances, self.cutoffs[kind])
            energies.append((layer(found).squeeze(-1) + self.shift[kind]) * (kinds == kind))
        per_atom = torch.stack(energies).sum(0)
        return {"per_atom": per_atom, "energy": per_atom.sum()}


class Classifier(nn.Module):
    """Named inputs to named outputs; which of them there are decides what is computed."""

    def __init__(self):
        super().__init__()
        self.embed = nn.EmbeddingBag(20, 6, mode="sum")
        self.dense = nn.Linear(4, 6)
        self.out = nn.Linear(6, 3)

    def forward(self, inputs: Dict[str, Tensor], top: int = 2) -> Dict[str, Tensor]:
        hidden = self.dense(inputs["dense"])
        if "tokens" in inputs:
            hidden = hidden + self.embed(inputs["tokens"])
        scores = torch.softmax(self.out(torch.relu(hidden)), -1)
        result = {"scores": scores, "best": scores.argmax(-1)}
        if top > 1:
            values, indices = scores.topk(top)
            result["top_values"] = values
            result["top_indices"] = indices
        return result


class AudioProcessor(nn.Module):
    """A delay and a low-pass filter, with settings and state, as an audio plug-in drives it."""

    buffered: List[Tensor]

    def __init__(self):
        super().__init__()
        self.sample_rate = 16000
        self.gain = 1.0
        self.name = "echo"
        self.buffered = []
        self.kernel = nn.Parameter(torch.hann_window(9) / 4.0)
        self.register_buffer("last", torch.zeros(8))

    @torch.jit.export
    def prepare(self, sample_rate: int, delay_blocks: int = 1) -> int:
        if sample_rate <= 0:
            raise ValueError("the sample rate must be positive")
        self.sample_rate = sample_rate
        self.buffered = [torch.zeros(0) for _ in range(delay_blocks)]
        self.last = torch.zeros(8)
        return delay_blocks

    @torch.jit.export
    def latency(self) -> float:
        return len(self.buffered) * 64 / self.sample_rate

    @torch.jit.export
    def describe(self) -> Tuple[str, int, Dict[str, float]]:
        return self.name, len(self.buffered), {"gain": self.gain, "rate": float(self.sample_rate)}

    def forward(self, block: Tensor) -> Tensor:
        joined = torch.cat([self.last, block])
        self.last = joined[-8:]
        filtered = torch.conv1d(joined.view(1, 1, -1), self.kernel.view(1, 1, -1)).view(-1)
        self.buffered.append(filtered)
        delayed = self.buffered.pop(0)
        if delayed.numel() == 0:
            delayed = torch.zeros_like(filtered)
        return self.gain * (filtered + 0.5 * delayed)


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(7)
    torch.jit.save(torch.jit.script(Potential().double()), folder / "forces.pt")
    labels = {"labels.txt": "cat\ndog\nbird\n", "unused.txt": "nobody asks"}
    torch.jit.save(torch.jit.script(Classifier().eval()), folder / "stream.pt", _extra_files=labels)
    torch.jit.save(torch.jit.script(AudioProcessor()), folder / "audio.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
