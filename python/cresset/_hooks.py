"""What runs of backward hooks in a plan: PyTorch's own code, which makes the nodes that call them. Part of `_recording_hooks.py`."""

import torch
from torch.utils.hooks import BackwardHook


def has_full_hooks(module):
    """Whether a module has backward hooks or pre-hooks, and the former are full ones."""
    return bool(module._backward_hooks or module._backward_pre_hooks) and module._is_full_backward_hook is not False


def begin_hooks(module):
    """As nn.Module._call_impl begins a call of a module with such hooks."""
    hooks = module._get_backward_hooks()[0] if module._backward_hooks else []
    return BackwardHook(module, hooks, module._get_backward_pre_hooks() if module._backward_pre_hooks else [])


def hook_inputs(hook, *arguments):
    """The tensors among the arguments of a module, as its forward gets them."""
    found = hook.setup_input_hook(arguments)
    return tuple([value for value in found if isinstance(value, torch.Tensor)])


def hook_result(hook, result):
    """The result of a module that returns a tensor."""
    return hook.setup_output_hook(result)


def hook_results(hook, *results):
    """The tensors in the tuple that a module returns."""
    return tuple([value for value in hook.setup_output_hook(results) if isinstance(value, torch.Tensor)])


class HookedTensor:
    """A tensor that is there gets a hook, which a call takes away if the plan is given up."""

    def __init__(self, register, tensor, hook):
        self.handle = register(tensor, hook)

    def __call__(self):
        self.handle.remove()
