"""Write ``docs/evidence.md`` from the stored claims of all reproductions: ``python reproductions/evidence.py``.

Each paper has a ``paper.toml``: its title, its headline claims (which rows of ``results/claims.json``, and the reason we see
where ours differ), and all of its figures and tables. One with ``parts`` is done as soon as the claims of these parts rest on
the seeds that a verdict needs; how many there are of those that are ``meant`` is read from the claims. ``missing`` says why
others are not done.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judging import FEWEST_SEEDS

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "evidence.md"
VERDICTS = ("confirmed", "refuted", "cannot tell")
_INTRODUCTION = """# Evidence

What the papers behind calibo claim, and what we found with calibo's own code. This page is made from the stored claims by
`python reproductions/evidence.py`; `make reproduce` runs what is missing and writes it anew, `make reproduce-kim2025` one
paper, and `make reproduce-left` says what is left.

A claim is **confirmed** if the whole 90 % interval of our number, by resampling the seeds in pairs (of a share of searches,
the exact binomial one), lies within what is claimed, **refuted** if all of it lies outside, and otherwise the runs **cannot
tell**; nor can fewer than five seeds. Five seeds make wide intervals, and resampling them somewhat too narrow ones. Each
verdict names its seeds, its budget and the commit of the code that ran it ("+" stands for changes not committed yet). Runs
of an older commit need not be what the present code gives: `make reproduce-verify` runs three stored ones of each
paper, drawn at random, again and compares every number; what came of it is below. So that runs can be compared between
machines, reproductions use the routines of x86 processors with AVX2 only: with those of AVX-512 the last bits differ, and
after some steps whole searches.
"""


@dataclass(frozen=True)
class Paper:
    """One paper, as its folder describes it.

    Attributes:
        name: That of the folder.
        about: The contents of ``paper.toml``.
        claims: The stored claims.
        verified: Which stored runs were run again, with which commit; ``None`` if none were.
        older: Commits that claims rest on, but no stored run.
    """

    name: str
    about: Mapping[str, Any]
    claims: Sequence[Mapping[str, Any]]
    verified: Mapping[str, Any] | None = None
    older: frozenset[str] = frozenset()

    @classmethod
    def read(cls, folder: Path) -> Paper:
        """Read a paper's description and claims."""
        about = tomllib.loads((folder / "paper.toml").read_text())
        results = folder / "results"
        again = results / "verified.json"
        verified = json.loads(again.read_text()) if again.exists() else None
        claims = json.loads((results / "claims.json").read_text())
        named = {commit for row in claims for commit in str(row.get("commit") or "").split(", ") if commit}
        older = frozenset(named) - _commits(results) - _commits(results / "runs")
        return cls(folder.name, about, claims, verified, older)

    def again(self) -> str:
        """Return how many stored runs, drawn at random, gave the same when they were run again, as "3 of 3"."""
        if self.verified is None:
            return "-"
        rows = self.verified["rows"]
        return f"{sum(row['same'] for row in rows)} of {len(rows)}"

    def earlier(self) -> list[str]:
        """Return the parts whose claims rest on runs of earlier code, in the order of their numbers."""
        parts = {
            str(row["part"])
            for row in self.claims
            if row.get("earlier") or self.older & set(str(row.get("commit")).split(", "))
        }
        return sorted(parts, key=natural)

    def seeds_of(self, item: Mapping[str, Any]) -> tuple[int, int]:
        """Return the fewest and the most seeds of the claims about a figure or table; 0 if there are none."""
        rows = (row for row in self.claims if row["part"] in item["parts"] and item.get("text", "") in row["text"])
        seeds = [int(row.get("seeds") or 0) for row in rows]
        return (min(seeds), max(seeds)) if seeds else (0, 0)

    def done(self, item: Mapping[str, Any]) -> bool:
        """Return whether a figure or table is done: one that is told by claims if these have seeds enough for a verdict."""
        if "parts" not in item:
            return "missing" not in item
        return self.seeds_of(item)[1] >= min(FEWEST_SEEDS, item["meant"])

    def why_not(self, item: Mapping[str, Any]) -> str:
        """Return why a figure or table is not done: the reason that is given, or too few runs."""
        few = f"{self.seeds_of(item)[1]} of {item['meant']} seeds, too few for a verdict." if "parts" in item else ""
        return " ".join(filter(None, [few, item.get("missing", "")]))

    def named(self, item: Mapping[str, Any]) -> str:
        """Return the name of a figure or table, with the seeds that its claims rest on and how many are meant."""
        if "parts" not in item:
            return item["name"]
        fewest, most = self.seeds_of(item)
        there = str(most) if fewest == most else f"{fewest} to {most}"
        meant = f" of {item['meant']}" if most < item["meant"] else ""
        return f"{item['name']} ({there}{meant} seeds)"

    def headlines(self) -> Iterator[tuple[Mapping[str, Any], str]]:
        """Yield the claims that the description names, with the reason given there.

        Raises:
            LookupError: If there is not one stored claim of that part whose text begins so.
        """
        for headline in self.about["headline"]:
            of_part = [row for row in self.claims if row["part"] == headline["part"]]
            rows = [row for row in of_part if row["text"] == headline["text"]] or [
                row for row in of_part if row["text"].startswith(headline["text"])
            ]
            if len(rows) != 1:
                what = f"{self.name}: {len(rows)} stored claims of {headline['part']} begin with {headline['text']!r}"
                raise LookupError(f"{what}; paper.toml must name one, in full if need be")
            yield rows[0], headline.get("reason", "")


def natural(part: str) -> list[Any]:
    """Return a key that sorts numbers within names by their size: 5a, 6b, 12, 13a."""
    return [int(word) if word.isdigit() else word for word in re.split(r"(\d+)", part)]


def _commits(folder: Path) -> frozenset[str]:
    """Return the commits of the runs in a folder."""
    lines = (line for file in folder.glob("*.jsonl") for line in file.read_text().splitlines())
    return frozenset(str(json.loads(line).get("commit")) for line in lines)


def papers(folder: Path = HERE) -> list[Paper]:
    """Return all papers that have a description, by the year in their names."""
    found = sorted(folder.glob("*/paper.toml"), key=lambda file: (file.parent.name[-4:], file.parent.name))
    return [Paper.read(file.parent) for file in found]


def page(found: Sequence[Paper]) -> str:
    """Return the page as markdown."""
    return "\n".join([_INTRODUCTION, *_overview(found), *(line for paper in found for line in _section(paper))])


def _overview(found: Sequence[Paper]) -> Iterator[str]:
    yield "| paper | figures and tables: all / done | " + " | ".join(VERDICTS) + " | the same when run again |"
    yield "|---|---|---|---|---|---|"
    for paper in found:
        items = paper.about["item"]
        done = sum(paper.done(item) for item in items)
        counts = " | ".join(str(sum(row["verdict"] == verdict for row in paper.claims)) for verdict in VERDICTS)
        yield f"| [{paper.about['short']}](#{paper.name}) | {len(items)} / {done} | {counts} | {paper.again()} |"


def _section(paper: Paper) -> Iterator[str]:
    about = paper.about
    yield f"\n({paper.name})=\n## {about['short']}\n\n{about['title']}. Code and all rows: `reproductions/{paper.name}`.\n"
    yield "| where | claim | paper | ours (90 % interval) | verdict | seeds | budget | commit |"
    yield "|---|---|---|---|---|---|---|---|"
    reasons = []
    for row, reason in paper.headlines():
        cells = (row[name] for name in ("part", "text", "claimed", "ours", "verdict"))
        basis = (str(row.get(name) or "-") for name in ("seeds", "budget", "commit"))
        yield f"| {' | '.join([*cells, *basis])} |"
        if reason:
            reasons.append(f"- {row['text']}: {reason}")
    if reasons:
        yield "\nWhat we think is the reason where they differ, or where nothing can be told:\n"
        yield "\n".join(reasons)
    if rests := paper.earlier():
        yield f"\nWhat is said of {', '.join(rests)} rests on runs of earlier code, which the present code"
        yield f"need not repeat to the last digit; `make reproduce-{paper.name}` runs them anew."
    if paper.verified is not None:
        commit, again = paper.verified["commit"], paper.again()
        yield f"\nOf stored runs, drawn at random and run again with commit {commit}, {again} gave the same to the last digit"
        yield "(`results/verified.json`)."
    yield "\nDone: " + ", ".join(paper.named(item) for item in about["item"] if paper.done(item)) + "."
    if missing := [item for item in about["item"] if not paper.done(item)]:
        yield "\nNot done:\n"
        yield "\n".join(f"- {item['name']}: {paper.why_not(item)}" for item in missing)


def main() -> int:
    """Write the page."""
    text = page(papers()) + "\n"
    PAGE.write_text(text)
    print(f"{PAGE.relative_to(HERE.parent)}: {len(text.splitlines())} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
