"""Programs that the export tests share."""

from __future__ import annotations

import casadi as ca

from draisine.codegen.export.source import Guide
from draisine.expr.tables import Table
from draisine.program.equations import Quantity
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program


def sample() -> Program:
    """A bit of everything: a number, a column, a matrix, an empty argument; choices, a table, functions that languages lack."""
    t, x, m, e = ca.SX.sym("t"), ca.SX.sym("x", 3), ca.SX.sym("m", 2, 3), ca.SX.sym("e", 0)
    torque = Table("torque", (0.0, 1.0, 3.0), (0.0, 10.0, 0.0), kind="spline")
    lean, steer, speed = x[0], x[1], x[2]
    force = ca.if_else(speed > 1.5, ca.sin(t) * lean, ca.erf(steer) - torque(speed))
    moment = ca.copysign(lean, steer) + ca.fmin(lean, speed) + ca.logic_or(lean < 0, steer < 0) - 0.1
    return Program.build(
        "sample",
        {"t": (t, ("t",)), "x": (x, ("lean", "steer", "speed")), "m": m, "e": e},
        {"wrench": (ca.vertcat(force, moment), ("force", "moment")), "size": ca.dot(x, x) ** 0.7, "turned": t * m.T},
        {"t": "s", "lean": "rad", "steer": "rad", "speed": "m/s", "force": "N"},
    )


def sample_guide() -> Guide:
    known = {
        ("x", "lean"): Quantity("lean", "rad", "of the frame, positive to the right", 0.1),
        ("x", "steer"): Quantity("steer", "rad", "", -0.2),
        ("x", "speed"): Quantity("speed", "m/s", "forward", 4.6),
        ("wrench", "moment"): Quantity("moment", "N*m"),
    }
    return Guide("a bit of everything", ("Not a mechanism.",), known, with_defaults=("x",))


def tables() -> Program:
    """Linear and spline, one and two variables, slope and value held outside, with their derivatives."""
    x = ca.SX.sym("x", 2)
    grid = ((0.0, 0.5, 2.0, 2.5), (-1.0, 0.0, 1.5)), [[1.0, 2.0, 0.5], [0.0, -1.0, 3.0], [2.0, 2.0, 2.0], [-0.5, 0.25, 1e-3]]
    made = [
        Table("ramp", (-1.0, 0.0, 1.0, 4.0), (0.0, 1.0, -1.0, 2.0), outside="hold")(x[0]),
        Table("bump", (-1.0, 0.0, 1.0, 4.0), (0.0, 1.0, -1.0, 2.0), kind="spline")(x[0]),
        Table("patch", *grid)(x[0], x[1]),
        Table("smooth", *grid, kind="spline", outside="hold")(x[0], x[1]),
    ]
    values = ca.vertcat(*made)
    return Program.build("lookups", {"x": x}, {"values": values, "slopes": ca.jacobian(values, x)})


def calling() -> Program:
    """A function large enough to stay one, called twice."""
    a = ca.SX.sym("a", 3)
    b = a
    for _ in range(20):
        b = ca.vertcat(ca.sin(b[1]) + b[2], b[0] * ca.cos(b[2]), b[1] - 0.5 * b[0])
    inner = ca.Function("inner", [a], [b, b[0] * b[1]], {"never_inline": True})
    x = ca.SX.sym("x", 3)
    first = inner(x)
    second = inner(first[0] + 1)
    return Program.build("calling", {"x": x}, {"y": ca.vertcat(first[1], second[0])})


def several_sides() -> LinearSolveProgram:
    """The derivative of `solved`: the same matrix for one side first, then for four that depend on its solution."""
    return solved().jacobian("y", "x", "several_sides")


def solved() -> LinearSolveProgram:
    """Four linear equations that cannot be solved without exchanging rows."""
    x, z = ca.SX.sym("x", 4), ca.SX.sym("z", 4)
    matrix = (
        ca.SX([[0, 2, 0, 1], [1, 0, 3, 0], [0, 5, 0, 0], [2, 0, 0, 4]])
        + 0.1 * ca.diag(ca.sin(x))
        - 0.1 * ca.diag(ca.SX([0, 0, 0, 1]))
    )
    system = Program.build("solved_system", {"x": x}, {"matrix": ca.densify(matrix), "side": ca.cos(x)})
    after = Program.build("solved_after", {"x": x, "z": z}, {"y": z + x, "total": ca.sum1(z)})
    return LinearSolveProgram("solved", system, after)
