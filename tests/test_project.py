"""What a public project has: one version, a citation, workflows for what is supported, templates."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import calibo

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FILES = sorted(path for path in (ROOT / ".github").rglob("*.yml"))


def loaded(path: Path) -> Any:
    """Return the content of a YAML file."""

    import yaml  # a requirement of Optuna

    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_version_is_the_same_everywhere() -> None:
    citation = loaded(ROOT / "CITATION.cff")
    assert PROJECT["version"] == calibo.__version__ == str(citation["version"])
    assert citation["license"] == PROJECT["license"]
    assert {"cff-version", "title", "message", "authors"} <= citation.keys()


def test_the_changelog_has_the_version_or_unreleased_changes() -> None:
    heads = re.findall(r"^## \[(.*?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert heads and (heads[0] == "Unreleased" or heads[0] == calibo.__version__)


def test_every_python_that_is_named_is_tested() -> None:
    named = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    jobs = loaded(ROOT / ".github/workflows/test.yml")["jobs"]
    assert jobs["quick"]["strategy"]["matrix"]["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"


def test_workflows_call_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    called: set[str] = set()
    for path in sorted((ROOT / ".github/workflows").glob("*.yml")):
        for job in loaded(path)["jobs"].values():
            assert job["timeout-minutes"] and job["steps"][0]["uses"].startswith("actions/checkout@")
            for step in job["steps"]:
                called |= set(re.findall(r"^make PYTHON=python ([a-z-]+)$", step.get("run", ""), flags=re.MULTILINE))
    assert called == {"test", "test-lowest", "test-extras", "slow", "docs"} <= targets


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_files_for_github_can_be_read(path: Path) -> None:
    content = loaded(path)
    if path.parent.name == "ISSUE_TEMPLATE" and path.name != "config.yml":
        assert {"name", "description", "body"} <= content.keys()
        assert all({"type", "attributes"} <= part.keys() for part in content["body"])
