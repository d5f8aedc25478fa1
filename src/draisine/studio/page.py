"""The studio's page as one self-contained text: model, runtime, rendering, and a content-security policy.

Scripts and style are inline and allowed by their hashes; the page can run no other code and send no requests.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from draisine.results.files import replacing
from draisine.studio.bundle import Bundle, web_file
from draisine.view.film.page import filled
from draisine.view.film.page import web_file as film_file

SHARED = ("plot.js", "stage.js")  # shared with the films' player
# in order of execution
OWN = (
    "notices.js",
    "panel.js",
    "charts.js",
    "controls.js",
    "scene.js",
    "boards.js",
    "designs.js",
    "rides.js",
    "links.js",
    "app.js",
)


@dataclass(frozen=True)
class Page:
    """`text` is the page; `policy` its content-security policy, sent by the server and contained in the page."""

    text: str
    policy: str


def page(bundle: Bundle) -> Page:
    """The page of a bundle.

    >>> from draisine.studio.bundle import bundle
    >>> made = page(bundle("rolling_disk"))
    >>> made.policy.split(";")[0], made.text.count("<script>")
    ("default-src 'none'", 3)
    """
    scripts = {
        "three": f"/*\n{film_file('three.LICENSE.txt')}\n*/\n{film_file('three.min.js')}",
        "bundle": bundle.as_script(),
        "page": "\n".join([*map(film_file, SHARED), *map(web_file, OWN)]),
    }
    style = f"\n{film_file('theme.css')}\n{web_file('studio.css')}"
    policy = _policy(scripts.values(), style)
    title = html.escape(str(bundle.manifest["title"]))
    return Page(filled(web_file("studio.html"), {**scripts, "style": style, "policy": policy, "title": title}), policy)


def _policy(scripts: Iterable[str], style: str) -> str:
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(_hash(text) for text in scripts)}",
            f"style-src {_hash(style)}",
            "img-src data:",  # the empty icon of the tab
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hash(text: str) -> str:
    """Hash of a script as browsers compute it, with normalized line ends."""
    plain = re.sub(r"\r\n?", "\n", text)
    return f"'sha256-{base64.b64encode(hashlib.sha256(plain.encode()).digest()).decode()}'"


def write_static(page: Page, folder: str | Path) -> Path:
    """Write `index.html` into a folder, created if necessary; returns the path. Complete or not at all."""
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise NotADirectoryError(f"cannot write the studio: {str(place)!r} is a file; name a folder")
    place.mkdir(parents=True, exist_ok=True)
    target = place / "index.html"
    with replacing(target) as draft:
        draft.write_text(page.text, encoding="utf-8", newline="\n")
    return target
