"""TuRBO-1: model-based search within a trust region that grows and shrinks with its fortune (Eriksson et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from calibo.acquisition import Acquisition, AcquisitionRule
from calibo.checks import check_has, check_whole
from calibo.data import Array, Dataset
from calibo.models import Capability, Model, Surrogate, check_surrogate
from calibo.optimize.design import initial_size
from calibo.optimize.strategy import ModelBased, Strategy, check_outcomes
from calibo.search import Box, Plan, Search
from calibo.spaces import Space

#: Within these the length scales of the published recipe are sought; beyond them a column counts as at the bound.
_LENGTHSCALES = (0.005, 4.0)


@dataclass(frozen=True)
class Schedule:
    """When a trust region grows, shrinks and is given up.

    Attributes:
        failure_tolerance: Batches without improvement, one after the other, that halve the length.
        success_tolerance: Batches with improvement, one after the other, that double it (3 in the paper, 10 in the
            recipe of BoTorch).
        first: Length at a start.
        longest: No doubling goes beyond.
        shortest: Below this the region is given up.
        gain: An improvement is one by more than so much of the best outcome's size.
    """

    failure_tolerance: int
    success_tolerance: int = 10
    first: float = 0.8
    longest: float = 1.6
    shortest: float = 0.5**7
    gain: float = 1e-3


@dataclass(frozen=True)
class RegionState:
    """What has become of the trust region.

    Attributes:
        start: First outcome since the latest (re)start.
        best: Best outcome since then that the region has answered for; minus infinity before its design is complete.
        length: Side of the region.
        successes: Batches with improvement in a row.
        failures: Batches without improvement in a row.
        restarts: How often the region has been given up.
    """

    start: int
    best: float
    length: float
    successes: int = 0
    failures: int = 0
    restarts: int = 0

    def after(self, batch: Array, schedule: Schedule) -> RegionState:
        """The state after the outcomes of one batch, q; a region that is now too short is not yet given up."""
        top = float(batch.max())
        better = top > self.best + schedule.gain * abs(self.best)
        successes, failures = (self.successes + 1, 0) if better else (0, self.failures + 1)
        length = self.length
        if successes == schedule.success_tolerance:
            successes, length = 0, min(2.0 * length, schedule.longest)
        elif failures == schedule.failure_tolerance:
            failures, length = 0, 0.5 * length
        best = max(self.best, top)
        return replace(self, best=best, length=length, successes=successes, failures=failures)


def region_state(y: Array, schedule: Schedule, *, n_initial: int, batch_size: int = 1) -> RegionState:
    """The state of the trust region, folded from all outcomes in the order they arrived.

    The first ``n_initial`` outcomes after a start are its design and give the first best value; those after it count
    batch by batch, a batch being the next ``batch_size`` outcomes. Outcomes of a batch that is not complete wait.

    Args:
        y: Outcomes, n, larger is better.
        schedule: When the region grows, shrinks and is given up.
        n_initial: Outcomes of the design at each start.
        batch_size: Outcomes that are judged together.
    """
    start, restarts = 0, 0
    while True:
        state = RegionState(start, -np.inf, schedule.first, restarts=restarts)
        position = start + n_initial
        if position > len(y):
            return state
        state = replace(state, best=float(y[start:position].max()))
        while state.length >= schedule.shortest:
            if position + batch_size > len(y):
                return state
            state = state.after(y[position : position + batch_size], schedule)
            position += batch_size
        start, restarts = position, restarts + 1


@dataclass(frozen=True)
class TuRBO(Strategy):
    """Surrogate -> model -> acquisition, maximised within a trust region around the best point.

    A strategy owns no state: the region is folded anew from the outcomes, in the order they arrived, at every call.

    1. State: length, counters and restarts from the outcomes (``region_state``).
    2. While a start has fewer than ``n_initial`` outcomes, pending and failed points: a point of the whole cube far from
       those.
       Forecasts are then those of the model of all data.
    3. Else the model of the outcomes since the start; the point tried with the best expected latent value is the centre
       (the paper's choice where there is noise); sides are ``length`` times the length scales, their geometric mean
       made 1, on the numeric columns. Categorical columns are not limited; nor does a model without length scales
       stretch the region.
    4. The acquisition is maximised within the region.

    Deviations: when a failed or pending point was asked for is not known, so all failed points count after a restart,
    and points pending at a restart count for its design. The threshold of an improvement is relative to the best
    outcome, as published, so that adding a constant to all outcomes may change a suggestion.

    Attributes:
        surrogate: What makes the model.
        rule: What makes the acquisition function; any.
        search: How it is maximised inside the region; by default what suits the space and the rule.
        replicate: Whether a point may be measured again.
        name: Of the method, for messages.
        batch_size: Points asked for together, q; a region shrinks after ceil(max(4, d) / q) batches in vain.
        n_initial: Outcomes of the design at each start; by default as many as an ``Optimizer`` begins with. Give both
            the same number, or the first outcomes beyond the smaller one count as the region's.
        success_tolerance: Batches with improvement, one after the other, that double the region.
    """

    surrogate: Surrogate
    rule: AcquisitionRule
    search: Search | None = None
    replicate: bool = False
    name: str = "turbo"
    batch_size: int = 1
    n_initial: int | None = None
    success_tolerance: int = 10

    def __post_init__(self) -> None:
        counts = {"batch_size": self.batch_size, "success_tolerance": self.success_tolerance}
        if self.n_initial is not None:
            counts["n_initial"] = self.n_initial
        for name, count in counts.items():
            check_whole(f"TuRBO's {name}", count)
        check_surrogate("surrogate", self.surrogate)
        check_has("rule", self.rule, "build", "ThompsonSampling()")

    @property
    def single_objective(self) -> bool:
        return True

    def region(self, data: Dataset) -> RegionState:
        """The state of the trust region after all outcomes."""
        check_outcomes(self, data.objectives, data.constraints)
        d = data.X.shape[1]
        schedule = Schedule(ceil(max(4, d) / self.batch_size), self.success_tolerance)
        return region_state(data.Y[:, 0], schedule, n_initial=self._design(d), batch_size=self.batch_size)

    def plan(self, data: Dataset, *, rng: np.random.Generator) -> Plan:
        state = self.region(data)
        earlier, since = data.X[: state.start], _since(data, state.start)
        known = np.vstack([since.X, since.X_pending, since.X_failed])
        # Failures count, or a region whose design keeps failing would never begin.
        if not len(since) or len(known) < self._design(data.X.shape[1]):
            plan = self._inner.plan(data, rng=rng)
            spread = spreading(known, data.categories)
            return replace(plan, acquisition=spread, anchors=plan.anchors[:0], learn=None)
        plan = self._inner.plan(since, rng=rng)
        box = _region(plan.models[0], since, state.length)
        avoid = plan.avoid if self.replicate else np.vstack([plan.avoid, earlier])
        return replace(plan, region=box, avoid=avoid)

    def searcher(self, space: Space) -> Search:
        return self._inner.searcher(space)

    @property
    def _inner(self) -> ModelBased:
        return ModelBased(self.surrogate, self.rule, search=self.search, replicate=self.replicate, name=self.name)

    def _design(self, d: int) -> int:
        return initial_size(d) if self.n_initial is None else self.n_initial


def spreading(known: Array, categories: tuple[int, ...]) -> Acquisition:
    """The distance to the nearest of ``known``, k x d, and of the other points of a set: large where nothing is near.

    Opposite faces of the cube count as one, so that the middle is as good a place as a corner. Two choices of a
    categorical column are half a side apart, as far as numeric columns can be.
    """
    choices = np.asarray(categories)

    def acquisition(X: Array) -> Array:
        sets = X[:, None, :] if X.ndim == 2 else X
        others = np.concatenate([sets[:, :-1], np.broadcast_to(known, (len(sets), *known.shape))], axis=1)
        if not others.shape[1]:
            return np.zeros(len(sets))
        last = sets[:, -1:]
        apart = np.abs(last - others)
        differ = np.floor(last * choices) != np.floor(others * choices)
        gaps = np.where(choices > 0, 0.5 * differ, np.minimum(apart, 1.0 - apart))
        return np.sqrt(np.square(gaps).sum(axis=-1)).min(axis=1)

    return acquisition


def _since(data: Dataset, start: int) -> Dataset:
    """The data without the outcomes before ``start``."""
    if not start:
        return data
    return replace(data.rows(slice(start, None)), X_pending=data.X_pending, X_failed=data.X_failed)


def _region(model: Model, data: Dataset, length: float) -> Box:
    """The trust region of a model: around the point with the best expected latent value, stretched by length scales."""
    centre = data.X[int(np.argmax(model.predict(data.X, latent=True).mean))]
    known = Capability.LENGTHSCALES in model.capabilities
    weights = np.clip(model.lengthscales, *_LENGTHSCALES) if known else np.ones(data.X.shape[1])
    return Box.around(centre, weights, length, data.categories)
