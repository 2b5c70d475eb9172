"""Where an optimizer runs: in this process, or in one of its own environment that answers JSON lines.

``python -m benchmarks.peers.hosts OPTIMIZER`` is that other process. It needs this folder, NumPy and the optimizer.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from benchmarks.peers.adapters import Judged, peer
from benchmarks.peers.spaces import Params, PeerSpace, from_json, to_json

ROOT = Path(__file__).parents[2]
#: One thread each, set before NumPy is imported.
THREADS = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


@dataclass(frozen=True)
class Asked:
    """A suggestion.

    Attributes:
        params: The point.
        seconds: CPU time it took, of the tells since the last suggestion too.
    """

    params: Params
    seconds: float


class Host(ABC):
    """An optimizer, of which only the CPU time of its own ask and tell is counted."""

    @abstractmethod
    def start(self, space: PeerSpace, seed: int, n_initial: int) -> None:
        """Begin a new run."""

    @abstractmethod
    def ask(self) -> Asked:
        """Return the next point to measure."""

    @abstractmethod
    def tell(self, params: Params, value: float) -> Judged | None:
        """Record a measurement, and return the forecast that was made for it, judged."""

    def close(self) -> None:
        """End what was started: nothing, unless a host says otherwise."""
        return


class LocalHost(Host):
    """An optimizer in this process."""

    def __init__(self, optimizer: str) -> None:
        self.make = peer(optimizer).load()

    def start(self, space: PeerSpace, seed: int, n_initial: int) -> None:
        self.adapter = self.make(space, seed, n_initial)
        self.spent, self.asked = 0.0, False

    def ask(self) -> Asked:
        begin = time.process_time()
        params = self.adapter.ask()
        seconds, self.spent = time.process_time() - begin + self.spent, 0.0
        self.asked = True
        return Asked(params, seconds)

    def tell(self, params: Params, value: float) -> Judged | None:
        judged = self.adapter.judged(value) if self.asked else None
        begin = time.process_time()
        self.adapter.tell(params, value)
        if self.asked:  # telling the initial points is not part of a suggestion
            self.spent = time.process_time() - begin
        self.asked = False
        return judged


class RemoteHost(Host):
    """An optimizer in a process of its own, in the environment that it needs."""

    def __init__(self, optimizer: str, *, python: Path | None = None) -> None:
        folder = peer(optimizer).environment
        python = python or ROOT / ".venv-peers" / folder / "bin" / "python"
        if not python.exists():
            raise FileNotFoundError(f"{optimizer} needs the environment {folder}: run `make peers-environments` first")
        self.process = subprocess.Popen(
            [str(python), "-m", "benchmarks.peers.hosts", optimizer],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, **THREADS, "PYTHONPATH": str(ROOT)},
        )

    def start(self, space: PeerSpace, seed: int, n_initial: int) -> None:
        self._call("start", space=to_json(space), seed=seed, n_initial=n_initial)

    def ask(self) -> Asked:
        return Asked(**self._call("ask"))

    def tell(self, params: Params, value: float) -> Judged | None:
        judged = self._call("tell", params=params, value=value)
        return Judged(**judged) if judged else None

    def footprint(self) -> dict[str, float]:
        """Return CPU seconds of importing the optimizer and of the process so far, and its largest memory so far in MB."""
        return self._call("footprint")

    def close(self) -> None:
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait(timeout=30)

    def _call(self, what: str, **given: Any) -> Any:
        if not self.process.stdin or not self.process.stdout:
            raise RuntimeError("the process of the optimizer has no pipes")
        self.process.stdin.write(json.dumps({"do": what, **given}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of the optimizer ended with {self.process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["answer"]


def host_of(optimizer: str) -> Host:
    """Return where an optimizer runs."""
    return RemoteHost(optimizer) if peer(optimizer).environment else LocalHost(optimizer)


def serve(optimizer: str, requests: TextIO, answers: TextIO) -> None:
    """Answer requests, one line of JSON each, until there are no more."""
    begin = time.process_time()
    host = LocalHost(optimizer)
    imported = time.process_time() - begin
    for line in requests:
        try:
            answer: dict[str, Any] = {"answer": _answer(host, json.loads(line), imported)}
        except Exception as error:  # whatever an optimizer raises is the caller's to record
            answer = {"error": f"{type(error).__name__}: {error}"[:500]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _answer(host: LocalHost, request: dict[str, Any], imported: float) -> Any:
    what = request.pop("do")
    if what == "start":
        return host.start(from_json(request["space"]), request["seed"], request["n_initial"])
    if what == "ask":
        return asdict(host.ask())
    if what == "tell":
        judged = host.tell(**request)
        return asdict(judged) if judged else None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"import_seconds": imported, "cpu_seconds": time.process_time(), "peak_mb": peak}


if __name__ == "__main__":
    # What an optimizer prints must not get between the answers.
    own = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    serve(sys.argv[1], sys.stdin, own)
