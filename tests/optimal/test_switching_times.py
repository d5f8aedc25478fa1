"""Bang-bang and singular controls: switching times are unknowns, and the motion within bounds is optimal to many digits."""

import math
from itertools import pairwise

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, fsolve

import draisine as dr
from draisine.gallery.entries.minimum_time_turn import turn

x, y, z, v, u, h, m = sp.symbols("x y z v u h m")


def solved(found, objective, rel=1e-7):
    """SOLVED at this cost, with controls within their bounds everywhere and none that promises more."""
    assert found.outcome == "SOLVED", str(found.status)
    assert found.objective == pytest.approx(objective, rel=rel)
    assert found.mesh_cost < 1e-6 * abs(objective)
    for phase in found.phases:
        for name in phase.phase.controls:
            low, high = phase.phase.limits[name]
            course = phase.inputs_at(np.linspace(phase.begin, phase.begin + phase.duration, 5000))
            values = course[:, phase.phase.controls.index(name)]
            assert values.min() > low - 1e-6 * (high - low)
            assert values.max() < high + 1e-6 * (high - low)
    return found


def bushaw(start, rate):
    """Least time of x'' = −rate² x + u, |u| ≤ 1, to rest at 0 (Bushaw): backward from the goal arcs of half a period but for the
    last and the first one. In ωx and x', states rotate about (±1/ω, 0)."""
    times = []
    for last in (1.0, -1.0):
        for full in range(12):

            def backward(lasting, last=last, full=full):
                state, side = complex(0.0, 0.0), last
                for t in (lasting, *([math.pi] * full)):
                    state = side / rate + (state - side / rate) * np.exp(1j * t)
                    side = -side
                return state, side / rate

            def apart(lasting, backward=backward):
                state, center = backward(lasting)
                return abs(state - center) - abs(start - center)

            trials = np.linspace(0.0, math.pi, 200)
            for low, high in pairwise(trials):
                if apart(low) * apart(high) <= 0.0:
                    lasting = brentq(apart, low, high, xtol=1e-15)
                    state, center = backward(lasting)
                    first = (np.angle(start - center) - np.angle(state - center)) % (2 * math.pi)
                    if first <= math.pi + 1e-9:
                        times.append((lasting + full * math.pi + first) / rate)
    return min(times)


@pytest.mark.parametrize("seed", range(8))
def test_random_oscillators_come_to_rest_in_least_time(seed):
    rng = np.random.default_rng(seed)
    rate, strength = rng.uniform(0.5, 3.0), rng.uniform(0.3, 4.0)
    start = rng.normal(size=2) * strength * 3.0 / rate
    plant = dr.first_order("oscillator", {x: v, v: -(rate**2) * x + u}, inputs=[u])
    stated = dr.maneuver(plant).start(x=start[0], v=start[1]).finish(x=0, v=0).bounds(u=(-strength, strength)).minimize("time")
    solved(stated.solve(), bushaw(complex(rate * start[0], start[1]) / strength, rate))


@pytest.mark.parametrize("seed", range(4))
def test_random_double_integrators_switch_once(seed):
    """From rest to rest over d with forces −a and b: b for √(2 d a/(b (a + b)))."""
    rng = np.random.default_rng(seed)
    a, b, d = 10.0 ** rng.uniform(-2, 2, 3)
    plant = dr.first_order("mass", {x: v, v: u}, inputs=[u])
    found = dr.maneuver(plant).start(x=0, v=0).finish(x=d, v=0).bounds(u=(-a, b)).minimize("time").solve()
    speed = math.sqrt(2 * d * a * b / (a + b))
    solved(found, speed / a + speed / b)
    assert found.optimality["u"].switches == pytest.approx([speed / b], rel=1e-6)


def test_chain_of_three_integrators():
    plant = dr.first_order("chain", {x: v, v: y, y: u}, inputs=[u])
    found = dr.maneuver(plant).start(x=0, v=0, y=0).finish(x=1, v=0, y=0).bounds(u=(-1, 1)).minimize("time").solve()
    total = 32.0 ** (1 / 3)
    solved(found, total, 1e-8)
    assert found.optimality["u"].switches == pytest.approx([total / 4, 3 * total / 4], rel=1e-6)


def test_van_der_pol_by_shooting():
    """One switch: its time and the end follow from two equations."""

    def flow(state, force, lasting):
        def rates(_, s):
            return [s[1], -s[0] + s[1] * (1 - s[0] ** 2) + force]

        return solve_ivp(rates, (0.0, lasting), state, rtol=1e-12, atol=1e-12).y[:, -1]

    first, second = fsolve(lambda t: flow(flow([1.0, 1.0], -1.0, t[0]), 1.0, t[1]), [0.7, 2.4], xtol=1e-13)
    plant = dr.first_order("van_der_pol", {x: v, v: -x + v * (1 - x**2) + u}, inputs=[u])
    found = dr.maneuver(plant).start(x=1, v=1).finish(x=0, v=0).bounds(u=(-1, 1)).minimize("time").solve()
    solved(found, first + second)
    assert found.optimality["u"].switches == pytest.approx([first], abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_singular_arcs_of_bressan(seed):
    """Greatest z of x' = u, y' = −x, z' = y − x²: u = −1 for a third of the time, then 1/2 along a singular arc; T³/18."""
    lasting = np.random.default_rng(seed).uniform(2.0, 15.0)
    plant = dr.first_order("bressan", {x: u, y: -x, z: y - x**2}, inputs=[u])
    found = dr.maneuver(plant).start(x=0, y=0, z=0).bounds(u=(-1, 1)).duration(lasting).minimize(final="-z").solve()
    solved(found, -(lasting**3) / 18, 1e-8)
    assert found.only.inputs_at(0.9 * lasting)[0] == pytest.approx(0.5, abs=1e-3)


def goddard():
    """Height of Goddard's rocket: full thrust until the state reaches the singular surface det[f, g, [f, g]] = 0, along it until
    the fuel is used up, then coasting. The thrust that stays on the surface follows from its derivatives."""
    state = sp.Matrix([h, v, m])
    drift = sp.Matrix([v, -310 * v**2 * sp.exp(-500 * (h - 1)) / m - 1 / h**2, 0])
    push = sp.Matrix([0, sp.Rational(7, 2) / m, -7])
    bracket = push.jacobian(state) * drift - drift.jacobian(state) * push
    surface = sp.Matrix.hstack(drift, push, bracket).det()
    slope = sp.Matrix([surface]).jacobian(state)
    rates = sp.lambdify((h, v, m), drift), sp.lambdify((h, v, m), push)
    at = sp.lambdify((h, v, m), surface)
    thrust = sp.lambdify((h, v, m), -(slope * drift)[0] / (slope * push)[0])

    def run(start, control, until, direction):
        def motion(_, s):
            return (rates[0](*s) + control(s) * rates[1](*s)).ravel()

        def event(_, s):
            return until(s)

        event.terminal, event.direction = True, direction
        return solve_ivp(motion, (0.0, 1.0), start, rtol=1e-12, atol=1e-13, events=event).y[:, -1]

    sign = np.sign(at(1.001, 0.05, 0.9))
    begun = run([1.0, 1e-12, 1.0], lambda s: 1.0, lambda s: at(*s) if s[1] > 0.02 else sign, 0)
    burnt = run(begun, lambda s: thrust(*s), lambda s: s[2] - 0.6, -1)
    return run(burnt, lambda s: 0.0, lambda s: s[1], -1)[0]


def test_goddards_rocket():
    plant = dr.first_order(
        "rocket", {h: v, v: (3.5 * u - 310 * v**2 * sp.exp(-500 * (h - 1))) / m - 1 / h**2, m: -7 * u}, inputs=[u]
    )
    stated = dr.maneuver(plant).start(h=1, v=0, m=1).finish(m=0.6).bounds(u=(0, 1), v=(0, None)).minimize(final="-h")
    solved(stated.solve(), -goddard(), 1e-8)


def test_velocity_limit_between_two_switches():
    plant = dr.first_order("mass", {x: v, v: u}, inputs=[u])
    found = dr.maneuver(plant).start(x=0, v=0).finish(x=3, v=0).bounds(u=(-1, 1), v=(-1, 1)).minimize("time").solve()
    solved(found, 4.0)


def test_switches_in_two_phases():
    """To x = 1 and back to rest at 0: rest at x = 1 is no condition, but any speed there costs more than it gains."""
    plant = dr.first_order("mass", {x: v, v: u}, inputs=[u])
    there = dr.maneuver(plant).start(x=0, v=0).finish(x=1).bounds(u=(-1, 1)).minimize("time")
    back = dr.maneuver(plant).finish(x=0, v=0).bounds(u=(-1, 1)).minimize("time")
    solved(there.then(back).solve(), 4.0)


def test_turn_of_the_bicycle():
    """Eight switches of two torques. The control, simulated on its own, ends at the goal."""
    found = solved(turn().solve(), 1.57243179, 1e-7)
    reported = found.optimality
    assert len(reported["steer_torque"].switches) == 6
    assert len(reported["pedal_torque"].switches) == 2
    assert reported["steer_torque"].agreement == reported["pedal_torque"].agreement == 1.0
    assert reported.hamiltonian[0].mean == pytest.approx(-1.0, abs=1e-5)
    run = dr.simulate(dr.gallery.bicycle(), found.duration, start={"speed": 8}, inputs=found.feedforward)
    assert run.final["heading"] == pytest.approx(math.pi / 4, abs=2e-4)
    assert run.final["lean"] == pytest.approx(0.0, abs=2e-4)
