"""Coverage by place: how intervals came out near the data, between, and far from them.

How far a forecast reached is what the model itself said: the spread of what the last calibration was given, relative to the
outcomes before, by the rule of `distributions.relative_spread`. It is known before the outcome, so that the verdicts are
valid at any time in each place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from calibo.arguments import checked
from calibo.data import COVERAGES, Forecast
from calibo.diagnostics.tables import CalibrationTable, Table, Verdict, calibration_table, listed
from calibo.distributions import from_marginals
from calibo.distributions.relative_spread import groups_of, log_spread_before
from calibo.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


class Place(Enum):
    """Where a forecast was made; the value is the text shown to users."""

    NEAR = "near the data"
    BETWEEN = "between"
    FAR = "far from the data"


#: Verdicts on the intervals of one place, in words.
PLACE_VERDICTS = {
    Verdict.NOT_YET: "too early to judge",
    Verdict.COMPATIBLE: "compatible",
    Verdict.TOO_NARROW: "too narrow",
    Verdict.TOO_WIDE: "too wide",
}


@dataclass(frozen=True)
class PlaceRow:
    """How the intervals of one place have come out so far.

    Attributes:
        place: The place.
        calibration: Counts and verdicts of its intervals. Their verdicts share the confidence with those of the other
            places: intervals that are right are *ever* called wrong in any place with probability 5 % at most.
    """

    place: Place
    calibration: CalibrationTable

    @property
    def of(self) -> int:
        """Number of results."""
        first = self.calibration.rows[0]
        return first.of + first.unbounded

    def sentence(self) -> str:
        """Return this row in words."""
        if not self.of:
            return f"{self.place.value}: no result with a forecast yet"
        rows = self.calibration.rows
        shares = ", ".join(f"{row.contained} of {row.of} in {100 * row.nominal:g} % intervals" for row in rows)
        return f"{self.place.value}: {shares}; {PLACE_VERDICTS[self.calibration.verdict]}"


@dataclass(frozen=True, repr=False)
class PlaceTable(Table):
    """Table of how the prediction intervals have come out by place: near the data, between, and far from them.

    Printed, it gives its verdicts in words; notebooks show it as a table.

    Attributes:
        rows: One row per place, nearest first.
    """

    rows: tuple[PlaceRow, ...]

    def headline(self) -> str:
        """Return the verdicts on all places in one sentence."""
        if not any(row.of for row in self.rows):
            return "Where the intervals are right cannot be judged yet: there is no result with a forecast."
        groups: dict[Verdict, list[str]] = {}
        for row in self.rows:
            groups.setdefault(row.calibration.verdict, []).append(_where(row.place))
        parts = [f"{PLACE_VERDICTS[verdict]} {listed(places)}" for verdict, places in groups.items()]
        return f"Intervals by how far the model had to reach: {'; '.join(parts)}."

    def sentences(self) -> list[str]:
        return [row.sentence() for row in self.rows]

    @property
    def judged(self) -> bool:
        """Whether there is a verdict on at least one place."""
        return any(row.calibration.verdict is not Verdict.NOT_YET for row in self.rows)

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a pandas data frame, one row per place and coverage."""
        import pandas as pd

        frames = [row.calibration.to_frame().drop(columns="sentence") for row in self.rows]
        for row, frame in zip(self.rows, frames, strict=True):
            frame.insert(0, "place", row.place.value)
        return pd.concat(frames, ignore_index=True)


@checked
def place_table(forecasts: Sequence[Forecast | None], outcomes: Sequence[float]) -> PlaceTable:
    """Return a table of how central prediction intervals have come out by place.

    Args:
        forecasts: Forecasts of n outcomes, ``None`` where there was none.
        outcomes: The n outcomes, in the order they were observed, also those without a forecast.
    """
    places = places_of(forecasts, outcomes)
    return PlaceTable(tuple(_place_row(place, places, forecasts, outcomes) for place in Place))


def places_of(forecasts: Sequence[Forecast | None], outcomes: Sequence[float]) -> list[Place | None]:
    """Return the place of each forecast, n, by the outcomes with a forecast before it; ``None`` where there is no forecast.

    Args:
        forecasts: Forecasts of n outcomes, ``None`` where there was none.
        outcomes: The n outcomes, in the order they were observed.
    """
    if len(forecasts) != len(outcomes):
        raise DataError(f"{len(forecasts)} forecasts for {len(outcomes)} outcomes: give one, or None, for each")
    known = {i: forecast for i, forecast in enumerate(forecasts) if forecast is not None}
    given = from_marginals([forecast.last_given for forecast in known.values()])
    y = np.asarray([outcomes[i] for i in known], dtype=np.float64)
    groups = dict(zip(known, groups_of(log_spread_before(given, y)).tolist(), strict=True))
    places = list(Place)
    return [places[groups[i]] if i in groups else None for i in range(len(outcomes))]


def _place_row(
    place: Place, places: Sequence[Place | None], forecasts: Sequence[Forecast | None], outcomes: Sequence[float]
) -> PlaceRow:
    pairs = [
        (forecast, outcome)
        for found, forecast, outcome in zip(places, forecasts, outcomes, strict=True)
        if found is place and forecast is not None
    ]
    table = calibration_table(
        [forecast.calibrated for forecast, _ in pairs],
        [outcome for _, outcome in pairs],
        coverages=COVERAGES,
        tables=len(Place),
    )
    return PlaceRow(place, table)


def _where(place: Place) -> str:
    return "in between" if place is Place.BETWEEN else place.value
