"""The polynomial trend: its basis, its prior, and what has none."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.models.trend import TRENDS, PolynomialTrend


@pytest.mark.parametrize("trend", TRENDS[1:])
@pytest.mark.parametrize("d", [1, 3])
def test_terms_are_uncorrelated_and_their_variances_add_up_to_one(trend: str, d: int) -> None:
    line = PolynomialTrend.named(trend, (0,) * d)
    assert line is not None
    nodes, weights = np.polynomial.legendre.leggauss(5)
    grid = np.stack(np.meshgrid(*[(nodes + 1) / 2] * d), axis=-1).reshape(-1, d)
    mass = np.stack(np.meshgrid(*[weights / 2] * d), axis=-1).reshape(-1, d).prod(axis=1)
    basis = line.basis(grid)
    size = d * TRENDS.index(trend)
    np.testing.assert_allclose(mass @ basis, 0.0, atol=1e-12)
    np.testing.assert_allclose((basis * mass[:, None]).T @ basis, np.eye(size) / size, atol=1e-12)


def test_columns_of_choices_have_no_trend() -> None:
    mixed, numeric = PolynomialTrend.named("quadratic", (0, 3, 0)), PolynomialTrend.named("quadratic", (0, 0))
    assert mixed is not None and numeric is not None
    X = np.random.default_rng(0).random((5, 3))
    np.testing.assert_array_equal(mixed.basis(X), numeric.basis(X[:, [0, 2]]))
    assert PolynomialTrend.named("linear", (3, 2)) is None and PolynomialTrend.named("constant", (0,)) is None


def test_the_prior_has_its_mode_at_the_start() -> None:
    line = PolynomialTrend.named("linear", (0,))
    assert line is not None and line.bounds[0] < line.start < line.bounds[1]
    assert line.prior(line.start) == (0.0, 0.0)
    slope = (line.prior(0.5 + 1e-6)[0] - line.prior(0.5 - 1e-6)[0]) / 2e-6
    assert line.prior(0.5)[1] == pytest.approx(slope, rel=1e-6)
