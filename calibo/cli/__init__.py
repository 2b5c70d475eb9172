"""The command line. Only `main` is defined here, so that importing it is quick."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command `calibo`."""
    from calibo.cli.app import app

    app(prog_name="calibo")
