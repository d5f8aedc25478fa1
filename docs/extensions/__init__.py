"""What this documentation adds to Sphinx: pages that run, computed tables, films of the gallery, formulas without a network.

`sphinx-build docs site` uses all of it (`docs/conf.py` lists the extensions); `snippets.py`, `validation.py` and `scoreboard.py`
know nothing of Sphinx and are used by the tests, too.
"""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
GENERATED = ("api", "gallery")  # folders of `docs/` that a build writes


def pages() -> list[Path]:
    """The pages that are written by hand."""
    return [page for page in sorted(DOCS.rglob("*.md")) if page.relative_to(DOCS).parts[0] not in GENERATED]
