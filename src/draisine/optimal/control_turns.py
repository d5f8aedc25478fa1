"""Controls that are angles: whole turns between nodes.

A heading on which rates and cost depend by its sine and cosine alone is free by whole turns at each node. A search that goes
astray may end with a turn between two nodes: a minimum at the nodes, but the polynomial between them sweeps through all
headings. Such turns are taken out: what holds at the nodes stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.control.plant import stacked
from draisine.program import opcodes as op
from draisine.program.casadi_functions import CasadiCode, function_of_tape
from draisine.program.tape import Instruction

if TYPE_CHECKING:
    from draisine.optimal.phase import Phase
    from draisine.optimal.transcription import PhaseIndices

Reals = NDArray[np.float64]

WAVES = (op.SIN, op.COS, op.TAN)
MULTIPLES, WHOLE = 12, 1e-9  # of the longest of the periods of the waves, tried as the period of all; deviation from an integer


def periods(value: ca.SX, controls: list[ca.SX]) -> list[float]:
    """Of each control its period in these expressions, proven from their form: they depend on it by sines, cosines and tangents
    of multiples of it alone. Zero where there is none, or it is not proven."""
    variables = ca.symvar(value)
    tape = CasadiCode(ca.Function("turning", [stacked(variables)], [ca.densify(value)])).tape
    new: list[Instruction] = []
    count = 0
    for line in tape:
        if line.operation in WAVES:
            new += [Instruction(op.OUTPUT, line.inputs, (1, count)), Instruction(op.INPUT, (1, count), line.outputs)]
            count += 1
        else:
            new.append(line)
    if not count:
        return [0.0] * len(controls)
    shapes = [(len(variables), 1), (count, 1)]
    function = function_of_tape("turning", tuple(new), shapes, [value.shape, (count, 1)])
    rest, angles = function.call([stacked(variables), ca.SX.sym("wave", count)])
    return [_period(rest, angles, u) for u in controls]


def _period(rest: ca.SX, angles: ca.SX, u: ca.SX) -> float:
    jacobian = ca.densify(ca.jacobian(angles, u))
    if ca.depends_on(rest, u) or not jacobian.is_constant():
        return 0.0
    rates = np.abs(np.array(ca.DM(jacobian)).ravel())
    rates = rates[rates > 0.0]
    for multiple in range(1, MULTIPLES + 1) if len(rates) else ():
        turns = multiple * rates / rates.min()
        if np.abs(turns - np.round(turns)).max() < WHOLE:
            return float(multiple * 2.0 * np.pi / rates.min())
    return 0.0


def without_turns(phase: Phase, indices: PhaseIndices, w: Reals, guess: Reals) -> Reals:
    """The unknowns with each control that is an angle as near at every node to the one before as whole turns allow, and all
    together as near to the guess; a control is left alone where that would exceed its bounds."""
    made = w
    for j, name in enumerate(phase.controls):
        values = w[indices.controls[:, j]]
        if phase.linear_controls[j] or not np.isfinite(values).all() or not np.ptp(values) > 0.0:
            continue
        period = phase.control_periods[j]
        if period == 0.0 or not np.abs(np.diff(values)).max() > 0.5 * period:
            continue
        smooth = np.unwrap(values, period=period)
        shift = period * np.round((smooth.mean() - guess[indices.controls[:, j]].mean()) / period)
        low, high = phase.limits.get(name, (-np.inf, np.inf))
        for candidate in (smooth - shift, smooth):
            if low <= candidate.min() and candidate.max() <= high:
                made = made.copy()
                made[indices.controls[:, j]] = candidate
                break
    return made
