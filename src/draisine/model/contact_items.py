"""Items of a model description that touch: wheels, knife edges, points, surfaces; stops and dry friction of joints.

Those with `friction` (a `DryFriction`) are unilateral: they stick, slip and open. `usual` says whether one is closed by default,
and whether it sticks.
"""

from typing import NamedTuple

from draisine.expr.expression import Call, Expr, Number
from draisine.model.contact.dry_friction import DryFriction
from draisine.model.contact.laws import ROLLING, TangentialLaw
from draisine.model.ground_profile import GroundFeature
from draisine.model.items import ALL, GROUND, NOTHING, Coordinate, Parameter, ResidualConstraint, Vector


class Wheel(NamedTuple):
    """A circle (or, with a tube, a torus) fixed to a body and in contact with the ground: it rolls, or slips by a contact law.

    `radius` is that of the center line of the tube; a knife-edge disk has `tube` = 0.
    """

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
    def usual(self) -> tuple[bool, bool]:
        """Closed by default, and sticking."""
        return True, True

    @property
    def place(self) -> tuple[Coordinate, Coordinate]:
        """Contact position on curved ground."""
        return _place(self.name)

    @property
    def lags(self) -> tuple[Coordinate, ...]:
        """Relaxation states of a tire, along and across; they have rates, but no velocities."""
        return _lags(self.name, self.contact)


class KnifeEdge(NamedTuple):
    """A knife edge at a point: no velocity across the edge in the ground plane; `on_ground` also constrains its height."""

    name: str
    body: str
    at: Vector
    along: str
    on_ground: bool = False


class PointContact(NamedTuple):
    """A point of a body, or a sphere around it, that may touch the ground, the plane z = 0 of a frame, or another sphere.

    `on` is a frame, or the ground; with `on_radius` it is the center of a sphere, which is touched from outside, or, where it is
    negative, from inside.
    """

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

    @property
    def usual(self) -> tuple[bool, bool]:
        """Closed by default, and sticking."""
        return True, True

    @property
    def on_ground(self) -> bool:
        """Whether it touches the ground, and no body."""
        return self.on == GROUND and self.on_radius is None

    @property
    def place(self) -> tuple[Coordinate, Coordinate]:
        """Contact position of a sphere on curved ground."""
        return _place(self.name)

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


class Stop(NamedTuple):
    """A stop without friction: a coordinate, or another measure of the position, stays on one side of a bound."""

    name: str
    measure: Expr
    bound: Expr
    upper: bool  # whether the measure stays below it
    restitution: Expr = NOTHING
    unit: str = ""  # of the measure

    @property
    def usual(self) -> tuple[bool, bool]:
        """Open by default: two stops of a joint are never closed at once."""
        return False, False

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


class JointFriction(NamedTuple):
    """Dry friction against the rate of a coordinate, or of another measure of the position: a force, or a torque, of at most
    `static` while it sticks, and `kinetic` while it slips, whatever the load."""

    name: str
    measure: Expr
    static: Expr
    kinetic: Expr
    unit: str = ""  # of the measure

    @property
    def usual(self) -> tuple[bool, bool]:
        """Slipping by default: joints of a loop that stick may depend on each other."""
        return True, False

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


class ContactResistance(NamedTuple):
    """Dry resistance of a unilateral contact to rolling or drilling: a moment of at most a lever arm times the normal force.

    Its rows are speeds, angular velocities times the length `scale`; so the coefficient of its friction is lever/scale.
    """

    of: str  # the contact
    kind: str  # "rolling" or "drilling"
    lever: Expr
    scale: Expr

    @property
    def usual(self) -> tuple[bool, bool]:
        """Slipping by default."""
        return True, False

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


class SurfaceContact(NamedTuple):
    """Contact of two surfaces, each a point as a function of two surface parameters, in the axes of its frame.

    `matter` is the body whose material slides, if not the first: a wheel that spins in it. `velocity` is that of the second
    surface's material relative to its body, in its axes: a belt, a moving track. `along` is the forward axis of the first;
    None for x, or, where the law has no direction, for the first tangent of the second surface, which is never normal to it.
    Without a law there is no tangential force. With `friction` the surfaces stick, slip, separate and land.
    """

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
    def usual(self) -> tuple[bool, bool]:
        """Closed by default, and sticking."""
        return True, True

    @property
    def lags(self) -> tuple[Coordinate, ...]:
        return _lags(self.name, self.contact)


def _place(name: str) -> tuple[Coordinate, Coordinate]:
    """Surface parameters x and y of a contact, which its constraints determine."""
    x, y = (Coordinate(f"{name}_place_{axis}", f"{name}_place_{axis}_rate", "m") for axis in "xy")
    return x, y


def _lags(name: str, law: TangentialLaw | None) -> tuple[Coordinate, ...]:
    return tuple(Coordinate(f"{name}_lag_{way}", "", "") for way in ("along", "across") if law is not None and law.relaxes)


MODE_ENTRIES = 11  # numbers that describe the mode of a contact


def mode_entries(contact: str, closed: bool = True, sticks: bool = True) -> tuple[Parameter, ...]:
    """The mode of a unilateral contact as parameters of the equations: by default it is closed and sticks.

    The direction is that of the slip, along and across the track, while it slips; the offset is the rounding error of the slip
    where it began; `grown` is whether it is not small any more, and `still` the slip below which it keeps its direction until
    then. Forces that are not determined are those next to the preload.
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
        ("preload_normal", 0.0, f"normal force of {contact} next to which it is, where it is not determined"),
        ("preload_along", 0.0, f"the same along the track of {contact}"),
        ("preload_across", 0.0, f"the same across the track of {contact}"),
    )
    return tuple(Parameter(f"{contact}_{name}", default, "", meaning) for name, default, meaning in entries)
