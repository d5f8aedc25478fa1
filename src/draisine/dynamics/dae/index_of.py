"""The index of a system: by structure and by numbers, and in words what each differentiation removes.

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

from draisine.dynamics.augmented.second_order_system import SecondOrder, augmented
from draisine.dynamics.constraints.constraint_manifold import Constrained
from draisine.dynamics.dae.as_dae import posed
from draisine.dynamics.dae.branch_structure import Place, begin, closer, holds, places, structure_on
from draisine.dynamics.dae.derivative_array import Others, Point, Ranks, differential_index
from draisine.dynamics.dae.index_report import Elsewhere, IndexReport, Progress, steps
from draisine.dynamics.dae.mechanical_index import mechanics_of
from draisine.dynamics.dae.prolongation import full_signature
from draisine.dynamics.dae.signature_method import Offsets, offsets
from draisine.dynamics.dae.structure import Structure, structure
from draisine.dynamics.derive import derive
from draisine.dynamics.options import Augmented
from draisine.errors import ArgumentError, ModelError
from draisine.expr.expression import did_you_mean
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Equations, Quantity
from draisine.program.linear_solve import LinearSolveProgram

Reals = NDArray[np.float64]

DEEPEST = 7  # differentiations tried of systems that are not large
SMALL, FURTHER = 8, 6  # systems with so few unknowns are looked at at so many further points
MOST_UNKNOWNS, MOST_OPERATIONS = 120, 10_000  # beyond, derivative arrays are too large to be looked at
MOST_LIGHT = 30  # unknowns of a mechanism without enough masses that the doctor still looks at by derivative arrays


def index_of(
    system: Equations | SecondOrder | Model | System,
    at: Mapping[str, float] | ArrayLike | None = None,
    *,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
    time: float = 0.0,
    elsewhere: int | None = None,
) -> IndexReport:
    """The index of a differential-algebraic system, or of a mechanism posed with multipliers.

    - `at`: unknowns, all of them or some by name, which are held; the consistent point closest by is taken.
    - `elsewhere`: at how many further consistent points the index is looked at, to see whether it changes; by default a few for
      small systems and none for large ones.

    Mechanisms whose masses and constraints determine the accelerations are settled by that, at the point and a few near it
    (`mechanical.py`); derivative arrays decide for the others, and where multipliers are held or `elsewhere` is asked for.
    `index_of(posed(system))` takes derivative arrays always. Laws of inputs that move constraints must be put in first; inputs
    count as constants here.
    """
    settled = _settled(system, at, parameters, inputs, time) if not elsewhere else None
    if settled is not None:
        return settled
    equations = _as_posed(system)
    dynamics = equations.dynamics
    if not isinstance(dynamics, DaeResidual):
        return _explicit(equations)
    given = _values(equations.name, "input", equations.inputs, inputs)
    others = Others(time, given, _values(equations.name, "parameter", equations.parameters, parameters))
    shape = structure(equations)
    as_posed = offsets(full_signature(dynamics), shape.system.equations, shape.system.unknowns, equations.name)
    y, held = begin(equations, at)
    numbers = _Numbers(equations, dynamics, others, as_posed.index)
    within = dynamics.size <= MOST_UNKNOWNS and dynamics.operations <= MOST_OPERATIONS
    here = numbers.at(y, held) if within else None
    count = (FURTHER if dynamics.size <= SMALL else 0) if elsewhere is None else elsewhere
    other = numbers.elsewhere(y, here, count) if here is not None else ()
    if here is not None and here.point.consistent and shape.regular and not holds(shape, [Place(here.point, others)]):
        shape = structure_on(equations, places(dynamics, here.point.y, others, held))
    return _report(equations, shape, as_posed, here, other)


def index_of_mechanism(mechanism: Constrained) -> IndexReport:
    """The index of a mechanism at a state: by masses and constraints, or by derivative arrays where these are not enough."""
    mechanics = mechanics_of(mechanism)
    if mechanics.regular:
        return mechanics.report()
    system = mechanics.system
    count = system.q.numel() + system.v.numel() + len(system.holonomic) + len(system.nonholonomic)
    if count > MOST_LIGHT:
        raise ModelError(
            f"masses and constraints do not determine the accelerations, and {count} unknowns are too many for derivative arrays"
        )
    values = (p.tolist() for p in (mechanism.motion.p, mechanism.motion.u))
    given = [
        dict(zip((q.name for q in names), v, strict=True))
        for names, v in zip((system.parameters, system.inputs), values, strict=True)
    ]
    return index_of(posed(system), parameters=given[0], inputs=given[1], time=mechanism.time)


@dataclass(frozen=True, eq=False)
class _Moment:
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
    whole = _whole(system)
    targets = {} if at is None else at
    if whole is None or not isinstance(targets, Mapping):
        return None
    known = [q.name for q in (*whole.coordinates, *whole.velocities)]
    if not set(targets) <= set(known):
        return None
    u = _values(whole.name, "input", whole.inputs, inputs)
    p = _values(whole.name, "parameter", whole.parameters, parameters)
    y = np.array([float(targets.get(q.name, q.default)) for q in (*whole.coordinates, *whole.velocities)])
    held, count = np.array([name in targets for name in known]), len(whole.coordinates)
    there = Constrained(whole, whole, _Moment(y, u, p), time)
    place = there.onto(y[:count], held=held[:count])
    if place is None or not there.look(place).finite:
        return None
    sight = there.look(place)
    free = ~held[count:]
    y[count:][free] += np.linalg.lstsq(sight.rows[:, free], -sight.rows @ y[count:] - sight.drift, rcond=1e-9)[0]
    rest = np.zeros(len(whole.extra_states))
    mechanics = mechanics_of(Constrained(whole, whole, _Moment(np.concatenate([place, y[count:], rest]), u, p), time))
    return mechanics.report() if mechanics.regular else None


def _whole(system: Equations | SecondOrder | Model | System) -> Equations | None:
    """A mechanism's equations with all velocities among the states, or None if it is none, or has been reduced."""
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
    """A point and what the ranks say there."""

    point: Point
    ranks: list[Ranks]

    @property
    def index(self) -> int | None:
        return self.ranks[-1].times if self.point.consistent and all(self.ranks[-1].determined) else None


@dataclass(frozen=True)
class _Numbers:
    equations: Equations
    dynamics: DaeResidual
    others: Others
    structural: int

    def at(self, y: Reals, held: NDArray[np.bool_]) -> _Found:
        least = min(self.structural, 4) + 1
        most = max(least + 1, DEEPEST if self.dynamics.size <= 2 * SMALL else 0)
        return self._found(y, held, least, most)

    def known(self, y: Reals, depth: int) -> _Found:
        """At a point where no deeper differentiations are expected than were needed before."""
        return self._found(y, np.zeros(len(y), dtype=bool), depth, depth)

    def _found(self, y: Reals, held: NDArray[np.bool_], least: int, most: int) -> _Found:
        def begin_anew() -> Reals:
            return closer(self.equations, y, self.others, held)

        return _Found(*differential_index(self.dynamics, y, self.others, held, least, most, begin_anew))

    def elsewhere(self, y: Reals, here: _Found, count: int) -> tuple[Elsewhere, ...]:
        """Consistent points at some distance where the index is another one, one for each index."""
        found: dict[int, Elsewhere] = {}
        rng = np.random.default_rng(2005)
        for _ in range(count):
            there = self.known(y + rng.uniform(-1.5, 1.5, len(y)) * np.maximum(1.0, np.abs(y)), here.ranks[-1].times + 2)
            if there.index is not None and there.index != here.index:
                found.setdefault(there.index, Elsewhere(there.index, _named(self.equations, there.point.y)))
        return tuple(found.values())


def _as_posed(system: Equations | SecondOrder | Model | System) -> Equations:
    """Equations as a person would write them: a mechanism with its multipliers, of index 3 if its constraints are holonomic."""
    if isinstance(system, Equations):
        mechanism = bool(system.multipliers) or (isinstance(system.dynamics, LinearSolveProgram) and bool(system.velocities))
        if isinstance(system.dynamics, DaeResidual) or not mechanism:
            return system
    return posed(system)


def _explicit(equations: Equations) -> IndexReport:
    count = len(equations.states)
    said = "given as ẋ = f: nothing has to be differentiated, the index is 0 (of a mechanism, ask with the model itself)"
    point = _named(equations, np.array([q.default for q in equations.states]))
    unknowns = {q.name: 1 for q in equations.states}
    return IndexReport(equations.name, 0, 0, 0, count, unknowns, (), (), (), point, None, (said,))


def _values(owner: str, kind: str, quantities: tuple[Quantity, ...], given: Mapping[str, float] | None) -> Reals:
    known = [q.name for q in quantities]
    for name in given or {}:
        if name not in known:
            raise ArgumentError(f"{owner} has no {kind} {name!r}{did_you_mean(name, known)}")
    return np.array([float((given or {}).get(q.name, q.default)) for q in quantities])


def _named(equations: Equations, y: Reals) -> dict[str, float]:
    return dict(zip((q.name for q in equations.states), y.tolist(), strict=True))


# ---------------------------------------------------------------- words


def _report(
    equations: Equations, shape: Structure, as_posed: Offsets, here: _Found | None, other: tuple[Elsewhere, ...]
) -> IndexReport:
    index = here.index if here is not None else None
    dynamics = equations.dynamics
    assert isinstance(dynamics, DaeResidual)
    perturbation, about_perturbation = _perturbation(shape, dynamics, index)
    said = [
        f"structural index {as_posed.index} (Σ-method)",
        _about_differential(equations, here),
        about_perturbation,
        *_about_structure(shape, as_posed, index),
        *_about_elsewhere(index, other),
        *shape.notes,
        *(note for note in equations.notes if note not in shape.notes),
    ]
    freedoms = dynamics.size - here.ranks[-1].conditions if here is not None and index is not None else None
    if freedoms is not None:
        said.append(f"{freedoms} of {dynamics.size} unknowns may be chosen at a start")
    return IndexReport(
        name=equations.name,
        structural=as_posed.index,
        differential=index,
        perturbation=perturbation,
        freedoms=freedoms,
        unknowns=dict(zip(shape.system.unknowns, dynamics.index or (1,) * dynamics.size, strict=True)),
        steps=steps(shape) if shape.regular else (),
        progress=_progress(equations, here) if here is not None else (),
        elsewhere=other,
        point=_named(equations, here.point.y) if here is not None else {},
        margin=(min(r.kept for r in here.ranks), max(r.dropped for r in here.ranks)) if here is not None else None,
        sentences=tuple(sentence for sentence in said if sentence),
    )


def _about_differential(equations: Equations, here: _Found | None) -> str:
    if here is None:
        size = f"{len(equations.coordinates)} unknowns and {equations.dynamics.operations} operations"
        return f"the differential index was not looked at: {size} are too many for derivative arrays"
    if not here.point.consistent:
        return (
            f"no consistent point was found near the one given: {here.ranks[-1].times} differentiations leave a residual of "
            f"{here.point.residual:.1e}; give unknowns closer to a solution"
        )
    if here.index is None:
        loose = [q.name for q, there in zip(equations.coordinates, here.ranks[-1].determined, strict=True) if not there]
        return f"{here.ranks[-1].times} differentiations do not determine the rates of {', '.join(loose)}: no index was found"
    return f"differential index {here.index}, by the ranks of derivative arrays at a consistent point"


def _perturbation(shape: Structure, dynamics: DaeResidual, differential: int | None) -> tuple[int | None, str]:
    """Bounded from above by structure, where its Jacobian is regular, and from below by the differential index; both are the
    same for linear systems with constant coefficients."""
    if differential is None:
        return None, ""
    if differential == 0:
        return 0, "perturbation index 0: rates are determined as they stand"
    if shape.branch:
        return None, f"perturbation index at least {differential}; a disturbance that leaves this branch changes the index itself"
    above = max(shape.offsets.equations, default=0) + 1 + shape.deeper
    if (shape.regular and above == differential) or _is_linear(dynamics):
        return differential, f"perturbation index {differential}: {_acting(differential - 1)}"
    if shape.regular and above > differential:
        return None, f"perturbation index between {differential} and {above}"
    return None, f"perturbation index at least {differential}; structure gives no bound here"


def _progress(equations: Equations, here: _Found) -> tuple[Progress, ...]:
    names = [q.name for q in equations.coordinates]
    return tuple(
        Progress(r.times, r.conditions, tuple(n for n, known in zip(names, r.determined, strict=True) if not known))
        for r in here.ranks
    )


def _acting(order: int) -> str:
    return f"disturbances act by derivatives up to order {order}" if order else "disturbances act as they are, not by derivatives"


def _is_linear(dynamics: DaeResidual) -> bool:
    """Whether the coefficients of y and ẏ are constant."""
    symbols = dynamics.jacobian.symbols()
    jacobian = ca.vertcat(*dynamics.jacobian.function.call(symbols))
    return not ca.depends_on(jacobian, ca.vertcat(*symbols[:3]))


def _about_structure(shape: Structure, as_posed: Offsets, index: int | None) -> list[str]:
    if index is None or index == as_posed.index:
        return []
    if index > as_posed.index:
        why = "factors that are not zero in general vanish at this point" if shape.branch else "terms cancel in it"
        return [f"structure promises {as_posed.index}, but {why}"]
    return [f"structure asks for {as_posed.index} differentiations where {index} will do: it does not see that terms cancel"]


def _about_elsewhere(index: int | None, other: tuple[Elsewhere, ...]) -> list[str]:
    return [
        f"the index changes: it is {place.differential} at the consistent point "
        + ", ".join(f"{name} = {value:.4g}" for name, value in place.point.items())
        for place in other
        if index is not None
    ]
