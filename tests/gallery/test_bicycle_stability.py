"""Gallery entries about the stability of two-wheelers: numbers found by other derivations than the studies' own."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine import gallery
from draisine.expr.expression import parse
from draisine.gallery.entries import flexible_frame, leaning_rider, source_c_fates, two_mass_skate, why_stable
from stability.meijaard_formulas import matrices


@pytest.mark.parametrize("study", ["two_mass_skate_rights_itself", "rider_steers_by_leaning", "wobble_appears"])
def test_studies_hold(study: str) -> None:
    assert gallery.study(study)().figures


# ---------------------------------------------------------------- two-mass-skate bicycle


@pytest.mark.parametrize("changed", [{}, two_mass_skate.NEGATIVE])
def test_the_skate_bicycle_has_the_printed_matrices(changed: dict[str, float]) -> None:
    """Meijaard's formulas with masses at points and no spin; blades in place of wheels change nothing in them."""
    p = {q.name: q.default for q in gallery.two_mass_skate().freeze().parameters} | changed
    nothing = dict.fromkeys(("mR", "IRxx", "IRyy", "IBxx", "IBzz", "IBxz", "IHxx", "IHzz", "IHxz", "mF", "IFxx", "IFyy"), 0.0)
    given = {"w": p["wheelbase"], "c": p["trail"], "rR": 1.0, "rF": 1.0, "mB": p["m_frame"], "mH": p["m_fork"]}
    given |= {"xB": p["x_frame"], "zB": -p["z_frame"], "xH": p["x_fork"], "zH": -p["z_fork"]}
    printed = matrices({**nothing, **given}, math.sin(p["steer_axis_tilt"]), math.cos(p["steer_axis_tilt"]))
    ours = dr.bicycle.whipple_matrices(gallery.two_mass_skate(), parameters=changed).z_down()
    for name in ("M", "C1", "K0", "K2"):
        wanted = np.array(printed[name], dtype=float)
        np.testing.assert_allclose(getattr(ours, name), wanted, rtol=0, atol=1e-11 * np.abs(wanted).max())


def test_the_skate_bicycle_holds_no_spin() -> None:
    model = gallery.two_mass_skate()
    assert not model.freeze().wheels and {body.name for body in model.freeze().bodies} == {"frame", "fork"}


def test_negative_trail_is_the_contact_ahead_of_the_steer_axis() -> None:
    """Every negative trail in the map that has a stable speed has one by the eigenvalues of the model itself."""
    model = gallery.two_mass_skate()
    trails, places = np.array([-0.01, 0.0]), np.array([1.02, 1.14])
    slowest = two_mass_skate.slowest_stable(model, trails, places)
    assert np.isnan(slowest[0, 0]) and np.isfinite(slowest[0, 1]) and slowest[1, 0] == pytest.approx(3.0)
    above = dr.modes(model, speed=[slowest[0, 1]], states=("lean", "steer"), parameters={"trail": -0.01, "x_fork": 1.14})
    assert above.stable.all()


# ---------------------------------------------------------------- leaning rider


def test_the_rider_and_the_rest_are_the_benchmarks_frame() -> None:
    """Mass matrix with the hinge locked: contact, lean and steer see the same bodies."""
    cut, whole = dr.derive(gallery.leaning_rider(), work=False), dr.derive(gallery.bicycle(), work=False)
    run = dr.simulate(
        gallery.leaning_rider(), 0.01, start={"speed": 5.0, "lean": 0.2, "steer": 0.3, "roll_rate": 0.4, "steer_rate": -0.5}
    )
    same = dr.simulate(
        gallery.bicycle(), 0.01, start={"speed": 5.0, "lean": 0.2, "steer": 0.3, "roll_rate": 0.4, "steer_rate": -0.5}
    )
    for energy in ("kinetic_energy", "potential_energy"):
        assert run[energy][0] == pytest.approx(same[energy][0], rel=1e-12)
    assert len(cut.independent) == len(whole.independent) + 1


def test_a_torque_at_the_hips_answers_as_the_linear_model_says() -> None:
    """Frequency response against the nonlinear motion under a small torque."""
    linear = dr.linearize(gallery.leaning_rider(), {"speed": 5.0}, states=leaning_rider.REPORTED)
    frequency = 2.0
    (gain,) = leaning_rider.response(linear, "lean_torque", "lean", np.array([frequency]))
    law = {"lean_torque": parse(f"0.1*sin({frequency}*t)")}
    run = dr.simulate(gallery.leaning_rider(), 40.0, start={"speed": 5.0}, inputs=law, samples=4001)
    late = run.time > 40.0 - 4 * np.pi / frequency
    t = run.time[late]
    fitted = np.linalg.lstsq(
        np.column_stack([np.sin(frequency * t), np.cos(frequency * t), np.ones_like(t)]), run["lean"][late], rcond=None
    )
    assert complex(fitted[0][0], fitted[0][1]) / 0.1 == pytest.approx(gain, rel=2e-3)


# ---------------------------------------------------------------- flexible frame


def test_stiff_heads_and_tires_give_the_benchmark() -> None:
    model = dr.derive(gallery.flexible_frame(), work=False)
    assert flexible_frame.towards_rigid(model, 1e7) < 2e-4


def test_the_wobble_is_a_mode_of_the_fork_against_the_frame() -> None:
    """In the wobble steer and twist are the largest angles, in the weave lean and steer."""
    model = dr.derive(gallery.flexible_frame(), work=False)
    found = dr.modes(model, speed=[8.0], states=flexible_frame.REPORTED)
    shake = flexible_frame.wobble(found)[0]
    j = int(np.argmin(np.abs(found.eigenvalues[0] - shake)))
    lean, steer, twist = np.abs(found.shapes[0, :3, j])
    assert steer > twist > 3 * lean


# ---------------------------------------------------------------- why it is stable


def test_why_bicycles_settle() -> None:
    study = why_stable.why_bicycles_settle()
    assert study.runs["kicked"]["speed"][-1] == pytest.approx(5.007445, abs=1e-6)


def test_energy_of_straight_running_by_hand() -> None:
    run = dr.simulate(gallery.bicycle(), 0.01, start={"speed": 3.7, "lean": 0.0, "steer": 0.0})
    assert run["total_energy"][0] == pytest.approx(float(why_stable.straight_energy(3.7)), rel=1e-13)


# ---------------------------------------------------------------- fates


def test_zig_zag_and_circle() -> None:
    """The zig-zag is alike on both sides, the circle is not, and its path closes: its extents in x and y are alike."""
    left, right, _ = source_c_fates.late_swing(source_c_fates.ride(5.6, 60.0))
    assert left == pytest.approx(right, rel=1e-3)
    assert right == pytest.approx(math.radians(17.9), abs=2e-3)
    run = source_c_fates.ride(5.15, 120.0)
    left, right, turn = source_c_fates.late_swing(run)
    assert right - left > math.radians(8)
    late = run.time > 60.0
    wide, high = np.ptp(run["rear_x"][late]), np.ptp(run["rear_y"][late])
    assert wide == pytest.approx(high, rel=0.02) and wide == pytest.approx(2 * 5.0 / abs(turn), rel=0.06)


def test_the_study_of_fates_holds() -> None:
    assert set(source_c_fates.delebecque_fates(60.0).runs) == {"rights_itself", "zig_zag", "circle", "fall"}
