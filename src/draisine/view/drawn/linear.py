"""Linear models with their pictures: here steady motions and view meet."""

from __future__ import annotations

from typing import Any

from draisine.results.linear import LinearModel
from draisine.stability.linearization import linearize
from draisine.stability.steady import steady

__all__ = ["LinearModel", "linearize", "steady"]


def _plot_linear(found: LinearModel, **options: Any) -> Any:
    """Eigenvalues in the complex plane; see `draisine.view.plots.complex_plane`."""
    from draisine.view.plots.complex_plane import eigenvalue_plane

    return eigenvalue_plane(found.eigenvalues, **options)


LinearModel.plot = _plot_linear  # type: ignore[assignment,method-assign]
