"""Knife edges on curved and moving ground: against planes at rest, closed forms, other frames of reference, and brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine.model.model import Model

FINE = dr.methods.DOP853(rtol=1e-11, atol=1e-12)
START = {"sled_wx": 0.3, "sled_wy": -0.2, "sled_wz": 1.5, "sled_x": 0.1, "sled_y": 0.2, "sled_vx": 0.8}


def sled(on_ground: bool = True, **ground: object) -> Model:
    """A body that hangs below its blade: its center of mass is deep, so that it does not fall over."""
    m = Model("sled")
    m.body("sled", mass=2.0, center_of_mass=(0.1, 0.02, -0.4), inertia=(0.05, 0.1, 0.08))
    m.free("sled")
    m.knife_edge("sled", name="blade", on_ground=on_ground)
    m.ground(**ground)  # type: ignore[arg-type]
    return m


def puck(**ground: object) -> Model:
    """A blade through the center of a body with equal moments: no force of the ground turns it."""
    m = Model("puck")
    m.body("puck", mass=3.0, inertia=(0.2, 0.2, 0.2))
    m.free("puck")
    m.knife_edge("puck", name="blade", on_ground=True)
    m.parameter("rate", 0.4, "rad/s")
    m.ground(**ground)  # type: ignore[arg-type]
    return m


def test_a_plane_is_the_same_ground_for_a_blade_however_it_is_given() -> None:
    """By slope and bank (rows of its own), as a surface, and as a plane whose matter moves by nothing (constraints)."""
    grounds = [
        {"slope": 0.2, "bank": -0.1},
        {"height": "x*tan(0.2) - y*tan(0.1)"},
        {"slope": 0.2, "height": "y*tan(-0.1)"},
        {"slope": 0.2, "bank": -0.1, "velocity": ("0*t", "0*x")},
    ]
    ends = []
    for ground in grounds:
        run = dr.simulate(sled(**ground), 1.0, start=START, method=FINE)
        names = ("sled_x", "sled_y", "sled_z", "sled_qx", "sled_wx", "sled_wz", "blade_force_across", "blade_normal_force")
        ends.append([float(run[name][-1]) for name in names])
    for other in ends[1:]:
        np.testing.assert_allclose(other, ends[0], rtol=2e-8, atol=2e-9)


@pytest.mark.parametrize("ground", [{"slope": -0.3}, {"height": "-x*tan(0.3)"}])
def test_a_turning_blade_on_a_slope_drifts_along_a_cycloid(ground: dict[str, object]) -> None:
    """Down the slope ξ = (g sin α / 2ω²) sin² ωt and no further; across it η = (g sin α / 2ω²)(ωt − ½ sin 2ωt)."""
    alpha, omega = 0.3, 2.0
    start = {"puck_x": 0.0, "puck_y": 0.0, "puck_wz": omega, "puck_vx": 0.0}
    start |= {"puck_qx": 0.0, "puck_qy": math.sin(alpha / 2), "puck_qz": 0.0}  # the blade points down the slope
    run = dr.simulate(puck(**ground), 4.0, start=start, method=FINE, samples=81)
    size, angle = 9.81 * math.sin(alpha) / (2 * omega**2), omega * run.time
    np.testing.assert_allclose(run["puck_x"] / math.cos(alpha), size * np.sin(angle) ** 2, atol=1e-9)
    np.testing.assert_allclose(run["puck_y"], size * (angle - np.sin(2 * angle) / 2), atol=1e-9)
    np.testing.assert_allclose(run["blade_normal_force"], 3.0 * 9.81 * math.cos(alpha), rtol=1e-9)


def test_a_turning_blade_on_a_turntable_swings_as_linear_equations_say() -> None:
    """With r = e^{iωt}(a + ib) and u along the blade: ȧ = ωb + u, ḃ = (Ω − ω)a, u̇ = ωΩa, so that ä = ω(2Ω − ω)a."""
    omega, table = 2.0, 0.4
    run = dr.simulate(
        puck(velocity=("-rate*y", "rate*x")),
        5.0,
        start={"puck_x": 0.5, "puck_y": 0.2, "puck_wz": omega, "puck_vx": 0.3, "puck_qx": 0.0, "puck_qy": 0.0, "puck_qz": 0.0},
        method=FINE,
        samples=51,
    )
    swing = math.sqrt(omega * (omega - 2 * table))
    a = 0.5 * np.cos(swing * run.time) + (omega * 0.2 + 0.3) / swing * np.sin(swing * run.time)
    # b by integrating ḃ = (Ω − ω) a
    b = 0.2 + (table - omega) * (
        0.5 * np.sin(swing * run.time) / swing + (omega * 0.2 + 0.3) / swing**2 * (1 - np.cos(swing * run.time))
    )
    place = np.exp(1j * omega * run.time) * (a + 1j * b)
    np.testing.assert_allclose(run["puck_x"], place.real, atol=1e-8)
    np.testing.assert_allclose(run["puck_y"], place.imag, atol=1e-8)
    energy = run["total_energy"]
    np.testing.assert_allclose(energy - energy[0], run["work"] - run["work"][0], atol=1e-8)
    assert np.ptp(energy) > 0.1


def test_a_belt_in_uniform_motion_is_a_belt_at_rest_seen_from_it() -> None:
    ends = []
    for speed in (0.0, 0.7):
        m = sled(slope=0.1, height="0.0*t", velocity=(speed, -speed / 2))
        # velocities of the blade's body are given in its own axes, here those of the world
        start = {**START, "sled_qx": 0.0, "sled_qy": 0.0, "sled_qz": 0.0, "sled_wx": 0.0, "sled_wy": 0.0}
        run = dr.simulate(m, 1.2, start={**start, "sled_vx": 0.8 + speed}, method=FINE)
        moved = np.array([speed, -speed / 2, speed * math.tan(0.1)]) * 1.2
        place = np.array([run[f"sled_{c}"][-1] for c in "xyz"]) - moved
        ends.append([*place, run["sled_qz"][-1], run["sled_wx"][-1], run["blade_force_across"][-1]])
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-8, atol=1e-9)


def test_a_heaving_plane_carries_a_blade_like_more_gravity() -> None:
    heavy, lifted = sled(), sled(height="1.0*t^2")
    heavy.gravity(9.81 + 2.0)
    ends = []
    for m in (heavy, lifted):
        run = dr.simulate(m, 1.0, start=START, method=FINE)
        ends.append([float(run[n][-1]) for n in ("sled_x", "sled_y", "sled_qx", "sled_wx", "blade_normal_force")])
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-8, atol=1e-9)


def test_a_blade_in_a_bowl_keeps_its_energy_and_never_slides_sideways() -> None:
    run = dr.simulate(sled(height="0.15*(x^2 + 2*y^2)"), 1.5, start=START, method=FINE, samples=1501)
    assert run.status.complete
    x, y, z = (run[f"sled_{c}"] for c in "xyz")
    np.testing.assert_allclose(z, 0.15 * (x**2 + 2 * y**2), atol=1e-11)
    energy = run["total_energy"]
    assert np.ptp(energy) < 1e-9 * abs(energy).max()
    assert np.ptp(run["kinetic_energy"]) > 0.1
    step, k = run.time[1] - run.time[0], slice(2, -2)
    velocity = np.array([(c[:-4] - 8 * c[1:-3] + 8 * c[3:-1] - c[4:]) / (12 * step) for c in (x, y, z)])
    w, i, j, h = (run[f"sled_q{c}"][k] for c in "wxyz")
    blade = np.array([1 - 2 * (j * j + h * h), 2 * (i * j + w * h), 2 * (i * h - w * j)])
    normal = np.array([-0.3 * x[k], -0.6 * y[k], np.ones_like(w)])
    across = np.cross(normal, blade, axis=0)
    sideways = np.einsum("ij,ij->j", across, velocity) / np.linalg.norm(across, axis=0)
    assert np.abs(sideways).max() < 1e-7
    assert np.linalg.norm(velocity, axis=0).mean() > 0.5


@pytest.mark.parametrize("on_ground", [True, False])
@pytest.mark.parametrize(
    "ground",
    [{"height": "0.1*sin(x)*cos(2*y)"}, {"height": "0.1*sin(x - t) + 0.05*y^2", "velocity": ("1.0", "0.3*x")}],
)
def test_both_families_of_derivations_agree_on_a_blade(on_ground: bool, ground: dict[str, object]) -> None:
    certificate = dr.certify(sled(on_ground, **ground))
    assert certificate.passed, certificate
    assert "energies" in certificate.derivations and "connection" in certificate.derivations


def test_the_doctor_and_files_know_blades_on_waves(tmp_path) -> None:  # type: ignore[no-untyped-def]
    m = sled(height="0.1*sin(x)")
    text = str(dr.diagnose(m))
    assert "blade_across" in text
    file = tmp_path / "sled.toml"
    dr.write_model(m, file)
    assert dr.read_model(file).freeze() == m.freeze()


def test_a_blade_that_nothing_can_lift_is_named() -> None:
    m = Model("plate")
    m.body("plate", mass=1.0, inertia=(1.0, 1.0, 1.0))
    m.planar("plate")
    m.knife_edge("plate", name="skate", on_ground=True)
    m.ground(height="0.1*t")
    with pytest.raises(dr.errors.ModelError, match="the ground under knife edge 'skate' moves up and down"):
        dr.derive(m)
    m.ground(velocity=(0.5, 0.0))
    dr.derive(m)  # a belt on which it lies already


def test_a_blade_on_end_has_no_direction() -> None:
    m = puck(velocity=(0.5, 0.0))
    e = dr.derive(m)
    assert e.causes is not None
    reported = dict(
        zip(e.causes.output("value").labels, e.causes([0.0], upright(e, 0.3), [], e.default_parameters)[0], strict=True)
    )
    # it points 2 · 0.3 rad below the horizontal, so that its projection has the length cos 0.6
    assert reported["knife edge 'blade' stands on end and has no direction"] == pytest.approx(1 / math.cos(0.6) ** 2, rel=1e-12)
    fixed = Model("needle")
    fixed.body("rod", mass=1.0, inertia=(1.0, 1.0, 1.0))
    fixed.planar("rod")
    fixed.knife_edge("rod", along="z", name="needle")
    fixed.ground(velocity=(0.5, 0.0))
    with pytest.raises(dr.errors.ModelError, match="knife edge 'needle' stands on end in every configuration"):
        dr.derive(fixed)


def upright(e: dr.Equations, half: float) -> list[float]:
    """A state at rest, pitched by twice an angle."""
    value = {"puck_qw": math.cos(half), "puck_qy": math.sin(half)}
    return [value.get(name, 0.0) for name in (q.name for q in e.states)]
