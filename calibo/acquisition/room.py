"""How much a gain beyond the ends of the Pareto front counts, by what the last tries there came to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibo.data import Array
from calibo.distributions import Distribution
from calibo.pareto import futile_ends, pareto_front

#: Weight of what lies beyond an end of the front after a try there that came to nothing.
_FUTILE = 1.0 / 16.0


@dataclass(frozen=True, eq=False)
class Room:
    """Outcomes of each objective, bent at the end of the front: beyond it, lengths count by a weight.

    Volumes of bent outcomes are volumes in which what lies beyond an end counts by its weight. Nothing is cut off: where all
    gains inside of the front are small, one beyond it is sought all the same.

    Attributes:
        ends: Worst value of the front in each objective, `m`.
        weights: Weight of lengths beyond each end, `m`, above 0 and at most 1.
    """

    ends: Array
    weights: Array

    @classmethod
    def full(cls, m: int) -> Room:
        """Return the room of m objectives in which all lengths count alike."""
        return cls(np.zeros(m), np.ones(m))

    @classmethod
    def earned(cls, Y: Array) -> Room:
        """Return the room that outcomes speak for: little beyond ends of the front where the last try was futile.

        Args:
            Y: Outcomes in the order they arrived, `n x m`, without their noise as far as it is known. With more than two
                objectives all lengths count alike.
        """
        if Y.shape[1] != 2:
            return cls.full(Y.shape[1])
        return cls(pareto_front(Y).min(axis=0), np.where(futile_ends(Y), _FUTILE, 1.0))

    @property
    def is_full(self) -> bool:
        """Whether all lengths count alike."""
        return bool((self.weights == 1.0).all())

    def bent(self, Y: Array) -> Array:
        """Return outcomes, `... x m`, as they count; infinite ones remain so."""
        if self.is_full:
            return Y
        return np.where(self.ends > Y, self.ends - self.weights * (self.ends - Y), Y)

    def log_improvement(self, j: int, distribution: Distribution, levels: Array) -> Array:
        """Return the log expected improvement of objective j, as it counts, over finite levels, `K`, at p points: `K x p`.

        E (g(f) - g(t))+ = w E (f - t)+ + (1 - w) E (f - end)+ for levels t beyond the end, where g bends outcomes.

        Args:
            j: The objective.
            distribution: Its distribution at the points.
            levels: The levels, not bent.
        """
        gains = distribution.log_expected_improvement(levels[:, None])
        weight, beyond = self.weights[j], levels < self.ends[j]
        if weight < 1.0 and beyond.any():
            inside = distribution.log_expected_improvement(self.ends[j : j + 1, None])
            gains[beyond] = np.logaddexp(np.log(weight) + gains[beyond], np.log1p(-weight) + inside)
        return gains
