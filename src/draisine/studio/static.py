"""The studio as a folder that any static host serves, and that opens from a disk without one."""

from __future__ import annotations

from pathlib import Path

from draisine.results.files import replacing
from draisine.studio.page import Page


def write_static(page: Page, folder: str | Path) -> Path:
    """Write `index.html` into a folder, which is made if there is none; says where. Complete or not at all."""
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise NotADirectoryError(f"cannot write the studio: {str(place)!r} is a file; name a folder")
    place.mkdir(parents=True, exist_ok=True)
    target = place / "index.html"
    with replacing(target) as draft:
        draft.write_text(page.text, encoding="utf-8", newline="\n")
    return target
