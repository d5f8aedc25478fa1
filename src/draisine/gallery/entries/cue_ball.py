"""A cue ball slides before it rolls: straight on, with top spin, with back spin, and around a curve.

What it shows: sliding in the plane. The friction has the direction of the slip, which a ball keeps while it slides, and the
end of the slip is located in two dimensions. (Coriolis, Théorie mathématique des effets du jeu de billard, 1835.)

What you should see: a ball without spin rolls after 12 v₀²/(49 μ g) with 5/7 of its speed; with strong back spin it comes
back; with a spin about its direction of motion (massé) its path is a parabola until it rolls on straight.

By hand, with the slip u = v + ω × (−R z) at the table,

    u keeps its direction and vanishes after t = 2|u|/(7 μ g);   then v = v₀ − 2u/7;   energy lost  m |u|²/7.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.registry import Study, entry, live, modes_of
from draisine.model.model import Model
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import PAGE
from draisine.view.plots.trajectories import channel_figure

RADIUS, FRICTION, MASS = 0.03, 0.2, 0.17
SHOTS = {  # velocity along x and y, angular velocity
    "no_spin": ((2.0, 0.0), (0.0, 0.0, 0.0)),
    "top_spin": ((1.0, 0.0), (0.0, 100.0, 0.0)),
    "back_spin": ((1.0, 0.0), (0.0, -120.0, 0.0)),
    "masse": ((2.0, 0.0), (60.0, -50.0, 30.0)),
}


@live(start={"ball_vx": 2.0, "ball_wx": 60.0, "ball_wy": -50.0})
def cue_ball() -> Model:
    """A billiard ball that slides and rolls on a table."""
    m = Model("cue_ball", "a billiard ball that slides and rolls")
    m.gravity(m.parameter("gravity", 9.81, "m/s^2"))
    mass, r = m.parameter("mass", MASS, "kg"), m.parameter("radius", RADIUS, "m")
    m.parameter("friction", FRICTION, "", "coefficient between ball and table")
    moment = 0.4 * mass * r**2
    body = m.body("ball", mass=mass, inertia=(moment, moment, moment), shapes=[{"kind": "sphere", "radius": r}])
    m.free(body, at=(0.0, 0.0, RADIUS))
    m.contact("table", body, radius=r, friction="friction")
    for axis in "xy":
        m.output(f"speed_{axis}", f"velocity_{axis}(ball)", "m/s")
    return m


def shot(velocity: tuple[float, float], spin: tuple[float, float, float]) -> dict[str, float]:
    """A ball on the table."""
    start = {"ball_x": 0.0, "ball_y": 0.0, "ball_z": RADIUS, "ball_vx": velocity[0], "ball_vy": velocity[1]}
    return start | dict(zip(("ball_wx", "ball_wy", "ball_wz"), spin, strict=True))


def rolls_after(velocity: tuple[float, float], spin: tuple[float, float, float]) -> tuple[float, np.ndarray, float]:
    """Time at which the ball begins to roll, its velocity then, and the energy lost, in closed form.

    >>> time, speed, lost = rolls_after((2.0, 0.0), (0.0, 0.0, 0.0))
    >>> round(time, 6), speed.round(6).tolist(), round(lost / MASS, 6)
    (0.291248, [1.428571, 0.0], 0.571429)
    """
    slip = np.array([velocity[0] - RADIUS * spin[1], velocity[1] + RADIUS * spin[0]])
    size = float(np.linalg.norm(slip))
    return 2 * size / (7 * FRICTION * 9.81), np.array(velocity) - 2 / 7 * slip, MASS * size**2 / 7


@entry(level="First steps", film="masse", charts=("table_slip_along", "table_slip_across"))
def cue_ball_rolls(until: float = 1.0) -> Study:
    """Four shots of a cue ball: when it stops sliding, with which velocity it rolls, and the energy lost until then."""
    model, method = cue_ball(), dr.methods.DOP853(rtol=1e-11, atol=1e-13)
    runs, findings = {}, []
    for name, (velocity, spin) in SHOTS.items():
        run = dr.simulate(model, until, start=shot(velocity, spin), method=method)
        assert run.status.kind == "FINISHED", run.status
        assert run.energy_drift is not None and run.energy_drift < 1e-9
        assert [change.modes["table"] for change in modes_of(run)] == ["slip", "stick"]
        time, speed, lost = rolls_after(velocity, spin)
        found = np.array([run["speed_x"][-1], run["speed_y"][-1]])
        assert abs(modes_of(run)[-1].time - time) < 1e-10
        assert np.max(np.abs(found - speed)) < 1e-9
        assert abs(run["kinetic_energy"][0] - run["kinetic_energy"][-1] - lost) < 1e-9
        runs[name] = run
        rolling = ", ".join(f"{part + 0.0:.6f}" for part in speed)
        findings.append(f"{name.replace('_', ' ')}: rolls after {time:.6f} s with ({rolling}) m/s, {lost:.4f} J lost")
    figures = {"paths": _paths(runs), "masse": channel_figure(runs["masse"], "speed_x", "speed_y", "table_slip_along")}
    return Study("A cue ball", runs, figures, tuple(findings))


def _paths(runs: dict[str, dr.Trajectory]) -> Any:
    with single_panel("x [m]", "y [m]", width=0.8 * PAGE, height=0.45 * PAGE) as (drawing, axes):
        for i, (name, run) in enumerate(runs.items()):
            lifted = 0.03 * (len(runs) - 2 - i) if name != "masse" else 0.0  # straight shots side by side
            (line,) = axes.plot(run["ball_x"], run["ball_y"] + lifted, label=name.replace("_", " "))
            at = run.at(modes_of(run)[-1].time)
            axes.plot([at["ball_x"]], [at["ball_y"] + lifted], "o", color=line.get_color(), markersize=4)
        axes.set_aspect("equal")
        axes.legend(title="○ rolls from here")
    return drawing
