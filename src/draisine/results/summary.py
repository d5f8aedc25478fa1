"""A trajectory in words."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from draisine.results.channel import STATE_GROUPS, Group

if TYPE_CHECKING:
    from draisine.results.trajectory import Trajectory

_WIDTH = 100
_MOST_VALUES = 12
_TIE = "\N{NO-BREAK SPACE}"  # between a number and its unit while lines are broken
# Forces, energies and contact points can be asked for; these say at a glance what the system does.
_IDENTIFIABILITY = ("speed", "heading", "lean", "steer", "roll_rate", "steer_rate")


def headline(run: Trajectory) -> str:
    """Model, span, samples and how it ended, in one line."""
    first, last = float(run.time[0]), float(run.time[-1])
    return f"{run.model}: {first:g} to {last:g} s, {len(run)} samples × {len(run.channels)} channels, {run.status.kind}"


def summary(run: Trajectory) -> str:
    """What ran, how it ended, the outputs at the end, errors, cost; one fact per line."""
    facts = [
        ("status", f"{run.status.kind}: {run.status.message}" if run.status.message else str(run.status.kind)),
        ("span", f"{run.time[0]:g} to {run.time[-1]:g} s in {len(run)} samples"),
        ("final", _final(run)),
        ("energy", _energy(run)),
        ("constraints", _listed([f"{kind} {worst:.1e}" for kind, worst in run.constraint_residual.items()])),
        ("events", _listed([f"{name} at {time:g} s" for name, time in run.events])),
        *(("warning", text) for text in run.warnings),
        ("work", _work(run)),
        ("seconds", _listed([f"{stage} {_duration(value)}" for stage, value in run.seconds.items()])),
    ]
    lines = [run.model]
    for name, text in facts:
        if text:
            lines += textwrap.wrap(text, _WIDTH, initial_indent=f"  {name:<12}", subsequent_indent=" " * 14)
    return "\n".join(lines).replace(_TIE, " ")


def _final(run: Trajectory) -> str:
    names = [name for name in _IDENTIFIABILITY if name in run] or list(run.names(Group.OUTPUTS))
    names = names or [name for group in STATE_GROUPS for name in run.names(group)]
    values = [f"{name} {run[name][-1]:.6g} {run.channel(name).unit}".rstrip() for name in names]
    return _listed(values)


def _listed(items: list[str]) -> str:
    rest = len(items) - _MOST_VALUES
    return ", ".join(item.replace(" ", _TIE) for item in items[:_MOST_VALUES]) + (f" and {rest} more" if rest > 0 else "")


def _energy(run: Trajectory) -> str:
    if run.energy_drift is None:
        return ""
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
