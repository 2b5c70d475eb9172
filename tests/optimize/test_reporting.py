"""What a report shows is collected from trials and their model, of an optimizer in memory as of a study."""

from __future__ import annotations

import numpy as np
import pytest

from calibo import Float, Int, Optimizer, Suggestion
from calibo.optimize import reporting
from calibo.optimize.reporting import renumbered
from calibo.trials import State, Trial


def test_a_report_of_an_optimizer(tmp_path_factory: pytest.TempPathFactory) -> None:
    """From ask and tell, with a point that was told rather than asked for."""
    optimizer = Optimizer({"x": Float(0.01, 1, log=True), "k": Int(1, 5)}, "ocbo", seed=0)
    optimizer.tell({"x": 0.5, "k": 3}, 0.9)
    for _ in range(7):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, suggestion.params["x"] + (suggestion.params["k"] - 2) ** 2)
    optimizer.tell_failed(optimizer.ask())
    path = optimizer.report(tmp_path_factory.mktemp("report") / "page.html", title="By hand")
    text = path.read_text(encoding="utf-8")
    for part in (
        "By hand",
        "Where the optimum lies",
        "Why trial 8",
        "Which parameters matter",
        "Map of",
        "1 trial failed",
    ):
        assert part in text, part


def test_trials_get_numbers_of_their_own() -> None:
    trials = [Trial(Suggestion({"x": 0.5}, np.array([0.5]), number=number)) for number in (-1, 4, 0)]
    told, own = renumbered(trials)
    assert [trial.number for trial in told] == [0, 1, 2] and own == {1: 4, 2: 0}


def test_of_many_results_the_best_and_some_others_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "MOST_EXPECTED", 10)
    values = np.random.default_rng(0).permutation(40).astype(float)
    trials = [
        Trial(Suggestion({}, np.empty(0), number=i), state=State.COMPLETE, values=(float(value),))
        for i, value in enumerate(values)
    ]
    some = reporting._some_of(trials, -1.0)
    assert 5 <= len(some) <= 10 and [one.number for one in some] == sorted(one.number for one in some)
    assert {0.0, 1.0, 2.0, 3.0, 4.0} <= {one.value for one in some}
