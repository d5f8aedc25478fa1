"""The Whipple–Carvallo bicycle as SymBRiM assembles it from its library of parts: Kane's method in SymPy, code by PyDy.

Its parameters are those of `pydy_bicycle` (lengths and inertias in the axes of frame and fork). Before anything is timed, the
accelerations of lean and steer about upright running are compared with the published matrices.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from peers.pydy_bicycle import Vector, constants, require_published

NAMES = {
    **{"rw_r": "rR", "fw_r": "rF", "rw_mass": "mR", "fw_mass": "mF", "rf_body_mass": "mB", "ff_body_mass": "mH"},
    **{"rw_ixx": "IRxx", "rw_iyy": "IRyy", "fw_ixx": "IFxx", "fw_iyy": "IFyy", "g": "g"},
    **{f"rf_i{a}": f"IB{b}" for a, b in (("xx", "xx"), ("yy", "yy"), ("zz", "zz"), ("zx", "xz"))},
    **{f"ff_i{a}": f"IH{b}" for a, b in (("xx", "xx"), ("yy", "yy"), ("zz", "zz"), ("zx", "xz"))},
    **{f"rf_{k}": k for k in ("d1", "l1", "l2")},
    **{f"ff_{k}": k for k in ("d2", "d3", "l3", "l4")},
}
TILT = np.pi / 10
LEAN, PITCH, REAR, STEER, FRONT = 3, 4, 5, 6, 7  # places among coordinates and speeds, after x, y and yaw


@dataclass(frozen=True)
class Assembled:
    """SymBRiM's system with its equations formed."""

    system: Any
    coordinates: list[Any]
    speeds: list[Any]


def derive() -> Assembled:
    """The bicycle from its parts, Kane's equations formed; Cramer's rule for the constraints, whose pivots vanish upright."""
    import symbrim as sb
    import sympy as sm

    bicycle = sb.WhippleBicycle("b")
    bicycle.front_frame, bicycle.rear_frame = sb.RigidFrontFrame("ff"), sb.RigidRearFrame("rf")
    bicycle.front_wheel, bicycle.rear_wheel = sb.KnifeEdgeWheel("fw"), sb.KnifeEdgeWheel("rw")
    bicycle.front_tire, bicycle.rear_tire = sb.NonHolonomicTire("ft"), sb.NonHolonomicTire("rt")
    bicycle.ground = sb.FlatGround("g")
    bicycle.define_all()
    system = bicycle.to_system()
    system.apply_uniform_gravity(-sm.Symbol("g") * bicycle.ground.get_normal(bicycle.ground.origin))
    q, u = list(bicycle.q), list(bicycle.u)
    system.q_ind, system.q_dep = [*q[:PITCH], *q[REAR:]], [q[PITCH]]
    system.u_ind, system.u_dep = [u[LEAN], u[REAR], u[STEER]], [*u[:LEAN], u[PITCH], u[FRONT]]
    system.form_eoms(constraint_solver="CRAMER")
    return Assembled(system, q, u)


def generate(made: Assembled) -> Callable[..., Vector]:
    """PyDy's right-hand side `rhs(x, t, constants)`; coordinates, then speeds, in the order of Kane's equations."""
    import sympy as sm
    from pydy.codegen.ode_function_generators import generate_ode_function

    kane = made.system.eom_method
    rates = kane.kindiffdict()
    return generate_ode_function(
        kane.forcing,
        list(kane.q),
        list(kane.u),
        _symbols(),
        mass_matrix=kane.mass_matrix,
        coordinate_derivatives=sm.Matrix([rates[q.diff()] for q in kane.q]),
        generator="cython",
        constants_arg_type="array",
    )


def _symbols() -> list[Any]:
    import sympy as sm

    return [sm.Symbol(name) for name in NAMES]


def values() -> Vector:
    known = constants()
    return np.array([known[name] for name in NAMES.values()])


def places(made: Assembled) -> list[int]:
    """Where the bicycle's coordinates, in SymBRiM's order, stand in the state of Kane's equations."""
    return [list(made.system.eom_method.q).index(one) for one in made.coordinates]


def upright(made: Assembled, speed: float, lean_rate: float) -> Vector:
    """A state straight ahead, where lean rate asks for no other velocity."""
    known, kane, q = constants(), made.system.eom_method, places(made)
    state = np.zeros(16)
    state[q[PITCH]] = TILT
    moving = {REAR: -speed / known["rR"], FRONT: -speed / known["rF"], 0: speed, LEAN: lean_rate}
    for place, value in moving.items():
        state[8 + list(kane.u).index(made.speeds[place])] = value
    return state


def require_correct(made: Assembled, rhs: Callable[..., Vector], speed: float = 5.0, small: float = 1e-6) -> None:
    """Accelerations of lean and steer after a small rate of lean are those published."""
    speeds = [list(made.system.eom_method.u).index(one) for one in made.speeds]
    require_published(rhs(upright(made, speed, small), 0.0, values())[8:][[speeds[LEAN], speeds[STEER]]] / small, speed)


def time_derivation() -> tuple[float, Assembled]:
    from sympy.core.cache import clear_cache

    clear_cache()
    start = time.perf_counter()
    made = derive()
    return time.perf_counter() - start, made
