"""Roots of many increasing functions at once: Newton's method kept inside a bracket."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calibo.data import Array

#: Limit for functions whose slope is of no use: bisection halves the bracket every time.
_STEPS = 120
#: A Newton step this short, in units of the scale, is followed by an error of about its square.
_LAST_STEP = 1e-8
_SHORTEST_BRACKET = 1e-14
#: Values of the function from which a last step is taken.
_NEAR = 1e-3


def increasing_root(
    function: Callable[[Array], Array],
    slope: Callable[[Array, Array], Array],
    low: Array,
    high: Array,
    start: Array,
    scale: Array,
) -> Array:
    """The y with function(y) = 0, elementwise, to about rounding error.

    Args:
        function: Elementwise, non-decreasing in each element.
        slope: Its derivative, from y and the function's value there; where it is 0 or not finite a bisection is made.
        low: Where the function is negative.
        high: Where it is positive.
        start: First guess.
        scale: Over which the function changes much.
    """
    low, high, y = low.copy(), high.copy(), np.clip(start, low, high)
    for _ in range(_STEPS):
        value = function(y)
        below = value < 0.0
        low, high = np.where(below, y, low), np.where(below, high, y)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            rate = slope(y, value)
            step = y - value / rate
        usable = np.isfinite(rate) & np.isfinite(step) & (step >= low) & (step <= high)
        # A step that hardly moves although the root is not near comes from a slope that cannot be trusted.
        usable &= (np.abs(step - y) > _LAST_STEP * scale) | (np.abs(value) < _NEAR)
        following = np.where(usable, step, 0.5 * (low + high))
        moved = np.abs(following - y)
        y = following
        if np.all((usable & (moved <= _LAST_STEP * scale)) | (high - low <= _SHORTEST_BRACKET * scale)):
            break
    return y
