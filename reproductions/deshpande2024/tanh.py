"""Warped Gaussian processes (Snelson et al. 2004): outcomes plus a hyperbolic tangent of them, by maximum likelihood."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from calibo.data import Array, Dataset
from calibo.distributions import OutcomeTransform
from calibo.models import GaussianProcess
from calibo.models.base import Surrogate
from calibo.models.standardization import Standardization, single_outcome
from calibo.models.warped import WarpedModel

#: Heights, steepnesses and places (in standard deviations) of the steps that are tried.
HEIGHTS, STEEPNESSES, PLACES = (0.5, 1.5, 4.0), (0.5, 2.0), (-1.0, 0.0, 1.0)
#: Where the inverse is tabulated, and how often Newton's method improves it.
_TABLE, _STEPS = np.linspace(-12.0, 12.0, 2401), 2


@dataclass(frozen=True)
class TanhWarp(OutcomeTransform):
    """g(y) = z + height tanh(steepness (z - place)), z = (y - location) / scale: increasing, and linear far out.

    Attributes:
        height: Not negative; 0 for the identity.
        steepness: Positive.
        place: Where the step is, in units of the scale.
        location: Outcome at which z is 0.
        scale: Unit of the outcomes, positive.
    """

    height: float
    steepness: float
    place: float
    location: float
    scale: float

    def forward(self, y: Array | float) -> Array:
        z = (np.asarray(y, dtype=np.float64) - self.location) / self.scale
        return self._of(z)

    def inverse(self, w: Array | float) -> Array:
        w = np.asarray(w, dtype=np.float64)
        z = np.interp(w, self._tabulated, _TABLE)
        # Beyond the table the tangent is flat.
        z = z + np.maximum(w - self._tabulated[-1], 0.0) + np.minimum(w - self._tabulated[0], 0.0)
        for _ in range(_STEPS):
            t = np.tanh(self.steepness * (z - self.place))
            slope = 1.0 + self.height * self.steepness * (1.0 - t**2)
            z = z - (z + self.height * t - w) / slope
        return self.location + self.scale * z

    @cached_property
    def _tabulated(self) -> Array:
        return self._of(_TABLE)

    def log_derivative(self, y: Array | float) -> Array:
        z = (np.asarray(y, dtype=np.float64) - self.location) / self.scale
        return np.log(self._slope(z) / self.scale)

    def curvature(self, y: Array | float) -> Array:
        z = (np.asarray(y, dtype=np.float64) - self.location) / self.scale
        t = np.tanh(self.steepness * (z - self.place))
        bend = -2.0 * self.height * self.steepness**2 * t * (1.0 - t**2)
        return bend / self._slope(z) / self.scale

    @property
    def linear_above(self) -> float:
        # Never exactly, and it is neither convex nor concave: expectations are integrals over levels.
        return np.inf

    def _of(self, z: Array) -> Array:
        return z + self.height * np.tanh(self.steepness * (z - self.place))

    def _slope(self, z: Array) -> Array:
        t = np.tanh(self.steepness * (z - self.place))
        return 1.0 + self.height * self.steepness * (1.0 - t**2)


@dataclass(frozen=True)
class TanhWarped(Surrogate):
    """A Gaussian process of warped outcomes; of some warpings, the identity among them, the most likely is taken.

    Attributes:
        gp: The Gaussian process of the warped outcomes.
    """

    gp: GaussianProcess

    @property
    def stage_names(self) -> tuple[str, ...]:
        return (f"Tanh{self.gp.stage_names[0]}",)

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> WarpedModel:
        plain = replace(data, forecasts=())
        start = self.gp.fit(plain, rng=rng).hyperparameters
        y = single_outcome(data.Y)
        # With the hyperparameters of the outcomes as they are; those of the best warping are fitted in the end.
        transform = max(_warps(y), key=lambda warp: self.log_likelihood(plain, warp, start))
        warped = replace(plain, Y=transform.forward(data.Y), hyperparameters=(start,))
        model = self.gp.fit(warped, rng=rng)
        return WarpedModel(model, transform, model.hyperparameters)

    def log_likelihood(self, data: Dataset, warp: TanhWarp, raw: tuple[float, ...]) -> float:
        """Return the log density of the outcomes at raw hyperparameters of the Gaussian process, up to a constant."""
        w = warp.forward(data.Y)
        units = Standardization.of(w[:, 0])
        stretch = len(w) * np.log(units.unit * units.scale)
        density = -self.gp.objective(replace(data, Y=w)).value(np.asarray(raw)) - stretch
        return float(density + warp.log_derivative(data.Y).sum())


def _warps(y: Array) -> Iterator[TanhWarp]:
    units = Standardization.of(y)
    location, scale = units.unit * units.location, units.unit * units.scale
    yield TanhWarp(0.0, 1.0, 0.0, location, scale)
    for height, steepness, place in product(HEIGHTS, STEEPNESSES, PLACES):
        yield TanhWarp(height, steepness, place, location, scale)
