"""Stops and dry friction of joints in model files.

    [stops.swing_low]
    measure = "swing"
    low = "-30 deg"
    restitution = 0.5

    [frictions.swing_friction]
    measure = "swing"
    force = [0.8, 0.5]

The table of a joint may give them too: limits = ["-30 deg", "none"], restitution, friction. They are written as sections of their
own.
"""

from __future__ import annotations

from typing import Any

from draisine.expr.expression import Number
from draisine.model.contact_items import JointFriction, Stop
from draisine.model.file_joints import plain
from draisine.model.model import Model
from draisine.model.quantities import Entry


def read_stop(model: Model, name: str, entry: Entry) -> Stop:
    """Add the stop that a table describes."""
    entry.only("measure", "low", "high", "restitution", "unit")
    bounds = {side: entry.amount(side) for side in ("low", "high") if entry.has(side)}
    unit = entry.text("unit") if entry.has("unit") else None
    return model.stop(name, entry.expression("measure"), **bounds, restitution=entry.amount("restitution", 0), unit=unit)


def read_friction(model: Model, name: str, entry: Entry) -> JointFriction:
    """Add the dry friction that a table describes."""
    entry.only("measure", "force", "unit")
    unit = entry.text("unit") if entry.has("unit") else None
    return model.friction(name, entry.expression("measure"), entry.amounts("force"), unit)


def stop_table(stop: Stop) -> dict[str, Any]:
    """The table of a stop."""
    bounced = {} if stop.restitution == Number(0.0) else {"restitution": plain(stop.restitution)}
    return {"measure": plain(stop.measure), "high" if stop.upper else "low": plain(stop.bound), **bounced, "unit": stop.unit}


def friction_table(friction: JointFriction) -> dict[str, Any]:
    """The table of dry friction."""
    static, kinetic = plain(friction.static), plain(friction.kinetic)
    force = static if friction.static == friction.kinetic else [static, kinetic]
    return {"measure": plain(friction.measure), "force": force, "unit": friction.unit}
