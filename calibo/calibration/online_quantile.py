"""Online quantile recalibration (OCBO): every level is calibrated in the long run, on any sequence of outcomes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from calibo.arguments import check_fields
from calibo.calibration.base import LevelMap, Recalibrator, Relevel
from calibo.calibration.evidence import Evidence
from calibo.calibration.monotone_play import pooled_adjacent, spread_pools, within_bound
from calibo.checks import shown
from calibo.data import Array
from calibo.distributions import Levels
from calibo.errors import RecipeError

#: Levels tracked by default: the ends of the 50, 80, 90, 95 and 98 % intervals are among them.
DEFAULT_LEVELS: tuple[float, ...] = (
    *(0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5),
    *(0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99),
)
#: Levels that acquisition functions see stay this far from 0 and 1. A margin that shrinks with the evidence, such as
#: 1 / (2 (T + 1)), would narrow the intervals of a new study instead of only bounding them.
SMALLEST_LEVEL = 1e-3
#: How many states are remembered, of the last sequences that were asked for.
_REMEMBERED = 32


@dataclass(frozen=True)
class Trajectory:
    """The states of an online recalibrator.

    Attributes:
        hidden: The unclipped state before each outcome and after the last, `(T + 1) x K`.
        played: The map in use, the isotonic projection of the state, `(T + 1) x K`.
    """

    hidden: Array
    played: Array


@dataclass(frozen=True)
class OnlineQuantile(Recalibrator):
    """Online gradient descent on the quantile pinball loss, one state per level (Deshpande et al. 2024, eq. 6 - 11).

    For t = 1, 2, ... with u_t = F_t(y_t) the PIT of the raw forecast:
      1. play R_t = isotonic projection of the hidden state h_t over the levels (kept within the bound: see
         ``monotone_play.within_bound``, which changes it only for eta above about 2);
      2. observe o = 1[u_t <= R_t(p)] with the *played* R_t (below 0 never, above 1 always);
      3. h_{t+1}(p) = h_t(p) - eta (o - p).
    Then |mean of o - p| <= (1 + eta) / (eta T) at every level and every T: Theorem 2 for a single level. For all levels
    at once it is tested, not proved, on adversarial streams up to eta = 10 with the default levels; grids much finer
    than these can exceed it at large eta (levels that are close cannot all be kept right at once).

    Deviations from the paper: the state starts at h_1(p) = p instead of 0, which starts from the
    model's own quantiles and keeps the bound; raw states cross (the paper's monotonicity lemma is false), so their
    projection is played *and* used in the update, which keeps the bound; the state is never clipped, only the
    map that `fit` returns is, to [0.001, 0.999]. Where several levels have the same value in play, that map spreads them
    between their neighbours, so that quantiles increase strictly and no interval begins at the median.

    Attributes:
        eta: Step size, positive. Large steps adapt fast and bound tightly, small steps are smooth.
        levels: Levels tracked, increasing, inside (0, 1).
        monotone: ``False`` plays the hidden state itself, as the paper's text does (for comparison only).
        from_zero: ``True`` starts from h_1 = 0 as the paper's eq. 9 does (for comparison only).
        pooled: ``True`` returns the map as it is played, in which several levels may have the same quantile.
    """

    eta: float = 0.2
    levels: tuple[float, ...] = DEFAULT_LEVELS
    monotone: bool = True
    from_zero: bool = False
    pooled: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        if not (isinstance(self.eta, int | float) and np.isfinite(self.eta) and self.eta > 0.0):
            raise RecipeError(f"eta must be a positive number, got {shown(self.eta)}; 0.2 is a good start")
        p = np.asarray(self.levels, dtype=np.float64)
        if p.size == 0 or np.any(np.diff(p) <= 0.0) or p[0] <= 0.0 or p[-1] >= 1.0:
            raise RecipeError(f"levels must increase strictly inside (0, 1), got {shown(self.levels)}")

    def run(self, pit: Array) -> Trajectory:
        """Return all states of the recalibrator on a sequence of T PITs."""
        steps = list(self._steps(pit, self._start()))
        return Trajectory(np.array([hidden for hidden, _ in steps]), np.array([played for _, played in steps]))

    def final(self, pit: Array) -> Array:
        """Return the map in use after a sequence of T PITs, K."""
        values = np.ascontiguousarray(pit, dtype=np.float64)
        known, before = _reached(self, values.tobytes())
        state, played = deque(self._steps(values[known:], before), maxlen=1)[0]
        if known < len(values):
            _STATES.append((self, values.tobytes(), state))
        return np.array(played)

    def _start(self) -> list[float]:
        return [0.0] * len(self.levels) if self.from_zero else [float(p) for p in self.levels]

    def _steps(self, pit: Array, state: list[float]) -> Iterator[tuple[list[float], list[float]]]:
        """Yield the state and the map in use before each of T PITs and after the last, from a state on."""
        # Plain numbers: there are only a few levels, for which an array costs more than its arithmetic.
        levels = [float(p) for p in self.levels]
        hit, missed = [self.eta * (1.0 - p) for p in levels], [self.eta * (0.0 - p) for p in levels]
        played = self._play(state)
        yield state, played
        for u in np.asarray(pit, dtype=np.float64).tolist():
            moves = zip(state, played, hit, missed, strict=True)
            state = [h - (down if u <= r else up) for h, r, down, up in moves]
            played = self._play(state)
            yield state, played

    def fit(self, evidence: Evidence) -> LevelMap:
        final = np.maximum.accumulate(self.final(evidence.pit))
        p = np.asarray(self.levels)
        return Relevel(Levels.clipped(p, shown_levels(p, final, pooled=self.pooled), 0.0))

    def bound(self, steps: int) -> float:
        """Return the largest possible long-run error of any level after `steps` outcomes."""
        return (1.0 + self.eta) / (self.eta * steps)

    def _play(self, hidden: list[float]) -> list[float]:
        """Return the levels in use, K, given the state."""
        if not self.monotone:
            return hidden
        projected = pooled_adjacent(hidden)
        if min(hidden) >= 0.0 and max(hidden) <= 1.0:
            return projected
        moved = [h - p for h, p in zip(hidden, self.levels, strict=True)]
        if min(moved) >= -1.0 and max(moved) <= 1.0:
            # No level has more than 1 / eta missing hits: the bound is far.
            return projected
        return within_bound(np.array(hidden), np.array(projected), np.asarray(self.levels), self.eta).tolist()


#: Recalibrators, the PITs that they were given, and the states that these led to; the latest last.
_STATES: deque[tuple[OnlineQuantile, bytes, list[float]]] = deque(maxlen=_REMEMBERED)


def _reached(recalibrator: OnlineQuantile, pit: bytes) -> tuple[int, list[float]]:
    """Return how many of some PITs a remembered state has seen, the most there are, and that state.

    A study asks for the state again after each outcome, which changes nothing of what came before it.
    """
    seen, state = b"", recalibrator._start()
    for known, before, reached in tuple(_STATES):
        if len(before) > len(seen) and known == recalibrator and pit.startswith(before):
            seen, state = before, reached
    return len(seen) // np.dtype(np.float64).itemsize, state


def weight_of_play(outcomes: Array | float, trust: float) -> Array | float:
    """Return the weight, in what is shown, of what was learned online from a number of outcomes: a half after ``trust``."""
    return outcomes / (outcomes + trust) if trust else 1.0


def shown_levels(p: Array, played: Array, *, pooled: bool = False, weight: Array | float = 1.0) -> Array:
    """Return the levels that are shown, `... x K`, inside (0, 1).

    Args:
        p: The calibrated levels, K.
        played: The levels that are played, `... x K`, non-decreasing.
        pooled: Whether levels that are played together stay together; else they are spread between their neighbours.
        weight: Weight of what is played, a number or `... x 1`; the rest is that of the model's own levels.
    """
    inside = np.clip(played, SMALLEST_LEVEL, 1.0 - SMALLEST_LEVEL)
    return weight * (inside if pooled else spread_pools(p, inside)) + (1.0 - weight) * p
