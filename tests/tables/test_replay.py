"""Replays: what is revealed, in which order, and the numbers made of it."""

import numpy as np
import pytest

from calibo.acquisition import UpperQuantile
from calibo.data import Dataset
from calibo.errors import DataError, RecipeError
from calibo.methods import cbo, gp_ei
from calibo.search import Plan
from calibo.tables.replay import LabelledPool, Replay, replay, top_count

pytestmark = pytest.mark.filterwarnings("ignore::calibo.errors.FallbackWarning")
FEATURES = ["x", "kind"]


def table(rows: int = 60, *, replicates: int = 1, seed: int = 0) -> list[dict[str, object]]:
    """A smooth peak over a number, shifted by a category, each point measured ``replicates`` times."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(rows):
        x, kind = i / rows, "ab"[i % 2]
        for _ in range(replicates):
            noise = 0.1 * rng.standard_normal() if replicates > 1 else 0.0
            found.append({"id": len(found), "x": x, "kind": kind, "y": -((x - 0.7) ** 2) + 0.1 * (kind == "b") + noise})
    return found


def run(**options: object) -> Replay:
    settings = {"method": "gp_ei", "start": ("worst", 5), "steps": 8, "seed": 1} | options
    return replay(table(), FEATURES, "y", **settings)  # pyright: ignore[reportArgumentType]


def test_labels_of_the_rows_asked_for_are_revealed_once() -> None:
    done = run()
    labels = np.array([row["y"] for row in table()])
    assert len(done.rows) == 13 and len(set(done.rows.tolist())) == 13
    assert np.array_equal(done.values, labels[done.rows])
    assert set(done.rows[: done.started].tolist()) == set(np.argsort(labels)[:5].tolist())


def test_a_method_with_a_model_gets_to_the_top_and_random_order_would_not() -> None:
    done = run(steps=15)
    assert done.simple_regret[-1] < 0.002 < done.simple_regret[done.started - 1]
    reached = done.evaluations_to_top(0.02)
    assert reached is not None and reached > done.started
    assert done.ranks[reached - 1] < 2
    assert run(steps=15, until=0.02).rows.tolist() == done.rows[:reached].tolist()


def test_regret_is_counted_from_the_best_row_left() -> None:
    done = run(start=[0, 1], steps=58)
    labels = np.array([row["y"] for row in table()])
    by_hand = []
    left = set(range(60)) - {0, 1}
    for row in done.rows[2:].tolist():
        by_hand.append(max(labels[i] for i in left) - labels[row])
        left.remove(row)
    assert not left
    np.testing.assert_allclose(done.cumulative_regret, np.cumsum(by_hand), atol=1e-12)
    assert done.simple_regret[-1] == 0.0
    assert done.best_so_far[-1] == done.optimum == labels.max()


def test_minimising_the_negative_is_the_same_in_the_users_sign() -> None:
    upside_down = [row | {"y": -float(row["y"])} for row in table()]  # pyright: ignore[reportArgumentType]
    done = run()
    other = replay(upside_down, FEATURES, "y", method="gp_ei", direction="min", start=("worst", 5), steps=8, seed=1)
    assert other.rows.tolist() == done.rows.tolist()
    np.testing.assert_allclose(other.regret, done.regret)
    np.testing.assert_allclose(other.best_so_far, -done.best_so_far)
    assert other.distributions[0].mean == pytest.approx(-done.distributions[0].mean)
    assert other.coverage([0.8]) == done.coverage([0.8])


def test_forecasts_are_those_made_before_the_label_was_known() -> None:
    done = run(method="ocbo", steps=6)
    assert all(f is not None and len(f[0].stages) == 3 for f in done.forecasts)
    inside = [
        distribution.interval(0.8)[0] <= y <= distribution.interval(0.8)[1]
        for distribution, y in zip(done.distributions, done.values[5:], strict=True)
    ]
    assert done.covered(0.8).tolist() == inside
    # What is forecast of a step does not depend on what comes later.
    assert run(method="ocbo", steps=3).forecasts == done.forecasts[:3]


def test_a_replicate_is_drawn_once_and_judged_by_the_mean() -> None:
    rows = table(30, replicates=3)
    labels = np.array([float(row["y"]) for row in rows]).reshape(30, 3)  # pyright: ignore[reportArgumentType]
    drawn = replay(rows, FEATURES, "y", method="gp_ei", start=("random", 5), steps=25, seed=3)
    assert drawn.size == 30
    assert sorted((drawn.rows // 3).tolist()) == list(range(30))
    np.testing.assert_allclose(drawn.true_values, labels.mean(axis=1)[drawn.rows // 3])
    np.testing.assert_allclose(drawn.values, labels.ravel()[drawn.rows])
    assert len(set((drawn.rows % 3).tolist())) == 3
    mean = replay(rows, FEATURES, "y", method="gp_ei", start=("random", 5), steps=3, seed=3, replicates="mean")
    np.testing.assert_allclose(mean.values, mean.true_values)
    # The start does not depend on the method or on what a measurement reveals.
    assert (mean.rows[:5] // 3).tolist() == (drawn.rows[:5] // 3).tolist()


def test_the_ratio_is_learned_from_the_rows_that_are_left() -> None:
    weighted = run(method=cbo(rule=UpperQuantile(0.8)), steps=5)
    again = run(method=cbo(rule=UpperQuantile(0.8)), steps=5)
    plain = run(method=cbo(ratio=None, rule=UpperQuantile(0.8)), steps=5)
    assert weighted.rows.tolist() == again.rows.tolist()
    assert weighted.distributions == again.distributions
    assert weighted.distributions != plain.distributions


def test_turbo_keeps_to_its_trust_region() -> None:
    regions = []
    X = np.random.default_rng(0).random((300, 2))
    X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    rows = [{"a": a, "b": b, "y": -((a - 0.3) ** 2) - (b - 0.3) ** 2} for a, b in X.tolist()]

    def watch(plan: Plan, data: Dataset, chosen: np.ndarray, y: np.ndarray) -> None:
        regions.append((plan.region, X[chosen]))

    replay(rows, ["a", "b"], "y", method="turbo", start=("worst", 5), steps=6, seed=1, watch=watch)
    inside = [region.contains(x).all() for region, x in regions if region is not None]
    assert len(inside) >= 5 and all(inside)


def test_a_watcher_sees_the_plan_and_what_came_of_it() -> None:
    seen = []
    done = run(steps=4, q=2, watch=lambda plan, data, chosen, y: seen.append((len(data), chosen.tolist(), y.tolist())))
    assert [n for n, _, _ in seen] == [5, 7]
    assert [row for _, rows, _ in seen for row in rows] == done.rows[5:].tolist()
    assert [v for _, _, y in seen for v in y] == done.values[5:].tolist()


def test_ranks_count_what_is_better_and_a_share_is_at_least_one_row() -> None:
    rows = [{"x": float(i), "y": y} for i, y in enumerate([3.0, 1.0, 3.0, 2.0])]
    assert LabelledPool.of(rows, ["x"], "y", direction="max").ranks.tolist() == [0, 3, 0, 2]
    assert LabelledPool.of(rows, ["x"], "y", direction="min").ranks.tolist() == [2, 0, 2, 1]
    assert [top_count(n, 0.01) for n in (1, 100, 101, 600, 1728)] == [1, 1, 2, 6, 18]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"start": ("best", 3)}, RecipeError, "start must be"),
        ({"start": ("worst", 61)}, RecipeError, "60 different"),
        ({"start": [70]}, RecipeError, "positions"),
        ({"replicates": "first"}, RecipeError, "draw"),
        ({"until": 2.0}, RecipeError, "share"),
        ({"method": "penalized_ei"}, RecipeError, "once"),
    ],
)
def test_bad_settings_are_named(change: dict[str, object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        run(**change)


def test_bad_tables_are_named() -> None:
    rows = table(8)
    with pytest.raises(DataError, match="no column 'z'"):
        replay(rows, FEATURES, "z")
    with pytest.raises(DataError, match="without the target"):
        replay(rows, [*FEATURES, "y"], "y")
    with pytest.raises(DataError, match="row 3"):
        replay([row | ({"y": None} if i == 3 else {}) for i, row in enumerate(rows)], FEATURES, "y")
    with pytest.raises(DataError, match="numbers"):
        replay(rows, ["x"], "kind")


def test_a_strategy_of_ones_own_and_a_frame_do_as_well() -> None:
    import pandas

    done = replay(pandas.DataFrame(table()), FEATURES, "y", method=gp_ei(), start=("worst", 5), steps=8, seed=1)
    assert done.rows.tolist() == run().rows.tolist()
