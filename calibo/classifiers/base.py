"""The interface of classifiers: from labelled points to the log-odds of a positive at any point."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibo.classifiers.labels import Labelled, LabelRule
from calibo.data import Activity, Array

#: log C / (1 - C) at points, `m x d` -> `m`: the logarithm of the expected utility, up to a constant.
LogOdds = Callable[[Array], Array]

#: Probabilities are kept this far from 0 and 1, so that log-odds are finite.
LEAST_PROBABILITY = 1e-9


class Classifier(ABC):
    """A recipe of a probabilistic classifier that takes weights.

    Attributes:
        smooth: Whether the log-odds have a useful gradient; those of trees are constant almost everywhere.
    """

    smooth: bool = False

    @abstractmethod
    def fit(self, labelled: Labelled, *, categories: tuple[int, ...], rng: np.random.Generator) -> LogOdds:
        """Learn the log-odds from labelled points.

        Args:
            labelled: Points, labels and weights; both classes occur.
            categories: Number of choices of each categorical column, 0 for a numeric one, `d`.
            rng: The only source of randomness.

        Returns:
            A function of points, `m x d`, that returns their log-odds, `m`.
        """

    def resumed(self, history: History, *, categories: tuple[int, ...], member: int) -> Classifier:
        """Return the classifier after it has learned from a history, for classifiers with warm starts.

        It is a function of the history, however often a study is interrupted. By default nothing is carried over from
        earlier outcomes, and the classifier itself is returned.

        Args:
            history: All outcomes so far.
            categories: As in ``fit``.
            member: Which member of an ensemble it is, counted from 0; each is trained on its own.
        """
        return self


@dataclass(frozen=True, eq=False)
class History:
    """Outcomes in the order in which they were observed, for classifiers with warm starts.

    Attributes:
        X: Points, `n x d`.
        y: Their outcomes, `n`, larger is better.
        labels: Rule that labels the first k of them.
        activity: Which columns are active at a point; ``None`` if all always are.
    """

    X: Array
    y: Array
    labels: LabelRule
    activity: Activity | None = None

    def __len__(self) -> int:
        return len(self.y)

    def first(self, k: int) -> Labelled | None:
        """Label the first k outcomes on their own; ``None`` if nothing can be learned from them."""
        labelled = self.labels.label(self.X[:k], self.y[:k])
        return None if labelled is None else replace(labelled, activity=self.activity)

    def digests(self, counts: Sequence[int]) -> list[bytes]:
        """Return a fingerprint of the first k outcomes for every k of an increasing sequence."""
        rows = np.ascontiguousarray(np.column_stack([self.X, self.y]))
        running, done, found = hashlib.blake2b(digest_size=16), 0, []
        for k in counts:
            running.update(rows[done:k].tobytes())
            done = k
            found.append(running.digest())
        return found


def log_odds(probability: Array) -> Array:
    """Return the log-odds of probabilities, `m`, kept finite.

    >>> log_odds(np.array([0.5, 0.75])).round(3).tolist()
    [0.0, 1.099]
    """
    p = np.clip(probability, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    return np.log(p) - np.log1p(-p)
