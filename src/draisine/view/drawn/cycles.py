"""Periodic motions and their families with their pictures: here stability and view meet."""

from __future__ import annotations

from typing import Any

from draisine.stability.periodic.branch import CycleBranch, follow_cycle
from draisine.stability.periodic.cycle import Cycle, limit_cycle

__all__ = ["Cycle", "CycleBranch", "follow_cycle", "limit_cycle"]

SHOWN = 2  # quantities of a family that are drawn besides the period, when none are named


def _plot_cycle(found: Cycle, *names: str, **options: Any) -> Any:
    """One period, and the Floquet multipliers; see `draisine.view.plots.periodic`."""
    from draisine.view.plots.periodic import cycle_figure

    return cycle_figure(found.trajectory, found.multipliers, names, **options)


def _plot_family(found: CycleBranch, *names: str, **options: Any) -> Any:
    """Period and amplitudes along the parameter; see `draisine.view.plots.periodic`."""
    from draisine.view.plots.periodic import family_figure

    e = found.cycles[0].equations
    units = {q.name: q.unit for q in (*e.states, *e.outputs, *e.parameters)}
    ignorable = found.cycles[0].ignorable
    chosen = names or [c.name for c in e.coordinates if c.name not in ignorable][:SHOWN]
    told = {"period": ("s", found.periods)}
    told |= {f"amplitude of {name}": (units.get(name, ""), found.amplitudes(name)) for name in chosen}
    return family_figure((found.parameter, units.get(found.parameter, "")), found.values, found.stable, told, **options)


Cycle.plot = _plot_cycle  # type: ignore[assignment,method-assign]
CycleBranch.plot = _plot_family  # type: ignore[assignment,method-assign]
