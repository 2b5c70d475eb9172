"""Tables of how forecasts came out, with verdicts in words: intervals by coverage, feasibility by stated probability."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calibo.data import Array, Forecast, Forecasts, Marginal
from calibo.diagnostics.coverage import binomial_band, central_intervals, covered, pit, points_needed
from calibo.errors import DataError, RecipeError

if TYPE_CHECKING:
    import pandas as pd


class _Table(ABC):
    """A table that prints as sentences and shows as HTML in notebooks."""

    @abstractmethod
    def headline(self) -> str:
        """Return the verdict in one sentence."""

    @abstractmethod
    def sentences(self) -> list[str]:
        """Return every row in words."""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """Return the table as a pandas data frame."""

    def __repr__(self) -> str:
        return "\n".join([self.headline(), *(f"- {sentence}" for sentence in self.sentences())])

    def _repr_html_(self) -> str:
        frame = self.to_frame().drop(columns="sentence", errors="ignore")
        return f"<p>{html.escape(self.headline())}</p>{frame.to_html(index=False, float_format='{:.3g}'.format)}"


# --- intervals --------------------------------------------------------------------------------------------------------


class Verdict(Enum):
    """What the count of contained results says of the intervals; the value is the text shown to users."""

    NOT_YET = "not yet calibrated"
    COMPATIBLE = "compatible"
    TOO_NARROW = "too narrow"
    TOO_WIDE = "too wide"


@dataclass(frozen=True)
class CalibrationRow:
    """How the intervals of one coverage have come out so far.

    Attributes:
        nominal: Coverage of the intervals.
        contained: Number of results inside their interval.
        of: Number of results.
        low: Smallest count expected of calibrated intervals.
        high: Largest count expected of calibrated intervals.
        verdict: What the count says.
        raw_contained: Number of results inside the intervals of the uncalibrated model, ``None`` if not counted.
        unbounded: Number of further results whose interval was infinite; these contain anything and are not judged.
    """

    nominal: float
    contained: int
    of: int
    low: int
    high: int
    verdict: Verdict
    raw_contained: int | None = None
    unbounded: int = 0

    def sentence(self) -> str:
        """Return this row in words."""
        if self.verdict is Verdict.NOT_YET:
            return f"not yet calibrated: {_intervals_need(self)}{_unbounded(self.unbounded)}"
        nominal = _percent(self.nominal)
        before = "" if self.raw_contained is None else f" ({self.raw_contained} before calibration)"
        verdict = f"{self.verdict.value} for {nominal}, {self.low} to {self.high} expected"
        if self.verdict is Verdict.COMPATIBLE:
            verdict = f"compatible with {nominal}"
        counts = f"{nominal} intervals have contained {self.contained} of {_results(self.of)}"
        return f"{counts}{before}; {verdict}{_unbounded(self.unbounded)}"


@dataclass(frozen=True, repr=False)
class CalibrationTable(_Table):
    """Table of how the prediction intervals have come out, one row per coverage.

    Printed, it gives its verdict in words; notebooks show it as a table.

    Attributes:
        rows: One row per coverage, smallest first.
        forecasting: Whether the method makes forecasts at all; if not, more results will not fill the table.
    """

    rows: tuple[CalibrationRow, ...]
    forecasting: bool = True

    def sentences(self) -> list[str]:
        """Return every row in words; nothing if there are no forecasts and none will come."""
        first = self.rows[0]
        return [row.sentence() for row in self.rows] if self.forecasting or first.of or first.unbounded else []

    def headline(self) -> str:
        """Return one sentence that says whether the intervals can be trusted."""
        of = self.rows[0].of
        if of == 0:
            return self._nothing_to_judge()
        narrow, wide, waiting, fine = (
            [row for row in self.rows if row.verdict is verdict]
            for verdict in (Verdict.TOO_NARROW, Verdict.TOO_WIDE, Verdict.NOT_YET, Verdict.COMPATIBLE)
        )
        if narrow and wide:
            return (
                f"The intervals cannot be trusted: after {_results(of)}, {_named(narrow)} intervals are too narrow "
                f"and {_named(wide)} intervals too wide."
            )
        if narrow:
            return f"The intervals cannot be trusted: after {_results(of)}, {_named(narrow)} intervals are too narrow."
        if wide:
            return f"The intervals err on the safe side: after {_results(of)}, {_named(wide)} intervals are too wide."
        if not waiting:
            return f"The intervals can be trusted so far: {_named(fine)} intervals are compatible with {_results(of)}."
        return f"It is too early to trust the intervals: {_intervals_need(waiting[0])}."

    def _nothing_to_judge(self) -> str:
        if self.rows[0].unbounded:
            return f"The intervals cannot be judged yet{_unbounded(self.rows[0].unbounded)}."
        if not self.forecasting:
            return "There are no intervals to judge: this method makes no forecasts unless it is given a forecaster."
        return "The intervals cannot be judged yet: there is no result with a forecast."

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a pandas data frame, one row per coverage.

        The columns ``raw_contained`` and ``unbounded`` are there only if there is something to show.
        """
        import pandas as pd

        columns = ["nominal", "contained", "of", "expected_low", "expected_high", "verdict", "sentence"]
        rows = [(r.nominal, r.contained, r.of, r.low, r.high, r.verdict.value, r.sentence()) for r in self.rows]
        frame = pd.DataFrame(rows, columns=columns)
        if any(row.unbounded for row in self.rows):
            frame["unbounded"] = [row.unbounded for row in self.rows]
        if all(row.raw_contained is not None for row in self.rows):
            frame["raw_contained"] = [row.raw_contained for row in self.rows]
        return frame


def forecast_table(
    forecasts: Sequence[Forecast], outcomes: Sequence[float], *, forecasting: bool = True
) -> CalibrationTable:
    """Return the calibration table of forecasts; counts of the raw model are added if anything calibrated it.

    Args:
        forecasts: Forecasts of n outcomes; may be empty.
        outcomes: The n outcomes.
        forecasting: Whether the method makes forecasts at all.
    """
    raw = [f.raw for f in forecasts] if any(len(f.stages) > 1 for f in forecasts) else None
    table = calibration_table([f.calibrated for f in forecasts], np.asarray(outcomes, dtype=np.float64), raw=raw)
    return replace(table, forecasting=forecasting)


def calibration_table(
    distributions: Sequence[Marginal],
    outcomes: npt.ArrayLike,
    raw: Sequence[Marginal] | None = None,
    coverages: Sequence[float] = (0.5, 0.8, 0.95),
    *,
    confidence: float = 0.95,
) -> CalibrationTable:
    """Return a table of how central prediction intervals have come out.

    Args:
        distributions: The n forecasts; may be empty.
        outcomes: The n outcomes.
        raw: The n forecasts before calibration, to be counted as well.
        coverages: Coverages of the intervals, each in (0, 1).
        confidence: Probability with which calibrated intervals stay within each row's expected counts.

    Example:
        >>> import numpy as np
        >>> from calibo.data import Marginal
        >>> y = np.random.default_rng(0).standard_normal(40)
        >>> calibration_table([Marginal(0.0, 1.0)] * 40, y, coverages=(0.5, 0.8))
        The intervals can be trusted so far: 50 % and 80 % intervals are compatible with 40 results.
        - 50 % intervals have contained 25 of 40 results; compatible with 50 %
        - 80 % intervals have contained 36 of 40 results; compatible with 80 %
    """
    if not coverages:
        raise RecipeError("a calibration table needs at least one coverage, got none: try coverages=(0.5, 0.8, 0.95)")
    rows = tuple(_calibration_row(distributions, outcomes, raw, nominal, confidence) for nominal in sorted(coverages))
    return CalibrationTable(rows)


def _calibration_row(
    distributions: Sequence[Marginal],
    outcomes: npt.ArrayLike,
    raw: Sequence[Marginal] | None,
    nominal: float,
    confidence: float,
) -> CalibrationRow:
    judged = np.isfinite(central_intervals(distributions, nominal)).all(axis=1)
    of = int(judged.sum())
    contained = int(covered(distributions, outcomes, nominal)[judged].sum())
    low, high = binomial_band(of, nominal, confidence)
    raw_contained = None if raw is None else int(covered(raw, outcomes, nominal)[judged].sum())
    verdict = _verdict(contained, of, low, high, nominal)
    return CalibrationRow(nominal, contained, of, low, high, verdict, raw_contained, unbounded=len(distributions) - of)


def results_needed(nominal: float) -> int:
    """Return how many results a verdict needs: enough for the coverage, and so many that some count could refute it."""
    count = points_needed(nominal)
    while binomial_band(count, nominal) == (0, count):
        count += 1
    return count


def _verdict(contained: int, of: int, low: int, high: int, nominal: float) -> Verdict:
    if of < results_needed(nominal):
        return Verdict.NOT_YET
    if contained < low:
        return Verdict.TOO_NARROW
    return Verdict.TOO_WIDE if contained > high else Verdict.COMPATIBLE


def _intervals_need(row: CalibrationRow) -> str:
    return f"{_percent(row.nominal)} intervals need at least {_results(results_needed(row.nominal))}, {row.of} so far"


def _unbounded(count: int) -> str:
    return f"; for {_results(count)} there was too little held-out data for a finite interval" if count else ""


def _percent(probability: float) -> str:
    return f"{100 * probability:g} %"


def _results(count: int) -> str:
    return "1 result" if count == 1 else f"{count} results"


def _named(rows: Sequence[CalibrationRow]) -> str:
    """Return the coverages of some rows in words: "50 %", "50 % and 80 %", "50 %, 80 % and 95 %"."""
    *others, last = (_percent(row.nominal) for row in rows)
    return f"{', '.join(others)} and {last}" if others else last


# --- feasibility ------------------------------------------------------------------------------------------------------

#: Ends of the bands into which stated probabilities are sorted.
BANDS: tuple[float, ...] = (0.0, 0.1, 0.5, 0.9, 1.0)
#: With fewer points than this a band is not judged.
_FEWEST = 5


@dataclass(frozen=True)
class FeasibilityRow:
    """One band of stated probabilities of feasibility, and how many points in it were feasible.

    Attributes:
        low: Smallest stated probability of the band.
        high: Largest; the last band includes its end.
        stated: Mean of the stated probabilities, NaN in an empty band.
        met: Number of points that met all constraints.
        of: Number of points.
        expected: Smallest and largest count expected if the probabilities are right (95 %).
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
            return "too few to judge"
        if self.met < self.expected[0]:
            return "too optimistic"
        return "too pessimistic" if self.met > self.expected[1] else "as stated"

    def sentence(self) -> str:
        """Return this row in words."""
        if not self.of:
            return f"no point was predicted to be feasible with {self._stated()}"
        points = "1 point" if self.of == 1 else f"{self.of} points"
        text = f"of {points} predicted to be feasible with {self._stated()}, {self.met} met all constraints"
        if self.verdict in ("too few to judge", "as stated"):
            return f"{text} ({self.verdict})"
        return f"{text} ({self.verdict}: {self.expected[0]} to {self.expected[1]} expected)"

    def _stated(self) -> str:
        if self.high >= 1.0:
            return f"at least {_percent(self.low)}"
        return f"less than {_percent(self.high)}" if self.low <= 0.0 else f"{100 * self.low:g} to {_percent(self.high)}"


@dataclass(frozen=True, repr=False)
class FeasibilityTable(_Table):
    """Table of stated probabilities of feasibility against how often points were feasible.

    Printed, it gives its verdict in words; notebooks show it as a table.

    Attributes:
        rows: One row per band of probabilities, lowest first.
    """

    rows: tuple[FeasibilityRow, ...]

    def headline(self) -> str:
        """Return one sentence: how many of the points predicted to be feasible with high probability were."""
        return f"{self.rows[-1].sentence().capitalize()}."

    def sentences(self) -> list[str]:
        return [row.sentence() for row in self.rows]

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a pandas data frame, one row per band."""
        import pandas as pd

        columns = ["low", "high", "stated", "met", "of", "expected_low", "expected_high", "verdict"]
        rows = [(row.low, row.high, row.stated, row.met, row.of, *row.expected, row.verdict) for row in self.rows]
        return pd.DataFrame(rows, columns=columns)


def stated_feasibility(forecasts: Forecasts) -> float:
    """Return the probability that all constraints are met by their calibrated forecasts, taken as independent."""
    return float(np.prod(pit([forecast.calibrated for forecast in forecasts], np.zeros(len(forecasts)))))


def feasibility_table(forecasts: Sequence[Forecasts], met: Sequence[bool]) -> FeasibilityTable:
    """Return a table of how stated probabilities of feasibility came out.

    Args:
        forecasts: For each of n points the forecasts of its constraints, in the user's sign (met where not positive).
        met: Whether each of the n points was observed to meet all constraints.
    """
    if len(forecasts) != len(met):
        raise DataError(f"{len(forecasts)} forecasts for {len(met)} outcomes: give one for each")
    stated = np.array([stated_feasibility(one) for one in forecasts])
    flags = np.asarray(met, dtype=bool).reshape(-1)
    return FeasibilityTable(tuple(_feasibility_row(stated, flags, low, high) for low, high in pairwise(BANDS)))


def _feasibility_row(stated: Array, met: np.ndarray, low: float, high: float) -> FeasibilityRow:
    inside = (stated >= low) & ((stated < high) | (high >= 1.0))
    chances = stated[inside]
    mean = float(chances.mean()) if len(chances) else float("nan")
    return FeasibilityRow(low, high, mean, int(met[inside].sum()), len(chances), expected_counts(chances))


def expected_counts(probabilities: Array, confidence: float = 0.95) -> tuple[int, int]:
    """Return the smallest and the largest number of successes expected of n independent trials.

    Equal-tailed and exact, from the Poisson binomial distribution by convolution.

    Args:
        probabilities: Probability of success of each trial, ``n``.
        confidence: Least probability of the range.
    """
    distribution = np.ones(1)
    for p in probabilities:
        distribution = np.convolve(distribution, [1.0 - p, p])
    below = np.cumsum(distribution)
    tail = (1.0 - confidence) / 2.0
    return int(np.searchsorted(below, tail, side="right")), int(np.searchsorted(below, 1.0 - tail, side="left"))
