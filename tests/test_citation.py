"""Citations name exactly the parts composed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from calibo import citation, cite, minimize
from calibo.acquisition import ExpectedImprovement, ProbabilityOfImprovement, ThompsonSampling
from calibo.calibration import Calibrated, Isotonic, LeaveOneOut, Regressor
from calibo.classifiers import XGBoost
from calibo.errors import RecipeError
from calibo.methods import METHODS, bore, gp_ei, lfbo, ocbo
from calibo.models import GaussianProcess, InputWarping, IntegratedGP, Surrogate
from calibo.optimize import ModelBased, Optimizer
from calibo.spaces import Float
from calibo.study import CalibratedSampler


def keys(text: str) -> list[str]:
    return re.findall(r"^@\w+\{(\w+),$", text, flags=re.MULTILINE)


def test_methods_cite_their_parts_once() -> None:
    assert keys(cite("gp_ei")) == ["rasmussen2006", "hvarfner2024", "jones1998", "ament2023"]
    assert cite(gp_ei()) == cite("gp_ei")
    found = keys(cite(ocbo()))
    assert found[:6] == ["yeo2000", "rasmussen2006", "hvarfner2024", "guan2023", "deshpande2024", "dawid1984"]
    assert found[6:] == ["jones1998", "ament2023"]
    paper = ["rasmussen2006", "hvarfner2024", "deshpande2024", "dawid1984", "srinivas2010", "wilson2018"]
    assert keys(cite(ocbo(paper=True))) == paper
    assert keys(cite(ProbabilityOfImprovement())) == ["kushner1964"]
    integrated = keys(cite(IntegratedGP(GaussianProcess(warping=InputWarping()))))
    assert integrated == ["ionides2008", "rue2009", "rasmussen2006", "hvarfner2024", "snoek2014"]


def test_every_method_can_be_cited() -> None:
    for name in METHODS:
        assert keys(cite(name)), name


def test_only_what_was_composed() -> None:
    calibrated = Calibrated(GaussianProcess(), by=Isotonic(), evidence=LeaveOneOut())
    found = keys(cite(ModelBased(calibrated, ThompsonSampling())))
    assert found == ["rasmussen2006", "hvarfner2024", "kuleshov2018", "thompson1933"]


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
    assert keys(cite(Regressor(LinearRegression()))) == ["kuleshov2018", "pedregosa2011"]


def test_optimizers_samplers_and_results() -> None:
    own = keys(cite("gp_ei"))
    assert keys(cite(Optimizer({"x": Float(0, 1)}, "gp_ei"))) == own
    assert keys(cite(CalibratedSampler("gp_ei"))) == ["akiba2019", *own]
    result = minimize(lambda p: p["x"] ** 2, {"x": Float(-1, 1)}, n_trials=2, method="gp_ei", seed=0, progress=False)
    assert set(keys(cite(result))) == {"akiba2019", *own}


def test_entries_are_complete_bibtex() -> None:
    holder = {"article": "journal", "inproceedings": "booktitle", "book": "publisher", "mastersthesis": "school"}
    for key, entry in citation._entries().items():
        kind = entry[1 : entry.index("{")]
        found = dict(re.findall(r"^  (\w+) += \{(.*)\},$", entry, flags=re.MULTILINE))
        assert {"author", "title", holder[kind], "calibo"} <= set(found), key
        assert found["year"] == re.sub(r"\D", "", key)
        assert all(value.count("{") == value.count("}") for value in found.values()), key


def test_what_entries_name_exists_and_is_not_shown() -> None:
    defined = set[str]()
    for path in Path(citation.__file__).parent.rglob("*.py"):
        defined |= set(re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), flags=re.MULTILINE))
    packages = {"sklearn", "xgboost", "botorch"}
    assert set(citation._named()) <= defined | packages
    assert "calibo" not in cite("ocbo")


def test_what_is_no_method_is_rejected() -> None:
    with pytest.raises(RecipeError, match="cite a method"):
        cite(None)
    with pytest.raises(RecipeError, match="unknown method"):
        cite("gradient descent")
