"""Whether the values of a run make sense: they are finite, and no mass, inertia, radius or length of the model is impossible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from draisine.model.items import System
from draisine.model.model import Model
from draisine.model.plausibility import ParameterRules
from draisine.program.equations import Equations

Reals = NDArray[np.float64]
Texts = NDArray[np.object_]
T = TypeVar("T")

BAD_VALUES = "BAD_VALUES"  # the values of a lane make no sense, and it is not run


@dataclass(frozen=True, eq=False)
class Sense:
    """What the values in which runs differ must be."""

    parameters: Mapping[str, str]  # columns that are parameters, and of which
    rules: ParameterRules | None  # that these can break

    @staticmethod
    def of(model: Model | System | Equations, homes: Mapping[str, tuple[str, str]], fixed: Mapping[str, float]) -> Sense:
        """Raises a `ModelError` where the values of all runs are wrong already."""
        parameters = {name: own for name, (home, own) in homes.items() if home == "parameter"}
        if isinstance(model, Equations):
            return Sense(parameters, None)
        system = model.freeze() if isinstance(model, Model) else model
        rules = ParameterRules.of(system, fixed, frozenset(parameters.values()))
        return Sense(parameters, rules if rules.amounts else None)

    def reasons(self, values: Mapping[str, Reals], count: int) -> Texts:
        """Of each lane why it makes no sense, or ""."""
        found = np.full(count, "", dtype=object)
        if self.rules is not None:
            texts = np.array([*self.rules.reasons, ""], dtype=object)
            found = texts[self.rules.first_violations(self._given(values))]
        for name, column in values.items():
            found[~np.isfinite(column)] = _not_finite(name)
        return found

    def complaint(self, values: Mapping[str, float]) -> str:
        """What is wrong with the values of a lane, with the numbers."""
        for name, value in values.items():
            if not np.isfinite(value):
                return f"{_not_finite(name)}, got {float(value)!r}"
        if self.rules is None:
            return ""
        one = {name: np.array([value]) for name, value in self._given(values).items()}
        (reason,) = self.rules.first_violations(one)
        return self.rules.complaint(int(reason), self._given(values)) if reason >= 0 else ""

    def _given(self, values: Mapping[str, T]) -> dict[str, T]:
        return {own: values[name] for name, own in self.parameters.items()}


def _not_finite(name: str) -> str:
    return f"{name!r} must be a finite number"
