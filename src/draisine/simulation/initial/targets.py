"""What a start is asked for, sorted by where it belongs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from draisine.errors import ArgumentError
from draisine.program.equations import Equations
from draisine.simulation.named_values import number_in, unknown_name


@dataclass(frozen=True)
class InitialGuess:
    """A coordinate or velocity that may move, but as little as possible from here instead of from its default.

    It says which of several solutions is meant: the elbow up or down, the crank before or behind.
    """

    value: float


@dataclass(frozen=True)
class Targets:
    """Wishes by home; coordinates and velocities are held at them, outputs solved for."""

    coordinates: Mapping[str, float] = field(default_factory=dict)
    velocities: Mapping[str, float] = field(default_factory=dict)
    outputs: Mapping[str, float] = field(default_factory=dict)
    states: Mapping[str, float] = field(default_factory=dict)  # beyond coordinates and velocities
    near: Mapping[str, float] = field(default_factory=dict)  # of coordinates and velocities


def sorted_targets(e: Equations, homes: Mapping[str, str], targets: Mapping[str, float | InitialGuess]) -> Targets:
    """Wishes by home; names that do not exist and numbers that are none are refused."""
    found: dict[str, dict[str, float]] = {"coordinates": {}, "velocities": {}, "outputs": {}, "states": {}, "near": {}}
    for name, target in targets.items():
        value = _number(e, name, target.value if isinstance(target, InitialGuess) else target)
        if name in e.force_outputs:
            raise ArgumentError(
                f"{e.name}: {name!r} depends on accelerations or forces and cannot be wished for at the start; wish for "
                "coordinates, velocities or outputs that depend on these alone"
            )
        home = homes.get(name)
        if home is None:
            raise unknown_name(f"coordinate, velocity or output of {e.name}", name, homes)
        if isinstance(target, InitialGuess):
            if home not in ("coordinates", "velocities"):
                raise ArgumentError(
                    f"{e.name}: {name!r} is neither a coordinate nor a velocity and cannot be begun near {value:g}; wish for "
                    f"{name} = {value:g} itself, or begin near coordinates that give it"
                )
            home = "near"
        found[home][name] = value
    return Targets(**found)


def plain(e: Equations, targets: Mapping[str, float | str | InitialGuess]) -> dict[str, float | InitialGuess]:
    """Wishes as numbers in SI, those given with a unit too."""
    return {
        name: InitialGuess(_number(e, name, target.value)) if isinstance(target, InitialGuess) else _number(e, name, target)
        for name, target in targets.items()
    }


def _number(e: Equations, name: str, value: object) -> float:
    units = {q.name: q.unit for q in (*e.states, *e.velocities, *e.outputs)}
    # a name that does not exist is complained about later, and not for its unit
    number = number_in(value, units[name], f"{e.name}: the start's {name}") if name in units else number_in(value)
    if number is None or not np.isfinite(number):
        unit = f" in {units[name]}" if units.get(name) else ""
        raise ArgumentError(f"{e.name}: the start wishes {name} = {value!r}; give a finite number{unit}")
    return number
