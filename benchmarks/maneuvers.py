"""State a maneuver, solve and verify it, and print seconds and objective; `optimal` runs it in new processes."""

from __future__ import annotations

import json
import math
import sys
import time

import scipy.sparse
import sympy as sp
import sympy.physics.mechanics

import draisine as dr
import draisine.optimal.solve
from draisine.gallery.entries.simple_countersteer import ROLL_RATE, STEER_RATE, simple_bicycle

# libraries are imported beforehand, here as for the peers
LOADED = (
    sympy.physics.mechanics.dynamicsymbols,
    scipy.sparse.csr_array,
    draisine.optimal.solve.solve,
    dr.maneuver,
    dr.first_order,
    dr.derive,
    dr.optimal.Collocation,
    dr.gallery.bicycle,
)


def turn(bike: dr.Model) -> dr.optimal.OptimalControlProblem:
    """Source C's turn by π/4 in the least time."""
    return (
        dr.maneuver(bike)
        .start(speed=8)
        .finish(heading=math.pi / 4, lean=0, steer=0, rates=0)
        .bounds(steer_torque=(-5, 5), pedal_torque=(-30, 30), lean=(-1, 1))
        .duration(0.3, 5)
        .minimize("time")
    )


def fastest_turn() -> dr.optimal.Solution:
    return turn(dr.gallery.bicycle()).solve(dr.optimal.Collocation(intervals=60))


def countersteer() -> dr.optimal.Solution:
    """opty's problem: 200 intervals of backward Euler, which is the Radau scheme with one point."""
    stated = dr.maneuver(simple_bicycle(as_printed=True)).start(lean=0, roll_rate=0, heading=0, steer=0, x=0, y=0)
    stated = stated.finish(lean=0, roll_rate=0, heading=math.pi / 2, steer=0).duration(0.2, 100).minimize("time")
    stated = stated.bounds(steer_rate=(-STEER_RATE, STEER_RATE), roll_rate=(-ROLL_RATE, ROLL_RATE))
    stated = stated.bounds(lean=(-math.pi / 2, math.pi / 2), steer=(-math.pi / 2, math.pi / 2))
    return stated.solve(dr.optimal.Collocation("radau", 1, 200), guess=dr.guess.LinearGuess(duration=2.0))


def nothing_much() -> dr.optimal.Solution:
    """Have the stepping loop compiled, once for a machine."""
    x, u = sp.symbols("x u")
    line = dr.first_order("line", {x: u}, inputs=[u])
    return (
        dr.maneuver(line).start(x=0).finish(x=1).duration(1).minimize(integral="u**2").solve(dr.optimal.Collocation(intervals=3))
    )


if __name__ == "__main__":
    make = {"turn": fastest_turn, "countersteer": countersteer, "loop": nothing_much}[sys.argv[1]]
    began = time.perf_counter()
    found = make()
    seconds = time.perf_counter() - began
    assert found.converged and found.discrepancy < math.inf  # on the mesh that is stated
    print(json.dumps({"seconds": seconds, "objective": found.objective, "spent": dict(found.seconds)}))
