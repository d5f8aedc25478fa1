"""The reference cases by the event-driven judge. Every function takes the case and asserts its numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from impact_laws import Surface, algebraic, path, two_phase
from judge_event import Event, Flow, Run, Sliding, accelerations, contact_laws, impact_impulse, simulate
from numpy.typing import NDArray
from rigid_scene import Scene
from scenes import (
    GRAVITY,
    ball_on_sphere,
    cradle,
    cue_ball,
    oscillator,
    particle_on_slope,
    particle_on_sphere,
    planar_bicycle,
    pulled_block,
    relay,
    rimless_wheel,
    rocking_block,
    rod,
    rod_on_supports,
    rolling_on_sphere,
    smooth_disc,
    sphere_on_slope,
    standing_rod,
    walker,
)
from scipy.optimize import brentq

from reference import Case

Array = NDArray[Any]
Check = Callable[[Case], None]
CHECKS: dict[str, Check] = {}


def check(*ids: str) -> Callable[[Check], Check]:
    """Registers a check for cases."""

    def register(function: Check) -> Check:
        CHECKS.update(dict.fromkeys(ids, function))
        return function

    return register


def near(value: Any, expected: Any, what: str, tolerance: float = 1e-9) -> None:
    """Equal to a tolerance relative to the largest number of the entry, and to 1."""
    expected = np.asarray(expected, dtype=float)
    scale = max(float(np.abs(expected).max(initial=0.0)), 1e-3)
    np.testing.assert_allclose(value, expected, rtol=0, atol=tolerance * scale, err_msg=what)


def agrees(case: Case, **values: Any) -> None:
    """Numbers of a case by name."""
    for name, value in values.items():
        near(value, case[name], f"{case.id} {name}")


# ------------------------------------------------------------------------------------------------ bouncing


@check("C01a", "C01b")
def bouncing_ball(case: Case) -> None:
    scene = particle_on_slope(0.0, e=case.given("e"))
    up = case.given("v0") if "v0" in case.parameters else 0.0
    run = simulate(scene, [0, case.given("h")], [0, up], 1.05 * case["zeno_time"])
    impacts = run.of("impact")
    agrees(
        case,
        impact_time=[i.t for i in impacts[:5]],
        vn_before=[i.before[1] for i in impacts[:5]],
        vn_after=[i.after[1] for i in impacts[:5]],
        zeno_time=impacts[-1].t,
    )
    near(np.concatenate([run.q[1:], run.v[1:], run.forces["ground"][:1]]), [0, 0, GRAVITY], "at rest after the accumulation")
    if "apex_heights" in case.numbers:
        tops = [simulate(scene, i.q, i.after, i.after[1] / GRAVITY).q[1] for i in impacts[:5]]
        total = sum(i.impulses["ground"][0] for i in impacts)
        agrees(case, apex_heights=tops, total_normal_impulse_0_to_zeno_per_mass=total)


@check("C01c", "C01d", "C01f", "C01h")
def bouncing_on_slope(case: Case) -> None:
    angle = np.radians(case.given("slope")) if "slope" in case.parameters else 0.0
    sphere = "R" in case.parameters
    mu, e = case.given("mu"), case.given("e")
    scene = sphere_on_slope(angle, case.given("R"), mu, e) if sphere else particle_on_slope(angle, mu, e)
    height = case.given("h_n" if "h_n" in case.parameters else "h")
    q, v = np.zeros(3 if sphere else 2), np.zeros(3 if sphere else 2)
    q[1], v[0] = height, case.given("vx0") if "vx0" in case.parameters else 0.0
    end = case["zeno_time"] if "zeno_time" in case.numbers else 2.7
    run = simulate(scene, q, v, end + 0.5)
    first = run.of("impact")[:5]
    agrees(
        case,
        impact_time=[i.t for i in first],
        vn_before=[i.before[1] for i in first],
        vn_after=[i.after[1] for i in first],
        vt_before=[i.before[0] for i in first],
        vt_after=[i.after[0] for i in first],
        position_along_surface=[i.q[0] for i in first],
    )
    impulses = [i.impulses["ground"] for i in first]
    assert ["slip" if abs(p[1]) > (mu - 1e-9) * p[0] else "stick" for p in impulses] == case["impact_mode"]
    if "omega_after" in case.numbers:
        agrees(case, omega_after=[i.after[2] for i in first])
    if "zeno_time" not in case.numbers:
        return
    last = run.of("impact")[-1]
    agrees(case, zeno_time=last.t)
    at_zeno = {"vt": last.after[0], "s": last.q[0]} | ({"omega": last.after[2]} if sphere else {})
    for name, value in case["at_zeno"].items():
        near(at_zeno[name], value, f"{case.id} at_zeno {name}")
    if "at_zeno_plus_half_second" in case.numbers:
        near([run.v[0], run.q[0]], [case["at_zeno_plus_half_second"][k] for k in ("vt", "s")], case.id)
    rate = (run.v[0] - last.after[0]) / (run.t - last.t)
    if sphere:
        normal, tangential = run.forces["ground"]
        agrees(case, rolling_acceleration_after_zeno=rate, friction_ratio_needed_for_rolling=-tangential / normal)
        assert run.modes == {"ground": "stick"}
    elif mu:
        agrees(case, sliding_acceleration_after_zeno=rate)


@check("C01i")
def five_laws(case: Case) -> None:
    mu, e = case.given("mu"), case.given("e")
    scene = rod(mu, e)
    theta = np.pi / 2 - np.radians(case.given("inclination"))
    q = np.array([0.0, 0.5 * np.cos(theta), theta])
    v = np.array([*case.given("vC"), -case.given("omega")])
    W, u, _ = scene.contact_rows(0.0, q, v, [0])
    inverse = np.linalg.inv(scene.mass(q))
    G, surface = W @ inverse @ W.T, [Surface(1, mu, e)]
    impulses = {
        "Routh path, Newton": path(G, u, mu, e, "newton"),
        "Routh path, Poisson": path(G, u, mu, e, "poisson"),
        "Routh path, Stronge": path(G, u, mu, e, "energetic"),
        "algebraic Newton (Moreau, e_t=0), sticks": algebraic(G, u, surface)[0],
        "two-phase Poisson (Glocker-Pfeiffer, e_t=0), sticks then slips back": two_phase(G, u, surface)[0],
    }
    assert set(impulses) == set(case.numbers)
    for law, impulse in impulses.items():
        after, relative = v + inverse @ W.T @ impulse, u + G @ impulse
        names = ("Pn", "Pt", "un_after", "ut_after", "vCx_after", "vCy_after", "omega_after", "kinetic_energy_after")
        values = (*impulse, *relative, after[0], after[1], -after[2], scene.kinetic_energy(q, after))
        near(values, [case[law][name] for name in names], law)


# ------------------------------------------------------------------------------------------------ dry friction


@check("C02a", "C02b", "C02c")
def block_on_slope(case: Case) -> None:
    angle, speed = np.radians(case.given("slope")), case.given("v0")
    scene = particle_on_slope(angle, case.given("mu"))
    if case.id == "C02a":
        run = simulate(scene, [0, 0], [speed, 0], 2.0)
        (stop,) = run.of("stick")
        agrees(case, stop_time=stop.t, stop_distance=stop.q[0], friction_sticking_per_mass=-run.forces["ground"][1])
        before = simulate(scene, [0, 0], [speed, 0], 0.5)
        agrees(case, friction_sliding_per_mass=-before.forces["ground"][1])
        agrees(case, friction_use_at_rest=-run.forces["ground"][1] / (case.given("mu") * run.forces["ground"][0]))
        assert run.modes == {"ground": "stick"}
    elif case.id == "C02b":
        run = simulate(scene, [0, 0], [-speed, 0], 2.0)
        (stop,) = run.of("stick")
        agrees(case, stop_time=stop.t, stop_distance=-run.q[0])
    else:
        run = simulate(scene, [0, 0], [-speed, 0], case["back_at_start_time"])
        (turn,) = run.of("stick")
        agrees(case, turn_time=turn.t, turn_distance=-turn.q[0], back_at_start_speed=run.v[0])
        near(run.q[0], 0.0, case.id)


@check("C02d")
def growing_force(case: Case) -> None:
    m = case.given("m")
    scene = pulled_block(m, case.given("force_rate"), case.given("mu_s"), case.given("mu_k"))
    run = simulate(scene, [0, 0], [0, 0], 3.0)
    (slip,) = run.of("slip")
    jump = simulate(scene, [0, 0], [0, 0], slip.t + 1e-9).v[0] / 1e-9
    agrees(case, breakaway_time=slip.t, v_at_3s=run.v[0], x_at_3s=run.q[0])
    near(jump, case["acceleration_just_after"], "acceleration after break-away", 1e-6)


@check("C02f")
def stick_slip(case: Case) -> None:
    scene = oscillator(case.given("m"), case.given("k"), case.given("mu_s"), case.given("mu_k"), case.given("belt_speed"))
    run = simulate(scene, [0, 0], [case.given("belt_speed"), 0], 2.2)
    slips, sticks = run.of("slip"), run.of("stick")
    agrees(
        case,
        period=slips[2].t - slips[1].t,
        slip_time=sticks[1].t - slips[1].t,
        stick_time=slips[2].t - sticks[1].t,
        x_slip_start=slips[1].q[0],
        x_slip_end=sticks[1].q[0],
    )

    def during(t: float) -> Run:
        return simulate(scene, slips[1].q, slips[1].after, t, t=slips[1].t)

    # where the harmonic motion about the equilibrium of kinetic friction has its extremes; the run must agree that they are
    frequency = np.sqrt(case.given("k") / case.given("m"))
    equilibrium = case.given("mu_k") * case.given("m") * GRAVITY / case.given("k")
    phase = np.arctan2(slips[1].before[0], frequency * (slips[1].q[0] - equilibrium))
    top, fastest, bottom = (during(slips[1].t + (phase + k * np.pi / 2) / frequency) for k in range(3))
    near([1 + top.v[0], 1 + bottom.v[0], 1 + fastest.q[0] - equilibrium], np.ones(3), "extremes")
    agrees(case, x_max=top.q[0], x_min=bottom.q[0], v_min=fastest.v[0])


@check("C02g")
def spring_and_dry_friction(case: Case) -> None:
    mu = case.given("mu")
    run = simulate(oscillator(case.given("m"), case.given("k"), mu, mu), [case.given("x0"), 0], [0, 0], 3.0)
    turns = run.of("stick")
    agrees(case, turning_times=[i.t for i in turns], turning_points=[i.q[0] for i in turns])
    agrees(case, final_position=run.q[0], stop_time=turns[-1].t, stick_band=mu * run.forces["belt"][0] / case.given("k"))
    assert run.modes == {"belt": "stick"} and not run.v.any()


@check("C02h")
def relay_control(case: Case) -> None:
    scene = relay(case.given("c"), case.given("U"))
    (hit,) = case["surface_hits"]
    run = simulate(scene, [case.given("x0"), 0], [0, 0], hit["t"] + 1.0)
    (slide,) = run.of("stick")
    near([slide.t, slide.q[0], slide.before[0]], [hit["t"], hit["x"], hit["v"]], case.id)
    agrees(case, x_one_second_after_sliding_starts=run.q[0], equivalent_control_there=-run.forces["relay"][1] / case.given("U"))


# ------------------------------------------------------------------------------------------------ balls and a disc in space


@check("C03a", "C03b", "C03c", "C03d")
def cue(case: Case) -> None:
    radius, mu = case.given("R"), case.given("mu")
    scene = cue_ball(radius, mu)
    q, v = np.zeros(6), np.array([*case.given("v0"), 0.0, *case.given("omega0")])
    run = simulate(scene, q, v, 1.0)
    (roll,) = run.of("stick")
    slip = scene.contact_rows(0.0, q, v, [0])[1][1:]
    agrees(
        case,
        initial_slip_speed=np.linalg.norm(slip),
        slip_direction=slip / np.linalg.norm(slip),
        roll_start_time=roll.t,
        position_at_roll=roll.q[:2],
        rolling_velocity=run.v[:2],
        rolling_omega=run.v[3:],
        kinetic_energy_lost_per_mass=scene.kinetic_energy(q, v) - scene.kinetic_energy(run.q, run.v),
    )
    assert run.modes == {"table": "stick"}


@check("C03e")
def falling_disc(case: Case) -> None:
    m, radius = case.given("m"), case.given("R")
    scene = smooth_disc(m, radius)
    initial = {name: entry["value"] for name, entry in case.parameters["initial"].items()}
    theta, (w1, w2, w3) = initial["theta"], initial["omega_lean_frame"]
    turn = w2 / np.cos(theta)
    q = [0, 0, radius * np.cos(theta), initial["psi"], theta, 0]
    v = [*initial["v_centre"], radius * np.sin(theta) * w1, turn, -w1, w3 - turn * np.sin(theta)]
    run = Run(0.0, np.array(q, dtype=float), np.array(v, dtype=float), "end", (), {}, {})
    for name in ("state_at_t=0.1", "state_at_t=0.2", "state_at_t=0.3", "state_at_t=0.5"):
        run = simulate(scene, run.q, run.v, float(name.split("=")[1]), t=run.t)
        for key, value in disc_state(scene, run, m, radius).items():
            near(value, case[name][key], f"{name} {key}", 1e-10)
    at_lean = simulate(scene, q, v, case["first_time_theta=1.3"])
    near(at_lean.q[4], 1.3, "first time of θ = 1.3", 1e-11)
    top = simulate(scene, q, v, case["max_lean"]["t"])
    near([top.q[4], top.forces["rim"][0], 1 + top.v[4]], [case["max_lean"]["theta"], case["max_lean"]["N"], 1], "lean", 1e-9)


def disc_state(scene: Scene, run: Run, m: float, radius: float) -> dict[str, float]:
    """The state of a disc in the words of the reference."""
    x, y, z, psi, theta, phi = run.q
    s, c = np.sin(theta), np.cos(theta)
    w1, w2, w3 = -run.v[4], run.v[3] * c, run.v[5] + run.v[3] * s
    heading, left = np.array([np.cos(psi), np.sin(psi)]), np.array([-np.sin(psi), np.cos(psi)])
    slip = run.v[:2] + radius * (w3 * heading - w1 * -c * left)
    energy = scene.kinetic_energy(run.q, run.v) + m * GRAVITY * z
    values = {"x": x, "y": y, "psi": psi, "theta": theta, "phi": phi, "vx": run.v[0], "vy": run.v[1], "zC": z}
    values |= {"w1": w1, "w2": w2, "w3": w3, "N": run.forces["rim"][0], "slip_x": slip[0], "slip_y": slip[1]}
    return values | {"energy": energy}


# ------------------------------------------------------------------------------------------------ falling rod


def rod_from_vertical(theta: float, g: float = GRAVITY, length: float = 1.0) -> tuple[list[float], list[float]]:
    """State of a rod at an angle on its way from unstable rest, standing on a foot that has not slipped."""
    return standing_rod(theta, float(np.sqrt(3 * g / length * (1 - np.cos(theta)))))


@check("C04a")
def rod_slips(case: Case) -> None:
    for row in case["slip_table"]:
        scene = rod(row["mu"])
        run = simulate(scene, *rod_from_vertical(0.7 * row["theta"]), 3.0, stop="slip")
        near(run.q[2], row["theta"], f"mu = {row['mu']}")
        after = simulate(scene, run.q, run.v, 1e-3)
        foot = scene.contact_rows(after.t, after.q, after.v, [0])[1][1]
        assert (foot < 0) == (row["foot_slips"] == "backward"), row

    def ratio(theta: float) -> float:
        normal, tangential = simulate(rod(np.inf), *rod_from_vertical(theta), 1e-12).forces["foot"]
        return tangential / normal

    def slope(theta: float, h: float = 1e-3) -> float:
        return (8 * (ratio(theta + h) - ratio(theta - h)) - ratio(theta + 2 * h) + ratio(theta - 2 * h)) / (12 * h)

    peak = brentq(slope, 0.5, 0.7)
    agrees(case, critical_mu=ratio(peak), friction_changes_sign_at=brentq(ratio, 0.7, 1.0))
    near(peak, case["angle_of_peak_ratio"], "angle of the largest ratio")

    def normal(theta: float) -> float:  # N touches zero there: (3 cos θ − 1)², so its root is taken
        value = simulate(rod(np.inf), *rod_from_vertical(theta), 1e-12).forces["foot"][0]
        return float(np.sqrt(max(value, 0.0)))

    angles = np.linspace(1.0, 1.2, 9)
    line = np.polyfit(np.cos(angles), [normal(a) for a in angles], 1)
    near(np.arccos(-line[1] / line[0]), case["normal_force_zero_at"], "angle at which the normal force vanishes")


@check("C04e")
def rod_on_smooth_floor(case: Case) -> None:
    theta = case.given("theta0")
    scene = rod(0.0)
    run = simulate(scene, [0.5 * np.sin(theta), 0.5 * np.cos(theta), theta], [0, 0, 0], 1.0, stop="impact")
    (flat,) = run.of("impact")
    (force,) = accelerations(scene, flat.t, flat.q, flat.before, [0])
    agrees(
        case,
        time_to_flat=flat.t,
        theta_dot_at_flat=flat.before[2],
        x_foot_at_flat=flat.q[0] - 0.5 * np.sin(flat.q[2]),
        N_per_mass_just_before_flat=force.multipliers[0],
    )


@check("C04f")
def rod_lifts_off(case: Case) -> None:
    theta, omega = case.given("theta0"), case.given("omega0")
    scene = rod(0.0)
    run = simulate(scene, [0, 0.5 * np.cos(theta), theta], [0, -0.5 * np.sin(theta) * omega, omega], 0.6, stop="impact")
    (leave,), (landing,) = run.of("lift off", "foot"), run.of("impact")
    agrees(case, theta_liftoff=leave.q[2], omega_liftoff=leave.before[2], time_liftoff=leave.t)
    expected = case["next_contact"]
    assert landing.contact == expected["end"]
    values = [landing.t, landing.q[2], landing.q[1], landing.before[1]]
    near(values, [expected[name] for name in ("time", "theta", "y_centre", "vy_centre")], case.id)
    times = np.linspace(0.0, landing.t - leave.t, 20001)
    height = leave.q[1] + leave.before[1] * times - GRAVITY * times**2 / 2 - 0.5 * np.cos(leave.q[2] + leave.before[2] * times)
    near(height.max(), case["max_foot_height_in_flight"], "sampled at 0.5 ms, so that good", 1e-4)


# ------------------------------------------------------------------------------------------------ off a sphere


@check("C05a", "C05b")
def off_a_smooth_sphere(case: Case) -> None:
    radius, start = case.given("R"), case.given("theta0")
    theta = max(start, 0.1)
    speed = np.sqrt(2 * GRAVITY * radius * (np.cos(start) - np.cos(theta)))
    q = [radius * np.sin(theta), radius * (1 + np.cos(theta))]
    run = simulate(particle_on_sphere(radius), q, [speed * np.cos(theta), -speed * np.sin(theta)], 3.0, stop="impact")
    (leave,), (landing,) = run.of("lift off"), run.of("impact")
    angle = np.arctan2(leave.q[0], leave.q[1] - radius)
    agrees(
        case,
        cos_theta_leave=np.cos(angle),
        theta_leave=angle,
        speed_leave=np.linalg.norm(leave.before),
        flight_time_to_floor=landing.t - leave.t,
        x_landing=landing.q[0],
        v_landing=landing.before,
    )
    if "time_on_sphere" in case.numbers:
        agrees(case, time_on_sphere=leave.t)


@check("C05c", "C05d", "C05e", "C05f")
def ball_off_a_sphere(case: Case) -> None:
    radius, ball, start = case.given("R"), case.given("a"), case.given("theta0")
    mu = case.given("mu") if "mu" in case.parameters else np.inf
    distance, theta = radius + ball, max(start, 0.1)
    rate = np.sqrt(10 / 7 * GRAVITY / distance * (np.cos(start) - np.cos(theta)))
    run = simulate(ball_on_sphere(radius, ball, mu), *rolling_on_sphere(distance, ball, theta, rate), 3.0, stop="lift off")
    leave = run.of("lift off")[0]

    def angle(event: Event) -> float:
        return float(np.arctan2(event.q[0], event.q[1]))

    agrees(case, theta_leave=angle(leave), speed_centre_leave=np.linalg.norm(leave.before[:2]), spin_leave=leave.before[2])
    if np.isinf(mu):
        agrees(case, cos_theta_leave=np.cos(angle(leave)))
        if "time_on_sphere" in case.numbers:
            agrees(case, time_on_sphere=leave.t)
        return
    (slip,) = run.of("slip")
    speeds = [np.linalg.norm(event.before[:2]) for event in (slip, leave)]
    agrees(
        case,
        theta_slip=angle(slip),
        duration_of_slip=leave.t - slip.t,
        theta_dot_slip=speeds[0] / distance,
        theta_dot_leave=speeds[1] / distance,
        slip_speed_leave=speeds[1] - ball * leave.before[2],
    )
    if "time_leave" in case.numbers:
        agrees(case, time_slip_begins=slip.t, time_leave=leave.t)


# ------------------------------------------------------------------------------------------------ rocking and walking


@check("C06b")
def rocking(case: Case) -> None:
    width, height, theta = case.given("width"), case.given("height"), case.given("theta0")
    b, h = width / 2, height / 2
    scene = rocking_block(width, height, case.given("mu"))
    q = [b * np.cos(theta) - h * np.sin(theta), b * np.sin(theta) + h * np.cos(theta), theta]
    run = simulate(scene, q, [0, 0, 0], 2.2)
    impacts = run.of("impact")
    before, after = np.array([(abs(i.before[2]), abs(i.after[2])) for i in impacts]).T
    agrees(case, impact_times=[i.t for i in impacts], omega_before=before, omega_after=after, omega_ratio=after[0] / before[0])
    ratios = [max(abs(p[1]) / p[0] for p in i.impulses.values() if p[0] > 1e-9) for i in impacts]
    near(ratios, np.full(5, case["mu_needed_at_impact"]), "friction that the impacts need")
    for i, amplitude in zip(impacts, case["amplitudes_after"], strict=False):
        swing = brentq(
            lambda a, i=i: scene.kinetic_energy(i.q, i.after) - GRAVITY * (b * np.sin(a) + h * (np.cos(a) - 1)), 0, 0.2
        )
        near(swing, amplitude, "amplitude")


@check("C08b")
def rolling_on_spokes(case: Case) -> None:
    spokes, omega = case.given("n"), case["omega_after_impact"]
    scene = rimless_wheel(spokes, case.given("slope"), case.given("I"), mu=2.0)
    a = np.pi / spokes
    run = simulate(scene, [-np.sin(a), np.cos(a), -a], [np.cos(a) * omega, np.sin(a) * omega, omega], 2.0)
    first, second = run.of("impact")
    agrees(
        case,
        step_period=second.t - first.t,
        omega_before_impact=second.before[2],
        omega_after_impact=second.after[2],
        impact_ratio=first.after[2] / first.before[2],
        mean_speed=(second.q[0] - first.q[0]) / (second.t - first.t),
    )
    near(first.t, case["step_period"], "the first step")
    pushed = max(first.impulses.values(), key=lambda impulse: impulse[0])
    agrees(case, mu_needed_at_impact=abs(pushed[1]) / pushed[0])
    lost = 2 * GRAVITY * (1 - np.cos(case.given("slope") - a)) / (case.given("I") + 1)
    agrees(case, omega_needed_to_vault=np.sqrt(lost))


@check("C08h", "C08j")
def walking(case: Case) -> None:
    """One stride of the walkers as bodies with feet that touch and leave: it returns to where it started."""
    simplest = case.id == "C08h"
    mass = case.given("foot_masses" if simplest else "leg_mass")
    center, slope = (1.0, case.given("slope")) if simplest else (case.given("b"), np.radians(case.given("slope")))
    scene = walker(case.given("hip_mass"), mass, center, slope, case.given("g"), mu=1.0)
    angle = case["stance_angle_from_slope_normal"]
    rates = case["stance_rate"], case["swing_rate"]
    q = [-np.sin(angle), np.cos(angle), angle, -angle]
    v = [-np.cos(angle) * rates[0], -np.sin(angle) * rates[0], *rates]
    run = simulate(scene, q, v, 1.5 * case["period"], stop="impact")
    (landing,) = run.of("impact")
    assert landing.contact == "foot 2"
    agrees(case, period=landing.t, rates_before_impact=landing.before[2:])
    near([landing.q[3], landing.q[2]], [angle, -angle], "angles at landing")
    near([landing.after[3], landing.after[2]], rates, "rates after landing")
    normal, tangential = landing.impulses["foot 2"]
    agrees(case, friction_ratio_at_impact=abs(tangential) / normal)
    assert landing.impulses["foot 1"][0] == 0
    trailing = scene.contact_rows(landing.t, landing.q, landing.after, [0])[1][0]
    agrees(case, trailing_foot_normal_velocity_after=trailing)


# ------------------------------------------------------------------------------------------------ Painlevé, bicycle


def sliding_rod(phi: float, mu: float, slip: float, omega: float) -> tuple[Scene, Array, Array]:
    """A rod inclined by φ from the horizontal whose foot slides."""
    scene, theta = rod(mu), np.pi / 2 - phi
    v = np.array([slip + 0.5 * np.cos(theta) * omega, -0.5 * np.sin(theta) * omega, omega])
    return scene, np.array([0.0, 0.5 * np.cos(theta), theta]), v


@check("C07a")
def painleve(case: Case) -> None:
    mu = case.given("mu")

    def coefficient(phi: float, mu: float) -> float:
        laws, G, _ = contact_laws(*_at(phi, mu), [0], {})
        assert laws[0].direction is not None and laws[0].direction[0] == -1
        return float(G[0, 0] + mu * G[0, 1])

    def _at(phi: float, mu: float) -> tuple[Scene, float, Array, Array]:
        scene, q, v = sliding_rod(phi, mu, -1.0, 0.0)
        return scene, 0.0, q, v

    def needed(phi: float) -> float:  # friction at which the coefficient vanishes: it is linear in the friction
        one, two = coefficient(phi, 1.0), coefficient(phi, 2.0)
        return 1.0 + one / (one - two)

    def slope(phi: float, h: float = 1e-3) -> float:
        return (8 * (needed(phi + h) - needed(phi - h)) - needed(phi + 2 * h) + needed(phi - 2 * h)) / (12 * h)

    steepest = brentq(slope, 0.9, 1.3)
    agrees(case, critical_mu=needed(steepest), phi_critical=steepest)
    interval = [brentq(lambda phi: coefficient(phi, mu), *ends, xtol=1e-14) for ends in ((0.5, 1.1), (1.1, 1.5))]
    agrees(case, interval_phi=interval, interval_phi_deg=np.degrees(interval), p_at_tan2=coefficient(np.arctan(2.0), mu))
    agrees(case, interval_from_vertical=np.pi / 2 - np.array(interval[::-1]), p_at_phi_60deg=coefficient(np.pi / 3, mu))

    def found(slip: float, omega: float) -> tuple[list[Any], float]:
        scene, q, v = sliding_rod(np.pi / 3, mu, slip, omega)
        return accelerations(scene, 0.0, q, v, [0]), float(contact_laws(scene, 0.0, q, v, [0], {})[2][0])

    none, free = found(-1.0, 0.0)
    near(free, case["at_60deg_omega0"]["b"], "b")
    assert none == [] and simulate(*sliding_rod(np.pi / 3, mu, -1.0, 0.0), 1.0).status == "inconsistent"
    two, free = found(-1.0, 6.0)
    near([free, *sorted(s.multipliers[0] for s in two)], [case["at_60deg_omega6"]["b"], 0.0, case["at_60deg_omega6"]["N"]], "two")
    assert simulate(*sliding_rod(np.pi / 3, mu, -1.0, 6.0), 1.0).status == "indeterminate"
    (one,), _ = found(1.0, 0.0)
    near(one.multipliers[0], case["at_60deg_slip_plus_x_omega0"]["N"], "unique")
    agrees(case, omega_at_which_b_changes_sign_60deg=brentq(lambda omega: found(-1.0, omega)[1], 4.0, 5.5))


@check("C09a", "C09b")
def bicycle_lifts_a_wheel(case: Case) -> None:
    braking = case.id == "C09a"
    q = np.array([0.0, case.given("rR"), 0.0, 0.0, 0.0])
    v = np.array([1.0, 0.0, 0.0, 1 / case.given("rR"), 1 / case.given("rF")])
    lifting = 0 if braking else 1  # contact

    def solved(torque: float, mu: float) -> tuple[float, Array, Array]:
        scene = planar_bicycle(case.given, mu, **({"front_brake": torque} if braking else {"drive": torque}))
        (one,) = accelerations(scene, 0.0, q, v, [0, 1])
        W, _, _ = scene.contact_rows(0.0, q, v, [0, 1])
        forward = np.linalg.solve(scene.mass(q), scene.force(0.0, q, v) + W.T @ one.multipliers)[0]
        return forward, one.multipliers, one.results

    def margin(torque: float, mu: float) -> float:
        _, force, motion = solved(torque, mu)
        return float(force[2 * lifting] - motion[2 * lifting])

    def rolls(torque: float) -> tuple[float, Array]:
        scene = planar_bicycle(case.given, np.inf, **({"front_brake": torque} if braking else {"drive": torque}))
        flow = Flow(scene, [Sliding(0, True, np.zeros(1)), Sliding(1, True, np.zeros(1))], 5)
        acceleration, force, _ = flow.solve(0.0, q, v)
        return acceleration[0], force

    coulomb = brentq(margin, 50.0, 400.0, args=(1.0,), xtol=1e-12)
    rolling = brentq(lambda torque: rolls(torque)[1][2 * lifting], 50.0, 400.0, xtol=1e-12)
    sign = -1.0 if braking else 1.0
    forward, force, _ = solved(coulomb, 1.0)
    other, other_force = rolls(rolling)
    near(solved(0.0, 1.0)[1][::2], [612.8364705882353, 309.3035294117647], "static loads")
    if braking:
        agrees(case, deceleration=-forward, front_brake_torque=coulomb, front_friction_force=-force[3], front_normal=force[2])
        agrees(case, mu_front_needed=-force[3] / force[2], static_loads=solved(0.0, 1.0)[1][::2])
        near([sign * other, rolling], list(case["if_rear_wheel_is_forced_to_roll"].values())[:2], "forced to roll")
        near(-other_force[3] / other_force[2], case["if_rear_wheel_is_forced_to_roll"]["mu_front_needed"], "forced to roll")
    else:
        agrees(case, acceleration=forward, rear_drive_torque=coulomb, mu_rear_needed=force[1] / force[0])
        near([other, rolling], list(case["if_front_wheel_is_forced_to_roll"].values()), "forced to roll")


# ------------------------------------------------------------------------------------------------ impacts


@check("C10a", "C10b")
def superball(case: Case) -> None:
    mu = case.given("mu") if "mu" in case.parameters else np.inf
    scene = sphere_on_slope(0.0, case.given("R"), mu, case.given("e_n"), case.given("e_t"))
    vx, vz = case.given("v")
    run = simulate(scene, [0, 0, 0], [vx, vz, case.given("omega")], 1.0, stop="impact")
    (bounce,) = run.of("impact")
    agrees(case, v_after=bounce.after[:2], omega_after=bounce.after[2])
    agrees(case, tangential_impulse_per_mass=bounce.impulses["ground"][1])
    if "mu_needed" in case.numbers:
        slips = [w[0] - case.given("R") * w[2] for w in (bounce.before, bounce.after)]
        rotational = np.array([[w[0], w[1], w[2]] for w in (bounce.before, bounce.after)])
        before, after = (scene.kinetic_energy(bounce.q, w) for w in rotational)
        agrees(case, slip_before_after=slips, energy_ratio=after / before)
        agrees(case, mu_needed=abs(bounce.impulses["ground"][1]) / bounce.impulses["ground"][0])


@check("C10c")
def garwin(case: Case) -> None:
    radius = 0.05
    scene = sphere_on_slope(0.0, radius, np.inf, 1.0, 1.0, g=0.0, ceiling=1.0)
    run = simulate(scene, [0, 0.5, 0], [1.0, -1.0, 0.0], 3.0)
    impacts = run.of("impact")
    assert [i.contact for i in impacts] == ["ground", "table", "ground"]
    agrees(case, vx_over_v0=[i.after[0] for i in impacts], R_omega_over_v0=[radius * i.after[2] for i in impacts])


@check("C10d")
def alternating_hops(case: Case) -> None:
    scene = sphere_on_slope(0.0, case.given("R"), np.inf, case.given("e_n"), case.given("e_t"))
    run = simulate(scene, [0, case.given("h"), 0], [case.given("vx0"), 0, case.given("omega0")], 4.2)
    impacts = run.of("impact")
    agrees(
        case,
        impact_times=[i.t for i in impacts],
        x_of_impacts=[i.q[0] for i in impacts],
        vx_after=[i.after[0] for i in impacts],
        omega_after=[i.after[2] for i in impacts],
    )


@check("C10e", "C10g")
def newtons_cradle(case: Case) -> None:
    scene = cradle(case.given("masses"), case.given("e"))
    v = np.array(case.given("v"), dtype=float)
    laws = {"newton": "simultaneous_Newton", "poisson": "simultaneous_Poisson", "sequential": "sequential_pairwise"}
    energies = {"newton": "Newton", "poisson": "Poisson", "sequential": "sequential"}
    for law, name in laws.items():
        run = simulate(scene, np.zeros(3), v, 1.0, restitution=law, stop="impact")  # type: ignore[arg-type]
        near(run.v, case[name], f"{case.id} {name}")
        ratio = scene.kinetic_energy(run.q, run.v) / scene.kinetic_energy(run.q, v)
        near(ratio, case["energy_ratio"][energies[law]], f"{case.id} energy, {law}")


@check("C10i", "C10j", "C10k", "C10l")
def rod_strikes_supports(case: Case) -> None:
    supports = case.given("supports") if "supports" in case.parameters else [case.given("d")]
    scene = rod_on_supports(case.given("m"), case.given("L"), supports, case.given("e"))
    if "omega" in case.parameters:  # it turns about the first support
        v = np.array([-supports[0] * case.given("omega"), case.given("omega")])
    else:
        v = np.array([-case.given("v"), 0.0])
    W, u, _ = scene.contact_rows(0.0, np.zeros(2), v, list(range(len(supports))))
    inverse = np.linalg.inv(scene.mass(np.zeros(2)))
    G = W @ inverse @ W.T
    surfaces = [Surface(0, 0.0, case.given("e"))] * len(supports)
    for law in ("newton", "poisson"):
        impulse, _ = impact_impulse(G, u, surfaces, law)  # type: ignore[arg-type]
        after, relative = v + inverse @ W.T @ impulse, u + G @ impulse
        agrees(case, vC_after=after[0], omega_after=after[1])
        if "P" in case.numbers:
            near(impulse if len(impulse) > 1 else impulse[0], case["P"], f"{case.id} impulse")
        if "u_contact_after" in case.numbers:
            agrees(case, u_contact_after=relative[0])
        if "A_opens" in case.numbers:
            agrees(case, P_A=impulse[0], P_B=impulse[1], uA_after=relative[0], uB_after=relative[1])
            agrees(case, omega_ratio=after[1] / v[1])
            assert bool(relative[0] > 1e-9) == case["A_opens"]
