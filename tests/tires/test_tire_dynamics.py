"""Tires on machines: vertical stiffness and lift-off, slip, rest and reverse, verbs, files, derivatives."""

from __future__ import annotations

import warnings
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from tests.tires.test_magic_formula import CAR

import draisine as dr
from draisine.codegen.jit.kernel import compile_hoisted
from draisine.dynamics.input_laws import with_laws
from draisine.expr.parser import parse
from draisine.model.contact.magic_formula import MagicFormula
from draisine.model.contact.tires import BrushTire, LinearTire, Tire, TireState, softplus
from draisine.model.files import from_toml, to_toml
from draisine.program.interpreter import complex_step
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.serialization import from_bytes, to_bytes
from draisine.program.switching import find_switching
from draisine.simulation.contact_margins import constrained_contacts

G = 9.81
STIFF = {"VERTICAL_STIFFNESS": 2e5, "LONGITUDINAL_STIFFNESS": 4e5, "LATERAL_STIFFNESS": 1.5e5}
MOMENTS = {"QSX1": 0.001, "QSX2": 0.3, "QSX3": 0.05, "QSY1": 0.01, "QSY3": 0.002}
ROLLS = {"BREFF": 8.0, "DREFF": 0.25, "FREFF": 0.01}
TIRE = MagicFormula("6.1", CAR | STIFF | MOMENTS | ROLLS)
BRUSH = BrushTire(60e3, 0.9, 0.06, 4000.0, relaxation=0.3, camber=2e3, stiffness=2e5)


def wheel(tire: Tire, mass: float = 400.0, tube: float = 0.0) -> dr.Model:
    """A free body on one wheel that spins in it."""
    m = dr.Model("unicycle")
    m.body("hull", mass, inertia=(20.0, 20.0, 20.0))
    m.body("rotor", 20.0, inertia=(0.5, 1.0, 0.5))
    m.free("hull", at=(0, 0, 0.313))
    m.revolute("angle", "hull", "rotor", axis="y", rate="spin")
    m.wheel("tire", "rotor", 0.313 - tube, tube, contact=tire)
    m.output("lean", "lean(hull)", "rad")
    return m


def four_wheels(tire: Tire) -> dr.Model:
    """A car without suspension on four tires; the front wheels are steered by a parameter, and braked or driven by inputs."""
    m = dr.Model("kart")
    m.parameter("steer", 0.0, "rad")
    m.body("hull", 800.0, (0, 0, 0.5), (200.0, 900.0, 1000.0))
    m.free("hull")
    for name, x, y in (("fl", 1.2, 0.7), ("fr", 1.2, -0.7), ("rl", -1.2, 0.7), ("rr", -1.2, -0.7)):
        m.body(name, 20.0, inertia=(0.6, 1.0, 0.6))
        turned = [("z", "steer")] if name[0] == "f" else []
        m.revolute(f"{name}_angle", "hull", name, axis="y", at=(x, y, 0.313), orientation=turned, rate=f"{name}_spin")
        m.generalized_force(f"{name}_angle", m.input(f"{name}_torque", "N*m"))
        m.wheel(f"{name}_tire", name, 0.313, contact=tire)
    m.output("speed", "body_velocity_x(hull)", "m/s")
    m.output("yaw_rate", "rate_z(hull)", "rad/s")
    return m


def test_a_tire_sags_and_bounces_as_a_spring() -> None:
    """Deflection m g/k, and √(k/m) of the bounce."""
    equations = dr.derive(wheel(LinearTire(5e4, 0.3, stiffness=2e5)), work=False)
    stands = dr.steady(equations, {"hull_vx": 10.0, "lean": 0.0}, near={"hull_vx": 10.0, "hull_z": 0.3})
    assert stands["tire_deflection"] == pytest.approx(420.0 * G / 2e5, rel=1e-12)
    assert stands["tire_normal_force"] == pytest.approx(420.0 * G, rel=1e-12)
    found = np.linalg.eigvals(stands.linearize().A)
    assert np.abs(found - 1j * np.sqrt(2e5 / 420.0)).min() < 1e-7


def test_a_wheel_leaves_the_ground_and_lands() -> None:
    """Dropped from a height it comes back to it, in the time of two falls and of the contact; nothing restarts."""
    equations = dr.derive(wheel(LinearTire(0.0, None, 0.0, stiffness=2e5)))
    assert equations.dynamics.can_switch is False
    height, omega = 0.1, np.sqrt(2e5 / 420.0)
    fall = np.sqrt(2 * height / G)
    touch = fall * G
    contact = 2 * (np.pi - np.arctan(touch * omega / G)) / omega  # of x'' = g − ω² x from x = 0 with the speed of the fall
    run = dr.simulate(equations, 2 * fall + contact, start={"hull_z": 0.313 + height, "hull_vz": 0.0, "spin": 0.0}, samples=401)
    assert run.status.complete
    assert run["hull_z"][-1] == pytest.approx(0.313 + height, abs=2e-4)
    assert abs(run["hull_vz"][-1]) < 5e-3
    in_air = run["hull_z"] > 0.313 + 0.01
    assert in_air.any() and run["tire_normal_force"][in_air].max() < 1e-15
    assert run["tire_normal_force"].min() >= 0.0


@pytest.mark.parametrize("damping", [None, 100.0])
def test_a_large_deflection_is_that_of_the_spring(damping: float | None) -> None:
    """Stiffness × deflection up to the rim, and the deflection of a hard landing by energy; no exponential overflows."""
    m = dr.Model("hop")
    m.body("block", 10.0, inertia=(1, 1, 1))
    m.prismatic("hop", "ground", "block", axis="z", at=(0, 0, 0.3))
    m.wheel("tire", "block", 0.3, contact=LinearTire(0.0, None, 0.0, stiffness=2e4, damping=damping))
    equations = dr.derive(m, work=False)
    assert equations.dynamics.can_switch is False
    for deflection in (0.01, 0.14, 0.15, 0.29):
        held = dr.consistent_start(equations, {"hop": -deflection, "hop_rate": 0.0})
        force = dr.simulate(equations, 1e-3, start=held, samples=2)["tire_normal_force"][0]
        assert force == pytest.approx(2e4 * deflection, rel=1e-12)
    run = dr.simulate(equations, 0.15, start={"hop": 0.5, "hop_rate": -7.0}, samples=301)
    assert run.status.complete
    if damping is None:  # k x²/2 = m (v²/2 + g (h + x))
        deepest = np.roots([1e4, -10 * G, -10 * (49 / 2 + 0.5 * G)]).max()
        assert run["tire_deflection"].max() == pytest.approx(deepest, rel=1e-3)


def test_the_smooth_positive_part_and_its_derivatives() -> None:
    """log(1 + eˣ) by another form, its slope σ and the second derivative σ (1 − σ) of the graph."""
    x = ca.SX.sym("x")
    value, slope = softplus(ca, x)
    graph = ca.Function("f", [x], [value, slope, ca.jacobian(value, x), ca.jacobian(slope, x)])
    for at in (-800.0, -37.0, -1e-3, 0.0, 2.0, 36.0, 150.0, 199.0, 201.0, 250.0, 720.0, 1e5):
        found = [float(part) for part in graph(at)]
        sigma = 0.5 * (1 + np.tanh(at / 2))
        assert found == pytest.approx([np.logaddexp(0.0, at), sigma, sigma, sigma * (1 - sigma)], rel=1e-12, abs=2e-16)


@pytest.mark.parametrize("tube", [0.0, 0.1])
def test_the_spring_of_a_leaning_torus_is_conservative(tube: float) -> None:
    """Without tangential forces the energy of motion, gravity and the spring, k ρ²/2, is constant."""
    run = dr.simulate(
        wheel(LinearTire(0.0, None, 0.0, stiffness=2e5), tube=tube),
        0.4,
        start={"hull_z": 0.29, "hull_qx": 0.2, "hull_wx": 0.3, "hull_vz": 0.5, "hull_wz": 1.0, "spin": 30.0, "hull_vx": 2.0},
        method=dr.methods.DOP853(rtol=1e-11, atol=1e-11),
    )
    depth = run["tire_deflection"]
    assert depth.min() < 0 < depth.max()
    near = np.abs(depth) > 0.008  # where the force is that of the spring, or zero
    energy = run["kinetic_energy"] + run["potential_energy"] + 1e5 * np.maximum(depth, 0.0) ** 2
    assert np.ptp(energy[near]) < 1e-5 * energy[0]
    assert np.abs(run["tire_camber"]).max() > 0.2


@pytest.mark.parametrize("tire", [TIRE, MagicFormula("6.1", CAR | STIFF | MOMENTS, "book", transient=False, rigid=True), BRUSH])
def test_forces_of_a_run_are_those_of_the_tire(tire: Tire) -> None:
    start = {"hull_vx": 15.0, "hull_vy": 0.6, "hull_wz": 0.3, "hull_qx": 0.05, "spin": 52.0, "hull_z": 0.295}
    if not tire.compliant:
        del start["hull_z"]
    run = dr.simulate(wheel(tire), 0.1, start=start, samples=11)
    assert run.status.complete
    for k in (0, 4, 10):
        at = {n: float(run[f"tire_{n}"][k]) for n in ("normal_force", "camber", "slip_along", "slip_angle")}
        if tire.relaxes:
            along, across = float(run["tire_lag_along"][k]), float(run["tire_lag_across"][k])
            across -= float(tire.camber_slip(np, tire.numbers(), at["camber"]))
        else:  # the speed of the contact, from slip angle and lateral slip
            across = np.tan(at["slip_angle"])
            along = at["slip_along"] / (float(run["tire_slip_across"][k]) / across)
        speed = float(run["tire_slip_across"][k]) / np.tan(at["slip_angle"])
        found = tire.forces(at["normal_force"], -along, np.arctan(across), at["camber"], speed)
        for part in ("longitudinal", "lateral"):
            assert run[f"tire_{part}_force"][k] == pytest.approx(float(getattr(found, part)), rel=1e-9, abs=1e-7)
        for part in ("overturning", "rolling", "aligning"):
            if f"tire_{part}_moment" in run.names():
                assert run[f"tire_{part}_moment"][k] == pytest.approx(float(getattr(found, part)), rel=1e-8, abs=1e-7)


@pytest.mark.further
def test_a_parked_car_stays_on_a_slope() -> None:
    """At rest the tires are springs: the car comes to rest a little downhill, and does not creep."""
    m = four_wheels(MagicFormula("6.1", CAR | STIFF | {"VERTICAL_DAMPING": 3e3, "PHX1": 0.0, "PHX2": 0.0}))
    for name in ("fl", "fr", "rl", "rr"):
        m.generalized_force(f"{name}_angle", f"-2e3*{name}_spin - 1e5*{name}_angle", name=f"{name}_brake")
    m.gravity((-0.05 * G, 0, -G))
    m.wrench("hull", force=("-400*velocity_x(hull)", "-400*velocity_y(hull)", 0), name="drag")
    run = dr.simulate(m, 6.0, start={"hull_z": -0.01, "speed": 0.0}, samples=61)
    assert run.status.complete
    assert abs(run["hull_x"][-1] - run["hull_x"][-11]) < 1e-5
    assert -1e-2 < run["hull_x"][-1] < -2e-4
    whole = sum(float(run[f"{n}_tire_longitudinal_force"][-1]) for n in ("fl", "fr", "rl", "rr"))
    assert whole == pytest.approx(880.0 * G * 0.05, rel=1e-3)


@pytest.mark.parametrize("friction", [None, 0.9])
@pytest.mark.parametrize("slope", [0.02, 0.1])
def test_a_tire_carries_a_side_force_at_rest_without_creep(slope: float, friction: float | None) -> None:
    """A tire with friction crept by 0.1 mm/s times its relaxed slip. At rest this is that of a spring: F = C s."""
    m = dr.Model("rig")
    m.body("carriage", 10.0, inertia=(1, 1, 1))
    m.body("hub", 90.0, inertia=(1, 1, 1))
    m.prismatic("side", "ground", "carriage", axis="y")
    m.prismatic("hop", "carriage", "hub", axis="z", at=(0, 0, 0.3))
    m.wheel("tire", "hub", 0.3, contact=LinearTire(3e4, 0.5, 0.0, friction=friction, stiffness=2e5, damping=500.0))
    m.gravity((0, -slope * G, -G))
    rest = dr.steady(m, {"side_rate": 0.0})
    assert rest["tire_lateral_force"] == pytest.approx(100.0 * G * slope, rel=1e-9)
    assert rest["tire_normal_force"] == pytest.approx(90.0 * G, rel=1e-9)
    run = dr.simulate(m, 300.0, start=rest, samples=11)
    assert run.status.complete and np.abs(run["side"] - run["side"][0]).max() < 1e-9


def test_a_tire_relaxes_the_same_backwards() -> None:
    """Pulled sideways at a slip angle, forwards and backwards: the same side force, and the trail on the other side."""
    runs = []
    for way in (1.0, -1.0):
        m = dr.Model("rig")
        m.body("carriage", 1.0, inertia=(1, 1, 1))
        m.planar("carriage")
        m.wheel("tire", "carriage", 0.3, center=(0, 0, 0.3), contact=LinearTire(3e4, 0.5, 0.0, trail=0.03))
        m.prescribe("pull", "carriage_x", f"{way}*4*t")
        m.prescribe("drift", "carriage_y", "0.2*t")
        m.prescribe("straight", "carriage_heading", 0.0)
        runs.append(dr.simulate(m, 0.5, start={"carriage_vx": 4.0 * way, "carriage_vy": 0.2}, samples=21))
    forward, backward = runs
    expected = -3e4 * 0.05 * (1 - np.exp(-4.0 * forward.time / 0.5))
    for run, sign in ((forward, 1.0), (backward, -1.0)):
        np.testing.assert_allclose(run["tire_lateral_force"], expected, atol=2e-4)
        np.testing.assert_allclose(run["tire_aligning_moment"], -0.03 * sign * expected, atol=1e-5)


@pytest.mark.parametrize("tire", [TIRE, BRUSH, LinearTire(5e4, 0.3, friction=0.9, camber=1e3, trail=0.02, stiffness=2e5)])
def test_derivatives_of_motion_are_exact(tire: Tire) -> None:
    e = dr.derive(wheel(tire), work=False)
    names = [s.name for s in e.states]
    exact = e.dynamics.jacobian("xdot", "x")
    moving = {"hull_vx": 9.0, "hull_vy": 0.3, "spin": 30.0, "hull_wz": 0.4, "hull_qx": 0.07, "tire_lag_across": 0.02}
    for given in ({}, moving):
        x = np.zeros(len(names))
        x[names.index("hull_z")], x[names.index("hull_qw")] = 0.295, 1.0
        for name, value in given.items():
            x[names.index(name)] = value
        arguments = ([0.0], x, [], e.default_parameters)
        found = exact(*arguments)[0]
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found, complex_step(e.dynamics, "xdot", "x", arguments), atol=1e-9 * np.abs(found).max())


@pytest.mark.parametrize("tire", [TIRE, TIRE.on_other_side(), MagicFormula("5.2", {"FNOMIN": 4e3, "PCY1": "shape"}), BRUSH])
def test_tires_come_back_from_files(tire: Tire) -> None:
    m = wheel(tire)
    m.parameter("shape", 1.3)
    m.ground(friction="1 - 0.5*exp(-(x/3)^2)", height="0.01*sin(x)")
    system = m.freeze()
    assert from_toml(to_toml(system)).freeze() == system


def test_every_verb_takes_a_car_on_magic_formula_tires() -> None:
    equations = dr.derive(four_wheels(TIRE.replaced(PHX1=0.0, PHX2=0.0)), work=False)
    near = {"speed": 15.0, "hull_z": -0.012}
    turn = dr.steady(equations, {"speed": 15.0}, free=("rr_torque",), near=near, parameters={"steer": 0.02})
    assert 0.05 < turn["yaw_rate"] < 0.3
    assert turn["fl_tire_normal_force"] < turn["fr_tire_normal_force"]  # a turn to the left loads the right side
    assert np.isfinite(turn.linearize().A).all()
    swept = dr.modes(equations, speed=[14.0, 16.0], free=("rr_torque",), near=near)
    assert np.isfinite(swept.eigenvalues).all() and swept.eigenvalues.real.max() < 0.1
    start = {"hull_z": -0.011}
    runs = dr.ensemble(equations, 0.2, {"speed": [10.0, 20.0]}, start=start, outputs=["hull_x"])
    single = dr.simulate(equations, 0.2, start={"speed": 20.0, **start}, samples=3)
    assert single.status.complete
    (final,) = [values for name, values in runs.to_pandas().items() if str(name).startswith("hull_x")]
    np.testing.assert_allclose(final[1], single["hull_x"][-1], rtol=1e-7)


def test_the_derivations_agree_on_tires() -> None:
    certificate = dr.certify(wheel(TIRE))
    assert certificate.passed, certificate


def test_what_cannot_be_is_refused_by_name() -> None:
    with pytest.raises(dr.errors.ModelError, match="leaves the ground and lands by itself; leave out friction"):
        m = dr.Model("w")
        m.body("b", 1.0)
        m.wheel("tire", "b", 0.3, contact=TIRE, friction=0.8)
    with pytest.raises(dr.errors.ModelError, match="stiffness of the contact of wheel 'tire' is 0; it must be positive"):
        wheel(LinearTire(1e4, 0.3, stiffness=0.0)).freeze()
    with pytest.raises(dr.errors.ModelError, match="friction of the ground: a factor"):
        wheel(TIRE).ground(friction=-0.5)
    m = dr.Model("cart")
    m.body("cart", 1.0, inertia=(1, 1, 1))
    m.planar("cart")
    m.wheel("rim", "cart", 0.3, center=(0, 0, 0.3), contact=MagicFormula("6.1", CAR))
    with pytest.raises(dr.errors.ModelError, match="wheel 'rim': its joints fix its height"):
        dr.derive(m)


@pytest.mark.parametrize(
    "tire",
    [LinearTire(3e4, friction=0.9), BrushTire(3e4, 0.9, 0.05, 3000.0), MagicFormula("6.1", CAR)],
    ids=lambda t: type(t).__name__,
)
def test_slip_angles_beyond_a_right_angle_are_refused(tire: Tire) -> None:
    """The slip is tan α, whose sign changes there; up to it, and backwards, the side force is against the motion aside."""
    for angle in (1.6, -2.0, [0.1, 3.0]):
        with pytest.raises(dr.errors.ArgumentError, match=f"{type(tire).__name__}: slip_angle .* is beyond ±90°"):
            tire.forces(3000.0, slip_angle=angle)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # outside of the ranges of the tire file
        found = [float(tire.forces(3000.0, slip_angle=1.57, speed=v).lateral) for v in (10.0, -10.0)]
    assert all(-1.3 * 3000 < force < -0.5 * 3000 for force in found)


def test_brush_forces_are_those_of_the_book() -> None:
    """Pure side slip (Pacejka 2012, 3.11, 3.12), by integration of the bristles."""
    tire = BrushTire(60e3, 0.9, 0.06, 4000.0)
    load, mu, a, c = 4000.0, 0.9, 0.06, 60e3 / (2 * 0.06**2)
    for slip in (0.01, 0.05, 0.1, 0.3):
        x = (np.arange(200000) + 0.5) / 200000 * 2 * a - a  # from the leading edge at +a
        pressure = 3 * load / (4 * a) * (1 - (x / a) ** 2)
        force = np.minimum(c * slip * (a - x), mu * pressure)
        found = tire.forces(load, slip_angle=np.arctan(slip), speed=20.0)
        assert found.lateral == pytest.approx(-force.mean() * 2 * a, rel=1e-7)
        assert found.aligning == pytest.approx(-(force * x).mean() * 2 * a, abs=1e-5)
    assert tire.forces(load, slip=-1.0).longitudinal == pytest.approx(-mu * load, rel=1e-12)  # locked
    combined = tire.forces(load, slip=-0.1, slip_angle=0.1)
    assert np.hypot(combined.longitudinal, combined.lateral) <= mu * load


@pytest.mark.parametrize("tire", [LinearTire(5e4, friction=0.9), BRUSH, TIRE], ids=["linear", "brush", "magic"])
@pytest.mark.parametrize("load", [0.0, 1e-9])
def test_a_wheel_in_the_air_has_no_stiffness(tire: Tire, load: float) -> None:
    """Neither forces nor their slopes by slips, at zero slip and beyond: friction has nothing to hold on to."""
    slips = ca.SX.sym("slips", 2)
    forces = tire.evaluate(ca, tire.numbers(None), TireState(load, slips[0], slips[1], 0.0, 20.0, 1.0))
    both = ca.vertcat(forces.longitudinal, forces.lateral)
    function = ca.Function("forces", [slips], [both, ca.jacobian(both, slips)])
    for at in ([0.0, 0.0], [1e-7, -1e-7], [0.02, 0.1]):
        force, slope = (value.full() for value in function(at))
        assert abs(force).max() < 1e-5 and abs(slope).max() < 0.1 + 5e4 * load / 1e-6  # directions are smooth up to 1e-6 N


@pytest.mark.parametrize("seed", range(3))
def test_stiffnesses_without_slip_are_those_given(seed: int) -> None:
    """Slopes of the forces at zero slip, where differences of large numbers would cancel: of a brush tire C F_z/F_z0, of a linear
    tire with friction its own; and far beyond friction they are zero, by the formula and by complex steps alike."""
    rng = np.random.default_rng(seed)
    stiff, load, nominal, mu = rng.uniform(2e4, 9e4), rng.uniform(800, 5000), rng.uniform(1000, 4000), rng.uniform(0.4, 1.2)
    brush, linear = BrushTire(stiff, mu, 0.06, nominal), LinearTire(stiff, friction=mu)
    # the part of friction that slips of 1e-10 and forces of 1e-6 N take, up to which directions are smooth
    cases = (brush, stiff * load / nominal, 1e-10 * stiff / (mu * nominal)), (linear, stiff, 1e-6 / (mu * load))
    for tire, wanted, near in cases:
        along, across = ca.SX.sym("along"), ca.SX.sym("across")
        c = tire.numbers(None)
        forces = tire.evaluate(ca, c, TireState(load, along, across, 0.0, 20.0, 1.0))
        slope = ca.Function(
            "slope", [along, across], [ca.jacobian(ca.vertcat(forces.longitudinal, forces.lateral), ca.vertcat(along, across))]
        )
        np.testing.assert_allclose(slope(0.0, 0.0).full(), -wanted * np.eye(2), rtol=near + 1e-13, atol=0)
        assert abs(slope(0.0, 50.0).full()[1, 1]) < 1e-12 * wanted
        step = 1e-30
        moved = tire.evaluate(np, c, TireState(load, 0.0 + 1j * step, 0.0, 0.0, 20.0, 1.0))
        assert moved.longitudinal.imag / step == pytest.approx(-wanted, rel=near + 1e-13)


def test_a_run_outside_of_the_ranges_of_a_tire_file_has_a_warning() -> None:
    tire = TIRE.replaced(FZMIN=100.0, FZMAX=9000.0, ALPMIN=-0.05, ALPMAX=0.05)
    start = {"hull_vx": 15.0, "hull_vy": 1.2, "spin": 49.0, "hull_z": 0.292}
    run = dr.simulate(wheel(tire), 0.05, start=start, samples=11)
    (warning,) = [w for w in run.status.warnings if "range of its tire file" in w]
    assert warning.startswith("tire_slip_angle leaves the range of its tire file, -0.05 to 0.05, first at t = 0 s")
    inside = dr.simulate(wheel(tire), 0.05, start=start | {"hull_vy": 0.1}, samples=11)
    assert not [w for w in inside.status.warnings if "range" in w]
    assert run["tire_slip_ratio"][0] == pytest.approx(-run["tire_slip_along"][0] / 15.0, rel=1e-6)


def test_coefficients_may_be_parameters() -> None:
    """A tire whose coefficients are parameters of the model moves as the one with numbers."""
    ends = []
    for given in ({}, {"PKY1": "stiffness", "LMUY": "grip"}):
        m = wheel(TIRE.replaced(LMUY=0.7, PKY1=-15.0).replaced(**given))
        m.parameter("stiffness", -15.0)
        m.parameter("grip", 0.7)
        run = dr.simulate(m, 0.1, start={"hull_vx": 15.0, "hull_vy": 1.0, "spin": 49.0, "hull_z": 0.292}, samples=3)
        ends.append([run[n][-1] for n in ("hull_y", "tire_lateral_force", "tire_aligning_moment")])
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-6)


def test_a_sliding_block_stops_and_stays() -> None:
    """A locked wheel slides over v²/(2 μ g), with the friction of full sliding, and comes to rest."""
    m = dr.Model("block")
    m.body("carriage", 0)
    m.body("block", 400.0, inertia=(1, 1, 1))
    m.prismatic("way", "ground", "carriage", axis="x")
    m.prismatic("hop", "carriage", "block", axis="z", at=(0, 0, 0.313))
    tire = TIRE.replaced(PHX1=0.0, PHX2=0.0)
    m.wheel("tire", "block", 0.313, contact=tire)
    run = dr.simulate(m, 4.0, start={"way_rate": 15.0, "hop": -400 * G / 2e5, "tire_lag_along": 1.0}, samples=81)
    mu = -float(tire.forces(400 * G, slip=-1.0, speed=15.0).longitudinal) / (400 * G)
    half = int(np.argmin(np.abs(run.time - 1.0)))
    assert run["way_rate"][half] == pytest.approx(15.0 - mu * G * run.time[half], rel=1e-6)
    assert run["way"][-1] == pytest.approx(15.0**2 / (2 * mu * G), rel=0.02)
    assert abs(run["way_rate"][-1]) < 1e-4 and abs(run["tire_longitudinal_force"][-1]) < 10.0


@pytest.mark.parametrize("speed", [20.0, -20.0, 5.0])
def test_wheels_start_without_slip_where_nothing_is_a_constraint(speed: float) -> None:
    """Carried by its tire, or with its height fixed by joints: the spin follows from the speed, run after run."""
    for law in (LinearTire(3e4, 0.3, stiffness=2e5), dr.contact.Creep(1e4, 1e4)):
        m = dr.Model("roller")
        m.body("carriage", 0)
        m.body("wheel", 20.0, inertia=(0.5, 1.0, 0.5))
        m.prismatic("way", "ground", "carriage", axis="x")
        m.revolute("angle", "carriage", "wheel", axis="y", rate="spin", at=(0, 0, 0.3))
        m.wheel("rim", "wheel", 0.3, contact=law)
        for _ in range(2):
            assert dr.simulate(m, 0.01, start={"way_rate": speed}, samples=2)["spin"][0] == pytest.approx(speed / 0.3, rel=1e-12)


def test_normal_forces_alone_are_iterated() -> None:
    """Kernels iterate the multiplier of one wheel, programs all 8 unknowns: the same rates at random states, also with laws and
    from bytes. A system that was replaced is not evaluated by what was left from another one."""
    model = wheel(MagicFormula("6.1", CAR | STIFF | MOMENTS, rigid=True), tube=0.05)
    model.generalized_force("angle", model.input("torque", "N*m"))
    equations = dr.derive(model, work=False)
    driven = with_laws(equations, {"torque": parse("20 - 3*spin")})
    again = from_bytes(to_bytes(equations))
    rng = np.random.default_rng(5)
    for e in (equations, driven, again):
        dynamics = e.dynamics
        assert isinstance(dynamics, LinearSolveProgram) and dynamics.size == 8 and dynamics.evaluated.size == 1
        kernel, parameters = compile_hoisted(dynamics), np.array([q.default for q in e.parameters])
        extended = kernel.extended(parameters)
        for _ in range(10):
            q = np.array([c.default for c in e.coordinates]) + rng.uniform(-0.2, 0.2, len(e.coordinates))
            x, u = np.concatenate([q, rng.uniform(-3.0, 3.0, len(e.velocities))]), rng.uniform(-50.0, 50.0, 1)
            x[len(q)] = rng.uniform(2.0, 30.0) * rng.choice([-1.0, 1.0])
            expected = dynamics([0.3], x, u, parameters)[0]
            np.testing.assert_allclose(kernel.kernel([0.3], x, u, extended)[0], expected, rtol=1e-11, atol=1e-11)
    braked = find_switching(with_laws(equations, {"torque": parse("min(20 - 3*spin, 5*t)")}))
    assert braked is not None and isinstance(braked.dynamics, LinearSolveProgram) and braked.dynamics.evaluated.size == 1
    kernel, q = compile_hoisted(braked.dynamics), np.array([c.default for c in equations.coordinates])
    for branch in (0.0, 1.0):
        x = np.concatenate([q, [12.0, 0.5, 0.0, 0.1, 0.2, -0.3, 30.0]])
        given = [0.3], x, [0.0], np.concatenate([parameters, [branch]])
        found = kernel.kernel(*given[:3], kernel.extended(given[3]))[0]
        np.testing.assert_allclose(found, braked.dynamics(*given)[0], rtol=1e-11, atol=1e-11)
    assert isinstance(equations.dynamics, LinearSolveProgram) and isinstance(driven.dynamics, LinearSolveProgram)
    assert not replace(equations.dynamics, system=driven.dynamics.system).condenses


def test_a_spring_cannot_pull_and_is_not_watched() -> None:
    """Normal forces by vertical stiffness are never negative; those of constraints, and friction without a bound, are watched."""
    tires = {
        "spring": BrushTire(6e4, 0.9, 0.06, 3000.0, stiffness=2e5),
        "spring without friction": LinearTire(3e4, 0.3, stiffness=2e5),
        "constraint": BrushTire(6e4, 0.9, 0.06, 3000.0),
    }
    watched = {name: constrained_contacts(dr.derive(wheel(tire), work=False)) for name, tire in tires.items()}
    assert watched["spring"] == ((), ())
    assert watched["spring without friction"] == (("tire_normal_force",), ("tire_friction_needed",))
    assert watched["constraint"] == (("tire_normal_force",), ())


@pytest.mark.parametrize("law", [
    LinearTire(1e4, None, 3e5, friction=1.0, stiffness=2e5),
    LinearTire(1e4, 0.2, 3e5, friction="grip", stiffness=2e5),
    BRUSH,
    TIRE,
], ids=["linear", "relaxing", "brush", "magic"])  # fmt: skip
def test_wheels_slide_on_ground_without_friction(law: Tire) -> None:
    """On ice from x = 1 m on, a locked wheel keeps its velocity and a spinning one its spin; on the way there it does not."""
    m = dr.Model("sled")
    m.parameter("grip", 0.8)
    m.body("sled", 400.0, inertia=(1, 1, 1))
    m.planar("sled")
    for name, x in (("front", 1.0), ("rear", -1.0)):
        m.body(name, 1.0, inertia=(0.3, 0.6, 0.3))
        m.revolute(f"{name}_angle", "sled", name, axis="y", at=(x, 0, 0.303), rate=f"{name}_spin")
        m.wheel(f"{name}_tire", name, 0.313, contact=law)
    m.ground(friction=dr.contact.roads.patch(at=5.0, length=50.0, friction=0.0))
    run = dr.simulate(m, 1.2, start={"sled_vx": 10.0, "sled_vy": 0.4, "front_spin": 20.0, "rear_spin": 45.0}, samples=121)
    assert run.status.complete
    on_ice = run["sled_x"] > 5.0 + 1.5
    for name in ("front_spin", "rear_spin"):
        spin = run[name][on_ice]
        resistance = 0.01 * 2e3 * 0.31 / 0.6 if law is TIRE else 0.0  # rad/s², of which the coefficient does not depend on grip
        np.testing.assert_allclose(spin, spin[0], atol=1e-6 + resistance)
    speed = np.hypot(run["sled_vx"], run["sled_vy"])
    np.testing.assert_allclose(speed[on_ice], speed[on_ice][0], atol=1e-6 if law is not TIRE else 0.1)
    assert abs(speed[on_ice][0] - speed[0]) > 1e-3
