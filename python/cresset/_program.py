"""CompilationUnit: functions and classes compiled from text."""

import sys

from . import _C


class CompilationUnit:
    """Functions and classes compiled from TorchScript source.

    >>> cu = cresset.CompilationUnit("def f(x): return x + 1")
    >>> cu.f(torch.zeros(2))
    tensor([1., 1.])
    """

    def __init__(self, lang=None, _frames_up=0):
        self.__dict__["_c"] = _C._CompilationUnit()
        if lang is not None:
            self.define(lang, _frames_up=_frames_up + 1)

    def define(self, lang, file="", _frames_up=0):
        """Compiles all definitions of the text; adds none of them if one is wrong.

        Names that neither the text nor the unit defines are those of the calling code: functions and classes that they
        lead to are compiled as :func:`cresset.script` does it.
        """
        self._c.define(_dedent(lang), file, _names_of(sys._getframe(_frames_up + 1)))

    def __getattr__(self, name):
        function = self._c.find_function(name) if not name.startswith("__") else None
        if function is None:
            raise AttributeError(f"'CompilationUnit' has no attribute '{name}'")
        self.__dict__[name] = function  # later look-ups don't come here
        return function

    def find_function(self, name):
        """The function of that (qualified) name; None if there is none."""
        return self._c.find_function(name)

    def get_functions(self):
        """All functions, in order of definition."""
        return [self._c.find_function(name) for name in self._c.function_names()]

    def create_function(self, name, graph, shouldMangle=False):
        """Adds a function whose body is a copy of ``graph``; under another name if its own is taken and it may be."""
        return self._c.create_function(name, graph, shouldMangle)

    def get_class(self, name):
        """The type of a class; None if there is none of that (qualified) name."""
        return self._c.get_class(name)

    def get_interface(self, name):
        """The type of an interface; None if there is none of that (qualified) name."""
        return self._c.get_interface(name)

    def set_optimized(self, optimized):
        """Without effect, as in torch.jit: programs are always optimized."""

    @property
    def functions(self):
        return self.get_functions()

    def __dir__(self):
        return sorted({*object.__dir__(self), *self._c.function_names()})

    def __repr__(self):
        return f"<cresset.CompilationUnit: {', '.join(self._c.function_names()) or 'empty'}>"


def _names_of(frame):
    if frame.f_locals is frame.f_globals:
        return frame.f_globals
    return {**frame.f_globals, **frame.f_locals}


def _dedent(text):
    """Text in a triple-quoted string is usually indented as a whole."""
    import textwrap

    return textwrap.dedent(text)


CompilationUnit.__module__ = "cresset"
