"""Online quantile recalibration with a state for each group of forecasts: near the data, between them, and far away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibo.calibration.base import LevelMap, Recalibrator
from calibo.calibration.evidence import Evidence
from calibo.calibration.online_quantile import DEFAULT_LEVELS, SMALLEST_LEVEL, OnlineQuantile
from calibo.calibration.reach import OutcomeScale
from calibo.checks import check_between
from calibo.data import Array
from calibo.distributions import Distribution, Levels, relevel
from calibo.errors import RecipeError


@dataclass(frozen=True)
class GroupedQuantile(Recalibrator):
    """`OnlineQuantile` in groups of forecasts, by their spread relative to the outcomes before them.

    The group of a forecast is known before its outcome, so that the bound of `OnlineQuantile` holds in each group by itself:
    of T outcomes in a group, |share at or below the level played - level| <= (1 + eta) / (eta T), on any sequence of outcomes.
    What is learned near the data, where a search measures most, then does not change the intervals elsewhere.

    Shown is the mean of the levels played and of the model's own, with weight T / (T + trust) for the former: levels that are
    played may coincide, which is the price of the guarantee, and those shown do not. In the long run the two are the same.
    Latent values are left as they are: acquisition functions act on them, and a search that visits the same place again and
    again must not become ever surer of places it has not seen.

    Attributes:
        eta: Step size of the online recalibration, positive.
        levels: Levels tracked, increasing, inside (0, 1).
        edges: Relative spreads that separate the groups, increasing.
        trust: Number of outcomes of a group after which the levels played have half of the weight.
    """

    eta: float = 0.2
    levels: tuple[float, ...] = DEFAULT_LEVELS
    edges: tuple[float, ...] = (0.2, 0.6)
    trust: float = 30.0

    def __post_init__(self) -> None:
        _ = self._plain
        check_between("trust", self.trust, 0.0, np.inf)
        if not self.edges or np.any(np.diff(self.edges) <= 0.0) or min(self.edges) <= 0.0:
            raise RecipeError(f"edges must be positive and increase, got {self.edges!r}; (0.2, 0.6) makes three groups")

    @property
    def _plain(self) -> OnlineQuantile:
        """The recalibrator of each group; checks steps and levels."""
        return OnlineQuantile(self.eta, self.levels)

    def groups(self, evidence: Evidence) -> np.ndarray:
        """Return the group of each of the t forecasts, by the outcomes before it: 0 is nearest to the data."""
        scale = OutcomeScale(evidence.y)
        log_spread = scale.reach(evidence.distribution).log_spread
        return np.searchsorted(np.log(self.edges), log_spread - np.log(_earlier_spread(scale.units.forward(evidence.y))))

    def played(self, evidence: Evidence) -> list[Array]:
        """Return the levels in use after all outcomes, one array of K per group."""
        group = self.groups(evidence)
        return [self._plain.run(evidence.pit[group == g]).played[-1] for g in range(len(self.edges) + 1)]

    def fit(self, evidence: Evidence) -> LevelMap:
        p, count = np.asarray(self.levels), np.bincount(self.groups(evidence), minlength=len(self.edges) + 1)
        weight = (count / (count + self.trust))[:, None]
        shown = weight * np.clip(np.maximum.accumulate(self.played(evidence), axis=1), 0.0, 1.0) + (1.0 - weight) * p
        return GroupedMap(OutcomeScale(evidence.y), self.edges, p, shown)


@dataclass(frozen=True, eq=False)
class GroupedMap:
    """The level map of `GroupedQuantile`.

    Attributes:
        scale: The outcomes that forecasts are compared with.
        edges: Relative spreads that separate the G groups.
        levels: K, inside (0, 1).
        shown: The model's levels in each group, `G x K`.
    """

    scale: OutcomeScale
    edges: tuple[float, ...]
    levels: Array
    shown: Array

    def __call__(self, distribution: Distribution, X: Array) -> Distribution:
        if distribution.measurement is not distribution:
            return distribution
        group = np.searchsorted(np.log(self.edges), self.scale.reach(distribution).log_spread)
        return relevel(distribution, Levels.clipped(self.levels, self.shown[group], SMALLEST_LEVEL))


def _earlier_spread(z: Array) -> Array:
    """Return the standard deviation of the standardized outcomes before each of t; tiny while they are all alike."""
    count = np.arange(len(z))
    mean = np.concatenate([[0.0], np.cumsum(z)[:-1]]) / np.maximum(count, 1)
    square = np.concatenate([[0.0], np.cumsum(np.square(z))[:-1]]) / np.maximum(count, 1)
    return np.sqrt(np.maximum(square - np.square(mean), 1e-24))
