"""What the tables of results say: ranks, wins and losses, areas, targets, coverage; pure functions of a pandas table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.peers.problems import family_of
from benchmarks.peers.results import FLOOR, TARGETS

#: Level of the intervals, and draws of the bootstrap.
LEVEL, DRAWS = 0.9, 4000
#: Regrets count as equal if they differ by less than this share of the initial one: less than is told apart anywhere.
TIE = 1e-6
Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """An estimate with its bootstrap interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} ({self.low:.2f} to {self.high:.2f})"


def load(folder: Path) -> pd.DataFrame:
    """Return all tables of results, with each problem's family and regrets relative to the initial ones."""
    files = [file for file in sorted(folder.glob("*.csv")) if file.stem != "footprint"]
    frame = pd.concat([pd.read_csv(file) for file in files], ignore_index=True)
    frame["family"] = frame["problem"].map(family_of)
    return frame


def matrix(frame: pd.DataFrame, column: str, optimizers: Sequence[str]) -> pd.DataFrame:
    """Return a column by problem and seed (rows) and optimizer (columns), only where all optimizers have it."""
    chosen = frame[frame["optimizer"].isin(optimizers)]
    wide = chosen.pivot_table(index=["problem", "seed"], columns="optimizer", values=column)
    return wide.reindex(columns=list(optimizers)).dropna()


def ranks(frame: pd.DataFrame, evaluations: int, optimizers: Sequence[str]) -> pd.DataFrame:
    """Return the mean rank of each optimizer (columns) on each problem (rows) over the seeds that all have.

    Regrets that differ by less than ``TIE`` of the initial regret share a rank.
    """
    regret = matrix(frame, f"regret_{evaluations}", optimizers)
    initial = frame.groupby(["problem", "seed"])["initial"].first().reindex(regret.index)
    unit = np.maximum(TIE * initial.to_numpy()[:, None], np.finfo(float).tiny)
    return pd.DataFrame(np.floor(regret / unit)).rank(axis=1).groupby(level="problem").mean()


def bootstrap(by_problem: Array, *, seed: int = 0) -> Interval:
    """Return the mean over problems, with the interval of means over problems drawn with replacement."""
    rng = np.random.default_rng(seed)
    means = by_problem[rng.integers(len(by_problem), size=(DRAWS, len(by_problem)))].mean(axis=1)
    low, high = np.quantile(means, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
    return Interval(float(by_problem.mean()), float(low), float(high))


def mean_ranks(by_problem: pd.DataFrame) -> dict[str, Interval]:
    """Return each optimizer's mean rank with its interval, best first."""
    found = {str(name): bootstrap(by_problem[name].to_numpy()) for name in by_problem.columns}
    return dict(sorted(found.items(), key=lambda item: item[1].mean))


def by_family(by_problem: pd.DataFrame, *, leave_out: bool = False) -> pd.DataFrame:
    """Return mean ranks (rows: optimizers) on each family, or on all families but each."""
    families = by_problem.index.map(family_of)
    chosen = {str(f): families != f if leave_out else families == f for f in dict.fromkeys(families)}
    return pd.DataFrame({f: by_problem[rows].mean() for f, rows in chosen.items()})


@dataclass(frozen=True)
class Score:
    """Problems won, tied and lost on common seeds, and how many seeds those were at least and at most."""

    won: int
    tied: int
    lost: int
    fewest: int
    most: int

    @property
    def problems(self) -> int:
        """Number of problems."""
        return self.won + self.tied + self.lost

    @property
    def share(self) -> float:
        """Share of problems won, ties counting half."""
        return (self.won + 0.5 * self.tied) / self.problems


def wins(frame: pd.DataFrame, evaluations: int, one: str, other: str, *, by_runs: bool = False) -> Score | None:
    """Return on how many problems one optimizer does better than another; ``None`` without common runs.

    Args:
        frame: The results.
        evaluations: After how many.
        one: An optimizer.
        other: Another one.
        by_runs: Whether a problem is won by having the smaller regret in more of its common runs, which share their initial
            points and their noise; else by the smaller median regret.
    """
    regret, initial = _paired(frame, evaluations, one, other)
    if regret.empty:
        return None
    seeds = regret.groupby(level="problem").size()
    if by_runs:
        ahead = _signs(regret[other] - regret[one], TIE * initial).groupby(level="problem").sum()
    else:
        medians = regret.groupby(level="problem").median()
        ahead = _signs(medians[other] - medians[one], TIE * initial.groupby(level="problem").median())
    won, lost = int((ahead > 0).sum()), int((ahead < 0).sum())
    return Score(won, len(seeds) - won - lost, lost, int(seeds.min()), int(seeds.max()))


def _paired(frame: pd.DataFrame, evaluations: int, one: str, other: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return the regrets of two optimizers in their common runs, and the initial ones there."""
    regret = matrix(frame, f"regret_{evaluations}", [one, other])
    return regret, frame.groupby(["problem", "seed"])["initial"].first().reindex(regret.index)


def _signs(difference: pd.Series, near: pd.Series) -> pd.Series:
    """Return 1 or -1, or 0 for differences of no more than some number."""
    return (difference > near).astype(int) - (difference < -near).astype(int)


@dataclass(frozen=True)
class Ratio:
    """How the regrets of two optimizers compare in runs that both have.

    Attributes:
        mean: Mean of log10 of the ratio of the regrets, neither below ``FLOOR`` of the initial one.
        error: Its standard error over runs.
        won: Runs in which the first has the smaller regret, by more than ``TIE``.
        lost: Runs in which it has the larger one.
    """

    mean: float
    error: float
    won: int
    lost: int

    def __str__(self) -> str:
        return f"{self.mean:+.2f} ± {self.error:.2f} ({self.won} : {self.lost})"


def ratios(frame: pd.DataFrame, evaluations: int, one: str, other: str) -> dict[str, Ratio]:
    """Return how two optimizers compare on each family of which both have two runs or more."""
    regret, initial = _paired(frame, evaluations, one, other)
    relative = np.log10(np.maximum(regret.div(initial, axis=0), FLOOR))
    difference, sign = relative[one] - relative[other], _signs(regret[other] - regret[one], TIE * initial)
    families = regret.index.get_level_values("problem").map(family_of)
    found = {}
    for family in dict.fromkeys(families):
        own, signs = difference[families == family], sign[families == family]
        if len(own) > 1:
            error = float(own.std() / np.sqrt(len(own)))
            found[str(family)] = Ratio(float(own.mean()), error, int((signs > 0).sum()), int((signs < 0).sum()))
    return found


def lost(frame: pd.DataFrame, evaluations: int, one: str, other: str) -> list[str]:
    """Return the problems on which one optimizer has the larger median regret, by more than ``TIE``."""
    regret, initial = _paired(frame, evaluations, one, other)
    medians, near = regret.groupby(level="problem").median(), TIE * initial.groupby(level="problem").median()
    return sorted(medians.index[medians[one] - medians[other] > near])


def areas(frame: pd.DataFrame, evaluations: int, optimizers: Sequence[str]) -> pd.Series:
    """Return the mean area under log10 relative regret of each optimizer, every problem counting the same."""
    return matrix(frame, f"area_{evaluations}", optimizers).groupby(level="problem").mean().mean()


def reached(frame: pd.DataFrame, evaluations: int, optimizers: Sequence[str]) -> pd.DataFrame:
    """Return the share of (problem, seed, target) reached (columns: optimizers) after 1, 2, ... evaluations (rows)."""
    common = matrix(frame, f"regret_{evaluations}", optimizers).index
    shares = {}
    for optimizer in optimizers:
        own = frame[frame["optimizer"] == optimizer].set_index(["problem", "seed"]).reindex(common)
        hits = own[[f"hit_{t:g}" for t in TARGETS]].to_numpy(dtype=np.float64).ravel()
        shares[optimizer] = [float((hits <= n).mean()) for n in range(1, evaluations + 1)]
    return pd.DataFrame(shares, index=range(1, evaluations + 1))
