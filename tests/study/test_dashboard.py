"""Forecasts in optuna-dashboard, by its own HTTP interface."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import optuna
import pytest

from calibo import Float, minimize
from calibo.errors import MissingExtra


def test_it_needs_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    result = minimize(lambda p: p["x"], {"x": Float(0, 1)}, 2, "gp_ei", seed=0, progress=False)
    monkeypatch.setitem(sys.modules, "optuna_dashboard", None)
    with pytest.raises(MissingExtra, match=r"calibo\[dashboard\]"):
        result.to_dashboard()


def asked(app: Any, path: str) -> dict[str, Any]:
    """Answer of the dashboard's server."""
    status: list[str] = []
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": path,
        "wsgi.input": io.BytesIO(),
        "SERVER_NAME": "x",
        "SERVER_PORT": "1",
    }
    body = b"".join(app(environ, lambda line, headers, info=None: status.append(line)))
    assert status == ["200 OK"]
    return json.loads(body)


@pytest.mark.extras
def test_figures_and_a_note_are_shown(tmp_path: Path) -> None:
    dashboard = pytest.importorskip("optuna_dashboard")
    storage = f"sqlite:///{tmp_path / 's.db'}"
    result = minimize(lambda p: p["x"] ** 2, {"x": Float(-1, 1)}, 8, storage=storage, seed=0, progress=False)
    dashboard.save_note(result.study, "My own words.")
    assert (
        result.to_dashboard()
        == result.to_dashboard()
        == ("calibo-0-forecasts", "calibo-0-surprise", "calibo-0-coverage")
    )
    note = dashboard.get_note(result.study)
    assert note.startswith("My own words.\n\n## Forecasts (calibo)") and note.count("## Forecasts") == 1
    kept = optuna.storages.RDBStorage(storage)
    app = dashboard.wsgi(kept)
    (study,) = asked(app, "/api/studies")["study_summaries"]
    shown = asked(app, f"/api/studies/{study['study_id']}")
    graphs = {one["id"]: json.loads(one["graph_object"]) for one in shown["plotly_graph_objects"]}
    assert set(graphs) == set(result.to_dashboard())
    assert graphs["calibo-0-forecasts"]["layout"]["title"]["text"] == "Forecasts and results"
    assert max(len(one["graph_object"]) for one in shown["plotly_graph_objects"]) < 60_000
    assert not [name for name in result.study.trials_dataframe().columns if name.startswith("user_attrs_")]
