"""Adaptive UCB (Berkenkamp et al. 2019): length scales shrink and bounds widen as far as a reference regret allows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import root_scalar

from calibo.acquisition import AcquisitionRule, UpperBound
from calibo.acquisition.base import Acquisition
from calibo.data import Array, Dataset
from calibo.models.base import Model, Surrogate
from calibo.models.gp_posterior import Posterior

#: Most that the complexity of the functions may grow by, as a factor.
_MOST = 1e4


@dataclass(frozen=True)
class AdaptiveUCB(AcquisitionRule):
    """mean + gamma_t std of a Gaussian process with length scales at most l_0 / g(t).

    Functions whose norm is 1 under the length scales l_0 have one of at most g^(d/2) under l_0 / g (Bull 2011, Lemma 4), and
    the bound may be b times too small besides: ``gamma_t = gamma b(t) g(t)^(d/2)``. The regret bound of GP-UCB grows with
    gamma_t sqrt(t I_t), where I_t, the information gain of the data under the shrunk length scales, grows like g^d itself: in
    all by the complexity h = b g^d of Berkenkamp et al. (Corollary 3). h is the largest, from 1, for which gamma_t
    sqrt(t I_t) grows no faster than the reference regret t^power. A share of log h widens the bound by b, the rest shrinks
    the length scales. Checked with Ziomek, Adachi and Osborne (2024), section 2 and appendix H, who restate both.

    Attributes:
        surrogate: Gives the length scales l_0, fitted to the initial data.
        initial: How many data these are.
        gamma: Standard deviations above the mean at the start: as far as the quantile at .9.
        power: Of the reference regret, below 1.
        widening: Share of log h that widens the bound.
    """

    surrogate: Surrogate
    initial: int
    gamma: float = 1.2815515655446004
    power: float = 0.9
    widening: float = 0.1

    def build(self, model: Model, data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        assert isinstance(model, Posterior), "adaptive UCB shrinks the length scales of a Gaussian process"
        first = data.rows(np.arange(self.initial))
        start = self.surrogate.fit(replace(first, forecasts=(), hyperparameters=()), rng=np.random.default_rng(0))
        h = self.complexity(model, first, start.lengthscales)
        return UpperBound(self.gamma * self.norm(h)).build(self.shrunk(model, start.lengthscales, h), data, rng=rng)

    def complexity(self, model: Posterior, first: Dataset, longest: Array) -> float:
        """Return h(t), so that gamma_t sqrt(t I_t) is at most what it was for the initial data times (t / t_0)^power.

        Args:
            model: The model of all data.
            first: The initial data.
            longest: The length scales l_0.
        """
        allowed = self.regret(self.shrunk(model, longest, 1.0).conditioned(first), 1.0)
        allowed *= (len(model.y) / self.initial) ** self.power

        def excess(log_h: float) -> float:
            h = float(np.exp(log_h))
            return float(np.log(self.regret(self.shrunk(model, longest, h), h) / allowed))

        top = float(np.log(_MOST))
        if excess(0.0) >= 0.0 or excess(top) <= 0.0:
            return 1.0 if excess(0.0) >= 0.0 else _MOST
        return float(np.exp(root_scalar(excess, bracket=(0.0, top), xtol=1e-6).root))

    def regret(self, model: Posterior, h: float) -> float:
        """Return b g^(d/2) sqrt(t I_t), with the information gain I_t = log det(A / noise) / 2 of t data."""
        gain = np.log(np.diagonal(model.cholesky)).sum() - 0.5 * np.log(model.noise).sum()
        return float(self.norm(h) * np.sqrt(len(model.y) * gain))

    def norm(self, h: float) -> float:
        """Return b g^(d/2), b = h^widening: the factor by which the norm of the functions considered has grown."""
        return float(h ** (0.5 + 0.5 * self.widening))

    def shrunk(self, model: Posterior, longest: Array, h: float) -> Posterior:
        """Return the model with length scales at most l_0 / g, g = h^((1 - widening) / d)."""
        most = longest * h ** -((1.0 - self.widening) / model.X.shape[1])
        return replace(
            model,
            theta=replace(model.theta, lengthscales=np.minimum(model.theta.lengthscales, most)),
            precision=None,
        )
