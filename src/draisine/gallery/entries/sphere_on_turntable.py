"""A ball rolling on a turntable moves on circles with 2/7 of the table's angular velocity.

What it shows: quasi-velocities and rheonomic constraints. The angular velocity of a ball needs no angles: five speeds (two of
the center, three of spin) belong to two coordinates, and SymPy's vectors state the rolling: contact point and table have the
same velocity, v − r ω × z = Ω z × p. The table does work on the ball through these constraints, which the energy balance
includes.

What you should see: the ball moves on a circle about a point that depends on its initial velocity and not on the table's axis,
always with 2/7 of the table's angular velocity. A ball placed on the table without relative motion at the distance ρ from the
axis moves on a circle of radius 7/2 ρ. On a tilted table the circle drifts across the slope at constant speed.

By hand (complex numbers for the plane, z = i): with R the force of the table, a the acceleration of gravity along it,

    m v̇ = R + m a,      I ω̇ = −r z × R,      v − r ω × z = i Ω p,

differentiate the third and substitute the others: v̇ = (1 − κ) a + i κ Ω v with κ = I/(I + m r²), which is 2/7 for a uniform
ball. So

    v = d + (v₀ − d) e^{iκΩt},      p = p₀ + d t + (v₀ − d)(e^{iκΩt} − 1)/(iκΩ),      d = i (1 − κ) a/(κΩ) = 5 i a/(2 Ω),

and the spin about the vertical is constant. The table's power is R · (Ω z × p) = Ω dL_z/dt, with L_z the angular momentum about
its axis: so on the level table T − Ω L_z is constant, though T is not.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.expr.expression import Name
from draisine.gallery.registry import Study, entry, live
from draisine.model.items import Coordinate, Translate
from draisine.model.model import Model
from draisine.view.plots.tracks import track_figure
from draisine.view.plots.trajectories import channel_figure, energy_figure

Reals = NDArray[np.float64]

DEFAULTS = {"mass": 0.5, "radius": 0.04, "table_rate": 3.5, "tilt": 0.0, "gravity": 9.81}
UNITS = {
    "mass": "kg",
    "radius": "m",
    "table_rate": "rad/s",
    "tilt": "rad",
    "gravity": "m/s^2",
    **dict.fromkeys(("ball_x", "ball_y"), "m"),
    **dict.fromkeys(("velocity_x", "velocity_y"), "m/s"),
    **dict.fromkeys(("spin_x", "spin_y", "spin_z"), "rad/s"),
    **dict.fromkeys(("rolling_x_multiplier", "rolling_y_multiplier"), "N"),
    "moving_energy": "J",
}


@live(start={"velocity_y": 0.2})
def sphere_on_turntable() -> dr.Equations:
    """A uniform ball rolling on a table that turns about the vertical, and may be tilted (x uphill); by SymPy's vectors."""
    import sympy as sp
    from sympy.physics.mechanics import KanesMethod, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia

    m, r, omega, tilt, g = (sp.Symbol(name) for name in DEFAULTS)
    x, y = dynamicsymbols("ball_x ball_y")
    vx, vy = dynamicsymbols("velocity_x velocity_y")
    wx, wy, wz = spins = dynamicsymbols("spin_x spin_y spin_z")

    table = ReferenceFrame("table_axes")  # in the plane of the table, not turning
    ball = ReferenceFrame("ball")
    ball.set_ang_vel(table, wx * table.x + wy * table.y + wz * table.z)  # no orientation: a ball looks the same from all sides
    center = Point("center")
    center.set_vel(table, vx * table.x + vy * table.y)
    about = 2 * m * r**2 / 5
    body = RigidBody("ball", center, ball, m, (inertia(table, about, about, about), center))
    body.potential_energy = m * g * sp.sin(tilt) * x
    slip = center.vel(table) + ball.ang_vel_in(table).cross(-r * table.z) - omega * table.z.cross(x * table.x + y * table.y)
    method = KanesMethod(
        table,
        [x, y],
        [vx, vy, wz],
        kd_eqs=[x.diff() - vx, y.diff() - vy],
        u_dependent=[wx, wy],
        velocity_constraints=[slip.dot(table.x), slip.dot(table.y)],
        bodies=[body],
        forcelist=[(center, -m * g * (sp.sin(tilt) * table.x + sp.cos(tilt) * table.z))],
    )
    kinetic = m * (vx**2 + vy**2) / 2 + about * sum(w**2 for w in spins) / 2
    return dr.from_sympy(
        method,
        parameters=DEFAULTS,
        outputs={"moving_energy": kinetic - omega * (m * (x * vy - y * vx) + about * wz)},
        start={x: 0.2},
        units=UNITS,
        names={"g1": "rolling_x", "g2": "rolling_y"},
        name="sphere_on_turntable",
    )


@live(start={"ball_y_rate": 0.2})
def sphere_on_turntable_graph() -> Model:
    """The same ball and the table as bodies: their surfaces touch and roll; a motor keeps the table's rate.

    The mass of the ball is in its core, which does not turn, and its inertia in a shell that turns about it: so the surface needs
    no poles, and `matter` says that the shell's material touches.
    """
    m = Model("sphere_on_turntable_graph", "a ball that rolls on a turning table")
    for name, value in DEFAULTS.items():
        m.parameter(name, value, UNITS[name])
    m.gravity("gravity*cos(tilt)")  # across the table; what is left of it acts along
    m.potential("slope", "mass*gravity*sin(tilt)*ball_x")
    disk = {"kind": "cylinder", "radius": 0.9, "length": 0.02, "axis": "z", "at": (0, 0, -0.01), "color": "#C9C4B8"}
    stripe = {"kind": "box", "size": (1.7, 0.02, 0.004), "at": (0, 0, -0.001), "color": "#E69F00"}
    table = m.body("table", mass=2.0, inertia=(0.1, 0.1, 0.2), shapes=[disk, stripe])
    m.revolute("table_angle", "ground", table, axis="z")
    m.constrain("motor", "table_angle_rate - table_rate", level="velocity", unit="rad/s")
    moment = "2*mass*radius^2/5"
    skin = {"kind": "sphere", "radius": "radius"}
    spots = [
        {"kind": "sphere", "radius": "0.3*radius", "at": at, "color": "#F0E442"}
        for at in (("0.75*radius", 0, 0), (0, 0, "0.75*radius"))
    ]
    core, ball = m.body("core", mass="mass"), m.body("ball", mass=0, inertia=(moment, moment, moment), shapes=[skin, *spots])
    places = [Coordinate(f"ball_{a}", f"ball_{a}_rate", "m", at, -1.0, 1.0) for a, at in (("x", 0.2), ("y", 0.0), ("z", 0.04))]
    m.joint("travel", "ground", core, [Translate((Name("ball_x"), Name("ball_y"), Name("ball_z")))], places)
    m.spherical("spin", core, ball)
    u, v = (m.surface_parameter(f"ball_{name}", "rad") for name in "uv")
    x, y = (m.surface_parameter(f"table_{name}", "m", at, -9.0, 9.0) for name, at in (("x", 0.2), ("y", 0.0)))
    below = (f"radius*sin({u})", f"radius*cos({u})*sin({v})", f"-radius*cos({u})*cos({v})")
    m.touch("rolling", core, below, (u, v), table, (x, y, 0), (x, y), dr.contact.Rolling(), matter=ball)
    return m


def closed_form(t: Reals, place: complex, velocity: complex, table_rate: float, fall: float = 0.0) -> tuple[Reals, Reals]:
    """Position and velocity of the ball as complex numbers; `fall` is g sin(tilt), downhill along −x.

    >>> place, _ = closed_form(np.array([math.pi / 2]), 0.2, 0.1j, 7.0)  # half a turn of 2 rad/s
    >>> float(place[0].real).__round__(6)
    0.1
    """
    own = 2 / 7 * table_rate
    drift = 2.5j * -fall / table_rate
    turn = np.exp(1j * own * np.asarray(t))
    return place + drift * t + (velocity - drift) * (turn - 1) / (1j * own), drift + (velocity - drift) * turn


@entry(level="Intermediate", film="turntable_solid")
def sphere_on_turntable_circles(until: float = 4 * math.pi) -> Study:
    """A ball on a turntable moves on a circle with 2/7 of its rate; on a tilted one the circle drifts sideways.

    The default is seven turns of the table.
    """
    ball, method = sphere_on_turntable(), dr.methods.DOP853(rtol=1e-12, atol=1e-14)
    start = {"ball_x": 0.2, "ball_y": 0.0, "velocity_x": 0.05, "velocity_y": 0.1, "spin_z": 1.0}
    runs = {
        "turntable_level": dr.simulate(ball, until, start=start, method=method),
        "turntable_carried": dr.simulate(ball, until, start={**start, "velocity_x": 0.0, "velocity_y": 0.7}, method=method),
        "turntable_tilted": dr.simulate(ball, until, start=start, parameters={"tilt": math.radians(2)}, method=method),
    }
    errors = {}
    for name, run in runs.items():
        assert run.status.kind == "FINISHED", run.status
        assert run.energy_drift is not None and run.energy_drift < 1e-9  # the table's work is in the balance
        assert run.constraint_residual["nonholonomic"] < 1e-10
        p = run.parameters
        first = complex(run["velocity_x"][0], run["velocity_y"][0])
        place, velocity = closed_form(run.time, 0.2, first, p["table_rate"], p["gravity"] * math.sin(p["tilt"]))
        found = run["ball_x"] + 1j * run["ball_y"], run["velocity_x"] + 1j * run["velocity_y"]
        errors[name] = max(float(np.abs(found[0] - place).max()), float(np.abs(found[1] - velocity).max()))
        assert errors[name] < 1e-8, errors
        assert np.ptp(run["spin_z"]) < 1e-9
    level, carried, tilted = runs.values()
    solid_start = {"ball_x": 0.2, "ball_y": 0.0, "ball_x_rate": 0.05, "ball_y_rate": 0.1, "spin_wz": 1.0, "table_angle": 0.0}
    solid = dr.simulate(sphere_on_turntable_graph(), until, start=solid_start, method=method)
    place, _ = closed_form(solid.time, 0.2, 0.05 + 0.1j, solid.parameters["table_rate"])
    errors["turntable_solid"] = float(np.abs(solid["ball_x"] + 1j * solid["ball_y"] - place).max())
    assert solid.status.kind == "FINISHED" and errors["turntable_solid"] < 1e-9, errors
    own = 2 / 7 * level.parameters["table_rate"]
    middle = 0.2 - 0.1 / own + 0.05j / own  # p + i v/(κΩ): a quarter turn to the left of the velocity
    radius = np.abs(level["ball_x"] + 1j * level["ball_y"] - middle)
    assert np.ptp(radius) < 1e-8
    assert np.ptp(level["moving_energy"]) < 1e-9 * abs(level["moving_energy"][0]) + 1e-10
    assert np.ptp(np.abs(carried["ball_x"] + 1j * carried["ball_y"] + 0.5)) < 1e-8
    drift = -2.5 * tilted.parameters["gravity"] * math.sin(math.radians(2)) / tilted.parameters["table_rate"]

    figures = {
        "turntable_level_path": track_figure(level, ["ball"]),
        "turntable_carried_path": track_figure(carried, ["ball"]),
        "turntable_tilted_path": track_figure(tilted, ["ball"]),
        "turntable_level": channel_figure(level, "ball_x", "ball_y", "velocity_x", "velocity_y", "spin_x", "spin_y"),
        "turntable_level_energy": energy_figure(level),
    }
    table_turns = level.parameters["table_rate"] * until / (2 * math.pi)
    findings = (
        f"while the table turns {table_turns:.2f} times the ball goes round {table_turns * 2 / 7:.2f} times, on a circle of "
        f"{radius[0]:.4f} m about ({middle.real:.4f}, {middle.imag:.4f}) m",
        "put down at rest on the table at (0.2, 0) m, it goes round on a circle of 0.7 m about (−0.5, 0) m",
        f"on a table tilted by 2° the circle drifts across the slope with {abs(drift):.4f} m/s",
        f"largest difference from the closed form: {max(errors.values()):.1e}",
    )
    return Study("A ball on a turntable", {**runs, "turntable_solid": solid}, figures, findings)
