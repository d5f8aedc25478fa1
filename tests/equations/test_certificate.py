"""The certificate: every graph of the gallery passes, and deliberate faults are caught and placed."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import draisine as dr
from draisine import certify
from draisine.cli import main
from draisine.equations.certificate import Roads, judge
from draisine.equations.energies import Energies
from draisine.model import Model
from draisine.program.expression import Number

GRAPHS = ["bicycle", "rolling_disk", "rolling_torus", "unicycle", "chaplygin_sleigh", "snakeboard"]


@pytest.mark.parametrize("name", GRAPHS)
def test_gallery_is_certified(name):
    certificate = certify(dr.gallery.model(name), states=6)
    assert certificate.passed, str(certificate)
    assert certificate.verdict == "all roads agree"
    assert len(certificate.roads) == 4


def test_tilted_ground_springs_wrenches_and_a_ball_joint():
    m = Model("contraption")
    frame = m.body("frame", mass=3.0, centre=(0.1, 0.02, 0.2), inertia={"xx": 0.4, "yy": 0.5, "zz": 0.3, "xy": 0.02, "zx": -0.03})
    wheel = m.body("wheel", mass=1.0, inertia=(0.05, 0.09, 0.05))
    bob = m.body("bob", mass=0.4, centre=(0.0, 0.1, -0.3), inertia=(0.02, 0.03, 0.01))
    m.free(frame)
    m.revolute("spin", frame, wheel, axis="y")
    m.spherical("swing", frame, bob, at=(0.1, 0.0, 0.4), turned=[("x", 0.3)])
    m.wheel("rim", wheel, radius=0.3, tube=0.02)
    m.ground(slope=0.2, bank=-0.1)
    m.point("hook", frame, (0.2, 0.1, 0.3))
    m.frame("tip", bob, (0.0, 0.0, -0.4), turned=[("z", 0.5)])
    m.point("wall", "ground", (1.0, 2.0, 1.5))
    m.spring("distance(hook, wall)", 30.0, rest=0.5, damping=2.0)
    m.effort("spin", m.input("torque", "N*m"))
    m.wrench("tip", force=("2*t + 1", 0.5, -1.0), torque=(0.1, 0.2, 0.3), axes="body")
    certificate = certify(m, states=6)
    assert certificate.passed, str(certificate)


def test_a_tree_without_contacts():
    m = Model("arm")
    upper = m.body("upper", mass=2.0, centre=(0, 0, -0.3), inertia=(0.1, 0.1, 0.02))
    lower = m.body("lower", mass=1.0, centre=(0.05, 0, -0.2), inertia=(0.05, 0.05, 0.01))
    m.universal("shoulder", "ground", upper, axes="xy")
    m.screw("wrist", upper, lower, lead=0.1, axis="z", at=(0, 0, -0.6))
    certificate = certify(m, states=6)
    assert certificate.passed, str(certificate)
    assert "connection" not in certificate.roads


class Faulty(Energies):
    """The second road with one mistake of the kind people make."""

    def __init__(self, system, fault):
        self.fault = fault
        super().__init__(system)

    @property
    def gravity(self):
        return -super().gravity if self.fault == "sign of the potential" else super().gravity

    @property
    def coriolis(self):
        return 2 * super().coriolis if self.fault == "Coriolis twice" else super().coriolis


@pytest.mark.parametrize("fault", ["sign of the potential", "Coriolis twice"])
def test_a_fault_in_one_family_is_seen(fault):
    system = dr.gallery.bicycle().freeze()
    roads = Roads(system, Faulty(system, fault))
    certificate = judge("bicycle", roads, roads.sample(4, seed=1))
    assert not certificate.passed
    assert "cannot be decided" in certificate.verdict
    assert "Newton–Euler" in certificate.verdict and "energies" in certificate.verdict


def test_a_wrong_radius_in_one_description_is_seen():
    system = dr.gallery.bicycle().freeze()
    wheels = tuple(replace(w, radius=Number(0.36)) if w.name == "front_wheel" else w for w in system.wheels)
    roads = Roads(system, Energies(replace(system, wheels=wheels)))
    certificate = judge("bicycle", roads, roads.sample(4, seed=1))
    assert not certificate.passed


def test_a_fault_in_a_single_road_is_placed():
    system = dr.gallery.bicycle().freeze()

    class Slipped(Roads):
        def by_connection(self, state):
            accelerations, forces = super().by_connection(state)
            return accelerations + 1e-6 * np.abs(accelerations).max(), forces

    roads = Slipped(system)
    certificate = judge("bicycle", roads, roads.sample(4, seed=1))
    assert not certificate.passed
    assert certificate.verdict.startswith("the road 'connection' disagrees with the others")


def test_skew_symmetry_and_projectors():
    """Ṁ − 2C is skew; P and Q are complementary projectors, orthogonal in the metric M, and D P = 0."""
    import casadi as ca

    e = Energies(dr.gallery.bicycle().freeze())
    rng = np.random.default_rng(4)
    q, v = rng.uniform(-0.4, 0.4, len(e.names)), rng.normal(size=len(e.names))
    p, u = np.array([x.default for x in e.system.parameters]), np.zeros(3)
    told = dict(zip((s.name for s in e.matrices().outputs), e.matrices()([0.0], q, v, u, p), strict=True))
    rate = ca.Function("rate", [e.q, e.v, e.p], [e.rate(ca.densify(e.mass))])(q, v, p).full()
    skew = rate - 2 * told["C"]
    assert np.abs(skew + skew.T).max() < 1e-12 * np.abs(told["M"]).max()
    onto, off = e.projectors()([0.0], q, v, u, p)
    assert onto + off == pytest.approx(np.eye(len(q)), abs=1e-12)
    assert onto @ onto == pytest.approx(onto, abs=1e-9)
    assert told["D"] @ onto == pytest.approx(np.zeros_like(told["D"]), abs=1e-9)
    assert onto.T @ told["M"] @ off == pytest.approx(np.zeros_like(onto), abs=1e-7)


def test_energies_road_simulates_the_same_ride():
    start = {"speed": 4.6, "roll_rate": 0.5}
    method = dr.DOP853(rtol=1e-10, atol=1e-12)
    other = dr.simulate(dr.derive_by_energies(dr.gallery.bicycle()), 1.0, start=start, method=method)
    ours = dr.simulate(dr.gallery.bicycle(), 1.0, start=start, method=method)
    for name in ("lean", "steer", "speed", "heading"):
        assert other[name] == pytest.approx(ours[name], abs=1e-8)
    assert other["rear_wheel_height_multiplier"] == pytest.approx(ours["rear_wheel_normal_force"], rel=1e-7)
    assert other.energy_drift < 1e-9


def test_command(capsys):
    assert main(["certify", "chaplygin_sleigh", "--states", "3"]) == 0
    assert "all roads agree" in capsys.readouterr().out
    assert main(["certify", "chaplygin_sleigh", "--states", "3", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["passed"] is True and told["states"] == 3
