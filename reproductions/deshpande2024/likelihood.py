"""The paper's Gaussian process: one length scale for all columns, by maximum likelihood; its evidence; and bagging."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from calibo.calibration.base import LevelMap, Recalibrator, identity
from calibo.calibration.evidence import Evidence
from calibo.calibration.resampling import FEWEST_POINTS, Resampler, held_out
from calibo.data import Array, Dataset
from calibo.distributions import stacked
from calibo.models import GaussianProcess
from calibo.models.base import Model, Surrogate
from calibo.models.gaussian_process import NegativeLogPosterior
from calibo.models.gp_posterior import Features, Posterior


@dataclass(frozen=True, eq=False)
class Isotropic(Features):
    """Features that are all divided by one length scale."""

    @cached_property
    def column(self) -> np.ndarray:
        return np.zeros(len(self.categories), dtype=np.intp)

    @property
    def lengths(self) -> int:
        return 1


@dataclass(frozen=True, eq=False)
class NegativeLogLikelihood(NegativeLogPosterior):
    """The same without priors, but for that of a warping, which a few outcomes do not determine."""

    def _prior(self, raw: Array) -> tuple[float, Array]:
        gradient = np.zeros_like(raw)
        if self.warping is None:
            return 0.0, gradient
        value, gradient[self._warps] = self.warping.prior(raw[self._warps])
        return float(value), gradient


@dataclass(frozen=True)
class IsotropicGP(GaussianProcess):
    """A Gaussian process of numeric columns with one length scale, fitted by maximum likelihood."""

    def objective(self, data: Dataset) -> NegativeLogLikelihood:
        plain = super().objective(data)
        features = Isotropic(data.categories)
        return NegativeLogLikelihood(plain.kernel, features, plain.X, plain.z, plain.known_noise, self.warping)

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> Posterior:
        # Left-out predictions keep the hyperparameters, as the paper's do.
        return replace(super().fit(data, rng=rng), precision=None)

    def stored_size(self, data: Dataset) -> int:
        return 3 + (0 if self.warping is None else self.warping.size(data.categories))


@dataclass(frozen=True)
class Uncorrected(Recalibrator):
    """No recalibration: a pooled model of a resampler as it is, such as a bagged ensemble."""

    def fit(self, evidence: Evidence) -> LevelMap:
        return identity


@dataclass(frozen=True)
class Later(Resampler):
    """Each point but the first k forecast from those before it: N - k splits of N points.

    Attributes:
        k: Points that are not forecast; a model needs two of them.
    """

    k: int

    def fit(self, surrogate: Surrogate, data: Dataset, *, rng: np.random.Generator) -> tuple[Model, Evidence]:
        model = surrogate.fit(data, rng=rng)
        later = np.arange(max(self.k, FEWEST_POINTS), len(data))
        return model, held_out(data, [(later, stacked([model.one_step_ahead()], later))] if len(later) else [])
