"""Draw the picture of docs/studio.md anew: `python docs/studio_picture.py`; needs Chromium and Playwright."""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from draisine.studio.page import write_static
from draisine.studio.studio import studio_page

SIZE = {"width": 1360, "height": 850}
LONG = 300_000  # ms: drawn without a graphics card, twice as large as it is kept


def main() -> None:
    page = write_static(studio_page("bicycle"), tempfile.mkdtemp())
    with sync_playwright() as play:
        drawing = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=drawing)
        tab = browser.new_page(viewport={"width": 420, "height": 400}, device_scale_factor=2)
        tab.goto(page.as_uri())
        tab.evaluate("() => { DraisineStudio.page.theatre.plainer = []; }")  # slow is no matter here
        tab.wait_for_function("() => Number(document.documentElement.dataset.time) > 1.9", timeout=LONG)
        tab.keyboard.press("p")
        tab.set_viewport_size(SIZE)
        tab.evaluate("() => { for (const id of ['design', 'loads']) document.getElementById(id).open = true; }")
        tab.evaluate("() => { document.getElementById('status').textContent = ''; }")
        tab.wait_for_timeout(10_000)
        seen = Image.open(io.BytesIO(tab.screenshot(timeout=LONG))).convert("RGB")
        browser.close()
    small = seen.resize((SIZE["width"], SIZE["height"]), Image.Resampling.LANCZOS)
    small.save(Path(__file__).parent / "images" / "studio.png", optimize=True)


if __name__ == "__main__":
    main()
