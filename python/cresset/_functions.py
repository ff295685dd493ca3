"""What runs for a call of a user's `torch.autograd.Function` that is part of a plan: its `forward` has already run, as part of the
plan, and PyTorch makes the node of the tape, whose `backward` is the user's."""

import threading

import torch
from torch.autograd.function import FunctionMeta


class Applied:
    """A call `F.apply(arguments)`, called with the class of F's nodes, the arguments, what `forward` has returned, and what it has
    set of its context. `num_arguments`, `num_results`: how many there are; `tensors`: the places of results that are tensors, which
    it returns; None of a `forward` that returns no tuple. `names`: the attributes of the context."""

    def __init__(self, num_arguments, num_results, tensors, names):
        self.num_arguments, self.num_before_names = num_arguments, num_arguments + num_results
        self.tensors, self.names = tensors, names

    def __call__(self, kind, *values):
        _running.call = (self, kind, values)
        try:
            found = _apply(*values[: self.num_arguments])
        finally:
            _running.call = None
        return found if self.tensors is None else tuple([found[place] for place in self.tensors])


class _Running(threading.local):
    call = None


_running = _Running()


class _ClassOfFunction(FunctionMeta):
    """Of a Function whose nodes are of the class that the call names."""

    @property
    def _backward_cls(cls):
        return cls.own_nodes if _running.call is None else _running.call[1]

    @_backward_cls.setter
    def _backward_cls(cls, kind):
        cls.own_nodes = kind


class _Function(torch.autograd.Function, metaclass=_ClassOfFunction):
    @staticmethod
    def forward(context, *arguments):
        call, _, values = _running.call
        for name, value in zip(call.names, values[call.num_before_names :], strict=True):
            setattr(context, name, value)
        results = values[call.num_arguments : call.num_before_names]
        return results[0] if call.tensors is None else results

    @staticmethod
    def backward(context, *gradients):
        raise NotImplementedError("the class of nodes has another")


#: As torch.autograd.Function.apply calls it where there are no transforms of torch.func.
_apply = super(torch.autograd.Function, _Function).apply
