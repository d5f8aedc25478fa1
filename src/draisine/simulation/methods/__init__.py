"""Methods for initial value problems, one file each: its numbers, its paper, a thin frozen class."""

from __future__ import annotations

from draisine.lazily import loader, names_of

# module of this folder → the names it holds
_HELD = {
    "auto": ("Auto",),
    "dop853": ("DOP853",),
    "esdirk23": ("ESDIRK23",),
    "gauss": ("Gauss",),
    "heun": ("Heun",),
    "method": ("Method",),
    "predictor_corrector": ("PredictorCorrector",),
    "radau": ("Radau",),
    "rk4": ("RK4",),
    "scheme": ("Scheme", "SteppingMethod"),
    "sundials": ("CVODE", "IDA"),
}
__all__ = names_of(_HELD)
__getattr__ = loader(__name__, _HELD)
