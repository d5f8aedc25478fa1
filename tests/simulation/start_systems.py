"""Systems for the tests of consistent starts, with answers that geometry gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import casadi as ca
import numpy as np
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

from draisine.program.equations import Constraint, Equations, Kind, Quantity
from draisine.program.linear_solve import LinearSolveProgram, Solver
from draisine.program.program import DaeResidual, Program
from draisine.symbolic.lagrangian import lagrangian


def mechanism(
    name: str,
    coordinates: Mapping[str, float],
    velocities: Sequence[str],
    motion: Mapping[str, tuple[Kind, ca.SX]],
    outputs: Mapping[str, ca.SX],
    q: ca.SX,
    v: ca.SX,
    *,
    p: ca.SX | None = None,
    parameters: Mapping[str, float] | None = None,
    force_outputs: Sequence[str] = (),
    full: ca.SX | None = None,
    independent: Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
) -> Equations:
    """Equations of which only what a start needs is real."""
    p = p if p is not None else ca.SX.sym("p", 0)
    t, u = ca.SX.sym("t"), ca.SX.sym("u", 0)
    independent = tuple(velocities) if independent is None else tuple(independent)
    x = ca.SX.sym("x", q.numel() + len(independent) + 1)
    arguments = {"t": t, "x": x, "u": u, "p": p}
    all_v = full if full is not None else x[q.numel() : q.numel() + len(independent)]
    if full is not None:
        places = [list(velocities).index(n) for n in independent]
        chosen = ca.vertcat(*[v[i] for i in places])
        all_v = ca.substitute(full, ca.vertcat(q, chosen), x[: q.numel() + len(independent)])
    depends = {n: ca.which_depends(r, v, 1, True)[0] if v.numel() else False for n, (_, r) in motion.items()}
    return Equations(
        name=name,
        coordinates=tuple(Quantity(n, (units or {}).get(n, ""), default=d) for n, d in coordinates.items()),
        velocities=tuple(Quantity(n) for n in velocities),
        independent=independent,
        inputs=(),
        parameters=tuple(Quantity(n, (units or {}).get(n, ""), default=d) for n, d in (parameters or {}).items()),
        multipliers=(),
        outputs=tuple(Quantity(n) for n in (*outputs, *force_outputs)),
        force_outputs=frozenset(force_outputs),
        constraints=tuple(Constraint(n, k, "velocity" if depends[n] else "position") for n, (k, _) in motion.items()),
        dynamics=Program.build(f"{name}_dynamics", arguments, {"xdot": ca.SX(x.numel(), 1)}),
        report=Program.build(f"{name}_report", arguments, {"v": (all_v, tuple(velocities))}),
        motion=Program.build(
            f"{name}_motion",
            {"t": t, "q": (q, tuple(coordinates)), "v": (v, tuple(velocities)), "u": u, "p": p},
            {
                "residuals": ca.vertcat(*[r for _, r in motion.values()]),
                "outputs": (ca.vertcat(*outputs.values()) if outputs else ca.SX(0, 1), tuple(outputs)),
            },
        ),
        extra_states=(Quantity("work", default=0.25),),
    )


def linkage() -> Equations:
    """Two bars of length 1 and `reach` from the origin; the tip stays on the line y = 0."""
    q, v, p = ca.SX.sym("q", 2), ca.SX.sym("v", 2), ca.SX.sym("p", 1)
    tip = ca.vertcat(ca.cos(q[0]) + p[0] * ca.cos(q[1]), ca.sin(q[0]) + p[0] * ca.sin(q[1]))
    rate = ca.jtimes(tip, q, v)
    return mechanism(
        "linkage",
        {"crank": 0.4, "rod": -0.5},
        ("crank_rate", "rod_rate"),
        {"rail": (Kind.HOLONOMIC, tip[1]), "along the rail": (Kind.HOLONOMIC, rate[1])},
        {"tip": tip[0], "tip_speed": rate[0], "tip_way": ca.sqrt(rate[0] ** 2)},
        q,
        v,
        p=p,
        parameters={"reach": 2.0},
        force_outputs=("push",),
    )


def pendulum(masses: int = 1, length: float = 1.0) -> Equations:
    """Masses on rods in Cartesian coordinates, hanging straight down."""
    xs, ys = dynamicsymbols(f"x1:{masses + 1}"), dynamicsymbols(f"y1:{masses + 1}")
    l, m, g = sp.symbols("l m g")
    rods, px, py = {}, sp.Integer(0), sp.Integer(0)
    for i, (x, y) in enumerate(zip(xs, ys, strict=True), start=1):
        rods[f"rod{i}"] = (x - px) ** 2 + (y - py) ** 2 - l**2
        px, py = x, y
    return lagrangian(
        "pendulum",
        [*xs, *ys],
        kinetic=sum(m * (x.diff() ** 2 + y.diff() ** 2) / 2 for x, y in zip(xs, ys, strict=True)),
        potential=sum(m * g * y for y in ys),
        holonomic=rods,
        parameters={l: length, m: 2.0, g: 9.81},
        outputs={"tip_x": px, "tip_y": py, "angle": sp.atan2(xs[0], -ys[0])},
        start={y: -(i + 1) * length for i, y in enumerate(ys)},
    )


def held_twice() -> Equations:
    """The pendulum of one mass whose accelerations are solved for with its rod given twice: a singular matrix."""
    e = pendulum()
    t, x, u, p = ca.SX.sym("t"), ca.SX.sym("x", 4), ca.SX.sym("u", 0), ca.SX.sym("p", 3)
    rows = 2 * ca.vertcat(x[:2].T, 3 * x[:2].T)
    matrix = ca.vertcat(ca.horzcat(p[1] * ca.SX.eye(2), -rows.T), ca.horzcat(rows, ca.SX(2, 2)))
    side = ca.vertcat(0, -p[1] * p[2], -2 * ca.sumsqr(x[2:]) * ca.vertcat(1, 3))
    z = ca.SX.sym("z", 4)
    reported = {
        "vdot": (z[:2], ["dx1_rate/dt", "dy1_rate/dt"]),
        "multipliers": (z[2:], ["rod1_multiplier", "rod1_again_multiplier"]),
    }
    return replace(
        e, report=LinearSolveProgram.build("twice", {"t": t, "x": x, "u": u, "p": p}, matrix, side, z, reported, Solver.DENSE)
    )


BARS = {"a": 1.0, "b": 3.0, "c": 2.5, "d": 3.0}  # crank, coupler, rocker, ground


def four_bar() -> Equations:
    """Crank, coupler and rocker as absolute angles, closed by two equations; 1 degree of freedom, two ways to assemble it."""
    crank, coupler, rocker = dynamicsymbols("crank coupler rocker")
    a, b, c, d = sp.symbols("a b c d")
    return lagrangian(
        "four_bar",
        [crank, coupler, rocker],
        kinetic=(crank.diff() ** 2 + coupler.diff() ** 2 + rocker.diff() ** 2) / 2,
        holonomic={
            "closed_x": a * sp.cos(crank) + b * sp.cos(coupler) - c * sp.cos(rocker) - d,
            "closed_y": a * sp.sin(crank) + b * sp.sin(coupler) - c * sp.sin(rocker),
        },
        parameters=dict(zip((a, b, c, d), BARS.values(), strict=True)),
        outputs={"point_x": a * sp.cos(crank) + b / 2 * sp.cos(coupler), "point_y": a * sp.sin(crank) + b / 2 * sp.sin(coupler)},
        start={crank: 1.0, coupler: 0.3, rocker: 1.5},
        units={crank: "rad", coupler: "rad", rocker: "rad"},
    )


def assembled(crank: float, branch: int) -> tuple[float, float]:
    """Coupler and rocker angles at a crank angle, by intersecting two circles; branch +1 has the knee to the left."""
    a, b, c, d = BARS.values()
    pin, pivot = a * np.array([np.cos(crank), np.sin(crank)]), np.array([d, 0.0])
    way = pivot - pin
    reach = float(np.hypot(*way))
    inside = np.arccos((b * b + reach * reach - c * c) / (2 * b * reach))
    coupler = float(np.arctan2(way[1], way[0]) + branch * inside)
    knee = pin + b * np.array([np.cos(coupler), np.sin(coupler)])
    return coupler, float(np.arctan2(*(knee - pivot)[::-1]))


def circuit() -> Equations:
    """An index-1 system: ẋ = −z, 0 = z³ + z − x − 1; and y with ẏ = x, tied to nothing."""
    t, x, rate, u, p = (ca.SX.sym(n, k) for n, k in (("t", 1), ("x", 3), ("rate", 3), ("u", 0), ("p", 0)))
    algebraic = x[2] ** 3 + x[2] - x[0] - 1
    slots = {"t": t, "x": (x, ("x", "y", "z")), "xdot": rate, "u": u, "p": p}
    residual = Program.build("circuit", slots, {"residual": ca.vertcat(rate[0] + x[2], rate[1] - x[0], algebraic)})
    nothing = ca.SX(0, 1)
    reported = {"v": nothing, "vdot": nothing, "multipliers": nothing, "outputs": (x[0] + x[2], ("sum",)), "residuals": algebraic}
    return Equations(
        name="circuit",
        coordinates=(Quantity("x", default=1.0), Quantity("y", default=0.5), Quantity("z")),
        velocities=(),
        independent=(),
        inputs=(),
        parameters=(),
        multipliers=(),
        outputs=(Quantity("sum"),),
        force_outputs=frozenset(),
        constraints=(Constraint("node", Kind.ALGEBRAIC, "position"),),
        dynamics=DaeResidual("circuit", residual),
        report=Program.build("circuit_report", {"t": t, "x": (x, ("x", "y", "z")), "u": u, "p": p}, reported),
        motion=Program.build(
            "circuit_motion",
            {"t": t, "q": (x, ("x", "y", "z")), "v": ca.SX.sym("v", 0), "u": u, "p": p},
            {"residuals": algebraic, "outputs": (x[0] + x[2], ("sum",))},
        ),
    )
