"""Threads of linear algebra: calibo's matrices are small, and many threads only wait for each other on them.

OpenBLAS and OpenMP start a thread per core by default, in every worker. Around its own computations calibo limits them to
one, and gives the user's setting back afterwards.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

_lock = threading.Lock()
#: The thread whose block has set the limit, and the libraries that are known with the number of modules there were then.
_owner: int | None = None
_controller: Any = None
_loaded = 0


@contextlib.contextmanager
def single_threaded() -> Iterator[None]:
    """Limit the threads of linear algebra to one in this block.

    The limit is one of the process, and only the thread that has set it can give the user's setting back. Of several threads
    in such blocks the first sets it, until it leaves.
    """
    global _owner
    with _lock:
        mine = _owner is None
        if mine:
            _owner = threading.get_ident()
    if not mine:
        yield
        return
    try:
        with _libraries().limit(limits=1):
            yield
    finally:
        with _lock:
            _owner = None


def _libraries() -> Any:
    """Return the libraries that are loaded; they are looked for again when modules have been imported since."""
    global _controller, _loaded
    if _controller is None or len(sys.modules) != _loaded:
        from threadpoolctl import ThreadpoolController

        _controller, _loaded = ThreadpoolController(), len(sys.modules)
    return _controller
