"""Expected improvement of several objectives as one number (ParEGO): other weights for every suggestion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from calibo.acquisition.base import Acquisition, log_softplus, logsumexp, normalized
from calibo.acquisition.hypervolume import TradeoffRule, is_row_of, rivals_of_front
from calibo.acquisition.joint import Beside, beside_earlier, remembered
from calibo.arguments import check_fields
from calibo.checks import check_between, check_instance, check_whole
from calibo.data import Array, Dataset
from calibo.models.base import Model
from calibo.scalarization import Tchebycheff, WeightedTchebycheff


@dataclass(frozen=True)
class ScalarizedImprovement(TradeoffRule):
    """log E of the improvement of the augmented Tchebycheff function, whose weights are drawn for every suggestion.

    This is ParEGO (Knowles 2006) with a model of each objective instead of one of the scalarized outcomes, as a composite
    function of joint draws (qParEGO of Daulton et al. 2020; with ``noisy`` qNParEGO of 2021). Each point of a batch has
    weights of its own, and is to improve on the points before it. Where a distribution is sampled by weighting, the weights
    of a candidate are multiplied over the objectives, as for the hypervolume: with `cbo` this is the conformal ParEGO that
    Stanton et al. (2023) name as an extension.

    Attributes:
        noisy: Whether the best value so far is that of the unknown latent values at the observed points, drawn jointly with
            the candidate's; else that of their expectations.
        scalarization: The function, with its weight of the sum.
        draws: Base samples.
        contenders: Maximum number of observed points drawn jointly with a candidate, in the noisy version.
        smoothing: Width of the smoothing of gains, in units of the front's extent.
    """

    noisy: bool = False
    scalarization: Tchebycheff = field(default_factory=Tchebycheff)
    draws: int = 128
    contenders: int = 16
    smoothing: float = 1e-3

    def __post_init__(self) -> None:
        check_fields(self)
        check_instance("scalarization", self.scalarization, Tchebycheff, "Tchebycheff()")
        check_whole("draws", self.draws, 2)
        check_whole("contenders", self.contenders)
        check_between("smoothing", self.smoothing, 0.0, np.inf)

    def build(self, models: Sequence[Model], data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        *seeds, weights = (int(seed) for seed in rng.integers(2**63, size=len(models) + 1))
        expected = np.stack([model.predict(data.X, latent=True).mean for model in models], axis=1)
        rivals = rivals_of_front(models, data.X, self.contenders, seeds) if self.noisy else data.X[:0]
        return SampledScalarization(
            tuple(models),
            fixed=np.vstack([rivals, data.X_pending]),
            # Points that are not drawn count by their expectation, or measuring them again would seem to be a gain.
            known=expected[~is_row_of(data.X, rivals)],
            expected=expected,
            reference=data.reference,
            recipe=self,
            seeds=tuple(seeds),
            seed_of_weights=weights,
        )


@dataclass(frozen=True, eq=False)
class SampledScalarization:
    """The expected gain of the last point of a batch over all points before it, by joint draws.

    Attributes:
        models: Model of each objective, m.
        fixed: Earlier points whose values are not known, `k x d`: contenders in the noisy version, and pending ones.
        known: Expected values at the other observed points, `n x m`.
        expected: Expected values at all observed points, which say how far the front reaches.
        reference: The reference point, or nothing.
        recipe: The rule.
        seeds: Seeds of the base samples of each objective, `m`.
        seed_of_weights: Seed of the weights of each place in a batch.
    """

    models: tuple[Model, ...]
    fixed: Array
    known: Array
    expected: Array
    reference: tuple[float, ...]
    recipe: ScalarizedImprovement
    seeds: tuple[int, ...]
    seed_of_weights: int
    _kept: dict[bytes, tuple[list[Beside], WeightedTchebycheff, Array]] = field(
        default_factory=dict, init=False, repr=False
    )

    def __call__(self, X: Array) -> Array:
        """Evaluate `p x d` points, or the last points of `p x q x d` batches, as `p` logarithms."""
        return beside_earlier(self._of_candidates, X)

    def function(self, place: int) -> WeightedTchebycheff:
        """Return the scalarization of a place in a batch, from 0 on."""
        rng = np.random.default_rng([self.seed_of_weights, place])
        return self.recipe.scalarization.weighted(self.expected, self.reference, rng=rng)

    def _of_candidates(self, X: Array, earlier: Array) -> Array:
        """Evaluate `p x d` points given the same earlier points, `e x d`."""
        besides, function, best = remembered(self._kept, earlier, self._beside)
        drawn = [beside.candidates(X) for beside in besides]
        width = self.recipe.smoothing
        gain = function(np.concatenate([one.values for one in drawn], axis=-1)) - best
        weights = sum(normalized(one.log_weights)[..., 0] for one in drawn)
        return np.log(width) + logsumexp(log_softplus(gain / width) + weights) - np.log(gain.shape[-1])

    def _beside(self, earlier: Array) -> tuple[list[Beside], WeightedTchebycheff, Array]:
        """Return draws beside the points before a candidate, its function, and the best value before it, `S` or one."""
        before, draws = np.vstack([self.fixed, earlier]), self.recipe.draws
        besides = [Beside(model, before, seed, draws) for model, seed in zip(self.models, self.seeds, strict=True)]
        function = self.function(len(earlier))
        best = function(self.known).max(initial=-np.inf, keepdims=True)
        if len(before):
            drawn = np.stack([beside.points_drawn.values[0] for beside in besides], axis=-1)
            best = np.maximum(best, function(drawn).max(axis=1))
        return besides, function, best
