"""Loop closures in the recursive formulation: against the augmented system, cost, and errors."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.dynamics.derive import _mechanism, choose_formulation, why_not_recursive
from draisine.dynamics.formulations import Augmented, Recursive, Reduced
from draisine.errors import ModelError
from draisine.gallery.entries.hanging_rope import hanging_rope
from draisine.gallery.entries.link_chain import link_chain
from draisine.gallery.entries.trailers import trailers
from draisine.model.model import Model
from draisine.program.program import Program


def two_loops() -> Model:
    """A table that turns and carries two chains, each closed on it; a rotor on one of them, geared to its bearer."""
    m = Model("two_loops")
    table = m.body("table", 2.0, (0, 0, 0.1), (0.3, 0.4, 0.5))
    m.revolute("turn", "ground", table, axis="z")
    for side, x in (("a", 0.3), ("b", -0.4)):
        bearer = table
        for k in range(3):
            link = m.body(f"{side}{k}", 1.0 + 0.1 * k, (0, 0, -0.5), (0.1, 0.12, 0.02))
            at = (x, 0, 0) if k == 0 else (0, 0, -1)
            m.revolute(f"{side}{k}_angle", bearer, link, axis="y", at=at, default=0.4 * (-1) ** k)
            bearer = link
        m.point(f"{side}_end", bearer, (0, 0, -1))
        m.point(f"{side}_pin", table, (x, 0, -2.6))
        m.close_point(f"{side}_loop", f"{side}_pin", f"{side}_end", axes="xz")
    rotor = m.body("rotor", 0.7, inertia=(0.1, 0.15, 0.1))
    m.revolute("spin", "a1", rotor, axis="y", at=(0.1, 0, -0.2))
    m.gear("teeth", "a1_angle", "spin", ratio=-2.0)
    return m


def balls() -> Model:
    """Rods on balls between two nails, and back to the first by a rod: quaternions beside constraints, in space."""
    m, bearer = Model("balls"), "ground"
    for k in range(4):
        link = m.body(f"link{k}", 1.0, (0, 0, -0.5), (0.1, 0.12, 0.02))
        m.spherical(f"ball{k}", bearer, link, at=(0, 0, 0) if k == 0 else (0, 0, -1.0))
        bearer = f"link{k}"
    m.point("tip", bearer, (0, 0, -1))
    m.point("nail", "ground", (1.7, 0.2, 0))
    m.close_point("held", "nail", "tip")
    m.rod("stay", "ground", "link2", 1.3)
    return m


def driven() -> Model:
    """A chain whose first link is moved by a motor and whose end is held, with a spring, a damper and an input."""
    m = link_chain(6)
    m.prescribe("motor", "angle1", "0.3*sin(3*t) - 0.8")
    m.generalized_force("angle3", m.input("torque", "N*m"))
    m.spring("angle2", 5.0, damping=0.3)
    m.point("nail", "ground", (3.5, 0, 0))
    m.close_point("held", "nail", "tip", axes="xz")
    return m


def held_twice() -> Model:
    """A rope nailed to the wall twice over at one point, out of its plane as well."""
    m = hanging_rope(5)
    m.close_point("again", "nail", "end")
    return m


def driven_train() -> Model:
    """Blades are solved along the tree, the motor of a hitch beside it."""
    m = trailers(3)
    m.prescribe("motor", "hitch2", "0.2*sin(t) + 0.3")
    return m


def unbound() -> Model:
    """A four-bar linkage whose velocities are all states."""
    m = dr.gallery.four_bar()
    m.independent()
    return m


def reported(equations: dr.Equations, t: float, q: np.ndarray, speeds: dict[str, float], u: np.ndarray) -> dict[str, np.ndarray]:
    x = np.concatenate([q, [speeds[n] for n in equations.independent], np.zeros(len(equations.extra_states))])
    report, p = equations.report, equations.default_parameters
    found = dict(zip((s.name for s in report.outputs), report([t], x, u, p), strict=True))
    rates = dict(zip((s.name for s in equations.states), equations.explicit([t], x, u, p)[0], strict=True))
    return {**found, "work": np.array([rates.get("work", 0.0)])}


@pytest.mark.parametrize("make", [two_loops, balls, driven, held_twice, driven_train, unbound])
def test_it_says_what_the_whole_system_says(make):
    """Accelerations, multipliers (the smallest where rows repeat others), energies, power of motors, residuals, projections."""
    model = make()
    whole, tree = (dr.derive(model, formulation=f) for f in (Augmented(), Recursive()))
    assert isinstance(tree.dynamics, Program)
    assert tree.multipliers == whole.multipliers and tree.constraints == whole.constraints and tree.warnings == whole.warnings
    rng, p = np.random.default_rng(2), whole.default_parameters
    names = [v.name for v in whole.velocities]
    for q, t in list(zip(*_mechanism(model.freeze()).configurations(4, 3), strict=True))[1:]:
        u = rng.normal(size=len(whole.inputs))
        x = np.concatenate([q, rng.normal(size=len(names)), np.zeros(len(whole.extra_states))])
        v = whole.project([t], x, u, p)[0][len(q) : len(q) + len(names)]
        wanted, found = (reported(e, t, q, dict(zip(names, v, strict=True)), u) for e in (whole, tree))
        for slot, values in wanted.items():
            assert found[slot] == pytest.approx(values, rel=1e-10, abs=1e-11 * max(np.abs(values).max(initial=0.0), 1.0)), slot
        if tree.independent == whole.independent:
            off = x + 1e-3 * rng.normal(size=len(x))
            for mine, theirs in zip(tree.project([t], off, u, p), whole.project([t], off, u, p), strict=True):
                assert mine == pytest.approx(theirs, rel=1e-10, abs=1e-12)


def test_operations_of_a_loop_grow_with_the_number_of_links():
    small, large = (dr.derive(hanging_rope(links)) for links in (12, 24))
    assert "recursive formulation along the tree, the forces of its 2 constraint rows" in small.notes[0]
    for program in ("dynamics", "report", "project"):
        assert getattr(large, program).operations < 2.2 * getattr(small, program).operations, program
    assert large.explicit.operations < 152 * 24


def test_constraints_on_branches_of_the_ground_do_not_couple():
    """Twice the loop, twice the operations and a few: no product of the two is formed."""

    def loops(count: int) -> Model:
        m = Model("loops")
        for side in range(count):
            bearer = "ground"
            for k in range(3):
                link = m.body(f"l{side}{k}", 1.0, (0, 0, -0.5), (0.1, 0.12, 0.02))
                at = (side, 0, 0) if k == 0 else (0, 0, -1)
                m.revolute(f"angle{side}{k}", bearer, link, axis="y", at=at, default=0.4 * (-1) ** k)
                bearer = link
            m.point(f"end{side}", bearer, (0, 0, -1))
            m.point(f"pin{side}", "ground", (side, 0, -2.6))
            m.close_point(f"loop{side}", f"pin{side}", f"end{side}", axes="xz")
        return m

    one, two = (dr.derive(loops(count), formulation=Recursive()).explicit.operations for count in (1, 2))
    assert two <= 2 * one


def test_a_run_keeps_energy_and_loop():
    """A motor at one end, the work of which the balance counts; drift is projected out."""
    run = dr.simulate(driven(), 1.0, formulation=Recursive(), method=dr.methods.DOP853(rtol=1e-9, atol=1e-9))
    assert run.status.complete
    assert run.energy_drift is not None and run.energy_drift < 1e-7
    assert np.ptp(run["work"]) > 0.1
    assert np.abs(run.residuals).max() < 1e-7  # between steps they are interpolated


def test_what_decides_about_the_formulation():
    assert isinstance(choose_formulation(_mechanism(hanging_rope(12).freeze()), ())[0], Recursive)
    assert not isinstance(choose_formulation(_mechanism(hanging_rope(8).freeze()), ())[0], Recursive)
    train = trailers(14)
    train.prescribe("motor", "hitch2", "0.2*sin(t) + 0.3")
    assert why_not_recursive(_mechanism(train.freeze())) is None  # but nobody asked for it
    assert not isinstance(choose_formulation(_mechanism(train.freeze()), ())[0], Recursive)


def test_what_is_refused():
    wanted = dr.gallery.four_bar()
    with pytest.raises(
        ModelError,
        match="the independent velocities of its recursive formulation are crank_angle_rate, knee_rate, rocker_angle_rate, not",
    ):
        dr.derive(wanted, formulation=Recursive())
    light = unbound()
    light.body("pin", 0.0)
    light.revolute("idle", "rocker", "pin", axis="y")
    light.prescribe("stop", "idle", "0.1*t")
    with pytest.raises(ModelError, match="'idle_rate' has no inertia by itself"):
        dr.derive(light, formulation=Recursive())
    assert dr.derive(light, formulation=Reduced()).independent
