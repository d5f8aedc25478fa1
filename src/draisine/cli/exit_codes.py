"""What the exit status of the command line means."""

from __future__ import annotations

from draisine.errors import SimulationError, SolverError

DONE, ENDED_EARLY, WRONG, INFEASIBLE, INTERRUPTED = 0, 1, 2, 3, 130
EXIT_CODES = {
    DONE: "done",
    ENDED_EARLY: "done, but it did not come out as it should: a run ended early, a certificate disagrees, nothing can move, "
    "no solution was found, a chapter of a report could not be written",
    WRONG: "the call, the model or a file is wrong; the message says what and how to cure it",
    INFEASIBLE: "the maneuver is infeasible; the conditions that fight are named (optimize)",
    INTERRUPTED: "interrupted from the keyboard; what was finished is kept",
}


def code_of(problem: Exception) -> int:
    """The exit status for an error: a search without a solution has come to an end, all others tell what to correct."""
    return ENDED_EARLY if isinstance(problem, SolverError | SimulationError) else WRONG
