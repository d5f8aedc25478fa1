"""What lies where in the memory of a run. The driver owns it all; the stepping loop keeps nothing between two calls.

One block of plain numbers holds the settings, the counters and the addresses of the arrays. The comments give
the shapes: n states, w the number of unknowns padded for vector instructions, m inputs, e events; for implicit methods N
unknowns (the states first, then those that only the equations know), s stages, c complex systems, z entries of the Jacobians.
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
UNSOLVED = 10  # Newton's iteration did not converge, see `trouble`
STIFF = 11  # an explicit method makes steps that stability limits
LOOK = 13  # an implicit method asks, now and then, whether it is still needed
UNDETERMINED = 12  # the equations do not give the rate or value of the unknown `culprit` at the start

# How a system of equations came out; also the `trouble` of a run that ended for it.
SOLVED = 0
DIVERGED = 1  # or converges too slowly
SINGULAR_MATRIX = 2
BAD_NUMBERS = 3

# Phases of a run.
FRESH = 0  # nothing is known but t and x
CHANGED = 1  # inputs, state or kernels were changed by the driver: derivatives anew, step and event signs kept
RUNNING = 2

# Accepted steps of an implicit method between two looks at whether it is still needed.
LOOK_AFTER = 10
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
    *("adaptive", "keep_steps", "max_steps", "budget", "projections"),
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
    *("culprit", "culprit_is_state"),  # the state, and whether it (1), its derivative (0) or an equation (2) is bad
    "trouble",
    # stiffness as an explicit method sees it
    # whether to look (2: at every step), and how often it was and was not seen; of implicit methods, steps since a look
    *("suspect", "stiff_steps", "calm_steps"),
    # ---- implicit methods
    *("unknowns", "entries"),  # N, z
    *("residual", "jacobian"),  # kernels of (t, x, ẋ, u, p)
    "full_arguments",  # time, point, rate, inputs, parameters
    "rate_at",  # (w)
    *("index_at", "differential_at"),  # (N)
    *("entry_row_at", "entry_column_at"),  # (z) places of the entries of the Jacobians, by columns
    *("by_state_at", "by_rate_at"),  # (z) their values
    "weight_at",  # (w) one over the error allowed to an unknown, 0 for those nobody asks about
    *("stage_at", "past_stage_at"),  # (s, w) increments of the stages, and those of the step before
    "load_at",  # (s, w) residuals of the stages
    *("side_at", "wide_side_at"),  # (w) right sides, real and complex
    # factors of λ/h ∂F/∂ẋ + ∂F/∂x: one real, c complex
    "sparse",
    *("plan_at", "plan_length", "factor_length"),
    *("entry_at", "wide_entry_at"),  # (z) the matrix before it is factorised, if sparse
    *("factor_at", "wide_factor_at"),  # (factor_length), (c, factor_length)
    *("pivot_at", "wide_pivot_at"),  # (N), (c, N), if dense
    *("work_at", "wide_work_at"),
    # where an implicit run stands
    "settles",  # rates and algebraic unknowns are to be solved for at the start
    "fresh",  # the Jacobians belong to (t, x)
    "old",  # they should be made anew before the next step
    "factorised",  # the factors belong to the Jacobians and to `factor_h`
    "predicts",  # `past_stage` is that of the step before
    "smooth",  # the rate at t is that of a smooth solution
    *("iterations", "jacobians", "factorisations"),
)
_REALS = (
    *("rtol", "max_step", "step"),  # `step` of fixed-step methods
    "threshold",  # of the error above which the state is projected
    "limit",  # of the condition
    *("t", "end", "h", "origin"),  # fixed steps are counted from `origin`
    "last_error",
    *("condition", "bad_time"),
    "newton_tolerance",  # 0: to rounding error
    *("convergence", "carried"),  # rate of Newton's iteration, and rate/(1 − rate) carried from step to step
    "given_time",  # where the step leads to that a foreign method has made
    "relief",  # by what to shorten a step whose iteration failed
    *("factor_h", "past_h"),
    *("accepted_h", "accepted_error"),
)


class Block(ctypes.Structure):
    """The numbers of a run."""

    _fields_ = [(name, ctypes.c_int64) for name in _INTEGERS] + [(name, ctypes.c_double) for name in _REALS]


class PlainBlock(ctypes.Structure):
    """A block by another name, for code that knows explicit methods only; see `stored`."""

    _fields_ = [*Block._fields_, ("plain", ctypes.c_int64)]


class SchemeBlock(ctypes.Structure):
    """The numbers of a scheme, see `methods.scheme`."""

    _fields_ = [
        *(
            (name, ctypes.c_int64)
            for name in (
                *("order", "history", "stages", "rows", "terms", "foreign"),
                *("weights_at", "nodes_at", "dense_at", "error_at"),
            )
        ),
        # of implicit methods, see `methods.implicit_scheme`
        *(
            (name, ctypes.c_int64)
            for name in (
                *("implicit", "coupled", "solved", "power", "evaluates_end", "real_systems", "pairs"),
                *("update_at", "end_rate_at", "estimate_at", "rough_at", "mismatch_at", "real_at", "pairs_at"),
            )
        ),
        ("filter", ctypes.c_double),
    ]
