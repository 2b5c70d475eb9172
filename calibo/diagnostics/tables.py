"""Tables of how forecasts came out, with verdicts in words: intervals by coverage, feasibility by stated probability."""

from __future__ import annotations

import html
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calibo.arguments import checked
from calibo.checks import check_between
from calibo.data import COVERAGES, Array, Forecast, Forecasts, Marginal
from calibo.diagnostics.anytime import (
    Counts,
    count_band,
    log_mean,
    log_threshold,
    log_wealth,
    mean_chance_limit,
    results_to_refute,
    tilted_count_band,
)
from calibo.diagnostics.comparison import UNBOUNDED_MISSES, Comparison, Preference, compare
from calibo.diagnostics.coverage import bounded, covered, pit, points_needed
from calibo.errors import DataError, RecipeError

if TYPE_CHECKING:
    import pandas as pd


class Table(ABC):
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
    """What the counts of contained results say of the intervals; the value is the text shown to users.

    A verdict may be looked at after every result: intervals that are right are *ever* called too narrow or too wide, in
    any row of a table, with probability 5 % at most (1 - confidence).
    """

    NOT_YET = "not yet calibrated"
    COMPATIBLE = "compatible"
    TOO_NARROW = "too narrow"
    TOO_WIDE = "too wide"

    @property
    def accuses(self) -> bool:
        """Whether the intervals are called wrong."""
        return self in (Verdict.TOO_NARROW, Verdict.TOO_WIDE)


@dataclass(frozen=True)
class CalibrationRow:
    """How the intervals of one coverage have come out so far.

    Attributes:
        nominal: Coverage of the intervals.
        contained: Number of results inside their interval.
        of: Number of results.
        low: Smallest count that is no evidence against the intervals, at whatever time it is looked at.
        high: Largest such count.
        verdict: What the count says.
        needed: Number of results from which on the intervals may be called compatible.
        raw_contained: Number of results inside the intervals of the uncalibrated model, ``None`` if not counted.
        unbounded: Number of further results whose interval was infinite; these contain anything and are not judged.
        earlier: What the counts said before, if they were evidence against the intervals and no longer are.
        until: Number of results after which they last said so; 0 if they never did.
    """

    nominal: float
    contained: int
    of: int
    low: int
    high: int
    verdict: Verdict
    needed: int
    raw_contained: int | None = None
    unbounded: int = 0
    earlier: Verdict | None = None
    until: int = 0

    def mean_values_inside(self, symmetry: float = 0.5, *, confidence: float = 0.95) -> float:
        """Return the least share of mean values, without noise, inside these intervals of measurements, on average so far.

        A measurement of a mean value above the interval is above it, too, unless its noise is negative; so misses of
        measurements are at least ``symmetry`` times as likely as those of mean values (Kim et al. 2025, Lemma 2, from which
        their Theorem 1 follows). This holds whatever the model is, for intervals that were there before the measurement.

        Args:
            symmetry: The least probability of noise that is not negative, and of noise that is not positive: a half for
                noise whose distribution is symmetric, at most.
            confidence: Probability with which the shares hold at all times of looking.
        """
        check_between("symmetry", symmetry, 0.0, 0.5, including="high")
        return max(1.0 - mean_chance_limit(self.of - self.contained, self.of, confidence=confidence) / symmetry, 0.0)

    def sentence(self) -> str:
        """Return this row in words."""
        if self.verdict is Verdict.NOT_YET:
            return f"not yet calibrated: {_intervals_need(self)}{_unbounded(self.unbounded)}"
        nominal = _percent(self.nominal)
        before = "" if self.raw_contained is None else f" ({self.raw_contained} before calibration)"
        verdict = f"{self.verdict.value} for {nominal}, {self.low} to {self.high} expected"
        if self.verdict is Verdict.COMPATIBLE:
            verdict = f"compatible with {nominal}"
            verdict += f" (but {self.earlier.value} up to result {self.until})" if self.earlier else ""
        counts = f"{nominal} intervals have contained {self.contained} of {_results(self.of)}"
        return f"{counts}{before}; {verdict}{_unbounded(self.unbounded)}"


@dataclass(frozen=True, repr=False)
class CalibrationTable(Table):
    """Table of how the prediction intervals have come out, one row per coverage.

    Printed, it gives its verdict in words; notebooks show it as a table.

    Attributes:
        rows: One row per coverage, smallest first.
        verdict: What all rows say together; it may be clear before any single row is.
        comparison: Of the calibrated forecasts with those of the raw model; ``None`` if nothing calibrated them.
        forecasting: Whether the method makes forecasts at all; if not, more results will not fill the table.
    """

    rows: tuple[CalibrationRow, ...]
    verdict: Verdict
    comparison: Comparison | None = None
    forecasting: bool = True

    def sentences(self) -> list[str]:
        """Return every row in words, and whether calibration helps; nothing if there are no forecasts and none will come."""
        first = self.rows[0]
        if not (self.forecasting or first.of or first.unbounded):
            return []
        return [row.sentence() for row in self.rows] + [text for text in (self.help_sentence(),) if text]

    def _repr_html_(self) -> str:
        return f"{super()._repr_html_()}<p>{html.escape(self.help_sentence())}</p>"

    def help_sentence(self) -> str:
        """Return whether calibration helps, in words; empty if nothing was calibrated or there are no results."""
        found = self.comparison
        if found is None or not found.of:
            return ""
        scores = f"mean CRPS {found.crps:.3g}, {found.reference_crps:.3g} before calibration"
        said = _MIXED[found.preference] if found.mixed else _HELP[found.preference]
        return f"{said} ({scores})"

    def mean_value_sentence(self, symmetry: float = 0.5, *, confidence: float = 0.95) -> str:
        """Return what the results say of mean values, without noise, in words.

        Args:
            symmetry: The least probability of noise that is not negative, and of noise that is not positive.
            confidence: Probability with which the sentence is right at all times of looking.
        """
        shares = {row.nominal: row.mean_values_inside(symmetry, confidence=confidence) for row in self.rows}
        nominal = max(shares, key=lambda coverage: shares[coverage])
        least_often = f"at least {_percent(symmetry)} of the time"
        noise = f"noise that is positive {least_often} and negative {least_often}"
        if symmetry == 0.5:
            noise = "noise that is positive as often as negative"
        if not shares[nominal]:
            return f"Nothing can be said of mean values yet: {noise} could have hidden all misses so far."
        least = _percent(math.floor(100.0 * shares[nominal]) / 100.0)
        said = f"at least {least} of the mean values were inside {_percent(nominal)} intervals"
        return f"With {noise}, {said} of measurements so far, whatever the model ({_percent(confidence)} sure)."

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
        if self.verdict.accuses:
            found = {True: "cannot be trusted", False: "err on the safe side"}[self.verdict is Verdict.TOO_NARROW]
            together = "" if narrow or wide else " taken together (none by itself yet)"
            which = f"{_named(narrow or wide or self.rows)} intervals{together} are"
            return f"The intervals {found}: after {_results(of)}, {which} {self.verdict.value}."
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


#: Whether calibration helps, in words.
_HELP = {
    Preference.BETTER: "calibration helps: its forecasts score better than those of the raw model, by more than chance",
    Preference.WORSE: "calibration hurts: its forecasts score worse than those of the raw model, by more than chance",
    Preference.UNCLEAR: "whether calibration helps cannot be told yet",
}
#: The same where the mean scores say the opposite.
_MIXED = {
    Preference.BETTER: f"calibration helps {UNBOUNDED_MISSES}, by more than chance, but is worse on average",
    Preference.WORSE: f"calibration hurts {UNBOUNDED_MISSES}, by more than chance, but is better on average",
}


@checked
def forecast_table(
    forecasts: Sequence[Forecast], outcomes: Sequence[float], *, forecasting: bool = True
) -> CalibrationTable:
    """Return the calibration table of forecasts; the raw model is judged beside them if anything calibrated it.

    Args:
        forecasts: Forecasts of n outcomes; may be empty.
        outcomes: The n outcomes, in the order they were observed.
        forecasting: Whether the method makes forecasts at all.
    """
    raw = [f.raw for f in forecasts] if any(len(f.stages) > 1 for f in forecasts) else None
    table = calibration_table([f.calibrated for f in forecasts], np.asarray(outcomes, dtype=np.float64), raw=raw)
    return replace(table, forecasting=forecasting)


@checked
def calibration_table(
    distributions: Sequence[Marginal],
    outcomes: npt.ArrayLike,
    raw: Sequence[Marginal] | None = None,
    coverages: Sequence[float] = COVERAGES,
    *,
    confidence: float = 0.95,
    tables: int = 1,
) -> CalibrationTable:
    """Return a table of how central prediction intervals have come out.

    Args:
        distributions: The n forecasts; may be empty.
        outcomes: The n outcomes, in the order they were observed.
        raw: The n forecasts before calibration, to be counted and compared as well.
        coverages: Coverages of the intervals, each in (0, 1).
        confidence: Probability with which intervals that are right are never called too narrow or too wide.
        tables: Number of tables that are looked at together with this confidence.

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
    tests = tables * len(coverages)
    streams = [_stream(distributions, outcomes, raw, nominal) for nominal in sorted(coverages)]
    rows = tuple(_calibration_row(stream, confidence, tests) for stream in streams)
    verdict = _overall_verdict(streams, rows, log_threshold(confidence, tables))
    return CalibrationTable(rows, verdict, None if raw is None else compare(distributions, raw, outcomes))


@dataclass(frozen=True, eq=False)
class _Stream:
    """Which results fell into their intervals of one coverage, in the order of the results.

    Attributes:
        nominal: Coverage of the intervals.
        contained: Number inside after each of the n results, ``n + 1`` with the 0 at the start.
        of: Number of results that can be judged after each, ``n + 1``.
        raw_contained: Number inside the intervals of the raw model, if counted.
    """

    nominal: float
    contained: Counts
    of: Counts
    raw_contained: int | None

    @property
    def last(self) -> tuple[int, int]:
        """Numbers of results inside and of results judged, at the end."""
        return int(self.contained[-1]), int(self.of[-1])


def _stream(
    distributions: Sequence[Marginal], outcomes: npt.ArrayLike, raw: Sequence[Marginal] | None, nominal: float
) -> _Stream:
    judged = bounded(distributions, nominal)
    inside = covered(distributions, outcomes, nominal) & judged
    raw_contained = None if raw is None else int(covered(raw, outcomes, nominal)[judged].sum())
    contained, of = (np.concatenate([[0], np.cumsum(flags, dtype=np.int64)]) for flags in (inside, judged))
    return _Stream(nominal, contained, of, raw_contained)


def _calibration_row(stream: _Stream, confidence: float, tests: int) -> CalibrationRow:
    low, high = count_band(stream.of, stream.nominal, confidence=confidence, tests=tests)
    narrow, wide = stream.contained < low, stream.contained > high
    contained, of = stream.last
    needed = results_needed(stream.nominal, confidence=confidence, tests=tests)
    verdict = Verdict.NOT_YET if of < needed else Verdict.COMPATIBLE
    if narrow[-1] or wide[-1]:
        verdict = Verdict.TOO_NARROW if narrow[-1] else Verdict.TOO_WIDE
    accused = np.flatnonzero(narrow | wide)
    earlier = None
    if len(accused) and not verdict.accuses:
        earlier = Verdict.TOO_NARROW if narrow[accused[-1]] else Verdict.TOO_WIDE
    return CalibrationRow(
        stream.nominal,
        contained,
        of,
        int(low[-1]),
        int(high[-1]),
        verdict,
        needed,
        stream.raw_contained,
        unbounded=len(stream.of) - 1 - of,
        earlier=earlier,
        until=int(stream.of[accused[-1]]) if len(accused) else 0,
    )


def _overall_verdict(streams: Sequence[_Stream], rows: Sequence[CalibrationRow], limit: float) -> Verdict:
    """Return what the rows say, or else the average of the bets against all of them.

    A row that is refuted by its share of the confidence refutes the average, too.
    """
    for verdict in (Verdict.TOO_NARROW, Verdict.TOO_WIDE):
        if any(row.verdict is verdict for row in rows):
            return verdict
    wealths = np.array([log_wealth(*stream.last, stream.nominal) for stream in streams])
    narrow, wide = log_mean(wealths, axis=0)
    if np.logaddexp(narrow, wide) - np.log(2.0) >= limit:
        return Verdict.TOO_NARROW if narrow >= wide else Verdict.TOO_WIDE
    return Verdict.NOT_YET if any(row.verdict is Verdict.NOT_YET for row in rows) else Verdict.COMPATIBLE


def results_needed(nominal: float, *, confidence: float = 0.95, tests: int = 1) -> int:
    """Return how many results a verdict of "compatible" needs.

    Enough for the coverage, and so many that some count could have refuted it.
    """
    return max(points_needed(nominal), results_to_refute(nominal, confidence=confidence, tests=tests))


def _intervals_need(row: CalibrationRow) -> str:
    return f"{_percent(row.nominal)} intervals need at least {_results(row.needed)}, {row.of} so far"


def _unbounded(count: int) -> str:
    return f"; for {_results(count)} there was too little held-out data for a finite interval" if count else ""


def _percent(probability: float) -> str:
    return f"{100 * probability:g} %"


def _results(count: int) -> str:
    return "1 result" if count == 1 else f"{count} results"


def _named(rows: Sequence[CalibrationRow]) -> str:
    """Return the coverages of some rows in words: "50 %", "50 % and 80 %", "50 %, 80 % and 95 %"."""
    return listed([_percent(row.nominal) for row in rows])


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence: "a", "a and b", "a, b and c"."""
    *others, last = words
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
        expected: Smallest and largest count that are no evidence against the stated probabilities, at whatever time they
            are looked at: right probabilities are *ever* called wrong, in any band, with probability 5 % at most.
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
class FeasibilityTable(Table):
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


@checked
def stated_feasibility(forecasts: Forecasts) -> float:
    """Return the probability that all constraints are met by their calibrated forecasts, taken as independent."""
    return float(np.prod(pit([forecast.calibrated for forecast in forecasts], np.zeros(len(forecasts)))))


@checked
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
    expected = tilted_count_band(chances, tests=len(BANDS) - 1)
    return FeasibilityRow(low, high, mean, int(met[inside].sum()), len(chances), expected)
