"""Thompson sampling: maximize a draw of the objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibo.acquisition.base import Acquisition, AcquisitionRule
from calibo.acquisition.weighting import last_points
from calibo.data import Array, Dataset
from calibo.models.base import Model


@dataclass(frozen=True)
class ThompsonSampling(AcquisitionRule):
    """One draw of f at all points of a call; values can be compared within a call only.

    Batches `m x q x d` are m candidates for the q-th place of a batch (the earlier points are the same in all of them).
    Each place has a draw of its own, so a batch explores by itself, and pending points need no special treatment.

    Attributes:
        joint: Whether all points are drawn together (exact dependence, cost m^3) or each from its marginal distribution.
    """

    joint: bool = True
    logarithmic: ClassVar[bool] = False
    smooth: ClassVar[bool] = False

    def build(self, model: Model, data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        def acquisition(X: Array) -> Array:
            points = last_points(X)
            distribution = model.predict(points, latent=True)
            if not self.joint:
                return distribution.at_levels(rng.uniform(1e-12, 1.0 - 1e-12, size=len(points)))
            return distribution.draws(rng.standard_normal((1, len(points))))[0]

        return acquisition
