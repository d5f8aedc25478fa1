"""The index of a system: structural, differential and perturbation index, and the differentiation steps.

>>> import sympy as sp
>>> from draisine.symbolic.differential_algebraic import semi_explicit
>>> x, y, vx, vy, pull = sp.symbols("x y vx vy pull")
>>> e = semi_explicit("pendulum", {x: vx, y: vy, vx: -x * pull, vy: -y * pull - 10}, unknowns=[pull],
...                   constraints={"length": x**2 + y**2 - 1}, start={x: 0.6, y: -0.8})
>>> report = index_of(e)
>>> report.structural, report.differential, report.perturbation, report.freedoms
(3, 3, 3, 2)
>>> print(report.steps[1])
'length' differentiated once: a hidden condition on vx, vy
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.dynamics.augmented.second_order import SecondOrder
from draisine.dynamics.augmented.second_order_system import augmented
from draisine.dynamics.constraints.constraint_manifold import ConstraintManifold
from draisine.dynamics.dae.as_dae import as_dae
from draisine.dynamics.dae.branch_structure import (
    ConsistentPoint,
    consistent_points,
    holds,
    initial_unknowns,
    nearest_consistent,
    structure_at,
)
from draisine.dynamics.dae.derivative_array import FixedArguments, Point, Ranks, differential_index
from draisine.dynamics.dae.index_report import DifferentiationStep, Elsewhere, IndexReport, steps
from draisine.dynamics.dae.mechanical_index import mechanics_of
from draisine.dynamics.dae.prolongation import full_signature
from draisine.dynamics.dae.signature_method import Offsets, offsets
from draisine.dynamics.dae.structure import Structure, structure
from draisine.dynamics.derive import derive
from draisine.dynamics.formulations import Augmented
from draisine.errors import ArgumentError, ModelError
from draisine.expr.expression import did_you_mean
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.arguments import refuse_unilateral
from draisine.program.equations import Equations, Quantity
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual

Reals = NDArray[np.float64]

DEEPEST = 7  # differentiations that are tried for small systems
SMALL, FURTHER = 8, 6  # systems with at most SMALL unknowns are analyzed at FURTHER more points
MOST_UNKNOWNS, MOST_OPERATIONS = 120, 10_000  # limits of derivative arrays
MOST_LIGHT = 30  # unknowns of a mechanism with singular mass matrix up to which derivative arrays are used


def index_of(
    model: Equations | SecondOrder | Model | System,
    at: Mapping[str, float] | ArrayLike | None = None,
    *,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
    time: float = 0.0,
    elsewhere: int | None = None,
) -> IndexReport:
    """The index of a differential-algebraic system, or of a mechanism with multipliers.

    - `at`: fixed unknowns, all of them or some by name; the nearest consistent point is used.
    - `parameters`, `inputs`: values by name; the others have their defaults. `time`: of the point.
    - `elsewhere`: number of further consistent points at which the index is computed, to see whether it changes; by default a few
      for small systems and none for large ones.

    For mechanisms whose masses and constraints determine the accelerations the index follows from that, at the point and a few
    near it (`mechanical_index`); derivative arrays are used for others, and where multipliers are fixed or `elsewhere` is given.
    `index_of(as_dae(model))` always uses derivative arrays. Inputs are constants here: substitute laws that drive constraints
    first."""
    refuse_unilateral("index_of", model)
    settled = _settled(model, at, parameters, inputs, time) if not elsewhere else None
    if settled is not None:
        return settled
    equations = _as_posed(model)
    dynamics = equations.dynamics
    if not isinstance(dynamics, DaeResidual):
        return _explicit(equations)
    given = _values(equations.name, "input", equations.inputs, inputs)
    others = FixedArguments(time, given, _values(equations.name, "parameter", equations.parameters, parameters))
    shape = structure(equations)
    as_posed = offsets(full_signature(dynamics), shape.system.equations, shape.system.unknowns, equations.name)
    y, fixed = initial_unknowns(equations, at)
    numbers = _Numbers(equations, dynamics, others, as_posed.index)
    within = dynamics.size <= MOST_UNKNOWNS and dynamics.operations <= MOST_OPERATIONS
    result = numbers.at(y, fixed) if within else None
    count = (FURTHER if dynamics.size <= SMALL else 0) if elsewhere is None else elsewhere
    other = numbers.elsewhere(y, result, count) if result is not None else ()
    if (
        result is not None
        and result.point.consistent
        and shape.regular
        and not holds(shape, [ConsistentPoint(result.point, others)])
    ):
        shape = structure_at(equations, consistent_points(dynamics, result.point.y, others, fixed))
    return _report(equations, shape, as_posed, result, other)


def index_of_mechanism(mechanism: ConstraintManifold) -> IndexReport:
    """The index of a mechanism at a state: from masses and constraints, or from derivative arrays where these are singular."""
    mechanics = mechanics_of(mechanism)
    if mechanics.index is not None:
        return mechanics.report()
    system = mechanics.system
    count = system.q.numel() + system.v.numel() + len(system.holonomic) + len(system.nonholonomic)
    if count > MOST_LIGHT:
        why = (
            "directions without mass determine the forces of some constraints, and others move masses"
            if mechanics.regular
            else "masses and constraints do not determine the accelerations"
        )
        raise ModelError(f"{why}, and {count} unknowns are too many for derivative arrays")
    values = (p.tolist() for p in (mechanism.motion.p, mechanism.motion.u))
    given = [
        dict(zip((q.name for q in names), v, strict=True))
        for names, v in zip((system.parameters, system.inputs), values, strict=True)
    ]
    return index_of(as_dae(system), parameters=given[0], inputs=given[1], time=mechanism.time)


@dataclass(frozen=True, eq=False)
class _StatePoint:
    x: Reals
    u: Reals
    p: Reals


def _settled(
    system: Equations | SecondOrder | Model | System,
    at: Mapping[str, float] | ArrayLike | None,
    parameters: Mapping[str, float] | None,
    inputs: Mapping[str, float] | None,
    time: float,
) -> IndexReport | None:
    """The index of a mechanism whose masses and constraints determine the accelerations; None for anything else."""
    unreduced = _unreduced(system)
    targets = {} if at is None else at
    if unreduced is None or not isinstance(targets, Mapping):
        return None
    known = [q.name for q in (*unreduced.coordinates, *unreduced.velocities)]
    if not set(targets) <= set(known):
        return None
    u = _values(unreduced.name, "input", unreduced.inputs, inputs)
    p = _values(unreduced.name, "parameter", unreduced.parameters, parameters)
    y = np.array([float(targets.get(q.name, q.default)) for q in (*unreduced.coordinates, *unreduced.velocities)])
    fixed, count = np.array([name in targets for name in known]), len(unreduced.coordinates)
    manifold = ConstraintManifold(unreduced, unreduced, _StatePoint(y, u, p), time)
    configuration = manifold.project(y[:count], fixed=fixed[:count])
    if configuration is None or not manifold.sample_at(configuration).finite:
        return None
    sample = manifold.sample_at(configuration)
    free = ~fixed[count:]
    y[count:][free] += np.linalg.lstsq(sample.rows[:, free], -sample.rows @ y[count:] - sample.drift, rcond=1e-9)[0]
    rest = np.zeros(len(unreduced.extra_states))
    mechanics = mechanics_of(
        ConstraintManifold(unreduced, unreduced, _StatePoint(np.concatenate([configuration, y[count:], rest]), u, p), time)
    )
    return mechanics.report() if mechanics.index is not None else None


def _unreduced(system: Equations | SecondOrder | Model | System) -> Equations | None:
    """A mechanism's equations with all velocities among the states, or None if it is not a mechanism or has been reduced."""
    if isinstance(system, Model | System):
        found = derive(system, work=False, formulation=Augmented())
    elif isinstance(system, SecondOrder):
        found = augmented(system)
    else:
        found = system
    with_all = bool(found.velocities) and len(found.independent) == len(found.velocities)
    return found if with_all and isinstance(found.dynamics, LinearSolveProgram) else None


@dataclass(frozen=True)
class _Found:
    """A point and the ranks at it."""

    point: Point
    ranks: list[Ranks]

    @property
    def index(self) -> int | None:
        return self.ranks[-1].times if self.point.consistent and all(self.ranks[-1].determined) else None


@dataclass(frozen=True)
class _Numbers:
    equations: Equations
    dynamics: DaeResidual
    others: FixedArguments
    structural: int

    def at(self, y: Reals, fixed: NDArray[np.bool_]) -> _Found:
        least = min(self.structural, 4) + 1
        most = max(least + 1, DEEPEST if self.dynamics.size <= 2 * SMALL else 0)
        return self._found(y, fixed, least, most)

    def known(self, y: Reals, depth: int) -> _Found:
        """At a point, with a given number of differentiations."""
        return self._found(y, np.zeros(len(y), dtype=bool), depth, depth)

    def _found(self, y: Reals, fixed: NDArray[np.bool_], least: int, most: int) -> _Found:
        def restart() -> Reals:
            return nearest_consistent(self.equations, y, self.others, fixed)

        return _Found(*differential_index(self.dynamics, y, self.others, fixed, least, most, restart))

    def elsewhere(self, y: Reals, result: _Found, count: int) -> tuple[Elsewhere, ...]:
        """Distant consistent points with a different index, one for each index."""
        found: dict[int, Elsewhere] = {}
        rng = np.random.default_rng(2005)
        for _ in range(count):
            distant = self.known(y + rng.uniform(-1.5, 1.5, len(y)) * np.maximum(1.0, np.abs(y)), result.ranks[-1].times + 2)
            if distant.index is not None and distant.index != result.index:
                found.setdefault(distant.index, Elsewhere(distant.index, _named(self.equations, distant.point.y)))
        return tuple(found.values())


def _as_posed(system: Equations | SecondOrder | Model | System) -> Equations:
    """Equations as usually written: a mechanism with its multipliers, of index 3 if it has holonomic constraints."""
    if isinstance(system, Equations):
        mechanism = bool(system.multipliers) or (isinstance(system.dynamics, LinearSolveProgram) and bool(system.velocities))
        if isinstance(system.dynamics, DaeResidual) or not mechanism:
            return system
    return as_dae(system)


def _explicit(equations: Equations) -> IndexReport:
    count = len(equations.states)
    sentences = "explicit, ẋ = f: the index is 0, no differentiation is needed (for a mechanism, pass the model itself)"
    point = _named(equations, np.array([q.default for q in equations.states]))
    unknowns = {q.name: 1 for q in equations.states}
    return IndexReport(equations.name, 0, 0, 0, count, unknowns, (), (), (), point, None, (sentences,))


def _values(owner: str, kind: str, quantities: tuple[Quantity, ...], given: Mapping[str, float] | None) -> Reals:
    known = [q.name for q in quantities]
    for name in given or {}:
        if name not in known:
            raise ArgumentError(f"{owner} has no {kind} {name!r}{did_you_mean(name, known)}")
    return np.array([float((given or {}).get(q.name, q.default)) for q in quantities])


def _named(equations: Equations, y: Reals) -> dict[str, float]:
    return dict(zip((q.name for q in equations.states), y.tolist(), strict=True))


# ---------------------------------------------------------------- sentences


def _report(
    equations: Equations, shape: Structure, as_posed: Offsets, result: _Found | None, other: tuple[Elsewhere, ...]
) -> IndexReport:
    index = result.index if result is not None else None
    dynamics = equations.dynamics
    assert isinstance(dynamics, DaeResidual)
    perturbation, about_perturbation = _perturbation(shape, dynamics, index)
    sentences = [
        f"structural index {as_posed.index} (Σ-method)",
        _about_differential(equations, result),
        about_perturbation,
        *_about_structure(shape, as_posed, index),
        *_about_elsewhere(index, other),
        *shape.notes,
        *(note for note in equations.notes if note not in shape.notes),
    ]
    freedoms = dynamics.size - result.ranks[-1].conditions if result is not None and index is not None else None
    if freedoms is not None:
        sentences.append(f"{freedoms} of {dynamics.size} unknowns may be chosen at a start")
    return IndexReport(
        name=equations.name,
        structural=as_posed.index,
        differential=index,
        perturbation=perturbation,
        freedoms=freedoms,
        unknowns=dict(zip(shape.system.unknowns, dynamics.index or (1,) * dynamics.size, strict=True)),
        steps=steps(shape) if shape.regular else (),
        rounds=_rounds(equations, result) if result is not None else (),
        elsewhere=other,
        point=_named(equations, result.point.y) if result is not None else {},
        margin=(min(r.kept for r in result.ranks), max(r.dropped for r in result.ranks)) if result is not None else None,
        sentences=tuple(sentence for sentence in sentences if sentence),
    )


def _about_differential(equations: Equations, result: _Found | None) -> str:
    if result is None:
        size = f"{len(equations.coordinates)} unknowns and {equations.dynamics.operations} operations"
        return f"the differential index was not computed: {size} are too many for derivative arrays"
    if not result.point.consistent:
        return (
            f"no consistent point was found near the one given: {result.ranks[-1].times} differentiations leave a residual of "
            f"{result.point.residual:.1e}; give unknowns closer to a solution"
        )
    if result.index is None:
        loose = [q.name for q, distant in zip(equations.coordinates, result.ranks[-1].determined, strict=True) if not distant]
        return f"{result.ranks[-1].times} differentiations do not determine the rates of {', '.join(loose)}: no index was found"
    return f"differential index {result.index}, by the ranks of derivative arrays at a consistent point"


def _perturbation(shape: Structure, dynamics: DaeResidual, differential: int | None) -> tuple[int | None, str]:
    """Bounded from above by structure, where its Jacobian is regular, and from below by the differential index; both are the
    same for linear systems with constant coefficients."""
    if differential is None:
        return None, ""
    if differential == 0:
        return 0, "perturbation index 0: the rates are determined without differentiation"
    if shape.branch:
        return None, f"perturbation index at least {differential}; a disturbance that leaves this branch changes the index itself"
    above = max(shape.offsets.equations, default=0) + 1 + shape.deeper
    if (shape.regular and above == differential) or _is_linear(dynamics):
        return differential, f"perturbation index {differential}: {_acting(differential - 1)}"
    if shape.regular and above > differential:
        return None, f"perturbation index between {differential} and {above}"
    return None, f"perturbation index at least {differential}; structure gives no bound here"


def _rounds(equations: Equations, result: _Found) -> tuple[DifferentiationStep, ...]:
    names = [q.name for q in equations.coordinates]
    return tuple(
        DifferentiationStep(r.times, r.conditions, tuple(n for n, known in zip(names, r.determined, strict=True) if not known))
        for r in result.ranks
    )


def _acting(order: int) -> str:
    return (
        f"disturbances enter by derivatives up to order {order}" if order else "disturbances enter directly, not by derivatives"
    )


def _is_linear(dynamics: DaeResidual) -> bool:
    """Whether the coefficients of y and ẏ are constant."""
    symbols = dynamics.jacobian.symbols()
    jacobian = ca.vertcat(*dynamics.jacobian.function.call(symbols))
    return not ca.depends_on(jacobian, ca.vertcat(*symbols[:3]))


def _about_structure(shape: Structure, as_posed: Offsets, index: int | None) -> list[str]:
    if index is None or index == as_posed.index:
        return []
    if index > as_posed.index:
        why = "factors that are generically nonzero vanish at this point" if shape.branch else "terms cancel in it"
        return [f"the structural index is {as_posed.index}, but {why}"]
    return [
        f"the structure requires {as_posed.index} differentiations where {index} suffice: cancellation of terms is not structural"
    ]


def _about_elsewhere(index: int | None, other: tuple[Elsewhere, ...]) -> list[str]:
    return [
        f"the index changes: it is {configuration.differential} at the consistent point "
        + ", ".join(f"{name} = {value:.4g}" for name, value in configuration.point.items())
        for configuration in other
        if index is not None
    ]
