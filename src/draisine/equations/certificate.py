"""The certificate: one description, several derivations, one answer.

`certify_roads(model)` evaluates every road that applies at random admissible states and compares accelerations, reactions,
the power balance, the constraints' derivatives, and the exact Jacobian with complex steps. Roads:

- `reduced`: Newton–Euler, reduced onto the kernel of the constraints: what `derive` gives and runs compile;
- `augmented`: inverse dynamics column by column, solved together with the constraints by pivoted elimination;
- `energies`: Euler–Lagrange by Christoffel symbols in Euler angles, reactions by eq. 38 of Sanjuan Szklarz & Jarzębowska;
- `connection`: the constrained affine connection, eqs 5–6 of the same.

The first two share kinematics and contact rows, the last two share energies; the pairs share nothing but the description. An
error in the description itself is seen by none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.equations.contacts import WheelContact
from draisine.equations.derive import derive
from draisine.equations.energies import Energies, angle_names
from draisine.equations.mechanism import Mechanism
from draisine.equations.sampling import onto_constraints, sample_coordinates
from draisine.model.items import Ball, Float, Glide, System
from draisine.model.model import Model
from draisine.program.interpreter import complex_step

Reals = NDArray[np.floating[Any]]

AGREEMENT = 1e-10  # relative, and times the condition of the choice of velocities
FAMILIES = {"reduced": "Newton–Euler", "augmented": "Newton–Euler", "energies": "energies", "connection": "energies"}


@dataclass(frozen=True)
class State:
    """An admissible state: coordinates and all velocities of the Newton–Euler road, inputs, and its conditioning."""

    q: Reals
    v: Reals
    u: Reals
    condition: float


@dataclass(frozen=True)
class Line:
    """One comparison: the worst disagreement over the states, where it occurred, and whether it is small enough."""

    what: str
    worst: float
    allowed: float
    where: dict[str, float] = field(repr=False)

    @property
    def holds(self) -> bool:
        return bool(self.worst <= self.allowed)


@dataclass(frozen=True)
class Certificate:
    """The outcome of a certification: a small table, and in words what disagrees with what."""

    model: str
    roads: tuple[str, ...]
    states: int
    lines: tuple[Line, ...]
    verdict: str

    @property
    def passed(self) -> bool:
        return all(line.holds for line in self.lines)

    def as_data(self) -> dict[str, Any]:
        lines = [{"what": x.what, "worst": x.worst, "allowed": x.allowed, "holds": x.holds, "where": x.where} for x in self.lines]
        head = {"model": self.model, "passed": self.passed, "verdict": self.verdict}
        return {**head, "roads": list(self.roads), "states": self.states, "lines": lines}

    def __str__(self) -> str:
        width = max(len(line.what) for line in self.lines)
        rows = [
            f"  {x.what:<{width}}  {x.worst:8.1e}  {'holds' if x.holds else 'FAILS'} (allowed {x.allowed:.0e})"
            for x in self.lines
        ]
        head = f"certificate of {self.model}: {len(self.roads)} roads ({', '.join(self.roads)}), {self.states} states"
        worst = max(self.lines, key=lambda line: line.worst / line.allowed)
        place = ", ".join(f"{name} {value:.4g}" for name, value in worst.where.items() if value)
        return "\n".join([head, *rows, f"  worst state ({worst.what}): {place}", self.verdict])


Answer = tuple[Reals, Reals]  # accelerations of all velocities, forces of the contacts in the world, one after the other
Road = Callable[[State], Answer]


def certify_roads(model: Model | System, states: int = 12, seed: int = 1817) -> Certificate:
    """Compare the derivations of one description at random admissible states."""
    system = model.freeze() if isinstance(model, Model) else model
    roads = Roads(system)
    sampled = roads.sample(states, seed)
    return judge(system.name, roads, sampled)


class Roads:
    """The derivations of one description, each as accelerations and contact forces at a state."""

    def __init__(self, system: System, energies: Energies | None = None) -> None:
        self.system = system
        self.mechanism = Mechanism(system)
        self.equations = derive(system)
        self.energies = energies or Energies(system)
        self.p = self.equations.default_parameters
        self._translate = self._translation()
        self._matrices = self.energies.matrices()
        self._connection = self.energies.connection() if self.energies.rows[0].shape[0] else None

    @property
    def roads(self) -> dict[str, Road]:
        found: dict[str, Road] = {"reduced": self.reduced, "augmented": self.augmented, "energies": self.by_energies}
        if self._connection is not None:
            found["connection"] = self.by_connection
        return found

    # ---------------------------------------------------------------- states

    def sample(self, count: int, seed: int) -> list[State]:
        scope, m = self.mechanism.scope, self.mechanism
        rng = np.random.default_rng(seed)
        residual = ca.vertcat(*[r for _, r in m.position_constraints])
        points = onto_constraints(sample_coordinates(self.system, 4 * count, seed), residual, scope.q, scope.p, self.p)
        found = []
        e = self.equations
        for q in points[1:]:
            speeds = rng.normal(size=len(e.independent)) * 2.0
            u = rng.normal(size=len(e.inputs))
            x = np.concatenate([q, speeds, np.zeros(len(e.extra_states))])
            condition = float(e.monitor([0.0], x, u, self.p)[0][0]) if e.monitor is not None else 1.0
            told = dict(zip((s.name for s in e.report.outputs), e.report([0.0], x, u, self.p), strict=True))
            if np.isfinite(condition) and condition < 1e3 and self._clear_of_poles(q):
                found.append(State(q, told["v"], u, condition))
            if len(found) == count:
                break
        return found

    def _clear_of_poles(self, q: Reals) -> bool:
        """Away from ±90° of lean, where heading and pitch mean nothing; the sampled lean ends at 70°."""
        angles = [n for joint in self.system.joints for n in angle_names(joint)[1:2] if n in self.energies.names]
        place = self._coordinates(q)
        return all(abs(np.cos(place[self.energies.names.index(n)])) > 0.2 for n in angles)

    def state_of(self, state: State) -> Reals:
        names = list(self.mechanism.scope.velocities)
        chosen = [state.v[names.index(n)] for n in self.equations.independent]
        return np.concatenate([state.q, chosen, np.zeros(len(self.equations.extra_states))])

    # ---------------------------------------------------------------- roads

    def reduced(self, state: State) -> Answer:
        e = self.equations
        told = dict(zip((s.name for s in e.report.outputs), e.report([0.0], self.state_of(state), state.u, self.p), strict=True))
        outputs = dict(zip(e.report.output("outputs").labels, told["outputs"], strict=True))
        forces = [outputs[f"{w.name}_force_{axis}"] for w in self.system.wheels for axis in "xyz"]
        forces += [outputs[f"{edge.name}_force_across"] for edge in self.system.edges]
        forces += [outputs[f"{edge.name}_normal_force"] for edge in self.system.edges if edge.on_ground]
        return told["vdot"], np.array(forces)

    def augmented(self, state: State) -> Answer:
        s, m = self.mechanism.scope, self.mechanism
        inverse = self.equations.inverse_dynamics
        assert inverse is not None  # every mechanism has one
        count = len(s.velocities)
        still = inverse(state.q, state.v, np.zeros(count), self.p)[0]
        mass = np.column_stack([inverse(state.q, state.v, unit, self.p)[0] - still for unit in np.eye(count)])
        rows_rate = ca.jtimes(m.matrix @ s.v, s.q, m.measures.q_rate) if m.row_names else ca.SX(0, 1)
        parts = ca.Function(
            "parts", [s.t, s.q, s.v, s.u, s.p], [ca.densify(m.matrix), ca.densify(rows_rate), ca.densify(m.forces.total)]
        )
        rows, bias, given = (part.full() for part in parts(0.0, state.q, state.v, state.u, self.p))
        k = rows.shape[0]
        big = np.block([[mass, -rows.T], [rows, np.zeros((k, k))]])
        solved = np.linalg.solve(big, np.concatenate([given[:, 0] - still, -bias[:, 0] if k else []]))
        return solved[:count], self._world_forces(state, solved[count:])

    def _world_forces(self, state: State, multipliers: Reals) -> Reals:
        """Multipliers of the wheels' rows, turned from the reference axes into the world."""
        wheels: dict[str, Reals] = {}
        edges: dict[str, Reals] = {}
        start = 0
        for rows in self.mechanism.rows:
            share = multipliers[start : start + rows.count]
            start += rows.count
            if isinstance(rows.contact, WheelContact):
                force = np.zeros(3)
                force[list(rows.kept)] = share
                wheels[rows.contact.name] = self._reference_rotation(state, rows.contact.link.path()[0].name) @ force
            else:
                edges[rows.contact.name] = share
        forces = [f for w in self.system.wheels for f in wheels[w.name]]
        forces += [edges[e.name][0] for e in self.system.edges]
        return np.array([*forces, *(edges[e.name][1] for e in self.system.edges if e.on_ground)])

    def _reference_rotation(self, state: State, root: str) -> Reals:
        joint = next(j for j in self.system.joints if j.child == root)
        if not any(isinstance(step, Float | Glide) for step in joint.chain):
            return np.eye(3)
        s = self.mechanism.scope
        rotation = ca.vertcat(*[ca.horzcat(*row) for row in self.mechanism.measures.poses[root].rotation])
        return np.asarray(ca.Function("turn", [s.q, s.p], [rotation])(state.q, self.p).full())

    def by_energies(self, state: State) -> Answer:
        """M q̈ + C q̇ + g = Q + Dᵀλ with λ from eq. 38."""
        q, v = self._in_angles(state)
        told = dict(zip((s.name for s in self._matrices.outputs), self._matrices([0.0], q, v, state.u, self.p), strict=True))
        n = len(q)
        mass, rows = told["M"].reshape(n, n), told["D"].reshape(-1, n)
        free = np.linalg.solve(mass, told["Q"] - told["C"].reshape(n, n) @ v - told["g"])
        if rows.shape[0] == 0:
            return self._back(q, v, free), np.zeros(0)
        carried = np.linalg.solve(mass, rows.T)
        reactions = np.linalg.solve(rows @ carried, told["b"] - rows @ free)
        return self._back(q, v, free + carried @ reactions), self._forces_of(reactions)

    def by_connection(self, state: State) -> Answer:
        q, v = self._in_angles(state)
        assert self._connection is not None
        (accelerations,) = self._connection([0.0], q, v, state.u, self.p)
        return self._back(q, v, accelerations), np.zeros(0)

    def _forces_of(self, reactions: Reals) -> Reals:
        """Reactions on heights, rolling rows and blades as contact forces in the world."""
        heights, rolling = self.energies.constraints
        value = dict(zip([n for n, _ in (*heights, *rolling)], reactions, strict=True))
        ground = (
            ca.Function("ground", [self.energies.p], list(self.energies.ground))(self.p) if self.p.size else self.energies.ground
        )
        normal, along, across = (np.array(ca.DM(part) if self.p.size else ca.evalf(part)).ravel() for part in ground)
        forces: list[float] = []
        for wheel in self.system.wheels:
            force = value.get(f"{wheel.name}_height", 0.0) * normal + value[f"{wheel.name}_along"] * along
            forces += list(force + value[f"{wheel.name}_across"] * across)
        forces += [value[f"{edge.name}_across"] for edge in self.system.edges]
        return np.array([*forces, *(value[f"{edge.name}_height"] for edge in self.system.edges if edge.on_ground)])

    # ---------------------------------------------------------------- between quaternions and angles

    def _coordinates(self, q: Reals) -> Reals:
        """Coordinates in Euler angles."""
        known = dict(zip(self.mechanism.scope.coordinates, q, strict=True))
        for joint in self.system.joints:
            for step in joint.chain:
                if isinstance(step, Float | Ball):
                    w, x, y, z = (known[n] for n in step.quaternion)
                    sine = np.clip(2 * (y * z + w * x), -1.0, 1.0)
                    heading = np.arctan2(-2 * (x * y - w * z), 1 - 2 * (x * x + z * z))
                    pitch = np.arctan2(-2 * (x * z - w * y), 1 - 2 * (x * x + y * y))
                    known |= dict(zip(angle_names(joint), (heading, np.arcsin(sine), pitch), strict=True))
        return np.array([known[n] for n in self.energies.names])

    def _translation(self) -> ca.Function:
        """(q, v, v̇, p) in angles → Newton–Euler velocities, their Jacobian by v, and their rates."""
        e = self.energies
        parts: list[ca.SX] = []
        for joint in self.system.joints:
            for step in joint.chain:
                if isinstance(step, Float | Glide):
                    node = e.nodes[joint.child]
                    linear = node.rotation.T @ e.rate(node.position)
                    parts.append(linear if isinstance(step, Float) else linear[:2])
                if isinstance(step, Float | Ball):
                    parts.append(self._relative_rate(joint.parent, joint.child))
            parts += [e.v[e.names.index(c.name)] for c in joint.coordinates if c.rate]
        velocities = ca.vertcat(*parts)
        change = ca.SX.sym("change", e.v.numel())
        by_v = ca.jacobian(velocities, e.v)
        rates = by_v @ change + ca.jtimes(velocities, e.q, e.v)
        return ca.Function("translate", [e.q, e.v, change, e.p], [velocities, ca.densify(by_v), rates])

    def _relative_rate(self, parent: str, child: str) -> ca.SX:
        """Angular velocity of the child relative to its parent, in the child's axes (free displacements turn last)."""
        e = self.energies
        outer, inner = e.nodes[parent].rotation, e.nodes[child].rotation
        between = outer.T @ inner
        spin = between.T @ e.rate(between)
        return ca.vertcat(spin[2, 1], spin[0, 2], spin[1, 0])

    def _in_angles(self, state: State) -> tuple[Reals, Reals]:
        q = self._coordinates(state.q)
        zero = np.zeros(len(q))
        by_v = self._translate(q, zero, zero, self.p)[1].full()
        return q, np.linalg.solve(by_v, state.v)

    def _back(self, q: Reals, v: Reals, accelerations: Reals) -> Reals:
        return np.asarray(self._translate(q, v, accelerations, self.p)[2].full()[:, 0])


# ---------------------------------------------------------------- judging


def judge(name: str, roads: Roads, states: list[State]) -> Certificate:
    """Compare the roads pair by pair with the first, and the first with its own derivatives."""
    answers = [{road: ask(state) for road, ask in roads.roads.items()} for state in states]
    names = list(roads.roads)
    lines = []
    for road in names[1:]:
        lines.append(_worst(f"accelerations: {road}", states, [_apart(a["reduced"][0], a[road][0]) for a in answers], roads))
        if answers[0][road][1].size:
            lines.append(_worst(f"contact forces: {road}", states, [_apart(a["reduced"][1], a[road][1]) for a in answers], roads))
    lines.append(
        _worst("power balance", states, [_power(roads, s, a["reduced"][0]) for s, a in zip(states, answers, strict=True)], roads)
    )
    if roads.energies.rows[0].shape[0]:
        held = [_constraint_rate(roads, s, a["reduced"][0]) for s, a in zip(states, answers, strict=True)]
        lines.append(_worst("constraints' derivatives", states, held, roads))
    lines.append(_worst("Jacobian against complex step", states, [_jacobian(roads, s) for s in states], roads))
    return Certificate(name, tuple(names), len(states), tuple(lines), _verdict(names, answers, lines, states))


def _apart(a: Reals, b: Reals) -> float:
    size = max(float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0)), 1e-300)
    apart = float(np.abs(a - b).max(initial=0.0)) / size
    return apart if np.isfinite(apart) else np.inf


def _worst(what: str, states: list[State], apart: list[float], roads: Roads) -> Line:
    """The worst disagreement, each divided by the condition of its state."""
    scaled = [a / max(state.condition, 1.0) for a, state in zip(apart, states, strict=True)]
    k = int(np.argmax(scaled))
    scope = roads.mechanism.scope
    where = dict(zip([*scope.coordinates, *scope.velocities], [*states[k].q.tolist(), *states[k].v.tolist()], strict=True))
    return Line(what, scaled[k], AGREEMENT, where)


def _power(roads: Roads, state: State, accelerations: Reals) -> float:
    """d/dt (T + V) against the power of inputs and dampers, through the energies of the second road."""
    e = roads.energies
    q, v = roads._in_angles(state)
    change = np.linalg.solve(
        roads._translate(q, v, np.zeros(len(q)), roads.p)[1].full(),
        accelerations - roads._translate(q, v, np.zeros(len(q)), roads.p)[2].full()[:, 0],
    )
    symbol = ca.SX.sym("change", e.v.numel())
    total = e.kinetic + e.potential
    grows = ca.jtimes(total, e.q, e.v) + ca.jtimes(total, e.v, symbol)
    given = ca.dot(e.driven, e.v)
    size = ca.dot(ca.fabs(e.gravity), ca.fabs(e.v)) + ca.dot(ca.fabs(e.mass @ e.v), ca.fabs(symbol))
    compare = ca.Function("compare", [e.t, e.q, e.v, symbol, e.u, e.p], [grows, given, size])
    grown, power, scale = (float(x) for x in compare(0.0, q, v, change, state.u, roads.p))
    return abs(grown - power) / max(scale, 1e-300)


def _constraint_rate(roads: Roads, state: State, accelerations: Reals) -> float:
    """D q̈ − b of the second road at the accelerations of the first."""
    q, v = roads._in_angles(state)
    zero = np.zeros(len(q))
    _, by_v, rest = (part.full() for part in roads._translate(q, v, zero, roads.p))
    change = np.linalg.solve(by_v, accelerations - rest[:, 0])
    told = dict(zip((s.name for s in roads._matrices.outputs), roads._matrices([0.0], q, v, state.u, roads.p), strict=True))
    rows = told["D"].reshape(-1, len(q))
    size = float((np.abs(rows) @ np.abs(change) + np.abs(told["b"])).max())
    return float(np.abs(rows @ change - told["b"]).max()) / max(size, 1e-300)


def _jacobian(roads: Roads, state: State) -> float:
    e = roads.equations
    arguments = ([0.0], roads.state_of(state), state.u, roads.p)
    program: Any = e.dynamics
    exact = program.jacobian("xdot", "x")(*arguments)[0]
    return _apart(exact, complex_step(program, "xdot", "x", arguments))


def _verdict(names: list[str], answers: list[dict[str, Answer]], lines: list[Line], states: list[State]) -> str:
    """Who disagrees with whom."""
    if all(line.holds for line in lines):
        return "all roads agree"

    def agree(a: str, b: str) -> bool:
        worst = max(_apart(x[a][0], x[b][0]) / max(s.condition, 1.0) for x, s in zip(answers, states, strict=True))
        return worst <= AGREEMENT

    for odd in names:
        rest = [n for n in names if n != odd]
        if len(rest) >= 2 and all(agree(rest[0], n) for n in rest[1:]) and not agree(odd, rest[0]):
            return f"the road {odd!r} disagrees with the others, which agree among themselves ({', '.join(rest)})"
    families = {f: [n for n in names if FAMILIES[n] == f] for f in dict.fromkeys(FAMILIES.values())}
    if all(agree(group[0], n) for group in families.values() for n in group):
        groups = " and ".join(f"{family} ({', '.join(group)})" for family, group in families.items())
        return f"{groups} each agree within themselves but not with each other: which of the two is wrong cannot be decided here"
    failing = ", ".join(line.what for line in lines if not line.holds)
    return f"the accelerations do not single out one road; what fails: {failing}"
