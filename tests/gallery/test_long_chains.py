"""Chains of links, trains of trailers, snakes and trees of many bodies: closed forms and other derivations."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.errors import ArgumentError
from draisine.gallery.entries import big_tree, hanging_rope, link_chain, snake_robot, trailers

METHOD = dr.methods.DOP853(rtol=1e-10, atol=1e-10)


def test_chain_in_relative_and_in_absolute_angles():
    assert link_chain.difference_from_angles(12) < 1e-11
    assert link_chain.inverse_dynamics_residual(dr.derive(link_chain.link_chain(32))) < 1e-11


def test_a_hanging_chain_swings_like_a_rope():
    """ω_k = ½ j₀,k √(g / L), from which rods differ by 1/n²."""
    exact = np.array(link_chain.BESSEL) / 2
    coarse, fine = (link_chain.hanging_frequencies(n) / exact - 1 for n in (12, 24))
    assert coarse[0] == pytest.approx(4 * fine[0], rel=0.02)
    assert 0 < fine[0] < 6e-5


def test_trailers_in_a_steady_circle():
    model, count, radius = trailers.trailers(16), 16, 9.0
    start = {"vehicle_vx": 2.0, "vehicle_heading_rate": 2.0 / radius, **trailers.circle_hitch_angles(count, radius)}
    run = dr.simulate(model, 3.0, start=start, inputs=trailers.steady_inputs(model, start), method=METHOD, samples=31)
    assert trailers.radii_of(run, count)[-1] == pytest.approx(np.sqrt(radius**2 - np.arange(count + 1)), abs=1e-9)
    assert trailers.against_kinematics(run, count) < 1e-12
    with pytest.raises(ValueError, match=r"need a circle of more than 4 m"):
        trailers.circle_hitch_angles(16, 4.0)


def test_bent_trailers_keep_their_energy_and_follow_the_formulas():
    count = 12
    bent = {f"hitch{k}": 0.6 * float(np.sin(1.3 * k)) for k in range(1, count + 1)}
    run = dr.simulate(
        trailers.trailers(count), 4.0, start={"vehicle_vx": 2.0, "vehicle_heading_rate": 0.3, **bent}, method=METHOD
    )
    assert np.abs(run["total_energy"] / run["total_energy"][0] - 1).max() < 1e-9
    assert trailers.against_kinematics(run, count) < 1e-12


def test_the_wheels_give_the_snake_its_momentum():
    run = dr.simulate(snake_robot.snake_robot(12), 2.0, start=snake_robot.wave(12), method=METHOD, samples=4001)
    linear, angular = snake_robot.momentum_gap(run, 12)
    assert linear < 1e-7 and angular < 1e-7, (linear, angular)
    assert run["link1_vx"][-1] > 0.5
    assert run.energy_drift is not None and run.energy_drift < 1e-7


def test_a_tree_fulfils_newton_and_euler_body_by_body():
    assert big_tree.inverse_dynamics_residual_with_springs(dr.derive(big_tree.big_tree(31))) < 1e-11


def test_sizes_that_make_no_sense():
    for make, size in (
        (link_chain.link_chain, 0),
        (trailers.trailers, -1),
        (hanging_rope.hanging_rope, 1),
        (snake_robot.snake_robot, 1),
        (big_tree.big_tree, 0),
    ):
        with pytest.raises(ArgumentError):
            make(size)


def test_a_rope_hangs_as_a_catenary_of_rods():
    """tan α_k in equal steps; the nail holds (H, half of the weight); many rods become a smooth rope like 1/n²."""
    slopes, force = hanging_rope.catenary(12, 1.5)
    still, nail = hanging_rope.accelerations_at_rest(dr.derive(hanging_rope.hanging_rope(12)), slopes)
    assert np.ptp(np.diff(np.tan(slopes))) < 1e-12
    assert still < 1e-10
    assert nail == pytest.approx([force, 0.5], abs=1e-11)
    coarse, fine = (hanging_rope.catenary(n, 1.5)[1] / hanging_rope.smooth_force(1.5) - 1 for n in (16, 32))
    assert coarse == pytest.approx(4 * fine, rel=0.01)


def test_a_rope_pulled_straight_sounds_like_a_cable():
    """Irvine and Caughey 1974; what is left is the sag (2.7 % of the span), and the length of the rods."""
    assert hanging_rope.notes(24, 1.002) == pytest.approx(hanging_rope.NOTES, rel=0.01)
