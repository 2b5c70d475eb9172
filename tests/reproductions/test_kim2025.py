"""The figures of Kim et al. 2025: a few steps of everything, with the reproduction's own code."""

import json
from pathlib import Path
from types import ModuleType

import numpy as np

FOLDER, PART, CLAIM = "kim2025", "8a", "| 8a | capacity LOCBO / CBO | about 1.2 |"
NAMES = ("settings", "problems", "radio", "variants", "runs", "figures", "claims", "pictures", "run")


def test_every_figure_is_written_and_drawn(modules: dict[str, ModuleType], smoke: Path) -> None:
    for number in modules["figures"].NUMBERS:
        assert (smoke / f"figure{number}.png").stat().st_size > 10_000
        rows = json.loads((smoke / f"figure{number}.json").read_text())["rows"]
        assert {row["method"] for row in rows} >= {"tempered LOCBO"}
    curves = json.loads((smoke / "figure5a.json").read_text())["rows"]
    assert [row["method"] for row in curves] == list(modules["settings"].METHODS)
    for row in curves:
        assert row["steps"] == [0, 1, 2] and row["repeats"] == 2
        # Measurements are without noise in this figure, so the best measured point can only get better.
        assert np.all(np.diff(row["mean"]) <= 0) and np.all(np.array(row["low"]) <= row["mean"])
    assert len({row["mean"][0] for row in curves}) == 1, "all methods start from the same points"


def test_one_station_is_moved_at_each_step(modules: dict[str, ModuleType]) -> None:
    settings, runs = modules["settings"], modules["runs"]
    job = settings.job("radio", settings.LOCBO, settings.Size(2, 12, 11, {}))
    data = runs.search(job)
    for step in range(job.steps):
        n = job.initial + step
        best = data.X[np.argmax(data.Y[:n, 0])]
        moved = np.flatnonzero(data.X[n] != best)
        assert moved.tolist() == [step % 9, step % 9 + 9]
        assert data.forecasts[n] is not None
    assert data.forecasts[job.initial - 1] is None


def test_hyperparameters_are_refitted_at_every_tenth_point_only(modules: dict[str, ModuleType]) -> None:
    from calibo.data import Dataset
    from calibo.models import GaussianProcess

    rng = np.random.default_rng(0)
    X, gp = rng.random((21, 2)), modules["variants"].SeldomRefitted(first=10)
    Y = np.sin(5 * X[:, :1]) + 0.1 * rng.standard_normal((21, 1))
    first = GaussianProcess().fit(Dataset(X=X[:10], Y=Y[:10]), rng=rng)
    stored = (first.hyperparameters,)
    carried = gp.fit(Dataset(X=X[:19], Y=Y[:19], hyperparameters=stored), rng=rng)
    assert carried.hyperparameters == first.hyperparameters and len(carried.y) == 19
    again = gp.fit(Dataset(X=X[:20], Y=Y[:20], hyperparameters=stored), rng=rng)
    full = GaussianProcess().fit(Dataset(X=X[:20], Y=Y[:20], hyperparameters=stored), rng=rng)
    assert again.hyperparameters == full.hyperparameters != first.hyperparameters
    # Carried along without a fit, the same hyper-parameters on the same data say the same.
    data = Dataset(X=X[:20], Y=Y[:20], hyperparameters=(full.hyperparameters,))
    same = modules["variants"].SeldomRefitted(first=11).fit(data, rng=rng).predict(X, latent=True)
    assert np.allclose(same.mean, full.predict(X, latent=True).mean)
    assert np.allclose(same.std, full.predict(X, latent=True).std)


def test_noiseless_models_take_a_measurement_for_the_truth(modules: dict[str, ModuleType]) -> None:
    from calibo.data import Dataset
    from calibo.models import GaussianProcess

    rng = np.random.default_rng(1)
    data = Dataset(X=rng.random((12, 1)), Y=rng.standard_normal((12, 1)))
    X = np.array([[0.2], [0.9]])
    blind, seeing = (
        one.fit(data, rng=rng) for one in (modules["variants"].Noiseless(GaussianProcess()), GaussianProcess())
    )
    assert np.array_equal(blind.predict(X, latent=True).std, seeing.predict(X, latent=False).std)
    assert np.all(blind.predict(X, latent=True).std > seeing.predict(X, latent=True).std)


def test_the_incumbent_is_the_first_largest_measurement(modules: dict[str, ModuleType]) -> None:
    assert modules["runs"].incumbents(np.array([1.0, 0.0, 3.0, 2.0, 4.0])).tolist() == [0, 0, 2, 2, 4]
    assert modules["runs"].incumbents(np.array([-1.0, -2.0, -0.5])).tolist() == [0, 0, 2]
