"""Stated probabilities of feasibility beside what came of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from calibo.data import Forecast, Marginal
from calibo.diagnostics import feasibility_table, stated_feasibility
from calibo.diagnostics.coverage import binomial_band
from calibo.diagnostics.feasibility import BANDS, expected_counts
from calibo.errors import DataError


def saying(*chances: float) -> tuple[Forecast, ...]:
    """Forecasts of constraints, each met with the given probability."""
    return tuple(Forecast((Marginal(0.0, 1.0), Marginal(-2.0 * float(ndtri(chance)), 2.0))) for chance in chances)


def counted_counts(chances: list[float], confidence: float) -> tuple[int, int]:
    """The equal-tailed band from the probabilities of all outcomes."""
    distribution = np.zeros(len(chances) + 1)
    for flags in itertools.product([0, 1], repeat=len(chances)):
        distribution[sum(flags)] += np.prod([p if flag else 1.0 - p for p, flag in zip(chances, flags, strict=True)])
    tail = (1.0 - confidence) / 2.0
    low = max(k for k in range(len(distribution)) if distribution[:k].sum() <= tail)
    high = min(k for k in range(len(distribution)) if distribution[k + 1 :].sum() <= tail)
    return low, high


@given(st.lists(st.sampled_from([0.03, 0.2, 0.41, 0.77, 0.96]), max_size=8), st.sampled_from([0.5, 0.9, 0.95]))
def test_the_expected_counts_are_those_of_all_outcomes(chances: list[float], confidence: float) -> None:
    assert expected_counts(np.array(chances), confidence) == counted_counts(chances, confidence)


@pytest.mark.parametrize(("n", "p"), [(1, 0.5), (20, 0.9), (200, 0.95), (500, 0.3)])
def test_equal_chances_are_a_binomial(n: int, p: float) -> None:
    low, high = expected_counts(np.full(n, p))
    theirs = binomial_band(n, p)
    assert abs(low - theirs[0]) <= 1 and abs(high - theirs[1]) <= 1
    assert 0 <= low <= n * p <= high <= n


def test_certainty_leaves_nothing_to_chance() -> None:
    assert expected_counts(np.ones(7)) == (7, 7)
    assert expected_counts(np.zeros(7)) == (0, 0)
    assert expected_counts(np.empty(0)) == (0, 0)


def test_the_stated_probability_is_of_all_constraints_after_calibration() -> None:
    assert stated_feasibility(saying(0.9)) == pytest.approx(0.9)
    assert stated_feasibility(saying(0.9, 0.5, 0.8)) == pytest.approx(0.36)


@pytest.mark.parametrize(("mean", "stated"), [(-0.1, 1.0), (0.0, 1.0), (0.1, 0.0)])
def test_a_point_mass_is_met_or_is_not(mean: float, stated: float) -> None:
    assert stated_feasibility((Forecast((Marginal(mean, 0.0),)),)) == stated


def test_every_point_is_in_one_band() -> None:
    stated = [0.0001, 0.0999, 0.1001, 0.4999, 0.5001, 0.8999, 0.9001, 0.9999]
    table = feasibility_table([saying(p) for p in stated], [False, True] * 4)
    assert [(row.low, row.high) for row in table.rows] == list(itertools.pairwise(BANDS))
    assert [row.of for row in table.rows] == [2] * 4
    assert [row.met for row in table.rows] == [1] * 4
    assert table.rows[3].stated == pytest.approx(0.95)


def test_the_last_band_has_its_end() -> None:
    certain = (Forecast((Marginal(-1.0, 0.0),)),)
    assert feasibility_table([certain] * 6, [True] * 6).rows[-1].of == 6


@pytest.mark.parametrize(
    ("met", "verdict"), [(30, "as promised"), (25, "too hopeful"), (0, "too hopeful"), (28, "as promised")]
)
def test_verdicts_on_what_seemed_safe(met: int, verdict: str) -> None:
    table = feasibility_table([saying(0.95)] * 30, [True] * met + [False] * (30 - met))
    assert table.rows[-1].verdict == verdict


def test_more_than_was_promised_is_cautious() -> None:
    row = feasibility_table([saying(0.2)] * 40, [True] * 40).rows[1]
    assert row.verdict == "too cautious"
    assert row.sentence() == (
        "of 40 points called feasible with 10 to 50 %, 40 met all constraints (too cautious: 3 to 13 were to be expected)"
    )


def test_the_words() -> None:
    table = feasibility_table([saying(0.95)] * 23 + [saying(0.05)], [True] * 22 + [False] * 2)
    assert table.headline() == (
        "Of 23 points called feasible with at least 90 %, 22 met all constraints (as promised)."
    )
    sentences = table.sentences()
    assert sentences[0] == "of 1 point called feasible with less than 10 %, 0 met all constraints (not yet)"
    assert sentences[1] == "no point was called feasible with 10 to 50 %"
    assert feasibility_table([], []).headline() == "No point was called feasible with at least 90 %."


def test_the_frame_has_a_row_per_band() -> None:
    table = feasibility_table([saying(0.95, 0.99)] * 8, [True] * 8)
    frame = table.to_frame().to_dict("list")
    assert list(frame["of"]) == [0, 0, 0, 8] and list(frame["met"]) == [0, 0, 0, 8]
    assert np.isnan(frame["stated"][0]) and frame["verdict"][3] == "as promised"
    assert frame["expected_high"][3] == 8


def test_one_outcome_for_each_forecast() -> None:
    with pytest.raises(DataError, match="2 forecasts for 1 outcomes"):
        feasibility_table([saying(0.5)] * 2, [True])


def test_right_probabilities_are_called_right() -> None:
    """Each of 160 bands is off with probability 0.05 at most, so that more than 16 are with less than 0.5 %."""
    rng, wrong = np.random.default_rng(5), 0
    for _ in range(40):
        chances = rng.random(120)
        table = feasibility_table([saying(p) for p in chances], (rng.random(120) < chances).tolist())
        wrong += sum(row.verdict != "as promised" for row in table.rows)
    assert wrong <= 16
