"""Responses of a linear model: Bode plots, root loci, step responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError
from draisine.results.linear import LinearModel, python_control
from draisine.view.plots.canvas import panels
from draisine.view.plots.labels import display_name, label_axis, legend_above, with_unit
from draisine.view.plots.style import COLORS, INK, PAGE, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def bode(
    linear: LinearModel, input: str, output: str | Sequence[str], frequencies: ArrayLike | None = None, *, width: float = PAGE
) -> Figure:
    """Bode plot of a `linear` model: amplitude and phase of each `output` (or state) for a unit sine at an `input`, against the
    frequency in rad/s (`frequencies`; by default around the eigenvalues). `width` is that of the figure in inches.

    You should see straight asymptotes whose slopes count poles less zeros. Phases begin within ±180° and are continuous. For an
    unstable model the plot shows the transfer function only.
    """
    names = (output,) if isinstance(output, str) else tuple(output)
    units = {linear.units.get(name, "") for name in names}
    omega = _frequencies(linear, frequencies)
    with style():
        from matplotlib.ticker import MultipleLocator

        drawing, (size, phase) = panels(2, width, 0.75 * width)
        for name in names:
            value = response_at(linear, input, name, omega)
            size.loglog(omega, np.abs(value), label=display_name(name) if len(units) == 1 else _amplitude(linear, input, name))
            phase.semilogx(omega, np.degrees(np.unwrap(np.angle(value))))
        size.set_ylabel(_amplitude(linear, input, names[0], "amplitude") if len(units) == 1 else "amplitude [units above]")
        phase.set_ylabel("phase [°]")
        phase.set_xlabel("frequency [rad/s]")
        phase.yaxis.set_major_locator(MultipleLocator(90.0))
        size.margins(x=0)
        legend_above(size, width)
    return drawing


def response_at(linear: LinearModel, input: str, output: str, frequencies: NDArray[np.float64]) -> NDArray[np.complex128]:
    """The frequency response from an input to an output or state."""
    control = python_control("bode")
    system = linear.with_outputs(output).essential((output,)).to_control((input,), (output,))
    return np.asarray(control.frequency_response(system, frequencies, squeeze=False).frdata[0, 0])


def gain_locus(
    linear: LinearModel, input: str, output: str, gains: ArrayLike | None = None, *, width: float = 0.75 * PAGE
) -> Figure:
    """Root locus of a `linear` model: eigenvalues under feedback input = −k · output, as k grows; crosses at k = 0, circles at
    the zeros. `width` is that of the figure in inches.

    You should see every branch begin at a cross and end at a circle or leave the figure; the half plane right of the dark line
    is unstable. Use negative `gains` for feedback of the other sign.
    """
    control = python_control("gain_locus")
    transfer = linear.transfer(input, output)
    chosen = _refined(control.root_locus_map(transfer).gains) if gains is None else np.asarray(gains, dtype=float)
    loci = np.asarray(control.root_locus_map(transfer, gains=chosen).loci)
    poles, zeros = np.asarray(transfer.poles()), np.asarray(transfer.zeros())
    with style():
        drawing, (axes,) = panels(1, width, width)
        axes.axvline(0.0, color=INK, lw=0.8)
        for k in range(loci.shape[1]):
            axes.plot(loci[:, k].real, loci[:, k].imag, color=COLORS[k % len(COLORS)], lw=1.3)
        axes.plot(poles.real, poles.imag, "x", color=INK, markersize=7, label="no feedback")
        axes.plot(zeros.real, zeros.imag, "o", color=INK, markerfacecolor="white", markersize=6, label="zeros")
        reach = 1.25 * max(float(np.abs(np.concatenate([poles, zeros, [1.0]])).max()), 1.0)
        axes.set_xlim(-reach, 0.6 * reach)
        axes.set_ylim(-0.8 * reach, 0.8 * reach)
        axes.set_aspect("equal")
        axes.set_xlabel("real part [1/s]")
        axes.set_ylabel("imaginary part [1/s]")
        legend_above(axes, width)
    return drawing


def step_response(linear: LinearModel, until: float, input: str, output: str | Sequence[str], *, width: float = PAGE) -> Figure:
    """Step response of a `linear` model: deviations of each `output` (or state) after an `input` has stepped up by one unit,
    from 0 to `until` seconds. `width` is that of the figure in inches."""
    control = python_control("step_response")
    names = (output,) if isinstance(output, str) else tuple(output)
    system = linear.with_outputs(*names).essential(names).to_control((input,), names)
    answer = control.forced_response(system, np.linspace(0.0, until, 801), 1.0, squeeze=False)
    with style():
        drawing, axes = panels(len(names), width, max(0.3, 0.26 * len(names)) * width)
        for panel, name, values in zip(axes, names, np.asarray(answer.outputs).reshape(len(names), -1), strict=True):
            panel.plot(answer.time, values)
            panel.margins(x=0)
            label_axis(panel.yaxis, display_name(name), linear.units.get(name, ""))
        axes[-1].set_xlabel("time [s]")
    return drawing


def _frequencies(linear: LinearModel, frequencies: ArrayLike | None) -> NDArray[np.float64]:
    if frequencies is not None:
        omega = np.asarray(frequencies, dtype=float)
        if omega.ndim != 1 or len(omega) < 2 or not np.all(omega > 0):
            raise ArgumentError(f"frequencies must be two or more positive numbers in rad/s, got {frequencies!r}")
        return omega
    sizes = np.abs(linear.eigenvalues)
    own = sizes[sizes > 1e-6 * max(float(sizes.max(initial=0.0)), 1e-300)]
    low, high = (float(own.min()), float(own.max())) if len(own) else (1.0, 1.0)
    return np.geomspace(low / 30.0, high * 30.0, 400)


def _refined(gains: ArrayLike) -> NDArray[np.float64]:
    """Gains refined by interpolation, for smooth branches."""
    given = np.asarray(gains, dtype=float)
    indices = np.arange(len(given))
    return np.interp(np.linspace(0, len(given) - 1, 12 * (len(given) - 1) + 1), indices, given)


def _amplitude(linear: LinearModel, input: str, output: str, text: str = "") -> str:
    """The amplitude of an output per unit of an input: "lean [rad/(N·m)]"."""
    over, under = (linear.units.get(name, "") for name in (output, input))
    over, below = (f"({unit})" if set("*/") & set(unit) else unit for unit in (over, under))
    return with_unit(text or display_name(output), f"{over or '1'}/{below}" if under else linear.units.get(output, ""))
