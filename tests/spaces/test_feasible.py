"""Products with constraints: every point that is drawn, repaired or moved to is feasible."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calibo import Categorical, Float, Int, LinearConstraint, Mixture, Optimizer, Ordinal, ProductSpace
from calibo.errors import SpaceError
from calibo.testing import SpaceSuite

RNG = np.random.default_rng


def near_the_origin(params: Mapping[str, Any]) -> bool:
    return params["a"] ** 2 + params["b"] ** 2 <= 1 - 0.2 * params["n"]


SPACES: dict[str, ProductSpace] = {
    "mixture": ProductSpace({"m": Mixture({"a": (0, 1), "b": (0, 0.6), "c": (0.1, 0.5)}), "T": Float(20, 90)}),
    "at most": ProductSpace(
        {"m": Mixture(dict.fromkeys("abcdef", (0.05, 0.6)), at_most=3), "k": Categorical(["x", "y"])}
    ),
    "inequalities": ProductSpace(
        {"a": Float(0, 1), "b": Float(-5, 5), "k": Categorical(["x", "y"])},
        constraints=["2*a - b <= .5", "a + b >= .3"],
    ),
    "integers": ProductSpace({k: Int(0, 10) for k in "abcdef"}, constraints=["a + b + c + d + e + f == 20", "a <= b"]),
    "lattice": ProductSpace({k: Int(0, 20) for k in "abc"}, constraints=["3*a + 5*b == 7*c"]),
    "mixed": ProductSpace(
        {"a": Float(0, 1), "n": Int(1, 5), "o": Ordinal([0.5, 0.1, 2.0]), "s": Float(0, 1, step=0.1)},
        constraints=["a + n + o + s == 4"],
    ),
    "log": ProductSpace(
        {"a": Float(1e-4, 1, log=True), "b": Float(0, 1), "n": Int(1, 1000, log=True)},
        constraints=["a + b == 1", "n + 100*a <= 300"],
    ),
    "predicate": ProductSpace({"a": Float(-1, 1), "b": Float(-1, 1), "n": Int(0, 3)}, where=near_the_origin),
    "held": ProductSpace({"m": Mixture(dict.fromkeys("abcd", (0, 1)), at_most=3), "T": Int(0, 9)}).holding(  # pyright: ignore[reportAssignmentType]
        {"b": 0.25, "T": 3}
    ),
}


class TestMixture(SpaceSuite):
    def space(self) -> ProductSpace:
        return SPACES["mixture"]


class TestAtMost(SpaceSuite):
    def space(self) -> ProductSpace:
        return SPACES["at most"]


class TestInequalities(SpaceSuite):
    def space(self) -> ProductSpace:
        return SPACES["inequalities"]


class TestMixed(SpaceSuite):
    def space(self) -> ProductSpace:
        return SPACES["mixed"]


class TestLog(SpaceSuite):
    def space(self) -> ProductSpace:
        return SPACES["log"]


class TestPredicate(SpaceSuite):
    def space(self) -> ProductSpace:
        return SPACES["predicate"]


class TestHeld(SpaceSuite):
    def space(self) -> ProductSpace:
        return SPACES["held"]


def test_sums_of_decoded_values_hold() -> None:
    space = ProductSpace({k: Float(0, 100) for k in "abcde"}, constraints=["a + b + c + d + e == 100", "a >= 2*b"])
    X = np.vstack([space.sample(300, RNG(0)), space.repair(RNG(1).random((300, 5)))])
    for p in space.decode(X):
        assert abs(sum(p.values()) - 100) <= 1e-9 and p["a"] >= 2 * p["b"] - 1e-9


@pytest.mark.parametrize("K", [3, 20, 50])
def test_random_mixtures_are_uniform(K: int) -> None:
    X = ProductSpace({"m": Mixture({f"x{i}": (0, 1) for i in range(K)})}).sample(2000, RNG(0))
    for t in (0.5 / K, 1.0 / K, 2.0 / K):
        assert np.mean(t < X) == pytest.approx((1 - t) ** (K - 1), abs=0.02)


def test_log_scales_stay_log_uniform_as_far_as_they_can() -> None:
    space = ProductSpace(
        {"a": Float(1e-4, 1, log=True), "b": Float(0, 1), "c": Float(0, 1)}, constraints=["a+b+c == 1"]
    )
    assert np.quantile(space.sample(1000, RNG(0))[:, 0], [0.25, 0.5, 0.75]) == pytest.approx(
        [0.25, 0.5, 0.75], abs=0.05
    )


def test_components_are_exchanged_added_and_left_out() -> None:
    space = ProductSpace({"m": Mixture(dict.fromkeys("abcd", (0, 1)), at_most=2)})
    near = space.neighbours(space.encode([{"a": 0.6, "b": 0.4, "c": 0, "d": 0}])[0])
    supports = {"".join(k for k, v in p.items() if v > 0) for p in space.decode(near)}
    assert supports == {"a", "b", "ac", "ad", "bc", "bd"}


def test_held_values_are_kept_and_the_rest_follows() -> None:
    space = ProductSpace({"m": Mixture(dict.fromkeys("abc", (0, 0.5))), "T": Int(0, 9)}, constraints=["a + b <= 0.7"])
    held = space.holding({"a": 0.4, "T": 2})
    assert held.names == space.names and held.columns == space.columns
    for p in held.decode(np.vstack([held.sample(50, RNG(0)), held.repair(RNG(0).random((50, 4)))])):
        assert p["a"] == pytest.approx(0.4) and p["T"] == 2
        assert p["a"] + p["b"] + p["c"] == pytest.approx(1, abs=1e-12) and p["b"] <= 0.3 + 1e-12
    twice = held.holding({"b": 0.2})
    assert twice.decode(twice.sample(1, RNG(0)))[0] == pytest.approx({"a": 0.4, "b": 0.2, "c": 0.4, "T": 2})


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (
            {"a": 0.05, "b": 0.1},
            r"no values meet 'a \+ b \+ c == 1'.*while a = 0.05, b = 0.1 are held: hold other values",
        ),
        ({"z": 1}, r"cannot hold \['z'\]"),
        ({"a": 7}, "cannot hold 'a': 7 lies outside"),
    ],
)
def test_held_values_that_leave_nothing_are_refused(values: dict[str, float], says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        ProductSpace({"m": Mixture(dict.fromkeys("abc", (0, 0.5)))}).holding(values)


def test_a_plain_product_holds_too() -> None:
    held = ProductSpace({"x": Float(0, 1), "k": Categorical(["u", "v"])}).holding({"k": "v"})
    assert {p["k"] for p in held.decode(held.repair(RNG(0).random((20, 2))))} == {"v"}


def test_broken_constraints_are_named() -> None:
    space = ProductSpace({"m": Mixture(dict.fromkeys("abc", (0, 1)), at_most=2)}, where=lambda p: p["a"] < 0.9)
    x = space.encode([{"a": 0.95, "b": 0.3, "c": 0.2}])[0]
    assert space.broken(x) == ("a + b + c == 1", "at most 2 of a, b, c present", "where=<lambda>")
    weighed = space.encode([{"a": 0.3333333, "b": 0.6666666, "c": 0}])[0]
    assert space.broken(weighed) == (), "amounts are rounded when they are weighed"


def test_equal_spaces_are_equal_and_can_be_pickled() -> None:
    one, other = (ProductSpace({"a": Float(0, 1), "b": Float(0, 1)}, constraints=["a + b <= 1"]) for _ in range(2))
    assert one == other == pickle.loads(pickle.dumps(one)) and hash(one) == hash(other)
    assert one != ProductSpace({"a": Float(0, 1), "b": Float(0, 1)})
    assert repr(one) == "ProductSpace({'a': Float(0.0, 1.0), 'b': Float(0.0, 1.0)}, constraints=['a + b <= 1'])"


@pytest.mark.parametrize("name", list(SPACES))
def test_parts_keep_the_constraints(name: str) -> None:
    space = SPACES[name]
    centre = space.sample(1, RNG(3))[0]
    wide = np.where(np.array(space.categories) > 0, np.inf, 0.2)
    part = space.within(np.maximum(centre - wide, 0), np.minimum(centre + wide, 1), centre=centre)
    inside = np.vstack([part.space.sample(20, RNG(0)), part.space.repair(RNG(0).random((20, space.dimension)))])
    assert part.space.valid(inside).all()
    outward = part.outward(inside)
    assert space.valid(space.repair(outward)).all()
    np.testing.assert_allclose(space.repair(outward), outward, atol=1e-7)


@st.composite
def spaces(draw: st.DrawFn) -> ProductSpace:
    """Draw products of 2 to 5 parameters with constraints that a random point of the product meets."""
    kinds = [
        Float(0, 1),
        Float(-3, 7),
        Float(1e-3, 10, log=True),
        Float(0, 2, step=0.25),
        Int(0, 6),
        Int(1, 300, log=True),
        Ordinal([0, 0.5, 4]),
    ]
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=2, max_size=5))
    parameters: dict[str, Any] = {f"p{i}": kind for i, kind in enumerate(chosen)} | {"free": Categorical(["u", "v"])}
    if draw(st.booleans()):
        amounts = st.sampled_from([(0, 0.8), (0.1, 0.7), Float(0, 1, step=0.05)])
        parts = draw(st.lists(amounts, min_size=3, max_size=5))
        parameters["mixture"] = Mixture(dict(zip("abcde", parts, strict=False)), at_most=draw(st.sampled_from([2, 3])))
    plain = ProductSpace(parameters)
    point = plain.decode(plain.sample(1, RNG(draw(st.integers(0, 2**32)))))[0]
    rows: list[LinearConstraint] = []
    for relation in draw(st.lists(st.sampled_from(["<=", ">=", "=="]), min_size=1, max_size=3)):
        factors = draw(
            st.lists(st.sampled_from([-2.0, -1.0, 0.5, 1.0, 3.0]), min_size=len(chosen), max_size=len(chosen))
        )
        terms = {f"p{i}": factor for i, factor in enumerate(factors) if draw(st.booleans())} or {"p0": 1.0, "p1": 1.0}
        total = sum(factor * float(point[name]) for name, factor in terms.items())
        slack = draw(st.sampled_from([0.3, 1.0]))
        rows.append(LinearConstraint(terms, relation, total + {"<=": slack, ">=": -slack, "==": 0.0}[relation]))
    where = (lambda p: p["free"] == "u") if draw(st.booleans()) else None
    return ProductSpace(parameters, constraints=rows, where=where)


@given(st.data())
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
def test_random_spaces_with_random_constraints(data: st.DataObject) -> None:
    try:
        space = data.draw(spaces())
    except SpaceError as error:
        assert "hardly any values" in str(error) or "random points" in str(error), "a point meets them by construction"
        return
    drawn = np.vstack([space.sample(20, RNG(0)), space.repair(RNG(1).random((20, space.dimension)))])
    for params in space.decode(drawn):
        _check(space, params)
    np.testing.assert_array_equal(space.sample(20, RNG(0)), drawn[:20])


def test_amounts_in_steps_do_not_make_absent_components_present() -> None:
    # Rounding to steps leaves a rest of the sum, which the components that are absent must not make up for.
    stepped = Float(0, 1, step=0.05)
    space = ProductSpace({"m": Mixture({"a": (0.02, 0.84), "b": stepped, "c": stepped, "d": (0, 0.3)}, at_most=2)})
    points = [
        space.sample(200, RNG(0)),
        space.repair(RNG(1).random((200, 4))),
        space.spread(np.empty((0, 4)), range(40), seed=0),
    ]
    assert space.valid(np.vstack(points)).all()
    for params in space.decode(np.vstack(points)):
        _check(space, params)


def test_neighbours_have_no_components_that_are_rounding_errors() -> None:
    stepped = Float(0, 100, step=5)
    parts = {"a": stepped, "b": (0, 97.946), "c": (0, 42.518), "d": stepped}
    space = ProductSpace({"m": Mixture(parts, total=100, at_most=2)}, constraints=["a + 3*b + 0.5*c <= 97.5"])
    near = np.vstack([space.neighbours(x) for x in space.sample(60, RNG(0))])
    for params in space.decode(near):
        _check(space, params)


@given(st.integers(0, 2**32), st.integers(2, 5), st.integers(1, 3))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_random_impossible_sets_are_refused_by_a_conflict_of_which_nothing_can_be_left_out(
    seed: int, columns: int, others: int
) -> None:
    rng = RNG(seed)
    parameters = {f"p{i}": Int(0, 5) if rng.random() < 0.5 else Float(0, 5) for i in range(columns)}
    names = list(parameters)
    chain = [LinearConstraint({a: 1.0, b: -1.0}, "<=", -1.0) for a, b in pairwise(names)]
    circle = LinearConstraint({names[-1]: 1.0, names[0]: -1.0}, "<=", 0.5)
    harmless = [LinearConstraint({name: 1.0}, "<=", 4.9) for name in rng.choice(names, others)]
    every = [*chain, circle, *harmless]
    with pytest.raises(SpaceError, match="no values meet") as caught:
        ProductSpace(parameters, constraints=[every[i] for i in rng.permutation(len(every))])
    said = str(caught.value).partition(", with ")[0]
    assert all(repr(str(one)) in said for one in (*chain, circle))
    assert not any(repr(str(one)) in said for one in harmless)


@pytest.mark.whole
@given(st.data())
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
def test_suggestions_in_random_spaces_are_feasible_and_reproducible(data: st.DataObject) -> None:
    try:
        space = data.draw(spaces())
    except SpaceError:
        return
    asked = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a small space may be exhausted
        for _ in range(2):
            optimizer = Optimizer(space, "gp_ei", seed=3, n_initial=4)
            asked.append([])
            for _ in range(6):
                suggestion = optimizer.ask()
                _check(space, suggestion.params)
                asked[-1].append(suggestion.params)
                optimizer.tell(suggestion, float(np.sum(suggestion.x)))
    assert asked[0] == asked[1]


def _check(space: ProductSpace, params: Mapping[str, Any]) -> None:
    for constraint in space.constraints:
        assert isinstance(constraint, LinearConstraint)
        total = sum(factor * params[name] for name, factor in constraint.terms)
        scale = max(1.0, *(abs(factor * params[name]) for name, factor in constraint.terms))
        assert constraint.lower - 1e-9 * scale <= total <= constraint.upper + 1e-9 * scale, (str(constraint), params)
    assert space.where is None or space.where(dict(params))
    for _, mixture in space.mixtures:
        amounts = [params[name] for name in mixture.components]
        assert abs(sum(amounts) - mixture.total) <= 1e-9
        assert mixture.at_most is None or sum(amount > 0 for amount in amounts) <= mixture.at_most
    np.testing.assert_allclose(space.encode(space.decode(space.encode([params]))), space.encode([params]), atol=1e-9)
