"""Parts of the reproduction of Deshpande et al. 2024: kernels, warping, adaptive UCB, evidence, designs, tasks."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from calibo.data import Dataset
from calibo.distributions import Gaussian, Transformed
from calibo.models import RBF

FOLDER = "deshpande2024"
NAMES = ("likelihood", "kernels", "tanh", "adaptive", "tasks", "settings", "runs")


def data_of(n: int, d: int = 1, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return Dataset(X=X, Y=np.sin(5.0 * X[:, :1]) + 0.3 * rng.standard_normal((n, 1)))


def test_linear_kernel_is_bayesian_linear_regression(modules: dict[str, ModuleType]) -> None:
    data = data_of(15, 2)
    model = modules["kernels"].LinearGP().fit(data, rng=np.random.default_rng(0))
    v, s = model.theta.outputscale, model.theta.noise
    z = model.units.forward(data.Y[:, 0])
    precision = np.eye(2) / v + data.X.T @ data.X / s
    weights = np.linalg.solve(precision, data.X.T @ z / s)
    points = np.array([[0.2, 0.9], [0.7, 0.1]])
    found = model.predict(points, latent=True)
    scale = model.units.backward_std(np.ones(1))[0]
    np.testing.assert_allclose(found.mean, model.units.backward(points @ weights), atol=1e-7)
    expected = np.einsum("ij,jk,ik->i", points, np.linalg.inv(precision), points)
    np.testing.assert_allclose((found.std / scale) ** 2, expected, rtol=1e-6)
    near = [model.log_marginal_likelihood()]
    for step in ((0.1, 0.0), (-0.1, 0.0), (0.0, 0.1), (0.0, -0.1)):
        theta = replace(model.theta, outputscale=v * np.exp(step[0]), noise=s * np.exp(step[1]))
        near.append(replace(model, theta=theta, noise=np.full(15, theta.noise)).log_marginal_likelihood())
    assert near[0] >= max(near) - 1e-4


def test_periodic_kernel(modules: dict[str, ModuleType]) -> None:
    kernels = modules["kernels"]
    X = np.linspace(0.0, 1.0, 16)[:, None]
    data = Dataset(X=X, Y=np.sin(2.0 * np.pi * X / 0.43))
    model = kernels.PeriodicGP().fit(data, rng=np.random.default_rng(0))
    period, length = model.features.period, model.theta.lengthscales[0]
    gap = X - X.T
    expected = model.theta.outputscale * np.exp(-0.5 * (np.sin(np.pi * gap / period) / length) ** 2)
    np.testing.assert_allclose(model.covariance - np.diag(model.noise), expected, atol=1e-10)
    # The true period or a multiple is the most likely, and the wave goes on where there are no data.
    beyond = model.predict(np.array([[1.1]]), latent=True)
    assert beyond.mean[0] == pytest.approx(np.sin(2.0 * np.pi * 1.1 / 0.43), abs=0.25)


def test_tanh_warp_is_increasing_and_inverted(modules: dict[str, ModuleType]) -> None:
    warp = modules["tanh"].TanhWarp(4.0, 2.0, 1.0, 3.0, 0.5)
    y = np.linspace(-20.0, 25.0, 1001)
    w = warp.forward(y)
    assert (np.diff(w) > 0.0).all()
    np.testing.assert_allclose(warp.inverse(w), y, atol=1e-9)
    h = 1e-5
    slope = (warp.forward(y + h) - warp.forward(y - h)) / (2.0 * h)
    np.testing.assert_allclose(np.exp(warp.log_derivative(y)), slope, rtol=1e-6)
    bend = (warp.log_derivative(y + h) - warp.log_derivative(y - h)) / (2.0 * h)
    np.testing.assert_allclose(warp.curvature(y), bend, atol=1e-5)
    draws = warp.inverse(np.random.default_rng(0).normal(1.0, 0.7, 400_000))
    law = Transformed(Gaussian(np.array([1.0]), np.array([0.7])), warp)
    assert law.expected_improvement(3.2)[0] == pytest.approx(np.maximum(draws - 3.2, 0.0).mean(), rel=0.02)


def test_tanh_warping_is_chosen_by_the_likelihood(modules: dict[str, ModuleType]) -> None:
    tanh, gp = modules["tanh"], modules["likelihood"].IsotropicGP(RBF())
    data = data_of(12)
    warp = tanh.TanhWarp(1.5, 2.0, 0.0, 0.1, 0.8)
    raw = gp.fit(data, rng=np.random.default_rng(0)).hyperparameters
    surrogate = tanh.TanhWarped(gp)
    w = warp.forward(data.Y[:, 0])
    model = gp.posterior(replace(data, Y=w[:, None]), gp.objective(replace(data, Y=w[:, None])), np.array(raw))
    scale = model.units.backward_std(np.ones(1))[0]
    law = multivariate_normal(
        np.full(12, model.units.backward(np.array(model.theta.mean))), scale**2 * model.covariance
    )
    exact = law.logpdf(w) + warp.log_derivative(data.Y[:, 0]).sum()
    constant = -0.5 * 12 * np.log(2.0 * np.pi)
    assert surrogate.log_likelihood(data, warp, raw) + constant == pytest.approx(exact, abs=1e-6)
    # Outcomes that a step has pushed apart are pulled together again.
    plain = np.sin(6.0 * data.X[:, :1])
    pushed = tanh.TanhWarp(4.0, 2.0, 0.0, 0.0, 1.0).inverse(4.0 * plain)
    fitted = surrogate.fit(replace(data, Y=pushed), rng=np.random.default_rng(0))
    assert fitted.transform.height > 0.0


def test_adaptive_ucb_grows_as_far_as_the_reference_regret_allows(modules: dict[str, ModuleType]) -> None:
    gp = modules["likelihood"].IsotropicGP(RBF())
    data, rule = data_of(20), modules["adaptive"].AdaptiveUCB(gp, 5)
    model, first = gp.fit(data, rng=np.random.default_rng(0)), data.rows(np.arange(5))
    longest = gp.fit(first, rng=np.random.default_rng(0)).lengthscales
    h = rule.complexity(model, first, longest)
    shrunk = rule.shrunk(model, longest, h)
    assert h > 1.0 and (shrunk.theta.lengthscales <= longest / h**0.9 + 1e-12).all()
    gain = 0.5 * np.linalg.slogdet(shrunk.covariance / model.theta.noise)[1]
    start = rule.shrunk(model, longest, 1.0).conditioned(first)
    allowed = np.sqrt(5 * 0.5 * np.linalg.slogdet(start.covariance / model.theta.noise)[1]) * 4.0**0.9
    norm = h**0.1 * (h**0.9) ** 0.5
    assert norm * np.sqrt(20 * gain) == pytest.approx(allowed, rel=1e-4)
    value = rule.build(model, data, rng=np.random.default_rng(0))(np.array([[0.4]]))
    seen = shrunk.predict(np.array([[0.4]]), latent=True)
    assert value[0] == pytest.approx(seen.mean[0] + rule.gamma * norm * seen.std[0])


def test_later_points_are_forecast_from_those_before_them(modules: dict[str, ModuleType]) -> None:
    gp, data = modules["likelihood"].IsotropicGP(RBF()), data_of(9)
    model, evidence = modules["likelihood"].Later(4).fit(gp, data, rng=np.random.default_rng(0))
    assert len(evidence) == 5
    for i, row in enumerate(range(4, 9)):
        before = model.conditioned(data.rows(np.arange(row))).predict(data.X[[row]], latent=False)
        assert evidence.distribution.mean[i] == pytest.approx(before.mean[0], abs=1e-8)
        assert evidence.distribution.std[i] == pytest.approx(before.std[0], rel=1e-8)


def test_initial_designs(modules: dict[str, ModuleType]) -> None:
    settings, runs = modules["settings"], modules["runs"]
    job = settings.Job("table2", "forrester", "PI", settings.ONLINE, settings.PAPERS, 3, 8, 1, "Latin hypercube")
    space, _ = runs.objective(job)
    # One point in each of eight strata, where random points leave some empty.
    assert sorted((8 * runs.starts(job, space)[:, 0]).astype(int)) == list(range(8))
    sobol = runs.starts(replace(job, variant="Sobol"), space)[:, 0]
    assert sorted((8 * sobol).astype(int)) == list(range(8))
    assert sorted((8 * runs.starts(replace(job, variant=None), space)[:, 0]).astype(int)) != list(range(8))


def test_topic_models_are_trained(modules: dict[str, ModuleType]) -> None:
    tasks = modules["tasks"]
    one = tasks.task("lda")
    good, bad = ({"batch_size": batch, "tau0": 1, "kappa": 0.5} for batch in (16, 128))
    first = one.loss(good)
    assert first < one.loss(bad), "few large batches learn less in one pass"
    train, test = tasks.corpus()
    assert train.shape[0] == pytest.approx(4 * test.shape[0], abs=4) and train.shape[1] > 500


def test_the_grid_of_topic_models(
    modules: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pd = pytest.importorskip("pandas")
    tasks = modules["tasks"]
    monkeypatch.setenv(tasks.VARIABLE, str(tmp_path))
    with pytest.raises(LookupError, match="say where grid_lda.parquet is"):
        tasks.data_folder()
    assert "lda_grid" not in tasks.available()
    table = pd.DataFrame({"kappa": [0.5, 0.6], "tau0": [1, 64], "batch_size": [4, 16], "perplexity": [9.0, 8.0]})
    pytest.importorskip("pyarrow")
    table.to_parquet(tmp_path / "grid_lda.parquet")
    assert "lda_grid" in tasks.available()
    grid = tasks._grid(tmp_path / "grid_lda.parquet")
    rows = grid.space.decode(grid.space.enumerate())
    assert sorted(grid.loss(row) for row in rows) == [8.0, 9.0] and {row["log2_tau0"] for row in rows} == {0.0, 6.0}


@pytest.mark.extras
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is an extra")
def test_networks_are_trained(modules: dict[str, ModuleType]) -> None:
    import torch

    one = modules["tasks"].task("cnn")
    settings = {"batch_size": 32, "decay": 1e-7, "regularization": 1e-7, "hidden": 256, "channels": 128}
    state = torch.random.get_rng_state()
    learned = one.loss({**settings, "learning_rate": 3e-3})
    assert learned < 0.4 < 0.6 < one.loss({**settings, "learning_rate": 1e-7})
    assert learned == one.loss({**settings, "learning_rate": 3e-3})
    assert torch.equal(state, torch.random.get_rng_state())
    assert set(one.space.names) == {*settings, "learning_rate"}
