"""Reference cases of walking machines, superballs and Housner's linear block, by the package itself.

Feet and hubs without mass have no equations of motion in the air; their cases are limits of small masses, by extrapolation.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from event_cases import Check, near
from package_cases import after, agrees, before, finished, impacts
from package_models import GRAVITY, TIGHT, ball, rimless_wheel, walker
from scipy.optimize import brentq

import draisine as dr
from reference import Case

MASSES = 2e-4 * np.arange(1, 6)  # of feet and hubs that become light


def limit(values: list[Any]) -> np.ndarray:
    """The value at mass 0 of the polynomial through values at `MASSES`."""
    n = len(MASSES)
    weights = [np.prod([MASSES[j] / (MASSES[j] - MASSES[i]) for j in range(n) if j != i]) for i in range(n)]
    return np.tensordot(weights, np.array(values), 1)


# ------------------------------------------------------------------------------------------------ walkers


def step(model: dr.Model, state: Any, until: float, **options: Any) -> tuple[np.ndarray, float, Any]:
    """The stance angle and the rates of both legs just after the next heel strike, from those just after the last one; angles are
    positive where a foot is ahead of the hip."""
    angle, stance, swing = state
    start = {"left_turn": -angle, "right_turn": angle, "left_turn_rate": -stance, "right_turn_rate": -swing}
    start |= {"x": -np.sin(angle), "z": np.cos(angle), "x_rate": -np.cos(angle) * stance, "z_rate": -np.sin(angle) * stance}
    run = dr.simulate(model, until, start=start, method=TIGHT, **options)
    assert run.status.kind == "FINISHED", run.status
    (strike,) = impacts(run)
    new = after(run, strike)
    assert run.modes[-1].modes == {"left_foot": "open", "right_foot": "stick"}
    return np.array([-new["right_turn"], -new["right_turn_rate"], -new["left_turn_rate"]]), strike, run


def multipliers(mapped: Callable[[np.ndarray], np.ndarray], state: np.ndarray, h: float = 1e-4) -> np.ndarray:
    """Eigenvalues of the derivative of a map, by central differences."""
    columns = []
    for shift in h * np.eye(len(state)):
        points = [mapped(state + k * shift) for k in (-2, -1, 1, 2)]
        columns.append((points[0] - 8 * points[1] + 8 * points[2] - points[3]) / (12 * h))
    return np.linalg.eigvals(np.array(columns).T)


def same_multipliers(case: Case, found: np.ndarray) -> None:
    """Multipliers up to their order, as well as differences have them."""
    expected = np.array([entry["re"] + 1j * entry["im"] for entry in case["floquet"]])
    assert max(np.abs(expected - value).min() for value in found) < 1e-6
    assert max(np.abs(found - value).min() for value in expected) < 1e-6


def compass_gait(case: Case) -> None:
    small = case.id == "C08h"
    mass, along = case.given("foot_masses" if small else "leg_mass"), 1.0 if small else case.given("b")
    slope = case.given("slope") if small else np.radians(case.given("slope"))
    model = walker(case.given("hip_mass"), mass, along, slope, case.given("g"))
    state = np.array([case["stance_angle_from_slope_normal"], case["stance_rate"], case["swing_rate"]])
    new, strike, run = step(model, state, 1.05 * case["period"])
    near(new, state, "gait")
    np.testing.assert_allclose(strike, case["period"], rtol=0, atol=1e-10)
    assert run["right_foot_gap"].min() < -1e-5  # scuffing is ignored
    old = before(run, strike)
    agrees(case, rates_before_impact=[-old["left_turn_rate"], -old["right_turn_rate"]])
    normal, along_slope, _ = run.modes.impacts[0].impulse["right_foot"]
    assert "left_foot" not in run.modes.impacts[0].impulse  # the trailing foot takes none
    agrees(case, friction_ratio_at_impact=abs(along_slope) / normal)
    leaving = after(run, strike)
    rise = leaving["z_rate"] + np.sin(leaving["left_turn"]) * leaving["left_turn_rate"]
    agrees(case, trailing_foot_normal_velocity_after=rise)
    same_multipliers(case, multipliers(lambda near_it: step(model, near_it, 1.1 * case["period"])[0], state))


def simplest(case: Case) -> None:
    """Garcia's model is the limit of light feet."""
    model = walker(1.0, 1e-3, 1.0, case.given("slope"), 1.0)
    point = np.array([case["theta"], case["theta_dot"]])
    until = 1.1 * case["period"]

    def mapped(state: np.ndarray) -> np.ndarray:
        """The angle and its rate after a step, the rate of the swing leg then, and the period, for feet without mass."""
        theta, rate = state
        swing = rate - rate * (1 - np.cos(2 * theta))
        steps = [step(model, (theta, rate, swing), until, parameters={"leg_mass": mass})[:2] for mass in MASSES]
        return limit([[*new, strike] for new, strike in steps])

    new = mapped(point)
    near(new[:2], point, "gait")
    near([new[1] - new[2], new[3]], [case["phi_dot"], case["period"]], "rate of the swing leg, and period")
    same_multipliers(case, multipliers(lambda state: mapped(state)[:2], point))


def hub_alone(case: Case) -> None:
    """A rimless wheel with all of the mass in its hub is the limit of a light rim."""
    spokes, omega = case.given("n"), case["omega_after_impact"]
    a, values = np.pi / spokes, []
    start = {"turn": -a, "x": -np.sin(a), "z": np.cos(a)}
    start |= {"x_rate": np.cos(a) * omega, "z_rate": np.sin(a) * omega, "turn_rate": omega}
    for inertia in MASSES:
        run = dr.simulate(rimless_wheel(spokes, case.given("slope"), inertia, 2.0), 1.2, start=start, method=TIGHT)
        (strike,) = impacts(run)
        normal, tangential, _ = run.modes.impacts[0].impulse["spoke_1"]
        old, new = before(run, strike)["turn_rate"], after(run, strike)["turn_rate"]
        values.append([strike, old, new, new / old, abs(tangential) / normal])
    found = dict(zip(("time", "before", "after", "ratio", "mu"), limit(values), strict=True))
    agrees(case, step_period=found["time"], omega_before_impact=found["before"], omega_after_impact=found["after"])
    agrees(case, impact_ratio=found["ratio"], floquet_multiplier=found["ratio"] ** 2, mu_needed_at_impact=found["mu"])
    agrees(case, mean_speed=2 * np.sin(a) / found["time"])


# ------------------------------------------------------------------------------------------------ Housner, superball


def linear_block(case: Case) -> None:
    """The mirror image of a block that rocks to the other side is one that bounces from a stop: with the rates' ratio of
    Housner's law as its restitution, and a spring with p² as its negative stiffness."""
    alpha, p = case.given("alpha"), np.sqrt(3 * case.given("g") / (4 * case.given("R")))
    ratio = 1 - 1.5 * np.sin(alpha) ** 2
    m = dr.Model("block")
    m.gravity(0)
    m.revolute("tilt", "ground", m.body("block", mass=1.0, inertia=(1, 1, 1)), axis="y", limits=(0, None), restitution=ratio)
    m.spring("tilt", -(p**2), rest=alpha)
    run = finished(dr.simulate(m, 2.3, start={"tilt": case.given("theta0")}, method=TIGHT))
    times = impacts(run)
    agrees(case, p=p, impact_times=times, period_first=4 * times[0])
    old, new = before(run, times)["tilt_rate"], after(run, times)["tilt_rate"]
    agrees(case, omega_ratio=-new[0] / old[0], energy_ratio=(new[0] / old[0]) ** 2)
    tops = [brentq(lambda t: run.at(t)["tilt_rate"], a + 1e-3, b - 1e-3, xtol=1e-12) for a, b in pairwise(times)]
    heights = run.at(np.array(tops[:4]))["tilt"]
    agrees(case, amplitudes_after=heights)


def superball(case: Case) -> None:
    laws = {"restitution": case.given("e_n"), "tangential_restitution": case.given("e_t"), "impact": "newton"}
    mu = case.given("mu") if "mu" in case.parameters else 0.3  # more than is needed
    model = ball(case.given("R"), friction=mu, **laws)
    speed, drop = case.given("v")
    start = {"z": case.given("R"), "x_rate": speed, "z_rate": drop, "turn_rate": case.given("omega")}
    run = dr.simulate(model, 1e-9, start=start, samples=[0.0], method=TIGHT)
    agrees(case, v_after=[run["x_rate"][0], run["z_rate"][0]], omega_after=run["turn_rate"][0])
    normal, along, _ = run.modes[0].impulse["floor"]
    agrees(case, tangential_impulse_per_mass=along)
    if case.id == "C10a":
        agrees(case, mu_needed=abs(along) / normal, slip_before_after=[4.0, run["floor_slip_along"][0]])
        first = 0.5 * (speed**2 + drop**2) + 0.2 * (case.given("R") * case.given("omega")) ** 2
        agrees(case, energy_ratio=run["kinetic_energy"][0] / first)
        near(run.modes.lost, first - run["kinetic_energy"][0], "energy that is lost")


def below_a_table(case: Case) -> None:
    """Floor, underside of a table, floor: the ball comes back."""
    radius, v0 = 0.05, 2.0
    m = ball(radius, g=0.0, friction=np.inf, restitution=1.0, tangential_restitution=1.0, impact="newton")
    table = m.frame("table", "ground", (0, 0, 1), orientation=[("x", np.pi)])
    m.contact("under", "ball", radius=radius, on=table, friction=np.inf, restitution=1, tangential_restitution=1, impact="newton")
    run = finished(dr.simulate(m, 2.0, start={"z": 0.5, "x_rate": v0, "z_rate": -2.0, "turn_rate": 0}, method=TIGHT))
    at = after(run, impacts(run)[:3])
    agrees(case, vx_over_v0=at["x_rate"] / v0, R_omega_over_v0=radius * at["turn_rate"] / v0)
    near(run.modes.lost, 0.0, "an elastic ball loses no energy")


def hops(case: Case) -> None:
    """Long and short hops alternate."""
    laws = {"restitution": case.given("e_n"), "tangential_restitution": case.given("e_t"), "impact": "newton"}
    model = ball(case.given("R"), friction=np.inf, **laws)
    start = {"z": case.given("R") + case.given("h"), "x": 0.0, "x_rate": case.given("vx0"), "turn_rate": case.given("omega0")}
    run = finished(dr.simulate(model, 4.5, start=start, method=TIGHT))
    times = impacts(run)
    at = after(run, times)
    agrees(case, impact_times=times, x_of_impacts=at["x"], vx_after=at["x_rate"], omega_after=at["turn_rate"])
    np.testing.assert_allclose(times, case["impact_times"], rtol=0, atol=1e-10)
    assert case.given("g") == GRAVITY


CHECKS: dict[str, Check] = {
    "C06a": linear_block,
    "C08a": hub_alone,
    "C08d": simplest,
    "C08e": simplest,
    "C08h": compass_gait,
    "C08j": compass_gait,
    "C10a": superball,
    "C10b": superball,
    "C10c": below_a_table,
    "C10d": hops,
}
