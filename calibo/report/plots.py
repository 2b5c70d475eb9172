"""The report's figures by name, for notebooks: ``result.plot.forecasts()``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from calibo.errors import DataError

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from calibo.report.data import OutcomeData, ReportData
    from calibo.report.insight import Insight


class Plots:
    """The figures of a report, each a Plotly figure: ``.show()`` opens it, a notebook draws it.

    Args:
        collect: Returns what the report shows; called once, when the first figure is asked for.

    Examples:
        >>> from calibo import Float, minimize
        >>> result = minimize(lambda p: p["x"] ** 2, {"x": Float(-1, 1)}, 6, seed=0, progress=False)
        >>> result.plot
        Plots(best_so_far, coverage, feasibility, forecasts, ..., slices, surprise)
        >>> result.plot.forecasts().layout.title.text
        'Forecasts and results'
    """

    def __init__(self, collect: Callable[[], ReportData]) -> None:
        self._collect = collect
        self._data: ReportData | None = None

    def __repr__(self) -> str:
        names = sorted(name for name in vars(Plots) if not name.startswith("_"))
        return f"Plots({', '.join(names)})"

    def forecasts(self, outcome: int | str = 0) -> go.Figure:
        """Draw the forecast intervals of an outcome with what was measured.

        Args:
            outcome: Index of an objective, or name of an objective or constraint; so in all figures of one outcome.
        """
        from calibo.report.calibration import plot_forecasts

        return plot_forecasts(self._outcome(outcome))

    def surprise(self, outcome: int | str = 0) -> go.Figure:
        """Draw the results in units of their intervals, readable however short these have become."""
        from calibo.report.calibration import plot_surprise

        return plot_surprise(self._outcome(outcome))

    def importance(self) -> go.Figure:
        """Draw how much of the objective's variation each parameter explains by itself."""
        from calibo.report.insight import plot_importance

        return plot_importance(self._insight("importance"))

    def map(self) -> go.Figure:
        """Draw what the model expects over the two most important parameters that are numbers."""
        from calibo.report.insight import plot_map

        return plot_map(self._insight("map"), larger_is_better=self._all.directions[0].value > 0)

    def coverage(self, outcome: int | str = 0) -> go.Figure:
        """Draw the share of results inside their intervals after each result."""
        from calibo.report.calibration import plot_coverage

        return plot_coverage(self._outcome(outcome))

    def places(self, outcome: int | str = 0) -> go.Figure:
        """Draw the coverage near the data, between, and far from them."""
        from calibo.report.calibration import plot_places

        return plot_places(self._outcome(outcome))

    def reliability(self, outcome: int | str = 0) -> go.Figure:
        """Draw how often results fell below each level of their forecasts."""
        from calibo.report.calibration import plot_reliability

        return plot_reliability(self._outcome(outcome))

    def slices(self, outcome: int | str = 0) -> go.Figure:
        """Draw predictions along each parameter through the best point."""
        from calibo.report.slices import plot_slices

        return plot_slices(self._outcome(outcome))

    def best_so_far(self, outcome: int | str = 0) -> go.Figure:
        """Draw the results and the best of them so far."""
        from calibo.report.progress import plot_best_so_far

        return plot_best_so_far(self._outcome(outcome))

    def pareto_front(self) -> go.Figure:
        """Draw the results by their values of two objectives, with the Pareto front."""
        from calibo.report.pareto import plot_pareto_front

        return plot_pareto_front(self._several())

    def hypervolume(self) -> go.Figure:
        """Draw the hypervolume after each trial."""
        from calibo.report.progress import plot_hypervolume

        return plot_hypervolume(self._several())

    def feasibility(self) -> go.Figure:
        """Draw how often constraints were met beside the probability that was forecast."""
        from calibo.report.calibration import plot_feasibility

        if not self._all.constraints:
            raise DataError(
                "no trial has constraints, so there is no feasibility to draw: see forecasts() or coverage()"
            )
        return plot_feasibility(self._all)

    @property
    def _all(self) -> ReportData:
        if self._data is None:
            self._data = self._collect()
        return self._data

    def _insight(self, part: Literal["importance", "map"]) -> Insight:
        found = self._all.insight
        if found is None or not (found.importance if part == "importance" else found.map):
            raise DataError(
                f"there is no {part} to draw: it needs one objective, results, and a method with a model "
                f"of two or more parameters{'' if part == 'importance' else ' that are numbers'}"
            )
        return found

    def _outcome(self, outcome: int | str) -> OutcomeData:
        objectives = self._all.objectives
        if isinstance(outcome, int) and not isinstance(outcome, bool) and 0 <= outcome < len(objectives):
            return objectives[outcome]
        for one in self._all.outcomes:
            if one.name == outcome:
                return one
        names = ", ".join(repr(one.name) for one in self._all.outcomes)
        raise DataError(
            f"no outcome {outcome!r}: give an index from 0 to {len(objectives) - 1}, or a name, one of {names}"
        )

    def _several(self) -> ReportData:
        if len(self._all.objectives) < 2:
            raise DataError("there is one objective, so there is no Pareto front to draw: see best_so_far()")
        return self._all
