"""Periodic motions by single and multiple shooting: Newton's method on nodes along one period, with exact derivatives.

Unknowns are the deviations ζ_i of m nodes, the period T of an autonomous motion, and the parameter where a family is followed:

    ζ(x(t_{i+1}; node i)) − ζ(node i+1) = 0,      the last against the first, plus what the motion advances by in a period,

with rows for what is fixed at the first node. The start of an autonomous motion may lie anywhere on it; unless something fixed
says where, each step is taken across the motion. Steps of least change solve the rows, so that redundant ones (conserved
quantities) and missing ones (families of motions) do no harm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ModelError, SolverError
from draisine.numerics.newton import Newton
from draisine.numerics.rank import RTOL, decompose
from draisine.stability.periodic.flow import Flow, Node, Passage

Array = NDArray[np.float64]

PERIOD = "period"
TRANSVERSAL = 1e-2  # share of the motion's rate along a fixed quantity that settles where the motion begins
SMALLEST = 1.0 / 64  # part of a Newton step


@dataclass(frozen=True, eq=False)
class Conditions:
    """What a periodic motion must fulfil besides closing."""

    autonomous: bool
    fixed: Mapping[str, float]  # deviations at the first node, or the period
    advance: Array  # by which ζ grow in a period
    located: bool = False  # whether something fixed says where the motion begins


@dataclass(frozen=True, eq=False)
class Shot:
    """Nodes along one period, and the passages between them."""

    flow: Flow
    conditions: Conditions
    nodes: tuple[Node, ...]
    period: float
    p: Array
    passages: tuple[Passage, ...]

    @property
    def count(self) -> int:
        return len(self.nodes)

    def time(self, node: int) -> float:
        return self.period * node / self.count

    @cached_property
    def gaps(self) -> Array:
        """ζ at the end of each passage − ζ of the next node, in scales, (m, names)."""
        after = [n.values for n in self.nodes[1:]] + [self.nodes[0].values + self.conditions.advance]
        return np.array([(a.end.values - b) / self.flow.scales for a, b in zip(self.passages, after, strict=True)])

    @cached_property
    def misses(self) -> Array:
        """What the fixed quantities miss."""
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
        return float(max(np.abs(self.gaps).max(), np.abs(self.misses).max(initial=0.0)))

    @cached_property
    def monodromy(self) -> Array:
        product = np.eye(len(self.flow.names))
        for passage in self.passages:
            product = passage.matrix @ product
        return product

    # ------------------------------------------------------------ linear equations

    @property
    def unknowns(self) -> int:
        return self.count * len(self.flow.names) + int(self.conditions.autonomous) + int(self.flow.parameter is not None)

    @cached_property
    def jacobian(self) -> Array:
        """Of gaps, then of what is fixed: by deviations in scales, ln(period), and the parameter by its size."""
        d, m, scales = len(self.flow.names), self.count, self.flow.scales
        matrix = np.zeros((m * d, self.unknowns))
        for i, passage in enumerate(self.passages):
            rows = slice(i * d, (i + 1) * d)
            matrix[rows, i * d : (i + 1) * d] += passage.matrix * scales / scales[:, None]
            after = (i + 1) % m
            matrix[rows, after * d : (after + 1) * d] -= np.eye(d)
            if self.conditions.autonomous:
                matrix[rows, m * d] = passage.end.rates * self.period / m / scales
            if self.flow.parameter is not None:
                matrix[rows, -1] = passage.by_parameter * self.flow.size / scales
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
    def across(self) -> Array:
        """The row that keeps steps across the motion; none where a fixed quantity says where the motion begins."""
        rate = self.nodes[0].rates / self.flow.scales
        length = float(np.linalg.norm(rate))
        if not self.conditions.autonomous or self.conditions.located or length == 0.0:
            return np.zeros((0, self.unknowns))
        row = np.zeros((1, self.unknowns))
        row[0, : len(rate)] = rate / length
        return row

    def step(self, further: Array | None = None, side: Array | None = None) -> Array:
        """The Newton step of least change. What is fixed is fulfilled exactly, and `further` rows with their `side`; among the
        steps that do so, the gaps are closed as far as may be."""
        closing = self.count * len(self.flow.names)
        more = np.zeros((0, self.unknowns)) if further is None else further
        exact = np.vstack([self.jacobian[closing:], self.across, more])
        right = np.concatenate([-self.misses, np.zeros(len(self.across)), np.zeros(len(more)) if side is None else side])
        step, free = np.zeros(self.unknowns), np.eye(self.unknowns)
        if len(exact):
            split = decompose(exact)
            step, free = split.solve(right), split.null_space
        gaps = self.jacobian[:closing]
        return np.asarray(step + free @ np.linalg.lstsq(gaps @ free, -self.gaps.ravel() - gaps @ step, rcond=RTOL)[0])

    def taken(self, step: Array) -> Shot:
        """The nodes and passages after a step."""
        d, m, flow = len(self.flow.names), self.count, self.flow
        period = self.period * float(np.exp(step[m * d])) if self.conditions.autonomous else self.period
        by, p = 0.0, self.p
        if flow.parameter is not None:
            by = float(step[-1]) * self.flow.size
            p = self.p.copy()
            p[flow.place] += by
        changes = step[: m * d].reshape(m, d) * flow.scales
        nodes = [
            flow.moved(period * i / m, node, change, p, by)
            for i, (node, change) in enumerate(zip(self.nodes, changes, strict=True))
        ]
        return shot(flow, self.conditions, nodes, period, p)


def shot(flow: Flow, conditions: Conditions, nodes: list[Node], period: float, p: Array) -> Shot:
    """Passages from all nodes."""
    m = len(nodes)
    passages = tuple(flow.passage(period * i / m, node, period / m, p) for i, node in enumerate(nodes))
    return Shot(flow, conditions, tuple(nodes), period, p, passages)


def locates(flow: Flow, fixed: Mapping[str, float], first: Node) -> bool:
    """Whether a motion passes the value of a fixed quantity at its first node, rather than touching it."""
    rate = first.rates / flow.scales
    held = [flow.names.index(name) for name in fixed if name != PERIOD]
    return bool(np.abs(rate[held]).max(initial=0.0) > TRANSVERSAL * float(np.linalg.norm(rate)))


def closed(begin: Shot, accuracy: float, rounds: int, further: Array | None = None, target: Array | None = None) -> Shot:
    """Newton's method until the motion closes to `accuracy` of its size, or to what integration leaves.

    `further` are rows on the step from `begin` that should come to `target`: for walks along a family.
    """

    def step(at: tuple[Shot, Array]) -> Array:
        now, way = at
        return now.step(further, None if further is None or target is None else target - further @ way)

    def move(at: tuple[Shot, Array], change: Array) -> tuple[Shot, Array] | None:
        try:
            return at[0].taken(change), at[1] + change
        except (ModelError, SolverError):
            return None

    # multipliers are better by as much as the last step is small
    newton = Newton(acceptable=1e2 * accuracy, step_tolerance=1e3 * accuracy, max_iterations=rounds, least_share=SMALLEST)
    found = newton.iterate((begin, np.zeros(begin.unknowns)), size=lambda at: at[0].error, step=step, move=move)
    if not found.converged:
        raise SolverError(_failure(found.point[0]), nearest=found.point[0])
    return found.point[0]


def _failure(now: Shot) -> str:
    worst = np.unravel_index(int(np.abs(now.gaps).argmax()), now.gaps.shape)
    name = now.flow.names[int(worst[1])]
    return (
        f"{now.flow.equations.name}: no periodic motion was found near this start: after a period of {now.period:.6g} s {name} "
        f"misses by {abs(now.gaps[worst]):.2g} of its size at best; start closer, give a better period, or more nodes"
    )
