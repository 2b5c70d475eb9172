"""Likelihood-free strategies: the acquisition is what a classifier says, without a predictive distribution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from scipy.special import logsumexp

from calibo.acquisition import Acquisition, log_of, multiplied
from calibo.checks import check_instance, check_whole
from calibo.classifiers import Classifier, History, Labelled, LabelRule, LogOdds, Tchebycheff, merits
from calibo.data import Array, Dataset
from calibo.models import SuccessModel, Surrogate, check_surrogate
from calibo.optimize.strategy import ModelForecaster, Strategy, anchor_points
from calibo.search import EpsilonGreedy, MultiStart, Mutation, Plan, Pool, Search
from calibo.spaces import Space

#: Of more points than this the probability of success, a Gaussian process, takes too long: failures become negatives.
_MOST_FOR_SUCCESS = 300


@dataclass(frozen=True)
class LikelihoodFree(Strategy):
    """Outcomes -> labels -> a classifier, whose log-odds are maximised (LFBO, Song et al. 2022; BORE, Tiao et al. 2021).

    1. All outcomes of a point become one number (``merits``: several objectives are traded off with random weights; what
       does not meet the constraints is worse than all that does), by which it is labelled.
    2. Pending points are negatives, so that a point near them is worth less.
    3. The classifier's log-odds are the acquisition. Where evaluations have failed it is multiplied by the probability of
       success; for trees, and of more than 300 points, the failures are negatives instead, whose utility is nothing.
    4. Every further point of a batch has a classifier of its own: the points chosen before are negatives, and the
       weights are a draw of the Bayesian bootstrap, as a draw from what the classifier might have been.
    5. If all outcomes are equal, there is nothing to be learned, and points are drawn at random.

    A point whose evaluation was pruned counts with what was measured of it last, unless there are constraints.

    There is no predictive distribution, so no forecasts are made, unless ``forecaster`` makes them beside all this; it has
    no say in what is suggested.

    Attributes:
        labels: How points are labelled.
        classifier: What learns from the labels.
        search: How the log-odds are maximised; by default mutations for trees, ascent for classifiers with a slope, all
            rows of a pool.
        epsilon: Probability of a random point, against a classifier that is too sure of itself.
        ensemble: Number of classifiers, each on a draw of the bootstrap, whose odds are averaged, against the same; 1
            for one on the labels as they are.
        forecaster: A surrogate that forecasts and predicts; ``None`` for no forecasts.
        name: Of the method, for messages.
        tradeoff: How several objectives become one.
    """

    labels: LabelRule
    classifier: Classifier
    search: Search | None = None
    epsilon: float = 0.0
    ensemble: int = 1
    forecaster: Surrogate | None = None
    name: str = "custom"
    tradeoff: Tchebycheff = field(default_factory=Tchebycheff)

    def __post_init__(self) -> None:
        check_instance("the rule of labels", self.labels, LabelRule, "WeightedLabels()")
        check_instance("the classifier", self.classifier, Classifier, "BySize()")
        check_whole("the number of classifiers of an ensemble", self.ensemble)
        if self.forecaster is not None:
            check_surrogate("the forecaster", self.forecaster)
        EpsilonGreedy(self.search or Pool(), self.epsilon)

    @property
    def makes_forecasts(self) -> bool:
        return self.forecaster is not None

    def plan(self, data: Dataset, *, rng: np.random.Generator) -> Plan:
        seed, success, believing = (np.random.default_rng(s) for s in rng.integers(2**63, size=3))
        acquisition = self._acquisition(data, int(seed.integers(2**63)), success)
        plan = Plan(
            acquisition=acquisition,
            at_random=acquisition is constant,
            anchors=anchor_points(data),
            avoid=np.vstack([data.X, data.X_failed, data.X_pending]),
        )
        if self.forecaster is None:
            return plan
        models = tuple(self.forecaster.fit(data.outcome(i), rng=believing) for i in range(data.Y.shape[1]))
        return replace(
            plan,
            models=models,
            forecaster=ModelForecaster(models, self.forecaster.stage_names),
            hyperparameters=tuple(model.hyperparameters for model in models),
        )

    def searcher(self, space: Space) -> Search:
        if self.search is not None:
            return EpsilonGreedy(self.search, self.epsilon)
        if space.is_pool:
            return EpsilonGreedy(Pool(shuffled=not self.classifier.smooth), self.epsilon)
        return EpsilonGreedy(MultiStart() if self.classifier.smooth else Mutation(), self.epsilon)

    def _acquisition(self, data: Dataset, seed: int, rng: np.random.Generator) -> Acquisition:
        """Return the classifier's log-odds (``constant`` if all outcomes are equal), weighted by the probability of success."""
        told, data = data, with_pruned(data)
        # Where log-odds are the same over wide areas, the probability of success alone would choose the point there.
        gated = self.classifier.smooth and len(data) + len(data.X_failed) <= _MOST_FOR_SUCCESS
        success = SuccessModel.of(data, rng=rng) if len(data.X_failed) and gated else None
        acquisition: Acquisition = constant
        if self._labelled(data, np.random.default_rng([seed, 0])) is not None:
            classifiers = cache(lambda member: self._resumed(told, member))
            negatives = np.vstack([data.X_pending, *([] if gated else [data.X_failed])])
            acquisition = Refitted(
                lambda chosen: self._fitted(data, np.vstack([negatives, chosen]), len(chosen), seed, classifiers)
            )
        return acquisition if success is None else multiplied(acquisition, [log_of(success)])

    def _labelled(self, data: Dataset, rng: np.random.Generator) -> Labelled | None:
        return self.labels.label(data.X, merits(data, self.tradeoff, rng=rng))

    def _fitted(
        self, data: Dataset, negatives: Array, place: int, seed: int, classifiers: Callable[[int], Classifier]
    ) -> LogOdds:
        """The log-odds for the point at a place of a batch, counted from 0; the same for the same arguments.

        Args:
            data: With pruned points as told.
            negatives: Points that are pending, chosen for earlier places or known to fail, k x d.
            place: In the batch.
            seed: Of the suggestion.
            classifiers: The classifier of each member of the ensemble, counted from 0.
        """
        labelled = self._labelled(data, np.random.default_rng([seed, place]))
        if labelled is None:
            return constant
        labelled = labelled.with_negatives(negatives)
        members: list[LogOdds] = []
        for member in range(self.ensemble):
            rng = np.random.default_rng([seed, place, member])
            drawn = labelled.resampled(rng) if self.ensemble > 1 or place else labelled
            members.append(classifiers(member).fit(drawn, categories=data.categories, rng=rng))
        if len(members) == 1:
            return members[0]
        return lambda X: logsumexp([odds(X) for odds in members], axis=0) - np.log(len(members))

    def _resumed(self, data: Dataset, member: int) -> Classifier:
        """The classifier, with what it has learned so far if it keeps that and outcomes are labelled as they arrive."""
        if data.Y.shape[1] > 1:
            return self.classifier
        history = History(data.X, data.Y[:, 0], self.labels)
        return self.classifier.resumed(history, categories=data.categories, member=member)


def constant(X: Array) -> Array:
    """Return zeros for `m x d` points or `m x q x d` batches, `m`: nothing was learned."""
    return np.zeros(len(X))


@dataclass(frozen=True, eq=False)
class Refitted:
    """The acquisition of a point, by a classifier that knows which points were chosen for the batch before it.

    Attributes:
        fit: From the points chosen before, j x d, to log-odds; the same for the same points.
    """

    fit: Callable[[Array], LogOdds]
    _fitted: dict[bytes, LogOdds] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, X: Array) -> Array:
        """Values of points, m x d, or of the last points of sets, m x q x d, m."""
        if X.ndim == 2:
            return self._beside(X[:0])(X)
        if not len(X):
            return np.empty(0)
        before, last = X[:, :-1], X[:, -1]
        if (before == before[0]).all():
            return self._beside(before[0])(last)
        different, place = np.unique(before, axis=0, return_inverse=True)
        values = np.empty(len(X))
        for i, chosen in enumerate(different):
            own = place.ravel() == i
            values[own] = self._beside(chosen)(last[own])
        return values

    def _beside(self, chosen: Array) -> LogOdds:
        # Remembered only to save time: the same points always give the same log-odds.
        key = np.ascontiguousarray(chosen).tobytes()
        if key not in self._fitted:
            self._fitted[key] = self.fit(chosen)
        return self._fitted[key]


def with_pruned(data: Dataset) -> Dataset:
    """The data with pruned points as told, by what was measured of them last; as it is if there are constraints."""
    known = np.isfinite(data.Y_failed).all(axis=1) & (data.constraints == 0)
    if not known.any():
        return data
    return replace(
        data,
        X=np.vstack([data.X, data.X_failed[known]]),
        Y=np.vstack([data.Y, data.Y_failed[known]]),
        Y_var=None,
        forecasts=(*data.forecasts, *[None] * int(known.sum())),
        X_failed=data.X_failed[~known],
        Y_failed=data.Y_failed[~known],
        H=None if data.H is None else np.vstack([data.H, np.full((int(known.sum()), data.H.shape[1]), np.nan)]),
    )
