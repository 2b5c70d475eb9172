"""Why a point was suggested."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from calibo import Categorical, Float, Optimizer, minimize
from calibo.data import Forecast, Marginal
from calibo.errors import DataError
from calibo.optimize.explaining import DESIGNED, DESIGNED_BESIDE, DESIGNED_ON, calibration_change, explain
from calibo.trials import State, Trial


def bowl(params: dict[str, object]) -> float:
    x, kind = float(params["x"]), params["kind"]  # pyright: ignore[reportArgumentType]
    return (x - 0.3) ** 2 + (kind == "b")


SPACE = {"x": Float(-1, 1), "kind": Categorical(["a", "b"])}


@pytest.fixture(scope="module")
def optimizer() -> Optimizer:
    made = Optimizer(SPACE, seed=0)
    for _ in range(14):
        asked = made.ask()
        made.tell(asked, bowl(dict(asked.params)))
    return made


def test_a_late_point_near_the_best_is_exploitation(optimizer: Optimizer) -> None:
    asked = optimizer.ask()
    found = optimizer.explain(asked)
    assert found.reason.startswith(("exploit", "both"))
    # The chance to improve is that of the stored forecast.
    best = min(trial.value for trial in optimizer.trials if trial.value is not None)
    assert found.best_before == pytest.approx(best)
    assert asked.forecasts is not None
    assert found.improvement == pytest.approx(asked.forecasts[0].calibrated.cdf(best), abs=1e-9)
    assert found.neighbours[0].distance <= found.neighbours[1].distance <= found.neighbours[2].distance


def test_a_point_of_the_design_that_goes_on_is_called_so() -> None:
    made = Optimizer({"x": Float(-1, 1)}, seed=0)
    for _ in range(12):
        made.tell(made.ask(), 0.0)
    assert made.explain(made.ask()).reason == DESIGNED_ON


def test_there_is_no_negative_zero_to_beat() -> None:
    made = Optimizer({"x": Float(-1, 1)}, seed=0)
    for x in (-1.0, 0.0, 0.4, 1.0):
        made.tell({"x": x}, x**2)
    asked = made.ask()
    assert asked.forecasts is not None and dict(made.explain(asked).rows())["improvement"].endswith("it beats 0")


def test_a_good_value_that_improves_nothing_is_called_so(optimizer: Optimizer) -> None:
    """Where nothing is left to gain, the reason does not contradict the probability beside it."""
    asked = optimizer.ask()
    assert asked.forecasts is not None
    told = Trial(asked, State.COMPLETE, values=(asked.forecasts[0].calibrated.icdf(1e-4),))
    progress = optimizer.progress()
    before = replace(progress, trials=(*progress.trials, told))
    found = explain(Trial(asked), before)
    assert found.improvement == pytest.approx(1e-4, rel=0.1)
    assert found.reason.endswith("though hardly a better one than before")
    assert not optimizer.explain(asked).reason.endswith("before")


def test_alternatives_are_elsewhere_and_have_forecasts(optimizer: Optimizer) -> None:
    asked = optimizer.ask()
    for one in optimizer.explain(asked).alternatives:
        x = optimizer.space.encode([one.params])[0]
        assert np.abs(x - asked.x).max() >= 0.15
        assert math.isfinite(one.forecasts[0].median)


def test_a_point_of_the_initial_design_is_called_one(optimizer: Optimizer) -> None:
    found = optimizer.explain(0)
    assert found.reason == DESIGNED and found.improvement is None and not found.neighbours
    assert "initial design" in str(found)


def test_points_of_the_design_that_have_forecasts_are_not_said_to_follow_them(optimizer: Optimizer) -> None:
    """A model forecasts them, but their numbers choose them: five in two columns, of which the last two have forecasts."""
    result = minimize(bowl, SPACE, 14, seed=0, progress=False)  # pyright: ignore[reportArgumentType]
    for one in (optimizer, result):
        assert [one.explain(number).reason == DESIGNED_BESIDE for number in range(8)] == [False] * 3 + [True] * 2 + [
            False
        ] * 3
    longer = Optimizer(SPACE, seed=0, n_initial=7)
    told = longer.ask(3)
    for asked in told:
        longer.tell(asked, bowl(dict(asked.params)))
    batch = longer.ask(6)
    assert [longer.explain(asked).reason == DESIGNED_BESIDE for asked in batch] == [True] * 4 + [False] * 2


def test_only_what_was_known_then_is_used() -> None:
    made = Optimizer(SPACE, seed=0)
    for _ in range(10):
        asked = made.ask()
        made.tell(asked, bowl(dict(asked.params)))
    asked = made.ask()
    then = str(made.explain(asked))
    made.tell(asked, bowl(dict(asked.params)))
    for _ in range(3):
        later = made.ask()
        made.tell(later, bowl(dict(later.params)))
    now = [line for line in str(made.explain(asked.number)).splitlines() if not line.startswith("  measured")]
    assert now == then.splitlines()


def test_a_study_explains_its_trials_like_the_optimizer_that_made_the_same(optimizer: Optimizer) -> None:
    result = minimize(bowl, SPACE, 14, seed=0, progress=False)  # pyright: ignore[reportArgumentType]
    ours, theirs = optimizer.explain(12), result.explain(12)
    assert ours.reason == theirs.reason
    assert ours.improvement == pytest.approx(theirs.improvement, rel=1e-6)
    assert [n.trial.number for n in ours.neighbours] == [n.trial.number for n in theirs.neighbours]


def test_several_objectives_and_methods_without_forecasts() -> None:
    made = Optimizer(SPACE, directions=["minimize", "maximize"], seed=0)
    for _ in range(8):
        asked = made.ask()
        made.tell(asked, (bowl(dict(asked.params)), float(asked.params["x"])), constraints={"c": -1.0})
    found = made.explain(made.ask())
    assert found.best_before is None and 0.0 <= (found.improvement or 0.0) <= 1.0
    assert {"expected objective 0", "expected objective 1", "expected c"} <= {what for what, _ in found.rows()}
    plain = Optimizer(SPACE, "lfbo", seed=0)
    for _ in range(6):
        asked = plain.ask()
        plain.tell(asked, bowl(dict(asked.params)))
    assert "makes no forecasts" in plain.explain(plain.ask()).reason


def test_objectives_are_called_by_their_names() -> None:
    made = Optimizer(SPACE, directions={"error": "minimize", "speed": "maximize"}, seed=0)
    for _ in range(6):
        asked = made.ask()
        made.tell(asked, {"error": bowl(dict(asked.params)), "speed": float(asked.params["x"])})
    assert {"expected error", "expected speed"} <= {what for what, _ in made.explain(made.ask()).rows()}


def test_an_unknown_suggestion_is_refused(optimizer: Optimizer) -> None:
    with pytest.raises(DataError, match="there is no suggestion 99"):
        optimizer.explain(99)


def test_what_calibration_changed() -> None:
    raw = Marginal(0.0, 1.0)
    assert calibration_change(Forecast((raw,))) is None
    assert calibration_change(Forecast((raw, raw))) == "hardly changed what the model said"
    assert (calibration_change(Forecast((raw, Marginal(0.0, 2.0)))) or "").startswith("2 times as wide")
    assert "1.28" in (calibration_change(Forecast((raw, Marginal(5.0, 1.0)))) or "")


def test_values_far_from_zero_have_the_digits_that_tell_them_apart(optimizer: Optimizer) -> None:
    found = optimizer.explain(optimizer.trials[-1].number)
    near = Forecast((Marginal(-13245.6775, 0.001),))
    trial = replace(found.trial, suggestion=replace(found.trial.suggestion, forecasts=(near,)))
    words = dict(replace(found, trial=trial, improvement=0.5, best_before=-13245.6781).rows())
    assert words["expected"] == "-13245.6775, 80 % interval -13245.6788 to -13245.6762"
    assert words["improvement"] == "50 % sure that it beats -13245.6781"
