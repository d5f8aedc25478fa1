"""Van der Pol's oscillator: an ordinary equation, a singular perturbation, and the differential-algebraic system in its limit.

What it shows: one problem in three forms (Thomsen 2005, section 2.2). In time scaled by μ, with ε = 1/μ², it reads y₁′ = y₂, ε
y₂′ = (1 − y₁²) y₂ − y₁; with ε = 0 the second line is an algebraic equation, and the index is 1 in place of 0. The limit is
followed from y₁ = 2 to the fold at y₁ = 1, where the solution ends and the oscillator jumps.

What you should see: relaxation oscillations whose period tends to (3 − 2 ln 2) μ, with the correction 7.014 μ^(−1/3) of
A. A. Dorodnitsyn (1947); and the slow part of the cycle on the limit's curve, 3/2 − ln 2 long in scaled time.
"""

from __future__ import annotations

import math

import numpy as np
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.gallery.registry import Study, entry
from draisine.view.plots.trajectories import channel_figure

STIFFNESS = (10.0, 100.0, 1e3, 1e6)
SLOWEST = 3 - 2 * math.log(2)  # period in scaled time as μ → ∞
AIRY = 2.338107410459767  # − the first zero of Airy's function


def van_der_pol() -> dr.Equations:
    """Van der Pol's oscillator as two ordinary equations; mu determines the stiffness."""
    y1, y2, mu = sp.symbols("y1 y2 mu")
    return dr.first_order("van_der_pol", {y1: y2, y2: mu * (1 - y1**2) * y2 - y1}, parameters={mu: 10.0}, start={y1: 2.0})


def van_der_pol_singular() -> dr.Equations:
    """Van der Pol's oscillator in scaled time, a singular perturbation: eps = 1/mu^2 multiplies a rate and may be zero."""
    y1, y2 = dynamicsymbols("y1 y2")
    eps = sp.Symbol("eps")
    return dr.symbolic.implicit(
        "van_der_pol_singular",
        {"slow": y1.diff() - y2, "fast": eps * y2.diff() - ((1 - y1**2) * y2 - y1)},
        [y1, y2],
        parameters={eps: 1e-2},
        start={y1: 2.0, y2: -2.0 / 3.0},
    )


def van_der_pol_limit() -> dr.Equations:
    """Van der Pol's oscillator for eps = 0: a differential-algebraic system of index 1."""
    y1, y2 = sp.symbols("y1 y2")
    return dr.symbolic.semi_explicit(
        "van_der_pol_limit", {y1: y2}, constraints={"fast": (1 - y1**2) * y2 - y1}, unknowns=[y2], start={y1: 2.0, y2: -2.0 / 3.0}
    )


def asymptotic_period(mu: float) -> float:
    """Dorodnitsyn's, to the second term."""
    return SLOWEST * mu + 3 * AIRY * mu ** (-1 / 3)


@entry(level="First steps")
def van_der_pol_relaxes(stiffness: tuple[float, ...] = STIFFNESS) -> Study:
    """Relaxation oscillations against their period in the limit, and the slow part against the algebraic limit."""
    runs = {f"mu_{mu:g}": _cycles(mu) for mu in stiffness}
    periods = [float(np.diff([e.time for e in run.events])[-1]) for run in runs.values()]
    apart = [abs(period / asymptotic_period(mu) - 1) for mu, period in zip(stiffness, periods, strict=True)]
    before_fold = dr.Event("before_the_fold", "y1 - 1.01", "stop", -1)
    limit = dr.simulate(dr.dae.reduce_index(van_der_pol_limit()), 2.0, events=[before_fold], method=EXACT)
    taken = float(limit.time[-1])
    closed = 0.5 * (4 - 1.01**2) - math.log(2 / 1.01)
    changes = [dr.dae.index_of(van_der_pol_singular(), parameters={"eps": eps}).differential for eps in (1e-2, 0.0)]

    assert apart == sorted(apart, reverse=True) and apart[-1] < 0.01, apart  # the stiffer, the closer
    assert abs(taken - closed) < 1e-9, (taken, closed)
    assert changes == [0, 1], changes  # for eps = 0 the second equation is algebraic
    findings = (
        *(
            f"mu = {mu:g}: period {period:.4f}, {period / mu:.4f} in scaled time (limit {SLOWEST:.4f}), "
            f"{error:.1e} from Dorodnitsyn's, {run.statistics.accepted} steps"
            for mu, period, error, run in zip(stiffness, periods, apart, runs.values(), strict=True)
        ),
        f"the limit reaches y1 = 1.01 after {taken:.6f} of scaled time, by its closed form after {closed:.6f}",
        f"differential index {changes[0]} for eps > 0, {changes[1]} for eps = 0",
    )
    figures = {"relaxation": channel_figure(list(runs.values())[-1], "y1"), "limit": channel_figure(limit, "y1", "y2")}
    return Study("Van der Pol's oscillator and its algebraic limit", {**runs, "limit": limit}, figures, findings)


EXACT = dr.methods.DOP853(rtol=1e-10, atol=1e-12)
STIFF = dr.methods.Radau(rtol=1e-9, atol=1e-11)


def _cycles(mu: float) -> dr.Trajectory:
    rising = dr.Event("rising", "y1", "record", 1)
    return dr.simulate(van_der_pol(), 3.2 * asymptotic_period(mu), parameters={"mu": mu}, events=[rising], method=STIFF)
