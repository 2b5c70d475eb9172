"""Trials as a table: what was tried, what was forecast, and what was observed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from calibo.arguments import checked
from calibo.checks import check_whole, shown
from calibo.data import Forecast
from calibo.errors import DataError
from calibo.trials.trial import Trial

if TYPE_CHECKING:
    import pandas as pd

#: Levels of the quantiles of a forecast that the table shows.
LEVELS = (0.025, 0.1, 0.5, 0.9, 0.975)

_NAN = float("nan")


#: More objectives than anybody has.
_MOST_OBJECTIVES = 1000


def objective_columns(names: Sequence[str], objectives: int) -> list[str]:
    """Return what distinguishes the columns of each objective: its name or index; "" for a single one without a name.

    Raises:
        DataError: If some objectives have a name and others have none.
    """
    check_whole("objectives, their number,", objectives, most=_MOST_OBJECTIVES)
    if len(names) not in (0, objectives):
        raise DataError(f"names of objectives are one for each of {objectives}, or none at all, got {shown(names)}")
    return list(names) or ([""] if objectives == 1 else [str(i) for i in range(objectives)])


@checked
def history_table(trials: Sequence[Trial], objectives: int, names: Sequence[str] = ()) -> pd.DataFrame:
    """Return a table with one row per trial; its columns are described at ``Result.history``."""
    import pandas as pd

    params = list(dict.fromkeys(name for trial in trials for name in trial.params))
    constraints = sorted({name for trial in trials for name in trial.constraints})
    outcomes: list[int | str] = [*range(objectives), *constraints]
    goals = objective_columns(names, objectives)
    values = [f"value_{name}" if name else "value" for name in goals]
    noise = [f"sem{name.removeprefix('value')}" for name in values if any(trial.sem is not None for trial in trials)]
    limits = [f"constraint_{name}" for name in constraints]
    prefixes = [f"{name}_" if name else "" for name in (*goals, *limits)]
    columns = [
        *("number", "state"),
        *values,
        *noise,
        *limits,
        *(f"params_{name}" for name in params),
        *(
            f"{stage}_{prefix}{what}"
            for prefix in prefixes
            for stage in ("forecast", "raw")
            for what in ("mean", "std", *(f"q{100 * level:g}" for level in LEVELS))
        ),
        *("started", "finished", "error"),
    ]
    rows = [
        [
            *(trial.number, str(trial.state)),
            *(trial.values or [_NAN] * objectives),
            *(trial.sem or [_NAN] * len(noise)),
            *(trial.constraints.get(name, _NAN) for name in constraints),
            *(trial.params.get(name) for name in params),
            *(number for outcome in outcomes for number in _forecast_numbers(trial.forecast_of(outcome, objectives))),
            *(trial.started, trial.finished, trial.error),
        ]
        for trial in trials
    ]
    return pd.DataFrame(rows, columns=columns)


def _forecast_numbers(forecast: Forecast | None) -> list[float]:
    if forecast is None:
        return [_NAN] * (2 * (2 + len(LEVELS)))
    stages = (forecast.calibrated, forecast.raw)
    return [number for one in stages for number in (one.mean, one.std, *map(one.icdf, LEVELS))]
