"""Reproductions are folders of scripts: their modules, and what a short run of one writes."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

REPRODUCTIONS = Path(__file__).parents[2] / "reproductions"
SHARED = ("harness", "judging", "command")


@pytest.fixture(scope="module")
def modules(request: pytest.FixtureRequest) -> Iterator[dict[str, ModuleType]]:
    """The modules ``NAMES`` of the ``FOLDER`` that a test module names, and the shared ones.

    Several reproductions have modules of the same names, so that those that were there before come back afterwards.
    """
    folder, names = getattr(request.module, "FOLDER", ""), (*SHARED, *getattr(request.module, "NAMES", ()))
    before = {name: sys.modules.pop(name, None) for name in names}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(REPRODUCTIONS))
        patch.syspath_prepend(str(REPRODUCTIONS / folder))
        patch.setenv("OMP_NUM_THREADS", "1")
        yield {name: importlib.import_module(name) for name in names}
    for name, module in before.items():
        sys.modules.pop(name, None)
        if module is not None:
            sys.modules[name] = module


@pytest.fixture(scope="module")
def smoke(modules: dict[str, ModuleType], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of ``run.py --smoke``."""
    results = tmp_path_factory.mktemp("smoke")
    arguments = ["--smoke", "--processes", "1", "--results", str(results)]
    assert modules["run"].REPRODUCTION.main(arguments) > 0
    assert modules["run"].REPRODUCTION.main(arguments) == 0, "what is stored is not run again"
    return results
