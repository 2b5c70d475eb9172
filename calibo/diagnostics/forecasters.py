"""Several forecasters of the same outcomes in one table: who was honest (coverage), and who was sharp (scores)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calibo.arguments import checked
from calibo.data import Marginal
from calibo.diagnostics.anytime import confidence_sequence
from calibo.diagnostics.comparison import UNBOUNDED_MISSES, Comparison, Preference, compare
from calibo.diagnostics.coverage import bounded, matched_outcomes
from calibo.diagnostics.scoring_rules import crps, interval_score
from calibo.diagnostics.tables import CalibrationRow, CalibrationTable, Table, Verdict, calibration_table
from calibo.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

#: Coverage of the intervals whose score is shown.
SCORED = 0.8
#: Longest name of a forecaster in the printed table, which has 80 columns.
_NAME = 16
#: Verdicts of the printed table, in the order of its rows.
WORDS = {
    Verdict.COMPATIBLE: "honest",
    Verdict.NOT_YET: "too early",
    Verdict.TOO_WIDE: "too wide",
    Verdict.TOO_NARROW: "too narrow",
}


#: How clear a comparison is, in words.
_CLEAR = {
    "better": ", better by more than chance",
    "worse": ", worse by more than chance",
    "unclear": " (may be chance)",
    "mixed": f", the other way round {UNBOUNDED_MISSES}",
}


@dataclass(frozen=True)
class ForecasterRow:
    """How the forecasts of one forecaster came out.

    Attributes:
        name: Its name.
        calibration: How its intervals came out.
        comparison: Of its forecasts with those of the reference; ``None`` for the reference itself.
        crps: Mean continuous ranked probability score, in the units of the outcome.
        crps_ratio: The same over that of the reference at the same outcomes; NaN if that is 0.
        score: Mean interval score of the 80 % intervals that are finite; NaN if there are none.
        score_ratio: The same over that of the reference at the same outcomes; NaN if that is 0.
        about: What it is, in a few words.
    """

    name: str
    calibration: CalibrationTable
    comparison: Comparison | None
    crps: float
    crps_ratio: float
    score: float
    score_ratio: float
    about: str = ""

    @property
    def verdict(self) -> Verdict:
        """What all its intervals together say of it."""
        return self.calibration.verdict

    @property
    def results(self) -> int:
        """Number of outcomes that it forecast."""
        first = self.calibration.rows[0]
        return first.of + first.unbounded

    @property
    def preference(self) -> Preference:
        """Whether it scored better or worse than the reference by more than chance."""
        return Preference.UNCLEAR if self.comparison is None else self.comparison.preference

    @property
    def compared(self) -> str:
        """How it compares with the reference: "better", "worse", "unclear", "mixed", or "" for the reference itself."""
        if self.comparison is None:
            return ""
        return "mixed" if self.comparison.mixed else self.preference.value

    @property
    def is_reference(self) -> bool:
        """Whether it is the forecaster that the others are compared with."""
        return self.comparison is None

    def intervals(self, confidence: float = 0.95) -> list[tuple[float, float]]:
        """Return an interval for the true coverage at each nominal one.

        They may be looked at after every result, and share the confidence, as the verdicts of the coverages do.
        """
        rows = self.calibration.rows
        counts = [row.contained for row in rows], [row.of for row in rows]
        ends = confidence_sequence(*counts, confidence=confidence, tests=len(rows))
        return [(float(low), float(high)) for low, high in zip(*ends, strict=True)]

    def sentence(self) -> str:
        """Return this row in words."""
        inside = ", ".join(f"{row.contained} of {row.of} inside {100 * row.nominal:g} %" for row in self._judged)
        said = {
            Verdict.COMPATIBLE: "honest: nothing speaks against its intervals",
            Verdict.NOT_YET: "too early to tell: too few results were judged",
            Verdict.TOO_WIDE: "its intervals are too wide",
            Verdict.TOO_NARROW: "its intervals are too narrow",
        }[self.verdict]
        compared = "" if self.is_reference or np.isnan(self.crps_ratio) else f"; {_change(self, 'the reference')}"
        return f"{self.name}: {said} ({inside or 'no result judged'}){compared}"

    @property
    def _judged(self) -> list[CalibrationRow]:
        return [row for row in self.calibration.rows if row.of]


@dataclass(frozen=True, repr=False)
class ForecasterTable(Table):
    """Table of forecasters of the same outcomes; the honest ones come first, and of these the sharpest.

    Printed, it is a table of at most 80 columns under its headline.

    Attributes:
        rows: One row per forecaster.
        reference: Name of the forecaster that the others are compared with.
        results: Number of outcomes that were forecast.
    """

    rows: tuple[ForecasterRow, ...]
    reference: str
    results: int

    def headline(self) -> str:
        """Return one sentence: how many forecasters were honest, and which of them was the sharpest."""
        honest = [row for row in self.rows if row.verdict is Verdict.COMPATIBLE]
        early = [row for row in self.rows if row.verdict is Verdict.NOT_YET]
        if len(early) == len(self.rows):
            which = "this forecaster was" if len(early) == 1 else f"any of {len(early)} forecasters were"
            return f"It is too early to tell whether {which} honest: {self.results} results are too few."
        if len(self.rows) == 1:
            return self._alone(self.rows[0])
        none = "none was" if not early else "none was shown to be"
        count = {0: none, 1: "1 was", len(self.rows): "all were"}.get(len(honest), f"{len(honest)} were")
        said = f"Of {len(self.rows)} forecasters judged on {self.results} results, {count} honest"
        if len(honest) > 1:
            said += f"; the sharpest of these was {self._sharpest(honest[0])}"
        elif honest:
            said += f": {self._sharpest(honest[0])}"
        others = (self._others(verdict) for verdict in WORDS)
        return " ".join([f"{said}.", *(text for text in others if text)])

    def _alone(self, row: ForecasterRow) -> str:
        if row.verdict is Verdict.COMPATIBLE:
            return f"On {self.results} results {row.name} was honest."
        return f"On {self.results} results {row.name} was not honest: its intervals are {WORDS[row.verdict]}."

    def _sharpest(self, row: ForecasterRow) -> str:
        if row.name == self.reference or not np.isfinite(row.crps_ratio):
            return row.name
        return f"{row.name}, {_change(row, self.reference)}"

    def _others(self, verdict: Verdict) -> str:
        if verdict is Verdict.COMPATIBLE:
            return ""
        names = [row.name for row in self.rows if row.verdict is verdict]
        return f"{WORDS[verdict].capitalize()}: {', '.join(names)}." if names else ""

    def sentences(self) -> list[str]:
        """Return every row in words."""
        return [row.sentence() for row in self.rows]

    def partial(self) -> list[str]:
        """Return in words which forecasters are judged on fewer results than the others, and so on other means."""
        return [
            f"{row.name} made {row.results} of {self.results} forecasts: its coverage and mean CRPS are of these, its ratios "
            f"compare it with {self.reference} on the same results."
            for row in self.rows
            if row.results < self.results
        ]

    def lines(self) -> list[str]:
        """Return the table as lines of at most 80 characters."""
        width = min(max(len("forecaster"), *(len(row.name) for row in self.rows)), _NAME)
        nominal = [f"{100 * row.nominal:.0f} %" for row in self.rows[0].calibration.rows]
        names = ["forecaster", *nominal, "verdict", "CRPS", "ratio", "", "IS80"]
        lines = [_line(names, width), _line(["-" * width, *["-" * w for w in _WIDTHS]], width)]
        return [*lines, *(_line([_cut(row.name), *_cells(row)], width) for row in self.rows)]

    def legend(self) -> list[str]:
        """Return what the columns of the table mean."""
        return [
            "50 %, 80 %, 95 %: share of the results inside these intervals.",
            "verdict: of all three together. Honest: nothing speaks against the intervals. A forecaster that is right is "
            "ever called too narrow or too wide with probability 5 % at most, however often one looks.",
            f"ratio, IS80: mean CRPS and 80 % interval score over those of {self.reference}, smaller is sharper. Better "
            f"or worse: by more than chance. Mixed: better {UNBOUNDED_MISSES}, but worse on average, or the other way round.",
        ]

    def __repr__(self) -> str:
        return "\n".join([self.headline(), "", *self.lines()])

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a pandas data frame, one row per forecaster.

        Columns: ``forecaster``, ``results``, ``verdict``, for each nominal coverage such as 80 % the share inside
        ``coverage_80``, its band ``low_80`` and ``high_80``, which is valid at any time, and ``verdict_80``; ``crps``,
        ``relative_crps``, ``interval_score_80``, ``relative_interval_score_80``, ``compared`` (with the reference) and
        ``about``.
        """
        import pandas as pd

        return pd.DataFrame([_record(row) for row in self.rows])


#: Widths of the columns after the name.
_WIDTHS = (4, 4, 4, 10, 8, 5, 7, 6)


def _line(cells: Sequence[str], width: int) -> str:
    first, *others = cells
    # Words to the left, numbers to the right.
    aligned = [
        f"{cell:<{w}}" if i in (3, 6) else f"{cell:>{w}}"
        for i, (cell, w) in enumerate(zip(others, _WIDTHS, strict=True))
    ]
    return "  ".join([f"{first:<{width}}", *aligned]).rstrip()


def _cells(row: ForecasterRow) -> list[str]:
    shares = [f"{100 * r.contained / r.of:.0f}" if r.of else "-" for r in row.calibration.rows]
    ratios = [shown_ratio(row.crps_ratio), row.compared, shown_ratio(row.score_ratio)]
    return [*shares, WORDS[row.verdict], _short(row.crps), *ratios]


def _short(value: float) -> str:
    return f"{value:.3g}" if np.isfinite(value) else "-"


def shown_ratio(value: float) -> str:
    """Format a ratio of scores in at most 6 characters."""
    if not np.isfinite(value):
        return "-"
    if 99.5 <= value < 99_999.5:
        return f"{value:.0f}"
    return f"{value:.2f}" if 0.005 <= value < 99.5 or value == 0.0 else f"{value:.0e}"


def _cut(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"


def _change(row: ForecasterRow, reference: str) -> str:
    """Return how the mean CRPS of a forecaster compares with that of the reference, and how clear that is."""
    change = percent_change(row.crps_ratio)
    return f"with a CRPS {change} that of {reference}{_CLEAR[row.compared]}"


def percent_change(ratio: float) -> str:
    """Return a ratio in words: "12 % below", "about the same as", "8 % above", "3.2 times", "0.004 times"."""
    if ratio >= 2.0 or ratio < 0.01:
        return f"{ratio:.2g} times"
    change = round(100 * (ratio - 1.0))
    return "about the same as" if change == 0 else f"{abs(change)} % {'above' if change > 0 else 'below'}"


def _record(row: ForecasterRow) -> dict[str, object]:
    record: dict[str, object] = {
        "forecaster": row.name,
        "results": row.results,
        "verdict": WORDS[row.verdict],
    }
    for one, (low, high) in zip(row.calibration.rows, row.intervals(), strict=True):
        level = f"{100 * one.nominal:g}"
        share = one.contained / one.of if one.of else float("nan")
        record |= {f"coverage_{level}": share, f"low_{level}": low, f"high_{level}": high}
        record[f"verdict_{level}"] = one.verdict.value
    scores = {"crps": row.crps, "relative_crps": row.crps_ratio}
    scores |= {"interval_score_80": row.score, "relative_interval_score_80": row.score_ratio}
    return {**record, **scores, "compared": row.compared or "reference", "about": row.about}


@checked
def forecaster_table(
    forecasts: Mapping[str, Sequence[Marginal | None]],
    outcomes: npt.ArrayLike,
    *,
    reference: str,
    about: Mapping[str, str] | None = None,
) -> ForecasterTable:
    """Return a table of forecasters of the same outcomes.

    Each verdict is made as if its forecaster were the only one: one that is right is accused with probability 5 % at most.

    Args:
        forecasts: The n forecasts of each forecaster, by its name; ``None`` where it made none.
        outcomes: The n outcomes, in the order they were observed.
        reference: Name of the forecaster that the others are compared with; it made all n forecasts.
        about: What the forecasters are, by their names.

    Example:
        >>> import numpy as np
        >>> from calibo.data import Marginal
        >>> y = np.random.default_rng(0).standard_normal(60)
        >>> narrow, right = Marginal(0.0, 0.5), Marginal(0.0, 1.0)
        >>> forecaster_table({"narrow": [narrow] * 60, "right": [right] * 60}, y, reference="narrow")
        Of 2 forecasters judged on 60 results, 1 was honest: right, with a CRPS ...
    """
    y = np.asarray(outcomes, dtype=np.float64)
    basis = forecasts.get(reference)
    if basis is None or any(one is None for one in basis):
        raise DataError(f"{reference!r}, which the others are compared with, must have forecast every outcome")
    rows = [
        _row(name, made, [one for one in basis if one is not None], y, name == reference, (about or {}).get(name, ""))
        for name, made in forecasts.items()
    ]
    order = list(WORDS)
    rows.sort(key=lambda row: (order.index(row.verdict), row.crps_ratio if np.isfinite(row.crps_ratio) else np.inf))
    return ForecasterTable(tuple(rows), reference, len(y))


def _row(
    name: str, made: Sequence[Marginal | None], basis: Sequence[Marginal], y: np.ndarray, alone: bool, about: str
) -> ForecasterRow:
    matched_outcomes(made, y)  # pyright: ignore[reportArgumentType]
    known = [i for i, one in enumerate(made) if one is not None]
    own = [one for one in made if one is not None]
    others, outcomes = [basis[i] for i in known], y[known]
    calibration, comparison = calibration_table(own, outcomes), None if alone else compare(own, others, outcomes)
    finite = np.flatnonzero(bounded(own, SCORED) & bounded(others, SCORED))
    scores = [_mean(interval_score([f[i] for i in finite], outcomes[finite], SCORED)) for f in (own, others)]
    ranked = [_mean(crps(f, outcomes)) for f in (own, others)]
    return ForecasterRow(name, calibration, comparison, ranked[0], _over(*ranked), scores[0], _over(*scores), about)


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if values.size else float("nan")


def _over(value: float, reference: float) -> float:
    return value / reference if reference > 0.0 else float("nan")
