"""The Whipple–Carvallo bicycle written plainly in CasADi, as C compiled with -O3 and in CasADi's interpreter.

Places and velocities of four bodies in the world, masses and momenta projected by the Jacobians of the velocities, five rows of
rolling solved for five dependent velocities. Nothing of draisine's is used but the values of the 26 parameters, which stay
symbols. Axes: x forward, y left, z up. A pure C loop calls the function, as often as one likes.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
_PLUMBING = frozenset({ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST})
COMPILER = "gcc"
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")
X, Y, Z = (ca.DM(column) for column in ([1, 0, 0], [0, 1, 0], [0, 0, 1]))
DEPENDENT, INDEPENDENT = [0, 1, 2, 4, 7], [3, 5, 6]  # of the rates of COORDINATES
COORDINATES = ("x", "y", "yaw", "lean", "pitch", "steer", "rear_angle", "front_angle")

LOOP = """
#include "bicycle.h"
void many(long long n, const double** arg, double** res, casadi_int* iw, double* w) {
  for (long long i = 0; i < n; ++i) bicycle(arg, res, iw, w, 0);
}
"""


def available() -> bool:
    return shutil.which(COMPILER) is not None


def written(names: list[str]) -> ca.Function:
    """(state of 8 coordinates and 3 speeds, parameters in the order of the names) → its derivative."""
    p = ca.SX.sym("p", len(names))
    k: Mapping[str, Any] = {name: p[i] for i, name in enumerate(names)}
    q, v = ca.SX.sym("q", 8), ca.SX.sym("v", 8)
    _, _, yaw, lean, pitch, steer, _, _ = ca.vertsplit(q)
    tilt, r_rear, r_front = k["steer_axis_tilt"], k["r_rear_wheel"], k["r_front_wheel"]

    heading, leaned = _turn(Z, yaw), _turn(Z, yaw) @ _turn(X, lean)
    frame = leaned @ _turn(Y, pitch)
    fork = frame @ _turn(Y, -tilt) @ _turn(Z, steer)
    offset = r_front * ca.sin(tilt) - k["trail"] * ca.cos(tilt)
    reach = ca.vertcat(k["wheelbase"] - offset * ca.cos(tilt), 0, r_front - r_rear - offset * ca.sin(tilt))
    rear_hub = ca.vertcat(q[0], q[1], 0) + r_rear * leaned @ Z
    head = rear_hub + frame @ reach
    front_hub = head + offset * fork @ X

    turning = v[2] * Z + v[3] * heading @ X + v[4] * leaned @ Y
    turning_fork = turning + v[5] * fork @ Z
    up = Z - ca.dot(fork @ Y, Z) * (fork @ Y)
    up = up / ca.norm_2(up)
    spins = turning + v[6] * frame @ Y, turning_fork + v[7] * fork @ Y
    unturned = _turn(Y, tilt)  # from the frame's axes to the fork's
    center_fork = ca.vertcat(k["x_fork"], 0, k["z_fork"] - r_rear) - reach
    bodies = (
        (
            k["m_frame"],
            rear_hub + frame @ ca.vertcat(k["x_frame"], 0, k["z_frame"] - r_rear),
            turning,
            frame,
            _inertia(k, "frame"),
        ),
        (k["m_fork"], head + fork @ unturned @ center_fork, turning_fork, fork, unturned @ _inertia(k, "fork") @ unturned.T),
        (k["m_rear_wheel"], rear_hub, spins[0], frame, _disc(k, "rear_wheel")),
        (k["m_front_wheel"], front_hub, spins[1], fork, _disc(k, "front_wheel")),
    )
    mass, force = ca.SX.zeros(8, 8), ca.SX.zeros(8)
    for m, place, omega, axes, inertia in bodies:
        speed = ca.jtimes(place, q, v)
        momentum = axes @ inertia @ axes.T @ omega
        by_speed, by_turning = ca.jacobian(speed, v), ca.jacobian(omega, v)
        mass += m * by_speed.T @ by_speed + by_turning.T @ ca.jacobian(momentum, v)
        force += by_speed.T @ (m * (-k["gravity"] * Z - ca.jtimes(speed, q, v))) - by_turning.T @ ca.jtimes(momentum, q, v)

    slip_rear = ca.jtimes(rear_hub, q, v) - r_rear * ca.cross(spins[0], leaned @ Z)
    slip_front = ca.jtimes(front_hub, q, v) - r_front * ca.cross(spins[1], up)
    rows = ca.vertcat(slip_rear[:2], slip_front)
    matrix, bias = ca.jacobian(rows, v), ca.jtimes(rows, q, v)
    solved = ca.solve(matrix[:, DEPENDENT], ca.horzcat(matrix[:, INDEPENDENT], bias))
    freely, rest = ca.SX.zeros(8, 3), ca.SX.zeros(8)
    freely[DEPENDENT, :], rest[DEPENDENT] = -solved[:, :3], -solved[:, 3]
    freely[INDEPENDENT, :] = ca.SX.eye(3)
    accelerations = ca.solve(freely.T @ mass @ freely, freely.T @ (force - mass @ rest))
    speeds = ca.SX.sym("speeds", 3)
    rates = ca.mtimes(freely, speeds)
    # velocities enter the accelerations through the dependent ones
    whole = ca.substitute(ca.vertcat(v, accelerations), v, rates)
    return ca.Function("bicycle", [ca.vertcat(q, speeds), p], ca.cse([whole]))


def _turn(axis: ca.DM, angle: Any) -> ca.SX:
    """Rodrigues: E + sin K + (1 − cos) K²."""
    k = ca.skew(axis)
    return ca.SX(ca.DM.eye(3) + ca.sin(angle) * k + (1 - ca.cos(angle)) * (k @ k))


def _inertia(k: Mapping[str, Any], body: str) -> ca.SX:
    xx, yy, zz, xz = (k[f"i{which}_{body}"] for which in ("xx", "yy", "zz", "xz"))
    return ca.blockcat([[xx, 0, xz], [0, yy, 0], [xz, 0, zz]])


def _disc(k: Mapping[str, Any], wheel: str) -> ca.SX:
    return ca.diag(ca.vertcat(k[f"ixx_{wheel}"], k[f"iyy_{wheel}"], k[f"ixx_{wheel}"]))


def jacobian(function: ca.Function) -> ca.Function:
    """(state, parameters) → the derivative of the state's derivative by the state, its entries that are not zero."""
    x, p = ca.SX.sym("x", 11), ca.SX.sym("p", function.numel_in(1))
    return ca.Function("bicycle", [x, p], ca.cse([ca.jacobian(function(x, p), x)]))


def interpreted(function: ca.Function, state: Vector, parameters: Vector, count: int) -> Callable[[], Any]:
    """Call the function so many times at the same state, in CasADi's interpreter, by its own loop."""
    many = function.map(count)
    arguments, call = many.buffer()
    given = np.tile(state, count), np.tile(parameters, count)
    found = np.zeros(many.nnz_out(0))
    for place, values in enumerate(given):
        arguments.set_arg(place, memoryview(values))  # type: ignore[call-arg]  # the stub asks for a size
    arguments.set_res(0, memoryview(found))  # type: ignore[call-arg]

    def run(kept: object = (many, arguments, given)) -> Vector:
        call()
        return found.reshape(count, -1)

    return run


class Bicycle:
    """The function as compiled C, with the memory it works on."""

    def __init__(self, function: ca.Function, library: Path, parameters: Mapping[str, float]) -> None:
        self.function = function
        self.operations = sum(function.instruction_id(k) not in _PLUMBING for k in range(function.n_instructions()))
        self.names = list(parameters)
        self.parameters = np.array(list(parameters.values()))
        self._library = ctypes.CDLL(str(library))
        self._state, self._rate = np.zeros(11), np.zeros(function.nnz_out(0))
        self._whole, self._real = np.zeros(function.sz_iw() + 1, dtype=np.int64), np.zeros(function.sz_w() + 1)
        given = (ctypes.c_void_p * 2)(self._state.ctypes.data, self.parameters.ctypes.data)
        taken = (ctypes.c_void_p * 1)(self._rate.ctypes.data)
        self._arguments = given, taken, ctypes.c_void_p(self._whole.ctypes.data), ctypes.c_void_p(self._real.ctypes.data)

    def __call__(self, state: Vector) -> Vector:
        """What the function gives, its entries that are not zero."""
        self._state[:] = state
        self.many(1)
        return self._rate.copy()

    def many(self, count: int) -> None:
        """Call the function so many times at the same state, in C."""
        self._library.many(ctypes.c_longlong(count), *self._arguments)


def build(parameters: Mapping[str, float], folder: Path) -> Bicycle:
    """Write, compile and load."""
    return compiled(written(list(parameters)), parameters, folder)


def compiled(function: ca.Function, parameters: Mapping[str, float], folder: Path) -> Bicycle:
    generator = ca.CodeGenerator("bicycle.c", {"with_header": True})
    generator.add(function)
    generator.generate(f"{folder}/")
    (folder / "loop.c").write_text(LOOP)
    library = folder / "bicycle.so"
    subprocess.run([COMPILER, *FLAGS, "bicycle.c", "loop.c", "-o", str(library), "-lm"], cwd=folder, check=True)
    return Bicycle(function, library, parameters)


def upright(bicycle: Bicycle, speed: float, lean_rate: float) -> Vector:
    return _upright(dict(zip(bicycle.names, bicycle.parameters, strict=True)), speed, lean_rate)


def free_run(bicycle: Bicycle, start: Vector, until: float) -> Vector:
    """The state at the end, by SciPy."""
    from scipy.integrate import solve_ivp

    solver: Callable[..., Any] = solve_ivp
    return np.asarray(solver(lambda t, x: bicycle(x), (0.0, until), start, method="DOP853", rtol=1e-11, atol=1e-11).y[:, -1])


def cvodes(
    function: ca.Function, parameters: Mapping[str, float], speed: float, lean_rate: float, until: float, tolerance: float
) -> Callable[[], Vector]:
    """Lean and steer at the end of a free run, by CasADi's own integrator and interpreter."""
    x, p = ca.SX.sym("x", 11), ca.SX.sym("p", len(parameters))
    options = {"abstol": tolerance, "reltol": tolerance, "max_num_steps": 1_000_000}
    run = ca.integrator("run", "cvodes", {"x": x, "p": p, "ode": function(x, p)}, 0.0, [until], options)
    start, values = _upright(parameters, speed, lean_rate), list(parameters.values())
    places = [COORDINATES.index(name) for name in ("lean", "steer")]
    return lambda: np.asarray(run(x0=start, p=values)["xf"].full()[places, 0])


def exact(function: ca.Function, parameters: Mapping[str, float], speed: float, lean_rate: float, until: float) -> Vector:
    """The same by SciPy's DOP853 at 1e-13."""
    from scipy.integrate import solve_ivp

    solver: Callable[..., Any] = solve_ivp
    values, start = list(parameters.values()), _upright(parameters, speed, lean_rate)
    found = solver(lambda t, x: function(x, values).full().ravel(), (0.0, until), start, method="DOP853", rtol=1e-13, atol=1e-13)
    return np.array([found.y[COORDINATES.index(name), -1] for name in ("lean", "steer")])


def _upright(parameters: Mapping[str, float], speed: float, lean_rate: float) -> Vector:
    state = np.zeros(11)
    state[8], state[10] = lean_rate, speed / parameters["r_rear_wheel"]
    return state
