"""A calibrated surrogate is a surrogate: nesting, stages, and silence without evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.stats import norm

from calibo.calibration import (
    Calibrated,
    Isotonic,
    LeaveOneOut,
    OnlineQuantile,
    Prequential,
    Recalibrator,
    Temperature,
    identity,
)
from calibo.data import Dataset, Forecast, Marginal
from calibo.distributions import Gaussian
from calibo.errors import RecipeError
from calibo.models import GaussianProcess, Model, Surrogate

RNG = np.random.default_rng
RECALIBRATORS: list[Recalibrator] = [OnlineQuantile(0.3), Isotonic(), Temperature()]
IDS = ["online", "isotonic", "temperature"]


def data(n: int = 12, stages_: int = 1, z: float = 2.0) -> Dataset:
    """Points whose stored forecasts, of so many stages, all missed by ``z`` standard deviations, up and down."""
    rng = RNG(0)
    X = rng.random((n, 2))
    y = np.sin(6 * X[:, 0]) + X[:, 1]
    signs = np.where(np.arange(n) % 2, 1.0, -1.0)
    distributions = [Marginal(float(v + s * z * 0.1), 0.1) for v, s in zip(y, signs, strict=True)]
    return Dataset(
        X=X, Y=y[:, None], forecasts=tuple((Forecast((distribution,) * stages_),) for distribution in distributions)
    )


@pytest.mark.parametrize("by", RECALIBRATORS, ids=IDS)
def test_no_evidence_no_change(by: Recalibrator) -> None:
    silent = replace(data(), forecasts=(None,) * 12)
    X = RNG(1).random((5, 2))
    model = Calibrated(GaussianProcess(), by=by).fit(silent, rng=RNG(0))
    raw = GaussianProcess().fit(silent, rng=RNG(0)).predict(X, latent=False)
    distribution = model.predict(X, latent=False)
    assert model.level_map is identity and isinstance(distribution, Gaussian)
    np.testing.assert_array_equal(distribution.mean, raw.mean)
    np.testing.assert_array_equal(distribution.std, raw.std)


@pytest.mark.parametrize("by", RECALIBRATORS, ids=IDS)
def test_overconfident_forecasts_widen_the_intervals(by: Recalibrator) -> None:
    X = RNG(1).random((5, 2))
    model = Calibrated(GaussianProcess(), by=by).fit(data(z=2.5), rng=RNG(0))
    raw = model.base.predict(X, latent=False)
    for latent in (True, False):
        low, high = model.predict(X, latent=latent).interval(0.8)
        raw_low, raw_high = model.base.predict(X, latent=latent).interval(0.8)
        assert np.all(high - low > raw_high - raw_low)
    assert isinstance(raw, Gaussian)


@pytest.mark.parametrize("by", [Isotonic(), Temperature()], ids=["isotonic", "temperature"])
def test_uniform_pits_change_little(by: Recalibrator) -> None:
    n = 400
    z = RNG(2).standard_normal(n)
    distributions = tuple((Forecast((Marginal(float(-v), 1.0),)),) for v in z)
    calm = Dataset(X=RNG(0).random((n, 1))[:30], Y=np.zeros((30, 1)))
    evidence = Dataset(X=RNG(0).random((n, 1)), Y=np.zeros((n, 1)), forecasts=distributions)
    _, seen = Prequential().fit(GaussianProcess(), evidence.rows(slice(30)), rng=RNG(0))
    assert len(seen) == 30 and len(calm) == 30
    from calibo.calibration import Evidence

    level_map = by.fit(Evidence(evidence.X, np.zeros(n), Gaussian(-z, np.ones(n))))
    standard = Gaussian(np.zeros(1), np.ones(1))
    distribution = level_map(standard, np.zeros((1, 1)))
    u = np.linspace(0.02, 0.98, 49)
    # Kolmogorov: the largest gap of 400 uniform PITs exceeds 1.95 / 20 once in a thousand seeds; this one is fixed.
    gaps = [abs(float(standard.cdf(distribution.icdf(v))[0]) - v) for v in u]
    assert max(gaps) < 1.95 / 20


def test_stage_names_name_the_surrogate_and_the_calibrators_around_it() -> None:
    once = Calibrated(GaussianProcess(), by=Temperature())
    found = [GaussianProcess().stage_names, once.stage_names, Calibrated(once, by=Isotonic()).stage_names]
    assert [len(names) for names in found] == [1, 2, 3]
    assert found[2] == ("GaussianProcess", type(once.by).__name__, "Isotonic")


def test_each_calibrator_reads_its_own_stage() -> None:
    n = 12
    plain = data(n)
    good = [Marginal(float(y + 0.05), 0.1) for y in plain.Y[:, 0]]
    poor = [Marginal(float(y + s), 0.1) for y, s in zip(plain.Y[:, 0], np.tile([-0.5, 0.5], 6), strict=True)]
    # The raw forecasts were poor, those after the first calibrator good.
    told = replace(plain, forecasts=tuple((Forecast((p, g, g)),) for p, g in zip(poor, good, strict=True)))
    inner = Calibrated(GaussianProcess(), by=Temperature(prior=1.0))
    outer = Calibrated(inner, by=Temperature(prior=1.0))
    model = outer.fit(told, rng=RNG(0))
    X = RNG(1).random((3, 2))
    raw, once, twice = (m.predict(X, latent=False) for m in model.stages)
    assert np.all(once.std > 1.5 * raw.std) and np.all(twice.std < once.std)


def test_forecasts_without_the_stage_are_no_evidence() -> None:
    told = data(stages_=1)
    outer = Calibrated(Calibrated(GaussianProcess(), by=Temperature()), by=OnlineQuantile(0.3))
    model = outer.fit(told, rng=RNG(0))
    assert model.level_map is identity and model.stages[1].level_map is not identity  # type: ignore[attr-defined]


@pytest.mark.parametrize("outer", RECALIBRATORS, ids=IDS)
@pytest.mark.parametrize("inner", RECALIBRATORS, ids=IDS)
def test_any_calibrator_around_any_other(inner: Recalibrator, outer: Recalibrator) -> None:
    nested = Calibrated(Calibrated(GaussianProcess(), by=inner), by=outer)
    model = nested.fit(data(stages_=2, z=2.0), rng=RNG(0))
    assert len(model.stages) == 3
    X = RNG(1).random((6, 2))
    for latent in (True, False):
        distribution = model.predict(X, latent=latent)
        assert (
            np.isfinite(distribution.mean).all()
            and np.isfinite(distribution.std).all()
            and np.all(distribution.std > 0)
        )
        low, high = distribution.interval(0.95)
        assert np.isfinite([low, high]).all() and np.all(low < high)
        assert np.isfinite(distribution.log_expected_improvement(1.5)).all()
    quantiles = model.predict(X, latent=False).marginals()[0].quantiles
    assert quantiles is None or (np.isfinite(quantiles).all() and np.all(np.diff(quantiles) >= 0))


@dataclass(frozen=True)
class Counted(Surrogate):
    """A Gaussian process that counts its fits."""

    fits: list[int]

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> Model:
        self.fits.append(len(data))
        return GaussianProcess().fit(data, rng=rng)


def test_nested_leave_one_out_is_one_fit() -> None:
    fits: list[int] = []
    inner = Calibrated(Counted(fits), by=Temperature(), evidence=LeaveOneOut())
    model = Calibrated(inner, by=Isotonic(), evidence=LeaveOneOut()).fit(data(20), rng=RNG(0))
    assert fits == [20]
    # The outer map was learned from the predictions of the inner one.
    raw = model.stages[0].leave_one_out().normal_scores(data(20).Y[:, 0])
    factor = Temperature().factor(raw)
    np.testing.assert_allclose(model.base.leave_one_out().normal_scores(data(20).Y[:, 0]), raw / factor)
    u = np.sort(norm.cdf(raw / factor))
    np.testing.assert_allclose(model.level_map.levels.inverse(u), np.arange(1, 21) / 21)  # type: ignore[attr-defined]


def test_swapped_parts_are_named() -> None:
    with pytest.raises(RecipeError, match=r"by and evidence are swapped: give by=Temperature"):
        Calibrated(GaussianProcess(), by=LeaveOneOut(), evidence=Temperature())  # type: ignore[arg-type]
    with pytest.raises(RecipeError, match=r"by must be a Recalibrator such as OnlineQuantile\(\)"):
        Calibrated(GaussianProcess(), by=LeaveOneOut())  # type: ignore[arg-type]


def test_hyperparameters_pass_through() -> None:
    nested = Calibrated(Calibrated(GaussianProcess(), by=Temperature()), by=OnlineQuantile(0.1))
    assert nested.fit(data(), rng=RNG(0)).hyperparameters == GaussianProcess().fit(data(), rng=RNG(0)).hyperparameters
