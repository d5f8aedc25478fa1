"""Refinement with switching times as unknowns, where bounded controls jump.

On a mesh that stays, a control that jumps inside an interval is a polynomial which exceeds its bounds between the nodes, and the
jump is only found to the length of an interval. Here mesh points are placed at the switches and move (`control_arcs`): controls
at a bound are held there, others stay polynomials. The structure is read anew from each solution: arcs that vanish are dropped, a
control that should leave its bound by the sign of its switching function gets another arc.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.direct_methods import Collocation, MultipleShooting
from draisine.optimal.control_arcs import ControlArcs, calmed, mesh_of, structure_of, without_vanished
from draisine.optimal.ipopt import Ipopt
from draisine.optimal.mesh_search import NEAR_GUESS, MeshSolution, Task
from draisine.optimal.refinement import HIGHEST, Refinement
from draisine.optimal.solution import PhaseSolution
from draisine.optimal.verified_motion import Verified, timed_verification
from draisine.results.status import ProgressCallback

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]
Structure = tuple[Reals, Indices]

MESHES = 12  # at most
LEAST_ERROR = 1e-12  # of an interval, asked of a mesh
PATIENCE, PROGRESS = 3, 0.3  # meshes, over which misses and errors fall to this share of theirs
NEGLIGIBLE = 1e-7  # of the cost: what other controls may promise at a solution
SHARPER = 1e-3  # tolerance of IPOPT relative to that of the motion
MORE = 0.4  # share of intervals with a large error from which the degree is raised


def with_switching_times(
    task: Task,
    found: MeshSolution,
    refine: Refinement,
    most: int,
    solver: Ipopt,
    limited: Callable[[Ipopt], Ipopt],
    progress: ProgressCallback | None,
    seconds: dict[str, float],
) -> tuple[MeshSolution, Verified, int] | None:
    """The solution in arcs, its verification and the number of meshes, at `most` so many. None if there are no switches, if no
    such solution is found, or if its motion does not meet conditions and bounds. `limited` are settings with a limit of time."""
    if not all(_movable(p) for p in found.phases):
        return None
    solver = replace(solver, tolerance=min(solver.tolerance, SHARPER * refine.tolerance))
    target, parts = refine.tolerance, [np.ones(len(p.errors), dtype=np.int64) for p in found.phases]
    degrees = [p.scheme.degree for p in found.phases if isinstance(p.scheme, Collocation)]
    best: tuple[MeshSolution, Verified, int] | None = None
    far = list[float]()
    for rounds in range(1, min(MESHES, most) + 1):
        theta = found.answer.w[found.transcribed.parameters]
        structures = [structure_of(p, theta) for p in found.phases]
        if all(s is None for s in structures):
            return best
        moved = _solved(task, found, structures, parts, degrees, solver, limited, progress, seconds)
        if moved is None:
            return best
        found, verified = moved, timed_verification(task, moved, refine.tolerance, seconds)
        judged = verified.verdict
        if judged.holds and found.error <= refine.tolerance:
            gain, best = found.excess / max(abs(found.answer.objective), 1e-300), (found, verified, rounds)
            if gain <= NEGLIGIBLE:
                return best
            target *= float(np.clip(0.3 * NEGLIGIBLE / gain, 1e-3, 0.1))
            if target < LEAST_ERROR:
                return best
        elif found.error <= target and not any(v.any() for v in judged.violated):
            target *= float(np.clip(0.3 * refine.tolerance / judged.worst, 1e-3, 0.1))
        far.append(max(judged.worst, found.error))
        if len(far) > PATIENCE and far[-1] > PROGRESS * far[-1 - PATIENCE]:
            return best
        parts, degrees = _finer(refine, found, verified, target)
        if sum(int(p.sum()) for p in parts) > refine.most:
            return best
    return best


def _movable(p: PhaseSolution) -> bool:
    """Whether mesh points may move and controls jump at them."""
    s = p.scheme
    return isinstance(s, Collocation) and s.scheme in ("radau", "gauss") and s.constant_controls is not True


def _finer(refine: Refinement, found: MeshSolution, verified: Verified, target: float) -> tuple[list[Indices], list[int]]:
    """Into how many parts intervals are split, and the degrees of the next mesh."""
    parts, degrees = [], []
    for p, violated in zip(found.phases, verified.verdict.violated, strict=True):
        assert isinstance(p.scheme, Collocation)
        count = refine.parts(p.scheme, p.errors, target)
        raised = (count > 1).mean() > MORE and p.scheme.degree < HIGHEST
        count = np.ones_like(count) if raised else count
        count[violated] = np.maximum(count[violated], 3)
        parts.append(count)
        degrees.append(p.scheme.degree + (2 if raised else 0))
    return parts, degrees


def _solved(
    task: Task,
    found: MeshSolution,
    structures: list[Structure | None],
    parts: list[Indices],
    degrees: list[int],
    solver: Ipopt,
    limited: Callable[[Ipopt], Ipopt],
    progress: ProgressCallback | None,
    seconds: dict[str, float],
) -> MeshSolution | None:
    """The solution with this structure, or with what is left of it when arcs vanish."""
    near = replace(solver, options={**NEAR_GUESS, **solver.options})
    while any(s is not None for s in structures):
        schemes, arcs, guess = list[Collocation | MultipleShooting](), list[ControlArcs | None](), []
        for p, structure, count, degree in zip(found.phases, structures, parts, degrees, strict=True):
            assert isinstance(p.scheme, Collocation)
            none = (np.zeros(0), np.zeros((1, len(p.phase.controls)), dtype=np.int64))
            scheme, arc = mesh_of(p, *(structure or none), count, degree)
            schemes.append(scheme)
            arcs.append(arc if structure is not None else None)
            guess.append(calmed(p, *(structure or none)))
        for settings in (near, solver):
            moved, lengths = task.in_arcs(schemes, arcs, guess, limited(settings), progress, seconds)
            if moved is not None or lengths:
                break
        if moved is not None or not lengths:
            return moved
        structures = [s if s is None else without_vanished(*s, share) for s, share in zip(structures, lengths, strict=True)]
    return None
