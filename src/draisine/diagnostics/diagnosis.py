"""Diagnosis of constraints (`diagnose`), as sentences and as data.

>>> import draisine as dr
>>> found = dr.diagnose(dr.gallery.chaplygin_sleigh())
>>> found.freedoms_of_position, found.freedoms_of_velocity, found.growth.dimensions, found.index.differential
(3, 2, (2, 3), 2)
>>> for line in found.sections["freedoms"]:
...     print(line)
3 freedoms of position, 2 of velocity: 1 velocity constraint is nonholonomic
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

import numpy as np

from draisine.diagnostics.controllability import Reach, reach
from draisine.diagnostics.lie_brackets import Growth, growth
from draisine.diagnostics.singular_configurations import (
    FEW_PATHS,
    MOST_PATHS,
    Choice,
    Measures,
    SingularConfiguration,
    choice_of,
    freedoms_of_shape,
    singular_nearby,
)
from draisine.diagnostics.summary import sections_of
from draisine.diagnostics.symmetry import Symmetries, ignorable_states, symmetries
from draisine.dynamics.constraints.constraint_manifold import ConstraintManifold
from draisine.dynamics.dae.index_of import index_of, index_of_mechanism
from draisine.dynamics.dae.index_report import IndexReport
from draisine.dynamics.derive import derive
from draisine.dynamics.formulations import Augmented
from draisine.errors import DraisineError
from draisine.model.model import Model
from draisine.model.system import System
from draisine.numerics.rank import row_rank
from draisine.program.arguments import checked
from draisine.program.equations import Equations
from draisine.program.program import DaeResidual
from draisine.results.base import Result, figure
from draisine.stability.linearization import Motion, linearize, motion_at

Found = TypeVar("Found")


@dataclass(frozen=True)
class Diagnosis(Result):
    """The diagnosis of a model: `print` gives sentences, `as_data()` plain data.

    - `coordinates`, `velocities`: their numbers. `freedoms_of_position` and `freedoms_of_velocity`: degrees of freedom;
      `driven`: whether some constraint depends on time.
    - `constraints`: names of the velocity constraints, including the rates of position constraints; `rank`: number of
      independent ones, `rank_here` at the state itself; `redundant`: constraint → those it depends on, none if it is trivial.
    - `growth`: integrable or nonholonomic; `index`: of the differential-algebraic system.
    - `singular`: configurations nearby, along the freedoms `followed`; large mechanisms have more, `unfollowed`.
    - `choice`: conditioning of the independent velocities; `symmetries`; `reach`: controllability.
    - `notes`: parts that were not computed, and why. None where something does not apply.
    """

    model: str
    coordinates: int
    velocities: int
    freedoms_of_position: int
    freedoms_of_velocity: int
    driven: bool = False
    constraints: tuple[str, ...] = ()
    rank: int = 0
    rank_here: int = 0
    redundant: dict[str, tuple[str, ...]] = field(default_factory=dict)
    growth: Growth | None = None
    index: IndexReport | None = None
    singular: tuple[SingularConfiguration, ...] = ()
    followed: tuple[str, ...] = ()
    unfollowed: tuple[str, ...] = ()
    choice: Choice | None = None
    symmetries: Symmetries | None = None
    reach: Reach | None = None
    notes: tuple[str, ...] = ()

    @property
    def can_move(self) -> bool:
        """Whether the constraints permit or impose a motion. Systems without velocities always move."""
        return self.freedoms_of_velocity > 0 or self.driven or (self.coordinates > 0 and not self.velocities)

    @property
    def sections(self) -> dict[str, tuple[str, ...]]:
        """Heading → sentences."""
        return sections_of(self)

    def _table(self) -> Mapping[str, Any]:
        counts = {
            "coordinates": self.coordinates,
            "velocities": self.velocities,
            "constraints": len(self.constraints),
            "independent constraints": self.rank,
            "freedoms of position": self.freedoms_of_position,
            "freedoms of velocity": self.freedoms_of_velocity,
        }
        return {"what": list(counts), "count": list(counts.values())}

    def plot(self, **options: Any) -> Any:
        """Numbers of coordinates, constraints and freedoms, and the growth vector; see `draisine.view.plots.verification`."""
        counts = list(zip(*self._table().values(), strict=True))
        return figure("plots.verification.freedoms", counts, self.growth.dimensions if self.growth is not None else (), **options)

    def as_data(self) -> dict[str, Any]:
        """Plain numbers, texts, lists and dicts, for JSON; infinities become None."""
        data = {**asdict(self), "can_move": self.can_move, "sections": self.sections}
        if self.index is not None:
            data["index"] = self.index.as_data()
        if self.reach is not None:
            data["reach"] = {**data["reach"], "stabilizable": self.reach.stabilizable}
        return dict(_plain(data))

    def __str__(self) -> str:
        lines = [f"diagnosis of {self.model}"]
        for heading, sentences in self.sections.items():
            lines += [f"  {heading}", *(f"    {sentence}" for sentence in sentences)]
        return "\n".join(lines)


@checked
def diagnose(
    model: Model | System | Equations, at: Mapping[str, float] | None = None, *, parameters: Mapping[str, float] | None = None
) -> Diagnosis:
    """Diagnose the constraints of a mechanism: degrees of freedom, redundancy, integrability, index, singular configurations
    nearby, conditioning of the independent velocities, symmetries, and controllability.

    - `model`: a description, or equations typed by hand. For differential-algebraic and first-order systems only the applicable
      parts are computed.
    - `at`: targets for the state, as in `simulate`; ranks and brackets are also computed at generic states near it. For
      differential-algebraic systems, values of unknowns.
    - `parameters`: values by name; the others have their defaults.

    >>> import draisine as dr
    >>> cart = dr.diagnose(dr.gallery.cart_pole())
    >>> cart.reach.controllable, cart.reach.states
    (4, 4)
    >>> dr.diagnose(dr.gallery.tricycle()).redundant
    {'rear_right_y': ('rear_left_y',)}
    """
    if isinstance(model, Equations):
        if isinstance(model.dynamics, DaeResidual):
            return _of_implicit(model, at, parameters)
        if not model.velocities:
            return _of_first_order(model, at, parameters)
        equations = model
        whole = model if len(model.independent) == len(model.velocities) else None
    else:
        equations = derive(model, work=False)
        if not equations.velocities:
            return Diagnosis(equations.name, 0, 0, 0, 0, notes=("the model has no moving joint",))
        whole = derive(model, work=False, formulation=Augmented())
    motion = motion_at(equations, at, parameters)
    return _of_mechanism(ConstraintManifold(equations, whole, motion), motion)


class _Notes:
    """Collects parts that could not be computed, and why."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def attempt(self, what: str, look: Callable[[], Found]) -> Found | None:
        """A part of the diagnosis, or a note why it is missing."""
        try:
            return look()
        except DraisineError as problem:
            self.lines.append(f"{what} not computed: {problem}")
        except np.linalg.LinAlgError:
            self.lines.append(f"{what} not computed: masses and constraints do not determine the accelerations at the state")
        return None


def _of_mechanism(mechanism: ConstraintManifold, motion: Motion) -> Diagnosis:
    e, notes = mechanism.equations, _Notes()
    selection = mechanism.selection
    names = mechanism.row_names
    here = mechanism.sample_at(mechanism.configuration)
    found = notes.attempt("symmetries", lambda: symmetries(mechanism))
    ignorable = found.ignorable if found is not None else ()
    nearby = notes.attempt("singular configurations", lambda: _singular(mechanism, ignorable))
    followed, unfollowed, singular = nearby or ((), (), ())
    return Diagnosis(
        model=e.name,
        coordinates=len(e.coordinates),
        velocities=len(e.velocities),
        freedoms_of_position=mechanism.directions - mechanism.position_rank,
        freedoms_of_velocity=len(e.velocities) - len(selection.kept),
        driven=mechanism.rheonomic,
        constraints=names,
        rank=len(selection.kept),
        rank_here=row_rank(mechanism.kept_rows(here)) if here.finite else 0,
        redundant={names[s.row]: tuple(names[i] for i in s.repeats) for s in selection.redundant},
        growth=notes.attempt("integrability", lambda: growth(mechanism)),
        index=notes.attempt("index", lambda: index_of_mechanism(mechanism)),
        singular=singular,
        followed=followed,
        unfollowed=unfollowed,
        choice=choice_of(mechanism),
        symmetries=found,
        reach=notes.attempt("controllability", lambda: _reach(motion, ignorable)),
        notes=tuple(notes.lines),
    )


def _singular(
    mechanism: ConstraintManifold, ignorable: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[SingularConfiguration, ...]]:
    """Names of the followed and of the other freedoms, and the singular configurations along the former."""
    if not mechanism.row_names:
        return (), (), ()
    measures = Measures(mechanism)
    freedoms = freedoms_of_shape(mechanism, measures, ignorable)
    chosen = freedoms[: FEW_PATHS if mechanism.large else MOST_PATHS]
    left = tuple(f.name for f in freedoms[len(chosen) :])
    return tuple(f.name for f in chosen), left, tuple(singular_nearby(mechanism, measures, chosen))


def _of_first_order(e: Equations, at: Mapping[str, float] | None, parameters: Mapping[str, float] | None) -> Diagnosis:
    """ẋ = f(t, x, u, p): without constraints, unless the index was reduced and the constraints are invariants."""
    motion, notes = motion_at(e, at, parameters), _Notes()
    ignorable = notes.attempt("symmetries", lambda: ignorable_states(e, motion.x, motion.u, motion.p))
    count = len(e.coordinates)
    names = tuple(c.name for c in e.constraints)
    if names:
        return _of_lowered(e, motion, names)
    return Diagnosis(
        model=e.name,
        coordinates=count,
        velocities=0,
        freedoms_of_position=count,
        freedoms_of_velocity=count,
        index=index_of(e),
        symmetries=Symmetries(ignorable, ()) if ignorable is not None else None,
        reach=notes.attempt("controllability", lambda: _reach(motion, ignorable or ())),
        notes=("a first-order system ẋ = f has no constraints", *notes.lines),
    )


def _of_lowered(e: Equations, motion: Motion, names: tuple[str, ...]) -> Diagnosis:
    """ẋ = f with invariants that a start must satisfy."""
    notes, count = _Notes(), len(e.coordinates)
    jacobian = e.motion.jacobian("residuals", "q", shared=True)([0.0], motion.x[:count], [], motion.u, motion.p)[0]
    rank = row_rank(np.reshape(jacobian, (len(names), count)))
    notes.lines.append("its index was reduced: ẋ = f preserves the constraints, and a start must satisfy them")
    return Diagnosis(
        model=e.name,
        coordinates=count,
        velocities=0,
        freedoms_of_position=count - rank,
        freedoms_of_velocity=count - rank,
        constraints=names,
        rank=rank,
        rank_here=rank,
        reach=notes.attempt("controllability", lambda: _reach(motion, ())),
        notes=tuple(notes.lines),
    )


def _of_implicit(e: Equations, at: Mapping[str, float] | None, parameters: Mapping[str, float] | None) -> Diagnosis:
    """0 = F(t, x, ẋ): only its index is computed."""
    index = index_of(e, at, parameters=parameters)
    known = [c.name for c in e.constraints]
    freedoms = index.freedoms if index.freedoms is not None else len(e.coordinates) - len(known)
    notes = [
        "a differential-algebraic system: brackets, singular configurations, symmetries and controllability are computed for "
        "mechanisms and for ẋ = f, which reduce_index gives"
    ]
    if index.freedoms is None:
        notes.append("the number of free initial values is from counting equations: no index was found")
    return Diagnosis(
        model=e.name,
        coordinates=len(e.coordinates),
        velocities=0,
        freedoms_of_position=freedoms,
        freedoms_of_velocity=freedoms,
        constraints=tuple(dict.fromkeys(known)),
        rank=len(e.coordinates) - freedoms,
        rank_here=len(e.coordinates) - freedoms,
        index=index,
        notes=tuple(notes),
    )


def _reach(motion: Motion, ignorable: tuple[str, ...]) -> Reach | None:
    """Controllability; the motion is steady if the rates of all but ignorable coordinates vanish."""
    if not motion.equations.inputs:
        return None
    linear = linearize(motion)
    moving = [abs(rate) for name, rate in linear.rates.items() if name not in ignorable]
    return reach(linear, steady=max(moving, default=0.0) < 1e-6)


def _plain(data: Any) -> Any:
    """For JSON: complex numbers as {re, im}, tuples as lists, no infinities."""
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple | set | frozenset):
        return [_plain(value) for value in data]
    if isinstance(data, complex):
        return {"re": data.real, "im": data.imag}
    if isinstance(data, float | np.floating):
        return float(data) if math.isfinite(data) else None
    if isinstance(data, np.integer):
        return int(data)
    return data
