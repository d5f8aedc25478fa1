"""Reduction onto the null space of the constraints, and the reduced equations of motion M_r v̇_r = F_r.

v = H v_r + h₀ with A H = 0 and A h₀ = −a₀, block by block: contacts are eliminated in the order of the tree, residual constraints
after them. Each block of rows is solved for as many dependent velocities, and the result is substituted into the rows that
follow; so H, the bias of the accelerations and the multipliers all come from the same small factors, and no block is larger than
a contact or constraint unless conditioning requires it. h₀ is nonzero only where a constraint is driven in time.

The equations of motion (Mauny, Porez & Boyer 2017, eqs 13–16) are arranged to be short: the twists of every mass are reduced to
the independent velocities *before* the mass matrix is formed. With η = T v_r only the small M_r = Σ Tᵀ 𝓜 T is built, and Tᵀ also
projects the inertia forces taken at v̇_r = 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca

from draisine.dynamics.constraints.rows import ResidualBlock, Rows
from draisine.dynamics.contact.rolling import EdgeContact, WheelContact, link_twist_rates, link_twists, row_bias
from draisine.dynamics.kinematics.newton_euler import Mass
from draisine.dynamics.kinematics.tree import Link
from draisine.dynamics.kinematics.twists import Rates, Twist
from draisine.dynamics.linear_algebra import (
    ONE,
    ZERO,
    Vec,
    add,
    cross,
    dot,
    is_zero,
    minus,
    mul,
    opposite,
    plus,
    scale,
    solve,
    solve_symmetric,
    times,
)


class Block(NamedTuple):
    """Rows solved for as many velocities, after substitution of the earlier blocks."""

    rows: tuple[int, ...]
    dependent: tuple[str, ...]


class EliminationPlan(NamedTuple):
    """Blocks in order, and the independent velocities."""

    blocks: tuple[Block, ...]
    independent: tuple[str, ...]


class Reduction:
    """The elimination plan applied to symbolic rows."""

    def __init__(self, blocks: list[Rows], plan: EliminationPlan) -> None:
        self.plan = plan
        self.names = [name for rows in blocks for name in rows.names]
        columns: list[dict[str, ca.SX]] = []
        for rows in blocks:
            for i in range(rows.count):
                columns.append({v: c[i] for v, c in rows.columns.items() if not is_zero(c[i])})
        self.rows = columns
        self._reduced: list[list[dict[str, ca.SX]]] = []  # rows of each block after substitution of the earlier ones
        self._maps: list[dict[str, dict[str, ca.SX]]] = []  # dependent velocity → its row over the remaining velocities
        for number, block in enumerate(plan.blocks):
            reduced = [self._substituted(columns[r], number) for r in block.rows]
            self._reduced.append(reduced)
            self._maps.append(self._solved(reduced, block))
        self.kernel = self._back_substituted()
        drift = [a for rows in blocks for a in rows.drift]
        self.drift = self.bias(drift) if any(not is_zero(a) for a in drift) else {}  # h₀ of the dependent velocities

    def _substituted(self, row: dict[str, ca.SX], upto: int) -> dict[str, ca.SX]:
        """A row with the velocities of the first `upto` blocks replaced."""
        row = dict(row)
        for eliminated in self._maps[:upto]:
            for name, replacement in eliminated.items():
                factor = row.pop(name, None)
                if factor is None:
                    continue
                for other, coefficient in replacement.items():
                    row[other] = plus(row.get(other, ZERO), mul(factor, coefficient))
        return {name: c for name, c in row.items() if not is_zero(c)}

    @staticmethod
    def _solved(rows: list[dict[str, ca.SX]], block: Block) -> dict[str, dict[str, ca.SX]]:
        rest = sorted({name for row in rows for name in row} - set(block.dependent))
        matrix = [[row.get(name, ZERO) for name in block.dependent] for row in rows]
        sides = [[opposite(row.get(name, ZERO)) for row in rows] for name in rest]
        solved = solve(matrix, sides)
        return {d: {name: x[i] for name, x in zip(rest, solved, strict=True)} for i, d in enumerate(block.dependent)}

    def _back_substituted(self) -> dict[str, dict[str, ca.SX]]:
        """H by rows: every velocity as a combination of the independent ones."""
        kernel: dict[str, dict[str, ca.SX]] = {name: {name: ONE} for name in self.plan.independent}
        for eliminated in reversed(self._maps):
            found = {}
            for name, row in eliminated.items():
                total: dict[str, ca.SX] = {}
                for other, coefficient in row.items():
                    for independent, h in kernel.get(other, {}).items():
                        total[independent] = plus(total.get(independent, ZERO), mul(coefficient, h))
                found[name] = total
            kernel |= found
        return kernel

    def block_matrices(self) -> Iterator[list[list[ca.SX]]]:
        """The square matrix of each block, by rows, after substitution of the earlier blocks."""
        for block, reduced in zip(self.plan.blocks, self._reduced, strict=True):
            yield [[row.get(name, ZERO) for name in block.dependent] for row in reduced]

    def column(self, independent: str) -> dict[str, ca.SX]:
        """All velocities per unit of one independent velocity."""
        return {
            name: row[independent] for name, row in self.kernel.items() if independent in row and not is_zero(row[independent])
        }

    def velocities(self, independent: dict[str, ca.SX]) -> dict[str, ca.SX]:
        """H v_r + h₀: an admissible motion."""
        values = self.combined(independent)
        return {name: plus(value, self.drift.get(name, ZERO)) for name, value in values.items()} if self.drift else values

    def combined(self, independent: dict[str, ca.SX]) -> dict[str, ca.SX]:
        """H v_r, dependent velocities from the last block to the first so that shared sums are formed once."""
        values = dict(independent)
        for eliminated in reversed(self._maps):
            values |= {
                name: dot(list(row.values()), [values.get(other, ZERO) for other in row]) for name, row in eliminated.items()
            }
        return values

    def bias(self, residual_rates: list[ca.SX]) -> dict[str, ca.SX]:
        """Accelerations of the dependent velocities when the independent ones have none: A v̇ = −(Ȧ v + ȧ₀)."""
        particular: list[dict[str, ca.SX]] = []
        for number, block in enumerate(self.plan.blocks):
            sides = []
            for r in block.rows:
                side = opposite(residual_rates[r])
                row = dict(self.rows[r])
                for eliminated, known in zip(self._maps[:number], particular, strict=True):
                    for name in eliminated:
                        factor = row.pop(name, None)
                        if factor is None:
                            continue
                        side = minus(side, mul(factor, known[name]))
                        for other, coefficient in eliminated[name].items():
                            row[other] = plus(row.get(other, ZERO), mul(factor, coefficient))
                sides.append(side)
            matrix = [[row.get(name, ZERO) for name in block.dependent] for row in self._reduced[number]]
            (x,) = solve(matrix, [sides])
            particular.append(dict(zip(block.dependent, x, strict=True)))
        values: dict[str, ca.SX] = {}
        for eliminated, known in zip(reversed(self._maps), reversed(particular), strict=True):
            found = {}
            for name, row in eliminated.items():
                found[name] = plus(known[name], dot(list(row.values()), [values.get(other, ZERO) for other in row]))
            values |= found
        return values

    def multipliers(self, generalized_forces: dict[str, ca.SX]) -> list[ca.SX]:
        """λ of Aᵀλ = r on the dependent velocities, from the last block to the first."""
        found: dict[int, ca.SX] = {}
        remaining = dict(generalized_forces)
        # Substitute the eliminations, as for the rows: a force on an eliminated velocity is transferred to the others.
        passed: list[dict[str, ca.SX]] = []
        for eliminated in self._maps:
            passed.append(dict(remaining))
            for name, row in eliminated.items():
                amount = remaining.pop(name, ZERO)
                for other, coefficient in row.items():
                    remaining[other] = plus(remaining.get(other, ZERO), mul(coefficient, amount))
        for number in reversed(range(len(self.plan.blocks))):
            block = self.plan.blocks[number]
            side = []
            for name in block.dependent:
                applied = passed[number].get(name, ZERO)
                for later in range(number + 1, len(self.plan.blocks)):
                    for r in self.plan.blocks[later].rows:
                        coefficient = self._substituted(self.rows[r], number).get(name, ZERO)
                        applied = minus(applied, mul(coefficient, found[r]))
                side.append(applied)
            transposed = [[row.get(name, ZERO) for row in self._reduced[number]] for name in block.dependent]
            (x,) = solve(transposed, [side])
            found |= dict(zip(block.rows, x, strict=True))
        return [found[r] for r in range(len(self.rows))]


@dataclass(frozen=True)
class ReducedDynamics:
    """Symbolic results in the independent velocities' symbols."""

    velocities: dict[str, ca.SX]  # all velocities
    bias: dict[str, ca.SX]  # accelerations of the dependent velocities for v̇_r = 0
    mass_matrix: list[list[ca.SX]]
    force: list[ca.SX]
    accelerations: dict[str, ca.SX]  # of the independent velocities

    def all_accelerations(self, reduction: Reduction) -> dict[str, ca.SX]:
        found = reduction.combined(self.accelerations)
        return {name: plus(value, self.bias.get(name, ZERO)) for name, value in found.items()}


def reduced_dynamics(
    links: list[Link],
    masses: list[Mass],
    contacts: list[WheelContact | EdgeContact],
    rows: list[Rows],
    reduction: Reduction,
    independent: dict[str, ca.SX],
    gravity: ca.SX,
    up: dict[str, Vec],
    generalized_forces: dict[str, ca.SX],
) -> ReducedDynamics:
    """`up` is the world's vertical in the axes of each link; `generalized_forces` the generalized forces on all velocities."""
    wheels = [c for c in contacts if isinstance(c, WheelContact)]
    velocities = reduction.velocities(independent)
    motion = link_twists(links, wheels, velocities)
    standing = link_twist_rates(links, [], motion, velocities, {})
    bias = reduction.bias([rate for block in residual_rates(rows, motion, standing, velocities) for rate in block])
    change = link_twist_rates(links, wheels, motion, velocities, bias)
    names = list(independent)
    columns = [reduction.column(name) for name in names]
    tangents = [link_twists(links, wheels, column) for column in columns]

    n = len(names)
    matrix = [[ZERO] * n for _ in range(n)]
    force = [ZERO] * n
    for mass in masses:
        link = mass.link.name
        _gather(
            mass,
            [t[link] for t in tangents],
            columns,
            motion[link],
            change[link],
            velocities,
            bias,
            gravity,
            up[link],
            matrix,
            force,
        )
    for name, applied in generalized_forces.items():
        if is_zero(applied):
            continue
        for k in range(n):
            if name in columns[k]:
                force[k] = plus(force[k], mul(columns[k][name], applied))
    solved = solve_symmetric(matrix, force)
    return ReducedDynamics(velocities, bias, matrix, force, dict(zip(names, solved, strict=True)))


def free_dynamics(
    links: list[Link], masses: list[Mass], velocities: dict[str, ca.SX], gravity: ca.SX, up: dict[str, Vec]
) -> tuple[ca.SX, ca.SX]:
    """M and −h of M v̇ + h = Q for all velocities, constraints left out. Rotors are merged into their carriers: fewer operations
    than by inverse dynamics of every body, and no angles of wheels."""
    motion = link_twists(links, [], velocities)
    change = link_twist_rates(links, [], motion, velocities, {})
    columns: list[dict[str, ca.SX]] = [{name: ONE} for name in velocities]
    tangents, n = [link_twists(links, [], column) for column in columns], len(columns)
    matrix, force = [[ZERO] * n for _ in range(n)], [ZERO] * n
    for mass in masses:
        link = mass.link.name
        own = [t[link] for t in tangents]
        _gather(mass, own, columns, motion[link], change[link], velocities, {}, gravity, up[link], matrix, force)
    rows = [ca.horzcat(*[matrix[max(i, j)][min(i, j)] for j in range(n)]) for i in range(n)]
    return ca.sparsify(ca.vertcat(*rows)), ca.vertcat(*force)


def _gather(
    mass: Mass,
    tangents: list[Twist],
    columns: list[dict[str, ca.SX]],
    motion: Twist,
    change: Twist,
    velocities: Rates,
    bias: Rates,
    gravity: ca.SX,
    up: Vec,
    matrix: list[list[ca.SX]],
    force: list[ca.SX],
) -> None:
    """Add one mass to the reduced mass matrix (lower triangle) and to the reduced force."""
    omega = motion.angular
    velocity = motion.at(mass.center)
    acceleration = add(add(change.at(mass.center), cross(omega, velocity)), scale(gravity, up))
    push = scale(mass.mass, acceleration)
    momentum = times(mass.inertia, omega)
    for disc in mass.discs:
        spun = mul(disc.moment, plus(omega[disc.axis], velocities.get(disc.velocity, ZERO)))
        momentum = tuple(plus(m, spun) if i == disc.axis else m for i, m in enumerate(momentum))  # type: ignore[assignment]
    twist = add(times(mass.inertia, change.angular), cross(omega, momentum))
    spins = [
        (
            disc.moment,
            [plus(t.angular[disc.axis], c.get(disc.velocity, ZERO)) for t, c in zip(tangents, columns, strict=True)],
            mul(disc.moment, plus(change.angular[disc.axis], bias.get(disc.velocity, ZERO))),
        )
        for disc in mass.discs
    ]
    linear = [t.at(mass.center) for t in tangents]
    angular = [t.angular for t in tangents]
    for k in range(len(tangents)):
        against = plus(dot(linear[k], push), dot(angular[k], twist))
        for _, share, applied in spins:
            against = plus(against, mul(share[k], applied))
        force[k] = minus(force[k], against)
        carried = scale(mass.mass, linear[k])
        turned = times(mass.inertia, angular[k])
        for j in range(k, len(tangents)):
            entry = plus(dot(carried, linear[j]), dot(turned, angular[j]))
            for moment, share, _ in spins:
                entry = plus(entry, mul(mul(moment, share[k]), share[j]))
            matrix[j][k] = plus(matrix[j][k], entry)


def residual_rates(
    rows: Sequence[Rows], motion: Mapping[str, Twist], standing: Mapping[str, Twist], velocities: Rates
) -> list[list[ca.SX]]:
    """Rates of the rows of every block at zero accelerations. `motion` has the twists of the links, `standing` their rates with
    v̇ = 0."""
    found = []
    for block in rows:
        source = block.source
        if isinstance(source, WheelContact | EdgeContact):
            found.append(row_bias(block, source, motion[source.link.name], standing[source.link.name], velocities))
        elif isinstance(source, ResidualBlock):
            reported = source.rates_at(velocities)
            found.append([reported[i] for i in block.kept])
    return found
