"""Optuna's distributions and calibo's parameters mean the same."""

from __future__ import annotations

import math
from typing import Any

import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from calibo.errors import RecipeError, SpaceError
from calibo.spaces import Categorical, Float, Int, Ordinal, Parameter, PoolSpace, ProductSpace
from calibo.study.distributions import distribution_of, labels, optuna_space, parameter_of, space_of, suggest

PAIRS: list[tuple[Parameter, BaseDistribution]] = [
    (Float(-1.0, 2.0), FloatDistribution(-1.0, 2.0)),
    (Float(1e-5, 1.0, log=True), FloatDistribution(1e-5, 1.0, log=True)),
    (Float(0.0, 1.05, step=0.1), FloatDistribution(0.0, 1.0, step=0.1)),
    (Int(-3, 7), IntDistribution(-3, 7)),
    (Int(1, 1000, log=True), IntDistribution(1, 1000, log=True)),
    (Int(2, 9, step=3), IntDistribution(2, 8, step=3)),
    (Categorical(["a", None, 3, 2.5, False]), CategoricalDistribution(["a", None, 3, 2.5, False])),
]


@pytest.mark.parametrize(("parameter", "distribution"), PAIRS)
def test_there_and_back(parameter: Parameter, distribution: BaseDistribution) -> None:
    assert distribution_of(parameter) == distribution
    assert parameter_of(distribution) == parameter


@given(u=st.floats(0.0, 1.0), which=st.integers(0, len(PAIRS) - 1))
def test_every_value_is_one_for_optuna_and_is_kept_exactly(u: float, which: int) -> None:
    parameter, distribution = PAIRS[which]
    space = optuna_space(ProductSpace({"p": parameter}))
    stored = space.stored(space.space.encode([{"p": parameter.decode(u)}])[0])
    internal = space.internal(stored)
    assert distribution._contains(internal["p"])
    again = space.external(internal)
    assert again == stored
    assert type(again["p"]) is type(parameter.decode(u))
    assert space.encode([again])[0, 0] == parameter.encode(parameter.decode(u))


def test_what_optuna_cannot_express() -> None:
    assert distribution_of(Ordinal(["s", "m", "l"])) == CategoricalDistribution(["s", "m", "l"])
    assert distribution_of(Int(1, 64, log=True, step=3)) == IntDistribution(1, 64, log=True)
    for single in (FloatDistribution(1.0, 1.0), IntDistribution(2, 2, log=True), CategoricalDistribution(["a"])):
        assert parameter_of(single).decode(0.7) in (1.0, 2, "a")


def _relu() -> None: ...


def test_choices_that_optuna_cannot_store_have_labels() -> None:
    assert labels(["a", 1, None, 2.5]) is None
    assert labels([(64,), (64, 64)]) == ("(64,)", "(64, 64)")
    assert labels([1, True, 1.0]) == ("1", "True", "1.0")
    assert labels(["(1,)", (1,)]) == ("0: (1,)", "1: (1,)")
    assert labels([_relu, math.sqrt, object()]) == ("_relu", "sqrt", "object")
    choices = [(64,), (64, 64), _relu]
    space = optuna_space(ProductSpace({"c": Categorical(choices), "b": Categorical([1, True])}))
    for choice in choices:
        for number in (1, True):
            stored = space.stored(space.space.encode([{"c": choice, "b": number}])[0])
            assert all(isinstance(value, str) for value in stored.values())
            restored = space.params(stored)
            assert restored["c"] is choice
            assert restored["b"] is number
            assert space.encode([stored]).shape == (1, 2)


def test_a_pool_is_stored_by_its_features_and_given_by_its_rows() -> None:
    rows = [{"id": f"r{i}", "n": i % 4, "x": i / 3, "kind": "uv"[i % 2], "same": 1.5} for i in range(12)]
    space = optuna_space(PoolSpace(rows, ["n", "x", "kind", "same"]))
    assert space.distributions == {
        "n": IntDistribution(0, 3),
        "x": FloatDistribution(0.0, 11 / 3),
        "kind": CategoricalDistribution(["u", "v"]),
        "same": FloatDistribution(1.5, 1.5),
    }
    for row in rows:
        stored = space.stored(space.space.encode([row])[0])
        assert "id" not in stored
        assert space.params(space.external(space.internal(stored))) == row
    with pytest.raises(SpaceError):
        space.encode([{"n": 0, "x": 1.0, "kind": "u", "same": 1.5}])
    with pytest.raises(SpaceError, match="cannot be fixed one by one"):
        space.restricted(["n"])


def test_a_space_of_some_columns() -> None:
    space = optuna_space(ProductSpace({"x": Float(0, 1), "k": Int(0, 3), "c": Ordinal([(1,), (2,)])}))
    assert space.restricted(["c", "k", "x"]) is space
    part = space.restricted({"c", "x"})
    assert part.names == ("x", "c")
    assert part.encode([{"x": 0.5, "k": 1, "c": "(2,)"}]).tolist() == [[0.5, 0.75]]


def test_other_kinds_are_refused() -> None:
    class Odd(Parameter):
        cells = None  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

        def _index(self, value: Any) -> int: ...
        def _value(self, index: int) -> Any: ...

    with pytest.raises(RecipeError, match="calibo knows float, int and categorical distributions, got Odd"):
        parameter_of(Odd())  # pyright: ignore[reportArgumentType]
    with pytest.raises(
        RecipeError, match=r"got a Odd; use one of these for the columns of the space, or calibo\.Optimizer"
    ):
        optuna_space(ProductSpace({"p": Odd()}))


def test_a_trial_takes_values_of_every_column() -> None:
    distributions = {name: distribution for name, (_, distribution) in zip("abcdefg", PAIRS, strict=True)}
    space = space_of(distributions)
    trial = optuna.create_study(sampler=optuna.samplers.RandomSampler(0)).ask()
    stored = suggest(trial, space)
    assert trial.distributions == distributions
    assert trial.params == stored
