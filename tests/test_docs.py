"""Pages of the documentation point to things that exist, speak of every public name, and show figures that hold."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

import draisine
from docsite import levels, reference, validation
from docsite.contents import DOCS, LABELS, SECTIONS, pages
from docsite.snippets import SnippetError, parses, understood
from draisine import gallery

ROOT = DOCS.parent
PAGES = [ROOT / "README.md", *(page.source for page in pages())]


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_anchors_and_pictures_exist(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+?)\)", text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), f"{page.name} points to {target}, which does not exist"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
            assert anchor in map(slug, headings), f"{page.name} points to {target}, but {file.name} has no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_snippets_are_python_and_commands(page: Path) -> None:
    parses(page)
    understood(page)


def test_a_command_that_does_not_exist_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\ndraisine simulate bicycle --until 2  # fine\ndraisine simulat bicycle\n```\n")
    with pytest.raises(SnippetError, match="draisine simulat bicycle"):
        understood(page)
    page.write_text("```sh\ndraisine simulate bycicle | head\n```\n")
    with pytest.raises(SnippetError, match="the gallery has no 'bycicle'"):
        understood(page)


def test_python_that_is_none_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```python\nx = (1,\n```\n")
    with pytest.raises(SnippetError, match=r"page.md, line 4"):
        parses(page)


def test_the_readme_names_every_page_once() -> None:
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Where to read on")[2]
    named = Counter(re.findall(r"\]\(docs/([\w/]+)\.md\)", table))
    there = {str(page.source.relative_to(DOCS).with_suffix("")) for page in pages() if page.source.is_relative_to(DOCS)}
    assert set(named) == there, f"rows are missing in README's table, or to no page: {sorted(set(named) ^ there)}"
    assert set(named.values()) == {1}


def test_labels_and_sections_are_of_pages_that_may_exist() -> None:
    named = [name for names in SECTIONS.values() for name in names]
    assert len(named) == len(set(named))
    assert set(LABELS) <= set(named)


# ---------------------------------------------------------------- reference


def test_every_public_name_is_documented_in_one_place() -> None:
    named = Counter(name for _, _, names in reference.groups().values() for name in names)
    assert set(named) == set(draisine.__all__)
    assert set(named.values()) == {1}
    bare = [name for name in draisine.__all__ if not reference.entry(name).text.strip()]
    assert not bare, f"these have no docstring: {', '.join(bare)}"


def test_entries_tell_signatures_methods_and_examples() -> None:
    simulate = reference.entry("simulate")
    assert simulate.kind == "function" and "start: Mapping[str, float | str | Near] | None = None" in simulate.signature
    assert simulate.signature.endswith("-> Trajectory")
    model = reference.entry("Model")
    assert {"Model.wheel", "Model.revolute", "Model.close_hinge"} <= {
        member.name for member in model.members
    }  # of base classes, too
    assert "```pycon" in reference.entry("lqr").text
    assert reference.addresses()["Model.wheel"] == "api/models.html#Model.wheel"


# ---------------------------------------------------------------- gallery


def test_gallery_page_names_only_what_exists() -> None:
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^##+ .*\(`(\w+)`\)", text, flags=re.MULTILINE))
    assert named
    assert named <= set(gallery.studies())


def test_every_study_has_one_level() -> None:
    placed = [study for _, studies in levels.by_level().values() for study in studies]
    assert sorted(placed) == sorted(gallery.studies())


def test_findings_and_films_are_of_studies() -> None:
    found = json.loads((DOCS / "findings.json").read_text(encoding="utf-8"))
    assert set(found) <= set(gallery.studies())
    assert all(isinstance(line, str) for lines in found.values() for line in lines)
    assert set(levels.FILMS) <= set(gallery.studies())
    assert set(levels.QUICK) <= set(levels.FILMS)


def test_every_entry_says_what_it_shows() -> None:
    for file in sorted((ROOT / "src/draisine/gallery/entries").glob("*.py")):
        if file.name == "__init__.py":
            continue
        text = file.read_text(encoding="utf-8")
        if "Study(" in text:
            assert "What it shows" in text and "What you should see" in text, file.name
            assert "assert " in text, file.name


def test_all_models_and_studies_have_a_line_about_them() -> None:
    for about in (*gallery.models().values(), *gallery.studies().values()):
        assert about and len(about) < 120


# ---------------------------------------------------------------- validation


@pytest.mark.parametrize(
    ("table", "count", "bound"),
    [
        ("meijaard-matrices", 13, 1e-13),
        ("meijaard-eigenvalues", 44, 2e-12),
        ("meijaard-forces", 2, 1e-13),
        ("schwab-matrices", 13, 1e-12),
        ("delebecque", 4, 0.0),
    ],
)
def test_published_figures_stand_on_the_page_and_hold(table: str, count: int, bound: float) -> None:
    figures = validation.TABLES[table]()
    assert len(figures) == count
    assert max(figure.difference for figure in figures) <= bound
    page = validation.PAGE.read_text(encoding="utf-8")
    region = page.partition(f"<!-- {table} -->")[2].partition(f"<!-- /{table} -->")[0]
    rows = [row.split(" | ")[:2] for row in region.strip().splitlines()[2:]]
    assert rows == [figure.row.split(" | ")[:2] for figure in figures]


def test_a_difference_is_seen() -> None:
    assert validation.Figure("x", "2.0", 2.002).difference == pytest.approx(1e-3)
    assert validation.Figure("x", "-0.5", 0.5).difference == pytest.approx(2.0)
    assert validation.Figure("x", "0.0", 1e-3).difference == pytest.approx(1e-3)
    assert validation.Figure("x", "-2.50", -2.5).row == "| x | −2.50 | −2.5000 | 0e+00 |"
