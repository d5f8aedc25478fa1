"""Independent derivations of one description, each as accelerations and reactions at a state:

- `reduced`: Newton–Euler, reduced onto the null space of the constraints, as `derive` gives it and runs compile it; or, where
  `derive` uses the augmented formulation, `whole`: all of it solved for at every step;
- `recursive`: articulated inertias, contacts eliminated one by one along the tree and loop closures by the same factors, where
  that applies; for long chains it is the first derivation;
- `augmented`: inverse dynamics column by column, solved together with the constraints by pivoted elimination;
- `energies`: Euler–Lagrange by Christoffel symbols in Euler angles, reactions by eq. 38 of Sanjuan Szklarz & Jarzębowska;
- `connection`: the constrained affine connection, eqs 5–6 of the same.

The Newton–Euler derivations share kinematics and contact rows, the others share energies; the families share nothing but the
description.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.constraints.rows import ResidualBlock
from draisine.dynamics.contact.rolling import WheelContact
from draisine.dynamics.derive import choose_formulation, derive, why_not_recursive
from draisine.dynamics.formulations import Recursive, Reduced
from draisine.dynamics.lagrangian.contacts import plane
from draisine.dynamics.lagrangian.energies import Energies
from draisine.dynamics.lagrangian.euler_angles import CLEAR, CoordinateSingularity, EulerAngleStates, coordinate_singularities
from draisine.dynamics.mechanism import Mechanism
from draisine.dynamics.verify.agreement import AvoidedSingularity
from draisine.dynamics.verify.sample_states import SampleState, TypicalScales
from draisine.errors import ModelError
from draisine.model.contact_items import KnifeEdge, Wheel
from draisine.model.items import Float, Glide
from draisine.model.system import System
from draisine.numerics.rank import decompose
from draisine.program.equations import Equations
from draisine.program.program import Program

Reals = NDArray[np.float64]

NEWTON_EULER, ENERGIES = "Newton–Euler", "energies"
FAMILIES = {
    **dict.fromkeys(("reduced", "whole", "recursive", "augmented"), NEWTON_EULER),
    **dict.fromkeys(("energies", "connection"), ENERGIES),
}
_REGULAR = 1e12  # condition above which a mass matrix, scaled by its diagonal, is singular
_SCALE_SAMPLES = 12  # configurations for typical scales
_NOT_UNIQUE = 1e-6  # component of a row in a dependence above which its force is not unique
_MOST_REDUCED = 24  # velocities of a chain that is also reduced symbolically
_ROUNDS = 4  # rounds of samples


@dataclass(frozen=True)
class State:
    """An admissible state: Newton–Euler coordinates and all velocities, inputs, and the condition number."""

    q: Reals
    v: Reals
    u: Reals
    condition: float
    t: float = 0.0


@dataclass(frozen=True)
class DerivationResult:
    """Results of a derivation at a state: accelerations of all velocities; forces of the contacts in world axes, then of knife
    edges and residual constraints; and their resultant Aᵀλ. A derivation without reactions has the last two empty."""

    accelerations: Reals
    forces: Reals
    together: Reals


Derivation = Callable[[State], DerivationResult]
_NONE = np.zeros(0)


class Derivations:
    """The derivations of one description."""

    def __init__(self, system: System, energies: Energies | None = None) -> None:
        self.system = system
        self.mechanism = Mechanism(system)
        self.equations = derive(system)
        self.p = self.equations.default_parameters
        self.energies: Energies | None = None
        self.no_energies = ""  # why there is no derivation from energies
        try:
            found = energies or Energies(system)
            self._matrices = found.matrices()
            self.energies = found
        except ModelError as problem:
            self.no_energies = str(problem)
        if self.energies is not None:
            self.angle_states = EulerAngleStates(system, self.energies, self.p)

    @cached_property
    def derivations(self) -> dict[str, Derivation]:
        found: dict[str, Derivation] = {self.first: self.reduced, "augmented": self.augmented}
        other = self._other
        if other is not None:
            found[other[0]] = partial(self._answer, other[1])
        if self.energies is not None:
            found["energies"] = self.by_energies
            if self._connection is not None:
                found["connection"] = self.by_connection
        return found

    @cached_property
    def first(self) -> str:
        """The derivation that runs use, with which the others are compared."""
        if not isinstance(self.equations.dynamics, Program):
            return "whole"
        return "recursive" if isinstance(choose_formulation(self.mechanism, self.system.independent)[0], Recursive) else "reduced"

    @cached_property
    def _other(self) -> tuple[str, Equations] | None:
        """For a tree, the other one of the recursive and the reduced formulation."""
        if self.first == "recursive" and len(self.equations.velocities) <= _MOST_REDUCED:
            return "reduced", derive(self.system, formulation=Reduced())
        if self.first == "recursive" or self.mechanism.multiplier_symbols or why_not_recursive(self.mechanism) is not None:
            return None
        if self.system.independent and not self.mechanism.residual_constraints:
            return None  # the recursive formulation has its own independent velocities; with loops all are
        return "recursive", derive(replace(self.system, independent=()), formulation=Recursive())

    @property
    def _rolling(self) -> list[Wheel]:
        """Wheels with contact rows; the others are residual constraints."""
        return [wheel for wheel in self.system.wheels if not self.system.touches(wheel)]

    @property
    def _edges(self) -> list[KnifeEdge]:
        """Knife edges with contact rows, on a plane at rest."""
        return list(self.system.edges) if self.system.ground.still else []

    @cached_property
    def residual_row_names(self) -> list[str]:
        """Names of the rows of residual constraints."""
        return [name for rows in self.mechanism.rows if isinstance(rows.source, ResidualBlock) for name in rows.names]

    # ---------------------------------------------------------------- states

    def sample(self, count: int, seed: int) -> tuple[list[State], list[AvoidedSingularity]]:
        """Random admissible states away from singular configurations, and those configurations."""
        rng = np.random.default_rng(seed)
        singularities = coordinate_singularities(self.system, self.energies, self.p) if self.energies is not None else []
        causes = self.equations.causes
        rejected = {singularity.what: 0 for singularity in singularities if singularity.known}
        rejected |= {label: 0 for label in (causes.output("value").labels if causes is not None else ())}
        found: list[State] = []
        for turn in range(_ROUNDS):
            for q, t in list(zip(*self.mechanism.configurations(4 * count, seed + turn), strict=True))[1:]:
                state, reason = self._state(q, float(t), rng, singularities)
                if reason:
                    rejected[reason] = rejected.get(reason, 0) + 1
                elif state is not None:
                    found.append(state)
                if len(found) == count:
                    break
            if len(found) == count:
                break
        if not found:
            raise ModelError(
                f"model {self.system.name!r}: no state was found away from singular configurations ({'; '.join(rejected)}); "
                "check the ranges of the joints, or choose other coordinates"
            )
        return found, [AvoidedSingularity(what, states) for what, states in rejected.items()]

    def _state(
        self, q: Reals, t: float, rng: np.random.Generator, singularities: list[CoordinateSingularity]
    ) -> tuple[State | None, str]:
        e = self.equations
        angles = self.angle_states.coordinates(q) if singularities else q
        for singularity in singularities:
            if singularity.distance(angles, self.p) < CLEAR:
                return None, singularity.what
        speeds, u = rng.normal(size=len(e.independent)) * 2.0, rng.normal(size=len(e.inputs))
        if len(e.independent) == len(e.velocities):  # unreduced: velocities are not admissible by construction
            speeds = self._admissible(State(q, speeds, u, 1.0, t))
        sample = SampleState(t, q, speeds, np.concatenate([q, speeds, np.zeros(len(e.extra_states))]), u)
        sample = replace(sample, condition=self._typical.condition(sample))
        why = self._typical.singular(sample)
        if why:
            return None, why
        v = self._reported(State(q, _NONE, u, 1.0, t), sample.x)["v"]
        return (State(q, v, u, sample.condition, t), "") if np.isfinite(v).all() else (None, "")

    @cached_property
    def _typical(self) -> TypicalScales:
        """The condition of states: by the monitor of the choice of velocities, or by typical scales of the linear system."""
        e = self.equations
        if e.monitor is not None:
            return TypicalScales.of(e, [])
        still, u = np.zeros(len(e.independent) + len(e.extra_states)), np.zeros(len(e.inputs))
        points = zip(*self.mechanism.configurations(_SCALE_SAMPLES, 1), strict=True)
        return TypicalScales.of(e, [SampleState(float(t), q, still, np.concatenate([q, still]), u) for q, t in points])

    def _admissible(self, state: State) -> Reals:
        """The nearest admissible velocities: A v + a₀ = 0."""
        matrix, drift = self.matrix(state), self._numbers(state)[3][:, 0]
        return np.asarray(state.v - np.linalg.pinv(matrix, rcond=1e-9) @ (matrix @ state.v + drift)) if len(matrix) else state.v

    def state_of(self, state: State, equations: Equations | None = None) -> Reals:
        """x of a state, for the equations of the first derivation or others."""
        e = equations or self.equations
        value = dict(zip(self.mechanism.scope.velocities, state.v, strict=True))
        return np.concatenate([state.q, [value[n] for n in e.independent], np.zeros(len(e.extra_states))])

    def _reported(self, state: State, x: Reals, equations: Equations | None = None) -> dict[str, Reals]:
        report = (equations or self.equations).report
        return dict(zip((s.name for s in report.outputs), report([state.t], x, state.u, self.p), strict=True))

    # ---------------------------------------------------------------- Newton–Euler

    def reduced(self, state: State) -> DerivationResult:
        return self._answer(self.equations, state)

    def _answer(self, equations: Equations, state: State) -> DerivationResult:
        """Results of equations from `derive`."""
        reported = self._reported(state, self.state_of(state, equations), equations)
        outputs = dict(zip(equations.report.output("outputs").labels, reported["outputs"], strict=True))
        forces = [outputs[f"{w.name}_force_{axis}"] for w in self._rolling for axis in "xyz"]
        forces += [outputs[f"{edge.name}_force_across"] for edge in self._edges]
        forces += [outputs[f"{edge.name}_normal_force"] for edge in self._edges if edge.on_ground]
        named = dict(zip(self.mechanism.row_names, reported["multipliers"], strict=True))
        forces += [named[name] for name in self.residual_row_names]
        return DerivationResult(reported["vdot"], np.array(forces), self.matrix(state).T @ reported["multipliers"])

    def energy(self, state: State) -> Reals:
        """Kinetic and potential energy of the Newton–Euler derivation."""
        return self._reported(state, self.state_of(state))["energy"][:2]

    @cached_property
    def _parts(self) -> ca.Function:
        s, m = self.mechanism.scope, self.mechanism
        constraint_rates = m.matrix @ s.v + m.drift
        rows_rate = (
            ca.jtimes(constraint_rates, s.q, m.measures.q_rate) + ca.jacobian(constraint_rates, s.t)
            if m.row_names
            else ca.SX(0, 1)
        )
        parts = [m.matrix, rows_rate, m.forces.total, m.drift]
        depends = ca.vertcat(*m.multiplier_symbols.values()) if m.multiplier_symbols else ca.SX(0, 1)
        return ca.Function("parts", [s.t, s.q, s.v, s.u, s.p, depends], [ca.densify(part) for part in parts])

    def _numbers(self, state: State) -> list[Reals]:
        loads = self._loads(state) if self.mechanism.multiplier_symbols else _NONE
        return [part.full() for part in self._parts(state.t, state.q, state.v, state.u, self.p, loads)]

    def _loads(self, state: State) -> Reals:
        """Multipliers on which forces depend, from the first derivation: the others must satisfy their equations with these."""
        reported = dict(zip(self.mechanism.row_names, self._reported(state, self.state_of(state))["multipliers"], strict=True))
        return np.array([reported[row] for row in self.mechanism.multiplier_symbols])

    def matrix(self, state: State) -> Reals:
        """A."""
        return self._numbers(state)[0].reshape(-1, len(self.mechanism.scope.velocities))

    def unique(self, state: State) -> NDArray[np.bool_]:
        """Which of the forces are determined: those whose rows are independent of all others."""
        matrix = self.matrix(state)
        if not self.mechanism.selection.redundant:
            by_row = np.ones(len(matrix), dtype=bool)
        else:
            by_row = np.linalg.norm(decompose(matrix, _NOT_UNIQUE).left_null_space, axis=1) < _NOT_UNIQUE
        found, start = dict[str, bool](), 0
        for rows in self.mechanism.rows:
            share = by_row[start : start + rows.count]
            found[rows.source.name] = bool(share.all())
            found |= dict(zip(rows.names, share.tolist(), strict=True)) if isinstance(rows.source, ResidualBlock) else {}
            start += rows.count
        wheels = [found.get(w.name, True) for w in self._rolling for _ in "xyz"]
        edges = [found[e.name] for e in (*self._edges, *(e for e in self._edges if e.on_ground))]
        return np.array([*wheels, *edges, *(found[name] for name in self.residual_row_names)], dtype=bool)

    def mass(self, state: State) -> tuple[Reals, Reals]:
        """M of the Newton–Euler derivation, column by column, and the generalized forces at zero accelerations."""
        inverse = self.equations.inverse_dynamics
        assert inverse is not None  # every mechanism has one
        count = len(self.mechanism.scope.velocities)
        still = inverse(state.q, state.v, np.zeros(count), self.p)[0]
        return np.column_stack([inverse(state.q, state.v, unit, self.p)[0] - still for unit in np.eye(count)]), still

    def no_force(self, state: State, accelerations: Reals) -> float:
        """Scale below which constraint forces are rounding errors: a thousandth of the terms along their rows before
        cancellation.

        The torque of a motor that turns a pendulum about an axis through its pivot, for example, is zero up to rounding.
        """
        mass, still = self.mass(state)
        rows, _, given, _ = self._numbers(state)
        if not rows.size:
            return 1e-300
        generalized_forces = np.abs(mass) @ np.abs(accelerations) + np.abs(still) + np.abs(given[:, 0])
        along = np.abs(rows) @ generalized_forces / np.maximum(np.square(rows).sum(axis=1), 1e-300)
        return max(1e-3 * float(along.max()), 1e-300)

    def augmented(self, state: State) -> DerivationResult:
        mass, still = self.mass(state)
        count = len(mass)
        rows, bias, given, _ = self._numbers(state)
        k = rows.shape[0]
        big = np.block([[mass, -rows.T], [rows, np.zeros((k, k))]])
        solved = self._solved(big, np.concatenate([given[:, 0] - still, -bias[:, 0] if k else []]))
        return DerivationResult(solved[:count], self._world_forces(state, solved[count:]), rows.T @ solved[count:])

    def _solved(self, matrix: Reals, side: Reals) -> Reals:
        """The solution; with redundant constraints, the one with the smallest forces."""
        if not self.mechanism.selection.redundant:
            return np.asarray(np.linalg.solve(matrix, side))
        return np.asarray(np.linalg.lstsq(matrix, side, rcond=1e-12)[0])

    def _world_forces(self, state: State, multipliers: Reals) -> Reals:
        """Multipliers of the wheels' rows, rotated from reference to world axes."""
        wheels: dict[str, Reals] = {}
        edges: dict[str, Reals] = {}
        constraint_forces: list[float] = []
        start = 0
        for rows in self.mechanism.rows:
            share = multipliers[start : start + rows.count]
            start += rows.count
            if isinstance(rows.source, WheelContact):
                force = np.zeros(3)
                force[list(rows.kept)] = share
                wheels[rows.source.name] = self._reference_rotation(state, rows.source.link.path()[0].name) @ force
            elif isinstance(rows.source, ResidualBlock):
                constraint_forces += list(share)
            else:
                edges[rows.source.name] = share
        forces = [f for w in self._rolling for f in wheels[w.name]]
        forces += [edges[e.name][0] for e in self._edges]
        return np.array([*forces, *(edges[e.name][1] for e in self._edges if e.on_ground), *constraint_forces])

    def _reference_rotation(self, state: State, root: str) -> Reals:
        joint = next(j for j in self.system.joints if j.child == root)
        if not any(isinstance(step, Float | Glide) for step in joint.chain):
            return np.eye(3)
        s = self.mechanism.scope
        rotation = ca.vertcat(*[ca.horzcat(*row) for row in self.mechanism.measures.poses[root].rotation])
        return np.asarray(ca.Function("turn", [s.q, s.p], [rotation])(state.q, self.p).full())

    def moving_power(self, state: State) -> float:
        """Power of rheonomic constraints: λᵀA v = −λᵀa₀."""
        if not self.mechanism.rheonomic:
            return 0.0
        multipliers = self._reported(state, self.state_of(state))["multipliers"]
        return -float(multipliers @ self._numbers(state)[3][:, 0])

    # ---------------------------------------------------------------- energies

    @cached_property
    def _connection(self) -> Program | None:
        """The connection's accelerations; with redundant constraints, for independent combinations of them."""
        assert self.energies is not None
        if not self.energies.rows[0].shape[0] or not self._massive:
            return None
        selection = self.mechanism.selection
        return self.energies.connection(len(selection.kept) if selection.redundant else None)

    def matrices(self, state: State) -> dict[str, Reals]:
        """M, C, g, Q, D, b of the derivation from energies, with the angles `q` and their rates `v`."""
        q, v = self.angle_states.motion(state.q, state.v)
        values = self._matrices([state.t], q, v, state.u, self.p)
        reported: dict[str, Reals] = dict(zip((s.name for s in self._matrices.outputs), values, strict=True))
        n = len(q)
        return {
            **reported,
            "M": reported["M"].reshape(n, n),
            "C": reported["C"].reshape(n, n),
            "D": reported["D"].reshape(-1, n),
            "q": q,
            "v": v,
        }

    @cached_property
    def _massive(self) -> bool:
        """Whether M of the unconstrained tree is regular, which eq. 38 and the connection require. It is singular for a wheel
        without inertia, whose spin is determined by rolling only."""
        q, t = (part[-1] for part in self.mechanism.configurations(_SCALE_SAMPLES, 1))
        mass = self.matrices(State(q, np.zeros(len(self.mechanism.scope.velocities)), np.zeros(len(self.system.inputs)), 1.0, t))[
            "M"
        ]
        size = np.sqrt(np.maximum(np.diag(mass), 1e-300))
        return bool(np.diag(mass).min(initial=1.0) > 0 and np.linalg.cond(mass / np.outer(size, size)) < _REGULAR)

    def by_energies(self, state: State) -> DerivationResult:
        """M q̈ + C q̇ + g = Q + Dᵀλ with λ from eq. 38, or with both solved for together where M has no inverse."""
        reported = self.matrices(state)
        mass, rows, v = reported["M"], reported["D"], reported["v"]
        force, n, k = reported["Q"] - reported["C"] @ v - reported["g"], len(reported["q"]), len(reported["D"])
        if not self._massive:
            big = np.block([[mass, -rows.T], [rows, np.zeros((k, k))]])
            solved = self._solved(big, np.concatenate([force, reported["b"]]))
            change, reactions = solved[:n], solved[n:]
        else:
            free, carried = np.linalg.solve(mass, force), np.linalg.solve(mass, rows.T)
            reactions = self._solved(rows @ carried, reported["b"] - rows @ free) if k else _NONE
            change = np.asarray(free + carried @ reactions, dtype=np.float64)
        accelerations = self.angle_states.back(reported["q"], v, change)
        if not k:
            return DerivationResult(accelerations, _NONE, _NONE)
        return DerivationResult(
            accelerations, self._forces_of(reactions), self.angle_states.force_back(reported["q"], rows.T @ reactions)
        )

    def by_connection(self, state: State) -> DerivationResult:
        reported = self.matrices(state)
        assert self._connection is not None
        arguments: list[Any] = [[state.t], reported["q"], reported["v"], state.u, self.p]
        if len(self._connection.inputs) > len(arguments):
            left = np.linalg.svd(reported["D"])[0]
            arguments.append(left[:, : len(self.mechanism.selection.kept)].T)
        (accelerations,) = self._connection(*arguments)
        return DerivationResult(self.angle_states.back(reported["q"], reported["v"], accelerations), _NONE, _NONE)

    def _forces_of(self, reactions: Reals) -> Reals:
        """Reactions of heights, rolling rows, knife edges and residual constraints as forces in world axes."""
        e = self.energies
        assert e is not None
        heights, rolling = e.constraints
        value = dict(zip([n for n, _ in (*heights, *rolling)], reactions, strict=True))
        ground = ca.Function("ground", [e.p], list(plane(e)))(self.p)
        normal, along, across = (part.full()[:, 0] for part in ground)
        forces: list[float] = []
        for wheel in self._rolling:
            force = value.get(f"{wheel.name}_height", 0.0) * normal + value.get(f"{wheel.name}_along", 0.0) * along
            forces += list(force + value.get(f"{wheel.name}_across", 0.0) * across)
        forces += [value[f"{edge.name}_across"] for edge in self._edges]
        forces += [value.get(f"{edge.name}_normal", 0.0) for edge in self._edges if edge.on_ground]
        return np.array([*forces, *(value.get(name, 0.0) for name in self.residual_row_names)])
