"""Drift control: what each kind keeps, to which order, at which rate; against closed forms wherever there is one."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine.dynamics.dae.stabilization.stabilized_equations import stabilized_equations
from draisine.dynamics.stabilization import Drift
from draisine.results.status import Ending
from draisine.simulation.result import Run
from draisine.simulation.run import integrate
from draisine.simulation.simulate import Computed, compute

STEP = dr.methods.RK4(step=0.01)
EXACT = dr.methods.DOP853(rtol=1e-13, atol=1e-13)
NONE = dr.stabilization.NoControl()


def residuals(done: Computed, level: str) -> np.ndarray:
    """Largest residual of a level at every step."""
    found = []
    for segment in done.run.segments:
        e = segment.equations
        rows = [c.level == level for c in e.constraints]
        place = [slot.name for slot in e.report.outputs].index("residuals")
        kernel = dr.codegen.compile(e.report)
        given = segment.times[:, None], segment.states, np.zeros(len(e.inputs)), done.parameters
        reported = kernel.map(*given)[place].reshape(len(segment.times), -1)
        found.append(np.max(np.abs(reported[:, rows]), axis=1))
    return np.concatenate(found)


def pendulum_energy(done: Computed) -> np.ndarray:
    """Of unit mass and length, from coordinates and velocities that every treatment has in its report."""
    found = []
    for segment in done.run.segments:
        place = [slot.name for slot in segment.equations.report.outputs].index("energy")
        kernel = dr.codegen.compile(segment.equations.report)
        reported = kernel.map(segment.times[:, None], segment.states, [], done.parameters)[place]
        found.append(reported.reshape(len(segment.times), 3)[:, :2].sum(axis=1))
    return np.concatenate(found)


# what is kept at worst over 5 s of a pendulum that falls from the horizontal, by RK4 with a step of 10 ms; None is not bounded
KEPT: list[tuple[Drift, float | None, float | None, float]] = [
    (dr.stabilization.Baumgarte(), 1e-5, 3e-4, 2e-4),
    (dr.stabilization.VelocityProjection(), 1e-7, 1e-11, 1e-5),
    (dr.stabilization.Projection(velocities=False), 1e-11, 1e-5, 2e-4),
    (dr.stabilization.Projection(), 1e-11, 1e-11, 1e-5),
    (dr.formulations.Augmented(), 1e-11, 1e-11, 1e-5),
    (dr.formulations.Reduced(), 1e-11, 1e-14, 1e-4),
    (dr.stabilization.Minimal(), 1e-14, 1e-14, 1e-3),
    (dr.stabilization.Projection(invariants="energy"), 1e-14, 1e-14, 1e-13),
    (dr.stabilization.InvariantStabilization(), 1e-12, 1e-12, 1e-12),
    (dr.stabilization.Rattle(0.01), 1e-14, 1e-14, 5e-3),
]


@pytest.mark.parametrize(("drift", "position", "velocity", "energy"), KEPT, ids=lambda value: type(value).__name__)
def test_what_a_pendulum_keeps(drift: Drift, position: float, velocity: float, energy: float) -> None:
    method = None if isinstance(drift, dr.stabilization.Rattle) else STEP
    done = compute(dr.gallery.simple_pendulum(), 5.0, method=method, drift=drift)
    assert done.run.status.complete
    assert residuals(done, "position").max() < position
    assert residuals(done, "velocity").max() < velocity
    reported = pendulum_energy(done)
    assert np.max(np.abs(reported - reported[0])) < energy


def test_without_control_a_pendulum_drifts() -> None:
    done = compute(dr.gallery.simple_pendulum(), 5.0, method=STEP, drift=NONE)
    grown = residuals(done, "position")
    assert grown.max() > 5e-6
    assert grown[: len(grown) // 5].max() < 0.2 * grown.max()  # it grows
    assert residuals(done, "velocity").max() > 1e-6


@pytest.mark.parametrize("drift", [NONE, *(case[0] for case in KEPT)], ids=lambda drift: type(drift).__name__)
def test_all_follow_the_same_motion(drift: Drift) -> None:
    """The Cartesian pendulum against the angle's own equation, θ̈ = −g sin θ."""
    own = isinstance(drift, dr.stabilization.Rattle)
    drift = dr.stabilization.Rattle(0.001) if own else drift
    run = dr.simulate(
        dr.gallery.simple_pendulum(), 3.0, method=None if own else dr.methods.RK4(step=0.0025), drift=drift, samples=301
    )
    angle = dr.simulate(dr.gallery.n_pendulum_by_angles(1), 3.0, method=EXACT, samples=301)
    apart = np.hypot(run["x1"] - angle["x1"], run["z1"] - angle["z1"])
    assert apart.max() < (1e-4 if own else 2e-6)


# ---------------------------------------------------------------- Baumgarte


@pytest.mark.parametrize(("alpha", "beta"), [(5.0, 25.0), (2.0, 25.0), (6.0, 20.0)])
def test_a_wrong_length_dies_away_as_baumgarte_says(alpha: float, beta: float) -> None:
    """f̈ + 2α ḟ + β f = 0 holds exactly off the constraint: critically damped, oscillating, creeping."""
    stabilized = stabilized_equations(dr.gallery.simple_pendulum(), dr.stabilization.Baumgarte(alpha, beta, 1.0)).equations
    start = np.array([1.01, 0.0, 0.02, 0.3])  # rod1 = (1 − x² − z²)/2
    run = integrate(stabilized, start, 1.5, method=EXACT, samples=np.linspace(0.0, 1.5, 31))
    x, z, u, w = run.states.T
    length = (1 - x**2 - z**2) / 2
    f, rate = length[0], -(x * u + z * w)[0]
    root = np.sqrt(complex(alpha**2 - beta))
    t = run.times
    if root == 0:
        expected = np.exp(-alpha * t) * (f + (rate + alpha * f) * t)
    else:
        expected = (np.exp(-alpha * t) * (f * np.cosh(root * t) + (rate + alpha * f) * np.sinh(root * t) / root)).real
    assert np.max(np.abs(length - expected)) < 1e-11
    assert abs(expected[-1]) < 0.5 * abs(f)


def _reported(equations: dr.Equations, run: Run) -> np.ndarray:
    """All residuals at every sample."""
    place = [slot.name for slot in equations.report.outputs].index("residuals")
    rest = np.zeros(len(equations.inputs)), equations.default_parameters
    return np.array([equations.report([t], x, *rest)[place] for t, x in zip(run.times, run.states, strict=True)])


def test_slip_dies_away_at_the_rate_gamma() -> None:
    """ġ + γ g = 0 holds exactly for a blade that is made to slip."""
    gamma, t = 3.0, np.linspace(0.0, 1.0, 11)
    sleigh = stabilized_equations(dr.gallery.chaplygin_sleigh().freeze(), dr.stabilization.Baumgarte(1.0, 1.0, gamma)).equations
    begin = dr.consistent_start(sleigh, {}).x
    begin[len(sleigh.coordinates) :] = [0.8, 0.05, 0.4][: len(sleigh.velocities)]
    reported = _reported(sleigh, integrate(sleigh, begin, 1.0, method=EXACT, samples=t))
    slips = reported[:, [c.level == "velocity" for c in sleigh.constraints]]
    assert np.max(np.abs(slips[0])) > 1e-2
    assert np.max(np.abs(slips - slips[0] * np.exp(-gamma * t)[:, None])) < 1e-11


def test_a_norm_comes_back_at_the_rate_gamma() -> None:
    """Quaternions turn by q̇ = ½ q ω, which keeps any length: what is drawn back falls by e^(−γ t)."""
    gamma, t = 3.0, np.linspace(0.0, 0.5, 6)
    bicycle = stabilized_equations(dr.gallery.bicycle().freeze(), dr.stabilization.Baumgarte(1.0, 1.0, gamma)).equations
    begin = dr.consistent_start(bicycle, {"speed": 4.6, "roll_rate": 0.5}).x
    names = [s.name for s in bicycle.states]
    begin[[names.index(n) for n in bicycle.quaternions[0]]] *= 1.001
    reported = _reported(bicycle, integrate(bicycle, begin, 0.5, method=EXACT, samples=t))
    (norm,) = reported[:, [c.kind == "norm" for c in bicycle.constraints]].T
    assert norm[0] == pytest.approx(0.0010005, abs=1e-9)
    assert np.max(np.abs(norm - norm[0] * np.exp(-gamma * t))) < 1e-12


def test_baumgarte_is_scaled_to_the_step() -> None:
    assert dr.stabilization.Baumgarte().scaled(0.005) == dr.stabilization.Baumgarte(50.0, 2500.0, 50.0)
    assert dr.stabilization.Baumgarte(beta=16.0).scaled(0.005) == dr.stabilization.Baumgarte(4.0, 16.0, 4.0)
    assert dr.stabilization.Baumgarte(1.0, 2.0, 3.0).scaled(0.005) == dr.stabilization.Baumgarte(1.0, 2.0, 3.0)
    pendulum = dr.gallery.simple_pendulum()
    by_itself, by_hand = (
        compute(pendulum, 1.0, method=STEP, drift=drift).run.final_state
        for drift in (dr.stabilization.Baumgarte(), dr.stabilization.Baumgarte(25.0, 625.0, 25.0))
    )
    assert np.array_equal(by_itself, by_hand)


# ---------------------------------------------------------------- RATTLE


def _ends(make: str, start: dict[str, float], until: float, steps: list[float]) -> list[np.ndarray]:
    model = dr.gallery.model(make)
    return [compute(model, until, start=start, drift=dr.stabilization.Rattle(h)).run.final_state for h in steps]


@pytest.mark.parametrize(
    ("make", "start", "steps"),
    [("simple_pendulum", {}, [0.02, 0.01, 0.005]), ("four_bar", {"crank_angle_rate": 5.0}, [0.004, 0.002, 0.001])],
    ids=["constant masses", "masses that change"],
)
def test_rattle_is_of_order_2(make: str, start: dict[str, float], steps: list[float]) -> None:
    model = dr.gallery.model(make)
    exact = compute(model, 1.0, start=start, method=EXACT, drift=dr.stabilization.Projection(limit=1e-14)).run.final_state
    errors = [np.max(np.abs(end[: len(exact)] - exact)) for end in _ends(make, start, 1.0, steps)]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.05)


def test_rattle_goes_back_the_way_it_came() -> None:
    """It is symmetric: the same steps backwards lead to the start."""
    pendulum = dr.gallery.simple_pendulum()
    out = compute(pendulum, 2.0, start={"x1": 0.6, "z1": -0.8}, drift=dr.stabilization.Rattle(0.05)).run
    x, z, u, w = out.final_state
    back = compute(pendulum, -2.0, start={"x1": x, "z1": z, "x1_rate": u, "z1_rate": w}, drift=dr.stabilization.Rattle(0.05)).run
    assert np.max(np.abs(back.final_state - [0.6, -0.8, 0.0, 0.0])) < 1e-11


def test_rattle_keeps_areas() -> None:
    """The map (θ, θ̇) → (θ, θ̇) of one long step has determinant 1; that of RK4 with projection has not."""

    def determinant(drift: Drift, method: dr.methods.RK4 | None) -> float:
        def after(angle: float, rate: float) -> np.ndarray:
            start = {
                "x1": math.sin(angle),
                "z1": -math.cos(angle),
                "x1_rate": rate * math.cos(angle),
                "z1_rate": rate * math.sin(angle),
            }
            x, z, u, w = compute(dr.gallery.simple_pendulum(), 0.4, start=start, drift=drift, method=method).run.final_state
            return np.array([math.atan2(x, -z), -u * z + w * x])

        d = 1e-4
        columns = [(after(0.9 + a, 0.7 + b) - after(0.9 - a, 0.7 - b)) / (2 * d) for a, b in ((d, 0.0), (0.0, d))]
        return float(np.linalg.det(np.column_stack(columns)))

    assert determinant(dr.stabilization.Rattle(0.4), None) == pytest.approx(1.0, abs=1e-6)
    assert abs(determinant(dr.stabilization.Projection(), dr.methods.RK4(step=0.4)) - 1.0) > 1e-3


def test_rattles_energy_error_does_not_grow() -> None:
    """Over a hundred swings: bounded for RATTLE; with RK4 and projection it goes on growing."""
    pendulum, until = dr.gallery.simple_pendulum(), 120.0

    def halves(drift: Drift, method: dr.methods.RK4 | None) -> tuple[float, float]:
        reported = pendulum_energy(compute(pendulum, until, drift=drift, method=method))
        error = np.abs(reported - reported[0])
        return float(error[: len(error) // 2].max()), float(error[len(error) // 2 :].max())

    first, second = halves(dr.stabilization.Rattle(0.04), None)
    assert second < 1.01 * first
    first, second = halves(dr.stabilization.Projection(), dr.methods.RK4(step=0.04))
    assert second > 1.8 * first


def test_samples_of_rattle_lie_on_the_motion() -> None:
    pendulum = dr.gallery.simple_pendulum()
    run = dr.simulate(pendulum, 1.0, drift=dr.stabilization.Rattle(0.001), samples=[0.0, 0.12345, 0.5, 1.0])
    exact = dr.simulate(pendulum, 1.0, method=EXACT, samples=[0.0, 0.12345, 0.5, 1.0])
    assert np.max(np.abs(run["x1"] - exact["x1"])) < 1e-5
    assert run.time.tolist() == [0.0, 0.12345, 0.5, 1.0]


def _upward_passages(drift: Drift, model: object, event: dr.Event, until: float) -> list[float]:
    run = dr.simulate(model, until, drift=drift, events=[event], samples=11)  # type: ignore[arg-type]
    assert run.status.complete
    return [e.time for e in run.events]


def test_symplectic_runs_look_for_events() -> None:
    """A pendulum that falls from the horizontal passes the lowest point at a quarter of its period, 4 K(½)/√g, and on."""
    period = 4 * 1.8540746773013719 / math.sqrt(9.81)  # K(1/√2), Abramowitz & Stegun 17.3
    expected = [period / 4, 3 * period / 4, 5 * period / 4]
    rod = dr.gallery.simple_pendulum()
    for step, error in ((0.01, 1e-3), (0.001, 1e-5)):
        found = _upward_passages(dr.stabilization.Rattle(step), rod, dr.Event("low", "x1"), 3.0)
        assert found == pytest.approx(expected, abs=error)
        assert max(abs(np.array(found) - expected)) > 1e-9  # it is of order 2, and not the exact motion
    angle = dr.gallery.n_pendulum_by_angles(1)
    name = angle.coordinates[0].name
    run = dr.simulate(
        angle,
        3.0,
        start={name: math.pi / 2},
        drift=dr.stabilization.Symplectic(0.01, 6),
        events=[dr.Event("low", name)],
        samples=11,
    )
    assert [e.time for e in run.events] == pytest.approx(expected, abs=1e-9)


def test_a_symplectic_run_stops_at_an_event() -> None:
    stop = dr.Event("low", "x1", action="stop", description="it hangs straight down")
    run = dr.simulate(dr.gallery.simple_pendulum(), 3.0, drift=dr.stabilization.Rattle(0.001), events=[stop])
    assert run.status.kind == Ending.EVENT and "it hangs straight down" in str(run.status)
    assert run.time[-1] == pytest.approx(1.8540746773013719 / math.sqrt(9.81), abs=1e-5)
    assert abs(run["x1"][-1]) < 1e-10 and run["z1"][-1] == pytest.approx(-1.0, abs=1e-9)


def test_short_steps_of_slow_motions_are_solved() -> None:
    """Newton's method is not asked for more than rounding of places allows."""
    pendulum = dr.gallery.simple_pendulum()
    for step in (1e-4, 1e-5):
        run = compute(pendulum, 100 * step, start={"x1": 1e-6, "z1": -1.0}, drift=dr.stabilization.Rattle(step)).run
        assert run.status.kind == Ending.FINISHED and run.accepted == 100


# ---------------------------------------------------------------- minimal coordinates


def test_minimal_coordinates_change_over_where_they_must() -> None:
    """A pendulum in x and z: neither serves all the way round, and the motion does not notice."""
    pendulum, start = dr.gallery.simple_pendulum(), {"x1": 0.0, "z1": -1.0, "x1_rate": 7.0}
    done = compute(pendulum, 3.0, start=start, method=dr.methods.DOP853(rtol=1e-11, atol=1e-12), drift=dr.stabilization.Minimal())
    chosen = [segment.equations.independent for segment in done.run.segments]
    assert set(chosen) == {("x1_rate",), ("z1_rate",)}
    assert len(chosen) >= 8  # four times a turn
    assert residuals(done, "position").max() < 1e-14
    exact = compute(pendulum, 3.0, start=start, method=EXACT, drift=dr.stabilization.Projection(limit=1e-14))
    assert np.max(np.abs(done.run.final_state[:2] - exact.run.final_state[:2])) < 1e-8


def test_dependent_coordinates_are_a_guess_and_nothing_else() -> None:
    """Whatever they are, accelerations are those of the configuration that the independent coordinate determines."""
    minimal = stabilized_equations(dr.gallery.four_bar().freeze(), dr.stabilization.Minimal(iterations=4)).equations
    x = dr.consistent_start(minimal, {"crank_angle": 0.4, f"{minimal.independent[0]}": 3.0}).x
    other = x.copy()
    free = [v.name for v in minimal.velocities].index(minimal.independent[0])
    for j in range(3):
        other[j] += 0.02 * (j != free)
    arguments = [0.0], [0.0], minimal.default_parameters
    one, two = (minimal.explicit(arguments[0], state, *arguments[1:])[0] for state in (x, other))
    assert np.max(np.abs(one - two)) < 1e-10 * np.max(np.abs(one))


def test_a_four_bar_moves_alike_in_minimal_coordinates_and_reduced() -> None:
    start = {"crank_angle_rate": 6.0}
    runs = [
        dr.simulate(dr.gallery.four_bar(), 2.0, start=start, method=dr.methods.DOP853(rtol=1e-11, atol=1e-12), drift=drift)
        for drift in (dr.stabilization.Minimal(), dr.formulations.Reduced(), dr.stabilization.Projection())
    ]
    for run in runs[1:]:
        assert np.max(np.abs(run["rocker_angle"] - runs[0]["rocker_angle"])) < 1e-8


# ---------------------------------------------------------------- invariants


@pytest.mark.parametrize("gamma", [0.25, 0.5, 1.0])
def test_stabilization_takes_its_part_of_the_error_once(gamma: float) -> None:
    """I − I₀ shrinks by 1 − γ, up to the square of itself; a run does it once after a step, and carries no state for it."""
    held = stabilized_equations(dr.gallery.n_pendulum_by_angles(2), dr.stabilization.InvariantStabilization(gamma=gamma))
    assert held.invariants is not None and held.equations.project is not None
    x = np.array([0.4, 0.9, 0.3, -0.2])
    (energy,) = held.invariants([0.0], x, [], [1.0, 1.0, 9.81])
    for error in (1e-2, 1e-3):
        p = np.array([1.0, 1.0, 9.81, energy[0] - error])
        moved, before = held.equations.project([1.5], x, [], p)
        assert before[0] == pytest.approx(error, rel=1e-9)
        (after,) = held.invariants([0.0], moved, [], p[:3])
        assert after[0] - p[3] == pytest.approx((1 - gamma) * error, abs=error**2)
    assert held.equations.limits.projections == 1
    assert held.equations.states == dr.gallery.n_pendulum_by_angles(2).states


@pytest.mark.parametrize("gamma", [0.25, 1.0])
def test_a_run_stabilizes_once_after_each_step(gamma: float) -> None:
    """Steps of RK4 done here, each followed by one correction of the energy: the run's, number by number."""
    pendulum = dr.gallery.n_pendulum_by_angles(2)
    held = stabilized_equations(pendulum, dr.stabilization.InvariantStabilization(gamma=gamma))
    names = [q.name for q in pendulum.states]
    x = np.array([0.4, 0.9, 0.3, -0.2])
    step, count = 0.05, 12
    run = dr.simulate(
        pendulum,
        step * count,
        start=dict(zip(names, x.tolist(), strict=True)),
        method=dr.methods.RK4(step=step),
        drift=dr.stabilization.InvariantStabilization(gamma=gamma),
        samples=count + 1,
    )
    p = held.with_values(x, np.zeros(0), pendulum.default_parameters)
    assert held.equations.project is not None

    def f(t: float, y: np.ndarray) -> np.ndarray:
        return held.equations.explicit([t], y, [], p)[0]

    for k in range(count):
        t = k * step
        a = f(t, x)
        b = f(t + step / 2, x + step / 2 * a)
        c = f(t + step / 2, x + step / 2 * b)
        d = f(t + step, x + step * c)
        x = held.equations.project([t + step], x + step / 6 * (a + 2 * b + 2 * c + d), [], p)[0]
    np.testing.assert_allclose([run[name][-1] for name in names], x, rtol=1e-11)


def test_any_expression_can_be_held() -> None:
    """A spherical pendulum by its angular momentum about the vertical, to rounding, beside its constraint and energy."""
    spherical = dr.gallery.spherical_pendulum()
    start = {"x": 0.6, "y": 0.0, "y_rate": 1.0}
    spin = "x*y_rate - y*x_rate"
    free, held = (
        dr.simulate(spherical, 10.0, start=start, method=dr.methods.RK4(step=0.02), drift=drift, samples=501)
        for drift in (NONE, dr.stabilization.Projection(invariants=("energy", spin)))
    )
    spins = [run["x"] * run["y_rate"] - run["y"] * run["x_rate"] for run in (free, held)]
    assert np.ptp(spins[0]) > 1e-8
    assert np.ptp(spins[1]) < 1e-13
    assert held.energy_drift is not None and held.energy_drift < 1e-13


# ---------------------------------------------------------------- refusals


BIKE = {"speed": 4.6}


@pytest.mark.parametrize(
    ("model", "drift", "message"),
    [
        ("bicycle", dr.stabilization.Rattle(0.01), "RATTLE is for holonomic constraints, but rear_wheel_x"),
        ("bicycle", dr.stabilization.Minimal(), "minimal coordinates are for holonomic constraints, but rear_wheel_x"),
        ("bicycle", dr.stabilization.Symplectic(0.01), "symplectic without constraints, but rear_wheel_x is one; use Reduced"),
        ("simple_pendulum", dr.stabilization.Symplectic(0.01), r"but rod1 is one; Rattle\(\) is symplectic with holonomic"),
        ("four_bar_driven", dr.stabilization.Rattle(0.01), "masses, forces or constraints depend on time"),
        ("cart_pole", dr.stabilization.Projection(), "no constraints to project onto"),
        ("cart_pole", dr.stabilization.Baumgarte(), "no constraints to stabilize"),
        ("cart_pole", dr.stabilization.Minimal(), "its coordinates are already minimal"),
        ("n_pendulum_by_angles", dr.stabilization.GGL(), "no constraints to stabilize"),
        ("van_der_pol", dr.stabilization.InvariantStabilization(), "van_der_pol has no energy"),
        ("van_der_pol", dr.stabilization.Rattle(0.1), "RATTLE is for mechanisms, but these are equations of first order"),
        ("simple_pendulum", dr.stabilization.Projection(invariants="x2"), "invariant 'x2': unknown name 'x2'"),
    ],
)
def test_refused_with_the_reason(model: str, drift: Drift, message: str) -> None:
    with pytest.raises(dr.errors.ModelError, match=message):
        dr.simulate(dr.gallery.model(model), 0.1, drift=drift)


def test_a_damped_pendulum_has_no_symplectic_map() -> None:
    import sympy as sp
    from sympy.physics.mechanics import dynamicsymbols

    x, y = dynamicsymbols("x y")
    damped = dr.lagrangian(
        "damped",
        [x, y],
        kinetic=(x.diff() ** 2 + y.diff() ** 2) / 2,
        potential=10 * y,
        holonomic={"rod": x**2 + y**2 - 1},
        dissipation=sp.Rational(1, 10) * x.diff() ** 2,
        start={x: 1},
    )
    with pytest.raises(dr.errors.ModelError, match="forces on 'x' do not derive from its energies"):
        dr.simulate(damped, 0.1, drift=dr.stabilization.Rattle(0.01))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: dr.simulate(p, 1.0, drift=dr.stabilization.Rattle(0.01), method=STEP), "an integration method itself"),
        (lambda p: dr.simulate(p, 1.0, drift=NONE, formulation=dr.formulations.Augmented()), "give one of them"),
        (lambda p: dr.stabilization.Rattle(-0.1), "step must be a positive number"),
        (lambda p: dr.stabilization.InvariantStabilization(gamma=2.5), "gamma between 0 and 2"),
        (lambda p: dr.stabilization.InvariantStabilization(()), "name at least one invariant"),
        (lambda p: dr.stabilization.Symplectic(0.1, order=3), "of order 2, 4 and 6"),
        (lambda p: dr.stabilization.Projection(limit=0.0), "a positive number"),
        (lambda p: dr.stabilization.Minimal(iterations=0), "1 to 10 iterations"),
    ],
)
def test_calls_that_make_no_sense(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(dr.gallery.simple_pendulum())  # type: ignore[operator]


def test_a_formulation_can_be_asked_for() -> None:
    """The same motion with velocities eliminated and whole."""
    runs = [
        dr.simulate(dr.gallery.bicycle(), 1.0, start={"speed": 4.6, "roll_rate": 0.5}, method=EXACT, formulation=formulation)
        for formulation in (dr.formulations.Reduced(), dr.formulations.Augmented())
    ]
    assert np.max(np.abs(runs[0]["roll_rate"] - runs[1]["roll_rate"])) < 1e-9


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"drift": "baumgarte"}, r"drift='baumgarte' is not a drift control; give one of NoControl\(\), Baumgarte\(\)"),
        ({"drift": dr.stabilization.GGL}, "is not a drift control"),
        ({"method": "radau"}, "method='radau' is not a method; give an object such as DOP853"),
        ({"method": dr.methods.Radau}, "is not a method"),
        ({"events": ["x1"]}, "events must be a list of events"),
    ],
)
@pytest.mark.parametrize("name", ["simple_pendulum", "cart_pole"])
def test_words_and_classes_in_the_place_of_objects(name: str, given: dict[str, object], says: str) -> None:
    with pytest.raises(TypeError, match=says):
        dr.simulate(dr.gallery.model(name), 1.0, **given)  # type: ignore[arg-type]
