"""Mechanisms as DAEs of index 3, 2, 1 and stabilized: the same motion in each."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.dynamics.dae.hidden_constraints import indices
from draisine.dynamics.dae.second_order_form import second_order
from draisine.dynamics.dae.structure import structure
from draisine.dynamics.lagrangian.energies import derive_by_energies
from draisine.errors import ArgumentError, ModelError
from draisine.program.equations import Kind
from draisine.program.program import DaeResidual
from draisine.simulation.initial.consistent_start import consistent_start

FORMS = [(3, False), (2, False), (2, True), (1, False)]


def rolling_hoop() -> dr.Equations:
    """A bead on a wire that is also bound by a skate-like row: holonomic and nonholonomic, with an input and a moving support."""
    x, y, z = dynamicsymbols("x y z")
    m, push, t = sp.symbols("m push t")
    return dr.lagrangian(
        "bead",
        [x, y, z],
        kinetic=m * (x.diff() ** 2 + y.diff() ** 2 + 2 * z.diff() ** 2) / 2 + x * x.diff() * z.diff() / 5,
        potential=10 * m * z,
        forces={y: push - y.diff()},
        holonomic={"bowl": z - (x**2 + y**2) / 2 - sp.sin(t) / 10},
        nonholonomic={"blade": x.diff() * sp.cos(z) + y.diff() * sp.sin(x) - sp.Rational(1, 5)},
        parameters={m: 1.4},
        inputs=[push],
        work=False,
        outputs={"speed": sp.sqrt(x.diff() ** 2 + y.diff() ** 2)},
        start={x: 0.3, y: 0.2, z: 0.065},
    )


def _motion(e: dr.Equations) -> dict[str, np.ndarray]:
    """A consistent state of the augmented equations with accelerations and multipliers, all by name."""
    start = consistent_start(e, {"x": 0.3, "y": 0.2}, time=0.4)
    u = np.array([0.7])
    reported = dict(zip((s.name for s in e.report.outputs), e.report([0.4], start.x, u, e.default_parameters), strict=True))
    slope = e.dynamics([0.4], start.x, u, e.default_parameters)[0]
    names = [s.name for s in e.states]
    values = dict(zip(names, start.x, strict=True)) | dict(
        zip((m.name for m in e.multipliers), reported["multipliers"], strict=True)
    )
    return {"values": values, "rates": dict(zip(names, slope, strict=True)), "reported": reported, "u": u}


@pytest.mark.parametrize(("index", "ggl"), FORMS)
def test_the_true_motion_fulfils_every_form(index, ggl):
    e = rolling_hoop()
    motion = _motion(e)
    posed = dr.dae.as_dae(e, index, ggl)
    assert isinstance(posed.dynamics, DaeResidual)
    x = np.array([motion["values"].get(q.name, 0.0) for q in posed.coordinates])
    rate = np.array([motion["rates"].get(q.name, 0.0) for q in posed.coordinates])
    residual = posed.dynamics([0.4], x, rate, motion["u"], posed.default_parameters)
    assert np.abs(residual).max() < 1e-11
    # and not any motion does
    assert np.abs(posed.dynamics([0.4], x + 1e-3, rate, motion["u"], posed.default_parameters)).max() > 1e-4
    reported = dict(zip((s.name for s in posed.report.outputs), posed.report([0.4], x, motion["u"], [1.4]), strict=True))
    assert reported["energy"][:2] == pytest.approx(motion["reported"]["energy"][:2]) and reported["outputs"] == pytest.approx(
        motion["reported"]["outputs"]
    )
    assert reported["power"] == pytest.approx(motion["reported"]["power"])
    assert np.abs(reported["residuals"]).max() < 1e-11 and len(reported["residuals"]) == len(posed.constraints)


@pytest.mark.parametrize(("index", "ggl"), FORMS)
def test_the_index_is_the_one_asked_for(index, ggl):
    posed = dr.dae.as_dae(rolling_hoop(), index, ggl)
    report = dr.dae.index_of(posed, inputs={"push": 0.7}, time=0.4)
    assert (report.structural, report.differential) == (index, index)
    # unknowns known to be of some index by the form of the equations are so by their structure
    assert posed.dynamics.index == indices(structure(posed).system)
    assert report.freedoms == {3: 3, 2: 4, 1: 6}[index] - (1 if ggl else 0)


def test_constraints_of_all_levels():
    posed = dr.dae.as_dae(rolling_hoop())
    levels = [(c.name, c.kind, c.level) for c in posed.constraints]
    assert levels == [
        ("bowl", Kind.HOLONOMIC, "position"),
        ("bowl", Kind.HOLONOMIC, "velocity"),
        ("blade", Kind.NONHOLONOMIC, "velocity"),
        ("bowl", Kind.HOLONOMIC, "acceleration"),
        ("blade", Kind.NONHOLONOMIC, "acceleration"),
    ]
    assert [q.name for q in posed.coordinates[-2:]] == ["bowl_multiplier", "blade_multiplier"]


def test_a_start_finds_the_multipliers():
    e = rolling_hoop()
    start = consistent_start(dr.dae.as_dae(e), {"x": 0.3, "y": 0.2, "y_rate": 0.1}, inputs={"push": 0.7})
    named = dict(zip((q.name for q in dr.dae.as_dae(e).coordinates), start.x, strict=True))
    state = np.array([named[s.name] for s in e.states])
    reported = dict(zip((s.name for s in e.report.outputs), e.report([0.0], state, [0.7], [1.4]), strict=True))
    assert [named["bowl_multiplier"], named["blade_multiplier"]] == pytest.approx(reported["multipliers"], rel=1e-8)


def test_corrections_vanish():
    posed = dr.dae.as_dae(rolling_hoop(), ggl=True)
    assert [q.name for q in posed.coordinates[-1:]] == ["bowl_correction"] and posed.dynamics.index[-1] == 2
    report = dr.dae.index_of(posed, {"x": 0.3, "y": 0.2}, time=0.4)
    assert report.point["bowl_correction"] == pytest.approx(0.0, abs=1e-12)


def test_reduction_comes_back_to_the_augmented_system():
    """Anywhere without corrections; with them where the constraints hold, since elsewhere they act."""
    e = rolling_hoop()
    consistent = np.array([_motion(e)["values"][s.name] for s in e.states])
    anywhere = np.random.default_rng(7).normal(size=(3, 6))
    for index, ggl in FORMS:
        reduced = dr.dae.reduce_index(dr.dae.as_dae(e, index, ggl))
        place = [[s.name for s in reduced.states].index(s.name) for s in e.states]
        for state in (consistent, *(() if ggl else anywhere)):
            x = np.zeros(len(reduced.states))
            x[place] = state
            mine = reduced.dynamics([0.4], x, [0.2], [1.4])[0][place]
            theirs = e.dynamics([0.4], state, [0.2], [1.4])[0]
            assert mine == pytest.approx(theirs, rel=1e-9, abs=1e-11)


def test_quaternions_are_held_by_corrections():
    """Invariants have no reaction: they are no rows of the plain forms, and rows with corrections in the stabilized one."""
    system, _ = second_order(dr.gallery.spherical_pendulum())
    with_invariant = replace(system, invariants=[("norm", ca.sumsqr(system.q) - 1)])
    plain, stabilized = dr.dae.as_dae(with_invariant), dr.dae.as_dae(replace(with_invariant, holonomic=[]), ggl=True)
    assert "norm_correction" not in [q.name for q in plain.coordinates]
    assert any(c.kind == Kind.NORM for c in plain.constraints)
    assert "norm_correction" in [q.name for q in stabilized.coordinates]


def test_models_of_the_graph():
    """A disk of the graph: heights are holonomic, rolling is not; multipliers are the forces that the report gives."""
    posed = dr.dae.as_dae(dr.gallery.rolling_disk())
    assert posed.dynamics.index[-3:] == (3, 3, 3)
    by_energies = derive_by_energies(dr.gallery.rolling_disk())
    rng = np.random.default_rng(2)
    state = rng.normal(size=len(by_energies.states)) * 0.3
    reduced = dr.dae.reduce_index(posed)
    mine = reduced.dynamics([0.0], state, np.zeros(len(posed.inputs)), reduced.default_parameters)[0]
    theirs = by_energies.dynamics([0.0], state, np.zeros(len(posed.inputs)), by_energies.default_parameters)[0]
    assert [s.name for s in reduced.states] == [s.name for s in by_energies.states]
    assert mine == pytest.approx(theirs, rel=1e-9, abs=1e-9)


def test_constraints_that_repeat_others_are_left_out():
    """Three planets where one would do: two of the meshes have no force of their own; one degree of freedom is left."""
    posed = dr.dae.as_dae(dr.gallery.planetary_gear())
    (note,) = [n for n in posed.notes if n.startswith("left out")]
    report = dr.dae.index_of(posed)
    assert (report.differential, report.freedoms) == (3, 2) and note in report.sentences
    settled = dr.dae.index_of(dr.gallery.planetary_gear())  # without posing it
    assert (settled.differential, settled.freedoms) == (3, 2)
    assert any("left out as redundant: second_in_ring, third_in_ring" in sentence for sentence in settled.sentences)
    assert note.endswith("second_in_ring, third_in_ring")
    assert sum(q.name.endswith("_multiplier") for q in posed.coordinates) == 5  # of 7 constraints


def test_large_systems_are_posed_quickly_and_sparsely():
    """60 rods in a row: the conditions on multipliers are sparse, since the masses are."""
    n = 60
    xs, ys = dynamicsymbols(f"x1:{n + 1}"), dynamicsymbols(f"y1:{n + 1}")
    rods, px, py = {}, sp.Integer(0), sp.Integer(0)
    for i, (a, b) in enumerate(zip(xs, ys, strict=True)):
        rods[f"rod{i + 1}"] = ((a - px) ** 2 + (b - py) ** 2 - 1) / 2
        px, py = a, b
    e = dr.lagrangian(
        "chain",
        [*xs, *ys],
        kinetic=sum(c.diff() ** 2 for c in (*xs, *ys)) / 2,
        potential=10 * sum(ys),
        holonomic=rods,
        start={y: -(i + 1) for i, y in enumerate(ys)},
    )
    posed = dr.dae.as_dae(e)
    assert posed.dynamics.size == 5 * n and len(posed.dynamics.pattern[0]) < 30 * n
    assert posed.motion.operations < 60 * n and len(posed.constraints) == 3 * n
    reduced = dr.dae.reduce_index(posed)
    assert isinstance(reduced.dynamics.operations, int) and reduced.dynamics.operations < 300 * n


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda: dr.dae.as_dae(rolling_hoop(), 4), "of index 1, 2 or 3, not 4"),
        (lambda: dr.dae.as_dae(rolling_hoop(), 1, ggl=True), "Leimkuhler has index 2"),
        (lambda: dr.dae.as_dae(dr.derive(dr.gallery.bicycle())), "velocities have been eliminated"),
        (lambda: dr.dae.as_dae(dr.gallery.van_der_pol()), "cannot be recovered from these equations"),
    ],
)
def test_complaints(spoil, said):
    with pytest.raises((ModelError, ArgumentError), match=said):
        spoil()


@pytest.mark.parametrize(
    ("name", "targets"),
    [
        ("four_bar", {}),
        ("four_bar", {"crank_angle": -2.0}),
        ("slider_crank", {"crank_angle": 3.0}),
        ("cartesian_double_pendulum", {"x1": 0.5}),
        ("bicycle", {"lean": 0.1, "steer": 0.2}),
    ],
)
@pytest.mark.parametrize("form", [{}, {"index": 1}, {"ggl": True}])
def test_a_start_has_the_configuration_of_the_models_own(name, targets, form):
    """Positions are settled before velocities and multipliers, so that the loops close in the same way."""
    model = dr.gallery.model(name)
    own = consistent_start(model if isinstance(model, dr.Equations) else dr.derive(model), targets)
    posed_ = consistent_start(dr.dae.as_dae(model, **form), targets)
    shared = set(own.coordinates) & set(posed_.coordinates)
    assert len(shared) >= 3
    for coordinate in shared:
        assert posed_.coordinates[coordinate] == pytest.approx(own.coordinates[coordinate], abs=1e-12), coordinate
    for velocity in set(own.velocities) & set(posed_.coordinates):
        assert posed_.coordinates[velocity] == pytest.approx(own.velocities[velocity], abs=1e-12), velocity


def test_targets_that_need_positions_and_velocities_together_are_still_met():
    """A speed along x is given as target where the rod hangs and allows it, and an output that both decide."""
    rod = dr.dae.as_dae(dr.gallery.simple_pendulum())
    start = consistent_start(rod, {"x1": 0.6, "x1_rate": 0.5})
    value = start.coordinates
    assert value["x1"] == 0.6 and value["x1_rate"] == 0.5
    assert max(abs(c.value) for c in start.report.residuals) < 1e-12


def test_events_of_a_model_are_kept_in_its_dae():
    own, form = dr.derive(dr.gallery.bicycle()), dr.dae.as_dae(dr.gallery.bicycle())
    assert form.event_list == own.event_list and "fell_over" in [event.name for event in form.event_list]
    assert form.events is not None and form.events.output("value").labels == own.events.output("value").labels
