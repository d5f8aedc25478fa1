"""The studio in a real browser: it opens quietly, draws, rides, is steered and redesigned; rides and links come back exactly."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import draisine as dr
from browser import chromium, opened
from draisine.studio.bundle import bundle
from draisine.studio.page import page, write_static
from draisine.studio.replay import replay
from draisine.studio.server import Server
from draisine.studio.studio import presets_for, with_presets
from screenshots import compared, difference

pytestmark = pytest.mark.long

EVIL = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
PICTURES = Path(__file__).parent / "pictures"
PATIENCE = 60_000  # ms for what needs many frames: this browser draws by software, perhaps beside other work


@pytest.fixture(scope="module")
def whole(made):
    return page(with_presets(made, presets_for(made)))


@pytest.fixture(scope="module")
def path(whole, tmp_path_factory) -> Path:
    return write_static(whole, tmp_path_factory.mktemp("studio") / "ride")


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def tab(browser, path):
    with opened(browser, path) as found:
        ready(found)
        yield found


@pytest.fixture
def studio(tab):
    """The page as it was opened: at the start, paused, from behind, in the light, everything as given."""
    tab.page.evaluate(
        """() => {
          if (DraisineStudio.page.riding) document.getElementById("pause").click();
          if (document.getElementById("compare").checked) document.getElementById("compare").click();
          if (document.documentElement.dataset.theme === "dark") document.getElementById("theme").click();
          document.getElementById("notices").replaceChildren();
          document.getElementById("defaults").click();
          document.getElementById("default-start").click();
          document.getElementById("pause").click();
          document.querySelector("[data-camera=follow]").click();
          document.getElementById("panel").scrollTo(0, 0);
          document.activeElement.blur();
          document.getElementById("reset").click();
          document.getElementById("pause").click();
        }"""
    )
    settle(tab)
    return tab


def ready(found) -> None:
    found.page.wait_for_selector("html[data-time]", state="attached", timeout=PATIENCE)


def settle(found, frames: int = 2) -> None:
    """Some frames of the page, so that what was asked for is drawn."""
    found.page.evaluate(
        "n => new Promise(done => { const next = () => (n-- > 0 ? requestAnimationFrame(next) : done()); next(); })", frames
    )


def live(found, what: str):
    return found.page.evaluate(f"() => {{ const studio = DraisineStudio.page, {{ live, controls }} = studio; return {what}; }}")


def output(found, name: str) -> float:
    return live(found, f"live.outputs()[live.manifest.outputs.findIndex(o => o.name === '{name}')]")


def snapshot(found, which: str = "live") -> dict:
    return json.loads(live(found, f"JSON.stringify({which}.snapshot())"))


def ride_until(found, time: float) -> None:
    """Let it ride, then pause."""
    found.page.keyboard.press("p")
    found.page.wait_for_function(f"() => Number(document.documentElement.dataset.time) > {time}", timeout=PATIENCE)
    found.page.keyboard.press("p")


def changed(before: np.ndarray, after: np.ndarray) -> float:
    return float(np.mean(np.abs(before - after).max(axis=2) > 24))


def notice(found) -> str:
    return found.page.locator("#notices").text_content()


# ---------------------------------------------------------------- looking


def test_it_opens_from_a_disk_without_complaint_and_asks_nobody_for_anything(studio, path):
    assert studio.complaints == []
    assert studio.requests == [path.as_uri(), "data:,"][: len(studio.requests)]
    assert studio.page.title() == "bicycle · studio"
    assert [p.name for p in path.parent.iterdir()] == ["index.html"]
    assert studio.page.locator("#status").text_content() == "paused · P rides on"


def test_a_bicycle_is_seen(studio):
    picture = studio.picture("#view")
    blue = (picture[..., 2] > 90) & (picture[..., 2] > picture[..., 0] + 50)  # the frame
    rubber = picture.max(axis=2) < 70
    assert 0.002 < blue.mean() < 0.2
    assert 0.003 < rubber.mean() < 0.3
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 200


def test_by_day_and_by_night_it_looks_as_it_should(studio):
    day = studio.picture("#studio")
    seen = compared(day, PICTURES / "studio-light.png")
    assert seen.small(), seen
    studio.page.keyboard.press("d")
    settle(studio)
    night = studio.picture("#studio")
    seen = compared(night, PICTURES / "studio-dark.png")
    assert seen.small(), seen
    # the measure sees what matters: another theme, and a bicycle that is a hand's breadth elsewhere
    assert not difference(night, PICTURES / "studio-light.png").small()
    assert not difference(np.roll(day, 40, axis=1), PICTURES / "studio-light.png").small()


def test_the_eigenvalue_chart_follows_the_slider(studio):
    verdict = studio.page.locator("#verdict")
    before = studio.picture("#spectrum")
    assert verdict.text_content() == "Without control, it is self-stable from 4.29 to 6.02 m/s."
    studio.page.locator("input[type=range][data-name=trail]").fill("0.12")
    studio.page.wait_for_function("() => !document.getElementById('verdict').textContent.includes('4.29')", timeout=PATIENCE)
    settle(studio, 3)
    assert changed(before, studio.picture("#spectrum")) > 0.005
    reported = dict(item.split("=") for item in verdict.get_attribute("data-critical").split(";"))
    found = dr.modes(dr.gallery.bicycle(), speed=np.linspace(0, 10, 101), states=("lean", "steer"), parameters={"trail": 0.12})
    wanted = {c.kind: c.value for c in found.critical() if c.kind in ("weave", "capsize")}
    assert {name: float(speed) for name, speed in reported.items()} == pytest.approx(wanted, abs=1e-8)
    assert studio.page.locator("#edited").text_content() == "1 changed"
    assert studio.page.locator("input[type=number][data-name=trail]").input_value() == "0.12"


def test_a_number_that_no_bicycle_has_is_refused(studio):
    studio.page.locator("#search").fill("mass")
    box = studio.page.locator("input[type=number][data-name=m_frame]")
    box.fill("-3")
    box.press("Enter")
    assert "m_frame must lie from" in notice(studio)
    assert (box.input_value(), box.get_attribute("aria-invalid")) == ("85", "true")
    assert snapshot(studio)["parameters"] == {}
    assert studio.page.locator("input[type=range][data-name=trail]").is_hidden()  # not what was searched for
    studio.page.locator("#search").fill("")


# ---------------------------------------------------------------- riding


def test_arrow_keys_steer_and_it_countersteers(studio):
    """A torque to the left turns the handlebar to the left, and the bicycle falls to the right."""
    live(studio, "(live.reset({speed: 5}), 0)")
    assert output(studio, "heading") == 0
    studio.page.keyboard.press("p")
    studio.page.keyboard.down("ArrowLeft")
    studio.page.wait_for_function("() => Number(document.documentElement.dataset.time) > 0.25", timeout=PATIENCE)
    studio.page.keyboard.up("ArrowLeft")
    studio.page.keyboard.press("p")
    assert live(studio, "controls.axes.across.name") == "steer_torque"
    assert abs(output(studio, "heading")) > 1e-4
    assert output(studio, "lean") > 1e-3
    print(f"one step in the page took {float(live(studio, 'studio.step')):.3f} ms; 2 ms are allowed")
    assert np.isfinite(float(live(studio, "studio.step")))


def test_it_falls_and_says_so_and_stands_up_again(studio):
    live(studio, "(live.reset({speed: 0.5, roll_rate: 0.5}), 0)")
    studio.page.locator("#pace").select_option("2")
    studio.page.keyboard.press("p")
    studio.page.wait_for_selector("html[data-outcome=fallen]", state="attached", timeout=PATIENCE)
    why = live(studio, "live.why")
    assert "passed" in why
    assert studio.page.locator("#status").text_content() == f"It fell over ({why}) · R starts again"
    studio.page.locator("#pace").select_option("1")
    studio.page.keyboard.press("r")
    settle(studio)
    assert studio.page.locator("html").get_attribute("data-outcome") == "ok"
    assert abs(output(studio, "lean")) < 0.6


def test_it_says_when_the_ground_would_have_to_pull(studio):
    """The handlebar is thrown round until a wheel would lift: the notice names a wheel whose normal force is negative."""
    assert studio.page.inner_text("#lifts") == ""
    found = studio.page.evaluate(
        """() => {
          const { page } = DraisineStudio, end = "_normal_force";
          const at = page.manifest.outputs.map(({ name }, i) => [name, i]).filter(([name]) => name.endsWith(end));
          page.live.reset({ speed: 3.0, roll_rate: 2.5 });
          for (let k = 0; k < 2000; k++) {
            if (page.live.advance(0.001, page.controls.values(0)) !== "ok") return null;
            const lifted = at.filter(([, i]) => page.live.outputs()[i] < 0).map(([name]) => name.slice(0, -end.length));
            if (lifted.length) { page.sample(page.live); page.board.lifts.update(page.samples); return lifted; }
          }
          return null;
        }"""
    )
    assert found
    text = studio.page.inner_text("#lifts")
    assert "would have to pull" in text and all(name.replace("_", " ") in text for name in found)


def test_a_push_changes_the_lean_rate_at_once(studio):
    before = output(studio, "roll_rate")
    studio.page.keyboard.press(" ")
    after = output(studio, "roll_rate")
    assert abs(after - before) > 0.05
    assert live(studio, "live.time") == 0


def test_the_pad_takes_fingers_gamepads_steer_and_levers_hold(studio):
    box = studio.page.locator("#pad").bounding_box()
    studio.page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    studio.page.mouse.down()
    studio.page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 0.1 * box["height"])
    held = live(studio, "controls.values(10)")
    studio.page.mouse.up()
    assert held["steer_torque"] == pytest.approx(0.8**2 * -5, rel=0.03)
    assert held["pedal_torque"] == pytest.approx(0.8**2 * 20, rel=0.03)
    live(studio, "controls.values(10)")
    assert live(studio, "controls.values(10)") == {"steer_torque": 0, "pedal_torque": 0, "push": 0}
    stick = "() => [null, {connected: true, axes: [-1, 0.05], buttons: []}]"
    assert live(studio, f"(navigator.getGamepads = {stick}, controls.values(10))")["steer_torque"] == pytest.approx(5)
    live(studio, "(delete navigator.getGamepads, controls.values(10))")
    studio.page.evaluate("() => { document.getElementById('inputs').open = true; }")
    studio.page.locator("input[type=number][data-name=pedal_torque]").fill("7.5")
    studio.page.locator("input[type=number][data-name=pedal_torque]").press("Enter")
    assert live(studio, "controls.values(0)")["pedal_torque"] == 7.5
    studio.page.locator("#release").click()
    assert live(studio, "controls.values(0)")["pedal_torque"] == 0


def test_a_page_that_slept_does_not_make_up_for_it(studio):
    studio.page.keyboard.press("p")
    settle(studio, 3)
    slept = studio.page.evaluate(
        """async () => {
          const { live } = DraisineStudio.page, before = live.time, end = performance.now() + 1500;
          while (performance.now() < end);
          await new Promise(requestAnimationFrame);
          return live.time - before;
        }"""
    )
    studio.page.keyboard.press("p")
    assert slept <= 0.21


def test_the_first_screen_says_how_to_ride(browser, path):
    with opened(browser, path) as found:
        ready(found)
        hint = found.page.locator("#hint")
        assert hint.is_visible()
        for words in (
            "← →steer torque",
            "↑ ↓pedal torque",
            "spacea push from the side",
            "To turn left, first steer slightly to the right",
        ):
            assert words in hint.text_content()
        found.page.keyboard.press("ArrowLeft")
        assert hint.is_hidden()  # who rides knows


def test_the_clock_says_when_it_is_slower_than_real_time(studio):
    """The page gets frames that are late: 20 ms of simulated time in every 100 ms of the wall clock."""
    said = """() => {
      const page = DraisineStudio.page;
      page.riding = true; page.ticks = [];
      const live = { time: 0 };
      Object.defineProperty(page, 'shown', { configurable: true, get: () => live });
      for (let k = 0; k < 12; k++) { live.time += SHARE * EACH; page.measure(EACH); }
      page.clock();
      delete page.shown;
      page.riding = false;
      return document.getElementById('clock').textContent;
    }"""

    def clock(share: float, each: float) -> str:
        return studio.page.evaluate(said.replace("SHARE", str(share)).replace("EACH", str(each)))

    assert clock(0.2, 0.1) == "0.2 s · 0.20×, slower than real time · 10 frames/s"
    assert clock(1.0, 0.1) == "1.2 s · 10 frames/s"
    assert clock(0.05, 2.0) == "1.2 s · 0.05×, slower than real time · 0.5 frames/s"  # frames of seconds are slow too


def test_the_clock_is_right_in_every_slow_frame(studio):
    """Frames of 100 ms, drawn by hand: after each of them the clock shows the time of the picture."""
    pairs = studio.page.evaluate(
        """() => {
          const page = DraisineStudio.page, pairs = [];
          page.riding = true;
          for (let k = 0; k < 5; k++) {
            page.draw(performance.now(), 0.1);
            pairs.push([document.getElementById('clock').textContent.split(' s')[0], page.shown.time.toFixed(1)]);
          }
          page.riding = false;
          return pairs;
        }"""
    )
    assert [said for said, _ in pairs] == [true for _, true in pairs]
    assert len({true for _, true in pairs}) == 5


def test_angles_are_typed_in_degrees(studio):
    box = studio.page.locator("input[type=number][data-name=steer_axis_tilt]")
    assert box.input_value() == "18"
    box.fill("20")
    box.press("Enter")
    place = "Draisine.manifest.parameters.findIndex((p) => p.name === 'steer_axis_tilt')"
    assert studio.page.evaluate(f"DraisineStudio.page.live.parameters[{place}]") == pytest.approx(math.radians(20), rel=1e-12)
    assert box.input_value() == "20"


def test_vehicles_are_offered_where_a_server_has_them(browser, made, path, tmp_path):
    with opened(browser, path) as found:
        ready(found)
        assert found.page.locator("#vehicles").is_hidden()  # a page alone has no others
    offered = [{"name": "bicycle", "title": "bicycle"}, {"name": "town_with_anna", "title": "Town with Anna"}]
    listed = page(replace(made, manifest={**made.manifest, "vehicles": offered}))
    with opened(browser, write_static(listed, tmp_path / "listed")) as found:
        ready(found)
        assert found.page.locator("#vehicles option").all_text_contents() == ["bicycle", "Town with Anna"]
        assert found.page.locator("#vehicles").input_value() == "bicycle"


def test_two_designs_ride_side_by_side(studio):
    alone, chart = studio.picture("#view"), studio.picture("#spectrum")
    studio.page.evaluate("() => { document.getElementById('comparison').open = true; }")
    studio.page.locator("#compare").check()
    studio.page.locator("#presets").select_option(label="schwab bicycle")
    studio.page.evaluate("() => document.getElementById('panel').scrollTo(0, 0)")
    studio.page.keyboard.press("r")
    studio.page.wait_for_selector("#spectrum-key li:nth-child(4)", timeout=PATIENCE)
    settle(studio, 3)
    assert changed(alone, studio.picture("#view")) > 1e-3
    assert changed(chart, studio.picture("#spectrum")) > 0.005
    schwab = {p.name: p.default for p in dr.gallery.schwab_bicycle().freeze().parameters}
    own = {p.name: p.default for p in dr.gallery.bicycle().freeze().parameters}
    rows = studio.page.locator("#differences tbody tr")
    assert rows.count() == sum(schwab[name] != own[name] for name in own)
    assert snapshot(studio)["parameters"] == {}  # A is what it was


# ---------------------------------------------------------------- rides and links


def test_a_recorded_ride_comes_back_and_each_step_reproduces(studio, tmp_path):
    studio.page.keyboard.press("e")
    studio.page.keyboard.press("p")
    studio.page.keyboard.down("ArrowRight")
    studio.page.wait_for_function("() => Number(document.documentElement.dataset.time) > 0.4", timeout=PATIENCE)
    studio.page.keyboard.up("ArrowRight")
    studio.page.keyboard.press(" ")
    studio.page.wait_for_function("() => Number(document.documentElement.dataset.time) > 0.8", timeout=PATIENCE)
    studio.page.keyboard.press("p")
    studio.page.keyboard.press("e")
    with studio.page.expect_download() as download:
        studio.page.locator("#download").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.name == "bicycle-ride.csv"
    run = dr.load(file)
    assert float(np.abs(run["steer_torque"]).max()) > 0.5  # the key is in it
    again = replay(run)
    assert again.steps > 400
    assert again.error < 1e-9, again
    # the page shows it again, in the end where it ended
    studio.page.locator("#file").set_input_files(str(file))
    studio.page.wait_for_selector("#player:not([hidden])", timeout=PATIENCE)
    studio.page.locator("#ride-time").fill(str(float(run.time[-1])))
    settle(studio)
    assert live(studio, "Array.from(studio.rides.shown.live.outputs()).slice(0, 3)") == pytest.approx(
        [float(run[name][-1]) for name in ("speed", "heading", "lean")], abs=1e-9
    )
    studio.page.locator("#ride-close").click()
    assert studio.page.locator("#player").is_hidden()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it holds no instant of a ride"),
        ("a,b\n1,2\n", "it is not a trajectory file of draisine"),
        ('# draisine: 2\n# model: {"\ntime,x\n', "its head is damaged at “model”"),
        ('# draisine: 2\n# model: "bicycle"\ntime,x\n0,0\n', "it has no column “frame_x”"),
    ],
)
def test_files_that_are_no_rides_are_refused(studio, tmp_path, text, why):
    file = tmp_path / "ride.csv"
    file.write_text(text)
    studio.page.locator("#file").set_input_files(str(file))
    studio.page.wait_for_selector("#notices .refusal", timeout=PATIENCE)
    assert notice(studio).startswith(f"ride.csv is not shown: {why}")
    assert studio.page.locator("#player").is_hidden()


def test_a_link_opens_exactly_the_same_moment(studio, browser, whole):
    """Through the server, whose page is the same."""
    studio.page.locator("input[type=range][data-name=trail]").fill("0.06")
    live(studio, "studio.designs.compare(true, {...studio.designs.usual, wheelbase: 1.3})")
    ride_until(studio, 0.3)
    link = live(studio, "studio.links.copy()")
    wanted, beside = snapshot(studio), snapshot(studio, "studio.rival")
    assert (wanted["parameters"], beside["parameters"]) == ({"trail": 0.06}, {"wheelbase": 1.3})
    with Server(whole) as server:
        address = server.address + "#" + link.partition("#")[2]
        with opened(browser, address) as other:
            ready(other)
            assert (snapshot(other), snapshot(other, "studio.rival")) == (wanted, beside)
            assert notice(other).startswith("Opened from a link")
            for part, why in {
                "p.trail=oops": "“trail” must be a number, not “oops”",
                "p.trail=77": "trail must lie from 0 to",
                "p.tail=0.1": "“tail” is no parameter of bicycle",
                "state=1,2": "its state has 2 numbers; bicycle has 13",
                "state=" + ",".join(["5"] * 13): "the state is not one that the model can be in",
                "x" * 20_000: "it has 20000 characters",
                "p.trail=0.1&p.trail=0.2": "“p.trail” is said twice",
            }.items():
                other.page.evaluate("hash => { location.hash = hash; }", part)
                other.page.wait_for_function("why => document.getElementById('notices').textContent.includes(why)", arg=why)
                assert notice(other).startswith("The link was not followed, and everything is as given: ")
                assert other.page.locator("#notices .refusal").is_visible()
                assert snapshot(other)["parameters"] == {}
            assert other.complaints == []
            assert {url.partition("#")[0] for url in other.requests} <= {server.address, "data:,"}


# ---------------------------------------------------------------- hands, small screens, other models


def test_everything_has_a_name_and_the_keyboard_reaches_it(studio):
    nameless = studio.page.evaluate(
        """() => {
          const label = e => e.getAttribute("aria-label") || e.getAttribute("aria-labelledby");
          const named = e => label(e) || e.textContent.trim() || e.labels?.length;
          const all = [...document.querySelectorAll("button, select, input, canvas, dialog")];
          return all.filter(e => !named(e)).map(e => e.outerHTML);
        }"""
    )
    assert nameless == []
    studio.page.locator("#pause").focus()
    reached = ["pause"]
    for _ in range(13):
        studio.page.keyboard.press("Tab")
        reached.append(studio.page.evaluate("() => document.activeElement.id || document.activeElement.dataset.camera"))
    assert reached[:7] == ["pause", "reset", "push", "pace", "orbit", "follow", "top"]
    assert {"record", "link", "theme", "ask", "fold", "view", "pad"} <= set(reached)
    studio.page.keyboard.press("?")
    assert studio.page.locator("#help").is_visible()
    assert "steer torque" in studio.page.locator("#keys").text_content()
    studio.page.keyboard.press("Escape")
    assert studio.page.locator("#help").is_hidden()


def test_on_a_telephone_the_panels_fold_away(studio):
    studio.page.set_viewport_size({"width": 390, "height": 800})
    settle(studio, 3)
    assert studio.page.evaluate("() => document.documentElement.scrollWidth") == 390
    before = studio.page.locator("#scene").bounding_box()["height"]
    studio.page.locator("#fold").click()
    settle(studio, 3)
    assert studio.page.locator("#scene").bounding_box()["height"] > 1.5 * before
    assert studio.page.locator("#fold").get_attribute("aria-expanded") == "false"
    studio.page.locator("#fold").click()
    studio.page.set_viewport_size({"width": 900, "height": 560})
    settle(studio, 3)


def test_other_models_are_plain_simulators_and_names_are_texts(browser, tmp_path):
    """Equations typed by hand, with a title and descriptions that nobody should have."""
    plain = bundle("cart_pole")
    rude = [{**p, "about": EVIL} for p in plain.manifest["parameters"]]
    file = tmp_path / "cart.html"
    manifest = {**plain.manifest, "title": EVIL, "about": EVIL, "parameters": rude}
    file.write_text(page(dataclasses.replace(plain, manifest=manifest)).text, encoding="utf-8")
    with opened(browser, file, dark=True) as other:
        ready(other)
        assert other.page.evaluate("() => typeof window.hacked") == "undefined"
        assert other.page.locator("h1").text_content() == EVIL
        assert other.page.locator("html").get_attribute("data-theme") == "dark"
        assert other.page.locator("#stability").is_hidden()
        assert other.page.locator("#sheet .strip").count() == 4
        name = plain.manifest["inputs"][0]["name"]
        other.page.locator(f"input[type=range][data-name={name}]").fill(str(plain.manifest["inputs"][0]["high"]))
        before = snapshot(other)["state"]
        ride_until(other, 0.2)
        assert snapshot(other)["state"] != before
        assert other.complaints == []


def test_where_nothing_can_be_done_to_a_model_its_start_is_open(browser, tmp_path):
    """A mechanism without inputs that rests at its usual start would seem dead otherwise."""
    file = tmp_path / "sleigh.html"
    file.write_text(page(bundle("chaplygin_sleigh")).text, encoding="utf-8")
    with opened(browser, file) as other:
        ready(other)
        assert other.page.locator("#starts").get_attribute("open") is not None
        assert other.page.locator("#inputs").is_hidden()
        assert other.page.evaluate("() => [[0, 0], [3, 3]].map(DraisinePlot.limits)") == [[-1, 1], [2.85, 3.15]]
