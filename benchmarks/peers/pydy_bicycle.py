"""The Whipple–Carvallo bicycle as a peer would make it: Kane's method in SymPy, code by PyDy through Cython.

Axes as in Meijaard et al. 2007: x forward, y right, z down. The rear contact point never moves in the wheel (pure rolling is
built in), the front contact gives three velocity constraints and the height of the front contact one position constraint. So
there are six speeds, three of them independent: lean, steer and rear spin. The rear frame's z axis is the steer axis, which makes
the nominal pitch equal to the tilt λ; lengths and inertias below are in the axes of frame and fork, 26 constants in all.

Run as a program it checks itself against the published eigenvalues and prints its times.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

REFERENCE = Path(__file__).parents[2] / "tests" / "reference" / "meijaard2007.json"
Vector = NDArray[np.float64]

COORDINATES = ("x", "y", "yaw", "lean", "rear_angle", "front_angle", "steer", "pitch")
SPEEDS = ("lean_rate", "steer_rate", "rear_spin", "yaw_rate", "pitch_rate", "front_spin")
CONSTANTS = (
    *("g", "rR", "rF", "d1", "d2", "d3", "l1", "l2", "l3", "l4", "mR", "mB", "mH", "mF"),
    *("IRxx", "IRyy", "IBxx", "IByy", "IBzz", "IBxz", "IHxx", "IHyy", "IHzz", "IHxz", "IFxx", "IFyy"),
)


@dataclass(frozen=True)
class Derivation:
    """Kane's equations with everything PyDy needs, and the constraints for consistent starts."""

    coordinates: list[Any]
    speeds: list[Any]
    constants: list[Any]
    mass_matrix: Any
    forcing: Any
    kinematics: Any
    height: Any  # of the front contact below the ground, must vanish
    slip: Any  # velocity of the front contact, must vanish
    energy: Any
    kane: Any  # SymPy's KanesMethod, which linearizes


@dataclass(frozen=True)
class Peer:
    """The generated right-hand side `rhs(x, t, constants)` and what checks it."""

    rhs: Callable[..., Vector]
    constants: Vector
    height: Callable[..., float]
    slip: Callable[..., Vector]
    energy: Callable[..., float]


def constants() -> dict[str, float]:
    """The benchmark's parameters, turned into the axes of frame and fork."""
    given = json.loads(REFERENCE.read_text(encoding="utf-8"))["parameters"]
    w, c, rR, rF = (given[k] for k in ("w", "c", "rR", "rF"))
    tilt = np.pi / 10
    cos, sin = np.cos(tilt), np.sin(tilt)

    def along(x: float, z: float) -> tuple[float, float]:
        """Components of a vector on the frame's x axis and on the steer axis (z)."""
        return x * cos - z * sin, x * sin + z * cos

    def turned(body: str) -> dict[str, float]:
        xx, yy, zz, xz = (given[f"I{body}{k}"] for k in ("xx", "yy", "zz", "xz"))
        turn = np.array([[cos, -sin], [sin, cos]])
        (xx, xz), (_, zz) = turn @ np.array([[xx, xz], [xz, zz]]) @ turn.T
        return {f"I{body}xx": xx, f"I{body}yy": yy, f"I{body}zz": zz, f"I{body}xz": xz}

    d1, _ = along(w + c, rR)  # rear hub to steer axis
    d3, _ = along(-c, -rF)  # steer axis to front hub
    _, d2 = along(w, rR - rF)  # between the feet of these two, along the axis
    l1, l2 = along(given["xB"], given["zB"] + rR)  # rear hub to the frame's center of mass
    l3, l4 = along(given["xH"] - w, given["zH"] + rF)  # front hub to the fork's
    values = dict(given, d1=d1, d2=d2, d3=d3, l1=l1, l2=l2, l3=l3, l4=l4, **turned("B"), **turned("H"))
    return {name: float(values[name]) for name in CONSTANTS}


def derive(constraint_solver: str = "CRAMER") -> Derivation:
    """Kane's equations. SymPy's default solver for the constraints divides by zero upright, hence Cramer's rule."""
    import sympy as sm
    import sympy.physics.mechanics as me

    q = list(me.dynamicsymbols(" ".join(COORDINATES)))
    u = list(me.dynamicsymbols(" ".join(SPEEDS)))
    _, _, yaw, lean, _, _, steer, pitch = q
    lean_rate, steer_rate, rear_spin, yaw_rate, pitch_rate, front_spin = u
    symbols = dict(zip(CONSTANTS, sm.symbols(" ".join(CONSTANTS), real=True), strict=True))
    k = symbols.__getitem__

    ground = me.ReferenceFrame("N")
    heading = ground.orientnew("A", "Axis", (yaw, ground.z))
    leaned = heading.orientnew("B", "Axis", (lean, heading.x))
    frame = leaned.orientnew("C", "Axis", (pitch, leaned.y))
    fork = frame.orientnew("E", "Axis", (steer, frame.z))

    heading.set_ang_vel(ground, yaw_rate * ground.z)
    leaned.set_ang_vel(heading, lean_rate * heading.x)
    frame.set_ang_vel(leaned, pitch_rate * leaned.y)
    fork.set_ang_vel(frame, steer_rate * frame.z)
    # A balanced wheel needs no frame of its own axes: only its angular velocity counts.
    rear_wheel, front_wheel = me.ReferenceFrame("D"), me.ReferenceFrame("F")
    rear_wheel.orient_axis(frame, frame.y, 0)
    front_wheel.orient_axis(fork, fork.y, 0)
    rear_wheel.set_ang_vel(frame, rear_spin * frame.y)
    front_wheel.set_ang_vel(fork, front_spin * fork.y)

    contact = me.Point("rear_contact")
    rear_hub = contact.locatenew("rear_hub", -k("rR") * leaned.z)
    rear_hub.set_vel(ground, rear_wheel.ang_vel_in(ground).cross(rear_hub.pos_from(contact)))
    frame_mass = rear_hub.locatenew("frame_mass", k("l1") * frame.x + k("l2") * frame.z)
    foot = rear_hub.locatenew("foot", k("d1") * frame.x)
    front_hub = foot.locatenew("front_hub", k("d2") * fork.z + k("d3") * fork.x)
    fork_mass = front_hub.locatenew("fork_mass", k("l3") * fork.x + k("l4") * fork.z)
    down = ground.z - fork.y.dot(ground.z) * fork.y  # in the wheel plane
    front_contact = front_hub.locatenew("front_contact", k("rF") * down.normalize())
    frame_mass.v2pt_theory(rear_hub, ground, frame)
    foot.v2pt_theory(rear_hub, ground, frame)
    front_hub.v2pt_theory(foot, ground, fork)
    fork_mass.v2pt_theory(front_hub, ground, fork)
    front_contact.v2pt_theory(front_hub, ground, front_wheel)

    def body(name: str, point: Any, axes: Any, inertia_axes: Any, mass: str, moments: tuple[str, ...]) -> Any:
        xx, yy, zz, *rest = (k(m) for m in moments)
        inertia = me.inertia(inertia_axes, xx, yy, zz, 0, 0, rest[0] if rest else 0)
        return me.RigidBody(name, point, axes, k(mass), (inertia, point))

    bodies = [
        body("rear_frame", frame_mass, frame, frame, "mB", ("IBxx", "IByy", "IBzz", "IBxz")),
        body("front_fork", fork_mass, fork, fork, "mH", ("IHxx", "IHyy", "IHzz", "IHxz")),
        body("rear_wheel", rear_hub, rear_wheel, frame, "mR", ("IRxx", "IRyy", "IRxx")),
        body("front_wheel", front_hub, front_wheel, fork, "mF", ("IFxx", "IFyy", "IFxx")),
    ]
    weights = [(b.masscenter, b.mass * k("g") * ground.z) for b in bodies]

    height = front_contact.pos_from(contact).dot(ground.z)
    slip = [front_contact.vel(ground).dot(axis) for axis in (heading.x, heading.y, heading.z)]
    # The rear contact's path: the point wanders along the rim as fast as the wheel turns in the leaned frame.
    travel = -k("rR") * (rear_spin + pitch_rate)
    rates = [
        travel * sm.cos(yaw),
        travel * sm.sin(yaw),
        yaw_rate,
        lean_rate,
        rear_spin,
        front_spin,
        steer_rate,
        pitch_rate,
    ]
    time_symbol = me.dynamicsymbols._t
    kane = me.KanesMethod(
        ground,
        q_ind=q[:-1],
        q_dependent=q[-1:],
        configuration_constraints=[height],
        u_ind=u[:3],
        u_dependent=u[3:],
        velocity_constraints=slip,
        kd_eqs=[coordinate.diff(time_symbol) - rate for coordinate, rate in zip(q, rates, strict=True)],
        constraint_solver=constraint_solver,
    )
    kane.kanes_equations(bodies, loads=weights)
    energy = sum(b.kinetic_energy(ground) for b in bodies) - sum(
        b.mass * k("g") * b.masscenter.pos_from(contact).dot(ground.z) for b in bodies
    )
    return Derivation(
        q, u, list(symbols.values()), kane.mass_matrix, kane.forcing, sm.Matrix(rates), height, sm.Matrix(slip), energy, kane
    )


def generate(made: Derivation, solver: str = "numpy") -> Callable[..., Vector]:
    """PyDy's right-hand side: Cython code for mass matrix, forcing and kinematics, then a linear solve."""
    from pydy.codegen.ode_function_generators import generate_ode_function

    return generate_ode_function(
        made.forcing,
        made.coordinates,
        made.speeds,
        made.constants,
        mass_matrix=made.mass_matrix,
        coordinate_derivatives=made.kinematics,
        generator="cython",
        linear_sys_solver=solver,
        constants_arg_type="array",
    )


def build(solver: str = "numpy") -> Peer:
    """The peer with the functions that make starts consistent and check energy (these are not timed).

    `solver` is PyDy's `linear_sys_solver`; its default is NumPy. The symbolic `sympy:CRAMER` is quicker to run.
    """
    import sympy as sm

    made = derive()
    arguments = (made.coordinates, made.speeds, made.constants)
    height, slip, energy = (sm.lambdify(arguments, e, cse=True) for e in (made.height, made.slip, made.energy))
    values = np.array([constants()[name] for name in CONSTANTS])

    def split(function: Callable[..., Any]) -> Callable[[Vector], Any]:
        n = len(COORDINATES)
        return lambda state: np.squeeze(function(state[:n], state[n:], values))

    return Peer(generate(made, solver), values, split(height), split(slip), split(energy))


def consistent(peer: Peer, speed: float = 0.0, **targets: float) -> Vector:
    """A state with the named targets; pitch, yaw rate, pitch rate and front spin follow from the constraints."""
    from scipy.optimize import brentq

    names = (*COORDINATES, *SPEEDS)
    state = np.zeros(len(names))
    for name, value in targets.items():
        state[names.index(name)] = value
    state[names.index("rear_spin")] = -speed / constants()["rR"]

    def at(name: str, value: float) -> Vector:
        changed = state.copy()
        changed[names.index(name)] = value
        return changed

    state = at("pitch", brentq(lambda angle: peer.height(at("pitch", angle)), 0.0, 0.6, xtol=1e-15, rtol=1e-15))
    dependent = [names.index(name) for name in SPEEDS[3:]]
    base = peer.slip(state)
    columns = [peer.slip(at(names[i], 1.0)) - base for i in dependent]
    state[dependent] = np.linalg.solve(np.column_stack(columns), -base)
    return state


def eigenvalues(peer: Peer, speed: float, step: float = 1e-5) -> NDArray[np.complex128]:
    """Of the upright bicycle, by central differences in lean, steer and their rates, constraints kept."""
    names = (*COORDINATES, *SPEEDS)
    varied = ("lean", "steer", "lean_rate", "steer_rate")
    rows = [names.index(name) for name in varied]

    def rate(name: str, value: float) -> Vector:
        return peer.rhs(consistent(peer, speed, **{name: value}), 0.0, peer.constants)[rows]

    jacobian = np.column_stack([(rate(n, step) - rate(n, -step)) / (2 * step) for n in varied])
    return np.linalg.eigvals(jacobian).astype(complex)


def integrate(peer: Peer, until: float = 5.0, tolerance: float = 1e-8, points: int = 2) -> Vector:
    """The free run: 4.6 m/s with 0.5 rad/s of roll, by `odeint`."""
    from scipy.integrate import odeint

    start = consistent(peer, 4.6, lean_rate=0.5)
    times = np.linspace(0.0, until, points)
    return np.asarray(odeint(peer.rhs, start, times, args=(peer.constants,), rtol=tolerance, atol=tolerance, mxstep=50_000))


# ------------------------------------------------------------------------------------------------ checks and times


def check(peer: Peer) -> dict[str, float]:
    """The worst errors: eigenvalues at 5 m/s, energy and front contact height over the free run."""
    table = json.loads(REFERENCE.read_text(encoding="utf-8"))["eigenvalues"]["table"]["5"]
    published = np.array([complex(float(e["re"]), float(e["im"])) for e in table])
    found = eigenvalues(peer, 5.0)
    run = integrate(peer, points=101)
    energies = [peer.energy(state) for state in run]
    return {
        "eigenvalues": float(max(min(abs(found - value)) for value in published)),
        "energy": float(np.ptp(energies) / abs(energies[0])),
        "height": float(max(abs(peer.height(state)) for state in run)),
    }


def require_published(accelerations: Vector, speed: float) -> None:
    """Of lean and steer per unit of lean rate, riding straight, from M q̈ = −v C₁ q̇ of Meijaard et al. (2007); z down."""
    table = json.loads(REFERENCE.read_text(encoding="utf-8"))["matrices"]
    mass, damping = (np.array(table[k], dtype=float) for k in ("M", "C1"))
    expected = np.linalg.solve(mass, -speed * damping)[:, 0]
    if not np.allclose(accelerations, expected, rtol=1e-5, atol=1e-5):
        raise RuntimeError(f"this is not the benchmark's bicycle: accelerations {accelerations}, published {expected}")


def require_accelerations(rhs: Callable[..., Vector], speed: float = 5.0, small: float = 1e-6) -> None:
    """A right-hand side that was just generated gives the published accelerations after a small rate of lean."""
    found = rhs(upright(speed, small), 0.0, np.array([constants()[name] for name in CONSTANTS]))
    require_published(found[len(COORDINATES) :][:2] / small, speed)


def upright(speed: float, lean_rate: float) -> Vector:
    """A state straight ahead, where lean rate asks for no other velocity."""
    known = constants()
    state = dict.fromkeys((*COORDINATES, *SPEEDS), 0.0) | {"pitch": np.pi / 10, "lean_rate": lean_rate}
    state |= {"rear_spin": -speed / known["rR"], "front_spin": -speed / known["rF"]}
    return np.array(list(state.values()))


def require_correct(peer: Peer) -> None:
    """A comparison with something else than the benchmark bicycle would say nothing."""
    errors = check(peer)
    if errors["eigenvalues"] > 1e-8 or errors["energy"] > 1e-6 or errors["height"] > 1e-6:
        raise RuntimeError(f"the peer does not compute the benchmark bicycle: {errors}")


def evaluation(peer: Peer, states: int = 100) -> Callable[[], float]:
    """A function that returns the seconds of one right-hand side, each time averaged over states along the free run."""
    along = list(integrate(peer, points=states))
    rhs, values = peer.rhs, peer.constants

    def seconds() -> float:
        start = time.perf_counter()
        for state in along:
            rhs(state, 0.0, values)
        return (time.perf_counter() - start) / len(along)

    return seconds


def integration(peer: Peer) -> Callable[[], float]:
    """A function that returns the seconds of 5 s of free run at 1e-8; the consistent start is not counted."""
    from scipy.integrate import odeint

    begin = consistent(peer, 4.6, lean_rate=0.5)

    def seconds() -> float:
        start = time.perf_counter()
        odeint(peer.rhs, begin, [0.0, 5.0], args=(peer.constants,), rtol=1e-8, atol=1e-8)
        return time.perf_counter() - start

    return seconds


def main() -> None:
    def median(seconds: Callable[[], float], repetitions: int) -> float:
        return statistics.median(seconds() for _ in range(repetitions))

    peer, by_cramer = build(), build(solver="sympy:CRAMER")
    for name, error in check(peer).items():
        print(f"error of {name:12} {error:.1e}")
    print(f"right-hand side     {1e6 * median(evaluation(peer), 200):.1f} µs")
    print(f"… with sympy:CRAMER {1e6 * median(evaluation(by_cramer), 200):.1f} µs")
    print(f"5 s of free run     {1e3 * median(integration(peer), 50):.2f} ms")


if __name__ == "__main__":
    main()
