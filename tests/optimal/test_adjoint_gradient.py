"""The adjoint's gradient against closed forms, central differences and forward sensitivities."""

import math
from concurrent.futures import ThreadPoolExecutor

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
import driven_pendulum
from draisine.errors import ArgumentError, SolverError
from draisine.optimal.adjoint import sweep
from draisine.optimal.adjoint.functional import Functional
from draisine.optimal.phase_builder import build_phases, equations_of
from draisine.program.variational import Direction
from draisine.simulation.sensitivity import integrate_varied

EXACT = dr.methods.DOP853(rtol=1e-13, atol=1e-14)
TORQUES = {"steer_torque": np.array([-0.8, 0.3, 0.9, -0.4]), "pedal_torque": np.array([5.0, -3.0, 2.0, 8.0])}
FINAL = "heading**2 + 0.3*lean + 0.1*speed*steer_rate"


def central(function, at, step):
    """Differences of order four."""
    return (8 * (function(at + step) - function(at - step)) - function(at + 2 * step) + function(at - 2 * step)) / (12 * step)


@pytest.fixture(scope="module")
def bike():
    return dr.gallery.bicycle()


@pytest.fixture(scope="module", params=["reduced", "stabilized"])
def turn(request, bike):
    """The reduced bicycle, and the one with all velocities, multipliers solved for and Baumgarte's terms."""
    augmented = dr.formulations.Augmented(stabilization=dr.stabilization.Baumgarte(10.0, 100.0, 10.0))
    model = bike if request.param == "reduced" else dr.derive(bike, formulation=augmented)
    return (
        dr.maneuver(model)
        .start(speed=8.0, roll_rate=0.1)
        .minimize(integral="steer_torque**2 + 4*lean**2 + rear_wheel_contact_y", final=FINAL, time=0.3)
    )


@pytest.fixture(scope="module")
def found(turn):
    return dr.optimal.gradient(turn, TORQUES, duration=0.8)


# ------------------------------------------------------------------------------------------------ closed forms


def test_a_thrown_ball_in_closed_form():
    """x″ = a_i − k with a in three pieces of a third of T: all derivatives by hand."""
    x, v, push, k = sp.symbols("x v push k")
    ball = dr.first_order("ball", {x: v, v: push - k}, inputs=[push], parameters={k: 0.7}, start={x: 0.2, v: 1.5})
    cost = dr.maneuver(ball).start(x=0.2, v=1.5).minimize(final="x**2", integral="push**2", time=2.0)
    a = sp.symbols("a0:3")
    T, x0, v0 = sp.symbols("T x0 v0")
    place, speed = x0, v0
    for value in a:
        place, speed = place + speed * T / 3 + (value - k) * (T / 3) ** 2 / 2, speed + (value - k) * T / 3
    total = place**2 + sum(value**2 for value in a) * T / 3 + 2 * T
    at = {T: 1.3, x0: 0.2, v0: 1.5, k: 0.7, **dict(zip(a, (0.5, -1.0, 2.0), strict=True))}
    found = dr.optimal.gradient(cost, {"push": [0.5, -1.0, 2.0]}, duration=1.3)
    wanted = {s: float(total.diff(s).subs(at)) for s in at}
    assert found.value == pytest.approx(float(total.subs(at)), rel=1e-13)
    assert found.controls["push"] == pytest.approx([wanted[s] for s in a], rel=1e-12)
    assert found.duration == pytest.approx(wanted[T], rel=1e-12)
    assert found.parameters["k"] == pytest.approx(wanted[k], rel=1e-12)
    assert [found.start["x"], found.start["v"]] == pytest.approx([wanted[x0], wanted[v0]], rel=1e-12)
    assert found.targets == pytest.approx(found.start, rel=1e-12)
    assert found.switching("push") == pytest.approx(found.controls["push"] / (1.3 / 3), rel=1e-12)


def test_time_in_the_equations_and_uneven_pieces():
    """x′ = t² u on (0, 0.2 T) and (0.2 T, T): ∂J/∂T through the time of every stage as well."""
    x, push, t = *sp.symbols("x push"), dynamicsymbols._t
    driven = dr.first_order("driven", {x: t**2 * push}, inputs=[push])
    cost = dr.maneuver(driven).start(x=0.0).minimize(final="x", integral="t*push")
    found = dr.optimal.gradient(cost, {"push": [3.0, -2.0]}, duration=1.5, breaks=[0.0, 0.2, 1.0])
    early, late = (0.2 * 1.5) ** 3 / 3, (1.5**3 - 0.3**3) / 3
    first, second = 0.3**2 / 2, (1.5**2 - 0.3**2) / 2
    assert found.controls["push"] == pytest.approx([early + first, late + second], rel=1e-12)
    wanted = 3.0 * (3 * early / 1.5 + 2 * first / 1.5) - 2.0 * (3 * late / 1.5 + 2 * second / 1.5)
    assert found.duration == pytest.approx(wanted, rel=1e-12)


# ------------------------------------------------------------------------------------------------ differences


def test_bicycle_against_central_differences(turn, found):
    """Controls, duration, parameters (through the start too) and targets, to 1e-6."""
    fixed = dr.optimal.Adjoint(steps=found.steps)

    def cost(controls=TORQUES, duration=0.8, stated=turn):
        return dr.optimal.gradient(stated, controls, duration=duration, method=fixed).value

    def moved(name, piece, value):
        return {n: np.where(np.arange(4) == piece, value, v) if n == name else v for n, v in TORQUES.items()}

    for name, piece, step in (("steer_torque", 0, 0.05), ("steer_torque", 3, 0.05), ("pedal_torque", 1, 1.0)):
        wanted = central(lambda value, n=name, k=piece: cost(moved(n, k, value)), TORQUES[name][piece], step)
        assert found.controls[name][piece] == pytest.approx(wanted, rel=1e-6)
    assert found.duration == pytest.approx(central(lambda T: cost(duration=T), 0.8, 0.003), rel=1e-6)
    assert found.targets["speed"] == pytest.approx(central(lambda s: cost(stated=turn.start(speed=s)), 8.0, 0.05), rel=1e-6)
    assert found.targets["roll_rate"] == pytest.approx(
        central(lambda s: cost(stated=turn.start(roll_rate=s)), 0.1, 0.01), rel=1e-6
    )
    for name, value, step in (("trail", 0.08, 1e-3), ("r_front_wheel", 0.35, 1e-3)):
        wanted = central(lambda p, n=name: cost(stated=turn.parameters(**{n: p})), value, step)
        assert found.parameters[name] == pytest.approx(wanted, rel=1e-6)


def test_start_by_single_states(turn, found):
    """Derivatives by one state at the start, the others held: here the constraints need not hold."""
    (builder,), (phase,) = build_phases(turn.controls(*TORQUES), [dr.optimal.Adjoint(4)])
    functional = Functional.of(phase, builder.start, dr.optimal.Adjoint(4, steps=found.steps), ())
    names = [q.name for q in builder.equations.states]
    controls = np.column_stack([TORQUES[n] for n in phase.controls])

    def cost(name, value):
        x = builder.start.copy()
        x[names.index(name)] = value
        return (
            Functional(phase, x, functional.method, functional.motion, functional.ends, found.steps)
            .run(0.8, controls, builder.p)
            .cost
        )

    for name, step in (("steer", 0.01), ("steer_rate", 0.02), ("frame_qx", 0.003)):
        at = builder.start[names.index(name)]
        assert found.start[name] == pytest.approx(central(lambda v, n=name: cost(n, v), at, step), rel=1e-6)


# ------------------------------------------------------------------------------------------------ forward sensitivities


def forward_sensitivities(cost, name, values, duration, parameter):
    """By the variational equations, stepped adaptively from piece to piece: of a final cost by the values of one control, by a
    parameter, and the start held."""
    (builder,), (phase,) = build_phases(cost.controls(name), [dr.optimal.Adjoint(len(values))])
    e, p, u = builder.equations, builder.p, builder.inputs.copy()
    place, at = [q.name for q in e.inputs].index(name), [q.name for q in e.parameters].index(parameter)
    idle = [Direction(f"{name} {k}", "x") for k in range(len(values))]
    x, s = builder.start, np.zeros((len(e.states), len(values) + 1))
    times = np.linspace(0.0, duration, len(values) + 1)
    for k, value in enumerate(values):
        u[place] = value
        directions = [*idle[:k], Direction(name, "u", place), *idle[k + 1 :], Direction(parameter, "p", at)]
        x, s = integrate_varied(e, x, s, times[k + 1], directions, start=times[k], parameters=p, inputs=u, method=EXACT).final
    plant = phase.symbols.plant
    reported = ca.Function("slopes", plant.arguments, [ca.gradient(phase.final, plant.x), ca.gradient(phase.final, plant.p)])
    by_x, by_p = (np.asarray(part.full()).ravel() for part in reported(duration, x, u, p))
    total = by_x @ s
    total[-1] += by_p[at]
    return total


def start_held(cost, name, values, duration, parameter):
    """The adjoint's derivatives by the same, the start held."""
    method = dr.optimal.Adjoint(len(values))
    (builder,), (phase,) = build_phases(cost.controls(name), [method])
    functional = Functional.of(phase, builder.start, method, (parameter,)).with_settled_steps(
        duration, values[:, None], builder.p
    )
    motion = functional.run(duration, values[:, None], builder.p)
    jacobian = functional.gradient(motion, duration, values[:, None], builder.p, np.zeros(0))
    return np.append(jacobian.inputs[:, 0], jacobian.parameters)


def test_bicycle_against_forward_sensitivities(bike):
    cost = dr.maneuver(bike).start(speed=8.0, roll_rate=0.1).minimize(final=FINAL)
    given = "steer_torque", np.array([-0.8, 0.9]), 0.6, "trail"
    wanted = forward_sensitivities(cost, *given)
    assert start_held(cost, *given) == pytest.approx(wanted, rel=1e-8)
    found = dr.optimal.gradient(cost, {given[0]: given[1]}, duration=given[2])
    assert found.controls["steer_torque"] == pytest.approx(wanted[:2], rel=1e-8)


def test_stabilized_multipliers_against_forward_sensitivities():
    """A unicycle, all velocities states, with Baumgarte's terms."""
    unicycle = dr.derive(
        dr.gallery.unicycle(), formulation=dr.formulations.Augmented(stabilization=dr.stabilization.Baumgarte(10.0, 100.0, 10.0))
    )
    cost = dr.maneuver(unicycle).start(speed=3.0, lean=0.1).minimize(final="lean + 0.2*heading + 0.1*speed**2")
    given = "twist_torque", np.array([4.0, -5.0]), 0.4, "m_torso"
    assert start_held(cost, *given) == pytest.approx(forward_sensitivities(cost, *given), rel=1e-8)


# ------------------------------------------------------------------------------------------------ kinds of dynamics


def test_both_formulations_have_one_gradient(bike):
    """Reduced and augmented bicycles are the same system: the same gradient by controls and duration."""
    stated = [
        dr.maneuver(m).start(speed=6.0).minimize(integral="lean**2", final="heading")
        for m in (bike, dr.derive(bike, formulation=dr.formulations.Augmented()))
    ]
    one, other = (dr.optimal.gradient(m, TORQUES, duration=0.6) for m in stated)
    for name in TORQUES:
        assert one.controls[name] == pytest.approx(other.controls[name], rel=1e-8, abs=1e-12)
    assert one.duration == pytest.approx(other.duration, rel=1e-8)
    assert one.parameters["trail"] == pytest.approx(other.parameters["trail"], rel=1e-7)


def test_source_cs_own_bicycle():
    """23 coordinates, 20 multipliers: one transposed solution of 43 unknowns per stage."""
    bike = dr.gallery.delebecque_bicycle()
    names = [q.name for q in equations_of(bike).inputs]
    stated = dr.maneuver(bike).start().minimize(final="rear_heading + rear_slant**2", integral=f"0.1*{names[0]}**2")
    values = {names[0]: np.array([0.5, -0.8, 0.2]), names[1]: np.array([1.0, 0.0, -2.0])}
    method = dr.optimal.Adjoint(steps=4)
    found = dr.optimal.gradient(stated, values, duration=0.3, method=method)

    def cost(first):
        return dr.optimal.gradient(stated, {**values, names[0]: np.array([first, -0.8, 0.2])}, duration=0.3, method=method).value

    assert found.controls[names[0]][0] == pytest.approx(central(cost, 0.5, 0.02), rel=1e-6)


def test_costs_of_multipliers():
    """The integrand may name reactions, which are solved for."""
    rod = driven_pendulum.in_cartesian_coordinates()
    cost = dr.maneuver(rod).start(x=0, y=-1).minimize(final="x + 0.2*y_rate", integral="side**2 + 1e-4*length_multiplier**2")
    method = dr.optimal.Adjoint(steps=2)
    found = dr.optimal.gradient(cost, {"side": [1.0, -2.0]}, duration=0.7, method=method)
    wanted = central(lambda f: dr.optimal.gradient(cost, {"side": [f, -2.0]}, duration=0.7, method=method).value, 1.0, 0.02)
    assert found.controls["side"][0] == pytest.approx(wanted, rel=1e-7)


def test_forces_that_depend_on_their_own_normal_force():
    """Tires whose grip ends: accelerations and loads by Newton's method, the adjoint through its last round."""
    sliding = dr.gallery.sliding_bicycle()
    assert equations_of(sliding.freeze()).explicit.iterates
    cost = dr.maneuver(sliding).start(speed=5.0).minimize(final="heading + lean", integral="lean**2")
    method = dr.optimal.Adjoint(steps=60)  # grip makes it stiff

    def reported(torque):
        return dr.optimal.gradient(cost, {"steer_torque": [torque, -0.5]}, duration=0.2, method=method)

    assert reported(0.8).controls["steer_torque"][0] == pytest.approx(central(lambda u: reported(u).value, 0.8, 0.02), rel=1e-6)


def test_threads_do_not_share_memory(bike):
    cost = dr.maneuver(bike).start(speed=6.0).minimize(final="heading")
    torques = np.linspace(-1.0, 1.0, 24)

    def slope(torque):
        return dr.optimal.gradient(cost, {"steer_torque": np.full(40, torque)}, duration=0.8).controls["steer_torque"]

    alone = [slope(u) for u in torques]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(slope, torques))
    np.testing.assert_array_equal(alone, together)


def test_steps_are_as_many_as_the_accuracy_needs(bike):
    cost = dr.maneuver(bike).start(speed=6.0).minimize(final="heading")
    coarse = dr.optimal.gradient(cost, TORQUES, duration=0.8, method=dr.optimal.Adjoint(accuracy=1e-4))
    fine = dr.optimal.gradient(cost, TORQUES, duration=0.8, method=dr.optimal.Adjoint(accuracy=1e-11))
    four = dr.optimal.gradient(cost, TORQUES, duration=0.8, method=dr.optimal.Adjoint(steps=40, order=4))
    assert coarse.steps < fine.steps
    assert coarse.duration == pytest.approx(fine.duration, rel=1e-2)
    assert four.controls["steer_torque"] == pytest.approx(fine.controls["steer_torque"], rel=1e-6)


def test_costates_are_derivatives_at_the_ends_of_pieces(bike):
    """Bellman: the costate at a break is the start's derivative of the rest."""
    cost = dr.maneuver(bike).start(speed=6.0).minimize(integral="lean**2", final="heading")
    found = dr.optimal.gradient(cost, TORQUES, duration=0.8)
    (builder,), (phase,) = build_phases(cost.controls(*TORQUES), [dr.optimal.Adjoint(4)])
    whole = Functional.of(phase, builder.start, dr.optimal.Adjoint(4, steps=found.steps), ())
    controls = np.column_stack([TORQUES[n] for n in phase.controls])
    middle = whole.run(0.8, controls, builder.p).states[2 * found.steps]
    rest = Functional.of(phase, middle, dr.optimal.Adjoint(2, steps=found.steps), ())
    motion = rest.run(0.4, controls[2:], builder.p)
    jacobian = rest.gradient(motion, 0.4, controls[2:], builder.p, np.zeros(0))
    names = [q.name for q in builder.equations.states]
    assert [found.costates[n][2] for n in names] == pytest.approx(jacobian.costates[0], rel=1e-9, abs=1e-12)


# ------------------------------------------------------------------------------------------------ refusals


def test_refusals(bike):
    cost = dr.maneuver(bike).start(speed=6.0).minimize(final="heading")
    with pytest.raises(ArgumentError, match="duration=…"):
        dr.optimal.gradient(cost, TORQUES)
    with pytest.raises(ArgumentError, match="'pedal_torque' has 3 values for 4 pieces"):
        dr.optimal.gradient(cost, {**TORQUES, "pedal_torque": [1.0, 2.0, 3.0]}, duration=1.0)
    with pytest.raises(ArgumentError, match="no input 'steer_tork'"):
        dr.optimal.gradient(cost, {"steer_tork": 1.0}, duration=1.0)
    with pytest.raises(ArgumentError, match="depends on controls or forces"):
        dr.optimal.gradient(cost.minimize(final="rear_wheel_normal_force"), TORQUES, duration=1.0)
    with pytest.raises(ArgumentError, match="order is 4 or 8"):
        dr.optimal.Adjoint(order=5)
    x = sp.Symbol("x")
    away = dr.maneuver(dr.first_order("away", {x: x**2}, start={x: 1.0}, inputs=[sp.Symbol("u")]))
    with pytest.raises(SolverError, match="does not stay finite"):
        dr.optimal.gradient(away.start(x=1.0).minimize(final="x"), {"u": 0.0}, duration=3.0)


def test_the_sweep_runs_in_the_interpreter_too(bike, monkeypatch):
    """The loop as Python text gives what its machine code gives."""
    x, v, push = sp.symbols("x v push")
    ball = dr.first_order("ball", {x: v, v: push - sp.sin(x)}, inputs=[push])
    cost = dr.maneuver(ball).start(x=1.0, v=0.0).minimize(final="x", integral="v**2")
    (builder,), (phase,) = build_phases(cost, [dr.optimal.Adjoint(3)])
    functional = Functional.of(phase, builder.start, dr.optimal.Adjoint(3, steps=2), ())
    controls = np.array([[0.3], [-0.2], [0.5]])
    motion = functional.run(1.0, controls, builder.p)
    compiled = functional.gradient(motion, 1.0, controls, builder.p, np.zeros(0))
    runner = functional._runner
    monkeypatch.setattr(runner, "_run", sweep.sweep)
    again = functional.run(1.0, controls, builder.p)
    interpreted = functional.gradient(again, 1.0, controls, builder.p, np.zeros(0))
    assert again.cost == pytest.approx(motion.cost, rel=1e-14)
    assert interpreted.inputs == pytest.approx(compiled.inputs, rel=1e-13)
    assert interpreted.duration == pytest.approx(compiled.duration, rel=1e-13)
    assert math.isfinite(compiled.duration)
