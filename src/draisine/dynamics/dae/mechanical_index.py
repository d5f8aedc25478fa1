"""The index of a mechanism with multipliers, from its structure, verified numerically at admissible configurations.

    q̇ = N v + n₀,   M v̇ = F + Wᵀλ,   f(q, t) = 0,   g(q, v, t) = 0,        W = (∂f/∂q N; ∂g/∂v)

Where [M −Wᵀ; W 0] has an inverse, f differentiated twice and g differentiated once give v̇ and λ; one differentiation more gives
the rate of λ. The differential index is then 3 if there is a position constraint, 2 if there are only constraints of velocity,
and the perturbation index is the same (Hairer & Wanner II, VII.1). Redundant constraints are left out first: no
differentiation determines their forces. With a singular M the matrix may still be regular; the balance 0 = Zᵀ(F + Wᵀλ), M Z = 0,
then gives some forces without differentiation, and if it gives all of them the index is lower. In that case, and where the matrix
is singular, derivative arrays are used (`index_of`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.augmented.second_order import SecondOrder
from draisine.dynamics.constraints.constraint_manifold import ConstraintManifold
from draisine.dynamics.constraints.redundancy import select_rows
from draisine.dynamics.dae.index_report import IndexReport, Step
from draisine.dynamics.dae.prolongation import full_signature
from draisine.dynamics.dae.signature_method import offsets
from draisine.errors import ModelError
from draisine.numerics.rank import condition_share, equilibrate, null_space
from draisine.program.equations import Equations, Quantity
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program
from draisine.program.shared_expressions import jacobian

Array = NDArray[np.float64]

REGULAR = 1e-9  # smallest singular value of a regular scaled matrix, as a fraction of the largest


@dataclass(frozen=True)
class PosedConstraints:
    """Independent constraints of a mechanism."""

    position: tuple[int, ...]  # indices among the position constraints
    velocity: tuple[int, ...]  # indices among the velocity constraints that no position constraint implies
    redundant: tuple[str, ...]  # names of redundant constraints


@dataclass(frozen=True)
class Mechanics:
    """A mechanism as a DAE: holonomic constraints at position level, others at velocity level."""

    constrained: ConstraintManifold
    chosen: PosedConstraints
    system: SecondOrder
    margins: tuple[float, ...]  # smallest relative singular value of [M −Wᵀ; W 0] at the state and other configurations

    @property
    def regular(self) -> bool:
        """Whether masses and constraints determine the accelerations at some configuration."""
        return max(self.margins, default=0.0) > REGULAR

    @cached_property
    def index(self) -> int | None:
        """The index of a regular mechanism; None where it does not follow from these matrices.

        With Z the massless directions, ZᵀWᵀλ = −ZᵀF. Where some λ is not determined by it, forces follow from constraints that
        have been differentiated twice (position) or once (velocity). Where all are, no constraint moves a mass: the contact point
        of a tire on curved ground. Then W Z is square, and the constraints give the massless velocities.
        """
        s, chosen = self.system, self.chosen
        if not self.regular:
            return None
        open_ = self._undetermined_forces() if chosen.position or chosen.velocity else np.zeros((0, 0))
        if not open_.shape[1]:
            return 2 if chosen.position else 1 if chosen.velocity else 0
        deciding = open_[: len(s.holonomic)] if s.holonomic else open_
        return (3 if s.holonomic else 2) if np.abs(deciding).max(initial=0.0) > REGULAR else None

    def _undetermined_forces(self) -> Array:
        """λ with ZᵀWᵀλ = 0, as columns."""
        s, m = self.system, self.constrained
        holonomic = jacobian(s.rate(ca.vertcat(*[f for _, f in s.holonomic])), s.v) if s.holonomic else ca.SX(0, s.v.numel())
        nonholonomic = jacobian(ca.vertcat(*[g for _, g in s.nonholonomic]), s.v) if s.nonholonomic else ca.SX(0, s.v.numel())
        parts = ca.Function("parts", [s.t, s.q, s.u, s.p], [ca.densify(e) for e in (s.mass, ca.vertcat(holonomic, nonholonomic))])
        mass, rows = (part.full() for part in parts(m.time, m.generic, m.motion.u, m.motion.p))
        sizes = np.sqrt(np.abs(np.diag(mass)))
        sizes[sizes == 0.0] = 1.0
        light = null_space(mass / np.outer(sizes, sizes)) / sizes[:, None]
        return null_space((rows @ light).T)

    def report(self) -> IndexReport:
        """The report of a mechanism whose index is known."""
        assert self.index is not None
        return _report(self.constrained, self.system, self.chosen, self.margins, self.index)


def mechanics_of(mechanism: ConstraintManifold) -> Mechanics:
    """Masses, forces and independent constraints of a mechanism, and their regularity."""
    if mechanism.unreduced is None or not isinstance(mechanism.unreduced.dynamics, LinearSolveProgram):
        raise ModelError(
            "masses and constraints cannot be recovered from equations whose velocities have been eliminated; pass the model "
            "from which they were derived"
        )
    chosen = _chosen(mechanism)
    system = _system(mechanism, mechanism.unreduced.dynamics, chosen)
    return Mechanics(mechanism, chosen, system, tuple(_margins(mechanism, mechanism.unreduced, mechanism.unreduced.dynamics)))


def _chosen(mechanism: ConstraintManifold) -> PosedConstraints:
    """Independent position constraints first; then velocity constraints independent of these."""
    if not mechanism.samples:
        return PosedConstraints((), tuple(range(len(mechanism.row_names))), ())
    holonomic = np.array([mechanism.position_rows(s) for s in mechanism.samples])
    position = select_rows(holonomic).kept
    both = np.concatenate([holonomic[:, list(position)], np.array([s.rows for s in mechanism.samples])], axis=1)
    kept = select_rows(both, range(len(position))).kept
    velocity = tuple(i - len(position) for i in kept if i >= len(position))
    spare = tuple(mechanism.position_names[k] for i, k in enumerate(mechanism.holonomic) if i not in position)
    repeated = tuple(mechanism.row_names[s.row] for s in mechanism.selection.redundant)
    return PosedConstraints(tuple(mechanism.holonomic[i] for i in position), velocity, tuple(dict.fromkeys((*spare, *repeated))))


def _system(mechanism: ConstraintManifold, dynamics: LinearSolveProgram, chosen: PosedConstraints) -> SecondOrder:
    """Masses and forces extracted from the equations, with the chosen constraints."""
    e, unreduced = mechanism.equations, mechanism.unreduced
    assert unreduced is not None
    n = len(unreduced.velocities)
    x = ca.vertcat(mechanism.q, mechanism.v, ca.SX.zeros(len(unreduced.extra_states)))
    matrix, side = dynamics.linear([mechanism.t, x, mechanism.u, mechanism.p], ca.SX.zeros(dynamics.size))
    rates = mechanism.rows @ mechanism.v + mechanism.drift
    return SecondOrder(
        name=e.name,
        t=mechanism.t,
        q=mechanism.q,
        v=mechanism.v,
        u=mechanism.u,
        p=mechanism.p,
        coordinates=e.coordinates,
        velocities=unreduced.velocities,
        inputs=e.inputs,
        parameters=e.parameters,
        q_rate=dynamics.after.function.call([mechanism.t, x, mechanism.u, mechanism.p, ca.SX.zeros(dynamics.size)])[0][
            : len(e.coordinates)
        ],
        mass=ca.sparsify(matrix[:n, :n]),
        force=side[:n],
        driven=ca.SX.zeros(n),
        kinetic=ca.SX(0),
        potential=ca.SX(0),
        holonomic=[(mechanism.position_names[k], mechanism.position_residuals[k]) for k in chosen.position],
        nonholonomic=[(mechanism.row_names[k], rates[k]) for k in chosen.velocity],
    )


def _margins(mechanism: ConstraintManifold, unreduced: Equations, dynamics: LinearSolveProgram) -> list[float]:
    """Smallest singular value of [M −Wᵀ; W 0], scaled, as a fraction of the largest, at the state and other configurations. Where
    forces depend on multipliers, their derivatives are part of the matrix."""
    motion, found = mechanism.motion, []
    rest = np.zeros(len(unreduced.extra_states))
    for q in mechanism.configurations:
        sample = mechanism.sample_at(q)
        if not sample.finite:
            continue
        moved = np.linalg.lstsq(sample.rows, -sample.rows @ mechanism.velocity_values - sample.drift, rcond=1e-9)[0]
        matrix = dynamics.matrix_at(
            [mechanism.time], np.concatenate([q, mechanism.velocity_values + moved, rest]), motion.u, motion.p
        )
        if matrix.size and np.isfinite(matrix).all():
            found.append(condition_share(equilibrate(matrix)[0]))
    return found


def _structural(system: SecondOrder) -> int:
    """Structural index of the DAE by the Σ-method."""
    names = [name for name, _ in (*system.holonomic, *system.nonholonomic)]
    forces = ca.SX.sym("multipliers", len(names))
    unknowns = ca.vertcat(system.q, system.v, forces)
    rate = ca.SX.sym("rate", unknowns.numel())
    nq, nv = system.q.numel(), system.v.numel()
    position = ca.vertcat(*[f for _, f in system.holonomic]) if system.holonomic else ca.SX(0, 1)
    velocity = ca.vertcat(*[g for _, g in system.nonholonomic]) if system.nonholonomic else ca.SX(0, 1)
    rows = ca.vertcat(jacobian(system.rate(position), system.v), jacobian(velocity, system.v))
    balance = system.mass @ rate[nq : nq + nv] - system.force - rows.T @ forces
    residual = ca.vertcat(rate[:nq] - system.q_rate, balance, position, velocity)
    slots = {"t": system.t, "x": unknowns, "xdot": rate, "u": system.u, "p": system.p}
    dynamics = DaeResidual(system.name, Program.build("posed", slots, {"residual": residual}))
    labels = [str(i) for i in range(unknowns.numel())]
    return offsets(full_signature(dynamics), labels, labels, system.name).index


def _report(
    mechanism: ConstraintManifold, system: SecondOrder, chosen: PosedConstraints, margins: Sequence[float], index: int
) -> IndexReport:
    holonomic, nonholonomic = ([name for name, _ in part] for part in (system.holonomic, system.nonholonomic))
    unknowns = {c.name: 1 for c in system.coordinates} | {v.name: 2 if holonomic else 1 for v in system.velocities}
    unknowns |= {f"{name}_multiplier": 3 if holonomic else 2 for name in (*holonomic, *nonholonomic)}
    freedoms = (
        mechanism.directions + len(mechanism.lags) - len(holonomic) + len(system.velocities) - len(holonomic) - len(nonholonomic)
    )
    structural = _structural(system)
    light = index < (3 if holonomic else 2)
    return IndexReport(
        name=system.name,
        structural=structural,
        differential=index,
        perturbation=index,
        freedoms=freedoms,
        unknowns=unknowns,
        steps=tuple(_steps(system.velocities, holonomic, nonholonomic, light)),
        rounds=(),
        elsewhere=(),
        point=dict(zip((c.name for c in system.coordinates), mechanism.configuration.tolist(), strict=True)),
        margin=(min(margins), 0.0) if margins else None,
        sentences=tuple(
            _sentences(structural, index, chosen, len(margins), holonomic, nonholonomic, freedoms, len(unknowns), margins)
        ),
    )


def _steps(velocities: Sequence[Quantity], holonomic: Sequence[str], nonholonomic: Sequence[str], light: bool) -> list[Step]:
    """The differentiations of each constraint and their results; `light` if they give velocities without mass, and no forces."""
    speeds = tuple(v.name for v in velocities)
    balances = tuple(f"{name}_balance" for name in speeds)
    made = []
    for name in holonomic:
        last = Step(name, 2, (), speeds) if light else Step(name, 2, (), (f"{name}_multiplier",), speeds, balances)
        made += [Step(name, 0, ()), Step(name, 1, speeds), last]
    for name in nonholonomic:
        last = Step(name, 1, (), speeds) if light else Step(name, 1, (), (f"{name}_multiplier",), speeds, balances)
        made += [Step(name, 0, speeds), last]
    return made


def _sentences(
    structural: int,
    index: int,
    chosen: PosedConstraints,
    configurations: int,
    holonomic: Sequence[str],
    nonholonomic: Sequence[str],
    freedoms: int,
    unknowns: int,
    margins: Sequence[float],
) -> list[str]:
    if index == 0:
        return [f"ODE M v̇ = F: structural index {structural}, differential index 0, no differentiation is needed"]
    where = "the state" if configurations == 1 else f"{configurations} admissible configurations"
    sentences = [
        f"DAE with multipliers: structural index {structural} (Σ-method), differential index {index} (ranks at {where}), "
        f"perturbation index {index} (disturbances enter by derivatives up to order {index - 1})"
    ]
    if index < (3 if holonomic else 2):
        sentences.append(
            f"{_listed([*holonomic, *nonholonomic])}: conditions on directions without mass, whose balance gives the "
            f"multipliers; the {'first derivative' if holonomic else 'condition itself'} gives the velocities along them"
        )
    elif holonomic:
        sentences.append(
            f"{_listed(holonomic)}: the first derivative is a hidden condition on velocities, the second gives accelerations and "
            "multipliers, the third their rates"
        )
    if nonholonomic and index >= (3 if holonomic else 2):
        sentences.append(
            f"{_listed(nonholonomic)}: a condition on velocities; the first derivative gives accelerations and multipliers, the "
            "second their rates"
        )
    if chosen.redundant:
        sentences.append(f"left out as redundant: {_listed(chosen.redundant)}; their forces are not unique")
    if margins and margins[0] <= REGULAR:
        sentences.append("at the state itself masses and constraints do not determine the accelerations: it is singular")
    return [*sentences, f"{freedoms} of {unknowns} unknowns may be chosen at a start"]


def _listed(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names) if len(names) <= most else f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
