"""The prior of the variance of unknown noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibo.checks import check_between

_LARGEST = 2.0


@dataclass(frozen=True)
class NoisePrior:
    """A log-normal prior of the noise variance of standardized outcomes, with a least variance.

    Attributes:
        location: Mean of the log variance.
        width: Standard deviation of the log variance.
        floor: Least variance; that of known noise, too.
    """

    location: float = -4.0
    width: float = 1.0
    floor: float = 1e-6

    def __post_init__(self) -> None:
        check_between("width", self.width, 0.0, np.inf)
        check_between("floor", self.floor, 0.0, _LARGEST)

    @property
    def bounds(self) -> tuple[float, float]:
        """Bounds of the log variance."""
        return float(np.log(self.floor)), float(np.log(_LARGEST))

    def __call__(self, raw: float) -> tuple[float, float]:
        """Return the negative log density of the variance at its logarithm, up to a constant, and the derivative."""
        deviation = (raw - self.location) / self.width
        return raw + 0.5 * deviation**2, 1.0 + deviation / self.width
