"""A complete description of a mechanical system: its items, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from draisine.errors import ModelError
from draisine.expr.expression import Call, Expr, Number, evaluate_number, names, substitute
from draisine.expr.tables import Table
from draisine.model.contact.dry_friction import IMPACT_ORDERS
from draisine.model.contact.laws import Rolling
from draisine.model.contact.road_start import onto_road
from draisine.model.contact_items import (
    ContactResistance,
    JointFriction,
    KnifeEdge,
    PointContact,
    Stop,
    SurfaceContact,
    Wheel,
    mode_entries,
    resistances_of,
)
from draisine.model.ground_profile import features_of
from draisine.model.items import (
    NOTHING,
    Body,
    Coordinate,
    DependentParameter,
    GeneralizedForce,
    Ground,
    Input,
    Joint,
    ModelEvent,
    Output,
    Parameter,
    Point,
    Potential,
    ResidualConstraint,
    Vector,
    Velocity,
    Wrench,
)

if TYPE_CHECKING:
    from draisine.expr.path_functions import CurveFunction
    from draisine.model.contact.paths import GroundPath
    from draisine.parts.record import Part


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
    paths: tuple[GroundPath, ...] = ()
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
    def functions(self) -> tuple[Table | CurveFunction, ...]:
        """Functions of expressions that the description defines: tables, and coordinates of paths."""
        return (*self.tables, *(function for path in self.paths for function in path.functions))

    @cached_property
    def definitions(self) -> dict[str, Expr]:
        """Dependent parameters as expressions of the others, which are arguments of the equations."""
        found: dict[str, Expr] = {}
        left = {d.name: d.expression for d in self.dependent_parameters}
        while left:
            name = next((name for name, expr in left.items() if not names(expr) & left.keys()), None)
            if name is None:
                raise ModelError(
                    f"model {self.name!r}: parameters {', '.join(left)} follow from each other; give one of them a value"
                )
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
        """Joint coordinates, followed by surface parameters and relaxation states of tires; free bodies begin on the road."""
        lags = [lag for wheel in self.wheels for lag in wheel.lags] + [lag for c in self.surface_contacts for lag in c.lags]
        return (*self._joint_coordinates, *self.massless, *lags)

    @cached_property
    def _joint_coordinates(self) -> tuple[Coordinate, ...]:
        return onto_road(self, tuple(c for joint in self.joints for c in joint.coordinates))

    @property
    def massless(self) -> tuple[Coordinate, ...]:
        """Surface parameters: the user's, and contact positions on curved ground."""
        return (*self.surface_parameters, *(c for contact in self.placed for c in contact.place))

    @property
    def placed(self) -> tuple[Wheel | PointContact, ...]:
        """Contacts whose place on curved ground is part of the state: wheels and spheres. A point is above its own place."""
        if not self.ground.curved:
            return ()
        return (*self.wheels, *(c for c in self.point_contacts if c.on_ground and c.radius != NOTHING))

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
            wheel._replace(name=f"{wheel.name}_{feature.name}", feature=feature)
            for wheel in self.wheels
            for feature in features_of(self.ground.profile, self.parameter_values())
        )

    @cached_property
    def contact_points(self) -> tuple[PointContact, ...]:
        """The same of points and spheres; a point touches planes only."""
        found: list[PointContact] = []
        for point in self.point_contacts:
            if not self.ground.profile or not point.on_ground:
                found.append(point)
                continue
            for feature in features_of(self.ground.profile, self.parameter_values()):
                if not feature.is_edge or point.radius != NOTHING:
                    found.append(point._replace(name=f"{point.name}_{feature.name}", feature=feature))
        return tuple(found)

    @property
    def has_ground(self) -> bool:
        """Whether anything may touch the ground: wheels, knife edges, points."""
        return bool(self.wheels or self.edges) or any(contact.on_ground for contact in self.point_contacts)

    def touches(self, wheel: Wheel) -> bool:
        """Whether the contact of a wheel is modeled by residual constraints: all but ideal rolling on a plane at rest."""
        return wheel.friction is not None or not (self.ground.still and isinstance(wheel.contact, Rolling))
