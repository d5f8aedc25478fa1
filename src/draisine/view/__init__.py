"""Figures of results: functions that take a `Trajectory` and give a Matplotlib `Figure`, no window needed.

Matplotlib is imported when the first figure is drawn.
"""

from __future__ import annotations

from draisine.view.contacts import contact_angles, friction_needed, normal_forces
from draisine.view.energies import energy
from draisine.view.figures import plot, save_figure
from draisine.view.responses import bode, gain_locus, step_response
from draisine.view.style import COLOURS, COLUMN, PAGE, style
from draisine.view.tracks import path

__all__ = [
    "COLOURS",
    "COLUMN",
    "PAGE",
    "bode",
    "contact_angles",
    "energy",
    "friction_needed",
    "gain_locus",
    "normal_forces",
    "path",
    "plot",
    "save_figure",
    "step_response",
    "style",
]
