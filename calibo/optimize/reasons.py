"""Why a point was suggested, in words, and how likely it is to improve on what is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from calibo.data import Array
from calibo.models import Model

#: Coverage of the intervals shown.
COVERAGE = 0.8
#: A point is "expected to be good" if this share of the candidates has no better predicted mean ...
_GOOD = 0.8
#: ... and "uncertain" if this share of them has a narrower interval.
_UNCERTAIN = 0.5
#: Means that differ by less than this part of an interval are the same.
_ALIKE = 1e-6

GOOD = "expected to be good"
UNCERTAIN = "uncertain"
BOTH = "both: expected to be good and uncertain"
#: Predicted means and interval widths, each `N x m`, in the internal sign (larger is better).
Expectations = tuple[Array, Array]


def expectations(models: Sequence[Model], X: Array) -> Expectations:
    """Predict means and widths of the 80 % intervals of measurements at `s x d` points: each `s x m`."""
    predicted = [model.predict(X, latent=False) for model in models]
    widths = [high - low for low, high in (one.interval(COVERAGE) for one in predicted)]
    return np.column_stack([one.mean for one in predicted]), np.column_stack(widths)


def reasons(suggested: Expectations, others: Expectations) -> list[str]:
    """Explain in words why each point was suggested.

    How good a point is expected to be is the share of other candidates whose predicted means do not dominate its own; how
    uncertain it is, the share of them with a narrower 80 % interval (in the outcome where it is largest). If the first is
    at least .8 and the second at least .5, the reason is both; otherwise the larger one. Where the same is expected of all
    candidates, as after equal outcomes, none is expected to be good.

    Args:
        suggested: Predictions for the `n` suggested points.
        others: Predictions for a random sample of the candidates.
    """
    means, widths = suggested[0][:, None, :], suggested[1][:, None, :]
    beaten = ((others[0] >= means).all(axis=-1) & (others[0] > means).any(axis=-1)).mean(axis=1)
    good, uncertain = 1.0 - beaten, (others[1] < widths).mean(axis=1).max(axis=-1)
    if _all_alike(suggested, others):
        return [UNCERTAIN] * len(good)
    both = (good >= _GOOD) & (uncertain >= _UNCERTAIN)
    return [BOTH if b else (GOOD if g >= u else UNCERTAIN) for b, g, u in zip(both, good, uncertain, strict=True)]


def _all_alike(suggested: Expectations, others: Expectations) -> bool:
    """Return whether the same is expected of all points, in all outcomes.

    Means are compared with the widths of intervals, as those of outcomes that are all 0 are rounding errors of any size.
    """
    means, widths = (np.vstack(pair) for pair in zip(suggested, others, strict=True))
    return bool((np.ptp(means, axis=0) <= _ALIKE * np.median(widths, axis=0)).all())


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
