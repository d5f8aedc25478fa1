"""Event functions as polynomials: their degree, read from the tape, and Bernstein coefficients, which bound them on [0, 1].

A polynomial lies between its smallest and its largest Bernstein coefficient, it has no more zeros than its coefficients have sign
changes, and it is monotone where they are: R. T. Farouki, "The Bernstein polynomial basis: a centennial retrospective", Computer
Aided Geometric Design 29 (2012) 379–419.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.program import opcodes as op
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program
from draisine.program.tape import Numbers

NOT_POLYNOMIAL = -1


def polynomial_degrees(program: Program | LinearSolveProgram, arguments: Iterable[str]) -> tuple[int, ...]:
    """The degree of every entry of the first result in the named arguments together; the other arguments are constants.

    Entries that are no polynomials, or are not seen to be, have `NOT_POLYNOMIAL`: calls of sub-programs and linear solves are
    not followed.

    >>> import casadi as ca
    >>> x, p = ca.SX.sym("x", 2), ca.SX.sym("p")
    >>> circle = Program.build("g", {"x": x, "p": p}, {"y": ca.vertcat(x[0] ** 2 + x[1] ** 2 - ca.sqrt(p), ca.sin(x[0]), p)})
    >>> polynomial_degrees(circle, ["x"])
    (2, -1, 0)
    """
    if isinstance(program, LinearSolveProgram):
        return (NOT_POLYNOMIAL,) * program.outputs[0].size
    names = set(arguments)
    varying = [slot.name in names for slot in program.inputs]
    work: dict[int, int] = {}
    constants: dict[int, float] = {}
    found = [0] * program.outputs[0].size
    for line in program.tape:
        if line.operation == op.INPUT:
            work[line.outputs[0]] = int(varying[line.inputs[0]])
        elif line.operation == op.OUTPUT:
            if line.outputs[0] == 0:
                found[line.outputs[1]] = work[line.inputs[0]]
        elif line.operation == op.CONST and not isinstance(line, Numbers):
            work[line.outputs[0]] = 0
            constants[line.outputs[0]] = float(line.constant or 0.0)
            continue
        else:
            degree = _degree(line.operation, [work.get(i, NOT_POLYNOMIAL) for i in line.inputs], line.inputs, constants)
            for place in line.outputs:
                work[place] = degree
        for place in line.outputs if line.operation != op.OUTPUT else ():
            constants.pop(place, None)
    return tuple(found)


def _degree(operation: int, degrees: Sequence[int], inputs: Sequence[int], constants: dict[int, float]) -> int:
    """The degree of an operation's result."""
    if all(degree == 0 for degree in degrees):
        return 0
    if NOT_POLYNOMIAL in degrees:
        return NOT_POLYNOMIAL
    if operation in (op.ASSIGN, op.NEG, op.TWICE, op.LIFT):
        return degrees[0]
    if operation in (op.ADD, op.SUB):
        return max(degrees)
    if operation == op.MUL:
        return sum(degrees)
    if operation == op.SQ:
        return 2 * degrees[0]
    if operation == op.DIV and degrees[1] == 0:
        return degrees[0]
    if operation in (op.POW, op.CONSTPOW):
        power = constants.get(inputs[1], -1.0)
        if power >= 0.0 and power == int(power):
            return int(power) * degrees[0]
    return NOT_POLYNOMIAL


Array = NDArray[np.float64]


class BernsteinBasis(NamedTuple):
    """Matrices for the values v of a polynomial at `nodes`.

    >>> basis = bernstein_basis(3)
    >>> (basis.coefficients @ basis.nodes**3).round(12).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """

    nodes: Array  # (c) in [0, 1], both ends included
    coefficients: Array  # (c, c): coefficients = this · v
    tail: Array  # (3, c): the last three Chebyshev coefficients = this · v
    noise: float  # rounding error of the coefficients for |v| ≤ 1


@lru_cache(maxsize=16)
def bernstein_basis(degree: int) -> BernsteinBasis:
    """The matrices of polynomials up to a degree; beyond 16 rounding errors are large."""
    angles = np.pi * np.arange(degree + 1) / degree
    nodes = np.sin(0.5 * angles) ** 2
    rows = [[comb(degree, j) * t**j * (1.0 - t) ** (degree - j) for j in range(degree + 1)] for t in nodes]
    coefficients = np.linalg.inv(np.array(rows))
    ends = np.ones(degree + 1)
    ends[0] = ends[-1] = 0.5
    orders = np.arange(max(1, degree - 2), degree + 1)
    tail = 2.0 / degree * np.cos(np.outer(orders, angles)) * ends
    tail[-1] *= 0.5
    noise = 8.0 * np.finfo(float).eps * float(np.abs(coefficients).sum(axis=1).max())
    return BernsteinBasis(nodes, np.ascontiguousarray(coefficients), np.ascontiguousarray(tail), noise)
