"""Loops that repeat or degenerate: what moves is found to move, rows are chosen again, and what is broken ends the run."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sympy as sm
from overconstrained import Bennett, ParallelCranks, double_pendulum
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import draisine as dr
from draisine.dynamics.derive import derive
from draisine.dynamics.formulations import Augmented, Recursive, Reduced
from draisine.dynamics.stabilization import (
    GGL,
    Baumgarte,
    InvariantStabilization,
    Minimal,
    Projection,
    Rattle,
    VelocityProjection,
)
from draisine.errors import ModelError, StartError
from draisine.model.model import Model
from draisine.results.status import Ending
from draisine.simulation.compiled_equations import best_rows

TIGHT = dr.methods.DOP853(rtol=1e-10, atol=1e-11)
WAYS = [{}, {"drift": Projection()}, {"formulation": Augmented()}, {"formulation": Reduced()}, {"formulation": Recursive()}]

# -------------------------------------------------------------------- Bennett's linkage


@pytest.mark.parametrize("way", WAYS, ids=["default", "projection", "augmented", "reduced", "recursive"])
def test_bennetts_linkage_turns_past_half_a_turn(way):
    """Two of its five rows lose rank at θ₁ = π, where the linkage is regular."""
    linkage = Bennett(1.739, 0.766, 1.210, 1.32)
    run = dr.simulate(linkage.model(), 4.0, start={"one": 1.32, "one_rate": 1.5}, method=TIGHT, **way)
    assert run.status.kind == Ending.FINISHED, run.status
    assert run["one"].max() > np.pi + 1
    assert linkage.open_by(run["one"], run["two"]) < 1e-8
    assert np.ptp(run["kinetic_energy"]) < 1e-8 * run["kinetic_energy"].max()
    assert run["one"][-1] == pytest.approx(linkage.turned(4.0, 1.5), abs=1e-7)


def test_other_drift_controls_are_right_or_end_early():
    """None of these says FINISHED with an open loop."""
    linkage = Bennett(1.739, 0.766, 1.210, 1.32)
    controls = (
        VelocityProjection(),
        Projection(invariants=("energy",)),
        InvariantStabilization(),
        Minimal(),
        Rattle(0.004),
    )
    for drift in controls:
        run = dr.simulate(linkage.model(), 4.0, start={"one": 1.32, "one_rate": 1.5}, drift=drift)
        if run.status.kind == Ending.FINISHED:
            assert linkage.open_by(run["one"], run["two"]) < 1e-5, drift
            assert run["one"][-1] == pytest.approx(linkage.turned(4.0, 1.5), abs=1e-5), drift
        else:
            assert run.status.kind in (Ending.CONSTRAINTS_BROKEN, Ending.STEP_TOO_SMALL, Ending.SINGULAR), run.status


def test_controls_that_keep_their_rows_name_those_that_do_not():
    linkage = Bennett(1.739, 0.766, 1.210, 1.32)
    for drift in (GGL(), VelocityProjection()):
        run = dr.simulate(linkage.model(), 4.0, start={"one": 1.32, "one_rate": 1.5}, drift=drift)
        assert not run.status.complete
        assert "Projection(), Minimal() and formulation=Recursive()" in run.status.message


def test_random_bennett_linkages_keep_their_relation():
    rng = np.random.default_rng(1903)
    ends = []
    while len(ends) < 5:
        first, second = rng.uniform(0.3, 1.4, 2)
        if abs(first - second) < 0.15:
            continue
        linkage = Bennett(rng.uniform(0.2, 3.0), first, second, rng.uniform(0.3, 2.8), float(rng.choice([0.0, 9.81])))
        model, start = linkage.model(), {"one": linkage.start, "one_rate": 1.5}
        runs = [dr.simulate(model, 3.0, start=start, method=TIGHT, **way) for way in WAYS[:2]]
        for run in runs:
            assert run.status.kind == Ending.FINISHED, (linkage, run.status)
            assert linkage.open_by(run["one"], run["two"]) < 1e-7, linkage
        ends.append([run["one"][-1] for run in runs])
    one, two = np.transpose(ends)
    np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-6)


def test_rows_are_part_of_the_choice():
    """Other rows give the same accelerations; stored equations keep them."""
    linkage = Bennett(1.739, 0.766, 1.210, 1.32)
    e = derive(linkage.model())
    assert len(e.rows) == 2 and e.choice == (*e.independent, *e.rows)
    q = np.array([c.default for c in e.coordinates])
    x, p = np.array([*q, 1.0]), e.default_parameters
    here = best_rows(e, 0.0, q, np.zeros(0), p)
    others = [c for c in dict.fromkeys((here, ("one_rate", "loop_x", "loop_turn_y"))) if c != e.choice]
    for choice in others:
        other = e.with_independent(choice)
        assert other.choice == choice
        mapped = e.translated(other, 0.0, x, np.zeros(0), p)
        slots = [s.name for s in e.report.outputs]
        for slot in ("v", "vdot"):
            k = slots.index(slot)
            np.testing.assert_allclose(e.report([0.0], x, [], p)[k], other.report([0.0], mapped, [], p)[k], rtol=1e-9, atol=1e-10)
    again = pickle.loads(pickle.dumps(e))
    assert again.choice == e.choice
    assert [again.with_independent(c).choice for c in again.alternates] == list(e.alternates)


@pytest.mark.parametrize("way", WAYS[:2])
def test_a_start_at_half_a_turn(way):
    """Two of the rows have no rank there."""
    linkage = Bennett(1.739, 0.766, 1.210, np.pi)
    run = dr.simulate(linkage.model(), 1.0, start={"one_rate": 1.0}, method=TIGHT, **way)
    assert run.status.kind == Ending.FINISHED, run.status
    assert linkage.open_by(run["one"], run["two"]) < 1e-8
    assert run["one"][-1] == pytest.approx(linkage.turned(1.0, 1.0), abs=1e-7)


def test_stored_equations_run_with_their_choices():
    """Without the model no further rows can be derived: the run ends honestly, or is right."""
    linkage = Bennett(1.739, 0.766, 1.210, 1.32)
    stored = pickle.loads(pickle.dumps(derive(linkage.model())))
    run = dr.simulate(stored, 4.0, start={"one": 1.32, "one_rate": 1.5}, method=TIGHT)
    assert run.status.kind in (Ending.FINISHED, Ending.SINGULAR)
    assert linkage.open_by(run["one"], run["two"]) < 1e-7


def test_the_diagnosis_of_bennetts_linkage():
    found = dr.diagnose(Bennett(1.0, 0.6, 1.1, 0.5).model())
    assert (found.freedoms_of_position, found.freedoms_of_velocity, found.rank) == (1, 1, 2)


# -------------------------------------------------------------------- parallel cranks


@pytest.mark.parametrize("start", [-1.2, 0.0, 0.7])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_parallel_cranks_move(count, start):
    """Also if they are assembled flat, where all rows are dependent."""
    found = dr.diagnose(ParallelCranks([1.0] * (count + 1), start).model())
    assert found.can_move
    assert (found.freedoms_of_position, found.freedoms_of_velocity) == (1, 1)
    assert not any("nothing can move" in line for line in found.sections["freedoms"])


def test_parallel_cranks_swing_as_a_pendulum():
    """Random numbers, masses and proportions, pins in the plane and in space."""
    rng = np.random.default_rng(17)
    for trial in range(5):
        count = int(rng.integers(3, 6))
        sizes = rng.uniform(0.2, 0.8, 2)
        cranks = ParallelCranks(
            list(rng.uniform(0.5, 3.0, count + 1)), rng.uniform(0.3, 1.2), *sizes, hinges=trial % 2 == 1 and count < 5
        )
        ways = ({}, {"drift": Projection()}, {"drift": Minimal()}) if trial == 0 else ({},)
        for way in ways:
            run = dr.simulate(cranks.model(), 0.4, start={"phi0": cranks.start, "phi0_rate": 0.5}, method=TIGHT, **way)
            assert run.status.kind == Ending.FINISHED, run.status
            assert run["phi0"][-1] == pytest.approx(cranks.angle(0.4, 0.5), abs=1e-7), (cranks, way)
            assert run["phi1"][-1] == pytest.approx(run["phi0"][-1], abs=1e-8)


@pytest.mark.parametrize("parameters", [False, True])
def test_cranks_pass_their_flat_position(parameters):
    """From −0.6 rad downward through 0, where the mechanism could branch: it goes on as a parallelogram, and passes π shortly
    before the end."""
    cranks = ParallelCranks([1.0, 1.2, 0.8, 2.0], -0.6, parameters=parameters)
    run = dr.simulate(cranks.model(), 0.5, start={"phi0": -0.6, "phi0_rate": 1.0}, method=TIGHT)
    assert run.status.kind == Ending.FINISHED, run.status
    assert run["phi0"][-1] > 0.5
    assert run["phi0"][-1] == pytest.approx(cranks.angle(0.5, 1.0), abs=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_runs_may_end_close_behind_the_flat_position(seed):
    """Random cranks that end between a millionth and a third of their time behind it: only a step beyond the end is accurate."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 5))
    sizes = rng.uniform((0.2, 0.3), (0.8, 0.9))
    cranks = ParallelCranks(
        list(rng.uniform(0.5, 3.0, count + 1)), -rng.uniform(0.2, 1.2), *map(float, sizes), parameters=seed % 2 == 1
    )
    rate = rng.uniform(0.5, 2.0)
    after = next(t for t in np.linspace(0.02, 3.0, 150) if cranks.angle(t, rate) > 0.0)
    flat = brentq(lambda t: cranks.angle(t, rate), after - 0.02, after)
    for share in 10.0 ** rng.uniform(-6.0, -0.5, 3):
        end = flat * (1.0 + share)
        run = dr.simulate(cranks.model(), end, start={"phi0": cranks.start, "phi0_rate": rate}, method=TIGHT)
        assert run.status.kind == Ending.FINISHED, run.status
        assert run.time[-1] == end
        assert run["phi0"][-1] == pytest.approx(cranks.angle(end, rate), abs=2e-8)
        assert [run[f"phi{i}"][-1] for i in range(count)] == pytest.approx([run["phi0"][-1]] * count, abs=1e-8)


def test_a_start_in_the_flat_position_is_singular():
    for way in ({}, {"drift": Projection()}, {"drift": Baumgarte()}):
        run = dr.simulate(ParallelCranks([1.0] * 4, 0.0).model(), 0.1, **way)
        assert run.status.kind == Ending.SINGULAR, run.status


# -------------------------------------------------------------------- broken constraints


@pytest.mark.parametrize("way", [{}, {"formulation": Augmented()}, {"formulation": Recursive()}, {"drift": Projection()}])
def test_a_redundant_row_that_breaks_ends_the_run(way):
    """A last crank of another length makes the mechanism a truss; its redundant row is not solved for, but monitored."""
    model = ParallelCranks([1.0] * 4, -1.2).model()
    assert dr.simulate(model, 0.2, **way).status.kind == Ending.FINISHED
    run = dr.simulate(model, 1.0, parameters={"last": 0.31}, **way)
    assert run.status.kind == Ending.CONSTRAINTS_BROKEN
    assert "pin" in run.status.message and "at t = " in run.status.message
    assert run.time[-1] < 0.1 and not run.status.complete


def test_ensembles_report_broken_constraints():
    model = ParallelCranks([1.0] * 4, -1.2).model()
    found = dr.ensemble(model, 0.2, {"last": [0.3, 0.31]}, outputs=["phi0"])
    assert list(found["status"]) == ["FINISHED", "CONSTRAINTS_BROKEN"]


def test_ensembles_choose_rows_as_single_runs_do():
    linkage = Bennett(1.739, 0.766, 1.210, 1.32)
    rates = [1.5, 1.7]
    found = dr.ensemble(linkage.model(), 3.0, {"one_rate": rates}, start={"one": 1.32}, outputs=["one"], method=TIGHT)
    assert found.statuses == {"FINISHED": 2}
    np.testing.assert_allclose(found["one.end"], [linkage.turned(3.0, rate) for rate in rates], atol=1e-7)


# -------------------------------------------------------------------- rows that are rounding error


@pytest.mark.parametrize("of", ["one", "two"])
@pytest.mark.parametrize("hinge", [False, True])
def test_a_tie_that_holds_up_to_rounding_constrains_nothing(of, hinge):
    free = dr.simulate(double_pendulum(), 1.0, start={"a": 0.3, "a_rate": 0.5}, method=TIGHT)
    model = double_pendulum(tied=0.1 + 0.2, hinge=hinge, of=of)
    assert len(derive(model).independent) == 2
    assert any("satisfied identically" in note for note in derive(model).notes)
    for way in ({}, {"formulation": Augmented()}, {"formulation": Recursive()}):
        run = dr.simulate(model, 1.0, start={"a": 0.3, "a_rate": 0.5}, method=TIGHT, **way)
        assert run.status.kind == Ending.FINISHED
        assert (run["a"][-1], run["b"][-1]) == pytest.approx((free["a"][-1], free["b"][-1]), abs=1e-8)


def test_random_roundings_constrain_nothing():
    """Sums in another order, at any size of the mechanism; an offset a thousand times rounding is no rounding error."""
    rng = np.random.default_rng(3)
    for _ in range(12):
        size = 10 ** rng.uniform(-4, 3)
        parts = size * rng.uniform(0.01, 1.0, 4)
        at, tied = float(np.sum(parts)), float(parts[3] + parts[1] + parts[0] + parts[2])
        e = derive(double_pendulum(at, tied * (1 + 2e-16), hinge=bool(rng.integers(2)), tilt=rng.uniform(-3, 3)))
        assert len(e.independent) == 2 and not e.multipliers, (at, tied)
    with pytest.raises(ModelError):  # open, and nothing can close it
        derive(double_pendulum(0.3, 0.3 + 1e-6))


@pytest.mark.parametrize("ends", [("two", "point"), ("point", "two")])
def test_parameters_that_agree_up_to_rounding(ends):
    """At their defaults the tie constrains nothing; with other parameters it cannot be closed, and the start says so."""
    m = double_pendulum(tied=None)
    parts = [m.parameter(f"part{i}", value, "m") for i, value in enumerate((0.1, 0.2))]
    m.point("point", "one", (parts[0] + parts[1], 0, 0))
    m.close_point("tie", *ends, "xz")
    free = dr.simulate(double_pendulum(), 1.0, start={"a_rate": 0.5}, method=TIGHT)
    for way in ({}, {"formulation": Augmented()}):
        run = dr.simulate(m, 1.0, start={"a_rate": 0.5}, method=TIGHT, **way)
        assert (run["a"][-1], run["b"][-1]) == pytest.approx((free["a"][-1], free["b"][-1]), abs=1e-8)
        with pytest.raises(StartError, match="'tie_x'"):
            dr.simulate(m, 1.0, start={"a_rate": 0.5}, parameters={"part1": 0.3}, **way)


def test_a_second_hinge_on_one_axis_is_redundant():
    m = Model("door")
    m.body("leaf", mass=20.0, center_of_mass=(0.4, 0, 0), inertia=(2.0, 3.0, 1.0))
    m.revolute("swing", "ground", "leaf")
    m.frame("upper", "ground", (0, 0, 1.8))
    m.frame("eye", "leaf", (0, 0, 1.8))
    m.close_hinge("second", "upper", "eye")
    e = derive(m)
    assert e.independent == ("swing_rate",)
    assert sum("second" in note and "satisfied identically" in note for note in e.notes) == 5
    assert dr.diagnose(m).freedoms_of_velocity == 1


# -------------------------------------------------------------------- constraints that are singular as written


def _sliders(residual: str) -> Model:
    m = Model("sliders")
    for name in "xy":
        m.body(f"{name}_block", mass=1.0)
        m.prismatic(name, "ground", f"{name}_block", default=0.2)
    m.constrain("tie", residual)
    return m


@pytest.mark.parametrize(
    "residual", ["(x - y)^2", "(x - y)^3", "3e6*(x - y)^2", "1e-6*(x - y)^2", "1 - cos(x - y)", "(x - y)^2*(2 + x)"]
)
def test_constraints_that_are_singular_as_written_are_named(residual):
    with pytest.raises(ModelError, match=r"constraint 'tie' is singular as written: its rate vanishes"):
        derive(_sliders(residual))


@pytest.mark.parametrize("residual", ["x - y", "1e-6*(x - y)", "x^2 - y^2", "(x - y)^2 + 1e-3*(x - y)", "exp(x - y) - 1"])
def test_constraints_with_a_rate_are_not(residual):
    assert derive(_sliders(residual)).constraints


def _tied_bars(at: tuple[float, float, float], axes: str, chained: bool, bent: float = 0.0) -> Model:
    """Two bars on one hinge axis, side by side or one on the other, tied at a point away from the axis."""
    m = Model("tied_bars")
    for name, mass in (("one", 1.0), ("two", 2.0)):
        m.body(name, mass=mass, center_of_mass=(0.5, 0, 0), inertia=(0.01, 0.1 * mass, 0.1 * mass))
    m.revolute("a", "ground", "one", "y", default=0.3)
    m.revolute("b", "one" if chained else "ground", "two", "y", default=-bent if chained else 0.3 - bent)
    m.point("p", "one", at)
    c, s = np.cos(bent), np.sin(bent)
    m.point("q", "two", (c * at[0] + s * at[2], at[1], c * at[2] - s * at[0]))
    m.close_point("tie", "p", "q", axes)
    return m


def test_bars_on_one_axis_that_are_tied_at_a_point_are_one_bar():
    """One component of the gap is 1 − cos of the angle between them, and follows from the other, its sine: a pendulum."""
    rng = np.random.default_rng(6)
    for trial in range(8):
        at = (rng.uniform(0.1, 0.8), rng.uniform(-0.2, 0.2), float(rng.choice([0.0, rng.uniform(-0.5, 0.5)])))
        axes, chained, bent = ("xz", "xyz")[trial % 2], trial % 4 < 2, float(rng.choice([0.0, rng.uniform(-0.6, 0.6)]))
        model = _tied_bars(at, axes, chained, bent)
        found = derive(model)
        assert len(found.independent) == 1, (at, axes, chained, bent)
        # moments about the axis of the bars, turned by `bent` against each other
        inertia, arm = 0.1 + 0.25 + 0.2 + 0.5, np.array([0.5 + np.cos(bent), np.sin(bent)])

        def pendulum(t, y, inertia=inertia, arm=arm):
            return [y[1], 9.81 * (arm[0] * np.cos(y[0]) + arm[1] * np.sin(y[0])) / inertia]

        exact = solve_ivp(pendulum, (0, 0.7), [0.3, 0.5], rtol=1e-11, atol=1e-12).y[0, -1]
        for way in ({}, {"formulation": Augmented()}, {"formulation": Recursive()}) if trial < 2 else ({},):
            run = dr.simulate(model, 0.7, start={"a": 0.3, "a_rate": 0.5}, method=TIGHT, **way)
            assert run.status.kind == Ending.FINISHED, run.status
            assert run["a"][-1] == pytest.approx(exact, abs=1e-7), (at, axes, chained, bent)


def test_the_degenerate_component_alone_is_refused():
    with pytest.raises(ModelError, match=r"constraint 'tie_x' is singular as written"):
        derive(_tied_bars((0.3, 0.0, 0.0), "x", chained=False))


def test_a_square_beside_its_root_is_redundant():
    m = _sliders("x - y")
    m.constrain("square", "(x - y)^2")
    found = derive(m)
    assert len(found.independent) == 1 and any("square is satisfied identically" in note for note in found.notes)


def test_typed_constraints_that_are_singular_as_written_are_named():
    t = sm.Symbol("t")
    x, y = sm.Function("x")(t), sm.Function("y")(t)
    energy = (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 - 9.81 * y
    with pytest.raises(ModelError, match="pair: constraint 'tie' is singular as written"):
        dr.lagrangian("pair", [x, y], energy, holonomic={"tie": (x - y) ** 2})
    assert dr.lagrangian("pair", [x, y], energy, holonomic={"tie": x**2 + y**2 - 1}, start={x: 1.0}).constraints
