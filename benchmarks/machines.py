"""Figures of machines that people ride: the gallery's motorcycle of eleven freedoms, on linear tires and by the Magic Formula.

On tires by the Magic Formula it has thirteen freedoms, since these are springs vertically; rigid ones have their normal forces by
iteration at every evaluation. Times are processor times, the least of some rounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import draisine as dr
from draisine.codegen.jit.kernel import compile_hoisted
from draisine.gallery.entries import motorcycle as machines
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program
from draisine.simulation.simulate import compute
from figure import AtLeast, AtMost, Figure
from optimized import warmed
from speed import derivation

SPEEDS = np.linspace(5.0, 60.0, 200)
TURN = {"speed": 35.0, "lean": -0.6}
SECONDS = 10.0
ROUNDS = 40  # reports of 50,000 samples are behind then, and their code is optimized


def rigid() -> dr.Model:
    """The machine of the gallery on tires by the Magic Formula that do not yield vertically."""
    m = machines.motorcycle_on_magic_formula()
    m.name = "motorcycle_on_rigid_tires"
    for name in ("front", "rear"):
        m = dr.parts.replace(m, name, tire=replace(m._items["wheels"][name].contact, rigid=True))
    return m


def figures() -> Iterator[Figure]:
    for what, known, model in (
        ("linear tires", "motorcycle", machines.motorcycle()),
        ("Magic Formula", "motorcycle_on_magic_formula", machines.motorcycle_on_magic_formula()),
        ("Magic Formula, rigid vertically", "", rigid()),
    ):
        if known:
            yield Figure(
                f"{what}: derive and compile", min(derivation("model", known, "motorcycle") for _ in range(3)), "s", AtMost(2.0)
            )
        equations = dr.derive(model, work=False)
        turn = dr.steady(equations, TURN, free=machines.FREE_INPUTS)
        yield Figure(f"{what}: state derivative", _evaluation(equations, turn), "s", AtMost(2e-6))
        seconds = least(partial(machines.braked, equations, turn, SECONDS))
        yield Figure(f"{what}: 10 s of a braking turn, times real time", SECONDS / seconds, "", AtLeast(500))
    straight: dict[str, Any] = {"fixed": {"lean": 0.0, "steer": 0.0}, "free": ("drive_torque",), "states": machines.STATES}
    equations = dr.derive(machines.motorcycle(), work=False)
    yield Figure("modes at 200 speeds", least(lambda: dr.modes(equations, speed=SPEEDS, **straight), 3), "s", AtMost(2.0))


def _evaluation(equations: dr.Equations, turn: Any) -> float:
    """One state derivative along the turn, called by a compiled loop."""
    assert isinstance(equations.dynamics, Program | LinearSolveProgram)
    kernel = compile_hoisted(equations.dynamics)
    constant = {name: turn[name] for name in machines.FREE_INPUTS}
    run = compute(equations, 0.5, start=turn, inputs={**constant, "front_brake_torque": 40.0}, times=np.linspace(0.0, 0.5, 500))
    (segment,) = run.run.segments
    given = segment.times[:, None], segment.states, segment.inputs, kernel.extended(run.parameters)
    return least(lambda: kernel.kernel.map(*given), 60) / len(segment.times)


def least(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The least processor time of some rounds, after some that are not counted."""
    warmed(work)
    found = []
    for _ in range(rounds):
        begun = time.process_time()
        work()
        found.append(time.process_time() - begun)
    return min(found)
