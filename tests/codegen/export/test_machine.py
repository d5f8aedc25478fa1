"""Exported code with a mode machine, compiled and run, beside `simulate`: the same modes at the same times, and the same ends."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import draisine as dr
from draisine.errors import ArgumentError, ExportError
from draisine.model.contact.dry_friction import dry_friction

MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "NAME_machine.h"

int main(int count, char **given) {
    NAME_machine *m = NAME_new();
    int modes[NAME_CONTACTS];
    double u[NAME_INPUTS + 1] = {0};
    const double until = atof(given[1]), step = atof(given[2]);
    NAME_set_tolerance(m, atof(given[3]));
    for (int k = 4; k < count; k++) u[k - 4] = atof(given[k]);
    int status = NAME_begin(m, 0.0, NAME_start_x, NAME_start_modes, u, NULL);
    for (int k = 0; status == NAME_REACHED; k++) {
        NAME_modes(m, modes);
        printf("%.17g", NAME_time(m));
        for (int i = 0; i < NAME_CONTACTS; i++) printf(" %d", modes[i]);
        printf("\\n");
        if (NAME_time(m) >= until) break;
        status = NAME_advance(m, (k + 1) * step < until ? (k + 1) * step : until);
    }
    printf("%d %.17g", status, NAME_time(m));
    for (int i = 0; i < NAME_STATES; i++) printf(" %.17g", NAME_state(m)[i]);
    printf("\\n");
    NAME_free(m);
    return 0;
}
"""


def in_c(model, start, until, folder: Path, *, step=0.01, tolerance=1e-10, modes="all", inputs=()):
    """Times with modes, the status, the time and the state at the end."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed: the exported C is not run")
    paths = dr.export(model, "c", out=folder, start=start, modes=modes)
    name = paths[0].name.removesuffix("_machine.h")
    (folder / "main.c").write_text(MAIN.replace("NAME", name), encoding="utf-8")
    sources = [path.name for path in paths if path.suffix == ".c"]
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wno-unused-function", "-Werror", "-O1"]
    done = subprocess.run(
        [compiler, *flags, "-o", "main", "main.c", *sources, "-lm"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:3000]
    reported = subprocess.run(
        ["./main", *map(str, (until, step, tolerance, *inputs))],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    *rows, last = [[float(part) for part in line.split()] for line in reported.stdout.splitlines()]
    return rows, int(last[0]), last[1], np.array(last[2:])


def in_javascript(model, start, until, folder: Path, *, tolerance=1e-10, modes="all"):
    if shutil.which("node") is None:
        pytest.skip("node is not installed: the exported JavaScript is not run")
    (path,) = dr.export(model, "javascript", out=folder, start=start, modes=modes)
    main = f"""
        import {{ Machine }} from "./{path.name}";
        const m = new Machine();
        m.tolerance = {tolerance};
        const why = m.begin() ?? m.advance({until});
        console.log(JSON.stringify({{ why, time: m.time, x: Array.from(m.state), modes: m.modes }}));
        """
    (folder / "main.mjs").write_text(main, encoding="utf-8")
    done = subprocess.run(["node", "main.mjs"], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def ends(run, model):
    return np.array([run[state.name][-1] for state in dr.derive(model).states])


def ball() -> dr.Model:
    m = dr.Model("ball")
    m.gravity(9.81)
    body = m.body("ball", mass=0.5, inertia=(0.4 * 0.5 * 0.1**2,) * 3)
    m.free(body)
    m.contact("floor", body, radius=0.1, friction=0.1, restitution=0.5)
    return m


def grippy_bicycle(friction: float) -> dr.Model:
    m = dr.gallery.bicycle()
    for name, wheel in m._items["wheels"].items():
        m._items["wheels"][name] = wheel._replace(friction=dry_friction(friction, 0.0, "energetic", name))
    return m


def test_ball_comes_to_rest(tmp_path):
    start = {"ball_z": 1.1, "ball_vx": 3.0}
    rows, status, time, x = in_c(ball(), start, 2.0, tmp_path)
    assert status == 0 and time == 2.0
    rests = 3 * math.sqrt(2 / 9.81)  # the bounces end at t (1 + e)/(1 − e)
    assert all(mode == (2 if at > rests else 0) for at, mode in rows)
    run = dr.simulate(ball(), 2.0, start=start, method=dr.methods.DOP853(rtol=1e-10, atol=1e-12))
    np.testing.assert_allclose(x, ends(run, ball()), rtol=0, atol=1e-8)
    found = in_javascript(ball(), start, 2.0, tmp_path)
    assert found["why"] is None and found["modes"] == [2]
    np.testing.assert_allclose(found["x"], ends(run, ball()), rtol=0, atol=1e-8)


def test_ball_on_waves(tmp_path):
    """Its place on the ground is part of the state: two coordinates without inertia."""
    m = ball()
    m.ground(height="0.1*sin(3*x) + 0.05*cos(2*y)")
    start = {"ball_x": 0.1, "ball_y": 0.2, "ball_z": 0.5, "ball_vx": 0.8, "ball_wy": 4.0}
    run = dr.simulate(m, 1.0, start=start, method=dr.methods.DOP853(rtol=1e-10, atol=1e-12))
    assert run.status.kind == "FINISHED" and len(run.modes.impacts) > 2
    _, status, time, x = in_c(m, start, 1.0, tmp_path)
    assert status == 0 and time == 1.0
    found = in_javascript(m, start, 1.0, tmp_path)
    assert found["why"] is None and found["modes"] == [int(run["floor_mode"][-1])]
    for state in (x, found["x"]):
        np.testing.assert_allclose(state, ends(run, m), rtol=0, atol=1e-7)


def test_steps_are_those_of_simulate(tmp_path):
    """Ends agree far below the tolerance: the same steps, also the first one behind each change."""
    slides = {"x": 0.0, "z": 0.0, "turn": math.radians(20), "turn_rate": 0.0, "block_speed": 2.0}
    for model, start in ((dr.gallery.belt_oscillator(), {"x": 0.0, "x_rate": 0.2}), (dr.gallery.block_on_slope(), slides)):
        _, status, time, x = in_c(model, start, 2.0, tmp_path, step=2.0, tolerance=1e-8)
        assert status == 0 and time == 2.0
        run = dr.simulate(model, 2.0, start=start, method=dr.methods.DOP853())
        np.testing.assert_allclose(x, ends(run, model), rtol=0, atol=1e-12)


def test_block_slides_and_sticks(tmp_path):
    model, slope = dr.gallery.block_on_slope(), math.radians(20)
    start = {"x": 0.0, "z": 0.0, "turn": slope, "turn_rate": 0.0, "block_speed": 2.0}
    rows, status, time, x = in_c(model, start, 2.0, tmp_path)
    assert status == 0 and time == 2.0
    stops = 2.0 / (9.81 * (0.5 * math.cos(slope) - math.sin(slope)))
    assert all(modes == ([2.0, 2.0] if at > stops else [1.0, 1.0]) for at, *modes in rows)
    way = dict(zip([s.name for s in dr.derive(model).states], x, strict=True))["x"] / math.cos(slope)
    assert way == pytest.approx(stops, abs=1e-9)  # v₀ t/2


def test_modes_that_are_not_included_end_with_a_status(tmp_path):
    """The block that stops leaves its mode, at that time; in C and in JavaScript."""
    model, slope = dr.gallery.block_on_slope(), math.radians(20)
    start = {"x": 0.0, "z": 0.0, "turn": slope, "turn_rate": 0.0, "block_speed": 2.0}
    sliding = {"front": ("slip", "open"), "rear": "slip"}
    stops = 2.0 / (9.81 * (0.5 * math.cos(slope) - math.sin(slope)))
    _, status, time, _ = in_c(model, start, 2.0, tmp_path, modes=sliding)
    assert status == 1 and time == pytest.approx(stops, abs=1e-9)
    found = in_javascript(model, start, 2.0, tmp_path, modes=sliding)
    assert found["why"] == "front sticks, which is not included" and found["time"] == pytest.approx(stops, abs=1e-9)


def test_wheel_that_slips(tmp_path):
    """The bicycle leans over until its front wheel slips, then the rear wheel, as in Python."""
    model, start, tolerance = grippy_bicycle(0.3), {"speed": 1.0, "roll_rate": 0.8}, 1e-8
    rows, status, time, x = in_c(model, start, 0.5, tmp_path, step=0.005, tolerance=tolerance)
    assert status == 0 and time == 0.5
    run = dr.simulate(model, 0.5, start=start, method=dr.methods.DOP853(rtol=tolerance, atol=1e-2 * tolerance))
    modes = ("open", "slip", "stick")
    for at, *found in rows:
        known = [change for change in run.modes if change.time <= at + 1e-9][-1]
        assert [modes[int(mode)] for mode in found] == list(known.modes.values()), at
    assert rows[-1][1:] == [1.0, 1.0]
    np.testing.assert_allclose(x, ends(run, model), rtol=0, atol=1e-6)


def test_refusals(tmp_path):
    with pytest.raises(ExportError, match=r"exported as c, javascript and fmu, not as fortran; .*in_modes"):
        dr.export(ball(), "fortran", out=tmp_path, modes="all")
    with pytest.raises(ArgumentError, match="the contacts of 'ball' are floor"):
        dr.export(ball(), "c", out=tmp_path, modes={"wall": "stick"})
    with pytest.raises(ArgumentError, match="'open', 'slip' and 'stick', not 'roll'"):
        dr.export(ball(), "c", out=tmp_path, modes={"floor": "roll"})
    with pytest.raises(ArgumentError, match="give 'all'"):
        dr.export(ball(), "c", out=tmp_path, modes="every")
    with pytest.raises(ArgumentError, match="has none"):
        dr.export(dr.gallery.bicycle(), "c", out=tmp_path, modes="all")
    with pytest.raises(ArgumentError, match=r"modes=\"all\""):
        dr.export(ball(), "c", out=tmp_path)
    assert not list(tmp_path.iterdir())
