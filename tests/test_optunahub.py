"""The folder in the form of OptunaHub's registry."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import optuna
import yaml

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "package" / "samplers" / "calibo"


def test_the_package_has_what_the_registry_asks_for() -> None:
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    head = yaml.safe_load(text.split("---")[1])
    assert {"author", "title", "description", "tags", "optuna_versions", "license"} == set(head)
    assert "sampler" in head["tags"] and optuna.__version__ in map(str, head["optuna_versions"])
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [
        "Abstract",
        "Class or Function Names",
        "Installation",
        "Example",
        "Others",
    ]
    assert (PACKAGE / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_it_is_loaded_from_its_folder() -> None:
    """As the registry does: the folder as a module of its own name."""
    spec = importlib.util.spec_from_file_location("hub_samplers_calibo", PACKAGE / "__init__.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=module.CalibratedSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2, n_trials=3)
    assert len(study.trials) == 3
