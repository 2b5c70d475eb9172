"""The paper's claims as numbers, ours beside them, and whether they agree.

Ratios of means carry 90 % intervals; see ``judging.py``.

On the tables a run counts with its mean regret over the second half of its evaluations, and a mean of these with at least
the difference between the best two configurations, since of regrets of exactly 0 there is no ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from figures import Finished
from judging import TINY, Claim, Ratios, Statistic, log_mean, resampled, share, verdict
from runs import table_of
from settings import (
    BORE,
    COMPOSITE_EI,
    COMPOSITE_LFBO,
    FOUND,
    GAMMAS,
    GP,
    GP_BOTORCH,
    LFBO,
    LFBO_EI,
    LFBO_PI,
    MEANS,
    OURS,
    PAPERS,
    RANDOM,
    TABLE_METHODS,
)

from calibo.data import Array

_RATIOS = Ratios(".3g")
ratio, below, above = _RATIOS.claim, _RATIOS.below, _RATIOS.above


def _late(done: Finished, panel: str, method: str, x: float | None = None) -> Array:
    """Mean regrets over the second half of the evaluations, one for each seed."""
    curve = done.of(done.cell(panel, method, x))
    return curve[:, curve.shape[1] // 2 :].mean(axis=1)


def least_regret(problem: str) -> float:
    """Difference between the means of the best two configurations of a table: the least regret that is not 0."""
    task = table_of(problem)
    regrets = np.abs(task.means - task.optimum)
    return float(regrets[regrets > 0.0].min())


def _figure_3(done: Finished) -> list[Claim]:
    """Slopes of log error over log n, from n = 100 on: ten observations are fitted without error by whatever odds."""
    claims = []
    for panel, method in (("error to PI", LFBO_PI), ("error to EI", LFBO_EI), ("error to PI", BORE)):
        n, values = _errors(done, panel, method)
        repeats = values.shape[1]
        found = resampled(_slope(np.log(n), np.log(values)), repeats)
        shown = "{:.2f} ({:.2f} to {:.2f})".format(*found)
        text = f"{method}, {panel}: falls like n to the power of"
        claims.append(Claim("3", text, "about -1", shown, verdict(found, repeats, low=-1.25, high=-0.75)))
    bore, lfbo = (_errors(done, "error to EI", method)[1] for method in (BORE, LFBO_EI))
    claims.append(above("3", "BORE, error to EI, largest n / n = 100: remains large", bore[-1], bore[0], 0.5))
    claims.append(above("3", "error to EI at the largest n, BORE / LFBO (EI)", bore[-1], lfbo[-1]))
    return claims


def _errors(done: Finished, panel: str, method: str) -> tuple[Array, Array]:
    """Numbers of observations from 100 on, k, and the errors, k x repeats."""
    cells = [c for c in done.figure.cells if (c.panel, c.method) == (panel, method) and c.x is not None and c.x >= 100]
    return np.array([c.x for c in cells], dtype=np.float64), np.stack([done.last(c) for c in cells])


def _slope(x: Array, Y: Array) -> Callable[[np.ndarray], Array]:
    """Least-squares slope over x of the mean over seeds, the columns of Y."""
    centred = x - x.mean()
    scale = max(float(centred @ centred), TINY)
    return lambda rows: centred @ Y[:, rows].mean(axis=2) / scale


def _tables(done: Finished) -> list[Claim]:
    """Figures 4 and 5: LFBO against BORE for each classifier, and the best LFBO against the best of all others."""
    number, claims = done.figure.number, []
    for problem in done.figure.panels:
        at, gap = {method: _late(done, problem, method) for method in TABLE_METHODS}, least_regret(problem)
        for name in PAPERS:
            a, b = at[f"{LFBO} {name}"], at[f"{BORE} {name}"]
            # The paper's one exception.
            compare = above if (problem, name) == ("naval", "MLP") else below
            claims.append(compare(number, f"{problem}: regret LFBO / BORE, {name}", a, b, least=gap))
        best = min((at[f"{LFBO} {name}"] for name in PAPERS), key=np.mean)
        other = min((at[m] for m in TABLE_METHODS if not m.startswith(LFBO)), key=np.mean)
        claims.append(below(number, f"{problem}: regret best LFBO / best other", *_paired(best, other), least=gap))
        if number == "4":
            claims.append(above(number, f"{problem}: regret GP-EI / best LFBO", *_paired(at[GP], best), least=gap))
        else:
            # The paper leaves GP-EI out of its figure, as it was "close to random search".
            like_random = {"low": 0.8, "high": 1.25, "claimed": "about 1", "least": gap}
            claims.append(ratio(number, f"{problem}: regret GP-EI / random search", at[GP], at[RANDOM], **like_random))
        ours, text = _paired(at[OURS], best), f"{problem}: regret {OURS} / best LFBO of the paper"
        claims.append(ratio(number, text, *ours, least=gap))
    classifiers = (*PAPERS, f"MLP{MEANS}") if number == "4" else PAPERS
    return [*claims, *(claim(done, name) for claim in (_overall, _ahead) for name in classifiers)]


def _paired(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the seeds that both have: forests have fewer."""
    both = min(len(a), len(b))
    return a[:both], b[:both]


def _pairs(done: Finished, name: str) -> list[tuple[Array, Array, float]]:
    """Return the regrets of LFBO and BORE with a classifier and the least regret, table by table."""
    return [
        (_late(done, problem, f"{LFBO} {name}"), _late(done, problem, f"{BORE} {name}"), least_regret(problem))
        for problem in done.figure.panels
    ]


def _overall(done: Finished, name: str) -> Claim:
    """LFBO / BORE over all tables of a figure: the geometric mean of the ratios of means, seeds resampled."""
    pairs = _pairs(done, name)

    def mean_ratio(rows: np.ndarray) -> Array:
        return np.exp(np.mean([log_mean(a, rows, gap) - log_mean(b, rows, gap) for a, b, gap in pairs], axis=0))

    repeats = len(pairs[0][0])
    found = resampled(mean_ratio, repeats)
    shown = "{:.2f} ({:.2f} to {:.2f})".format(*found)
    text = f"all {len(pairs)} tables: regret LFBO / BORE, {name} (geometric mean)"
    return Claim(done.figure.number, text, "< 1", shown, verdict(found, repeats, high=1.0), repeats)


def _ahead(done: Finished, name: str) -> Claim:
    """In which share of the searches, of those that differ, LFBO has the smaller regret than BORE."""
    differences = [a - b for a, b, _ in _pairs(done, name)]
    text = f"all {len(differences)} tables: searches in which LFBO is ahead of BORE, {name}"
    ahead = np.concatenate([d[d != 0.0] < 0.0 for d in differences])
    claim = share(done.figure.number, text, ahead, low=0.5, claimed="> 0.5")
    return replace(claim, seeds=len(differences[0]))


def _figure_6(done: Finished) -> list[Claim]:
    claims = []
    for problem in done.figure.panels:
        gap = least_regret(problem)
        zero, one, more = (_late(done, problem, LFBO, power) for power in (0.0, 1.0, 1.5))
        claims.append(below("6", f"{problem}: regret lambda = 1 / lambda = 0", one, zero, least=gap))
        claims.append(below("6", f"{problem}: regret lambda = 1.5 / lambda = 1", more, one, least=gap))
    return claims


def _figure_7(done: Finished) -> list[Claim]:
    (panel,) = done.figure.panels
    ours, peer = done.finals(panel, COMPOSITE_LFBO), done.finals(panel, COMPOSITE_EI)
    return [
        below("7", "regret composite LFBO / LFBO: orders of magnitude", ours, done.finals(panel, f"{LFBO} MLP"), 0.1),
        below("7", "regret composite LFBO / GP-EI", ours, done.finals(panel, GP)),
        ratio("7", "regret composite LFBO / composite EI: on par", ours, peer, low=1 / 3, high=3.0, claimed="about 1"),
        ratio(
            "7",
            "CPU time composite EI / composite LFBO",
            done.of(done.cell(panel, COMPOSITE_EI), "seconds"),
            done.of(done.cell(panel, COMPOSITE_LFBO), "seconds"),
            low=15.0,
            claimed="15 to 30 (or more)",
        ),
    ]


def _spread(curves: list[Array], least: float) -> Statistic:
    """Largest over smallest mean of several, an entry of each for each seed."""

    def statistic(rows: np.ndarray) -> Array:
        logs = np.array([log_mean(values, rows, least) for values in curves])
        return np.exp(logs.max(axis=0) - logs.min(axis=0))

    return statistic


def _figure_9(done: Finished) -> list[Claim]:
    claims, low, high = [], GAMMAS[0], GAMMAS[-1]
    for problem in done.figure.panels:
        gap, spreads = least_regret(problem), []
        for way in (LFBO, BORE):
            at = {gamma: _late(done, problem, way, gamma) for gamma in GAMMAS}
            text = f"{problem}: regret {way}, gamma = {high:g} / gamma = {low:g}"
            claims.append(above("9", text, at[high], at[low], least=gap))
            spreads.append(_spread(list(at.values()), gap))
        found = resampled(lambda rows, a=spreads[0], b=spreads[1]: a(rows) / b(rows), len(at[low]))
        text = f"{problem}: (largest / smallest regret over gamma) of LFBO / that of BORE"
        shown = "{:.3g} ({:.3g} to {:.3g})".format(*found)
        claims.append(Claim("9", text, "< 1", shown, verdict(found, len(at[low]), high=1.0)))
    return claims


def _figure_11(done: Finished) -> list[Claim]:
    claims = []
    for cell in done.figure.cells:
        failed = (done.last(cell) >= FOUND).astype(np.float64)
        claimed = "-" if cell.method == OURS else "about 0.25"
        claims.append(
            share("11", f"{cell.method}: share of searches that fail", failed, low=0.1, high=0.4, claimed=claimed)
        )
    return claims


def _times(done: Finished) -> list[Claim]:
    (panel,) = done.figure.panels
    most = max(cell.x for cell in done.figure.cells if cell.x is not None)
    peer = done.finals(panel, GP_BOTORCH, most)
    claims = []
    for name in (*PAPERS, "default"):
        text = f"CPU time GP-EI (BoTorch) / LFBO {name}, {most:g} results"
        claimed = "-" if name == "default" else "about 5 (or more)"
        claims.append(ratio("C2", text, peer, done.finals(panel, f"{LFBO} {name}", most), low=5.0, claimed=claimed))
    ours = done.finals(panel, GP, most)
    return [*claims, ratio("C2", f"CPU time GP-EI (BoTorch) / GP-EI (calibo), {most:g} results", peer, ours)]


_OF_FIGURE: dict[str, Callable[[Finished], list[Claim]]] = {
    "3": _figure_3,
    "4": _tables,
    "5": _tables,
    "6": _figure_6,
    "7": _figure_7,
    "9": _figure_9,
    "11": _figure_11,
    "C2": _times,
}


def claims(finished: Mapping[str, Finished]) -> list[Claim]:
    """All that can be said of the figures that are there."""
    return [claim for number, done in finished.items() for claim in _OF_FIGURE[number](done)]
