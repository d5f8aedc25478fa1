"""What lies where in the memory of a run. The driver owns it all; the stepping loop keeps nothing between two calls.

One block of plain numbers holds the settings, the counters and the addresses of the arrays. The comments give
the shapes: n states, w their number padded for vector instructions, m inputs, e events.
"""

from __future__ import annotations

import ctypes

# Why the loop came back.
GO_ON = 0
PAUSED = 1  # the budget of steps of this call is used up
FULL = 2  # the buffers of steps or events need more room
REACHED = 3  # the end
STOPPED = 4  # by the event `happening`
SWITCH = 5  # the condition passed its limit
NOT_FINITE = 6
STEP_TOO_SMALL = 7
TOO_MANY_STEPS = 8
ABORTED = 9  # a control callback asked for it

# Phases of a run.
FRESH = 0  # nothing is known but t and x
CHANGED = 1  # inputs, state or kernels were changed by the driver: derivatives anew, step and event signs kept
RUNNING = 2

# Events are looked for at these fractions of a step, besides its start.
GRID = 4
# Coefficients of the interpolant: three of the cubic and at most four more.
TERMS = 7

_INTEGERS = (
    # sizes
    *("states", "width", "inputs", "events", "samples", "step_room", "event_room"),
    # addresses of kernels of (t, x, u, p), 0 for none
    *("dynamics", "project", "monitor", "watch", "control"),
    # the kernels' tables of pointers, and what they point to
    "arguments",  # time, point, inputs, parameters
    "results",  # two results
    "time_at",  # (1)
    "point_at",  # (w) the state a kernel is asked about
    "inputs_at",  # (m)
    "scalar_at",  # (1) a kernel's scalar result
    "command_at",  # (m) inputs as a control kernel gives them
    "values_at",  # (e) events
    # the step
    "x_at",  # (w) state at t
    "new_at",  # (w) state at t + h
    "k_at",  # (rows, w) derivatives
    "past_at",  # (history, w) derivatives at t, t − h, …
    "dense_at",  # (TERMS, w) coefficients of the interpolant
    "error_at",  # (2, w) error estimates
    "atol_at",  # (n)
    "scheme_at",
    "starter_at",
    # events
    "grid_at",  # (GRID + 1, e) values over the step
    "sign_at",  # (e) last sign other than zero, 0 before there is one
    "direction_at",  # (e)
    "stops_at",  # (e) 1 if the event stops the run
    "root_at",  # (GRID e) fractions of the step
    "root_event_at",  # (GRID e)
    # what is kept
    *("sample_time_at", "sample_x_at", "sample_u_at"),  # (samples), (samples, n), (samples, m)
    *("step_time_at", "step_x_at", "step_u_at"),  # (step_room), and if keep_steps (step_room, n), (step_room, m)
    *("event_time_at", "event_x_at", "event_index_at"),  # (event_room), (event_room, n), (event_room)
    # settings
    *("adaptive", "keep_steps", "max_steps", "budget"),
    # where the run stands
    "phase",
    "filled",  # rows of `past` that are known
    *("index", "planned"),  # fixed steps: done and to do
    "rejecting",  # the last attempt was rejected
    "ready",  # all coefficients of the interpolant are known
    "aborted",  # set by a control callback
    # what it did
    *("evaluations", "accepted", "rejected", "sampled", "stepped", "happened"),
    # what stopped it
    "happening",  # the event
    *("culprit", "culprit_is_state"),  # the state, and whether it or its derivative is bad
)
_REALS = (
    *("rtol", "max_step", "step"),  # `step` of fixed-step methods
    "threshold",  # of the error above which the state is projected
    "limit",  # of the condition
    *("t", "end", "h", "origin"),  # fixed steps are counted from `origin`
    "last_error",
    *("condition", "bad_time"),
)


class Block(ctypes.Structure):
    """The numbers of a run."""

    _fields_ = [(name, ctypes.c_int64) for name in _INTEGERS] + [(name, ctypes.c_double) for name in _REALS]


class SchemeBlock(ctypes.Structure):
    """The numbers of a scheme, see `methods.scheme`."""

    _fields_ = [
        (name, ctypes.c_int64)
        for name in ("order", "history", "stages", "rows", "terms", "weights_at", "nodes_at", "dense_at", "error_at")
    ]
