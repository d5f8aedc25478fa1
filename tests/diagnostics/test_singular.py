"""Singular configurations of which geometry says where they are."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from diagnostics.linkage import four_bar, slider_crank
from diagnostics.mechanisms import diagnosed, sliders
from draisine.diagnostics.singular_configurations import SingularityKind
from draisine.model.model import Model
from draisine.stability.linearization import motion_at


def places(found, what, name, involved=None):
    """Values of one quantity at the singular configurations of a kind, modulo full turns, in order."""
    chosen = [s for s in found.singular if s.what == what and involved in (None, *s.involved)]
    return sorted(float(np.mod(s.at[name] + np.pi - 1e-6, 2 * np.pi) - np.pi + 1e-6) for s in chosen)


# -------------------------------------------------------------------- linkages


def test_dead_centers_of_a_rocker():
    """Crank and coupler in one line: c² + d² + 2 c d cos ψ = (b ± a)² with ψ from the ground bar on."""
    found = diagnosed("four_bar")
    a, b, c, d = 0.1, 0.4, 0.3, 0.4
    expected = sorted(-np.arccos(((b + sign * a) ** 2 - c**2 - d**2) / (2 * c * d)) for sign in (1, -1))
    assert places(found, SingularityKind.DEAD_CENTER, "rocker_angle", "rocker_angle") == pytest.approx(expected, abs=1e-8)
    assert not [s for s in found.singular if s.what != SingularityKind.DEAD_CENTER]
    assert not [s for s in found.singular if "crank_angle" in s.involved]  # it goes round


def test_rocker_that_is_chosen_loses_its_meaning_at_its_dead_centers():
    m = four_bar()
    m.independent("chi_rate")
    found = dr.diagnose(m)
    dead = places(found, SingularityKind.DEAD_CENTER, "phi", "chi")
    assert len(dead) == 2
    assert places(found, SingularityKind.CHOICE, "phi") == pytest.approx(dead, abs=1e-5)


def test_crank_that_cannot_go_round():
    """The longest and the shortest bar together exceed the others: the crank stops where coupler and rocker are in one line."""
    a, b, c, d = 0.7, 0.9, 0.3, 0.8
    found = dr.diagnose(four_bar(crank=a, coupler=b, rocker=c, base=d))
    stretched = np.arccos((a**2 + d**2 - (b + c) ** 2) / (2 * a * d))
    folded = np.arccos((a**2 + d**2 - (b - c) ** 2) / (2 * a * d))
    turns = np.abs(places(found, SingularityKind.DEAD_CENTER, "phi", "phi"))
    assert sorted(turns) == pytest.approx(sorted((stretched, folded)), abs=1e-8)


def test_parallelogram_may_flip_where_it_is_flat():
    found = dr.diagnose(four_bar(crank=0.3, coupler=0.8, rocker=0.3, base=0.8))
    assert places(found, SingularityKind.RANK, "phi") == pytest.approx([0.0, np.pi], abs=1e-5)
    assert "loop" in found.singular[0].involved[0]
    assert any("may bifurcate" in line for line in found.sections["singular configurations"])


def test_slider_crank():
    """Dead centers of the piston: crank and rod in one line."""
    found = dr.diagnose(slider_crank())
    assert places(found, SingularityKind.DEAD_CENTER, "phi", "stroke") == pytest.approx([0.0, np.pi], abs=1e-8)
    strokes = [s.at["stroke"] for s in found.singular if s.involved == ("stroke",)]
    assert sorted(strokes) == pytest.approx([0.25, 0.45], abs=1e-8)


def test_dead_center_at_the_state_itself():
    found = dr.diagnose(slider_crank(), {"phi": 0.0})
    assert places(found, SingularityKind.DEAD_CENTER, "phi", "stroke") == pytest.approx([0.0, np.pi], abs=1e-8)


def test_rod_as_long_as_the_crank():
    """With the crank upright the piston is at its pivot: rod and crank may turn together and leave it there."""
    found = dr.diagnose(slider_crank(crank=0.3, rod=0.3))
    assert places(found, SingularityKind.RANK, "phi") == pytest.approx([-np.pi / 2, np.pi / 2], abs=1e-5)


def test_what_drives_a_rocker_cannot_carry_it_over_its_end():
    m = dr.gallery.four_bar()
    m.independent()
    m.prescribe("motor", "rocker_angle", "-1.7 - 3*t")
    found = dr.diagnose(m)
    end = (np.arccos((0.3**2 - 0.3**2 - 0.4**2) / (2 * 0.3 * 0.4)) - 1.7) / 3
    assert places(found, SingularityKind.DEAD_CENTER, "t", "t") == pytest.approx([end], abs=1e-8)
    assert any("cannot follow its drive" in line for line in found.sections["singular configurations"])


def test_motor_on_a_crank_goes_on():
    found = diagnosed("four_bar_driven")
    assert found.singular == ()
    assert found.followed == ("t",)


def test_constraint_that_branches():
    """x y = 0 is two lines; where they cross it holds nothing to first order."""
    found = dr.diagnose(sliders({"cross": "x*y"}, coordinates="x y", level="position", x=0.5))
    assert [s.at["x"] for s in found.singular if s.what == SingularityKind.RANK] == pytest.approx([0.0], abs=1e-5)
    assert found.singular[0].involved == ("cross",)


@pytest.mark.parametrize(("steep", "what"), [(0.7, SingularityKind.KINK), (1.0, SingularityKind.END)])
def test_constraint_with_an_edge(steep, what):
    """y = s √x² + x²: at the edge a way bends by twice the angle of s; one that would turn square ends. As |x| it is refused."""
    found = dr.diagnose(
        sliders({"edge": f"y - {steep}*sqrt(x^2) - x^2"}, coordinates="x y", level="position", x=0.5, y=0.5 * steep + 0.25)
    )
    (place,) = [s for s in found.singular if s.what == what]
    assert place.at["x"] == pytest.approx(0.0, abs=1e-5)
    assert place.involved == ("edge",)


def test_small_edge_is_a_dead_center():
    found = dr.diagnose(sliders({"edge": "y - 0.3*sqrt(x^2) - x^2"}, coordinates="x y", level="position", x=0.5, y=0.4))
    assert places(found, SingularityKind.DEAD_CENTER, "x", "y") == pytest.approx([0.0], abs=1e-8)


# -------------------------------------------------------------------- wheels


def test_coin_that_lies_flat():
    found = diagnosed("rolling_disk")
    assert places(found, SingularityKind.MEANING, "lean") == pytest.approx([-np.pi / 2, np.pi / 2], abs=1e-4)
    assert {s.cause for s in found.singular} == {"wheel 'disk' lies flat and has no contact point"}


def test_coin_that_lies_flat_already():
    found = dr.diagnose(dr.gallery.rolling_disk(), {"lean": np.pi / 2})
    assert found.singular[0].what == SingularityKind.MEANING
    assert found.singular[0].change == 0.0


def sliding_coin(law) -> Model:
    m = Model("coin")
    m.body("coin", mass=1.0, inertia=(0.01, 0.02, 0.01))
    m.free("coin", at=(0, 0, 0.2))
    m.wheel("rim", "coin", radius=0.2, contact=law)
    return m


def test_coin_that_slides_has_no_way_beyond_flat():
    """Treated whole its equations have no word for it: the contact point jumps, and there is no way on."""
    found = dr.diagnose(sliding_coin(dr.contact.Coulomb(0.5)), {"coin_vx": 2.0, "coin_wy": 10.0})
    assert (found.freedoms_of_position, found.freedoms_of_velocity) == (5, 5)
    assert places(found, SingularityKind.END, "coin_lean") == pytest.approx([-np.pi / 2, np.pi / 2], abs=1e-3)


def test_slips_that_lag_are_no_positions():
    found = dr.diagnose(sliding_coin(dr.contact.LinearTire(100.0, 0.1)), {"coin_vx": 2.0, "coin_wy": 10.0})
    assert (found.freedoms_of_position, found.freedoms_of_velocity) == (5, 5)
    assert found.index.freedoms == 12  # two slips besides
    assert not [name for name in found.followed if "lag" in name]


def test_rear_spin_of_a_bicycle_fails_where_the_front_wheel_stands_across():
    """There the front wheel can roll while the rear one stands: by the equations with other velocities the rear spin is zero,
    whatever the front one does."""
    m = dr.gallery.bicycle()
    m.independent("frame_wx", "steer_rate", "rear_wheel_spin")
    found = dr.diagnose(m)
    assert places(found, SingularityKind.CHOICE, "steer") == pytest.approx([-np.pi / 2, np.pi / 2], abs=0.05)
    at = next(s.at for s in found.singular if s.what == SingularityKind.CHOICE)
    other = dr.derive(dr.gallery.bicycle(), work=False)
    assert "front_wheel_spin" in other.independent
    motion = motion_at(other, {"steer": at["steer"], "lean": at["frame_lean"], "front_wheel_spin": 1.0})
    reported = other.report([0.0], motion.x, motion.u, motion.p)
    v = dict(zip([q.name for q in other.velocities], reported[0], strict=True))
    assert v["front_wheel_spin"] == pytest.approx(1.0)
    assert abs(v["rear_wheel_spin"]) < 1e-4
    assert abs(v["frame_wz"]) > 0.1


def test_front_spin_of_a_bicycle_serves_up_to_there():
    found = diagnosed("bicycle")
    assert not [s for s in found.singular if s.what in (SingularityKind.CHOICE, SingularityKind.RANK)]
    assert {s.cause.split("'")[1] for s in found.singular} == {"rear_wheel", "front_wheel"}
