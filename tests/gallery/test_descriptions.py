"""Every model of the gallery that is typed by hand, against an independently described graph: accelerations, reactions, energies.

Limits are the certificate's own: 1e-10, scaled by the condition of the state.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import draisine as dr
from draisine.expr.expression import parse
from draisine.gallery.entries import rattleback as rattling
from draisine.gallery.entries import sphere_on_turntable as turning
from draisine.gallery.entries import spherical_pendulum as swinging
from draisine.gallery.entries.delebecque_bicycle import delebecque_bicycle
from draisine.model import items
from draisine.model.model import Model


def certified(first, second, **names):
    certificate = dr.certify(first, against=second, count=6, names=names)
    assert certificate.passed, str(certificate)
    assert {line.allowed for line in certificate.lines} == {1e-10}
    return {line.what for line in certificate.lines}


def with_defaults(e: dr.Equations, **values: float) -> dr.Equations:
    return replace(e, parameters=tuple(p._replace(default=values.get(p.name, p.default)) for p in e.parameters))


def test_double_pendulum_and_cart_pole():
    assert certified(dr.gallery.double_pendulum_graph(), dr.gallery.double_pendulum()) >= {"accelerations", "kinetic energy"}
    assert "power of inputs" in certified(dr.gallery.cart_pole_graph(), dr.gallery.cart_pole())


CONTACTS = {
    **{f"{wheel}_wheel_normal_force": f"{wheel}_height_multiplier" for wheel in ("rear", "front")},
    **{f"{wheel}_wheel_force_{axis}": f"{wheel}_slip_{axis}_multiplier" for wheel in ("rear", "front") for axis in "xy"},
}


def test_bicycle_of_23_coordinates_against_its_graph():
    """All names meet: potentials are m g z here, so that multipliers are contact forces."""
    lines = certified(dr.gallery.delebecque_graph(), delebecque_bicycle(), **CONTACTS)
    assert lines >= {"velocities", "accelerations", "reactions", "power of inputs", "kinetic energy", "potential energy"}


# ---------------------------------------------------------------- spherical pendulum


def bob() -> Model:
    """A bob on crossing hinges."""
    m = Model("bob")
    for name, value in swinging.DEFAULTS.items():
        m.parameter(name, value, swinging.UNITS[name])
    m.gravity("gravity")
    body = m.body("rod", mass="m_bob", center_of_mass=(0, 0, "-l_rod"))
    m.universal("pivot", "ground", body, axes="xy")
    m.point("tip", body, at=(0, 0, "-l_rod"))
    for axis in "xyz":
        m.output(axis, f"position_{axis}(tip)", "m")
        m.output(f"{axis}_rate", f"velocity_{axis}(tip)", "m/s")
    m.output("polar", "atan2(hypot(position_x(tip), position_y(tip)), -position_z(tip))", "rad")
    m.output("polar_rate", "rate(atan2(hypot(position_x(tip), position_y(tip)), -position_z(tip)))", "rad/s")
    m.output("azimuth_rate", "(x*y_rate - y*x_rate)/(x^2 + y^2)", "rad/s")
    return m


def bob_on_a_rod() -> Model:
    """A bob on three slides, held by a massless rod: the rod's multiplier is its thrust."""
    m = Model("bob_on_a_rod")
    for name, value in swinging.DEFAULTS.items():
        m.parameter(name, value, swinging.UNITS[name])
    m.gravity("gravity")
    body, carriage, beam = m.body("bob", mass="m_bob"), m.body("carriage", mass=1e-30), m.body("beam", mass=1e-30)
    m.prismatic("x", "ground", carriage, axis="x")
    m.prismatic("y", carriage, beam, axis="y")
    m.prismatic("z", beam, body, axis="z", default=-1.0)
    m.point("pivot", "ground", (0, 0, 0))
    m.rod("rod", "pivot", "bob", "l_rod")
    return m


@pytest.mark.parametrize("typed", [swinging.spherical_pendulum, swinging.spherical_pendulum_by_angles])
def test_spherical_pendulum(typed):
    assert certified(bob(), typed()) >= {"velocities", "kinetic energy", "potential energy"}


def test_force_in_the_rod_of_a_spherical_pendulum():
    assert "reactions" in certified(bob_on_a_rod(), swinging.spherical_pendulum())


# ---------------------------------------------------------------- rattleback


def stone() -> Model:
    """A free body with a contact typed as expressions of its angles: n is the vertical, ρ the lowest point, in its own axes."""
    m = Model("stone_graph")
    for name, value in rattling.DEFAULTS.items():
        m.parameter(name, value, rattling.UNITS.get(name, ""))
    m.gravity("gravity")
    body = m.body("stone", mass="mass", inertia={"xx": "ixx", "yy": "iyy", "zz": "izz", "xy": "ixy"})
    m.free_euler(body, order="zxy", angles=("heading", "roll", "pitch"))
    for i, n in enumerate(("-cos(roll)*sin(pitch)", "sin(roll)", "cos(roll)*cos(pitch)"), 1):
        m.output(f"n_{i}", n)
    m.output("length", "sqrt((long_axis*n_1)^2 + (short_axis*n_2)^2 + (depth*n_3)^2)", "m")
    for i, (axis, shift) in enumerate((("long_axis", 0), ("short_axis", 0), ("depth", "mass_below")), 1):
        m.output(f"rho_{i}", f"{shift} - {axis}^2*n_{i}/length", "m")
    # velocity of the lowest point in the stone's axes, then along the horizontal of its heading, and along x and y
    pairs = {"x": ("y", "z", 3, 2), "y": ("z", "x", 1, 3), "z": ("x", "y", 2, 1)}
    for axis, (a, b, i, j) in pairs.items():
        m.output(f"slip_{axis}", f"body_velocity_{axis}(stone) + rate_{a}(stone)*rho_{i} - rate_{b}(stone)*rho_{j}", "m/s")
    m.output("ahead", "slip_x*cos(pitch) + slip_z*sin(pitch)", "m/s")
    m.output("aside", "slip_y*cos(roll) + (slip_x*sin(pitch) - slip_z*cos(pitch))*sin(roll)", "m/s")
    m.constrain("ground", "stone_z + n_1*rho_1 + n_2*rho_2 + n_3*rho_3", unit="m")
    rolling = {"rolling_x": "ahead*cos(heading) - aside*sin(heading)", "rolling_y": "ahead*sin(heading) + aside*cos(heading)"}
    m.constrain("rolling", rolling, level="velocity", unit="m/s")
    m.wrench("stone", torque=tuple(f"-drag*rate_{axis}(stone)" for axis in "xyz"), axes="body")
    for axis in "xyz":
        m.output(f"turning_{axis}", f"rate_{axis}(stone)", "rad/s")
    return m


STONE = {
    **{f"stone_{axis}": axis for axis in "xyz"},
    **{f"stone_{axis}_rate": f"velocity_{axis}" for axis in "xyz"},
    **{f"turning_{axis}": f"rate_{axis}" for axis in "xyz"},
}


@pytest.mark.parametrize("drag", [0.0, 2e-3])
def test_rattleback_against_a_graph_with_typed_contact(drag):
    graph, typed = with_defaults(dr.derive(stone()), drag=drag), with_defaults(rattling.rattleback(), drag=drag)
    assert certified(graph, typed, **STONE) >= {"accelerations", "reactions", "kinetic energy", "potential energy"}


def test_rattleback_against_a_graph_that_touches():
    """Velocities, accelerations and energies; its reactions are those of another set of rows."""
    lines = certified(
        dr.derive(rattling.rattleback_graph()), rattling.rattleback(), belly_normal_force="ground_multiplier", **STONE
    )
    assert lines >= {"accelerations", "kinetic energy", "potential energy"}


def test_rattleback_with_a_round_belly_is_a_rolling_ball():
    """With three equal semi-axes the surface is a sphere: a wheel of the graph whose circle has shrunk to its center."""
    r = 0.05
    m = Model("ball")
    for name in ("mass", "ixx", "iyy", "izz", "ixy", "gravity", "mass_below"):
        m.parameter(name, rattling.DEFAULTS[name], rattling.UNITS[name])
    m.gravity("gravity")
    body = m.body("stone", mass="mass", inertia={"xx": "ixx", "yy": "iyy", "zz": "izz", "xy": "ixy"})
    m.free_euler(body, order="zxy", angles=("heading", "roll", "pitch"))
    m.wheel("belly", body, radius=1e-18, tube=r, center=(0, 0, "mass_below"))
    for axis in "xyz":
        m.output(f"turning_{axis}", f"rate_{axis}(stone)", "rad/s")
    typed = with_defaults(rattling.rattleback(), long_axis=r, short_axis=r, depth=r)
    forces = {"belly_normal_force": "ground_multiplier", **{f"belly_force_{a}": f"rolling_{a}_multiplier" for a in "xy"}}
    assert "reactions" in certified(m, typed, **STONE, **forces)


# ---------------------------------------------------------------- sphere on a turntable


def ball_on_a_turntable() -> Model:
    """A ball with Euler angles in the plane of the table, tied to it by what rolling forbids."""
    m = Model("ball_graph")
    for name, value in turning.DEFAULTS.items():
        m.parameter(name, value, turning.UNITS[name])
    m.gravity("gravity*cos(tilt)")  # across the table; what is left of it acts along
    moment = "2*mass*radius^2/5"
    slide, across, ball = (
        m.body("slide", mass=1e-30),
        m.body("across", mass=1e-30),
        m.body("ball", mass="mass", inertia=(moment,) * 3),
    )
    m.prismatic("ball_x", "ground", slide, axis="x", default=0.2)
    m.prismatic("ball_y", slide, across, axis="y")
    turns = [items.Rotate(axis, parse(name)) for axis, name in zip("zxy", "abc", strict=True)]
    spans = [items.Coordinate(name, f"{name}_rate", "rad", 0.0, -1.0, 1.0) for name in "abc"]
    m.joint("turning", across, ball, turns, spans)
    m.potential("slope", "mass*gravity*sin(tilt)*ball_x")
    m.output("spin_x", "b_rate*cos(a) - c_rate*cos(b)*sin(a)", "rad/s")
    m.output("spin_y", "b_rate*sin(a) + c_rate*cos(b)*cos(a)", "rad/s")
    m.output("spin_z", "a_rate + c_rate*sin(b)", "rad/s")
    rolling = {
        "rolling_x": "ball_x_rate - radius*spin_y + table_rate*ball_y",
        "rolling_y": "ball_y_rate + radius*spin_x - table_rate*ball_x",
    }
    m.constrain("rolling", rolling, level="velocity", unit="m/s")
    return m


@pytest.mark.parametrize("tilt", [0.0, math.radians(5)])
def test_sphere_on_a_turntable(tilt):
    graph, typed = (
        with_defaults(dr.derive(ball_on_a_turntable()), tilt=tilt),
        with_defaults(turning.sphere_on_turntable(), tilt=tilt),
    )
    lines = certified(graph, typed, ball_x_rate="velocity_x", ball_y_rate="velocity_y")
    assert lines >= {"accelerations", "reactions", "kinetic energy", "potential energy"}


# ---------------------------------------------------------------- faults


def test_a_sign_in_the_forces_of_the_23_coordinates_is_seen():
    """The steer force as printed does work u₁ sin ξ₂ δ̇: a graph with the torque about its axis differs in the inputs' power."""
    graph = dr.gallery.delebecque_graph().freeze()
    weak = replace(
        graph,
        generalized_forces=tuple(
            e._replace(amount=e.amount * 0.92) if "steer" in e.name else e for e in graph.generalized_forces
        ),
    )
    certificate = dr.certify(weak, against=delebecque_bicycle(), count=3, names=CONTACTS)
    failing = {line.what.partition(" (")[0] for line in certificate.lines if not line.holds}
    assert failing == {"accelerations", "reactions", "power of inputs"}


def test_the_tutorial_that_puts_constraints_into_the_lagrangian_is_caught():
    """The rolling disc with its rolling already in the kinetic energy and no constraint left: SymPy's published example."""
    import sympy as sp
    from sympy.physics.mechanics import dynamicsymbols

    turn, lean, spin = dynamicsymbols("heading lean spin_angle")
    m, r, g = sp.symbols("mass radius gravity")
    about_axle, across = spin.diff() + turn.diff() * sp.sin(lean), turn.diff() * sp.cos(lean)
    rolling = m * r**2 * (about_axle**2 + lean.diff() ** 2) / 2  # hub velocity of a rolling disc
    own = m * r**2 * (about_axle**2 / 2 + (lean.diff() ** 2 + across**2) / 4) / 2
    wrong = dr.lagrangian(
        "tutorial", [turn, lean, spin], kinetic=rolling + own, potential=m * g * r * sp.cos(lean),
        parameters={m: 1.0, r: 0.3, g: 9.81},
    )  # fmt: skip
    certificate = dr.certify(dr.gallery.rolling_disk(), against=wrong, count=4)
    line = {line.what.partition(" (")[0]: line.holds for line in certificate.lines}
    assert line["kinetic energy"] and line["potential energy"] and not line["accelerations"]
    assert "cannot decide which of them is wrong" in certificate.verdict


def test_a_wheel_radius_in_one_description_is_seen():
    graph = dr.gallery.delebecque_graph().freeze()
    larger = replace(graph, parameters=tuple(p._replace(default=0.351) if p.name == "r_wheel" else p for p in graph.parameters))
    certificate = dr.certify(larger, against=delebecque_bicycle(), count=3)
    assert not certificate.passed
    assert "no state of delebecque_bicycle matches one of delebecque_graph" in certificate.verdict
    assert np.isinf(certificate.lines[0].worst)
