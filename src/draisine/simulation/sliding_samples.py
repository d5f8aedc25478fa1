"""Samples of a run that slides on switching surfaces, and the report there.

Where a run slides, the report is evaluated with the mixed law that the loop has recorded (`stepper.mixture`): the friction force
of a body at rest, the equivalent control of a relay. Elsewhere it is the report as written.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.program.equations import Equations
from draisine.program.mixed_branches import fix_program, mix_program
from draisine.program.switching import Switching
from draisine.simulation.stepper.layout import MEANS, ONE_SIDED

Reals = NDArray[np.float64]


@lru_cache(maxsize=64)
def _mixed_report(switching: Switching, equations: Equations) -> Kernel:
    """The compiled report with mixed branches, which are appended to p."""
    return compile(mix_program(switching, fix_program(switching, equations.report)))


@dataclass(frozen=True, eq=False)
class SlidingSamples:
    """How the law is mixed at samples of a run: (samples, 1 + branches), the kind of `stepper.layout` and all branches."""

    switching: Switching
    mixture: Reals

    @property
    def rows(self) -> NDArray[np.intp]:
        """The samples at which the run slides."""
        return np.flatnonzero(self.mixture[:, 0] != ONE_SIDED)

    def report(self, equations: Equations, t: Reals, x: Reals, u: Reals, p: Reals) -> dict[str, Reals]:
        """The results of the report at these `rows`, by name; the arguments are those of all samples, p is one row or one for
        each."""
        own = self.rows
        t, x, u, p, mixture = t[own], x[own], u[own], p[own] if p.ndim > 1 else np.tile(p, (own.size, 1)), self.mixture[own]
        kernel = _mixed_report(self.switching, equations)

        def at(rows: NDArray[np.intp] | slice, branches: Reals) -> list[Reals]:
            return list(kernel.map(t[rows, None], x[rows], u[rows], np.column_stack([p[rows], branches])))

        found = at(slice(None), mixture[:, 1:])
        for row in np.flatnonzero(mixture[:, 0] == MEANS):
            branches = mixture[row, 1:]
            low = np.floor(branches)
            first = at(np.array([row]), low[None])
            mean = [values.copy() for values in first]
            for i in np.flatnonzero(branches != low):
                other = at(np.array([row]), (low + (np.arange(low.size) == i))[None])
                for total, begin, end in zip(mean, first, other, strict=True):
                    total += (branches[i] - low[i]) * (end - begin)
            for whole, values in zip(found, mean, strict=True):
                whole[row] = values[0]
        return dict(zip((slot.name for slot in equations.report.outputs), found, strict=True))
