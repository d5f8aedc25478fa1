"""The index of a mechanism posed with multipliers, by what is known of such systems, checked by numbers at admissible places.

    q̇ = N v + n₀,   M v̇ = F + Wᵀλ,   f(q, t) = 0,   g(q, v, t) = 0,        W = (∂f/∂q N; ∂g/∂v)

Where [M −Wᵀ; W 0] has an inverse, f differentiated twice and g differentiated once give v̇ and λ; one differentiation more gives
the rate of λ. The differential index is then 3 if there is a position constraint, 2 if there are only constraints of velocity,
and the perturbation index is the same (Hairer & Wanner II, VII.1). Constraints that repeat others are left out first: no
differentiation ever determines how they share their force. What has no mass may have an inverse all the same; its balance
0 = Zᵀ(F + Wᵀλ), M Z = 0, then gives some forces without any differentiation, and if it gives all of them the index is lower.
There, and where the matrix is singular, derivative arrays decide (`report.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.augmented.second_order_system import SecondOrder
from draisine.dynamics.constraints.constraint_manifold import Constrained
from draisine.dynamics.constraints.redundancy import select_rows
from draisine.dynamics.dae.index_report import IndexReport, Step
from draisine.dynamics.dae.prolongation import full_signature
from draisine.dynamics.dae.signature_method import offsets
from draisine.errors import ModelError
from draisine.numerics.rank import condition_share, equilibrate, null_space
from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Equations, Quantity
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program

Array = NDArray[np.float64]

REGULAR = 1e-9  # smallest singular value of the scaled matrix, as a fraction of the largest, from which it has an inverse


@dataclass(frozen=True)
class Posed:
    """Constraints with which a mechanism is posed, none of which repeats another."""

    position: tuple[int, ...]  # places among the position constraints
    velocity: tuple[int, ...]  # places among the velocity constraints: those that no position constraint implies
    unposed: tuple[str, ...]  # names of those left out since they repeat others

    @property
    def index(self) -> int:
        return 3 if self.position else 2 if self.velocity else 0


@dataclass(frozen=True)
class Mechanics:
    """A mechanism as a person would pose it: position constraints as such, other constraints at velocity level."""

    constrained: Constrained
    chosen: Posed
    system: SecondOrder
    margins: tuple[float, ...]  # how regular [M −Wᵀ; W 0] is at the state and other places

    @property
    def regular(self) -> bool:
        """Whether masses and constraints determine the accelerations, at one place at least, and these the forces."""
        return max(self.margins, default=0.0) > REGULAR and self._forces_stay_open

    @property
    def _forces_stay_open(self) -> bool:
        """Whether what has no mass leaves a force open of those constraints that make the index: λ ≠ 0 there with ZᵀWᵀλ = 0."""
        s, m = self.system, self.constrained
        if not self.chosen.index:
            return True
        held = ca.jacobian(s.rate(ca.vertcat(*[f for _, f in s.holonomic])), s.v) if s.holonomic else ca.SX(0, s.v.numel())
        free = ca.jacobian(ca.vertcat(*[g for _, g in s.nonholonomic]), s.v) if s.nonholonomic else ca.SX(0, s.v.numel())
        parts = ca.Function("parts", [s.t, s.q, s.u, s.p], [ca.densify(e) for e in (s.mass, ca.vertcat(held, free))])
        mass, rows = (part.full() for part in parts(m.time, m.generic, m.motion.u, m.motion.p))
        sizes = np.sqrt(np.abs(np.diag(mass)))
        sizes[sizes == 0.0] = 1.0
        light = null_space(mass / np.outer(sizes, sizes)) / sizes[:, None]
        open_ = null_space((rows @ light).T)
        deciding = open_[: len(s.holonomic)] if s.holonomic else open_
        return bool(np.abs(deciding).max(initial=0.0) > REGULAR)

    def report(self) -> IndexReport:
        """The index, where they do."""
        return _report(self.constrained, self.system, self.chosen, self.margins)


def mechanics_of(mechanism: Constrained) -> Mechanics:
    """Masses, forces and independent constraints of a mechanism, and how regular they are."""
    if mechanism.whole is None or not isinstance(mechanism.whole.dynamics, LinearSolveProgram):
        raise ModelError(
            "masses and constraints cannot be told from equations whose velocities have been eliminated; pass the model from "
            "which they were derived"
        )
    chosen = _chosen(mechanism)
    system = _system(mechanism, mechanism.whole.dynamics, chosen)
    return Mechanics(mechanism, chosen, system, tuple(_margins(mechanism, mechanism.whole, mechanism.whole.dynamics)))


def _chosen(mechanism: Constrained) -> Posed:
    """Position constraints first; then velocity constraints that say more than these."""
    if not mechanism.sights:
        return Posed((), tuple(range(len(mechanism.row_names))), ())
    held = np.array([mechanism.held_rows(s) for s in mechanism.sights])
    position = select_rows(held).kept
    both = np.concatenate([held[:, list(position)], np.array([s.rows for s in mechanism.sights])], axis=1)
    kept = select_rows(both, range(len(position))).kept
    velocity = tuple(i - len(position) for i in kept if i >= len(position))
    spare = tuple(mechanism.gap_names[k] for i, k in enumerate(mechanism.held) if i not in position)
    repeated = tuple(mechanism.row_names[s.row] for s in mechanism.selection.redundant)
    return Posed(tuple(mechanism.held[i] for i in position), velocity, tuple(dict.fromkeys((*spare, *repeated))))


def _system(mechanism: Constrained, dynamics: LinearSolveProgram, chosen: Posed) -> SecondOrder:
    """Masses and forces read off the equations, with the chosen constraints."""
    e, whole = mechanism.equations, mechanism.whole
    assert whole is not None
    n = len(whole.velocities)
    x = ca.vertcat(mechanism.q, mechanism.v, ca.SX.zeros(len(whole.extra_states)))
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
        velocities=whole.velocities,
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
        holonomic=[(mechanism.gap_names[k], mechanism.gaps[k]) for k in chosen.position],
        nonholonomic=[(mechanism.row_names[k], rates[k]) for k in chosen.velocity],
    )


def _margins(mechanism: Constrained, whole: Equations, dynamics: LinearSolveProgram) -> list[float]:
    """Smallest singular value of [M −Wᵀ; W 0], scaled, as a fraction of the largest, at the state and other places. Where forces
    depend on multipliers, their slopes are part of the matrix."""
    motion, found = mechanism.motion, []
    rest = np.zeros(len(whole.extra_states))
    for q in mechanism.places:
        sight = mechanism.look(q)
        if not sight.finite:
            continue
        moved = np.linalg.lstsq(sight.rows, -sight.rows @ mechanism.speeds - sight.drift, rcond=1e-9)[0]
        matrix = dynamics.matrix_at([mechanism.time], np.concatenate([q, mechanism.speeds + moved, rest]), motion.u, motion.p)
        if matrix.size and np.isfinite(matrix).all():
            found.append(condition_share(equilibrate(matrix)[0]))
    return found


def _structural(system: SecondOrder) -> int:
    """By the Σ-method, on the equations as they are posed."""
    names = [name for name, _ in (*system.holonomic, *system.nonholonomic)]
    forces = ca.SX.sym("multipliers", len(names))
    unknowns = ca.vertcat(system.q, system.v, forces)
    rate = ca.SX.sym("rate", unknowns.numel())
    nq, nv = system.q.numel(), system.v.numel()
    position = ca.vertcat(*[f for _, f in system.holonomic]) if system.holonomic else ca.SX(0, 1)
    velocity = ca.vertcat(*[g for _, g in system.nonholonomic]) if system.nonholonomic else ca.SX(0, 1)
    rows = ca.vertcat(ca.jacobian(system.rate(position), system.v), ca.jacobian(velocity, system.v))
    balance = system.mass @ rate[nq : nq + nv] - system.force - rows.T @ forces
    residual = ca.vertcat(rate[:nq] - system.q_rate, balance, position, velocity)
    slots = {"t": system.t, "x": unknowns, "xdot": rate, "u": system.u, "p": system.p}
    dynamics = DaeResidual(system.name, Program.build("posed", slots, {"residual": residual}))
    labels = [str(i) for i in range(unknowns.numel())]
    return offsets(full_signature(dynamics), labels, labels, system.name).index


def _report(mechanism: Constrained, system: SecondOrder, chosen: Posed, margins: Sequence[float]) -> IndexReport:
    index = chosen.index
    held, free = ([name for name, _ in part] for part in (system.holonomic, system.nonholonomic))
    unknowns = {c.name: 1 for c in system.coordinates} | {v.name: 2 if held else 1 for v in system.velocities}
    unknowns |= {f"{name}_multiplier": index for name in (*held, *free)}
    freedoms = mechanism.directions + len(mechanism.lags) - len(held) + len(system.velocities) - len(held) - len(free)
    structural = _structural(system)
    return IndexReport(
        name=system.name,
        structural=structural,
        differential=index,
        perturbation=index,
        freedoms=freedoms,
        unknowns=unknowns,
        steps=tuple(_steps(system.velocities, held, free)),
        progress=(),
        elsewhere=(),
        point=dict(zip((c.name for c in system.coordinates), mechanism.place.tolist(), strict=True)),
        margin=(min(margins), 0.0) if margins else None,
        sentences=tuple(_sentences(structural, chosen, len(margins), held, free, freedoms, len(unknowns), margins)),
    )


def _steps(velocities: Sequence[Quantity], held: Sequence[str], free: Sequence[str]) -> list[Step]:
    """What each differentiation removes."""
    speeds = tuple(v.name for v in velocities)
    balances = tuple(f"{name}_balance" for name in speeds)
    made = []
    for name in held:
        made += [Step(name, 0, ()), Step(name, 1, speeds), Step(name, 2, (), (f"{name}_multiplier",), speeds, balances)]
    for name in free:
        made += [Step(name, 0, speeds), Step(name, 1, (), (f"{name}_multiplier",), speeds, balances)]
    return made


def _sentences(
    structural: int,
    chosen: Posed,
    places: int,
    held: Sequence[str],
    free: Sequence[str],
    freedoms: int,
    unknowns: int,
    margins: Sequence[float],
) -> list[str]:
    index = chosen.index
    if index == 0:
        return [f"posed as M v̇ = F: structural index {structural}, differential index 0, nothing has to be differentiated"]
    where = "the state" if places == 1 else f"{places} admissible configurations"
    said = [
        f"posed with multipliers: structural index {structural} (Σ-method), differential index {index} (ranks at {where}), "
        f"perturbation index {index} (disturbances act by derivatives up to order {index - 1})"
    ]
    if held:
        said.append(
            f"{_few(held)}: the first derivative is a hidden condition on velocities, the second gives accelerations and "
            "multipliers, the third their rates"
        )
    if free:
        said.append(
            f"{_few(free)}: a condition on velocities; the first derivative gives accelerations and multipliers, the second "
            "their rates"
        )
    if chosen.unposed:
        said.append(f"left out as repetitions: {_few(chosen.unposed)}; how repeated constraints share their force stays open")
    if margins and margins[0] <= REGULAR:
        said.append("at the state itself masses and constraints do not determine accelerations: it is singular there")
    return [*said, f"{freedoms} of {unknowns} unknowns may be chosen at a start"]


def _few(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names) if len(names) <= most else f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
