"""The options of the process: ``get``, ``set``, ``override``, and each as an attribute: ``cresset.options.kernels = "off"``.
docs/options.md lists them.

Values are text for choices and texts, and an int for integers. They come from the environment at first
(``CRESSET_PLANS=always``); one that an option can't have raises :class:`cresset.UserError`, there as here.
"""

import contextlib
import sys
import types

from . import _C

_C._check_options_of_environment()

#: Name: its variable in the environment, what it may be, its default, and what it is for.
descriptions = {name: info for name, info, _ in _C._options()}
_are_integers = {name: is_integer for name, _, is_integer in _C._options()}


def _value(name, text):
    return int(text) if _are_integers[name] else text


def _text(name, value):
    # bool is an int to Python, and 0.5 no choice: what is of another type is refused by what it is written as.
    return value if isinstance(value, str) else repr(value)


def get(name=None):
    """The value of an option; without a name, a dict of all."""
    if name is not None:
        return _value(name, _C._get_option(name))
    return {each: get(each) for each in descriptions}


def set(**values):  # noqa: A001  (the module is the namespace: cresset.options.set)
    """Sets options for the whole process, ``set(plans="always", hot_loop=8)``: all of them, or none if one is wrong.

    Calls that run already are not affected.
    """
    _C._set_options([(name, _text(name, value)) for name, value in values.items()])


@contextlib.contextmanager
def override(**values):
    """``with override(plans="always"):`` sets options, and at the end, also by an exception, what they were before.

    For the whole process, other threads too; options that are not named are left alone.
    """
    before = {name: _C._get_option(name) for name in values}
    set(**values)
    try:
        yield
    finally:
        set(**before)


class _Options(types.ModuleType):
    """The module, with each option as an attribute."""

    def __getattr__(self, name):
        if name in descriptions:
            return get(name)
        raise AttributeError(f"there is no option {name!r}: cresset.options.get() has all")

    def __setattr__(self, name, value):
        if name in self.__dict__ or name.startswith("__"):
            super().__setattr__(name, value)
        else:
            set(**{name: value})


sys.modules[__name__].__class__ = _Options

__all__ = ["descriptions", "get", "override", "set"]
