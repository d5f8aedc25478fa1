"""Linear regulators about a steady motion: LQR and pole placement.

>>> import draisine as dr
>>> bike = dr.gallery.bicycle()
>>> law = dr.lqr(bike, at={"speed": 2.0}, weights={"lean": 10.0, "steer": 1.0}, input_weights={"steer_torque": 0.1})
>>> law.states
('lean', 'steer', 'frame_wx', 'steer_rate')
>>> bool(law.closed.stable), bool(law.linear.stable)
(True, False)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.control.design.design_model import Subject, controls_of, essential_part, linear_model, regulated_part, stabilizable
from draisine.control.design.discretization import check_period, sampled_cost, zero_order_hold
from draisine.control.design.feedback import Feedback, Limits, feedback
from draisine.errors import ArgumentError, SolverError
from draisine.model.quantities import Amount
from draisine.numerics.rank import independent_columns, rank_of
from draisine.numerics.riccati import continuous_riccati, discrete_riccati
from draisine.numerics.scaling import unit_scales
from draisine.program.arguments import checked
from draisine.results.controllability import Structure, complex_text, observable
from draisine.results.linear import LinearModel, python_control

Array = NDArray[np.float64]


@checked
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
    """The linear-quadratic regulator, which minimizes ∫ Σ w (deviation)² + Σ r (input − its value in the motion)² dt.

    - `model`, `at`: a model and targets for its steady motion, a motion from `steady`, or a linear model.
    - `weights`: w by name of states or outputs; `input_weights`: r by name of the inputs that the law sets.
    - `states`: names of the states of the design model; by default those with weights.
    - `parameters`, `inputs`: values by name, as in `simulate`; the others have their defaults.
    - `reference`: values of states that move, as expressions of t; `limits`: largest magnitudes of inputs, or pairs.
    - `period`: sampling period of a sampled law, which minimizes the same integral with zero-order hold;
      `simulate(…, control=law.sampled())` uses it.

    States on which no weighted quantity depends (position, heading, angles of wheels) are left out. Uncontrollable neutral
    combinations, due to constraints or symmetries, are permitted, and the law accounts for them. An unstable uncontrollable mode
    is refused.

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
    _positive(linear, "input weight", input_weights)
    if not weights:
        raise ArgumentError(f"{linear.model}: no quantity has a weight; give weights={{name: w}} for states or outputs")
    if period is not None:
        check_period(linear.model, period)
    part = essential_part(linear, tuple(weights))
    structure = stabilizable(part, tuple(input_weights))
    return feedback(
        part,
        tuple(input_weights),
        _quadratic(part, weights, input_weights, structure, period),
        structure,
        reference,
        limits,
        period,
    )


@checked
def pole_placement(
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
    """The law that gives the closed loop these poles, one for each controllable direction.

    - `model`, `at`, `states`, `parameters`, `inputs`, `reference`, `limits`: as in `lqr`.
    - `poles`: eigenvalues of the closed loop in 1/s; `controls`: names of the inputs that the law sets.
    - `keep`: states or outputs to regulate although nothing else depends on them, such as the heading; all states if the controls
      act on such states only.
    """
    linear = linear_model(model, at, parameters, inputs, states, tuple(keep))
    part = regulated_part(linear, tuple(keep), controls)
    _, b = controls_of(part, controls)
    structure = stabilizable(part, controls)
    wanted = _poles(part, poles, structure)
    basis = structure.basis
    inner, into = basis.T @ part.A @ basis, basis.T @ b
    control = python_control("place")
    if len(controls) > 1:
        _refuse_collinear(part, into, controls)
        _refuse_repeated(part, into, wanted, controls)
    place = control.acker if len(controls) == 1 else control.place
    gain = _scaled_placement(place, inner, into, wanted, part.exact and structure.complete)
    return feedback(part, tuple(controls), np.asarray(gain) @ basis.T, structure, reference, limits)


def _quadratic(
    part: LinearModel,
    weights: Mapping[str, float],
    input_weights: Mapping[str, float],
    structure: Structure,
    period: float | None,
) -> Array:
    """K from a Riccati equation on the controllable part, and from a linear equation for the rest."""
    into, b = controls_of(part, tuple(input_weights))
    rows = np.array([part.row(name) for name in weights])
    through = np.array([np.zeros(len(into)) if n in part.states else part.D[part.outputs.index(n)][into] for n in weights])
    w = np.diag(list(weights.values()))
    q, n, r = rows.T @ w @ rows, rows.T @ w @ through, np.diag(list(input_weights.values())) + through.T @ w @ through
    reached = structure.basis
    rest = np.linalg.svd(reached, full_matrices=True)[0][:, structure.rank :]
    inner, cost = reached.T @ part.A @ reached, reached.T @ q @ reached
    _refuse_unweighted(part, inner, cost, reached, weights, part.exact and structure.complete)
    quadratic = Quadratic(part.A, b, (q + q.T) / 2, n, (r + r.T) / 2)
    try:
        gain, other = (
            quadratic.gains(reached, rest) if period is None else quadratic.zero_order_hold(period).sampled_gains(reached, rest)
        )
    except np.linalg.LinAlgError as problem:
        often = "" if period is None else f"sampled every {period:g} s, "
        raise SolverError(
            f"{part.model}: the Riccati equation has no solution in double precision ({problem}): {often}some mode is nearly "
            "uncontrollable or nearly unweighted; bring state and input weights closer together, or leave slow states out"
            + ("" if period is None else ", or take another period")
        ) from problem
    return np.asarray(gain @ reached.T + other @ rest.T)


def _refuse_unweighted(
    part: LinearModel, inner: Array, cost: Array, reached: Array, weights: Mapping[str, float], exact: bool
) -> None:
    """Refuse a mode on the imaginary axis without a weight: the regulator would not act on it."""
    names = tuple(f"direction {k}" for k in range(len(inner)))
    for mode in observable(part.model, names, tuple(weights), inner, cost, exact).hidden:
        if abs(mode.eigenvalue.real) > 1e-9 * float(np.abs(np.linalg.eigvals(inner)).max(initial=0.0)):
            continue
        along = reached @ np.array([mode.combination.get(name, 0.0) for name in names])
        most = part.states[int(np.argmax(np.round(np.abs(along) / np.abs(along).max(), 9)))]
        raise ArgumentError(
            f"{part.model}: no weight depends on a deviation along {most!r} (eigenvalue {complex_text(mode.eigenvalue)}), "
            f"which would not decay; give weights={{…, {most!r}: w}}"
        )


def _positive(linear: LinearModel, what: str, values: Mapping[str, float]) -> None:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not (np.isfinite(value) and value > 0):
            shown = f"{value:g}" if isinstance(value, int | float | np.number) else repr(value)
            cure = "leave it out for no weight" if what == "weight" else "a small one makes the input cheap"
            raise ArgumentError(f"{linear.model}: the {what} of {name!r} is {shown}; it must be a positive number ({cure})")


def _poles(part: LinearModel, poles: Sequence[complex], structure: Structure) -> list[complex]:
    wanted = [complex(z) for z in poles]
    for z in wanted:
        if not np.isfinite(z):
            raise ArgumentError(f"{part.model}: the pole {z} is not finite; poles are numbers in 1/s")
    if len(wanted) != structure.rank:
        raise ArgumentError(
            f"{part.model}: {len(wanted)} poles are given for {structure.rank} directions of {', '.join(part.states)} that "
            f"{', '.join(structure.names)} controls; give {structure.rank}"
        )
    waiting = [z for z in wanted if z.imag != 0]
    for z in waiting:
        if waiting.count(z) != waiting.count(z.conjugate()):
            raise ArgumentError(f"{part.model}: the pole {complex_text(z)} has no conjugate; give both")
    return wanted


def _scaled_placement(place: Any, inner: Array, into: Array, wanted: list[complex], exact: bool) -> Array:
    """The gain with these poles; where no entry is rounding error, in scaled states, inputs and time, because the test of
    reachability and, with several inputs, the choice among gains depend on units."""
    if not exact:
        return np.atleast_2d(place(inner, into, wanted))
    scale, unit = unit_scales(inner, into)
    speed = float(np.abs(inner * scale / scale[:, None]).max(initial=0.0)) or max(map(abs, wanted)) or 1.0
    gain = place(inner * scale / scale[:, None] / speed, into * unit / scale[:, None] / speed, [pole / speed for pole in wanted])
    return np.atleast_2d(gain) * unit[:, None] / scale


def _refuse_repeated(part: LinearModel, into: Array, wanted: list[complex], controls: Sequence[str]) -> None:
    """Refuse poles that are repeated more often than there are independent controls."""
    most, rank = max(wanted.count(z) for z in wanted), rank_of(into / np.maximum(np.linalg.norm(into, axis=0), 1e-300))
    if most > rank:
        raise ArgumentError(
            f"{part.model}: a pole is given {most} times, but {rank} controls can place it only {rank} times; separate them"
        )


def _refuse_collinear(part: LinearModel, into: Array, controls: Sequence[str]) -> None:
    """Refuse controls of which one does nothing that the others do not."""
    kept = independent_columns(into / np.maximum(np.linalg.norm(into, axis=0), 1e-300))
    shares, *_ = np.linalg.lstsq(into[:, kept], into, rcond=None)
    for j, name in enumerate(controls):
        if j in kept:
            continue
        others = [controls[k] for k, share in zip(kept, shares[:, j], strict=True) if abs(share) > 1e-9]
        does = f"acts like {' and '.join(others)}" if others else "has no effect on these states"
        raise ArgumentError(
            f"{part.model}: the control {name!r} {does}, so that their gains are not determined; give only one of them"
        )


# ---------------------------------------------------------------- Riccati equations


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The cost zᵀQ z + 2 zᵀN u + uᵀR u, integrated along ż = A z + B u, or summed along z⁺ = A z + B u.

    In z = T (z_c, z_u), T = [reached, rest], A has the blocks A_c, A_12, 0, A_u, and inputs enter z_c only. The first block of
    the Riccati equation is one for z_c with the gain K_c, the second is linear in P_12. Both hold whether or not the rest decays.
    """

    A: Array
    B: Array
    Q: Array
    N: Array
    R: Array

    def zero_order_hold(self, period: float) -> Quadratic:
        """The equivalent discrete problem with zero-order hold and the same cost."""
        return Quadratic(*zero_order_hold(self.A, self.B, period), *sampled_cost(self.A, self.B, self.Q, self.N, self.R, period))

    def gains(self, reached: Array, rest: Array) -> tuple[Array, Array]:
        """K_c and K_u in continuous time: (A_c − B_c K_c)ᵀ P_12 + P_12 A_u + P_11 A_12 + Q_12 − K_cᵀ N_uᵀ = 0."""
        from scipy.linalg import solve_sylvester

        a, b, q, n = self._inner(reached)
        gain, p = continuous_riccati(a, b, q, self.R, n)
        if not rest.shape[1]:
            return gain, np.zeros((len(gain), 0))
        side = p @ (reached.T @ self.A @ rest) + reached.T @ self.Q @ rest - gain.T @ (rest.T @ self.N).T
        beyond = solve_sylvester((a - b @ gain).T, rest.T @ self.A @ rest, -side)
        return gain, np.linalg.solve(self.R, b.T @ beyond + (rest.T @ self.N).T)

    def sampled_gains(self, reached: Array, rest: Array) -> tuple[Array, Array]:
        """K_c and K_u in discrete time: P_12 = (A_c − B_c K_c)ᵀ (P_11 A_12 + P_12 A_u) + Q_12 − K_cᵀ N_uᵀ."""
        a, b, q, n = self._inner(reached)
        gain, p = discrete_riccati(a, b, q, self.R, n)
        if not rest.shape[1]:
            return gain, np.zeros((len(gain), 0))
        left, onward, across = (a - b @ gain).T, rest.T @ self.A @ rest, reached.T @ self.A @ rest
        side = left @ p @ across + reached.T @ self.Q @ rest - gain.T @ (rest.T @ self.N).T
        matrix = np.eye(side.size) - np.kron(left, onward.T)  # of P_12 read row by row
        beyond = np.linalg.solve(matrix, side.ravel()).reshape(side.shape)
        outer = np.linalg.solve(self.R + b.T @ p @ b, b.T @ (p @ across + beyond @ onward) + (rest.T @ self.N).T)
        return gain, np.asarray(outer, dtype=float)

    def _inner(self, reached: Array) -> tuple[Array, Array, Array, Array]:
        """A_c, B_c, Q_11 and N_c."""
        q = reached.T @ self.Q @ reached
        return reached.T @ self.A @ reached, reached.T @ self.B, (q + q.T) / 2, reached.T @ self.N
