"""Newton's method for fewer, as many, or more equations than unknowns, some of which may be redundant.

Each step is the shortest that fulfils the linearized equations, so that quadratic convergence is kept and little is moved. Where
a full step does not help, it is damped as by Levenberg and Marquardt, which turns it towards steepest descent. It stands here
since it is compiled, and translated for pages, together with the search around it.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Vector
from draisine.simulation.initial.memory import FULFILLED, System
from draisine.simulation.initial.newton import least_norm, prepare, solve_positive
from draisine.simulation.initial.residual_system import EXACT, evaluate, go_to, larger, move_here, square

MOST_STEPS = 80
PATIENCE = 8  # steps in which residuals must fall by a fifth
HELPED = 0.1  # a step is taken if it does at least this part of what the linear model promises
DAMPINGS = 6  # that are tried, each a hundred times the one before
LEAST_DAMPING = 1e-6  # times the sum of squares of the weighted rows


def restore(s: System, most_steps: int) -> bool:
    """From the changes z of `here` on to residuals that vanish; false where they cannot be lessened any more."""
    go_to(s, s.here.z)
    return restore_here(s, most_steps)


def restore_here(s: System, most_steps: int) -> bool:
    """The same from `here` as it is known already."""
    s.damped = 0
    s.curved = 0
    steps, lowest, before = 0, 0, math.inf
    while steps < most_steps:
        if steps % PATIENCE == PATIENCE - 1:
            if s.here.share > 0.8 * before:
                break
            before = s.here.share
        if s.free == 0 or not s.here.share > EXACT or not s.here.share < math.inf:
            break
        if not full_step(s):
            if not s.here.share > FULFILLED:
                break
            s.damped = 1
            lowest = damped_step(s, lowest)
            if lowest < 0:
                break
        steps += 1
    polish(s)
    return s.here.share <= FULFILLED


def full_step(s: System) -> bool:
    """The shortest step that fulfils the linearized equations, or as much of it as is believed, if it helps."""
    prepare(s)
    least_norm(s, s.here.residual, s.step)
    for k in range(s.free):
        s.step[k] = -s.step[k]
    shorten(s, s.step)
    return step_if_better(s, s.step)


def shorten(s: System, step: Vector) -> None:
    """Make a step so short that no unknown leaps."""
    excess = 0.0
    for k in range(s.free):
        excess = larger(excess, abs(step[k]) / s.furthest[k])
    if excess > 1.0:
        for k in range(s.free):
            step[k] /= excess


def damped_step(s: System, lowest: int) -> int:
    """A step that is shorter and turned towards steepest descent; which damping to begin with the next time, or −1."""
    h = s.here
    trace = 0.0
    for i in range(s.rows):
        for j in range(i + 1):
            total = 0.0
            for k in range(s.free):
                c = s.columns[k]
                if s.fixed[k] == 0:
                    total += (h.jacobian[i, c] * s.scale[c]) * (h.jacobian[j, c] * s.scale[c])
            s.products[i, j] = total / (h.weight[i] * h.weight[j])
        trace += s.products[i, i]
    if not trace > 0.0:
        return -1
    damping = LEAST_DAMPING
    for n in range(DAMPINGS):
        if n > 0:
            damping *= 100.0
        if n < lowest:
            continue
        for i in range(s.rows):
            for j in range(i + 1):
                s.damping[i, j] = s.products[i, j]
            s.damping[i, i] += damping * trace
            s.side[i] = h.residual[i] / h.weight[i]
        if not solve_positive(s.damping, s.side):
            continue
        for k in range(s.free):
            c = s.columns[k]
            total = 0.0
            if s.fixed[k] == 0:
                for i in range(s.rows):
                    total += h.jacobian[i, c] * s.scale[c] / h.weight[i] * s.side[i]
            s.step[k] = -total
        shorten(s, s.step)
        if step_if_better(s, s.step):
            return n - 1 if n > 0 else 0
    return -1


def step_if_better(s: System, step: Vector) -> bool:
    """Go a step if residuals shrink by a fair part of what the linear model promises."""
    h = s.here
    now, linear = 0.0, 0.0
    for i in range(s.rows):
        change = 0.0
        for k in range(s.free):
            change += h.jacobian[i, s.columns[k]] * (s.scale[s.columns[k]] * step[k])
        now += square(h.residual[i] / h.weight[i])
        linear += square((h.residual[i] + change) / h.weight[i])
    size = math.sqrt(now)
    promised = size - math.sqrt(linear)
    if not promised > 1e-3 * size:
        return False
    for k in range(s.free):
        s.trial.z[k] = h.z[k] + step[k]
    evaluate(s, s.trial)
    if not s.trial.share < math.inf:
        return False
    there = 0.0
    for i in range(s.rows):
        there += square(s.trial.residual[i] / h.weight[i])
    if math.sqrt(there) > size - HELPED * promised:
        return False
    move_here(s, s.trial)
    return True


def polish(s: System) -> None:
    """Last steps where large unknowns stand beside small ones, whose rows rounding would leave unfinished."""
    for _ in range(3):
        h = s.here
        if s.free == 0 or h.share > FULFILLED or h.strict_share <= EXACT:
            return
        prepare(s)
        least_norm(s, h.residual, s.step)
        for k in range(s.free):
            s.trial.z[k] = h.z[k] - s.step[k]
        evaluate(s, s.trial)
        if not (s.trial.share <= FULFILLED and s.trial.strict_share < 0.5 * h.strict_share):
            return
        move_here(s, s.trial)
