"""Contacts that stick, slip and open in a real browser: the panel names the modes of a closed form; a bicycle lands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import draisine as dr
from browser import chromium, opened
from draisine.gallery.entries.belt_oscillator import limit_cycle
from draisine.studio.bundle import bundle
from draisine.studio.page import page

pytestmark = pytest.mark.long

PATIENCE = 60_000  # ms: this browser draws by software, perhaps beside other work
MODES = ("open", "slip", "stick")
WORDS = ("open", "slips", "sticks")
FALL = {"speed": 2.0, "roll_rate": 2.0, "steer": 0.2}
RUN = """([start, until]) => {
  const { live } = DraisineStudio.page, c = live.contacts.record.modes, why = live.reset(start);
  if (why) return { status: why };
  while (live.time < until - 1e-9 && live.advance(live.h) === "ok");
  const seen = Array.from({ length: c.change_count }, (_, k) => [c.change_time[k], ...c.change_mode[k]]);
  return { seen, state: Array.from(live.state), time: live.time, status: live.status };
}"""
PANEL = """() => Array.from(document.querySelectorAll("#modes tbody tr"), (row) => {
  const [name, text, mark] = ["th", "span", "i"].map((tag) => row.querySelector(tag));
  return [name.textContent, text.textContent, mark.style.background];
})"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


def written(name: str, folder: Path) -> Path:
    file = folder / f"{name}.html"
    file.write_text(page(bundle(name)).text, encoding="utf-8")
    return file


def ready(found) -> None:
    found.page.wait_for_selector("html[data-time]", state="attached", timeout=PATIENCE)


def ride(found, until: float) -> None:
    """Ride, pause, and let what is seen be drawn."""
    found.page.keyboard.press("p")
    found.page.wait_for_function(f"() => Number(document.documentElement.dataset.time) > {until}", timeout=PATIENCE)
    found.page.keyboard.press("p")
    found.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_belt_sticks_and_slips(browser, tmp_path):
    """While it rides, text and color of the panel are those of the mode, and the mode is that of the closed form."""
    known = limit_cycle()
    leaves = known["breaks_away"] / 0.2
    with opened(browser, written("belt_oscillator", tmp_path)) as found:
        ready(found)
        assert found.page.locator("#contacts").is_visible()
        ((name, _, at_rest),) = found.page.evaluate(PANEL)
        assert name == "belt"
        colors = found.page.evaluate("() => DraisineStudio.page.live.manifest.runtime.machine.colors")
        assert len({*colors}) == 3 and at_rest
        shown = set()
        for until in (0.5 * leaves, leaves + 0.5 * known["slip"], leaves + known["slip"] + 0.5 * known["stick"]):
            ride(found, until)
            time, mode = found.page.evaluate("() => [DraisineStudio.page.live.time, DraisineStudio.page.live.contacts.mode(0)]")
            cycle = (time - leaves) % (known["slip"] + known["stick"])
            assert mode == (2 if time < leaves else 1 if cycle < known["slip"] else 2), time
            ((_, text, color),) = found.page.evaluate(PANEL)
            assert text == WORDS[mode]
            shown.add((mode, color))
        assert len({mode for mode, _ in shown}) == len({color for _, color in shown})
        assert found.complaints == []


def test_bicycle_falls_and_lands(browser, tmp_path):
    """The changes of modes are those of `simulate` until it lands; then it lies there, and is drawn."""
    model = dr.gallery.falling_bicycle()
    with opened(browser, written("falling_bicycle", tmp_path)) as found:
        ready(found)
        before = found.picture("#view")
        ran = found.page.evaluate(RUN, [FALL, 1.5])
        assert ran["status"] == "ok" and ran["time"] == pytest.approx(1.5, abs=1e-9), ran["status"]
        run = dr.simulate(model, 1.5, start=FALL, method=dr.methods.DOP853(rtol=1e-8, atol=1e-10))
        first = next(k for k, change in enumerate(run.modes) if any(m != "open" for m in list(change.modes.values())[2:]))
        changes = [[MODES.index(mode) for mode in change.modes.values()] for change in run.modes][: first + 1]
        assert [row[1:] for row in ran["seen"]][: first + 1] == changes  # until something but the wheels lands
        assert ran["seen"][first][0] == pytest.approx([c.time for c in run.modes][first], abs=1e-4)
        assert any(mode > 0 for mode in ran["seen"][-1][3:])
        ride(found, 1.6)
        modes = found.page.evaluate("() => DraisineStudio.page.live.contacts.modes")
        assert [text for _, text, _ in found.page.evaluate(PANEL)] == [WORDS[mode] for mode in modes]
        assert np.mean(np.abs(found.picture("#view") - before).max(axis=2) > 24) > 0.01
        assert found.complaints == []


def test_a_braked_wheel_skids(browser, tmp_path):
    """On slippery ground the brake's key locks the rear wheel, which skids with all the friction there is; released, it rolls."""
    with opened(browser, written("skidding_bicycle", tmp_path)) as found:
        ready(found)
        assert any("brakes" in text for text in found.page.locator("#hint li").all_inner_texts())
        assert found.page.evaluate("() => DraisineStudio.page.live.setParameter('grip', 0.4)") is None
        found.page.keyboard.down("b")
        ride(found, 0.5)
        modes = {name: text for name, text, _ in found.page.evaluate(PANEL)}
        assert modes == {"rear wheel": "slips", "front wheel": "sticks", "rear brake": "sticks", "front brake": "slips"}
        speed, along, up = found.page.evaluate(
            """() => {
              const { live } = DraisineStudio.page, all = live.outputs(), names = live.manifest.outputs.map((o) => o.name);
              return ["speed", "rear_wheel_longitudinal_force", "rear_wheel_normal_force"].map((n) => all[names.indexOf(n)]);
            }"""
        )
        assert speed < 6.0 and along == pytest.approx(-0.4 * up, rel=1e-9)
        found.page.keyboard.up("b")
        ride(found, 1.0)
        assert {name: text for name, text, _ in found.page.evaluate(PANEL)}["rear wheel"] == "sticks"
        found.page.locator("#brake").hover()
        found.page.mouse.down()
        ride(found, 1.4)
        found.page.mouse.up()
        assert {name: text for name, text, _ in found.page.evaluate(PANEL)}["rear wheel"] == "slips"
        assert found.complaints == []
