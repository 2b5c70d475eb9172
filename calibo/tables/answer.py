"""The answer: suggested rows with what is expected of them, the chance that they improve, and the reason in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from calibo.data import Array, Forecasts
from calibo.models import Model
from calibo.optimize.records import Direction, turned
from calibo.tables.reading import Frame

#: The interval that is shown.
COVERAGE = 0.8
#: A row is called good if so large a share of the candidates are not expected to beat it ...
_GOOD = 0.8
#: ... and uncertain if so large a share of them have a narrower interval.
_UNCERTAIN = 0.5

GOOD = "expected to be good"
UNCERTAIN = "uncertain"
BOTH = "both: expected to be good and uncertain"
NOTHING_MEASURED = "nothing is measured yet: spread over the table"
LITTLE_MEASURED = "too little is measured yet: spread over the table"

#: Means and widths of intervals, each N x m, in the house's sign.
Expectations = tuple[Array, Array]


def expectations(models: Sequence[Model], X: Array) -> Expectations:
    """Means and widths of the 80 % intervals of measurements at points, s x d: each s x m."""
    distributions = [model.predict(X, latent=False) for model in models]
    ends = [distribution.interval(COVERAGE) for distribution in distributions]
    return np.column_stack([distribution.mean for distribution in distributions]), np.column_stack(
        [high - low for low, high in ends]
    )


def reasons(suggested: Expectations, others: Expectations) -> list[str]:
    """Why each row was suggested, in words, n.

    A row counts as good by the share of other candidates whose means do not beat its means (in every target), and as
    uncertain by the share of them with a narrower 80 % interval (of the target where this share is largest). If the first
    share is .8 or more and the second .5 or more, it is both; else the larger share is the reason.

    Args:
        suggested: Of the n suggested rows.
        others: Of a random sample of the candidates.
    """
    means, widths = suggested[0][:, None, :], suggested[1][:, None, :]
    beaten = ((others[0] >= means).all(axis=-1) & (others[0] > means).any(axis=-1)).mean(axis=1)
    good, uncertain = 1.0 - beaten, (others[1] < widths).mean(axis=1).max(axis=-1)
    both = (good >= _GOOD) & (uncertain >= _UNCERTAIN)
    return [BOTH if b else (GOOD if g >= u else UNCERTAIN) for b, g, u in zip(both, good, uncertain, strict=True)]


def chance_beyond(cdfs: Sequence[Callable[[float], float]], front: Array) -> float:
    """The probability that independent outcomes are not dominated by any point of a front, k x m; larger is better.

    Exact: cut along the last outcome at the points of the front; between two cuts only the points above count, and what
    is left is the same question with one outcome fewer. For one outcome it is the chance to lie above the best.
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
    """The suggested rows with all their columns, and those of the forecasts after them.

    Args:
        rows: The rows, n.
        forecasts: In the house's sign, n; ``None`` if there is no model yet.
        why: The reasons, n.
        front: The best outcomes so far in the house's sign, k x m.
        targets: The names of the outcomes, m; with one, its columns carry no name.
        directions: Of the outcomes, m.
    """
    values: list[Sequence[float] | Sequence[str]] = []
    missing = [np.nan] * len(rows)
    shown = [turned(one, directions) for one in forecasts or ()]
    for j in range(len(targets)):
        distributions = [one[j].calibrated for one in shown if one is not None]
        values.append([distribution.mean for distribution in distributions] or missing)
        values += [
            [distribution.interval(COVERAGE)[end] for distribution in distributions] or missing for end in (0, 1)
        ]
    values.append([chance_beyond([f.calibrated.cdf for f in row], front) for row in forecasts or ()] or missing)
    return rows.assign(**dict(zip(free_names(own_columns(targets), rows.columns), [*values, list(why)], strict=True)))


def own_columns(targets: Sequence[str]) -> list[str]:
    """The names of the columns that an answer adds to its rows."""
    prefixes = [""] if len(targets) == 1 else [f"{name}_" for name in targets]
    forecasts = [f"{prefix}{name}" for prefix in prefixes for name in ("mean", "low_80", "high_80")]
    return [*forecasts, "probability_of_improvement", "reason"]


def free_names(names: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Names as they are, or with ``calibo_`` before them where a table has such a column: they are never replaced."""
    taken = set(columns)
    return [free_names([f"calibo_{name}"], columns)[0] if name in taken else name for name in names]
