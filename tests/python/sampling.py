"""How much of a sweep `./dev test` runs: a share of the cases that has each kind, the same ones every time.

`./dev test --whole` runs all cases (CRESSET_WHOLE_TESTS=1), which takes hours. Random programs have counts of their own, and `./dev fuzz`.
"""

import os
import zlib

WHOLE = os.environ.get("CRESSET_WHOLE_TESTS", "0") != "0"


def share(cases, every, key="", kind=lambda case: None):
    """Of the cases of each kind one in `every`, at least one. Which ones depends on `key`: with the name of an operator, say, it is the first case of one
    operator and the second of another."""
    cases = list(cases)
    if WHOLE:
        return cases
    kinds = {}
    for number, case in enumerate(cases):
        kinds.setdefault(kind(case), []).append(number)
    kept = set()
    for order, numbers in enumerate(kinds.values()):
        first = (zlib.crc32(key.encode()) + order) % every
        kept.update(numbers[first::every] or [numbers[first % len(numbers)]])
    return [case for number, case in enumerate(cases) if number in kept]


def amount(short, whole):
    """A number of cases, programs or samples."""
    return whole if WHOLE else short
