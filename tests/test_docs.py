"""Pages of the documentation point to things that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from draisine import gallery

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_and_pictures_exist(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+?)\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} points to {target}, which does not exist"


def test_gallery_page_names_only_what_exists():
    named = set(re.findall(r"^## .*\(`(\w+)`\)", (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert named
    assert named <= set(gallery.studies())


def test_every_entry_says_what_it_shows():
    for file in sorted((ROOT / "src/draisine/gallery/entries").glob("*.py")):
        if file.name == "__init__.py":
            continue
        text = file.read_text(encoding="utf-8")
        if "Study(" in text:
            assert "What it shows" in text and "What you should see" in text, file.name
            assert "assert " in text, file.name


def test_all_models_and_studies_have_a_line_about_them():
    for about in (*gallery.models().values(), *gallery.studies().values()):
        assert about and len(about) < 120
