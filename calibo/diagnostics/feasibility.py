"""How often was "90 % sure to be feasible" feasible? Stated probabilities beside what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from calibo.data import Array, Forecasts
from calibo.diagnostics.coverage import pit
from calibo.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

#: Ends of the bands into which stated probabilities are sorted.
BANDS: tuple[float, ...] = (0.0, 0.1, 0.5, 0.9, 1.0)
#: Fewer points than this say nothing of a band.
_FEWEST = 5


@dataclass(frozen=True)
class FeasibilityRow:
    """One band of stated probabilities, and how often points in it met all constraints.

    Attributes:
        low: Least stated probability of the band.
        high: Largest; the last band includes its end.
        stated: Mean of the stated probabilities, NaN in an empty band.
        met: How many points met all constraints.
        of: How many points there are.
        expected: Counts, both ends included, that right probabilities are to be expected to give (95 %).
    """

    low: float
    high: float
    stated: float
    met: int
    of: int
    expected: tuple[int, int]

    @property
    def verdict(self) -> str:
        """What the count says of the stated probabilities, in a few words."""
        if self.of < _FEWEST:
            return "not yet"
        if self.met < self.expected[0]:
            return "too hopeful"
        return "too cautious" if self.met > self.expected[1] else "as promised"

    def sentence(self) -> str:
        """This row in words."""
        if not self.of:
            return f"no point was called feasible with {self._said()}"
        points = "1 point" if self.of == 1 else f"{self.of} points"
        said = f"of {points} called feasible with {self._said()}, {self.met} met all constraints"
        if self.verdict in ("not yet", "as promised"):
            return f"{said} ({self.verdict})"
        return f"{said} ({self.verdict}: {self.expected[0]} to {self.expected[1]} were to be expected)"

    def _said(self) -> str:
        if self.high >= 1.0:
            return f"at least {100 * self.low:g} %"
        return f"less than {100 * self.high:g} %" if self.low <= 0.0 else f"{100 * self.low:g} to {100 * self.high:g} %"


@dataclass(frozen=True)
class FeasibilityTable:
    """Stated probabilities of meeting all constraints beside how often points did.

    Attributes:
        rows: One for each band, the least sure first.
    """

    rows: tuple[FeasibilityRow, ...]

    def headline(self) -> str:
        """What matters most: how often the points that seemed safe were."""
        return f"{self.rows[-1].sentence().capitalize()}."

    def sentences(self) -> list[str]:
        """Every row in words."""
        return [row.sentence() for row in self.rows]

    def to_frame(self) -> pd.DataFrame:
        """The table as a pandas data frame, a row per band."""
        import pandas as pd

        return pd.DataFrame(
            {
                "low": [row.low for row in self.rows],
                "high": [row.high for row in self.rows],
                "stated": [row.stated for row in self.rows],
                "met": [row.met for row in self.rows],
                "of": [row.of for row in self.rows],
                "expected_low": [row.expected[0] for row in self.rows],
                "expected_high": [row.expected[1] for row in self.rows],
                "verdict": [row.verdict for row in self.rows],
            }
        )


def stated_feasibility(forecasts: Forecasts) -> float:
    """The probability that all constraints are met, by their calibrated forecasts, taken as independent."""
    return float(np.prod(pit([forecast.calibrated for forecast in forecasts], np.zeros(len(forecasts)))))


def feasibility_table(forecasts: Sequence[Forecasts], met: Sequence[bool]) -> FeasibilityTable:
    """How stated probabilities of feasibility came out.

    Args:
        forecasts: Of each of n points, the forecasts of its constraints, in the user's sign (met where not positive).
        met: Whether each point was measured to meet all of them, n.
    """
    if len(forecasts) != len(met):
        raise DataError(f"{len(forecasts)} forecasts for {len(met)} outcomes: give one for each")
    stated = np.array([stated_feasibility(one) for one in forecasts])
    flags = np.asarray(met, dtype=bool).reshape(-1)
    return FeasibilityTable(tuple(_row(stated, flags, low, high) for low, high in pairwise(BANDS)))


def _row(stated: Array, met: np.ndarray, low: float, high: float) -> FeasibilityRow:
    inside = (stated >= low) & ((stated < high) | (high >= 1.0))
    chances = stated[inside]
    mean = float(chances.mean()) if len(chances) else float("nan")
    return FeasibilityRow(low, high, mean, int(met[inside].sum()), len(chances), expected_counts(chances))


def expected_counts(chances: Array, confidence: float = 0.95) -> tuple[int, int]:
    """Counts of successes, both ends included, to be expected of independent trials with these chances, n.

    Equal-tailed and exact, from the Poisson binomial distribution by convolution.
    """
    distribution = np.ones(1)
    for chance in chances:
        distribution = np.convolve(distribution, [1.0 - chance, chance])
    below = np.cumsum(distribution)
    tail = (1.0 - confidence) / 2.0
    return int(np.searchsorted(below, tail, side="right")), int(np.searchsorted(below, 1.0 - tail, side="left"))
