"""Likelihood-free strategies: a classifier's log-odds are the acquisition function, without a predictive distribution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial

import numpy as np
from scipy.special import logsumexp

from calibo.acquisition import Acquisition, log_of, weighted_last
from calibo.arguments import check_fields
from calibo.checks import check_instance, check_whole
from calibo.classifiers import Classifier, History, Labelled, LabelRule, LogOdds, Tchebycheff, merits
from calibo.classifiers.composite import CompositeAcquisition, CompositeNetwork, Outer
from calibo.data import Array, Dataset
from calibo.errors import FallbackWarning, RecipeError, warn
from calibo.models import SuccessModel, Surrogate, check_surrogate
from calibo.optimize.strategy import (
    ANCHORS,
    ModelForecaster,
    Strategy,
    anchor_points,
    check_outcomes,
    fit_models,
    learns_from_proposals,
)
from calibo.search import EpsilonGreedy, MultiStart, Mutation, Plan, Pool, Search
from calibo.spaces import Space

#: With more points than this the probability of success, a Gaussian process, is too slow: failures become negatives.
_MOST_FOR_SUCCESS = 300


@dataclass(frozen=True)
class LikelihoodFree(Strategy):
    """Outcomes -> labels -> a classifier, whose log-odds are maximized (LFBO, Song et al. 2022; BORE, Tiao et al. 2021).

    1. All outcomes of a point become one number (``merits``: several objectives are combined with random weights;
       infeasible points are worse than all feasible ones), by which it is labelled.
    2. Pending points are negatives, so that points near them have lower values.
    3. The log-odds of the classifier are the acquisition function. Where evaluations have failed it is multiplied by the
       probability of success; for trees, and with more than 300 points, the failures are negatives instead.
    4. Every further point of a batch has its own classifier: the points chosen before are negatives, and the weights are
       a draw of the Bayesian bootstrap, so that the classifier is a draw too.
    5. If all outcomes are equal, nothing can be learned, and points are drawn at random.

    Pruned points count with their last intermediate value, unless there are constraints.

    There is no predictive distribution, so no forecasts are made, unless ``forecaster`` makes them; it does not influence
    the suggestions.

    Attributes:
        labels: Labels the points.
        classifier: Learns from the labels.
        search: Maximizes the log-odds; by default mutations for trees, gradient steps for smooth classifiers, and all
            rows of a pool.
        epsilon: Probability of a random point, against an overconfident classifier.
        ensemble: Number of classifiers, each fitted to a draw of the bootstrap, whose odds are averaged; 1 for a single
            one fitted to the labels as they are.
        forecaster: A surrogate that makes forecasts and predictions; ``None`` for no forecasts.
        name: Name of the method, for messages.
        tradeoff: Combines several objectives into one number.
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
        check_fields(self)
        check_instance("the rule of labels", self.labels, LabelRule, "WeightedLabels()")
        check_instance("the classifier", self.classifier, Classifier, "BySize()")
        check_whole("the number of classifiers of an ensemble", self.ensemble)
        if self.forecaster is not None:
            check_surrogate("the forecaster", self.forecaster)
            if learns_from_proposals(self.forecaster):
                raise RecipeError(
                    "the density ratio of a forecaster is never learned, since it does not influence the search: use a "
                    "forecaster without one (ratio=None)"
                )
        EpsilonGreedy(self.search or Pool(), self.epsilon)

    @property
    def makes_forecasts(self) -> bool:
        return self.forecaster is not None

    @property
    def forecasting(self) -> Surrogate | None:
        return self.forecaster

    def plan(self, data: Dataset, *, rng: np.random.Generator) -> Plan:
        if any(rows is not None for rows in data.descriptors):
            warn(
                f"{self.name} classifies choices without their descriptors; use auto, ocbo or gp_ei to learn from these",
                FallbackWarning,
            )
        seed, success, forecasting = (np.random.default_rng(s) for s in rng.integers(2**63, size=3))
        plan = classifier_plan(self._acquisition(data, int(seed.integers(2**63)), success), data, self.search)
        if self.forecaster is None:
            return plan
        models = fit_models(self.forecaster, data, rng=forecasting)
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
        """Return the log-odds of the classifier weighted by the probability of success; see ``classifier_plan``."""
        observed, data = data, data.with_pruned()
        # Where log-odds are constant over wide areas, as those of trees, the probability of success alone would decide.
        negatives, weights = failures(data, weigh=self.classifier.smooth, rng=rng)
        acquisition: Acquisition = constant
        if self._labelled(data, np.random.default_rng([seed, 0])) is not None:
            classifiers = cache(lambda member: self._resumed(observed, member))
            acquisition = Refitted(
                lambda chosen: self._fitted(data, np.vstack([negatives, chosen]), len(chosen), seed, classifiers)
            )
        return weighted_last(acquisition, weights)

    def _labelled(self, data: Dataset, rng: np.random.Generator) -> Labelled | None:
        return self.labels.label(data.X, merits(data, self.tradeoff, rng=rng))

    def _fitted(
        self, data: Dataset, negatives: Array, place: int, seed: int, classifiers: Callable[[int], Classifier]
    ) -> LogOdds:
        """Return the log-odds for one place of a batch, the same for the same arguments."""
        labelled = self._labelled(data, np.random.default_rng([seed, place]))
        if labelled is None:
            return constant
        labelled = replace(labelled.with_negatives(negatives), activity=data.activity)
        members: list[LogOdds] = []
        for member in range(self.ensemble):
            rng = np.random.default_rng([seed, place, member])
            drawn = labelled.resampled(rng) if self.ensemble > 1 or place else labelled
            members.append(classifiers(member).fit(drawn, categories=data.categories, rng=rng))
        if len(members) == 1:
            return members[0]
        return lambda X: logsumexp([odds(X) for odds in members], axis=0) - np.log(len(members))

    def _resumed(self, data: Dataset, member: int) -> Classifier:
        """Return the classifier with its warm start, if there is one outcome, so that labels follow from the history."""
        if data.Y.shape[1] > 1:
            return self.classifier
        history = History(data.X, data.Y[:, 0], self.labels, data.activity)
        return self.classifier.resumed(history, categories=data.categories, member=member)


@dataclass(frozen=True)
class CompositeLikelihoodFree(Strategy):
    """A network of the measured vectors h, classified by the known function g of them (Song et al. 2022, 5.3 and B.4).

    1. ``CompositeNetwork`` learns h and, at the same time, which points exceed the threshold; log u of g(h) is maximized.
    2. Pending points are negatives, so that points near them have lower values. Every further point of a batch has its
       own network, from other initial weights, for which the points chosen before are negatives too.
    3. Where evaluations have failed, log u is weighted by the probability of success; with more than 300 points the
       failures are negatives instead.

    A point of which only g is known (from a study that went on as a composite one, or pruned) is classified but gives no
    vector; while no vector is known, points are drawn at random, with a warning. There is no predictive distribution, so
    no forecasts are made.

    Attributes:
        outer: g of vectors as they were measured, `m x k` -> `m`, *larger is better*; ``None`` until ``composite=`` gives
            it.
        network: Learns the vectors.
        search: Maximizes log u; by default gradient steps from several starts, or all rows of a pool.
        epsilon: Probability of a random point, against an overconfident network.
        name: Name of the method, for messages.
    """

    outer: Outer | None = None
    network: CompositeNetwork = field(default_factory=CompositeNetwork)
    search: Search | None = None
    epsilon: float = 0.0
    name: str = "composite_lfbo"

    def __post_init__(self) -> None:
        check_fields(self)
        if self.outer is not None and not callable(self.outer):
            raise RecipeError(
                f"{self.name} takes a function of torch tensors (outer), got a {type(self.outer).__name__}"
            )
        EpsilonGreedy(self.search or Pool(), self.epsilon)

    @property
    def makes_forecasts(self) -> bool:
        return False

    @property
    def single_objective(self) -> bool:
        return True

    def plan(self, data: Dataset, *, rng: np.random.Generator) -> Plan:
        check_outcomes(self, data.objectives, data.constraints)
        seed, success = rng.integers(2**63, size=2)
        acquisition = self._acquisition(data.with_pruned(), int(seed), np.random.default_rng(success))
        return classifier_plan(acquisition, data, self.search)

    def searcher(self, space: Space) -> Search:
        return EpsilonGreedy(self.search or (Pool() if space.is_pool else MultiStart()), self.epsilon)

    def _acquisition(self, data: Dataset, seed: int, rng: np.random.Generator) -> Acquisition:
        if self.outer is None:
            raise RecipeError(MISSING_FUNCTION.format(name=self.name))
        negatives, weights = failures(data, weigh=True, rng=rng)
        acquisition: Acquisition = constant
        if data.H is None:
            warn(
                f"none of the {len(data)} observations has a vector from which {self.name} could learn, so points are drawn "
                "at random: record vectors (calibo.study.write_vector in an Optuna objective), or choose another method",
                FallbackWarning,
            )
        else:
            acquisition = Refitted(partial(self._fitted, data, data.H, self.outer, negatives, seed))
        return weighted_last(acquisition, weights)

    def _fitted(
        self, data: Dataset, H: Array, outer: Outer, negatives: Array, seed: int, chosen: Array
    ) -> CompositeAcquisition:
        """Return the network for the point after those chosen for the batch, `j x d`; the same for the same arguments."""
        return self.network.fit(
            data.X,
            data.Y[:, 0],
            H,
            outer,
            negatives=np.vstack([negatives, chosen]),
            categories=data.categories,
            activity=data.activity,
            rng=np.random.default_rng([seed, len(chosen)]),
        )


#: The message about a composite method without its function.
MISSING_FUNCTION = (
    "{name} needs the known function g of the vectors that are measured: give composite=g (on the command line "
    "--composite FILE.py:g), a function of a torch tensor m x k that returns m values"
)


def classifier_plan(acquisition: Acquisition, data: Dataset, search: Search | None = None) -> Plan:
    """Return the plan of a strategy without models; points are random if the acquisition function is ``constant``.

    Args:
        acquisition: The acquisition function.
        data: The observations.
        search: The search that will maximize it; it may need more anchors than there are by default.
    """
    anchors = anchor_points(data, max(ANCHORS, search.anchors_needed if search else 0))
    return Plan(acquisition, anchors=anchors, avoid=data.tried, at_random=acquisition is constant)


def constant(X: Array) -> Array:
    """Return zeros for `m x d` points or `m x q x d` batches, `m`: the acquisition function when nothing was learned."""
    return np.zeros(len(X))


def failures(data: Dataset, *, weigh: bool, rng: np.random.Generator) -> tuple[Array, list[Callable[[Array], Array]]]:
    """Decide how failures count: by weighting with the probability of success, or as negatives.

    Args:
        data: The observations.
        weigh: Whether to weight, unless there are more than 300 points.
        rng: The only source of randomness.

    Returns:
        The negatives, `k x d`, pending points included, and the log-probabilities by which to weight (one or none).
    """
    weigh = weigh and len(data) + len(data.X_failed) <= _MOST_FOR_SUCCESS
    negatives = data.X_pending if weigh else np.vstack([data.X_pending, data.X_failed])
    return negatives, [log_of(SuccessModel.of(data, rng=rng))] if weigh and len(data.X_failed) else []


@dataclass(frozen=True, eq=False)
class Refitted:
    """An acquisition function that refits a classifier for each place of a batch, given the points chosen before.

    Attributes:
        fit: Maps the points chosen before, `j x d`, to log-odds; the same for the same points.
    """

    fit: Callable[[Array], LogOdds]
    _fitted: dict[bytes, LogOdds] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, X: Array) -> Array:
        """Evaluate `m x d` points, or the last points of `m x q x d` batches, as `m` log-odds."""
        if X.ndim == 2:
            return self._given(X[:0])(X)
        if not len(X):
            return np.empty(0)
        before, last = X[:, :-1], X[:, -1]
        if (before == before[0]).all():
            return self._given(before[0])(last)
        different, place = np.unique(before, axis=0, return_inverse=True)
        values = np.empty(len(X))
        for i, chosen in enumerate(different):
            own = place.ravel() == i
            values[own] = self._given(chosen)(last[own])
        return values

    def _given(self, chosen: Array) -> LogOdds:
        # Cached only to save time: the same points always give the same log-odds.
        key = np.ascontiguousarray(chosen).tobytes()
        if key not in self._fitted:
            self._fitted[key] = self.fit(chosen)
        return self._fitted[key]
