"""Descriptors of choices: the forms they come in, what is refused, and what models see of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.errors import SpaceError
from calibo.spaces import Categorical, Float, ProductSpace, space_from_toml
from calibo.spaces.descriptors import as_descriptors, spread_out

CHOICES = ["water", "ethanol", "toluene"]
ROWS = ((80.1, 100.0), (24.5, 78.4), (2.4, 110.6))


def test_all_forms_say_the_same(tmp_path: Path) -> None:
    frame = pd.DataFrame(ROWS, index=CHOICES, columns=["a", "b"])
    file = tmp_path / "solvents.csv"
    frame.iloc[::-1].to_csv(file)
    by_name = {choice: {"b": row[1], "a": row[0]} for choice, row in zip(CHOICES, ROWS, strict=True)}
    forms = [
        frame,
        frame.iloc[::-1],
        file,
        str(file),
        by_name,
        dict(zip(CHOICES, ROWS, strict=True)),
        ROWS,
        np.array(ROWS),
    ]
    assert all(as_descriptors(CHOICES, form) == ROWS for form in forms)
    assert as_descriptors([1, 2], {"1": 3.5, "2": 4.5}) == ((3.5,), (4.5,))
    space = tmp_path / "space.toml"
    space.write_text(
        '[solvent]\ntype = "categorical"\nchoices = ["water", "ethanol", "toluene"]\ndescriptors = "solvents.csv"\n'
        '[base]\ntype = "categorical"\nchoices = ["x", "y"]\ndescriptors = {x = [1.0], y = [2.0]}\n'
    )
    assert space_from_toml(space).parameters["solvent"] == Categorical(CHOICES, descriptors=ROWS)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"water": [1], "ethanol": [2]}, r"descriptors: the mapping has no row for \['toluene'\]"),
        ({"water": [1], "ethanol": [2], "toluene": [1, 2]}, "as many numbers for every choice"),
        ({"water": [1], "ethanol": [2], "toluene": ["x"]}, "descriptors of 'toluene' must be finite numbers"),
        ({"water": [1], "ethanol": [2], "toluene": [float("nan")]}, "must be finite numbers"),
        ([[1], [1], [1]], "the same for all choices"),
        ([[1], [2]], "descriptors must be a DataFrame indexed by choice"),
        (7, "descriptors must be a DataFrame indexed by choice"),
        ("no_such_file.csv", "cannot be read"),
        (pd.DataFrame({"a": [1, 2, 3, 4]}, index=[*CHOICES, "water"]), "several rows for"),
    ],
)
def test_bad_descriptors_are_refused(table: Any, says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        Categorical(CHOICES, descriptors=table)


def test_coordinates_are_one_apart_on_average() -> None:
    rows = spread_out(((1e9, 3.0, 5.0), (2e9, 3.0, -5.0), (5e9, 3.0, 0.0)))
    assert rows.shape == (3, 2)
    squares = ((rows[:, None] - rows) ** 2).sum(axis=2)
    assert squares.sum() / 6 == pytest.approx(1.0)
    assert spread_out(((1.0,),)).tolist() == [[0.0]]


def test_a_space_has_their_features() -> None:
    space = ProductSpace({"x": Float(0, 1), "s": Categorical(CHOICES, descriptors=ROWS), "k": Categorical(["ab"])})
    assert [rows is None for rows in space.descriptors] == [True, False, True]
    X = space.encode([{"x": 0.25, "s": "ethanol", "k": "ab"}])
    assert space.features is not None
    np.testing.assert_allclose(space.features(X)[0], [0.25, 0, 1, 0, 1, *spread_out(ROWS)[1]])
    assert ProductSpace({"k": Categorical([1, 2])}).features is None
    assert space.holding({"x": 0.5}).descriptors[1] is space.descriptors[1]


@given(
    rows=st.lists(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2), min_size=3, max_size=6),
    seed=st.integers(0, 99),
)
@settings(max_examples=50, deadline=None)
def test_coordinates_follow_a_permutation_of_the_choices(rows: list[list[float]], seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(rows))
    table = tuple(tuple(row) for row in rows)
    moved = spread_out(tuple(table[i] for i in order))
    np.testing.assert_allclose(moved, spread_out(table)[order], rtol=1e-7, atol=1e-9)


@pytest.mark.extras
def test_smiles_are_described_by_rdkit() -> None:
    pytest.importorskip("rdkit")
    alike = Categorical(["CCO", "CCCO", "c1ccccc1"], descriptors="smiles")
    rows = spread_out(alike.descriptors)
    assert np.linalg.norm(rows[0] - rows[1]) < 0.6 * np.linalg.norm(rows[0] - rows[2])
    with pytest.raises(SpaceError, match=r"cannot be read as SMILES: \['nonsense'\]"):
        Categorical(["CCO", "nonsense"], descriptors="smiles")
    with pytest.raises(SpaceError, match="describes SMILES strings, but there are other choices"):
        Categorical(["CCO", None], descriptors="SMILES")
