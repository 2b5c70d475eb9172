"""The thesis's claims as numbers, ours beside them, and whether they agree.

Differences and ratios of means carry 90 % intervals; see ``judging.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from distributions import ESTIMATORS, GAUSSIAN, SD, SIZES, TEN, TWENTY, table
from figures import DEFAULT_LEVELS, FOLDS, FRACTIONS, LEVELS, PUBLISHED, Finished, near_nominal
from judging import Claim, Found, counted, difference_of_means, held, ratio_of_means, resampled, verdict
from settings import (
    BANANAS,
    BOOTSTRAP_ENSEMBLE,
    CONFORMAL,
    DATASETS,
    FOLDS_ENSEMBLE,
    FOLDS_QUANTILE_EI,
    HELD_OUT,
    OURS,
    RULES,
    SPLIT_ENSEMBLE,
    SPLIT_QUANTILE,
    UNCALIBRATED,
    Size,
)

from calibo.data import Array

How = Literal["difference", "ratio"]
Side = Literal["above", "below"]
#: Validation accuracies of the thesis (50 seeds), by method and data set.
THESIS_ACCURACY: dict[str, tuple[float, ...]] = {
    BANANAS: (91.148, 72.691, 46.804),
    SPLIT_ENSEMBLE: (91.130, 72.539, 46.645),
    FOLDS_ENSEMBLE: (91.039, 72.417, 46.495),
    BOOTSTRAP_ENSEMBLE: (91.122, 72.326, 46.523),
    SPLIT_QUANTILE: (91.071, 72.526, 46.540),
    FOLDS_QUANTILE_EI: (91.192, 72.829, 46.790),
}
#: Its calibration scores (sums of squares over 11 levels), where known.
THESIS_SCORE: dict[str, tuple[float, ...]] = {BANANAS: (0.179, 0.162, 0.185), FOLDS_QUANTILE_EI: (0.070, 0.062, 0.058)}


def compared(a: Array, b: Array, how: How) -> Found:
    """Mean a less (or over) mean b, an entry for each seed, and its 90 % interval."""
    statistic = difference_of_means(a, b) if how == "difference" else ratio_of_means(a, b)
    return resampled(statistic, len(a))


def judged(part: str, text: str, a: Array, b: Array, how: How, side: Side, thesis: str) -> Claim:
    """Return the claim that the difference of means is above or below 0, or their ratio above or below 1."""
    found, bound = compared(a, b, how), 0.0 if how == "difference" else 1.0
    said = verdict(found, len(a), low=bound) if side == "above" else verdict(found, len(a), high=bound)
    middle, low, high = found
    sign = "+" if how == "difference" else ""
    return Claim(part, text, thesis, f"{middle:{sign}.3f} ({low:{sign}.3f} to {high:{sign}.3f})", said)


def of_table(rows: list[dict[str, Any]]) -> list[Claim]:
    """Return the claims about Table 3.1."""
    at = {(row["n"], row["estimator"]): row for row in rows}
    last = SIZES[-1]

    def kl(n: int, estimator: str, thesis: bool = False) -> float:
        row = at[n, estimator]
        return float(row["thesis"][2] if thesis else row["kl"])

    better = [kl(n, estimator) < kl(n, GAUSSIAN) for n in SIZES for estimator in (TEN, TWENTY)]
    rank = [kl(n, TWENTY) < kl(n, TEN) for n in SIZES]
    theirs = [kl(n, TWENTY, True) < kl(n, TEN, True) for n in SIZES]
    off = max(abs(row["kl"] - row["thesis"][2]) for row in rows)
    biased = at[last, TEN]["sd"] / SD
    forward = [at[n, TEN]["kl_of_truth"] < at[n, GAUSSIAN]["kl_of_truth"] for n in SIZES]
    return [
        counted("3.1", "sizes x q at which quantiles have the smaller KL(estimate, truth) than a Gaussian", better),
        held("3.1", "sizes at which q = 20 is better than q = 10", _sizes(theirs), _sizes(rank), theirs == rank),
        Claim("3.1", f"KL at n = 150: {', '.join(ESTIMATORS)}", _three(at, True), _three(at, False), "-"),
        Claim("3.1", "largest difference of any KL from the thesis's", "0", f"{off:.4f}", "-"),
        held(
            "3.1",
            f"sd of q = 10 at n = {last} / true sd: biased",
            f"{at[last, TEN]['thesis'][1] / SD:.2f}",
            f"{biased:.2f}",
            biased > 1.05,
        ),
        Claim(
            "3.1", "sizes at which q = 10 is better than a Gaussian by KL(truth, estimate)", "-", _sizes(forward), "-"
        ),
    ]


def _three(at: dict[tuple[int, str], dict[str, Any]], thesis: bool) -> str:
    shown = [at[150, e]["thesis"][2] if thesis else at[150, e]["kl"] for e in ESTIMATORS]
    return ", ".join(f"{value:.4f}" for value in shown)


def _sizes(holds: list[bool]) -> str:
    """Which sample sizes, of those at which something holds, from the first on."""
    chosen = [str(n) for n, yes in zip(SIZES, holds, strict=True) if yes]
    return f"{chosen[0]} to {chosen[-1]}" if len(chosen) > 1 else (chosen or ["none"])[0]


def of_search(done: Finished) -> list[Claim]:
    """Accuracy and calibration against BANANAS, and what was asked of coverage."""
    claims = []
    for i, dataset in enumerate(DATASETS):
        plain = done.cell(BANANAS, dataset)
        for method, theirs in THESIS_ACCURACY.items():
            if method == BANANAS:
                continue
            gain = theirs[i] - THESIS_ACCURACY[BANANAS][i]
            text = f"{dataset}: accuracy, {method} less BANANAS"
            a, b = done.accuracy(done.cell(method, dataset)), done.accuracy(plain)
            claims.append(judged("search", text, a, b, "difference", "above" if gain > 0 else "below", f"{gain:+.3f}"))
        best = done.cell(FOLDS_QUANTILE_EI, dataset)
        ratio = THESIS_SCORE[FOLDS_QUANTILE_EI][i] / THESIS_SCORE[BANANAS][i]
        text = f"{dataset}: calibration score, {FOLDS_QUANTILE_EI} / BANANAS"
        a, b = done.of(best, "sum_score"), done.of(plain, "sum_score")
        claims.append(judged("search", text, a, b, "ratio", "below", f"{ratio:.2f}"))
        claims += [claim for base in (*UNCALIBRATED, HELD_OUT) for claim in demanded(done, dataset, base)]
    return claims


def demanded(done: Finished, dataset: str, base: str) -> list[Claim]:
    """Which configurations cover within .05, and of these, which have no more regret than another method."""
    cells = [done.cell(method, dataset) for method in (*CONFORMAL, *OURS) if method != base]
    covering = [cell for cell in cells if near_nominal(done.coverage(cell).mean())]
    against = done.of(done.cell(base, dataset), "regret")
    said = {cell.label: compared(done.of(cell, "regret"), against, "difference") for cell in covering}
    fewer = [label for label, (middle, _, _) in said.items() if middle <= 0.0]
    alike = [f"{label} ({m:+.3f})" for label, (m, low, high) in said.items() if m > 0.0 and low <= 0.0 <= high]
    text = f"{dataset}: 80 % intervals hold 75 to 85 %, and"
    return [
        Claim("search", f"{text} no more regret than {base}, in the mean", "-", "; ".join(fewer) or "none", "-"),
        Claim("search", f"{text} more regret than {base}, within the noise", "-", "; ".join(alike) or "none", "-"),
    ]


def of_sides(finished: Mapping[str, Finished]) -> list[Claim]:
    """Return the claims about the settings; the thesis chose mutation, ten levels, ITS, halves and three folds."""
    claims = []
    for part, labels, chosen in (
        ("candidates", ("mutation", "random", "dynamic"), "mutation"),
        ("levels", (*(f"q = {q}" for q in LEVELS), DEFAULT_LEVELS), "q = 10"),
        ("acquisition", tuple(RULES), "ITS"),
        ("fractions", tuple(f"{fraction:g}" for fraction in FRACTIONS), "0.5"),
        ("folds", tuple(f"{k} folds" for k in FOLDS), "3 folds"),
    ):
        if part not in finished:
            continue
        done = finished[part]
        values = {label: done.accuracy(done.cell(label)) for label in labels}
        for label in labels:
            if label != chosen:
                text = f"accuracy, {chosen} less {label}"
                claims.append(judged(part, text, values[chosen], values[label], "difference", "above", "> 0"))
    return [*claims, *of_networks(finished)]


def of_networks(finished: Mapping[str, Finished]) -> list[Claim]:
    """Return accuracy against BANANAS with the networks of the published code."""
    claims = []
    for dataset, method in ((d, m) for d in DATASETS for m in PUBLISHED if "networks" in finished and m != BANANAS):
        done, place = finished["networks"], DATASETS.index(dataset)
        gain = THESIS_ACCURACY[method][place] - THESIS_ACCURACY[BANANAS][place]
        a, b = (done.accuracy(done.cell(name, dataset)) for name in (method, BANANAS))
        text, side = f"{dataset}: accuracy, {method} less BANANAS", "above" if gain > 0 else "below"
        claims.append(judged("networks", text, a, b, "difference", side, f"{gain:+.3f}"))
    return claims


def claims(finished: Mapping[str, Finished], size: Size) -> list[Claim]:
    """All that can be said of the parts that are there."""
    searched = of_search(finished["search"]) if "search" in finished else []
    return [*of_table(table(size.trials)), *searched, *of_sides(finished)]
