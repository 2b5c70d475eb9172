"""Claims with intervals, and whether ours agree."""

from types import ModuleType

import numpy as np
import pytest
from scipy.stats import binomtest


@pytest.mark.parametrize(
    ("a", "verdict"),
    [
        ([1.0, 1.1, 0.9, 1.0, 0.8], "confirmed"),
        ([3.0, 3.1, 2.9, 3.0, 3.2], "refuted"),
        ([0.5, 5.0, 1.0, 0.7, 4.0], "cannot tell"),
        ([1.0, 1.1, 0.9], "cannot tell"),
    ],
)
@pytest.mark.parametrize("how", ["ratio_of_means", "difference_of_means"])
def test_a_claim_is_judged_by_the_whole_interval(
    modules: dict[str, ModuleType], a: list[float], verdict: str, how: str
) -> None:
    judging = modules["judging"]
    statistic = getattr(judging, how)(np.array(a), np.full(len(a), 2.0))
    found = judging.resampled(statistic, len(a))
    assert found[1] <= found[0] <= found[2]
    bound = 1.0 if how == "ratio_of_means" else 0.0
    assert judging.verdict(found, len(a), high=bound) == verdict
    opposite = {"confirmed": "refuted", "refuted": "confirmed", "cannot tell": "cannot tell"}[verdict]
    assert judging.verdict(found, len(a), low=bound) == opposite


def test_means_of_nothing_left_count_as_the_least(modules: dict[str, ModuleType]) -> None:
    judging = modules["judging"]
    found = judging.resampled(judging.ratio_of_means(np.zeros(4), np.full(4, 2.0), least=0.5), 4, 0.8)
    assert found == pytest.approx((0.25, 0.25, 0.25))


def test_an_interval_holds_the_mean_as_often_as_it_says(modules: dict[str, ModuleType]) -> None:
    """2,000 samples of 6: the share held is within 4 standard errors, a false alarm in about 1 of 16,000 seeds."""
    draws = np.random.default_rng(0).standard_normal((6, 2000))
    low, high = modules["judging"].mean_interval(draws, 0.7)
    assert np.mean((low <= 0.0) & (high >= 0.0)) == pytest.approx(0.7, abs=4 * (0.7 * 0.3 / 2000) ** 0.5)
    one = np.array([[1.0, 2.0]])
    assert np.array_equal(modules["judging"].mean_interval(one, 0.7), [one[0], one[0]])


def test_claims_are_shown(modules: dict[str, ModuleType], capsys: pytest.CaptureFixture[str]) -> None:
    judging = modules["judging"]
    rows = [judging.counted("4", "cases won", [True, False]), judging.held("5", "best", "3", "3", True)]
    lines = judging.claim_lines(rows, part="figure", paper="paper")
    assert lines == [
        "| figure | claim | paper | ours (90 % interval) | |",
        "|---|---|---|---|---|",
        "| 4 | cases won | 2 of 2 | 1 of 2 | refuted |",
        "| 5 | best | 3 | 3 | confirmed |",
    ]
    judging.print_claims(rows)
    assert "refuted" in capsys.readouterr().out


def test_cases_are_counted_for_every_choice_of_seeds(modules: dict[str, ModuleType]) -> None:
    """A clear win, a clear loss, and one that the seeds cannot decide."""
    judging = modules["judging"]
    low, high, noisy = np.linspace(0.0, 0.1, 8), np.linspace(1.0, 1.1, 8), np.array([-1.0, 1.2] * 4)
    win, loss, unsure = (judging.best_mean(a, [b], lower=True) for a, b in ((low, high), (high, low), (low, noisy)))
    assert judging.counted_over("6", "wins", [win, win], 8).verdict == "confirmed"
    assert judging.counted_over("6", "wins", [win, loss], 8).verdict == "refuted"
    claim = judging.counted_over("6", "wins", [win, unsure], 8)
    assert (claim.verdict, claim.ours[-4:]) == ("cannot tell", "of 2")
    assert judging.counted_over("6", "wins", [win], 4).verdict == "cannot tell"
    assert judging.best_mean(high, [low], lower=False)(np.arange(8)[None, :]).tolist() == [1.0]


def test_a_claim_says_how_many_seeds_it_rests_on(modules: dict[str, ModuleType]) -> None:
    ratios = modules["judging"].Ratios(".2f")
    assert ratios.below("4", "a / b", np.ones(7), np.full(7, 2.0)).seeds == 7


def test_shares_have_exact_intervals(modules: dict[str, ModuleType]) -> None:
    share = modules["judging"].share
    # Five of five: .05 to the power of 1 / 5 is the least share of which so many are not too unlikely.
    whole = share("1", "won", np.ones(5), low=0.5, claimed="0.8")
    assert whole.ours == f"1.00 ({0.05 ** (1 / 5):.2f} to 1.00)" and whole.verdict == "confirmed"
    none = share("1", "won", np.zeros(30), low=0.1, high=0.4, claimed="about 0.25")
    assert none.ours == f"0.00 (0.00 to {1 - 0.05 ** (1 / 30):.2f})" and none.verdict == "refuted"
    assert share("1", "won", np.array([1.0, 1.0, 0.0, 0.0, 0.0]), low=0.5, claimed="0.8").verdict == "cannot tell"
    assert share("1", "won", np.ones(4), low=0.1, claimed="0.8").verdict == "cannot tell"
    assert share("1", "won", np.ones(0), low=0.5, claimed="> 0.5").verdict == "cannot tell"
    for count in range(13):
        exact = binomtest(count, 12).proportion_ci(0.9, "exact")
        shown = share("1", "won", (np.arange(12) < count).astype(np.float64)).ours
        assert shown == f"{count / 12:.2f} ({exact.low:.2f} to {exact.high:.2f})"
