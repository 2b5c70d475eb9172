"""Anytime-valid tests of stated probabilities: e-processes, and the bands and confidence sequences that follow from them.

A count of successes may be looked at after every result. Bets against the stated probabilities start with a wealth of 1; if
each result is a success with its stated probability given the past, the wealth is a nonnegative martingale, and the
probability that it *ever* reaches 1 / alpha is at most alpha (Ville's inequality). Bets are made on one side only, so that
they also hold against all probabilities on the other side, and a verdict has a direction: "too few" bets on fewer successes
than stated, "too many" on more. All wealths are logarithms.

Notation:
    t  results so far               k  successes among them
    p  stated probability           q  the probability that a bet supposes
    c  concentration of the mixture of bets around p, in pseudo-results
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaln, logsumexp

from calibo.arguments import checked
from calibo.checks import check_probability, shown
from calibo.data import Array
from calibo.errors import DataError

Counts = npt.NDArray[np.int64]

#: c, chosen by power in benchmarks/verdicts.py: from 2 to 5 there is little to choose.
CONCENTRATION = 3.0
#: Factors on the odds of success that are bet on where the stated probabilities differ, and their reciprocals.
ODDS_RATIOS: tuple[float, ...] = (1.3, 1.7, 2.7, 4.5, 7.4, 20.0)

#: For fewer numbers of results than this, bands are computed for just these.
_FEW_BANDS = 32
#: Of the mixture of exponential bounds, as a variance: narrowest for about a hundred results.
_PRIOR_SPREAD = 3.0
#: Numbers of results that a count of them can be told from the next one by.
_MOST_RESULTS = 2.0**53


@checked
def log_wealth(
    successes: npt.ArrayLike, results: npt.ArrayLike, p: npt.ArrayLike, *, concentration: float = CONCENTRATION
) -> tuple[Array, Array]:
    """Return the log wealths of the bets on too few and on too many successes, each of the common shape.

    Each is the average, over q from the part of the distribution Beta(p c, (1 - p) c) below (above) p, of the likelihood
    ratio of q against p: a beta mixture cut off at p, which the incomplete beta function gives in closed form. The wealth
    of a stream after each result follows from its cumulative counts in one call.

    Args:
        successes: Number of successes, k.
        results: Number of results, t.
        p: Stated probability of each success, in (0, 1).
        concentration: Concentration of the mixture around p, c.
    """
    try:
        k, t, p = np.broadcast_arrays(*(np.asarray(values, dtype=np.float64) for values in (successes, results, p)))
    except ValueError:
        raise DataError("there must be as many counts of successes as numbers of results, and probabilities") from None
    a, b = concentration * p, concentration * (1.0 - p)
    whole = betaln(a + k, b + t - k) - betaln(a, b) - k * np.log(p) - (t - k) * np.log1p(-p)
    with np.errstate(divide="ignore"):
        few = whole + np.log(betainc(a + k, b + t - k, p)) - np.log(betainc(a, b, p))
        many = whole + np.log(betainc(b + t - k, a + k, 1.0 - p)) - np.log(betainc(b, a, 1.0 - p))
    return few, many


@checked
def log_evidence(successes: npt.ArrayLike, results: npt.ArrayLike, p: npt.ArrayLike) -> Array:
    """Return the log wealth of half a bet on each side, against "each result is a success with probability p".

    The arguments are those of ``log_wealth``.
    """
    return log_mean(np.stack(np.broadcast_arrays(*log_wealth(successes, results, p))), axis=0)


def log_mean(log_values: Array, axis: int) -> Array:
    """Return the logarithm of the mean of values given by their logarithms, along one axis."""
    return logsumexp(log_values, axis=axis) - np.log(log_values.shape[axis])


def log_threshold(confidence: float, tests: int = 1) -> float:
    """Return the log wealth at which one of several tests rejects, so that all are right with this confidence for ever.

    Args:
        confidence: Least probability that no true hypothesis is ever rejected.
        tests: Number of tests made together, each of which gets the same share of 1 - confidence.
    """
    check_probability("confidence", confidence)
    return float(np.log(tests / (1.0 - confidence)))


@checked
def count_band(results: npt.ArrayLike, p: float, *, confidence: float = 0.95, tests: int = 1) -> tuple[Counts, Counts]:
    """Return the smallest and the largest count of successes that are not evidence against p, after each number of results.

    The counts of results that are successes with probability p stay within *all* of these bands, for ever, with at least
    the given confidence: they may be looked at after every result.

    Args:
        results: Numbers of results, ``n``.
        p: Stated probability of success.
        confidence: Probability with which the counts never leave.
        tests: Number of bands that are looked at together; see ``log_threshold``.

    Returns:
        Lower and upper ends, each ``n``.
    """
    check_probability("probability", p)
    given = np.asarray(results, dtype=np.float64)
    if not np.all((given >= 0) & (given < _MOST_RESULTS)):
        raise DataError(f"numbers of results must be 0 or more, and less than {_MOST_RESULTS:g}, got {shown(results)}")
    t = given.astype(np.int64)
    limit = log_threshold(confidence, tests)
    if t.size < _FEW_BANDS or t.max() > 2 * t.size:
        return _band_ends(t, p, limit)
    # Tables and figures of a long study ask for the bands of the same numbers of results again and again.
    low, high = _first_bands(1 << int(t.max()).bit_length(), p, limit)
    return low[t], high[t]


@lru_cache(maxsize=32)
def _first_bands(most: int, p: float, limit: float) -> tuple[Counts, Counts]:
    """Return the bands after 0, 1, ..., ``most`` results."""
    return _band_ends(np.arange(most + 1), p, limit)


def _band_ends(t: Counts, p: float, limit: float) -> tuple[Counts, Counts]:
    # The wealth is a convex function of the count and far below the limit at t p, from where both ends are sought.
    middle = np.floor(t * p).astype(np.int64)
    return _last_inside(middle, np.zeros_like(t), t, p, limit), _last_inside(middle, t, t, p, limit)


def _last_inside(inside: Counts, end: Counts, t: Counts, p: float, limit: float) -> Counts:
    """Return the count nearest to ``end`` that is not evidence, by bisection between ``inside`` and ``end``."""
    step = np.where(end >= inside, 1, -1)
    # One count beyond the end counts as evidence, so that the end itself can be the answer.
    near, far = np.zeros_like(t), np.abs(end - inside) + 1
    while np.any(far - near > 1):
        half = (near + far) // 2
        accepted = log_evidence(inside + step * half, t, p) < limit
        near, far = np.where(accepted, half, near), np.where(accepted, far, half)
    return inside + step * near


@checked
def confidence_sequence(
    successes: npt.ArrayLike, results: npt.ArrayLike, *, confidence: float = 0.95, tests: int = 1
) -> tuple[Array, Array]:
    """Return the ends of a confidence sequence for a probability: the values that the counts do not refute.

    If each result is a success with probability p, all of these intervals contain p, for ever, with at least the given
    confidence.

    Args:
        successes: Numbers of successes, ``n``.
        results: Numbers of results, ``n``.
        confidence: Probability with which all intervals contain p.
        tests: Number of sequences that are looked at together; see ``log_threshold``.

    Returns:
        Lower and upper ends, each ``n``; 0 and 1 if there are no results.
    """
    try:
        k, t = np.broadcast_arrays(np.asarray(successes, dtype=np.float64), np.asarray(results, dtype=np.float64))
    except ValueError:
        raise DataError("there must be as many counts of successes as numbers of results") from None
    if not np.all((k >= 0) & (k <= t) & np.isfinite(t)):
        raise DataError("a count of successes must lie between 0 and the number of results")
    limit = log_threshold(confidence, tests)
    low, high = np.zeros(k.shape), np.ones(k.shape)
    centre = k / np.maximum(t, 1.0)
    some, missing = k > 0, k < t
    low[some] = _refuted_at(np.minimum(centre[some], 1.0 - 1e-9), 0.0, k[some], t[some], limit)
    high[missing] = _refuted_at(np.maximum(centre[missing], 1e-9), 1.0, k[missing], t[missing], limit)
    return low, high


@checked
def mean_chance_limit(successes: int, results: int, *, confidence: float = 0.95) -> float:
    """Return an upper limit of the mean of the probabilities of some results, each of which may have its own.

    With the number of successes k of t results, whose probabilities may depend on all before, the limit is k / t plus
    sqrt((t / 4 + r) log((t / 4 + r) / (r delta^2))) / t, r = 3: a mixture of Hoeffding's exponential bounds, so that at all
    times together it is exceeded with probability delta = 1 - confidence at most. ``confidence_sequence`` is narrower, but
    for one probability that all results have.

        >>> round(mean_chance_limit(5, 100), 3)
        0.202

    Args:
        successes: Number of successes.
        results: Number of results.
        confidence: Probability with which the limits hold at all times.

    Raises:
        DataError: If there are more successes than results.
    """
    if not 0 <= successes <= results:
        raise DataError(
            f"a count of successes must lie between 0 and the number of results, got {successes} of {results}"
        )
    check_probability("confidence", confidence)
    if not results:
        return 1.0
    spread = 0.25 * results + _PRIOR_SPREAD
    excess = math.sqrt(spread * (math.log(spread / _PRIOR_SPREAD) - 2.0 * math.log1p(-confidence)))
    return min((successes + excess) / results, 1.0)


def _refuted_at(inside: Array, end: float, k: Array, t: Array, limit: float) -> Array:
    """Return the probability between ``inside`` and ``end`` from which on the counts refute it, by bisection."""
    near, far = inside, np.full_like(inside, end)
    for _ in range(40):  # to 1e-12, short of 0 and 1 themselves
        half = (near + far) / 2.0
        accepted = log_evidence(k, t, half) < limit
        near, far = np.where(accepted, half, near), np.where(accepted, far, half)
    return far


@lru_cache(maxsize=64)
def results_to_refute(p: float, *, confidence: float = 0.95, tests: int = 1) -> int:
    """Return the fewest results of which some count would be evidence against p."""
    count = 1
    while True:
        low, high = count_band([count], p, confidence=confidence, tests=tests)
        if low[0] > 0 or high[0] < count:
            return count
        count += 1


def log_wealth_tilted(successes: npt.ArrayLike, probabilities: npt.ArrayLike) -> tuple[Array, Array]:
    """Return the log wealths of the bets on too few and on too many successes where each result has its own probability.

    Each is the average over ``ODDS_RATIOS`` (on too few successes: their reciprocals) of the likelihood ratio of
    probabilities whose odds are changed by this factor. The wealth depends on the successes by their number only.

    Args:
        successes: Numbers of successes, ``...``.
        probabilities: Stated probabilities of the t results, ``t``, each in [0, 1].

    Returns:
        Two arrays of the shape of ``successes``.
    """
    k = np.asarray(successes, dtype=np.float64)[..., None]
    p = np.asarray(probabilities, dtype=np.float64)
    tilt = np.log(np.asarray(ODDS_RATIOS))

    def log_average(tilts: Array) -> Array:
        normalizer = np.log1p(p[:, None] * np.expm1(tilts)).sum(axis=0)
        return log_mean(k * tilts - normalizer, axis=-1)

    return log_average(-tilt), log_average(tilt)


def tilted_count_band(probabilities: npt.ArrayLike, *, confidence: float = 0.95, tests: int = 1) -> tuple[int, int]:
    """Return the smallest and the largest number of successes that are not evidence against the stated probabilities.

    As ``count_band``, where each result has its own probability.

    Args:
        probabilities: Stated probabilities of the t results, ``t``.
        confidence: Probability with which right probabilities are never refuted.
        tests: Number of bands that are looked at together; see ``log_threshold``.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    sides = log_wealth_tilted(np.arange(len(p) + 1), p)
    accepted = np.flatnonzero(log_mean(np.stack(sides), axis=0) < log_threshold(confidence, tests))
    return int(accepted[0]), int(accepted[-1])
