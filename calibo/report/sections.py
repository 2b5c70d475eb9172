"""The figures of the report and how to read each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from calibo.report.cards import forecast_card
from calibo.report.coverage import coverage_over_time
from calibo.report.fans import fan
from calibo.report.feasibilities import feasibility
from calibo.report.fronts import front
from calibo.report.progress import best_so_far
from calibo.report.reliabilities import reliability
from calibo.report.volumes import hypervolume_over_time


@dataclass(frozen=True)
class Section:
    """One figure of the report and how to read it.

    Attributes:
        name: Of the element that holds it.
        draw: Makes the figure.
        reading: How to read it, in plain words.
    """

    name: str
    draw: Callable[[Any], go.Figure]
    reading: str


#: Of one outcome.
SECTIONS: tuple[Section, ...] = (
    Section(
        "forecast-card",
        forecast_card,
        "Before each trial ran, the model said where its result would lie: with 80 % probability inside the thick "
        "bar, with 95 % inside the thin one. The dot is what was measured. An orange cross is a miss: a result "
        "outside its thick bar. One in five should be a miss; many more mean bars that are too short, hardly any "
        "mean bars that are too long. The first trials are chosen without a model and have no bar. Zoom with the "
        "mouse, double-click to come back.",
    ),
    Section(
        "coverage-over-time",
        coverage_over_time,
        "After each result: which share of all results so far fell inside their interval? It should settle at the "
        "dotted line. The shaded band is where chance alone would put it 95 times out of 100, so a line inside the "
        "band is no evidence of a fault; below the band the intervals are too narrow, above it too wide. The "
        "dashed line is the model without calibration. The band is exact for each single time, so a long curve may "
        "leave it briefly.",
    ),
    Section(
        "reliability",
        reliability,
        "A forecast says for every level where the result will lie: below its 10 % level in one case of ten, and "
        "so on. The curve shows how often results really fell below each level; right forecasts follow the "
        "diagonal. An S that is steep in the middle means intervals too wide, steep at the ends too narrow, a "
        "curve all above or all below that forecasts are too high or too low. The band holds the whole curve of "
        "right forecasts 95 times out of 100.",
    ),
    Section(
        "fan",
        fan,
        "One parameter varies, the others stay at the best point. The shaded fan is where the next measurement is "
        "believed to lie (50, 80 and 95 %), dashed is the 80 % interval of the model without calibration. Below, "
        "the acquisition: the higher, the sooner the method would try that value next. Dots are results whose "
        "other parameters are close to the best point's.",
    ),
    Section(
        "best-so-far",
        best_so_far,
        "Each dot is a result; the line is the best of all results so far and its diamonds are improvements. If "
        "measurements are noisy the best one was partly lucky: the expected value (if drawn) is the more honest "
        "one.",
    ),
)

#: Those of a constraint: there is no best of it.
CONSTRAINT_SECTIONS = SECTIONS[:3]

FRONT = Section(
    "pareto-front",
    front,
    "Each mark is a result, placed by its values of two objectives; an axis says whether small or large values are "
    "wanted. A green diamond is on the Pareto front: no other result is at least as good in all objectives and "
    "better in one, so choosing among them is choosing what matters more. With two objectives the stairs bound what "
    "the front outdoes, and the shaded area down to the reference point is the hypervolume. Hollow marks do not "
    "meet all constraints. With more than two objectives the menus choose which are drawn, and a result that looks "
    "beaten here can be on the front through another one. Failed trials are not drawn. A click on the last "
    "entry of the legend shows what had been forecast of the latest results.",
)

HYPERVOLUME = Section(
    "hypervolume",
    hypervolume_over_time,
    "The hypervolume is one number for a whole front: the area (with three objectives the volume, and so on) between "
    "it and the reference point, which is just not worth having. It never falls; a step is a result that pushed the "
    "front outwards. A long flat stretch at the end means that nothing better is being found. Its size depends on "
    "the units and on the reference point, so compare it only within one study.",
)

FEASIBILITY = Section(
    "feasibility",
    feasibility,
    "Before each trial ran, the forecasts of its constraints said how likely it was to meet them all. Trials are "
    "sorted by that probability; the dot is the share of them that did, the short line what had been "
    "promised, and the bar where chance alone would put the share 95 times out of 100. A dot below its bar: too "
    "hopeful. Above: too cautious. With fewer than five trials nothing is said.",
)
