"""Online quantile recalibration with a state for each group of forecasts: near the data, between them, and far away."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibo.arguments import check_fields
from calibo.calibration.base import LevelMap, Recalibrator
from calibo.calibration.evidence import Evidence
from calibo.calibration.online_quantile import OnlineQuantile, shown_levels, weight_of_play
from calibo.calibration.reach import OutcomeScale
from calibo.checks import check_between, shown
from calibo.data import FAR_ABOVE, NEAR_BELOW, Array
from calibo.distributions import Distribution, Levels, relevel
from calibo.distributions.relative_spread import groups_of, log_spread_before
from calibo.errors import RecipeError

#: Levels tracked in each group: the ends of the 50, 80, 90, 95 and 98 % intervals, and the median. A group has few outcomes.
GROUP_LEVELS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99)


@dataclass(frozen=True)
class GroupedQuantile(Recalibrator):
    """`OnlineQuantile` in groups of forecasts, by their spread relative to the outcomes before them (those with a forecast).

    The group of a forecast is known before its outcome, so that the bound of `OnlineQuantile` holds in each group by itself:
    of T outcomes in a group, |share at or below the level played - level| <= (1 + eta) / (eta T), on any sequence of them.
    What is learned where a search has converged then does not change intervals far away. The report tells places apart by
    the same rule.

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
    levels: tuple[float, ...] = GROUP_LEVELS
    edges: tuple[float, ...] = (NEAR_BELOW, FAR_ABOVE)
    trust: float = 40.0

    def __post_init__(self) -> None:
        check_fields(self)
        _ = self._plain
        check_between("trust", self.trust, 0.0, np.inf, including="low")
        if not self.edges or np.any(np.diff(self.edges) <= 0.0) or min(self.edges) <= 0.0:
            raise RecipeError(
                f"edges must be positive and increase, got {shown(self.edges)}; (0.2, 0.6) makes three groups"
            )

    @cached_property
    def _plain(self) -> OnlineQuantile:
        """The recalibrator of each group; checks steps and levels."""
        return OnlineQuantile(self.eta, self.levels)

    def groups(self, evidence: Evidence) -> np.ndarray:
        """Return the group of each of the t forecasts, by the outcomes before it: 0 is nearest to the data."""
        return groups_of(log_spread_before(evidence.distribution, evidence.y), self.edges)

    def played(self, evidence: Evidence) -> Array:
        """Return the levels in use after all outcomes, one row of K for each of G groups."""
        return self._played(evidence, self.groups(evidence))

    def _played(self, evidence: Evidence, group: np.ndarray) -> Array:
        plain, pit = self._plain, evidence.pit
        return np.array([plain.final(pit[group == g]) for g in range(len(self.edges) + 1)])

    def fit(self, evidence: Evidence) -> LevelMap:
        p, group = np.asarray(self.levels), self.groups(evidence)
        count = np.bincount(group, minlength=len(self.edges) + 1)
        weight = np.broadcast_to(weight_of_play(count.astype(np.float64), self.trust), count.shape)[:, None]
        played = np.maximum.accumulate(self._played(evidence, group), axis=1)
        return GroupedMap(OutcomeScale(evidence.y), self.edges, p, shown_levels(p, played, weight=weight))


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
        group = groups_of(self.scale.log_spread(distribution), self.edges)
        return relevel(distribution, Levels.clipped(self.levels, self.shown[group], 0.0))
