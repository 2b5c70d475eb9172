"""Limits of a run: what is left to do of a study, and when an evaluation gets a process of its own."""

from __future__ import annotations

from typing import Any

import optuna
import pytest

from calibo.study.isolation import Isolated
from calibo.study.limits import Limits


def _limits(**given: Any) -> Limits:
    plain = {"total": None, "timeout": None, "trial_timeout": None, "hard_timeout": False, "n_jobs": 1}
    return Limits.checked(**{"n_trials": 7, "parallel": "processes", **plain, **given})


@pytest.mark.parametrize(
    ("given", "own", "total"),
    [
        ({}, 7, None),
        ({"n_jobs": 2, "parallel": "threads"}, 7, None),
        # Two finished trials and seven more, which the processes count together.
        ({"n_jobs": 2}, None, 9),
        ({"total": 5}, None, 5),
        ({"total": 5, "n_jobs": 2}, None, 5),
    ],
)
def test_what_is_left_to_do(given: dict[str, Any], own: int | None, total: int | None) -> None:
    study = optuna.create_study()
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
    budget = _limits(**given).budget(study)
    assert (budget.own, budget.total) == (own, total)


@pytest.mark.parametrize(
    ("given", "isolated"),
    [
        ({}, False),
        ({"timeout": 60.0}, False),
        ({"trial_timeout": 1.0}, True),
        ({"timeout": 60.0, "hard_timeout": True}, True),
    ],
)
def test_evaluations_that_may_be_ended_have_a_process_of_their_own(given: dict[str, Any], isolated: bool) -> None:
    limits = _limits(**given)
    assert isinstance(limits.timed(float, limits.deadline()), Isolated) == isolated
