"""A real browser for tests of pages: Chromium without a window, drawing by software, in which nobody may ask the network."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


def _missing(what: str) -> None:
    """Pages are always opened where changes are judged; elsewhere a browser may be absent."""
    message = f"{what} is needed to open pages in a real browser: apt-get install chromium, pip install playwright"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@contextmanager
def chromium() -> Iterator[Any]:
    """A running browser."""
    program = next((found for name in NAMES if (found := shutil.which(name))), None)
    if program is None:
        _missing("Chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("Playwright")
    with sync_playwright() as play:
        # no sandbox: containers forbid it to root; the pages are our own
        browser = play.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
        )
        yield browser
        browser.close()


@dataclass
class Opened:
    """A page, what it complained about, and what it asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def picture(self, selector: str) -> np.ndarray:
        """An element as it is seen, (height, width, 3)."""
        from PIL import Image

        png = self.page.locator(selector).screenshot()
        return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)


@contextmanager
def opened(browser: Any, path: Path | str, *, still: bool = True, dark: bool = False) -> Iterator[Opened]:
    """A file, or an address, in a new tab; `still` for somebody who prefers that nothing moves by itself."""
    context = browser.new_context(
        viewport={"width": 900, "height": 560},
        reduced_motion="reduce" if still else "no-preference",
        color_scheme="dark" if dark else "light",
    )
    found = Opened(context.new_page())
    found.page.on("console", lambda m: found.complaints.append(m.text) if m.type == "error" else None)
    found.page.on("pageerror", lambda e: found.complaints.append(str(e)))
    found.page.on("request", lambda r: found.requests.append(r.url))
    found.page.goto(path if isinstance(path, str) else path.as_uri())
    yield found
    context.close()
