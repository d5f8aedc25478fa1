"""Tangential contact laws: friction, creep, tires, against closed forms and limits."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine.expr.expression import Name, Number
from draisine.model.contact.laws import Coulomb, Creep, Rolling, ShenHedrickElkins, TangentialLaw
from draisine.model.contact.tires import LinearTire
from draisine.model.items import Coordinate, Rotate, Translate
from draisine.model.model import Model
from draisine.program.interpreter import complex_step

FINE = dr.methods.DOP853(rtol=1e-11, atol=1e-12)
G = 9.81
STEEL = ShenHedrickElkins(0.3, "2.8134 mm", "1.6745 mm", 5073.0, 8.27e10, 4.8530, 4.5548, 2.2666)


def disk(contact: TangentialLaw, share: float = 0.5, mass: float = 2.0, radius: float = 0.3) -> Model:
    """A free disc with the moment share·m R² about its axle."""
    m = Model("disk")
    axial = share * mass * radius**2
    m.body("wheel", mass=mass, inertia=(axial, axial, axial) if share < 0.5 else (axial / 2, axial, axial / 2))
    m.free("wheel")
    m.wheel("rim", "wheel", radius=radius, contact=contact)
    return m


def runner(contact: TangentialLaw, spins: bool, mass: float = 3.0) -> Model:
    """A wheel whose hub moves along x, y and z; it spins, or is locked."""
    m = Model("runner")
    m.body("wheel", mass=mass, inertia=(0.1, 0.2, 0.1))
    ways = [Coordinate(n, f"{n}_rate", "m", d, -1.0, 1.0) for n, d in (("along", 0.0), ("aside", 0.0), ("up", 0.4))]
    chain: list[Translate | Rotate] = [Translate((Name("along"), Name("aside"), Name("up")))]
    if spins:
        chain.append(Rotate("y", Name("turn")))
        ways.append(Coordinate("turn", "turn_rate", "rad"))
    m.joint("motion", "ground", "wheel", tuple(chain), tuple(ways))
    m.wheel("rim", "wheel", radius=0.4, contact=contact)
    return m


def test_a_locked_wheel_slides_to_rest_by_friction_alone() -> None:
    m = runner(Coulomb(0.6, speed=1e-6), spins=False)
    run = dr.simulate(m, 0.5, start={"along_rate": 4.0, "aside_rate": 3.0}, method=FINE)
    speed = 5.0 - 0.6 * G * run.time
    np.testing.assert_allclose(run["along_rate"], 0.8 * speed, atol=1e-9)
    np.testing.assert_allclose(run["aside_rate"], 0.6 * speed, atol=1e-9)
    np.testing.assert_allclose(run["rim_normal_force"], 3.0 * G, rtol=1e-10)
    np.testing.assert_allclose(run["rim_longitudinal_force"], -0.8 * 0.6 * 3.0 * G, rtol=1e-9)
    np.testing.assert_allclose(run["rim_lateral_force"], -0.6 * 0.6 * 3.0 * G, rtol=1e-9)
    assert run.energy_drift < 1e-9


@pytest.mark.parametrize("share", [0.4, 0.5, 1.0])
def test_a_wheel_thrown_without_spin_slides_and_then_rolls(share: float) -> None:
    """It rolls from t = v₀ k/(μ g (1 + k)) on, with v₀/(1 + k), whatever the friction."""
    mu, speed = 0.3, 2.0
    m = disk(Coulomb(mu, speed=1e-5), share)
    m.output("hub_speed", "velocity_x(wheel)", "m/s")
    rolls = speed * share / (mu * G * (1 + share))
    run = dr.simulate(
        m, 2 * rolls, start={"wheel_vx": speed, "wheel_wy": 0.0}, method=dr.methods.DOP853(rtol=1e-10, atol=1e-11), samples=201
    )
    before = run.time < 0.99 * rolls
    np.testing.assert_allclose(run["hub_speed"][before], speed - mu * G * run.time[before], atol=1e-7)
    assert abs(run["hub_speed"][-1] - speed / (1 + share)) < 1e-6
    assert abs(run["rim_slip_along"][-1]) < 1e-8
    assert abs(run["rim_slip_along"][40]) > 0.5


def test_stiff_creep_tends_to_ideal_rolling_like_one_over_its_stiffness() -> None:
    start = {"wheel_wx": 0.3, "wheel_wy": 8.0, "wheel_wz": 0.4, "wheel_x": 0.0, "wheel_y": 0.0, "wheel_qx": 0.15, "wheel_qz": 0.0}
    slips = {"wheel_vx": 2.4, "wheel_vy": 0.0}
    names = ("wheel_x", "wheel_y", "wheel_qx", "wheel_qz", "wheel_wx", "rim_normal_force", "rim_lateral_force")

    def end(contact: TangentialLaw, targets: dict[str, float]) -> np.ndarray:
        run = dr.simulate(disk(contact), 1.0, start={**start, **targets}, method=dr.methods.DOP853(rtol=1e-9, atol=1e-11))
        return np.array([float(run[name][-1]) for name in names])

    ideal = end(Rolling(), {})
    own = dr.simulate(disk(Rolling()), 0.01, start=start)
    slips = {f"wheel_v{c}": float(own[f"wheel_v{c}"][0]) for c in "xy"}
    apart = [np.abs(end(Creep(c, c), slips) - ideal) / (1 + np.abs(ideal)) for c in (2e4, 2e5)]
    assert np.all(apart[1] < 2e-3)
    assert apart[0].max() > 1e-4
    assert 8 < np.linalg.norm(apart[0]) / np.linalg.norm(apart[1]) < 12


@pytest.mark.parametrize("friction", [None, 50.0])
def test_a_tire_builds_up_its_side_force_over_the_relaxation_length(friction: float | None) -> None:
    """Drawn at a slip angle of v/V from rest of the tire: F = −C (v/V)(1 − exp(−V t/σ)); a friction far away changes little."""
    stiffness, length, forward, sideways = 500.0, 0.6, 3.0, 0.15
    m = runner(LinearTire(stiffness, length, 0.0, friction, speed=1e-9), spins=True)
    m.prescribe("pull", "along", f"{forward}*t")
    m.prescribe("drift", "aside", f"{sideways}*t")
    run = dr.simulate(m, 1.0, start={"turn_rate": forward / 0.4}, method=FINE)
    expected = -stiffness * sideways / forward * (1 - np.exp(-forward * run.time / length))
    np.testing.assert_allclose(run["rim_lateral_force"], expected, atol=1e-8 if friction is None else 0.15)
    np.testing.assert_allclose(run["drift_multiplier"], -run["rim_lateral_force"], atol=1e-8)
    assert run["rim_lateral_force"][-1] < -24.0
    assert run.energy_drift < 1e-8


@pytest.mark.parametrize(
    "contact",
    [Coulomb(0.5), Creep(3e4, 2e4, friction=0.5), LinearTire(3e3, 0.2, friction=0.5), STEEL],
    ids=["coulomb", "creep", "tire", "steel"],
)
def test_forces_stay_within_the_cone_and_work_against_slip(contact: TangentialLaw) -> None:
    friction = 0.3 if contact is STEEL else 0.5
    start = {"wheel_vx": 3.0, "wheel_vy": 1.0, "wheel_wy": 2.0, "wheel_wz": 1.0, "wheel_qx": 0.2}
    run = dr.simulate(disk(contact), 0.4, start=start, method=dr.methods.DOP853(rtol=1e-8, atol=1e-9))
    assert run.status.complete
    normal, along, across = (run[f"rim_{n}_force"] for n in ("normal", "longitudinal", "lateral"))
    used = np.hypot(along, across) / normal
    assert normal.min() > 1.0
    assert used.max() <= friction * (1 + 1e-12)
    assert used.max() > 0.9 * friction  # it does slide
    assert run.energy_drift < 1e-7
    if contact is not STEEL and not contact.relaxes:  # spin creep pushes by itself, and a tire gives back what it has stored
        assert (along * run["rim_slip_along"] + across * run["rim_slip_across"]).max() <= 1e-12


def test_creep_of_steel_is_that_of_the_chapter() -> None:
    """Source D, 5.6, typed again, at an upright wheel that creeps forward, aside and about the normal."""
    run = dr.simulate(
        disk(STEEL, mass=1000.0, radius=0.5),
        1e-4,
        start={"wheel_vx": 20.0, "wheel_vy": 0.02, "wheel_wy": 20.0 / 0.5 * 1.001, "wheel_wz": 0.5, "wheel_qx": 0.0},
    )
    normal = float(run["rim_normal_force"][0])
    speed = 20.0
    longitudinal, lateral, spin = (20.0 - 20.0 * 1.001) / speed, 0.02 / speed, 0.5 / speed
    grown = (normal / 5073.0) ** (1 / 3)
    a, b = 2.8134e-3 * grown, 1.6745e-3 * grown
    first = -a * b * 8.27e10 * 4.8530 * longitudinal
    second = -a * b * 8.27e10 * (4.5548 * lateral + math.sqrt(a * b) * 2.2666 * spin)
    size = math.hypot(first, second)
    u = size / (0.3 * normal)
    assert 0.3 < u < 3
    share = 0.3 * normal * (u - u**2 / 3 + u**3 / 27) / size
    assert abs(run["rim_longitudinal_force"][0] - share * first) < 1e-5 * size
    assert abs(run["rim_lateral_force"][0] - share * second) < 1e-5 * size


@pytest.mark.parametrize("contact", [Coulomb(0.5), Creep(3e4, 2e4, friction=0.5), STEEL], ids=["coulomb", "creep", "steel"])
def test_derivatives_are_exact_also_where_nothing_slips(contact: TangentialLaw) -> None:
    e = dr.derive(disk(contact))
    exact = e.dynamics.jacobian("xdot", "x")
    compiled = dr.codegen.compile(exact)
    names = [s.name for s in e.states]
    for slipping in ({}, {"wheel_vx": 1.0, "wheel_vy": 0.2, "wheel_wy": 3.0, "wheel_wz": 0.5, "wheel_qx": 0.1}):
        x = np.zeros(len(names))
        x[[2, 3]] = 0.3, 1.0
        for name, value in slipping.items():
            x[names.index(name)] = value
        arguments = ([0.0], x, [], e.default_parameters)
        found = exact(*arguments)[0]
        assert np.isfinite(found).all()
        other = complex_step(e.dynamics, "xdot", "x", arguments)
        np.testing.assert_allclose(found, other, atol=1e-7 * np.abs(found).max())
        np.testing.assert_allclose(compiled(*arguments)[0], found, atol=1e-9 * np.abs(found).max())


def test_the_derivations_agree_on_forces_that_depend_on_multipliers() -> None:
    certificate = dr.certify(disk(Creep(50.0, 40.0, friction=0.5)))
    assert certificate.passed, certificate


def test_a_wheel_slips_on_waves_too() -> None:
    """Stiff creep on curved ground is near rolling there; the energy balance counts what creep takes."""
    ends = []
    for contact in (Rolling(), Creep(1e5, 1e5, friction=5.0)):
        m = disk(contact)
        m.ground(height="0.03*sin(4*x)")
        targets = {"wheel_wy": 6.0, "wheel_wx": 0.0, "wheel_wz": 0.3, "wheel_x": 0.0, "wheel_y": 0.0, "wheel_qx": 0.1}
        if ends:
            targets |= {f"wheel_v{c}": float(run[f"wheel_v{c}"][0]) for c in "xy"}  # noqa: F821
        run = dr.simulate(m, 0.5, start=targets, method=dr.methods.DOP853(rtol=1e-9, atol=1e-10))
        assert run.energy_drift < 1e-8
        ends.append([float(run[n][-1]) for n in ("wheel_x", "wheel_y", "wheel_wy", "wheel_qx")])
    np.testing.assert_allclose(ends[1], ends[0], atol=2e-3)


def test_what_cannot_be_is_refused_by_name() -> None:
    m = Model("cart")
    m.body("cart", mass=1.0, inertia=(1, 1, 1))
    m.planar("cart")
    m.body("wheel", mass=1.0, inertia=(0.1, 0.2, 0.1))
    m.revolute("spin", "cart", "wheel", axis="y", at=(0, 0, 0.3))
    m.wheel("rim", "wheel", radius=0.3, contact=Coulomb(0.5))
    with pytest.raises(dr.errors.ModelError, match="wheel 'rim': its joints fix its height"):
        dr.derive(m)
    with pytest.raises(dr.errors.ModelError, match=r"forces depend on the multipliers of rim_normal.*formulation=Augmented"):
        dr.derive(disk(Coulomb(0.5)), formulation=dr.formulations.Reduced())
    with pytest.raises(dr.errors.ModelError, match="relaxation of the contact of wheel 'rim' is 0; it must be positive"):
        disk(LinearTire(1e3, 0.0)).freeze()
    with pytest.raises(dr.errors.ModelError, match="contact must be a contact law"):
        disk(0.5)  # type: ignore[arg-type]
    assert Coulomb(0.5).friction == Number(0.5)


def test_a_cart_on_a_belt_creeps_without_knowing_its_load() -> None:
    """Held at its height by joints; a linear law needs no normal force. Drawn along by a belt: m v̇ = −C (v − V)/|v − V|."""
    m = Model("cart")
    m.body("cart", mass=2.0, center_of_mass=(0, 0, 0.3))
    m.prismatic("way", "ground", "cart", axis="x")
    m.wheel("rim", "cart", radius=0.3, center=(0, 0, 0.3), contact=Creep(4.0, 4.0, speed=10.0))
    m.ground(velocity=(1.5, 0.0))
    run = dr.simulate(m, 2.0, method=FINE)
    # slip s = v − 1.5: ṡ = −(C/m) s/√(s² + 100), by quadrature of the time it takes
    slip = run["way_rate"] - 1.5
    time = [np.trapezoid(np.sqrt(s**2 + 100) / (2.0 * s), s) for s in (np.linspace(slip[0], end, 20001) for end in slip[1:])]
    np.testing.assert_allclose(-np.array(time), run.time[1:], atol=1e-7)
    np.testing.assert_allclose(run["rim_slip_along"], slip, atol=1e-12)


@pytest.mark.parametrize("power", [1, 2])
def test_generalized_forces_may_name_the_multiplier_of_a_constraint(power: int) -> None:
    """A slider on a guide that holds it up: friction μ N, or one that grows as N²; N = m g."""
    m = Model("slider")
    m.body("block", mass=2.0)
    ways = (Coordinate("along", "along_rate", "m"), Coordinate("up", "up_rate", "m"))
    m.joint("motion", "ground", "block", (Translate((Name("along"), Number(0.0), Name("up"))),), ways)
    m.prescribe("guide", "up", 0.0)
    load = "*".join(["guide_multiplier"] * power)
    m.generalized_force("along", f"-0.1*{load}*tanh(along_rate/1e-6)")
    equations = dr.derive(m)
    assert equations.dynamics.iterates == (power == 2)
    run = dr.simulate(m, 0.1, start={"along_rate": 5.0}, method=FINE)
    np.testing.assert_allclose(run["along_rate"], 5.0 - 0.05 * (2.0 * G) ** power * run.time, atol=1e-9)
    np.testing.assert_allclose(run["guide_multiplier"], 2.0 * G, rtol=1e-10)
    assert run.energy_drift < 1e-9
