"""Expected hypervolume improvement: what a point adds to the volume that the front dominates, for several objectives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from calibo.acquisition.base import (
    Acquisition,
    base_samples,
    beside,
    log_difference,
    log_softplus,
    logsumexp,
    normalized,
)
from calibo.acquisition.boxes import nondominated_boxes
from calibo.data import Array, Dataset
from calibo.distributions import Distribution
from calibo.errors import DataError, RecipeError
from calibo.models.base import Model
from calibo.pareto import inferred_reference, pareto_front, pareto_mask

#: Base samples where boxes are found quickly (two objectives), and where they are not.
_DRAWS, _COSTLY_DRAWS = 128, 32
#: Draws that find out which points tried may be on the front.
_SCOUTS = 128
#: Side lengths of boxes computed at a time, which bounds the memory.
_BLOCK = 2_000_000


class TradeoffRule(Protocol):
    """How beliefs about several objectives become the wish to try a point; its values are logarithms of a utility."""

    def build(self, models: Sequence[Model], data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        """The acquisition function for what is known now, pending points taken into account.

        Args:
            models: One for each objective, m.
            data: With the m objectives only, and only points that count as reached (feasible ones).
            rng: The only source of randomness.
        """
        ...


@dataclass(frozen=True)
class HypervolumeImprovement:
    """log E of the hypervolume that f(x) adds to the front: exact for single points, joint draws for sets.

    Objectives are independent given the data, so that over the boxes [l, u] of what the front does not dominate

        E HVI = sum_k prod_j ( E (f_j - l_kj)_+  -  E (f_j - u_kj)_+ ),

    in closed form under every distribution that has an expected improvement: the model's own or any calibrated one (Yang et al.
    2019 for Gaussian distributions). For sets, pending points and the noisy version, the values are drawn jointly, those at the
    points already there first, so that they are the same for every candidate, and so are their boxes (Daulton et al. 2021).
    Where a distribution is sampled by weighting, a candidate's weights are multiplied over the objectives (Stanton et al. 2023)
    and multiply its own gain over the points before it.

    Attributes:
        noisy: Whether the front is that of the unknown latent values at the points tried, drawn jointly with the
            candidate's; else that of their expectations.
        draws: Base samples for sets, pending points and the noisy version; ``None`` means 128 for two objectives and 32
            for more, since each draw has boxes of its own and those of three objectives take long to find.
        contenders: Most points tried that are drawn jointly with a candidate, in the noisy version.
        smoothing: Width of the smoothing of sampled gains, in units of the outcomes' spread.
    """

    noisy: bool = False
    draws: int | None = None
    contenders: int = 16
    smoothing: float = 1e-3

    def __post_init__(self) -> None:
        if (self.draws is not None and self.draws < 2) or self.contenders < 1 or not self.smoothing > 0.0:
            raise RecipeError(
                "hypervolume improvement needs draws >= 2, contenders >= 1 and smoothing > 0, got "
                f"{self.draws}, {self.contenders} and {self.smoothing}"
            )

    def build(self, models: Sequence[Model], data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        seeds = tuple(int(seed) for seed in rng.integers(2**63, size=len(models)))
        expected = np.stack([model.predict(data.X, latent=True).mean for model in models], axis=1)
        reference = reference_point(data, expected)
        rivals = _rivals(models, data.X, self.contenders, seeds) if self.noisy else data.X[:0]
        sampled = SampledHypervolume(
            tuple(models),
            fixed=np.vstack([rivals, data.X_pending]),
            # What is not drawn counts by its expectation, or measuring it again would seem to pay.
            front=pareto_front(expected[~is_row_of(data.X, rivals)]),
            reference=reference,
            width=self.smoothing * _spread(data.Y),
            seeds=seeds,
            draws=self.draws or (_DRAWS if len(models) == 2 else _COSTLY_DRAWS),
        )
        if self.noisy or len(data.X_pending):
            return sampled
        lower, upper = nondominated_boxes(pareto_front(expected), reference)

        def acquisition(X: Array) -> Array:
            if X.ndim == 3:
                return sampled(X)
            return log_expected_gain([model.predict(X, latent=True) for model in models], lower, upper)

        return acquisition


def reference_point(data: Dataset, Y: Array) -> Array:
    """The reference point that was given, m, or the one that outcomes, n x m, suggest."""
    if not data.reference:
        return inferred_reference(Y)
    if len(data.reference) != Y.shape[1]:
        raise DataError(f"the reference point has {len(data.reference)} values for {Y.shape[1]} objectives")
    return np.asarray(data.reference, dtype=np.float64)


def log_expected_gain(distributions: Sequence[Distribution], lower: Array, upper: Array) -> Array:
    """log E of the hypervolume gained at p points, p, from the distributions of each of m objectives and K boxes, each K x m."""
    total = 0.0
    for j, distribution in enumerate(distributions):
        ends, where = np.unique(np.concatenate([lower[:, j], upper[:, j]]), return_inverse=True)
        finite = ends[np.isfinite(ends)]
        gains = np.full((len(ends), distribution.mean.shape[-1]), -np.inf)
        gains[: len(finite)] = distribution.over_samples().log_expected_improvement(finite[:, None])
        of_lower, of_upper = gains[where[: len(lower)]], gains[where[len(lower) :]]
        total = total + log_difference(of_lower, of_upper)
    return logsumexp(np.moveaxis(np.asarray(total), 0, -1))


@dataclass(frozen=True, eq=False)
class SampledHypervolume:
    """The expected hypervolume that the last point of a set adds to the points before it, by joint draws.

    Attributes:
        models: One for each objective, m.
        fixed: Points whose unknown values count as reached, k x d.
        front: Values that count as reached, n x m.
        reference: The reference point, m.
        width: Width of the smoothing in each objective, m.
        seeds: Of each objective's base samples, m.
        draws: Number of base samples, S.
    """

    models: tuple[Model, ...]
    fixed: Array
    front: Array
    reference: Array
    width: Array
    seeds: tuple[int, ...]
    draws: int
    _boxes: dict[bytes, tuple[Array, Array]] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, X: Array) -> Array:
        """Log of the expected gain of points, p x d, or of the last point of sets, p x q x d, p."""
        sets = X[:, None, :] if X.ndim == 2 else X
        earlier = sets[:, :-1]
        if not len(sets) or not earlier.shape[1] or (earlier == earlier[:1]).all():
            return self._of_candidates(sets[:, -1], earlier[0] if len(sets) else self.fixed[:0])
        rows = [self._of_candidates(one[-1:], one[:-1]) for one in sets]
        return np.concatenate(rows)

    def _of_candidates(self, X: Array, earlier: Array) -> Array:
        """Of single points, p x d, beside the same earlier points, e x d."""
        lower, upper = self._boxes_beside(earlier)
        before = np.vstack([self.fixed, earlier])
        rows = max(_BLOCK // (self.draws * lower[0].size), 1)
        parts = [self._gains(X[i : i + rows], before, lower, upper) for i in range(0, len(X), rows)]
        return np.concatenate(parts) if parts else np.empty(0)

    def _gains(self, X: Array, before: Array, lower: Array, upper: Array) -> Array:
        values, log_weights = self._drawn(beside(X[:, None, :], before))
        gain = log_gain(values[..., -1, :], lower, upper, self.width)
        return logsumexp(gain + normalized(log_weights[..., -1, :]).sum(axis=-1)) - np.log(self.draws)

    def _boxes_beside(self, earlier: Array) -> tuple[Array, Array]:
        """What the points before a candidate do not dominate, in each draw: corners, each S x K x m."""
        key = earlier.tobytes()
        if key not in self._boxes:
            before = np.vstack([self.fixed, earlier])
            front = np.broadcast_to(self.front, (self.draws, *self.front.shape))
            if len(before):
                front = np.concatenate([front, self._drawn(before[None])[0][0]], axis=1)
            self._boxes[key] = nondominated_boxes(front, self.reference)
        return self._boxes[key]

    def _drawn(self, sets: Array) -> tuple[Array, Array]:
        """Joint draws of sets, p x q x d, and their log-weights: each p x S x q x m."""
        distributions = [model.predict(sets, latent=True) for model in self.models]
        pairs = [
            distribution.samples(base_samples(seed, self.draws, sets.shape[1]))
            for distribution, seed in zip(distributions, self.seeds, strict=True)
        ]
        values = np.stack([f for f, _ in pairs], axis=-1)
        return values, np.stack([np.broadcast_to(w, f.shape) for f, w in pairs], axis=-1)


def log_gain(values: Array, lower: Array, upper: Array, width: Array) -> Array:
    """log of the hypervolume that values, p x S x m, add, p x S: over boxes S x K x m, smoothed by ``width``, m."""
    sides = np.log(width) + log_softplus((values[..., None, :] - lower) / width)
    with np.errstate(divide="ignore"):
        sides = np.minimum(sides, np.log(upper - lower))
    return logsumexp(sides.sum(axis=-1))


def _rivals(models: Sequence[Model], X: Array, most: int, seeds: Sequence[int]) -> Array:
    """The points of n x d that are on the front in some joint draw, the most frequent first, at most ``most``."""
    distributions = [model.predict(X, latent=True) for model in models]
    pairs = zip(distributions, seeds, strict=True)
    values = np.stack(
        [distribution.samples(base_samples(seed, _SCOUTS, len(X)))[0] for distribution, seed in pairs], axis=-1
    )
    wins = np.sum([pareto_mask(one) for one in values], axis=0)
    order = np.argsort(-wins, kind="stable")[:most]
    return X[order[wins[order] > 0]]


def is_row_of(X: Array, rows: Array) -> np.ndarray:
    """Which of n points, n x d, are among some of them, k x d."""
    return (X[:, None, :] == rows).all(axis=2).any(axis=1)


def _spread(Y: Array) -> Array:
    """Standard deviations of outcomes, n x m, or their size where they are all equal, m; never zero."""
    unit = np.max(np.abs(Y), axis=0, initial=0.0)
    unit = np.where(unit > 0.0, unit, 1.0)
    spread = np.std(Y / unit, axis=0) * unit
    return np.maximum(np.where(spread > 0.0, spread, unit), np.finfo(np.float64).tiny)
