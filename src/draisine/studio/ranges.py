"""Ranges of sliders, inputs and start targets, from name, unit and default value."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from draisine.expr.expression import evaluate_number
from draisine.model.system import System
from draisine.program.equations import Equations, Quantity

SPREAD = 2.5  # upper limit of sliders, times the default
_RIGHT = math.pi / 2
_ANGLE = math.radians(80)
_PARTS = 200  # steps of a slider


@dataclass(frozen=True)
class Range:
    """From `low` to `high`, with the default between."""

    low: float
    high: float

    @property
    def step(self) -> float:
        """A round number, about a two-hundredth of the range."""
        return round_number((self.high - self.low) / _PARTS)


def round_number(size: float) -> float:
    """The largest of 1, 2, 5 times a power of ten not above a size.

    >>> round_number(0.037), round_number(7.0), round_number(1.0)
    (0.02, 5.0, 1.0)
    """
    if not size > 0 or not math.isfinite(size):
        return 1.0
    power = 10.0 ** math.floor(math.log10(size) + 1e-12)
    return max(k * power for k in (1, 2, 5) if k * power <= size * (1 + 1e-9))


def parameter_range(parameter: Quantity) -> Range:
    """Range of a parameter: its sign is kept, angles are within ±90°, masses and lengths are positive.

    >>> parameter_range(Quantity("m_frame", "kg", default=85.0))
    Range(low=17.0, high=210.0)
    """
    value, unit = parameter.default, parameter.unit
    if unit in ("rad", "deg"):
        most = _RIGHT if unit == "rad" else 90.0
        return _ordered(value, max(-most, min(-most / 2, value)), min(most, max(most / 2, value)))
    if value == 0.0:
        size = {"m": 0.2, "kg": 10.0, "N": 100.0, "N*m": 20.0, "m/s": 5.0, "rad/s": 2.0, "kg*m^2": 0.5}.get(unit, 1.0)
        return Range(0.0, size) if unit == "kg" else Range(-size, size)
    least = 0.2 if unit in ("kg", "kg*m^2", "m", "m/s^2", "s") else 0.0
    return _ordered(value, least * value, SPREAD * value)


def _ordered(value: float, one: float, other: float) -> Range:
    low, high = sorted((_two_digits(one), _two_digits(other)))
    return Range(min(low, value), max(high, value))


def _two_digits(size: float) -> float:
    return float(f"{size:.2g}")


def input_range(quantity: Quantity, weight: float, length: float) -> Range:
    """Range of an input: small compared with the weight, smaller for steering."""
    name, unit = quantity.name, quantity.unit
    if unit == "N":
        size = 0.15 * weight if weight else 10.0
    elif unit == "N*m":
        share = 0.01 if "steer" in name else 0.3 if "brake" in name or "lever" in name else 0.04  # brakes hold a wheel
        size = share * weight * length if weight else 1.0
    else:
        size = {"rad": 0.6, "rad/s": 2.0, "m": 0.3, "m/s": 3.0}.get(unit, 1.0)
    size = round_number(size)
    return Range(-size, size)


def target_range(quantity: Quantity, value: float) -> Range:
    """Range of a start target."""
    name, unit = quantity.name, quantity.unit
    if unit == "rad":
        most = 3.0 if "heading" in name or "angle" in name else _ANGLE
        return _ordered(value, -most, most)
    size = {"m/s": 10.0, "rad/s": 3.0, "m": 5.0}.get(unit, 10.0)
    size = max(size, round_number(5.0 * abs(value))) if value else size
    return _ordered(value, 0.0 if name == "speed" else -size, size)


def weight_and_length(equations: Equations, system: System | None) -> tuple[float, float]:
    """Total weight in newtons (0 without description), and the median length among the parameters."""
    lengths = sorted(abs(p.default) for p in equations.parameters if p.unit == "m" and p.default)
    length = lengths[len(lengths) // 2] if lengths else 1.0
    if system is None:
        return 0.0, length
    values = system.parameter_values()
    return 9.81 * sum(evaluate_number(body.mass, values) for body in system.bodies), length


def start_quantities(equations: Equations, decided: Collection[str], given: Collection[str] = ()) -> list[Quantity]:
    """Quantities offered as start targets: outputs of the motion, coordinates, independent velocities and those that the
    default start gives; without those determined by the constraints."""
    outputs = set(equations.motion.output("outputs").labels)
    quaternions = {name for four in equations.quaternions for name in four}
    found = [q for q in equations.outputs if q.name in outputs and not _of_contact(q.name)]
    found += [q for q in equations.coordinates if q.name not in quaternions and not q.name.endswith(("_place_x", "_place_y"))]
    speeds = {v.name: v for v in equations.velocities}
    found += [speeds[name] for name in speeds if name in equations.independent or name in given]
    return [q for q in _once(found) if q.name not in decided]


def _of_contact(name: str) -> bool:
    return "_contact_" in name or name.endswith("_track_heading")


def _once(quantities: Sequence[Quantity]) -> list[Quantity]:
    return list({q.name: q for q in reversed(quantities)}.values())[::-1]
