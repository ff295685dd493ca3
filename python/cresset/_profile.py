"""Which lines of scripts took how long: torch.jit's _ScriptProfile."""

import linecache
import re

import torch

_LINE = re.compile(r"(?P<file>.+)\((?P<line>\d+)\): ")
_OF_SCRIPTS = 2  # at::RecordScope::TORCHSCRIPT_FUNCTION; Python's own functions have names of the same form


class ScriptProfile:
    """Counts what the lines of scripts compute, between :meth:`enable` and :meth:`disable` or in a ``with`` statement.

    A hit is an operator that a line called; its time includes what it calls. Operators of a kernel count as one. Built upon
    torch.profiler, of which there can be one at a time.

    >>> with cresset.ScriptProfile() as profile:
    ...     model(x)
    >>> profile.dump()
    """

    def __init__(self):
        self._profiler = None
        self._lines = {}

    def enable(self):
        if self._profiler is not None:
            raise RuntimeError("the profile is enabled already")
        self._profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], with_stack=True)
        self._profiler.__enter__()

    def disable(self):
        if self._profiler is None:
            return  # as torch.jit has it
        profiler, self._profiler = self._profiler, None
        profiler.__exit__(None, None, None)
        for event in profiler.events():
            match = _LINE.match(event.name)
            if match and event.scope == _OF_SCRIPTS:
                hits, time = self._lines.setdefault(match["file"], {}).get(int(match["line"]), (0, 0))
                elapsed = round(event.time_range.elapsed_us() * 1000)
                self._lines[match["file"]][int(match["line"])] = (hits + 1, time + elapsed)

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
