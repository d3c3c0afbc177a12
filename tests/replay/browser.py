"""A headless browser for tests, driven over a pipe: pages, keys, media, pictures, its console."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--no-first-run", "--hide-scrollbars", "--disable-extensions", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
    "--remote-debugging-pipe", "--force-color-profile=srgb", "--lang=en-US",
)  # fmt: skip


def find_browser() -> str | None:
    """The first browser that is installed."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of one browser process."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write
        self._buffer = b""
        self._last = 0
        self._scripts = True
        self._session: str | None = None
        self.logged: list[str] = []
        """What the page wrote to the console, and errors."""
        self.requested: list[str] = []
        """Every address that was asked for."""

    def ask(self, method: str, **parameters: Any) -> Any:
        """One command of the DevTools protocol and its answer."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        while True:
            answer = self._next()
            if answer.get("id") == self._last:
                assert "error" not in answer, answer
                return answer["result"]
            self._heard(answer)

    def attach(self) -> None:
        """Open the page and listen."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def open(self, path: Path, *, width: int = 1200, height: int = 900, **media: str) -> None:
        """Load a file, in a window of this size and with these media features."""
        self.logged.clear()
        self.requested.clear()
        self.size(width, height)
        features = [
            {"name": name.replace("_", "-"), "value": value} for name, value in media.items()
        ]
        self.ask("Emulation.setEmulatedMedia", features=features)
        self.ask("Page.navigate", url="about:blank")
        self.ask("Page.navigate", url=path.resolve().as_uri())
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")
        if self._scripts:
            self.frames()

    def frames(self) -> None:
        """Wait until the page has drawn what it was told to."""
        self.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def size(self, width: int, height: int) -> None:
        """The size of the window."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip

    def scripts(self, on: bool) -> None:
        """Whether pages may run scripts, from the next one on."""
        self._scripts = on
        self.ask("Emulation.setScriptExecutionDisabled", value=not on)

    def js(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self.ask(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, expression: str) -> None:
        """Ask until it is true."""
        for _ in range(2_000):
            if self.js(expression):
                return
        raise AssertionError(f"never true: {expression}")

    def press(self, *keys: str) -> None:
        """Keys one after the other: `Tab`, `Shift+Tab`, `Enter`, `ArrowRight`, `f`."""
        for key in keys:
            modifiers = 8 if key.startswith("Shift+") else 0
            name = key.removeprefix("Shift+")
            code = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39,
                    "Home": 36, "End": 35}.get(name, 0)  # fmt: skip
            text = "\r" if name == "Enter" else name if len(name) == 1 else ""
            event = {"key": name, "modifiers": modifiers, "windowsVirtualKeyCode": code}
            if code:
                event["code"] = name
            self.ask("Input.dispatchKeyEvent", type="keyDown", **event, text=text)
            self.ask("Input.dispatchKeyEvent", type="keyUp", **event)
        self.frames()

    def click(self, selector: str) -> None:
        """A click with the mouse in the middle of an element."""
        x, y = self.js(
            f"(() => {{const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]})()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.ask(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1,
                buttons=int(kind == "mousePressed"),
            )  # fmt: skip
        self.frames()

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """A screenshot of the window, or of the whole page."""
        data = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole,
                        **self._clip(whole))["data"]  # fmt: skip
        path.write_bytes(base64.b64decode(data))

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {**size, "scale": 1}}

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            data = os.read(self._read, 1 << 20)
            assert data, "the browser ended"
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _heard(self, event: dict[str, Any]) -> None:
        parameters = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded":
                self.logged.append(json.dumps(parameters))
            case "Network.requestWillBeSent":
                self.requested.append(parameters["request"]["url"])


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser that is there while it is needed."""
    path = find_browser()
    assert path is not None, f"none of {', '.join(NAMES)} is installed"
    to_child, from_us = os.pipe()
    from_child, to_us = os.pipe()[0:2]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:

        def ends() -> None:
            # The browser reads commands from descriptor 3 and answers on 4.
            high_read, high_write = os.dup2(to_child, 60), os.dup2(to_us, 61)
            os.dup2(high_read, 3)
            os.dup2(high_write, 4)

        process = subprocess.Popen(
            [path, *FLAGS, f"--user-data-dir={home}", "about:blank"],
            preexec_fn=ends, pass_fds=(3, 4), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_child)
        os.close(to_us)
        try:
            one = Browser(from_child, from_us)
            one.attach()
            yield one
            one._session = None
            one.ask("Browser.close")
            process.wait(20)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            os.close(from_child)
            os.close(from_us)
