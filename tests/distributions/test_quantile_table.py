"""The distribution between quantiles: reference cases, exact forms against quadrature, tails, atoms, levels without data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from calibo.data import Marginal
from calibo.distributions import Composed, Gaussian, Levels, QuantileTable, relevel
from calibo.errors import RecipeError
from calibo.testing import DistributionSuite

LEVELS = np.array([0.001, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.999])
VALUES = np.array([85.0, 88.0, 89.0, 89.6, 90.0, 90.3, 90.6, 90.8, 91.0, 91.2, 91.6])


class TestSkewed(DistributionSuite):
    """Two skewed tables."""

    def distribution(self, *batch: int) -> QuantileTable:
        return QuantileTable(LEVELS, np.broadcast_to([VALUES, 2.0 * VALUES[::-1] * -0.1], (*batch, 2, 11)))


class TestFewLevels(DistributionSuite):
    """Three quantiles, with much mass in the tails."""

    def distribution(self, *batch: int) -> QuantileTable:
        values = np.array([[0.3, 1.0, 3.0], [-2.0, -1.5, 4.0]])
        return QuantileTable(np.array([0.1, 0.6, 0.9]), np.broadcast_to(values, (*batch, 2, 3)))


class TestAtoms(DistributionSuite):
    """Equal quantiles, inside and at an end."""

    atoms = True

    def distribution(self, *batch: int) -> QuantileTable:
        values = np.array([[0.3, 1.0, 1.0, 3.0], [0.3, 1.0, 2.0, 2.0]])
        return QuantileTable(np.array([0.1, 0.3, 0.7, 0.9]), np.broadcast_to(values, (*batch, 2, 4)))


def test_reference_values(golden: Callable[[str], Any]) -> None:
    case = golden("interpolated_distribution")
    levels, values = np.array(case["levels"]), np.array(case["quantiles"])
    distribution = QuantileTable(levels, values[None])
    for y, expected in case["cdf"].items():
        if values[0] <= float(y) <= values[-1]:
            np.testing.assert_allclose(distribution.cdf(float(y)), expected, atol=1e-12)
    for u, expected in case["ppf"].items():
        np.testing.assert_allclose(distribution.icdf(float(u)), expected, rtol=1e-12)
    for u, v in zip(levels, values, strict=True):
        np.testing.assert_allclose(distribution.icdf(float(u)), v, rtol=1e-12)  # the published code errs at the knots
    scale = float(distribution.icdf(1 - 0.001 * np.exp(-1.0))[0] - values[-1])
    for c, expected in case["EI_exact"].items():
        # The reference leaves out the mass beyond the last quantile, which lies an exponential's mean beyond it.
        beyond = (1 - levels[-1]) * (values[-1] - float(c) + scale)
        np.testing.assert_allclose(distribution.expected_improvement(float(c)) - beyond, expected, rtol=1e-6)


increments = st.lists(st.floats(0.0, 5.0), min_size=3, max_size=12)


@settings(max_examples=25, deadline=None)
@given(increments, st.integers(0, 2**32 - 1), st.floats(-1e3, 1e3))
def test_improvement_is_the_integral_of_the_survival_function(steps: list[float], seed: int, start: float) -> None:
    rng = np.random.default_rng(seed)
    levels = np.sort(np.concatenate([[0.05, 0.95], rng.uniform(0.06, 0.94, len(steps) - 2)]))
    if np.diff(levels).min() < 1e-6:
        return
    values = start + np.cumsum(steps)
    distribution = QuantileTable(levels, values[None])
    spread = values[-1] - values[0] + 1e-3
    for c in (values[0] - 0.3 * spread, values[len(values) // 2], values[-1] + 0.2 * spread):
        points = [v for v in dict.fromkeys(values.tolist()) if v > c]
        whole = quad(
            lambda y: 1 - float(distribution.cdf(y)[0]), c, values[-1] + 0.5 * spread, points=points, limit=400
        )[0]
        far = float(distribution.expected_improvement(values[-1] + 0.5 * spread)[0])
        np.testing.assert_allclose(distribution.expected_improvement(c), whole + far, atol=1e-6 * (1 + spread))


def test_the_tail_is_that_of_a_gaussian_with_the_same_half_width() -> None:
    from scipy.special import ndtri

    distribution = QuantileTable(np.array([0.1, 0.5, 0.9]), ndtri(np.array([[0.1, 0.5, 0.9]])))
    scale = float(distribution.icdf(1 - 0.1 * np.exp(-1.0))[0] - ndtri(0.9))
    assert scale == pytest.approx(0.1 / (np.exp(-0.5 * ndtri(0.9) ** 2) / np.sqrt(2 * np.pi)))


def test_levels_that_are_not_backed_have_infinite_quantiles_and_finite_draws() -> None:
    distribution = QuantileTable(np.array([0.2, 0.5, 0.8]), np.array([[-1.0, 0.0, 1.0]]), backed=(0.2, 0.8))
    assert distribution.interval(0.6) == (-1.0, 1.0)
    assert distribution.interval(0.8) == (-np.inf, np.inf)
    assert distribution.negated().interval(0.8) == (-np.inf, np.inf)
    assert np.isfinite(distribution.draws(np.array([[-8.0], [8.0]]))).all()
    assert np.isfinite([distribution.mean, distribution.std, distribution.log_expected_improvement(50.0)]).all()
    stored = distribution.marginals()[0]
    assert stored.interval(0.6) == pytest.approx((-1.0, 1.0)) and stored.interval(0.9) == (-np.inf, np.inf)
    assert stored.cdf(30.0) > 0.999 and stored.negated().interval(0.9) == (-np.inf, np.inf)
    assert Marginal.from_plain(stored.plain()) == stored


def test_one_end_may_be_backed_alone() -> None:
    distribution = QuantileTable(np.array([0.2, 0.5, 0.8]), np.array([[-1.0, 0.0, 1.0]]), backed=(0.0, 0.8))
    assert np.isfinite(distribution.icdf(0.01)).all() and distribution.icdf(0.81) == np.inf
    assert distribution.negated().icdf(0.1) == -np.inf and np.isfinite(distribution.negated().icdf(0.99)).all()


@pytest.mark.parametrize(
    "levels", [(0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95), (0.05, 0.1, 0.3, 0.7, 0.9, 0.95), (0.2, 0.6, 0.8)]
)
def test_nested_intervals_hold_what_they_held_and_what_is_inside(levels: tuple[float, ...]) -> None:
    p = np.array(levels)
    values = np.random.default_rng(0).standard_normal((200, len(p)))
    nested = QuantileTable.nested(p, values).values
    assert (np.diff(nested, axis=-1) >= 0.0).all()
    below, above = p < 0.5, p > 0.5
    assert (nested[:, below] <= values[:, below]).all() and (nested[:, above] >= values[:, above]).all()
    np.testing.assert_array_equal(nested[:, p == 0.5], values[:, p == 0.5])
    ordered = np.sort(values, axis=-1)
    np.testing.assert_array_equal(QuantileTable.nested(p, ordered).values, ordered)


def test_an_inner_interval_is_not_cut_where_it_reaches_beyond_an_outer_one() -> None:
    p = np.array([0.05, 0.1, 0.5, 0.9, 0.95])
    distribution = QuantileTable.nested(p, np.array([[-1.0, -3.0, 0.0, 3.0, 1.0]]))
    np.testing.assert_array_equal(distribution.values, [[-3.0, -3.0, 0.0, 3.0, 3.0]])


@pytest.mark.parametrize(
    ("levels", "values", "words"),
    [
        ([0.1, 0.5, 0.9], [[0.0, 2.0, 1.0]], "nested"),
        ([0.6, 0.7, 0.8], [[0.0, 0.0, 0.0]], "levels must increase"),
        ([0.1, 0.9], [[0.0, 0.0, 0.0]], "one value per level"),
    ],
)
def test_wrong_tables_are_refused(levels: list[float], values: list[list[float]], words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        QuantileTable(np.array(levels), np.array(values))


def test_dependence_is_that_of_the_copula() -> None:
    strong = Gaussian(np.zeros(2), np.ones(2), lambda: np.array([[1.0, 0.999], [0.999, 1.0]]))
    distribution = QuantileTable(LEVELS, np.broadcast_to(VALUES, (2, 11)), copula=strong)
    drawn = distribution.draws(np.random.default_rng(0).standard_normal((500, 2)))
    assert np.corrcoef(drawn.T)[0, 1] > 0.97
    assert np.corrcoef(distribution.negated().draws(np.random.default_rng(0).standard_normal((500, 2))).T)[0, 1] > 0.97


def test_the_gaussian_alternative_has_the_same_moments() -> None:
    distribution = QuantileTable(LEVELS, VALUES[None])
    np.testing.assert_allclose(
        [distribution.gaussian().mean, distribution.gaussian().std], [distribution.mean, distribution.std]
    )


def test_a_table_without_width_is_a_point() -> None:
    distribution = QuantileTable(np.array([0.1, 0.5, 0.9]), np.full((1, 3), 4.0))
    np.testing.assert_allclose([distribution.mean, distribution.icdf(0.01), distribution.icdf(0.999)], 4.0, rtol=1e-9)
    assert np.isfinite(distribution.log_expected_improvement(np.array([3.0]))).all() and distribution.std < 1e-9


TABLE = QuantileTable(
    np.array([0.05, 0.2, 0.5, 0.7, 0.9]), np.array([[-3.0, -1.0, 0.0, 0.5, 4.0], [1.0, 1.0, 1.5, 2.0, 2.0]])
)
MAPS = {
    "wider": Levels(np.array([0.0, 0.1, 0.5, 0.9, 1.0]), np.array([0.0, 0.02, 0.45, 0.97, 1.0])),
    "narrower": Levels(np.array([0.0, 0.1, 0.5, 0.9, 1.0]), np.array([0.0, 0.3, 0.5, 0.6, 1.0])),
    "with an atom": Levels(np.array([0.0, 0.2, 0.6, 1.0]), np.array([0.0, 0.5, 0.5, 1.0])),
    "the same": Levels.identity(),
}


@pytest.mark.parametrize("levels", MAPS.values(), ids=MAPS)
def test_read_at_other_levels_it_is_a_table_again(levels: Levels) -> None:
    distribution, slow = relevel(TABLE, levels), Composed(TABLE, levels)
    assert isinstance(distribution, QuantileTable)
    u = np.concatenate([[1e-9, 1e-5], np.linspace(0.001, 0.999, 400), [1 - 1e-5, 1 - 1e-9]])
    for one in u:
        tail = not 0.05 <= levels.forward(one) <= 0.9
        np.testing.assert_allclose(distribution.icdf(one), slow.icdf(one), rtol=1e-7, atol=0.005 if tail else 1e-9)
    base = np.random.default_rng(0).standard_normal((50, 2))
    np.testing.assert_allclose(distribution.draws(base), slow.draws(base), atol=0.005)
    mirrored = distribution.negated()
    np.testing.assert_allclose(mirrored.icdf(0.3), -distribution.icdf(0.7))
    np.testing.assert_allclose(mirrored.std, distribution.std)


def test_what_is_not_backed_stays_so_at_other_levels() -> None:
    table = QuantileTable(TABLE.levels, TABLE.values, backed=(0.05, 0.9))
    distribution = relevel(table, MAPS["narrower"])
    low, high = distribution.backed
    assert np.isinf(distribution.icdf(low - 1e-6)).all() and np.isfinite(distribution.icdf(low + 1e-6)).all()
    np.testing.assert_allclose(MAPS["narrower"].forward([low, high]), [0.05, 0.9])
