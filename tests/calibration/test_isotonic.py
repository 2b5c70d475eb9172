"""Recalibration by the empirical distribution of PITs, and by any regressor of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from calibo.calibration import Evidence, Isotonic, Regressor, Relevel
from calibo.calibration.isotonic import levels_through, recalibration_set
from calibo.distributions import Gaussian, Levels


def evidence(scores: np.ndarray) -> Evidence:
    t = len(scores)
    return Evidence(np.zeros((t, 1)), np.asarray(scores), Gaussian(np.zeros(t), np.ones(t)))


def levels_of(by: Any, scores: np.ndarray) -> Levels:
    level_map = by.fit(evidence(scores))
    assert isinstance(level_map, Relevel) and isinstance(level_map.levels, Levels)
    return level_map.levels


def test_recalibration_set_counts_ties_once() -> None:
    u, share = recalibration_set(np.array([0.4, 0.1, 0.4, 0.9]))
    np.testing.assert_array_equal(u, [0.1, 0.4, 0.9])
    np.testing.assert_allclose(share, [0.2, 0.6, 0.8])


def test_the_map_goes_through_the_recalibration_set() -> None:
    scores = np.random.default_rng(0).standard_normal(30)
    levels = levels_of(Isotonic(), scores)
    np.testing.assert_allclose(levels.inverse(np.sort(ndtr(scores))), np.arange(1, 31) / 31, atol=1e-9)
    np.testing.assert_allclose(levels.forward(np.arange(1, 31) / 31), np.sort(ndtr(scores)), atol=1e-9)


@given(
    st.lists(st.floats(-0.5, 1.5), min_size=1, max_size=12).map(np.array),
    st.sets(st.integers(0, 1000), min_size=12, max_size=12),
)
def test_levels_through_any_points(p: np.ndarray, places: set[int]) -> None:
    r = np.sort(np.array(sorted(places)) / 1000)[: len(p)]
    levels = levels_through(np.sort(p), r)
    assert levels.p[0] == levels.r[0] == 0 and levels.p[-1] == levels.r[-1] == 1


def regressors() -> dict[str, Any]:
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.linear_model import LinearRegression
    from sklearn.neural_network import MLPRegressor

    return {
        "forest": RandomForestRegressor(n_estimators=20),
        "line": LinearRegression(),
        "network": MLPRegressor(hidden_layer_sizes=(20,), max_iter=300, solver="lbfgs"),
    }


@pytest.mark.parametrize("name", ["forest", "line", "network"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_any_regressor(name: str) -> None:
    scores = 2.0 * ndtri((np.arange(60) + 0.5) / 60)
    by = Regressor(regressors()[name])
    levels = levels_of(by, scores)
    assert np.all(np.diff(levels.p) > 0) and np.all(np.diff(levels.r) >= 0)
    if name != "line":
        assert float(levels.forward(0.9)) > 0.92 and float(levels.forward(0.1)) < 0.08
    np.testing.assert_array_equal(levels.p, levels_of(by, scores).p)  # seeded, and the given one is left alone
