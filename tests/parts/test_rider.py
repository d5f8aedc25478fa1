"""Riders as parts: published models as special cases, rigid riders, arms that hold the bar, legs that pedal."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import draisine as dr
from draisine.parts.riders.postures import reaching
from draisine.parts.riders.solids import MassProperties, composed

from .ridden_machines import SEATED, leaning_rider, ridden_bicycle, seated_rider

CASES = json.loads((Path(__file__).parents[1] / "reference" / "riders.json").read_text())["cases"]
MOORE, SYMBRIM = CASES["11.2"], CASES["11.7"]
STATE = SYMBRIM["numbers"]["upright_4.6"]


@pytest.mark.parametrize("name", list(MOORE["numbers"]))
def test_moores_leaning_rider(name):
    """BicycleParameters 1.5.2, MooreRiderLean2012Model: matrices and eigenvalues; its steer angle is positive to the right."""
    equations = dr.derive(leaning_rider(MOORE["parameters"][name]), work=False)
    sign = np.array([1.0, -1.0, 1.0] * 2)
    for speed, wanted in MOORE["numbers"][name]["speeds"].items():
        linear = dr.linearize(equations, {"speed": float(speed)}, states=("lean", "steer", "rider_lean"))
        rows = [linear.states.index(s) for s in ("lean", "steer", "rider_lean", "frame_wx", "steer_rate", "rider_lean_rate")]
        a = sign[:, None] * linear.A[np.ix_(rows, rows)] * sign
        assert np.abs(a - wanted["A"]).max() < 1e-9 * np.abs(wanted["A"]).max()
        b = sign[:, None] * linear.B[rows] * [-1.0, 1.0]
        assert np.abs(b - np.array(wanted["B"])[:, 1:]).max() < 1e-9 * np.abs(wanted["B"]).max()
        eigenvalues = np.sort_complex(linear.essential().eigenvalues)
        assert np.abs(eigenvalues - np.sort_complex([complex(*z) for z in wanted["eigenvalues"]])).max() < 1e-9


def test_symbrims_rider_by_its_numbers():
    """Accelerations and energies of symbrim 0.1.0 at a state; its y points right and z down."""
    u, q = STATE["u"], STATE["q"]
    model = seated_rider(SYMBRIM["parameters"]["values"])
    start = {
        "roll_rate": u["bike_u4"],
        "rear_spin": -u["bike_u6"],
        "steer_rate": -u["bike_u7"],
        "rider_lean_rate": u["seat_u"],
        **dict.fromkeys(("lean", "steer", "rider_lean", "heading"), 0.0),
    }
    run = dr.simulate(model, 1e-6, start=start, method=dr.methods.RK4(1e-7))
    assert q["bike_q4"] == q["bike_q7"] == q["seat_q"] == 0
    assert run["kinetic_energy"][0] == pytest.approx(STATE["kinetic_energy"], rel=1e-9)
    assert run["potential_energy"][0] == pytest.approx(STATE["potential_energy"], rel=1e-9)
    begin = dr.consistent_start(model, start)
    rates = begin.accelerations
    wanted = STATE["udot"]
    for ours, theirs, sign in (
        ("frame_wx", "bike_u4", 1),
        ("rear_spin", "bike_u6", -1),
        ("steer_rate", "bike_u7", -1),
        ("front_spin", "bike_u8", -1),
        ("rider_lean_rate", "seat_u", 1),
    ):
        assert sign * rates[ours] == pytest.approx(wanted[theirs], rel=1e-8, abs=1e-11), ours


@pytest.mark.further
@pytest.mark.skipif(importlib.util.find_spec("symbrim") is None, reason="symbrim is not installed")
def test_symbrims_equations_are_ours():
    """SymBRiM's description through `from_sympy`, and ours of parts: certified equal."""
    import symbrim as sb
    import sympy as sp

    bike = sb.WhippleBicycle("bike")
    bike.front_frame, bike.rear_frame = sb.RigidFrontFrame("front_frame"), sb.RigidRearFrame("rear_frame")
    bike.front_wheel, bike.rear_wheel = sb.KnifeEdgeWheel("front_wheel"), sb.KnifeEdgeWheel("rear_wheel")
    bike.front_tire, bike.rear_tire = sb.NonHolonomicTire("front_tire"), sb.NonHolonomicTire("rear_tire")
    bike.ground = sb.FlatGround("ground")
    rider = sb.Rider("rider")
    rider.pelvis, rider.torso, rider.sacrum = sb.PlanarPelvis("pelvis"), sb.PlanarTorso("torso"), sb.FixedSacrum("sacrum")
    whole = sb.BicycleRider("whole")
    whole.bicycle, whole.rider, whole.seat = bike, rider, sb.SideLeanSeat("seat")
    whole.define_all()
    system = whole.to_system()
    system.apply_uniform_gravity(-sp.Symbol("g") * bike.ground.get_normal(bike.ground.origin))
    speeds, free = list(system.u), [bike.u[3], bike.u[5], bike.u[6], whole.seat.u[0]]
    system.q_ind, system.q_dep = [*bike.q[:4], *bike.q[5:], whole.seat.q[0]], [bike.q[4]]
    system.u_ind, system.u_dep = free, [u for u in speeds if u not in free]
    values = {name: value for name, value in SYMBRIM["parameters"]["values"].items() if not name.startswith("T_")}
    theirs = dr.from_sympy(system, parameters=values, start=STATE["q"], name="symbrim")
    names = {
        **{"bike_q1": "rear_contact_x", "bike_q2": "-rear_contact_y", "bike_q3": "-heading", "bike_q4": "lean"},
        **{"bike_q6": "-rear_angle", "bike_q7": "-steer", "bike_q8": "-front_angle", "seat_q": "rider_lean"},
        **{"bike_u3": "-yaw_rate", "bike_u6": "-rear_spin", "bike_u7": "-steer_rate", "bike_u8": "-front_spin"},
        **{"seat_u": "rider_lean_rate", "bike_u1": "", "bike_u2": "", "bike_u4": "", "bike_u5": ""},
    }
    certificate = dr.certify(theirs, against=seated_rider(SYMBRIM["parameters"]["values"]), names=names)
    assert certificate.passed, certificate


def eigenvalues(model, speed=5.0):
    return np.sort_complex(dr.linearize(model, {"speed": speed}).essential().eigenvalues)


@pytest.fixture(scope="module")
def rigid():
    return eigenvalues(ridden_bicycle())


def test_a_rigid_rider_is_a_part_of_the_frame(rigid):
    """The same bicycle with the rider's mass, center of mass and inertia in those of the frame."""
    human = dr.parts.Human.of(1.75, 75.0)
    saddle = np.array([0.25, 0.0, 0.95])
    hands = {side: np.array([0.72, y, 1.05]) - saddle for side, y in (("left", 0.27), ("right", -0.27))}
    feet = {side: np.array([0.48, y, 0.3]) - saddle for side, y in (("left", 0.1), ("right", -0.1))}
    body = human.mass_properties(reaching(human, SEATED["posture"], hands, feet)).moved(np.eye(3), saddle)
    frame = MassProperties(12.0, np.array([0.45, 0, 0.55]), np.array([[0.6, 0, -0.1], [0, 1.2, 0], [-0.1, 0, 0.7]]))
    both = composed([frame, body])
    m = dr.Model("merged")
    inertia = {a: both.inertia[i, j] for a, i, j in (("xx", 0, 0), ("yy", 1, 1), ("zz", 2, 2), ("zx", 0, 2))}
    p = dr.parts
    made = p.frame(
        m, "frame", mass=both.mass, center_of_mass=both.center_of_mass[[0, 2]], inertia=inertia, wheelbase=1.02, trail=0.08,
        steer_axis_tilt="18 deg", points={"axle": (0, 0.3)},
    )  # fmt: skip
    fork = p.rigid_fork(
        m, "fork", made["head"], axle=(1.02, 0.35), mass=3, center_of_mass=(0.9, 0.7),
        inertia={"xx": 0.06, "yy": 0.06, "zz": 0.01, "zx": 0.008},
    )  # fmt: skip
    p.wheel(m, "rear", made["axle"], radius=0.3, mass=2, inertia=(0.0603, 0.12))
    p.wheel(m, "front", fork["axle"], radius=0.35, mass=3, inertia=(0.1405, 0.28))
    assert np.abs(eigenvalues(m) - rigid).max() < 1e-9


@pytest.fixture(scope="module")
def holding():
    return ridden_bicycle(arms="free")


def test_arms_that_hold_the_bar(holding, rigid):
    """Closed loops without further freedom: energy is constant, hands stay on the grips, and stability changes."""
    equations = dr.derive(holding)
    assert len(equations.independent) == 3  # as without arms: lean, steer, forward
    run = dr.simulate(equations, 1.0, start={"speed": 5.0, "roll_rate": 0.3}, method=dr.methods.DOP853(rtol=1e-10, atol=1e-12))
    assert run.status.complete and run.energy_drift < 1e-10
    assert np.abs(run["rider_left_elbow"]).max() > 0.02
    found = eigenvalues(holding)
    assert np.abs(found - rigid).max() > 1.0
    assert rigid.real.max() < 0 < found.real.max()  # at 5 m/s passive arms make it capsize


def test_arms_that_cannot_move_hold_the_bar_like_a_spring(rigid):
    """A stiff shoulder and elbow hold the steer angle: its eigenvalues tend to those of a locked bar."""
    stiff = eigenvalues(ridden_bicycle(arms="free", stiffness={"elbow": 1e7}))
    # with the bar held a bicycle falls like an inverted pendulum: one unstable real root √(m g h/I) near 3.1 1/s
    assert 2.5 < stiff.real.max() < 3.6 and abs(stiff[np.argmax(stiff.real)].imag) < 1e-9
    assert np.abs(stiff.imag).max() > 1e3


def test_locked_elbows_need_a_trunk_that_moves():
    with pytest.raises(dr.errors.ModelError, match=r"part 'rider': with locked elbows the bar turns only if the trunk moves"):
        ridden_bicycle(arms="locked")
    model = ridden_bicycle(arms="locked", trunk=["pitch", "twist"])
    equations = dr.derive(model, work=False)
    assert len(equations.independent) == 3
    assert eigenvalues(model).real.max() > 2  # the trunk turns with the bar, and the bicycle falls fast


def test_a_leaning_trunk_with_muscles_and_torques():
    model = ridden_bicycle(
        arms="free", trunk=["lean"], stiffness={"lean": 400.0}, damping={"lean": 30.0, "elbow": 1.0}, torques=["lean", "elbow"]
    )
    inputs = {i.name for i in model.freeze().inputs}
    assert {"rider_lean_torque", "rider_left_elbow_torque", "rider_right_elbow_torque"} <= inputs
    linear = dr.linearize(model, {"speed": 5.0})
    turned = linear.row("steer") @ linear.A @ linear.B  # steer acceleration per torque
    left, right = (turned[linear.inputs.index(f"rider_{side}_elbow_torque")] for side in ("left", "right"))
    assert abs(left) > 0.1 and left == pytest.approx(-right, rel=1e-6)  # mirror images: together they do not steer


def test_a_rider_balances_by_the_elbows_with_a_delay():
    """Torques at the elbows in place of one at the bar: the same closed loops, with other gains."""
    equations = dr.derive(ridden_bicycle(arms="free", torques=["elbow"]))
    linear = dr.linearize(equations, {"speed": 5.0})
    turned = dict(zip(linear.inputs, linear.row("steer") @ linear.A @ linear.B, strict=True))
    sign = np.sign(turned["rider_left_elbow_torque"])
    shares = {"rider_left_elbow_torque": sign, "rider_right_elbow_torque": -sign}
    arms, bar = (dr.control.rider_control(equations, {"speed": 5.0}, delay=0.02, lateral=None, torques=t) for t in (shares, None))
    ratio = sum(share * turned[name] for name, share in shares.items()) / turned["steer_torque"]
    assert arms.gains["steer"] * ratio == pytest.approx(bar.gains["steer"], rel=1e-6)
    assert np.allclose(np.sort_complex(arms.eigenvalues), np.sort_complex(bar.eigenvalues), rtol=1e-5)
    run = dr.simulate(equations, 2.0, start={"speed": 5.0, "roll_rate": 0.1}, control=arms.sampled(200.0))
    assert run.status.complete and abs(run["lean"][-1]) < 0.3 * np.abs(run["lean"]).max()


def test_a_pitched_mount_changes_nothing(rigid, holding):
    """Hips on a frame that is turned about y: the rider sits as before; hands are on the grips where the bar is straight."""
    begin = dr.consistent_start(holding, {"speed": 5.0}).coordinates
    assert max(abs(begin[f"rider_{s}_{j}"]) for s in ("left", "right") for j in ("elbow", "shoulder_1", "shoulder_2")) < 1e-9
    assert np.abs(eigenvalues(ridden_bicycle(saddle_pitch=0.3)) - rigid).max() < 1e-9


def test_legs_that_pedal():
    """Feet follow the pedals; with a chain the crank turns in proportion to the wheel, and energy is constant."""
    model = ridden_bicycle(legs="pedal", crank=(0.45, 0.32), crank_length=0.165)
    model.gear("chain", "rider_crank", "rear_angle", 2.8)
    run = dr.simulate(model, 1.5, start={"speed": 4.5}, method=dr.methods.DOP853(rtol=1e-10, atol=1e-12))
    assert run.status.complete and run.energy_drift < 1e-9
    assert run["rider_crank"][-1] == pytest.approx(run["rear_angle"][-1] / 2.8, rel=1e-9) and run["rider_crank"][-1] > 2 * np.pi
    # the knees bend by some 70° in a turn; the right one does half a turn later what the left one does
    turns = run["rider_crank"] / (2 * np.pi)
    left, right = run["rider_left_knee"], run["rider_right_knee"]
    at = np.array([0.0, 0.1, 0.25, 0.4])
    first, later = np.interp(at, turns, left), np.interp(at + 0.5, turns, right)
    assert np.allclose(first - first[0], later - later[0], atol=2e-3)
    assert np.ptp(run["rider_left_knee"]) > 0.8
    with pytest.raises(dr.errors.ModelError, match=r"the lowest pedal is 0.869 m from the hips, but the legs reach 0.860 m"):
        ridden_bicycle(legs="pedal", crank=(0.45, 0.28))


def test_model_files(tmp_path, rigid):
    model = ridden_bicycle(**dr.parts.Human.of(1.75, 75.0).options())
    dr.write_model(model, tmp_path / "ridden.toml")
    text = (tmp_path / "ridden.toml").read_text()
    assert 'kind = "rider"' in text and "rider_chest" not in text
    assert np.abs(eigenvalues(dr.read_model(tmp_path / "ridden.toml")) - rigid).max() < 1e-9


@pytest.mark.parametrize(
    ("numbers", "texts"),
    [
        (
            {"height": 1.8, "mass": 80, "posture": {"somersault": np.pi / 6}, "feet": (0.5, 0.1, 0.3), "swivel": np.pi / 9},
            {
                "height": "180 cm",
                "mass": "80 kg",
                "posture": {"somersault": "30 deg"},
                "feet": ("50 cm", "100 mm", 0.3),
                "swivel": "20 deg",
            },
        ),
        (
            {"legs": "pedal", "crank": (0.45, 0.32), "crank_length": 0.165},
            {"legs": "pedal", "crank": ("45 cm", 0.32), "crank_length": "165 mm"},
        ),
    ],
)
def test_a_rider_by_texts_with_units_is_that_by_numbers(numbers, texts):
    one, two = ridden_bicycle(**numbers).freeze(), ridden_bicycle(**texts).freeze()
    assert one.joints == two.joints and one.bodies == two.bodies and one.constraints == two.constraints


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arms": "loose"}, r"arms = 'loose' must be one of fixed, free, locked"),
        ({"trunk": "lean"}, r"trunk = 'lean': give a list of lean, pitch, twist"),
        ({"trunk": 3.5}, r"trunk = 3.5: give a list of lean, pitch, twist"),
        ({"trunk": ["twist", "lean"]}, r"give a list of lean, pitch, twist, in this order"),
        ({"stiffness": {"elbow": 3.0}}, r"'elbow' is no joint that moves; those are none"),
        ({"grips": (0.7, 1.0)}, r"give the position \(x, y, z\) of the left grip"),
        ({"mass": "heavy"}, r"mass = 'heavy': give a number in kg, or a text with a unit such as '75 kg'"),
        ({"height": "75 kg"}, r"height: got '75 kg' .*, expected a length"),
        ({"posture": {"somersault": "forward"}}, r"somersault = 'forward': give a number in rad"),
        ({"measurements": {"Ls1L": 0.1}}, r"measurements must have the 95 names of yeadon's files; check 'Ls2L'"),
        ({"grips": (1.9, 0.3, 1.0)}, r"left hand would be"),
        ({"hight": 1.8}, r"rider has no option 'hight'; did you mean 'height'"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        ridden_bicycle(**options)


@pytest.mark.further
def test_certificate(holding):
    assert dr.certify(holding).passed
