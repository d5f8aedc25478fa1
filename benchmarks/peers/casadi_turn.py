"""The bicycle's fastest turn, transcribed plainly with CasADi: symbols at the nodes, `nlpsol`, its own derivatives, interpreted.

It is given the reduced equations, the same Radau points, bounds and conditions, and the same guess; with `shortened` also our
choice of states, without those on which nothing depends.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

import draisine as dr
from draisine.numerics.runge_kutta import lagrange_derivatives, radau_nodes
from draisine.optimal.guess import guesses
from draisine.optimal.phase_builder import build_phases


@dataclass(frozen=True)
class Plain:
    """Seconds of set-up and of solving, the objective, and whether IPOPT was content."""

    set_up: float
    solve: float
    objective: float
    solved: bool
    iterations: int

    @property
    def total(self) -> float:
        return self.set_up + self.solve


def solve(
    stated: dr.optimal.OptimalControlProblem, scheme: dr.optimal.Collocation, most: float, shortened: bool = False
) -> Plain:
    """A maneuver of one phase in the least time from a fixed start, with explicit equations; `most` seconds."""
    (phase,) = build_phases(stated, [scheme])[1]
    if not shortened:
        extra = {q.name for q in phase.equations.extra_states}
        phase = replace(phase, kept=tuple(name for name in phase.symbols.state_names if name not in extra))
    (values,) = guesses(None, [phase], [scheme.grid])
    v = phase.symbols
    began = time.perf_counter()
    rest, numbers = phase._rest
    known = ca.substitute(ca.vertcat(*[v.rates[i] for i in phase.kept_indices]), rest, ca.DM(numbers))
    rates = ca.Function("rates", [phase.y, v.plant.u], [known])
    last = ca.Function("last", [phase.y], [ca.substitute(ca.vertcat(*[c.value for c in phase.ends]), rest, ca.DM(numbers))])
    constrained = ca.Function(
        "constrained", [phase.y], [ca.substitute(ca.vertcat(*[c.value for c in phase.path]), rest, ca.DM(numbers))]
    )
    n, d = len(scheme.grid.breaks) - 1, scheme.degree
    derivatives = lagrange_derivatives(np.concatenate([[0.0], radau_nodes(d)]), radau_nodes(d))
    duration = ca.MX.sym("T")
    unknowns, low, high, first = [duration], [phase.times[0]], [phase.times[1]], [values.duration]
    rows, row_low, row_high = [], [], []

    def unknown(name: str, names: tuple[str, ...], guess: np.ndarray, fixed: np.ndarray | None = None) -> ca.MX:
        symbol = ca.MX.sym(name, len(names))
        unknowns.append(symbol)
        sides = [phase.limits.get(one, (-np.inf, np.inf)) for one in names]
        low.extend(s[0] for s in sides) if fixed is None else low.extend(fixed)
        high.extend(s[1] for s in sides) if fixed is None else high.extend(fixed)
        first.extend(guess)
        return symbol

    def row(value: ca.MX, least: list[float], most: list[float]) -> None:
        rows.append(value)
        row_low.extend(least)
        row_high.extend(most)

    y = unknown("y0", phase.kept, values.states[0], phase.start[phase.kept_indices])
    zero = [0.0] * len(phase.kept)
    for k in range(n):
        points = [y]
        for j in range(d):
            points.append(unknown(f"y{k}_{j}", phase.kept, values.states[k * d + j + 1]))
        for j in range(d):
            u = unknown(f"u{k}_{j}", phase.controls, values.controls[k * d + j])
            moved = sum(derivatives[j, i] * point for i, point in enumerate(points))
            row(moved - duration / n * rates(points[j + 1], u), zero, zero)
            if phase.path:
                row(constrained(points[j + 1]), [c.low for c in phase.path], [c.high for c in phase.path])
        y = points[-1]
    row(last(y), [c.low for c in phase.ends], [c.high for c in phase.ends])
    problem = {"x": ca.vertcat(*unknowns), "f": duration, "g": ca.vertcat(*rows)}
    options = {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.tol": 1e-8, "ipopt.max_iter": 1000}
    solver = ca.nlpsol("plain", "ipopt", problem, options | {"ipopt.max_wall_time": most})
    ready = time.perf_counter()
    found = solver(x0=first, lbx=low, ubx=high, lbg=row_low, ubg=row_high)
    done = time.perf_counter()
    stats = solver.stats()
    return Plain(ready - began, done - ready, float(found["f"]), bool(stats["success"]), int(stats["iter_count"]))
