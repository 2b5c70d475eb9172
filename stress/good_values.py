"""Values that a call takes, so that a bad one among them is the only thing wrong with it."""

from __future__ import annotations

import inspect
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import optuna

import calibo
from calibo import Categorical, Float, Int, Optimizer
from calibo.acquisition import ExpectedImprovement
from calibo.auditing import Forecaster
from calibo.calibration import OnlineQuantile
from calibo.classifiers import BoreLabels, KernelLogistic
from calibo.data import Forecast, Marginal
from calibo.distributions import Gaussian
from calibo.models import GaussianProcess
from calibo.optimize import fitted_plan
from calibo.search import MultiStart
from calibo.spaces import as_space
from calibo.trials import Direction

SPACE = {"x": Float(0, 1), "y": Int(0, 5), "c": Categorical(["a", "b"])}
POINT = {"x": 0.5, "y": 2, "c": "a"}
CSV = "a,b,c,yield\n" + "".join(f"{i},{i * i % 7},{'uvw'[i % 3]},{'' if i % 3 else i / 10}\n" for i in range(24))


class Good:
    """Good values by the name of the argument, or by its annotation."""

    def __init__(self, folder: Path) -> None:
        self.folder: Path = folder
        (folder / "good.csv").write_text(CSV)
        self.storage: str = str(folder / "good.db")
        self.result = calibo.minimize(lambda p: p["x"], SPACE, 7, "gp_ei", self.storage, "s", seed=1, progress=False)
        self.optimizer: Optimizer = self.fresh_optimizer()
        for _ in range(7):
            suggestion = self.optimizer.ask()
            self.optimizer.tell(suggestion, suggestion.params["x"], constraints={"m": suggestion.params["x"] - 0.9})
        self.plan = fitted_plan(self.optimizer.data(), self.optimizer.strategy, rng=np.random.default_rng(0))

    def fresh_optimizer(self) -> Optimizer:
        """Return an optimizer without trials."""
        return Optimizer(SPACE, "gp_ei", seed=1)

    def used_optimizer(self) -> Optimizer:
        """Return an optimizer with trials, to which more can be told without changing others."""
        new = self.fresh_optimizer()
        for trial in self.optimizer.trials:
            new.tell(dict(trial.params), (trial.values or (0.0,))[0], constraints=trial.constraints)
        return new

    @cached_property
    def by_name(self) -> dict[str, Any]:
        """Good values of arguments without a default, by name."""
        optimizer, plan = self.optimizer, self.plan
        marginals = [Marginal(0.1 * i, 1.0) for i in range(8)]
        trials = optimizer.trials
        X = optimizer.data().X
        model = plan.models[0]
        study = optuna.create_study()
        study.add_trials(self.result.optuna_trials)
        return {
            "space": as_space(SPACE),
            "obj": SPACE,
            "parameters": SPACE,
            "choices": ["a", "b"],
            "low": 0,
            "high": 5,
            "table": str(self.folder / "good.csv"),
            "features": ["a", "b"],
            "target": "yield",
            "surrogate": GaussianProcess(),
            "by": OnlineQuantile(),
            "rule": ExpectedImprovement(),
            "objective": lambda p: p["x"],
            "study": study,
            "what": "ocbo",
            "path": self.folder / "x.html",
            "name": "branin",
            "dimension": 2,
            "distributions": marginals,
            "reference": marginals,
            "outcomes": [0.1 * i for i in range(8)],
            "coverage": 0.8,
            "level": 0.3,
            "levels": [0.1, 0.5, 0.9],
            "pits": [0.1, 0.4, 0.7],
            "values": [3.0, 2.0, 1.0],
            "optimum": 0.0,
            "lower": 0.0,
            "upper": 1.0,
            "successes": [1, 2],
            "results": [2, 4],
            "p": 0.5,
            "forecasts": [Forecast((m,)) for m in marginals],
            "met": [True] * 8,
            "trials": trials,
            "directions": optimizer.directions,
            "outcome": self.result.report_data().outcomes[0],
            "data": optimizer.data(),
            "strategy": optimizer.strategy,
            "source": as_space(SPACE),
            "q": 1,
            "rng": np.random.default_rng(0),
            "seed": 0,
            "number": 1,
            "model": model,
            "models": plan.models,
            "X": X,
            "direction": Direction.MINIMIZE,
            "latent": True,
            "categories": optimizer.space.categories,
            "count": 1,
            "constraints": ("m",),
            "forecast": Forecast((marginals[0],)),
            "suggestion": trials[0].suggestion,
            "objectives": 1,
            "sem": 0.1,
            "asked": "best",
            "epsilon": 0.1,
            "rules": calibo.Patience(5),
            "storage": self.storage,
            "distribution": Gaussian(np.zeros(3), np.ones(3)),
            "base": Gaussian(np.zeros(3), np.ones(3)),
            "parts": [Gaussian(np.zeros(3), np.ones(3))],
            "weights": [1.0],
            "marginals": marginals,
            "classifier": KernelLogistic(),
            "labels": BoreLabels(),
            "search": MultiStart(),
            "n": 5,
            "params": POINT,
            "mean": np.zeros(2),
            "std": np.ones(2),
            "forecasters": [Forecaster("gp", GaussianProcess())],
            "start": 5,
            "exponent": 0.5,
            "factor": 1.5,
            "regressor": object(),
            "estimator": object(),
            "stages": (marginals[0],),
            "title": "t",
            "method": "gp_ei",
            "problem": calibo_problem(),
            "dataset": "wine",
            "acquisition": plan.acquisition,
            "log_probabilities": [],
            "probability": lambda X: X[:, 0],
            "pending": np.zeros((0, 3)),
            "logarithmic": False,
            "utility": lambda *a: 0.0,
            "slope": 1.0,
            "tradeoff": None,
            "value": 1.0,
            "trial": study.ask(),
            "vector": [1.0, 2.0],
            "message": "m",
            "result": self.result,
            "Y": optimizer.data().Y,
            "y": X[:, 0],
            "z": X[:, 0] > 0.5,
            "threshold": 0.5,
            "slacks": (model,),
            "posterior": model,
            "level_map": lambda d, X: d,
            "evidence": None,
            "knots": np.array([-1.0, 0.0, 1.0]),
            "r": np.array([0.1, 0.5, 0.9]),
        }

    def of(self, parameter: inspect.Parameter) -> Any:
        """Return a good value of an argument, as far as one is known."""
        if parameter.default is not inspect.Parameter.empty and repr(parameter.default) != "<factory>":
            return parameter.default
        if repr(parameter.default) == "<factory>":
            return inspect.Parameter.empty
        return self.by_name.get(parameter.name, 0.5)


def calibo_problem() -> Any:
    """Return a test problem."""
    from calibo.problems import problem

    return problem("branin")
