"""Second-order systems with constraints, by the augmented matrix [M −Aᵀ; A 0] (Delebecque & Nikoukhah 1992, eq. 13).

Whoever has a mass matrix, forces and constraints — from a Lagrangian, from energies of a graph, from another tool — fills a
`SecondOrder` and gets `Equations`. Nothing is eliminated: accelerations and multipliers are solved for together at run time, by a
dense elimination where the system is small and by a sparse factorization where it is large. The state holds all coordinates and
all velocities; drift is taken out by projection, or held down by Baumgarte's terms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import casadi as ca

from draisine.dynamics.augmented.second_order_system import check_regular
from draisine.dynamics.constraints.rows import reaction_unit
from draisine.errors import ArgumentError, ModelError
from draisine.program.equations import Constraint, Equations, Event, Kind, Quantity
from draisine.program.linear_solve import LinearSolveProgram, Solver
from draisine.program.program import Program

Slots = dict[str, tuple[ca.SX, Sequence[str]] | ca.SX]


TIME_CONSTANT = 0.1  # seconds in which errors die away where no step is known
STEPS = 4.0  # in steps, where one is known: much faster would be stiff for the method, slower would let errors grow


@dataclass(frozen=True)
class Baumgarte:
    """Feedback on constraint errors: f̈ + 2α ḟ + β f = 0 for holonomic, ġ + γ g = 0 for nonholonomic ones (eqs 11 and 12).

    What is not given is scaled to the step h of the run: α = 1/(4 h), β = α² (critically damped), γ = α; without a run, to a
    time constant of 0.1 s. Positions that the kinematics alone keep (norms of quaternions, heights of rolling wheels) are drawn
    back along their gradients at the rate γ.

    >>> Baumgarte().scaled(0.01)
    Baumgarte(alpha=25.0, beta=625.0, gamma=25.0)
    """

    alpha: float | None = None
    beta: float | None = None
    gamma: float | None = None

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "gamma"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ArgumentError(f"Baumgarte: {name} must be positive for errors to die away, got {value!r}")

    def scaled(self, step: float | None = None) -> Baumgarte:
        """With every number in place; those that fit the step are rounded to two digits."""
        rate = 1 / TIME_CONSTANT if step is None else float(f"{1 / (STEPS * step):.1e}")
        alpha = self.alpha if self.alpha is not None else rate if self.beta is None else math.sqrt(self.beta)
        beta = self.beta if self.beta is not None else alpha**2
        return Baumgarte(alpha, beta, self.gamma if self.gamma is not None else alpha)

    @property
    def numbers(self) -> tuple[float, float, float]:
        """α, β, γ."""
        found = self.scaled()
        assert found.alpha is not None and found.beta is not None and found.gamma is not None  # that is what `scaled` is for
        return found.alpha, found.beta, found.gamma


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
    constraint_units: Mapping[str, str] = field(default_factory=dict)  # of residuals, where known
    reactions: ca.SX | None = None  # symbols of λ, holonomic rows first, where forces depend on them
    load: ca.SX | None = None  # their usual size, from which Newton's method starts where the dependence is not linear

    def rate(self, quantity: ca.SX) -> ca.SX:
        """Time derivative of a quantity of q and t (and of v, taken as constant)."""
        return ca.jtimes(quantity, self.q, self.q_rate) + ca.jacobian(quantity, self.t)


def euler_lagrange(lagrangian: ca.SX, q: ca.SX, v: ca.SX, t: ca.SX) -> tuple[ca.SX, ca.SX]:
    """M and F of M q̈ = F, from L(q, q̇, t): the momenta ∂L/∂q̇ change by ∂L/∂q."""
    momentum = ca.gradient(lagrangian, v)
    mass = ca.jacobian(momentum, v)
    return mass, ca.gradient(lagrangian, q) - ca.jtimes(momentum, q, v) - ca.jacobian(momentum, t)


class _Rows:
    """Constraints at velocity level, with their rates at v̇ = 0."""

    def __init__(self, system: SecondOrder) -> None:
        self.names = [n for n, _ in (*system.holonomic, *system.nonholonomic)]
        self.position = ca.vertcat(*[f for _, f in system.holonomic]) if system.holonomic else ca.SX(0, 1)
        first = system.rate(self.position) if system.holonomic else ca.SX(0, 1)
        second = ca.vertcat(*[g for _, g in system.nonholonomic]) if system.nonholonomic else ca.SX(0, 1)
        self.velocity = ca.densify(ca.vertcat(first, second))
        self.matrix = ca.jacobian(self.velocity, system.v)
        curved = ca.jacobian_sparsity(self.matrix.nz[:], system.v) if self.matrix.nnz() else ca.Sparsity(0, 0)
        if curved.nnz():
            name = self.names[self.matrix.sparsity().row()[curved.row()[0]]]
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

    def side(self, stabilization: Baumgarte | None) -> ca.SX:
        """What A v̇ must be."""
        side = -self.bias
        if stabilization is None:
            return side
        alpha, beta, gamma = stabilization.numbers
        first, second = _parts(self.velocity, self.held)
        return side - ca.vertcat(2 * alpha * first + beta * self.position, gamma * second)


def _parts(column: ca.SX, count: int) -> tuple[ca.SX, ca.SX]:
    """The first `count` entries, and the rest; either may be empty."""
    first, second = ca.vertsplit(column, [0, count, column.numel()])
    return first, second


def augmented(
    system: SecondOrder, stabilization: Baumgarte | None = None, work: bool = False, solver: Solver = Solver.AUTO
) -> Equations:
    """`Equations` whose accelerations and multipliers are solved for together at run time."""
    rows = _Rows(system)
    n, m = system.v.numel(), len(rows.names)
    check_regular(system, rows.matrix, rows.names)
    extra = (Quantity("work", "J", "work done by inputs, dampers and moving constraints"),) if work else ()
    done = ca.SX.sym("work", len(extra))
    x = ca.vertcat(system.q, system.v, done)
    labels = [*(c.name for c in system.coordinates), *(v.name for v in system.velocities), *(e.name for e in extra)]
    matrix = ca.vertcat(ca.horzcat(system.mass, -rows.matrix.T), ca.horzcat(rows.matrix, ca.SX(m, m)))
    z = ca.SX.sym("z", n + m)
    force, driven = with_reactions(system, _parts(z, n)[1], [system.force, system.driven])
    side = ca.vertcat(force, rows.side(stabilization))
    arguments = _arguments(system, x, labels)
    # reactions do the work λᵀA v = −λᵀg₀: none on constraints at rest; a spring whose rest length is moved does work too
    power = ca.dot(driven, system.v) + ca.jacobian(system.potential, system.t)
    power -= ca.dot(_parts(z, n)[1], rows.driven_by(system))
    slope = ca.vertcat(_drawn_back(system, stabilization), z[:n], *([power] if work else []))
    outputs: Slots = {"xdot": (slope, [f"d{name}/dt" for name in labels])}
    load = ca.SX(0) if system.load is None else system.load
    start = None if system.reactions is None else ca.vertcat(ca.SX.zeros(n), *[load] * m)
    dynamics = LinearSolveProgram.build(f"{system.name}_dynamics", arguments, matrix, side, z, outputs, solver, start)
    constraints = _constraints(system, rows)
    report = _report(system, rows, arguments, z, constraints, done)
    units = {c.name: reaction_unit(c.unit) if c.unit else "" for c in constraints}
    return Equations(
        name=system.name,
        coordinates=system.coordinates,
        velocities=system.velocities,
        independent=tuple(v.name for v in system.velocities),
        inputs=system.inputs,
        parameters=system.parameters,
        multipliers=tuple(Quantity(f"{name}_multiplier", units[name]) for name in rows.names),
        outputs=tuple(q for q, _ in system.outputs),
        force_outputs=frozenset(),
        constraints=constraints,
        dynamics=dynamics,
        report=replace(dynamics, name=f"{system.name}_report", after=report),
        motion=_motion(system, rows, constraints),
        project=_project(system, rows, arguments, x, labels, solver),
        events=_events(system, arguments),
        event_list=tuple(event for event, _ in system.events),
        extra_states=extra,
    )


def _drawn_back(system: SecondOrder, stabilization: Baumgarte | None) -> ca.SX:
    """q̇, less γ Jᵀ(J Jᵀ)⁻¹ f for the positions that q̇ alone keeps: they have no reaction that could."""
    if stabilization is None or not system.invariants:
        return system.q_rate
    errors = ca.vertcat(*[f for _, f in system.invariants])
    lean = ca.densify(ca.jacobian(errors, system.q))
    return system.q_rate - stabilization.numbers[2] * (lean.T @ ca.solve(lean @ lean.T, errors))


def with_reactions(system: SecondOrder, multipliers: ca.SX, expressions: list[ca.SX]) -> list[ca.SX]:
    """Expressions with what is solved for put in for the reactions they depend on."""
    if system.reactions is None:
        return expressions
    return list(ca.substitute(expressions, [system.reactions], [multipliers]))


def _arguments(system: SecondOrder, x: ca.SX, labels: Sequence[str]) -> Slots:
    return {
        "t": (system.t, ["t"]),
        "x": (x, labels),
        "u": (system.u, [u.name for u in system.inputs]),
        "p": (system.p, [p.name for p in system.parameters]),
    }


def _constraints(system: SecondOrder, rows: _Rows) -> tuple[Constraint, ...]:
    unit = system.constraint_units
    rate = {name: f"{text}/s" for name, text in unit.items()}
    return (
        *(Constraint(name, Kind.HOLONOMIC, "position", unit.get(name, "")) for name, _ in system.holonomic),
        *(Constraint(name, Kind.NORM, "position") for name, _ in system.invariants),
        *(Constraint(name, Kind.HOLONOMIC, "velocity", rate.get(name, "")) for name, _ in system.holonomic),
        *(Constraint(name, Kind.NONHOLONOMIC, "velocity", unit.get(name, "")) for name, _ in system.nonholonomic),
    )


def _report(
    system: SecondOrder,
    rows: _Rows,
    arguments: Slots,
    z: ca.SX,
    constraints: tuple[Constraint, ...],
    done: ca.SX,
) -> Program:
    n = system.v.numel()
    (driven,) = with_reactions(system, _parts(z, n)[1], [system.driven])
    power = ca.jacobian(ca.dot(driven, system.v), system.u).T * system.u if system.inputs else ca.SX(0, 1)
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
    system: SecondOrder, rows: _Rows, arguments: Slots, x: ca.SX, labels: Sequence[str], solver: Solver
) -> LinearSolveProgram | None:
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
    outputs: Slots = {"x_new": (ca.vertcat(moved, rest), labels), "error": (ca.norm_inf(side), ["error"])}
    return LinearSolveProgram.build(f"{system.name}_project", arguments, matrix, side, z, outputs, solver)


def _events(system: SecondOrder, arguments: Slots) -> Program | None:
    if not system.events:
        return None
    values = ca.vertcat(*[expression for _, expression in system.events])
    return Program.build(f"{system.name}_events", arguments, {"value": (values, [event.name for event, _ in system.events])})
