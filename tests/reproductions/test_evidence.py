"""The page of evidence is made from the stored claims; the command that runs all reproductions, and its arithmetic."""

from __future__ import annotations

import importlib
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPRODUCTIONS = Path(__file__).parents[2] / "reproductions"
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
    monkeypatch.syspath_prepend(str(REPRODUCTIONS))
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
    assert "| 1 | 0 | 0 | 1 of 2 |" in page and "run again with commit def, 1 of 2 gave the same" in page


def test_claims_that_rest_on_earlier_code_are_named(evidence: Any, tmp_path: Path) -> None:
    folder = written(tmp_path, [{**CLAIM, **BASIS}])
    said = "What is said of 2 rests on runs of earlier code"
    assert said in evidence.page(evidence.papers(folder))
    older = folder / "a2024" / "results" / "runs" / "older"
    older.mkdir(parents=True)
    (older / "a.jsonl").write_text(json.dumps({"job": {}, "found": {}, "commit": "abc"}) + "\n")
    assert said in evidence.page(evidence.papers(folder))
    (older.parent / "a.jsonl").write_text(json.dumps({"job": {}, "found": {}, "commit": "abc"}) + "\n")
    assert said not in evidence.page(evidence.papers(folder))


def test_parts_of_earlier_code_stand_in_the_order_of_their_numbers(evidence: Any, tmp_path: Path) -> None:
    parts = ("12", "13a", "A4", "5b", "5a", "2", "table10", "table2")
    page = evidence.page(evidence.papers(written(tmp_path, [{**CLAIM, **BASIS, "part": part} for part in parts])))
    assert "What is said of 2, 5a, 5b, 12, 13a, A4, table2, table10 rests on runs of earlier code" in page


def test_claims_may_say_that_they_rest_on_earlier_code(evidence: Any, tmp_path: Path) -> None:
    folder = written(tmp_path, [{**CLAIM, **BASIS, "earlier": True}])
    runs = folder / "a2024" / "results" / "runs"
    runs.mkdir()
    (runs / "a.jsonl").write_text(json.dumps({"job": {}, "found": {}, "commit": "abc"}) + "\n")
    assert "What is said of 2 rests on runs of earlier code" in evidence.page(evidence.papers(folder))


@pytest.mark.parametrize(
    ("seeds", "overview", "said"),
    [
        ((30, 30), "2 / 1", "Done: Figure 2 (30 seeds)."),
        ((10, 30), "2 / 1", "Done: Figure 2 (10 to 30 seeds)."),
        ((7, 7), "2 / 1", "Done: Figure 2 (7 of 30 seeds)."),
        ((4, 4), "2 / 0", "- Figure 2: 4 of 30 seeds, too few for a verdict. A run takes hours.\n"),
    ],
)
def test_figures_are_done_with_the_seeds_of_their_claims(
    evidence: Any, tmp_path: Path, seeds: tuple[int, int], overview: str, said: str
) -> None:
    claims = [{**CLAIM, **BASIS, "text": f"error {i}", "seeds": count} for i, count in enumerate(seeds)]
    folder = written(tmp_path, [*claims, {**CLAIM, **BASIS, "part": "3", "seeds": 50}])
    told = 'name = "Figure 2"\nparts = ["2"]\nmeant = 30\nmissing = "A run takes hours."'
    text = PAPER.replace('name = "Figure 2"', told).replace('text = "error"', 'text = "error 0"')
    (folder / "a2024" / "paper.toml").write_text(text)
    page = evidence.page(evidence.papers(folder))
    assert f"| {overview} |" in page and said in page


def test_a_headline_that_no_stored_claim_has_is_an_error(evidence: Any, tmp_path: Path) -> None:
    papers = evidence.papers(written(tmp_path, []))
    with pytest.raises(LookupError, match="a2024: 0 stored claims of 2 begin with 'error'"):
        evidence.page(papers)


def test_the_page_in_the_documentation_is_that_of_the_stored_claims(evidence: Any) -> None:
    assert evidence.PAGE.read_text() == evidence.page(evidence.papers()) + "\n"


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="routines of x86 processors")
def test_arithmetic_is_that_of_avx2() -> None:
    """OpenBLAS and NumPy use nothing beyond AVX2 in a process that has called ``fix_arithmetic``."""
    code = (
        "from arithmetic import fix_arithmetic; fix_arithmetic(); import json, numpy, scipy.linalg, threadpoolctl;"
        "kernels = [one.get('architecture') for one in threadpoolctl.threadpool_info()];"
        "print(json.dumps([kernels, numpy.show_config('dicts')['SIMD Extensions']['found']]))"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=REPRODUCTIONS, capture_output=True, text=True, check=True)
    kernels, found = json.loads(ran.stdout)
    assert not {"SkylakeX", "Cooperlake", "SapphireRapids"} & set(kernels)
    assert not [name for name in found if name.startswith(("AVX512", "X86_V4"))]


def test_arithmetic_is_left_alone_where_numpy_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else processes that are started from here, as in tests of studies, would compute otherwise than this one."""
    monkeypatch.syspath_prepend(str(REPRODUCTIONS))
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    assert "numpy" in sys.modules
    importlib.import_module("arithmetic").fix_arithmetic()
    assert "OPENBLAS_CORETYPE" not in os.environ


@pytest.mark.parametrize(
    "file", sorted(REPRODUCTIONS.glob("*/*.py")), ids=lambda file: f"{file.parent.name}/{file.stem}"
)
def test_commands_fix_their_arithmetic_before_numpy_is_loaded(file: Path) -> None:
    text = file.read_text()
    if "__main__" in text:
        before, _, after = text.partition("\nfix_arithmetic()\n")
        assert after and not re.search(
            r"^(import|from) (numpy|scipy|calibo|torch|harness|judging|command)", before, re.M
        )


def test_unknown_papers_are_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(str(REPRODUCTIONS))
    everything = importlib.import_module("everything")
    with pytest.raises(SystemExit):
        everything.main(["kim1999"])
    assert "no reproduction is called kim1999; there are deshpande2024" in capsys.readouterr().err
    folders = {file.parent.name for file in everything.HERE.glob("*/run.py")}
    assert folders == set(everything.PAPERS)
