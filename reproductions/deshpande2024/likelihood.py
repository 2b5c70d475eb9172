"""The paper's Gaussian process: one length scale for all columns, hyperparameters by maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from calibo.data import Array, Dataset
from calibo.models import GaussianProcess
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
    """The same without priors."""

    def _prior(self, raw: Array) -> tuple[float, Array]:
        return 0.0, np.zeros_like(raw)


@dataclass(frozen=True)
class IsotropicGP(GaussianProcess):
    """A Gaussian process of numeric columns with one length scale, fitted by maximum likelihood."""

    def objective(self, data: Dataset) -> NegativeLogLikelihood:
        plain = super().objective(data)
        return NegativeLogLikelihood(plain.kernel, Isotropic(data.categories), plain.X, plain.z, plain.known_noise)

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> Posterior:
        # Left-out predictions keep the hyperparameters, as the paper's do.
        return replace(super().fit(data, rng=rng), precision=None)

    def stored_size(self, data: Dataset) -> int:
        return 3
