"""Branches of switches from scratch: those of a trajectory immediately after a state.

Where an argument lies exactly on a limit, the branch is the one into which the motion goes: a choice of sides is consistent if
the motion with fixed branches moves every such argument to its own side. No consistent choice means that the motion stays on
the limit (sliding).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from draisine.program.interpreter import interpret
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program
from draisine.program.switch import Switch, SwitchKind
from draisine.program.switching import Switching

Reals = NDArray[np.float64]
Evaluated = Callable[[float, Reals, Reals, Reals], Reals]  # (t, x, u, p with branches) → values

MAX_ON_LIMIT = 10  # arguments on a limit at once, for which all combinations of sides are tried
_AHEAD = 1e-6  # seconds after which a rate is evaluated: its sign decides also where the first derivative is zero


@dataclass(frozen=True, eq=False)
class Branches:
    """Branches at a state.

    `undecided` are the switches whose argument lies on a limit. If no choice of their sides is consistent, `sliding` holds; if
    several are, `ambiguous`. Their branches are then those that the operations have at the limit.
    """

    values: Reals
    undecided: tuple[int, ...] = ()
    sliding: bool = False
    ambiguous: bool = False


def branches_at(
    switching: Switching,
    t: float,
    x: Reals,
    u: Reals,
    p: Reals,
    forward: bool = True,
    known: Mapping[int, float] | None = None,
    on_limit: Collection[int] = (),
    programs: Mapping[str, Evaluated] | None = None,
) -> Branches:
    """The branches of a motion that starts from x at t, forwards or backwards in time.

    `p` are the parameters of the original equations. `known` are branches that are given, such as those of time alone from
    `switch_times`; switches in `on_limit` count as exactly on the nearest limit, for states that were located there. `programs`
    are compiled forms of `arguments`, `rates` and `dynamics`; by default they are interpreted. A `DaeResidual` has no rates
    here: arguments on a limit are resolved by the operations alone.
    """
    state = _State(switching, t, np.asarray(x, float), np.asarray(u, float), np.asarray(p, float), forward, dict(known or {}))
    state.use(programs or {})
    values, arguments = state.settled({})
    undecided = [
        i
        for i, (switch, z) in enumerate(zip(switching.switches, arguments, strict=True))
        if i not in state.known and (i in on_limit or switch.on_limit(z))
    ]
    if not undecided or len(undecided) > MAX_ON_LIMIT or not state.has_rates:
        return Branches(values, tuple(undecided), ambiguous=len(undecided) > MAX_ON_LIMIT)
    limits = {i: nearest_limit(switching.switches[i], arguments[i]) for i in undecided}
    neutral = {i: switching.switches[i].branch(limits[i]) for i in undecided}
    as_written, _ = state.settled(neutral)
    stays = not on_limit and bool((state.rates(as_written)[undecided] == 0.0).all())  # with the values as written
    consistent: list[Reals] = []
    still = True
    for sides in product((-1.0, 1.0), repeat=len(undecided)):
        chosen = {i: switching.switches[i].branch(limits[i], side) for i, side in zip(undecided, sides, strict=True)}
        candidate, _ = state.settled(chosen)
        rates = state.rates(candidate)[undecided]
        still &= bool((rates == 0.0).all())
        if (rates * np.array(sides) > 0.0).all():
            consistent.append(candidate)
    if len(consistent) == 1 and not stays:
        return Branches(consistent[0], tuple(undecided))
    return Branches(as_written, tuple(undecided), sliding=not consistent and not still, ambiguous=len(consistent) > 1)


def nearest_limit(switch: Switch, z: float) -> float:
    """The limit of a switch that is nearest to an argument."""
    if switch.kind == SwitchKind.SIDES:
        return 0.0
    if switch.kind == SwitchKind.TABLE:
        return min(switch.breaks, key=lambda limit: abs(limit - z))
    limit = float(np.round(z))
    return limit if limit or switch.kind == SwitchKind.FLOOR else float(np.copysign(1.0, z))


@dataclass
class _State:
    switching: Switching
    t: float
    x: Reals
    u: Reals
    p: Reals
    forward: bool
    known: dict[int, float]

    def use(self, programs: Mapping[str, Evaluated]) -> None:
        own = self.switching
        self._arguments = programs.get("arguments") or evaluated(own.arguments)
        self.has_rates = isinstance(own.dynamics, Program | LinearSolveProgram)
        if isinstance(own.dynamics, Program | LinearSolveProgram):
            self._rates = programs.get("rates") or evaluated(own.rates)
            self._dynamics = programs.get("dynamics") or evaluated(own.dynamics)

    def settled(self, chosen: Mapping[int, float]) -> tuple[Reals, Reals]:
        """All branches, with those of `chosen` given, and the arguments; inner switches come first, so that one sweep for each
        settles all."""
        given = {**chosen, **self.known}
        values = np.zeros(len(self.switching.switches))
        for i, value in given.items():
            values[i] = value
        for _ in range(values.size + 1):
            arguments = self._arguments(self.t, self.x, self.u, np.concatenate([self.p, values]))
            new = values.copy()
            for i, switch in enumerate(self.switching.switches):
                if i not in given:
                    new[i] = switch.branch(float(arguments[i]))
            if (new == values).all():
                break
            values = new
        return values, arguments

    def rates(self, values: Reals) -> Reals:
        """Rates of the arguments in the direction of the motion, shortly after the state."""
        sign = 1.0 if self.forward else -1.0
        p = np.concatenate([self.p, values])
        step = sign * _AHEAD
        x = self.x + step * self._dynamics(self.t, self.x, self.u, p)
        return sign * np.asarray(self._rates(self.t + step, x, self.u, p))


def evaluated(program: Program | LinearSolveProgram | object) -> Evaluated:
    """The first result of a program, interpreted."""
    if isinstance(program, Program):
        return lambda t, x, u, p: np.asarray(interpret(program, [t], x, u, p)[0], dtype=float)
    assert isinstance(program, LinearSolveProgram)
    return lambda t, x, u, p: np.asarray(program([t], x, u, p)[0], dtype=float)
