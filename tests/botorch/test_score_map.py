"""Level maps in torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from calibo.botorch.score_map import ScoreMap, score_map
from calibo.calibration import (
    Evidence,
    Isotonic,
    OnlineQuantile,
    Relevel,
    Temperature,
    identity,
)
from calibo.distributions import Gaussian, Levels, Tempered
from calibo.errors import RecipeError

pytestmark = pytest.mark.extras


def test_it_is_the_level_map_seen_through_scores(levels: Levels) -> None:
    z = np.linspace(-6.0, 6.0, 501)
    expected = ndtri(levels.forward(ndtr(z)))
    np.testing.assert_allclose(score_map(levels)(torch.from_numpy(z)).numpy(), expected, atol=1e-7)


@given(st.floats(-36.0, 36.0))
def test_tails_are_finite_and_monotone(z: float) -> None:
    t = score_map(Levels(np.array([0.0, 0.4, 1.0]), np.array([0.0, 0.1, 1.0])))
    low, high = (float(t(torch.tensor(v, dtype=torch.float64))) for v in (z, z + 0.5))
    assert np.isfinite([low, high]).all() and low < high


@pytest.mark.parametrize("z", [-30.0, -4.0, -1.3, 0.1, 0.7, 5.0, 30.0])
def test_gradients_are_those_of_the_map(levels: Levels, z: float) -> None:
    t = score_map(levels)
    point = torch.tensor(z, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(t(point), point)
    numeric = (t(point.detach() + 1e-5) - t(point.detach() - 1e-5)) / 2e-5
    np.testing.assert_allclose(float(slope), float(numeric), rtol=1e-4)


def test_a_flat_stretch_has_no_gradient() -> None:
    t = score_map(Levels(np.array([0.0, 0.3, 0.6, 1.0]), np.array([0.0, 0.5, 0.5, 1.0])))
    point = torch.tensor([-0.1, 0.0, 0.1], dtype=torch.float64, requires_grad=True)
    values = t(point)
    (slope,) = torch.autograd.grad(values.sum(), point)
    np.testing.assert_allclose(values.detach().numpy(), 0.0, atol=1e-12)
    np.testing.assert_allclose(slope.numpy(), 0.0, atol=1e-12)


@pytest.mark.parametrize("make", [lambda levels: levels, lambda _: Tempered(1.7), lambda _: identity])
def test_moments_and_density_are_those_of_the_scores(levels: Levels, make: object) -> None:
    t: ScoreMap = score_map(make(levels))  # pyright: ignore[reportCallIssue]
    u = (np.arange(200_000) + 0.5) / 200_000
    values = t(torch.from_numpy(ndtri(u))).numpy()
    np.testing.assert_allclose([t.mean, t.variance], [values.mean(), values.var()], atol=2e-3)
    grid = torch.linspace(-9.0, 9.0, 20_001, dtype=torch.float64)
    np.testing.assert_allclose(float(torch.trapezoid(t.density(grid), grid)), 1.0, atol=2e-3)


def test_negated_mirrors(levels: Levels) -> None:
    z = torch.linspace(-5.0, 5.0, 101, dtype=torch.float64)
    for level_map in (levels, Tempered(0.7)):
        t = score_map(level_map)
        torch.testing.assert_close(t.negated()(z), -t(-z))
        assert abs(t.negated().mean + t.mean) < 1e-12


def test_what_recalibrators_return_is_understood() -> None:
    rng = np.random.default_rng(0)
    evidence = Evidence(rng.random((30, 1)), 2.0 * rng.standard_normal(30), Gaussian(np.zeros(30), np.ones(30)))
    z = torch.tensor([1.2], dtype=torch.float64)
    for recalibrator in (OnlineQuantile(), Isotonic(), Temperature()):
        level_map = recalibrator.fit(evidence)
        assert isinstance(level_map, Relevel)
        expected = level_map(Gaussian(np.zeros(1), np.ones(1)), np.zeros((1, 1))).icdf(float(ndtr(1.2)))
        np.testing.assert_allclose(score_map(level_map)(z).numpy(), expected, atol=1e-9)


def test_other_maps_are_refused() -> None:
    with pytest.raises(RecipeError, match="Relevel"):
        score_map(lambda distribution, X: distribution)
