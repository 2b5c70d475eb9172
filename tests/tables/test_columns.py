"""Columns: numbers, words, keys and profiles."""

from __future__ import annotations

import decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibo.tables.columns import (
    MOST_CHOICES,
    Kind,
    Profile,
    coded,
    column_keys,
    finite,
    kind_of,
    numbers,
    row_keys,
)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], Kind.NUMBER),
        ([1.5, None], Kind.NUMBER),
        (pd.array([1, None], dtype="Int64"), Kind.NUMBER),
        (pd.to_datetime(["2024-01-01", None]), Kind.NUMBER),
        ([decimal.Decimal("1.5")], Kind.NUMBER),
        (["a", None], Kind.CHOICE),
        ([True, False], Kind.CHOICE),
        (np.array([True, None, "a", 3], dtype=object), Kind.CHOICE),
        (pd.Categorical([1, 2]), Kind.CHOICE),
        ([[1], [2]], Kind.OTHER),
        ([1j], Kind.OTHER),
        ([None, None], None),
        (np.array([], dtype=float), None),
    ],
)
def test_kinds(values: object, kind: Kind | None) -> None:
    assert kind_of(pd.Series(values)) is kind


def test_numbers_of_all_sorts() -> None:
    np.testing.assert_array_equal(
        numbers(pd.Series([1.0, np.inf, -np.inf, np.nan, 1e200])), [1, np.inf, -np.inf, np.nan, np.inf]
    )
    np.testing.assert_array_equal(finite(pd.Series([1.0, np.inf, np.nan])), [1, np.nan, np.nan])
    np.testing.assert_array_equal(numbers(pd.Series([3, None], dtype="Int64")), [3, np.nan])
    np.testing.assert_array_equal(numbers(pd.Series([decimal.Decimal("1.5"), None], dtype=object)), [1.5, np.nan])
    for zone in (None, "Europe/Berlin"):
        dates = pd.Series(pd.to_datetime(["1970-01-02", None])).dt.tz_localize(zone)
        offset = 0 if zone is None else -3600
        np.testing.assert_array_equal(numbers(dates), [86400 + offset, np.nan])


def test_words() -> None:
    codes, words = coded(pd.Series(["b", None, "a", "b"]))
    assert [words[c] if c >= 0 else None for c in codes] == ["b", None, "a", "b"]
    codes, words = coded(pd.Series([True, 1, "1", None], dtype=object))
    assert [words[c] if c >= 0 else None for c in codes] == ["True", "1", "1", None]


values = st.lists(
    st.tuples(st.floats(allow_nan=True, allow_infinity=True), st.sampled_from(["a", "b", None])), min_size=1, max_size=8
)


@given(values, st.randoms())
def test_keys_depend_on_values_alone(rows: list[tuple[float, str | None]], random: object) -> None:
    frame = pd.DataFrame(rows, columns=["x", "w"])
    keys = row_keys(column_keys(frame, ["x", "w"]))
    order = list(range(len(rows)))
    random.shuffle(order)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(row_keys(column_keys(frame.iloc[order], ["w", "x"])), keys[order])
    for i in range(len(rows)):
        np.testing.assert_array_equal(row_keys(column_keys(frame.iloc[[i]], ["x", "w"])), keys[[i]])
    # Different where anything a model could see is different, and only there.
    seen = [
        (None if not np.isfinite(x) or abs(x) > 1e150 else x + 0.0, w if isinstance(w, str) else None) for x, w in rows
    ]
    assert len(set(seen)) == len(set(keys.tolist()))


def test_keys_do_not_depend_on_how_numbers_are_stored() -> None:
    whole = column_keys(pd.DataFrame({"x": [1, 2, 0]}), ["x"])
    for other in (pd.Series([1.0, 2.0, -0.0]), pd.Series([1, 2, 0], dtype="Int64"), pd.Series([1, 2, 0], dtype=object)):
        np.testing.assert_array_equal(column_keys(pd.DataFrame({"x": other}), ["x"]), whole)
    assert (column_keys(pd.DataFrame({"z": [1, 2, 0]}), ["z"]) != whole).all()


def test_keys_are_stable_between_versions() -> None:
    """A study file written today must know its rows tomorrow."""
    keys = row_keys(column_keys(pd.DataFrame({"x": [0.5], "w": ["water"]}), ["x", "w"]))
    assert f"{keys[0]:016x}" == "c641ed0efb2f29d7"


def test_keys_look_random() -> None:
    """The share of small keys among equally spaced numbers; four standard errors, wrong once in 16,000 choices of data."""
    keys = row_keys(column_keys(pd.DataFrame({"x": np.arange(20_000.0)}), ["x"]))
    assert abs((keys < 2**63).mean() - 0.5) < 4 * 0.5 / np.sqrt(20_000)


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False)), min_size=2, max_size=10), st.integers(1, 9))
def test_profiles_add_up(items: list[float | None], cut: int) -> None:
    series = pd.Series(items, dtype=float)
    cut = min(cut, len(items) - 1)
    parts = Profile.of(series[:cut], text=False) + Profile.of(series[cut:], text=False)
    assert parts == Profile.of(series, text=False)


def test_profiles_of_words_and_constants() -> None:
    profile = Profile.of(pd.Series(["a", None, "b"]), text=False)
    assert profile.choices == {"a", "b"} and profile.gaps and not profile.constant
    assert Profile.of(pd.Series(["a", "a"]), text=False).constant
    assert not Profile.of(pd.Series(["a", None]), text=False).constant
    assert Profile.of(pd.Series([2.0, 2.0]), text=False).constant
    assert not Profile.of(pd.Series([2.0, None]), text=False).constant
    assert Profile.of(pd.Series([None, None]), text=False).constant
    assert Profile.of(pd.Series([np.inf, np.inf]), text=False).constant
    assert Profile.of(pd.Series([f"w{i}" for i in range(MOST_CHOICES + 1)]), text=False).choices is None
    mixed = Profile.of(pd.Series([1.0]), text=False) + Profile.of(pd.Series(["a"]), text=False)
    assert mixed.kind is Kind.OTHER and len(mixed.kinds) == 2
