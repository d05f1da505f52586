"""A headless Chromium, spoken to over a pipe: loads a file, and tells all that the page did meanwhile.

Protocol: https://chromedevtools.github.io/devtools-protocol; messages end with a zero byte.
"""

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PATIENCE = 120.0  # seconds until a browser that says nothing counts as hung
_FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",  # it runs as root in a container, and loads nothing but our own file
    "--disable-gpu",
    "--hide-scrollbars",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--force-color-profile=srgb",
)


_DRAWN = """new Promise((done, failed) => {
  const i = new Image()
  i.onload = () => {
    window.c = Object.assign(document.createElement("canvas"), {width: i.width, height: i.height})
    c.getContext("2d").drawImage(i, 0, 0)
    done(true)
  }
  i.onerror = failed
  i.src = "ADDRESS"
})"""
_SEEN = """(() => {
  const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, found = []
  for (let y = 0; y < c.height; y += EVERY)
    for (let x = 0; x < c.width; x += EVERY) {
      const at = 4 * (y * c.width + x)
      found.push([...d.slice(at, at + 3)])
    }
  return found
})()"""


def program() -> str | None:
    """Path of the browser, None when this machine has none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Chromium:
    """One browser with one tab."""

    def __init__(self, profile: Path) -> None:
        found = program()
        if found is None:
            raise FileNotFoundError(f"none of {', '.join(NAMES)} is installed")
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs_in, theirs_out)]

        def place() -> None:  # the browser reads 3 and writes 4
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self._process = subprocess.Popen(
            [found, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(3, 4),
            preexec_fn=place,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(profile)},
        )
        for end in (*ends, theirs_in, theirs_out):
            os.close(end)
        self._numbers = itertools.count(1)
        self._rest = b""
        self.events: list[dict[str, Any]] = []
        self._session = ""
        self._session = self._attach()
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Result of a method; events that come before it are kept."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        while True:
            answer = self._next()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, file: Path, *, width: int = 1280, scheme: str = "light") -> None:
        """Load a file in a window of that width, for somebody who likes it light or dark."""
        self.resize(width)
        self.prefer(scheme)
        self._go(file.as_uri())

    def resize(self, width: int, height: int = 900) -> None:
        """Give the window another size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def prefer(self, scheme: str, media: str = "") -> None:
        """Set `prefers-color-scheme`, and the medium (`print`)."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def value(self, expression: str) -> Any:
        """What a script expression in the page gives."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key: `Tab`, `Enter`, `ArrowRight`, or a space."""
        codes = {"Tab": 9, "Enter": 13, " ": 32, "ArrowRight": 39}
        text = {" ": " ", "Enter": "\r"}.get(key, "")
        names = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": codes[key]}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **names)
        self.call("Input.dispatchKeyEvent", type="keyUp", **names)

    def picture(self, file: Path) -> bytes:
        """PNG of the whole page, written to `file`."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True, format="png")
        file.write_bytes(base64.b64decode(shot["data"]))
        return file.read_bytes()

    def pixels(self, png: bytes, every: int) -> tuple[int, int, list[list[int]]]:
        """Width and height of a picture, and the colours of pixels on a grid, row by row from the corner."""
        self._go("about:blank")
        address = f"data:image/png;base64,{base64.b64encode(png).decode()}"
        self.value(_DRAWN.replace("ADDRESS", address))
        width, height = self.value("[c.width, c.height]")
        return width, height, self.value(_SEEN.replace("EVERY", str(every)))

    def paper(self, file: Path) -> bytes:
        """PDF of the page as it prints on A4, written to `file`."""
        printed = self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True)
        file.write_bytes(base64.b64decode(printed["data"]))
        return file.read_bytes()

    def close(self) -> None:
        """End the browser that was started here, and its children with it."""
        try:
            self._session = ""
            self.call("Browser.close")
            self._process.wait(20)
        except (OSError, RuntimeError, TimeoutError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        for end in (self._to, self._from):
            os.close(end)

    def _go(self, address: str) -> None:
        self.events.clear()
        self.call("Page.navigate", url=address)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def _attach(self) -> str:
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        session: str = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)[
            "sessionId"
        ]
        return session

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + _PATIENCE
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], max(until - time.monotonic(), 0))
            data = os.read(self._from, 1 << 20) if ready else b""
            if not data:
                raise TimeoutError("the browser says nothing more")
            self._rest += data
        first, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(first)
        return message
