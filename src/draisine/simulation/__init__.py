"""Initial value problems: consistent starts, methods, events, control, and the driver that makes a run of them."""

from __future__ import annotations

from draisine.lazily import loader, names_of

# module of this folder → the names it holds
_HELD = {
    "choices": ("Choices", "prepare"),
    "control": ("EveryStage", "Sampled", "State"),
    "iterated": ("ConjugateGradients", "Reactions", "reactions"),
    "methods": ("CVODE", "DOP853", "ESDIRK23", "IDA", "RK4", "Auto", "Gauss", "Heun", "Method", "PredictorCorrector", "Radau"),
    "result": ("Occurrence", "Run", "Segment"),
    "run": ("integrate",),
    "start": ("Conflict", "InconsistentStart", "Near", "Start", "StartProblem", "StartReport", "consistent_start"),
}
__all__ = names_of(_HELD)
__getattr__ = loader(__name__, _HELD)
