"""What a finished run says about its own accuracy: energy balance and constraint residuals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from draisine.results.channel import Channel

Array = NDArray[np.float64]

# The level at which a kind of constraint is stated; a residual there goes by the plain name of the kind.
NATIVE_LEVEL = {
    "holonomic": "position",
    "nonholonomic": "velocity",
    "norm": "position",
    "algebraic": "position",
    "hidden": "position",
}


def energy_balance(total: Array, work: Array) -> Array:
    """Total energy minus work done, counted from the start: zero for an exact run."""
    surplus = total - work
    return np.asarray(surplus - surplus[0])


def energy_scale(kinetic: Array, potential: Array, total: Array) -> float:
    """The energy in play: the largest kinetic energy + |potential − potential at the start|.

    The height of zero potential is arbitrary, so the potential itself must not enter: a bicycle on a hill is not
    more accurate than one in a valley. A system at rest for the whole run has none in play but the rounding of its total;
    then the largest |total energy| serves, and if that is zero too, 1 J.
    """
    in_play = float(np.max(kinetic + np.abs(potential - potential[0])))
    whole = float(np.max(np.abs(total)))
    rounding = 16 * np.finfo(float).eps * whole
    return (whole or 1.0) if in_play <= rounding else in_play


def residual_key(kind: str, level: str) -> str:
    """`"holonomic"`, `"nonholonomic"`, `"norm"`, or `"holonomic_velocity"` for the derivative of a position constraint."""
    return kind if not level or NATIVE_LEVEL.get(kind) == level else f"{kind}_{level}"


def worst_residuals(channels: Sequence[Channel], data: Array) -> dict[str, float]:
    """The largest |residual| over the run for each kind; meters, radians and m/s are never mixed under one key."""
    worst: dict[str, float] = {}
    for channel, column in zip(channels, data.T, strict=True):
        key = residual_key(channel.kind, channel.level)
        worst[key] = float(np.maximum(worst.get(key, 0.0), np.max(np.abs(column))))  # np.maximum keeps NaN
    return worst
