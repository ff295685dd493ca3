"""The cut-point suite: each function of the corpus × each code object in it × each number of instructions that our
evaluator runs of its frames before CPython's goes on. What the program can see must be as if CPython had run it all.

Needs no torch: `python3.12 tests/python/frame_cuts.py` compiles the evaluator for that Python and runs all cuts.
"""

import gc
import subprocess
import sys
import sysconfig
import tempfile
import types
from pathlib import Path

import frame_corpus


def codes_of(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_of(constant)


def traceback_of(error):
    entries = []
    while error is not None:
        tb = error.__traceback__
        chain = []
        while tb is not None:
            code = tb.tb_frame.f_code
            if code.co_filename != __file__:
                positions = None
                if hasattr(code, "co_positions"):
                    positions = list(code.co_positions())[tb.tb_lasti // 2]
                # Not tb_lasti: CPython itself says either a call or its last cache, by how it runs calls.
                chain.append((code.co_name, tb.tb_lineno, tb.tb_frame.f_lineno, positions))
            tb = tb.tb_next
        entries.append((type(error).__name__, str(error), chain))
        error = error.__cause__ or error.__context__
    return entries


def observe(call):
    """All that is compared."""
    log = []
    tracked = call.__globals__["Tracked"]
    shared = [None, call.__globals__["Base"], call.__globals__["simple"], "text-of-its-own" * 2]
    before = [sys.getrefcount(x) for x in shared[1:]]
    try:
        result = ("returned", repr(call(log)))
    except BaseException as error:
        result = ("raised", traceback_of(error))
        del error
    after = [sys.getrefcount(x) for x in shared[1:]]
    live = tracked.live
    return result, repr(log), live, [a - b for a, b in zip(after, before)], sys.exc_info()


class Caller:
    """A call that cuts frames; looks like the function to `observe`."""

    def __init__(self, module, function, code, count):
        self.module, self.function, self.code, self.count = module, function, code, count
        self.__globals__ = function.__globals__
        self.run = 0

    def __call__(self, log):
        result, self.run = self.module.call_with_cut(self.function, (log,), {}, self.code, self.count)
        return result


def is_settled(function):
    """Two plain runs that look the same: caches are warm, and circles that wait for the collector don't differ."""
    seen = None
    for _ in range(6):
        gc.collect()
        function.__globals__["Tracked"].live = 0
        now = observe(function)
        if now == seen:
            return now
        seen = now
    return None


def check(module, name, step=1, limit=None):
    """(cuts tried, instructions run here, complaints) for a function of the corpus."""
    function = frame_corpus.FUNCTIONS[name]
    expected = is_settled(function)
    cuts = run = 0
    complaints = []
    for code in codes_of(function.__code__):
        count, last = 0, None
        while True:
            function.__globals__["Tracked"].live = 0
            caller = Caller(module, function, code, count)
            seen = observe(caller)
            cuts += 1
            run += caller.run
            if expected is not None and seen != expected:
                complaints.append(f"{name}, {code.co_name} after {count}: {seen}\n   instead of {expected}")
                break
            # As many as ever: no frame has more. (A call that raised does not say how many; its code says.)
            if (
                caller.run == last
                and count
                and caller.run
                or count > len(code.co_code) // 2 + 40
                or limit
                and count > limit
            ):
                break
            last = caller.run
            count += step
    if expected is None:
        complaints.append(f"{name}: two plain runs differ")
    return cuts, run, complaints


def build(folder):
    """The module _frames (capture/module.cpp), made for this Python in `folder`."""
    root = Path(__file__).resolve().parents[2]
    sources = sorted((root / "src" / "cresset" / "capture").glob("*.cpp"))
    options = ["-O1", "-fPIC", f"-I{root / 'src'}", f"-I{sysconfig.get_path('include')}"]
    monitoring = f"{folder}/monitoring.o"
    c_file = root / "src" / "cresset" / "capture" / "monitoring.c"
    subprocess.run(["gcc", *options, "-c", c_file, "-o", monitoring], check=True)
    module = f"{folder}/_frames.so"
    subprocess.run(["g++", "-std=c++20", *options, "-shared", *sources, monitoring, "-o", module], check=True)
    sys.path.insert(0, folder)


def main():
    with tempfile.TemporaryDirectory() as folder:
        build(folder)
        import _frames
    assert _frames.why_frames_are_unknown() is None, _frames.why_frames_are_unknown()
    gc.disable()
    cuts = run = failed = 0
    for name in frame_corpus.FUNCTIONS:
        c, r, complaints = check(_frames, name)
        cuts, run, failed = cuts + c, run + r, failed + bool(complaints)
        for complaint in complaints[:2]:
            print(complaint[:1500])
    functions = len(frame_corpus.FUNCTIONS)
    print(f"{sys.version.split()[0]}: {functions} functions, {cuts} cuts, {run} instructions, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
