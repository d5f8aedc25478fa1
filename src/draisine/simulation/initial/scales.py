"""Scales of coordinates and velocities, in which a start is close to its references and steps of Newton's method are measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from draisine.program.equations import Equations, Kind, Quantity
from draisine.simulation.initial.evaluation import Bools, Indices, Reals

LARGEST_TURN = np.pi / 2  # largest change of an angle in one Newton step


class Scales(NamedTuple):
    """Scales of coordinates and velocities by their units.

    The scale of an angle is one radian; a component of a unit quaternion changes by half the angle. The scale of a length is the
    typical length of the system. Other quantities are scaled by the largest default of the same unit.
    """

    lengths: Indices  # parameters that are lengths
    straight: Bools  # coordinates that are lengths
    turning: Bools  # coordinates that are angles
    quaternions: Bools  # coordinates that are components of unit quaternions
    others: tuple[Indices, ...]  # coordinates of other units, grouped by unit
    speeds: Bools  # velocities in m/s

    @staticmethod
    def of(e: Equations) -> Scales:
        quaternions = _quaternions(e)
        straight, turning = _of_unit(e.coordinates, "m"), _of_unit(e.coordinates, "rad")
        left = ~(straight | turning | quaternions)
        units = {c.unit for c, other in zip(e.coordinates, left, strict=True) if other}
        others = tuple(np.flatnonzero(left & _of_unit(e.coordinates, unit)) for unit in sorted(units))
        lengths = np.flatnonzero(_of_unit(e.parameters, "m"))
        return Scales(lengths, straight, turning, quaternions, others, _of_unit(e.velocities, "m/s"))

    def typical_length(self, parameters: Reals, coordinates: Reals) -> float:
        """The median of the parameters that are lengths, else of such coordinates, else one meter."""
        return float(self.typical_lengths(parameters[None, :], coordinates)[0])

    def typical_lengths(self, parameters: Reals, coordinates: Reals) -> Reals:
        """The same for rows of parameters."""
        own = _median(np.abs(parameters[:, self.lengths]))
        if own.all():
            return own
        (other,) = _median(np.abs(coordinates[None, self.straight]))
        return np.where(own > 0.0, own, other or 1.0)

    def coordinates(self, reference: Reals, length: float | Reals) -> Reals:
        """One scale for each coordinate; rows of them for a column of lengths."""
        scales = np.where(self.straight, length, np.where(self.quaternions, 0.5, 1.0))
        for output_rows in self.others:
            scales[..., output_rows] = float(np.abs(reference[output_rows]).max()) or 1.0
        return scales

    def velocities(self, length: float | Reals) -> Reals:
        """One scale for each velocity; only their ratios matter."""
        return np.where(self.speeds, length, 1.0)

    @property
    def max_steps(self) -> Reals:
        """The largest Newton step of each coordinate: a quarter turn for angles, unlimited for lengths."""
        return np.where(self.turning, LARGEST_TURN, np.where(self.quaternions, LARGEST_TURN / 2, np.inf))


def _median(sizes: Reals) -> Reals:
    """Of each row the upper median of its positive numbers, or 0 if there is none."""
    known = sizes > 0.0
    count = np.count_nonzero(known, axis=1)
    in_order = np.sort(np.where(known, sizes, np.inf), axis=1)
    padded = np.column_stack([in_order, np.zeros(len(sizes))])
    return padded[np.arange(len(sizes)), np.where(count > 0, count // 2, -1)]


def _of_unit(quantities: Sequence[Quantity], unit: str) -> Bools:
    return np.array([q.unit == unit for q in quantities], dtype=bool)


def _quaternions(e: Equations) -> Bools:
    """Coordinates named as components of quaternions, else those whose squares a constraint sums to one."""
    named = {name for four in e.quaternions for name in four}
    names = [q.name for q in e.coordinates]
    if not named:
        motion = e.motion
        ins, outs = [s.name for s in motion.inputs], [s.name for s in motion.outputs]
        rows, columns = motion.function.jac_sparsity(outs.index("residuals"), ins.index("q")).get_triplet()
        norms = {i for i, c in enumerate(e.constraints) if c.kind == Kind.NORM}
        named = {names[column] for row, column in zip(rows, columns, strict=True) if row in norms}
    return np.array([name in named for name in names], dtype=bool)
