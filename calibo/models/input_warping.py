"""Warping of numeric columns by the distribution function of Kumaraswamy, for outcomes that vary faster at one end.

Notation: w(x) = 1 - (1 - x^a)^b on [0, 1], one a and one b per numeric column; a = b = 1 is the identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibo.arguments import check_fields
from calibo.checks import check_between
from calibo.data import Array
from calibo.models.gp_posterior import Features

#: Bounds within which log a and log b are sought.
_BOUNDS = (-2.0, 2.0)


@dataclass(frozen=True, eq=False)
class WarpedFeatures(Features):
    """Features of warped points. Categorical columns, and coordinates outside the unit interval, stay as they are.

    Attributes:
        base: The features of points that are not warped.
        log_a: One per numeric column.
        log_b: One per numeric column.
    """

    base: Features
    log_a: Array
    log_b: Array

    @cached_property
    def numeric(self) -> np.ndarray:
        """The numeric columns."""
        return np.flatnonzero(np.asarray(self.categories) == 0)

    @property
    def column(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]
        return self.base.column

    @property
    def lengths(self) -> int:
        return self.base.lengths

    @property
    def usual(self) -> float:
        return self.base.usual

    def embedded(self, X: Array, coordinates: Array) -> Array:
        return self.base.embedded(X, self.warped(coordinates))

    def pulled(self, X: Array, coordinates: Array, pull: Array) -> Array:
        return self.base.pulled(X, self.warped(coordinates), pull)

    def warped(self, X: Array) -> Array:
        """Return `q x d` points with their numeric columns warped."""
        warped = np.array(X, dtype=np.float64)
        x = warped[:, self.numeric]
        with np.errstate(divide="ignore"):
            inside = -np.expm1(np.exp(self.log_b) * np.log1p(-np.power(np.clip(x, 0.0, 1.0), np.exp(self.log_a))))
        warped[:, self.numeric] = np.where((x >= 0.0) & (x <= 1.0), inside, x)
        return warped

    def derivatives(self, X: Array) -> Array:
        """Return dw / d log a and dw / d log b at `q x d` points, `2 x q x m` for m numeric columns; 0 at both ends."""
        x = X[:, self.numeric]
        within = (x > 0.0) & (x < 1.0)
        x = np.where(within, x, 0.5)
        a, b = np.exp(self.log_a), np.exp(self.log_b)
        power = np.power(x, a)
        log_rest = np.log1p(-power)
        by_a = a * b * np.exp((b - 1.0) * log_rest) * power * np.log(x)
        by_b = -b * np.exp(b * log_rest) * log_rest
        return np.where(within, [by_a, by_b], 0.0)


@dataclass(frozen=True)
class InputWarping:
    """Warp each numeric column as the outcomes tell (Snoek et al. 2014), the identity being the most likely a priori.

    Its raw hyperparameters are log a of all numeric columns, then log b, each with the prior N(0, spread^2).

    Attributes:
        spread: Standard deviation of log a and log b a priori.
    """

    spread: float = 0.5

    def __post_init__(self) -> None:
        check_fields(self)
        check_between("spread", self.spread, 0.0, np.inf)

    def size(self, categories: tuple[int, ...]) -> int:
        """Return the number of raw hyperparameters."""
        return 2 * categories.count(0)

    def bounds(self, categories: tuple[int, ...]) -> list[tuple[float, float]]:
        """Return the bounds of the raw hyperparameters."""
        return [_BOUNDS] * self.size(categories)

    def features(self, base: Features, raw: Array) -> WarpedFeatures:
        """Return features of points warped by raw hyperparameters."""
        return WarpedFeatures(base.categories, base, *np.split(raw, 2))

    def prior(self, raw: Array) -> tuple[float, Array]:
        """Return the negative log prior, up to a constant, and its gradient."""
        deviation = raw / self.spread
        return float(0.5 * deviation @ deviation), deviation / self.spread
