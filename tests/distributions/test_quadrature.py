"""Nodes for far upper tails."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from calibo.distributions.normal import mills_ratio
from calibo.distributions.quadrature import tail_nodes

NONE = np.full((1, 1), np.inf)


@pytest.mark.parametrize("h", [4.0, 7.0, 30.0, 1e3])
def test_moments_of_a_tail(h: float) -> None:
    x, weights = tail_nodes(np.array([h]), NONE, np.ones(1))
    assert (x >= h).all()
    assert weights.sum() == pytest.approx(float(mills_ratio(np.array(h))), rel=1e-10)
    # The integral of (x - h) phi(x) / phi(h) is 1 - h M(h).
    expected = quad(lambda o: o * np.exp(-o * (h + 0.5 * o)), 0.0, 40.0 / h, epsabs=0, epsrel=1e-12)[0]
    assert (weights * (x - h)).sum() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("width", [1e-6, 1e-3, 0.1, 2.0])
@pytest.mark.parametrize("at", [0.01, 0.2, 1.0])
def test_a_turn_of_any_width(width: float, at: float) -> None:
    h = 5.0
    turns = np.array([[h + at, -np.inf]])
    x, weights = tail_nodes(np.array([h]), turns, np.array([width]))

    def turned(o: float) -> float:
        return float(ndtr((o - at) / width)) * np.exp(-o * (h + 0.5 * o))

    edges = sorted({0.0, *(float(np.clip(at + s * width, 0.0, 8.0)) for s in (-8, 0, 8)), 8.0})
    expected = sum(quad(turned, a, b, epsabs=1e-14, epsrel=1e-10)[0] for a, b in itertools.pairwise(edges))
    assert float((weights * ndtr((x - h - at) / width)).sum()) == pytest.approx(expected, rel=1e-8)


def test_rows_are_independent() -> None:
    h, turns, width = np.array([4.5, 9.0]), np.array([[5.0, np.inf], [9.1, 9.3]]), np.array([0.1, 0.01])
    x, weights = tail_nodes(h, turns, width)
    for i in range(2):
        alone_x, alone_weights = tail_nodes(h[[i]], turns[[i]], width[[i]])
        np.testing.assert_allclose(x[i], alone_x[0])
        np.testing.assert_allclose(weights[i], alone_weights[0])
