"""The table that ``rank`` returns: suggested rows with forecasts, probability of improvement and a reason in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from calibo.data import Array, Forecasts
from calibo.models import Model
from calibo.tables.reading import Frame
from calibo.trials import Direction, convert_forecasts

#: Coverage of the intervals shown.
COVERAGE = 0.8
#: A row is "expected to be good" if this share of the candidates has no better predicted mean ...
_GOOD = 0.8
#: ... and "uncertain" if this share of them has a narrower interval.
_UNCERTAIN = 0.5

GOOD = "expected to be good"
UNCERTAIN = "uncertain"
BOTH = "both: expected to be good and uncertain"
NOTHING_MEASURED = "nothing is measured yet: spread over the table"
LITTLE_MEASURED = "too little is measured yet: spread over the table"

#: Predicted means and interval widths, each `N x m`, in the internal sign (larger is better).
Expectations = tuple[Array, Array]


def expectations(models: Sequence[Model], X: Array) -> Expectations:
    """Predict means and widths of the 80 % intervals of measurements at `s x d` points: each `s x m`."""
    predicted = [model.predict(X, latent=False) for model in models]
    widths = [high - low for low, high in (one.interval(COVERAGE) for one in predicted)]
    return np.column_stack([one.mean for one in predicted]), np.column_stack(widths)


def reasons(suggested: Expectations, others: Expectations) -> list[str]:
    """Explain in words why each row was suggested.

    How good a row is expected to be is the share of other candidates whose predicted means do not dominate its own; how
    uncertain it is, the share of them with a narrower 80 % interval (in the target where it is largest). If the first is
    at least .8 and the second at least .5, the reason is both; otherwise the larger one.

    Args:
        suggested: Predictions for the `n` suggested rows.
        others: Predictions for a random sample of the candidates.
    """
    means, widths = suggested[0][:, None, :], suggested[1][:, None, :]
    beaten = ((others[0] >= means).all(axis=-1) & (others[0] > means).any(axis=-1)).mean(axis=1)
    good, uncertain = 1.0 - beaten, (others[1] < widths).mean(axis=1).max(axis=-1)
    both = (good >= _GOOD) & (uncertain >= _UNCERTAIN)
    return [BOTH if b else (GOOD if g >= u else UNCERTAIN) for b, g, u in zip(both, good, uncertain, strict=True)]


def chance_beyond(cdfs: Sequence[Callable[[float], float]], front: Array) -> float:
    """Compute the probability that independent outcomes are not dominated by any point of a Pareto front.

    Exact, by recursion over the outcomes: the last outcome is cut at the values of the front; within a slab only the front
    points above it can dominate. With one outcome it is the probability to exceed the best value.

    Args:
        cdfs: Cumulative distribution function of each of `m` outcomes, in the internal sign.
        front: `k x m` points; larger is better.
    """
    if not len(front):
        return 1.0
    last = cdfs[-1]
    if len(cdfs) == 1:
        return 1.0 - last(float(front.max()))
    total, below = 0.0, 0.0
    for cut in np.unique(front[:, -1]):
        at = last(float(cut))
        total += (at - below) * chance_beyond(cdfs[:-1], front[front[:, -1] >= cut, :-1])
        below = at
    return total + 1.0 - below


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
