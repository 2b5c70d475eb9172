"""NAME=VALUE on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from calibo.cli.app import app
from calibo.cli.assignments import assigned
from calibo.errors import SpaceError
from calibo.spaces import Categorical, Float, Int, Ordinal, PoolSpace, ProductSpace

SPACE = ProductSpace(
    {"x": Float(0, 1), "n": Int(1, 9), "k": Categorical(["a=b", None, 3]), "o": Ordinal([True, False])}
)


def test_values_are_those_of_the_parameters() -> None:
    words = ["x=0.5", "n = 3.0", "k=a=b", "o=False"]
    assert assigned("--fixed", words, SPACE) == {"x": 0.5, "n": 3, "k": "a=b", "o": False}
    assert assigned("--fixed", ["k=None"], SPACE) == {"k": None} and assigned("--fixed", ["k=3"], SPACE) == {"k": 3}
    assert assigned("--fixed", None, SPACE) == {}
    pool = PoolSpace([{"id": 1, "metal": "iron"}, {"id": 2, "metal": "zinc"}], features=["id"])
    assert assigned("--fixed", ["metal=iron", "id=2"], pool) == {"metal": "iron", "id": 2}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["x"], "--fixed takes NAME=VALUE, such as material=steel, got 'x'"),
        (["=3"], "takes NAME=VALUE"),
        (["x=0,5"], "--fixed x: expected a number with a decimal point, got '0,5'"),
        (["k=z"], "'z' is not a choice, of which there are a=b, None, 3"),
        (["x=1", "x=0"], "'x' is given twice"),
    ],
)
def test_bad_words_are_refused(words: list[str], says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        assigned("--fixed", words, SPACE)


def test_a_run_holds_and_observes(tmp_path: Path) -> None:
    (tmp_path / "space.toml").write_text(
        '[x]\ntype = "float"\nlow = 0\nhigh = 1\n[k]\ntype = "categorical"\nchoices = ["a", "b"]\n'
        '[t]\ntype = "float"\nlow = 10\nhigh = 40\ncontext = true\n'
    )
    (tmp_path / "f.py").write_text("def objective(p):\n    return p['x'] + p['t'] + (p['k'] == 'a')\n")
    words = [
        "run",
        f"{tmp_path}/f.py:objective",
        "--space",
        f"{tmp_path}/space.toml",
        "--trials",
        "3",
        "--method",
        "gp_ei",
    ]
    words += ["--storage", f"{tmp_path}/s.db", "--study", "s", "--seed", "0", "--no-progress"]
    done = CliRunner().invoke(app, [*words, "--fixed", "k=b", "--context", "t=21.5"])
    assert done.exit_code == 0, done.output
    from calibo.study import load_result

    trials = load_result(tmp_path / "s.db", "s").trials
    assert {(trial.params["k"], trial.params["t"]) for trial in trials} == {("b", 21.5)}
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code != 0 and "the context 't' must be given" in f"{refused.output}{refused.exception}"
