"""How often verdicts on calibration are wrong, and how soon they find what is wrong, if one looks after every result.

Run with ``python benchmarks/verdicts.py``; ``--studies 500`` is quick. Each study is a stream of 200 results of Gaussian
forecasts whose standard deviation is the true one times a factor; verdicts are looked at after each result. "Ever accused"
is the share of studies in which a verdict other than "compatible" was given at least once up to then.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from calibo.data import COVERAGES, Array, Marginal
from calibo.diagnostics.anytime import CONCENTRATION, log_mean, log_threshold, log_wealth, results_to_refute
from calibo.diagnostics.comparison import log_wealth_of_gains, score_gains
from calibo.diagnostics.coverage import points_needed

HERE = Path(__file__).parent
RESULTS = 200
LOOKS = (30, 50, 100, 200)
SPREADS = (1.0, 0.7, 0.5, 1.5, 2.0)
#: Means and standard deviations of the raw forecasts that right ones are compared with.
RAW = ((0.0, 0.5), (0.0, 0.7), (0.0, 1.5), (0.0, 2.0), (0.5, 1.0))

Counts = dict[float, np.ndarray]
Accuse = Callable[[Counts], np.ndarray]


def contained(spread: float, studies: int, rng: np.random.Generator) -> Counts:
    """Numbers of results inside the intervals of each coverage after each result, studies x 200."""
    scores = np.abs(rng.standard_normal((studies, RESULTS))) / spread
    return {p: np.cumsum(scores <= ndtri((1.0 + p) / 2.0), axis=1) for p in COVERAGES}


def by_bets(concentration: float, *, together: bool) -> Accuse:
    """The verdict of the bets against the three coverages: of their average, or of each by its share."""
    t, k = np.arange(1, RESULTS + 1)[:, None], np.arange(RESULTS + 1)[None, :]
    tables = {
        p: log_mean(np.stack(log_wealth(np.minimum(k, t), t, p, concentration=concentration)), axis=0)
        for p in COVERAGES
    }

    def accuse(counts: Counts) -> np.ndarray:
        wealths = np.stack([tables[p][np.arange(RESULTS), counts[p]] for p in COVERAGES])
        if together:
            return log_mean(wealths, axis=0) >= log_threshold(0.95)
        return wealths.max(axis=0) >= log_threshold(0.95, tests=len(COVERAGES))

    return accuse


def by_fixed_bands(counts: Counts) -> np.ndarray:
    """The verdict of exact 95 % bands for a fixed number of results, whichever coverage leaves its own."""
    t = np.arange(1, RESULTS + 1)
    accused = np.zeros(counts[COVERAGES[0]].shape, dtype=bool)
    for p in COVERAGES:
        low, high = binom.ppf(0.025, t, p), binom.ppf(0.975, t, p)
        early = t < max(points_needed(p), 6)
        accused |= ((counts[p] < low) | (counts[p] > high)) & ~early
    return accused


def true_coverage(spread: float) -> list[float]:
    """What the intervals of each coverage really contain."""
    return [round(2.0 * float(ndtr(spread * ndtri((1.0 + p) / 2.0))) - 1.0, 3) for p in COVERAGES]


def once(accused: np.ndarray) -> list[float]:
    """Shares of the studies accused at each look, if that look is the only one."""
    return [round(float(accused[:, look - 1].mean()), 4) for look in LOOKS]


def ever(accused: np.ndarray) -> list[float]:
    """Shares of the studies accused at least once up to each look."""
    so_far = np.maximum.accumulate(accused, axis=1)
    return [round(float(so_far[:, look - 1].mean()), 4) for look in LOOKS]


def coverage_verdicts(studies: int) -> dict[str, dict[str, list[float]]]:
    """Shares of studies ever accused, by verdict and by spread."""
    rng = np.random.default_rng(0)
    streams = {spread: contained(spread, studies, rng) for spread in SPREADS}
    verdicts: dict[str, Accuse] = {
        f"average of bets, c = {c:g}": by_bets(c, together=True) for c in (1.0, 2.0, CONCENTRATION, 5.0, 8.0, 12.0)
    }
    verdicts["each coverage by its share"] = by_bets(CONCENTRATION, together=False)
    verdicts["bands for a fixed number"] = by_fixed_bands
    found = {
        name: {f"{spread:g}": ever(accuse(counts)) for spread, counts in streams.items()}
        for name, accuse in verdicts.items()
    }
    found["bands for a fixed number, looked at once"] = {
        f"{spread:g}": once(by_fixed_bands(counts)) for spread, counts in streams.items()
    }
    return found


def comparisons(studies: int) -> dict[str, dict[str, list[float]]]:
    """Shares of studies in which right forecasts were ever called better, and ever called worse, than raw ones."""
    rng = np.random.default_rng(1)
    found: dict[str, dict[str, list[float]]] = {}
    for mean, std in RAW:
        gains, largest = score_gains(*_pairs(mean, std, studies * RESULTS), rng.standard_normal(studies * RESULTS))
        found[f"mean {mean:g}, spread {std:g}"] = _preferences(gains, largest, studies)
    # Two that err alike, to either side: neither is better.
    alike = [[Marginal(shift, 1.0)] * (studies * RESULTS) for shift in (0.4, -0.4)]
    gains, largest = score_gains(*alike, rng.standard_normal(studies * RESULTS))
    found["neither is better"] = _preferences(gains, largest, studies)
    return found


def _pairs(mean: float, std: float, count: int) -> tuple[list[Marginal], list[Marginal]]:
    return [Marginal(0.0, 1.0)] * count, [Marginal(mean, std)] * count


def _preferences(gains: Array, largest: Array, studies: int) -> dict[str, list[float]]:
    rows = zip(gains.reshape(studies, -1), largest.reshape(studies, -1), strict=True)
    wealths = np.array([log_wealth_of_gains(*row) for row in rows])
    limit = log_threshold(0.95, tests=2)
    return {"better": ever(wealths[:, 0] >= limit), "worse": ever(wealths[:, 1] >= limit)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=10_000)
    studies = parser.parse_args().studies
    found = {
        "looks": LOOKS,
        "ever accused": coverage_verdicts(studies),
        "right against raw": comparisons(max(1, studies // 10)),
        "results until some count refutes": {p: results_to_refute(p, tests=len(COVERAGES)) for p in COVERAGES},
        "true coverage": {f"{spread:g}": true_coverage(spread) for spread in SPREADS},
    }
    text = json.dumps(found, indent=1)
    print(text)
    if studies >= 10_000:
        (HERE / "results" / "verdicts.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
