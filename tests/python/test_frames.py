"""Frames of CPython are run here for k instructions and then given back: nothing shows (see frame_cuts.py)."""

import gc
import subprocess
import sys
import threading

import frame_corpus
import frame_cuts
import pytest

from cresset import _frames


@pytest.fixture(autouse=True)
def no_collection():
    """What a collection finds belongs to no call."""
    gc.disable()
    yield
    gc.enable()


def test_frames_of_this_python_are_known():
    assert _frames.why_frames_are_unknown() is None


def test_the_corpus_is_large():
    assert len(frame_corpus.FUNCTIONS) >= 150


@pytest.mark.parametrize("name", frame_corpus.FUNCTIONS)
def test_cuts(name):
    cuts, run, complaints = frame_cuts.check(_frames, name)
    assert not complaints, complaints[0]
    assert cuts > 1 and (run > 0 or frame_cuts.is_settled(frame_corpus.FUNCTIONS[name])[0][0] == "raised")


def test_a_cut_that_shows_is_found():
    """The suite can fail: a function that sees how it is run differs."""
    namespace = dict(frame_corpus.FUNCTIONS["constant"].__globals__)
    exec("def sees(log):\n    return seen()", namespace)
    calls = []
    namespace["seen"] = lambda: len(calls) > 4 or calls.append(1)
    frame_corpus.FUNCTIONS["sees"] = namespace["sees"]
    try:
        assert frame_cuts.check(_frames, "sees")[2]
    finally:
        del frame_corpus.FUNCTIONS["sees"]


def count_to(n):
    total = 0
    for i in range(n):
        total += i
    return total


def test_memory_and_threads():
    code = count_to.__code__
    results = []

    def work():
        for k in range(400):
            results.append(_frames.call_with_cut(count_to, (50,), {}, code, k)[0])

    threads = [threading.Thread(target=work) for _ in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert results == [1225] * 1600


def test_debuggers_win():
    """A frame that a tracer or profiler watches is CPython's from its start."""
    events = []

    def tracer(frame, event, argument):
        if frame.f_code is count_to.__code__:
            events.append(event)
        return tracer

    assert _frames.why_frames_are_unknown() is None  # asked for before tools watch
    sys.settrace(tracer)
    try:
        result, run = _frames.call_with_cut(count_to, (3,), {}, count_to.__code__, 10)
    finally:
        sys.settrace(None)
    assert result == 3 and run == 0
    assert events.count("line") > 6 and events[0] == "call" and events[-1] == "return"
    count_to(3)  # from CPython 3.12 on this takes the tools' instructions out of the code
    assert _frames.call_with_cut(count_to, (3,), {}, count_to.__code__, 10) == (3, 10)


def test_signals_arrive_in_loops():
    program = """
import _thread, threading, time
from cresset import _frames
def loop():
    while True: pass
threading.Timer(0.5, _thread.interrupt_main).start()
try: _frames.call_with_cut(loop, (), {}, loop.__code__, 10**12)
except KeyboardInterrupt: print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
    assert done.stdout == "interrupted\n", done.stderr
