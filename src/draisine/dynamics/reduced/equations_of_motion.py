"""The reduced equations of motion: M_r v̇_r = F_r (Mauny, Porez & Boyer 2017, eqs 13–16), arranged to be short.

The velocities of every mass are reduced to the independent speeds *before* the mass matrix is formed: with η = T v_r only the
small M_r = Σ Tᵀ 𝓜 T is ever built, and Tᵀ also projects the inertia forces taken at v̇_r = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from draisine.dynamics.constraints.rows import Rows, residual_rates
from draisine.dynamics.contact.rolling import EdgeContact, WheelContact, link_twist_rates, link_twists
from draisine.dynamics.kinematics.newton_euler import Mass
from draisine.dynamics.kinematics.tree import Link
from draisine.dynamics.kinematics.twists import Rates, Twist
from draisine.dynamics.linear_algebra import ZERO, Vec, add, cross, dot, is_zero, minus, mul, plus, scale, solve_symmetric, times
from draisine.dynamics.reduced.reduction import Reduction


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
    for name, effort in generalized_forces.items():
        if is_zero(effort):
            continue
        for k in range(n):
            if name in columns[k]:
                force[k] = plus(force[k], mul(columns[k][name], effort))
    solved = solve_symmetric(matrix, force)
    return ReducedDynamics(velocities, bias, matrix, force, dict(zip(names, solved, strict=True)))


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
        for _, share, effort in spins:
            against = plus(against, mul(share[k], effort))
        force[k] = minus(force[k], against)
        carried = scale(mass.mass, linear[k])
        turned = times(mass.inertia, angular[k])
        for j in range(k, len(tangents)):
            entry = plus(dot(carried, linear[j]), dot(turned, angular[j]))
            for moment, share, _ in spins:
                entry = plus(entry, mul(mul(moment, share[k]), share[j]))
            matrix[j][k] = plus(matrix[j][k], entry)
