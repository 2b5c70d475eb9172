"""A Gaussian process for any number of data."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from calibo.arguments import check_fields
from calibo.checks import check_instance, check_whole
from calibo.data import Dataset
from calibo.models.base import Capability, Model, Surrogate
from calibo.models.gaussian_process import GaussianProcess
from calibo.models.neighbours import NearestNeighbourGP


@dataclass(frozen=True)
class GPBySize(Surrogate):
    """An exact Gaussian process up to some number of data, one of a core and nearest neighbours beyond.

    Both have the same hyperparameters, fitted to at most 400 and 300 data, so that a search that crosses the limit goes on
    with those it has; and forecasts of both are stages of one name, since one approximates the other.

    Attributes:
        few: Surrogate up to the limit.
        many: Surrogate beyond it.
        exact_below: The limit, a number of outcomes.
    """

    few: Surrogate = field(default_factory=lambda: GaussianProcess(subset=400))
    many: Surrogate = field(default_factory=NearestNeighbourGP)
    exact_below: int = 1000

    def __post_init__(self) -> None:
        check_fields(self)
        check_instance("few", self.few, Surrogate, "GaussianProcess()")
        check_instance("many", self.many, Surrogate, "NearestNeighbourGP()")
        check_whole("exact_below, a number of outcomes,", self.exact_below, 0)

    @property
    def stage_names(self) -> tuple[str, ...]:
        return self.few.stage_names

    @property
    def capabilities(self) -> frozenset[Capability] | None:
        few, many = self.few.capabilities, self.many.capabilities
        return None if few is None or many is None else few & many

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> Model:
        return (self.few if len(data) <= self.exact_below else self.many).fit(data, rng=rng)
