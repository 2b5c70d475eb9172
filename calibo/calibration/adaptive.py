"""Adaptive conformal inference: levels that follow how often the intervals missed, with one step size or several.

Notation: alpha a target miscoverage, a_t the one used at time t, u_t the PIT, beta_t = 2 min(u_t, 1 - u_t) the
largest miscoverage whose central interval holds the outcome; A targets, k experts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibo.arguments import check_fields
from calibo.calibration.base import LevelMap, Recalibrator, Relevel
from calibo.calibration.evidence import Evidence
from calibo.calibration.monotone_play import isotonic_projection
from calibo.data import Array
from calibo.distributions import Levels
from calibo.errors import RecipeError

#: Miscoverages of the central intervals that are tracked: those of 99, 98, 95, 90, ..., 10 %.
DEFAULT_ALPHAS: tuple[float, ...] = (0.01, 0.02, 0.05, *(round(0.1 * i, 1) for i in range(1, 10)))
#: Step sizes of the experts, each twice the one before.
DEFAULT_STEPS: tuple[float, ...] = tuple(0.001 * 2**i for i in range(8))
#: Levels that acquisition functions see stay this far from 0 and 1.
_SMALLEST_LEVEL = 1e-3


@dataclass(frozen=True)
class ACI(Recalibrator):
    """Adaptive conformal inference (Gibbs and Candes 2021): a_{t+1} = a_t + gamma (alpha - 1[beta_t < a_t]).

    Each central interval has a state of its own, which is never clipped, so that on any stream of T outcomes its share of
    misses is within (max(alpha, 1 - alpha) + gamma) / (gamma T) of alpha. At a state of 0 or less the
    interval is infinite. Only draws and moments use a map that is clipped; it is made monotone over the intervals.

    Attributes:
        gamma: Step size, positive: large ones adapt fast, small ones are smooth.
        alphas: Miscoverages of the intervals, increasing within (0, 1).
    """

    gamma: float = 0.05
    alphas: tuple[float, ...] = DEFAULT_ALPHAS

    def __post_init__(self) -> None:
        check_fields(self)
        _check(self.alphas, (self.gamma,))

    def run(self, pit: Array) -> Array:
        """Return the states before each of T outcomes and after the last, `(T + 1) x A`."""
        return _experts(pit, self.alphas, (self.gamma,))[:, :, 0]

    def fit(self, evidence: Evidence) -> LevelMap:
        asked = self.run(evidence.pit)[-1]
        return _map(np.asarray(self.alphas), asked, asked)

    def bound(self, alpha: float, steps: int) -> float:
        """Return how far the share of misses can be from `alpha` after `steps` outcomes."""
        return (max(alpha, 1.0 - alpha) + self.gamma) / (self.gamma * steps)


@dataclass(frozen=True)
class DtACI(Recalibrator):
    """Dynamically tuned ACI (Gibbs and Candes 2024): experts with different steps, weighted by their recent pinball losses.

    1. Use the weighted mean of the experts' a^i_t.
    2. Multiply the weights by exp(-eta loss(beta_t, a^i_t)), loss(b, a) = alpha (b - a) - min(0, b - a), and mix a
       share 1 / (2 interval) of all weight evenly, so that no expert is lost.
    3. Each expert takes its step of ACI.
    eta is the paper's for regret over ``interval`` outcomes.

    Attributes:
        gammas: Step sizes of the experts.
        interval: About how many outcomes the weights remember.
        alphas: Miscoverages of the intervals, increasing within (0, 1).
    """

    gammas: tuple[float, ...] = DEFAULT_STEPS
    interval: int = 100
    alphas: tuple[float, ...] = DEFAULT_ALPHAS

    def __post_init__(self) -> None:
        check_fields(self)
        _check(self.alphas, self.gammas)
        if self.interval < 1:
            raise RecipeError(f"interval must be at least 1 outcome, got interval={self.interval}")

    def run(self, pit: Array) -> Array:
        """Return the miscoverages in use before each of T outcomes and after the last, `(T + 1) x A`."""
        alpha = np.asarray(self.alphas)[:, None]
        experts = _experts(pit, self.alphas, self.gammas)
        k, share = experts.shape[2], 1.0 / (2.0 * self.interval)
        spread = (1.0 - alpha) ** 2 * alpha**3 + alpha**2 * (1.0 - alpha) ** 3
        eta = np.sqrt(3.0 / self.interval * (np.log(k * self.interval) + 2.0) / spread)
        weights = np.full(experts.shape[1:], 1.0 / k)
        played = np.empty(experts.shape[:2])
        for t, beta in enumerate(_betas(pit)):
            played[t] = (weights * experts[t]).sum(axis=1)
            away = beta - experts[t]
            loss = alpha * away - np.minimum(away, 0.0)
            weights = weights * np.exp(-eta * (loss - loss.min(axis=1, keepdims=True)))
            weights /= weights.sum(axis=1, keepdims=True)
            weights = (1.0 - share) * weights + share / k
        played[-1] = (weights * experts[-1]).sum(axis=1)
        return played

    def fit(self, evidence: Evidence) -> LevelMap:
        asked = self.run(evidence.pit)[-1]
        return _map(np.asarray(self.alphas), asked, asked)


@dataclass(frozen=True)
class AgACI(Recalibrator):
    """Aggregated ACI (Zaffran et al. 2022): experts with different steps, weighted for each end of an interval separately.

    The ends' levels, a / 2 and 1 - a / 2, are aggregated by Bernstein online aggregation (Wintenberger 2017) of linearised
    pinball losses, at levels alpha / 2 and 1 - alpha / 2. There is no step size to choose. Here losses are of levels, not of
    outcomes, so that forecasts of different scales count alike.

    Attributes:
        gammas: Step sizes of the experts.
        alphas: Miscoverages of the intervals, increasing within (0, 1).
    """

    gammas: tuple[float, ...] = DEFAULT_STEPS
    alphas: tuple[float, ...] = DEFAULT_ALPHAS

    def __post_init__(self) -> None:
        check_fields(self)
        _check(self.alphas, self.gammas)

    def run(self, pit: Array) -> tuple[Array, Array]:
        """Return the levels below and above the median before each of T outcomes and after the last, `(T + 1) x A` each."""
        experts, alpha = _experts(pit, self.alphas, self.gammas), np.asarray(self.alphas)
        below = _aggregated(0.5 * experts, 0.5 * alpha, pit)
        above = _aggregated(1.0 - 0.5 * experts, 1.0 - 0.5 * alpha, pit)
        return below, above

    def fit(self, evidence: Evidence) -> LevelMap:
        below, above = self.run(evidence.pit)
        return _map(np.asarray(self.alphas), 2.0 * below[-1], 2.0 * (1.0 - above[-1]))


def _experts(pit: Array, alphas: tuple[float, ...], gammas: tuple[float, ...]) -> Array:
    """Return the states of ACI with each step size, `(T + 1) x A x k`."""
    alpha, gamma = np.asarray(alphas)[:, None], np.asarray(gammas)
    states = np.empty((len(pit) + 1, len(alphas), len(gammas)))
    states[0] = alpha
    for t, beta in enumerate(_betas(pit)):
        states[t + 1] = states[t] + gamma * (alpha - (beta < states[t]))
    return states


def _betas(pit: Array) -> Array:
    return 2.0 * np.minimum(pit, 1.0 - pit)


def _aggregated(experts: Array, levels: Array, pit: Array) -> Array:
    """Aggregate experts' levels, `(T + 1) x A x k`, by Bernstein online aggregation of pinball losses at `levels`, A."""
    k = experts.shape[2]
    gain, square = np.zeros(experts.shape[1:]), np.zeros(experts.shape[1:])
    largest = np.full(experts.shape[1:], 1e-12)
    weights = np.full(experts.shape[1:], 1.0 / k)
    played = np.empty(experts.shape[:2])
    for t, u in enumerate(pit):
        played[t] = (weights * experts[t]).sum(axis=1)
        slope = (u <= played[t]) - levels
        better = slope[:, None] * (played[t][:, None] - experts[t])
        largest = np.maximum(largest, np.abs(better))
        square = square + np.square(better)
        eta = np.minimum(0.5 / largest, np.sqrt(np.log(k + 1.0) / np.maximum(square, 1e-300)))
        gain = gain + better - eta * np.square(better)
        exponent = eta * gain
        weights = eta * np.exp(exponent - exponent.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
    played[-1] = (weights * experts[-1]).sum(axis=1)
    return played


def _map(alpha: Array, below: Array, above: Array) -> LevelMap:
    """Return the level map with miscoverages `below` on the lower side and `above` on the upper, A each."""
    low = np.clip(isotonic_projection(below), 0.0, 1.0) / 2.0
    high = 1.0 - np.clip(isotonic_projection(above), 0.0, 1.0) / 2.0
    levels = np.concatenate([alpha / 2.0, [0.5], 1.0 - alpha[::-1] / 2.0])
    played = np.maximum.accumulate(np.concatenate([low, [0.5], high[::-1]]))
    # No quantile of the model is far enough out where none, or less, of the mass is to lie beyond.
    inside = levels[(played > 0.0) & (played < 1.0)]
    backed = (0.0 if played[0] > 0.0 else float(inside[0]), 1.0 if played[-1] < 1.0 else float(inside[-1]))
    return Relevel(Levels.clipped(levels, played, _SMALLEST_LEVEL, backed))


def _check(alphas: tuple[float, ...], gammas: tuple[float, ...]) -> None:
    a, g = np.asarray(alphas, dtype=np.float64), np.asarray(gammas, dtype=np.float64)
    if a.size == 0 or not (np.all(np.diff(a) > 0.0) and a[0] > 0.0 and a[-1] < 1.0):
        raise RecipeError(f"alphas must increase strictly inside (0, 1), got {alphas}")
    if g.size == 0 or not (np.isfinite(g) & (g > 0.0)).all():
        raise RecipeError(f"step sizes must be positive numbers, got {gammas}; 0.05 is a good start")
