"""Parameters as other packages write them: accepted, or refused with the line to write instead."""

from __future__ import annotations

from typing import Any

import ConfigSpace as cs
import numpy as np
import optuna.distributions as od
import pytest
import scipy.stats as ss

from calibo.errors import SpaceError
from calibo.spaces import Categorical, Context, Float, Int, Ordinal, PoolSpace, ProductSpace, as_space


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (od.FloatDistribution(0, 2), Float(0, 2)),
        (od.FloatDistribution(1e-4, 1, log=True), Float(1e-4, 1, log=True)),
        (od.FloatDistribution(0, 1, step=0.25), Float(0, 1, step=0.25)),
        (od.IntDistribution(1, 9, step=2), Int(1, 9, step=2)),
        (od.IntDistribution(1, 64, log=True), Int(1, 64, log=True)),
        (od.IntDistribution(3, 3), Categorical([3])),
        (od.CategoricalDistribution(["a", None]), Categorical(["a", None])),
        (ss.uniform(2, 3), Float(2, 5)),
        (ss.uniform(loc=-1, scale=2), Float(-1, 1)),
        (ss.loguniform(1e-3, 10), Float(1e-3, 10, log=True)),
        (ss.reciprocal(1e-3, 10), Float(1e-3, 10, log=True)),
        (ss.randint(1, 9), Int(1, 8)),
        ({"type": "range", "bounds": [0.0, 1.0]}, Float(0, 1)),
        ({"name": "x", "type": "range", "bounds": [1, 64], "log_scale": True}, Int(1, 64, log=True)),
        ({"type": "range", "bounds": [1, 64], "value_type": "float"}, Float(1, 64)),
        ({"type": "range", "bounds": [0, 1], "parameter_type": "float", "step_size": 0.5}, Float(0, 1, step=0.5)),
        ({"type": "choice", "values": ["a", "b"]}, Categorical(["a", "b"])),
        ({"type": "choice", "values": [8, 16], "is_ordered": True}, Ordinal([8, 16])),
        ({"type": "fixed", "value": 3}, Categorical([3])),
        ((0.0, 1), Float(0, 1)),
        ((1e-4, 1e-1, "log-uniform"), Float(1e-4, 1e-1, log=True)),
        (range(1, 9), Int(1, 8)),
        (range(0, 10, 3), Int(0, 9, step=3)),
        (["relu", "gelu"], Categorical(["relu", "gelu"])),
        ([True, False], Categorical([True, False])),
        ([16, 32, 64], Categorical([16, 32, 64])),
    ],
)
def test_what_is_clear_is_accepted(given: Any, meant: Any) -> None:
    assert as_space({"x": given}) == ProductSpace({"x": meant})


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (ss.norm(0, 1), r"write Float\(-2.576, 2.576\), or bounds of your own"),
        (ss.lognorm(2), r"write Float\(0.00579, 172.7, log=True\)"),
        (ss.beta(2, 2), r"'beta'; write Float\(0, 1\)"),
        (ss.poisson(4), r"write Int\(0, 10\)"),
        (ss.uniform, r"freeze the distribution: scipy.stats.uniform\(0, 1\)"),
        ((0, 1), r"write Int\(0, 1\) or Float\(0, 1\)"),
        ((1, 8, "log-uniform"), r"write Int\(1, 8, log=True\) or Float\(1, 8, log=True\)"),
        ([0.1, 0.9], r"write Float\(0.1, 0.9\) or Categorical\(\[0.1, 0.9\]\)"),
        (("a", "b"), r"write Categorical\(\['a', 'b'\]\) for choices"),
        ({"type": "float", "low": 0, "high": 1}, r"space_from_dict\(table\)"),
        ({"type": "range"}, "a dict with 'bounds'"),
        ({"type": "choice", "values": [1, 2], "dependents": {1: ["y"]}}, "when={'x': ...}"),
        (np.linspace(0, 1, 5), r"write Ordinal\(\[0.0, 0.25, 0.5\]"),
        (range(3, 3), r"write Int\(low, high\)"),
        (3, r"write Float\(0, 1\), Int\(1, 8\) or Categorical"),
        (["a", "a"], "choice 'a' is given twice"),
        (Context(Context), "write Float"),
    ],
)
def test_what_is_not_is_refused_with_the_line_to_write(given: Any, line: str) -> None:
    with pytest.raises(SpaceError, match=line) as refused:
        as_space({"x": given, "y": Float(0, 1)})
    assert "'x'" in str(refused.value)


def test_a_list_of_ax_is_a_space_and_other_lists_are_tables() -> None:
    space = as_space(
        [
            {"name": "lr", "type": "range", "bounds": [1e-4, 0.1], "log_scale": True},
            {"name": "act", "type": "choice", "values": ["relu", "gelu"]},
        ]
    )
    assert space == ProductSpace({"lr": Float(1e-4, 0.1, log=True), "act": Categorical(["relu", "gelu"])})
    assert isinstance(as_space([{"name": "a", "type": "salt"}, {"name": "b", "type": "acid"}]), PoolSpace)


def test_contexts_may_be_written_as_other_packages_do() -> None:
    assert as_space({"x": Float(0, 1), "t": Context(ss.uniform(10, 30))}).contexts == ("t",)


def test_spaces_of_configspace() -> None:
    space = cs.ConfigurationSpace({"lr": (1e-3, 1.0), "n": (1, 8), "act": ["relu", "gelu"], "c": 3})
    space.add(cs.UniformFloatHyperparameter("wd", 1e-6, 1.0, log=True, default_value=1e-4))
    space.add(cs.OrdinalHyperparameter("size", ["s", "m", "l"], default_value="m"))
    found = as_space(space)
    assert isinstance(found, ProductSpace)
    assert found.parameters["wd"] == Float(1e-6, 1.0, log=True, default=1e-4)
    assert found.parameters["size"] == Ordinal(["s", "m", "l"], default="m")
    assert found.parameters["c"] == Categorical([3])
    assert (found.parameters["n"].low, found.parameters["n"].high) == (1, 8)
    with pytest.raises(SpaceError, match=r"NormalFloatHyperparameter; write Float\(-1"):
        as_space({"z": cs.NormalFloatHyperparameter("z", mu=0, sigma=1, lower=-1, upper=1)})


def test_conditions_of_configspace() -> None:
    space = cs.ConfigurationSpace({"model": ["svm", "knn", "tree"], "C": (1e-3, 1e3), "k": (1, 30), "p": (1.0, 2.0)})
    space.add(cs.CategoricalHyperparameter("kernel", ["rbf", "poly"]), cs.Constant("seed", 7), cs.Float("coef", (0, 1)))
    space.add(
        cs.EqualsCondition(space["C"], space["model"], "svm"),
        cs.InCondition(space["k"], space["model"], ["knn", "tree"]),
        cs.EqualsCondition(space["kernel"], space["model"], "svm"),
        cs.OrConjunction(
            cs.EqualsCondition(space["p"], space["model"], "knn"),
            cs.EqualsCondition(space["p"], space["kernel"], "poly"),
        ),
        cs.AndConjunction(
            cs.EqualsCondition(space["coef"], space["kernel"], "poly"),
            cs.InCondition(space["coef"], space["model"], ["svm", "tree"]),
        ),
    )
    found = as_space(space)
    assert isinstance(found, ProductSpace)
    assert found.parameters["k"].when == {"model": ["knn", "tree"]}
    assert found.parameters["coef"].when == {"kernel": ["poly"], "model": ["svm", "tree"]}
    assert ProductSpace(space, where=lambda p: p["model"] != "tree").conditions == found.conditions
    # Which parameters are active is what ConfigSpace says of its own samples.
    space.seed(0)
    for one in space.sample_configuration(60):
        params = dict(one)
        assert found.decode(found.encode([params]))[0].keys() == params.keys()
    space.add(cs.ForbiddenEqualsClause(space["k"], 3))
    with pytest.raises(SpaceError, match="forbids values"):
        as_space(space)
    other = cs.ConfigurationSpace({"n": (1, 8), "x": (0.0, 1.0)})
    other.add(cs.GreaterThanCondition(other["x"], other["n"], 3))
    with pytest.raises(SpaceError, match=r"'x': the condition .* has no counterpart"):
        as_space(other)
