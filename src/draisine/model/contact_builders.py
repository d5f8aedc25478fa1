"""Builders of `Model` for contacts: wheels, points and spheres, knife edges, and pairs of surfaces.

>>> from draisine.model.model import Model
>>> m = Model("disk")
>>> disk = m.body("disk", mass=2.0, inertia=(0.1, 0.2, 0.1))
>>> _ = m.free(disk)
>>> m.wheel("rim", disk, radius=0.3, friction=0.8).contact
Rolling()
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from draisine.errors import ModelError
from draisine.expr.expression import Expr, Number
from draisine.model.builders import JointBuilders
from draisine.model.contact.dry_friction import DryFriction, dry_friction
from draisine.model.contact.laws import ROLLING, Rolling, TangentialLaw
from draisine.model.contact_items import KnifeEdge, PointContact, SurfaceContact, Wheel
from draisine.model.items import GROUND, NOTHING, Body, Coordinate, Point
from draisine.model.joints import Axis, turned_onto
from draisine.model.quantities import Amount, amount_in, expression_of, named
from draisine.model.registry import name_of, vector_of, with_checked_texts


@with_checked_texts
class ContactBuilders(JointBuilders):
    """Contacts, by name."""

    if TYPE_CHECKING:  # of `Model`
        body: Callable[..., Body]
        point: Callable[..., Point]

    def wheel(
        self,
        name: str,
        body: Body | str,
        radius: Amount,
        tube: Amount = 0.0,
        center: Sequence[Amount] = (0, 0, 0),
        axis: Axis = "y",
        contact: TangentialLaw = ROLLING,
        friction: Amount | Sequence[Amount] | None = None,
        restitution: Amount = 0.0,
        impact: str = "energetic",
        tangential_restitution: Amount = 0.0,
        rolling_resistance: Amount = 0.0,
        drilling_resistance: Amount = 0.0,
    ) -> Wheel:
        """A wheel fixed to the body, in contact with the ground: a knife-edge disk, or a torus of the given tube radius.

        `radius` is that of the disk or, with `tube`, of the circle in the middle of the tube: the hub is `radius + tube` above
        the ground where the wheel stands upright. `axis` is the axle, "x", "y", "z" or a vector; for a vector the wheel is
        carried by a massless body <name>_axle that is fixed to `body`, and has an axis along it.

        It rolls without slip, or by the contact law `contact`: `Creep`, `Coulomb`, `ShenHedrickElkins`, or a tire: `LinearTire`,
        `BrushTire`, `MagicFormula`. With
        `friction`, a coefficient or a pair (static, kinetic), it rolls, slips, leaves the ground and lands; see `contact` for
        `restitution`, `impact` and `tangential_restitution`. A law of creep stays what it is then, and acts while the wheel
        touches the ground. `rolling_resistance` is a lever arm in m: a dry moment about the axle of at most so much times the
        normal force, against the rolling of the wheel along its rim; `drilling_resistance` the same about the normal.
        """
        where = f"wheel {name!r}"
        dry = dry_friction(friction, restitution, impact, where, tangential_restitution, rolling_resistance, drilling_resistance)
        if not isinstance(contact, TangentialLaw):
            raise ModelError(f"{where}: contact must be a contact law such as Rolling() or Coulomb(0.8), got {contact!r}")
        if dry is not None and contact.compliant:
            raise ModelError(f"{where}: a tire with vertical stiffness leaves the ground and lands by itself; leave out friction")
        if not isinstance(axis, str):
            turns, axis = turned_onto(axis, where)
            axle = self.body(f"{name}_axle", mass=0.0)
            self.fixed(f"{name}_mount", body, axle, at=center, orientation=[(turn.axis, turn.angle) for turn in turns])
            body, center = axle, (0, 0, 0)
        return self._add(
            "wheels",
            Wheel(
                name,
                name_of(body),
                vector_of(center, "m", f"center of {where}"),
                axis,
                amount_in(radius, "m", f"radius of {where}"),
                amount_in(tube, "m", f"tube of {where}"),
                contact,
                dry,
            ),
        )

    def contact(
        self,
        name: str,
        point: Point | Body | str,
        *,
        radius: Amount = 0.0,
        on: Point | Body | str = GROUND,
        on_radius: Amount | None = None,
        friction: Amount | Sequence[Amount] | None = 0.0,
        restitution: Amount = 0.0,
        impact: str = "energetic",
        tangential_restitution: Amount = 0.0,
        lands_where: Amount | None = None,
        along: str | None = None,
        friction_across: Amount | None = None,
        rolling_resistance: Amount = 0.0,
        drilling_resistance: Amount = 0.0,
    ) -> PointContact:
        """A contact that opens and closes: of a point of a body, or of a sphere of the given radius around it.

        It touches the ground; or, with `on`, the plane z = 0 of a frame, whose z axis points to the side of the point; or, with
        `on_radius`, the sphere around the point `on`, from outside, or from inside where `on_radius` is negative.

        `friction` is a coefficient, or a pair (static, kinetic); it may be infinite. With None the contact is permanent and does
        not slip, whatever force that takes. `restitution` is the coefficient of the impact law `impact`: "energetic" (the share
        of the energy of compression that is returned is its square), "poisson" (of impulses) or "newton" (of normal velocities).
        With Newton's law `tangential_restitution` is the ratio of the slips after and before an impact that does not slide, with
        the opposite sign: 1 for an ideal superball.

        `lands_where` is an expression of the position: the contact closes only where it is positive. Where it is not, the point
        passes through, and may land once it has come back. So the foot of a walking machine may pass the ground as it swings.

        `along` is an axis of the point's body or frame, "x", "y" or "z", whose projection is the direction of the track; by
        default that is x of the ground or of the frame. With `friction_across` the friction across the track is another one, as
        that of a blade: forces are bounded by an ellipse, and have the direction in which they take most energy.

        `rolling_resistance` of a sphere and `drilling_resistance` are lever arms in m: dry moments of at most so much times the
        normal force, against the angular velocity in the tangent plane, and about the normal. A patch of radius a with uniform
        pressure has the drilling resistance 2/3 μ a.
        """
        where = f"contact {name!r}"
        dry = dry_friction(friction, restitution, impact, where, tangential_restitution, rolling_resistance, drilling_resistance)
        if dry is not None and dry.rolling_resistance is not None and amount_in(radius, "m", where) == NOTHING:
            raise ModelError(f"{where}: a point does not roll; give the radius of a sphere, or leave out rolling_resistance")
        if lands_where is not None and dry is None:
            raise ModelError(f"{where}: it is permanent and does not land; leave out lands_where, or give friction")
        place = None if lands_where is None else expression_of(lands_where, f"lands_where of {where}")
        across = _across(friction_across, dry, where)
        size = amount_in(radius, "m", f"radius of {where}")
        other = None if on_radius is None else amount_in(on_radius, "m", f"on_radius of {where}")
        return self._add(
            "point_contacts", PointContact(name, name_of(point), dry, size, name_of(on), other, place, along, across)
        )

    def knife_edge(
        self,
        body: Body | str,
        at: Sequence[Amount] = (0, 0, 0),
        along: str = "x",
        name: str | None = None,
        on_ground: bool = False,
        friction: Amount | None = None,
        friction_along: Amount = 0.0,
        restitution: Amount = 0.0,
    ) -> KnifeEdge | PointContact:
        """A knife edge of the body: its point has no velocity across the edge; `on_ground` keeps it on the ground.

        With `friction`, the coefficient across the edge, it skids where that is exceeded, and lifts off and lands: a contact of
        the point <name>_point (see `contact`), with the coefficient `friction_along` along the edge.
        """
        label = name or f"{name_of(body)}_edge"
        if friction is not None:
            point = self.point(f"{label}_point", body, at)
            return self.contact(
                label, point, friction=friction_along, friction_across=friction, restitution=restitution, along=along
            )
        return self._add("edges", KnifeEdge(label, name_of(body), vector_of(at, "m", f"knife edge {label!r}"), along, on_ground))

    def surface_parameter(
        self, name: str, unit: str = "m", default: float = 0.0, low: float | None = None, high: float | None = None
    ) -> Expr:
        """A coordinate that belongs to no body, such as a position along a profile; constraints must determine it.

        It has no inertia, so these constraints act without force along it: two bodies touch along their common normal.
        """
        span = (default - 1.0 if low is None else low, default + 1.0 if high is None else high)
        self._add("surface_parameters", Coordinate(name, f"{name}_rate", unit, float(default), *map(float, span)))
        return named(name, "surface parameter")

    def touch(
        self,
        name: str,
        first: Point | Body | str,
        surface: Sequence[Amount],
        parameters: Sequence[Expr | str],
        second: Point | Body | str,
        second_surface: Sequence[Amount],
        second_parameters: Sequence[Expr | str],
        contact: TangentialLaw | None = None,
        matter: Body | str | None = None,
        along: str | None = None,
        velocity: Sequence[Amount] = (0, 0, 0),
        friction: Amount | Sequence[Amount] | None = None,
        restitution: Amount = 0.0,
        impact: str = "energetic",
        tangential_restitution: Amount = 0.0,
    ) -> SurfaceContact:
        """Contact of two surfaces, each a point as a function of two surface parameters, in the axes of its frame.

        The normal of the second surface, ∂₁ × ∂₂ of its point, must point to the first. `contact` is the law of the tangential
        force (`Rolling()` for no slip; frictionless without a law); `matter` the body whose material slides, if a wheel spins in
        the first; `velocity` that of the second's material, in its axes, for a moving track; `along` the first's forward axis,
        which must not become normal to the surfaces. By default it is x for laws with a direction (creep, tires); the others take
        the first tangent of the second surface.

        It is permanent. With `friction`, a coefficient or a pair (static, kinetic), in place of a law, the surfaces stick (roll),
        slip, separate and land; see `contact` for `restitution`, `impact` and `tangential_restitution`. While they are apart the
        parameters are those of the nearest points; so surfaces must be smooth and convex enough to have them.
        """
        where = f"contact {name!r}"
        dry = dry_friction(friction, restitution, impact, where, tangential_restitution)
        if dry is not None and contact is not None and not isinstance(contact, Rolling):
            raise ModelError(f"{where}: it has a law of its tangential force, {contact!r}, or friction; give one of them")
        pairs = [tuple(str(p) for p in given) for given in (parameters, second_parameters)]
        if any(len(pair) != 2 for pair in pairs):
            raise ModelError(f"{where}: each surface needs two parameters, got {' and '.join(str(len(p)) for p in pairs)}")
        return self._add(
            "surface_contacts",
            SurfaceContact(
                name,
                name_of(first),
                vector_of(surface, "m", f"surface of {where}"),
                pairs[0],  # type: ignore[arg-type]
                name_of(second),
                vector_of(second_surface, "m", f"second surface of {where}"),
                pairs[1],  # type: ignore[arg-type]
                name_of(first if matter is None else matter),
                along,
                vector_of(velocity, "m/s", f"velocity of {where}"),
                contact if dry is None else ROLLING,
                dry,
            ),
        )


def _across(given: Amount | None, law: DryFriction | None, where: str) -> Expr | None:
    """Friction across the track of a contact."""
    if given is None:
        return None
    if law is None:
        raise ModelError(f"{where}: it is permanent and does not slip; leave out friction_across, or give friction")
    glides = law.static == law.kinetic == Number(0.0)
    if isinstance(given, int | float) and given == math.inf and glides:
        raise ModelError(f"{where}: friction_across is infinite; give a coefficient, or a knife edge without friction")
    if law.static is None or (isinstance(given, int | float) and given == math.inf):
        raise ModelError(f"{where}: friction along and across the track must be finite; give a large coefficient")
    amount = amount_in(given, "", f"friction_across of {where}")
    if isinstance(amount, Number) and not amount.value > 0.0:
        raise ModelError(f"{where}: friction_across is {amount.value:g}; it must be positive. Turn the track, or leave it out")
    return amount
