"""Workers that a call starts, a total that many share, and what they withstand (short versions of stress/)."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import pytest

from calibo import Float
from calibo.errors import ObjectiveError, RecipeError
from calibo.study import minimize
from stress import kills, starts

SPACE = {"x": Float(0, 1)}
posix = pytest.mark.skipif(os.name != "posix", reason="forks workers")


@posix
def test_processes_without_a_storage() -> None:
    result = minimize(lambda p: p["x"], SPACE, 6, "gp_ei", seed=1, progress=False, n_jobs=2)
    assert len(result.trials) == 6 and {one.state for one in result.trials} == {"complete"}
    # Its file is gone, and the study goes on in memory.
    result.study.tell(result.study.ask(), 1.0)
    with (
        warnings.catch_warnings(),
        pytest.raises(ObjectiveError, match=r"none of \d+ trials succeeded; the last failed with ZeroDivisionError"),
    ):
        warnings.simplefilter("ignore")
        minimize(lambda p: 1 / 0, SPACE, 20, "gp_ei", seed=1, progress=False, n_jobs=2)
    with pytest.raises(RecipeError, match='parallel is "processes" or "threads"'):
        minimize(lambda p: 1.0, SPACE, parallel="fibres")


def test_threads() -> None:
    seen: list[int] = []
    settings: dict[str, Any] = {"n_jobs": 3, "parallel": "threads", "callbacks": [lambda s, t: seen.append(t.number)]}
    result = minimize(lambda p: p["x"], SPACE, 7, "gp_ei", seed=1, progress=False, **settings)
    assert sorted(seen) == list(range(7)) and len(result.trials) == 7
    with pytest.raises(GeneratorExit):
        minimize(lambda p: (_ for _ in ()).throw(GeneratorExit()), SPACE, 5, "gp_ei", progress=False, **settings)


@posix
def test_kills(tmp_path: Path) -> None:
    found = kills.run(
        f"sqlite:///{tmp_path / 'a.db'}", "sampler", kills=2, workers=2, lease=1.0, limit=60.0, by_clock=True, grace=4.0
    )
    assert found["kills"] == 2, found
    bad = ("lost", "stuck", "wrong_pairs", "failures", "twice_at_once", "numbers_twice", "errors")
    assert {name: found[name] for name in bad} == dict.fromkeys(bad, 0), found


@posix
def test_starting_together_on_a_new_file(tmp_path: Path) -> None:
    found = starts.run(iter([f"sqlite:///{tmp_path / 'a.db'}"]), 1, 4, 60.0)
    assert (found["starts"], found["failed"], found["rounds_with_several_seeds"], found["numbers_twice"]) == (
        4,
        0,
        0,
        0,
    )


@posix
def test_starting_together_on_a_new_database(postgresql: Any) -> None:
    found = starts.run(iter([postgresql.database(f"together{os.getpid()}")]), 1, 4, 60.0)
    assert (found["starts"], found["failed"], found["rounds_with_several_seeds"], found["numbers_twice"]) == (
        4,
        0,
        0,
        0,
    ), found
