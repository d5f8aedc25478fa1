"""Comparison of drift controls: constraint and energy errors of one motion under each control, and the cost.

>>> import draisine as dr
>>> table = compare_drift(dr.gallery.simple_pendulum(), 2.0, step=0.01)
>>> plain, projected = table["none"], table["projection"]
>>> plain.position > 1e-7 > 1e-11 > projected.position
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.dynamics.dae.stabilization.stabilized_equations import stabilized_equations
from draisine.dynamics.formulations import Reduced
from draisine.dynamics.input_laws import StateScope
from draisine.dynamics.stabilization import (
    GGL,
    Baumgarte,
    Drift,
    InvariantStabilization,
    Minimal,
    NoControl,
    Projection,
    Rattle,
    Symplectic,
    VelocityProjection,
)
from draisine.errors import ArgumentError, ModelError, SimulationError, UnknownNameError
from draisine.expr.expression import parse
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.arguments import checked
from draisine.program.equations import Equations, Kind
from draisine.program.program import DaeResidual, Program
from draisine.results.base import Result
from draisine.results.channel import HasState, named_start
from draisine.results.status import Ending, Progress, ProgressCallback
from draisine.results.summary import energy_balance, energy_scale
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.radau import Radau
from draisine.simulation.methods.rk4 import RK4
from draisine.simulation.methods.selection import Method
from draisine.simulation.result import Segment
from draisine.simulation.simulate import Computed, compute

Reals = NDArray[np.float64]

MOST_STEPS = 200_000  # of each run: every step is kept, and a dozen runs should take seconds
REPEATS, QUICK = 3, 0.2  # runs shorter than QUICK seconds are timed REPEATS times


@dataclass(frozen=True)
class DriftRow:
    """Largest errors under one control. `refused` gives the reason where it does not apply; the figures are NaN then."""

    name: str
    position: float = np.nan  # of constraints, in their own units
    velocity: float = np.nan
    acceleration: float = np.nan
    energy: float = np.nan  # relative change
    invariants: tuple[tuple[str, float], ...] = ()  # largest change of each that was requested
    steps: int = 0
    evaluations: int = 0
    seconds: float = np.nan
    remark: str = ""
    refused: str = ""

    def as_data(self) -> dict[str, Any]:
        if self.refused:
            return {"name": self.name, "refused": self.refused}
        numbers = {key: _number(getattr(self, key)) for key in ("position", "velocity", "acceleration", "energy", "seconds")}
        counts = {"steps": self.steps, "evaluations": self.evaluations}
        return {"name": self.name, **numbers, "invariants": dict(self.invariants), **counts, "remark": self.remark}


@dataclass(frozen=True)
class DriftTable(Result):
    """Rows by name; `print` shows the table."""

    title: str
    rows: tuple[DriftRow, ...]

    def __getitem__(self, name: str) -> DriftRow:
        for row in self.rows:
            if row.name == name:
                return row
        raise UnknownNameError(f"the table has no row {name!r}; it has {', '.join(row.name for row in self.rows)}")

    def _table(self) -> Mapping[str, Any]:
        shown = ("name", "position", "velocity", "acceleration", "energy", "steps", "evaluations", "seconds", "remark", "refused")
        return {key: [getattr(row, key) for row in self.rows] for key in shown}

    def as_data(self) -> dict[str, Any]:
        return {"title": self.title, "rows": [row.as_data() for row in self.rows]}

    def __str__(self) -> str:
        done = [row for row in self.rows if not row.refused]
        width = max((len(row.name) for row in done), default=0)
        names = [name for name, _ in done[0].invariants] if done else []
        heads = ["position", "velocity", "accel.", "energy", *names]
        wide = [max(9, len(head) + 1) for head in heads]
        line = f"{'':<{width}}" + "".join(f"{h:>{w}}" for h, w in zip(heads, wide, strict=True))
        costs = [("steps", "calls", "ms"), *((f"{r.steps}", f"{r.evaluations}", f"{r.seconds * 1e3:.1f}") for r in done)]
        room = [max(6, 1 + max(map(len, column))) for column in zip(*costs, strict=True)]
        ends = ["".join(f"{cell:>{w}}" for cell, w in zip(cost, room, strict=True)) for cost in costs]
        lines = [self.title, "", f"{line}{ends[0]}"]
        for row, cost in zip(done, ends[1:], strict=True):
            values = [row.position, row.velocity, row.acceleration, row.energy, *(value for _, value in row.invariants)]
            cells = "".join(f"{_cell(value):>{w}}" for value, w in zip(values, wide, strict=True))
            lines.append(f"{row.name:<{width}}{cells}{cost}")
        lines += [f"{row.name}: {row.remark}" for row in done if row.remark]
        lines += ["", "position, velocity, accel.: largest residuals of constraints, in their units;"]
        lines += ["energy relative to its scale; calls: evaluations of the equations; ms: time"]
        refused = [row for row in self.rows if row.refused]
        if refused:
            lines += ["", "does not apply", *(f"  {row.name}: {row.refused}" for row in refused)]
        return "\n".join(lines)


@checked
def compare_drift(
    model: Model | System | Equations,
    until: float = 5.0,
    *,
    start: Mapping[str, float] | HasState | None = None,
    parameters: Mapping[str, float] | None = None,
    step: float | None = None,
    tolerance: float = 1e-8,
    invariants: Sequence[str] = (),
    progress: ProgressCallback | None = None,
) -> DriftTable:
    """Run a model under each drift control and report the largest errors.

    - `until`, `start`, `parameters`: duration and initial state of the runs, as in `simulate`.
    - `step`: RK4 with this step; without it DOP853 with steps controlled to `tolerance`. Symplectic methods use the given step,
      or the mean step of the run without control.
    - `invariants`: outputs or expressions that should be constant, besides the energy.
    - `progress`: called with a `Progress` that names each drift control before its run.
    """
    if step is not None and abs(until) > MOST_STEPS * abs(step):
        raise _too_long(until, f"{abs(until / step):.3g} steps of {step:g} s")
    atol = 1e-2 * tolerance
    method: Method = RK4(step=step) if step is not None else DOP853(rtol=tolerance, atol=atol, max_steps=MOST_STEPS)
    described = model.freeze() if isinstance(model, Model) else model
    implicit = Radau(step=step) if step is not None else Radau(rtol=tolerance, atol=atol, max_steps=MOST_STEPS)
    case = _Case(described, until, named_start(start), dict(parameters or {}), method, implicit, tuple(invariants))
    rows = [case.row("none", NoControl(), progress, needed=True)]
    fixed = step if step is not None else abs(until) / max(rows[0].steps, 1)
    energetic = isinstance(described, System) or any(slot.name == "energy" for slot in described.report.outputs)
    conserved = (*(("energy",) if energetic or not invariants else ()), *invariants)
    rows += [case.row(name, control, progress) for name, control in _controls(fixed, conserved)]
    how = f"RK4 (GGL: Radau), step {step:g} s" if step is not None else f"DOP853 (GGL: Radau), tolerance {tolerance:g}"
    return DriftTable(f"{described.name}, {until:g} s, {how}", tuple(rows))


def _controls(step: float, conserved: tuple[str, ...]) -> list[tuple[str, Drift]]:
    return [
        ("Baumgarte", Baumgarte()),
        ("velocity projection", VelocityProjection()),
        ("coordinate projection", Projection(velocities=False)),
        ("projection", Projection()),
        ("projection, invariants too", Projection(invariants=conserved)),
        ("invariant stabilization", InvariantStabilization(conserved)),
        ("kernel reduction", Reduced()),
        ("minimal coordinates", Minimal()),
        ("GGL", GGL()),
        ("RATTLE", Rattle(step)),
        ("Gauss of order 4, in momenta", Symplectic(step, 4)),
    ]


@dataclass(frozen=True, eq=False)
class _Case:
    """One motion: model, start, parameters and methods."""

    model: System | Equations
    until: float
    start: dict[str, float]
    parameters: dict[str, float]
    method: Method
    implicit: Method
    invariants: tuple[str, ...]

    def row(self, name: str, drift: Drift, progress: ProgressCallback | None, needed: bool = False) -> DriftRow:
        """The errors under one control; if they are `needed` and take too many steps, there is no table."""
        if progress is not None:
            progress(Progress(name))
        method = None if isinstance(drift, Rattle | Symplectic) else self.implicit if isinstance(drift, GGL) else self.method

        def run() -> Computed:
            return compute(self.model, self.until, start=self.start, parameters=self.parameters, method=method, drift=drift)

        try:
            first = run()
            long = first.run.status.kind is Ending.TOO_MANY_STEPS
            if long and needed:
                raise _too_long(self.until, f"more than {MOST_STEPS} steps, which end at t = {first.run.times[-1]:.4g} s")
            again = 0 if long else REPEATS if first.clock.seconds["integrate"] < QUICK else 1
            runs = [run() for _ in range(again)] or [first]  # everything is compiled now
        except (ModelError, ArgumentError) as problem:
            return DriftRow(name, refused=str(problem).removeprefix(f"{self.model.name}: "))
        last, seconds = runs[0], min(one.clock.seconds["integrate"] for one in runs)
        remark = f"step {drift.step:.3g} s" if isinstance(drift, Rattle | Symplectic) else ""
        if not last.run.status.complete:
            remark = str(last.run.status)
        # a form without the work as a state has no energy balance
        balanced = not self.works or bool(last.equations.extra_states)
        return _row(name, last, self.invariants, seconds, remark, balanced)

    @cached_property
    def works(self) -> bool:
        """Whether a force does work on the mechanism."""
        return bool(stabilized_equations(self.model, NoControl()).equations.extra_states)


def _too_long(until: float, steps: str) -> SimulationError:
    return SimulationError(
        f"compare_drift: until = {until:g} s takes {steps}; the table compares runs of at most {MOST_STEPS} steps: give a "
        "shorter until, a larger step, or a looser tolerance"
    )


# ---------------------------------------------------------------- errors of a run


def _row(name: str, done: Computed, invariants: tuple[str, ...], seconds: float, remark: str, balanced: bool) -> DriftRow:
    parts = [
        _segment_errors(segment, done.parameters, invariants, balanced) for segment in done.run.segments if len(segment.times)
    ]
    worst = [max(float(np.max(np.abs(part[level]), initial=0.0)) for part in parts) for level in range(3)]
    energies = np.concatenate([part[3] for part in parts])  # kinetic, potential, work
    changes = np.nan
    if energies.shape[1]:
        kinetic, potential, work = energies.T
        total = kinetic + potential
        changes = float(np.max(np.abs(energy_balance(total, work)))) / energy_scale(kinetic, potential, total)
    invariant_values = np.concatenate([part[4] for part in parts])
    kept = tuple((n, float(np.max(np.abs(invariant_values[:, i] - invariant_values[0, i])))) for i, n in enumerate(invariants))
    return DriftRow(name, worst[0], worst[1], worst[2], changes, kept, done.run.accepted, done.run.evaluations, seconds, remark)


def _segment_errors(
    segment: Segment, p: Reals, invariants: tuple[str, ...], balanced: bool
) -> tuple[Reals, Reals, Reals, Reals, Reals]:
    """Residuals by level, energies, and invariants, at every step of one segment."""
    kernels = _error_kernels(segment.equations, invariants)
    e, count = segment.equations, len(segment.times)
    inputs = segment.inputs if e.inputs else np.zeros(0)
    given = segment.times[:, None], segment.states, inputs, p
    names = [slot.name for slot in e.report.outputs]
    reported = dict(zip(names, kernels.report.map(*given), strict=True))
    residuals = reported["residuals"].reshape(count, -1)
    # corrections of the stabilized form vanish along solutions, but are no constraints
    levels = [c.level if c.kind != Kind.HIDDEN else "" for c in e.constraints]
    by_level = [residuals[:, [found == level for found in levels]] for level in ("position", "velocity", "acceleration")]
    if kernels.rates is not None and kernels.dynamics is not None:
        slope = kernels.dynamics.map(*given)[0].reshape(count, -1)
        q, v = segment.states[:, : len(e.coordinates)], reported["v"].reshape(count, -1)
        rates = slope[:, : len(e.coordinates)], reported["vdot"].reshape(count, -1)
        by_level[2] = kernels.rates.map(given[0], q, v, *rates, inputs, p)[0].reshape(count, -1)
    counted = balanced and "energy" in reported and "work" in e.report.output("energy").labels
    energy = reported["energy"].reshape(count, 3) if counted else np.empty((count, 0))
    invariant_values = (
        kernels.invariants.map(*given)[0].reshape(count, -1) if kernels.invariants is not None else np.empty((count, 0))
    )
    return by_level[0], by_level[1], by_level[2], energy, invariant_values


@dataclass(frozen=True, eq=False)
class _ErrorKernels:
    report: Kernel
    dynamics: Kernel | None
    rates: Kernel | None  # of the velocity residuals, from accelerations
    invariants: Kernel | None


@lru_cache(maxsize=64)
def _error_kernels(equations: Equations, invariants: tuple[str, ...]) -> _ErrorKernels:
    e = equations
    implicit = isinstance(e.dynamics, DaeResidual)
    dynamics = None if implicit else compile(e.explicit)
    rates = None if implicit or not e.velocities or not e.constraints else compile(_rates(e))
    return _ErrorKernels(
        compile(e.report), dynamics, rates, None if not invariants else compile(_invariants_program(e, invariants))
    )


def _rates(e: Equations) -> Program:
    """Time derivatives of the velocity residuals."""
    t, q, v, u, p = e.motion.symbols()
    residuals = e.motion.function.call([t, q, v, u, p])[0]
    chosen = [i for i, c in enumerate(e.constraints) if c.level == "velocity"]
    q_rate, v_rate = ca.SX.sym("q_rate", q.numel()), ca.SX.sym("v_rate", v.numel())
    rate = ca.jacobian(residuals[chosen], ca.vertcat(t, q, v)) @ ca.vertcat(1, q_rate, v_rate)
    arguments = {"t": t, "q": q, "v": v, "q_rate": q_rate, "v_rate": v_rate, "u": u, "p": p}
    return Program.build(f"{e.name}_accelerations", arguments, {"rate": rate})


def _invariants_program(e: Equations, invariants: tuple[str, ...]) -> Program:
    scope = StateScope(e)
    values = ca.vertcat(*[scope.value(parse(text), f"invariant {text!r}") for text in invariants])
    return Program.build(
        f"{e.name}_invariant_values", {"t": scope.t, "x": scope.x, "u": scope.u, "p": scope.p}, {"value": values}
    )


def _cell(value: float) -> str:
    return "–" if np.isnan(value) else "0" if value == 0.0 else f"{value:.1e}"


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
