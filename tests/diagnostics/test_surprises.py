"""Gains that are many times the expected one."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.diagnostics import surprises
from calibo.distributions import Gaussian
from calibo.errors import DataError


def test_right_forecasts_keep_the_bound_and_overconfident_ones_do_not() -> None:
    """4,000 standard normal outcomes with the best at .5; a tenth of the spread expects gains that come far too often."""
    y, best = np.random.default_rng(0).standard_normal(4000), np.full(4000, 0.5)
    zeros = np.zeros(4000)
    for found in surprises(Gaussian(zeros, zeros + 1.0), y, best):
        assert found.share <= found.bound and "within" in str(found)
    (ten,) = surprises(Gaussian(zeros, zeros + 0.1), y, best, ratios=(10.0,))
    assert ten.share == pytest.approx(np.mean(y > 0.5), abs=1e-3) and "more than 10.0%" in str(ten)


def test_counts() -> None:
    """E (Y - 0)_+ of a standard normal is .3989: twice that is .798, and nothing is gained below the best."""
    y = np.array([0.79, 0.81, -3.0, 4.1])
    shares = [found.share for found in surprises(Gaussian(np.zeros(4), np.ones(4)), y, np.zeros(4), ratios=(2.0, 10.0))]
    assert shares == [0.5, 0.25]
    never = surprises(Gaussian(np.full(2, -1e9), np.ones(2)), np.array([-2.0, -1.0]), np.zeros(2))
    assert [found.share for found in never] == [0.0, 0.0, 0.0]


def test_what_is_refused() -> None:
    one = Gaussian(np.zeros(2), np.ones(2))
    with pytest.raises(DataError, match="one outcome and one best for each"):
        surprises(one, np.zeros(3), np.zeros(2))
    with pytest.raises(DataError, match="must be finite"):
        surprises(one, np.array([0.0, np.nan]), np.zeros(2))
    with pytest.raises(DataError, match="ratios must be above 1"):
        surprises(one, np.zeros(2), np.zeros(2), ratios=(1.0,))
