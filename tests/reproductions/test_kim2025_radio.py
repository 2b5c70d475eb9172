"""The radio problem: reference values, averages over channels, and a sum written out as the check on the fast one."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibo.data import Array
from calibo.diagnostics import simple_regret
from calibo.errors import DataError, RecipeError, SpaceError
from calibo.problems import with_noise
from reproductions.kim2025.radio import (
    Layout,
    RadioNetwork,
    Weighting,
    links,
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


@given(st.integers(0, 10_000))
def test_rates_grow_with_the_signal_and_shrink_with_interference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network, X, F = RadioNetwork(TINY), rng.uniform(size=(4, 4)), rng.standard_exponential((3, 3, 2))
    ground, air = network.rates(X, F)
    assert ground.shape == (4, 3, 3)
    assert air.shape == (4, 2)
    assert np.all(ground >= 0)
    assert np.all(air >= 0)
    serving = network.serving(X)[:, None, :3, None] == np.arange(2)
    better, _ = network.rates(X, np.where(serving, 2.0, 1.0) * F)
    worse, _ = network.rates(X, np.where(serving, 1.0, 2.0) * F)
    assert np.all(better >= ground)
    assert np.all(worse <= ground)


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
    X = np.repeat(points(2, seed=5), 5000, axis=0)
    for n_channels in (1, 4):
        p = radio(n_channels)
        Y = p(X, np.random.default_rng(0)).reshape(2, 5000)
        std = p.noise_std(X[::5000])
        # The truth is itself an average of 100 draws; five of its standard errors, a false alarm in a million.
        truth = p.problem(X[::5000])
        assert np.all(np.abs(Y.mean(axis=1) - truth) < 5 * np.sqrt(n_channels) * std / np.sqrt(100))
        np.testing.assert_allclose(Y.std(axis=1), std, rtol=0.35)


def test_noise_depends_on_the_point() -> None:
    std = radio().noise_std(points(200))
    assert std.max() > 1.5 * std.min() > 0


def test_the_same_generator_gives_the_same_measurements_and_the_global_one_is_left_alone() -> None:
    p, X = radio(2), points(4)
    before = str(np.random.get_state())
    first = p(X, np.random.default_rng(3))
    p.problem(X)
    np.testing.assert_array_equal(first, p(X, np.random.default_rng(3)))
    assert str(np.random.get_state()) == before
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


def test_no_antenna_alone_does_better_than_the_optimum() -> None:
    p = radio().problem
    tilts = np.linspace(0, 1, 181)
    X = np.zeros((9, len(tilts), 18))
    for i in range(9):
        X[i, :, i], X[i, :, 9 + i] = 1.0, tilts
    values = p(X.reshape(-1, 18)).reshape(9, -1)
    assert values.max() <= p.optimum + 1e-9
    assert int(np.argmax(values.max(axis=1))) == 0


def test_objectives_by_name() -> None:
    p, X = radio(), points(1)
    params = dict(zip(p.problem.names, X[0].tolist(), strict=True))
    assert list(p.problem.space()) == [f"x{i}" for i in range(18)]
    assert p.problem.objective(params) == p.problem(X)[0]
    assert p.objective(params, np.random.default_rng(0)) == p(X, np.random.default_rng(0))[0]
    gaussian = with_noise(p.problem)
    np.testing.assert_array_equal(gaussian.noise_std(X), p.noise_std(X))
    with pytest.raises(SpaceError, match="radio takes the parameters"):
        p.objective({"x0": 0.5}, np.random.default_rng(0))


def test_mistakes_are_explained() -> None:
    with pytest.raises(RecipeError, match="n_channels must be at least 1, got 0"):
        radio(0)
    with pytest.raises(RecipeError, match="n_channels must be at least 1, got 0"):
        RadioNetwork().measure(points(1), np.random.default_rng(0), 0)
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


def test_users_stand_in_the_ring_of_their_antenna() -> None:
    layout = published_layout()
    assert (len(layout.antennas), len(layout.ground), len(layout.aircraft)) == (9, 36, 28)
    away = np.array(layout.ground) - np.repeat(layout.antennas, 4, axis=0)
    distance = np.hypot(*away.T)
    assert np.all((distance >= 10) & (distance <= 120))


def test_the_layout_is_drawn_without_the_global_state() -> None:
    before = str(np.random.get_state())
    published_layout.cache_clear()
    first = published_layout()
    published_layout.cache_clear()
    assert published_layout() == first
    assert hash(published_layout()) == hash(first)
    assert str(np.random.get_state()) == before


def test_links_by_hand() -> None:
    # One antenna at the origin that faces north; one user 100 m to the east, one aircraft 125 m to the north and above.
    way = links(Layout(((0.0, 0.0),), (90.0,), ((100.0, 0.0),), ((0.0, 125.0),)))
    np.testing.assert_allclose(way.azimuth, [[-90.0], [0.0]], atol=1e-12)
    np.testing.assert_allclose(way.elevation, [[-np.degrees(np.arctan(0.235))], [45.0]], atol=1e-12)
    ground = 13.54 + 39.08 * np.log10(np.sqrt(100**2 + 23.5**2)) + 20 * np.log10(2)
    air = 28 + 22 * np.log10(125 * np.sqrt(2)) + 20 * np.log10(2)
    np.testing.assert_allclose(way.path_loss, [[ground], [air]], atol=1e-12)


def test_links_turn_with_the_antenna_and_cannot_be_changed() -> None:
    layout = published_layout()
    way = links(layout)
    assert way.path_loss.shape == (64, 9)
    assert np.all(np.abs(way.azimuth) <= 180)
    turned = links(replace(layout, boresights=tuple(angle + 360 for angle in layout.boresights)))
    np.testing.assert_allclose(turned.azimuth, way.azimuth, atol=1e-9)
    with pytest.raises(ValueError, match="read-only"):
        way.path_loss[0, 0] = 0.0


def test_layouts_that_cannot_be_are_refused() -> None:
    with pytest.raises(RecipeError, match="1 antennas and 0 boresights"):
        Layout(((0.0, 0.0),), (), ((1.0, 0.0),), ((0.0, 1.0),))
    with pytest.raises(RecipeError, match="a user on the ground and one in the air"):
        Layout(((0.0, 0.0),), (0.0,), ((1.0, 0.0),), ())
