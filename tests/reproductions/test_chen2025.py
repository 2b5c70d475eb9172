"""The searches of Chen 2025: one round of everything, with the reproduction's own code."""

import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

pytestmark = pytest.mark.extras

FOLDER, PART, CLAIM = "chen2025", "search", "| search | cifar10: accuracy, Split, ensemble less BANANAS | -0.018 |"
NAMES = ("settings", "distributions", "runs", "figures", "claims", "tables", "pictures", "run")


def test_every_part_is_written_and_drawn(modules: dict[str, ModuleType], smoke: Path) -> None:
    for name in ("table31", "accuracy", "calibration", "scores", "sweeps"):
        assert (smoke / f"{name}.png").stat().st_size > 10_000
    settings = modules["settings"]
    rows = json.loads((smoke / "search.json").read_text())["rows"]
    assert [row["label"] for row in rows] == [*settings.METHODS] * 3
    for dataset in settings.DATASETS:
        own = [row for row in rows if row["dataset"] == dataset]
        assert len({row["curve"][0] for row in own}) == 1, "all methods start from the same cells"
        assert all(len(row["curve"]) == 2 and row["curve"][1] >= row["curve"][0] and row["regret"] >= 0 for row in own)
        assert [row["label"] for row in own if "coverage" not in row] == list(settings.MODEL_FREE)
    for part in ("candidates", "levels", "acquisition", "fractions", "folds"):
        assert len(json.loads((smoke / f"{part}.json").read_text())["rows"]) in (3, 4, 5)


def test_the_gaussian_of_table_31_is_the_thesis_s(modules: dict[str, ModuleType]) -> None:
    distributions = modules["distributions"]
    from scipy.stats import skewnorm

    samples = [distributions.sample(150, seed) for seed in range(50)]
    found = np.mean([distributions.measured(distributions.GAUSSIAN, sample) for sample in samples], axis=0)
    assert np.allclose(found[:3], distributions.THESIS[150][0], atol=6e-5)
    truth = skewnorm(-10.0)
    assert np.isclose(distributions.MEAN, truth.mean()) and np.isclose(distributions.SD, truth.std())


def test_the_density_of_a_table_is_the_slope_of_its_cdf(modules: dict[str, ModuleType]) -> None:
    distributions = modules["distributions"]
    distribution = distributions.estimated(np.random.default_rng(0).normal(size=60), 10)
    x, step = np.linspace(-6.0, 6.0, 2001), 1e-6
    slope = (distribution.cdf(x + step) - distribution.cdf(x - step)) / (2.0 * step)
    away = np.abs(x[:, None] - distribution.values).min(axis=1) > 1e-4
    assert np.allclose(np.exp(distributions.log_density(distribution, x))[away], slope[away], rtol=1e-4, atol=1e-9)
    assert np.isclose(distributions.divergence(distributions.log_truth(x), distributions.log_truth(x), x), 0.0)


def test_evolution_copies_with_one_edit_and_climbs(modules: dict[str, ModuleType]) -> None:
    from calibo.spaces import CellSpace

    cell, rng = CellSpace(), np.random.default_rng(1)
    first = cell.sample(10, rng)

    def convolutions(x: np.ndarray) -> float:
        return float((cell.indices(x[None]) == 3).sum())

    found = np.stack(list(modules["runs"].evolution(first, cell, convolutions, 150, rng)))
    assert found.shape == (150, 6) and np.array_equal(found[:10], first)
    kinds = cell.indices(found)
    for i in range(30, 150):
        edits = (kinds[i] != kinds[i - 30 : i]).sum(axis=1)
        assert edits.min() <= 1, "a copy of one of the last thirty, which are the population"
    values = [convolutions(x) for x in found]
    assert max(values) == 6.0 > max(values[:30])


def test_calibration_is_counted_on_what_was_queried(modules: dict[str, ModuleType]) -> None:
    from calibo.data import Marginal

    distributions = [Marginal(0.0, 1.0)] * 20
    y = np.array([0.0] * 15 + [5.0] * 5)
    found = modules["runs"].calibration(distributions, y)
    assert found["held"] == [10, 5] and found["infinite"] == 0
    observed = dict(zip(modules["runs"].CURVE_LEVELS, found["observed"], strict=True))
    assert observed[0.45] == 0.0 and observed[0.5] == 0.75 and observed[0.999] == 0.75
    levels = np.array(modules["runs"].SCORE_LEVELS)
    assert np.isclose(found["sum_score"], ((levels - 0.75 * (levels >= 0.5)) ** 2).sum(), atol=1e-5)
