"""Names of modes by their shapes: wobble is no weave, capsize no castering, whatever their signs and units."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.gallery.entries.flexible_frame import flexible_frame
from draisine.stability.mode_names import Roles, eigenvectors, participation


@pytest.fixture(scope="module")
def flexible() -> dr.Model:
    return dr.derive(flexible_frame(), work=False)


def test_wobble_weave_and_capsize_of_a_flexible_frame(flexible) -> None:
    """By hand: the wobble is at 6 to 8 Hz, the weave slower; the entry's study finds the wobble growing from 2.0 to 12.5 m/s."""
    found = dr.modes(flexible, speed=np.linspace(1, 14.5, 28), states=("lean", "steer", "head_twist"))
    crossings = [c for c in found.critical() if c.change]
    assert [(c.kind, c.change) for c in crossings] == [("wobble", 2), ("weave", -2), ("capsize", 1), ("wobble", -2)]
    assert all(30 < c.eigenvalue.imag < 60 for c in crossings if c.kind == "wobble")
    assert {"wobble", "weave", "castering", "capsize", "frame_vx neutral"} <= set(found.names)
    assert [n for n in found.names if n.startswith("weave")] == ["weave", "weave*"]
    np.testing.assert_array_equal(found.eigenvalues[:, found.names.index("frame_vx neutral")], 0.0)
    growing = (found.eigenvalues.real > 0).sum(axis=1)
    passed = [sum(c.change for c in crossings if c.value < v) for v in found.values]
    np.testing.assert_array_equal(growing - growing[0], passed)


def test_a_wobble_as_fast_as_that_of_a_motorcycle(flexible) -> None:
    """A head stiff enough for 62 rad/s, followed from the wobble of the flexible one, is still a wobble, and damped."""
    speeds = np.linspace(8, 12, 9)
    rates = []
    for stiffness in (3000.0, 6000.0, 12000.0):
        parameters = {"head_stiffness": stiffness}
        found = dr.modes(flexible, speed=speeds, states=("lean", "steer", "head_twist"), parameters=parameters)
        (wobble,) = [k for k, name in enumerate(found.names) if name == "wobble"]
        rates.append(found.eigenvalues[4, wobble])
        weave = found.eigenvalues[4, found.names.index("weave")]
        assert abs(weave.imag) < 15 < abs(rates[-1].imag)
    assert np.all(np.diff(np.abs(np.imag(rates))) > 0)
    assert abs(rates[-1].imag) == pytest.approx(62, abs=1.5)


def test_stable_beside_a_neutral_direction(flexible) -> None:
    """More damping in the head: from weave to capsize speed every mode decays but the one along the family of speeds."""
    found = dr.modes(flexible, speed=np.linspace(3, 7, 21), states=("lean", "steer"), parameters={"head_damping": 20.0})
    weave, capsize = (next(c.value for c in found.critical() if c.kind == kind) for kind in ("weave", "capsize"))
    np.testing.assert_array_equal(found.stable, (found.values > weave) & (found.values < capsize))


@pytest.mark.parametrize("states", [(), ("lean", "steer")])
def test_names_of_a_bicycle_whatever_its_states(states) -> None:
    found = dr.modes(dr.gallery.bicycle(), speed=np.linspace(0, 10, 21), states=states)
    assert found.names == ("castering", "weave", "weave*", "capsize")
    assert [c.kind for c in found.critical()] == ["oscillation begins", "weave", "capsize"]


def test_a_rider_sways() -> None:
    found = dr.modes(dr.gallery.leaning_rider(), speed=np.linspace(1, 7, 21), states=("lean", "steer"))
    assert found.names == ("castering", "rider_lean oscillation", "rider_lean oscillation*", "weave", "weave*", "capsize")


ROLES = Roles((0, 4), (1, 5), (6,), {"front_travel": (2,), "frame_pitch": (3,)})


@pytest.mark.parametrize(
    ("share", "oscillates", "name"),
    [
        ([0.2, 0.2, 0, 0, 0.2, 0.2, 0.2], True, "weave"),
        ([0.02, 0.4, 0, 0, 0.02, 0.4, 0.16], True, "wobble"),
        ([0.9, 0.1, 0, 0, 0, 0, 0], False, "capsize"),
        ([0.1, 0.4, 0, 0, 0, 0.5, 0], False, "castering"),
        ([0, 0, 0.8, 0.2, 0, 0, 0], True, "hop"),
        ([0, 0, 0.2, 0.8, 0, 0, 0], True, "pitch"),
        ([0, 0, 0.8, 0.2, 0, 0, 0], False, "front_travel decay"),
    ],
)
def test_names_by_participation(share, oscillates, name) -> None:
    assert ROLES.name(np.array(share, dtype=float), oscillates, "oscillation" if oscillates else "decay") == name


def test_participation_does_not_depend_on_units() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        a = rng.standard_normal((5, 5))
        scale = 10.0 ** rng.uniform(-4, 4, 5)
        z = np.linalg.eigvals(a)
        np.testing.assert_allclose(participation(a * scale / scale[:, None], z), participation(a, z), rtol=0, atol=1e-9)
        assert participation(a, z).sum(axis=0) == pytest.approx(1.0)


def test_vectors_of_a_repeated_eigenvalue() -> None:
    """Two equal oscillators in one state vector: each mode moves one of them, and every column is an eigenvector."""
    one = np.array([[0.0, 1.0], [-4.0, 0.0]])
    a = np.kron(np.eye(2), one)
    z = np.array([2j, 2j, -2j, -2j])
    vectors = eigenvectors(a, z)
    np.testing.assert_allclose(a @ vectors, vectors * z, atol=1e-12)
    assert np.linalg.matrix_rank(vectors) == 4
    assert (np.abs(vectors) > 1e-9).sum() == 8


def test_the_capsize_of_a_motorcycle_is_its_slow_mode() -> None:
    """Sharp's machine has a second mode of lean that does not oscillate, which decays with 21 1/s at 50 m/s."""
    found = dr.modes(dr.gallery.sharp_motorcycle(), speed=np.linspace(10, 50, 9), states=("lean", "steer"))
    named = dict(zip(found.names, found.eigenvalues[-1], strict=True))
    assert "capsize*" not in named and 0.0 < named["capsize"].real < 0.2
    assert named["weave"].imag == pytest.approx(21.28, abs=0.01) and named["wobble"].imag == pytest.approx(57.71, abs=0.01)


def test_the_wobble_of_a_fast_motorcycle() -> None:
    """Sharp's machine beyond 65 m/s: the front assembly, with three quarters of the mode, shakes at 62 rad/s."""
    found = dr.modes(dr.gallery.sharp_motorcycle(), speed=np.linspace(66, 72, 4), states=("lean", "steer"))
    rates = {name: abs(z.imag) for name, z in zip(found.names, found.eigenvalues[0], strict=True)}
    assert 60 < rates["wobble"] < 66 and 21 < rates["weave"] < 24


def test_modes_of_one_name_are_told_apart() -> None:
    """A motorcycle on two suspensions has two hops. A star is for the conjugate of a mode and nothing else."""
    speeds = np.linspace(10, 30, 5)
    found = dr.modes(dr.gallery.motorcycle(), speed=speeds, free=["drive_torque"])
    assert {"hop", "hop*", "hop 2", "hop 2*", "wobble", "weave", "capsize"} <= set(found.names)
    assert len(set(found.names)) == len(found.names) and not any("**" in name for name in found.names)
    columns = dict(zip(found.names, found.eigenvalues.T, strict=True))
    for name, values in columns.items():
        if name.endswith("*"):
            swings = values.imag != 0
            np.testing.assert_allclose(values[swings], columns[name[:-1]][swings].conj(), rtol=1e-9)
            assert swings.any()
    assert len({name.rstrip("*") for name in found.names}) == len(columns) - sum(name.endswith("*") for name in columns)
    plain = list(dict.fromkeys(name.rstrip("*") for name in found.names))
    assert [axes.get_title().partition("\n")[0] for axes in dr.view.mode_shapes(found, at=20.0).figure.axes] == plain


def test_modes_of_one_name_that_do_not_oscillate_have_numbers() -> None:
    """Two columns that are real everywhere are no pair, though both are mostly of one state."""
    x, y, s = sp.symbols("x y s")
    model = dr.first_order("chain", {x: -s * x, y: 1000 * x - 3 * y}, parameters={s: 1.0})
    assert sorted(dr.modes(model, s=np.linspace(0.5, 1.5, 5)).names) == ["y decay", "y decay 2"]


@pytest.mark.parametrize("points", [2, 3, 5, 7])
def test_few_values_are_tracked_as_well_as_many(points: int) -> None:
    """Sharp's machine from 2 to 60 m/s: what is the capsize at 60 m/s is another mode at 2 m/s than the nearest one."""
    model = dr.derive(dr.gallery.sharp_motorcycle(), work=False)
    few, many = (dr.modes(model, speed=np.linspace(2, 60, n), states=("lean", "steer")) for n in (points, 961))
    columns = [int(np.argmin(np.abs(many.eigenvalues[-1] - z))) for z in few.eigenvalues[-1]]
    np.testing.assert_allclose(few.eigenvalues, many.eigenvalues[:: 960 // (points - 1)][:, columns], rtol=0, atol=1e-6)
    assert {"weave", "wobble", "capsize"} <= set(few.names) and "weave 2" not in few.names
