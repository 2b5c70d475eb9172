"""Figures as short, safe JSON."""

from __future__ import annotations

import json

import numpy as np
import plotly.graph_objects as go
import pytest

from calibo.report.compact import compact_json


def test_numbers_keep_what_a_screen_shows() -> None:
    assert compact_json([1 / 3, 2.0, None, 1e300]) == "[0.33333,2,null,1e+300]"
    assert json.loads(compact_json([1000000.001, 1000000.002])) == pytest.approx([1000000.001, 1000000.002], abs=1e-7)
    assert json.loads(compact_json({"x": 1 / 3})) == {"x": 1 / 3}
    assert compact_json([0.1 + 0.2] * 3) == f"[{0.1 + 0.2},{0.1 + 0.2},{0.1 + 0.2}]"


def test_what_json_lacks_becomes_null() -> None:
    assert compact_json([np.nan, np.inf, np.float64(1.5)]) == "[null,null,1.5]"
    assert compact_json({"a": float("inf")}) == '{"a":null}'
    assert compact_json(np.array([1, 2])) == "[1,2]"
    assert compact_json([1.7e308, -1.7e308, np.int64(3)]) == "[1.7e+308,-1.7e+308,3]"


def test_no_script_can_be_ended() -> None:
    text = compact_json({"</script><script>alert(1)": ["<!--"]})
    assert "<" not in text
    assert json.loads(text) == {"</script><script>alert(1)": ["<!--"]}


def test_figures_keep_their_parts() -> None:
    figure = go.Figure(go.Scatter(x=[0, 1, 2], y=[1.0, 2.0, 3.0]), layout=dict(height=300))
    found = json.loads(compact_json(figure))
    assert found["data"][0]["x"] == [0, 1, 2] and found["layout"]["height"] == 300
