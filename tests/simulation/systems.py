"""Small systems written by hand, with known answers, for the tests of the simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import casadi as ca
import numpy as np

from draisine.program.equations import Constraint, Equations, Event, Kind, Quantity, RunLimits
from draisine.program.program import DaeResidual, Program

Rates = Callable[[ca.SX, ca.SX, ca.SX, ca.SX], Sequence[ca.SX] | ca.SX]


def column(values: Sequence[ca.SX] | ca.SX) -> ca.SX:
    return values if isinstance(values, ca.SX) else ca.vertcat(*values)


def first_order(
    name: str,
    states: Mapping[str, float],
    rates: Rates,
    *,
    inputs: Sequence[str] = (),
    parameters: Mapping[str, float] | None = None,
    project: Callable[[ca.SX], tuple[Sequence[ca.SX], ca.SX]] | None = None,
    monitor: Callable[[ca.SX], ca.SX] | None = None,
    events: Sequence[tuple[Event, Callable[[ca.SX, ca.SX], ca.SX]]] = (),
) -> Equations:
    """A first-order system ẋ = rates(t, x, u, p)."""
    parameters = parameters or {}
    t, x = ca.SX.sym("t"), ca.SX.sym("x", len(states))
    u, p = ca.SX.sym("u", len(inputs)), ca.SX.sym("p", len(parameters))
    arguments = {"t": t, "x": (x, tuple(states)), "u": (u, tuple(inputs)), "p": (p, tuple(parameters))}
    nothing = ca.SX(0, 1)
    q, v = ca.SX.sym("q", len(states)), ca.SX.sym("v", 0)
    motion = Program.build(
        f"{name}_motion",
        {"t": t, "q": (q, tuple(states)), "v": v, "u": (u, tuple(inputs)), "p": (p, tuple(parameters))},
        {"residuals": nothing, "outputs": nothing},
    )
    report = Program.build(f"{name}_report", arguments, {"v": nothing, "outputs": nothing, "residuals": nothing})
    projected = None
    if project is not None:
        moved, error = project(x)
        projected = Program.build(f"{name}_project", arguments, {"x_new": column(moved), "error": error})
    return Equations(
        name=name,
        coordinates=tuple(Quantity(n, default=d) for n, d in states.items()),
        velocities=(),
        independent=(),
        inputs=tuple(Quantity(n) for n in inputs),
        parameters=tuple(Quantity(n, default=d) for n, d in parameters.items()),
        multipliers=(),
        outputs=(),
        force_outputs=frozenset(),
        constraints=(),
        dynamics=Program.build(f"{name}_dynamics", arguments, {"xdot": column(rates(t, x, u, p))}),
        report=report,
        motion=motion,
        project=projected,
        monitor=None if monitor is None else Program.build(f"{name}_monitor", arguments, {"condition": monitor(x)}),
        events=Program.build(f"{name}_events", arguments, {"value": ca.vertcat(*[f(t, x) for _, f in events])})
        if events
        else None,
        event_list=tuple(e for e, _ in events),
    )


def start_of(equations: Equations) -> np.ndarray:
    return np.array([q.default for q in equations.coordinates])


def decay() -> Equations:
    return first_order("decay", {"a": 1.0, "b": 2.0}, lambda t, x, u, p: [-x[0], -50.0 * (x[1] - ca.cos(t))])


def oscillator(**more: object) -> Equations:
    """ẍ = −x from (1, 0): cos t."""
    return first_order("oscillator", {"x": 1.0, "v": 0.0}, lambda t, x, u, p: [x[1], -x[0]], **more)  # type: ignore[arg-type]


def swing() -> Equations:
    """ẏ = y cos t, ż = −y z² from 1: y = exp(sin t) and a second state that depends on it; time-dependent and nonlinear."""
    return first_order("swing", {"y": 1.0, "z": 1.0}, lambda t, x, u, p: [x[0] * ca.cos(t), -x[0] * ca.cos(t) * x[1] ** 2])


def kepler() -> Equations:
    """A Kepler orbit of eccentricity 0.5 and period 2π, from its pericenter."""

    def rates(t: ca.SX, x: ca.SX, u: ca.SX, p: ca.SX) -> list[ca.SX]:
        cube = (x[0] ** 2 + x[1] ** 2) ** 1.5
        return [x[2], x[3], -x[0] / cube, -x[1] / cube]

    return first_order("kepler", {"x": 0.5, "y": 0.0, "u": 0.0, "v": float(np.sqrt(3.0))}, rates)


ARENSTORF_PERIOD = 17.0652165601579625588917206249


def arenstorf() -> Equations:
    """The closed orbit of Hairer, Nørsett & Wanner I, eq. (II.0.1)."""

    def rates(t: ca.SX, x: ca.SX, u: ca.SX, p: ca.SX) -> list[ca.SX]:
        small, big = 0.012277471, 1.0 - 0.012277471
        to_big = ((x[0] + small) ** 2 + x[1] ** 2) ** 1.5
        to_small = ((x[0] - big) ** 2 + x[1] ** 2) ** 1.5
        return [
            x[2],
            x[3],
            x[0] + 2.0 * x[3] - big * (x[0] + small) / to_big - small * (x[0] - big) / to_small,
            x[1] - 2.0 * x[2] - big * x[1] / to_big - small * x[1] / to_small,
        ]

    return first_order("arenstorf", {"x": 0.994, "y": 0.0, "u": 0.0, "v": -2.00158510637908252240537862224}, rates)


def lotka_volterra() -> Equations:
    return first_order(
        "lotka_volterra",
        {"prey": 1.0, "predators": 0.5},
        lambda t, x, u, p: [x[0] * (p[0] - x[1]), x[1] * (x[0] - p[1])],
        parameters={"growth": 1.5, "death": 1.0},
    )


def circle() -> Equations:
    """A point that runs round x² + y² = 1; the steps' errors push it off, projection holds it there."""

    def project(x: ca.SX) -> tuple[list[ca.SX], ca.SX]:
        residual = x[0] ** 2 + x[1] ** 2 - 1.0
        factor = 1.0 - residual / (2.0 * (x[0] ** 2 + x[1] ** 2))
        return [x[0] * factor, x[1] * factor], ca.fabs(residual)

    return first_order("circle", {"x": 1.0, "y": 0.0}, lambda t, x, u, p: [-x[1], x[0]], project=project)


def cart() -> Equations:
    """A double integrator with a force: ẍ = f/m."""
    return first_order(
        "cart", {"x": 0.0, "v": 0.0}, lambda t, x, u, p: [x[1], u[0] / p[0]], inputs=("force",), parameters={"mass": 2.0}
    )


def turning(limit: float = 3.0) -> Equations:
    """A point on the unit circle, angle a with ȧ = w; independent is its velocity along x or along y.

    Velocities are vx = −w sin a, vy = w cos a, and w; the choice vx fails at a = 0, π, the choice vy at ±π/2. Free motion is
    w constant, so a = a₀ + w t, whichever choice is in use.
    """
    t, x, u, p = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX.sym("u", 0), ca.SX.sym("p", 0)
    q, v = ca.SX.sym("q", 1), ca.SX.sym("v", 3)
    choices = (("vx",), ("vy",))

    def make(choice: tuple[str, ...]) -> Equations:
        factor = -ca.sin(x[0]) if choice == ("vx",) else ca.cos(x[0])
        slope = -ca.cos(x[0]) if choice == ("vx",) else -ca.sin(x[0])
        w = x[1] / factor
        arguments = {"t": t, "x": (x, ("a", *choice)), "u": u, "p": p}
        return Equations(
            name="turning",
            coordinates=(Quantity("a", "rad", default=0.3),),
            velocities=(Quantity("vx", "m/s"), Quantity("vy", "m/s"), Quantity("w", "rad/s")),
            independent=choice,
            inputs=(),
            parameters=(),
            multipliers=(),
            outputs=(Quantity("speed", "m/s"),),
            force_outputs=frozenset(),
            constraints=(
                Constraint("slide x", Kind.NONHOLONOMIC, "velocity"),
                Constraint("slide y", Kind.NONHOLONOMIC, "velocity"),
            ),
            dynamics=Program.build("turning_dynamics", arguments, {"xdot": ca.vertcat(w, slope * w**2)}),
            report=Program.build(
                "turning_report",
                arguments,
                {
                    "v": (ca.vertcat(-w * ca.sin(x[0]), w * ca.cos(x[0]), w), ("vx", "vy", "w")),
                    "outputs": (ca.fabs(w), ("speed",)),
                    "residuals": ca.SX(2, 1),
                },
            ),
            motion=Program.build(
                "turning_motion",
                {"t": t, "q": (q, ("a",)), "v": (v, ("vx", "vy", "w")), "u": u, "p": p},
                {
                    "residuals": ca.vertcat(v[0] + v[2] * ca.sin(q[0]), v[1] - v[2] * ca.cos(q[0])),
                    "outputs": (ca.sqrt(v[0] ** 2 + v[1] ** 2), ("speed",)),
                },
            ),
            monitor=Program.build("turning_monitor", arguments, {"condition": 1.0 / ca.fabs(factor)}),
            limits=RunLimits(condition=limit),
            alternates=tuple(c for c in choices if c != choice),
            with_independent=make,
        )

    return make(("vx",))


def stuck() -> Equations:
    """The same point with no other choice than vx."""
    return replace(turning(), alternates=(), with_independent=None)


# ------------------------------------------------------------------------------------------------- implicit equations


def implicit_system(
    name: str,
    unknowns: Mapping[str, float],
    residual: Callable[[ca.SX, ca.SX, ca.SX, ca.SX, ca.SX], Sequence[ca.SX]],
    *,
    index: Sequence[int] = (),
    inputs: Sequence[str] = (),
    parameters: Mapping[str, float] | None = None,
    labels: Sequence[str] = (),
    events: Sequence[tuple[Event, Callable[[ca.SX, ca.SX], ca.SX]]] = (),
) -> Equations:
    """0 = residual(t, x, ẋ, u, p), with everything else of a first-order system without outputs."""
    base = first_order(
        name, unknowns, lambda t, x, u, p: ca.SX.zeros(len(unknowns)), inputs=inputs, parameters=parameters, events=events
    )
    t, x, u, p = base.dynamics.symbols()  # type: ignore[union-attr]
    rate = ca.SX.sym("xdot", len(unknowns))
    arguments = {"t": t, "x": (x, tuple(unknowns)), "xdot": rate, "u": u, "p": p}
    program = Program.build(f"{name}_residual", arguments, {"residual": (column(residual(t, x, rate, u, p)), tuple(labels))})
    return replace(base, dynamics=DaeResidual(name, program, tuple(index)))


GRAVITY = 9.81


def cartesian_pendulum(index: int, **more: object) -> Equations:
    """A point of mass 1 on a rod of length 1, from the horizontal at rest, with the rod force r as unknown.

    At index 3 the rod's length is the constraint, at index 2 its rate, at index 1 its acceleration, which gives r itself.
    """
    constraint = {
        3: lambda x, y, u, v, r: x**2 + y**2 - 1.0,
        2: lambda x, y, u, v, r: x * u + y * v,
        1: lambda x, y, u, v, r: u**2 + v**2 - r * (x**2 + y**2) - GRAVITY * y,
    }[index]

    def residual(t: ca.SX, z: ca.SX, rate: ca.SX, u: ca.SX, p: ca.SX) -> list[ca.SX]:
        x, y, vx, vy, r = (z[i] for i in range(5))
        return [rate[0] - vx, rate[1] - vy, rate[2] + r * x, rate[3] + r * y + GRAVITY, constraint(x, y, vx, vy, r)]

    indices = {3: (1, 1, 2, 2, 3), 2: (1, 1, 1, 1, 2), 1: ()}[index]
    labels = ("x rate", "y rate", "x force", "y force", "rod")
    unknowns = {"x": 1.0, "y": 0.0, "vx": 0.0, "vy": 0.0, "r": 0.0}
    return implicit_system(f"pendulum_{index}", unknowns, residual, index=indices, labels=labels, **more)  # type: ignore[arg-type]


def pendulum_state(angle: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """x, y, vx, vy, r of the pendulum from its angle to the vertical and the rate of that."""
    x, y = np.sin(angle), -np.cos(angle)
    return np.column_stack([x, y, -y * speed, x * speed, speed**2 - GRAVITY * y])


def robertson() -> Equations:
    """Robertson's reaction: two rate equations, and that nothing is lost."""

    def residual(t: ca.SX, x: ca.SX, rate: ca.SX, u: ca.SX, p: ca.SX) -> list[ca.SX]:
        forward, back, fast = 0.04 * x[0], 1e4 * x[1] * x[2], 3e7 * x[1] ** 2
        return [rate[0] + forward - back, rate[1] - forward + back + fast, x[0] + x[1] + x[2] - 1.0]

    return implicit_system("robertson", {"a": 1.0, "b": 0.0, "c": 0.0}, residual)


def van_der_pol(stiffness: float) -> Equations:
    """Van der Pol's oscillator with time in units of μ, ε = 1/μ²: x' = y, ε y' = (1 − x²) y − x (Hairer & Wanner II, IV.10)."""
    return first_order(
        "van_der_pol",
        {"x": 2.0, "y": -2.0 / 3.0},
        lambda t, x, u, p: [x[1], ((1.0 - x[0] ** 2) * x[1] - x[0]) / p[0]],
        parameters={"epsilon": stiffness**-2},
    )
