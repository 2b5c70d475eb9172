"""The report's figures by name."""

from __future__ import annotations

import pytest

from calibo import Float, Outcome, minimize
from calibo.errors import DataError
from calibo.study import Result


@pytest.fixture(scope="module")
def result() -> Result:
    def objective(params: dict[str, float]) -> Outcome:
        return Outcome((params["x"] ** 2, (params["x"] - 1) ** 2), constraints={"limit": params["x"] - 0.8})

    ways = ["minimize", "minimize"]
    return minimize(objective, {"x": Float(-1, 1)}, 8, "gp_ei", seed=0, progress=False, directions=ways)


def test_every_figure_can_be_drawn(result: Result) -> None:
    plots = result.plot
    for draw in (plots.forecasts, plots.coverage, plots.places, plots.reliability, plots.slices, plots.best_so_far):
        assert draw(1).to_dict()["layout"]["title"]["text"]
    for draw in (plots.pareto_front, plots.hypervolume, plots.feasibility):
        assert draw().to_dict()["layout"]["title"]["text"]
    assert plots.forecasts("limit").data


def test_an_unknown_outcome_is_refused_with_the_names_there_are(result: Result) -> None:
    with pytest.raises(DataError, match="no outcome 'cost': give an index from 0 to 1, or a name, one of .*'limit'"):
        result.plot.forecasts("cost")
    with pytest.raises(DataError, match="no outcome 2"):
        result.plot.forecasts(2)


def test_figures_of_what_is_not_there_are_refused() -> None:
    single = minimize(lambda p: p["x"], {"x": Float(-1, 1)}, 3, "gp_ei", seed=0, progress=False)
    with pytest.raises(DataError, match="one objective, so there is no Pareto front"):
        single.plot.pareto_front()
    with pytest.raises(DataError, match="no trial has constraints"):
        single.plot.feasibility()
