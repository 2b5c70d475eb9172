"""How often a search gains many times what was expected: Markov's inequality for forecasts.

Under forecasts whose every quantile is calibrated, a gain of at least r times the expected one occurs in at most a share
1 / r of the steps, in the long run and whatever the outcomes are (Deshpande et al. 2024, Theorem 1, of the gain as the loss).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibo.arguments import checked
from calibo.data import Array
from calibo.distributions import Distribution
from calibo.errors import DataError

#: Multiples of the expected gain that are looked at by default.
RATIOS = (2.0, 5.0, 10.0)


@dataclass(frozen=True)
class Surprise:
    """How often gains were many times the expected one.

    Attributes:
        ratio: The multiple, r.
        steps: Number of steps.
        share: Share of the steps whose gain was at least r times the expected one.
    """

    ratio: float
    steps: int
    share: float

    @property
    def bound(self) -> float:
        """The largest share that calibrated forecasts have in the long run, 1 / r."""
        return 1.0 / self.ratio

    def __str__(self) -> str:
        said = "more than" if self.share > self.bound else "within"
        counted = f"{self.share:.1%} of {self.steps} steps, {said} {self.bound:.1%}"
        return f"gain {self.ratio:g} times the expected one or more: {counted}"


@checked
def surprises(
    forecasts: Distribution, outcomes: npt.ArrayLike, best: npt.ArrayLike, *, ratios: tuple[float, ...] = RATIOS
) -> list[Surprise]:
    """Count the steps of a search that gained many times what their forecasts expected.

        >>> import numpy as np
        >>> from calibo.distributions import Gaussian
        >>> sure = Gaussian(np.zeros(4), np.full(4, 0.1))
        >>> print(surprises(sure, [0.0, 0.5, -0.1, 1.0], np.zeros(4), ratios=(2.0,))[0])
        gain 2 times the expected one or more: 50.0% of 4 steps, within 50.0%

    Args:
        forecasts: Forecasts of n outcomes, each made before its outcome; larger is better.
        outcomes: What was observed, n.
        best: The best outcome before each step, n; a gain is what an outcome exceeds it by.
        ratios: Multiples of the expected gain, each above 1.

    Raises:
        DataError: If there is not one finite outcome and one best for each forecast, or a ratio is not above 1.
    """
    y, c = (np.asarray(values, dtype=np.float64) for values in (outcomes, best))
    shape = np.shape(forecasts.median)
    if y.shape != shape or c.shape != shape or y.ndim != 1 or not len(y):
        raise DataError(f"expected one outcome and one best for each of {shape} forecasts, got {y.shape} and {c.shape}")
    if not (np.isfinite(y).all() and np.isfinite(c).all()):
        raise DataError("outcomes and the best before them must be finite; leave out steps without an outcome")
    if not all(ratio > 1.0 for ratio in ratios):
        raise DataError(f"ratios must be above 1, got {ratios}: any gain is at least 1 time itself")
    gains: Array = np.maximum(y - c, 0.0)
    expected = forecasts.expected_improvement(c)
    # Where nothing is gained nothing surprises, also if nothing at all was expected.
    return [Surprise(ratio, len(y), float(np.mean((gains > 0.0) & (gains >= ratio * expected)))) for ratio in ratios]
