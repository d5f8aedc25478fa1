"""Practical identifiability: singular values of the square root of the Fisher information, scaled by the sizes of the unknowns.

With R the square root of the information and D the sizes of the unknowns, R D = U S Vᵀ. A column v of V is a combination of
relative changes, which the data determine with standard deviation 1/s. Above one, the combination is unidentifiable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.results.base import Result

Reals = NDArray[np.float64]

VAGUE = 1.0  # relative standard deviation above which a combination is unidentifiable
WELL = 0.1  # and up to which an unknown is well identified
NONE = 1e-9  # relative effect that counts as zero
LOST = 1e-11  # relative to the largest singular value: below, there is only rounding
SHOWN = 0.1  # smallest share of a combination that is printed


@dataclass(frozen=True)
class Combination:
    """A combination of relative changes, `shares` by name, with its relative standard `deviation`."""

    shares: dict[str, float]
    deviation: float

    def __str__(self) -> str:
        largest = max(self.shares.values(), key=abs)
        parts = sorted(self.shares.items(), key=lambda item: -abs(item[1]))
        reported = ", ".join(f"{name} {100 * share / largest:+.3g} %" for name, share in parts if abs(share / largest) >= SHOWN)
        return (
            f"{reported}: to within a factor of {self.deviation:.2g}"
            if np.isfinite(self.deviation)
            else f"{reported}: not at all"
        )


@dataclass(frozen=True, eq=False)
class Identifiability(Result):
    """Identifiability of unknowns from data, at given values of the unknowns.

    - `deviations`: relative standard deviation of every unknown, whatever the others are; infinite where it is not identifiable.
    - `alone`: the same if all others were known.
    - `unidentifiable`: combinations that the data do not determine.
    """

    names: tuple[str, ...]
    root: Reals
    sizes: Reals

    @cached_property
    def _scaled(self) -> tuple[Reals, Reals]:
        """Singular values, and combinations as rows."""
        matrix = self.root * self.sizes
        _, values, axes = np.linalg.svd(matrix, full_matrices=True)
        padded = np.zeros(len(self.names))
        padded[: len(values)] = values
        return padded, axes

    @cached_property
    def without_effect(self) -> tuple[str, ...]:
        """Unknowns without effect on the measurements."""
        effect = np.linalg.norm(self.root * self.sizes, axis=0)
        return tuple(
            n for n, e in zip(self.names, effect, strict=True) if not e > NONE * max(float(effect.max(initial=0.0)), 1e-300)
        )

    @cached_property
    def alone(self) -> dict[str, float]:
        effect = np.linalg.norm(self.root * self.sizes, axis=0)
        return {n: 1.0 / float(e) if e > 0.0 else np.inf for n, e in zip(self.names, effect, strict=True)}

    @cached_property
    def deviations(self) -> dict[str, float]:
        found = np.sqrt(np.diag(self.covariance)) / self.sizes
        return dict(zip(self.names, found.tolist(), strict=True))

    @cached_property
    def covariance(self) -> Reals:
        """Covariance of the unknowns; infinite on the diagonal for unknowns in a combination that has no effect."""
        values, axes = self._scaled
        reported = values > LOST * max(float(values.max(initial=0.0)), 1e-300)
        inverse = (axes[reported].T / values[reported] ** 2) @ axes[reported]
        lost = (np.abs(axes[~reported]) > 1e-6).any(axis=0) if (~reported).any() else np.zeros(len(self.names), dtype=bool)
        covariance = inverse * np.outer(self.sizes, self.sizes)
        covariance[lost, lost] = np.inf
        return np.asarray(covariance)

    @cached_property
    def combinations(self) -> tuple[Combination, ...]:
        """All combinations, the least identifiable first."""
        values, axes = self._scaled
        found = []
        for value, axis in sorted(zip(values, axes, strict=True), key=lambda pair: pair[0]):
            shares = dict(zip(self.names, axis.tolist(), strict=True))
            found.append(Combination(shares, 1.0 / float(value) if value > LOST * float(values.max()) else np.inf))
        return tuple(found)

    @property
    def unidentifiable(self) -> tuple[Combination, ...]:
        return tuple(c for c in self.combinations if c.deviation > VAGUE)

    @property
    def well_identified(self) -> tuple[str, ...]:
        """Unknowns with a relative standard deviation of at most 10 %, with the others unknown."""
        return tuple(n for n, d in self.deviations.items() if d <= WELL)

    def _table(self) -> Mapping[str, Any]:
        reported = {"deviation": list(self.deviations.values()), "alone": list(self.alone.values())}
        return {"unknown": list(self.names), **reported}

    def __str__(self) -> str:
        width = max(len(n) for n in self.names)
        lines = ["identifiability (relative standard deviations)", f"  {'':<{width}}  with the others unknown   alone"]
        for name in sorted(self.names, key=lambda n: self.deviations[n]):
            lines.append(f"  {name:<{width}}  {_share(self.deviations[name]):>23}   {_share(self.alone[name])}")
        if self.without_effect:
            lines.append(f"no effect on the measurements: {', '.join(self.without_effect)}")
        if self.unidentifiable:
            lines.append("unidentifiable combinations:")
            lines += [f"  {c}" for c in self.unidentifiable]
        return "\n".join(lines)


def _share(value: float) -> str:
    return "—" if not np.isfinite(value) else f"{100 * value:.3g} %"
