"""The Whipple–Carvallo bicycle with the benchmark parameters of Meijaard, Papadopoulos, Ruina & Schwab (2007).

*What it shows*: the model that most others of the gallery are compared with; `bicycle/benchmark.py` describes it body by body.
"""

from __future__ import annotations

from draisine.bicycle.benchmark import benchmark_bicycle
from draisine.gallery.registry import live
from draisine.model.model import Model


@live(start={"speed": 4.6, "roll_rate": 0.5})
def bicycle(steer_limit: float | None = None) -> Model:
    """The benchmark bicycle, every parameter by name.

    Inputs: `steer_torque` (rear frame on fork, positive to the left), `pedal_torque` (frame on rear wheel, positive forward),
    `push` (side force on the frame at the saddle, positive to the left). With a `steer_limit` in rad, which becomes a parameter,
    runs end where the handlebar reaches it; without it the handlebar can make whole turns.
    """
    return benchmark_bicycle(steer_limit)
