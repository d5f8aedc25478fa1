"""`Switch`: a switching function and the branches on its sides."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from enum import StrEnum


class SwitchKind(StrEnum):
    """How the branch follows from the argument."""

    SIDES = "sides"  # σ = 1 where z > 0, else 0
    FLOOR = "floor"  # σ = ⌊z⌋
    TRUNCATION = "truncation"  # σ is z rounded towards zero
    TABLE = "table"  # σ is the number of breaks not above z


@dataclass(frozen=True)
class Switch:
    """One switching function.

    `jump` is False where the state derivative is known to be continuous: only its first derivative jumps (a kink). `time_only`
    means that the argument depends on time, parameters and constant inputs alone. `breaks` are those of a table. `at_zero` is the
    branch where z is zero and stays there: ½ stands for sign(0) = 0. `continuous` operations (abs, min, max) make a jump only
    by a division by zero, as in z/|z|.
    """

    name: str
    kind: SwitchKind
    jump: bool
    time_only: bool
    breaks: tuple[float, ...] = ()
    at_zero: float = 0.0
    continuous: bool = False

    @property
    def steps(self) -> tuple[int, ...]:
        """The changes of the branch that have a margin; 0 stands for the other one of two."""
        return (0,) if self.kind == SwitchKind.SIDES else (-1, 1)

    def limits(self, branch: float) -> tuple[float, float]:
        """The range of the argument in which a branch holds."""
        if self.kind == SwitchKind.SIDES:
            return (0.0, math.inf) if branch > 0.5 else (-math.inf, 0.0) if branch < 0.5 else (0.0, 0.0)
        if self.kind == SwitchKind.FLOOR:
            return branch, branch + 1.0
        if self.kind == SwitchKind.TRUNCATION:
            return branch - (branch <= 0.0), branch + (branch >= 0.0)
        k = int(branch)
        return self.breaks[k - 1] if k > 0 else -math.inf, self.breaks[k] if k < len(self.breaks) else math.inf

    def branch(self, z: float, rate: float = 0.0) -> float:
        """The branch at an argument; on a limit that of the side to which the argument moves (the sign of `rate`)."""
        if self.kind == SwitchKind.SIDES:
            return float(z > 0.0) if z != 0.0 else float(rate > 0.0) if rate != 0.0 else self.at_zero
        if self.kind == SwitchKind.TABLE:
            return float(bisect_left(self.breaks, z) if rate < 0.0 else bisect_right(self.breaks, z))
        if not math.isfinite(z):
            return z
        whole = math.floor(z)
        if z == whole and (rate < 0.0 or (rate == 0.0 and self.at_zero > 0.0)):
            whole -= 1
        return float(whole + 1 if self.kind == SwitchKind.TRUNCATION and whole < 0 else whole)

    def on_limit(self, z: float) -> bool:
        """Whether an argument lies exactly between two branches."""
        if self.kind == SwitchKind.SIDES:
            return z == 0.0
        if self.kind == SwitchKind.TABLE:
            return bisect_left(self.breaks, z) != bisect_right(self.breaks, z)
        return z == math.floor(z) and (z != 0.0 or self.kind == SwitchKind.FLOOR) if math.isfinite(z) else False
