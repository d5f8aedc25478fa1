"""What inputs reach: systems of which control theory says it; and symmetries of which mechanics does."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from diagnostics.mechanisms import GRAVITY, diagnosed, pendulums
from draisine.diagnostics.controllability import reach
from draisine.gallery.entries.handling import car_on_tires
from draisine.model.model import Model
from draisine.results.linear import LinearModel


@pytest.mark.parametrize("name", ["cart_pole", "cart_pole_graph"])
@pytest.mark.parametrize("pole", [0.0, np.pi])
def test_cart_and_pole_are_reached_whole(name, pole):
    found = dr.diagnose(dr.gallery.model(name), {"pole": pole}).reach
    assert (found.controllable, found.states) == (4, 4)
    assert found.unreached == ()
    assert found.steady
    assert found.stabilizable


def test_twins_on_one_torque_keep_their_difference():
    found = dr.diagnose(pendulums()).reach
    assert found.controllable == 2
    assert {frozenset(terms) for terms in found.unreached} == {
        frozenset({"swing0", "swing1"}),
        frozenset({"swing0_rate", "swing1_rate"}),
    }
    assert all(sum(terms.values()) == pytest.approx(0.0, abs=1e-9) for terms in found.unreached)
    swing = np.sqrt(GRAVITY)
    assert sorted(z.imag for z in found.eigenvalues) == pytest.approx([-swing, swing], rel=1e-9)
    assert found.stabilizable


def test_pendulums_of_different_lengths_are_reached_by_one_torque():
    assert dr.diagnose(pendulums(lengths=(1.0, 1.1))).reach.controllable == 4


def test_twins_upside_down_cannot_be_balanced_by_one_torque():
    found = dr.diagnose(pendulums(upright=True))
    assert not found.reach.stabilizable
    assert max(z.real for z in found.reach.eigenvalues) == pytest.approx(np.sqrt(GRAVITY), rel=1e-9)
    assert any("no feedback can stabilize it" in line for line in found.sections["inputs"])


def test_bicycle_at_five_meters_per_second():
    """Steer torque, pedals and a push move everything but what rolling ties to each other: wheels' turns and the way."""
    found = dr.diagnose(dr.gallery.bicycle(), {"speed": 5.0}).reach
    assert found.steady
    assert (found.controllable, found.states) == (8, 10)
    held = np.zeros((2, 3))
    names = ("rear_wheel_angle", "front_wheel_angle", "frame_x")
    for row, terms in zip(held, found.unreached, strict=True):
        assert set(terms) <= set(names)
        row[:] = [terms.get(name, 0.0) for name in names]
    # rear wheel of radius 0.3 m, front wheel of 0.35 m: x = 0.3 rear angle = 0.35 front angle
    assert held @ [1 / 0.3, 1 / 0.35, 1.0] == pytest.approx([0.0, 0.0], abs=1e-8)


def test_bicycle_at_rest_does_not_get_sideways():
    found = diagnosed("bicycle")
    assert found.reach.controllable == 6
    assert {"frame_y", "frame_heading"} <= {name for terms in found.reach.unreached for name in terms}
    assert any("maneuvers may reach such positions" in line for line in found.sections["inputs"])


def test_states_that_do_not_stay_are_said_to_be_so():
    found = dr.diagnose(dr.gallery.cart_pole(), {"pole": 0.5})
    assert not found.reach.steady
    assert any("for an instant only" in line for line in found.sections["inputs"])


def test_against_kalman_rank():
    """Random systems with blocks that no input enters."""
    rng = np.random.default_rng(5)
    for free, held in ((3, 2), (4, 1), (2, 4)):
        n = free + held
        a, b = rng.normal(size=(n, n)), rng.normal(size=(n, 2))
        a[free:, :free], b[free:] = 0.0, 0.0
        turn = np.linalg.qr(rng.normal(size=(n, n)))[0]
        names = tuple(f"s{i}" for i in range(n))
        mixed = turn @ a @ turn.T, turn @ b
        linear = LinearModel("mixed", names, ("u1", "u2"), (), *mixed, np.zeros((0, n)), np.zeros((0, 2)))
        found = reach(linear)
        assert found.controllable == free
        values = np.array(sorted(found.eigenvalues, key=lambda z: (round(z.real, 9), z.imag)))
        expected = np.array(sorted(np.linalg.eigvals(a[free:, free:]), key=lambda z: (round(z.real, 9), z.imag)))
        assert values == pytest.approx(expected, abs=1e-9)
        for terms in found.unreached:
            row = np.array([terms.get(name, 0.0) for name in names])
            assert np.abs(row @ mixed[1]).max() < 1e-9
            assert np.abs(row @ mixed[0] @ mixed[1]).max() < 1e-8


# -------------------------------------------------------------------- symmetries


def tumbling(gravity: float) -> Model:
    m = Model("satellite")
    m.gravity(gravity)
    m.body("hull", mass=3.0, center_of_mass=(0.1, 0.2, -0.1), inertia=(0.4, 0.5, 0.6))
    m.free("hull")
    m.body("wheel", mass=0.5, inertia=(0.01, 0.01, 0.02))
    m.revolute("spin", "hull", "wheel", axis="z", at=(0.3, 0, 0))
    return m


def test_momenta_of_a_satellite():
    """In free space all of them; where it falls, those along and about the vertical that gravity leaves."""
    free = dr.diagnose(tumbling(0.0)).symmetries
    assert set(free.conserved) == {
        "momentum of spin",
        *(f"momentum of hull_{a}" for a in "xyz"),
        *(f"angular momentum about {a}" for a in "xyz"),
    }
    falling = dr.diagnose(tumbling(9.81)).symmetries
    assert set(falling.conserved) == {"momentum of spin", "momentum of hull_x", "momentum of hull_y", "angular momentum about z"}
    assert {"hull_x", "hull_y", "spin"} <= set(falling.ignorable)


def test_rolling_breaks_momenta_that_symmetry_would_keep():
    found = diagnosed("chaplygin_sleigh")
    assert set(found.symmetries.ignorable) == {"sleigh_x", "sleigh_y", "sleigh_heading"}
    assert found.symmetries.conserved == ()


@pytest.mark.parametrize(
    ("name", "conserved"),
    [
        ("cart_pole", ("momentum of cart",)),
        ("spherical_pendulum", ("angular momentum about z",)),
        ("spherical_pendulum_by_angles", ("momentum of azimuth",)),
        ("double_pendulum", ()),
        ("snakeboard", ("momentum of rotor", "momentum of front_steer", "momentum of back_steer")),
    ],
)
def test_momenta_of_the_gallery(name, conserved):
    assert diagnosed(name).symmetries.conserved == conserved


@pytest.mark.parametrize("seed", range(12))
def test_neutral_directions_are_not_unstable(seed: int) -> None:
    """Uncontrollable constants, chains of them, oscillations and modes that grow, however slowly, in mixed coordinates."""
    rng = np.random.default_rng(seed)
    rate, slow = 10.0 ** rng.uniform(-8, 2, 2)
    constants = np.diag(np.ones(int(rng.integers(1, 3)) - 1), 1) if seed % 2 else np.zeros((2, 2))
    swing = np.array([[0.0, rate], [-rate, 0.0]])
    growing = [slow] if seed % 3 else []
    parts = [np.array([[0.0, 1.0], [-1.0, -0.4]]), constants, swing, *([[[slow]]] if growing else [])]
    n = sum(len(part) for part in parts)
    a, k = np.zeros((n, n)), 0
    for part in parts:
        a[k : k + len(part), k : k + len(part)] = part
        k += len(part)
    turn = np.linalg.qr(rng.standard_normal((n, n)))[0]
    a, b = turn @ a @ turn.T, turn @ np.eye(n)[:, 1:2]
    states = tuple(f"x{i}" for i in range(n))
    found = reach(LinearModel("mixed", states, ("push",), (), a, b, np.zeros((0, n)), np.zeros((0, 1))))
    assert found.controllable == 2 and found.stabilizable == (not growing)
    assert [z for z in found.eigenvalues if z.real] == pytest.approx(growing, rel=1e-5)
    assert sum(z == 0 for z in found.eigenvalues) == len(constants)
    assert sorted(z.imag for z in found.eigenvalues if z.imag) == pytest.approx([-rate, rate], rel=1e-5)


def test_a_car_on_tires_has_neutral_directions_alone() -> None:
    """Its place, its heading and the angles of its wheels are constants: no eigenvalue of rounding error."""
    found = dr.diagnose(car_on_tires())
    zeros = [z for z in found.reach.eigenvalues if abs(z) < 1e-3]
    assert len(zeros) >= 4 and set(zeros) == {0j}
    assert not any("unstable" in line for line in found.sections["inputs"])
