"""Which of two forecasters is better: a paired comparison by a bounded proper score that may be looked at at any time.

The score of a forecast F is the mean over thresholds c of (F(c) - 1[y <= c])^2, a ranked probability score. The thresholds
are quantiles of both forecasts, so they are known before the outcome and the score is proper and lies in [0, 1]. So does the
largest difference M that any outcome could make between the two scores. Bets on the difference d / M, which lies in
[-1, 1], multiply a wealth by 1 + lambda d / M; if the one forecaster is expected to score no better than the other at any
result, given the past, the wealth is a nonnegative supermartingale, and reaches 1 / alpha *ever* with probability alpha at
most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from calibo.arguments import checked
from calibo.data import Array, Marginal
from calibo.diagnostics.anytime import log_mean, log_threshold
from calibo.diagnostics.coverage import matched_outcomes
from calibo.diagnostics.scoring_rules import crps
from calibo.distributions import from_marginals
from calibo.errors import DataError

#: Levels of the quantiles of both forecasts that are the thresholds of the score.
THRESHOLD_LEVELS: tuple[float, ...] = (0.005, 0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975, 0.995)
#: Shares of the wealth that are bet, of which the wealth is the average.
STAKES: tuple[float, ...] = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
#: What a comparison supposes that a mean does not, in words.
UNBOUNDED_MISSES = "if large misses count no more than others"


class Preference(Enum):
    """What a comparison says of the first of two forecasters."""

    BETTER = "better"
    WORSE = "worse"
    UNCLEAR = "unclear"


@dataclass(frozen=True)
class Comparison:
    """How the forecasts of two forecasters for the same outcomes compare so far.

    Attributes:
        of: Number of outcomes, n.
        preference: Whether the first forecaster is better or worse than the second by more than chance, or neither is
            clear. The wrong one is ever named with probability 5 % at most (1 - confidence), however often one looks.
        gain: Mean difference of the bounded scores, positive if the first is better; in [-1, 1].
        crps: Mean continuous ranked probability score of the first, in the units of the outcome; NaN without outcomes.
        reference_crps: That of the second.
    """

    of: int
    preference: Preference
    gain: float
    crps: float
    reference_crps: float

    @property
    def mixed(self) -> bool:
        """Whether the mean scores say the opposite of the preference.

        The comparison bounds what a single result can say, a mean does not: a few large misses can give the forecaster that
        scores better without them the larger mean.
        """
        against = {
            Preference.BETTER: self.crps > self.reference_crps,
            Preference.WORSE: self.crps < self.reference_crps,
        }
        return against.get(self.preference, False)

    def sentence(self, first: str = "the first", second: str = "the second") -> str:
        """Return the comparison in words.

        Args:
            first: Name of the first forecaster, as in "the Gaussian process".
            second: Name of the second one.
        """
        scores = f"mean CRPS {self.crps:.3g} and {self.reference_crps:.3g}, {self.of} results"
        if self.preference is Preference.UNCLEAR:
            return f"whether {first} or {second} forecasts better cannot be told yet ({scores})"
        qualified = f" {UNBOUNDED_MISSES}, but not on average" if self.mixed else ""
        return f"{first} forecasts {self.preference.value} than {second}{qualified} ({scores})"


@checked
def compare(
    distributions: Sequence[Marginal],
    reference: Sequence[Marginal],
    outcomes: npt.ArrayLike,
    *,
    confidence: float = 0.95,
) -> Comparison:
    """Return which of two forecasters is better, a verdict that may be looked at after every outcome.

    Args:
        distributions: The n forecasts of the first.
        reference: The n forecasts of the second.
        outcomes: The n outcomes, in the order they were observed.
        confidence: Probability with which the worse of the two is never called better.
    """
    y = matched_outcomes(distributions, outcomes)
    gains, largest = score_gains(distributions, reference, y)
    if not len(y):
        return Comparison(0, Preference.UNCLEAR, 0.0, float("nan"), float("nan"))
    better, worse = (float(wealth[-1]) for wealth in log_wealth_of_gains(gains, largest))
    limit = log_threshold(confidence, tests=2)
    preference = Preference.BETTER if better >= limit else Preference.WORSE if worse >= limit else Preference.UNCLEAR
    means = (float(crps(forecasts, y).mean()) for forecasts in (distributions, reference))
    return Comparison(len(y), preference, float(gains.mean()), *means)


def score_gains(
    distributions: Sequence[Marginal], reference: Sequence[Marginal], outcomes: npt.ArrayLike
) -> tuple[Array, Array]:
    """Return by how much the first of two forecasters scored better at each outcome, and the most that was possible.

    Args:
        distributions: The n forecasts of the first.
        reference: The n forecasts of the second.
        outcomes: The n outcomes.

    Returns:
        Differences of the bounded scores, ``n``, positive where the first was better, and the largest absolute difference
        that any outcome could have made, ``n``, which is known before the outcome.
    """
    y = matched_outcomes(distributions, outcomes)
    if len(reference) != len(y):
        raise DataError(f"{len(distributions)} forecasts of the first and {len(reference)} of the second: give pairs")
    first, second = from_marginals(distributions), from_marginals(reference)
    levels = np.asarray(THRESHOLD_LEVELS)[:, None]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        thresholds = np.sort(np.concatenate([first.at_levels(levels), second.at_levels(levels)]), axis=0)
        # A point mass has no normal score at its place, where its distribution function is 1.
        ours, theirs = (np.nan_to_num(forecaster.cdf(thresholds), nan=1.0) for forecaster in (first, second))
    # A threshold at or above the outcome changes the difference by this much; an outcome is below some of the highest.
    change = 2.0 * (ours - theirs)
    below_all = (theirs**2 - ours**2).sum(axis=0)
    from_top = np.concatenate([np.zeros((1, len(y))), np.cumsum(change[::-1], axis=0)])
    possible = np.abs(below_all + from_top).max(axis=0)
    gains = below_all + np.where(y <= thresholds, change, 0.0).sum(axis=0)
    return gains / len(thresholds), possible / len(thresholds)


def log_wealth_of_gains(gains: Array, largest: Array) -> tuple[Array, Array]:
    """Return the log wealths, after each outcome, of the bets on "the first is better" and on "the first is worse".

    Args:
        gains: Differences of the bounded scores, ``n``.
        largest: The most that each could have been, ``n``.

    Returns:
        Two arrays, ``n``. They are never both above 0, since the one bets what the other bets against.
    """
    relative = np.divide(gains, largest, out=np.zeros_like(gains), where=largest > 0.0)
    stakes = np.asarray(STAKES)[:, None]
    first, second = (log_mean(np.cumsum(np.log1p(sign * stakes * relative), axis=1), axis=0) for sign in (1.0, -1.0))
    return first, second
