"""A free rod that lands on its ends: its impacts against a path of the impulse by SciPy, its energy and its gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from impact_in_space import compliance_of_point, impact
from scipy.spatial.transform import Rotation

import draisine as dr
from draisine.simulation.stepper import contact_impact
from draisine.simulation.stepper.contact_layout import FOUND, UNENDED, ContactModes

ENDS = {"left": -0.5, "right": 0.5}
NAMES = [f"rod_{name}" for name in ("qw", "qx", "qy", "qz", "x", "y", "z", "vx", "vy", "vz", "wx", "wy", "wz")]


def rod(law: str = "energetic") -> dr.Model:
    """Of 1 kg and 1 m, uniform; thin by its axial moment of inertia."""
    m = dr.Model("rod")
    m.gravity(9.81)
    mu, e, axial = m.parameter("mu", 0.4), m.parameter("e", 0.2), m.parameter("axial", 1e-3, "kg*m^2")
    body = m.body("rod", mass=1.0, inertia=(axial, 1 / 12, 1 / 12))
    m.free(body)
    for name, at in ENDS.items():
        m.contact(name, m.point(f"{name}_end", body, (at, 0, 0)), friction=mu, restitution=e, impact=law)
    return m


def state(turn: Rotation, height: float, velocity: Any, spin: Any) -> dict[str, float]:
    """The start of a rod whose lower end is at a height."""
    x, y, z, w = turn.as_quat()
    up = height + 0.5 * abs(turn.as_matrix()[2, 0])
    values = (w, x, y, z, 0.0, 0.0, up, *turn.inv().apply(velocity), *spin)
    return dict(zip(NAMES, map(float, values), strict=True))


@pytest.mark.parametrize("law", ["energetic", "poisson", "newton"])
@pytest.mark.parametrize("seed", range(40))
def test_impact_of_an_end(seed: int, law: str) -> None:
    """Slip that turns, stops, reverses or goes on after it has stopped; also of elastic impacts."""
    rng = np.random.default_rng(seed)
    turn, spin = Rotation.random(random_state=seed), rng.uniform(-8, 8, 3)
    inertia = (float(10 ** rng.uniform(-8, -2)), 1 / 12, 1 / 12)
    mu, e = float(rng.uniform(0.05, 0.9)), float((0.0, 0.2, 0.8, 1.0, rng.uniform())[seed % 5])
    end = "left" if turn.as_matrix()[2, 0] > 0 else "right"
    arm = turn.apply((ENDS[end], 0, 0))
    at_end = rng.uniform(-2, 2, 3) * (1, 1, 0) - (0, 0, rng.uniform(0.2, 3))
    velocity = at_end - np.cross(turn.apply(spin), arm)
    inertia_in_space = turn.as_matrix() @ np.diag(inertia) @ turn.as_matrix().T
    expected = impact(compliance_of_point(1.0, inertia_in_space, arm), at_end, mu, e, law)
    run = dr.simulate(rod(law), 1e-7, start=state(turn, 0.0, velocity, spin), parameters={"mu": mu, "e": e, "axial": inertia[0]})
    assert run.status.kind == "FINISHED", run.status
    normal, along, across = run.modes[0].impulse[end]
    assert (along, across, normal) == pytest.approx(tuple(expected), rel=1e-8, abs=1e-8 * expected[2])


@pytest.mark.parametrize("seed", range(20))
def test_impact_of_both_ends(seed: int) -> None:
    """Both normal velocities are returned, and impulses of friction are those of Coulomb's law with the slips at the end, though
    the rows along the rod are dependent."""
    rng = np.random.default_rng(seed)
    turn = Rotation.from_euler("z", rng.uniform(-3, 3))
    velocity, spin = rng.uniform(-2, 2, 3) * (1, 1, 0) - (0, 0, 2), rng.uniform(-4, 4, 3) * (1, 1, 1)
    mu, e, axial = float(rng.uniform(0.05, 0.9)), (0.0, 0.2, 0.8)[seed % 3], float(10 ** rng.uniform(-6, -2))
    arms = {end: turn.apply((at, 0, 0)) for end, at in ENDS.items()}
    before = {end: velocity + np.cross(turn.apply(spin), arm) for end, arm in arms.items()}
    run = dr.simulate(rod(), 1e-7, start=state(turn, 0.0, velocity, spin), parameters={"mu": mu, "e": e, "axial": axial})
    assert run.status.kind == "FINISHED", run.status
    assert max(v[2] for v in before.values()) < 0
    impulses = {end: np.array(run.modes[0].impulse[end])[[1, 2, 0]] for end in ENDS}
    turned = sum(np.cross(arm, impulses[end]) for end, arm in arms.items())
    inertia = turn.as_matrix() @ np.diag((axial, 1 / 12, 1 / 12)) @ turn.as_matrix().T
    for end, arm in arms.items():
        after = before[end] + sum(impulses.values()) + np.cross(np.linalg.solve(inertia, turned), arm)
        along, normal, slip = impulses[end][:2], impulses[end][2], np.hypot(*after[:2])
        assert normal > 0 and after[2] == pytest.approx(-e * before[end][2], abs=1e-9)
        assert np.hypot(*along) <= mu * normal * (1 + 1e-7)
        assert slip < 1e-8 or along == pytest.approx(-mu * normal * after[:2] / slip, abs=1e-6 * normal)


def fall(seed: int, e: float, flat: bool) -> tuple[dict[str, float], dict[str, float]]:
    """A random start in the air, level and without spin about a horizontal axis if `flat`; and parameters."""
    rng = np.random.default_rng(seed)
    turn, spin = Rotation.random(random_state=seed), rng.uniform(-5, 5, 3)
    if flat:
        turn, spin = Rotation.from_euler("z", rng.uniform(-3, 3)), spin * (0, 0, 1)
    start = state(turn, float(rng.uniform(0.05, 1.0)), rng.uniform(-2, 2, 3), spin)
    return start, {"e": e, "axial": float(10 ** rng.uniform(-6, -2))}


@pytest.mark.parametrize("flat", [False, True], ids=["one end", "both ends"])
@pytest.mark.parametrize("e", [0.0, 0.2, 0.8])
@pytest.mark.parametrize("seed", range(10))
def test_rod_falls(seed: int, e: float, flat: bool) -> None:
    """Runs through all their landings: no impact gains energy, no end is below the ground."""
    start, parameters = fall(seed, e, flat)
    for method in (dr.methods.Auto(), dr.methods.DOP853()):
        run = dr.simulate(rod(), 1.0, start=start, parameters=parameters, method=method)
        assert run.status.kind == "FINISHED", run.status
        impacts = [change for change in run.modes if change.impulse]
        assert impacts and min(change.lost for change in impacts) > -1e-9
        assert (set(impacts[0].impulse) == set(ENDS)) == flat
        w, x, y, z = (run[name] for name in NAMES[:4])
        for at in ENDS.values():
            assert np.min(run["rod_z"] + at * 2 * (x * z - w * y)) > -1e-7
        speeds = sum(run[f"rod_v{a}"] ** 2 for a in "xyz") + (run["rod_wy"] ** 2 + run["rod_wz"] ** 2) / 12
        energy = 0.5 * (speeds + parameters["axial"] * run["rod_wx"] ** 2) + 9.81 * run["rod_z"]
        assert np.max(np.diff(energy)) < 1e-6 * energy[0]


@pytest.mark.parametrize("ends", [1, 2])
def test_rod_without_axial_inertia(ends: int) -> None:
    """Nothing resists its spin about itself: the status says what is missing, whether rows of contacts are dependent or not."""
    m = dr.Model("line")
    m.gravity(9.81)
    body = m.body("rod", mass=1.0, inertia=(0.0, 1 / 12, 1 / 12))
    m.free(body)
    for name, at in list(ENDS.items())[:ends]:
        m.contact(name, m.point(f"{name}_end", body, (at, 0, 0)), friction=0.4, restitution=0.2)
    status = dr.simulate(m, 0.1, start=state(Rotation.identity(), 1.0, (0, 0, 0), (0, 0, 0))).status
    assert status.kind == "SINGULAR" and "moments of inertia about all axes" in str(status)


def test_path_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that is given up says so: that it was not followed to its end does not show that there is none."""
    c = ContactModes()
    c.contacts, c.rows = 1, 3
    c.allocate(
        {"normal": (1,), "tangential": (1,), "ways": (1,), "law": (1,), "coefficient": (3,), "impulse": (3,), "speed": (3,)}
    )
    c.allocate({"delassus": (3, 3), "path_rate": (4, 7), "path_force": (2,)})
    c.allocate({name: (7,) for name in ("path", "path_new", "path_point")})
    c.tangential[:], c.ways[:], c.coefficient[:] = 1, 2, 0.4
    c.speed[:], c.delassus[:] = (-1.0, 0.5, 0.3), [[2.0, 0.5, 0.1], [0.5, 3.0, 0.2], [0.1, 0.2, 1.5]]
    assert contact_impact.impact_on_one(c, 0, 0.2) == FOUND
    assert c.impulse[[1, 2, 0]] == pytest.approx(
        impact(c.delassus[[1, 2, 0]][:, [1, 2, 0]], np.array([0.5, 0.3, -1.0]), 0.4, 0.2, "energetic")
    )
    monkeypatch.setattr(contact_impact, "MOST_PARTS", 5)
    assert contact_impact.impact_on_one(c, 0, 0.2) == UNENDED
