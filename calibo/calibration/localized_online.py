"""Localized online conformal thresholds (LOCBO): intervals with long-run coverage, also near each point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from calibo.arguments import check_fields
from calibo.calibration import localization
from calibo.calibration.base import LevelMap, Recalibrator
from calibo.calibration.evidence import Evidence
from calibo.calibration.localization import (
    Coordinates,
    Expansion,
    LengthScale,
    Localizations,
    LocalizedBy,
    LocalizedRun,
)
from calibo.calibration.online_quantile import weight_of_play
from calibo.checks import check_between
from calibo.data import Array
from calibo.distributions import Distribution, FlatLevels, FlatSet, Gaussian, Transformed
from calibo.distributions.relevelled import Composed
from calibo.errors import RecipeError
from calibo.models.gp_posterior import Features


@dataclass(frozen=True)
class LocalizedOnline(Recalibrator):
    """Online conformal prediction whose threshold depends on the point (Kim et al. 2025, eq. 23 - 28).

    The interval at x is {y: s(x, y) >= lambda_t(x)} with the score s = 2 Q(|z|), z the normal score of y under the
    forecast: mean -+ Q^-1(lambda / 2) std for a Gaussian one. The threshold lambda_t(x) = c_t + g_t(x) moves by online kernel
    gradient descent (`localization.run_localized`) with eta_t = eta0 (t + offset)^-decay, from c_1 = alpha and g_1 = 0:
    smaller thresholds, and so wider intervals, where outcomes fell outside. The calibrated distribution has mass 1 - alpha
    spread evenly over the interval and the model's shape outside, and the latent distribution that follows.

    Long-run coverage holds on every sequence of outcomes. The expansion is bounded,
    -kappa (1 - alpha) / reg <= g <= kappa alpha / reg,
    and a threshold above 1 always misses, one below 0 never; so c stays in an interval of length 1 + kappa / reg + eta0,
    and with eta_t = eta0 t^-1/2, by summation by parts,
      |mean of the errors - alpha| <= (1 + kappa / reg + eta0) / (eta0 sqrt(T)):
    two-sided and without the radius kappa that the paper's Lemma 1 leaves. (The bound is for one fixed localization.)

    With ``length_scale="auto"`` seven localizations run side by side: none, and the scales kappa and 4 kappa at 1/2, 1/4 and
    1/8 of the cube's diagonal. The threshold is their mean, weighted by recent pinball loss
    (``localization.exponential_weights``).

    Deviations from the paper: eta0 = 0.05 instead of 0.005, which hardly moves in 50 steps; only the threshold of the
    distribution is clipped, to [smallest, 1] (improvement grows without bound as it goes to 0).

    Attributes:
        alpha: Miscoverage: the share of outcomes outside the intervals, in (0, 1).
        kappa: Scale of the localized part against the constant part, >= 0.
        length_scale: Of the localization, on the unit cube; ``inf`` for none; "auto" chooses.
        eta0: First step, positive; `methods.locbo` takes 0.1 (and kappa 0.5), for studies of tens of outcomes.
        decay: How the steps fall with time, in [0, 1].
        regularization: How fast the localized part forgets; times eta0 below 1.
        smallest: Smallest threshold of the distribution, in (0, 1).
        offset: Added to t in the steps: 0 as the paper writes, 1 as its published code does.
        localize: By "place" in the space, as in the paper, or by "reach": the spread of a forecast relative to the outcomes
            before it. The bounds need only that it is known before the outcome.
        trust: Number of outcomes after which the threshold shown of measurements is halfway between alpha, which leaves the
            model's own interval, and what is played; 0 shows what is played at once. Latent values always follow the play.
    """

    alpha: float = 0.2
    kappa: float = 1.0
    length_scale: LengthScale = "auto"
    eta0: float = 0.05
    decay: float = 0.0
    regularization: float = 4e-3
    smallest: float = 1e-3
    offset: float = 0.0
    localize: LocalizedBy = "place"
    trust: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        check_between("alpha", self.alpha, 0.0, 1.0)
        check_between("eta0", self.eta0, 0.0, np.inf)
        if not 0.0 <= self.decay <= 1.0:
            raise RecipeError(f"decay must lie in [0, 1], got {self.decay!r}: 0 keeps steps constant")
        check_between("smallest", self.smallest, 0.0, 1.0)
        check_between("offset", self.offset, 0.0, np.inf, including="low")
        check_between("trust", self.trust, 0.0, np.inf, including="low")
        localization.check_localization(self.kappa, self.length_scale, self.regularization, self.eta0, self.localize)

    def steps(self, count: int) -> Array:
        """Return eta_t for t = 1, ..., count."""
        return self.eta0 * np.power(np.arange(1, count + 1, dtype=np.float64) + self.offset, -self.decay)

    def run(self, X: Array, scores: Array, features: Features | None = None) -> LocalizedRun:
        """Return all thresholds (K = 1) on `T x d` points and their conformity scores 2 Q(|z|) in [0, 1], T."""
        return localization.run_weighted(
            X,
            scores,
            features,
            targets=np.array([self.alpha]),
            steps=self.steps(len(scores)),
            regularization=self.regularization,
            localizations=Localizations.chosen(self.kappa, self.length_scale, X.shape[1]),
            below=np.less,
        )

    def fit(self, evidence: Evidence) -> LevelMap:
        scores = 2.0 * ndtr(-np.abs(evidence.scores))
        coordinates = Coordinates.of(evidence, self.localize)
        run = self.run(coordinates.past, scores, coordinates.features)
        weight = float(weight_of_play(float(len(evidence)), self.trust))
        return FlatMap(run.hidden, coordinates, self.alpha, self.smallest, weight)


@dataclass(frozen=True, eq=False)
class FlatMap:
    """The level map to flat-set distributions: in closed form of a Gaussian, in normal scores of any other distribution.

    Attributes:
        threshold: Maps `... x q x d` coordinates to `... x q x 1` thresholds, unclipped.
        coordinates: Where forecasts stand for the threshold.
        alpha: Mass outside the interval.
        smallest: Lower limit of thresholds; the upper one is 1.
        weight: Weight of what is played in what is shown of measurements.
    """

    threshold: Expansion
    coordinates: Coordinates
    alpha: float
    smallest: float
    weight: float = 1.0

    def __call__(self, distribution: Distribution, X: Array) -> Distribution:
        threshold = np.clip(self.threshold(self.coordinates(distribution, X))[..., 0], self.smallest, 1.0)
        if distribution.measurement is distribution:
            threshold = self.weight * threshold + (1.0 - self.weight) * self.alpha
        return self._flat(distribution, threshold)

    def _flat(self, distribution: Distribution, threshold: Array) -> Distribution:
        if isinstance(distribution, Transformed):
            return Transformed(self._flat(distribution.base, threshold), distribution.transform)
        if isinstance(distribution, Gaussian):
            return FlatSet.central(distribution, threshold, self.alpha)
        return Composed(distribution, FlatLevels(threshold, self.alpha))
