"""The paper's claims as numbers, ours beside them, under the paper's model and under ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from figures import MODELS, Finished, named
from judging import Claim, Ratios, counted, difference_of_means, resampled, share, verdict
from runs import RATIOS
from settings import (
    ADAPTIVE,
    BASELINES,
    CONFORMAL,
    ONLINE,
    PAPERS,
    TABLE_1,
    TABLE_2,
    TABLE_4,
    TEMPERED,
    UNCALIBRATED,
)

from calibo.data import Array

_RATIOS = Ratios(".2f")
#: The local and the global minimum of Forrester's function; a search has found one if it is this near.
LOCAL, GLOBAL, NEAR = -0.986, -6.0207, 0.05


def claims(done: Mapping[str, Finished]) -> list[Claim]:
    """Return all that can be said of the parts that are there."""
    kinds = {
        "1": _example,
        "2": _curves,
        "3": _curves,
        "table1": _table_1,
        "4": _figure_4,
        "table2": _table_2,
        "table4": _table_4,
        "A4": _curves,
        "5": _tasks,
    }
    return [claim for number, one in done.items() for claim in kinds[number](one)]


def _example(done: Finished) -> list[Claim]:
    found = []
    for model in MODELS:
        for method in (UNCALIBRATED, ONLINE, TEMPERED):
            final = done.best("forrester UCB", model, method)[:, -1]
            if method == UNCALIBRATED:
                stuck = np.abs(final - LOCAL) < NEAR
                found.append(counted("1", f"{model}, {method}: searches stuck at the local minimum", stuck.tolist()))
            else:
                there = final < GLOBAL + NEAR
                found.append(counted("1", f"{model}, {method}: searches that find the global one", there.tolist()))
    return found


def _curves(done: Finished) -> list[Claim]:
    part, found = done.figure.number, []
    for panel in done.figure.panels:
        for model in MODELS:
            bare = done.error(panel, model, UNCALIBRATED)
            text = f"{panel}, {model}: calibration error, online / uncalibrated"
            found.append(_RATIOS.below(part, text, done.error(panel, model, ONLINE), bare))
            a, b = (done.best(panel, model, method)[:, -1] for method in (ONLINE, UNCALIBRATED))
            found.append(_better(part, f"{panel}, {model}: best value, online less uncalibrated", a, b))
            found += [_theorem_1(done, panel, model, method) for method in (UNCALIBRATED, ONLINE)]
    return found


def _theorem_1(done: Finished, panel: str, model: str, method: str) -> Claim:
    """Return the claim that at most a share 1 / r of the steps gains r times what was expected."""
    ratio, shares = RATIOS[0], done.surprises(panel, model, method)[:, 0]
    text = f"{panel}, {model}: Theorem 1, {method}: steps with {ratio:g} times the expected gain"
    claimed = "-" if method == UNCALIBRATED else f"<= {1.0 / ratio:g}"
    return _RATIOS.claim(done.figure.number, text, shares, np.ones(len(shares)), high=1.0 / ratio, claimed=claimed)


def _figure_4(done: Finished) -> list[Claim]:
    return [
        _better(
            "4",
            f"{panel}: best value, online less {other}",
            *(done.best(panel, PAPERS, m)[:, -1] for m in (ONLINE, other)),
        )
        for panel in done.figure.panels
        for other in (CONFORMAL, ADAPTIVE)
    ]


def _tasks(done: Finished) -> list[Claim]:
    found = []
    for panel in done.figure.panels:
        a, b = (done.best(panel, PAPERS, method)[:, -1] for method in (ONLINE, UNCALIBRATED))
        found.append(_better("5", f"{panel}: best value, online less uncalibrated", a, b))
    return found


def _better(part: str, text: str, a: Array, b: Array) -> Claim:
    """Return the claim that a is lower than b on average, with the seeds in which it is."""
    statistic = difference_of_means(a, b)
    middle, low, high = resampled(statistic, len(a))
    seeds = f"lower in {int((a < b).sum())} of {len(a)} seeds, higher in {int((a > b).sum())}"
    shown = f"{middle:+.2f} ({low:+.2f} to {high:+.2f}); {seeds}"
    return Claim(part, text, "< 0", shown, verdict((middle, low, high), len(a), high=0.0))


def _table_1(done: Finished) -> list[Claim]:
    found = []
    for panel, shares in zip(done.figure.panels, TABLE_1.values(), strict=True):
        for baseline, claimed in zip(BASELINES, shares, strict=True):
            won = done.won(panel, PAPERS, ONLINE, baseline)
            text = f"{panel}: fraction of runs where calibrated beats {baseline}"
            low, high = (0.5, 1.0) if claimed > 0.5 else (0.0, 0.5)
            found.append(share("table1", text, won, low=low, high=high, claimed=f"{claimed:g}"))
    return found


def _table_2(done: Finished) -> list[Claim]:
    return [
        _area(done, panel, model, share, areas)
        for panel, (share, *areas) in zip(done.figure.panels, TABLE_2.values(), strict=True)
        for model in MODELS
    ]


def _table_4(done: Finished) -> list[Claim]:
    return [_area(done, named(row), PAPERS, row.wins, row.areas) for row in TABLE_4]


def _area(done: Finished, panel: str, model: str, share: float, areas: Sequence[float]) -> Claim:
    """Return the claim that calibration makes the area under the curve smaller, or larger, as in the paper."""
    a, b = (done.area(panel, model, method) for method in (ONLINE, UNCALIBRATED))
    ratio, text = areas[0] / areas[1], f"{panel}, {model}: area under the curve, online / uncalibrated"
    said = "-" if np.isnan(ratio) else f"{ratio:.2f}; wins {share:g}"
    side = {"low": 1.0} if ratio > 1.0 else {"high": 1.0}
    claim = _RATIOS.claim(done.figure.number, text, a, b, claimed=said, **side)
    wins = done.won(panel, model, ONLINE, UNCALIBRATED).mean()
    return replace(claim, ours=f"{claim.ours}; wins {wins:.2f}")
