"""Fill the tables of docs/reliability.md from the stored results of the stress scripts.

Between ``<!-- stress:NAME -->`` and ``<!-- /stress:NAME -->`` the page shows ``stress/results/NAME.json``; markers without a
result are left as they are.

Usage: ``python -m stress.page [--check]``
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from stress.results import RESULTS

PAGE = Path(__file__).parent.parent / "docs" / "reliability.md"
_MARKED = re.compile(r"(<!-- stress:(\w+) -->\n).*?(<!-- /stress:\2 -->)", re.DOTALL)


def section(found: dict[str, Any]) -> str:
    """Return the result of a script in Markdown: what was tried, a table, and what else was measured."""
    head = f"| {' | '.join(found['columns'])} |"
    lines = [head, "|" + "---|" * len(found["columns"])]
    lines += [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in found["rows"]]
    facts = "; ".join(
        f"{name.replace('_', ' ')}: {_fact(value)}" for name, value in found["facts"].items() if value != []
    )
    note = f"\nMeasured on {found['measured']} with Python {found['python']}{f'; {facts}' if facts else ''}.\n"
    return "\n".join([found["title"], "", *lines, note])


def _cell(value: Any) -> str:
    return str(value).replace("|", "\\|")


def _fact(value: Any) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def filled(text: str, results: Path = RESULTS) -> str:
    """Return the page with every marked part filled for which there is a result."""

    def fill(match: re.Match[str]) -> str:
        path = results / f"{match[2]}.json"
        if not path.is_file():
            return match[0]
        return f"{match[1]}{section(json.loads(path.read_text(encoding='utf-8')))}{match[3]}"

    return _MARKED.sub(fill, text)


def main() -> None:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only say whether the page shows the stored results")
    asked = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    new = filled(text)
    if asked.check:
        raise SystemExit(new != text)
    PAGE.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
