"""What an optimizer needs to start: CPU for its imports and until its first suggestion, and memory, in a fresh process.

python -m benchmarks.peers.footprint --optimizers gp_ei,optuna_tpe,botorch
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

from benchmarks.peers import problems
from benchmarks.peers.adapters import peer
from benchmarks.peers.hosts import RemoteHost
from benchmarks.peers.results import FOLDER

PROBLEM, EVALUATIONS = "bbob_f7_5d", 20
COLUMNS = ("optimizer", "import_seconds", "ready_seconds", "peak_mb")


def measured(optimizer: str) -> dict[str, object]:
    """Return the footprint of a short run in a process of its own."""
    own = None if peer(optimizer).environment else Path(sys.executable)
    host, problem = RemoteHost(optimizer, python=own), problems.get(PROBLEM, 0)
    host.start(problem.space, 0, problem.n_initial)
    for number, params in enumerate(problem.initial(0)):
        host.tell(params, problem.evaluate(params, 0, number)[0])
    asked = host.ask()
    ready = host.footprint()
    for number in range(problem.n_initial, EVALUATIONS):
        host.tell(asked.params, problem.evaluate(asked.params, 0, number)[0])
        asked = host.ask()
    after = host.footprint()
    host.close()
    return {
        "optimizer": optimizer,
        "import_seconds": round(ready["import_seconds"], 2),
        "ready_seconds": round(ready["cpu_seconds"], 2),
        "peak_mb": round(after["peak_mb"]),
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure optimizers, and write their rows; those measured before stay."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--optimizers", required=True, help="names, separated by commas")
    parser.add_argument("--results", type=Path, default=FOLDER)
    given = parser.parse_args(arguments)
    file = given.results / "footprint.csv"
    kept: dict[str, dict[str, object]] = {}
    if file.exists():
        with file.open(newline="") as stream:
            kept = {row["optimizer"]: dict(row) for row in csv.DictReader(stream)}
    for optimizer in given.optimizers.split(","):
        kept[optimizer] = measured(optimizer)
        print(kept[optimizer], flush=True)
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept[name] for name in sorted(kept))


if __name__ == "__main__":
    main()
