"""Conditions that hold or not: inequalities on parameters that are not always active, and functions."""

from __future__ import annotations

import numpy as np
import pytest

from calibo import LinearConstraint, Optimizer
from calibo.errors import SpaceError, SpaceWarning
from calibo.spaces import Categorical, Float, Int, ProductSpace, space_from_dict
from calibo.spaces.predicates import Predicate

NET = {"model": "net"}
PARAMETERS = {
    "model": Categorical(["svm", "net", "tree"]),
    "a": Float(0, 1, when=NET),
    "b": Float(0, 1, when=NET),
    "n": Int(1, 9, when={"model": ["net", "tree"]}),
    "s": Float(0, 1),
}
CONSTRAINTS = ["a + b <= 0.6", "n + 10*s <= 8", "s >= 0.1"]


def meets(params: dict) -> bool:
    return (
        params.get("a", 0.0) + params.get("b", 0.0) <= 0.6 + 1e-9
        and ("n" not in params or params["n"] + 10 * params["s"] <= 8 + 1e-9)
        and params["s"] >= 0.1 - 1e-9
    )


def test_an_inequality_counts_where_all_of_its_parameters_are_active() -> None:
    space = ProductSpace(PARAMETERS, constraints=CONSTRAINTS)
    drawn = space.decode(space.sample(400, np.random.default_rng(0)))
    assert all(map(meets, drawn)) and {p["model"] for p in drawn} == {"svm", "net", "tree"}
    # Where n is inactive, s is free.
    assert max(p["s"] for p in drawn if p["model"] == "svm") > 0.9
    anywhere = np.random.default_rng(1).random((200, 5))
    assert all(map(meets, space.decode(space.repair(anywhere)))) and space.valid(space.repair(anywhere)).all()


def test_suggestions_meet_them_and_reach_their_border() -> None:
    optimizer = Optimizer(ProductSpace(PARAMETERS, constraints=CONSTRAINTS), "gp_ei", seed=0)
    found = 1.0
    for _ in range(12):
        suggestion = optimizer.ask(fixed={"model": "net"})
        p = dict(suggestion.params)
        assert meets(p)
        value = (p["a"] - 0.5) ** 2 + (p["b"] - 0.4) ** 2 + (p["s"] - 0.2) ** 2
        optimizer.tell(suggestion, value)
        found = min(found, value)
    assert found < 0.15  # .045 at a + b = .6


def test_what_cannot_be_met_is_refused_and_what_is_told_is_kept() -> None:
    for constraints in (["a + b >= 3"], ["a + b <= 0.5", "a >= 0.4", "b >= 0.3"]):
        with pytest.raises(SpaceError, match="no values meet 'a"):
            ProductSpace(PARAMETERS, constraints=constraints)
    with pytest.raises(SpaceError, match=r"'a \+ b == 1' names 'a'.*inequalities"):
        ProductSpace(PARAMETERS, constraints=["a + b == 1"])
    with pytest.raises(SpaceError, match=r"names \['q'\]"):
        ProductSpace(PARAMETERS, constraints=["a + q <= 1"])
    with pytest.raises(SpaceError, match="needs numbers"):
        ProductSpace(PARAMETERS, constraints=["a + model <= 1"])
    optimizer = Optimizer(ProductSpace(PARAMETERS, constraints=CONSTRAINTS), "gp_ei", seed=0)
    with pytest.warns(SpaceWarning, match=r"broke 'a \+ b <= 0.6'"):
        optimizer.tell({"model": "net", "a": 0.9, "b": 0.9, "n": 2, "s": 0.2}, 1.0)
    assert len(optimizer.data()) == 1


def test_in_files_and_beside_a_function() -> None:
    table = {
        "constraints": ["a + b <= 0.6"],
        "model": {"type": "categorical", "choices": ["svm", "net"]},
        "a": {"type": "float", "low": 0, "high": 1, "when": NET},
        "b": {"type": "float", "low": 0, "high": 1, "when": NET},
    }
    space = space_from_dict(table)
    assert not space.valid(space.encode([{"model": "net", "a": 0.5, "b": 0.5}])).any()
    rule = Predicate((LinearConstraint({"a": 1}, "<=", 0.5),), lambda p: p["s"] > 0)
    assert rule({"s": 1}) and not rule({"s": 1, "a": 0.7}) and not rule({"s": 0, "a": 0.2})
    assert rule.broken({"s": 0, "a": 0.7}, 1e-6) == ("a <= 0.5", "where=<lambda>")
