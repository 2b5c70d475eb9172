"""The probability that an evaluation succeeds, learned from those that did and those that failed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from calibo.data import Array, Dataset
from calibo.models.gaussian_process import GaussianProcess
from calibo.models.gp_posterior import Posterior

#: Uncertainty of a label that no amount of data takes away: the probability stays between 0.006 and 0.994 at the labels,
#: so that a few failures never close a region for good.
_LABEL_STD = 0.2


@dataclass(frozen=True, eq=False)
class SuccessModel:
    """Least-squares classification (Rasmussen and Williams, section 6.5): a Gaussian process of the labels 1 and 0.

    P(success at x) is the probability that the label at x exceeds one half. The process is the default surrogate's, so
    it learns which parameters matter and how sharp the border between success and failure is; a classifier that
    averages over neighbours cannot, and keeps suggesting points just beyond the border.

    Attributes:
        posterior: Of the labels.
    """

    posterior: Posterior

    @classmethod
    def of(cls, data: Dataset, *, rng: np.random.Generator) -> SuccessModel:
        """The model of which points of ``data`` succeeded (X) and which failed (X_failed)."""
        labels = np.concatenate([np.ones(len(data.X)), np.zeros(len(data.X_failed))])
        outcomes = Dataset(X=np.vstack([data.X, data.X_failed]), Y=labels[:, None], categories=data.categories)
        return cls(GaussianProcess().fit(outcomes, rng=rng))

    def __call__(self, X: Array) -> Array:
        """P(success) at points, m x d -> m."""
        distribution = self.posterior.predict(X, latent=True)
        return ndtr((distribution.mean - 0.5) / np.hypot(distribution.std, _LABEL_STD))
