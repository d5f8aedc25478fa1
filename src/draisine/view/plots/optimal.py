"""Optimality conditions: bounded controls with their switching functions, and the Hamiltonian."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from draisine.view.plots.canvas import panels
from draisine.view.plots.labels import display_name, label_axis, pretty_unit
from draisine.view.plots.style import COLORS, FAINT, INK, PAGE, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

PANEL = 1.35  # inches, height of one


class SwitchingLike(Protocol):
    """What a figure needs of a switching function."""

    @property
    def name(self) -> str: ...
    @property
    def times(self) -> Array: ...
    @property
    def values(self) -> Array: ...
    @property
    def control(self) -> Array: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def crossings(self) -> Array: ...
    @property
    def course(self) -> tuple[Array, Array]:
        """Times and values of the control between its nodes, with both limits where it jumps."""


class HamiltonianLike(Protocol):
    """What a figure needs of a Hamiltonian."""

    @property
    def times(self) -> Array: ...
    @property
    def values(self) -> Array: ...
    @property
    def expected(self) -> float | None: ...


def optimality_figure(
    switching: Sequence[SwitchingLike],
    hamiltonian: Sequence[HamiltonianLike],
    *,
    units: Mapping[str, str] | None = None,
    width: float = PAGE,
) -> Figure:
    """Controls between their bounds (left scale) with ∂H/∂u (right scale), whose zeros are marked; below them H. Phases follow
    each other on one axis of time."""
    names = list(dict.fromkeys(s.name for s in switching))
    with style():
        drawing, axes = panels(len(names) + 1, width, PANEL * (len(names) + 1) + 0.5)
        for ax, name in zip(axes, names, strict=False):
            _control(ax, [s for s in switching if s.name == name], (units or {}).get(name, ""))
        _energy(axes[-1], hamiltonian)
        label_axis(axes[-1].xaxis, "time", "s")
    return drawing


def _control(axes: Axes, parts: Sequence[SwitchingLike], unit: str) -> None:
    beside = axes.twinx()
    beside.grid(False)
    beside.spines["right"].set_visible(True)
    largest = max((float(np.abs(p.values).max(initial=0.0)) for p in parts), default=1.0) or 1.0
    for part in parts:
        axes.plot(*part.course, color=COLORS[0])
        beside.plot(part.times, part.values, color=COLORS[1], lw=1.0)
        for side in (part.low, part.high):
            axes.plot(part.times[[0, -1]], [side, side], color=FAINT, lw=0.8, ls="--")
        beside.plot(part.crossings, np.zeros(len(part.crossings)), "o", ms=4, mfc="white", mec=COLORS[1], zorder=5)
        for zero in part.crossings:
            axes.axvline(zero, color=FAINT, lw=0.6, ls=":")
    middle, half = 0.5 * (parts[0].low + parts[0].high), 0.5 * (parts[0].high - parts[0].low)
    axes.set_ylim(middle - 1.25 * half, middle + 1.25 * half)
    beside.set_ylim(-1.1 * largest, 1.1 * largest)
    label_axis(axes.yaxis, display_name(parts[0].name), unit)
    axes.yaxis.label.set_color(COLORS[0])
    beside.set_ylabel(f"∂H/∂u [cost/s{f' per {pretty_unit(unit)}' if unit else ''}]", color=COLORS[1])


def _energy(axes: Axes, parts: Sequence[HamiltonianLike]) -> None:
    seen = np.concatenate([p.values for p in parts])
    # nodes next to a switch may be outliers: limits follow the quantiles
    low, high = np.quantile(seen, [0.02, 0.98])
    for part in parts:
        axes.plot(part.times, part.values, color=INK, lw=1.0)
        if part.expected is not None:
            axes.plot(part.times[[0, -1]], [part.expected] * 2, color=FAINT, lw=0.8, ls="--")
            low, high = min(low, part.expected), max(high, part.expected)
    room = max(float(high - low), 0.1 * max(abs(float(low)), abs(float(high))), 1e-6)
    axes.set_ylim(low - 0.5 * room, high + 0.5 * room)
    axes.set_ylabel("H [cost/s]")
