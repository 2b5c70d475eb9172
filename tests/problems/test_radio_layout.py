"""The radio layout: where the published code puts everything, and distances and angles one can check by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from calibo.errors import RecipeError
from calibo.problems.radio_layout import Layout, links, published_layout


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


def test_mistakes_are_explained() -> None:
    with pytest.raises(RecipeError, match="1 antennas and 0 boresights"):
        Layout(((0.0, 0.0),), (), ((1.0, 0.0),), ((0.0, 1.0),))
    with pytest.raises(RecipeError, match="a user on the ground and one in the air"):
        Layout(((0.0, 0.0),), (0.0,), ((1.0, 0.0),), ())
