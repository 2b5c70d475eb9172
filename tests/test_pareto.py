"""Fronts and hypervolumes: against their definitions and against BoTorch's."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calibo.data import Array
from calibo.errors import DataError
from calibo.pareto import hypervolume, hypervolumes, inferred_reference, pareto_front, pareto_mask, planar_boxes


def dominates(one: Array, other: Array) -> bool:
    """The definition: at least as good in all outcomes and better in one."""
    return bool((one >= other).all() and (one > other).any())


def included_volume(Y: Array, reference: Array) -> float:
    """The volume of a union of boxes by inclusion and exclusion over all subsets."""
    total = 0.0
    for size in range(1, len(Y) + 1):
        for chosen in itertools.combinations(range(len(Y)), size):
            corner = np.maximum(Y[list(chosen)].min(axis=0) - reference, 0.0)
            total -= (-1) ** size * float(np.prod(corner))
    return total


#: Small whole numbers, so that equal values and equal points are common.
small = st.integers(1, 4).flatmap(
    lambda m: st.integers(1, 9).flatmap(lambda n: arrays(np.float64, (n, m), elements=st.integers(-2, 4)))
)


@given(small)
def test_the_mask_is_the_definition(Y: Array) -> None:
    expected = [not any(dominates(other, y) for other in Y) for y in Y]
    assert pareto_mask(Y).tolist() == expected


@given(small)
def test_the_front_has_each_kept_point_once(Y: Array) -> None:
    front = pareto_front(Y)
    assert {tuple(y) for y in front} == {tuple(y) for y in Y[pareto_mask(Y)]}
    assert len({tuple(y) for y in front}) == len(front)
    assert (np.diff(front[:, 0]) <= 0).all()


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5])
def test_the_volume_by_inclusion_and_exclusion(m: int) -> None:
    rng = np.random.default_rng(m)
    for ties in (False, True, False, True):
        Y, reference = rng.standard_normal((8, m)), rng.standard_normal(m) - 0.7
        Y = np.round(Y) if ties else Y
        assert hypervolume(Y, reference) == pytest.approx(included_volume(Y, reference), rel=1e-11, abs=1e-12)


@pytest.mark.extras
@pytest.mark.parametrize(("n", "m"), [(1, 2), (40, 2), (40, 3), (25, 4), (12, 5)])
def test_fronts_and_volumes_are_botorchs(n: int, m: int) -> None:
    import torch
    from botorch.utils.multi_objective import pareto
    from botorch.utils.multi_objective.hypervolume import Hypervolume

    rng = np.random.default_rng(n + m)
    for ties in (False, True):
        Y = rng.standard_normal((n, m)) + 1.0
        Y = np.round(Y) if ties else Y
        theirs = torch.tensor(Y, dtype=torch.float64)
        assert pareto_mask(Y).tolist() == pareto.is_non_dominated(theirs).tolist()
        reference = np.full(m, -0.25)
        volume = Hypervolume(torch.tensor(reference)).compute(theirs[pareto.is_non_dominated(theirs)])
        assert hypervolume(Y, reference) == pytest.approx(volume, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("m", [2, 3, 4])
def test_the_inferred_reference_is_the_worst_of_all_and_below_the_front(m: int) -> None:
    Y = np.random.default_rng(m).uniform(size=(40, m))
    reference = inferred_reference(Y)
    assert (reference <= Y.min(axis=0)).all()
    front = pareto_front(Y)
    assert (reference <= front.min(axis=0) - 0.1 * np.ptp(front, axis=0) + 1e-12).all()
    # Units do not matter.
    np.testing.assert_allclose(inferred_reference(1e6 * Y - 3.0), 1e6 * reference - 3.0)


@pytest.mark.parametrize("outlier", [-1e12, 1e12, -1e300])
def test_an_outlier_hardly_moves_the_inferred_reference(outlier: float) -> None:
    Y = np.random.default_rng(0).uniform(size=(12, 3))
    before = inferred_reference(Y)
    with_outlier = inferred_reference(np.vstack([Y, [[outlier, 0.5, 0.5]]]))
    assert (np.abs(with_outlier - before) < 2.0).all()


def test_the_inferred_reference_follows_a_search_to_its_front() -> None:
    angles = np.linspace(0.0, np.pi / 2, 200)
    front = np.column_stack([np.cos(angles), np.sin(angles)])
    early = np.random.default_rng(0).uniform(-20.0, -10.0, size=(10, 2))
    np.testing.assert_allclose(inferred_reference(np.vstack([front[:5], early])), early.min(axis=0))
    late = inferred_reference(np.vstack([front, early]))
    assert (late > -2.0).all() and (late <= -0.1).all()


def test_most_outcomes_may_be_equal() -> None:
    whole = np.column_stack([np.repeat([1.0, 2.0, 3.0, 6.0], [20, 2, 1, 1]), np.linspace(0.0, 1.0, 24)])
    np.testing.assert_allclose(inferred_reference(-whole)[0], -6.0)


def test_a_reference_without_extent() -> None:
    np.testing.assert_allclose(inferred_reference(np.array([[2.0, 4.0]])), [1.8, 3.6])
    # A single best point, in a cloud: the worst of the cloud counts.
    np.testing.assert_allclose(inferred_reference(np.array([[2.0, 4.0], [0.0, -6.0]])), [0.0, -6.0])
    assert (inferred_reference(np.zeros((3, 2))) < 0.0).all()


@given(small, st.randoms(use_true_random=False))
def test_the_running_volume_is_the_volume_so_far(Y: Array, random: Any) -> None:
    reference = np.array([random.choice([-3.0, -1.0, 0.0, 5.0]) for _ in range(Y.shape[1])])
    running = hypervolumes(Y, reference)
    expected = [hypervolume(Y[: i + 1], reference) for i in range(len(Y))]
    np.testing.assert_allclose(running, expected, rtol=1e-12, atol=1e-12)
    assert (np.diff(running) >= 0.0).all()


@pytest.mark.parametrize("m", [2, 3, 4])
def test_the_running_volume_of_a_wide_front(m: int) -> None:
    Y = np.abs(np.random.default_rng(m).standard_normal((60, m)))
    Y /= np.linalg.norm(Y, axis=1, keepdims=True)  # on a sphere no point dominates another
    running = hypervolumes(Y, np.zeros(m))
    assert pareto_mask(Y).all()
    for i in (0, 7, 59):
        assert running[i] == pytest.approx(hypervolume(Y[: i + 1], np.zeros(m)), rel=1e-12)


def test_the_boxes_and_the_front_fill_the_plane() -> None:
    rng = np.random.default_rng(3)
    reference, Y = np.array([-0.5, -0.2]), rng.standard_normal((4, 9, 2))
    lower, upper = planar_boxes(Y, reference)
    # A point is in exactly one box unless it is dominated, and then in none.
    points = rng.uniform(reference, 3.0, (500, 2))
    for batch in range(4):
        inside = ((points[:, None] > lower[batch]) & (points[:, None] < upper[batch])).all(axis=-1).sum(axis=1)
        outdone = (points[:, None] <= Y[batch]).all(axis=-1).any(axis=1)
        assert inside.tolist() == (~outdone).astype(int).tolist()


@pytest.mark.parametrize("Y", [np.array([1.0, 2.0]), np.array([[np.nan, 1.0]])])
def test_what_is_no_set_of_outcomes(Y: Array) -> None:
    for function in (pareto_mask, lambda y: hypervolume(y, np.zeros(2)), lambda y: hypervolumes(y, np.zeros(2))):
        with pytest.raises(DataError, match="finite and two-dimensional"):
            function(Y)


def test_no_points_dominate_nothing() -> None:
    nothing = np.empty((0, 3))
    assert hypervolume(nothing, np.zeros(3)) == 0.0
    assert hypervolumes(nothing, np.zeros(3)).shape == (0,)
    assert pareto_mask(nothing).shape == (0,) and pareto_front(nothing).shape == (0, 3)
    assert pareto_mask(nothing[:, :2]).shape == (0,)


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_volumes_of_any_size(scale: float) -> None:
    Y = np.random.default_rng(0).random((12, 3))
    expected = hypervolume(Y, np.zeros(3)) * scale**3
    assert hypervolume(Y * scale, np.zeros(3)) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(hypervolumes(Y * scale, np.zeros(3))[-1], expected, rtol=1e-12)


def test_a_volume_beyond_all_floats_is_infinite_and_not_nan() -> None:
    Y = np.array([[1e200, 2e200], [2e200, 1e200]])
    assert hypervolume(Y, np.zeros(2)) == np.inf and hypervolumes(Y, np.zeros(2)).tolist() == [np.inf, np.inf]
    after_one_below = hypervolumes(np.vstack([[-1e200, 1e200], Y]), np.zeros(2))
    assert after_one_below.tolist() == [0.0, np.inf, np.inf]
