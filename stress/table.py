"""Writes the results of the stress tests into docs/reliability.md: python -m stress.table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stress.results import read

PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"
BEGIN, END = "<!-- results: python -m stress.table -->", "<!-- end of the results -->"


def table(rows: list[dict[str, Any]], columns: dict[str, str]) -> str:
    """Return rows as a table; ``columns`` are the names of the values by the titles they are shown under."""
    head = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    return "\n".join(
        [*head, *(f"| {' | '.join(str(row.get(name, '')) for name in columns.values())} |" for row in rows)]
    )


_COMMON = {
    "lost": "lost",
    "stuck": "stuck",
    "run twice at once": "twice_at_once",
    "wrong pairs": "wrong_pairs",
    "counted as failures": "failures",
    "errors": "errors",
}


def results() -> str:
    """Return all tables."""
    kills = read("kills")
    parts = [
        "## kill -9",
        table(
            kills,
            {
                "storage": "store",
                "form": "form",
                "workers": "workers",
                "kills": "kills",
                "trials": "trials",
                "run again": "run_again",
                "given up": "interrupted",
                **_COMMON,
            },
        ),
        "## Starting together",
        table(
            read("starts"),
            {
                "storage": "store",
                "workers": "workers",
                "new storages": "rounds",
                "starts": "starts",
                "failed": "failed",
                "rounds with several seeds": "rounds_with_several_seeds",
                "numbers given twice": "numbers_twice",
            },
        ),
        "## Outages",
        table(
            read("outages"),
            {
                "what": "what",
                "trials": "trials",
                "measured": "measured",
                "measured and not stored": "measured_not_stored",
                "run again": "run_again",
                **_COMMON,
                "named errors": "named_errors",
            },
        ),
        "## Throughput",
        table(
            read("throughput"),
            {
                "storage": "store",
                "sampler": "sampler",
                "workers": "workers",
                "trials per second": "per_second",
                "writing transactions per trial": "writes_per_trial",
                "CPU ms per trial": "cpu_ms",
                "trials before": "begun",
            },
        ),
        "## Long studies",
        table(
            read("long"),
            {
                "trials": "trials_before",
                "what": "what",
                "CPU seconds": "cpu",
                "of Optuna alone": "optuna",
                "MB": "mb",
            },
        ),
    ]
    return "\n\n".join(parts)


def main() -> None:
    """Rewrite the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{results()}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
