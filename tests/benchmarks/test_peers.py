"""The comparison with peers: spaces, one protocol for all, runs that are not done twice, and what is concluded from them."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.peers import comparing, frozen, problems, results, run, store, summary
from benchmarks.peers.adapters import label_of, peer
from benchmarks.peers.adapters.base import gaussian_judged
from benchmarks.peers.hosts import LocalHost, RemoteHost
from benchmarks.peers.protocol import Job, Run, perform
from benchmarks.peers.spaces import Parameter, clean, from_indices, from_json, from_unit, to_indices, to_json

SPACE = {
    "rate": Parameter("float", 1e-4, 1.0, log=True),
    "depth": Parameter("int", 1, 6),
    "size": Parameter("ordinal", choices=(16, 32, 64)),
    "kernel": Parameter("categorical", choices=("a", "b")),
}
TWO = "train_linear_wine,train_svm_breast_cancer"


@given(st.lists(st.floats(0.0, 1.0, exclude_max=True), min_size=4, max_size=4))
def test_a_point_is_the_same_after_every_conversion(u: list[float]) -> None:
    params = from_unit(SPACE, u)
    assert clean(SPACE, params) == params
    assert from_indices(SPACE, to_indices(SPACE, params)) == params
    assert from_json(json.loads(json.dumps(to_json(SPACE)))) == SPACE
    for name, parameter in SPACE.items():
        back = parameter.from_unit(parameter.to_unit(params[name]))
        assert back == pytest.approx(params[name]) if parameter.kind == "float" else back == params[name]


def test_a_choice_is_found_by_its_value_or_as_text() -> None:
    mixed = Parameter("ordinal", choices=(1e-08, 0.1, 1))
    assert [mixed.clean(value) for value in (1.0, "1", np.float64(0.1), "1e-08")] == [1, 1, 0.1, 1e-08]
    assert isinstance(mixed.clean(1.0), int)


@pytest.mark.parametrize("name", ["depth", "size", "kernel"])
def test_whole_numbers_and_choices_share_the_unit_interval_equally(name: str) -> None:
    values = [SPACE[name].from_unit(u) for u in (np.arange(1200) + 0.5) / 1200]
    shares = pd.Series(values).value_counts(normalize=True)
    assert np.allclose(shares, 1 / len(shares), atol=2e-3)


def test_gaussian_crps_is_the_integral_of_its_definition() -> None:
    from scipy.stats import norm

    judged = gaussian_judged(1.0, 2.0, 2.5)
    t = np.linspace(-30.0, 30.0, 600_001)
    integral = np.trapezoid((norm.cdf(t, 1.0, 2.0) - (t >= 2.5)) ** 2, t)
    assert judged.crps == pytest.approx(integral, rel=1e-4)
    assert (judged.low, judged.high) == pytest.approx(norm.interval(0.8, 1.0, 2.0))


def test_functions_and_tables_for_judging_are_refused() -> None:
    held_out = [f for f in range(1, 25) if f not in problems.FUNCTIONS]
    assert len(held_out) == 12
    for name in (*(f"bbob_f{f}_5d" for f in held_out), "hpobench_phoneme", "hpobench_segment", "hpobench_vehicle"):
        with pytest.raises(ValueError, match="kept for judging"):
            problems.get(name, 0)
    assert not {name for suite in problems.SUITES.values() for name in suite} & {f"bbob_f{f}_5d" for f in held_out}
    with pytest.raises(ValueError, match="unknown problem"):
        problems.get("sphere", 0)


def test_optimizers_start_from_the_same_points_and_measurements() -> None:
    job = Job("random", "train_linear_wine", 3, 10)
    one, other = (perform(job, LocalHost(optimizer)) for optimizer in ("random", "optuna_tpe"))
    n0 = problems.get(job.problem, 3).n_initial
    assert n0 == 8
    assert one.points[:n0] == other.points[:n0] and one.measured[:n0] == other.measured[:n0]
    assert one.points[n0:] != other.points[n0:]
    assert perform(job, LocalHost("random")).points == one.points
    assert len(one.seconds) == len(one.forecasts) == 2 and one.forecasts == [None, None]


def test_a_method_of_calibo_and_a_strategy_from_a_file_are_run_with_forecasts(tmp_path: Path) -> None:
    file = tmp_path / "experiment.py"
    file.write_text("from calibo import methods\n\ndef mine():\n    return methods.gp_ei()\n")
    job = Job("gp_ei", "train_linear_wine", 0, 10)
    by_name = perform(job, LocalHost("gp_ei"))
    given = f"my_label={file}:mine"
    assert perform(job, LocalHost(given)).points == by_name.points
    assert label_of(given) == "my_label" and label_of(f"{file}:mine") == "mine" and label_of("gp_ei") == "gp_ei"
    assert all(forecast is not None and forecast[0] < forecast[1] for forecast in by_name.forecasts)


def test_an_optimizer_in_a_process_of_its_own_does_the_same() -> None:
    import sys

    job = Job("optuna_tpe", "train_linear_wine", 1, 10)
    host = RemoteHost("optuna_tpe", python=Path(sys.executable))
    try:
        assert perform(job, host).points == perform(job, LocalHost("optuna_tpe")).points
        assert host.footprint()["peak_mb"] > 10
        with pytest.raises(RuntimeError, match="KeyError"):
            host.tell({"no_such": 1}, 0.0)
    finally:
        host.close()


def test_auto_sampler_is_gp_sampler_or_tpe_by_its_rule() -> None:
    assert not peer("optuna_cmaes").takes(SPACE)
    numeric = {name: SPACE[name] for name in ("rate", "depth", "size")}
    from benchmarks.peers.adapters.optuna_samplers import auto_takes_tpe

    assert auto_takes_tpe(SPACE) and not auto_takes_tpe(numeric)
    job = Job("optuna_auto", "train_linear_wine", 0, 14)
    one, other = (perform(job, LocalHost(name)) for name in ("optuna_auto", "optuna_tpe"))
    assert one.points == other.points, "so that its runs need not be done again"
    found = results.with_auto({("optuna_tpe", job.problem, 0): other, ("optuna_gp", job.problem, 0): one})
    assert found["optuna_auto", job.problem, 0] is other


def run_two(folder: Path, **changed: str) -> None:
    options = {
        "optimizers": "random,gp_ei",
        "problems": TWO,
        "seeds": "0-1",
        "budget": "9",
        "runs": str(folder),
    } | changed
    run.main([part for name, value in options.items() for part in (f"--{name}", value)])


def test_runs_are_resumed_lengthened_and_summarized(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    run_two(folder, seeds="0")
    before = {file.name: file.read_text() for file in folder.iterdir()}
    assert {name: text.count("\n") for name, text in before.items()} == {"random.jsonl": 2, "gp_ei.jsonl": 2}
    run_two(folder, seeds="0")
    assert {file.name: file.read_text() for file in folder.iterdir()} == before, "what is done is not done again"
    # As if it had been stopped while it wrote a line, which is then run again.
    (folder / "gp_ei.jsonl").write_text(before["gp_ei.jsonl"][:-10])
    run_two(folder)
    runs = store.runs(folder)
    assert len(runs) == 8 and {len(found.values) for found in runs.values()} == {9}
    run_two(folder, budget="11", seeds="0")
    lengths = {key: len(found.values) for key, found in store.runs(folder).items()}
    assert all(length == (11 if seed == 0 else 9) for (_, _, seed), length in lengths.items())

    results.main(["--runs", str(folder), "--results", str(tmp_path / "results")])
    frame = comparing.load(tmp_path / "results")
    assert len(frame) == 8 and set(frame["family"]) == {"trainings"}
    assert frame[frame["optimizer"] == "gp_ei"]["coverage"].between(0.0, 1.0).all()
    assert frame[frame["optimizer"] == "random"]["coverage"].isna().all()

    (folder / "gp_ei.jsonl").unlink()
    results.main(["--runs", str(folder), "--results", str(tmp_path / "results"), "--keep"])
    pd.testing.assert_frame_equal(comparing.load(tmp_path / "results"), frame)
    shorter = {"optimizer": "gp_ei", "problem": "train_linear_wine", "seed": 0, "evaluations": 9}
    kept = results.merged([shorter, {**shorter, "seed": 1}], tmp_path / "results")
    lengths = {row["seed"]: row["evaluations"] for row in kept if row["problem"] == shorter["problem"]}
    assert len(kept) == 8 and lengths["0"] == "11" and lengths[1] == 9, "a longer run is kept, one as long replaced"


def test_jobs_go_seed_by_seed_and_no_run_begins_after_the_deadline(tmp_path: Path) -> None:
    jobs = list(
        run.wanted(["random", "optuna_cmaes"], run.names_of(f"{TWO},train_linear_wine"), run.seeds_of("0-1,4"), 9)
    )
    assert [job.seed for job in jobs] == [0, 0, 1, 1, 4, 4]
    assert {job.optimizer for job in jobs} == {"random"}, "CMA-ES takes floats only"
    run.finish(iter(jobs), tmp_path, processes=1, until=0.0, retry=False)
    assert not store.runs(tmp_path)


def test_a_failure_is_recorded_and_run_again_only_if_asked_for(tmp_path: Path) -> None:
    run_two(tmp_path, optimizers="no_such_method", problems="train_linear_wine", seeds="0")
    run_two(tmp_path, optimizers="no_such_method", problems="train_linear_wine", seeds="0")
    assert "unknown method" in store.failures(tmp_path)["no_such_method", "train_linear_wine", 0]
    assert len(list(store.records(tmp_path))) == 1 and not store.runs(tmp_path)


def test_regret_is_that_of_the_best_measurement_not_of_the_best_value() -> None:
    measured, values = [5.0, 3.0, 4.0, 3.0, 1.0], [5.0, 3.5, 2.0, 0.5, 1.5]
    found = Run([[0.0]] * 5, measured, values, [0.1], [(0.0, 2.0, 0.2)])
    assert results.incumbent_values(found).tolist() == [5.0, 3.5, 3.5, 3.5, 1.5]


def frame_of(regret: np.ndarray, problem_names: list[str]) -> pd.DataFrame:
    """A table of regrets, problems x seeds x optimizers."""
    rows = [
        {"optimizer": f"o{k}", "problem": name, "seed": j, "regret_60": regret[i, j, k], "initial": 1.0}
        for (i, name), j, k in itertools.product(enumerate(problem_names), *map(range, regret.shape[1:]))
    ]
    return pd.DataFrame(rows)


NAMES = ["bbob_f2_5d", "bbob_f7_5d", "bbob_f7_5d_noisy", "hpobench_car"]


def test_a_search_repeats_itself_after_enough_suggestions_in_a_row_beside_earlier_points() -> None:
    rng = np.random.default_rng(0)
    known = rng.random((8, 3))
    beside = known[0] + 0.005 * rng.standard_normal((frozen.ROW, 3)) / np.sqrt(3.0)
    away = known[1] + np.array([[0.0, 0.0, 2.0 * frozen.NEAR]])
    assert frozen.repeating_from(np.vstack([known, beside]), 5) == 8
    assert frozen.repeating_from(np.vstack([known, beside[:-1], away]), 5) is None
    assert frozen.repeating_from(np.vstack([known, beside[:3], away, beside]), 5) == 12


@pytest.mark.extras
def test_plain_improvement_goes_on_from_the_first_points_of_a_run() -> None:
    job = Job("gp_ei", "bbob_f5_5d", 0, 9)
    done = perform(job, LocalHost("gp_ei"))
    problem = problems.get(job.problem, job.seed)
    # The same method from the same results, whose first suggestion does not depend on who suggested the others.
    assert frozen.continued(problem, 0, done, 9) == min(done.values)
    assert frozen.continued(problem, 0, done, 7) <= min(done.values[:7])


def test_ranks_and_wins_are_those_of_counting() -> None:
    rng = np.random.default_rng(0)
    # Few different values, so that there are ties.
    regret = rng.integers(1, 5, size=(4, 3, 3)) / 10
    frame = frame_of(regret, NAMES)
    found = comparing.ranks(frame, 60, ["o0", "o1", "o2"])
    for i, name in enumerate(NAMES):
        for k in range(3):
            others = [m for m in range(3) if m != k]
            places = [1 + sum(float(r[m] < r[k]) + 0.5 * float(r[m] == r[k]) for m in others) for r in regret[i]]
            assert found.loc[name, f"o{k}"] == pytest.approx(np.mean(places))
    medians = np.median(regret, axis=1)
    score = comparing.wins(frame, 60, "o0", "o2")
    assert score is not None and (score.fewest, score.most, score.problems) == (3, 3, 4)
    assert score.won == (medians[:, 0] < medians[:, 2]).sum() and score.lost == (medians[:, 0] > medians[:, 2]).sum()
    runs = comparing.wins(frame, 60, "o0", "o2", by_runs=True)
    more = np.sign(regret[:, :, 2] - regret[:, :, 0]).sum(axis=1)
    assert runs is not None and (runs.won, runs.lost) == ((more > 0).sum(), (more < 0).sum())
    assert comparing.lost(frame, 60, "o0", "o2") == [NAMES[i] for i in np.flatnonzero(medians[:, 0] > medians[:, 2])]
    logs = np.log10(regret[:2, :, 0] / regret[:2, :, 2]).ravel()
    ratio = comparing.ratios(frame, 60, "o0", "o2")["bbob5"]
    assert (ratio.mean, ratio.error) == pytest.approx((logs.mean(), logs.std(ddof=1) / np.sqrt(6)))
    assert (ratio.won, ratio.lost) == ((logs < 0).sum(), (logs > 0).sum())
    families = comparing.by_family(found)
    assert families.loc["o1", "bbob5"] == pytest.approx(found.loc[["bbob_f2_5d", "bbob_f7_5d"], "o1"].mean())
    left = comparing.by_family(found, leave_out=True)
    assert left.loc["o1", "tables"] == pytest.approx(found.drop("hpobench_car")["o1"].mean())


def test_optimizers_with_fewer_runs_are_compared_on_common_ones() -> None:
    regret = np.random.default_rng(1).random((4, 3, 2))
    frame = frame_of(regret, NAMES)
    fewer = frame[(frame["optimizer"] == "o0") | ((frame["problem"] != "hpobench_car") & (frame["seed"] == 0))]
    score = comparing.wins(fewer, 60, "o0", "o1")
    assert score is not None and (score.problems, score.fewest, score.most) == (3, 1, 1)
    assert score.won == (regret[:3, 0, 0] < regret[:3, 0, 1]).sum()
    assert comparing.wins(fewer, 60, "o0", "o9") is None


def test_a_bootstrap_interval_is_that_of_all_draws() -> None:
    values = np.array([1.0, 2.0, 4.0])
    means = np.sort([np.mean(draw) for draw in itertools.product(values, repeat=3)])
    found = comparing.bootstrap(values)
    assert found.mean == pytest.approx(7 / 3)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(means, [0.05, 0.95], method="inverted_cdf")))


def test_areas_and_targets_are_those_of_the_definition() -> None:
    problem = problems.get("train_linear_wine", 0)
    n0 = problem.n_initial
    values = [1.0] * n0 + [0.5] * 20 + [0.05] * (60 - n0 - 20)
    found = Run([[0.0]] * 60, values, values, [0.01] * (60 - n0), [None] * (60 - n0))
    row = results.row_of(("o", problem.name, 0), found, problem, 0.0)
    assert row["regret_20"] == 0.5 and row["regret_60"] == 0.05 and row["initial"] == 1.0
    assert row["hit_0.5"] == n0 + 1 and row["hit_0.1"] == n0 + 21 and "hit_0.01" not in row
    assert row["area_60"] == pytest.approx((20 * np.log10(0.5) + (40 - n0) * np.log10(0.05)) / (60 - n0), abs=1e-4)
    frame = pd.DataFrame([row], columns=list(results.COLUMNS))
    shares = comparing.reached(frame, 60, ["o"])["o"]
    assert shares[n0] == 0.0 and shares[n0 + 1] == pytest.approx(1 / 7) and shares[60] == pytest.approx(4 / 7)


def test_text_replaces_what_is_between_the_markers() -> None:
    page = "a\n<!-- peers:rank -->\nold\n<!-- end of peers:rank -->\nb\n"
    assert summary.fill(page, "rank", "new \\1") == page.replace("old", "new \\1")
    with pytest.raises(ValueError, match="peers:wins"):
        summary.fill(page, "wins", "")
