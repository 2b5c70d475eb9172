"""What all reproductions share: claims as numbers with intervals, and whether ours agree.

Intervals come from resampling the seeds, the same ones on both sides of a comparison, since methods share their initial
points. A claim is confirmed if the whole 90 % interval lies within what it claims, refuted if the whole interval lies
outside, and otherwise the repeats cannot tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, stdtrit

from calibo.data import Array

#: Numbers of seeds, R x repeats -> a statistic of each choice of them, R.
Statistic = Callable[[np.ndarray], Array]
#: A number and the ends of its interval.
Found = tuple[float, float, float]
#: Rounding and luck leave regrets of exactly 0 now and then.
TINY = 1e-12
#: Probability of the intervals that verdicts rest on.
CONFIDENCE = 0.9
CONFIRMED, REFUTED, CANNOT_TELL = "confirmed", "refuted", "cannot tell"
_RESAMPLES = 4000
#: With fewer seeds an interval from resampling them is too narrow for a verdict.
FEWEST_SEEDS = 5


@dataclass(frozen=True)
class Claim:
    """One row of the table.

    Attributes:
        part: Where it is from.
        text: What is compared.
        claimed: What the paper says; "-" for nothing.
        ours: What was found.
        verdict: ``CONFIRMED``, ``REFUTED``, ``CANNOT_TELL`` (within the noise of the repeats), or "-" where nothing is
            claimed.
        seeds: How many it rests on, where that is not as many as its part has; 0 for those of the part.
    """

    part: str
    text: str
    claimed: str
    ours: str
    verdict: str
    seeds: int = 0


def resampled(statistic: Statistic, repeats: int, confidence: float = CONFIDENCE) -> Found:
    """Return a statistic of all seeds, and its interval when the seeds are resampled."""
    rows = np.random.default_rng(0).integers(repeats, size=(_RESAMPLES, repeats))
    low, high = np.quantile(statistic(rows), [0.5 - confidence / 2, 0.5 + confidence / 2])
    return float(statistic(np.arange(repeats)[None, :])[0]), float(low), float(high)


def ratio_of_means(a: Array, b: Array, least: float = TINY) -> Statistic:
    """Mean a / mean b, an entry for each seed; means below ``least`` count as that."""
    return lambda rows: np.exp(log_mean(a, rows, least) - log_mean(b, rows, least))


def difference_of_means(a: Array, b: Array) -> Statistic:
    """Mean a less mean b, an entry for each seed."""
    return lambda rows: a[rows].mean(axis=1) - b[rows].mean(axis=1)


def log_mean(values: Array, rows: np.ndarray, least: float = TINY) -> Array:
    """Logarithms of means of resampled seeds, R, at least that of ``least``."""
    return np.log(np.maximum(values[rows].mean(axis=1), least))


def verdict(found: Found, repeats: int, *, low: float = -np.inf, high: float = np.inf) -> str:
    """Whether a number with its interval lies between two others; a few seeds cannot tell."""
    _, least, most = found
    if repeats < FEWEST_SEEDS:
        return CANNOT_TELL
    if low <= least and most <= high:
        return CONFIRMED
    return REFUTED if most <= low or least >= high else CANNOT_TELL


@dataclass(frozen=True)
class Ratios:
    """Claims about the ratio mean a / mean b, an entry of a and b for each seed.

    Attributes:
        digits: Format of the numbers.
    """

    digits: str

    def claim(
        self,
        part: str,
        text: str,
        a: Array,
        b: Array,
        *,
        low: float = -np.inf,
        high: float = np.inf,
        claimed: str = "-",
        least: float = TINY,
    ) -> Claim:
        """Return the claim that the ratio lies between two numbers; nothing is claimed where ``claimed`` is "-".

        Means below ``least`` count as that.
        """
        found = resampled(ratio_of_means(a, b, least), len(a))
        middle, lower, upper = (format(number, self.digits) for number in found)
        said = "-" if claimed == "-" else verdict(found, len(a), low=low, high=high)
        return Claim(part, text, claimed, f"{middle} ({lower} to {upper})", said, len(a))

    def below(self, part: str, text: str, a: Array, b: Array, bound: float = 1.0, least: float = TINY) -> Claim:
        """Return the claim that the ratio is below a number."""
        return self.claim(part, text, a, b, high=bound, claimed=f"< {bound:g}", least=least)

    def above(self, part: str, text: str, a: Array, b: Array, bound: float = 1.0, least: float = TINY) -> Claim:
        """Return the claim that the ratio is above a number."""
        return self.claim(part, text, a, b, low=bound, claimed=f"> {bound:g}", least=least)

    def about(self, part: str, text: str, a: Array, b: Array, number: float, give: float) -> Claim:
        """Return the claim that the ratio is a number, give or take so much."""
        return self.claim(part, text, a, b, low=number - give, high=number + give, claimed=f"about {number:g}")


def share(part: str, text: str, holds: Array, *, low: float = 0.0, high: float = 1.0, claimed: str = "-") -> Claim:
    """Return the claim that something holds in a share of all searches between two numbers.

    The interval is the exact one of Clopper and Pearson: resampled seeds that all agree would have an interval of no width.
    Without any search nothing can be told.
    """
    n, count = len(holds), float(holds.sum())
    if not n:
        return Claim(part, text, claimed, "no search", "-" if claimed == "-" else CANNOT_TELL)
    tail = 0.5 - CONFIDENCE / 2
    least = float(betaincinv(count, n - count + 1, tail)) if count > 0 else 0.0
    most = float(betaincinv(count + 1, n - count, 1.0 - tail)) if count < n else 1.0
    found = (count / n, least, most)
    said = "-" if claimed == "-" else verdict(found, n, low=low, high=high)
    return Claim(part, text, claimed, "{:.2f} ({:.2f} to {:.2f})".format(*found), said, n)


def held(part: str, text: str, claimed: str, ours: str, holds: bool) -> Claim:
    """Return a claim that holds or does not, without noise."""
    return Claim(part, text, claimed, ours, CONFIRMED if holds else REFUTED)


def counted(part: str, text: str, holds: Sequence[bool]) -> Claim:
    """Return the claim that something holds in all of some cases."""
    return held(part, text, f"{len(holds)} of {len(holds)}", f"{sum(holds)} of {len(holds)}", all(holds))


def best_mean(a: Array, others: Iterable[Array], *, lower: bool) -> Statistic:
    """Whether the mean of a is better than those of all others, an entry of each for each seed: 1 or 0."""
    sign, rivals = (-1.0 if lower else 1.0), list(others)

    def statistic(rows: np.ndarray) -> Array:
        ours = sign * a[rows].mean(axis=1)
        return np.all([ours > sign * b[rows].mean(axis=1) for b in rivals], axis=0).astype(np.float64)

    return statistic


def counted_over(part: str, text: str, cases: Sequence[Statistic], repeats: int) -> Claim:
    """Return the claim that something holds in all of some cases, each of which resampled seeds may decide otherwise."""
    total = len(cases)
    found = resampled(lambda rows: np.sum([case(rows) for case in cases], axis=0), repeats)
    ours = f"{found[0]:.0f} ({found[1]:.0f} to {found[2]:.0f}) of {total}"
    return Claim(part, text, f"{total} of {total}", ours, verdict(found, repeats, low=total - 0.5))


def mean_interval(values: Array, confidence: float) -> tuple[Array, Array]:
    """t-intervals of the mean over the rows, repeats x length; nothing but the mean itself for one row."""
    mean, n = values.mean(axis=0), len(values)
    if n == 1:
        return mean, mean
    half = stdtrit(n - 1, 0.5 + confidence / 2) * values.std(axis=0, ddof=1) / np.sqrt(n)
    return mean - half, mean + half


def claim_lines(rows: Iterable[Claim], *, part: str, paper: str) -> list[str]:
    """Claims as lines of markdown; ``part`` and ``paper`` head the first and the third column."""
    lines = [f"| {part} | claim | {paper} | ours ({100 * CONFIDENCE:.0f} % interval) | |", "|---|---|---|---|---|"]
    return lines + [f"| {c.part} | {c.text} | {c.claimed} | {c.ours} | {c.verdict} |" for c in rows]


def print_claims(rows: Sequence[Claim]) -> None:
    """Print claims as a table."""
    wide = max((len(row.text) for row in rows), default=0)
    first = max((len(row.part) for row in rows), default=0)
    for row in rows:
        print(f"{row.part:{first}s} {row.text:{wide}s}  paper {row.claimed:18s} ours {row.ours:26s} {row.verdict}")
