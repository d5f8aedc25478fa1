"""The built site, in a real browser: nothing complains, nothing leaves the page, search finds, films play, dark is dark."""

from __future__ import annotations

import os
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from browser import chromium, opened


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    missing = [name for name in ("mdit_py_plugins", "latex2mathml") if find_spec(name) is None]
    if missing:
        message = f"the site needs {', '.join(missing)}: pip install 'draisine[docs]'"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    return _built_once(tmp_path_factory)


def _built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tests run by several processes share one site: who makes the folder builds, the others wait."""
    from docsite.site import build

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
        build(folder / "site", quick=True, tell=lambda _: None)
    except Exception as wrong:
        failed.write_text(str(wrong), encoding="utf-8")
        raise
    built.touch()
    return folder / "site"


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.mark.parametrize("page", ["index.html", "tutorial.html", "theory.html", "gallery.html", "api/motion.html"])
def test_pages_open_from_the_disk_without_complaint(site, browser, page):
    with opened(browser, site / page) as found:
        found.page.wait_for_function("document.readyState === 'complete'")
        assert not found.complaints
        assert all(url.startswith("file://") for url in found.requests)
        assert found.page.locator("nav.contents a[aria-current]").count() == 1
        assert found.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_phone_needs_no_scrolling_sideways_and_has_a_menu(site, browser):
    with opened(browser, site / "tutorial.html") as found:
        found.page.set_viewport_size({"width": 390, "height": 844})
        assert found.page.evaluate("document.documentElement.scrollWidth") <= 390
        contents = found.page.locator("nav.contents")
        assert not contents.is_visible()
        found.page.locator("button.menu").click()
        assert contents.is_visible()


def test_search_finds_names_and_sections(site, browser):
    with opened(browser, site / "howto" / "joint.html") as found:
        found.page.keyboard.press("/")
        found.page.keyboard.type("consistent_start")
        first = found.page.locator("#found a").first
        first.wait_for()
        assert first.locator("b").inner_text() == "consistent_start"
        found.page.keyboard.press("Enter")
        found.page.wait_for_url("**/api/motion.html#consistent_start")
        found.page.locator(".search input").fill("zzzz")
        found.page.get_by_text("nothing found").wait_for()
        found.page.locator(".search input").fill("countersteer")
        assert found.page.locator("#found a").count() > 2
        assert not found.complaints
        assert all(url.startswith("file://") for url in found.requests)


def test_dark_when_the_system_asks_and_when_somebody_does(site, browser):
    def paper(page):
        red, green, blue = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
        return red + green + blue

    with opened(browser, site / "tutorial.html", dark=True) as found:
        assert paper(found.page) < 150
        found.page.locator("button.theme").click()
        assert paper(found.page) > 700
        found.page.reload()  # it is remembered
        assert paper(found.page) > 700
    with opened(browser, site / "tutorial.html") as found:
        assert paper(found.page) > 700


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


def test_broken_links_anchors_and_loads_from_elsewhere_are_told(tmp_path):
    from docsite.links import broken

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


def test_a_folder_that_is_no_site_is_left_alone(tmp_path):
    from docsite.site import BuildError, build

    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(BuildError, match="no site"):
        build(tmp_path, quick=True)
    assert (tmp_path / "thesis.tex").exists()
