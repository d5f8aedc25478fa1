"""IDAS of CasADi on a mechanism, with CasADi's exact sparse Jacobians, compiled.

Posed with the multipliers as the only algebraic unknowns and the constraints differentiated twice: index 1, for which IDAS is
made.

    q̇ = v,  v̇ = M⁻¹(f + Aᵀλ),  0 = A v̇ + Ȧ v

The multipliers are left out of the error test and the derivatives at the start are given; else it takes several times as many
steps, or fails at the first. Stabilized by Gear, Gupta & Leimkuhler (index 2) it does not start at tight tolerances; with v̇
as further unknowns it is slower.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from equal_accuracy import TOLERANCES, Solve, SolverSettings, Vector
from peers.planar import Mechanism

COMPILED: dict[str, Any] = {"jit": True, "compiler": "shell", "jit_options": {"flags": ["-O3", "-march=native"]}}


def solvers(mechanism: Mechanism, until: float) -> list[SolverSettings]:
    """One. CasADi compiles an integrator for every tolerance anew, half a minute for the long chain: the search goes without."""
    ready = partial(_ready, mechanism, until)
    return [SolverSettings("CasADi IDAS", TOLERANCES, "tolerance {:.0e}", partial(ready, {}), partial(ready, COMPILED))]


def _ready(m: Mechanism, until: float, options: dict[str, Any], tolerance: float) -> Solve:
    multipliers = ca.SX.sym("multipliers", m.closed.numel())
    acceleration = m.inverse @ (m.force + m.rows.T @ multipliers)
    problem = {
        "x": ca.vertcat(m.q, m.v),
        "z": multipliers,
        "ode": ca.vertcat(m.v, acceleration),
        "alg": m.rows @ acceleration + m.bias,
    }
    first_acceleration, first_multipliers = m.at_start()
    state = np.concatenate([m.q_start, m.v_start])
    settings = {
        **{"abstol": tolerance, "reltol": tolerance, "max_num_steps": 1_000_000},
        **{"calc_ic": False, "init_xdot": [*m.v_start, *first_acceleration], "suppress_algebraic": True},
    }
    integrator = ca.integrator("integrator", "idas", problem, 0.0, [until], settings | options)
    return lambda: np.asarray(_end(integrator(x0=state, z0=first_multipliers), len(m.q_start)))


def _end(found: dict[str, ca.DM], count: int) -> Vector:
    return found["xf"].full()[:count, 0]
