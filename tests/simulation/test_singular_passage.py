"""Singular positions of loops are passed on the branch on which the motion arrives, by every formulation."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sm
from scipy.integrate import solve_ivp
from sympy.physics.mechanics import dynamicsymbols
from tests.dynamics.overconstrained import GRAVITY, ParallelCranks, four_bar

import draisine as dr
from draisine.dynamics.formulations import Augmented, Recursive, Reduced
from draisine.dynamics.stabilization import Minimal, Projection
from draisine.results.status import Ending
from draisine.simulation.sampled_control import Sampled

TIGHT = dr.methods.DOP853(rtol=1e-10, atol=1e-11)
WAYS = {
    "default": {},
    "tight": {"method": TIGHT},
    "projection": {"drift": Projection()},
    "minimal": {"drift": Minimal()},
    "recursive": {"formulation": Recursive()},
    "augmented": {"formulation": Augmented(), "method": TIGHT},
    "RK4": {"method": dr.methods.RK4(0.002)},
    "Radau": {"method": dr.methods.Radau(rtol=1e-9, atol=1e-11)},
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_random_parallel_cranks_stay_parallel(way):
    """Turning through their flat position several times: a pendulum. In one of two runs some way went over to the antiparallel
    branch, with the status FINISHED."""
    rng = np.random.default_rng(5)
    for _ in range(4):
        count = int(rng.integers(2, 4))
        cranks = ParallelCranks(list(rng.uniform(0.5, 3.0, count + 1)), -rng.uniform(0.2, 1.0), *rng.uniform(0.2, 0.8, 2))
        rate, until = rng.uniform(2.0, 12.0), rng.uniform(0.5, 3.0)
        run = dr.simulate(cranks.model(), until, start={"phi0": cranks.start, "phi0_rate": rate}, **way)
        assert run.status.kind == Ending.FINISHED, (cranks, run.status)
        assert run["phi0"][-1] == pytest.approx(cranks.angle(until, rate), abs=1e-4), cranks
        assert np.abs(run["phi1"] - run["phi0"]).max() < 1e-4


def test_the_passage_is_reported():
    cranks = ParallelCranks([1.0, 1.0, 1.0], -0.4)
    run = dr.simulate(cranks.model(), 0.5, start={"phi0": -0.4, "phi0_rate": 2.0}, drift=Projection())
    text = " ".join(run.status.warnings)
    if "passes a singular position" in text:
        assert "on the branch on which it arrives" in text
    assert run["phi0"][-1] == pytest.approx(cranks.angle(0.5, 2.0), abs=1e-6)


def _typed(l: float, d: float, masses: np.ndarray, start: float) -> dr.Equations:
    a, b, c = dynamicsymbols("a b c")
    t = dynamicsymbols._t
    x, z = l * sm.cos(a) + d / 2 * sm.cos(b), l * sm.sin(a) + d / 2 * sm.sin(b)
    first, second, coupler = masses
    kinetic = (first * a.diff() ** 2 + second * c.diff() ** 2) * l**2 / 6 + 0.02 * b.diff() ** 2
    kinetic += coupler * (x.diff(t) ** 2 + z.diff(t) ** 2) / 2
    return dr.lagrangian(
        "parallelogram",
        [a, b, c],
        kinetic=kinetic,
        potential=GRAVITY * (first * l / 2 * sm.sin(a) + second * l / 2 * sm.sin(c) + coupler * z),
        holonomic={
            "x": l * sm.cos(a) + d * sm.cos(b) - d - l * sm.cos(c),
            "z": l * sm.sin(a) + d * sm.sin(b) - l * sm.sin(c),
        },
        start={a: start, c: start},
        units={a: "rad", b: "rad", c: "rad"},
    )


def test_typed_parallelograms_stay_parallel():
    """They have no description from which rows could be sampled; all of these changed their branch silently."""
    rng = np.random.default_rng(0)
    for _ in range(4):
        (l, d), masses = rng.uniform(0.2, 0.8, 2), rng.uniform(0.5, 3.0, 3)
        start, rate, until = rng.uniform(0.3, 1.0), -rng.uniform(3.0, 12.0), rng.uniform(0.5, 2.0)
        inertia = (masses[0] + masses[1]) * l**2 / 3 + masses[2] * l**2
        factor = GRAVITY * ((masses[0] + masses[1]) * l / 2 + masses[2] * l) / inertia
        exact = solve_ivp(lambda t, y: [y[1], -factor * np.cos(y[0])], (0, until), [start, rate], rtol=1e-12, atol=1e-12)  # noqa: B023
        equations = _typed(l, d, masses, start)
        for way in ({}, {"drift": Reduced()}, {"drift": Minimal()}):
            run = dr.simulate(equations, until, start={"a": start, equations.velocities[0].name: rate}, **way)
            assert run.status.kind == Ending.FINISHED, run.status
            assert run["a"][-1] == pytest.approx(exact.y[0, -1], abs=1e-4)


def _change_point(rng: np.random.Generator, kind: int) -> list[float]:
    """Lengths of a linkage whose shortest and longest bars are as long as the other two: it can become flat."""
    if kind == 0:
        short, second, third = np.sort(rng.uniform(0.3, 1.0, 3))
        bars = np.array([short, second, second + third - short, third])
        return list(bars[[[0, 1, 2, 3], [0, 2, 1, 3], [0, 1, 3, 2]][rng.integers(3)]])
    small, large = np.sort(rng.uniform(0.3, 1.0, 2))
    return [small, large, large, small] if kind == 1 else [small, large, small, large]


def test_change_point_linkages_agree():
    """Four-bars, kites and parallelograms against independent coordinates at a tight tolerance."""
    rng = np.random.default_rng(0)
    for trial in range(3):
        lengths, start = _change_point(rng, trial % 3), rng.uniform(0.5, 1.3)
        model, begin, until = (
            four_bar(lengths, start),
            {"theta": -start, "theta_rate": -rng.uniform(6, 14)},
            rng.uniform(0.4, 1.0),
        )
        ends = [
            dr.simulate(model, until, start=begin, **way)
            for way in ({"drift": Minimal(), "method": TIGHT}, {}, {"drift": Projection()}, {"formulation": Recursive()})
        ]
        for run in ends:
            assert run.status.kind == Ending.FINISHED, (lengths, run.status)
            for name in ("theta", "beta", "gamma"):
                assert run[name][-1] == pytest.approx(ends[0][name][-1], abs=1e-5), (lengths, name)


@pytest.mark.parametrize("longer", [1e-2, 1e-4, 1e-6])
def test_branches_that_do_not_meet_are_not_left(longer):
    """A rocker that is a little too long: the linkage turns over to the antiparallel position, near the flat one."""
    model, begin = four_bar([0.3, 0.6, 0.3, 0.6], 0.7, longer), {"theta": -0.7, "theta_rate": 8.0}
    exact = dr.simulate(model, 0.8, start=begin, drift=Minimal(), method=TIGHT)
    for way in ({}, {"drift": Projection()}, {"formulation": Recursive()}):
        run = dr.simulate(model, 0.8, start=begin, **way)
        assert run.status.kind == Ending.FINISHED
        assert run["gamma"][-1] == pytest.approx(exact["gamma"][-1], abs=2e-6)


def test_events_and_samples_within_a_passage():
    """The flat position itself, which lies inside the step across it, is an event like any other; so in backward runs."""
    rng = np.random.default_rng(8)
    for _ in range(4):
        cranks = ParallelCranks([1.0, 1.2, 2.0], -rng.uniform(0.2, 0.6))
        rate = rng.uniform(3.0, 8.0)
        flat = dr.Event("flat", "sin(phi0)", "record")
        for way in ({"drift": Projection()}, {"formulation": Recursive()}):
            run = dr.simulate(
                cranks.model(), 1.0, start={"phi0": cranks.start, "phi0_rate": rate}, events=[flat], samples=3001, **way
            )
            turns = np.floor(run["phi0"] / np.pi)
            assert len(run.events) == np.count_nonzero(np.diff(turns))
            for event in run.events:
                assert np.sin(cranks.angle(event.time, rate)) == pytest.approx(0.0, abs=1e-5)
            middle = len(run.time) // 2
            assert run["phi0"][middle] == pytest.approx(cranks.angle(run.time[middle], rate), abs=1e-5)
            back = dr.simulate(cranks.model(), -1.0, start=run, **way)
            assert back["phi0"][-1] == pytest.approx(cranks.start, abs=1e-4)


def test_ensembles_pass_as_single_runs_do():
    cranks = ParallelCranks([1.0, 1.2, 2.0], -0.5)
    rates = np.linspace(3.0, 9.0, 12)
    for formulation in (None, Recursive()):
        equations = dr.derive(cranks.model(), formulation=formulation)
        found = dr.ensemble(equations, 1.5, {"phi0_rate": rates}, start={"phi0": -0.5}, outputs=["phi0"])
        assert found.statuses == {"FINISHED": len(rates)}
        np.testing.assert_allclose(found["phi0.end"], [cranks.angle(1.5, rate) for rate in rates], atol=1e-4)
        for k in (0, 5, 11):
            one = dr.simulate(equations, 1.5, start={"phi0": -0.5, "phi0_rate": rates[k]}, samples=[1.5])
            assert one["phi0"][-1] == found["phi0.end"][k]


def test_sampled_control_passes():
    """An input that is set at intervals: a torque on the crank, which a closed form does not have; energy is conserved."""
    cranks = ParallelCranks([1.0, 1.2, 2.0], -0.5)
    model = cranks.model()
    model.generalized_force("phi0", model.input("torque", "N*m"))
    control = Sampled(lambda t, x: [3.0], 50.0)
    run = dr.simulate(model, 1.2, start={"phi0": -0.5, "phi0_rate": 4.0}, control=control, drift=Projection())
    assert run.status.kind == Ending.FINISHED
    assert run.energy_drift < 1e-6
    assert np.abs(run["phi1"] - run["phi0"]).max() < 1e-5
