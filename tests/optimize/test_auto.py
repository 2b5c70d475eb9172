"""The default method: what it uses, why it says so, and that it decides alike after a resume."""

from __future__ import annotations

import logging
import warnings
from dataclasses import replace

import numpy as np
import optuna
import pytest
from scipy.spatial.distance import cdist

import calibo
from calibo import Float, Optimizer, methods
from calibo.acquisition import NoisyExpectedImprovement
from calibo.data import Dataset
from calibo.errors import CaliboWarning, RecipeError
from calibo.optimize import Auto
from calibo.optimize.auto import acts_on_ranks, default_for_rows, in_steps, log_change, nothing_leads_on
from calibo.study.attributes import read_suggestion

RNG = np.random.default_rng
EXACT = (
    "exact Gaussian process; bad outcomes count by rank, as how bad they are tells little; "
    "expected improvement, as measurements are nearly exact"
)


def data(n: int = 20, noise: float = 0.0, objectives: int = 1) -> Dataset:
    X = RNG(0).random((n, 2))
    f = -np.square(X - 0.4).sum(axis=1, keepdims=True) + noise * RNG(1).standard_normal((n, 1))
    return Dataset(X=X, Y=np.hstack([f, -f])[:, :objectives])


def mixed() -> Dataset:
    """The last column is a choice."""
    known = data()
    return replace(known, X=np.hstack([known.X, np.full((len(known), 1), 0.25)]), categories=(0, 0, 2))


class TestWhy:
    def test_exact_measurements(self) -> None:
        assert methods.auto().plan(data(), rng=RNG(0)).why == EXACT

    def test_choices(self) -> None:
        assert methods.auto().plan(mixed(), rng=RNG(0)).why == EXACT

    def test_noisy_measurements(self) -> None:
        why = methods.auto().plan(data(80, noise=0.1), rng=RNG(0)).why
        words = (
            "noisy and plain expected improvement in turns, also at points measured before, as measurements are noisy"
        )
        assert why is not None and why.endswith(words)

    def test_noisy_measurements_of_several_objectives(self) -> None:
        why = methods.auto().plan(data(80, noise=0.1, objectives=2), rng=RNG(0)).why
        words = "noisy and plain hypervolume improvement in turns, as measurements are noisy"
        assert why is not None and why.endswith(words)

    @pytest.mark.parametrize("factor", [1e200, 1e-200, 0.0])
    def test_outcomes_that_cannot_be_ranked_are_not_said_to_be(self, factor: float) -> None:
        known = data()
        why = methods.auto().plan(replace(known, Y=factor * known.Y), rng=RNG(0)).why
        assert why is not None and "; outcomes count as they are, as half of them are alike, or they are too" in why

    def test_many_results(self) -> None:
        why = replace(methods.auto(), large=10).plan(data(11), rng=RNG(0)).why
        assert why is not None and why.startswith("Gaussian process of neighbours, over 10 results")

    @pytest.mark.parametrize(
        ("known", "words"),
        [
            (
                replace(mixed(), contexts=(2,)),
                "some parameters are contexts; expected improvement, as measurements are nearly exact",
            ),
            (replace(data(), from_pool=True), "candidates are rows; expected improvement"),
            (data(objectives=2), "there are several objectives; hypervolume improvement"),
        ],
        ids=["contexts", "rows", "objectives"],
    )
    def test_elsewhere_the_search_acts_on_the_model_inside_what_is_shown(self, known: Dataset, words: str) -> None:
        plan = methods.auto().plan(known, rng=RNG(0))
        assert plan.why == f"exact Gaussian process; outcomes count as they are, as {words}"
        X = RNG(3).random((5, known.X.shape[1]))
        same = methods.ocbo().plan(known, rng=RNG(0))
        np.testing.assert_array_equal(plan.acquisition(X), same.acquisition(X))


def stepped(n: int, step: float) -> Dataset:
    """The function of ``data``, constant on squares: a staircase."""
    known = data(n)
    f = -np.square(np.floor(known.X / step) * step - 0.4).sum(axis=1, keepdims=True)
    return replace(known, Y=f)


class TestSteps:
    """Where more than a quarter of the better half of the results are on plateaus, other parts are used."""

    def test_a_staircase_is_searched_by_outcomes_as_they_are_and_noisy_improvement(self) -> None:
        known = stepped(40, step=0.25)
        plan = methods.auto().plan(known, rng=RNG(0))
        assert plan.why == (
            "exact Gaussian process; outcomes count as they are, as they come in steps; "
            "noisy expected improvement, as many good results are on plateaus"
        )
        same = methods.ocbo(surrogate=methods.auto().method.surrogate, rule=NoisyExpectedImprovement(draws=64)).plan(
            replace(known, refit=True), rng=RNG(0)
        )
        X = RNG(3).random((5, 2))
        np.testing.assert_array_equal(plan.acquisition(X), same.acquisition(X))
        np.testing.assert_array_equal(plan.avoid, known.X)

    @pytest.mark.parametrize(
        ("known", "steps"),
        [
            (stepped(40, step=0.25), True),
            (stepped(9, step=1.0), False),
            (stepped(40, step=0.01), False),
            (data(40), False),
            (replace(stepped(40, step=0.25), from_pool=True), False),
            (replace(stepped(40, step=0.25), contexts=(1,)), False),
            (replace(stepped(40, step=0.25), categories=(0, 4)), False),
        ],
        ids=["steps", "few results", "hardly any ties", "no ties", "rows", "contexts", "choices"],
    )
    def test_where_outcomes_come_in_steps(self, known: Dataset, steps: bool) -> None:
        assert in_steps(known) is steps
        assert not (steps and acts_on_ranks(known))

    @pytest.mark.parametrize(("equal", "steps"), [([0, 1, 2], False), ([0, 1, 2, 3], True), ([0, 4, 8, 11], False)])
    def test_more_than_a_quarter_of_the_better_half_must_be_on_plateaus(self, equal: list[int], steps: bool) -> None:
        """Good results lie on a line in the order of their outcomes; equal ones that are far apart do not count."""
        X, bad, good = np.linspace(0.0, 1.0, 24)[:, None], -np.arange(1.0, 13.0), np.arange(12.0)
        good[equal] = 3.5
        assert in_steps(Dataset(X=X, Y=np.concatenate([bad, good])[:, None])) is steps

    def test_of_very_many_results_the_best_are_looked_at(self) -> None:
        known = stepped(3000, step=0.25)
        assert in_steps(known) and not in_steps(data(3000))

    @pytest.mark.parametrize("worst", [10, 11, 14, 20])
    def test_ties_of_the_worst_outcome_do_not_count(self, worst: int) -> None:
        y = np.concatenate([np.full(worst, -5.0), np.arange(20.0 - worst)])
        assert not in_steps(Dataset(X=RNG(0).random((20, 2)), Y=y[:, None]))

    def test_a_point_measured_again_is_no_plateau(self) -> None:
        X = np.vstack([RNG(0).random((8, 2)), np.full((4, 2), 0.5)])
        y = np.concatenate([np.arange(8.0), np.full(4, 9.0)])
        assert not in_steps(Dataset(X=X, Y=y[:, None]))


class TestRepeats:
    """Under noise points may be measured again, without it not; failed and pending ones never."""

    def test_what_is_avoided(self) -> None:
        others = {"X_pending": np.full((1, 2), 0.1), "X_failed": np.full((2, 2), 0.9)}
        exact, noisy = (replace(known, **others) for known in (data(), data(80, noise=0.1)))
        assert len(methods.auto().plan(exact, rng=RNG(0)).avoid) == len(exact.tried) == 23
        np.testing.assert_array_equal(methods.auto().plan(noisy, rng=RNG(0)).avoid[:, 0], [0.1, 0.9, 0.9])

    def test_a_repetition_with_the_same_outcome_is_the_last(self) -> None:
        """What looks noisy is a rough computation then."""
        noisy = data(80, noise=0.1)
        plan = methods.auto().plan(noisy.with_observations(noisy.X[:1], noisy.Y[:1]), rng=RNG(0))
        assert len(plan.avoid) == 81 and plan.why is not None
        assert plan.why.endswith("in turns, as outcomes look noisy, although a repeated measurement gave the same")
        other = noisy.with_observations(noisy.X[:1], noisy.Y[:1] + 0.01)
        assert not len(methods.auto().plan(other, rng=RNG(0)).avoid)

    def test_a_noisy_optimum_in_a_corner_is_measured_again(self) -> None:
        optimizer = Optimizer({"x": Float(0, 1), "y": Float(0, 1)}, seed=0)
        noise = RNG(5)
        for _ in range(30):
            asked = optimizer.ask()
            optimizer.tell(asked, asked.params["x"] + asked.params["y"] + 0.3 * noise.standard_normal())
        corner = [trial.suggestion.x for trial in optimizer.trials if not trial.suggestion.x.any()]
        assert len(corner) >= 3


def test_an_optimizer_over_rows_says_so() -> None:
    optimizer = Optimizer([{"x": value} for value in np.linspace(0.0, 1.0, 30)], seed=0)
    assert optimizer.data().from_pool and not Optimizer({"x": Float(0, 1)}, seed=0).data().from_pool


def test_it_is_the_default() -> None:
    optimizer = Optimizer({"x": Float(0, 1)}, seed=0)
    assert isinstance(optimizer.strategy, Auto) and optimizer.strategy.name == "auto"


def test_the_reason_is_stored_with_the_suggestion_and_logged_when_it_changes(caplog: pytest.LogCaptureFixture) -> None:
    study = optuna.create_study(sampler=calibo.CalibratedSampler(seed=0))
    with caplog.at_level(logging.INFO, logger="calibo"):
        study.optimize(lambda trial: (trial.suggest_float("x", 0, 1) - 0.3) ** 2, n_trials=13)
    stored = [read_suggestion(trial).why_method for trial in study.trials[3:]]
    few = "exact Gaussian process; outcomes count as they are, as there are fewer than 8 results; expected improvement, as "
    some = "exact Gaussian process; bad outcomes count by rank, as how bad they are tells little; expected improvement, as "
    untold = "noise cannot be told from fewer than 10 results"
    designed = "the initial design, which spreads points evenly whatever their outcomes"
    assert stored == [designed] * 2 + [few + untold] * 3 + [some + untold] * 2 + [EXACT] * 3
    said = [record.message for record in caplog.records if record.name == "calibo"]
    assert said == [f"method: {why}" for why in dict.fromkeys(stored)]


def test_groups_of_parameters_are_logged_each_by_itself(caplog: pytest.LogCaptureFixture) -> None:
    """Two groups that are optimized apart do not take turns in the log."""

    def objective(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("kind", ["a", "b"]) == "a":
            return trial.suggest_float("x", 0, 1)
        return trial.suggest_float("y", 0, 1)

    study = optuna.create_study(sampler=calibo.CalibratedSampler(seed=0))
    with caplog.at_level(logging.INFO, logger="calibo"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.optimize(objective, n_trials=16)
    said = [record.message for record in caplog.records if record.name == "calibo"]
    assert len(said) <= 9


def test_nothing_feasible_yet_is_said() -> None:
    known = data(12)
    infeasible = replace(known, Y=np.hstack([known.Y, np.full((12, 1), -1.0) + 0.1 * known.X[:, :1]]), constraints=1)
    why = methods.auto().plan(infeasible, rng=RNG(0)).why
    assert why is not None and why.endswith("the probability of meeting the constraints, as no result meets them yet")


def test_hyperparameters_of_other_outcomes_are_not_taken() -> None:
    """Those of the model that is acted on come after the objective's, and are not a constraint's that came later."""
    optimizer = Optimizer({"x": Float(0, 1)}, seed=0)
    for _ in range(9):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, suggestion.params["x"])
    assert len(optimizer.data().hyperparameters) == 2
    optimizer.tell({"x": 0.5}, 0.5, constraints={"limit": -0.1})
    with pytest.warns(CaliboWarning):
        assert optimizer.data().hyperparameters == ()


def test_a_change_of_mind_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="calibo"):
        for before, now in ((None, "a"), ("a", "a"), ("a", "b"), ("b", None)):
            log_change(before, now)
    assert [record.message for record in caplog.records] == ["method: a", "method: b"]


def test_what_is_shown_is_not_what_is_acted_on() -> None:
    """The forecasts are those of ocbo, averaged over two shapes of the outcomes; the search is another."""
    known = data(24)
    known = replace(known, Y=-np.exp(-9.0 * known.Y))
    auto, ocbo = methods.auto().plan(known, rng=RNG(0)), methods.ocbo().plan(known, rng=RNG(0))
    X = RNG(2).random((5, 2))
    assert auto.forecaster is not None and ocbo.forecaster is not None
    for (own,), (plain,) in zip(auto.forecaster(X), ocbo.forecaster(X), strict=True):
        assert own.raw == plain.raw and own.stage_names == plain.stage_names
        assert own.calibrated != plain.calibrated
    assert not np.allclose(auto.acquisition(X) - auto.acquisition(X)[0], ocbo.acquisition(X) - ocbo.acquisition(X)[0])


@pytest.mark.parametrize(
    ("known", "kept"),
    [
        (data(43), True),
        (replace(data(43, objectives=2), constraints=1), False),
        (replace(data(43), from_pool=True), False),
    ],
    ids=["shown only", "constraint", "rows"],
)
def test_what_is_only_shown_is_fitted_when_the_data_have_grown(known: Dataset, kept: bool) -> None:
    """Two results more than 41 are less than 5 %; what the search acts on is fitted to all of them."""
    first = methods.auto().plan(known.rows(slice(0, 41)), rng=RNG(0)).hyperparameters
    later = methods.auto().plan(replace(known, hyperparameters=first), rng=RNG(0)).hyperparameters
    # Five of the process and when they were fitted; those of what is shown stand first.
    assert [a[:6] == b[:6] for a, b in zip(first, later, strict=True)] == [kept, *[False] * (len(first) - 1)]


def test_only_compositions_that_show_the_same_are_taken() -> None:
    with pytest.raises(RecipeError, match="method"):
        replace(methods.auto(), method="ocbo")  # pyright: ignore[reportArgumentType]
    with pytest.raises(RecipeError, match="method and rows must show the forecasts of one surrogate"):
        replace(methods.auto(), rows=methods.gp_ei())
    with pytest.raises(RecipeError, match="method and steps must show the forecasts of one surrogate"):
        replace(methods.auto(), steps=methods.gp_ei())
    with pytest.raises(RecipeError, match="several"):
        replace(methods.auto(), several="ocbo")  # pyright: ignore[reportArgumentType]


def test_tables_with_categories_are_ranked_by_conformal_sets() -> None:
    assert (default_for_rows((0, 0)), default_for_rows((0, 3)), default_for_rows(())) == ("auto", "cbo", "auto")


class TestNothingLeadsOn:
    """As long as outcomes do not say where to search, the initial design goes on."""

    @staticmethod
    def asked(outcome: float, n: int = 40) -> tuple[Optimizer, np.ndarray]:
        optimizer = Optimizer({"x": Float(-1, 1), "y": Float(-1, 1)}, seed=0)
        for _ in range(n):
            optimizer.tell(optimizer.ask(), outcome)
        return optimizer, np.stack([trial.x for trial in optimizer.trials])

    @pytest.mark.parametrize("outcome", [0.0, 7.0, -1e300, 1e-310])
    def test_points_fill_the_space(self, outcome: float) -> None:
        optimizer, X = self.asked(outcome)
        assert cdist(RNG(0).random((500, 2)), X).min(axis=1).max() < 0.25
        why = optimizer.ask().why_method
        assert why is not None
        assert why.endswith("all outcomes are the same so far, which does not say where to search")

    def test_what_differs_is_searched_around(self) -> None:
        optimizer, _ = self.asked(0.0)
        optimizer.tell({"x": 0.5, "y": 0.5}, -1.0)
        suggestion = optimizer.ask()
        assert suggestion.why_method is not None and "initial design" not in suggestion.why_method
        assert not nothing_leads_on(optimizer.data())

    def test_worse_outcomes_do_not_lead_on(self) -> None:
        # Worse by more where x is larger, in a third of the space: the rest is filled, not its border searched.
        optimizer = Optimizer({"x": Float(-1, 1), "y": Float(-1, 1)}, seed=0)
        for _ in range(40):
            suggestion = optimizer.ask()
            optimizer.tell(suggestion, max(suggestion.params["x"] - 0.33, 0.0))
        X = np.stack([trial.x for trial in optimizer.trials])
        assert cdist(RNG(0).random((500, 2)), X).min(axis=1).max() < 0.25
        why = optimizer.ask().why_method
        assert why is not None
        assert why.endswith("most results share the best outcome so far, which does not say where to search")

    @pytest.mark.parametrize(
        ("outcomes", "leads_on"),
        [
            ([1.0] * 6 + [0.5, 0.0, -1.0], False),
            ([1.0] * 4 + [0.5, 0.0, -1.0, -2.0], True),
            # Of two outcomes the better one may be chance unless hardly any other was seen.
            ([1.0] * 6 + [0.0] * 3, True),
            ([1.0] * 19 + [0.0], False),
            ([1.0] + [0.0] * 19, True),
        ],
    )
    def test_how_common_the_best_outcome_is(self, outcomes: list[float], leads_on: bool) -> None:
        Y = np.array(outcomes)[:, None]
        data = Dataset(X=RNG(0).random((len(Y), 2)), Y=Y)
        assert nothing_leads_on(data) is not leads_on
        constrained = replace(data, Y=np.hstack([Y, RNG(1).random((len(Y), 1))]), constraints=1)
        assert not nothing_leads_on(constrained)

    def test_failures_and_other_methods(self) -> None:
        same = Dataset(X=RNG(0).random((3, 2)), Y=np.full((3, 2), 5.0))
        assert nothing_leads_on(same) and methods.auto().designs_on(same) and not methods.gp_ei().designs_on(same)
        assert nothing_leads_on(replace(same, X_failed=np.full((1, 2), 0.5)))
        assert not nothing_leads_on(Dataset(X=same.X[:2], Y=same.Y[:2]))

    def test_constraints_that_differ_do_not_say_where_objectives_may(self) -> None:
        optimizer = Optimizer({"x": Float(0, 1), "y": Float(0, 1)}, seed=0)
        for _ in range(40):
            asked = optimizer.ask()
            optimizer.tell(asked, 0.0, constraints={"limit": asked.params["x"] - 0.9})
        X = np.stack([trial.x for trial in optimizer.trials])
        assert cdist(RNG(0).random((500, 2)), X).min(axis=1).max() < 0.25

    def test_slacks_lead_to_the_first_result_that_meets_the_constraints(self) -> None:
        known = replace(data(12, objectives=2), constraints=1)
        same = replace(known, Y=np.column_stack([np.zeros(12), np.minimum(known.Y[:, 0], -0.01)]))
        assert not nothing_leads_on(same) and nothing_leads_on(replace(same, Y=np.array([[0.0, -1.0]] * 12)))
        assert nothing_leads_on(replace(same, Y=np.vstack([same.Y[1:], [[0.0, 0.5]]])))
