"""The general recipe of likelihood-free optimization: a network trained on a variational loss of one's choice."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from calibo.classifiers.base import History, LogOdds
from calibo.classifiers.convex import Convex, KullbackLeibler
from calibo.classifiers.labels import Labelled
from calibo.classifiers.mlp import MLP, WarmMLP, fitted_network, folded
from calibo.errors import RecipeError


@dataclass(frozen=True)
class Variational:
    """A network t(x) = log S(x) trained on the loss of a convex f (Song et al. 2022, Theorem 3.4).

    1. Minimised is mean [f*(f'(S)) - u f'(S)] over all outcomes, with u over its mean, by the steps and with the warm
       start of ``MLP``.
    2. Whatever f is, the best S(x) is the expected utility, and its logarithm, the network's output, the
       acquisition. What f changes is which errors a network that cannot be right everywhere prefers.

    The paper tries Corollary 3.5 only, which is f = ``JensenShannon()`` and the same as ``MLP()``, and leaves the
    others for future work. The network's output is log S where the theorem has f'(S): both say the same, as f' rises.

    Attributes:
        f: ``KullbackLeibler()``, ``ChiSquared()``, ``SquaredHellinger()``, ``JensenShannon()``, or any ``Convex``.
        network: Size and training.
    """

    f: Convex = field(default_factory=KullbackLeibler)
    network: MLP = field(default_factory=MLP)

    def __post_init__(self) -> None:
        if lacking := [name for name in ("slope", "conjugate", "steepness") if not hasattr(self.f, name)]:
            raise RecipeError(
                f"a convex function f has slope(), conjugate() and steepness(), each of log s; {self.f!r} lacks "
                f"{', '.join(lacking)}: use KullbackLeibler(), or see likelihood_free.Convex"
            )

    @property
    def smooth(self) -> bool:
        return True

    def fit(self, labelled: Labelled, *, categories: tuple[int, ...], rng: np.random.Generator) -> LogOdds:
        """The network of labelled points without a history."""
        return fitted_network(self.network, self.f, labelled, categories, rng)

    def resumed(self, history: History, *, categories: tuple[int, ...], member: int) -> Variational | WarmMLP:
        """The network after a history."""
        state = folded(self.network, self.f, history, categories, member)
        return self if state is None else WarmMLP(self.network, state, self.f)
