"""The Forrester example of Deshpande et al. 2024, Figures 1 and 6, with the reproduction's own code."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "reproductions" / "deshpande2024"


@pytest.fixture
def forrester(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "settings", raising=False)
    spec = importlib.util.spec_from_file_location("forrester", FOLDER / "forrester.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_uncalibrated_stays_stuck_and_calibrated_finds_the_optimum(forrester: ModuleType) -> None:
    runs = forrester.both(forrester.STARTS[0], seed=0)
    stuck, found = runs["uncalibrated"], runs["tempered online quantiles"]
    # All of the uncalibrated search's steps stay on the near side of the hump; its best is the local minimum.
    assert stuck.x.max() < 0.55
    assert stuck.y.min() == pytest.approx(-0.986, abs=0.01)
    assert found.y.min() == pytest.approx(forrester.OPTIMUM, abs=0.01)


def test_the_picture_is_drawn(forrester: ModuleType, tmp_path: Path) -> None:
    forrester.picture(forrester.both(forrester.STARTS[1]), tmp_path / "forrester.png")
    assert (tmp_path / "forrester.png").stat().st_size > 10_000
