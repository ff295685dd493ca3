"""Tests of promises in time ("within 100 ms"). Other work may take the processor away from a test at any moment."""

import functools


def on_a_busy_machine(test):
    """Runs the test again if an assertion fails, up to ten times in all: a promise that is kept once holds, and one that is
    broken ten times in a row is broken."""

    @functools.wraps(test)
    def again(*args, **kwargs):
        for _ in range(9):
            try:
                return test(*args, **kwargs)
            except AssertionError:
                pass
        return test(*args, **kwargs)

    return again
