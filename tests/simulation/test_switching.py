"""Runs with switching functions, against closed forms and against runs made piece by piece."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.expr.expression import Name, Number
from draisine.model.items import Coordinate, Rotate, Translate
from draisine.program.equations import Equations
from draisine.results.status import Ending
from draisine.simulation.run import integrate

x, y, v, w = sp.symbols("x y v w")
t = dynamicsymbols._t
TIGHT = dr.methods.DOP853(rtol=1e-12, atol=1e-12)
PULSE = {"steer_torque": "where(t > 2, where(t < 2.1, 1, 0), 0)"}

# method → error allowed for problems of unit size
METHODS = {
    "DOP853": (TIGHT, 1e-9),
    "Radau": (dr.methods.Radau(rtol=1e-11, atol=1e-12), 1e-9),
    "Radau 5": (dr.methods.Radau(rtol=1e-11, atol=1e-12, stages=5), 1e-9),
    "ESDIRK23": (dr.methods.ESDIRK23(rtol=1e-9, atol=1e-10), 1e-6),
    "RK4": (dr.methods.RK4(step=0.01), 1e-8),
    "Heun": (dr.methods.Heun(step=0.002), 1e-5),
    "Gauss": (dr.methods.Gauss(step=0.02), 1e-8),
    "PredictorCorrector": (dr.methods.PredictorCorrector(step=0.005), 1e-6),
    "CVODE": (dr.methods.CVODE(rtol=1e-10, atol=1e-12), 1e-6),
    "IDA": (dr.methods.IDA(rtol=1e-10, atol=1e-12), 1e-6),
}
every_method = pytest.mark.parametrize("name", METHODS)


def _method(name: str) -> tuple[object, float]:
    if name in ("CVODE", "IDA"):
        pytest.importorskip("sksundae")
    return METHODS[name]


# ---------------------------------------------------------------------------------------------------------- closed forms


def _bang_bang(time: float) -> tuple[float, float]:
    """ẍ = −sign(x) from rest at 1: parabolas of √2 seconds."""
    quarter = np.sqrt(2.0)
    part, s = divmod(time % (4 * quarter), quarter)
    sides = {0: (1 - s * s / 2, -s), 1: (-quarter * s + s * s / 2, s - quarter)}
    position, speed = sides[int(part) % 2]
    return (position, speed) if part < 2 else (-position, -speed)


@every_method
def test_bang_bang(name: str) -> None:
    method, error = _method(name)
    equations = dr.first_order("bang_bang", {x: v, v: -sp.sign(x)})
    samples = np.linspace(0.0, 10.0, 41)
    run = integrate(equations, [1.0, 0.0], 10.0, method=method, samples=samples)
    assert run.status.kind == Ending.FINISHED
    assert_allclose(run.states, [_bang_bang(s) for s in samples], atol=error)
    assert_allclose([s.time for s in run.switches], np.sqrt(2.0) * np.array([1, 3, 5, 7]), atol=error)


@every_method
def test_relay_slides(name: str) -> None:
    """ẋ = −sign(x) + 0.3, ẏ = x + sign(x): after 1/0.7 s it slides, where the sign is 0.3 on average."""
    method, error = _method(name)
    equations = dr.first_order("relay", {x: -sp.sign(x) + sp.Rational(3, 10), y: x + sp.sign(x)})
    run = integrate(equations, [1.0, 0.0], 3.0, method=method)
    reached = 1 / 0.7
    assert_allclose(run.final_state, [0.0, reached / 2 + reached + 0.3 * (3.0 - reached)], atol=error)
    assert [(s.name, s.sliding) for s in run.switches] == [("sign(x)", "begins")]


@every_method
def test_dry_friction_sticks(name: str) -> None:
    """ẍ = −x − 0.13 sign(ẋ): the amplitude falls by 0.26 every half period, until the spring is weaker than the friction."""
    method, error = _method(name)
    equations = dr.first_order("dry_friction", {x: v, v: -x - sp.Rational(13, 100) * sp.sign(v)})
    run = integrate(equations, [1.0, 0.0], 20.0, method=method, samples=[2.0, 13.0, 20.0])
    assert_allclose(run.states[0], [0.13 + 0.87 * np.cos(2.0), -0.87 * np.sin(2.0)], atol=error)
    assert_allclose(run.states[1:, 0], 1 - 4 * 0.26, atol=10 * error)
    assert_allclose(run.states[1:, 1], 0.0, atol=1e-15)
    assert_allclose([s.time for s in run.switches], np.pi * np.arange(1, 5), atol=10 * error)
    assert run.switches[-1].sliding == "begins"


def test_friction_oscillator_in_motion() -> None:
    """Between two reversals the motion is a cosine about ±0.13."""
    equations = dr.first_order("dry_friction", {x: v, v: -x - sp.Rational(13, 100) * sp.sign(v)})
    times = np.linspace(0.0, 4 * np.pi, 101)[:-1]
    run = integrate(equations, [1.0, 0.0], 4 * np.pi, method=TIGHT, samples=times)
    half, phase = np.divmod(times, np.pi)
    amplitude = 1.0 - 0.26 * half - 0.13
    assert_allclose(run.states[:, 0], (-1.0) ** half * (amplitude * np.cos(phase) + 0.13), atol=1e-9)


def test_stick_and_slip_under_a_growing_force() -> None:
    """Sticking ends where 1.5 sin t reaches 1, to rounding; the motion after it is known."""
    equations = dr.first_order("stick_slip", {x: v, v: sp.Rational(3, 2) * sp.sin(t) - sp.sign(v)})
    run = integrate(equations, [0.0, 0.0], 3.0, method=TIGHT)
    begin = np.arcsin(2 / 3)
    assert_allclose(run.switches[1].time, begin, atol=1e-12)
    assert [s.sliding for s in run.switches] == ["begins", "ends"]
    speed = 1.5 * (np.cos(begin) - np.cos(3.0)) - (3.0 - begin)
    assert_allclose(run.final_state[1], speed, atol=1e-10)


def test_sliding_on_two_surfaces() -> None:
    """Two blocks with friction of their own, joined by a spring: both stick, and the spring force is within both limits."""
    mine, other = sp.Rational(13, 100), sp.Rational(1, 5)
    equations = dr.first_order("blocks", {x: v, v: y - x - mine * sp.sign(v), y: w, w: x - y - other * sp.sign(w)})
    run = integrate(equations, [1.0, 0.0, 0.0, 0.0], 20.0, method=TIGHT)
    early = integrate(equations, [1.0, 0.0, 0.0, 0.0], 10.0, method=TIGHT)
    assert run.status.kind == Ending.FINISHED
    assert_allclose(run.final_state, early.final_state, atol=1e-13)
    assert abs(run.final_state[0] - run.final_state[2]) < 0.13
    assert [s.sliding for s in run.switches][-2:] == ["begins", "begins"]


def test_ambiguous_sliding_is_named() -> None:
    equations = dr.first_order("ambiguous", {x: -sp.sign(x) * (2 + sp.sign(y)), y: -sp.sign(y) * (2 - sp.sign(x))})
    run = integrate(equations, [1.0, 1.2], 20.0)
    assert run.status.kind == Ending.SLIDING_AMBIGUOUS
    assert "sign(x)" in run.status.message and "sign(y)" in run.status.message and "t = 0.7666" in run.status.message


def test_a_surface_of_the_second_derivative() -> None:
    """At rest on the surface, sign(0) = 0."""
    run = integrate(dr.first_order("rest", {x: v, v: -sp.sign(x)}), [0.0, 0.0], 10.0)
    assert run.status.kind == Ending.FINISHED
    assert_allclose(run.final_state, 0.0, atol=0.0)


def test_backwards() -> None:
    equations = dr.first_order("bang_bang", {x: v, v: -sp.sign(x) + sp.Piecewise((1, t > 2), (0, True)) / 2})
    there = integrate(equations, [1.0, 0.0], 5.0, method=TIGHT)
    back = integrate(equations, there.final_state, 0.0, start=5.0, method=TIGHT)
    assert_allclose(back.final_state, [1.0, 0.0], atol=1e-11)


def test_there_and_back_within_a_step() -> None:
    """A bump stop that is touched for 0.03 s of a step of seconds: the impulse is that of the closed form."""
    gap, stiffness = 0.9999, 400.0
    equations = dr.first_order("stop", {x: v, v: -x - sp.Piecewise((stiffness * (x - gap), x > gap), (0, True))})
    run = integrate(equations, [0.0, 1.0], np.pi, method=dr.methods.DOP853(rtol=1e-10, atol=1e-10))
    touched = np.arcsin(gap)
    speed, omega = np.cos(touched), np.sqrt(1 + stiffness)
    mean = stiffness * gap / (1 + stiffness)  # about which it oscillates while it touches
    contact = 2 * (np.pi / 2 - np.arctan2(gap - mean, speed / omega)) / omega
    assert len(run.switches) == 2
    assert_allclose(np.diff([s.time for s in run.switches]), contact, rtol=1e-6)
    after = np.pi - touched - contact  # time after the contact, which reverses the speed
    assert_allclose(run.final_state[0], gap * np.cos(after) - speed * np.sin(after), atol=1e-8)


@pytest.mark.parametrize("depth", [1e-2, 1e-3, 1e-4, 1e-5, 1e-6])
def test_every_touch_of_a_stop_is_found(depth: float) -> None:
    """An oscillator of unit amplitude that reaches an elastic stop by less and less, once in each of ten periods."""
    equations = dr.first_order("stop", {x: v, v: -x - 50 * sp.Max(x - (1 - depth), 0)})
    for method in (None, dr.methods.Radau(), dr.methods.RK4(step=0.05)):
        run = integrate(equations, [0.0, 1.0], 20 * np.pi - 1.0, method=method)
        assert len(run.switches) == 20


# ------------------------------------------------------------------------------------------------- against piecewise runs


def _pulses(rng: np.random.Generator, count: int, end: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    begin = np.sort(rng.uniform(0.0, end, count))
    length = 10.0 ** rng.uniform(-4.0, 0.0, count)
    return begin, begin + length, rng.uniform(0.5, 2.0, count) * rng.choice([-1.0, 1.0], count)


def _driven(begin: np.ndarray, end: np.ndarray, size: np.ndarray) -> Equations:
    force = sum(
        float(s) * sp.Piecewise((1, sp.And(t > float(a), t < float(b))), (0, True))
        for a, b, s in zip(begin, end, size, strict=True)
    )
    return dr.first_order("driven", {x: v, v: -sp.sin(x) - sp.Rational(1, 5) * v + force})


def _by_pieces(begin: np.ndarray, end: np.ndarray, size: np.ndarray, until: float) -> np.ndarray:
    force = sp.Symbol("force")
    equations = dr.first_order("piece", {x: v, v: -sp.sin(x) - sp.Rational(1, 5) * v + force}, parameters={force: 0.0})
    edges = np.unique(np.clip(np.concatenate([[0.0, until], begin, end]), 0.0, until))
    state = np.array([0.1, 0.0])
    for a, b in pairwise(edges):
        middle = 0.5 * (a + b)
        now = float(size[(begin < middle) & (middle < end)].sum())
        state = integrate(equations, state, b, start=a, parameters={"force": now}, method=TIGHT).final_state
    return state


@pytest.mark.parametrize("count", (30, 200))
def test_many_pulses(count: int) -> None:
    """Pulses of 0.1 ms to 1 s at random in 100 s: none is missed."""
    rng = np.random.default_rng(1)
    begin, end, size = _pulses(rng, count, 100.0)
    method = dr.methods.DOP853(rtol=1e-8, atol=1e-8)
    run = integrate(_driven(begin, end, size), [0.1, 0.0], 100.0, method=method)
    assert run.status.kind == Ending.FINISHED
    edges = np.concatenate([begin, end])
    edges = edges[edges < 100.0]
    assert_allclose(run.steps[np.abs(run.steps[:, None] - edges).argmin(axis=0)], edges, rtol=1e-15)
    assert_allclose(run.final_state, _by_pieces(begin, end, size, 100.0), rtol=1e-7, atol=1e-7)


@every_method
@pytest.mark.parametrize("seed", range(2))
def test_random_pulses(name: str, seed: int) -> None:
    method, error = _method(name)
    rng = np.random.default_rng(seed)
    begin, end, size = _pulses(rng, 4, 5.0)
    run = integrate(_driven(begin, end, size), [0.1, 0.0], 6.0, method=method)
    assert_allclose(run.final_state, _by_pieces(begin, end, size, 6.0), atol=10 * error)


@pytest.mark.parametrize("seed", range(6))
def test_random_relays(seed: int) -> None:
    """ẋ = A x + b sign(cᵀx): against runs with the sign as a parameter, changed where SciPy finds the crossing."""
    from scipy.integrate import solve_ivp

    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=(2, 2)) - 0.5 * np.eye(2), rng.normal(size=2), rng.normal(size=2)
    if c @ b < 0:
        b = -b  # no sliding
    symbols = (x, y)
    surface = sum(float(c[i]) * symbols[i] for i in range(2))
    rates = {symbols[i]: sum(float(a[i, j]) * symbols[j] for j in range(2)) + float(b[i]) * sp.sign(surface) for i in range(2)}
    start = rng.normal(size=2)
    run = integrate(dr.first_order("relay", rates), start, 4.0, method=TIGHT)
    state, now, side, times = start, 0.0, np.sign(c @ start), []
    while now < 4.0:

        def crossing(_: float, z: np.ndarray, side: float = side) -> float:
            return float(side * (c @ z))

        crossing.terminal, crossing.direction = True, -1  # type: ignore[attr-defined]
        found = solve_ivp(
            lambda _, z, side=side: a @ z + side * b, (now, 4.0), state, "DOP853", events=crossing, rtol=1e-12, atol=1e-13
        )
        state, now = found.y[:, -1], float(found.t[-1])
        if found.status == 1:
            side, times = -side, [*times, now]
    assert run.status.kind == Ending.FINISHED
    assert_allclose([s.time for s in run.switches], times, atol=1e-9)
    assert_allclose(run.final_state, state, atol=1e-8)


# ------------------------------------------------------------------------------------------------------ models and laws


def test_pulse_of_the_issue() -> None:
    """The largest lean is that of three runs, before, in and after the pulse."""
    bicycle = dr.gallery.bicycle()
    run = dr.simulate(bicycle, 5, start={"speed": 5}, inputs=PULSE)
    assert_allclose(np.abs(run["lean"]).max(), 0.04927, atol=5e-6)
    assert [(s.name, s.time) for s in run.switches] == [("t > 2", 2.0), ("t < 2.1", 2.1)]
    sampled = dr.simulate(
        bicycle,
        5,
        start={"speed": 5},
        control=dr.control.Sampled(lambda t, _: {"steer_torque": 1.0 * (1.99 < t < 2.099)}, rate=10.0),
    )
    assert_allclose(run["lean"], sampled["lean"], atol=1e-8)


def test_pulse_in_an_ensemble() -> None:
    """Bit for bit as single runs."""
    bicycle = dr.gallery.bicycle()
    speeds = np.linspace(4.5, 5.5, 5)
    many = dr.ensemble(bicycle, 5, {"start.speed": speeds}, outputs=["lean"], inputs=PULSE)
    for speed, lean in zip(speeds, many["lean.end"], strict=True):
        single = dr.simulate(bicycle, 5, start={"speed": speed}, inputs=PULSE, samples=[0.0, 5.0])
        assert single["lean"][-1] == lean


def test_pulse_with_a_parameter() -> None:
    """Restart times depend on parameters."""
    t_on = sp.Symbol("t_on")
    equations = dr.first_order("late", {x: sp.Piecewise((1, sp.And(t > t_on, t < 2.1)), (0, True))}, parameters={t_on: 2.0})
    for begin in (0.5, 2.0, 2.0999):
        run = integrate(equations, [0.0], 5.0, parameters={"t_on": begin})
        assert_allclose(run.final_state, 2.1 - begin, atol=1e-14)


def test_pulse_between_knots() -> None:
    """A spike of one row of a logged table, in long steps."""
    knots = np.arange(0.0, 5.001, 0.002)
    values = np.where(np.arange(knots.size) == 1000, 1.0, 0.0)
    for method in (None, dr.methods.DOP853(rtol=1e-4, atol=1e-6), dr.methods.RK4(step=0.05), dr.methods.Radau()):
        run = dr.simulate(_cart(knots, values), 5.0, inputs={"push": "logged(t)"}, method=method)
        assert_allclose(run["speed"][-1], 0.002, rtol=1e-3)


@pytest.mark.parametrize(("rate", "noise", "tolerance"), [(100, 0.0, 1e-4), (500, 0.0, 1e-8), (100, 0.05, 1e-8)])
def test_logged_tables_cost_no_more(rate: int, noise: float, tolerance: float) -> None:
    """At most 1.2 times the evaluations of a run that takes no notice of the knots, recorded before there were switches."""
    before = {(100, 0.0, 1e-4): 1423, (500, 0.0, 1e-8): 21931, (100, 0.05, 1e-8): 75827}[rate, noise, tolerance]
    knots = np.arange(5 * rate + 1) / rate
    values = np.sin(2 * knots) + 0.3 * np.sin(5 * knots) * (noise == 0.0)
    values = values + noise * np.random.default_rng(1).standard_normal(knots.size)
    bicycle = dr.gallery.bicycle()
    bicycle.table("logged", knots, values, "linear")
    method = dr.methods.DOP853(rtol=tolerance, atol=1e-2 * tolerance)
    run = dr.simulate(bicycle, 5.0, start={"speed": 5.0}, inputs={"steer_torque": "logged(t)"}, method=method)
    assert run.statistics.evaluations <= 1.2 * before


def _cart(knots: np.ndarray, values: np.ndarray) -> dr.Model:
    model = dr.Model("cart")
    model.table("logged", knots, values, "linear")
    model.input("push", "N")
    cart = model.body("cart", mass=1.0)
    model.prismatic("position", "ground", cart, rate="speed")
    model.generalized_force("position", "push")
    return model


# ------------------------------------------------------------------------------------- implicit equations, controls, velocities


@pytest.mark.parametrize("name", ["Radau", "ESDIRK23", "Gauss", "IDA"])
def test_implicit_equations(name: str) -> None:
    """0 = F with the switched force as an unknown: it jumps, and is solved for anew."""
    method, error = _method(name)
    a, b, force = dynamicsymbols("a b force")
    laws = {"a": a.diff() - b, "b": b.diff() - force}
    relay = dr.symbolic.implicit("relay", {**laws, "c": force + sp.sign(a)}, [a, b, force], start={a: 1.0, b: 0.0, force: -1.0})
    run = integrate(relay, [1.0, 0.0, -1.0], 5.0, method=method)
    assert_allclose(run.final_state, [*_bang_bang(5.0), -1.0], atol=error)
    on = sp.Piecewise((1, sp.And(t > 2, t < 2.1)), (0, True))
    pulse = dr.symbolic.implicit("pulse", {**laws, "c": force - on}, [a, b, force])
    assert_allclose(integrate(pulse, [0.0, 0.0, 0.0], 5.0, method=method).final_state, [0.295, 0.1, 0.0], atol=1e-10)


def test_implicit_equations_do_not_slide() -> None:
    a = dynamicsymbols("a")
    relay = dr.symbolic.implicit("relay", {"a": a.diff() + sp.sign(a) - sp.Rational(3, 10)}, [a])
    run = integrate(relay, [1.0], 5.0)
    assert run.status.kind == Ending.SLIDING_AMBIGUOUS
    assert "sign(a)" in run.status.message and "t = 1.42857" in run.status.message


def test_restart_times_follow_a_sampled_control() -> None:
    """ẋ = 1 where t is above the input, which is 0.5 s after each sample."""
    u = sp.Symbol("u")
    equations = dr.first_order("late", {x: sp.Piecewise((1, t > u), (0, True))}, inputs=[u])
    run = integrate(equations, [0.0], 3.0, control=dr.control.Sampled(lambda now, _: [0.5 + int(now)], rate=1.0))
    assert_allclose(run.final_state, 1.5, atol=1e-14)
    opaque = integrate(equations, [0.0], 3.0, control=dr.control.EveryStage(lambda now, _: [0.5]))
    assert any("depends on time and on an input" in warning for warning in opaque.status.warnings)


def test_velocities_change_between_switches() -> None:
    """A sleigh whose independent velocity along x fails when it turns: the same with multipliers, which have no choice."""
    model = dr.Model("sleigh")
    model.gravity(0)
    model.input("turn", "N*m")
    sleigh = model.body("sleigh", mass=2.0, center_of_mass=(0.25, 0, 0), inertia=(0.245, 0.245, 0.245))
    along = (Coordinate("x", "x_rate", "m"), Coordinate("y", "y_rate", "m"), Coordinate("heading", "turn_rate", "rad"))
    chain = (Translate((Name("x"), Name("y"), Number(0.0))), Rotate("z", Name("heading")))
    model.joint("motion", "ground", sleigh, chain, along)
    model.knife_edge(sleigh, name="blade")
    model.generalized_force("heading", "turn")
    model.output("speed", "body_velocity_x(sleigh)", "m/s")
    law = {"turn": "where(t > 0.5, where(t < 0.9, 2, 0), 0) - 0.3*sign(turn_rate - 0.5) + where(x > 0.7, 1, 0)"}
    given = {"start": {"speed": 1.0, "turn_rate": 0.2}, "inputs": law, "method": TIGHT}
    run = dr.simulate(model, 8.0, **given)
    reference = dr.simulate(model, 8.0, **given, formulation=dr.formulations.Augmented())
    assert len(run.segments) > 1
    assert [s.name for s in run.switches] == [s.name for s in reference.switches]
    assert_allclose([s.time for s in run.switches], [s.time for s in reference.switches], atol=1e-9)
    for name in ("x", "y", "heading"):
        assert_allclose(run[name][-1], reference[name][-1], atol=1e-8)


def test_methods_change_between_switches() -> None:
    """A stiff oscillator with a pulse and a relay: Auto changes its method, and finds the same switches as Radau."""
    pulse = sp.Piecewise((1, sp.And(t > 20, t < 21)), (0, True))
    equations = dr.first_order("stiff", {x: v, v: 300 * (1 - x**2) * v - x + sp.sign(x - 1) / 10 + pulse})
    auto = integrate(equations, [2.0, 0.0], 600.0)
    radau = integrate(equations, [2.0, 0.0], 600.0, method=dr.methods.Radau(rtol=1e-9, atol=1e-11))
    assert "in turn" in auto.status.message
    assert_allclose([s.time for s in auto.switches], [s.time for s in radau.switches], rtol=1e-7)
    assert_allclose(auto.final_state, radau.final_state, rtol=1e-6)


def test_pulse_with_multipliers_as_unknowns() -> None:
    """A torque on the crank of a four-bar in the index-2 form, of which its loop is a part."""
    torque = {"crank_torque": PULSE["steer_torque"]}
    given: dict[str, Any] = {"start": {"crank_angle_rate": 5.0}, "samples": 49}
    tight = dr.methods.Radau(rtol=1e-10, atol=1e-12)
    run = dr.simulate(dr.gallery.four_bar(), 2.4, inputs=torque, drift=dr.stabilization.GGL(), method=tight, **given)
    plain = dr.simulate(dr.gallery.four_bar(), 2.4, inputs=torque, method=TIGHT, **given)
    assert_allclose(run["rocker_angle"], plain["rocker_angle"], atol=1e-8)
    without = dr.simulate(dr.gallery.four_bar(), 2.4, **given)
    assert abs(plain["rocker_angle"] - without["rocker_angle"]).max() > 1e-3


@pytest.mark.parametrize("drift", [dr.stabilization.Projection(), dr.stabilization.Baumgarte()])
def test_pulse_under_drift_control(drift: object) -> None:
    run = dr.simulate(dr.gallery.bicycle(), 2.4, start={"speed": 5}, inputs=PULSE, drift=drift)
    plain = dr.simulate(dr.gallery.bicycle(), 2.4, start={"speed": 5}, inputs=PULSE)
    assert_allclose(run["lean"], plain["lean"], atol=1e-8)
    assert abs(plain["lean"][-1]) > 1e-3


@every_method
def test_tents_between_steps(name: str) -> None:
    """Short tents, whose kinks are known in time: none is stepped over, forwards or backwards."""
    method, error = _method(name)
    width = sp.Rational(1, 200)
    tents = sum(sp.Max(0, 1 - sp.Abs(t - middle) / width) for middle in (sp.Rational(1, 3), 2, sp.Rational(9, 4)))
    equations = dr.first_order("tents", {x: tents, v: -v})
    run = integrate(equations, [0.0, 1.0], 3.0, method=method)
    assert_allclose(run.final_state, [3 * float(width), np.exp(-3.0)], atol=error)
    back = integrate(equations, run.final_state, 0.0, start=3.0, method=method)
    assert_allclose(back.final_state, [0.0, 1.0], atol=30 * error)


# --------------------------------------------------------------------------------------------------- starts on a limit


@pytest.mark.parametrize("law", ["where(lean > 0, 1, 0)", "where(lean < 0, -1, 0)", "where(roll_rate > 0, 1, 0)"])
def test_a_motion_that_may_stay_on_a_limit_stays(law: str) -> None:
    """The upright bicycle: as written the torque is zero there, and straight running is a motion."""
    run = dr.simulate(dr.gallery.bicycle(), 1.0, start={"speed": 5.0}, inputs={"steer_torque": law})
    assert run.status.kind == "FINISHED" and not run.switches
    assert np.abs(run["lean"]).max() == 0.0


def test_a_motion_that_must_leave_a_limit_leaves() -> None:
    """At x = 0 with v = ±1 the side is that of the motion; at rest with a load it is that of the acceleration."""
    x, v = sp.symbols("x v")
    for speed, load, end in ((1.0, 0.0, 1.0 + 0.5), (-1.0, 0.0, -1.0), (0.0, 1.0, 0.5 + 0.5), (0.0, -1.0, -0.5)):
        e = dr.first_order("mass", {x: v, v: load + sp.Piecewise((1, x > 0), (0, True))}, start={v: speed})
        assert dr.simulate(e, 1.0)["x"][-1] == pytest.approx(end, abs=1e-9)
