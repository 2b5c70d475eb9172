"""The radio problem: reference values, averages over channels, and a sum written out as the check on the fast one."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calibo.data import Array
from calibo.diagnostics import simple_regret
from calibo.errors import DataError, RecipeError
from calibo.testing.randomness import global_state
from reproductions.kim2025.radio import (
    Layout,
    RadioNetwork,
    Weighting,
    published_fading,
    published_layout,
    radio,
)

TINY = Layout(
    antennas=((0.0, 0.0), (300.0, 0.0)),
    boresights=(0.0, 180.0),
    ground=((80.0, 5.0), (150.0, -20.0), (210.0, 10.0)),
    aircraft=((100.0, 40.0), (250.0, -30.0)),
)


def points(count: int, seed: int = 0, dimension: int = 18) -> Array:
    return np.random.default_rng(seed).uniform(size=(count, dimension))


def test_reference_file(golden: Callable[[str], Any]) -> None:
    file = golden("uav_radio")
    mean, published = RadioNetwork(), RadioNetwork(weighting="published")
    for case in file["cases"]:
        X, i = np.array([case["X"]]), case["fading_seed"]
        F = published_fading(range(i, i + 1))
        ground, air = mean.rates(X, F)
        assert ground.mean() == pytest.approx(case["mean_rate_gu"], abs=1e-10)
        assert air.mean() == pytest.approx(case["mean_rate_uav"], abs=1e-10)
        assert mean.capacity(X, F)[0, 0] == pytest.approx(case["value_uav_mean_over_28"], abs=1e-10)
        assert published.capacity(X, F)[0, 0] == pytest.approx(case["repo_value_uav_sum_over_200"], abs=1e-10)
        assert mean.capacity(X)[0, 0] == pytest.approx(case["no_fading_value_mean_over_28"], abs=1e-10)
        assert mean.serving(X)[0].tolist() == case["serving_bs"]
    # The file's average over the channels is that of the published weights.
    assert published([file["cases"][0]["X"]])[0] == pytest.approx(file["mc_true_all_max"], abs=1e-10)


def one_by_one(network: RadioNetwork, x: Array, F: Array) -> float:
    """The capacity of one point and one draw (users on the ground x antennas), link by link as (42) and (43) say."""
    layout, b = network.layout, len(network.layout.antennas)
    rates: dict[bool, list[float]] = {True: [], False: []}
    places = [(place, True) for place in layout.ground] + [(place, False) for place in layout.aircraft]
    for k, ((east, north), on_ground) in enumerate(places):
        before = []
        for i, (at_east, at_north) in enumerate(layout.antennas):
            flat = np.hypot(east - at_east, north - at_north)
            rise = (layout.ground_height if on_ground else layout.aircraft_height) - layout.antenna_height
            angle = np.degrees(np.arctan2(north - at_north, east - at_east)) - layout.boresights[i]
            angle -= 360 * np.round(angle / 360)
            miss = -90 + 180 * x[b + i] - np.degrees(np.arctan2(rise, flat))
            gain = np.clip(8 - 12 * (miss / 10) ** 2 - 12 * (angle / 65) ** 2, -30, 8)
            fixed, factor = (13.54, 39.08) if on_ground else (28.0, 22.0)
            loss = fixed + factor * np.log10(np.sqrt(flat**2 + rise**2)) + 20 * np.log10(2)
            before.append(10 ** ((6 + 40 * x[i] + gain - loss) / 10))
        served = int(np.argmax(before))
        after = [power * (F[k, i] if on_ground else 1.0) for i, power in enumerate(before)]
        others = sum(power for i, power in enumerate(after) if i != served)
        rates[on_ground].append(float(np.log2(1 + after[served] / (others + network.noise))))
    air = float(np.mean(rates[False])) if network.weighting == "mean" else sum(rates[False]) / 200
    return network.ground_weight * float(np.mean(rates[True])) + (1 - network.ground_weight) * air


@pytest.mark.parametrize("weighting", ["mean", "published"])
@pytest.mark.parametrize("layout", [None, TINY], ids=["published", "tiny"])
def test_the_fast_sum_is_the_one_written_out(layout: Layout | None, weighting: Weighting) -> None:
    network = RadioNetwork(layout, weighting) if layout else RadioNetwork(weighting=weighting)
    b, g = len(network.layout.antennas), len(network.layout.ground)
    X, rng = points(3, dimension=2 * b), np.random.default_rng(1)
    for F in (rng.standard_exponential((2, g, b)), rng.standard_exponential((3, 2, g, b))):
        each = np.broadcast_to(F, (3, 2, g, b))
        expected = [[one_by_one(network, x, each[i, j]) for j in range(2)] for i, x in enumerate(X)]
        np.testing.assert_allclose(network.capacity(X, F), expected, rtol=1e-11)


def test_draws_are_those_of_their_number() -> None:
    many = published_fading(range(5))
    assert many.shape == (5, 36, 9)
    np.testing.assert_array_equal(many[3:4], published_fading(range(3, 4)))
    h = np.random.RandomState(30).randn(2, 9, 64)
    np.testing.assert_allclose(many[3], ((h[0] ** 2 + h[1] ** 2) / 2).T[:36], rtol=1e-15)
    assert published_fading(range(0)).shape == (0, 36, 9)
    # Unit power: the mean of 100 x 36 x 9 standard exponentials, with a standard error of 0.0056.
    assert published_fading(range(100)).mean() == pytest.approx(1.0, abs=0.025)
    with pytest.raises(ValueError, match="read-only"):
        many[0, 0, 0] = 0.0


def test_the_truth_is_the_average_over_a_hundred_draws() -> None:
    p, X = radio(), points(3)
    each = [p.network.capacity(X, published_fading(range(i, i + 1)))[:, 0] for i in range(100)]
    np.testing.assert_allclose(p.problem(X), np.mean(each, axis=0), rtol=1e-12)
    np.testing.assert_allclose(p.noise_std(X), np.std(each, axis=0, ddof=1), rtol=1e-10)
    many = points(300)
    np.testing.assert_allclose(p.problem(many)[128:131], p.problem(many[128:131]), rtol=1e-12)
    assert p.problem(X[:0]).shape == (0,)


def test_measurements_scatter_around_the_truth_less_with_more_channels() -> None:
    X = np.repeat(points(2, seed=5), 1000, axis=0)
    for n_channels in (1, 4):
        p = radio(n_channels)
        Y = p(X, np.random.default_rng(0)).reshape(2, 1000)
        std = p.noise_std(X[::1000])
        # The truth is itself an average of 100 draws; five of its standard errors, a false alarm in a million.
        truth = p.problem(X[::1000])
        assert np.all(np.abs(Y.mean(axis=1) - truth) < 5 * np.sqrt(n_channels) * std / np.sqrt(100))
        np.testing.assert_allclose(Y.std(axis=1), std, rtol=0.35)


def test_the_generator_is_all_the_randomness() -> None:
    p, X, before = radio(2), points(4), global_state()
    published_layout.cache_clear()
    np.testing.assert_array_equal(p(X, np.random.default_rng(3)), radio(2)(X, np.random.default_rng(3)))
    assert global_state() == before
    # Each point has channels of its own.
    assert len(np.unique(p(np.repeat(X[:1], 5, axis=0), np.random.default_rng(3)))) == 5


@pytest.mark.parametrize("weighting", ["mean", "published"])
def test_the_optimum_is_attained_and_not_beaten_nearby_or_at_random(weighting: Weighting) -> None:
    p = radio(weighting=weighting).problem
    assert pickle.loads(pickle.dumps(p)) == p
    assert p.direction == "maximize"
    np.testing.assert_allclose(p(p.optimizers), p.optimum, atol=1e-9)
    rng = np.random.default_rng(6)
    near = np.array(p.optimizers) + 10.0 ** rng.uniform(-5, -1, (1500, 1)) * rng.normal(size=(1500, 18))
    values = p(np.concatenate([points(500), np.clip(near, 0, 1)]))
    assert values.max() <= p.optimum + 1e-9
    assert simple_regret(values, p.optimum, direction=p.direction)[-1] >= -1e-9


def test_mistakes_are_explained() -> None:
    with pytest.raises(RecipeError, match="n_channels must be at least 1, got 0"):
        radio(0)
    with pytest.raises(RecipeError, match="'mean' or 'published', got 'sum'"):
        radio(weighting="sum")  # pyright: ignore[reportArgumentType]
    with pytest.raises(RecipeError, match="ground_weight"):
        RadioNetwork(ground_weight=1.5)
    with pytest.raises(RecipeError, match="thermal noise"):
        RadioNetwork(noise=0.0)
    with pytest.raises(DataError, match="m x 18, got shape"):
        radio()(points(2, dimension=4), np.random.default_rng(0))
    with pytest.raises(DataError, match="c x 36 x 9 or 2 x c x 36 x 9"):
        RadioNetwork().capacity(points(2), np.ones((3, 1, 36, 9)))


def test_reference_places(golden: Callable[[str], Any]) -> None:
    file, layout = golden("uav_radio"), published_layout()
    np.testing.assert_allclose(layout.antennas, file["bs_xy"], atol=1e-12)
    np.testing.assert_allclose(layout.ground, file["gu_xy"], atol=1e-10)
    np.testing.assert_allclose(layout.aircraft, file["uav_xy"], atol=1e-12)
    constants = file["constants"]
    assert layout.boresights == tuple(constants["sector_boresights_deg"]) * constants["n_sites"]
    heights = (layout.antenna_height, layout.ground_height, layout.aircraft_height)
    assert heights == (constants["bs_height"], constants["gu_height"], constants["uav_height"])


def test_layouts_that_cannot_be_are_refused() -> None:
    with pytest.raises(RecipeError, match="1 antennas and 0 boresights"):
        Layout(((0.0, 0.0),), (), ((1.0, 0.0),), ((0.0, 1.0),))
    with pytest.raises(RecipeError, match="a user on the ground and one in the air"):
        Layout(((0.0, 0.0),), (0.0,), ((1.0, 0.0),), ())
