"""One number for the width of every interval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibo.calibration import Evidence, Relevel, Temperature
from calibo.distributions import Gaussian, Tempered
from calibo.errors import RecipeError

scores = st.lists(st.floats(-30, 30), max_size=40).map(np.array)


def test_nothing_seen_nothing_changed() -> None:
    assert Temperature().factor(np.array([])) == 1.0


def test_the_maximum_likelihood_scale_shrunk_towards_one() -> None:
    z = np.array([1.0, -2.0, 0.5, 1.5])
    expected = np.sqrt((2.0 + np.square(z).sum()) / (2.0 + 4))
    assert Temperature(prior=2.0, memory=1.0, largest=100.0).factor(z) == pytest.approx(expected)


def test_memory_forgets() -> None:
    z = np.concatenate([np.full(50, 3.0), np.full(50, 0.5)])
    assert Temperature(memory=0.9).factor(z) < 0.7 < Temperature(memory=1.0).factor(z)


def test_weights_fade_by_age() -> None:
    z, memory, prior = np.array([0.5, 1.5, 1.0]), 0.8, 2.0
    w = memory ** np.array([2, 1, 0])
    expected = np.sqrt((prior + w @ z**2) / (prior + w.sum()))
    assert Temperature(prior, memory, 100.0).factor(z) == pytest.approx(expected)


@given(scores)
def test_one_surprise_cannot_blow_up_all_intervals(z: np.ndarray) -> None:
    by = Temperature(prior=4.0, largest=3.0)
    before, after = by.factor(z), by.factor(np.append(z, 1e12))
    assert np.isfinite(after) and 0 < after <= 3.0 * before


@pytest.mark.parametrize("bad", [{"prior": 0.0}, {"memory": 0.0}, {"memory": 1.1}, {"largest": 0.0}])
def test_bad_settings_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(RecipeError, match="Temperature needs"):
        Temperature(**bad)


def test_fit_widens_a_distribution() -> None:
    evidence = Evidence(np.zeros((8, 1)), np.full(8, 2.0), Gaussian(np.zeros(8), np.ones(8)))
    level_map = Temperature().fit(evidence)
    assert isinstance(level_map, Relevel) and isinstance(level_map.levels, Tempered)
    distribution = level_map(Gaussian(np.zeros(1), np.ones(1)), np.zeros((1, 1)))
    assert isinstance(distribution, Gaussian) and float(distribution.std[0]) == pytest.approx(
        Temperature().factor(np.full(8, 2.0))
    )
