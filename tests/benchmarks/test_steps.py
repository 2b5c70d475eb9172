"""Staircases: constant on their steps, with the optimum of the function, and the table of the stored runs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks import steps
from benchmarks.peers import continued, problems

pytest.importorskip("ioh")


def test_coordinates_that_are_rounded_give_plateaus_around_the_optimum() -> None:
    found, plain = steps.problem("in_f14_3d", 4), problems.get("bbob_f14_3d", 4)
    best = steps._best_point(14, 3, 4)
    near = dict(zip(found.space, (best + [0.3, -0.3, 0.2]).tolist(), strict=True))
    assert found.value(near) == pytest.approx(found.optimum, abs=1e-9)
    assert plain.value(near) > plain.optimum + 1e-3
    beyond = dict(zip(found.space, (best + [0.5, 0.0, 0.0]).tolist(), strict=True))
    assert found.value(beyond) > found.optimum + 1e-3


def test_outcomes_that_are_rounded_are_multiples_of_a_height() -> None:
    found = steps.problem("out_f18_3d", 2)
    heights = [(found.value(p) - found.optimum) / (0.02 * found.scale) for p in found.initial(2)]
    assert np.allclose(heights, np.round(heights), atol=1e-6) and len(set(heights)) > 1


def test_the_optimum_of_whole_numbers_is_one_of_them() -> None:
    found = steps.problem("int_f19_2d", 1)
    whole = np.round(2.0 * steps._best_point(19, 2, 1)).astype(int)
    assert found.value(dict(zip(found.space, whole.tolist(), strict=True))) == pytest.approx(found.optimum, abs=1e-9)


def test_other_names_are_problems_of_the_comparison_with_peers() -> None:
    assert steps.problem("bbob_f7_3d", 0).name == "bbob_f7_3d"
    with pytest.raises(ValueError, match="kept for judging"):
        steps.problem("in_f8_3d", 0)


def test_gaps_are_of_log_regrets_on_the_same_runs() -> None:
    optimum = steps.problem("bbob_f7_3d", 0).optimum
    rows = [
        (variant, "bbob_f7_3d", 0, 5, 60, optimum + 100.0, optimum + regret, optimum, 0.1)
        for variant, regret in (("auto", 0.1), ("without_steps", 10.0))
    ]
    assert np.allclose(steps.gaps(pd.DataFrame(rows, columns=continued.COLUMNS)), [-2.0])


def test_the_page_shows_the_stored_runs() -> None:
    assert steps.markdown(continued.load(steps.PATH)) in continued.PAGE.read_text(encoding="utf-8")
