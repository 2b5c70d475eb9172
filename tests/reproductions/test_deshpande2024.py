"""The reproduction of Deshpande et al. 2024: a short run, the Forrester example, and the paper's model and metrics."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from calibo.data import Dataset
from calibo.models import RBF, GaussianProcess

FOLDER = "deshpande2024"
NAMES = ("likelihood", "settings", "runs", "figures", "claims", "pictures", "run")
CLAIM = "| 1 | paper's model, uncalibrated: searches stuck at the local minimum"
PART = "1"


def test_a_short_run(smoke: Path) -> None:
    assert {"figure1.json", "figure1.png", "figuretable1.json", "claims.json"} <= {
        file.name for file in smoke.iterdir()
    }


def test_baselines_are_models_of_their_own(modules: dict[str, ModuleType]) -> None:
    settings, rng = modules["settings"], np.random.default_rng(0)
    X = rng.random((20, 1))
    data = Dataset(X=X, Y=np.exp(4.0 * X) + 0.1 * rng.standard_normal((20, 1)))
    points, means = rng.random((6, 1)), {}
    for method in settings.BASELINES:
        for gp in (GaussianProcess(RBF()), modules["likelihood"].IsotropicGP(RBF())):
            model = settings.baseline(method, gp).fit(data, rng=np.random.default_rng(1))
            found = model.predict(points, latent=False)
            assert np.isfinite(found.mean).all() and (found.std > 0.0).all()
            means.setdefault(method, found.mean)
    assert len({tuple(values.round(6)) for values in means.values()}) == len(settings.BASELINES)


def example(modules: dict[str, ModuleType], method: str) -> dict[str, Any]:
    job = modules["settings"].Job("example", "forrester", "UCB", method, "our model", 0, 3, 25)
    return modules["runs"].perform(job)


def test_uncalibrated_stays_stuck_and_calibrated_finds_the_optimum(modules: dict[str, ModuleType]) -> None:
    stuck, found = (example(modules, method) for method in ("uncalibrated", "tempered online quantiles"))
    # All of the uncalibrated search's steps stay on the near side of the hump; its best is the local minimum.
    assert max(stuck["x"]) < 0.55
    assert stuck["best"][-1] == pytest.approx(modules["claims"].LOCAL, abs=0.01)
    assert found["best"][-1] == pytest.approx(modules["claims"].GLOBAL, abs=0.01)


def test_the_papers_model_has_one_length_scale_at_the_largest_likelihood(modules: dict[str, ModuleType]) -> None:
    X = np.random.default_rng(0).random((20, 2))
    data = Dataset(X=X, Y=np.sin(6.0 * X[:, :1]) + X[:, 1:])
    surrogate, rng = modules["likelihood"].IsotropicGP(RBF()), np.random.default_rng(0)
    model = surrogate.fit(data, rng=rng)
    assert model.theta.lengthscales.shape == (1,) and model.precision is None
    raw, objective = np.array(model.hyperparameters), surrogate.objective(data)
    steps = 0.05 * np.vstack([np.eye(3), -np.eye(3)])
    inside = [step for step in steps if objective.may_be_raw(raw + step)]
    assert all(objective.value(raw + step) >= objective.value(raw) - 1e-4 for step in inside)
    swapped = surrogate.fit(Dataset(X=X[:, ::-1].copy(), Y=data.Y), rng=rng)
    np.testing.assert_allclose(swapped.hyperparameters, model.hyperparameters, atol=1e-6)


def test_metrics(modules: dict[str, ModuleType]) -> None:
    """Curves of two methods over two seeds: a lower minimum wins, of the same the sooner; areas lie within 0 and 1."""
    figures, settings = modules["figures"], modules["settings"]
    cells, found = [], {}
    curves = {
        settings.ONLINE: [[4.0, 1.0, 1.0], [4.0, 3.0, 0.0]],
        settings.UNCALIBRATED: [[4.0, 4.0, 1.0], [4.0, 2.0, -1.0]],
    }
    for method, rows in curves.items():
        jobs = [settings.Job("curves", "p", "EI", method, "our model", seed, 1, 2) for seed in range(2)]
        cells.append(figures.Cell("p EI", "our model", method, tuple(jobs)))
        found |= {modules["harness"].key_of(job): {"best": row} for job, row in zip(jobs, rows, strict=True)}
    done = figures.Finished(figures.Figure("2", "", tuple(cells)), found)
    assert done.won("p EI", "our model", settings.ONLINE, settings.UNCALIBRATED).tolist() == [1.0, 0.0]
    assert done.area("p EI", "our model", settings.ONLINE).tolist() == pytest.approx(
        [(1 + 0.4 + 0.4) / 3, (1 + 0.8 + 0.2) / 3]
    )
