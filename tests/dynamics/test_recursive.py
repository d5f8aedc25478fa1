"""Recursive formulation of trees: against the reduced formulation, inverse dynamics, Pinocchio, and by their cost."""

from __future__ import annotations

import random

import casadi as ca
import numpy as np
import pytest
from in_pinocchio import in_pinocchio

import draisine as dr
from draisine.dynamics.derive import _mechanism, choose_formulation, why_not_recursive
from draisine.dynamics.formulations import Augmented, Recursive, Reduced
from draisine.dynamics.linear_algebra import ONE
from draisine.dynamics.templates import TemplateCache
from draisine.errors import ModelError
from draisine.gallery.entries.big_tree import big_tree
from draisine.gallery.entries.link_chain import link_chain, spatial_chain
from draisine.gallery.entries.trailers import trailers
from draisine.model.model import Model

INERTIA = {"xx": 2.0, "yy": 2.2, "zz": 1.9, "xy": 0.1, "yz": 0.2, "zx": -0.15}


def every_joint() -> Model:
    """One of each joint that frees entries one by one, with a rotor, branches, springs, efforts and wrenches."""
    m, at = Model("every_joint"), random.Random(3)

    def place() -> list[float]:
        return [at.uniform(-1, 1) for _ in range(3)]

    bodies = [m.body(f"b{k}", at.uniform(1, 2), [at.uniform(-0.5, 0.5) for _ in range(3)], INERTIA) for k in range(7)]
    m.free(bodies[0])
    m.spherical("ball", bodies[0], bodies[1], at=place())
    m.universal("cardan", bodies[1], bodies[2], at=place())
    m.prismatic("slide", bodies[2], bodies[3], axis="z", at=place(), orientation=[("x", 0.4)])
    m.cylindrical("sleeve", bodies[1], bodies[4], axis="x", at=place())
    m.revolute("hinge", bodies[0], bodies[5], axis="y", at=place(), orientation=[("z", 0.2)])
    m.fixed("weld", bodies[5], bodies[6], at=place(), orientation=[("y", 0.7)])
    rotor = m.body("rotor", 0.7, inertia=(0.1, 0.15, 0.1))
    m.revolute("spin", bodies[2], rotor, axis="y", at=(0.3, 0.1, 0.2))
    torque = m.input("torque", "N*m")
    m.generalized_force("spin", torque)
    m.generalized_force("hinge", -2 * torque)
    m.spring("slide", 20.0, damping=1.0)
    m.point("hook", bodies[3], (0.2, 0.1, 0.3))
    m.wrench("hook", force=(1.0, -2.0, 0.5), torque=(0.1, 0.2, -0.3))
    m.wrench("rotor", force=(0.3, 0.1, 0.0), torque=(0.0, 0.4, 0.2), axes="body")
    return m


def wheeled(independent: bool = True) -> Model:
    """A vehicle with trailers, one on blades, one on a rolling wheel with moments at its hub, branching."""
    m = Model("wheeled")
    vehicle = m.body("vehicle", 2.0, (0.2, 0, 0), (0.3, 0.3, 0.5))
    m.planar(vehicle)
    m.knife_edge(vehicle, at=(-0.1, 0, 0))
    for k, bearer in ((1, "vehicle"), (2, "trailer1"), (3, "vehicle")):
        trailer = m.body(f"trailer{k}", 1.0, (-0.5, 0.1, 0), (0.2, 0.2, 0.2))
        m.revolute(f"hitch{k}", bearer, trailer, axis="z", at=(-0.3, 0.2, 0), span=(-0.8, 0.8))
        m.generalized_force(f"hitch{k}", 0.5 * k)
        if k == 1:
            m.knife_edge(trailer, at=(-1.0, 0, 0))
            continue
        wheel = m.body(f"wheel{k}", 0.2, inertia=(0.01, 0.02, 0.01))
        m.revolute(f"spin{k}", trailer, wheel, axis="y", at=(-1.0, 0, 0.3))
        m.wheel(f"rim{k}", wheel, radius=0.3)
        m.generalized_force(f"spin{k}", -0.3)
    m.wrench("vehicle", force=(m.input("push", "N"), 0, 0), axes="body")
    if independent:
        m.independent("vehicle_vx", "vehicle_heading_rate")
    return m


def reported(equations: dr.Equations, t: float, q: np.ndarray, speeds: dict[str, float], u: np.ndarray) -> dict[str, np.ndarray]:
    x = np.concatenate([q, [speeds[n] for n in equations.independent], np.zeros(len(equations.extra_states))])
    report = equations.report
    return dict(zip((s.name for s in report.outputs), report([t], x, u, equations.default_parameters), strict=True))


@pytest.mark.parametrize("make", [every_joint, wheeled, lambda: spatial_chain(4)], ids=["joints", "wheels", "chain"])
def test_it_says_what_the_reduction_in_symbols_says(make):
    reduced, recursive = (dr.derive(make(), formulation=f) for f in (Reduced(), Recursive()))
    rng = np.random.default_rng(1)
    names = [c.name for c in reduced.coordinates]
    for _ in range(3):
        q, u = rng.uniform(-0.7, 0.7, len(names)), rng.normal(size=len(reduced.inputs))
        for quaternion in reduced.quaternions:
            places = [names.index(n) for n in quaternion]
            q[places] /= np.linalg.norm(q[places])
        wanted = reported(
            reduced, 0.3, q, dict(zip(reduced.independent, rng.normal(size=len(reduced.independent)), strict=True)), u
        )
        speeds = dict(zip((v.name for v in reduced.velocities), wanted["v"], strict=True))
        found = reported(recursive, 0.3, q, speeds, u)
        for slot, values in wanted.items():
            assert found[slot] == pytest.approx(values, rel=1e-11, abs=1e-11 * max(np.abs(values).max(initial=0.0), 1.0)), slot
    assert [c.name for c in reduced.constraints] == [c.name for c in recursive.constraints]
    assert reduced.outputs == recursive.outputs and reduced.multipliers == recursive.multipliers


def test_wheels_decide_about_spins_and_hitches():
    equations = dr.derive(wheeled(independent=False), formulation=Recursive())
    assert equations.independent == ("vehicle_vx", "vehicle_heading_rate")
    assert equations.monitor is None  # every row is solved by a constant length


@pytest.mark.parametrize("model", [big_tree(31), spatial_chain(8)], ids=["tree", "chain"])
def test_large_trees_agree_with_pinocchio(model):
    pin = pytest.importorskip("pinocchio")
    equations = dr.derive(model)
    assert "recursive formulation" in equations.notes[0]
    theirs, q_names, v_names = in_pinocchio(pin, model.freeze(), equations)
    data, rng = theirs.createData(), np.random.default_rng(5)
    n = len(equations.coordinates)
    places = [[c.name for c in equations.coordinates].index(name) for name in q_names]
    rates = [[v.name for v in equations.velocities].index(name) for name in v_names]
    levels = np.array([(k + 1).bit_length() - 1 for k in range(n)])
    stiffness = 40.0 * 0.8 ** (3 * levels) if "tree" in equations.name else np.zeros(n)
    for _ in range(3):
        x = rng.uniform(-1, 1, 2 * n)
        ours = equations.explicit([0.0], x, [], equations.default_parameters)[0][n:]
        moments = -stiffness * x[:n]
        found = pin.aba(theirs, data, x[:n][places], x[n:][rates], moments[rates])
        assert found == pytest.approx(ours[rates], rel=1e-9, abs=1e-9 * np.abs(ours).max())


def test_operations_grow_with_the_number_of_bodies():
    for make, most in ((link_chain, 82), (trailers, 50)):
        small, large = dr.derive(make(16)), dr.derive(make(32))
        for program in ("dynamics", "report", "inverse_dynamics"):
            ratio = getattr(large, program).operations / getattr(small, program).operations
            assert ratio < 2.15, (make.__name__, program, ratio)
        assert large.explicit.operations < most * 32
    assert dr.derive(big_tree(31)).explicit.operations < 265 * 31


def test_what_decides_about_the_formulation():
    assert isinstance(choose_formulation(_mechanism(link_chain(11).freeze()), ())[0], Reduced)
    treatment, notes = choose_formulation(_mechanism(link_chain(12).freeze()), ())
    assert isinstance(treatment, Recursive) and "12 velocities" in notes[0]
    bicycle = _mechanism(dr.gallery.bicycle().freeze())
    assert "rear_wheel_height" in (why_not_recursive(bicycle) or "")
    with pytest.raises(ModelError, match=r"has no recursive formulation.*height"):
        dr.derive(dr.gallery.bicycle(), formulation=Recursive())
    with pytest.raises(
        ModelError, match="the independent velocities of its recursive formulation are vehicle_vx, vehicle_heading_rate, not"
    ):
        other = trailers(2)
        other.independent("vehicle_vx", "hitch1_rate")
        dr.derive(other, formulation=Recursive())


def test_rows_that_cannot_be_solved_along_the_tree():
    """A blade at the hitch itself: its joint turns it, but cannot move its point; the row passes on to the vehicle, whose own
    blade has taken the velocity across. A steered axle's coefficient vanishes where it stands across."""
    m = Model("steered")
    vehicle = m.body("vehicle", 1.0, inertia=(0.1, 0.1, 0.1))
    m.planar(vehicle)
    m.knife_edge(vehicle)
    for k, place in enumerate((1.0, 1.5)):
        axle = m.body(f"axle{k}", 0.1, inertia=(0.01, 0.01, 0.01))
        m.revolute(f"steer{k}", vehicle, axle, axis="z", at=(place, 0, 0), span=(-1.5, 1.5))
        m.knife_edge(axle)
    assert "cannot be solved" in (why_not_recursive(_mechanism(m.freeze())) or "")
    assert dr.derive(m).independent  # another treatment does


def test_runs_agree_with_other_formulations():
    model, start = trailers(3), {"vehicle_vx": 1.0, "vehicle_heading_rate": 0.5, "hitch1": 0.4, "hitch2": -0.3}
    method = dr.methods.DOP853(rtol=1e-11, atol=1e-11)
    runs = [dr.simulate(model, 1.0, start=start, method=method, formulation=f) for f in (Recursive(), Reduced(), Augmented())]
    for run in runs[1:]:
        for name in ("hitch3", "vehicle_x", "axle2_force_across"):
            assert runs[0][name] == pytest.approx(run[name], abs=1e-8), name


def test_quaternions_are_projected_one_by_one():
    m = Model("balls")
    bearer = "ground"
    for k in range(6):
        link = m.body(f"link{k}", 1.0, (0, 0, -0.5), (0.1, 0.12, 0.02))
        m.spherical(f"ball{k}", bearer, link, at=(0, 0, 0) if k == 0 else (0, 0, -1.0))
        bearer = f"link{k}"
    equations = dr.derive(m)
    assert "recursive formulation" in equations.notes[0] and equations.project is not None
    assert equations.project.operations < 30 * 6
    run = dr.simulate(m, 1.0, start={"ball0_wx": 3.0, "ball3_wy": 2.0}, method=dr.methods.DOP853(rtol=1e-9, atol=1e-9))
    assert run.energy_drift is not None and run.energy_drift < 1e-7
    assert np.abs(run.residuals).max() < 1e-9


def test_laws_of_many_inputs_and_their_work():
    m = link_chain(14)
    for k in range(1, 15):
        m.generalized_force(f"angle{k}", m.input(f"torque{k}", "N*m"))
    laws = {f"torque{k}": f"-0.5*angle{k}_rate" for k in range(1, 15)}
    run = dr.simulate(m, 1.0, start={"angle1": 0.5}, inputs=laws, method=dr.methods.DOP853(rtol=1e-9, atol=1e-9))
    assert run.energy_drift is not None and run.energy_drift < 1e-7
    assert run["work"][-1] < -0.1  # dampers take it


def test_velocities_that_move_no_mass_are_named():
    m = link_chain(12)
    m.body("pin", 1.0)
    m.revolute("idle", "link12", "pin", axis="y")
    with pytest.raises(ModelError, match="'idle_rate' can change without moving any mass"):
        dr.derive(m)


def test_links_that_are_alike_are_worked_out_once():
    """What is copied is what would be worked out, names and all; what differs in shape is not mistaken for it."""
    worked_out = []

    def piece(name: str, factor: ca.SX, values: dict[str, ca.SX]) -> tuple[str, dict[str, ca.SX], ca.SX]:
        worked_out.append(name)
        return name, {other: factor * value for other, value in values.items()}, ONE

    repeated = TemplateCache(100)
    x, y, z = ca.SX.sym("x"), ca.SX.sym("y"), ca.SX.sym("z", 2)
    assert repeated(piece, "a", x, {"b": y})[0] == "a"
    name, found, one = repeated(piece, "c", 2 * y, {"d": x})
    assert (name, list(found), one) == ("c", ["d"], ONE) and len(worked_out) == 1
    assert ca.is_equal(found["d"], 2 * y * x, 3)
    repeated(piece, "a", x, {"a": y})  # one name for both is another shape
    repeated(piece, "a", x, {"b": z})
    repeated(piece, "a", ONE, {"b": y})
    assert len(worked_out) == 4
    assert repeated(piece, "e", ONE, {})[1] == {}
