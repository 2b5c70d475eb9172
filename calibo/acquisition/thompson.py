"""Thompson sampling: the wish to try a point is a draw of its value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibo.acquisition.base import Acquisition
from calibo.data import Array, Dataset
from calibo.models.base import Model


@dataclass(frozen=True)
class ThompsonSampling:
    """One draw of f at all points of a call; its values may be compared within a call only.

    The set m x q x d is m candidates for the q-th place of a batch (the earlier places are the same in all of them):
    every place has a draw of its own, so a batch explores by itself and pending points need no care.

    Attributes:
        joint: Draw all points together (exact dependence, m^3 cost) or each from its own marginal distribution.
    """

    joint: bool = True
    logarithmic: ClassVar[bool] = False
    smooth: ClassVar[bool] = False

    def build(self, model: Model, data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        def acquisition(X: Array) -> Array:
            points = X if X.ndim == 2 else X[:, -1, :]
            distribution = model.predict(points, latent=True)
            if not self.joint:
                return distribution.at_levels(rng.uniform(1e-12, 1.0 - 1e-12, size=len(points)))
            return distribution.draws(rng.standard_normal((1, len(points))))[0]

        return acquisition
