"""A superball that returns from below a table (Garwin, 1969): impacts that give back the slip.

What it shows: tangential restitution. An ideal superball loses no energy: an impact reverses its slip, as it reverses the normal
velocity, and exchanges speed and spin.

What you should see: thrown under a table without spin, the ball strikes the floor, the underside of the table and the floor
again, and comes back nearly as fast as it came, with −333/343 of its velocity. Thrown onto the floor of a room, it makes long
and short hops in turn: with v and 3v/7. An ordinary ball with the same friction, which keeps its grip, goes on under the table.

By hand, for a homogeneous ball with the slip s = v − Rω on the floor (v + Rω on the underside):

    v⁺ = v − (2/7)(1 + e) s,   Rω⁺ = Rω ± (5/7)(1 + e) s;   with e = 1 and v = 1, Rω = 0:  3/7, −31/49, −333/343.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.entries.vertical_plane import in_vertical_plane
from draisine.gallery.registry import Study, entry, live, modes_of
from draisine.model.model import Model
from draisine.view.plots.trajectories import channel_figure

RADIUS, TABLE = 0.03, 0.7


@live(start={"z": 0.4, "x_rate": 3.0, "z_rate": -5.0})
def superball() -> Model:
    """A superball between the floor and the underside of a table, which return a given part of its slip."""
    m = Model("superball", "superball under a table")
    m.gravity(m.parameter("gravity", 9.81, "m/s^2"))
    mass, r = m.parameter("mass", 0.1, "kg"), m.parameter("radius", RADIUS, "m")
    m.parameter("restitution", 1.0, "", "of the normal velocity")
    m.parameter("tangential", 1.0, "", "restitution of the slip")
    moment = 0.4 * mass * r**2
    ball = m.body("ball", mass=mass, inertia=(moment,) * 3, shapes=[{"kind": "sphere", "radius": r}])
    in_vertical_plane(m, ball, turn="turn", height=0.4)
    laws: dict[str, Any] = {
        "friction": math.inf,
        "restitution": "restitution",
        "tangential_restitution": "tangential",
        "impact": "newton",
    }
    m.contact("floor", ball, radius=r, **laws)
    m.contact("table", ball, radius=r, on=m.frame("underside", "ground", (0, 0, TABLE), [("x", "pi")]), **laws)
    return m


def after_impacts(restitution: float = 1.0) -> list[tuple[float, float]]:
    """Velocity and Rω after floor, table and floor, relative to the first velocity, of a ball thrown without spin.

    >>> [round(343 * v) for v, _ in after_impacts()]
    [147, -217, -333]
    """
    v, spin, found = 1.0, 0.0, []
    for side in (1, -1, 1):
        slip = v - side * spin
        v, spin = v - 2 / 7 * (1 + restitution) * slip, spin + side * 5 / 7 * (1 + restitution) * slip
        found.append((v, spin))
    return found


@entry(level="First steps", film="under_the_table", charts=("x_rate", "turn_rate"))
def superball_returns() -> Study:
    """A superball returns from below a table with −333/343 of its velocity; on a floor long and short hops alternate."""
    model, method = superball(), dr.methods.DOP853(rtol=1e-12, atol=1e-13)
    thrown = {"x": 0.0, "z": 0.4, "x_rate": 3.0, "z_rate": -5.0, "turn": 0.0, "turn_rate": 0.0}
    under = dr.simulate(model, 0.44, start=thrown, method=method)
    grips = dr.simulate(model, 0.44, start=thrown, parameters={"tangential": 0.0}, method=method)
    hops = dr.simulate(model, 4.0, start={**thrown, "z": 0.6, "z_rate": 0.0, "x_rate": 2.0}, method=method)
    for run, restitution in ((under, 1.0), (grips, 0.0)):
        assert run.status.kind == "FINISHED", run.status
        times = np.array([change.time for change in modes_of(run).impacts[:3]])
        at = run.at(np.nextafter(times, np.inf))
        expected = np.array(after_impacts(restitution))
        assert np.max(np.abs(at["x_rate"] / 3.0 - expected[:, 0])) < 1e-9
        assert np.max(np.abs(RADIUS * at["turn_rate"] / 3.0 - expected[:, 1])) < 1e-9
    assert under.energy_drift is not None and under.energy_drift < 1e-9 and abs(modes_of(under).lost) < 1e-12
    times = np.array([change.time for change in modes_of(hops).impacts])
    speeds = hops.at(np.nextafter(times, np.inf))["x_rate"]
    assert np.max(np.abs(speeds[::2] - 2.0 * 3 / 7)) < 1e-9 and np.max(np.abs(speeds[1::2] - 2.0)) < 1e-9
    figures = {"under": channel_figure(under, "x", "z", "x_rate", "turn_rate"), "hops": channel_figure(hops, "x", "z", "x_rate")}
    back = after_impacts()[-1][0]
    findings = (
        f"after floor, table and floor: {under['x_rate'][-1] / 3.0:.9f} of its velocity; −333/343 = {back:.9f}",
        f"a ball that only grips has {after_impacts(0.0)[-1][0]:.6f} of it left, and goes on",
        f"hops on the floor alternate between {speeds[0]:.6f} and {speeds[1]:.6f} m/s: 3/7 of the first speed, and all of it",
    )
    return Study("A superball", {"under_the_table": under, "grips": grips, "hops": hops}, figures, findings)
