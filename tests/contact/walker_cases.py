"""The reference cases that are return maps: simplest walker, compass gait, rimless wheel, Housner's linear block."""

from __future__ import annotations

import numpy as np
from event_cases import Check, agrees, near
from hybrid_map import compass, housner, landing, rimless, simplest_walker

from reference import Case


def simplest(case: Case) -> None:
    """Garcia's model with massless feet."""
    guess = (0.2, -0.2) if case.id == "C08d" else (0.194, -0.204)
    point, multipliers, period, _ = simplest_walker(case.given("slope")).fixed_point(guess)
    agrees(case, theta=point[0], theta_dot=point[1], period=period)
    agrees(case, phi=2 * point[0], phi_dot=(1 - np.cos(2 * point[0])) * point[1])
    same_multipliers(case, multipliers)
    agrees(case, abs_floquet=np.abs(multipliers))


def same_multipliers(case: Case, found: np.ndarray) -> None:
    """Multipliers up to their order."""
    expected = np.array([entry["re"] + 1j * entry["im"] for entry in case["floquet"]])
    for one, other in ((found, expected), (expected, found)):
        near([np.abs(other - value).min() for value in one], np.zeros(len(one)), f"{case.id} multipliers", 1e-6)
        assert max(np.abs(other - value).min() for value in one) < 1e-9


def compass_gait(case: Case) -> None:
    """Legs with masses."""
    small = case.id == "C08h"
    masses = (case.given("hip_mass"), case.given("foot_masses" if small else "leg_mass"), 1.0 if small else case.given("b"))
    slope = case.given("slope") if small else np.radians(case.given("slope"))
    guess = (0.2, -0.2, -0.184) if small else (0.271, -1.09, -0.377)
    point, multipliers, period, before = compass(*masses, slope, case.given("g")).fixed_point(guess)
    agrees(case, stance_angle_from_slope_normal=point[0], swing_angle_from_slope_normal=-point[0], period=period)
    agrees(case, stance_rate=point[1], swing_rate=point[2], interleg_rate=point[1] - point[2], rates_before_impact=before[2:])
    same_multipliers(case, multipliers)
    impulse, leaving = landing(*masses, before)
    agrees(case, friction_ratio_at_impact=abs(impulse[0]) / impulse[1], trailing_foot_normal_velocity_after=leaving)


def rimless_wheel(case: Case) -> None:
    """Also with all of the mass in the hub."""
    slope, inertia, g, a = case.given("slope"), case.given("I"), case.given("g"), np.pi / case.given("n")
    point, multipliers, period, before = rimless(case.given("n"), slope, inertia, g).fixed_point([-1.1])
    agrees(case, omega_after_impact=-point[0], omega_before_impact=-before[1], impact_ratio=point[0] / before[1])
    agrees(case, floquet_multiplier=multipliers[0], step_period=period, mean_speed=2 * np.sin(a) / period)
    agrees(case, omega_needed_to_vault=np.sqrt(2 * g * (1 - np.cos(a - slope)) / (inertia + 1)))
    # impulse on the landing spoke: change of the hub's velocity, from across the old spoke to across the new one
    change = before[1] * np.array([-np.cos(-a), -np.sin(-a)]) - point[0] * np.array([-np.cos(a), -np.sin(a)])
    agrees(case, mu_needed_at_impact=abs(change[0] / change[1]))


def linear_block(case: Case) -> None:
    """Housner's block, from impact to impact."""
    p, alpha = np.sqrt(3 * case.given("g") / (4 * case.given("R"))), case.given("alpha")
    block, z, t = housner(p, alpha), np.array([case.given("theta0"), 0.0]), 0.0
    times, rates = [], []
    for _ in range(5):
        mapped, duration, before = block.stride(z[:, None])
        z, t = mapped[:, 0].real, t + duration
        times.append(t)
        rates.append((-before[1], z[1]))
    into, out = np.array(rates).T
    agrees(case, p=p, impact_times=times, period_first=4 * times[0], omega_ratio=out[0] / into[0])
    agrees(case, energy_ratio=(out[0] / into[0]) ** 2)
    agrees(case, amplitudes_after=alpha - np.sqrt(alpha**2 - (out[:4] / p) ** 2))


CHECKS: dict[str, Check] = {
    "C06a": linear_block,
    "C08a": rimless_wheel,
    "C08b": rimless_wheel,
    "C08d": simplest,
    "C08e": simplest,
    "C08h": compass_gait,
    "C08j": compass_gait,
}
