"""What the protocol needs of an optimizer."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from benchmarks.peers.spaces import Params, PeerSpace


@dataclass(frozen=True)
class Judged:
    """A forecast of a measurement, judged by what was measured.

    Attributes:
        low: Lower end of the central 80 % interval.
        high: Upper end.
        crps: Continuous ranked probability score.
    """

    low: float
    high: float
    crps: float


class Adapter(ABC):
    """An optimizer that minimizes, with ask and tell.

    Attributes:
        space: What is chosen.
        seed: Seed of all randomness.
        n_initial: Number of points that are told before the first ``ask``.
    """

    def __init__(self, space: PeerSpace, seed: int, n_initial: int) -> None:
        self.space = space
        self.seed = seed
        self.n_initial = n_initial

    @abstractmethod
    def ask(self) -> Params:
        """Return the next point to measure."""

    @abstractmethod
    def tell(self, params: Params, value: float) -> None:
        """Record a measurement: of an initial point, or of the point that was asked for last."""

    def judged(self, value: float) -> Judged | None:
        """Return the forecast made for the point asked for last, judged by its measurement; ``None`` if none is made.

        Called after ``ask`` and before ``tell``, and not counted in the optimizer's time.
        """
        return None


def gaussian_judged(mean: float, std: float, value: float) -> Judged:
    """Return a Gaussian forecast, judged by a measurement."""
    z = (value - mean) / std
    density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    crps = std * (z * math.erf(z / math.sqrt(2.0)) + 2.0 * density - 1.0 / math.sqrt(math.pi))
    half = 1.2815515655446004 * std
    return Judged(mean - half, mean + half, crps)
