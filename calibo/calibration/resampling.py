"""Resamplers: held-out forecasts from storage, leave-one-out, time-series splits, folds and bootstrap samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from calibo.arguments import check_fields
from calibo.calibration.evidence import Evidence
from calibo.calibration.nearness import Nearness
from calibo.checks import check_between, check_whole
from calibo.data import Array, Dataset, Forecast, Marginal, Rows, remembered_from
from calibo.distributions import Distribution, averaged, from_marginals, stacked
from calibo.models.base import Capability, Model, ModelWrapper, Surrogate
from calibo.models.standardization import single_outcome
from calibo.models.subsets import left_out_rows

#: A model of fewer points gives no forecasts to learn from.
FEWEST_POINTS = 2
#: Rows of a dataset and the forecasts of their outcomes.
HeldOut = tuple[Rows, Distribution]

_OF_A_PART = "the model was fitted to a part of the data"
_OF_SEVERAL = "several models of parts of the data are averaged"


class Resampler(ABC):
    """A way to get a model, and evidence of how it forecasts what it has not seen; subclasses are frozen dataclasses.

    Attributes:
        hides: Capabilities of the surrogate's models that the model does not pass on, each with the reason.
    """

    hides: ClassVar[Mapping[Capability, str]] = MappingProxyType({})

    @abstractmethod
    def fit(self, surrogate: Surrogate, data: Dataset, *, rng: np.random.Generator) -> tuple[Model, Evidence]:
        """Fit the surrogate and forecast outcomes that were held out.

        Args:
            surrogate: The surrogate that is to be calibrated.
            data: All data, with one outcome.
            rng: Source of all randomness.

        Returns:
            The model, of all data or of what is not held out, and the evidence in the order of the outcomes.
        """


@dataclass(frozen=True)
class Prequential(Resampler):
    """The forecasts that were stored when the points were suggested: the evidence that the online theorems are about.

    Attributes:
        fill: Outcomes of points that were never suggested have no forecast. `False` skips them; `True` uses their
            leave-one-out predictions instead (in closed form where the model has one).
    """

    fill: bool = False

    def fit(self, surrogate: Surrogate, data: Dataset, *, rng: np.random.Generator) -> tuple[Model, Evidence]:
        model = surrogate.fit(data, rng=rng)
        parts = [_stored(surrogate, data)]
        if self.fill and len(data) > FEWEST_POINTS:
            missing = np.setdiff1d(left_out_rows(len(data)), parts[0][0])
            if missing.size:
                parts.append((missing, _leave_one_out(surrogate, model, data, missing, rng)))
        return model, held_out(data, parts)


@dataclass(frozen=True)
class StoredAndLeaveOneOut(Resampler):
    """The stored forecasts, and beside them the leave-one-out predictions of the present model (`Model.jackknife`).

    Stored forecasts are honest for the points that the search chose, leave-one-out predictions for what lies between the
    data, if hyperparameters have not seen the outcome either; an outcome with a stored forecast occurs twice. Models without
    leave-one-out predictions in closed form have the stored forecasts only: refits after every outcome would cost too much.
    The evidence tells how far each point was from the data that its forecast knew.

    Attributes:
        memory: Share of the weight of a stored forecast that is left one stored forecast later, in (0, 1]: it was made by a
            model of fewer data than the present one.
    """

    memory: float = 0.97

    def __post_init__(self) -> None:
        check_fields(self)
        check_between("memory", self.memory, 0.0, 1.0, including="high")

    def fit(self, surrogate: Surrogate, data: Dataset, *, rng: np.random.Generator) -> tuple[Model, Evidence]:
        model = surrogate.fit(data, rng=rng)
        parts = [_stored(surrogate, data)]
        count = len(parts[0][0])
        weights = [self.memory ** np.arange(count - 1, -1, -1, dtype=np.float64)]
        if len(data) > FEWEST_POINTS and Capability.LEAVE_ONE_OUT in model.capabilities:
            rows = left_out_rows(len(data))
            parts.append((rows, model.jackknife(rows)))
            weights.append(np.ones(len(rows)))
        rows = np.concatenate([rows for rows, _ in parts])
        order, nearness = np.argsort(rows, kind="stable"), Nearness.of(data)
        earlier, others = rows[:count], rows[count:]
        distances = [nearness.of_earlier(data.X[earlier], earlier), nearness.of_others(data.X[others], others)]
        return model, replace(
            held_out(data, parts),
            weights=np.concatenate(weights)[order],
            nearness=nearness,
            log_distance=np.concatenate(distances)[order],
        )


@dataclass(frozen=True)
class LeaveOneOut(Resampler):
    """Each point forecast from all the others: in the model's closed form, or by n refits without one."""

    def fit(self, surrogate: Surrogate, data: Dataset, *, rng: np.random.Generator) -> tuple[Model, Evidence]:
        model = surrogate.fit(data, rng=rng)
        if len(data) <= FEWEST_POINTS:
            return model, held_out(data, [])
        rows = left_out_rows(len(data))
        return model, held_out(data, [(rows, _leave_one_out(surrogate, model, data, rows, rng))])


@dataclass(frozen=True)
class TimeSeries(Resampler):
    """Each block of points forecast from all before it.

    Attributes:
        splits: Number of blocks that are forecast, by refits. `None` forecasts every point from those before it, under the
            hyperparameters of all data, in the model's closed form (or by refits without one).
    """

    splits: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.splits is not None:
            check_whole("the number of splits", self.splits)

    def fit(self, surrogate: Surrogate, data: Dataset, *, rng: np.random.Generator) -> tuple[Model, Evidence]:
        model, n = surrogate.fit(data, rng=rng), len(data)
        later = np.arange(FEWEST_POINTS, n)
        if self.splits is None and len(later) and Capability.ONE_STEP_AHEAD in model.capabilities:
            return model, held_out(data, [(later, stacked([model.one_step_ahead()], later))])
        splits = min(self.splits or n, len(later))
        blocks = np.array_split(later, splits) if splits else []
        return model, held_out(data, [_forecast(surrogate, data, np.arange(b[0]), b, rng) for b in blocks])


@dataclass(frozen=True)
class Split(Resampler):
    """A model of some of the points, drawn at random, forecasts the rest.

    The model never sees the points it is judged by, so that conformal intervals keep their guarantee exactly on exchangeable
    data, at the price of the information in those points.

    Attributes:
        fraction: Share of the points that is forecast.
    """

    fraction: float = 0.5
    hides: ClassVar[Mapping[Capability, str]] = {
        Capability.LEAVE_ONE_OUT: _OF_A_PART,
        Capability.ONE_STEP_AHEAD: _OF_A_PART,
    }

    def __post_init__(self) -> None:
        check_fields(self)
        check_between("the fraction of points kept for calibration", self.fraction, 0.0, 1.0)

    def fit(self, surrogate: Surrogate, data: Dataset, *, rng: np.random.Generator) -> tuple[Model, Evidence]:
        n = len(data)
        kept = min(max(round(self.fraction * n), 1), n - FEWEST_POINTS)
        if kept < 1:
            return surrogate.fit(data, rng=rng), held_out(data, [])
        order = shuffled(data, rng)
        model = surrogate.fit(data.rows(np.sort(order[kept:])), rng=rng)
        test = np.sort(order[:kept])
        return PartialModel(model), held_out(data, [(test, model.predict(data.X[test], latent=False))])


@dataclass(frozen=True, eq=False)
class PartialModel(ModelWrapper):
    """A model of a part of the data; its leave-one-out predictions would not be those of all points. Adds no stage."""

    hides: ClassVar[Mapping[Capability, str]] = Split.hides

    @property
    def stages(self) -> tuple[Model, ...]:
        return self.base.stages

    def predict(self, X: Array, *, latent: bool) -> Distribution:
        return self.base.predict(X, latent=latent)


@dataclass(frozen=True, eq=False)
class Pooled(Model):
    """Several models averaged.

    Attributes:
        models: The P models.
        between: Whether their disagreement counts as uncertainty; else their quantiles are averaged.
        weights: Weights of the models, P for one pool, or `P x t` for t pools at once.
    """

    models: tuple[Model, ...]
    between: bool
    weights: Array
    #: What an average of models cannot do though its members can.
    hides: ClassVar[Mapping[Capability, str]] = dict.fromkeys(
        (
            *(Capability.HYPERPARAMETERS, Capability.LEAVE_ONE_OUT, Capability.ONE_STEP_AHEAD),
            *(Capability.AUGMENTATION, Capability.DEPENDENCE),
        ),
        _OF_SEVERAL,
    )

    @property
    def capabilities(self) -> frozenset[Capability]:
        return frozenset.intersection(*(m.capabilities for m in self.models)).difference(self.hides)

    @property
    def stages(self) -> tuple[Model, ...]:
        inner = zip(*(model.stages[:-1] for model in self.models), strict=True)
        return (*(replace(self, models=models) for models in inner), self)

    def predict(self, X: Array, *, latent: bool) -> Distribution:
        """Predict the outcome at `... x q x d` points: `... x q` of one pool, `t x ... x q` of several."""
        predicted = [model.predict(X, latent=latent) for model in self.models]
        ones = [1] * (X.ndim - 1)
        weights = self.weights if self.weights.ndim == 1 else self.weights.reshape(*self.weights.shape, *ones)
        return averaged(predicted, list(weights), between=self.between)

    @property
    def lengthscales(self) -> Array:
        return np.exp(self._mean(lambda model: np.log(model.lengthscales)))

    def noise_variance(self, X: Array, *, level: float = 0.5) -> Array:
        return self._mean(lambda model: model.noise_variance(X, level=level))

    def in_distribution(self, X: Array) -> Array:
        return self._mean(lambda model: model.in_distribution(X))

    def similar_forecasts(self, X: Array) -> Array:
        return self._mean(lambda model: model.similar_forecasts(X))

    def learned(self, proposals: Array, *, rng: np.random.Generator) -> Pooled:
        """Return the average of the models as learned from `proposals`."""
        return replace(self, models=tuple(model.learned(proposals, rng=rng) for model in self.models))

    def _mean(self, of: Callable[[Model], Array]) -> Array:
        return np.einsum("p,p...->...", self.weights, np.array([of(model) for model in self.models]))


@dataclass(frozen=True)
class KFold(Resampler):
    """Each fold, drawn at random, forecast from the other folds, by k fits.

    Attributes:
        k: Number of folds.
        refit: `False`: the model is the average of the k models' quantiles (cross-conformal as in Chen 2025, and what CV+
            needs). `True`: it is a further fit, to all points.
    """

    k: int = 5
    refit: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        check_whole("the number of folds", self.k, 2)

    @property
    def hides(self) -> Mapping[Capability, str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Capabilities that the model does not pass on: those of an average, unless it is refitted."""
        return {} if self.refit else Pooled.hides

    def fit(self, surrogate: Surrogate, data: Dataset, *, rng: np.random.Generator) -> tuple[Model, Evidence]:
        n = len(data)
        if n <= FEWEST_POINTS:
            return surrogate.fit(data, rng=rng), held_out(data, [])
        folds = np.array_split(shuffled(data, rng), min(self.k, n))
        rest = [np.setdiff1d(np.arange(n), fold) for fold in folds]
        unseen = np.zeros((n, len(folds)))
        for j, fold in enumerate(folds):
            unseen[fold, j] = 1.0
        if not self.refit:
            return _pooled(surrogate, data, rest, unseen, between=False, rng=rng)
        models = surrogate.fit_many(data, rest, rng=rng)
        parts = [(f, m.predict(data.X[f], latent=False)) for f, m in zip(folds, models, strict=True)]
        return surrogate.fit(data, rng=rng), held_out(data, parts)


@dataclass(frozen=True)
class Bootstrap(Resampler):
    """Models of points drawn with replacement; each point is forecast by those that did not draw it (out of bag).

    With `Conformal(plus=True)` this is the jackknife+-after-bootstrap (Kim et al. 2020). The spread between the models is
    part of a Gaussian distribution's variance; of quantile tables, quantiles are averaged. Points that every model drew
    have no forecast and are left out of the evidence.

    Attributes:
        samples: Number of models, B.
    """

    samples: int = 20
    hides: ClassVar[Mapping[Capability, str]] = Pooled.hides

    def __post_init__(self) -> None:
        check_fields(self)
        check_whole("the number of bootstrap samples", self.samples, 2)

    def fit(self, surrogate: Surrogate, data: Dataset, *, rng: np.random.Generator) -> tuple[Model, Evidence]:
        n = len(data)
        if n <= FEWEST_POINTS:
            return surrogate.fit(data, rng=rng), held_out(data, [])
        order = in_order(data)
        drawn = [np.sort(order[rng.integers(n, size=n)]) for _ in range(self.samples)]
        unseen = np.ones((n, self.samples))
        for j, rows in enumerate(drawn):
            unseen[rows, j] = 0.0
        return _pooled(surrogate, data, drawn, unseen, between=True, rng=rng)


def held_out(data: Dataset, parts: Sequence[HeldOut]) -> Evidence:
    """Return the evidence of forecasts of some rows, in the order of the data.

    Args:
        data: One outcome.
        parts: Rows, and the distributions of their outcomes by models that had not seen them.
    """
    kept = [part for part in parts if len(part[0])]
    rows = np.concatenate([rows for rows, _ in kept]) if kept else np.empty(0, dtype=np.intp)
    order = np.argsort(rows, kind="stable")
    distribution = stacked([part for _, part in kept], order) if kept else from_marginals([])
    y = single_outcome(data.Y)[rows[order]]
    return Evidence(data.X[rows[order]], y, distribution, data.categories, activity=data.activity)


def in_order(data: Dataset) -> np.ndarray:
    """Return the rows sorted by point, then by outcome, n: an order that does not depend on that of the data."""
    return np.lexsort((*data.Y.T, *data.X.T[::-1]))


def shuffled(data: Dataset, rng: np.random.Generator) -> np.ndarray:
    """Return the rows in a random order, n, the same whatever the order of the data."""
    return in_order(data)[rng.permutation(len(data))]


def _stored(surrogate: Surrogate, data: Dataset) -> HeldOut:
    """Return the rows with a stored forecast of the surrogate, and those forecasts, as far as they are remembered."""
    start, names = remembered_from(len(data)), surrogate.stage_names
    recent = ((row, f[0]) for row, f in enumerate(data.forecasts[start:], start) if f is not None)
    stages = ((row, None if forecast is None else _stage(forecast, names)) for row, forecast in recent)
    stored = {row: marginal for row, marginal in stages if marginal is not None}
    return np.array(list(stored), dtype=np.intp), from_marginals(list(stored.values()))


def _stage(forecast: Forecast, names: tuple[str, ...]) -> Marginal | None:
    """Return the marginal of a stage, given the names up to it; `None` if another method made the forecast."""
    depth = len(names)
    if len(forecast.stages) < depth or (forecast.stage_names and forecast.stage_names[:depth] != names):
        return None
    return forecast.stages[depth - 1]


def _leave_one_out(
    surrogate: Surrogate, model: Model, data: Dataset, rows: Rows, rng: np.random.Generator
) -> Distribution:
    """Predict some points each from all others, in closed form or by refits."""
    if Capability.LEAVE_ONE_OUT in model.capabilities:
        return model.leave_one_out(rows)
    every = np.arange(len(data))
    return stacked([_forecast(surrogate, data, np.delete(every, i), every[[i]], rng)[1] for i in rows])


def _forecast(
    surrogate: Surrogate, data: Dataset, train: np.ndarray, test: np.ndarray, rng: np.random.Generator
) -> HeldOut:
    """Forecast the `test` rows by a model of the `train` rows."""
    return test, surrogate.fit(data.rows(train), rng=rng).predict(data.X[test], latent=False)


def _pooled(
    surrogate: Surrogate,
    data: Dataset,
    subsets: Sequence[np.ndarray],
    unseen: Array,
    *,
    between: bool,
    rng: np.random.Generator,
) -> tuple[Pooled, Evidence]:
    """Average the models of P subsets, and forecast each point by those that had not seen it (`unseen`, `n x P`, is 1)."""
    models = tuple(surrogate.fit_many(data, subsets, rng=rng))
    pooled = Pooled(models, between, np.full(len(models), 1.0 / len(models)))
    known = np.flatnonzero(unseen.any(axis=1))
    if not known.size:
        return pooled, held_out(data, [])
    weights = (unseen[known] / unseen[known].sum(axis=1, keepdims=True)).T
    at_data = [model.predict(data.X[known], latent=False) for model in models]
    evidence = held_out(data, [(known, averaged(at_data, list(weights), between=between))])
    return pooled, replace(evidence, left_out=partial(Pooled(models, between, weights).predict, latent=False))
