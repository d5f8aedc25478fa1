"""Small deviations from an admissible motion: exact derivatives in named coordinates of the tangent space.

A state x of (coordinates, independent velocities) may be redundant: unit quaternions, wheels on the ground, closed loops.
Deviations δx satisfy the constraints, G δx = 0, and are expressed by named quantities ζ(x): joint coordinates, heading,
lean and pitch in place of a quaternion, velocities, or any output that the user names. With X the solution of

    [G; ∂ζ/∂x] X = [0; 1],        ż = (∂ζ̇/∂x) X z,        ∂ζ̇/∂x = (∂ζ/∂x) ∂f/∂x + ∂(∂ζ/∂x · w)/∂x at w = f.

All derivatives are exact. Everything is evaluated for many states and parameters at once: arrays have a leading axis of points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, SolverError
from draisine.expr.expression import did_you_mean
from draisine.numerics.rank import LEAST, independent_rows
from draisine.program.equations import Equations
from draisine.program.program import Program
from draisine.program.shared_expressions import short_jacobian
from draisine.stability.batch_evaluation import BatchProgram, program_without_cse

Array = NDArray[np.float64]

RANDOM_STATES = 3  # at which the symmetry of a body is tested
LAST_DIGITS = 1e-13  # relative change of states, inputs and parameters, to which entries of A are exposed
VARIATIONS = 8
EPS = float(np.finfo(float).eps)
CERTAIN = 100.0  # an entry is not rounding error if it is this many times its change
SYMMETRIC = 1e-9  # relative difference of accelerations of a body of revolution


@dataclass(frozen=True)
class Derivatives:
    """Derivatives at points: rates w = f, ∂f/∂x, ∂f/∂u, G, Z = ∂ζ/∂x, `curvature` ∂(Z w)/∂x, values ζ, residuals."""

    w: Array
    by_state: Array
    by_input: Array
    constraints: Array
    names: Array
    curvature: Array
    values: Array
    residuals: Array


class Deviations:
    """Named deviations of one system of equations.

    `preferred`: states or outputs that name deviations before all others.
    """

    def __init__(self, equations: Equations, preferred: Sequence[str] = ()) -> None:
        self.equations = equations
        self.preferred = tuple(preferred)
        dynamics = equations.explicit
        self._t, self._x, self._u, self._p = dynamics.symbols()
        self.candidates = self._candidates()

    def __reduce__(self) -> tuple[Any, ...]:  # symbols are not pickled: they are built again, once for all that share them
        return deviations_of, (self.equations, self.preferred)

    # ------------------------------------------------------------ quantities

    @cached_property
    def _motion(self) -> tuple[ca.SX, ca.SX]:
        """Residuals and outputs of motion as functions of the state."""
        e = self.equations
        q, rest = ca.vertsplit(self._x, [0, len(e.coordinates), self._x.numel()])
        if len(e.independent) == len(e.velocities):
            v = rest[: len(e.velocities)] if e.velocities else ca.SX(0, 1)
        else:
            report = e.report.function.call([self._t, self._x, self._u, self._p])  # type: ignore[union-attr]
            v = report[[slot.name for slot in e.report.outputs].index("v")]
        residuals, outputs = e.motion.function.call([self._t, q, v, self._u, self._p])
        return ca.SX(ca.densify(residuals)), ca.SX(ca.densify(outputs))

    @cached_property
    def speeds(self) -> dict[str, ca.SX]:
        """Velocities that name deviations: the independent ones; of a body that rolls on its own rim the rates of heading, lean
        and pitch, because the components of its angular velocity turn with it."""
        e = self.equations
        at = {quantity.name: self._x[i] for i, quantity in enumerate(e.states)}
        speeds = {name: at[name] for name in e.independent}
        for stem in rolling_bodies(e):
            (quaternion,) = (one for one in e.quaternions if one[0] == f"{stem}_qw")
            _, lean, pitch = attitude([at[name] for name in quaternion])
            wx, wy, wz = (speeds.pop(f"{stem}_w{axis}") for axis in "xyz")
            turn = (wz * ca.cos(pitch) - wx * ca.sin(pitch)) / ca.cos(lean)
            roll = wx * ca.cos(pitch) + wz * ca.sin(pitch)
            rates = {"heading": turn, "lean": roll, "pitch": wy - turn * ca.sin(lean)}
            speeds |= {f"{stem}_{word}_rate": rate for word, rate in rates.items()}
        return speeds

    def _candidates(self) -> dict[str, ca.SX]:
        """Quantities that may name a deviation, in order of preference."""
        e = self.equations
        at = {quantity.name: self._x[i] for i, quantity in enumerate(e.states)}
        outputs = dict(zip(e.motion.output("outputs").labels, ca.vertsplit(self._motion[1]), strict=True)) if e.outputs else {}
        joints: dict[str, ca.SX] = {}
        positions: dict[str, ca.SX] = {}
        places: dict[str, ca.SX] = {}  # of wheels on the ground, last: they follow from positions and attitudes
        touched = {name for pose in e.structure.poses for pair in pose.points[1:] for name in pair}
        quaternion_names = {name for quaternion in e.quaternions for name in quaternion}
        free = {quaternion[0].removesuffix("_qw") for quaternion in e.quaternions}
        attitudes: dict[str, ca.SX] = {}
        for quaternion in e.quaternions:
            stem = quaternion[0].removesuffix("_qw")
            angles = attitude([at[name] for name in quaternion])
            attitudes |= {f"{stem}_{word}": angle for word, angle in zip(("heading", "lean", "pitch"), angles, strict=True)}
        for quantity in e.coordinates:
            if quantity.name in quaternion_names:
                continue
            group = places if quantity.name in touched else positions if quantity.name.rpartition("_")[0] in free else joints
            group[quantity.name] = at[quantity.name]
        speeds = self.speeds
        known = {**outputs, **joints, **attitudes, **positions, **places, **{name: at[name] for name in e.independent}, **speeds}
        for name in self.preferred:
            if name not in known:
                raise ArgumentError(f"{e.name} has no state or output of motion {name!r}{did_you_mean(name, list(known))}")
        return {**{name: known[name] for name in self.preferred}, **joints, **attitudes, **positions, **places, **speeds}

    @cached_property
    def angles(self) -> tuple[str, ...]:
        """Quantities of which only the value modulo 2π counts: headings and pitches with values between −π and π, and headings
        that are coordinates of bodies free to move over the ground."""
        e = self.equations
        outputs = dict(zip(e.motion.output("outputs").labels, ca.vertsplit(self._motion[1]), strict=True)) if e.outputs else {}
        wrapped = [name for name, value in {**outputs, **self.candidates}.items() if _turns(value)]
        return tuple(dict.fromkeys([*wrapped, *free_headings(e)]))

    # ------------------------------------------------------------ derivatives

    @cached_property
    def _own_states(self) -> int:
        """Number of states without bookkeeping states such as accumulated work."""
        return len(self.equations.coordinates) + len(self.equations.independent)

    @cached_property
    def names_program(self) -> Program:
        """(t, x, u, p, w) → constraints, names, curvature, values, residuals."""
        own = self._x[: self._own_states]
        w = ca.SX.sym("w", self._own_states)
        zeta = ca.vertcat(*self.candidates.values())
        z = short_jacobian(zeta, own)
        results = {
            "constraints": short_jacobian(self._motion[0], own),
            "names": z,
            "curvature": short_jacobian(z @ w + short_jacobian(zeta, self._t), own),
            "values": zeta,
            "residuals": self._motion[0],
        }
        return program_without_cse(f"{self.equations.name}_deviations", {**self._arguments, "w": w}, results)

    @cached_property
    def outputs_program(self) -> Program:
        """(t, x, u, p) → outputs of motion, by_state, by_input."""
        outputs, own = self._motion[1], self._x[: self._own_states]
        results = {"by_state": short_jacobian(outputs, own), "by_input": short_jacobian(outputs, self._u), "outputs": outputs}
        return program_without_cse(f"{self.equations.name}_observed", self._arguments, results)

    @property
    def _arguments(self) -> dict[str, ca.SX]:
        return {"t": self._t, "x": self._x, "u": self._u, "p": self._p}

    @property
    def dynamics(self) -> Program:
        return dynamics_derivatives(self.equations)

    @property
    def _dynamics_batch_program(self) -> BatchProgram:
        return _dynamics_batch(self.equations)

    @cached_property
    def _names_batch_program(self) -> BatchProgram:
        return BatchProgram(self.names_program)

    def derivatives(self, t: float | Array, x: Array, u: Array, p: Array) -> Derivatives:
        """All derivatives at points: t is one number or (n, 1), x (n, states), u (n, inputs), p (n, parameters)."""
        dynamics, time = self.equations.explicit, np.full((len(x), 1), t)
        if isinstance(dynamics, Program):
            w, by_state, by_input = self._dynamics_batch_program(time, x, u, p)
        else:
            z = np.array([dynamics.solution(*point) for point in zip(time, x, u, p, strict=True)])
            w, by_state, by_input, through, matrix, gap_x, gap_u = self._dynamics_batch_program(time, x, u, p, z)
            by_state = by_state + through @ np.linalg.solve(matrix, gap_x)
            by_input = by_input + through @ np.linalg.solve(matrix, gap_u)
        return self._named(time, x, u, p, w[..., 0], by_state, by_input)

    def named(self, t: float | Array, x: Array, u: Array, p: Array) -> Derivatives:
        """Constraints and names at points, without the dynamics: enough for `choose` and `span`."""
        nothing = np.zeros((len(x), 0, 0))
        return self._named(np.full((len(x), 1), t), x, u, p, np.zeros((len(x), self._own_states)), nothing, nothing)

    def _named(self, t: Array, x: Array, u: Array, p: Array, w: Array, by_state: Array, by_input: Array) -> Derivatives:
        gradient, names, curvature, values, residuals = self._names_batch_program(t, x, u, p, w)
        return Derivatives(w, by_state, by_input, gradient, names, curvature, values[..., 0], residuals[..., 0])

    def output_derivatives(self, t: float, x: Array, u: Array, p: Array) -> tuple[Array, Array, Array]:
        """∂y/∂x and ∂y/∂u of the outputs of motion, and y."""
        by_state, by_input, outputs = BatchProgram(self.outputs_program)(np.full((len(x), 1), t), x, u, p)
        return by_state, by_input, outputs[..., 0]

    # ------------------------------------------------------------ naming

    def choose(self, derivatives: Derivatives) -> Naming:
        """Names of the deviations at the first point: as many as there are free directions, in order of preference."""
        gradient, names = derivatives.constraints[0], derivatives.names[0]
        rows, _ = independent_rows(gradient, np.zeros((0, gradient.shape[1])))
        basis = _orthonormal(gradient[rows])
        count = gradient.shape[1] - len(rows)
        chosen: list[int] = []
        for i, name in enumerate(self.candidates):
            if len(chosen) == count:
                break
            row = names[i]
            size = float(np.linalg.norm(row))
            left = row - basis.T @ (basis @ row)
            left -= basis.T @ (basis @ left)
            if size == 0.0 or float(np.linalg.norm(left)) <= LEAST * size:
                if name in self.preferred:
                    raise ArgumentError(
                        f"{self.equations.name}: {name!r} cannot name a deviation at this state: to first order the constraints "
                        f"and {', '.join(repr(list(self.candidates)[j]) for j in chosen) or 'nothing else'} determine it"
                    )
                continue
            chosen.append(i)
            basis = np.vstack([basis, left / np.linalg.norm(left)])
        if len(chosen) < count:
            raise SolverError(
                f"{self.equations.name}: its coordinates and velocities name only {len(chosen)} of {count} directions at this "
                "state, which is singular"
            )
        return Naming(tuple(rows), tuple(chosen), tuple(list(self.candidates)[i] for i in chosen))


@dataclass(frozen=True)
class Naming:
    """Independent constraint rows, and the candidates that name the deviations."""

    rows: tuple[int, ...]
    chosen: tuple[int, ...]
    names: tuple[str, ...]

    def span(self, derivatives: Derivatives) -> Array:
        """X of the module docstring, (points, states, deviations)."""
        square = np.concatenate([derivatives.constraints[:, self.rows, :], derivatives.names[:, self.chosen, :]], axis=1)
        right = np.zeros((square.shape[1], len(self.chosen)))
        right[len(self.rows) :] = np.eye(len(self.chosen))
        return np.asarray(np.linalg.solve(square, np.broadcast_to(right, (len(square), *right.shape))))

    def matrices(self, derivatives: Derivatives) -> tuple[Array, Array]:
        """A and B at every point."""
        z, curvature = derivatives.names[:, self.chosen, :], derivatives.curvature[:, self.chosen, :]
        return (z @ derivatives.by_state + curvature) @ self.span(derivatives), z @ derivatives.by_input

    def term_sizes(self, derivatives: Derivatives) -> Array:
        """Sums of the magnitudes of the terms that entries of A are sums of."""
        z, curvature = np.abs(derivatives.names[:, self.chosen, :]), np.abs(derivatives.curvature[:, self.chosen, :])
        return np.asarray((z @ np.abs(derivatives.by_state) + curvature) @ np.abs(self.span(derivatives)))

    def rates(self, derivatives: Derivatives) -> Array:
        """ζ̇ at every point."""
        return np.asarray((derivatives.names[:, self.chosen, :] @ derivatives.w[..., None])[..., 0])


def entry_rounding(deviations: Deviations, naming: Naming, x: Array, u: Array, p: Array, t: float = 0.0) -> Array:
    """Bounds of the entries of A at a state that are rounding error: those that change by their own size with the last digits of
    states, inputs and parameters, whatever their units. A coupling that does not cancel is larger, however small it is.

    States are changed by `LAST_DIGITS` of their size, and at least of the smaller of 1 and the largest state: this is how exactly
    a steady motion is known.
    """
    rng = np.random.default_rng(1947)
    least = min(1.0, float(np.abs(x).max(initial=0.0)))

    def varied(values: Array, floor: float) -> Array:
        steps = LAST_DIGITS * rng.uniform(-1.0, 1.0, (VARIATIONS, len(values)))
        return np.asarray(values + np.vstack([np.zeros(len(values)), steps * np.maximum(np.abs(values), floor)]))

    derivatives = deviations.derivatives(t, varied(x, least), varied(u, 0.0), varied(p, 0.0))
    a, terms = naming.matrices(derivatives)[0], naming.term_sizes(derivatives)
    change = np.nan_to_num(np.abs(a[1:] - a[0]), nan=0.0).max(axis=0, initial=0.0)
    several = terms[0] > 2.0 * np.abs(a[0])  # terms that cancel
    return np.asarray(CERTAIN * np.maximum(change, np.where(several, EPS * terms[0], 0.0)))


@lru_cache(maxsize=32)
def dynamics_derivatives(equations: Equations) -> Program:
    """(t, x, u, p) → w, by_state, by_input; where accelerations are solved for at run time, (t, x, u, p, z) → their parts."""
    dynamics = equations.explicit
    own = len(equations.coordinates) + len(equations.independent)
    arguments = dynamics.symbols()
    slots = dict(zip(("t", "x", "u", "p"), arguments, strict=True))
    x, u = slots["x"][:own], slots["u"]
    name = f"{equations.name}_derivatives"
    if isinstance(dynamics, Program):
        rates = dynamics.function.call(arguments)[0][:own]
        parts = {"w": rates, "by_state": short_jacobian(rates, x), "by_input": short_jacobian(rates, u)}
        return program_without_cse(name, slots, parts)
    z = ca.SX.sym("z", dynamics.size)
    matrix, side = dynamics.linear(arguments, z)
    rates = dynamics.after.function.call([*arguments, z])[0][:own]
    gap = side - matrix @ z
    parts = {
        "w": rates,
        "by_state": short_jacobian(rates, x),
        "by_input": short_jacobian(rates, u),
        "by_unknown": short_jacobian(rates, z),
        "matrix": matrix,
        "gap_by_state": short_jacobian(gap, x),
        "gap_by_input": short_jacobian(gap, u),
    }
    return program_without_cse(name, {**slots, "z": z}, parts)


@lru_cache(maxsize=32)
def _dynamics_batch(equations: Equations) -> BatchProgram:
    return BatchProgram(dynamics_derivatives(equations))


@lru_cache(maxsize=64)
def deviations_of(equations: Equations, preferred: tuple[str, ...] = ()) -> Deviations:
    """Cached deviations: their programs are built once."""
    return Deviations(equations, preferred)


@lru_cache(maxsize=32)
def rolling_bodies(equations: Equations) -> tuple[str, ...]:
    """Free bodies of revolution about y that roll on their own rim, a disc or a ring: turned about this axis with their angular
    velocity, they move as before. Found by comparing accelerations at random states."""
    e, rng = equations, np.random.default_rng(1906)
    states, found = [s.name for s in e.states], []
    for quaternion in e.quaternions:
        stem = quaternion[0].removesuffix("_qw")
        spins = [f"{stem}_w{axis}" for axis in "xyz"]
        if set(spins) <= set(e.independent) and f"{stem}_x" in states:
            four, three = ([states.index(name) for name in names] for names in (quaternion, spins))
            if all(_symmetric(e, four, three, rng) for _ in range(RANDOM_STATES)):
                found.append(stem)
    return tuple(found)


def _symmetric(e: Equations, four: Sequence[int], three: Sequence[int], rng: np.random.Generator) -> bool:
    """Whether the rates at a random state turn with the body about its y axis."""
    x = np.array([s.default for s in e.states], dtype=float) + rng.uniform(-0.3, 0.3, len(e.states))
    u, p = rng.uniform(-1.0, 1.0, len(e.inputs)), e.default_parameters
    x[four] /= np.linalg.norm(x[four])
    angle = rng.uniform(0.5, 1.5)
    c, s = np.cos(angle / 2), np.sin(angle / 2)
    turn = np.eye(len(x))  # q ⊗ (cos α/2, 0, sin α/2, 0), and ω in the turned axes
    turn[np.ix_(four, four)] = [[c, 0, -s, 0], [0, c, 0, -s], [s, 0, c, 0], [0, s, 0, c]]
    turn[np.ix_(three, three)] = [[np.cos(angle), 0, -np.sin(angle)], [0, 1, 0], [np.sin(angle), 0, np.cos(angle)]]
    before, after = (np.ravel(e.explicit([0.0], one, u, p)[0]) for one in (x, turn @ x))
    size = max(1.0, float(np.abs(before).max()))
    return bool(np.isfinite(before).all() and np.abs(turn @ before - after).max() <= SYMMETRIC * size)


def _turns(value: ca.SX) -> bool:
    """Whether an expression is an angle by its arctangent in all quadrants, perhaps with the other sign or counted from
    elsewhere."""
    if value.is_op(ca.OP_ATAN2):
        return True
    if value.is_op(ca.OP_NEG):
        return _turns(value.dep(0))
    if value.is_op(ca.OP_ADD) or value.is_op(ca.OP_SUB):
        first, second = value.dep(0), value.dep(1)
        return (second.is_constant() and _turns(first)) or (first.is_constant() and _turns(second))
    return False


def attitude(quaternion: Sequence[ca.SX]) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Heading, lean and pitch (rotations about z, then x, then y) of a unit quaternion, scalar first."""
    w, x, y, z = quaternion
    heading = ca.atan2(2 * (w * z - x * y), w * w - x * x + y * y - z * z)
    lean = ca.asin(2 * (w * x + y * z) / (w * w + x * x + y * y + z * z))
    pitch = ca.atan2(2 * (w * y - x * z), w * w - x * x - y * y + z * z)
    return heading, lean, pitch


def free_headings(equations: Equations) -> tuple[str, ...]:
    """Headings that are coordinates, of bodies that move over the ground. Joints that turn in place count their turns."""
    poses = equations.structure.poses
    return tuple(pose.heading[0] for pose in poses if len(pose.heading) == 1 and all(pose.points[0]))


def attitude_texts(equations: Equations) -> dict[str, str]:
    """The angles of `attitude` and headings by name, between −π and π, as expressions of the coordinates, for use in laws."""
    found = {name: f"atan2(sin({name}), cos({name}))" for name in free_headings(equations)}
    for quaternion in equations.quaternions:
        w, x, y, z = quaternion
        stem = w.removesuffix("_qw")
        found[f"{stem}_heading"] = f"atan2(2*({w}*{z} - {x}*{y}), {w}*{w} - {x}*{x} + {y}*{y} - {z}*{z})"
        found[f"{stem}_lean"] = f"asin(2*({w}*{x} + {y}*{z})/({w}*{w} + {x}*{x} + {y}*{y} + {z}*{z}))"
        found[f"{stem}_pitch"] = f"atan2(2*({w}*{y} - {x}*{z}), {w}*{w} - {x}*{x} - {y}*{y} + {z}*{z})"
    return found


def _orthonormal(rows: Array) -> Array:
    return np.asarray(np.linalg.qr(rows.T)[0].T) if len(rows) else rows
