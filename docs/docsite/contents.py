"""Which pages there are, in which order, under which heading. A page of `docs/` that is not named here comes under "More"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent

# heading → pages, by their place in `docs/` without the suffix; pages that are not there (yet) are passed over
SECTIONS: dict[str, tuple[str, ...]] = {
    "Begin": ("index", "tutorial", "gallery"),
    "How to": (
        "howto/joint",
        "howto/method",
        "howto/sympy",
        "howto/bicycle",
        "howto/export",
        "howto/data",
    ),
    "Describe and derive": ("notation", "theory", "equations", "interop", "doctor"),
    "Move": ("starts", "drift", "paths", "chains", "ensembles"),
    "Stability": ("stability", "steady", "periodic", "bicycles"),
    "Control and data": ("control", "optimal", "estimation", "filtering"),
    "Look and hand on": ("animation", "studio", "report", "commands", "export"),
    "Trust": ("validation", "sources", "comparison", "scoreboard"),
    "The code": ("design", "operations", "../CONTRIBUTING", "../CHANGELOG"),
}

# names in the navigation, where titles are long
LABELS = {
    "index": "Overview",
    "tutorial": "Tutorial",
    "notation": "Notation",
    "theory": "Theory",
    "doctor": "Constraint doctor",
    "drift": "Drift",
    "chains": "Long chains",
    "steady": "Steady motions",
    "periodic": "Periodic motions",
    "bicycles": "Bicycles",
    "filtering": "States from data",
    "export": "Export",
    "studio": "Studio",
    "report": "Report",
    "design": "Design of the code",
    "operations": "Fewer operations",
    "validation": "Validation",
    "comparison": "Comparison",
    "sources": "Figures of the sources",
    "howto/joint": "Add a joint",
    "howto/method": "Choose a method",
    "howto/sympy": "Bring a SymPy model",
    "howto/bicycle": "Bring a bicycle",
    "howto/export": "C, JavaScript, FMU",
    "howto/data": "Fit your data",
}


@dataclass(frozen=True)
class Page:
    """One Markdown file and its place in the site."""

    source: Path
    target: str  # path in the site, "howto/joint.html"
    section: str

    @property
    def text(self) -> str:
        return self.source.read_text(encoding="utf-8")

    @property
    def title(self) -> str:
        found = re.search(r"^# (.+)$", self.text, flags=re.MULTILINE)
        if found is None:
            raise ValueError(f"{self.source.name} has no title: begin it with a line '# …'")
        return found[1].replace("`", "").strip()

    @property
    def label(self) -> str:
        return LABELS.get(self.target.removesuffix(".html"), self.title)

    @property
    def up(self) -> str:
        """From the page to the site's root."""
        return "../" * self.target.count("/")


def pages() -> tuple[Page, ...]:
    """All pages that are written by hand, in the order of the navigation."""
    found: list[Page] = []
    for section, names in SECTIONS.items():
        for name in names:
            source = (DOCS / f"{name}.md").resolve()
            if source.exists():
                found.append(Page(source, f"{Path(name).name.lower() if name.startswith('..') else name}.html", section))
    named = {page.source for page in found}
    for source in sorted(DOCS.rglob("*.md")):
        if source not in named:
            found.append(Page(source, f"{source.relative_to(DOCS).with_suffix('')}.html", "More"))
    return tuple(found)
