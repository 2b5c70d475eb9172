"""Which form of hypervolume improvement is used, by how noisy measurements are."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.acquisition import HypervolumeByNoise, HypervolumeImprovement, HypervolumeInTurns
from calibo.data import Dataset
from calibo.errors import RecipeError
from calibo.models import GaussianProcess, Model, NoisePrior

RNG = np.random.default_rng


def known(n: int, noise: float = 0.0) -> Dataset:
    """Two objectives, of which only the second is noisy."""
    X = RNG(0).random((n, 2))
    Y = np.column_stack([-np.square(X - 0.3).sum(axis=1), -np.square(X - 0.7).sum(axis=1)])
    return Dataset(X=X, Y=Y + noise * RNG(1).standard_normal((n, 2)) * [0.0, 1.0])


def fitted(data: Dataset) -> tuple[Model, ...]:
    process = GaussianProcess(noise=NoisePrior.wide())
    return tuple(process.fit(data.outcome(i), rng=RNG(0)) for i in range(2))


@pytest.mark.parametrize(
    ("data", "chosen"),
    [
        (known(30), HypervolumeImprovement),
        (known(30, noise=0.2), HypervolumeInTurns),
        (known(9, noise=0.2), HypervolumeImprovement),
    ],
)
def test_noise_of_one_objective_is_enough_once_it_can_be_told(data: Dataset, chosen: type) -> None:
    rule, models = HypervolumeByNoise(), fitted(data)
    assert type(rule.chosen(models, data)) is chosen
    built, expected = (one.build(models, data, rng=RNG(2))(data.X[:3]) for one in (rule, chosen()))
    np.testing.assert_array_equal(built, expected)


def test_three_objectives_have_the_exact_rule() -> None:
    data = known(30, noise=0.2)
    models = fitted(data)
    three = Dataset(X=data.X, Y=data.Y[:, [0, 1, 1]])
    assert type(HypervolumeByNoise().chosen((*models, models[1]), three)) is HypervolumeImprovement


@pytest.mark.parametrize(("n", "noisy"), [(30, True), (31, False)])
def test_turns_go_by_the_number_of_results(n: int, noisy: bool) -> None:
    data = known(n, noise=0.2)
    models, X = fitted(data), RNG(3).random((4, 2))
    alone = HypervolumeImprovement(noisy=noisy, draws=64 if noisy else None)
    found, expected = (rule.build(models, data, rng=RNG(2))(X) for rule in (HypervolumeInTurns(), alone))
    np.testing.assert_array_equal(found, expected)


def test_settings_are_checked() -> None:
    with pytest.raises(RecipeError, match="even"):
        HypervolumeInTurns(even="noisy")  # pyright: ignore[reportArgumentType]
    with pytest.raises(RecipeError, match="exact"):
        HypervolumeByNoise(exact="plain")  # pyright: ignore[reportArgumentType]
    with pytest.raises(RecipeError, match="threshold"):
        HypervolumeByNoise(threshold=-1.0)
