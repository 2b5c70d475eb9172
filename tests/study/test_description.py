"""A study's space as plain data: it survives storage, tells spaces apart, and is rebuilt where that is possible."""

from __future__ import annotations

import json
from typing import Any

import pytest

from calibo.spaces import (
    Categorical,
    CellSpace,
    Float,
    GraphCellSpace,
    Int,
    Mixture,
    Ordinal,
    PoolSpace,
    ProductSpace,
)
from calibo.study.description import described, differences, rebuilt

SPACE = ProductSpace(
    {
        "a": Float(-1.0, 2.0),
        "b": Float(1e-5, 1.0, log=True),
        "c": Float(0.0, 1.0, step=0.1),
        "d": Int(1, 1000, log=True),
        "e": Int(2, 8, step=3),
        "f": Categorical(["a", None, 3, 2.5, False]),
        "g": Ordinal(["s", "m", "l"]),
    }
)
ROWS = [{"x": 1.0, "kind": "u", "id": 1}, {"x": 2.0, "kind": "v", "id": 2}]


def _stored(space: ProductSpace | PoolSpace) -> dict[str, Any]:
    """A description as it comes back from a storage."""
    return json.loads(json.dumps(described(space)))


def test_a_product_is_rebuilt_from_what_was_stored() -> None:
    again = rebuilt(_stored(SPACE))
    assert again == SPACE and again is not None
    assert [type(one) for one in again.parameters.values()] == [type(one) for one in SPACE.parameters.values()]
    assert differences(_stored(SPACE), described(again)) == []


def test_differences_are_named() -> None:
    changed = {"a": Float(0, 1), "b": Ordinal([1, 2]), "z": Int(0, 1)}
    kept = {name: one for name, one in SPACE.parameters.items() if name != "g"}
    assert differences(_stored(SPACE), described(ProductSpace(kept | changed))) == [
        "'g' is missing",
        "'z' is new",
        "'a' was float(low=-1.0, high=2.0) and is now float(low=0.0, high=1.0)",
        "'b' was float(low=1e-05, high=1.0, log=true) and is now ordinal(choices=[1, 2])",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Float(0.5, 1.0), Float(0.5, 1.0, log=True)),
        (Categorical(["a", "b"]), Categorical(["b", "a"])),
        (Categorical(["a", "b"]), Ordinal(["a", "b"])),
        (Categorical([(1,), (2,)]), Categorical([(1,), (3,)])),
        (Float(0.0, 1.0), Int(0, 1)),
    ],
    ids=repr,
)
def test_every_change_of_a_parameter_is_one(one: Any, other: Any) -> None:
    before, after = _stored(ProductSpace({"p": one})), described(ProductSpace({"p": other}))
    assert [found.partition(" was ")[0] for found in differences(before, after)] == ["'p'"]


def test_choices_of_odd_types_are_known_by_their_labels_and_cannot_be_rebuilt() -> None:
    odd = ProductSpace({"c": Categorical([(1,), (2,)]), "x": Float(0, 1)})
    assert described(odd)["parameters"]["c"] == {"type": "categorical", "labels": ["(1,)", "(2,)"]}
    assert rebuilt(_stored(odd)) is None
    assert rebuilt({}) is None
    own = type("Own", (ProductSpace,), {})  # a kind of space that is not known
    assert rebuilt(_stored(own({"a": Float(0.0, 1.0)}))) is None
    assert differences(_stored(odd), described(odd)) == []


def test_a_pool_is_known_by_its_features() -> None:
    pool = PoolSpace(ROWS, ["x", "kind"])
    assert rebuilt(_stored(pool)) is None
    named_otherwise = PoolSpace([row | {"id": 7 + row["id"]} for row in ROWS], ["x", "kind"])
    assert differences(_stored(pool), described(named_otherwise)) == []
    moved = PoolSpace([ROWS[0], ROWS[1] | {"x": 2.5}], ["x", "kind"])
    (found,) = differences(_stored(pool), described(moved))
    assert found.count("a pool of 2 rows with x, kind (checksum ") == 2
    (found,) = differences(_stored(pool), described(ProductSpace({"y": Float(0, 1)})))
    assert found.endswith(" and is now a product of y")


@pytest.mark.parametrize(
    "space", [CellSpace(), CellSpace(3, ["none", "conv"], path_bits=4, zero=None), GraphCellSpace(5, max_edges=6)]
)
def test_a_cell_is_rebuilt_with_its_features(space: CellSpace | GraphCellSpace) -> None:
    again = rebuilt(_stored(space))
    assert type(again) is type(space) and again == space
    assert differences(_stored(space), described(space)) == []


def test_a_cell_is_not_the_product_of_its_choices() -> None:
    plain = ProductSpace(CellSpace(3).parameters)
    (said,) = differences(_stored(plain), described(CellSpace(3)))
    assert said.startswith("it was a plain product and is now cell(nodes=3")
    (said,) = differences(_stored(CellSpace(3, path_bits=4)), described(CellSpace(3)))
    assert "path_bits=4" in said


def test_constraints_and_mixtures_are_rebuilt_and_told_apart() -> None:
    recipe = Mixture({"a": (0.1, 1), "b": (0, 1 / 3), "c": Float(0, 1, step=0.1)}, at_most=2)
    space = ProductSpace(
        {"T": Int(0, 9), "recipe": recipe}, constraints=["T + 10*a <= 9.3", "b <= 0.33333333333333331"]
    )
    again = rebuilt(_stored(space))
    assert again == space and differences(_stored(space), described(space)) == []
    other = ProductSpace({"T": Int(0, 9), "recipe": recipe}, constraints=["T + 10*a <= 9"])
    assert "T + 10*a <= 9.3" in differences(_stored(space), described(other))[0]
    condition = ProductSpace({"T": Int(0, 9)}, where=lambda p: p["T"] != 3)
    assert rebuilt(_stored(condition)) is None, "only the user's code has the function"
