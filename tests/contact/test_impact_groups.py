"""Impacts beside bodies that rest, and contacts that touch without force, against closed forms."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import draisine as dr

CASES = json.loads((Path(__file__).parents[1] / "reference" / "contact.json").read_text(encoding="utf-8"))["cases"]
PATHS = next(case["numbers"] for case in CASES if "Routh path, Stronge" in case.get("numbers", {}))
NAMES = {"energetic": "Routh path, Stronge", "poisson": "Routh path, Poisson", "newton": "Routh path, Newton"}


def add_rod(m: dr.Model, name: str, law: str) -> dict[str, float]:
    """A slender rod in the vertical plane whose lower end hits the ground; its start."""
    first, second = m.body(f"{name}_first", mass=0.0), m.body(f"{name}_second", mass=0.0)
    body = m.body(name, mass=1.0, center_of_mass=(0, 0, 0.5), inertia=(1 / 12, 1 / 12, 1e-9))
    m.prismatic(f"{name}_x", "ground", first, axis="x")
    m.prismatic(f"{name}_z", first, second, axis="z")
    m.revolute(f"{name}_turn", second, body, axis="y")
    m.contact(f"{name}_end", body, friction=0.3, restitution=0.5, impact=law)
    lean = {f"{name}_z": 0.0, f"{name}_turn": np.pi / 6}
    return {**lean, f"{name}_x_rate": 0.5, f"{name}_z_rate": -1.0, f"{name}_turn_rate": 0.0}


def masses(*names: str) -> dr.Model:
    m = dr.Model("masses")
    m.gravity(0)
    for name in names:
        m.prismatic(name, "ground", m.body(f"body_{name}", mass=1.0), axis="x")
    return m


@pytest.mark.parametrize("law", list(NAMES))
def test_rod_beside_a_block_that_rests(law: str) -> None:
    """The impact of a rod is the same alone, beside a block that rests, and beside another rod that hits the ground."""
    m = dr.Model("rods")
    m.gravity(9.81)
    start = add_rod(m, "rod", law)
    start |= add_rod(m, "other", "newton")
    m.prismatic("height", "ground", m.body("block", mass=1.0), axis="z")
    m.contact("rest", "block", friction=0.5, restitution=0.3)
    run = dr.simulate(m, 1e-6, start={**start, "height": 0.0, "height_rate": 0.0})
    change = run.modes[0]
    found, other = PATHS[NAMES[law]], PATHS[NAMES["newton"]]
    assert change.impulse["rod_end"][:2] == pytest.approx((found["Pn"], found["Pt"]), rel=1e-12)
    assert change.impulse["other_end"][:2] == pytest.approx((other["Pn"], other["Pt"]), rel=1e-12)
    assert "rest" not in change.impulse and change.modes["rest"] != "open"
    left = found["kinetic_energy_after"] + other["kinetic_energy_after"]
    assert change.lost == pytest.approx(1.25 - left, rel=1e-11)


@pytest.mark.parametrize("speed", [1.0, 0.9, 0.7, 0.3])
def test_wagons_stay_together(speed: float) -> None:
    """Two wagons with an inelastic buffer go on together, without a force between them."""
    m = masses("a", "b")
    m.stop("buffer", "b - a", low=1, unit="m")
    run = dr.simulate(m, 500.0, start={"a": 0, "b": 2, "a_rate": speed, "b_rate": 0})
    assert run.status.kind == "FINISHED" and len(run.modes) == 2
    assert run["b"][-1] == pytest.approx(2 + speed / 2 * (500.0 - 1 / speed), rel=1e-12)
    assert run["b"][-1] - run["a"][-1] == pytest.approx(1.0, abs=1e-11)


@pytest.mark.parametrize("push", [0.2, -0.2])
def test_wagons_are_pushed_later(push: float) -> None:
    """A force on the rear wagon from t = 5 on pushes both, or parts them."""
    m = masses("a", "b")
    m.stop("buffer", "b - a", low=1, unit="m")
    m.generalized_force("a", f"where(t < 5, 0, {push})")
    run = dr.simulate(m, 9.0, start={"a": 0, "b": 2, "a_rate": 0.9, "b_rate": 0})
    together = 2 + 0.45 * (9.0 - 1 / 0.9)
    moved = 0.5 * push * 4.0**2
    assert run["b"][-1] == pytest.approx(together + (moved / 2 if push > 0 else 0.0), rel=1e-9)
    assert run["a"][-1] == pytest.approx(together - 1 + (moved / 2 if push > 0 else moved), rel=1e-9)


@pytest.mark.parametrize(("low", "end", "found"), [("t", 2.0, 2.0), ("1 - cos(t)", 3.0, 4.0 - np.pi / 2)])
def test_driven_stop_pushes_a_free_mass(low: str, end: float, found: float) -> None:
    """At constant speed it stays with the stop; it leaves an oscillating one at its highest speed."""
    m = masses("x")
    m.stop("pusher", "x", low=low, unit="m")
    run = dr.simulate(m, end, start={"x": 0.5})
    assert run.status.kind == "FINISHED"
    assert run["x"][-1] == pytest.approx(found, rel=1e-7)


def test_chain_of_wagons() -> None:
    """Each of four wagons that are hit one after the other shares the momentum: 1, 1/2, 1/3, 1/4."""
    m = masses("a", "b", "c", "d")
    for rear, front in ("ab", "bc", "cd"):
        m.stop(f"buffer_{rear}", f"{front} - {rear}", low=1, unit="m")
    start = {"a": 0.0, "b": 2.0, "c": 4.0, "d": 6.0, "a_rate": 1.0, "b_rate": 0.0, "c_rate": 0.0, "d_rate": 0.0}
    run = dr.simulate(m, 20.0, start=start)
    assert run.status.kind == "FINISHED"
    assert run["d"][-1] == pytest.approx(6 + (20 - 1 - 2 - 3) / 4, rel=1e-10)
    assert run["a"][-1] == pytest.approx(run["d"][-1] - 3, rel=1e-10)


@pytest.mark.parametrize("tolerance", [1e-6, 1e-8, 1e-11])
@pytest.mark.parametrize("mu", [0.0, 0.3, 2.0])
def test_ball_stays_at_a_wall(mu: float, tolerance: float) -> None:
    """Without gravity, after an inelastic impact, it slips or rolls along the wall without a force: 0.3 N·s across, and along the
    slip of √1.04 m/s at most μ times that; 2/7 of it ends the slip. Slips that begin have velocities of 300 tolerances."""
    m = dr.Model("ball")
    m.gravity(0)
    body = m.body("b", mass=1.0, inertia=(0.1,) * 3)
    m.free(body)
    m.contact("wall", body, radius=0.5, friction=mu)
    start = {"b_z": 1.0, "b_vx": 1.0, "b_vy": 0.2, "b_vz": -0.3, "b_wx": 0.0, "b_wy": 0.0, "b_wz": 0.0}
    run = dr.simulate(m, 30.0, start=start, method=dr.methods.DOP853(rtol=tolerance, atol=tolerance))
    hit, slip = 0.5 / 0.3, np.sqrt(1.04)
    left = 1.0 - min(0.3 * mu, slip / 3.5) / slip
    assert run.status.kind == "FINISHED"
    assert run["b_x"][-1] == pytest.approx(hit + left * (30.0 - hit), rel=100 * tolerance)
    assert run["b_y"][-1] == pytest.approx(0.2 * run["b_x"][-1], rel=100 * tolerance)
    assert run["b_z"][-1] == pytest.approx(0.5, abs=100 * tolerance)


@pytest.mark.parametrize("seed", range(16))
def test_balls_stay_at_walls(seed: int) -> None:
    """The same of random balls, with random tolerances and methods: errors of integration make a ball part from the wall, or
    approach it, and neither is a bounce."""
    rng = np.random.default_rng(seed)
    tolerance, mass, radius, share = (
        10.0 ** rng.uniform(-11.0, -4.5),
        10.0 ** rng.uniform(-1, 1),
        rng.uniform(0.05, 1),
        rng.uniform(0.1, 0.6),
    )
    mu, distance = float(rng.choice([0.0, rng.uniform(0.05, 4.0)])), rng.uniform(0.1, 1.0)
    m = dr.Model("ball")
    m.gravity(0)
    body = m.body("b", mass=mass, inertia=(share * mass * radius**2,) * 3)
    m.free(body)
    m.contact("wall", body, radius=radius, friction=mu)
    vx, vy, vz = rng.normal(), rng.normal(), -rng.uniform(0.1, 1.0)
    start = {"b_z": radius + distance, "b_vx": vx, "b_vy": vy, "b_vz": vz, "b_wx": 0.0, "b_wy": 0.0, "b_wz": 0.0}
    method = (dr.methods.DOP853, dr.methods.Auto)[seed % 2](rtol=tolerance, atol=tolerance)
    run = dr.simulate(m, 30.0, start=start, method=method, samples=2)
    assert run.status.kind == "FINISHED", run.status
    slip, hit = np.hypot(vx, vy), distance / -vz
    left = 1.0 - min(-vz * mu, slip / (1.0 + 1.0 / share)) / slip
    assert run["b_x"][-1] == pytest.approx(vx * (hit + left * (30.0 - hit)), rel=100 * tolerance)
    assert run["b_z"][-1] == pytest.approx(radius, abs=100 * tolerance)


@pytest.mark.parametrize("seed", range(4))
def test_nothing_presses_a_ball_at_a_wall(seed: int) -> None:
    """The same with random numbers: forces that are rounding errors let no slip begin, whose direction would be that of errors,
    and which stages of steps drive. So errors are those of flight, far below what slips that begin have of their own."""
    rng, tolerance = np.random.default_rng(seed), 1e-11
    m = dr.Model("ball")
    m.gravity(0)
    body = m.body("b", mass=1.0, inertia=(0.1,) * 3)
    m.free(body)
    m.contact("wall", body, radius=0.5, friction=(mu := float(rng.uniform(2.0, 4.0))))
    vx, vy, vz = rng.uniform(0.5, 1.2), rng.uniform(-0.3, 0.3), rng.uniform(-0.4, -0.2)
    start = {"b_z": 1.0, "b_vx": vx, "b_vy": vy, "b_vz": vz, "b_wx": 0.0, "b_wy": 0.0, "b_wz": 0.0}
    run = dr.simulate(m, 30.0, start=start, method=dr.methods.DOP853(rtol=tolerance, atol=tolerance), samples=2)
    left = 1.0 - min(-vz * mu, np.hypot(vx, vy) / 3.5) / np.hypot(vx, vy)
    assert run.status.kind == "FINISHED"
    assert all(change.modes["wall"] != "slip" for change in run.modes)
    assert run["b_x"][-1] == pytest.approx(vx * (0.5 / -vz + left * (30.0 - 0.5 / -vz)), rel=10 * tolerance)


def test_impacts_that_gain_energy_are_named():
    """A rod that strikes the ground with friction: Newton's law gains energy, the energetic one does not (Kane's paradox)."""

    def struck(law):
        m = dr.Model("rod")
        m.gravity(9.81)
        m.prismatic("x", "ground", m.body("first", mass=0), axis="x")
        m.prismatic("z", "first", m.body("second", mass=0), axis="z")
        rod = m.body("rod", mass=1, center_of_mass=(0, 0, 0.5), inertia=(1 / 12, 1 / 12, 1e-6))
        m.revolute("lean", "second", rod, axis="y")
        m.contact("end", rod, friction=0.82, restitution=0.94, impact=law)
        start = {"z": 0, "lean": np.radians(30), "x_rate": 0.5, "z_rate": -1, "lean_rate": 0}
        return dr.simulate(m, 1e-6, start=start)

    for law in ("energetic", "newton", "poisson"):
        run = struck(law)
        gains = run.modes[0].lost < 0
        assert gains == any("gain" in warning for warning in run.status.warnings), (law, run.status)
        assert not (gains and law == "energetic")
    assert struck("newton").modes[0].lost < -0.01


def test_balls_that_collide_in_turn_do_not_creep_into_each_other() -> None:
    """Without gravity, five balls of which three are struck together again and again."""
    m = dr.Model("row")
    m.gravity(0)
    masses, returned = (1.246, 2.536, 0.73, 2.0, 2.321), (0.188, 0.055, 0.275, 0.657)
    start = {}
    places, rates = (0.0, 0.2, 0.435, 0.635, 0.927), (0.127, 0.188, 0.411, 2.057, -1.729)
    for i, mass in enumerate(masses):
        m.prismatic(f"x_{i}", "ground", m.body(f"ball_{i}", mass=mass), axis="x")
        start |= {f"x_{i}": places[i], f"x_{i}_rate": rates[i]}
    for i, e in enumerate(returned):
        m.contact(f"pair_{i}", f"ball_{i}", radius=0.1, on=f"ball_{i + 1}", on_radius=0.1, restitution=e)
    run = dr.simulate(m, 1.0, start=start)
    assert len(run.modes.impacts) > 20
    # a contact on which nothing presses lands when it is below by a part of the tolerance, which impacts do not add up
    assert min(run[f"pair_{i}_gap"].min() for i in range(4)) > -1e-9


# the first three penetrate by more where contacts land below the other surface by the tolerance itself
@pytest.mark.parametrize("seed", [17, 20, 59, *range(3)])
def test_random_rows_of_balls_do_not_penetrate(seed: int) -> None:
    """Without gravity, at default tolerances; momentum stays, and energy does not grow."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 6))
    weights, places, rates = rng.uniform(0.5, 3, n), np.cumsum(rng.uniform(0.2, 0.35, n)), rng.uniform(-2, 2, n)
    m = dr.Model("row")
    m.gravity(0)
    start = {}
    for i in range(n):
        m.prismatic(f"x_{i}", "ground", m.body(f"ball_{i}", mass=float(weights[i])), axis="x")
        start |= {f"x_{i}": float(places[i]), f"x_{i}_rate": float(rates[i])}
    for i in range(n - 1):
        back = float(rng.uniform(0, 0.8))
        m.contact(f"pair_{i}", f"ball_{i}", radius=0.1, on=f"ball_{i + 1}", on_radius=0.1, restitution=back)
    run = dr.simulate(m, 2.0, start=start)
    assert run.status.kind == "FINISHED"
    assert min(run[f"pair_{i}_gap"].min() for i in range(n - 1)) > -1e-9
    final = np.array([run[f"x_{i}_rate"][-1] for i in range(n)])
    assert weights @ final == pytest.approx(weights @ rates, abs=1e-12)
    assert weights @ final**2 <= weights @ rates**2 * (1 + 1e-12)
