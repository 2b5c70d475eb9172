"""Studies as an audit sees them."""

from __future__ import annotations

import math
import warnings

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from calibo import Float, Int, minimize
from calibo.auditing.reading import read_study
from calibo.errors import DataError, RecipeError
from calibo.study.inference import inferred_space
from calibo.trials import Direction
from tests.auditing.conftest import made_by_tpe


def test_results_in_the_order_of_their_completion(study: optuna.Study) -> None:
    seen = read_study(study, 0)
    assert seen.objective == "value" and seen.direction is Direction.MINIMIZE and seen.notes == ()
    assert [trial.number for trial in seen.trials] == list(range(24))
    assert np.allclose(-seen.data.Y[:, 0], [trial.value for trial in study.trials])
    assert seen.data.categories == (0, 3, 0) and seen.data.X.shape == (24, 3)  # depth, kind, rate
    assert seen.data.X.min() >= 0.0 and seen.data.X.max() <= 1.0


def test_trials_without_a_result_are_left_out_and_counted() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        if trial.number % 10 == 3:
            raise optuna.TrialPruned
        if trial.number % 10 == 6:
            raise ZeroDivisionError
        return math.inf if trial.number == 8 else x

    seen = read_study(made_by_tpe(objective, 20), 0)
    assert len(seen.data) == 15
    assert seen.notes == ("Trials left out, which have no finite result: 2 pruned, 3 failed.",)


def test_one_of_several_objectives() -> None:
    def objective(trial: optuna.Trial) -> tuple[float, float]:
        x = trial.suggest_float("x", 0, 1)
        return x, (x - 0.5) ** 2

    study = made_by_tpe(objective, 12, directions=["minimize", "maximize"])
    assert read_study(study, 1).objective == "objective 1"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.set_metric_names(["size", "speed"])
    seen = read_study(study, "speed")
    assert seen.index == 1 and seen.direction is Direction.MAXIMIZE
    assert np.allclose(seen.data.Y[:, 0], [trial.values[1] for trial in study.trials])
    assert read_study(study, "1").objective == "speed"
    with pytest.raises(RecipeError, match="no objective 'cost': give one of 'size', 'speed', or its index from 0 to 1"):
        read_study(study, "cost")
    with pytest.raises(RecipeError, match="no objective -1"):
        read_study(study, -1)


def test_a_search_space_with_branches_is_seen_whole() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        deep = trial.suggest_categorical("deep", [False, True])
        return x + (trial.suggest_int("layers", 2, 5) if deep else 0)

    study = made_by_tpe(objective)
    seen = read_study(study, 0)
    assert seen.data.X.shape == (20, 3) and not seen.notes
    assert seen.data.activity is not None
    active = seen.data.activity(seen.data.X)
    assert active[:, 1].tolist() == [trial.params["deep"] for trial in study.trials]


def test_a_parameter_that_comes_and_goes_is_noted() -> None:
    def objective(trial: optuna.Trial) -> float:
        return trial.suggest_float("x", 0, 1) + (trial.suggest_float("y", 0, 1) if trial.number % 4 else 0.0)

    seen = read_study(made_by_tpe(objective, 16), 0)
    assert seen.data.X.shape == (16, 2)
    assert seen.notes[0].startswith("Which trials have y is not explained by other parameters")
    assert (seen.data.X[::4, 1] == 0.5).all()


def test_constraints_are_not_audited_and_need_not_be_complete() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        if trial.number % 2:
            trial.set_constraint("limit", x - 0.5 if trial.number % 3 else math.inf)
        return x

    seen = read_study(made_by_tpe(objective, 12), 0)
    assert seen.data.Y.shape == (12, 1) and seen.data.constraints == 0
    assert seen.notes == () and not any(trial.constraints for trial in seen.trials)


def test_a_study_of_calibo_has_its_own_space_and_its_forecasts() -> None:
    result = minimize(
        lambda p: p["x"] ** 2 + p["k"], {"x": Float(-1, 1), "k": Int(0, 5)}, 12, "gp_ei", seed=0, progress=False
    )
    seen = read_study(result.study, 0)
    assert np.allclose(seen.data.X, result.data().X)
    known = [one is not None for one in seen.data.forecasts]
    assert known == [trial.forecasts is not None for trial in result.trials] and any(known)


@pytest.mark.parametrize(
    ("others", "said"), [(1, "1 complete trial left out: its"), (2, "2 complete trials left out: their")]
)
def test_trials_outside_of_the_space_are_left_out_and_counted(others: int, said: str) -> None:
    result = minimize(lambda p: p["x"] ** 2, {"x": Float(-1, 1)}, 10, "gp_ei", seed=0, progress=False)
    beyond: dict[str, optuna.distributions.BaseDistribution] = {"x": optuna.distributions.FloatDistribution(-9, 9)}
    for _ in range(others):
        result.study.add_trial(optuna.trial.create_trial(params={"x": 7.0}, distributions=beyond, value=49.0))
    seen = read_study(result.study, 0)
    assert len(seen.data) == 10
    assert seen.notes == (f"{said} parameters are not in the latest search space.",)


def test_ranges_that_changed_are_seen_whole() -> None:
    def moving(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 10.0 * trial.number, 10.0 * trial.number + 1.0)
        k = trial.suggest_int("k", trial.number % 3, trial.number % 3 + 6, step=3)
        return x + k + trial.suggest_float("fixed at last", 0.0, float(trial.number < 19))

    seen = read_study(made_by_tpe(moving, 20), 0)
    assert len(seen.data) == 20 and seen.notes == ()
    assert seen.data.X.shape[1] == 3 and np.ptp(seen.data.X, axis=0).min() > 0.5


@pytest.mark.parametrize(
    ("old", "new", "both"),
    [
        (FloatDistribution(0, 1), FloatDistribution(2, 3), FloatDistribution(0, 3)),
        (FloatDistribution(0, 1, step=0.5), FloatDistribution(0, 2, step=0.5), FloatDistribution(0, 2, step=0.5)),
        (FloatDistribution(0, 1, step=0.5), FloatDistribution(0, 2, step=0.2), FloatDistribution(0, 2)),
        (FloatDistribution(-1, 1), FloatDistribution(1, 2, log=True), FloatDistribution(-1, 2)),
        (IntDistribution(1, 7, step=3), IntDistribution(4, 10, step=3), IntDistribution(1, 10, step=3)),
        (IntDistribution(1, 7, step=3), IntDistribution(2, 8, step=3), IntDistribution(1, 8)),
        (IntDistribution(1, 8, log=True), IntDistribution(2, 16, log=True), IntDistribution(1, 16, log=True)),
        (IntDistribution(1, 8, log=True), FloatDistribution(0.5, 2, log=True), FloatDistribution(0.5, 8, log=True)),
        (
            CategoricalDistribution(["a", None]),
            CategoricalDistribution([None, "b"]),
            CategoricalDistribution(["a", None, "b"]),
        ),
        (CategoricalDistribution(["a", "b"]), IntDistribution(1, 2), IntDistribution(1, 2)),
    ],
)
def test_a_range_holds_those_that_a_parameter_had(
    old: BaseDistribution, new: BaseDistribution, both: BaseDistribution
) -> None:
    def trial(one: BaseDistribution) -> optuna.trial.FrozenTrial:
        value = one.to_external_repr(0.0) if isinstance(one, CategoricalDistribution) else one.low  # pyright: ignore[reportAttributeAccessIssue]
        return optuna.trial.create_trial(params={"x": value}, distributions={"x": one}, value=0.0)

    space = inferred_space([trial(old), trial(new)], whole=True)
    assert space is not None and space.distributions == {"x": both}
    assert inferred_space([trial(old), trial(new)]).distributions == {"x": new}  # pyright: ignore[reportOptionalMemberAccess]


def test_results_outside_of_the_space_are_told_from_too_few() -> None:
    numbers, choices = FloatDistribution(0, 1), CategoricalDistribution(["a", "b"])
    study = optuna.create_study()
    for i in range(30):
        x, one = (i / 30, numbers) if i < 28 else ("ab"[i % 2], choices)
        study.add_trial(optuna.trial.create_trial(params={"x": x}, distributions={"x": one}, value=float(i)))
    with pytest.raises(DataError, match="has 2, apart from 28 whose parameters are not in its latest search space"):
        read_study(study, 0)


def test_too_little_to_audit() -> None:
    few = made_by_tpe(lambda trial: trial.suggest_float("x", 0, 1), 7)
    with pytest.raises(DataError, match="at least 10 results, study '.*' has 7: run more trials"):
        read_study(few, 0)

    def constant(trial: optuna.Trial) -> float:
        trial.suggest_float("x", 0, 1)
        return 2.5

    with pytest.raises(DataError, match=r"all 12 results of study '.*' are 2\.5"):
        read_study(made_by_tpe(constant, 12), 0)

    def fixed(trial: optuna.Trial) -> float:
        return trial.suggest_int("k", 3, 3) + trial.number

    with pytest.raises(DataError, match="no parameter of study"):
        read_study(made_by_tpe(fixed, 12), 0)
    with pytest.raises(DataError, match="has 0: run more trials"):
        read_study(optuna.create_study(), 0)
