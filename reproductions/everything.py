"""Run the reproductions of all papers, or of some by name, one after the other; what is stored is not run again.

``python reproductions/everything.py`` says what is left, runs it with a progress bar for each paper, and writes the results
and the pages that are made of them: the papers' READMEs, ``docs/evidence.md`` and the verdicts in ``docs/papers``. It may be
stopped and started again at any time; ``--pages`` writes what is there so far.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: The shortest first.
PAPERS = ("deshpande2024", "kim2025", "song2022", "stanton2023", "chen2025")


def command(paper: str, *arguments: str) -> list[str]:
    """Return the command line of a paper's reproduction."""
    return [sys.executable, str(HERE / paper / "run.py"), *arguments]


def write_pages(papers: Sequence[str]) -> int:
    """Write claims, tables, pictures and pages of some papers from what is stored; return the largest exit status."""
    pages = (HERE / "evidence.py", HERE.parent / "docs" / "verdict_tables.py")
    scripts = [command(paper, what) for paper in papers for what in ("--claims", "--readme")]
    scripts += [[sys.executable, str(page)] for page in pages]
    return max(subprocess.run(script, stdout=subprocess.DEVNULL, check=False).returncode for script in scripts)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the largest exit status of the papers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("papers", nargs="*", metavar="PAPER", help=f"of {', '.join(PAPERS)}; by default all")
    parser.add_argument("--smoke", action="store_true", help="a few steps of everything, into temporary folders")
    parser.add_argument("--left", action="store_true", help="only say what is left")
    parser.add_argument(
        "--verify", type=int, help="run so many stored jobs of each paper again, and store whether they gave the same"
    )
    parser.add_argument("--pages", action="store_true", help="run nothing; write all pages from what is stored")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args(argv)
    if unknown := sorted(set(arguments.papers) - set(PAPERS)):
        parser.error(f"no reproduction is called {', '.join(unknown)}; there are {', '.join(PAPERS)}")
    papers = [paper for paper in PAPERS if paper in arguments.papers] or list(PAPERS)
    status = max(subprocess.run(command(paper, "--left"), check=False).returncode for paper in papers)
    if arguments.left or status:
        return status
    if arguments.pages:
        return write_pages(papers)
    if arguments.verify:
        status = max(
            subprocess.run(command(p, "--verify", str(arguments.verify)), check=False).returncode for p in papers
        )
        return status or write_pages(papers)
    options = ["--processes", str(arguments.processes), *(["--smoke"] if arguments.smoke else [])]
    for paper in papers:
        print(f"\n{paper}", flush=True)
        status = max(status, subprocess.run(command(paper, *options), check=False).returncode)
    return status if arguments.smoke else status or write_pages(papers)


if __name__ == "__main__":
    sys.exit(main())
