"""The built site, in a real browser: nothing complains, nothing leaves the page, search finds, films play, dark is dark."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from browser import chromium, opened
from extensions import DOCS

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    missing = [
        name
        for name in ("sphinx", "myst_parser", "pydata_sphinx_theme", "sphinx_design", "sphinx_copybutton", "latex2mathml")
        if find_spec(name) is None
    ]
    if missing:
        message = f"the site needs {', '.join(missing)}: pip install 'draisine[docs]'"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    return _built_once(tmp_path_factory)


def _built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tests run by several processes share one site: who makes the folder builds, the others wait."""
    shared = "PYTEST_XDIST_WORKER" in os.environ
    folder = tmp_path_factory.getbasetemp().parent / "site" if shared else tmp_path_factory.mktemp("site")
    built, failed = folder / "built", folder / "failed"
    try:
        folder.mkdir(exist_ok=not shared)
    except FileExistsError:
        while not built.exists() and not failed.exists():
            time.sleep(0.2)
        assert built.exists(), failed.read_text(encoding="utf-8")
        return folder / "site"
    try:
        given = ["-W", "-E", "-q", "-t", "quick", "-d", str(folder / "doctrees"), str(DOCS), str(folder / "site")]
        done = subprocess.run([sys.executable, "-m", "sphinx", *given], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    except Exception as wrong:
        failed.write_text(str(wrong), encoding="utf-8")
        raise
    built.touch()
    return folder / "site"


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.mark.parametrize(
    "page",
    ["index.html", "tutorial.html", "theory.html", "gallery.html", "api/index.html", "api/draisine.html", "api/methods.html"],
)
def test_pages_open_from_the_disk_without_complaint(site, browser, page):
    with opened(browser, site / page) as found:
        found.page.wait_for_function("document.readyState === 'complete'")
        assert not found.complaints
        assert all(url.startswith("file://") for url in found.requests)
        assert found.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_nothing_is_loaded_from_the_network(site):
    """No page names a script, style, font or picture elsewhere; `links.broken` says so of every page, here it is seen to look."""
    from extensions.links import broken

    assert not broken(site)
    page = site / "tutorial.html"
    loads = page.read_text(encoding="utf-8").replace("</head>", '<script src="https://example.org/x.js"></script></head>')
    (site / "stray.html").write_text(loads, encoding="utf-8")
    try:
        assert broken(site) == ["stray.html loads https://example.org/x.js from the network"]
    finally:
        (site / "stray.html").unlink()
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"""(@import|url\()\s*["']?(https?:)?//""", text), style


def test_a_phone_needs_no_scrolling_sideways_and_has_a_menu(site, browser):
    with opened(browser, site / "tutorial.html") as found:
        found.page.set_viewport_size({"width": 390, "height": 844})
        assert found.page.evaluate("document.documentElement.scrollWidth") <= 390
        link = found.page.get_by_role("link", name="Choose a method").last
        assert not link.is_visible()
        found.page.locator("button.primary-toggle").click()
        link.wait_for(state="visible")


def test_search_finds_names_and_sections(site, browser):
    with opened(browser, site / "howto" / "joint.html") as found:
        found.page.keyboard.press("/")
        found.page.keyboard.type("consistent_start")
        first = found.page.locator("#found a").first
        first.wait_for()
        assert first.locator("b").inner_text() == "consistent_start"
        found.page.keyboard.press("Enter")
        found.page.wait_for_url("**/api/draisine.html#draisine.consistent_start")
        found.page.keyboard.press("Control+k")
        box = found.page.locator("#pst-search-dialog input")
        box.fill("zzzz")
        found.page.get_by_text("nothing found").wait_for()
        box.fill("countersteer")
        assert found.page.locator("#found a").count() > 2
        assert not found.complaints
        assert all(url.startswith("file://") for url in found.requests)


def test_dark_when_the_system_asks_and_when_somebody_does(site, browser):
    def paper(page):
        red, green, blue = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
        return red + green + blue

    with opened(browser, site / "tutorial.html", dark=True) as found:
        found.page.set_viewport_size({"width": 1300, "height": 700})
        assert paper(found.page) < 150
        found.page.locator("button.theme-switch-button:visible").click()
        found.page.locator("button.theme-change-button[data-mode=light]:visible").click()
        found.page.wait_for_function("document.documentElement.dataset.theme === 'light'")
        assert paper(found.page) > 700
        found.page.reload()  # it is remembered
        assert paper(found.page) > 700
    with opened(browser, site / "tutorial.html") as found:
        assert paper(found.page) > 700


def test_names_lead_to_the_reference_and_types_to_other_projects(site, browser):
    with opened(browser, site / "api" / "index.html") as found:
        assert found.page.locator("a[href$='#draisine.simulate']").count() >= 1
    with opened(browser, site / "estimation.html") as found:
        assert found.page.locator("article a[href*='api/estimation.html#draisine.estimation.'] code").count() > 3
    everywhere = "".join(page.read_text(encoding="utf-8") for page in (site / "api").glob("*.html"))
    assert "https://docs.python.org/3/library/collections.abc.html#collections.abc.Mapping" in everywhere
    assert "https://pandas.pydata.org/docs/reference/api/pandas.DataFrame.html#pandas.DataFrame" in everywhere


def test_thumbnails_move_unless_somebody_prefers_stillness(site, browser):
    from PIL import Image

    moving = Image.open(site / "films" / "bicycle_free_run-moving.webp")
    assert moving.n_frames > 10 and (site / "films" / "bicycle_free_run-moving.webp").stat().st_size < 300_000
    for still, kind in ((True, "still"), (False, "moving")):
        with opened(browser, site / "gallery.html", still=still) as found:
            shown = found.page.locator(".study picture img").first.evaluate("image => image.currentSrc")
            assert shown.endswith(f"bicycle_free_run-{kind}.webp")


def test_formulas_are_drawn_and_numbered(site, browser):
    with opened(browser, site / "theory.html") as found:
        assert found.page.locator(".equation math").count() >= 25
        numbers = found.page.locator(".equation .number").all_inner_texts()
        assert numbers == [f"({n})" for n in range(1, len(numbers) + 1)]
        assert found.page.locator("#eq-14 math").bounding_box()["height"] > 20


def test_the_film_of_a_study_plays_in_its_page(site, browser):
    with opened(browser, site / "gallery" / "bicycle_free_run.html") as found:
        found.page.locator("a.film").click()
        film = found.page.frame_locator("iframe.film")
        film.locator("canvas").first.wait_for()
        found.page.wait_for_timeout(500)
        picture = found.picture("iframe.film")
        assert picture.std() > 10  # not blank
        assert not found.complaints
        assert all(url.startswith(("file://", "blob:", "data:", "about:")) for url in found.requests)


# ---------------------------------------------------------------- what is wrong fails the build


def test_broken_links_anchors_and_loads_from_elsewhere_are_reported(tmp_path):
    from extensions.links import broken

    (tmp_path / "a.html").write_text('<a href="b.html#there">x</a><a href="#gone">y</a><a href="c.html">z</a><h1 id="t">t</h1>')
    (tmp_path / "b.html").write_text(
        '<h1 id="there">b</h1><p id="there">again</p><img src="none.png"><script src="https://example.org/x.js"></script>'
        '<a href="https://example.org">fine</a>'
    )
    assert broken(tmp_path) == [
        "a.html points to #gone, but there is no such anchor",
        "a.html points to c.html, which does not exist",
        "b.html has the anchor 'there' twice",
        "b.html shows none.png, which does not exist",
        "b.html loads https://example.org/x.js from the network",
    ]


def build_of(folder, page):
    """A small site with our extensions for pages and links: the exit code and what was said."""
    (folder / "index.md").write_text(page, encoding="utf-8")
    settings = [
        "import sys",
        f"sys.path.insert(0, {str(DOCS)!r})",
        "extensions = ['myst_parser', 'extensions.markup', 'extensions.links']",
        "myst_heading_anchors, myst_enable_extensions, html_math_renderer = 3, ['dollarmath'], 'mathml'",
    ]
    (folder / "conf.py").write_text("\n".join(settings), encoding="utf-8")
    given = ["-W", "-E", "-q", str(folder), str(folder / "site")]
    done = subprocess.run([sys.executable, "-m", "sphinx", *given], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("[there](gone.md)", "gone.md"),
        ("[there](#gone)", "gone"),
        ("![picture](gone.png)", "gone.png"),
        ('```{raw} html\n<img src="https://example.org/x.png">\n```', "loads https://example.org/x.png from the network"),
        ('```{raw} html\n<a href="gone.html">x</a>\n```', "points to gone.html, which does not exist"),
        (r"$\nosuchthing x$", "cannot be written as MathML"),
    ],
)
def test_what_is_wrong_fails_the_build(tmp_path, wrong, said):
    code, complaint = build_of(tmp_path, f"# Title\n\n{wrong}\n")
    assert code != 0 and said in complaint


def test_what_is_right_does_not(tmp_path):
    code, complaint = build_of(tmp_path, "# Title\n\n[here](#title) and $x^2$\n\n```output\n1\n```\n")
    assert code == 0, complaint
