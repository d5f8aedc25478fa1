"""The nouns of a description: frozen records with names, and nothing derived.

Every amount is an expression of parameters (`Expr`); `Model` makes these records and `System` holds them.
Vectors are given in the axes of the body they belong to; inertia is about the centre of mass.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from draisine.program.expression import Expr, Number
from draisine.program.tables import Table

Vector = tuple[Expr, Expr, Expr]

GROUND = "ground"  # the name of the fixed world frame: z up, gravity along −z
NOTHING = Number(0.0)


@dataclass(frozen=True)
class Parameter:
    """A named constant; it stays symbolic in compiled code."""

    name: str
    default: float
    unit: str = ""
    about: str = ""


@dataclass(frozen=True)
class Input:
    """A quantity given from outside: a torque, a force, a road."""

    name: str
    unit: str = ""
    about: str = ""


@dataclass(frozen=True)
class Inertia:
    """Moments and products of inertia about the centre of mass, as entries of the tensor: xy = −∫ x y dm."""

    xx: Expr
    yy: Expr
    zz: Expr
    xy: Expr = NOTHING
    yz: Expr = NOTHING
    zx: Expr = NOTHING


@dataclass(frozen=True)
class Body:
    """A rigid body: mass, centre of mass and inertia in its own axes."""

    name: str
    mass: Expr
    centre: Vector
    inertia: Inertia
    about: str = ""


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
    turned: tuple[Rotate, ...] = ()


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
    """A circle (or, with a tube, a torus) of a body that rolls on the ground without slip.

    `radius` is that of the circle of tube centres; a knife-edge disc has `tube` = 0.
    """

    name: str
    body: str
    centre: Vector
    axis: str
    radius: Expr
    tube: Expr = NOTHING


@dataclass(frozen=True)
class KnifeEdge:
    """A blade at a point: no velocity across the blade, in the ground plane; `on_ground` also holds its height."""

    name: str
    body: str
    at: Vector
    along: str
    on_ground: bool = False


@dataclass(frozen=True)
class Tie:
    """A constraint between bodies beyond the tree's joints: residuals that stay zero, each with its own name.

    `level` is "position" for f(q, t) = 0 (it may move in time) and "velocity" for g(q, t)·v + g₀(q, t) = 0. Closed loops,
    gears, cables and prescribed motions are all ties; the residuals of one tie are solved for together.
    """

    name: str
    residuals: tuple[tuple[str, Expr], ...]
    level: str = "position"
    unit: str = "m"


@dataclass(frozen=True)
class Ground:
    """The plane that wheels and edges touch; slope rises along +x, bank rises along +y, gravity stays vertical."""

    slope: Expr = NOTHING
    bank: Expr = NOTHING


@dataclass(frozen=True)
class Effort:
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
    about: str = ""


@dataclass(frozen=True)
class Watch:
    """An event of the model itself, such as falling over."""

    name: str
    expression: Expr
    action: str = "stop"
    direction: int = 0
    about: str = ""


@dataclass(frozen=True)
class System:
    """A finished description. Equal systems have equal equations; `Model.freeze()` makes it and checks it."""

    name: str
    about: str
    gravity: Expr
    ground: Ground
    parameters: tuple[Parameter, ...]
    inputs: tuple[Input, ...]
    bodies: tuple[Body, ...]
    points: tuple[Point, ...]
    joints: tuple[Joint, ...]
    wheels: tuple[Wheel, ...]
    edges: tuple[KnifeEdge, ...]
    efforts: tuple[Effort, ...]
    wrenches: tuple[Wrench, ...]
    potentials: tuple[Potential, ...]
    tables: tuple[Table, ...]
    outputs: tuple[Output, ...]
    watches: tuple[Watch, ...]
    ties: tuple[Tie, ...] = ()
    independent: tuple[str, ...] = ()  # the user's choice of independent velocities, or empty for ours

    def __hash__(self) -> int:
        """Computed once: derivations are remembered by it, and it covers every expression of the description."""
        found = self.__dict__.get("_hash")
        if found is None:
            found = hash(tuple(getattr(self, f.name) for f in fields(self)))
            object.__setattr__(self, "_hash", found)
        return found

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        return tuple(c for joint in self.joints for c in joint.coordinates)

    @property
    def velocities(self) -> tuple[Velocity, ...]:
        """All velocities, in the order of the joints."""
        return tuple(v for joint in self.joints for v in joint.velocities)
