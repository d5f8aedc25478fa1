"""Descent with adjoint gradients: L-BFGS-B with bounds, conditions at the end by an augmented Lagrangian.

Unknowns are the controls of all pieces, the duration and parameters, each divided by its size. Conditions c enter as
combinations e = R c with orthonormal gradients (unknowns at bounds have a small weight), so that the penalty is equally steep in
all its directions; R takes one backward sweep per condition in each round. With low ≤ e ≤ high, multipliers λ and penalty ρ,
the minimized function is

    J + Σ ρ/2 d²,        d = (e + λ/ρ) − clip(e + λ/ρ, low, high),

and ρ d are the multipliers of the next round. Value and gradient take one forward and one backward sweep.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from draisine.optimal.adjoint.discrete_gradient import DiscreteGradient
from draisine.optimal.adjoint.functional import DiscreteMotion, Functional
from draisine.optimal.adjoint.method import Descent
from draisine.optimal.interruption import interruptible
from draisine.optimal.ipopt import UNBOUNDED_COST, Outcome, effective_progress, iteration_progress
from draisine.optimal.second_order import AWAY, SMOOTH
from draisine.program.switching import jumps_of
from draisine.results.status import ProgressCallback

Reals = NDArray[np.float64]

DIVERGED = 1e12  # value of a motion that does not stay finite
FIRST_ALLOWED = 0.1
GROWTH = 4.0
MOST_PENALTY = 1e8
BOUND_WEIGHT = 0.1  # weight of an unknown at a bound: conditions keep a gradient if all unknowns are at bounds
ESCAPES = 4  # from saddles
MOST_DENSE = 40  # unknowns, up to which the Hessian is formed to find negative curvature
DIFFERENCE, NEAR_BOUND = 1e-4, 1e-3  # of the sizes of unknowns: half step of differences, and distance from bounds
CURVED = 1e-3  # of the largest curvature: below, a negative one may be an error of differences
CHECKED = 0.03  # of the step away from a saddle: values must curve down too
LOWER = 1e-7  # of the size of the cost: gain that counts
LEAST_STEEP = 1e-6  # smallest relative norm of a condition's gradient that is scaled to one


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Scaled vector of controls, duration and parameters, and its inverse mapping."""

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
        stated = np.concatenate([np.tile(phase.sizes.controls, pieces), np.ones(len(rows) - pieces * len(sides))])
        sizes = np.where(finite > 0.0, finite, stated)
        sizes[pieces * len(sides)] = duration
        return Unknowns(pieces, len(sides), sizes, rows[:, 0] / sizes, rows[:, 1] / sizes)

    def packed(self, controls: Reals, duration: float, parameters: Reals) -> Reals:
        return np.clip(np.concatenate([controls.ravel(), [duration], parameters]) / self.sizes, self.low, self.high)

    def unpacked(self, w: Reals) -> tuple[Reals, float, Reals]:
        """Controls (pieces, controls), duration, parameters."""
        values, n = w * self.sizes, self.pieces * self.controls
        return values[:n].reshape(self.pieces, self.controls), float(values[n]), values[n + 1 :]

    def jacobian(self, found: DiscreteGradient) -> Reals:
        return np.concatenate([found.inputs.ravel(), [found.duration], found.parameters]) * self.sizes

    def free(self, w: Reals, gradient: Reals) -> NDArray[np.bool_]:
        """Unknowns without an active bound in the direction of descent."""
        blocked = ((w <= self.low) & (gradient > 0.0)) | ((w >= self.high) & (gradient < 0.0))
        return np.asarray(~blocked)

    def flatness(self, w: Reals, gradient: Reals) -> float:
        """The largest entry of the projected gradient."""
        return float(np.abs(np.clip(w - gradient, self.low, self.high) - w).max())


@dataclass(frozen=True, eq=False)
class ConditionCombinations:
    """Combinations R c of equality conditions, with bounds; inequality conditions are only scaled."""

    matrix: Reals  # R
    low: Reals
    high: Reals

    @staticmethod
    def of(low: Reals, high: Reals, jacobian: Reals) -> ConditionCombinations:
        """From the conditions' gradients (conditions, unknowns), weighted by whether unknowns are at bounds."""
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
        return ConditionCombinations(matrix, *(np.where(low == high, shift, side / sizes) for side in (low, high)))

    def beyond(self, combined: Reals) -> Reals:
        """Violation of the bounds of combinations."""
        return np.asarray(combined - np.clip(combined, self.low, self.high))


@dataclass(frozen=True, eq=False)
class DescentResult:
    """The best point found."""

    w: Reals
    multipliers: Reals  # of the original conditions
    cost: float
    violation: float  # relative to the conditions' sizes
    stationarity: float
    ending: Outcome
    solver_status: str
    iterations: int
    evaluations: int
    seconds: Mapping[str, float]


class _Stopped(Exception):
    """The search was stopped by the user."""


class Search:
    """Minimization of the augmented Lagrangian of one phase."""

    def __init__(
        self, functional: Functional, unknowns: Unknowns, p: Reals, settings: Descent, progress: ProgressCallback | None
    ) -> None:
        self.functional, self.unknowns, self._settings, self._progress = (
            functional,
            unknowns,
            settings,
            effective_progress(progress),
        )
        self._p, self._varied = p, functional.motion.varied_indices
        ends = functional.phase.ends
        self._low, self._high = np.array([(c.low, c.high) for c in ends]).reshape(-1, 2).T
        self._sizes, self._cost_size = functional.phase.sizes.ends, functional.phase.sizes.cost
        self._multipliers: Reals = np.zeros(len(ends))  # of the original conditions, for the cost divided by its size
        self._combined = ConditionCombinations(np.eye(len(ends)), self._low, self._high)
        self._penalty = settings.penalty
        self._iterations = self._evaluations = 0
        self._spent = 0.0
        self._stop = False
        self._best: tuple[float, float, Reals] | None = None

    def with_tolerance(self, factor: float) -> Search:
        """Another search with so many times the tolerance."""
        settings = replace(self._settings, tolerance=factor * self._settings.tolerance)
        return Search(self.functional, self.unknowns, self._p, settings, self._progress)

    # ---------------------------------------------------------------- values

    def parameters(self, values: Reals) -> Reals:
        """All parameters, given the optimized ones."""
        p = self._p.copy()
        p[self._varied] = values
        return p

    def _motion(self, w: Reals) -> DiscreteMotion | None:
        controls, duration, values = self.unknowns.unpacked(w)
        return self.functional.run(duration, controls, self.parameters(values))

    def _jacobian_entries(self, w: Reals, motion: DiscreteMotion, weights: Reals, cost: float | None = None) -> Reals:
        """The gradient of cost + weightsᵀ conditions; the cost is divided by its size if its weight is not given."""
        controls, duration, values = self.unknowns.unpacked(w)
        p, factor = self.parameters(values), 1.0 / self._cost_size if cost is None else cost
        return self.unknowns.jacobian(self.functional.gradient(motion, duration, controls, p, weights, factor))

    def _violation(self, motion: DiscreteMotion) -> float:
        c = motion.conditions
        return float((np.abs(c - np.clip(c, self._low, self._high)) / self._sizes).max(initial=0.0))

    def broken(self, w: Reals) -> tuple[str, ...]:
        """Descriptions of the violated conditions at the end."""
        motion, ends = self._motion(w), self.functional.phase.ends
        if motion is None:
            return ()
        misses = np.abs(motion.conditions - np.clip(motion.conditions, self._low, self._high))
        over = misses > self._settings.tolerance * self._sizes
        return tuple(f"finish: {c.name} (misses by {gap:.3g})" for c, gap, out in zip(ends, misses, over, strict=True) if out)

    def _shifted(self, motion: DiscreteMotion) -> Reals:
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
            return DIVERGED, np.zeros_like(w)
        d = self._shifted(motion)
        gradient = self._jacobian_entries(w, motion, self._penalty * (self._combined.matrix.T @ d))
        rank = (max(self._violation(motion), self._settings.tolerance), motion.cost)
        if self._best is None or rank < self._best[:2]:
            self._best = (*rank, w.copy())
        self._spent += time.perf_counter() - began
        return motion.cost / self._cost_size + 0.5 * self._penalty * float(d @ d), gradient

    # ---------------------------------------------------------------- rounds

    def run(self, w: Reals) -> DescentResult:
        """Find a local minimum from an initial point."""
        began = time.perf_counter()
        with interruptible(self.stop):
            try:
                w, ending, solver_status = self._rounds(w)
                for _ in range(ESCAPES):
                    away = self._away(w) if ending is Outcome.SOLVED else None
                    if away is None:
                        break
                    w, ending, solver_status = away
            except _Stopped:
                ending, solver_status = Outcome.INTERRUPTED, "stopped by the user"
        if ending not in (Outcome.SOLVED, Outcome.INFEASIBLE, Outcome.SADDLE, Outcome.UNBOUNDED) and self._best is not None:
            w = self._best[2]
        return self._reported(w, ending, solver_status, time.perf_counter() - began)

    def _rounds(self, w: Reals) -> tuple[Reals, Outcome, str]:
        """Conn, Gould & Toint: update the multipliers if conditions are satisfied well enough, else raise the penalty."""
        settings, accuracy = self._settings, 1e-2
        self._begin(w)
        allowed = self._allowance()
        for _ in range(settings.rounds):
            self._combine(w)
            w = self._descend(w, accuracy)
            motion = self._motion(w)
            if motion is None:
                return w, Outcome.FAILED, "the motion does not stay finite"
            if motion.cost < UNBOUNDED_COST * self._cost_size:
                return w, Outcome.UNBOUNDED, "the cost falls without bound"
            new = self._penalty * (self._combined.matrix.T @ self._shifted(motion))
            beyond = float(np.abs(self._combined.beyond(self._combined.matrix @ motion.conditions)).max(initial=0.0))
            flat = self.unknowns.flatness(w, self._jacobian_entries(w, motion, new))
            if beyond > allowed and self._penalty >= MOST_PENALTY:
                return w, Outcome.INFEASIBLE, "conditions at the end are violated at the largest penalty"
            if beyond <= allowed:
                self._multipliers = new
                if self._violation(motion) < settings.tolerance and flat < settings.tolerance:
                    return w, Outcome.SOLVED, "conditions satisfied and projected gradient small"
                allowed /= self._penalty**0.9
                accuracy = max(0.1 * accuracy, 0.3 * settings.tolerance)
            else:
                self._penalty *= GROWTH
                allowed = self._allowance()
        return w, Outcome.TOO_MANY_ITERATIONS, f"not converged after {settings.rounds} rounds of multipliers"

    def _away(self, w: Reals) -> tuple[Reals, Outcome, str] | None:
        """The end of a search that leaves a maximum or a saddle along a direction of negative curvature; None at a minimum."""
        if jumps_of(self.functional.phase.equations):
            return None  # where rates jump, gradients do too: their differences are no curvature
        direction, motion = self._negative_curvature(w), self._motion(w)
        if direction is None or motion is None:
            return None
        here, *beside = (self.lagrangian(w + step * direction)[0] for step in (0.0, CHECKED, -CHECKED))
        if not sum(beside) < 2 * here:
            return None
        for sign in (1.0, -1.0):
            moved = np.clip(w + sign * direction, self.unknowns.low, self.unknowns.high)
            found, ending, solver_status = self._rounds(moved)
            lower = self._motion(found)
            if ending is Outcome.SOLVED and lower is not None and lower.cost < motion.cost - LOWER * self._cost_size:
                return found, ending, solver_status
            if lower is not None and lower.cost < UNBOUNDED_COST * self._cost_size:
                return found, Outcome.UNBOUNDED, "the cost falls without bound"
        return w, Outcome.SADDLE, "stationary, with a direction of negative curvature"

    def _negative_curvature(self, w: Reals) -> Reals | None:
        """A direction in which the augmented Lagrangian curves down, among unknowns away from bounds; products with its Hessian
        are differences of gradients."""
        from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

        free = np.flatnonzero((w > self.unknowns.low + NEAR_BOUND) & (w < self.unknowns.high - NEAR_BOUND))
        if not len(free):
            return None

        def product(direction: Reals) -> Reals:
            step = np.zeros_like(w)
            step[free] = DIFFERENCE * direction.ravel() / max(float(np.abs(direction).max()), 1e-300)
            size = max(float(np.abs(direction).max()), 1e-300) / DIFFERENCE
            return np.asarray((self.lagrangian(w + step)[1] - self.lagrangian(w - step)[1])[free] * size / 2)

        if len(free) <= MOST_DENSE:
            hessian = np.array([product(unit) for unit in np.eye(len(free))])
            values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
            size = float(np.abs(hessian).max())
        else:
            operator = LinearOperator((len(free), len(free)), matvec=product, dtype=float)
            try:
                values, vectors = eigsh(
                    operator, k=2, which="BE", v0=np.ones(len(free)), ncv=MOST_DENSE // 2, maxiter=2, tol=1e-2
                )
            except ArpackNoConvergence as partly:
                values, vectors = partly.eigenvalues, partly.eigenvectors
            size = float(np.abs(values).max(initial=0.0))
        if not len(values) or not values[0] < -CURVED * size:
            return None
        negative = vectors[:, values < -CURVED * size]
        wanted = negative @ (negative.T @ np.ones(len(free)))
        chosen = wanted if np.abs(wanted).max() > SMOOTH else negative[:, 0]
        made = np.zeros_like(w)
        made[free] = AWAY * chosen / np.abs(chosen).max()
        return made

    def _allowance(self) -> float:
        """Allowed violation of combined conditions after a round."""
        return FIRST_ALLOWED / self._penalty**0.1

    def _begin(self, w: Reals) -> None:
        """Initial multipliers: those that minimize the gradient of the unknowns away from bounds."""
        motion, count = self._motion(w), len(self._multipliers)
        if motion is None or not count:
            return
        cost, jacobian = self._jacobian_entries(w, motion, np.zeros(count)), self._condition_jacobian(w, motion)
        free = (w > self.unknowns.low) & (w < self.unknowns.high)
        for _ in range(2):
            self._multipliers = np.asarray(np.linalg.lstsq(jacobian[:, free].T, -cost[free], rcond=1e-9)[0], dtype=np.float64)
            free = self.unknowns.free(w, cost + jacobian.T @ self._multipliers)

    def _condition_jacobian(self, w: Reals, motion: DiscreteMotion) -> Reals:
        """The conditions' gradients (conditions, unknowns)."""
        return np.array([self._jacobian_entries(w, motion, unit, 0.0) for unit in np.eye(len(self._multipliers))])

    def _combine(self, w: Reals) -> None:
        """Update the combinations of conditions from their gradients at a point."""
        motion, count = self._motion(w), len(self._multipliers)
        if motion is None or not count:
            return
        free = self.unknowns.free(w, self._jacobian_entries(w, motion, self._multipliers))
        weights = np.where(free, 1.0, BOUND_WEIGHT)
        self._combined = ConditionCombinations.of(self._low, self._high, self._condition_jacobian(w, motion) * weights)

    def _descend(self, w: Reals, accuracy: float) -> Reals:
        from scipy.optimize import Bounds, minimize

        found = minimize(
            self.lagrangian,
            w,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(self.unknowns.low, self.unknowns.high),
            callback=self._on_iteration,
            options={
                "maxiter": self._settings.iterations,
                "maxfun": 4 * self._settings.iterations,
                "maxcor": self._settings.memory,
                "gtol": accuracy,
                "ftol": 1e-15,
            },
        )
        return np.asarray(found.x)

    def _on_iteration(self, w: Reals) -> None:
        self._iterations += 1
        if self._progress is None or self._best is None:
            return
        try:
            self._progress(iteration_progress(self._iterations, self._best[1], self._best[0]))
        except KeyboardInterrupt:
            self._stop = True

    def _reported(self, w: Reals, ending: Outcome, solver_status: str, seconds: float) -> DescentResult:
        motion = self._motion(w)
        spent = {"prepare": 0.0, "solve": seconds, "evaluate": self._spent}
        count = (self._iterations, self._evaluations)
        multipliers = self._multipliers * self._cost_size
        if motion is None:
            return DescentResult(w, multipliers, np.inf, np.inf, np.inf, Outcome.FAILED, solver_status, *count, spent)
        flat = self.unknowns.flatness(w, self._jacobian_entries(w, motion, self._multipliers))
        return DescentResult(w, multipliers, motion.cost, self._violation(motion), flat, ending, solver_status, *count, spent)

    def stop(self) -> None:
        """Stop at the next evaluation."""
        self._stop = True
