"""Conditional parameters: which are active, how points are encoded, and what is refused."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.errors import FallbackWarning, SpaceError
from calibo.spaces import Categorical, Float, Int, Ordinal, Parameter, ProductSpace, space_from_dict, space_from_toml
from calibo.spaces.conditional import pinned
from calibo.testing import SpaceSuite

MODELS: dict[str, Parameter] = {
    "degree": Int(2, 5, when={"kernel": "poly"}),
    "model": Categorical(["svm", "knn", "rf"]),
    "C": Float(1e-3, 1e3, log=True, when={"model": "svm"}),
    "kernel": Categorical(["rbf", "poly"], when={"model": "svm"}),
    "k": Int(1, 30, log=True, when={"model": ["knn"]}),
    "trees": Ordinal([10, 100, 1000], when=[{"model": "rf"}, {"kernel": "rbf"}]),
    "seed": Int(0, 3),
}
SPACE = ProductSpace(MODELS)


class TestConditionalSpace(SpaceSuite):
    def space(self) -> ProductSpace:
        return SPACE


class TestFiniteConditionalSpace(SpaceSuite):
    def space(self) -> ProductSpace:
        return ProductSpace(
            {
                "a": Int(0, 2),
                "b": Categorical(["x", "y", "z"], when={"a": [1, 2]}),
                "c": Int(0, 1, when={"b": "z"}),
            }
        )


@pytest.mark.parametrize(
    ("params", "active"),
    [
        ({"model": "knn", "k": 3, "seed": 0}, {"model", "k", "seed"}),
        ({"model": "rf", "trees": 100, "seed": 0}, {"model", "trees", "seed"}),
        (
            {"model": "svm", "C": 1.0, "kernel": "poly", "degree": 3, "seed": 1},
            {"model", "C", "kernel", "degree", "seed"},
        ),
        (
            {"model": "svm", "C": 1.0, "kernel": "rbf", "trees": 10, "seed": 1},
            {"model", "C", "kernel", "trees", "seed"},
        ),
    ],
)
def test_only_active_parameters_are_given_and_returned(params: dict[str, Any], active: set[str]) -> None:
    X = SPACE.encode([params])
    assert {name for name, flag in zip(SPACE.names, SPACE.active(X)[0], strict=True) if flag} == active
    assert SPACE.decode(X)[0] == pytest.approx(params)


def test_equal_configurations_are_equal_points() -> None:
    U = np.random.default_rng(0).random((2000, SPACE.dimension))
    X = SPACE.repair(U)
    assert len(np.unique(X[SPACE.active(X)[:, 4]][:, [0, 2, 3, 5]], axis=0)) == 1
    np.testing.assert_array_equal(SPACE.repair(X), X)


def test_values_of_inactive_parameters() -> None:
    point = {"model": "rf", "trees": 10, "seed": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = SPACE.encode([point])
        np.testing.assert_array_equal(SPACE.encode([{**point, "C": None, "k": float("nan")}]), expected)
    with pytest.warns(FallbackWarning, match="value 3.0 of 'C' is ignored, .* only with {'model': 'svm'}"):
        np.testing.assert_array_equal(SPACE.encode([{**point, "C": 3.0}]), expected)
    with pytest.raises(SpaceError, match="parameters 0: missing 'trees', which is active"):
        SPACE.encode([{"model": "rf", "seed": 0}])
    with pytest.raises(SpaceError, match="parameters 0: unknown \\['tree'\\]"):
        SPACE.encode([{**point, "tree": 3}])
    with pytest.raises(SpaceError, match="'k': 31 lies outside"):
        SPACE.encode([{"model": "knn", "k": 31, "seed": 0}])


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"a": Float(0, 1, when={"b": 1})}, "when names 'b', which is not in the space; there are a"),
        ({"a": Int(0, 1, when={"a": 1})}, "when names the parameter itself"),
        ({"a": Int(0, 1, when={"b": 1}), "b": Int(0, 1, when={"a": 1})}, "conditions of 'a', 'b' go in circles"),
        (
            {"a": Int(0, 1), "b": Float(0, 1, when={"a": [0, 7]})},
            "gives 'a' the value 7, which Int\\(0, 1\\) cannot take",
        ),
        ({"a": Float(0, 1), "b": Float(0, 1, when={"a": 0.5})}, "'a', Float.* too many values to be listed"),
        (
            {"a": Int(0, 1), "b": Int(0, 1, when={"a": 1}), "c": Int(0, 1, when={"a": 0, "b": 1})},
            "'c' can never be active",
        ),
        ({"a": Int(0, 1), "b": Float(0, 1, when="a")}, "when must name other parameters"),
        ({"a": Int(0, 1), "b": Float(0, 1, when={})}, "when must name other parameters"),
        ({"a": Int(0, 1), "b": Float(0, 1, when=[])}, "when must name other parameters"),
    ],
)
def test_wrong_conditions_are_refused(parameters: dict[str, Parameter], says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        ProductSpace(parameters)


def test_sizes_count_configurations_once() -> None:
    space = TestFiniteConditionalSpace().space()
    assert space.size == 1 + 2 * (1 + 1 + 2)
    every = space.enumerate()
    assert every is not None and len(every) == space.size
    assert len({str(p) for p in space.decode(every)}) == space.size


def test_texts_and_copies() -> None:
    assert repr(MODELS["C"]) == "Float(0.001, 1000.0, log=True, when={'model': 'svm'})"
    assert pickle.loads(pickle.dumps(SPACE)) == SPACE
    assert ProductSpace({**MODELS, "C": Float(1e-3, 1e3, log=True)}) != SPACE
    assert hash(SPACE) == hash(ProductSpace(MODELS))


def test_from_toml(tmp_path: Any) -> None:
    path = tmp_path / "space.toml"
    path.write_text(
        '[model]\ntype = "categorical"\nchoices = ["svm", "knn"]\n'
        '[C]\ntype = "float"\nlow = 0.1\nhigh = 10\nwhen = { model = "svm" }\n'
        '[k]\ntype = "int"\nlow = 1\nhigh = 9\nwhen = { model = ["knn"] }\n'
    )
    space = space_from_toml(path)
    assert space.decode(space.encode([{"model": "knn", "k": 3}])) == [{"model": "knn", "k": 3}]
    with pytest.raises(SpaceError, match="'m', which is not in the space"):
        space_from_dict({"x": {"type": "float", "low": 0, "high": 1, "when": {"m": 1}}})


def test_a_part_with_some_columns_pinned() -> None:
    part = pinned(SPACE, {1: SPACE.columns[1].encode("svm"), 3: SPACE.columns[3].encode("poly")})
    X = part.sample(20, np.random.default_rng(0))
    assert {p["kernel"] for p in part.decode(X)} == {"poly"}
    assert all("degree" in p for p in part.decode(part.repair(np.random.default_rng(1).random((20, SPACE.dimension)))))


def test_subspaces_need_the_parents() -> None:
    assert SPACE.subspace(["model", "k"]).decode([[0.5, 0.5]])[0]["model"] == "knn"
    with pytest.raises(SpaceError, match=r"\['model'\] decide which of \['C', 'seed'\] are active"):
        SPACE.subspace(["C", "seed"])


@st.composite
def trees(draw: st.DrawFn) -> ProductSpace:
    """Return a random space whose parameters depend on ones before them."""
    parameters = dict[str, Parameter]()
    for i in range(draw(st.integers(2, 8))):
        kind = draw(st.sampled_from(["float", "int", "choice"]))
        parents = [(n, p) for n, p in parameters.items() if p.cells is not None]
        when = None
        if parents and draw(st.booleans()):
            parent, column = draw(st.sampled_from(parents))
            cells = draw(st.sets(st.integers(0, (column.cells or 1) - 1), min_size=1))
            when = {parent: [column.decode(float(column.position(c))) for c in sorted(cells)]}
        made: dict[str, Parameter] = {
            "float": Float(-1.0, 1.0, when=when),
            "int": Int(1, draw(st.integers(2, 5)), log=draw(st.booleans()), when=when),
            "choice": Categorical(["a", "b", "c"][: draw(st.integers(2, 3))], when=when),
        }
        parameters[f"p{i}"] = made[kind]
    return ProductSpace(parameters)


@settings(max_examples=60, deadline=None)
@given(space=trees(), seed=st.integers(0, 100))
def test_points_of_random_trees_decode_to_their_active_parameters(space: ProductSpace, seed: int) -> None:
    X = space.sample(16, np.random.default_rng(seed))
    np.testing.assert_array_equal(X, space.sample(16, np.random.default_rng(seed)))
    active = space.active(X)
    for params, flags in zip(space.decode(X), active, strict=True):
        assert set(params) == {name for name, flag in zip(space.names, flags, strict=True) if flag}
        # A parameter is active just where one of its conditions holds.
        for name, parameter in space.parameters.items():
            when = parameter.when
            holds = when is None or all(params.get(parent, None) in values for parent, values in dict(when).items())
            assert holds is (name in params)
    np.testing.assert_allclose(space.encode(space.decode(X)), X, atol=1e-12)
    for x in X[:4]:
        near = space.neighbours(x)
        np.testing.assert_array_equal(space.repair(near), near)
