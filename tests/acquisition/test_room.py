from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from calibo.acquisition import HypervolumeImprovement
from calibo.acquisition.hypervolume import log_expected_gain, log_gain, nondominated_boxes
from calibo.acquisition.room import Room
from calibo.data import Array, Dataset
from calibo.distributions import Distribution, FlatSet, Gaussian
from calibo.models import GaussianProcess
from calibo.pareto import futile_ends, hypervolume, pareto_front

RNG = np.random.default_rng
REFERENCE = np.array([-2.0, -2.0])
#: A front from (0, 1) to (1, 0), and a result beyond its end in the first objective that came to nothing.
FRONT = np.array([[0.0, 1.0], [1.0, 0.0]])
FUTILE = np.array([-1.0, 0.5])


def rows(*points: ArrayLike) -> Array:
    return np.vstack([np.asarray(some, dtype=np.float64) for some in points])


def test_a_futile_try_is_dominated_and_beyond_an_end() -> None:
    assert futile_ends(rows(FRONT, FUTILE)).tolist() == [True, False]
    assert futile_ends(rows(FRONT, FUTILE[::-1])).tolist() == [False, True]
    assert futile_ends(rows(FRONT, [-1.0, -1.0])).tolist() == [True, True]
    # Inside of the front, dominated or not, nothing was tried beyond it.
    assert not futile_ends(rows(FRONT, [0.5, 0.5], [0.1, 0.1])).any()
    assert not futile_ends(FRONT[:1]).any()


def test_a_success_opens_the_room_again_and_so_do_three_results() -> None:
    assert not futile_ends(rows(FRONT, FUTILE, [-1.0, 1.5])).any()
    assert futile_ends(rows(FRONT, [-1.0, 1.5], [-2.0, 1.0])).tolist() == [True, False]
    inside = np.array([0.6, 0.6])
    assert futile_ends(rows(FRONT, FUTILE, inside, inside)).tolist() == [True, False]
    assert not futile_ends(rows(FRONT, FUTILE, inside, inside, inside)).any()


@given(st.integers(0, 10_000))
def test_units_do_not_matter_and_nothing_but_outcomes_does(seed: int) -> None:
    Y = RNG(seed).normal(size=(12, 2))
    expected = futile_ends(Y)
    assert (futile_ends(Y * [1e6, 1e-3] - [5.0, 1.0]) == expected).all()
    assert (futile_ends(Y[:, ::-1]) == expected[::-1]).all()
    # The front of what came before the last three results is all that counts of it, whatever its order.
    assert (futile_ends(rows(RNG(seed + 1).permutation(Y[:9]), Y[9:])) == expected).all()


def test_bent_outcomes_keep_their_order_and_the_inside_of_the_front() -> None:
    room = Room.earned(rows(FRONT, FUTILE))
    np.testing.assert_array_equal(room.ends, [0.0, 0.0])
    assert room.weights[0] < 1.0 == room.weights[1] and not room.is_full
    Y = RNG(0).normal(size=(50, 2))
    bent = room.bent(Y)
    np.testing.assert_array_equal(bent[:, 1], Y[:, 1])
    np.testing.assert_array_equal(bent[Y[:, 0] >= 0.0], Y[Y[:, 0] >= 0.0])
    np.testing.assert_allclose(bent[Y[:, 0] < 0.0, 0], room.weights[0] * Y[Y[:, 0] < 0.0, 0])
    assert (room.bent(np.full((1, 2), np.inf)) == np.inf).all()
    assert Room.full(2).bent(Y) is Y


def test_more_than_two_objectives_have_full_room() -> None:
    assert Room.earned(np.eye(3)[[0, 1, 2, 0]] - [[0.0], [0.0], [0.0], [5.0]]).is_full


@pytest.mark.parametrize("seed", range(5))
def test_an_expected_gain_is_that_of_bent_volumes(seed: int) -> None:
    """By 40,000 weighted draws: at most 5 standard errors and 1e-4 apart (false alarm about 6e-7 each)."""
    rng, room = RNG(seed), Room(np.zeros(2), np.array([1.0 / 16.0, 0.5]))
    front = pareto_front(rows(FRONT, rng.uniform(0.0, 1.0, size=(3, 2))))
    mean, std = rng.normal(size=(2, 1)), rng.uniform(0.3, 1.0, size=(2, 1))
    flat = FlatSet.central(Gaussian(mean[1], std[1], noise_std=0.3), np.array([0.4]), 0.2)
    distributions: list[Distribution] = [Gaussian(mean[0], std[0]), flat]
    lower, upper = nondominated_boxes(front, REFERENCE)
    exact = float(np.exp(log_expected_gain(distributions, lower, upper, room))[0])
    pairs = [distribution.samples(rng.standard_normal((40_000, 1))) for distribution in distributions]
    drawn = room.bent(np.concatenate([f for f, _ in pairs], axis=1))
    weights = np.exp(sum(w for _, w in pairs))[:, 0]
    low, high = room.bent(lower), room.bent(upper)
    gains = weights * np.clip(np.minimum(drawn[:, None, :], high) - low, 0.0, None).prod(axis=-1).sum(axis=-1)
    assert abs(gains.mean() - exact) < 5.0 * gains.std() / 200.0 + 1e-4
    # And the boxes are those of the hypervolume of bent outcomes.
    one = drawn[:1]
    expected = hypervolume(rows(room.bent(front), one), room.bent(REFERENCE))
    expected -= hypervolume(room.bent(front), room.bent(REFERENCE))
    found = np.exp(log_gain(one[None], low[None], high[None], np.full(2, 1e-12)))[0, 0]
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("noisy", [False, True])
def test_a_futile_try_lowers_gains_beyond_the_end_unless_a_reference_is_given(noisy: bool) -> None:
    x = np.array([0.0, 0.08, 0.16, 0.24, 0.32, 0.4, 0.95])
    X, Y = x[:, None], np.column_stack([-((x - 0.6) ** 2), -(x**2)])
    data = Dataset(X=X, Y=Y)
    assert futile_ends(Y).tolist() == [False, True]
    rule, candidates = HypervolumeImprovement(noisy=noisy), np.array([[0.2], [0.6]])

    def gains(of: Dataset) -> Array:
        models = [GaussianProcess().fit(data.outcome(i), rng=RNG(0)) for i in range(2)]
        return rule.build(models, of, rng=RNG(0))(candidates)

    # The same outcomes, with the try before the others: no longer one of the last three results.
    order = np.array([6, 0, 1, 2, 3, 4, 5])
    open_, shut = gains(Dataset(X=X[order], Y=Y[order])), gains(data)
    assert shut[1] < open_[1] - 0.5 and shut[0] == pytest.approx(open_[0], abs=0.1)
    told = [gains(replace(one, reference=(-1.0, -1.0))) for one in (data, Dataset(X=X[order], Y=Y[order]))]
    np.testing.assert_allclose(told[0], told[1], atol=0.2 if noisy else 1e-6)
