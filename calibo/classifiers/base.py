"""What a classifier is here: labelled points -> the log-odds of being a positive, anywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from calibo.classifiers.labels import Labelled, LabelRule
from calibo.data import Array

#: log C / (1 - C) at points, m x d -> m: the logarithm of the expected utility, up to a constant.
LogOdds = Callable[[Array], Array]

#: Probabilities are kept this far from 0 and 1, so that log-odds are finite.
LEAST_PROBABILITY = 1e-9


class Classifier(Protocol):
    """A recipe for a probabilistic classifier that takes weights."""

    @property
    def smooth(self) -> bool:
        """Whether its log-odds have a slope that can be climbed; those of trees have none."""
        ...

    def fit(self, labelled: Labelled, *, categories: tuple[int, ...], rng: np.random.Generator) -> LogOdds:
        """The log-odds learned from labelled points.

        Args:
            labelled: Points, labels and weights; both classes occur.
            categories: Number of choices of each categorical column, 0 for a numeric one, d.
            rng: The only source of randomness.
        """
        ...


@dataclass(frozen=True, eq=False)
class History:
    """Outcomes in the order in which they arrived, for a classifier that learns from them one after the other.

    Attributes:
        X: Points, n x d.
        y: Their outcomes, n, larger is better.
        labels: How the first k of them are labelled.
    """

    X: Array
    y: Array
    labels: LabelRule

    def __len__(self) -> int:
        return len(self.y)

    def first(self, k: int) -> Labelled | None:
        """The first k outcomes labelled by themselves; ``None`` if there is nothing to be learned."""
        return self.labels.label(self.X[:k], self.y[:k])

    def digests(self, counts: Sequence[int]) -> list[bytes]:
        """A fingerprint of the first k outcomes, for every k of a rising sequence."""
        rows = np.ascontiguousarray(np.column_stack([self.X, self.y]))
        running, done, found = hashlib.blake2b(digest_size=16), 0, []
        for k in counts:
            running.update(rows[done:k].tobytes())
            done = k
            found.append(running.digest())
        return found


@runtime_checkable
class WarmStarted(Protocol):
    """A classifier that goes on from what it learned of earlier outcomes."""

    def resumed(self, history: History, *, categories: tuple[int, ...], member: int) -> Classifier:
        """The classifier as it is after a history: a function of that history, however often it is interrupted.

        Args:
            history: All outcomes so far.
            categories: As in ``Classifier.fit``.
            member: Which member of an ensemble it is, counted from 0; each has a history of its own.
        """
        ...


def log_odds(probability: Array) -> Array:
    """Log-odds of probabilities, m, kept finite."""
    p = np.clip(probability, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    return np.log(p) - np.log1p(-p)
