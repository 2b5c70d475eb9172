"""The examples in docstrings run and print what they say."""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

import calibo

PACKAGE = Path(calibo.__file__).parent
WITH_EXAMPLES = [p for p in sorted(PACKAGE.rglob("*.py")) if ">>> " in p.read_text(encoding="utf-8")]
#: Examples of optional packages run only where these are installed.
EXTRAS = {"botorch"}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def cases() -> list[object]:
    marked = {path for path in WITH_EXAMPLES if path.relative_to(PACKAGE).parts[0] in EXTRAS}
    return [
        pytest.param(module_name(path), marks=[pytest.mark.extras] if path in marked else []) for path in WITH_EXAMPLES
    ]


class Finder(doctest.DocTestFinder):
    """Finds examples of decorated functions, too, which otherwise count as those of the decorator's module."""

    def _from_module(self, module: object, object: object) -> bool:
        return super()._from_module(module, inspect.unwrap(object) if inspect.isfunction(object) else object)


@pytest.mark.parametrize("name", cases())
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # examples may write files
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for test in Finder().find(module, module.__name__):
        runner.run(test)
    assert runner.tries and not runner.failures
