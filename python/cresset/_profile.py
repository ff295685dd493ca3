"""Which lines of scripts took how long: torch.jit's _ScriptProfile."""

import linecache
import re
import threading

import torch

_LINE = re.compile(r"(?P<file>.+)\((?P<line>\d+)\): ")
_OF_SCRIPTS = 2  # at::RecordScope::TORCHSCRIPT_FUNCTION; Python's own functions have names of the same form


class ScriptProfile:
    """Counts what the lines of scripts compute, between :meth:`enable` and :meth:`disable` or in a ``with`` statement.

    A hit is an operator that a line called; its time includes what it calls. Operators of a kernel count as one. Several can
    be enabled at once. They are built upon torch.profiler, of which there can be one at a time: no other one may run.

    >>> with cresset.ScriptProfile() as profile:
    ...     model(x)
    >>> profile.dump()
    """

    _lock = threading.Lock()
    _enabled = []  # those that count now
    _running = None  # torch's profiler, which serves them all

    def __init__(self):
        self._lines = {}

    def enable(self):
        with self._lock:
            if self in self._enabled:
                raise RuntimeError("the profile is enabled already")
            self._change([*self._enabled, self])

    def disable(self):
        with self._lock:
            if self in self._enabled:  # else nothing, as torch.jit has it
                self._change([profile for profile in self._enabled if profile is not self])

    @classmethod
    def _change(cls, enabled):
        """Hands what was counted until now to those that were enabled."""
        profiler, cls._running = cls._running, None
        counted, cls._enabled = cls._enabled, []
        if profiler is not None:
            profiler.__exit__(None, None, None)
            for event in profiler.events():
                match = _LINE.match(event.name)
                if match and event.scope == _OF_SCRIPTS:
                    elapsed = round(event.time_range.elapsed_us() * 1000)
                    for profile in counted:
                        profile._add(match["file"], int(match["line"]), elapsed)
        if enabled:
            profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], with_stack=True)
            profiler.__enter__()
            cls._running, cls._enabled = profiler, enabled

    def _add(self, file, line, elapsed):
        hits, time = self._lines.setdefault(file, {}).get(line, (0, 0))
        self._lines[file][line] = (hits + 1, time + elapsed)

    def __enter__(self):
        self.enable()
        return self

    def __exit__(self, *exception):
        self.disable()

    @property
    def lines(self):
        """{file: {number of a line: (hits, nanoseconds)}}."""
        return self._lines

    def dump_string(self):
        """A table per file, from the first line with a hit to the last."""
        tables = []
        for file, lines in sorted(self._lines.items()):
            rows = [("Line #", "Hits", "Time (ns)", "Line Contents")]
            for number in range(min(lines), max(lines) + 1):
                hits, time = lines.get(number, ("", ""))
                rows.append((str(number), str(hits), str(time), linecache.getline(file, number).rstrip("\n")))
            widths = [max(len(row[i]) for row in rows) for i in range(3)]
            texts = ["  ".join([*(cell.rjust(w) for cell, w in zip(row, widths)), row[3]]).rstrip() for row in rows]
            tables.append("\n".join([file, texts[0], "=" * len(texts[0]), *texts[1:]]))
        return "\n\n".join(tables)

    def dump(self):
        """Prints the tables."""
        print(self.dump_string())
