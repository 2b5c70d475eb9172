"""Which point to take after a noisy search: three answers to each stored run, read once, and a table of what is stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers import answers, problems, store
from benchmarks.peers.hosts import LocalHost
from benchmarks.peers.protocol import Job, perform

pytest.importorskip("ioh")
PROBLEM, EVALUATIONS = "bbob_f5_2d_noisy", 15


def test_answers_are_values_without_noise_and_are_not_sought_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "EVALUATIONS", EVALUATIONS)
    job, results = Job("random", PROBLEM, 0, EVALUATIONS), tmp_path / "answers.csv"
    run = perform(job, LocalHost("random"))
    store.add(tmp_path, job, run)
    given = ["--runs", str(tmp_path), "--problems", PROBLEM, "--results", str(results)]
    answers.main(given)
    row = answers.load(results).iloc[0]
    assert row["measured"] == pytest.approx(run.values[int(np.argmin(run.measured))])
    assert np.isclose(run.values, row["expected"]).any()
    # A linear slope: its best corner, which no random point is, is found by the model.
    assert problems.get(PROBLEM, 0).optimum - 1e-6 <= row["recommended"] < min(run.values)
    before = results.read_text()
    answers.main(given)
    assert results.read_text() == before


def test_the_page_has_the_table_of_what_is_stored() -> None:
    assert answers.markdown(answers.load()) in answers.PAGE.read_text(encoding="utf-8")
