"""Items of a model description: frozen records, collected in `System`.

Every amount is an expression of parameters (`Expr`). `Model` creates the items. Vectors are in the axes of the body they belong
to; inertia is about the center of mass.
"""

from typing import TYPE_CHECKING, NamedTuple

from draisine.expr.expression import Expr, Number, names
from draisine.model.ground_profile import Vertex

if TYPE_CHECKING:
    from draisine.model.shapes import BodyShape

Vector = tuple[Expr, Expr, Expr]

GROUND = "ground"  # the name of the fixed world frame: z up
NOTHING = Number(0.0)
ALL = Number(1.0)


class Parameter(NamedTuple):
    """A named constant. It is an argument of the compiled code, not a number in it."""

    name: str
    default: float
    unit: str = ""
    description: str = ""


class DependentParameter(NamedTuple):
    """A named constant defined by other parameters: not an argument of the compiled code, but an expression in it."""

    name: str
    expression: Expr
    unit: str = ""
    description: str = ""


class Input(NamedTuple):
    """An external input: a torque, a force, a road profile."""

    name: str
    unit: str = ""
    description: str = ""


class Inertia(NamedTuple):
    """Moments and products of inertia about the center of mass, as entries of the tensor: xy = −∫ x y dm."""

    xx: Expr
    yy: Expr
    zz: Expr
    xy: Expr = NOTHING
    yz: Expr = NOTHING
    zx: Expr = NOTHING


class Body(NamedTuple):
    """A rigid body: mass, center of mass and inertia in its own axes."""

    name: str
    mass: Expr
    center_of_mass: Vector
    inertia: Inertia
    description: str = ""
    shapes: tuple["BodyShape", ...] = ()  # for drawing; generated if empty


class Rotate(NamedTuple):
    """Rotation about an axis by an angle that is constant or affine in one coordinate of the joint."""

    axis: str
    angle: Expr


class Point(NamedTuple):
    """A named point of a body, in the body's axes; with an orientation it is a frame with its own axes."""

    name: str
    body: str
    at: Vector
    orientation: tuple[Rotate, ...] = ()


class Coordinate(NamedTuple):
    """A joint coordinate, the name of its rate, and the range in which choices of independent velocities are assessed."""

    name: str
    rate: str
    unit: str
    default: float = 0.0
    low: float = -1.0
    high: float = 1.0


class Velocity(NamedTuple):
    """A velocity with its unit."""

    name: str
    unit: str


class Translate(NamedTuple):
    """Translation along the axes; each component is constant or affine in one coordinate of the joint."""

    by: Vector


class Ball(NamedTuple):
    """Free rotation: a unit quaternion (four coordinates, scalar first) and angular velocity in body axes (three velocities)."""

    quaternion: tuple[str, str, str, str]
    rates: tuple[str, str, str]

    @property
    def moved(self) -> tuple[str, ...]:
        """Coordinates whose rates follow from the displacement's own velocities."""
        return self.quaternion

    @property
    def velocities(self) -> tuple[Velocity, ...]:
        return tuple(Velocity(n, "rad/s") for n in self.rates)


class Float(NamedTuple):
    """Free motion: position in the parent's axes, unit quaternion, and the twist η = (V, Ω) in body axes."""

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


class Glide(NamedTuple):
    """Planar motion in the ground's x–y plane: position, heading (a coordinate with its own rate), and the velocity in body axes,
    in which the constraints of knife edges and wheels do not depend on the heading."""

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


class Joint(NamedTuple):
    """An edge of the tree of bodies: a chain of displacements [T, B] from the parent's frame to the child's."""

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


class ResidualConstraint(NamedTuple):
    """A constraint in addition to the joints: named residuals that stay zero.

    `level` is "position" for f(q, t) = 0 and "velocity" for g(q, t)·v + g₀(q, t) = 0. Loop closures, gears, cables and prescribed
    motions are of this type; the residuals of one constraint are solved together. Those in `plain` are direction cosines without
    unit; `unit` is that of the others.
    """

    name: str
    residuals: tuple[tuple[str, Expr], ...]
    level: str = "position"
    unit: str = "m"
    plain: tuple[str, ...] = ()
    only_pulls: bool = False  # a cable, whose multiplier is minus its tension; a rod also pushes
    along: Vector | None = None  # the oblique axis of a closure

    def unit_of(self, residual: str) -> str:
        """The unit of a residual, by name."""
        return "" if residual in self.plain else self.unit


class Ground(NamedTuple):
    """The ground surface z = x tan(slope) + y tan(bank) + height(x, y, t).

    `velocity` is that of the ground's material along x and y, as a function of position and time: a belt, a turntable. Along z
    it follows the surface. `friction` multiplies the coefficients of friction of tires and contact laws, as a function of
    position and time.
    """

    slope: Expr = NOTHING
    bank: Expr = NOTHING
    height: Expr = NOTHING
    velocity: tuple[Expr, Expr] = (NOTHING, NOTHING)
    shapes: tuple["BodyShape", ...] = ()  # for drawing: rails, walls
    profile: tuple[Vertex, ...] = ()  # planes with edges between them, in place of slope and height
    friction: Expr = ALL

    @property
    def curved(self) -> bool:
        """Whether the normal depends on position."""
        return bool(names(self.height) & {"x", "y"})

    @property
    def still(self) -> bool:
        """Whether the ground is a plane at rest."""
        return self.height == NOTHING and self.velocity == (NOTHING, NOTHING) and not self.profile


class GeneralizedForce(NamedTuple):
    """A generalized force conjugate to a measure: power = amount · d(measure)/dt; for a joint torque the joint's coordinate."""

    name: str
    measure: Expr
    amount: Expr


class Wrench(NamedTuple):
    """A force and a torque at a named point, in body or world axes."""

    name: str
    point: str
    force: Vector
    torque: Vector
    axes: str = "world"


class Potential(NamedTuple):
    """A potential energy as an expression of coordinates and position-level measures."""

    name: str
    energy: Expr


class Output(NamedTuple):
    """A named quantity: usable as initial condition, in plots, events and control laws."""

    name: str
    expression: Expr
    unit: str = ""
    description: str = ""


class ModelEvent(NamedTuple):
    """An event defined by the model, such as falling over."""

    name: str
    expression: Expr
    action: str = "stop"
    direction: int = 0
    description: str = ""
