"""Localized online states, R_t(x) = c_t + g_t(x), aggregated over several localizations.

Notation: T outcomes, E localizations side by side, K quantities tracked, D features of a point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from operator import mul
from typing import Any, Literal

import numpy as np

from calibo.calibration.evidence import Evidence
from calibo.calibration.reach import OutcomeScale
from calibo.checks import check_one_of, shown
from calibo.data import Array
from calibo.distributions import Distribution
from calibo.distributions.relative_spread import log_spread_before
from calibo.errors import RecipeError
from calibo.models.gp_posterior import Features
from calibo.models.kernel_features import kernel_features
from calibo.models.kernels import squared_distances
from calibo.models.predictions import distinct_points

#: A length scale on the unit cube, or a choice of several that are weighed by how well they do.
LengthScale = float | Literal["auto"]
#: What localization is by: the place of a point in the space, or how far its forecast reaches.
LocalizedBy = Literal["place", "reach"]
#: The length scales of "auto", in diagonals of the unit cube; each is half the one before.
_LADDER = (0.5, 0.25, 0.125)
#: Difference of log spreads that counts as much as the whole width of the unit cube.
_SPREADS = 4.0
#: The kernel scales of "auto", in units of the given one.
_SCALES = (1.0, 4.0)
#: Share of past losses that is forgotten at each outcome: about the last 50 count.
_FORGETTING = 0.02
#: Up to this square of the cube's diagonal over the shortest length scale, rounding of squared distances is harmless.
_LONGEST = 1e4
#: Kernel values computed at a time.
_BLOCK = 50_000
#: Outcomes whose kernels with all before them are held at a time.
_ROWS = 256


@dataclass(frozen=True, eq=False)
class Localizations:
    """E kernels k(x, x') = kappa exp(-|x - x'|^2 / l^2) (Kim et al. 2025, eq. 39).

    ``l = inf`` means no localization, g = 0, which is the online conformal prediction of eq. 17 (the paper says of eq. 24
    that g = 0 recovers it, and calls l = inf "a non-localized version"). The limit of the kernel itself would be the
    constant kappa, which changes nothing but the step, from eta to (1 + kappa) eta; that is not used.

    Attributes:
        kappa: Kernel scales, E.
        length_scale: Length scales, E.
        prior: Weights before any outcome, E, with sum 1.
    """

    kappa: Array
    length_scale: Array
    prior: Array

    @classmethod
    def chosen(cls, kappa: float, length_scale: LengthScale, dimension: int) -> Localizations:
        """Return one localization, or for "auto" the non-localized one (with half the weight) and several others."""
        if length_scale != "auto":
            return cls(np.array([kappa]), np.array([length_scale], dtype=np.float64), np.ones(1))
        ladder = np.array(_LADDER) * np.sqrt(max(dimension, 1))
        rungs = len(_LADDER) * len(_SCALES)
        return cls(
            np.concatenate([[0.0], kappa * np.repeat(_SCALES, len(_LADDER))]),
            np.concatenate([[np.inf], np.tile(ladder, len(_SCALES))]),
            np.concatenate([[0.5], np.full(rungs, 0.5 / rungs)]),
        )

    @cached_property
    def effective(self) -> Array:
        """Kernel scales, 0 where there is no localization, E."""
        return np.where(np.isinf(self.length_scale), 0.0, self.kappa)

    @cached_property
    def lengths(self) -> Array:
        """The different finite length scales in use, L, decreasing."""
        return np.unique(self.length_scale[self.effective > 0.0])[::-1]

    @cached_property
    def rung(self) -> np.ndarray:
        """Which of ``lengths`` each localization uses, E; 0 for one that uses none."""
        if not self.lengths.size:
            return np.zeros(self.kappa.size, dtype=np.intp)
        return np.abs(self.length_scale[:, None] - self.lengths).argmin(axis=1)


def unit_kernels(squared: Array, lengths: Array) -> Iterator[Array]:
    """Yield exp(-s / l^2) for each of the decreasing length scales, one after the other in the same array.

    Where a length scale is half the one before, by squaring.
    """
    kernel, before = np.empty_like(squared), np.inf
    for length in lengths.tolist():
        if abs(2.0 * length - before) <= 1e-12 * length:
            kernel *= kernel
            kernel *= kernel
        else:
            np.multiply(squared, -1.0 / (length * length), out=kernel)
            np.exp(kernel, out=kernel)
        before = length
        yield kernel


@dataclass(frozen=True, eq=False)
class States:
    """The E localized states on a sequence of T outcomes.

    Attributes:
        played: The value in use at x_t before outcome t, `T x E x K`.
        below: 1 where the score fell below the value in use, `T x E x K`.
        constants: c before each outcome and after the last, `(T + 1) x E x K`.
        coefficients: Coefficients of the kernel expansion after the last outcome, without kappa, `E x T x K`.
    """

    played: Array
    below: Array
    constants: Array
    coefficients: Array


def run_localized(
    points: Array,
    scores: Array,
    *,
    targets: Array,
    steps: Array,
    regularization: float,
    localizations: Localizations,
    below: Callable[[Array | float, Array], Array],
    play: Callable[[Array], Array] = lambda hidden: hidden,
) -> States:
    """Run online kernel gradient descent on the pinball loss (Kim et al. 2025, eq. 27), for E localizations at once.

    For t = 1, 2, ... with score s_t at x_t, and c_1 = target, g_1 = 0:
      1. hidden value h = c_t + kappa sum_j coef_j exp(-|x_t - x_j|^2 / l^2), played as ``play(h)``;
      2. o = 1[s_t below the played value];
      3. coef <- (1 - regularization eta_t) coef, append eta_t (target - o); c <- c + eta_t (target - o).
    The state is never clipped: a value below 0 lies below every score and one above 1 above every score, which
    drives the state back.

    Args:
        points: `T x D` features of the points.
        scores: Scores in [0, 1], T.
        targets: The share of scores that should fall below, for each quantity, K.
        steps: eta_t, T.
        regularization: How fast g forgets, times eta.
        localizations: The E kernels.
        below: How a score is compared with the value in use: `np.less` or `np.less_equal`.
        play: Maps hidden values to the values in use, `E x K`.
    """
    T, E, K = len(scores), localizations.kappa.size, targets.size
    played, moves, constant = np.empty((T, E, K)), np.zeros((E, T, K)), np.tile(targets, (E, 1))
    # Share of a move at outcome j that is left before outcome t: exp(log_kept_t - log_kept_(j + 1)).
    log_kept = np.concatenate([[0.0], np.cumsum(np.log1p(-regularization * steps))])
    values, sizes = scores.tolist(), steps.tolist()
    for start in range(0, T, _ROWS):
        stop = min(start + _ROWS, T)
        kept = np.exp(np.minimum(log_kept[start:stop, None] - log_kept[1 : stop + 1], 0.0))
        influence = _influence(points[start:stop], points[:stop], localizations, kept)
        for t, reach in enumerate(influence, start):
            hidden = constant + (reach[..., :t] @ moves[:, :t])[:, 0]
            played[t] = now = play(hidden)
            moves[:, t] = move = sizes[t] * (targets - below(values[t], now))
            constant = constant + move
    constants = np.concatenate([np.tile(targets, (1, E, 1)), moves.swapaxes(0, 1)]).cumsum(axis=0)
    hits = np.asarray(below(scores[:, None, None], played), dtype=np.float64)
    return States(played, hits, constants, np.exp(log_kept[-1] - log_kept[1:, None]) * moves)


def _influence(points: Array, past: Array, localizations: Localizations, kept: Array) -> Array:
    """Return kappa k(x, x') times the share that is left of a move at each of p past points, at q points, `q x E x 1 x p`."""
    units = [kept * unit for unit in unit_kernels(squared_distances(points, past), localizations.lengths)]
    influence = np.zeros((localizations.kappa.size, *kept.shape))
    for e, (kappa, rung) in enumerate(zip(localizations.effective, localizations.rung, strict=True)):
        if kappa:
            np.multiply(units[rung], kappa, out=influence[e])
    return influence.swapaxes(0, 1)[:, :, None]


@dataclass(frozen=True, eq=False)
class LocalizedRun:
    """Values tracked on a sequence of T outcomes by E localizations side by side.

    Attributes:
        played: The values in use at x_t before outcome t, `T x K` (the weighted mean over the localizations).
        hits: 1 where the score fell below them, `T x K`.
        weights: Weights of the localizations before each outcome and after the last, `(T + 1) x E`.
        states: The states of each localization.
        hidden: The function after the last outcome: maps `... x q x d` points to `... x q x K`, not yet monotone.
    """

    played: Array
    hits: Array
    weights: Array
    states: States
    hidden: Expansion


def run_weighted(
    X: Array,
    scores: Array,
    features: Features | None,
    *,
    targets: Array,
    localizations: Localizations,
    below: Callable[[Array | float, Array], Array],
    **settings: Any,
) -> LocalizedRun:
    """Run all localizations on `T x d` points, as `run_localized` does, and weight them by their recent pinball losses."""
    features = features or Features((0,) * X.shape[1])
    points = features(X)
    states = run_localized(points, scores, targets=targets, localizations=localizations, below=below, **settings)
    weights = exponential_weights(pinball(scores, states.played, targets), localizations.prior)
    played = np.einsum("te,tek->tk", weights[:-1], states.played)
    hits = np.asarray(below(scores[:, None], played), dtype=np.float64)
    return LocalizedRun(
        played, hits, weights, states, Expansion.of(states, localizations, weights[-1], features, points)
    )


def pinball(scores: Array, played: Array, targets: Array) -> Array:
    """Return the pinball loss of the values in use as quantiles of the scores, `T x E`, summed over the K targets.

    Values are clipped to [0, 1], where the scores are.
    """
    gap = scores[:, None, None] - np.clip(played, 0.0, 1.0)
    return np.maximum(targets * gap, (targets - 1.0) * gap).sum(axis=2)


def exponential_weights(losses: Array, prior: Array, forgetting: float = _FORGETTING) -> Array:
    """Return the weights of E experts before each outcome and after the last, `(T + 1) x E`, from their losses, `T x E`.

    w_t is proportional to prior exp(zeta_t G_t), with G_t the discounted sum of how much less than the weighted mean each
    has lost (as DtACI, Gibbs and Candes 2024, forgets old losses) and zeta_t = sqrt(log E / V_t), V_t the discounted
    sum of the weighted variances of the losses (as the second-order weights behind AgACI, Zaffran et al. 2022, do):
    independent of the unit of the losses, so that there is no learning rate to choose.
    """
    # Plain numbers: there are only a few experts, for which an array costs more than its arithmetic.
    E, start = losses.shape[1], prior.tolist()
    kept, rate = 1.0 - forgetting, math.log(max(E, 2))
    raw, total, gain, variance = start, sum(start), [0.0] * E, 0.0
    found = []
    for loss in losses.tolist():
        mean = sum(map(mul, raw, loss)) / total
        gain = [kept * g + mean - v for g, v in zip(gain, loss, strict=True)]
        variance = kept * variance + sum([w * (mean - v) ** 2 for w, v in zip(raw, loss, strict=True)]) / total
        zeta = math.sqrt(rate / variance) if variance > 0.0 else 0.0
        top = max(gain)
        raw = [p * math.exp(zeta * (g - top)) for p, g in zip(start, gain, strict=True)]
        total = sum(raw)
        found.append(raw)
    after = np.array(found).reshape(-1, E)
    return np.vstack([prior, after / after.sum(axis=1, keepdims=True)])


@dataclass(frozen=True, eq=False)
class Expansion:
    """The function c + sum_l sum_j b_lj exp(-|x - x_j|^2 / l^2), with K values at each point.

    Attributes:
        features: Features of points.
        centres: `T x D` features of past points.
        constant: c, K.
        lengths: Length scales, L, decreasing.
        coefficients: b, `L x T x K`.
    """

    features: Features
    centres: Array
    constant: Array
    lengths: Array
    coefficients: Array

    @classmethod
    def of(
        cls, run: States, localizations: Localizations, weights: Array, features: Features, centres: Array
    ) -> Expansion:
        """Return the mean of the states after the last outcome, with E weights."""
        scaled = (weights * localizations.effective)[:, None, None] * run.coefficients
        rungs = np.arange(localizations.lengths.size)
        gathered = [scaled[localizations.rung == rung].sum(axis=0) for rung in rungs]
        constant = weights @ run.constants[-1]
        return cls(features, centres, constant, localizations.lengths, np.array(gathered))

    def __call__(self, X: Array) -> Array:
        """Evaluate the function at `... x q x d` points, `... x q x K`."""
        points, index = distinct_points(X)
        seen = self.features(points)
        # A block's kernels stay in the processor's cache, which is twice as fast.
        rows = max(_BLOCK // max(len(self.centres), 1), 1)
        blocks = [self._values(seen[start : start + rows]) for start in range(0, max(len(seen), 1), rows)]
        values = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        return values if X.ndim == 2 else values[index]

    def _values(self, seen: Array) -> Array:
        """Evaluate the function at points given by their `p x D` features, `p x K`."""
        if not self.lengths.size:
            return np.tile(self.constant, (len(seen), 1))
        values = self.constant
        for unit, b in zip(unit_kernels(self._squared(seen), self.lengths), self.coefficients, strict=True):
            values = values + unit @ b
        return values

    @cached_property
    def _products(self) -> Array | None:
        """(-2 x_j, 1, |x_j|^2), `(D + 2) x T`, whose product with (x, |x|^2, 1) is |x - x_j|^2.

        It is quicker than distances, and good to 1e-16 of the largest of them: enough for all but short length scales.
        """
        centres = self.centres
        if not self.lengths.size or centres.shape[1] > _LONGEST * self.lengths[-1] ** 2:
            return None
        norm = np.einsum("td,td->t", centres, centres)
        return np.concatenate([-2.0 * centres.T, np.ones((1, len(centres))), norm[None]])

    def _squared(self, seen: Array) -> Array:
        """Return squared distances of points from the centres, `p x T`."""
        if self._products is None:
            return squared_distances(seen, self.centres)
        p, D = seen.shape
        lifted = np.empty((p, D + 2))
        lifted[:, :D], lifted[:, D + 1] = seen, 1.0
        np.einsum("pd,pd->p", seen, seen, out=lifted[:, D])
        return lifted @ self._products


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Where the forecasts at points stand for a localization: at their points, or at their log spread.

    Both are known before the outcome, which is all that the bounds need.

    Attributes:
        past: Coordinates of the T forecasts of the evidence, `T x d`.
        features: Features of coordinates.
        scale: The outcomes that spreads are compared with; `None` for places.
    """

    past: Array
    features: Features
    scale: OutcomeScale | None = None

    @classmethod
    def of(cls, evidence: Evidence, by: LocalizedBy) -> Coordinates:
        """Return the coordinates of the evidence."""
        if by == "place":
            return cls(evidence.X, features_of(evidence))
        return cls(
            log_spread_before(evidence.distribution, evidence.y)[:, None] / _SPREADS,
            Features((0,)),
            OutcomeScale(evidence.y),
        )

    def __call__(self, distribution: Distribution, X: Array) -> Array:
        """Return the coordinates of forecasts at `... x q x d` points."""
        return X if self.scale is None else self.scale.log_spread(distribution)[..., None] / _SPREADS


def features_of(evidence: Evidence) -> Features:
    """Return the features of the points of the evidence, the same as of a Gaussian process."""
    return kernel_features(evidence.categories or (0,) * evidence.X.shape[1], evidence.activity)


def check_localization(
    kappa: float, length_scale: LengthScale, regularization: float, largest_step: float, localize: str
) -> None:
    """Check the settings of a localization.

    Raises:
        RecipeError: If a state could not be computed with them.
    """
    check_one_of("localize", localize, ("place", "reach"))
    if not (isinstance(kappa, Real) and np.isfinite(kappa) and kappa >= 0.0):
        raise RecipeError(f"kappa must be a number >= 0, got {shown(kappa)}; 1 is a good start, 0 means not localized")
    if length_scale != "auto" and not (isinstance(length_scale, Real) and length_scale > 0.0):
        raise RecipeError(
            f'length_scale must be positive (in units of the unit cube), inf or "auto", got {shown(length_scale)}'
        )
    if not (np.isfinite(regularization) and regularization >= 0.0 and regularization * largest_step < 1.0):
        raise RecipeError(
            f"regularization times the step must lie in [0, 1), got {shown(regularization)} x {largest_step!r}: "
            "take a smaller regularization (0.004 is a good start)"
        )
