"""The rattleback: a body that reverses its spin in one direction (Kane & Levinson 1982).

What it shows: a model from SymPy's mechanics, with quasi-velocities, one holonomic and two nonholonomic constraints: rolling of
a general smooth surface on a plane takes three lines of vectors. Energy is conserved, and yet there is a preferred direction of
spin. The ellipsoid's axes and the principal axes of inertia are rotated slightly against each other about the vertical; rolling
couples the spin to the pitch oscillation, which grows for one direction of spin and decays for the other.

What you should see: spun to the left, the body begins to pitch after a second, the spin goes to zero while its energy is in the
oscillation, and then the oscillation turns into a spin to the right. Spun to the right it continues to spin. Without friction
not permanently: a slow roll oscillation grows until it reverses the spin too, four times later; a small drag suppresses that.
Energy is conserved, less the work of the drag; the normal force stays positive.

The surface is an ellipsoid with semi-axes a, b, c; its center lies h above the center of mass. With n the vertical in the body's
axes, the lowest point lies at −(a² n₁, b² n₂, c² n₃)/√(a² n₁² + b² n₂² + c² n₃²) from the ellipsoid's center. The product of
inertia is positive here and negative in the paper, whose axes are turned by 180° about the long one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.registry import Study, entry, live
from draisine.model.model import Model
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import COLORS, FAINT, PAGE
from draisine.view.plots.tracks import track_figure
from draisine.view.plots.trajectories import channel_figure, energy_figure

# Kane & Levinson (1982): meters, kilograms
DEFAULTS = {
    "long_axis": 0.2,
    "short_axis": 0.03,
    "depth": 0.02,
    "mass_below": 0.01,
    "mass": 1.0,
    "ixx": 2e-4,
    "iyy": 1.6e-3,
    "izz": 1.7e-3,
    "ixy": 2e-5,
    "gravity": 9.81,
    "drag": 0.0,
}
UNITS = {
    **dict.fromkeys(("long_axis", "short_axis", "depth", "mass_below", "x", "y", "z", "contact_x", "contact_y"), "m"),
    **dict.fromkeys(("ixx", "iyy", "izz", "ixy"), "kg*m^2"),
    **dict.fromkeys(("heading", "roll", "pitch"), "rad"),
    **dict.fromkeys(("rate_x", "rate_y", "rate_z", "spin"), "rad/s"),
    **dict.fromkeys(("velocity_x", "velocity_y", "velocity_z"), "m/s"),
    "mass": "kg",
    "gravity": "m/s^2",
    "drag": "N*m*s",
    **dict.fromkeys(("ground_multiplier", "rolling_x_multiplier", "rolling_y_multiplier"), "N"),
}


@live(start={"rate_z": -5.0, "roll": 0.01, "pitch": 0.01})
def rattleback() -> dr.Equations:
    """A half ellipsoid whose principal axes are rotated against its surface, rolling on a plane; by SymPy's vectors."""
    import sympy as sp
    from sympy.physics.mechanics import Point, ReferenceFrame, RigidBody, System, dynamicsymbols, inertia

    a, b, c, h, m, ixx, iyy, izz, ixy, g, drag = (sp.Symbol(name) for name in DEFAULTS)
    x, y, z, heading, roll, pitch = coordinates = dynamicsymbols("x y z heading roll pitch")
    velocity, rate = dynamicsymbols("velocity_x:z"), dynamicsymbols("rate_x:z")

    ground, stone = ReferenceFrame("ground"), ReferenceFrame("stone")
    stone.orient_body_fixed(ground, (heading, roll, pitch), "zxy")
    turning = stone.ang_vel_in(ground)
    stone.set_ang_vel(ground, sum((w * e for w, e in zip(rate, stone, strict=True)), start=0 * stone.x))
    center = Point("center")
    center.set_vel(ground, sum((v * e for v, e in zip(velocity, ground, strict=True)), start=0 * ground.x))
    body = RigidBody("stone", center, stone, m, (inertia(stone, ixx, iyy, izz, ixy), center))
    body.potential_energy = m * g * z

    up = [ground.z.dot(e) for e in stone]
    length = sp.sqrt(sum((axis * n) ** 2 for axis, n in zip((a, b, c), up, strict=True)))
    lowest = [-(axis**2) * n / length for axis, n in zip((a, b, c), up, strict=True)]
    arm = lowest[0] * stone.x + lowest[1] * stone.y + (lowest[2] + h) * stone.z  # from the center of mass
    contact = center.vel(ground) + stone.ang_vel_in(ground).cross(arm)

    system = System(ground)
    system.add_bodies(body)
    system.add_loads((center, -m * g * ground.z), (stone, -drag * stone.ang_vel_in(ground)))
    system.add_coordinates(*coordinates)
    system.add_speeds(*velocity, *rate)
    system.add_kdes(*(q.diff() - v for q, v in zip((x, y, z), velocity, strict=True)))
    system.add_kdes(*((turning - stone.ang_vel_in(ground)).dot(e) for e in stone))
    system.add_holonomic_constraints(z + arm.dot(ground.z))
    system.add_nonholonomic_constraints(contact.dot(ground.x), contact.dot(ground.y))
    return dr.from_sympy(
        system,
        parameters=DEFAULTS,
        start={z: DEFAULTS["depth"] - DEFAULTS["mass_below"]},
        outputs={
            "spin": sum(w * n for w, n in zip(rate, up, strict=True)),
            "contact_x": x + arm.dot(ground.x),
            "contact_y": y + arm.dot(ground.y),
        },
        units=UNITS,
        names={"f1": "ground", "g1": "rolling_x", "g2": "rolling_y"},
        name="rattleback",
        work=True,
    )


@live(start={"turning_z": -5.0, "roll": 0.01, "pitch": 0.01})
def rattleback_graph() -> Model:
    """The same stone as a body whose belly, an ellipsoid, touches the ground and rolls."""
    m = Model("rattleback_graph", "a half ellipsoid whose principal axes are rotated against its surface, on a plane")
    for name, value in DEFAULTS.items():
        m.parameter(name, value, UNITS[name])
    m.gravity("gravity")
    shapes: list[dict[str, Any]] = [
        {"kind": "ellipsoid", "size": ("2*long_axis", "2*short_axis", "2*depth"), "at": (0, 0, "mass_below")},
        {
            "kind": "tube",
            "path": [(-0.17, 0, 0.021), (0.17, 0, 0.021)],
            "radius": 0.006,
            "color": "#E69F00",
        },  # shows how it turns
    ]
    stone = m.body("stone", mass="mass", inertia={"xx": "ixx", "yy": "iyy", "zz": "izz", "xy": "ixy"}, shapes=shapes)
    m.free_euler(stone, order="zxy", angles=("heading", "roll", "pitch"))
    u, v = (m.surface_parameter(f"belly_{name}", "rad") for name in "uv")
    x, y = (m.surface_parameter(f"contact_{name}", "m") for name in "xy")
    belly = (f"long_axis*sin({u})", f"short_axis*cos({u})*sin({v})", f"mass_below - depth*cos({u})*cos({v})")
    m.touch("belly", stone, belly, (u, v), "ground", (x, y, 0), (x, y), dr.contact.Rolling())
    m.wrench("stone", torque=tuple(f"-drag*rate_{axis}(stone)" for axis in "xyz"), axes="body", name="air")
    for axis in "xyz":
        m.output(f"turning_{axis}", f"rate_{axis}(stone)", "rad/s", "angular velocity in the stone's axes")
    m.output(
        "spin",
        "-cos(roll)*sin(pitch)*turning_x + sin(roll)*turning_y + cos(roll)*cos(pitch)*turning_z",
        "rad/s",
        "about the vertical",
    )
    return m


DRAG = 1e-4  # N·m·s: halves the spin in a dozen seconds


@entry(level="Intermediate", film="rattleback_solid", charts=("spin", "pitch"))
def rattleback_reverses(until: float = 20.0) -> Study:
    """A rattleback reverses when spun to the left, and keeps its spin when spun to the right."""
    stone, method = rattleback(), dr.methods.DOP853(rtol=1e-11, atol=1e-13)
    tilt = math.radians(0.5)
    runs = {
        f"rattleback_{way}{'_with_drag' if drag else ''}": dr.simulate(
            stone,
            until,
            start={"rate_z": spin, "rate_x": 0.0, "rate_y": 0.0, "roll": tilt, "pitch": tilt},
            parameters={"drag": drag},
            method=method,
            samples=max(2, int(400 * until)) + 1,  # fast oscillation
        )
        for drag in (0.0, DRAG)
        for way, spin in (("left", 5.0), ("right", -5.0))
    }
    for run in runs.values():
        assert run.status.kind == "FINISHED", run.status
        assert run.energy_drift is not None and run.energy_drift < 1e-8
        assert run.constraint_residual["holonomic"] < 1e-10
        assert run["ground_multiplier"].min() > 0.0  # the ground pushes
    turned = {name: reversal(run) for name, run in runs.items()}
    left, right, left_drag, right_drag = runs.values()
    solid = dr.simulate(
        rattleback_graph(),
        min(until, 8.0),
        start={"turning_z": 5.0, "turning_x": 0.0, "turning_y": 0.0, "roll": tilt, "pitch": tilt, "heading": 0.0},
        method=method,
    )
    early = solid.time[solid.time < 3.0]
    apart = float(np.abs(solid["spin"][: len(early)] - left.interpolated(early)["spin"]).max())
    assert solid.status.kind == "FINISHED" and solid["belly_normal_force"].min() > 0.0
    assert apart < 1e-7, apart  # two descriptions of one body
    late = turned["rattleback_right"]
    if until >= 8.0:
        assert turned["rattleback_left"] < 4.0 and left["spin"].min() < -5.0
        assert turned["rattleback_left_with_drag"] < 4.0 and left_drag["spin"].min() < -3.0
        assert turned["rattleback_right"] > 8.0 and turned["rattleback_right_with_drag"] == math.inf
        assert right_drag["spin"].max() < 0.0

    figures = {
        "rattleback_left": channel_figure(left, "spin", "pitch", "ground_multiplier"),
        "rattleback_right": channel_figure(right, "spin", "roll", "ground_multiplier"),
        "rattleback_left_path": track_figure(left, ["contact"]),
        "rattleback_left_energy": energy_figure(left_drag),
        "rattleback_spins": _spins(runs),
    }
    findings = (
        f"spun to the left with {left['spin'][0]:.2f} rad/s it stops after {turned['rattleback_left']:.2f} s and turns round to "
        f"{left['spin'].min():.2f} rad/s, pitching by {math.degrees(abs(left['pitch']).max()):.1f}° in between",
        f"spun to the right it {f'stops after {late:.2f} s without friction' if math.isfinite(late) else 'goes on'}, rolling by "
        f"{math.degrees(abs(right['roll']).max()):.1f}° at most",
        f"with a drag of {DRAG:g} N·m·s it turns round after {turned['rattleback_left_with_drag']:.2f} s, "
        "and spun to the right it never does",
        f"as a body that touches the ground it spins alike, to {apart:.0e} rad/s in three seconds",
        f"least force of the ground {min(run['ground_multiplier'].min() for run in runs.values()):.2f} N, weight 9.81 N",
    )
    return Study("A rattleback turns round", {**runs, "rattleback_solid": solid}, figures, findings)


def reversal(run: dr.Trajectory) -> float:
    """When the spin about the vertical first changes its sign, s; infinite if it does not."""
    changed = np.flatnonzero(np.sign(run["spin"]) != np.sign(run["spin"][0]))
    return float(run.time[changed[0]]) if changed.size else math.inf


def _spins(runs: dict[str, dr.Trajectory]) -> Any:
    """Spin about the vertical against time, all runs."""
    with single_panel("time [s]", "spin [rad/s]", height=0.5 * PAGE) as (drawing, axes):
        axes.axhline(0.0, color=FAINT, linewidth=0.7)
        for i, (name, run) in enumerate(runs.items()):
            way = "--" if "drag" in name else "-"
            label = name.removeprefix("rattleback_").replace("_", " ")
            axes.plot(*run.curve("spin"), way, color=COLORS[i % 2], label=label)
    return drawing
