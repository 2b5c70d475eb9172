"""The trials of a study as a table: what was tried, what was believed of it, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from calibo.data import Forecast, Marginal
from calibo.study.trials import Entry

if TYPE_CHECKING:
    import pandas as pd

#: Levels of the quantiles of a forecast that the history shows.
LEVELS = (0.025, 0.1, 0.5, 0.9, 0.975)


def history_table(entries: Sequence[Entry], objectives: int) -> pd.DataFrame:
    """One row per trial; see ``Result.history``.

    Args:
        entries: The trials.
        objectives: Number of objectives, m.
    """
    import pandas as pd

    params = list(dict.fromkeys(name for entry in entries for name in entry.params))
    constraints = sorted({name for entry in entries for name in entry.constraints})
    places = range(objectives)
    values = ["value"] if objectives == 1 else [f"value_{i}" for i in places]
    limits = [f"constraint_{name}" for name in constraints]
    believed = [*([""] if objectives == 1 else [f"{i}_" for i in places]), *(f"{name}_" for name in limits)]
    distributions = [
        f"{stage}_{outcome}{what}"
        for outcome in believed
        for stage in ("forecast", "raw")
        for what in ("mean", "std", *map(_level, LEVELS))
    ]
    columns = [
        *("number", "state"),
        *values,
        *limits,
        *(f"params_{name}" for name in params),
        *distributions,
        *("started", "finished", "error"),
    ]
    return pd.DataFrame([_row(entry, objectives, constraints, params) for entry in entries], columns=columns)


def _level(level: float) -> str:
    return f"q{100 * level:g}"


def _row(entry: Entry, objectives: int, constraints: Sequence[str], params: Sequence[str]) -> list[Any]:
    nothing = float("nan")
    values = [nothing] * objectives if entry.values is None else list(entry.values)
    limits = [entry.constraints.get(name, nothing) for name in constraints]
    forecasts = [_forecast(entry, i, objectives) for i in range(objectives)]
    forecasts += [_forecast_of_constraint(entry, name, objectives) for name in constraints]
    distributions = [
        distribution
        for one in forecasts
        for distribution in ((None, None) if one is None else (one.calibrated, one.raw))
    ]
    believed = [number for distribution in distributions for number in _law(distribution)]
    given = [entry.params.get(name) for name in params]
    return [
        *(entry.number, entry.state),
        *values,
        *limits,
        *given,
        *believed,
        *(entry.started, entry.finished, entry.error),
    ]


def _forecast(entry: Entry, place: int, objectives: int) -> Forecast | None:
    return entry.forecasts[place] if entry.forecasts is not None and place < objectives else None


def _forecast_of_constraint(entry: Entry, name: str, objectives: int) -> Forecast | None:
    if entry.forecasts is None or name not in entry.forecast_constraints:
        return None
    return entry.forecasts[objectives + entry.forecast_constraints.index(name)]


def _law(distribution: Marginal | None) -> list[float]:
    if distribution is None:
        return [float("nan")] * (2 + len(LEVELS))
    return [distribution.mean, distribution.std, *(distribution.icdf(level) for level in LEVELS)]
