"""TuRBO-1: search within a trust region that grows with success and shrinks with failure (Eriksson et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from calibo.acquisition import Acquisition, AcquisitionRule
from calibo.acquisition.base import as_batches
from calibo.arguments import check_fields
from calibo.checks import check_instance, check_whole
from calibo.data import Array, Dataset
from calibo.errors import RecipeError
from calibo.models import Capability, Model, Surrogate, check_surrogate
from calibo.optimize.design import initial_size
from calibo.optimize.strategy import ModelBased, Strategy, check_outcomes
from calibo.search import Box, Plan, Search
from calibo.spaces import Space

#: Bounds of the length scales in the published recipe; longer and shorter ones are clipped.
_LENGTHSCALES = (0.005, 4.0)


@dataclass(frozen=True)
class Schedule:
    """When a trust region grows, shrinks and restarts.

    Attributes:
        failure_tolerance: Consecutive batches without improvement that halve the side length.
        success_tolerance: Consecutive batches with improvement that double it (3 in the paper, 10 in BoTorch's recipe).
        first: Initial side length.
        longest: Maximum side length.
        shortest: Below this side length the region restarts.
        gain: Relative size of an improvement that counts, as a share of the best outcome.
    """

    failure_tolerance: int
    success_tolerance: int = 10
    first: float = 0.8
    longest: float = 1.6
    shortest: float = 0.5**7
    gain: float = 1e-3


@dataclass(frozen=True)
class RegionState:
    """The state of a trust region.

    Attributes:
        start: Index of the first outcome since the latest (re)start.
        best: Best outcome since then; minus infinity before the initial design is complete.
        length: Side length.
        successes: Consecutive batches with improvement.
        failures: Consecutive batches without improvement.
        restarts: Number of restarts.
    """

    start: int
    best: float
    length: float
    successes: int = 0
    failures: int = 0
    restarts: int = 0

    def after(self, batch: Array, schedule: Schedule) -> RegionState:
        """Return the state after the outcomes of one batch, `q`; a region that is now too short has not restarted yet."""
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
    """Return the state of the trust region after all outcomes, in the order in which they arrived.

    The first ``n_initial`` outcomes after a start are its initial design and give the first best value; the following
    ones count batch by batch. Outcomes of an incomplete batch wait.

    Args:
        y: Outcomes, `n`, larger is better.
        schedule: When the region grows, shrinks and restarts.
        n_initial: Size of the initial design of each start.
        batch_size: Number of outcomes that are judged together.
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
    """Surrogate -> model -> acquisition function, maximized within a trust region around the best point.

    A strategy has no state: the region is computed from all outcomes, in the order in which they arrived, at every call.

    1. Compute side length, counters and restarts from the outcomes (``region_state``).
    2. While a start has fewer than ``n_initial`` outcomes, pending and failed points, suggest a point of the whole cube
       far from those. Forecasts are then those of the model of all data.
    3. Else fit the model to the outcomes since the start. The centre is the observed point with the best expected latent
       value (the paper's choice for noisy outcomes); the sides are ``length`` times the length scales, scaled to a
       geometric mean of 1, on the numeric columns. Categorical columns are not limited, and a model without length
       scales gives a cube.
    4. Maximize the acquisition function within the region.

    Deviations: it is not known when a failed or pending point was suggested, so all failed points count after a restart,
    and points pending at a restart count for its initial design. An improvement is relative to the best outcome, as
    published, so that adding a constant to all outcomes may change a suggestion.

    Attributes:
        surrogate: Fits the model.
        rule: Builds the acquisition function.
        search: Maximizes it inside the region; by default chosen by the space and the rule.
        replicate: Whether a point may be suggested again.
        name: Name of the method, for messages.
        batch_size: Points suggested together, q; a region shrinks after ceil(max(4, d) / q) batches without improvement.
        n_initial: Size of the initial design of each start; by default that of an ``Optimizer``. Give both the same
            number, or the first outcomes beyond the smaller one count as the region's.
        success_tolerance: Consecutive batches with improvement that double the region.
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
        check_fields(self)
        check_whole("TuRBO's batch_size", self.batch_size)
        check_whole("TuRBO's success_tolerance", self.success_tolerance)
        if self.n_initial is not None:
            check_whole("TuRBO's n_initial", self.n_initial)
        check_surrogate("surrogate", self.surrogate)
        check_instance("rule", self.rule, AcquisitionRule, "ThompsonSampling()")
        if self.search is not None:
            check_instance("search", self.search, Search, "MultiStart()")
            if self.search.counts_evaluations:
                raise RecipeError(
                    "Dynamic counts evaluations by the points that must not be suggested again, of which a trust region "
                    "passes on only those inside it. Use MutatedBest() or RandomCandidates()"
                )
        # Its own checks come now, not at the first suggestion.
        _ = self._inner

    @property
    def single_objective(self) -> bool:
        return True

    def region(self, data: Dataset) -> RegionState:
        """Return the state of the trust region after all outcomes."""
        check_outcomes(self, data.objectives, data.constraints)
        d = data.X.shape[1]
        schedule = Schedule(ceil(max(4, d) / self.batch_size), self.success_tolerance)
        return region_state(data.Y[:, 0], schedule, n_initial=self._design_size(d), batch_size=self.batch_size)

    def plan(self, data: Dataset, *, rng: np.random.Generator) -> Plan:
        state = self.region(data)
        since = data.since(state.start)
        # Failures count, or a region whose design keeps failing would never begin.
        if not len(since) or len(since.tried) < self._design_size(data.X.shape[1]):
            plan = self._inner.plan(data, rng=rng)
            far = distance_to_nearest(since.tried, data.categories)
            return replace(plan, acquisition=far, anchors=plan.anchors[:0], learn=None)
        plan = self._inner.plan(since, rng=rng)
        avoid = plan.avoid if self.replicate else data.tried
        return replace(plan, region=trust_region(plan.models[0], since, state.length), avoid=avoid)

    def searcher(self, space: Space) -> Search:
        return self._inner.searcher(space)

    @property
    def _inner(self) -> ModelBased:
        return ModelBased(self.surrogate, self.rule, search=self.search, replicate=self.replicate, name=self.name)

    def _design_size(self, d: int) -> int:
        return initial_size(d) if self.n_initial is None else self.n_initial


def distance_to_nearest(known: Array, categories: tuple[int, ...]) -> Acquisition:
    """Return the distance to the nearest of ``known``, `k x d`, and of the earlier points of a batch.

    Opposite faces of the cube are identified, so that the middle is as good as a corner. Two choices of a categorical
    column are half a side apart, as far as numeric columns can be.
    """
    choices = np.asarray(categories)

    def acquisition(X: Array) -> Array:
        batches = as_batches(X)
        others = np.concatenate([batches[:, :-1], np.broadcast_to(known, (len(batches), *known.shape))], axis=1)
        if not others.shape[1]:
            return np.zeros(len(batches))
        last = batches[:, -1:]
        apart = np.abs(last - others)
        differ = np.floor(last * choices) != np.floor(others * choices)
        gaps = np.where(choices > 0, 0.5 * differ, np.minimum(apart, 1.0 - apart))
        return np.sqrt(np.square(gaps).sum(axis=-1)).min(axis=1)

    return acquisition


def trust_region(model: Model, data: Dataset, length: float) -> Box:
    """Return the box around the observation with the best expected latent value, stretched by the length scales."""
    centre = data.X[int(np.argmax(model.predict(data.X, latent=True).mean))]
    known = Capability.LENGTHSCALES in model.capabilities
    weights = np.clip(model.lengthscales, *_LENGTHSCALES) if known else np.ones(data.X.shape[1])
    box = Box.around(centre, weights, length, data.categories)
    if data.activity is None:
        return box
    # Of columns that are inactive at the centre nothing is known nearby.
    return replace(box, reach=np.where(data.activity(centre), box.reach, np.inf))
