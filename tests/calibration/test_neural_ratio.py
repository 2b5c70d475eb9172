"""The neural density ratio: 1 at the start, slow to depart from it, continued from fit to fit."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.calibration.density_ratio import Ratio, Unshifted
from calibo.calibration.neural_ratio import NetworkRatio, NeuralRatio
from calibo.errors import RecipeError
from calibo.testing.randomness import global_state

RNG = np.random.default_rng


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden": 0}, "hidden width"),
        ({"steps": 0}, "steps"),
        ({"weight_decay": -1.0}, "weight_decay"),
        ({"averaging": 0.0}, "averaging"),
    ],
)
def test_impossible_settings_are_rejected(options: dict[str, float], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        NeuralRatio(**options)  # type: ignore[arg-type]


def test_the_settings_of_the_paper_and_of_its_code() -> None:
    paper, code = NeuralRatio(), NeuralRatio.repository()
    assert (paper.learning_rate, paper.weight_decay, paper.averaging, paper.hidden) == (1e-3, 1e-4, 2e-2, 64)
    assert (code.learning_rate, code.weight_decay, code.averaging, code.hidden) == (5e-3, 5e-6, 2e-2, 64)


@pytest.fixture
def data() -> np.ndarray:
    return RNG(0).random((40, 2))


@pytest.fixture
def proposals() -> np.ndarray:
    return 0.6 + 0.3 * RNG(1).random((120, 2))


def fits(recipe: NeuralRatio, data: np.ndarray, proposals: np.ndarray, count: int, seed: int = 0) -> NetworkRatio:
    rng, ratio = RNG(seed), None
    for _ in range(count):
        ratio = recipe.fit(data, proposals, previous=ratio, rng=rng)
    assert isinstance(ratio, NetworkRatio)
    return ratio


def test_exactly_one_until_proposals_are_as_many_as_data(data: np.ndarray, proposals: np.ndarray) -> None:
    X = RNG(2).random((5, 3, 2))
    ratio: Ratio | None = None
    for count in (1, 20, 39):
        ratio = NeuralRatio(steps=50).fit(data, proposals[:count], previous=ratio, rng=RNG(0))
        np.testing.assert_array_equal(ratio(X), np.ones((5, 3)))
    ratio = NeuralRatio(steps=50).fit(data, proposals[:40], previous=ratio, rng=RNG(0))
    assert (ratio(X) != 1.0).any()


def test_nothing_to_compare_gives_one() -> None:
    ratio = NeuralRatio().fit(np.zeros((4, 2)), np.zeros((0, 2)), previous=None, rng=RNG(0))
    assert isinstance(ratio, Unshifted)


def test_the_classes_are_distinguished(data: np.ndarray, proposals: np.ndarray) -> None:
    ratio = fits(NeuralRatio(steps=300, averaging=1.0, learning_rate=5e-3), data, proposals, 1)
    inside = ((data > 0.6) & (data < 0.9)).all(axis=1)
    assert ratio(proposals).mean() > 2.0 and ratio(data[~inside]).mean() < 0.5
    values = ratio(RNG(0).random((1000, 2)))
    assert values.min() >= 1e-6 and values.max() <= 1e6


def test_the_ratio_departs_from_one_slowly(data: np.ndarray, proposals: np.ndarray) -> None:
    """A logit of three averaged layers starts with the cube of the averaging."""
    sizes = [np.abs(np.log(fits(NeuralRatio(), data, proposals, k)(proposals))).max() for k in (1, 10, 80)]
    assert 0.0 < sizes[0] < 0.02 and sizes[0] < sizes[1] < sizes[2]


def test_a_fit_continues_from_the_previous_ratio(data: np.ndarray, proposals: np.ndarray) -> None:
    at_once, one_by_one = (fits(NeuralRatio(steps=k), data, proposals, 8 // k) for k in (8, 1))
    np.testing.assert_allclose(at_once(data), one_by_one(data), rtol=1e-12)
    assert at_once.state.steps == one_by_one.state.steps == 8


def test_an_earlier_ratio_is_not_changed(data: np.ndarray, proposals: np.ndarray) -> None:
    recipe = NeuralRatio(steps=5)
    first = recipe.fit(data, proposals, previous=None, rng=RNG(0))
    assert isinstance(first, NetworkRatio)
    before = first(data)
    again = [recipe.fit(data, proposals, previous=first, rng=RNG(1)) for _ in range(2)]
    np.testing.assert_array_equal(first(data), before)
    np.testing.assert_array_equal(again[0](data), again[1](data))


def test_another_dimension_starts_anew(data: np.ndarray, proposals: np.ndarray) -> None:
    first = fits(NeuralRatio(steps=50), data, proposals, 1)
    wider = NeuralRatio().fit(np.zeros((9, 3)), np.ones((2, 3)), previous=first, rng=RNG(0))
    np.testing.assert_array_equal(wider(np.zeros((4, 3))), np.ones(4))


def test_from_the_generator_alone(data: np.ndarray, proposals: np.ndarray) -> None:
    before = global_state()
    one, same, other = (fits(NeuralRatio(steps=20), data, proposals, 2, seed) for seed in (0, 0, 1))
    assert global_state() == before
    np.testing.assert_array_equal(one(data), same(data))
    assert (one(data) != other(data)).any()
