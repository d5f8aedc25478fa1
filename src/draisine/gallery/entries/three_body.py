"""The restricted three-body problem: a periodic orbit between Earth and Moon, and its invariant.

What it shows: a system with an invariant and no constraint (Thomsen 2005, chapter 4). In axes that turn with Earth and Moon
(μ = 1/82.45 and 1 − μ of the mass, one unit apart, the origin in their center of mass) the satellite obeys

    ẍ = x + 2 ẏ − (1 − μ)(x + μ)/R₁³ − μ (x − 1 + μ)/R₂³,   ÿ = y − 2 ẋ − (1 − μ) y/R₁³ − μ y/R₂³                    (4.2.1)

and keeps Jacobi's integral I = ½(ẋ² + ẏ² − x² − y²) − (1 − μ)/R₁ − μ/R₂. The notes' five treatments — nothing; a multiplier
(4.3.2); projection onto I = I₀; one step of that after each step of the method (4.3.3); coordinates and momenta — are run over
ten periods with both of their methods, the improved Euler method and the implicit midpoint rule.

What you should see: with an accurate method the orbit closes to 1e-12. The improved Euler method loses the orbit at the notes'
step sizes; with projection onto I it keeps it from a step of 0.001 on. The implicit midpoint rule converges with order 2
without projection.

Explanations of the notes' observations:

- The multiplier has no effect. I is constant along solutions for any value, so the multiplier is zero: index 2, but the same
  solution as the first variant.
- Velocities and momenta give the same orbit, with either method. The momenta ẋ − y, ẏ + x are linear in the state, and
  Runge–Kutta methods are invariant under linear maps; so the midpoint rule is symplectic in the notes' first variables too.
- Projection onto I makes the midpoint rule worse. The method conserves the integral of its modified equations, which differs
  from I only near the Earth. I therefore dips as the satellite passes and recovers; a correction there moves the satellite to
  another orbit.

Not reproduced: the notes report that I drops by 5 % at once and stays there, in all their methods. It stays within 1e-6 until
the satellite comes near the Earth; their own code must have compared two different things. The dips there are real, 2, 8 and 37
% for the midpoint rule with steps of 0.0005, 0.001 and 0.002.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

import draisine as dr
from draisine.dynamics.stabilization import Drift, InvariantStabilization, NoControl, Projection
from draisine.gallery.registry import Study, entry
from draisine.simulation.run import integrate
from draisine.simulation.simulate import compute
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import PAGE

Reals = NDArray[np.float64]

PERIOD = 6.19216933131963970674
SPEED = -1.04935750983031990726  # across, at the start
MASS = 1 / 82.45  # of the Moon, as a part of both
STEPS = (2e-3, 1e-3, 5e-4)
PERIODS = 10


def three_body() -> dr.Equations:
    """A satellite between Earth and Moon, in axes that turn with them (Thomsen 2005, chapter 4)."""
    (x, y, u, w), mu, rates, jacobi = _newton()
    return dr.first_order(
        "three_body",
        dict(zip((x, y, u, w), rates, strict=True)),
        parameters={mu: MASS},
        outputs={"jacobi": jacobi},
        start={x: 1.2, w: SPEED},
    )


def three_body_with_multiplier() -> dr.Equations:
    """The satellite with its invariant as a constraint and a multiplier, a differential-algebraic system of index 2 (4.3.2)."""
    states, mu, rates, jacobi = _newton()
    multiplier, kept = sp.symbols("multiplier jacobi_at_start")
    at_start = jacobi.subs(dict(zip((*states, mu), (1.2, 0, 0, SPEED, MASS), strict=True)))
    return dr.symbolic.semi_explicit(
        "three_body_with_multiplier",
        {s: rate - jacobi.diff(s) * multiplier for s, rate in zip(states, rates, strict=True)},
        constraints={"invariant": jacobi - kept},
        unknowns=[multiplier],
        parameters={mu: MASS, kept: float(at_start)},
        outputs={"jacobi": jacobi},
        start={states[0]: 1.2, states[3]: SPEED},
    )


def three_body_in_momenta() -> dr.Equations:
    """The satellite in coordinates and momenta, a Hamiltonian system (4.3.5)."""
    x, y, px, py, mu = sp.symbols("x y px py mu")
    hamiltonian = (px**2 + py**2) / 2 + y * px - x * py + _attraction(x, y, mu)
    return dr.first_order(
        "three_body_in_momenta",
        {x: hamiltonian.diff(px), y: hamiltonian.diff(py), px: -hamiltonian.diff(x), py: -hamiltonian.diff(y)},
        parameters={mu: MASS},
        outputs={"jacobi": hamiltonian},
        start={x: 1.2, py: SPEED + 1.2},
    )


def _attraction(x: Any, y: Any, mu: Any) -> Any:
    return -(1 - mu) / sp.sqrt((x + mu) ** 2 + y**2) - mu / sp.sqrt((x - 1 + mu) ** 2 + y**2)


def _newton() -> tuple[tuple[Any, ...], Any, tuple[Any, ...], Any]:
    """States, μ, rates and Jacobi's integral."""
    x, y, u, w, mu = sp.symbols("x y x_rate y_rate mu")
    pull = _attraction(x, y, mu)
    rates = (u, w, x + 2 * w - pull.diff(x), y - 2 * u - pull.diff(y))
    return (x, y, u, w), mu, rates, (u**2 + w**2 - x**2 - y**2) / 2 + pull


# ---------------------------------------------------------------- ten periods, five treatments, two methods

METHODS: dict[str, Callable[[float], Any]] = {
    "improved Euler": lambda step: dr.methods.Heun(step=step),
    "implicit midpoint": lambda step: dr.methods.Gauss(step=step, stages=1),
}
INVARIANTS = ("jacobi",)
VARIANTS: dict[str, tuple[Callable[[], dr.Equations], Drift | None]] = {
    "plain": (three_body, None),
    "multiplier": (lambda: dr.dae.reduce_index(three_body_with_multiplier()), NoControl()),
    "projected": (three_body, Projection(invariants=INVARIANTS)),
    "stabilized": (three_body, InvariantStabilization(INVARIANTS)),
    "momenta": (three_body_in_momenta, None),
    "momenta, stabilized": (three_body_in_momenta, InvariantStabilization(INVARIANTS)),
}


@dataclass(frozen=True, eq=False)
class Flight:
    """Ten periods under one variant, with one method and step."""

    variant: str
    method: str
    step: float
    errors: Reals  # |x − 1.2| where the satellite crosses the axis outside the Moon, period by period (4.3.1)
    time: Reals
    deviation: Reals  # of Jacobi's integral from its start, relative, at every step
    distance: Reals  # from the Earth

    @property
    def mean(self) -> float:
        """The notes' measure: the mean over ten periods. Infinite when the satellite did not come back ten times."""
        return float(np.mean(self.errors)) if len(self.errors) == PERIODS else np.inf

    @property
    def lost(self) -> bool:
        """Whether the satellite left its orbit: it came back anywhere but near where it began, or not at all."""
        return not self.mean < 0.1

    @property
    def worst(self) -> float:
        return float(np.max(np.abs(self.deviation)))

    @property
    def far(self) -> float:
        """The largest deviation away from the Earth."""
        return float(np.max(np.abs(self.deviation[self.distance > FAR])))


FAR = 0.5  # from the Earth


@cache
def flight(variant: str, method: str, step: float) -> Flight:
    """Integrate ten periods."""
    make, drift = VARIANTS[variant]
    equations = make()
    crossing = dr.Event("crossing", "y", "record", -1)
    # the tenth return may come late: fly a little longer, and judge I over ten periods
    run = compute(equations, (PERIODS + 0.4) * PERIOD, method=METHODS[method](step), drift=drift, events=[crossing]).run
    returns = [event.state[0] for event in run.events if event.state[0] > OUTSIDE][:PERIODS]
    (segment,) = run.segments
    x, y, u, w = segment.states[segment.times <= PERIODS * PERIOD, :4].T
    if variant.startswith("momenta"):
        u, w = u + y, w - x  # velocities from momenta
    jacobi = (u**2 + w**2 - x**2 - y**2) / 2 - (1 - MASS) / np.hypot(x + MASS, y) - MASS / np.hypot(x - 1 + MASS, y)
    time = segment.times[segment.times <= PERIODS * PERIOD]
    errors = np.abs(np.array(returns) - 1.2)
    return Flight(variant, method, step, errors, time, jacobi / jacobi[0] - 1, np.hypot(x + MASS, y))


OUTSIDE = 1.05  # x beyond which a crossing of the axis is a return: outside the Moon


def closing_error(periods: int = 1) -> float:
    """Closing error of the orbit, in the largest of coordinates and velocities, by a method of order 8."""
    equations = three_body()
    start = np.array([s.default for s in equations.states])
    run = integrate(equations, start, periods * PERIOD, method=dr.methods.DOP853(rtol=1e-14, atol=1e-14))
    return float(np.max(np.abs(run.final_state - start)))


@entry(level="Intermediate")
def three_body_treatments(steps: tuple[float, ...] = STEPS) -> Study:
    """The notes' five treatments of an invariant, with both of their methods, over ten periods: table and figure 4.4."""
    once, ten = closing_error(), closing_error(PERIODS)
    flights = {(t, m, h): flight(t, m, h) for t in VARIANTS for m in METHODS for h in steps}
    finest, coarsest = min(steps), max(steps)
    explicit, implicit = METHODS
    assert once < 1e-10, once
    assert dr.dae.index_of(three_body_with_multiplier()).differential == 2
    for h in steps:
        for method in METHODS:  # a multiplier that is zero, and variables that are linear in each other, change nothing
            plain = flights["plain", method, h]
            for other in ("multiplier", "momenta"):
                assert _same(plain, flights[other, method, h]), (other, method, h)
        assert flights["plain", explicit, h].lost, h
        assert not flights["plain", implicit, h].lost, h
        assert flights["projected", implicit, h].worst < 1e-12, h
        # projection makes the midpoint rule worse
        assert flights["stabilized", implicit, h].mean > flights["plain", implicit, h].mean, h
    for variant in ("projected", "stabilized"):
        assert not flights[variant, explicit, finest].lost, variant

    orbit = dr.simulate(three_body(), PERIOD, method=dr.methods.DOP853(rtol=1e-12, atol=1e-12), samples=2001)
    figures = {"orbit": _orbit(orbit), "errors": _errors(flights, steps), "invariant": _invariant(flights, coarsest)}
    midpoint = {h: flights["plain", implicit, h] for h in steps}
    findings = (
        f"the orbit closes to {once:.1e} after one period, to {ten:.1e} after ten (DOP853, tolerance 1e-14)",
        *_table(flights, steps),
        *(
            f"implicit midpoint, step {h:g}: Jacobi's integral dips by {f.worst:.1%} near the Earth, and is within {f.far:.1e} "
            f"more than {FAR:g} away from it"
            for h, f in midpoint.items()
        ),
    )
    return Study("Five treatments of an invariant", {"orbit": orbit}, figures, findings)


def _same(one: Flight, other: Flight) -> bool:
    """Whether two flights agree up to the rounding that the unstable orbit amplifies."""
    first, second = one.errors[:1], other.errors[:1]
    return bool(np.allclose(first, second, rtol=1e-6, atol=1e-9))


def _table(flights: Mapping[tuple[str, str, float], Flight], steps: tuple[float, ...]) -> list[str]:
    width = max(len(t) for t in VARIANTS) + max(len(m) for m in METHODS) + 2
    lines = [
        "mean error over ten periods (4.3.1) and largest change of Jacobi's integral",
        f"{'':<{width}}" + "".join(f"{f'step {h:g}':>22}" for h in steps),
    ]
    for method in METHODS:
        for variant in VARIANTS:
            row = [flights[variant, method, h] for h in steps]
            cells = "".join(f"{'lost' if f.lost else f'{f.mean:.1e}':>12}{f.worst:>10.0e}" for f in row)
            lines.append(f"{f'{variant}, {method}':<{width}}{cells}")
    return lines


# ---------------------------------------------------------------- figures

# those that give one orbit are one curve; the improved Euler method loses it at these steps
CURVES = {"plain, multiplier, momenta": "plain", "projected": "projected", "stabilized, momenta too": "stabilized"}


def _orbit(run: dr.Trajectory) -> Any:
    with single_panel("x [–]", "y [–]", height=0.7 * PAGE, equal=True) as (drawing, axes):
        axes.plot(run["x"], run["y"], linewidth=0.9)
        axes.plot([-MASS, 1 - MASS], [0, 0], "o", markersize=4)
        for name, x in (("Earth", -MASS), ("Moon", 1 - MASS)):
            axes.annotate(name, (x, 0.0), textcoords="offset points", xytext=(6, 6))
    return drawing


def _errors(flights: Mapping[tuple[str, str, float], Flight], steps: tuple[float, ...]) -> Any:
    """Figure 4.4."""
    with single_panel("step [–]", "mean error over ten periods [–]", height=0.55 * PAGE) as (drawing, axes):
        for method, line in zip(METHODS, ("--", "-"), strict=True):
            for (label, variant), mark in zip(CURVES.items(), "osx", strict=True):
                found = [(h, flights[variant, method, h].mean) for h in steps if not flights[variant, method, h].lost]
                if found:
                    axes.loglog(
                        *zip(*found, strict=True), line + mark, label=f"{label}, {method}", markersize=6, fillstyle="none"
                    )
        slope = np.array([min(steps), max(steps)])
        axes.loglog(slope, 1.5e3 * slope**2, ":", color="gray", label="order 2")
    return drawing


def _invariant(flights: Mapping[tuple[str, str, float], Flight], step: float) -> Any:
    """Figure 4.5, as it is."""
    with single_panel("periods [–]", "change of Jacobi's integral [%]", height=0.4 * PAGE) as (drawing, axes):
        for variant in ("plain", "stabilized"):
            f = flights[variant, "implicit midpoint", step]
            axes.plot(f.time / PERIOD, 100 * f.deviation, linewidth=0.8, label=f"{variant}, step {step:g}")
    return drawing
