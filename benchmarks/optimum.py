"""How often intervals of the optimum hold it: those of its value and of its parameters, at 80 %.

Studies of the default on ten functions without noise whose optimum is known, 3 seeds each, asked after 15 and 30 trials. Of
several points at which the optimum is attained any counts. Run with ``python -m benchmarks.optimum`` (some minutes).
"""

from __future__ import annotations

import argparse
import warnings

from calibo import Optimizer
from calibo.errors import CaliboWarning
from calibo.problems import problem

FUNCTIONS = (
    "branin",
    "six_hump_camel",
    "hartmann3",
    "forrester",
    "beale",
    "mccormick",
    "drop_wave",
    "ackley2",
    "cosines",
    "levy2",
)
ASKED = (15, 30)


def one(name: str, seed: int) -> list[tuple[bool, list[bool]]]:
    """Return whether the interval of the value held the optimum, and those of the parameters, at each time of asking."""
    task = problem(name)
    optimizer = Optimizer(task.space(), direction=task.direction, seed=seed)
    found: list[tuple[bool, list[bool]]] = []
    for trial in range(1, max(ASKED) + 1):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, task.objective(suggestion.params))
        if trial in ASKED:
            optimum = optimizer.optimum()
            low, high = optimum.value
            places = {parameter: [point[i] for point in task.optimizers] for i, parameter in enumerate(task.names)}
            inside = [
                any(first <= place <= last for place in places[parameter])
                for parameter, (first, last) in optimum.intervals.items()
            ]
            found.append((low - 1e-9 <= task.optimum <= high + 1e-9, inside))
    return found


def main() -> None:
    """Print how many intervals held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--functions", default=",".join(FUNCTIONS), help="names, separated by commas")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    warnings.simplefilter("ignore", CaliboWarning)
    found = [one(name, seed) for name in given.functions.split(",") for seed in range(given.seeds)]
    for i, trials in enumerate(ASKED):
        values = [study[i][0] for study in found]
        parameters = [inside for study in found for inside in study[i][1]]
        print(
            f"after {trials} trials: the value in {sum(values)} of {len(values)}, "
            f"parameters in {sum(parameters)} of {len(parameters)}"
        )


if __name__ == "__main__":
    main()
