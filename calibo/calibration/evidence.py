"""Evidence: held-out forecasts with their outcomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from calibo.calibration.nearness import Nearness
from calibo.data import Activity, Array
from calibo.distributions import Distribution
from calibo.models.subsets import point_keys


@dataclass(frozen=True, eq=False)
class Evidence:
    """Held-out forecasts and their outcomes, in the order the outcomes arrived: all that a recalibrator may look at.

    Attributes:
        X: `t x d` points that were forecast.
        y: Outcomes, t.
        distribution: The forecasts by the surrogate that is to be calibrated: a `Distribution` over the t points.
        categories: Number of choices of each categorical column, 0 for a numeric one, d. `()` means all numeric.
        left_out: Predictions at other points, `... x q x d`, by the models that had not seen each outcome: a `Distribution`,
            `t x ... x q`. `None` if there is one model only.
        weights: How much each forecast counts, t, from 0 to 1; `None` if all count alike. Recalibrators whose guarantee is
            about counts of outcomes do not look at them.
        activity: Which columns are active at a point; `None` if all always are.
        nearness: The data that the present model knows, by which new points are near or far; `None` if it is not told.
        log_distance: Logarithm of the distance of each point from the data that its forecast knew, t; given if `nearness`
            is.
    """

    X: Array
    y: Array
    distribution: Distribution
    categories: tuple[int, ...] = ()
    left_out: Callable[[Array], Distribution] | None = None
    weights: Array | None = None
    activity: Activity | None = None
    nearness: Nearness | None = None
    log_distance: Array | None = None

    def __len__(self) -> int:
        return len(self.y)

    @cached_property
    def scores(self) -> Array:
        """Normal scores of the outcomes under their forecasts, t; standard normal if the forecasts are calibrated.

        A forecast that overflowed, of outcomes near the largest float, says nothing: its score is 0.
        """
        return np.nan_to_num(self.distribution.normal_scores(self.y), nan=0.0, posinf=np.inf, neginf=-np.inf)

    @cached_property
    def outcomes(self) -> np.ndarray:
        """The number of the outcome that each forecast is of, t: stored and left-out forecasts of one share it."""
        return np.unique(point_keys(np.column_stack([self.X, self.y])), return_inverse=True)[1]

    @property
    def pit(self) -> Array:
        """Probability integral transforms F_t(y_t), t; uniform if the forecasts are calibrated."""
        return ndtr(self.scores)
