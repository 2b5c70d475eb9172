"""Write files so that an old one is replaced only by a complete new one."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def why_unwritable(path: Path) -> str | None:
    """Return why a file cannot be written, ``None`` if it can: to fail before a long computation, not after it."""
    try:
        os.fsencode(path)
        path.stat()
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:  # too long, with a NUL character, or not readable
        return str(error.strerror or error) if isinstance(error, OSError) else "its name is not one that files can have"
    if path.is_dir():
        return "it is a folder"
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    if path.exists() and not path.is_file():
        return "it is not a file that may be replaced"
    return None if os.access(path.parent, os.W_OK) else f"you may not write to the folder {path.parent}"


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the path of a new file, which takes the place (and permissions) of ``path`` in one step.

    If the block fails, the new file is removed and the old one stays as it was.
    """
    new = path.with_name(f".{path.stem}.{secrets.token_hex(4)}.part{path.suffix}")
    try:
        yield new
        if path.exists():
            shutil.copymode(path, new)
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)
