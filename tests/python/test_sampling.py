"""The share of cases that `./dev test` runs has each kind, and other cases for other operators."""

import pytest
import sampling


@pytest.fixture(autouse=True)
def in_shares(monkeypatch):
    monkeypatch.setattr(sampling, "WHOLE", False)


CASES = [(kind, number) for kind in "abc" for number in range({"a": 1, "b": 2, "c": 30}[kind])]


@pytest.mark.parametrize("every", [1, 2, 3, 7, 100])
def test_each_kind_is_kept(every):
    for key in ("aten::add.Tensor", "aten::exp", ""):
        kept = sampling.share(iter(CASES), every, key, lambda case: case[0])
        assert {kind for kind, _ in kept} == set("abc")
        assert kept == sorted(kept) == sampling.share(CASES, every, key, lambda case: case[0])
        assert sum(kind == "c" for kind, _ in kept) <= 30 // every + 1
    assert every > 1 or kept == CASES


def test_keys_share_all_cases_out():
    kept = {case for key in range(50) for case in sampling.share(CASES, 5, str(key))}
    assert kept == set(CASES)


def test_the_whole(monkeypatch):
    assert sampling.amount(3, 10) == 3
    monkeypatch.setattr(sampling, "WHOLE", True)
    assert sampling.share(CASES, 5) == CASES and sampling.amount(3, 10) == 10
