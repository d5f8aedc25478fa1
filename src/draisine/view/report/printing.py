"""A page as a PDF, printed by Chromium."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from draisine.errors import ToolError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
_PATIENCE = 180  # seconds


def browser() -> str | None:
    """The first browser on the path that can print without a window."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def as_pdf(page: str) -> bytes:
    """The page as a browser prints it."""
    program = browser()
    if program is None:
        raise ToolError(
            "printing a PDF needs Chromium (or Chrome), which was not found on the path; install it (apt-get install chromium, "
            "brew install chromium, winget install chromium), or open the HTML page in any browser and print it to a file"
        )
    with tempfile.TemporaryDirectory(prefix="draisine-") as folder:
        source, target = Path(folder) / "page.html", Path(folder) / "page.pdf"
        source.write_text(page, encoding="utf-8")
        command = [program, "--headless", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer"]
        command += [f"--user-data-dir={folder}/profile", f"--print-to-pdf={target}"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.append("--no-sandbox")  # Chromium refuses to run as root otherwise; the page is our own
        done = subprocess.run([*command, source.as_uri()], capture_output=True, text=True, check=False, timeout=_PATIENCE)
        if not target.exists():
            raise ToolError(f"{Path(program).name} printed nothing: {done.stderr.strip()[-400:] or f'status {done.returncode}'}")
        return target.read_bytes()
