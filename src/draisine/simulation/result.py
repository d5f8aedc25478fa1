"""What an integration leaves behind: the run, its parts, its events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.program.equations import Equations
from draisine.results.status import Status

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Occurrence:
    """An event that happened."""

    name: str
    time: float
    state: Reals
    segment: int  # in whose terms the state is


@dataclass(frozen=True, eq=False)
class Segment:
    """A part of a run with one choice of independent velocities."""

    equations: Equations
    times: Reals  # (n)
    states: Reals  # (n, states)
    inputs: Reals  # (n, inputs)
    steps: Reals  # times of accepted steps


@dataclass(frozen=True, eq=False)
class Run:
    """What `integrate` computed. `failure` holds an exception that the user's control raised."""

    segments: tuple[Segment, ...]
    events: tuple[Occurrence, ...]
    status: Status
    final_time: float
    final_state: Reals  # in terms of the last segment
    evaluations: int  # of derivatives or residuals
    accepted: int
    rejected: int
    method: str = ""  # which method, and why
    jacobians: int = 0
    factorisations: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    failure: BaseException | None = None

    @property
    def times(self) -> Reals:
        return np.concatenate([s.times for s in self.segments])

    @property
    def steps(self) -> Reals:
        return np.concatenate([s.steps for s in self.segments])

    @property
    def states(self) -> Reals:
        """States at `times`, if one choice of velocities served throughout."""
        for a, b in pairwise(self.segments):
            if a.equations.independent != b.equations.independent:
                raise ArgumentError(
                    f"the run changed its independent velocities from ({', '.join(a.equations.independent)}) to "
                    f"({', '.join(b.equations.independent)}), so its states have no common meaning; read each of run.segments"
                )
        return np.concatenate([s.states for s in self.segments])
