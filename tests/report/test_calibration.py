"""Figures of calibration draw what the diagnostics compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

from calibo import report as public
from calibo.data import Forecast, Marginal
from calibo.diagnostics import Verdict, count_band, covered, pit, reliability_curve
from calibo.errors import RecipeError
from calibo.report import OutcomeData, ReportData

Find = Callable[[Any, str], Any]
Outcome = Callable[..., OutcomeData]
Report = Callable[..., ReportData]
# Figures are too dynamic for a type checker.
plot_forecasts: Any = public.plot_forecasts
plot_coverage: Any = public.plot_coverage
plot_reliability: Any = public.plot_reliability
plot_feasibility: Any = public.plot_feasibility
plot_places: Any = public.plot_places
plot_surprise: Any = public.plot_surprise


def _unbounded(forecast: Forecast) -> Forecast:
    """The same forecast with intervals that are infinite beyond 60 %."""
    calibrated = replace(forecast.calibrated, backed=(0.2, 0.8))
    return replace(forecast, stages=(*forecast.stages[:-1], calibrated))


class TestForecasts:
    def test_misses_and_intervals(self, real: OutcomeData, trace_of: Find) -> None:
        figure = plot_forecasts(real)
        inside = covered(real.calibrated, real.outcomes, 0.8)
        numbers = np.array([real.numbers[i] for i in real.forecasted])
        misses = trace_of(figure, "outside 80 %")
        np.testing.assert_array_equal(misses.x, numbers[~inside])
        np.testing.assert_array_equal(misses.y, real.outcomes[~inside])
        np.testing.assert_array_equal(trace_of(figure, "inside 80 %").x, numbers[inside])
        assert misses.marker.symbol != trace_of(figure, "inside").marker.symbol
        assert figure.layout.title.subtitle.text.startswith(f"{(~inside).sum()} of {len(inside)} results fell outside")
        for coverage in (0.8, 0.95):
            bars = trace_of(figure, f"{100 * coverage:g} % interval")
            ends = np.array([distribution.interval(coverage) for distribution in real.calibrated])
            np.testing.assert_array_equal(bars.y[0::3], ends[:, 0])
            np.testing.assert_array_equal(bars.y[1::3], ends[:, 1])
            assert all(gap is None for gap in bars.y[2::3]) and list(bars.x[0::3]) == numbers.tolist()

    def test_failures_missing_forecasts_and_hover_boxes(self, real: OutcomeData, trace_of: Find) -> None:
        figure = plot_forecasts(real)
        assert list(trace_of(figure, "failed").x) == [7, 19]
        plain = [real.numbers[i] for i in real.finished if real.forecasts[i] is None]
        assert list(trace_of(figure, "no forecast").x) == plain
        dots = trace_of(figure, "inside")
        intervals, params = dots.customdata[0]
        assert intervals.startswith("80 %: ") and " to " in intervals and "95 %: " in intervals
        assert "x0 = " in params and "x1 = " in params
        assert "trial %{x}" in dots.hovertemplate and "value %{y" in dots.hovertemplate

    def test_an_extreme_value_is_marked_at_the_edge(self, outcome: Outcome, trace_of: Find) -> None:
        figure = plot_forecasts(outcome([*np.linspace(-1.0, 1.0, 20).tolist(), 1e300]))
        low, high = figure.layout.yaxis.range
        assert -10.0 < low < -1.0 and 1.0 < high < 10.0
        edge = trace_of(figure, "beyond")
        assert list(edge.x) == [20] and edge.marker.symbol == ("triangle-up",)
        assert trace_of(figure, "outside 80 %").y[-1] == 1e300
        everything = figure.layout.updatemenus[0].buttons[1]
        assert figure.data[everything.args[2][0]].name == "beyond this view"

    def test_overflow_and_too_few(self, outcome: Outcome) -> None:
        figure = plot_forecasts(outcome([1.7e308, -1.7e308, 1e300], distributions=[Marginal(0.0, 1.7e308)] * 3))
        assert "2 results are beyond" in figure.layout.title.subtitle.text
        assert "Not yet" in plot_forecasts(outcome([])).layout.annotations[0].text
        assert "Not yet" in plot_forecasts(outcome([1.0, 2.0], distributions=[None] * 2)).layout.title.subtitle.text

    def test_many_trials_are_thinned(self, outcome: Outcome, trace_of: Find) -> None:
        data = outcome(np.random.default_rng(0).standard_normal(3000).tolist())
        figure = plot_forecasts(data)
        missed = int((~covered(data.calibrated, data.outcomes, 0.8)).sum())
        drawn = len(trace_of(figure, "outside").x) + len(trace_of(figure, "inside").x)
        assert drawn == 600 and len(trace_of(figure, "outside").x) == min(missed, 450)
        assert "600 of 3000 trials are drawn" in figure.layout.title.subtitle.text

    def test_unbounded_intervals_go_from_edge_to_edge(self, real: OutcomeData, trace_of: Find) -> None:
        """A conformal forecast with few held-out results is unbounded at high levels, which is not "no forecast"."""
        place = real.forecasted[2]
        trial, forecast = real.trials[place], real.forecast(place)
        trials = list(real.trials)
        trials[place] = replace(trial, suggestion=replace(trial.suggestion, forecasts=(_unbounded(forecast),)))
        figure = plot_forecasts(replace(real, trials=tuple(trials)))
        for level in (80, 95):
            marks = trace_of(figure, f"unbounded at {level} %")
            assert list(marks.x) == [real.numbers[place]] * 2 + [None] and list(marks.y) == [0.0, 1.0, None]
            assert marks.yaxis == "y2" and marks.showlegend
        assert "-inf to inf" in str([trace.customdata for trace in figure.data])
        assert not trace_of(plot_forecasts(real), "unbounded at 80 %").showlegend


class TestCoverage:
    def test_curves_and_band(self, real: OutcomeData, trace_of: Find) -> None:
        figure = plot_coverage(real)
        count = np.arange(1, len(real.forecasted) + 1)
        for name, distributions in (("calibrated", real.calibrated), ("raw model", real.raw)):
            curve = trace_of(figure, name)
            np.testing.assert_array_equal(curve.x, count)
            np.testing.assert_allclose(curve.y, np.cumsum(covered(distributions, real.outcomes, 0.8)) / count)
        assert trace_of(figure, "raw model").line.dash == "dash"
        low, high = [t for t in figure.data if t.legendgroup == "band" and t.visible]
        # The bands of the three coverages of the buttons share the confidence.
        for edge, counts in zip((low, high), count_band(count, 0.8, tests=3), strict=True):
            np.testing.assert_allclose(edge.y, counts / count)
        assert high.name == "where right intervals stay at all times (95 %)"

    def test_the_verdict_is_where_the_curve_ends(self, outcome: Outcome, trace_of: Find) -> None:
        for scale, words in ((0.3, "too wide"), (1.0, "compatible"), (3.0, "too narrow")):
            y = scale * np.random.default_rng(2).permutation(ndtri((np.arange(60) + 0.5) / 60))
            data = outcome(y.tolist())
            figure = plot_coverage(data)
            low, high = [t for t in figure.data if t.legendgroup == "band" and t.visible]
            at = trace_of(figure, "calibrated").y[-1]
            place = "too narrow" if at < low.y[-1] else "too wide" if at > high.y[-1] else "compatible"
            assert place == words == data.calibration.rows[1].verdict.value
            assert words in figure.layout.title.subtitle.text

    def test_infinite_intervals_are_left_out(self, outcome: Outcome, trace_of: Find) -> None:
        data = outcome([0.1, -0.2, 0.3] * 10)
        unbounded = tuple(
            replace(trial, suggestion=replace(trial.suggestion, forecasts=(_unbounded(trial.forecasts[0]),)))
            for trial in data.trials[:12]
        )
        half = replace(data, trials=(*unbounded, *data.trials[12:]))
        assert list(trace_of(plot_coverage(half), "calibrated").x) == list(range(1, 19))
        assert half.calibration.rows[1].of == 18
        none = replace(data, trials=unbounded)
        assert not [t for t in plot_coverage(none, coverages=(0.8,)).data if t.name == "calibrated"]

    def test_buttons_switch_the_coverage(self, real: OutcomeData, trace_of: Find) -> None:
        figure = plot_coverage(real)
        buttons = figure.layout.updatemenus[0].buttons
        assert [b.label for b in buttons] == ["50 %", "80 %", "95 %"] and figure.layout.updatemenus[0].active == 1
        for button in buttons:
            shown = [t.name for t, visible in zip(figure.data, button.args[0]["visible"], strict=True) if visible]
            assert f"nominal: {button.label}" in shown and shown[-1] == "calibrated"
        assert trace_of(plot_coverage(real, coverages=(0.6,)), "nominal").y == (0.6, 0.6)
        with pytest.raises(RecipeError, match="at least one coverage"):
            plot_coverage(real, coverages=())

    def test_too_early(self, outcome: Outcome) -> None:
        figure = plot_coverage(outcome([0.1] * 7), coverages=(0.95,))
        assert "95 % intervals need at least<br>19 results, 7 so far" in figure.layout.annotations[0].text
        assert {t.name for t in figure.data} & {"calibrated", "raw model"} == set()
        assert not figure.layout.updatemenus
        assert "Not yet" in plot_coverage(outcome([])).layout.annotations[0].text
        assert "No forecasts" in plot_coverage(outcome([], makes_forecasts=False)).layout.annotations[0].text


class TestReliability:
    def test_curves_band_and_diagonal(self, real: OutcomeData, trace_of: Find) -> None:
        figure = plot_reliability(real)
        for name, distributions in (("calibrated", real.calibrated), ("raw model", real.raw)):
            expected = reliability_curve(pit(distributions, real.outcomes))
            curve = trace_of(figure, name)
            np.testing.assert_array_equal(curve.x[1:-1], expected.levels)
            np.testing.assert_array_equal(curve.y[1:-1], expected.observed)
            assert (curve.x[0], curve.y[0], curve.x[-1], curve.y[-1]) == (0, 0, 1, 1)
            assert curve.line.shape == "hv"
        low, high = [t for t in figure.data if t.legendgroup == "band"]
        expected = reliability_curve(pit(real.calibrated, real.outcomes))
        np.testing.assert_allclose(np.stack([low.y, high.y], axis=1), expected.band(np.array(low.x)))
        assert high.name == "where right forecasts stay at all times (95 %)"
        diagonal = trace_of(figure, "exactly calibrated")
        assert diagonal.x == diagonal.y == (0, 1)

    def test_sentences(self, outcome: Outcome) -> None:
        text = plot_reliability(outcome(ndtri((np.arange(200) + 0.5) / 200).tolist())).layout.title.subtitle.text
        assert text == (
            "After 200 results the calibrated curve stays inside the band, while the raw model's leaves the band."
        )
        text = plot_reliability(outcome([9.0] * 30)).layout.title.subtitle.text
        assert text == "After 30 results the calibrated curve leaves the band, as the raw model's does."

    def test_too_few_results_or_no_calibrator(self, outcome: Outcome, uncalibrated: OutcomeData) -> None:
        few = plot_reliability(outcome([0.1, 0.2, 0.3]))
        assert "needs at least 4 results with a forecast, 3 so far" in few.layout.annotations[0].text and not few.data
        plain = plot_reliability(uncalibrated)
        assert "raw model" not in [t.name for t in plain.data]
        assert plain.layout.title.text == "Reliability of the forecasts"


class TestPlaces:
    def test_observed_shares_and_bands(self, real: OutcomeData, trace_of: Find) -> None:
        figure = plot_places(real)
        table = real.calibration_by_place
        rows = [row for place in table.rows for row in place.calibration.rows if row.of]
        assert sum(place.of for place in table.rows) == len(real.forecasted)
        observed = {x: y for t in figure.data if t.name.startswith("observed") for x, y in zip(t.x, t.y, strict=True)}
        assert [observed[x] for x in sorted(observed)] == [row.contained / row.of for row in rows]
        ends = trace_of(figure, "where right").y
        assert (ends[0::3], ends[1::3]) == (
            tuple(row.low / row.of for row in rows),
            tuple(row.high / row.of for row in rows),
        )
        assert figure.layout.title.subtitle.text == table.headline()
        assert figure.layout.xaxis.ticktext[0] == f"near the data<br>{table.rows[0].of} results"

    def test_wrong_intervals_are_marked(self, outcome: Outcome, trace_of: Find) -> None:
        data = outcome([9.0, -9.0] * 20)
        assert data.calibration_by_place.rows[0].calibration.verdict is Verdict.TOO_NARROW
        wrong = trace_of(plot_places(data), "observed: too narrow")
        assert len(wrong.x) and wrong.marker.symbol == "x" and "near the data, " in wrong.customdata[0]

    def test_nothing_to_show(self, outcome: Outcome) -> None:
        assert "no trial with a forecast has a result" in plot_places(outcome([])).layout.annotations[0].text
        assert "No forecasts" in plot_places(outcome([], makes_forecasts=False)).layout.annotations[0].text


class TestFeasibility:
    @pytest.fixture
    def optimistic(self, report: Report) -> ReportData:
        """Ten trials predicted to be feasible, of which five were; three without a forecast; two doubtful."""
        distributions = [Marginal(-3.0, 1.0)] * 10 + [None] * 3 + [Marginal(1.0, 1.0)] * 2
        limits = [-1.0] * 5 + [1.0] * 5 + [-1.0] * 3 + [1.0, -1.0]
        return report([[1.0] * 15], [limits], distributions=distributions)

    def test_observed_and_predicted_shares(self, optimistic: ReportData, trace_of: Find) -> None:
        figure = plot_feasibility(optimistic)
        row, doubtful = optimistic.feasibility.rows[3], optimistic.feasibility.rows[1]
        assert (row.of, row.met, doubtful.of) == (10, 5, 2)
        wrong = trace_of(figure, f"observed: {row.verdict}")
        assert (wrong.x, wrong.y, wrong.marker.color) == ((3,), (0.5,), "#D55E00")
        early = trace_of(figure, "observed: too few")
        assert (early.x, early.y, early.marker.symbol) == ((1,), (0.5,), "circle-open")
        assert trace_of(figure, "predicted").y == (doubtful.stated, row.stated)
        assert trace_of(figure, "where right").y[3:5] == (row.expected[0] / 10, row.expected[1] / 10)
        layout = figure.layout
        assert layout.title.subtitle.text == optimistic.feasibility.headline()
        assert layout.xaxis.ticktext == (
            "below 10 %<br>0 trials",
            "10 to 50 %<br>2 trials",
            "50 to 90 %<br>0 trials",
            "90 % or more<br>10 trials",
        )

    def test_every_verdict_has_a_marker(self, optimistic: ReportData) -> None:
        table = optimistic.feasibility
        for met in range(11):
            rows = (*table.rows[:3], replace(table.rows[3], met=met))
            changed = replace(optimistic)
            object.__setattr__(changed, "feasibility", replace(table, rows=rows))
            assert sum(len(t.x) for t in plot_feasibility(changed).data if t.name.startswith("observed")) == 2

    def test_nothing_to_show(self, report: Report) -> None:
        assert "no constraints" in plot_feasibility(report([[1.0]])).layout.annotations[0].text
        silent = report([[1.0]], [[1.0]], distributions=[None])
        assert "forecast of the constraints" in plot_feasibility(silent).layout.annotations[0].text
        certain = report([[1.0] * 6], [[-1.0] * 6], distributions=[Marginal(-1.0, 0.0)] * 6)
        assert len(plot_feasibility(certain).data) > 2


def test_results_in_units_of_their_intervals(outcome: Outcome) -> None:
    """Readable whatever the width of the intervals: only where results lie within them is drawn."""
    high = float(Marginal(0.0, 1.0).icdf(0.9))
    wide, short = Marginal(0.0, 1.0), Marginal(5.0, 1e-6)
    data = outcome([high / 2, -2 * high, 5.0 + 9e-6, None], distributions=[wide, wide, short, wide])
    figure = plot_surprise(data)
    inside, outside, beyond = figure.data
    assert list(inside.x) == [0] and inside.y[0] == pytest.approx(0.5)
    assert list(outside.x) == [1] and outside.y[0] == pytest.approx(-2.0)
    assert list(beyond.x) == [2] and beyond.y[0] == 3.0, "drawn at the edge"
    assert figure.layout.title.subtitle.text == "Of 3 results, 1 above and 1 below the 80 % interval."
    assert "no result has" in plot_surprise(outcome([1.0], distributions=[None])).layout.annotations[0].text
