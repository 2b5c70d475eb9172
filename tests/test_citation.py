"""Citations name exactly the parts composed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibo import citation, cite
from calibo.acquisition import ExpectedImprovement, ProbabilityOfImprovement, ThompsonSampling, UpperQuantile
from calibo.calibration import Calibrated, Isotonic, LeaveOneOut, OnlineQuantile, Temperature
from calibo.classifiers import XGBoost
from calibo.errors import RecipeError
from calibo.methods import METHODS, bore, gp_ei, lfbo, ocbo
from calibo.models import GaussianProcess, Surrogate
from calibo.optimize import ModelBased, Optimizer
from calibo.spaces import Float


def keys(text: str) -> list[str]:
    return re.findall(r"^@\w+\{(\w+),$", text, flags=re.MULTILINE)


def test_reference_method() -> None:
    assert keys(cite("gp_ei")) == ["rasmussen2006", "hvarfner2024", "jones1998", "ament2023"]
    assert cite(gp_ei()) == cite("gp_ei")


def test_ocbo_adds_its_calibrators() -> None:
    found = keys(cite(ocbo()))
    assert {"deshpande2024", "rasmussen2006", "hvarfner2024"} <= set(found)
    assert len(found) == len(set(found))


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_can_be_cited(name: str) -> None:
    assert keys(cite(name))


def test_only_what_was_composed() -> None:
    calibrated = Calibrated(GaussianProcess(), by=Isotonic(), evidence=LeaveOneOut())
    found = keys(cite(ModelBased(calibrated, ThompsonSampling())))
    assert found == ["rasmussen2006", "hvarfner2024", "kuleshov2018", "thompson1933"]


@pytest.mark.parametrize(
    ("part", "key"),
    [
        (UpperQuantile(), "srinivas2010"),
        (ProbabilityOfImprovement(), "kushner1964"),
        (Temperature(), "guo2017"),
        (OnlineQuantile(), "deshpande2024"),
    ],
)
def test_parts_alone(part: object, key: str) -> None:
    assert key in keys(cite(part))


def test_likelihood_free_methods() -> None:
    assert keys(cite("lfbo")) == ["song2022", "rasmussen2006", "pedregosa2011"]
    assert keys(cite(bore(classifier=XGBoost()))) == ["tiao2021", "chen2016"]
    both = Optimizer({"x": Float(0, 1)}, lfbo(classifier=XGBoost()), directions=["min", "min"])
    assert keys(cite(both)) == ["song2022", "chen2016", "knowles2006"]


def test_unknown_parts_are_skipped() -> None:
    @dataclass(frozen=True)
    class Own(Surrogate):
        inner: Any
        number: float = 1.0

        def fit(self, data: Any, *, rng: np.random.Generator) -> Any: ...

    found = keys(cite(ModelBased(Own(GaussianProcess()), ExpectedImprovement())))
    assert found == keys(cite("gp_ei"))


def test_scikit_learn_is_credited() -> None:
    from sklearn.linear_model import LinearRegression

    from calibo.calibration import Regressor

    assert keys(cite(Regressor(LinearRegression()))) == ["kuleshov2018", "pedregosa2011"]


def test_optimizers_and_samplers() -> None:
    from calibo.study import CalibratedSampler

    optimizer = Optimizer({"x": Float(0, 1)}, "gp_ei")
    assert keys(cite(optimizer)) == keys(cite("gp_ei"))
    assert keys(cite(CalibratedSampler("gp_ei"))) == ["akiba2019", *keys(cite("gp_ei"))]


def test_results() -> None:
    from calibo import minimize

    result = minimize(lambda p: p["x"] ** 2, {"x": Float(-1, 1)}, n_trials=2, method="gp_ei", seed=0, progress=False)
    assert set(keys(cite(result))) == {"akiba2019", *keys(cite("gp_ei"))}


@pytest.mark.parametrize("key", citation._entries())
def test_entries_are_complete_bibtex(key: str) -> None:
    entry = citation._entries()[key]
    kind = entry[1 : entry.index("{")]
    holder = {"article": "journal", "inproceedings": "booktitle", "book": "publisher", "mastersthesis": "school"}
    found = dict(re.findall(r"^  (\w+) += \{(.*)\},$", entry, flags=re.MULTILINE))
    assert {"author", "title", holder[kind], "calibo"} <= set(found)
    assert found["year"] == re.sub(r"\D", "", key)
    assert all(value.count("{") == value.count("}") for value in found.values())


def test_what_entries_name_exists_and_is_not_shown() -> None:
    defined = set[str]()
    for path in Path(citation.__file__).parent.rglob("*.py"):
        defined |= set(re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), flags=re.MULTILINE))
    packages = {"sklearn", "xgboost", "botorch"}
    assert set(citation._named()) <= defined | packages
    assert "calibo" not in cite("ocbo")


@pytest.mark.parametrize("wrong", [3, None, object()])
def test_what_is_no_method_is_rejected(wrong: object) -> None:
    with pytest.raises(RecipeError, match="cite a method"):
        cite(wrong)


def test_unknown_name() -> None:
    with pytest.raises(RecipeError, match="unknown method"):
        cite("gradient descent")
