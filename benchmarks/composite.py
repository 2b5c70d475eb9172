"""CPU seconds and regret of composite LFBO against BoTorch's composite EI, on the environmental model.

Run with ``python benchmarks/composite.py`` (needs the extra ``botorch``); ``--quick`` does 3 iterations and writes nothing.
Both begin with the same 10 random points and add 40, as in Song et al. (2022), appendix C.2; one thread, imports not counted.
BoTorch's is a Gaussian process for each of the 12 measured concentrations, refitted at every step, and the logarithm of the
expected improvement of their known function by 128 quasi-random draws, with the settings of its tutorials.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from calibo import Optimizer
from calibo.data import Array
from calibo.problems.environmental import environmental

HERE = Path(__file__).parent
MODEL = environmental()
FIRST, ITERATIONS = 10, 40
#: Iterations after which the regret is noted.
NOTED = (10, 20, 40)


def calibo_run(start: Array, iterations: int, seed: int) -> list[float]:
    """Return the best losses after 0, 1, ... iterations of composite LFBO."""
    space = MODEL.problem.space()
    optimizer = Optimizer(space, composite=MODEL.loss, seed=seed)
    losses: list[float] = []
    for point in MODEL.problem.from_unit(start):
        params = dict(zip(space, point.tolist(), strict=True))
        optimizer.tell(params, MODEL.measure(params))
    losses.append(optimizer.best[1])
    for _ in range(iterations):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, MODEL.measure(suggestion.params))
        losses.append(optimizer.best[1])
    return losses


def botorch_run(start: Array, iterations: int, seed: int) -> list[float]:
    """Return the best losses after 0, 1, ... iterations of composite EI."""
    import torch
    from botorch.acquisition import qLogExpectedImprovement
    from botorch.acquisition.objective import GenericMCObjective
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from botorch.sampling import SobolQMCNormalSampler
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    bounds = torch.stack([torch.zeros(4), torch.ones(4)]).double()
    objective = GenericMCObjective(lambda samples, X=None: MODEL.outer(samples))

    def measured(X: Any) -> Any:
        return torch.from_numpy(MODEL.vectors(MODEL.problem.from_unit(X.numpy())))

    X = torch.from_numpy(start)
    H = measured(X)
    losses = [float(-MODEL.outer(H).max())]
    for _ in range(iterations):
        model = SingleTaskGP(X, H)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        acquisition = qLogExpectedImprovement(
            model, MODEL.outer(H).max(), sampler=SobolQMCNormalSampler(torch.Size([128])), objective=objective
        )
        found, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=10, raw_samples=512)
        X = torch.cat([X, found.detach()])
        H = measured(X)
        losses.append(float(-MODEL.outer(H).max()))
    return losses


TOOLS: dict[str, Callable[[Array, int, int], list[float]]] = {
    "composite_lfbo": calibo_run,
    "botorch composite EI": botorch_run,
}


def measure(repeats: int, iterations: int) -> dict[str, Any]:
    """CPU seconds of a run, and the median regret on the way, of every tool."""
    found: dict[str, Any] = {}
    for tool, run in TOOLS.items():
        # Imports and what is done once.
        run(np.random.default_rng(99).random((FIRST, 4)), 1, 99)
        spent, losses = [], []
        for seed in range(repeats):
            start = np.random.default_rng(seed).random((FIRST, 4))
            begin = time.process_time()
            losses.append(run(start, iterations, seed))
            spent.append(time.process_time() - begin)
        regrets = np.median(losses, axis=0)
        noted = {str(i): float(regrets[i]) for i in (0, *NOTED) if i <= iterations}
        found[tool] = {"seconds": float(np.median(spent)), "regret": noted}
        print(tool, found[tool], flush=True)
    ours, theirs = (found[tool]["seconds"] for tool in TOOLS)
    return {"iterations": iterations, "tools": found, "composite_lfbo / botorch": ours / theirs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="3 iterations, once, and nothing is written")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    result = measure(1, 3) if arguments.quick else measure(arguments.repeats, ITERATIONS)
    print("composite_lfbo / botorch", round(result["composite_lfbo / botorch"], 3))
    if not arguments.quick:
        (HERE / "results").mkdir(exist_ok=True)
        (HERE / "results" / "composite.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
