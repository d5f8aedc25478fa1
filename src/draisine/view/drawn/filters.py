"""Filters with their pictures: here state estimation and view meet, as `verbs` does for runs."""

from __future__ import annotations

from typing import Any

from draisine.estimation.filters.filter import filter
from draisine.estimation.filters.filter_result import Filtered
from draisine.estimation.measurement import measurable
from draisine.results.trajectory import Trajectory

__all__ = ["Filtered", "filter"]


def _plot_filtered(found: Filtered, *names: str, truth: Trajectory | None = None, **options: Any) -> Any:
    """Estimates of named quantities with 95 % bands, filtered and smoothed; see `draisine.view.plots.confidence_bands`."""
    from draisine.view.plots.confidence_bands import Band, bands

    known = measurable(found.filtered.equations)
    kinds = [e for e in (found.filtered, found.smoothed) if e is not None]
    columns = dict(zip(found.quantities, found.measured.T, strict=True))
    panels = []
    for name in names or found.quantities:
        true = None if truth is None else (truth.time, truth[name])
        unit = known[name].unit if name in known else ""
        panels.append([Band(name, unit, e.time, e[name], e.deviation(name), e.kind, columns.get(name), true) for e in kinds])
    return bands(panels, **options)


Filtered.plot = _plot_filtered  # type: ignore[assignment,method-assign]
