"""The design model: the linear model of a steady motion, its essential states, and stabilizability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, SolverError
from draisine.expr.expression import did_you_mean
from draisine.model.model import Model
from draisine.model.system import System
from draisine.numerics.rank import independent_rows
from draisine.program.equations import Equations
from draisine.results.controllability import HiddenMode, Structure
from draisine.results.linear import LinearModel
from draisine.stability.linearization import Motion, linearize, motion_at

Array = NDArray[np.float64]
Subject = Model | System | Equations | Motion | LinearModel


def linear_model(
    subject: Subject,
    at: Mapping[str, float] | None,
    parameters: Mapping[str, float] | None,
    inputs: Mapping[str, float] | None,
    states: Sequence[str],
    wanted: Sequence[str],
) -> LinearModel:
    """The full linear model of a motion, with the given `states`, or the `wanted` quantities as far as they are independent."""
    if isinstance(subject, LinearModel):
        if at or parameters or inputs or states:
            raise ArgumentError(f"{subject.model}: a linear model has its motion and states already; give at=… to linearize")
        _known(subject, wanted)
        return subject
    motion = subject if isinstance(subject, Motion) else motion_at(subject, at, parameters, inputs)
    linear = linearize(motion, states=states)
    _known(linear, wanted)
    if states or all(name in linear.states for name in wanted):
        return linear
    return linearize(motion, states=_independent(linear, wanted))


def _known(linear: LinearModel, wanted: Sequence[str]) -> None:
    known = (*linear.states, *linear.outputs)
    for name in wanted:
        if name not in known:
            raise ArgumentError(f"{linear.model} has no state or output of motion {name!r}{did_you_mean(name, known)}")


def _independent(linear: LinearModel, names: Sequence[str]) -> tuple[str, ...]:
    """Names that are independent as states, earlier ones preferred."""
    kept, _ = independent_rows(np.array([linear.row(name) for name in names]), np.zeros((0, len(linear.states))))
    return tuple(names[i] for i in kept)


def essential_part(linear: LinearModel, wanted: Sequence[str]) -> LinearModel:
    """The linear model without states on which no wanted quantity depends; the motion must be steady in the others."""
    kept = linear.with_outputs(*wanted).essential(tuple(wanted)).states if wanted else linear.essential().states
    part = linear.with_states(kept)
    refuse_unsteady(part, linear.essential().left_out)
    return part


def regulated_part(linear: LinearModel, keep: Sequence[str], controls: Sequence[str]) -> LinearModel:
    """The essential part; all states if the controls act only on states on which nothing depends: those of a free mass."""
    part = essential_part(linear, keep)
    controls_of(part, controls)
    if (
        keep
        or part.controllability(tuple(controls)).rank
        or any(h.unstable for h in part.controllability(tuple(controls)).hidden)
    ):
        return part
    refuse_unsteady(linear, linear.essential().left_out)
    return linear


def refuse_unsteady(part: LinearModel, idle: Mapping[str, str]) -> None:
    """Refuse a motion whose states drift, unless nothing depends on them: the linear model must be constant in time."""
    moving = part.changing
    bad = [name for name in moving if name not in idle]
    if not bad:
        bad = [n for n in moving if part.depends[:, part.states.index(n)].any()]
    if bad:
        rates = ", ".join(f"{name} changes at {moving[name]:.4g} per second" for name in bad[:4])
        raise ArgumentError(
            f"{part.model}: the reference motion is not steady: {rates}; find a steady one near it with "
            "dr.steady(model, {…}, free=[inputs that maintain it]) and use it for the design"
        )


def controls_of(part: LinearModel, controls: Sequence[str]) -> tuple[list[int], Array]:
    """Indices of the controls among the inputs, and their columns of B."""
    for name in controls:
        if name not in part.inputs:
            hint = did_you_mean(name, part.inputs) if part.inputs else "; it has no inputs"
            raise ArgumentError(f"{part.model} has no input {name!r}{hint}")
    if not controls:
        raise ArgumentError(f"{part.model}: name an input for the law to set; the model has {', '.join(part.inputs) or 'none'}")
    into = [part.inputs.index(name) for name in controls]
    return into, part.B[:, into]


def stabilizable(part: LinearModel, controls: Sequence[str]) -> Structure:
    """The controllability structure; refused if an uncontrollable mode is unstable. Neutral modes of constraints and symmetries
    are permitted."""
    controls_of(part, controls)
    structure = part.controllability(tuple(controls))
    for mode in structure.hidden:
        if mode.unstable:
            raise SolverError(_not_stabilizable(part, controls, mode), mode=mode)
    if structure.rank == 0:
        cure = _others(part, controls, None)
        raise ArgumentError(f"{part.model}: {', '.join(controls)} has no effect on {', '.join(part.states)} in this motion{cure}")
    return structure


def _not_stabilizable(part: LinearModel, controls: Sequence[str], mode: HiddenMode) -> str:
    size = "grows" if mode.eigenvalue.real > 0 else "is not damped"
    return f"{part.model}: the pair is not stabilizable: {mode} {size}, whatever {', '.join(controls)} does" + _others(
        part, controls, mode
    )


def _others(part: LinearModel, controls: Sequence[str], mode: HiddenMode | None) -> str:
    """A cure: an additional input, or another motion."""
    reaching = []
    for name in part.inputs:
        if name in controls:
            continue
        found = part.controllability((*controls, name))
        if (mode is None and found.rank) or (mode is not None and not any(h.unstable for h in found.hidden)):
            reaching.append(name)
    if reaching:
        return f"; with {' or '.join(repr(n) for n in reaching)} in addition it is stabilizable: add it to the controls"
    known = ", ".join(part.inputs)
    return f"; none of the inputs ({known}) controls it in this motion: change the motion, or add an input to the model"
