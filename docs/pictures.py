"""Draw the pictures of README and docs/gallery.md anew: `python docs/pictures.py`."""

from __future__ import annotations

from pathlib import Path

from draisine import draw, gallery, simulate, stability_map
from draisine.view import save_figure

IMAGES = Path(__file__).parent / "images"

# study → figures shown, by the names the study gives them
SHOWN = {
    "bicycle_free_run": ("rates_and_speed", "path"),
    "bicycle_controlled_turn": ("path", "rates_and_speed"),
    "turning_atlas": ("atlas", "hands_free_families"),
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
    "wheel_over_waves": ("path",),
    "wheelset_hunts": ("lateral", "critical_speed"),
    "bicycle_slides": ("ice",),
    "shuttle_returns": ("controls", "steps"),
    "bicycle_changes_lane": ("lean_and_steer", "steer_torque"),
    "lqr_gust": ("lean_and_steer",),
    "slalom": ("path",),
    "wheelset_limit_cycles": ("amplitude", "cycles"),
    "bicycle_weaves": ("amplitude", "knocked"),
    "schwab_bicycle_responds": ("root_locus", "response_to_lean"),
    "two_mass_skate_rights_itself": ("negative_trail",),
    "rider_steers_by_leaning": ("lean_to_the_right",),
    "wobble_appears": ("wobble",),
    "why_bicycles_settle": ("energy",),
    "delebecque_fates": ("paths", "swing"),
    "trolley_parks": ("phase_plane",),
    "brachistochrone": ("wire",),
    "shortest_cars": ("paths",),
    "rocket_climbs": ("ascent",),
    "minimum_time_turn": ("path", "torques"),
    "lane_change": ("limits", "lane_path"),
    "unicycle_countersteers": ("turn", "path"),
    "simple_bicycle_countersteers": ("turn",),
    "snakeboard_at_its_best": ("dash", "both"),
    "swing_ups": ("swing_ups",),
    "bicycle_designed": ("design",),
    "shuttle_lands_aside": ("flight",),
    "tank_outlet_found": ("fit",),
    "bicycle_identified": ("fit", "intervals"),
    "logger_file_fitted": ("fit",),
    "state_estimation": ("lean_and_steer",),
}


def film_still() -> None:
    """The benchmark bicycle on its way, as `run.save("ride.html")` shows it."""
    run = simulate(gallery.bicycle(), 5.0, start={"speed": 4.6, "roll_rate": 0.5})
    figure = run.animate(charts=["lean", "steer"], layers=["forces"], show=False).picture(1.9)
    figure.set_dpi(110)
    save_figure(figure, IMAGES / "bicycle-ride.png")


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    save_figure(draw(gallery.bicycle()), IMAGES / "bicycle-drawing.svg")
    film_still()
    over = {"speed": (0, 10, 500), "trail": (-0.05, 0.25, 400)}
    save_figure(stability_map(gallery.bicycle(), over, states=("lean", "steer")).plot(), IMAGES / "stability-map.png")
    for study, names in SHOWN.items():
        outcome = gallery.study(study)()
        for name in names:
            figure = outcome.figures[name]
            figure.set_dpi(110)
            save_figure(figure, IMAGES / f"{study}-{name}.png")


if __name__ == "__main__":
    main()
