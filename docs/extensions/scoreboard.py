"""The figures of `docs/scoreboard.md`: those kept for this release in `benchmarks/results`, or word that there are none."""

from __future__ import annotations

import re
from pathlib import Path

import draisine as dr
from extensions import DOCS, ROOT

PAGE = DOCS / "scoreboard.md"
RESULTS = ROOT / "benchmarks" / "results"
_REGION = re.compile(r"<!-- scoreboard -->.*?<!-- /scoreboard -->", flags=re.DOTALL)


def shown(text: str, results: Path = RESULTS, release: str = dr.__version__) -> str:
    """The page with the tables of a release, their headings as sections of the page."""
    if not _REGION.search(text):
        raise ValueError("scoreboard.md has no region <!-- scoreboard --> … <!-- /scoreboard -->")
    file = results / f"{release}.md"
    if file.exists():
        title, _, rest = file.read_text(encoding="utf-8").partition("\n")
        found = f"## {title.lstrip('# ')}\n" + re.sub(r"^## ", "### ", rest, flags=re.MULTILINE)
    else:
        found = f"**No figures are kept for draisine {release}.** `make bench` measures them, into `benchmarks/results`."
    return _REGION.sub(lambda _: found, text)
