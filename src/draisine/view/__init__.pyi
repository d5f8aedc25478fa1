"""Figures, drawings, films and documents of models and results."""

from .drawing import draw as draw
from .equation_document import write_equations as write_equations
from .film.animate import animate as animate
from .modes import animate_mode as animate_mode, mode_shapes as mode_shapes, root_locus as root_locus
from .notebook import ProgressBar as ProgressBar, player as player, sliders as sliders
from .plots.responses import bode as bode, gain_locus as gain_locus, step_response as step_response
from .scene.mesh_files import read_mesh as read_mesh
from .report.report import Report as Report
