"""The type `Equations`: what every maker of equations fills and every user reads.

All programs of one system share the arguments (t, x, u, p): time, state, inputs, parameters. The state of a
mechanical system is its coordinates q followed by the independent velocities of the active choice; that of a
first-order system is just its unknowns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.program.dae_residual import DaeResidual
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program


@dataclass(frozen=True)
class Quantity:
    """A named number: a coordinate, velocity, input, parameter, multiplier or output."""

    name: str
    unit: str = ""
    description: str = ""
    default: float = 0.0


class Kind(StrEnum):
    """What a constraint residual means."""

    HOLONOMIC = "holonomic"  # a position constraint, its residual in meters or radians
    NONHOLONOMIC = "nonholonomic"  # a velocity constraint with no position constraint behind it
    NORM = "norm"  # unit length of a quaternion
    ALGEBRAIC = "algebraic"  # an equation of a differential-algebraic system without rates
    HIDDEN = "hidden"  # what differentiating such equations shows


@dataclass(frozen=True)
class Constraint:
    """One named residual. `level` is "position", "velocity" or, for conditions on multipliers, "acceleration"."""

    name: str
    kind: Kind
    level: str
    unit: str = ""


@dataclass(frozen=True)
class Event:
    """Something to notice: an expression that passes zero. `action` is "record" or "stop"."""

    name: str
    expression: str
    action: str = "record"
    direction: int = 0  # +1 rising, −1 falling, 0 both
    description: str = ""  # said in the status when a run stops here, e.g. "lean passed 80°"


def check_events(events: tuple[Event, ...]) -> None:
    """Refuse what is no event."""
    for event in events:
        if not isinstance(event, Event):
            raise ArgumentError(f"events: {event!r} is no event; write Event('its name', 'an expression that passes zero')")


@dataclass(frozen=True)
class RunLimits:
    """What only runs look at: when they change the choice of velocities, when and how often they project."""

    condition: float = 100.0  # of the choice of independent velocities: above it a run switches to another
    residual: float | None = None  # above it a run projects the state; by default a tenth of the method's tolerance
    projections: int = 4  # at most so many after a step; one does unless the drift was large


@dataclass(frozen=True, eq=False)
class Equations:
    """A named system of equations of motion, as programs of (t, x, u, p).

    - `dynamics`: → `xdot`; the hot path. A `LinearSolveProgram` where accelerations are solved for at run time; an `DaeResidual` where only
      0 = F(t, x, ẋ, u, p) is known, for implicit methods alone. Its unknowns, algebraic ones too, are all coordinates.
    - `report`: → `v` (all velocities), `multipliers`, `outputs`, `energy` (kinetic, potential, work done so far), `residuals`
      (one per entry of `constraints`), `power` (of each input).
    - `motion` (t, q, v, u, p): → `residuals`, `outputs` as functions of coordinates and *all* velocities, free of
      accelerations; consistent starts are solved on it. Outputs that need accelerations are listed in `force_outputs`
      and are absent here.
    - `project` (or None): → `x_new`, moved onto the position constraints by one Newton step, and `error`, the size of the
      residual before it.
    - `monitor` (or None): → `condition` of the choice of independent velocities; above `limits.condition` the run
      switches to one of the `alternates`.
    - `causes` (or None): → `value`, what the condition is made of; the labels are sentences that say what is singular.
    - `events`: → `value`, one per entry of `event_list`.
    """

    name: str
    coordinates: tuple[Quantity, ...]
    velocities: tuple[Quantity, ...]  # all of them; empty for first-order systems
    independent: tuple[str, ...]  # names of the velocities in the state, in order
    inputs: tuple[Quantity, ...]
    parameters: tuple[Quantity, ...]
    multipliers: tuple[Quantity, ...]
    outputs: tuple[Quantity, ...]
    force_outputs: frozenset[str]
    constraints: tuple[Constraint, ...]
    dynamics: Program | LinearSolveProgram | DaeResidual
    report: Program | LinearSolveProgram
    motion: Program
    project: Program | LinearSolveProgram | None = None
    monitor: Program | None = None
    events: Program | None = None
    event_list: tuple[Event, ...] = ()
    quaternions: tuple[tuple[str, str, str, str], ...] = ()  # coordinates that are unit quaternions, scalar first
    extra_states: tuple[Quantity, ...] = ()  # after coordinates and independent velocities: work of the inputs, …
    limits: RunLimits = RunLimits()
    alternates: tuple[tuple[str, ...], ...] = ()
    with_independent: Callable[[tuple[str, ...]], Equations] | None = None
    inverse_dynamics: Program | None = None
    causes: Program | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()  # notes that every run should repeat

    def __reduce__(self) -> tuple[Callable[[bytes], Equations], tuple[bytes]]:
        """Between processes equations travel as portable programs, their other choices of velocities with them."""
        from draisine.program.serialization import from_bytes, to_bytes

        return from_bytes, (to_bytes(self, alternates=True),)

    def __repr__(self) -> str:
        rest = f", {len(self.velocities)} velocities ({', '.join(self.independent)} independent)" if self.velocities else ""
        return f"<Equations of {self.name}: {len(self.coordinates)} coordinates{rest}, {self.dynamics.operations} operations>"

    @property
    def states(self) -> tuple[Quantity, ...]:
        speeds = {v.name: v for v in self.velocities}
        return (*self.coordinates, *(speeds[name] for name in self.independent), *self.extra_states)

    @property
    def explicit(self) -> Program | LinearSolveProgram:
        """The dynamics as ẋ = f(t, x, u, p), for those who need it so."""
        if isinstance(self.dynamics, DaeResidual):
            raise ArgumentError(
                f"{self.name} is given as 0 = F(t, x, ẋ), and nobody has solved it for ẋ; run it by an implicit method, or "
                "reduce its index first (reduce_index)"
            )
        return self.dynamics

    def translated(
        self, new: Equations, t: float, x: NDArray[np.float64], u: NDArray[np.float64], p: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The same state in terms of another choice of independent velocities."""
        slots = [slot.name for slot in self.report.outputs]
        velocities = dict(zip((v.name for v in self.velocities), self.report([t], x, u, p)[slots.index("v")], strict=True))
        q, r = len(self.coordinates), len(self.independent)
        return np.concatenate([x[:q], [velocities[name] for name in new.independent], x[q + r :]])

    @property
    def default_parameters(self) -> NDArray[np.float64]:
        return np.array([p.default for p in self.parameters])
