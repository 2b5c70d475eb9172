"""The probability of success: where failures were, it is low."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.data import Dataset
from calibo.models import SuccessModel
from calibo.models.neighbours import NeighbourPosterior

GRID = np.linspace(0, 1, 41)[:, None]


def data(good: list[float], bad: list[float]) -> Dataset:
    return Dataset(
        X=np.array(good).reshape(-1, 1), Y=np.zeros((len(good), 1)), X_failed=np.array(bad, dtype=float).reshape(-1, 1)
    )


def fitted(told: Dataset) -> SuccessModel:
    return SuccessModel.of(told, rng=np.random.default_rng(0))


def test_failures_on_one_side() -> None:
    chance = fitted(data([0.05, 0.15, 0.2, 0.3, 0.4], [0.7, 0.8, 0.9, 0.95]))(GRID)
    assert np.all((chance > 0) & (chance < 1))
    assert chance[:12].min() > 0.7 and chance[-8:].max() < 0.3
    assert np.all(np.diff(chance[12:29]) < 0.01)


def test_one_failure_dents_its_surroundings() -> None:
    good = [0.1, 0.3, 0.5, 0.7, 0.9]
    chance = fitted(data(good, [0.4]))(np.array([[0.4], [0.1], [0.9]]))
    assert chance[0] < chance[1] and chance[0] < chance[2]


@pytest.mark.parametrize(("good", "bad"), [([0.5], [0.5]), ([], [0.2, 0.4]), ([0.5] * 20, [0.5] * 20), ([0.1], [0.9])])
def test_odd_data_give_probabilities(good: list[float], bad: list[float]) -> None:
    chance = fitted(data(good, bad))(GRID)
    assert np.isfinite(chance).all() and np.all((chance >= 0) & (chance <= 1))


def test_far_from_all_data_the_rate_seen_so_far() -> None:
    rng = np.random.default_rng(0)
    X = 0.02 * rng.random((60, 1))
    model = fitted(Dataset(X=X[:45], Y=np.zeros((45, 1)), X_failed=X[45:]))
    assert float(model(np.array([[1.0]]))[0]) == pytest.approx(0.75, abs=0.1)


def test_categories_are_learned() -> None:
    rng = np.random.default_rng(0)
    choice = np.repeat([1 / 6, 3 / 6, 5 / 6], 6)
    X = np.column_stack([rng.random(18), choice])
    bad = choice == 3 / 6
    model = fitted(Dataset(X=X[~bad], Y=np.zeros((12, 1)), X_failed=X[bad], categories=(0, 3)))
    chance = model(np.array([[0.5, 1 / 6], [0.5, 3 / 6], [0.5, 5 / 6]]))
    assert chance[1] < 0.4 < min(chance[0], chance[2])


def test_many_results() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((900, 2))
    bad = X[:, 0] > 0.7
    model = fitted(Dataset(X=X[~bad], Y=np.zeros((int((~bad).sum()), 1)), X_failed=X[bad]))
    assert isinstance(model.posterior, NeighbourPosterior)
    at = rng.random((200, 2))
    chance = model(at)
    assert chance[at[:, 0] > 0.75].max() < 0.2 and chance[at[:, 0] < 0.65].min() > 0.8
