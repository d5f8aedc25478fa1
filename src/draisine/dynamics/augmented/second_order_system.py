"""Equations of second-order systems with constraints: the augmented system [M −Aᵀ; A 0] (Delebecque & Nikoukhah 1992, eq. 13).

A `SecondOrder` takes a mass matrix, forces and constraints from any source (a Lagrangian, energies of a graph, another tool) and
gives `Equations`. Nothing is eliminated: accelerations and multipliers are solved for together at run time, by a dense
elimination where the system is small and by a sparse factorization where it is large. The state holds all coordinates and all
velocities; drift is removed by projection, or fed back by Baumgarte's terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.augmented.contact_forces import MassFactors, has_factors
from draisine.dynamics.augmented.contact_modes import ModeRows, compliant
from draisine.dynamics.augmented.linear_parts import LinearParts, linear_parts
from draisine.dynamics.augmented.regularity import check_not_degenerate, check_regular
from draisine.dynamics.augmented.second_order import SecondOrder
from draisine.dynamics.constraints.rows import Motion, reaction_unit, velocity_rows
from draisine.dynamics.constraints.singular_rows import row_condition
from draisine.dynamics.reduced.independent_velocities import SWITCH
from draisine.dynamics.stabilization import Baumgarte
from draisine.errors import ModelError
from draisine.program.casadi_functions import evaluate
from draisine.program.equations import (
    ENERGIES,
    Constraint,
    Equations,
    Kind,
    Quantity,
    RunLimits,
    Unilateral,
)
from draisine.program.linear_solve import Condensed, LinearSolveProgram, Solver
from draisine.program.program import Program

Slots = dict[str, tuple[ca.SX, Sequence[str]] | ca.SX]

_MOST_ACTIVE = 60  # unknowns up to which contacts have a dense elimination
PROJECTED = 1e-12  # of the diagonal of a projection onto rows that may be dependent; their entries are about 1
_LARGEST_BLOCK = 2  # of rows that determine velocities without inertia: the place of one wheel
_SAMPLED = 16  # configurations near the default that show the typical condition of constraints
_TRIED, _CANCELED = 4, 1e-11  # random values, and what is left of forces that cancel


class _Rows:
    """Constraints at velocity level, with their rates at v̇ = 0."""

    def __init__(self, system: SecondOrder) -> None:
        self.names = [n for n, _ in (*system.holonomic, *system.nonholonomic)]
        self.position = ca.vertcat(*[f for _, f in system.holonomic]) if system.holonomic else ca.SX(0, 1)
        residuals = ca.vertcat(self.position, *[g for _, g in system.nonholonomic])
        levels = [True] * len(system.holonomic) + [False] * len(system.nonholonomic)
        motion = Motion(system.q, system.v, system.t, system.q_rate)
        self.velocity, self.matrix, curved = velocity_rows(residuals, levels, motion)
        if curved is not None:
            raise ModelError(
                f"{system.name}: constraint {self.names[curved]!r} is not linear in the velocities; write it as "
                "g(q, t) · q̇ + g₀(q, t), or give the position constraint of which it is the rate"
            )
        self.bias = system.rate(self.velocity) if self.names else ca.SX(0, 1)
        self.holonomic_count = len(system.holonomic)
        self.all_positions = ca.densify(ca.vertcat(self.position, *[f for _, f in system.invariants]))

    def driven_by(self, system: SecondOrder) -> ca.SX:
        """g₀ of the rows A v + g₀ = 0: nonzero for rheonomic constraints (a driven support, a turntable)."""
        return ca.substitute(self.velocity, system.v, ca.SX.zeros(system.v.numel()))

    def side(self, stabilization: Baumgarte | None) -> ca.SX:
        """Right side of A v̇ = …"""
        side = -self.bias
        if stabilization is None:
            return side
        alpha, beta, gamma = stabilization.numbers
        first, second = _parts(self.velocity, self.holonomic_count)
        return side - ca.vertcat(2 * alpha * first + beta * self.position, gamma * second)


def _parts(column: ca.SX, count: int) -> tuple[ca.SX, ca.SX]:
    """The first `count` entries, and the rest; either may be empty."""
    first, second = ca.vertsplit(column, [0, count, column.numel()])
    return first, second


def augmented(
    system: SecondOrder, stabilization: Baumgarte | None = None, work: bool | None = None, solver: Solver = Solver.AUTO
) -> Equations:
    """`Equations` whose accelerations and multipliers are solved for together at run time.

    `work`: whether the work of forces is a state; by default wherever anything but a potential does work."""
    rows = _Rows(system)
    modes = ModeRows(system.contacts, len(rows.names))
    if system.contacts and solver == Solver.AUTO and system.v.numel() + len(rows.names) <= _MOST_ACTIVE:
        solver = Solver.ACTIVE
    work = True if system.contacts else does_work(system) if work is None else work  # by friction
    n, m = system.v.numel(), len(rows.names)
    if not system.contacts:
        check_regular(system, rows.matrix, rows.names)
    check_not_degenerate(system)
    extra = (Quantity("work", "J", "work done by inputs, dampers and moving constraints"),) if work else ()
    done = ca.SX.sym("work", len(extra))
    x = ca.vertcat(system.q, system.v, done)
    labels = [*(c.name for c in system.coordinates), *(v.name for v in system.velocities), *(e.name for e in extra)]
    matrix = ca.vertcat(ca.horzcat(system.mass, -rows.matrix.T), modes.matrix(rows.matrix))
    z = ca.SX.sym("z", n + m)
    force, driven = with_reactions(system, _parts(z, n)[1], [system.force, system.driven])
    side = ca.vertcat(force, modes.activity * rows.side(stabilization) + modes.given_forces(m))
    arguments = _arguments(system, x, labels)
    # reactions do the work λᵀA v = −λᵀg₀, zero for scleronomic constraints
    power = ca.dot(driven, system.v) + _power_of_time(system) - ca.dot(_parts(z, n)[1], rows.driven_by(system))
    power += system.rate(system.surplus) + ca.jtimes(system.surplus, system.v, z[:n])
    power += modes.friction_power(_parts(z, n)[1], rows.velocity)
    slope = ca.vertcat(_stabilized_rates(system, stabilization), z[:n], *([power] if work else []))
    outputs: Slots = {"xdot": (slope, [f"d{name}/dt" for name in labels])}
    load = ca.SX(0) if system.load is None else system.load
    start = None if system.reactions is None else ca.vertcat(ca.SX.zeros(n), *[load] * m)
    if system.dependent_rows:
        compliance = ca.vertcat(ca.SX.zeros(n), modes.activity * ca.SX(list(system.dependent_rows)))
        dynamics = compliant(f"{system.name}_dynamics", arguments, matrix, side, z, outputs, compliance, solver)
    else:
        dynamics = LinearSolveProgram.build(f"{system.name}_dynamics", arguments, matrix, side, z, outputs, solver, start)
        dynamics = replace(dynamics, condensed=_condensed(system, rows, stabilization, arguments, dynamics))
    constraints = _constraints(system, rows)
    report = _report(system, rows, arguments, z, constraints, done)
    units = {c.name: reaction_unit(c.unit) if c.unit else "" for c in constraints}
    return Equations(
        name=system.name,
        coordinates=system.coordinates,
        velocities=system.velocities,
        independent=tuple(v.name for v in system.velocities),
        inputs=system.inputs,
        parameters=system.parameters[: len(system.parameters) - modes.entries],
        mode_parameters=system.parameters[len(system.parameters) - modes.entries :],
        dependent_parameters=system.dependent_parameters,
        multipliers=tuple(Quantity(f"{name}_multiplier", units[name]) for name in rows.names),
        outputs=tuple(q for q, _ in system.outputs),
        force_outputs=frozenset(q.name for q, _ in system.outputs) - {q.name for q, _ in system.motion_outputs},
        constraints=constraints,
        dynamics=dynamics,
        report=replace(dynamics, name=f"{system.name}_report", after=report),
        motion=_motion(system, rows, constraints),
        project=_project(system, rows, modes, arguments, x, labels, solver),
        monitor=_monitor(system, rows, arguments),
        limits=RunLimits(condition=SWITCH),
        events=_events(system, arguments),
        event_list=tuple(event for event, _ in system.events),
        extra_states=extra,
        unilateral=tuple(
            Unilateral(
                c.name,
                -1 if c.normal is None else c.normal,
                c.tangential[0] if c.tangential else 0,
                len(c.tangential),
                c.impact,
                c.stands,
                c.unit,
                c.sequential,
                c.bounded,
                -1 if c.host is None else c.host,
                c.without_collision,
                tuple(system.dependent_rows[row] for row in c.rows) if system.dependent_rows else (),
            )
            for c in system.contacts
        ),
        contact_margins=_margins(dynamics, modes, arguments, z, n) if system.contacts else None,
        contact_terms=_terms(system, rows, _parts(z, n)[1], arguments) if system.contacts else None,
        contact_system=_contact_system(system, rows, stabilization, arguments) if system.contacts else None,
    )


def _margins(dynamics: LinearSolveProgram, modes: ModeRows, arguments: Slots, z: ca.SX, n: int) -> LinearSolveProgram:
    """Margins of the modes of contacts; they need the forces."""
    after = Program.build("margins", {**arguments, "z": z}, {"margins": modes.margins(_parts(z, n)[1])})
    return replace(dynamics, name=dynamics.name.replace("_dynamics", "_margins"), after=after)


def _terms(system: SecondOrder, rows: _Rows, multipliers: ca.SX, arguments: Slots) -> Program:
    """What changes of modes need: M v̇ = F + Aᵀλ with A v̇ + b, the rows' speeds, gaps and coefficients. Masses and forces are
    those of `_contact_system`, rounding errors included: a force that vanishes there has vanished here."""
    contacts = system.contacts
    mass, (force,) = system.short[0], with_reactions(system, multipliers, [system.short[1]])
    return Program.build(
        f"{system.name}_contact_terms",
        arguments,
        {
            "mass": ca.densify(mass),
            "force": ca.densify(force),
            "rows": ca.densify(rows.matrix.T),  # one row after the other
            "bias": ca.densify(rows.bias),
            "speed": rows.velocity,
            "gap": ca.vertcat(*[c.gap for c in contacts]),
            # −1 stands for infinite friction
            "coefficients": ca.vertcat(*[-1 if e is None else e for c in contacts for e in (c.static, c.kinetic, c.restitution)]),
            "landing": ca.vertcat(*[e for c in contacts for e in (c.tangential_restitution, c.lands, c.across_scale, c.size)]),
        },
    )


def _contact_system(system: SecondOrder, rows: _Rows, stabilization: Baumgarte | None, arguments: Slots) -> Program | None:
    """What an evaluation of the dynamics in any mode needs (`contact_forces`); None where accelerations are not eliminated."""
    contacts, m = system.contacts, len(rows.names)
    values = (np.zeros(1), *(np.array([q.default for q in listed]) for listed in (system.coordinates, system.parameters)))
    if system.reactions is not None or stabilization is not None or not system.surplus.is_zero():
        return None
    mass, force = system.short
    if not has_factors(mass, (system.t, system.q, system.p), values):
        return None
    factors, matrix = MassFactors(mass), ca.densify(rows.matrix)
    friction = ca.SX.zeros(m)
    for c in contacts:
        for row, d in zip(c.tangential, c.slip_direction, strict=True):
            friction[row] = 0 if c.kinetic is None else c.kinetic * d
    return Program.build(
        f"{system.name}_contact_system",
        arguments,
        {
            "rates": ca.densify(ca.vertcat(system.q_rate, ca.dot(system.driven, system.v) + _power_of_time(system))),
            "lower": factors.lower,
            "inverse": factors.inverse,
            "load": factors.solved(force),
            "columns": ca.densify(ca.vertcat(*[factors.solved(matrix[i, :].T) for i in range(m)])),
            "side": ca.densify(-rows.bias),
            "speed": rows.velocity,
            "drift": ca.densify(rows.driven_by(system)),
            "friction": friction,
            # of a closed contact with a part of a ground profile: what is left of that part
            "gap": ca.vertcat(*[c.closed * c.lands + (1 - c.closed) * c.gap if c.bounded else c.gap for c in contacts]),
            "forward": ca.vertcat(*[c.forward + c.backward for c in contacts]),
            "static": ca.vertcat(*[ca.SX(-1) if c.static is None else c.static for c in contacts]),
            "compliance": ca.SX(list(system.dependent_rows)) if system.dependent_rows else ca.SX.zeros(m),
        },
    )


_MOST_CONDENSED = 6  # rows, of whose multipliers Newton's method is short


def _condensed(
    system: SecondOrder, rows: _Rows, stabilization: Baumgarte | None, arguments: Slots, dynamics: LinearSolveProgram
) -> Condensed | None:
    """Newton's method for λ alone where forces depend on it: v̇ = M⁻¹ (F(λ) + Aᵀλ), and A M⁻¹ (F(λ) + Aᵀλ) is the right side.

    With F = F₀ + B f(λ), A M⁻¹ B does not depend on λ and is computed before the iteration. The last iteration has f and its
    slope at an estimate so close that both give f of the solution, to rounding."""
    m = len(rows.names)
    if not dynamics.iterates or system.contacts or system.dependent_rows or m > _MOST_CONDENSED or system.load is None:
        return None
    values = (np.zeros(1), *(np.array([q.default for q in listed]) for listed in (system.coordinates, system.parameters)))
    if not has_factors(system.mass, (system.t, system.q, system.p), values):
        return None
    factors, matrix, z, solution = MassFactors(system.mass), ca.densify(rows.matrix), ca.SX.sym("z", m), ca.SX.sym("solution", m)
    (force,) = with_reactions(system, z, [system.force])
    weights = ca.horzcat(*[factors.solution(matrix[i, :].T) for i in range(m)]).T  # A M⁻¹
    whole = ca.SX.sym("force", force.numel())
    parts = linear_parts(force, z) or LinearParts(whole, whole, force)
    slope, weighed = ca.jacobian(parts.scalars, z), parts.weighed(weights)
    if not ca.depends_on(slope, z):  # a linear system, without iterations
        return None
    assert system.reactions is not None  # on which forces depend
    sharing = sum(ca.which_depends(system.force, system.reactions, 1, False))
    start = ca.vertcat(*[system.load / max(sharing, 1)] * m)
    without = parts.at(ca.SX.zeros(parts.symbols.numel()))
    side = rows.side(stabilization) - weights @ without - weighed @ (parts.scalars - slope @ z)
    near = parts.at(parts.scalars + slope @ (solution - z))
    unknowns = ca.vertcat(factors.solution(near + matrix.T @ solution), solution)
    name = f"{dynamics.name}_short"
    return Condensed(
        dynamics.system.digest,
        Program.build(
            f"{name}_system", {**arguments, "z": z}, {"entries": ca.densify(weights @ matrix.T + weighed @ slope), "side": side}
        ),
        Program.build(f"{name}_start", arguments, {"z": start}),
        Program.build(name, {**arguments, "z": z, "solution": solution}, {"all": ca.densify(unknowns)}),
    )


def does_work(system: SecondOrder, inputs: bool = False) -> bool:
    """Whether the energy may change: by driven forces (with `inputs`, also those that are zero without inputs), by constraints,
    potentials and masses that depend on time."""
    driven = system.driven if inputs else ca.substitute(system.driven, system.u, ca.SX.zeros(system.u.numel()))
    parts = ca.densify(ca.veccat(driven, _Rows(system).driven_by(system), _power_of_time(system), system.surplus))
    if all(parts[i].is_zero() for i in range(parts.numel())):
        return False
    return not _vanishes(parts, ca.gradient(system.potential, system.q))


def _vanishes(parts: ca.SX, scale: ca.SX) -> bool:
    """Whether expressions are zero at random values of all symbols: loads and the potential that replaces them cancel, though
    their formulas do not."""
    symbols = ca.symvar(ca.veccat(parts, scale))
    function = ca.Function("parts", symbols, [parts, ca.veccat(scale, 1.0)])
    rng = np.random.default_rng(1788)
    for _ in range(_TRIED):
        drawn = [ca.DM(value) for value in rng.uniform(0.3, 1.3, len(symbols)).tolist()]
        values, sizes = (result.full().ravel() for result in function.call(drawn))
        if not np.abs(values).max() <= _CANCELED * np.abs(sizes).max():
            return False
    return True


def _power_of_time(system: SecondOrder) -> ca.SX:
    """Power of what depends on time in the energies: a spring with a driven rest length, a moving support."""
    return ca.jacobian(system.potential, system.t) if system.by_time is None else system.by_time


def _stabilized_rates(system: SecondOrder, stabilization: Baumgarte | None) -> ca.SX:
    """q̇ − γ Jᵀ(J Jᵀ)⁻¹ f for the invariants f, which have no reactions to stabilize them."""
    if stabilization is None or not system.invariants:
        return system.q_rate
    errors = ca.vertcat(*[f for _, f in system.invariants])
    lean = ca.densify(ca.jacobian(errors, system.q))
    return system.q_rate - stabilization.numbers[2] * (lean.T @ ca.solve(lean @ lean.T, errors))


def with_reactions(system: SecondOrder, multipliers: ca.SX, expressions: list[ca.SX]) -> list[ca.SX]:
    """Expressions with the solved multipliers substituted for the reactions on which they depend."""
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
    work = [done] if done.numel() else [] if does_work(system) else [ca.SX(0)]  # zero only where nothing but inputs does any
    return Program.build(
        f"{system.name}_reported",
        {**arguments, "z": z},
        {
            "v": (system.v, velocities),
            "vdot": (z[:n], [f"d{name}/dt" for name in velocities]),
            "multipliers": (_parts(z, n)[1], [f"{name}_multiplier" for name in rows.names]),
            "outputs": (_with_accelerations(system, z[:n]), [q.name for q, _ in system.outputs]),
            "energy": (ca.vertcat(system.kinetic, system.potential, *work), ENERGIES[: 2 + len(work)]),
            "residuals": (ca.vertcat(rows.all_positions, rows.velocity), [f"{c.name}_{c.level}" for c in constraints]),
            "power": (ca.densify(power), [f"{u.name}_power" for u in system.inputs]),
            "inputs": (system.u, [u.name for u in system.inputs]),
        },
    )


def _with_accelerations(system: SecondOrder, solved: ca.SX) -> ca.SX:
    """Outputs with the solved accelerations."""
    found = ca.vertcat(*[e for _, e in system.outputs])
    return found if system.accelerations is None else ca.substitute(found, system.accelerations, solved)


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
            "outputs": (ca.vertcat(*[e for _, e in system.motion_outputs]), [q.name for q, _ in system.motion_outputs]),
        },
    )


def _project(
    system: SecondOrder, rows: _Rows, modes: ModeRows, arguments: Slots, x: ca.SX, labels: Sequence[str], solver: Solver
) -> LinearSolveProgram | None:
    """One least-norm Newton step onto the position constraints, and the nearest velocities on the velocity constraints."""
    if not rows.names and not system.invariants:
        return None
    # rows of open contacts have no effect
    active = ca.vertcat(_parts(modes.activity, rows.holonomic_count)[0], ca.SX.ones(len(system.invariants)))
    lean, along = ca.diag(active) @ ca.jacobian(rows.all_positions, system.q), ca.diag(modes.activity) @ rows.matrix
    side = ca.vertcat(active * rows.all_positions, modes.activity * rows.velocity)
    error = ca.norm_inf(ca.vertcat(side, *system.monitored))
    places = _places(system, rows)
    if places is not None:
        following, along, speeds = places.eliminated(along, modes.activity * rows.velocity)
        side = ca.vertcat(active * rows.all_positions, speeds)
    matrix = ca.diagcat(lean @ lean.T, along @ along.T)
    if system.contacts:
        used = modes.activity if places is None else modes.activity * places.others
        matrix += ca.diag(1 - ca.vertcat(active, used) + (PROJECTED if system.dependent_rows else 0))
    z = ca.SX.sym("z", side.numel())
    positions, velocities = _parts(z, rows.all_positions.numel())
    v_new = system.v - along.T @ velocities
    if places is not None:
        v_new += following(v_new)
    moved = ca.vertcat(system.q - lean.T @ positions, v_new)
    rest = _parts(x, moved.numel())[1]
    outputs: Slots = {"x_new": (ca.vertcat(moved, rest), labels), "error": (error, ["error"])}
    return LinearSolveProgram.build(f"{system.name}_project", arguments, matrix, side, z, outputs, solver)


@dataclass(frozen=True, eq=False)
class _Places:
    """Velocities without inertia, w (of contact places on curved ground), and the permanent rows T_w w + T_v v + t₀ = 0 that
    determine them. They follow from the other velocities and jump with the curvature; a projection that measured them with the
    others would let the others jump, too."""

    system: SecondOrder
    rows: _Rows
    own: tuple[int, ...]  # velocities
    blocks: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]  # rows, and the velocities that they determine

    @property
    def others(self) -> ca.SX:
        """1 for rows of the other velocities, 0 for those of places."""
        determining = {row for rows, _ in self.blocks for row in rows}
        return ca.SX([float(row not in determining) for row in range(len(self.rows.names))])

    def eliminated(self, along: ca.SX, speeds: ca.SX) -> tuple[Callable[[ca.SX], ca.SX], ca.SX, ca.SX]:
        """The change of places that follows other velocities; the other rows by the other velocities, and their values there."""
        n = self.system.v.numel()
        shift, by_others = ca.SX(n, 1), ca.SX(n, n)  # of w at v, and by changes of the others
        still = ca.diag(ca.SX([float(j not in self.own) for j in range(n)]))
        for rows, columns in self.blocks:
            block, k, i = self.rows.matrix[list(rows), :], list(columns), list(rows)
            inverse = ca.inv_minor(ca.densify(block[:, k]))
            shift[k] = -(inverse @ self.rows.velocity[i])
            by_others[k, :] = -(inverse @ (block @ still))
        change = ca.sparsify(still + by_others)
        kept = ca.diag(self.others)

        def following(v_new: ca.SX) -> ca.SX:
            return shift + by_others @ (v_new - self.system.v)

        return following, ca.sparsify(kept @ along @ change), kept @ (speeds + along @ shift)


def _places(system: SecondOrder, rows: _Rows) -> _Places | None:
    """Velocities without inertia that permanent rows determine, in blocks; None where there are none or it is otherwise."""
    mass, own = ca.sparsify(system.mass), list[int]()
    if system.contacts:
        used = {*mass.sparsity().row(), *mass.sparsity().get_col()}
        own = [j for j in range(system.v.numel()) if j not in used]
    of_contacts = {row for c in system.contacts for row in c.rows}
    pattern = rows.matrix.sparsity()
    pairs = [(i, j) for i, j in zip(pattern.row(), pattern.get_col(), strict=True) if j in own and i not in of_contacts]
    blocks = list[tuple[set[int], set[int]]]()
    for i, j in pairs:
        joined = [b for b in blocks if i in b[0] or j in b[1]]
        blocks = [b for b in blocks if b not in joined]
        blocks.append(({i}.union(*(b[0] for b in joined)), {j}.union(*(b[1] for b in joined))))
    if not own or {j for _, columns in blocks for j in columns} != set(own):
        return None
    if any(len(i) != len(j) or len(i) > _LARGEST_BLOCK for i, j in blocks):
        return None
    return _Places(system, rows, tuple(own), tuple((tuple(sorted(i)), tuple(sorted(j))) for i, j in blocks))


def _monitor(system: SecondOrder, rows: _Rows, arguments: Slots) -> Program | None:
    """How close the holonomic constraints are to a loss of rank, relative to configurations near the defaults."""
    if not rows.holonomic_count:
        return None
    rng = np.random.default_rng(1799)
    defaults = np.array([c.default for c in system.coordinates])
    values = np.array([p.default for p in system.parameters])
    points = [defaults + rng.uniform(-0.3, 0.3, defaults.size) for _ in range(_SAMPLED)]

    def at_samples(matrix: ca.SX) -> NDArray[np.float64]:
        function = ca.Function("sampled", [system.t, system.q, system.p], [ca.densify(matrix)])
        return np.array([evaluate(function, (0.0, q, values))[0] for q in points])

    condition = row_condition(rows.matrix[: rows.holonomic_count, :], at_samples)
    if condition is None:
        return None
    return Program.build(f"{system.name}_monitor", arguments, {"condition": (condition, ["condition"])})


def _events(system: SecondOrder, arguments: Slots) -> Program | None:
    if not system.events:
        return None
    values = ca.vertcat(*[expression for _, expression in system.events])
    return Program.build(f"{system.name}_events", arguments, {"value": (values, [event.name for event, _ in system.events])})
