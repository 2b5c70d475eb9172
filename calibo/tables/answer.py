"""The table that ``rank`` returns: suggested rows with forecasts, probability of improvement and a reason in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibo.data import Array, Forecasts
from calibo.optimize.reasons import COVERAGE, chance_beyond
from calibo.tables.reading import Frame
from calibo.trials import Direction, convert_forecasts

NOTHING_MEASURED = "nothing is measured yet: spread over the table"
DRAWN = "drawn at random"
LITTLE_MEASURED = "too little is measured yet: spread over the table"
#: Below this probability that any suggested row is better than the best so far, measuring them is unlikely to pay ...
_UNLIKELY = 0.1
#: ... unless hardly anything is measured, when forecasts mean little.
_FEWEST_JUDGED = 20


def answer(
    rows: Frame,
    forecasts: Sequence[Forecasts] | None,
    why: Sequence[str],
    front: Array,
    *,
    targets: Sequence[str],
    directions: Sequence[Direction],
) -> Frame:
    """Append the columns of the forecasts to the suggested rows.

    Args:
        rows: `n` suggested rows.
        forecasts: `n` forecasts in the internal sign; ``None`` if there is no model yet.
        why: `n` reasons.
        front: Pareto front of the outcomes so far, `k x m`, in the internal sign.
        targets: Names of the `m` outcomes; with one outcome, columns have no prefix.
        directions: Directions of the outcomes, `m`.
    """
    values: list[Sequence[float] | Sequence[str]] = []
    missing = [np.nan] * len(rows)
    shown = [convert_forecasts(one, directions) for one in forecasts or ()]
    for j in range(len(targets)):
        predicted = [one[j].calibrated for one in shown if one is not None]
        values.append([one.mean for one in predicted] or missing)
        values += [[one.interval(COVERAGE)[end] for one in predicted] or missing for end in (0, 1)]
    values.append([chance_beyond([f.calibrated.cdf for f in row], front) for row in forecasts or ()] or missing)
    return rows.assign(**dict(zip(free_names(own_columns(targets), rows.columns), [*values, list(why)], strict=True)))


def own_columns(targets: Sequence[str]) -> list[str]:
    """Return the names of the columns that a ranking adds to its rows."""
    prefixes = [""] if len(targets) == 1 else [f"{name}_" for name in targets]
    forecasts = [f"{prefix}{name}" for prefix in prefixes for name in ("mean", "low_80", "high_80")]
    return [*forecasts, "probability_of_improvement", "reason"]


def free_names(names: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Prefix names with ``calibo_`` where the table already has such a column, so that no column is replaced."""
    taken = set(columns)
    return [free_names([f"calibo_{name}"], columns)[0] if name in taken else name for name in names]


def chances(frame: Frame) -> Array:
    """Return the probability of improvement of each row of an answer, `n`."""
    return frame.iloc[:, -2].to_numpy(dtype=np.float64)


def outlook(chance: Array, measured: int) -> str | None:
    """Say so if measuring the suggested rows is unlikely to pay; ``None`` if it is not, or if too little is measured.

    Args:
        chance: Probability of each suggested row to be better than the best one so far, `n`.
        measured: Number of measured rows.
    """
    # Whatever the outcomes have to do with each other, the probability that any improves is at most the sum.
    most = float(chance.sum())
    if measured < _FEWEST_JUDGED or not most < _UNLIKELY:
        return None
    return (
        f"Measuring more is unlikely to pay: by the forecasts, the probability that any of these {len(chance)} rows is "
        f"better than the best so far is at most {max(100 * most, 1):.0f} %."
    )
