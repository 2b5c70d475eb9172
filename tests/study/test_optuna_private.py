"""Every private part of Optuna that calibo uses is there, and one that has moved is named when it is used."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.storages import JournalStorage, RDBStorage
from optuna.storages import get_storage as cached
from optuna.storages.journal import JournalFileBackend

import calibo.study
from calibo.errors import StudyError
from calibo.study import open_storage
from calibo.study.leased import LeasedStorage
from calibo.study.optuna_private import PRIVATE, part, tables


@pytest.fixture(scope="module")
def owners(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The objects of Optuna's whose private parts are used."""
    study = optuna.create_study()
    journal = JournalFileBackend(str(tmp_path_factory.mktemp("journal") / "journal.log"))
    return {
        "optuna.Study": study,
        "optuna.Trial": study.ask(),
        "optuna.trial.FrozenTrial": study.trials[0],
        "optuna.storages.RDBStorage": RDBStorage,
        "optuna.storages._CachedStorage": cached("sqlite://"),
        "optuna.storages.JournalStorage": JournalStorage(journal),
        "optuna.storages.journal.JournalFileBackend": journal,
    }


@pytest.mark.parametrize(("owner", "name"), [(owner, name) for owner, names in PRIVATE.items() for name in names])
def test_optuna_has_it(owners: dict[str, Any], owner: str, name: str) -> None:
    assert part(owners[owner], name) is not None, f"{owner}.{name} has moved in Optuna {optuna.__version__}"


def test_the_tables_have_the_columns() -> None:
    assert set(tables()) >= {"trials", "trial_params"}


def test_no_other_file_uses_them() -> None:
    names = {name for owned in PRIVATE.values() for name in owned}
    used = re.compile(rf"(?<!self)\.({'|'.join(map(re.escape, names))})\b")
    folder = Path(calibo.study.__file__).parent.parent
    files = [*folder.rglob("study/*.py"), *folder.rglob("cli/*.py"), *folder.rglob("report/*.py")]
    assert [str(f) for f in files if used.search(f.read_text(encoding="utf-8"))] == []


def test_one_that_moved_is_named_when_it_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr(RDBStorage, "_get_best_trial_id")
    opened = open_storage(tmp_path / "a.db")
    assert isinstance(opened, LeasedStorage)
    storage: Any = opened.backend.storage
    with pytest.raises(
        StudyError, match=r"has no RDBStorage._get_best_trial_id, which calibo uses: install optuna>=5,<6"
    ):
        storage._get_best_trial_id(0)
    assert storage.get_all_studies() == []  # what does not need it works
