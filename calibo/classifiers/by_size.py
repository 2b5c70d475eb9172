"""One classifier while points are few, another when they are many."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from calibo.classifiers.base import Classifier, LogOdds
from calibo.classifiers.kernel import KernelLogistic
from calibo.classifiers.labels import Labelled
from calibo.classifiers.trees import GradientBoosting
from calibo.errors import RecipeError


@dataclass(frozen=True)
class BySize:
    """The kernel classifier up to some number of negatives, boosted trees beyond: each where it is at home.

    The kernel classifier knows what it does not know, and finds more with few points, whatever the columns are
    (measured in docs/likelihood_free.md), but its time grows with their cube; that of trees grows with their number. Both
    need nothing but the core. The log-odds are scored, not climbed, because those of trees have no slope.

    Attributes:
        few: Up to the limit.
        many: Beyond it; of half of the usual rounds, because all points are scored for every suggestion.
        limit: Number of negatives, which are all points that are told, pending or chosen.
    """

    few: Classifier = field(default_factory=KernelLogistic)
    many: Classifier = field(default_factory=lambda: GradientBoosting(rounds=50))
    limit: int = 250

    def __post_init__(self) -> None:
        if self.limit < 0:
            raise RecipeError(f"the limit is a number of points from 0 on, got {self.limit}")

    @property
    def smooth(self) -> bool:
        return False

    def fit(self, labelled: Labelled, *, categories: tuple[int, ...], rng: np.random.Generator) -> LogOdds:
        chosen = self.few if int((labelled.z == 0.0).sum()) <= self.limit else self.many
        return chosen.fit(labelled, categories=categories, rng=rng)
