"""Freezing: a script module whose attributes become part of its code. The work is done in C++ (module/freeze.h)."""

from . import _C
from ._objects import ScriptModule


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """A new script module of ``forward``, inlined, in which the values of attributes are constants.

    Stay do the methods and attributes that ``preserved_attrs`` names (``"scale"``, ``"encoder.scale"``; a submodule stays
    as a whole), attributes that a method that stays writes to, and what shares memory with them. All others are gone,
    submodules and ``training`` too. The tensors are ``mod``'s own; ``mod`` does not change. Lists, dicts and tuples are put
    together anew in each call; one of very many parts stays an attribute.

    Args:
        mod: a script module in evaluation mode.
        preserved_attrs: names of methods and attributes.
        optimize_numerics: fold batch norms, and arithmetic with constants, into the weights of the convolution or linear
            layer before them. That changes bits, once and for all calls.
    """
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            "Freezing expects a ScriptModule as input. "
            "Please use cresset.script or cresset.trace to script your 'nn.Module'."
        )
    preserved = list(preserved_attrs or ())
    return _with_methods(_C._freeze(mod, preserved, optimize_numerics), preserved)


def _with_methods(mod, names):
    """Methods that stayed are found before those that nn.Module has under the same name (``half``, ``type``)."""
    for name in names:
        method = mod._c.method(name)
        if method is not None:
            mod.__dict__[name] = method
    return mod


def run_frozen_optimizations(mod, optimize_numerics=True, preserved_methods=None):
    """What :func:`freeze` does at its end, for a frozen module: in place, before its methods run for the first time."""
    _C._run_frozen_optimizations(mod, optimize_numerics, list(preserved_methods or ()))


def optimize_for_inference(mod, other_methods=None):
    """:func:`freeze` in evaluation mode, to which ``mod`` itself goes; and convolutions may compute in a layout of their own,
    which changes bits, once and for all calls. A module that is frozen already is copied, if it has other convolutions.
    """
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            "optimize_for_inference expects a ScriptModule as input. "
            "Please use cresset.script or cresset.trace to script your 'nn.Module'."
        )
    methods = list(other_methods or ())
    return _with_methods(_C._optimize_for_inference(mod, methods), methods)
