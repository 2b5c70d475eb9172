"""Reproductions are folders of scripts: their modules, and what a short run of one writes."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
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
def smoke(
    request: pytest.FixtureRequest, modules: dict[str, ModuleType], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The results of ``run.py --smoke``; its table has the row ``CLAIM``, and a job of ``PART`` run again gives the same."""
    results = tmp_path_factory.mktemp("smoke")
    arguments = ["--smoke", "--processes", "1", "--results", str(results)]
    main, harness = modules["run"].REPRODUCTION.main, modules["harness"]
    assert main(arguments) > 0
    assert main(arguments) == 0, "what is stored is not run again"
    with redirect_stdout(StringIO()) as printed:
        main([*arguments, "--table"])
    assert request.module.CLAIM in printed.getvalue() and "missing" not in printed.getvalue()
    job = modules["figures"].figure(request.module.PART, modules["settings"].SMOKE).jobs[-1]
    stored = harness.Store(results / "runs", modules["settings"].Job).load()[harness.key_of(job)]
    assert {**modules["runs"].perform(job), "seconds": 0} == {**stored, "seconds": 0}
    return results
