"""Conformal selection: which rows are accepted, and that the budget holds."""

from __future__ import annotations

import numpy as np

from calibo.tables.error_budget import DrawnRows, fewest_accepted


def rows(scores: list[float], missed: list[bool]) -> DrawnRows:
    return DrawnRows(np.array(scores), np.array(missed))


def test_rows_above_all_misses_are_accepted_if_they_are_enough() -> None:
    drawn = rows([0.9] * 5 + [0.2] * 4, [False] * 5 + [True] * 4)
    many, few = np.array([0.8] * 6 + [0.1] * 4), np.array([0.8] * 2 + [0.1] * 8)
    # 10 candidates, each of p-value 1/10 above all misses: at a budget of .2 at least 5 must be accepted together.
    assert fewest_accepted(9, 10, 0.2) == 5
    assert drawn.allowed(drawn.counts(many), 0.2) == 0
    assert drawn.allowed(drawn.counts(few), 0.2) is None
    assert drawn.above(np.array([0.9, 0.2, 0.1])).tolist() == [0, 4, 4]


def test_counts_of_parts_add_up() -> None:
    drawn, scores = rows([0.9, 0.5, 0.3], [False, True, True]), np.random.default_rng(0).random(50)
    np.testing.assert_array_equal(drawn.counts(scores[:20]) + drawn.counts(scores[20:]), drawn.counts(scores))


def test_the_budget_holds_whatever_the_score_is_worth() -> None:
    rng = np.random.default_rng(0)
    for noise in (0.2, 1.0, 5.0):
        shares, accepted = [], 0
        for _ in range(400):
            y = rng.standard_normal(260)
            score = y + noise * rng.standard_normal(260)
            drawn = DrawnRows(score[:60], y[:60] < 0.0)
            allowed = drawn.allowed(drawn.counts(score[60:]), 0.2)
            chosen = np.zeros(200, dtype=bool) if allowed is None else drawn.above(score[60:]) <= allowed
            shares.append((chosen & (y[60:] < 0.0)).sum() / max(1, chosen.sum()))
            accepted += int(chosen.sum())
        assert np.mean(shares) < 0.2 + 3 * np.std(shares) / 20, noise
        assert accepted > 0, noise
