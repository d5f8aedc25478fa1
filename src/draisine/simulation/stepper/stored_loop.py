"""The stepping loop as machine code: compiled once per machine, then loaded from disk.

It is compiled twice from the same text: for explicit methods alone, which is quickly done and all that most runs need, and with
the implicit ones.
"""

from __future__ import annotations

from functools import cache

from draisine.codegen.restricted.entry import Code, Entry
from draisine.simulation.stepper.layout import Stepper, Tableau

_MODULES = (
    *("explicit_rk", "linear_solver", "dae_residuals", "implicit_newton", "error_estimates", "step_size_control"),
    *("event_location", "recording", "layout", "loop"),
)
# The modules that the loop is made of.
SOURCES = (*(f"draisine.simulation.stepper.{name}" for name in _MODULES), "draisine.codegen.jit.sparse_qr")
# What is known of explicit methods; what they never reach is not compiled.
EXPLICIT = {(Tableau, "implicit"): 0, (Stepper, "settles"): 0}


@cache
def stepping_loop(implicit: bool = False) -> Code:
    """The loop: a function of a `Stepper` that returns a reason of `layout`."""
    return Entry("draisine.simulation.stepper.loop", "advance", SOURCES, {} if implicit else EXPLICIT).load()
