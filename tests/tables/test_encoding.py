"""Rows as points: numbers, words, molecules, and what is missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibo.errors import DataError, FallbackWarning
from calibo.tables.columns import MOST_CHOICES, Profile
from calibo.tables.encoding import Encoding, encoding


def made(frame: pd.DataFrame, *, named: bool = True, smiles: list[str] | None = None) -> Encoding:
    profiles = {name: Profile.of(frame[name], text=False) for name in frame}
    return encoding(profiles, frame, named=named, smiles=smiles)


def test_numbers_are_scaled_and_words_are_categories() -> None:
    frame = pd.DataFrame({"x": [2.0, 4.0, 3.0], "w": ["b", "a", "b"], "f": [True, False, True]})
    code = made(frame)
    assert code.categories == (0, 2, 2) and code.names == ("x", "w", "f")
    np.testing.assert_allclose(code(frame), [[0, 0.75, 0.75], [1, 0.25, 0.25], [0.5, 0.75, 0.75]])


def test_missing_numbers_are_the_median_and_say_so() -> None:
    frame = pd.DataFrame({"x": [0.0, None, 1.0, 10.0], "w": ["a", "b", None, "a"]})
    code = made(frame)
    assert code.categories == (0, 0, 3)
    np.testing.assert_allclose(code(frame)[:, :2], [[0, 0], [0.1, 1], [0.1, 0], [1, 0]])
    np.testing.assert_allclose(code(frame)[:, 2] * 3 - 0.5, [0, 1, 2, 0])


def test_numbers_over_orders_of_magnitude_are_compared_by_ratios() -> None:
    frame = pd.DataFrame({"rate": [1e-4, 1e-2, None, 1.0], "x": [0.0, 1.0, 10.0, 100.0]})
    np.testing.assert_allclose(made(frame)(frame), [[0, 0, 0], [0.5, 0, 0.01], [0.5, 1, 0.1], [1, 0, 1]])


def test_only_that_a_number_is_missing_may_matter() -> None:
    frame = pd.DataFrame({"x": [3.0, None, 3.0], "z": [1.0, 2.0, 3.0]})
    assert made(frame).categories == (0, 0)
    np.testing.assert_allclose(made(frame)(frame)[:, 0], [0, 1, 0])


def test_infinite_is_missing_and_announced() -> None:
    frame = pd.DataFrame({"x": [0.0, np.inf, 1.0, -np.inf]})
    with pytest.warns(FallbackWarning, match="2 in 'x'"):
        code = made(frame)
    np.testing.assert_allclose(code(frame), [[0, 0], [0.5, 1], [1, 0], [0.5, 1]])


def test_constant_columns_are_left_out_with_a_note() -> None:
    frame = pd.DataFrame({"c": [1, 1], "x": [1.0, 2.0], "w": ["a", "a"], "e": [None, None]})
    code = made(frame)
    assert code.names == ("x",) and code.notes == ("columns c, w, e are the same in every row and left out",)


def test_identifiers_are_left_out_unless_named() -> None:
    frame = pd.DataFrame({"id": ["s1", "s2", "s3"], "x": [1.0, 2.0, 3.0]})
    with pytest.warns(FallbackWarning, match="column 'id' has a different value in every row"):
        assert made(frame, named=False).names == ("x",)
    assert made(frame).categories == (3, 0)


def test_an_identifier_stays_one_if_a_sample_is_measured_twice() -> None:
    frame = pd.DataFrame(
        {"sample": [f"s{i // 3}" for i in range(9)], "x": [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0]}
    )
    profiles = {name: Profile.of(frame[name], text=False) for name in frame}
    with pytest.warns(FallbackWarning, match="'sample' has the same value only in rows that are equal in all else"):
        code = encoding(profiles, frame, named=False, smiles=None, points=3)
    assert code.names == ("x",) and code.identifiers == ("sample",)
    again = pd.DataFrame({"sample": [f"s{min(i, 28)}" for i in range(30)], "x": range(30), "run_id": range(30)})
    with pytest.warns(FallbackWarning, match="almost every row|named like an identifier"):
        assert made(again, named=False).names == ("x",)
    assert made(again).names == ("sample", "x", "run_id"), "what is named is used"


@pytest.mark.parametrize(
    "dates", [["2024-03-01", "2024-03-02"], ["1.3.2024 14:05", "2.3.2024 9:00"], ["3/1/24", "3/2/24"]]
)
@pytest.mark.parametrize("parsed", [False, True])
def test_dates_are_no_features_unless_named(dates: list[str], parsed: bool) -> None:
    frame = pd.DataFrame({"day": dates * 2, "x": [1.0, 2.0, 3.0, 4.0]})
    frame["day"] = pd.to_datetime(frame["day"], format="mixed") if parsed else frame["day"]
    with pytest.warns(FallbackWarning, match="column 'day' contains dates"):
        assert made(frame, named=False).names == ("x",)
    assert made(frame).names == ("day", "x")


def test_too_many_words_are_no_category() -> None:
    rows = 2 * (MOST_CHOICES + 1)
    frame = pd.DataFrame({"w": [f"w{i // 2}" for i in range(rows)], "x": np.arange(rows)})
    with pytest.warns(FallbackWarning, match="more than 500 distinct values"):
        assert made(frame, named=False).names == ("x",)
    with pytest.raises(DataError, match="more than 500 distinct values"):
        made(frame)


def test_what_is_neither_number_nor_word() -> None:
    frame = pd.DataFrame({"l": [[1], [2]], "x": [1.0, 2.0]})
    with pytest.warns(FallbackWarning, match="neither numbers nor text"):
        assert made(frame, named=False).names == ("x",)
    with pytest.raises(DataError, match="leave it out"):
        made(frame)


def test_nothing_describes_the_rows() -> None:
    with pytest.raises(DataError, match="no column can be a feature"):
        made(pd.DataFrame({"c": [1, 1]}))


@pytest.mark.extras
def test_molecules_become_descriptors() -> None:
    frame = pd.DataFrame({"Base_SMILES": ["CCO", "c1ccccc1", "CCO", "CC(=O)[O-].[K+]"], "x": [1.0, 2.0, 3.0, 4.0]})
    code = made(frame, named=False)
    X = code(frame)
    assert code.names == ("Base_SMILES", "x") and not any(code.categories)
    assert X.min() >= 0 and X.max() <= 1 and X.shape[1] > 10
    np.testing.assert_array_equal(X[0, :-1], X[2, :-1])
    assert np.abs(X[0, :-1] - X[1, :-1]).max() > 0.5


@pytest.mark.extras
def test_molecules_that_cannot_be_read_are_missing() -> None:
    frame = pd.DataFrame({"smiles": ["CCO", "c1ccccc1", "not a molecule", None], "x": [1.0, 2.0, 3.0, 4.0]})
    with pytest.warns(FallbackWarning, match="1 of 4 sampled SMILES"):
        code = made(frame)
    X = code(frame)
    np.testing.assert_array_equal(X[:, -2], [0, 0, 1, 1])
    np.testing.assert_array_equal(X[2, :-2], X[3, :-2])


def test_molecules_may_be_plain_words() -> None:
    frame = pd.DataFrame({"smiles": ["CCO", "C", "C"], "other": ["C", "CC", "C"]})
    assert made(frame, smiles=[]).categories == (2, 2)


@pytest.mark.extras
def test_molecules_may_be_named() -> None:
    frame = pd.DataFrame({"smiles": ["CCO", "C", "C"], "other": ["C", "CC", "C"]})
    assert made(frame, smiles=["other"]).categories[0] == 2
    with pytest.raises(DataError, match="among the features"):
        made(frame, smiles=["third"])
    with pytest.raises(DataError, match="contains numbers"):
        made(pd.DataFrame({"x": [1.0, 2.0]}), smiles=["x"])
