"""Spaces are read from tables, or refused with the file, the parameter and what is allowed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from calibo.errors import SpaceError
from calibo.spaces import (
    Categorical,
    CellSpace,
    Float,
    GraphCellSpace,
    Int,
    Mixture,
    Ordinal,
    ProductSpace,
    space_from_dict,
    space_from_toml,
)

TOML = """
[lr]
type = "float"
low = 1e-4
high = 1.0
log = true

[layers]
type = "int"
low = 1
high = 9
step = 2

[act]
type = "categorical"
choices = ["relu", "gelu"]

["model.size"]
type = "ordinal"
choices = ["s", "m", "l"]
"""


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text(TOML)
    expected = ProductSpace(
        {
            "lr": Float(1e-4, 1.0, log=True),
            "layers": Int(1, 9, step=2),
            "act": Categorical(["relu", "gelu"]),
            "model.size": Ordinal(["s", "m", "l"]),
        }
    )
    assert space_from_toml(path) == space_from_toml(str(path)) == expected


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (
            {"x": {"type": "real"}},
            "parameter 'x': type must be one of float, int, categorical, ordinal, mixture, got 'real'",
        ),
        ({"x": {"type": ["int"]}}, "type must be one of"),
        ({"x": {"low": 0, "high": 1}}, r"there is none among \['high', 'low'\]"),
        ({"model": {"lr": {"type": "float"}}}, r"quote a name that has a dot in it: \[\"model.lr\"\]"),
        (
            {"x": {"type": "float", "low": 0, "hi": 1}},
            r"unknown \['hi'\] and missing \['high'\]; float takes low, high,",
        ),
        (
            {"x": {"type": "categorical"}},
            r"missing \['choices'\]; categorical takes choices, default, when, descriptors and needs choices",
        ),
        ({"x": {"type": "float", "low": 2, "high": 1}}, "parameter 'x': Float: low must lie below high"),
        ({"x": 3}, "expected a table such as"),
        ([], "one entry for every parameter"),
    ],
)
def test_wrong_tables_are_refused(table: Any, says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        space_from_dict(table)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"[lr\n", "is not valid TOML"),
        ('["Lösung"]\n'.encode("cp1252"), "is not saved as UTF-8"),
        ("[Lösung]\n".encode(), "stands in quotation marks"),
        (b"[lr]\nlow = 0,5\n", "numbers have a decimal point"),
        (b"", "one entry for every parameter"),
        (b"[" + b".".join([b"a"] * 200) + b"]\n", r"^[^(]*bad.toml: line 1 has a name of more than 100 parts"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    with pytest.raises(SpaceError, match=says) as caught:
        space_from_toml(path)
    assert str(path) in str(caught.value)


def test_a_mark_before_the_text_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_bytes(b'\xef\xbb\xbf[x]\r\ntype = "float"\r\nlow = 0\r\nhigh = 1\r\n')
    assert space_from_toml(path) == ProductSpace({"x": Float(0, 1)})


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(SpaceError, match="cannot be read"):
            space_from_toml(path)


def test_a_cell_is_one_table(tmp_path: Path) -> None:
    path = tmp_path / "cell.toml"
    path.write_text('[cell]\ntype = "cell"\nnodes = 3\noperations = ["none", "conv"]\n')
    assert space_from_toml(path) == CellSpace(3, ["none", "conv"])
    assert space_from_dict({"cell": {"type": "graph_cell", "max_edges": 7}}) == GraphCellSpace(max_edges=7)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"cell": {"type": "cell"}, "lr": {"type": "float", "low": 0, "high": 1}}, "must be the only table"),
        ({"cell": {"type": "cell", "edges": 3}}, r"unknown \['edges'\]"),
        ({"cell": {"type": "graph_cell", "operations": [1, 2]}}, "space, 'cell': operations must be a list of names"),
    ],
)
def test_wrong_cells_are_refused(table: dict[str, Any], says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        space_from_dict(table)


RECIPE = """
constraints = ["ethanol <= 0.5*water", "salt + ethanol >= 10"]

[recipe]
type = "mixture"
total = 100
at_most = 3
components = { water = [30, 90], ethanol = [5, 40], salt = { type = "float", low = 0, high = 10, step = 0.5 }, oil = [5, 50] }

[temperature]
type = "float"
low = 20
high = 90
"""


def test_mixtures_and_constraints_are_read(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text(RECIPE)
    components = {"water": (30, 90), "ethanol": (5, 40), "salt": Float(0, 10, step=0.5), "oil": (5, 50)}
    assert space_from_toml(path) == ProductSpace(
        {"recipe": Mixture(components, total=100, at_most=3), "temperature": Float(20, 90)},
        constraints=["ethanol <= 0.5*water", "salt + ethanol >= 10"],
    )


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (("ethanol <= 0.5*water", "ethanol <= 0.5*wine"), r"space.toml: constraint .* names \['wine'\]"),
        (('"ethanol <= 0.5*water", ', "3, "), r"space.toml: constraints are a list of text"),
        (("at_most = 3", "at_least = 3"), r"mixture 'recipe': unknown \['at_least'\]"),
        (("water = [30, 90]", "water = 30"), "mixture 'recipe': component 'water' of a mixture takes"),
        (("step = 0.5", "steps = 0.5"), r"component 'salt': unknown \['steps'\]"),
        (("total = 100", "total = 1000"), "space.toml: no values meet .* == 1000"),
        (("high = 90\n", 'high = 90\nconstraints = ["salt <= 5"]\n'), "constraints stand before the first table"),
    ],
)
def test_bad_mixtures_and_constraints_are_refused(changed: tuple[str, str], says: str, tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text(RECIPE.replace(*changed))
    with pytest.raises(SpaceError, match=says):
        space_from_toml(path)
