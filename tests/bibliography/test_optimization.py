"""Every entry can be found again by a reader."""

from __future__ import annotations

import re

import pytest

from calibo.bibliography import BIBLIOGRAPHY


@pytest.mark.parametrize("key", sorted(BIBLIOGRAPHY))
def test_entries_are_complete(key: str) -> None:
    kind, entry = BIBLIOGRAPHY[key]
    holder = {"article": "journal", "inproceedings": "booktitle", "book": "publisher", "mastersthesis": "school"}
    assert kind in holder
    assert entry["author"] and entry["title"] and entry["year"] == re.sub(r"\D", "", key)
    assert holder[kind] in entry
    assert all(value.count("{") == value.count("}") for value in entry.values())
