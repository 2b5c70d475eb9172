"""The monotone map that is played: the projection, and where the bound asks for more than the projection."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.calibration.monotone_play import isotonic_projection, isotonic_rows, within_bound
from calibo.calibration.online_quantile import DEFAULT_LEVELS

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
