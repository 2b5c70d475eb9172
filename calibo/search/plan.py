"""The plan that a strategy hands to a search: the acquisition function, and instructions for maximizing it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from calibo.arguments import check_fields
from calibo.data import Array, Forecasts
from calibo.errors import DataError
from calibo.models.base import Model
from calibo.spaces.base import between

#: Maps `m x d` points, or `m x q x d` batches whose last point is the candidate, to `m` values; larger is better.
Acquisition = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Box:
    """An axis-aligned part of the unit cube around a point: a trust region.

    Attributes:
        centre: `d` coordinates.
        reach: Distance from the centre to the faces in each column, `d`; infinite where a column is not limited.
    """

    centre: Array
    reach: Array

    @classmethod
    def around(cls, centre: Array, weights: Array, length: float, categories: tuple[int, ...]) -> Box:
        """Return the box whose sides are ``length`` times the weights, scaled to a geometric mean of 1.

        Args:
            centre: `d` coordinates.
            weights: Relative side length of each column, `d` positive numbers, such as length scales.
            length: Side of the box if all weights were equal.
            categories: Number of choices of each categorical column, 0 for a numeric one, `d`. Categorical columns are
                not limited.
        """
        numeric = np.asarray(categories) == 0
        logs = np.log(weights[numeric])
        reach = np.full(centre.shape, np.inf)
        reach[numeric] = 0.5 * length * np.exp(logs - logs.mean()) if logs.size else np.inf
        return cls(centre, reach)

    @property
    def lower(self) -> Array:
        """Lower bound of each column, `d`."""
        return np.maximum(self.centre - self.reach, 0.0)

    @property
    def upper(self) -> Array:
        """Upper bound of each column, `d`."""
        return np.minimum(self.centre + self.reach, 1.0)

    @property
    def is_everything(self) -> bool:
        """Whether the box is the whole cube."""
        return bool((self.lower <= 0.0).all() and (self.upper >= 1.0).all())

    def contains(self, X: Array) -> np.ndarray:
        """Return which of `m x d` points lie in the box, `m`."""
        return between(X, self.lower, self.upper)

    def doubled(self) -> Box:
        """Return the box with sides twice as long."""
        return replace(self, reach=2.0 * self.reach)


@dataclass(frozen=True, eq=False)
class Plan:
    """What to maximize, and how, to choose the next points.

    Attributes:
        acquisition: Acquisition function of `m x d` points or `m x q x d` batches.
        anchors: Promising points to search around, `a x d`, best first.
        avoid: Points that must not be suggested, `t x d`.
        models: Model of each outcome; empty for a strategy without a predictive distribution.
        forecaster: Maps `q x d` points to their `q` forecasts, one per outcome; ``None`` without models.
        hyperparameters: Fitted hyperparameters of each model, and of further models that only the strategy knows; stored
            with the suggestion.
        region: Trust region: candidates are searched within this box only. ``None`` for the whole space.
        repeats: Points to suggest again before any new one, `r x d`.
        replicates: How often each new point is suggested.
        at_random: Whether points are to be drawn at random, because there is nothing to learn from yet.
        learn: Returns the plan updated by where the search goes: (this plan, proposals `p x d`, rng) -> plan.
            ``None`` if the acquisition function does not depend on that.
        rule: Name of the rule that built the acquisition function; empty if there is none.
        why: Why this method was used, in words, if a strategy has chosen among methods; stored with the suggestion.
    """

    acquisition: Acquisition
    anchors: Array
    avoid: Array
    models: tuple[Model, ...] = ()
    forecaster: Callable[[Array], tuple[Forecasts, ...]] | None = None
    hyperparameters: tuple[tuple[float, ...], ...] = ()
    region: Box | None = None
    repeats: Array = field(default_factory=lambda: np.empty((0, 0)))
    replicates: int = 1
    at_random: bool = False
    learn: Callable[[Plan, Array, np.random.Generator], Plan] | None = None
    rule: str = ""
    why: str | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if any(np.ndim(points) != 2 for points in (self.anchors, self.avoid, self.repeats)):
            raise DataError("anchors, avoid and repeats of a plan are arrays of points, m x d")
        d = self.avoid.shape[-1] or self.anchors.shape[-1]
        for name in ("anchors", "avoid", "repeats"):
            object.__setattr__(self, name, getattr(self, name).reshape(-1, d))

    def learned(self, proposals: Array, *, rng: np.random.Generator) -> Plan:
        """Return the plan of a search that has visited ``proposals``, `p x d` (all of them so far).

        A plan that does not learn is returned as it is.
        """
        return self if self.learn is None else self.learn(self, proposals, rng)

    def given(self, chosen: Sequence[Array]) -> Plan:
        """Return the plan for one more point of a batch beside those already chosen."""
        if not chosen:
            return self
        batch = np.stack(chosen)

        def acquisition(X: Array) -> Array:
            earlier = np.broadcast_to(batch, (len(X), *batch.shape))
            return self.acquisition(np.concatenate([earlier, X[:, None, :]], axis=1))

        return replace(self, acquisition=acquisition, avoid=np.vstack([self.avoid, *chosen]))
