"""Roads that change along the way: there a machine has no steady motion at speed, which is said before anything is derived.

Steady motions keep all coordinates constant on which the dynamics depends. Where the height of the ground changes its slope along
the way of a machine, this is the position: only rest is steady. On a road of constant height, slope or bank, and beside an
obstacle farther on, there are steady motions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.structure import measured_point
from draisine.errors import ModelError
from draisine.model.contact.road_start import Placement, placements
from draisine.model.ground_heights import ground_heights
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.equations import Equations
from draisine.results.channel import HasState, named_start

Array = NDArray[np.float64]

AROUND = 0.15  # m, along and across, in which the road is examined
PLACES = AROUND * np.array([-1.0, -0.71, -0.38, -0.09, 0.0, 0.17, 0.43, 0.69, 1.0])
AHEAD = 10.0  # m, within which a message says how much the road varies
LEVEL = 1e-9  # m: differences of heights that are rounding
WIDE = 1.0  # m, around which a road of constant curvature is recognized
STEP = 1e-3  # m, of differences
TURNS = 1e-6  # share of the slope across the way that differences may leave


def refuse_changing_ground(
    model: Model | System | Equations,
    targets: Mapping[str, Any],
    near: Mapping[str, Any] | HasState | None = None,
    over: Iterable[str] = (),
) -> None:
    """Refuse steady motions at speed on a road that changes along the way, at the place of the targets and of `near`.

    `over` are quantities that are swept, whose values are not all zero.
    """
    system = model.freeze() if isinstance(model, Model) else model.described if isinstance(model, Equations) else model
    if not isinstance(system, System) or not system.placed:
        return
    given = {name: getattr(value, "value", value) for name, value in {**named_start(near), **targets}.items()}
    moving = [name for name in _speeds(system) if name in over or (name in targets and given[name])]
    if not moving:
        return
    for body, placement in placements(system):
        found = _change(system, *_position(system, body, placement, given))
        if found:
            raise ModelError(
                f"{system.name}: there is no steady motion with {moving[0]} other than zero, since {found}. Give a flat road for "
                "steady motions and modes (leave out ground(height=…)); on this one, simulate runs, rest (speed = 0) is steady, "
                "and linearize gives the linear model at a state of a run"
            )


def _speeds(system: System) -> list[str]:
    """Velocities of bodies that are free to move over the ground, and outputs that measure a velocity."""
    outputs = {output.name: output.expression for output in system.outputs}
    measured = [name for name in outputs if measured_point(name, outputs)]
    free = {body for body, _ in placements(system)}
    own = [v.name for joint in system.joints if joint.child in free for v in joint.velocities if v.unit == "m/s"]
    return [*measured, *own]


def _position(system: System, body: str, placement: Placement, given: Mapping[str, Any]) -> tuple[float, float, float]:
    """x, y and heading of a body, as far as they are given; by default where it begins."""
    values: dict[str, Any] = {**{c.name: c.default for c in system.coordinates}, **given}
    turns = [float(values[name]) for name in placement.turns]
    heading = 2.0 * math.atan2(turns[1], turns[0]) if len(turns) == 2 else sum(turns)
    named = [values[name] for name in (f"{body}_heading", "heading") if name in values]
    return float(values[placement.x]), float(values[placement.y]), float(named[0] if named else heading)


@lru_cache(maxsize=64)
def _change(system: System, x: float, y: float, heading: float) -> str:
    """How the road changes along a way; nothing where it does not, or where it has no height."""
    cosine, sine = math.cos(heading), math.sin(heading)
    values = system.parameter_values()

    def height(along: Array, across: Array) -> Array:
        return ground_heights(system, values, x + cosine * along - sine * across, y + sine * along + cosine * across)

    along, across = (part.ravel() for part in np.meshgrid(PLACES, PLACES))
    rise = height(along, across) - height(0.0 * along, across)
    if not np.isfinite(rise).all():
        return ""
    slope = float(rise @ along / (along @ along))
    if float(np.abs(rise - slope * along).max()) <= LEVEL:
        return ""
    if (center := _center(height)) is not None:
        at = x + cosine * center[0] - sine * center[1], y + sine * center[0] + cosine * center[1]
        return (
            f"its road is banked around ({at[0]:.4g} m, {at[1]:.4g} m): to go around this point changes the position and the "
            "heading, on which the dynamics depends here"
        )
    ahead = np.linspace(0.0, AHEAD, 401)
    heights = height(ahead, 0.0 * ahead) - slope * ahead
    change = max(float(np.ptp(heights[np.isfinite(heights)])), float(np.ptp(rise - slope * along)))
    return f"the road changes along the way: its height varies by {change:.2g} m within {AHEAD:g} m"


def _center(height: Any) -> Array | None:
    """The point around which the heights turn, along and across, or None."""
    along, across = (part.ravel() for part in np.meshgrid(WIDE / AROUND * PLACES, WIDE / AROUND * PLACES))
    gradient = [
        (height(along + STEP, across) - height(along - STEP, across)) / (2 * STEP),
        (height(along, across + STEP) - height(along, across - STEP)) / (2 * STEP),
    ]
    matrix = np.stack([-gradient[1], gradient[0]], axis=1)  # ∇h · J (p − c) = 0
    side = -gradient[1] * along + gradient[0] * across
    if not np.isfinite(matrix).all():
        return None
    center, _, rank, _ = np.linalg.lstsq(matrix, side, rcond=TURNS)
    left = np.abs(matrix @ center - side)
    most = np.hypot(*gradient).max() * max(1.0, float(np.hypot(*center)))
    return center if rank == 2 and bool((left <= TURNS * most).all()) else None
