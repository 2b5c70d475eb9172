"""Each resampler against doing it by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from calibo.calibration import (
    Calibrated,
    KFold,
    LeaveOneOut,
    OnlineQuantile,
    Prequential,
    Resampler,
    StoredAndLeaveOneOut,
    Temperature,
    TimeSeries,
)
from calibo.data import Array, Dataset, Forecast, Marginal
from calibo.distributions import Gaussian
from calibo.errors import RecipeError
from calibo.models import GaussianProcess, Model, Surrogate
from calibo.models.gp_posterior import Posterior

RNG = np.random.default_rng


@dataclass(frozen=True)
class Average(Surrogate):
    """A surrogate without closed forms: everything is like the mean so far."""

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> AverageModel:
        return AverageModel(float(data.Y.mean()), float(data.Y.std()) + 0.1 + len(data))


@dataclass(frozen=True)
class AverageModel(Model):
    mean: float
    std: float

    def predict(self, X: Array, *, latent: bool) -> Gaussian:
        return Gaussian(np.full(X.shape[:-1], self.mean), np.full(X.shape[:-1], self.std))


ONCE = Calibrated(GaussianProcess(), by=Temperature())
NESTED = (GaussianProcess(), ONCE, Calibrated(ONCE, by=OnlineQuantile()))


def data(n: int = 8) -> Dataset:
    rng = RNG(0)
    forecasts = tuple(
        (Forecast((Marginal(float(i), 1.0), Marginal(float(i), 2.0))),) if i % 3 else None for i in range(n)
    )
    return Dataset(X=rng.random((n, 2)), Y=rng.standard_normal((n, 1)), forecasts=forecasts)


def frozen(posterior: Posterior, rows: np.ndarray) -> Posterior:
    """The same hyper-parameters and units with some rows only."""
    return replace(posterior, X=posterior.X[rows], y=posterior.y[rows], noise=posterior.noise[rows])


def test_prequential_reads_what_was_stored() -> None:
    told = data()
    for surrogate, std in zip(NESTED, (1.0, 2.0), strict=False):
        model, evidence = Prequential().fit(surrogate, told, rng=RNG(0))
        kept = [i for i in range(8) if i % 3]
        assert evidence.distribution.marginals() == tuple(Marginal(float(i), std) for i in kept)
        np.testing.assert_array_equal(evidence.y, told.Y[kept, 0])
        np.testing.assert_array_equal(evidence.X, told.X[kept])
        assert isinstance(model.stages[0], Posterior) and len(model.stages[0].y) == 8
    assert len(Prequential().fit(NESTED[2], told, rng=RNG(0))[1]) == 0


def test_prequential_may_fill_in_leave_one_out() -> None:
    told = data()
    _, evidence = Prequential(fill=True).fit(GaussianProcess(), told, rng=RNG(0))
    _, loo = LeaveOneOut().fit(GaussianProcess(), told, rng=RNG(0))
    assert len(evidence) == 8
    found, left_out = evidence.distribution.marginals(), loo.distribution.marginals()
    assert found == tuple(Marginal(float(i), 1.0) if i % 3 else left_out[i] for i in range(8))


@pytest.mark.parametrize("memory", [1.0, 0.8])
def test_stored_forecasts_stand_beside_leave_one_out(memory: float) -> None:
    told = data()
    model, evidence = StoredAndLeaveOneOut(memory).fit(GaussianProcess(), told, rng=RNG(0))
    left_out, found = model.jackknife().marginals(), list[tuple[int, Marginal, float]]()
    for i in range(8):
        if i % 3:
            # The k-th stored forecast before the last one has faded k times.
            later = sum(1 for j in range(i + 1, 8) if j % 3)
            found.append((i, Marginal(float(i), 1.0), memory**later))
        found.append((i, left_out[i], 1.0))
    rows = [i for i, _, _ in found]
    assert evidence.distribution.marginals() == tuple(m for _, m, _ in found)
    np.testing.assert_array_equal(evidence.X, told.X[rows])
    np.testing.assert_array_equal(evidence.y, told.Y[rows, 0])
    assert evidence.weights is not None
    np.testing.assert_allclose(evidence.weights, [w for _, _, w in found])
    # Stored forecasts knew the points before, those left out all others.
    assert evidence.log_distance is not None
    seen = [(i, range(i) if m.mean == i else [j for j in range(8) if j != i]) for i, m, _ in found]
    distances = [sorted(np.linalg.norm(told.X[i] - told.X[j]) for j in others) for i, others in seen]
    second = [known[1] if len(known) > 1 else 1.0 for known in distances]
    np.testing.assert_allclose(evidence.log_distance, np.log(np.array(second)))
    assert isinstance(model, Posterior) and len(model.y) == 8


def test_without_a_closed_form_there_are_stored_forecasts_only() -> None:
    _, evidence = StoredAndLeaveOneOut().fit(Average(), data(), rng=RNG(0))
    _, stored = Prequential().fit(Average(), data(), rng=RNG(0))
    assert evidence.distribution.marginals() == stored.distribution.marginals()
    assert evidence.weights is not None and len(evidence.weights) == len(stored)


@pytest.mark.parametrize("memory", [0.0, 1.1, np.nan])
def test_a_wrong_memory_is_refused(memory: float) -> None:
    with pytest.raises(RecipeError, match="memory"):
        StoredAndLeaveOneOut(memory)


def test_leave_one_out_by_closed_form() -> None:
    told = data()
    model, evidence = LeaveOneOut().fit(GaussianProcess(), told, rng=RNG(0))
    assert isinstance(model, Posterior)
    for i, distribution in enumerate(evidence.distribution.marginals()):
        rest = frozen(model, np.delete(np.arange(8), i)).predict(told.X[[i]], latent=False)
        assert distribution.mean == pytest.approx(float(rest.mean[0]), rel=1e-8)
        assert distribution.std == pytest.approx(float(rest.std[0]), rel=1e-8)


def test_leave_one_out_by_refits() -> None:
    told = data()
    _, evidence = LeaveOneOut().fit(Average(), told, rng=RNG(0))
    for i, distribution in enumerate(evidence.distribution.marginals()):
        rest = np.delete(told.Y[:, 0], i)
        assert (distribution.mean, distribution.std) == pytest.approx((rest.mean(), rest.std() + 0.1 + 7))


def test_time_series_by_closed_form() -> None:
    told = data()
    model, evidence = TimeSeries().fit(GaussianProcess(), told, rng=RNG(0))
    assert isinstance(model, Posterior) and len(evidence) == 6
    for i, distribution in enumerate(evidence.distribution.marginals(), start=2):
        before = frozen(model, np.arange(i)).predict(told.X[[i]], latent=False)
        assert distribution.mean == pytest.approx(float(before.mean[0]), rel=1e-8)
        assert distribution.std == pytest.approx(float(before.std[0]), rel=1e-8)
    np.testing.assert_array_equal(evidence.y, told.Y[2:, 0])


@pytest.mark.parametrize(
    ("splits", "starts"), [(None, [2, 3, 4, 5, 6, 7]), (2, [2, 2, 2, 5, 5, 5]), (99, [2, 3, 4, 5, 6, 7])]
)
def test_time_series_by_refits(splits: int | None, starts: list[int]) -> None:
    told = data()
    _, evidence = TimeSeries(splits).fit(Average(), told, rng=RNG(0))
    assert len(evidence) == 6
    for distribution, start in zip(evidence.distribution.marginals(), starts, strict=True):
        assert distribution.mean == pytest.approx(told.Y[:start, 0].mean())


@pytest.mark.parametrize(
    "resampler",
    [Prequential(fill=True), StoredAndLeaveOneOut(), LeaveOneOut(), TimeSeries(), TimeSeries(3), KFold(4)],
    ids=repr,
)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_points(resampler: Resampler, n: int) -> None:
    told = replace(data(n), forecasts=(None,) * n)
    for surrogate in (GaussianProcess(), Average()):
        model, evidence = resampler.fit(surrogate, told, rng=RNG(0))
        assert np.isfinite(model.predict(told.X, latent=False).mean).all()
        assert len(evidence) <= n and (n > 2 or len(evidence) == 0)
        assert np.isfinite(evidence.scores).all()


@pytest.mark.parametrize("resampler", [LeaveOneOut(), TimeSeries(2), KFold(4)], ids=repr)
def test_what_is_pending_or_failed_is_no_evidence(resampler: Resampler) -> None:
    plain = data()
    busy = replace(plain, X_pending=np.zeros((2, 2)), X_failed=np.ones((3, 2)))
    one, other = (resampler.fit(Average(), d, rng=RNG(0))[1] for d in (plain, busy))
    assert one.distribution.marginals() == other.distribution.marginals()


def test_forecasts_of_another_method_are_no_evidence() -> None:
    distribution = Marginal(0.0, 1.0)
    own, others, unknown = (
        Forecast((distribution, distribution), made_by) for made_by in (ONCE.stage_names, ("Forest", "Isotonic"), ())
    )
    told = Dataset(X=RNG(0).random((3, 1)), Y=RNG(1).random((3, 1)), forecasts=((own,), (others,), (unknown,)))
    for surrogate in NESTED[:2]:
        _, evidence = Prequential().fit(surrogate, told, rng=RNG(0))
        np.testing.assert_array_equal(evidence.X, told.X[[0, 2]])


def test_of_many_data_some_are_left_out_and_old_forecasts_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calibo.models.subsets._ALL_LEFT_OUT", 6)
    monkeypatch.setattr("calibo.models.subsets._LEFT_OUT", 3)
    told, model = data(), GaussianProcess().fit(data(), rng=RNG(0))
    for resampler in (LeaveOneOut(), StoredAndLeaveOneOut(), Prequential(fill=True)):
        _, evidence = resampler.fit(GaussianProcess(), told, rng=RNG(0))
        stored = [] if isinstance(resampler, LeaveOneOut) else [i for i in range(8) if i % 3]
        left_out = [i for i in (0, 4, 7) if not (isinstance(resampler, Prequential) and i in stored)]
        jackknife = isinstance(resampler, StoredAndLeaveOneOut)
        every = (model.jackknife() if jackknife else model.leave_one_out()).marginals()
        expected = [Marginal(float(i), 1.0) for i in stored] + [every[i] for i in left_out]
        assert set(evidence.distribution.marginals()) == set(expected) and len(evidence) == len(expected)
    monkeypatch.setattr("calibo.data._FORGOTTEN", 2)
    _, evidence = Prequential().fit(GaussianProcess(), told, rng=RNG(0))
    assert evidence.distribution.marginals() == (Marginal(7.0, 1.0),)
