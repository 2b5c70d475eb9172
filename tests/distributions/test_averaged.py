"""Averages of distributions: quantiles are averaged, disagreement counts where asked for, pools are made at once."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.distributions import Gaussian, Levels, LowerTailPower, QuantileTable, Relevelled, Transformed, averaged
from calibo.errors import RecipeError

RNG = np.random.default_rng
GAUSSIANS = [
    Gaussian(np.array([0.0, 1.0]), np.array([1.0, 2.0]), lambda: np.array([[1.0, 0.5], [0.5, 1.0]]), 0.1),
    Gaussian(np.array([3.0, -1.0]), np.array([0.5, 1.0]), None, 0.3),
]
TABLES = [
    QuantileTable(np.array([0.1, 0.5, 0.9]), np.array([[0.0, 1.0, 2.0]])),
    QuantileTable(np.array([0.1, 0.5, 0.9]), np.array([[1.0, 4.0, 4.5]]), backed=(0.1, 0.9)),
]


@pytest.mark.parametrize("distributions", [GAUSSIANS, TABLES], ids=["gaussian", "table"])
@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.2, 0.8)])
def test_quantiles_are_averaged(distributions: list, weights: tuple[float, float]) -> None:
    distribution = averaged(distributions, weights)
    for u in (0.1, 0.3, 0.5, 0.77, 0.9):
        expected = sum(w * one.icdf(u) for w, one in zip(weights, distributions, strict=True))
        np.testing.assert_allclose(distribution.icdf(u), expected, rtol=1e-12)


def test_a_level_must_be_backed_by_all() -> None:
    assert averaged(TABLES, (0.5, 0.5)).icdf(0.95) == np.inf


def test_disagreement_counts_as_in_a_mixture() -> None:
    distribution = averaged(GAUSSIANS, (0.25, 0.75), between=True)
    rng = RNG(0)
    which = rng.random(400_000) < 0.25
    drawn = np.where(which, *(g.mean[0] + g.std[0] * rng.standard_normal(400_000) for g in GAUSSIANS))
    np.testing.assert_allclose([distribution.mean[0], distribution.std[0]], [drawn.mean(), drawn.std()], rtol=0.01)
    assert isinstance(distribution, Gaussian) and distribution.noise_std == pytest.approx(0.25)


@pytest.mark.parametrize("between", [True, False])
def test_dependence_is_pooled(between: bool) -> None:
    distribution = averaged(GAUSSIANS, (0.5, 0.5), between=between)
    assert isinstance(distribution, Gaussian) and distribution.correlation is not None
    away = np.array([g.mean - distribution.mean for g in GAUSSIANS]) * between
    own = [
        np.diag(g.std) @ c @ np.diag(g.std) for g, c in zip(GAUSSIANS, ([[1, 0.5], [0.5, 1]], np.eye(2)), strict=True)
    ]
    covariance = np.mean(own, axis=0) + away.T @ away / 2
    std = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(distribution.correlation(), covariance / np.outer(std, std), rtol=1e-12)


@pytest.mark.parametrize("distributions", [GAUSSIANS, TABLES], ids=["gaussian", "table"])
def test_several_pools_are_made_at_once(distributions: list) -> None:
    weights = np.array([[0.1, 0.5, 1.0], [0.9, 0.5, 0.0]])
    pools = averaged(distributions, list(weights[:, :, None]))
    for i in range(3):
        one = averaged(distributions, list(weights[:, i]))
        np.testing.assert_allclose(pools.icdf(0.3)[i], one.icdf(0.3), rtol=1e-12)
        np.testing.assert_allclose(pools.mean[i], one.mean, rtol=1e-12)


def test_what_does_not_go_together_is_refused() -> None:
    other = QuantileTable(np.array([0.2, 0.8]), np.array([[0.0, 1.0]]))
    for distributions in ([TABLES[0], other], [GAUSSIANS[0], TABLES[0]]):
        with pytest.raises(RecipeError, match="cannot be averaged"):
            averaged(distributions, (0.5, 0.5))


def test_transformed_outcomes_are_averaged_by_their_quantiles() -> None:
    """Each in a transform of its own, or in none: as models of folds may choose."""
    one, other = (
        Gaussian(np.array([0.0, 1.0]), np.array([1.0, 2.0])),
        Gaussian(np.array([0.5, 0.0]), np.array([0.3, 1.0])),
    )
    parts = [one, *(Transformed(other, LowerTailPower(power, 0.0, 1.0, -9.0)) for power in (0.1, 0.6))]
    weights = (0.5, 0.2, 0.3)
    mixed = averaged(parts, weights, between=True)
    for u in (0.025, 0.1, 0.5, 0.9):
        expected = sum(w * part.icdf(u) for w, part in zip(weights, parts, strict=True))
        np.testing.assert_allclose(mixed.icdf(u), expected, rtol=1e-9)
    several = averaged(parts, list(np.array([[0.5, 0.0], [0.2, 1.0], [0.3, 0.0]])[..., None]))
    np.testing.assert_allclose(several.icdf(0.9), [mixed.icdf(0.9), parts[1].icdf(0.9)], rtol=1e-9)
    calibrated = Transformed(Relevelled(one, Levels.identity()), LowerTailPower(0.1, 0.0, 1.0, -9.0))
    with pytest.raises(RecipeError, match="Transformed cannot be averaged"):
        averaged([calibrated, calibrated], (0.5, 0.5))
