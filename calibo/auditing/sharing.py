"""A surrogate that several forecasters have inside, fitted once to the same data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from calibo.data import Dataset
from calibo.models.base import Capability, Model, Surrogate

#: Fits that are kept: a forecaster may fit its surrogate to a few datasets in one step.
_KEPT = 8


@dataclass(frozen=True, eq=False)
class Shared(Surrogate):
    """A surrogate whose latest fits are kept, so that those who share it do not fit it again to the same data.

    What a calibrator stores with the data (forecasts) does not matter to the surrogate inside it, and is not compared.

    Attributes:
        surrogate: The surrogate.
    """

    surrogate: Surrogate
    _fits: dict[tuple[object, ...], Model] = field(default_factory=dict, repr=False)

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> Model:
        noise = None if data.Y_var is None else data.Y_var.tobytes()
        key = (data.X.tobytes(), data.Y.tobytes(), noise, data.hyperparameters, data.refit)
        if key not in self._fits:
            while len(self._fits) >= _KEPT:
                del self._fits[next(iter(self._fits))]
            self._fits[key] = self.surrogate.fit(data, rng=rng)
        return self._fits[key]

    def fit_many(
        self, data: Dataset, subsets: Sequence[npt.NDArray[np.intp]], *, rng: np.random.Generator
    ) -> Sequence[Model]:
        return self.surrogate.fit_many(data, subsets, rng=rng)

    @property
    def stage_names(self) -> tuple[str, ...]:
        return self.surrogate.stage_names

    @property
    def calibrated_without_forecasts(self) -> bool:
        return self.surrogate.calibrated_without_forecasts

    @property
    def capabilities(self) -> frozenset[Capability] | None:
        return self.surrogate.capabilities


def sharing(surrogates: Sequence[Surrogate]) -> list[Surrogate]:
    """Return the same surrogates with equal innermost ones shared, so that each is fitted once to the same data."""
    shared: list[Shared] = []

    def change(innermost: Surrogate) -> Shared:
        known = next((one for one in shared if one.surrogate == innermost), None)
        if known is None:
            known = Shared(innermost)
            shared.append(known)
        return known

    return [surrogate.with_innermost(change) for surrogate in surrogates]
