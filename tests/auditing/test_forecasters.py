"""Which forecasters an audit has."""

from __future__ import annotations

from typing import get_type_hints

import pytest

import calibo.cli.audit as cli
from calibo import audit, methods
from calibo.auditing.forecasters import DEFAULT, forecasters_of, has_botorch, names_of_stored
from calibo.errors import RecipeError
from calibo.models import GaussianProcess, QuantileTrees


def test_the_default_ones_are_the_methods_by_name() -> None:
    found = forecasters_of(None)
    assert [one.name for one in found] == [*DEFAULT, *(["botorch"] if has_botorch() else [])]
    assert found[0].surrogate == methods.auto().forecasting and found[1].surrogate == methods.ocbo().surrogate
    assert all(one.about for one in found)


def test_help_and_documentation_name_the_default_ones() -> None:
    help_text = get_type_hints(cli.audit, include_extras=True)["methods"].__metadata__[0].help
    assert f"By default {', '.join(DEFAULT)}, botorch" in help_text
    documented = " ".join((audit.__doc__ or "").split())
    assert f"By default {', '.join(DEFAULT[:-1])} and {DEFAULT[-1]}, botorch" in documented


def test_the_reference_is_always_there() -> None:
    assert [one.name for one in forecasters_of(["ocbo-local"])] == ["ocbo_local", "gp_ei"]
    assert [one.name for one in forecasters_of("stored")] == ["gp_ei"]


def test_strategies_and_surrogates_of_ones_own() -> None:
    found = forecasters_of({"slow": methods.ocbo(eta=0.05), "trees": QuantileTrees()})
    assert [one.name for one in found] == ["slow", "trees", "gp_ei"]
    assert forecasters_of([methods.lfbo(forecaster=GaussianProcess())])[0].surrogate == GaussianProcess()
    assert forecasters_of(QuantileTrees())[0].name == "QuantileTrees"


def test_cbo_does_without_its_density_ratio() -> None:
    assert forecasters_of(["cbo"])[0].surrogate == methods.cbo(ratio=None).surrogate


def test_case_does_not_matter_in_names() -> None:
    found = forecasters_of(["CBO", " OCBO-Local", "Stored"])
    assert [one.name for one in found] == ["cbo", "ocbo_local", "gp_ei"]
    assert found[0].surrogate == methods.cbo(ratio=None).surrogate
    assert names_of_stored(["Stored"]) == ["stored"] and names_of_stored({"stored": "OCBO"}) == []


def test_names_of_ones_own_are_kept_and_checked() -> None:
    assert names_of_stored({"then": "stored", "now": "ocbo"}) == ["then"]
    with pytest.raises(RecipeError, match="two forecasters are called 'stored'"):
        forecasters_of(["stored", "ocbo", "stored"])
    with pytest.raises(RecipeError, match="the name of a forecaster must have 1 to 512 characters"):
        forecasters_of({"": "ocbo"})
    with pytest.raises(RecipeError, match="must have no control characters, line breaks"):
        forecasters_of({"of\nmine": "ocbo"})
    with pytest.raises(
        RecipeError, match="'gp_ei' is the Gaussian process without calibration.* give 'ocbo' another name"
    ):
        forecasters_of({"gp_ei": "ocbo"})
    assert [one.name for one in forecasters_of({"gp_ei": "gp_ei", "b": "ocbo"})] == ["gp_ei", "b"]


def test_methods_without_forecasts_are_refused() -> None:
    with pytest.raises(RecipeError, match="lfbo makes no forecasts"):
        forecasters_of(["lfbo"])
    with pytest.raises(RecipeError, match=r"unknown method 'ocba'; .*, botorch, stored; did you mean 'ocbo'\?"):
        forecasters_of(["ocba"])
    with pytest.raises(RecipeError, match="two forecasters are called 'ocbo'"):
        forecasters_of(["ocbo", methods.ocbo(eta=0.1)])
