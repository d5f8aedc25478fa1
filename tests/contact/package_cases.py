"""The reference cases by the package itself. Every function takes the case and asserts its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from event_cases import Check, near
from package_models import (
    GRAVITY,
    TIGHT,
    ball,
    ball_in_space,
    block,
    cradle,
    disc,
    on_sphere,
    oscillator,
    particle,
    planar_bicycle,
    rimless_wheel,
    rod,
    rod_on_supports,
)
from scipy.optimize import brentq

import draisine as dr
from reference import Case

CHECKS: dict[str, Check] = {}
TIME = 1e-10  # s, of transitions


def check(*ids: str) -> Any:
    """Registers a check for cases."""

    def register(function: Check) -> Check:
        CHECKS.update(dict.fromkeys(ids, function))
        return function

    return register


def agrees(case: Case, **values: Any) -> None:
    """Numbers of a case by name, to 1e-9; times to 1e-10 s."""
    for name, value in values.items():
        near(value, case[name], f"{case.id} {name}")
        if "time" in name:
            np.testing.assert_allclose(value, case[name], rtol=0, atol=TIME, err_msg=f"{case.id} {name}")


def begins(run: Any, contact: str, mode: str) -> list[float]:
    """Times from which a contact is in a mode."""
    return [begin for begin, _, found in run.modes.intervals(contact) if found == mode]


def impacts(run: Any) -> np.ndarray:
    return np.array([change.time for change in run.modes.impacts])


def before(run: Any, times: Any) -> dict[str, Any]:
    return dict(run.at(np.asarray(times)))


def after(run: Any, times: Any) -> dict[str, Any]:
    return dict(run.at(np.nextafter(np.asarray(times), np.inf)))


def finished(run: Any) -> Any:
    """A run to its end, with an energy balance, without penetration and without warnings."""
    assert run.status.kind == "FINISHED" and not run.warnings, run.status
    energy = np.ptp(run["kinetic_energy"]) + np.ptp(run["potential_energy"]) + abs(run["kinetic_energy"]).max() + 1e-12
    assert np.ptp(run["total_energy"] - run["work"]) < 1e-9 * energy
    assert min(run[name].min() for name in run.names() if name.endswith("_gap")) > -1e-10
    return run


# ------------------------------------------------------------------------------------------------ bouncing


@check("C01a", "C01b")
def bouncing_ball(case: Case) -> None:
    start = {"z": case.given("h"), "z_rate": case.given("v0") if "v0" in case.parameters else 0.0}
    run = finished(dr.simulate(particle(restitution=case.given("e")), 5.0, start=start))
    first = impacts(run)[:5]
    agrees(case, impact_time=first, vn_before=before(run, first)["z_rate"], vn_after=after(run, first)["z_rate"])
    agrees(case, zeno_time=run.modes[-1].time)
    assert run.modes[-1].modes == {"floor": "stick"}
    near([run["z"][-1], run["z_rate"][-1], run["floor_normal_force"][-1]], [0, 0, GRAVITY], "at rest after the bounces")
    if "apex_heights" in case.numbers:
        tops = first + np.array(case["vn_after"]) / GRAVITY
        total = sum(change.impulse["floor"][0] for change in run.modes.impacts)
        agrees(case, apex_heights=run.at(tops)["z"])
        near(total, case["total_normal_impulse_0_to_zeno_per_mass"], "impulse", 1e-5)  # the contact force has the rest


@check("C01c", "C01d", "C01f", "C01h")
def bouncing_on_slope(case: Case) -> None:
    slope = np.radians(case.given("slope")) if "slope" in case.parameters else 0.0
    laws = {"friction": case.given("mu"), "restitution": case.given("e")}
    turns = "R" in case.parameters
    model = ball(case.given("R"), slope, **laws) if turns else particle(slope, **laws)
    height = case.given("h_n" if "h_n" in case.parameters else "h") + (case.given("R") if turns else 0.0)
    end = case["zeno_time"] + 0.5 if "zeno_time" in case.numbers else 2.7
    start = {"z": height, "x": 0.0, "x_rate": case.given("vx0") if "vx0" in case.parameters else 0.0}
    run = finished(dr.simulate(model, end, start=start, method=TIGHT))
    first = impacts(run)[:5]
    old, new = before(run, first), after(run, first)
    agrees(case, impact_time=first, vn_before=old["z_rate"], vn_after=new["z_rate"], position_along_surface=old["x"])
    agrees(case, vt_before=old["x_rate"], vt_after=new["x_rate"])
    shares = [abs(change.impulse["floor"][1]) / change.impulse["floor"][0] for change in run.modes.impacts[:5]]
    assert ["slip" if share > laws["friction"] - 1e-9 else "stick" for share in shares] == case["impact_mode"]
    if turns:
        agrees(case, omega_after=new["turn_rate"])
    if "zeno_time" not in case.numbers:
        return
    agrees(case, zeno_time=run.modes[-1].time)
    known, at = case["at_zeno"], run.at(case["zeno_time"])
    near([at["x_rate"], at["x"]], [known["vt"], known["s"]], f"{case.id} at the end of the bounces")
    assert run.modes[-1].modes == {"floor": "stick" if turns else "slip"}
    rate = (run["x_rate"][-1] - known["vt"]) / 0.5
    if turns:
        near(at["turn_rate"], known["omega"], "spin at the end of the bounces")
        agrees(case, rolling_acceleration_after_zeno=rate)
        agrees(case, friction_ratio_needed_for_rolling=run["floor_friction_needed"][-1])
    elif laws["friction"]:
        agrees(case, sliding_acceleration_after_zeno=rate)
    else:
        near([run["x_rate"][-1], run["x"][-1]], list(case["at_zeno_plus_half_second"].values()), case.id)


@check("C01i")
def laws_of_one_impact(case: Case) -> None:
    """The three laws with Routh's path; the algebraic and the two-phase law are not those of the package."""
    theta = np.pi / 2 - np.radians(case.given("inclination"))
    start = {"theta": theta, "z": 0.0, "x_rate": 0.5, "z_rate": -1.0, "theta_rate": -case.given("omega")}
    for law, name in (("newton", "Newton"), ("poisson", "Poisson"), ("energetic", "Stronge")):
        run = dr.simulate(rod(case.given("mu"), restitution=case.given("e"), impact=law), 1e-9, start=start, samples=[0.0])
        (change,) = run.modes
        normal, tangential, _ = change.impulse["foot"]
        values = [normal, tangential, run["z_rate"][0], run["x_rate"][0], run["center_x_rate"][0], run["center_z_rate"][0]]
        values += [-run["theta_rate"][0], run["kinetic_energy"][0]]
        near(values, list(case[f"Routh path, {name}"].values()), law)
        near(0.625 - change.lost, run["kinetic_energy"][0], "energy that is lost")


# ------------------------------------------------------------------------------------------------ dry friction


@check("C02a", "C02b", "C02c")
def block_on_slope(case: Case) -> None:
    slope, mu = np.radians(case.given("slope")), case.given("mu")
    speed = case.given("v0") * (1 if case.id == "C02a" else -1)
    end = case["back_at_start_time"] if case.id == "C02c" else 2.0
    run = finished(dr.simulate(particle(slope, friction=mu), end, start={"z": 0.0, "x": 0.0, "x_rate": speed}))
    change = run.modes[1]
    if case.id == "C02c":
        assert change.modes == {"floor": "slip"}
        agrees(case, turn_time=change.time, turn_distance=-run.at(change.time)["x"], back_at_start_speed=run["x_rate"][-1])
        near(run["x"][-1], 0.0, case.id)
        return
    assert change.modes == {"floor": "stick"}
    agrees(case, stop_time=change.time, stop_distance=abs(run["x"][-1]))
    if case.id == "C02a":
        agrees(case, friction_sliding_per_mass=-run["floor_longitudinal_force"][0])
        agrees(case, friction_sticking_per_mass=-run["floor_longitudinal_force"][-1])
        agrees(case, friction_use_at_rest=run["floor_friction_needed"][-1] / mu)


@check("C02d")
def growing_force(case: Case) -> None:
    model = particle(mass=case.given("m"), friction=(case.given("mu_s"), case.given("mu_k")))
    model.generalized_force("x", model.input("pull", "N"))
    rate = case.given("force_rate")
    run = finished(dr.simulate(model, 3.0, inputs={"pull": f"{rate}*t"}))
    (slip,) = begins(run, "floor", "slip")
    agrees(case, breakaway_time=slip, v_at_3s=run["x_rate"][-1], x_at_3s=run["x"][-1])
    speed = run.at(slip + 1e-6)["x_rate"]  # grows by the acceleration and half of 5 N/s / 2 kg
    near(speed / 1e-6 - 1.25e-6, case["acceleration_just_after"], "acceleration after break-away", 1e-7)


@check("C02f")
def stick_slip(case: Case) -> None:
    belt, k, mass = case.given("belt_speed"), case.given("k"), case.given("m")
    model = oscillator(mass, k, (case.given("mu_s"), case.given("mu_k")), belt)
    run = finished(dr.simulate(model, 2.2, start={"x": 0.0, "z": 0.0, "x_rate": belt}, method=TIGHT))
    slips, sticks = begins(run, "floor", "slip"), begins(run, "floor", "stick")
    agrees(case, slip_time=sticks[2] - slips[1], stick_time=slips[2] - sticks[2])
    near(slips[2] - slips[1], case["period"], "period")
    agrees(case, x_slip_start=run.at(slips[1])["x"], x_slip_end=run.at(sticks[2])["x"])
    frequency, middle = np.sqrt(k / mass), case.given("mu_k") * mass * GRAVITY / k
    phase = np.arctan2(belt, frequency * (case["x_slip_start"] - middle))
    top, fastest, bottom = (run.at(slips[1] + (phase + i * np.pi / 2) / frequency) for i in range(3))
    agrees(case, x_max=top["x"], x_min=bottom["x"], v_min=fastest["x_rate"])


@check("C02g")
def spring_and_dry_friction(case: Case) -> None:
    mu, k = case.given("mu"), case.given("k")
    start = {"x": case.given("x0"), "z": 0.0}
    run = finished(dr.simulate(oscillator(case.given("m"), k, mu), 2.5, start=start, method=TIGHT))
    times = [change.time for change in run.modes][1:]
    agrees(case, turning_times=times, turning_points=run.at(np.array(times))["x"])
    agrees(case, final_position=run["x"][-1], stop_time=times[-1], stick_band=mu * run["floor_normal_force"][-1] / k)
    assert run.modes[-1].modes == {"floor": "stick"}


@check("C02h")
def relay_control(case: Case) -> None:
    """A relay is no contact: a law that switches, whose motion slides on its surface (docs/switching.md)."""
    model = dr.Model("relay")
    body = model.body("body", mass=1.0)
    model.prismatic("x", "ground", body, axis="x")
    model.generalized_force("x", model.input("pull", "N"))
    (hit,) = case["surface_hits"]
    law = f"-{case.given('U')}*sign(x_rate + {case.given('c')}*x)"
    run = dr.simulate(model, hit["t"] + 1.0, start={"x": case.given("x0")}, inputs={"pull": law}, method=TIGHT)
    at = run.at(hit["t"])
    near([at["x"], at["x_rate"]], [hit["x"], hit["v"]], case.id)
    np.testing.assert_allclose(run.switches[0].time, hit["t"], rtol=0, atol=TIME)
    agrees(case, x_one_second_after_sliding_starts=run["x"][-1], equivalent_control_there=-run["pull"][-1])


# ------------------------------------------------------------------------------------------------ balls and a disc in space


@check("C03a", "C03b", "C03c", "C03d")
def cue(case: Case) -> None:
    radius = case.given("R")
    (vx, vy), (wx, wy, wz) = case.given("v0"), case.given("omega0")
    start = {"ball_vx": vx, "ball_vy": vy, "ball_wx": wx, "ball_wy": wy, "ball_wz": wz, "ball_z": radius}
    model = ball_in_space(radius, friction=case.given("mu"))
    run = finished(dr.simulate(model, 1.0, start={**start, "ball_x": 0.0, "ball_y": 0.0}, method=TIGHT))
    assert [change.modes["table"] for change in run.modes] == ["slip", "stick"]
    time = run.modes[-1].time
    slip = np.array([run["table_slip_along"][0], run["table_slip_across"][0]])
    at = run.at(time)
    agrees(case, initial_slip_speed=np.linalg.norm(slip), slip_direction=slip / np.linalg.norm(slip), roll_start_time=time)
    agrees(case, position_at_roll=[at["ball_x"], at["ball_y"]], rolling_velocity=[run["speed_x"][-1], run["speed_y"][-1]])
    lost = run["kinetic_energy"][0] - run["kinetic_energy"][-1]
    agrees(case, kinetic_energy_lost_per_mass=lost)
    spin = _in_space(run, -1) @ [run[f"ball_w{axis}"][-1] for axis in "xyz"]
    agrees(case, rolling_omega=spin)


def _in_space(run: Any, index: int) -> np.ndarray:
    """The rotation of the ball at a sample, from its quaternion."""
    w, x, y, z = (run[f"ball_q{part}"][index] for part in "wxyz")
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


@check("C03e")
def falling_disc(case: Case) -> None:
    initial = {name: entry["value"] for name, entry in case.parameters["initial"].items()}
    theta, (w1, w2, w3) = initial["theta"], initial["omega_lean_frame"]
    turn = w2 / np.cos(theta)
    start = {"x": 0.0, "y": 0.0, "heading": initial["psi"], "lean": -theta, "spin": 0.0}
    start |= {"x_rate": initial["v_centre"][0], "y_rate": initial["v_centre"][1]}
    start |= {"heading_rate": turn, "lean_rate": w1, "spin_rate": turn * np.sin(theta) - w3}
    model = disc(case.given("m"), case.given("R"), case.given("mu"))
    run = finished(dr.simulate(model, 0.5, start=start, method=TIGHT))
    for name in ("state_at_t=0.1", "state_at_t=0.2", "state_at_t=0.3", "state_at_t=0.5"):
        known, at = case[name], run.at(float(name.split("=")[1]))
        s, c = np.sin(-at["lean"]), np.cos(at["lean"])
        values = {"x": at["x"], "y": at["y"], "psi": at["heading"], "theta": -at["lean"], "phi": -at["spin"], "zC": at["z"]}
        values |= {"vx": at["x_rate"], "vy": at["y_rate"], "w1": at["lean_rate"], "w2": at["heading_rate"] * c}
        values |= {"w3": at["heading_rate"] * s - at["spin_rate"], "N": at["rim_normal_force"], "energy": at["total_energy"]}
        values |= {"Fx": at["rim_force_x"], "Fy": at["rim_force_y"]}
        along = np.array([np.cos(at["heading"]), np.sin(at["heading"])])
        slip = at["rim_slip_along"] * along + at["rim_slip_across"] * np.array([-along[1], along[0]])
        values |= {"slip_x": slip[0], "slip_y": slip[1]}
        assert set(values) == set(known)
        for key, value in values.items():
            near(value, known[key], f"{name} {key}")
    near(-run.at(case["first_time_theta=1.3"])["lean"], 1.3, "first time of a lean of 1.3", 1e-11)
    top = run.at(case["max_lean"]["t"])
    values = [-top["lean"], top["rim_normal_force"], 1 + top["lean_rate"]]
    near(values, [case["max_lean"]["theta"], case["max_lean"]["N"], 1], "largest lean")


# ------------------------------------------------------------------------------------------------ falling rod


def falling(theta: float) -> dict[str, float]:
    """A rod at an angle on its way from unstable rest on a foot that has not slipped."""
    return {"theta": theta, "theta_rate": float(np.sqrt(3 * GRAVITY * (1 - np.cos(theta)))), "z": 0.0, "x_rate": 0.0}


@check("C04a")
def rod_slips(case: Case) -> None:
    for row in case["slip_table"]:
        run = dr.simulate(rod(row["mu"]), 3.0, start=falling(0.7 * row["theta"]), events=[_down()], method=TIGHT)
        slip = begins(run, "foot", "slip")[0]
        near(run.at(slip)["theta"], row["theta"], f"mu = {row['mu']}")
        assert (run.at(slip + 1e-3)["foot_slip_along"] < 0) == (row["foot_slips"] == "backward"), row
    ideal = rod(np.inf)

    def forces(theta: float) -> tuple[float, float]:
        at = dr.simulate(ideal, 1e-9, start=falling(theta), samples=[0.0])
        return float(at["foot_longitudinal_force"][0]), float(at["foot_normal_force"][0])

    def ratio(theta: float) -> float:
        return forces(theta)[0] / forces(theta)[1]

    def slope(theta: float, h: float = 1e-3) -> float:
        return (8 * (ratio(theta + h) - ratio(theta - h)) - ratio(theta + 2 * h) + ratio(theta - 2 * h)) / (12 * h)

    peak = brentq(slope, 0.5, 0.7)
    near(peak, case["angle_of_peak_ratio"], "angle of the largest ratio")
    agrees(case, critical_mu=ratio(peak), friction_changes_sign_at=brentq(ratio, 0.7, 1.0))
    angles = np.linspace(1.0, 1.2, 5)  # N = (3 cos θ − 1)² m g/4 touches zero, so that its root is taken
    line = np.polyfit(np.cos(angles), [np.sqrt(forces(a)[1]) for a in angles], 1)
    near(np.arccos(-line[1] / line[0]), case["normal_force_zero_at"], "angle at which the normal force vanishes")


def _down() -> dr.Event:
    return dr.Event("down", "theta - 1.2", "stop")


@check("C04e")
def rod_on_smooth_floor(case: Case) -> None:
    start = {"theta": case.given("theta0"), "x": 0.0, "z": 0.0}
    run = finished(dr.simulate(rod(0.0), 1.0, start=start, method=TIGHT))
    flat = impacts(run)[0]
    at = run.at(flat)
    agrees(case, time_to_flat=flat, theta_dot_at_flat=at["theta_rate"], x_foot_at_flat=at["x"])
    near(run.at(flat - 1e-12)["foot_normal_force"], case["N_per_mass_just_before_flat"], "normal force before it is flat")


@check("C04f")
def rod_lifts_off(case: Case) -> None:
    theta, omega = case.given("theta0"), case.given("omega0")
    start = {"theta": theta, "theta_rate": omega, "z": 0.0, "x": -0.5 * np.sin(theta), "x_rate": -0.5 * omega * np.cos(theta)}
    run = finished(dr.simulate(rod(0.0), 0.6, start=start, method=TIGHT))
    left, landing = begins(run, "foot", "open")[0], impacts(run)[0]
    at = run.at(left)
    agrees(case, theta_liftoff=at["theta"], omega_liftoff=at["theta_rate"], time_liftoff=left)
    known, at = case["next_contact"], run.at(landing)
    assert list(run.modes.impacts[0].impulse) == [known["end"]]
    np.testing.assert_allclose(landing, known["time"], rtol=0, atol=TIME)
    near([at["theta"], at["z"] + 0.5 * np.cos(at["theta"])], [known["theta"], known["y_centre"]], "next contact")
    near(at["center_z_rate"], known["vy_centre"], "next contact")
    height = run.at(np.linspace(left, landing, 2001))["z"].max()
    near(height, case["max_foot_height_in_flight"], "sampled at 0.5 ms, so that good", 1e-4)


# ------------------------------------------------------------------------------------------------ off a sphere


@check("C05a", "C05b", "C05c", "C05d", "C05e", "C05f")
def off_a_sphere(case: Case) -> None:
    """From rest; where that is at the top, from 0.1 rad with the speed that it has there then."""
    radius, top = case.given("R"), case.given("theta0")
    a = case.given("a") if "a" in case.parameters else 0.0
    mu = case.given("mu") if "mu" in case.parameters else np.inf if a else 0.0
    theta, distance = max(top, 0.1), radius + a
    speed = np.sqrt((10 / 7 if a else 2) * GRAVITY * distance * (np.cos(top) - np.cos(theta)))
    start = {"x": distance * np.sin(theta), "z": distance * np.cos(theta)}
    start |= {"x_rate": speed * np.cos(theta), "z_rate": -speed * np.sin(theta)} | ({"turn_rate": speed / a} if a else {})
    run = finished(dr.simulate(on_sphere(radius, a, mu), 2.0, start=start, method=TIGHT))
    left = begins(run, "sphere", "open")[0]
    at = run.at(left)
    angle, speed = np.arctan2(at["x"], at["z"]), np.hypot(at["x_rate"], at["z_rate"])
    agrees(case, theta_leave=angle)
    if "cos_theta_leave" in case.numbers:
        agrees(case, cos_theta_leave=np.cos(angle))
    if "time_on_sphere" in case.numbers:
        agrees(case, time_on_sphere=left)
    if not a:
        landing = impacts(run)[0]
        there = run.at(landing)
        agrees(case, speed_leave=speed, flight_time_to_floor=landing - left, x_landing=there["x"])
        agrees(case, v_landing=[there["x_rate"], there["z_rate"]])
        return
    agrees(case, speed_centre_leave=speed, spin_leave=at["turn_rate"])
    if np.isinf(mu):
        return
    (slip,) = begins(run, "sphere", "slip")
    then = run.at(slip)
    agrees(case, theta_slip=np.arctan2(then["x"], then["z"]), theta_dot_slip=np.hypot(then["x_rate"], then["z_rate"]) / distance)
    agrees(case, theta_dot_leave=speed / distance, slip_speed_leave=speed - a * at["turn_rate"], duration_of_slip=left - slip)
    if "time_leave" in case.numbers:
        agrees(case, time_slip_begins=slip, time_leave=left)


# ------------------------------------------------------------------------------------------------ rocking and walking


@check("C06b")
def rocking(case: Case) -> None:
    width, height, tilt = case.given("width"), case.given("height"), case.given("theta0")
    start = {"tilt": tilt, "x": width / 2 * (1 - np.cos(tilt)), "z": width / 2 * np.sin(tilt)}
    run = finished(dr.simulate(block(width, height, case.given("mu")), 2.3, start=start, method=TIGHT))
    times = impacts(run)
    old, new = (abs(values["tilt_rate"]) for values in (before(run, times), after(run, times)))
    agrees(case, impact_times=times, omega_before=old, omega_after=new, omega_ratio=new[0] / old[0])
    for change in run.modes.impacts:
        ((normal, tangential, _),) = [p for p in change.impulse.values() if p[0] > 0]
        near(abs(tangential) / normal, case["mu_needed_at_impact"], "friction that the impact needs")
    turns = [
        brentq(lambda t: run.at(t)["tilt_rate"], first + 1e-3, second - 1e-3, xtol=1e-12) for first, second in pairwise(times)
    ]
    agrees(case, amplitudes_after=abs(run.at(np.array(turns))["tilt"]))


@check("C08b")
def rolling_on_spokes(case: Case) -> None:
    spokes, omega = case.given("n"), case["omega_after_impact"]
    a = np.pi / spokes
    start = {"turn": -a, "x": -np.sin(a), "z": np.cos(a)}
    start |= {"x_rate": np.cos(a) * omega, "z_rate": np.sin(a) * omega, "turn_rate": omega}
    model = rimless_wheel(spokes, case.given("slope"), case.given("I"), mu=2.0)
    run = finished(dr.simulate(model, 2.0, start=start, method=TIGHT))
    first, second = impacts(run)
    old, new = before(run, [first, second]), after(run, [first, second])
    agrees(case, omega_before_impact=old["turn_rate"][1], omega_after_impact=new["turn_rate"][1])
    agrees(case, step_period=second - first, impact_ratio=new["turn_rate"][0] / old["turn_rate"][0])
    agrees(case, mean_speed=(old["x"][1] - old["x"][0]) / (second - first))
    np.testing.assert_allclose([first, second - first], case["step_period"], rtol=0, atol=TIME)
    normal, tangential, _ = run.modes.impacts[0].impulse["spoke_1"]
    agrees(case, mu_needed_at_impact=abs(tangential) / normal)
    # a start that is a little faster is less so, by the multiplier, after a step
    shift = 1e-5
    other = {**start, **{name: start[name] * (1 + shift / omega) for name in ("x_rate", "z_rate", "turn_rate")}}
    faster = dr.simulate(model, 1.0, start=other, method=TIGHT)
    grown = after(faster, impacts(faster))["turn_rate"][0] - new["turn_rate"][0]
    near(grown / shift, case["floquet_multiplier"], "Floquet multiplier", 1e-4)
    # kinetic energy that lifts the hub over the spoke
    vault = case["omega_needed_to_vault"]
    for share, passes in ((1 + 1e-6, True), (1 - 1e-6, False)):
        slow = {**start, **{name: start[name] * share * vault / omega for name in ("x_rate", "z_rate", "turn_rate")}}
        assert (dr.simulate(model, 6.0, start=slow, method=TIGHT)["turn"].max() > 0) == passes


# ------------------------------------------------------------------------------------------------ Painlevé, bicycle


@check("C07a")
def painleve(case: Case) -> None:
    mu = case.given("mu")

    def kind(phi: float, slip: float, omega: float, mu: float = mu) -> str:
        start = {"theta": np.pi / 2 - phi, "z": 0.0, "x_rate": slip, "theta_rate": -omega}
        return str(dr.simulate(rod(mu), 1e-6, start=start).status.kind)

    assert kind(np.pi / 3, -1.0, 0.0) == "CONTACT_INCONSISTENT" and "inconsistent" in case["at_60deg_omega0"]["verdict"]
    assert kind(np.pi / 3, -1.0, 6.0) == "CONTACT_INDETERMINATE" and "indeterminate" in case["at_60deg_omega6"]["verdict"]
    low, high = case["interval_phi"]
    for phi, inside in ((low - 1e-6, False), (low + 1e-6, True), (high - 1e-6, True), (high + 1e-6, False)):
        assert (kind(phi, -1.0, 0.0) == "CONTACT_INCONSISTENT") == inside
    near(np.degrees([low, high]), case["interval_phi_deg"], "degrees")
    near([np.pi / 2 - high, np.pi / 2 - low], case["interval_from_vertical"], "from the vertical")
    for share, verdict in ((1 - 1e-6, "FINISHED"), (1 + 1e-6, "CONTACT_INCONSISTENT")):
        assert kind(case["phi_critical"], -1.0, 0.0, share * case["critical_mu"]) == verdict
    zero = case["omega_at_which_b_changes_sign_60deg"]
    assert kind(np.pi / 3, -1.0, zero - 1e-6) == "CONTACT_INCONSISTENT"
    assert kind(np.pi / 3, -1.0, zero + 1e-5) == "CONTACT_INDETERMINATE"
    start = {"theta": np.pi / 6, "z": 0.0, "x_rate": 1.0, "theta_rate": 0.0}
    run = dr.simulate(rod(mu), 1e-9, start=start, samples=[0.0])
    near(run["foot_normal_force"][0], case["at_60deg_slip_plus_x_omega0"]["N"], "the other direction")


@check("C09a", "C09b")
def bicycle_lifts_a_wheel(case: Case) -> None:
    """The torque grows slowly; a wheel lifts where it passes the threshold."""
    braking = case.id == "C09a"
    model = planar_bicycle(case.given, 1.0)
    torque, lifted, other = ("front_brake", "rear", "front") if braking else ("drive", "front", "rear")
    wanted = case["front_brake_torque" if braking else "rear_drive_torque"]
    speed = 10.0 if braking else 1.0
    run = finished(dr.simulate(model, 1.5, start={"x_rate": speed, "pitch": 0.0}, inputs={torque: "200*t"}, method=TIGHT))
    lift = begins(run, f"{lifted}_wheel", "open")[0]
    np.testing.assert_allclose(200 * lift, wanted, rtol=0, atol=200 * TIME)
    at, slips = run.at(lift), begins(run, f"{lifted}_wheel", "slip")[0]
    assert slips < lift  # it slips before it lifts
    rate = at[f"{other}_wheel_longitudinal_force"] / sum(case.given("masses"))  # it does not pitch yet
    agrees(case, **{"deceleration" if braking else "acceleration": abs(rate)})
    agrees(case, **{f"mu_{other}_needed": at[f"{other}_wheel_friction_needed"]})
    if braking:
        agrees(case, front_friction_force=-at["front_wheel_longitudinal_force"], front_normal=at["front_wheel_normal_force"])
        agrees(case, static_loads=[run["rear_wheel_normal_force"][0], run["front_wheel_normal_force"][0]])


# ------------------------------------------------------------------------------------------------ impacts of several contacts


@check("C10e", "C10g")
def newtons_cradle(case: Case) -> None:
    """Together by Newton's law for all contacts; one after the other where there are gaps between the balls."""
    masses = case.given("masses")
    for gap, name in ((0.0, "simultaneous_Newton"), (1e-7, "sequential_pairwise")):
        start = {f"x_{i}": i * (0.2 + gap) for i in range(3)} | {f"x_{i}_rate": v for i, v in enumerate(case.given("v"))}
        run = dr.simulate(cradle(masses, case.given("e")), 0.01, start=start)
        assert run.status.kind == "FINISHED"
        near([run[f"x_{i}_rate"][-1] for i in range(3)], case[name], name)
        ratio = case["energy_ratio"]["Newton" if gap == 0.0 else "sequential"]
        near(run["kinetic_energy"][-1] / (masses[0] / 2), ratio, "energy")


@check("C10i", "C10j", "C10k", "C10l")
def rod_strikes_supports(case: Case) -> None:
    supports: Sequence[float] = case.given("supports") if "supports" in case.parameters else [case.given("d")]
    omega = case.given("omega") if "omega" in case.parameters else None
    start = {"z": 0.0, "tilt": 0.0}  # a turn about y goes down at positive x
    start |= (
        {"z_rate": -case.given("v"), "tilt_rate": 0.0} if omega is None else {"z_rate": -supports[0] * omega, "tilt_rate": -omega}
    )
    model = rod_on_supports(case.given("m"), case.given("L"), list(supports), case.given("e"))
    run = dr.simulate(model, 1e-9, start=start, samples=[0.0])
    assert run.status.kind == "FINISHED", run.status
    impulse = [run.modes[0].impulse.get(name, (0.0,))[0] for name in "AB"[: len(supports)]]
    rise, turn = float(run["z_rate"][0]), -float(run["tilt_rate"][0])
    agrees(case, vC_after=rise, omega_after=turn)
    after_impact = [rise + at * turn for at in supports]
    if "P" in case.numbers:
        near(impulse if len(impulse) > 1 else impulse[0], case["P"], "impulse")
    if "u_contact_after" in case.numbers:
        agrees(case, u_contact_after=after_impact[0])
    if "A_opens" in case.numbers:
        agrees(case, P_A=impulse[0], P_B=impulse[1], uA_after=after_impact[0], uB_after=after_impact[1])
        agrees(case, omega_ratio=turn / omega)
        assert (run.modes[0].modes["A"] == "open") == case["A_opens"]
