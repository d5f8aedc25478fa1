"""The nouns of a description: frozen records with names, and nothing derived.

Every amount is an expression of parameters (`Expr`); `Model` makes these records and `System` holds them.
Vectors are given in the axes of the body they belong to; inertia is about the center of mass.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from draisine.expr.expression import Expr, Number, names
from draisine.expr.tables import Table
from draisine.model.contact_laws import ROLLING, Rolling, TangentialLaw
from draisine.model.shapes import BodyShape

Vector = tuple[Expr, Expr, Expr]

GROUND = "ground"  # the name of the fixed world frame: z up, gravity along −z
NOTHING = Number(0.0)


@dataclass(frozen=True)
class Parameter:
    """A named constant; it stays symbolic in compiled code."""

    name: str
    default: float
    unit: str = ""
    description: str = ""


@dataclass(frozen=True)
class Input:
    """A quantity given from outside: a torque, a force, a road."""

    name: str
    unit: str = ""
    description: str = ""


@dataclass(frozen=True)
class Inertia:
    """Moments and products of inertia about the center of mass, as entries of the tensor: xy = −∫ x y dm."""

    xx: Expr
    yy: Expr
    zz: Expr
    xy: Expr = NOTHING
    yz: Expr = NOTHING
    zx: Expr = NOTHING


@dataclass(frozen=True)
class Body:
    """A rigid body: mass, center of mass and inertia in its own axes."""

    name: str
    mass: Expr
    center_of_mass: Vector
    inertia: Inertia
    description: str = ""
    shapes: tuple[BodyShape, ...] = ()  # how it looks; made up where nothing is said


@dataclass(frozen=True)
class Rotate:
    """Turn about an axis by an angle that is constant or affine in one coordinate of the joint."""

    axis: str
    angle: Expr


@dataclass(frozen=True)
class Point:
    """A named point of a body, given in the body's axes; with turns it is a frame with axes of its own."""

    name: str
    body: str
    at: Vector
    orientation: tuple[Rotate, ...] = ()


@dataclass(frozen=True)
class Coordinate:
    """A joint coordinate with the name of its rate, and the range over which a choice of speeds is judged."""

    name: str
    rate: str
    unit: str
    default: float = 0.0
    low: float = -1.0
    high: float = 1.0


@dataclass(frozen=True)
class Velocity:
    """A name in the list of velocities, with its unit."""

    name: str
    unit: str


@dataclass(frozen=True)
class Translate:
    """Shift along the axes; each component is constant or affine in one coordinate of the joint."""

    by: Vector


@dataclass(frozen=True)
class Ball:
    """Turn freely, by a unit quaternion (four coordinates, scalar first) with body-axes rates (three velocities)."""

    quaternion: tuple[str, str, str, str]
    rates: tuple[str, str, str]

    @property
    def moved(self) -> tuple[str, ...]:
        """Coordinates that move by the displacement's own velocities."""
        return self.quaternion

    @property
    def velocities(self) -> tuple[Velocity, ...]:
        return tuple(Velocity(n, "rad/s") for n in self.rates)


@dataclass(frozen=True)
class Float:
    """Move freely: position in the parent's axes, unit quaternion, and the body's own twist η = (V, Ω)."""

    position: tuple[str, str, str]
    quaternion: tuple[str, str, str, str]
    velocity: tuple[str, str, str]
    rates: tuple[str, str, str]

    @property
    def moved(self) -> tuple[str, ...]:
        return (*self.position, *self.quaternion)

    @property
    def velocities(self) -> tuple[Velocity, ...]:
        return (*(Velocity(n, "m/s") for n in self.velocity), *(Velocity(n, "rad/s") for n in self.rates))


@dataclass(frozen=True)
class Glide:
    """Move freely in the ground's x–y plane: position, heading (a coordinate with its own rate), and the body's own velocity
    along its axes. In these, what a blade or wheel forbids does not depend on the heading."""

    position: tuple[str, str]
    heading: str
    velocity: tuple[str, str]

    @property
    def moved(self) -> tuple[str, ...]:
        return self.position

    @property
    def velocities(self) -> tuple[Velocity, ...]:
        return tuple(Velocity(n, "m/s") for n in self.velocity)


Displacement = Rotate | Translate | Ball | Float | Glide


@dataclass(frozen=True)
class Joint:
    """An arrow of the graph: the child's frame reached from the parent's by a chain of displacements [T, B]."""

    name: str
    parent: str
    child: str
    chain: tuple[Displacement, ...]
    coordinates: tuple[Coordinate, ...] = ()

    @property
    def velocities(self) -> tuple[Velocity, ...]:
        """Velocities of free displacements first, then the rates of the coordinates."""
        own = [v for step in self.chain if isinstance(step, Ball | Float | Glide) for v in step.velocities]
        return (*own, *(Velocity(c.rate, f"{c.unit}/s") for c in self.coordinates if c.rate))


@dataclass(frozen=True)
class Wheel:
    """A circle (or, with a tube, a torus) of a body that touches the ground: it rolls without slip, or slips by a law.

    `radius` is that of the circle of tube centers; a knife-edge disc has `tube` = 0.
    """

    name: str
    body: str
    center: Vector
    axis: str
    radius: Expr
    tube: Expr = NOTHING
    contact: TangentialLaw = ROLLING

    @property
    def place(self) -> tuple[Coordinate, Coordinate]:
        """Where it touches a curved ground: surface parameters x and y, which the contact itself determines."""
        x, y = (Coordinate(f"{self.name}_place_{axis}", f"{self.name}_place_{axis}_rate", "m") for axis in "xy")
        return x, y

    @property
    def lags(self) -> tuple[Coordinate, ...]:
        """Slips along and across that a tire with a relaxation length remembers; they have rates, but no velocities."""
        return _lags(self.name, self.contact)


@dataclass(frozen=True)
class KnifeEdge:
    """A blade at a point: no velocity across the blade, in the ground plane; `on_ground` also holds its height."""

    name: str
    body: str
    at: Vector
    along: str
    on_ground: bool = False


@dataclass(frozen=True)
class SurfaceContact:
    """Two bodies touch along surfaces: points as functions of two surface parameters each, in the axes of their frames.

    `matter` is the body that rubs, where it is not the first itself: a wheel that spins in it. `velocity` is that of the second's
    matter in its own axes, beyond the motion of its body: a belt, a track that runs past. `along` is the axis of the first that
    shows where it goes. Without a law nothing acts along the surfaces.
    """

    name: str
    first: str
    surface: Vector
    parameters: tuple[str, str]
    second: str
    second_surface: Vector
    second_parameters: tuple[str, str]
    matter: str
    along: str = "x"
    velocity: Vector = (NOTHING, NOTHING, NOTHING)
    contact: TangentialLaw | None = None

    @property
    def lags(self) -> tuple[Coordinate, ...]:
        return _lags(self.name, self.contact)


def _lags(name: str, law: TangentialLaw | None) -> tuple[Coordinate, ...]:
    return tuple(Coordinate(f"{name}_lag_{way}", "", "") for way in ("along", "across") if law is not None and law.relaxes)


@dataclass(frozen=True)
class ResidualConstraint:
    """A constraint between bodies beyond the tree's joints: residuals that stay zero, each with its own name.

    `level` is "position" for f(q, t) = 0 (it may move in time) and "velocity" for g(q, t)·v + g₀(q, t) = 0. Closed loops,
    gears, cables and prescribed motions are all ties; the residuals of one tie are solved for together. Those in `plain` are
    cosines of angles and have no unit; `unit` is that of the others.
    """

    name: str
    residuals: tuple[tuple[str, Expr], ...]
    level: str = "position"
    unit: str = "m"
    plain: tuple[str, ...] = ()

    def unit_of(self, residual: str) -> str:
        """The unit of one of the residuals, by name."""
        return "" if residual in self.plain else self.unit


@dataclass(frozen=True)
class Ground:
    """The surface z = x tan(slope) + y tan(bank) + height(x, y, t) that wheels touch; gravity stays vertical.

    `velocity` is that of the ground's own matter along x and y, as a function of place and time: a belt, a turntable. Along z
    it moves as the surface does.
    """

    slope: Expr = NOTHING
    bank: Expr = NOTHING
    height: Expr = NOTHING
    velocity: tuple[Expr, Expr] = (NOTHING, NOTHING)
    shapes: tuple[BodyShape, ...] = ()  # what stands on it: rails, walls

    @property
    def curved(self) -> bool:
        """Whether its normal may differ from place to place."""
        return bool(names(self.height) & {"x", "y"})

    @property
    def still(self) -> bool:
        """Whether it is a plane at rest."""
        return self.height == NOTHING and self.velocity == (NOTHING, NOTHING)


@dataclass(frozen=True)
class GeneralizedForce:
    """A force conjugate to a measure: power = amount · d(measure)/dt. A joint torque has measure = its coordinate."""

    name: str
    measure: Expr
    amount: Expr


@dataclass(frozen=True)
class Wrench:
    """A force and a torque at a named point, in the axes of its body or of the world."""

    name: str
    point: str
    force: Vector
    torque: Vector
    axes: str = "world"


@dataclass(frozen=True)
class Potential:
    """A potential energy as an expression of coordinates and of measures of position."""

    name: str
    energy: Expr


@dataclass(frozen=True)
class Output:
    """A named quantity: it can be wished for at the start, plotted, made an event, used in a law."""

    name: str
    expression: Expr
    unit: str = ""
    description: str = ""


@dataclass(frozen=True)
class ModelEvent:
    """An event of the model itself, such as falling over."""

    name: str
    expression: Expr
    action: str = "stop"
    direction: int = 0
    description: str = ""


@dataclass(frozen=True)
class System:
    """A finished description. Equal systems have equal equations; `Model.freeze()` makes it and checks it."""

    name: str
    description: str
    gravity: Expr
    ground: Ground
    parameters: tuple[Parameter, ...]
    inputs: tuple[Input, ...]
    bodies: tuple[Body, ...]
    points: tuple[Point, ...]
    joints: tuple[Joint, ...]
    wheels: tuple[Wheel, ...]
    edges: tuple[KnifeEdge, ...]
    generalized_forces: tuple[GeneralizedForce, ...]
    wrenches: tuple[Wrench, ...]
    potentials: tuple[Potential, ...]
    tables: tuple[Table, ...]
    outputs: tuple[Output, ...]
    events: tuple[ModelEvent, ...]
    constraints: tuple[ResidualConstraint, ...] = ()
    surface_contacts: tuple[SurfaceContact, ...] = ()
    surface_parameters: tuple[Coordinate, ...] = ()  # coordinates of no body: places along profiles, held by ties
    independent: tuple[str, ...] = ()  # the user's choice of independent velocities, or empty for ours

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone: hashes of texts differ between processes."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @cached_property
    def _hash(self) -> int:
        """Computed once: derivations are remembered by it, and it covers every expression of the description."""
        return hash(tuple(getattr(self, f.name) for f in fields(self)))

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """Those of the joints; after them surface parameters, and what tires remember."""
        lags = [lag for wheel in self.wheels for lag in wheel.lags] + [lag for c in self.surface_contacts for lag in c.lags]
        return (*(c for joint in self.joints for c in joint.coordinates), *self.massless, *lags)

    @property
    def massless(self) -> tuple[Coordinate, ...]:
        """Surface parameters: the user's, and places of wheels on curved ground."""
        places = [place for wheel in self.wheels for place in wheel.place] if self.ground.curved else []
        return (*self.surface_parameters, *places)

    @property
    def velocities(self) -> tuple[Velocity, ...]:
        """All velocities, in the order of the coordinates."""
        joints = [v for joint in self.joints for v in joint.velocities]
        return (*joints, *(Velocity(c.rate, f"{c.unit or '1'}/s") for c in self.massless))

    def touches(self, wheel: Wheel) -> bool:
        """Whether a wheel is held by ties at its contact: anything but ideal rolling on a plane at rest."""
        return not (self.ground.still and isinstance(wheel.contact, Rolling))
