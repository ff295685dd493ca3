"""Random nestings of levels and transforms (functional_nestings.py), a few of each kind."""

import functional_nestings as nestings
import pytest


@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("has_views", [True, False])
def test_random_nestings(has_views, part):
    for seed in range(15 * part, 15 * (part + 1)):
        for what, where in nestings.compare(seed, list(nestings.TRANSFORMS) if has_views else ["none"], has_views):
            assert what is None, f"seed {seed}: {what}\n{where}"


@pytest.mark.parametrize("seed", [48, 62, 174, 322, *range(12)])
def test_graphs_of_random_nestings(seed):
    """Of which the first four had wrong values, or errors."""
    has_views = seed % 2 == 0
    transforms = ["vmap", "grad", "vmap of grad"] if has_views else ["none"]
    differing = [(what, where) for what, where in nestings.compare_graphs(seed, transforms, has_views) if what]
    assert not differing, differing[0]


def test_differences_are_found():
    """The comparison tells results, gradients and errors apart."""
    one = ([nestings.torch.ones(3)], [True])
    assert nestings.difference(one, one, True) is None
    assert nestings.difference(one, ([nestings.torch.zeros(3)], [True]), True) == "other values"
    assert nestings.difference(one, ([nestings.torch.ones(3)], [False]), True) == "other requires_grad"
    assert nestings.difference(one, "some error", True).startswith("raises")
    assert nestings.difference("some error", one, True).startswith("does not raise")
    assert nestings.difference(one, nestings.REFUSED[0], True) is None
