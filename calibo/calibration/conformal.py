"""Conformal calibration: quantiles from the ranks of held-out scores, exact for any number of them.

Notation: t held-out outcomes, K levels p, q points; between level p and its mirror 1 - p the coverage is 1 - 2 min(p, 1 - p).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from calibo.arguments import check_fields
from calibo.calibration.base import LevelMap, Recalibrator
from calibo.calibration.evidence import Evidence
from calibo.checks import check_instance
from calibo.data import Array
from calibo.distributions import Distribution, QuantileTable, checked_levels
from calibo.errors import RecipeError

#: The ends of the 50, 80, 90, 95, 98 and 99 % intervals are among them.
CONFORMAL_LEVELS: tuple[float, ...] = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5),
    *(0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 0.995),
)
#: Sums that CV+ holds at once.
_MOST_SUMS = 4_000_000
#: Rounding allowed for when a rank is rounded up.
_DUST = 1e-9


def conformal_rank(t: int, coverage: Array | float) -> np.ndarray:
    """Return ceil(coverage (t + 1)): the rank, counted from 1, of the score that covers the next outcome; none if above t."""
    return np.ceil(np.asarray(coverage) * (t + 1) - _DUST).astype(np.int64)


def conformal_quantile(scores: Array, coverage: float) -> float:
    """Return the smallest number that is at least the next score with probability `coverage`, from t exchangeable scores.

    That is the ceil(coverage (t + 1))-th smallest, infinite if there are fewer, and minus infinity for a coverage of 0.
    """
    rank = int(conformal_rank(len(scores), coverage))
    if rank > len(scores):
        return np.inf
    return float(np.partition(scores, rank - 1)[rank - 1]) if rank >= 1 else -np.inf


class Score(ABC):
    """The distance of an outcome from its forecast, for each level; subclasses are frozen dataclasses."""

    @abstractmethod
    def scores(self, evidence: Evidence, levels: Array) -> Array:
        """Return the scores of the held-out outcomes, `t x K`; those of level 1/2 are not used."""

    @abstractmethod
    def coverage(self, levels: Array) -> Array:
        """Return the coverage that the quantile of the scores must have at each level, K."""

    @abstractmethod
    def place(self, distribution: Distribution, levels: Array) -> tuple[Array, Array]:
        """Return the outcome of score 0, `... x q x K`, and the length of one unit of score, broadcastable with it."""


@dataclass(frozen=True)
class Residual(Score):
    """The absolute residual |y - mean|, or that in standard deviations: intervals are symmetric about the mean.

    Attributes:
        scaled: Divide by the standard deviation of the forecast, so that intervals are wide where the model is uncertain.
    """

    scaled: bool = True

    def scores(self, evidence: Evidence, levels: Array) -> Array:
        away = np.abs(evidence.y - evidence.distribution.mean)
        with np.errstate(over="ignore"):
            own = away / evidence.distribution.std if self.scaled else away
        # An outcome of 1e200 that was forecast to 1e-200 is further away than a float tells; that is no infinite score.
        own = np.minimum(own, np.finfo(np.float64).max)
        return np.broadcast_to(own[:, None], (len(own), len(levels)))

    def coverage(self, levels: Array) -> Array:
        return np.abs(1.0 - 2.0 * levels)

    def place(self, distribution: Distribution, levels: Array) -> tuple[Array, Array]:
        center = np.broadcast_to(distribution.mean[..., None], (*distribution.mean.shape, len(levels)))
        return center, distribution.std[..., None] if self.scaled else np.ones(1)


@dataclass(frozen=True)
class QuantileShift(Score):
    """Conformalised quantile regression (Romano et al. 2019): each quantile is moved by how far outcomes lay beyond it.

    Attributes:
        symmetric: One offset for a level and its mirror, from max(q_p - y, y - q_{1-p}): the pair covers. ``False`` gives
            each level an offset of its own, from q_p - y below and y - q_p above the median: each quantile covers.
    """

    symmetric: bool = True

    def scores(self, evidence: Evidence, levels: Array) -> Array:
        at = evidence.distribution.over_samples().at_levels(levels[:, None]).T
        below, above = at - evidence.y[:, None], evidence.y[:, None] - at
        own = np.where(levels < 0.5, below, above)
        if not self.symmetric:
            return own
        mirror = _mirrors(levels)
        return np.maximum(own, own[:, mirror])

    def coverage(self, levels: Array) -> Array:
        return np.abs(1.0 - 2.0 * levels) if self.symmetric else np.maximum(levels, 1.0 - levels)

    def place(self, distribution: Distribution, levels: Array) -> tuple[Array, Array]:
        batched = distribution.over_samples()
        at = np.moveaxis(batched.at_levels(levels[:, None]), -2, -1)
        return at, np.ones(1)


@dataclass(frozen=True)
class Conformal(Recalibrator):
    """Recalibration by quantiles from the ranks of held-out scores (Vovk et al. 2005; resampling x score as in Chen 2025,
    chapter 3).

    1. The score of a level's quantile is the ceil(coverage (t + 1))-th smallest of the held-out scores.
    2. The quantile is where a score of 0 lies, less (below the median) or plus (above) that many lengths of a score.
    3. Levels whose rank exceeds t are not supported by the evidence: quantiles there are infinite. The distribution's tails
       begin at the last supported level. The median is the model's own.
    4. Quantiles that cross are nested: an interval is widened to hold those inside it, and so keeps its coverage.

    A score in standard deviations differs between f and a measurement. Unscaled residuals and ``plus`` are made of
    outcomes alone: their distribution of f is that of a measurement.

    With ``plus``, 1 and 2 are CV+ / jackknife+ (Barber et al. 2021): each held-out score is added to what the models that
    had not seen its outcome predict *at the new point*, and the quantile is of the right rank among these sums. That needs a
    resampler with several models (``KFold``, ``Bootstrap``).

    Which guarantee holds depends on the resampler: with ``Split`` an interval covers at least with its probability if
    outcomes are exchangeable; with ``plus`` 1 - 2 alpha at least, and 1 - alpha as a rule; averaged folds have none, but
    usually do as well. Points chosen by a search are not exchangeable: the calibration report shows the empirical coverage.

    Attributes:
        score: The score that is ranked.
        levels: Increasing, within (0, 1), each with its mirror 1 - p.
        plus: Whether to use CV+ / jackknife+, as above.
    """

    score: Score = Residual()
    levels: tuple[float, ...] = CONFORMAL_LEVELS
    plus: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        check_instance("score", self.score, Score, "Residual() or QuantileShift()")
        levels = checked_levels(self.levels)
        _mirrors(levels)

    def fit(self, evidence: Evidence) -> LevelMap:
        if self.plus and evidence.left_out is None:
            raise RecipeError(
                "plus=True needs models that have not seen each outcome: use evidence=KFold(...) without refit=True, or "
                "Bootstrap(...), or plus=False"
            )
        levels = np.asarray(self.levels, dtype=np.float64)
        scores, coverage = self.score.scores(evidence, levels), self.score.coverage(levels)
        backed = (conformal_rank(len(scores), coverage) <= len(scores)) | (levels == 0.5)
        return _ConformalMap(self, evidence, scores, levels, backed)

    def without_evidence(self) -> LevelMap:
        return self.unbacked

    def unbacked(self, distribution: Distribution, X: Array) -> QuantileTable:
        """Return the model's own quantiles with no level supported: the map for a model without held-out outcomes."""
        levels = np.asarray(self.levels, dtype=np.float64)
        own, _ = QuantileShift().place(distribution, levels)
        return QuantileTable.nested(levels, own, backed=(0.5, 0.5), copula=distribution)


@dataclass(frozen=True, eq=False)
class _ConformalMap:
    """The map from a distribution to its conformal quantiles; scores are `t x K`, `backed` says which levels have enough."""

    recipe: Conformal
    evidence: Evidence
    scores: Array
    levels: Array
    backed: np.ndarray

    @np.errstate(over="ignore")
    def __call__(self, distribution: Distribution, X: Array) -> QuantileTable:
        # What is beyond the largest float is brought back by the table.
        sides = self.levels[self.backed & (self.levels != 0.5)]
        if not ((sides < 0.5).any() and (sides > 0.5).any()):
            return self.recipe.unbacked(distribution, X)
        kept = self.levels[self.backed]
        values = self._plus_in_parts(X) if self.recipe.plus else self._moved(distribution)
        return QuantileTable.nested(kept, values, backed=(float(kept[0]), float(kept[-1])), copula=distribution)

    def _moved(self, distribution: Distribution) -> Array:
        """Move the quantiles of a distribution by the score of each level, `... x q x (supported levels)`."""
        kept = self.levels[self.backed]
        ranks = conformal_rank(len(self.scores), self.recipe.score.coverage(kept))
        ordered = np.sort(self.scores[:, self.backed], axis=0)
        moved = ordered[np.maximum(ranks, 1) - 1, np.arange(len(kept))]
        place, length = self.recipe.score.place(distribution, kept)
        return place + _sides(kept) * moved * length

    def _plus_in_parts(self, X: Array) -> Array:
        """Compute CV+ quantiles of all points, few at a time, because each needs a sum for every score and level."""
        points = X.reshape(-1, X.shape[-1])
        step = max(1, _MOST_SUMS // (self.scores.shape[0] * self.scores.shape[1]))
        parts = [self._plus(points[i : i + step]) for i in range(0, len(points), step)]
        return np.concatenate(parts).reshape(*X.shape[:-1], -1)

    def _plus(self, X: Array) -> Array:
        """Return the quantiles of held-out predictions at `q x d` points plus their scores, `q x (supported levels)`."""
        left_out, t = self.evidence.left_out, len(self.scores)
        assert left_out is not None
        kept = self.levels[self.backed]
        place, length = self.recipe.score.place(left_out(X), kept)
        scores = self.scores[:, self.backed].reshape(t, *[1] * (place.ndim - 2), len(kept))
        ordered = np.sort(place + _sides(kept) * scores * length, axis=0)
        ranks = conformal_rank(t, self.recipe.score.coverage(kept))
        # Below the median the rank counts from the largest: floor((1 - coverage) (t + 1)) = t + 1 - rank.
        ranks = np.where(kept < 0.5, t + 1 - ranks, ranks)
        values = ordered[np.clip(ranks, 1, t) - 1, ..., np.arange(len(kept))]
        values = np.moveaxis(values, 0, -1)
        values[..., kept == 0.5] = np.median(place[..., kept == 0.5], axis=0)
        return values


def _sides(levels: Array) -> Array:
    """Return -1 below the median, 1 above and 0 at it, K."""
    return np.sign(levels - 0.5)


def _mirrors(levels: Array) -> np.ndarray:
    """Return the index of 1 - p for each level p, K."""
    index = np.searchsorted(levels, 1.0 - levels - _DUST)
    if (index >= len(levels)).any() or not np.allclose(levels[np.minimum(index, len(levels) - 1)], 1.0 - levels):
        raise RecipeError(f"levels must contain the mirror 1 - p of each level p, got {levels.tolist()}")
    return index
