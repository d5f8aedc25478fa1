"""The saved page in a real browser: it draws, moves, follows, asks nobody for anything, and believes no name."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import draisine as dr
from browser import chromium, opened
from draisine.view.film.page import page
from screenshots import compared

pytestmark = pytest.mark.long

EVIL = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
RIDE = 2.0
PICTURES = Path(__file__).parent / "pictures"


@pytest.fixture(scope="module")
def run():
    return dr.simulate(dr.gallery.bicycle(), RIDE, start={"speed": 4.6, "roll_rate": 0.5})


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def ride(run, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("film") / "ride.html"
    faster = dr.simulate(dr.gallery.bicycle(), RIDE, start={"speed": 5.5, "roll_rate": 0.5})
    run.save(path, charts=["lean", "steer"], ghosts={"faster": faster})
    return path


@pytest.fixture(scope="module")
def tab(browser, ride):
    with opened(browser, ride) as found:
        found.page.wait_for_selector("html[data-time]")
        yield found


@pytest.fixture
def film(tab):
    """The page at its start, seen from the usual side, in the light."""
    for key in ("Home", "1", *(["d"] if state(tab, "theme") == "dark" else [])):
        press(tab, key)
    return tab


def settle(film) -> None:
    """Wait until what was asked for is drawn: two frames of the page."""
    film.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def slide(film, time: float) -> None:
    film.page.evaluate(
        "t => { const e = document.getElementById('time'); e.value = t; e.dispatchEvent(new Event('input')); }", time
    )
    settle(film)


def press(film, key: str) -> None:
    film.page.keyboard.press(key)
    settle(film)


def changed(before: np.ndarray, after: np.ndarray) -> float:
    """The share of points that differ clearly."""
    return float(np.mean(np.abs(before - after).max(axis=2) > 24))


def state(film, name: str) -> str:
    return film.page.evaluate("name => document.documentElement.dataset[name]", name)


def test_it_opens_without_complaint_and_asks_nobody_for_anything(film, ride):
    assert film.complaints == []
    assert film.requests == [ride.as_uri()]
    assert film.page.locator("#trouble").is_hidden()
    assert film.page.title() == "bicycle"


def test_a_bicycle_is_seen(film):
    picture = film.picture("#view")
    blue = (picture[..., 2] > 90) & (picture[..., 2] > picture[..., 0] + 50)  # the frame
    rubber = picture.max(axis=2) < 70
    assert 0.001 < blue.mean() < 0.2
    assert 0.003 < rubber.mean() < 0.3
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 200


def test_a_spring_reaches_from_end_to_end_and_no_further(film):
    box = "() => { const made = DraisineStage.coil(); made.computeBoundingBox(); return made.boundingBox; }"
    found = film.page.evaluate(box)
    assert [found[end]["z"] for end in ("min", "max")] == pytest.approx([-0.5, 0.5], abs=0.01)
    assert [found[end]["x"] for end in ("min", "max")] == pytest.approx([-3.5, 3.5], abs=0.1)


def test_the_slider_moves_time_picture_and_charts(film, run):
    view, charts = film.picture("#view"), film.picture("#charts")
    slide(film, 1.25)
    assert float(state(film, "time")) == 1.25
    assert film.page.locator("#clock").text_content() == "1.25 / 2.00 s"
    assert changed(view, film.picture("#view")) > 0.01
    assert changed(charts, film.picture("#charts")) > 0.002
    reported = film.page.locator("#charts figcaption span:last-child").all_text_contents()
    for text, name in zip(reported, ("lean", "steer"), strict=True):
        assert text.endswith("°")
        assert float(text.removesuffix("°").replace("−", "-")) == pytest.approx(np.degrees(run.at(1.25)[name]), rel=2e-3)


def test_a_chart_that_is_touched_moves_the_time(film):
    box = film.page.locator("#charts canvas").first.bounding_box()
    film.page.mouse.click(box["x"] + 46 + 0.5 * (box["width"] - 54), box["y"] + box["height"] / 2)
    settle(film)
    assert float(state(film, "time")) == pytest.approx(0.5 * RIDE, abs=0.02)


def test_cameras_by_key(film):
    slide(film, 1.0)
    seen = {"orbit": film.picture("#view")}
    for key, camera in (("2", "follow"), ("3", "top"), ("1", "orbit")):
        press(film, key)
        assert state(film, "camera") == camera
        assert film.page.locator(f'button[data-camera="{camera}"]').get_attribute("aria-pressed") == "true"
        seen[camera] = film.picture("#view")
    assert changed(seen["orbit"], seen["follow"]) > 0.02
    assert changed(seen["follow"], seen["top"]) > 0.02
    assert changed(seen["orbit"], seen["top"]) > 0.02


@pytest.mark.parametrize("key", ["t", "f", "m", "x", "g"])
def test_layers_by_key(film, key):
    slide(film, 1.0)
    before = film.picture("#view")
    press(film, key)
    assert changed(before, film.picture("#view")) > 1e-4
    press(film, key)
    assert changed(before, film.picture("#view")) < 1e-4


def test_time_by_key(film):
    press(film, "End")
    assert float(state(film, "time")) == RIDE
    press(film, "Shift+ArrowLeft")
    assert float(state(film, "time")) == pytest.approx(RIDE - 1.0)
    press(film, "ArrowRight")
    assert float(state(film, "time")) == pytest.approx(RIDE - 1.0 + 1 / 30)
    press(film, "Home")
    assert float(state(film, "time")) == 0.0
    press(film, " ")
    film.page.wait_for_function("() => Number(document.documentElement.dataset.time) > 0.2")
    press(film, " ")
    at = state(film, "time")
    settle(film)
    assert state(film, "time") == at
    press(film, "-")
    assert film.page.locator("#speed").input_value() == "0.5"


def test_light_and_dark(film, browser, ride):
    light = film.picture("#film")
    press(film, "d")
    dark = film.picture("#film")
    assert dark.mean() < 0.5 * light.mean()
    for picture, name in ((light, "film-light.png"), (dark, "film-dark.png")):
        seen = compared(picture, PICTURES / name)
        assert seen.small(), seen
    with opened(browser, ride, dark=True) as other:
        other.page.wait_for_selector("html[data-time]")
        assert state(other, "theme") == "dark"


def test_it_plays_by_itself_unless_one_prefers_stillness(browser, ride):
    with opened(browser, ride, still=False) as other:
        other.page.wait_for_function("() => Number(document.documentElement.dataset.time) > 0.1")


def renamed(take):
    """The same with a body, a wheel's track, a force and a chart called what nobody should be called."""
    called = {body: EVIL if body == "frame" else body for body in take.positions}
    shapes = [
        dataclasses.replace(shape, body=called[shape.body]) if hasattr(shape, "body") else shape for shape in take.scene.shapes
    ]
    return dataclasses.replace(
        take,
        scene=dataclasses.replace(take.scene, bodies=tuple(called[b] for b in take.scene.bodies), shapes=tuple(shapes)),
        solids=tuple(dataclasses.replace(solid, body=called[solid.body]) for solid in take.solids),
        positions={called[body]: values for body, values in take.positions.items()},
        rotations={called[body]: values for body, values in take.rotations.items()},
        tracks={EVIL: take.tracks["rear_wheel"]},
        forces=(dataclasses.replace(take.forces[0], name=EVIL),),
        charts=(dataclasses.replace(take.charts[0], name=EVIL),),
    )


def test_names_are_texts(browser, run, tmp_path):
    made = dr.view.animate(run, charts=["lean"], ghosts={EVIL: run}, title=EVIL, show=False)
    path = tmp_path / "evil.html"
    path.write_text(page([renamed(made.takes[0]), *made.takes[1:]], EVIL), encoding="utf-8")
    with opened(browser, path) as found:
        found.page.wait_for_selector("html[data-time]")
        assert found.page.evaluate("() => typeof window.hacked") == "undefined"
        assert found.page.title() == EVIL
        assert found.page.locator("#legend li").nth(1).text_content() == EVIL
        assert EVIL in found.page.locator("#charts figcaption span").first.text_content()
        assert found.complaints == []


def test_in_a_notebook_it_is_shut_into_a_frame(browser, run, tmp_path):
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><body>{dr.view.animate(run, show=False)._repr_html_()}</body>", encoding="utf-8")
    with opened(browser, path) as found:
        frame = found.page.frame_locator("iframe")
        frame.locator("html[data-time]").wait_for(state="attached")
        assert frame.locator("h1").text_content() == "bicycle"
        assert found.complaints == []


def test_a_notice_stands_over_the_picture_while_the_ground_would_have_to_pull(browser, tmp_path):
    hard = dr.simulate(dr.gallery.bicycle(), 1.0, start={"speed": 3.0, "roll_rate": 2.5})
    lifted = [w for w in ("rear_wheel", "front_wheel") if hard[f"{w}_normal_force"].min() < 0.0]
    when = float(hard.time[hard[f"{lifted[0]}_normal_force"].argmin()])
    hard.save(tmp_path / "hard.html")
    with opened(browser, tmp_path / "hard.html") as found:
        found.page.wait_for_selector("html[data-time]")
        assert found.page.inner_text("#lifts") == ""
        found.page.evaluate(
            "t => { const s = document.getElementById('time'); s.value = t; s.dispatchEvent(new Event('input')); }", when
        )
        settle(found)
        assert found.page.inner_text("#lifts").startswith("the ground would have to pull on ")
        assert lifted[0].replace("_", " ") in found.page.inner_text("#lifts")


def test_a_film_of_less_than_a_second_begins_in_slow_motion_and_reads_zero_for_rounding(browser, tmp_path):
    thrown = {"x": 0.0, "z": 0.4, "x_rate": 3.0, "z_rate": -5.0, "turn": 0.0, "turn_rate": 0.0}
    run = dr.simulate(dr.gallery.superball(), 0.44, start=thrown)
    data = run.data.copy()
    data[0, run.names().index("turn_rate")] = -3.7e-17
    dataclasses.replace(run, data=data).save(tmp_path / "ball.html", charts=["turn_rate"])
    with opened(browser, tmp_path / "ball.html") as found:
        found.page.wait_for_selector("html[data-ready]")
        settle(found)
        assert found.page.locator("#speed").input_value() == "0.25"  # 1.8 s
        assert found.page.inner_text("#charts figcaption span:last-child") == "0 rad/s"
        assert found.complaints == []
