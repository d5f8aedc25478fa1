"""Pages of the documentation point to things that exist, speak of every public name, and show figures that hold."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

import draisine
from draisine import gallery
from extensions import DOCS, ROOT, pages, reference, validation
from extensions.snippets import SnippetError, parses, understood

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *pages()]


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
    there = {str(page.relative_to(DOCS).with_suffix("")) for page in pages()} - {"contributing", "changelog"}
    assert set(named) == there, f"rows are missing in README's table, or to no page: {sorted(set(named) ^ there)}"
    assert set(named.values()) == {1}


# ---------------------------------------------------------------- reference


def test_every_public_name_is_documented_in_one_place() -> None:
    assert {*reference.top(), *reference.namespaces()} == set(draisine.__all__)
    entries = [*reference.top(), *(f"{owner}.{name}" for owner in reference.namespaces() for name in reference.own(owner))]
    assert sorted(f"draisine.{name}" for name in (*entries, *reference.namespaces())) == sorted(reference.homes().values())
    bare = [name for thing, name in reference.homes().items() if not (thing.__doc__ or "").strip()]
    assert not bare, f"these have no docstring: {', '.join(bare)}"


def test_a_namespace_has_the_names_that_it_defines() -> None:
    assert {"model", "models", "study", "studies", "entry"} <= set(reference.namespaces()["gallery"])
    assert "lqr" in reference.namespaces()["control"] and "lqr" not in reference.own("control")  # its entry is at the top


def test_classes_of_results_stand_beside_what_returns_them() -> None:
    assert "draisine.stability.modes.Modes" in reference.returned()["draisine"]
    every = [name for names in reference.returned().values() for name in names]
    assert len(every) == len(set(every))


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("dr.lqr", "draisine.lqr"),
        ("dr.lqr(bike, at=…)", "draisine.lqr"),
        ("consistent_start", "draisine.consistent_start"),
        ("Model.wheel", "draisine.Model.wheel"),
        ("dr.control.lqr", "draisine.lqr"),
        ("dr.methods.Radau(step=…)", "draisine.methods.Radau"),
        ("pole_placement", "draisine.control.pole_placement"),
        ("Modes.critical", "draisine.stability.modes.Modes.critical"),
        ("dr.contact", "draisine.contact"),
        ("dr.pole_placement", None),  # not at the top
        ("modes(bike)", "draisine.modes"),
        ("modes", None),  # an ordinary word
        ("Model.no_such_method", None),
        ("run.status", None),
    ],
)
def test_code_that_is_a_public_name_leads_to_it(code: str, name: str | None) -> None:
    assert reference.address(code) == name


def test_docstrings_become_restructured_text() -> None:
    text = "Least |x| of *all* 2*x, as x_ in `simulate(…)`; see docs/drift.md.\n- `a`: one\n  more\n\n    x = 1\n\n>>> 1\n1\n"
    assert reference.as_rst(text) == [
        "Least \\|x\\| of *all* 2\\*x, as x\\_ in :py:obj:`simulate(…) <draisine.simulate>`; see :doc:`drift </drift>`.",
        *("", "- ``a``: one", "  more", ""),
        *(".. code-block:: python", "   :force:", "", "    x = 1", ""),
        *(">>> 1", "1", ""),
    ]


# ---------------------------------------------------------------- gallery


def test_gallery_page_names_only_what_exists() -> None:
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^##+ .*\(`(\w+)`\)", text, flags=re.MULTILINE))
    assert named
    assert named <= set(gallery.studies())


def test_every_study_declares_a_level_that_the_page_speaks_of() -> None:
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    levels = set(re.findall(r"^## (.+)$", text, flags=re.MULTILINE))
    assert {gallery.entry(study).level for study in gallery.studies()} == levels


def test_findings_are_of_studies() -> None:
    found = json.loads((DOCS / "findings.json").read_text(encoding="utf-8"))
    assert set(found) <= set(gallery.studies())
    assert all(isinstance(line, str) for lines in found.values() for line in lines)


def test_every_entry_says_what_it_shows() -> None:
    for file in sorted((ROOT / "src/draisine/gallery/entries").glob("*.py")):
        if file.name == "__init__.py":
            continue
        text = file.read_text(encoding="utf-8")
        if "Study(" in text:
            assert "What it shows" in text and "What you should see" in text, file.name
            assert "assert " in text, file.name


def test_all_models_and_studies_have_a_line_about_them() -> None:
    for description in (*gallery.models().values(), *gallery.studies().values()):
        assert description and len(description) < 120


# ---------------------------------------------------------------- developer pages

PACKAGE = ROOT / "src" / "draisine"
PLACES = (ROOT, PACKAGE)  # paths on these pages begin at one of them
SUFFIXES = (".py", ".pyi", ".md", ".js", ".json", ".toml", ".html", ".css")


def named_code(page: Path) -> set[str]:
    """What a page names in backticks: words of code, calls without their arguments, paths; not what a recipe calls yours."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = {re.sub(r"\(.*\)$", "", code) for code in re.findall(r"`([^`\n]+)`", text)}
    return {
        code
        for code in found
        if "yours" not in code.lower() and re.fullmatch(r"[\w./*-]+", code) and not code.startswith((".", "-"))
    }


def exists(path: str) -> bool:
    return any(any(place.glob(path.rstrip("/"))) for place in PLACES)


@pytest.mark.parametrize("name", ["docs/design.md", "CONTRIBUTING.md"])
def test_paths_and_modules_of_developer_pages_exist(name: str) -> None:
    code = named_code(ROOT / name)
    paths = {word for word in code if "/" in word or word.endswith(SUFFIXES)}
    modules = {word for word in code - paths if re.fullmatch(r"draisine(\.[a-z]\w*)+", word)}
    assert len(paths) > 30
    assert sorted(path for path in paths if not exists(path)) == []
    assert sorted(word for word in modules if not exists(f"{word.replace('.', '/').partition('/')[2]}*")) == []


@pytest.mark.parametrize("name", ["docs/design.md", "CONTRIBUTING.md"])
def test_names_of_developer_pages_exist(name: str) -> None:
    """Functions, classes and constants that a page names are written somewhere in the sources."""
    named = {word for word in named_code(ROOT / name) if re.fullmatch(r"[A-Za-z_][\w.]*", word) and not word.endswith(SUFFIXES)}
    sources = [
        path for place in ("src", "tests", "docs", "tools") for path in (ROOT / place).rglob("*.py*") if path.suffix != ".pyc"
    ]
    texts = [path.read_text("utf-8") for path in (*sources, ROOT / "pyproject.toml", ROOT / "Makefile")]
    known = {word for text in texts for word in re.findall(r"\w+", text)}
    assert sorted(word for word in named if word.rpartition(".")[2] not in known) == []


def test_a_path_that_does_not_exist_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("See `kernels/passes/`, `model/model.py`, `cli/yours.py` and `Model.freeze()`; run `make test`.\n")
    assert named_code(page) == {"kernels/passes/", "model/model.py", "Model.freeze"}
    assert exists("model/model.py") and exists("tests/reference/*.json") and not exists("kernels/passes/")


# ---------------------------------------------------------------- validation


@pytest.mark.parametrize(
    ("table", "count", "bound"),
    [
        ("meijaard-matrices", 13, 1e-13),
        ("meijaard-eigenvalues", 44, 2e-12),
        ("meijaard-forces", 2, 1e-13),
        ("schwab-matrices", 13, 1e-12),
        ("delebecque", 4, 0.0),
        ("sharp", 28, 1e-9),
        ("leaning-rider", 12, 1e-9),
        ("segments", 15, 1e-10),
        ("magic-formula", 27, 1e-10),
        ("vehicles", 3, 1e-9),
    ],
)
def test_published_figures_stand_on_the_page_and_hold(table: str, count: int, bound: float) -> None:
    figures = validation.TABLES[table]()
    assert len(figures) == count
    assert max(figure.difference for figure in figures) <= bound
    page = validation.PAGE.read_text(encoding="utf-8")
    region = page.partition(f"<!-- {table} -->")[2].partition(f"<!-- /{table} -->")[0]
    beside = validation.SOURCES.get(table, "published")  # a derivation of one's own is not called published
    assert region.strip().startswith(f"| quantity | {beside} | draisine | difference |")
    rows = [row.split(" | ")[:2] for row in region.strip().splitlines()[2:]]
    assert rows == [figure.row.split(" | ")[:2] for figure in figures]


def test_a_difference_is_seen() -> None:
    assert validation.Figure("x", "2.0", 2.002).difference == pytest.approx(1e-3)
    assert validation.Figure("x", "-0.5", 0.5).difference == pytest.approx(2.0)
    assert validation.Figure("x", "0.0", 1e-3).difference == pytest.approx(1e-3)
    assert validation.Figure("x", "-2.50", -2.5).row == "| x | −2.50 | −2.5000 | 0e+00 |"
