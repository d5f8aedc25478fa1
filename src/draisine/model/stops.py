"""Builders of `Model` for stops and dry friction of joints.

    >>> from draisine.model.model import Model
    >>> m = Model("door")
    >>> leaf = m.body("leaf", mass=20.0, center_of_mass=(0.4, 0, 0), inertia=(0.55, 0.55, 1.1))
    >>> _ = m.revolute("hinge", "ground", leaf, limits=(0, "110 deg"), restitution=0.3, friction=(0.8, 0.5))
    >>> [item.name for item in m.freeze().unilateral]
    ['hinge_low', 'hinge_high', 'hinge_friction']

The law of dry friction is Coulomb's with a given normal force: the parameters are the largest force (torque) at rest and the
force while it slips, as manufacturers give them (breakaway and running friction), and not coefficients. A coefficient times a
preload is an expression of parameters, "mu*preload*radius". The amounts may depend on the motion, as Stribeck's curve does:
"2 + exp(-(slide_rate/0.1)^2)".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from draisine.errors import ModelError
from draisine.expr.expression import Expr, Number
from draisine.model.contact_items import JointFriction, Stop
from draisine.model.items import Joint
from draisine.model.quantities import Amount, amount_in
from draisine.model.registry import ItemRegistry, Measured, with_checked_texts

Limits = Sequence[Amount | None]
Friction = Amount | Sequence[Amount]
FORCES = {"m": "N", "rad": "N*m"}  # units of the force that does work along a measure


@with_checked_texts
class StopBuilders(ItemRegistry):
    """Stops and dry friction, by name."""

    def stop(
        self,
        name: str,
        measure: Measured,
        *,
        low: Amount | None = None,
        high: Amount | None = None,
        restitution: Amount = 0.0,
        unit: str | None = None,
    ) -> Stop:
        """A stop without friction: the measure stays above `low`, or below `high`.

        `measure` is a joint with one coordinate, a coordinate or another measure of the position, "distance(a, b)"; `unit` is
        that of the measure, if its joint does not define it. A bound may depend on time. `restitution` is the ratio of the
        velocities after and before an impact of this stop alone. While it is closed, its force is <name>_force.
        """
        where = f"stop {name!r}"
        if (low is None) == (high is None):
            raise ModelError(f"{where}: give one bound, low= or high=; a second one is a stop of its own")
        what = self._measured(where, measure)
        unit = self._unit(where, what, unit)
        bound = amount_in(high if low is None else low, unit, f"bound of {where}")  # type: ignore[arg-type]
        bounced = amount_in(restitution, "", f"restitution of {where}")
        if isinstance(bounced, Number) and not 0.0 <= bounced.value <= 1.0:
            raise ModelError(f"{where}: its restitution is {bounced.value:g}; it lies between 0 and 1")
        return self._add("stops", Stop(name, what, bound, low is None, bounced, unit))

    def friction(self, name: str, measure: Measured, force: Friction, unit: str | None = None) -> JointFriction:
        """Dry friction against the rate of a measure: a `force` in N, or a torque in N·m where the measure is an angle.

        `force` is one amount, or a pair (static, kinetic): it sticks while at most `static` is needed, and slips against
        `kinetic`. Amounts may depend on parameters, time, inputs, coordinates and velocities. `measure` and `unit` are as for
        `stop`; with time in it, "x - 0.2*t", friction acts against the motion relative to a belt. It takes no impulse: an impact
        elsewhere makes a joint slip that stuck before. Its force is <name>_force.
        """
        where = f"friction {name!r}"
        what = self._measured(where, measure)
        unit = self._unit(where, what, unit)
        static, kinetic = dry_forces(force, FORCES.get(unit), where)
        return self._add("joint_frictions", JointFriction(name, what, static, kinetic, unit))

    def _limit(self, joint: Joint, limits: Limits | None, restitution: Amount, friction: Friction | None) -> None:
        """The stops and the friction of a joint with one coordinate."""
        where = f"joint {joint.name!r}"
        if limits is not None:
            if isinstance(limits, str | Mapping | set) or not hasattr(limits, "__len__") or len(limits) != 2:
                raise ModelError(f"{where}: limits are a pair (low, high), of which one may be None; got {limits!r}")
            low, high = limits
            if low is None and high is None:
                raise ModelError(f"{where}: both limits are None; give one, or leave limits out")
            ends = [None if end is None else amount_in(end, joint.coordinates[0].unit, f"limits of {where}") for end in limits]
            if all(isinstance(end, Number) for end in ends) and not ends[0].value < ends[1].value:  # type: ignore[union-attr]
                raise ModelError(f"{where}: its limits must increase, got {low} and {high}")
            if ends[0] is not None:
                self.stop(f"{joint.name}_low", joint, low=ends[0], restitution=restitution)
            if ends[1] is not None:
                self.stop(f"{joint.name}_high", joint, high=ends[1], restitution=restitution)
        elif not (isinstance(restitution, int | float) and restitution == 0):
            raise ModelError(f"{where}: restitution belongs to stops; give limits=(low, high)")
        if friction is not None:
            self.friction(f"{joint.name}_friction", joint, friction)


def dry_forces(force: Any, unit: str | None, where: str) -> tuple[Expr, Expr]:
    """Static and kinetic friction from one amount, or from a pair."""
    pair = (force, force) if isinstance(force, str | Expr) or not hasattr(force, "__len__") else tuple(force)
    if len(pair) != 2 or isinstance(force, Mapping | set):
        raise ModelError(f"{where}: give one force, or a pair (static, kinetic), got {force!r}")
    if any(isinstance(c, float) and c == math.inf for c in pair):
        raise ModelError(f"{where}: its force is infinite, so that it never slips; prescribe the motion, or use a fixed joint")
    static, kinetic = (amount_in(c, unit, f"force of {where}") for c in pair)
    for what, amount in (("static", static), ("kinetic", kinetic)):
        if isinstance(amount, Number) and amount.value < 0.0:
            raise ModelError(f"{where}: its {what} force is {amount.value:g}; it must not be negative")
    if isinstance(static, Number) and isinstance(kinetic, Number) and kinetic.value > static.value:
        raise ModelError(
            f"{where}: its kinetic force, {kinetic}, exceeds the static one, {static}: a joint that starts to slip would stick "
            "at once; give (static, kinetic) in this order"
        )
    return static, kinetic
