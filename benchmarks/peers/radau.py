"""Radau of scipy_dae on a mechanism: residual and exact Jacobians as compiled C, so that the method's own work is measured.

Two ways to pose it, both of index 1 as in scipy_dae's own examples: the multipliers are derivatives of unknowns (λ = Λ̇, μ =
Γ̇).

    stabilized       q̇ = v + AᵀΓ̇,  M v̇ = f + AᵀΛ̇,  A v = 0,  g = 0          (Gear, Gupta & Leimkuhler)
    velocity level   q̇ = v,        M v̇ = f + AᵀΛ̇,  A v = 0                  (smaller; positions drift within the tolerance)

Posed with λ and μ themselves (index 2), its error estimate weighs the multipliers like the rest and fails at tight
tolerances.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from equal_accuracy import TOLERANCES, Solve, SolverSettings, Vector
from peers.planar import Mechanism

STAGES = (3, 5)  # orders 5 and 9
DENSE_UP_TO = 100  # unknowns; beyond, SuperLU on sparse matrices is quicker than LAPACK
FLAGS = ("-O3", "-march=native", "-fPIC", "-shared")


def solvers(mechanism: Mechanism, until: float) -> list[SolverSettings]:
    return [
        SolverSettings(
            f"scipy_dae Radau, {stages} stages, {name}", TOLERANCES, "tolerance {:.0e}", partial(pose.ready, until, stages)
        )
        for name, pose in (("velocity level", Posed(mechanism, False)), ("stabilized", Posed(mechanism, True)))
        for stages in STAGES
    ]


class Posed:
    """0 = F(t, y, ẏ) with its derivatives, compiled."""

    def __init__(self, mechanism: Mechanism, stabilized: bool) -> None:
        m, rows = mechanism, mechanism.rows
        count = m.closed.numel()
        acceleration, multiplier = m.at_start()
        rest = np.zeros(count)
        q_rate, v_rate, force_rate, shift_rate = (ca.SX.sym("r", k) for k in (m.q.numel(), m.q.numel(), count, count))
        unknowns, rates = [m.q, m.v, ca.SX.sym("L", count)], [q_rate, v_rate, force_rate]
        residuals = [q_rate - m.v, m.mass @ v_rate - m.force - rows.T @ force_rate, rows @ m.v]
        start, slope = [m.q_start, m.v_start, rest], [m.v_start, acceleration, multiplier]
        if stabilized:
            unknowns, rates = [*unknowns, ca.SX.sym("G", count)], [*rates, shift_rate]
            residuals = [residuals[0] - rows.T @ shift_rate, *residuals[1:], m.closed]
            start, slope = [*start, rest], [*slope, rest]
        self.coordinates = m.q.numel()
        self.start, self.slope = np.concatenate(start), np.concatenate(slope)
        self.residual, self.jacobians = _compiled(ca.vertcat(*unknowns), ca.vertcat(*rates), ca.vertcat(*residuals))
        assert np.abs(self.residual(0.0, self.start, self.slope)).max() < 1e-9, "the start is consistent"

    def ready(self, until: float, stages: int, tolerance: float) -> Solve:
        from scipy_dae.integrate import solve_dae

        def solve() -> Vector:
            run = solve_dae(
                *(self.residual, (0.0, until), self.start, self.slope),
                **{"method": "Radau", "stages": stages, "rtol": tolerance, "atol": tolerance},
                **{"jac": self.jacobians, "t_eval": [until]},
            )
            assert run.success, run.message
            return run.y[: self.coordinates, -1]

        return solve


def _compiled(y: ca.SX, rate: ca.SX, residual: ca.SX) -> tuple[Callable[..., Vector], Callable[..., tuple[Any, Any]]]:
    """The residual and its derivatives by y and ẏ, dense or in compressed columns."""
    from scipy.sparse import csc_matrix

    size = y.numel()
    sparse = size > DENSE_UP_TO
    derivatives = [ca.jacobian(residual, by) for by in (y, rate)]
    if not sparse:
        derivatives = [ca.densify(d) for d in derivatives]
    functions = {"residual": [ca.densify(residual)], "jacobians": derivatives}
    library = _library({name: ca.Function(name, [y, rate], outputs) for name, outputs in functions.items()})
    evaluate = {name: _bound(library[name], [o.nnz() for o in outputs]) for name, outputs in functions.items()}
    patterns = [(np.array(d.sparsity().row()), np.array(d.sparsity().colind())) for d in derivatives]

    def of_residual(t: float, y: Vector, rate: Vector) -> Vector:
        return evaluate["residual"](y, rate)[0]

    def of_jacobians(t: float, y: Vector, rate: Vector) -> tuple[Any, Any]:
        values = evaluate["jacobians"](y, rate)
        if sparse:
            by_y, by_rate = (csc_matrix((v, *p), shape=(size, size)) for v, p in zip(values, patterns, strict=True))
        else:
            by_y, by_rate = (v.reshape(size, size).T for v in values)
        return by_y, by_rate

    return of_residual, of_jacobians


def _library(functions: dict[str, ca.Function]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        source = ca.CodeGenerator("equations.c")
        for function in functions.values():
            source.add(function)
        source.generate(f"{folder}/")
        subprocess.run(["cc", *FLAGS, "equations.c", "-o", "equations.so", "-lm"], cwd=folder, check=True)
        loaded = ctypes.CDLL(str(Path(folder) / "equations.so"))
        return {name: (loaded[name], function.sz_iw(), function.sz_w()) for name, function in functions.items()}


def _bound(compiled: tuple[Any, int, int], sizes: list[int]) -> Callable[[Vector, Vector], list[Vector]]:
    """Calls CasADi's C by addresses."""
    function, integers, reals = compiled
    arguments, results = (ctypes.c_void_p * 2)(), (ctypes.c_void_p * len(sizes))()
    room = (ctypes.c_longlong * (integers + 1))(), (ctypes.c_double * (reals + 1))()

    def evaluate(*vectors: Vector) -> list[Vector]:
        contiguous = [np.ascontiguousarray(vector) for vector in vectors]
        found = [np.empty(size) for size in sizes]
        arguments[:] = [vector.ctypes.data for vector in contiguous]
        results[:] = [vector.ctypes.data for vector in found]
        function(arguments, results, *room, 0)
        return found

    return evaluate
