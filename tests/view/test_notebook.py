"""Cells of notebooks: widgets of films and sliders, their scripts in a real browser, and the progress bar."""

from __future__ import annotations

import base64
import dataclasses
import io
import json
from pathlib import Path

import numpy as np
import pytest

import draisine as dr
from browser import chromium, opened
from draisine.errors import ArgumentError, UnknownNameError
from draisine.results.status import Progress

anywidget = pytest.importorskip("anywidget")


@pytest.fixture(scope="module")
def pendulum() -> dr.Model:
    m = dr.Model("pendulum")
    length = m.parameter("length", 1.0, "m")
    bob = m.body("bob", mass=1.0, center_of_mass=(0, 0, -length))
    m.revolute("swing", "ground", bob, axis="y")
    return m


@pytest.fixture(scope="module")
def cell(pendulum):
    return dr.view.sliders(pendulum, 2.0, {"length": (0.5, 2.0), "swing": (0.0, 1.0)}, show=["swing"], start={"swing": 0.3})


def pixels(png: str) -> np.ndarray:
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(base64.b64decode(png))).convert("L")).astype(float)


def test_sliders_simulate_again(cell):
    assert cell.values == {"length": 1.0, "swing": 0.3}  # the model's own values
    assert [(row["name"], row["low"], row["high"], row["unit"]) for row in cell.sliders] == [
        ("length", 0.5, 2.0, "m"),
        ("swing", 0.0, 1.0, "rad"),
    ]
    before = pixels(cell.picture)
    cell.values = {"length": 0.5, "swing": 0.3}
    after = pixels(cell.picture)
    assert before.shape == after.shape and np.abs(before - after).mean() > 0.5
    cell.values = {"length": 1.0, "swing": 0.3}
    assert np.abs(before - pixels(cell.picture)).max() == 0.0


def test_the_curve_is_that_of_the_values(pendulum):
    """What is drawn is the run: its end, by the function `draw`, is that of `simulate` with these values."""
    ends = []

    def draw(run):
        ends.append(float(run["swing"][-1]))
        return run.plot("swing")

    made = dr.view.sliders(pendulum, 1.0, {"length": (0.5, 2.0)}, start={"swing": 0.3}, draw=draw)
    made.values = {"length": 1.7}
    wanted = dr.simulate(pendulum, 1.0, start={"swing": 0.3}, parameters={"length": 1.7})["swing"][-1]
    assert ends[-1] == wanted


def test_a_run_that_fails_leaves_its_message(pendulum):
    made = dr.view.sliders(pendulum, 1.0, {"length": (-1.0, 2.0)}, start={"swing": 0.3}, draw=lambda run: run.plot("swing"))
    assert made.words == "" and made.picture
    bad = dr.view.sliders(falling(), 1.0, {"mass": (-1.0, 2.0)}, draw=lambda run: run.plot("x"))
    bad.values = {"mass": -0.5}
    assert bad.picture == "" and "mass" in bad.words


def falling():
    """A body that is pushed along x, with an event at 1 m."""
    m = dr.Model("falling")
    m.body("b", mass=m.parameter("mass", 1.0, "kg"))
    m.prismatic("x", "ground", "b")
    m.generalized_force("x", m.input("push", "N"))
    m.event("far", "x - 1", description="reached the wall")
    return m


def test_warnings_of_a_run_that_finishes_are_words():
    """A disk that leans at a high rate of turn: the ground would have to pull."""
    start = {"lean": 0.8, "speed": 8.0}
    made = dr.view.sliders(
        dr.gallery.rolling_disk(), 0.02, {"heading_rate": (0.0, 10.0)}, start=start, draw=lambda run: run.plot("lean")
    )
    made.values = {"heading_rate": 10.0}
    assert (
        made.words.startswith("FINISHED") and "the normal force on disk is negative from t = 0 s" in made.words and made.picture
    )
    made.values = {"heading_rate": 0.0}
    assert "normal force" not in made.words


def test_events_are_words(pendulum):
    made = dr.view.sliders(falling(), 2.0, {"push": (0.0, 5.0), "x": ("-10 cm", 0.5)}, draw=lambda run: run.plot("x"))
    made.values = {"push": 4.0, "x": 0.25}
    assert made.words.startswith("EVENT: far") and "reached the wall" in made.words
    made.values = {"push": 0.0}
    assert made.words == "" and made.values == {"push": 0.0, "x": 0.25}  # what is not given stays
    for value in (5.1, -0.1, float("nan"), "3"):
        with pytest.raises(ArgumentError, match="the slider of 'push' goes from 0 to 5"):
            made.values = {"push": value}
    with pytest.raises(UnknownNameError, match="pusch"):
        made.values = {"pusch": 1.0}
    assert made.values == {"push": 0.0, "x": 0.25} and made.sliders[1]["low"] == -0.1


def test_a_run_shows_how_it_ended():
    run = dr.simulate(falling(), 2.0, start={"x": 0.5, "x_rate": 1.0})
    assert "<div>EVENT: far" in run._repr_html_() and "<div>EVENT" in run.status._repr_html_()
    warned = dataclasses.replace(run.status, warnings=("first <b>", "second"))
    assert warned._repr_html_().count("<div>") == 3 and "warning: first &lt;b&gt;" in warned._repr_html_()


def test_the_time_of_a_film_lies_in_it(pendulum):
    film = dr.view.player(dr.simulate(pendulum, 0.5))
    film.time = 0.25
    for time in (99.0, float("nan"), -1.0):
        with pytest.raises(ArgumentError, match=r"the film lasts from 0 to 0\.5 s"):
            film.time = time
    assert film.time == 0.25


def test_what_cannot_be_varied_is_refused(pendulum):
    with pytest.raises(UnknownNameError, match=r"lenght.*did you mean 'length'"):
        dr.view.sliders(pendulum, 1.0, {"lenght": (0.5, 2.0)})
    with pytest.raises(ArgumentError, match="the ends of 'length' must increase"):
        dr.view.sliders(pendulum, 1.0, {"length": (2.0, 0.5)})
    for ends in ((0.3,), 0.3, ("short", "long"), (0.0, float("inf"))):
        with pytest.raises(ArgumentError, match="the ends of 'length' must increase"):
            dr.view.sliders(pendulum, 1.0, {"length": ends})
    with pytest.raises(ArgumentError, match="over is empty"):
        dr.view.sliders(pendulum, 1.0, {})


HARNESS = """<!doctype html><meta charset="utf-8"><div id="cell"></div><script type="module">
const traits = %s, heard = {};
const model = {
  get: (name) => traits[name],
  set: (name, value) => { traits[name] = value; (heard[`change:${name}`] ?? []).forEach((call) => call()); },
  on: (name, call) => { (heard[name] ??= []).push(call); },
  save_changes: () => { document.documentElement.dataset.saved = JSON.stringify({ values: traits.values, time: traits.time }); },
};
window.model = model;
const made = await import("data:text/javascript;base64,%s");
made.default.render({ model, el: document.getElementById("cell") });
document.documentElement.dataset.ready = "true";
</script>"""


def harness(widget, folder: Path, names: tuple[str, ...]) -> Path:
    """A page in which a widget's script meets a stand-in for the notebook."""
    traits = json.dumps({name: getattr(widget, name) for name in names}).replace("<", "\\u003c")
    path = folder / "cell.html"
    path.write_text(HARNESS % (traits, base64.b64encode(widget._esm.encode()).decode()), encoding="utf-8")
    return path


def test_scripts_in_a_browser(cell, pendulum, tmp_path):
    run = dr.simulate(pendulum, 1.0, start={"swing": 0.3})
    film = dr.view.player(run, charts=["swing"], height=300)
    with chromium() as browser:
        with opened(browser, harness(cell, tmp_path, ("sliders", "values", "picture", "words", "key"))) as page:
            page.page.wait_for_selector("html[data-ready]", state="attached")
            page.page.locator("input[type=range]").first.fill("1.25")
            saved = json.loads(page.page.evaluate("document.documentElement.dataset.saved"))
            assert saved["values"]["length"] == 1.25
            assert page.page.locator("output").first.text_content() == "1.25 m"
            assert page.complaints == []
        with opened(browser, harness(film, tmp_path, ("page", "title", "height", "time"))) as page:
            inside = page.page.frame_locator("iframe")
            inside.locator("html[data-ready]").wait_for(state="attached")
            page.page.evaluate("model.set('time', 0.5)")  # Python sets the time
            inside.locator("html[data-time='0.5']").wait_for(state="attached")
            inside.locator("#time").fill("0.8")  # the reader does
            page.page.wait_for_function("JSON.parse(document.documentElement.dataset.saved ?? '{}').time === 0.8")
            assert page.complaints == []
            assert all(address.startswith(("file:", "data:", "about:")) for address in page.requests)


def test_the_studio_in_a_cell(pendulum):
    made = dr.studio(pendulum, cell=True)
    assert made.title == "studio" and "pendulum · studio" in made.page


def test_progress_in_a_notebook_is_its_own_bar(monkeypatch):
    shown = []

    class Handle:
        def update(self, page):
            shown.append(page.data)

    display = pytest.importorskip("IPython.display")
    monkeypatch.setattr("draisine.view.notebook.in_notebook", lambda: True)
    monkeypatch.setattr(display, "display", lambda page, display_id: shown.append(page.data) or Handle())
    bar = dr.view.ProgressBar(least=0.0)
    for share in (0.0, 0.5, 1.0):
        bar(Progress("runs <all>", share))
    assert [f'value="{share:.4f}"' in text for share, text in zip((0, 0.5, 1), shown, strict=True)] == [True] * 3
    assert "runs &lt;all&gt;: 50 %" in shown[1]


def test_progress_in_a_terminal_is_one_line():
    stream = io.StringIO()
    bar = dr.view.ProgressBar(stream, least=0.0)
    dr.ensemble(dr.gallery.simple_pendulum(), 0.1, over={"length": [1.0, 1.1, 1.2]}, progress=bar)
    text = stream.getvalue()
    assert text.startswith("\r") and text.count("\n") <= 1


def test_laws_and_equations_show_themselves():
    cart = dr.gallery.cart_pole()
    shown = cart._repr_html_()
    assert "<caption>Equations of cart_pole" in shown and all(
        f"<td>{q.name}</td>" in shown for q in (*cart.states, *cart.parameters)
    )
    names = [q.name for q in cart.states]
    law = dr.lqr(cart, weights=dict.fromkeys(names[:2], 1.0), input_weights={cart.inputs[0].name: 0.1})
    shown = law._repr_html_()
    gain = next(iter(law.gains.values()))
    unit = cart.inputs[0].unit
    assert f"<th>{cart.inputs[0].name} [{unit}]</th>" in shown and f"<td>{gain[names[0]].value:.6g}</td>" in shown
    assert "closed loop" in shown
    seen = dr.control.kalman(law.linear, measured={names[0]: 1e-4, names[1]: 1e-4}, noise={cart.inputs[0].name: 1.0})
    assert "error eigenvalues" in seen._repr_html_()
    assert "error eigenvalues" in dr.control.with_observer(law, seen)._repr_html_()
