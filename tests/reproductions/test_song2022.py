"""The figures of Song et al. 2022: a few steps of everything, with the reproduction's own code."""

import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FOLDER, PART, CLAIM = "song2022", "4", "| 7 | regret composite LFBO / GP-EI | < 1 |"
NAMES = ("settings", "peers", "estimates", "runs", "figures", "claims", "pictures", "run", "published")
pytestmark = pytest.mark.extras


def test_every_figure_is_written_and_drawn(modules: dict[str, ModuleType], smoke: Path) -> None:
    for number in modules["figures"].NUMBERS:
        assert (smoke / f"figure{number}.png").stat().st_size > 10_000
        assert json.loads((smoke / f"figure{number}.json").read_text())["rows"]
    curves = json.loads((smoke / "figure4.json").read_text())["rows"]
    trainings, means = modules["settings"].TABLE_METHODS, modules["settings"].MEANS_METHODS
    assert [row["method"] for row in curves] == [*trainings, *means]
    for row in curves:
        assert row["evaluations"] == [4, 5, 6] and row["repeats"] == 2
        assert min(row["mean"]) >= 0.0, "regrets of means, unlike those of measurements, cannot be negative"
    for methods in (trainings, means):
        starts = {row["mean"][0] for row in curves if row["method"] in methods}
        assert len(starts) == 1, "all methods start from the same points"
    composite = json.loads((smoke / "figure7.json").read_text())["rows"]
    assert len(composite) == 4 and len({row["mean"][0] for row in composite}) == 1
    assert all(np.all(np.diff(row["mean"]) <= 0.0) for row in composite)


def test_the_incumbent_is_the_first_largest_measurement(modules: dict[str, ModuleType]) -> None:
    assert modules["runs"].incumbents(np.array([1.0, 0.0, 3.0, 2.0, 4.0])).tolist() == [0, 0, 2, 2, 4]


def test_the_true_acquisition_functions_are_those_of_draws(modules: dict[str, ModuleType]) -> None:
    estimates = modules["estimates"]
    probability, improvement = estimates.truth(0.3)
    y = estimates.objective(estimates.GRID)[:, None] + 0.1 * np.random.default_rng(0).standard_normal((1, 4000))
    # 401 means of 4,000 draws, 4 standard errors: a false alarm in about 1 of 40 choices of the seed.
    assert np.abs((y > 0.3).mean(axis=1) - probability).max() < 4 * 0.5 / 4000**0.5
    assert np.abs(np.maximum(y - 0.3, 0.0).mean(axis=1) - improvement).max() < 4 * 0.1 / 4000**0.5


def test_rows_of_one_cell_are_merged_with_their_weight(modules: dict[str, ModuleType]) -> None:
    from calibo.classifiers import Improvement, WeightedLabels

    rng = np.random.default_rng(0)
    X = rng.random((5000, 1))
    labelled = WeightedLabels(Improvement()).label(X, np.sin(5 * X[:, 0]))
    assert labelled is not None
    merged = modules["estimates"].merged(labelled)
    assert len(merged) <= 2 * modules["estimates"].CELLS < len(labelled) and merged.weights.mean() == pytest.approx(1.0)
    for label in (0.0, 1.0):
        share = merged.weights[merged.z == label].sum() / merged.weights.sum()
        assert share == pytest.approx(labelled.weights[labelled.z == label].sum() / labelled.weights.sum())
        centre = np.average(merged.X[merged.z == label, 0], weights=merged.weights[merged.z == label])
        exact = np.average(labelled.X[labelled.z == label, 0], weights=labelled.weights[labelled.z == label])
        assert centre == pytest.approx(exact, abs=0.5 / modules["estimates"].CELLS)


def test_tpe_sees_ordered_choices_by_number_and_repeats_with_its_seed(modules: dict[str, ModuleType]) -> None:
    from calibo.spaces import Categorical, Ordinal

    space = {"width": Ordinal((16, 64, 256)), "way": Categorical(("a", "b"))}

    def asked(seed: int) -> list[dict[str, object]]:
        tpe = modules["peers"].OptunaTPE(space, "minimize", seed, 2)
        for width in (16, 64, 256):
            tpe.add({"width": width, "way": "b"}, float(width))
        found = []
        for _ in range(6):
            trial, params = tpe.ask()
            tpe.tell(trial, float(params["width"]))
            found.append(params)
        return found

    assert asked(0) == asked(0)
    assert all(params["width"] in (16, 64, 256) and params["way"] in ("a", "b") for params in asked(0))


def test_botorch_finds_the_better_of_two_candidates(modules: dict[str, ModuleType]) -> None:
    X = np.random.default_rng(0).random((12, 2))
    chosen = modules["peers"].gp_ei_choice(X, -((X - 0.5) ** 2).sum(axis=1), np.array([[0.0, 0.05], [0.5, 0.5]]))
    assert chosen == 1


def test_a_slope_is_found(modules: dict[str, ModuleType]) -> None:
    n = np.array([100.0, 1000.0, 10_000.0])
    errors = np.outer(n**-0.5, [1.0, 2.0])
    slope = modules["claims"]._slope(np.log(n), np.log(errors))
    assert slope(np.array([[0, 1], [1, 1]])) == pytest.approx([-0.5, -0.5])


def test_the_published_procedure_has_our_labels_and_its_own_features(modules: dict[str, ModuleType]) -> None:
    from calibo.classifiers import BoreLabels, WeightedLabels

    published, rng = modules["published"], np.random.default_rng(0)
    X, y = rng.random((30, 2)), rng.standard_normal(30)
    for way, rule in (("LFBO", WeightedLabels()), ("BORE", BoreLabels())):
        ours = rule.label(X, -y)
        assert ours is not None
        for one, other in zip(published.labelled(X, y, way), (ours.X, ours.z, ours.weights), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
    encoding = published.Encoding(modules["runs"].table_of("protein"))
    rows = rng.integers(encoding.task.size, size=50)
    features = encoding.features(rows)
    assert features.shape == (50, encoding.width) and encoding.width == 6 + 3 * 2
    np.testing.assert_array_equal(encoding.rows(features), rows)


def test_the_published_procedure_repeats_a_stored_search(
    modules: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    published = modules["published"]
    stored = [json.loads(line) for line in published.RESULTS.read_text().splitlines()]
    run = next(run for run in stored if run["candidates"] == published.RELAXED and run["seed"] == 1)
    settings = (run[name] for name in ("problem", "way", "candidates", "measured", "seed"))
    assert published.search(*settings)[-1] == run["regret"]
    monkeypatch.setattr(published, "STEPS", 2)
    for candidates in (published.RELAXED, published.CONFIGURATIONS):
        assert len(published.search("protein", "LFBO", candidates, published.MEANS, 0)) == 3
    pairs = [{**run, "way": way, "late": late} for way, late in (("LFBO", 0.0), ("BORE", 1.0))]
    assert "| trainings | relaxed | 1 | 0 | 1 |" in published.summary(pairs)
