"""The monotone map that is played: the projection, and where the bound asks for more than the projection."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.calibration.monotone_play import isotonic_projection, isotonic_rows, spread_pools, within_bound
from calibo.calibration.online_quantile import DEFAULT_LEVELS
from calibo.distributions import Levels

P = np.asarray(DEFAULT_LEVELS)


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=30).map(np.array))
def test_the_projection_is_the_nearest_monotone_vector(values: np.ndarray) -> None:
    projected = isotonic_projection(values)
    assert np.all(np.diff(projected) >= 0.0)
    np.testing.assert_allclose(projected.mean(), values.mean(), atol=1e-9)
    np.testing.assert_array_equal(isotonic_projection(np.sort(values)), np.sort(values))
    # Optimality in a cone: the residual is orthogonal to the projection and has no gain along any step upwards.
    residual = values - projected
    np.testing.assert_allclose(residual @ projected, 0.0, atol=1e-7)
    assert np.all(np.cumsum(residual[::-1]) <= 1e-9)


def test_small_errors_leave_the_projection_alone() -> None:
    hidden = P + 0.01
    assert within_bound(hidden, hidden, P, eta=0.2) is hidden


def test_the_play_stays_monotone_and_saves_the_bound_where_the_projection_breaks_it() -> None:
    eta, hidden = 10.0, P.copy()
    bare = P.copy()
    errors, bare_errors = [], []
    for u in [0.0] * 7 + [1.0]:
        played = within_bound(hidden, isotonic_projection(hidden), P, eta)
        assert np.all(np.diff(played) >= -1e-12)
        hidden = hidden - eta * ((u <= played) - P)
        bare = bare - eta * ((u <= isotonic_projection(bare)) - P)
        errors.append(np.abs(hidden - P).max() / (1.0 + eta))
        bare_errors.append(np.abs(bare - P).max() / (1.0 + eta))
    assert max(errors) <= 1.0 + 1e-9 < max(bare_errors)


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), rows=st.integers(1, 60), size=st.integers(1, 25))
def test_projections_of_many_rows_are_those_of_each(seed: int, rows: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.linspace(0, 1, size) + rng.choice([0.0, 0.01, 1.0]) * rng.standard_normal((rows, size))
    found = isotonic_rows(values)
    np.testing.assert_allclose(found, [isotonic_projection(row) for row in values], atol=1e-12)
    assert np.all(np.diff(found) >= 0.0)
    np.testing.assert_array_equal(isotonic_rows(values.reshape(1, rows, size)), found[None])


@settings(max_examples=200)
@given(
    steps=st.lists(st.sampled_from([0.0, 0.0, 1e-17, 1e-9, 1e-3, 0.1, 1.0]), min_size=2, max_size=24),
    ends=st.tuples(st.floats(1e-3, 1.0), st.floats(1e-3, 1.0)),
)
def test_spread_levels_increase_strictly_between_the_same_neighbours(
    steps: list[float], ends: tuple[float, float]
) -> None:
    """Also where values differ by rounding, which a level map takes as equal."""
    whole = np.cumsum([ends[0], *steps, ends[1]])
    r = np.clip(whole[:-1] / whole[-1], 1e-3, 1.0 - 1e-3)
    p = np.linspace(0.0, 1.0, len(r) + 2)[1:-1]
    spread = spread_pools(p, r)
    levels = Levels.clipped(p, spread, 0.0)
    assert (np.diff(levels.r) > 0.0).all(), "a step was taken for rounding"
    # A pool keeps its value at its middle, and its levels stay between the values of the pools beside it.
    pools = np.split(np.arange(len(r)), np.flatnonzero(np.diff(r) > 1e-6) + 1)
    for i, pool in enumerate(pools):
        below = r[pools[i - 1][-1]] if i else 0.0
        above = r[pools[i + 1][0]] if i + 1 < len(pools) else 1.0
        assert below < spread[pool[0]] and spread[pool[-1]] < above
        if len(pool) % 2:
            middle = pool[len(pool) // 2]
            assert abs(spread[middle] - r[middle]) <= 1e-12


def test_pools_of_many_rows_are_spread_row_by_row() -> None:
    rng = np.random.default_rng(0)
    rows = np.sort(rng.choice([0.1, 0.3, 0.31, 0.6, 0.9], size=(4, 5, P.size)), axis=-1)
    spread = spread_pools(P, rows)
    for i, j in np.ndindex(4, 5):
        np.testing.assert_array_equal(spread[i, j], spread_pools(P, rows[i, j]))
    alone = np.linspace(0.01, 0.99, P.size)
    assert spread_pools(P, alone) is alone


def test_a_pool_by_hand() -> None:
    """Levels .4 to .6 pooled at .5 between .2 and .9: at .4, half way from the pool's middle .5 to .3, half way to .2."""
    spread = spread_pools(np.array([0.3, 0.4, 0.5, 0.6, 0.8]), np.array([0.2, 0.5, 0.5, 0.5, 0.9]))
    np.testing.assert_allclose(spread, [0.2, 0.35, 0.5, 0.5 + 0.4 / 3.0, 0.9])
