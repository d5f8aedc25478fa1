"""Residual constraints: closed loops, prescribed motions and redundant rows, against independent results."""

from __future__ import annotations

import numpy as np
import pytest
from linkages import GRAVITY, FourBar, SliderCrank, bar
from vehicles import WHEEL, balanced_wheel, body

import draisine as dr
from draisine.dynamics.derive import derive
from draisine.dynamics.formulations import Augmented, Reduced
from draisine.dynamics.mechanism import Mechanism
from draisine.dynamics.verify.certificate import certify_derivations
from draisine.errors import ModelError
from draisine.model.model import Model
from draisine.program.equations import Equations, Kind
from draisine.results.status import Ending
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.run import integrate

FINE = DOP853(rtol=1e-12, atol=1e-12)


def reported(e: Equations, t: float, q, v: dict[str, float]) -> dict[str, dict[str, float]]:
    """The report at a state given by coordinates and (at least) the independent velocities, by slot and label."""
    x = np.concatenate([q, [v[n] for n in e.independent], np.zeros(len(e.extra_states))])
    values = e.report([t], x, np.zeros(len(e.inputs)), e.default_parameters)
    return {s.name: dict(zip(s.labels, value, strict=True)) for s, value in zip(e.report.outputs, values, strict=True)}


def same(a: dict[str, float], b: dict[str, float], close: float = 1e-9) -> None:
    size = max(1.0, *map(abs, a.values()))
    assert {n: b[n] for n in a} == pytest.approx(a, abs=close * size)


# -------------------------------------------------------------------- a four-bar linkage

LINKAGE = FourBar()
STATES = [(-0.8, 1.5), (0.9, -2.0), (2.4, 3.0), (-2.9, 0.7)]  # crank angle and rate


def four_bar_state(phi: float, rate: float) -> tuple[np.ndarray, dict[str, float]]:
    """Coordinates by the closed form, velocities by its differences."""
    q = np.array([phi, *LINKAGE.closed(phi)])
    step = 1e-6
    ahead, behind = (np.array(LINKAGE.closed(phi + h)) for h in (step, -step))
    jacobian = (ahead - behind) / (2 * step)
    return q, {"phi_rate": rate, "psi_rate": jacobian[0] * rate, "chi_rate": jacobian[1] * rate}


@pytest.mark.parametrize("formulation", [Reduced(), Augmented()], ids=["reduced", "augmented"])
@pytest.mark.parametrize(("phi", "rate"), STATES)
def test_four_bar_accelerates_as_three_free_bodies_with_four_pins(phi, rate, formulation):
    """And the multipliers are the force of the coupler's end on the rocker's, in the axes of the coupler."""
    e = derive(LINKAGE.model(), formulation=formulation)
    q, v = four_bar_state(phi, rate)
    exact = reported(derive(LINKAGE.model()).with_independent(("phi_rate",)), 0.0, q, v)["v"]
    same(v, exact, 1e-8)  # velocities of the reduction against differences of the closed form
    report = reported(e, 0.0, q, exact)
    expected, pin = LINKAGE.by_hand(
        np.array([q[0], q[0] + q[1], q[2]]), np.array([v["phi_rate"], v["phi_rate"] + exact["psi_rate"], exact["chi_rate"]])
    )
    found = report["vdot"]
    assert [found["dphi_rate/dt"], found["dphi_rate/dt"] + found["dpsi_rate/dt"], found["dchi_rate/dt"]] == pytest.approx(
        expected, abs=1e-9 * np.abs(expected).max()
    )
    turn = q[0] + q[1]
    coupler_x, coupler_z = np.array([np.cos(turn), -np.sin(turn)]), np.array([np.sin(turn), np.cos(turn)])
    forces = [report["multipliers"]["loop_x_multiplier"], report["multipliers"]["loop_z_multiplier"]]
    assert forces == pytest.approx([pin @ coupler_x, pin @ coupler_z], abs=1e-9 * np.abs(pin).max())
    assert max(abs(r) for r in report["residuals"].values()) < 1e-12 * max(map(abs, exact.values()))


def test_four_bar_has_its_constraints_at_both_levels():
    e = derive(LINKAGE.model())
    assert [(c.name, c.kind, c.level, c.unit) for c in e.constraints] == [
        ("loop_x", Kind.HOLONOMIC, "position", "m"),
        ("loop_z", Kind.HOLONOMIC, "position", "m"),
        ("loop_x", Kind.HOLONOMIC, "velocity", "m/s"),
        ("loop_z", Kind.HOLONOMIC, "velocity", "m/s"),
    ]
    assert [(m.name, m.unit) for m in e.multipliers] == [("loop_x_multiplier", "N"), ("loop_z_multiplier", "N")]
    assert len(e.independent) == 1
    assert {*e.alternates, e.independent} == {("phi_rate",), ("psi_rate",), ("chi_rate",)}


def test_every_choice_of_velocity_gives_the_same_motion_of_the_loop():
    e = derive(LINKAGE.model())
    q, _ = four_bar_state(0.9, -2.0)
    first = reported(e.with_independent(("phi_rate",)), 0.0, q, {"phi_rate": -2.0})
    for other in ("psi_rate", "chi_rate"):
        second = reported(e.with_independent((other,)), 0.0, q, first["v"])
        for slot in ("v", "vdot", "multipliers"):
            same(first[slot], second[slot], 1e-10)


def test_four_bar_keeps_its_energy_and_stays_closed():
    run = dr.simulate(LINKAGE.model(), 5.0, start={"phi": -0.8, "phi_rate": 12.0}, method=FINE)
    energy = np.asarray(run["total_energy"])
    scale = np.abs(run["kinetic_energy"]).max()
    assert np.abs(energy - energy[0]).max() < 1e-9 * scale
    assert np.ptp(run["phi"]) > 2 * np.pi  # it goes round, through all choices of velocities
    for phi, psi, chi in zip(run["phi"][::25], run["psi"][::25], run["chi"][::25], strict=True):
        expected = LINKAGE.closed(phi)
        assert np.exp(1j * np.array([psi, chi])) == pytest.approx(np.exp(1j * np.array(expected)), abs=1e-10)


def test_four_bar_treated_whole_runs_alike():
    """All velocities as states, drift projected out of positions and velocities."""
    m = LINKAGE.model()
    whole, reduced = derive(m, formulation=Augmented()), derive(m).with_independent(("psi_rate",))
    q, v = four_bar_state(-0.8, 12.0)
    v = reported(derive(m).with_independent(("phi_rate",)), 0.0, q, v)["v"]
    ends = []
    for e in (whole, reduced):
        run = integrate(e, [*q, *(v[n] for n in e.independent)], 2.0, method=FINE, samples=[0.0, 2.0])
        assert run.status.kind == Ending.FINISHED
        ends.append(run.segments[-1].states[-1])
        report = reported(e, 2.0, ends[-1][:3], dict(zip((s.name for s in e.states), ends[-1], strict=True)))
        assert max(map(abs, report["residuals"].values())) < 1e-10
    assert ends[0][:3] == pytest.approx(ends[1][:3], abs=1e-7)


def test_a_singular_loop_is_named():
    """A parallelogram with all bars in one line may go on as parallelogram or as antiparallelogram: its rows are dependent
    there. A crank at the end of the rocker's way is only a bad choice of velocity."""
    e = derive(FourBar(0.4, 0.8, 0.4, 0.8).model()).with_independent(("phi_rate",))
    labels = e.causes.output("value").labels
    near = 1e-4
    q = np.array([near, -near, near])
    values = e.causes([0.0], np.array([*q, 1.0]), [], e.default_parameters)[0]
    assert labels[int(np.argmax(values))] == "residual constraint 'loop' is at a singular position, where its rank drops"
    assert e.monitor([0.0], np.array([*q, 1.0]), [], e.default_parameters)[0][0] > 1e3
    e = derive(LINKAGE.model()).with_independent(("chi_rate",))
    reach = LINKAGE.crank + LINKAGE.coupler  # crank and coupler in one line
    turned = np.arccos((LINKAGE.base**2 + reach**2 - LINKAGE.rocker**2) / (2 * LINKAGE.base * reach))
    q = np.array([-turned - 1e-5, *LINKAGE.closed(-turned - 1e-5)])
    values = e.causes([0.0], np.array([*q, 1.0]), [], e.default_parameters)[0]
    assert e.causes.output("value").labels[int(np.argmax(values))] == "the independent velocities (chi_rate) lose their meaning"


# -------------------------------------------------------------------- rows that repeat others


def test_a_loop_in_space_moves_as_in_its_plane():
    """In a plane tilted about x three rows along the world's axes close the loop twice over; gravity acts with its cosine."""
    tilt = 0.6
    space = derive(LINKAGE.model(orientation=[("x", tilt)], world=True))
    plane = derive(LINKAGE.model(gravity=GRAVITY * np.cos(tilt)))
    assert len(space.independent) == 1
    assert len(space.multipliers) == 3
    (warning,) = space.warnings
    assert "constraint loop_z repeats loop_y" in warning or "constraint loop_y repeats loop_z" in warning
    for phi, rate in STATES:
        q, v = four_bar_state(phi, rate)
        one = reported(plane.with_independent(("phi_rate",)), 0.0, q, v)
        two = reported(space.with_independent(("phi_rate",)), 0.0, q, v)
        for slot in ("v", "vdot"):
            same(one[slot], two[slot], 1e-10)
        # the smallest forces lie in the plane: of the same size as those of the planar loop, with nothing along its normal
        force = np.array([two["multipliers"][f"loop_{a}_multiplier"] for a in "xyz"])
        assert force @ [0.0, np.cos(tilt), np.sin(tilt)] == pytest.approx(0.0, abs=1e-9 * np.linalg.norm(force))
        assert np.linalg.norm(force) == pytest.approx(np.linalg.norm(list(one["multipliers"].values())), rel=1e-9)
    assert certify_derivations(LINKAGE.model(orientation=[("x", tilt)], world=True), states=5).passed


def test_a_residual_that_nothing_changes_is_left_out_with_a_note():
    e = derive(LINKAGE.model(axes="xyz"))
    assert [m.name for m in e.multipliers] == ["loop_x_multiplier", "loop_z_multiplier"]
    assert "constraint loop_y is satisfied identically: no coordinate enters it, and it has no force" in e.notes
    assert not e.warnings


def test_a_moving_loop_in_space_takes_the_same_power():
    """Redundant rows and a prescribed angle together."""
    tilted, plain = LINKAGE.model(orientation=[("x", 0.6)], world=True), LINKAGE.model(gravity=GRAVITY * np.cos(0.6))
    for m in (tilted, plain):
        m.prescribe("drive", "phi", "0.4*sin(3*t) - 0.8")
    q = np.array([0.4 * np.sin(1.5) - 0.8, *LINKAGE.closed(0.4 * np.sin(1.5) - 0.8)])
    one, two = reported(derive(plain), 0.5, q, {}), reported(derive(tilted), 0.5, q, {})
    assert one["v"]["phi_rate"] == pytest.approx(1.2 * np.cos(1.5), rel=1e-12)
    for slot in ("v", "vdot"):
        same(one[slot], two[slot], 1e-10)
    assert two["multipliers"]["drive_multiplier"] == pytest.approx(one["multipliers"]["drive_multiplier"], rel=1e-10)


def _tricycle(track_heading: float = 0.4) -> Model:
    m = Model("tricycle")
    m.body("hull", mass=10.0, center_of_mass=(0.4, 0, 0.2), inertia=(1.0, 1.2, 1.5))
    m.free("hull")
    for side, y in (("left", track_heading), ("right", -track_heading)):
        balanced_wheel(m, side, "hull", at=(0, y, 0.3))
    return _front(m)


def _front(m: Model) -> Model:
    m.body("fork", mass=1.0, inertia=(0.02, 0.02, 0.03))
    m.revolute("steer", "hull", "fork", axis="z", at=(1.1, 0, 0.3), span=(-0.6, 0.6))
    balanced_wheel(m, "front", "fork", at=(-0.06, 0, 0))
    m.spring("steer", stiffness=3.0)
    return m


def _one_rear_wheel(track_heading: float = 0.4) -> Model:
    """The same in the plane, with one wheel of both wheels' inertia in the middle. What the two spin more and less than their
    mean when the axle turns, track/radius times its rate, is inertia about the vertical."""
    mass, (transverse, axial, _), radius = 2.0, WHEEL, 0.3
    m = Model("one_rear_wheel")
    more = 2 * mass * track_heading**2 + 2 * axial * (track_heading / radius) ** 2
    m.body("hull", mass=10.0, center_of_mass=(0.4, 0, 0.2), inertia=(1.0 + more, 1.2 + more, 1.5 + more))
    m.planar("hull")
    made = {"mass": 2 * mass, "inertia": (2 * transverse, 2 * axial, 2 * transverse)}
    balanced_wheel(m, "rear", "hull", at=(0, 0, radius), made=made)
    return _front(m)


def test_a_tricycle_moves_as_with_one_rear_wheel():
    """The two rear wheels forbid the same sideways motion; the common multiplier is shared evenly."""
    three, two = derive(_tricycle()), derive(_one_rear_wheel())
    assert len(three.independent) == len(two.independent) == 2
    assert any("constraint right_y repeats left_y" in w for w in three.warnings)
    names = [v.name for v in two.velocities]
    three, two = (e.with_independent(("steer_rate", "front_spin")) for e in (three, two))
    for steer, rate, spin in ((0.3, 0.5, 9.0), (-0.5, -1.5, 14.0), (0.0, 2.0, -6.0)):
        given = {"steer_rate": rate, "front_spin": spin}
        reports = []
        for e in (three, two):
            q = {c.name: c.default for c in e.coordinates} | {"steer": steer}
            reports.append(reported(e, 0.0, list(q.values()), given))
        many, few = reports
        meant = {n: n for n in names if n not in ("hull_heading_rate", "rear_spin")} | {"hull_heading_rate": "hull_wz"}
        for slot, form in (("v", "{}"), ("vdot", "d{}/dt")):
            same(
                {form.format(n): few[slot][form.format(n)] for n in meant},
                {form.format(n): many[slot][form.format(there)] for n, there in meant.items()},
                1e-10,
            )
        left, right = (many["multipliers"][f"{side}_y_multiplier"] for side in ("left", "right"))
        assert left == pytest.approx(right, rel=1e-9)
        assert left + right == pytest.approx(few["multipliers"]["rear_y_multiplier"], rel=1e-9)


def _car() -> Model:
    m = Model("car")
    body(m, "hull", 10.0, (0.4, 0, 0.2))
    m.free("hull")
    for name, y in (("rear_left", 0.3), ("rear_right", -0.3)):
        balanced_wheel(m, name, "hull", at=(0, y, 0.3))
    for name, y in (("left", 0.3), ("right", -0.3)):
        body(m, f"{name}_knuckle", 0.5)
        m.revolute(f"{name}_steer", "hull", f"{name}_knuckle", axis="z", at=(1.0, y, 0.3), span=(-0.6, 0.6))
        balanced_wheel(m, name, f"{name}_knuckle")
    # the axles meet in one point of the rear axle: cot(right) − cot(left) = track / wheelbase
    m.constrain("ackermann", "tan(left_steer) - tan(right_steer) - 0.6*tan(left_steer)*tan(right_steer)")
    return m


def test_ackermann_steering_makes_the_fourth_wheel_repeat_the_others():
    """The rows are dependent only where the constraint holds: elsewhere the wheels would lock each other."""
    m = _car()
    e = derive(m)
    assert len(e.velocities) - len(e.independent) == 13 - 3
    # sideways at the rear, sideways at the front, and the weight on four wheels: three rows in one warning
    assert len(e.warnings) == 1 and sum("repeats" in note for note in e.notes) == 3
    assert certify_derivations(m, states=6).passed
    whole = derive(m, formulation=Augmented())
    points, _ = Mechanism(m.freeze()).sampled
    for q in points[1:4]:
        one = reported(e, 0.0, q, dict.fromkeys((v.name for v in e.velocities), 1.5))
        two = reported(whole, 0.0, q, one["v"])
        for slot in ("vdot", "multipliers", "outputs"):
            same(one[slot], two[slot], 1e-8)


# -------------------------------------------------------------------- prescribed motions


@pytest.mark.parametrize("formulation", [Reduced(), Augmented()], ids=["reduced", "augmented"])
def test_a_driven_slider_crank_by_virtual_work(formulation):
    """Stroke and its acceleration in closed form; the torque is the power of all forces and inertia over the crank's rate."""
    engine = SliderCrank()
    e = derive(engine.model(), formulation=formulation)
    step = 1e-20
    for t in (0.05, 0.31, 0.77):
        stroke, lean = (part.real for part in engine.place(t))
        turn = engine.rate * t
        q = [turn, -lean - turn, stroke]
        rates = {"phi_rate": engine.rate, "stroke_rate": (engine.place(t + 1j * step)[0]).imag / step}
        rates["psi_rate"] = -(engine.place(t + 1j * step)[1]).imag / step - engine.rate
        report = reported(e, t, q, rates)
        same(rates, report["v"], 1e-12)
        assert max(map(abs, report["residuals"].values())) < 1e-12
        third = 1e-4
        slope = [(engine.place(t + h + 1j * step)[0]).imag / step for h in (-2 * third, -third, third, 2 * third)]
        acceleration = (slope[0] - 8 * slope[1] + 8 * slope[2] - slope[3]) / (12 * third)
        assert report["vdot"]["dstroke_rate/dt"] == pytest.approx(acceleration, rel=1e-9)
        torque = engine.energy(t + 1j * step).imag / step / engine.rate
        assert report["multipliers"]["drive_multiplier"] == pytest.approx(torque, rel=1e-9)
        x = np.array([*q, *[report["v"][n] for n in e.independent], 0.0])
        power = e.dynamics([t], x, [], e.default_parameters)[0][-1]
        assert power == pytest.approx(torque * engine.rate, rel=1e-9)


def test_the_work_of_the_drive_is_the_growth_of_energy():
    engine = SliderCrank()
    run = dr.simulate(engine.model(), 1.0, method=FINE)
    energy = np.asarray(run["total_energy"])
    assert np.ptp(energy) > 0.1
    assert np.asarray(run["work"]) == pytest.approx(energy - energy[0], abs=1e-9)
    assert energy - energy[0] == pytest.approx([engine.energy(t) - engine.energy(0.0) for t in np.asarray(run.time)], abs=1e-9)


def _swing(law: str = "0.1*sin(3*t) + 0.02*t^2") -> Model:
    m = Model("swing")
    m.body("cart", mass=1.3)
    m.prismatic("place", "ground", "cart", axis="x")
    bar(m, "rod", 0.5)
    m.revolute("angle", "cart", "rod", axis="y", orientation=[("y", np.pi / 2)])  # hangs down at zero
    m.prescribe("shaker", "place", law)
    return m


def test_a_pendulum_on_a_moving_support_is_that_of_minimal_coordinates():
    """(m l²/3) θ̈ = −(m l/2)(g sin θ ∓ ẍ cos θ); the multiplier is the force that moves cart and rod."""
    length, mass = 0.5, 1.0
    e = derive(_swing())
    assert e.independent == ("angle_rate",)
    for t, angle, rate in ((0.0, 0.4, 1.0), (0.7, -1.2, -2.0), (2.1, 2.5, 4.0)):
        place = 0.1 * np.sin(3 * t) + 0.02 * t**2
        speed, push = 0.3 * np.cos(3 * t) + 0.04 * t, -0.9 * np.sin(3 * t) + 0.04
        report = reported(e, t, [place, angle], {"angle_rate": rate})
        assert report["v"]["place_rate"] == pytest.approx(speed, abs=1e-14)
        # the rod points to (−sin θ, −cos θ): turning about y by θ moves its end to −x
        change = -1.5 / length * (GRAVITY * np.sin(angle) - push * np.cos(angle))
        assert report["vdot"]["dplace_rate/dt"] == pytest.approx(push, abs=1e-13)
        assert report["vdot"]["dangle_rate/dt"] == pytest.approx(change, rel=1e-12)
        middle = push - length / 2 * (change * np.cos(angle) - rate**2 * np.sin(angle))
        assert report["multipliers"]["shaker_multiplier"] == pytest.approx(1.3 * push + mass * middle, rel=1e-11)


def test_energy_and_work_of_a_moving_support_balance():
    run = dr.simulate(_swing(), 4.0, start={"angle": 0.5}, method=FINE)
    energy, work = np.asarray(run["total_energy"]), np.asarray(run["work"])
    assert np.ptp(work) > 0.01
    assert energy - energy[0] == pytest.approx(work, abs=1e-9)
    certificate = certify_derivations(_swing(), states=6)
    assert certificate.passed, str(certificate)


@pytest.mark.parametrize("make", [SliderCrank().model, LINKAGE.model], ids=["slider-crank", "four-bar"])
def test_all_derivations_agree_on_constraints(make):
    certificate = certify_derivations(make(), states=6)
    assert certificate.passed, str(certificate)
    assert len(certificate.derivations) == 5


# -------------------------------------------------------------------- constraints of velocity


def test_a_blade_written_as_a_constraint_is_a_blade():
    def sled() -> Model:
        m = Model("sled")
        m.body("sled", mass=3.0, center_of_mass=(0.2, 0.05, 0), inertia=(0.2, 0.2, 0.4))
        m.planar("sled")
        return m

    blade, tied = sled(), sled()
    blade.knife_edge("sled", name="skate")
    tied.constrain("skate", "body_velocity_y(sled)", level="velocity", unit="m/s")
    first, second = derive(blade), derive(tied)
    assert [(c.name, c.kind, c.level) for c in second.constraints] == [("skate", Kind.NONHOLONOMIC, "velocity")]
    given = {"sled_vx": 1.2, "sled_heading_rate": 0.8}
    one, two = (reported(e, 0.0, [0.3, -0.1, 0.7], given) for e in (first, second))
    same(one["vdot"], two["vdot"], 1e-12)
    # the blade points along x, so that across it is +y
    assert two["multipliers"]["skate_multiplier"] == pytest.approx(one["multipliers"]["skate_across_multiplier"], rel=1e-12)


def test_a_velocity_may_be_prescribed():
    m = Model("wheel")
    m.body("disc", mass=2.0, inertia=(0.1, 0.1, 0.1))
    m.revolute("angle", "ground", "disc", axis="z")
    m.prescribe("motor", "angle_rate", "2*t + 0.5*angle", level="velocity")
    report = reported(derive(m), 1.5, [0.4], {})
    rate = 3.0 + 0.2
    assert report["v"]["angle_rate"] == pytest.approx(rate, rel=1e-14)
    assert report["vdot"]["dangle_rate/dt"] == pytest.approx(2.0 + 0.5 * rate, rel=1e-14)
    assert report["multipliers"]["motor_multiplier"] == pytest.approx(0.1 * (2.0 + 0.5 * rate), rel=1e-13)


# -------------------------------------------------------------------- treated whole


def _chain(n: int) -> Model:
    """n masses on a string of rods, in Cartesian coordinates."""
    m = Model(f"masses_{n}")
    above = "ground"
    for i in range(n):
        m.body(f"mass{i}", mass=1.0 + 0.1 * i)
        m.body(f"slide{i}", mass=1e-3)
        m.prismatic(f"x{i}", "ground", f"slide{i}", axis="x", default=0.3 * (i + 1))
        m.prismatic(f"z{i}", f"slide{i}", f"mass{i}", axis="z", default=-0.4 * (i + 1))
        m.rod(f"rod{i}", above, f"mass{i}", length=0.5)
        above = f"mass{i}"
    return m


def test_size_and_conditioning_decide_how_constraints_are_treated():
    assert derive(_chain(2)).independent != tuple(v.name for v in derive(_chain(2)).velocities)
    large = derive(_chain(30))
    assert large.independent == tuple(v.name for v in large.velocities)
    assert large.notes[0].startswith(
        "augmented formulation, nothing eliminated, since its 30 velocity constraints are more than 24"
    )
    forced = derive(_chain(2), formulation=Augmented())
    assert forced.independent == tuple(v.name for v in forced.velocities)
    assert not forced.notes


@pytest.mark.parametrize("n", [2, 6])
def test_both_formulations_agree_on_masses_on_a_string(n):
    whole, reduced = (derive(_chain(n), formulation=f) for f in (Augmented(), Reduced()))
    rng = np.random.default_rng(n)
    angles = rng.uniform(0.4, 1.1, n)  # away from the vertical and the horizontal
    x, z = 0.5 * np.cumsum(np.cos(angles)), -0.5 * np.cumsum(np.sin(angles))
    q = np.column_stack([x, z]).ravel()
    given = dict(zip((v.name for v in reduced.velocities), rng.normal(size=2 * n), strict=True))
    one = reported(reduced, 0.0, q, given)
    two = reported(whole, 0.0, q, one["v"])
    for slot in ("vdot", "multipliers", "energy"):
        same(one[slot], two[slot], 1e-10)


def test_a_hanging_string_is_under_tension():
    """Each rod carries what hangs below it; a thrust is positive."""
    n = 4
    e = derive(_chain(n), formulation=Augmented())
    q = np.column_stack([np.zeros(n), -0.5 * np.arange(1, n + 1)]).ravel()
    report = reported(e, 0.0, q, {v.name: 0.0 for v in e.velocities})
    masses = np.array([1.0 + 0.1 * i for i in range(n)])
    weights = -GRAVITY * np.cumsum(masses[::-1])[::-1]
    assert [report["multipliers"][f"rod{i}_multiplier"] for i in range(n)] == pytest.approx(weights, rel=1e-12)


# -------------------------------------------------------------------- what cannot be


def _arm() -> Model:
    m = Model("arm")
    bar(m, "arm", 1.0)
    m.revolute("turn", "ground", "arm", axis="y")
    m.point("hand", "arm", (1.0, 0, 0))
    return m


def test_a_constraint_of_nothing_is_refused():
    m = _arm()
    m.constrain("still", "0.2*sin(t)", unit="m")
    with pytest.raises(ModelError, match=r"'still': its residual 'still' .* at t = 0.7 s and no coordinate can change it"):
        derive(m)
    m = _arm()
    m.constrain("sideways", "position_y(hand)", unit="m")
    with pytest.raises(ModelError, match=r"constraint 'sideways' has no effect: no coordinate enters its residuals"):
        derive(m)


def test_velocities_must_enter_linearly():
    m = _arm()
    m.constrain("square", "turn_rate^2 - 4", level="velocity", unit="rad/s")
    with pytest.raises(ModelError, match=r"residual 'square' of constraint 'square' is not linear in the velocities"):
        derive(m)


def test_a_position_may_not_depend_on_velocities_through_an_output():
    m = _arm()
    m.output("speed", "velocity_z(hand)")
    m.constrain("bad", "turn - speed", unit="rad")
    with pytest.raises(
        ModelError, match=r"residual 'bad' of constraint 'bad' depends on the velocity 'turn_rate', but it is of position"
    ):
        derive(m)


def test_a_loop_that_cannot_be_closed_is_named_with_its_gap():
    with pytest.raises(
        ModelError, match=r"its constraints \(loop\) are satisfied; the best attempt leaves 'loop_x' open by 0\.[0-9]+ m"
    ):
        derive(FourBar(crank=0.1, coupler=0.2, rocker=0.3, base=0.8).model())


def test_prescribed_motions_that_contradict_each_other_are_named():
    m = _arm()
    m.prescribe("first", "turn", "2*t")
    m.prescribe("second", "turn", "3*t")
    with pytest.raises(
        ModelError, match=r"constraint 'second' contradicts 'first': both constrain the same motion, at different rates"
    ):
        derive(m)


def test_a_motion_prescribed_twice_alike_is_a_repetition():
    m = _arm()
    m.prescribe("first", "turn", "2*t")
    m.prescribe("second", "2*turn", "4*t", unit="rad")
    e = derive(m)
    assert "constraint second repeats first" in e.warnings[0]
    report = reported(e, 0.5, [1.0], {})
    assert report["v"]["turn_rate"] == pytest.approx(2.0, rel=1e-14)
    torque = 2.0 * GRAVITY * 0.5 * -np.cos(1.0)  # the arm hangs below: its weight turns it on
    one, two = report["multipliers"]["first_multiplier"], report["multipliers"]["second_multiplier"]
    assert one + 2 * two == pytest.approx(torque, rel=1e-12)
    assert two == pytest.approx(2 * one, rel=1e-12)  # the smallest that do it


def test_the_count_of_targeted_velocities_knows_repeated_rows():
    m = _tricycle()
    m.independent("steer_rate")
    with pytest.raises(ModelError, match=r"10 velocities and 8 velocity constraints that are independent: choose 2 independent"):
        derive(m)


def test_a_cylinder_in_a_hollow_cart_hangs_on_an_arm_without_mass():
    """Rolling in a hollow of radius R on a cart that rolls freely: ω² = g / ((R − r)(3/2 − m/(m + M)))."""
    m = Model("cart")
    hollow, radius, mass, load = 0.5, 0.1, 1.0, 2.0
    cart, arm = m.body("cart", mass=load), m.body("arm", mass=0)
    cylinder = m.body("cylinder", mass=mass, inertia=(mass * radius**2 / 4, mass * radius**2 / 2, mass * radius**2 / 4))
    m.prismatic("way", "ground", cart)
    m.revolute("swing", cart, arm, axis="y")
    m.revolute("turn", arm, cylinder, axis="y", at=(0, 0, radius - hollow))
    m.gear("rolls", "swing", "turn", ratio=-hollow / radius)
    frequency = np.sqrt(GRAVITY / ((hollow - radius) * (1.5 - mass / (mass + load))))
    assert dr.linearize(m).eigenvalues.imag.max() == pytest.approx(frequency, rel=1e-12)
    assert certify_derivations(m, states=2).passed


def test_a_rotor_without_mass_on_a_carrier_without_mass():
    """Both only carry a bob; the rotor's mass is not shared by a division 0/0."""
    m = Model("whirl")
    post, rotor = m.body("post", mass=0), m.body("rotor", mass=0, inertia=(0.1, 0.2, 0.1))
    m.revolute("lean", "ground", post, axis="x")
    m.revolute("spin", post, rotor, axis="y")
    m.revolute("swing", post, m.body("bob", mass=1.0, center_of_mass=(0, 0, -1.0)), axis="x")
    m.spring("lean", 50.0)
    certificate = certify_derivations(m, states=2)
    assert certificate.passed, str(certificate)
