"""Tables of predictions: intervals, and in words what their calibration rests on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import BayesianRidge

from calibo.calibration import Calibrated, Conformal, Split, Temperature
from calibo.calibration.base import ENOUGH_SIMILAR, SOME_SIMILAR, in_words, past_in_words
from calibo.data import COVERAGES, Dataset
from calibo.errors import FallbackWarning
from calibo.methods import cbo, conformal_trees, gp_ei, locbo, ocbo, ocbo_local
from calibo.models import GaussianProcess, NeuralEnsemble, ScikitSurrogate
from calibo.optimize import ModelBased, Optimizer
from calibo.search import RandomDraw
from calibo.spaces import Float
from calibo.trials.direction import Direction
from calibo.trials.predictions import predict_table

SPACE = {"x": Float(0, 1), "y": Float(0, 1)}
#: All results lie in one corner of the space.
CORNER = 0.3
NEAR, FAR = {"x": 0.15, "y": 0.15}, {"x": 1.0, "y": 1.0}
DRAWS = RandomDraw(64, 32)


def in_a_corner(method: Any, **settings: Any) -> Optimizer:
    """Return an optimizer with 30 noisy results in a corner, none of which was forecast."""
    optimizer = Optimizer(SPACE, method, seed=0, **settings)
    rng = np.random.default_rng(0)
    goals = len(optimizer.directions)
    for x, y in CORNER * rng.random((30, 2)):
        values = [float(np.sin(12 * x) + y + 0.05 * rng.standard_normal()) for _ in range(goals)]
        slack = {"memory": float(x - 0.2 + 0.02 * rng.standard_normal())} if settings else None
        optimizer.tell({"x": float(x), "y": float(y)}, values if goals > 1 else values[0], constraints=slack)
    return optimizer


@pytest.mark.parametrize(
    ("similar", "words"),
    [
        (0.0, "model alone"),
        (np.nextafter(SOME_SIMILAR, 0.0), "model alone"),
        (SOME_SIMILAR, "mostly the model"),
        (1.5, "mostly the model, 1 similar forecast"),
        (np.nextafter(ENOUGH_SIMILAR, 0.0), "mostly the model, 3 similar forecasts"),
        (ENOUGH_SIMILAR, "4 similar forecasts"),
        (27.9, "27 similar forecasts"),
    ],
)
def test_what_it_rests_on_in_words(similar: float, words: str) -> None:
    assert in_words(float(similar)) == words


def test_what_one_correction_for_all_rests_on_in_words() -> None:
    assert past_in_words(8, 1) == "8 past forecasts, 1 of them similar"
    assert [past_in_words(1, similar) for similar in (0, 1)] == [
        *("1 past forecast, which is not similar", "1 past forecast, which is similar"),
    ]


@pytest.mark.parametrize("make", [ocbo, locbo, ocbo_local])
def test_near_the_data_it_rests_on_evidence_and_far_away_on_the_model(make: Any) -> None:
    table = in_a_corner(make()).predict([NEAR, FAR])
    near, far = table["similar_forecasts"]
    assert ENOUGH_SIMILAR <= near <= 30.0 and 0.0 <= far < SOME_SIMILAR
    assert table["calibration"].tolist() == [f"{int(near)} similar forecasts", "model alone"]


def test_an_uncalibrated_method_rests_on_the_model_everywhere() -> None:
    table = in_a_corner(gp_ei()).predict([NEAR, FAR])
    assert table["similar_forecasts"].tolist() == [0.0, 0.0]
    assert table["calibration"].tolist() == ["model alone"] * 2


def test_without_a_forecast_that_came_out_a_calibrator_of_stored_forecasts_rests_on_the_model() -> None:
    told = in_a_corner(ModelBased(Calibrated(GaussianProcess(), by=Temperature()), ocbo().rule))
    assert told.predict([NEAR])["similar_forecasts"].tolist() == [0.0]


def test_a_stored_forecast_and_a_point_left_out_are_one_experience() -> None:
    """Both are evidence of the same outcome, so no more can be similar than there are results."""
    optimizer = Optimizer({"x": Float(0, 1)}, ocbo(search=DRAWS), seed=0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, float(rng.standard_normal()))
    table = optimizer.predict([{"x": float(x)} for x in np.linspace(0, 1, 21)])
    similar = table["similar_forecasts"]
    assert 4.0 < similar.max() <= 20.0
    assert table["calibration"].tolist() == [in_words(count) for count in similar], "numbers and words are of one stage"


def test_what_is_held_out_counts_for_trees() -> None:
    trees = ModelBased(conformal_trees(), ocbo().rule, DRAWS)
    held_out = in_a_corner(trees).predict([NEAR])["similar_forecasts"][0]
    assert 0.0 < held_out <= 9.0


def test_every_objective_and_constraint_has_its_own() -> None:
    table = in_a_corner(ocbo(), directions=["minimize", "maximize"]).predict([NEAR, FAR])
    for prefix in ("0_", "1_", "constraint_memory_"):
        numbers, words = table[f"{prefix}similar_forecasts"], table[f"{prefix}calibration"]
        assert words.tolist() == [in_words(count) for count in numbers] and words[1] == "model alone"
        assert numbers[0] >= ENOUGH_SIMILAR
        check_intervals(table, prefix)
    counts = [table[f"{p}similar_forecasts"][0] for p in ("0_", "1_", "constraint_memory_")]
    assert len(set(counts)) == 3
    assert table["feasible"].between(0.0, 1.0).all() and list(table.columns)[-1] == "feasible"


def test_the_interval_of_the_mean_lies_inside_that_of_a_measurement() -> None:
    rng = np.random.default_rng(1)
    for method in (ocbo(search=DRAWS), locbo(search=DRAWS), ocbo_local(search=DRAWS), gp_ei(search=DRAWS)):
        optimizer = Optimizer(SPACE, method, seed=0)
        for _ in range(18):
            suggestion = optimizer.ask()
            x, y = suggestion.params["x"], suggestion.params["y"]
            optimizer.tell(suggestion, float(np.sin(7 * x) * np.cos(5 * y) + 0.1 * rng.standard_normal()))
        table = optimizer.predict([{"x": float(x), "y": float(y)} for x, y in rng.random((50, 2))])
        for c in (round(100 * coverage) for coverage in COVERAGES):
            assert (table[f"mean_low_{c}"] >= table[f"measured_low_{c}"]).all()
            assert (table[f"mean_high_{c}"] <= table[f"measured_high_{c}"]).all()
        check_intervals(table)


def test_models_that_take_their_own_errors_for_noise_are_no_surer_of_the_mean() -> None:
    """Drawn in by the share of the members' spread, 80 % intervals of the mean value held 60 % of them."""
    rng = np.random.default_rng(1)
    X, points = rng.random((40, 2)), rng.random((60, 2))
    data = Dataset(X=X, Y=(np.sin(6.0 * X[:, 0]) + np.cos(5.0 * X[:, 1]))[:, None])
    for surrogate in (NeuralEnsemble(), ScikitSurrogate(BayesianRidge())):
        model = Calibrated(surrogate, by=Conformal(), evidence=Split(0.3)).fit(data, rng=rng)
        table = predict_table([model], points, directions=[Direction.MAXIMIZE])
        assert (table["mean_high_80"] == table["measured_high_80"]).all()
        assert model.predict(points, latent=True).std.mean() < model.predict(points, latent=False).std.mean()


def test_a_correction_that_is_not_learned_from_similar_forecasts_is_never_called_the_model_alone() -> None:
    optimizer = Optimizer(SPACE, ocbo(paper=True, search=DRAWS), seed=0)
    for _ in range(16):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, suggestion.params["x"] ** 2 + suggestion.params["y"])
    words = r"\d+ past forecasts, \d+ of them similar"
    assert optimizer.predict([NEAR, FAR])["calibration"].str.fullmatch(words).all()


def check_intervals(table: pd.DataFrame, prefix: str = "") -> None:
    """Check that intervals are finite and strictly nested, with the median strictly inside."""
    for kind in ("measured", "mean"):
        percent = [round(100 * c) for c in COVERAGES]
        lows, highs = (table[[f"{prefix}{kind}_{e}_{c}" for c in percent]].to_numpy() for e in ("low", "high"))
        assert np.isfinite(lows).all() and np.isfinite(highs).all()
        assert np.all(np.diff(lows, axis=1) < 0.0) and np.all(np.diff(highs, axis=1) > 0.0)
        if kind == "measured":
            median = table[f"{prefix}median"].to_numpy()
            assert np.all(lows[:, 0] < median) and np.all(median < highs[:, 0])


@pytest.mark.filterwarnings("ignore:.*predictions could not be calibrated")
def test_conformal_sets_are_named_as_far_as_they_go() -> None:
    optimizer = Optimizer(SPACE, cbo(ratio=None, search=DRAWS), seed=0, n_initial=1)
    seen = []
    for i in range(8):
        optimizer.tell({"x": 0.1 + 0.1 * i, "y": 0.9 - 0.1 * i}, float(np.sin(3.0 * i)))
        seen.append(optimizer.predict([{"x": 0.1, "y": 0.9}])["calibration"][0])
    # Less than half of the mass in the set of two results, half of it in that of four.
    assert seen[0] == "model alone"
    assert seen[1] == "mostly the model, 2 results by conformal sets"
    assert seen[-1] == "the data, by conformal sets"


def test_without_a_conformal_set_the_model_is_alone() -> None:
    optimizer = in_a_corner(cbo(ratio=None, search=DRAWS))
    with pytest.warns(FallbackWarning, match="much less certain than at the data"):
        table = optimizer.predict([NEAR, FAR])
    assert table["calibration"].tolist() == ["the data, by conformal sets", "model alone"]
