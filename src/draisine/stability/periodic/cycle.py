"""Periodic motions of any model: limit cycles, forced oscillations, families of conservative motions.

>>> import sympy as sp, draisine as dr
>>> x, v = sp.symbols("x v")
>>> oscillator = dr.first_order("van_der_pol", {x: v, v: (1 - x**2) * v - x})
>>> cycle = dr.stability.limit_cycle(oscillator, start={"x": 2.0}, period=6.6)
>>> round(cycle.period, 8), cycle.stable
(6.66328686, True)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, ModelError, SolverError
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.arguments import checked
from draisine.program.equations import Equations
from draisine.results.assembly import assemble
from draisine.results.base import Result, figure
from draisine.results.channel import HasState
from draisine.results.trajectory import Trajectory
from draisine.simulation.methods.selection import Method
from draisine.simulation.result import Run
from draisine.simulation.run import integrate
from draisine.simulation.trajectory_from_run import report_segment
from draisine.stability.deviations import deviations_of
from draisine.stability.explicit_time import depends_on_time
from draisine.stability.linearization import Motion, motion_at, motion_of
from draisine.stability.periodic.contact_motions import (
    check_repetition,
)
from draisine.stability.periodic.exchange import exchanged_name, exchanged_order
from draisine.stability.periodic.first_guess import flow_along, integrated, settled, without_period
from draisine.stability.periodic.floquet import Floquet, factored_floquet, floquet, sensitive_digits, unresolved
from draisine.stability.periodic.flow import FINE, Flow, project_onto_constraints
from draisine.stability.periodic.scales import (
    balanced,
    divided,
    least_divisor,
    resized,
)
from draisine.stability.periodic.shooting import (
    PERIOD,
    Conditions,
    Shot,
    close_orbit,
    factors,
    fixes_phase,
    off_surfaces,
    shoot,
    surface_of,
)

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]

FINE_SAMPLES = 2001
LEAST_STEPS, STEPS = 5000, 20  # limit of the steps of a trial: this, and this multiple of those of the first guess
RESIZED = 3  # times at most that sizes are measured again along the motion found
FAMILY = 1e-6  # a multiplier this close to one is that of a family
RETURNS = 1e-6  # a motion has returned if it is this close to its beginning, relative to its size
REPEATS = 1e-3  # change of a deviation by what the equations differ after a period, relative to its size: they do not repeat
NEARLY_REPEATS = 1e-8  # the same, below which it is rounding error
DIGITS = 4  # of multipliers, below which it is noted
STILL = 1e-4  # a motion this small, relative to the first guess, is an equilibrium


@dataclass(frozen=True, eq=False)
class Cycle(Result):
    """A periodic motion, found by shooting, with its Floquet multipliers."""

    shot: Shot
    floquet: Floquet
    ignorable: tuple[str, ...]  # coordinates on which nothing depends; they need not be periodic
    notes: tuple[str, ...] = ()  # on its start, and warnings of its runs

    @property
    def equations(self) -> Equations:
        return self.shot.flow.equations

    @property
    def period(self) -> float:
        """In seconds."""
        return self.shot.period

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the deviations, those of the rows and columns of `monodromy`."""
        return self.shot.flow.names

    @property
    def values(self) -> dict[str, float]:
        """The initial state, by the names of the deviations."""
        return dict(zip(self.names, self.shot.nodes[0].values.tolist(), strict=True))

    @property
    def monodromy(self) -> Array:
        """The monodromy matrix: small deviations after one period by those at the start."""
        return self.shot.monodromy

    @property
    def multipliers(self) -> NDArray[np.complex128]:
        """Floquet multipliers, the largest first, without the trivial one of an autonomous motion."""
        return self.floquet.multipliers

    @property
    def exponents(self) -> NDArray[np.complex128]:
        return self.floquet.exponents

    @property
    def stable(self) -> bool | None:
        """Whether deviations decay; None where this is not decided to first order."""
        return self.floquet.stable

    def as_start(self) -> dict[str, float]:
        """Its initial state as a start."""
        return self.start.as_start()

    @property
    def motion(self) -> Motion:
        """The initial state, with inputs and parameters."""
        return self.start

    @property
    def start(self) -> Motion:
        """The initial state."""
        return Motion(self.equations, self.shot.nodes[0].x, self.shot.flow.u, self.shot.nodes[0].p)

    @property
    def parameters(self) -> dict[str, float]:
        return dict(zip((q.name for q in self.equations.parameters), self.shot.p.tolist(), strict=False))

    def run(self, periods: float = 1.0, samples: int = 401) -> Trajectory:
        """The motion over one period, or several."""
        run = _run(self.equations, self.shot, periods * self.period, samples)
        pieces = [report_segment(segment, self.shot.p) for segment in run.segments if len(segment.times)]
        made = assemble(self.equations.name, pieces, status=run.status, parameters=self.parameters, scene={"method": run.method})
        return replace(made, modes=run.modes)

    @cached_property
    def _fine(self) -> Trajectory:
        return self.run(samples=FINE_SAMPLES)

    @cached_property
    def trajectory(self) -> Trajectory:
        """One period."""
        return self.run()

    def amplitude(self, name: str) -> float:
        """Half of the range of a quantity over a period, with peaks from parabolas through samples."""
        values = self._fine[name][:-1]
        return 0.5 * (_peak(values) + _peak(-values))

    def _table(self) -> Mapping[str, Any]:
        return {"time": self.trajectory.time} | {name: self.trajectory[name] for name in self.trajectory.names()}

    @property
    def units(self) -> dict[str, str]:
        """Units by column of the table in notebooks."""
        return {"exponent": "1/s"}

    def _overview(self) -> Mapping[str, Any]:
        sizes = np.abs(self.multipliers)
        return {"Floquet multiplier": self.multipliers, "modulus": sizes, "exponent": self.exponents}

    def to_pandas(self) -> pandas.DataFrame:
        """One period; see `Trajectory.to_pandas`."""
        return self.trajectory.to_pandas()

    def plot(self, *names: str, **options: Any) -> Any:
        """One period, and the Floquet multipliers; see `draisine.view.plots.periodic`."""
        return figure("plots.periodic.cycle_figure", self.trajectory, self.multipliers, names, **options)

    def as_data(self) -> dict[str, Any]:
        """Plain numbers and texts, for JSON."""
        return {
            "model": self.equations.name,
            "period": self.period,
            "stable": self.stable,
            "instability": self.floquet.instability,
            "multipliers": [{"re": float(z.real), "im": float(z.imag)} for z in self.multipliers],
            "trivial": self.floquet.trivial,
            "start": self.values,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        multipliers = ", ".join(f"{z.real:.6g}" if abs(z.imag) < 1e-12 else f"{z:.6g}" for z in self.multipliers)
        unstable = f"unstable ({self.floquet.instability})"
        verdict = {True: "stable", False: unstable, None: "neutral to first order"}[self.stable]
        lines = [
            f"{self.equations.name}: periodic motion of {self.period:.10g} s, {verdict}",
            f"  shooting error {self.shot.error:.1e} of its size with {self.shot.count} node{'s' if self.shot.count > 1 else ''}",
            f"  Floquet multipliers {multipliers or 'none'}",
        ]
        if self.floquet.trivial is not None:
            lines.append(f"  the trivial multiplier is {self.floquet.trivial:.12g}: {self.floquet.digits:.0f} correct digits")
        if self.ignorable:
            lines.append(f"  not periodic: {', '.join(self.ignorable)}")
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)


@checked
def limit_cycle(
    model: Model | System | Equations,
    *,
    start: Mapping[str, float] | HasState | None = None,
    period: float | None = None,
    fixed: Mapping[str, float] | None = None,
    forced: bool | None = None,
    nodes: int = 1,
    settle: float = 0.0,
    advance: Mapping[str, float] | None = None,
    exchange: Mapping[str, str] | None = None,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
    states: Sequence[str] = (),
    method: Method = FINE,
    accuracy: float = 1e-9,
    rounds: int = 30,
) -> Cycle:
    """The periodic motion near a start, with its Floquet multipliers.

    - `start`: targets for the first guess, or a result, as in `simulate`. `settle` seconds are simulated first, to approach an
      attracting cycle.
    - `period`: a guess; without it the period is estimated after settling. Equations that depend on time are forced (`forced`
      overrides this): their period must be given and is constant.
    - `fixed`: initial values, or the "period", that select one motion of a family, e.g. {"angle": 1.0}, or the phase at which the
      motion begins, e.g. {"lateral": 0.0}.
    - `nodes`: number of nodes of multiple shooting; unstable and long motions need several.
    - `advance`: change of deviations in a period, e.g. {"angle": 2 * pi} for a pendulum that turns over. Ignorable coordinates
      (position on the track, angles of rotors) are detected and need not be periodic.
    - `exchange`: parts of names that change places in a period, {"left": "right"}: the period of a walking machine is then one
      step, after which the left leg moves as the right one did, and the multipliers are those of a step.
    - `states`: names of deviations, as in `linearize`.
    - `parameters`, `inputs`, `method`: as in `simulate`.
    - `accuracy`: of the closed orbit, relative to the size of the motion; `rounds`: largest number of Newton steps.
    """
    given = motion_of(start)
    motion = given if isinstance(given, Motion) else motion_at(model, given, parameters, inputs)
    e, u, p = motion.equations, motion.u, motion.p
    dynamics = e.explicit
    driven = depends_on_time(dynamics) if forced is None else forced
    if driven and period is None:
        raise ArgumentError(f"{e.name} depends on time, so that its period is that of the excitation: give period=…")
    x = motion.x
    if settle > 0.0:
        x, p, estimate = settled(e, x, u, p, settle, method)
        period = estimate if period is None else period
    if period is None or not (np.isfinite(period) and period > 0.0):
        raise ArgumentError(f"{e.name}: {without_period(period, settle)}")
    fixed = dict(fixed or {})
    named = (*states, *(name for name in fixed if name != PERIOD), *(advance if advance and e.unilateral else ()))
    named = (*named, *(q.name for q in e.states if exchange and exchanged_name(q.name, exchange) != q.name))
    preferred = tuple(dict.fromkeys(named))
    guess, modes, steps = integrated(e, x, u, p, period, max(4 * nodes, 32) + 1, method)
    flow, ignorable, own = flow_along(e, guess, u, modes, preferred, method, period)
    flow = replace(flow, most_steps=LEAST_STEPS + STEPS * steps)
    notes = _repetition(flow, guess, period, p) if depends_on_time(dynamics) else ()
    if e.unilateral and driven:
        check_repetition(e, guess, u, p, period)
    for name in preferred:
        if name not in flow.names:
            raise ArgumentError(f"{e.name}: {name!r} is ignorable: it need not be periodic and cannot be fixed")
    grown = np.zeros(len(flow.names))
    for name, value in (advance or {}).items():
        if name not in flow.names:
            raise ArgumentError(f"{e.name}: {name!r} is not one of the periodic deviations ({', '.join(flow.names)})")
        grown[flow.names.index(name)] = value
    if PERIOD in fixed and driven:
        raise ArgumentError(f"{e.name} depends on time: its period is given by period=… and cannot be fixed")
    indices = np.linspace(0, len(guess) - 1, nodes + 1).round().astype(int)[:-1]
    begun = [
        flow.node(period * i / nodes, project_onto_constraints(e, 0.0, guess[k], u, modes[k]), modes[k])
        for i, k in enumerate(indices)
    ]
    swap = exchanged_order(e, flow, exchange or {}, guess, modes, period if driven else 0.0)
    conditions = Conditions(not driven, fixed, grown, fixes_phase(flow, fixed, begun[0]), swap)
    first = Shot(flow, conditions, tuple(begun), period, p, ())
    if conditions.autonomous and not conditions.phase_fixed:  # before a passage begins, or ends, on a surface
        first = replace(off_surfaces(first), begin=0.0)
    first = balanced(first if first.passages else shoot(flow, conditions, begun, period, p), own)
    found = close_orbit(first, accuracy, rounds)
    for _ in range(RESIZED):
        if (new := resized(found)) is found:
            break
        found = close_orbit(new, accuracy, rounds)
    found, times = _least_period(found, accuracy, rounds)
    if times > 1:
        notes += (f"the guess of the period led to {times} periods of this motion; this is its least one",)
    cycle = cycle_of(found, ignorable, notes)
    if conditions.autonomous and not fixed and np.abs(cycle.multipliers - 1.0).min(initial=np.inf) < FAMILY:
        family = (
            "a second multiplier is one: motions of a family, as conservative systems have them, are near this one; "
            f"fixed={{{_amplitude(found)!r}: …}} selects one of them"
        )
        cycle = replace(cycle, notes=(*cycle.notes, family))
    return cycle


def _amplitude(found: Shot) -> str:
    """The name of a quantity that is nearly at its peak at the start."""
    slowness = np.abs(found.nodes[0].rates / found.flow.scales)
    return found.flow.names[int(np.argmin(slowness))]


def _least_period(found: Shot, accuracy: float, rounds: int) -> tuple[Shot, int]:
    """An autonomous motion over its least period, and how many of these were found at first."""
    times = 1
    if not found.conditions.autonomous or PERIOD in found.conditions.fixed or found.conditions.exchange or _still(found):
        return found, times
    while (k := least_divisor(found, RETURNS)) > 1:
        try:
            part = close_orbit(divided(found, k), accuracy, rounds)
        except (ModelError, SolverError):
            break
        if (np.abs(part.nodes[0].values - found.nodes[0].values) > RETURNS * found.flow.scales).any():
            break  # another motion nearby, from which this one has branched
        found, times = part, times * k
    return found, times


def _still(found: Shot) -> bool:
    """Whether an autonomous motion does not move."""
    return float(np.linalg.norm(found.nodes[0].rates / found.flow.scales)) * found.period < STILL


def _repetition(flow: Flow, states: Array, period: float, p: Array) -> tuple[str, ...]:
    """Refuse equations that are not the same after the period, at states along the first guess; a note where they nearly are."""
    e, count = flow.equations, len(states)
    t = np.linspace(0.0, period, count)[:, None]
    everything = states, np.broadcast_to(flow.u, (count, len(flow.u))), np.broadcast_to(p, (count, len(p)))
    deviations, kept = deviations_of(e, flow.preferred), [flow.naming.names.index(name) for name in flow.names]
    now, later = (flow.naming.rates(deviations.derivatives(at, *everything))[:, kept] for at in (t, t + period))
    apart = np.abs(later - now).max(axis=0, initial=0.0)
    # over a period, relative to the deviation; or relative to its rate, whichever is smaller
    share = np.minimum(period * apart / flow.scales, apart / np.maximum(np.abs(now).max(axis=0, initial=0.0), 1e-300))
    if not share.size or float(share.max()) <= NEARLY_REPEATS:
        return ()
    name, most = flow.names[int(np.argmax(share))], float(share.max())
    if most > REPEATS:
        raise ArgumentError(
            f"{e.name}: the equations are not the same after period={period:.10g}: at equal states the rate of {name!r} differs "
            f"by {most:.2g} of its size, so that a motion would not repeat; give the period of the excitation or a multiple"
        )
    return (f"after this period the equations are the same only to {most:.1g} of the rate of {name!r}: give it with all digits",)


def cycle_of(found: Shot, ignorable: tuple[str, ...], notes: tuple[str, ...] = ()) -> Cycle:
    """The cycle of a converged shooting solution, with notes on its start."""
    flow = found.flow
    rate = found.nodes[0].rates if found.conditions.autonomous else None
    if rate is not None and _still(found):
        raise SolverError(_ended_at_rest(found))
    on_surface, regular = surface_of(found), found
    if on_surface:  # the multipliers are those of any phase
        regular = off_surfaces(found)
        rate = None if rate is None else regular.nodes[0].rates
        notes += (f"the motion begins on the switching surface of {on_surface}, where its monodromy matrix is that of one side",)
    notes += tuple(dict.fromkeys(warning for passage in regular.passages for warning in passage.warnings))
    multipliers = floquet(regular.monodromy, found.period, rate, flow.scales)
    error = max(multipliers.trivial_error, float(getattr(flow.method, "rtol", 0.0)))
    multipliers = replace(multipliers, trivial_error=error if rate is not None else multipliers.trivial_error)
    sure = sensitive_digits(regular.monodromy, rate, flow.scales, error)
    if sure < DIGITS:
        notes += (
            f"multipliers near each other are sensitive to errors of the integration: about {max(sure, 0.0):.0f} correct digits",
        )
    # where contacts stick, deviations have fewer dimensions: small multipliers are zero, and there are no factors of one size
    if not flow.equations.unilateral and unresolved(multipliers, regular.monodromy, flow.scales):
        multipliers = factored_floquet(multipliers, *factors(regular), flow.scales)
    return Cycle(found, multipliers, ignorable, notes)


def _ended_at_rest(found: Shot) -> str:
    text = f"{found.flow.equations.name}: the search ended in an equilibrium; start farther away from it"
    if found.conditions.fixed:
        return text
    one = found.flow.names[0]
    return f"{text}, or, for a motion of a family, as conservative systems have them, fix an initial value, fixed={{{one!r}: …}}"


def _peak(values: Array) -> float:
    """The largest value of a periodic sequence, by the parabola through it and its neighbors."""
    i = int(np.argmax(values))
    before, peak, after = values[i - 1], values[i], values[(i + 1) % len(values)]
    curvature = before - 2 * peak + after
    return float(peak) if curvature == 0.0 else float(peak - (after - before) ** 2 / (8 * curvature))


def _run(e: Equations, found: Shot, until: float, samples: int) -> Run:
    times = np.linspace(0.0, until, samples)
    p = found.nodes[0].p
    return integrate(e, found.nodes[0].x, until, parameters=p, inputs=found.flow.u, method=found.flow.method, samples=times)
