"""What the commands print, and the parameters they read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibo import minimize
from calibo.cli.output import read_params, show_methods, show_predictions, show_result, shown, write_predictions
from calibo.errors import DataError, SpaceError
from calibo.methods import METHODS
from calibo.spaces import Categorical, Float, Int, Ordinal, ProductSpace

SPACE = ProductSpace(
    {"lr": Float(0, 1), "n": Int(1, 9), "act": Categorical(["relu", None, 3]), "o": Ordinal(["1", "2"])}
)


def _predictions(rows: int) -> pd.DataFrame:
    ends = {
        f"{of}_{end}_{c}": v
        for of in ("measured", "mean")
        for c in (50, 80, 95)
        for end, v in (("low", -3.0), ("high", 4.0))
    }
    rests = {"similar_forecasts": 0.3, "calibration": "model alone"}
    return pd.DataFrame({"mean": 1.0, "median": 2.0, **ends, **rests}, index=range(rows))


class TestReadingParameters:
    def test_json(self, tmp_path: Path) -> None:
        assert read_params(['{"lr": 0.1, "act": null}', '[{"lr": 1}]'], None) == [{"lr": 0.1, "act": None}, {"lr": 1}]
        file = tmp_path / "points.json"
        file.write_text('[{"lr": 0.1}, {"lr": 0.2}]')
        assert read_params([str(file)], SPACE) == [{"lr": 0.1}, {"lr": 0.2}]

    def test_csv_file_is_read_by_the_types_of_the_space(self, tmp_path: Path) -> None:
        file = tmp_path / "points.csv"
        file.write_text("lr,n,act,o\n1,3,None,1\n0.5,4,3,2\n")
        points = read_params([str(file)], SPACE)
        assert points == [{"lr": 1.0, "n": 3, "act": None, "o": "1"}, {"lr": 0.5, "n": 4, "act": 3, "o": "2"}]
        assert SPACE.encode(points).shape == (2, 4)
        file.write_text("a,b,c\n1,0.5,x\n")
        assert read_params([str(file)], None) == [{"a": 1, "b": 0.5, "c": "x"}]

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ([], "give the parameters"),
            (["{lr: 1}"], "is not valid JSON"),
            (["[1, 2]"], "must be a JSON object"),
            (["0.3"], "takes a JSON object in quotes"),
            (["nowhere.csv"], "cannot be read"),
        ],
    )
    def test_errors(self, given: list[str], message: str) -> None:
        with pytest.raises(SpaceError, match=message):
            read_params(given, SPACE)


def test_predictions_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    show_predictions([{"[lr]": 0.123456789}], _predictions(1))
    printed = capsys.readouterr().out
    # Brackets are no markup here.
    assert all(text in printed for text in ("next measurement", "mean value", "[lr]", "0.123457", "-3 to 4"))
    rests = next(line for line in printed.splitlines() if line.strip().startswith("rests on"))
    assert rests.split() == ["rests", "on", "model", "alone"] and len(rests.rstrip()) <= 80


@pytest.mark.parametrize(
    ("chance", "text"), [(2.2e-308, "below 0.001"), (0.4392, "0.439"), (0.9991, "above 0.999"), (1.0, "above 0.999")]
)
def test_no_probability_of_feasibility_is_certain(chance: float, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    table = _predictions(1).assign(constraint_mem_calibration="model alone", feasible=chance)
    show_predictions([{"lr": 0.1}], table)
    said = f"meets all constraints with probability {text}"
    assert capsys.readouterr().out.endswith(f"\n{said} (model alone for mem)\n")
    show_predictions([{"lr": 0.1}], table.assign(constraint_mem_calibration="5 similar forecasts"))
    assert capsys.readouterr().out.endswith(f"\n{said}\n")


def test_predictions_have_the_digits_that_their_intervals_need(capsys: pytest.CaptureFixture[str]) -> None:
    far = 1e-4 * _predictions(1).select_dtypes("number") - 13245.0
    show_predictions([{"lr": 0.1}], far.assign(calibration="model alone"))
    printed = capsys.readouterr().out
    assert "-13245.0003 to -13244.9996" in printed and "-13244.9998" in printed


def test_predictions_as_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_predictions([{"lr": 0.1}, {"lr": 0.2}], _predictions(2), str(tmp_path / "out.csv"))
    table = pd.read_csv(tmp_path / "out.csv")
    assert list(table["lr"]) == [0.1, 0.2]
    assert "measured_high_80" in table
    capsys.readouterr()
    write_predictions([{"lr": 0.1}], _predictions(1), "-")
    assert capsys.readouterr().out.startswith("lr,mean,median")

    with pytest.raises(DataError, match="cannot be written"):
        write_predictions([{"lr": 0.1}], _predictions(1), str(tmp_path / "missing" / "out.csv"))


def test_a_wide_front_is_split_to_fit_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    space = {f"a_long_parameter_{i}": Float(0, 1) for i in range(6)}
    monkeypatch.setenv("COLUMNS", "80")
    result = minimize(
        lambda p: (p["a_long_parameter_0"], 1.0 - p["a_long_parameter_0"] ** 2),
        space,
        n_trials=3,
        method="gp_ei",
        directions=["min", "min"],
        seed=0,
        progress=False,
    )
    show_result(result)
    printed = capsys.readouterr().out
    table = printed[printed.index("trial ") : printed.index("Objective 0")]
    assert max(map(len, printed.splitlines())) <= 80
    assert all(f" {name} " in table for name in (*space, "objective 0", "objective 1"))
    assert table.count(" trial ") > 1


def test_coverage_by_place_is_shown_once_there_is_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    result = minimize(
        lambda p: p["x"] ** 2 + 0.01 * rng.standard_normal(),
        {"x": Float(-1, 1)},
        n_trials=40,
        method="auto",
        seed=0,
        progress=False,
    )
    assert result.calibration_by_place().judged
    show_result(result)
    printed = capsys.readouterr().out
    assert " ".join(printed.split()).endswith(result.calibration_by_place().headline())


def test_methods_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    show_methods()
    printed = capsys.readouterr().out
    assert all(name in printed for name in METHODS)
    assert "AISTATS" in printed


def test_values() -> None:
    assert [shown(value) for value in (0.1 + 0.2, 3, "relu", None, True)] == ["0.3", "3", "relu", "None", "True"]
