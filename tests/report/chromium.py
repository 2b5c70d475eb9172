"""Pages in a headless Chromium, driven over a pipe by its own protocol: no other package is needed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: Names under which the browser may be installed.
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
#: Seconds to wait for an answer.
PATIENCE = 60.0
#: The browser reads commands from descriptor 3 and answers to 4: a process that gives them these numbers becomes it.
_LAUNCHER = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3])
os.dup2(read, 3)
os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def executable() -> str | None:
    """Return the path of a Chromium; ``None`` if there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """A page of a browser, with the errors that it complained of.

    Attributes:
        errors: Messages of exceptions, of errors on the console, and of what the browser refused.
    """

    def __init__(self, commands: Any, answers: Any) -> None:
        self.errors: list[str] = []
        self._commands, self._answers = commands, answers
        self._number, self._session = 0, None
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def open(self, address: str, width: int, *, dark: bool = False) -> None:
        """Show an address in a window of a width, to somebody who prefers light or dark pages."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call("Page.navigate", url=address)
        self.until("document.readyState === 'complete'")

    def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page."""
        return self._call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait until an expression is true."""
        deadline = time.monotonic() + PATIENCE
        while self.value(expression) is not True:
            assert time.monotonic() < deadline, f"never true: {expression}; {self.errors}"
            time.sleep(0.05)

    def picture(self, path: Path) -> None:
        """Write a picture of the whole page, to look at."""
        import base64

        size = self._call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        found = self._call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(found))

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        self._commands.write(json.dumps(message).encode() + b"\0")
        self._commands.flush()
        while True:
            answer = self._answer()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self._listen(answer)

    def _answer(self) -> dict[str, Any]:
        text = bytearray()
        while (byte := self._answers.read(1)) != b"\0":
            assert byte, "the browser has ended"
            text += byte
        return json.loads(text)

    def _listen(self, event: dict[str, Any]) -> None:
        params: dict[str, Any] = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"]))
        elif event.get("method") == "Runtime.consoleAPICalled" and params["type"] == "error":
            self.errors.append(json.dumps(params["args"]))
        elif event.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])


@contextmanager
def opened(folder: Path) -> Iterator[Page]:
    """Start a browser with a profile in a folder, and end it."""
    path = executable()
    assert path is not None
    to_read, commands = os.pipe()
    answers, to_write = os.pipe()
    words = [path, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
    launcher = [sys.executable, "-c", _LAUNCHER, str(to_read), str(to_write), *words, f"--user-data-dir={folder}"]
    process = subprocess.Popen(
        launcher, pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    os.close(to_read)
    os.close(to_write)
    with os.fdopen(commands, "wb") as written, os.fdopen(answers, "rb") as read:
        try:
            yield Page(written, read)
        finally:
            process.terminate()
            process.wait(timeout=30)
