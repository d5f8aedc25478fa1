"""Values of a run at any time (`run.at`): the dense output of its method.

Steps do not depend on the sample times, so the run is repeated with other ones: all values are those that `simulate` gives with
these samples, to the last bit, for every method, and nothing has to be kept but the start. The repetition ends at the last
of the times. Inputs from a sampled control were recorded and are repeated; a control that is called at every stage may have a
memory of its own and is not called again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.results.assembly import assemble
from draisine.results.trajectory import Trajectory
from draisine.simulation.result import Run
from draisine.simulation.trajectory_from_run import report_segment

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DenseOutput:
    """Channels of a run at other times than its samples; `repeat` integrates again, or `refused` says why it cannot."""

    name: str
    repeat: Callable[[Reals], Run]
    parameters: Reals
    refused: str = ""

    def __call__(self, times: Reals) -> Trajectory:
        """The run at these times, which are in its range, in its order and different."""
        if self.refused:
            raise ArgumentError(f"the run of {self.name!r} has no values between its samples: {self.refused}")
        run = self.repeat(times)
        return assemble(self.name, [report_segment(s, self.parameters) for s in run.segments if len(s.times)], status=run.status)

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        """Not pickled: kernels and control functions belong to this process."""
        return _none, ()


def _none() -> None:
    """In place of the dense output of a run that was pickled."""
