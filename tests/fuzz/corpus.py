"""Writes what the programs in this folder mutate, beside the text tests:

- archives: what torch.jit saves of every program in tests/python/test_archives_vs_torchjit.py, one file each, so that
  each part of the format and of the language is in one;
- schemas.txt, types.txt: the schemas that torch registers, and the types in them, one a line.

    python corpus.py FOLDER
"""

import sys
import types
import warnings
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
# The programs need torch alone; a build with a sanitizer has no Python package.
sys.modules.setdefault("cresset", types.ModuleType("cresset"))
from test_archives_vs_torchjit import ENTRIES  # noqa: E402


class Packed(torch.nn.Module):
    """Weights in classes that libtorch registers; they restore themselves from what the pickle says."""

    def __init__(self):
        super().__init__()
        rows = torch.quantize_per_tensor(torch.randn(4, 3), 0.1, 0, torch.qint8)
        self.linear = torch.ops.quantized.linear_prepack(rows, torch.zeros(4))
        self.conv = torch.ops.quantized.conv2d_prepack(
            rows.reshape(4, 3, 1, 1), torch.zeros(4), [1, 1], [0, 0], [1, 1], 1
        )

    def forward(self, x):
        q = torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)
        return torch.dequantize(torch.ops.quantized.linear(q, self.linear, 0.1, 0))


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    torch.manual_seed(1)
    for name, make in ENTRIES.items():
        torch.jit.save(make()[0], folder / f"{name}.pt")
    if "fbgemm" in torch.backends.quantized.supported_engines:
        torch.jit.save(torch.jit.script(Packed()), folder / "packed.pt")
    schemas = torch._C._jit_get_all_schemas()
    (folder / "schemas.txt").write_text("".join(f"{schema}\n" for schema in schemas))
    arguments = [argument for schema in schemas for argument in schema.arguments + schema.returns]
    (folder / "types.txt").write_text("".join(f"{t}\n" for t in sorted({str(a.type) for a in arguments})))
    print(f"{len(ENTRIES)} archives and {len(schemas)} schemas in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
