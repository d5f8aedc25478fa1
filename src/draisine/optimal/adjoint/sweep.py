"""Sweeps of the adjoint method: explicit Runge–Kutta steps forward, and their exact derivative backward.

A step with rates K_s = f(t + c_s h, X_s, u, p) at the points X_s = x + h Σ_j a_sj K_j gives x⁺ = x + h Σ_s b_s K_s. The
derivative λ of a cost by x follows from that by x⁺, stage by stage from the last,

    κ_s = h (b_s λ⁺ + Σ_{r>s} a_rs ξ_r),        ξ_s = (∂f/∂x)ᵀ κ_s,        λ = λ⁺ + Σ_s ξ_s,

and with it derivatives by u and p, Σ_s (∂f/∂u)ᵀ κ_s and Σ_s (∂f/∂p)ᵀ κ_s, by the step's length, Σ_s κ_s·K_s / h, and by the times
of the stages, ∂f/∂t·κ_s. States are stored at the ends of steps; points and rates inside a step are recomputed.

Restricted Python (`codegen.restricted`); `functional.Runner` compiles it and allocates its memory.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Integers, Matrix, Record, Vector, call_kernel


class Sweep(Record):
    """Steps through a motion; w numbers are integrated: n states and the cost."""

    backward: int  # whether the sweep is backward
    width: int  # w
    states: int  # n
    stages: int  # s
    steps: int
    inputs: int  # m
    varied: int  # number of varied parameters
    forward_kernel: int  # (t, x, u, p) → rates (w), reported
    backward_kernel: int  # (t, x, u, p, reported, κ (w)) → derivatives by x, u, p, t
    time: Vector  # (1)
    times: Vector  # (steps + 1)
    piece: Integers  # (steps) row of inputs in each step
    input: Matrix  # (pieces, m)
    parameter: Vector
    state: Matrix  # (steps + 1, w)
    nodes: Vector  # (s)
    weights: Matrix  # (s + 1, s)
    point: Matrix  # (s, w)
    rate: Matrix  # (s, w)
    reported: Matrix  # (s, reported) solution z, from the forward to the backward kernel
    costate: Matrix  # (steps + 1, w)
    pull: Matrix  # (s, w) ξ
    load: Vector  # (w) κ
    by_x: Vector  # results of the backward kernel
    by_input: Vector
    by_parameter: Vector
    by_time: Vector
    input_gradient: Matrix  # (pieces, m)
    parameter_gradient: Vector
    length_gradient: Vector  # (steps) by the length of each step
    time_gradient: Matrix  # (2, steps) by the beginning of each step, and by its length through the stages' times


def sweep(s: Sweep) -> int:
    """Forward: the number of steps that led to finite states. Backward: zero."""
    if s.backward != 0:
        return backward(s)
    return forward(s)


def forward(s: Sweep) -> int:
    times, weights, x, k, stages = s.times, s.weights, s.state, s.rate, s.stages
    for step in range(s.steps):
        attempt(s, step)
        h = times[step + 1] - times[step]
        for i in range(s.width):
            total = 0.0
            for j in range(stages):
                total += weights[stages, j] * k[j, i]
            x[step + 1, i] = x[step, i] + h * total
            if not math.isfinite(x[step + 1, i]):
                return step
    return s.steps


def attempt(s: Sweep, step: int) -> None:
    """Points, rates and z of all stages of a step."""
    times, weights, x, points, k = s.times, s.weights, s.state, s.point, s.rate
    inputs = s.input[s.piece[step]]
    h = times[step + 1] - times[step]
    for stage in range(s.stages):
        for i in range(s.width):
            total = 0.0
            for j in range(stage):
                total += weights[stage, j] * k[j, i]
            points[stage, i] = x[step, i] + h * total
        s.time[0] = times[step] + s.nodes[stage] * h
        call_kernel(s.forward_kernel, (s.time, points[stage], inputs, s.parameter), (k[stage], s.reported[stage]))


def backward(s: Sweep) -> int:
    """From the costate after the last step to all derivatives."""
    for step in range(s.steps - 1, -1, -1):
        attempt(s, step)
        pull_step(s, step)
    return 0


def pull_step(s: Sweep, step: int) -> None:
    width, stages, states = s.width, s.stages, s.states
    times, nodes, weights, costate, pull, k = s.times, s.nodes, s.weights, s.costate, s.pull, s.rate
    load, by_x, piece = s.load, s.by_x, int(s.piece[step])
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
        s.time[0] = times[step] + nodes[stage] * h
        given = (s.time, s.point[stage], s.input[piece], s.parameter, s.reported[stage], load)
        call_kernel(s.backward_kernel, given, (by_x, s.by_input, s.by_parameter, s.by_time))
        for i in range(states):
            pull[stage, i] = by_x[i]
            costate[step, i] += by_x[i]
        for i in range(states, width):
            pull[stage, i] = 0.0
        add(s.by_input, s.input_gradient[piece], s.inputs)
        add(s.by_parameter, s.parameter_gradient, s.varied)
        moved += s.by_time[0]
        shifted += nodes[stage] * s.by_time[0]
    s.length_gradient[step] = stretched
    s.time_gradient[0, step], s.time_gradient[1, step] = moved, shifted


def add(source: Vector, target: Vector, length: int) -> None:
    """Add numbers to others."""
    for i in range(length):
        target[i] += source[i]
