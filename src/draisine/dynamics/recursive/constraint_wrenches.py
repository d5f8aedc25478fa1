"""What a tie does to the links that it names: wrenches at their frames, where the tree carries them on by itself.

A residual f is a function of the poses of links, of coordinates, and of time. Its derivatives along a long chain are those at the
links that it names, ḟ = J η + (∂f/∂q) q̇ + ∂f/∂t with the twist η of a link in its own axes; the chain in between never enters.
So f is written down with symbols for the poses, differentiated, and given the poses at the end. What is tied in velocities, or by
way of a spinning rotor, is differentiated by the coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from draisine.dynamics.constraints.rows import Rows, Tied
from draisine.dynamics.kinematics.measures import Measures
from draisine.dynamics.kinematics.twists import Pose
from draisine.dynamics.linear_algebra import ZERO
from draisine.dynamics.mechanism import Mechanism
from draisine.dynamics.recursive.articulated_body import Node
from draisine.dynamics.recursive.elementary_frames import column, skew, square
from draisine.dynamics.recursive.loop_closure import Pull
from draisine.expr.expression import Expr


@dataclass(frozen=True)
class _Symbolic:
    """Pose of a link: symbols for entries that are not constant, what they stand for, and their rates for a twist."""

    pose: Pose
    symbols: ca.SX
    values: ca.SX
    twist: ca.SX
    rates: ca.SX


def _symbolic(link: str, pose: Pose) -> _Symbolic:
    values = [*pose.position, *(entry for row in pose.rotation for entry in row)]
    entries = [value if value.is_constant() else ca.SX.sym(f"{link}.{i}") for i, value in enumerate(values)]
    position, rows = entries[:3], [entries[3:6], entries[6:9], entries[9:]]
    twist = ca.SX.sym(f"{link}.twist", 6)
    turned = square(rows)  # type: ignore[arg-type]
    turning = turned @ skew(twist[3:])
    rates = [*ca.vertsplit(ca.densify(turned @ twist[:3])), *(turning[i, j] for i in range(3) for j in range(3))]
    free = [i for i, value in enumerate(values) if not value.is_constant()]
    return _Symbolic(
        Pose(tuple(position), tuple(tuple(row) for row in rows)),  # type: ignore[arg-type]
        ca.vertcat(*[entries[i] for i in free]),
        ca.vertcat(*[values[i] for i in free]),
        twist,
        ca.vertcat(*[rates[i] for i in free]),
    )


class Pulling:
    """Rows of ties as pulls at a tree, for motions of its links."""

    def __init__(
        self,
        mechanism: Mechanism,
        nodes: Mapping[str, Node],
        motions: Mapping[str, list[ca.SX]],
        put_in: Callable[[list[ca.SX]], list[ca.SX]],
    ) -> None:
        self._mechanism, self._nodes, self._motions, self._put_in = mechanism, nodes, motions, put_in

    def rows(self, rows: Rows) -> list[Pull]:
        """Of one tie."""
        source = rows.source
        assert isinstance(source, Tied)  # contacts are solved along the tree
        if source.tie.level == "position":
            return [self._at_links(name, source.tie.residuals[k][1]) for name, k in zip(rows.names, rows.kept, strict=True)]
        (rates,) = self._put_in([source.ties.rate[source.place]])
        found = []
        for i, name in enumerate(rows.names):
            generalized_forces = {velocity: entries[i] for velocity, entries in rows.columns.items() if entries[i] is not ZERO}
            found.append(Pull(name, generalized_forces, {}, rates[rows.kept[i]]))
        return found

    @cached_property
    def _twin(self) -> tuple[Measures, dict[str, _Symbolic]]:
        """The mechanism's measures with symbols for poses."""
        m = self._mechanism
        scope = copy(m.scope)
        scope.special, scope._values = dict(m.scope.special), {}  # what contacts offer is in coordinates as it is
        twin = Measures(scope, m.links, m.repeated)
        symbolic = {link.name: _symbolic(link.name, twin.poses[link.name]) for link in m.links if link.spin is None}
        twin.poses |= {name: one.pose for name, one in symbolic.items()}
        return twin, symbolic

    def _at_links(self, name: str, expression: Expr) -> Pull:
        m, scope = self._mechanism, self._mechanism.scope
        twin, symbolic = self._twin
        residual = ca.SX(twin.scope.value(expression))
        links = sorted({s.name().split(".")[0] for s in ca.symvar(residual) if "." in s.name()})
        moved = [symbolic[link] for link in links]
        changing = ca.vertcat(scope.q, *[one.symbols for one in moved])
        along = ca.vertcat(m.measures.q_rate, *[one.rates for one in moved])
        first = ca.jtimes(residual, changing, along) + ca.jacobian(residual, scope.t)
        second = ca.jtimes(first, changing, along) + ca.jacobian(first, scope.t)
        by_speed = ca.jacobian(first, scope.v)
        wrenches = [self._masked(link, ca.jacobian(first, one.twist)) for link, one in zip(links, moved, strict=True)]
        for link, wrench in zip(links, wrenches, strict=True):
            second = second - wrench[:3].T @ (column(m.up[link]) * m.gravity)  # η̇ has gravity in it
        stands = [ca.vertcat(one.symbols, one.twist) for one in moved]
        values = [ca.vertcat(one.values, ca.densify(self._motions[link][-1][:6])) for link, one in zip(links, moved, strict=True)]
        reported = [by_speed, second, *wrenches]
        reported = list(ca.substitute(reported, [ca.vertcat(*stands)], [ca.vertcat(*values)])) if stands else reported
        by_speed, rate = self._put_in([reported[0], ca.densify(reported[1])])
        generalized_forces = {scope.velocities[j]: by_speed.nz[i] for i, j in enumerate(by_speed.sparsity().get_triplet()[1])}
        return Pull(name, generalized_forces, {link: ca.sparsify(w) for link, w in zip(links, reported[2:], strict=True)}, rate)

    def _masked(self, link: str, row: ca.SX) -> ca.SX:
        """A row at a link as a column, without entries that meet no motion."""
        return ca.sparsify(row.T * ca.DM([1.0 if moving else 0.0 for moving in self._nodes[link].moving[:6]]))
