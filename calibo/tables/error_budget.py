"""How many rows can be accepted unmeasured so that only a given share of them misses a threshold.

Conformal selection (Jin and Candès 2023, "Selection by prediction with conformal p-values"). Rows drawn at random are
measured; a score, learned from other rows, says how likely each row is to reach the threshold. A candidate's p-value is the
share of the drawn rows that missed the threshold although their scores are at least as high, the candidate itself counted
as one of them. The Benjamini-Hochberg procedure at the budget turns the p-values into a cut, and rows with a
higher score are accepted.

The drawn rows and the candidates must be exchangeable given the score. They are if the former were drawn at random from
what was then unmeasured, and nothing else was measured since. Rows that a search chose are not; weighted by an estimated
density ratio they let hardly any row be accepted (docs/ranking.md), so nothing is offered for them.

Notation:
    n  drawn rows      m  candidates      q  drawn rows that missed
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from calibo.data import Array

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """Rows drawn at random and measured.

    Attributes:
        scores: Scores of the rows, `n`; larger if a row is more likely to reach the threshold.
        missed: Whether each missed it, `n`.
    """

    scores: Array
    missed: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def misses(self) -> Array:
        """Scores of the rows that missed the threshold, increasing, `q`."""
        return np.sort(self.scores[self.missed])

    def above(self, scores: Array) -> Counts:
        """Return for each of `N` scores how many of the drawn rows missed the threshold with at least that score."""
        misses = self.misses
        return len(misses) - np.searchsorted(misses, scores, side="left").astype(np.int64)

    def counts(self, scores: Array) -> Counts:
        """Count candidates, of `N` scores, by how many missed with at least their score: from 0 to `q`, `q + 1` counts.

        The counts of several parts of a table add up.
        """
        return np.bincount(self.above(scores), minlength=int(self.missed.sum()) + 1)

    def allowed(self, counts: Counts, budget: float) -> int | None:
        """Return how many misses above it an accepted candidate may have; ``None`` if none can be accepted.

        Args:
            counts: Of all `m` candidates, see ``counts``.
            budget: Share of the accepted rows that may miss the threshold, on average.
        """
        chosen = np.cumsum(counts)
        p_values = (1.0 + np.arange(len(counts))) / (len(self) + 1.0)
        fits = np.flatnonzero((p_values * chosen[-1] <= budget * chosen * (1.0 + 1e-12)) & (chosen > 0))
        return int(fits[-1]) if len(fits) else None


def fewest_accepted(drawn: int, candidates: int, budget: float) -> int:
    """Return how many rows are accepted at least if any are: fewer cannot be vouched for by so few drawn rows."""
    return ceil(candidates / (budget * (drawn + 1.0)) * (1.0 - 1e-12))
