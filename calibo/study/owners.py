"""Who runs a trial: a process, named so that one on the same machine can tell for certain that it has ended.

Process ids are used again, and mean nothing on another machine or in another container. The name therefore has the boot of
the machine, the namespace of process ids and the time at which the process was started; without all of them (outside of
Linux) nothing is certain, and only the lease decides.
"""

from __future__ import annotations

import functools
import os
import secrets
import socket
from pathlib import Path

_PROC = Path("/proc")


def this_process() -> str:
    """Return the name of this process: host, boot, namespace of process ids, id, start, and a random word."""
    return _named(os.getpid())


@functools.lru_cache(maxsize=4)
def _named(pid: int) -> str:
    return "/".join([_host(), *_world(), str(pid), _start(pid) or "", secrets.token_hex(4)])


def certainly_ended(owner: str) -> bool:
    """Return whether a process ran on this machine, in this namespace, and is there no more; ``False`` if unknown."""
    parts = owner.split("/")
    if len(parts) != 6 or not all(parts[1:5]) or tuple(parts[1:3]) != _world():
        return False
    return _start(int(parts[3])) != parts[4] if parts[3].isdigit() else False


def shown_owner(owner: str) -> str:
    """Return an owner as it is shown to people."""
    parts = owner.split("/")
    return f"process {parts[3]} on {parts[0]}" if len(parts) == 6 else "an unknown process"


def is_stopped(pid: int) -> bool:
    """Return whether a process is suspended (SIGSTOP), as far as that can be known."""
    state = _stat(pid)
    return bool(state) and state[0] == "T"


def _host() -> str:
    return socket.gethostname().replace("/", "-")[:80]


@functools.cache
def _world() -> tuple[str, str]:
    """Return the boot of this machine and the namespace of process ids; empty where there is no way to know."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return boot, str(os.stat(_PROC / "self/ns/pid").st_ino)
    except OSError:
        return "", ""


def _start(pid: int) -> str | None:
    """Return when a process was started, in the kernel's ticks; ``None`` if it has ended or nothing is known of it."""
    stat = _stat(pid)
    # A zombie has ended; only its parent has not noticed yet.
    return None if not stat or stat[0] in "ZX" else stat[19]


def _stat(pid: int) -> list[str]:
    """Return the fields of a process after its name: its state is the first."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()
