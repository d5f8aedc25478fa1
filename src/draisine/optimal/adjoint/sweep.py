"""The loops of the adjoint road: explicit Runge–Kutta steps forward, and their exact derivative backward.

A step with rates K_s = f(t + c_s h, X_s, u, p) at the points X_s = x + h Σ_j a_sj K_j leads to x⁺ = x + h Σ_s b_s K_s. From the
derivative λ⁺ of a cost by x⁺ that by x follows, stage by stage from the last,

    κ_s = h (b_s λ⁺ + Σ_{r>s} a_rs ξ_r),        ξ_s = (∂f/∂x)ᵀ κ_s,        λ = λ⁺ + Σ_s ξ_s,

and with it derivatives by u and p, Σ_s (∂f/∂u)ᵀ κ_s and Σ_s (∂f/∂p)ᵀ κ_s, by the step's length, Σ_s κ_s·K_s / h, and by the times
of the stages, ∂f/∂t·κ_s. States are kept at the ends of steps; points and rates inside a step are computed again.

The functions work on memory of the caller alone, told by a table of integers. They run in the interpreter as well; `runner`
compiles them.
"""

from __future__ import annotations

import math
from typing import Any

from draisine.simulation.stepper.native import call_kernel, integers_at, matrix_at, reals_at

# Places in the table.
BACKWARD = 0  # whether to go backward
WIDTH = 1  # w: states and the integral of the cost
STATES = 2  # n
STAGES = 3  # s
STEPS = 4
INPUTS = 5  # m
PARAMETERS = 6  # of them, so many derivatives are asked for
TOLD = 7  # numbers of the solution that the forward kernel tells, and the backward one takes
FORWARD_KERNEL = 8  # (t, x, u, p) → rates (w), told
BACKWARD_KERNEL = 9  # (t, x, u, p, told, κ (w)) → derivatives by x, u, p, t
FORWARD_ARGUMENTS, FORWARD_RESULTS, BACKWARD_ARGUMENTS, BACKWARD_RESULTS = 10, 11, 12, 13  # tables of pointers
TIME_AT = 14  # (1)
TIMES_AT = 15  # (steps + 1)
PIECE_AT = 16  # (steps) integers: which row of inputs holds in a step
INPUT_AT = 17  # (pieces, m)
STATE_AT = 18  # (steps + 1, w)
NODES_AT = 19  # (s)
WEIGHTS_AT = 20  # (s + 1, s)
POINT_AT = 21  # (s, w)
RATE_AT = 22  # (s, w)
TOLD_AT = 23  # (s, told)
COSTATE_AT = 24  # (steps + 1, w)
PULL_AT = 25  # (s, w) ξ
LOAD_AT = 26  # (w) κ
BY_X_AT, BY_INPUT_AT, BY_PARAMETER_AT, BY_TIME_AT = 27, 28, 29, 30  # what the backward kernel gives
INPUT_SLOPE_AT = 31  # (pieces, m)
PARAMETER_SLOPE_AT = 32
LENGTH_SLOPE_AT = 33  # (steps) by the length of each step
TIME_SLOPE_AT = 34  # (2, steps) by the beginning of each step, and by its length through the stages' times
SIZE = 35


def sweep(address: int) -> int:
    """Forward: the number of steps that led to finite states. Backward: zero."""
    s = integers_at(address, SIZE)
    if s[BACKWARD] != 0:
        return backward(s)
    return forward(s)


def forward(s: Any) -> int:
    width, stages = s[WIDTH], s[STAGES]
    times, weights = reals_at(s[TIMES_AT], s[STEPS] + 1), matrix_at(s[WEIGHTS_AT], stages + 1, stages)
    x, k = matrix_at(s[STATE_AT], s[STEPS] + 1, width), matrix_at(s[RATE_AT], stages, width)
    for step in range(s[STEPS]):
        attempt(s, step)
        h = times[step + 1] - times[step]
        for i in range(width):
            total = 0.0
            for j in range(stages):
                total += weights[stages, j] * k[j, i]
            x[step + 1, i] = x[step, i] + h * total
            if not math.isfinite(x[step + 1, i]):
                return step
    return s[STEPS]


def attempt(s: Any, step: int) -> None:
    """Points, rates and what else the kernel tells, of all stages of a step."""
    width, stages = s[WIDTH], s[STAGES]
    times, nodes = reals_at(s[TIMES_AT], s[STEPS] + 1), reals_at(s[NODES_AT], stages)
    weights, x = matrix_at(s[WEIGHTS_AT], stages + 1, stages), matrix_at(s[STATE_AT], s[STEPS] + 1, width)
    points, k = matrix_at(s[POINT_AT], stages, width), matrix_at(s[RATE_AT], stages, width)
    time, arguments, results = reals_at(s[TIME_AT], 1), integers_at(s[FORWARD_ARGUMENTS], 4), integers_at(s[FORWARD_RESULTS], 2)
    arguments[2] = s[INPUT_AT] + 8 * s[INPUTS] * integers_at(s[PIECE_AT], s[STEPS])[step]
    h = times[step + 1] - times[step]
    for stage in range(stages):
        for i in range(width):
            total = 0.0
            for j in range(stage):
                total += weights[stage, j] * k[j, i]
            points[stage, i] = x[step, i] + h * total
        time[0] = times[step] + nodes[stage] * h
        arguments[1] = s[POINT_AT] + 8 * width * stage
        results[0], results[1] = s[RATE_AT] + 8 * width * stage, s[TOLD_AT] + 8 * s[TOLD] * stage
        call_kernel(s[FORWARD_KERNEL], s[FORWARD_ARGUMENTS], s[FORWARD_RESULTS])


def backward(s: Any) -> int:
    """From the costate behind the last step to all derivatives."""
    for step in range(s[STEPS] - 1, -1, -1):
        attempt(s, step)
        pull_step(s, step)
    return 0


def pull_step(s: Any, step: int) -> None:
    width, stages, states = s[WIDTH], s[STAGES], s[STATES]
    times, nodes = reals_at(s[TIMES_AT], s[STEPS] + 1), reals_at(s[NODES_AT], stages)
    weights, costate = matrix_at(s[WEIGHTS_AT], stages + 1, stages), matrix_at(s[COSTATE_AT], s[STEPS] + 1, width)
    pull, k = matrix_at(s[PULL_AT], stages, width), matrix_at(s[RATE_AT], stages, width)
    load, by_x, by_time = reals_at(s[LOAD_AT], width), reals_at(s[BY_X_AT], states), reals_at(s[BY_TIME_AT], 1)
    time, arguments = reals_at(s[TIME_AT], 1), integers_at(s[BACKWARD_ARGUMENTS], 6)
    piece = integers_at(s[PIECE_AT], s[STEPS])[step]
    arguments[2] = s[INPUT_AT] + 8 * s[INPUTS] * piece
    h = times[step + 1] - times[step]
    stretched, moved, shifted = 0.0, 0.0, 0.0
    for i in range(width):
        costate[step, i] = costate[step + 1, i]
    for stage in range(stages - 1, -1, -1):
        for i in range(width):
            total = weights[stages, stage] * costate[step + 1, i]
            for r in range(stage + 1, stages):
                total += weights[r, stage] * pull[r, i]
            load[i] = h * total
            stretched += total * k[stage, i]
        time[0] = times[step] + nodes[stage] * h
        arguments[1], arguments[4] = s[POINT_AT] + 8 * width * stage, s[TOLD_AT] + 8 * s[TOLD] * stage
        call_kernel(s[BACKWARD_KERNEL], s[BACKWARD_ARGUMENTS], s[BACKWARD_RESULTS])
        for i in range(states):
            pull[stage, i] = by_x[i]
            costate[step, i] += by_x[i]
        for i in range(states, width):
            pull[stage, i] = 0.0
        add(s[BY_INPUT_AT], s[INPUT_SLOPE_AT] + 8 * s[INPUTS] * piece, s[INPUTS])
        add(s[BY_PARAMETER_AT], s[PARAMETER_SLOPE_AT], s[PARAMETERS])
        moved += by_time[0]
        shifted += nodes[stage] * by_time[0]
    by_begin = matrix_at(s[TIME_SLOPE_AT], 2, s[STEPS])
    reals_at(s[LENGTH_SLOPE_AT], s[STEPS])[step] = stretched
    by_begin[0, step], by_begin[1, step] = moved, shifted


def add(source: int, target: int, length: int) -> None:
    """Add numbers to others."""
    a, b = reals_at(source, length), reals_at(target, length)
    for i in range(length):
        b[i] += a[i]
