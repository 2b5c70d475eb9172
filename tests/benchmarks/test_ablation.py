"""The default with one part changed: whole searches that are not done twice, and a table of what is stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.peers import ablation, continued

pytest.importorskip("ioh")


def test_searches_are_whole_begin_alike_and_are_not_done_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ablation, "EVALUATIONS", 14)
    results = tmp_path / "ablation.csv"
    given = ["--variants", "auto,matern32", "--problems", "bbob_f5_2d", "--seeds", "0", "--results", str(results)]
    ablation.main(given)
    rows = continued.load(results)
    assert rows["variant"].tolist() == ["auto", "matern32"]
    assert (rows["evaluations"] == ablation.EVALUATIONS).all() and rows["initial"].nunique() == 1
    ablation.main(given)
    assert len(continued.load(results)) == 2


def test_the_page_has_the_table_of_what_is_stored() -> None:
    assert ablation.markdown(continued.load(ablation.PATH)) in continued.PAGE.read_text(encoding="utf-8")
