"""What runs for a `torch.utils.checkpoint.checkpoint` that is part of a plan: a compiled graph that keeps its inputs only, and
runs again in the backward pass."""

import contextlib

import torch
import torch.utils.checkpoint

from . import _C

_keeps_graph = torch._C._autograd._get_current_graph_task_keep_graph


class Checkpointed:
    """A graph whose backward pass computes it once more. `draws`: it draws random numbers, the same ones both times. `saved`:
    places of inputs that are to be the same in the backward pass; others are taken as they are then. (So does PyTorch, whose
    checkpoint saves the function's positional arguments.) `autocast`: the mode of autocast that it is called in, as
    _C._CallInModes has it, or None.

    The graph takes the first `count` inputs. `counts`: (place, number) of inputs that a number is added to, in both runs;
    `statistics`: places of those that the graph writes to. `draws_anew`: the second run draws other random numbers. `known_for`: where the
    second run does more than compute, which inputs require gradients: with others PyTorch's might stop early."""

    def __init__(self, function, draws=False, saved=(), autocast=None, count=None):
        self.graph, self.draws, self.saved, self.autocast, self.count = function, draws, saved, autocast, count
        self.counts, self.statistics, self.draws_anew, self.known_for = (), (), False, None
        # Casts that are made off the tape are not kept: what follows would take them.
        self.function = function if autocast is None else _C._CallInModes(function, ((*autocast[:4], False),))
        self.known = {}  # which inputs require gradients -> which results do
        self.aliases = False  # whether results have been seen that share memory

    def __call__(self, *inputs):
        if self.aliases or not torch.is_grad_enabled():
            return self.run(self.function, inputs)
        flags = tuple([isinstance(value, torch.Tensor) and value.requires_grad for value in inputs])
        if not any(flags):
            return self.run(self.function, inputs)
        if self.known_for is not None and flags != self.known_for:
            raise RuntimeError("other tensors require gradients than when the checkpoint was recorded")
        state = torch.get_rng_state() if self.draws else None
        if flags not in self.known:
            self.known[flags] = self.flags_of_results(inputs, state)
        with torch.no_grad():
            results = self.run(self.function, inputs)
        results = results if type(results) is tuple else (results,)
        if share_memory(inputs, results):  # views of each other, to the tape
            if self.known_for is not None:
                raise RuntimeError("results that share memory")
            self.aliases = True
            if self.draws:
                torch.set_rng_state(state)
            return self.function(*inputs)
        state = None if self.draws_anew else state
        found = _Recomputed.apply(self, results, self.known[flags], flags, state, *inputs)
        return found[0] if len(found) == 1 else found

    def run(self, function, inputs):
        for place, number in self.counts:
            inputs[place].add_(number)
        return function(*inputs[: self.count])

    def again(self, inputs):
        """The graph's results, for the backward pass."""
        if self.autocast is None:
            return self.run(self.graph, inputs)
        _, device, is_enabled, dtype, keeps_casts = self.autocast
        with torch.autocast(device, dtype, is_enabled, keeps_casts):
            return self.run(self.graph, inputs)

    def flags_of_results(self, inputs, state):
        """Which results are on the tape."""
        with torch.enable_grad():
            own = [
                each.clone() if place in self.statistics else without_tape(each) for place, each in enumerate(inputs)
            ]
            found = self.function(*own[: self.count])
        if self.draws:
            torch.set_rng_state(state)
        found = found if type(found) is tuple else (found,)
        return tuple([isinstance(value, torch.Tensor) and value.requires_grad for value in found])


class Reentrant:
    """A graph in the place of the function of a checkpoint with `use_reentrant=True`, which PyTorch runs. `given`: places of
    the inputs that are the function's positional arguments, in order; the function finds the others by itself. The graph takes
    the first `count` inputs."""

    def __init__(self, function, given, count, preserves):
        self.graph, self.given, self.count, self.preserves = function, given, count, preserves

    def __call__(self, *inputs):
        found = [None if place in self.given else value for place, value in enumerate(inputs)]

        def run(*arguments):
            values = found.copy()
            for place, value in zip(self.given, arguments, strict=True):
                values[place] = value
            return self.graph(*values[: self.count])

        arguments = [inputs[place] for place in self.given]
        return torch.utils.checkpoint.CheckpointFunction.apply(run, self.preserves, *arguments)


def without_tape(value):
    return value.detach().requires_grad_() if isinstance(value, torch.Tensor) and value.requires_grad else value


def share_memory(inputs, results):
    memory = [value.untyped_storage()._cdata for value in results if isinstance(value, torch.Tensor)]
    if len(set(memory)) < len(memory):
        return True
    return any(isinstance(value, torch.Tensor) and value.untyped_storage()._cdata in memory for value in inputs)


class _Recomputed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, checkpointed, results, on_tape, flags, state, *inputs):
        ctx.set_materialize_grads(False)
        # What is saved also says whether the tape was freed.
        ctx.save_for_backward(*[inputs[place] for place in checkpointed.saved], torch.empty(0))
        ctx.inputs = [None if place in checkpointed.saved else value for place, value in enumerate(inputs)]
        ctx.checkpointed, ctx.flags, ctx.state, ctx.on_tape = checkpointed, flags, state, on_tape
        results = tuple([r.data if isinstance(r, torch.Tensor) and r._is_view() else r for r in results])
        off_tape = [r for r, flag in zip(results, on_tape, strict=True) if isinstance(r, torch.Tensor) and not flag]
        ctx.mark_non_differentiable(*off_tape)
        return results

    @staticmethod
    def backward(ctx, *gradients):
        saved, is_differentiated = ctx.saved_tensors, torch.is_grad_enabled()
        inputs = ctx.inputs.copy()
        for place, value in zip(ctx.checkpointed.saved, saved, strict=False):
            inputs[place] = value
        if not _keeps_graph():
            ctx.inputs = None
        with torch.enable_grad(), _without_autocast():
            if is_differentiated:
                own = [v.view_as(v) if flag else v for v, flag in zip(inputs, ctx.flags, strict=True)]
            else:
                # Of a view no cast is kept, so that gradients of casts would not be added before they are cast back.
                own = [v.data.requires_grad_() if flag else v for v, flag in zip(inputs, ctx.flags, strict=True)]
            results = recomputed(ctx.checkpointed, ctx.state, own)
        wanted = [place for place, flag in enumerate(ctx.on_tape) if flag and gradients[place] is not None]
        found = iter(())
        leaves = [value for value, flag in zip(own, ctx.flags, strict=True) if flag]
        if wanted:
            found = torch.autograd.grad(
                [results[place] for place in wanted],
                leaves,
                [gradients[place] for place in wanted],
                create_graph=is_differentiated,
                allow_unused=True,
            )
            found = iter(found)
        return (None,) * 5 + tuple([next(found, None) if flag else None for flag in ctx.flags])


@contextlib.contextmanager
def _without_autocast():
    """As it was where the function was checkpointed; the backward pass may be called within autocast."""
    with contextlib.ExitStack() as disabled:
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                disabled.enter_context(torch.autocast(device, enabled=False))
        yield


def recomputed(checkpointed, state, inputs):
    """The graph's results, of the random numbers that it drew before."""
    if state is None:
        results = checkpointed.again(inputs)
    else:
        now = torch.get_rng_state()
        torch.set_rng_state(state)
        try:
            results = checkpointed.again(inputs)
        finally:
            torch.set_rng_state(now)
    return results if type(results) is tuple else (results,)
