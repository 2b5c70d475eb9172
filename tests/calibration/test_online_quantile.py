"""Online quantile recalibration: reference runs, and the bound on every stream anyone could think of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from calibo.calibration import Evidence, OnlineQuantile, Relevel
from calibo.calibration.online_quantile import DEFAULT_LEVELS
from calibo.data import remembered_from
from calibo.distributions import Gaussian, Levels, Relevelled
from calibo.errors import RecipeError

FIVE = (0.1, 0.25, 0.5, 0.75, 0.9)
CLOSE = (0.98, 0.99)
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


def test_reference_runs(golden: Callable[[str], Any]) -> None:
    reference = golden("ocbo_recalibrator")
    pits = np.array(reference["pits"])
    for case in reference["runs"]:
        kind = {"monotone": case["mode"] == "pav", "from_zero": case["init"] != "identity"}
        online = OnlineQuantile(case["eta"], tuple(reference["levels"]), **kind)
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


#: Any stream, a constant one, and extremes that alternate.
streams = st.one_of(
    st.lists(st.floats(0, 1), min_size=1, max_size=60),
    st.builds(lambda u, n: [u] * n, st.floats(0, 1), st.integers(1, 120)),
    st.builds(lambda period, n: [float(t // period % 2) for t in range(n)], st.integers(1, 9), st.integers(2, 120)),
)


@settings(max_examples=200)
@given(eta=etas, levels=level_sets, pits=streams)
def test_bound_on_any_stream(eta: float, levels: tuple[float, ...], pits: list[float]) -> None:
    check_invariants(OnlineQuantile(eta, levels), pits)


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
        played = np.array(online._play((p + online.eta * errors).tolist()))  # the hidden state is p + eta x errors
        u = max(reachable(played), key=lambda v: pain(errors + p - (v <= played)))
        errors = errors + p - (u <= played)
        pits.append(u)
    return pits


#: The largest error, the sum of the errors, and of their squares.
PAINS: tuple[Callable[[np.ndarray], float], ...] = (
    lambda e: float(np.abs(e).max()),
    lambda e: float(np.abs(e).sum()),
    lambda e: float(np.square(e).sum()),
)


@pytest.mark.parametrize("eta", [0.05, 1.0, 10.0])
@pytest.mark.parametrize("levels", [CLOSE, FIVE, DEFAULT_LEVELS], ids=["close", "five", "default"])
def test_bound_against_greedy_adversaries(eta: float, levels: tuple[float, ...]) -> None:
    """Of all levels together, and of one level that is to be missed or hit."""
    online = OnlineQuantile(eta, levels)
    for pain in PAINS:
        check_invariants(online, adversary(online, 40, pain))
    for k in sorted({0, len(levels) // 2, len(levels) - 2, len(levels) - 1}):
        for sign in (1.0, -1.0):
            check_invariants(online, adversary(online, 30, lambda e, k=k, sign=sign: sign * float(e[k])))  # type: ignore[misc]


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
        played = np.array(online._play(hidden.tolist()))
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
    drifting = 0.5 + 0.5 * np.sin(t / 50), (t // 300 % 2) * rng.random(2000)
    for pits in (rng.random(2000), rng.beta(0.2, 0.2, 2000), *drifting):
        check_invariants(online, list(pits))


# --- folding ----------------------------------------------------------------------------------------------------------


@given(eta=etas, pits=st.lists(st.floats(0, 1), min_size=2, max_size=30), cut=st.integers(0, 30))
def test_a_part_of_a_stream_gives_a_part_of_the_run(eta: float, pits: list[float], cut: int) -> None:
    cut = min(cut, len(pits))
    online = OnlineQuantile(eta, FIVE)
    whole, first = online.run(np.array(pits)), online.run(np.array(pits[:cut]))
    np.testing.assert_array_equal(whole.hidden[: cut + 1], first.hidden)
    np.testing.assert_array_equal(whole.played[: cut + 1], first.played)


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


def test_the_final_map_is_the_last_of_the_run_whatever_was_asked_before() -> None:
    """States are remembered: longer, shorter and other sequences, and other recalibrators, must not mix."""
    rng = np.random.default_rng(0)
    first, other = rng.random(40), rng.random(40)
    mixed = np.concatenate([first[:20], other[20:]])
    streams = [stream[:n] for n in (0, 3, 17, 40, 9) for stream in (first, other, mixed)]
    for recalibrator in (OnlineQuantile(), OnlineQuantile(eta=0.05), OnlineQuantile(from_zero=True)):
        for stream in streams:
            np.testing.assert_array_equal(recalibrator.final(stream), recalibrator.run(stream).played[-1])


def test_the_final_map_of_a_long_sequence() -> None:
    pit = np.random.default_rng(1).random(10_000)
    for stream in (pit, pit[:-1], pit):
        np.testing.assert_array_equal(OnlineQuantile().final(stream), OnlineQuantile().run(stream).played[-1])


def test_one_outcome_moves_the_map_by_one_step_only() -> None:
    """Nothing about a first outcome makes the 98 % interval a 50 % interval."""
    eta = 0.05
    for u in (0.01, 0.5, 0.99):
        levels = handed_on(OnlineQuantile(eta), [u])
        moved = np.abs(levels.forward(np.array(DEFAULT_LEVELS)) - DEFAULT_LEVELS)
        assert moved.max() <= eta + 1e-12


@settings(max_examples=100)
@given(eta=etas, levels=level_sets, pits=streams)
def test_levels_handed_on_increase_strictly(eta: float, levels: tuple[float, ...], pits: list[float]) -> None:
    """Whatever is played together: no interval begins at the median, and none is empty."""
    handed = handed_on(OnlineQuantile(eta, levels), pits)
    assert (np.diff(handed.r) > 0.0).all()
    distribution = Relevelled(Gaussian(np.zeros(1), np.ones(1)), handed)
    quantiles = distribution.over_samples().icdf(np.linspace(0.001, 0.999, 499)[:, None])[:, 0]
    assert (np.diff(quantiles) > 0.0).all()


@pytest.mark.parametrize("eta", [0.05, 1.0, 10.0])
def test_levels_handed_on_increase_strictly_after_greedy_adversaries(eta: float) -> None:
    online = OnlineQuantile(eta)
    for pain in PAINS:
        assert (np.diff(handed_on(online, adversary(online, 40, pain)).r) > 0.0).all()


@pytest.mark.parametrize("n", [1, 30])
def test_levels_that_stand_alone_are_handed_on_unchanged(n: int) -> None:
    online, p = OnlineQuantile(0.05), np.array(DEFAULT_LEVELS)
    pits = np.random.default_rng(0).random(n)
    played = online.run(pits).played[-1]
    shown = handed_on(online, list(pits)).forward(p)
    gaps = np.diff(np.concatenate([[0.0], played, [1.0]]))
    alone = (gaps[:-1] > 1e-6) & (gaps[1:] > 1e-6) & (played > 0.005) & (played < 0.995)
    assert alone.sum() > 10
    np.testing.assert_allclose(shown[alone], played[alone])
    # Levels of a pool stay between its neighbours, around its value.
    for k in np.flatnonzero(~alone & (played > 0.005) & (played < 0.995)):
        pool = np.flatnonzero(np.abs(played - played[k]) <= 1e-6)
        below, above = np.concatenate([[0.0], played])[pool[0]], np.concatenate([played, [1.0]])[pool[-1] + 1]
        assert below < shown[pool[0]] <= played[k] <= shown[pool[-1]] < above


@pytest.mark.parametrize("n", [1, 30])
def test_what_was_played_inside_is_handed_on_unchanged_if_pools_are_kept(n: int) -> None:
    online = OnlineQuantile(0.05, pooled=True)
    pits = np.random.default_rng(0).random(n)
    played = online.run(pits).played[-1]
    inside = (played > 0.005) & (played < 0.995)
    np.testing.assert_allclose(handed_on(online, list(pits)).forward(np.array(DEFAULT_LEVELS))[inside], played[inside])


# --- settings ---------------------------------------------------------------------------------------------------------


def test_bad_settings_are_refused() -> None:
    for eta in (0.0, np.nan, np.inf):
        with pytest.raises(RecipeError, match="eta must be a positive number"):
            OnlineQuantile(eta)
    for levels in ((), (0.5, 0.5), (0.0, 0.5), (0.5, 1.0)):
        with pytest.raises(RecipeError, match="levels must increase strictly"):
            OnlineQuantile(0.1, levels)


@pytest.mark.parametrize("eta", [0.05, 0.2, 1.0])
def test_the_bound_of_a_stretch_while_old_forecasts_are_forgotten(eta: float) -> None:
    recipe, p = OnlineQuantile(eta, (0.1, 0.5, 0.9)), np.array([0.1, 0.5, 0.9])
    rng = np.random.default_rng(0)
    # Forecasts that are far too wide, then too narrow, then far off to one side.
    pit = np.concatenate([0.45 + 0.1 * rng.random(1500), rng.integers(0, 2, 1500), 0.02 * rng.random(2000)]).astype(
        float
    )
    for start in range(0, len(pit), 1000):
        known, end = remembered_from(start), start + 1000
        assert all(remembered_from(t) == known for t in range(start, end))
        played = recipe.run(pit[known:end]).played[start - known : -1]
        error = np.abs(np.mean(pit[start:end, None] <= played, axis=0) - p)
        assert (error <= 2.0 * recipe.bound(1000) + 1e-9).all()
