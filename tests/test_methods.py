"""The methods by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibo import minimize
from calibo.acquisition import (
    AcquisitionRule,
    ConformalUCB,
    ExpectedImprovement,
    NoisyExpectedImprovement,
    UpperQuantile,
)
from calibo.calibration import (
    Calibrated,
    ConditionalQuantile,
    Conformal,
    ConformalBayes,
    DensityRatio,
    GroupedQuantile,
    LocalizedOnline,
    LocalizedQuantile,
    OnlineQuantile,
    Prequential,
    Recalibrator,
    ShapeAverage,
    ShrinkingAlpha,
    StoredAndLeaveOneOut,
)
from calibo.errors import FallbackWarning, RecipeError
from calibo.methods import (
    METHODS,
    auto,
    bananas,
    bananas_cp,
    cbo,
    conformal_trees,
    gp_ei,
    lfbo,
    locbo,
    method_name,
    ocbo,
    ocbo_local,
    penalized_ei,
    risk_averse,
    strategy,
    turbo,
)
from calibo.models import RBF, GaussianProcess, GPBySize, NearestNeighbourGP, NoisePrior, Scheduled, Warped
from calibo.optimize import ModelBased, Optimizer
from calibo.search import Langevin, RandomDraw
from calibo.spaces import Categorical, Float, Int, PoolSpace

# The design is proposed before its points are measured again, so the first forecasts know nothing of the noise.
before_replicates = pytest.mark.filterwarnings("ignore:no point was measured twice")
# With weights that are hardly learned, or none, now and then no outcome is accepted at the point chosen.
without_a_set = pytest.mark.filterwarnings("ignore:. of . predictions could not be calibrated .much less certain")
#: Methods that observe values; composite_lfbo observes vectors.
PLAIN = sorted(set(METHODS) - {"composite_lfbo"})
SQUARE = {"x": Float(0, 1), "y": Float(-1, 1)}
#: Likelihood-free methods have no predictive distribution.
WITHOUT_FORECASTS = {name for name, method in METHODS.items() if not method.make().makes_forecasts}


def quick_cbo(**options: Any) -> ModelBased:
    """With shorter chains than usual, and a short search after them."""
    return cbo(search=Langevin(chains=2, steps=10, burn_in=3, updates=2, then=RandomDraw(64, 32)), **options)


#: The methods of the conformal-set family, and one that does without weights and chains.
FAMILY = {"locbo": locbo, "ocbo_local": ocbo_local, "cbo": quick_cbo, "cbo without weights": lambda: cbo(ratio=None)}


@before_replicates
@pytest.mark.parametrize("name", PLAIN)
def test_every_method_suggests(name: str) -> None:
    optimizer = run(name, 6)
    suggestion = optimizer.ask()
    if name in WITHOUT_FORECASTS:
        assert suggestion.forecasts is None
    else:
        assert suggestion.forecasts is not None and np.isfinite(suggestion.forecasts[0].calibrated.mean)


def test_every_method_is_described() -> None:
    for name, method in METHODS.items():
        assert method.summary and method.paper and "\n" not in method.summary
        assert method.make().name == name


def test_a_name_or_a_strategy_is_needed() -> None:
    mine = gp_ei()
    assert strategy(mine) is mine
    assert strategy(" Bananas-CP ") == strategy("bananas_cp") and method_name("OCBO") == "ocbo"
    with pytest.raises(RecipeError, match=r"unknown method 'obco'; known are .*gp_ei.*ocbo.*; did you mean 'ocbo'\?"):
        strategy("obco")
    with pytest.raises(RecipeError, match=r"unknown method 'magic'; known are [a-z_, ]*$"):
        strategy("magic")
    with pytest.raises(RecipeError, match="a name or a Strategy"):
        strategy(GaussianProcess())  # type: ignore[arg-type]


def test_the_parts_can_be_exchanged() -> None:
    method = ocbo(eta=0.3, surrogate=GaussianProcess(RBF()), rule=UpperQuantile(0.8), replicate=True)
    assert method.rule == UpperQuantile(0.8) and method.replicate
    inner = Calibrated(GaussianProcess(RBF()), by=ConditionalQuantile(), evidence=StoredAndLeaveOneOut())
    assert method.surrogate == Calibrated(inner, by=GroupedQuantile(0.3))
    assert gp_ei().surrogate == Scheduled(GPBySize()) and isinstance(gp_ei().rule, ExpectedImprovement)


@pytest.mark.parametrize(
    ("make", "setting", "bad", "message"),
    [
        (ocbo, "eta", -1.0, "eta"),
        (locbo, "alpha", 1.5, "alpha"),
        (cbo, "alpha", 1.5, "alpha"),
        (bananas_cp, "evidence", "kfold", "evidence must be an? .*such as"),
        (bananas, "search", "mutation", "search must be an? .*such as"),
        (conformal_trees, "by", Conformal, "by must be an? .*such as"),
    ],
)
def test_a_bad_part_is_refused_when_composing(make: Any, setting: str, bad: object, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        make(**{setting: bad})


class TestComposition:
    """By default calibrated by reach, then online by reach; in the papers' form one online recalibrator on the model."""

    WIDE = NoisePrior.wide()
    PROCESS = Scheduled(
        GPBySize(GaussianProcess(noise=WIDE, subset=400), NearestNeighbourGP(GaussianProcess(noise=WIDE, subset=300)))
    )
    NARROW = Scheduled(GPBySize())
    LOCBO = LocalizedOnline(alpha=0.1, kappa=0.7, length_scale=0.3, eta0=0.05, localize="reach", trust=200.0)
    OCBO_LOCAL = LocalizedQuantile(eta=0.3, kappa=0.7, localize="reach", trust=200.0)

    @pytest.mark.parametrize(
        ("made", "online", "acts_on"),
        [
            (ocbo(), GroupedQuantile(0.2, trust=40.0), "raw"),
            (ocbo(eta=0.3), GroupedQuantile(0.3, trust=40.0), "raw"),
            (ocbo_local(eta=0.3, kappa=0.7), OCBO_LOCAL, "raw"),
            (locbo(alpha=0.1, kappa=0.7, length_scale=0.3, eta0=0.05), LOCBO, "calibrated"),
        ],
    )
    def test_by_default(self, made: ModelBased, online: Recalibrator, acts_on: str) -> None:
        """What acts on the raw model has a wide prior of the noise."""
        process = self.PROCESS if acts_on == "raw" else self.NARROW
        by_reach = Calibrated(Warped(process), by=ConditionalQuantile(), evidence=StoredAndLeaveOneOut())
        assert made.surrogate == Calibrated(by_reach, by=online, evidence=Prequential())
        assert made.rule == ExpectedImprovement() and made.acts_on == acts_on
        stages = made.surrogate.stage_names
        assert stages == ("WarpedGaussianProcess", "ConditionalQuantile", type(online).__name__)

    def test_the_default_averages_the_shapes_it_shows(self) -> None:
        process = replace(self.PROCESS, always_below=20)
        assert auto().method.surrogate == Calibrated(ShapeAverage(Warped(process)), by=GroupedQuantile(0.2, trust=40.0))

    @pytest.mark.parametrize(
        ("made", "online", "rule"),
        [
            (ocbo(paper=True), OnlineQuantile(0.2, pooled=True), UpperQuantile(0.9)),
            (
                locbo(alpha=0.1, kappa=0.7, length_scale=0.3, eta0=0.05, paper=True),
                replace(LOCBO, localize="place", trust=0.0),
                ExpectedImprovement(),
            ),
            (
                ocbo_local(eta=0.3, kappa=0.7, paper=True),
                replace(OCBO_LOCAL, localize="place", trust=0.0, pooled=True),
                UpperQuantile(0.9),
            ),
        ],
    )
    def test_as_in_the_papers(self, made: ModelBased, online: Recalibrator, rule: AcquisitionRule) -> None:
        assert made.surrogate == Calibrated(GaussianProcess(), by=online, evidence=Prequential())
        assert made.rule == rule and made.acts_on == "calibrated"

    @pytest.mark.parametrize("make", [ocbo, locbo, ocbo_local])
    @pytest.mark.parametrize("paper", [False, True], ids=["default", "paper"])
    def test_names_surrogates_and_rules_are_kept(self, make: Any, paper: bool) -> None:
        mine = make(paper=paper, surrogate=GaussianProcess(RBF()), rule=UpperQuantile(0.7), replicate=True)
        assert mine.name == make.__name__ and mine.rule == UpperQuantile(0.7) and mine.replicate
        innermost: list[Any] = []
        mine.surrogate.with_innermost(lambda one: innermost.append(one) or one)
        assert innermost == [GaussianProcess(RBF())]

    def test_all_may_act_on_what_they_show(self) -> None:
        assert {make(acts_on="calibrated").acts_on for make in (ocbo, locbo, ocbo_local)} == {"calibrated"}

    def test_cbo(self) -> None:
        made = cbo()
        assert isinstance(made.surrogate, ConformalBayes) and isinstance(made.search, Langevin)
        assert made.surrogate.score == "loo" and isinstance(made.surrogate.alpha, ShrinkingAlpha)
        assert isinstance(made.surrogate.ratio, DensityRatio)
        quick = cbo(alpha=0.2, score="in_sample", ratio=None, rule=ConformalUCB())
        assert quick.search is None and quick.rule == ConformalUCB()
        assert quick.surrogate == ConformalBayes(GaussianProcess(), 0.2, "in_sample")

    def test_turbo_and_the_noise_averse(self) -> None:
        assert turbo(batch_size=3).batch_size == 3
        assert risk_averse(replicates=5).times == 5 and penalized_ei(aversion=2.0).strategy.rule.aversion == 2.0  # type: ignore[attr-defined]


def bowl(params: dict[str, Any]) -> float:
    return params["x"] ** 2 + abs(params["y"]) + 0.1 * np.sin(37.0 * params["x"])


def run(method: Any, steps: int, space: Any = SQUARE, objective: Any = bowl, seed: int = 0) -> Optimizer:
    optimizer = Optimizer(space, method, seed=seed)
    for _ in range(steps):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, objective(suggestion.params))
    return optimizer


def next_point(make: Any, Y: np.ndarray, seed: int = 0) -> np.ndarray:
    X = np.random.default_rng(2).random((len(Y), 2))
    optimizer = Optimizer({"x": Float(0, 1), "y": Float(0, 1)}, make(), direction="maximize", seed=seed)
    for x, y in zip(X, Y, strict=True):
        optimizer.tell({"x": float(x[0]), "y": float(x[1])}, float(y))
    suggestion = optimizer.ask()
    assert np.isfinite(suggestion.forecasts[0].calibrated.std)  # type: ignore[index]
    return suggestion.x


def outcomes(n: int) -> np.ndarray:
    X = np.random.default_rng(2).random((n, 2))
    return np.sin(6 * X[:, 0]) - np.square(X[:, 1] - 0.6)


@pytest.mark.parametrize("name", FAMILY)
def test_an_affine_change_of_outcomes_leaves_the_suggestion(name: str) -> None:
    """2^-100 and 2^100 are 1e-30 and 1e30."""
    plain = next_point(FAMILY[name], outcomes(12))
    for power, shift in ((-100, 0.0), (100, -2.0)):
        changed = next_point(FAMILY[name], 2.0**power * (outcomes(12) + shift))
        np.testing.assert_allclose(changed, plain, atol=2e-3)


@without_a_set
@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("Y", [[0.5], [0.0] * 8, [1.0] * 7 + [1.0 + 1e-15]], ids=["one", "equal", "close"])
def test_little_data_and_equal_outcomes(name: str, Y: list[float]) -> None:
    X = np.random.default_rng(2).random((len(Y), 2))
    optimizer = Optimizer({"x": Float(0, 1), "y": Float(0, 1)}, FAMILY[name](), seed=0, n_initial=1)
    for x, y in zip(X, Y, strict=True):
        optimizer.tell({"x": float(x[0]), "y": float(x[1])}, y)
    x = optimizer.ask().x
    assert ((x >= 0.0) & (x <= 1.0)).all()


@without_a_set
@pytest.mark.parametrize("name", FAMILY)
def test_batches_pending_and_failed_points(name: str) -> None:
    optimizer = run(FAMILY[name](), 6)
    batch = optimizer.ask(3)
    optimizer.tell(batch[0], 0.5)
    optimizer.tell_failed(batch[1])
    data = optimizer.data()
    assert len(data.X_failed) == 1 and len(data.X_pending) == 1
    points = [tuple(s.x) for s in (*batch, optimizer.ask())]
    assert min(np.linalg.norm(np.subtract(p, q)) for i, p in enumerate(points) for q in points[:i]) > 1e-4


@without_a_set
@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("kind", ["mixed", "pool"])
def test_spaces_of_other_kinds(name: str, kind: str) -> None:
    if kind == "mixed":
        space: Any = {"n": Int(1, 300, log=True), "c": Categorical(list("abc")), "x": Float(0, 1)}
        best = run(FAMILY[name](), 8, space, lambda p: p["x"] + "abc".index(p["c"]) - np.log(p["n"])).best[0]
        assert best["c"] in "abc" and isinstance(best["n"], int)
        return
    rows = [{"x": i / 7, "kind": "uvw"[i % 3]} for i in range(30)]
    # On a pool there are no chains to be shortened.
    method = cbo() if name == "cbo" else FAMILY[name]()
    optimizer = run(method, 9, PoolSpace(rows), lambda p: p["x"])
    assert len(np.unique(optimizer.data().X, axis=0)) == 9
    assert optimizer.best[0] in rows


@pytest.mark.parametrize(
    "rule", [NoisyExpectedImprovement(), ConformalUCB(), UpperQuantile()], ids=lambda r: type(r).__name__
)
@pytest.mark.parametrize("make", [locbo, quick_cbo])
def test_rules_can_be_exchanged(make: Any, rule: Any) -> None:
    optimizer = run(make(rule=rule), 6)
    assert len({tuple(s.x) for s in optimizer.ask(2)}) == 2


def test_cbo_is_silent_in_ordinary_use() -> None:
    """Warnings of the library are errors in these tests; one of a fallback would be in a noisy run as in an exact one."""
    rng = np.random.default_rng(0)
    optimizer = run(cbo(), 14, objective=lambda p: bowl(p) + 0.05 * rng.standard_normal())
    assert len(optimizer.data()) == 14


def test_cbo_announces_what_it_falls_back_to() -> None:
    """With five data no set of 90 % is to be had."""
    optimizer = run(gp_ei(), 5)
    bold = Optimizer(SQUARE, cbo(alpha=0.1, ratio=None), seed=0, n_initial=1)
    for record in optimizer.data().X:
        bold.tell({"x": float(record[0]), "y": float(2 * record[1] - 1)}, float(record.sum()))
    with pytest.warns(FallbackWarning, match=r"could not be calibrated \(too few data"):
        bold.ask()


@pytest.mark.parametrize("method", [pytest.param("cbo", marks=pytest.mark.whole), "locbo"])
def test_an_interrupted_study_goes_on_as_if_nothing_had_happened(method: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"method": method, "progress": False}
    whole = minimize(bowl, SQUARE, 8, seed=4, **options)
    kept = {"storage": tmp_path / "a.db", "study_name": "s"}
    minimize(bowl, SQUARE, 6, seed=4, **options, **kept)
    resumed = minimize(bowl, SQUARE, 2, **options, **kept)
    assert [e.params for e in resumed.trials] == [e.params for e in whole.trials]
    assert [e.forecast for e in resumed.trials] == [e.forecast for e in whole.trials]


@pytest.mark.parametrize("make", [ocbo, locbo, ocbo_local])
class TestForecastsAreFitToBeShown:
    """Quantiles are finite and increase strictly, whatever is optimized; outcomes with a long tail are transformed."""

    @staticmethod
    def steep(p: Any) -> float:
        return float(np.exp(6.0 * p["x"]) + p["y"])

    @staticmethod
    def check(optimizer: Optimizer, q: int, outcomes: int = 1) -> None:
        """Check a batch of q, and all that was forecast before."""
        batch = optimizer.ask(q)
        assert len({tuple(s.x) for s in batch}) == q and all(s.forecasts is not None for s in batch)
        made = [t.suggestion for t in optimizer.trials if t.suggestion.forecasts]
        assert len(made) >= q + 5
        for suggestion in made:
            assert suggestion.forecasts is not None and len(suggestion.forecasts) == outcomes
            for forecast in suggestion.forecasts:
                for marginal in forecast.stages:
                    quantiles = [marginal.icdf(u) for u in np.linspace(0.005, 0.995, 199)]
                    assert np.isfinite([marginal.mean, marginal.std, *quantiles]).all() and marginal.std > 0.0
                    assert np.all(np.diff(quantiles) > 0.0)

    def test_batches(self, make: Any) -> None:
        self.check(run(make(search=RandomDraw(64, 32)), 14, objective=self.steep), 4)

    def test_several_objectives_and_constraints(self, make: Any) -> None:
        optimizer = Optimizer(SQUARE, make(search=RandomDraw(64, 32)), directions=["min", "max"], seed=0)
        for _ in range(12):
            s = optimizer.ask()
            optimizer.tell(s, [self.steep(s.params), s.params["y"]], constraints={"room": s.params["x"] - 0.7})
        self.check(optimizer, 2, outcomes=3)
        predicted = optimizer.predict([{"x": 0.1, "y": 0.0}, {"x": 1.0, "y": 0.0}])
        assert predicted["feasible"][0] > 0.9 and predicted["feasible"][1] < 0.1

    def test_pools(self, make: Any) -> None:
        rows = [{"x": i / 39, "y": (7 * i % 40) / 39} for i in range(40)]
        self.check(run(make(), 12, PoolSpace(rows), self.steep), 3)


def test_the_surrogate_of_the_forecasts_is_that_of_the_model() -> None:
    for name in ("ocbo", "cbo", "cqr", "gp_ei", "bananas"):
        made = strategy(name)
        assert isinstance(made, ModelBased) and made.forecasting is made.surrogate
    assert strategy("risk_averse").forecasting is not None
    assert strategy("lfbo").forecasting is None
    assert lfbo(forecaster=GaussianProcess()).forecasting == GaussianProcess()
