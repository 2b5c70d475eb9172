"""A shared surrogate is the surrogate, fitted once."""

from __future__ import annotations

import numpy as np

from calibo.auditing.sharing import Shared, sharing
from calibo.calibration import Calibrated, ConformalBayes, Temperature
from calibo.data import Dataset
from calibo.models import GaussianProcess, QuantileTrees
from calibo.testing import SurrogateSuite


class TestShared(SurrogateSuite):
    def surrogate(self) -> Shared:
        return Shared(GaussianProcess())


def test_equal_innermost_surrogates_are_shared_and_others_are_not() -> None:
    calibrated = Calibrated(GaussianProcess(), by=Temperature())
    recipes = [GaussianProcess(), calibrated, ConformalBayes(GaussianProcess()), QuantileTrees()]
    raw, outer, conformal, trees = sharing(recipes)
    assert isinstance(raw, Shared) and isinstance(outer, Calibrated) and isinstance(conformal, ConformalBayes)
    assert outer.surrogate is raw and conformal.surrogate is raw and trees is not raw
    assert [one.stage_names for one in (raw, outer, conformal, trees)] == [one.stage_names for one in recipes]
    assert [one.capabilities for one in (raw, outer, conformal)] == [one.capabilities for one in recipes[:3]]


def test_other_data_are_fitted_anew_and_few_fits_are_kept() -> None:
    shared, rng = Shared(GaussianProcess()), np.random.default_rng(0)
    X = rng.random((30, 1))
    data = Dataset(X=X, Y=X**2)
    first = shared.fit(data.rows(slice(0, 5)), rng=rng)
    assert shared.fit(data.rows(slice(0, 5)), rng=rng) is first
    for n in range(6, 30):
        shared.fit(data.rows(slice(0, n)), rng=rng)
    assert shared.fit(data.rows(slice(0, 5)), rng=rng) is not first
