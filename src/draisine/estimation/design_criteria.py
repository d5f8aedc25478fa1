"""Optimal experiment design: criteria and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, UnknownNameError
from draisine.estimation.fisher_information import Identifiability
from draisine.numerics.number_range import refuse_large_count, with_number_range
from draisine.results.base import Result

Reals = NDArray[np.float64]


# ------------------------------------------------------------------------------------------------------------- criteria


class Criterion(Protocol):
    """A scalar to minimize, of the relative covariance of the unknown parameters (unknown starts are marginalized)."""

    def value(self, names: Sequence[str], covariance: Reals) -> float: ...


@dataclass(frozen=True)
class Variance:
    """The variance of one parameter, with the others unknown."""

    of: str

    def value(self, names: Sequence[str], covariance: Reals) -> float:
        index = list(names).index(self.of)
        return float(np.log(covariance[index, index]))


@dataclass(frozen=True)
class DOptimal:
    """D-optimality: the volume of the confidence region of all parameters."""

    def value(self, names: Sequence[str], covariance: Reals) -> float:
        return float(np.linalg.slogdet(covariance)[1]) / len(names)


@dataclass(frozen=True)
class EOptimal:
    """E-optimality: the largest variance of any combination of relative changes."""

    def value(self, names: Sequence[str], covariance: Reals) -> float:
        return float(np.log(np.linalg.eigvalsh(covariance)[-1]))


MOST_TIMES = 100_000  # that are optimized


@with_number_range
@dataclass(frozen=True)
class SamplingTimes:
    """`count` samples at times that are optimized too, from `first` to the end of the run; several may coincide."""

    count: int
    first: float = 0.0

    def __post_init__(self) -> None:
        if self.count < 1 or not self.first >= 0.0:
            raise ArgumentError(
                f"SamplingTimes: count is one or more and first 0 s or later, got count {self.count!r} and first {self.first!r} s"
            )
        refuse_large_count("SamplingTimes: count", self.count, MOST_TIMES)


# ------------------------------------------------------------------------------------------------------------- result


@dataclass(frozen=True, eq=False, repr=False)
class Design(Result):
    """Optimal experiments: the chosen values of each, its sampling times, and the predicted uncertainty of the estimate.

    `chosen[0]["speed"]` is the choice for the first experiment; `deviation("trail")` the predicted standard deviation; `telling`
    lists the combinations that even these experiments cannot identify; `middle` is the same at the middle of all ranges.
    """

    model: str
    criterion: Criterion
    chosen: tuple[dict[str, float], ...]
    instants: tuple[Reals, ...]
    identifiability: Identifiability
    units: tuple[str, ...]
    middle: Identifiability | None  # None where a run from the middle of the ranges does not reach its samples
    value: float
    trials: int

    @cached_property
    def deviations(self) -> dict[str, float]:
        """Predicted standard deviations by name; infinite if unidentifiable."""
        return dict(zip(self.identifiability.names, np.sqrt(np.diag(self.identifiability.covariance)).tolist(), strict=True))

    def deviation(self, name: str) -> float:
        """The predicted standard deviation of an unknown."""
        if name not in self.deviations:
            raise UnknownNameError(f"{name!r} is not among the unknowns {', '.join(self.deviations)}")
        return self.deviations[name]

    def _table(self) -> Mapping[str, Any]:
        deviations = list(self.deviations.values())
        return {"unknown": list(self.deviations), "unit": list(self.units), "deviation": deviations}

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; None for infinite deviations."""
        reported = {n: d if np.isfinite(d) else None for n, d in self.deviations.items()}
        return {
            "model": self.model,
            "criterion": str(self.criterion),
            "chosen": [dict(c) for c in self.chosen],
            "instants": [t.tolist() for t in self.instants],
            "standard deviations": reported,
            "unidentifiable": [str(c) for c in self.identifiability.unidentifiable],
        }

    def summary(self) -> str:
        """Chosen experiments and predicted uncertainty, as text."""
        lines = [f"{self.model}: {self.criterion} over {self.trials} designs"]
        for k, (chosen, instants) in enumerate(zip(self.chosen, self.instants, strict=True)):
            reported = ", ".join(f"{n} = {v:.6g}" for n, v in chosen.items()) or "no choices"
            when = f"{len(instants)} samples from {instants[0]:g} s to {instants[-1]:g} s"
            lines.append(f"  experiment {k + 1}: {reported}; {when if len(instants) > 1 else f'one sample at {instants[0]:g} s'}")
        lines.append("  predicted standard deviations")
        for (name, deviation), unit in zip(self.deviations.items(), self.units, strict=True):
            before = "" if self.middle is None else f" (middle of the ranges: {_deviation(self.middle, name):.3g})"
            lines.append(f"    {name}: {deviation:.3g} {unit}".rstrip() + before)
        if self.identifiability.without_effect:
            lines.append(f"  no effect on the measurements: {', '.join(self.identifiability.without_effect)}")
        lines += [f"  cannot be identified: {c}" for c in self.identifiability.unidentifiable]
        return "\n".join(lines)

    __repr__ = summary


def _deviation(identifiability: Identifiability, name: str) -> float:
    index = identifiability.names.index(name)
    return float(np.sqrt(identifiability.covariance[index, index]))
