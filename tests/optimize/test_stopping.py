"""Stopping rules: what they say, when, and where they are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibo import Float, Optimizer, Patience, RegretBelow, methods
from calibo.errors import FallbackWarning, RecipeError
from calibo.models import GaussianProcess
from calibo.optimize import ModelBased, Progress, StoppingRule
from calibo.optimize.stopping import AnyOf, as_rule
from calibo.search import RandomDraw

SPACE = {"x": Float(-1.0, 1.0)}
# The search is not what is tested here, so it may be a quick one.
GP_EI = methods.gp_ei(search=RandomDraw(64, 32))


def told(*values: float | str, direction: str = "minimize", limits: tuple[float, ...] = ()) -> Optimizer:
    """An optimizer with results in their order; "failed" for a failure."""
    optimizer = Optimizer(SPACE, GP_EI, direction=direction, seed=0)
    for i, value in enumerate(values):
        point = {"x": -1.0 + 2.0 * i / len(values)}
        if isinstance(value, str):
            optimizer.tell_failed(point)
        else:
            optimizer.tell(point, value, constraints={"limit": limits[i]} if limits else None)
    return optimizer


def run(method: Any, n: int, *, seed: int = 0, rule: StoppingRule | None = None) -> tuple[list[float], Optimizer]:
    optimizer, points = Optimizer(SPACE, method, seed=seed), []
    for _ in range(n):
        suggestion = optimizer.ask()
        points.append(suggestion.params["x"])
        optimizer.tell(suggestion, (suggestion.params["x"] - 0.3) ** 2)
        if rule is not None:
            optimizer.stopping(rule)
    return points, optimizer


class TestPatience:
    @pytest.mark.parametrize(
        ("values", "trials", "least", "stop"),
        [
            ((5, 3, 3, 3), 2, 0.0, True),
            ((5, 3, 3, 3), 3, 0.0, False),
            ((5, 3, 4), 2, 0.0, False),  # improved within the last two
            ((5, 3, 4), 1, 0.0, True),
            ((5, 4.9, 4.8, 4.7), 3, 0.5, True),  # by less than 0.5 in all
            ((5, 4.9, 4.8, 4.4), 3, 0.5, False),
            ((5,), 1, 0.0, False),
            ((), 1, 0.0, False),
            ((5, "failed", "failed"), 2, 0.0, True),  # failures count
            (("failed", "failed", "failed"), 2, 0.0, False),  # but not before the first result
            (("failed", "failed", 5), 2, 0.0, False),
        ],
    )
    def test_counts_finished_trials(self, values: tuple[Any, ...], trials: int, least: float, stop: bool) -> None:
        assert told(*values).stopping(Patience(trials, least)).stop is stop

    def test_the_direction_matters(self) -> None:
        assert told(1, 2, 3, 4, direction="minimize").stopping(Patience(2)).stop
        assert not told(1, 2, 3, 4, direction="maximize").stopping(Patience(2)).stop

    def test_infeasible_results_are_no_improvement(self) -> None:
        assert told(5, 3, 2, limits=(-1, 1, 1)).stopping(Patience(2)).stop
        assert not told(5, 3, 2, limits=(-1, 1, -1)).stopping(Patience(2)).stop
        assert not told(5, 3, 2, limits=(1, 1, 1)).stopping(Patience(2)).stop

    def test_pending_trials_do_not_count(self) -> None:
        optimizer = told(5, 3, 3)
        optimizer.ask(4)
        assert not optimizer.stopping(Patience(2)).stop

    def test_several_objectives_are_judged_by_their_hypervolume(self) -> None:
        optimizer = Optimizer(SPACE, GP_EI, directions=["minimize", "minimize"], reference=[4.0, 4.0], seed=0)
        for i, values in enumerate([(3, 3), (2, 3), (3.5, 3.5), (1, 1)]):
            optimizer.tell({"x": -1 + i / 2}, values)
            if i == 2:
                assert optimizer.stopping(Patience(1)).stop
                assert not optimizer.stopping(Patience(2)).stop
        assert not optimizer.stopping(Patience(1)).stop
        assert optimizer.stopping(Patience(3, least=20.0)).stop

    def test_improvements_beyond_all_floats_are_improvements(self) -> None:
        with np.errstate(all="raise"), pytest.warns(FallbackWarning, match="outcomes beyond 1e"):
            assert not told(1.7e308, -1.7e308).stopping(Patience(1)).stop

    def test_works_with_every_method(self) -> None:
        _, optimizer = run(methods.lfbo(search=RandomDraw(32, 16)), 8)
        assert isinstance(optimizer.stopping(Patience(3)).stop, bool)

    def test_says_why(self) -> None:
        assert told(5, 3, 3).stopping(Patience(1)).sentence == "no improvement in the last trial"
        assert told(5, 3, 3).stopping(Patience(1, 0.5)).sentence == "no improvement by more than 0.5 in the last trial"
        assert str(told(5, 3, 2).stopping(Patience(2))) == "go on: an improvement in the last 2 trials"


class TestRegretBelow:
    def test_a_parabola_is_certified_and_truly_so(self) -> None:
        _, optimizer = run("ocbo", 14)
        verdict = optimizer.stopping(RegretBelow(0.05))
        assert verdict.stop
        assert verdict.probability is not None and verdict.probability >= 0.9
        assert verdict.bound is not None and 0.0 <= verdict.bound <= 0.05
        assert verdict.params == optimizer.best_expected[0]
        assert "no point is better than the best one found by more than 0.05" in verdict.sentence
        assert not optimizer.stopping(RegretBelow(1e-12)).stop

    def test_a_few_results_are_not_enough(self) -> None:
        _, optimizer = run("ocbo", 5)
        verdict = optimizer.stopping(RegretBelow(1e-3, 0.99))
        assert not verdict.stop
        assert "too low: asked for was 0.99" in verdict.sentence

    def test_units_are_those_of_the_objective(self) -> None:
        """1000 times the outcome with 1000 times the regret is the same question, whatever the direction."""
        small, large = (Optimizer(SPACE, GP_EI, seed=0, direction=way) for way in ("minimize", "maximize"))
        for x in np.linspace(-1.0, 1.0, 8):
            small.tell({"x": float(x)}, np.sin(4 * x))
            large.tell({"x": float(x)}, -1000.0 * np.sin(4 * x))
        one, other = small.stopping(RegretBelow(0.02)), large.stopping(RegretBelow(20.0))
        assert one.probability == other.probability
        assert 1000.0 * (one.bound or 0.0) == pytest.approx(other.bound, rel=1e-3)

    def test_the_same_question_has_the_same_answer(self) -> None:
        verdicts = [run("ocbo", 9, seed=3)[1].stopping(RegretBelow(0.01)) for _ in range(2)]
        assert verdicts[0] == verdicts[1]

    def test_asking_changes_nothing(self) -> None:
        before = np.random.get_state()[1].copy()  # pyright: ignore[reportAttributeAccessIssue, reportArgumentType, reportCallIssue, reportIndexIssue]
        with_rule, _ = run("ocbo", 10, rule=AnyOf((RegretBelow(0.01), Patience(4))))
        without, _ = run("ocbo", 10)
        assert with_rule == without
        assert (before == np.random.get_state()[1]).all()  # pyright: ignore[reportAttributeAccessIssue, reportArgumentType, reportCallIssue, reportIndexIssue]

    def test_a_finite_space_that_is_known_is_certified_at_zero(self) -> None:
        rows = [{"x": float(x)} for x in np.linspace(0.0, 1.0, 6)]
        optimizer = Optimizer(rows, "gp_ei", direction="maximize", seed=0)
        for row in rows:
            for _ in range(3):
                optimizer.tell(row, row["x"], sem=1e-4)
        assert optimizer.stopping(RegretBelow(0.0, 0.95)).stop

    def test_nothing_to_recommend(self) -> None:
        assert "no result yet" in Optimizer(SPACE, GP_EI).stopping(RegretBelow(1.0)).sentence
        verdict = told(1, 2, 3, limits=(1, 1, 1)).stopping(RegretBelow(100.0, 0.1))
        assert not verdict.stop
        assert "no result meets all constraints" in verdict.sentence

    @pytest.mark.parametrize("outcome", [0.0, 7.0])
    def test_equal_results_say_nothing_of_other_points(self, outcome: float) -> None:
        optimizer = Optimizer(SPACE, seed=0)
        for x in np.linspace(-1.0, 1.0, 9):
            optimizer.tell({"x": float(x)}, outcome)
        verdict = optimizer.stopping(RegretBelow(0.1))
        assert not verdict.stop and "all 9 results are the same" in verdict.sentence
        optimizer.tell({"x": 0.1}, outcome + 0.01)
        assert "results are the same" not in optimizer.stopping(RegretBelow(0.1)).sentence
        rows = Optimizer([{"x": 0.0}, {"x": 0.5}, {"x": 1.0}], seed=0)
        for x in (0.0, 0.5, 1.0):
            rows.tell({"x": x}, outcome)
        assert "results are the same" not in rows.stopping(RegretBelow(0.1)).sentence
        rows = Optimizer([{"x": 0.0}, {"x": 0.5}, {"x": 1.0}], seed=0)
        for x in (0.0, 0.5):
            rows.tell({"x": x}, outcome)
        assert "all 2 results are the same" in rows.stopping(RegretBelow(0.1)).sentence
        rows.tell_failed({"x": 1.0})
        assert "results are the same" not in rows.stopping(RegretBelow(0.1)).sentence

    def test_constraints_and_failures(self) -> None:
        """A slope that ends at a constraint or at failures: the best point is at the border, and known to be."""
        optimizer = Optimizer(SPACE, "gp_ei", direction="maximize", seed=0)
        for x in np.linspace(-1.0, 1.0, 17):
            if x > 0.6:
                optimizer.tell_failed({"x": float(x)})
            else:
                optimizer.tell({"x": float(x)}, x, constraints={"limit": x - 0.05})
        verdict = optimizer.stopping(RegretBelow(0.15, 0.8))
        assert verdict.stop
        assert verdict.params is not None and -0.1 <= verdict.params["x"] <= 0.05

    @pytest.mark.parametrize("method", ["locbo", "cbo", "turbo"])
    def test_other_methods_with_forecasts(self, method: str) -> None:
        _, optimizer = run(method, 8)
        verdict = optimizer.stopping(RegretBelow(0.02))
        assert verdict.probability is not None and 0.0 <= verdict.probability <= 1.0

    def test_a_forecaster_beside_a_classifier_will_do(self) -> None:
        _, optimizer = run(methods.lfbo(search=RandomDraw(32, 16), forecaster=GaussianProcess()), 10)
        assert optimizer.stopping(RegretBelow(10.0)).stop

    @pytest.mark.parametrize("method", ["lfbo", "bore"])
    def test_methods_without_forecasts_are_refused(self, method: str) -> None:
        with pytest.raises(RecipeError, match=f"{method} has none: use a method with forecasts.*Patience"):
            Optimizer(SPACE, method).stopping(RegretBelow(0.1))

    def test_several_objectives_are_refused(self) -> None:
        optimizer = Optimizer(SPACE, GP_EI, directions=["minimize", "maximize"])
        with pytest.raises(RecipeError, match="one objective, got 2.*hypervolume"):
            optimizer.stopping([Patience(3), RegretBelow(0.1)])


class TestRules:
    def test_the_first_rule_that_stops_gives_the_reason(self) -> None:
        optimizer = told(5, 3, 3, 3)
        assert optimizer.stopping([Patience(9), Patience(2)]).sentence == "no improvement in the last 2 trials"
        both = optimizer.stopping([RegretBelow(1e-9), Patience(9)])
        assert not both.stop
        assert both.probability is not None
        assert both.sentence.endswith("; fewer than 9 trials since the first result")

    def test_a_rule_of_your_own(self) -> None:
        from dataclasses import dataclass

        from calibo.optimize import StoppingVerdict

        @dataclass(frozen=True)
        class Target(StoppingRule):
            value: float

            def judge(self, progress: Progress) -> StoppingVerdict:
                reached = bool(len(progress.merit)) and -progress.merit[-1] <= self.value
                return StoppingVerdict(reached, f"the target {self.value} is {'' if reached else 'not '}reached")

        assert told(5, 3).stopping(Target(3)).stop
        assert not told(5, 3).stopping(Target(2)).stop

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: RegretBelow(-0.1), "epsilon"),
            (lambda: RegretBelow(float("nan")), "epsilon"),
            (lambda: RegretBelow(0.1, 1.0), "confidence"),
            (lambda: Patience(0), "trials of Patience"),
            (lambda: Patience(3, -1.0), "least"),
            (lambda: as_rule([]), "at least one"),
            (lambda: as_rule("patience"), "StoppingRule such as"),  # pyright: ignore[reportArgumentType]
            (lambda: as_rule([Patience]), "needs \\(\\)"),  # pyright: ignore[reportArgumentType]
        ],
    )
    def test_wrong_settings_are_refused(self, make: Any, message: str) -> None:
        with pytest.raises(RecipeError, match=message):
            make()


def test_a_calibrated_method_is_no_surer_than_its_raw_model() -> None:
    """Calibration may make a search wait longer, never stop it sooner."""
    _, optimizer = run("ocbo", 12, seed=1)
    strategy = optimizer.strategy
    assert isinstance(strategy, ModelBased)
    by_reach = strategy.surrogate.surrogate  # pyright: ignore[reportAttributeAccessIssue]
    raw = Optimizer(SPACE, ModelBased(by_reach.surrogate, strategy.rule), seed=1)
    for trial in optimizer.trials:
        raw.tell(trial.params, trial.value or 0.0)
    for epsilon in (1e-6, 1e-4, 1e-2):
        calibrated = optimizer.stopping(RegretBelow(epsilon)).probability or 0.0
        # Four standard errors of the difference of two shares of 256 draws.
        assert calibrated <= (raw.stopping(RegretBelow(epsilon)).probability or 0.0) + 4 * np.sqrt(0.5 / 256)
