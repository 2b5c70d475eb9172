"""Why a point was suggested, and the chance that it improves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from calibo.optimize.reasons import BOTH, GOOD, UNCERTAIN, chance_beyond, reasons


def test_the_chance_of_one_outcome_is_that_above_the_best() -> None:
    assert chance_beyond([norm.cdf], np.array([[0.3], [1.0]])) == pytest.approx(norm.sf(1.0))
    assert chance_beyond([norm.cdf], np.empty((0, 1))) == 1.0


@given(st.integers(2, 3), st.lists(st.tuples(*[st.floats(-2, 2)] * 3), min_size=1, max_size=6))
def test_the_chance_of_several_outcomes_is_that_of_draws(m: int, points: list[tuple[float, ...]]) -> None:
    """4,000 draws: five standard errors are .04."""
    front = np.array(points)[:, :m]
    draws = np.random.default_rng(0).standard_normal((4000, m))
    free = ~(front[None] >= draws[:, None]).all(axis=-1).any(axis=1)
    assert chance_beyond([norm.cdf] * m, front) == pytest.approx(free.mean(), abs=0.04)


def test_reasons() -> None:
    others = np.linspace(0, 1, 101)[:, None], np.linspace(0, 1, 101)[:, None]
    means, widths = np.array([[0.95], [0.95], [0.2], [0.5]]), np.array([[0.1], [0.6], [0.9], [0.4]])
    assert reasons((means, widths), others) == [GOOD, BOTH, UNCERTAIN, GOOD]


@pytest.mark.parametrize("mean", [2.0, 0.0])
def test_nothing_is_expected_to_be_good_where_the_same_is_expected_everywhere(mean: float) -> None:
    widths = np.linspace(0.1, 1.0, 20)[:, None]
    means = mean + 1e-12 * np.arange(20.0)[:, None]
    assert reasons((means, widths), (means, widths)) == [UNCERTAIN] * 20


def test_a_trade_off_that_nothing_beats_is_good() -> None:
    rng = np.random.default_rng(0)
    others = rng.random((200, 2)), np.ones((200, 2))
    assert reasons((np.array([[1.1, 0.0]]), np.full((1, 2), 0.5)), others) == [GOOD]
