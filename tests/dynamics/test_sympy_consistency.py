"""from_sympy: different symbols of one name, auxiliary speeds with constraints, and velocities that belong to no position."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import (
    KanesMethod,
    LagrangesMethod,
    Particle,
    Point,
    ReferenceFrame,
    RigidBody,
    cross,
    dot,
    dynamicsymbols,
    inertia,
)

import draisine as dr
from draisine.errors import ModelError

t = dynamicsymbols._t
q, w = dynamicsymbols("q w")


# ---------------------------------------------------------------- symbols


def oscillator(first: Any, second: Any, formed: bool = True) -> KanesMethod:
    """A mass of 1 on two springs."""
    ground, point = ReferenceFrame("N"), Point("P")
    point.set_vel(ground, w * ground.x)
    loads = [(point, -(first + second) * q * ground.x)]
    bodies = [Particle("mass", point, 1)]
    method = KanesMethod(ground, [q], [w], kd_eqs=[q.diff() - w], bodies=bodies, forcelist=loads)
    if formed:
        method.kanes_equations(bodies, loads)
    return method


VARIANTS = {
    "dummies": lambda: (sp.Dummy("c"), sp.Dummy("c")),
    "assumptions": lambda: (sp.Symbol("c", positive=True), sp.Symbol("c")),
    "a function and a symbol": lambda: (dynamicsymbols("c"), sp.Symbol("c")),
}


@pytest.mark.parametrize("formed", [True, False])
@pytest.mark.parametrize("kind", VARIANTS)
def test_different_symbols_of_one_name_are_refused(kind: str, formed: bool) -> None:
    """−(c₁ + c₂) q with 1 and 3 is −4 q at q = 1; one value for both would be wrong."""
    first, second = VARIANTS[kind]()
    for parameters in ({first: 1.0, second: 3.0}, {str(second): 1.0}):
        with pytest.raises(ModelError, match=r"two different symbols are called '_?c'"):
            dr.from_sympy(oscillator(first, second, formed), parameters=parameters)


@pytest.mark.parametrize("kind", ["dummies", "assumptions"])
def test_the_same_of_lagrange(kind: str) -> None:
    first, second = VARIANTS[kind]()
    method = LagrangesMethod(q.diff() ** 2 / 2 - (first + second) * q**2 / 2, [q])
    for parameters in ({first: 1.0, second: 3.0}, {str(second): 1.0}):
        with pytest.raises(ModelError, match=r"two different symbols are called '_?c'"):
            dr.from_sympy(method, parameters=parameters)


@pytest.mark.parametrize("make", [sp.Dummy, sp.Symbol, lambda n: sp.Symbol(n, positive=True)])
@pytest.mark.parametrize("other", ["d", "_c"])
def test_one_symbol_may_be_used_often(make: Any, other: str) -> None:
    """A dummy of the name c is printed as _c."""
    first, second = make("c"), sp.Symbol("c") if make is sp.Dummy and other == "_c" else make(other)
    e = dr.from_sympy(oscillator(first, second + first - first), parameters={first: 1.0, second: 3.0})
    assert e.dynamics([0.0], [1.0, 0.0, 0.0], [], e.default_parameters)[0][1] == pytest.approx(-4.0)


# ---------------------------------------------------------------- auxiliary speeds with constraints


def disc_with_auxiliary_speeds(formed: bool = True) -> KanesMethod:
    """The rolling disc of SymPy's test_kane2: dependent coordinate and speeds, and auxiliary speeds of the contact point."""
    r, m, g, i, j, fx, fy, fz = sp.symbols("r m g I J Fx Fy Fz")
    c, u, ua = dynamicsymbols("q:4"), dynamicsymbols("u:6"), dynamicsymbols("ua:3")
    ground = ReferenceFrame("N")
    yaw = ground.orientnew("A", "Axis", [c[0], ground.z])
    lean = yaw.orientnew("B", "Axis", [c[1], yaw.x])
    disc = lean.orientnew("C", "Axis", [c[2], lean.y])
    disc.set_ang_vel(ground, u[0] * lean.x + u[1] * lean.y + u[2] * lean.z)
    disc.set_ang_acc(ground, disc.ang_vel_in(ground).diff(t, lean) + cross(lean.ang_vel_in(ground), disc.ang_vel_in(ground)))
    contact = Point("P")
    contact.set_vel(ground, ua[0] * yaw.x + ua[1] * yaw.y + ua[2] * yaw.z)
    center = contact.locatenew("O", c[3] * yaw.z + r * sp.sin(c[1]) * yaw.y)
    center.set_vel(ground, u[3] * yaw.x + u[4] * yaw.y + u[5] * yaw.z)
    center.set_acc(ground, center.vel(ground).diff(t, yaw) + cross(yaw.ang_vel_in(ground), center.vel(ground)))
    way = center.pos_from(contact)
    turning = c[0].diff() * yaw.z + c[1].diff() * lean.x + c[2].diff() * lean.y
    rising = way.diff(t, yaw) + cross(yaw.ang_vel_in(ground), way)
    kinematics = [dot(turning - disc.ang_vel_in(ground), axis) for axis in lean]
    kinematics.append(dot(rising - center.vel(ground), yaw.z))
    rolling = center.vel(ground) - (contact.vel(ground) + cross(disc.ang_vel_in(ground), way))
    bodies = [RigidBody("disc", center, disc, m, (inertia(lean, i, j, i), center))]
    loads = [(center, m * g * yaw.z), (contact, fx * yaw.x + fy * yaw.y + fz * yaw.z)]
    method = KanesMethod(
        ground, c[:3], u[:3], kd_eqs=kinematics, q_dependent=c[3:], configuration_constraints=[dot(-r * lean.z, yaw.z) - c[3]],
        u_dependent=u[3:], velocity_constraints=[dot(rolling, axis).expand() for axis in yaw], u_auxiliary=ua,
        bodies=bodies, forcelist=loads,
    )  # fmt: skip
    if formed:
        method.kanes_equations(bodies, loads)
    return method


VALUES = {"r": 0.3, "m": 2.0, "g": 9.81, "I": 0.05, "J": 0.09}


def test_auxiliary_speeds_beside_dependent_ones() -> None:
    """Contact forces against SymPy's auxiliary equations, with the accelerations found here; run against the graph's disc."""
    method = disc_with_auxiliary_speeds()
    e = dr.from_sympy(method, parameters=VALUES, start={"q3": -0.29, "q1": 0.1})
    random = np.random.default_rng(8)
    for _ in range(3):
        given = dict(zip(("q0", "q1", "q2", "u0", "u1", "u2"), random.uniform(-0.6, 0.6, 6), strict=True))
        start = dr.consistent_start(e, given)
        report = dict(zip((s.name for s in e.report.outputs), e.report([0.0], start.x, [], e.default_parameters), strict=True))
        forces = dict(zip((m.name for m in e.multipliers), report["multipliers"], strict=True))
        rates = dict(zip((v.name for v in e.velocities), report["vdot"], strict=True))
        values = dict(zip((s.name for s in e.states), start.x, strict=True))
        known = {s.diff(): rates[s.name] for s in method.u} | {s.diff(): 0 for s in method._uaux}
        equations = method.auxiliary_eqs.xreplace(known).xreplace(
            {s: values[s.name] for s in (*method.q, *method.u, *method._uaux)}
        )
        solved = sp.solve(list(equations.subs({sp.Symbol(n): v for n, v in VALUES.items()})), sp.symbols("Fx Fy Fz"))
        for k, force in enumerate(sp.symbols("Fx Fy Fz")):
            assert forces[f"ua{k}_multiplier"] == pytest.approx(float(solved[force]), rel=1e-9, abs=1e-9)


def test_the_disc_not_yet_formed_is_the_same() -> None:
    runs = []
    for formed in (True, False):
        e = dr.from_sympy(disc_with_auxiliary_speeds(formed), parameters=VALUES, start={"q3": -0.29, "q1": 0.1})
        runs.append(dr.simulate(e, 1.0, start={"q1": 0.2, "u0": 0.1, "u1": 6.0}))
    assert runs[0]["q1"] == pytest.approx(runs[1]["q1"], abs=1e-12)
    assert runs[0].energy_drift < 1e-6
    assert runs[0]["q3"] == pytest.approx(-0.3 * np.cos(runs[0]["q1"]), abs=1e-8)


@pytest.mark.parametrize("missing", ["m", "g", "r"])
def test_constants_that_affect_the_motion_need_a_value(missing: str) -> None:
    values = {n: v for n, v in VALUES.items() if n != missing}
    with pytest.raises(ModelError, match=f"constants without a value: .*{missing}"):
        dr.from_sympy(disc_with_auxiliary_speeds(formed=False), parameters=values, start={"q3": -0.29, "q1": 0.1})


# ---------------------------------------------------------------- velocities against positions and orientations


def chain(axes: list[str], spin: Any = 1, speed: Any = 1) -> KanesMethod:
    """Rods, one on the other, not yet formed; the last angular velocity or velocity is multiplied by a factor."""
    ground = ReferenceFrame("N")
    c, u = dynamicsymbols(f"q1:{len(axes) + 1}"), dynamicsymbols(f"u1:{len(axes) + 1}")
    parent, origin = ground, Point("O")
    origin.set_vel(ground, 0)
    bodies, loads = [], []
    for k, axis in enumerate(axes):
        last = k == len(axes) - 1
        direction = {"x": parent.x, "y": parent.y, "z": parent.z}[axis]
        frame = parent.orientnew(f"B{k}", "Axis", [c[k], direction])
        frame.set_ang_vel(parent, (spin if last else 1) * u[k] * direction)
        center = origin.locatenew(f"C{k}", frame.x / 2 + frame.z / 3)
        exact = center.v2pt_theory(origin, ground, frame)
        if last and speed != 1:
            center.set_vel(ground, speed * exact)
        end = origin.locatenew(f"P{k}", frame.x)
        end.v2pt_theory(origin, ground, frame)
        bodies.append(RigidBody(f"rod{k}", center, frame, 1, (inertia(frame, 1, 2, 3), center)))
        loads.append((center, -9 * ground.z))
        parent, origin = frame, end
    kinematics = [a.diff() - b for a, b in zip(c, u, strict=True)]
    return KanesMethod(ground, list(c), list(u), kd_eqs=kinematics, bodies=bodies, forcelist=loads)


@pytest.mark.parametrize("seed", range(6))
def test_random_chains_with_planted_errors(seed: int) -> None:
    random = np.random.default_rng(seed)
    axes = [str(a) for a in random.choice(["x", "y", "z"], size=int(random.integers(1, 4)))]
    dr.from_sympy(chain(axes))
    factor = sp.Rational(int(random.choice([-100, 99, 101, 200])), 100)
    with pytest.raises(ModelError, match=rf"angular velocity of the frame 'B{len(axes) - 1}' is not that of its orientation"):
        dr.from_sympy(chain(axes, spin=factor))
    with pytest.raises(ModelError, match=rf"velocity of the point 'C{len(axes) - 1}' is not the derivative of its position"):
        dr.from_sympy(chain(axes, speed=factor))


def test_a_wrong_kinematic_equation_is_found() -> None:
    method = chain(["y"])
    wrong = KanesMethod(
        method._inertial, list(method.q), list(method.u), kd_eqs=[method.q[0].diff() - 2 * method.u[0]], bodies=method.bodies,
        forcelist=method.loads,
    )  # fmt: skip
    with pytest.raises(ModelError, match="is not that of its orientation"):
        dr.from_sympy(wrong)


def test_the_objects_of_the_user_are_left_alone() -> None:
    """Asking SymPy for a velocity that is not defined would define it."""
    method = chain(["y", "x"])
    loose = Point("loose")
    method.bodies[0].masscenter.set_pos(loose, method.bodies[0].frame.y)
    dr.from_sympy(method)
    assert loose._vel_dict == {}
