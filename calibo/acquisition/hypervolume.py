"""Expected hypervolume improvement: the volume that a point adds to what the Pareto front dominates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from calibo.acquisition.base import (
    Acquisition,
    base_samples,
    log_difference,
    log_softplus,
    logsumexp,
    most_frequent,
    normalized,
)
from calibo.acquisition.joint import Beside, beside_earlier, remembered
from calibo.acquisition.room import Room
from calibo.arguments import check_fields
from calibo.data import Array, Dataset
from calibo.distributions import Distribution
from calibo.errors import DataError, MissingExtra, RecipeError
from calibo.models.base import Model
from calibo.pareto import inferred_reference, pareto_front, pareto_mask, planar_boxes

#: Base samples where boxes are computed quickly (two objectives), and where they are not.
_DRAWS, _COSTLY_DRAWS = 128, 32
#: Draws used to find the observed points that may be on the Pareto front.
_DRAWS_OF_FRONT = 128
#: Side lengths of boxes computed at a time, which bounds the memory.
_BLOCK = 2_000_000


class TradeoffRule(ABC):
    """A recipe that turns models of several objectives into an acquisition function: the log of a utility."""

    @abstractmethod
    def build(self, models: Sequence[Model], data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        """Build the acquisition function.

        Args:
            models: Model of each objective, m.
            data: The feasible observations of the m objectives; pending points are taken into account.
            rng: The only source of randomness.
        """

    def chosen(self, models: Sequence[Model], data: Dataset) -> TradeoffRule:
        """Return the rule that suits models and data, for a rule that chooses among others; by default itself.

        Args:
            models: Model of each objective, m.
            data: The feasible observations of the m objectives.
        """
        return self


@dataclass(frozen=True)
class HypervolumeImprovement(TradeoffRule):
    """log E of the hypervolume that f(x) adds to the Pareto front: exact for single points, by joint draws for batches.

    Objectives are independent given the data, so that over the boxes [l, u] that the front does not dominate

        E HVI = sum_k prod_j ( E (f_j - l_kj)_+  -  E (f_j - u_kj)_+ ),

    in closed form under every distribution that has an expected improvement: the model's own or any calibrated one (Yang
    et al. 2019 for Gaussian distributions). For batches, pending points and the noisy version, the values are drawn
    jointly, those at earlier points first, so that they and their boxes are the same for every candidate (Daulton et al.
    2021). Where a distribution is sampled by weighting, the weights of a candidate are multiplied over the objectives
    (Stanton et al. 2023) and multiply its own gain over the points before it. Without a given reference point, gains of two
    objectives beyond an end of the front count little for three trials after a try there that came to nothing (`Room`).

    Attributes:
        noisy: Whether the front is that of the unknown latent values at the observed points, drawn jointly with the
            candidate's; else that of their expectations.
        draws: Base samples for batches, pending points and the noisy version; ``None`` means 128 for two objectives and
            32 for more, since each draw has its own boxes and those of three objectives are slow to compute.
        contenders: Maximum number of observed points drawn jointly with a candidate, in the noisy version.
        smoothing: Width of the smoothing of sampled gains, in standard deviations of the outcomes.
    """

    noisy: bool = False
    draws: int | None = None
    contenders: int = 16
    smoothing: float = 1e-3

    def __post_init__(self) -> None:
        check_fields(self)
        if (self.draws is not None and self.draws < 2) or self.contenders < 1 or not self.smoothing > 0.0:
            raise RecipeError(
                "hypervolume improvement needs draws >= 2, contenders >= 1 and smoothing > 0, got "
                f"{self.draws}, {self.contenders} and {self.smoothing}"
            )

    def build(self, models: Sequence[Model], data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        seeds = tuple(int(seed) for seed in rng.integers(2**63, size=len(models)))
        expected = np.stack([model.predict(data.X, latent=True).mean for model in models], axis=1)
        reference = reference_point(data, expected)
        room = Room.full(len(models)) if data.reference else Room.earned(expected)
        rivals = rivals_of_front(models, data.X, self.contenders, seeds) if self.noisy else data.X[:0]
        sampled = SampledHypervolume(
            tuple(models),
            fixed=np.vstack([rivals, data.X_pending]),
            # Points that are not drawn count by their expectation, or measuring them again would seem to be a gain.
            front=pareto_front(expected[~is_row_of(data.X, rivals)]),
            reference=reference,
            room=room,
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
            return log_expected_gain([model.predict(X, latent=True) for model in models], lower, upper, room)

        return acquisition


def reference_point(data: Dataset, Y: Array) -> Array:
    """Return the reference point of the data, `m`, or infer it from outcomes Y, `n x m`."""
    if not data.reference:
        return inferred_reference(Y)
    if len(data.reference) != Y.shape[1]:
        raise DataError(f"the reference point has {len(data.reference)} values for {Y.shape[1]} objectives")
    return np.asarray(data.reference, dtype=np.float64)


def log_expected_gain(
    distributions: Sequence[Distribution], lower: Array, upper: Array, room: Room | None = None
) -> Array:
    """Return the log of the expected hypervolume gained at p points, `p`.

    Args:
        distributions: Distribution of each of m objectives at the points.
        lower: Lower corners of the K boxes that the front does not dominate, `K x m`.
        upper: Upper corners, `K x m`.
        room: How lengths beyond the ends of the front count; ``None`` if all count alike.
    """
    total, room = 0.0, room or Room.full(len(distributions))
    for j, distribution in enumerate(distributions):
        ends, where = np.unique(np.concatenate([lower[:, j], upper[:, j]]), return_inverse=True)
        finite = ends[np.isfinite(ends)]
        gains = np.full((len(ends), distribution.mean.shape[-1]), -np.inf)
        gains[: len(finite)] = room.log_improvement(j, distribution.over_samples(), finite)
        of_lower, of_upper = gains[where[: len(lower)]], gains[where[len(lower) :]]
        total = total + log_difference(of_lower, of_upper)
    return logsumexp(np.moveaxis(np.asarray(total), 0, -1))


@dataclass(frozen=True, eq=False)
class SampledHypervolume:
    """The expected hypervolume that the last point of a batch adds to the points before it, by joint draws.

    Attributes:
        models: Model of each objective, m.
        fixed: Earlier points whose values are not known, `k x d`: pending ones and, in the noisy version, contenders.
        front: Values of the front, `n x m`.
        reference: The reference point, `m`.
        room: How lengths beyond the ends of the front count.
        width: Width of the smoothing in each objective, `m`.
        seeds: Seeds of the base samples of each objective, `m`.
        draws: Number of base samples, S.
    """

    models: tuple[Model, ...]
    fixed: Array
    front: Array
    reference: Array
    room: Room
    width: Array
    seeds: tuple[int, ...]
    draws: int
    _kept: dict[bytes, tuple[list[Beside], Array, Array]] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, X: Array) -> Array:
        """Evaluate `p x d` points, or the last points of `p x q x d` batches, as `p` logarithms."""
        return beside_earlier(self._of_candidates, X)

    def _of_candidates(self, X: Array, earlier: Array) -> Array:
        """Evaluate `p x d` points given the same earlier points, `e x d`."""
        besides, lower, upper = remembered(self._kept, earlier, self._beside)
        rows = max(_BLOCK // (self.draws * lower[0].size), 1)
        parts = [self._gains(X[i : i + rows], besides, lower, upper) for i in range(0, len(X), rows)]
        return np.concatenate(parts) if parts else np.empty(0)

    def _gains(self, X: Array, besides: Sequence[Beside], lower: Array, upper: Array) -> Array:
        drawn = [beside.candidates(X) for beside in besides]
        values = self.room.bent(np.concatenate([one.values for one in drawn], axis=-1))
        gain = log_gain(values, lower, upper, self.width)
        weights = sum(normalized(one.log_weights)[..., 0] for one in drawn)
        return logsumexp(gain + weights) - np.log(self.draws)

    def _beside(self, earlier: Array) -> tuple[list[Beside], Array, Array]:
        """Return the draws of each objective beside the points before a candidate, and the boxes that these leave.

        Boxes are what the points do not dominate in each draw: lower and upper corners as they count, each `S x K x m`.
        """
        before = np.vstack([self.fixed, earlier])
        besides = [Beside(model, before, seed, self.draws) for model, seed in zip(self.models, self.seeds, strict=True)]
        front = np.broadcast_to(self.front, (self.draws, *self.front.shape))
        if len(before):
            drawn = np.stack([beside.points_drawn.values[0] for beside in besides], axis=-1)
            front = np.concatenate([front, drawn], axis=1)
        lower, upper = nondominated_boxes(front, self.reference)
        return besides, self.room.bent(lower), self.room.bent(upper)


def log_gain(values: Array, lower: Array, upper: Array, width: Array) -> Array:
    """Return the log of the hypervolume that values, `p x S x m`, add over boxes, `S x K x m`, smoothed by ``width``, `m`."""
    sides = np.log(width) + log_softplus((values[..., None, :] - lower) / width)
    with np.errstate(divide="ignore"):
        sides = np.minimum(sides, np.log(upper - lower))
    return logsumexp(sides.sum(axis=-1))


def rivals_of_front(models: Sequence[Model], X: Array, most: int, seeds: Sequence[int]) -> Array:
    """Return the points of `n x d` that are on the front in some joint draw, the most frequent first."""
    values = np.stack(
        [
            model.predict(X, latent=True).samples(base_samples(seed, _DRAWS_OF_FRONT, len(X)))[0]
            for model, seed in zip(models, seeds, strict=True)
        ],
        axis=-1,
    )
    return most_frequent(X, np.sum([pareto_mask(one) for one in values], axis=0), most)


def is_row_of(X: Array, rows: Array) -> np.ndarray:
    """Return which of `n x d` points are among ``rows``, `k x d`."""
    return (X[:, None, :] == rows).all(axis=2).any(axis=1)


def _spread(Y: Array) -> Array:
    """Return the standard deviation of each objective of Y, `n x m`, or its size if all values are equal; never zero."""
    unit = np.max(np.abs(Y), axis=0, initial=0.0)
    unit = np.where(unit > 0.0, unit, 1.0)
    spread = np.std(Y / unit, axis=0) * unit
    return np.maximum(np.where(spread > 0.0, spread, unit), np.finfo(np.float64).tiny)


def nondominated_boxes(Y: Array, reference: Array) -> tuple[Array, Array]:
    """Partition what points do not dominate above the reference point into disjoint boxes.

    Two objectives are partitioned here, three and more by BoTorch.

    Args:
        Y: Values of the points, `... x n x m`, larger is better; with leading dimensions, one front for each draw.
        reference: The reference point, `m`.

    Returns:
        Lower and upper corners, each `... x K x m`; upper corners may be infinite. Fronts with fewer boxes than others
        are filled up with empty ones.
    """
    if len(reference) == 2:
        return planar_boxes(Y, np.asarray(reference))
    if len(reference) < 2:
        raise ValueError("boxes are for two objectives and more")
    try:
        from calibo.botorch.boxes import partitioned
    except ImportError:
        raise MissingExtra(
            f"{len(reference)} objectives need BoTorch's box decompositions, which are not installed: "
            "pip install 'calibo[botorch]'"
        ) from None
    return partitioned(Y, np.asarray(reference))
