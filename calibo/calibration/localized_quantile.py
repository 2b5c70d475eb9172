"""Localized online quantile recalibration (OCBO-L): every level right in the long run, corrected more where it was wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibo.calibration.base import LevelMap, Recalibrator
from calibo.calibration.evidence import Evidence
from calibo.calibration.localization import (
    Expansion,
    Fold,
    LengthScale,
    Localizations,
    check_localization,
    exponential_weights,
    features_of,
    fold,
    pinball,
)
from calibo.calibration.monotone_play import isotonic_rows, within_bound
from calibo.calibration.online_quantile import DEFAULT_LEVELS, OnlineQuantile
from calibo.data import Array
from calibo.distributions import Distribution, Levels, relevel
from calibo.models.gp_posterior import Features

#: Levels handed to acquisition functions stay this far from 0 and 1.
_SMALLEST_LEVEL = 1e-3


@dataclass(frozen=True, eq=False)
class QuantileRun:
    """What localized level maps did on a stream of T outcomes, for E localizations side by side.

    Attributes:
        played: R_t(p, x_t) before outcome t, T x K (the weighted mean over the localizations).
        hits: 1 where the PIT was at or below what was played, T x K.
        weights: Of the localizations before each outcome and after the last, (T + 1) x E.
        states: Each localization's own fold.
        hidden: The hidden function after the last outcome: points ... x q x d -> ... x q x K, not yet monotone.
    """

    played: Array
    hits: Array
    weights: Array
    states: Fold
    hidden: Expansion


@dataclass(frozen=True)
class LocalizedQuantile(Recalibrator):
    """``OnlineQuantile`` with a state that depends on the point: R_t(p, x) = c_t(p) + g_t(p, x) (Kim et al. 2025, V-A).

    For t = 1, 2, ... with u_t = F_t(y_t) the PIT of the raw forecast, at all levels p at once:
      1. play R_t(., x_t) = isotonic projection over the levels of the hidden values c_t(p) + g_t(p, x_t);
      2. observe o = 1[u_t <= R_t(p, x_t)] with the *played* value;
      3. c <- c + eta (p - o) and g <- (1 - regularization eta) g + eta (p - o) kappa exp(-|. - x_t|^2 / l^2).
    The sign in the paper's eq. 21 drives the share of outcomes below to 1 - p; this one drives it to p. Without
    localization (kappa = 0 or l = inf) this is ``OnlineQuantile``, step by step.

    Of one level alone |mean of o - p| <= (1 + kappa / regularization + eta) / (eta T): the expansion is bounded by
    kappa max(p, 1 - p) / regularization, so that c cannot leave an interval of that length. The state is never clipped,
    only the map handed on is, to [0.001, 0.999].

    With ``length_scale="auto"`` seven localizations run side by side, as in ``LocalizedOnline``; the hidden values are
    their mean, weighted by recent pinball loss summed over the levels.

    Attributes:
        eta: Step size, positive.
        levels: Levels tracked, increasing, inside (0, 1).
        kappa: Scale of the localized part against the constant part, >= 0.
        length_scale: Of the localization, on the unit cube; ``inf`` for none; "auto" chooses.
        regularization: How fast the localized part forgets; times eta below 1.
    """

    eta: float = 0.1
    levels: tuple[float, ...] = DEFAULT_LEVELS
    kappa: float = 1.0
    length_scale: LengthScale = "auto"
    regularization: float = 4e-3

    def __post_init__(self) -> None:
        _ = self._plain
        check_localization(self.kappa, self.length_scale, self.regularization, self.eta)

    @property
    def _plain(self) -> OnlineQuantile:
        """The same without localization; it refuses wrong steps and levels."""
        return OnlineQuantile(self.eta, self.levels)

    def run(self, X: Array, pit: Array, features: Features | None = None) -> QuantileRun:
        """Folds points, T x d, and the PITs of their outcomes, T, into all states."""
        features = features or Features((0,) * X.shape[1])
        points, p = features(X), np.asarray(self.levels, dtype=np.float64)
        localizations = Localizations.chosen(self.kappa, self.length_scale, X.shape[1])
        global_ = np.flatnonzero(localizations.effective == 0.0)

        def play(hidden: Array) -> Array:
            played = isotonic_rows(hidden)
            for e in global_:
                # This bound is one of states that do not depend on the point.
                played[e] = within_bound(hidden[e], played[e], p, self.eta)
            return played

        states = fold(
            points,
            pit,
            targets=p,
            steps=np.full(len(pit), self.eta),
            regularization=self.regularization,
            localizations=localizations,
            below=np.less_equal,
            play=play,
        )
        weights = exponential_weights(pinball(pit, states.played, p), localizations.prior)
        played = np.einsum("te,tek->tk", weights[:-1], states.played)
        return QuantileRun(
            played=played,
            hits=np.less_equal(pit[:, None], played).astype(np.float64),
            weights=weights,
            states=states,
            hidden=Expansion.of(states, localizations, weights[-1], features, points),
        )

    def fit(self, evidence: Evidence) -> LevelMap:
        """The maps played next, point by point, made fit for acquisition functions."""
        if self.kappa == 0.0 or self.length_scale == np.inf:
            return self._plain.fit(evidence)
        hidden = self.run(evidence.X, evidence.pit, features_of(evidence)).hidden
        return RelevelLocally(hidden, np.asarray(self.levels, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class RelevelLocally:
    """The level map that reads distributions at other levels, of its own at every point.

    Attributes:
        hidden: Points ... x q x d -> ... x q x K, not yet monotone.
        levels: K, inside (0, 1).
    """

    hidden: Expansion
    levels: Array

    def __call__(self, distribution: Distribution, X: Array) -> Distribution:
        return relevel(distribution, Levels.clipped(self.levels, isotonic_rows(self.hidden(X)), _SMALLEST_LEVEL))
