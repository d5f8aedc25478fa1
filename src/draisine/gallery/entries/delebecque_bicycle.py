"""The riderless bicycle of Delebecque & Nikoukhah (1992, section 4 and appendix B), typed as a Lagrangian.

23 coordinates, 16 holonomic and 4 nonholonomic constraints, 20 parameters, 2 controls, and nothing eliminated by hand: four
bodies with their own coordinates, coupled by constraints whose multipliers are solved for with the accelerations.

What it shows: a torque pushes the bar to the left from 0.1 to 0.3 s at 8 m/s (the paper's figure 3), and the bicycle recovers.
The same bicycle described as a graph has the same motion, with 1,130 operations per state derivative instead of a system of 43
unknowns.

What you should see: the bar goes left, so the bicycle falls to the *right* and steers into its fall; it oscillates a few times
and returns to upright on a new heading. At 5.5 m/s it ends in a limit cycle of ±20°; at 5 m/s it falls.

Axes: x, y on the ground, z up. A wheel has Euler angles z–x–z: heading φ, slant θ (90° upright), turn ψ. Its plane is spanned
by the track's direction e₁ = (cos φ, sin φ, 0) and the way up e₂ = (−sin φ cos θ, cos φ cos θ, sin θ); e₃ = e₁ × e₂ is the axle
and points to the right, so ψ̇ < 0 rolls forward. A rod in the plane of a wheel points along d(ξ) = cos ξ e₁ + sin ξ e₂.

    P₁ rear hub, P₅ front hub      of wheels of one radius
    P₂ = P₁ + l₁₆ d₁(ξ₁)           center of the frame, a rod from P₁ to the head
    P₃ = P₄ + l₁₇ d₂(ξ₂)           center of the fork, a rod along the steer axis from its foot P₄ to the head
    P₁ + l₁₈ d₁ = P₄ + l₁₉ d₂      the head
    |P₄ − P₁| = l₁₅, e₃·d₂ = 0     the steer axis keeps its place in the frame
    P₅ = P₄ + l₂₀ n₂(ξ₂)           n = sin ξ e₁ − cos ξ e₂, straight ahead of the steer axis

Where this departs from the print: f₁₄ and f₁₅ have the wrong sign in their second terms, and P₅ would leave the plane of the
front wheel when it leans. Potentials are m g z of each body's own height; the print puts constraints into them, so that
multipliers are no contact forces, and its fork lacks m₄ g l₂₀ cos ξ₂ sin θ₂. The steer force is divided by sin ξ₂, which
makes it a torque about the steer axis. The pedal torque is positive when it drives forward.

The paper gives no numbers. Those here are a plausible steel bicycle that carries motors and a battery in its frame and no
rider: wheelbase 1.02 m, trail 0.12 m, steer axis 22° from the vertical; self-stable above 5.9 m/s.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.expr.expression import Name, Number, acos
from draisine.gallery.registry import Study, entry, live
from draisine.model.items import Coordinate, Rotate, Translate
from draisine.model.model import Model
from draisine.program.linear_solve import Solver
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import PAGE
from draisine.view.plots.tracks import track_figure
from draisine.view.plots.trajectories import channel_figure

# param[1] … param[20] of the source: default and unit. What is "along" here the source calls radial, what is "across" normal.
PARAMETERS: Mapping[str, tuple[float, str]] = {
    "r_wheel": (0.35, "m"),
    "m_rear_wheel": (3.0, "kg"),
    "m_frame": (20.0, "kg"),
    "m_fork": (2.0, "kg"),
    "m_front_wheel": (1.2, "kg"),
    "i_rear_wheel_along": (0.25, "kg*m^2"),
    "i_frame_along": (0.5, "kg*m^2"),
    "i_fork_along": (0.01, "kg*m^2"),
    "i_front_wheel_along": (0.07, "kg*m^2"),
    "i_rear_wheel_across": (0.13, "kg*m^2"),
    "i_frame_across": (2.0, "kg*m^2"),
    "i_fork_across": (0.08, "kg*m^2"),
    "i_front_wheel_across": (0.036, "kg*m^2"),
    "gravity": (9.81, "m/s^2"),
    "l_hub_to_foot": (1.0, "m"),  # |P₄ − P₁|
    "l_frame_center": (0.475, "m"),  # |P₂ − P₁|
    "l_fork_center": (0.3, "m"),  # |P₃ − P₄|
    "l_frame": (0.95, "m"),  # in the source 2 |P₂ − P₁|
    "l_fork": (0.6, "m"),  # in the source 2 |P₃ − P₄|
    "l_offset": (0.02, "m"),  # |P₅ − P₄|
}
# q[1] … q[23] of the source.
COORDINATES = (
    *("rear_x", "rear_y", "rear_z", "rear_heading", "rear_slant", "rear_turn"),  # P₁, φ₁, θ₁, ψ₁
    *("frame_x", "frame_y", "frame_z", "frame_angle"),  # P₂, ξ₁
    *("fork_x", "fork_y", "fork_z", "fork_angle"),  # P₃, ξ₂
    *("foot_x", "foot_y", "foot_z", "front_heading", "front_slant", "front_turn"),  # P₄, φ₂, θ₂, ψ₂
    *("front_x", "front_y", "front_z"),  # P₅
)


@dataclass(frozen=True)
class Upright:
    """The bicycle standing straight, its rear hub above the origin: ξ₁ and ξ₂ from the triangle of hub, head and foot."""

    p: Mapping[str, float]

    @property
    def angles(self) -> tuple[float, float]:
        """ξ₁, ξ₂ such that both hubs have the same height."""
        frame, fork, base, offset = (self.p[f"l_{name}"] for name in ("frame", "fork", "hub_to_foot", "offset"))
        between = math.acos((frame**2 + fork**2 - base**2) / (2 * frame * fork))  # ξ₂ − ξ₁
        up = fork * math.sin(between) + offset * math.cos(between)
        first = math.atan2(up, frame - fork * math.cos(between) + offset * math.sin(between))
        return first, first + between

    def coordinates(self) -> dict[str, float]:
        p, (first, second) = self.p, self.angles
        foot = (
            p["l_frame"] * math.cos(first) - p["l_fork"] * math.cos(second),
            p["r_wheel"] + p["l_frame"] * math.sin(first) - p["l_fork"] * math.sin(second),
        )
        straight = {"rear_slant": math.pi / 2, "front_slant": math.pi / 2, "frame_angle": first, "fork_angle": second}
        places = {
            "rear": (0.0, p["r_wheel"]),
            "frame": (p["l_frame_center"] * math.cos(first), p["r_wheel"] + p["l_frame_center"] * math.sin(first)),
            "fork": (foot[0] + p["l_fork_center"] * math.cos(second), foot[1] + p["l_fork_center"] * math.sin(second)),
            "foot": foot,
            "front": (foot[0] + p["l_offset"] * math.sin(second), p["r_wheel"]),
        }
        return straight | {f"{body}_{axis}": at for body, place in places.items() for axis, at in zip("xz", place, strict=True)}


DEFAULT = Upright({name: value for name, (value, _) in PARAMETERS.items()})


@dataclass(frozen=True)
class _Plane:
    """The plane of a wheel, by its three angles."""

    heading: Any
    slant: Any
    turn: Any

    @property
    def axes(self) -> tuple[Any, Any, Any]:
        """e₁ along the track, e₂ up in the plane, e₃ along the axle."""
        cf, sf, cs, ss = sp.cos(self.heading), sp.sin(self.heading), sp.cos(self.slant), sp.sin(self.slant)
        return sp.Matrix([cf, sf, 0]), sp.Matrix([-sf * cs, cf * cs, ss]), sp.Matrix([sf * ss, -cf * ss, cs])

    def rod(self, angle: Any) -> Any:
        """d(ξ)."""
        return sp.cos(angle) * self.axes[0] + sp.sin(angle) * self.axes[1]

    def ahead(self, angle: Any) -> Any:
        """n(ξ), across the rod, to the front."""
        return sp.sin(angle) * self.axes[0] - sp.cos(angle) * self.axes[1]

    def rates(self, turn: Any) -> tuple[Any, Any, Any]:
        """Rates about e₁, e₂, e₃ of what has turned in the plane: θ̇, φ̇ sin θ, φ̇ cos θ + rate of turn."""
        return self.slant.diff(), self.heading.diff() * sp.sin(self.slant), self.heading.diff() * sp.cos(self.slant) + turn.diff()

    def twist(self, turn: Any) -> Any:
        """Angular velocity in the world's axes of what has turned in the plane."""
        return sum((rate * axis for rate, axis in zip(self.rates(turn), self.axes, strict=True)), sp.zeros(3, 1))

    def slip(self, hub: Any, radius: Any) -> tuple[Any, Any]:
        """Velocity of the wheel's lowest point along x and y, hub velocity − ω × r e₂: gqd₁ to gqd₄."""
        about_track, _, about_axle = self.rates(self.turn)
        slip = _rate(hub) + radius * (about_axle * self.axes[0] - about_track * self.axes[2])
        return slip[0], slip[1]

    def wheel_energy(self, hub: Any, mass: Any, along: Any, across: Any) -> Any:
        rates = self.rates(self.turn)
        return (mass * _square(_rate(hub)) + across * (rates[0] ** 2 + rates[1] ** 2) + along * rates[2] ** 2) / 2

    def rod_energy(self, center: Any, angle: Any, mass: Any, along: Any, across: Any) -> Any:
        """Of a rod that lies in the plane."""
        w1, w2, w3 = self.rates(angle)
        about_rod, about_normal = w1 * sp.cos(angle) + w2 * sp.sin(angle), w2 * sp.cos(angle) - w1 * sp.sin(angle)
        return (mass * _square(_rate(center)) + along * about_rod**2 + across * (about_normal**2 + w3**2)) / 2


def _rate(vector: Any) -> Any:
    return vector.diff(dynamicsymbols._t)


def _square(vector: Any) -> Any:
    return vector.dot(vector)


@live(start={"speed": 8.0})
def delebecque_bicycle(solver: Solver = Solver.AUTO) -> dr.Equations:
    """Riderless bicycle of 23 coordinates and 20 constraints, from its Lagrangian (Delebecque & Nikoukhah 1992)."""
    p = {name: sp.Symbol(name) for name in PARAMETERS}
    q = {name: dynamicsymbols(name) for name in COORDINATES}
    points = {body: sp.Matrix([q[f"{body}_{axis}"] for axis in "xyz"]) for body in ("rear", "frame", "fork", "foot", "front")}
    rear = _Plane(q["rear_heading"], q["rear_slant"], q["rear_turn"])
    front = _Plane(q["front_heading"], q["front_slant"], q["front_turn"])
    steer, pedal = sp.symbols("steer_torque pedal_torque")

    def inertia(body: str) -> tuple[Any, Any, Any]:
        return p[f"m_{body}"], p[f"i_{body}_along"], p[f"i_{body}_across"]

    kinetic = (
        rear.wheel_energy(points["rear"], *inertia("rear_wheel"))
        + rear.rod_energy(points["frame"], q["frame_angle"], *inertia("frame"))
        + front.rod_energy(points["fork"], q["fork_angle"], *inertia("fork"))
        + front.wheel_energy(points["front"], *inertia("front_wheel"))
    )
    weights = {"m_rear_wheel": "rear_z", "m_frame": "frame_z", "m_fork": "fork_z", "m_front_wheel": "front_z"}
    slips = (*rear.slip(points["rear"], p["r_wheel"]), *front.slip(points["front"], p["r_wheel"]))
    outputs = _outputs(p, q, points, rear, front)
    return dr.lagrangian(
        "delebecque_bicycle",
        list(q.values()),
        kinetic=kinetic,
        potential=p["gravity"] * sum(p[mass] * q[height] for mass, height in weights.items()),
        holonomic=_holonomic(p, q, points, rear, front),
        nonholonomic=dict(zip(("rear_slip_x", "rear_slip_y", "front_slip_x", "front_slip_y"), slips, strict=True)),
        forces=_forces(q, steer, pedal),
        parameters={p[name]: value for name, (value, _) in PARAMETERS.items()},
        inputs=[steer, pedal],
        outputs={name: expression for name, (expression, _) in outputs.items()},
        start={q[name]: value for name, value in DEFAULT.coordinates().items()},
        units={
            **{name: unit for name, (_, unit) in PARAMETERS.items()},
            **{name: "m" if name[-2:] in ("_x", "_y", "_z") else "rad" for name in COORDINATES},
            **{name: unit for name, (_, unit) in outputs.items()},
            **{torque: "N*m" for torque in (steer, pedal)},
        },
        work=True,
        solver=solver,
    )


def _holonomic(
    p: Mapping[str, Any], q: Mapping[str, Any], points: Mapping[str, Any], rear: _Plane, front: _Plane
) -> dict[str, Any]:
    """f₁ … f₁₆ of the source, by name."""
    hub, foot = points["rear"], points["foot"]
    d1, d2 = rear.rod(q["frame_angle"]), front.rod(q["fork_angle"])
    vectors = {
        "frame": hub - points["frame"] + p["l_frame_center"] * d1,
        "fork": foot - points["fork"] + p["l_fork_center"] * d2,
        "head": hub - foot + p["l_frame"] * d1 - p["l_fork"] * d2,
        "front_hub": points["front"] - foot - p["l_offset"] * front.ahead(q["fork_angle"]),
    }
    return {
        "rear_height": q["rear_z"] - p["r_wheel"] * sp.sin(q["rear_slant"]),
        "front_height": q["front_z"] - p["r_wheel"] * sp.sin(q["front_slant"]),
        **{f"{name}_{axis}": vector[i] for name, vector in vectors.items() for i, axis in enumerate("xyz")},
        "hub_to_foot": _square(hub - foot) - p["l_hub_to_foot"] ** 2,
        "steer_axis_in_frame": p["l_fork"] * rear.axes[2].dot(d2),
    }


def _forces(q: Mapping[str, Any], steer: Any, pedal: Any) -> dict[Any, Any]:
    """The source's control forces, that on the bar divided by sin ξ₂, the pedal's with its sign changed."""
    f1, s1, f2, s2, x2 = (q[name] for name in ("rear_heading", "rear_slant", "front_heading", "front_slant", "fork_angle"))
    turned = f2 - f1
    shared = steer / sp.sin(x2) / (sp.sin(s2) * sp.sin(s1) * sp.cos(turned) + sp.cos(s2) * sp.cos(s1))
    return {
        f1: -shared * sp.sin(s1) * sp.cos(turned),
        s1: shared * sp.cos(s1) * sp.sin(turned),
        x2: -shared * sp.cos(x2) / sp.sin(x2) * sp.sin(s1) * sp.sin(turned),
        f2: shared * sp.sin(s1) * sp.cos(turned),
        q["rear_turn"]: -pedal,
        q["frame_angle"]: pedal,
    }


def _outputs(
    p: Mapping[str, Any], q: Mapping[str, Any], points: Mapping[str, Any], rear: _Plane, front: _Plane
) -> dict[str, tuple[Any, str]]:
    """Expression and unit by name; a lean to the right and a steer to the left are positive."""
    axle, other, d2 = rear.axes[2], front.axes[2], front.rod(q["fork_angle"])
    steer = sp.atan2(d2.dot(axle.cross(other)), axle.dot(other))
    steer_rate = d2.dot(front.twist(q["fork_angle"]) - rear.twist(q["frame_angle"]))
    contact_points = {name: points[name] - p["r_wheel"] * plane.axes[1] for name, plane in (("rear", rear), ("front", front))}
    return {
        "speed": (_rate(points["rear"]).dot(rear.axes[0]), "m/s"),
        "lean": (rear.slant - sp.pi / 2, "rad"),
        "steer": (steer, "rad"),
        "steer_rate": (steer_rate, "rad/s"),
        **{f"{name}_wheel_contact_{axis}": (at[i], "m") for name, at in contact_points.items() for i, axis in enumerate("xy")},
    }


@live(start={"speed": 8.0})
def delebecque_graph() -> Model:
    """The riderless bicycle of Delebecque & Nikoukhah as a graph of four bodies, with the same parameters and names."""
    m = Model("delebecque_graph", "riderless bicycle of Delebecque & Nikoukhah 1992, as a graph")
    p = {name: m.parameter(name, value, unit) for name, (value, unit) in PARAMETERS.items()}
    m.gravity(p["gravity"])

    # The frame's x axis points from the rear hub to the head, the fork's z axis from its foot to the head, its x axis ahead.
    frame = m.body("frame", p["m_frame"], (p["l_frame_center"], 0, 0), _about("x", p["i_frame_along"], p["i_frame_across"]))
    fork = m.body(
        "fork", p["m_fork"], (0, 0, p["l_fork_center"] - p["l_fork"]), _about("z", p["i_fork_along"], p["i_fork_across"])
    )
    rear, front = (
        m.body(wheel, p[f"m_{wheel}"], inertia=_about("y", p[f"i_{wheel}_along"], p[f"i_{wheel}_across"]))
        for wheel in ("rear_wheel", "front_wheel")
    )
    upright = DEFAULT.coordinates()
    names = ("rear_x", "rear_y", "rear_z", "rear_heading", "rear_slant", "frame_angle")
    coordinates = tuple(
        Coordinate(name, f"{name}_rate", "m" if name[-2] == "_" else "rad", at, at - 1.2, at + 1.2)
        for name, at in ((name, upright.get(name, 0.0)) for name in names)
    )
    chain = (
        Translate((Name("rear_x"), Name("rear_y"), Name("rear_z"))),
        Rotate("z", Name("rear_heading")),
        Rotate("x", Name("rear_slant") - math.pi / 2),
        Rotate("y", -Name("frame_angle")),
    )
    m.joint("motion", "ground", frame, chain, coordinates)
    between = acos((p["l_frame"] ** 2 + p["l_fork"] ** 2 - p["l_hub_to_foot"] ** 2) / (2 * p["l_frame"] * p["l_fork"]))
    m.revolute("rear_wheel_angle", frame, rear, axis="y")
    m.revolute("steer", frame, fork, axis="z", at=(p["l_frame"], 0, 0), orientation=[("y", Number(math.pi / 2) - between)])
    m.revolute("front_wheel_angle", fork, front, axis="y", at=(p["l_offset"], 0, -p["l_fork"]))
    for wheel in (rear, front):
        m.wheel(wheel.name, wheel, radius=p["r_wheel"])
    m.generalized_force("steer", m.input("steer_torque", "N*m", "of the frame on the fork, positive to the left"))
    m.generalized_force("rear_wheel_angle", m.input("pedal_torque", "N*m", "of the frame on the rear wheel, positive forward"))
    m.output("speed", "velocity_x(frame)*cos(rear_heading) + velocity_y(frame)*sin(rear_heading)", "m/s", "of the rear hub")
    m.output("lean", "rear_slant - pi/2", "rad", "positive to the right")
    return m


def _about(axis: str, along: Any, across: Any) -> tuple[Any, Any, Any]:
    """Inertia of a body of revolution about an axis."""
    first, second, third = (along if a == axis else across for a in "xyz")
    return first, second, third


# ---------------------------------------------------------------- the torque pulse

PUSH = 2.0  # N·m; the source does not say how hard


def pulse(t: float, _: Any) -> dict[str, float]:
    """A push on the bar to the left from 0.1 to 0.3 s."""
    return {"steer_torque": PUSH if 0.1 <= t < 0.3 - 1e-9 else 0.0}


@entry(level="Intermediate")
def delebecque_pulse(until: float = 12.0) -> Study:
    """A torque pulse on the bar at 8 m/s: the riderless bicycle recovers; slower it weaves or falls (Delebecque & Nikoukhah)."""
    bike, fallen = delebecque_bicycle(), dr.Event("fell_over", "abs(lean) - 80*pi/180", "stop", description="lean passed 80°")
    options: dict[str, Any] = {
        "control": dr.control.Sampled(pulse, rate=10.0),
        "method": dr.methods.DOP853(rtol=1e-10, atol=1e-12),
    }
    runs = {speed: dr.simulate(bike, until, start={"speed": speed}, events=[fallen], **options) for speed in (8.0, 5.5, 5.0)}
    run = runs[8.0]
    again = dr.simulate(delebecque_graph(), until, start={"speed": 8.0}, **options)
    apart = max(float(np.max(np.abs(run[name] - again[name]))) for name in ("lean", "steer", "rear_x", "rear_y", "speed"))
    largest = float(np.max(np.abs(run["lean"])))

    assert run.status.complete and run.time[-1] == until, run.status
    assert apart < 1e-6, apart  # the graph gives the same motion
    assert run.energy_drift is not None and run.energy_drift < 1e-9
    assert max(run.constraint_residual.values()) < 1e-8
    pushed = (run.time > 0.12) & (run.time < 0.3)
    assert run["steer"][pushed].min() > 0 and run["lean"][pushed].min() > 0  # the bar goes left, the bicycle falls to the right …
    if until >= 12.0:
        assert largest > math.radians(5) and abs(run["lean"][-1]) < 0.03 * largest  # … and returns to upright,
        assert abs(run["rear_heading_rate"][-1]) < 0.01 and run["rear_heading"][-1] < 0  # going straight on, further to the right
        late = runs[5.5]["lean"][runs[5.5].time > 8.0]
        assert late.max() > 0.3 and late.min() < -0.3  # slower it ends in a limit cycle,
        assert [e.name for e in runs[5.0].events] == ["fell_over"]  # slower still it falls
    figures = {
        "path": track_figure(run, ("rear_wheel", "front_wheel"), snapshots=0.5),
        "lean_and_steer": channel_figure(run, "lean", "steer", "steer_torque"),
        "slower": _lean_by_speed(runs),
    }
    findings = (
        f"leans {math.degrees(largest):.1f}° at most, {math.degrees(abs(run['lean'][-1])):.2f}° at the end; "
        f"heading {math.degrees(run['rear_heading'][-1]):.1f}°",
        f"largest difference from the graph: {apart:.1e}",
        *(f"at {speed:g} m/s: {r.status}, lean {math.degrees(r['lean'][-1]):.1f}° at the end" for speed, r in runs.items()),
    )
    return Study(
        "Push on the bar of a riderless bicycle",
        {f"delebecque_{s:g}".replace(".", "_"): r for s, r in runs.items()},
        figures,
        findings,
    )


def _lean_by_speed(runs: Mapping[float, dr.Trajectory]) -> Any:
    with single_panel("time [s]", "lean, positive to the right [°]", height=0.45 * PAGE) as (drawing, axes):
        for speed, run in runs.items():
            axes.plot(run.time, np.degrees(run["lean"]), label=f"{speed:g} m/s")
        axes.axvspan(0.1, 0.3, color="0.9")
    return drawing
