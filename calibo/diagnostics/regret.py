"""Progress of an optimization: best value so far, regret, and the area under the curve.

Values are in the user's units and sign, the latest last: ``n``, or runs ``x n``.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from calibo.arguments import checked
from calibo.checks import check_one_of
from calibo.data import Array
from calibo.errors import DataError, RecipeError

Direction = Literal["minimize", "maximize"]


@checked
def best_so_far(values: npt.ArrayLike, *, direction: Direction = "minimize") -> Array:
    """Return the best value found up to and including each step, in the shape of the values."""
    sign = _sign(direction)
    return sign * np.minimum.accumulate(sign * _finite(values), axis=-1)


@checked
def simple_regret(values: npt.ArrayLike, optimum: float, *, direction: Direction = "minimize") -> Array:
    """Return the distance of the best value so far from the optimum after each step, in the shape of the values.

    Give noise-free values at the points tried: on noisy ones a lucky measurement can make the regret negative.

    Args:
        values: Objective values in the order they were observed, ``... x n``.
        optimum: Best possible value.
        direction: Which way is better.
    """
    return _sign(direction) * (best_so_far(values, direction=direction) - optimum)


@checked
def cumulative_regret(values: npt.ArrayLike, optimum: float, *, direction: Direction = "minimize") -> Array:
    """Return the sum over the steps so far of each value's distance from the optimum, in the shape of the values.

    Args:
        values: Objective values in the order they were observed, ``... x n``.
        optimum: Best possible value.
        direction: Which way is better.
    """
    return np.cumsum(_sign(direction) * (_finite(values) - optimum), axis=-1)


@checked
def area_under_curve(
    values: npt.ArrayLike, *, lower: float, upper: float, direction: Direction = "minimize"
) -> Array | np.float64:
    """Return the area under the best-so-far curve as a fraction of the rectangle between two bounds; smaller is better.

    A value stays the best until a better one comes, so the curve is a staircase and its area a mean over the steps.
    0 means the better bound was reached at once, 1 that the worse one was never improved on. Methods are compared with
    the same bounds. (Deshpande, Marx and Kuleshov, appendix A.1, who leave the bounds open.)

    Args:
        values: Objective values in the order they were observed, ``... x n``.
        lower: Smallest value of the rectangle: the optimum, when minimizing.
        upper: Largest value of the rectangle: the optimum, when maximizing.
        direction: Which way is better.

    Returns:
        One number in [0, 1] per run; a scalar for one run.
    """
    if not lower < upper:
        raise RecipeError(f"the lower bound must be below the upper one, got {lower} and {upper}")
    best = best_so_far(values, direction=direction)
    if not best.shape[-1]:
        raise DataError("the area under the curve needs at least one value, got none: wait for a first result")
    height = best - lower if direction == "minimize" else upper - best
    return np.clip(height / (upper - lower), 0.0, 1.0).mean(axis=-1)


def _sign(direction: Direction) -> float:
    check_one_of("direction", direction, ("minimize", "maximize"))
    return 1.0 if direction == "minimize" else -1.0


def _finite(values: npt.ArrayLike) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0 or not np.isfinite(array).all():
        raise DataError("expected a list of finite values: leave out evaluations that failed")
    return array
