"""Linear regulators about a steady motion: by quadratic cost, and by poles.

>>> import draisine as dr
>>> law = dr.lqr(dr.gallery.bicycle(), at={"speed": 2.0}, weights={"lean": 10.0, "steer": 1.0}, input_weights={"steer_torque": 0.1})
>>> law.states
('lean', 'steer', 'frame_wx', 'steer_rate')
>>> bool(law.closed.stable), bool(law.linear.stable)
(True, False)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from draisine.control.design.design_model import Subject, controls_of, essential_part, linear_model, stabilisable
from draisine.control.design.discretization import check_period
from draisine.control.design.feedback import Feedback, Limits, feedback
from draisine.control.design.regulator import Quadratic
from draisine.errors import ArgumentError, SolverError
from draisine.model.quantities import Amount
from draisine.numerics.rank import rank_of
from draisine.results.controllability import Structure, complex_text, observable
from draisine.results.linear import LinearModel, python_control

Array = NDArray[np.float64]


def lqr(
    model: Subject,
    at: Mapping[str, float] | None = None,
    *,
    weights: Mapping[str, float],
    input_weights: Mapping[str, float],
    states: Sequence[str] = (),
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
    reference: Mapping[str, Amount] | None = None,
    limits: Limits | None = None,
    period: float | None = None,
) -> Feedback:
    """The law that makes ∫ Σ w (deviation)² + Σ r (input − its value in the motion)² dt least.

    - `model`, `at`: a model and wishes for its steady motion, a motion that `steady` found, or a linear model.
    - `weights`: w by name of states or outputs; `input_weights`: r by name of the inputs that the law sets.
    - `states`: names by which deviations are told; by default those with weights.
    - `reference`: values of states that move, as expressions of t; `limits`: greatest amounts of inputs, or pairs.
    - `period`: for a computer that is asked every so many seconds and holds its answer: least the same integral among all such
      laws. `simulate(…, control=law.sampled())` runs it.

    States on which nothing with a weight depends (place, heading, angles of wheels) take no part. Combinations that no input
    changes, kept by constraints or symmetries, are left as they are, and the law allows for them. Something that grows and is
    not reached is refused by name.

    >>> import numpy as np
    >>> from draisine.results.linear import LinearModel
    >>> cart = LinearModel("cart", ("x", "v"), ("force",), (), np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]]),
    ...                    np.zeros((0, 2)), np.zeros((0, 1)))
    >>> lqr(cart, weights={"x": 1.0}, input_weights={"force": 1.0}).K.round(9).tolist()  # 1, √2
    [[1.0, 1.414213562]]
    >>> lqr(cart, weights={"x": 1.0}, input_weights={"force": 1.0}, period=0.5).K.round(4).tolist()
    [[0.7033, 1.186]]
    """
    linear = linear_model(model, at, parameters, inputs, states, tuple(weights))
    _positive(linear, "weight", weights)
    _positive(linear, "input_weights", input_weights)
    if not weights:
        raise ArgumentError(f"{linear.model}: nothing has a weight; give weights={{name: w}} for states or outputs to be held")
    if period is not None:
        check_period(linear.model, period)
    part = essential_part(linear, tuple(weights))
    structure = stabilisable(part, tuple(input_weights))
    return feedback(
        part,
        tuple(input_weights),
        _quadratic(part, weights, input_weights, structure, period),
        structure,
        reference,
        limits,
        period,
    )


def place(
    model: Subject,
    at: Mapping[str, float] | None = None,
    *,
    poles: Sequence[complex],
    controls: Sequence[str],
    keep: Sequence[str] = (),
    states: Sequence[str] = (),
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
    reference: Mapping[str, Amount] | None = None,
    limits: Limits | None = None,
) -> Feedback:
    """The law that gives the closed loop these poles, one for each direction that the controls reach.

    `keep` names states or outputs that shall be held though nothing else depends on them, such as the heading.
    """
    linear = linear_model(model, at, parameters, inputs, states, tuple(keep))
    part = essential_part(linear, tuple(keep))
    _, b = controls_of(part, controls)
    structure = stabilisable(part, controls)
    wanted = _poles(part, poles, structure)
    basis = structure.basis
    inner, into = basis.T @ part.A @ basis, basis.T @ b
    control = python_control("place")
    if len(controls) == 1:
        gain = np.atleast_2d(control.acker(inner, into, wanted))
    else:
        gain = _several(control, part, inner, into, wanted)
    return feedback(part, tuple(controls), np.asarray(gain) @ basis.T, structure, reference, limits)


def _quadratic(
    part: LinearModel,
    weights: Mapping[str, float],
    input_weights: Mapping[str, float],
    structure: Structure,
    period: float | None,
) -> Array:
    """K of the Riccati equation on what is reached, and of a linear equation for what is not."""
    into, b = controls_of(part, tuple(input_weights))
    rows = np.array([part.row(name) for name in weights])
    through = np.array([np.zeros(len(into)) if n in part.states else part.D[part.outputs.index(n)][into] for n in weights])
    w = np.diag(list(weights.values()))
    q, n, r = rows.T @ w @ rows, rows.T @ w @ through, np.diag(list(input_weights.values())) + through.T @ w @ through
    reached = structure.basis
    rest = np.linalg.svd(reached, full_matrices=True)[0][:, structure.rank :]
    inner, cost = reached.T @ part.A @ reached, reached.T @ q @ reached
    _refuse_unweighted(part, inner, cost, reached, weights)
    asked = Quadratic(part.A, b, (q + q.T) / 2, n, r)
    try:
        gain, other = asked.gains(reached, rest) if period is None else asked.held(period).sampled_gains(reached, rest)
    except np.linalg.LinAlgError as problem:
        often = "" if period is None else f"asked every {period:g} s, "
        raise SolverError(
            f"{part.model}: the Riccati equation has no solution in double precision ({problem}): {often}some mode is hardly "
            "reached or hardly weighed; bring weights and efforts nearer to each other, leave slow states out"
            + ("" if period is None else ", or take another period")
        ) from problem
    return np.asarray(gain @ reached.T + other @ rest.T)


def _refuse_unweighted(part: LinearModel, inner: Array, cost: Array, reached: Array, weights: Mapping[str, float]) -> None:
    """Something that does not die away by itself must cost something, or nothing is done about it."""
    names = tuple(f"direction {k}" for k in range(len(inner)))
    for mode in observable(part.model, names, tuple(weights), inner, cost).hidden:
        if abs(mode.eigenvalue.real) > 1e-9 * max(1.0, float(np.abs(inner).max())):
            continue
        along = reached @ np.array([mode.combination.get(name, 0.0) for name in names])
        most = part.states[int(np.argmax(np.round(np.abs(along) / np.abs(along).max(), 9)))]
        raise ArgumentError(
            f"{part.model}: no weight feels a deviation along {most!r} (eigenvalue {complex_text(mode.eigenvalue)}), which would "
            f"stay for ever; give weights={{…, {most!r}: w}}"
        )


def _positive(linear: LinearModel, what: str, values: Mapping[str, float]) -> None:
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0):
            cure = "leave it out to let it free" if what == "weight" else "a small one makes the input cheap"
            raise ArgumentError(f"{linear.model}: the {what} of {name!r} is {value:g}; it must be a positive number ({cure})")


def _poles(part: LinearModel, poles: Sequence[complex], structure: Structure) -> list[complex]:
    wanted = [complex(z) for z in poles]
    if len(wanted) != structure.rank:
        raise ArgumentError(
            f"{part.model}: {len(wanted)} poles are given for {structure.rank} directions that {', '.join(structure.names)} "
            f"reaches among {', '.join(part.states)}; give {structure.rank}"
        )
    waiting = [z for z in wanted if z.imag != 0]
    for z in waiting:
        if waiting.count(z) != waiting.count(z.conjugate()):
            raise ArgumentError(f"{part.model}: the pole {complex_text(z)} comes without its conjugate; give both")
    return wanted


def _several(control: object, part: LinearModel, inner: Array, into: Array, wanted: list[complex]) -> Array:
    most, rank = max(wanted.count(z) for z in wanted), rank_of(into)
    if most > rank:
        raise ArgumentError(
            f"{part.model}: a pole is asked for {most} times, and {rank} controls can give it {rank} times; part them"
        )
    return np.asarray(control.place(inner, into, wanted))  # type: ignore[attr-defined]
