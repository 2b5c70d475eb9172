"""Coverage by place: the grouping rule, counts in each group, verdicts and words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibo.calibration import Evidence, GroupedQuantile
from calibo.data import Forecast, Marginal
from calibo.diagnostics import Place, PlaceTable, Verdict, calibration_table, place_table
from calibo.diagnostics.places import places_of
from calibo.distributions import Gaussian
from calibo.errors import DataError


def forecast(raw: float, calibrated: float | None = None) -> Forecast:
    """A forecast with these standard deviations before and after calibration."""
    return Forecast((Marginal(0.0, raw), Marginal(0.0, raw if calibrated is None else calibrated)))


@given(st.lists(st.tuples(st.floats(0.01, 10.0) | st.none(), st.floats(-5, 5)), max_size=12))
def test_places_are_the_groups_of_the_online_recalibrator(pairs: list[tuple[float | None, float]]) -> None:
    """By the forecasts that it was given, and the outcomes with a forecast before."""
    told = [None if std is None else Forecast((Marginal(0.0, 3.0), *forecast(std, 1.0).stages)) for std, _ in pairs]
    found = places_of(told, [value for _, value in pairs])
    assert [place is None for place in found] == [std is None for std, _ in pairs]
    known = np.array([(std, value) for std, value in pairs if std is not None]).reshape(-1, 2)
    evidence = Evidence(np.zeros((len(known), 1)), known[:, 1], Gaussian(np.zeros(len(known)), known[:, 0]))
    groups = GroupedQuantile().groups(evidence)
    assert [place for place in found if place is not None] == [list(Place)[g] for g in groups]


def test_a_forecast_of_one_stage_is_grouped_by_itself() -> None:
    alone = [Forecast((Marginal(0.0, std),)) for std in (1.0, 1.0, 0.1, 0.4, 2.0)]
    expected = [Place.FAR, Place.FAR, Place.NEAR, Place.BETWEEN, Place.FAR]
    assert places_of(alone, [-1.0, 1.0, 0.0, 1.0, 0.0]) == expected


@pytest.fixture(scope="module")
def wrong_near() -> PlaceTable:
    """Forecasts that are five times too narrow near the data and right elsewhere, on outcomes of spread 1."""
    rng = np.random.default_rng(0)
    start, stds = rng.standard_normal(20), np.tile([0.1, 0.35, 1.0], 40)
    outcomes = rng.standard_normal(120) * np.where(stds == 0.1, 0.5, stds)
    told = [forecast(1.0)] * 20 + [forecast(s) for s in stds.tolist()]
    return place_table([*told, None], [*start.tolist(), *outcomes.tolist(), 3.0])


def test_each_place_is_judged_by_its_own_results(wrong_near: PlaceTable) -> None:
    near, between, far = wrong_near.rows
    assert [row.of for row in wrong_near.rows] == [40, 40, 60]
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
        "far from the data: 3 of 5 in 50 % intervals, 5 of 5 in 80 % intervals, 5 of 5 in 95 % intervals; "
        "too early to judge",
    ]
    assert not few.judged


def test_mistakes_are_explained() -> None:
    with pytest.raises(DataError, match="1 forecasts for 2 outcomes"):
        place_table([None], [0.0, 1.0])
