"""Localized online quantile recalibration (OCBO-L): every level calibrated in the long run, with corrections by point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
from calibo.calibration.monotone_play import isotonic_rows, within_bound
from calibo.calibration.online_quantile import DEFAULT_LEVELS, OnlineQuantile, shown_levels, weight_of_play
from calibo.checks import check_between
from calibo.data import Array
from calibo.distributions import Distribution, Levels, relevel
from calibo.models.gp_posterior import Features


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
    only the map that `fit` returns is, to [0.001, 0.999].

    With ``length_scale="auto"`` seven localizations run side by side, as in ``LocalizedOnline``; the hidden values are
    their mean, weighted by recent pinball loss summed over the levels.

    Attributes:
        eta: Step size, positive.
        levels: Levels tracked, increasing, inside (0, 1).
        kappa: Scale of the localized part against the constant part, >= 0.
        length_scale: Of the localization, on the unit cube; ``inf`` for none; "auto" chooses.
        regularization: How fast the localized part forgets; times eta below 1.
        localize: By "place" in the space, as in the paper, or by "reach", as in ``LocalizedOnline``.
        pooled: As in ``OnlineQuantile``.
        trust: Number of outcomes after which what is shown of measurements is half what is played and half the model's own;
            0 shows what is played at once. Latent values, on which acquisition functions act, always follow the play.
    """

    eta: float = 0.1
    levels: tuple[float, ...] = DEFAULT_LEVELS
    kappa: float = 1.0
    length_scale: LengthScale = "auto"
    regularization: float = 4e-3
    localize: LocalizedBy = "place"
    pooled: bool = False
    trust: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        _ = self._plain
        check_between("trust", self.trust, 0.0, np.inf, including="low")
        localization.check_localization(self.kappa, self.length_scale, self.regularization, self.eta, self.localize)

    @property
    def _plain(self) -> OnlineQuantile:
        """The same without localization; checks steps and levels."""
        return OnlineQuantile(self.eta, self.levels, pooled=self.pooled)

    def run(self, X: Array, pit: Array, features: Features | None = None) -> LocalizedRun:
        """Return all states on `T x d` points and the PITs of their outcomes, T."""
        p = np.asarray(self.levels, dtype=np.float64)
        localizations = Localizations.chosen(self.kappa, self.length_scale, X.shape[1])
        global_ = np.flatnonzero(localizations.effective == 0.0)

        def play(hidden: Array) -> Array:
            played = isotonic_rows(hidden)
            for e in global_:
                # This bound holds for states that do not depend on the point.
                played[e] = within_bound(hidden[e], played[e], p, self.eta)
            return played

        return localization.run_weighted(
            X,
            pit,
            features,
            targets=p,
            steps=np.full(len(pit), self.eta),
            regularization=self.regularization,
            localizations=localizations,
            below=np.less_equal,
            play=play,
        )

    def fit(self, evidence: Evidence) -> LevelMap:
        if self.kappa == 0.0 or self.length_scale == np.inf:
            return self._plain.fit(evidence)
        coordinates = Coordinates.of(evidence, self.localize)
        hidden = self.run(coordinates.past, evidence.pit, coordinates.features).hidden
        weight = float(weight_of_play(float(len(evidence)), self.trust))
        return RelevelLocally(hidden, coordinates, np.asarray(self.levels, dtype=np.float64), self.pooled, weight)


@dataclass(frozen=True, eq=False)
class RelevelLocally:
    """A level map with levels of its own at every point.

    Attributes:
        hidden: Maps `... x q x d` coordinates to `... x q x K` values, not yet monotone.
        coordinates: Where forecasts stand.
        levels: K, inside (0, 1).
        pooled: Whether levels that are played together stay together.
        weight: Weight of what is played in what is shown of measurements.
    """

    hidden: Expansion
    coordinates: Coordinates
    levels: Array
    pooled: bool
    weight: float

    def __call__(self, distribution: Distribution, X: Array) -> Distribution:
        played = isotonic_rows(self.hidden(self.coordinates(distribution, X)))
        weight = self.weight if distribution.measurement is distribution else 1.0
        shown = shown_levels(self.levels, played, pooled=self.pooled, weight=weight)
        return relevel(distribution, Levels.clipped(self.levels, shown, 0.0))
