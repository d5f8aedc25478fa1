"""What a solution says about itself is true of the motion: closed forms, and random members of their classes."""

import threading

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.optimal import verification
from draisine.optimal.ipopt import Outcome
from draisine.program import casadi_functions

X, Y, V, HEADING, FORCE, X2, U = sp.symbols("x y v heading force x2 u")
MASS = dr.first_order("mass", {X: V, V: FORCE}, inputs=[FORCE])
BOAT = dr.first_order("boat", {X: sp.cos(HEADING) - Y, Y: sp.sin(HEADING)}, inputs=[HEADING])
COARSE = dr.optimal.Collocation(intervals=10)


def least_time(x, v, end, speed, low, high):
    """Of a double integrator, in closed form: full force one way, then the other, with the speed w in between."""
    best = np.inf
    for one, other in ((high, low), (low, high)):
        square = (end - x + v**2 / (2 * one) - speed**2 / (2 * other)) / (1 / (2 * one) - 1 / (2 * other))
        for w in (np.sqrt(square), -np.sqrt(square)) if square >= 0 else ():
            times = (w - v) / one, (speed - w) / other
            if min(times) > -1e-12:
                best = min(best, sum(times))
    return best


def crossing(start):
    return dr.maneuver(BOAT).start(x=start[0], y=start[1]).finish(x=0, y=0).bounds(heading=(-np.pi, np.pi)).minimize("time")


def extremal(last, duration):
    """Zermelo's problem in the current −y: the tangent of the heading is linear in time with the slope 1 (Bryson & Ho, 2.7).
    The start from which the motion with this last heading, between 90° and 270°, ends at zero after this time."""
    from scipy.integrate import solve_ivp

    def backward(s, z):
        heading = np.pi + np.arctan(np.tan(last) - s)
        return [z[1] - np.cos(heading), -np.sin(heading)]

    return solve_ivp(backward, (0, duration), [0, 0], rtol=1e-12, atol=1e-12, method="DOP853").y[:, -1]


def test_zermelo_with_a_heading_that_wraps():
    """From (3.66, −1.86): 105° to 240° in 5.46 s (Bryson & Ho); the heading passes 180° and jumps between its bounds."""
    from scipy.optimize import fsolve

    start = (3.66, -1.86)
    (last, least), _, flag, _ = fsolve(lambda p: extremal(*p) - start, [np.radians(240), 5.46], xtol=1e-12, full_output=True)
    assert flag == 1
    assert (np.degrees(last), least) == (pytest.approx(240, abs=0.1), pytest.approx(5.46, abs=0.005))
    found = crossing(start).duration(1, 20).solve()
    assert found.outcome is Outcome.SOLVED, found.status
    assert found.duration == pytest.approx(least, rel=1e-6)
    assert np.hypot(found["x"][-1], found["y"][-1]) < 1e-5
    exact = np.tan(last) - least + found.only.input_times
    headings = np.tan(found.only.input("heading"))
    assert np.median(np.abs(headings - exact)) < 1e-4


def test_a_heading_with_two_ranges_of_a_turn_does_not_sweep_between_them():
    """Bounds of ±360° contain every heading twice. Meshes whose controls pass from one to the other within an interval were
    called SOLVED with 5.4947 s; the time lost is that of the minimum principle, ∫ H(u) − min H."""
    stated = crossing((3.66, -1.86)).bounds(heading=(-2 * np.pi, 2 * np.pi)).duration(0.1, 30)
    found = stated.solve(refine=dr.optimal.Refinement(seconds=300))  # a busy machine needs more than the default
    assert found.outcome is Outcome.SOLVED, found.status
    assert found.duration == pytest.approx(5.45786526, rel=1e-8)
    assert found.mesh_cost < 1e-6


@pytest.mark.further
@pytest.mark.parametrize("seed", range(4))
def test_wide_ranges_of_headings_are_solved_or_the_possible_gain_is_reported(seed):
    rng = np.random.default_rng(seed)
    last, least = np.radians(rng.uniform(200, 250)), rng.uniform(3, 6)
    start, range_ = extremal(last, least), rng.uniform(1.2, 3) * np.pi
    found = crossing(start).bounds(heading=(-range_, range_)).duration(0.1, 30).solve()
    if found.outcome is Outcome.SOLVED:
        assert found.duration <= least * (1 + 1e-6)
    else:
        assert found.outcome is Outcome.SOLVED_ON_MESH
        assert found.mesh_cost > 0.5 * (found.duration - least)
        assert "others may lower the cost by up to" in found.status.message


def test_on_a_coarse_mesh_it_says_what_it_misses_in_metres():
    river = crossing((3.66, -1.86)).duration(1, 20)
    found = river.solve(dr.optimal.Collocation(intervals=60))
    assert found.outcome is Outcome.SOLVED_ON_MESH
    assert found.converged
    assert not found.solved
    missed = {m.name: m.amount for m in found.verdict.missed}
    assert missed["finish: x"] == pytest.approx(abs(found["x"][-1]), rel=1e-6)
    assert missed["finish: x"] > 0.1
    assert "misses bounds of heading by" in found.status.message


@pytest.mark.parametrize("seed", range(3))
def test_random_wrapping_crossings_end_at_their_goal(seed):
    """Starts from which a known extremal leads to the goal; the answer is not slower, and its heading obeys the closed form."""
    rng = np.random.default_rng(seed)
    last, duration = np.pi + rng.uniform(0.3, 1.0), rng.uniform(1.0, 2.5)
    start = extremal(last, duration)
    found = crossing(start).duration(0.2, 20).solve()
    assert found.solved, found.status
    assert found.duration <= duration * (1 + 1e-6)
    assert np.hypot(found["x"][-1], found["y"][-1]) < 1e-5 * np.hypot(*start)


def test_random_double_integrators():
    """Full force with one switch that lies anywhere; some must turn back first, from where a plain search fails."""
    rng = np.random.default_rng(1)
    for _ in range(6):
        x, v, end, speed = rng.uniform(-2, 2, 4)
        low, high = -rng.uniform(0.3, 3), rng.uniform(0.3, 3)
        found = dr.maneuver(MASS).start(x=x, v=v).finish(x=end, v=speed).bounds(force=(low, high)).minimize("time").solve()
        assert found.solved, found.status
        assert found.duration == pytest.approx(least_time(x, v, end, speed, low, high), rel=1e-6)
        assert low - 1e-5 <= found["force"].min() <= found["force"].max() <= high + 1e-5


def test_random_linear_quadratic_problems():
    """Least ∫ xᵀQx + r u² in free end states is x₀ᵀ P(0) x₀ with P of the Riccati equation."""
    from scipy.integrate import solve_ivp

    rng = np.random.default_rng(3)
    for _ in range(3):
        a, b = rng.normal(size=(2, 2)), rng.normal(size=(2, 1))
        q, r, start, span = np.diag(rng.uniform(0.1, 3, 2)), rng.uniform(0.1, 2), rng.normal(size=2), rng.uniform(1, 4)
        plant = dr.first_order(
            "plant", {X: a[0, 0] * X + a[0, 1] * X2 + b[0, 0] * U, X2: a[1, 0] * X + a[1, 1] * X2 + b[1, 0] * U}, inputs=[U]
        )

        def riccati(_, p, a=a, b=b, q=q, r=r):
            p = p.reshape(2, 2)
            return (a.T @ p + p @ a - p @ b @ b.T @ p / r + q).ravel()

        p = solve_ivp(riccati, (0, span), np.zeros(4), rtol=1e-12, atol=1e-12).y[:, -1].reshape(2, 2)
        stated = dr.maneuver(plant).start(x=start[0], x2=start[1]).duration(span)
        found = stated.minimize(integral=f"{q[0, 0]}*x**2 + {q[1, 1]}*x2**2 + {r}*u**2").solve()
        assert found.solved, found.status
        assert found.objective == pytest.approx(start @ p @ start, rel=1e-6)


def test_hypersensitive_problem():
    """x' = −x³ + u from 1 to 1.5 in 10,000 s: the ends are independent, with H = 0 in between (closed form by quadrature)."""
    from scipy.integrate import quad

    root = lambda x: 2 * np.sqrt(x**6 + x**2)  # noqa: E731
    exact = (
        quad(lambda x: root(x) - 2 * x**3, 0, 1, epsabs=1e-12)[0] + quad(lambda x: root(x) + 2 * x**3, 0, 1.5, epsabs=1e-12)[0]
    )
    plant = dr.first_order("hypersensitive", {X: -(X**3) + U}, inputs=[U])
    found = dr.maneuver(plant).start(x=1).finish(x=1.5).duration(10_000).minimize(integral="x**2 + u**2").solve()
    assert exact == pytest.approx(6.7241, abs=5e-5)  # the published figure
    assert found.solved, found.status
    assert found.objective == pytest.approx(exact, rel=1e-6)


@pytest.mark.further
def test_alp_rider():
    """Unstable and stiff, along a terrain with four peaks (Betts 2010, 4.12: 2030.856); checked in windows."""
    y = sp.symbols("y1:5")
    one, two = sp.symbols("u1 u2")
    rates = (
        -10 * y[0] + one + two,
        -2 * y[1] + one + 2 * two,
        -3 * y[2] + 5 * y[3] + one - two,
        5 * y[2] - 3 * y[3] + one + 3 * two,
    )
    plant = dr.first_order("alp_rider", dict(zip(y, rates, strict=True)), inputs=[one, two])
    peaks = " + ".join(f"{height}*exp(-{b}*(t - {a})**2)" for height, a, b in ((3, 3, 12), (3, 6, 10), (3, 10, 6), (8, 15, 4)))
    squares = "y1**2 + y2**2 + y3**2 + y4**2"
    stated = dr.maneuver(plant).start(y1=2, y2=1, y3=2, y4=1).finish(y1=2, y2=3, y3=1, y4=-2).duration(20)
    stated = stated.along(terrain=f"{squares} >= {peaks} + 0.01").minimize(integral=f"100*({squares}) + 0.01*(u1**2 + u2**2)")
    found = stated.solve(refine=dr.optimal.Refinement(seconds=300))
    assert found.solved, found.status
    assert found.objective == pytest.approx(2030.856, rel=2e-6)
    assert found.growth > 1e10
    assert "windows" in found.status.message


def test_bounds_hold_between_the_nodes():
    """Least effort below a ceiling of 1/9 (Bryson & Ho, 3.11: 4/(9 l) = 4 for l = 1/9, touched along an arc)."""
    stated = dr.maneuver(MASS).start(x=0, v=1).finish(x=0, v=-1).bounds(x=(None, 1 / 9)).duration(1)
    stated = stated.minimize(integral="force**2/2")
    coarse = stated.solve(dr.optimal.Collocation(intervals=7))
    assert coarse.outcome is Outcome.SOLVED_ON_MESH
    assert max(m.amount for m in coarse.verdict.missed if m.name == "bounds of x") > 1e-5
    found = stated.solve()
    assert found.solved, found.status
    assert found["x"].max() <= 1 / 9 * (1 + 1e-6)
    assert found.objective == pytest.approx(4.0, rel=1e-5)


@pytest.mark.parametrize(
    ("cost", "outcome", "words"),
    [
        ({"integral": "-x"}, Outcome.UNBOUNDED, "falls without bound"),
        ({"final": "x"}, Outcome.UNBOUNDED, "falls without bound"),
    ],
)
def test_unbounded_costs(cost, outcome, words):
    found = dr.maneuver(MASS).start(x=0, v=0).duration(1).minimize(**cost).solve(COARSE)
    assert found.outcome is found.status.kind is outcome
    assert not (found.solved or found.status.complete)
    assert words in found.status.message
    assert found.answer.iterations < 100  # the search ends when nothing holds the cost any more
    assert found.trajectory.status.kind == "FINISHED"  # the motion that was reached, simulated


def test_durations_that_run_to_limits_nobody_gave():
    rest = dr.maneuver(MASS).start(x=0, v=0).bounds(force=(-1, 1))
    needless = rest.finish(x=0, v=0).minimize("time").solve(COARSE)
    assert needless.outcome is Outcome.ZERO_DURATION
    assert "nothing needs time" in needless.status.message
    endless = rest.finish(x=1, v=0).minimize(integral="force**2").solve(COARSE)
    assert endless.outcome is Outcome.UNBOUNDED
    assert "the longer the motion" in endless.status.message
    given = rest.duration(0.3, 5).minimize("time").solve(COARSE)  # a limit that is part of the statement
    assert given.solved
    assert given.duration == pytest.approx(0.3, rel=1e-6)
    assert dr.maneuver(MASS).start(x=0, v=0).minimize(integral="1 + force**2").solve(COARSE).outcome is Outcome.ZERO_DURATION


@pytest.mark.parametrize("longest", [50.0, 1000.0, None])
def test_minima_far_below_the_size_of_the_cost(longest):
    """From rest to rest over 1, ∫u² = 12/T³: the longest duration is the best, however flat the cost is there."""
    stated = dr.maneuver(MASS).start(x=0, v=0).finish(x=1, v=0).duration(0.1, longest).minimize(integral="force**2")
    found = stated.solve(COARSE)
    assert found.outcome is (Outcome.UNBOUNDED if longest is None else Outcome.SOLVED)
    assert found.objective == pytest.approx(12 / found.duration**3, rel=1e-6)
    assert longest is None or found.duration == pytest.approx(longest, rel=1e-5)


def test_a_weight_of_time_far_below_the_effort():
    """∫u² + ε T has its minimum at T⁴ = 36/ε."""
    for epsilon in (1e-4, 1e-7, 1e-9):
        stated = dr.maneuver(MASS).start(x=0, v=0).finish(x=1, v=0).duration(0.1, 2000)
        found = stated.minimize(integral="force**2", time=epsilon).solve(COARSE)
        best = (36 / epsilon) ** 0.25
        assert found.solved
        assert found.objective == pytest.approx(12 / best**3 + epsilon * best, rel=1e-6)


INTERRUPTED = {
    "needles": lambda rest: rest.duration(1).minimize(integral="(force**2 - 0.25)**2"),
    "escape": lambda rest: rest.duration(1).minimize(integral="-(force**2)"),
    "meshes": lambda rest: rest.finish(x=1.3, v=-0.2).minimize("time"),
    "repair": lambda rest: rest.finish(x=10, v=0).duration(1).minimize("time"),
}


@pytest.mark.parametrize("kind", INTERRUPTED)
def test_an_interruption_ends_every_search(kind):
    """Whichever of the searches is interrupted, none follows it: of needles, from a saddle, on a finer mesh, of repair."""
    stated = INTERRUPTED[kind](dr.maneuver(MASS).start(x=0, v=0).bounds(force=(-1, 1)))
    counts: list[int] = []

    def stop(progress, at=0):
        counts.append(progress.values["iteration"])
        if len(counts) == at:
            raise KeyboardInterrupt

    plain = stated.solve(progress=stop)
    searches = np.flatnonzero(np.array(counts) == 0)
    parts = list(zip(searches, [*searches[1:], len(counts)], strict=True))
    for begin, end in {parts[0], parts[len(parts) // 2], parts[-1]}:
        counts.clear()
        at = int(begin) + 1 + (end - begin) // 2
        found = stated.solve(progress=lambda progress, at=at: stop(progress, at))
        assert found.outcome is Outcome.INTERRUPTED, (begin, found.status.message)
        assert len(counts) <= at + 1
        assert not plain.converged or begin == 0 or found.answer.violation < 1e-6


def test_interruption_during_refinement_keeps_the_mesh_before():
    stated = crossing((3.66, -1.86)).duration(1, 20)
    first = stated.solve(dr.optimal.Collocation())
    counts = {"solves": 0}

    def stop(progress):
        counts["solves"] += progress.values["iteration"] == 0
        if counts["solves"] == 2 and progress.values["iteration"] == 3:
            raise KeyboardInterrupt

    found = stated.solve(progress=stop)
    assert found.outcome is Outcome.INTERRUPTED
    assert found.objective == first.objective
    assert any("interrupted during refinement" in note for note in found.notes)


def test_limits_of_refinement_are_reported():
    stated = crossing((3.66, -1.86)).duration(1, 20)
    found = stated.solve(refine=dr.optimal.Refinement(rounds=1))
    assert found.outcome is Outcome.SOLVED_ON_MESH
    assert any("limit of 1 rounds" in note for note in found.notes)
    hurried = stated.solve(refine=dr.optimal.Refinement(seconds=1e-9))  # the search on the first mesh is not cut
    assert hurried.outcome is Outcome.SOLVED_ON_MESH
    assert hurried.objective == stated.solve(refine=False).objective
    assert "refinement stopped at its limit of 1e-09 s; see Refinement(…)" in hurried.status.message
    assert "not smooth" not in hurried.status.message
    with pytest.raises(dr.errors.ArgumentError, match="positive"):
        dr.optimal.Refinement(seconds=0)


def test_the_simulation_is_compiled_beside_the_search_without_symbols(monkeypatch, tmp_path):
    """Another thread generates code of tapes that this one has read: not every build of CasADi allows symbols in two threads."""
    threads, made = set(), []
    read, prepare = casadi_functions._sx_tape, verification.prepare
    monkeypatch.setenv("DRAISINE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(casadi_functions, "_sx_tape", lambda f: threads.add(threading.current_thread()) or read(f))
    monkeypatch.setattr(
        verification, "prepare", lambda *a, **named: made.append(threading.current_thread()) or prepare(*a, **named)
    )
    verification._preparation.cache_clear()
    stated = dr.maneuver(dr.gallery.bicycle()).start(speed=8).finish(heading=0.3, rates=0).bounds(steer_torque=(-5, 5))
    for _ in range(2):
        found = stated.duration(0.3, 5).minimize("time").solve(dr.optimal.Collocation(intervals=6))
        assert found.discrepancy < 0.1
    assert threads == {threading.main_thread()}
    assert len(made) == 1 and made[0] is not threading.main_thread()  # once


@pytest.mark.parametrize("factor", [1e2, 1e5, 1e8])
def test_large_costs_with_a_minimum_are_not_unbounded(factor):
    """∫u² − c x(1) of a mass: u = c (1 − t)/2, minimum −c²/12."""
    x, v, u = sp.symbols("x v u")
    mass = dr.first_order("mass", {x: v, v: u}, inputs=[u])
    found = dr.maneuver(mass).start(x=0, v=0).duration(1).minimize(integral="u**2", final=f"-{factor!r}*x").solve()
    assert found.converged, found.status
    assert found.objective == pytest.approx(-(factor**2) / 12, rel=1e-9)
