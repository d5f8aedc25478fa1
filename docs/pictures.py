"""Draw the pictures of README and docs/gallery.md anew: `python docs/pictures.py`."""

from __future__ import annotations

from pathlib import Path

from draisine import draw, gallery
from draisine.view import save_figure

IMAGES = Path(__file__).parent / "images"

# study → figures shown, by the names the study gives them
SHOWN = {
    "bicycle_free_run": ("rates_and_speed", "path"),
    "bicycle_controlled_turn": ("path", "rates_and_speed"),
    "rolling_disk_paths": ("disk_slow_path",),
    "rolling_torus_paths": ("torus_flower_path",),
    "sleigh_turns_round": ("path",),
    "snakeboard_drive": ("path_in_a_circle",),
    "unicycle_ride": ("unicycle_pushed",),
    "sanjuan_bicycle_ride": ("lean_and_steer",),
    "delebecque_pulse": ("lean_and_steer",),
    "spherical_pendulum_passes": ("rosette",),
    "rattleback_reverses": ("rattleback_spins",),
    "four_bar_turns": ("positions",),
    "swinging_atwood_loops": ("orbits",),
    "tricycle_corners": ("normal_forces",),
    "car_weaves": ("slalom",),
    "n_pendulum_falls": ("chain", "apart"),
    "ladder_swings": ("ladder",),
    "shuttle_returns": ("controls",),
    "bicycle_changes_lane": ("lean_and_steer", "steer_torque"),
}


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    save_figure(draw(gallery.bicycle()), IMAGES / "bicycle-drawing.svg")
    for study, names in SHOWN.items():
        outcome = gallery.study(study)()
        for name in names:
            figure = outcome.figures[name]
            figure.set_dpi(110)
            save_figure(figure, IMAGES / f"{study}-{name}.png")


if __name__ == "__main__":
    main()
