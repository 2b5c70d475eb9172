"""One pass gives what the parts give, and says where it could not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibo.data import Array
from calibo.distributions.flat_improvement import log_improvement
from calibo.distributions.flat_parts import FlatPart, TailPart


def by_parts(t: Array, low: Array, high: Array, rho: Array, r: Array, inside: Array) -> Array:
    """log E (V - t)_+ by the two parts, m."""
    edge = np.full((len(t), 1), np.inf)
    tail = TailPart(np.concatenate([-edge, high], axis=1), np.concatenate([low, edge], axis=1), rho, r)
    flat = FlatPart(low, high, rho, r)
    held = np.where(flat.length > 0.0, inside, 0.0)
    with np.errstate(divide="ignore"):
        log_inside, log_outside = np.log(held), np.log1p(-held) - np.log(tail.mass)
    return np.logaddexp(log_inside + flat.log_gain(t), log_outside + tail.log_gain(t))


@given(
    st.floats(-6.0, 30.0),
    st.floats(0.05, 0.999),
    st.lists(st.floats(-4.0, 4.0), min_size=2, max_size=6).filter(lambda e: len(e) % 2 == 0),
    st.floats(0.05, 0.95),
)
def test_it_equals_the_parts(h: float, rho: float, ends: list[float], inside: float) -> None:
    e = np.sort(np.asarray(ends))
    low, high = e[None, ::2], e[None, 1::2]
    r = np.sqrt(1.0 - rho**2)
    arguments = (np.array([h * rho]), low, high, np.array([rho]), np.array([r]), np.array([inside]))
    value, safe = log_improvement(*arguments)
    if safe[0]:
        assert value[0] == pytest.approx(by_parts(*arguments)[0], abs=2e-8)


def test_ordinary_rows_are_all_in_one_pass() -> None:
    rng = np.random.default_rng(0)
    m = 500
    rho = rng.uniform(0.1, 0.995, m)
    half = rng.uniform(0.5, 3.2, m)
    t = rho * rng.uniform(-4.0, 12.0, m)
    arguments = (t, -half[:, None], half[:, None], rho, np.sqrt(1.0 - rho**2), np.full(m, 0.8))
    value, safe = log_improvement(*arguments)
    assert safe.mean() > 0.97
    np.testing.assert_allclose(value[safe], by_parts(*arguments)[safe], atol=2e-8)


def test_empty_sets_are_the_model() -> None:
    t = np.array([-1.0, 0.5, 7.0])
    nothing = np.zeros((3, 2))
    rho = np.full(3, 0.8)
    value, safe = log_improvement(t, nothing, nothing, rho, np.full(3, 0.6), np.full(3, 0.7))
    assert safe.all()
    np.testing.assert_allclose(value, by_parts(t, nothing, nothing, rho, np.full(3, 0.6), np.full(3, 0.7)), atol=1e-9)


def test_rows_it_cannot_do_are_marked() -> None:
    far, narrow, full, sure = 4.0, 1.0, 1.0, 500.0
    t = np.array([far, narrow, full, sure])
    rho = np.array([0.1, 0.8, 0.8, 0.8])
    low, high = np.array([[-1.0], [0.5], [-9.0], [-1.0]]), np.array([[1.0], [0.5 + 1e-6], [9.0], [1.0]])
    inside = np.array([0.7, 0.7, 0.7, 1.0 - 1e-9])
    _, safe = log_improvement(t, low, high, rho, np.sqrt(1.0 - rho**2), inside)
    assert not safe.any()


@given(
    st.floats(5.0, 1e4),
    st.floats(0.05, 0.999),
    st.floats(-8.0, 8.0),
    st.floats(1e-6, 4.0),
    st.floats(0.05, 0.999),
)
def test_far_above_the_set_is_the_models_own_tail(
    h: float, rho: float, low: float, length: float, inside: float
) -> None:
    """However far out, also where the set lies far from the model's mean."""
    one = np.ones(1)
    ends = (np.array([[low]]), np.array([[low + length]]))
    arguments = (h * rho * one, *ends, rho * one, np.sqrt(1.0 - rho**2) * one, inside * one)
    value, safe = log_improvement(*arguments)
    if safe[0]:
        assert value[0] == pytest.approx(by_parts(*arguments)[0], rel=1e-12, abs=2e-8)


def test_far_above_the_set_nothing_is_left_to_the_parts() -> None:
    t = np.array([6.0, 30.0, 500.0])
    rho, r, ends = np.full(3, 0.95), np.full(3, np.sqrt(1.0 - 0.95**2)), np.ones((3, 1))
    value, safe = log_improvement(t, -ends, ends, rho, r, 0.8)
    assert safe.all()
    np.testing.assert_allclose(value, by_parts(t, -ends, ends, rho, r, np.full(3, 0.8)), rtol=1e-13)
