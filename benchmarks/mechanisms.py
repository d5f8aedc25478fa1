"""Figures of mechanisms with constraints beside solvers of differential-algebraic equations, at equal accuracy.

The bicycle's free run, by PyDy with odeint, CasADi's CVODES and draisine; a four-bar linkage let go and a chain of masses in
Cartesian coordinates, by scipy_dae's Radau, CasADi's IDAS, Exudyn and draisine. For each the cheapest setting is sought whose
end is within an accuracy of a solution that none of them made; these settings are timed, in turns, as whole calls from Python on
what was prepared before. What was chosen for each peer stands at the head of its file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

import draisine as dr
from draisine.gallery.entries.four_bar import ClosedForm, four_bar
from draisine.gallery.entries.n_pendulum import n_pendulum
from draisine.simulation.compiled_equations import prepare
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.run import integrate
from equal_accuracy import TOLERANCES, Solve, SolverSettings, Vector, compared
from figure import Faster, Figure
from peers import casadi_bicycle, exudyn_objects, idas, planar, pydy_bicycle, radau
from peers.pydy_bicycle import Peer

BICYCLE_RUN, RIDE, KNOCK = 5.0, 4.6, 0.5  # s, m/s, rad/s of roll
SPEED = 15.0  # rad/s of the crank at the start
FOUR_BAR_RUN = 3.0  # s, more than seven turns
CHAIN_RUN = 2.0  # s; from the horizontal to the whip of the end


def figures(peers: bool, pydy: Peer | None = None, quickest: Peer | None = None) -> Iterator[Figure]:
    """`pydy` is PyDy's bicycle as it comes, `quickest` with its fastest setting."""
    yield from _bicycle(peers, {"PyDy": pydy, "PyDy by Cramer's rule": quickest})
    yield from _four_bar(peers)
    yield from _chain(10, (1e-3, 1e-6), peers)
    yield from _chain(100, (1e-6,), peers)


def _bicycle(peers: bool, pydy: Mapping[str, Peer | None]) -> Iterator[Figure]:
    """Lean and steer at the end. The exact ones: SciPy on the model written by hand in CasADi."""
    equations = dr.derive(dr.gallery.model("bicycle"))
    values = dict(zip((q.name for q in equations.parameters), equations.default_parameters.tolist(), strict=True))
    function = casadi_bicycle.written(list(values))
    choices, start = prepare(equations), consistent_start(equations, {"speed": RIDE, "roll_rate": KNOCK}).x

    def ours(tolerance: float) -> Solve:
        method, ends = dr.methods.DOP853(rtol=tolerance, atol=tolerance), np.array([0.0, BICYCLE_RUN])
        return lambda: _lean_and_steer(equations, integrate(choices, start, BICYCLE_RUN, method=method, samples=ends).states[-1])

    solvers = [[SolverSettings("draisine DOP853", TOLERANCES, "tolerance {:.0e}", ours)]]
    reported = "tolerance {:.0e}"
    if theirs := [
        SolverSettings(f"{n}, odeint", TOLERANCES, reported, partial(_odeint, one)) for n, one in pydy.items() if one is not None
    ]:
        solvers.append(theirs)
    if peers:
        cvodes = partial(casadi_bicycle.cvodes, function, values, RIDE, KNOCK, BICYCLE_RUN)
        solvers.append([SolverSettings("CasADi's interpreter of a plain model, CVODES", TOLERANCES, reported, cvodes)])
    exact = casadi_bicycle.exact(function, values, RIDE, KNOCK, BICYCLE_RUN)
    for accuracy in (1e-4, 1e-8):
        yield from compared(f"bicycle, {BICYCLE_RUN:g} s to {accuracy:.0e} rad", "rad", solvers, exact, accuracy, Faster(1))


def _lean_and_steer(equations: dr.Equations, state: Vector) -> Vector:
    """Of the frame's quaternion, lean is the angle of its y axis against the ground."""
    values = dict(zip((s.name for s in equations.states), state, strict=True))
    w, x, y, z = (values[f"frame_q{k}"] for k in "wxyz")
    return np.array([np.arcsin(2 * (y * z + w * x)), values["steer"]])


def _odeint(peer: Peer, tolerance: float) -> Solve:
    from scipy.integrate import odeint

    start, given = pydy_bicycle.upright(RIDE, KNOCK), (peer.constants,)
    lean, steer = (pydy_bicycle.COORDINATES.index(name) for name in ("lean", "steer"))

    def solve() -> Vector:
        end = odeint(peer.rhs, start, [0.0, BICYCLE_RUN], args=given, rtol=tolerance, atol=tolerance, mxstep=100_000)[-1]
        return np.array([end[lean], -end[steer]])  # z down, y to the right

    return solve


def _four_bar(peers: bool) -> Iterator[Figure]:
    equations = dr.derive(four_bar())
    form = ClosedForm.of(dict(zip([p.name for p in equations.parameters], equations.default_parameters, strict=True)))
    start = consistent_start(equations, {"crank_angle": 0.0, "crank_angle_rate": SPEED}).x
    to_angles = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])  # crank, knee, rocker to angles against the ground
    ours = _our_solver(equations, start, FOUR_BAR_RUN, to_angles)
    theirs: list[list[SolverSettings]] = []
    if peers:
        bars = planar.Bars(form.crank, form.coupler, form.rocker, form.ground, form.density)
        at = np.zeros(1)
        q_start = np.concatenate([at, *form.angles(at)])
        v_start = SPEED * np.concatenate([at + 1, *form.ratios(at)])
        mechanism = planar.four_bar(bars, q_start, v_start)
        theirs = [
            radau.solvers(mechanism, FOUR_BAR_RUN),
            idas.solvers(mechanism, FOUR_BAR_RUN),
            exudyn_objects.four_bar_solvers(bars, q_start, v_start, FOUR_BAR_RUN),
        ]
    exact = four_bar_exact(form, FOUR_BAR_RUN)
    for accuracy in (1e-3, 1e-6):
        yield from compared(
            f"four-bar, {FOUR_BAR_RUN:g} s to {accuracy:.0e} rad", "rad", [[ours], *theirs], exact, accuracy, Faster(1)
        )


def _chain(masses: int, accuracies: Sequence[float], peers: bool) -> Iterator[Figure]:
    equations = n_pendulum(masses)
    ours = _our_solver(equations, np.array([s.default for s in equations.states]), CHAIN_RUN, np.eye(2 * masses))
    theirs: list[list[SolverSettings]] = []
    if peers:
        mechanism = planar.chain(masses)
        theirs = [
            radau.solvers(mechanism, CHAIN_RUN),
            idas.solvers(mechanism, CHAIN_RUN),
            exudyn_objects.chain_solvers(masses, CHAIN_RUN),
        ]
    exact = chain_exact(masses, CHAIN_RUN)
    for accuracy in accuracies:
        yield from compared(
            f"{masses} masses, {CHAIN_RUN:g} s to {accuracy:.0e} m", "m", [[ours], *theirs], exact, accuracy, Faster(1)
        )


def _our_solver(equations: dr.Equations, start: Vector, until: float, coordinates: Vector) -> SolverSettings:
    choices = prepare(equations)
    ends, count = np.array([0.0, until]), len(equations.coordinates)

    def solve(tolerance: float) -> Vector:
        run = integrate(choices, start, until, method=dr.methods.DOP853(rtol=tolerance, atol=tolerance), samples=ends)
        return coordinates @ run.states[-1, :count]

    def ready(tolerance: float) -> Solve:
        return partial(solve, tolerance)

    return SolverSettings("draisine DOP853", TOLERANCES, "tolerance {:.0e}", ready)


# ------------------------------------------------------------------------------------------------ solutions by other means


def four_bar_exact(form: ClosedForm, until: float) -> Vector:
    """Angles of crank, coupler and rocker: t = ∫ √(J/(2(E − V))) dφ by quadrature, solved for φ; the loop in closed form."""
    at = np.zeros(1)
    energy = 0.5 * form.inertia(at) * SPEED**2 + form.potential(at)

    def slowness(phi: Vector) -> Vector:
        return np.sqrt(form.inertia(phi) / (2 * (energy - form.potential(phi))))

    points = 400  # of the trapezoidal rule, which is exact to rounding for a smooth periodic function
    turn = 2 * np.pi * float(slowness(2 * np.pi * np.arange(points) / points).mean())
    turns, rest = divmod(until, turn)
    nodes, weights = np.polynomial.legendre.leggauss(80)
    phi = 2 * np.pi * rest / turn
    for _ in range(30):
        elapsed = phi / 2 * float(weights @ slowness(phi / 2 * (nodes + 1)))
        phi -= (elapsed - rest) / float(slowness(at + phi)[0])
    coupler, rocker = form.angles(at + phi)
    return np.array([phi + 2 * np.pi * turns, coupler[0], rocker[0]])


def chain_exact(masses: int, until: float) -> Vector:
    """x1, z1, …: the chain in the angles of its rods from the vertical, by hand in NumPy, by SciPy's DOP853 at 1e-13.

    Masses and rods are ones. The pulls T of the rods keep their lengths: T₋ cos + T₊ cos − 2 T = −ω² between neighbors.
    """
    from scipy.integrate import solve_ivp
    from scipy.linalg import solve_banded

    bands = np.zeros((3, masses))
    bands[1] = -2.0
    bands[1, 0] = -1.0  # the first rod hangs from a fixed point, and alone feels the weight as such

    def rates(t: float, state: Vector) -> Vector:
        angles, speeds = np.split(state, 2)
        steps = np.diff(angles)
        bands[0, 1:] = bands[2, :-1] = np.cos(steps)
        side = -(speeds**2)
        side[0] -= planar.GRAVITY * np.cos(angles[0])
        pulls = solve_banded((1, 1), bands, side)
        turn = np.zeros(masses)
        turn[0] = -planar.GRAVITY * np.sin(angles[0])
        turn[:-1] += pulls[1:] * np.sin(steps)
        turn[1:] -= pulls[:-1] * np.sin(steps)
        return np.concatenate([speeds, turn])

    start = np.concatenate([np.full(masses, np.pi / 2), np.zeros(masses)])
    angles = solve_ivp(rates, (0.0, until), start, method="DOP853", rtol=1e-13, atol=1e-13).y[:masses, -1]
    return np.column_stack([np.cumsum(np.sin(angles)), -np.cumsum(np.cos(angles))]).ravel()
