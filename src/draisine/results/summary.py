"""Summary of a trajectory as text, and measures of its accuracy: energy balance and constraint residuals."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.results.channel import STATE_GROUPS, Channel, Group
from draisine.results.control_characters import escaped

if TYPE_CHECKING:
    from draisine.results.trajectory import Trajectory

Array = NDArray[np.float64]

_WIDTH = 80
_MOST_VALUES = 12
_NO_BREAK = "\N{NO-BREAK SPACE}"  # between a number and its unit while lines are wrapped
# the outputs shown, if the model has them
_KEY_OUTPUTS = ("speed", "heading", "lean", "steer", "roll_rate", "steer_rate")


def headline(run: Trajectory) -> str:
    """Model, time span, samples and status in one line."""
    first, last = float(run.time[0]), float(run.time[-1])
    return f"{escaped(run.model)}: {first:g} to {last:g} s, {len(run)} samples × {len(run.channels)} channels, {run.status.kind}"


def summary(run: Trajectory) -> str:
    """Model, status, final outputs, accuracy and cost; one item per line."""
    facts = [
        ("status", f"{run.status.kind}: {run.status.message}" if run.status.message else str(run.status.kind)),
        ("span", f"{run.time[0]:g} to {run.time[-1]:g} s in {len(run)} samples"),
        ("equations", str(run.scene.get("reduction", ""))),
        ("final", _final(run)),
        ("energy", _energy(run)),
        ("constraints", _listed([f"{kind} {worst:.1e}" for kind, worst in run.constraint_residual.items()])),
        ("events", _listed([f"{name} at {time:g} s" for name, time in run.events])),
        ("modes", repr(run.modes)[1:-1] if run.modes.contacts else ""),
        *(("warning", text) for text in run.warnings),
        ("work", _work(run)),
        ("seconds", _listed([f"{stage} {_duration(value)}" for stage, value in run.seconds.items()])),
    ]
    lines = [run.model]
    for name, text in facts:
        if text:
            lines += textwrap.wrap(text, _WIDTH, initial_indent=f"  {name:<12}", subsequent_indent=" " * 14)
    return escaped("\n".join(lines).replace(_NO_BREAK, " "))


def _final(run: Trajectory) -> str:
    names = [name for name in _KEY_OUTPUTS if name in run] or list(run.names(Group.OUTPUTS))
    names = names or [name for group in STATE_GROUPS for name in run.names(group)]
    values = [f"{name} {run[name][-1]:.6g} {run.channel(name).unit}".rstrip() for name in names]
    return _listed(values)


def _listed(items: list[str]) -> str:
    rest = len(items) - _MOST_VALUES
    return ", ".join(item.replace(" ", _NO_BREAK) for item in items[:_MOST_VALUES]) + (f" and {rest} more" if rest > 0 else "")


def _energy(run: Trajectory) -> str:
    if run.energy_drift is None:
        return "" if run.energy_scale is None else "no balance: the equations do not count the work of forces (work=True does)"
    return f"drift {run.energy_drift:.1e} of {run.energy_scale:.4g} J in play"


def _work(run: Trajectory) -> str:
    cost = run.statistics
    if not cost.evaluations:
        return ""
    return f"{cost.evaluations} evaluations, {cost.accepted} steps accepted, {cost.rejected} rejected"


def _duration(seconds: float) -> str:
    """
    >>> _duration(0.00052), _duration(0.184), _duration(12.3)
    ('0.52 ms', '184 ms', '12.3 s')
    """
    if seconds >= 1.0:
        return f"{seconds:.3g} s"
    return f"{seconds * 1e3:.3g} ms"


# -------------------------------------------------------------------- accuracy

# The level at which a kind of constraint is defined; a residual at this level has the name of the kind.
NATIVE_LEVEL = {
    "holonomic": "position",
    "nonholonomic": "velocity",
    "norm": "position",
    "algebraic": "position",
    "hidden": "position",
}


def energy_balance(total: Array, work: Array) -> Array:
    """Total energy minus work, relative to the start: zero for an exact solution."""
    surplus = total - work
    return np.asarray(surplus - surplus[0])


def energy_scale(kinetic: Array, potential: Array, total: Array) -> float:
    """The reference for energy errors: the largest kinetic energy + |change of potential energy|.

    The reference level of the potential is arbitrary, so only its change enters. For a system at rest, where this is rounding
    error, the largest |total energy| is used, and if that is zero, 1 J.
    """
    scale = float(np.max(kinetic + np.abs(potential - potential[0])))
    largest = float(np.max(np.abs(total)))
    rounding = 16 * np.finfo(float).eps * largest
    return (largest or 1.0) if scale <= rounding else scale


def residual_key(kind: str, level: str) -> str:
    """`"holonomic"`, `"nonholonomic"`, `"norm"`, or `"holonomic_velocity"` for the derivative of a position constraint."""
    return kind if not level or NATIVE_LEVEL.get(kind) == level else f"{kind}_{level}"


def worst_residuals(channels: Sequence[Channel], data: Array) -> dict[str, float]:
    """The largest |residual| of each kind; residuals of different levels are kept separate."""
    worst: dict[str, float] = {}
    for channel, column in zip(channels, data.T, strict=True):
        key = residual_key(channel.kind, channel.level)
        worst[key] = float(np.maximum(worst.get(key, 0.0), np.max(np.abs(column))))  # np.maximum keeps NaN
    return worst
