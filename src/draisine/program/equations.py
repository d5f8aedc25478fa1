"""`Equations`: the equations of motion of a system as programs, with what starts know of a mechanism besides (`Structure`).

All programs of a system have the arguments (t, x, u, p): time, state, inputs, parameters. The state of a mechanical system
consists of its coordinates q and the chosen independent velocities; that of a first-order system of its unknowns.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program
from draisine.program.serialization import Format, Header, from_bytes, register, to_bytes
from draisine.results.base import html_table
from draisine.results.control_characters import refuse_control_characters


class GroundPose(NamedTuple):
    """Where a tree of bodies stands on the ground: the coordinates that shift and turn all of it."""

    coordinates: tuple[str, ...]  # all of the tree
    points: tuple[tuple[str, str], ...]  # pairs along the world's x and y, the tree's own position first; "" for none
    heading: tuple[str, ...]  # a unit quaternion, scalar first, or an angle about the vertical, or nothing


@dataclass(frozen=True)
class Structure:
    """Parts of a mechanism by name, in the order in which a start sets motions to rest."""

    poses: tuple[GroundPose, ...] = ()
    slips: tuple[tuple[str, str], ...] = ()  # outputs: longitudinal slip of a wheel; the rate of its spin, "" for none
    driven: tuple[str, ...] = ()  # rates of joints that carry an input, a force or a spring
    bodies: tuple[str, ...] = ()  # of which `Equations.twists` has the rows, the root body first
    speeds: tuple[tuple[str, str], ...] = ()  # velocities and outputs that measure the speed of a body; the body
    ignorable: tuple[str, ...] = ()  # rates of spins whose angle enters neither the dynamics nor the constraints

    def as_header(self) -> dict[str, Any]:
        """Plain lists of names, for storage."""
        found: dict[str, Any] = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return found | {"poses": [[pose.coordinates, pose.points, pose.heading] for pose in self.poses]}

    @staticmethod
    def from_header(header: dict[str, Any]) -> Structure:
        """The inverse of `as_header`."""
        poses = tuple(GroundPose(tuple(c), _pairs(points), tuple(h)) for c, points, h in header["poses"])
        names = {key: tuple(header[key]) for key in ("driven", "bodies", "ignorable")}
        return Structure(poses, slips=_pairs(header["slips"]), speeds=_pairs(header["speeds"]), **names)


def _pairs(given: list[list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((first, second) for first, second in given)


NO_STRUCTURE = Structure()


class Quantity(NamedTuple):
    """A named quantity: a coordinate, velocity, input, parameter, multiplier or output."""

    name: str
    unit: str = ""
    description: str = ""
    default: float = 0.0


class DependentQuantity(NamedTuple):
    """A parameter defined by an expression of the parameters; `default` is its value at their defaults."""

    name: str
    expression: str
    unit: str = ""
    description: str = ""
    default: float = 0.0


MINUS_TENSION = "minus the tension of cable"  # begins the description of a cable's multiplier
SPRING_LOAD = "normal force of the spring of"  # … and that of a normal force by vertical stiffness, which is never negative


class Kind(StrEnum):
    """Kinds of constraint residuals."""

    HOLONOMIC = "holonomic"  # a position constraint
    NONHOLONOMIC = "nonholonomic"  # a velocity constraint that is not integrable
    NORM = "norm"  # unit norm of a quaternion
    ALGEBRAIC = "algebraic"  # an algebraic equation of a differential-algebraic system
    HIDDEN = "hidden"  # a hidden constraint, found by differentiation


class Constraint(NamedTuple):
    """A named residual. `level` is "position", "velocity" or, for conditions on multipliers, "acceleration"."""

    name: str
    kind: Kind
    level: str
    unit: str = ""


# Compliance of the dry friction of joints relative to that of contacts: where forces are not unique, contacts and stops carry.
YIELDING = 10.0


class ValidRange(NamedTuple):
    """An output that has to stay in a range for the data of the model to hold: a run outside of it has a warning."""

    output: str
    low: float
    high: float
    reason: str = ""  # "the range of the tire file"


@dataclass(frozen=True)
class Unilateral:
    """A contact that may slip and open: the indices of its rows among the multipliers, the tangential ones in sequence.

    `normal` is −1 where friction is a given force, as in joints, or proportional to the normal force of its `host`.
    """

    name: str
    normal: int
    tangential: int
    count: int
    impact: str = "energetic"
    stands: bool = False  # by default it is closed at a start
    unit: str = "m"  # of its gap
    sequential: bool = False  # impacts of several contacts come one after the other
    bounded: bool = False  # it ends where it would not land
    host: int = -1  # the number of the contact whose resistance to rolling or drilling it is
    without_collision: bool = False  # an impact ends its slip where no motion satisfies the law of friction
    compliance: tuple[float, ...] = ()  # of its rows, where they may depend on others: forces that are not determined follow it

    @property
    def rows(self) -> tuple[int, ...]:
        """The normal row, then the tangential ones."""
        tangential = range(self.tangential, self.tangential + self.count)
        return tuple(tangential) if self.normal < 0 else (self.normal, *tangential)


# while wheels roll and other contacts are open
USUAL_PROGRAMS = ("usual_dynamics", "usual_margins", "usual_project", "usual_report")


@dataclass(frozen=True)
class Event:
    """An event: an expression that crosses zero. `action` is "record" or "stop"."""

    name: str
    expression: str
    action: str = "record"
    direction: int = 0  # +1 rising, −1 falling, 0 both
    description: str = ""  # part of the status if a simulation stops here, e.g. "lean passed 80°"
    ending: str = "EVENT"  # kind of that status; with another one, the run is valid only while the expression is positive

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise ArgumentError(f"an event needs a name, got {self.name!r}; write Event('name', 'expression that crosses zero')")
        if not isinstance(self.description, str):
            raise ArgumentError(f"event {self.name!r}: its description must be a text, got {self.description!r}")
        refuse_control_characters(f"the name of event {self.name!r}", self.name, ArgumentError)
        refuse_control_characters(f"the description of event {self.name!r}", self.description, ArgumentError)
        if not isinstance(self.expression, str) or not self.expression.strip():
            raise ArgumentError(
                f"event {self.name!r}: its expression must be a text such as 'lean - 1', which crosses zero at the event, "
                f"got {self.expression!r}"
            )
        if not isinstance(self.action, str) or self.action not in ("stop", "record"):
            raise ArgumentError(f"event {self.name!r}: action must be 'stop' or 'record', got {self.action!r}")
        if not isinstance(self.direction, int | float) or self.direction not in (-1, 0, 1):
            raise ArgumentError(
                f"event {self.name!r}: direction must be 1 (rising), -1 (falling) or 0 (both), got {self.direction!r}"
            )


def check_events(events: tuple[Event, ...], own: Iterable[str] = ()) -> None:
    """Check the types of events, and that no two have one name; `own` are the names of the model's events."""
    known = set(own)
    for event in events:
        if not isinstance(event, Event):
            raise ArgumentError(f"events: {event!r} is not an event; write Event('name', 'expression that crosses zero')")
        if event.name in known:
            whose = "the model has an event of this name" if event.name in set(own) else "two events have this name"
            raise ArgumentError(f"event {event.name!r}: {whose}, and results tell events apart by name; give it another")
        known.add(event.name)


ENERGIES = ("kinetic_energy", "potential_energy", "work")  # of a report, in J
FIXED_STEP_RESIDUAL = 1e-11  # above it methods with a fixed step project states onto their constraints


class RunLimits(NamedTuple):
    """Limits for simulations: when to change the independent velocities, when and how often to project."""

    condition: float = 100.0  # condition number above which a simulation changes its independent velocities
    residual: float | None = (
        None  # above it the state is projected; default: a tenth of the tolerance; ∞: drift is not controlled
    )
    projections: int = 4  # maximum per step; one is enough unless the drift is large
    monitored: bool = True  # whether a run ends where the residual stays large after these; not if invariants are part of it
    length: float = 1.0  # typical length, relative to which a residual is large


USUAL_LIMITS = RunLimits()


@dataclass(frozen=True, eq=False)
class Equations:
    """A named system of equations of motion, as programs of (t, x, u, p).

    - `dynamics`: → `xdot`. A `LinearSolveProgram` if accelerations are solved for at run time; a `DaeResidual` if only
      0 = F(t, x, ẋ, u, p) is known, for implicit methods; then all unknowns, algebraic ones included, are coordinates.
    - `report`: → `v` (all velocities), `multipliers`, `outputs`, `energy` (`ENERGIES`), `residuals` (one per entry
      of `constraints`), `power` (of each input).
    - `motion` (t, q, v, u, p): → `residuals`, `outputs` as functions of coordinates and *all* velocities, without
      accelerations, for consistent initial values. Outputs that need accelerations are listed in `force_outputs` and missing
      here.
    - `project` (or None): → `x_new`, after one Newton step towards the position constraints, and `error`, the residual before it.
    - `monitor` (or None): → `condition` of the choice of independent velocities; above `limits.condition` a simulation changes to
      one of the `alternates`: names of independent velocities, then of the constraint rows to solve for where some are redundant.
    - `inverse_dynamics` (q, v, vdot, p) (or None): → `generalized_forces` M v̇ + h that a motion needs, gravity included, without
      the other forces of the model (springs, dampers, friction, inputs), which are on the other side.
    - `causes` (or None): → `value`, the parts of the condition number; the labels describe what is singular.
    - `events`: → `value`, one per entry of `event_list`; with a linear solve if an event depends on forces that need one.
    - `twists` (q, v, p): → `twists`, velocity of the origin and angular velocity of the bodies that `structure` names, along
      axes of theirs that by default are forward, left and up; of a balanced wheel without its spin.
    - `second_contacts` (t, q, p) (or None): → `details` of wheels on curved ground, for the status GROUND_TOO_SHARP.
    - `unilateral` contacts: their modes follow the parameters in p (`mode_parameters`). `contact_margins` → `margins`, positive
      inside the modes; `contact_terms` → what a change of modes needs; `contact_system` (or None) → factors of the mass matrix
      and what else the dynamics of any mode follow from. `usual_dynamics`, `usual_margins` and `usual_project`
      are the same, with reduced equations, while wheels roll and other contacts are open; behind these margins is the condition
      of the independent velocities. `usual_report` → what `report` has, and this `condition`.
    """

    name: str
    coordinates: tuple[Quantity, ...]
    velocities: tuple[Quantity, ...]  # all velocities; empty for first-order systems
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
    events: Program | LinearSolveProgram | None = None
    event_list: tuple[Event, ...] = ()
    quaternions: tuple[tuple[str, str, str, str], ...] = ()  # coordinates that are unit quaternions, scalar first
    extra_states: tuple[Quantity, ...] = ()  # after coordinates and independent velocities: work of the inputs, …
    limits: RunLimits = USUAL_LIMITS
    alternates: tuple[tuple[str, ...], ...] = ()
    rows: tuple[str, ...] = ()  # names of the constraint rows that are solved for, where a run may have to take others
    with_independent: Callable[[tuple[str, ...]], Equations] | None = None
    inverse_dynamics: Program | None = None
    causes: Program | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()  # repeated by every simulation
    twists: Program | None = None
    second_contacts: Program | None = None
    structure: Structure = NO_STRUCTURE  # of a mechanism, for starts
    dependent_parameters: tuple[DependentQuantity, ...] = ()
    unilateral: tuple[Unilateral, ...] = ()
    mode_parameters: tuple[Quantity, ...] = ()  # `mode_entries` of each of them; a run sets them, not the user
    contact_margins: Program | LinearSolveProgram | None = None
    contact_terms: Program | None = None
    contact_system: Program | None = None
    usual_dynamics: Program | None = None
    usual_margins: Program | None = None
    usual_project: Program | None = None
    usual_report: Program | None = None
    valid_ranges: tuple[ValidRange, ...] = ()
    left_out: tuple[tuple[str, str, str], ...] = ()  # parameters of parts that are zero and therefore none: name, unit, part
    described: Any = None  # the `System` of a derivation, by which given parameters are checked; not stored

    def __post_init__(self) -> None:
        named = (
            self.coordinates,
            self.velocities,
            self.inputs,
            self.parameters,
            self.multipliers,
            self.outputs,
            self.constraints,
        )
        refuse_control_characters("the name of a system", self.name)
        items: Iterable[Any] = itertools.chain(*named, self.extra_states, self.dependent_parameters)
        for item in items:
            refuse_control_characters("a name", item.name)
            refuse_control_characters(f"the unit of {item.name!r}", item.unit)
            refuse_control_characters(f"the description of {item.name!r}", getattr(item, "description", ""))

    def __reduce__(self) -> tuple[Callable[[bytes], Equations], tuple[bytes]]:
        """Pickled as serialized programs, with all other choices of independent velocities."""
        return _from_bytes, (to_bytes(self, alternates=True),)

    def _repr_html_(self) -> str:
        """For notebooks: states, inputs, parameters and outputs with their units."""
        e = self
        groups = {"state": e.states, "input": e.inputs, "parameter": e.parameters, "output": e.outputs}
        listed = [(kind, q) for kind, quantities in groups.items() for q in quantities]
        table: dict[str, list[Any]] = {"kind": [kind for kind, _ in listed], "name": [q.name for _, q in listed]}
        # inputs and outputs have no default
        table["default"] = [q.default if kind in ("state", "parameter") else None for kind, q in listed]
        table |= {"unit": [q.unit for _, q in listed], "description": [q.description for _, q in listed]}
        return html_table(repr(self)[1:-1], table, shown=100)

    def __repr__(self) -> str:
        rest = f", {len(self.velocities)} velocities ({', '.join(self.independent)} independent)" if self.velocities else ""
        return f"<Equations of {self.name}: {len(self.coordinates)} coordinates{rest}, {self.dynamics.operations} operations>"

    @property
    def states(self) -> tuple[Quantity, ...]:
        speeds = {v.name: v for v in self.velocities}
        return (*self.coordinates, *(speeds[name] for name in self.independent), *self.extra_states)

    @property
    def variations(self) -> int:
        """The number of directions whose derivatives are part of the state."""
        return 0

    @property
    def can_switch(self) -> bool:
        """Whether the dynamics have operations of which value or slope can jump; `switching` finds where they do."""
        return self.dynamics.can_switch

    @property
    def can_be_sharp(self) -> bool:
        """Whether the dynamics have functions of time alone that may vary suddenly; `sharp_functions` finds where they do."""
        return self.dynamics.can_be_sharp

    @property
    def choice(self) -> tuple[str, ...]:
        """What `alternates` replaces: the independent velocities, and the rows that are solved for where these are chosen."""
        return (*self.independent, *self.rows)

    @property
    def explicit(self) -> Program | LinearSolveProgram:
        """The dynamics as ẋ = f(t, x, u, p)."""
        if isinstance(self.dynamics, DaeResidual):
            raise ArgumentError(
                f"{self.name} is given as 0 = F(t, x, ẋ) and not solved for ẋ; use an implicit method, or "
                "reduce its index first (reduce_index)"
            )
        return self.dynamics

    def translated(
        self, new: Equations, t: float, x: NDArray[np.float64], u: NDArray[np.float64], p: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The same state for another choice of independent velocities and rows; NaN at a singular position."""
        if new.independent == self.independent:
            return x.copy()
        slots = [slot.name for slot in self.report.outputs]
        try:
            reported = self.report([t], x, u, p)[slots.index("v")]
        except np.linalg.LinAlgError:
            reported = np.full(len(self.velocities), np.nan)
        velocities = dict(zip((v.name for v in self.velocities), reported, strict=True))
        q, r = len(self.coordinates), len(self.independent)
        return np.concatenate([x[:q], [velocities[name] for name in new.independent], x[q + r :]])

    @property
    def arguments(self) -> tuple[Quantity, ...]:
        """The entries of p: the parameters, then the modes of unilateral contacts."""
        return (*self.parameters, *self.mode_parameters)

    def in_usual_modes(self, p: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether all contacts are in their usual modes, for parameters with modes (…, parameters)."""
        modes = p[..., len(self.parameters) :].reshape(*p.shape[:-1], len(self.unilateral), -1)
        stands = np.array([contact.stands for contact in self.unilateral])
        closed, sticks = modes[..., 0] != 0.0, modes[..., 1] != 0.0
        return np.asarray((np.where(stands, closed & sticks, ~closed)).all(axis=-1))

    @property
    def default_parameters(self) -> NDArray[np.float64]:
        """p by default; unilateral contacts are closed and stick."""
        return np.array([p.default for p in self.arguments])


# -------------------------------------------------------------------- serialization

_QUANTITIES = ("coordinates", "velocities", "inputs", "parameters", "multipliers", "outputs", "extra_states")
_RECORDS: dict[str, type[Any]] = {**dict.fromkeys(_QUANTITIES, Quantity), "constraints": Constraint, "event_list": Event}
_RECORDS |= {"dependent_parameters": DependentQuantity, "unilateral": Unilateral, "mode_parameters": Quantity}
_RECORDS |= {"valid_ranges": ValidRange}
_PROGRAMS = (
    *("dynamics", "report", "motion", "project", "monitor", "events", "inverse_dynamics", "causes", "twists"),
    *("second_contacts", "contact_margins", "contact_terms", "contact_system"),
    *USUAL_PROGRAMS,
)
_NOT_STORED = frozenset({"with_independent", "described"})  # a function, and a description


def _from_bytes(data: bytes) -> Equations:
    """`serialization.from_bytes`, by a name whose import registers the format below."""
    equations: Equations = from_bytes(data)
    return equations


def _header(e: Equations, write: Callable[[Any], Header | None]) -> Header:
    header: Header = {}
    for entry in fields(e):
        value = getattr(e, entry.name)
        if entry.name in _PROGRAMS:
            header[entry.name] = write(value)
        elif entry.name in _RECORDS:
            header[entry.name] = [[getattr(record, name) for name in record.__match_args__] for record in value]
        elif entry.name == "limits":
            header[entry.name] = [value.condition, value.residual, value.projections, value.monitored, value.length]
        elif entry.name == "force_outputs":
            header[entry.name] = sorted(value)
        elif entry.name == "structure":
            header[entry.name] = value.as_header()
        elif entry.name not in _NOT_STORED:
            header[entry.name] = value
    return header


def _restored(header: Header, read: Callable[[Header | None], Any]) -> Equations:
    values = dict(header)
    for name, record in _RECORDS.items():
        values[name] = tuple(record(*entries) for entries in header[name])
    values["constraints"] = tuple(c._replace(kind=Kind(c.kind)) for c in values["constraints"])
    for name in _PROGRAMS:
        values[name] = read(header[name])
    values["force_outputs"] = frozenset(header["force_outputs"])
    values["limits"] = RunLimits(*header["limits"])
    values["structure"] = Structure.from_header(header["structure"])
    for name in ("independent", "rows", "notes", "warnings"):
        values[name] = tuple(header[name])
    for name in ("quaternions", "alternates", "left_out"):
        values[name] = tuple(tuple(names) for names in header[name])
    return Equations(**values)


register("equations", Format(Equations, _header, _restored))
