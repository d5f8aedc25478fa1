"""Sweeps and maps of stability with their pictures: here stability and view meet, as `verbs` does for runs."""

from __future__ import annotations

from typing import Any

from draisine.stability.modes import Modes, modes
from draisine.stability.stability_map import StabilityMap, stability_map

__all__ = ["Modes", "StabilityMap", "modes", "stability_map"]


def _plot_modes(found: Modes, **options: Any) -> Any:
    """Eigenvalues against the swept quantity, critical values marked; see `draisine.view.plots.eigenvalues`."""
    from draisine.view.plots.eigenvalues import eigenvalues_against
    from draisine.view.plots.labels import with_unit, words

    marks = [(c.kind, c.value) for c in found.critical()]
    e = found.family.equations
    unit = next((q.unit for q in (*e.states, *e.outputs, *e.parameters, *e.inputs) if q.name == found.over), "")
    label = with_unit(words(found.over), unit)
    return eigenvalues_against(found.values, found.eigenvalues, found.names, label, marks, **options)


def _plot_map(found: StabilityMap, **options: Any) -> Any:
    """Regions by what grows in them, boundaries labelled; see `draisine.view.plots.maps`."""
    from draisine.view.plots.maps import stability_regions

    return stability_regions(found.values, found.kind, found.kinds, found.boundaries, units=found.units, **options)


Modes.plot = _plot_modes  # type: ignore[assignment,method-assign]
StabilityMap.plot = _plot_map  # type: ignore[assignment,method-assign]
