"""The Gaussian process of a core and nearest neighbours: exact while all data are among them, close to it beyond."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.data import Array, Dataset, Rows
from calibo.errors import RecipeError
from calibo.models import RBF, Capability, GaussianProcess, Kernel, Matern52, NearestNeighbourGP
from calibo.models.gp_posterior import Posterior
from calibo.models.neighbours import NeighbourPosterior, _room, shared_neighbours
from calibo.testing.surrogate_suite import SurrogateSuite

RNG = np.random.default_rng


class TestNearestNeighbourGP(SurrogateSuite):
    def surrogate(self) -> NearestNeighbourGP:
        return NearestNeighbourGP()


class TestFewNeighbours(SurrogateSuite):
    """The same with fewer core and neighbours than data."""

    points = 40

    def surrogate(self) -> NearestNeighbourGP:
        return NearestNeighbourGP(GaussianProcess(subset=30), neighbours=6, core=12)


def wavy(n: int, d: int = 3, seed: int = 0, noise: float = 0.05) -> Dataset:
    rng = RNG(seed)
    X = rng.random((n, d))
    y = np.sin(6.0 * X[:, 0]) * X[:, 1] + np.square(X - 0.4).sum(axis=1) + noise * rng.standard_normal(n)
    return Dataset(X=X, Y=y[:, None])


def both(
    data: Dataset, neighbours: int, core: int, kernel: Kernel | None = None
) -> tuple[Posterior, NeighbourPosterior]:
    """Return the exact posterior and that of neighbours, with the same hyperparameters."""
    process = GaussianProcess(kernel or Matern52(), max_iterations=10)
    exact = process.fit(data, rng=RNG(0))
    kept = replace(data, hyperparameters=(exact.hyperparameters,), refit=False)
    return exact, NearestNeighbourGP(process, neighbours, core).fit(kept, rng=RNG(0))


def with_known_noise(data: Dataset) -> Dataset:
    known = np.full_like(data.Y, np.nan)
    known[::3] = 0.02
    return replace(data, Y_var=known)


def mixed(n: int) -> Dataset:
    rng = RNG(3)
    choice = rng.integers(0, 3, n)
    X = np.asarray(np.column_stack([rng.random(n), (choice + 0.5) / 3.0]), dtype=np.float64)
    Y = np.asarray(np.sin(5.0 * X[:, [0]]) + choice[:, None], dtype=np.float64)
    return Dataset(X=X, Y=Y, categories=(0, 3))


@pytest.mark.parametrize(
    "data", [wavy(40), with_known_noise(wavy(40)), mixed(40)], ids=["plain", "known noise", "choices"]
)
@pytest.mark.parametrize("core", [1, 12, 40])
@pytest.mark.parametrize("kernel", [Matern52(), RBF()], ids=["matern", "rbf"])
def test_is_exact_while_all_data_are_core_or_neighbours(data: Dataset, core: int, kernel: Kernel) -> None:
    exact, model = both(data, 40, core, kernel)
    X = np.vstack([RNG(1).random((10, data.X.shape[1])), data.X[:2]])
    for points in (X, X.reshape(4, 3, -1), X.reshape(2, 2, 3, -1)):
        for latent in (True, False):
            one, other = exact.predict(points, latent=latent), model.predict(points, latent=latent)
            np.testing.assert_allclose(other.mean, one.mean, rtol=0.0, atol=1e-8)
            np.testing.assert_allclose(other.std, one.std, rtol=1e-5)
            np.testing.assert_allclose(other.correlation(), one.correlation(), rtol=0.0, atol=1e-5)  # type: ignore[misc]
            np.testing.assert_allclose(other.noise_std, one.noise_std)
    for rows in (None, np.array([0, 7, 39]), np.arange(40)[::-1]):
        one, other = exact.leave_one_out(rows), model.leave_one_out(rows)
        np.testing.assert_allclose(other.mean, one.mean, rtol=0.0, atol=1e-7)
        np.testing.assert_allclose(other.std, one.std, rtol=1e-6)


def conditioned(exact: Posterior, rows: Rows, x: Array) -> tuple[float, float]:
    """Return mean and standard deviation of f at a point given some of the data, by the exact process."""
    part = Posterior(
        exact.kernel, exact.features, exact.theta, exact.X[rows], exact.y[rows], exact.noise[rows], exact.units
    )
    found = part.predict(x[None, :], latent=True)
    return float(found.mean[0]), float(found.std[0])


def test_is_the_process_given_core_and_neighbours() -> None:
    """Between bounds, since the precision of outer neighbours fades: with the inner half of them, and with all."""
    exact, model = both(wavy(300), 20, 30)
    X = RNG(4).random((25, 3))
    found = model.predict(X, latent=True)
    others = np.setdiff1d(np.arange(300), model.core_rows)
    away = np.square(exact.scale(X)[:, None] - exact.scaled[others]).sum(axis=-1)
    for i, x in enumerate(X):
        nearest = others[np.argsort(away[i])]
        few = conditioned(exact, np.concatenate([model.core_rows, nearest[:10]]), x)
        all_ = conditioned(exact, np.concatenate([model.core_rows, nearest[:20]]), x)
        assert all_[1] * (1.0 - 1e-9) <= found.std[i] <= few[1] * (1.0 + 1e-9)
        assert abs(found.mean[i] - all_[0]) <= few[1]


def test_is_close_to_the_exact_process_at_800() -> None:
    for d in (6, 20):
        data, fresh = wavy(800, d, noise=0.1), wavy(400, d, seed=1, noise=0.1)
        exact = GaussianProcess(subset=200).fit(data, rng=RNG(0))
        kept = replace(data, hyperparameters=(exact.hyperparameters,), refit=False)
        model = NearestNeighbourGP().fit(kept, rng=RNG(0))
        one, other = (m.predict(fresh.X, latent=False) for m in (exact, model))
        np.testing.assert_allclose(other.std, one.std, rtol=0.1)
        # Between 0.14 and 0.3 on three sets of data in 6 and 20 columns, with two ways of drawing the core.
        assert np.sqrt(np.mean(np.square((other.mean - one.mean) / one.std))) < 0.35
        errors = [np.mean(np.square(m.mean - fresh.Y[:, 0])) for m in (one, other)]
        # Between 1.0 and 1.21 of the exact one's there.
        assert errors[1] < 1.3 * errors[0]
        alone = NearestNeighbourGP(neighbours=64, core=1).fit(kept, rng=RNG(0)).predict(fresh.X, latent=False)
        assert errors[1] < np.mean(np.square(alone.mean - fresh.Y[:, 0])), "the core is worth its cost"


def test_leave_one_out_is_that_of_a_model_without_the_point() -> None:
    _, model = both(wavy(200), 12, 25)
    found = model.leave_one_out()
    for i in (*model.core_rows[:3], *np.setdiff1d(np.arange(200), model.core_rows)[:3]):
        rest = np.delete(np.arange(200), i)
        core = np.searchsorted(rest, model.core_rows[model.core_rows != i])
        without = replace(model, X=model.X[rest], y=model.y[rest], noise=model.noise[rest], core_rows=core).predict(
            model.X[[i]], latent=False
        )
        # A neighbour takes the place of a point of the core; the border of the others is the same.
        np.testing.assert_allclose(found.mean[i], without.mean[0], rtol=0.0, atol=1e-8)
        np.testing.assert_allclose(found.std[i], without.std[0], rtol=1e-7)


def test_predictions_are_continuous_where_neighbours_change() -> None:
    _, model = both(wavy(400, 2), 8, 10)
    line = np.column_stack([np.linspace(0.2, 0.8, 4001), np.full(4001, 0.5)])
    found = model.predict(line, latent=True)
    sharp = np.abs(np.diff(found.mean, 2)).max()
    finer = np.column_stack([np.linspace(0.2, 0.8, 16001), np.full(16001, 0.5)])
    # A jump would be as large on a grid four times as fine; a change of slope is a quarter of it.
    assert np.abs(np.diff(model.predict(finer, latent=True).mean, 2)).max() < 0.5 * sharp


def test_points_far_and_close_together_have_the_same_neighbours_as_alone() -> None:
    _, model = both(wavy(500, 4), 10, 20)
    near = 0.5 + 1e-5 * RNG(0).standard_normal((30, 4))
    X = np.vstack([RNG(1).random((20, 4)), near, 0.5 + 0.02 * RNG(2).standard_normal((30, 4))])
    together = model.predict(X, latent=True)
    alone = [model.predict(x[None, :], latent=True) for x in X]
    np.testing.assert_allclose(together.mean, [float(a.mean[0]) for a in alone], rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(together.std, [float(a.std[0]) for a in alone], rtol=1e-8)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), q=st.integers(1, 6), grid=st.booleans())
def test_joint_draws_have_valid_correlations(seed: int, q: int, grid: bool) -> None:
    rng = RNG(seed)
    data = wavy(80, 2, seed)
    if grid:
        # Many equal distances, and repeated points.
        data = replace(data, X=np.round(4.0 * data.X) / 4.0)
    _, model = both(data, 5, 10)
    X = np.round(4.0 * rng.random((3, q, 2))) / 4.0 if grid else rng.random((3, q, 2))
    found = model.predict(X, latent=True)
    assert found.correlation is not None
    matrix = found.correlation()
    np.testing.assert_allclose(matrix, np.swapaxes(matrix, 1, 2), atol=1e-9)
    assert np.linalg.eigvalsh(matrix).min() > -1e-7
    assert np.isfinite(found.samples(rng.standard_normal((8, q)))[0]).all()


def test_nearby_points_are_drawn_together() -> None:
    _, model = both(wavy(300), 16, 20)
    X = np.array([[0.5, 0.5, 0.5], [0.501, 0.5, 0.5], [0.05, 0.9, 0.1]])
    correlation = model.predict(X, latent=True).correlation
    assert correlation is not None
    matrix = correlation()
    assert matrix[0, 1] > 0.9 > 0.5 > abs(matrix[0, 2])


def test_shared_neighbours_count_once() -> None:
    nearest = np.array([[[4, 2, 9, 1, 0, 7, 3, 5], [2, 8, 4, 6, 1, 0, 3, 5]]])
    rows, counts = shared_neighbours(nearest)
    assert sorted(rows[0][counts[0] > 0].tolist()) == [1, 2, 4, 6, 8, 9]
    assert rows.shape == counts.shape == (1, 8)
    rows, counts = shared_neighbours(np.stack([nearest[:, 0], nearest[:, 0, ::-1]], axis=1))
    assert rows.tolist() == [[0, 1, 2, 3, 4, 5, 7, 9]] and counts.all()


def test_more_than_eight_features_search_a_subset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calibo.models.neighbours._SEARCHED", 50)
    _, model = both(wavy(150, 9), 10, 20)
    assert len(model._search.rows) == 50 and not np.isin(model._search.rows, model.core_rows).any()
    rows = np.arange(150)
    assert np.isfinite(model.leave_one_out(rows).mean).all()


def test_capabilities_and_hyperparameters() -> None:
    exact, model = both(wavy(60), 10, 10)
    wanted = {Capability.HYPERPARAMETERS, Capability.LENGTHSCALES, Capability.LEAVE_ONE_OUT}
    assert model.capabilities == wanted == NearestNeighbourGP().capabilities
    assert model.hyperparameters == exact.hyperparameters
    np.testing.assert_array_equal(model.lengthscales, exact.lengthscales)


def test_bad_settings() -> None:
    with pytest.raises(RecipeError, match="neighbours must be a whole number"):
        NearestNeighbourGP(neighbours=0)
    with pytest.raises(RecipeError, match="core must be a whole number"):
        NearestNeighbourGP(core=0)
    with pytest.raises(RecipeError, match="process must be a GaussianProcess"):
        NearestNeighbourGP(process=GaussianProcess)  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that share memory with their parent")
def test_a_forked_process_does_not_write_into_the_projections_of_its_parent() -> None:
    kept = _room(4, 3)
    if (child := os.fork()) == 0:
        kept[:] = 1.0
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_array_equal(kept, 0.0)
