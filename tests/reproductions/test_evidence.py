"""The page of evidence is made from the stored claims, and the command that runs all reproductions."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

PAPER = """
short = "A (2024)"
title = "A"
[[headline]]
part = "2"
text = "error"
reason = "few seeds"
[[item]]
name = "Figure 2"
[[item]]
name = "Figure 3"
missing = "needs a laboratory"
"""
CLAIM = {"part": "2", "text": "error, a / b", "claimed": "< 1", "ours": "0.50", "verdict": "confirmed"}
BASIS = {"seeds": 30, "budget": "5 + 25 evaluations", "commit": "abc"}


@pytest.fixture
def evidence(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "reproductions"))
    return importlib.import_module("evidence")


def written(folder: Path, claims: list[dict[str, Any]]) -> Path:
    (folder / "a2024" / "results").mkdir(parents=True)
    (folder / "a2024" / "paper.toml").write_text(PAPER)
    (folder / "a2024" / "results" / "claims.json").write_text(json.dumps(claims))
    return folder


def test_a_page(evidence: Any, tmp_path: Path) -> None:
    page = evidence.page(evidence.papers(written(tmp_path, [{**CLAIM, **BASIS}])))
    assert "| [A (2024)](#a2024) | 2 / 1 | 1 | 0 | 0 | - |" in page
    assert "| 2 | error, a / b | < 1 | 0.50 | confirmed | 30 | 5 + 25 evaluations | abc |" in page
    assert "- error, a / b: few seeds" in page and "- Figure 3: needs a laboratory" in page


def test_runs_that_were_run_again(evidence: Any, tmp_path: Path) -> None:
    folder = written(tmp_path, [{**CLAIM, **BASIS}])
    rows = [{"job": "seed=0", "commit": "abc", "same": True}, {"job": "seed=1", "commit": "abc", "same": False}]
    (folder / "a2024" / "results" / "verified.json").write_text(json.dumps({"commit": "def", "rows": rows}))
    page = evidence.page(evidence.papers(folder))
    assert "| 1 | 0 | 0 | 1 of 2 |" in page and "run again with commit def" in page
    assert "- seed=0 (commit abc): the same to the last digit" in page and "- seed=1 (commit abc): different" in page


def test_claims_that_rest_on_earlier_code_are_named(evidence: Any, tmp_path: Path) -> None:
    folder = written(tmp_path, [{**CLAIM, **BASIS}])
    said = "What is said of 2 rests on runs of earlier code"
    assert f"{said} of which the tables are kept" in evidence.page(evidence.papers(folder))
    older = folder / "a2024" / "results" / "runs" / "older"
    older.mkdir(parents=True)
    (older / "a.jsonl").write_text(json.dumps({"job": {}, "found": {}, "commit": "abc"}) + "\n")
    assert f"{said} (`results/runs/older`)" in evidence.page(evidence.papers(folder))
    (older.parent / "a.jsonl").write_text(json.dumps({"job": {}, "found": {}, "commit": "abc"}) + "\n")
    assert said not in evidence.page(evidence.papers(folder))


def test_a_headline_that_no_stored_claim_has_is_an_error(evidence: Any, tmp_path: Path) -> None:
    papers = evidence.papers(written(tmp_path, []))
    with pytest.raises(LookupError, match="a2024: 0 stored claims of 2 begin with 'error'"):
        evidence.page(papers)


def test_the_page_in_the_documentation_is_that_of_the_stored_claims(evidence: Any) -> None:
    assert evidence.PAGE.read_text() == evidence.page(evidence.papers()) + "\n"


def test_unknown_papers_are_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "reproductions"))
    everything = importlib.import_module("everything")
    with pytest.raises(SystemExit):
        everything.main(["kim1999"])
    assert "no reproduction is called kim1999; there are deshpande2024" in capsys.readouterr().err
    folders = {file.parent.name for file in everything.HERE.glob("*/run.py")}
    assert folders == set(everything.PAPERS)
