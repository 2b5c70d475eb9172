"""The paper's claims as numbers, ours beside them, and whether they agree.

Ratios of means carry 90 % intervals; see ``judging.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from figures import ALPHAS, CHANNELS, LENGTH_SCALES, Finished
from judging import Claim, Ratios, counted, held
from settings import BO, CBO, LOCBO, LOCBO_INF, METHODS, OCBO, OCBO_L, OURS, RANDOM

#: Tolerances for "similar" and "roughly a 10 % gain".
_SIMILAR, _ROUGHLY = 0.2, 0.05
_RATIOS = Ratios(".2f")
judged, below, above, about = _RATIOS.claim, _RATIOS.below, _RATIOS.above, _RATIOS.about


def _others(*extra: str) -> list[str]:
    """Return the paper's methods but LOCBO."""
    return [method for method in (*METHODS, *extra) if method not in (LOCBO, OURS)]


def _figure_4(done: Finished) -> list[Claim]:
    plain, local, ours = done.figure.cells
    one = np.ones(len(plain.jobs))
    text = "interval width near the optimum / mean width"
    wide, visits = done.width_near, done.visits_near
    return [
        about("4", f"{text}, kappa = 0", wide(plain), one, 1.0, _SIMILAR),
        below("4", f"{text}, kappa = 2 over kappa = 0", wide(local), wide(plain)),
        judged("4", f"{text}, {OURS}", wide(ours), one),
        above("4", "measurements near the optimum, kappa = 2 / kappa = 0", visits(local), visits(plain)),
    ]


def _figure_5(done: Finished) -> list[Claim]:
    at, number = done.finals, done.figure.number
    if number == "5a":
        claims = [
            above(number, "regret CBO / BO: no improvement", at(CBO), at(BO)),
            about(number, "regret OCBO / LOCBO: similar", at(OCBO), at(LOCBO), 1.0, _SIMILAR),
            about(
                number,
                "regret LOCBO / LOCBO (l = inf): localization matters little",
                at(LOCBO),
                at(LOCBO_INF),
                1.0,
                _SIMILAR,
            ),
        ]
    else:
        claims = [
            below(number, "regret LOCBO / LOCBO (l = inf): less than half", at(LOCBO), at(LOCBO_INF), 0.5),
            above(number, "regret OCBO / LOCBO: OCBO degrades in noise", at(OCBO), at(LOCBO)),
        ]
    best = min((at(method) for method in _others()), key=np.mean)
    return [
        *claims,
        below(number, "regret LOCBO / BO", at(LOCBO), at(BO)),
        below(number, "regret LOCBO / the best other: LOCBO wins", at(LOCBO), best),
        judged(number, f"regret {OURS} / BO", at(OURS), at(BO)),
    ]


def _figure_6a(done: Finished) -> list[Claim]:
    at, plain = done.finals, done.finals(LOCBO_INF)
    means = {length: float(at(LOCBO, length).mean()) for length in LENGTH_SCALES}
    best = min(means, key=lambda length: means[length])
    return [
        held("6a", "best length scale l", "5", f"{best:g}", best == 5.0),
        counted("6a", "length scales with less regret than l = inf", [m < plain.mean() for m in means.values()]),
        Claim("6a", "mean regret at l = 5", "axis from 0.5 to 4", f"{means[5.0]:.2f}", "-"),
        Claim("6a", "mean regret at l = inf", "axis from 0.5 to 4", f"{plain.mean():.2f}", "-"),
    ]


def _wins(done: Finished, values: tuple[float, ...], better: Callable[[float, float], bool], *extra: str) -> list[bool]:
    """Whether LOCBO's mean is better than all others' at each value of a sweep."""
    at = done.finals
    return [all(better(at(LOCBO, x).mean(), at(m, x).mean()) for m in _others(*extra)) for x in values]


def _figure_6b(done: Finished) -> list[Claim]:
    means = [float(done.finals(LOCBO, alpha).mean()) for alpha in ALPHAS["6b"]]
    spread = f"{max(means) / max(min(means), 1e-12):.2f}"
    wins = _wins(done, ALPHAS["6b"], lambda a, b: a < b)
    return [
        counted("6b", "values of alpha at which LOCBO has the least regret", wins),
        Claim("6b", "LOCBO's largest mean regret over alpha / its smallest", "quite robust", spread, "-"),
    ]


def _figure_8(done: Finished) -> list[Claim]:
    at, number = done.finals, done.figure.number
    if number == "8a":
        worst = min((at(method) for method in (*_others(), LOCBO)), key=np.mean)
        return [
            about(number, "capacity LOCBO / LOCBO (l = inf)", at(LOCBO), at(LOCBO_INF), 1.1, _ROUGHLY),
            about(number, "capacity LOCBO / CBO", at(LOCBO), at(CBO), 1.2, _ROUGHLY),
            about(number, "capacity LOCBO / OCBO", at(LOCBO), at(OCBO), 1.2, _ROUGHLY),
            above(number, "capacity of the worst BO scheme / random search", worst, at(RANDOM)),
            judged(number, f"capacity {OURS} / BO", at(OURS), at(BO)),
        ]
    if number == "8b":
        first, last = float(CHANNELS[0]), float(CHANNELS[-1])
        wins = _wins(done, tuple(map(float, CHANNELS)), lambda a, b: a > b, RANDOM)
        calibrated = (CBO, OCBO, LOCBO_INF, OCBO_L, LOCBO)
        gains = [bool(at(m, n).mean() > at(BO, n).mean()) for m in calibrated for n in map(float, CHANNELS)]
        return [
            above(number, "capacity LOCBO, n_ch = 4 / n_ch = 1", at(LOCBO, last), at(LOCBO, first)),
            above(number, "capacity BO, n_ch = 4 / n_ch = 1", at(BO, last), at(BO, first)),
            counted(number, "values of n_ch at which LOCBO has the largest capacity", wins),
            counted(number, "calibrated methods x n_ch with more capacity than BO", gains),
        ]
    wins = _wins(done, ALPHAS["8c"], lambda a, b: a > b, RANDOM)
    return [
        counted(number, "values of alpha at which LOCBO has the largest capacity", wins),
        above(number, "capacity LOCBO, alpha = 0.45 / alpha = 0.15", at(LOCBO, 0.45), at(LOCBO, 0.15)),
    ]


_OF_FIGURE: dict[str, Callable[[Finished], list[Claim]]] = {
    "4": _figure_4,
    "5a": _figure_5,
    "5b": _figure_5,
    "6a": _figure_6a,
    "6b": _figure_6b,
    "8a": _figure_8,
    "8b": _figure_8,
    "8c": _figure_8,
}


def claims(finished: Mapping[str, Finished]) -> list[Claim]:
    """All that can be said of the figures that are there."""
    return [claim for number, done in finished.items() for claim in _OF_FIGURE[number](done)]
