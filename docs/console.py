"""What the commands of command_line.md print: run it to write their present output into the page.

    python docs/console.py

The commands are run one after another in a folder of their own, in a terminal of 80 columns, with the files that the page
shows. The tests compare the page with that, numbers aside.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

from typer.testing import CliRunner

from calibo.cli.app import app

PAGE = Path(__file__).with_name("command_line.md")
#: Files of the page: the first block in TOML, and those in Python.
TOML, PYTHON = "space.toml", ("train.py", "mine.py")


def refilled(text: str) -> str:
    """Return the text of the page with the output of its commands as it is now."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        before = os.environ.get("COLUMNS")
        os.environ["COLUMNS"] = "80"
        try:
            _write_files(text)
            return re.sub(r"```console\n(.*?)```", lambda block: _run(block[1]), text, flags=re.DOTALL)
        finally:
            del os.environ["COLUMNS"]
            os.environ.update({} if before is None else {"COLUMNS": before})


def _write_files(text: str) -> None:
    Path(TOML).write_text(re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)[0], encoding="utf-8")
    for name, block in zip(PYTHON, re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL), strict=True):
        Path(name).write_text(block, encoding="utf-8")
        sys.modules.pop(name.removesuffix(".py"), None)


def _run(block: str) -> str:
    """Return a block with its commands and what each prints."""
    lines: list[str] = []
    for command in re.findall(r"^\$ calibo (.*)$", block, flags=re.MULTILINE):
        done = CliRunner().invoke(app, shlex.split(command))
        if done.exit_code:
            raise RuntimeError(f"calibo {command} failed: {done.output}")
        printed = "\n".join(line.rstrip() for line in (done.stderr + done.stdout).splitlines()).strip("\n")
        lines += [f"$ calibo {command}", *printed.splitlines()]
    return "\n".join(["```console", *lines, "```"])


if __name__ == "__main__":
    PAGE.write_text(refilled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
