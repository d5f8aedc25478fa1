"""Ensembles with their pictures: here many runs and view meet."""

from __future__ import annotations

from typing import Any

from draisine.simulation.ensemble.ensemble import ensemble
from draisine.simulation.ensemble.result import Ensemble

__all__ = ["Ensemble", "ensemble"]

SHOWN = 4  # columns drawn when none are named


def _plot_ensemble(found: Ensemble, *names: str, **options: Any) -> Any:
    """How runs ended over two quantities; with names, or where they differ in fewer, columns of numbers.

    See `draisine.view.plots.ensembles`.
    """
    from draisine.view.plots.ensembles import endings, outcomes

    varied = [name for name in found.varied if name in found.names]
    if len(varied) >= 2 and not names:
        return endings({name: (_unit(found, name), found[name]) for name in varied}, found["status"], **options)
    kept = [n for n in found.statistics if n not in (*found.varied, "run", "steps") and found.statistics[n].count]
    ends = [n for n in kept if n.endswith(".end")]
    columns = {name: (_unit(found, name), found[name]) for name in (names or (ends or kept)[:SHOWN])}
    if not columns:
        columns = {"ended": ("s", found["ended"])}
    over = (varied[0], _unit(found, varied[0]), found[varied[0]]) if len(varied) == 1 else None
    return outcomes(over, columns, **options)


def _unit(found: Ensemble, column: str) -> str:
    name = column.partition(".")[0].partition("@")[0]
    return found.units.get(column, found.units.get(name, "s" if column == "ended" or column.endswith(".first") else ""))


Ensemble.plot = _plot_ensemble  # type: ignore[assignment,method-assign]
