"""Second-order systems with constraints, by the augmented matrix [M −Aᵀ; A 0] (Delebecque & Nikoukhah 1992, eq. 13).

Whoever has a mass matrix, forces and constraints — from a Lagrangian, from energies of a graph, from another tool — fills a
`SecondOrder` and gets `Equations`. Nothing is eliminated: accelerations and multipliers are solved for together, with
pivoting, at run time. The state holds all coordinates and all velocities; drift is taken out by projection, or held down by
Baumgarte's terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.model.errors import ModelError
from draisine.program.equations import Constraint, Equations, Event, Kind, Quantity
from draisine.program.program import Program
from draisine.program.solved import Solved


@dataclass(frozen=True)
class Baumgarte:
    """Feedback on constraint errors: f̈ + 2α ḟ + β f = 0 for holonomic, ġ + γ g = 0 for nonholonomic ones (eqs 11 and 12)."""

    alpha: float = 10.0
    beta: float = 100.0
    gamma: float = 10.0

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "gamma"):
            if not getattr(self, name) > 0:
                raise ValueError(f"Baumgarte: {name} must be positive for errors to die away, got {getattr(self, name)!r}")


@dataclass
class SecondOrder:
    """M v̇ = F + Aᵀλ with q̇ = N v + n₀, in symbols. `force` holds everything but the reactions; `driven` the part of inputs and
    dampers. `invariants` are equations f(q) = 0 that q̇ itself keeps, whatever v is (the norm of a quaternion): they have no
    reaction, but a start must fulfil them and drift is taken out."""

    name: str
    t: ca.SX
    q: ca.SX
    v: ca.SX
    u: ca.SX
    p: ca.SX
    coordinates: tuple[Quantity, ...]
    velocities: tuple[Quantity, ...]
    inputs: tuple[Quantity, ...]
    parameters: tuple[Quantity, ...]
    q_rate: ca.SX
    mass: ca.SX
    force: ca.SX
    driven: ca.SX
    kinetic: ca.SX
    potential: ca.SX
    holonomic: list[tuple[str, ca.SX]] = field(default_factory=list)
    nonholonomic: list[tuple[str, ca.SX]] = field(default_factory=list)
    invariants: list[tuple[str, ca.SX]] = field(default_factory=list)
    outputs: list[tuple[Quantity, ca.SX]] = field(default_factory=list)
    events: list[tuple[Event, ca.SX]] = field(default_factory=list)

    def rate(self, quantity: ca.SX) -> ca.SX:
        """Time derivative of a quantity of q and t (and of v, taken as constant)."""
        return ca.jtimes(quantity, self.q, self.q_rate) + ca.jacobian(quantity, self.t)


class _Rows:
    """Constraints at velocity level, with their rates at v̇ = 0."""

    def __init__(self, system: SecondOrder) -> None:
        self.names = [n for n, _ in (*system.holonomic, *system.nonholonomic)]
        self.position = ca.vertcat(*[f for _, f in system.holonomic]) if system.holonomic else ca.SX(0, 1)
        first = system.rate(self.position) if system.holonomic else ca.SX(0, 1)
        second = ca.vertcat(*[g for _, g in system.nonholonomic]) if system.nonholonomic else ca.SX(0, 1)
        self.velocity = ca.densify(ca.vertcat(first, second))
        self.matrix = ca.jacobian(self.velocity, system.v)
        for name, row in zip(self.names, ca.vertsplit(self.matrix) if self.names else [], strict=True):
            if ca.depends_on(row, system.v):
                raise ModelError(
                    f"{system.name}: constraint {name!r} is not linear in the velocities; write it as g(q, t) · q̇ + g₀(q, t), or "
                    "differentiate the position constraint behind it"
                )
        self.bias = system.rate(self.velocity) if self.names else ca.SX(0, 1)
        self.held = len(system.holonomic)
        self.all_positions = ca.densify(ca.vertcat(self.position, *[f for _, f in system.invariants]))

    def driven_by(self, system: SecondOrder) -> ca.SX:
        """g₀ of the rows A v + g₀ = 0: not zero where a constraint moves by itself (a driven support, a turntable)."""
        return ca.substitute(self.velocity, system.v, ca.SX.zeros(system.v.numel()))

    def side(self, stabilisation: Baumgarte | None) -> ca.SX:
        """What A v̇ must be."""
        side = -self.bias
        if stabilisation is None:
            return side
        first, second = _parts(self.velocity, self.held)
        held = 2 * stabilisation.alpha * first + stabilisation.beta * self.position
        return side - ca.vertcat(held, stabilisation.gamma * second)


def _parts(column: ca.SX, count: int) -> tuple[ca.SX, ca.SX]:
    """The first `count` entries, and the rest; either may be empty."""
    first, second = ca.vertsplit(column, [0, count, column.numel()])
    return first, second


def augmented(system: SecondOrder, stabilisation: Baumgarte | None = None, work: bool = False) -> Equations:
    """`Equations` whose accelerations and multipliers are solved for together at run time."""
    rows = _Rows(system)
    n, m = system.v.numel(), len(rows.names)
    _check_regular(system, rows)
    extra = (Quantity("work", "J", "work done by inputs, dampers and moving constraints"),) if work else ()
    done = ca.SX.sym("work", len(extra))
    x = ca.vertcat(system.q, system.v, done)
    labels = [*(c.name for c in system.coordinates), *(v.name for v in system.velocities), *(e.name for e in extra)]
    matrix = ca.vertcat(ca.horzcat(system.mass, -rows.matrix.T), ca.horzcat(rows.matrix, ca.SX(m, m)))
    side = ca.vertcat(system.force, rows.side(stabilisation))
    z = ca.SX.sym("z", n + m)
    arguments = _arguments(system, x, labels)
    known = Program.build(f"{system.name}_augmented", arguments, {"matrix": matrix, "side": side})
    # reactions do the work λᵀA v = −λᵀg₀: none on constraints at rest
    power = ca.dot(system.driven, system.v) - ca.dot(_parts(z, n)[1], rows.driven_by(system))
    slope = ca.vertcat(system.q_rate, z[:n], *([power] if work else []))
    after = Program.build(f"{system.name}_slope", {**arguments, "z": z}, {"xdot": (slope, [f"d{name}/dt" for name in labels])})
    constraints = _constraints(system, rows)
    report = _report(system, rows, arguments, z, constraints, done)
    return Equations(
        name=system.name,
        coordinates=system.coordinates,
        velocities=system.velocities,
        independent=tuple(v.name for v in system.velocities),
        inputs=system.inputs,
        parameters=system.parameters,
        multipliers=tuple(Quantity(f"{name}_multiplier") for name in rows.names),
        outputs=tuple(q for q, _ in system.outputs),
        force_outputs=frozenset(),
        constraints=constraints,
        dynamics=Solved(f"{system.name}_dynamics", known, after),
        report=Solved(f"{system.name}_report", known, report),
        motion=_motion(system, rows, constraints),
        project=_project(system, rows, arguments, x, labels),
        events=_events(system, arguments),
        event_list=tuple(event for event, _ in system.events),
        extra_states=extra,
    )


def _arguments(system: SecondOrder, x: ca.SX, labels: Sequence[str]) -> dict[str, tuple[ca.SX, Sequence[str]] | ca.SX]:
    return {
        "t": (system.t, ["t"]),
        "x": (x, labels),
        "u": (system.u, [u.name for u in system.inputs]),
        "p": (system.p, [p.name for p in system.parameters]),
    }


def _constraints(system: SecondOrder, rows: _Rows) -> tuple[Constraint, ...]:
    positions = [Constraint(name, Kind.HOLONOMIC, "position") for name, _ in system.holonomic]
    positions += [Constraint(name, Kind.NORM, "position") for name, _ in system.invariants]
    rates = [Constraint(name, Kind.HOLONOMIC, "velocity") for name, _ in system.holonomic]
    return (*positions, *rates, *(Constraint(name, Kind.NONHOLONOMIC, "velocity") for name, _ in system.nonholonomic))


def _report(
    system: SecondOrder,
    rows: _Rows,
    arguments: dict[str, tuple[ca.SX, Sequence[str]] | ca.SX],
    z: ca.SX,
    constraints: tuple[Constraint, ...],
    done: ca.SX,
) -> Program:
    n = system.v.numel()
    power = ca.jacobian(ca.dot(system.driven, system.v), system.u).T * system.u if system.inputs else ca.SX(0, 1)
    velocities = [v.name for v in system.velocities]
    return Program.build(
        f"{system.name}_told",
        {**arguments, "z": z},
        {
            "v": (system.v, velocities),
            "vdot": (z[:n], [f"d{name}/dt" for name in velocities]),
            "multipliers": (_parts(z, n)[1], [f"{name}_multiplier" for name in rows.names]),
            "outputs": (ca.vertcat(*[e for _, e in system.outputs]), [q.name for q, _ in system.outputs]),
            "energy": (ca.vertcat(system.kinetic, system.potential, ca.sum1(done)), ["kinetic", "potential", "work"]),
            "residuals": (ca.vertcat(rows.all_positions, rows.velocity), [f"{c.name}_{c.level}" for c in constraints]),
            "power": (ca.densify(power), [f"{u.name}_power" for u in system.inputs]),
            "inputs": (system.u, [u.name for u in system.inputs]),
        },
    )


def _motion(system: SecondOrder, rows: _Rows, constraints: tuple[Constraint, ...]) -> Program:
    arguments = {
        "t": (system.t, ["t"]),
        "q": (system.q, [c.name for c in system.coordinates]),
        "v": (system.v, [v.name for v in system.velocities]),
        "u": (system.u, [u.name for u in system.inputs]),
        "p": (system.p, [p.name for p in system.parameters]),
    }
    return Program.build(
        f"{system.name}_motion",
        arguments,
        {
            "residuals": (ca.vertcat(rows.all_positions, rows.velocity), [f"{c.name}_{c.level}" for c in constraints]),
            "outputs": (ca.vertcat(*[e for _, e in system.outputs]), [q.name for q, _ in system.outputs]),
        },
    )


def _project(
    system: SecondOrder, rows: _Rows, arguments: dict[str, tuple[ca.SX, Sequence[str]] | ca.SX], x: ca.SX, labels: Sequence[str]
) -> Solved | None:
    """One Newton step of least change onto the position constraints, and the nearest velocities on the velocity constraints."""
    if not rows.names and not system.invariants:
        return None
    lean = ca.jacobian(rows.all_positions, system.q)
    matrix = ca.diagcat(lean @ lean.T, rows.matrix @ rows.matrix.T)
    side = ca.vertcat(rows.all_positions, rows.velocity)
    z = ca.SX.sym("z", side.numel())
    positions, velocities = _parts(z, rows.all_positions.numel())
    moved = ca.vertcat(system.q - lean.T @ positions, system.v - rows.matrix.T @ velocities)
    rest = _parts(x, moved.numel())[1]
    error = ca.norm_inf(side)
    return Solved(
        f"{system.name}_project",
        Program.build(f"{system.name}_errors", arguments, {"matrix": matrix, "side": side}),
        Program.build(
            f"{system.name}_moved",
            {**arguments, "z": z},
            {"x_new": (ca.vertcat(moved, rest), labels), "error": (error, ["error"])},
        ),
    )


def _events(system: SecondOrder, arguments: dict[str, tuple[ca.SX, Sequence[str]] | ca.SX]) -> Program | None:
    if not system.events:
        return None
    values = ca.vertcat(*[expression for _, expression in system.events])
    return Program.build(f"{system.name}_events", arguments, {"value": (values, [event.name for event, _ in system.events])})


# ---------------------------------------------------------------- what can be wrong


def _check_regular(system: SecondOrder, rows: _Rows) -> None:
    """Complain about dependent constraints and about masses that no equation holds, at a few configurations near the defaults."""
    n, m = system.v.numel(), len(rows.names)
    evaluate = ca.Function(
        "check", [system.t, system.q, system.p], [ca.densify(system.mass), ca.densify(rows.matrix)], {"allow_free": True}
    )
    if evaluate.has_free():
        raise ModelError(
            f"{system.name}: the mass matrix or a constraint row depends on {', '.join(evaluate.get_free())}; it may depend on "
            "coordinates, parameters and time alone"
        )
    rng = np.random.default_rng(1992)
    defaults = np.array([c.default for c in system.coordinates])
    values = np.array([p.default for p in system.parameters])
    best_rows, best_whole = 0, 0
    for _ in range(5):
        mass, matrix = (part.full() for part in evaluate(0.0, defaults + rng.uniform(-0.3, 0.3, defaults.size), values))
        if not (np.isfinite(mass).all() and np.isfinite(matrix).all()):
            continue
        scaled = matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-300) if m else matrix
        whole = np.block([[mass, -matrix.T], [matrix, np.zeros((m, m))]])
        best_rows = max(best_rows, int(np.linalg.matrix_rank(scaled, tol=1e-9)) if m else 0)
        best_whole = max(best_whole, int(np.linalg.matrix_rank(whole, tol=1e-12 * max(np.abs(whole).max(), 1e-300))))
        if best_rows == m and best_whole == n + m:
            return
    if best_rows < m:
        raise ModelError(f"{system.name}: {_dependent(rows.names, scaled)}; leave one of them out")
    raise ModelError(f"{system.name}: {_massless(system, whole, n)}")


def _dependent(names: Sequence[str], scaled: NDArray[np.float64]) -> str:
    left, sizes, _ = np.linalg.svd(scaled)
    kernel = left[:, int(np.count_nonzero(sizes > 1e-9)) :]
    involved = [name for name, share in zip(names, np.linalg.norm(kernel, axis=1), strict=True) if share > 1e-6]
    return f"the constraints {', '.join(repr(name) for name in involved)} depend on each other"


def _massless(system: SecondOrder, whole: NDArray[np.float64], n: int) -> str:
    _, _, right = np.linalg.svd(whole)
    moving = [v.name for v, share in zip(system.velocities, np.abs(right[-1][:n]), strict=True) if share > 1e-6]
    return (
        f"the mass matrix leaves the acceleration of {', '.join(repr(name) for name in moving)} open: give it kinetic energy, "
        "or a constraint that holds it"
    )
