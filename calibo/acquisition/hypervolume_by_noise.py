"""Hypervolume improvement that suits how noisy the measurements are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from calibo.acquisition.base import Acquisition
from calibo.acquisition.hypervolume import HypervolumeImprovement, TradeoffRule
from calibo.acquisition.improvement import ImprovementByNoise, noise_share
from calibo.arguments import check_fields
from calibo.checks import check_between, check_instance, check_whole
from calibo.data import Dataset
from calibo.models.base import Model


@dataclass(frozen=True)
class HypervolumeInTurns(TradeoffRule):
    """Noisy hypervolume improvement after an even number of feasible results, plain after an odd one.

    Plain improvement takes the front of expected values for known, and under noise measures around a few points of it again
    and again. The noisy form draws the values at the observed points as well, and gains nothing at a point that was measured.

    Attributes:
        even: The rule after an even number of feasible results.
        odd: The rule after an odd number.
    """

    even: TradeoffRule = field(default_factory=lambda: HypervolumeImprovement(noisy=True, draws=64))
    odd: TradeoffRule = field(default_factory=HypervolumeImprovement)

    def __post_init__(self) -> None:
        check_fields(self)
        for name, rule in (("even", self.even), ("odd", self.odd)):
            check_instance(name, rule, TradeoffRule, "HypervolumeImprovement()")

    def build(self, models: Sequence[Model], data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        return (self.odd if len(data) % 2 else self.even).build(models, data, rng=rng)


@dataclass(frozen=True)
class HypervolumeByNoise(TradeoffRule):
    """Hypervolume improvement while measurements are nearly exact, in turns with its noisy form once one objective's are not.

    With three objectives and more it is always the exact rule: each draw of the noisy form has boxes of its own, which are
    slow to compute, and whether they pay was not measured.

    Attributes:
        exact: The rule for nearly exact measurements.
        noisy: The rule for noisy ones.
        threshold: Share of noise of an objective above which its measurements count as noisy (`noise_share`).
        fewest: Number of outcomes below which their noise cannot be told, and counts as none.
    """

    exact: TradeoffRule = field(default_factory=HypervolumeImprovement)
    noisy: TradeoffRule = field(default_factory=HypervolumeInTurns)
    threshold: float = ImprovementByNoise.threshold
    fewest: int = ImprovementByNoise.fewest

    def __post_init__(self) -> None:
        check_fields(self)
        for name, rule in (("exact", self.exact), ("noisy", self.noisy)):
            check_instance(name, rule, TradeoffRule, "HypervolumeImprovement()")
        check_between("threshold", self.threshold, 0.0, np.inf)
        check_whole("fewest", self.fewest)

    def chosen(self, models: Sequence[Model], data: Dataset) -> TradeoffRule:
        if len(models) > 2 or len(data) < self.fewest:
            return self.exact
        shares = [noise_share(model, data.outcome(i)) for i, model in enumerate(models)]
        return self.noisy if max(shares) > self.threshold else self.exact

    def build(self, models: Sequence[Model], data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        return self.chosen(models, data).build(models, data, rng=rng)
