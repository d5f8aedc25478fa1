"""Descent along adjoint gradients: L-BFGS-B between bounds, conditions at the end by an augmented Lagrangian.

Unknowns are the controls of all pieces, the duration and parameters, each divided by its size. Conditions c are taken in
combinations e = R c whose gradients are orthonormal, unknowns at bounds counting little, so that the penalty is equally steep in
every direction that it acts in; one backward sweep per condition tells R, once in a round. With low ≤ e ≤ high, multipliers λ
and the penalty ρ, the function made small is

    J + Σ ρ/2 d²,        d = (e + λ/ρ) − clip(e + λ/ρ, low, high),

and ρ d are the multipliers of the next round. Its value and gradient take one forward and one backward sweep.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.optimal.adjoint.functional import Functional, Jacobian, Outcome
from draisine.optimal.adjoint.method import Descent
from draisine.optimal.ipopt import Outcome as Ending
from draisine.optimal.ipopt import Progress, interruptible, watching

Reals = NDArray[np.float64]

FALLEN = 1e12  # the value of a motion that does not stay finite
FIRST_ALLOWED = 0.1
GROWTH = 4.0
MOST_PENALTY = 1e8
HELD = 0.1  # weight of an unknown at a bound: where all are, conditions still have gradients
LEAST_STEEP = 1e-6  # of a condition's gradient, relative to the steepest, that is still made as steep as the others


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Controls, duration and parameters as one vector of numbers near one, and back."""

    pieces: int
    controls: int
    sizes: Reals  # of the vector
    low: Reals  # divided by sizes
    high: Reals

    @staticmethod
    def of(functional: Functional, duration: float, ranges: Mapping[str, tuple[float, float]]) -> Unknowns:
        phase = functional.phase
        pieces = len(functional.method.breaks) - 1
        sides = [phase.limits.get(name, (-np.inf, np.inf)) for name in phase.controls]
        rows = np.array(sides * pieces + [phase.times] + [ranges[name] for name in functional.motion.varied]).reshape(-1, 2)
        finite = np.where(np.isfinite(rows), np.abs(rows), 0.0).max(axis=1)
        sizes = np.where(finite > 0.0, finite, 1.0)
        sizes[pieces * len(sides)] = duration
        return Unknowns(pieces, len(sides), sizes, rows[:, 0] / sizes, rows[:, 1] / sizes)

    def packed(self, controls: Reals, duration: float, parameters: Reals) -> Reals:
        return np.clip(np.concatenate([controls.ravel(), [duration], parameters]) / self.sizes, self.low, self.high)

    def unpacked(self, w: Reals) -> tuple[Reals, float, Reals]:
        """Controls (pieces, controls), duration, parameters."""
        values, n = w * self.sizes, self.pieces * self.controls
        return values[:n].reshape(self.pieces, self.controls), float(values[n]), values[n + 1 :]

    def jacobian(self, found: Jacobian) -> Reals:
        return np.concatenate([found.inputs.ravel(), [found.duration], found.parameters]) * self.sizes

    def free(self, w: Reals, slope: Reals) -> NDArray[np.bool_]:
        """Unknowns that no bound holds against the way down."""
        held = ((w <= self.low) & (slope > 0.0)) | ((w >= self.high) & (slope < 0.0))
        return np.asarray(~held)

    def flatness(self, w: Reals, slope: Reals) -> float:
        """The largest entry of the gradient that bounds do not hold back."""
        return float(np.abs(np.clip(w - slope, self.low, self.high) - w).max())


@dataclass(frozen=True, eq=False)
class Combined:
    """Combinations R c of conditions between sides; conditions between different sides are only scaled."""

    matrix: Reals  # R
    low: Reals
    high: Reals

    @staticmethod
    def of(low: Reals, high: Reals, jacobian: Reals) -> Combined:
        """From the conditions' gradients (conditions, unknowns), weighted by how free the unknowns are."""
        equal = np.flatnonzero(low == high)
        sizes = np.linalg.norm(jacobian, axis=1)
        sizes = np.maximum(sizes, max(LEAST_STEEP * float(sizes.max(initial=0.0)), 1e-12))
        matrix = np.diag(1.0 / sizes)
        if len(equal):
            unit = jacobian[equal] / sizes[equal, None]
            values, vectors = np.linalg.eigh(unit @ unit.T)
            root = vectors @ np.diag(np.maximum(values, LEAST_STEEP) ** -0.5) @ vectors.T
            matrix[np.ix_(equal, equal)] = root / sizes[equal]
        level = np.where(low == high, low, 0.0)
        shift = matrix @ level
        return Combined(matrix, *(np.where(low == high, shift, side / sizes) for side in (low, high)))

    def beyond(self, combined: Reals) -> Reals:
        """By how much combinations leave their sides."""
        return np.asarray(combined - np.clip(combined, self.low, self.high))


@dataclass(frozen=True, eq=False)
class Found:
    """The best point of a search."""

    w: Reals
    multipliers: Reals  # of the conditions as they stand
    cost: float
    violation: float  # relative to the conditions' sizes
    stationarity: float
    ending: Ending
    said: str
    iterations: int
    evaluations: int
    seconds: Mapping[str, float]


class _Stopped(Exception):
    """Somebody asked the search to end."""


class Search:
    """An augmented Lagrangian of one phase."""

    def __init__(
        self, functional: Functional, unknowns: Unknowns, p: Reals, settings: Descent, progress: Progress | None
    ) -> None:
        self._functional, self.unknowns, self._settings, self._progress = functional, unknowns, settings, watching(progress)
        self._p, self._varied = p, functional.motion.varied_places
        ends = functional.phase.ends
        self._low, self._high = np.array([(c.low, c.high) for c in ends]).reshape(-1, 2).T
        self._sizes = np.maximum(np.where(np.isfinite(self._low), np.abs(self._low), 1.0), 1.0)
        self._multipliers: Reals = np.zeros(len(ends))  # of the conditions as they stand
        self._combined = Combined(np.eye(len(ends)), self._low, self._high)
        self._penalty = settings.penalty
        self._iterations = self._evaluations = 0
        self._spent = 0.0
        self._stop = False
        self._best: tuple[float, float, Reals] | None = None

    # ---------------------------------------------------------------- values

    def parameters(self, values: Reals) -> Reals:
        """All parameters, from those that are searched for."""
        p = self._p.copy()
        p[self._varied] = values
        return p

    def _motion(self, w: Reals) -> Outcome | None:
        controls, duration, values = self.unknowns.unpacked(w)
        return self._functional.run(duration, controls, self.parameters(values))

    def _jacobian_entries(self, w: Reals, motion: Outcome, weights: Reals, cost: float = 1.0) -> Reals:
        controls, duration, values = self.unknowns.unpacked(w)
        p = self.parameters(values)
        return self.unknowns.jacobian(self._functional.jacobian(motion, duration, controls, p, weights, cost))

    def _violation(self, motion: Outcome) -> float:
        c = motion.conditions
        return float((np.abs(c - np.clip(c, self._low, self._high)) / self._sizes).max(initial=0.0))

    def broken(self, w: Reals) -> tuple[str, ...]:
        """Conditions at the end that are not met, in words."""
        motion, ends = self._motion(w), self._functional.phase.ends
        if motion is None:
            return ()
        misses = np.abs(motion.conditions - np.clip(motion.conditions, self._low, self._high))
        over = misses > self._settings.tolerance * self._sizes
        return tuple(f"finish: {c.name} (misses by {gap:.3g})" for c, gap, out in zip(ends, misses, over, strict=True) if out)

    def _shifted(self, motion: Outcome) -> Reals:
        """d."""
        r = self._combined
        inner = np.linalg.solve(r.matrix.T, self._multipliers) if len(self._multipliers) else self._multipliers
        return r.beyond(r.matrix @ motion.conditions + inner / self._penalty)

    def lagrangian(self, w: Reals) -> tuple[float, Reals]:
        """Its value and gradient."""
        if self._stop:
            raise _Stopped
        began = time.perf_counter()
        self._evaluations += 1
        motion = self._motion(w)
        if motion is None:
            return FALLEN, np.zeros_like(w)
        d = self._shifted(motion)
        slope = self._jacobian_entries(w, motion, self._penalty * (self._combined.matrix.T @ d))
        rank = (max(self._violation(motion), self._settings.tolerance), motion.cost)
        if self._best is None or rank < self._best[:2]:
            self._best = (*rank, w.copy())
        self._spent += time.perf_counter() - began
        return motion.cost + 0.5 * self._penalty * float(d @ d), slope

    # ---------------------------------------------------------------- rounds

    def run(self, w: Reals) -> Found:
        """From a point to the nearest minimum."""
        began = time.perf_counter()
        with interruptible(self.stop):
            try:
                w, ending, said = self._rounds(w)
            except _Stopped:
                ending, said = Ending.INTERRUPTED, "stopped on demand"
        if ending not in (Ending.SOLVED, Ending.INFEASIBLE) and self._best is not None:
            w = self._best[2]
        return self._reported(w, ending, said, time.perf_counter() - began)

    def _rounds(self, w: Reals) -> tuple[Reals, Ending, str]:
        """Conn, Gould & Toint's rounds: multipliers follow where conditions are met well enough, otherwise the penalty grows."""
        settings, accuracy = self._settings, 1e-2
        self._begin(w)
        allowed = self._allowance()
        for _ in range(settings.rounds):
            self._combine(w)
            w = self._descend(w, accuracy)
            motion = self._motion(w)
            if motion is None:
                return w, Ending.FAILED, "the motion does not stay finite"
            new = self._penalty * (self._combined.matrix.T @ self._shifted(motion))
            beyond = float(np.abs(self._combined.beyond(self._combined.matrix @ motion.conditions)).max(initial=0.0))
            flat = self.unknowns.flatness(w, self._jacobian_entries(w, motion, new))
            if beyond > allowed and self._penalty >= MOST_PENALTY:
                return w, Ending.INFEASIBLE, "conditions at the end are not met, at whatever price"
            if beyond <= allowed:
                self._multipliers = new
                if self._violation(motion) < settings.tolerance and flat < settings.tolerance:
                    return w, Ending.SOLVED, "conditions met and gradient flat"
                allowed /= self._penalty**0.9
                accuracy = max(0.1 * accuracy, 0.3 * settings.tolerance)
            else:
                self._penalty *= GROWTH
                allowed = self._allowance()
        return w, Ending.TOO_MANY_ITERATIONS, f"not settled after {settings.rounds} rounds of multipliers"

    def _allowance(self) -> float:
        """By how much combined conditions may be broken after a round."""
        return FIRST_ALLOWED / self._penalty**0.1

    def _begin(self, w: Reals) -> None:
        """First multipliers: those that leave the least gradient among the unknowns that no bound holds."""
        motion, count = self._motion(w), len(self._multipliers)
        if motion is None or not count:
            return
        cost, jacobian = self._jacobian_entries(w, motion, np.zeros(count)), self._condition_jacobian(w, motion)
        free = (w > self.unknowns.low) & (w < self.unknowns.high)
        for _ in range(2):
            self._multipliers = np.asarray(np.linalg.lstsq(jacobian[:, free].T, -cost[free], rcond=1e-9)[0], dtype=np.float64)
            free = self.unknowns.free(w, cost + jacobian.T @ self._multipliers)

    def _condition_jacobian(self, w: Reals, motion: Outcome) -> Reals:
        """The conditions' gradients (conditions, unknowns)."""
        return np.array([self._jacobian_entries(w, motion, unit, 0.0) for unit in np.eye(len(self._multipliers))])

    def _combine(self, w: Reals) -> None:
        """Choose combinations of conditions by their gradients at a point."""
        motion, count = self._motion(w), len(self._multipliers)
        if motion is None or not count:
            return
        free = self.unknowns.free(w, self._jacobian_entries(w, motion, self._multipliers))
        weights = np.where(free, 1.0, HELD)
        self._combined = Combined.of(self._low, self._high, self._condition_jacobian(w, motion) * weights)

    def _descend(self, w: Reals, accuracy: float) -> Reals:
        from scipy.optimize import Bounds, minimize

        found = minimize(
            self.lagrangian,
            w,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(self.unknowns.low, self.unknowns.high),
            callback=self._look,
            options={
                "maxiter": self._settings.iterations,
                "maxfun": 4 * self._settings.iterations,
                "maxcor": self._settings.memory,
                "gtol": accuracy,
                "ftol": 1e-15,
            },
        )
        return np.asarray(found.x)

    def _look(self, w: Reals) -> None:
        self._iterations += 1
        if self._progress is None or self._best is None:
            return
        try:
            self._progress(self._iterations, self._best[1], self._best[0])
        except KeyboardInterrupt:
            self._stop = True

    def _reported(self, w: Reals, ending: Ending, said: str, seconds: float) -> Found:
        motion = self._motion(w)
        spent = {"prepare": 0.0, "solve": seconds, "evaluate": self._spent}
        count = (self._iterations, self._evaluations)
        if motion is None:
            return Found(w, self._multipliers, np.inf, np.inf, np.inf, Ending.FAILED, said, *count, spent)
        flat = self.unknowns.flatness(w, self._jacobian_entries(w, motion, self._multipliers))
        return Found(w, self._multipliers, motion.cost, self._violation(motion), flat, ending, said, *count, spent)

    def stop(self) -> None:
        """End the search at the next evaluation."""
        self._stop = True
