"""The derivations of one description, each as accelerations and reactions at a state:

- `reduced`: Newton–Euler, reduced onto the kernel of the constraints: what `derive` gives and runs compile; or, where `derive`
  treats a mechanism whole, `whole`: all of it solved for at every step;
- `recursive`: articulated inertias body by body, contacts solved one by one along the tree and ties by the same factors, where
  that can be done: of long chains it is the first road;
- `augmented`: inverse dynamics column by column, solved together with the constraints by pivoted elimination;
- `energies`: Euler–Lagrange by Christoffel symbols in Euler angles, reactions by eq. 38 of Sanjuan Szklarz & Jarzębowska;
- `connection`: the constrained affine connection, eqs 5–6 of the same.

Those by Newton and Euler share kinematics and contact rows, the others share energies; the families share nothing but the
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

from draisine.dynamics.constraints.rows import Tied
from draisine.dynamics.contact.rolling import WheelContact
from draisine.dynamics.derive import derive
from draisine.dynamics.lagrangian.contacts import plane
from draisine.dynamics.lagrangian.energies import Energies
from draisine.dynamics.lagrangian.euler_angles import CLEAR, EulerAngleStates, Pole, poles_of
from draisine.dynamics.mechanism import Mechanism
from draisine.dynamics.options import Recursive, Reduced, treatment_for, unsuited
from draisine.dynamics.verify.agreement import Avoided
from draisine.dynamics.verify.sample_states import Instant, Usual
from draisine.errors import ModelError
from draisine.model.items import Float, Glide, KnifeEdge, System, Wheel
from draisine.numerics.rank import decompose
from draisine.program.equations import Equations
from draisine.program.program import Program

Reals = NDArray[np.float64]

NEWTON_EULER, ENERGIES = "Newton–Euler", "energies"
FAMILIES = {
    **dict.fromkeys(("reduced", "whole", "recursive", "augmented"), NEWTON_EULER),
    **dict.fromkeys(("energies", "connection"), ENERGIES),
}
_REGULAR = 1e12  # condition of a mass matrix, scaled by its diagonal, beyond which it has no inverse
_USUAL = 12  # configurations by which usual sizes are known
_NOT_UNIQUE = 1e-6  # share of a row in a dependence between the rows
_MOST_REDUCED = 24  # velocities of a long chain that is reduced in symbols as well
_ROUNDS = 4  # times that so many states are drawn before we give up


@dataclass(frozen=True)
class State:
    """An admissible state: coordinates and all velocities of the Newton–Euler road, inputs, and its conditioning."""

    q: Reals
    v: Reals
    u: Reals
    condition: float
    t: float = 0.0


@dataclass(frozen=True)
class Answer:
    """What a road says at a state: accelerations of all velocities; the forces of the contacts in the world, edges and ties after
    them; and Aᵀλ, what all of them do together, in the model's velocities. A road without reactions has the last two empty."""

    accelerations: Reals
    forces: Reals
    together: Reals


Derivation = Callable[[State], Answer]
_NONE = np.zeros(0)


class Derivations:
    """The derivations of one description."""

    def __init__(self, system: System, energies: Energies | None = None) -> None:
        self.system = system
        self.mechanism = Mechanism(system)
        self.equations = derive(system)
        self.p = self.equations.default_parameters
        self.energies: Energies | None = None
        self.no_energies = ""  # why there is no road by energies
        try:
            found = energies or Energies(system)
            self._matrices = found.matrices()
            self.energies = found
        except ModelError as problem:
            self.no_energies = str(problem)
        if self.energies is not None:
            self.in_angles = EulerAngleStates(system, self.energies, self.p)

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
        """The road that runs take, by which the others are judged."""
        if not isinstance(self.equations.dynamics, Program):
            return "whole"
        return "recursive" if isinstance(treatment_for(self.mechanism, self.system.independent)[0], Recursive) else "reduced"

    @cached_property
    def _other(self) -> tuple[str, Equations] | None:
        """Of a tree, whichever of the recursion and the reduction in symbols is not the first road."""
        if self.first == "recursive" and len(self.equations.velocities) <= _MOST_REDUCED:
            return "reduced", derive(self.system, formulation=Reduced())
        if self.first == "recursive" or self.mechanism.depends or unsuited(self.mechanism) is not None:
            return None
        if self.system.independent and not self.mechanism.ties:
            return None  # the recursion has independent velocities of its own; with ties all are
        return "recursive", derive(replace(self.system, independent=()), formulation=Recursive())

    @property
    def _rolling(self) -> list[Wheel]:
        """Wheels with rows of their own; the others are held by ties."""
        return [wheel for wheel in self.system.wheels if not self.system.touches(wheel)]

    @property
    def _edges(self) -> list[KnifeEdge]:
        """Knife edges with rows of their own, on a plane at rest."""
        return list(self.system.edges) if self.system.ground.still else []

    @cached_property
    def residual_rows(self) -> list[str]:
        """Names of the rows that ties have."""
        return [name for rows in self.mechanism.rows if isinstance(rows.source, Tied) for name in rows.names]

    # ---------------------------------------------------------------- states

    def sample(self, count: int, seed: int) -> tuple[list[State], list[Avoided]]:
        """Random admissible states away from singular positions, and those positions."""
        rng = np.random.default_rng(seed)
        poles = poles_of(self.system, self.energies, self.p) if self.energies is not None else []
        causes = self.equations.causes
        aside = {pole.what: 0 for pole in poles if pole.known}
        aside |= {label: 0 for label in (causes.output("value").labels if causes is not None else ())}
        found: list[State] = []
        for turn in range(_ROUNDS):
            for q, t in list(zip(*self.mechanism.configurations(4 * count, seed + turn), strict=True))[1:]:
                state, near = self._state(q, float(t), rng, poles)
                if near:
                    aside[near] = aside.get(near, 0) + 1
                elif state is not None:
                    found.append(state)
                if len(found) == count:
                    break
            if len(found) == count:
                break
        if not found:
            raise ModelError(
                f"model {self.system.name!r}: no state was found away from singular positions ({'; '.join(aside)}); check the "
                "spans of the joints, or choose other coordinates"
            )
        return found, [Avoided(what, states) for what, states in aside.items()]

    def _state(self, q: Reals, t: float, rng: np.random.Generator, poles: list[Pole]) -> tuple[State | None, str]:
        e = self.equations
        place = self.in_angles.coordinates(q) if poles else q
        for pole in poles:
            if pole.distance(place, self.p) < CLEAR:
                return None, pole.what
        speeds, u = rng.normal(size=len(e.independent)) * 2.0, rng.normal(size=len(e.inputs))
        if len(e.independent) == len(e.velocities):  # nothing is eliminated that would make them so
            speeds = self._admissible(State(q, speeds, u, 1.0, t))
        instant = Instant(t, q, speeds, np.concatenate([q, speeds, np.zeros(len(e.extra_states))]), u)
        instant = replace(instant, condition=self._usual.condition(instant))
        why = self._usual.singular(instant)
        if why:
            return None, why
        v = self._reported(State(q, _NONE, u, 1.0, t), instant.x)["v"]
        return (State(q, v, u, instant.condition, t), "") if np.isfinite(v).all() else (None, "")

    @cached_property
    def _usual(self) -> Usual:
        """What states are judged by: the monitor of the choice of velocities, or usual sizes of what is solved for at each."""
        e = self.equations
        if e.monitor is not None:
            return Usual.of(e, [])
        still, u = np.zeros(len(e.independent) + len(e.extra_states)), np.zeros(len(e.inputs))
        points = zip(*self.mechanism.configurations(_USUAL, 1), strict=True)
        return Usual.of(e, [Instant(float(t), q, still, np.concatenate([q, still]), u) for q, t in points])

    def _admissible(self, state: State) -> Reals:
        """The velocities closest to those of a state that the constraints admit: A v + a₀ = 0."""
        matrix, drift = self.matrix(state), self._numbers(state)[3][:, 0]
        return np.asarray(state.v - np.linalg.pinv(matrix, rcond=1e-9) @ (matrix @ state.v + drift)) if len(matrix) else state.v

    def state_of(self, state: State, equations: Equations | None = None) -> Reals:
        """x of a state, in the terms of the first road or of others."""
        e = equations or self.equations
        value = dict(zip(self.mechanism.scope.velocities, state.v, strict=True))
        return np.concatenate([state.q, [value[n] for n in e.independent], np.zeros(len(e.extra_states))])

    def _reported(self, state: State, x: Reals, equations: Equations | None = None) -> dict[str, Reals]:
        report = (equations or self.equations).report
        return dict(zip((s.name for s in report.outputs), report([state.t], x, state.u, self.p), strict=True))

    # ---------------------------------------------------------------- Newton–Euler

    def reduced(self, state: State) -> Answer:
        return self._answer(self.equations, state)

    def _answer(self, equations: Equations, state: State) -> Answer:
        """What equations that `derive` gives say."""
        reported = self._reported(state, self.state_of(state, equations), equations)
        outputs = dict(zip(equations.report.output("outputs").labels, reported["outputs"], strict=True))
        forces = [outputs[f"{w.name}_force_{axis}"] for w in self._rolling for axis in "xyz"]
        forces += [outputs[f"{edge.name}_force_across"] for edge in self._edges]
        forces += [outputs[f"{edge.name}_normal_force"] for edge in self._edges if edge.on_ground]
        named = dict(zip(self.mechanism.row_names, reported["multipliers"], strict=True))
        forces += [named[name] for name in self.residual_rows]
        return Answer(reported["vdot"], np.array(forces), self.matrix(state).T @ reported["multipliers"])

    def energy(self, state: State) -> Reals:
        """Kinetic and potential energy of the Newton–Euler road."""
        return self._reported(state, self.state_of(state))["energy"][:2]

    @cached_property
    def _parts(self) -> ca.Function:
        s, m = self.mechanism.scope, self.mechanism
        held = m.matrix @ s.v + m.drift
        rows_rate = ca.jtimes(held, s.q, m.measures.q_rate) + ca.jacobian(held, s.t) if m.row_names else ca.SX(0, 1)
        parts = [m.matrix, rows_rate, m.forces.total, m.drift]
        depends = ca.vertcat(*m.depends.values()) if m.depends else ca.SX(0, 1)
        return ca.Function("parts", [s.t, s.q, s.v, s.u, s.p, depends], [ca.densify(part) for part in parts])

    def _numbers(self, state: State) -> list[Reals]:
        loads = self._loads(state) if self.mechanism.depends else _NONE
        return [part.full() for part in self._parts(state.t, state.q, state.v, state.u, self.p, loads)]

    def _loads(self, state: State) -> Reals:
        """Multipliers on which forces depend, as the first road has them: the others must solve their equations with these."""
        reported = dict(zip(self.mechanism.row_names, self._reported(state, self.state_of(state))["multipliers"], strict=True))
        return np.array([reported[row] for row in self.mechanism.depends])

    def matrix(self, state: State) -> Reals:
        """A."""
        return self._numbers(state)[0].reshape(-1, len(self.mechanism.scope.velocities))

    def unique(self, state: State) -> NDArray[np.bool_]:
        """Which of the forces are determined: those whose rows take no part in a dependence between the rows."""
        matrix = self.matrix(state)
        if not self.mechanism.selection.redundant:
            by_row = np.ones(len(matrix), dtype=bool)
        else:
            by_row = np.linalg.norm(decompose(matrix, _NOT_UNIQUE).left_null_space, axis=1) < _NOT_UNIQUE
        found, start = dict[str, bool](), 0
        for rows in self.mechanism.rows:
            share = by_row[start : start + rows.count]
            found[rows.source.name] = bool(share.all())
            found |= dict(zip(rows.names, share.tolist(), strict=True)) if isinstance(rows.source, Tied) else {}
            start += rows.count
        wheels = [found.get(w.name, True) for w in self._rolling for _ in "xyz"]
        edges = [found[e.name] for e in (*self._edges, *(e for e in self._edges if e.on_ground))]
        return np.array([*wheels, *edges, *(found[name] for name in self.residual_rows)], dtype=bool)

    def mass(self, state: State) -> tuple[Reals, Reals]:
        """M of the Newton–Euler road, column by column, and the efforts that no acceleration needs."""
        inverse = self.equations.inverse_dynamics
        assert inverse is not None  # every mechanism has one
        count = len(self.mechanism.scope.velocities)
        still = inverse(state.q, state.v, np.zeros(count), self.p)[0]
        return np.column_stack([inverse(state.q, state.v, unit, self.p)[0] - still for unit in np.eye(count)]), still

    def no_force(self, state: State, accelerations: Reals) -> float:
        """A force of constraints that counts as none: a thousandth of what acts along their rows before inertia and loads cancel.

        A motor that turns a pendulum about the axis through its pivot has nothing to do; what is left of its torque is rounding.
        """
        mass, still = self.mass(state)
        rows, _, given, _ = self._numbers(state)
        if not rows.size:
            return 1e-300
        generalized_forces = np.abs(mass) @ np.abs(accelerations) + np.abs(still) + np.abs(given[:, 0])
        along = np.abs(rows) @ generalized_forces / np.maximum(np.square(rows).sum(axis=1), 1e-300)
        return max(1e-3 * float(along.max()), 1e-300)

    def augmented(self, state: State) -> Answer:
        mass, still = self.mass(state)
        count = len(mass)
        rows, bias, given, _ = self._numbers(state)
        k = rows.shape[0]
        big = np.block([[mass, -rows.T], [rows, np.zeros((k, k))]])
        solved = self._solved(big, np.concatenate([given[:, 0] - still, -bias[:, 0] if k else []]))
        return Answer(solved[:count], self._world_forces(state, solved[count:]), rows.T @ solved[count:])

    def _solved(self, matrix: Reals, side: Reals) -> Reals:
        """The solution; where constraints repeat each other, the one with the smallest forces."""
        if not self.mechanism.selection.redundant:
            return np.asarray(np.linalg.solve(matrix, side))
        return np.asarray(np.linalg.lstsq(matrix, side, rcond=1e-12)[0])

    def _world_forces(self, state: State, multipliers: Reals) -> Reals:
        """Multipliers of the wheels' rows, turned from the reference axes into the world."""
        wheels: dict[str, Reals] = {}
        edges: dict[str, Reals] = {}
        ties: list[float] = []
        start = 0
        for rows in self.mechanism.rows:
            share = multipliers[start : start + rows.count]
            start += rows.count
            if isinstance(rows.source, WheelContact):
                force = np.zeros(3)
                force[list(rows.kept)] = share
                wheels[rows.source.name] = self._reference_rotation(state, rows.source.link.path()[0].name) @ force
            elif isinstance(rows.source, Tied):
                ties += list(share)
            else:
                edges[rows.source.name] = share
        forces = [f for w in self._rolling for f in wheels[w.name]]
        forces += [edges[e.name][0] for e in self._edges]
        return np.array([*forces, *(edges[e.name][1] for e in self._edges if e.on_ground), *ties])

    def _reference_rotation(self, state: State, root: str) -> Reals:
        joint = next(j for j in self.system.joints if j.child == root)
        if not any(isinstance(step, Float | Glide) for step in joint.chain):
            return np.eye(3)
        s = self.mechanism.scope
        rotation = ca.vertcat(*[ca.horzcat(*row) for row in self.mechanism.measures.poses[root].rotation])
        return np.asarray(ca.Function("turn", [s.q, s.p], [rotation])(state.q, self.p).full())

    def moving_power(self, state: State) -> float:
        """What constraints that move by themselves do: λᵀA v = −λᵀa₀."""
        if not self.mechanism.moves:
            return 0.0
        multipliers = self._reported(state, self.state_of(state))["multipliers"]
        return -float(multipliers @ self._numbers(state)[3][:, 0])

    # ---------------------------------------------------------------- energies

    @cached_property
    def _connection(self) -> Program | None:
        """The connection's accelerations; of constraints that repeat each other, as many combinations as count."""
        assert self.energies is not None
        if not self.energies.rows[0].shape[0] or not self._massive:
            return None
        selection = self.mechanism.selection
        return self.energies.connection(len(selection.kept) if selection.redundant else None)

    def matrices(self, state: State) -> dict[str, Reals]:
        """M, C, g, Q, D, b of the road by energies, with the angles `q` and their rates `v`."""
        q, v = self.in_angles.motion(state.q, state.v)
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
        """Whether M of the free tree has an inverse, which eq. 38 and the connection need. With a wheel without inertia, about
        whose spin only rolling decides, it has none."""
        q, t = (part[-1] for part in self.mechanism.configurations(_USUAL, 1))
        mass = self.matrices(State(q, np.zeros(len(self.mechanism.scope.velocities)), np.zeros(len(self.system.inputs)), 1.0, t))[
            "M"
        ]
        size = np.sqrt(np.maximum(np.diag(mass), 1e-300))
        return bool(np.diag(mass).min(initial=1.0) > 0 and np.linalg.cond(mass / np.outer(size, size)) < _REGULAR)

    def by_energies(self, state: State) -> Answer:
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
        accelerations = self.in_angles.back(reported["q"], v, change)
        if not k:
            return Answer(accelerations, _NONE, _NONE)
        return Answer(accelerations, self._forces_of(reactions), self.in_angles.force_back(reported["q"], rows.T @ reactions))

    def by_connection(self, state: State) -> Answer:
        reported = self.matrices(state)
        assert self._connection is not None
        arguments: list[Any] = [[state.t], reported["q"], reported["v"], state.u, self.p]
        if len(self._connection.inputs) > len(arguments):
            left = np.linalg.svd(reported["D"])[0]
            arguments.append(left[:, : len(self.mechanism.selection.kept)].T)
        (accelerations,) = self._connection(*arguments)
        return Answer(self.in_angles.back(reported["q"], reported["v"], accelerations), _NONE, _NONE)

    def _forces_of(self, reactions: Reals) -> Reals:
        """Reactions on heights, rolling rows, blades and ties as forces in the world."""
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
        return np.array([*forces, *(value.get(name, 0.0) for name in self.residual_rows)])
