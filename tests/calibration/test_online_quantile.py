"""Online quantile recalibration: reference runs, and the bound on every stream anyone could think of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from calibo.calibration import Evidence, OnlineQuantile, Relevel
from calibo.calibration.online_quantile import DEFAULT_LEVELS, isotonic_projection
from calibo.distributions import Gaussian, Levels
from calibo.errors import RecipeError

FIVE = (0.1, 0.25, 0.5, 0.75, 0.9)
CLOSE = (0.98, 0.99)
PITS = [0.97, 0.03, 0.55, 0.99, 0.4, 0.01, 0.88, 0.97, 0.2, 0.62, 0.05, 0.93]
etas = st.one_of(st.floats(1e-3, 10.0), st.sampled_from([0.05, 0.3, 1.0, 3.0, 10.0]))
level_sets = st.one_of(
    st.sampled_from([FIVE, CLOSE, (0.01, 0.02, 0.03), DEFAULT_LEVELS]),
    st.lists(st.integers(1, 99), min_size=1, max_size=6, unique=True).map(lambda v: tuple(sorted(i / 100 for i in v))),
)


def evidence(pits: Sequence[float]) -> Evidence:
    scores = ndtri(np.clip(np.asarray(pits, dtype=float), 1e-300, 1 - 1e-16))
    return Evidence(np.zeros((len(scores), 1)), scores, Gaussian(np.zeros(len(scores)), np.ones(len(scores))))


def hits(online: OnlineQuantile, pits: Sequence[float]) -> np.ndarray:
    """Whether each PIT was at or below what was played, T x K."""
    return np.asarray(pits)[:, None] <= online.run(np.asarray(pits)).played[:-1]


def worst_ratio(online: OnlineQuantile, pits: Sequence[float]) -> float:
    """The largest long-run error of any level at any T in units of the bound."""
    steps = np.arange(1, len(pits) + 1)
    errors = np.abs(np.cumsum(hits(online, pits), axis=0) / steps[:, None] - np.asarray(online.levels))
    return float((errors.max(axis=1) / [online.bound(int(t)) for t in steps]).max())


def check_invariants(online: OnlineQuantile, pits: Sequence[float]) -> None:
    played = online.run(np.asarray(pits, dtype=float)).played
    assert np.all(np.diff(played, axis=1) >= -1e-12)
    assert worst_ratio(online, pits) <= 1 + 1e-9


# --- reference runs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("eta", "monotone", "final"),
    [
        (0.05, True, [0.010000000000000012, 0.2, 0.55, 0.8500000000000002, 0.9900000000000002]),
        (1.0, True, [0.275, 0.275, 0.5, 1.7249999999999999, 1.7249999999999999]),
    ],
)
def test_embedded_runs(eta: float, monotone: bool, final: list[float]) -> None:
    run = OnlineQuantile(eta, FIVE, monotone=monotone).run(np.array(PITS))
    np.testing.assert_allclose(run.played[-1], final, rtol=0, atol=1e-12)


def test_reference_runs(golden: Callable[[str], Any]) -> None:
    reference = golden("ocbo_recalibrator")
    pits = np.array(reference["pits"])
    for case in reference["runs"]:
        online = OnlineQuantile(
            case["eta"],
            tuple(reference["levels"]),
            monotone=case["mode"] == "pav",
            from_zero=case["init"] != "identity",
        )
        run = online.run(pits)
        np.testing.assert_allclose(run.hidden, case["hidden"], rtol=0, atol=1e-12)
        np.testing.assert_allclose(run.played[:-1], case["played"], rtol=0, atol=1e-12)
        np.testing.assert_allclose(run.played[-1], case["final_played"], rtol=0, atol=1e-12)
        np.testing.assert_allclose(hits(online, pits).mean(axis=0), case["coverage"], rtol=0, atol=1e-12)
        assert online.bound(len(pits)) == pytest.approx(case["bound"], abs=1e-12)


def test_raw_states_cross_and_played_ones_do_not() -> None:
    """The paper's monotonicity lemma is false: eta = 1, levels .4 and .5, PITs .5, .5, from 0."""
    pits = np.array([0.5, 0.5])
    raw = OnlineQuantile(1.0, (0.4, 0.5), monotone=False, from_zero=True).run(pits)
    np.testing.assert_allclose(raw.played[-1], [0.8, 0.0], atol=1e-12)
    for from_zero in (True, False):
        played = OnlineQuantile(1.0, (0.4, 0.5), from_zero=from_zero).run(pits).played
        assert np.all(np.diff(played, axis=1) >= 0)


def test_the_paper_starts_from_nothing() -> None:
    np.testing.assert_array_equal(OnlineQuantile(0.1, FIVE, from_zero=True).run(np.array([])).played, np.zeros((1, 5)))
    np.testing.assert_array_equal(OnlineQuantile(0.1, FIVE).run(np.array([])).played, [FIVE])


# --- the bound --------------------------------------------------------------------------------------------------------


@settings(max_examples=150)
@given(eta=etas, levels=level_sets, pits=st.lists(st.floats(0, 1), min_size=1, max_size=60))
def test_bound_on_any_stream(eta: float, levels: tuple[float, ...], pits: list[float]) -> None:
    check_invariants(OnlineQuantile(eta, levels), pits)


@settings(max_examples=60)
@given(eta=etas, levels=level_sets, u=st.floats(0, 1), n=st.integers(1, 120))
def test_bound_on_constant_streams(eta: float, levels: tuple[float, ...], u: float, n: int) -> None:
    check_invariants(OnlineQuantile(eta, levels), [u] * n)


@settings(max_examples=60)
@given(eta=etas, levels=level_sets, period=st.integers(1, 9), n=st.integers(2, 120))
def test_bound_on_alternating_extremes(eta: float, levels: tuple[float, ...], period: int, n: int) -> None:
    check_invariants(OnlineQuantile(eta, levels), [float(t // period % 2) for t in range(n)])


def reachable(played: np.ndarray) -> list[float]:
    """One PIT for every set of levels that an outcome could hit: at, and just above, each played value in [0, 1]."""
    inside = played[(played >= 0) & (played <= 1)]
    return sorted({0.0, 1.0, *inside.tolist(), *np.minimum(np.nextafter(inside, 2.0), 1.0).tolist()})


def adversary(online: OnlineQuantile, n: int, pain: Callable[[np.ndarray], float]) -> list[float]:
    """A stream whose every PIT is chosen, in sight of the played map, for the errors so far that hurt most.

    ``pain`` rates the summed errors of the levels (how much more often than wanted each was missed).
    """
    p = np.asarray(online.levels)
    pits: list[float] = []
    errors = np.zeros(p.size)
    for _ in range(n):
        played = online._project(p + online.eta * errors)  # the hidden state is p + eta x errors
        u = max(reachable(played), key=lambda v: pain(errors + p - (v <= played)))
        errors = errors + p - (u <= played)
        pits.append(u)
    return pits


PAINS: dict[str, Callable[[np.ndarray], float]] = {
    "largest": lambda e: float(np.abs(e).max()),
    "sum": lambda e: float(np.abs(e).sum()),
    "squares": lambda e: float(np.square(e).sum()),
}


@pytest.mark.parametrize("eta", [0.05, 0.3, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("levels", [CLOSE, FIVE, DEFAULT_LEVELS], ids=["close", "five", "default"])
@pytest.mark.parametrize("pain", sorted(PAINS))
def test_bound_against_greedy_adversaries(eta: float, levels: tuple[float, ...], pain: str) -> None:
    online = OnlineQuantile(eta, levels)
    check_invariants(online, adversary(online, 60, PAINS[pain]))


@pytest.mark.parametrize("eta", [0.05, 0.3, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("levels", [CLOSE, FIVE, DEFAULT_LEVELS], ids=["close", "five", "default"])
@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["missed", "hit"])
def test_bound_against_an_adversary_of_one_level(eta: float, levels: tuple[float, ...], sign: float) -> None:
    online = OnlineQuantile(eta, levels)
    for k in sorted({0, len(levels) // 2, len(levels) - 2, len(levels) - 1}):
        check_invariants(online, adversary(online, 50, lambda e, k=k: sign * float(e[k])))  # type: ignore[misc]


def test_bound_on_the_stream_that_breaks_the_bare_projection() -> None:
    """Two close levels made to cross by one outcome stay crossed: their mean obeys the bound, the lower one does not."""
    online = OnlineQuantile(10.0, CLOSE)
    check_invariants(online, [0.985] + [1 - 1e-9] * 40)


@settings(max_examples=40)
@given(eta=etas, levels=level_sets, choices=st.lists(st.integers(0, 10**6), min_size=1, max_size=30))
def test_bound_against_an_adversary_led_by_hypothesis(
    eta: float, levels: tuple[float, ...], choices: list[int]
) -> None:
    online = OnlineQuantile(eta, levels)
    hidden, pits = np.asarray(levels), list[float]()
    for choice in choices:
        played = online._project(hidden)
        options = reachable(played)
        pits.append(options[choice % len(options)])
        hidden = hidden - eta * ((pits[-1] <= played) - np.asarray(levels))
    check_invariants(online, pits)


@pytest.mark.slow
@pytest.mark.parametrize("eta", [0.05, 0.3, 1.0, 3.0, 10.0])
def test_bound_on_long_random_and_drifting_streams(eta: float) -> None:
    """Deterministic bound: the false-alarm rate is zero."""
    rng = np.random.default_rng(0)
    t = np.arange(2000)
    online = OnlineQuantile(eta)
    for pits in (
        rng.random(2000),
        rng.beta(0.2, 0.2, 2000),
        0.5 + 0.5 * np.sin(t / 50),
        (t // 300 % 2) * rng.random(2000),
    ):
        check_invariants(online, list(pits))


# --- folding ----------------------------------------------------------------------------------------------------------


@given(eta=etas, pits=st.lists(st.floats(0, 1), min_size=2, max_size=30), cut=st.integers(0, 30))
def test_folding_in_two_pieces_is_folding_at_once(eta: float, pits: list[float], cut: int) -> None:
    """A restarted process folds the stored stream again and arrives at the same state."""
    cut = min(cut, len(pits))
    online = OnlineQuantile(eta, FIVE)
    whole, first = online.run(np.array(pits)), online.run(np.array(pits[:cut]))
    np.testing.assert_array_equal(whole.hidden[: cut + 1], first.hidden)
    np.testing.assert_array_equal(whole.played[: cut + 1], first.played)
    hidden, p = first.hidden[-1], np.asarray(FIVE)
    for t, u in enumerate(pits[cut:], start=cut):
        hidden = hidden - eta * ((u <= whole.played[t]) - p)
    np.testing.assert_allclose(hidden, whole.hidden[-1], atol=1e-12)


def test_the_fold_owns_no_state() -> None:
    online, pits = OnlineQuantile(0.3), np.array(PITS)
    first = online.run(pits)
    online.run(1 - pits)
    np.testing.assert_array_equal(online.run(pits).hidden, first.hidden)


def test_order_matters() -> None:
    online = OnlineQuantile(1.0, FIVE)
    assert not np.allclose(online.run(np.array(PITS)).hidden[-1], online.run(np.array(PITS[::-1])).hidden[-1])


# --- the map handed on ------------------------------------------------------------------------------------------------


def handed_on(online: OnlineQuantile, pits: Sequence[float]) -> Levels:
    level_map = online.fit(evidence(pits))
    assert isinstance(level_map, Relevel) and isinstance(level_map.levels, Levels)
    return level_map.levels


@settings(max_examples=60)
@given(eta=etas, pits=st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_the_map_handed_on_is_a_level_map_inside_the_open_interval(eta: float, pits: list[float]) -> None:
    levels = handed_on(OnlineQuantile(eta), pits)
    assert np.all(np.diff(levels.r) >= 0) and levels.r[1] > 0 and levels.r[-2] < 1
    assert np.isfinite([levels.first_moment_above[0], levels.second_moment]).all()


def test_one_outcome_moves_the_map_by_one_step_only() -> None:
    """Nothing about a first outcome makes the 98 % interval a 50 % interval."""
    eta = 0.05
    for u in (0.01, 0.5, 0.99):
        levels = handed_on(OnlineQuantile(eta), [u])
        moved = np.abs(levels.forward(np.array(DEFAULT_LEVELS)) - DEFAULT_LEVELS)
        assert moved.max() <= eta + 1e-12


@pytest.mark.parametrize("n", [1, 3, 10, 30])
def test_what_was_played_inside_is_handed_on_unchanged(n: int) -> None:
    online = OnlineQuantile(0.05)
    pits = np.random.default_rng(0).random(n)
    played = online.run(pits).played[-1]
    inside = (played > 0.005) & (played < 0.995)
    np.testing.assert_allclose(handed_on(online, list(pits)).forward(np.array(DEFAULT_LEVELS))[inside], played[inside])


def test_direction_of_the_correction() -> None:
    """Outcomes above the model's 80 % quantile more often than they should be: the quantile moves up."""
    wide = handed_on(OnlineQuantile(0.2), [0.01, 0.99] * 20)
    assert float(wide.forward(0.8)) > 0.8 and float(wide.forward(0.2)) < 0.2
    narrow = handed_on(OnlineQuantile(0.2), [0.45, 0.55] * 20)
    assert float(narrow.forward(0.8)) < 0.8 and float(narrow.forward(0.2)) > 0.2
    high = handed_on(OnlineQuantile(0.2), [0.9] * 20)
    assert float(high.forward(0.5)) > 0.5


def test_long_run_coverage_of_a_model_twice_too_sure() -> None:
    """Deterministic: within the bound 1.3 / (.3 x 400) = .011 of every level."""
    scores = 2.0 * np.random.default_rng(1).standard_normal(400)
    shares = hits(OnlineQuantile(0.3), list(ndtr(scores))).mean(axis=0)
    np.testing.assert_allclose(shares, DEFAULT_LEVELS, atol=OnlineQuantile(0.3).bound(400))


# --- settings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eta", [0.0, -1.0, np.nan, np.inf])
def test_bad_steps_are_refused(eta: float) -> None:
    with pytest.raises(RecipeError, match="eta must be a positive number"):
        OnlineQuantile(eta)


@pytest.mark.parametrize("levels", [(), (0.5, 0.5), (0.5, 0.4), (0.0, 0.5), (0.5, 1.0)])
def test_bad_levels_are_refused(levels: tuple[float, ...]) -> None:
    with pytest.raises(RecipeError, match="levels must increase strictly"):
        OnlineQuantile(0.1, levels)


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=12).map(np.array))
def test_isotonic_projection_is_the_nearest_monotone_vector(values: np.ndarray) -> None:
    projected = isotonic_projection(values)
    assert np.all(np.diff(projected) >= -1e-12)
    assert projected.sum() == pytest.approx(values.sum(), abs=1e-9)
    np.testing.assert_allclose(isotonic_projection(projected), projected, atol=1e-9)
    # Optimality in a cone: the residual is orthogonal to the projection and has no gain along any step upwards.
    residual = values - projected
    assert residual @ projected == pytest.approx(0.0, abs=1e-7)
    assert np.all(np.cumsum(residual[::-1]) <= 1e-9)
