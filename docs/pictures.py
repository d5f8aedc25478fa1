"""Draw the pictures of README and docs anew, and note what the studies find: `python docs/pictures.py [STUDY …]`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from matplotlib import pyplot

from draisine import draw, gallery, simulate, stability_map
from draisine.view.plots.figures import save_figure

IMAGES = Path(__file__).parent / "images"
FINDINGS = Path(__file__).parent / "findings.json"  # study → what it found, for the pages of the site

# study → figures shown, by the names the study gives them
SHOWN = {
    "bicycle_free_run": ("rates_and_speed", "path", "contact_angles", "normal_forces", "energy"),
    "bicycle_controlled_turn": ("path", "rates_and_speed", "lean_and_steer", "steer_torque", "pedal_torque", "contact_angles"),
    "turning_atlas": ("atlas", "hands_free_families"),
    "rolling_disk_paths": ("disk_slow_path",),
    "rolling_torus_paths": ("torus_flower_path",),
    "sleigh_turns_round": ("path",),
    "snakeboard_drive": ("path_in_a_circle",),
    "unicycle_ride": ("unicycle_pushed",),
    "sanjuan_bicycle_ride": ("lean_and_steer",),
    "delebecque_pulse": ("lean_and_steer", "path", "slower"),
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
    "shuttle_returns": ("controls", "descent", "drift", "steps"),
    "bicycle_changes_lane": ("lean_and_steer", "steer_torque"),
    "lqr_gust": ("lean_and_steer",),
    "slalom": ("path",),
    "wheelset_limit_cycles": ("amplitude", "cycles"),
    "bicycle_weaves": ("amplitude", "knocked"),
    "schwab_bicycle_responds": ("eigenvalues", "root_locus", "response_to_lean", "response_to_steer"),
    "two_mass_skate_rights_itself": ("negative_trail",),
    "rider_steers_by_leaning": ("lean_to_the_right",),
    "wobble_appears": ("wobble",),
    "why_bicycles_settle": ("energy",),
    "delebecque_fates": ("paths", "swing"),
    "trolley_parks": ("phase_plane",),
    "brachistochrone": ("wire",),
    "shortest_cars": ("paths",),
    "rocket_climbs": ("ascent",),
    "minimum_time_turn": ("path", "torques", "lean_and_steer"),
    "lane_change": ("limits", "lane_path"),
    "unicycle_countersteers": ("turn", "path"),
    "simple_bicycle_countersteers": ("turn",),
    "snakeboard_at_its_best": ("dash", "both"),
    "swing_ups": ("swing_ups",),
    "bicycle_designed": ("design",),
    "shuttle_lands_aside": ("flight",),
    "tank_outlet_found": ("fit", "intervals"),
    "bicycle_identified": ("fit", "intervals"),
    "logger_file_fitted": ("fit",),
    "state_estimation": ("lean_and_steer",),
    "basins": ("basins",),
    "link_chain_falls": ("falling", "rope"),
    "rope_settles": ("shapes",),
    "trailers_follow": ("circle", "left_alone"),
    "snake_sets_off": ("path",),
    "tree_flails": ("hinges",),
    "sanjuan_disk_matrices": ("by_the_print",),
    "double_pendulum_twice": ("tip",),
    "cart_pole_swing_up": ("swing_up",),
    "sphere_on_turntable_circles": ("turntable_level_path",),
    "slider_crank_runs": ("running_free",),
    "sarrus_lift_falls": ("fall",),
    "stewart_platform_heaves": ("plan",),
    "planetary_gear_lifts": ("angles",),
    "three_body_treatments": ("orbit", "errors", "invariant"),
    "van_der_pol_relaxes": ("relaxation",),
    "singular_constraint_branches": ("branches",),
    "wheelset_identified": ("fit",),
    "pendulum_friction_found": ("found",),
    "double_pendulum_tracked": ("fit",),
}


def film_still() -> None:
    """The benchmark bicycle on its way, as `run.save("ride.html")` shows it."""
    run = simulate(gallery.bicycle(), 5.0, start={"speed": 4.6, "roll_rate": 0.5})
    figure = run.animate(charts=["lean", "steer"], layers=["forces"], show=False).picture(1.9)
    figure.set_dpi(110)
    save_figure(figure, IMAGES / "bicycle-ride.png")


def fixed() -> None:
    """Pictures that belong to no study."""
    save_figure(draw(gallery.bicycle()), IMAGES / "bicycle-drawing.svg")
    film_still()
    over = {"speed": (0, 10, 500), "trail": (-0.05, 0.25, 400)}
    save_figure(stability_map(gallery.bicycle(), over, states=("lean", "steer")).plot(), IMAGES / "stability-map.png")


def main(wanted: list[str]) -> None:
    """Pictures and findings of the studies named, or of all, and the fixed ones with them."""
    IMAGES.mkdir(exist_ok=True)
    if not wanted:
        fixed()
    found = json.loads(FINDINGS.read_text(encoding="utf-8")) if FINDINGS.exists() else {}
    for study in wanted or gallery.studies():
        outcome = gallery.study(study)()
        found[study] = list(outcome.findings)
        for name in SHOWN.get(study, ()):
            figure = outcome.figures[name]
            figure.set_dpi(110)
            save_figure(figure, IMAGES / f"{study}-{name}.png")
        pyplot.close("all")
    there = {study: found[study] for study in gallery.studies() if study in found}
    FINDINGS.write_text(json.dumps(there, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
