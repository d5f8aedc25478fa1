"""Rows A(q, t) v + a₀(q, t) of constraints at velocity level, in symbols."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca


class Motion(NamedTuple):
    """Symbols of the state and of time, and the rates of the coordinates, q̇ = N v + n₀."""

    q: ca.SX
    v: ca.SX
    t: ca.SX
    q_rate: ca.SX

    def rate(self, quantity: ca.SX) -> ca.SX:
        """Time derivative at constant velocities."""
        return ca.jtimes(quantity, self.q, self.q_rate) + ca.jacobian(quantity, self.t)


class VelocityRows(NamedTuple):
    """A v + a₀ and A; `curved` is a row that is not linear in the velocities, if there is one."""

    velocity: ca.SX
    matrix: ca.SX
    curved: int | None


def velocity_rows(residuals: ca.SX, positions: list[bool], motion: Motion) -> VelocityRows:
    """The rows of residuals, of which some are `positions` f(q, t) and enter with their rates, and others g(q, t) v + g₀(q, t).

    Tables and coordinates of paths are call nodes. The derivative of one along a motion keeps the motion as an argument, and its
    derivative along nothing stays as a term that is zero in value only; by both, the rows would seem to depend on velocities more
    than linearly. Where they do, the rates of positions are the product ∂f/∂q · q̇ instead, and the others are differentiated
    backwards, which reaches the velocities without passing a call node.
    """
    if not positions:
        return VelocityRows(ca.SX(0, 1), ca.SX(0, motion.v.numel()), None)
    first = motion.rate(residuals)
    velocity = ca.densify(ca.vertcat(*[(first if level else residuals)[i] for i, level in enumerate(positions)]))
    plain = _checked(velocity, ca.jacobian(velocity, motion.v), motion)
    if plain.curved is None:
        return plain
    slope = ca.jacobian(residuals, motion.q)
    moved, first = slope @ ca.jacobian(motion.q_rate, motion.v), slope @ motion.q_rate + ca.jacobian(residuals, motion.t)
    velocity = ca.densify(ca.vertcat(*[(first if level else residuals)[i] for i, level in enumerate(positions)]))
    rows = [moved[i, :] if level else ca.jtimes(residuals[i], motion.v, ca.SX(1), True).T for i, level in enumerate(positions)]
    return _checked(velocity, ca.sparsify(ca.vertcat(*rows)), motion)


def _checked(velocity: ca.SX, matrix: ca.SX, motion: Motion) -> VelocityRows:
    curved = ca.jacobian_sparsity(matrix.nz[:], motion.v) if matrix.nnz() else ca.Sparsity(0, 0)
    if not curved.nnz():  # call nodes keep velocities as arguments on which nothing depends
        matrix = ca.substitute(matrix, motion.v, ca.SX.zeros(motion.v.sparsity()))
    return VelocityRows(velocity, matrix, matrix.sparsity().row()[curved.row()[0]] if curved.nnz() else None)
