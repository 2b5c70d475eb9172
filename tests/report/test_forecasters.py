"""The picture and the page of several forecasters."""

from __future__ import annotations

import numpy as np

from calibo.data import Forecast, Marginal, Suggestion
from calibo.diagnostics import ForecasterTable, Verdict, forecaster_table
from calibo.report.data import OutcomeData
from calibo.report.forecasters import forecasters_page, plot_forecasters
from calibo.trials import Direction, State, Trial

N = 80
Y = np.random.default_rng(0).standard_normal(N)
SPREADS = {"<b>narrow</b>": 0.4, "right": 1.0, "wide": 30.0}


def found() -> ForecasterTable:
    return forecaster_table({name: [Marginal(0.0, s)] * N for name, s in SPREADS.items()}, Y, reference="right")


def test_every_share_and_its_band_is_drawn() -> None:
    figure = plot_forecasters(found())
    shares = {trace.name: trace for trace in figure.data if trace.xaxis is None}
    # 80 results cannot tell whether 95 % intervals are too wide.
    counts = {name: len(shares[name].x) for name in ("as expected", Verdict.TOO_NARROW.value, Verdict.TOO_WIDE.value)}
    assert counts == {"as expected": 4, "too narrow": 3, "too wide": 2}
    bands = np.array([v for v in figure.data[0].x if v is not None]).reshape(-1, 2)
    assert len(bands) == 9 and (bands[:, 0] <= bands[:, 1]).all()
    assert figure.layout.yaxis.ticktext == ("&lt;b&gt;narrow&lt;/b&gt;", "wide", "right")


def test_what_is_said_under_the_title_fits_a_notebook() -> None:
    title = plot_forecasters(found()).layout.title
    lines = title.subtitle.text.split("<br>")
    assert " ".join(lines) == found().headline().replace("<b>narrow</b>", "&lt;b&gt;narrow&lt;/b&gt;")
    assert 1 < len(lines) <= 3 and max(map(len, lines)) <= 105


def test_scores_beyond_the_edge_are_drawn_there() -> None:
    (ranked,) = (trace for trace in plot_forecasters(found()).data if trace.name == "CRPS" and len(trace.x) == 2)
    assert max(ranked.x) == 4.0 and ranked.marker.symbol[list(ranked.x).index(4.0)] == "triangle-right"
    assert any(text[1].startswith("1") for text in ranked.customdata)
    sharp = forecaster_table({"far": [Marginal(0.0, 30.0)] * N, "right": [Marginal(0.0, 1.0)] * N}, Y, reference="far")
    (ranked,) = (trace for trace in plot_forecasters(sharp).data if trace.name == "CRPS" and trace.x[0] is not None)
    assert ranked.x == (0.25,) and ranked.marker.symbol == ("triangle-left",)


def test_the_page_has_every_forecaster_and_names_are_escaped() -> None:
    outcomes = {
        name: OutcomeData(
            name="value",
            trials=tuple(
                Trial(
                    Suggestion({"x": 0.1}, number=i, forecasts=(Forecast((Marginal(0.0, spread),)),)),
                    State.COMPLETE,
                    values=(float(value),),
                )
                for i, value in enumerate(Y)
            ),
            directions=(Direction.MINIMIZE,),
        )
        for name, spread in SPREADS.items()
    }
    page = forecasters_page("Audit", ["80 results"], found(), outcomes, ["A note."], script="")
    assert "<b>narrow" not in page and page.count('<details class="panel outcome">') == 3
    assert "A note." in page and found().headline().replace("<b>narrow</b>", "&lt;b&gt;narrow&lt;/b&gt;") in page
    assert all(
        f'id="forecaster-{k}-{name}"' in page for k in range(3) for name in ("forecasts", "coverage", "reliability")
    )
