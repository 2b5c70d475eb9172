"""Replayed forecasts: those of a live study, from the past only, by models that are fitted no more often than needed."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from calibo import Float, Optimizer, methods
from calibo.auditing.forecasters import forecasters_of
from calibo.auditing.replay import Forecaster, replayed
from calibo.calibration import Calibrated, Temperature
from calibo.data import Dataset
from calibo.errors import FallbackWarning
from calibo.models import GaussianProcess, Model, Surrogate


@dataclass(frozen=True)
class Counted(Surrogate):
    """A Gaussian process that notes the size of the data of each fit, and whether hyperparameters were fitted."""

    fits: list[tuple[int, bool]] = field(default_factory=list)
    hidden: bool = False

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> Model:
        self.fits.append((len(data), data.refit))
        model = GaussianProcess().fit(data, rng=rng)
        return replace(model, stored=()) if self.hidden else model


def toy(n: int = 30) -> Dataset:
    X = np.random.default_rng(0).random((n, 2))
    return Dataset(X=X, Y=np.sin(5.0 * X[:, :1]) + X[:, 1:])


@pytest.mark.parametrize("method", ["ocbo", "cqr"])
def test_replayed_forecasts_are_those_of_the_live_study(method: str) -> None:
    optimizer = Optimizer({"x": Float(-1, 2), "y": Float(0, 1)}, method, direction="maximize", seed=3)
    for _ in range(16):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, np.cos(3 * suggestion.params["x"]) + suggestion.params["y"])
    start = next(i for i, trial in enumerate(optimizer.trials) if trial.forecasts is not None)
    live = [trial.forecasts[0] for trial in optimizer.trials[start:] if trial.forecasts is not None]
    forecaster = replace(forecasters_of([method])[0], refit_after=0.0)
    (made,) = replayed(optimizer.data(), [forecaster], start=start, seed=3)
    assert len(made) == len(live) == 16 - start
    for ours, theirs in zip(made, live, strict=True):
        assert ours.stage_names == theirs.stage_names
        for one, other in zip(ours.stages, theirs.stages, strict=True):
            assert one.mean == pytest.approx(other.mean, rel=1e-6)
            assert one.interval(0.8) == pytest.approx(other.interval(0.8), rel=1e-6)


def test_forecasts_depend_on_the_past_only() -> None:
    data = toy(14)
    changed = replace(data, Y=np.concatenate([data.Y[:9], data.Y[9:] + 5.0]))
    forecasters = forecasters_of(["ocbo", "cqr"])
    before, after = (replayed(one, forecasters, start=5) for one in (data, changed))
    for one, other in zip(before, after, strict=True):
        assert one[:5] == other[:5]  # rows 5 to 9
        assert one[5] != other[5]


def test_forecasters_with_the_same_surrogate_inside_fit_it_once() -> None:
    counted = Counted()
    forecasters = [
        Forecaster("raw", counted),
        Forecaster("once", Calibrated(counted, by=Temperature())),
        Forecaster("twice", Calibrated(Calibrated(counted, by=Temperature()), by=Temperature())),
    ]
    raw, once, twice = replayed(toy(12), forecasters, start=5)
    assert [n for n, _ in counted.fits] == list(range(5, 12))
    assert [f.stages[0] for f in raw] == [f.stages[0] for f in once] == [f.stages[0] for f in twice]
    assert len(twice[0].stages) == 3


def test_hyperparameters_are_fitted_when_the_data_have_grown() -> None:
    counted = Counted()
    replayed(toy(30), [Forecaster("raw", counted, refit_after=0.2)], start=5)
    assert len(counted.fits) == 25
    assert [n for n, refit in counted.fits if refit] == [5, 6, 7, 8, 9, 10, 12, 14, 16, 19, 22, 26]


def test_models_without_hyperparameters_are_kept_while_data_are_nearly_the_same() -> None:
    counted = Counted(hidden=True)
    replayed(toy(103), [Forecaster("raw", counted)], start=96)
    assert [n for n, _ in counted.fits] == [96, 97, 98, 99, 100, 102]


def test_a_forecaster_that_falls_back_says_so_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        replayed(_far(), forecasters_of({"mine": methods.cbo(ratio=None, alpha=0.05)}), start=3)
    said = [str(one.message) for one in caught if one.category is FallbackWarning]
    assert len(said) == 1 and said[0].startswith("mine, ")


def _far() -> Dataset:
    """Few points, so that a conformal set of 95 % is everything."""
    X = np.linspace(0.0, 1.0, 8)[:, None]
    return Dataset(X=X, Y=X**2)
