"""Contacts that stick, slip and open in the page: the modes, their times and the motion of `simulate`."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

import draisine as dr
from draisine.errors import ArgumentError, ModelError
from draisine.model.contact.dry_friction import dry_friction
from draisine.studio.bundle import bundle
from draisine.studio.replay import replay
from studio_node import run_node

TIGHT = 1e-10
MODES = ("open", "slip", "stick")
RUN = """
    load(given.path);
    const live = born(), c = live.contacts.record.modes, seen = [];
    if (given.tolerance) {
      Object.assign(live.contacts.record, { rtol: given.tolerance });
      live.contacts.record.atol.fill(1e-2 * given.tolerance);
      c.tolerance = given.tolerance;
    }
    const why = live.reset(given.start);
    if (why) return { why };
    const note = () => { for (let k = seen.length; k < c.change_count; k++) seen.push([c.change_time[k], ...c.change_mode[k]]); };
    note();
    while (live.time < given.until - 1e-9 && live.advance(live.h, given.inputs || {}) === "ok") note();
    return { x: numbers(live.state), time: live.time, status: live.status, why: live.why, seen, modes: live.contacts.modes };
"""


def in_page(model, start, until, folder, tolerance=None, inputs=None, step=None):
    path = folder / "model.js"
    path.write_text(bundle(model, step=step).as_script(), encoding="utf-8")
    given = {"path": str(path), "start": start, "until": until, "tolerance": tolerance, "inputs": inputs}
    return run_node(RUN, given, folder)


def compare(model, start, until, folder, *, tolerance=TIGHT, atol=1e-8, times=1e-8, step=None):
    """The same changes of modes at the same times, and the same end, by the page and by `simulate`."""
    found = in_page(model, start, until, folder, tolerance, step=step)
    assert found["status"] == "ok" and found["time"] == pytest.approx(until, abs=1e-9), found["why"]
    run = dr.simulate(model, until, start=start, method=dr.methods.DOP853(rtol=tolerance, atol=1e-2 * tolerance))
    assert run.status.kind == "FINISHED"
    wanted = [[change.time, *(MODES.index(mode) for mode in change.modes.values())] for change in run.modes]
    assert [row[1:] for row in found["seen"]] == [row[1:] for row in wanted]
    np.testing.assert_allclose([row[0] for row in found["seen"]], [row[0] for row in wanted], rtol=0, atol=times)
    names = [state.name for state in dr.derive(model).states]
    np.testing.assert_allclose(np.array(found["x"], dtype=float), [run[name][-1] for name in names], rtol=0, atol=atol)
    return found, run


def ball(restitution: float) -> dr.Model:
    m = dr.Model("ball")
    m.gravity(9.81)
    body = m.body("ball", mass=0.5, inertia=(0.4 * 0.5 * 0.1**2,) * 3)
    m.free(body)
    m.contact("floor", body, radius=0.1, friction=0.1, restitution=restitution)
    return m


@cache
def falling_bicycle(friction: float = 0.6, lands: float = 0.5) -> dr.Model:
    """The benchmark bicycle with friction at its wheels, on grips, pedals and a saddle that land."""
    m = dr.gallery.bicycle()
    for name, wheel in m._items["wheels"].items():
        m._items["wheels"][name] = wheel._replace(friction=dry_friction(friction, 0.0, "energetic", name))
    m._items["events"].clear()
    for name, side in (("left", 1), ("right", -1)):
        m.contact(f"{name}_grip", m.point(f"{name}_end", "fork", (0.1, 0.3 * side, 0.7)), friction=lands)
        m.contact(f"{name}_pedal", m.point(f"{name}_foot", "frame", (0.4, 0.15 * side, 0.0)), friction=lands)
    m.contact("saddle", m.point("top", "frame", (0.3, 0.0, 0.6)), friction=lands)
    return m


def test_ball_comes_to_rest(tmp_path):
    """Its bounces end at t₁ (1 + e)/(1 − e); then it rolls."""
    found, _ = compare(ball(0.5), {"ball_z": 1.1, "ball_vx": 3.0}, 2.0, tmp_path)
    first = math.sqrt(2 * 1.0 / 9.81)
    assert found["seen"][1][0] == pytest.approx(first, abs=1e-10)
    assert found["seen"][-1][0] == pytest.approx(3 * first, abs=1e-8) and found["modes"] == [2]


def test_block_slides_and_sticks(tmp_path):
    """Pushed down a slope it stops after v₀/(g (μ cos α − sin α)) and stays."""
    start = {"x": 0.0, "z": 0.0, "turn": math.radians(20), "turn_rate": 0.0, "block_speed": 2.0}
    found, _ = compare(dr.gallery.block_on_slope(), start, 2.0, tmp_path)
    stops = 2.0 / (9.81 * (0.5 * math.cos(math.radians(20)) - math.sin(math.radians(20))))
    assert found["seen"][-1][0] == pytest.approx(stops, abs=1e-9) and found["modes"] == [2, 2]


def test_wheel_that_skids(tmp_path):
    """Until it lands, a bicycle that skids has the modes and the motion of Python."""
    model, start = falling_bicycle(0.3, 0.9), {"speed": 1.0, "roll_rate": 0.8}
    found, _ = compare(model, start, 0.6, tmp_path, tolerance=1e-7, times=1e-6, atol=1e-5)
    assert [row[1:3] for row in found["seen"]][:2] == [[2, 2], [2, 1]]


def test_bicycle_falls_and_lies_on_the_ground(tmp_path):
    """It lands, slides and comes to rest where it does in Python; at rest it has the energy of the lowest position."""
    model, start = falling_bicycle(0.6, 0.6), {"speed": 2.0, "roll_rate": 2.0, "steer": 0.2}
    found = in_page(model, start, 4.0, tmp_path)
    assert found["status"] == "ok", found["why"]
    names = [state.name for state in dr.derive(model).states]
    x = dict(zip(names, map(float, found["x"]), strict=True))
    run = dr.simulate(model, 4.0, start=start)
    assert [i for i, mode in enumerate(found["modes"]) if mode] == [0, 1, 4, 6]  # wheels, right grip, saddle
    assert max(abs(x[v.name]) for v in dr.derive(model).velocities) < 1e-6
    for name in ("frame_x", "frame_y", "frame_z"):
        assert x[name] == pytest.approx(run[name][-1], abs=2e-3)
    assert x["frame_z"] == pytest.approx(run["frame_z"][-1], abs=1e-6)


def test_kerb(tmp_path):
    """The front wheel leaves the ground at the edge of a kerb and lands below, as in Python."""
    model = dr.gallery.kerb_bicycle()
    spins = {"rear_wheel_spin": 10.0, "front_wheel_spin": 3.0 / 0.35}
    upright = dict.fromkeys(("lean", "steer", "pitch", "roll_rate", "steer_rate", "yaw_rate", "frame_y"), 0.0)
    found, _ = compare(model, {**upright, **spins, "frame_x": -1.32, "frame_z": 0.3, "speed": 3.0}, 0.4, tmp_path, atol=1e-7)
    assert len(found["seen"]) >= 3 and found["modes"][7] == 2  # the front wheel on the lower plane


def test_push_takes_forces_that_friction_may_not_have(tmp_path):
    """A push is a force for 0.1 s: a block of 2 kg stays, or slides with (F − μ m g) t/m."""
    m = dr.Model("block")
    m.gravity(9.81)
    carriage, body = m.body("carriage", mass=0.0), m.body("body", mass=2.0)
    m.prismatic("x", "ground", carriage, axis="x")
    m.prismatic("z", carriage, body, axis="z")
    m.contact("floor", body, friction=0.4)
    m.generalized_force("x", m.input("pull", "N"))
    path = tmp_path / "model.js"
    path.write_text(bundle(m).as_script(), encoding="utf-8")
    body = """
        load(given); const live = born(), x_rate = live.manifest.states.findIndex(({ name }) => name === "x_rate");
        const pushed = (amount) => {
          live.reset({}); live.push(amount); live.advance(0.1, {});
          return [live.state[x_rate], ...live.contacts.modes];
        };
        return [0.5, 2].map(pushed);
        """
    weak, strong = run_node(body, str(path), tmp_path)
    assert weak == [0, 2]
    assert strong == [pytest.approx((20.0 - 0.4 * 2 * 9.81) * 0.1 / 2, abs=1e-7), 1]


def test_snapshots_links_and_refused_changes_keep_the_modes(tmp_path):
    path = tmp_path / "model.js"
    path.write_text(bundle(ball(0.5)).as_script(), encoding="utf-8")
    body = """
        load(given); const live = born(); live.reset({ ball_z: 1.1, ball_vx: 3 }); live.advance(1, {});
        const kept = live.snapshot();
        live.advance(0.3, {}); const end = numbers(live.state);
        const other = born();
        const why = other.restore(kept); other.advance(0.3, {});
        const refused = [[3], [0, 0]].map((modes) => other.restore({ ...kept, modes }));
        other.restore(kept); other.reset({ ball_z: NaN }); other.advance(0.3, {});
        return { kept, end, again: numbers(other.state), why, refused };
        """
    found = run_node(body, str(path), tmp_path)
    assert found["kept"]["modes"] == [0] and found["why"] is None and all(found["refused"])
    np.testing.assert_allclose(np.array(found["again"], float), np.array(found["end"], float), atol=1e-4)


def test_recorded_rides_have_the_modes(tmp_path):
    path = tmp_path / "model.js"
    path.write_text(bundle(ball(0.5)).as_script(), encoding="utf-8")
    body = """
        load(given); const live = born(); live.record(true); live.reset({ ball_z: 1.1, ball_vx: 3 }); live.advance(2, {});
        return live.recording();
        """
    file = tmp_path / "ball.csv"
    file.write_text(run_node(body, str(path), tmp_path), encoding="utf-8")
    ride = dr.load(file)
    assert {*ride["floor_mode"]} == {0.0, 2.0} and ride["floor_normal_force"][-1] == pytest.approx(0.5 * 9.81)
    with pytest.raises(ArgumentError, match="contacts that stick, slip and open"):
        replay(ride, ball(0.5))


def test_springs_with_kinks_beside_dry_friction(tmp_path):
    """A bouncing ball, and a mass on a spring by a linear table with dry friction of its joint, as that of a brake: kinks of laws
    stand beside contacts."""
    m = ball(0.5)
    m.table("push", [-0.2, -0.05, 0.0, 0.1, 0.4], [-30.0, -4.0, 0.0, 5.0, 60.0], kind="linear")
    m.prismatic("slide", "ground", m.body("mass", mass=1.0), axis="y")
    m.generalized_force("slide", "-push(slide) - 20*clip(slide - 0.15, 0, 1)")
    m.friction("brake", "slide", 1.5)
    found, _ = compare(m, {"ball_z": 0.6, "slide": 0.3}, 1.2, tmp_path, atol=1e-7, times=1e-7)
    assert len(found["seen"]) > 3


def test_laws_that_jump_are_refused_beside_contacts():
    m = ball(0.5)
    m.prismatic("slide", "ground", m.body("mass", mass=1.0), axis="y")
    m.generalized_force("slide", "-sign(slide_rate)")
    with pytest.raises(ModelError, match="the studio takes one of both"):
        bundle(m)
