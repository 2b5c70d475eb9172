"""How much better the best point may be than the one to recommend: draws of that regret under a model.

A draw of f on many candidates has a maximum; its distance from the draw's value at the recommended point is a draw of the
regret. Candidates are where a maximum may be: points of the whole space with the largest expected improvement, local maxima
of it, the surroundings of the best observations, the observations, and then the surroundings of the points that were the
maximum of a draw.

A model is least right about what is far from its data, of which it has seen nothing to be corrected by: draws are nowhere
narrower than those of the raw model, and wider by a factor that was measured (``WIDENING``).

Notation: S draws, q candidates, d columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from calibo.acquisition import Acquisition, Feasibility, log_of
from calibo.acquisition.base import base_samples, most_frequent
from calibo.data import Array, Dataset
from calibo.distributions import Distribution, Tempered, relevel
from calibo.models import Model, SuccessModel
from calibo.search.ascent import ascend
from calibo.search.base import coincides, finite, in_chunks
from calibo.search.moves import climbed_columns, hill_climb
from calibo.search.multistart import scattered
from calibo.spaces import Space

#: Rows of a pool that are scored in one call.
_CHUNK = 8192
#: Spaces of up to so many points are candidates as a whole.
_ENUMERATED = 4096
#: Levels of the quantiles by which two distributions are compared.
_LEVELS = (0.1, 0.9)
#: Best observations whose surroundings are candidates.
_ANCHORS = 5
#: Factor on the standard deviation of f, chosen on half of the problems of benchmarks/stopping.py: with 1, certificates at a
#: confidence of .9 were true in 7 of 10 studies there.
WIDENING = 1.5


@dataclass(frozen=True)
class Effort:
    """How many candidates and draws an estimate is made of.

    Attributes:
        scored: Random points of the space from which candidates are chosen.
        around: Points near the best observations from which candidates are chosen.
        kept: Candidates chosen from these, by expected improvement.
        observed: Observations among the candidates, the best ones.
        climbs: Candidates that are moved to a local maximum of the expected improvement.
        rounds: How often the surroundings of the maxima of draws are added.
        near: Points that are added in each round.
        trial_draws: Draws whose maxima these are.
        draws: Draws of the estimate.
    """

    scored: int
    around: int
    kept: int
    observed: int
    climbs: int
    rounds: int
    near: int
    trial_draws: int
    draws: int


#: Enough to see that a regret is not small yet: fewer candidates can only make it look smaller.
QUICK = Effort(512, 128, 64, 16, climbs=0, rounds=1, near=64, trial_draws=128, draws=256)
#: Enough to say that it is small.
CAREFUL = Effort(3072, 384, 192, 32, climbs=3, rounds=2, near=96, trial_draws=96, draws=512)


@dataclass(frozen=True, eq=False)
class Regret:
    """Draws of the regret of the recommended point.

    Attributes:
        row: The recommended point, as a row of the observations.
        draws: Draws, S, in units of the outcome; none is negative.
    """

    row: int
    draws: Array

    def probability_below(self, epsilon: float) -> float:
        """Return the probability of a regret of at most ``epsilon``."""
        return float(np.mean(self.draws <= epsilon))

    def bound(self, probability: float) -> float:
        """Return the smallest regret that is not exceeded with a probability of at least ``probability``."""
        return float(np.quantile(self.draws, probability, method="inverted_cdf"))


@dataclass(frozen=True, eq=False)
class Belief:
    """What is believed of all points of a space after some observations.

    Attributes:
        data: The observations; at least one is feasible.
        space: The space.
        models: Model of the objective, then of the slack of each constraint.
        success: Model of the success of an evaluation; ``None`` if none has failed.
        widening: Factor on the standard deviation of the objective, in the units of its model.
    """

    data: Dataset
    space: Space
    models: tuple[Model, ...]
    success: SuccessModel | None = None
    widening: float = WIDENING

    def objective(self, X: Array) -> Distribution:
        """Predict f at `q x d` points."""
        return no_narrower(self.models[0], X, times=self.widening)

    def recommended(self) -> int:
        """Return the row of the feasible observation with the best expected value."""
        return int(self._best_rows()[0])

    def _best_rows(self) -> np.ndarray:
        """Return the rows of the feasible observations, the best expected ones first."""
        rows = np.flatnonzero(self.data.feasible)
        mean = self.models[0].predict(self.data.X[rows], latent=True).mean
        return rows[np.argsort(-mean, kind="stable")]

    def regret(self, effort: Effort, *, rng: np.random.Generator) -> Regret:
        """Draw the regret of the recommended point.

        Args:
            effort: How many candidates and draws.
            rng: The only source of randomness.
        """
        X = self.candidates(effort, rng=rng)
        return self.regret_among(X, effort.draws, rng=rng)

    def candidates(self, effort: Effort, *, rng: np.random.Generator) -> Array:
        """Return points at which the maximum of f may be, `q x d`: the recommended point, the other observations, others."""
        rows = self._best_rows()
        X = np.vstack([self.data.X[rows[: effort.observed]], self._promising(rows, effort, rng)])
        X = X[_first_of_each(X)]
        for _ in range(effort.rounds if self._moves else 0):
            values = self.draw(X, effort.trial_draws, rng)
            wins = np.bincount(values.argmax(axis=1), minlength=len(X))
            near = scattered(most_frequent(X, wins, len(X)), self.space, effort.near, rng)
            X = np.vstack([X, near])
            X = X[_first_of_each(X)]
        return X

    def regret_among(self, X: Array, count: int, *, rng: np.random.Generator) -> Regret:
        """Draw the regret of the recommended point among `q x d` candidates, of which it is the first."""
        values = self.draw(X, count, rng)
        return Regret(self.recommended(), values.max(axis=1) - values[:, 0])

    @property
    def _moves(self) -> bool:
        """Whether candidates are found by moving about, because there are too many points for all of them."""
        return not (self.space.is_pool or (self.space.size or np.inf) <= _ENUMERATED)

    def _promising(self, rows: np.ndarray, effort: Effort, rng: np.random.Generator) -> Array:
        """Return points with a large expected improvement, `q x d`."""
        score = self._score(rows)
        every = None if self._moves else self.space.enumerate()
        if every is not None:
            return every[_largest(in_chunks(score, every, _CHUNK), effort.kept)]
        anchors = self.data.X[rows[:_ANCHORS]]
        points = np.vstack([self.space.sample(effort.scored, rng), scattered(anchors, self.space, effort.around, rng)])
        best = points[_largest(finite(score(points)), effort.kept)]
        return np.vstack([best, self._climbed(score, best[: effort.climbs])])

    def _score(self, rows: np.ndarray) -> Acquisition:
        """Return the log expected improvement of f over the recommended point, where it is feasible and succeeds."""
        best = float(self.models[0].predict(self.data.X[rows[:1]], latent=True).mean[0])
        feasible = Feasibility(self.models[1:]).log
        succeeds = None if self.success is None else log_of(self.success)

        def score(X: Array) -> Array:
            value = self.objective(X).log_expected_improvement(best)
            value = value + feasible(X) if self.models[1:] else value
            return value if succeeds is None else value + succeeds(X)

        return score

    def _climbed(self, score: Acquisition, X: Array) -> Array:
        """Return local maxima near points, `q x d`."""
        found = self.space.repair(ascend(score, X, climbed_columns(self.space), 20, self.space.region))
        return hill_climb(score, found, self.space, sweeps=8) if self.space.has_neighbours else found

    def draw(self, X: Array, count: int, rng: np.random.Generator) -> Array:
        """Draw f at `q x d` points, `S x q`: minus infinity where a draw says that a point is infeasible or fails."""
        values = self.objective(X).draws(_base(count, len(X), rng))
        counts = np.ones(values.shape, dtype=bool)
        for slack in self.models[1:]:
            counts &= slack.predict(X, latent=False).draws(_base(count, len(X), rng)) >= 0.0
        if self.success is not None:
            counts &= self.success.drawn(X, _base(count, len(X) + 1, rng))
        counts[:, coincides(X, self.data.X[self.data.feasible])] = True
        return np.where(counts, values, -np.inf)


def no_narrower(model: Model, X: Array, *, times: float = 1.0) -> Distribution:
    """Predict f at `q x d` points by the calibrated model, but nowhere with a smaller spread than the raw model inside.

    Calibration learns from errors where the search has been, where a search that has converged errs little. That must not
    make it sure of places it has not seen.

    Args:
        model: A calibrated model, or any other.
        X: The points.
        times: Further factor on the standard deviation, in the units of the model.
    """
    raw = model.stages[0].predict(X, latent=True)
    if len(model.stages) == 1:
        return relevel(raw, Tempered(times))
    shown = model.predict(X, latent=True)
    low, high = (raw.normal_scores(shown.at_levels(level)) for level in _LEVELS)
    factor = (high - low) / (ndtri(_LEVELS[1]) - ndtri(_LEVELS[0]))
    return relevel(raw, Tempered(times * np.maximum(factor, 1.0)))


def _base(count: int, points: int, rng: np.random.Generator) -> Array:
    return base_samples(int(rng.integers(2**63)), count, points)


def _largest(values: Array, count: int) -> np.ndarray:
    return np.argsort(-values, kind="stable")[:count]


def _first_of_each(X: Array) -> np.ndarray:
    """Return the first row of each different point of `q x d` points, ascending."""
    return np.sort(np.unique(X.round(9), axis=0, return_index=True)[1])
