"""Index reduction: the same motion as by other formulations, with every hidden constraint satisfied."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from known_index import hessenberg, kronecker, pendulum, reissig
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.errors import ArgumentError, ModelError, SolverError
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual

t, k = sp.symbols("t k")
EXACT = dr.methods.DOP853(rtol=1e-11, atol=1e-12)


def by_lagrange() -> dr.Equations:
    x, y = dynamicsymbols("x y")
    return dr.lagrangian(
        "pendulum",
        [x, y],
        kinetic=(x.diff() ** 2 + y.diff() ** 2) / 2,
        potential=10 * y,
        holonomic={"length": (x**2 + y**2 - 1) / 2},
        start={x: 0.6, y: -0.8},
    )


def test_accelerations_are_lagrange_s():
    """Anywhere, on the constraints or not: g̈ = 0 with the same force is the same linear system."""
    reduced, other = dr.dae.reduce_index(pendulum()), by_lagrange()
    for state in np.random.default_rng(5).normal(size=(6, 4)):
        mine, theirs = reduced.dynamics([0.0], state, [], [])[0], other.dynamics([0.0], state, [], [])[0]
        assert mine == pytest.approx(theirs, rel=1e-12)
        reported = dict(zip((s.name for s in reduced.report.outputs), reduced.report([0.0], state, [], []), strict=True))
        tension = dict(zip((s.name for s in other.report.outputs), other.report([0.0], state, [], []), strict=True))
        assert reported["multipliers"] == pytest.approx(-tension["multipliers"], rel=1e-12)


def test_what_became_of_the_pendulum():
    reduced = dr.dae.reduce_index(pendulum())
    assert isinstance(reduced.dynamics, LinearSolveProgram) and [s.name for s in reduced.states] == ["x", "y", "vx", "vy"]
    assert [c.name for c in reduced.constraints] == ["length", "length_rate"]
    assert reduced.notes[-3:] == (
        "differentiated: 'length' twice",
        "kept as constraints, onto which the state is projected: length, length_rate",
        "solved for at every evaluation: pull",
    )
    assert dr.dae.reduce_index(reduced) is reduced


def test_nothing_drifts():
    """100 swings over the top; without the projection the length would wander."""
    reduced = dr.dae.reduce_index(pendulum())
    run = dr.simulate(reduced, 60.0, start={"x": 0.0, "y": -1.0, "vx": 7.0}, samples=4001)
    energy = (run["vx"] ** 2 + run["vy"] ** 2) / 2 + 10 * run["y"]
    assert run["y"].max() > 0.99 and run.constraint_residual["algebraic"] < 1e-6 and run.constraint_residual["hidden"] < 1e-5
    assert np.ptp(energy) < 2e-4
    assert run["pull"] == pytest.approx(run["vx"] ** 2 + run["vy"] ** 2 - 10 * run["y"], abs=1e-4)


def test_projection_lands_on_all_constraints():
    reduced = dr.dae.reduce_index(pendulum())
    assert reduced.project is not None
    state = np.array([0.61, -0.79, 0.82, 0.59])
    for _ in range(4):
        state, error = reduced.project([0.0], state, [], [])
    assert error[0] < 1e-14 and reduced.motion([0.0], state, [], [], [])[0] == pytest.approx([0.0, 0.0], abs=1e-14)
    assert np.linalg.norm(state - [0.61, -0.79, 0.82, 0.59]) < 0.025


def test_nonlinear_unknowns_become_states():
    """ẋ = −z, z + z³/2 = x: by one more differentiation z is a state; its equation stays as a constraint."""
    x, z = sp.symbols("x z")
    e = dr.symbolic.semi_explicit("diode", {x: -z}, algebraic={z: z + z**3 / 2 - x}, start={x: 1.5, z: 1.0})
    reduced = dr.dae.reduce_index(e)
    assert [s.name for s in reduced.states] == ["x", "z"] and [c.name for c in reduced.constraints] == ["z_equation"]
    assert "became states (they enter nonlinearly, or were kept): z" in reduced.notes[-1]
    run = dr.simulate(reduced, 2.0, start={"x": 1.5}, method=EXACT)
    # dt = −dx/z with x = z + z³/2: t = ln(1/z) + 3/4 (1 − z²)
    z_of = run["z"]
    assert run.time == pytest.approx(-np.log(z_of) + 0.75 * (1 - z_of**2), abs=1e-9)


@pytest.mark.parametrize("index", [2, 3, 4])
def test_hessenberg_forms_follow_their_path(index):
    """The only solution: x₁ + x₁³ = sin(t)/3, the others from it; compared with the roots themselves."""
    e = hessenberg(index)
    reduced = dr.dae.reduce_index(e)
    assert len(reduced.constraints) == index  # z enters nonlinearly
    run = dr.simulate(reduced, 1.5, method=EXACT)
    x1 = run["x1"]
    assert x1 + x1**3 == pytest.approx(np.sin(run.time) / 3, abs=1e-10)
    rate = np.cos(run.time) / 3 / (1 + 3 * x1**2)
    after = run["x2"] if index > 2 else run["z"]
    assert np.sin(after) + after + x1**2 / 5 == pytest.approx(rate, abs=1e-9)


@pytest.mark.parametrize("index", [1, 2, 3])
def test_linear_systems_behind_full_matrices(index):
    """Combined rows carry the reduction through; E ẏ + A y = f holds with the rates found."""
    equations, e, a = kronecker(index, seed=index)
    reduced = dr.dae.reduce_index(equations)
    run = dr.simulate(reduced, 1.0, method=EXACT, samples=11)
    names = [q.name for q in equations.coordinates]
    y = np.array([run[name] for name in names]).T
    for moment, state in zip(run.time, y, strict=True):
        whole = np.array([dict(zip(names, state, strict=True))[s.name] for s in reduced.states])
        rate = dict(zip((s.name for s in reduced.states), reduced.dynamics([moment], whole, [], [])[0], strict=True))
        side = np.sin(np.arange(1, len(names) + 1) * moment)
        assert e @ [rate[n] for n in names] + a @ state == pytest.approx(side, abs=1e-6)


def test_sums_of_rates():
    run = dr.simulate(dr.dae.reduce_index(reissig()), 1.0, method=EXACT)
    assert run["x5"] == pytest.approx(np.cos(run.time), abs=1e-9)
    assert run["x1"] - run["x2"] == pytest.approx(np.sin(run.time), abs=1e-9)
    assert run["x3"] == pytest.approx(run["x4"], abs=1e-9)
    # x₄' + x₅' = −x₃ with x₃ = x₄: x₄' = sin t − x₄
    start = run["x4"][0] + 0.5
    assert run["x4"] == pytest.approx((np.sin(run.time) - np.cos(run.time)) / 2 + start * np.exp(-run.time), abs=1e-8)


def test_unknowns_that_need_a_rate_of_their_own():
    """ẋ = w, z = x, z = sin t: the constraint on z must be differentiated with z in it, so ż is found and z is a state."""
    x, z, w = sp.symbols("x z w")
    e = dr.symbolic.semi_explicit("copy", {x: w}, constraints={"same": z - x, "path": z - sp.sin(t)}, unknowns=[z, w])
    reduced = dr.dae.reduce_index(e)
    assert dr.dae.index_of(e).differential == 2
    assert [s.name for s in reduced.states] == ["x", "z"] and [m.name for m in reduced.multipliers] == ["w"]
    run = dr.simulate(reduced, 1.0, method=EXACT)
    assert run["w"] == pytest.approx(np.cos(run.time), abs=1e-10) and run["x"] == pytest.approx(np.sin(run.time), abs=1e-10)


def test_kept_unknowns_serve_events_and_laws():
    kept = dr.dae.reduce_index(pendulum(), keep=["pull"])
    assert [s.name for s in kept.states] == ["x", "y", "vx", "vy", "pull"]
    taut = dr.Event("taut", "pull - 15", "stop", 1)
    run = dr.simulate(kept, 5.0, start={"x": 1.0, "y": 0.0, "vx": 0.0, "vy": 0.0}, events=[taut], method=EXACT)
    assert run["pull"][-1] == pytest.approx(15.0) and run["y"][-1] == pytest.approx(-0.5)  # pull = −3·10·y from rest at the side


def test_events_of_the_system_are_kept():
    from draisine.dynamics.input_laws import with_laws

    watched = with_laws(pendulum(), events=(dr.Event("taut", "pull - 15", "stop", 1),))
    reduced = dr.dae.reduce_index(watched)
    assert "pull" in [s.name for s in reduced.states]  # an event looks at it
    run = dr.simulate(reduced, 5.0, start={"x": 1.0, "y": 0.0, "vx": 0.0, "vy": 0.0}, method=EXACT)
    assert run.events[0].name == "taut" and run["y"][-1] == pytest.approx(-0.5)


def test_outputs_of_solved_unknowns():
    x, z = sp.symbols("x z")
    e = dr.symbolic.semi_explicit(
        "o", {x: -z}, algebraic={z: 2 * z - x}, outputs={"double": 2 * z, "square": x**2}, start={x: 1.0}
    )
    reduced = dr.dae.reduce_index(e)
    assert reduced.force_outputs == {"double"}
    run = dr.simulate(reduced, 1.0, start={"square": 4.0}, method=EXACT)
    assert run["double"] == pytest.approx(run["x"]) and run["x"] == pytest.approx(2 * np.exp(-run.time / 2))


def test_moving_constraints_need_the_law():
    x, z, u = sp.symbols("x z u")
    e = dr.symbolic.semi_explicit("follower", {x: z}, constraints={"path": x - u}, unknowns=[z], inputs=[u])
    with pytest.raises(ModelError, match=r"equation 'path' contains the input 'u'.*inputs="):
        dr.dae.reduce_index(e)
    run = dr.simulate(dr.dae.reduce_index(e, inputs={"u": "sin(3*t)"}), 1.0, method=EXACT)
    assert run["z"] == pytest.approx(3 * np.cos(3 * run.time), abs=1e-9)


def test_an_input_in_a_nonlinear_equation_leaves_it_implicit():
    """z could become a state only if u had a rate: the system is left at index 1."""
    x, z, u = sp.symbols("x z u")
    e = dr.symbolic.semi_explicit("valve", {x: -z}, algebraic={z: z + z**3 - x - u}, inputs=[u], start={x: 1.0})
    reduced = dr.dae.reduce_index(e)
    assert isinstance(reduced.dynamics, DaeResidual) and "stay implicit, of index 1" in reduced.notes[-1]


@pytest.mark.parametrize("make", [pendulum, lambda: hessenberg(3), reissig, lambda: dr.gallery.shuttle()])
def test_the_implicit_form_has_index_one_and_the_same_motion(make):
    posed = make()
    implicit, solved = dr.dae.reduce_index(posed, implicit=True), dr.dae.reduce_index(posed)
    report = dr.dae.index_of(implicit, elsewhere=0)
    assert report.differential == 1 and set(implicit.dynamics.index) == {1}
    # states and rates of the solved form fulfil it
    point = report.point
    state = np.array([point[s.name] for s in solved.states])
    rates = dict(
        zip((s.name for s in solved.states), solved.dynamics([0.0], state, [], solved.default_parameters)[0], strict=True)
    )
    x = np.array([point[q.name] for q in implicit.coordinates])
    xdot = np.array([rates.get(q.name, 0.0) for q in implicit.coordinates])
    residual = implicit.dynamics([0.0], x, xdot, [], implicit.default_parameters)
    assert np.abs(residual).max() < 1e-8 * max(1.0, np.abs(xdot).max())
    names = [c.name for c in implicit.constraints]
    assert set(c.name for c in solved.constraints) <= set(names)


def test_both_branches_of_a_singular_constraint():
    study = dr.gallery.study("singular_constraint_branches")(until=1.0)
    assert set(study.runs) == {"index_1", "index_2"}


def test_complaints():
    with pytest.raises(ArgumentError, match="keep names 'pul', which is not an unknown"):
        dr.dae.reduce_index(pendulum(), keep=["pul"])
    with pytest.raises(SolverError, match="no solution was found with x = 2, y = 2"):
        dr.dae.reduce_index(pendulum(), at={"x": 2.0, "y": 2.0})
