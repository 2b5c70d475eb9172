"""The probability of success of an evaluation, learned from those that succeeded and those that failed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from calibo.data import Array, Dataset
from calibo.models.base import Model
from calibo.models.by_size import GPBySize
from calibo.models.gaussian_process import GaussianProcess
from calibo.models.neighbours import NearestNeighbourGP

#: Standard deviation of a label that does not shrink with data: the probability stays between 0.006 and 0.994 at the labels,
#: so that a few failures never exclude a region for good.
_LABEL_STD = 0.2
#: Hyperparameters, which are fitted anew for every suggestion, are those of at most so many labels; up to so many the process
#: is exact.
_FITTED, _EXACT = 250, 500


@dataclass(frozen=True, eq=False)
class SuccessModel:
    """A Gaussian process of the labels 1 (success) and 0: least-squares classification (Rasmussen and Williams, section 6.5).

    P(success at x) is the probability that the label at x exceeds one half. The process is the default surrogate's, so
    it learns which parameters matter and how sharp the border between success and failure is; a classifier that
    averages over neighbours does not, and keeps suggesting points just beyond the border.

    Attributes:
        posterior: Posterior of the labels.
    """

    posterior: Model

    @classmethod
    def of(cls, data: Dataset, *, rng: np.random.Generator) -> SuccessModel:
        """Fit the model to the points that succeeded (`data.X`) and those that failed (`data.X_failed`)."""
        labels = np.concatenate([np.ones(len(data.X)), np.zeros(len(data.X_failed))])
        outcomes = Dataset(
            X=np.vstack([data.X, data.X_failed]),
            Y=labels[:, None],
            categories=data.categories,
            descriptors=data.descriptors,
            activity=data.activity,
        )
        process = GaussianProcess(subset=_FITTED)
        return cls(GPBySize(process, NearestNeighbourGP(process), _EXACT).fit(outcomes, rng=rng))

    def __call__(self, X: Array) -> Array:
        """Return the probability of success at `m x d` points, m."""
        distribution = self.posterior.predict(X, latent=True)
        return ndtr((distribution.mean - 0.5) / np.hypot(distribution.std, _LABEL_STD))

    def drawn(self, X: Array, base: Array) -> np.ndarray:
        """Draw at which of `m x d` points an evaluation succeeds, `S x m`: jointly, each with the probability above.

        Args:
            X: The points.
            base: Independent standard normal samples, `S x (m + 1)`.
        """
        labels = self.posterior.predict(X, latent=True).draws(base[:, :-1])
        return labels + _LABEL_STD * base[:, -1:] > 0.5
