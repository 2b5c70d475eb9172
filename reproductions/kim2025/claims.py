"""The paper's claims as numbers, ours beside them, and whether they agree.

Ratios of means carry 90 % intervals; see ``judging.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from figures import ALPHAS, CHANNELS, LENGTH_SCALES, Finished
from judging import Claim, Ratios, best_mean, counted_over, resampled, verdict
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
    curves = {length: at(LOCBO, length) for length in LENGTH_SCALES}
    five = best_mean(curves[5.0], (curve for length, curve in curves.items() if length != 5.0), lower=True)
    share, low, high = resampled(five, len(plain))
    said = verdict((share, low, high), len(plain), low=0.5)
    return [
        Claim("6a", "best length scale l", "5", f"{best:g}", said),
        counted_over(
            "6a",
            "length scales with less regret than l = inf",
            [best_mean(curve, [plain], lower=True) for curve in curves.values()],
            len(plain),
        ),
        Claim("6a", "mean regret at l = 5", "axis from 0.5 to 4", f"{means[5.0]:.2f}", "-"),
        Claim("6a", "mean regret at l = inf", "axis from 0.5 to 4", f"{plain.mean():.2f}", "-"),
    ]


def _wins(done: Finished, text: str, values: tuple[float, ...], *extra: str, lower: bool) -> Claim:
    """Return the claim that LOCBO's mean is better than all others' at each value of a sweep."""
    at = done.finals
    cases = [best_mean(at(LOCBO, x), [at(m, x) for m in _others(*extra)], lower=lower) for x in values]
    return counted_over(done.figure.number, text, cases, len(at(LOCBO, values[0])))


def _figure_6b(done: Finished) -> list[Claim]:
    means = [float(done.finals(LOCBO, alpha).mean()) for alpha in ALPHAS["6b"]]
    spread = f"{max(means) / max(min(means), 1e-12):.2f}"
    return [
        _wins(done, "values of alpha at which LOCBO has the least regret", ALPHAS["6b"], lower=True),
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
        channels, calibrated = tuple(map(float, CHANNELS)), (CBO, OCBO, LOCBO_INF, OCBO_L, LOCBO)
        gains = [best_mean(at(m, n), [at(BO, n)], lower=False) for m in calibrated for n in channels]
        text = "values of n_ch at which LOCBO has the largest capacity"
        return [
            above(number, "capacity LOCBO, n_ch = 4 / n_ch = 1", at(LOCBO, last), at(LOCBO, first)),
            above(number, "capacity BO, n_ch = 4 / n_ch = 1", at(BO, last), at(BO, first)),
            _wins(done, text, channels, RANDOM, lower=False),
            counted_over(
                number, "calibrated methods x n_ch with more capacity than BO", gains, len(at(BO, channels[0]))
            ),
        ]
    text = "values of alpha at which LOCBO has the largest capacity"
    return [
        _wins(done, text, ALPHAS["8c"], RANDOM, lower=False),
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
