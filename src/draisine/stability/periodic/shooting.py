"""Single and multiple shooting for periodic motions: Newton's method on nodes along one period, with exact derivatives.

Unknowns are the deviations ζ_i of m nodes, the period T of an autonomous motion, and the parameter where a family is followed:

    ζ(x(t_{i+1}; node i)) − ζ(node i+1) = 0,      the last node against the first plus the advance per period,

with rows for quantities fixed at the first node. Least-norm steps solve the rows, so that redundant rows (conserved
quantities) and missing ones (families of motions, the phase of an autonomous motion) are permitted. A row that makes steps
orthogonal to the rates of a first guess would be wrong: they include those of its transients, which a step removes. It
determines the phase along a family, where motions are closed, and where quantities are fixed but not the phase.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ModelError, SolverError
from draisine.numerics.newton import Newton, Status
from draisine.numerics.rank import RTOL, decompose
from draisine.stability.periodic.flow import Flow, Node, Passage
from draisine.stability.periodic.surfaces import surface_near

Array = NDArray[np.float64]

CONDITION = 1e4  # of a factor of the monodromy matrix
SHORTEST = 1e-4  # duration of a factor, relative to the period
SLIDING = 0.05  # the same of a factor within which the motion slides: no shorter one would be regular
PERIOD = "period"
TRANSVERSAL = 1e-2  # relative rate of a fixed quantity from which it determines the phase
SMALLEST = 1.0 / 64  # part of a Newton step
OTHER_PERIOD = 10.0  # ratio of a period to that of the guess
PHASES = (0.382, 0.764, 0.146, 0.528, 0.91, 0.292)  # of nodes, tried one after the other


@dataclass(frozen=True, eq=False)
class Conditions:
    """Conditions on a periodic motion besides periodicity."""

    autonomous: bool
    fixed: Mapping[str, float]  # deviations at the first node, or the period
    advance: Array  # change of ζ in a period
    phase_fixed: bool = False  # whether a fixed quantity determines the phase
    exchange: tuple[int, ...] = ()  # the deviations in whose places those at the end of a period come; none exchanged if empty

    def exchanged(self, rows: Array) -> Array:
        """Deviations at the end of a period, or rows that belong to them, in the places in which they begin the next one."""
        return rows[list(self.exchange)] if self.exchange else rows


@dataclass(frozen=True, eq=False)
class Shot:
    """Nodes along one period, and the passages between them."""

    flow: Flow
    conditions: Conditions
    nodes: tuple[Node, ...]
    period: float
    p: Array
    passages: tuple[Passage, ...]
    begin: float = 0.0  # time of the first node

    @property
    def count(self) -> int:
        return len(self.nodes)

    def time(self, node: int) -> float:
        return self.begin + self.period * node / self.count

    @cached_property
    def defects(self) -> Array:
        """ζ at the end of each passage − ζ of the next node, in scales, (m, names)."""
        after = [n.values for n in self.nodes[1:]] + [self.nodes[0].values + self.conditions.advance]
        ends = [passage.end.values for passage in self.passages]
        ends[-1] = self.conditions.exchanged(ends[-1])
        return np.array([(a - b) / self.flow.scales for a, b in zip(ends, after, strict=True)])

    @cached_property
    def fixed_residuals(self) -> Array:
        """Residuals of the fixed quantities."""
        first = dict(zip(self.flow.names, self.nodes[0].values, strict=True))
        sizes = dict(zip(self.flow.names, self.flow.scales, strict=True))
        return np.array(
            [
                self.period / value - 1.0 if name == PERIOD else (first[name] - value) / sizes[name]
                for name, value in self.conditions.fixed.items()
            ]
        )

    @property
    def error(self) -> float:
        return float(max(np.abs(self.defects).max(), np.abs(self.fixed_residuals).max(initial=0.0)))

    @cached_property
    def monodromy(self) -> Array:
        product = np.eye(len(self.flow.names))
        for passage in self.passages:
            product = passage.matrix @ product
        return self.conditions.exchanged(product)

    # ------------------------------------------------------------ linear equations

    @property
    def unknowns(self) -> int:
        return self.count * len(self.flow.names) + int(self.conditions.autonomous) + int(self.flow.parameter is not None)

    @cached_property
    def jacobian(self) -> Array:
        """Derivatives of the defects and of the fixed quantities by scaled deviations, ln(period), and the scaled parameter."""
        d, m, scales = len(self.flow.names), self.count, self.flow.scales
        matrix = np.zeros((m * d, self.unknowns))
        for i, passage in enumerate(self.passages):
            rows = slice(i * d, (i + 1) * d)
            placed = self.conditions.exchanged if i == m - 1 else np.asarray
            matrix[rows, i * d : (i + 1) * d] += placed(passage.matrix) * scales / scales[:, None]
            after = (i + 1) % m
            matrix[rows, after * d : (after + 1) * d] -= np.eye(d)
            if self.conditions.autonomous:
                matrix[rows, m * d] = placed(passage.end.rates) * self.period / m / scales
            if self.flow.parameter is not None:
                matrix[rows, -1] = placed(passage.by_parameter) * self.flow.size / scales
        return np.vstack([matrix, self._fixed_rows])

    @cached_property
    def _fixed_rows(self) -> Array:
        rows = []
        for name in self.conditions.fixed:
            row = np.zeros(self.unknowns)
            row[self.count * len(self.flow.names) if name == PERIOD else self.flow.names.index(name)] = 1.0
            rows.append(row)
        return np.array(rows).reshape(len(rows), self.unknowns)

    @cached_property
    def phase_row(self) -> Array:
        """The phase condition: steps are orthogonal to the motion. Empty where a fixed quantity determines the phase."""
        rate = self.nodes[0].rates / self.flow.scales
        length = float(np.linalg.norm(rate))
        if not self.conditions.autonomous or self.conditions.phase_fixed or length == 0.0:
            return np.zeros((0, self.unknowns))
        row = np.zeros((1, self.unknowns))
        row[0, : len(rate)] = rate / length
        return row

    def step(self, further: Array | None = None, side: Array | None = None, of: Shot | None = None) -> Array:
        """The least-norm Newton step: fixed quantities and `further` rows with their `side` are satisfied exactly, the defects
        in the least-squares sense. With the residuals `of` another shot it is the simplified step there."""
        of = of or self
        closing = self.count * len(self.flow.names)
        none = np.zeros((0, self.unknowns))
        phase = self.phase_row if further is not None or self.conditions.fixed else none
        more = none if further is None else further
        exact = np.vstack([self.jacobian[closing:], phase, more])
        right = np.concatenate([-of.fixed_residuals, np.zeros(len(phase)), np.zeros(len(more)) if side is None else side])
        step, free = np.zeros(self.unknowns), np.eye(self.unknowns)
        if len(exact):
            split = decompose(exact)
            step, free = split.solve(right), split.null_space
        defects = self.jacobian[:closing]
        return np.asarray(step + free @ np.linalg.lstsq(defects @ free, -of.defects.ravel() - defects @ step, rcond=RTOL)[0])

    def stepped(self, step: Array) -> Shot:
        """The nodes and passages after a step."""
        d, m, flow = len(self.flow.names), self.count, self.flow
        period = self.period * float(np.exp(step[m * d])) if self.conditions.autonomous else self.period
        by, p = 0.0, self.p
        if flow.parameter is not None:
            by = float(step[-1]) * self.flow.size
            p = self.p.copy()
            p[flow.parameter_index] += by
        changes = step[: m * d].reshape(m, d) * flow.scales
        nodes = [
            flow.moved(period * i / m, node, change, p, by)
            for i, (node, change) in enumerate(zip(self.nodes, changes, strict=True))
        ]
        return shoot(flow, self.conditions, nodes, period, p)


def shoot(flow: Flow, conditions: Conditions, nodes: list[Node], period: float, p: Array, begin: float = 0.0) -> Shot:
    """Passages from all nodes."""
    m = len(nodes)
    passages = tuple(flow.passage(begin + period * i / m, node, period / m, p) for i, node in enumerate(nodes))
    return Shot(flow, conditions, tuple(nodes), period, p, passages, begin)


def surface_of(shot: Shot) -> str:
    """The name of a switching function on whose surface a node lies, or ""."""
    flow, duration = shot.flow, shot.period / shot.count
    near = (surface_near(flow.equations, shot.time(i), n.x, flow.u, n.p, duration) for i, n in enumerate(shot.nodes))
    return next(filter(None, near), "")


def off_surfaces(shot: Shot) -> Shot:
    """The same motion with its nodes moved along it until none lies on a switching surface."""
    moved, duration = shot, shot.period / shot.count
    for share in PHASES:
        if not surface_of(moved):
            break
        nodes = [shot.flow.passage(shot.time(i), node, share * duration, shot.p).end for i, node in enumerate(shot.nodes)]
        moved = shoot(shot.flow, shot.conditions, nodes, shot.period, shot.p, share * duration)
    return moved


def factors(shot: Shot) -> tuple[list[Array], list[Array]]:
    """The monodromy matrix in factors, each of which determines its small directions as well, and the rates where they begin."""
    flow, duration = shot.flow, shot.period / shot.count
    waiting = [(shot.time(i), node, duration, shot.passages[i]) for i, node in enumerate(shot.nodes)][::-1]
    found, rates = [], []
    while waiting:
        t, node, duration, passage = waiting.pop()
        scaled = passage.matrix * flow.scales / flow.scales[:, None]
        half = 0.5 * duration
        if half < SHORTEST * shot.period or np.linalg.cond(scaled) < CONDITION:
            found.append(passage.matrix)
            rates.append(node.rates)
            continue
        for share in (0.5, *PHASES):  # a node on a switching surface has a matrix on each side
            half = share * duration
            first = flow.passage(t, node, half, shot.p)
            if not surface_near(flow.equations, t + half, first.end.x, flow.u, first.end.p, half):
                break
        else:
            if duration < SLIDING * shot.period:
                found.append(passage.matrix)
                rates.append(node.rates)
                continue
        second = flow.passage(t + half, first.end, duration - half, shot.p)
        waiting += [(t + half, first.end, duration - half, second), (t, node, half, first)]
    return found, rates


def fixes_phase(flow: Flow, fixed: Mapping[str, float], first: Node) -> bool:
    """Whether a fixed quantity determines the phase: it changes at the first node."""
    rate = first.rates / flow.scales
    fixed_indices = [flow.names.index(name) for name in fixed if name != PERIOD]
    return bool(np.abs(rate[fixed_indices]).max(initial=0.0) > TRANSVERSAL * float(np.linalg.norm(rate)))


def close_orbit(begin: Shot, accuracy: float, rounds: int, further: Array | None = None, target: Array | None = None) -> Shot:
    """Newton's method until the motion is periodic to `accuracy` of its size, or to the accuracy of the integration.

    `further` are rows on the step from `begin` that should equal `target`, for continuation.
    """

    def side(change: Array) -> Array | None:
        return None if further is None or target is None else target - further @ change

    def step(at: tuple[Shot, Array]) -> Array:
        return at[0].step(further, side(at[1]))

    place = begin.count * len(begin.flow.names)

    def trial(at: tuple[Shot, Array], change: Array) -> tuple[Shot, Array] | None:
        total = at[1] + change
        if begin.conditions.autonomous and abs(total[place]) > np.log(OTHER_PERIOD):  # every motion returns after no time
            return None
        try:
            return at[0].stepped(change), total
        except (ModelError, SolverError):
            return None

    def move(at: tuple[Shot, Array], change: Array) -> tuple[Shot, Array] | None:
        """After the largest part of the step at which the residual is smaller, or the step that would follow with the same
        derivatives is: this does not depend on scales, where one quantity amplifies another."""
        whole, share = float(np.abs(change).max(initial=0.0)) <= newton.step_tolerance, 1.0
        while share >= SMALLEST:
            reached = trial(at, share * change)
            if reached is not None and (whole or reached[0].error < max(at[0].error, 1e2 * accuracy)):
                return reached
            if reached is not None and np.isfinite(reached[0].error):
                following = at[0].step(further, side(reached[1]), reached[0])
                if np.linalg.norm(following) < (1.0 - 0.5 * share) * np.linalg.norm(change):
                    return reached
            share /= 2
        return None

    # a small last step improves the multipliers
    newton = Newton(acceptable=1e2 * accuracy, step_tolerance=1e3 * accuracy, max_iterations=rounds)
    found, before, left = None, np.inf, rounds
    point = (begin, np.zeros(begin.unknowns))
    # where deviations amplify each other, the residual may still be large, and decrease further, after a small step
    while found is None or (found.status is Status.STALLED and found.residual < 0.5 * before and left > 0):
        before = begin.error if found is None else found.residual
        newton = replace(newton, max_iterations=left)
        found = newton.iterate(point, size=lambda at: at[0].error, step=step, move=move)
        point, left = found.point, left - max(found.iterations, 1)
    if not found.converged:
        raise SolverError(_failure(found.point[0]), nearest=found.point[0])
    return found.point[0]


def _failure(now: Shot) -> str:
    worst = np.unravel_index(int(np.abs(now.defects).argmax()), now.defects.shape)
    name = now.flow.names[int(worst[1])]
    return (
        f"{now.flow.equations.name}: no periodic motion was found near this start: after a period of {now.period:.6g} s the "
        f"error of {name} is {abs(now.defects[worst]):.2g} of its size at best; start closer, give a better period, or more nodes"
    )
