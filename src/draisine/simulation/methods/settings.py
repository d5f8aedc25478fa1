"""Checks of the settings that methods with step control share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from draisine.errors import ArgumentError
from draisine.simulation.methods.tableau import positive


class Settings(Protocol):
    """What methods with step control have in common."""

    @property
    def rtol(self) -> float: ...
    @property
    def atol(self) -> float | Sequence[float]: ...
    @property
    def first_step(self) -> float | None: ...
    @property
    def max_step(self) -> float | None: ...
    @property
    def max_steps(self) -> int: ...


def check_settings(method: Settings) -> None:
    """Refuse tolerances and steps that make no sense, naming the method and the setting."""
    name = type(method).__name__
    positive(name, "rtol", method.rtol)
    if method.rtol < 1e-14:
        raise ArgumentError(f"{name}: rtol = {method.rtol:g} is below what double precision can hold; use 1e-14 or more")
    for value in np.atleast_1d(np.asarray(method.atol, dtype=float)):
        positive(name, "atol", float(value))
    for setting in ("step", "first_step", "max_step"):
        if getattr(method, setting, None) is not None:
            positive(name, setting, getattr(method, setting))
    positive(name, "max_steps", method.max_steps)
