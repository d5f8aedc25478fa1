"""Propagation of parameter uncertainties to eigenvalues and critical speeds of a two-wheeler.

Linear propagation: σ(λ)² = Σ (∂λ/∂p · σ(p))², for real and imaginary part, with exact derivatives ∂λ/∂p = −(∂P/∂p)/(∂P/∂λ) of
the characteristic polynomial P; those of a critical speed follow from its defining condition. Parameter errors are assumed to be
independent. With `samples` a Monte Carlo study with normal distributions checks the linear propagation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.bicycle.characteristic_polynomial import Pencil, TwoWheeler
from draisine.errors import ArgumentError
from draisine.expr.expression import did_you_mean
from draisine.model.model import Model
from draisine.model.system import System
from draisine.numerics.newton_batch import BatchNewton, Indices, square_steps
from draisine.program.arguments import refuse_unilateral
from draisine.program.equations import Equations
from draisine.results.base import Result, figure
from draisine.stability.critical import Critical
from draisine.stability.linearization import equations_of
from draisine.stability.modes import Modes, modes

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_NEWTON = BatchNewton(step_tolerance=1e-11)  # for the critical speeds of samples
_STATIC = 1e-7  # |λ| in 1/s below which a critical mode is static


@dataclass(frozen=True)
class UncertainCritical:
    """A critical speed, its standard deviation, and the contribution of each parameter (∂value/∂p · σ)."""

    kind: str
    value: float
    deviation: float
    shares: Mapping[str, float] = field(repr=False)
    sampled: float | None = None  # standard deviation among samples
    lost: int = 0  # samples without this critical speed nearby

    def __str__(self) -> str:
        most = sorted(self.shares.items(), key=lambda item: -abs(item[1]))[:3]
        because = ", ".join(f"{name} {share:+.2g}" for name, share in most if share)
        again = f" (sampled ±{self.sampled:.4f})" if self.sampled is not None else ""
        return f"{self.kind}: {self.value:.4f} ± {self.deviation:.4f} m/s{again}" + (
            f"; mostly from {because}" if because else ""
        )


@dataclass(frozen=True, eq=False)
class UncertainModes(Result):
    """Modes with standard deviations; the real part of `deviations` is that of the real parts, and likewise for the imaginary.

    At a double root the derivative of an eigenvalue is infinite; near it linear propagation overestimates.
    """

    modes: Modes
    deviations: Complex  # (speeds, modes)
    critical: tuple[UncertainCritical, ...]
    sampled: Complex | None = None  # standard deviations among samples
    runs: int = 0  # Monte Carlo runs

    @property
    def speeds(self) -> Array:
        return self.modes.values

    @property
    def eigenvalues(self) -> Complex:
        return self.modes.eigenvalues

    @property
    def names(self) -> tuple[str, ...]:
        return self.modes.names

    def __str__(self) -> str:
        shown = np.unique(np.linspace(0, len(self.speeds) - 1, min(len(self.speeds), 11)).round().astype(int))
        rows = [["speed", *(name for name in self.names if not name.endswith("*"))]]  # of a pair one
        for i in shown:
            cells = [
                f"{_with_deviation(z.real, d.real)}{_with_deviation(z.imag, d.imag) + 'i' if z.imag else ''}"
                for name, z, d in zip(self.names, self.eigenvalues[i], self.deviations[i], strict=True)
                if not name.endswith("*")
            ]
            rows.append([f"{self.speeds[i]:.3g}", *cells])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([*lines, *map(str, self.critical), "parameter errors are assumed to be independent"])

    @property
    def units(self) -> dict[str, str]:
        """Units by column of the table."""
        named = [column for name in self.names for column in (name, f"{name}.deviation")]
        return {"speed": "m/s", **dict.fromkeys(named, "1/s")}

    def plot(self, **options: Any) -> Any:
        """Plot eigenvalues against speed with bands of one standard deviation."""
        marks = [(c.kind, c.value, c.deviation) for c in self.critical]
        bands = "plots.eigenvalues.eigenvalue_bands"
        return figure(bands, self.speeds, self.eigenvalues, self.deviations, self.names, marks, **options)

    def _table(self) -> Mapping[str, Any]:
        columns: dict[str, Any] = {"speed": self.speeds}
        for name, value, deviation in zip(self.names, self.eigenvalues.T, self.deviations.T, strict=True):
            columns |= {name: value, f"{name}.deviation": deviation}
        return columns

    def as_data(self) -> dict[str, Any]:
        """Plain numbers and texts, for JSON."""
        rows = [
            {"speed": float(v), **{n: [z.real, z.imag, d.real, d.imag] for n, z, d in zip(self.names, row, apart, strict=True)}}
            for v, row, apart in zip(self.speeds, self.eigenvalues.tolist(), self.deviations.tolist(), strict=True)
        ]
        critical = [{"kind": c.kind, "speed": c.value, "deviation": c.deviation, "shares": dict(c.shares)} for c in self.critical]
        return {"modes": rows, "critical": critical}


def _with_deviation(value: float, deviation: float) -> str:
    return f"{value:+.3f}±{deviation:.2g}"


def uncertainty(
    model: Model | System | Equations,
    deviations: Mapping[str, float],
    speeds: ArrayLike,
    *,
    parameters: Mapping[str, float] | None = None,
    runs: int = 0,
    seed: int = 2007,
) -> UncertainModes:
    """Modes and critical speeds of a two-wheeler whose parameters have the given standard deviations, independent of each other.

    - `runs`: number of Monte Carlo runs that check the linear propagation;
    - `seed`: of the random numbers.

    >>> import numpy as np, draisine as dr
    >>> found = dr.bicycle.uncertainty(dr.gallery.bicycle(), {"trail": 0.002}, np.linspace(0, 10, 41))
    >>> [str(c).partition(";")[0] for c in found.critical][1:]
    ['weave: 4.2924 ± 0.0230 m/s', 'capsize: 6.0243 ± 0.0578 m/s']
    """
    refuse_unilateral("uncertainty", model)
    equations = equations_of(model)
    known = [q.name for q in equations.parameters]
    for name, value in deviations.items():
        if name not in known:
            raise ArgumentError(f"{equations.name} has no parameter {name!r}{did_you_mean(name, known)}")
        if not (np.isfinite(value) and value >= 0):
            raise ArgumentError(f"the standard deviation of {name!r} is {value}; give a nonnegative number")
    if runs and runs < 10:
        raise ArgumentError(f"runs={runs} are too few for a standard deviation; give at least 10, or 0 for none")
    nominal = modes(equations, {"speed": speeds}, parameters=parameters, states=("lean", "steer"))
    sigma = np.array([deviations.get(name, 0.0) for name in known])
    p = np.array([(parameters or {}).get(q.name, q.default) for q in equations.parameters])
    two = TwoWheeler(equations)
    pencil, jacobians = two.pencil(p), two.jacobians(p)
    by_p = _root_jacobians(pencil, jacobians, nominal.eigenvalues, nominal.values)
    spread = np.sqrt(((by_p.real * sigma) ** 2).sum(axis=-1)) + 1j * np.sqrt(((by_p.imag * sigma) ** 2).sum(axis=-1))
    critical = tuple(_critical(c, pencil, jacobians, known, sigma) for c in nominal.critical())
    if not runs:
        return UncertainModes(nominal, spread, critical)
    drawn = two.pencil(np.random.default_rng(seed).normal(p, sigma, (runs, len(p))))
    critical = tuple(_with_samples(c, k.eigenvalue, drawn) for c, k in zip(critical, nominal.critical(), strict=True))
    return UncertainModes(nominal, spread, critical, _sampled(drawn, nominal.values, nominal.eigenvalues), runs)


def _root_jacobians(pencil: Pencil, jacobians: Pencil, roots: Complex, speeds: Array) -> Complex:
    """∂λ/∂p (speeds, modes, parameters)."""
    v = speeds[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(-pencil.by_parameters(jacobians, roots, v) / pencil.at(roots, v).by_root[..., None])


def _critical(critical: Critical, pencil: Pencil, jacobians: Pencil, names: list[str], sigma: Array) -> UncertainCritical:
    root, speed = np.asarray(critical.eigenvalue), critical.value
    at, by_p = pencil.at(root, speed), pencil.by_parameters(jacobians, root, speed)
    if critical.eigenvalue.imag or abs(critical.eigenvalue) < _STATIC:  # condition Re λ = 0
        gradient = -(by_p / at.by_root).real / (at.by_speed / at.by_root).real
    else:  # condition P = ∂P/∂λ = 0
        gradient = -(by_p / at.by_speed).real
    shares = dict(zip(names, (gradient * sigma).tolist(), strict=True))
    return UncertainCritical(critical.kind, speed, float(np.linalg.norm(gradient * sigma)), shares)


# ---------------------------------------------------------------- samples


def _sampled(drawn: Pencil, speeds: Array, nominal: Complex) -> Complex:
    """Standard deviations over samples, with the eigenvalues of each sample matched to the nominal ones."""
    spread = np.empty(nominal.shape, dtype=complex)
    orders = np.array(list(permutations(range(4))))
    for i, speed in enumerate(speeds):
        roots: Complex = np.linalg.eigvals(drawn.companion(np.full(len(drawn.mass), speed))).astype(complex)
        distance = np.abs(roots[:, orders] - nominal[i]).sum(axis=-1)
        roots = np.take_along_axis(roots, orders[np.argmin(distance, axis=1)], axis=1)
        spread[i] = roots.real.std(axis=0, ddof=1) + 1j * roots.imag.std(axis=0, ddof=1)
    return spread


def _with_samples(found: UncertainCritical, root: complex, drawn: Pencil) -> UncertainCritical:
    """The critical speeds of all samples, by Newton's method from the nominal one."""
    count = len(drawn.mass)
    oscillates, static = bool(root.imag), abs(root) < _STATIC

    def evaluate(y: Array, indices: Indices) -> tuple[Array, Array]:
        """In (ω, v), v or (λ, v)."""
        v = y[:, -1]
        if oscillates:  # P(iω, v) = 0, two real equations
            at = drawn.at(1j * y[:, 0], v)
            parts = (at.value, 1j * at.by_root, at.by_speed)
            f, by_root, by_speed = (np.stack([part.real, part.imag], axis=1) for part in parts)
        elif static:  # P(0, v) = 0
            at = drawn.at(np.zeros(count), v)
            return at.value.real[indices, None], at.by_speed.real[indices, None, None]
        else:  # P = ∂P/∂λ = 0
            at = drawn.at(y[:, 0], v)
            pairs = (at.value, at.by_root), (at.by_root, at.by_root_twice), (at.by_speed, at.by_both)
            f, by_root, by_speed = (np.stack(pair, axis=1).real for pair in pairs)
        return f[indices], np.stack([by_root, by_speed], axis=2)[indices]

    start = np.tile([found.value] if static else [root.imag if oscillates else root.real, found.value], (count, 1))
    sampled = _NEWTON.solve(evaluate, start, square_steps)
    v = sampled.x[:, -1]
    good = sampled.converged & (np.abs(v - found.value) < 0.5 * max(found.value, 1.0))
    spread = float(v[good].std(ddof=1)) if good.sum() > 1 else float("nan")
    return UncertainCritical(found.kind, found.value, found.deviation, found.shares, spread, int(count - good.sum()))
