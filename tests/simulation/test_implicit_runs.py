"""Implicit equations and methods in whole runs: samples, events, control, interruption, sparse matrices, the verb itself."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import draisine as dr
from draisine.program.equations import Equations, Event
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program
from draisine.results.status import Ending, Progress
from draisine.simulation import compiled_equations as forms
from draisine.simulation.compiled_equations import prepare
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.esdirk23 import ESDIRK23
from draisine.simulation.methods.gauss import Gauss
from draisine.simulation.methods.radau import Radau
from draisine.simulation.run import integrate
from draisine.simulation.sampled_control import EveryStage, Sampled
from draisine.simulation.stepper import layout
from draisine.simulation.stepper.memory import Memory, stepping_loop
from simulation.systems import GRAVITY, cart, cartesian_pendulum, first_order, implicit_system, pendulum_state, start_of

TIGHT = Radau(rtol=1e-11, atol=1e-12)


def slaved(**more: object) -> Equations:
    """ẋ = z, 0 = z + x − y, y = sin(3 t): an algebraic unknown between a state and a given motion."""

    def residual(t: ca.SX, x: ca.SX, rate: ca.SX, u: ca.SX, p: ca.SX) -> list[ca.SX]:
        return [rate[0] - x[1], x[1] + x[0] - x[2], x[2] - ca.sin(3.0 * t)]

    return implicit_system("slaved", {"x": 1.0, "z": 0.0, "y": 0.0}, residual, **more)  # type: ignore[arg-type]


def slaved_at(t: np.ndarray) -> np.ndarray:
    """ẋ = sin 3t − x from 1."""
    x = 1.3 * np.exp(-t) + (np.sin(3.0 * t) - 3.0 * np.cos(3.0 * t)) / 10.0
    y = np.sin(3.0 * t)
    return np.column_stack([x, y - x, y])


@pytest.mark.parametrize(
    ("method", "accuracy"), [(TIGHT, 1e-8), (Radau(), 1e-6), (Radau(stages=5), 1e-6), (ESDIRK23(rtol=1e-8), 1e-5)]
)
def test_samples_of_algebraic_unknowns(method: object, accuracy: float) -> None:
    """y has no equation of motion, so that the ends of steps are exact whatever their length; between them it counts."""
    times = np.linspace(0.0, 10.0, 487)
    run = integrate(slaved(), [1.0, 5.0, 5.0], 10.0, method=method, samples=times)  # type: ignore[arg-type]
    assert run.states == pytest.approx(slaved_at(times), abs=accuracy)


def test_what_follows_the_time_alone_is_sampled_right() -> None:
    """0 = y − sin t has no error at the end of a step, ever; that must not make the steps endless."""
    follow = implicit_system("follow", {"y": 0.0}, lambda t, x, rate, u, p: [x[0] - ca.sin(t)])
    times = np.linspace(0.0, 20.0, 333)
    run = integrate(follow, [0.0], 20.0, method=Radau(rtol=1e-8, atol=1e-8), samples=times)
    assert run.states[:, 0] == pytest.approx(np.sin(times), abs=2e-6)


# -------------------------------------------------------------------------------------------------------------- events


@pytest.mark.parametrize("index", [1, 2, 3])
def test_the_pendulum_passes_the_vertical_on_time(index: int) -> None:
    """A quarter period from the horizontal is K(1/√2) √(l/g): half of ∫ dφ / √(1 − sin²φ / 2) … = 1.8540746773 √(l/g)."""
    events = [(Event("vertical", "x"), lambda t, x: x[0]), (Event("rest", "vy", direction=-1), lambda t, x: x[3])]
    equations = cartesian_pendulum(index, events=events)
    run = integrate(equations, start_of(equations), 2.5, method=TIGHT)
    quarter = 1.8540746773013719 / np.sqrt(GRAVITY)
    crossings = [e for e in run.events if e.name == "vertical"]
    assert [e.time for e in crossings] == pytest.approx([quarter, 3.0 * quarter], abs=1e-9)
    assert crossings[0].state == pytest.approx(pendulum_state(np.array([0.0]), np.array([-np.sqrt(2 * GRAVITY)]))[0], abs=2e-3)
    assert np.abs(crossings[0].state[:2] - [0.0, -1.0]).max() < 1e-9


def test_stop_at_an_algebraic_unknown() -> None:
    """The rod force of the pendulum passes 20 N where 3 g sin = 20: an event on a multiplier."""
    equations = cartesian_pendulum(1, events=[(Event("taut", "r", action="stop", direction=1), lambda t, x: x[4] - 20.0)])
    run = integrate(equations, start_of(equations), 2.0, method=TIGHT, samples=np.linspace(0.0, 2.0, 21))
    assert run.status.kind == Ending.EVENT
    assert run.final_state[1] == pytest.approx(-20.0 / (3.0 * GRAVITY), abs=1e-9)
    assert run.times[-1] == run.final_time


def test_bouncing_by_restarts_of_a_dae() -> None:
    """A ball in free fall with its energy as an algebraic unknown; every bounce keeps a quarter of it."""

    def residual(t: ca.SX, x: ca.SX, rate: ca.SX, u: ca.SX, p: ca.SX) -> list[ca.SX]:
        return [rate[0] - x[1], rate[1] + GRAVITY, x[2] - 0.5 * x[1] ** 2 - GRAVITY * x[0]]

    landed = (Event("landed", "height", action="stop", direction=-1), lambda t, x: x[0])
    ball = implicit_system("ball", {"height": 1.0, "speed": 0.0, "energy": 0.0}, residual, events=[landed])
    x, t, landings, energies = np.array([1.0, 0.0, 0.0]), 0.0, [], []
    for _ in range(3):
        run = integrate(ball, x, t + 10.0, start=t, method=Radau())
        t, x = run.final_time, np.array([0.0, -0.5 * run.final_state[1], 0.0])
        landings.append(t)
        energies.append(run.final_state[2])
    first = np.sqrt(2 / GRAVITY)
    assert np.diff([0.0, *landings]) == pytest.approx([first, first, first / 2], rel=1e-9)
    assert energies == pytest.approx([GRAVITY, GRAVITY / 4, GRAVITY / 16], rel=1e-9)


# ------------------------------------------------------------------------------------------- resumption, interruption


@pytest.mark.parametrize(
    ("make", "method"),
    [
        (lambda: cartesian_pendulum(3), Radau()),
        (lambda: cartesian_pendulum(2), Radau(step=0.01)),
        (lambda: cartesian_pendulum(1), Radau(stages=5)),
        (lambda: cartesian_pendulum(1), ESDIRK23()),
        (lambda: cartesian_pendulum(1), Gauss(0.01)),
    ],
)
def test_resumed_step_by_step_is_the_same_to_the_last_bit(make: object, method: object) -> None:
    equations = make()  # type: ignore[operator]
    kernels = prepare(equations).compiled(()).kernels(implicit=True)
    advance = stepping_loop(implicit=True)
    ends = []
    for budget in (10**9, 1):
        nothing = np.zeros(0)
        memory = Memory(kernels, method, start_of(equations), nothing, nothing, (0.0, 1.0), np.linspace(0, 1, 31))  # type: ignore[arg-type]
        reason = layout.PAUSED
        while reason == layout.PAUSED:
            memory.stepper.budget = budget
            reason = advance(memory.stepper)
        assert reason == layout.REACHED
        ends.append(memory)
    assert np.array_equal(ends[0].stepper.sample_x, ends[1].stepper.sample_x)
    assert np.array_equal(ends[0].stepper.step_time, ends[1].stepper.step_time)
    assert ends[0].stepper.evaluations == ends[1].stepper.evaluations


def test_interruption_keeps_what_was_computed() -> None:
    def progress(now: Progress) -> None:
        if now.share > 0.2:
            raise KeyboardInterrupt

    times = np.linspace(0.0, 1e4, 1001)
    run = integrate(slaved(), [1.0, 0.0, 0.0], 1e4, method=Radau(step=1e-3), samples=times, progress=progress)
    assert run.status.kind == Ending.INTERRUPTED
    assert 0.2 < run.final_time / 1e4 < 0.95
    assert run.times[-1] == run.final_time
    assert run.states[:150] == pytest.approx(slaved_at(times[:150]), abs=1e-9)


# ------------------------------------------------------------------------------------------------------------- control


def driven() -> Equations:
    """A cart with its acceleration as an algebraic unknown, m a = force."""

    def residual(t: ca.SX, x: ca.SX, rate: ca.SX, u: ca.SX, p: ca.SX) -> list[ca.SX]:
        return [rate[0] - x[1], rate[1] - x[2], p[0] * x[2] - u[0]]

    return implicit_system("driven", {"x": 1.0, "v": 0.0, "a": 0.0}, residual, inputs=("force",), parameters={"mass": 2.0})


def test_a_sampled_control_makes_algebraic_unknowns_jump() -> None:
    """Every answer holds for half a second; the acceleration follows at once."""
    answers = {0.0: 2.0, 0.5: -4.0, 1.0: 0.0, 1.5: 6.0}
    control = Sampled(lambda t, x: answers[round(t, 6)], rate=2.0)
    run = integrate(driven(), [0.0, 0.0, 0.0], 2.0, method=Radau(), control=control, samples=[0.25, 0.75, 1.25, 1.75, 2.0])
    assert run.states[:, 2] == pytest.approx([1.0, -2.0, 0.0, 3.0, 3.0], abs=1e-12)
    assert run.states[:, 1] == pytest.approx([0.25, 0.0, -0.5, 0.25, 1.0], abs=1e-10)


@pytest.mark.parametrize("method", [Radau(), ESDIRK23(rtol=1e-8, atol=1e-8), Gauss(0.01)])
@pytest.mark.parametrize("make", [driven, cart])
def test_a_control_at_every_stage(make: object, method: object) -> None:
    """force = −2 x makes an oscillator of the cart, of mass 2: cos t. The Jacobian does not know, and the iteration bears it."""
    control = EveryStage(lambda t, x: -2.0 * x["x"])
    equations = make()  # type: ignore[operator]
    x0 = [1.0, 0.0, 0.0][: len(equations.states)]
    run = integrate(equations, x0, 3.0, method=method, control=control, samples=np.linspace(0.0, 3.0, 7))  # type: ignore[arg-type]
    assert run.states[:, 0] == pytest.approx(np.cos(run.times), abs=1e-5)
    assert run.segments[0].inputs[:, 0] == pytest.approx(-2.0 * run.states[:, 0], abs=1e-12)


def test_a_failing_control_ends_the_run() -> None:
    def control(t: float, x: object) -> float:
        if t > 1.0:
            raise RuntimeError("no more")
        return 0.0

    run = integrate(driven(), [0.0, 1.0, 0.0], 3.0, method=Radau(max_step=0.1), control=EveryStage(control))
    assert run.status.kind == Ending.CONTROL_FAILED
    assert "RuntimeError: no more" in run.status.message
    assert 0.8 < run.final_time <= 1.0


# ----------------------------------------------------------------------------------------- equations solved at run time


def augmented_pendulum() -> Equations:
    """The pendulum with accelerations and rod force from a linear system at run time, held to its length by projection."""
    base = first_order("augmented", {"x": 1.0, "y": 0.0, "vx": 0.0, "vy": 0.0}, lambda t, x, u, p: ca.SX.zeros(4))
    t, x, u, p = base.dynamics.symbols()  # type: ignore[union-attr]
    z = ca.SX.sym("z", 3)
    matrix = ca.vertcat(ca.horzcat(1, 0, x[0]), ca.horzcat(0, 1, x[1]), ca.horzcat(x[0], x[1], 0))
    side = ca.vertcat(0, -GRAVITY, -(x[2] ** 2 + x[3] ** 2))
    arguments = {"t": t, "x": x, "u": u, "p": p}
    solved = LinearSolveProgram.build("augmented", arguments, matrix, side, z, {"xdot": ca.vertcat(x[2], x[3], z[0], z[1])})
    length = ca.sqrt(x[0] ** 2 + x[1] ** 2)
    along = (x[0] * x[2] + x[1] * x[3]) / length**2
    moved = ca.vertcat(x[0] / length, x[1] / length, x[2] - along * x[0], x[3] - along * x[1])
    project = Program.build("augmented_project", arguments, {"x_new": moved, "error": ca.fabs(length - 1.0)})
    return replace(base, dynamics=solved, project=project)


@pytest.mark.parametrize(
    "method", [Radau(rtol=1e-10, atol=1e-10), Gauss(0.002, stages=3), Radau(rtol=1e-10, atol=1e-10, stages=5)]
)
def test_solved_equations_by_implicit_methods(method: object) -> None:
    equations = augmented_pendulum()
    x0, times = start_of(equations), np.linspace(0.0, 3.0, 31)
    explicit = integrate(equations, x0, 3.0, method=DOP853(rtol=1e-12, atol=1e-12), samples=times)
    run = integrate(equations, x0, 3.0, method=method, samples=times)  # type: ignore[arg-type]
    assert run.status.kind == Ending.FINISHED
    assert run.states == pytest.approx(explicit.states, abs=2e-7)
    assert np.abs(np.hypot(run.states[:, 0], run.states[:, 1]) - 1.0).max() < 1e-8


# ------------------------------------------------------------------------------------------------------ sparse matrices


def rod(cells: int) -> Equations:
    """Heat in a rod, one temperature per cell, with the flow at its warm end as an algebraic unknown."""

    def residual(t: ca.SX, x: ca.SX, rate: ca.SX, u: ca.SX, p: ca.SX) -> list[ca.SX]:
        heat = ca.vertcat(1.0 + ca.sin(t), x[:cells], 0.0)
        bend = heat[:-2] - 2.0 * heat[1:-1] + heat[2:]
        flow = x[cells] - cells * (heat[0] - heat[1])
        return [*ca.vertsplit(rate[:cells] - cells**2 * bend), flow]

    unknowns = {f"cell{i}": 0.0 for i in range(cells)} | {"flow": 0.0}
    return implicit_system("rod", unknowns, residual)


@pytest.mark.usefixtures("shipped_kernels")
@pytest.mark.parametrize(
    ("method", "accuracy"), [(Radau(), 1e-9), (Radau(stages=5), 1e-9), (ESDIRK23(), 2e-5), (Radau(step=0.05), 1e-12)]
)
def test_sparse_and_dense_factors_give_the_same(method: object, accuracy: float, monkeypatch: pytest.MonkeyPatch) -> None:
    equations = rod(80)
    sparse = integrate(equations, start_of(equations), 1.0, method=method)  # type: ignore[arg-type]
    assert prepare(equations).compiled(()).form.plan is not None
    monkeypatch.setattr(forms, "SPARSE_FROM", 10**9)
    dense = integrate(equations, start_of(equations), 1.0, method=method)  # type: ignore[arg-type]
    assert prepare(equations).compiled(()).form.plan is None
    assert sparse.states[-1] == pytest.approx(dense.states[-1], abs=accuracy)
    assert sparse.accepted == pytest.approx(dense.accepted, abs=2)


# ------------------------------------------------------------------------------------------------------------ the verb


def test_simulate_implicit_equations_made_by_hand() -> None:
    """A circuit: a capacitor behind a resistor, charged by a voltage; the current is an algebraic unknown."""

    def residual(t: ca.SX, x: ca.SX, rate: ca.SX, u: ca.SX, p: ca.SX) -> list[ca.SX]:
        return [p[1] * rate[0] - x[1], u[0] - x[0] - p[0] * x[1]]

    base = implicit_system(
        "circuit", {"voltage": 0.0, "current": 0.0}, residual, inputs=("source",), parameters={"R": 2.0, "C": 0.5}
    )
    t, x, u, p = (ca.SX.sym(n, k) for n, k in (("t", 1), ("x", 2), ("u", 1), ("p", 2)))
    nothing = ca.SX(0, 1)
    arguments = {"t": t, "x": (x, ("voltage", "current")), "u": (u, ("source",)), "p": (p, ("R", "C"))}
    results = {"v": nothing, "inputs": u, "outputs": nothing, "multipliers": nothing, "residuals": nothing}
    equations = replace(base, report=Program.build("circuit_report", arguments, results))
    run = dr.simulate(equations, 3.0, inputs={"source": 4.0}, samples=31)
    assert run.status.kind == Ending.FINISHED
    assert run["voltage"] == pytest.approx(4.0 * (1.0 - np.exp(-run.time)), abs=1e-7)
    assert run["current"] == pytest.approx(2.0 * np.exp(-run.time), abs=1e-7)
    assert run["current"][0] == pytest.approx(2.0, abs=1e-12)
    reported = dr.simulate(equations, 3.0, inputs={"source": 4.0}, method=dr.methods.Auto())
    assert "Radau of order 5: the equations are given as 0 = F(t, x, ẋ), with current algebraic" in reported.status.message
    with pytest.raises(ValueError, match=r"circuit is given as 0 = F.*RK4 needs ẋ = f. Methods that work are Radau"):
        dr.simulate(equations, 3.0, inputs={"source": 4.0}, method=dr.methods.RK4(0.01))
