"""The rules for the number of dimensions, each against its formula by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.random_projection import johnson_lindenstrauss_min_dim

from projected_kmeans import RULES, target_dimension
from projected_kmeans.projections.target_dimension import check_eps

# By hand for k = 40, n = 400, eps = 0.3: what stands in the paper or its successors, rounded up.
BY_HAND = {
    "boutsidis2009-columns": 3138,  # 40 * log2(133.33) / 0.09 = 40 * 7.05889 / 0.09 = 3137.3
    "boutsidis2010": 445,  # 40 / 0.09 = 444.4
    "boutsidis2010-proof": 278_755_556,  # 627,200 * 444.44
    "folklore": 97,  # log2(400) / 0.09 = 8.644 / 0.09 = 96.04
    "johnson-lindenstrauss": 665,  # 4 * 5.9915 / (0.045 - 0.009) = 665.7; scikit-learn cuts it off
    "cohen2015": 445,
    "cohen2015-svd": 134,  # 40 / 0.3 = 133.3
    "cohen2015-columns": 1640,  # 40 * 3.68888 / 0.09 = 1639.5
    "cohen2015-log": 41,  # 3.68888 / 0.09 = 40.99
    "makarychev2019": 55,  # ln(133.33) / 0.09 = 4.89285 / 0.09 = 54.4
    "plateau": 100,  # 2.5 * 40
}


@pytest.mark.parametrize("rule", BY_HAND)
def test_by_hand(rule: str) -> None:
    """Each rule gives the number that its formula gives by hand."""
    assert target_dimension(40, eps=0.3, rule=rule, n_samples=400) == BY_HAND[rule]


def test_every_rule_is_computed_by_hand() -> None:
    """No rule is left out above, and each says where it comes from and what it needs."""
    assert set(BY_HAND) == set(RULES)
    for rule in RULES.values():
        assert rule.needs in ("n_clusters", "n_samples")
        assert len(rule.source) > 20


def test_the_constant_of_the_proof() -> None:
    """The proof of 2010 needs 627,200 k / eps^2 dimensions: 800 k / eps'^2 with eps = 28 eps'."""
    assert RULES["boutsidis2010-proof"].formula(1, 1.0) == 627_200
    assert target_dimension(3, eps=0.5, rule="boutsidis2010-proof") == 627_200 * 3 * 4


@pytest.mark.parametrize("n", [2, 50, 10**6])
@pytest.mark.parametrize("eps", [0.1, 0.5, 0.9])
def test_johnson_lindenstrauss_is_scikit_learns(n: int, eps: float) -> None:
    """The bound for all distances is the one that scikit-learn computes."""
    expected = max(1, int(johnson_lindenstrauss_min_dim(n, eps=eps)))
    assert target_dimension(eps=eps, rule="johnson-lindenstrauss", n_samples=n) == expected


def test_the_default_rule() -> None:
    """Without a name the rule is that of Makarychev et al.: ln(k / eps) / eps^2."""
    for k, eps in ((1, 0.5), (10, 0.1), (1000, 0.3)):
        assert target_dimension(k, eps=eps) == math.ceil(math.log(k / eps) / eps**2)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_never_more_than_the_features_nor_less_than_one(rule: str) -> None:
    """The answer is an int from 1 to n_features."""
    for k in (1, 2, 100):
        found = target_dimension(k, eps=0.9, rule=rule, n_samples=k, n_features=64)
        assert type(found) is int
        assert 1 <= found <= 64


@pytest.mark.parametrize("rule", sorted(set(RULES) - {"plateau"}))
def test_a_smaller_eps_needs_more(rule: str) -> None:
    """Dimensions grow as eps falls."""
    found = [target_dimension(9, eps=eps, rule=rule, n_samples=99) for eps in (0.6, 0.3, 0.1)]
    assert found[0] < found[1] < found[2]


def test_rules_cannot_be_changed() -> None:
    """The table of rules is read-only."""
    with pytest.raises(TypeError):
        RULES["mine"] = RULES["plateau"]  # type: ignore[index]


@pytest.mark.parametrize("eps", [0, 0.0, 1, 1.0, -0.1, 1.5, math.nan, math.inf, "0.3", None, True])
def test_eps_outside_is_refused(eps: object) -> None:
    """A value that is not strictly between 0 and 1 is named, with an example."""
    with pytest.raises(ValueError, match=r"eps=.* is outside \(0, 1\); use for example eps=0.3"):
        target_dimension(4, eps=eps)  # type: ignore[arg-type]


@pytest.mark.parametrize("eps", [np.float64(0.3), np.float32(0.3), np.float16(0.3)])
def test_eps_of_numpy_is_taken(eps: float) -> None:
    """A NumPy number inside (0, 1) is as good as a float."""
    check_eps(eps)


def test_bad_rules_and_sizes_are_refused() -> None:
    """A sentence says which rule, which size, and what to do."""
    with pytest.raises(
        ValueError, match=r"rule='best' is not known; use one of boutsidis2009-columns, "
    ):
        target_dimension(4, rule="best")
    with pytest.raises(ValueError, match=r"'folklore' depends on n_samples, got None; pass n_samp"):
        target_dimension(4, rule="folklore")
    with pytest.raises(ValueError, match=r"depends on n_clusters, got None; pass n_clusters"):
        target_dimension(n_samples=4)
    with pytest.raises(ValueError, match=r"n_clusters=0 is too small; use at least 1"):
        target_dimension(0)
