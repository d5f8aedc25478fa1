"""Linear models against published eigenvalues, closed forms, and the difference of two nonlinear runs."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import draisine as dr
from draisine.results.linear import LinearModel
from draisine.stability.linearization import Motion, motion_at

REFERENCE = Path(__file__).parents[1] / "reference"
MEIJAARD = json.loads((REFERENCE / "meijaard2007.json").read_text())
SCHWAB = json.loads((REFERENCE / "schwab2005.json").read_text())


def _matrix(rows):
    return np.array([[float(entry) for entry in row] for row in rows])


@pytest.fixture(scope="module")
def bike():
    return dr.gallery.bicycle()


def test_canonical_matrices_are_the_published_ones(bike):
    found = dr.bicycle.whipple_matrices(bike).z_down()
    for name in ("M", "C1", "K0", "K2"):
        np.testing.assert_allclose(getattr(found, name), _matrix(MEIJAARD["matrices"][name]), rtol=0, atol=1e-11)


def test_canonical_matrices_of_the_earlier_benchmark(bike):
    """Schwab et al. 2005: the same bicycle with other numbers, published with g in K₀."""
    given = SCHWAB["parameters"]
    values = {
        "steer_axis_tilt": math.pi / 2 - math.atan(3.0),
        "ixx_rear_wheel": given["IRxx"],
        "ixx_fork": given["IHxx"],
        "izz_fork": given["IHzz"],
        "ixz_fork": -given["IHxz"],
        "ixx_front_wheel": given["IFxx"],
    }
    found = dr.bicycle.whipple_matrices(bike, parameters=values).z_down()
    np.testing.assert_allclose(found.M, _matrix(SCHWAB["matrices"]["M"]), rtol=0, atol=1e-11)
    np.testing.assert_allclose(found.C1, _matrix(SCHWAB["matrices"]["C1"]), rtol=0, atol=1e-11)
    np.testing.assert_allclose(9.81 * found.K0, _matrix(SCHWAB["matrices"]["K0_INCLUDING_g"]), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.K2, _matrix(SCHWAB["matrices"]["K2"]), rtol=0, atol=1e-11)


@pytest.mark.parametrize("speed", range(11))
def test_eigenvalues_are_the_published_ones(bike, speed):
    table = MEIJAARD["eigenvalues"]["table"][str(speed)]
    published = np.array([complex(float(z["re"]), float(z["im"])) for z in table])
    found = dr.linearize(bike, {"speed": float(speed)}, states=("lean", "steer")).essential().eigenvalues
    for value in published:
        assert np.abs(found - value).min() < 1e-11


def test_the_full_form_drops_nothing(bike):
    """Ten directions: seven of position on two wheels, three of velocity; all those beyond the four have eigenvalue zero."""
    full = dr.linearize(bike, {"speed": 5.0})
    assert len(full.states) == 10
    assert np.sum(np.abs(full.eigenvalues) < 1e-3) == 6  # a zero of multiplicity m is only known to the m-th root of round-off
    essential = full.essential()
    assert set(essential.states) | set(essential.left_out) >= set(full.states)


def test_linear_model_predicts_the_nonlinear_run(bike):
    """The difference of two nonlinear runs, divided by the small deviation between their starts, is the matrix exponential."""
    from scipy.linalg import expm

    small = 1e-5
    linear = dr.linearize(bike, {"speed": 4.6}, states=("lean", "steer")).essential()
    method = dr.methods.DOP853(rtol=1e-12, atol=1e-13)
    one, two = (dr.simulate(bike, 0.7, start={"speed": 4.6, "lean": s, "steer": -2 * s}, method=method) for s in (small, -small))
    ahead = expm(0.7 * linear.A) @ np.array([1.0, -2.0, 0.0, 0.0])
    measured = [(one[name][-1] - two[name][-1]) / (2 * small) for name in ("lean", "steer", "roll_rate", "steer_rate")]
    np.testing.assert_allclose(measured, ahead, rtol=0, atol=1e-6 * np.abs(ahead).max())


def test_input_matrix_against_the_canonical_form(bike):
    """Steer torque enters as (0, 1) on the right side of M q̈ + …: B is the second column of M⁻¹."""
    linear = dr.linearize(bike, {"speed": 5.0}, states=("lean", "steer")).essential()
    column = linear.B[2:, linear.inputs.index("steer_torque")]
    np.testing.assert_allclose(column, np.linalg.inv(dr.bicycle.whipple_matrices(bike).M)[:, 1], rtol=1e-12)


def test_pendulum_with_redundant_coordinates():
    """A Cartesian pendulum in symbols: two coordinates, one length; g/l = 4."""
    import sympy as sp
    from sympy.physics.mechanics import dynamicsymbols

    x, y = dynamicsymbols("x y")
    t = dynamicsymbols._t
    kinetic = (x.diff(t) ** 2 + y.diff(t) ** 2) / 2
    e = dr.lagrangian(
        "rod",
        [x, y],
        kinetic - sp.Float(9.81) * y,
        holonomic={"length": (x**2 + y**2 - sp.Float(2.4525) ** 2) / 2},
        start={x: 0.0, y: -2.4525},
    )
    found = dr.linearize(e)
    assert len(found.states) == 2
    np.testing.assert_allclose(np.sort(found.eigenvalues.imag), [-2.0, 2.0], atol=1e-12)
    np.testing.assert_allclose(found.eigenvalues.real, 0.0, atol=1e-12)


def test_a_state_that_breaks_the_constraints_is_refused(bike):
    """Lifted by 0.1 m, or with the wheels' spins out of tune; the nearest admissible state is reported."""
    motion = motion_at(bike, {"speed": 5.0})
    lifted = motion.x.copy()
    lifted[[q.name for q in motion.equations.states].index("frame_z")] += 0.1
    with pytest.raises(
        dr.errors.ArgumentError,
        match=r"violates its constraints: .*_wheel_height \(position\) by 0.1 m.*frame_z = 0.3 \(not 0.4\)",
    ):
        dr.linearize(Motion(motion.equations, lifted, motion.u, motion.p))
    stretched = motion.x.copy()
    stretched[[q.name for q in motion.equations.states].index("frame_qw")] = 1.1
    with pytest.raises(dr.errors.ArgumentError, match=r"violates its constraints: .*frame_quaternion.* by "):
        dr.linearize(Motion(motion.equations, stretched, motion.u, motion.p))
    with pytest.raises(ValueError, match=r"frame_z cannot be 0.5; nearest possible: frame_z = 0.3"):
        dr.linearize(bike, {"frame_z": 0.5, "lean": 0.0, "steer": 0.0, "frame_qy": 0.0})


def test_unknown_state_is_named(bike):
    with pytest.raises(dr.errors.ArgumentError, match=r"no state or output of motion 'lena'.*lean"):
        dr.linearize(bike, {"speed": 5.0}, states=("lena",))


def test_determined_state_is_refused(bike):
    """Upright, the pitch follows the steer to second order only: it is no deviation of its own."""
    with pytest.raises(dr.errors.ArgumentError, match=r"'pitch' cannot name a deviation"):
        dr.linearize(bike, {"speed": 5.0}, states=("pitch",))


def test_python_control_gets_the_same_system(bike):
    """Steer torque to lean at 5 m/s: poles are the eigenvalues, the static gain is −C A⁻¹ B."""
    control = pytest.importorskip("control", reason="python-control is not installed (extra `control`)")
    linear = dr.linearize(bike, {"speed": 5.0}, states=("lean", "steer")).essential()
    system = linear.to_control(inputs=("steer_torque",), outputs=("lean",))
    assert list(system.state_labels) == list(linear.states)
    np.testing.assert_allclose(np.sort_complex(control.poles(system)), np.sort_complex(linear.eigenvalues), atol=1e-9)
    gain = -np.linalg.solve(linear.A, linear.B[:, linear.inputs.index("steer_torque")])[linear.states.index("lean")]
    assert system.dcgain().item() == pytest.approx(gain, rel=1e-9)


def test_rounding_decides_neither_stability_nor_what_is_printed():
    rng = np.random.default_rng(5)
    raw = []
    for _ in range(30):  # one neutral mode, mixed into random states of different units
        mix = rng.normal(size=(4, 4)) * 10.0 ** rng.uniform(-3, 3, size=(4, 1))
        a = mix @ np.diag([-3.0, -2.0, -1.0, 0.0]) @ np.linalg.inv(mix)
        model = LinearModel("mixed", tuple("abcd"), (), (), a, np.zeros((4, 0)), np.zeros((0, 4)), np.zeros((0, 0)))
        assert not model.stable and model.eigenvalues[-1] == 0
        np.testing.assert_allclose(model.eigenvalues, [-3, -2, -1, 0], atol=1e-11)
        raw.append(np.linalg.eigvals(a).real.max())
    assert min(raw) < 0  # by their signs alone, some would be stable
    straight = str(dr.linearize(dr.gallery.bicycle(), at={"speed": 5.0}))
    assert "e-" not in straight and straight.splitlines()[-1].endswith("-0.32287, 0, 0, 0, 0, 0, 0")
