"""Degrees of freedom, ranks, and which constraints repeat which; conditioning of the independent velocities."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from diagnostics.linkage import four_bar
from diagnostics.mechanisms import diagnosed, planar, sliders, truss
from draisine.model.model import Model


def test_tricycle_says_which_contact_row_is_too_many():
    found = diagnosed("tricycle")
    assert found.redundant == {"rear_right_y": ("rear_left_y",)}
    assert (found.rank, len(found.constraints)) == (8, 9)
    assert (found.freedoms_of_position, found.freedoms_of_velocity) == (7, 2)


@pytest.mark.parametrize("name", ["tricycle", "car", "sarrus_lift", "stewart_platform", "planetary_gear"])
def test_the_derivation_says_the_same(name):
    """Each repeated constraint is in a note of the equations, and no other; one warning names them."""
    equations = dr.derive(dr.gallery.model(name))
    noted = [note.split()[1] for note in equations.notes if "repeats" in note]
    assert list(diagnosed(name).redundant) == noted
    assert noted
    (warning,) = [w for w in equations.warnings if "are not unique" in w]
    assert all(name in warning for name in noted)


def test_many_redundant_rows_fit_a_screen():
    """Twelve knife edges side by side on one axle: eleven repeat the first, in one warning; what each repeats is in the notes."""
    m = planar()
    for k in range(12):
        m.knife_edge("body", at=(0, 0.1 * k, 0), name=f"edge_{k}")
    equations = dr.derive(m)
    (warning,) = equations.warnings
    assert len(warning) < 500
    assert "edge_1_across, " in warning and "and 4 more repeat others" in warning, warning
    assert sum("repeats edge_0" in note for note in equations.notes) == 11


def test_loop_in_a_plane_closed_in_space():
    """The row across the plane holds by itself: nothing that the hinges can do changes it."""
    found = dr.diagnose(four_bar("xyz"))
    assert (found.freedoms_of_position, found.freedoms_of_velocity) == (1, 1)
    assert found.rank == 2
    assert set(found.constraints) - set(found.redundant) == {"loop_x", "loop_z"}


def test_edges_side_by_side_are_one():
    m = planar()
    m.knife_edge("body", at=(0, 0.3, 0), name="left")
    m.knife_edge("body", at=(0, -0.3, 0), name="right")
    found = dr.diagnose(m)
    assert found.redundant == {"right_across": ("left_across",)}
    assert found.growth.dimensions == (3, 4)


def test_sums_are_seen_through():
    """The third is the sum of the others, in every configuration, with coefficients that change."""
    rows = {"first": "y_rate - z*x_rate", "second": "w_rate - x*x_rate", "third": "y*y_rate - y*z*x_rate + w_rate - x*x_rate"}
    found = dr.diagnose(sliders(rows, coordinates="x y z w", y=0.4))
    assert found.redundant == {"third": ("first", "second")}


def test_truss_cannot_move():
    found = dr.diagnose(truss())
    assert (found.freedoms_of_position, found.freedoms_of_velocity) == (0, 0)
    assert not found.can_move
    assert "nothing can move: remove a constraint" in found.sections["freedoms"]


def test_bodies_bolted_to_the_ground():
    m = Model("block")
    m.body("stone", mass=1.0)
    m.fixed("bolts", "ground", "stone")
    found = dr.diagnose(m)
    assert not found.can_move
    assert "the model has no moving joint" in str(found)


def test_driven_linkage_moves():
    found = diagnosed("four_bar_driven")
    assert found.freedoms_of_velocity == 0
    assert found.driven
    assert found.can_move


def test_rank_at_the_state_itself():
    """A parallelogram in one line: one row is lost there and nowhere else nearby."""
    flat = dr.diagnose(four_bar(crank=0.3, coupler=0.8, rocker=0.3, base=0.8), {"phi": 0.0, "psi": 0.0, "chi": 0.0})
    assert (flat.rank, flat.rank_here) == (2, 1)


# -------------------------------------------------------------------- independent velocities


def test_amplification_in_closed_form():
    """A sleigh with its blade at a distance a from its origin: v_y = −a ω, so that ω is amplified √(1 + a²) times."""
    m = Model("sledge")
    m.body("body", mass=1.0, inertia=(0.1, 0.1, 0.2))
    m.planar("body")
    m.knife_edge("body", at=(-0.75, 0, 0), name="blade")
    m.independent("body_vx", "body_heading_rate")
    found = dr.diagnose(m).choice
    assert found.here == pytest.approx(1.25, rel=1e-9)
    assert found.nearby == pytest.approx(1.25, rel=1e-9)
    assert not found.poor


def test_poor_choice_is_called_so_and_a_better_one_named():
    """Close to the dead center of the rocker its rate is a poor choice: the crank's is amplified without bound."""
    m = four_bar()
    m.independent("chi_rate")
    reach = 0.3 + 0.9
    center = -np.arccos((0.8**2 + reach**2 - 0.7**2) / (2 * 0.8 * reach))
    found = dr.diagnose(m, {"phi": center + 1e-3}).choice
    assert found.poor
    assert found.here > 100
    assert found.better_here < 5
    assert found.better != ("chi_rate",)


def test_nothing_chosen_nothing_said():
    assert diagnosed("spherical_pendulum").choice is None
