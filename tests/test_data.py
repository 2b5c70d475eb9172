"""The records: what they accept, and the distributions a stored marginal keeps."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import norm

from calibo.data import STORED_LEVELS, Dataset, Forecast, Marginal, Suggestion, remembered_from
from calibo.errors import DataError

SCORES = ndtri(np.array(STORED_LEVELS))
GAUSSIAN = Marginal(2.0, 0.5)
SKEWED = Marginal(0.0, 1.0, tuple(np.exp(SCORES)))
ATOM = Marginal(0.0, 1.0, tuple(np.maximum(SCORES, 0.25)))


def dataset(n: int = 4, m: int = 1, d: int = 2, **options: object) -> Dataset:
    rng = np.random.default_rng(0)
    return Dataset(X=rng.random((n, d)), Y=rng.standard_normal((n, m)), **options)  # type: ignore[arg-type]


def test_stored_levels_are_symmetric_and_hold_the_usual_intervals() -> None:
    levels = np.array(STORED_LEVELS)
    assert np.all(np.diff(levels) > 0) and levels[0] > 0 and levels[-1] < 1
    np.testing.assert_allclose(levels + levels[::-1], 1.0, atol=1e-15)
    for coverage in (0.5, 0.8, 0.9, 0.95, 0.99):
        assert np.isclose(levels, (1 - coverage) / 2).any() and np.isclose(levels, (1 + coverage) / 2).any()


def test_gaussian_marginal_is_normal() -> None:
    assert GAUSSIAN.cdf(2.3) == pytest.approx(norm.cdf(2.3, 2.0, 0.5), abs=1e-15)
    assert GAUSSIAN.icdf(0.9) == pytest.approx(norm.ppf(0.9, 2.0, 0.5), abs=1e-14)
    assert GAUSSIAN.interval(0.8) == pytest.approx(norm.interval(0.8, 2.0, 0.5))


@pytest.mark.parametrize("distribution", [GAUSSIAN, SKEWED], ids=["gaussian", "skewed"])
@given(u=st.floats(1e-6, 1 - 1e-6) | st.sampled_from(STORED_LEVELS))
def test_marginal_cdf_inverts_icdf(distribution: Marginal, u: float) -> None:
    assert distribution.cdf(distribution.icdf(u)) == pytest.approx(u, abs=1e-9)


@pytest.mark.parametrize("distribution", [GAUSSIAN, SKEWED, ATOM], ids=["gaussian", "skewed", "atom"])
@given(
    u=st.lists(st.floats(1e-9, 1 - 1e-9), min_size=2, max_size=5),
    y=st.lists(st.floats(-50, 50), min_size=2, max_size=5),
)
def test_marginal_is_monotone(distribution: Marginal, u: list[float], y: list[float]) -> None:
    assert np.all(np.diff([distribution.icdf(v) for v in sorted(u)]) >= 0)
    assert np.all(np.diff([distribution.cdf(v) for v in sorted(y)]) >= 0)


def test_stored_quantiles_come_back_exactly() -> None:
    assert [SKEWED.icdf(level) for level in STORED_LEVELS] == pytest.approx(SKEWED.quantiles, rel=1e-12)


def test_an_atom_counts_from_the_right() -> None:
    assert ATOM.cdf(0.25) == pytest.approx(max(u for u, z in zip(STORED_LEVELS, SCORES, strict=True) if z <= 0.25))
    assert ATOM.icdf(0.3) == 0.25
    assert ATOM.cdf(np.nextafter(0.25, 0.0)) <= STORED_LEVELS[0]


quantile_tables = st.lists(
    st.sampled_from([0.0, 0.0, 0.5, 1.0]), min_size=len(STORED_LEVELS), max_size=len(STORED_LEVELS)
)


@given(steps=quantile_tables, y=st.integers(-2, 70))
def test_cdf_and_quantiles_agree_at_atoms_and_beside_them(steps: list[float], y: int) -> None:
    """The levels whose quantile is at most y have been reached at y, the others have not."""
    quantiles, levels = np.cumsum(steps), np.array(STORED_LEVELS)
    distribution = Marginal(0.0, 1.0, tuple(quantiles.tolist()))
    for value in (y / 2, float(np.nextafter(y / 2, -9.0)), float(np.nextafter(y / 2, 99.0))):
        reached = quantiles <= value
        below, above = levels[reached].max(initial=0.0), levels[~reached].min(initial=1.0)
        assert below - 1e-9 <= distribution.cdf(value) <= above + 1e-9


def test_a_point_mass() -> None:
    point = Marginal(3.0, 0.0, (3.0,) * len(STORED_LEVELS))
    assert point.icdf(0.2) == 3.0 and point.icdf(0.9) == 3.0
    assert point.cdf(2.9) == 0.0 and point.cdf(3.1) == 1.0


@pytest.mark.parametrize("distribution", [GAUSSIAN, SKEWED], ids=["gaussian", "skewed"])
def test_negation(distribution: Marginal) -> None:
    turned = distribution.negated()
    assert turned.mean == -distribution.mean and turned.std == distribution.std
    assert turned.icdf(0.1) == pytest.approx(-distribution.icdf(0.9))
    assert turned.cdf(-1.3) == pytest.approx(1 - distribution.cdf(1.3))
    assert turned.negated() == distribution


def test_the_forecast_of_a_suggestion_is_that_of_its_first_objective() -> None:
    one, other = (Forecast((Marginal(mean, 1.0),)) for mean in (0.0, 1.0))
    assert Suggestion({}, forecasts=(one, other)).forecast is one and Suggestion({}).forecast is None


def test_repr_of_a_marginal_is_short() -> None:
    assert repr(GAUSSIAN) == "Marginal(mean 2, 80 % interval 1.359 to 2.641)"


def test_forecast_stages() -> None:
    forecast = Forecast((GAUSSIAN, SKEWED))
    assert forecast.raw is GAUSSIAN and forecast.calibrated is SKEWED
    assert forecast.negated().raw == GAUSSIAN.negated()
    assert Forecast((GAUSSIAN,)).calibrated is GAUSSIAN


def test_dataset_fills_in_what_is_left_out() -> None:
    data = dataset()
    assert len(data) == 4 and data.forecasts == (None,) * 4 and data.categories == (0, 0)
    assert data.X_pending.shape == (0, 2) and data.X_failed.shape == (0, 2)
    empty = Dataset(X=np.empty((0, 3)), Y=np.empty((0, 1)), X_failed=np.zeros((1, 3)))
    assert len(empty) == 0 and empty.X_failed.shape == (1, 3)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"Y": np.zeros(4)}, "Y must be two-dimensional"),
        ({"Y": np.zeros((3, 1))}, "X has 4 rows but Y has 3"),
        ({"Y": np.full((4, 1), np.nan)}, "must be finite"),
        ({"Y_var": np.zeros(4)}, "Y_var has shape"),
        ({"forecasts": (None,) * 3}, "3 forecasts for 4 points"),
        ({"categories": (0, 0, 2)}, "3 entries in categories for 2 columns"),
    ],
)
def test_what_does_not_fit_together_is_refused(change: dict[str, object], says: str) -> None:
    with pytest.raises(DataError, match=says):
        dataclasses.replace(dataset(), **change)


def test_outcome_takes_one_column() -> None:
    forecasts = ((Forecast((GAUSSIAN,)), Forecast((SKEWED,))), None)
    data = dataset(
        2, 2, Y_var=np.array([[1.0, 2.0], [3.0, 4.0]]), forecasts=forecasts, hyperparameters=((1.0,), (2.0,))
    )
    second = data.outcome(1)
    np.testing.assert_array_equal(second.Y, data.Y[:, [1]])
    np.testing.assert_array_equal(second.Y_var, [[2.0], [4.0]])
    assert second.forecasts == ((Forecast((SKEWED,)),), None) and second.hyperparameters == ((2.0,),)


@pytest.mark.parametrize("index", [np.array([3, 1]), slice(1, 3)])
def test_rows_takes_points_and_forgets_what_is_pending(index: np.ndarray | slice) -> None:
    forecasts = tuple((Forecast((Marginal(float(i), 1.0),)),) for i in range(4))
    data = dataset(
        Y_var=np.arange(4.0)[:, None], forecasts=forecasts, X_pending=np.zeros((2, 2)), X_failed=np.zeros((1, 2))
    )
    some = data.rows(index)
    np.testing.assert_array_equal(some.X, data.X[index])
    np.testing.assert_array_equal(some.Y_var, np.arange(4.0)[index][:, None])
    assert [f[0].raw.mean for f in some.forecasts if f] == list(np.arange(4.0)[index])
    assert len(some.X_pending) == len(some.X_failed) == 0


def test_what_was_measured_last_of_failed_points() -> None:
    X, failed = np.array([[0.1], [0.2]]), np.array([[0.3], [0.4]])
    plain = Dataset(X=X, Y=np.ones((2, 2)), X_failed=failed, constraints=1)
    assert plain.Y_failed.shape == (2, 1) and np.isnan(plain.Y_failed).all()
    pruned = Dataset(X=X, Y=np.ones((2, 1)), X_failed=failed, Y_failed=np.array([[5.0], [np.nan]]))
    assert pruned.outcome(0).Y_failed[0, 0] == 5.0
    assert pruned.rows(slice(0, 1)).Y_failed.shape == (0, 1)
    with pytest.raises(DataError, match="1 rows in Y_failed for 2 failed points"):
        Dataset(X=X, Y=np.ones((2, 1)), X_failed=failed, Y_failed=np.ones((1, 1)))


def partly_feasible() -> Dataset:
    X = np.arange(8.0).reshape(4, 2) / 8
    Y = np.array([[1.0, 1.0], [2.0, -1.0], [3.0, 0.0], [4.0, -2.0]])
    return Dataset(X=X, Y=Y, X_pending=X[:1], X_failed=X[1:3], constraints=1, Y_var=np.full((4, 2), 0.1))


def test_parts_of_a_dataset_keep_pending_and_failed_points() -> None:
    data = partly_feasible()
    met, late = data.feasible_only(), data.since(3)
    assert met.Y[:, 0].tolist() == [1.0, 3.0] and late.Y[:, 0].tolist() == [4.0] and data.since(0) is data
    for part in (met, late):
        np.testing.assert_array_equal(part.X_pending, data.X_pending)
        np.testing.assert_array_equal(part.X_failed, data.X_failed)
    assert len(data.tried) == 7 and not len(data.rows(slice(0, 2)).X_failed)


def test_further_observations_and_pending_points() -> None:
    data = partly_feasible()
    more = data.with_observations(data.X[:2], data.Y[:2], hyperparameters=((0.5,),))
    assert len(more) == 6 and more.forecasts[-2:] == (None, None) and more.hyperparameters == ((0.5,),)
    assert more.Y_var is not None and np.isnan(more.Y_var[-2:]).all() and more.Y_var.shape == (6, 2)
    np.testing.assert_array_equal(data.with_pending(data.X[2:]).X_pending, data.X[[0, 2, 3]])


def test_pruned_points_are_observed_with_their_last_values() -> None:
    X = np.arange(8.0).reshape(4, 2) / 8
    data = Dataset(X=X[:2], Y=np.ones((2, 1)), X_failed=X[2:], Y_failed=np.array([[np.nan], [5.0]]))
    known = data.with_pruned()
    assert known.Y[:, 0].tolist() == [1.0, 1.0, 5.0] and len(known.X_failed) == 1
    assert partly_feasible().with_pruned().Y.shape == (4, 2)


def test_forecasts_are_forgotten_a_thousand_at_a_time() -> None:
    assert [remembered_from(n) for n in (0, 999, 1999, 2000, 2999, 3000, 100_000)] == [
        0,
        0,
        0,
        1000,
        1000,
        2000,
        99_000,
    ]
