"""A backend that has pure kernels only runs a model that writes to its tensors.

The backend is a TorchDispatchMode that refuses every operator that writes to a tensor, as a compiler for a machine without
mutable memory would. A plain call of the model fails under it; the functionalized one runs, and what it wrote to the
buffers comes in copies at the end, which the backend takes as the assignment of results.

    python examples/pure_backend.py
"""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

import cresset


class PureBackend(TorchDispatchMode):
    """Runs pure operators; `copy_` is the assignment of a result, all other writes are refused."""

    def __init__(self):
        super().__init__()
        self.calls = 0
        self.assigned = []

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        self.calls += 1
        if op._schema.is_mutable:
            if op is not torch.ops.aten.copy_.default:
                raise NotImplementedError(f"this backend has no kernel that writes: {op.name()}")
            self.assigned.append(args[0])
        return op(*args, **(kwargs or {}))


class Counter(torch.nn.Module):
    """Keeps a running mean in a buffer, and builds its result row by row."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        result = torch.zeros(3, 4)
        result[0] = x.sum(0)
        result[1:].copy_(x[:2]).sub_(self.mean)
        result.t()[0].clamp_(min=0)
        return result


def main():
    torch.manual_seed(0)
    model, twin, x = Counter(), Counter(), torch.randn(5, 4)
    try:
        with PureBackend():
            model(x)
        raise AssertionError("the plain model should not run")
    except NotImplementedError as error:
        print("eager:", error)
    model.mean.zero_()
    with PureBackend() as backend:
        result = cresset.functionalize(model)(x)
    assert torch.equal(result, twin(x)) and torch.equal(model.mean, twin.mean)
    assert [tensor is model.mean for tensor in backend.assigned] == [True]
    print(f"functionalized: {backend.calls} pure calls, {len(backend.assigned)} assignment")


if __name__ == "__main__":
    main()
