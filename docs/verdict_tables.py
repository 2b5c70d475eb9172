"""Write what the stored results of the reproductions say into the pages of the papers: `python docs/verdict_tables.py`.

A page has markers, ``<!-- verdicts -->`` to ``<!-- end of verdicts -->``, and a test compares it with the results.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAPERS, REPRODUCTIONS = ROOT / "docs" / "papers", ROOT / "reproductions"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def of_claims(name: str) -> str:
    """Return the claims of a paper with what was found: how many have which verdict, and each of them."""
    claims = json.loads((REPRODUCTIONS / name / "results" / "claims.json").read_text(encoding="utf-8"))
    judged = [claim for claim in claims if claim["verdict"] != "-"]
    counts = Counter(claim["verdict"] for claim in judged)
    said = ", ".join(f"{verdict}: {count}" for verdict, count in counts.most_common())
    rows = [[claim[field] for field in ("part", "text", "claimed", "ours", "verdict")] for claim in judged]
    header = ["figure", "claim", "paper", "ours", ""]
    return f"{len(judged)} claims that could be put as numbers ({said}):\n\n{table(header, rows)}"


def of_deshpande() -> str:
    """Return the Forrester example, and the curves at their end."""
    results = REPRODUCTIONS / "deshpande2024" / "results"
    starts = json.loads((results / "forrester.json").read_text(encoding="utf-8"))
    kinds = [key for key in starts[0] if key != "starts"]
    first = table(
        ["starting points", *kinds],
        [[", ".join(f"{x:g}" for x in row["starts"]), *(f"{row[kind]:.2f}" for kind in kinds)] for row in starts],
    )
    curves = json.loads((results / "curves.json").read_text(encoding="utf-8"))
    names = list(next(iter(curves.values())))
    header = ["problem, acquisition", *(f"calibration error, {n}" for n in names), *(f"best value, {n}" for n in names)]
    rows = [
        [what, *(f"{found[n]['error'][-1]:.2f}" for n in names), *(f"{found[n]['best'][-1]:.2f}" for n in names)]
        for what, found in curves.items()
    ]
    better = sum(found[names[1]]["error"][-1] < found[names[0]]["error"][-1] for found in curves.values())
    said = f"The calibration error is smaller with the paper's recalibrator than without on {better} of {len(curves)}."
    return f"{first}\n\n{table(header, rows)}\n\n{said}"


def of_stanton() -> str:
    """Return what the paper shows beside what was found, from the table that ``run.py --table`` makes of the results."""
    text = (REPRODUCTIONS / "stanton2023" / "README.md").read_text(encoding="utf-8")
    made = re.search(r"<!-- run\.py --table -->\n(.*?)<!-- end -->", text, flags=re.DOTALL)
    assert made, "the table of the reproduction has no markers"
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in made[1].splitlines() if line.startswith("|")
    ]
    rows = [row for row in cells if row[0] not in {"figure", "---"} and row[2] != "not shown"]
    return table(["figure", "what", "the paper", "ours"], [row for row in rows if re.match(r"(5|6|7|14|15)", row[0])])


#: What goes into each page.
MADE: dict[str, Callable[[], str]] = {
    "ocbo": of_deshpande,
    "locbo": lambda: of_claims("kim2025"),
    "cbo": of_stanton,
    "lfbo": lambda: of_claims("song2022"),
    "bananas_cp": lambda: of_claims("chen2025"),
}


def filled(name: str) -> str:
    """Return a paper's page with what the stored results say now.

    Raises:
        ValueError: If the page has no markers.
    """
    page = (PAPERS / f"{name}.md").read_text(encoding="utf-8")
    marked = re.compile(r"(<!-- verdicts -->\n).*?(<!-- end of verdicts -->)", flags=re.DOTALL)
    if not marked.search(page):
        raise ValueError(f"docs/papers/{name}.md has no <!-- verdicts --> ... <!-- end of verdicts -->")
    return marked.sub(lambda found: f"{found[1]}{MADE[name]()}\n{found[2]}", page)


def main() -> None:
    """Write all pages."""
    for name in MADE:
        (PAPERS / f"{name}.md").write_text(filled(name), encoding="utf-8")


if __name__ == "__main__":
    main()
