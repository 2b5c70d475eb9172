"""Multilayer perceptrons as classifiers, trained on the weighted cross-entropy or on the variational loss of a convex f.

The theorem of Song et al. (2022), 3.4, maximizes E[u f'(s) - f*(f'(s))] over s > 0, with f* the convex conjugate of f: for
every strictly convex f the optimum is s = E[u], the expected utility. All functions here take t = log s, which may be any
real number, so that no domain has to be observed.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit

from calibo.arguments import check_fields
from calibo.checks import check_between, check_instance, check_whole
from calibo.classifiers.base import Classifier, History, LogOdds
from calibo.classifiers.labels import Labelled
from calibo.networks import Indicators, Loss, Networks, Real, Training, TrainingState, descend, random_batches

#: Losses are followed as far as |t| = 30: beyond, powers of exp(t) would dominate all other rows of a batch.
_LARGEST_LOG = 30.0
#: Up to this many outcomes a network is trained after each; beyond, at 64 places between n and 2 n.
_TRAINED_AT_EACH = 128
_PLACES = 64
_MOST_KEPT = 64


class Convex(ABC):
    """A strictly convex function f of s > 0, by all that the gradient of its loss needs."""

    @abstractmethod
    def steepness(self, t: Real) -> Real:
        """Return the derivative of f'(s) by t = log s, which is s f''(s) > 0, elementwise."""


@dataclass(frozen=True)
class JensenShannon(Convex):
    """f(s) = s log s - (1 + s) log(1 + s): weighted classification (Corollary 3.5), with t the log-odds."""

    def steepness(self, t: Real) -> Real:
        return expit(-t)


@dataclass(frozen=True)
class KullbackLeibler(Convex):
    """f(s) = s log s: the loss s - u log s of counts (Poisson regression), convex in t."""

    def steepness(self, t: Real) -> Real:
        return np.ones_like(t)


@dataclass(frozen=True)
class ChiSquared(Convex):
    """f(s) = (s - 1)^2: least squares of the utility, dominated by large utilities."""

    def steepness(self, t: Real) -> Real:
        return 2.0 * np.exp(t)


@dataclass(frozen=True)
class SquaredHellinger(Convex):
    """f(s) = (sqrt(s) - 1)^2: the loss sqrt(s) + u / sqrt(s), convex in t, dominated by small utilities."""

    def steepness(self, t: Real) -> Real:
        return 0.5 * np.exp(-0.5 * t)


@dataclass(frozen=True)
class VariationalLoss(Loss):
    """(1 - z) f*(f'(s)) - z f'(s) of outputs t = log s and labels z.

    With the weights of ``WeightedLabels`` its mean is minus the objective of Theorem 3.4 for utilities divided by their
    mean; with other labels, the optimal s at a point is the weight of the positives over that of the negatives.

    Attributes:
        f: A convex function.
    """

    f: Convex

    def slope(self, outputs: Real, targets: Real) -> Real:
        # d f*(f'(s)) / dt = s d f'(s) / dt, so it is the steepness times s for negatives and -1 for positives.
        near = np.clip(outputs, -_LARGEST_LOG, _LARGEST_LOG)
        return self.f.steepness(near) * np.where(targets > 0.0, -1.0, np.exp(near))


class WarmStarts:
    """Networks trained on the first outcomes of earlier histories, from which longer histories continue.

    Owned by one recipe. It only saves time: what it holds is a function of its key. A copied or unpickled recipe starts
    with none. Safe to use from several threads.
    """

    def __init__(self) -> None:
        self._states: OrderedDict[Hashable, TrainingState] = OrderedDict()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[WarmStarts], tuple[()]]:
        return WarmStarts, ()

    def __deepcopy__(self, memo: dict[int, Any]) -> WarmStarts:
        return WarmStarts()

    def latest(self, keys: list[Hashable]) -> tuple[int, TrainingState | None]:
        """Return how many of the keys, in order, are done, and the state after the last of these."""
        with self._lock:
            for i in reversed(range(len(keys))):
                if keys[i] in self._states:
                    self._states.move_to_end(keys[i])
                    return i + 1, self._states[keys[i]]
        return 0, None

    def keep(self, key: Hashable, state: TrainingState) -> None:
        """Keep a state, and drop the least recently used one beyond 64."""
        with self._lock:
            self._states[key] = state
            while len(self._states) > _MOST_KEPT:
                self._states.popitem(last=False)


@dataclass(frozen=True)
class MLP(Classifier):
    """A network t(x) = log S(x) of ReLU layers, trained by Adam on the loss of a convex f, with warm starts.

    By default it is trained on the weighted cross-entropy, which is f = ``JensenShannon()`` (Song et al. 2022, Corollary
    3.5). In general (Theorem 3.4 there) the mean of f*(f'(S)) - u f'(S) over all outcomes is minimized, with u divided by
    its mean. For every f the optimal S(x) is the expected utility, and its logarithm, the network's output, is the
    acquisition function; the choice of f decides which errors a network that cannot be right everywhere prefers. The paper
    leaves other f than the default for future work. The output is log S where the theorem has f'(S): both are equivalent,
    as f' increases.

    The settings are those of the paper; its "2 layers" are 3 hidden ones in the published code. After k outcomes the
    network is a function of these outcomes, in their order, and of the seed: it starts at random, and after each outcome
    takes ``steps`` steps on all outcomes so far, labelled by themselves; beyond 128 outcomes not after each, but at 64
    places between n and 2 n. So a resumed study has the same network.

    For a suggestion the network takes ``steps`` further steps on the labels of that moment (with pending points, or
    weights of a bootstrap). Without a history, as with several objectives, it takes ``cold_steps`` from the start.

    Attributes:
        hidden: Width of the hidden layers.
        layers: Number of hidden layers.
        learning_rate: Step size of Adam.
        batch: Rows of a step.
        steps: Steps after each outcome.
        cold_steps: Steps of a network without a history.
        seed: Seed of the training on histories; all other randomness comes from the generator of the suggestion.
        f: ``JensenShannon()``, ``KullbackLeibler()``, ``ChiSquared()``, ``SquaredHellinger()``, or any ``Convex``.
        centred: Whether columns and indicators enter the network as -1 to 1; ``False`` for 0 to 1, as in the paper.
    """

    hidden: int = 32
    layers: int = 3
    learning_rate: float = 1e-3
    batch: int = 64
    steps: int = 100
    cold_steps: int = 2000
    seed: int = 0
    f: Convex = field(default_factory=JensenShannon)
    centred: bool = True
    warm_starts: WarmStarts = field(default_factory=WarmStarts, init=False, repr=False, compare=False)
    smooth = True

    def __post_init__(self) -> None:
        for name in ("hidden", "layers", "batch", "steps", "cold_steps"):
            check_whole(f"{name} of a network", getattr(self, name))
        check_between("learning_rate of a network", self.learning_rate, 0.0, np.inf)
        check_instance("f", self.f, Convex, "KullbackLeibler()")
        check_fields(self)

    def fit(self, labelled: Labelled, *, categories: tuple[int, ...], rng: np.random.Generator) -> LogOdds:
        """Train a network without a history."""
        indicators = Indicators(categories, labelled.activity, self.centred)
        trained = self.trained(self.start(indicators, rng), labelled, indicators, self.cold_steps, rng)
        return _log_odds(trained.networks, indicators)

    def resumed(self, history: History, *, categories: tuple[int, ...], member: int) -> Classifier:
        """Return the network after a history, or the recipe itself if nothing could be learned yet."""
        places = [k for k in range(2, len(history) + 1) if k % max(1, k // _PLACES if k > _TRAINED_AT_EACH else 1) == 0]
        # A user's own utility may not be hashable; then nothing is kept.
        indicators = Indicators(categories, history.activity, self.centred)
        settings = (history.labels, indicators, member)
        settings = settings if _hashable(settings) else object()
        keys: list[Hashable] = [(settings, digest) for digest in history.digests(places)]
        done, state = self.warm_starts.latest(keys)
        for k in places[done:]:
            labelled = history.first(k)
            if labelled is not None:
                rng = np.random.default_rng([self.seed, member, k])
                state = self.trained(state or self.start(indicators, rng), labelled, indicators, self.steps, rng)
        if state is None:
            return self
        self.warm_starts.keep(keys[-1], state)
        return WarmNetwork(self, state)

    def start(self, indicators: Indicators, rng: np.random.Generator) -> TrainingState:
        """Draw initial weights within sqrt(2 / inputs); those of the output layer are 0, so that the odds are 1."""
        sizes = (indicators.width, *[self.hidden] * self.layers, 1)
        weights = [*((2.0 / inputs) ** 0.5 for inputs in sizes[:-2]), 0.0]
        return TrainingState.initial(Networks.uniform(sizes, weights=weights, rng=rng))

    def trained(
        self,
        state: TrainingState,
        labelled: Labelled,
        indicators: Indicators,
        steps: int,
        rng: np.random.Generator,
    ) -> TrainingState:
        """Take some more steps on labelled points."""
        training = Training(VariationalLoss(self.f), self.learning_rate, per_row=True)
        batches = random_batches([np.arange(len(labelled))], steps, self.batch, rng)
        features = indicators(labelled.X)
        return descend(state, features, labelled.z, batches, training, weights=labelled.weights)


@dataclass(frozen=True, eq=False)
class WarmNetwork(Classifier):
    """A network that has been trained on a history.

    Attributes:
        recipe: Size and training.
        state: The network after the history.
    """

    recipe: MLP
    state: TrainingState
    smooth = True

    def fit(self, labelled: Labelled, *, categories: tuple[int, ...], rng: np.random.Generator) -> LogOdds:
        """Take some more steps on labelled points."""
        indicators = Indicators(categories, labelled.activity, self.recipe.centred)
        trained = self.recipe.trained(self.state, labelled, indicators, self.recipe.steps, rng)
        return _log_odds(trained.networks, indicators)


def _log_odds(networks: Networks, indicators: Indicators) -> LogOdds:
    """Return the output of a network as a function of points."""
    return lambda X: networks(indicators(X))[0, :, 0]


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
