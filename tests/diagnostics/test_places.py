"""Coverage by place: the grouping rule, counts in each group, verdicts and words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibo.data import FAR_ABOVE, NEAR_BELOW, Forecast, Marginal
from calibo.diagnostics import Place, PlaceTable, Verdict, calibration_table, place_table
from calibo.diagnostics.places import FEWEST_EARLIER, place_of, relative_spreads
from calibo.errors import DataError


def forecast(raw: float, calibrated: float | None = None) -> Forecast:
    """A forecast with these standard deviations before and after calibration."""
    return Forecast((Marginal(0.0, raw), Marginal(0.0, raw if calibrated is None else calibrated)))


@given(st.lists(st.tuples(st.floats(0.01, 10.0) | st.none(), st.floats(-5, 5)), max_size=12))
def test_spreads_are_relative_to_the_outcomes_before(pairs: list[tuple[float | None, float]]) -> None:
    forecasts = [None if std is None else forecast(std, 1.0) for std, _ in pairs]
    y = [value for _, value in pairs]
    spreads = relative_spreads(forecasts, y)
    for i, (std, _) in enumerate(pairs):
        earlier = np.std(y[:i]) if i >= FEWEST_EARLIER else 0.0
        expected = std / earlier if std is not None and earlier > 0 else np.nan
        np.testing.assert_allclose(spreads[i], expected)


def test_places_by_relative_spread() -> None:
    assert place_of(float("nan")) is None
    assert [place_of(r) for r in (0.0, NEAR_BELOW * 0.99)] == [Place.NEAR] * 2
    assert [place_of(r) for r in (NEAR_BELOW, FAR_ABOVE)] == [Place.BETWEEN] * 2
    assert place_of(FAR_ABOVE * 1.01) is Place.FAR


@pytest.fixture(scope="module")
def wrong_near() -> PlaceTable:
    """Forecasts that are five times too narrow near the data and right elsewhere, on outcomes of spread 1."""
    rng = np.random.default_rng(0)
    start, stds = [-1.0, 1.0] * 10, np.tile([0.1, 0.4, 1.0], 40)
    outcomes = rng.standard_normal(120) * np.where(stds == 0.1, 0.5, stds)
    return place_table([None] * 20 + [forecast(s) for s in stds.tolist()], [*start, *outcomes.tolist()])


def test_each_place_is_judged_by_its_own_results(wrong_near: PlaceTable) -> None:
    near, between, far = wrong_near.rows
    assert [row.of for row in wrong_near.rows] == [40] * 3
    assert [row.calibration.verdict for row in (near, between, far)] == [
        Verdict.TOO_NARROW,
        Verdict.COMPATIBLE,
        Verdict.COMPATIBLE,
    ]
    # The three places share the confidence, so that the counts expected of each are wider than of a table by itself.
    alone = calibration_table([Marginal(0.0, 1.0)] * 40, np.zeros(40)).rows[0]
    assert near.calibration.rows[0].low < alone.low


def test_in_words(wrong_near: PlaceTable) -> None:
    assert wrong_near.headline() == (
        "Intervals by how far the model had to reach: too narrow near the data; compatible in between "
        "and far from the data."
    )
    contained = [row.contained for row in wrong_near.rows[0].calibration.rows]
    assert wrong_near.sentences()[0] == (
        "near the data: {} of 40 in 50 % intervals, {} of 40 in 80 % intervals, {} of 40 in 95 % intervals; "
        "too narrow".format(*contained)
    )
    assert repr(wrong_near).startswith(wrong_near.headline()) and wrong_near.judged
    frame = wrong_near.to_frame()
    assert frame["place"].tolist()[::3] == [place.value for place in Place] and len(frame) == 9
    assert frame["contained"].tolist()[:3] == contained and "<td>too narrow</td>" in wrong_near._repr_html_()


def test_few_results() -> None:
    none = place_table([], [])
    assert "cannot be judged yet" in none.headline() and not none.judged
    few = place_table([forecast(1.0)] * 5, [0.0, 1.0, -1.0, 0.5, 0.2])
    assert few.sentences() == [
        "near the data: no result with a forecast yet",
        "between: no result with a forecast yet",
        "far from the data: 2 of 2 in 50 % intervals, 2 of 2 in 80 % intervals, 2 of 2 in 95 % intervals; "
        "too early to judge",
    ]
    assert not few.judged


def test_mistakes_are_explained() -> None:
    with pytest.raises(DataError, match="1 forecasts for 2 outcomes"):
        place_table([None], [0.0, 1.0])
