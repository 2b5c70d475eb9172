"""Write the verdicts of the reproductions into the pages of the papers: `python docs/verdict_tables.py`.

A page has markers, ``<!-- verdicts -->`` to ``<!-- end of verdicts -->``, and a test compares it with the stored claims.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAPERS, REPRODUCTIONS = ROOT / "docs" / "papers", ROOT / "reproductions"
sys.path.insert(0, str(REPRODUCTIONS))

from evidence import VERDICTS, Paper  # noqa: E402

#: The reproduction behind each page.
REPRODUCED = {
    "ocbo": "deshpande2024",
    "locbo": "kim2025",
    "cbo": "stanton2023",
    "lfbo": "song2022",
    "bananas_cp": "chen2025",
}


def verdicts(name: str) -> str:
    """Return how many claims of a paper were confirmed, and its headline claims with what was found."""
    paper = Paper.read(REPRODUCTIONS / name)
    counts = Counter(row["verdict"] for row in paper.claims)
    said = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS)
    lines = [
        f"Of {sum(counts[verdict] for verdict in VERDICTS)} claims put as numbers: {said}. Those that matter most "
        f"([with seeds, budget and reasons](../evidence.md#{name})):",
        "",
        "| where | claim | paper | ours (90 % interval) | verdict |",
        "|---|---|---|---|---|",
    ]
    for row, _ in paper.headlines():
        lines.append("| " + " | ".join(row[field] for field in ("part", "text", "claimed", "ours", "verdict")) + " |")
    return "\n".join(lines)


def filled(page_name: str) -> str:
    """Return a paper's page with what the stored claims say now.

    Raises:
        ValueError: If the page has no markers.
    """
    page = (PAPERS / f"{page_name}.md").read_text(encoding="utf-8")
    marked = re.compile(r"(<!-- verdicts -->\n).*?(<!-- end of verdicts -->)", flags=re.DOTALL)
    if not marked.search(page):
        raise ValueError(f"docs/papers/{page_name}.md has no <!-- verdicts --> ... <!-- end of verdicts -->")
    return marked.sub(lambda found: f"{found[1]}{verdicts(REPRODUCED[page_name])}\n{found[2]}", page)


def main() -> None:
    """Write all pages."""
    for name in REPRODUCED:
        (PAPERS / f"{name}.md").write_text(filled(name), encoding="utf-8")


if __name__ == "__main__":
    main()
