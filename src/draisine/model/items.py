"""Items of a model description: frozen records, collected in `System`.

Every amount is an expression of parameters (`Expr`). `Model` creates the items. Vectors are in the axes of the body they belong
to; inertia is about the center of mass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from draisine.expr.expression import Call, Expr, Number, evaluate_number, names, substitute
from draisine.expr.tables import Table
from draisine.model.contact.dry_friction import IMPACT_ORDERS, DryFriction
from draisine.model.contact.laws import ROLLING, Rolling, TangentialLaw
from draisine.model.ground_profile import GroundFeature, Vertex, features_of
from draisine.model.shapes import BodyShape
from draisine.parts.record import Part

Vector = tuple[Expr, Expr, Expr]

GROUND = "ground"  # the name of the fixed world frame: z up
NOTHING = Number(0.0)
ALL = Number(1.0)


@dataclass(frozen=True)
class Parameter:
    """A named constant. It is an argument of the compiled code, not a number in it."""

    name: str
    default: float
    unit: str = ""
    description: str = ""


@dataclass(frozen=True)
class DependentParameter:
    """A named constant defined by other parameters: not an argument of the compiled code, but an expression in it."""

    name: str
    expression: Expr
    unit: str = ""
    description: str = ""


@dataclass(frozen=True)
class Input:
    """An external input: a torque, a force, a road profile."""

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
    shapes: tuple[BodyShape, ...] = ()  # for drawing; generated if empty


@dataclass(frozen=True)
class Rotate:
    """Rotation about an axis by an angle that is constant or affine in one coordinate of the joint."""

    axis: str
    angle: Expr


@dataclass(frozen=True)
class Point:
    """A named point of a body, in the body's axes; with an orientation it is a frame with its own axes."""

    name: str
    body: str
    at: Vector
    orientation: tuple[Rotate, ...] = ()


@dataclass(frozen=True)
class Coordinate:
    """A joint coordinate, the name of its rate, and the range in which choices of independent velocities are assessed."""

    name: str
    rate: str
    unit: str
    default: float = 0.0
    low: float = -1.0
    high: float = 1.0


@dataclass(frozen=True)
class Velocity:
    """A velocity with its unit."""

    name: str
    unit: str


@dataclass(frozen=True)
class Translate:
    """Translation along the axes; each component is constant or affine in one coordinate of the joint."""

    by: Vector


@dataclass(frozen=True)
class Ball:
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


@dataclass(frozen=True)
class Float:
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


@dataclass(frozen=True)
class Glide:
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


@dataclass(frozen=True)
class Joint:
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


@dataclass(frozen=True)
class Wheel:
    """A circle (or, with a tube, a torus) fixed to a body and in contact with the ground: it rolls, or slips by a contact law.

    `radius` is that of the center line of the tube; a knife-edge disk has `tube` = 0.
    """

    usual = (True, True)  # by default it is closed and sticks
    name: str
    body: str
    center: Vector
    axis: str
    radius: Expr
    tube: Expr = NOTHING
    contact: TangentialLaw = ROLLING
    friction: DryFriction | None = None  # then it may slip and leave the ground
    feature: GroundFeature | None = None  # of a profile, which it touches

    @property
    def place(self) -> tuple[Coordinate, Coordinate]:
        """Contact position on curved ground: surface parameters x and y, determined by the contact constraints."""
        x, y = (Coordinate(f"{self.name}_place_{axis}", f"{self.name}_place_{axis}_rate", "m") for axis in "xy")
        return x, y

    @property
    def lags(self) -> tuple[Coordinate, ...]:
        """Relaxation states of a tire, along and across; they have rates, but no velocities."""
        return _lags(self.name, self.contact)


@dataclass(frozen=True)
class KnifeEdge:
    """A knife edge at a point: no velocity across the edge in the ground plane; `on_ground` also constrains its height."""

    name: str
    body: str
    at: Vector
    along: str
    on_ground: bool = False


@dataclass(frozen=True)
class PointContact:
    """A point of a body, or a sphere around it, that may touch the ground, the plane z = 0 of a frame, or another sphere.

    `on` is a frame, or the ground; with `on_radius` it is the center of a sphere, which is touched from outside, or, where it is
    negative, from inside.
    """

    usual = (True, True)
    name: str
    point: str
    friction: DryFriction | None  # None: permanent, without slip
    radius: Expr = NOTHING
    on: str = GROUND
    on_radius: Expr | None = None
    lands_where: Expr | None = None  # it closes only where this is positive
    along: str | None = None  # axis of the point's frame, the direction of its track; None for x of what it touches
    across: Expr | None = None  # friction across the track, if it is another one than along it
    feature: GroundFeature | None = None  # of a profile, which it touches

    def amounts(self) -> dict[str, Expr]:
        """Lengths and coefficients, by name."""
        lengths = {"radius": self.radius} | ({} if self.on_radius is None else {"on_radius": self.on_radius})
        across = {} if self.across is None else {"friction across": self.across}
        return lengths | across | (self.friction.amounts() if self.friction is not None else {})

    @property
    def across_only(self) -> bool:
        """Whether it glides along its track without friction."""
        law = self.friction
        return self.across is not None and law is not None and law.static == law.kinetic == NOTHING

    @property
    def anisotropy(self) -> Expr:
        """Friction across the track relative to that along it."""
        if self.across is None or self.across_only or self.friction is None or self.friction.static is None:
            return Number(1.0)
        return self.across / self.friction.static


@dataclass(frozen=True)
class Stop:
    """A stop without friction: a coordinate, or another measure of the position, stays on one side of a bound."""

    usual = (False, False)  # by default open: two stops of a joint are never closed at once
    name: str
    measure: Expr
    bound: Expr
    upper: bool  # whether the measure stays below it
    restitution: Expr = NOTHING
    unit: str = ""  # of the measure

    @property
    def gap(self) -> Expr:
        """The distance from the bound."""
        return self.bound - self.measure if self.upper else self.measure - self.bound

    @property
    def friction(self) -> DryFriction:
        """The law of impact; without tangential rows the coefficients of friction have no effect."""
        return DryFriction(NOTHING, NOTHING, self.restitution)

    def residual(self) -> ResidualConstraint:
        """The stop while it is closed."""
        return ResidualConstraint(f"{self.name}_contact", ((f"{self.name}_normal", self.gap),), unit=self.unit)


@dataclass(frozen=True)
class JointFriction:
    """Dry friction against the rate of a coordinate, or of another measure of the position: a force, or a torque, of at most
    `static` while it sticks, and `kinetic` while it slips, whatever the load."""

    usual = (True, False)  # by default it slips: joints of a loop that stick may depend on each other
    name: str
    measure: Expr
    static: Expr
    kinetic: Expr
    unit: str = ""  # of the measure

    @property
    def slip(self) -> Expr:
        """The rate of the measure."""
        return Call("rate", (self.measure,))

    @property
    def friction(self) -> DryFriction:
        """Forces in the place of coefficients; it takes no impulse."""
        return DryFriction(self.static, self.kinetic)

    def residual(self) -> ResidualConstraint:
        """The joint while it sticks."""
        slips = ((f"{self.name}_along", self.slip),)
        return ResidualConstraint(f"{self.name}_rolling", slips, "velocity", f"{self.unit or '1'}/s")


@dataclass(frozen=True)
class ContactResistance:
    """Dry resistance of a unilateral contact to rolling or drilling: a moment of at most a lever arm times the normal force.

    Its rows are speeds, angular velocities times the length `scale`; so the coefficient of its friction is lever/scale.
    """

    usual = (True, False)
    of: str  # the contact
    kind: str  # "rolling" or "drilling"
    lever: Expr
    scale: Expr

    @property
    def name(self) -> str:
        return f"{self.of}_{self.kind}_resistance"

    @property
    def friction(self) -> DryFriction:
        return DryFriction(self.lever / self.scale, self.lever / self.scale)


RESISTANCES = ("rolling", "drilling")


def resistances_of(contact: Wheel | PointContact) -> tuple[ContactResistance, ...]:
    """Those that a contact has. A wheel and a sphere take their radius for the scale, a point, which does not roll, 1 m."""
    law = contact.friction
    if law is None:
        return ()
    if isinstance(contact, Wheel):
        scale = contact.radius if contact.tube == NOTHING else contact.radius + contact.tube
    else:
        scale = ALL if contact.radius == NOTHING else contact.radius
    levers = zip(RESISTANCES, (law.rolling_resistance, law.drilling_resistance), strict=True)
    return tuple(ContactResistance(contact.name, kind, lever, scale) for kind, lever in levers if lever is not None)


@dataclass(frozen=True)
class SurfaceContact:
    """Contact of two surfaces, each a point as a function of two surface parameters, in the axes of its frame.

    `matter` is the body whose material slides, if not the first: a wheel that spins in it. `velocity` is that of the second
    surface's material relative to its body, in its axes: a belt, a moving track. `along` is the forward axis of the first;
    None for x, or, where the law has no direction, for the first tangent of the second surface, which is never normal to it.
    Without a law there is no tangential force. With `friction` the surfaces stick, slip, separate and land.
    """

    usual = (True, True)
    name: str
    first: str
    surface: Vector
    parameters: tuple[str, str]
    second: str
    second_surface: Vector
    second_parameters: tuple[str, str]
    matter: str
    along: str | None = None
    velocity: Vector = (NOTHING, NOTHING, NOTHING)
    contact: TangentialLaw | None = None
    friction: DryFriction | None = None

    @property
    def lags(self) -> tuple[Coordinate, ...]:
        return _lags(self.name, self.contact)


def _lags(name: str, law: TangentialLaw | None) -> tuple[Coordinate, ...]:
    return tuple(Coordinate(f"{name}_lag_{way}", "", "") for way in ("along", "across") if law is not None and law.relaxes)


@dataclass(frozen=True)
class ResidualConstraint:
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


@dataclass(frozen=True)
class Ground:
    """The ground surface z = x tan(slope) + y tan(bank) + height(x, y, t).

    `velocity` is that of the ground's material along x and y, as a function of position and time: a belt, a turntable. Along z
    it follows the surface. `friction` multiplies the coefficients of friction of tires and contact laws, as a function of
    position and time.
    """

    slope: Expr = NOTHING
    bank: Expr = NOTHING
    height: Expr = NOTHING
    velocity: tuple[Expr, Expr] = (NOTHING, NOTHING)
    shapes: tuple[BodyShape, ...] = ()  # for drawing: rails, walls
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


@dataclass(frozen=True)
class GeneralizedForce:
    """A generalized force conjugate to a measure: power = amount · d(measure)/dt; for a joint torque the joint's coordinate."""

    name: str
    measure: Expr
    amount: Expr


@dataclass(frozen=True)
class Wrench:
    """A force and a torque at a named point, in body or world axes."""

    name: str
    point: str
    force: Vector
    torque: Vector
    axes: str = "world"


@dataclass(frozen=True)
class Potential:
    """A potential energy as an expression of coordinates and position-level measures."""

    name: str
    energy: Expr


@dataclass(frozen=True)
class Output:
    """A named quantity: usable as initial condition, in plots, events and control laws."""

    name: str
    expression: Expr
    unit: str = ""
    description: str = ""


@dataclass(frozen=True)
class ModelEvent:
    """An event defined by the model, such as falling over."""

    name: str
    expression: Expr
    action: str = "stop"
    direction: int = 0
    description: str = ""


@dataclass(frozen=True)
class System:
    """A complete, validated description, created by `Model.freeze()`. Equal systems have equal equations."""

    name: str
    description: str
    gravity: Vector  # acceleration of free fall, in the axes of the ground
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
    surface_parameters: tuple[
        Coordinate, ...
    ] = ()  # coordinates without a body, such as positions along a profile; determined by constraints
    independent: tuple[str, ...] = ()  # the user's choice of independent velocities; empty for the automatic one
    dependent_parameters: tuple[DependentParameter, ...] = ()
    point_contacts: tuple[PointContact, ...] = ()
    stops: tuple[Stop, ...] = ()
    joint_frictions: tuple[JointFriction, ...] = ()
    parts: tuple[Part, ...] = ()  # assemblies to which items belong
    impacts: str = IMPACT_ORDERS[0]  # of contacts that collide at the same time
    impacts_without_collision: bool = False  # where no motion satisfies the law of friction

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        """The fields only: string hashes differ between processes."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @cached_property
    def _hash(self) -> int:
        """Computed once: derivations are cached by it, and it covers every expression of the description."""
        return hash(tuple(getattr(self, f.name) for f in fields(self)))

    @cached_property
    def definitions(self) -> dict[str, Expr]:
        """Dependent parameters as expressions of the others, which are arguments of the equations."""
        found: dict[str, Expr] = {}
        left = {d.name: d.expression for d in self.dependent_parameters}
        while left:
            name = next(name for name, expr in left.items() if not names(expr) & left.keys())  # validated: there is no cycle
            found[name] = substitute(left.pop(name), found)
        return found

    def parameter_values(self, given: Mapping[str, float] = MappingProxyType({})) -> dict[str, float]:
        """Values of all parameters, dependent ones included: those given, and the defaults of the others."""
        values = {p.name: p.default for p in self.parameters} | dict(given)
        return values | {name: evaluate_number(expr, values) for name, expr in self.definitions.items()}

    @property
    def constants(self) -> frozenset[str]:
        """Names of all parameters, dependent ones included."""
        return frozenset(p.name for p in self.parameters) | frozenset(d.name for d in self.dependent_parameters)

    @property
    def downward_gravity(self) -> Expr | None:
        """The magnitude of a gravity along −z; None for one that is given as a vector in another direction."""
        x, y, z = self.gravity
        if x != NOTHING or y != NOTHING:
            return None
        if isinstance(z, Number):
            return -z if z.value < 0.0 else z if z.value == 0.0 else None
        return z.arguments[0] if isinstance(z, Call) and z.function == "neg" else None

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """Joint coordinates, followed by surface parameters and relaxation states of tires."""
        lags = [lag for wheel in self.wheels for lag in wheel.lags] + [lag for c in self.surface_contacts for lag in c.lags]
        return (*(c for joint in self.joints for c in joint.coordinates), *self.massless, *lags)

    @property
    def massless(self) -> tuple[Coordinate, ...]:
        """Surface parameters: the user's, and contact positions of wheels on curved ground."""
        positions = [c for wheel in self.wheels for c in wheel.place] if self.ground.curved else []
        return (*self.surface_parameters, *positions)

    @property
    def velocities(self) -> tuple[Velocity, ...]:
        """All velocities, in the order of the coordinates."""
        joints = [v for joint in self.joints for v in joint.velocities]
        return (*joints, *(Velocity(c.rate, f"{c.unit or '1'}/s") for c in self.massless))

    @property
    def arguments(self) -> tuple[Parameter, ...]:
        """Parameters of the equations: those of the description, then the modes of unilateral contacts."""
        return (*self.parameters, *(entry for contact in self.unilateral for entry in mode_entries(contact.name, *contact.usual)))

    @property
    def unilateral(self) -> tuple[Wheel | PointContact | SurfaceContact | Stop | JointFriction | ContactResistance, ...]:
        """Contacts that may slip and open, stops, joints with dry friction, and the resistances of these contacts."""
        every: tuple[Wheel | PointContact | SurfaceContact, ...]
        every = (*self.contact_wheels, *self.contact_points, *self.surface_contacts)
        found = [contact for contact in every if contact.friction is not None]
        resistances = (own for contact in found if not isinstance(contact, SurfaceContact) for own in resistances_of(contact))
        return (*found, *self.stops, *self.joint_frictions, *resistances)

    @cached_property
    def contact_wheels(self) -> tuple[Wheel, ...]:
        """Wheels, on a profile once for each plane and edge that they may touch."""
        if not self.ground.profile:
            return self.wheels
        return tuple(
            replace(wheel, name=f"{wheel.name}_{feature.name}", feature=feature)
            for wheel in self.wheels
            for feature in features_of(self.ground.profile, self.parameter_values())
        )

    @cached_property
    def contact_points(self) -> tuple[PointContact, ...]:
        """The same of points and spheres; a point touches planes only."""
        found: list[PointContact] = []
        for point in self.point_contacts:
            if not self.ground.profile or point.on != GROUND or point.on_radius is not None:
                found.append(point)
                continue
            for feature in features_of(self.ground.profile, self.parameter_values()):
                if not feature.is_edge or point.radius != NOTHING:
                    found.append(replace(point, name=f"{point.name}_{feature.name}", feature=feature))
        return tuple(found)

    @property
    def has_ground(self) -> bool:
        """Whether anything may touch the ground: wheels, knife edges, points."""
        points = any(contact.on == GROUND and contact.on_radius is None for contact in self.point_contacts)
        return bool(self.wheels or self.edges) or points

    def touches(self, wheel: Wheel) -> bool:
        """Whether the contact of a wheel is modeled by residual constraints: all but ideal rolling on a plane at rest."""
        return wheel.friction is not None or not (self.ground.still and isinstance(wheel.contact, Rolling))


MODE_ENTRIES = 8  # numbers that describe the mode of a contact


def mode_entries(contact: str, closed: bool = True, sticks: bool = True) -> tuple[Parameter, ...]:
    """The mode of a unilateral contact as parameters of the equations: by default it is closed and sticks.

    The direction is that of the slip, along and across the track, while it slips; the offset is the rounding error of the slip
    where it began; `grown` is whether it is not small any more, and `still` the slip below which it keeps its direction until
    then.
    """
    entries = (
        ("closed", float(closed), f"1 while contact {contact} is closed, 0 while it is open"),
        ("sticks", float(sticks), f"1 while contact {contact} sticks"),
        ("direction_along", 0.0, f"direction of the slip of {contact} along its track"),
        ("direction_across", 0.0, f"direction of the slip of {contact} across its track"),
        ("offset_along", 0.0, f"rounding error of the slip of {contact} along its track where it began"),
        ("offset_across", 0.0, f"rounding error of the slip of {contact} across its track where it began"),
        ("grown", 0.0, f"1 where the slip of {contact} is not small any more"),
        ("still", 0.0, f"slip of {contact} below which it keeps its direction until then"),
    )
    return tuple(Parameter(f"{contact}_{name}", default, "", meaning) for name, default, meaning in entries)
