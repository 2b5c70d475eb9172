"""Run the reproductions of all papers, or of some by name, one after the other; what is stored is not run again.

``python reproductions/everything.py`` says what is left, runs it with a progress bar for each paper, writes the results and
``docs/evidence.md``. It may be stopped and started again at any time.
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


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the largest exit status of the papers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("papers", nargs="*", metavar="PAPER", help=f"of {', '.join(PAPERS)}; by default all")
    parser.add_argument("--smoke", action="store_true", help="a few steps of everything, into temporary folders")
    parser.add_argument("--left", action="store_true", help="only say what is left")
    parser.add_argument(
        "--verify", type=int, help="run so many stored jobs of each paper again, and store whether they gave the same"
    )
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args(argv)
    if unknown := sorted(set(arguments.papers) - set(PAPERS)):
        parser.error(f"no reproduction is called {', '.join(unknown)}; there are {', '.join(PAPERS)}")
    papers = [paper for paper in PAPERS if paper in arguments.papers] or list(PAPERS)
    status = max(subprocess.run(command(paper, "--left"), check=False).returncode for paper in papers)
    if arguments.left or status:
        return status
    if arguments.verify:
        status = max(
            subprocess.run(command(p, "--verify", str(arguments.verify)), check=False).returncode for p in papers
        )
        return status or subprocess.run([sys.executable, str(HERE / "evidence.py")], check=False).returncode
    options = ["--processes", str(arguments.processes), *(["--smoke"] if arguments.smoke else [])]
    for paper in papers:
        print(f"\n{paper}", flush=True)
        status = max(status, subprocess.run(command(paper, *options), check=False).returncode)
    if not arguments.smoke and not status:
        status = subprocess.run([sys.executable, str(HERE / "evidence.py")], check=False).returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
