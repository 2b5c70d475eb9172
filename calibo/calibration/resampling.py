"""Where held-out forecasts come from: stored ones, leave-one-out or time-series splits (folds: ``splits``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from calibo.checks import check_whole
from calibo.data import Dataset, Evidence, Forecast, Marginal
from calibo.models.base import HasLeaveOneOut, Model, Surrogate
from calibo.models.standardization import single_outcome

#: A model of fewer points says nothing worth learning from.
FEWEST_POINTS = 2


class Resampler(Protocol):
    """Gives a model, of all data or of what is not held out, and evidence of how it forecasts what it has not seen."""

    def fit(
        self, surrogate: Surrogate, data: Dataset, *, makers: tuple[str, ...], rng: np.random.Generator
    ) -> tuple[Model, Evidence]:
        """The model, and evidence in the order of the outcomes.

        Args:
            surrogate: Whose forecasts are wanted.
            data: All that is known, one outcome.
            makers: The names of what makes the stages of the surrogate's forecasts; its own distribution is the last of them.
            rng: For shuffling and for surrogates that draw.
        """
        ...


@dataclass(frozen=True)
class Prequential:
    """The forecasts stored when the points were asked for: the only evidence the online theorems speak of.

    Attributes:
        fill: Points told but never asked for have no forecast. ``False`` skips them; ``True`` lets their
            leave-one-out predictions stand in (closed form where the model has one).
    """

    fill: bool = False

    def fit(
        self, surrogate: Surrogate, data: Dataset, *, makers: tuple[str, ...], rng: np.random.Generator
    ) -> tuple[Model, Evidence]:
        model = surrogate.fit(data, rng=rng)
        distributions = [None if f is None or f[0] is None else _law_by(f[0], makers) for f in data.forecasts]
        if self.fill and len(data) > FEWEST_POINTS and None in distributions:
            stand_in = _leave_one_out(surrogate, model, data, rng)
            distributions = [
                stand_in[i] if distribution is None else distribution for i, distribution in enumerate(distributions)
            ]
        return model, held_out(data, distributions)


@dataclass(frozen=True)
class LeaveOneOut:
    """Each point forecast from all the others: by the model's closed form, or by n refits without one."""

    def fit(
        self, surrogate: Surrogate, data: Dataset, *, makers: tuple[str, ...], rng: np.random.Generator
    ) -> tuple[Model, Evidence]:
        model = surrogate.fit(data, rng=rng)
        if len(data) <= FEWEST_POINTS:
            return model, held_out(data, [None] * len(data))
        return model, held_out(data, _leave_one_out(surrogate, model, data, rng))


@dataclass(frozen=True)
class TimeSeries:
    """Each block of points forecast from all before it.

    Attributes:
        splits: Number of blocks that are forecast, by refits. ``None`` forecasts every point from those before it,
            under the hyper-parameters of all data, by the model's closed form (or by refits without one).
    """

    splits: int | None = None

    def __post_init__(self) -> None:
        if self.splits is not None:
            check_whole("the number of splits", self.splits)

    def fit(
        self, surrogate: Surrogate, data: Dataset, *, makers: tuple[str, ...], rng: np.random.Generator
    ) -> tuple[Model, Evidence]:
        model, n = surrogate.fit(data, rng=rng), len(data)
        distributions: list[Marginal | None] = [None] * n
        if self.splits is None and isinstance(model, HasLeaveOneOut) and n > FEWEST_POINTS:
            distributions[FEWEST_POINTS:] = model.one_step_ahead().marginals()[FEWEST_POINTS:]
            return model, held_out(data, distributions)
        splits = min(self.splits or n, max(n - FEWEST_POINTS, 0))
        blocks = np.array_split(np.arange(FEWEST_POINTS, n), splits) if splits else []
        for block in blocks:
            _forecast(surrogate, data, np.arange(block[0]), block, distributions, rng)
        return model, held_out(data, distributions)


def _law_by(forecast: Forecast, makers: tuple[str, ...]) -> Marginal | None:
    """The distribution that a surrogate made as a stage of a forecast; ``None`` if the forecast is another method's."""
    depth = len(makers)
    if len(forecast.stages) < depth or (forecast.makers and forecast.makers[:depth] != makers):
        return None
    return forecast.stages[depth - 1]


def _leave_one_out(surrogate: Surrogate, model: Model, data: Dataset, rng: np.random.Generator) -> list[Marginal]:
    if isinstance(model, HasLeaveOneOut):
        return list(model.leave_one_out().marginals())
    distributions: list[Marginal | None] = [None] * len(data)
    for i in range(len(data)):
        _forecast(surrogate, data, np.delete(np.arange(len(data)), i), np.array([i]), distributions, rng)
    return [distribution for distribution in distributions if distribution is not None]


def _forecast(
    surrogate: Surrogate,
    data: Dataset,
    train: np.ndarray,
    test: np.ndarray,
    distributions: list[Marginal | None],
    rng: np.random.Generator,
) -> None:
    """Puts the distributions of the ``test`` rows, from a model of the ``train`` rows, into ``distributions``."""
    fitted = surrogate.fit(data.rows(train), rng=rng)
    for i, distribution in zip(test, fitted.predict(data.X[test], latent=False).marginals(), strict=True):
        distributions[i] = distribution


def held_out(data: Dataset, distributions: Sequence[Marginal | None]) -> Evidence:
    """The evidence of the points that have a distribution."""
    kept = [i for i, distribution in enumerate(distributions) if distribution is not None]
    y = single_outcome(data.Y)
    return Evidence(
        data.X[kept],
        y[kept],
        tuple(distribution for distribution in distributions if distribution is not None),
        data.categories,
    )
