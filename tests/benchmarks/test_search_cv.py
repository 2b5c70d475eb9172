"""SearchCV beside random search: the page says what was measured."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.search_cv import RESULTS, summary

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scikit_learn.md"


def test_the_page_has_the_stored_result() -> None:
    assert summary(json.loads(RESULTS.read_text(encoding="utf-8"))) in PAGE.read_text(encoding="utf-8")


def test_seeds_that_all_tasks_have() -> None:
    scores = {"folds": [0.9, 0.8], "random": [0.8, 0.8], "no noise": [0.9, 0.9]}
    row = {**scores, **{f"{name}, cv": values for name, values in scores.items()}}
    short = {name: values[:1] for name, values in row.items()}
    said = summary({"a": row, "b": short})
    assert said.startswith("2 tasks, 1 seeds: better than random search on 2 tasks and worse on 0, by +0.1000")
