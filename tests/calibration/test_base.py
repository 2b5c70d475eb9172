"""A calibrated surrogate is a surrogate: nesting, stages, and silence without evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.stats import norm

from calibo import Optimizer
from calibo.acquisition import ExpectedImprovement
from calibo.calibration import (
    Calibrated,
    ConditionalQuantile,
    GroupedQuantile,
    Isotonic,
    LeaveOneOut,
    LocalizedOnline,
    LocalizedQuantile,
    OnlineQuantile,
    Recalibrator,
    StoredAndLeaveOneOut,
    Temperature,
    identity,
)
from calibo.calibration.base import LevelMap
from calibo.calibration.evidence import Evidence
from calibo.data import Dataset, Forecast, Marginal, Suggestion
from calibo.distributions.relative_spread import log_spread_before
from calibo.errors import RecipeError
from calibo.models import GaussianProcess, Model, Surrogate, Warped
from calibo.optimize import ModelBased
from calibo.search import RandomDraw
from calibo.spaces import Float
from calibo.trials import forecast_from_json, forecast_to_json

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
    return Dataset(X=X, Y=y[:, None], forecasts=tuple((Forecast((one,) * stages_),) for one in distributions))


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
        assert np.isfinite([distribution.mean, distribution.log_expected_improvement(1.5)]).all()
        assert np.isfinite(distribution.std).all() and np.all(distribution.std > 0)
        low, high = distribution.interval(0.95)
        assert np.isfinite([low, high]).all() and np.all(low < high)
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


class Forgetful(Recalibrator):
    """A recalibrator without a return statement."""

    def fit(self, evidence: Evidence) -> LevelMap:
        return None  # type: ignore[return-value]


def test_a_recalibrator_that_returns_no_function_is_named() -> None:
    with pytest.raises(RecipeError, match=r"Forgetful must return a level map.*got None"):
        Calibrated(GaussianProcess(), by=Forgetful()).fit(data(), rng=RNG(0))


# --- what is stored decides -----------------------------------------------------------------------------------------------


def by_reach(by: Recalibrator) -> Calibrated:
    inner = Calibrated(Warped(GaussianProcess()), by=ConditionalQuantile(), evidence=StoredAndLeaveOneOut())
    return Calibrated(inner, by=by)


def asynchronous(surrogate: Surrogate, n: int, seed: int = 0) -> Optimizer:
    """A study of three workers at a time, whose outcomes arrive in another order than their points were suggested."""
    strategy = ModelBased(surrogate, ExpectedImprovement(), search=RandomDraw(32, 16))
    optimizer = Optimizer({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}, strategy, seed=seed, n_initial=6)
    rng, pending = RNG(seed), list[Suggestion]()
    while len(optimizer.data()) < n:
        pending.append(optimizer.ask())
        if len(pending) == 3:
            one = pending.pop(int(rng.integers(3)))
            optimizer.tell(one, float(np.exp(3.0 * one.params["x"]) + np.sin(9.0 * one.params["y"])))
    return optimizer


@pytest.mark.parametrize(
    "by",
    [
        GroupedQuantile(1.0, trust=5.0),
        LocalizedOnline(eta0=0.3, localize="reach", trust=5.0),
        LocalizedQuantile(0.5, localize="reach"),
    ],
    ids=lambda by: type(by).__name__,
)
def test_calibration_by_reach_follows_from_what_is_stored(by: Recalibrator) -> None:
    """From stored forecasts in the order of completion alone: through JSON, and whatever else is pending."""
    surrogate = by_reach(by)
    optimizer = asynchronous(surrogate, 16)
    told = optimizer.data()
    numbers = [trial.number for trial in optimizer.trials if trial.values is not None]
    assert sum(f is not None for f in told.forecasts) >= 10 and len(told.X_pending) > 0 and len(numbers) == 16
    read = tuple(
        None if known is None else tuple(None if f is None else forecast_from_json(forecast_to_json(f)) for f in known)
        for known in told.forecasts
    )
    X = RNG(1).random((6, 2))
    model = surrogate.fit(told, rng=RNG(0))
    for other in (replace(told, forecasts=read), replace(told, X_pending=np.empty((0, 2)))):
        again = surrogate.fit(other, rng=RNG(7))
        for latent in (False, True):
            for u in (0.1, 0.5, 0.95):
                one, two = (m.predict(X, latent=latent).icdf(u) for m in (model, again))
                np.testing.assert_array_equal(one, two)
    # What was learned at the time of each outcome is what is learned now from those before it.
    whole = model.evidence
    for cut in (3, 7):
        rows = np.flatnonzero([f is not None for f in told.forecasts])[:cut]
        part = surrogate.fit(told.rows(np.arange(rows[-1] + 1)), rng=RNG(0)).evidence
        np.testing.assert_array_equal(*(log_spread_before(e.distribution, e.y)[:cut] for e in (whole, part)))
        np.testing.assert_array_equal(whole.pit[:cut], part.pit)


def test_similar_forecasts_of_several_stages_are_the_most() -> None:
    told = data(12, stages_=2)
    once = Calibrated(GaussianProcess(), by=Temperature())
    twice = Calibrated(once, by=OnlineQuantile()).fit(told, rng=RNG(0))
    X = RNG(2).random((5, 2))
    inner, outer = twice.base.similar_forecasts(X), twice.similar_forecasts(X)
    assert inner.shape == (5,) and (outer >= inner).all() and (outer <= 12.0).all()
    assert (
        Calibrated(GaussianProcess(), by=Temperature()).fit(data(5, 0), rng=RNG(0)).similar_forecasts(X) == 0.0
    ).all()
