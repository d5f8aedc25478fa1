"""Parameters from data, with pictures of fits: here estimation and view meet."""

from __future__ import annotations

from typing import Any

from draisine.estimation.coverage import Coverage, coverage
from draisine.estimation.estimate import estimate, identifiability
from draisine.estimation.fit import Fit
from draisine.estimation.multistart import MultiStart
from draisine.estimation.profiles import Profile

__all__ = ["Coverage", "Fit", "MultiStart", "Profile", "coverage", "estimate", "identifiability"]


def _plot_fit(found: Fit, **options: Any) -> Any:
    """Measured and predicted channels over time, residuals beside them; see `draisine.view.plots.fits`."""
    from draisine.view.plots.fits import measured_and_predicted

    panels = [
        (recording.name, channel.column, channel.unit, recording.times, recording.values[:, i], predicted[:, i], residuals[:, i])
        for recording, predicted, residuals in zip(found.posed.recordings, found.outcome.predicted, found.residuals, strict=True)
        for i, channel in enumerate(recording.channels)
    ]
    return measured_and_predicted(panels, **options)


def _plot_intervals(found: Fit, truth: dict[str, float] | None = None, **options: Any) -> Any:
    """95 % intervals of the unknowns, relative to their values; see `draisine.view.plots.fits`."""
    from draisine.view.plots.fits import intervals

    rows = [(name, found[name], *found.interval(name)) for name in found.names]
    return intervals(rows, truth or {}, **options)


def _plot_profile(found: Profile, **options: Any) -> Any:
    """The root of the growth of the sum of squares along one unknown; see `draisine.view.plots.fits`."""
    from draisine.view.plots.fits import likelihood_profile

    return likelihood_profile(found.name, found.values, found.roots, found.low, found.high, **options)


def _plot_coverage(found: Coverage, **options: Any) -> Any:
    """How often intervals hold the truth; see `draisine.view.plots.fits`."""
    from draisine.view.plots.fits import coverage_figure

    return coverage_figure(list(found.shares.items()), found.level, found.limits(), **options)


Profile.plot = _plot_profile  # type: ignore[attr-defined]
Coverage.plot = _plot_coverage  # type: ignore[attr-defined]
Fit.plot = _plot_fit  # type: ignore[assignment,method-assign]
Fit.plot_intervals = _plot_intervals  # type: ignore[assignment,method-assign]
