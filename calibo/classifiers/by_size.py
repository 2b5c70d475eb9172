"""A classifier for few points and another for many."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from calibo.arguments import check_fields
from calibo.checks import check_instance, check_whole
from calibo.classifiers.base import Classifier, History, LogOdds
from calibo.classifiers.kernel import KernelLogistic
from calibo.classifiers.labels import Labelled
from calibo.classifiers.trees import GradientBoosting


@dataclass(frozen=True)
class BySize(Classifier):
    """The kernel classifier up to some number of negatives, boosted trees beyond.

    The kernel classifier accounts for its uncertainty and finds better points with few data, whatever the columns are
    (measured in docs/likelihood_free.md), but its time grows with the cube of their number; that of trees is proportional
    to it. Both need only the core dependencies. The log-odds are not smooth, because those of trees are not.

    Attributes:
        few: Classifier up to the limit.
        many: Classifier beyond it; by default with half of the usual rounds, as all points are scored for every suggestion.
        limit: Number of negatives, which are all observed, pending and chosen points.
    """

    few: Classifier = field(default_factory=KernelLogistic)
    many: Classifier = field(default_factory=lambda: GradientBoosting(rounds=50))
    limit: int = 250

    def __post_init__(self) -> None:
        check_fields(self)
        check_instance("few", self.few, Classifier, "KernelLogistic()")
        check_instance("many", self.many, Classifier, "GradientBoosting()")
        check_whole("the limit, a number of points,", self.limit, 0)

    def fit(self, labelled: Labelled, *, categories: tuple[int, ...], rng: np.random.Generator) -> LogOdds:
        chosen = self.few if int((labelled.z == 0.0).sum()) <= self.limit else self.many
        return chosen.fit(labelled, categories=categories, rng=rng)

    def resumed(self, history: History, *, categories: tuple[int, ...], member: int) -> Classifier:
        few, many = (c.resumed(history, categories=categories, member=member) for c in (self.few, self.many))
        return replace(self, few=few, many=many)
