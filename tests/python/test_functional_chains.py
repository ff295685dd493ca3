"""Chains of views of views, written and read (functional_chains.py): every view alone, pairs, and triples."""

import random

import functional_chains as chains
import pytest

#: Several of their elements may be one in memory, or they reach it by its address.
OVERLAPPING = {"expand", "broadcast", "unfold", "as_strided"}


def agree(views, seed):
    chain, told = chains.check(views, seed)
    assert not told, f"{chain.text}\n" + "\n".join(told[:4])
    assert chain.refused <= chain.agreed if OVERLAPPING & set(views) else not chain.refused, chain.text
    return chain.agreed


@pytest.mark.parametrize("view", chains.VIEWS)
def test_views(view):
    """With each write, of all sizes that it fits."""
    assert sum(agree((view,), seed) for seed in range(5)) > 0


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("length", [2, 3])
def test_chains(length, part):
    choose = random.Random(10 * length + part)
    fit = 0
    for seed in range(25):
        fit += agree(tuple(choose.choices(list(chains.VIEWS), k=length)), seed) > 0
    assert fit > 4
