"""Hyperparameters left out: close to refits without each outcome, and only where hyperparameters were fitted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calibo.data import Dataset
from calibo.models import GaussianProcess, NearestNeighbourGP, NoisePrior, Scheduled, Warped
from calibo.models.gp_posterior import Posterior
from calibo.models.jackknife import MOST_OUTCOMES

RNG = np.random.default_rng


def ill_scaled(n: int, seed: int = 0, categories: tuple[int, ...] = (0, 0, 0)) -> Dataset:
    """Most points in one corner, few elsewhere: the few decide the length scales."""
    rng = RNG(seed)
    X = np.vstack([rng.random((n - n // 2, 3)), 0.8 + 0.1 * rng.random((n // 2, 3))])
    X[:, 2] = np.where(categories[2], np.floor(X[:, 2] * 3.0), X[:, 2])
    y = 9.0 * (X[:, 1] - np.square(X[:, 0])) ** 2 + X[:, 2] + 0.02 * rng.standard_normal(n)
    return Dataset(X=X, Y=-y[:, None], categories=categories)


def refitted(process: GaussianProcess, data: Dataset, hyperparameters: tuple[float, ...]) -> np.ndarray:
    """Normal scores of all outcomes by fits without each, from the hyperparameters of all."""
    scores = np.empty(len(data))
    for i in range(len(data)):
        part = replace(data.rows(np.delete(np.arange(len(data)), i)), hyperparameters=(hyperparameters,))
        model = process.fit(part, rng=RNG(0))
        scores[i] = model.predict(data.X[[i]], latent=False).normal_scores(data.Y[i, 0])[0]
    return scores


@pytest.mark.parametrize("categories", [(0, 0, 0), (0, 0, 3)])
def test_it_is_close_to_refits_without_each_outcome(categories: tuple[int, ...]) -> None:
    process, data = GaussianProcess(noise=NoisePrior.wide()), ill_scaled(24, categories=categories)
    model = process.fit(data, rng=RNG(0))
    y = data.Y[:, 0]
    honest = refitted(process, data, model.hyperparameters)
    kept, stepped = (left_out.normal_scores(y) for left_out in (model.leave_one_out(), model.jackknife()))
    off = [np.sqrt(np.mean(np.square(scores - honest))) for scores in (kept, stepped)]
    assert off[1] < 0.6 * off[0], f"kept hyperparameters are off by {off[0]:.2f}, those of a step by {off[1]:.2f}"
    size = [np.sqrt(np.mean(np.square(scores))) for scores in (kept, stepped, honest)]
    assert size[0] < size[1] and size[0] < size[2], "left out, hyperparameters predict worse"


def test_the_mean_is_left_out_exactly() -> None:
    """With hyperparameters that were not fitted there is no step, and only the constant mean is estimated anew."""
    data = ill_scaled(12)
    model = GaussianProcess().fit(data, rng=RNG(0))
    fixed = replace(model, precision=np.full(5, np.inf))
    found = fixed.jackknife(np.array([3, 7]))
    for place, i in enumerate((3, 7)):
        rows = np.delete(np.arange(12), i)
        part = replace(model, X=model.X[rows], y=model.y[rows], noise=model.noise[rows])
        A, z = part.covariance, part.units.forward(part.y)
        mean = np.linalg.solve(A, z).sum() / np.linalg.solve(A, np.ones(11)).sum()
        expected = replace(part, theta=replace(model.theta, mean=mean)).predict(model.X[[i]], latent=False)
        np.testing.assert_allclose(
            [found.mean[place], found.std[place]], [expected.mean[0], expected.std[0]], rtol=1e-6
        )


def test_without_fitted_hyperparameters_or_with_many_outcomes_they_are_kept() -> None:
    few, many = ill_scaled(3), ill_scaled(MOST_OUTCOMES + 1)
    for data, process in ((few, GaussianProcess()), (many, GaussianProcess(max_iterations=1))):
        model = process.fit(data, rng=RNG(0))
        np.testing.assert_array_equal(model.jackknife().mean, model.leave_one_out().mean)
    neighbours = NearestNeighbourGP(GaussianProcess(max_iterations=1)).fit(ill_scaled(12), rng=RNG(0))
    np.testing.assert_array_equal(neighbours.jackknife().std, neighbours.leave_one_out().std)


def test_hyperparameters_at_a_bound_and_known_noise_are_not_fitted() -> None:
    data = ill_scaled(10)
    known = replace(data, Y_var=np.full((10, 1), 0.01))
    free, fixed = (GaussianProcess().fit(d, rng=RNG(0)) for d in (data, known))
    assert free.precision is not None and np.isfinite(free.precision).all() and free.precision[-1] == pytest.approx(1.0)
    assert fixed.precision is not None and np.isinf(fixed.precision[-1]) and np.isfinite(fixed.jackknife().std).all()
    quiet = GaussianProcess(noise=NoisePrior(location=-30.0, width=0.1)).fit(data, rng=RNG(0))
    assert quiet.precision is not None and np.isinf(quiet.precision[-1])


def test_wrappers_pass_it_on_in_their_units() -> None:
    data = replace(ill_scaled(14), Y=-np.exp(-3.0 * ill_scaled(14).Y))
    model = Scheduled(Warped(GaussianProcess(max_iterations=5), tolerance=100.0)).fit(data, rng=RNG(0))
    inside = model.base
    while not isinstance(inside, Posterior):
        inside = inside.base  # type: ignore[attr-defined]
    rows, y = np.array([1, 4]), inside.y
    np.testing.assert_allclose(
        model.jackknife(rows).normal_scores(data.Y[rows, 0]), inside.jackknife().normal_scores(y)[rows], rtol=1e-9
    )


@pytest.mark.parametrize("y", [np.zeros(8), np.arange(8.0) * 1e300, np.array([0.0] * 7 + [1.0])])
def test_odd_outcomes_give_finite_predictions(y: np.ndarray) -> None:
    model = GaussianProcess().fit(Dataset(X=RNG(0).random((8, 2)), Y=y[:, None]), rng=RNG(0))
    found = model.jackknife()
    assert np.isfinite(found.mean).all() and np.isfinite(found.std).all() and (found.std > 0.0).all()
