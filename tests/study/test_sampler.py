"""The sampler: Optuna's own suites, and that storage alone decides what it suggests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.samplers import BaseSampler
from optuna.storages import InMemoryStorage, RetryHeartbeatStaleTrialCallback
from optuna.testing.pytest_samplers import BasicSamplerTestCase, MultiObjectiveSamplerTestCase, RelativeSamplerTestCase
from optuna.trial import TrialState
from scipy.spatial.distance import pdist

from calibo.calibration.shape_average import separated
from calibo.classifiers import MLP, XGBoost
from calibo.data import Suggestion
from calibo.errors import FallbackWarning, RecipeError, SpaceError, SpaceWarning
from calibo.methods import gp_ei, lfbo, ocbo
from calibo.search import RandomDraw
from calibo.spaces import Categorical, Float, Int, Ordinal, ProductSpace
from calibo.study import CalibratedSampler, open_storage
from calibo.study.attributes import read_suggestion, write_suggestion
from calibo.study.distributions import optuna_space
from calibo.study.trials import directions_of, read_trials, study_data

SPACE = {"x": Float(-5.0, 10.0), "k": Int(0, 6), "c": Categorical(["a", "b"])}

# The search is not what is tested here, so it may be a quick one.
GP_EI, OCBO = gp_ei(search=RandomDraw(64, 32)), ocbo(search=RandomDraw(64, 32))
LFBO = lfbo(search=RandomDraw(64, 32))


def _value(params: dict[str, Any]) -> float:
    return (params["x"] - 1.0) ** 2 + params["k"] + (params["c"] == "b")


def _objective(trial: optuna.Trial) -> float:
    trial.suggest_float("x", -5.0, 10.0)
    trial.suggest_int("k", 0, 6)
    trial.suggest_categorical("c", ["a", "b"])
    return _value(trial.params)


def _study(sampler: BaseSampler | None = None, storage: Any = None, name: str = "s", **options: Any) -> optuna.Study:
    sampler = sampler or CalibratedSampler(GP_EI, seed=1, space=SPACE)
    return optuna.create_study(sampler=sampler, storage=storage, study_name=name, load_if_exists=True, **options)


@pytest.fixture(autouse=True)
def _quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


@pytest.mark.filterwarnings("ignore::calibo.errors.CaliboWarning")
class TestOptunasSuites(BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase):
    """Optuna's conformance suites for samplers of one and of several objectives."""

    @pytest.fixture(params=[pytest.param(GP_EI, id="gp_ei"), pytest.param(LFBO, id="lfbo", marks=pytest.mark.slow)])
    def sampler(self, request: pytest.FixtureRequest) -> Callable[[], BaseSampler]:
        return lambda: CalibratedSampler(request.param, seed=0)


def resume(file: str) -> None:
    """Continue a study, in a process of its own."""
    _study(CalibratedSampler(OCBO, seed=1, space=SPACE), open_storage(file)).optimize(_objective, n_trials=3)


@pytest.mark.whole
def test_a_new_process_continues_exactly(tmp_path: Path) -> None:
    one = _study(CalibratedSampler(OCBO, seed=1, space=SPACE))
    one.optimize(_objective, n_trials=12)
    two = _study(CalibratedSampler(OCBO, seed=1, space=SPACE), open_storage(tmp_path / "a.db"))
    two.optimize(_objective, n_trials=9)
    here = Path(__file__).resolve()
    script = (
        f"import sys; sys.path[:0] = {[str(here.parent), str(here.parents[2])]}; import test_sampler as t; t.resume"
    )
    subprocess.run([sys.executable, "-c", f"{script}({str(tmp_path / 'a.db')!r})"], check=True, timeout=120)
    assert [trial.params for trial in two.trials] == [trial.params for trial in one.trials]
    assert [read_suggestion(trial) for trial in two.trials] == [read_suggestion(trial) for trial in one.trials]


def test_two_interleaved_workers_reach_the_state_of_one(tmp_path: Path) -> None:
    one = _study(CalibratedSampler(OCBO, seed=3, space=SPACE))
    one.optimize(_objective, n_trials=14)
    workers = [_study(CalibratedSampler(OCBO, seed=3, space=SPACE), open_storage(tmp_path / "a.db")) for _ in range(2)]
    for i in range(14):
        workers[i % 2].optimize(_objective, n_trials=1)
    for worker in workers:
        assert [trial.params for trial in worker.trials] == [trial.params for trial in one.trials]
        assert [read_suggestion(trial) for trial in worker.trials] == [read_suggestion(trial) for trial in one.trials]


def _steep(trial: optuna.Trial) -> float:
    _objective(trial)
    return 10.0 ** (0.5 * trial.params["x"]) + trial.params["k"]


def _asked(study: optuna.Study, count: int) -> list[optuna.Trial]:
    """Ask for trials, and have their parameters suggested before any is told."""
    trials = [study.ask() for _ in range(count)]
    for trial in trials:
        _objective(trial)
    return trials


def test_interleaved_resumed_workers_choose_transforms_and_batches_as_one_does(tmp_path: Path) -> None:
    """Of steep outcomes a transform is chosen now and then, and stored; every step is made by a worker that is new."""
    one = _study(CalibratedSampler(seed=3, space=SPACE), InMemoryStorage())

    def worker() -> optuna.Study:
        return _study(CalibratedSampler(seed=3, space=SPACE), open_storage(tmp_path / "a.db"))

    for step in range(11):
        if step % 4 == 3:
            # Two are pending at once: of one worker, or of two.
            mine, others = _asked(one, 2), [(w, _asked(w, 1)[0]) for w in (worker(), worker())]
            for trial, (study, other) in zip(mine, others, strict=True):
                one.tell(trial, _steep(trial))
                study.tell(other.number, _steep(other))
        else:
            one.optimize(_steep, n_trials=2)
            for _ in range(2):
                worker().optimize(_steep, n_trials=1)
    trials = worker().trials
    assert [trial.params for trial in trials] == [trial.params for trial in one.trials]
    stored = [read_suggestion(trial) for trial in trials]
    assert stored == [read_suggestion(trial) for trial in one.trials]
    # Of each shape: which one, and when it was chosen, stand last but one and last.
    kept = [separated(s.hyperparameters) for s in stored if s is not None and s.hyperparameters]
    chosen = [shapes[0][-2:] for shapes in kept]
    assert 1.0 in {shape for shape, _ in chosen} and len({when for _, when in chosen}) >= 4
    assert {len(shapes) for shapes in kept} == {1, 2}


def test_the_default_sampler_stores_forecasts_that_are_fit_to_be_shown() -> None:
    study = _study(CalibratedSampler(seed=1))
    study.optimize(_steep, n_trials=14)
    stored = [read_suggestion(trial) for trial in study.trials]
    forecasts = [one.forecasts[0] for one in stored if one is not None and one.forecasts]
    assert len(forecasts) >= 8
    for forecast in forecasts:
        assert forecast.stage_names == ("WarpedGaussianProcess", "ConditionalQuantile", "GroupedQuantile")
        quantiles = [forecast.calibrated.icdf(u) for u in np.linspace(0.01, 0.99, 99)]
        assert np.isfinite(quantiles).all() and np.all(np.diff(quantiles) > 0.0)


def test_the_initial_design_does_not_depend_on_the_number_of_threads() -> None:
    by_jobs = []
    for n_jobs in (1, 4):
        study = _study()
        study.optimize(_objective, n_trials=6, n_jobs=n_jobs)
        by_jobs.append([trial.params for trial in study.trials])
    assert by_jobs[0] == by_jobs[1]


def test_threads_do_not_get_in_one_anothers_way() -> None:
    """Each sees what the others have just chosen: else all would be given the same point."""
    space = {"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}
    study = _study(CalibratedSampler("gp_ei", seed=1, space=space))
    study.optimize(
        lambda t: (t.suggest_float("x", 0.0, 1.0) - 0.3) ** 2 + (t.suggest_float("y", 0.0, 1.0) - 0.7) ** 2,
        n_trials=12,
        n_jobs=4,
    )
    assert all(trial.state is TrialState.COMPLETE for trial in study.trials)
    modelled = [trial.params for trial in study.trials if read_trials([trial])[0].forecasts is not None]
    assert len(modelled) >= 7  # at most five points are of the initial design
    assert pdist(ProductSpace(space).encode(modelled)).min() > 1e-4


def test_a_point_that_an_earlier_trial_stores_meanwhile_is_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes choose the same point at the same moment: the later trial chooses again."""
    sampler = CalibratedSampler("gp_ei", seed=1, space={"x": Float(0.0, 1.0)})
    study, choose, chosen = _study(sampler), CalibratedSampler._choose, []
    earlier, later = (study._storage.get_trial(study._storage.create_new_trial(study._study_id)) for _ in range(2))

    def while_another_chooses(self: CalibratedSampler, study: Any, trial: Any, spaces: Any, held: Any) -> Any:
        found = choose(self, study, trial, spaces, held)
        chosen.append(trial.number)
        if len(chosen) == 1:
            write_suggestion(study, earlier, Suggestion({"x": found.stored["x"]}))
        return found

    monkeypatch.setattr(CalibratedSampler, "_choose", while_another_chooses)
    sampler.sample_relative(study, later, sampler.infer_relative_search_space(study, later))
    assert chosen == [later.number] * 2


def test_the_seed_is_that_of_the_study_unless_it_is_given() -> None:
    suggestions = []
    for seed in (5, 5, 6, None):
        study = _study(CalibratedSampler(GP_EI, seed=seed))
        study.optimize(_objective, n_trials=2)
        suggestions.append([trial.params for trial in study.trials])
    assert suggestions[0] == suggestions[1]
    assert suggestions[0] != suggestions[2] != suggestions[3]
    with pytest.raises(RecipeError, match="seed must be a whole number"):
        CalibratedSampler(seed=-1)


def test_suggestions_move_on_after_a_prune() -> None:
    study = _study(CalibratedSampler("gp_ei", seed=1, space={"x": Float(0.0, 1.0)}), direction="maximize")

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        if x > 0.6:
            raise optuna.TrialPruned
        return x

    study.optimize(objective, n_trials=14)
    points = [trial.params["x"] for trial in study.trials]
    pruned = [i for i, trial in enumerate(study.trials) if trial.state is TrialState.PRUNED]
    assert any(read_trials([study.trials[i]])[0].forecasts is not None for i in pruned)  # a model has tried one
    assert all(abs(later - points[i]) > 1e-3 for i in pruned for later in points[i + 1 :])


def test_pruned_trials_bring_their_last_intermediate_value() -> None:
    """Likelihood-free methods take it for the outcome; for all others the trial has failed."""
    study = _study(CalibratedSampler("lfbo", seed=1, space={"x": Float(0.0, 1.0)}))

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        for step in (2, 1):
            trial.report(-x if step == 2 else -99.0, step)
        if trial.number == 3:
            trial.report(float("nan"), 3)
        if trial.number % 2:
            raise optuna.TrialPruned
        return -x

    study.optimize(objective, n_trials=24)
    data = study_data(study.trials, optuna_space(ProductSpace({"x": Float(0.0, 1.0)})), directions_of(study))[0]
    assert len(data) == 12 and len(data.X_failed) == 12
    known = np.isfinite(data.Y_failed[:, 0])
    assert known.sum() == 11  # the latest step, which is not the latest report, counts; NaN is none
    np.testing.assert_allclose(data.Y_failed[known, 0], data.X_failed[known, 0])
    assert np.mean([trial.params["x"] for trial in study.trials[-6:]]) > 0.8


def test_enqueued_trials_have_no_forecast_that_is_not_theirs() -> None:
    study = _study()
    study.optimize(_objective, n_trials=5)
    study.enqueue_trial({"x": 1.0, "k": 0, "c": "a"})
    study.enqueue_trial({"x": 2.5})
    study.optimize(_objective, n_trials=3)
    whole, part, own = study.trials[5:]
    assert whole.params == {"x": 1.0, "k": 0, "c": "a"}
    assert read_suggestion(whole) is None
    assert part.params["x"] == 2.5
    # The rest of it was suggested for this value.
    assert read_trials([part])[0].forecasts is not None
    assert read_trials([own])[0].forecasts is not None
    assert len(study_data(study.trials, optuna_space(ProductSpace(SPACE)), directions_of(study))[0]) == 8


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_a_retried_trial_does_not_take_over_the_forecast() -> None:
    study = _study()
    study.optimize(_objective, n_trials=6)
    trial = study.ask()
    _objective(trial)
    study.tell(trial, state=TrialState.FAIL)
    assert read_trials([study.trials[6]])[0].forecasts is not None
    RetryHeartbeatStaleTrialCallback()(study, study.trials[6])
    study.optimize(_objective, n_trials=1)
    assert study.trials[7].params == study.trials[6].params
    assert study.trials[7].system_attrs["failed_trial"] == 6
    assert read_trials([study.trials[7]])[0].forecasts is None


def _branching(trial: optuna.Trial) -> float:
    if trial.suggest_categorical("kind", ["p", "q"]) == "p" or trial.number == 0:
        return (trial.suggest_float("p", 0.0, 1.0) - 0.3) ** 2
    return 0.5 + (trial.suggest_float("q", 0.0, 1.0) - 0.7) ** 2


def test_a_search_space_with_branches_has_one_model_and_one_forecast_for_each_trial() -> None:
    study = _study(CalibratedSampler("gp_ei", seed=1))
    # The first trial does not keep to the rule of the others, which is said once.
    with pytest.warns(FallbackWarning, match="which their other parameters do not explain") as caught:
        study.optimize(_branching, n_trials=24)
    assert len([warning for warning in caught if warning.category is FallbackWarning]) == 1
    assert study.best_value < 1e-3
    for trial in study.trials[6:]:
        stored = read_suggestion(trial)
        assert stored is not None and set(stored.params) == set(trial.params) == {"kind", trial.params["kind"]}
        assert stored.columns == ("kind", "p", "q")
    read = read_trials(study.trials[6:], columns=("kind", "p", "q"))
    assert all(trial.forecasts is not None for trial in read)


@pytest.mark.filterwarnings("ignore::calibo.errors.FallbackWarning")
@pytest.mark.parametrize(
    "method",
    ["lfbo", *(pytest.param(lfbo(classifier=one), marks=pytest.mark.slow) for one in (XGBoost(), MLP(steps=20)))],
)
def test_a_search_space_that_changes_without_a_model(method: Any) -> None:
    """One classifier learns from all branches; nothing is forecast. With one seed of eight trees stay in the worse branch."""
    good = []
    for seed in (0, 1, 2):
        study = _study(CalibratedSampler(method, seed=seed))
        study.optimize(_branching, n_trials=30)
        assert study.best_value < 0.02 and read_trials([study.trials[-1]])[0].forecasts is None
        good.append([trial.params["kind"] for trial in study.trials[-10:]].count("p"))
    assert sorted(good)[1] > 5


def test_a_new_range_gives_a_warning_and_the_first_trial_none() -> None:
    study = _study(CalibratedSampler(GP_EI, seed=1))
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=4)
    with pytest.warns(FallbackWarning, match="its range has just become"):
        study.optimize(lambda trial: trial.suggest_float("x", 5.0, 6.0), n_trials=4)
    space = study.sampler.infer_relative_search_space(study, study.trials[-1])
    assert space == {"x": optuna.distributions.FloatDistribution(5.0, 6.0)}
    data = study_data(study.trials, optuna_space(ProductSpace({"x": Float(5.0, 6.0)})), directions_of(study))[0]
    assert len(data) == 4


def test_a_parameter_outside_the_space_gives_a_warning() -> None:
    study = _study()
    with pytest.warns(FallbackWarning, match="'other' .* not in the space given"):
        study.optimize(lambda trial: _objective(trial) + trial.suggest_float("other", 0, 1), n_trials=2)


def test_ordinal_and_labelled_choices_from_the_space() -> None:
    space = {"size": Ordinal(["s", "m", "l"]), "layers": Categorical([(8,), (8, 8)]), "x": Float(0, 1)}
    study = _study(CalibratedSampler(GP_EI, seed=1, space=space))
    for _ in range(7):
        trial = study.ask()
        size = trial.suggest_categorical("size", ["s", "m", "l"])
        layers = trial.suggest_categorical("layers", ["(8,)", "(8, 8)"])
        study.tell(trial, trial.suggest_float("x", 0, 1) + len(layers) + "sml".index(size))
    data = study_data(study.trials, optuna_space(ProductSpace(space)), directions_of(study))[0]
    assert len(data) == 7
    assert data.categories == (0, 2, 0)


def _sum_of_three(trial: optuna.Trial) -> float:
    a, b, c = (trial.suggest_float(name, 0, 1) for name in "abc")
    return (a - 0.2) ** 2 + (b - 0.7) ** 2 + c


def test_constraints_hold_in_a_study_that_suggests_one_by_one() -> None:
    space = ProductSpace({name: Float(0, 1) for name in "abc"}, constraints=["a + b + c == 1", "b <= 2*a"])
    study = optuna.create_study(sampler=CalibratedSampler(GP_EI, seed=0, space=space, n_initial=4))
    study.enqueue_trial({"a": 0.5})
    study.optimize(_sum_of_three, n_trials=7)
    for trial in study.trials:
        assert abs(sum(trial.params.values()) - 1) <= 1e-9 and trial.params["b"] <= 2 * trial.params["a"] + 1e-9
    assert study.trials[0].params["a"] == 0.5, "the others are suggested given the one that was enqueued"


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_values_that_another_sampler_fixes_are_given_to_this_one_instead() -> None:
    space = ProductSpace({name: Float(0, 1) for name in "abc"}, constraints=["a + b + c == 1"])
    fixing = optuna.samplers.PartialFixedSampler({"a": 0.2}, CalibratedSampler(GP_EI, seed=0, space=space))
    with pytest.raises(SpaceError, match=r"give CalibratedSampler\(fixed="):
        optuna.create_study(sampler=fixing).optimize(_sum_of_three, n_trials=1)
    study = optuna.create_study(sampler=CalibratedSampler(GP_EI, seed=0, space=space, fixed={"a": 0.2}))
    study.optimize(_sum_of_three, n_trials=2)
    assert all(trial.params["a"] == 0.2 for trial in study.trials)


def test_enqueued_points_that_break_constraints_are_kept_with_a_warning() -> None:
    space = ProductSpace({name: Float(0, 1) for name in "abc"}, constraints=["a + b + c == 1"])
    study = optuna.create_study(sampler=CalibratedSampler(GP_EI, seed=0, space=space, n_initial=2))
    study.enqueue_trial({"a": 0.5, "b": 0.9, "c": 0.1})
    with pytest.warns(SpaceWarning, match=r"trial 0 broke 'a \+ b \+ c == 1'"):
        study.optimize(_sum_of_three, n_trials=4)
    data, _ = study_data(study.trials, optuna_space(space), directions_of(study))
    assert len(data) == 4 and abs(sum(study.trials[3].params.values()) - 1) <= 1e-9
    study.enqueue_trial({"a": 0.9, "b": 0.9})
    with pytest.warns(SpaceWarning) as caught:
        study.optimize(_sum_of_three, n_trials=1)
    said = [str(one.message) for one in caught]
    assert "suggested as if these were free: no values meet" in said[0] and said[1].startswith("trial 4 broke")


def test_a_parameter_of_the_space_that_is_never_suggested_is_announced_once() -> None:
    study = optuna.create_study(sampler=CalibratedSampler(GP_EI, seed=0, space={"x": Float(0, 1), "y": Float(0, 1)}))
    with pytest.warns(
        FallbackWarning, match="nothing is learned from trial 0 and those like it, .* missing .'y'"
    ) as caught:
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    assert len(caught) == 1


@pytest.mark.filterwarnings("error::calibo.errors.FallbackWarning")
def test_a_parameter_that_is_inactive_is_not_missing() -> None:
    space = {"k": Categorical(["a", "b"]), "x": Float(0, 1, when={"k": "a"})}

    def objective(trial: optuna.Trial) -> float:
        return trial.suggest_float("x", 0, 1) if trial.suggest_categorical("k", ["a", "b"]) == "a" else 0.5

    optuna.create_study(sampler=CalibratedSampler(GP_EI, seed=0, space=space)).optimize(objective, n_trials=6)


@pytest.mark.filterwarnings("error::calibo.errors.FallbackWarning", "ignore:Fixed parameter z")
def test_a_value_out_of_its_range_is_not_a_parameter_that_is_missing() -> None:
    space = {"k": Categorical(["a", "b"]), "x": Float(0, 1, when={"k": "a"}), "z": Float(0, 1)}

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1) if trial.suggest_categorical("k", ["a", "b"]) == "a" else 0.5
        return x + trial.suggest_float("z", 0, 1)

    study = optuna.create_study(sampler=CalibratedSampler(GP_EI, seed=0, space=space))
    study.enqueue_trial({"k": "b", "z": 3.0})
    study.optimize(objective, n_trials=2)
    assert study.trials[0].params == {"k": "b", "z": 3.0}
