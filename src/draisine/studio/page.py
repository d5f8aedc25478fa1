"""The studio's page as one text that needs nothing else: model, runtime and drawing inside, and a policy that forbids the rest.

Every script and the style stand in the page and are named by their hashes in its content-security policy: the page runs exactly
what was put into it, and can ask nobody for anything.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable
from dataclasses import dataclass

from draisine.studio.bundle import Bundle, web_file
from draisine.view.film.page import filled
from draisine.view.film.page import web_file as film_file

SHARED = ("plot.js", "stage.js")  # with the films' player
# in the order in which they run
OWN = (
    "notices.js",
    "charts.js",
    "panel.js",
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
    """`text` is the page; `policy` what a server says with it, which the page says of itself, too."""

    text: str
    policy: str


def page(bundle: Bundle) -> Page:
    """The page in which a bundle lives.

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
    """Of a script as browsers take it: carriage returns are read as line ends."""
    plain = re.sub(r"\r\n?", "\n", text)
    return f"'sha256-{base64.b64encode(hashlib.sha256(plain.encode()).digest()).decode()}'"
