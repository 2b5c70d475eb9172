"""The calibration table: for each coverage, how many results were contained, and whether that can be believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calibo.data import Forecast, Marginal
from calibo.diagnostics.coverage import (
    binomial_band,
    central_intervals,
    check_probability,
    covered,
    points_needed,
)
from calibo.errors import RecipeError

if TYPE_CHECKING:
    import pandas as pd


class Verdict(Enum):
    """What a count of contained results says of the intervals; the value is what a reader sees."""

    NOT_YET = "not yet calibrated"
    COMPATIBLE = "compatible"
    TOO_NARROW = "too narrow"
    TOO_WIDE = "too wide"


@dataclass(frozen=True)
class CalibrationRow:
    """One coverage and how it has come out so far.

    Attributes:
        nominal: Probability the intervals promised.
        contained: How many results fell into them.
        of: How many results there are.
        low: Smallest count to be expected of right intervals.
        high: Largest count to be expected of right intervals.
        verdict: What that says.
        raw_contained: How many fell into the intervals of the raw model, ``None`` if it was not asked.
        endless: How many further results had an interval without an end, which contains anything and is not judged.
    """

    nominal: float
    contained: int
    of: int
    low: int
    high: int
    verdict: Verdict
    raw_contained: int | None = None
    endless: int = 0

    def sentence(self) -> str:
        """This row in words."""
        return f"{self._judged()}{_without_end(self.endless)}"

    def _judged(self) -> str:
        if self.verdict is Verdict.NOT_YET:
            return f"not yet calibrated: {_intervals_need(self)}"
        promise = _percent(self.nominal)
        said = f"{promise} intervals have contained {self.contained} of {_results(self.of)}"
        if self.raw_contained is not None:
            said += f" ({self.raw_contained} before calibration)"
        if self.verdict is Verdict.COMPATIBLE:
            return f"{said}; compatible with {promise}"
        return f"{said}; {self.verdict.value} for {promise}: {self.low} to {self.high} were to be expected"


@dataclass(frozen=True)
class CalibrationTable:
    """What the results so far say of the intervals, a row per coverage.

    Attributes:
        rows: One row per coverage, smallest first.
        confidence: Probability with which right intervals keep each row inside its band.
        forecasting: Whether the method makes forecasts at all; if it does not, waiting for results is of no use.
    """

    rows: tuple[CalibrationRow, ...]
    confidence: float = 0.95
    forecasting: bool = True

    def sentences(self) -> list[str]:
        """Every row in words; nothing where there are no forecasts and none are to come."""
        return (
            [row.sentence() for row in self.rows] if self.forecasting or self.rows[0].of or self.rows[0].endless else []
        )

    def headline(self) -> str:
        """One plain sentence saying whether the intervals can be believed."""
        of = self.rows[0].of
        if of == 0 and self.rows[0].endless:
            return f"The intervals cannot be judged yet{_without_end(self.rows[0].endless)}."
        if of == 0 and not self.forecasting:
            return "There are no intervals to judge: this method makes no forecasts unless it is given a forecaster."
        if of == 0:
            return "The intervals cannot be judged yet: no forecast has met its result."
        narrow, wide = self._found(Verdict.TOO_NARROW), self._found(Verdict.TOO_WIDE)
        waiting, fine = self._found(Verdict.NOT_YET), self._found(Verdict.COMPATIBLE)
        if narrow and wide:
            return (
                f"The intervals cannot be believed: after {_results(of)}, {_named(narrow)} intervals are too narrow "
                f"and {_named(wide)} intervals too wide."
            )
        if narrow:
            return f"The intervals cannot be believed: after {_results(of)}, {_named(narrow)} intervals are too narrow."
        if wide:
            return f"The intervals err on the safe side: after {_results(of)}, {_named(wide)} intervals are too wide."
        if not waiting:
            return f"The intervals can be believed so far: {_named(fine)} intervals are compatible with {_results(of)}."
        return f"It is too early to believe the intervals: {_intervals_need(waiting[0])}."

    def to_frame(self) -> pd.DataFrame:
        """The table as a pandas data frame, a row per coverage; raw counts and endless intervals only if there are any."""
        import pandas as pd

        columns: dict[str, list[object]] = {
            "nominal": [row.nominal for row in self.rows],
            "contained": [row.contained for row in self.rows],
            "of": [row.of for row in self.rows],
            "expected_low": [row.low for row in self.rows],
            "expected_high": [row.high for row in self.rows],
            "verdict": [row.verdict.value for row in self.rows],
            "sentence": list(self.sentences()),
        }
        if any(row.endless for row in self.rows):
            columns["endless"] = [row.endless for row in self.rows]
        if all(row.raw_contained is not None for row in self.rows):
            columns["raw_contained"] = [row.raw_contained for row in self.rows]
        return pd.DataFrame(columns)

    def _found(self, verdict: Verdict) -> list[CalibrationRow]:
        return [row for row in self.rows if row.verdict is verdict]


def forecast_table(
    forecasts: Sequence[Forecast], outcomes: Sequence[float], *, forecasting: bool = True
) -> CalibrationTable:
    """How forecasts came out; the raw model's count beside the calibrated one's only if anything calibrated it.

    Args:
        forecasts: Of the outcomes, n; may be none.
        outcomes: What came of them, n.
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
    """Table of how the central intervals have come out.

    Args:
        distributions: What was forecast and shown, n distributions; may be none.
        outcomes: What came of it, n.
        raw: What the model forecast before calibration, n distributions, to be counted beside.
        coverages: Coverages of the intervals to be judged, each in (0, 1).
        confidence: Probability with which right intervals keep each row inside its band.
    """
    if not coverages:
        raise RecipeError("a calibration table needs at least one coverage, got none: try coverages=(0.5, 0.8, 0.95)")
    rows = tuple(_row(distributions, outcomes, raw, nominal, confidence) for nominal in sorted(coverages))
    return CalibrationTable(rows=rows, confidence=confidence)


def _row(
    distributions: Sequence[Marginal],
    outcomes: npt.ArrayLike,
    raw: Sequence[Marginal] | None,
    nominal: float,
    confidence: float,
) -> CalibrationRow:
    check_probability("coverage", nominal)
    judged = np.isfinite(central_intervals(distributions, nominal)).all(axis=1)
    of = int(judged.sum())
    contained = int(covered(distributions, outcomes, nominal)[judged].sum())
    low, high = binomial_band(of, nominal, confidence)
    return CalibrationRow(
        nominal=nominal,
        contained=contained,
        of=of,
        low=low,
        high=high,
        verdict=_verdict(contained, of, low, high, nominal),
        raw_contained=None if raw is None else int(covered(raw, outcomes, nominal)[judged].sum()),
        endless=len(distributions) - of,
    )


def results_needed(nominal: float) -> int:
    """How many results a verdict needs: enough for the level, and so many that some count of them could refute it."""
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


def _without_end(count: int) -> str:
    if not count:
        return ""
    return f"; {_results(count)} came while too little was held out for an interval with an end"


def _percent(probability: float) -> str:
    return f"{100 * probability:g} %"


def _results(count: int) -> str:
    return "1 result" if count == 1 else f"{count} results"


def _named(rows: Sequence[CalibrationRow]) -> str:
    """The coverages of some rows in words: "50 %", "50 % and 80 %", "50 %, 80 % and 95 %"."""
    *others, last = (_percent(row.nominal) for row in rows)
    return f"{', '.join(others)} and {last}" if others else last
