"""The exception classes, and what the extension calls to make instances of them."""

import builtins
import errno


class Error(RuntimeError):
    """What Cresset raises by itself: :class:`ScriptError`, :class:`UserError`, :class:`ArchiveError` and their like.

    What an operator throws is the ``RuntimeError`` that eager mode would raise.
    """

    message = ""

    # KeyError would show the repr of a message that is a picture of several lines.
    __str__ = RuntimeError.__str__


class ScriptError(Error):
    """A script raised. What ``torch.jit.Error`` is under torch.jit.

    If the script named a builtin exception class (``raise ValueError(…)``), the instance is one of that class too, so
    ``except ValueError`` catches it.

    Attributes:
        message: the script's own message.
        python_class: the qualified name of the class that the script named, such as ``builtins.ValueError``.
        frames: the script's stack, outermost first: (function, file, line).
    """

    python_class = ""
    frames = ()


class LimitError(ScriptError):
    """A script took more time or memory than its limits allow (:class:`cresset.Limits`)."""


class UserError(Error):
    """A program, an argument or an attribute is wrong. ``message`` is the text without the picture of the place."""


class CompileError(UserError):
    """A UserError that points into a program: ``file`` and ``line`` say where."""

    file = ""
    line = None


class ScriptWarning(UserWarning):
    """A script does something else than the Python code that it was made from."""


class ArchiveError(Error):
    """An archive is damaged, hostile, or newer than this version knows.

    Attributes: ``file``, ``entry`` (the name inside the archive), ``offset`` (a byte in the entry, or None), ``reason``.
    """

    file = ""
    entry = ""
    offset = None
    reason = ""


class ArchiveNotFoundError(FileNotFoundError, ArchiveError, ValueError):
    """There is no file where an archive should be: Python's error for that, and the one that torch.jit.load raises."""

    __str__ = FileNotFoundError.__str__


class ArchiveIsADirectoryError(IsADirectoryError, ArchiveError, ValueError):
    """A folder where an archive should be."""

    __str__ = IsADirectoryError.__str__


class InternalError(Error):
    """A bug in Cresset."""


_combined = {}


def _class_for(python_class):
    module, _, name = python_class.rpartition(".")
    base = getattr(builtins, name, None) if module == "builtins" else None
    if not (isinstance(base, type) and issubclass(base, Exception)) or issubclass(ScriptError, base):
        return ScriptError
    if base not in _combined:
        try:
            # Pickles refer to classes by name, and this one has none that could be imported: __reduce__ goes by ScriptError.
            _combined[base] = type("ScriptError", (ScriptError, base), {"__module__": "cresset", "__reduce__": _reduce})
        except TypeError:  # the layouts of the two classes can't be combined
            _combined[base] = ScriptError
    return _combined[base]


def _reduce(self):
    return (make_script_error, (self.args[0], self.message, self.python_class, self.frames))


ScriptError.__reduce__ = _reduce


def make_script_error(what, message, python_class, frames):
    if not python_class:
        error = RuntimeError(what)  # an operator threw; torch.jit's class for that
    elif python_class == "builtins.KeyboardInterrupt":
        return KeyboardInterrupt(what)
    elif python_class == "cresset.LimitError":
        error = LimitError(what)
    elif python_class == "builtins.RecursionError":
        error = RecursionError(what)
    else:
        error = _class_for(python_class)(what)
    error.message = message
    error.python_class = python_class
    error.frames = tuple(tuple(frame) for frame in frames)
    return error


#: How messages begin for which torch.jit raises another class of Python's than RuntimeError: the errors are of it too.
_OTHER_CLASSES = {
    "Default factory initializers": NotImplementedError,
    "Type annotations on instance attributes": ValueError,
    "Unknown type annotation": ValueError,
}


def _user_class(base, message):
    for beginning, other in _OTHER_CLASSES.items():
        if message.startswith(beginning):
            if (base, other) not in _combined:
                members = {"__module__": "cresset", "__reduce__": _reduce_user_error}
                _combined[base, other] = type(base.__name__, (base, other), members)
            return _combined[base, other]
    return base


def _reduce_user_error(self):
    return (make_user_error, (self.args[0], self.message, getattr(self, "file", ""), getattr(self, "line", None)))


def make_user_error(what, message, file, line):
    if line is None:
        error = _user_class(UserError, message)(what)
    else:
        error = _user_class(CompileError, message)(what)
        error.file = file
        error.line = line
    error.message = message
    return error


def missing_file(path):
    return ArchiveNotFoundError(errno.ENOENT, f"The provided filename {path} does not exist", path)


def not_a_file(path):
    return ArchiveIsADirectoryError(errno.EISDIR, f"The provided filename {path} is a directory", path)


def make_archive_error(what, file, entry, offset, reason):
    error = ArchiveError(what)
    error.file = file
    error.entry = entry
    error.offset = offset
    error.reason = reason
    return error


for _class in (
    Error,
    ScriptError,
    ScriptWarning,
    LimitError,
    UserError,
    CompileError,
    ArchiveError,
    ArchiveNotFoundError,
    ArchiveIsADirectoryError,
    InternalError,
):
    _class.__module__ = "cresset"
